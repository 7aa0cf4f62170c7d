//! Timelines: single events at chosen places and of chosen flows. [`trimline_metrics::Timeline`] is the file.

mod hooks;
pub(crate) mod keys;
pub(crate) mod state;
