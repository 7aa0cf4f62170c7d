//! Storage for the packets of a run: one array of 32-byte slots and a free list.
//!
//! A slot has a link to the next packet of a queue. A packet is in at most one queue, so no queue needs memory of its
//! own and none can overflow. Packets on links are in separate lists.

use trimline_packet::{Handle, Hop, Packet, Packets, Telemetry};
use trimline_switch::detour::Steps;

use crate::table::Table;

/// A packet and its link: half a cache line, never across one.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
struct Stored {
    packet: Packet,
    next: Handle,
}

/// Packet storage with a last-in-first-out free list: a slot just freed is still in the cache.
pub(crate) struct Arena {
    slots: Table<Stored>,
    free: Vec<Handle>,
    /// By handle: the steps of packets, in a run that needs them.
    steps: Vec<Steps>,
    /// By handle: the telemetry of packets, in a run that carries it.
    telemetry: Option<Vec<Option<Telemetry>>>,
}

impl Arena {
    pub(crate) const fn new() -> Arena {
        Arena { slots: Table::new(), free: Vec::new(), steps: Vec::new(), telemetry: None }
    }

    /// Returns empty storage for the telemetry of packets too.
    pub(crate) fn with_telemetry() -> Arena {
        Arena { telemetry: Some(Vec::new()), ..Arena::new() }
    }

    /// Returns empty storage of the same kind.
    pub(crate) fn another(&self) -> Arena {
        if self.telemetry.is_some() { Arena::with_telemetry() } else { Arena::new() }
    }

    #[inline]
    pub(crate) fn insert(&mut self, packet: Packet) -> Handle {
        match self.free.pop() {
            Some(handle) => {
                self.slots[handle.index()] = Stored { packet, next: Handle::NONE };
                handle
            }
            None => self.grow(packet),
        }
    }

    #[cold]
    fn grow(&mut self, packet: Packet) -> Handle {
        let handle = Handle::new(u32::try_from(self.slots.len()).expect("fewer than 2^32 packets"));
        assert!(handle.index() < u32::MAX as usize - 1, "the packet arena is full");
        self.slots.push(Stored { packet, next: Handle::NONE });
        handle
    }

    #[inline]
    pub(crate) fn release(&mut self, handle: Handle) {
        self.free.push(handle);
    }

    /// Steps of a packet; none, if they were not recorded.
    #[inline]
    pub(crate) fn steps(&self, handle: Handle) -> Steps {
        self.steps.get(handle.index()).copied().unwrap_or_default()
    }

    #[inline]
    pub(crate) fn set_steps(&mut self, handle: Handle, steps: Steps) {
        if self.steps.len() <= handle.index() {
            self.steps.resize(self.slots.len(), Steps::default());
        }
        self.steps[handle.index()] = steps;
    }

    #[inline]
    pub(crate) fn carries_telemetry(&self) -> bool {
        self.telemetry.is_some()
    }

    /// Telemetry of a packet, if it has any.
    #[inline]
    pub(crate) fn telemetry(&self, handle: Handle) -> Option<Telemetry> {
        self.telemetry.as_ref()?.get(handle.index()).copied().flatten()
    }

    /// Sets the telemetry of a packet, in a run that carries it.
    pub(crate) fn set_telemetry(&mut self, handle: Handle, telemetry: Option<Telemetry>) {
        let Some(table) = &mut self.telemetry else { return };
        if table.len() <= handle.index() {
            table.resize(self.slots.len(), None);
        }
        table[handle.index()] = telemetry;
    }

    /// Adds a hop to the telemetry of a packet on its way, if it has any.
    pub(crate) fn push_hop(&mut self, handle: Handle, hop: Hop) {
        let table = self.telemetry.as_mut();
        if let Some(Some(telemetry)) = table.and_then(|table| table.get_mut(handle.index())) {
            telemetry.push(hop);
        }
    }

    /// Calls `visit` for every stored packet, in queues and on links.
    pub(crate) fn for_each_live(&self, mut visit: impl FnMut(&Packet)) {
        let mut is_free = vec![false; self.slots.len()];
        for handle in &self.free {
            assert!(!is_free[handle.index()], "a packet was released twice");
            is_free[handle.index()] = true;
        }
        for (slot, is_free) in self.slots.iter().zip(is_free) {
            if !is_free {
                visit(&slot.packet);
            }
        }
    }

    /// Prefetches a packet's cache lines. Any handle will do.
    #[inline(always)]
    pub(crate) fn prefetch(&self, handle: Handle) {
        self.slots.prefetch(handle.index());
    }
}

impl Packets for Arena {
    #[inline]
    fn packet(&self, handle: Handle) -> &Packet {
        &self.slots[handle.index()].packet
    }
    #[inline]
    fn packet_mut(&mut self, handle: Handle) -> &mut Packet {
        &mut self.slots[handle.index()].packet
    }
    #[inline]
    fn next(&self, handle: Handle) -> Handle {
        self.slots[handle.index()].next
    }
    #[inline]
    fn set_next(&mut self, handle: Handle, next: Handle) {
        self.slots[handle.index()].next = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_half_a_cache_line() {
        assert_eq!(size_of::<Stored>(), 32);
    }
}
