//! Hosts of any transport over links that lose, double and reorder every kind of packet.

use std::collections::BTreeMap;

use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use trimline_packet::{ByteCount, ConnectionId, HostId, Packet, PathId, Service, Time, TimeDelta};
use trimline_transport::flow::{Command, Event};
use trimline_transport::{
    Allowed, Disposition, Endpoint, HostTables, Key, PathList, RngStream, Side,
};

pub(crate) const FLOWS: u32 = 12;

/// Flow ids of the streams at one host.
#[derive(Default)]
pub(crate) struct Table {
    keys: Vec<Key>,
    /// Paths to any peer; 0 means 1.
    pub(crate) paths: u16,
    /// True if every connection outside the table counts as forgotten.
    pub(crate) has_forgotten: bool,
}

impl Table {
    pub(crate) fn len(&self) -> u32 {
        self.keys.len() as u32
    }

    /// Returns the flow id of the receive stream of a connection.
    pub(crate) fn receiving(&self, connection: ConnectionId) -> Option<u32> {
        let is_it = |key: &Key| key.connection == connection && key.side == Side::Receiving;
        self.keys.iter().position(is_it).map(|slot| slot as u32)
    }
}

impl HostTables for Table {
    fn find(&self, key: Key) -> Option<u32> {
        self.keys.iter().position(|known| *known == key).map(|slot| slot as u32)
    }
    fn assign(&mut self, key: Key) -> u32 {
        self.keys.push(key);
        self.keys.len() as u32 - 1
    }
    fn accepts(&self, _key: Key) -> bool {
        !self.has_forgotten
    }
    fn release(&mut self, _key: Key, _slot: u32) {}
    fn paths(&self, _peer: HostId, paths: &mut PathList) {
        paths.extend((0..self.paths.max(1)).map(PathId::new));
    }
    fn stream(&self, key: Key) -> RngStream {
        RngStream::seed_from_u64(u64::from(key.connection.get()))
    }
}

/// The port before host 0: it drops the least urgent packet when `room` packets wait, and may notify its sender.
pub(crate) struct Port {
    pub(crate) room: usize,
    /// Drops per thousand that are not notified.
    pub(crate) unnotified: u64,
    pub(crate) queue: Vec<Packet>,
    pub(crate) free: Time,
}

/// A test's assertions about a packet that a host sends.
type Check<E> = Box<dyn Fn(&E, &Table, &Packet)>;

pub(crate) struct World<E> {
    pub(crate) now: Time,
    pub(crate) hosts: Vec<(E, Table)>,
    /// Times at which the NICs are free.
    free: Vec<Time>,
    links: BTreeMap<(Time, u64), Packet>,
    dice: RngStream,
    /// One packet in `loss` is lost.
    loss: u64,
    /// The links drop every packet before this time.
    pub(crate) works_from: Time,
    /// Time by which every flow must have ended.
    pub(crate) limit: Time,
    pub(crate) port: Option<Port>,
    pub(crate) check: Option<Check<E>>,
    /// Deliveries and acknowledgements by connection.
    pub(crate) delivered: BTreeMap<u32, u32>,
    pub(crate) acknowledged: BTreeMap<u32, u32>,
    /// Acceptances of each packet: host, flow id, sequence.
    pub(crate) accepted: BTreeMap<(usize, u32, u32), u32>,
}

impl<E: Endpoint<Command = Command, Event = Event>> World<E> {
    /// Makes hosts that listen.
    pub(crate) fn new(count: u32, make: impl Fn(HostId) -> E, seed: u64, loss: u64) -> World<E> {
        let host = |number| (make(HostId::new(number)), Table::default());
        let mut hosts: Vec<(E, Table)> = (0..count).map(host).collect();
        for (endpoint, table) in &mut hosts {
            endpoint.handle_command(Time::ZERO, Command::Listen, table);
        }
        World {
            now: Time::ZERO,
            hosts,
            free: vec![Time::ZERO; count as usize],
            links: BTreeMap::new(),
            dice: RngStream::seed_from_u64(seed),
            loss,
            works_from: Time::ZERO,
            limit: Time::from_ps(100_000_000_000_000),
            port: None,
            check: None,
            delivered: BTreeMap::new(),
            acknowledged: BTreeMap::new(),
            accepted: BTreeMap::new(),
        }
    }

    /// Opens all flows, of up to 60 kB: to host 0 if it has a port, else to any host.
    pub(crate) fn open_all(&mut self) {
        let hosts = self.hosts.len() as u32;
        for flow in 0..FLOWS {
            let (from, to) = match self.port {
                Some(_) => (1 + flow % (hosts - 1), 0),
                None => {
                    let from = flow % hosts;
                    (from, (from + 1 + self.dice.next_u64() as u32 % (hosts - 1)) % hosts)
                }
            };
            let bytes = self.dice.next_u64() % 60_000;
            self.open(from, to, flow, bytes);
        }
    }

    pub(crate) fn open(&mut self, from: u32, to: u32, flow: u32, bytes: u64) {
        let command = Command::Open {
            peer: HostId::new(to),
            connection: ConnectionId::new(flow),
            class: 0,
            length: Some(ByteCount::new(bytes)),
            payload: None,
            paths: (0..4).map(PathId::new).collect(),
            stream: RngStream::seed_from_u64(u64::from(flow)),
        };
        let (endpoint, table) = &mut self.hosts[from as usize];
        endpoint.handle_command(self.now, command, table);
    }

    fn after(&mut self, ns: u64, packet: Packet) {
        let at = self.now + TimeDelta::from_ns(ns);
        self.links.insert((at, self.dice.next_u64()), packet);
    }

    /// Carries a packet that leaves a host.
    fn carry(&mut self, packet: Packet) {
        let draw = self.dice.next_u64();
        if draw.is_multiple_of(self.loss) || self.now < self.works_from {
            return;
        }
        let is_doubled = self.loss < u64::MAX && draw.is_multiple_of(31);
        for _ in 0..1 + u64::from(is_doubled) {
            let delay = 3000 + self.dice.next_u64() % 4000;
            if self.port.is_some() && packet.destination.get() == 0 {
                self.enqueue(packet);
            } else {
                self.after(delay, packet);
            }
        }
    }

    /// Puts a packet into the port's queue.
    fn enqueue(&mut self, packet: Packet) {
        let port = self.port.as_mut().expect("there is a port");
        port.queue.push(packet);
        if port.queue.len() <= port.room {
            return;
        }
        let rank = |packet: &Packet| match packet.service.service() {
            Service::Droppable => packet.header.extra,
            _ => 0,
        };
        let place = (0..port.queue.len()).max_by_key(|&place| (rank(&port.queue[place]), place));
        let mut lost = port.queue.remove(place.expect("a packet waits"));
        if self.dice.next_u64() % 1000 >= port.unnotified {
            lost.notify();
            self.after(4000, lost);
        }
    }

    /// Sends the port's most urgent packet.
    fn dequeue(&mut self) {
        let now = self.now;
        let Some(port) = &mut self.port else { return };
        if port.queue.is_empty() || port.free > now {
            return;
        }
        let first = (0..port.queue.len()).min_by_key(|&place| port.queue[place].header.extra);
        let packet = port.queue.remove(first.expect("a packet waits"));
        port.free = now + TimeDelta::from_ps(u64::from(packet.wire_bytes) * 800);
        self.after(4000, packet);
    }

    fn host(&mut self, number: usize) {
        let now = self.now;
        let (endpoint, table) = &mut self.hosts[number];
        if endpoint.poll_timeout() <= now {
            endpoint.handle_timeout(now, table);
            assert!(endpoint.poll_timeout() > now, "a timer that was handled is past");
        }
        let mut sent = Vec::new();
        while self.free[number] <= now && endpoint.transmit_at(Allowed::ALL) <= now {
            let packet = endpoint.poll_transmit(now, Allowed::ALL).expect("what was promised");
            if let Some(check) = &self.check {
                check(endpoint, table, &packet);
            }
            self.free[number] = now + TimeDelta::from_ps(u64::from(packet.wire_bytes) * 800);
            sent.push(packet);
        }
        while let Some(event) = endpoint.poll_event() {
            let (counts, key) = match event {
                Event::Delivered { key, .. } => (&mut self.delivered, key),
                Event::Acknowledged { key, .. } => (&mut self.acknowledged, key),
            };
            *counts.entry(key.connection.get()).or_default() += 1;
        }
        sent.into_iter().for_each(|packet| self.carry(packet));
    }

    /// Returns the time of the next action.
    fn next(&self) -> Time {
        let arrival = self.links.first_key_value().map_or(Time::NEVER, |(&(time, _), _)| time);
        let waits = |port: &&Port| !port.queue.is_empty();
        let port = self.port.as_ref().filter(waits).map_or(Time::NEVER, |port| port.free);
        let of = |(number, (endpoint, _)): (usize, &(E, Table))| {
            let sends = endpoint.transmit_at(Allowed::ALL).max(self.free[number]);
            endpoint.poll_timeout().min(sends)
        };
        self.hosts.iter().enumerate().map(of).fold(arrival.min(port), Time::min)
    }

    /// Runs until a time, or until `is_over`. Returns when it stopped.
    pub(crate) fn run_until(&mut self, end: Time, is_over: impl Fn(&World<E>) -> bool) -> Time {
        while !is_over(self) {
            let next = self.now.max(self.next());
            if next > end {
                break;
            }
            self.now = next;
            self.dequeue();
            while let Some(entry) = self.links.first_entry()
                && entry.key().0 <= self.now
            {
                let packet = entry.remove();
                let number = packet.destination.index();
                let (endpoint, table) = &mut self.hosts[number];
                if let Disposition::Accept { slot, sequence } =
                    endpoint.handle_packet(self.now, &packet, table)
                {
                    *self.accepted.entry((number, slot, sequence)).or_default() += 1;
                }
            }
            (0..self.hosts.len()).for_each(|number| self.host(number));
        }
        self.now
    }

    /// Runs until every flow was acknowledged, and returns that time.
    pub(crate) fn run(&mut self) -> Time {
        let has_all = |world: &World<E>| world.acknowledged.len() == FLOWS as usize;
        let end = self.run_until(self.limit, has_all);
        assert!(has_all(self), "a flow does not end");
        end
    }

    /// True if every flow was delivered and acknowledged once, and every packet accepted once.
    pub(crate) fn is_each_once(&self) -> bool {
        self.delivered.len() == FLOWS as usize
            && self.delivered.values().chain(self.acknowledged.values()).all(|&count| count == 1)
            && self.accepted.values().all(|&count| count == 1)
    }
}
