//! The congestion window of one subflow: RFC 5681, RFC 9438, RFC 8257, and the increase of RFC 6356.
//!
//! Windows are segments in Q32.32. Segments are counted and not bytes: a last, short one counts as a full
//! one (RFC 5681 leaves it open; Linux and the authors of DCTCP do the same).

use alloc::boxed::Box;

use trimline_packet::{Time, TimeDelta};

use super::config::{Config, Control};
use super::cubic::Cubic;

/// One segment.
pub(super) const ONE: u64 = 1 << 32;

/// RFC 5681: what a loss leaves at least.
const LEAST_THRESHOLD: u64 = 2 * ONE;

/// The increase that subflows share (RFC 6356): alpha over the total window, both Q32.32 in the quotient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Linked {
    /// alpha / total window, Q32.32 of 1 / segments.
    pub(super) share: u64,
}

/// What DCTCP counts.
#[derive(Clone, Copy, Debug)]
struct Marks {
    /// The share of marked segments, averaged, Q0.32: at most [`ONE`].
    alpha: u64,
    /// Segments acknowledged in this observation window.
    acked: u32,
    /// Those by ACKs with an echo.
    marked: u32,
    /// The window ends when this segment is acknowledged.
    end: u32,
}

/// The window and what moves it.
#[derive(Debug)]
pub(super) struct Congestion {
    window: u64,
    threshold: u64,
    /// An echo is acted on once until this segment is acknowledged.
    reduced_until: Option<u32>,
    marks: Marks,
    cubic: Option<Box<Cubic>>,
    /// Window and threshold before the last reduction for a loss, to be taken back if it was for nothing.
    before: (u64, u64),
}

impl Congestion {
    pub(super) fn new(config: &Config) -> Congestion {
        let window = u64::from(config.initial_window) * ONE;
        let threshold = u64::from(config.initial_threshold) * ONE;
        Congestion {
            window,
            threshold,
            reduced_until: None,
            // RFC 8257 4.2: 1, so that the first mark is a strong one.
            marks: Marks { alpha: ONE, acked: 0, marked: 0, end: 0 },
            cubic: matches!(config.control, Control::Cubic).then(Box::default),
            before: (window, threshold),
        }
    }

    /// Segments that may be in flight: at least one.
    #[inline]
    pub(super) const fn segments(&self) -> u32 {
        let whole = (self.window >> 32) as u32;
        if whole == 0 { 1 } else { whole }
    }

    /// The window, Q32.32.
    #[inline]
    pub(super) const fn window(&self) -> u64 {
        self.window
    }

    /// The slow start threshold, Q32.32.
    #[cfg(test)]
    pub(super) const fn threshold(&self) -> u64 {
        self.threshold
    }

    /// DCTCP's estimate of the share of marked segments, Q0.32.
    #[cfg(test)]
    pub(super) const fn alpha(&self) -> u64 {
        self.marks.alpha
    }

    #[inline]
    pub(super) const fn is_slow_start(&self) -> bool {
        self.window < self.threshold
    }

    /// The first window after a SYN that was lost is one segment (RFC 5681 3.1).
    pub(super) fn begin_small(&mut self) {
        self.window = ONE;
    }

    /// `acked` segments were acknowledged while the window was what limited the sender.
    #[inline]
    pub(super) fn grow(
        &mut self,
        now: Time,
        acked: u32,
        round_trip: Option<TimeDelta>,
        linked: Option<Linked>,
    ) {
        if self.is_slow_start() {
            // RFC 3465 with L = 2: one ACK of a delayed pair counts as two.
            let step = u64::from(acked.min(2)) * ONE;
            self.window = (self.window + step).min(self.threshold.max(self.window));
            return;
        }
        if let Some(cubic) = &mut self.cubic {
            self.window = cubic.grow(now, self.window, acked, round_trip);
            return;
        }
        // One segment each round trip, an ACK at a time; never more than that for one ACK.
        let own = (u64::MAX / self.window).saturating_mul(u64::from(acked));
        let step = match linked {
            // RFC 6356 3: the lesser of alpha over the total window and one over the own.
            Some(linked) => own.min(linked.share.saturating_mul(u64::from(acked))),
            None => own,
        };
        self.window += step.min(ONE);
    }

    /// A segment was lost, `flight` are outstanding: the window is what remains.
    pub(super) fn lost(&mut self, flight: u32) {
        self.threshold = self.after_loss(flight, Cubic::reduce);
        self.window = self.threshold;
    }

    /// The new threshold; what was before is remembered, in case that it was for nothing.
    fn after_loss(&mut self, flight: u32, reduce: fn(&mut Cubic, u64) -> u64) -> u64 {
        self.before = (self.window, self.threshold);
        // RFC 5681 (4): by what is in flight, not by a window that was not used.
        let used = self.window.min(u64::from(flight) * ONE);
        let reduced = match &mut self.cubic {
            Some(cubic) => {
                cubic.remember();
                reduce(cubic, used)
            }
            None => used / 2,
        };
        reduced.max(LEAST_THRESHOLD)
    }

    /// The recovery from a loss is over with `flight` segments outstanding (RFC 6582 3.2, step 3, the first
    /// way): the window does not open all at once.
    pub(super) fn recovered(&mut self, flight: u32) {
        self.window = self.threshold.min((u64::from(flight.max(1)) + 1) * ONE);
    }

    /// A time-out (RFC 5681 3.1). `first`: not of what a time-out had resent.
    pub(super) fn timed_out(&mut self, flight: u32, first: bool) {
        if first {
            self.threshold = self.after_loss(flight, Cubic::time_out);
        }
        self.window = ONE;
    }

    /// The window is `segments`, whatever it was.
    pub(super) fn allow(&mut self, segments: u32) {
        self.window = u64::from(segments.max(1)) * ONE;
    }

    /// The last reduction for a loss was for nothing.
    pub(super) fn undo(&mut self) {
        self.window = self.window.max(self.before.0);
        self.threshold = self.threshold.max(self.before.1);
        if let Some(cubic) = &mut self.cubic {
            cubic.undo();
        }
    }

    /// An ACK of `acked` segments up to `number` arrived with or without an echo; `next` is the next segment
    /// to be sent. Gives whether the window was reduced: the next segment says so.
    #[inline]
    pub(super) fn heard_marks(
        &mut self,
        config: &Config,
        number: u32,
        next: u32,
        acked: u32,
        echo: bool,
        is_recovering: bool,
    ) -> bool {
        if let Control::Dctcp { gain_shift } = config.control {
            let marks = &mut self.marks;
            marks.acked += acked;
            if echo {
                marks.marked += acked;
            }
            // RFC 8257 3.3: alpha moves once for each window of data.
            if number.wrapping_sub(marks.end) as i32 > 0 && marks.acked > 0 {
                let share = u64::from(marks.marked) * ONE / u64::from(marks.acked);
                marks.alpha = marks.alpha - (marks.alpha >> gain_shift) + (share >> gain_shift);
                *marks = Marks { alpha: marks.alpha, acked: 0, marked: 0, end: next };
            }
        }
        if let Some(until) = self.reduced_until
            && number.wrapping_sub(until) as i32 > 0
        {
            self.reduced_until = None;
        }
        // A loss has reduced the window already (RFC 3168 6.1.2: once for each window of data).
        if !echo || is_recovering || self.reduced_until.is_some() {
            return false;
        }
        self.reduced_until = Some(next);
        let window = match config.control {
            // RFC 8257 3.3 (6).
            Control::Dctcp { .. } => {
                let alpha = u128::from(self.marks.alpha);
                self.window - ((u128::from(self.window) * alpha) >> 33) as u64
            }
            _ => match &mut self.cubic {
                Some(cubic) => cubic.reduce(self.window),
                None => self.window / 2,
            },
        };
        // RFC 3168 6.1.2: down to one segment, where a loss would leave two.
        self.window = window.max(ONE);
        self.threshold = self.window;
        true
    }
}

/// The increase of every subflow (RFC 6356 3.1), from their windows (Q32.32) and round trips.
///
/// alpha = total x max(w / rtt^2) / (sum of w / rtt)^2; given is alpha / total.
pub(super) fn linked(subflows: impl Iterator<Item = (u64, TimeDelta)> + Clone) -> Linked {
    // Round trips in units of 2^10 ps, so that everything fits 128 bits; none is below a microsecond.
    let round_trip = |delta: TimeDelta| u128::from((delta.as_ps() >> 10).clamp(1 << 10, 1 << 36));
    // Windows in Q16.16.
    let window = |window: u64| u128::from(window >> 16);
    let (mut sum, mut best) = (0, 0);
    for (own, delta) in subflows {
        let (own, rtt) = (window(own), round_trip(delta));
        // w / rtt in units of 2^-32, w / rtt^2 of 2^-64.
        sum += (own << 32) / rtt;
        best = best.max((own << 64) / (rtt * rtt));
    }
    if sum == 0 {
        return Linked { share: u64::MAX };
    }
    // [w Q16][2^64] / ([w Q16]^2 [2^64]) = 1 / [w Q16]: 2^16 to be taken out, 2^32 to be put in.
    let share = (((best << 24) / sum) << 24) / sum;
    Linked { share: u64::try_from(share).unwrap_or(u64::MAX) }
}

#[cfg(test)]
mod tests {
    use super::super::tests::config;
    use super::*;

    fn us(us: u64) -> TimeDelta {
        TimeDelta::from_us(us)
    }

    #[test]
    fn slow_start_doubles_and_avoidance_adds_one_each_round_trip() {
        let config = Config { initial_window: 2, initial_threshold: 16, ..config() };
        let mut congestion = Congestion::new(&config);
        let mut seen = alloc::vec::Vec::new();
        for _ in 0..6 {
            for _ in 0..congestion.segments() {
                congestion.grow(Time::ZERO, 1, None, None);
            }
            seen.push(congestion.segments());
        }
        assert_eq!(seen, [4, 8, 16, 16, 17, 18]);
    }

    #[test]
    fn a_loss_leaves_half_of_what_is_in_flight_and_a_timeout_one() {
        let config = Config { initial_window: 20, ..config() };
        let mut congestion = Congestion::new(&config);
        congestion.lost(12);
        assert_eq!((congestion.segments(), congestion.threshold()), (6, 6 * ONE));
        congestion.timed_out(6, true);
        assert_eq!((congestion.segments(), congestion.threshold()), (1, 3 * ONE));
        congestion.timed_out(1, false);
        assert_eq!(congestion.threshold(), 3 * ONE);
        congestion.undo();
        assert_eq!(congestion.segments(), 6);
    }

    /// RFC 9438 4.8: after a time-out CUBIC rises from where congestion avoidance begins; after a loss towards what was.
    #[test]
    fn cubic_forgets_its_plateau_at_a_timeout_only() {
        let config = Config { initial_window: 100, control: Control::Cubic, ..config() };
        let after = |reduce: fn(&mut Congestion)| {
            let mut congestion = Congestion::new(&config);
            reduce(&mut congestion);
            for round in 0..20u64 {
                let now = Time::from_ps(round * 100_000_000_000);
                for _ in 0..congestion.segments() {
                    congestion.grow(now, 1, Some(us(100_000)), None);
                }
            }
            congestion.segments()
        };
        let loss = after(|congestion| congestion.lost(100));
        let timeout = after(|congestion| congestion.timed_out(100, true));
        // 100 + 0.4 (2 - 4.2)^3 = 95.6 after two seconds, against 70 and some.
        assert!((90..100).contains(&loss), "{loss}");
        assert!((70..88).contains(&timeout), "{timeout}");
    }

    /// RFC 6356 with n equal subflows: alpha is 1 / n, so all together grow by 1 / n of a segment each
    /// round trip. A loss halves one of them, so that this is the aggressiveness of one flow.
    #[test]
    fn equal_subflows_together_are_as_aggressive_as_one() {
        for count in [1usize, 2, 8] {
            let subflows = core::iter::repeat_n((10 * ONE, us(100)), count);
            let Linked { share } = linked(subflows);
            let total = share * 10 * (count * count) as u64;
            assert!(total.abs_diff(ONE) < ONE / 1000, "{count}: {total}");
        }
    }

    /// RFC 6356 worked by hand: windows 10 and 40, round trips 100 and 400 us.
    /// max(10 / 1e4, 40 / 16e4) = 1e-3; (0.1 + 0.1)^2 = 0.04; share = 0.025.
    #[test]
    fn the_link_is_the_formula_of_the_rfc() {
        let Linked { share } = linked([(10 * ONE, us(100)), (40 * ONE, us(400))].into_iter());
        let expected = ONE / 40;
        assert!(share.abs_diff(expected) < expected / 200, "{share} {expected}");
    }

    #[test]
    fn alpha_follows_the_share_of_marks_and_cuts_the_window_by_half_of_it() {
        let config = Config {
            initial_window: 16,
            control: Control::Dctcp { gain_shift: 4 },
            ecn: true,
            ..config()
        };
        let mut congestion = Congestion::new(&config);
        // alpha begins at 1: the first mark halves.
        let mut number = 1;
        assert!(congestion.heard_marks(&config, number, 17, 1, true, false));
        assert_eq!(congestion.segments(), 8);
        // A second echo in the same window changes nothing.
        assert!(!congestion.heard_marks(&config, number, 17, 0, true, false));
        assert_eq!(congestion.segments(), 8);
        // Windows of 16 segments, a quarter marked: alpha goes to 1/4.
        for _ in 0..200 {
            for place in 0..16 {
                number += 1;
                congestion.heard_marks(&config, number, number + 16, 1, place < 4, true);
            }
        }
        assert!(congestion.alpha().abs_diff(ONE / 4) < ONE / 16, "{}", congestion.alpha());
    }
}
