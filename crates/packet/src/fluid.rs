//! Counters that a rate fills or empties, exactly: phantom queues, token buckets and rate estimates.
//!
//! A [`Volume`] counts in parts of a byte so small that no rate and no time round it. A [`Clock`] says when a counter moves:
//! at every instant, or at the ticks of a hardware timer.

mod clock;
mod volume;

pub use clock::Clock;
pub use volume::Volume;
