//! Connections with several subflows over several paths.

use proptest::prelude::*;
use trimline_packet::{BitRate, Kind, TimeDelta};
use trimline_transport::tcp::Config;

use crate::link::{LinkAction, Network, config, us};

fn subflows(subflows: u8) -> Config {
    Config { subflows, timestamps: true, receive_window: 8192, ..config() }
}

/// Returns a connection's share of a bottleneck beside one flow, in percent. Every segment is as likely to be lost:
/// pure tail drop would hit the growing flow.
fn share_beside_a_flow(several: &Config) -> usize {
    let single = Config { timestamps: true, ..config() };
    let mut network = Network::new(4, 1, several);
    network.configure(2, &single);
    network.configure(3, &single);
    network.capacity = 2000;
    network.early = 500;
    network.open(1, 0, 1, None);
    network.open(2, 3, 1, None);
    network.run(us(1_000_000));
    let before = (network.received(1), network.received(2));
    network.run(us(6_000_000));
    let (all, one) = (network.received(1) - before.0, network.received(2) - before.1);
    let share = 100 * all / (all + one);
    println!("{share} % beside one flow: {all} and {one} segments");
    share
}

/// RFC 6356, goal 2. A single flow grows eight times as fast as each subflow.
#[test]
fn eight_coupled_subflows_at_one_bottleneck_take_no_more_than_one_flow() {
    let share = share_beside_a_flow(&subflows(8));
    assert!((35..=65).contains(&share), "{share} %");
}

/// Eight uncoupled subflows take eight ninths.
#[test]
fn eight_uncoupled_subflows_take_what_eight_flows_take() {
    let share = share_beside_a_flow(&Config { coupled: false, ..subflows(8) });
    assert!((80..=94).contains(&share), "{share} %");
}

/// RFC 6356 3: of n equal subflows each grows by alpha / total = 1 / (n total) of a segment for each one acknowledged, at
/// any window.
#[test]
fn the_linked_increase_follows_the_windows() {
    let mut network = Network::new(2, 4, &subflows(4));
    network.capacity = 2000;
    // One segment of each path is lost, which ends slow start.
    let mut has_lost = [false; 4];
    network.impairment = Box::new(move |now, packet| {
        let path = usize::from(packet.header.path.get());
        let is_lost = packet.header.kind == Kind::Data && now > us(1_000) && !has_lost[path];
        has_lost[path] |= is_lost;
        if is_lost { LinkAction::Drop } else { LinkAction::Pass }
    });
    network.open(1, 0, 1, None);
    // Windows in 2^-16 segments, and the segments received.
    let state = |network: &Network| {
        let endpoint = &network.hosts[1].endpoint;
        let windows: u64 = (0..4).map(|subflow| endpoint.window(0, subflow)).sum();
        (windows, network.received(1) as u64)
    };
    network.run(us(50_000));
    let before = state(&network);
    network.run(us(250_000));
    let after = state(&network);
    let total = (before.0 + after.0) / 2;
    let (grown, expected) = (after.0 - before.0, ((after.1 - before.1) << 32) / (4 * total));
    assert!(
        grown.abs_diff(expected) < expected / 5,
        "{before:?} {after:?}: {grown}, expected {expected}"
    );
}

/// RFC 6356, goal 1, the purpose of subflows.
#[test]
fn subflows_fill_all_their_paths() {
    let mut network = Network::new(2, 4, &subflows(4));
    network.capacity = 60;
    network.open(1, 0, 1, None);
    network.run(us(200_000));
    let before = network.received(1);
    network.run(us(700_000));
    // Four links of 1 Gb/s carry 166,666 segments in half a second.
    let got = network.received(1) - before;
    assert!(got > 166_666 * 9 / 10, "{got} segments");
}

/// The whole is faster than twice the slow path.
#[test]
fn a_slow_path_does_not_hold_up_the_others() {
    let mut network = Network::new(2, 2, &subflows(2));
    network.capacity = 40;
    network.rates[0] = BitRate::from_bps(50_000_000);
    network.open(1, 0, 1, Some(50_000));
    network.run(us(20_000_000));
    // At 1.05 Gb/s it takes 0.571 s.
    let done = network.delivered_at(0).expect("it ends").as_ps() / 1_000_000_000;
    assert!(done < 700, "{done} ms");
}

#[test]
fn data_of_a_dead_path_is_sent_on_other_paths() {
    let mut network = Network::new(2, 2, &subflows(2));
    network.capacity = 60;
    network.impairment = Box::new(|now, packet| {
        let is_dead = packet.header.path.get() == 1 && now > us(50_000);
        if is_dead && packet.header.kind == Kind::Data {
            LinkAction::Drop
        } else {
            LinkAction::Pass
        }
    });
    network.open(1, 0, 1, Some(20_000));
    network.run(us(10_000_000));
    // 20,000 segments take 240 ms on one path.
    let done = network.delivered_at(0).expect("it ends").as_ps() / 1_000_000_000;
    assert!(done < 300, "{done} ms");
    assert!(network.acknowledged_at(1).is_some());
}

#[test]
fn a_lone_packet_reordered_between_subflows_costs_nothing() {
    let mut network = Network::new(2, 4, &subflows(4));
    network.impairment = Box::new(|_, packet| {
        // Path 3 is 300 us longer.
        if packet.header.path.get() == 3 {
            LinkAction::Hold(TimeDelta::from_us(300))
        } else {
            LinkAction::Pass
        }
    });
    network.open(1, 0, 1, Some(2_000));
    network.run(us(5_000_000));
    let statistics = network.hosts[1].endpoint.sender_statistics(0);
    assert_eq!((statistics.packets_sent, statistics.timeouts), (2_000, 0));
}

/// RFC 8684 3.3.6: the order of the timeouts does not matter.
#[test]
fn data_of_a_dead_path_is_sent_when_the_other_path_is_restored() {
    for dead in [0, 1] {
        let mut network = Network::new(2, 2, &subflows(2));
        network.capacity = 60;
        network.impairment = Box::new(move |now, packet| {
            let until = if packet.header.path.get() == dead { us(60_000_000) } else { us(90_000) };
            let is_lost = (us(50_000)..until).contains(&now);
            if is_lost && packet.header.kind == Kind::Data {
                LinkAction::Drop
            } else {
                LinkAction::Pass
            }
        });
        network.open(1, 0, 1, Some(20_000));
        network.run(us(20_000_000));
        assert_eq!(network.received(1), 20_000, "path {dead} is dead");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Everything arrives and is acknowledged, whatever other paths died before.
    #[test]
    fn one_working_path_is_enough(
        count in 4u8..=8,
        receive_window in prop_oneof![Just(10u16), Just(100), Just(8192)],
        outages in prop::collection::vec((0u64..40_000, 0u64..60_000), 4),
        dead in prop::collection::vec(any::<bool>(), 3),
        segments in 1u64..2000,
    ) {
        let mut network = Network::new(2, 4, &Config { receive_window, ..subflows(count) });
        network.capacity = 30;
        network.impairment = Box::new(move |now, packet| {
            let path = usize::from(packet.header.path.get());
            let (start, length) = outages[path];
            let is_dead = dead.get(path).is_some_and(|is_dead| *is_dead);
            let end = if is_dead { us(1 << 40) } else { us(start + length) };
            let is_data = packet.header.kind == Kind::Data && packet.wire_bytes > 64;
            if is_data && (us(start)..end).contains(&now) { LinkAction::Drop } else { LinkAction::Pass }
        });
        network.open(1, 0, 1, Some(segments));
        network.run(us(30_000_000));
        prop_assert_eq!(network.received(1) as u64, segments);
        prop_assert!(network.acknowledged_at(1).is_some());
    }
}
