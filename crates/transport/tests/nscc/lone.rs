//! An endpoint alone, and packets of its peer.

use rand_xoshiro::rand_core::SeedableRng;
use trimline_packet::{
    BitRate, ByteCount, ConnectionId, Flags, Header, HostId, Kind, Packet, PathId, Service, Time,
    TimeDelta,
};
use trimline_transport::flow::{Command, Event};
use trimline_transport::nscc::{Average, Config, Control, Endpoint, Law, QuickAdapt, bitmap_base};
use trimline_transport::path_choice::PathChoice;
use trimline_transport::{Allowed, Disposition, Endpoint as _, RngStream};

use crate::world::Table;

pub(crate) fn us(us: u64) -> Time {
    Time::ZERO + TimeDelta::from_us(us)
}

/// 10 Gb/s and a round trip of 10 us: a window of 18,750 bytes, twelve packets of 1500.
pub(crate) fn config() -> Config {
    let base = TimeDelta::from_us(10);
    Config {
        payload_bytes: 1436,
        trims: true,
        path_choice: PathChoice::Permutation,
        entropies: None,
        ack_every: 6_000,
        rto: TimeDelta::from_us(100),
        rto_doublings: 6,
        time_wait: TimeDelta::from_ms(1),
        control: Control::Window,
        law: Law {
            step_bytes: 1436,
            packet_bytes: 1500,
            line: BitRate::from_gbps(10),
            base,
            target: TimeDelta::from_ns(7_500),
            clear: TimeDelta::from_us(1),
            first: None,
            average: Average::Exponential,
            quick_adapt: QuickAdapt::Delay,
        },
    }
}

pub(crate) const SELF: HostId = HostId::new(1);
pub(crate) const PEER: HostId = HostId::new(0);

/// An endpoint with a clock.
pub(crate) struct Lone {
    pub(crate) endpoint: Endpoint,
    pub(crate) table: Table,
    pub(crate) now: Time,
}

impl Lone {
    pub(crate) fn new(config: Config) -> Lone {
        let (endpoint, table) = (Endpoint::new(SELF, config), Table::default());
        let mut lone = Lone { endpoint, table, now: Time::ZERO };
        lone.table.paths = 4;
        lone.endpoint.handle_command(Time::ZERO, Command::Listen, &mut lone.table);
        lone
    }

    /// An endpoint with a flow of full packets.
    pub(crate) fn with(config: Config, packets: u64) -> Lone {
        let mut lone = Lone::new(config);
        lone.open(9, packets * 1436);
        lone
    }

    pub(crate) fn open(&mut self, connection: u32, bytes: u64) {
        let command = Command::Open {
            peer: PEER,
            connection: ConnectionId::new(connection),
            class: 0,
            length: Some(ByteCount::new(bytes)),
            payload: None,
            paths: (0..4).map(PathId::new).collect(),
            stream: RngStream::seed_from_u64(1),
        };
        self.endpoint.handle_command(self.now, command, &mut self.table);
    }

    pub(crate) fn at(&mut self, time: u64) -> &mut Lone {
        self.now = us(time);
        self
    }

    pub(crate) fn receive(&mut self, packet: &Packet) -> Disposition {
        self.endpoint.handle_packet(self.now, packet, &mut self.table)
    }

    pub(crate) fn expire(&mut self) {
        self.endpoint.handle_timeout(self.now, &mut self.table);
    }

    /// All packets that go now.
    pub(crate) fn all(&mut self) -> Vec<Packet> {
        std::iter::from_fn(|| self.endpoint.poll_transmit(self.now, Allowed::ALL)).collect()
    }

    /// Numbers of the packets that go now.
    pub(crate) fn numbers(&mut self) -> Vec<u32> {
        self.all().iter().map(|packet| packet.header.sequence).collect()
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        std::iter::from_fn(|| self.endpoint.poll_event())
            .any(|event| matches!(event, Event::Acknowledged { .. }))
    }
}

pub(crate) fn control(kind: Kind, sequence: u32, extra: u32) -> Packet {
    let header = Header {
        kind,
        flags: Flags::default(),
        path: PathId::new(0),
        connection: ConnectionId::new(9),
        sequence,
        extra,
    };
    Packet::control(PEER, SELF, header)
}

/// An ACK that echoes a packet, where `base` is missing and these beyond it arrived.
pub(crate) fn ack(echo: u32, base: u32, beyond: &[u32]) -> Packet {
    let first = bitmap_base(echo, base);
    let bit = |number: &u32| number.checked_sub(first).filter(|&place| place < 16);
    let bits = beyond.iter().filter_map(bit).fold(0, |bits, place| bits | 1 << place);
    control(Kind::Ack, echo << 16 | base & 0xffff, (beyond.len() as u32) << 16 | bits)
}

pub(crate) fn marked(ack: Packet) -> Packet {
    Packet { marks: Packet::MARK_ECE, ..ack }
}

pub(crate) fn nack(number: u32, attempt: u8) -> Packet {
    let mut nack = control(Kind::Nack, number, 0);
    nack.header.flags = nack.header.flags.with_attempt(attempt);
    nack
}

/// A data packet of the peer.
pub(crate) fn data(number: u32, flags: u8, marks: u8) -> Packet {
    let header = Header {
        kind: Kind::Data,
        flags: Flags::default().with(Flags::FROM_OPENER | Flags::SYN | flags),
        path: PathId::new(0),
        connection: ConnectionId::new(9),
        sequence: number,
        extra: Header::data_extra(1436, 0),
    };
    let service = Service::Trimmable.into();
    Packet { wire_bytes: 1500, service, marks, ..Packet::control(PEER, SELF, header) }
}
