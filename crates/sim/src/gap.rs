//! Times between one thing and the next.

use trimline_packet::TimeDelta;

/// A time that is fixed or drawn: the gap of a closed loop, the time that a server takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// Always this.
    Fixed(TimeDelta),
    /// Exponential, with this mean.
    Exponential(TimeDelta),
}
