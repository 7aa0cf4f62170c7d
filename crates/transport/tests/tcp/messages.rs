//! Connections that stay and carry message after message.

use proptest::prelude::*;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use trimline_packet::{BitRate, Kind, Time, TimeDelta};
use trimline_transport::tcp::{Config, Control, Handshake};
use trimline_transport::{RngStream, Side};

use crate::impaired::any_config;
use crate::link::{LinkAction, Network, config, us};

const SEGMENT: u64 = 1436;

/// Messages: bytes, and the microseconds before each.
fn messages() -> impl Strategy<Value = Vec<(u64, u64)>> {
    // At once; within a round trip; beyond the RTO; beyond time-wait and the range of a short time stamp.
    let idle = prop_oneof![Just(0u64), 1u64..200, 10_000u64..60_000, Just(700_000)];
    let length = prop_oneof![1u64..100, 1u64..60 * SEGMENT, Just(20 * SEGMENT)];
    prop::collection::vec((length, idle), 1..7)
}

/// Loses, doubles and delays packets; `loss` of a thousand are lost.
fn impair(network: &mut Network, seed: u64, loss: u64) {
    let mut dice = RngStream::seed_from_u64(seed);
    network.impairment = Box::new(move |_, _| match dice.next_u64() % 1000 {
        die if die < loss => LinkAction::Drop,
        die if die < loss * 3 / 2 => LinkAction::Twice,
        die if die < loss * 2 => LinkAction::Hold(TimeDelta::from_us(dice.next_u64() % 2000)),
        _ => LinkAction::Pass,
    });
}

fn any_loss() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0u64), Just(10), Just(100), Just(300)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_tcp_message_is_delivered_and_reported_once(
        config in any_config(),
        restart_after_idle: bool,
        seed: u64,
        loss in any_loss(),
        capacity in prop_oneof![Just(3usize), Just(10), Just(1000)],
        messages in messages(),
    ) {
        let mut network = Network::new(2, 4, &Config { restart_after_idle, ..config });
        network.capacity = capacity;
        network.mark_above = capacity / 3;
        network.idle_calls = 100;
        impair(&mut network, seed, loss);
        let (mut bytes, mut segments) = (0, 0);
        for (place, &(length, idle)) in messages.iter().enumerate() {
            let notified = [1, 0].map(|host| network.hosts[host].events.len());
            prop_assert_eq!(notified, [place, place], "before message {}", place);
            network.run(network.now + TimeDelta::from_us(idle));
            let notified = [1, 0].map(|host| network.hosts[host].events.len());
            prop_assert_eq!(notified, [place, place], "while nothing was handed over");
            match place {
                0 => network.open_bytes(1, 0, 1, Some(length)),
                _ => network.send(1, length),
            }
            let limit = network.now + TimeDelta::from_ms(60_000);
            prop_assert!(network.run_until_acknowledged(1, place + 1, limit), "message {}", place);
            prop_assert_eq!(network.hosts[0].count(Side::Receiving), place + 1);
            bytes += length;
            segments += length.div_ceil(SEGMENT);
            let seen = network.hosts[0].endpoint.receiver_statistics(0);
            prop_assert_eq!((seen.bytes, seen.packets), (bytes, segments));
            let received = &network.hosts[0].received[&(1, 1)];
            prop_assert!(received.iter().copied().eq(0..segments as u32));
        }
        network.run(network.now + TimeDelta::from_ms(2000));
        let notified = [1, 0].map(|host| network.hosts[host].events.len());
        prop_assert_eq!(notified, [messages.len(); 2], "at the end");
    }

    /// Messages that overlap may count as one.
    #[test]
    fn messages_queued_early_arrive(
        config in any_config(),
        seed: u64,
        loss in any_loss(),
        messages in messages(),
    ) {
        let mut network = Network::new(2, 4, &config);
        network.capacity = 30;
        impair(&mut network, seed, loss);
        network.open_bytes(1, 0, 1, Some(0));
        for &(length, idle) in &messages {
            network.send(1, length);
            network.run(network.now + TimeDelta::from_us(idle));
        }
        network.run(network.now + TimeDelta::from_ms(60_000));
        let seen = network.hosts[0].endpoint.receiver_statistics(0);
        prop_assert_eq!(seen.bytes, messages.iter().map(|&(length, _)| length).sum::<u64>());
        // The empty opening was acknowledged at once.
        let acknowledged = network.hosts[1].count(Side::Sending);
        prop_assert!((2..=messages.len() + 1).contains(&acknowledged), "{}", acknowledged);
        let delivered = network.hosts[0].count(Side::Receiving);
        prop_assert!((1..=messages.len()).contains(&delivered), "{}", delivered);
    }
}

/// A message's last ACKs end a subflow's repair of a timeout. The next message's first ACK was once taken for an answer
/// to that timeout's retransmission.
#[test]
fn a_recovery_that_outlives_its_message_ends_before_the_next() {
    let several = Config {
        initial_window: 3,
        control: Control::Dctcp { gain_shift: 4 },
        subflows: 8,
        coupled: true,
        ecn: true,
        frto: true,
        ack_every: 2,
        handshake: Handshake::Standing,
        rto_max: TimeDelta::from_ms(40),
        receive_window: 42,
        ..config()
    };
    for between in 0..100 {
        let mut network = Network::new(2, 4, &several);
        network.capacity = 3;
        network.mark_above = 1;
        network.idle_calls = 100;
        network.open_bytes(1, 0, 1, Some(20 * SEGMENT));
        assert!(network.run_until_acknowledged(1, 1, us(60_000_000)), "the first, {between} us");
        network.run(network.now + TimeDelta::from_us(between));
        network.send(1, 7 * SEGMENT + 1);
        let limit = network.now + TimeDelta::from_ms(60_000);
        assert!(network.run_until_acknowledged(1, 2, limit), "the second, {between} us later");
    }
}

/// A path with a round trip of 1 ms: a window goes long before its answer.
fn long_path(config: &Config, paths: usize) -> Network {
    let mut network = Network::new(2, paths, config);
    network.delay = TimeDelta::from_us(500);
    network.rates = vec![BitRate::from_gbps(10); paths];
    network
}

/// Runs a message. Returns the window of the first subflow at its end.
fn finish(network: &mut Network, times: usize) -> u64 {
    let limit = network.now + TimeDelta::from_ms(10_000);
    assert!(network.run_until_acknowledged(1, times, limit), "message {times}");
    network.hosts[1].endpoint.window(0, 0) >> 16
}

/// Sends a message of a window's size, `idle` after another. Returns the segments before its first ACK can be back, and
/// the window.
fn burst(config: &Config, idle: u64) -> (u64, u64) {
    let mut network = long_path(config, 2);
    network.open(1, 0, 1, Some(200));
    finish(&mut network, 1);
    network.run(network.now + TimeDelta::from_us(idle));
    let subflows =
        (0..config.subflows).map(|number| network.hosts[1].endpoint.window(0, number) >> 16);
    let (window, start) = (subflows.sum::<u64>(), network.now);
    network.send(1, window * SEGMENT);
    finish(&mut network, 2);
    let is_first = |at: Time| at >= start && at < start + TimeDelta::from_us(1000);
    let later = network.hosts[1].sent.iter().filter(|&&(at, _)| at >= start);
    assert!(later.clone().all(|(_, packet)| packet.wire_bytes > 64), "a second handshake");
    let sent = network.hosts[1].sent_data();
    (sent.iter().filter(|&&(at, _)| is_first(at)).count() as u64, window)
}

/// The members of the family, with subflows.
fn family() -> [Config; 4] {
    [
        config(),
        Config { control: Control::Cubic, sack: true, ..config() },
        Config { control: Control::Dctcp { gain_shift: 4 }, ecn: true, ..config() },
        Config { subflows: 2, timestamps: true, ..config() },
    ]
}

#[test]
fn an_idle_connection_keeps_its_window() {
    for config in family() {
        for idle in [0, 5_000, 30_000, 2_000_000] {
            let (sent, window) = burst(&config, idle);
            assert!(window > 50, "{config:?}: {window}");
            assert_eq!(sent, window, "after {idle} us: {config:?}");
        }
    }
}

/// RFC 5681 4.1.
#[test]
fn with_restart_after_idle_a_window_restarts_after_an_rto() {
    for config in family() {
        let config = Config { restart_after_idle: true, ..config };
        let (sent, window) = burst(&config, 5_000);
        assert_eq!(sent, window, "an RTO has not passed: {config:?}");
        let (sent, window) = burst(&config, 30_000);
        assert_eq!(sent, 4 * u64::from(config.subflows), "{window} before: {config:?}");
    }
    // The restarted window is never larger than before.
    let config = Config { restart_after_idle: true, initial_window: 100, ..config() };
    let mut network = long_path(&config, 1);
    network.impairment = Box::new(|now, packet| {
        let is_lost = packet.header.kind == Kind::Data && now < us(5_000);
        if is_lost { LinkAction::Drop } else { LinkAction::Pass }
    });
    network.open(1, 0, 1, Some(1));
    let small = finish(&mut network, 1);
    network.run(network.now + TimeDelta::from_ms(1000));
    network.send(1, SEGMENT);
    assert!(small < 10 && finish(&mut network, 2) <= small + 1, "{small}");
}

/// The first mark after a long time without marks takes as little of the window as before.
#[test]
fn an_idle_connection_keeps_its_alpha() {
    let config = Config {
        control: Control::Dctcp { gain_shift: 4 },
        ecn: true,
        initial_threshold: 20,
        ..config()
    };
    let mut network = long_path(&config, 1);
    network.open(1, 0, 1, Some(3000));
    let window = finish(&mut network, 1);
    network.run(network.now + TimeDelta::from_ms(50));
    network.rates = vec![BitRate::from_gbps(1)];
    network.mark_above = 5;
    let known = network.windows.len();
    network.send(1, 3 * window * SEGMENT);
    finish(&mut network, 2);
    let windows = &network.windows[known - 1..];
    let fall =
        windows.windows(2).find(|pair| pair[1].1 < pair[0].1).expect("a mark takes something");
    let percent = fall[1].1 * 100 / fall[0].1;
    assert!((85..100).contains(&percent), "{percent} % of {window} are left");
}

/// Returns the windows of a CUBIC sender before and after a long message, in 2^-16 segments. `wait` spends the seconds
/// since its only loss.
fn growth_after(config: &Config, wait: impl FnOnce(&mut Network)) -> (u64, u64) {
    let mut network = long_path(config, 1);
    let mut is_first = true;
    network.impairment = Box::new(move |_, packet| {
        let is_it = packet.header.kind == Kind::Data && packet.header.sequence == 500;
        if is_it && core::mem::take(&mut is_first) { LinkAction::Drop } else { LinkAction::Pass }
    });
    network.open(1, 0, 1, Some(1000));
    finish(&mut network, 1);
    assert_eq!(network.hosts[1].endpoint.sender_statistics(0).retransmissions_fast, 1);
    wait(&mut network);
    let (before, window) = (network.hosts[1].count(Side::Sending), window(&network));
    network.send(1, 1000 * SEGMENT);
    finish(&mut network, before + 1);
    (window, self::window(&network))
}

/// Returns the window of the first subflow of host 1, in 2^-16 segments.
fn window(network: &Network) -> u64 {
    network.hosts[1].endpoint.window(0, 0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// RFC 9438 4.2, 5.8: seconds of short messages, in sequence or overlapping, count as a pause. The long message may
    /// come before the last short one is acknowledged.
    #[test]
    fn application_limited_time_does_not_grow_the_window(
        ms in 1_000u64..6_000,
        gap_us in prop_oneof![200u64..900, 1_000u64..30_000],
        length in 1u64..4,
        sack: bool,
        ack_every in 1u8..3,
        is_idle: bool,
    ) {
        let ack_delay = TimeDelta::from_us(300);
        let config = Config {
            control: Control::Cubic,
            sack,
            ack_every,
            ack_delay,
            initial_window: 100,
            initial_threshold: 100,
            ..config()
        };
        let short = growth_after(&config, |network| {
            for _ in 0..ms * 1_000 / gap_us {
                network.send(1, length * SEGMENT);
                network.run(network.now + TimeDelta::from_us(gap_us));
            }
            if is_idle {
                network.run(network.now + TimeDelta::from_ms(10));
            }
        });
        let pause =
            growth_after(&config, |network| network.run(network.now + TimeDelta::from_ms(ms)));
        prop_assert_eq!(short.0, pause.0, "short messages alone leave the window");
        prop_assert!(short.1.abs_diff(pause.1) < 1 << 16, "{:?}, after a pause {:?}", short, pause);
    }
}

/// RFC 9438 4.2.
#[test]
fn idle_time_does_not_grow_the_window() {
    let config = Config { control: Control::Cubic, sack: true, initial_threshold: 10, ..config() };
    let mut network = long_path(&config, 1);
    network.open(1, 0, 1, Some(40));
    let mut window = finish(&mut network, 1);
    let begun = window;
    for times in 2..8 {
        network.run(network.now + TimeDelta::from_ms(10_000));
        network.send(1, 5 * window * SEGMENT);
        window = finish(&mut network, times);
    }
    assert!((begun..3 * begun).contains(&window), "from {begun} to {window}");
}

/// The connection was acknowledged while all of a subflow's segments were lost.
#[test]
fn a_subflow_that_had_lost_everything_carries_later_messages() {
    for healed in [true, false] {
        let config = Config { subflows: 2, timestamps: true, ..config() };
        let mut network = long_path(&config, 2);
        network.open(1, 0, 1, Some(20));
        finish(&mut network, 1);
        let lost = network.hosts[1].sent_data()[0].1.header.path;
        let until = if healed { network.now + TimeDelta::from_ms(12) } else { Time::NEVER };
        network.impairment = Box::new(move |now, packet| {
            if packet.header.path == lost && now < until {
                LinkAction::Drop
            } else {
                LinkAction::Pass
            }
        });
        network.send(1, 40 * SEGMENT);
        finish(&mut network, 2);
        network.run(network.now + TimeDelta::from_ms(100));
        let start = network.now;
        network.send(1, 2000 * SEGMENT);
        finish(&mut network, 3);
        let sent = network.hosts[1].sent_data();
        let later = sent.iter().filter(|&&(at, packet)| at >= start && packet.header.path == lost);
        let on_path = later.count();
        // The subflow begins with a segment, and its increase is linked.
        let expected = if healed { 20..1000 } else { 0..10 };
        assert!(expected.contains(&on_path), "{on_path} segments on the path, healed: {healed}");
    }
}

/// A short segment is resent short, with more behind it.
#[test]
fn the_last_segment_of_a_message_is_resent_as_it_was() {
    let mut network = long_path(&config(), 1);
    let mut is_first = true;
    network.impairment = Box::new(move |_, packet| {
        let is_short = packet.header.kind == Kind::Data && packet.wire_bytes == 64 + 100;
        if is_short && core::mem::take(&mut is_first) { LinkAction::Drop } else { LinkAction::Pass }
    });
    network.open_bytes(1, 0, 1, Some(SEGMENT + 100));
    network.run(us(1200));
    network.send(1, 5 * SEGMENT + 7);
    finish(&mut network, 1);
    let sizes: Vec<u16> = network.hosts[1]
        .sent_data()
        .iter()
        .filter(|(_, packet)| packet.header.sequence == 1)
        .map(|(_, packet)| packet.wire_bytes - 64)
        .collect();
    assert_eq!(sizes, [100, 100]);
    assert_eq!(network.hosts[0].endpoint.receiver_statistics(0).bytes, 6 * SEGMENT + 107);
}
