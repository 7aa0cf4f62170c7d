//! `trimline compare`: a scenario with one transport after the other. The runs are those of `run`, a series for each
//! transport; the Python package makes the table and the figure.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::failure::Failure;
use crate::reproduce::call_package;

/// Words that every run of a comparison is laid over with.
const ASKED: [&str; 1] = ["output.ports=true"];

/// The scenario's text with a series for each transport, and the settings that go with it.
pub(crate) fn with_transports(
    text: &str,
    transports: &str,
    settings: &[String],
) -> Result<(String, Vec<String>), Failure> {
    let names: Vec<&str> = transports.split(',').map(str::trim).collect();
    let is_word = |name: &&str| {
        !name.is_empty()
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    if let Some(name) = names.iter().find(|name| !is_word(name)) {
        return Err(Failure::message(format!(
            "--transports: no transport `{name}`; expected names with commas, such as ndp,dctcp"
        )));
    }
    let mut text = text.to_owned();
    for name in names {
        text += &format!("\n[[series]]\nname = \"{name}\"\ntransport.{name} = {{}}\n");
    }
    let settings = settings.iter().cloned().chain(ASKED.map(str::to_owned));
    Ok((text, settings.collect()))
}

/// Where a comparison is written.
pub(crate) fn folder(path: &Path, out: Option<PathBuf>) -> PathBuf {
    out.unwrap_or_else(|| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        Path::new("out").join(format!("{name}-compare"))
    })
}

/// The table and the figure of what was run.
pub(crate) fn show(out: &Path) -> Result<ExitCode, Failure> {
    match call_package("comparison", &[out.into()])? {
        Some(0) => Ok(ExitCode::SUCCESS),
        _ => Ok(ExitCode::from(2)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_transport_becomes_a_series() {
        let base = "topology.star.hosts = 3\n[[workload]]\nname = \"w\"\npermutation = {}\nsize = \"9KB\"\n";
        let (text, settings) =
            with_transports(base, "ndp, cbr", &["seeds=2".to_owned()]).unwrap_or_else(|_| panic!());
        assert!(text.ends_with("[[series]]\nname = \"cbr\"\ntransport.cbr = {}\n"), "{text}");
        assert_eq!(settings, ["seeds=2", "output.ports=true"]);
        assert!(with_transports(base, "ndp,", &[]).is_err());
        assert!(with_transports(base, "n\"dp", &[]).is_err());
    }
}
