//! A sender's recovery from loss, packet by packet.

use std::collections::BTreeSet;

use trimline_packet::{Kind, Packet, Time, TimeDelta};
use trimline_transport::tcp::{Config, Control};

use crate::link::{LinkAction, Network, config, us};

/// Loses the first transmission of these segments.
fn losing(segments: &[u32]) -> impl FnMut(Time, &Packet) -> LinkAction + 'static {
    let mut left: BTreeSet<u32> = segments.iter().copied().collect();
    move |_, packet| {
        let is_data = packet.header.kind == Kind::Data && packet.wire_bytes > 64;
        if is_data && left.remove(&packet.header.sequence) {
            LinkAction::Drop
        } else {
            LinkAction::Pass
        }
    }
}

/// Runs one flow of `segments` segments; the first transmissions of `lost` are lost.
fn run(config: &Config, segments: u64, lost: &[u32]) -> Network {
    let mut network = Network::new(2, 1, config);
    network.impairment = Box::new(losing(lost));
    network.open(1, 0, 1, Some(segments));
    network.run(us(5_000_000));
    assert_eq!(network.received(1) as u64, segments);
    network
}

fn whole(windows: &[(Time, u64)]) -> Vec<u64> {
    let mut whole: Vec<u64> = windows.iter().map(|(_, window)| window >> 16).collect();
    whole.dedup();
    whole
}

/// The textbook's figure: slow start to 16, a loss, half of what was in flight, one segment a round trip.
#[test]
fn one_loss_in_slow_start_halves_the_window_and_nothing_times_out() {
    let config = Config { initial_window: 2, ..config() };
    let network = run(&config, 120, &[14]);
    // Window 2, 4, 8, 16: segment 14 is the first one of the fourth round trip. Each ACK adds one.
    let windows = whole(&network.windows);
    let peak = windows.iter().position(|&window| window == 16).expect("slow start comes to 16");
    assert_eq!(windows[..=peak], (2..=16).collect::<Vec<u64>>());
    // 16 in flight when the third duplicate ACK comes: 8, then 9, 10 ...
    assert_eq!(windows[peak + 1..peak + 4], [8, 9, 10]);
    let statistics = network.hosts[1].endpoint.sender_statistics(0);
    assert_eq!((statistics.retransmissions_fast, statistics.timeouts), (1, 0));
    assert_eq!(network.hosts[1].times_sent()[&14], 2);
}

/// RFC 6582, RFC 6675.
#[test]
fn scattered_losses_cost_one_round_trip_with_sack_and_one_each_without() {
    let lost = [31, 33, 36, 40, 47];
    let mut spans = Vec::new();
    for sack in [false, true] {
        let config = Config { initial_window: 30, initial_threshold: 30, sack, ..config() };
        let network = run(&config, 100, &lost);
        let statistics = network.hosts[1].endpoint.sender_statistics(0);
        assert_eq!(statistics.timeouts, 0, "sack: {sack}");
        let times = network.hosts[1].times_sent();
        let again: Vec<u32> = times.iter().filter(|(_, n)| **n > 1).map(|(s, _)| *s).collect();
        assert_eq!(again, lost, "sack: {sack}: nothing else is resent");
        assert_eq!(statistics.retransmissions_fast, 5);
        let resent: Vec<Time> = network.hosts[1]
            .sent_data()
            .iter()
            .rev()
            .filter(|(_, packet)| lost.contains(&packet.header.sequence))
            .take(5)
            .map(|&(at, _)| at)
            .collect();
        spans.push((resent[0] - resent[4]).as_ps() / 1_000_000);
    }
    // An empty network's round trip is 54 us; with half of 30 segments queued at 12 us it is some 200.
    assert!(spans[0] > 4 * 54, "{spans:?}");
    assert!(spans[1] < spans[0] / 2, "{spans:?}");
    println!("recovery of five losses: {} us, with SACK {} us", spans[0], spans[1]);
}

/// RFC 6675 NextSeg (4): recovery resends the last segment once, and its block shows the other losses. Without blocks,
/// and for a tail outside a recovery, the timer decides.
#[test]
fn a_tail_loss_after_a_hole_is_recovered_by_a_rescue_retransmission() {
    let config = Config { initial_window: 20, initial_threshold: 20, sack: true, ..config() };
    for lost in [&[88, 99][..], &[88, 97, 98, 99], &[88, 92, 98, 99]] {
        let network = run(&config, 100, lost);
        let statistics = network.hosts[1].endpoint.sender_statistics(0);
        assert_eq!((statistics.timeouts, statistics.packets_sent), (0, 100 + lost.len() as u64));
    }
    let alone = run(&config, 100, &[98, 99]);
    assert_eq!(alone.hosts[1].endpoint.sender_statistics(0).timeouts, 1);
    // A tail that is not lost is resent once at most.
    let whole = run(&config, 100, &[88]);
    let statistics = whole.hosts[1].endpoint.sender_statistics(0);
    assert!(statistics.packets_sent <= 102 && statistics.timeouts == 0, "{statistics:?}");
}

/// RFC 3042: the first two duplicate ACKs send new segments.
#[test]
fn limited_transmit_avoids_timeouts_of_small_windows() {
    let config = Config { initial_window: 4, initial_threshold: 4, ..config() };
    let network = run(&config, 30, &[4]);
    assert_eq!(network.hosts[1].endpoint.sender_statistics(0).timeouts, 0);
}

/// RFC 6298 (5.5).
#[test]
fn timeouts_back_off_by_two_and_stop_at_the_bound() {
    let config = Config { rto_max: TimeDelta::from_ms(100), ..config() };
    let mut network = Network::new(2, 1, &config);
    network.impairment = Box::new(|now, packet| {
        let is_data = packet.header.kind == Kind::Data && packet.wire_bytes > 64;
        if is_data && now < us(420_000) { LinkAction::Drop } else { LinkAction::Pass }
    });
    network.open(1, 0, 1, Some(1));
    network.run(us(2_000_000));
    let sent = network.hosts[1].sent_data();
    let gaps: Vec<u64> =
        sent.windows(2).map(|pair| (pair[1].0 - pair[0].0).as_ps() / 1_000_000).collect();
    assert_eq!(gaps, [10_000, 20_000, 40_000, 80_000, 100_000, 100_000, 100_000]);
    assert!(network.acknowledged_at(1).is_some());
}

/// A whole window is lost: slow start goes to half of what was in flight.
#[test]
fn after_a_timeout_the_window_begins_at_one() {
    let config = Config { initial_window: 16, initial_threshold: 16, ..config() };
    let lost: Vec<u32> = (20..37).collect();
    let network = run(&config, 200, &lost);
    let windows = whole(&network.windows);
    let one =
        windows.iter().position(|&window| window == 1).expect("a time-out leaves one segment");
    assert_eq!(windows[one..one + 8], [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(network.hosts[1].endpoint.sender_statistics(0).timeouts, 1);
}

/// Runs a flow whose segments are delayed beyond the timer, but not lost.
fn held(config: &Config) -> Network {
    let mut network = Network::new(2, 1, config);
    network.impairment = Box::new(|now, packet| {
        let is_data = packet.header.kind == Kind::Data && packet.wire_bytes > 64;
        let is_held = is_data && (us(1_000)..us(12_900)).contains(&now);
        if is_held { LinkAction::Hold(us(13_000).saturating_since(now)) } else { LinkAction::Pass }
    });
    network.open(1, 0, 1, Some(600));
    network.run(us(1_000_000));
    assert_eq!(network.received(1), 600);
    network
}

#[test]
fn a_spurious_timeout_is_detected_and_undone() {
    let base = Config { initial_window: 20, initial_threshold: 20, ..config() };
    let plain = held(&base);
    let statistics = plain.hosts[1].endpoint.sender_statistics(0);
    assert_eq!((statistics.timeouts, statistics.undone), (1, 0));
    let plainly = statistics.packets_sent;
    let cases = [
        ("F-RTO", Config { frto: true, ..base.clone() }),
        ("F-RTO with SACK", Config { frto: true, sack: true, ..base.clone() }),
        ("Eifel", Config { timestamps: true, ..base.clone() }),
        ("DSACK", Config { sack: true, dsack: true, ..base.clone() }),
    ];
    for (name, config) in cases {
        let network = held(&config);
        let statistics = network.hosts[1].endpoint.sender_statistics(0);
        assert_eq!((statistics.timeouts, statistics.undone), (1, 1), "{name}");
        if name != "DSACK" {
            let resent = (statistics.packets_sent - 600, plainly - 600);
            assert!(resent.0 * 3 < resent.1, "{name}: resent {resent:?}");
        }
        let min = network.windows.iter().rev().take(50).map(|&(_, window)| window >> 16).min();
        assert!(min > Some(19), "{name}: the window is {min:?} at the end");
    }
}

#[test]
fn a_real_timeout_is_not_undone() {
    let base = Config { initial_window: 16, initial_threshold: 16, frto: true, ..config() };
    let lost: Vec<u32> = (20..37).collect();
    for (sack, timestamps) in [(false, false), (true, false), (false, true), (true, true)] {
        let network = run(&Config { sack, dsack: sack, timestamps, ..base.clone() }, 200, &lost);
        let statistics = network.hosts[1].endpoint.sender_statistics(0);
        assert_eq!((statistics.timeouts, statistics.undone), (1, 0), "{sack} {timestamps}");
    }
}

/// RFC 5681 4.2: one ACK for two segments, at most the delay late.
#[test]
fn acks_are_delayed_in_order_and_immediate_at_a_hole() {
    let config = Config { ack_every: 2, ack_delay: TimeDelta::from_us(500), ..config() };
    let network = run(&config, 101, &[]);
    let acks = network.hosts[0].sent.len() as u64;
    assert!((51..=53).contains(&acks), "{acks} ACKs of 101 segments and a SYN");
    let lossy = run(&config, 101, &[50]);
    let numbers: Vec<u32> =
        lossy.hosts[0].sent.iter().map(|(_, packet)| packet.header.sequence).collect();
    assert!(numbers.iter().filter(|&&number| number == 50).count() > 3, "{numbers:?}");
}

/// RFC 5681 4.2. No second segment follows here, so a delayed ACK would leave the sender to its timer.
#[test]
fn a_segment_that_fills_a_hole_is_acknowledged_at_once() {
    let config = Config { ack_every: 2, ..config() };
    let network = run(&config, 101, &[95, 97]);
    let statistics = network.hosts[1].endpoint.sender_statistics(0);
    assert_eq!((statistics.timeouts, statistics.retransmissions_fast), (0, 2));
}

#[test]
fn a_lone_segment_is_acknowledged_after_the_delay() {
    let config = Config {
        ack_every: 2,
        ack_delay: TimeDelta::from_ms(3),
        receive_window: 1,
        control: Control::NewReno,
        ..config()
    };
    let mut network = Network::new(2, 1, &config);
    network.open(1, 0, 1, Some(3));
    network.run(us(100_000));
    let sent: Vec<u64> =
        network.hosts[1].sent_data().iter().map(|(at, _)| at.as_ps() / 1_000_000_000).collect();
    assert_eq!(sent, [0, 3, 6]);
    assert_eq!(network.hosts[1].endpoint.sender_statistics(0).timeouts, 0);
}
