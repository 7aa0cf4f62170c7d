//! The rate of a token bucket (HULL 4.2, equation 4).

use trimline_packet::units::PICOSECONDS_PER_SECOND;
use trimline_packet::{BitRate, ByteCount, Time, TimeDelta};

/// Averages in 2^-16 b/s round far below a step of the bucket's rate.
const FRACTION_BITS: u32 = 16;
const BILLION: u64 = 1_000_000_000;

/// The checked constants of equation (4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Law {
    /// Time between two updates, T_r: above zero.
    pub(super) interval: TimeDelta,
    /// Weight of a sample, eta, in billionths: above zero, at most a billion.
    pub(super) gain: u32,
    /// Rate per byte of backlog, beta, in B/s.
    pub(super) backlog_gain: u64,
    pub(super) min: BitRate,
    pub(super) max: BitRate,
    /// The bucket's rate is a multiple of this.
    pub(super) step: BitRate,
}

/// A first-order filter of the arrival rate, plus the backlog's share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Estimate {
    /// R_tb in 2^-16 b/s.
    rate: u64,
    /// M_r, the bytes of this interval.
    measured: u64,
    /// End of this interval: updates are at the multiples of T_r.
    next: Time,
}

impl Estimate {
    pub(super) fn new(first: BitRate, law: &Law) -> Estimate {
        let next = Time::ZERO.saturating_add(law.interval);
        Estimate { rate: parts(first.clamp(law.min, law.max)), measured: 0, next }
    }

    #[inline]
    pub(super) fn next_update(&self) -> Time {
        self.next
    }

    /// Sets the clock back: `now` falls once by `by`. The rate stays.
    pub(super) const fn set_back(&mut self, by: TimeDelta) {
        self.next = self.next.set_back(by);
    }

    #[inline]
    pub(super) fn count(&mut self, bytes: u16) {
        self.measured += u64::from(bytes);
    }

    /// Ends an interval. After an update without change and bytes, the updates up to `now` change nothing and are
    /// skipped.
    pub(super) fn update(&mut self, backlog: ByteCount, now: Time, law: &Law) {
        let before = self.rate;
        let measured = core::mem::take(&mut self.measured);
        self.rate = averaged(before, measured, backlog, law);
        let interval = law.interval.as_ps();
        let is_still = measured == 0 && self.rate == before;
        let ended = if is_still { now.as_ps() / interval * interval } else { 0 };
        self.next = Time::from_ps(self.next.as_ps().max(ended)).saturating_add(law.interval);
    }

    /// Rate of the bucket: the nearest multiple of the step, within the bounds (HULL 5.1). So a backlog below eta step
    /// / 2 beta (244 B with the testbed's settings) may stay.
    #[inline]
    pub(super) fn bucket_rate(&self, law: &Law) -> BitRate {
        let (rate, step) = (self.rate >> FRACTION_BITS, law.step.as_bps());
        let nearest = (rate + step / 2) / step * step;
        BitRate::from_bps(nearest.max(1)).clamp(law.min, law.max)
    }
}

fn parts(rate: BitRate) -> u64 {
    rate.as_bps() << FRACTION_BITS
}

/// Equation (4) of HULL 4.2 with rates in 2^-16 b/s: (1 - eta) R + eta M / T_r + beta Q.
fn averaged(rate: u64, measured: u64, backlog: ByteCount, law: &Law) -> u64 {
    let bits = |bytes: u64| (u128::from(bytes) * 8) << FRACTION_BITS;
    let second = u128::from(PICOSECONDS_PER_SECOND);
    let sample = bits(measured) * second / u128::from(law.interval.as_ps());
    let sample = u64::try_from(sample).unwrap_or(u64::MAX);
    let towards = (i128::from(sample) - i128::from(rate)) * i128::from(law.gain);
    let pushed = bits(backlog.get()).saturating_mul(law.backlog_gain.into());
    let pushed = u64::try_from(pushed).unwrap_or(u64::MAX);
    let new = i128::from(rate) + towards / i128::from(BILLION) + i128::from(pushed);
    new.clamp(parts(law.min).into(), parts(law.max).into()) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// HULL table 3 and 5.1.
    const LAW: Law = Law {
        interval: TimeDelta::from_us(64),
        gain: 125_000_000,
        backlog_gain: 16,
        min: BitRate::from_bps(500_000),
        max: BitRate::from_gbps(1),
        step: BitRate::from_bps(500_000),
    };

    fn at(bits: u64) -> Estimate {
        Estimate::new(BitRate::from_bps(bits), &LAW)
    }

    /// Equation (4) by hand: 7/8 of 400 Mb/s, 1/8 of 4000 B in 64 us (500 Mb/s), and 16 B/s for each of 3000 B.
    #[test]
    fn an_update_computes_equation_four() {
        let mut estimate = at(400_000_000);
        estimate.count(4000);
        estimate.update(ByteCount::new(3000), estimate.next_update(), &LAW);
        assert_eq!(estimate.rate >> FRACTION_BITS, 350_000_000 + 62_500_000 + 384_000);
        assert_eq!(estimate.bucket_rate(&LAW).as_bps(), 413_000_000, "412.884 Mb/s");
        assert_eq!(estimate.next_update(), Time::from_ps(128_000_000));
        assert_eq!(estimate.measured, 0, "an interval of its own");
    }

    /// The bucket's rate is a multiple of 0.5 Mb/s, at least one step and at most the line's (HULL 5.1).
    #[test]
    fn the_bucket_rate_is_a_multiple_of_the_step() {
        for (rate, bucket) in [
            (1, 500_000),
            (749_999, 500_000),
            (750_000, 1_000_000),
            (300_200_000, 300_000_000),
            (999_900_000, 1_000_000_000),
            (u64::MAX >> FRACTION_BITS, 1_000_000_000),
        ] {
            assert_eq!(at(rate).bucket_rate(&LAW).as_bps(), bucket, "{rate}");
        }
    }

    proptest! {
        /// Updates agree with equation (4) in other units, and keep the bounds.
        #[test]
        fn updates_follow_the_equation_and_keep_the_bounds(
            updates in prop::collection::vec((0u64..200_000, 0u64..128_000), 1..60),
            gain in 1u32..=1_000_000_000,
            backlog_gain in 0u64..1 << 15,
            interval_ps in 1_000_000u64..1_000_000_000,
            first in 500_000u64..1_000_000_000,
        ) {
            let interval = TimeDelta::from_ps(interval_ps);
            let law = Law { interval, gain, backlog_gain, ..LAW };
            let mut estimate = Estimate::new(BitRate::from_bps(first), &law);
            // In billionths of a byte a second.
            const NANO: i128 = 1_000_000_000;
            let mut expected = i128::from(first) * NANO / 8;
            for (measured, backlog) in updates {
                estimate.measured = measured;
                estimate.update(ByteCount::new(backlog), estimate.next_update(), &law);
                let eta = i128::from(gain);
                let sample = i128::from(measured) * 1000 * NANO * NANO / i128::from(interval_ps);
                expected = ((NANO - eta) * expected + eta * sample) / NANO
                    + i128::from(backlog_gain) * i128::from(backlog) * NANO;
                expected = expected.clamp(62_500 * NANO, 125_000_000 * NANO);
                let bits = expected * 8 / NANO;
                prop_assert!((i128::from(estimate.rate >> 16) - bits).abs() <= 1, "{bits}");
                let bucket = estimate.bucket_rate(&law);
                prop_assert!((law.min..=law.max).contains(&bucket));
                prop_assert!((i128::from(bucket.as_bps()) - bits).abs() <= 250_001);
                prop_assert_eq!(bucket.as_bps() % 500_000, 0);
            }
        }

        /// Skipped updates change nothing.
        #[test]
        fn skipped_updates_change_nothing(
            first in 500_000u64..1_000_000_000,
            backlog in prop_oneof![Just(0u64), 0u64..128_000],
            intervals in 1u64..400,
        ) {
            let now = Time::from_ps(64_000_000 * intervals + 1);
            let (mut stepwise, mut at_once) = (at(first), at(first));
            while stepwise.next_update() <= now {
                stepwise.update(ByteCount::new(backlog), stepwise.next_update(), &LAW);
            }
            while at_once.next_update() <= now {
                at_once.update(ByteCount::new(backlog), now, &LAW);
            }
            prop_assert_eq!((at_once.rate, at_once.next), (stepwise.rate, stepwise.next));
        }
    }
}
