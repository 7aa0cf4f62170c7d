//! Runs scenarios: `trimline run`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;

use serde_json::json;
use trimline_metrics::summary::Counting;
use trimline_metrics::{Aggregate, Summary, result_folder};
use trimline_sim::scenario::{Run, Scenario};
use trimline_sim::transports::Transports;

use crate::execute::{Threads, catch_interrupts, execute, interrupted, is_stopped};
use crate::failure::Failure;
use crate::import::FlowFormat;
use crate::memory;
use crate::output_lock::{self, OutputLock};
use crate::results::{Earlier, earlier, say_resumed, write_run};
use crate::run_table;
use crate::scenario_file::{default_folder, read_scenario};
use crate::terminal::print;
use crate::warnings::once;

#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) threads: Option<usize>,
    pub(crate) out: Option<PathBuf>,
    pub(crate) resume: bool,
    pub(crate) json: bool,
    pub(crate) quiet: bool,
    pub(crate) include_stopped: bool,
    pub(crate) ignore_memory: bool,
}

/// Runs a scenario and writes its results: a folder per run in `out`, and summary.json over seeds. `resume` skips
/// finished runs.
pub(crate) fn run(
    path: &Path,
    format: Option<FlowFormat>,
    settings: &[String],
    options: &Options,
    transports: &Transports,
) -> Result<ExitCode, Failure> {
    let scenario = read_scenario(path, format, settings, transports)?;
    let out = options.out.clone().unwrap_or_else(|| default_folder(path, ""));
    run_scenario(&scenario, settings, &out, options)
}

pub(crate) fn run_scenario(
    scenario: &Scenario,
    settings: &[String],
    out: &Path,
    options: &Options,
) -> Result<ExitCode, Failure> {
    let threads = Threads::new(options.threads)?.quiet(options.quiet);
    catch_interrupts()?;
    say_warnings(scenario);
    let lock = OutputLock::take(out)?;
    let directory = |run: &Run| output_lock::directory(out, run);
    let found = match options.resume {
        true => found(scenario, settings, &directory),
        false => vec![None; scenario.runs.len()],
    };
    let pending: Vec<usize> = (0..found.len()).filter(|&run| found[run].is_none()).collect();
    let waiting: Vec<&Run> = pending.iter().map(|&run| &scenario.runs[run]).collect();
    let threads = memory::fitted(&waiting, threads, options.ignore_memory)?;
    let places: Vec<_> = scenario.runs.iter().map(|run| (directory(run), run)).collect();
    if let Some(described) =
        output_lock::describe_removed(out, &lock.clear(scenario, settings, &places)?)
    {
        eprintln!("note: {described}");
    }
    // A result with the user's files beside it stays until its run has ended.
    for (place, run) in &places {
        if earlier(place, scenario, settings, run) == Earlier::Different {
            let place = place.display();
            eprintln!(
                "note: {place} holds a result of other settings or another program: it is replaced, other files stay"
            );
        }
    }

    let summaries = Mutex::new(found);
    execute(&scenario.runs, &pending, threads, &|index, done| {
        let run = &scenario.runs[index];
        let summary = write_run(&directory(run), scenario, settings, run, &done, &[])?;
        summaries.lock().unwrap_or_else(|e| e.into_inner())[index] = Some(summary);
        Ok(())
    })?;
    let summaries = summaries.into_inner().unwrap_or_else(|e| e.into_inner());
    let done: Vec<(&Run, &Summary)> = (scenario.runs.iter().zip(&summaries))
        .filter_map(|(run, summary)| Some((run, summary.as_ref()?)))
        .collect();
    let counting = if options.include_stopped { Counting::Stopped } else { Counting::Whole };
    let groups = groups(&done, counting);
    let file = out.join("summary.json");
    result_folder::write_file(&file, Aggregate::to_json(&groups))
        .map_err(|error| Failure::io(&file, &error))?;
    say(scenario, &done, &groups, out, options)?;
    if is_stopped() {
        let left = scenario.runs.len() - done.len();
        let left = match (scenario.runs.len(), left) {
            (1, _) => String::new(),
            (_, 0) => "; --resume makes those that were stopped".to_owned(),
            (_, left) => format!("; --resume goes on, {left} runs had not begun"),
        };
        eprintln!("stopped: results hold what there was until then{left}");
        return Ok(interrupted());
    }
    Ok(ExitCode::SUCCESS)
}

fn found(
    scenario: &Scenario,
    settings: &[String],
    directory: &dyn Fn(&Run) -> PathBuf,
) -> Vec<Option<Summary>> {
    let mut different = 0;
    let of = |run: &Run| match earlier(&directory(run), scenario, settings, run) {
        Earlier::Finished(summary) => Some(*summary),
        Earlier::Different => {
            different += 1;
            None
        }
        Earlier::Missing => None,
    };
    let found: Vec<Option<Summary>> = scenario.runs.iter().map(of).collect();
    say_resumed(found.iter().flatten().count(), different, found.len());
    found
}

fn groups(done: &[(&Run, &Summary)], counting: Counting) -> Vec<Aggregate> {
    let is_one = |(a, _): &(&Run, &Summary), (b, _): &(&Run, &Summary)| {
        (&a.plan.series, &a.point) == (&b.plan.series, &b.point)
    };
    let group = |runs: &[(&Run, &Summary)]| {
        let summaries: Vec<&Summary> = runs.iter().map(|(_, summary)| *summary).collect();
        Aggregate::new(&runs[0].0.point, &summaries, counting)
    };
    done.chunk_by(is_one).map(group).collect()
}

fn say(
    scenario: &Scenario,
    done: &[(&Run, &Summary)],
    groups: &[Aggregate],
    out: &Path,
    options: &Options,
) -> Result<(), Failure> {
    say_given_up(done);
    say_not_started(done);
    if options.json {
        let of = |(run, summary): &(&Run, &Summary)| {
            let folder = output_lock::directory(out, run);
            json!({ "run": run.name, "folder": folder.display().to_string(), "summary": summary })
        };
        let runs: Vec<serde_json::Value> = done.iter().map(of).collect();
        let folder = out.display().to_string();
        let all = json!({ "scenario": scenario.name, "folder": folder, "runs": runs, "over_seeds": groups });
        print(&format!("{all:#}\n"))?;
    }
    if options.json || options.quiet {
        say_deadlocks(done);
    } else {
        let runs: Vec<(&str, &Summary)> =
            done.iter().map(|(run, summary)| (&*run.name, *summary)).collect();
        print(&run_table::tables(&runs, groups))?;
        print(&format!("\nresults: {}\n", out.display()))?;
    }
    Ok(())
}

/// Warns of runs without a duration that ended before their flows.
fn say_given_up(done: &[(&Run, &Summary)]) {
    let ended_early = |(run, summary): &&(&Run, &Summary)| {
        let left = summary.flows.run_ended + summary.flows.not_started;
        run.plan.duration.is_none() && !summary.interrupted && left > 0
    };
    for (run, summary) in done.iter().filter(ended_early) {
        let left = summary.flows.run_ended + summary.flows.not_started;
        let when = summary.simulated_ps / 1_000_000_000_000;
        eprintln!(
            "warning: {}: given up after {when} s of virtual time, because nothing arrived any more; flows that have not ended: {left}",
            run.name
        );
    }
}

fn say_not_started(done: &[(&Run, &Summary)]) {
    let are_left =
        |(_, summary): &&(&Run, &Summary)| summary.flows.not_started > 0 && !summary.interrupted;
    for (run, summary) in done.iter().filter(are_left) {
        let (left, total) = (summary.flows.not_started, summary.flows.total);
        eprintln!(
            "warning: {}: {left} of {total} flows did not start before the run ended: they begin later, or wait for others",
            run.name
        );
    }
}

fn say_deadlocks(done: &[(&Run, &Summary)]) {
    for (run, summary) in done.iter().filter(|(_, summary)| summary.is_deadlocked()) {
        let links = summary.pauses.as_ref().map_or(&[][..], |pauses| &pauses.deadlock);
        eprintln!("warning: {}: deadlock of paused ports: {}", run.name, links.join(", "));
    }
}

/// Prints the warnings of all runs, each sentence once.
fn say_warnings(scenario: &Scenario) {
    const MAX: usize = 8;
    let said = once(&scenario.runs);
    for (warning, _) in said.iter().take(MAX) {
        eprintln!("warning: {}", warning.sentence);
    }
    if said.len() > MAX {
        eprintln!("warning: and {} more; `trimline explain` says which", said.len() - MAX);
    }
}
