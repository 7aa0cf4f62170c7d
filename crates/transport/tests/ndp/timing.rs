//! Flows alone in the network, computed to the picosecond.

use trimline_packet::{ByteCount, Kind, Time, TimeDelta};
use trimline_transport::ndp::{Command, Config};

use crate::link::{Network, config, us};

const PACKET: u64 = 7_251_200;
const HEADER: u64 = 51_200;
const LINK: u64 = 1_000_000;

/// Returns completion times in ps (receiver, sender) of one flow behind `hops` switches.
fn flow(hops: usize, packets: u64, config: &Config) -> (u64, u64) {
    let mut network = Network::new(2, hops, config);
    let key = network.open(0, 1, 1, Some(packets * 9000));
    network.run(us(1_000_000));
    let received = network.delivered_at(1, Network::receiving(0, 1)).expect("the flow ends");
    let acked = network.acknowledged_at(0, key).expect("the flow ends");
    (received.as_ps(), acked.as_ps())
}

/// The base model of the paper's figures: six links of 10 Gb/s and 1 us, five switches.
/// NDP 3.2-a.
#[test]
fn the_base_model_is_exact() {
    let window = |initial_window| Config { initial_window, ..config() };
    assert_eq!(flow(5, 30, &window(10)).0, 259_792_000);
    assert_eq!(flow(5, 30, &window(23)).0, 259_792_000);
    assert_eq!(flow(5, 50, &window(30)).0, 404_816_000);
    assert_eq!(flow(5, 30, &window(1)).0, 1_668_124_800);
    assert_eq!(flow(5, 1, &window(30)).1, 55_814_400);
}

#[test]
fn a_window_of_two_fills_a_back_to_back_link() {
    let window = |initial_window| Config { initial_window, ..config() };
    assert_eq!(flow(0, 100, &window(2)).0, 100 * PACKET + LINK);
    let trip = PACKET + LINK + HEADER + LINK;
    assert_eq!(flow(0, 100, &window(1)).0, 99 * trip + PACKET + LINK);
}

/// The last PULLs of a window wait for the pacer, which is due as each packet arrives.
#[test]
fn separate_pull_packets_do_not_slow_a_lone_flow() {
    let config = Config { pull_ack: false, ..config() };
    assert_eq!(flow(5, 50, &config).0, 404_816_000);
}

#[test]
fn csg_spacing_slows_a_long_flow_by_its_percent() {
    let spacing = trimline_transport::ndp::PullSpacing::WireBytesScaled { percent: 101 };
    let config = Config { pull_spacing: spacing, initial_window: 10, ..config() };
    let (received, _) = flow(5, 2000, &config);
    let ideal = 2000 * PACKET;
    assert!((1_010..1_013).contains(&(received * 1000 / ideal)), "{received}");
}

/// NDP 3.2-p.
#[test]
fn later_data_needs_no_round_trip() {
    let mut network = Network::new(2, 5, &config());
    let key = network.open(0, 1, 1, Some(9000));
    network.run(us(200));
    let length = ByteCount::new(30 * 9000);
    network.command(0, Command::Send { key, length });
    network.run(us(2000));
    let received = network.delivered_at(1, Network::receiving(0, 1)).unwrap();
    assert_eq!(received - us(200), TimeDelta::from_ps(259_792_000));
    assert_eq!(network.hosts[1].received[&(0, 1)].len(), 31);
}

/// Data, answers and pulls of both directions share the NICs.
#[test]
fn data_may_flow_both_ways() {
    let mut network = Network::new(2, 2, &config());
    network.open(0, 1, 1, Some(900_000));
    network.run(us(30));
    let back = trimline_transport::Key {
        side: trimline_transport::Side::Sending,
        ..Network::receiving(0, 1)
    };
    network.command(1, Command::Send { key: back, length: ByteCount::new(450_000) });
    network.run(us(10_000));
    assert_eq!(network.hosts[1].received[&(0, 1)].len(), 100);
    assert_eq!(network.hosts[0].received[&(1, 1)].len(), 50);
    assert!(network.acknowledged_at(1, back).is_some());
}

/// The last flow ends within 1.5 % of the ideal, flows are served alike, and nothing times out. NDP 6.2-b.
#[test]
fn an_incast_fills_the_receivers_link() {
    let mut network = Network::new(41, 1, &config());
    // Not all start at one instant: the port would let the same senders through again and again.
    let keys: Vec<_> = (1..41u64)
        .map(|host| {
            network.run(Time::from_ps(host * 37 % 41 * PACKET / 41));
            network.open(host as usize, 0, 1, Some(450_000))
        })
        .collect();
    network.run(us(100_000));
    let ends: Vec<u64> = (1..41)
        .map(|host| network.delivered_at(0, Network::receiving(host, 1)).unwrap().as_ps())
        .collect();
    let ideal = 40 * 50 * PACKET + PACKET + 2 * LINK;
    let (first, last) = (ends.iter().min().unwrap(), ends.iter().max().unwrap());
    assert!(*last < ideal * 1015 / 1000, "{last} of {ideal}");
    assert!(last * 100 < first * 120, "{first} {last}");
    for (host, &key) in (1..41).zip(&keys) {
        let statistics = network.hosts[host].endpoint.sender_statistics(network.slot(host, key));
        assert_eq!(statistics.timeouts, 0);
    }
    assert!(network.trims > 0);
}

/// NDP 6.2, figure 21: A sends to B, C, D and E, and F to E.
/// NDP 6.2-a.
#[test]
fn sender_limited_traffic_shares_both_full_links() {
    let mut network = Network::new(6, 1, &config());
    for to in 1..5 {
        network.open(0, to, to as u32, None);
    }
    network.open(5, 4, 9, None);
    network.run(us(5_000));
    let count = |network: &Network, to: usize, from: u32, connection: u32| {
        network.hosts[to].received[&(from, connection)].len() as u64
    };
    let flows = |network: &Network| {
        let mut counts: Vec<u64> = (1..5).map(|to| count(network, to, 0, to as u32)).collect();
        counts.push(count(network, 4, 5, 9));
        counts
    };
    let before = flows(&network);
    network.run(us(25_000));
    let rates: Vec<u64> = flows(&network)
        .iter()
        .zip(before)
        .map(|(after, before)| (after - before) * 9000 * 8 / 20_000)
        .collect();
    // Mb/s; the paper has 2.51 2.51 2.50 2.38 7.55 Gb/s.
    let full: u64 = 9_929;
    let of_a: u64 = rates[..4].iter().sum();
    assert!(of_a > full * 97 / 100, "{rates:?}");
    assert!(rates[3] + rates[4] > full * 97 / 100, "{rates:?}");
    for rate in &rates[..4] {
        assert!((2_250..2_700).contains(rate), "{rates:?}");
    }
}

/// A prioritised sender finishes as if it were alone. NDP 6.2-b.
#[test]
fn a_prioritised_flow_overtakes_an_incast() {
    let mut network = Network::new(41, 1, &config());
    for host in 1..41 {
        network.open_in(host, 0, 1, Some(450_000), u8::from(host == 40));
    }
    network.run(us(100_000));
    let end = |host| network.delivered_at(0, Network::receiving(host, 1)).unwrap();
    let prioritised = end(40);
    assert!(prioritised < us(1_500), "{prioritised}");
    assert!((1..40).all(|host| end(host) > us(8_000)));
}

/// All PULLs of a lone flow ride in ACKs.
#[test]
fn a_lone_flow_sends_no_pull_packets() {
    let mut network = Network::new(2, 5, &config());
    network.open(0, 1, 1, Some(900_000));
    network.run(us(10_000));
    assert_eq!(network.hosts[1].sent_kind(Kind::Pull).len(), 0);
    assert_eq!(network.hosts[1].sent_kind(Kind::Ack).len(), 100);
}
