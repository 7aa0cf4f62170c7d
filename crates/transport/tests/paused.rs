//! Links that pause classes of packets: every transport says truly when it has something to send that is not paused. And
//! a connection with a payload of its own keeps to it beside others.

use std::collections::VecDeque;
use std::num::NonZeroU16;

use proptest::prelude::*;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use trimline_packet::{BitRate, ByteCount, ConnectionId, HostId, Packet, PathId, Service, Time};
use trimline_packet::{Kind, TimeDelta};
use trimline_transport::{
    Allowed, Endpoint, HostTables, Key, PathList, Stream, cbr, dcqcn, flow, homa, ndp, pfabric,
    phost, tcp,
};

/// Slots of the halves at one host.
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
    fn stream(&self, key: Key) -> Stream {
        Stream::seed_from_u64(u64::from(key.connection.get()))
    }
}

/// The payload of one of the connections; that of the others is 1436 B.
const OWN: Option<NonZeroU16> = NonZeroU16::new(512);

/// How often something was ready and paused, in the order control, data.
type Paused = [u32; 2];

/// Two hosts that send to each other over links which pause random classes at random times and lose, trim and return
/// packets. Checks every promise. Gives what was paused.
fn run<E: Endpoint<Command: From<flow::Command>>>(
    make: impl Fn(HostId) -> E,
    own: Option<NonZeroU16>,
    seed: u64,
) -> Paused {
    let mut dice = Stream::seed_from_u64(seed);
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
            stream: Stream::seed_from_u64(seed ^ u64::from(number)),
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
            // What is ready now does not depend on what is asked.
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
                    packet.turn_round();
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

fn ndp_host(host: HostId) -> ndp::Endpoint {
    let config = ndp::Config {
        framing_bytes: 0,
        initial_window: 10,
        marked: 0,
        aeolus: false,
        payload_bytes: 1436,
        link_rate: BitRate::from_gbps(10),
        pull_spacing: ndp::PullSpacing::WireBytes,
        pull_ack: true,
        credit_bank: true,
        ack_every: 1,
        core_rate: None,
        initial_window_bytes: 0,
        turn: 0,
        order: ndp::Order::Fair,
        rto: TimeDelta::from_ms(1),
        pull_repeat: TimeDelta::from_ms(1),
        backstop_unowed: TimeDelta::from_ms(1),
        backstop_owed: TimeDelta::from_ms(10),
        time_wait: TimeDelta::from_ms(1),
        path_penalty: None,
        pull_gaps: None,
        record_latencies: false,
    };
    ndp::Endpoint::new(host, config)
}

fn tcp_host(host: HostId) -> tcp::Endpoint {
    let config = tcp::Config {
        time_wait: TimeDelta::from_ms(10),
        payload_bytes: 1436,
        initial_window: 10,
        initial_threshold: u16::MAX,
        control: tcp::Control::NewReno,
        subflows: 2,
        coupled: true,
        ecn: false,
        sack: false,
        dsack: false,
        timestamps: false,
        frto: false,
        handshake: tcp::Handshake::ThreeWay,
        ack_every: 1,
        ack_delay: TimeDelta::from_ms(1),
        rto_initial: TimeDelta::from_us(500),
        rto_min: TimeDelta::from_us(500),
        rto_max: TimeDelta::from_ms(500),
        receive_window: 4096,
        restart_after_idle: false,
        grows_when_marked: false,
        alpha_from_zero: false,
        notifications: tcp::Notifications::Ignored,
    };
    tcp::Endpoint::new(host, config)
}

fn cbr_host(host: HostId) -> cbr::Endpoint {
    let config = cbr::Config {
        payload_bytes: 1436,
        rate: BitRate::from_gbps(1),
        clock_lag: TimeDelta::from_ps(0),
        marks_unscheduled: false,
    };
    cbr::Endpoint::new(host, config)
}

fn phost_host(host: HostId) -> phost::Endpoint {
    let packet_times = |count: u64| TimeDelta::from_ns(count * 1200);
    let config = phost::Config {
        payload_bytes: 1436,
        packet_time: packet_times(1),
        free_tokens: 8,
        free_for: phost::FreeTokens::AllFlows,
        token_window: 8,
        token_expiry: packet_times(10),
        downgrade: packet_times(25),
        resend: packet_times(9),
        receiver: phost::ReceiverRules::Prompt,
        rts_repeat: packet_times(100),
        time_wait: TimeDelta::from_ms(1),
        receiver_order: phost::Order::Srpt,
        sender_order: phost::Order::Srpt,
    };
    phost::Endpoint::new(host, config)
}

fn pfabric_host(host: HostId) -> pfabric::Endpoint {
    let config = pfabric::Config {
        payload_bytes: 1436,
        window: 12,
        priority: pfabric::Priority::Remaining,
        rto: TimeDelta::from_us(100),
        probe_after: 5,
        fastlane: true,
        time_wait: TimeDelta::from_ms(1),
    };
    pfabric::Endpoint::new(host, config)
}

fn homa_host(host: HostId) -> homa::Endpoint {
    let config = homa::Config {
        payload_bytes: 1436,
        overhead_bytes: 76,
        packet_time: TimeDelta::from_ns(1200),
        rtt_bytes: 10_000,
        unscheduled_bytes: 9328,
        marked: 0,
        aeolus: false,
        boost_bytes: 10_000,
        unscheduled_levels: 5,
        cutoffs: vec![300, 1500, 5000, 9000],
        scheduled_levels: 3,
        overcommitment: 3,
        resend: TimeDelta::from_us(200),
        retry: TimeDelta::from_us(400),
        backoff: TimeDelta::from_us(100),
        ending: homa::Ending::Acknowledged,
        time_wait: TimeDelta::from_ms(1),
    };
    homa::Endpoint::new(host, config)
}

fn dcqcn_host(host: HostId) -> dcqcn::Endpoint {
    let config = dcqcn::Config {
        payload_bytes: 1436,
        rto: TimeDelta::from_us(500),
        ..dcqcn::Config::published(BitRate::from_gbps(10))
    };
    dcqcn::Endpoint::new(host, config)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn ndp_sends_what_it_promises_whatever_is_paused(seed in any::<u64>()) {
        let paused = run(ndp_host, OWN, seed);
        prop_assert!(paused.iter().all(|&count| count > 20), "{paused:?}");
    }

    #[test]
    fn tcp_sends_what_it_promises_whatever_is_paused(seed in any::<u64>()) {
        let paused = run(tcp_host, OWN, seed);
        prop_assert!(paused.iter().all(|&count| count > 20), "{paused:?}");
    }

    #[test]
    fn phost_sends_what_it_promises_whatever_is_paused(seed in any::<u64>()) {
        let paused = run(phost_host, OWN, seed);
        prop_assert!(paused.iter().all(|&count| count > 20), "{paused:?}");
    }

    #[test]
    fn pfabric_sends_what_it_promises_whatever_is_paused(seed in any::<u64>()) {
        let paused = run(pfabric_host, OWN, seed);
        prop_assert!(paused.iter().all(|&count| count > 20), "{paused:?}");
    }

    #[test]
    fn homa_sends_what_it_promises_whatever_is_paused(seed in any::<u64>()) {
        let paused = run(homa_host, None, seed);
        prop_assert!(paused.iter().all(|&count| count > 20), "{paused:?}");
    }

    #[test]
    fn dcqcn_sends_what_it_promises_whatever_is_paused(seed in any::<u64>()) {
        let paused = run(dcqcn_host, OWN, seed);
        prop_assert!(paused.iter().all(|&count| count > 20), "{paused:?}");
    }

    #[test]
    fn cbr_sends_what_it_promises_whatever_is_paused(seed in any::<u64>()) {
        let [control, data] = run(cbr_host, OWN, seed);
        prop_assert!(control == 0 && data > 20, "it has data alone: {control} {data}");
    }
}
