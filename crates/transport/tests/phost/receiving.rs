//! A receiver's tokens: to which flow, and when.

use trimline_packet::{Flags, Kind, Packet, Service};
use trimline_transport::flow::Event;
use trimline_transport::phost::{Config, Order, ReceiverRules};
use trimline_transport::{Allowed, Disposition, Endpoint as _};

use crate::lone::{Lone, config, data, free_data, rts};

/// Returns time and packet of tokens for one flow.
fn of_one(tokens: &[(u64, u32, u32)]) -> Vec<(u64, u32)> {
    tokens.iter().map(|&(side, _, sequence)| (side, sequence)).collect()
}

#[test]
fn a_token_is_sent_each_packet_time_until_a_window_is_unanswered() {
    let mut lone = Lone::listening(config());
    lone.at(4).receive(&rts(1, 20, 0));
    let tokens = of_one(&lone.tokens(8));
    let expected: Vec<(u64, u32)> = (0..8).map(|number| (4 + 2 * number, number as u32)).collect();
    assert_eq!(tokens, expected);
    // 25 packet times after the last token the flow may have another, and so on.
    assert_eq!(of_one(&lone.tokens(2)), [(18 + 50, 8), (18 + 100, 9)]);
}

#[test]
fn tokens_carry_a_packet_and_a_number() {
    let mut lone = Lone::listening(config());
    lone.receive(&rts(1, 20, 3));
    let token = lone.next().expect("a token");
    let header = token.header;
    assert_eq!((header.kind, header.flags.bits(), token.wire_bytes), (Kind::Pull, 0, 64));
    assert_eq!((header.sequence, header.extra), (3, 3), "three packets come on free tokens");
    assert!(token.service == Service::Control);
}

#[test]
fn an_arriving_packet_answers_its_token_and_earlier_ones() {
    let mut lone = Lone::listening(config());
    lone.receive(&rts(1, 40, 0));
    lone.tokens(8);
    lone.at(20).receive(&data(1, 3, 3));
    assert_eq!(of_one(&lone.tokens(4)), [(20, 8), (22, 9), (24, 10), (26, 11)]);
    assert_eq!(lone.sends_at(), Some(26 + 50));
    // An older packet, and a packet of a token that was never given, change nothing.
    lone.receive(&data(1, 1, 1));
    lone.receive(&data(1, 30, 12));
    assert_eq!(lone.sends_at(), Some(26 + 50));
    lone.receive(&data(1, 11, 11));
    assert_eq!(lone.tokens(8).len(), 8);
    assert_eq!(lone.sends_at(), Some(28 + 14 + 50));
}

#[test]
fn missing_packets_are_requested_again_nine_packet_times_after_the_last_token() {
    let mut lone = Lone::listening(config());
    lone.receive(&rts(1, 4, 0));
    assert_eq!(of_one(&lone.tokens(4)), [(0, 0), (2, 1), (4, 2), (6, 3)]);
    lone.at(10).receive(&data(1, 0, 0));
    lone.receive(&data(1, 2, 2));
    assert_eq!(of_one(&lone.tokens(3)), [(6 + 18, 1), (26, 3), (26 + 18, 1)]);
}

#[test]
fn free_token_packets_are_expected_one_per_packet_time() {
    let mut lone = Lone::listening(config());
    lone.at(2).receive(&rts(1, 5, 5));
    assert_eq!(lone.sends_at(), Some(2 + 2 * 5 + 18));
    lone.at(6).receive(&free_data(1, 1));
    assert_eq!(lone.sends_at(), Some(2 + 2 * 5 + 18));
    assert_eq!(of_one(&lone.tokens(2)), [(30, 0), (32, 2)]);
}

/// The rules of the simulator of pHost's authors.
fn yaps() -> Config {
    Config { receiver: ReceiverRules::Yaps, ..config() }
}

#[test]
fn yaps_requests_free_token_packets_again_after_two_packet_times_each() {
    let mut lone = Lone::listening(yaps());
    lone.at(2).receive(&rts(1, 5, 5));
    assert_eq!(lone.sends_at(), Some(2 + 4 * 5));
    assert_eq!(of_one(&lone.tokens(1)), [(22, 0)]);
    // From its first token on such a flow is like any other.
    lone.at(23).receive(&free_data(1, 0));
    for packet in 1..4 {
        lone.receive(&free_data(1, packet));
    }
    assert_eq!(of_one(&lone.tokens(2)), [(24, 4), (24 + 18, 4)]);
}

#[test]
fn yaps_skips_a_token_for_each_free_packet_of_the_last_short_flow() {
    let mut lone = Lone::listening(Config { token_window: 100, ..yaps() });
    lone.receive(&rts(1, 90, 0));
    assert_eq!(of_one(&lone.tokens(2)), [(0, 0), (2, 1)]);
    lone.at(3).receive(&rts(2, 3, 3));
    assert_eq!(lone.sends_at(), Some(4 + 2 * 3));
    // A repeated RTS owes nothing more.
    lone.at(9).receive(&rts(2, 3, 3));
    assert_eq!(of_one(&lone.tokens(1)), [(10, 2)]);
    // The next short flow cancels the remaining debt.
    lone.at(11).receive(&rts(3, 8, 8));
    assert_eq!(lone.sends_at(), Some(12 + 2 * 8));
    lone.at(15).receive(&rts(4, 1, 1));
    assert_eq!(lone.sends_at(), Some(16 + 2));
    // A long flow owes nothing.
    lone.receive(&rts(5, 95, 8));
    assert_eq!(lone.sends_at(), Some(16));
}

#[test]
fn skipped_tokens_of_yaps_expire_with_time() {
    let mut lone = Lone::listening(yaps());
    let short = |lone: &mut Lone, side: u64, packets: u32| {
        lone.at(side).receive(&rts(1, packets, packets));
        for packet in 0..packets {
            lone.receive(&free_data(1, packet));
        }
        lone.all();
    };
    short(&mut lone, 10, 5);
    lone.at(13).receive(&rts(2, 60, 0));
    assert_eq!(lone.sends_at(), Some(14), "two are paid, and the rest is forgotten");
    lone.tokens(1);
    lone.receive(&rts(3, 2, 2));
    assert_eq!(lone.sends_at(), Some(16 + 4));
    let mut idle = Lone::listening(yaps());
    short(&mut idle, 10, 2);
    idle.at(50).receive(&rts(2, 60, 0));
    assert_eq!(idle.sends_at(), Some(50));
}

#[test]
fn yaps_schedules_again_when_a_wait_ends_or_an_rts_arrives() {
    let blocked = |config| {
        let mut lone = Lone::listening(config);
        lone.receive(&rts(1, 90, 0));
        lone.tokens(8);
        lone
    };
    // Data arrives before the next token is due, and behind it.
    let mut lone = blocked(yaps());
    lone.at(15).receive(&data(1, 0, 0));
    assert_eq!(lone.sends_at(), Some(16));
    let mut lone = blocked(yaps());
    lone.at(20).receive(&data(1, 7, 7));
    assert_eq!(lone.sends_at(), Some(14 + 50), "25 packet times after the last token");
    assert_eq!(of_one(&lone.tokens(2)), [(64, 8), (66, 9)]);
    let mut prompt = blocked(config());
    prompt.at(20).receive(&data(1, 7, 7));
    assert_eq!(prompt.sends_at(), Some(20));
    // Another flow's RTS.
    let mut lone = blocked(yaps());
    lone.at(20).receive(&data(1, 7, 7));
    lone.at(30).receive(&rts(2, 60, 0));
    assert_eq!(lone.sends_at(), Some(30));
    assert_eq!(lone.tokens(3).len(), 3);
}

#[test]
fn free_tokens_count_as_unanswered() {
    let mut lone = Lone::listening(config());
    lone.receive(&rts(1, 20, 8));
    assert_eq!(lone.sends_at(), Some(50));
    lone.at(4).receive(&free_data(1, 0));
    assert_eq!(of_one(&lone.tokens(1)), [(4, 8)]);
    assert_eq!(lone.sends_at(), Some(4 + 50));
}

/// Returns the gaps between tokens beyond a full window, in halves of a packet time.
fn gaps(lone: &mut Lone, count: usize) -> Vec<u64> {
    let times: Vec<u64> = lone.tokens(count + 1).iter().map(|&(side, _, _)| side).collect();
    times.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

#[test]
fn a_silent_flow_waits_twice_as_long_from_the_ninth_wait_on() {
    let mut lone = Lone::listening(config());
    lone.receive(&rts(1, 20_000, 0));
    lone.tokens(7);
    let waits = gaps(&mut lone, 22);
    assert_eq!(waits[..8], [50; 8]);
    let doubled: Vec<u64> = (1..=10).map(|times| 50 << times).collect();
    assert_eq!(waits[8..18], doubled);
    assert_eq!(waits[18..], [50 << 10; 4], "not longer and longer");
    // Any packet, even an old one, resets the wait.
    lone.receive(&data(1, 0, 0));
    assert_eq!(
        gaps(&mut lone, 8),
        [&[50; 7][..], &[100]].concat(),
        "the first wait is before these"
    );
}

#[test]
fn an_unanswered_round_of_tokens_is_repeated_with_back_off() {
    let mut lone = Lone::listening(config());
    lone.receive(&rts(1, 2, 0));
    assert_eq!(of_one(&lone.tokens(2)), [(0, 0), (2, 1)]);
    let starts = |lone: &mut Lone, rounds: usize| -> Vec<u64> {
        lone.tokens(2 * rounds).iter().step_by(2).map(|&(side, _, _)| side).collect()
    };
    let first = starts(&mut lone, 10);
    let waits: Vec<u64> = first.windows(2).map(|pair| pair[1] - pair[0] - 2).collect();
    // The window of eight is full at the fourth round: it waits 25 packet times, not nine.
    assert_eq!(waits[..2], [18, 18]);
    assert!(waits.is_sorted() && waits[8] >= 100, "{waits:?}");
}

/// Returns the flows of the next tokens: three flows with this many packets, without data.
fn served(order: Order, packets: [u32; 3], classes: [u8; 3]) -> Vec<u32> {
    let mut lone = Lone::listening(Config { receiver_order: order, token_window: 3, ..config() });
    for (flow, (packets, class)) in (0..).zip(packets.into_iter().zip(classes)) {
        let mut rts = rts(flow, packets, 0);
        rts.header.flags = rts.header.flags.with_class(class);
        lone.receive(&rts);
    }
    lone.tokens(9).iter().map(|&(_, flow, _)| flow).collect()
}

#[test]
fn a_token_reports_what_is_missing_where_senders_rank_by_it() {
    for (order, missing) in [(Order::Srpt, [0, 0]), (Order::Reported, [20, 19])] {
        let mut lone = Lone::listening(Config { sender_order: order, ..config() });
        lone.receive(&rts(1, 20, 0));
        let first = lone.next().expect("a token").header.extra;
        lone.receive(&data(1, 0, 0));
        lone.now = lone.endpoint.transmit_at(Allowed::ALL);
        let second = lone.next().expect("another token").header.extra;
        assert_eq!([first, second], [missing[0] << 16, missing[1] << 16 | 1]);
    }
}

#[test]
fn the_flow_with_the_fewest_packets_left_gets_the_next_token() {
    assert_eq!(served(Order::Srpt, [30, 10, 20], [0; 3]), [1, 1, 1, 2, 2, 2, 0, 0, 0]);
    assert_eq!(served(Order::Srpt, [30, 30, 30], [0; 3]), [0, 0, 0, 1, 1, 1, 2, 2, 2]);
    assert_eq!(served(Order::Srpt, [30, 10, 20], [1, 0, 0]), [0, 0, 0, 1, 1, 1, 2, 2, 2]);
    assert_eq!(served(Order::Fair, [30, 10, 20], [0; 3]), [0, 1, 2, 0, 1, 2, 0, 1, 2]);
    assert_eq!(served(Order::Fair, [30, 10, 20], [0, 0, 3]), [2, 2, 2, 0, 1, 0, 1, 0, 1]);
}

#[test]
fn packets_left_are_those_that_have_not_arrived_at_the_receiver() {
    let mut lone = Lone::listening(config());
    lone.receive(&rts(0, 12, 0));
    lone.receive(&rts(1, 11, 0));
    let flows = |tokens: Vec<(u64, u32, u32)>| -> Vec<u32> {
        tokens.iter().map(|&(_, flow, _)| flow).collect()
    };
    assert_eq!(flows(lone.tokens(3)), [1, 1, 1]);
    // Two packets of the longer flow arrive: it is now the shorter one, however many tokens were given.
    lone.at(6).receive(&data(0, 10, 0));
    lone.receive(&data(0, 11, 0));
    assert_eq!(flows(lone.tokens(2)), [0, 0]);
    lone.at(10).receive(&data(1, 0, 0));
    assert_eq!(flows(lone.tokens(1)), [0], "of equal ones the one that came first");
    lone.at(12).receive(&data(1, 1, 1));
    assert_eq!(flows(lone.tokens(1)), [1]);
}

#[test]
fn a_token_pacer_catches_up_by_one_packet_time_after_a_busy_nic() {
    let mut lone = Lone::listening(Config { token_window: 100, ..config() });
    lone.receive(&rts(1, 90, 0));
    assert_eq!(lone.at(0).numbers(Kind::Pull), [0]);
    assert_eq!(lone.at(3).numbers(Kind::Pull), [1]);
    assert_eq!(lone.sends_at(), Some(4), "counted from when it was due");
    assert_eq!(lone.at(4).numbers(Kind::Pull), [2]);
    assert_eq!(lone.at(40).numbers(Kind::Pull), [3, 4]);
    assert_eq!(lone.sends_at(), Some(42));
}

#[test]
fn an_idle_token_pacer_does_not_catch_up() {
    let mut lone = Lone::listening(config());
    lone.receive(&rts(1, 1, 0));
    lone.tokens(1);
    lone.at(10).receive(&data(1, 0, 0));
    lone.all();
    lone.at(40).receive(&rts(2, 9, 0));
    assert_eq!(lone.numbers(Kind::Pull), [0]);
    assert_eq!(lone.sends_at(), Some(42));
}

fn last(mut packet: Packet) -> Packet {
    packet.header.flags = packet.header.flags.with(Flags::LAST);
    packet
}

#[test]
fn a_flow_is_delivered_once_and_acknowledged_on_every_request() {
    let mut lone = Lone::listening(config());
    lone.receive(&rts(1, 2, 2));
    let accepted = |sequence| Disposition::Accept { slot: 0, sequence };
    assert_eq!(lone.receive(&last(free_data(1, 1))), accepted(1));
    assert_eq!(lone.receive(&free_data(1, 1)), Disposition::Discard);
    assert_eq!((lone.next(), lone.events()), (None, vec![]));
    assert_eq!(lone.receive(&free_data(1, 0)), accepted(0));
    assert_eq!(lone.numbers(Kind::Ack), [2]);
    assert!(matches!(lone.events()[..], [Event::Delivered { slot: 0, .. }]));
    lone.receive(&rts(1, 2, 2));
    assert_eq!(lone.numbers(Kind::Ack), [2]);
    assert_eq!(lone.receive(&free_data(1, 0)), Disposition::Discard);
    assert_eq!(lone.numbers(Kind::Ack), [2]);
    assert_eq!((lone.events(), lone.sends_at()), (vec![], None));
    let seen = lone.endpoint.statistics(0);
    assert_eq!((seen.packets, seen.bytes), (2, 2872));
}

#[test]
fn an_empty_flow_ends_with_its_rts() {
    let mut lone = Lone::listening(config());
    lone.receive(&rts(1, 0, 0));
    assert_eq!((lone.numbers(Kind::Ack), lone.events().len()), (vec![0], 1));
}

#[test]
fn the_first_packet_opens_a_flow() {
    let mut lone = Lone::listening(config());
    // Without the RTS the receiver does not know the number of packets.
    assert_ne!(lone.receive(&free_data(1, 2)), Disposition::Discard);
    assert_eq!(lone.sends_at(), None);
    lone.at(3).receive(&rts(1, 20, 8));
    lone.receive(&free_data(1, 7));
    assert_eq!(lone.tokens(1), [(3, 1, 8)]);
    // Unless the last packet comes.
    let mut lone = Lone::listening(config());
    lone.at(3).receive(&last(free_data(1, 2)));
    assert_eq!(lone.sends_at(), Some(3 + 2 * 3 + 18));
    assert_eq!(of_one(&lone.tokens(2)), [(27, 0), (29, 1)]);
}

#[test]
fn a_host_that_does_not_listen_answers_no_flow() {
    let mut deaf = Lone::new(config());
    let mut forgetful = Lone::listening(config());
    forgetful.table.has_forgotten = true;
    let mut listening = Lone::listening(config());
    for lone in [&mut deaf, &mut forgetful] {
        lone.receive(&rts(1, 20, 0));
        lone.receive(&free_data(1, 0));
    }
    listening.receive(&data(1, 3, 3));
    for mut lone in [deaf, forgetful, listening] {
        assert_eq!((lone.next(), lone.sends_at()), (None, None));
    }
}

#[test]
fn a_packet_without_its_payload_has_not_arrived() {
    let mut lone = Lone::listening(config());
    lone.receive(&rts(1, 2, 2));
    let mut trimmed = free_data(1, 0);
    trimmed.trim(64);
    assert_eq!(lone.receive(&trimmed), Disposition::Discard);
    let mut back = free_data(1, 1);
    back.trim(64);
    back.bounce();
    assert_eq!(lone.receive(&back), Disposition::Discard);
    let seen = *lone.endpoint.statistics(0);
    assert_eq!((seen.packets, seen.headers), (0, 1));
    assert_eq!(of_one(&lone.tokens(2)), [(4 + 18, 0), (24, 1)]);
}

#[test]
fn packets_far_ahead_of_a_missing_one_are_not_requested_or_accepted() {
    let limit = trimline_transport::WINDOW_LIMIT;
    let mut lone = Lone::listening(Config { token_window: limit * 2, free_tokens: 0, ..config() });
    lone.receive(&rts(1, 2 * limit, 0));
    assert_eq!(lone.receive(&data(1, limit, 0)), Disposition::Discard);
    let tokens = lone.tokens(limit as usize + 1);
    let (side, _, sequence) = tokens[limit as usize];
    assert_eq!((side, sequence), (2 * u64::from(limit - 1) + 18, 0), "a new round");
}

#[test]
fn a_forgotten_receive_stream_sends_no_tokens() {
    let mut lone = Lone::listening(config());
    lone.receive(&rts(1, 20, 0));
    lone.receive(&rts(2, 20, 0));
    lone.tokens(8);
    lone.endpoint.forget(0);
    assert_eq!(lone.tokens(8).iter().map(|&(_, flow, _)| flow).collect::<Vec<_>>(), [2; 8]);
    lone.endpoint.forget(1);
    assert_eq!(lone.sends_at(), None);
}
