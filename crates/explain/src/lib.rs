//! A scenario in words, before it runs: its settings, doubts about it, and its cost.
//!
//! A scenario file names a few keys; the [`Plan`](trimline_sim::plan::Plan) of a run has a value for each. This crate
//! reads plans and returns sentences. It runs nothing, reads no file and prints nothing.
//!
//! # Begin with
//! - [`describe`]: what `trimline explain` prints: a line for each setting that acts. It is a text and serialises.
//! - [`warnings()`]: what commands print before runs: load beyond the links, time-outs below a round trip, and the warnings
//!   of the scenario's parser. A scenario with warnings runs.
//! - [`Estimate`]: packet-hops, seconds on one core and memory of a run. Commands refuse a run that does not fit into memory.
//!
//! # In and out
//! Scenarios, runs and plans of `trimline-sim` go in, text comes out. Transports and switches describe their own settings,
//! in `trimline-sim` and `trimline-switch`. [`wrapped`] fits lines of commands into 80 columns.
//!
//! # Example
//! ```
//! use trimline_explain::{Estimate, describe, warnings};
//! use trimline_sim::scenario::Scenario;
//!
//! let text = r#"
//!     topology.star.hosts = 9
//!
//!     [[workload]]
//!     name = "reply"
//!     incast = { receiver = 0, senders = 8 }
//!     size = "90KB"
//! "#;
//! let scenario = Scenario::parse("incast.toml", text, &[]).unwrap();
//! assert!(describe(&scenario).to_string().contains("9 hosts on one switch"));
//! assert!(warnings(&scenario.runs).is_empty());
//! // Eight times ten packets of 9000 B over two links, and what answers them.
//! assert!(Estimate::of(&scenario.runs[0].plan).hops >= 160.0);
//! ```
//!
//! # Read on
//! - [`cautions()`]: sentences about several transports beside each other; [`link_changes`]: link events for a manifest.
//! - `docs/performance-log.md` has the measurements behind the estimates.
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
pub use describe_scenario::{Description, describe};
pub use estimate::{Estimate, human_bytes};
pub use line::wrapped;
pub use warnings::warnings;

#[cfg(test)]
fn scenario(text: &str) -> trimline_sim::scenario::Scenario {
    trimline_sim::scenario::Scenario::parse("s", text, &[])
        .unwrap_or_else(|error| panic!("{error}"))
}
