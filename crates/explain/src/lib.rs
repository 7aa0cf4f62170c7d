//! A scenario in words, before it runs: its settings, doubts about it, and its cost.
//!
//! A scenario file names a few keys; the [`Plan`](trimline_sim::plan::Plan) of a run has a value for each. This crate
//! reads plans and returns sentences. It runs nothing, reads no file and prints nothing.
//!
//! - [`describe`] returns the text of `trimline explain`. A line has a subject and its settings; later series have only the
//!   lines that differ from the first.
//! - [`warnings`] returns what commands print before runs: load beyond the links, time-outs below a round trip, and the
//!   warnings of the scenario's parser. A scenario with warnings runs.
//! - [`cautions`] returns sentences about several transports beside each other: defaults (payload, timers) that may
//!   decide more than the transports.
//! - [`Estimate`] has packet-hops, seconds on one core and memory of a run. `trimline run` refuses a run that does not fit
//!   into memory.
//! - [`link_changes`] describes link events for a manifest.
//!
//! Transports and switches describe their own settings, in `trimline-sim` and `trimline-switch`.
//!
//! ```
//! use trimline_explain::{Estimate, describe, warnings};
//! use trimline_sim::scenario::Scenario;
//!
//! let text = "topology.star.hosts = 9\n[[workload]]\nname = \"reply\"\nsize = \"90KB\"\n\
//!             incast = { receiver = 0, senders = 8 }\n";
//! let scenario = Scenario::parse("incast.toml", text, &[]).unwrap();
//! assert!(describe(&scenario).contains("9 hosts around one switch"));
//! assert!(warnings(&scenario.runs).is_empty());
//! assert!(Estimate::of(&scenario.runs[0].plan).hops >= 80.0 * 2.0);
//! ```
#![forbid(unsafe_code)]

mod cautions;
mod describe_detour;
mod describe_plan;
mod describe_scenario;
mod describe_timers;
mod estimate;
mod line;
mod load;
mod warnings;

pub use cautions::cautions;
pub use describe_plan::link_changes;
pub use describe_scenario::describe;
pub use estimate::{Estimate, human_bytes};
pub use warnings::warnings;

#[cfg(test)]
fn scenario(text: &str) -> trimline_sim::scenario::Scenario {
    trimline_sim::scenario::Scenario::parse("s", text, &[])
        .unwrap_or_else(|error| panic!("{error}"))
}
