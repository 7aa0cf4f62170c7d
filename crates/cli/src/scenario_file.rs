//! The scenario that a command names: its file, or a file of another simulator, with what is laid over it.

use std::path::Path;

use trimline_sim::scenario::Scenario;
use trimline_sim::transports::Transports;

use crate::failure::Failure;
use crate::foreign::scenario_of;

/// Reads a scenario file and everything laid over it. Without a name it has that of its file.
pub(crate) fn read_scenario(
    path: &Path,
    format: Option<&str>,
    settings: &[String],
    transports: &Transports,
) -> Result<Scenario, Failure> {
    parse_scenario(path, &scenario_text(path, format)?, settings, transports)
}

/// The text of a scenario, also of a file that is none but can be run; `format` says that it is one of flows.
pub(crate) fn scenario_text(path: &Path, format: Option<&str>) -> Result<String, Failure> {
    match scenario_of(path, format)? {
        Some(text) => Ok(text),
        None => std::fs::read_to_string(path).map_err(|error| Failure::io(path, &error)),
    }
}

/// Reads the text of the scenario at `path`. Without a name it has that of its file.
pub(crate) fn parse_scenario(
    path: &Path,
    text: &str,
    settings: &[String],
    transports: &Transports,
) -> Result<Scenario, Failure> {
    let name = path.display().to_string();
    let mut scenario = Scenario::parse_with(&name, text, settings, transports)?;
    if scenario.name.is_empty() {
        scenario.name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    }
    Ok(scenario)
}
