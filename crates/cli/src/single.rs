//! One run at a time, for callers that bring their own workers: the Python package.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use trimline_sim::Progress;
use trimline_sim::scenario::Scenario;

use crate::execute::Done;
use crate::failure::Failure;
use crate::foreign::scenario_of;
use crate::results::{Earlier, earlier, write_run};

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

fn one_line(failure: Failure) -> String {
    match failure {
        Failure::Message(text) => text,
        Failure::Scenario(error) => error.to_string(),
    }
}
