//! One endpoint; the test carries its packets and decides what arrives, and when.

use rand_xoshiro::rand_core::SeedableRng;
use trimline_packet::{
    ByteCount, ConnectionId, Flags, Header, HostId, Kind, Packet, PathId, Service, Time,
};
use trimline_transport::tcp::{
    Command, Config, Endpoint, Handshake, ReceiverStatistics, SenderStatistics,
};
use trimline_transport::{Allowed, Disposition, Endpoint as _, RngStream};

use crate::link::{Table, config, us};

const SENDER: HostId = HostId::new(1);
const RECEIVER: HostId = HostId::new(0);

/// An established connection: it sends its window at once, and the window does not grow by itself.
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

    /// A host with an open connection and segments to send.
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
            stream: RngStream::seed_from_u64(1),
        });
        lone
    }

    /// A host that accepts connections.
    pub(crate) fn receiver(config: &Config) -> Lone {
        let mut lone = Lone::new(RECEIVER, config);
        lone.command(Command::Listen);
        lone
    }

    /// A host that has accepted the connection before and has forgotten it.
    pub(crate) fn forgetful(config: &Config) -> Lone {
        let mut lone = Lone::receiver(config);
        lone.directory.has_forgotten = true;
        lone
    }

    /// A host that accepts no connections.
    pub(crate) fn deaf(config: &Config) -> Lone {
        Lone::new(RECEIVER, config)
    }

    fn command(&mut self, command: Command) {
        self.endpoint.handle_command(self.now, command, &mut self.directory);
    }

    /// Sets the time in us; handles no timer.
    pub(crate) fn at(&mut self, time: u64) -> &mut Lone {
        self.now = us(time);
        self
    }

    /// Handles the timers up to `until`, in us.
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

    /// Returns the time of the next timeout in us, if it comes by `limit`, without other events before.
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

    pub(crate) fn receive_times(&mut self, times: usize, packet: &Packet) -> &mut Lone {
        for _ in 0..times {
            self.receive(packet);
        }
        self
    }

    /// Returns the packets that the host sends after `packet`.
    pub(crate) fn answers(&mut self, packet: &Packet) -> Vec<Packet> {
        self.receive(packet);
        self.all()
    }

    /// Returns the segments that the host sends after `packet`.
    pub(crate) fn data_after(&mut self, packet: &Packet) -> Vec<u32> {
        self.receive(packet);
        self.data()
    }

    /// Returns the packet that the NIC takes now.
    pub(crate) fn next(&mut self) -> Option<Packet> {
        self.endpoint.poll_transmit(self.now, Allowed::ALL)
    }

    /// Returns all packets that the NIC takes now.
    pub(crate) fn all(&mut self) -> Vec<Packet> {
        core::iter::from_fn(|| self.next()).collect()
    }

    /// Returns the segments that the NIC takes now.
    pub(crate) fn data(&mut self) -> Vec<u32> {
        let packets = self.all();
        assert!(packets.iter().all(|packet| packet.wire_bytes > 64), "{packets:?}");
        packets.iter().map(|packet| packet.header.sequence).collect()
    }

    /// Returns the window of the first subflow in 2^-16 segments.
    pub(crate) fn window(&self) -> u64 {
        self.endpoint.window(0, 0)
    }

    /// Returns when the next timer is due.
    pub(crate) fn endpoint_timeout(&self) -> Time {
        self.endpoint.poll_timeout()
    }

    /// Statistics of the send stream.
    pub(crate) fn sent(&self) -> &SenderStatistics {
        self.endpoint.sender_statistics(0)
    }

    /// Statistics of the receive stream.
    pub(crate) fn seen(&self) -> &ReceiverStatistics {
        self.endpoint.receiver_statistics(0)
    }
}

/// An ACK with a number and no options.
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

/// A segment of an established connection.
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
