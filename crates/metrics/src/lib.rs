//! Results of a run: records, measures, summaries, tables and the run's manifest.
//!
//! This is the lowest crate with floating point. It reads records, and knows no port, endpoint or event.
//!
//! # Begin with
//! - [`RunRecord`]: what one run measured, with a [`FlowRecord`] for each flow. The simulator makes it.
//! - [`Summary`]: counts, means and quantiles of a record, as summary.json has them.
//! - [`Measure`]: one number of a record, such as the 99th percentile of completion times, as findings ask for it.
//!
//! # In and out
//! A record goes in; files come out. [`table`] formats flows.csv, ports.csv and the other tables, [`Summary::to_json`]
//! writes summary.json, and [`Manifest`] says where a result comes from. [`ResultFolder`] puts all files into place at
//! once or not at all. A record decides every byte of its files. Only manifest.json has wall time and commit.
//! [`Aggregate`] has means over seeds with 95 % intervals.
//!
//! `trimline-experiments` drives the crate. Programs of others read the files: flows.csv is plain CSV, and
//! [`columns`] describes each column.
//!
//! # Example
//! Three flows have ended. The table has a row for each, and the median is a value of one of them:
//!
//! ```
//! use trimline_metrics::{FlowEnd, FlowRecord, FlowStore, quantile};
//!
//! let flows: FlowStore = [700_000, 200_000, 300_000]
//!     .into_iter()
//!     .zip(0..)
//!     .map(|(fct_ps, source)| FlowRecord {
//!         fct_receiver_ps: Some(fct_ps),
//!         ideal_fct_ps: Some(200_000),
//!         end: FlowEnd::Completed,
//!         ..FlowRecord::not_started("replies".into(), 0, source, 9, Some(90_000))
//!     })
//!     .collect();
//!
//! let mut fct: Vec<u64> = flows.iter().filter_map(|flow| flow.fct_receiver_ps).collect();
//! fct.sort_unstable();
//! assert_eq!(quantile(&fct, 5_000), Some(300_000));
//! assert_eq!(quantile(&fct, 9_900), Some(700_000));
//!
//! let slowest = flows.iter().filter_map(|flow| flow.slowdown_millionths()).max();
//! assert_eq!(slowest, Some(3_500_000), "3.5 times the time in an idle network");
//! ```
//!
//! `cargo run -p trimline-metrics --example read_results` reads the files of a run.
//!
//! # Read on
//! - [`flow_store`] keeps flows beyond memory in a file; [`samples`], [`series`] and [`timeline`] have values over
//!   time.
//! - [`capture`] and [`perfetto`] write a timeline for Wireshark and for Perfetto.
//! - `docs/internals/metrics-and-findings.md` follows a number from the record to the judged finding.
//!   `docs/reference.md` lists the files and their columns.
#![forbid(unsafe_code)]

pub mod by_workload;
pub mod capture;
pub mod columns;
mod csv;
pub mod distribution;
pub mod fct_breakdown;
#[cfg(test)]
pub(crate) mod fixtures;
pub mod flow;
pub mod flow_store;
pub mod manifest;
pub mod measure;
pub mod perfetto;
pub mod place;
pub mod record;
#[cfg(unix)]
pub mod result_folder;
pub mod samples;
pub mod series;
pub mod statistics;
pub mod summary;
pub mod table;
pub mod timeline;

pub use by_workload::{Load, Slowdown, SlowdownOfSizes, WorkloadSummary};
pub use flow::{FlowEnd, FlowRecord, Name};
pub use flow_store::FlowStore;
pub use manifest::Manifest;
pub use measure::Measure;
pub use place::{Direction, Layer, LinkPlace, PortPlace};
pub use record::{
    HostCounters, HostLink, HostRecord, LinkCounters, LinkRecord, LoadRecord, PacketLatency,
    PathRecord, PauseCycles, PauseRecord, PortRecord, RunRecord,
};
#[cfg(unix)]
pub use result_folder::ResultFolder;
pub use samples::{PortGroup, Sample, Samples};
pub use series::{FlowSeries, PortSeries, Reading, Readings, SeriesColumn};
pub use statistics::{Interval, interval, quantile};
pub use summary::{Aggregate, HostSummary, PauseSummary, Summary};
pub use timeline::Timeline;
