//! The interface of congestion control laws, and shared arithmetic.

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
    pub(in crate::tcp) now: Time,
    /// Newly acknowledged segments.
    pub(in crate::tcp) acked: u32,
    /// Smoothed round trip, once there is a sample.
    pub(in crate::tcp) round_trip: Option<TimeDelta>,
    /// Shared increase, with several subflows.
    pub(in crate::tcp) linked: Option<Linked>,
}

/// An ACK of a connection that understands ECN.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp) struct Signals {
    /// The next missing segment.
    pub(in crate::tcp) number: u32,
    /// The next new segment.
    pub(in crate::tcp) next: u32,
    /// Newly acknowledged segments.
    pub(in crate::tcp) acked: u32,
    /// True if it echoes a mark.
    pub(in crate::tcp) echo: bool,
}

/// The growth of a window in congestion avoidance, and its reductions. Windows are Q32.32.
///
/// `used` is the min of the window and the segments in flight (RFC 5681 (4)).
pub(super) trait Law {
    /// Returns the window after an ACK in congestion avoidance, while the window limited the sender.
    fn grow(&mut self, window: u64, ack: &Acked) -> u64;

    /// Reads every ACK with ECN, before the window answers a mark.
    fn receive(&mut self, _signals: &Signals) {}

    /// Returns the window after an echoed mark.
    fn reduce_for_mark(&mut self, window: u64) -> u64;

    /// Returns the window at the start of fast recovery.
    fn reduce_for_loss(&mut self, used: u64) -> u64;

    /// Returns the slow start threshold after a time-out.
    fn reduce_for_timeout(&mut self, used: u64) -> u64;

    /// Excludes the time until `now`, in which the window did not limit the sender.
    fn skip_time(&mut self, _now: Time) {}

    /// Ends a stage of congestion avoidance without a loss or mark. The next growth begins another.
    fn end_stage(&mut self) {}

    /// Undoes the last reduction for a loss or time-out.
    fn undo(&mut self) {}
}

/// Returns the window after an ACK: one segment more per round trip, and at most that per ACK.
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

/// RFC 5681 (4): halves the window.
pub(super) const fn half(window: u64) -> u64 {
    window / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6356 3: the min of the linked increase and a flow's own. RFC 5681 3.1: at most one segment.
    #[test]
    fn a_coupled_increase_is_at_most_that_of_one_flow() {
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
