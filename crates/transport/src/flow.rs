//! Commands and events of transports with one stream a connection, from its opener to its peer, and packets with the
//! plain header.
//!
//! A transport uses these (TCP), or its own with `From<Command>`, and `From` of its events for `Option<Event>`. Drivers
//! of any transport use these.

use alloc::vec::Vec;
use core::num::NonZeroU16;

use trimline_packet::{
    ByteCount, ConnectionId, Flags, Header, HostId, Kind, Packet, PathId, Service,
};

use crate::{Key, PathList, RngStream, Side};

/// A request of the application to a host.
#[derive(Clone, Debug)]
pub enum Command {
    /// Accept connections.
    Listen,
    /// Open a connection and send on it.
    Open {
        /// The peer.
        peer: HostId,
        /// A connection number unused by this host.
        connection: ConnectionId,
        /// Priority class, 0 to 3.
        class: u8,
        /// Payload bytes to send; `None` never runs out.
        length: Option<ByteCount>,
        /// Payload of a full packet, in bytes, if not the host's default. Transports without support never get one.
        payload: Option<NonZeroU16>,
        /// The paths to the peer, at least one. A single-path transport draws one (as ECMP hashes ports).
        paths: PathList,
        /// The connection's RNG stream.
        stream: RngStream,
    },
    /// Send a further message on a connection that this host opened, after all earlier ones. All that the stream has
    /// learned of its path is kept, such as the window; there is no new handshake.
    ///
    /// For events per message, send the next one after [`Event::Acknowledged`]. An earlier one is sent at once, but
    /// both ends may merge it with the message before, with one event for both.
    ///
    /// Ignored for an empty message, and for a stream that is unknown (never opened, or forgotten), receives, or never
    /// runs out of data.
    Send {
        /// The send stream.
        key: Key,
        /// More payload bytes.
        length: ByteCount,
    },
    /// Use only these paths: routing learned of a failure or its end. An empty list changes nothing.
    Paths {
        /// The stream.
        key: Key,
        /// The paths that work.
        paths: PathList,
    },
}

/// A report to the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// All data up to the peer's last packet has arrived: once for each message, if the next one follows this one's
    /// acknowledgement.
    Delivered {
        /// The receive stream.
        key: Key,
        /// The slot.
        slot: u32,
    },
    /// All data handed over has been acknowledged: once for each message ([`Command::Send`]).
    Acknowledged {
        /// The send stream.
        key: Key,
        /// The slot.
        slot: u32,
    },
}

/// Counters of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// DATA packets sent, or first received whole.
    pub packets: u64,
    /// Payload bytes of `packets`.
    pub bytes: u64,
    /// Retransmitted packets.
    pub resent: u64,
    /// Headers received: trimmed at a receiver, returned at a sender.
    pub headers: u64,
}

/// A table by slot. Slots are small numbers in any order; unused entries are defaults.
#[derive(Debug, Default)]
pub struct Slots<T>(Vec<T>);

impl<T: Default> Slots<T> {
    /// Creates an empty table.
    pub const fn new() -> Slots<T> {
        Slots(Vec::new())
    }
    /// Returns a slot's entry; the table grows to it.
    pub fn at(&mut self, slot: u32) -> &mut T {
        let index = slot as usize;
        if self.0.len() <= index {
            self.0.resize_with(index + 1, T::default);
        }
        &mut self.0[index]
    }
    /// Returns a slot's entry, or `None` beyond the table.
    pub fn find(&self, slot: u32) -> Option<&T> {
        self.0.get(slot as usize)
    }
    /// Returns the table's memory, to prefetch.
    pub fn memory(&self) -> Memory {
        Memory::of(&self.0)
    }
}

/// The address range of a table, for prefetching only.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    start: *const u8,
    bytes: usize,
    each: usize,
}

impl Memory {
    /// No table.
    pub const NONE: Memory = Memory { start: core::ptr::null(), bytes: 0, each: 0 };

    /// Returns the memory of a table.
    #[inline]
    pub const fn of<T>(items: &[T]) -> Memory {
        Memory { start: items.as_ptr().cast(), bytes: size_of_val(items), each: size_of::<T>() }
    }
    /// Returns the table's address and bytes.
    #[inline]
    pub const fn all(self) -> (*const u8, usize) {
        (self.start, self.bytes)
    }
    /// Returns the address and bytes of a slot's item; 0 bytes beyond the table.
    #[inline]
    pub const fn item(self, slot: u32) -> (*const u8, usize) {
        let offset = slot as usize * self.each;
        let bytes = if offset < self.bytes { self.each } else { 0 };
        (self.start.wrapping_add(offset), bytes)
    }
}

impl Key {
    /// The send stream of a connection opened here.
    #[inline]
    pub const fn sending(peer: HostId, connection: ConnectionId) -> Key {
        Key { peer, connection, opened_here: true, side: Side::Sending }
    }

    /// The receive stream of a connection opened by the peer.
    #[inline]
    pub const fn receiving(peer: HostId, connection: ConnectionId) -> Key {
        Key { peer, connection, opened_here: false, side: Side::Receiving }
    }

    /// Returns a packet's stream, if data flows from the opener: the receive stream for whole or trimmed DATA and
    /// bounced answers, the send stream for answers and bounced headers.
    pub fn of(packet: &Packet) -> Key {
        let is_back = packet.service.service().is_bounced();
        let is_to_receiver = (packet.header.kind == Kind::Data) != is_back;
        Key {
            // A bounced packet has swapped addresses: its source is its former destination.
            peer: packet.source,
            connection: packet.header.connection,
            opened_here: !is_to_receiver,
            side: if is_to_receiver { Side::Receiving } else { Side::Sending },
        }
    }

    /// Builds a DATA packet of `length` payload bytes from `host`. `service` says whether switches may trim it.
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
    fn a_slot_uses_the_memory_of_its_item() {
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
