//! Flows that share a link, and their queues.

use trimline_packet::{BitRate, Time, TimeDelta};
use trimline_transport::tcp::{Config, Control};

use crate::link::{Network, config, us};

/// Returns the segments of endless flows of hosts 1.. in the last half of `until` us.
fn shares(configs: &[Config], capacity: usize, mark_above: usize, until: u64) -> Vec<u64> {
    let mut network = Network::new(configs.len() + 1, 1, &configs[0]);
    for (place, config) in configs.iter().enumerate() {
        network.configure(place + 1, config);
    }
    network.capacity = capacity;
    network.mark_above = mark_above;
    for host in 1..=configs.len() {
        network.open(host, 0, 1, None);
        // Started apart, so that the flows do not lose in step.
        network.run(us(137 * host as u64));
    }
    network.run(us(until / 2));
    let before: Vec<usize> =
        (1..=configs.len()).map(|host| network.received(host as u32)).collect();
    network.run(us(until));
    (1..=configs.len())
        .map(|host| (network.received(host as u32) - before[host - 1]) as u64)
        .collect()
}

/// Returns Jain's fairness index of the shares, in percent.
fn fairness(shares: &[u64]) -> u64 {
    let sum: u64 = shares.iter().sum();
    let squares: u64 = shares.iter().map(|share| share * share).sum();
    100 * sum * sum / (shares.len() as u64 * squares)
}

#[test]
fn equal_flows_get_equal_shares_and_fill_the_link() {
    for (control, ecn, sack) in [
        (Control::NewReno, false, false),
        (Control::NewReno, false, true),
        (Control::NewReno, true, false),
        (Control::Cubic, false, true),
        (Control::Dctcp { gain_shift: 4 }, true, false),
    ] {
        let config = Config { control, ecn, sack, ..config() };
        let mark = if ecn { 40 } else { usize::MAX };
        let shares = shares(&[config.clone(), config], 120, mark, 1_000_000);
        // 1 Gb/s carries 83,333 segments of 1500 bytes a second, 41,666 in half a second.
        let sum: u64 = shares.iter().sum();
        assert!(sum > 41_666 * 95 / 100, "{control:?}, ECN {ecn}, SACK {sack}: {shares:?}");
        let fairness = fairness(&shares);
        println!("{control:?}, ECN {ecn}, SACK {sack}: {shares:?}, fairness {fairness} %");
        assert!(fairness >= 95, "{control:?}, ECN {ecn}, SACK {sack}: {shares:?}");
    }
}

/// RFC 5681 4.2: an ACK waits for two segments, and a slowed flow has two in flight. It gets at least half of an equal
/// share.
#[test]
fn flows_slowed_by_marks_do_not_wait_for_delayed_acks() {
    for control in [Control::NewReno, Control::Cubic, Control::Dctcp { gain_shift: 4 }] {
        let config = Config { control, ecn: true, sack: true, ack_every: 2, ..config() };
        for flows in [2, 5, 12] {
            let configs = vec![config.clone(); flows];
            let shares = shares(&configs, 200, 5, 200_000);
            // 8,333 segments in 100 ms.
            assert!(shares.iter().sum::<u64>() > 7_900, "{control:?}, {flows} flows: {shares:?}");
            let smallest = shares.iter().min().expect("there are flows") * flows as u64;
            assert!(smallest > 8_333 / 2, "{control:?}, {flows} flows: {shares:?}");
        }
    }
}

/// A flow that waits for loss fills the queue.
#[test]
fn dctcp_keeps_its_queue_at_the_threshold() {
    let queue = |control, ecn| {
        let config = Config { control, ecn, ..config() };
        let mut network = Network::new(3, 1, &config);
        network.capacity = 100;
        network.mark_above = 20;
        for host in 1..3 {
            network.open(host, 0, 1, None);
        }
        network.run(us(200_000));
        let late: Vec<usize> = network
            .lengths
            .iter()
            .filter(|(at, _)| *at > us(100_000))
            .map(|&(_, length)| length)
            .collect();
        (late.iter().sum::<usize>() / late.len(), *late.iter().max().unwrap())
    };
    let (dctcp, max) = queue(Control::Dctcp { gain_shift: 4 }, true);
    let (reno, _) = queue(Control::NewReno, false);
    assert!((10..30).contains(&dctcp) && max < 40, "{dctcp} on the average, {max} at most");
    assert!(reno > 2 * dctcp, "{reno} against {dctcp}");
}

/// DCTCP (SIGCOMM 2010, 3.3): the queue of N flows in step swings between K + N and that less sqrt(2 N (C RTT + K)) /
/// 2.
#[test]
fn the_sawtooth_is_as_deep_as_its_analysis_says() {
    let config = Config { control: Control::Dctcp { gain_shift: 4 }, ecn: true, ..config() };
    let threshold = 65;
    let mut network = Network::new(2, 1, &config);
    // 1 Gb/s and 500 us of round trip: C x RTT is 42 segments of 1500 bytes.
    network.delay = TimeDelta::from_us(243);
    network.mark_above = threshold;
    network.rates = vec![BitRate::from_gbps(1)];
    network.open(1, 0, 1, None);
    network.run(us(1_500_000));
    let late: Vec<usize> = network
        .lengths
        .iter()
        .filter(|(at, _): &&(Time, usize)| *at > us(700_000))
        .map(|&(_, length)| length)
        .collect();
    let (min, max) = (*late.iter().min().unwrap(), *late.iter().max().unwrap());
    // In hundredths of a segment.
    let amplitude = (2 * (42 + threshold) * 10_000 / 4).isqrt();
    let depth = (max - min) * 100;
    println!("queue from {min} to {max}: {depth} deep, {amplitude} by the analysis");
    assert!(depth.abs_diff(amplitude) < amplitude * 35 / 100, "{min} {max} {amplitude}");
    assert!(max.abs_diff(threshold + 1) <= 2, "the peak is K + N, not {max}");
}

/// RFC 3168: a mark halves the window once in a round trip, without a loss.
#[test]
fn marks_halve_the_window_once_for_each_window_of_data() {
    let config = Config { ecn: true, ..config() };
    let mut network = Network::new(2, 1, &config);
    network.mark_above = 20;
    network.open(1, 0, 1, None);
    network.run(us(300_000));
    assert_eq!(network.hosts[1].endpoint.sender_statistics(0).retransmissions_fast, 0);
    let mut falls = Vec::new();
    for pair in network.windows.windows(2) {
        if pair[1].1 < pair[0].1 {
            falls.push((pair[1].0, pair[1].1 * 100 / pair[0].1));
        }
    }
    assert!(falls.len() > 10, "{falls:?}");
    assert!(falls.iter().all(|&(_, percent)| (49..=51).contains(&percent)), "{falls:?}");
    let round_trip = TimeDelta::from_us(54);
    assert!(falls.windows(2).all(|pair| pair[1].0 - pair[0].0 > round_trip), "{falls:?}");
}
