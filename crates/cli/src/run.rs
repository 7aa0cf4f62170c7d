//! `trimline run`: makes the runs of a scenario, and prints their numbers.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use clap::Args;
use serde_json::{Value, json};
use trimline_experiments::run::{Results, run as make_runs};
use trimline_experiments::{Failure, default_folder, notice};
use trimline_explain::warnings;
use trimline_metrics::Summary;
use trimline_sim::scenario::{Run, Scenario};
use trimline_sim::transports::Transports;

use crate::interrupt::catch_interrupts;
use crate::output::{Output, print_json};
use crate::run_table;
use crate::settings::{Runs, Settings};
use crate::status::interrupted;
use crate::terminal::print;

#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// Scenario file (TOML), htsim connection matrix (.cm) or HPCC flow file.
    scenario: PathBuf,
    #[command(flatten)]
    settings: Settings,
    #[command(flatten)]
    runs: Runs,
    #[command(flatten)]
    output: Output,
}

pub(crate) fn run(options: Options, transports: &Transports) -> Result<ExitCode, Failure> {
    let Options { scenario: path, settings, runs, output } = options;
    let scenario = settings.read(&path, transports)?;
    let out = runs.out.clone().unwrap_or_else(|| default_folder(&path, ""));
    let (code, json) = run_scenario(&scenario, &settings.texts(), &out, &runs, output)?;
    json.map_or(Ok(code), |json| print_json(&json).map(|()| code))
}

/// Makes the runs of a scenario, and prints their numbers, or returns them as JSON.
pub(crate) fn run_scenario(
    scenario: &Scenario,
    settings: &[String],
    out: &Path,
    runs: &Runs,
    output: Output,
) -> Result<(ExitCode, Option<Value>), Failure> {
    let options = runs.options()?;
    let stop = catch_interrupts()?;
    say_warnings(scenario);
    let results = make_runs(scenario, settings, out, options, stop)?;
    let json = say(scenario, &results, out, runs.quiet, output)?;
    if stop.load(Ordering::Relaxed) {
        let left = scenario.runs.len() - results.done.len();
        let left = match (scenario.runs.len(), left) {
            (1, _) => String::new(),
            (_, 0) => "; --resume repeats the stopped runs".to_owned(),
            (_, left) => format!("; --resume continues, {left} runs had not started"),
        };
        notice(&format!("stopped: the results are partial{left}"));
        return Ok((interrupted(), json));
    }
    Ok((ExitCode::SUCCESS, json))
}

fn say(
    scenario: &Scenario,
    Results { done, over_seeds }: &Results<'_>,
    out: &Path,
    is_quiet: bool,
    output: Output,
) -> Result<Option<Value>, Failure> {
    say_given_up(done);
    say_not_started(done);
    let folder = out.display().to_string();
    if output.is_json() || is_quiet {
        say_deadlocks(done);
    }
    if output.is_json() {
        let of = |(run, summary): &(&Run, Summary)| {
            let folder = out.join(&run.name).display().to_string();
            json!({ "run": run.name, "folder": folder, "summary": summary })
        };
        let runs: Vec<Value> = done.iter().map(of).collect();
        let all = json!({ "scenario": scenario.name, "folder": folder, "runs": runs, "over_seeds": over_seeds });
        return Ok(Some(all));
    }
    if !is_quiet {
        let runs: Vec<(&str, &Summary)> =
            done.iter().map(|(run, summary)| (&*run.name, summary)).collect();
        print(&run_table::tables(&runs, over_seeds))?;
        print(&format!("\nresults: {folder}\n"))?;
    }
    Ok(None)
}

/// Warns of runs without a duration that ended before their flows.
fn say_given_up(done: &[(&Run, Summary)]) {
    let ended_early = |(run, summary): &&(&Run, Summary)| {
        let left = summary.flows.run_ended + summary.flows.not_started;
        run.plan.duration.is_none() && !summary.interrupted && left > 0
    };
    for (run, summary) in done.iter().filter(ended_early) {
        let left = summary.flows.run_ended + summary.flows.not_started;
        let when = summary.simulated_ps / 1_000_000_000_000;
        notice(&format!(
            "warning: {}: stalled after {when} s of virtual time: no packet arrived any more; incomplete flows: {left}",
            run.name
        ));
    }
}

fn say_not_started(done: &[(&Run, Summary)]) {
    let are_left =
        |(_, summary): &&(&Run, Summary)| summary.flows.not_started > 0 && !summary.interrupted;
    for (run, summary) in done.iter().filter(are_left) {
        let (left, total) = (summary.flows.not_started, summary.flows.total);
        notice(&format!(
            "warning: {}: {left} of {total} flows did not start before the run ended: they start later, or wait for \
             other flows",
            run.name
        ));
    }
}

fn say_deadlocks(done: &[(&Run, Summary)]) {
    for (run, summary) in done.iter().filter(|(_, summary)| summary.is_deadlocked()) {
        let links = summary.pauses.as_ref().map_or(&[][..], |pauses| &pauses.deadlock);
        notice(&format!("warning: {}: deadlock of paused ports: {}", run.name, links.join(", ")));
    }
}

/// Prints the warnings of all runs, each sentence once.
fn say_warnings(scenario: &Scenario) {
    const MAX: usize = 8;
    let said = warnings(&scenario.runs);
    for (warning, _) in said.iter().take(MAX) {
        notice(&format!("warning: {}", warning.sentence));
    }
    if said.len() > MAX {
        notice(&format!("warning: {} more; `trimline explain` lists all", said.len() - MAX));
    }
}
