//! Links that pause classes of packets: a transport promises exactly the packets that are ready and not paused. A
//! connection keeps to its own payload beside others.

use std::collections::VecDeque;
use std::num::NonZeroU16;

use proptest::prelude::*;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use trimline_packet::{ByteCount, ConnectionId, HostId, Packet, PathId, Service, Time};
use trimline_packet::{Kind, TimeDelta};
use trimline_transport::{Allowed, Endpoint, HostTables, Key, PathList, RngStream, flow};

use crate::hosts::{
    both_host, cbr_host, dcqcn_host, homa_host, hpcc_host, ndp_host, nscc_host, pfabric_host,
    phost_host, rccc_host, selective_hpcc_host, tcp_host,
};

/// Flow ids of the streams at one host.
#[derive(Default)]
struct Table(Vec<Option<Key>>);

impl HostTables for Table {
    fn find(&self, key: Key) -> Option<u32> {
        self.0.iter().position(|known| *known == Some(key)).map(|slot| slot as u32)
    }
    fn assign(&mut self, key: Key) -> u32 {
        self.0.push(Some(key));
        self.0.len() as u32 - 1
    }
    fn release(&mut self, _key: Key, slot: u32) {
        self.0[slot as usize] = None;
    }
    fn paths(&self, _peer: HostId, paths: &mut PathList) {
        paths.extend((0..4).map(PathId::new));
    }
    fn stream(&self, key: Key) -> RngStream {
        RngStream::seed_from_u64(u64::from(key.connection.get()))
    }
}

/// The payload of one connection; the others have 1436 B.
const OWN: Option<NonZeroU16> = NonZeroU16::new(512);

/// Counts of ready but paused packets: control, data.
type Paused = [u32; 2];

/// Runs two hosts that send to each other over links which pause random classes at random times and lose, trim and
/// return packets. Checks every promise. Returns the paused counts.
fn run<E: Endpoint<Command: From<flow::Command>>>(
    make: impl Fn(HostId) -> E,
    own: Option<NonZeroU16>,
    seed: u64,
) -> Paused {
    let mut dice = RngStream::seed_from_u64(seed);
    let mut hosts = [0, 1].map(|number| (make(HostId::new(number)), Table::default()));
    for (number, (endpoint, table)) in (0..).zip(&mut hosts) {
        endpoint.handle_command(Time::ZERO, flow::Command::Listen.into(), table);
        let open = flow::Command::Open {
            peer: HostId::new(1 - number),
            connection: ConnectionId::new(number),
            class: 0,
            length: Some(ByteCount::new(300_000)),
            payload: own.filter(|_| number == 0),
            paths: (0..4).map(PathId::new).collect(),
            stream: RngStream::seed_from_u64(seed ^ u64::from(number)),
        };
        endpoint.handle_command(Time::ZERO, open.into(), table);
    }
    let mut now = Time::ZERO;
    let mut links: [VecDeque<Packet>; 2] = Default::default();
    let mut paused = Paused::default();
    let mut largest = [0; 2];
    for _ in 0..3000 {
        now += TimeDelta::from_ns(dice.next_u64() % 4000);
        for number in 0..2 {
            let (endpoint, table) = &mut hosts[number];
            if dice.next_u64() % 3 > 0
                && let Some(packet) = links[number].pop_front()
            {
                endpoint.handle_packet(now, &packet, table);
            }
            if endpoint.poll_timeout() <= now {
                endpoint.handle_timeout(now, table);
            }
            while endpoint.poll_event().is_some() {}
            // The answer does not depend on earlier calls.
            let whenever = endpoint.transmit_at(Allowed::ALL);
            for bits in 0..=u8::MAX {
                let allowed = Allowed::from_bits(bits);
                let at = endpoint.transmit_at(allowed);
                assert!(at >= whenever, "a pause brings nothing forward");
                if at > now {
                    assert_eq!(endpoint.poll_transmit(now, allowed), None, "{allowed:?}");
                }
            }
            assert_eq!(endpoint.transmit_at(Allowed::ALL), whenever, "no poll changed anything");
            let data = Allowed::from_bits(!(1 << Packet::CONTROL_CLASS));
            for (count, without) in paused.iter_mut().zip([data, Allowed::CONTROL]) {
                *count += u32::from(whenever <= now && endpoint.transmit_at(without) > now);
            }
            let allowed = match dice.next_u64() % 4 {
                0 => Allowed::CONTROL,
                1 => data,
                2 => Allowed::from_bits(dice.next_u64() as u8),
                _ => Allowed::ALL,
            };
            let promised = endpoint.transmit_at(allowed) <= now;
            let packet = endpoint.poll_transmit(now, allowed);
            assert_eq!(packet.is_some(), promised, "{allowed:?} at {now}");
            let Some(mut packet) = packet else { continue };
            assert!(allowed.class(packet.class()), "{allowed:?} let {packet:?} through");
            if packet.header.kind == Kind::Data {
                largest[number] = packet.wire_bytes.max(largest[number]);
            }
            let is_trimmable = packet.service == Service::Trimmable;
            match dice.next_u64() % 16 {
                0 if packet.header.kind == Kind::Data => continue,
                1 if is_trimmable => _ = packet.trim(64),
                2 if is_trimmable => {
                    packet.trim(64);
                    packet.bounce();
                }
                _ => {}
            }
            links[packet.destination.index()].push_back(packet);
        }
    }
    let full = [own.map_or(1436, NonZeroU16::get), 1436];
    assert_eq!(largest, full.map(|payload| E::FRAMING.wire_bytes(payload)));
    paused
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn ndp_sends_exactly_the_ready_packets_of_unpaused_classes(seed in any::<u64>()) {
        let paused = run(ndp_host, OWN, seed);
        prop_assert!(paused.iter().all(|&count| count > 20), "{paused:?}");
    }

    #[test]
    fn tcp_sends_exactly_the_ready_packets_of_unpaused_classes(seed in any::<u64>()) {
        let paused = run(tcp_host, OWN, seed);
        prop_assert!(paused.iter().all(|&count| count > 20), "{paused:?}");
    }

    #[test]
    fn phost_sends_exactly_the_ready_packets_of_unpaused_classes(seed in any::<u64>()) {
        let paused = run(phost_host, OWN, seed);
        prop_assert!(paused.iter().all(|&count| count > 20), "{paused:?}");
    }

    #[test]
    fn pfabric_sends_exactly_the_ready_packets_of_unpaused_classes(seed in any::<u64>()) {
        let paused = run(pfabric_host, OWN, seed);
        prop_assert!(paused.iter().all(|&count| count > 20), "{paused:?}");
    }

    #[test]
    fn homa_sends_exactly_the_ready_packets_of_unpaused_classes(seed in any::<u64>()) {
        let paused = run(homa_host, None, seed);
        prop_assert!(paused.iter().all(|&count| count > 20), "{paused:?}");
    }

    #[test]
    fn dcqcn_sends_exactly_the_ready_packets_of_unpaused_classes(seed in any::<u64>()) {
        let paused = run(dcqcn_host, OWN, seed);
        prop_assert!(paused.iter().all(|&count| count > 20), "{paused:?}");
    }

    #[test]
    fn nscc_sends_exactly_the_ready_packets_of_unpaused_classes(seed in any::<u64>()) {
        let paused = run(nscc_host, OWN, seed);
        prop_assert!(paused.iter().all(|&count| count > 20), "{paused:?}");
    }

    #[test]
    fn rccc_sends_exactly_the_ready_packets_of_unpaused_classes(seed in any::<u64>()) {
        for host in [rccc_host, both_host] {
            let paused = run(host, OWN, seed);
            prop_assert!(paused.iter().all(|&count| count > 20), "{paused:?}");
        }
    }

    #[test]
    fn hpcc_sends_exactly_the_ready_packets_of_unpaused_classes(seed in any::<u64>()) {
        for host in [hpcc_host, selective_hpcc_host] {
            let paused = run(host, OWN, seed);
            prop_assert!(paused.iter().all(|&count| count > 20), "{paused:?}");
        }
    }

    #[test]
    fn cbr_sends_exactly_the_ready_packets_of_unpaused_classes(seed in any::<u64>()) {
        let [control, data] = run(cbr_host, OWN, seed);
        prop_assert!(control == 0 && data > 20, "it has data alone: {control} {data}");
    }
}
