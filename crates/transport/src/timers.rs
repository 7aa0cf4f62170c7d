//! The deadlines of one host: retransmission time-outs, repeated PULLs, the backstop, time-wait.
//!
//! Each half has one deadline. It lies in a heap at most once per value, and the packet path leaves
//! it alone: a deadline that has become too early is looked at when it comes and put off then. So a
//! busy connection costs one heap operation per time-out interval, not one per packet.
//!
//! Tried: one queue per kind of timer, sorted by nature since the interval is constant. Back-off
//! breaks the order.

use alloc::collections::BinaryHeap;
use core::cmp::Reverse;

use trimline_packet::{Time, TimeDelta};

/// An interval that backed off `times` times.
#[inline]
pub(super) const fn doubled(interval: TimeDelta, times: u8) -> TimeDelta {
    TimeDelta::from_ps(interval.as_ps().saturating_mul(1 << times))
}

/// A time after the clock was set back: what is past is at zero, and what never comes still does not.
pub(super) fn set_back(time: &mut Time, by: TimeDelta) {
    *time = time.set_back(by);
}

/// Deadlines, earliest first; among equal ones the lower slot first.
#[derive(Debug)]
pub(super) struct Timers {
    /// That of the heap's first entry.
    earliest: Time,
    heap: BinaryHeap<Reverse<(Time, u32)>>,
}

impl Timers {
    /// No deadline.
    pub(super) const NONE: Timers = Timers { earliest: Time::NEVER, heap: BinaryHeap::new() };

    /// The earliest deadline, perhaps of a half that has put it off.
    #[inline]
    pub(super) fn earliest(&self) -> Time {
        self.earliest
    }

    /// Calls for `slot` at `deadline`.
    pub(super) fn arm(&mut self, slot: u32, deadline: Time) {
        self.earliest = self.earliest.min(deadline);
        self.heap.push(Reverse((deadline, slot)));
    }

    /// The clock was set back.
    pub(super) fn set_back(&mut self, by: TimeDelta) {
        set_back(&mut self.earliest, by);
        let old = core::mem::take(&mut self.heap).into_iter();
        self.heap = old
            .map(|Reverse((mut deadline, slot))| {
                set_back(&mut deadline, by);
                Reverse((deadline, slot))
            })
            .collect();
    }

    /// The next half whose deadline has come. The caller compares it with the deadline that the half
    /// has now: an entry that was brought forward leaves its old one behind.
    pub(super) fn due(&mut self, now: Time) -> Option<(Time, u32)> {
        if self.earliest > now {
            return None;
        }
        let due = self.heap.pop().map(|Reverse(entry)| entry);
        self.earliest = self.heap.peek().map_or(Time::NEVER, |&Reverse((deadline, _))| deadline);
        due
    }
}
