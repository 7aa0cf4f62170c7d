//! `trimline._core`: the compiled part of the Python package.
//!
//! It converts between Python and the libraries of the command (`trimline-cli`, `trimline-experiments`), and decides
//! nothing. Sweeps, frames, comparisons, figures and reports are Python, in `python/trimline`.
//!
//! # Begin with
//! - `Scenario`: a scenario with all its runs. It lists them, checks memory, warns, and runs one into a folder.
//! - `OutputLock`: a results folder with exclusive write access.
//! - `command`: a command line of `trimline`, as the script that the wheel installs calls it.
//!
//! # In and out
//! Python drives: `trimline.run` and `trimline.sweep` parse a scenario, lock the folder, and run each place of its list
//! in this process or in a worker's. A run releases the interpreter lock. Ten times a second it takes the lock, checks
//! for interrupts of Python, and reports its progress; it stops if the callback returns False. Files come out, and
//! `trimline.Results` reads them as polars frames.
//!
//! Mistakes in a scenario raise a `ValueError` of one line, obstacles in the file system an `OSError`, runs without
//! enough memory a `MemoryError`.
//!
//! # Example
//! The package hides this module. This is what `trimline.run` does with it:
//!
//! ```python
//! from pathlib import Path
//! from trimline import _core
//!
//! scenario = _core.Scenario("minimal.toml", Path("examples/minimal.toml").read_text(), "minimal", [])
//! lock, removed = scenario.lock(Path("out/minimal"), [0])
//! assert scenario.run(0, Path("out/minimal/seed-1"), False, None) == "finished"
//! lock.release()
//! ```
//!
//! # Read on
//! `docs/python.md` is the manual of the package. `python/trimline/_core.pyi` has the types of this module; `stubtest`
//! compares them with what is compiled. Tests are in `python/tests`: a Rust test cannot link the symbols of Python, so
//! the crate has none. Its stable ABI (abi3) serves every Python from 3.11 on.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use pyo3::exceptions::{PyMemoryError, PyOSError, PyValueError};
use pyo3::prelude::*;
use trimline_experiments::comparison;
use trimline_experiments::single::{self, Ending, Named};
use trimline_metrics::statistics;
use trimline_sim::Progress;
use trimline_sim::scenario::Run;
use trimline_sim::transports::Transports;

/// Wall time between two checks of Python.
const PERIOD: Duration = Duration::from_millis(100);

/// Name, series, point of the sweep, seed.
type Known = (String, String, Vec<(String, String)>, u64);

/// A scenario with all its runs.
#[pyclass(frozen)]
struct Scenario(Named);

/// A results folder with exclusive write access.
#[pyclass]
struct OutputLock(Option<single::OutputLock>);

#[pymethods]
impl OutputLock {
    /// Releases the folder.
    fn release(&mut self) {
        self.0 = None;
    }
}

#[pymethods]
impl Scenario {
    /// Reads a scenario; a mistake raises a one-line `ValueError`.
    #[new]
    fn new(file: &str, text: &str, name: &str, settings: Vec<String>) -> PyResult<Scenario> {
        Named::parse(file, text, name, settings).map(Scenario).map_err(PyValueError::new_err)
    }

    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// Returns (name, series, point, seed) of every run.
    fn runs(&self) -> Vec<Known> {
        let known = |run: &Run| {
            (run.name.clone(), run.plan.series.clone(), run.point.clone(), run.plan.seed)
        };
        self.0.runs().iter().map(known).collect()
    }

    /// Locks a folder for the runs at these places. Returns the lock, and a sentence about files that were removed. An
    /// obstacle raises an `OSError`.
    fn lock(&self, folder: PathBuf, places: Vec<usize>) -> PyResult<(OutputLock, Option<String>)> {
        self.0.check(&places).map_err(PyValueError::new_err)?;
        let (lock, removed) = self.0.lock(&folder, &places).map_err(PyOSError::new_err)?;
        Ok((OutputLock(Some(lock)), removed))
    }

    /// Returns the number of these runs that fit in memory at a time. Raises a `MemoryError` if a single run does not
    /// fit.
    fn fit(&self, places: Vec<usize>, at_once: usize) -> PyResult<usize> {
        self.0.check(&places).map_err(PyValueError::new_err)?;
        self.0.fit(&places, at_once).map_err(PyMemoryError::new_err)
    }

    /// Returns the warnings of these runs, a sentence each: load above the network's capacity, premature time-outs,
    /// thresholds that no queue reaches, windows below a round trip.
    fn warnings(&self, places: Vec<usize>) -> PyResult<Vec<String>> {
        self.0.warnings(&places).map_err(PyValueError::new_err)
    }

    /// Returns sentences about timers and payloads of these runs that may matter more than their transports.
    fn cautions(&self, places: Vec<usize>) -> PyResult<Vec<String>> {
        self.0.cautions(&places).map_err(PyValueError::new_err)
    }

    /// Returns whether a directory has the result of a run.
    fn is_there(&self, place: usize, directory: PathBuf) -> bool {
        self.0.is_there(place, &directory)
    }

    /// Runs one run into a directory: "found", "finished" or "stopped". `progress` is called with (simulated ps,
    /// duration ps or None, packet-hops, flows done, flows); the run stops when it returns False.
    fn run(
        &self,
        py: Python<'_>,
        place: usize,
        directory: PathBuf,
        resume: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<&'static str> {
        let mut seen = Instant::now();
        let mut raised = None;
        let mut watch = |at: Progress| {
            if seen.elapsed() < PERIOD {
                return ControlFlow::Continue(());
            }
            seen = Instant::now();
            match Python::attach(|py| report_progress(py, &at, progress.as_ref())) {
                Ok(true) => ControlFlow::Continue(()),
                Ok(false) => ControlFlow::Break(()),
                Err(error) => {
                    raised = Some(error);
                    ControlFlow::Break(())
                }
            }
        };
        let outcome = py.detach(|| self.0.run(place, &directory, resume, &mut watch));
        if let Some(error) = raised {
            return Err(error);
        }
        match outcome.map_err(PyOSError::new_err)? {
            Ending::Found => Ok("found"),
            Ending::Finished => Ok("finished"),
            Ending::Stopped => Ok("stopped"),
        }
    }
}

/// Returns whether the run should go on.
fn report_progress(py: Python<'_>, at: &Progress, progress: Option<&Py<PyAny>>) -> PyResult<bool> {
    py.check_signals()?;
    let Some(progress) = progress else { return Ok(true) };
    let arguments = (
        at.simulated.as_ps(),
        at.duration.map(|duration| duration.as_ps()),
        at.packet_hops,
        at.flows_done,
        at.flows,
    );
    let answer = progress.call1(py, arguments)?;
    Ok(!answer.bind(py).is_exact_instance_of::<pyo3::types::PyBool>() || answer.extract(py)?)
}

/// Puts the files of an external result into a directory, whole or not at all.
#[pyfunction]
fn put(py: Python<'_>, directory: PathBuf, files: BTreeMap<String, Vec<u8>>) -> PyResult<()> {
    py.detach(|| single::put(&directory, &files)).map_err(PyOSError::new_err)
}

/// Returns the scenario text for a file of another format, such as htsim's `.cm`; None for any other file.
#[pyfunction]
fn scenario_of(path: PathBuf) -> PyResult<Option<String>> {
    single::text_of(Path::new(&path)).map_err(PyValueError::new_err)
}

/// Returns the default results folder of the scenario at a path.
#[pyfunction]
fn default_folder(path: PathBuf, what: &str) -> PathBuf {
    trimline_experiments::default_folder(&path, what)
}

/// Runs the `trimline` command and returns its exit status.
#[pyfunction]
fn command(py: Python<'_>, words: Vec<std::ffi::OsString>) -> u8 {
    let code = py.detach(|| trimline::command(words));
    (0..=u8::MAX).find(|&status| ExitCode::from(status) == code).unwrap_or(u8::MAX)
}

/// Returns the JSON Schema of scenarios.
#[pyfunction]
fn schema() -> String {
    trimline_sim::scenario::schema(&Transports::built_in())
}

/// Returns whether a transport has timers that a preset sets.
#[pyfunction]
fn has_timers(transport: &str) -> bool {
    comparison::has_timers(transport, &Transports::built_in())
}

/// Returns the units of scenarios' quantities, as multiples of the smallest unit of their kind.
#[pyfunction]
fn units() -> BTreeMap<&'static str, u64> {
    trimline_sim::scenario::units().collect()
}

/// Returns the mean of values and half the width of its 95 % interval, which one value does not have.
#[pyfunction]
fn interval(values: Vec<f64>) -> Option<(f64, Option<f64>)> {
    statistics::interval(&values).map(|found| (found.mean, found.half_width))
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<Scenario>()?;
    module.add_class::<OutputLock>()?;
    module.add_function(wrap_pyfunction!(scenario_of, module)?)?;
    module.add_function(wrap_pyfunction!(put, module)?)?;
    module.add_function(wrap_pyfunction!(command, module)?)?;
    module.add_function(wrap_pyfunction!(default_folder, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(units, module)?)?;
    module.add_function(wrap_pyfunction!(interval, module)?)?;
    module.add_function(wrap_pyfunction!(has_timers, module)?)?;
    Ok(())
}
