//! Runs of scenarios, and experiments: how they are made, judged and kept.
//!
//! A run has one series, one point of the sweep and one seed of a scenario. Its result is a folder, which is whole or not
//! there. An experiment is a scenario with findings: what a figure of a paper shows, with a range for each.
//!
//! # Begin with
//! - [`run::run`]: makes all runs of a scenario in a folder that no other command writes.
//! - [`reproduction::Reproduction`]: makes the runs of experiments, and judges their findings.
//! - [`single::Named`]: a scenario whose runs the caller schedules itself, as the Python package does.
//!
//! # In and out
//! A scenario goes in: [`read_scenario`] reads it, also from files of other simulators; [`comparison`] gives it a series
//! for each transport or scheme. Memory and the folder of the results are checked before anything runs; then runs go to
//! several threads, and each result is written completely or not at all. manifest.json decides whether a result stands
//! for a run of a later command. A flag of the caller ends runs; what is done until then is kept.
//!
//! Summaries and [`verdicts`] come out. Notes about runs ([`notice()`]) and, on a terminal, a bar with the time
//! left ([`Bar`]) go to standard error. Tables, JSON, figures and exit
//! statuses are the caller's.
//!
//! # Example
//! A scenario has a run for each series and seed. A mistake is one line with its place:
//!
//! ```
//! use trimline_experiments::single::Named;
//!
//! let text = r#"
//!     seeds = "1..2"
//!     topology.star.hosts = 4
//!
//!     [[workload]]
//!     name = "shuffle"
//!     permutation = {}
//!     size = "90KB"
//! "#;
//! let scenario = Named::parse("shuffle.toml", text, "shuffle", Vec::new()).unwrap();
//! let names: Vec<&str> = scenario.runs().iter().map(|run| &*run.name).collect();
//! assert_eq!(names, ["seed-1", "seed-2"]);
//!
//! let wrong = text.replace("seeds", "seesd");
//! let error = Named::parse("shuffle.toml", &wrong, "shuffle", Vec::new()).unwrap_err();
//! assert!(error.starts_with("shuffle.toml:2:") && error.contains("seeds"), "{error}");
//! ```
//!
//! # Read on
//! - [`trace`] makes one run and follows its packets. [`library`] has the experiments, [`findings`] their findings.
//! - `docs/internals/metrics-and-findings.md` explains how a finding is judged.
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
mod notice;
mod outcome;
mod output_lock;
mod partial_run;
mod progress;
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
pub use notice::notice;
pub use output_lock::results_below;
pub use progress::Bar;
pub use scenario_file::{default_folder, read_scenario};
