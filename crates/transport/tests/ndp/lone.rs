//! One endpoint, and a handmade peer.

use std::num::NonZeroU16;

use rand_xoshiro::rand_core::SeedableRng;
use trimline_packet::{
    ByteCount, ConnectionId, Flags, Header, HostId, Kind, Packet, PathId, Service, Time,
};
use trimline_transport::ndp::{Command, Config, Endpoint, Event};
use trimline_transport::{
    Allowed, Disposition, Endpoint as _, HostTables, Key, PathList, RngStream, Side,
};

use crate::link::{PORT, Table};

pub(crate) const HERE: HostId = HostId::new(1);
pub(crate) const PEER: HostId = HostId::new(2);

pub(crate) struct Lone {
    pub(crate) now: Time,
    pub(crate) endpoint: Endpoint,
    pub(crate) directory: Table,
}

impl Lone {
    pub(crate) fn new(config: Config) -> Lone {
        let mut lone = Lone {
            now: Time::ZERO,
            endpoint: Endpoint::new(HERE, config),
            directory: Table::new(8),
        };
        lone.command(Command::Listen { service_port: PORT });
        lone
    }

    /// Returns an endpoint with a stream to send, before its first packet.
    pub(crate) fn sender(config: Config, packets: Option<u64>) -> Lone {
        let mut lone = Lone::new(config);
        lone.open(1, packets.map(|packets| packets * 9000));
        lone
    }

    pub(crate) fn open(&mut self, connection: u32, length: Option<u64>) {
        self.open_with(connection, length, None);
    }

    pub(crate) fn open_with(
        &mut self,
        connection: u32,
        length: Option<u64>,
        payload: Option<NonZeroU16>,
    ) {
        let mut paths = PathList::new();
        self.directory.paths(PEER, &mut paths);
        self.command(Command::Open {
            peer: PEER,
            connection: ConnectionId::new(connection),
            service_port: PORT,
            class: 0,
            length: length.map(ByteCount::new),
            payload,
            paths,
            stream: RngStream::seed_from_u64(1),
        });
    }

    pub(crate) fn command(&mut self, command: Command) {
        self.endpoint.handle_command(self.now, command, &mut self.directory);
    }

    pub(crate) fn at(&mut self, now: Time) -> &mut Lone {
        self.now = now;
        self
    }

    /// Handles the timers up to `now`.
    pub(crate) fn pass(&mut self, now: Time) {
        while self.endpoint.poll_timeout() <= now {
            self.now = self.endpoint.poll_timeout();
            self.endpoint.handle_timeout(self.now, &mut self.directory);
        }
        self.now = now;
    }

    pub(crate) fn receive(&mut self, packet: &Packet) -> Disposition {
        self.endpoint.handle_packet(self.now, packet, &mut self.directory)
    }

    /// Returns the packet that the NIC takes now.
    pub(crate) fn next(&mut self) -> Option<Packet> {
        let promised = self.endpoint.transmit_at(Allowed::ALL) <= self.now;
        let packet = self.endpoint.poll_transmit(self.now, Allowed::ALL);
        assert_eq!(packet.is_some(), promised, "transmit_at tells when there is a packet");
        packet
    }

    /// Returns all packets that the NIC takes now.
    pub(crate) fn all(&mut self) -> Vec<Packet> {
        let mut packets = Vec::new();
        while let Some(packet) = self.next() {
            packets.push(packet);
        }
        packets
    }

    /// Returns the sequence numbers of the packets that the NIC takes now, all DATA.
    pub(crate) fn data(&mut self) -> Vec<u32> {
        let packets = self.all();
        assert!(packets.iter().all(|packet| packet.header.kind == Kind::Data), "{packets:?}");
        packets.iter().map(|packet| packet.header.sequence).collect()
    }

    /// Returns kind and sequence number (PULL: counter) of all packets that the NIC takes now.
    pub(crate) fn kinds(&mut self) -> Vec<(Kind, u32)> {
        self.all().iter().map(|packet| (packet.header.kind, packet.header.sequence)).collect()
    }

    pub(crate) fn events(&mut self) -> Vec<Event> {
        core::iter::from_fn(|| self.endpoint.poll_event()).collect()
    }

    pub(crate) fn knows(&self, key: Key) -> bool {
        self.directory.find(key).is_some()
    }

    pub(crate) fn slot(&self, key: Key) -> u32 {
        self.directory.find(key).expect("the side exists")
    }
}

pub(crate) fn sending(connection: u32) -> Key {
    Key {
        peer: PEER,
        connection: ConnectionId::new(connection),
        opened_here: true,
        side: Side::Sending,
    }
}

pub(crate) fn receiving(connection: u32) -> Key {
    Key { opened_here: false, side: Side::Receiving, ..sending(connection) }
}

fn from_peer(kind: Kind, connection: u32, sequence: u32, flags: Flags, extra: u32) -> Packet {
    Packet {
        source: PEER,
        destination: HERE,
        header: Header {
            kind,
            flags,
            path: PathId::new(0),
            connection: ConnectionId::new(connection),
            sequence,
            extra,
        },
        wire_bytes: 64,
        service: Service::Control.into(),
        marks: 0,
    }
}

/// A DATA packet of a connection that the peer opened.
pub(crate) fn data(connection: u32, sequence: u32, mask: u8) -> Packet {
    let flags = Flags::default().with(Flags::FROM_OPENER | mask);
    let mut packet =
        from_peer(Kind::Data, connection, sequence, flags, Header::data_extra(9000, PORT));
    packet.wire_bytes = 9064;
    packet.service = Service::Trimmable.into();
    packet
}

pub(crate) fn trimmed(mut packet: Packet) -> Packet {
    packet.trim(64);
    packet
}

/// A packet of this host on its way back.
pub(crate) fn returned(mut packet: Packet) -> Packet {
    packet.trim(64);
    packet.bounce();
    packet
}

/// The answer to a DATA packet of a connection opened here.
pub(crate) fn answer(kind: Kind, packet: &Packet) -> Packet {
    let flags = Flags::default().with_attempt(packet.header.flags.attempt());
    from_peer(kind, packet.header.connection.get(), packet.header.sequence, flags, 0)
}

pub(crate) fn ack(sequence: u32) -> Packet {
    from_peer(Kind::Ack, 1, sequence, Flags::default(), 0)
}

pub(crate) fn nack(sequence: u32) -> Packet {
    from_peer(Kind::Nack, 1, sequence, Flags::default(), 0)
}

pub(crate) fn pull(counter: u32) -> Packet {
    from_peer(Kind::Pull, 1, counter, Flags::default(), 0)
}

/// An answer with a pull in it.
pub(crate) fn with_pull(mut packet: Packet, counter: u32) -> Packet {
    packet.header.flags = packet.header.flags.with(Flags::PULL);
    packet.header.extra = counter;
    packet
}
