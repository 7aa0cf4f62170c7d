//! A queue: a list through the packets' own links, 16 bytes at any depth.

use trimline_packet::{Handle, Packets};

use crate::model::Limit;

/// A FIFO list of waiting packets. Its counters include the packet on the wire, which is no longer in the list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queue {
    pub(crate) head: Handle,
    pub(crate) tail: Handle,
    /// Packets, the one on the wire included.
    pub(crate) packets: u32,
    /// Bytes of memory, with the packet on the wire, rounded up to cells.
    pub(crate) bytes: u32,
}

impl Queue {
    pub(crate) const EMPTY: Queue =
        Queue { head: Handle::NONE, tail: Handle::NONE, packets: 0, bytes: 0 };

    /// Appends a packet. The caller checks the limits.
    #[inline]
    pub(crate) fn push<P: Packets>(&mut self, packets: &mut P, packet: Handle, bytes: u32) {
        // No branch: at a busy port emptiness is unpredictable. The link of a first packet is written twice.
        let is_empty = self.head.is_none();
        let last = if is_empty { packet } else { self.tail };
        self.head = if is_empty { packet } else { self.head };
        packets.set_next(last, packet);
        packets.set_next(packet, Handle::NONE);
        self.tail = packet;
        self.packets += 1;
        self.bytes += bytes;
    }

    /// Takes the first packet out of the list. It counts until its last bit has left.
    ///
    /// # Panics
    /// Panics in debug builds if the list is empty.
    #[inline]
    pub(crate) fn pop<P: Packets>(&mut self, packets: &P) -> Handle {
        debug_assert!(!self.head.is_none(), "an empty queue was scheduled");
        let packet = self.head;
        self.head = packets.next(packet);
        packet
    }

    #[inline]
    pub(crate) fn release(&mut self, packets: u32, bytes: u32) {
        self.packets -= packets;
        self.bytes -= bytes;
    }

    /// Splits the list after `last` (before the head if [`Handle::NONE`]), and returns the rest. The counters do not
    /// change.
    pub(crate) fn split_after<P: Packets>(&mut self, packets: &mut P, last: Handle) -> Handle {
        if last.is_none() {
            return core::mem::replace(&mut self.head, Handle::NONE);
        }
        let rest = packets.next(last);
        packets.set_next(last, Handle::NONE);
        self.tail = last;
        rest
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Held {
    pub(crate) packets: u32,
    pub(crate) bytes: u32,
}

impl Held {
    /// True if a packet of `bytes` fits behind it.
    pub(crate) fn fits(self, bytes: u32, limit: Limit) -> bool {
        self.packets < limit.packets
            && u64::from(self.bytes) + u64::from(bytes) <= u64::from(limit.bytes)
    }
}
