//! One host; the test carries its packets. Times are in us.

use rand_xoshiro::rand_core::SeedableRng;
use trimline_packet::{
    ByteCount, ConnectionId, Flags, Header, HostId, Kind, Packet, PathId, Service, Time, TimeDelta,
};
use trimline_transport::flow::{Command, Event};
use trimline_transport::pfabric::{Config, Endpoint, Priority};
use trimline_transport::{Allowed, Disposition, Endpoint as _, RngStream};

use crate::world::Table;

pub(crate) fn us(us: u64) -> Time {
    Time::ZERO + TimeDelta::from_us(us)
}

pub(crate) fn config() -> Config {
    Config {
        payload_bytes: 1436,
        window: 8,
        priority: Priority::Remaining,
        rto: TimeDelta::from_us(250),
        probe_after: 5,
        fastlane: false,
        time_wait: TimeDelta::from_ms(1),
    }
}

/// The host of all tests.
pub(crate) const HOST: HostId = HostId::new(0);
pub(crate) const PEER: HostId = HostId::new(9);

pub(crate) struct Lone {
    now: Time,
    pub(crate) endpoint: Endpoint,
    pub(crate) table: Table,
}

impl Lone {
    /// Returns a host that accepts flows.
    pub(crate) fn new(config: Config) -> Lone {
        let (endpoint, table) = (Endpoint::new(HOST, config), Table::default());
        let mut lone = Lone { now: Time::ZERO, endpoint, table };
        lone.table.paths = 4;
        lone.endpoint.handle_command(Time::ZERO, Command::Listen, &mut lone.table);
        lone
    }

    /// Opens a flow whose packets take four paths.
    pub(crate) fn open(&mut self, connection: u32, bytes: Option<u64>) {
        let command = Command::Open {
            peer: PEER,
            connection: ConnectionId::new(connection),
            class: 0,
            length: bytes.map(ByteCount::new),
            payload: None,
            paths: (0..4).map(PathId::new).collect(),
            stream: RngStream::seed_from_u64(7),
        };
        self.endpoint.handle_command(self.now, command, &mut self.table);
    }

    /// Returns a host with one flow of `packets` packets.
    pub(crate) fn with(config: Config, packets: u64) -> Lone {
        let mut lone = Lone::new(config);
        lone.open(1, Some(packets * 1436));
        lone
    }

    pub(crate) fn at(&mut self, time: u64) -> &mut Lone {
        self.now = us(time);
        self
    }

    /// Handles due timers.
    pub(crate) fn expire(&mut self) {
        self.endpoint.handle_timeout(self.now, &mut self.table);
        assert!(self.endpoint.poll_timeout() > self.now, "a timer that was handled is past");
    }

    pub(crate) fn receive(&mut self, packet: &Packet) -> Disposition {
        self.endpoint.handle_packet(self.now, packet, &mut self.table)
    }

    pub(crate) fn next(&mut self) -> Option<Packet> {
        let is_promised = self.endpoint.transmit_at(Allowed::ALL) <= self.now;
        let packet = self.endpoint.poll_transmit(self.now, Allowed::ALL);
        assert_eq!(packet.is_some(), is_promised);
        packet
    }

    pub(crate) fn all(&mut self) -> Vec<Packet> {
        core::iter::from_fn(|| self.next()).collect()
    }

    /// Returns kind and number of all packets that the NIC takes now.
    pub(crate) fn sent(&mut self) -> Vec<(Kind, u32)> {
        self.all().iter().map(|packet| (packet.header.kind, packet.header.sequence)).collect()
    }

    /// Returns the numbers of the packets that the NIC takes now, all data.
    pub(crate) fn data(&mut self) -> Vec<u32> {
        let sent = self.sent();
        assert!(sent.iter().all(|&(kind, _)| kind == Kind::Data), "{sent:?}");
        sent.into_iter().map(|(_, number)| number).collect()
    }

    /// Receives a packet, then returns the data that the NIC takes.
    pub(crate) fn data_after(&mut self, packet: &Packet) -> Vec<u32> {
        self.receive(packet);
        self.data()
    }

    pub(crate) fn events(&mut self) -> Vec<Event> {
        core::iter::from_fn(|| self.endpoint.poll_event()).collect()
    }
}

fn header(kind: Kind, flags: u8, sequence: u32, extra: u32) -> Header {
    let (path, connection) = (PathId::new(2), ConnectionId::new(1));
    Header { kind, flags: Flags::from_bits(flags), path, connection, sequence, extra }
}

/// The peer's ACK of a packet, with all before `base`.
pub(crate) fn ack(sequence: u32, base: u32) -> Packet {
    Packet::control(PEER, HOST, header(Kind::Ack, 0, sequence, base))
}

/// A probe that has come back.
pub(crate) fn echo(number: u32) -> Packet {
    Packet::control(PEER, HOST, header(Kind::Pull, 0, number, 0))
}

/// A data packet of the peer.
pub(crate) fn data(sequence: u32, flags: u8) -> Packet {
    let header = header(Kind::Data, Flags::FROM_OPENER | flags, sequence, 99);
    let service = Service::Droppable.into();
    Packet { wire_bytes: 1500, service, ..Packet::control(PEER, HOST, header) }
}

/// The notification that a switch makes of a packet that it drops.
pub(crate) fn notified(packet: &Packet) -> Packet {
    let mut notified = *packet;
    notified.notify();
    notified
}
