//! Connections that stay and carry message after message.

use proptest::prelude::*;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use trimline_packet::{ByteCount, Kind, TimeDelta};
use trimline_transport::ndp::{Config, Event};
use trimline_transport::{Key, RngStream, flow};

use crate::link::{LinkAction, Network, config, us};

/// Messages: bytes, and the microseconds before each.
fn messages() -> impl Strategy<Value = Vec<(u64, u64)>> {
    // At once; within a round trip; beyond the RTO; beyond time-wait.
    let idle = prop_oneof![Just(0u64), 1u64..100, 1_000u64..9_000, 10_000u64..50_000];
    let length = prop_oneof![1u64..9000, 1u64..60 * 9000, Just(20 * 9000)];
    prop::collection::vec((length, idle), 1..7)
}

/// Returns the messages that receiver and sender have reported.
fn notified(network: &Network) -> [usize; 2] {
    let count = |host: usize, is_notified: fn(&Event) -> bool| {
        network.hosts[host].events.iter().filter(|(_, event)| is_notified(event)).count()
    };
    let refused = |event: &Event| matches!(event, Event::Refused { .. });
    assert_eq!(count(0, refused) + count(1, refused), 0);
    [
        count(1, |event| matches!(event, Event::Delivered { .. })),
        count(0, |event| matches!(event, Event::Acknowledged { .. })),
    ]
}

fn send(network: &mut Network, key: Key, length: u64) {
    let length = ByteCount::new(length);
    network.command(0, flow::Command::Send { key, length }.into());
}

/// Runs until the sender has reported `times` messages. Returns false after ten seconds.
fn run_until_acknowledged(network: &mut Network, times: usize) -> bool {
    let limit = network.now + TimeDelta::from_ms(10_000);
    while notified(network)[1] < times {
        if !network.step(limit) {
            return false;
        }
    }
    true
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn every_ndp_message_is_delivered_and_reported_once(
        seed: u64,
        loss in prop_oneof![Just(0u64), Just(10), Just(60)],
        trims in prop_oneof![Just(0u64), Just(200)],
        returns in prop_oneof![Just(0u64), Just(200)],
        initial_window in 1u32..40,
        pull_ack: bool,
        messages in messages(),
    ) {
        let config = Config {
            initial_window,
            pull_ack,
            backstop_owed: TimeDelta::from_ms(20),
            ..config()
        };
        let mut network = Network::new(2, 1, &config);
        network.idle_calls = 100;
        let mut dice = RngStream::seed_from_u64(seed);
        network.impairment = Box::new(move |_, _| match dice.next_u64() % 1000 {
            die if die < loss => LinkAction::Drop,
            die if die < loss * 3 / 2 => LinkAction::Twice,
            die if die < loss * 2 => LinkAction::Hold(TimeDelta::from_us(dice.next_u64() % 300)),
            die if die < 200 + trims => LinkAction::Trim,
            die if die >= 1000 - returns => LinkAction::Return,
            _ => LinkAction::Pass,
        });
        let (mut bytes, mut packets) = (0, 0);
        let mut key = None;
        for (place, &(length, idle)) in messages.iter().enumerate() {
            prop_assert_eq!(notified(&network), [place, place], "before message {}", place);
            network.run(network.now + TimeDelta::from_us(idle));
            prop_assert_eq!(notified(&network), [place, place], "while nothing was handed over");
            match key {
                None => key = Some(network.open(0, 1, 1, Some(length))),
                Some(key) => send(&mut network, key, length),
            }
            prop_assert!(run_until_acknowledged(&mut network, place + 1), "message {}", place);
            prop_assert_eq!(notified(&network), [place + 1, place + 1]);
            bytes += length;
            packets += length.div_ceil(9000);
            let seen = network.hosts[1].endpoint.receiver_statistics(0);
            prop_assert_eq!((seen.bytes, seen.packets), (bytes, packets));
            let received = &network.hosts[1].received[&(0, 1)];
            prop_assert!(received.iter().copied().eq(0..packets as u32));
        }
        network.run(network.now + TimeDelta::from_ms(200));
        prop_assert_eq!(notified(&network), [messages.len(); 2], "at the end");
    }
}

/// NDP 3.2-p: a window is pushed however long the sender was idle.
#[test]
fn a_first_window_of_each_message_is_pushed() {
    for idle in [0, 500, 50_000] {
        let mut network = Network::new(2, 1, &config());
        let key = network.open(0, 1, 1, Some(100 * 9000));
        assert!(run_until_acknowledged(&mut network, 1));
        network.run(network.now + TimeDelta::from_us(idle));
        let start = network.now;
        send(&mut network, key, 30 * 9000);
        network.run(start + TimeDelta::from_us(30 * 8));
        let sent = network.hosts[0].sent_kind(Kind::Data);
        let pushed = sent.iter().filter(|&&(at, _)| at >= start).count();
        assert!(pushed >= 30, "{pushed} after {idle} us");
        assert!(run_until_acknowledged(&mut network, 2));
        assert!(network.now < start + TimeDelta::from_us(300) && network.now > us(0));
    }
}
