//! Time-outs in a row of a stream that resends in order.
//!
//! Each doubles the next one. After many, each has a random addition: without it two senders whose packets collide in a
//! small queue would collide after every time-out, and one could lose its first packet each time. The sender is then
//! careful until all that it had sent has arrived: one packet, and one more per acknowledged packet. A burst reordered
//! into a small queue leaves few packets, rarely the missing one.

use trimline_packet::{HostId, TimeDelta, mix};

use crate::Key;
use crate::timers::doubled;

/// Max doublings of the time-out (chosen).
const MAX_DOUBLINGS: u8 = 6;
/// Consecutive time-outs from which on each has a random addition of up to a quarter, and the sender is careful
/// (chosen).
const MANY_TIMEOUTS: u8 = 3;
const UNLIMITED: u32 = u32::MAX;

/// The time-outs of a send stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeouts {
    /// Time-outs since the last ACK of new data.
    in_a_row: u8,
    /// Max outstanding packets while careful.
    max: u32,
    /// The sender is careful until packets before this are acknowledged.
    careful_until: u32,
}

impl Timeouts {
    pub(crate) const NONE: Timeouts = Timeouts { in_a_row: 0, max: UNLIMITED, careful_until: 0 };

    /// Returns whether a further packet may be outstanding.
    #[inline]
    pub(crate) fn allows(&self, outstanding: u32) -> bool {
        outstanding < self.max
    }

    /// The present time-out.
    #[inline]
    pub(crate) fn length(&self, rto: TimeDelta) -> TimeDelta {
        doubled(rto, self.in_a_row)
    }

    /// Returns a random addition to a repeated time-out; `timeouts` is the count of all.
    pub(crate) fn spread(
        &self,
        rto: TimeDelta,
        host: HostId,
        key: &Key,
        timeouts: u64,
    ) -> TimeDelta {
        if self.in_a_row < MANY_TIMEOUTS {
            return TimeDelta::ZERO;
        }
        let ends = u64::from(host.get()) << 32 | u64::from(key.peer.get());
        let connection = u64::from(key.connection.get());
        let seed = ends ^ connection.rotate_left(16) ^ timeouts.rotate_left(48);
        let drawn = mix(seed) >> 48;
        TimeDelta::from_ps((self.length(rto).as_ps() >> 18).saturating_mul(drawn))
    }

    /// Handles a time-out; `highest` is one past the highest packet ever sent.
    pub(crate) fn expired(&mut self, highest: u32) {
        self.in_a_row = (self.in_a_row + 1).min(MAX_DOUBLINGS);
        if self.in_a_row >= MANY_TIMEOUTS || self.max != UNLIMITED {
            (self.max, self.careful_until) = (1, highest);
        }
    }

    /// Handles an ACK of `packets` new packets, all before `unacknowledged`.
    #[inline]
    pub(crate) fn answered(&mut self, packets: u32, unacknowledged: u32) {
        if self.max != UNLIMITED {
            self.widen(packets, unacknowledged);
        }
        self.in_a_row = 0;
    }

    #[cold]
    fn widen(&mut self, packets: u32, unacknowledged: u32) {
        let rest = self.careful_until.wrapping_sub(unacknowledged);
        let is_over = rest.wrapping_sub(1) >= 1 << 31;
        self.max = if is_over { UNLIMITED } else { self.max.saturating_add(packets) };
    }
}
