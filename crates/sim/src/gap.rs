//! Gaps between events.

use trimline_packet::TimeDelta;

/// A time that is fixed or drawn: the gap of a closed loop, or a service time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// Always this time.
    Fixed(TimeDelta),
    /// Exponential, with this mean.
    Exponential(TimeDelta),
}
