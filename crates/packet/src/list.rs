//! One queue: a list through the packets' own links, 16 bytes whatever its depth.

use crate::{Handle, Packets};

/// A first-in first-out list of waiting packets. Its counters are the queue's occupancy: they
/// include the packet on the wire, which is no longer in the list.
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    /// The first packet of the list.
    pub head: Handle,
    /// The last packet of the list, if it is not empty.
    pub tail: Handle,
    /// Packets, the one on the wire included.
    pub packets: u32,
    /// Bytes of memory, the packet on the wire included, rounded up to cells.
    pub bytes: u32,
}

impl Queue {
    /// A queue that holds no packet.
    pub const EMPTY: Queue = Queue { head: Handle::NONE, tail: Handle::NONE, packets: 0, bytes: 0 };

    /// Appends a packet. The limits are the caller's business.
    #[inline]
    pub fn push<P: Packets>(&mut self, packets: &mut P, packet: Handle, bytes: u32) {
        // Whether the list is empty is a coin toss at a busy port: no branch on it. The link of a
        // first packet is written twice.
        let is_empty = self.head.is_none();
        let last = if is_empty { packet } else { self.tail };
        self.head = if is_empty { packet } else { self.head };
        packets.set_next(last, packet);
        packets.set_next(packet, Handle::NONE);
        self.tail = packet;
        self.packets += 1;
        self.bytes += bytes;
    }

    /// Takes the first packet out of the list. It stays in the counters until its last bit has left.
    ///
    /// # Panics
    /// In debug builds: an empty list.
    #[inline]
    pub fn pop<P: Packets>(&mut self, packets: &P) -> Handle {
        debug_assert!(!self.head.is_none(), "an empty queue was scheduled");
        let packet = self.head;
        self.head = packets.next(packet);
        packet
    }

    /// Takes a packet or what is left of it out of the counters.
    #[inline]
    pub fn release(&mut self, packets: u32, bytes: u32) {
        self.packets -= packets;
        self.bytes -= bytes;
    }

    /// Cuts the list behind `last`, the whole list when that is [`Handle::NONE`], and gives the first
    /// packet of the rest. The counters do not change.
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
