//! A sender's packets: their order, their priority, and the end of a message.

use trimline_packet::{Flags, Kind, Packet, Service, Time, TimeDelta};
use trimline_transport::flow::Event;
use trimline_transport::homa::{Config, Ending, MANY};
use trimline_transport::{Allowed, Endpoint as _};

use crate::lone::{Lone, ack, config, grant, resend, us};

#[test]
fn unscheduled_packets_carry_the_message_length() {
    for (bytes, packets, unasked) in [
        (0, 1, 1),
        (1, 1, 1),
        (1000, 1, 1),
        (1001, 2, 2),
        (3000, 3, 3),
        (3001, 4, 3),
        (9500, 10, 3),
    ] {
        let mut lone = Lone::new(config());
        lone.open(1, Some(bytes));
        let sent = lone.all();
        assert_eq!(sent.len(), unasked, "{bytes}");
        for (number, packet) in (0..).zip(&sent) {
            let header = packet.header;
            assert_eq!((header.kind, header.sequence), (Kind::Data, number));
            assert_eq!(header.service_port(), packets, "{bytes}");
            assert!(header.flags.contains(Flags::SYN | Flags::FROM_OPENER));
            assert_eq!(header.flags.contains(Flags::LAST), number + 1 == u32::from(packets));
            let length = (bytes - u64::from(number) * 1000).min(1000) as u16;
            assert_eq!((header.payload_length(), packet.wire_bytes), (length, length + 76));
            assert!(packet.service == Service::Droppable);
        }
    }
    let mut endless = Lone::new(config());
    endless.open(1, None);
    assert_eq!(endless.all()[0].header.service_port(), MANY as u16);
}

#[test]
fn unscheduled_bytes_end_with_a_short_packet() {
    let mut lone = Lone::new(Config { unscheduled_bytes: 2400, ..config() });
    lone.open(1, Some(5000));
    let lengths = |lone: &mut Lone| -> Vec<u16> {
        lone.all().iter().map(|packet| packet.header.payload_length()).collect()
    };
    assert_eq!(lengths(&mut lone), [1000, 1000, 400]);
    lone.receive(&grant(1, 99, 0));
    assert_eq!(lengths(&mut lone), [1000, 1000, 600]);
    let mut short = Lone::new(Config { unscheduled_bytes: 2400, ..config() });
    short.open(1, Some(2400));
    assert_eq!(lengths(&mut short), [1000, 1000, 400]);
}

#[test]
fn the_priority_of_a_packet_rises_as_the_rest_shrinks() {
    let mut lone = Lone::new(config());
    lone.open(1, Some(2100));
    assert_eq!(lone.data(), [(1, 0, 5), (1, 1, 6), (1, 2, 7)]);
    lone.open(2, Some(50_000));
    assert_eq!(lone.data(), [(2, 0, 4), (2, 1, 4), (2, 2, 4)]);
    lone.open(3, None);
    assert_eq!(lone.data(), [(3, 0, 4), (3, 1, 4), (3, 2, 4)]);
}

#[test]
fn granted_data_has_the_priority_of_its_grant() {
    let mut lone = Lone::new(config());
    lone.open(1, Some(9500));
    lone.all();
    lone.receive(&grant(1, 5, 2));
    assert_eq!(lone.endpoint.granted_unsent(0), 2);
    assert_eq!(lone.data(), [(1, 3, 2), (1, 4, 2)]);
    // An older GRANT takes nothing back and changes no priority.
    lone.receive(&grant(1, 7, 1));
    lone.receive(&grant(1, 6, 3));
    assert_eq!(lone.data(), [(1, 5, 1), (1, 6, 1)]);
    lone.receive(&grant(1, 10, 0));
    let rest = lone.all();
    assert_eq!(rest.len(), 3);
    assert!(!rest[0].header.flags.contains(Flags::SYN), "a packet that is granted opens nothing");
    assert_eq!((rest[2].header.payload_length(), rest[2].header.sequence), (500, 9));
}

#[test]
fn first_time_unscheduled_data_is_marked() {
    let marks = |packets: &[Packet]| -> Vec<(u32, bool)> {
        packets
            .iter()
            .map(|packet| (packet.header.sequence, packet.marks == Packet::MARK_UNSCHEDULED))
            .collect()
    };
    let mut lone = Lone::new(Config { marked: 2, ..config() });
    lone.open(1, Some(9500));
    assert_eq!(marks(&lone.all()), [(0, true), (1, true), (2, false)]);
    lone.receive(&resend(1, 1, 1, 0));
    lone.receive(&grant(1, 4, 0));
    assert_eq!(marks(&lone.all()), [(1, false), (3, false)]);
    let mut all = Lone::new(Config { marked: 9, ..config() });
    all.open(1, Some(9500));
    all.receive(&grant(1, 4, 0));
    assert_eq!(marks(&all.all()), [(0, true), (1, true), (2, true), (3, false)]);
}

#[test]
fn the_message_with_the_fewest_bytes_left_goes_first() {
    let mut lone = Lone::new(config());
    lone.open(1, Some(2500));
    lone.open(2, Some(1500));
    lone.open(3, Some(1500));
    let order: Vec<u32> = lone.data().iter().map(|&(connection, ..)| connection).collect();
    assert_eq!(order, [2, 2, 3, 3, 1, 1, 1]);
    // Sent bytes do not count, also for a message that waits for GRANTs.
    lone.open(4, Some(9000));
    lone.open(5, Some(8500));
    lone.all();
    lone.receive(&grant(4, 6, 0));
    lone.all();
    for connection in [4, 5] {
        lone.receive(&grant(connection, 9, 0));
    }
    assert_eq!(lone.data()[0].0, 4, "3000 bytes left, and 5500");
}

#[test]
fn endless_messages_alternate_after_all_others() {
    let mut lone = Lone::new(Config { unscheduled_bytes: 1000, ..config() });
    for connection in 1..3 {
        lone.open(connection, None);
    }
    lone.all();
    for connection in 1..3 {
        lone.receive(&grant(connection, 4, 0));
    }
    lone.open(3, Some(900));
    let order: Vec<u32> = lone.data().iter().map(|&(connection, ..)| connection).collect();
    assert_eq!(order, [3, 1, 2, 1, 2, 1, 2]);
}

#[test]
fn a_paused_priority_does_not_block_others() {
    let mut lone = Lone::new(config());
    lone.open(1, Some(400));
    lone.open(2, Some(30_000));
    let only = |class: u8| Allowed::from_bits(1 << class);
    assert_eq!(lone.endpoint.transmit_at(only(5)), Time::NEVER);
    assert_eq!(lone.endpoint.poll_transmit(Time::ZERO, only(5)), None);
    let packet = lone.endpoint.poll_transmit(Time::ZERO, only(4)).expect("a packet");
    assert_eq!(packet.header.connection.get(), 2);
    assert_eq!(lone.data().len(), 3);
}

#[test]
fn requested_retransmissions_go_first() {
    let mut lone = Lone::new(config());
    lone.open(1, Some(9500));
    lone.all();
    lone.receive(&grant(1, 6, 1));
    lone.all();
    lone.receive(&grant(1, 7, 1));
    // An unscheduled packet is as urgent as it was; the priority of others is in the RESEND.
    lone.receive(&resend(1, 2, 2, 6));
    assert_eq!(lone.data(), [(1, 2, 5), (1, 3, 6), (1, 6, 1)]);
    assert_eq!(lone.endpoint.statistics(0).resent, 2);
    // A RESEND also stands for a lost GRANT.
    lone.receive(&resend(1, 7, 2, 4));
    assert_eq!(lone.data(), [(1, 7, 4), (1, 8, 4)]);
}

#[test]
fn a_sender_that_serves_other_messages_answers_busy() {
    let mut lone = Lone::new(config());
    lone.open(1, Some(9000));
    lone.all();
    lone.receive(&resend(1, 0, 1, 0));
    assert_eq!(lone.data(), [(1, 0, 5)], "nobody goes first");
    lone.open(2, Some(700));
    lone.receive(&resend(1, 1, 2, 0));
    let busy = lone.next().expect("an answer");
    let header = busy.header;
    assert_eq!((header.kind, header.flags.bits()), (Kind::Ack, Flags::FROM_OPENER));
    assert_eq!((header.connection.get(), header.sequence), (1, 1));
    assert_eq!(lone.data(), [(2, 0, 6), (1, 1, 5), (1, 2, 5)]);
}

/// Returns the first `count` times at which the first packet is repeated.
fn asked(lone: &mut Lone, count: usize) -> Vec<u64> {
    let mut times = Vec::new();
    while times.len() < count {
        lone.now = lone.endpoint.poll_timeout();
        lone.expire();
        let packets = lone.all();
        assert!(packets.len() < 2);
        for packet in packets {
            assert_eq!((packet.header.sequence, packet.header.flags.attempt()), (0, 1));
            times.push(lone.now.as_ps() / 1_000_000);
        }
    }
    times
}

#[test]
fn a_sender_without_answers_resends_its_first_packet() {
    let mut lone = Lone::new(config());
    lone.open(1, Some(9500));
    lone.all();
    assert_eq!(asked(&mut lone, 4), [300, 900, 2100, 4500]);
    // The longest wait is 1024 times the first; an answer of the receiver makes it short again.
    let times = asked(&mut lone, 10);
    assert_eq!(times[9] - times[8], 300 << 10);
    lone.receive(&grant(1, 4, 0));
    assert_eq!(lone.data().len(), 1);
    let received = lone.now.as_ps() / 1_000_000;
    assert_eq!(asked(&mut lone, 2), [received + 300, received + 900]);
}

#[test]
fn packets_that_wait_for_the_nic_are_not_resent() {
    let mut lone = Lone::new(config());
    lone.open(1, Some(2500));
    lone.at(300).expire();
    assert_eq!(lone.data(), [(1, 0, 5), (1, 1, 6), (1, 2, 7)]);
    assert_eq!(asked(&mut lone, 1), [600]);
}

#[test]
fn a_random_backoff_spreads_simultaneous_retries() {
    let config = Config { backoff: TimeDelta::from_us(200), ..config() };
    let mut waits = Vec::new();
    for connection in 0..40 {
        let mut lone = Lone::new(config.clone());
        lone.open(connection, Some(900));
        lone.all();
        let times = asked(&mut lone, 2);
        assert!((300..500).contains(&times[0]), "{times:?}");
        assert!((600..1000).contains(&(times[1] - times[0])), "{times:?}");
        waits.push(times[0]);
    }
    waits.sort_unstable();
    assert!(waits[0] < 340 && waits[39] >= 480, "{waits:?}");
    waits.dedup();
    assert!(waits.len() > 20);
}

#[test]
fn the_ack_of_all_packets_ends_a_message_once() {
    let mut lone = Lone::new(config());
    lone.open(1, Some(2500));
    lone.all();
    for packets in [0, 2, 4] {
        lone.receive(&ack(1, packets));
    }
    assert_eq!(lone.events(), []);
    lone.receive(&ack(1, 3));
    lone.receive(&ack(1, 3));
    assert!(matches!(lone.events()[..], [Event::Acknowledged { slot: 0, .. }]));
    // Late packets change nothing.
    lone.receive(&resend(1, 0, 3, 0));
    lone.receive(&grant(1, 3, 0));
    assert_eq!((lone.next(), lone.sends_at()), (None, None));
    lone.at(300).expire();
    assert_eq!((lone.next(), lone.endpoint.poll_timeout()), (None, Time::NEVER));
}

#[test]
fn without_acks_a_message_ends_after_a_time_without_requests() {
    let ending = Ending::Silent(TimeDelta::from_us(50));
    let mut lone = Lone::new(Config { ending, ..config() });
    lone.open(1, Some(2500));
    assert_eq!(lone.at(7).data().len(), 3);
    lone.at(40).receive(&resend(1, 1, 1, 0));
    assert_eq!(lone.at(41).data(), [(1, 1, 6)]);
    for at in [57, 90] {
        lone.at(at).expire();
        assert_eq!(lone.events(), []);
    }
    assert_eq!(lone.endpoint.poll_timeout(), us(91));
    lone.at(91).expire();
    assert!(matches!(lone.events()[..], [Event::Acknowledged { .. }]));
    // While the message is remembered it still answers.
    lone.receive(&resend(1, 2, 1, 0));
    assert_eq!(lone.data(), [(1, 2, 7)]);
    assert_eq!(lone.events(), []);
    lone.at(300).expire();
    assert_eq!((lone.events(), lone.endpoint.poll_timeout()), (vec![], Time::NEVER));
    // A message that waits for GRANTs asks like any other.
    lone.open(2, Some(5000));
    lone.all();
    assert_eq!(asked(&mut lone, 1), [600]);
}
