//! A receiver's GRANTs and RESENDs.

use trimline_packet::{Flags, Kind, Service, Time};
use trimline_transport::flow::Event;
use trimline_transport::homa::{Config, Ending};
use trimline_transport::{Disposition, Endpoint as _};

use crate::lone::{Lone, asking, busy, config, data, data_from, probe, us};

/// Receives a message's first packet from a peer of its own.
fn begin(lone: &mut Lone, peer: u32, packets: u16) {
    lone.receive(&data_from(peer, peer, 0, packets));
}

#[test]
fn a_message_is_granted_while_less_than_rtt_bytes_are_in_flight() {
    let mut lone = Lone::listening(config());
    begin(&mut lone, 1, 20);
    // Three packets are unscheduled: 3300 B. The first is here.
    assert_eq!(lone.endpoint.outstanding_bytes(0), 2200);
    assert_eq!(lone.grants(1), [(0, 1, 4, 0)]);
    assert_eq!((lone.endpoint.outstanding_bytes(0), lone.sends_at()), (3300, None));
    lone.at(5).receive(&data_from(1, 1, 1, 20));
    assert_eq!(lone.grants(1), [(5, 1, 5, 0)]);
    assert_eq!(lone.sends_at(), None);
    // Two arrive at once: a GRANT each packet time.
    lone.at(9).receive(&data_from(1, 1, 2, 20));
    lone.receive(&data_from(1, 1, 3, 20));
    assert_eq!(lone.grants(2), [(9, 1, 6, 0), (10, 1, 7, 0)]);
}

#[test]
fn a_grant_carries_an_offset_and_a_priority() {
    let mut lone = Lone::listening(config());
    begin(&mut lone, 1, 20);
    let grant = lone.next().expect("a GRANT");
    let header = grant.header;
    assert_eq!((header.kind, header.flags.bits(), grant.wire_bytes), (Kind::Pull, 0, 64));
    assert_eq!((header.sequence, header.extra), (4, 0));
    assert!(grant.service == Service::Control);
}

#[test]
fn fully_unscheduled_messages_get_no_grant() {
    for packets in 1..=3 {
        let mut lone = Lone::listening(config());
        begin(&mut lone, 1, packets);
        assert_ne!(lone.next().map(|packet| packet.header.kind), Some(Kind::Pull));
    }
    let mut lone = Lone::listening(config());
    begin(&mut lone, 1, 4);
    assert_eq!(lone.grants(1), [(0, 1, 4, 0)]);
    lone.receive(&data_from(1, 1, 1, 4));
    lone.receive(&data_from(1, 1, 2, 4));
    assert_eq!(lone.sends_at(), None);
}

#[test]
fn the_shortest_messages_are_granted_with_the_lowest_sufficient_priorities() {
    let mut lone = Lone::listening(config());
    begin(&mut lone, 1, 50);
    assert_eq!(lone.grants(1), [(0, 1, 4, 0)]);
    lone.at(2);
    begin(&mut lone, 2, 40);
    assert_eq!(lone.grants(1), [(2, 2, 4, 1)]);
    begin(&mut lone, 3, 30);
    assert_eq!(lone.grants(1), [(2, 3, 4, 2)]);
    // The fourth is longer than the other three, and waits.
    begin(&mut lone, 4, 60);
    assert_eq!(lone.sends_at(), None);
    // Now the other messages have a lower priority each.
    lone.at(9).receive(&data_from(1, 1, 1, 50));
    assert_eq!(lone.grants(1), [(9, 1, 5, 0)]);
    // A shorter message takes the place of the longest.
    begin(&mut lone, 5, 20);
    assert_eq!(lone.grants(1), [(9, 5, 4, 2)]);
    lone.at(12).receive(&data_from(1, 1, 2, 50));
    assert_eq!(lone.sends_at(), None);
    lone.receive(&data_from(2, 2, 1, 40));
    assert_eq!(lone.grants(1), [(12, 2, 5, 0)]);
}

#[test]
fn the_ungranted_rest_decides_which_message_is_granted() {
    let mut lone = Lone::listening(Config { overcommitment: 1, ..config() });
    begin(&mut lone, 1, 12);
    lone.grants(1);
    for sequence in 1..8 {
        lone.now = us(u64::from(sequence) * 10);
        lone.receive(&data_from(1, 1, sequence, 12));
        lone.grants(1);
    }
    begin(&mut lone, 2, 10);
    assert_eq!(lone.sends_at(), None, "one packet is left of the first, and seven of the second");
    lone.at(80).receive(&data_from(1, 1, 8, 12));
    assert_eq!(lone.grants(2), [(80, 1, 12, 0), (80, 2, 4, 0)]);
}

#[test]
fn one_message_of_a_peer_is_granted_at_a_time() {
    let mut lone = Lone::listening(config());
    lone.receive(&data(1, 0, 20));
    lone.receive(&data(2, 0, 10));
    assert_eq!(lone.grants(1), [(0, 2, 4, 0)]);
    assert_eq!(lone.sends_at(), None);
    lone.at(1);
    begin(&mut lone, 3, 30);
    assert_eq!(lone.grants(1), [(1, 3, 4, 0)]);
    lone.receive(&data(2, 1, 10));
    assert_eq!(lone.grants(1), [(1, 2, 5, 1)]);
}

#[test]
fn a_higher_class_is_granted_first() {
    let mut lone = Lone::listening(Config { overcommitment: 1, ..config() });
    let mut first = data_from(1, 1, 0, 90);
    first.header.flags = first.header.flags.with_class(2);
    lone.receive(&first);
    begin(&mut lone, 2, 10);
    assert_eq!(lone.grants(1), [(0, 1, 4, 0)]);
    assert_eq!(lone.sends_at(), None);
}

#[test]
fn the_end_of_a_message_has_the_priority_of_a_short_message() {
    let mut lone = Lone::listening(Config { boost_bytes: 3000, ..config() });
    begin(&mut lone, 1, 8);
    let mut priorities = Vec::new();
    for sequence in 1..6 {
        priorities.push(lone.grants(1)[0].3);
        lone.at(10 * u64::from(sequence)).receive(&data_from(1, 1, sequence, 8));
    }
    // Five, four and three packets left are at least 3000 B on the wire; two are 2000 B of payload.
    assert_eq!(priorities, [0, 0, 0, 6, 6]);
}

#[test]
fn missing_data_is_requested_again_with_doubling_intervals() {
    let mut lone = Lone::listening(config());
    begin(&mut lone, 1, 20);
    lone.grants(1);
    lone.at(20).receive(&data_from(1, 1, 2, 20));
    lone.grants(1);
    // Packets 1, 3 and 4 are missing: 3000 B have priority 5.
    assert_eq!(lone.endpoint.poll_timeout(), us(100));
    lone.at(100).expire();
    assert_eq!(lone.said(Kind::Nack), []);
    for (at, next) in [(120, 320), (320, 720), (720, 1520)] {
        lone.at(at).expire();
        assert_eq!(lone.said(Kind::Nack), [(1, 1, 1 << 16 | 5), (1, 3, 2 << 16 | 5)]);
        assert_eq!(lone.endpoint.poll_timeout(), us(next));
    }
    // Data resets the wait.
    lone.at(800).receive(&data_from(1, 1, 3, 20));
    assert_eq!(lone.grants(1)[0].2, 6);
    while lone.endpoint.poll_timeout() < us(900) {
        lone.now = lone.endpoint.poll_timeout();
        lone.expire();
        assert_eq!(lone.all(), []);
    }
    lone.at(900).expire();
    assert_eq!(lone.said(Kind::Nack).len(), 2);
}

#[test]
fn a_message_with_a_silent_sender_yields_its_grants_to_another() {
    let mut lone = Lone::listening(Config { overcommitment: 1, ..config() });
    begin(&mut lone, 1, 20);
    lone.grants(1);
    lone.at(50);
    begin(&mut lone, 2, 30);
    assert_eq!(lone.sends_at(), None);
    lone.at(100).expire();
    let kinds: Vec<Kind> = lone.all().iter().map(|packet| packet.header.kind).collect();
    assert_eq!(kinds, [Kind::Nack, Kind::Pull], "a RESEND for the first, a GRANT for the second");
    // Its data brings it back.
    lone.at(110).receive(&data_from(1, 1, 1, 20));
    assert_eq!(lone.grants(1)[0].1, 1);
}

#[test]
fn a_busy_packet_postpones_the_next_resend() {
    let mut lone = Lone::listening(config());
    begin(&mut lone, 9, 3);
    lone.at(100).expire();
    assert_eq!(lone.said(Kind::Nack), [(9, 1, 2 << 16 | 6)]);
    lone.at(299).receive(&busy(9, 1));
    lone.at(300).expire();
    assert_eq!(lone.next(), None);
    assert_eq!(lone.endpoint.poll_timeout(), us(499));
    lone.at(499).expire();
    assert_eq!(lone.said(Kind::Nack).len(), 1);
}

#[test]
fn an_ungranted_message_causes_no_resend() {
    let mut lone = Lone::listening(Config { overcommitment: 1, ..config() });
    begin(&mut lone, 1, 10);
    begin(&mut lone, 2, 20);
    for sequence in 1..3 {
        lone.receive(&data_from(2, 2, sequence, 20));
    }
    let grants = lone.grants(1);
    assert_eq!(grants[0].1, 1);
    assert_eq!(lone.endpoint.outstanding_bytes(1), 0);
    lone.at(100).expire();
    let missing = lone.all();
    assert!(missing.iter().any(|packet| packet.header.kind == Kind::Nack));
    let of_second = |packet: &&trimline_packet::Packet| {
        packet.header.connection.get() == 2 && packet.header.kind == Kind::Nack
    };
    assert_eq!(missing.iter().filter(of_second).count(), 0);
}

#[test]
fn a_message_is_delivered_once_and_acknowledged_at_every_arrival() {
    let mut lone = Lone::listening(config());
    for sequence in [2, 0] {
        let accepted = Disposition::Accept { slot: 0, sequence };
        assert_eq!(lone.receive(&data(1, sequence, 3)), accepted);
        assert_eq!(lone.receive(&data(1, sequence, 3)), Disposition::Discard);
    }
    assert_eq!((lone.events(), lone.next()), (vec![], None));
    assert!(matches!(lone.receive(&data(1, 1, 3)), Disposition::Accept { .. }));
    assert!(matches!(lone.events()[..], [Event::Delivered { slot: 0, .. }]));
    assert_eq!(lone.said(Kind::Ack), [(1, 3, 0)]);
    assert_eq!(lone.receive(&data(1, 2, 3)), Disposition::Discard);
    assert_eq!(lone.said(Kind::Ack), [(1, 3, 0)]);
    assert_eq!((lone.events(), lone.endpoint.statistics(0).packets), (vec![], 3));
    lone.at(100).expire();
    assert_eq!((lone.next(), lone.endpoint.poll_timeout()), (None, Time::NEVER));
}

#[test]
fn without_acks_a_complete_message_is_not_answered() {
    let ending = Ending::Silent(us(50).saturating_since(us(0)));
    let mut lone = Lone::listening(Config { ending, ..config() });
    lone.receive(&data(1, 0, 1));
    assert_eq!((lone.events().len(), lone.next()), (1, None));
    lone.receive(&asking(1, 1));
    assert_eq!(lone.next(), None);
}

#[test]
fn a_complete_message_ignores_packets_and_frees_its_memory() {
    let ending = Ending::Silent(us(50).saturating_since(us(0)));
    let mut lone = Lone::listening(Config { ending, aeolus: true, ..config() });
    lone.receive(&data(9, 0, 2));
    lone.receive(&data(9, 1, 2));
    assert_eq!((lone.events().len(), lone.endpoint.outstanding_bytes(0)), (1, 0));
    for packet in [data(9, 0, 2), asking(9, 2), probe(9, 1, 2), busy(9, 0)] {
        assert_eq!(lone.receive(&packet), Disposition::Discard);
    }
    assert_eq!((lone.next(), lone.events(), lone.endpoint.poll_timeout()), (None, vec![], us(100)));
    assert_eq!(lone.endpoint.statistics(0).packets, 2);
    // The next message reuses that memory, without its contents.
    lone.receive(&data(2, 0, 2));
    assert_eq!((lone.events(), lone.endpoint.outstanding_bytes(1)), (vec![], 1100));
    lone.receive(&data(2, 1, 2));
    let events = lone.events();
    assert!(
        matches!(events[..], [Event::Delivered { slot: 1, key }] if key.connection.get() == 2),
        "{events:?}"
    );
    lone.endpoint.forget(0);
    lone.endpoint.forget(1);
}

#[test]
fn a_sender_that_asks_gets_a_resend_or_an_ack() {
    // Only the repeated packet has arrived: the others are asked for at once.
    let mut lone = Lone::listening(config());
    lone.receive(&asking(1, 20));
    let kinds: Vec<Kind> = lone.all().iter().map(|packet| packet.header.kind).collect();
    assert_eq!(kinds, [Kind::Nack, Kind::Pull, Kind::Pull], "a RESEND, the state, and a GRANT");
    // A known message: the last GRANT is repeated.
    lone.at(3).receive(&data(1, 1, 20));
    assert_eq!(lone.grants(1)[0].2, 5);
    lone.at(5).receive(&asking(1, 20));
    assert_eq!(lone.said(Kind::Pull), [(1, 5, 0)]);
    // After a RESEND in vain it is repeated too.
    lone.at(200).expire();
    lone.all();
    lone.receive(&asking(1, 20));
    let kinds: Vec<Kind> = lone.all().iter().map(|packet| packet.header.kind).collect();
    assert_eq!(kinds, [Kind::Nack, Kind::Pull]);
}

#[test]
fn a_host_that_does_not_listen_accepts_no_message() {
    let mut deaf = Lone::new(config());
    assert_eq!(deaf.receive(&data(1, 0, 1)), Disposition::Discard);
    let mut lone = Lone::listening(config());
    assert_eq!(lone.receive(&data(1, 3, 9)), Disposition::Discard, "no SYN");
    lone.table.has_forgotten = true;
    assert_eq!(lone.receive(&data(1, 0, 1)), Disposition::Discard);
    assert_eq!((lone.next(), lone.events()), (None, vec![]));
}

#[test]
fn a_message_of_many_packets_ends_with_its_last_packet() {
    let mut lone = Lone::listening(config());
    lone.receive(&data(1, 0, u16::MAX));
    lone.grants(1);
    begin(&mut lone, 2, 60_000);
    // A message whose end is known is shorter.
    assert_eq!(lone.grants(1), [(0, 2, 4, 1)]);
    lone.at(5).receive(&data(1, 1, u16::MAX));
    assert_eq!(lone.grants(1), [(5, 1, 5, 0)]);
    let mut last = data(1, 3, u16::MAX);
    last.header.flags = last.header.flags.with(Flags::LAST);
    lone.receive(&last);
    // Packet 2 alone is missing: packets that were granted behind the end are not awaited.
    assert_eq!((lone.events().len(), lone.endpoint.outstanding_bytes(0)), (0, 1100));
    lone.receive(&data(1, 2, u16::MAX));
    assert_eq!((lone.events().len(), lone.endpoint.outstanding_bytes(0)), (1, 0));
    assert_eq!(lone.next().expect("an ACK").header.sequence, 4);
}

#[test]
fn packets_use_all_paths() {
    let mut lone = Lone::listening(config());
    lone.table.paths = 4;
    let mut paths = Vec::new();
    for connection in 0..8 {
        lone.receive(&data(connection, 0, 1));
        paths.extend(lone.next().map(|packet| packet.header.path.get()));
    }
    lone.receive(&data(0, 0, 1));
    paths.sort_unstable();
    paths.dedup();
    assert!(paths.len() > 1, "{paths:?}");
}
