//! Reads the scenario that a command names, or converts a file of another simulator, with overlays.

use std::path::{Component, Path, PathBuf};

use trimline_metrics::manifest::text_hash;
use trimline_sim::scenario::{Scenario, ScenarioError};
use trimline_sim::transports::{Transports, time};

use crate::failure::Failure;
use crate::import::{FlowFormat, format_of, lacks_topology, scenario_of};
use crate::notice::notice;

/// Reads a scenario file with its overlays. The default name is the file's.
///
/// # Errors
/// Returns a mistake in the file or in `settings`. For a file of another simulator it names the file alone, as the lines of
/// its scenario mean nothing to the reader.
pub fn read_scenario(
    path: &Path,
    format: Option<FlowFormat>,
    settings: &[String],
    transports: &Transports,
) -> Result<Scenario, Failure> {
    let text = scenario_text(path, format)?;
    let is_of_flows = format_of(path, format).is_some();
    let scenario = match parse_scenario(path, &text, settings, transports) {
        // A generated scenario's lines mean nothing to the user.
        Err(Failure::Scenario(error))
            if is_of_flows && (error.place.source.text == text || is_topology_named(&error)) =>
        {
            if let Some(described) = lacks_topology(path, format, settings) {
                return Err(Failure::message(described));
            }
            let is_named = is_topology_named(&error);
            let ScenarioError { problem, expected, .. } = *error;
            let name = path.display().to_string();
            let is_said = problem.contains(&name) || is_named;
            let place = if is_said { String::new() } else { format!("{name}: ") };
            return Err(Failure::message(format!("{place}{problem}; expected {expected}")));
        }
        read => read?,
    };
    let says_rates =
        |setting: &String| ["topology", "links"].iter().any(|key| setting.starts_with(key));
    if is_of_flows
        && !settings.iter().any(says_rates)
        && let Some(run) = scenario.runs.first()
    {
        let link = run.plan.topology.host_link;
        notice(&format!(
            "note: {} has no link rate: links have {} and {}; change them with --topology or --set links.rate=100Gbps",
            path.display(),
            link.rate,
            time(link.delay)
        ));
    }
    Ok(scenario)
}

/// True if a mistake is in the file of `--topology`, a generated setting.
fn is_topology_named(error: &ScenarioError) -> bool {
    let source = &error.place.source;
    source.name == "--set" && source.text.starts_with("topology.file=")
}

/// The text of a scenario, or of a file of flows converted to one.
pub(crate) fn scenario_text(path: &Path, format: Option<FlowFormat>) -> Result<String, Failure> {
    match scenario_of(path, format)? {
        Some(text) => Ok(text),
        None => std::fs::read_to_string(path).map_err(|error| Failure::io(path, &error)),
    }
}

/// Parses the text of the scenario at `path`. The default name is the file's.
pub(crate) fn parse_scenario(
    path: &Path,
    text: &str,
    settings: &[String],
    transports: &Transports,
) -> Result<Scenario, Failure> {
    let name = path.display().to_string();
    let mut scenario =
        Scenario::parse_with(&name, text, settings, transports).map_err(|mut error| {
            if is_of_switches(text) {
                error.problem += ", in a file that looks like a configuration of trimline-switch";
            }
            error
        })?;
    if scenario.name.is_empty() {
        scenario.name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    }
    Ok(scenario)
}

/// True if a text looks like a configuration of `trimline-switch`: its lists, and no key that every scenario has.
fn is_of_switches(text: &str) -> bool {
    let Ok(read) = text.parse::<toml::Table>() else { return false };
    let is_list = |key: &&str| read.get(*key).is_some_and(toml::Value::is_array);
    ["switch", "link", "host"].iter().any(is_list)
        && !["topology", "workload"].iter().any(|key| read.contains_key(*key))
}

/// The default folder for results of the scenario at `path`: the file's place below this folder. `what` names another
/// command, such as `trace`; empty for runs.
pub fn default_folder(path: &Path, what: &str) -> PathBuf {
    folder_from(path, what, &std::env::current_dir().unwrap_or_default())
}

fn folder_from(path: &Path, what: &str, here: &Path) -> PathBuf {
    // Resolve `.` and `..` as far as possible for a file that may not exist.
    let mut whole = PathBuf::new();
    for part in here.join(path).components() {
        match part {
            Component::ParentDir => drop(whole.pop()),
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => whole.push(part),
        }
    }
    // Files of other simulators keep their extensions: another extension is another file.
    let name = match whole.extension() {
        Some(ending) if ending == "toml" => whole.file_stem(),
        Some(_) | None => whole.file_name(),
    };
    let mut name = name.unwrap_or_default().to_string_lossy().into_owned();
    let parent = whole.parent().unwrap_or(Path::new(""));
    let inside = parent.strip_prefix(here);
    if inside.is_err() {
        name += &format!("-{}", &text_hash(&parent.display().to_string())[..6]);
    }
    if !what.is_empty() {
        name += &format!("-{what}");
    }
    Path::new("out").join(inside.unwrap_or(Path::new(""))).join(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_of_switches_is_recognised() {
        let known = Transports::built_in();
        let refused = |text: &str| {
            parse_scenario(Path::new("s.toml"), text, &[], &known).unwrap_err().to_string()
        };
        let said = refused(include_str!("../../../examples/switch.toml"));
        let described =
            "unknown key `rate`, in a file that looks like a configuration of trimline-switch";
        assert!(said.contains(described), "{said}");
        for text in ["rate = \"1Gbps\"\n", "rate = \"1Gbps\"\nworkload = []\n[[host]]\n"] {
            assert!(!refused(text).contains("trimline-switch"), "{text}");
        }
    }

    #[test]
    fn every_scenario_file_has_its_own_output_folder() {
        let of = |path: &str| folder_from(Path::new(path), "", Path::new("/place"));
        assert_eq!(of("x.toml"), Path::new("out/x"));
        assert_eq!(of("./p1/x.toml"), Path::new("out/p1/x"));
        assert_eq!(of("p1/../p2/x.toml"), Path::new("out/p2/x"));
        assert_eq!(of("/place/p2/x.toml"), of("p2/x.toml"));
        assert_eq!(of("x.cm"), Path::new("out/x.cm"));
        let outside = ["/a/x.toml", "/b/x.toml", "../x.toml"].map(of);
        assert!(outside.iter().all(|path| path.parent() == Some(Path::new("out"))));
        assert!(outside[0] != outside[1] && outside[1] != outside[2]);
        let trace = folder_from(Path::new("p1/x.toml"), "trace", Path::new("/place"));
        assert_eq!(trace, Path::new("out/p1/x-trace"));
    }
}
