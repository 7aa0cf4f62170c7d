//! A virtual network: hosts around one switch, or around a chain of switches.
//!
//! A packet leaves at the NIC's rate, passes the impairment (drop, trim, return, double or delay), then the ports to
//! its destination, with a data queue and a header queue each.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use trimline_packet::{
    BitRate, ByteCount, ConnectionId, Flags, HostId, Kind, Packet, PathId, Service, Time, TimeDelta,
};
use trimline_transport::ndp::{self, Command, Config, Event};
use trimline_transport::{
    Allowed, Disposition, Endpoint as _, HostTables, Key, PathList, RngStream, Side,
};

pub(crate) fn us(us: u64) -> Time {
    Time::from_ps(us * 1_000_000)
}

pub(crate) const PORT: u16 = 7;

/// The paper's parameters.
pub(crate) fn config() -> Config {
    Config { time_wait: TimeDelta::from_ms(10), ..Config::paper(BitRate::from_gbps(10)) }
}

/// A directory like the simulator's, which reuses flow ids.
#[derive(Debug)]
pub(crate) struct Table {
    slots: BTreeMap<(u32, u32, bool, bool), u32>,
    free: Vec<u32>,
    next: u32,
    pub(crate) paths: u16,
}

impl Table {
    pub(crate) fn new(paths: u16) -> Table {
        Table { slots: BTreeMap::new(), free: Vec::new(), next: 0, paths }
    }
    fn name(key: Key) -> (u32, u32, bool, bool) {
        (key.peer.get(), key.connection.get(), key.opened_here, key.side == Side::Sending)
    }
}

impl HostTables for Table {
    fn find(&self, key: Key) -> Option<u32> {
        self.slots.get(&Table::name(key)).copied()
    }
    fn assign(&mut self, key: Key) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        });
        assert!(self.slots.insert(Table::name(key), slot).is_none(), "{key:?} assigned twice");
        slot
    }
    fn release(&mut self, key: Key, slot: u32) {
        assert_eq!(self.slots.remove(&Table::name(key)), Some(slot));
        self.free.push(slot);
    }
    fn paths(&self, _peer: HostId, paths: &mut PathList) {
        paths.extend((0..self.paths).map(PathId::new));
    }
    fn stream(&self, key: Key) -> RngStream {
        RngStream::seed_from_u64(u64::from(key.connection.get()) << 32 | u64::from(key.peer.get()))
    }
}

/// The impairment of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkAction {
    Pass,
    Drop,
    /// Trims DATA; passes anything else.
    Trim,
    /// Trims and returns DATA; passes anything else.
    Return,
    Twice,
    Hold(TimeDelta),
}

type Impairment = Box<dyn FnMut(Time, &Packet) -> LinkAction>;

pub(crate) struct Host {
    pub(crate) endpoint: ndp::Endpoint,
    pub(crate) directory: Table,
    nic_free: Time,
    wake: Time,
    /// Packet numbers given to the application, by (peer, connection).
    pub(crate) received: BTreeMap<(u32, u32), BTreeSet<u32>>,
    pub(crate) events: Vec<(Time, Event)>,
    pub(crate) sent: Vec<(Time, Packet)>,
    /// Pulls that may go together.
    together: u8,
    /// Highest pull counter sent, by (peer, connection, opened here).
    counters: BTreeMap<(u32, u32, bool), u32>,
}

#[derive(Default)]
struct Port {
    data: VecDeque<Packet>,
    headers: VecDeque<Packet>,
    busy: Option<Packet>,
    headers_in_turn: u32,
}

enum Happening {
    PortFree { destination: usize, hop: usize },
    Enter { destination: usize, hop: usize, packet: Packet },
    Arrive { packet: Packet },
    Wake { host: usize },
}

pub(crate) struct Network {
    pub(crate) now: Time,
    pub(crate) hosts: Vec<Host>,
    ports: Vec<Vec<Port>>,
    happenings: BTreeMap<(Time, u8, u64), Happening>,
    number: u64,
    pub(crate) impairment: Impairment,
    coin: RngStream,
    whim: RngStream,
    rate: BitRate,
    delay: TimeDelta,
    pub(crate) data_capacity: usize,
    pub(crate) header_capacity: usize,
    /// Calls without a reason, per thousand occasions.
    pub(crate) idle_calls: u64,
    pub(crate) trims: u64,
}

impl Network {
    /// Makes `hosts` hosts with `hops` switches between any two.
    pub(crate) fn new(hosts: usize, hops: usize, config: &Config) -> Network {
        let host = |number: usize| {
            let mut host = Host {
                endpoint: ndp::Endpoint::new(HostId::new(number as u32), config.clone()),
                directory: Table::new(8),
                nic_free: Time::ZERO,
                wake: Time::NEVER,
                received: BTreeMap::new(),
                events: Vec::new(),
                sent: Vec::new(),
                counters: BTreeMap::new(),
                together: config.ack_every,
            };
            let listen = Command::Listen { service_port: PORT };
            host.endpoint.handle_command(Time::ZERO, listen, &mut host.directory);
            host
        };
        Network {
            now: Time::ZERO,
            hosts: (0..hosts).map(host).collect(),
            ports: (0..hosts).map(|_| (0..hops).map(|_| Port::default()).collect()).collect(),
            happenings: BTreeMap::new(),
            number: 0,
            impairment: Box::new(|_, _| LinkAction::Pass),
            coin: RngStream::seed_from_u64(99),
            whim: RngStream::seed_from_u64(98),
            rate: config.link_rate,
            delay: TimeDelta::from_us(1),
            data_capacity: 8,
            header_capacity: 1125,
            idle_calls: 0,
            trims: 0,
        }
    }

    pub(crate) fn open(
        &mut self,
        from: usize,
        to: usize,
        connection: u32,
        length: Option<u64>,
    ) -> Key {
        self.open_in(from, to, connection, length, 0)
    }

    pub(crate) fn open_in(
        &mut self,
        from: usize,
        to: usize,
        connection: u32,
        length: Option<u64>,
        class: u8,
    ) -> Key {
        let peer = HostId::new(to as u32);
        let key = Key {
            peer,
            connection: ConnectionId::new(connection),
            opened_here: true,
            side: Side::Sending,
        };
        let mut paths = PathList::new();
        self.hosts[from].directory.paths(peer, &mut paths);
        let command = Command::Open {
            peer,
            connection: key.connection,
            service_port: PORT,
            class,
            length: length.map(ByteCount::new),
            payload: None,
            paths,
            stream: RngStream::seed_from_u64(u64::from(connection) + 1000 * from as u64),
        };
        self.command(from, command);
        key
    }

    pub(crate) fn command(&mut self, host: usize, command: Command) {
        let Host { endpoint, directory, .. } = &mut self.hosts[host];
        endpoint.handle_command(self.now, command, directory);
        self.serve(host);
    }

    /// Returns the key of the receive stream of a connection that `from` opened.
    pub(crate) fn receiving(from: usize, connection: u32) -> Key {
        Key {
            peer: HostId::new(from as u32),
            connection: ConnectionId::new(connection),
            opened_here: false,
            side: Side::Receiving,
        }
    }

    pub(crate) fn slot(&self, host: usize, key: Key) -> u32 {
        self.hosts[host].directory.find(key).expect("the side exists")
    }

    fn happen(&mut self, at: Time, happening: Happening) {
        let class = match happening {
            Happening::PortFree { .. } => 0,
            Happening::Enter { .. } => 1,
            Happening::Arrive { .. } => 2,
            Happening::Wake { .. } => 3,
        };
        self.number += 1;
        self.happenings.insert((at, class, self.number), happening);
    }

    pub(crate) fn run(&mut self, until: Time) {
        while let Some(entry) = self.happenings.first_entry() {
            let (at, _, _) = *entry.key();
            if at > until {
                break;
            }
            self.now = at;
            match entry.remove() {
                Happening::PortFree { destination, hop } => self.port_free(destination, hop),
                Happening::Enter { destination, hop, packet } => {
                    self.enter(destination, hop, packet);
                }
                Happening::Arrive { packet } => self.arrive(packet),
                Happening::Wake { host } => {
                    self.hosts[host].wake = Time::NEVER;
                    self.serve(host);
                }
            }
        }
        self.now = until;
    }

    /// Runs to the next event. Returns false, and does nothing, if it is after `limit`.
    pub(crate) fn step(&mut self, limit: Time) -> bool {
        let next = self.happenings.first_key_value().map(|(&(at, ..), _)| at);
        let next = next.filter(|&at| at <= limit);
        if let Some(at) = next {
            self.run(at);
        }
        next.is_some()
    }

    /// Lets a host act now, and schedules its next call.
    fn serve(&mut self, number: usize) {
        let now = self.now;
        if self.whim.next_u64() % 1000 < self.idle_calls {
            let Host { endpoint, directory, nic_free, .. } = &mut self.hosts[number];
            endpoint.handle_timeout(now, directory);
            endpoint.handle_timeout(now, directory);
            if *nic_free <= now && endpoint.transmit_at(Allowed::ALL) > now {
                assert_eq!(endpoint.poll_transmit(now, Allowed::ALL), None);
            }
        }
        let host = &mut self.hosts[number];
        if host.endpoint.poll_timeout() <= now {
            host.endpoint.handle_timeout(now, &mut host.directory);
            assert!(host.endpoint.poll_timeout() > now, "a timer that was handled is past");
        }
        while let Some(event) = host.endpoint.poll_event() {
            host.events.push((now, event));
        }
        if host.nic_free <= now {
            let promised = host.endpoint.transmit_at(Allowed::ALL) <= now;
            let packet = host.endpoint.poll_transmit(now, Allowed::ALL);
            assert_eq!(packet.is_some(), promised, "transmit_at tells when there is a packet");
            if let Some(packet) = packet {
                host.nic_free = now + self.rate.transmission(wire(&packet));
                host.record(now, &packet);
                let left = host.nic_free;
                self.leave(left, packet);
            }
        }
        let host = &mut self.hosts[number];
        let transmit = match host.endpoint.transmit_at(Allowed::ALL) {
            Time::NEVER => Time::NEVER,
            at => at.max(host.nic_free),
        };
        let wake = transmit.min(host.endpoint.poll_timeout()).max(now);
        if wake != Time::NEVER && wake != host.wake {
            host.wake = wake;
            self.happen(wake, Happening::Wake { host: number });
        }
    }

    /// Impairs a packet whose last bit left its host.
    fn leave(&mut self, at: Time, mut packet: Packet) {
        let action = (self.impairment)(at, &packet);
        let data = packet.header.kind == Kind::Data && packet.service == Service::Trimmable;
        let mut arrives = at + self.delay;
        match action {
            LinkAction::Drop => return,
            LinkAction::Trim if data => {
                packet.trim(64);
                self.trims += 1;
            }
            LinkAction::Return if data => {
                packet.trim(64);
                packet.bounce();
            }
            LinkAction::Twice => self.enter_at(arrives, packet),
            LinkAction::Hold(time) => arrives += time,
            _ => {}
        }
        self.enter_at(arrives, packet);
    }

    /// Puts a packet on the wire to its destination, past the impairment.
    pub(crate) fn enter_at(&mut self, at: Time, packet: Packet) {
        let destination = packet.destination.index();
        if self.ports[destination].is_empty() {
            self.happen(at, Happening::Arrive { packet });
        } else {
            self.happen(at, Happening::Enter { destination, hop: 0, packet });
        }
    }

    fn enter(&mut self, destination: usize, hop: usize, mut packet: Packet) {
        let coin = self.coin.next_u64().is_multiple_of(2);
        let (data_capacity, header_capacity) = (self.data_capacity, self.header_capacity);
        let port = &mut self.ports[destination][hop];
        let mut header = packet.service != Service::Trimmable;
        if !header && port.data.len() + usize::from(port.busy.is_some()) >= data_capacity {
            if let (true, Some(tail)) = (coin, port.data.back_mut()) {
                core::mem::swap(tail, &mut packet);
            }
            packet.trim(64);
            self.trims += 1;
            header = true;
        }
        if !header {
            port.data.push_back(packet);
        } else if port.headers.len() < header_capacity {
            port.headers.push_back(packet);
        } else if packet.service == Service::Trimmed {
            packet.bounce();
            let at = self.now + self.delay;
            self.enter_at(at, packet);
        }
        self.port_start(destination, hop);
    }

    fn port_start(&mut self, destination: usize, hop: usize) {
        let port = &mut self.ports[destination][hop];
        if port.busy.is_some() {
            return;
        }
        let headers =
            !port.headers.is_empty() && (port.headers_in_turn < 10 || port.data.is_empty());
        let packet = if headers { port.headers.pop_front() } else { port.data.pop_front() };
        let Some(packet) = packet else { return };
        port.headers_in_turn = if headers { port.headers_in_turn + 1 } else { 0 };
        port.busy = Some(packet);
        let at = self.now + self.rate.transmission(wire(&packet));
        self.happen(at, Happening::PortFree { destination, hop });
    }

    fn port_free(&mut self, destination: usize, hop: usize) {
        let packet = self.ports[destination][hop].busy.take().expect("a port frees what it sent");
        let at = self.now + self.delay;
        if hop + 1 < self.ports[destination].len() {
            self.happen(at, Happening::Enter { destination, hop: hop + 1, packet });
        } else {
            self.happen(at, Happening::Arrive { packet });
        }
        self.port_start(destination, hop);
    }

    fn arrive(&mut self, packet: Packet) {
        let number = packet.destination.index();
        let host = &mut self.hosts[number];
        let disposition = host.endpoint.handle_packet(self.now, &packet, &mut host.directory);
        if let Disposition::Accept { sequence, .. } = disposition {
            assert_eq!(sequence, packet.header.sequence);
            assert!(packet.service != Service::Trimmed, "a header has no payload to accept");
            let name = (packet.source.get(), packet.header.connection.get());
            let first = host.received.entry(name).or_default().insert(sequence);
            assert!(first, "packet {sequence} of {name:?} was delivered twice");
        }
        self.serve(number);
    }

    pub(crate) fn delivered_at(&self, host: usize, key: Key) -> Option<Time> {
        self.hosts[host].events.iter().rev().find_map(|&(at, event)| match event {
            Event::Delivered { key: of, .. } if of == key => Some(at),
            _ => None,
        })
    }

    pub(crate) fn acknowledged_at(&self, host: usize, key: Key) -> Option<Time> {
        self.hosts[host].events.iter().rev().find_map(|&(at, event)| match event {
            Event::Acknowledged { key: of, .. } if of == key => Some(at),
            _ => None,
        })
    }
}

impl Host {
    /// Records a packet that the NIC took, and checks its pull counter.
    fn record(&mut self, now: Time, packet: &Packet) {
        self.sent.push((now, *packet));
        if let Some(counter) = packet.header.pull_counter() {
            let opener = packet.header.flags.contains(Flags::FROM_OPENER);
            let name = (packet.destination.get(), packet.header.connection.get(), opener);
            let last = self.counters.entry(name).or_insert(0);
            assert!(counter >= *last, "a pull counter fell from {last} to {counter}");
            assert!(counter <= *last + u32::from(self.together), "a pull counter jumped");
            *last = counter;
        }
        if let Some(low) = packet.header.delayed_ack().and_then(|delayed_ack| delayed_ack.pulls) {
            let opener = packet.header.flags.contains(Flags::FROM_OPENER);
            let name = (packet.destination.get(), packet.header.connection.get(), opener);
            let last = self.counters.entry(name).or_insert(0);
            let rise = u32::from(low.wrapping_sub(*last as u16));
            assert!(rise <= u32::from(self.together), "a pull counter rose by {rise}");
            *last += rise;
        }
    }

    /// Returns the packets of one kind that this host sent.
    pub(crate) fn sent_kind(&self, kind: Kind) -> Vec<(Time, Packet)> {
        self.sent.iter().copied().filter(|(_, packet)| packet.header.kind == kind).collect()
    }
}

pub(crate) fn wire(packet: &Packet) -> ByteCount {
    ByteCount::new(u64::from(packet.wire_bytes))
}
