//! The congestion window of one subflow.
//!
//! Shared by all laws: slow start, the min window after a loss, one answer to marks per window of data, the first
//! window after a recovery (RFC 5681, RFC 3168). A [`Law`](law::Law) says how the window grows in congestion avoidance
//! and how much it shrinks. A new law needs a file, a variant of [`Choice`], and a [`Control`].
//!
//! Windows are segments in Q32.32, not bytes: a short last segment counts as a full one (RFC 5681 leaves it open; Linux
//! and the authors of DCTCP do the same).

mod cubic;
mod dctcp;
mod law;
mod linked;
mod newreno;

use alloc::boxed::Box;

use trimline_packet::Time;

use super::config::{Config, Control};
use cubic::Cubic;
use dctcp::Dctcp;
use law::{Law, ONE};
use newreno::NewReno;

pub(super) use law::{Acked, Linked, Signals};
pub(super) use linked::linked;

/// RFC 5681: min threshold after a loss.
const MIN_THRESHOLD: u64 = 2 * ONE;

/// The law of a subflow. Large laws are boxed to keep a subflow small.
#[derive(Debug)]
enum Choice {
    NewReno(NewReno),
    Cubic(Box<Cubic>),
    Dctcp(Dctcp),
}

macro_rules! with_law {
    ($choice:expr, $law:ident => $body:expr) => {
        match $choice {
            Choice::NewReno($law) => $body,
            Choice::Cubic($law) => $body,
            Choice::Dctcp($law) => $body,
        }
    };
}

impl Choice {
    fn new(config: &Config) -> Choice {
        match config.control {
            Control::NewReno => Choice::NewReno(NewReno),
            Control::Cubic => Choice::Cubic(Box::default()),
            Control::Dctcp { gain_shift } => {
                Choice::Dctcp(Dctcp::new(gain_shift, config.alpha_from_zero))
            }
        }
    }
}

#[derive(Debug)]
pub(super) struct Congestion {
    window: u64,
    threshold: u64,
    /// An echo counts once until this segment is acknowledged.
    reduced_until: Option<u32>,
    /// Min segments after a mark.
    min_marked: u8,
    law: Choice,
    /// Window and threshold before the last reduction for a loss, for undo.
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
            min_marked: config.ack_every.min(2),
            law: Choice::new(config),
            before: (window, threshold),
        }
    }

    /// Returns the max segments in flight: at least one.
    #[inline]
    pub(super) const fn segments(&self) -> u32 {
        let whole = (self.window >> 32) as u32;
        if whole == 0 { 1 } else { whole }
    }

    /// Returns the window, Q32.32.
    #[inline]
    pub(super) const fn window(&self) -> u64 {
        self.window
    }

    /// Returns DCTCP's share of marked segments, Q32.32.
    pub(super) const fn alpha(&self) -> Option<u64> {
        match &self.law {
            Choice::Dctcp(law) => Some(law.alpha()),
            Choice::NewReno(_) | Choice::Cubic(_) => None,
        }
    }

    #[cfg(test)]
    pub(super) const fn threshold(&self) -> u64 {
        self.threshold
    }

    #[inline]
    pub(super) const fn is_slow_start(&self) -> bool {
        self.window < self.threshold
    }

    /// Sets the first window after a lost SYN: one segment (RFC 5681 3.1).
    pub(super) fn begin_small(&mut self) {
        self.window = ONE;
    }

    /// Sets the restart window after a long pause (RFC 5681 4.1). The threshold stays.
    pub(super) fn restart(&mut self, config: &Config) {
        self.window = self.window.min(u64::from(config.initial_window) * ONE);
        with_law!(&mut self.law, law => law.end_stage());
    }

    /// Excludes the time until `now`, in which the window did not limit the sender.
    #[inline]
    pub(super) fn skip_time(&mut self, now: Time) {
        with_law!(&mut self.law, law => law.skip_time(now));
    }

    /// Grows the window after an ACK of new data, while the window limited the sender.
    #[inline]
    pub(super) fn grow(&mut self, ack: &Acked) {
        if self.is_slow_start() {
            // RFC 3465 with L = 2: one ACK of a delayed pair counts as two.
            let step = u64::from(ack.acked.min(2)) * ONE;
            self.window = (self.window + step).min(self.threshold.max(self.window));
            return;
        }
        self.window = with_law!(&mut self.law, law => law.grow(self.window, ack));
    }

    /// Reduces the window after a loss with `flight` segments outstanding.
    pub(super) fn lost(&mut self, flight: u32) {
        let used = self.begin_reduction(flight);
        let reduced = with_law!(&mut self.law, law => law.reduce_for_loss(used));
        self.threshold = reduced.max(MIN_THRESHOLD);
        self.window = self.threshold;
    }

    /// Reduces the whole window after a switch dropped a segment (FastLane 3.4.1: to half).
    pub(super) fn notified(&mut self) {
        self.before = (self.window, self.threshold);
        let reduced = with_law!(&mut self.law, law => law.reduce_for_loss(self.window));
        self.threshold = reduced.max(MIN_THRESHOLD);
        self.window = self.threshold;
    }

    /// Halves the window after a drop in the slow start that follows a time-out.
    pub(super) fn told_after_timeout(&mut self) {
        self.threshold = (self.window / 2).max(MIN_THRESHOLD);
        self.window = (self.window / 2).max(ONE);
        with_law!(&mut self.law, law => law.end_stage());
    }

    /// Handles a Source Quench like an echoed mark (FastLane 2.2.1): `number` is one past the segment that met
    /// congestion, `next` the next new one. Returns whether the window was reduced.
    pub(super) fn quenched(&mut self, number: u32, next: u32, is_recovering: bool) -> bool {
        self.forget_reduction(number);
        self.reduce_for_signal(next, is_recovering)
    }

    /// Saves the state for undo. Returns the base of the reduction.
    fn begin_reduction(&mut self, flight: u32) -> u64 {
        self.before = (self.window, self.threshold);
        // RFC 5681 (4): by the segments in flight, not by an unused window.
        self.window.min(u64::from(flight) * ONE)
    }

    /// Sets the window after a recovery, with `flight` segments outstanding (RFC 6582 3.2, step 3, the first way): it
    /// does not open all at once.
    pub(super) fn recovered(&mut self, flight: u32) {
        self.window = self.threshold.min((u64::from(flight.max(1)) + 1) * ONE);
    }

    /// Handles a time-out (RFC 5681 3.1). `first`: it is not of segments that a time-out had resent.
    pub(super) fn timed_out(&mut self, flight: u32, first: bool) {
        if first {
            let used = self.begin_reduction(flight);
            let reduced = with_law!(&mut self.law, law => law.reduce_for_timeout(used));
            self.threshold = reduced.max(MIN_THRESHOLD);
        }
        self.window = ONE;
    }

    pub(super) fn allow(&mut self, segments: u32) {
        self.window = u64::from(segments.max(1)) * ONE;
    }

    /// Undoes the last reduction for a loss.
    pub(super) fn undo(&mut self) {
        self.window = self.window.max(self.before.0);
        self.threshold = self.threshold.max(self.before.1);
        with_law!(&mut self.law, law => law.undo());
    }

    /// Handles an ACK with ECN. Returns whether the window was reduced, which the next segment reports.
    #[inline]
    pub(super) fn received_marks(&mut self, signals: &Signals, is_recovering: bool) -> bool {
        with_law!(&mut self.law, law => law.receive(signals));
        self.forget_reduction(signals.number);
        if !signals.echo {
            return false;
        }
        let is_reduced = self.reduce_for_signal(signals.next, is_recovering);
        if signals.acked > 0 {
            // A time-out leaves one segment (RFC 5681 3.1), and no marked ACK lets it grow. Linux has two from the
            // first such ACK on: it grows in the Loss state, and leaves CWR with `snd_ssthresh`.
            self.window = self.window.max(self.min_marked());
        }
        is_reduced
    }

    /// Returns the min window after marks, in units of [`ONE`]. RFC 3168 6.1.2 allows one segment, which suits ACKs of
    /// each segment. If an ACK waits for two segments, a lone one waits for the ACK delay in each round trip. So the
    /// min is two, as for every law of Linux (`tcp_dctcp_ssthresh`, `tcp_reno_ssthresh`) and after a loss (RFC 5681
    /// (4)).
    #[inline]
    fn min_marked(&self) -> u64 {
        u64::from(self.min_marked) * ONE
    }

    /// Allows a new reduction once an ACK covers data sent after the last one.
    #[inline]
    fn forget_reduction(&mut self, number: u32) {
        if let Some(until) = self.reduced_until
            && number.wrapping_sub(until) as i32 > 0
        {
            self.reduced_until = None;
        }
    }

    /// Reduces the window, once per window of data.
    #[inline]
    fn reduce_for_signal(&mut self, next: u32, is_recovering: bool) -> bool {
        // A loss has reduced the window already (RFC 3168 6.1.2: once for each window of data).
        if is_recovering || self.reduced_until.is_some() {
            return false;
        }
        self.reduced_until = Some(next);
        let window = with_law!(&mut self.law, law => law.reduce_for_mark(self.window));
        // A signal alone never opens the window: a notification of a switch acknowledges nothing.
        self.window = window.max(self.min_marked().min(self.window));
        self.threshold = self.window;
        true
    }
}

#[cfg(test)]
mod tests {
    use trimline_packet::TimeDelta;

    use super::super::tests::config;
    use super::*;

    fn acked() -> Acked {
        Acked { now: Time::ZERO, acked: 1, round_trip: None, linked: None }
    }

    #[test]
    fn slow_start_doubles_the_window_and_avoidance_adds_one_each_round_trip() {
        let config = Config { initial_window: 2, initial_threshold: 16, ..config() };
        let mut congestion = Congestion::new(&config);
        let mut seen = alloc::vec::Vec::new();
        for _ in 0..6 {
            for _ in 0..congestion.segments() {
                congestion.grow(&acked());
            }
            seen.push(congestion.segments());
        }
        assert_eq!(seen, [4, 8, 16, 16, 17, 18]);
        // An ACK of two segments stops at the threshold, too.
        let config = Config { initial_window: 14, initial_threshold: 15, ..config };
        let mut congestion = Congestion::new(&config);
        congestion.grow(&Acked { acked: 2, ..acked() });
        assert_eq!(congestion.window(), 15 * ONE);
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

    /// RFC 9438 4.8: after a time-out CUBIC rises from the start of congestion avoidance; after a loss towards the old
    /// window.
    #[test]
    fn cubic_forgets_its_plateau_at_a_timeout_only() {
        let config = Config { initial_window: 100, control: Control::Cubic, ..config() };
        let after = |reduce: fn(&mut Congestion)| {
            let mut congestion = Congestion::new(&config);
            reduce(&mut congestion);
            for round in 0..20u64 {
                let now = Time::from_ps(round * 100_000_000_000);
                for _ in 0..congestion.segments() {
                    congestion.grow(&Acked {
                        now,
                        round_trip: Some(TimeDelta::from_ms(100)),
                        ..acked()
                    });
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

    /// RFC 3168 6.1.2: one answer per window of data, and none during a repair.
    #[test]
    fn a_window_is_reduced_once_per_window_of_marks() {
        for control in [Control::NewReno, Control::Cubic, Control::Dctcp { gain_shift: 4 }] {
            let config = Config { initial_window: 16, control, ecn: true, ..config() };
            let mut congestion = Congestion::new(&config);
            let signals = |number, echo| Signals { number, next: number + 16, acked: 1, echo };
            assert!(!congestion.received_marks(&signals(1, true), true));
            assert!(congestion.received_marks(&signals(2, true), false));
            let reduced = congestion.window();
            assert!(reduced < 16 * ONE && reduced == congestion.threshold(), "{control:?}");
            assert!(!congestion.received_marks(&signals(18, true), false));
            assert_eq!(congestion.window(), reduced);
            assert!(congestion.received_marks(&signals(19, true), false));
            assert!(congestion.window() < reduced, "{control:?}");
        }
    }

    /// RFC 3465 2.3: an ACK opens the slow start window by at most two segments, however many it acknowledges.
    #[test]
    fn an_ack_counts_for_two_segments_at_most() {
        let config = Config { initial_window: 10, ..config() };
        let mut congestion = Congestion::new(&config);
        let windows = [1, 2, 8].map(|count| {
            congestion.grow(&Acked { acked: count, ..acked() });
            congestion.window() / ONE
        });
        assert_eq!(windows, [11, 13, 15]);
    }

    /// RFC 5681 (4): at least two segments. RFC 3168 6.1.2: a mark may leave one, and two where an ACK waits for two.
    #[test]
    fn a_loss_leaves_two_segments_and_a_mark_leaves_ack_every_segments() {
        let laws = [Control::NewReno, Control::Cubic, Control::Dctcp { gain_shift: 4 }];
        for (control, ack_every) in laws.into_iter().flat_map(|law| [(law, 1), (law, 2), (law, 8)])
        {
            let config = Config { initial_window: 3, control, ack_every, ecn: true, ..config() };
            let mut congestion = Congestion::new(&config);
            congestion.lost(1);
            assert_eq!((congestion.window(), congestion.threshold()), (2 * ONE, 2 * ONE));
            congestion.timed_out(1, true);
            assert_eq!((congestion.window(), congestion.threshold()), (ONE, 2 * ONE));
            let mut congestion = Congestion::new(&config);
            for number in 1..10 {
                congestion
                    .received_marks(&Signals { number, next: number, acked: 1, echo: true }, false);
            }
            let left = u64::from(ack_every.min(2)) * ONE;
            assert_eq!((congestion.window(), congestion.threshold()), (left, left), "{control:?}");
            // A time-out leaves one segment. A marked ACK of it raises the window to the segments that an ACK waits
            // for; a duplicate does not.
            for is_recovering in [false, true] {
                congestion.timed_out(1, true);
                congestion.quenched(10, 11, is_recovering);
                assert_eq!(congestion.window(), ONE);
                let mut signals = Signals { number: 12, next: 13, acked: 0, echo: true };
                congestion.received_marks(&signals, true);
                assert_eq!(congestion.window(), ONE);
                signals.acked = 1;
                congestion.received_marks(&signals, is_recovering);
                assert_eq!(congestion.window(), left, "{control:?}");
            }
        }
    }

    /// RFC 6582 3.2 step 3: min(ssthresh, max(FlightSize, SMSS) + SMSS).
    #[test]
    fn a_window_does_not_open_all_at_once_after_a_recovery() {
        let left = [0, 1, 3, 20].map(|flight| {
            let mut congestion = Congestion::new(&Config { initial_window: 16, ..config() });
            congestion.lost(16);
            congestion.recovered(flight);
            congestion.window() / ONE
        });
        assert_eq!(left, [2, 2, 4, 8]);
    }

    /// RFC 4015 3, RFC 9438 4.9: window, threshold and curve are restored.
    #[test]
    fn an_undo_reverts_a_reduction_completely() {
        let config = Config { initial_window: 50, control: Control::Cubic, ..config() };
        let grown = |is_undone: bool| {
            let mut congestion = Congestion::new(&config);
            congestion.lost(50);
            let before = (congestion.window(), congestion.threshold());
            if is_undone {
                congestion.timed_out(30, true);
                congestion.undo();
            }
            assert_eq!((congestion.window(), congestion.threshold()), before);
            for second in 0..5 {
                let now = Time::from_ps(second * 1_000_000_000_000);
                congestion.grow(&Acked { now, ..acked() });
            }
            congestion.window()
        };
        assert_eq!(grown(true), grown(false));
    }

    /// RFC 9438 4.2: the epoch begins with a stage of congestion avoidance. Earlier time does not count: slow start
    /// after a pause, or the stage before a halving.
    #[test]
    fn each_stage_of_congestion_avoidance_begins_a_new_epoch() {
        let config = Config { initial_window: 100, control: Control::Cubic, ..config() };
        let at = |second: u64| Acked { now: Time::from_ps(second * 1_000_000_000_000), ..acked() };
        for end in [
            |congestion: &mut Congestion, config: &Config| congestion.restart(config),
            |congestion: &mut Congestion, _: &Config| {
                congestion.told_after_timeout();
            },
        ] {
            let mut congestion = Congestion::new(&config);
            congestion.lost(100);
            congestion.grow(&at(0));
            end(&mut congestion, &Config { initial_window: 35, ..config.clone() });
            while congestion.is_slow_start() {
                congestion.grow(&at(4));
            }
            let begun = congestion.window();
            congestion.grow(&at(4));
            assert!(congestion.window() - begun < ONE / 20, "{begun} {}", congestion.window());
        }
    }
}
