//! Imports files of other simulators: flows as a scenario.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use trimline_sim::formats::connection_matrix;

use crate::failure::Failure;

/// The format of a file of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowFormat {
    /// A connection matrix of htsim.
    Htsim,
    /// Flows of HPCC's simulations.
    Hpcc,
}

/// The given format, or the format by the file's name and first line. `None`: a scenario.
pub(crate) fn format_of(path: &Path, format: Option<FlowFormat>) -> Option<FlowFormat> {
    let is = |extension: &OsStr| ["cm", "tm"].iter().any(|is| extension.eq_ignore_ascii_case(is));
    let by_name = || path.extension().is_some_and(is).then_some(FlowFormat::Htsim);
    format.or_else(by_name).or_else(|| format_by_first_line(path))
}

/// The format of a file that begins with `Nodes` (htsim), or with a lone number in its line (HPCC). No scenario begins
/// so.
fn format_by_first_line(path: &Path) -> Option<FlowFormat> {
    let file = fs::File::open(path).ok()?;
    let lines = BufReader::new(file.take(1 << 16)).lines().map_while(Result::ok);
    // A byte-order mark is not part of the first line.
    let lines = lines.map(|line| line.trim_start_matches('\u{feff}').to_owned());
    let mut lines = lines.filter(|line| !line.trim_start().starts_with('#'));
    let first = lines.find(|line| !line.trim().is_empty())?;
    match first.split_whitespace().collect::<Vec<_>>()[..] {
        ["Nodes", ..] => Some(FlowFormat::Htsim),
        [count] if count.bytes().all(|byte| byte.is_ascii_digit()) => Some(FlowFormat::Hpcc),
        _ => None,
    }
}

/// Converts a file of flows to a scenario: htsim's connection matrix to flows on a FatTree with as many hosts. For
/// HPCC's flows the settings must give the hosts. `None` for a scenario.
///
/// # Errors
/// Returns an error if the file cannot be read.
pub(crate) fn scenario_of(
    path: &Path,
    format: Option<FlowFormat>,
) -> Result<Option<String>, Failure> {
    match format_of(path, format) {
        Some(FlowFormat::Hpcc) => return Ok(Some(flows_of(path, "hpcc", ""))),
        Some(FlowFormat::Htsim) => {}
        None => return Ok(None),
    }
    let text = fs::read_to_string(path).map_err(|error| Failure::io(path, &error))?;
    let matrix = connection_matrix::parse(&path.display().to_string(), &text)
        .map_err(|error| Failure::message(error.to_string()))?;
    let topology = match fattree(matrix.nodes) {
        Some(topology) => {
            format!("# On a FatTree with as many hosts as the file has.\n[topology]\n{topology}\n")
        }
        // The topology then comes from --topology or --set.
        None => String::new(),
    };
    Ok(Some(flows_of(path, "htsim", &topology)))
}

/// Returns the error for flows without a topology: HPCC's, or a matrix whose hosts fit no FatTree.
pub(crate) fn lacks_topology(
    path: &Path,
    format: Option<FlowFormat>,
    settings: &[String],
) -> Option<String> {
    if settings.iter().any(|setting| setting.starts_with("topology")) {
        return None;
    }
    let name = path.display().to_string();
    if format_of(path, format) == Some(FlowFormat::Hpcc) {
        return Some(format!(
            "{name}: flows without a network; expected --topology FILE, HPCC's topology.txt"
        ));
    }
    let matrix = connection_matrix::parse(&name, &fs::read_to_string(path).ok()?).ok()?;
    let hosts = matrix.nodes;
    let expected = "--topology FILE with the network, a .topo of htsim";
    fattree(hosts)
        .is_none()
        .then(|| format!("{name}: no FatTree has {hosts} hosts; expected {expected}"))
}

fn flows_of(path: &Path, format: &str, topology: &str) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // A quoted TOML string, for any file name.
    let name = serde_json::to_string(&name).unwrap_or_default();
    format!("{topology}[[workload]]\nname = \"flows\"\nfile = {name}\nformat = \"{format}\"\n")
}

/// The FatTree with `hosts` hosts, if possible of three tiers, otherwise of two.
fn fattree(hosts: u32) -> Option<String> {
    let is_k =
        |hosts_of: fn(u64) -> u64| (2..=128u64).step_by(2).any(|k| hosts_of(k) == u64::from(hosts));
    if is_k(|k| k * k * k / 4) {
        Some(format!("fattree.hosts = {hosts}"))
    } else if is_k(|k| k * k / 2) {
        Some(format!("fattree = {{ hosts = {hosts}, tiers = 2 }}"))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fattree_has_exactly_the_hosts_of_the_file() {
        assert_eq!(fattree(432).as_deref(), Some("fattree.hosts = 432"));
        assert_eq!(fattree(32).as_deref(), Some("fattree = { hosts = 32, tiers = 2 }"));
        assert_eq!(fattree(100), None);
    }
}
