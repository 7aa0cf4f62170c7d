//! One run at a time, for callers that bring their own workers: the Python package.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;

use trimline_metrics::ResultFolder;
use trimline_sim::Progress;
use trimline_sim::scenario::{Run, Scenario};
use trimline_sim::transports::Transports;

use crate::execute::Done;
use crate::failure::Failure;
use crate::import::scenario_of;
use crate::output_lock;
pub use crate::output_lock::OutputLock;
use crate::results::{Earlier, earlier, write_run};
use crate::scenario_file;
use crate::{compare, memory, warnings};

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

/// Whether a built-in transport has timers that a preset sets.
pub fn has_timers(transport: &str) -> bool {
    compare::has_timers(transport, &Transports::built_in())
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
        let known = |run: &Run| Known {
            name: run.name.clone(),
            series: run.plan.series.clone(),
            point: run.point.clone(),
            seed: run.plan.seed,
        };
        self.scenario.runs.iter().map(known).collect()
    }

    /// Takes `folder` for the runs at `places` until the claim is dropped: what an earlier command left there of the
    /// same scenario, and is none of these runs as they are now, is removed. Gives a sentence that names it.
    ///
    /// # Errors
    /// One line: another command is writing there, the folder holds something else, or there is no such run.
    pub fn lock(
        &self,
        folder: &Path,
        places: &[usize],
    ) -> Result<(OutputLock, Option<String>), String> {
        let runs = self.runs_at(places)?.into_iter();
        let runs: Vec<_> = runs.map(|run| (output_lock::directory(folder, run), run)).collect();
        let lock = OutputLock::take(folder).map_err(one_line)?;
        let removed = lock.clear(&self.scenario, &self.settings, &runs).map_err(one_line)?;
        Ok((lock, output_lock::describe_removed(folder, &removed)))
    }

    /// How many of the runs at `places` memory holds at the same time, at most `at_once`.
    ///
    /// # Errors
    /// One line: one of them alone needs more than there is, or there is no such run.
    pub fn fit(&self, places: &[usize], at_once: usize) -> Result<usize, String> {
        memory::fit(&self.runs_at(places)?, at_once)
    }

    /// The warnings of the runs at `places`, a sentence each: more load than the network carries, time-outs that come too
    /// early, thresholds that no queue reaches, windows below a round trip.
    ///
    /// # Errors
    /// One line: there is no such run.
    pub fn warnings(&self, places: &[usize]) -> Result<Vec<String>, String> {
        let runs = self.runs_at(places)?;
        Ok(warnings::once(runs).into_iter().map(|(warning, _)| warning.sentence).collect())
    }

    /// Sentences about the runs at `places` whose defaults may decide more than their transports do: timers of some that
    /// others do not have, and payloads that differ.
    ///
    /// # Errors
    /// One line: there is no such run.
    pub fn cautions(&self, places: &[usize]) -> Result<Vec<String>, String> {
        Ok(compare::cautions(self.runs_at(places)?))
    }

    /// Whether there are runs at these places.
    ///
    /// # Errors
    /// One line: there is no such run.
    pub fn check(&self, places: &[usize]) -> Result<(), String> {
        self.runs_at(places).map(|_| ())
    }

    fn runs_at(&self, places: &[usize]) -> Result<Vec<&Run>, String> {
        let runs = &self.scenario.runs;
        let at = |&place: &usize| {
            runs.get(place).ok_or_else(|| format!("no run {place} of {}", runs.len()))
        };
        places.iter().map(at).collect()
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
        let run = self.runs_at(&[place])?[0];
        if resume && self.is_there(place, directory) {
            return Ok(Ending::Found);
        }
        let start = Instant::now();
        let record = trimline_sim::run(&run.plan, watch)
            .map_err(|error| format!("{}: {error}", run.name))?;
        // One that waits for itself would end so every time.
        if record.interrupted && record.pause_cycles.deadlock.is_empty() {
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
