//! Makes all runs of a scenario, and keeps their results: a folder for each, and summary.json over seeds.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use trimline_metrics::summary::Counting;
use trimline_metrics::{Aggregate, Summary, result_folder};
use trimline_sim::scenario::{Run, Scenario};

use crate::execute::{Threads, execute};
use crate::failure::Failure;
use crate::memory;
use crate::notice::notice;
use crate::output_lock::{self, OutputLock};
use crate::results::{Earlier, earlier, found, write_run};

/// Options of runs.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Threads of all runs together.
    pub threads: Threads,
    /// Keep finished runs of an earlier command.
    pub resume: bool,
    /// The runs that enter means over seeds.
    pub counting: Counting,
    /// Begin runs that do not fit into memory.
    pub ignore_memory: bool,
}

/// Results of the runs of a scenario.
#[derive(Debug)]
pub struct Results<'a> {
    /// The runs that were made or found, with their summaries.
    pub done: Vec<(&'a Run, Summary)>,
    /// Means over seeds, for each series and point of the sweep.
    pub over_seeds: Vec<Aggregate>,
}

/// Makes the runs of a scenario, each into its folder in `out`, and writes summary.json. Removes results of earlier
/// commands for this scenario that do not match. `stop` ends the runs; their results until then are written.
///
/// # Errors
/// Returns an error if `out` belongs to another command or holds something else, if a run does not fit into memory, and
/// the first failure of a run.
pub fn run<'a>(
    scenario: &'a Scenario,
    settings: &[String],
    out: &Path,
    options: Options,
    stop: &AtomicBool,
) -> Result<Results<'a>, Failure> {
    let lock = OutputLock::acquire(out)?;
    let directory = |run: &Run| output_lock::directory(out, run);
    let earlier_place = |run: &Run| options.resume.then(|| directory(run));
    let found = found(scenario, settings, options.resume, &earlier_place, &|_, found| Some(found));
    let pending: Vec<usize> = (0..found.len()).filter(|&run| found[run].is_none()).collect();
    let waiting: Vec<&Run> = pending.iter().map(|&run| &scenario.runs[run]).collect();
    let threads = memory::fitted(&waiting, options.threads, options.ignore_memory)?;
    let places: Vec<_> = scenario.runs.iter().map(|run| (directory(run), run)).collect();
    let removed = lock.clear(scenario, settings, &places)?;
    if let Some(described) = output_lock::describe_removed(out, &removed) {
        notice(&format!("note: {described}"));
    }
    // A result with the user's files beside it stays until its run has ended.
    for (place, run) in &places {
        if earlier(place, scenario, settings, run) == Earlier::Different {
            let place = place.display();
            notice(&format!(
                "note: {place} holds a result of other settings or another program: the command replaces it and keeps \
                 other files"
            ));
        }
    }
    let summaries = execute(&scenario.runs, found, &pending, threads, stop, &|run, done| {
        write_run(&directory(run), scenario, settings, run, &done, &[])
    })?;
    let done: Vec<(&Run, Summary)> = (scenario.runs.iter().zip(summaries))
        .filter_map(|(run, summary)| Some((run, summary?)))
        .collect();
    let over_seeds = groups(&done, options.counting);
    let file = out.join("summary.json");
    result_folder::write_file(&file, Aggregate::to_json(&over_seeds))
        .map_err(|error| Failure::io(&file, &error))?;
    Ok(Results { done, over_seeds })
}

fn groups(done: &[(&Run, Summary)], counting: Counting) -> Vec<Aggregate> {
    let is_one = |(a, _): &(&Run, Summary), (b, _): &(&Run, Summary)| {
        (&a.plan.series, &a.point) == (&b.plan.series, &b.point)
    };
    let group = |runs: &[(&Run, Summary)]| {
        let summaries: Vec<&Summary> = runs.iter().map(|(_, summary)| summary).collect();
        Aggregate::new(&runs[0].0.point, &summaries, counting)
    };
    done.chunk_by(is_one).map(group).collect()
}
