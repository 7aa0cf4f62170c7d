//! One host; the test carries its packets.

use rand_xoshiro::rand_core::SeedableRng;
use trimline_packet::{
    ByteCount, ConnectionId, Flags, Header, HostId, Kind, Packet, PathId, Service, ServiceClass,
    Time, TimeDelta,
};
use trimline_transport::flow::{Command, Event};
use trimline_transport::homa::{Config, Ending, Endpoint};
use trimline_transport::{Allowed, Disposition, Endpoint as _, RngStream};

use crate::world::Table;

pub(crate) fn us(count: u64) -> Time {
    Time::from_ps(count * 1_000_000)
}

/// The authors' parameters at 10 Gb/s with three scheduled levels, but packets of 1000 B (three unscheduled) and 1 us.
pub(crate) fn config() -> Config {
    Config {
        payload_bytes: 1000,
        overhead_bytes: 100,
        packet_time: TimeDelta::from_us(1),
        rtt_bytes: 3300,
        unscheduled_bytes: 3000,
        marked: 0,
        aeolus: false,
        boost_bytes: 0,
        unscheduled_levels: 4,
        cutoffs: vec![500, 2000, 10_000],
        scheduled_levels: 3,
        overcommitment: 3,
        resend: TimeDelta::from_us(100),
        retry: TimeDelta::from_us(300),
        backoff: TimeDelta::ZERO,
        ending: Ending::Acknowledged,
        time_wait: TimeDelta::from_ms(1),
    }
}

/// The host of all tests.
const HOST: HostId = HostId::new(0);
const PEER: u32 = 9;

pub(crate) struct Lone {
    pub(crate) now: Time,
    pub(crate) endpoint: Endpoint,
    pub(crate) table: Table,
}

impl Lone {
    pub(crate) fn new(config: Config) -> Lone {
        let (endpoint, table) = (Endpoint::new(HOST, config), Table::default());
        Lone { now: Time::ZERO, endpoint, table }
    }

    pub(crate) fn listening(config: Config) -> Lone {
        let mut lone = Lone::new(config);
        lone.endpoint.handle_command(Time::ZERO, Command::Listen, &mut lone.table);
        lone
    }

    pub(crate) fn open(&mut self, connection: u32, bytes: Option<u64>) {
        let command = Command::Open {
            peer: HostId::new(PEER),
            connection: ConnectionId::new(connection),
            class: 0,
            length: bytes.map(ByteCount::new),
            payload: None,
            paths: (0..4).map(PathId::new).collect(),
            stream: RngStream::seed_from_u64(connection.into()),
        };
        self.endpoint.handle_command(self.now, command, &mut self.table);
    }

    pub(crate) fn at(&mut self, us_: u64) -> &mut Lone {
        self.now = us(us_);
        self
    }

    pub(crate) fn receive(&mut self, packet: &Packet) -> Disposition {
        self.endpoint.handle_packet(self.now, packet, &mut self.table)
    }

    /// Handles due timers.
    pub(crate) fn expire(&mut self) {
        self.endpoint.handle_timeout(self.now, &mut self.table);
        assert!(self.endpoint.poll_timeout() > self.now, "a timer that was handled is past");
    }

    pub(crate) fn next(&mut self) -> Option<Packet> {
        let promised = self.endpoint.transmit_at(Allowed::ALL) <= self.now;
        let packet = self.endpoint.poll_transmit(self.now, Allowed::ALL);
        assert_eq!(packet.is_some(), promised, "transmit_at tells when there is a packet");
        packet
    }

    /// Returns all packets that the NIC takes now.
    pub(crate) fn all(&mut self) -> Vec<Packet> {
        core::iter::from_fn(|| self.next()).collect()
    }

    /// Returns connection, number and priority of the packets that the NIC takes now, all data.
    pub(crate) fn data(&mut self) -> Vec<(u32, u32, u8)> {
        let packets = self.all();
        assert!(packets.iter().all(|packet| packet.header.kind == Kind::Data), "{packets:?}");
        let of = |packet: &Packet| {
            let header = packet.header;
            (header.connection.get(), header.sequence, packet.service.priority())
        };
        packets.iter().map(of).collect()
    }

    /// Returns connection, sequence and `extra` of the packets that the NIC takes now, all of kind `kind`.
    pub(crate) fn said(&mut self, kind: Kind) -> Vec<(u32, u32, u32)> {
        let packets = self.all();
        assert!(packets.iter().all(|packet| packet.header.kind == kind), "{packets:?}");
        let of = |packet: &Packet| {
            let header = packet.header;
            (header.connection.get(), header.sequence, header.extra)
        };
        packets.iter().map(of).collect()
    }

    /// Returns when the next packet goes by itself, in us.
    pub(crate) fn sends_at(&self) -> Option<u64> {
        let at = self.endpoint.transmit_at(Allowed::ALL);
        (at != Time::NEVER).then(|| at.as_ps().div_ceil(1_000_000))
    }

    /// Returns time, connection, packet and priority of the next GRANTs, each sent when it is due.
    pub(crate) fn grants(&mut self, count: usize) -> Vec<(u64, u32, u32, u32)> {
        let mut grants = Vec::new();
        for _ in 0..count {
            let at = self.sends_at().expect("a GRANT is due");
            self.now = self.now.max(us(at));
            let packet = self.next().expect("what was promised");
            assert_eq!(packet.header.kind, Kind::Pull);
            let header = packet.header;
            let now = self.now.as_ps() / 1_000_000;
            grants.push((now, header.connection.get(), header.sequence, header.extra));
        }
        grants
    }

    pub(crate) fn events(&mut self) -> Vec<Event> {
        core::iter::from_fn(|| self.endpoint.poll_event()).collect()
    }
}

pub(crate) fn control(kind: Kind, flags: u8, connection: u32, sequence: u32, extra: u32) -> Packet {
    let header = Header {
        kind,
        flags: Flags::from_bits(flags),
        path: PathId::new(0),
        connection: ConnectionId::new(connection),
        sequence,
        extra,
    };
    Packet::control(HostId::new(PEER), HOST, header)
}

/// The peer grants the packets before `sequence`.
pub(crate) fn grant(connection: u32, sequence: u32, priority: u32) -> Packet {
    control(Kind::Pull, 0, connection, sequence, priority)
}

/// The peer misses `count` packets from `first` on.
pub(crate) fn resend(connection: u32, first: u32, count: u32, priority: u32) -> Packet {
    control(Kind::Nack, 0, connection, first, count << 16 | priority)
}

/// The peer has all packets.
pub(crate) fn ack(connection: u32, packets: u32) -> Packet {
    control(Kind::Ack, 0, connection, packets, 0)
}

/// The peer is busy with other messages.
pub(crate) fn busy(connection: u32, first: u32) -> Packet {
    control(Kind::Ack, Flags::FROM_OPENER, connection, first, 0)
}

/// The first peer sends a packet of a message of `packets` packets.
pub(crate) fn data(connection: u32, sequence: u32, packets: u16) -> Packet {
    data_from(PEER, connection, sequence, packets)
}

/// A peer sends a packet of a message of `packets` packets.
pub(crate) fn data_from(peer: u32, connection: u32, sequence: u32, packets: u16) -> Packet {
    let syn = if sequence < 3 { Flags::SYN } else { 0 };
    let last = if sequence + 1 == u32::from(packets) { Flags::LAST } else { 0 };
    let mut packet = control(Kind::Data, Flags::FROM_OPENER | syn | last, connection, sequence, 0);
    packet.source = HostId::new(peer);
    packet.header.extra = Header::data_extra(1000, packets);
    (packet.wire_bytes, packet.service) = (1076, ServiceClass::new(Service::Droppable, 0));
    packet
}

/// The first peer repeats its first packet for an answer.
pub(crate) fn asking(connection: u32, packets: u16) -> Packet {
    let mut packet = data(connection, 0, packets);
    packet.header.flags = packet.header.flags.with_attempt(1);
    packet
}

/// A probe of a peer behind packet `last`.
pub(crate) fn probe(peer: u32, last: u32, packets: u16) -> Packet {
    let mut packet = control(Kind::Nack, Flags::FROM_OPENER | Flags::SYN, peer, last, 0);
    packet.source = HostId::new(peer);
    packet.header.extra = Header::data_extra(0, packets);
    packet.service = ServiceClass::new(Service::Droppable, 4);
    packet
}
