//! CUBIC (RFC 9438), in integers: the window is a cubic function of the time since the last reduction.
//!
//! Windows are segments in Q32.32, times microseconds. The constant C is 0.4 segments per cubic second.

use trimline_packet::Time;

use super::law::{Acked, Law, ONE};

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cubic {
    curve: Curve,
    before: Curve,
    /// Time up to which both curves count.
    counted: Time,
}

#[derive(Clone, Copy, Debug, Default)]
struct Curve {
    /// Start of the present stage of congestion avoidance; `None` until its first ACK.
    epoch: Option<Time>,
    /// Window before the last reduction, or less by fast convergence.
    maximum: u64,
    /// Window before the last reduction.
    prior: u64,
    /// Microseconds from the epoch's start until the window is back at `maximum`.
    k: u64,
    /// Window of a Reno flow (4.3).
    estimate: u64,
}

/// Multiplies by beta_cubic, 0.7.
const fn reduced(window: u64) -> u64 {
    window / 10 * 7
}

/// Returns the largest integer whose cube is not above `number`.
const fn cube_root(number: u128) -> u64 {
    let mut root: u64 = 0;
    let mut bit = 42;
    while bit > 0 {
        bit -= 1;
        let candidate = root | 1 << bit;
        if (candidate as u128).pow(3) <= number {
            root = candidate;
        }
    }
    root
}

/// Returns C x (`us` microseconds)^3, in segments Q32.32, with the sign of `us`.
const fn cube(us: i64) -> i128 {
    // 0.4 x us^3 / 10^18, shifted by 32; beyond 100 s it no longer matters.
    let max = 100_000_000;
    let us = if us > max {
        max
    } else if us < -max {
        -max
    } else {
        us
    } as i128;
    ((us * us * us * 4) << 32) / 10_000_000_000_000_000_000
}

impl Law for Cubic {
    fn grow(&mut self, window: u64, ack: &Acked) -> u64 {
        self.counted = ack.now;
        self.curve.grow(window, ack)
    }

    fn reduce_for_mark(&mut self, window: u64) -> u64 {
        self.curve.reduce(window)
    }

    fn reduce_for_loss(&mut self, used: u64) -> u64 {
        self.before = self.curve;
        self.curve.reduce(used)
    }

    /// 4.8: the plateau is where the next stage begins, and K is zero.
    fn reduce_for_timeout(&mut self, used: u64) -> u64 {
        self.before = self.curve;
        self.curve = Curve { prior: used, ..Curve::default() };
        reduced(used)
    }

    /// 4.2, 5.8: the elapsed time excludes periods in which something else limited the sender. As in Linux
    /// (`bictcp_cwnd_event`) the epoch moves by them.
    fn skip_time(&mut self, now: Time) {
        let skipped = now.saturating_since(core::mem::replace(&mut self.counted, now));
        for curve in [&mut self.curve, &mut self.before] {
            curve.epoch = curve.epoch.map(|epoch| epoch.saturating_add(skipped));
        }
    }

    /// 4.2: the epoch begins with the present stage of congestion avoidance.
    fn end_stage(&mut self) {
        self.curve.epoch = None;
    }

    /// 4.9: restores the curve.
    fn undo(&mut self) {
        self.curve = self.before;
    }
}

impl Curve {
    /// Returns the window after a reduction (4.6, and 4.7 fast convergence).
    fn reduce(&mut self, window: u64) -> u64 {
        self.maximum = if window < self.maximum { window / 20 * 17 } else { window };
        self.prior = window;
        self.epoch = None;
        reduced(window)
    }

    fn grow(&mut self, window: u64, ack: &Acked) -> u64 {
        let Acked { now, acked, round_trip, linked: _ } = *ack;
        let epoch = *self.epoch.get_or_insert_with(|| {
            self.k = match self.maximum.checked_sub(window) {
                Some(below) => cube_root((u128::from(below) * 2_500_000_000_000_000_000) >> 32),
                // Slow start went beyond it: a new plateau.
                None => {
                    self.maximum = window;
                    0
                }
            };
            self.estimate = window;
            now
        });
        let acked = u64::from(acked);
        // 4.3: alpha is 3 (1 - beta) / (1 + beta) = 9/17 until the estimate is where the window was.
        let step = (u128::from(acked * ONE) * u128::from(ONE) / u128::from(window)) as u64;
        self.estimate += if self.estimate < self.prior { step / 17 * 9 } else { step };
        let since = now.saturating_since(epoch).as_ps() / 1_000_000;
        let at = |us: u64| {
            let value = i128::from(self.maximum) + cube(us as i64 - self.k as i64);
            u64::try_from(value.max(i128::from(ONE))).unwrap_or(u64::MAX)
        };
        if at(since) < self.estimate {
            return self.estimate.max(window);
        }
        let ahead = round_trip.map_or(0, |delta| delta.as_ps() / 1_000_000);
        let target = at(since + ahead).clamp(window, window / 2 * 3);
        let step = u128::from(target - window) * u128::from(acked * ONE) / u128::from(window);
        window + step as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use trimline_packet::TimeDelta;

    fn ack(now: Time, round_trip: TimeDelta) -> Acked {
        Acked { now, acked: 1, round_trip: Some(round_trip), linked: None }
    }

    proptest! {
        #[test]
        fn a_cube_root_is_rounded_down(number in 0u128..1 << 120) {
            let root = u128::from(cube_root(number));
            prop_assert!(root.pow(3) <= number && (root + 1).pow(3) > number);
        }
    }

    /// Window 100 before a loss: back after K = cbrt(30 / 0.4) = 4.217 s, flat there.
    #[test]
    fn the_cubic_window_follows_the_curve_of_the_rfc() {
        let mut cubic = Cubic::default();
        let mut window = cubic.reduce_for_loss(100 * ONE);
        assert_eq!(window / ONE, 70);
        let round_trip = TimeDelta::from_ms(100);
        let mut at_k = 0;
        for rtt in 0..80u64 {
            let now = Time::from_ps(rtt * round_trip.as_ps());
            for _ in 0..window / ONE {
                window = cubic.grow(window, &ack(now, round_trip));
            }
            if rtt == 42 {
                at_k = window;
            }
        }
        assert_eq!(cubic.curve.k / 1000, 4217);
        assert!((98..=101).contains(&(at_k / ONE)), "{}", at_k / ONE);
        // At 8 s: 100 + 0.4 x (8 - 4.217)^3 = 121.65
        assert!((118..=124).contains(&(window / ONE)), "{}", window / ONE);
    }

    /// With short round trips the cubic curve is slower than Reno: the estimate leads (4.3), by 9/17 of a segment per
    /// round trip.
    #[test]
    fn short_round_trips_grow_the_window_as_reno_does() {
        let mut cubic = Cubic::default();
        let mut window = cubic.reduce_for_loss(40 * ONE);
        let begin = window;
        for rtt in 0..17u64 {
            let now = Time::from_ps(rtt * 100_000_000);
            for _ in 0..window / ONE {
                window = cubic.grow(window, &ack(now, TimeDelta::from_us(100)));
            }
        }
        let grown = (window - begin) * 10 / ONE;
        assert!((85..=95).contains(&grown), "{grown} tenths of a segment");
    }

    #[test]
    fn a_smaller_window_than_before_makes_room_for_new_flows() {
        let mut cubic = Cubic::default();
        cubic.reduce_for_loss(100 * ONE);
        cubic.reduce_for_loss(80 * ONE);
        assert_eq!(cubic.curve.maximum / ONE, 68);
        cubic.reduce_for_loss(90 * ONE);
        assert_eq!(cubic.curve.maximum / ONE, 90);
    }

    /// RFC 9438 4.8: after a time-out the curve rises from the start of congestion avoidance, without a plateau above.
    #[test]
    fn after_a_timeout_the_plateau_is_where_the_stage_begins() {
        let mut cubic = Cubic::default();
        cubic.reduce_for_loss(100 * ONE);
        assert_eq!(cubic.reduce_for_timeout(80 * ONE) / ONE, 56);
        cubic.grow(56 * ONE, &ack(Time::ZERO, TimeDelta::from_ms(100)));
        assert_eq!((cubic.curve.k, cubic.curve.maximum), (0, 56 * ONE));
        // 4.9: a time-out for nothing.
        cubic.undo();
        assert_eq!(cubic.curve.maximum, 100 * ONE);
    }

    /// RFC 9438 4.2: the target is the curve's value a round trip later, and at most half more than the window.
    #[test]
    fn the_cubic_target_is_one_round_trip_ahead_and_bounded() {
        let later = Time::from_ps(1_000_000_000_000);
        let grown = |start: u64, round_trip| {
            let mut cubic = Cubic::default();
            cubic.reduce_for_loss(100 * ONE);
            cubic.grow(start * ONE, &ack(Time::ZERO, round_trip));
            (cubic.grow(start * ONE, &ack(later, round_trip)) - start * ONE) * 1000 / ONE
        };
        // K is 4.217 s: 100 - 0.4 x 2.217^3 = 95.64 after two seconds, (95.64 - 70) / 70 = 0.366.
        assert_eq!(grown(70, TimeDelta::from_ms(1000)), 366);
        // From 10 segments K is 6.082 s: 85 or more after four seconds, and (15 - 10) / 10 is the max.
        assert_eq!(grown(10, TimeDelta::from_ms(3000)), 500);
    }

    /// RFC 9438 4.3: beyond the prior window the estimate grows by a segment per round trip, like a Reno flow.
    #[test]
    fn beyond_the_previous_window_growth_equals_that_of_reno() {
        let mut cubic = Cubic::default();
        let mut window = cubic.reduce_for_loss(10 * ONE);
        let mut at_20 = 0;
        for rtt in 0..30u64 {
            if rtt == 20 {
                at_20 = window;
            }
            let now = Time::from_ps(rtt * 100_000_000);
            for _ in 0..window / ONE {
                window = cubic.grow(window, &ack(now, TimeDelta::from_us(100)));
            }
        }
        let grown = (window - at_20) * 10 / ONE;
        assert!((90..=100).contains(&grown), "{grown} tenths of a segment");
    }

    /// RFC 9438 4.2, 4.6: a reduction, also for a mark, begins a new stage and its curve.
    #[test]
    fn a_reduction_restarts_the_curve() {
        for reduce in [Cubic::reduce_for_loss, Cubic::reduce_for_mark] {
            let mut cubic = Cubic::default();
            let round_trip = TimeDelta::from_us(100);
            let at = |ms: u64| Time::from_ps(ms * 1_000_000_000);
            cubic.reduce_for_loss(100 * ONE);
            cubic.grow(70 * ONE, &ack(at(0), round_trip));
            cubic.grow(100 * ONE, &ack(at(5_000), round_trip));
            assert_eq!(reduce(&mut cubic, 100 * ONE) / ONE, 70);
            let window = cubic.grow(70 * ONE, &ack(at(5_100), round_trip));
            assert!(window - 70 * ONE < ONE / 50, "{window}");
        }
    }

    /// RFC 9438 4.2, 5.8: the curve resumes, however long something else limited the sender, even if a reduction is
    /// undone meanwhile.
    #[test]
    fn time_without_window_limit_does_not_count() {
        let round_trip = TimeDelta::from_ms(100);
        let at = |ms: u64| Time::from_ps(ms * 1_000_000_000);
        let grown = |limited_elsewhere: &[u64], is_undone: bool| {
            let mut cubic = Cubic::default();
            cubic.reduce_for_loss(100 * ONE);
            cubic.grow(70 * ONE, &ack(at(0), round_trip));
            cubic.grow(70 * ONE, &ack(at(1_000), round_trip));
            if is_undone {
                cubic.reduce_for_loss(70 * ONE);
            }
            limited_elsewhere.iter().for_each(|&ms| cubic.skip_time(at(ms)));
            if is_undone {
                cubic.undo();
            }
            let resumed = limited_elsewhere.last().copied().unwrap_or(1_000);
            cubic.grow(70 * ONE, &ack(at(resumed + 100), round_trip))
        };
        for is_undone in [false, true] {
            assert_eq!(grown(&[9_000], is_undone), grown(&[], false), "{is_undone}");
            assert_eq!(grown(&[1_020, 1_040, 5_000, 9_000], is_undone), grown(&[], false));
        }
    }
}
