//! The rules of a sender.

use std::collections::BTreeSet;

use trimline_packet::{Flags, Kind, Packet, Service, TimeDelta};
use trimline_transport::Endpoint as _;
use trimline_transport::flow::Event;
use trimline_transport::pfabric::{Config, Priority};

use crate::lone::{Lone, ack, config, echo, notified, us};

fn fastlane() -> Config {
    Config { fastlane: true, ..config() }
}

/// pFabric 4.3: a flow keeps to a window of the bandwidth-delay product.
#[test]
fn a_window_is_sent_at_once_and_one_packet_per_ack() {
    let mut lone = Lone::with(config(), 28);
    let first = lone.all();
    assert_eq!(first.len(), 8);
    let paths: BTreeSet<u16> = first[..4].iter().map(|packet| packet.header.path.get()).collect();
    assert_eq!(paths.len(), 4, "packets are sprayed");
    let flags = Flags::SYN | Flags::FROM_OPENER;
    for (number, packet) in first.iter().enumerate() {
        assert_eq!((packet.header.sequence, packet.header.flags.bits()), (number as u32, flags));
        assert!(packet.service == Service::Droppable && packet.wire_bytes == 1500);
    }
    // ACKs come in any order; an ACK covers lost ones before it.
    assert_eq!(lone.data_after(&ack(5, 0)), [8]);
    assert_eq!(lone.data_after(&ack(2, 2)), [9, 10, 11]);
    assert_eq!(lone.data_after(&ack(2, 2)), [], "it says nothing new");
    assert_eq!(
        lone.data_after(&ack(99, 99)),
        [12, 13, 14, 15, 16, 17, 18, 19],
        "no more than was sent"
    );
    // More than two windows of packets have arrived, and the window has not grown.
    assert_eq!(lone.data_after(&ack(19, 20)), (20..28).collect::<Vec<u32>>());
    let mut flags = lone.data_after(&ack(27, 28));
    flags.extend(
        lone.events().iter().map(|event| u32::from(matches!(event, Event::Acknowledged { .. }))),
    );
    assert_eq!((flags, lone.endpoint.poll_timeout() > us(0)), (vec![1], true));
    assert_eq!(lone.endpoint.sender_statistics(0).packets_sent, 28);
}

/// pFabric 4.1, FastLane 4.2.2: the priority is the remaining bytes, or the whole flow.
#[test]
fn packets_carry_their_priority_and_the_most_urgent_flow_sends_first() {
    for (priority, left, again) in
        [(Priority::Remaining, 2872, 2872 - 1436), (Priority::Total, 2872, 2872)]
    {
        let mut lone = Lone::new(Config { priority, window: 1, ..config() });
        lone.open(1, Some(2872));
        lone.open(2, Some(10));
        lone.open(3, None);
        let urgencies: Vec<(u32, u32)> = lone
            .all()
            .iter()
            .map(|packet| (packet.header.connection.get(), packet.header.extra))
            .collect();
        assert_eq!(urgencies, [(2, 10), (1, left), (3, u32::MAX)]);
        lone.receive(&ack(0, 1));
        let next = lone.next().expect("the other packet");
        assert_eq!(
            (next.header.extra, next.header.flags.bits()),
            (again, Flags::FROM_OPENER | Flags::LAST)
        );
    }
    // The last packet is as long as the remaining bytes; an empty flow is one packet without payload.
    let mut lone = Lone::new(config());
    lone.open(1, Some(1437));
    lone.open(2, Some(0));
    let sizes: Vec<u16> = lone.all().iter().map(|packet| packet.wire_bytes).collect();
    assert_eq!(sizes, [64, 1500, 65]);
}

/// pFabric 4.3: only a short timeout finds losses, without back-off.
#[test]
fn a_timeout_resends_missing_packets_in_slow_start() {
    let mut lone = Lone::with(config(), 20);
    lone.data();
    assert_eq!(lone.endpoint.poll_timeout(), us(250));
    // Three ACKs beyond a hole say nothing about it.
    for sequence in [3, 4, 5] {
        lone.receive(&ack(sequence, 0));
    }
    assert_eq!(lone.data(), [8, 9, 10]);
    lone.at(250).expire();
    assert_eq!(lone.data(), [0]);
    assert_eq!(lone.endpoint.window(0), (1, 1));
    lone.at(300);
    assert_eq!(lone.data_after(&ack(0, 1)), [1, 2]);
    // A packet that was only late is not resent.
    lone.receive(&ack(7, 1));
    assert_eq!(lone.data_after(&ack(1, 2)), [6, 8, 9]);
    assert_eq!(lone.data_after(&ack(2, 6)), [10]);
    // The threshold is half of eight; from there the window grows by one each round trip.
    assert_eq!(lone.endpoint.window(0).0, 4);
    assert_eq!(lone.data_after(&ack(6, 8)), [11]);
    assert_eq!(lone.data_after(&ack(8, 10)), [12, 13, 14]);
    assert_eq!(lone.endpoint.window(0).0, 5);
    let statistics = lone.endpoint.sender_statistics(0);
    assert_eq!((statistics.timeouts, statistics.retransmissions_timeout), (1, 7));
}

/// A returned probe does not show that the flow is known.
#[test]
fn data_carries_syn_until_an_ack_arrives() {
    let mut lone = Lone::with(config(), 20);
    lone.data();
    (1..=5).for_each(|count| {
        lone.at(250 * count).expire();
        lone.all();
    });
    lone.receive(&echo(1));
    let has_syn = |lone: &mut Lone| lone.next().map(|sent| sent.header.flags.contains(Flags::SYN));
    assert_eq!(has_syn(&mut lone), Some(true));
    lone.receive(&ack(0, 1));
    assert_eq!(has_syn(&mut lone), Some(false));
}

/// pFabric 4.3: the flow probes until an answer comes.
#[test]
fn a_flow_probes_after_five_timeouts() {
    let mut lone = Lone::with(config(), 20);
    lone.data();
    for count in 1..5 {
        lone.at(250 * count).expire();
        assert_eq!(lone.sent(), [(Kind::Data, 0)], "{count}");
    }
    for count in 5..9 {
        lone.at(250 * count).expire();
        let sent = lone.all();
        assert_eq!(sent.len(), 1);
        let probe = sent[0];
        assert_eq!((probe.header.kind, probe.wire_bytes), (Kind::Pull, 64));
        assert_eq!(probe.header.sequence as u64, count - 4);
        // The probe waits in the queue of its flow's data.
        assert!(probe.service == Service::Droppable && probe.header.extra == 20 * 1436);
    }
    assert_eq!(lone.data_after(&echo(5)), [], "none that was sent");
    // If a round trip takes longer than the timeout, the last probe is never the one that comes back.
    assert_eq!(lone.data_after(&echo(3)), [0]);
    assert_eq!(lone.data_after(&echo(4)), [], "the flow goes on already");
    assert_eq!(lone.endpoint.poll_timeout(), us(2250));
    assert_eq!(lone.data_after(&ack(0, 1)), [1, 2]);
    let statistics = lone.endpoint.sender_statistics(0);
    assert_eq!((statistics.timeouts, statistics.probes), (8, 4));
}

/// FastLane 3.4.2.
#[test]
fn dropped_packets_are_resent_after_a_probe_one_two_four() {
    let mut lone = Lone::with(fastlane(), 40);
    let sent = lone.all();
    for packet in &sent[..7] {
        lone.receive(&notified(packet));
    }
    assert_eq!(lone.sent(), [(Kind::Pull, 1)], "one probe for all");
    assert_eq!(lone.data_after(&ack(7, 0)), [], "nothing new");
    assert_eq!(lone.data_after(&echo(1)), [0]);
    assert_eq!(lone.data_after(&ack(0, 1)), [1, 2]);
    assert_eq!(lone.data_after(&ack(1, 2)), [3, 4]);
    assert_eq!(lone.data_after(&ack(2, 3)), [5, 6]);
    assert_eq!(lone.data_after(&ack(3, 4)), [], "nothing new before all have arrived");
    lone.receive(&ack(4, 5));
    lone.receive(&ack(5, 6));
    // The window is what the retransmissions have come to.
    assert_eq!(lone.data_after(&ack(6, 8)), (8..16).collect::<Vec<u32>>());
    let statistics = lone.endpoint.sender_statistics(0);
    assert_eq!((statistics.retransmissions_notified, statistics.timeouts), (7, 0));
    assert_eq!((statistics.notifications, statistics.probes), (7, 1));
}

/// FastLane 3.4.2.
#[test]
fn a_further_notification_restarts_with_a_probe() {
    let mut lone = Lone::with(fastlane(), 40);
    let sent = lone.all();
    sent[..5].iter().for_each(|packet| {
        lone.receive(&notified(packet));
    });
    lone.all();
    lone.receive(&echo(1));
    let first = lone.next().expect("the first");
    assert_eq!(lone.data_after(&ack(0, 1)), [1, 2]);
    // The notification of the first transmission of 1 is stale; that for the second is not.
    assert_eq!(lone.data_after(&notified(&sent[1])), []);
    let mut again = sent[1];
    again.header.flags = again.header.flags.with_attempt(1);
    assert_eq!(first.header.flags.attempt(), 1);
    lone.receive(&notified(&again));
    assert_eq!(lone.sent(), [(Kind::Pull, 2)]);
    assert_eq!(lone.data_after(&ack(2, 1)), []);
    assert_eq!(lone.data_after(&echo(1)), [], "of the time before");
    assert_eq!(lone.data_after(&echo(2)), [1, 3], "one again, and one for what has arrived since");
    // Packets that have arrived are not resent.
    let before = *lone.endpoint.sender_statistics(0);
    assert_eq!(lone.data_after(&notified(&first)), []);
    assert_eq!(*lone.endpoint.sender_statistics(0), before);
}

#[test]
fn a_probe_is_repeated_after_a_notification_or_timeout() {
    let mut lone = Lone::with(fastlane(), 40);
    let sent = lone.all();
    lone.receive(&notified(&sent[0]));
    let probe = lone.next().expect("a probe");
    lone.at(50).receive(&notified(&probe));
    assert_eq!(lone.sent(), [(Kind::Pull, 2)]);
    lone.receive(&notified(&probe));
    assert_eq!(lone.sent(), [], "it is not the last one");
    lone.at(300).expire();
    assert_eq!(lone.sent(), [(Kind::Pull, 3)]);
    assert_eq!(lone.endpoint.sender_statistics(0).timeouts, 1);
    assert_eq!(lone.data_after(&echo(3)), [0]);
}

/// A copy of a dropped packet may still arrive.
#[test]
fn packets_acknowledged_during_a_probe_are_not_resent() {
    let mut lone = Lone::with(fastlane(), 9);
    let sent = lone.all();
    lone.receive(&notified(&sent[0]));
    assert_eq!(lone.sent(), [(Kind::Pull, 1)]);
    assert_eq!(lone.data_after(&ack(0, 8)), []);
    assert_eq!(lone.data_after(&echo(1)), [8]);
}

#[test]
fn a_flow_that_does_not_ask_gets_no_notifications() {
    let mut lone = Lone::with(config(), 9);
    let sent = lone.all();
    assert_eq!(lone.data_after(&notified(&sent[0])), []);
    assert_eq!(lone.endpoint.sender_statistics(0).notifications, 0);
    let returned = |packet: &Packet| {
        let mut returned = *packet;
        returned.bounce();
        returned
    };
    assert_eq!(lone.data_after(&returned(&sent[0])), []);
    lone.at(250).expire();
    assert_eq!(lone.endpoint.sender_statistics(0).timeouts, 1);
    assert!(config().rto == TimeDelta::from_us(250));
}
