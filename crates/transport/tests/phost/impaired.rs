//! Hosts against each other over links that lose, double and reorder every kind of packet.

use std::collections::BTreeMap;

use proptest::prelude::*;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use trimline_packet::{ByteCount, ConnectionId, HostId, Packet, PathId, Time, TimeDelta};
use trimline_transport::flow::{Command, Event};
use trimline_transport::phost::{Config, Endpoint, FreeTokens, Order, ReceiverRules};
use trimline_transport::{Allowed, Disposition, Endpoint as _, Stream};

use crate::lone::{Table, config};

const HOSTS: u32 = 4;
const FLOWS: u32 = 12;

struct World {
    now: Time,
    hosts: Vec<(Endpoint, Table)>,
    /// When each NIC is free.
    free: Vec<Time>,
    links: BTreeMap<(Time, u64), Packet>,
    dice: Stream,
    /// One packet in so many is lost.
    loss: u64,
    delivered: BTreeMap<u32, u32>,
    acknowledged: BTreeMap<u32, u32>,
    accepted: BTreeMap<(usize, u32, u32), u32>,
}

impl World {
    fn new(config: &Config, seed: u64, loss: u64) -> World {
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
            dice: Stream::seed_from_u64(seed),
            loss,
            delivered: BTreeMap::new(),
            acknowledged: BTreeMap::new(),
            accepted: BTreeMap::new(),
        }
    }

    fn open(&mut self, flow: u32) {
        let from = flow % HOSTS;
        let peer = HostId::new((from + 1 + self.dice.next_u64() as u32 % (HOSTS - 1)) % HOSTS);
        let (endpoint, table) = &mut self.hosts[from as usize];
        let command = Command::Open {
            peer,
            connection: ConnectionId::new(flow),
            class: 0,
            length: Some(ByteCount::new(self.dice.next_u64() % 60_000)),
            payload: None,
            paths: (0..4).map(PathId::new).collect(),
            stream: Stream::seed_from_u64(u64::from(flow)),
        };
        endpoint.handle_command(self.now, command, table);
    }

    fn carry(&mut self, packet: Packet) {
        let draw = self.dice.next_u64();
        if draw.is_multiple_of(self.loss) {
            return;
        }
        for copy in 0..1 + u64::from(draw.is_multiple_of(31)) {
            let delay = TimeDelta::from_ns(3000 + self.dice.next_u64() % 4000);
            self.links.insert((self.now + delay, self.dice.next_u64() ^ copy), packet);
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
            let (counts, key) = match event {
                Event::Delivered { key, .. } => (&mut self.delivered, key),
                Event::Acknowledged { key, .. } => (&mut self.acknowledged, key),
            };
            *counts.entry(key.connection.get()).or_default() += 1;
        }
        sent.into_iter().for_each(|packet| self.carry(packet));
    }

    /// The next time at which something happens.
    fn next(&self) -> Time {
        let arrival = self.links.first_key_value().map_or(Time::NEVER, |(&(time, _), _)| time);
        let of = |(number, (endpoint, _)): (usize, &(Endpoint, Table))| {
            let sends = endpoint.transmit_at(Allowed::ALL).max(self.free[number]);
            endpoint.poll_timeout().min(sends)
        };
        self.hosts.iter().enumerate().map(of).fold(arrival, Time::min)
    }

    fn run(&mut self) {
        while self.acknowledged.len() < FLOWS as usize {
            self.now = self.now.max(self.next());
            assert!(self.now < Time::from_ps(10_000_000_000_000), "a flow does not end");
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
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_flow_ends_and_nothing_is_delivered_twice(
        seed in any::<u64>(),
        loss in prop_oneof![Just(3), Just(20), Just(u64::MAX)],
        free_tokens in prop_oneof![Just(0), Just(1), Just(8)],
        token_window in prop_oneof![Just(1), Just(8)],
        is_short in any::<bool>(),
        is_fair in any::<bool>(),
        is_yaps in any::<bool>(),
    ) {
        let order = if is_fair { Order::Fair } else { Order::Srpt };
        let config = Config {
            free_tokens,
            free_for: if is_short { FreeTokens::ShortFlows } else { FreeTokens::AllFlows },
            token_window,
            receiver: if is_yaps { ReceiverRules::Yaps } else { ReceiverRules::Prompt },
            receiver_order: order,
            sender_order: order,
            ..config()
        };
        let mut world = World::new(&config, seed, loss);
        (0..FLOWS).for_each(|flow| world.open(flow));
        world.run();
        prop_assert_eq!(world.delivered.len(), FLOWS as usize);
        prop_assert!(world.delivered.values().chain(world.acknowledged.values()).all(|&n| n == 1));
        prop_assert!(world.accepted.values().all(|&count| count == 1));
    }
}
