//! Packets that lost their place, and what becomes of them.

use alloc::vec::Vec;

use trimline_packet::{Handle, Packet};

/// What the switch does with a packet that lost its place. The port never does it itself: the
/// packet leaves by another port, or by none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Disposition {
    /// Free its storage.
    Dropped,
    /// A trimmed header that found the header queue full (NDP 3.2.4): the switch turns it round
    /// ([`Packet::turn_round`](trimline_packet::Packet::turn_round)) and routes it like any other
    /// packet.
    Returned,
    /// Tell its sender that it was dropped (FastLane 3.2): the switch makes it its own notification
    /// ([`Packet::notify`](trimline_packet::Packet::notify)), which leaves by the packet's input port.
    Notify,
}

/// What one or more calls of a port displaced, in the order in which it happened. The driver owns
/// one, hands it to every call and drains it: no allocation in steady state.
#[derive(Clone, Debug, Default)]
pub struct DropList {
    list: Vec<(Handle, Disposition)>,
    /// Packets that go on, and whose senders are to be told that they met congestion.
    quenched: Vec<(Handle, Packet)>,
    /// Packets whose payload was cut. Cut packets that kept a place are not in the list.
    pub trimmed: u32,
    /// Bytes that were cut from them.
    pub cut_bytes: u64,
}

impl DropList {
    /// Nothing displaced.
    pub const fn new() -> DropList {
        DropList { list: Vec::new(), quenched: Vec::new(), trimmed: 0, cut_bytes: 0 }
    }

    /// Whether no packet waits to be acted on.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Whether a packet waits to be acted on, was trimmed, or its sender is to be told.
    #[inline]
    pub fn is_changed(&self) -> bool {
        self.list.len() | self.quenched.len() | self.trimmed as usize != 0
    }

    /// The displaced packets, oldest first.
    #[inline]
    pub fn list(&self) -> &[(Handle, Disposition)] {
        &self.list
    }

    /// Takes the displaced packets out, oldest first. The counters stay.
    #[inline]
    pub fn drain(&mut self) -> impl Iterator<Item = (Handle, Disposition)> + '_ {
        self.list.drain(..)
    }

    /// Takes the newest displaced packet out: for drivers whose reaction may displace more.
    #[inline]
    pub fn pop(&mut self) -> Option<(Handle, Disposition)> {
        self.list.pop()
    }

    /// A packet goes on, and its sender is to be told that it met congestion (Source Quench), or that it was trimmed.
    #[inline]
    pub fn quench(&mut self, packet: Handle, header: Packet) {
        self.quenched.push((packet, header));
    }

    /// Takes out the packets that went on and whose senders are to be told, oldest first, as they then were. The handle is
    /// good as long as the packet is where it was.
    #[inline]
    pub fn drain_quenched(&mut self) -> impl Iterator<Item = (Handle, Packet)> + '_ {
        self.quenched.drain(..)
    }

    /// Appends a packet. Ports do; so may whatever wraps a port, such as a queue discipline that
    /// drops at dequeue.
    #[inline]
    pub fn push(&mut self, packet: Handle, disposition: Disposition) {
        self.list.push((packet, disposition));
    }
}
