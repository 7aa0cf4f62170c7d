//! The clock of a host: real or virtual.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use trimline_packet::{Time, TimeDelta};

/// The span after which a real clock restarts at zero: 2^63 ps, 106 days. [`Time`] counts twice as far, so a deadline
/// set before the restart lies beyond the epoch and does not wrap.
pub(crate) const EPOCH: TimeDelta = TimeDelta::from_ps(1 << 63);

/// The minimum fall of a clock that restarted: it falls by an epoch, minus the time since it was last read.
const MIN_FALL: TimeDelta = TimeDelta::from_ps(1 << 62);

/// Returns whether a clock that reads `now` has restarted since it read `before`.
pub(crate) fn begins_again(before: Time, now: Time) -> bool {
    now.saturating_add(MIN_FALL) <= before
}

/// A clock that rises and restarts at zero after 106 days. Copies of one clock agree.
#[derive(Clone, Debug)]
pub enum Clock {
    /// The machine's monotonic clock, since this instant.
    Real(Instant),
    /// Moved through any of its copies: for tests and for a simulated world.
    Virtual(Arc<AtomicU64>),
}

impl Clock {
    /// Returns a real clock that begins now.
    pub fn real() -> Clock {
        Clock::Real(Instant::now())
    }

    /// Returns a virtual clock at zero.
    pub fn new_virtual() -> Clock {
        Clock::Virtual(Arc::new(AtomicU64::new(0)))
    }

    /// Returns the current time.
    #[inline]
    pub fn now(&self) -> Time {
        match self {
            Clock::Real(start) => {
                let ps = start.elapsed().as_nanos() * 1000 % u128::from(EPOCH.as_ps());
                Time::from_ps(ps as u64)
            }
            Clock::Virtual(ps) => Time::from_ps(ps.load(Ordering::Relaxed)),
        }
    }

    /// Moves a virtual clock forward, never back.
    ///
    /// # Panics
    /// Panics on a real clock.
    pub fn advance_to(&self, time: Time) {
        match self {
            Clock::Real(_) => panic!("only a virtual clock is moved"),
            Clock::Virtual(ps) => {
                ps.fetch_max(time.as_ps(), Ordering::Relaxed);
            }
        }
    }
}

/// Converts a deadline to the count of a clock that has restarted. In the first quarter of an epoch, a deadline in the
/// later half counts as one of the previous epoch.
pub(crate) fn in_this_epoch(now: Time, deadline: Time) -> Time {
    let is_of_before = deadline.as_ps() >= EPOCH.as_ps() / 2;
    match is_of_before && now.as_ps() < EPOCH.as_ps() / 4 {
        true => deadline.set_back(EPOCH),
        false => deadline,
    }
}
