//! `trimline list`: the experiments.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use trimline_experiments::Failure;
use trimline_experiments::library::{Experiment, load};

use crate::settings::Library;
use crate::terminal::print;

#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// Print the list as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    library: Library,
}

pub(crate) fn list(options: &Options) -> Result<ExitCode, Failure> {
    let experiments = load(options.library.directory.as_deref())?;
    if options.json {
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
        print(&format!("{:#}\n", json!({ "experiments": list })))?;
    } else {
        let width = experiments.iter().map(|e| e.id.len()).max().unwrap_or(0);
        for Experiment { id, expected, .. } in &experiments {
            print(&format!("{id:width$}  {}\n", expected.title))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
