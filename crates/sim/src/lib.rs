//! The simulator: virtual time, links, topology, workloads and scenario files around ports and endpoints.
//!
//! It drives the ports of `trimline-switch`, the NICs of `trimline-hostnic` and the endpoints of `trimline-transport`
//! packet by packet, and makes the records of `trimline-metrics`. It prints nothing and writes no results.
//!
//! # Begin with
//! - [`scenario::Scenario`]: a scenario file with all its runs: each series, sweep point and seed.
//! - [`plan::Plan`]: one run with nothing left open: topology, switch, transports, workloads.
//! - [`run()`]: from a plan to a [`RunRecord`](trimline_metrics::RunRecord).
//!
//! # In and out
//! A text goes in. [`Scenario::parse`](scenario::Scenario::parse) finds every mistake before anything runs, and names
//! file, line, the wrong text and the nearest valid word. [`run()`] plays the plan. It calls its second argument with
//! the [`Progress`], and stops if that breaks. The record comes out.
//!
//! The caller drives: `trimline-cli`, or a program of yours. A plan decides its record. Threads ([`run_on`]), engine,
//! build and wall time do not change a byte.
//!
//! # Example
//! Eight hosts send 90 kB each to one, whose link needs 580 us for the packets:
//!
//! ```
//! use std::ops::ControlFlow;
//!
//! use trimline_metrics::Summary;
//! use trimline_sim::scenario::Scenario;
//!
//! let text = r#"
//!     [topology.star]
//!     hosts = 9
//!
//!     [[workload]]
//!     name = "replies"
//!     incast = { receiver = 0, senders = 8 }
//!     size = "90KB"
//! "#;
//! let scenario = Scenario::parse("incast.toml", text, &[]).unwrap();
//! let record = trimline_sim::run(&scenario.runs[0].plan, &mut |_| ControlFlow::Continue(())).unwrap();
//!
//! let summary = Summary::new(&record);
//! assert_eq!(summary.flows.completed, 8);
//! assert!(summary.ports.trimmed > 0, "the port to the receiver trims");
//! let fct = summary.fct_receiver_us.unwrap();
//! assert!(580.0 < fct.max && fct.max < 600.0, "{fct:?}");
//! ```
//!
//! `cargo run -p trimline-sim --example run_scenario` compares transports in this way.
//!
//! # Read on
//! - [`transports`] has the list of transports. A transport of another crate joins it:
//!   [`transports::Transports::with`], example `fixed_window`, `docs/howto-add-a-transport.md`. [`suites`] tests it in
//!   random networks.
//! - [`topology`] names links and computes ideal times. [`formats`] reads the files of htsim and HPCC,
//!   [`distributions`] has the flow sizes of the papers, [`random`] the RNG streams.
//! - `docs/internals/scenarios.md` follows a text to a plan, `engine.md` and `threads.md` there follow a plan to a
//!   record. `docs/reference.md` lists every key of a scenario.
//!
//! # Features
//! `checked`: release builds check every index of the packet path, and which thread changes what threads share.

mod arena;
pub mod distributions;
mod engine;
mod features;
mod flow;
mod flows;
pub mod formats;
mod gap;
mod keys;
mod links;
mod network;
mod offered;
pub mod pareto;
mod partition;
pub mod plan;
mod protocol;
mod queries;
pub mod random;
mod records;
mod run;
mod sampler;
pub mod scenario;
pub mod suites;
mod table;
pub mod topology;
pub mod transports;
mod workload;

pub use offered::{Offered, offered};
pub use partition::{Division, division};
pub use plan::{Progress, Resources, RunError};
pub use run::{run, run_on, run_with};
pub use workload::self_pairs;
