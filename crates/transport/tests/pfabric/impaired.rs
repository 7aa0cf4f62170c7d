//! Hosts against each other around one port with a few packets of room, by urgency, which drops and perhaps tells; and
//! links that lose, double and reorder every kind of packet.

use std::collections::BTreeMap;

use proptest::prelude::*;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use trimline_packet::{ByteCount, ConnectionId, HostId, Packet, PathId, Service, Time, TimeDelta};
use trimline_transport::flow::{Command, Event};
use trimline_transport::pfabric::{Config, Endpoint, Priority};
use trimline_transport::{Allowed, Disposition, Endpoint as _, Stream};

use crate::lone::{Table, config};

const HOSTS: u32 = 6;
const FLOWS: u32 = 12;

struct World {
    now: Time,
    hosts: Vec<(Endpoint, Table)>,
    /// When each NIC is free.
    free: Vec<Time>,
    links: BTreeMap<(Time, u64), Packet>,
    /// What waits for host 0, and when its link is free.
    queue: Vec<Packet>,
    queue_free: Time,
    room: usize,
    dice: Stream,
    /// One packet in so many is lost.
    loss: u64,
    /// So many notifications of a thousand are lost; more than all: there are none.
    untold: u64,
    delivered: BTreeMap<u32, u32>,
    acknowledged: BTreeMap<u32, Time>,
    accepted: BTreeMap<(usize, u32, u32), u32>,
}

impl World {
    fn new(config: &Config, seed: u64, loss: u64, room: usize, untold: u64) -> World {
        let host = |number| (Endpoint::new(HostId::new(number), config.clone()), Table::default());
        let mut hosts: Vec<(Endpoint, Table)> = (0..HOSTS).map(host).collect();
        for (endpoint, table) in &mut hosts {
            endpoint.handle_command(Time::ZERO, Command::Listen, table);
        }
        World {
            now: Time::ZERO,
            hosts,
            free: vec![Time::ZERO; HOSTS as usize],
            links: BTreeMap::new(),
            queue: Vec::new(),
            queue_free: Time::ZERO,
            room,
            dice: Stream::seed_from_u64(seed),
            loss,
            untold,
            delivered: BTreeMap::new(),
            acknowledged: BTreeMap::new(),
            accepted: BTreeMap::new(),
        }
    }

    fn open(&mut self, flow: u32) {
        let from = 1 + flow % (HOSTS - 1);
        let (endpoint, table) = &mut self.hosts[from as usize];
        let command = Command::Open {
            peer: HostId::new(0),
            connection: ConnectionId::new(flow),
            class: 0,
            length: Some(ByteCount::new(self.dice.next_u64() % 60_000)),
            payload: None,
            paths: (0..4).map(PathId::new).collect(),
            stream: Stream::seed_from_u64(u64::from(flow)),
        };
        endpoint.handle_command(self.now, command, table);
    }

    fn after(&mut self, ns: u64, packet: Packet) {
        let at = self.now + TimeDelta::from_ns(ns);
        self.links.insert((at, self.dice.next_u64()), packet);
    }

    /// A packet leaves a host.
    fn carry(&mut self, packet: Packet) {
        let draw = self.dice.next_u64();
        if draw.is_multiple_of(self.loss) {
            return;
        }
        for _ in 0..1 + u64::from(self.loss < u64::MAX && draw.is_multiple_of(31)) {
            let delay = 3000 + self.dice.next_u64() % 4000;
            match packet.destination.get() {
                0 => self.queued(packet),
                _ => self.after(delay, packet),
            }
        }
    }

    /// A packet comes to the port of host 0: the least urgent is dropped.
    fn queued(&mut self, packet: Packet) {
        self.queue.push(packet);
        if self.queue.len() <= self.room {
            return;
        }
        let rank = |packet: &Packet| match packet.service.service() {
            Service::Droppable => packet.header.extra,
            _ => 0,
        };
        let place = (0..self.queue.len()).max_by_key(|&place| (rank(&self.queue[place]), place));
        let mut lost = self.queue.remove(place.expect("a packet waits"));
        if self.dice.next_u64() % 1000 >= self.untold {
            lost.notify();
            self.after(4000, lost);
        }
    }

    fn host(&mut self, number: usize) {
        let now = self.now;
        let (endpoint, table) = &mut self.hosts[number];
        if endpoint.poll_timeout() <= now {
            endpoint.handle_timeout(now, table);
        }
        let mut sent = Vec::new();
        while self.free[number] <= now && endpoint.transmit_at(Allowed::ALL) <= now {
            let packet = endpoint.poll_transmit(now, Allowed::ALL).expect("what was promised");
            let time = TimeDelta::from_ps(u64::from(packet.wire_bytes) * 800);
            self.free[number] = now + time;
            sent.push(packet);
        }
        while let Some(event) = endpoint.poll_event() {
            match event {
                Event::Delivered { key, .. } => {
                    *self.delivered.entry(key.connection.get()).or_default() += 1;
                }
                Event::Acknowledged { key, .. } => {
                    let twice = self.acknowledged.insert(key.connection.get(), now);
                    assert_eq!(twice, None, "a flow ends once");
                }
            }
        }
        sent.into_iter().for_each(|packet| self.carry(packet));
    }

    /// The next time at which something happens.
    fn next(&self) -> Time {
        let arrival = self.links.first_key_value().map_or(Time::NEVER, |(&(time, _), _)| time);
        let port = if self.queue.is_empty() { Time::NEVER } else { self.queue_free };
        let of = |(number, (endpoint, _)): (usize, &(Endpoint, Table))| {
            let sends = endpoint.transmit_at(Allowed::ALL).max(self.free[number]);
            endpoint.poll_timeout().min(sends)
        };
        self.hosts.iter().enumerate().map(of).fold(arrival.min(port), Time::min)
    }

    /// Runs until all flows have ended. Gives when.
    fn run(&mut self) -> Time {
        while self.acknowledged.len() < FLOWS as usize {
            self.now = self.now.max(self.next());
            assert!(self.now < Time::from_ps(10_000_000_000_000), "a flow does not end");
            if !self.queue.is_empty() && self.queue_free <= self.now {
                let most =
                    (0..self.queue.len()).min_by_key(|&place| self.queue[place].header.extra);
                let packet = self.queue.remove(most.expect("a packet waits"));
                self.queue_free = self.now + TimeDelta::from_ps(u64::from(packet.wire_bytes) * 800);
                self.after(4000, packet);
            }
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
        self.acknowledged.values().copied().max().expect("flows have ended")
    }

    fn timeouts(&self) -> u64 {
        let of = |(endpoint, _): &(Endpoint, Table)| -> u64 {
            (0..2).map(|slot| endpoint.sender_statistics(slot).timeouts).sum()
        };
        self.hosts[1..].iter().map(of).sum()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 80, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_flow_ends_and_nothing_is_delivered_twice(
        seed in any::<u64>(),
        loss in prop_oneof![Just(3), Just(20), Just(u64::MAX)],
        room in 1usize..40,
        untold in prop_oneof![Just(0), Just(500), Just(1000)],
        window in prop_oneof![Just(1), Just(8), Just(40)],
        (fastlane, is_total) in (any::<bool>(), any::<bool>()),
    ) {
        let priority = if is_total { Priority::Total } else { Priority::Remaining };
        let config = Config { window, priority, fastlane, ..config() };
        let mut world = World::new(&config, seed, loss, room, untold);
        (0..FLOWS).for_each(|flow| world.open(flow));
        world.run();
        prop_assert!(world.delivered.len() == FLOWS as usize);
        prop_assert!(world.delivered.values().all(|&count| count == 1));
        prop_assert!(world.accepted.values().all(|&count| count == 1));
    }
}

/// FastLane 3.4.2, 3.3.2: told of every drop nobody waits for a time-out; without notifications flows still end.
#[test]
fn notifications_take_the_place_of_timeouts() {
    let config = Config { fastlane: true, ..config() };
    let [all, half, none] = [0, 500, 1000].map(|untold| {
        let mut world = World::new(&config, 5, u64::MAX, 12, untold);
        (0..FLOWS).for_each(|flow| world.open(flow));
        let end = world.run();
        (end, world.timeouts())
    });
    assert!(all.1 == 0 && half.1 > 0 && none.1 > 0, "{all:?} {half:?} {none:?}");
    assert!(all.0 < half.0 && all.0 < none.0, "{all:?} {half:?} {none:?}");
}
