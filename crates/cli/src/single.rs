//! One run at a time, for callers that bring their own workers: the Python package.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;

use trimline_metrics::ResultFolder;
use trimline_sim::Progress;
use trimline_sim::scenario::Scenario;

use crate::claim;
pub use crate::claim::Claim;
use crate::execute::Done;
use crate::failure::Failure;
use crate::foreign::scenario_of;
use crate::results::{Earlier, earlier, write_run};
use crate::scenario_file;
use crate::{load, memory};

/// A scenario with the name that its results bear.
#[derive(Debug)]
pub struct Named {
    scenario: Scenario,
    settings: Vec<String>,
}

/// What is known of a run before it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// Series, point of the sweep and seed as a relative path; unique in the scenario.
    pub name: String,
    /// Name of the series, empty without one.
    pub series: String,
    /// Where in the sweep: key and value.
    pub point: Vec<(String, String)>,
    /// Seed.
    pub seed: u64,
}

/// What became of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Its result was there already, of the same scenario by the same program.
    Found,
    /// It ran to its end and its result was written.
    Finished,
    /// It was stopped; nothing was written.
    Stopped,
}

/// The scenario of a file that is none, such as htsim's `.cm`; `None` for any other file.
///
/// # Errors
/// One line: the file cannot be read.
pub fn text_of(path: &Path) -> Result<Option<String>, String> {
    scenario_of(path, None).map_err(one_line)
}

/// Where the results of the scenario at `path` go unless somebody says; `what` is what is done with it, such as
/// `compare`, empty for its runs.
pub fn default_folder(path: &Path, what: &str) -> PathBuf {
    scenario_file::default_folder(path, what)
}

impl Named {
    /// Reads a scenario; `file` is its name in errors, and names in it are relative to the folder of `file`.
    ///
    /// # Errors
    /// One line that names file, line, what is wrong and what was expected.
    pub fn parse(
        file: &str,
        text: &str,
        name: &str,
        settings: Vec<String>,
    ) -> Result<Named, String> {
        let mut scenario =
            Scenario::parse(file, text, &settings).map_err(|error| error.to_string())?;
        if scenario.name.is_empty() {
            scenario.name = name.to_owned();
        }
        Ok(Named { scenario, settings })
    }

    /// The scenario's name.
    pub fn name(&self) -> &str {
        &self.scenario.name
    }

    /// Every run, in the order series, sweep, seeds.
    pub fn runs(&self) -> Vec<Known> {
        let known = |run: &trimline_sim::scenario::Run| Known {
            name: run.name.clone(),
            series: run.plan.series.clone(),
            point: run.point.clone(),
            seed: run.plan.seed,
        };
        self.scenario.runs.iter().map(known).collect()
    }

    /// Takes `folder` for the runs at `places` until the claim is dropped: what an earlier command left there of the
    /// same scenario, and is none of these runs as they are now, is removed. Gives the names of that.
    ///
    /// # Errors
    /// One line: another command is writing there, or the folder holds something else.
    pub fn claim(&self, folder: &Path, places: &[usize]) -> Result<(Claim, Vec<String>), String> {
        let runs: Vec<_> = places
            .iter()
            .filter_map(|&place| self.scenario.runs.get(place))
            .map(|run| (claim::directory(folder, run, places.len()), run))
            .collect();
        let claim = Claim::take(folder).map_err(one_line)?;
        let removed = claim.clear(&self.scenario, &self.settings, &runs).map_err(one_line)?;
        Ok((claim, removed))
    }

    /// How many of the runs at `places` memory holds at the same time, at most `at_once`.
    ///
    /// # Errors
    /// One line: one of them alone needs more than there is.
    pub fn fit(&self, places: &[usize], at_once: usize) -> Result<usize, String> {
        let runs: Vec<_> = places.iter().filter_map(|&run| self.scenario.runs.get(run)).collect();
        memory::fit(&runs, at_once)
    }

    /// Where the runs at `places` are asked for more than their network carries: a sentence each.
    pub fn overload(&self, places: &[usize]) -> Vec<String> {
        let runs = places.iter().filter_map(|&run| self.scenario.runs.get(run));
        load::overloads(runs).into_iter().map(|(sentence, _)| sentence).collect()
    }

    /// Whether the result of a run is in `directory`.
    pub fn is_there(&self, place: usize, directory: &Path) -> bool {
        self.scenario.runs.get(place).is_some_and(|run| {
            let found = earlier(directory, &self.scenario, &self.settings, run);
            matches!(found, Earlier::Finished(_))
        })
    }

    /// Runs the run at `place` into `directory`, unless `resume` and its result is there.
    ///
    /// # Errors
    /// One line.
    pub fn run(
        &self,
        place: usize,
        directory: &Path,
        resume: bool,
        watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Ending, String> {
        let Some(run) = self.scenario.runs.get(place) else {
            return Err(format!("no run {place} of {}", self.scenario.runs.len()));
        };
        if resume && self.is_there(place, directory) {
            return Ok(Ending::Found);
        }
        let start = Instant::now();
        let record = trimline_sim::run(&run.plan, watch)
            .map_err(|error| format!("{}: {error}", run.name))?;
        if record.interrupted {
            return Ok(Ending::Stopped);
        }
        let done = Done { record, wall: start.elapsed(), threads: 1 };
        write_run(directory, &self.scenario, &self.settings, run, &done, &[]).map_err(one_line)?;
        Ok(Ending::Finished)
    }
}

/// Puts the files of a result that was made elsewhere into `directory`, whole or not at all. What others have laid there
/// stays.
///
/// # Errors
/// One line.
pub fn put(directory: &Path, files: &BTreeMap<String, Vec<u8>>) -> Result<(), String> {
    let write = || {
        let made = ResultFolder::begin(directory)?;
        for (name, bytes) in files {
            made.write(name, bytes)?;
        }
        made.finish()
    };
    write().map_err(|error| one_line(Failure::io(directory, &error)))
}

fn one_line(failure: Failure) -> String {
    match failure {
        Failure::Message(text) => text,
        Failure::Scenario(error) => error.to_string(),
    }
}
