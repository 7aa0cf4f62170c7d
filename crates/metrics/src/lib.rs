//! Results of a run: record schema, quantiles, tables, summaries, run manifest.
//!
//! The lowest crate with floating point. It reads records; it knows no port, endpoint or event. Output of a record
//! (flows.csv, ports.csv, summary.json) has the same bytes every time. Only manifest.json has wall time and commit.
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
pub use result_folder::ResultFolder;
pub use samples::{PortGroup, Sample, Samples};
pub use series::{FlowSeries, PortSeries, Reading, Readings, SeriesColumn};
pub use statistics::{Interval, interval, quantile};
pub use summary::{Aggregate, HostSummary, PauseSummary, Summary};
pub use timeline::Timeline;
