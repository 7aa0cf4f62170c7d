//! Which flows are paced: the Flow Association Table (HULL 4.2, 5.1).

use alloc::vec::Vec;

use trimline_packet::{Time, TimeDelta};

use super::flow_id::FlowId;

/// One associated flow.
#[derive(Clone, Copy, Debug)]
struct Entry {
    flow: FlowId,
    /// When its sender last heard of congestion.
    echoed: Time,
    /// The number of its last packet in the limiter's queue, counted from 1.
    last: u64,
}

impl Entry {
    /// Whether the flow is one as before: it has heard nothing for long enough, and none of its packets waits. While
    /// one does, the next would overtake it.
    #[inline]
    fn has_ended(&self, now: Time, left: u64, lifetime: TimeDelta) -> bool {
        now.saturating_since(self.echoed) >= lifetime && self.last <= left
    }
}

/// A table of few flows, looked through from its beginning: 64 entries of 32 bytes.
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

    /// The place of a flow, if it is associated. `left` packets have left its limiter's queue. An association that has
    /// ended is removed.
    #[inline]
    fn place(&mut self, flow: FlowId, now: Time, left: u64, lifetime: TimeDelta) -> Option<usize> {
        let place = self.entries.iter().position(|entry| entry.flow == flow)?;
        if self.entries[place].has_ended(now, left, lifetime) {
            self.entries.swap_remove(place);
            return None;
        }
        Some(place)
    }

    /// Whether a flow is associated. `last` is told then, to be written when a packet of it is queued.
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

    /// The sender of a flow heard of congestion. Gives whether the flow is associated, as from now on for another
    /// lifetime.
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

    /// Associates a flow that is not. Gives whether there was a place for it; those whose association has ended make
    /// theirs free. `left` is what has left a flow's limiter.
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
        // Nothing of it waits: until now its packets passed.
        self.entries.push(Entry { flow, echoed: now, last: 0 });
        true
    }

    /// How many flows are associated at a time.
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
