//! When a NIC tells a processor of frames (HULL 4.1).

use trimline_packet::units::PICOSECONDS_PER_SECOND;
use trimline_packet::{Time, TimeDelta};

/// Interrupt coalescing: what a NIC waits for while frames are in its ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupts {
    /// Nothing (the paper's rx-frames 0).
    EachFrame,
    /// So many frames (rx-frames), or a time since the first (rx-usecs), whichever comes first.
    Coalesced {
        /// Frames: above zero.
        frames: u32,
        /// The time, whatever comes.
        time: TimeDelta,
    },
    /// The same with a time that follows the rate of frames.
    Adaptive(Adaptive),
}

/// A time that grows with the rate of frames: between two rates in proportion, below and above them constant. The paper
/// names the setting and not the rule; this is that of its NIC's driver (Linux, mlx4_en).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adaptive {
    /// Frames after which no time is waited for: above zero.
    pub frames: u32,
    /// The time up to `low`.
    pub min: TimeDelta,
    /// The time from `high` on.
    pub max: TimeDelta,
    /// Frames a second.
    pub low: u64,
    /// Frames a second, more than `low`.
    pub high: u64,
    /// Time over which the rate is measured: above zero.
    pub interval: TimeDelta,
}

impl Adaptive {
    /// The driver's constants: 44 frames; none below 400,000 frames a second, 128 us from 450,000 on; every quarter of a
    /// second.
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

    /// The time at a rate, in frames a second.
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

/// What a NIC remembers of the frames that no processor has taken, and of their rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moderation {
    frames: u32,
    /// When the interrupt is, at the latest.
    due: Time,
    /// Frames of this interval, and its beginning.
    measured: u64,
    since: Time,
    /// What the last interval's rate comes to.
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

    /// A frame arrives, whether or not there is room for it: the rate is of all.
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

    /// A frame waits in the ring.
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

    /// When the interrupt is; never if no frame waits for one.
    pub(super) fn due(&self) -> Time {
        self.due
    }

    /// A processor takes all that waits.
    pub(super) fn interrupt(&mut self) {
        (self.frames, self.due) = (0, Time::NEVER);
    }

    /// Something is left that has been waited for: the interrupt is due.
    pub(super) fn wait_no_longer(&mut self, now: Time) {
        (self.frames, self.due) = (1, now);
    }
}
