//! `trimline compare`: runs a scenario with several transports or schemes in turn. The Python package makes the table and
//! the figure.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{ArgGroup, Args};
use serde_json::Value;
use trimline_experiments::comparison::{Compared, Comparison, read_comparison};
use trimline_experiments::{Failure, default_folder, notice};
use trimline_explain::cautions;
use trimline_sim::scenario::SCHEMES;
use trimline_sim::transports::Transports;

use crate::output::{Output, print_json};
use crate::python_package::{self, Stdout};
use crate::run::run_scenario;
use crate::settings::{Runs, Settings};
use crate::status;

#[derive(Args, Clone, Debug)]
#[command(
    group = ArgGroup::new("compared").required(true).args(["transports", "schemes"]),
    override_usage = "trimline compare <SCENARIO> <--transports <NAMES>|--schemes <NAMES>>"
)]
pub(crate) struct Options {
    /// Scenario file (TOML), htsim connection matrix (.cm) or HPCC flow file.
    scenario: PathBuf,
    /// Compare these transports (comma-separated names), such as ndp,dctcp.
    #[arg(long, value_name = "NAMES")]
    transports: Option<String>,
    // The simulator has the list of names.
    #[arg(long, value_name = "NAMES|FILE", conflicts_with = "timers", help = schemes_help())]
    schemes: Option<String>,
    /// Preset of the `timers` of TCP, DCTCP and MPTCP. Default: the timers of the scenario.
    #[arg(long, value_parser = ["linux", "datacenter", "rfc"])]
    timers: Option<String>,
    #[command(flatten)]
    settings: Settings,
    #[command(flatten)]
    runs: Runs,
    #[command(flatten)]
    output: Output,
}

/// The help of `--schemes`, which names all built-in schemes.
fn schemes_help() -> String {
    format!(
        "Compare these schemes, each a transport with its switches, phantom queues and pacers: comma-separated names \
         of {}, or a TOML file with a [[scheme]] table for each",
        SCHEMES.join(", ")
    )
}

pub(crate) fn compare(options: Options, transports: &Transports) -> Result<ExitCode, Failure> {
    let Options { scenario: path, transports: names, schemes, timers, settings, runs, output } =
        options;
    let compared = match schemes {
        Some(schemes) => Compared::Schemes(schemes),
        None => Compared::Transports { names: names.unwrap_or_default(), timers },
    };
    let Comparison { scenario, settings, left_out } =
        read_comparison(&path, settings.format(), &settings.texts(), &compared, transports)?;
    if !left_out.is_empty() {
        notice(&format!(
            "note: the comparison leaves out the scenario's own series: {}",
            left_out.join(", ")
        ));
    }
    let mut names: Vec<&str> = Vec::new();
    for run in &scenario.runs {
        if !names.contains(&&*run.plan.series) {
            names.push(&run.plan.series);
        }
    }
    // Check the table's requirements before the runs. Without them the tables of the runs remain.
    let package = python_package::check("plot.comparison");
    if let Err(problem) = &package {
        notice(&format!("note: no table and no figure of the comparison: {problem}"));
    }
    // Defaults that decide more than the transports do.
    for note in cautions(&scenario.runs) {
        notice(&format!("note: {note}"));
    }
    let out = runs.out.clone().unwrap_or_else(|| default_folder(&path, "compare"));
    let (mut code, mut json) = run_scenario(&scenario, &settings, &out, &runs, output)?;
    if let Some(json) = &mut json {
        json["comparison"] = Value::Null;
    }
    if code == ExitCode::SUCCESS && package.is_ok() {
        let arguments: Vec<_> = (json.is_some().then(|| "--json".into()).into_iter())
            .chain([out.into()])
            .chain(names.into_iter().map(Into::into))
            .collect();
        let stdout = if json.is_some() { Stdout::Returned } else { Stdout::Shown };
        match (python_package::call("comparison", &arguments, stdout)?, &mut json) {
            (Some((0, text)), Some(json)) => {
                json["comparison"] = serde_json::from_slice(&text)
                    .map_err(|error| Failure::message(format!("trimline.comparison: {error}")))?;
            }
            (Some((0, _)), None) => {}
            (Some(_) | None, _) => code = status::error(),
        }
    }
    json.map_or(Ok(code), |json| print_json(&json).map(|()| code))
}
