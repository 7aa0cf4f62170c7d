//! Packets that no Homa host sends: no panic, no data beyond a message, and honest messages end.

use proptest::prelude::*;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use trimline_packet::{Flags, Header, Kind, Packet, Service, ServiceClass, TimeDelta};
use trimline_transport::flow::Event;
use trimline_transport::homa::Config;
use trimline_transport::{Endpoint as _, RngStream};

use crate::lone::{Lone, ack, busy, config, control, data, grant, resend};

#[test]
fn a_grant_beyond_the_message_sends_the_message() {
    let mut lone = Lone::new(config());
    lone.open(1, Some(4500));
    lone.all();
    lone.receive(&grant(1, u32::MAX, u32::MAX));
    assert_eq!(lone.data(), [(1, 3, 7), (1, 4, 7)]);
    lone.receive(&grant(1, u32::MAX, 0));
    assert_eq!(lone.next(), None);
}

#[test]
fn an_endless_message_is_granted_no_more_than_a_window() {
    let mut lone = Lone::new(config());
    lone.open(1, None);
    lone.all();
    lone.receive(&grant(1, u32::MAX, 0));
    assert_eq!(lone.endpoint.granted_unsent(0), 1 << 15);
}

#[test]
fn resends_of_empty_and_absent_ranges_send_nothing() {
    let mut lone = Lone::new(config());
    lone.open(1, Some(2500));
    lone.all();
    lone.receive(&resend(1, 0, 0, 0));
    lone.receive(&resend(1, 3, 9, 0));
    lone.receive(&resend(1, u32::MAX, 0xFFFF, 0));
    assert_eq!(lone.next(), None);
    lone.receive(&resend(1, 1, 0xFFFF, 7));
    assert_eq!(lone.data(), [(1, 1, 6), (1, 2, 7)]);
}

#[test]
fn packets_of_unknown_messages_are_not_answered() {
    let mut lone = Lone::listening(config());
    for packet in [grant(5, 9, 0), resend(5, 0, 3, 0), ack(5, 1), busy(5, 0)] {
        lone.receive(&packet);
    }
    assert_eq!((lone.next(), lone.events(), lone.sends_at()), (None, vec![], None));
}

#[test]
fn an_end_before_received_packets_is_ignored() {
    let mut lone = Lone::listening(config());
    for sequence in [0, 1, 2, 5] {
        lone.receive(&data(1, sequence, u16::MAX));
    }
    let mut last = data(1, 3, u16::MAX);
    last.header.flags = last.header.flags.with(Flags::LAST);
    lone.receive(&last);
    assert_eq!(lone.events(), []);
    last.header.sequence = 6;
    lone.receive(&last);
    lone.receive(&data(1, 4, u16::MAX));
    assert!(matches!(lone.events()[..], [Event::Delivered { .. }]));
}

/// Draws any packet of the peer.
fn any_packet(dice: &mut RngStream) -> Packet {
    let mut small = |count: u64| (dice.next_u64() % count) as u32;
    let kind = [Kind::Data, Kind::Ack, Kind::Nack, Kind::Pull, Kind::Reset][small(5) as usize];
    let (flags, connection) = (small(256) as u8, small(4));
    let sequence = match small(4) {
        0 => u32::MAX - small(3),
        1 => small(100_000),
        _ => small(12),
    };
    let extra = match small(4) {
        0 => u32::MAX,
        1 => 0,
        2 => Header::data_extra(small(2000) as u16, small(12) as u16),
        _ => small(1 << 32),
    };
    let mut packet = control(kind, flags, connection, sequence, extra);
    if kind == Kind::Data {
        let service = [Service::Droppable, Service::Trimmable, Service::Trimmed, Service::Returned];
        packet.service = ServiceClass::new(service[small(4) as usize], small(8) as u8);
    }
    packet
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 80, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_packet_makes_a_host_panic_or_send_data_outside_messages(seed in any::<u64>()) {
        let mut dice = RngStream::seed_from_u64(seed);
        let config = Config { boost_bytes: 3000, ..config() };
        let mut lone = Lone::listening(config);
        lone.open(0, Some(2500));
        lone.open(1, Some(9500));
        lone.open(2, None);
        for _ in 0..300 {
            lone.now += TimeDelta::from_us(dice.next_u64() % 40);
            if lone.endpoint.poll_timeout() <= lone.now {
                lone.expire();
            }
            lone.receive(&any_packet(&mut dice));
            for _ in 0..dice.next_u64() % 4 {
                let Some(packet) = lone.next() else { break };
                let header = packet.header;
                if header.kind == Kind::Data {
                    let packets = [3, 10, u32::MAX][header.connection.get() as usize];
                    prop_assert!(header.sequence < packets);
                    prop_assert!(header.payload_length() > 0);
                }
            }
        }
        while lone.endpoint.poll_event().is_some() {}
    }
}
