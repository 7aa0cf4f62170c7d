//! Scenario files: what a user writes, checked, and resolved into plans.
//!
//! [`Scenario::parse`] reads TOML and gives every run of the file, fully decided: series, times
//! sweep, times seeds. All mistakes are found here, before anything runs, and a [`ScenarioError`]
//! names file, line, column, the offending text, what was expected and the nearest valid word.
//! [`schema`] is the same grammar as a JSON Schema, for editors.

mod bumps;
mod cells;
mod check;
mod detour;
mod expand;
mod files;
mod grammar;
mod links;
mod lossless;
mod nics;
mod output_keys;
mod overlay;
mod payload;
mod port_keys;
mod priorities;
mod processing;
mod queries;
mod random_matrix;
mod reference;
mod resolve;
mod rules;
mod schema;
mod schemes;
mod shared_memory;
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
#[derive(Clone, Debug)]
pub struct Scenario {
    /// `name` of the file; empty when it has none.
    pub name: String,
    /// `description` of the file; empty when it has none.
    pub description: String,
    /// The text that was read.
    pub text: String,
    /// Every run, in the order series, sweep, seeds.
    pub runs: Vec<Run>,
}

/// One run of a scenario.
#[derive(Clone, Debug)]
pub struct Run {
    /// `series/key=value,.../seed-N`, without the parts that the scenario does not have. Unique in
    /// the scenario, and a relative path.
    pub name: String,
    /// Where in the sweep the run stands: key and value.
    pub point: Vec<(String, String)>,
    /// What is run.
    pub plan: Plan,
    /// What is written.
    pub output: Output,
    /// What of the plan can never act, or is too small for its network. Every command says it before a run.
    pub warnings: Vec<Warning>,
}

/// Files of a run beside summary.json and manifest.json.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output {
    /// flows.csv.
    pub flows: bool,
    /// ports.csv.
    pub ports: bool,
    /// links.csv: what links did not bring.
    pub links: bool,
    /// latencies.csv: quantiles of the time that packets took.
    pub latencies: bool,
    /// timeline.csv: what happened, event by event.
    pub timeline: bool,
    /// fct.txt: flows that ended, as HPCC writes them.
    pub fct: bool,
    /// series.csv: utilisation and queues over time, layer by layer.
    pub series: bool,
}

impl Scenario {
    /// Reads the scenario `text`; `file` is its name in errors. Each of `settings` is a `KEY=VALUE`
    /// with a dotted key, laid over every series and scheme; in a list of named tables a name is a key
    /// (`workload.incast.size=90KB`), and a value that is no TOML is a string.
    ///
    /// The layers of a run are, each over those before: the scenario, a series, a scheme, the settings in their order, a
    /// point of the sweep.
    ///
    /// # Errors
    /// The first mistake. Nothing runs and nothing is written before a scenario is whole.
    pub fn parse(file: &str, text: &str, settings: &[String]) -> Result<Scenario, ScenarioError> {
        Scenario::parse_with(file, text, settings, &Transports::built_in())
    }

    /// The same in a program that knows these transports.
    ///
    /// # Errors
    /// As [`Scenario::parse`].
    pub fn parse_with(
        file: &str,
        text: &str,
        settings: &[String],
        transports: &Transports,
    ) -> Result<Scenario, ScenarioError> {
        expand::expand((file, text), None, settings, transports)
    }

    /// A scenario with these schemes in place of its own, without its series. `names` are the name and the text of what
    /// says them: keys `scheme` and `schemes`.
    ///
    /// # Errors
    /// As [`Scenario::parse`].
    pub fn parse_schemes(
        file: (&str, &str),
        schemes: (&str, &str),
        settings: &[String],
        transports: &Transports,
    ) -> Result<Scenario, ScenarioError> {
        expand::expand(file, Some(schemes), settings, transports)
    }
}
