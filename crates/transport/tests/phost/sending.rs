//! A sender's use of its tokens.

use std::collections::{BTreeMap, BTreeSet};

use trimline_packet::{Flags, Kind, Packet, Service, Time};
use trimline_transport::flow::Event;
use trimline_transport::phost::{Config, ENDLESS, FreeTokens, Order};
use trimline_transport::{Allowed, Endpoint as _};

use crate::lone::{Lone, ack, config, sides, token};

const RTS: u8 = Flags::SYN | Flags::FROM_OPENER;

/// Returns the RTS of a flow (packets, free packets), and the packets behind it.
fn announced(packets: Option<u64>, config: Config) -> (u32, u32, usize) {
    let mut lone = Lone::new(config);
    lone.open(1, packets.map(|packets| packets * 1436), 4);
    let rts = lone.next().expect("an RTS");
    assert_eq!((rts.header.kind, rts.header.flags.bits(), rts.wire_bytes), (Kind::Pull, RTS, 64));
    assert!(rts.service == Service::Control);
    (rts.header.sequence, rts.header.extra, lone.all().len())
}

#[test]
fn a_flow_is_announced_and_its_first_packets_need_no_token() {
    let short = Config { free_for: FreeTokens::ShortFlows, ..config() };
    for (packets, of_all, of_short) in [(1, 1, 1), (7, 7, 7), (8, 8, 8), (9, 8, 0), (100, 8, 0)] {
        let expected = |free| (packets as u32, free, free as usize);
        assert_eq!(announced(Some(packets), config()), expected(of_all));
        assert_eq!(announced(Some(packets), short.clone()), expected(of_short));
    }
    assert_eq!(announced(None, config()), (ENDLESS, 8, 8));
    assert_eq!(announced(Some(0), config()), (0, 0, 0));
}

#[test]
fn packets_carry_number_token_and_end() {
    let mut lone = Lone::new(config());
    lone.open(1, Some(9 * 1436 + 10), 1);
    let free = lone.all();
    for (number, packet) in free[1..].iter().enumerate() {
        let header = packet.header;
        assert_eq!((header.sequence, header.payload_length()), (number as u32, 1436));
        assert_eq!((header.service_port(), header.flags.bits()), (number as u16, RTS));
        assert!(packet.service == Service::Droppable && packet.wire_bytes == 1500);
    }
    lone.receive(&token(1, 9, 70_001));
    let last = lone.next().expect("the packet that was asked for");
    let flags = Flags::FROM_OPENER | Flags::LAST;
    assert_eq!((last.header.sequence, last.header.flags.bits()), (9, flags));
    assert_eq!((last.header.payload_length(), last.wire_bytes), (10, 74));
    assert_eq!(u32::from(last.header.service_port()), 70_001 % 65_536);
    // A packet that was not asked for is not sent; nor one behind the end.
    lone.receive(&token(1, 10, 9));
    assert_eq!(lone.next(), None);
    assert_eq!(lone.endpoint.statistics(0).packets, 9);
    lone.receive(&token(1, 9, 10));
    assert_eq!(lone.numbers(Kind::Data), [9]);
    assert_eq!(lone.endpoint.statistics(0).resent, 1);
}

#[test]
fn a_token_expires_after_one_and_a_half_packet_times() {
    for (late, sent) in [(0, true), (2, true), (3, false), (9, false)] {
        let mut lone = Lone::new(Config { free_tokens: 0, ..config() });
        lone.open_packets(1, 20);
        lone.all();
        lone.at(5).receive(&token(1, 0, 0));
        lone.receive(&token(1, 1, 1));
        assert_eq!(lone.endpoint.poll_timeout(), sides(8));
        lone.at(5 + late).expire();
        let expected: &[u32] = if sent { &[0, 1] } else { &[] };
        assert_eq!(lone.numbers(Kind::Data), expected, "{late}");
    }
    // If the NIC asks at this very instant, before the timer, it may have the packet.
    let mut lone = Lone::new(Config { free_tokens: 0, ..config() });
    lone.open_packets(1, 20);
    lone.all();
    lone.at(5).receive(&token(1, 0, 0));
    assert_eq!(lone.at(8).numbers(Kind::Data), [0]);
}

#[test]
fn free_tokens_expire_one_and_a_half_packet_times_after_the_last() {
    let mut lone = Lone::new(config());
    lone.open_packets(1, 20);
    assert_eq!(lone.endpoint.poll_timeout(), sides(2 * 8 + 3));
    lone.at(18).expire();
    assert_eq!(lone.sends_at(), Some(0));
    assert_eq!((lone.next().is_some(), lone.next().is_some()), (true, true));
    // A token that expires before the free ones goes first.
    lone.at(15).receive(&token(1, 15, 15));
    lone.receive(&token(1, 16, 16));
    assert_eq!(lone.next().expect("a packet").header.sequence, 15);
    lone.at(19).expire();
    assert_eq!((lone.next(), lone.sends_at()), (None, None));
}

/// OPF marks the packets of the pre-credit phase: those on free tokens, when they are sent for the first time.
#[test]
fn first_packets_on_free_tokens_are_marked() {
    let marks = |lone: &mut Lone| -> Vec<(u32, bool)> {
        let data = lone.all().into_iter().filter(|packet| packet.header.kind == Kind::Data);
        data.map(|packet| (packet.header.sequence, packet.marks == Packet::MARK_UNSCHEDULED))
            .collect()
    };
    let mut lone = Lone::new(Config { free_tokens: 4, marked: 3, ..config() });
    lone.open_packets(1, 20);
    // A token for packet 1 that expires before the free ones: the packet is scheduled, and then repeated.
    lone.receive(&token(1, 1, 1));
    assert_eq!(marks(&mut lone), [(1, false), (0, true), (1, false), (2, true), (3, false)]);
    lone.receive(&token(1, 0, 9));
    lone.receive(&token(1, 4, 10));
    assert_eq!(marks(&mut lone), [(0, false), (4, false)], "scheduled");
    let mut lone = Lone::new(Config { free_tokens: 2, marked: 0, ..config() });
    lone.open_packets(1, 20);
    assert_eq!(marks(&mut lone), [(0, false), (1, false)]);
}

#[test]
fn an_rts_is_repeated_until_an_answer_arrives() {
    let mut lone = Lone::new(Config { free_tokens: 0, ..config() });
    lone.open_packets(1, 20);
    assert_eq!(lone.all().len(), 1);
    let mut side = 0;
    let waits = [200, 400, 800].into_iter().chain([1600; 62]);
    let waits = waits.chain((4..=10).map(|doublings| 200 << doublings)).chain([200 << 10; 3]);
    for wait in waits {
        side += wait;
        assert_eq!(lone.endpoint.poll_timeout(), sides(side));
        lone.at(side).expire();
        let repeated = lone.all();
        assert_eq!(repeated.len(), 1);
        assert_eq!((repeated[0].header.flags.bits(), repeated[0].header.sequence), (RTS, 20));
    }
    lone.receive(&token(1, 0, 0));
    assert_eq!(lone.numbers(Kind::Data), [0]);
    // The wait stays as long as it was.
    let wait = 200 << 10;
    lone.at(side + wait - 1).expire();
    assert_eq!((lone.next(), lone.endpoint.poll_timeout()), (None, sides(side + wait)));
    lone.at(side + wait).expire();
    assert_eq!(lone.numbers(Kind::Pull), [20]);
}

/// A token restarts the wait, which gets no shorter.
#[test]
fn a_token_postpones_the_rts() {
    let mut lone = Lone::new(Config { free_tokens: 0, ..config() });
    lone.open_packets(1, 20);
    lone.all();
    // The RTS at 500 and 1000 gets no answer.
    let tokens = [(150, 350), (300, 500), (600, 1000), (1700, 2500)];
    for (sequence, (side, rts)) in (0..).zip(tokens) {
        lone.at(side).receive(&token(1, sequence, sequence));
        assert_eq!(lone.numbers(Kind::Data), [sequence]);
        let next = tokens.get(sequence as usize + 1).map_or(u64::MAX, |&(side, _)| side);
        while lone.endpoint.poll_timeout() < sides(rts.min(next)) {
            lone.now = lone.endpoint.poll_timeout();
            lone.expire();
            assert_eq!(lone.next(), None);
        }
        if rts < next {
            lone.at(rts).expire();
            assert_eq!(lone.numbers(Kind::Pull), [20]);
        }
    }
}

/// Returns the flows of leaving packets: three flows with this many packets and two tokens each.
fn served(order: Order, packets: [u64; 3]) -> Vec<u32> {
    let mut lone = Lone::new(Config { free_tokens: 0, sender_order: order, ..config() });
    for (flow, packets) in (0..).zip(packets) {
        lone.open_packets(flow, packets);
    }
    lone.all();
    for sequence in 0..2 {
        (0..3).for_each(|flow| _ = lone.receive(&token(flow, sequence, sequence)));
    }
    lone.all().iter().map(|packet| packet.header.connection.get()).collect()
}

#[test]
fn a_sender_uses_the_token_of_the_shortest_flow_or_takes_turns() {
    assert_eq!(served(Order::Srpt, [9, 4, 6]), [1, 1, 2, 2, 0, 0]);
    assert_eq!(served(Order::Srpt, [9, 9, 9]), [0, 0, 1, 1, 2, 2]);
    assert_eq!(served(Order::Fair, [9, 4, 6]), [0, 1, 2, 0, 1, 2]);
}

#[test]
fn packets_left_are_those_that_were_never_sent_by_the_sender() {
    let mut lone = Lone::new(Config { free_tokens: 0, ..config() });
    lone.open_packets(0, 5);
    lone.open_packets(1, 4);
    lone.all();
    // The first flow has three packets left, however often it repeats one; the second has two.
    for (flow, sequence) in [(0, 0), (0, 1), (0, 1), (0, 1), (1, 0), (1, 1)] {
        lone.receive(&token(flow, sequence, 0));
        assert_eq!(lone.numbers(Kind::Data), [sequence]);
    }
    lone.receive(&token(0, 2, 4));
    lone.receive(&token(1, 2, 2));
    let flows: Vec<u32> = lone.all().iter().map(|packet| packet.header.connection.get()).collect();
    assert_eq!(flows, [1, 0]);
}

/// YAPS: the last token of a flow says how many of its packets are missing.
#[test]
fn a_sender_may_rank_flows_by_what_their_tokens_report() {
    let reported = Config { sender_order: Order::Reported, free_tokens: 0, ..config() };
    let mut lone = Lone::new(reported);
    lone.open_packets(0, 5);
    lone.open_packets(1, 4);
    lone.all();
    // Five packets are missing of the first flow, then one; of the second always three.
    for (missing, first) in [(5, 1), (1, 0)] {
        lone.receive(&token(0, 0, 5 - missing + (missing << 16)));
        lone.receive(&token(1, 0, 5 - missing + (3 << 16)));
        let flows = lone.all();
        assert_eq!(flows[0].header.connection.get(), first);
        assert_eq!(flows.len(), 2);
    }
}

/// YAPS: a flow that has had no token counts as whole.
#[test]
fn free_tokens_do_not_change_what_was_reported() {
    for (order, next) in [(Order::Srpt, 0), (Order::Reported, 1)] {
        let mut lone = Lone::new(Config { sender_order: order, ..config() });
        lone.open_packets(0, 3);
        // Its RTS and two packets; the RTS of the second flow.
        (0..3).for_each(|_| _ = lone.next());
        lone.open_packets(1, 2);
        assert_eq!(lone.next().map(|packet| packet.header.kind), Some(Kind::Pull));
        let flow = lone.next().map(|packet| packet.header.connection.get());
        assert_eq!(flow, Some(next), "{order:?}");
    }
}

#[test]
fn a_sender_holds_at_most_a_window_of_tokens() {
    let mut lone = Lone::new(Config { free_tokens: 0, ..config() });
    lone.open_packets(1, 20);
    lone.all();
    (0..9).for_each(|number| _ = lone.receive(&token(1, number, number)));
    assert_eq!(lone.numbers(Kind::Data), [0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn a_flow_has_ended_once_when_all_its_packets_are_acknowledged() {
    let mut lone = Lone::new(config());
    lone.open_packets(1, 9);
    lone.all();
    for other in [ack(1, 8), ack(1, 10), ack(2, 9)] {
        lone.receive(&other);
    }
    assert_eq!(lone.events(), []);
    lone.receive(&token(1, 8, 8));
    lone.receive(&ack(1, 9));
    lone.receive(&ack(1, 9));
    assert!(matches!(lone.events()[..], [Event::Acknowledged { slot: 0, .. }]));
    lone.receive(&token(1, 3, 9));
    assert_eq!((lone.next(), lone.sends_at()), (None, None));
    lone.at(100_000).expire();
    assert_eq!((lone.next(), lone.endpoint.poll_timeout()), (None, Time::NEVER));
}

#[test]
fn control_goes_before_data_and_paused_data_waits() {
    let mut lone = Lone::new(config());
    lone.open_packets(1, 9);
    let data = Allowed::DATA;
    assert_eq!(lone.endpoint.poll_transmit(lone.now, data).unwrap().header.kind, Kind::Data);
    let control = Allowed::CONTROL;
    assert_eq!(lone.endpoint.poll_transmit(lone.now, control).unwrap().header.kind, Kind::Pull);
    assert_eq!(lone.endpoint.poll_transmit(lone.now, control), None);
    assert_eq!(lone.endpoint.transmit_at(control), Time::NEVER);
}

#[test]
fn packets_use_all_paths_in_a_new_random_order_per_round() {
    let mut lone = Lone::new(Config { free_tokens: 0, ..config() });
    lone.open(1, None, 4);
    // The RTS takes a path, too.
    let mut paths: Vec<u16> = lone.all().iter().map(|packet| packet.header.path.get()).collect();
    for number in 0..3999 {
        lone.receive(&token(1, number, number));
        paths.push(lone.next().expect("a packet").header.path.get());
    }
    let mut orders = BTreeMap::new();
    for round in paths.chunks(4) {
        assert_eq!(round.iter().collect::<BTreeSet<_>>().len(), 4, "{round:?}");
        *orders.entry(round).or_insert(0) += 1;
    }
    assert_eq!(orders.len(), 24);
    assert!(orders.values().all(|count| (15..75).contains(count)), "{orders:?}");
}
