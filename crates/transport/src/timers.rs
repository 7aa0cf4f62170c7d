//! The deadlines of one host: retransmission time-outs, repeated PULLs, the backstop, time-wait.
//!
//! Each stream has one deadline, at most once per value in a heap. The packet path leaves the heap alone: a deadline
//! that has become too early is put off when it comes. So a busy connection costs one heap operation per time-out, not
//! one per packet.
//!
//! Tried: one queue per kind of timer, sorted because its interval is constant. Back-off breaks the order.

use alloc::collections::BinaryHeap;
use core::cmp::Reverse;

use trimline_packet::{Time, TimeDelta};

/// Returns `interval` after `times` doublings.
#[inline]
pub(super) const fn doubled(interval: TimeDelta, times: u8) -> TimeDelta {
    TimeDelta::from_ps(interval.as_ps().saturating_mul(1 << times))
}

/// Shifts a time when the clock is set back: past times become zero, [`Time::NEVER`] stays.
pub(super) fn set_back(time: &mut Time, by: TimeDelta) {
    *time = time.set_back(by);
}

/// Deadlines, earliest first; equal ones by lower slot.
#[derive(Debug)]
pub(super) struct Timers {
    earliest: Time,
    heap: BinaryHeap<Reverse<(Time, u32)>>,
}

impl Timers {
    pub(super) const NONE: Timers = Timers { earliest: Time::NEVER, heap: BinaryHeap::new() };

    /// The earliest deadline, which its stream may have put off.
    #[inline]
    pub(super) fn earliest(&self) -> Time {
        self.earliest
    }

    pub(super) fn arm(&mut self, slot: u32, deadline: Time) {
        self.earliest = self.earliest.min(deadline);
        self.heap.push(Reverse((deadline, slot)));
    }

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

    /// Takes the next due entry. The caller compares it with the stream's deadline: one that was brought forward leaves
    /// its old entry behind.
    pub(super) fn due(&mut self, now: Time) -> Option<(Time, u32)> {
        if self.earliest > now {
            return None;
        }
        let due = self.heap.pop().map(|Reverse(entry)| entry);
        self.earliest = self.heap.peek().map_or(Time::NEVER, |&Reverse((deadline, _))| deadline);
        due
    }
}
