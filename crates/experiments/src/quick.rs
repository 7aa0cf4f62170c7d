//! The quick tier of an experiment: some of its runs, each exactly as in the full tier.
//!
//! No run is shortened, so a finding means the same in both tiers. It is judged by fewer runs, or not at all.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use trimline_sim::scenario::{Run, Scenario};

use crate::failure::Failure;
use crate::finding::At;

/// `[quick]` of expected.toml. Default: the lowest seed of every series.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Quick {
    /// Only these series; default: all.
    series: Option<Vec<String>>,
    /// Number of seeds per series, lowest first; default: 1.
    seeds: Option<usize>,
    /// Only these places of the sweep, by key; series without the key stay.
    #[serde(default)]
    at: BTreeMap<String, Vec<At>>,
}

impl Quick {
    /// Removes all other runs.
    ///
    /// # Errors
    /// Returns an error for an unknown series, key or place.
    pub(crate) fn choose(&self, id: &str, scenario: &mut Scenario) -> Result<(), Failure> {
        let mistake =
            |what: String| Failure::message(format!("{id}: [quick] of expected.toml: {what}"));
        let runs = &scenario.runs;
        for name in self.series.iter().flatten() {
            if !runs.iter().any(|run| run.plan.series == *name) {
                return Err(mistake(format!("no series `{name}` in the scenario")));
            }
        }
        for (key, places) in &self.at {
            for at in places {
                if !runs.iter().any(|run| label(run, key).is_some_and(|label| at.takes(label))) {
                    return Err(mistake(format!("no run at `{key}` = {at:?}")));
                }
            }
        }
        let mut seeds_of: BTreeMap<&str, BTreeSet<u64>> = BTreeMap::new();
        for run in runs {
            seeds_of.entry(&run.plan.series).or_default().insert(run.plan.seed);
        }
        let is_min = |run: &Run| {
            let seeds = seeds_of.get(run.plan.series.as_str()).into_iter().flatten();
            seeds.take(self.seeds.unwrap_or(1)).any(|&seed| seed == run.plan.seed)
        };
        let is_chosen = |run: &Run| {
            self.series.as_ref().is_none_or(|names| names.contains(&run.plan.series))
                && is_min(run)
                && self.at.iter().all(|(key, places)| {
                    label(run, key).is_none_or(|label| places.iter().any(|at| at.takes(label)))
                })
        };
        let chosen: Vec<bool> = runs.iter().map(is_chosen).collect();
        let mut chosen = chosen.into_iter();
        scenario.runs.retain(|_| chosen.next().unwrap_or(false));
        match scenario.runs.is_empty() {
            true => Err(mistake("it selects no run".to_owned())),
            false => Ok(()),
        }
    }
}

/// The place of a run in the sweep over `key`.
fn label<'a>(run: &'a Run, key: &str) -> Option<&'a str> {
    run.point.iter().find(|(name, _)| name == key).map(|(_, label)| label.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENARIO: &str = "topology.star.hosts = 9\nseeds = [4, 2, 7]\n[[workload]]\nname = \"w\"\n\
        incast = { receiver = 0, senders = 1 }\nsize = \"9KB\"\n[sweep]\n\
        workload.w.incast.senders = [1, 3, 5]\n[[series]]\nname = \"a\"\n[[series]]\nname = \"b\"\n";

    fn chosen(quick: &str) -> Result<Vec<String>, String> {
        let quick: Quick = toml::from_str(quick).map_err(|error| error.to_string())?;
        let mut scenario =
            Scenario::parse("s", SCENARIO, &[]).map_err(|error| error.to_string())?;
        assert_eq!(scenario.runs.len(), 18);
        quick.choose("x/y", &mut scenario).map_err(|failure| failure.to_string())?;
        let name = |run: &Run| {
            let senders = label(run, "senders").unwrap_or("-");
            format!("{} {senders} {}", run.plan.series, run.plan.seed)
        };
        Ok(scenario.runs.iter().map(name).collect())
    }

    #[test]
    fn the_quick_tier_runs_the_lowest_seed_of_each_series_by_default() {
        let runs = chosen("").unwrap();
        assert_eq!(runs, ["a 1 2", "a 3 2", "a 5 2", "b 1 2", "b 3 2", "b 5 2"]);
    }

    #[test]
    fn series_points_and_seeds_are_chosen() {
        let runs = chosen("series = [\"b\"]\nseeds = 2\nat.senders = [1, { from = 5 }]").unwrap();
        assert_eq!(runs, ["b 1 4", "b 1 2", "b 5 4", "b 5 2"]);
        // A series that is not swept over a key cannot be chosen by it.
        assert!(chosen("at.size = [1]").unwrap_err().contains("no run at `size`"));
    }

    #[test]
    fn an_empty_quick_tier_is_refused() {
        for (quick, problem) in [
            ("series = [\"c\"]", "x/y: [quick] of expected.toml: no series `c`"),
            ("at.senders = [2]", "no run at `senders` = Number(2)"),
            ("at.senders = []", "it selects no run"),
            ("seeds = 0", "it selects no run"),
            ("serie = [\"a\"]", "unknown field `serie`"),
        ] {
            let error = chosen(quick).unwrap_err();
            assert!(error.contains(problem), "{quick}: {error}");
        }
    }
}
