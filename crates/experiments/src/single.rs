//! Single runs, for callers with their own workers: the Python package. An error is one line.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use trimline_explain::{cautions, warnings};
use trimline_metrics::ResultFolder;
use trimline_sim::Progress;
use trimline_sim::scenario::{Run, Scenario};

use crate::execute::Done;
use crate::failure::Failure;
use crate::import::scenario_of;
use crate::memory;
pub use crate::output_lock::OutputLock;
use crate::output_lock::{describe_removed, directory};
use crate::results::{Earlier, earlier, write_run};

/// A scenario with the name for its results.
#[derive(Debug)]
pub struct Named {
    scenario: Scenario,
    settings: Vec<String>,
}

/// The outcome of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// A result of the same scenario and program already existed.
    Found,
    /// It ran to its end and its result was written.
    Finished,
    /// It was stopped; nothing was written.
    Stopped,
}

/// Converts a file of another simulator, such as htsim's `.cm`, to a scenario; `None` for any other file.
pub fn text_of(path: &Path) -> Result<Option<String>, String> {
    scenario_of(path, None).map_err(|failure| failure.to_string())
}

impl Named {
    /// Parses a scenario; `file` is its name in errors, and paths in it are relative to the folder of `file`.
    ///
    /// # Errors
    /// Returns file, line, mistake and expected form.
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

    /// All runs, in the order series, sweep, seeds.
    pub fn runs(&self) -> &[Run] {
        &self.scenario.runs
    }

    /// Locks `folder` for the runs at `places` until the lock is dropped, and removes earlier results of the scenario
    /// that do not match. Returns a sentence about them.
    ///
    /// # Errors
    /// Returns an error if another command is writing there, the folder has other content, or a run does not exist.
    pub fn lock(
        &self,
        folder: &Path,
        places: &[usize],
    ) -> Result<(OutputLock, Option<String>), String> {
        let runs = self.runs_at(places)?.into_iter();
        let runs: Vec<_> = runs.map(|run| (directory(folder, run), run)).collect();
        let one_line = |failure: Failure| failure.to_string();
        let lock = OutputLock::acquire(folder).map_err(one_line)?;
        let removed = lock.clear(&self.scenario, &self.settings, &runs).map_err(one_line)?;
        Ok((lock, describe_removed(folder, &removed)))
    }

    /// Number of the runs at `places` that fit into memory together, at most `at_once`.
    ///
    /// # Errors
    /// Returns an error if a single run does not fit, or does not exist.
    pub fn fit(&self, places: &[usize], at_once: usize) -> Result<usize, String> {
        memory::fit(&self.runs_at(places)?, at_once)
    }

    /// The warnings of the runs at `places`, a sentence each: overload, time-outs that are too short, thresholds that
    /// no queue reaches, windows below a round trip.
    pub fn warnings(&self, places: &[usize]) -> Result<Vec<String>, String> {
        let runs = self.runs_at(places)?;
        Ok(warnings(runs).into_iter().map(|(warning, _)| warning.sentence).collect())
    }

    /// Warnings about defaults that may decide more than the transports at `places`: timers that only some have, and
    /// unequal payloads.
    pub fn cautions(&self, places: &[usize]) -> Result<Vec<String>, String> {
        Ok(cautions(self.runs_at(places)?))
    }

    /// Checks that runs exist at these places.
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

    /// True if the result of a run is in `directory`.
    pub fn is_there(&self, place: usize, directory: &Path) -> bool {
        self.scenario.runs.get(place).is_some_and(|run| {
            let found = earlier(directory, &self.scenario, &self.settings, run);
            matches!(found, Earlier::Finished(_))
        })
    }

    /// Runs the run at `place` into `directory`; with `resume`, only if it has no result.
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
        // A deadlocked run would end so every time.
        if record.interrupted && record.pause_cycles.deadlock.is_empty() {
            return Ok(Ending::Stopped);
        }
        let done = Done { record, wall: start.elapsed(), threads: 1 };
        write_run(directory, &self.scenario, &self.settings, run, &done, &[])
            .map_err(|failure| failure.to_string())?;
        Ok(Ending::Finished)
    }
}

/// Writes the files of a result made elsewhere into `directory`, whole or not at all. Other files stay.
pub fn put(directory: &Path, files: &BTreeMap<String, Vec<u8>>) -> Result<(), String> {
    let write = || {
        let made = ResultFolder::begin(directory)?;
        for (name, bytes) in files {
            made.write(name, bytes)?;
        }
        made.finish()
    };
    write().map_err(|error| Failure::io(directory, &error).to_string())
}
