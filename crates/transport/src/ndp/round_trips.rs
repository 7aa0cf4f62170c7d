//! A time-out and a window that adapt to the path to each peer, for hosts with distant peers
//! ([`Config::follows_path`](super::Config::follows_path)). The paper's hosts are in one datacenter and have neither.
//!
//! # Time-out (RFC 6298)
//! All connections to a peer share one estimate (RFC 9040). Every answer measures a round trip, a NACK as well as an
//! ACK, so [`Config::rto`](super::Config::rto) holds only until the first answer. An answer names its transmission, so
//! retransmissions are measured too; Karn's rule excludes only ambiguous ones. The time-out of a packet doubles with
//! each one in a row. An answer to an earlier transmission shows that the path is longer than that: then all packets to
//! the peer wait longer, until an answer measures again.
//!
//! # Window
//! A receiver pulls one packet for each that reached it, so the first window stays the window. It does not fill a path
//! with long round trips. There each ACK adds a packet, as long as
//! * the receiver's link has room: the pull rode in the ACK instead of waiting for its turn;
//! * the packets allowed so far were sent: the sender's link has room, and its application gives enough;
//! * round trips show no queue that the sender builds (RFC 9406), and no packets are missing.
//!
//! Otherwise, if a queue shows or packets are missing, the window grows by one packet a round trip. It gives up each
//! packet trimmed or lost, and grows as slowly beyond three quarters of its size at that time. It never falls below the
//! first window. Of two connections on one link the larger window loses more, so both become equal. After one idle
//! time-out a connection begins anew.

use trimline_packet::TimeDelta;

use super::config::FollowsPath;
use crate::timers::doubled;

/// Max of a time-out that backed off (chosen: three of them before a host gives up a silent peer; RFC 6298: 60 s).
const MAX_RTO: TimeDelta = TimeDelta::from_ms(8000);

/// First answers of a round, which show whether round trips have grown (RFC 9406: N_RTT_SAMPLE).
const SAMPLES: u8 = 8;

/// Max packets of a round that the next one's first overtakes. More are losses, which time-outs report several round
/// trips later (chosen: one for each path).
const OVERTAKEN: u32 = 16;

/// Growth of a round trip that shows a queue: an eighth, within these bounds (RFC 9406: MIN_RTT_THRESH,
/// MAX_RTT_THRESH).
const GROWTH: [TimeDelta; 2] = [TimeDelta::from_ms(4), TimeDelta::from_ms(16)];

/// Doublings after which the old estimate is void (RFC 6298, 5.7).
const ANOTHER_PATH: u8 = 2;

#[derive(Clone, Copy, Debug)]
pub(super) struct Rto {
    interval: TimeDelta,
    backoff: u8,
    max: TimeDelta,
}

impl Rto {
    /// A time-out that does not adapt.
    pub(super) const fn fixed(interval: TimeDelta) -> Rto {
        Rto { interval, backoff: 0, max: TimeDelta::from_ps(u64::MAX) }
    }

    /// The time-out of a packet after `timeouts` in a row.
    #[inline]
    pub(super) fn after(self, timeouts: u8) -> TimeDelta {
        doubled(self.interval, timeouts.max(self.backoff)).min(self.max)
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct RoundTrips {
    /// SRTT and RTTVAR, once measured.
    estimate: Option<(TimeDelta, TimeDelta)>,
    /// The minimum of all round trips.
    pub(super) min: TimeDelta,
    backoff: u8,
}

impl RoundTrips {
    pub(super) const UNKNOWN: RoundTrips =
        RoundTrips { estimate: None, min: TimeDelta::from_ps(u64::MAX), backoff: 0 };

    /// Takes a measurement (RFC 6298, 2.2 and 2.3). Returns whether it is the first. After two doublings the path is
    /// another.
    pub(super) fn measured(&mut self, sample: TimeDelta) -> bool {
        if self.backoff >= ANOTHER_PATH {
            *self = RoundTrips::UNKNOWN;
        }
        let is_first = self.estimate.is_none();
        let part = |whole: TimeDelta, eighths| TimeDelta::from_ps(whole.as_ps() / 8 * eighths);
        self.estimate = Some(match self.estimate {
            None => (sample, part(sample, 4)),
            Some((smoothed, variation)) => {
                let error = smoothed.as_ps().abs_diff(sample.as_ps());
                (
                    part(smoothed, 7) + part(sample, 1),
                    part(variation, 6) + part(TimeDelta::from_ps(error), 2),
                )
            }
        });
        self.min = self.min.min(sample);
        self.backoff = 0;
        is_first
    }

    /// Records an answer to a packet after this many vain time-outs: later packets wait longer than it did.
    pub(super) fn was_late(&mut self, timeouts: u8, rto: Rto) {
        if rto.after(timeouts) < rto.max {
            self.backoff = self.backoff.max(timeouts + 1);
        }
    }

    /// The time-out: `first` before the first measurement.
    pub(super) fn rto(&self, first: TimeDelta, follows: &FollowsPath) -> Rto {
        let interval = match self.estimate {
            None => first,
            Some((smoothed, variation)) => (smoothed + variation * 4).max(follows.min_rto),
        };
        Rto { interval, backoff: self.backoff, max: MAX_RTO.max(first) }
    }

    /// Min time for which a receiver remembers a connection after what may be its last ACK. The peer may resend after
    /// four doublings of its time-out, which is within a factor of two of this host's. A peer that this host never
    /// sent to may wait for the maximum.
    pub(super) fn memory(&self, first: TimeDelta, follows: &FollowsPath) -> TimeDelta {
        match self.estimate {
            None => MAX_RTO + TimeDelta::from_ps(MAX_RTO.as_ps() / 4),
            Some(_) => self.rto(first, follows).interval * 32,
        }
    }
}

/// The window of a send stream beyond its first one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Growth {
    pub(super) extra: u32,
    /// Pulls to forfeit for packets that were given up.
    pub(super) debt: u32,
    /// The window from which on it grows by one packet a round trip.
    threshold: u32,
    /// ACKs since it grew by one.
    acks: u32,
    /// One past the last packet sent at a loss: earlier losses are no news.
    given_up_end: u32,
    /// One past the last packet of this round.
    round_end: u32,
    /// The minimum round trip of this round, and its number of answers.
    round: (TimeDelta, u8),
    /// True if round trips exceed the path, or packets of the last round are missing.
    is_late: bool,
}

impl Growth {
    pub(super) const NONE: Growth = Growth {
        extra: 0,
        debt: 0,
        threshold: u32::MAX,
        acks: 0,
        given_up_end: 0,
        round_end: 0,
        round: (TimeDelta::from_ps(u64::MAX), 0),
        is_late: false,
    };

    /// Records a round trip. `next` is the next new packet, `min` the minimum to the peer.
    pub(super) fn measured(
        &mut self,
        sequence: u32,
        next: u32,
        in_flight: u32,
        (sample, min): (TimeDelta, TimeDelta),
    ) {
        if sequence.wrapping_sub(self.round_end) as i32 >= 0 {
            self.round = (TimeDelta::from_ps(u64::MAX), 0);
            let overtaken = in_flight.saturating_sub(next.wrapping_sub(sequence));
            (self.round_end, self.is_late) = (next, overtaken > OVERTAKEN);
        }
        let (of_round, count) = &mut self.round;
        *of_round = sample.min(*of_round);
        *count = count.saturating_add(1);
        if *count == SAMPLES {
            let eighth = TimeDelta::from_ps(min.as_ps() / 8);
            self.is_late |= *of_round >= min + eighth.clamp(GROWTH[0], GROWTH[1]);
        }
    }

    /// Records an ACK with room for another packet. Returns whether the window grows by it.
    pub(super) fn grows(&mut self, window: u32) -> bool {
        self.acks += 1;
        let grows = window < self.threshold && !self.is_late || self.acks >= window;
        if grows {
            (self.acks, self.extra) = (0, self.extra + 1);
        }
        grows
    }

    /// Records a trimmed or lost packet. Returns whether the window, unless the first, gives it up.
    pub(super) fn gives_up(&mut self, sequence: u32, window: u32, next: u32) -> bool {
        if self.extra == 0 {
            return false;
        }
        self.extra -= 1;
        if sequence.wrapping_sub(self.given_up_end) as i32 >= 0 {
            (self.given_up_end, self.threshold) = (next, window / 4 * 3);
        }
        true
    }

    /// Begins anew after idleness, when the capacity of the path is unknown.
    pub(super) fn begin_anew(&mut self, window: u32) {
        *self = Growth { threshold: self.threshold.max(window), ..*self };
        (self.extra, self.debt) = (0, 0);
    }
}
