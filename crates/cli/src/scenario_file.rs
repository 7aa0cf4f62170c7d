//! The scenario that a command names: its file, or a file of another simulator, with what is laid over it.

use std::path::{Component, Path, PathBuf};

use trimline_metrics::manifest::text_hash;
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

/// Where the results of the scenario at `path` go unless somebody says: the file's place below this folder, so that two
/// files have two folders. `what` is what is done with it, such as `trace`; empty for its runs.
pub(crate) fn default_folder(path: &Path, what: &str) -> PathBuf {
    folder_from(path, what, &std::env::current_dir().unwrap_or_default())
}

fn folder_from(path: &Path, what: &str, here: &Path) -> PathBuf {
    // Without `.` and `..`, as far as that can be said of a file that may not be there.
    let mut whole = PathBuf::new();
    for part in here.join(path).components() {
        match part {
            Component::ParentDir => drop(whole.pop()),
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => whole.push(part),
        }
    }
    // Files of other simulators keep their endings: the same name with another ending is another file.
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
    fn every_file_has_a_folder_of_its_own() {
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
