//! `trimline report`: one HTML file of results, made by the Python package.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::failure::Failure;
use crate::reproduce::call_package;

/// Makes the report of `folders`, by default report.html in the first.
pub(crate) fn report(
    folders: &[PathBuf],
    out: Option<PathBuf>,
    include_stopped: bool,
) -> Result<ExitCode, Failure> {
    let missing = folders.iter().find(|folder| !folder.is_dir());
    if let Some(folder) = missing {
        return Err(Failure::message(format!("{}: no directory of results", folder.display())));
    }
    let first = folders.first().map_or(Path::new("."), PathBuf::as_path);
    let out = out.unwrap_or_else(|| first.join("report.html"));
    let option = include_stopped.then(|| OsString::from("--include-stopped"));
    let paths = std::iter::once(&out).chain(folders).map(|path| path.into());
    let arguments: Vec<OsString> = option.into_iter().chain(paths).collect();
    match call_package("reporting", &arguments, false)? {
        Some(0) => Ok(ExitCode::SUCCESS),
        _ => Ok(ExitCode::from(2)),
    }
}
