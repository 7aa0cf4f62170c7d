//! The rate of grants where the core carries less than the receiver's link (oversubscribed congestion control).
//!
//! Trims before the last hop and marks say that the core is full. The rate is adapted about every one and a half round
//! trips; no timer is needed for that: what happened since the last time is caught up before a PULL and a packet.

use rand_xoshiro::rand_core::RngCore;
use trimline_packet::{Time, TimeDelta};

use super::CoreControl;
use crate::RngStream;

/// The whole rate, and a whole share of marked packets.
const ONE: u64 = 1 << 32;
/// uet-htsim: the share of marks above which the rate falls, the part of the excess by which it falls (a half), and what
/// is added without: a hundredth.
const TARGET: u64 = ONE * 3 / 10;
const RISE: u64 = ONE / 100;
/// Doublings of the rise that add the whole rate.
const MAX_DOUBLINGS: u32 = 7;

#[derive(Debug)]
pub(super) struct Core {
    control: CoreControl,
    stream: RngStream,
    /// Time of the next adaptation.
    until: Time,
    rate: u64,
    /// Mean share of marked packets, each time half old and half new.
    marked_share: u64,
    /// Rises since the last fall.
    rises: u32,
    /// Packets since the last adaptation: whole ones, those of them with a mark, and trimmed ones.
    whole: u64,
    marked: u64,
    trimmed: u64,
    trimmed_at_last_hop: u64,
}

impl Core {
    pub(super) fn new(control: &CoreControl, stream: RngStream) -> Core {
        let mut core = Core {
            control: control.clone(),
            stream,
            until: Time::ZERO,
            rate: ONE,
            marked_share: 0,
            rises: 0,
            whole: 0,
            marked: 0,
            trimmed: 0,
            trimmed_at_last_hop: 0,
        };
        core.until = Time::ZERO + core.interval();
        core
    }

    /// One and a half base round trips, times 0.75 to 1.25: receivers do not adapt at the same time.
    fn interval(&mut self) -> TimeDelta {
        let drawn = u128::from(self.stream.next_u64() >> 32);
        let base = u128::from(self.control.base.as_ps());
        TimeDelta::from_ps((base * 9 / 8 + base * 3 / 4 * drawn / u128::from(ONE)) as u64)
    }

    /// Adapts the rate as often as it was due.
    fn catch_up(&mut self, now: Time) {
        while now >= self.until {
            self.adapt();
            let is_idle = self.rate == ONE && self.marked_share == 0;
            let since = if is_idle { now } else { self.until };
            self.until = since + self.interval();
        }
    }

    fn adapt(&mut self) {
        let all = self.whole + self.trimmed + self.trimmed_at_last_hop;
        let share = (self.marked * ONE).checked_div(self.whole).unwrap_or(0);
        let mut falls = self.trimmed > 0;
        if falls {
            self.rate = self.rate.saturating_sub(self.trimmed * ONE / all);
        }
        self.marked_share = (self.marked_share + share) / 2;
        if self.marked_share > TARGET {
            let excess = (self.marked_share - TARGET) / 2;
            self.rate -= (u128::from(self.rate) * u128::from(excess) / u128::from(ONE)) as u64;
            falls = true;
        }
        if falls {
            self.rises = 0;
        } else {
            let doublings = if self.marked == 0 { self.rises.min(MAX_DOUBLINGS) } else { 0 };
            self.rate += RISE << doublings;
            self.rises += 1;
        }
        let floor = u64::from(self.control.floor) * ONE / 1_000_000;
        self.rate = self.rate.clamp(floor.max(1), ONE);
        (self.whole, self.marked, self.trimmed, self.trimmed_at_last_hop) = (0, 0, 0, 0);
    }

    pub(super) fn arrived(&mut self, now: Time, is_marked: bool) {
        self.catch_up(now);
        self.whole += 1;
        self.marked += u64::from(is_marked);
    }

    pub(super) fn trimmed(&mut self, now: Time, is_last_hop: bool) {
        self.catch_up(now);
        match is_last_hop {
            true => self.trimmed_at_last_hop += 1,
            false => self.trimmed += 1,
        }
    }

    /// Stretches a time at the paced rate to that of the core.
    pub(super) fn slowed(&mut self, now: Time, time: TimeDelta) -> TimeDelta {
        self.catch_up(now);
        let long = u128::from(time.as_ps()) * u128::from(ONE);
        TimeDelta::from_ps((long / u128::from(self.rate)) as u64)
    }

    /// The rate in millionths.
    pub(super) fn share(&self) -> u32 {
        ((self.rate * 1_000_000 + ONE / 2) / ONE) as u32
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use rand_xoshiro::rand_core::SeedableRng;

    use super::*;

    fn us(us: u64) -> Time {
        Time::ZERO + TimeDelta::from_us(us)
    }

    fn core(floor: u32) -> Core {
        let control = CoreControl { base: TimeDelta::from_us(10), floor };
        Core::new(&control, RngStream::seed_from_u64(1))
    }

    /// Adapts after these packets: whole, marked, trimmed, and trimmed at the last hop. Returns the rate in millionths.
    fn after(core: &mut Core, [whole, marked, trimmed, last]: [u64; 4]) -> u32 {
        (core.whole, core.marked, core.trimmed, core.trimmed_at_last_hop) =
            (whole, marked, trimmed, last);
        core.adapt();
        core.share()
    }

    #[test]
    fn trims_in_the_core_take_their_share_and_those_of_the_last_hop_nothing() {
        assert_eq!(after(&mut core(1), [70, 0, 20, 10]), 800_000);
        assert_eq!(after(&mut core(1), [70, 0, 0, 30]), 1_000_000);
        assert_eq!(after(&mut core(225_000), [0, 0, 5, 0]), 225_000, "the floor");
    }

    #[test]
    fn marks_above_three_tenths_take_half_of_the_excess() {
        let mut core = core(1);
        // The mean is a half of what is marked now.
        assert_eq!(after(&mut core, [100, 50, 0, 0]), 1_000_000, "a quarter");
        assert_eq!(after(&mut core, [100, 75, 0, 0]), 900_000, "a half is two tenths above");
        assert_eq!(after(&mut core, [100, 9, 0, 0]), 910_000, "less than three tenths");
    }

    #[test]
    fn without_trims_the_rate_rises_by_a_hundredth_and_without_marks_twice_as_much_each_time() {
        let mut core = core(1);
        after(&mut core, [10, 0, 90, 0]);
        let rates: Vec<u32> = (0..5).map(|_| after(&mut core, [10, 0, 0, 0])).collect();
        assert_eq!(rates, [110_000, 130_000, 170_000, 250_000, 410_000]);
        after(&mut core, [10, 0, 5, 0]);
        let marked: Vec<u32> = (0..3).map(|_| after(&mut core, [10, 1, 0, 0])).collect();
        assert_eq!((marked[1] - marked[0], marked[2] - marked[1]), (10_000, 10_000));
        (0..40).for_each(|_| _ = after(&mut core, [10, 0, 0, 0]));
        assert_eq!(core.share(), 1_000_000, "no more than the link's");
    }

    #[test]
    fn the_rate_is_adapted_about_every_one_and_a_half_round_trips() {
        let mut core = core(1);
        core.trimmed(us(5), false);
        assert_eq!(core.slowed(us(11), TimeDelta::from_us(1)), TimeDelta::from_us(1));
        // 11.25 to 18.75 us.
        let slowed = core.slowed(us(19), TimeDelta::from_us(1));
        assert!(slowed > TimeDelta::from_us(1_000), "only trims: {slowed}");
        assert!(core.until > us(19) && core.until < us(19 + 19));
        // Long idle, it is at the whole rate again at once.
        assert_eq!(core.slowed(us(1_000_000), TimeDelta::from_us(1)), TimeDelta::from_us(1));
        assert!(core.until > us(1_000_000));
    }
}
