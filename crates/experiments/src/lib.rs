//! Runs of scenarios, and experiments: how they are made, judged and kept.
//!
//! A run has one series, one point of the sweep and one seed of a scenario. Its result is a folder, which is whole or not
//! there: records, scenario.toml, summary.json, and manifest.json, by which a later command knows whether the result stands
//! for the run. An experiment is a scenario with findings: what a figure of a paper shows, with a range for each.
//!
//! - [`read_scenario`] reads the scenario of a command, also from files of other simulators; [`comparison`] gives it a
//!   series for each transport or scheme.
//! - [`run`] makes all runs of a scenario in a folder that no other command writes; [`trace`] makes one, and follows its
//!   packets. [`single`] makes single runs for callers with workers of their own, such as the Python package.
//! - [`library`] has the experiments and [`findings`] their findings. [`reproduction`] makes the runs of experiments and
//!   judges them; [`verdicts`] are what it finds.
//!
//! A caller ends runs by a flag; what is done until then is kept. Progress and notes about runs go to standard error.
//! Tables, JSON and exit statuses are the caller's, and so is drawing.
//!
//! ```no_run
//! use std::sync::atomic::AtomicBool;
//!
//! use trimline_experiments::run::{Options, run};
//! use trimline_experiments::{Failure, Threads, read_scenario};
//! use trimline_metrics::summary::Counting;
//! use trimline_sim::transports::Transports;
//!
//! fn main() -> Result<(), Failure> {
//!     let scenario = read_scenario("incast.toml".as_ref(), None, &[], &Transports::built_in())?;
//!     let (threads, counting) = (Threads::new(None, false)?, Counting::Whole);
//!     let options = Options { threads, resume: false, counting, ignore_memory: false };
//!     let stop = AtomicBool::new(false);
//!     for (run, summary) in run(&scenario, &[], "out/incast".as_ref(), options, &stop)?.done {
//!         println!("{}: {} flows", run.name, summary.flows.total);
//!     }
//!     Ok(())
//! }
//! ```
#![forbid(unsafe_code)]

mod baseline;
mod cached;
pub mod comparison;
mod execute;
mod failure;
mod finding;
pub mod findings;
mod import;
pub mod library;
mod memory;
mod outcome;
mod output_lock;
mod partial_run;
mod quick;
pub mod reproduction;
mod results;
pub mod run;
mod scenario_file;
pub mod single;
mod toml_text;
pub mod trace;
pub mod verdicts;

pub use execute::Threads;
pub use failure::Failure;
pub use import::FlowFormat;
pub use output_lock::results_below;
pub use scenario_file::{default_folder, read_scenario};
