//! Two hosts with a NIC each, a delay each way, and an impairment for each packet.

use std::collections::{BTreeMap, VecDeque};

use rand_xoshiro::rand_core::SeedableRng;
use trimline_packet::{BitRate, ByteCount, ConnectionId, HostId, Packet, PathId, Time, TimeDelta};
use trimline_transport::dcqcn::{Command, Config, Endpoint, Event};
use trimline_transport::{
    Allowed, Disposition, Endpoint as _, HostTables, Key, PathList, RngStream, Side,
};

pub(crate) fn us(us: u64) -> Time {
    Time::from_ps(us * 1_000_000)
}

/// The paper's parameters at 10 Gb/s, with small packets.
pub(crate) fn config() -> Config {
    Config {
        payload_bytes: 1436,
        rto: TimeDelta::from_ms(1),
        ..Config::published(BitRate::from_gbps(10))
    }
}

#[derive(Debug, Default)]
pub(crate) struct Table(BTreeMap<(u32, u32, bool), u32>);

impl Table {
    fn name(key: Key) -> (u32, u32, bool) {
        (key.peer.get(), key.connection.get(), key.side == Side::Sending)
    }
}

impl HostTables for Table {
    fn find(&self, key: Key) -> Option<u32> {
        self.0.get(&Table::name(key)).copied()
    }
    fn assign(&mut self, key: Key) -> u32 {
        let slot = self.0.len() as u32;
        assert!(self.0.insert(Table::name(key), slot).is_none(), "{key:?} assigned twice");
        slot
    }
    fn release(&mut self, _key: Key, _slot: u32) {}
    fn paths(&self, _peer: HostId, paths: &mut PathList) {
        paths.push(PathId::new(0));
    }
    fn stream(&self, key: Key) -> RngStream {
        RngStream::seed_from_u64(u64::from(key.connection.get()))
    }
}

/// The impairment of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkAction {
    Pass,
    Drop,
    Mark,
    /// Delays the packet by this time; others overtake it.
    Late(TimeDelta),
}

pub(crate) struct Host {
    pub(crate) endpoint: Endpoint,
    pub(crate) table: Table,
    nic_free: Time,
    arrivals: VecDeque<(Time, Packet)>,
    /// Before this time the queue in front of the host has no room.
    has_room: Time,
    pub(crate) sent: Vec<(Time, Packet)>,
    pub(crate) events: Vec<(Time, Event)>,
    /// Packets that the application got, in order.
    pub(crate) accepted: Vec<(u32, u32)>,
}

type Impairment = Box<dyn FnMut(Time, &Packet) -> LinkAction>;

/// A pair of hosts; host 0 opens connections to host 1, over 5 us each way.
pub(crate) struct Pair {
    pub(crate) now: Time,
    pub(crate) hosts: [Host; 2],
    pub(crate) action: Impairment,
    /// Packets within this time after an arrival are lost.
    pub(crate) gap: TimeDelta,
    config: Config,
}

const DELAY: TimeDelta = TimeDelta::from_us(5);

impl Pair {
    pub(crate) fn new(config: &Config) -> Pair {
        let host = |number| {
            let mut host = Host {
                endpoint: Endpoint::new(HostId::new(number), config.clone()),
                table: Table::default(),
                nic_free: Time::ZERO,
                arrivals: VecDeque::new(),
                has_room: Time::ZERO,
                sent: Vec::new(),
                events: Vec::new(),
                accepted: Vec::new(),
            };
            host.endpoint.handle_command(Time::ZERO, Command::Listen, &mut host.table);
            host
        };
        let action = Box::new(|_: Time, _: &Packet| LinkAction::Pass);
        let hosts = [host(0), host(1)];
        Pair { now: Time::ZERO, hosts, action, gap: TimeDelta::ZERO, config: config.clone() }
    }

    pub(crate) fn open(&mut self, connection: u32, packets: Option<u64>) {
        let payload = u64::from(self.config.payload_bytes);
        self.open_bytes(connection, packets.map(|packets| packets * payload));
    }

    pub(crate) fn open_bytes(&mut self, connection: u32, bytes: Option<u64>) {
        let open = Command::Open {
            peer: HostId::new(1),
            connection: ConnectionId::new(connection),
            class: 0,
            length: bytes.map(ByteCount::new),
            payload: None,
            paths: [PathId::new(0)].into_iter().collect(),
            stream: RngStream::seed_from_u64(0),
        };
        let host = &mut self.hosts[0];
        host.endpoint.handle_command(self.now, open, &mut host.table);
    }

    /// Sends a further message on a connection.
    pub(crate) fn send(&mut self, connection: u32, bytes: u64) {
        let key = Key {
            peer: HostId::new(1),
            connection: ConnectionId::new(connection),
            opened_here: true,
            side: Side::Sending,
        };
        let send = Command::Send { key, length: ByteCount::new(bytes) };
        let host = &mut self.hosts[0];
        host.endpoint.handle_command(self.now, send, &mut host.table);
    }

    /// Returns the time of the next action.
    fn next(&self) -> Time {
        let of = |host: &Host| {
            let arrival = host.arrivals.front().map_or(Time::NEVER, |&(at, _)| at);
            let send = host.endpoint.transmit_at(Allowed::ALL).max(host.nic_free).max(self.now);
            arrival.min(send).min(host.endpoint.poll_timeout())
        };
        self.hosts.iter().map(of).min().expect("two hosts")
    }

    /// Runs until `until`, or until no action is left.
    pub(crate) fn run(&mut self, until: Time) {
        while self.next() <= until {
            self.now = self.next();
            for number in 0..2 {
                self.step(number);
            }
        }
        if until != Time::NEVER {
            self.now = until;
        }
    }

    fn step(&mut self, number: usize) {
        let now = self.now;
        let host = &mut self.hosts[number];
        while host.arrivals.front().is_some_and(|&(at, _)| at <= now) {
            let (at, packet) = host.arrivals.pop_front().expect("an arrival");
            if at < host.has_room {
                continue;
            }
            host.has_room = at + self.gap;
            let what = host.endpoint.handle_packet(now, &packet, &mut host.table);
            if let Disposition::Accept { sequence, .. } = what {
                host.accepted.push((packet.header.connection.get(), sequence));
            }
        }
        if host.endpoint.poll_timeout() <= now {
            host.endpoint.handle_timeout(now, &mut host.table);
            assert!(host.endpoint.poll_timeout() > now, "a timer that was handled is past");
        }
        while let Some(event) = host.endpoint.poll_event() {
            host.events.push((now, event));
        }
        if host.nic_free > now || host.endpoint.transmit_at(Allowed::ALL) > now {
            return;
        }
        let mut packet = host.endpoint.poll_transmit(now, Allowed::ALL).expect("what was promised");
        host.sent.push((now, packet));
        let takes = self.config.line_rate.transmission(ByteCount::new(packet.wire_bytes.into()));
        host.nic_free = now + takes;
        let mut at = now + takes + DELAY;
        match (self.action)(now, &packet) {
            LinkAction::Drop => return,
            LinkAction::Mark => packet.marks |= Packet::MARK_CE,
            LinkAction::Late(by) => at += by,
            LinkAction::Pass => {}
        }
        let arrivals = &mut self.hosts[1 - number].arrivals;
        let place = arrivals.partition_point(|&(other, _)| other <= at);
        arrivals.insert(place, (at, packet));
    }

    /// Returns the times at which a host sent the wanted packets.
    pub(crate) fn sent(&self, number: usize, wanted: impl Fn(&Packet) -> bool) -> Vec<Time> {
        let sent = self.hosts[number].sent.iter();
        sent.filter(|(_, packet)| wanted(packet)).map(|&(at, _)| at).collect()
    }
}
