//! Timelines: single events at chosen places and of chosen flows ([`trimline_metrics::Timeline`] has the file's format).

mod hooks;
pub(crate) mod keys;
pub(crate) mod state;
