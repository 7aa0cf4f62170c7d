//! What time it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use trimline_packet::{Time, TimeDelta};

/// After so long a real clock begins at zero again: 2^63 ps, 106 days. [`Time`] counts twice as far, so a deadline that
/// was set shortly before lies beyond the epoch and does not wrap.
pub(crate) const EPOCH: TimeDelta = TimeDelta::from_ps(1 << 63);

/// A clock falls for one reason alone: it begins again. Then it falls by an epoch, less the time in which nobody
/// looked at it.
const MIN_FALL: TimeDelta = TimeDelta::from_ps(1 << 62);

/// Whether a clock that says `now` has begun again since it said `before`.
pub(crate) fn begins_again(before: Time, now: Time) -> bool {
    now.saturating_add(MIN_FALL) <= before
}

/// A clock that rises, and begins again after 106 days. Copies of one clock agree.
#[derive(Clone, Debug)]
pub enum Clock {
    /// The machine's monotonic clock, since this instant.
    Real(Instant),
    /// Moved by whoever holds a copy: for tests and for a simulated world.
    Virtual(Arc<AtomicU64>),
}

impl Clock {
    /// A real clock that begins now.
    pub fn real() -> Clock {
        Clock::Real(Instant::now())
    }

    /// A virtual clock at zero.
    pub fn new_virtual() -> Clock {
        Clock::Virtual(Arc::new(AtomicU64::new(0)))
    }

    /// The time.
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

    /// Moves a virtual clock forward; never back.
    ///
    /// # Panics
    /// A real clock.
    pub fn advance_to(&self, time: Time) {
        match self {
            Clock::Real(_) => panic!("only a virtual clock is moved"),
            Clock::Virtual(ps) => {
                ps.fetch_max(time.as_ps(), Ordering::Relaxed);
            }
        }
    }
}

/// A deadline as a clock counts that has begun again. In the first quarter of an epoch, a deadline in the later half is
/// taken for one of the epoch before.
pub(crate) fn in_this_epoch(now: Time, deadline: Time) -> Time {
    let is_of_before = deadline.as_ps() >= EPOCH.as_ps() / 2;
    match is_of_before && now.as_ps() < EPOCH.as_ps() / 4 {
        true => deadline.set_back(EPOCH),
        false => deadline,
    }
}
