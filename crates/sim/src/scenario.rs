//! Scenario files, checked and resolved into plans.
//!
//! [`Scenario::parse`] reads TOML and returns every run of the file, fully decided: series, times sweep, times seeds.
//! It finds all mistakes before anything runs. A [`ScenarioError`] names file, line, column, the wrong text, what was
//! expected and the nearest valid word. [`schema`] is the grammar as a JSON Schema, for editors.

mod cells;
mod check;
mod expand;
mod files;
mod grammar;
mod links;
mod output_keys;
mod overlay;
mod payload;
mod priorities;
mod processing;
mod queries;
mod random_matrix;
mod reference;
mod resolve;
mod rules;
mod schema;
mod schemes;
mod sweep;
mod switch;
#[cfg(test)]
mod tests;
mod warnings;
mod workload_keys;
mod workloads;

pub use crate::keys::error::{Place, ScenarioError, Source};
pub use crate::keys::quantity::units;
pub use reference::{profiles, reference};
pub use schema::schema;
pub use schemes::{NAMES as SCHEMES, schemes};
pub use warnings::Warning;

use crate::plan::Plan;
use crate::transports::Transports;

/// A scenario file with all its runs.
///
/// ```
/// use trimline_sim::scenario::Scenario;
///
/// let text = r#"
/// topology.star.hosts = 8
/// seeds = "1..2"
/// workload = [{ name = "replies", incast = { receiver = 0, senders = 4 }, size = "64KB" }]
/// series = [{ name = "ndp" }, { name = "tcp", transport.tcp = {} }]
/// "#;
/// let scenario = Scenario::parse("small.toml", text, &["workload.replies.size=9KB".to_owned()]).unwrap();
/// let names: Vec<&str> = scenario.runs.iter().map(|run| run.name.as_str()).collect();
/// assert_eq!(names, ["ndp/seed-1", "ndp/seed-2", "tcp/seed-1", "tcp/seed-2"]);
///
/// let error = Scenario::parse("small.toml", &text.replace("star", "stra"), &[]).unwrap_err();
/// assert!(error.to_string().starts_with("small.toml:2:"), "{error}");
/// ```
#[derive(Clone, Debug)]
pub struct Scenario {
    /// `name` of the file; empty if absent.
    pub name: String,
    /// `description` of the file; empty if absent.
    pub description: String,
    /// Text of the file.
    pub text: String,
    /// Every run, in the order series, sweep, seeds.
    pub runs: Vec<Run>,
}

/// One run of a scenario.
#[derive(Clone, Debug)]
pub struct Run {
    /// `series/key=value,.../seed-N`, without the parts that the scenario lacks. Unique in the scenario, and a relative
    /// path.
    pub name: String,
    /// Position in the sweep: keys and values.
    pub point: Vec<(String, String)>,
    /// The resolved plan.
    pub plan: Plan,
    /// Files to write.
    pub output: Output,
    /// Settings of the plan that can never act, or are too small for its network. Every command prints them before a
    /// run.
    pub warnings: Vec<Warning>,
}

/// Files of a run beside summary.json and manifest.json.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output {
    /// flows.csv.
    pub flows: bool,
    /// ports.csv.
    pub ports: bool,
    /// links.csv: packets that links lost.
    pub links: bool,
    /// latencies.csv: quantiles of packet latency.
    pub latencies: bool,
    /// timeline.csv: single events.
    pub timeline: bool,
    /// fct.txt: completed flows, as HPCC writes them.
    pub fct: bool,
    /// series.csv: utilisation and queues over time, by layer.
    pub series: bool,
}

impl Scenario {
    /// Reads the scenario `text`; `file` is its name in errors. Each of `settings` is a `KEY=VALUE` with a dotted key
    /// that overrides every series and scheme. In a list of named tables a name is a key (`workload.incast.size=90KB`),
    /// and a value that is not TOML is a string.
    ///
    /// Layers of a run, from the lowest: the scenario, a series, a scheme, the settings in their order, a point of the
    /// sweep.
    ///
    /// # Errors
    /// Returns the first mistake. Nothing runs and nothing is written before the whole scenario is correct.
    pub fn parse(file: &str, text: &str, settings: &[String]) -> Result<Scenario, ScenarioError> {
        Scenario::parse_with(file, text, settings, &Transports::built_in())
    }

    /// Reads a scenario as [`Scenario::parse`], in a program that knows these transports.
    ///
    /// # Errors
    /// See [`Scenario::parse`].
    pub fn parse_with(
        file: &str,
        text: &str,
        settings: &[String],
        transports: &Transports,
    ) -> Result<Scenario, ScenarioError> {
        expand::expand((file, text), None, settings, transports)
    }

    /// Reads a scenario with these schemes in place of its own, without its series. `schemes` are the name and the text
    /// of a source with the keys `scheme` and `schemes`.
    ///
    /// # Errors
    /// See [`Scenario::parse`].
    pub fn parse_schemes(
        file: (&str, &str),
        schemes: (&str, &str),
        settings: &[String],
        transports: &Transports,
    ) -> Result<Scenario, ScenarioError> {
        expand::expand(file, Some(schemes), settings, transports)
    }
}
