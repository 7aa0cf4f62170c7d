//! Packets, their storage and repeatable random numbers for tests of switches and hosts.

use alloc::vec::Vec;

use crate::{
    ConnectionId, Flags, Handle, Header, HostId, Kind, Packet, Packets, PathId, Rng, Service,
};

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

/// Draws that anyone can repeat (SplitMix64).
#[derive(Clone, Debug)]
pub struct SplitMix(pub u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

impl Rng for SplitMix {
    fn coin(&mut self) -> bool {
        self.next() >> 63 != 0
    }
    fn below(&mut self, bound: u32) -> u32 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u32
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
