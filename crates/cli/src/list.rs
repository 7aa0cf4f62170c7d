//! `trimline list`: the experiments.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use trimline_experiments::Failure;
use trimline_experiments::library::{Experiment, load};
use trimline_explain::wrapped;

use crate::output::Output;
use crate::settings::Library;

#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    library: Library,
}

pub(crate) fn list(options: &Options) -> Result<ExitCode, Failure> {
    let experiments = load(options.library.directory.as_deref())?;
    let list: Vec<_> = experiments
        .iter()
        .map(|experiment| {
            json!({
                "id": experiment.id,
                "title": experiment.expected.title,
                "also": experiment.expected.also,
                "findings": experiment.expected.finding.len(),
            })
        })
        .collect();
    options.output.print(&json!({ "experiments": list }), || {
        let width = experiments.iter().map(|e| e.id.len()).max().unwrap_or(0);
        let line = |Experiment { id, expected, .. }: &Experiment| {
            wrapped(&format!("{id:width$}  {}", expected.title), width + 2) + "\n"
        };
        experiments.iter().map(line).collect()
    })?;
    Ok(ExitCode::SUCCESS)
}
