//! The rules of a sender.

use std::collections::BTreeSet;

use trimline_packet::{Flags, Packet, Service, Time};
use trimline_transport::Endpoint as _;
use trimline_transport::nscc::{ACK_REQUEST, Config, QuickAdapt};
use trimline_transport::path_choice::PathChoice;

use crate::lone::{Lone, ack, config, marked, nack, us};

/// uet-htsim: the first window is one and a half bandwidth-delay products.
#[test]
fn a_window_goes_at_once_and_its_last_packet_asks_for_an_ack() {
    let mut lone = Lone::with(config(), 40);
    let first = lone.all();
    assert_eq!(first.len(), 12, "18,750 bytes");
    let paths: BTreeSet<u16> = first[..4].iter().map(|packet| packet.header.path.get()).collect();
    assert_eq!(paths.len(), 4, "packets are sprayed");
    for (number, packet) in (0..).zip(&first) {
        let asks = if number == 11 { ACK_REQUEST } else { 0 };
        let flags = Flags::SYN | Flags::FROM_OPENER | asks;
        assert_eq!((packet.header.sequence, packet.header.flags.bits()), (number, flags));
        assert_eq!((packet.wire_bytes, packet.marks), (1500, Packet::MARK_ECT));
        assert!(packet.service == Service::Trimmable);
    }
    assert_eq!(lone.endpoint.window(0), (18_750, 18_000));
    let mut narrow = config();
    narrow.law.first = Some(11_999);
    let asks = |packet: &Packet| packet.header.flags.contains(ACK_REQUEST);
    let flags: Vec<bool> = Lone::with(narrow, 40).all().iter().map(asks).collect();
    assert_eq!(flags, [true; 7], "a window of less than two ACKs asks with each packet");
    let mut untrimmed = Lone::with(Config { trims: false, ..config() }, 2);
    let services: Vec<bool> =
        untrimmed.all().iter().map(|packet| packet.service == Service::Droppable).collect();
    assert_eq!(services, [true, true]);
}

/// The receiver's count takes packets out of flight before an ACK names them.
#[test]
fn counted_packets_leave_the_flight_and_named_ones_are_not_resent() {
    let mut lone = Lone::with(config(), 40);
    lone.all();
    // Packet 11 arrived, and three that are out of the bitmap's reach: 0 is missing.
    let mut reported = ack(11, 0, &[11]);
    reported.header.extra = 4 << 16 | reported.header.extra & 0xffff;
    lone.at(10).receive(&reported);
    assert_eq!(lone.endpoint.window(0).1, 8 * 1500);
    assert_eq!(lone.numbers(), [12, 13, 14, 15]);
    // The same packets are named now: nothing new.
    lone.receive(&ack(11, 3, &[11]));
    assert_eq!(lone.endpoint.window(0).1, 12 * 1500);
    assert_eq!(lone.numbers(), []);
    // Numbers that were never sent, or behind the end, are ignored.
    lone.receive(&ack(99, 98, &[]));
    lone.receive(&ack(3, 3, &[4; 60]));
    assert_eq!(lone.endpoint.window(0).1, 12 * 1500);
    // After a time-out, what is known to have arrived is not resent.
    lone.at(200).expire();
    let sent: BTreeSet<u32> = std::iter::repeat_with(|| {
        let sent = lone.numbers();
        lone.receive(&ack(3, 3, &[11]));
        sent
    })
    .take(1)
    .flatten()
    .collect();
    assert!(sent.contains(&3) && !sent.contains(&11) && !sent.contains(&0), "{sent:?}");
}

/// uet-htsim: a NACK takes its bytes from the window, and the packet goes again before new ones.
#[test]
fn a_trimmed_packet_is_resent_first_and_once() {
    let mut lone = Lone::with(config(), 40);
    lone.all();
    lone.at(10).receive(&nack(5, 0));
    assert_eq!(lone.endpoint.window(0), (17_250, 16_500));
    assert_eq!(lone.numbers(), [], "the window has shrunk by the packet");
    lone.receive(&nack(5, 0));
    assert_eq!(lone.endpoint.window(0), (17_250, 16_500), "a NACK counts once");
    lone.at(11).receive(&ack(0, 1, &[]));
    let again = lone.all();
    let seen: Vec<(u32, u8)> = again
        .iter()
        .map(|packet| (packet.header.sequence, packet.header.flags.attempt()))
        .collect();
    assert_eq!(seen, [(5, 1)]);
    // A NACK of the first transmission is late now.
    lone.receive(&nack(5, 0));
    assert_eq!(lone.endpoint.window(0).1, 16_500);
    lone.receive(&nack(5, 1));
    assert_eq!(lone.endpoint.window(0).1, 15_000);
    assert_eq!(lone.endpoint.sender_statistics(0).resent_trimmed, 1);
    // A header that a switch returned counts as a NACK.
    let mut returned = again[0];
    returned.header.sequence = 6;
    returned.header.flags = returned.header.flags.with_attempt(0);
    returned.trim(64);
    returned.bounce();
    lone.receive(&returned);
    assert_eq!(lone.endpoint.sender_statistics(0).returned, 1);
    assert_eq!(lone.endpoint.window(0).1, 13_500);
}

/// uet-htsim: a resent packet asks for an ACK, although more may follow it.
#[test]
fn a_resent_packet_asks_for_an_ack() {
    let mut lone = Lone::with(config(), 40);
    lone.all();
    lone.at(10).receive(&nack(5, 0));
    lone.at(11).receive(&ack(3, 4, &[]));
    let asks = |packet: &Packet| packet.header.flags.contains(ACK_REQUEST);
    let sent: Vec<(u32, bool)> =
        lone.all().iter().map(|packet| (packet.header.sequence, asks(packet))).collect();
    assert_eq!(sent, [(5, true), (12, false), (13, false), (14, true)]);
}

/// uet-htsim: the time until a NACK counts as a round trip, although only a header went all the way.
#[test]
fn a_nack_lowers_the_base_round_trip() {
    let mut lone = Lone::with(config(), 40);
    lone.all();
    lone.at(6).receive(&nack(5, 0));
    assert_eq!(lone.endpoint.window(0).0, 6 * 1_250 * 3 / 2, "the max of 6 us at 10 Gb/s");
    // A switch returns a header from halfway.
    let mut lone = Lone::with(config(), 40);
    let mut returned = lone.all()[5];
    returned.trim(64);
    returned.bounce();
    lone.at(6).receive(&returned);
    assert_eq!(lone.endpoint.window(0).0, 17_250);
}

/// With `rto_doublings = 0` the time-out doubles from the 17th on: a flow whose time-out is shorter than its round trip
/// must end.
#[test]
fn equal_time_outs_grow_in_the_end() {
    let config = Config { trims: false, rto_doublings: 0, ..config() };
    let mut lone = Lone::with(config, 1);
    lone.all();
    let (mut at, mut waits) = (0, Vec::new());
    for _ in 0..25 {
        let before = at;
        while lone.numbers() != [0] {
            at = at.max(lone.endpoint.poll_timeout().as_ps().div_ceil(1_000_000));
            lone.at(at).expire();
        }
        waits.push(at - before);
    }
    assert_eq!(waits[..17], [100; 17]);
    assert_eq!(waits[17..], [200, 400, 800, 1_600, 3_200, 6_400, 6_400, 6_400]);
}

/// When a flow's packets were all trimmed in 64 round trips in a row, the flow waits, longer each time, until a whole
/// packet arrives.
#[test]
fn a_flow_whose_packets_are_all_trimmed_waits_longer_each_time() {
    let mut lone = Lone::with(config(), 1);
    lone.all();
    let mut at = 0;
    let mut waits = Vec::new();
    for attempt in 0..75_u8 {
        at += 10;
        lone.at(at).receive(&nack(0, attempt & 3));
        let before = at;
        while lone.numbers() != [0] {
            // A timer may come early.
            at = at.max(lone.endpoint.poll_timeout().as_ps().div_ceil(1_000_000));
            lone.at(at).expire();
        }
        waits.extend(Some(at - before).filter(|&wait| wait > 0));
    }
    assert_eq!(waits.len(), 12, "{waits:?}");
    for (wait, base) in waits.iter().zip([10, 20, 40, 80, 160, 320, 640, 640, 640, 640, 640, 640]) {
        assert!((base / 2..=base * 3 / 2 + 1).contains(wait), "{waits:?}");
    }
    let mut lone = Lone::with(config(), 2);
    let mut sent = lone.all();
    for round in 1..=120_u64 {
        lone.at(10 * round);
        if round == 60 {
            lone.receive(&ack(0, 1, &[]));
            sent.retain(|packet| packet.header.sequence == 1);
        }
        for packet in &sent {
            lone.receive(&nack(packet.header.sequence, packet.header.flags.attempt()));
        }
        sent = lone.all();
        assert_eq!(
            sent.last().map(|packet| packet.header.sequence >= u32::from(round >= 60)),
            Some(true)
        );
    }
}

/// Each packet has the time-out from its own sending on, which doubles while nothing new arrives.
#[test]
fn packets_time_out_one_by_one() {
    let mut config = Config { trims: false, ..config() };
    config.law.quick_adapt = QuickAdapt::Off;
    let mut lone = Lone::with(config, 40);
    lone.all();
    lone.at(10).receive(&ack(3, 4, &[]));
    assert_eq!(lone.numbers(), [12, 13, 14, 15]);
    assert_eq!(lone.endpoint.poll_timeout(), us(100));
    lone.at(100).expire();
    assert_eq!(lone.endpoint.sender_statistics(0).timeouts, 1);
    // Eight were lost, and the window has lost their bytes; those of 10 us are still in flight.
    assert_eq!(lone.endpoint.window(0), (18_750 - 12_000, 6_000));
    assert_eq!(lone.numbers(), []);
    // The time-out has doubled: those of 10 us count as lost at 210.
    assert_eq!(lone.endpoint.poll_timeout(), us(210));
    // The oldest was only late.
    lone.at(205).receive(&ack(4, 5, &[]));
    assert!(lone.endpoint.poll_timeout() > us(205), "the short time-out begins anew");
    assert_eq!(lone.endpoint.sender_statistics(0).resent_timeout, 0);
    lone.receive(&ack(15, 5, &[12, 13, 14, 15]));
    let sent = lone.numbers();
    assert_eq!(sent[..3], [5, 6, 7], "lost ones first");
    assert_eq!(lone.endpoint.sender_statistics(0).resent_timeout, sent.len() as u64);
}

#[test]
fn a_flow_ends_when_all_has_arrived_and_says_so_once() {
    let mut lone = Lone::with(config(), 3);
    assert_eq!(lone.numbers(), [0, 1, 2]);
    lone.at(10).receive(&ack(2, 0, &[2]));
    lone.receive(&marked(ack(1, 0, &[1, 2])));
    assert!(!lone.has_ended());
    lone.receive(&ack(0, 3, &[]));
    assert!(lone.has_ended());
    lone.receive(&ack(0, 3, &[]));
    lone.receive(&nack(1, 0));
    assert!(!lone.has_ended());
    lone.at(500).expire();
    assert_eq!((lone.numbers(), lone.endpoint.poll_timeout()), (vec![], Time::NEVER));
    lone.endpoint.forget(0);
}

/// The delay of an ACK is that of the packet that it echoes.
#[test]
fn marked_late_acks_lower_the_window_and_clear_ones_raise_it() {
    let mut config = config();
    config.law.first = Some(6_000);
    config.law.quick_adapt = QuickAdapt::Off;
    let mut lone = Lone::with(config.clone(), 4_000);
    let mut echo = 0;
    // A twelfth of the constants' product: a 48th more in a round trip.
    for turn in 1..100 {
        let sent = lone.numbers();
        echo = *sent.last().unwrap_or(&echo);
        lone.at(turn * 10).receive(&ack(echo, echo + 1, &[]));
    }
    assert_eq!(lone.endpoint.window(0).0, 18_750, "up to the max and no more");
    // Delays of 80 us, with marks: the mean rises above the target, then the window falls.
    for turn in 1..20 {
        let sent = lone.numbers();
        echo = *sent.last().unwrap_or(&echo);
        lone.at(1_000 + turn * 90).receive(&marked(ack(echo, echo + 1, &[])));
    }
    assert!(lone.endpoint.mean_delay(0) > config.law.target, "{}", lone.endpoint.mean_delay(0));
    assert!(lone.endpoint.window(0).0 < 15_000, "{:?}", lone.endpoint.window(0));
}

/// Paths that a sender takes after it was told of its first packets.
fn paths_after(choice: PathChoice, tell: impl Fn(&mut Lone, &[Packet])) -> Vec<u16> {
    let mut config = Config { path_choice: choice, trims: true, ..config() };
    config.law.first = Some(6_000);
    config.law.quick_adapt = QuickAdapt::Off;
    let mut lone = Lone::with(config, 400);
    let first = lone.all();
    assert_eq!(first.len(), 4);
    lone.at(10);
    tell(&mut lone, &first);
    lone.all().iter().map(|packet| packet.header.path.get()).collect()
}

/// An ACK tells of the path of the packet that it echoes, a NACK of that of the trimmed packet, a time-out of that of
/// the lost one.
#[test]
fn answers_and_time_outs_tell_of_the_path_of_their_packet() {
    let path = |packets: &[Packet], number: usize| packets[number].header.path.get();
    // Mixed: the paths of the unmarked echoes, in order.
    let order = std::cell::Cell::new([0; 3]);
    let paths = paths_after(PathChoice::Mixed, |lone, sent| {
        order.set([2, 0, 3].map(|number| path(sent, number)));
        lone.receive(&ack(2, 0, &[2]));
        lone.receive(&ack(0, 1, &[2]));
        lone.receive(&ack(3, 1, &[2, 3]));
    });
    assert_eq!(paths[..3], order.get());
    // Bitmap: a path is out for a round after a mark, longer after a trim, longest after a time-out.
    for told in ["good", "marked", "trimmed", "last hop", "lost"] {
        let bad = std::cell::Cell::new(0);
        let paths = paths_after(PathChoice::Bitmap, |lone, sent| {
            bad.set(path(sent, 1));
            let last_hop = Packet { marks: Packet::MARK_LAST_HOP, ..nack(1, 0) };
            match told {
                "good" => _ = lone.receive(&ack(1, 0, &[1])),
                "marked" => _ = lone.receive(&marked(ack(1, 0, &[1]))),
                "trimmed" => _ = lone.receive(&nack(1, 0)),
                "last hop" => _ = lone.receive(&last_hop),
                _ => {
                    lone.receive(&ack(3, 0, &[0, 2, 3]));
                    lone.at(100).expire();
                }
            }
            for echo in (0..4).filter(|&echo| echo != 1) {
                lone.receive(&ack(echo, 0, &[0, 2, 3]));
            }
        });
        let is_used = paths.contains(&bad.get());
        assert_eq!(is_used, matches!(told, "good" | "last hop"), "{told}: {paths:?} {bad:?}");
    }
}
