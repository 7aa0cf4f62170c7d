//! Packets that a port does not keep, with their dispositions.

use alloc::vec::Vec;

use trimline_packet::{Handle, Packet};

/// The disposition of a packet that a port does not keep. The switch applies it: the packet leaves by another port or
/// not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Disposition {
    /// Free its storage.
    Dropped,
    /// Bounce a header that found the header queue full (NDP 3.2.4): the switch turns it round
    /// ([`Packet::bounce`](trimline_packet::Packet::bounce)) and routes it like any other packet.
    Returned,
    /// Notify its sender of the drop (FastLane 3.2): the packet becomes its own notification
    /// ([`Packet::notify`](trimline_packet::Packet::notify)), and leaves by its input port.
    Notify,
}

/// The dropped packets list of calls of a port, in order. The driver owns it, passes it to every call and drains it: no
/// allocation in steady state.
#[derive(Clone, Debug, Default)]
pub struct DropList {
    list: Vec<(Handle, Disposition)>,
    /// Packets that go on, and need a notification of congestion.
    quenched: Vec<(Handle, Packet)>,
    /// Number of trimmed packets, also of kept ones, which are not in the list.
    pub trimmed: u32,
    /// Trimmed bytes.
    pub cut_bytes: u64,
}

impl DropList {
    /// An empty list.
    pub const fn new() -> DropList {
        DropList { list: Vec::new(), quenched: Vec::new(), trimmed: 0, cut_bytes: 0 }
    }

    /// True if the list of dropped packets is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// True if there are dropped packets, trimmed packets or notifications to send.
    #[inline]
    pub fn is_changed(&self) -> bool {
        self.list.len() | self.quenched.len() | self.trimmed as usize != 0
    }

    /// The dropped packets, oldest first.
    #[inline]
    pub fn list(&self) -> &[(Handle, Disposition)] {
        &self.list
    }

    /// Takes out the dropped packets, oldest first. The counters stay.
    #[inline]
    pub fn drain(&mut self) -> impl Iterator<Item = (Handle, Disposition)> + '_ {
        self.list.drain(..)
    }

    /// Takes out the newest dropped packet, for drivers that may drop more.
    #[inline]
    pub fn pop(&mut self) -> Option<(Handle, Disposition)> {
        self.list.pop()
    }

    /// Adds a packet that goes on, and needs a notification of congestion (Source Quench) or of trimming.
    #[inline]
    pub fn quench(&mut self, packet: Handle, header: Packet) {
        self.quenched.push((packet, header));
    }

    /// Takes out the packets that went on and need notifications, as they were, oldest first. A handle is valid while
    /// its packet stays in place.
    #[inline]
    pub fn drain_quenched(&mut self) -> impl Iterator<Item = (Handle, Packet)> + '_ {
        self.quenched.drain(..)
    }

    /// Appends a packet. Wrappers may do so too, such as a queue discipline that drops at dequeue.
    #[inline]
    pub fn push(&mut self, packet: Handle, disposition: Disposition) {
        self.list.push((packet, disposition));
    }
}
