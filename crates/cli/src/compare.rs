//! `trimline compare`: runs a scenario with several transports or schemes in turn. The Python package makes the table and
//! the figure.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{ArgGroup, Args};
use trimline_experiments::comparison::{Compared, Comparison, read_comparison};
use trimline_experiments::{Failure, default_folder};
use trimline_explain::cautions;
use trimline_sim::scenario::SCHEMES;
use trimline_sim::transports::Transports;

use crate::python_package;
use crate::run::run_scenario;
use crate::settings::{Runs, Settings};

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
    let Options { scenario: path, transports: names, schemes, timers, settings, runs } = options;
    let compared = match schemes {
        Some(schemes) => Compared::Schemes(schemes),
        None => Compared::Transports { names: names.unwrap_or_default(), timers },
    };
    let Comparison { scenario, settings, left_out } =
        read_comparison(&path, settings.format(), &settings.texts(), &compared, transports)?;
    if !left_out.is_empty() {
        eprintln!(
            "note: the comparison leaves out the scenario's own series: {}",
            left_out.join(", ")
        );
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
        eprintln!("note: no table and no figure of the comparison: {problem}");
    }
    // Defaults that decide more than the transports do.
    for note in cautions(&scenario.runs) {
        eprintln!("note: {note}");
    }
    let out = runs.out.clone().unwrap_or_else(|| default_folder(&path, "compare"));
    let code = run_scenario(&scenario, &settings, &out, &runs, false)?;
    if code != ExitCode::SUCCESS || package.is_err() {
        return Ok(code);
    }
    let arguments: Vec<_> =
        std::iter::once(out.into()).chain(names.into_iter().map(Into::into)).collect();
    match python_package::call("comparison", &arguments, false)? {
        Some(0) => Ok(ExitCode::SUCCESS),
        _ => Ok(ExitCode::from(2)),
    }
}
