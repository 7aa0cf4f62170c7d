//! The token bucket (HULL 4.2, 5.1).

use trimline_packet::fluid::{Clock, Volume};
use trimline_packet::{BitRate, ByteCount, Time, TimeDelta};

/// Tokens of a bucket: a rate brings them up to the depth, and packets take them.
///
/// Between two instants at most the rate's bytes plus the depth leave; with ticks, one tick's tokens more.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tokens {
    held: Volume,
    at: Time,
}

impl Tokens {
    pub(super) const fn full(depth: Volume) -> Tokens {
        Tokens { held: depth, at: Time::ZERO }
    }

    /// Updates the tokens. The rate has not changed since the last call.
    #[inline]
    pub(super) fn accrue(&mut self, until: Time, rate: BitRate, depth: Volume, clock: Clock) {
        let brought = clock.moved(rate, self.at, until);
        self.held = self.held.saturating_add(brought).min(depth);
        self.at = self.at.max(until);
    }

    /// Sets the clock back: `now` falls once by `by`. The tokens stay.
    pub(super) const fn set_back(&mut self, by: TimeDelta) {
        self.at = self.at.set_back(by);
    }

    /// Consumes the tokens of a packet. Returns false, without change, if there are too few.
    #[inline]
    pub(super) fn consume(&mut self, bytes: u16) -> bool {
        let needed = Volume::of(ByteCount::new(bytes.into()));
        let is_enough = self.held >= needed;
        if is_enough {
            self.held = self.held.saturating_sub(needed);
        }
        is_enough
    }

    /// Time at which there are tokens for a packet at this rate.
    #[inline]
    pub(super) fn due(&self, bytes: u16, rate: BitRate, clock: Clock) -> Time {
        let needed = Volume::of(ByteCount::new(bytes.into()));
        clock.reaches(needed.saturating_sub(self.held), rate, self.at)
    }
}
