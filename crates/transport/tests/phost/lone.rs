//! One host; the test carries its packets. Times are in halves of a packet time.

use rand_xoshiro::rand_core::SeedableRng;
use trimline_packet::{
    ByteCount, ConnectionId, Flags, Header, HostId, Kind, Packet, PathId, Service, Time, TimeDelta,
};
use trimline_transport::flow::{Command, Event};
use trimline_transport::phost::{Config, Endpoint, FreeTokens, Order, ReceiverRules};
use trimline_transport::{Allowed, Disposition, Endpoint as _, RngStream};

use crate::world::Table;

/// Half of the time of 1500 bytes at 10 Gb/s, in ps.
const HALF_PS: u64 = 600_000;

pub(crate) fn sides(count: u64) -> Time {
    Time::from_ps(count * HALF_PS)
}

/// The paper's parameters.
pub(crate) fn config() -> Config {
    let packets = |sides: u64| TimeDelta::from_ps(sides * HALF_PS);
    Config {
        payload_bytes: 1436,
        packet_time: packets(2),
        free_tokens: 8,
        free_for: FreeTokens::AllFlows,
        marked: 8,
        token_window: 8,
        token_expiry: packets(3),
        downgrade: packets(50),
        resend: packets(18),
        receiver: ReceiverRules::Prompt,
        rts_repeat: packets(200),
        time_wait: TimeDelta::from_ms(1),
        receiver_order: Order::Srpt,
        sender_order: Order::Srpt,
    }
}

/// The host of all tests.
const HOST: HostId = HostId::new(0);
const PEER: HostId = HostId::new(9);

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

    pub(crate) fn open(&mut self, connection: u32, bytes: Option<u64>, paths: u16) {
        let command = Command::Open {
            peer: PEER,
            connection: ConnectionId::new(connection),
            class: 0,
            length: bytes.map(ByteCount::new),
            payload: None,
            paths: (0..paths).map(PathId::new).collect(),
            stream: RngStream::seed_from_u64(7),
        };
        self.endpoint.handle_command(self.now, command, &mut self.table);
    }

    pub(crate) fn open_packets(&mut self, connection: u32, packets: u64) {
        self.open(connection, Some(packets * 1436), 4);
    }

    pub(crate) fn at(&mut self, side: u64) -> &mut Lone {
        self.now = sides(side);
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
        self.endpoint.poll_transmit(self.now, Allowed::ALL)
    }

    /// Returns all packets that the NIC takes now.
    pub(crate) fn all(&mut self) -> Vec<Packet> {
        core::iter::from_fn(|| self.next()).collect()
    }

    /// Returns the numbers of the packets that the NIC takes now, all of this kind.
    pub(crate) fn numbers(&mut self, kind: Kind) -> Vec<u32> {
        let packets = self.all();
        assert!(packets.iter().all(|packet| packet.header.kind == kind), "{packets:?}");
        packets.iter().map(|packet| packet.header.sequence).collect()
    }

    /// Returns when the next packet goes by itself, in halves of a packet time.
    pub(crate) fn sends_at(&self) -> Option<u64> {
        let at = self.endpoint.transmit_at(Allowed::ALL);
        (at != Time::NEVER).then(|| at.as_ps().div_ceil(HALF_PS))
    }

    /// Returns time, flow and packet of the next tokens, each sent when it is due.
    pub(crate) fn tokens(&mut self, count: usize) -> Vec<(u64, u32, u32)> {
        let mut tokens = Vec::new();
        for _ in 0..count {
            let side = self.sends_at().expect("a token is due");
            self.now = self.now.max(sides(side));
            let packet = self.next().expect("what was promised");
            assert_eq!(packet.header.kind, Kind::Pull);
            let header = packet.header;
            tokens.push((side, header.connection.get(), header.sequence));
        }
        tokens
    }

    pub(crate) fn events(&mut self) -> Vec<Event> {
        core::iter::from_fn(|| self.endpoint.poll_event()).collect()
    }
}

fn control(kind: Kind, flags: u8, connection: u32, sequence: u32, extra: u32) -> Packet {
    let header = Header {
        kind,
        flags: Flags::from_bits(flags),
        path: PathId::new(0),
        connection: ConnectionId::new(connection),
        sequence,
        extra,
    };
    Packet::control(PEER, HOST, header)
}

/// The peer announces a flow.
pub(crate) fn rts(connection: u32, packets: u32, free: u32) -> Packet {
    control(Kind::Pull, Flags::SYN | Flags::FROM_OPENER, connection, packets, free)
}

/// The peer gives a token for a packet.
pub(crate) fn token(connection: u32, sequence: u32, number: u32) -> Packet {
    control(Kind::Pull, 0, connection, sequence, number)
}

/// The peer has all packets.
pub(crate) fn ack(connection: u32, packets: u32) -> Packet {
    control(Kind::Ack, 0, connection, packets, 0)
}

/// The peer sends a packet on a token.
pub(crate) fn data(connection: u32, sequence: u32, number: u16) -> Packet {
    let mut packet = control(Kind::Data, Flags::FROM_OPENER, connection, sequence, 0);
    packet.header.extra = Header::data_extra(1436, number);
    (packet.wire_bytes, packet.service) = (1500, Service::Droppable.into());
    packet
}

/// The peer sends a packet on a free token.
pub(crate) fn free_data(connection: u32, sequence: u32) -> Packet {
    let mut packet = data(connection, sequence, sequence as u16);
    packet.header.flags = packet.header.flags.with(Flags::SYN);
    packet
}
