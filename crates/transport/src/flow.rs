//! What an application asks of a transport that carries one stream a connection, from its opener to its peer, and
//! what it hears: the words that such transports share, and the packets of those that need nothing else in a header.
//!
//! A transport may use these as its own commands and events (TCP does), or give its own and say which are meant:
//! `From<Command>` for its commands, `From` of its events for `Option<Event>`. Whoever drives any transport speaks
//! these.

use alloc::vec::Vec;
use core::num::NonZeroU16;

use trimline_packet::{
    ByteCount, ConnectionId, Flags, Header, HostId, Kind, Packet, PathId, Service,
};

use crate::{Key, PathList, Side, Stream};

/// What the application asks of a host.
#[derive(Clone, Debug)]
pub enum Command {
    /// Accept connections.
    Listen,
    /// Open a connection and send on it.
    Open {
        /// The other host.
        peer: HostId,
        /// Number of the connection, not in use by this host.
        connection: ConnectionId,
        /// Priority class, 0 to 3.
        class: u8,
        /// Payload bytes to send; `None` never runs out.
        length: Option<ByteCount>,
        /// Payload of a full packet of this connection, where it is another than that of the host's others. A transport
        /// that cannot do so is never asked.
        payload: Option<NonZeroU16>,
        /// The paths to the peer, at least one. A transport that keeps to a path takes one of them, drawn at random
        /// (as ECMP would hash its ports).
        paths: PathList,
        /// The connection's random stream.
        stream: Stream,
    },
    /// Send more on a connection that was opened here, behind what was handed over before: a further message. The
    /// window, and whatever else the half has learned of its path, is kept; there is no new handshake.
    ///
    /// One message at a time has events of its own: hand the next one over when [`Event::Acknowledged`] came. Messages
    /// that are handed over before are sent at once, but both ends may take them for one, with one event for all.
    ///
    /// Nothing happens where the half is not known (never opened, or forgotten), receives, or never runs out of data,
    /// and where the message has no bytes.
    Send {
        /// The sending half.
        key: Key,
        /// More payload bytes.
        length: ByteCount,
    },
    /// Routing learned of a failure, or of its end: what is sent on a path that is not among these takes another
    /// one. An empty list changes nothing.
    Paths {
        /// The half, of either direction.
        key: Key,
        /// The paths that work.
        paths: PathList,
    },
}

/// What the application is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Everything that the peer sent up to its last packet has arrived: once for each message, if the next one is
    /// handed over when this one was acknowledged.
    Delivered {
        /// The receiving half.
        key: Key,
        /// Its slot.
        slot: u32,
    },
    /// Everything that was handed over so far has been acknowledged: once for each message ([`Command::Send`]).
    Acknowledged {
        /// The sending half.
        key: Key,
        /// Its slot.
        slot: u32,
    },
}

/// What a half has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// DATA packets sent, or arrived whole for the first time.
    pub packets: u64,
    /// Their payload bytes.
    pub bytes: u64,
    /// Of the packets sent, those that were sent again.
    pub resent: u64,
    /// Headers that arrived: trimmed ones at a receiver, returned ones at a sender.
    pub headers: u64,
}

/// A table by slot. Slots are small numbers that come in any order: who was never assigned has a default.
#[derive(Debug, Default)]
pub struct Slots<T>(Vec<T>);

impl<T: Default> Slots<T> {
    /// A table without halves.
    pub const fn new() -> Slots<T> {
        Slots(Vec::new())
    }
    /// What is in a slot; the table grows to it.
    pub fn at(&mut self, slot: u32) -> &mut T {
        let index = slot as usize;
        if self.0.len() <= index {
            self.0.resize_with(index + 1, T::default);
        }
        &mut self.0[index]
    }
    /// What is in a slot that was assigned.
    pub fn find(&self, slot: u32) -> Option<&T> {
        self.0.get(slot as usize)
    }
    /// Where the table lies, for drivers that prefetch.
    pub fn memory(&self) -> Memory {
        Memory::of(&self.0)
    }
}

/// Where a table lies, for drivers that ask for memory before they use it: nothing is read through it.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    start: *const u8,
    bytes: usize,
    each: usize,
}

impl Memory {
    /// No table.
    pub const NONE: Memory = Memory { start: core::ptr::null(), bytes: 0, each: 0 };

    /// The memory of a table.
    #[inline]
    pub const fn of<T>(items: &[T]) -> Memory {
        Memory { start: items.as_ptr().cast(), bytes: size_of_val(items), each: size_of::<T>() }
    }
    /// Where the table begins, and its bytes.
    #[inline]
    pub const fn all(self) -> (*const u8, usize) {
        (self.start, self.bytes)
    }
    /// Where the item of a slot lies, and its bytes. Behind the end of the table there is none: 0 bytes.
    #[inline]
    pub const fn item(self, slot: u32) -> (*const u8, usize) {
        let offset = slot as usize * self.each;
        let bytes = if offset < self.bytes { self.each } else { 0 };
        (self.start.wrapping_add(offset), bytes)
    }
}

impl Key {
    /// The sending half of a connection that this host opened.
    #[inline]
    pub const fn sending(peer: HostId, connection: ConnectionId) -> Key {
        Key { peer, connection, opened_here: true, side: Side::Sending }
    }

    /// The receiving half of a connection that the peer opened.
    #[inline]
    pub const fn receiving(peer: HostId, connection: ConnectionId) -> Key {
        Key { peer, connection, opened_here: false, side: Side::Receiving }
    }

    /// The half that a packet is for, where data flows from the opener: whole or trimmed DATA to the receiving one,
    /// answers and headers that came back to the sending one; answers that came back to the receiving one.
    pub fn of(packet: &Packet) -> Key {
        let is_back = packet.service.service().is_turned_round();
        let is_to_receiver = (packet.header.kind == Kind::Data) != is_back;
        Key {
            // What has turned round: its source is where it was sent to.
            peer: packet.source,
            connection: packet.header.connection,
            opened_here: !is_to_receiver,
            side: if is_to_receiver { Side::Receiving } else { Side::Sending },
        }
    }

    /// A packet of `length` payload bytes from this half at `host`; whether switches may trim it is `service`.
    pub fn data(
        &self,
        host: HostId,
        path: PathId,
        sequence: u32,
        length: u16,
        is_last: bool,
        service: Service,
    ) -> Packet {
        let last = if is_last { Flags::LAST } else { 0 };
        let flags = Flags::default().with(Flags::FROM_OPENER | last);
        let extra = Header::data_extra(length, 0);
        let connection = self.connection;
        Packet {
            source: host,
            destination: self.peer,
            header: Header { kind: Kind::Data, flags, path, connection, sequence, extra },
            wire_bytes: length + Packet::HEADER_BYTES,
            service: service.into(),
            marks: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_a_slot_is_that_of_its_item() {
        let items = [[0u64; 5]; 3];
        let memory = Memory::of(&items);
        assert_eq!(memory.all(), (items.as_ptr().cast(), 120));
        for (slot, item) in items.iter().enumerate() {
            assert_eq!(memory.item(slot as u32), (core::ptr::from_ref(item).cast(), 40));
        }
        assert_eq!(memory.item(3).1, 0);
        assert_eq!(Memory::NONE.item(7).1, 0);
    }
}
