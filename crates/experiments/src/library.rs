//! The experiments: scenarios with the findings of their papers.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::findings::Expected;

mod embedded {
    include!(concat!(env!("OUT_DIR"), "/experiments.rs"));
}

/// An experiment: a scenario, and the findings of a figure of a paper.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Paper and figure: `ndp/fig14`.
    pub id: String,
    /// Source of the scenario's text, for errors.
    pub(crate) scenario_name: String,
    pub(crate) scenario: String,
    /// Source of the expectation's text, for errors.
    pub(crate) expected_name: String,
    /// The findings.
    pub expected: Expected,
}

impl Experiment {
    fn parse(
        id: String,
        folder: &str,
        scenario: String,
        expected: &str,
    ) -> Result<Experiment, Failure> {
        let scenario_name = format!("{folder}/scenario.toml");
        let expected_name = format!("{folder}/expected.toml");
        let expected = Expected::parse(&expected_name, expected)?;
        Ok(Experiment { id, scenario_name, scenario, expected_name, expected })
    }
}

/// Loads the experiments of `directory`, otherwise of ./experiments, otherwise the built-in ones.
///
/// # Errors
/// Returns an error if there are no experiments, if a file cannot be read, and for a mistake in expected.toml.
pub fn load(directory: Option<&Path>) -> Result<Vec<Experiment>, Failure> {
    let local = Path::new("experiments");
    let directory = match directory {
        Some(directory) if !directory.is_dir() => {
            return Err(Failure::message(format!("{}: not a directory", directory.display())));
        }
        Some(directory) => Some(directory),
        None => local.is_dir().then_some(local),
    };
    let mut experiments = Vec::new();
    match directory {
        Some(directory) => {
            for paper in entries(directory)? {
                for figure in entries(&paper)? {
                    let (scenario, expected) =
                        (figure.join("scenario.toml"), figure.join("expected.toml"));
                    if scenario.is_file() && expected.is_file() {
                        let id = format!("{}/{}", name(&paper), name(&figure));
                        let (scenario, expected) = (read(&scenario)?, read(&expected)?);
                        let folder = figure.display().to_string();
                        experiments.push(Experiment::parse(id, &folder, scenario, &expected)?);
                    }
                }
            }
        }
        None => experiments = built_in()?,
    }
    if experiments.is_empty() {
        let place = directory.map_or("built in".to_owned(), |path| path.display().to_string());
        return Err(Failure::message(format!("no experiments ({place})")));
    }
    Ok(experiments)
}

fn built_in() -> Result<Vec<Experiment>, Failure> {
    let parse = |&(id, scenario, expected): &(&str, &str, &str)| {
        let folder = format!("experiments/{id}");
        Experiment::parse(id.to_owned(), &folder, scenario.to_owned(), expected)
    };
    embedded::EMBEDDED.iter().map(parse).collect()
}

/// A file of experiments/reference: of `directory`, otherwise of ./experiments, otherwise built in.
pub(crate) fn reference(directory: Option<&Path>, file: &str) -> Option<String> {
    let directory = directory.unwrap_or(Path::new("experiments"));
    fs::read_to_string(directory.join("reference").join(file)).ok().or_else(|| {
        let found = embedded::EMBEDDED_REFERENCE.iter().find(|(name, _)| *name == file);
        found.map(|&(_, text)| text.to_owned())
    })
}

/// Selects experiments by `ids`: an experiment, a figure that it also shows, a paper, or `all`; each once, in order.
pub(crate) fn choose(
    experiments: Vec<Experiment>,
    ids: &[String],
) -> Result<Vec<Experiment>, Failure> {
    let names = |experiment: &Experiment, id: &str| {
        let paper = experiment.id.split('/').next();
        let is_also =
            |figure: &String| id.split_once('/') == paper.map(|paper| (paper, figure.as_str()));
        id == "all"
            || experiment.id == id
            || paper == Some(id)
            || experiment.expected.also.iter().any(is_also)
    };
    for id in ids {
        if !experiments.iter().any(|experiment| names(experiment, id)) {
            let known: Vec<&str> = experiments.iter().map(|e| e.id.as_str()).collect();
            return Err(Failure::message(format!(
                "no experiment is named `{id}`; expected all, or one of {}",
                known.join(", ")
            )));
        }
    }
    let chosen = |experiment: &Experiment| ids.iter().any(|id| names(experiment, id));
    Ok(experiments.into_iter().filter(chosen).collect())
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !directory.is_dir() {
        return Ok(Vec::new());
    }
    let read = || -> std::io::Result<Vec<PathBuf>> {
        fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect()
    };
    let mut entries = read().map_err(|error| Failure::io(directory, &error))?;
    entries.sort();
    Ok(entries)
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| Failure::io(path, &error))
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use trimline_sim::scenario::Scenario;

    #[test]
    fn every_built_in_experiment_is_complete() {
        let experiments = built_in().unwrap();
        assert!(experiments.len() >= 4);
        for experiment in experiments {
            // No folder of this name exists: a scenario that names a file cannot be built in.
            let scenario = Scenario::parse("missing/scenario.toml", &experiment.scenario, &[]);
            let scenario = scenario.unwrap();
            assert!(!scenario.name.is_empty(), "{}", experiment.id);
            let mut some = scenario.clone();
            experiment.expected.quick.choose(&experiment.id, &mut some).unwrap();
            experiment.expected.check(&experiment.expected_name, &scenario).unwrap();
            for file in &experiment.expected.reference_files {
                let built_in = embedded::EMBEDDED_REFERENCE.iter().any(|(name, _)| name == file);
                assert!(built_in, "{file}");
            }
        }
    }

    #[test]
    fn ids_choose_experiments() {
        let ids = |ids: &[&str]| -> Result<Vec<String>, Failure> {
            let ids: Vec<String> = ids.iter().map(|&id| id.to_owned()).collect();
            Ok(choose(built_in()?, &ids)?.into_iter().map(|e| e.id).collect())
        };
        assert_eq!(ids(&["ndp/fig21", "ndp/base"]).unwrap(), ["ndp/base", "ndp/fig21"]);
        let every = ids(&["all"]).unwrap();
        let papers: BTreeSet<&str> = every.iter().filter_map(|id| id.split('/').next()).collect();
        assert_eq!(ids(&Vec::from_iter(papers)).unwrap(), every);
        // The id of a figure that another experiment shows selects that experiment, in its own paper alone.
        assert_eq!(
            ids(&["hull/fig13", "hull/fig12", "hull/fig11"]).unwrap(),
            ["hull/fig12", "hull/table4"]
        );
        assert!(ids(&["phost/fig13"]).is_err());
        assert!(ids(&["ndp"]).unwrap().iter().all(|id| id.starts_with("ndp/")));
        assert!(ids(&["ndp/fig99"]).unwrap_err().to_string().contains("ndp/fig14"));
    }
}
