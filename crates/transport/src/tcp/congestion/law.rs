//! What a law of congestion control hears and answers, and the arithmetic that several of them share.

use trimline_packet::{Time, TimeDelta};

/// One segment.
pub(super) const ONE: u64 = 1 << 32;

/// The increase that subflows share: alpha over the total window, both Q32.32 in the quotient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tcp) struct Linked {
    /// alpha / total window, Q32.32 of 1 / segments.
    pub(in crate::tcp) share: u64,
}

/// An ACK of new data, by which the window may grow.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp) struct Acked {
    /// When it arrived.
    pub(in crate::tcp) now: Time,
    /// Segments that it acknowledged for the first time.
    pub(in crate::tcp) acked: u32,
    /// The smoothed round trip, once there is a sample.
    pub(in crate::tcp) round_trip: Option<TimeDelta>,
    /// What the subflows of the connection share, where there are several.
    pub(in crate::tcp) linked: Option<Linked>,
}

/// An ACK of a connection that understands ECN.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp) struct Signals {
    /// The next segment that is missing.
    pub(in crate::tcp) number: u32,
    /// The next segment to be sent.
    pub(in crate::tcp) next: u32,
    /// Segments that it acknowledged for the first time.
    pub(in crate::tcp) acked: u32,
    /// It echoes a mark.
    pub(in crate::tcp) echo: bool,
}

/// How a window grows in congestion avoidance, and what reduces it to how much. Windows are Q32.32.
///
/// What is `used` is the window, or what was in flight where that is less (RFC 5681 (4)).
pub(super) trait Law {
    /// The window after an ACK in congestion avoidance, while the window was what limited the sender.
    fn grow(&mut self, window: u64, ack: &Acked) -> u64;

    /// Reads every ACK of a connection that understands ECN, before the window answers a mark.
    fn receive(&mut self, _signals: &Signals) {}

    /// The window after a mark was echoed.
    fn reduce_for_mark(&mut self, window: u64) -> u64;

    /// The window after fast recovery began.
    fn reduce_for_loss(&mut self, used: u64) -> u64;

    /// The slow start threshold after a time-out.
    fn reduce_for_timeout(&mut self, used: u64) -> u64;

    /// Until `now` something else than the window limited the sender: it does not count as time of growth.
    fn skip_time(&mut self, _now: Time) {}

    /// The present stage of congestion avoidance ended without a loss or a mark. The next growth begins another one.
    fn end_stage(&mut self) {}

    /// The last reduction for a loss or a time-out was for nothing.
    fn undo(&mut self) {}
}

/// The window after an ACK: one segment more each round trip, an ACK at a time; never more than that for one ACK.
#[inline]
pub(super) fn additive(window: u64, ack: &Acked) -> u64 {
    let acked = u64::from(ack.acked);
    let own = (u64::MAX / window).saturating_mul(acked);
    let step = match ack.linked {
        // RFC 6356 3: the lesser of alpha over the total window and one over the own.
        Some(linked) => own.min(linked.share.saturating_mul(acked)),
        None => own,
    };
    window + step.min(ONE)
}

/// RFC 5681 (4): what halving leaves.
pub(super) const fn half(window: u64) -> u64 {
    window / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6356 3: the lesser of the linked increase and a flow's own. RFC 5681 3.1: a segment at most.
    #[test]
    fn an_increase_is_that_of_a_flow_at_most() {
        let grown = |acked, share: Option<u64>| {
            let linked = share.map(|share| Linked { share });
            let window =
                additive(10 * ONE, &Acked { now: Time::ZERO, acked, round_trip: None, linked });
            (window - 10 * ONE) * 1000 / ONE
        };
        assert_eq!([grown(1, None), grown(3, None), grown(20, None)], [99, 299, 1000]);
        assert_eq!([grown(1, Some(ONE / 32)), grown(2, Some(ONE / 32))], [31, 62]);
        assert_eq!(grown(1, Some(ONE / 4)), 99);
    }
}
