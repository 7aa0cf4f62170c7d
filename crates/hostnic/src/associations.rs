//! The Flow Association Table (HULL 4.2, 5.1): the flows that are paced.

use alloc::vec::Vec;

use trimline_packet::{Time, TimeDelta};

use super::flow_id::FlowId;

#[derive(Clone, Copy, Debug)]
struct Entry {
    flow: FlowId,
    /// Time of the last congestion echo.
    echoed: Time,
    /// Number of its last packet in the limiter's queue, from 1.
    last: u64,
}

impl Entry {
    /// True if no echo came for `lifetime` and no packet of the flow waits: a later packet would overtake it.
    #[inline]
    fn has_ended(&self, now: Time, left: u64, lifetime: TimeDelta) -> bool {
        now.saturating_since(self.echoed) >= lifetime && self.last <= left
    }
}

/// A small table, searched linearly: 64 entries of 32 bytes.
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

    /// Index of an associated flow; removes an ended association. `left`: packets that have left the flow's limiter.
    #[inline]
    fn place(&mut self, flow: FlowId, now: Time, left: u64, lifetime: TimeDelta) -> Option<usize> {
        let place = self.entries.iter().position(|entry| entry.flow == flow)?;
        if self.entries[place].has_ended(now, left, lifetime) {
            self.entries.swap_remove(place);
            return None;
        }
        Some(place)
    }

    /// The `last` of an associated flow, to set when a packet of it is queued.
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

    /// Records a congestion echo. True if the flow is associated; its lifetime then starts anew.
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

    /// Associates a new flow, after removing ended associations. False if the table is full. `left`: packets that have
    /// left a flow's limiter.
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

    /// Sets the clock back: `now` falls once by `by`. An association from before the new zero lives on from there.
    pub(super) fn set_back(&mut self, by: TimeDelta) {
        self.entries.iter_mut().for_each(|entry| entry.echoed = entry.echoed.set_back(by));
    }

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
