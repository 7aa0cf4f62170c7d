//! Reactions to trimmed segments (CP, NDP 2.3): NACKs of receivers, retransmissions of senders.

use proptest::prelude::*;
use trimline_packet::{Flags, Header, Kind, Packet, Service, Time};
use trimline_transport::Side;
use trimline_transport::tcp::{Config, Handshake, Notifications};

use crate::link::{Network, config, us};
use crate::lone::{Lone, ack, segment, standing};

fn cut_payload(config: Config) -> Config {
    Config { notifications: Notifications::CutPayload, sack: true, ..config }
}

fn trimmed(sequence: u32) -> Packet {
    let mut packet = Packet { service: Service::Trimmable.into(), ..segment(sequence) };
    packet.trim(64);
    packet
}

fn nack(sequence: u32) -> Packet {
    let mut packet = ack(sequence);
    packet.header.kind = Kind::Nack;
    packet
}

fn kinds(packets: &[Packet]) -> Vec<(Kind, u32)> {
    packets.iter().map(|packet| (packet.header.kind, packet.header.sequence)).collect()
}

#[test]
fn a_receiver_answers_a_trimmed_segment_with_a_nack_of_its_number() {
    let mut lone = Lone::receiver(&cut_payload(standing(8)));
    assert_eq!(kinds(&lone.answers(&trimmed(0))), [(Kind::Nack, 0)]);
    assert_eq!(kinds(&lone.answers(&segment(0))), [(Kind::Ack, 1)]);
    assert_eq!(kinds(&lone.answers(&trimmed(2))), [(Kind::Nack, 2)]);
    // A copy of a segment that has arrived, in order or behind a gap.
    assert_eq!(kinds(&lone.answers(&segment(4))), [(Kind::Ack, 1)]);
    for arrived in [0, 4] {
        assert_eq!(kinds(&lone.answers(&trimmed(arrived))), []);
    }
    assert_eq!((lone.seen().packets, lone.seen().duplicates), (2, 0));
    // Receivers of other configurations say nothing.
    assert_eq!(kinds(&Lone::receiver(&standing(8)).answers(&trimmed(0))), []);
}

#[test]
fn data_is_trimmable_only_where_receivers_send_nacks() {
    let services = |config: &Config| Lone::sender(config, Some(3)).all()[0].service;
    assert!(services(&cut_payload(standing(8))) == Service::Trimmable);
    assert!(services(&standing(8)) == Service::Droppable);
}

#[test]
fn a_nack_resends_its_segment_at_once_and_halves_the_window_once() {
    let mut lone = Lone::sender(&cut_payload(standing(8)), Some(20));
    assert_eq!(lone.data(), (0..8).collect::<Vec<u32>>());
    let window = lone.window();
    assert_eq!(lone.data_after(&nack(3)), [3]);
    assert_eq!(lone.window(), window / 2);
    // Seven are in flight, and the window is four: the others wait for what leaves the network.
    for sequence in [5, 6, 7] {
        assert_eq!(lone.data_after(&nack(sequence)), []);
    }
    assert_eq!(lone.data_after(&ack(3)), [5, 6]);
    assert_eq!(lone.window(), window / 2);
    assert_eq!((lone.sent().notifications, lone.sent().timeouts), (4, 0));
    // The copy was trimmed too: it goes again, where SACK would wait for a time-out.
    assert_eq!(lone.data_after(&nack(3)), [3]);
    assert_eq!(lone.window(), window / 2);
}

/// NDP's ports return headers that have no room; `switch.trim_to` returns or notifies.
#[test]
fn a_returned_header_or_a_notification_acts_as_a_nack() {
    for is_returned in [true, false] {
        let mut lone = Lone::sender(&cut_payload(standing(8)), Some(20));
        lone.data();
        let mut packet = trimmed(3);
        if is_returned {
            packet.bounce();
        } else {
            packet.notify();
        }
        assert_eq!(lone.data_after(&packet), [3]);
        assert_eq!(lone.sent().notifications, 1);
    }
}

#[test]
fn a_stale_nack_changes_nothing() {
    let mut lone = Lone::sender(&cut_payload(standing(4)), Some(20));
    lone.data();
    lone.receive(&ack(2));
    lone.data();
    let (window, statistics) = (lone.window(), *lone.sent());
    for stale in [0, 1, 40, u32::MAX] {
        assert_eq!(lone.data_after(&nack(stale)), []);
    }
    assert_eq!((lone.window(), *lone.sent()), (window, statistics));
    let mut plain = Lone::sender(&standing(4), Some(20));
    plain.data();
    assert_eq!(plain.data_after(&nack(1)), []);
    assert_eq!(plain.sent().notifications, 0);
}

/// Returns time-outs of two senders into one queue, and when the last of them ended.
fn two_senders(config: &Config, trims: bool, segments: u64) -> (u64, Time) {
    let mut network = Network::new(3, 1, config);
    (network.capacity, network.trims) = (6, trims);
    network.open(1, 0, 1, Some(segments));
    network.open(2, 0, 1, Some(segments));
    network.run(us(4_000_000));
    assert_eq!((network.received(1), network.received(2)), (segments as usize, segments as usize));
    assert!(!trims || network.dropped == 0);
    let of = |host: usize| network.hosts[host].endpoint.sender_statistics(0).timeouts;
    let end = |host: usize| network.acknowledged_at(host).expect("the flow ends");
    assert_eq!(network.hosts[0].count(Side::Receiving), 2);
    (of(1) + of(2), end(1).max(end(2)))
}

/// The first windows of two senders are five times the queue; drops of their last segments cost a time-out.
#[test]
fn trimming_avoids_the_timeouts_of_drops() {
    let config = cut_payload(Config { rto_min: config().rto_min, ..standing(15) });
    let (timeouts, end) = two_senders(&config, true, 15);
    let (timeouts_of_drops, end_of_drops) = two_senders(&config, false, 15);
    assert_eq!(timeouts, 0);
    assert!(timeouts_of_drops > 0 && end < end_of_drops, "{end} {end_of_drops}");
}

/// A segment that was resent before a recovery is acknowledged in it. By the echo of its time the recovery seems needless
/// (RFC 3522), and what NACKs have named would count as in flight again.
#[test]
fn an_echo_undoes_no_recovery_that_a_nack_began() {
    let config = cut_payload(Config { timestamps: true, ..standing(8) });
    let mut lone = Lone::sender(&config, Some(20));
    lone.data();
    assert_eq!(lone.at(100).data_after(&nack(0)), [0]);
    assert_eq!(lone.at(150).data_after(&ack(6)), [8, 9]);
    let copy = lone.at(200).answers(&nack(8));
    assert_eq!(lone.at(250).data_after(&ack(8)), [10, 11]);
    assert_eq!(lone.at(300).data_after(&nack(9)), [9]);
    let window = lone.window();
    let echo = Packet {
        header: Header { extra: copy[0].header.extra, ..ack(9).header },
        marks: 1 << 4,
        ..ack(9)
    };
    lone.at(350).receive(&echo);
    assert_eq!((lone.sent().undone, lone.window() >= 2 * window), (0, false));
}

/// A first segment with data and SYN that was trimmed opens the connection all the same.
#[test]
fn a_trimmed_first_segment_costs_a_round_trip_under_every_handshake() {
    for handshake in [Handshake::Standing, Handshake::FastOpen, Handshake::ThreeWay] {
        let config = cut_payload(Config { handshake, ..config() });
        let mut network = Network::new(2, 1, &config);
        network.trims_next = 1;
        network.open(1, 0, 1, Some(2));
        network.run(us(5_000));
        let statistics = network.hosts[1].endpoint.sender_statistics(0);
        assert_eq!((network.received(1), statistics.timeouts), (2, 0), "{handshake:?}");
    }
}

proptest! {
    /// No NACK, whatever it names, stalls a flow or makes it end with less than all.
    #[test]
    fn flows_end_under_any_nacks(
        nacks in proptest::collection::vec((0_u32..40, 0_u64..3_000), 0..60),
        window in 1_u16..20,
    ) {
        let config = cut_payload(standing(window));
        let mut network = Network::new(2, 1, &config);
        (network.capacity, network.trims) = (4, true);
        network.open(1, 0, 1, Some(30));
        let mut nacks = nacks;
        nacks.sort_unstable_by_key(|&(_, at)| at);
        for (sequence, at) in nacks {
            network.run(us(at));
            let mut packet = nack(sequence);
            packet.header.flags = Flags::default();
            network.deliver(1, &packet);
        }
        network.run(us(4_000_000));
        prop_assert_eq!(network.received(1), 30);
        prop_assert!(network.acknowledged_at(1).is_some());
    }
}
