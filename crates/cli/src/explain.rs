//! `trimline explain`: a scenario in words, and what its runs will take.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use trimline_experiments::Failure;
use trimline_explain::describe;
use trimline_sim::transports::Transports;

use crate::output::Output;
use crate::settings::Settings;

#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// Scenario file (TOML), htsim connection matrix (.cm) or HPCC flow file.
    scenario: PathBuf,
    #[command(flatten)]
    settings: Settings,
    #[command(flatten)]
    output: Output,
}

pub(crate) fn explain(options: &Options, transports: &Transports) -> Result<ExitCode, Failure> {
    let described = describe(&options.settings.read(&options.scenario, transports)?);
    options.output.print(&described, || described.to_string())?;
    Ok(ExitCode::SUCCESS)
}
