//! The Flow Association Table (HULL 4.2, 5.1): the flows that are paced.

use alloc::vec::Vec;

use trimline_packet::{Time, TimeDelta};

use super::flow_id::FlowId;

/// One associated flow.
#[derive(Clone, Copy, Debug)]
struct Entry {
    flow: FlowId,
    /// Time of the last congestion echo to the sender.
    echoed: Time,
    /// Number of its last packet in the limiter's queue, counted from 1.
    last: u64,
}

impl Entry {
    /// Returns whether the association has ended: no echo for `lifetime`, and no packet of the flow waits. A later
    /// packet would overtake one that waits.
    #[inline]
    fn has_ended(&self, now: Time, left: u64, lifetime: TimeDelta) -> bool {
        now.saturating_since(self.echoed) >= lifetime && self.last <= left
    }
}

/// A small table that is searched linearly: 64 entries of 32 bytes.
#[derive(Clone, Debug)]
pub(super) struct Associations {
    entries: Vec<Entry>,
    max: usize,
}

impl Associations {
    pub(super) fn new(max: u16) -> Associations {
        let max = usize::from(max);
        Associations { entries: Vec::with_capacity(max), max }
    }

    /// Returns the index of a flow, if it is associated; removes an association that has ended. `left`: packets that
    /// have left the queue of the flow's limiter.
    #[inline]
    fn place(&mut self, flow: FlowId, now: Time, left: u64, lifetime: TimeDelta) -> Option<usize> {
        let place = self.entries.iter().position(|entry| entry.flow == flow)?;
        if self.entries[place].has_ended(now, left, lifetime) {
            self.entries.swap_remove(place);
            return None;
        }
        Some(place)
    }

    /// Returns the `last` of an associated flow, for the caller to write when it queues a packet of the flow.
    #[inline]
    pub(super) fn last_of(
        &mut self,
        flow: FlowId,
        now: Time,
        left: u64,
        lifetime: TimeDelta,
    ) -> Option<&mut u64> {
        let place = self.place(flow, now, left, lifetime)?;
        Some(&mut self.entries[place].last)
    }

    /// Records a congestion echo. Returns whether the flow is associated; if so, its lifetime starts anew.
    #[inline]
    pub(super) fn refresh(
        &mut self,
        flow: FlowId,
        now: Time,
        left: u64,
        lifetime: TimeDelta,
    ) -> bool {
        match self.place(flow, now, left, lifetime) {
            Some(place) => {
                self.entries[place].echoed = now;
                true
            }
            None => false,
        }
    }

    /// Associates a new flow. Returns false if the table is full; ended associations are removed first. `left` gives
    /// the packets that have left a flow's limiter.
    pub(super) fn insert(
        &mut self,
        flow: FlowId,
        now: Time,
        lifetime: TimeDelta,
        left: impl Fn(FlowId) -> u64,
    ) -> bool {
        if self.entries.len() == self.max {
            self.entries.retain(|entry| !entry.has_ended(now, left(entry.flow), lifetime));
        }
        if self.entries.len() == self.max {
            return false;
        }
        // No packet of the flow waits: until now its packets passed.
        self.entries.push(Entry { flow, echoed: now, last: 0 });
        true
    }

    /// Returns the number of flows that are associated at `now`.
    pub(super) fn count(
        &self,
        now: Time,
        lifetime: TimeDelta,
        left: impl Fn(FlowId) -> u64,
    ) -> usize {
        let is_left = |entry: &&Entry| !entry.has_ended(now, left(entry.flow), lifetime);
        self.entries.iter().filter(is_left).count()
    }
}
