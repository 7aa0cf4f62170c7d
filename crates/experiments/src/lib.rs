//! Runs of scenarios, and experiments: how they are made, judged and kept.

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
pub mod reproduce;
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
