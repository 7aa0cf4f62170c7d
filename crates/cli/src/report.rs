//! `trimline report`: one HTML file of results, made by the Python package.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use trimline_experiments::{Failure, results_below};
use trimline_metrics::Summary;

use crate::output::Output;
use crate::python_package::{self, Stdout};
use crate::run_table;
use crate::status;

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
    #[command(flatten)]
    output: Output,
}

pub(crate) fn report(options: Options) -> Result<ExitCode, Failure> {
    let Options { folders, out, include_stopped, output } = options;
    let missing = folders.iter().find(|folder| !folder.is_dir());
    if let Some(folder) = missing {
        return Err(Failure::message(format!("{}: not a directory of results", folder.display())));
    }
    let first = folders.first().map_or(Path::new("."), PathBuf::as_path);
    let out = out.unwrap_or_else(|| first.join("report.html"));
    let option = include_stopped.then(|| OsString::from("--include-stopped"));
    let paths = std::iter::once(&out).chain(&folders).map(|path| path.into());
    let arguments: Vec<OsString> = option.into_iter().chain(paths).collect();
    match python_package::call("reporting", &arguments, Stdout::Returned)? {
        Some((0, _)) => {
            let report = out.display().to_string();
            output.print(&json!({ "report": report }), || format!("{report}\n"))?;
            Ok(ExitCode::SUCCESS)
        }
        // Without the package, print the numbers of the runs instead of a report.
        None => print_runs(&folders, output).map(|()| status::error()),
        Some(_) => Ok(status::error()),
    }
}

fn print_runs(folders: &[PathBuf], output: Output) -> Result<(), Failure> {
    let mut runs = Vec::new();
    for folder in folders {
        for place in results_below(folder).map_err(|error| Failure::io(folder, &error))? {
            let file = place.join("summary.json");
            let text = fs::read_to_string(&file).map_err(|error| Failure::io(&file, &error))?;
            let summary = Summary::from_json(&text).ok_or_else(|| {
                Failure::message(format!("{}: not a summary of a run", file.display()))
            })?;
            let name = place.strip_prefix(folder).unwrap_or(&place).display().to_string();
            runs.push((name, place, summary));
        }
    }
    let entry = |(name, place, summary): &(String, PathBuf, Summary)| json!({ "run": name, "folder": place.display().to_string(), "summary": summary });
    let all = json!({ "report": null, "runs": runs.iter().map(entry).collect::<Vec<_>>() });
    output.print(&all, || {
        let runs: Vec<(&str, &Summary)> =
            runs.iter().map(|(name, _, run)| (&**name, run)).collect();
        run_table::tables(&runs, &[])
    })
}
