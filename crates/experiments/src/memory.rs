//! Checks that runs fit into memory: the kernel kills a run that does not.

use std::fs;

use trimline_explain::{Estimate, human_bytes};
use trimline_sim::scenario::Run;

use crate::execute::Threads;
use crate::failure::Failure;
use crate::notice::notice;

/// Limits parallel runs to what memory holds.
///
/// # Errors
/// Returns an error if a single run needs more memory than available, unless `ignore`.
pub(crate) fn fitted(runs: &[&Run], threads: Threads, ignore: bool) -> Result<Threads, Failure> {
    if ignore {
        return Ok(threads);
    }
    let at_once = threads.workers(runs.len());
    let fitting = fit(runs, at_once)
        .map_err(|problem| Failure::message(format!("{problem}, or --ignore-memory")))?;
    if fitting < at_once {
        notice(&format!(
            "note: {fitting} parallel runs instead of {at_once}: more do not fit in memory"
        ));
    }
    Ok(threads.at_most(fitting))
}

/// Number of these runs that fit into memory together, at most `at_once`.
///
/// # Errors
/// Returns an error with the run and its needs if a single one does not fit.
pub(crate) fn fit(runs: &[&Run], at_once: usize) -> Result<usize, String> {
    match available_megabytes() {
        Some(available) => fit_into(runs, at_once, available),
        None => Ok(at_once),
    }
}

fn fit_into(runs: &[&Run], at_once: usize, available: f64) -> Result<usize, String> {
    let needs = |run: &&Run| Estimate::of(&run.plan).megabytes;
    let largest = runs.iter().max_by(|a, b| needs(a).total_cmp(&needs(b)));
    let Some((run, needed)) = largest.map(|run| (run, needs(run))) else { return Ok(at_once) };
    if needed > available {
        return Err(format!(
            "{} needs roughly {} of memory, but {} is free; expected a smaller network, fewer flows or less output",
            run.name,
            human_bytes(needed),
            human_bytes(available)
        ));
    }
    Ok(at_once.min((available / needed) as usize).max(1))
}

/// Memory available to this process: of the machine, and of its control group.
fn available_megabytes() -> Option<f64> {
    let machine = of_machine(&fs::read_to_string("/proc/meminfo").ok()?)?;
    let number = |file: &str| fs::read_to_string(file).ok()?.trim().parse::<f64>().ok();
    let group = "/sys/fs/cgroup/memory";
    let limits = [("max", "current"), ("limit_in_bytes", "usage_in_bytes")];
    let left = limits.iter().zip([".", "/memory."]).filter_map(|((limit, used), join)| {
        let limit = number(&format!("{group}{join}{limit}"))?;
        Some((limit - number(&format!("{group}{join}{used}"))?) / 1e6)
    });
    Some(left.fold(machine, f64::min))
}

fn of_machine(text: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024.0 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trimline_sim::scenario::Scenario;

    #[test]
    fn runs_that_exceed_memory_are_refused_with_their_need() {
        let text = "topology.fattree.hosts = 1024\nduration = \"1ms\"\nseeds = \"1..4\"\n\
                    [[workload]]\nname = \"p\"\npermutation = {}\nsize = \"long-lived\"\n";
        let scenario = Scenario::parse("s", text, &[]).unwrap_or_else(|error| panic!("{error}"));
        let runs: Vec<&Run> = scenario.runs.iter().collect();
        let needed = Estimate::of(&runs[0].plan).megabytes;
        assert_eq!(fit_into(&runs, 4, needed * 100.0), Ok(4));
        assert_eq!(fit_into(&runs, 4, needed * 2.5), Ok(2));
        let refused = fit_into(&runs, 4, needed * 0.5).unwrap_err();
        let number = human_bytes(needed);
        assert!(refused.contains(&format!("needs roughly {number} of memory")), "{refused}");
        assert_eq!(human_bytes(50_000.0), "50 GB");
        assert_eq!(of_machine("MemTotal: 9 kB\nMemAvailable:    2000000 kB\n"), Some(2048.0));
        assert!(available_megabytes().is_some_and(|megabytes| megabytes > 0.0));
    }
}
