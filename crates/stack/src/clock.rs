//! What time it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use trimline_packet::Time;

/// A clock that never falls. Copies of one clock agree.
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
                let elapsed = start.elapsed();
                // 2^64 ps are 213 days; a clock stops there instead of beginning anew.
                let ps = elapsed.as_nanos().saturating_mul(1000);
                Time::from_ps(u64::try_from(ps).unwrap_or(u64::MAX - 1))
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
