//! `trimline report`: one HTML file of results, made by the Python package.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use trimline_experiments::{Failure, results_below};
use trimline_metrics::Summary;

use crate::python_package;
use crate::run_table;
use crate::terminal::print;

#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// Directories of results.
    #[arg(required = true, value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// HTML file to write. Default: report.html in the first directory.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Include runs that were stopped early in means over seeds.
    #[arg(long)]
    include_stopped: bool,
}

pub(crate) fn report(options: Options) -> Result<ExitCode, Failure> {
    let Options { folders, out, include_stopped } = options;
    let missing = folders.iter().find(|folder| !folder.is_dir());
    if let Some(folder) = missing {
        return Err(Failure::message(format!("{}: not a directory of results", folder.display())));
    }
    let first = folders.first().map_or(Path::new("."), PathBuf::as_path);
    let out = out.unwrap_or_else(|| first.join("report.html"));
    let option = include_stopped.then(|| OsString::from("--include-stopped"));
    let paths = std::iter::once(&out).chain(&folders).map(|path| path.into());
    let arguments: Vec<OsString> = option.into_iter().chain(paths).collect();
    match python_package::call("reporting", &arguments, false)? {
        Some(0) => Ok(ExitCode::SUCCESS),
        // Without the package, print the numbers of the runs instead of a report.
        None => tables_of(&folders).map(|()| ExitCode::from(2)),
        Some(_) => Ok(ExitCode::from(2)),
    }
}

fn tables_of(folders: &[PathBuf]) -> Result<(), Failure> {
    let mut runs = Vec::new();
    for folder in folders {
        for place in results_below(folder).map_err(|error| Failure::io(folder, &error))? {
            let file = place.join("summary.json");
            let text = fs::read_to_string(&file).map_err(|error| Failure::io(&file, &error))?;
            let summary = Summary::from_json(&text).ok_or_else(|| {
                Failure::message(format!("{}: not a summary of a run", file.display()))
            })?;
            let name = place.strip_prefix(folder).unwrap_or(&place).display().to_string();
            runs.push((name, summary));
        }
    }
    let runs: Vec<(&str, &Summary)> = runs.iter().map(|(name, run)| (&**name, run)).collect();
    print(&run_table::tables(&runs, &[]))
}
