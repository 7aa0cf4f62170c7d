//! What a run leaves behind: the record schema, quantiles, the run manifest.
//!
//! The first room with floating point. It reads records; it knows no port, no endpoint, no event.
#![forbid(unsafe_code)]

pub mod record;

pub use record::{FlowEnd, FlowRecord, PortRecord, RunRecord};
