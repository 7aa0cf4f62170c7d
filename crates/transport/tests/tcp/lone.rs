//! One endpoint, and packets that the test carries: what arrives, and when, is up to it.

use rand_xoshiro::rand_core::SeedableRng;
use trimline_packet::{
    ByteCount, ConnectionId, Flags, Header, HostId, Kind, Packet, PathId, Service, Time,
};
use trimline_transport::tcp::{
    Command, Config, Endpoint, Handshake, ReceiverStatistics, SenderStatistics,
};
use trimline_transport::{Allowed, Disposition, Endpoint as _, Stream};

use crate::link::{Table, config, us};

const SENDER: HostId = HostId::new(1);
const RECEIVER: HostId = HostId::new(0);

/// A connection that stands: the first window is sent at once, and nothing grows it by itself.
pub(crate) fn standing(window: u16) -> Config {
    Config {
        handshake: Handshake::Standing,
        initial_window: window,
        initial_threshold: window,
        ..config()
    }
}

pub(crate) struct Lone {
    now: Time,
    pub(crate) endpoint: Endpoint,
    directory: Table,
}

impl Lone {
    fn new(host: HostId, config: &Config) -> Lone {
        let endpoint = Endpoint::new(host, config.clone());
        Lone { now: Time::ZERO, endpoint, directory: Table::new(1) }
    }

    /// A host that has opened a connection and has so many segments to send on it, none of them taken.
    pub(crate) fn sender(config: &Config, segments: Option<u64>) -> Lone {
        let mut lone = Lone::new(SENDER, config);
        let payload = u64::from(config.payload_bytes);
        lone.command(Command::Open {
            peer: RECEIVER,
            connection: ConnectionId::new(1),
            class: 0,
            length: segments.map(|segments| ByteCount::new(segments * payload)),
            payload: None,
            paths: [PathId::new(0)].into_iter().collect(),
            stream: Stream::seed_from_u64(1),
        });
        lone
    }

    /// A host that takes connections.
    pub(crate) fn receiver(config: &Config) -> Lone {
        let mut lone = Lone::new(RECEIVER, config);
        lone.command(Command::Listen);
        lone
    }

    /// A host that has taken the connection before and has forgotten it.
    pub(crate) fn forgetful(config: &Config) -> Lone {
        let mut lone = Lone::receiver(config);
        lone.directory.has_forgotten = true;
        lone
    }

    /// A host that takes none.
    pub(crate) fn deaf(config: &Config) -> Lone {
        Lone::new(RECEIVER, config)
    }

    fn command(&mut self, command: Command) {
        self.endpoint.handle_command(self.now, command, &mut self.directory);
    }

    /// It is so many microseconds after the beginning; no timer is looked at.
    pub(crate) fn at(&mut self, time: u64) -> &mut Lone {
        self.now = us(time);
        self
    }

    /// Calls the timers up to this microsecond.
    pub(crate) fn pass(&mut self, until: u64) -> &mut Lone {
        while self.endpoint.poll_timeout() <= us(until) {
            self.expire();
        }
        self.at(until)
    }

    fn expire(&mut self) {
        self.now = self.endpoint.poll_timeout();
        self.endpoint.handle_timeout(self.now, &mut self.directory);
        assert!(self.endpoint.poll_timeout() > self.now, "a timer that was handled is past");
    }

    /// The microsecond of the next time-out, if it comes by `limit`; nothing is sent or heard before.
    pub(crate) fn timeout(&mut self, limit: u64) -> Option<u64> {
        let before = self.sent().timeouts;
        while self.sent().timeouts == before {
            if self.endpoint.poll_timeout() > us(limit) {
                return None;
            }
            self.expire();
        }
        Some(self.now.as_ps() / 1_000_000)
    }

    pub(crate) fn receive(&mut self, packet: &Packet) -> Disposition {
        self.endpoint.handle_packet(self.now, packet, &mut self.directory)
    }

    /// The same packet so many times.
    pub(crate) fn receive_times(&mut self, times: usize, packet: &Packet) -> &mut Lone {
        for _ in 0..times {
            self.receive(packet);
        }
        self
    }

    /// What it sends when it hears a packet.
    pub(crate) fn answers(&mut self, packet: &Packet) -> Vec<Packet> {
        self.receive(packet);
        self.all()
    }

    /// Segments that it sends when it hears a packet.
    pub(crate) fn data_after(&mut self, packet: &Packet) -> Vec<u32> {
        self.receive(packet);
        self.data()
    }

    /// The packet that the NIC would take now.
    pub(crate) fn next(&mut self) -> Option<Packet> {
        self.endpoint.poll_transmit(self.now, Allowed::ALL)
    }

    /// Everything that the NIC would take now.
    pub(crate) fn all(&mut self) -> Vec<Packet> {
        core::iter::from_fn(|| self.next()).collect()
    }

    /// The segments that the NIC would take now.
    pub(crate) fn data(&mut self) -> Vec<u32> {
        let packets = self.all();
        assert!(packets.iter().all(|packet| packet.wire_bytes > 64), "{packets:?}");
        packets.iter().map(|packet| packet.header.sequence).collect()
    }

    /// The window of the first subflow in 2^-16 segments.
    pub(crate) fn window(&self) -> u64 {
        self.endpoint.window(0, 0)
    }

    /// When a timer comes next.
    pub(crate) fn endpoint_timeout(&self) -> Time {
        self.endpoint.poll_timeout()
    }

    /// What the sending half has done.
    pub(crate) fn sent(&self) -> &SenderStatistics {
        self.endpoint.sender_statistics(0)
    }

    /// What the receiving half has seen.
    pub(crate) fn seen(&self) -> &ReceiverStatistics {
        self.endpoint.receiver_statistics(0)
    }
}

/// An ACK that says nothing beyond its number.
pub(crate) fn ack(number: u32) -> Packet {
    let header = Header {
        kind: Kind::Ack,
        flags: Flags::default(),
        path: PathId::new(0),
        connection: ConnectionId::new(1),
        sequence: number,
        extra: 0,
    };
    Packet::control(RECEIVER, SENDER, header)
}

/// The answer to a SYN.
pub(crate) fn syn_answer() -> Packet {
    let mut packet = ack(0);
    packet.header.flags = packet.header.flags.with(Flags::SYN);
    packet
}

/// An ACK that echoes a mark.
pub(crate) fn echo(number: u32) -> Packet {
    Packet { marks: Packet::MARK_ECE, ..ack(number) }
}

/// An ACK of one of several subflows; `next` is the connection's own number.
pub(crate) fn subflow_ack(subflow: u8, number: u32, next: u32) -> Packet {
    let mut packet = ack(number << 16);
    packet.header.flags = Flags::from_bits(subflow << 3);
    packet.header.extra = next;
    Packet { marks: 2 << 4, ..packet }
}

/// A segment of a connection that stands.
pub(crate) fn segment(sequence: u32) -> Packet {
    let header = Header {
        kind: Kind::Data,
        flags: Flags::default().with(Flags::SYN | Flags::FROM_OPENER),
        path: PathId::new(0),
        connection: ConnectionId::new(1),
        sequence,
        extra: 0,
    };
    let control = Packet::control(SENDER, RECEIVER, header);
    Packet { wire_bytes: 1500, service: Service::Droppable.into(), ..control }
}

/// A SYN without data.
pub(crate) fn syn() -> Packet {
    Packet { wire_bytes: 64, ..segment(0) }
}
