//! The rules of a receiver.

use trimline_packet::{Flags, Kind, Packet, Service};
use trimline_transport::flow::Event;
use trimline_transport::nscc::ACK_REQUEST;
use trimline_transport::{Disposition, Endpoint as _};

use crate::lone::{Lone, ack, config, data};

/// Sequence, extra and marks of the only answer.
fn answer(lone: &mut Lone) -> Option<(u32, u32, u8)> {
    let sent = lone.all();
    assert!(sent.len() <= 1);
    sent.first().map(|packet| (packet.header.sequence, packet.header.extra, packet.marks))
}

fn said(packet: Packet) -> Option<(u32, u32, u8)> {
    Some((packet.header.sequence, packet.header.extra, packet.marks))
}

/// uet-htsim: an ACK for every 16,384 bytes, and for a flow's first packet; here for every 6,000.
#[test]
fn an_ack_answers_the_first_packet_and_every_so_many_bytes() {
    let mut lone = Lone::new(config());
    lone.receive(&data(0, 0, 0));
    assert_eq!(answer(&mut lone), said(ack(0, 1, &[])));
    for number in [1, 3, 4] {
        lone.receive(&data(number, 0, 0));
        assert_eq!(answer(&mut lone), None, "{number}");
    }
    lone.receive(&data(6, 0, 0));
    assert_eq!(answer(&mut lone), said(ack(6, 2, &[3, 4, 6])));
}

/// uet-htsim: a mark is told at once, with the packet that bore it.
#[test]
fn a_marked_packet_is_answered_at_once() {
    let mut lone = Lone::new(config());
    lone.receive(&data(0, 0, 0));
    lone.all();
    lone.receive(&data(1, 0, Packet::MARK_ECT | Packet::MARK_CE));
    let marked = Packet { marks: Packet::MARK_ECE, ..ack(1, 2, &[]) };
    assert_eq!(answer(&mut lone), said(marked));
    lone.receive(&data(2, 0, Packet::MARK_ECT));
    assert_eq!(answer(&mut lone), None);
}

#[test]
fn a_request_is_answered_at_once_and_again_when_nothing_is_missing() {
    let mut lone = Lone::new(config());
    lone.receive(&data(0, 0, 0));
    lone.all();
    lone.receive(&data(3, ACK_REQUEST, 0));
    assert_eq!(answer(&mut lone), said(ack(3, 1, &[3])));
    lone.receive(&data(1, 0, 0));
    assert_eq!(answer(&mut lone), None);
    lone.receive(&data(2, 0, 0));
    assert_eq!(answer(&mut lone), said(ack(2, 4, &[])));
    lone.receive(&data(4, 0, 0));
    assert_eq!(answer(&mut lone), None, "the request was answered");
}

#[test]
fn a_duplicate_is_answered_at_once_and_not_counted() {
    let mut lone = Lone::new(config());
    lone.receive(&data(0, 0, 0));
    lone.receive(&data(5, 0, 0));
    lone.all();
    for (number, disposition) in [(5, Disposition::Discard), (0, Disposition::Discard)] {
        assert_eq!(lone.receive(&data(number, 0, 0)), disposition);
        assert_eq!(answer(&mut lone), said(ack(number, 1, &[5])), "{number}");
    }
    assert_eq!(lone.endpoint.receiver_statistics(0).packets, 2);
}

/// The bits around the echoed packet; the count says how many there are besides.
#[test]
fn a_bitmap_names_packets_near_the_echo() {
    let mut lone = Lone::new(config());
    let arrived = [0, 2, 20, 31, 32, 33, 40, 41];
    for number in arrived {
        lone.receive(&data(number, 0, 0));
    }
    lone.all();
    lone.receive(&data(40, 0, 0));
    let (_, extra, _) = answer(&mut lone).expect("a duplicate is answered");
    assert_eq!(extra >> 16, 7, "all but packet 0");
    // Bits from 32 on: 32, 33, 40, 41.
    assert_eq!(extra & 0xffff, 0b11_0000_0011);
}

/// uet-htsim: a trimmed packet gets a NACK, which says whether it was trimmed at the last hop.
#[test]
fn a_trimmed_packet_gets_a_nack_unless_it_arrived() {
    let mut lone = Lone::new(config());
    let trimmed = |number, marks| {
        let mut packet = data(number, 0, marks);
        packet.trim(64);
        packet.header.flags = packet.header.flags.with_attempt(2);
        packet
    };
    assert_eq!(lone.receive(&trimmed(3, 0)), Disposition::Discard, "it begins the flow");
    let nack = lone.all()[0];
    assert_eq!((nack.header.kind, nack.header.sequence, nack.marks), (Kind::Nack, 3, 0));
    assert_eq!((nack.header.flags.attempt(), nack.wire_bytes), (2, 64));
    let marks = Packet::MARK_LAST_HOP | Packet::MARK_ECT | Packet::MARK_CE;
    lone.receive(&trimmed(4, marks));
    let nack = lone.all()[0];
    assert_eq!(nack.marks, Packet::MARK_LAST_HOP | Packet::MARK_ECE);
    lone.receive(&data(3, 0, 0));
    lone.all();
    lone.receive(&trimmed(3, 0));
    let ack = lone.all()[0];
    assert_eq!(ack.header.kind, Kind::Ack);
    assert!(ack.service == Service::Control);
    assert_eq!(lone.endpoint.receiver_statistics(0).headers, 3);
}

#[test]
fn a_flow_is_delivered_once_all_packets_up_to_the_last_are_there() {
    let mut lone = Lone::new(config());
    let delivered = |lone: &mut Lone| {
        let events = std::iter::from_fn(|| lone.endpoint.poll_event());
        events.filter(|event| matches!(event, Event::Delivered { .. })).count()
    };
    lone.receive(&data(0, 0, 0));
    lone.receive(&data(2, Flags::LAST, 0));
    assert_eq!(delivered(&mut lone), 0);
    lone.receive(&data(1, 0, 0));
    assert_eq!(delivered(&mut lone), 1);
    lone.receive(&data(1, 0, 0));
    assert_eq!(delivered(&mut lone), 0);
    // Beyond the window nothing is taken.
    let mut lone = Lone::new(config());
    assert_eq!(lone.receive(&data(1 << 15, 0, 0)), Disposition::Discard);
    assert_eq!(lone.all(), []);
}
