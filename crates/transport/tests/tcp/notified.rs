//! Reactions to notifications of drops (FastLane 3.4.1) and of congestion (Source Quench).

use std::collections::BTreeSet;

use proptest::prelude::*;
use trimline_packet::{Kind, Packet, Service, Time, TimeDelta};
use trimline_transport::Side;
use trimline_transport::tcp::{Config, FastLane, Handshake, Notifications};

use crate::link::{LinkAction, Network, config, us};
use crate::lone::{Lone, ack, segment, standing, syn, syn_answer};

const FASTLANE: Notifications = Notifications::FastLane(FastLane { retry_shift: 1 });

fn fastlane(window: u16) -> Config {
    Config { notifications: FASTLANE, ..standing(window) }
}

/// The notification of a segment that was sent after `timeouts` timeouts.
fn notified(sequence: u32, timeouts: u32) -> Packet {
    let mut packet = segment(sequence);
    packet.header.extra = timeouts;
    packet.notify();
    packet
}

/// An ACK with `bytes` bytes that arrived beyond its number.
fn beyond(number: u32, bytes: u32) -> Packet {
    let mut packet = ack(number);
    (packet.header.extra, packet.marks) = (bytes, 7 << 4);
    packet
}

/// Drops the first transmissions of these segments, with notifications.
fn notifying(segments: &[u32]) -> impl FnMut(Time, &Packet) -> LinkAction + 'static {
    let mut left: BTreeSet<u32> = segments.iter().copied().collect();
    move |_, packet| {
        let is_data = packet.header.kind == Kind::Data && packet.wire_bytes > 64;
        if is_data && left.remove(&packet.header.sequence) {
            LinkAction::Notify
        } else {
            LinkAction::Pass
        }
    }
}

/// Returns the completion time of a flow of two segments; the first transmissions of `lost` are dropped.
fn two_packets(config: &Config, lost: &[u32]) -> TimeDelta {
    let mut network = Network::new(2, 1, config);
    network.impairment = Box::new(notifying(lost));
    network.open(1, 0, 1, Some(2));
    network.run(us(1_000_000));
    let statistics = network.hosts[1].endpoint.sender_statistics(0);
    let is_fastlane = config.notifications == FASTLANE;
    assert_eq!(statistics.timeouts == 0, is_fastlane || lost.is_empty());
    assert_eq!(statistics.retransmissions_notified > 0, is_fastlane && !lost.is_empty());
    network.acknowledged_at(1).expect("the flow ends") - Time::ZERO
}

/// FastLane 2.1: without notifications the loss costs a timeout.
#[test]
fn a_notified_loss_in_a_flow_of_two_packets_costs_a_round_trip() {
    for handshake in [Handshake::ThreeWay, Handshake::FastOpen, Handshake::Standing] {
        let plain = Config { handshake, ..config() };
        let fastlane = Config { notifications: FASTLANE, ..plain.clone() };
        let lossless = two_packets(&fastlane, &[]);
        assert_eq!(lossless, two_packets(&plain, &[]));
        // Four delays of 20 us, 1500 bytes at 10 and 1 Gb/s, 64 bytes at 10 and 1 Gb/s.
        let round_trip = TimeDelta::from_ns(80_000 + 1_200 + 12_000 + 52 + 512);
        for lost in [&[0][..], &[1], &[0, 1]] {
            let with = two_packets(&fastlane, lost);
            assert!(
                with <= lossless + round_trip + TimeDelta::from_us(10),
                "{handshake:?} {lost:?} {with}"
            );
            assert!(two_packets(&plain, lost) > lossless + TimeDelta::from_ms(9));
        }
    }
}

/// FastLane 3.4.1: a timeout has resent earlier packets, and acknowledged ones are not missing.
#[test]
fn a_stale_notification_changes_nothing() {
    let mut lone = Lone::sender(&fastlane(8), Some(20));
    assert_eq!(lone.data(), (0..8).collect::<Vec<u32>>());
    lone.pass(11_000);
    assert_eq!((lone.sent().timeouts, lone.data()), (1, vec![0]));
    let (window, statistics) = (lone.window(), *lone.sent());
    for stale in [
        notified(0, 0),
        notified(3, 0),
        notified(7, 0),
        notified(0, 2),
        notified(9, 1),
        notified(u32::MAX, 1),
    ] {
        assert_eq!(lone.data_after(&stale), []);
    }
    assert_eq!((lone.window(), *lone.sent()), (window, statistics));
    // The notification of a resent segment is not stale.
    assert_eq!(lone.data_after(&notified(0, 1)), [0]);
    assert_eq!(lone.sent().notifications, 1);
    // Segments that have arrived are not resent.
    lone.receive(&ack(8));
    lone.data();
    let window = lone.window();
    assert_eq!((lone.data_after(&notified(0, 1)), lone.window()), (vec![], window));
}

/// FastLane 3.4.1.
#[test]
fn packets_count_the_timeouts_of_their_flow() {
    let config = Config { handshake: Handshake::ThreeWay, ..fastlane(2) };
    let mut lone = Lone::sender(&config, Some(9));
    let said =
        |lone: &mut Lone| lone.all().iter().map(|packet| packet.header.extra).collect::<Vec<u32>>();
    assert_eq!(said(&mut lone), [0]);
    lone.pass(10_000);
    assert_eq!(said(&mut lone), [1]);
    lone.receive(&syn_answer());
    assert_eq!(said(&mut lone), [1]);
    lone.pass(40_000);
    assert_eq!(said(&mut lone), [2]);
}

/// FastLane 3.4.1: at most half the window goes, lowest numbers first.
#[test]
fn half_a_window_is_resent_at_a_time_before_new_data() {
    let mut lone = Lone::sender(&fastlane(8), Some(100));
    lone.data();
    for sequence in [6, 3, 5, 2, 7] {
        // No notification is for the smallest number, and all but four of the eight are lost or wait.
        lone.receive(&notified(sequence, 0));
    }
    assert_eq!(lone.data(), [2, 3, 5, 6]);
    // 0 and 1 come; 4 comes out of order.
    assert_eq!(lone.data_after(&ack(1)), []);
    assert_eq!(lone.data_after(&ack(2)), []);
    // 2 has come: 3 to 6 are in the network; three are resent.
    assert_eq!(lone.data_after(&ack(3)), [7]);
    assert_eq!(lone.data_after(&ack(7)), [], "nothing new before the last hole is closed");
    // FastLane 3.4.1: and then half the window.
    assert_eq!(lone.data_after(&ack(8)), [8, 9, 10, 11]);
    assert_eq!((lone.window() >> 16, lone.sent().retransmissions_notified), (4, 5));
}

/// Cumulative ACKs hide segments resent behind a hole; the count of bytes shows them.
#[test]
fn the_count_of_bytes_reveals_segments_received_beyond_a_hole() {
    let mut lone = Lone::sender(&fastlane(4), Some(100));
    lone.data();
    // The notification of 0 is lost. Two of the others may go at a time.
    for sequence in [1, 2, 3] {
        lone.receive(&notified(sequence, 0));
    }
    assert_eq!(lone.data(), [1, 2]);
    // First one of the two has arrived, then both: 0 and one more may be on the way.
    assert_eq!(lone.data_after(&beyond(0, 1436)), []);
    assert_eq!(lone.data_after(&beyond(0, 2872)), [3]);
    // An older ACK takes nothing back.
    assert_eq!(lone.data_after(&beyond(0, 1436)), []);
    assert_eq!(lone.data_after(&notified(3, 0)), [3]);
    assert_eq!(lone.data_after(&beyond(0, 1436)), []);
}

/// FastLane 3.4.1: the smallest number ignores max_sim, since cumulative ACKs wait for it.
#[test]
fn the_first_missing_segment_is_resent_at_once() {
    let mut lone = Lone::sender(&fastlane(4), Some(100));
    lone.data();
    for sequence in [1, 2, 3] {
        lone.receive(&notified(sequence, 0));
    }
    assert_eq!(lone.data(), [1, 2]);
    assert_eq!(lone.data_after(&notified(0, 0)), [0]);
    assert_eq!(lone.data_after(&notified(0, 0)), [0]);
    assert_eq!(lone.data_after(&notified(1, 0)), [], "it is not the smallest");
}

/// FastLane 3.4.1: max_sim falls with each try of a segment.
#[test]
fn repeated_drops_reduce_the_segments_resent_at_a_time() {
    let mut lone = Lone::sender(&fastlane(16), Some(100));
    lone.data();
    (4..16).for_each(|sequence| {
        lone.receive(&notified(sequence, 0));
    });
    assert_eq!(lone.data(), (4..12).collect::<Vec<u32>>());
    // All eight are dropped again: one goes as the second try of a segment, so four at a time.
    (4..12).for_each(|sequence| {
        lone.receive(&notified(sequence, 0));
    });
    assert_eq!(lone.data(), [4, 5, 6, 7]);
    (4..8).for_each(|sequence| {
        lone.receive(&notified(sequence, 0));
    });
    assert_eq!(lone.data(), [4, 5]);
    (4..6).for_each(|sequence| {
        lone.receive(&notified(sequence, 0));
    });
    assert_eq!(lone.data(), [4]);
    // Further halvings would end at 0; max_sim stays at 1.
    for attempt in 5..=40 {
        assert_eq!(lone.data_after(&notified(4, 0)), [4], "attempt {attempt}");
    }
}

/// FastLane 4.1.2: they only show reordering.
#[test]
fn duplicate_acks_resend_nothing() {
    let mut lone = Lone::sender(&fastlane(8), Some(8));
    lone.data();
    for count in 1..=7 {
        assert_eq!(lone.data_after(&beyond(0, count * 1436)), []);
    }
    assert_eq!((lone.window() >> 16, lone.sent().retransmissions_fast), (8, 0));
    // The timer still resends.
    assert_eq!(lone.timeout(11_000), Some(10_000));
}

/// FastLane 3.4.1: each new ACK sets the inflation; among duplicates the maximum counts.
#[test]
fn out_of_order_bytes_inflate_the_window() {
    let mut lone = Lone::sender(&fastlane(4), Some(100));
    assert_eq!(lone.data(), [0, 1, 2, 3]);
    assert_eq!(lone.data_after(&beyond(0, 1436)), [4]);
    // An overtaken ACK takes nothing back, before the segments go or afterwards.
    lone.receive(&beyond(0, 3 * 1436));
    assert_eq!(lone.data_after(&beyond(0, 2 * 1436)), [5, 6]);
    assert_eq!(lone.data_after(&beyond(0, 2 * 1436)), []);
    // 0 and 1 come, and one beyond counts: three are in flight of 2 to 6 and one more.
    assert_eq!(lone.data_after(&beyond(2, 1436)), []);
    assert_eq!(lone.window() >> 16, 4, "the window itself is what it was");
    assert_eq!(lone.data_after(&beyond(2, 2 * 1436)), [7]);
    // A new ACK without the option: nothing lies beyond.
    assert_eq!(lone.data_after(&ack(4)), []);
    // The ACK that ends a recovery resets the inflation by the three segments beyond 0. The window is half of four,
    // plus one for this ACK.
    let mut lone = Lone::sender(&fastlane(4), Some(100));
    lone.data();
    assert_eq!(lone.data_after(&notified(0, 0)), [0]);
    assert_eq!(lone.data_after(&beyond(0, 3 * 1436)), []);
    assert_eq!(lone.data_after(&ack(4)), [4, 5, 6]);
    assert_eq!(lone.window() >> 16, 3);
    // The end of a message is no full segment, but counts as one.
    let mut lone = Lone::sender(&fastlane(2), Some(100));
    lone.data();
    assert_eq!(lone.data_after(&beyond(0, 1)), [2]);
}

/// Gives a receiver the listed segments. Returns number, extra bytes and option of its last ACK.
fn received(sequences: &[(u32, u16)]) -> (u32, u32, u8) {
    let mut lone = Lone::receiver(&fastlane(8));
    let mut last = None;
    for &(sequence, bytes) in sequences {
        let mut packet = segment(sequence);
        packet.wire_bytes = bytes + 64;
        last = lone.answers(&packet).pop();
    }
    let last = last.expect("each is answered");
    (last.header.sequence, last.header.extra, last.marks >> 4)
}

/// FastLane 3.4.1.
#[test]
fn acks_count_the_bytes_beyond_their_number() {
    let full = 1436;
    assert_eq!(received(&[(0, full)]), (1, 0, 0));
    assert_eq!(received(&[(1, full)]), (0, 1436, 7));
    assert_eq!(received(&[(1, full), (3, full), (3, full)]), (0, 2872, 7));
    assert_eq!(received(&[(1, full), (3, 700), (0, full)]), (2, 700, 7));
    assert_eq!(received(&[(1, full), (3, 700), (5, full), (0, full), (2, full)]), (4, 1436, 7));
    assert_eq!(received(&[(2, 10), (1, full), (0, full)]), (3, 0, 0));
    assert_eq!(received(&[(1, full), (0, full), (3, full), (2, full), (5, 9)]), (4, 9, 7));
}

#[test]
fn a_notified_segment_has_no_timer() {
    let mut sender = Lone::sender(&fastlane(8), None);
    sender.all();
    assert_eq!(sender.at(5_000).data_after(&notified(0, 0)), [0]);
    assert_eq!(sender.timeout(100_000), Some(10_000));
}

/// FastLane 3.4.1.
#[test]
fn a_notified_syn_or_syn_ack_is_resent_at_once() {
    let config = Config { handshake: Handshake::ThreeWay, ..fastlane(2) };
    let mut lone = Lone::sender(&config, Some(9));
    let mut first = lone.next().expect("a SYN");
    let timeout = lone.endpoint_timeout();
    first.notify();
    let again = lone.at(50).answers(&first);
    assert_eq!((again.len(), again[0].wire_bytes), (1, 64));
    assert_eq!(lone.endpoint_timeout(), timeout, "the timer runs on");
    // The answer came: a notification of the SYN is now late.
    lone.receive(&syn_answer());
    assert_eq!(lone.data(), [0, 1]);
    assert_eq!(lone.data_after(&first), []);
    let mut receiver = Lone::receiver(&config);
    let mut answer = receiver.answers(&syn()).pop().expect("an answer");
    let whole = answer;
    answer.notify();
    assert_eq!(receiver.answers(&answer), [whole]);
    receiver.answers(&segment(0));
    assert_eq!(receiver.answers(&answer), [], "data has come: so had the answer");
}

#[test]
fn a_dropped_tcp_ack_is_resent_unless_another_covers_it() {
    let mut lone = Lone::receiver(&fastlane(8));
    let acks: Vec<Packet> = [0, 1, 3, 4].map(|sequence| lone.answers(&segment(sequence))[0]).into();
    let notified = |ack: &Packet| {
        let mut notified = *ack;
        notified.notify();
        notified
    };
    for ack in &acks[..3] {
        assert_eq!(lone.answers(&notified(ack)), []);
    }
    assert_eq!(lone.answers(&notified(&acks[3])), [acks[3]]);
    assert_eq!(lone.answers(&notified(&acks[3])), [acks[3]]);
    // A host that does not use notifications ignores them.
    let mut plain = Lone::receiver(&standing(8));
    let ack = plain.answers(&segment(0))[0];
    assert_eq!(plain.answers(&notified(&ack)), []);
}

/// FastLane 2.2.1: the window is halved once per window of data.
#[test]
fn a_quench_halves_the_window_once_and_resends_nothing() {
    let quench = Config { notifications: Notifications::Quench, ..standing(16) };
    let mut lone = Lone::sender(&quench, Some(100));
    lone.data();
    for sequence in [3, 0, 9, 15] {
        assert_eq!(lone.data_after(&notified(sequence, 0)), []);
        assert_eq!(lone.window() >> 16, 8, "{sequence}");
    }
    assert_eq!(lone.sent().notifications, 1);
    // Later segments meet congestion: another window.
    lone.receive(&ack(12));
    assert_eq!(lone.data(), [16, 17, 18, 19, 20]);
    lone.receive(&notified(15, 0));
    assert_eq!(lone.window() >> 16, 9);
    lone.receive(&notified(16, 0));
    assert_eq!(lone.window() >> 16, 4);
    assert_eq!(lone.sent().retransmissions_notified, 0);
    // A sender that ignores notifications does not react.
    let mut lone = Lone::sender(&standing(16), Some(100));
    lone.data();
    assert_eq!((lone.data_after(&notified(0, 0)), lone.window() >> 16), (vec![], 16));
}

/// A drop halves the window in slow start once per flight.
#[test]
fn a_drop_after_a_timeout_halves_the_regrown_window() {
    let mut lone = Lone::sender(&fastlane(8), Some(100));
    lone.data();
    lone.pass(10_500);
    assert_eq!(lone.data(), [0]);
    // Slow start up to the threshold of four.
    lone.at(10_600).receive(&ack(1));
    assert_eq!(lone.data(), [1, 2]);
    lone.at(10_700).receive(&ack(3));
    assert_eq!((lone.window() >> 16, lone.data()), (4, vec![3, 4, 5, 6]));
    lone.at(10_800);
    assert_eq!(lone.data_after(&notified(4, 1)), []);
    assert_eq!(lone.window() >> 16, 2);
    lone.receive(&notified(5, 1));
    assert_eq!(lone.window() >> 16, 2, "it was sent before the last halving");
    // 3 and 6 are in flight: the smallest number still goes.
    assert_eq!(lone.data_after(&notified(3, 1)), [3]);
    assert_eq!(lone.sent().timeouts, 1);
}

/// Runs an incast of `senders` flows into a queue of a few packets that notifies of drops.
fn incast(
    config: &Config,
    senders: u32,
    segments: u64,
    capacity: usize,
    lost_notices: u64,
) -> Network {
    let mut network = Network::new(senders as usize + 1, 1, config);
    (network.capacity, network.notifies, network.lost_notices) = (capacity, true, lost_notices);
    network.idle_calls = 200;
    (1..=senders).for_each(|sender| network.open(sender as usize, 0, 1, Some(segments)));
    network.run(us(20_000_000));
    for sender in 1..=senders as usize {
        let ended = network.hosts[sender].count(Side::Sending);
        assert_eq!(ended, 1, "sender {sender} of {senders}, {lost_notices} of 1000 lost");
        assert_eq!(network.received(sender as u32), segments as usize);
    }
    network
}

/// FastLane 3.3.2: some notifications help; then timeouts decide.
#[test]
fn every_flow_ends_however_many_notifications_are_lost() {
    let config = Config { notifications: FASTLANE, ..config() };
    let last = |network: &Network| {
        let ends = (1..network.hosts.len()).map(|host| network.acknowledged_at(host));
        ends.max().flatten().expect("all flows ended")
    };
    let timeouts = |network: &Network| -> u64 {
        let senders = &network.hosts[1..];
        senders.iter().map(|host| host.endpoint.sender_statistics(0).timeouts).sum()
    };
    let [none, side, all] =
        [0, 500, 1000].map(|lost_notices| incast(&config, 12, 20, 16, lost_notices));
    assert!(none.dropped > 20 && all.dropped > 20 && all.notified == 0);
    assert_eq!(timeouts(&none), 0, "all drops are told of");
    assert!(timeouts(&side) > 0 && timeouts(&side) < timeouts(&all));
    assert!(last(&none) < us(10_000) && last(&all) > us(10_000), "{} {}", last(&none), last(&all));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn flows_end_over_any_network_that_notifies(
        seed: u64,
        senders in 1u32..6,
        segments in 1u64..60,
        capacity in 1usize..20,
        lost_notices in prop_oneof![Just(0u64), Just(500), Just(1000)],
        handshake in prop::sample::select(vec![Handshake::ThreeWay, Handshake::FastOpen, Handshake::Standing]),
        (initial_window, ack_every) in (1u16..20, 1u8..3),
        loss in 0u64..10,
        is_quench in any::<bool>(),
    ) {
        let notifications = if is_quench { Notifications::Quench } else { FASTLANE };
        let config = Config { handshake, initial_window, ack_every, notifications, ..config() };
        let mut network = Network::new(senders as usize + 1, 1, &config);
        (network.capacity, network.notifies, network.lost_notices) = (capacity, true, lost_notices);
        let mut draws = seed;
        network.impairment = Box::new(move |_, packet| {
            draws = draws.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Control packets are dropped and notified too.
            match draws >> 33 {
                draw if draw % 100 < loss => LinkAction::Drop,
                draw if draw % 100 < 2 * loss => LinkAction::Notify,
                draw if draw % 97 == 0 => LinkAction::Twice,
                draw if draw % 13 == 0 && packet.service == Service::Droppable => {
                    LinkAction::Hold(TimeDelta::from_us(draw % 100))
                }
                _ => LinkAction::Pass,
            }
        });
        (1..=senders).for_each(|sender| network.open(sender as usize, 0, 1, Some(segments)));
        network.run(us(200_000_000));
        for sender in 1..=senders {
            prop_assert_eq!(network.received(sender), segments as usize);
            prop_assert_eq!(network.hosts[sender as usize].count(Side::Sending), 1);
        }
    }
}
