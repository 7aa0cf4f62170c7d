//! A queue: a list through the packets' own links, 16 bytes at any depth.

use crate::{Handle, Packets};

/// A FIFO list of waiting packets. Its counters include the packet on the wire, which is no longer in the list.
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    /// The first packet of the list.
    pub head: Handle,
    /// The last packet of the list, if it is not empty.
    pub tail: Handle,
    /// Packets, the one on the wire included.
    pub packets: u32,
    /// Bytes of memory, with the packet on the wire, rounded up to cells.
    pub bytes: u32,
}

impl Queue {
    /// A queue that holds no packet.
    pub const EMPTY: Queue = Queue { head: Handle::NONE, tail: Handle::NONE, packets: 0, bytes: 0 };

    /// Appends a packet. The caller checks the limits.
    #[inline]
    pub fn push<P: Packets>(&mut self, packets: &mut P, packet: Handle, bytes: u32) {
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
    pub fn pop<P: Packets>(&mut self, packets: &P) -> Handle {
        debug_assert!(!self.head.is_none(), "an empty queue was scheduled");
        let packet = self.head;
        self.head = packets.next(packet);
        packet
    }

    /// Takes `packets` and `bytes` out of the counters.
    #[inline]
    pub fn release(&mut self, packets: u32, bytes: u32) {
        self.packets -= packets;
        self.bytes -= bytes;
    }

    /// Splits the list after `last` (before the head if [`Handle::NONE`]), and returns the rest. The counters do not
    /// change.
    pub fn split_after<P: Packets>(&mut self, packets: &mut P, last: Handle) -> Handle {
        if last.is_none() {
            return core::mem::replace(&mut self.head, Handle::NONE);
        }
        let rest = packets.next(last);
        packets.set_next(last, Handle::NONE);
        self.tail = last;
        rest
    }
}
