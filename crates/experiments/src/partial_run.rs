//! Runs some series of an experiment: `trimline reproduce --series`. Results of other series stay.

use std::collections::BTreeSet;

use trimline_sim::scenario::Scenario;

use crate::failure::Failure;
use crate::outcome::Outcome;

/// Checks that the scenario has each of these series.
///
/// # Errors
/// Returns the first unknown series, and the known ones.
pub(crate) fn check(id: &str, scenario: &Scenario, series: &[String]) -> Result<(), Failure> {
    let there: BTreeSet<&str> = scenario.runs.iter().map(|run| run.plan.series.as_str()).collect();
    match series.iter().find(|name| !there.contains(name.as_str())) {
        None => Ok(()),
        Some(name) => {
            let there = Vec::from_iter(there).join(", ");
            Err(Failure::message(format!("{id}: no series `{name}`; expected some of {there}")))
        }
    }
}

/// The series whose runs are all complete.
pub(crate) fn whole_series(scenario: &Scenario, outcomes: &[Outcome]) -> BTreeSet<String> {
    let asked = |name: &str| scenario.runs.iter().filter(|run| run.plan.series == name).count();
    let found = |name: &str| outcomes.iter().filter(|outcome| outcome.series == name).count();
    let names = outcomes.iter().map(|outcome| outcome.series.as_str());
    names.filter(|name| found(name) == asked(name)).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENARIO: &str = "topology.star.hosts = 9\nseeds = [4, 2]\n[[workload]]\nname = \"w\"\n\
        incast = { receiver = 0, senders = 1 }\nsize = \"9KB\"\n[[series]]\nname = \"a\"\n[[series]]\nname = \"b\"\n";

    fn scenario() -> Scenario {
        Scenario::parse("s", SCENARIO, &[]).expect("a scenario")
    }

    fn outcome(series: &str, seed: u64) -> Outcome {
        Outcome { series: series.to_owned(), seed, ..Outcome::default() }
    }

    #[test]
    fn an_absent_series_is_refused() {
        assert!(check("x/y", &scenario(), &["a".to_owned(), "b".to_owned()]).is_ok());
        let refused = check("x/y", &scenario(), &["c".to_owned()]).unwrap_err();
        assert_eq!(refused.to_string(), "x/y: no series `c`; expected some of a, b");
    }

    #[test]
    fn a_series_without_all_of_its_seeds_is_incomplete() {
        let some = [outcome("a", 4), outcome("b", 2), outcome("b", 4)];
        assert_eq!(whole_series(&scenario(), &some), BTreeSet::from(["b".to_owned()]));
        assert_eq!(whole_series(&scenario(), &[]), BTreeSet::new());
    }
}
