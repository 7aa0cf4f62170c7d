//! The begin of a connection and the end of a message, packet by packet.

use trimline_packet::{Flags, Kind, Packet};
use trimline_transport::Disposition;
use trimline_transport::tcp::{Config, Event, Handshake};
use trimline_transport::{Endpoint as _, Side};

use crate::link::config;
use crate::lone::*;

/// RFC 9293 3.5. Further answers are no duplicate ACKs.
#[test]
fn data_waits_for_the_syn_ack() {
    let mut sender = Lone::sender(&config(), None);
    let begin = sender.all();
    assert_eq!((begin.len(), begin[0].wire_bytes), (1, 64));
    assert!(begin[0].header.flags.contains(Flags::SYN | Flags::FROM_OPENER));
    assert_eq!(sender.data_after(&syn_answer()), [0, 1, 2, 3]);
    for _ in 0..5 {
        assert_eq!(sender.data_after(&syn_answer()), []);
    }
    // Two real duplicates are not yet three.
    sender.receive_times(2, &ack(0)).data();
    assert_eq!(sender.sent().retransmissions_fast, 0);
}

/// RFC 7413 4.2: the rest waits for the SYN's answer.
#[test]
fn a_syn_carries_one_segment() {
    let mut sender = Lone::sender(&Config { handshake: Handshake::FastOpen, ..config() }, None);
    let begin = sender.all();
    assert_eq!((begin.len(), begin[0].wire_bytes), (1, 1500));
    assert!(begin[0].header.flags.contains(Flags::SYN));
    let rest = sender.answers(&ack(1));
    assert_eq!(rest[0].header.sequence, 1);
    assert!(rest.iter().all(|packet| !packet.header.flags.contains(Flags::SYN)));
}

/// RFC 9293 3.10.7.4: a repeated SYN changes nothing.
#[test]
fn every_syn_is_answered() {
    let mut receiver = Lone::receiver(&config());
    let answer = |receiver: &mut Lone| {
        let answers = receiver.answers(&syn());
        assert_eq!(answers.len(), 1);
        assert_eq!(answers[0].header.kind, Kind::Ack);
        assert!(answers[0].header.flags.contains(Flags::SYN));
        answers[0].header.sequence
    };
    assert_eq!((answer(&mut receiver), answer(&mut receiver)), (0, 0));
    assert_eq!(receiver.receive(&segment(0)), Disposition::Accept { slot: 0, sequence: 0 });
    assert_eq!(receiver.all().len(), 1);
    assert_eq!(answer(&mut receiver), 1);
    assert_eq!(receiver.seen().packets, 1);
}

/// RFC 9293 3.10.7.1, 3.10.7.2.
#[test]
fn no_connection_opens_without_a_syn_or_a_listener() {
    let mut without = segment(0);
    without.header.flags = Flags::default().with(Flags::FROM_OPENER);
    let mut receiver = Lone::receiver(&config());
    assert_eq!(receiver.answers(&without), []);
    assert_eq!(Lone::deaf(&config()).answers(&syn()), []);
    // Once the connection has begun a segment needs no SYN.
    assert_eq!(receiver.answers(&syn()).len(), 1);
    assert_eq!(receiver.answers(&without)[0].header.sequence, 1);
}

/// RFC 9293 3.6.1: a late SYN does not reopen a connection.
#[test]
fn a_forgotten_tcp_connection_does_not_restart() {
    let mut receiver = Lone::forgetful(&config());
    assert_eq!((receiver.answers(&syn()), receiver.answers(&segment(0))), (vec![], vec![]));
}

/// RFC 9293 3.10.7.4.
#[test]
fn the_end_of_a_flow_is_acknowledged_each_time_and_reported_once() {
    let mut receiver = Lone::receiver(&Config { ack_every: 2, ..config() });
    let mut last = segment(2);
    last.header.flags = last.header.flags.with(Flags::LAST);
    let answers: Vec<Vec<u32>> = [segment(0), segment(1), last, last, last]
        .iter()
        .map(|packet: &Packet| {
            receiver.answers(packet).iter().map(|answer| answer.header.sequence).collect()
        })
        .collect();
    assert_eq!(answers, [vec![], vec![2], vec![3], vec![3], vec![3]]);
    let notified: Vec<Event> = core::iter::from_fn(|| receiver.endpoint.poll_event()).collect();
    assert_eq!(notified.len(), 1);
    assert!(
        matches!(notified[0], Event::Delivered { key, slot: 0 } if key.side == Side::Receiving)
    );
    assert_eq!((receiver.seen().packets, receiver.seen().duplicates), (3, 2));
}

#[test]
fn a_sender_whose_end_is_acknowledged_is_silent() {
    let mut sender = Lone::sender(&standing(4), Some(3));
    assert_eq!(sender.data(), [0, 1, 2]);
    for _ in 0..4 {
        assert_eq!(sender.data_after(&ack(3)), []);
    }
    assert_eq!(core::iter::from_fn(|| sender.endpoint.poll_event()).count(), 1);
    assert_eq!(sender.timeout(10_000_000), None);
}
