//! Interrupt coalescing of a NIC (HULL 4.1).

use trimline_packet::units::PICOSECONDS_PER_SECOND;
use trimline_packet::{Time, TimeDelta};

/// Interrupt coalescing: the event that a NIC with frames awaits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupts {
    /// No wait (the paper's rx-frames 0).
    EachFrame,
    /// A number of frames (rx-frames), or a time since the first (rx-usecs), whichever comes first.
    Coalesced {
        /// Frames: above zero.
        frames: u32,
        /// Max time.
        time: TimeDelta,
    },
    /// A number of frames, or a time that follows the frame rate.
    Adaptive(Adaptive),
}

/// A time that follows the frame rate: linear between two rates, constant beyond. The paper has no rule; this is its
/// NIC's driver's (Linux, mlx4_en).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adaptive {
    /// Frames that end the wait: above zero.
    pub frames: u32,
    /// The time up to `low`.
    pub min: TimeDelta,
    /// The time from `high` on.
    pub max: TimeDelta,
    /// Frames per second.
    pub low: u64,
    /// Frames per second, above `low`.
    pub high: u64,
    /// Measurement interval of the rate: above zero.
    pub interval: TimeDelta,
}

impl Adaptive {
    /// The driver's constants: 44 frames; no wait below 400,000 frames per second, 128 us from 450,000 on; measured
    /// every 250 ms.
    pub const fn mlx4() -> Adaptive {
        Adaptive {
            frames: 44,
            min: TimeDelta::ZERO,
            max: TimeDelta::from_us(128),
            low: 400_000,
            high: 450_000,
            interval: TimeDelta::from_ms(250),
        }
    }

    fn time_at(&self, rate: u64) -> TimeDelta {
        if rate <= self.low {
            return self.min;
        }
        if rate >= self.high {
            return self.max;
        }
        let (min, max) = (self.min.as_ps(), self.max.as_ps());
        let part = u128::from(rate - self.low) * u128::from(max.abs_diff(min))
            / u128::from(self.high - self.low);
        let part = u64::try_from(part).unwrap_or(u64::MAX);
        TimeDelta::from_ps(if max >= min { min + part } else { min - part })
    }
}

/// Coalescing state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moderation {
    frames: u32,
    /// Latest time of the interrupt.
    due: Time,
    /// Frames of this interval, and its start.
    measured: u64,
    since: Time,
    /// Wait from the last interval's rate.
    adapted: TimeDelta,
}

impl Moderation {
    pub(super) fn new(interrupts: &Interrupts) -> Moderation {
        let adapted = match interrupts {
            Interrupts::EachFrame | Interrupts::Coalesced { .. } => TimeDelta::ZERO,
            Interrupts::Adaptive(adaptive) => adaptive.min,
        };
        Moderation { frames: 0, due: Time::NEVER, measured: 0, since: Time::ZERO, adapted }
    }

    /// Counts an arriving frame, also a dropped one.
    pub(super) fn measure(&mut self, now: Time, interrupts: &Interrupts) {
        let adaptive = match interrupts {
            Interrupts::EachFrame | Interrupts::Coalesced { .. } => return,
            Interrupts::Adaptive(adaptive) => adaptive,
        };
        let span = now.saturating_since(self.since);
        if span >= adaptive.interval {
            let frames = u128::from(self.measured) * u128::from(PICOSECONDS_PER_SECOND);
            let rate = frames / u128::from(span.as_ps());
            self.adapted = adaptive.time_at(u64::try_from(rate).unwrap_or(u64::MAX));
            (self.measured, self.since) = (0, now);
        }
        self.measured += 1;
    }

    pub(super) fn wait(&mut self, now: Time, interrupts: &Interrupts) {
        let (max, time) = match interrupts {
            Interrupts::EachFrame => (1, TimeDelta::ZERO),
            Interrupts::Coalesced { frames, time } => (*frames, *time),
            Interrupts::Adaptive(adaptive) => (adaptive.frames, self.adapted),
        };
        self.frames = self.frames.saturating_add(1);
        if self.frames == 1 {
            self.due = now.saturating_add(time);
        }
        if self.frames >= max {
            self.due = self.due.min(now);
        }
    }

    /// Time of the interrupt; never if no frame waits.
    pub(super) fn due(&self) -> Time {
        self.due
    }

    pub(super) fn interrupt(&mut self) {
        (self.frames, self.due) = (0, Time::NEVER);
    }

    /// Makes the interrupt due now.
    pub(super) fn wait_no_longer(&mut self, now: Time) {
        (self.frames, self.due) = (1, now);
    }
}
