//! A virtual network: hosts with NICs of one rate, and before each destination a queue that drops what does not fit and
//! marks above a threshold. An impairment may drop, double or delay packets before it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use trimline_packet::{
    BitRate, ByteCount, ConnectionId, HostId, Kind, Packet, PathId, Service, Time, TimeDelta,
};
use trimline_transport::tcp::{Command, Config, Endpoint, Event};
use trimline_transport::{
    Allowed, Disposition, Endpoint as _, HostTables, Key, PathList, RngStream, Side,
};

pub(crate) fn us(us: u64) -> Time {
    Time::from_ps(us * 1_000_000)
}

/// A NewReno configuration that answers every segment, with timers for a data centre.
pub(crate) fn config() -> Config {
    Config { initial_window: 4, ..Config::new_reno(1436, TimeDelta::from_ms(10)) }
}

#[derive(Debug, Default)]
pub(crate) struct Table {
    slots: BTreeMap<(u32, u32, bool), u32>,
    paths: u16,
    /// True if every connection outside the table counts as forgotten.
    pub(crate) has_forgotten: bool,
}

impl Table {
    pub(crate) fn new(paths: u16) -> Table {
        Table { paths, ..Table::default() }
    }

    fn name(key: Key) -> (u32, u32, bool) {
        (key.peer.get(), key.connection.get(), key.side == Side::Sending)
    }
}

impl HostTables for Table {
    fn find(&self, key: Key) -> Option<u32> {
        self.slots.get(&Table::name(key)).copied()
    }
    fn assign(&mut self, key: Key) -> u32 {
        let slot = self.slots.len() as u32;
        assert!(self.slots.insert(Table::name(key), slot).is_none(), "{key:?} assigned twice");
        slot
    }
    fn accepts(&self, _key: Key) -> bool {
        !self.has_forgotten
    }
    fn release(&mut self, _key: Key, _slot: u32) {}
    fn paths(&self, _peer: HostId, paths: &mut PathList) {
        paths.extend((0..self.paths).map(PathId::new));
    }
    fn stream(&self, key: Key) -> RngStream {
        RngStream::seed_from_u64(u64::from(key.connection.get()) << 32 | u64::from(key.peer.get()))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkAction {
    Pass,
    Drop,
    /// Drops the packet at the end of the first delay, and notifies its sender from there.
    Notify,
    Twice,
    Hold(TimeDelta),
}

pub(crate) struct Host {
    pub(crate) endpoint: Endpoint,
    directory: Table,
    nic_free: Time,
    wake: Time,
    /// Segments that the application got, by (peer, connection).
    pub(crate) received: BTreeMap<(u32, u32), BTreeSet<u32>>,
    pub(crate) events: Vec<(Time, Event)>,
    pub(crate) sent: Vec<(Time, Packet)>,
}

/// The queue of one path to one host; the packet on the wire is its first.
#[derive(Default)]
struct Queue {
    packets: VecDeque<Packet>,
}

enum Happening {
    Free { host: usize, path: usize },
    Enter { packet: Packet },
    Arrive { packet: Packet },
    Wake { host: usize },
}

type Impairment = Box<dyn FnMut(Time, &Packet) -> LinkAction>;

pub(crate) struct Network {
    pub(crate) now: Time,
    pub(crate) hosts: Vec<Host>,
    queues: Vec<Vec<Queue>>,
    happenings: BTreeMap<(Time, u64), Happening>,
    number: u64,
    pub(crate) impairment: Impairment,
    pub(crate) nic: BitRate,
    /// Rates of the queues before a host, by path.
    pub(crate) rates: Vec<BitRate>,
    pub(crate) delay: TimeDelta,
    /// Capacity of a queue, in packets.
    pub(crate) capacity: usize,
    /// The chance in 100,000 that a segment is dropped at a full queue; less in a shorter queue.
    pub(crate) early: u64,
    /// A packet with ECT that finds more packets than this is marked.
    pub(crate) mark_above: usize,
    whim: RngStream,
    /// Calls without a reason, per thousand occasions.
    pub(crate) idle_calls: u64,
    pub(crate) dropped: u64,
    /// True if a full queue trims data to its header, which joins the queue behind all packets.
    pub(crate) trims: bool,
    /// Number of data packets to trim whatever the queue holds.
    pub(crate) trims_next: usize,
    /// True if drops are notified. `lost_notices` of a thousand notifications are lost; `notified` counts the others.
    pub(crate) notifies: bool,
    pub(crate) lost_notices: u64,
    pub(crate) notified: u64,
    /// Lengths of the queue to host 0 on path 0, as data arrives there.
    pub(crate) lengths: Vec<(Time, usize)>,
    /// Windows of the first subflow of the first connection of host 1, at each change.
    pub(crate) windows: Vec<(Time, u64)>,
}

impl Network {
    /// Makes a network with 10 Gb/s at the NICs, 1 Gb/s at the queues, 20 us each way.
    pub(crate) fn new(hosts: usize, paths: usize, config: &Config) -> Network {
        let host = |number: usize| {
            let mut host = Host {
                endpoint: Endpoint::new(HostId::new(number as u32), config.clone()),
                directory: Table::new(paths as u16),
                nic_free: Time::ZERO,
                wake: Time::NEVER,
                received: BTreeMap::new(),
                events: Vec::new(),
                sent: Vec::new(),
            };
            host.endpoint.handle_command(Time::ZERO, Command::Listen, &mut host.directory);
            host
        };
        Network {
            now: Time::ZERO,
            hosts: (0..hosts).map(host).collect(),
            queues: (0..hosts).map(|_| (0..paths).map(|_| Queue::default()).collect()).collect(),
            happenings: BTreeMap::new(),
            number: 0,
            impairment: Box::new(|_, _| LinkAction::Pass),
            nic: BitRate::from_gbps(10),
            rates: vec![BitRate::from_gbps(1); paths],
            delay: TimeDelta::from_us(20),
            capacity: usize::MAX,
            early: 0,
            mark_above: usize::MAX,
            whim: RngStream::seed_from_u64(98),
            idle_calls: 0,
            dropped: 0,
            trims: false,
            trims_next: 0,
            notifies: false,
            lost_notices: 0,
            notified: 0,
            lengths: Vec::new(),
            windows: Vec::new(),
        }
    }

    /// Gives a host that has no connections other parameters.
    pub(crate) fn configure(&mut self, host: usize, config: &Config) {
        let mut endpoint = Endpoint::new(HostId::new(host as u32), config.clone());
        let host = &mut self.hosts[host];
        endpoint.handle_command(Time::ZERO, Command::Listen, &mut host.directory);
        host.endpoint = endpoint;
    }

    pub(crate) fn open(&mut self, from: usize, to: usize, connection: u32, segments: Option<u64>) {
        self.open_bytes(from, to, connection, segments.map(|segments| segments * 1436));
    }

    pub(crate) fn open_bytes(
        &mut self,
        from: usize,
        to: usize,
        connection: u32,
        length: Option<u64>,
    ) {
        let peer = HostId::new(to as u32);
        let mut paths = PathList::new();
        self.hosts[from].directory.paths(peer, &mut paths);
        let command = Command::Open {
            peer,
            connection: ConnectionId::new(connection),
            class: 0,
            length: length.map(ByteCount::new),
            payload: None,
            paths,
            stream: RngStream::seed_from_u64(u64::from(connection) + 1000 * from as u64),
        };
        let Host { endpoint, directory, .. } = &mut self.hosts[from];
        endpoint.handle_command(self.now, command, directory);
        self.serve(from);
    }

    /// Sends more bytes on connection 1 of a host, to host 0.
    pub(crate) fn send(&mut self, from: usize, length: u64) {
        let length = ByteCount::new(length);
        let Host { endpoint, directory, .. } = &mut self.hosts[from];
        endpoint.handle_command(self.now, Command::Send { key: SENDING, length }, directory);
        self.serve(from);
    }

    /// Runs until connection 1 of a host has reported `times` acknowledgements. Returns whether it did before `limit`.
    pub(crate) fn run_until_acknowledged(
        &mut self,
        from: usize,
        times: usize,
        limit: Time,
    ) -> bool {
        while self.hosts[from].count(Side::Sending) < times {
            match self.happenings.first_key_value() {
                Some((&(at, _), _)) if at <= limit => self.run(at),
                _ => return false,
            }
        }
        true
    }

    fn happen(&mut self, at: Time, happening: Happening) {
        self.number += 1;
        self.happenings.insert((at, self.number), happening);
    }

    pub(crate) fn run(&mut self, until: Time) {
        while let Some(entry) = self.happenings.first_entry() {
            let (at, _) = *entry.key();
            if at > until {
                break;
            }
            self.now = at;
            match entry.remove() {
                Happening::Free { host, path } => self.free(host, path),
                Happening::Enter { packet } => self.enter(packet),
                Happening::Arrive { packet } => self.arrive(&packet),
                Happening::Wake { host } => {
                    self.hosts[host].wake = Time::NEVER;
                    self.serve(host);
                }
            }
        }
        self.now = until;
    }

    fn serve(&mut self, number: usize) {
        let now = self.now;
        let Host { endpoint, directory, nic_free, events, sent, .. } = &mut self.hosts[number];
        if self.whim.next_u64() % 1000 < self.idle_calls {
            endpoint.handle_timeout(now, directory);
            endpoint.handle_timeout(now, directory);
            if *nic_free <= now && endpoint.transmit_at(Allowed::ALL) > now {
                assert_eq!(endpoint.poll_transmit(now, Allowed::ALL), None);
            }
        }
        if endpoint.poll_timeout() <= now {
            endpoint.handle_timeout(now, directory);
            assert!(endpoint.poll_timeout() > now, "a timer that was handled is past");
        }
        while let Some(event) = endpoint.poll_event() {
            events.push((now, event));
        }
        if *nic_free <= now {
            let promised = endpoint.transmit_at(Allowed::ALL) <= now;
            let packet = endpoint.poll_transmit(now, Allowed::ALL);
            assert_eq!(packet.is_some(), promised, "transmit_at tells when there is a packet");
            if let Some(packet) = packet {
                *nic_free = now + self.nic.transmission(wire(&packet));
                sent.push((now, packet));
                let at = *nic_free;
                self.leave(at, packet);
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
        if number == 1
            && let Some(slot) = self.hosts[1].directory.find(SENDING)
        {
            let window = self.hosts[1].endpoint.window(slot, 0);
            if self.windows.last().map(|&(_, last)| last) != Some(window) {
                self.windows.push((now, window));
            }
        }
    }

    fn leave(&mut self, at: Time, packet: Packet) {
        let mut enters = at + self.delay;
        match (self.impairment)(at, &packet) {
            LinkAction::Drop => return,
            LinkAction::Notify => return self.notify(enters, packet),
            LinkAction::Twice => self.happen(enters, Happening::Enter { packet }),
            LinkAction::Hold(time) => enters += time,
            LinkAction::Pass => {}
        }
        self.happen(enters, Happening::Enter { packet });
    }

    fn enter(&mut self, mut packet: Packet) {
        let (host, path) = (self.queue_of(&packet), usize::from(packet.header.path.get()));
        let queue = &mut self.queues[host][path].packets;
        if packet.header.kind == Kind::Data && (host, path) == (0, 0) {
            self.lengths.push((self.now, queue.len()));
        }
        let rng = self.early * queue.len() as u64 / self.capacity as u64;
        let is_early = self.early > 0
            && packet.header.kind == Kind::Data
            && self.whim.next_u64() % 100_000 < rng;
        let is_full = queue.len() >= self.capacity;
        let is_data = packet.header.kind == Kind::Data && packet.wire_bytes > 64;
        if is_data && self.trims_next > 0 {
            self.trims_next -= 1;
            packet.trim(64);
        } else if is_full && self.trims && packet.service == Service::Trimmable {
            packet.trim(64);
        } else if is_full && !self.trims || is_early {
            self.dropped += 1;
            if self.notifies {
                self.notify(self.now, packet);
            }
            return;
        }
        if queue.len() > self.mark_above && packet.marks & Packet::MARK_ECT != 0 {
            packet.marks |= Packet::MARK_CE;
        }
        queue.push_back(packet);
        if queue.len() == 1 {
            let at = self.now + self.rates[path].transmission(wire(&packet));
            self.happen(at, Happening::Free { host, path });
        }
    }

    /// Sends a notification to the sender of a dropped packet, ahead of all queues.
    fn notify(&mut self, at: Time, mut packet: Packet) {
        let is_lost = self.whim.next_u64() % 1000 < self.lost_notices;
        packet.notify();
        if !is_lost {
            self.notified += 1;
            self.happen(at + self.delay, Happening::Arrive { packet });
        }
    }

    /// Host 3 is behind the queue of host 0.
    fn queue_of(&self, packet: &Packet) -> usize {
        match packet.destination.index() {
            3 => 0,
            host => host,
        }
    }

    fn free(&mut self, host: usize, path: usize) {
        let queue = &mut self.queues[host][path].packets;
        let packet = queue.pop_front().expect("a queue frees what it sent");
        if let Some(next) = queue.front() {
            let at = self.now + self.rates[path].transmission(wire(next));
            self.happen(at, Happening::Free { host, path });
        }
        self.happen(self.now, Happening::Arrive { packet });
    }

    fn arrive(&mut self, packet: &Packet) {
        let number = packet.destination.index();
        let host = &mut self.hosts[number];
        let disposition = host.endpoint.handle_packet(self.now, packet, &mut host.directory);
        if let Disposition::Accept { sequence, .. } = disposition {
            let name = (packet.source.get(), packet.header.connection.get());
            let first = host.received.entry(name).or_default().insert(sequence);
            assert!(first, "segment {sequence} of {name:?} was delivered twice");
        }
        self.serve(number);
    }

    /// Gives a host a packet of the test.
    pub(crate) fn deliver(&mut self, host: usize, packet: &Packet) {
        let Host { endpoint, directory, .. } = &mut self.hosts[host];
        endpoint.handle_packet(self.now, packet, directory);
        self.serve(host);
    }

    pub(crate) fn delivered_at(&self, host: usize) -> Option<Time> {
        self.hosts[host].events.iter().find_map(|&(at, event)| match event {
            Event::Delivered { .. } => Some(at),
            Event::Acknowledged { .. } => None,
        })
    }

    pub(crate) fn acknowledged_at(&self, host: usize) -> Option<Time> {
        self.hosts[host].events.iter().find_map(|&(at, event)| match event {
            Event::Acknowledged { .. } => Some(at),
            Event::Delivered { .. } => None,
        })
    }

    /// Returns the segments that host 0, or host 3 behind the same queue, got from another host.
    pub(crate) fn received(&self, from: u32) -> usize {
        let at = |host: &Host| host.received.get(&(from, 1)).map_or(0, BTreeSet::len);
        at(&self.hosts[0]) + self.hosts.get(3).map_or(0, at)
    }
}

/// Connection 1 to host 0, at its opener.
const SENDING: Key = Key {
    peer: HostId::new(0),
    connection: ConnectionId::new(1),
    opened_here: true,
    side: Side::Sending,
};

impl Host {
    /// Returns how many messages the streams of one side have reported.
    pub(crate) fn count(&self, side: Side) -> usize {
        let of = |event: &Event| match event {
            Event::Delivered { .. } => Side::Receiving,
            Event::Acknowledged { .. } => Side::Sending,
        };
        self.events.iter().filter(|(_, event)| of(event) == side).count()
    }

    pub(crate) fn sent_data(&self) -> Vec<(Time, Packet)> {
        let is_data = |packet: &Packet| packet.header.kind == Kind::Data && packet.wire_bytes > 64;
        self.sent.iter().copied().filter(|(_, packet)| is_data(packet)).collect()
    }

    /// Returns how often each segment was sent.
    pub(crate) fn times_sent(&self) -> BTreeMap<u32, usize> {
        let mut times = BTreeMap::new();
        for (_, packet) in self.sent_data() {
            *times.entry(packet.header.sequence).or_default() += 1;
        }
        times
    }
}

pub(crate) fn wire(packet: &Packet) -> ByteCount {
    ByteCount::new(u64::from(packet.wire_bytes))
}
