//! Packets and their storage for tests of switches and hosts.

use alloc::vec::Vec;

use crate::{ConnectionId, Flags, Handle, Header, HostId, Kind, Packet, Packets, PathId, Service};

/// Packets by handle; nothing is ever freed.
#[derive(Clone, Debug, Default)]
pub struct Arena(Vec<(Packet, Handle)>);

impl Arena {
    /// Stores a packet.
    pub fn add(&mut self, packet: Packet) -> Handle {
        self.0.push((packet, Handle::NONE));
        Handle::new(self.0.len() as u32 - 1)
    }
}

impl Packets for Arena {
    fn packet(&self, handle: Handle) -> &Packet {
        &self.0[handle.index()].0
    }
    fn packet_mut(&mut self, handle: Handle) -> &mut Packet {
        &mut self.0[handle.index()].0
    }
    fn next(&self, handle: Handle) -> Handle {
        self.0[handle.index()].1
    }
    fn set_next(&mut self, handle: Handle, next: Handle) {
        self.0[handle.index()].1 = next;
    }
}

/// A packet from host 1 to host 2.
pub fn packet(service: Service, wire_bytes: u16, sequence: u32) -> Packet {
    let kind = if service == Service::Control { Kind::Ack } else { Kind::Data };
    Packet {
        source: HostId::new(1),
        destination: HostId::new(2),
        header: Header {
            kind,
            flags: Flags::default(),
            path: PathId::new(0),
            connection: ConnectionId::new(1),
            sequence,
            extra: 0,
        },
        wire_bytes,
        service: service.into(),
        marks: 0,
    }
}
