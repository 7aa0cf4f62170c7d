//! The warnings that every command prints before its runs.

use trimline_sim::scenario::{Run, Warning};

use crate::describe_timers::{hasty, short_tokens};
use crate::load::overload;

/// The warnings of a run: about its scenario, its load and its time-outs.
fn of(run: &Run) -> impl Iterator<Item = Warning> {
    let about = |about, said: Vec<String>| {
        said.into_iter().map(move |sentence| Warning { about, sentence })
    };
    let (load, mut timers) = (overload(&run.plan), hasty(&run.plan));
    timers.extend(short_tokens(&run.plan));
    about("overload", load).chain(about("timers", timers)).chain(run.warnings.clone())
}

/// The warnings of several runs: each sentence once, with the first run that has it.
pub fn warnings<'a>(runs: impl IntoIterator<Item = &'a Run>) -> Vec<(Warning, &'a Run)> {
    let mut said: Vec<(Warning, &Run)> = Vec::new();
    for run in runs {
        for warning in of(run) {
            if !said.iter().any(|(known, _)| *known == warning) {
                said.push((warning, run));
            }
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario;

    #[test]
    fn every_warning_is_given_once_for_all_runs() {
        let text = "duration = \"1ms\"\nseeds = \"1..2\"\ntopology.star.hosts = 3\nlinks.delay = \"600us\"\n\
            transport.pfabric = { window = 9, rto = \"250us\" }\nswitch = { profile = \"ecn\", ecn_threshold = \"200pkt\" }\n\
            [[workload]]\nname = \"w\"\nrandom = {}\nsize = \"90KB\"\narrivals.poisson.load = \"200%\"\n";
        let scenario = scenario(text);
        let said = warnings(&scenario.runs);
        let about: Vec<&str> = said.iter().map(|(warning, _)| warning.about).collect();
        assert_eq!(about, ["overload", "timers", "threshold", "window"]);
        assert!(said.iter().all(|(_, run)| run.plan.seed == 1));
    }
}
