//! The rules of a send stream.

use std::collections::BTreeSet;

use trimline_packet::{ByteCount, Flags, Kind, Packet, PathId, Time, TimeDelta};
use trimline_transport::ndp::{Command, Config, Event, PathPenalty};
use trimline_transport::{Allowed, Endpoint as _};

use crate::link::{PORT, config, us};
use crate::lone::*;

fn window(initial_window: u32) -> Config {
    Config { initial_window, ..config() }
}

/// Returns a sender after its first window, and those packets.
fn pushed(config: Config, packets: Option<u64>) -> (Lone, Vec<Packet>) {
    let mut lone = Lone::sender(config, packets);
    let sent = lone.all();
    (lone, sent)
}

/// NDP 3.2-a, 3.2-b, 3.2.2-a.
#[test]
fn only_the_first_window_is_pushed() {
    let (mut lone, sent) = pushed(window(4), None);
    assert_eq!(sent.len(), 4);
    for (sequence, packet) in (0..).zip(&sent) {
        assert_eq!(packet.header.sequence, sequence);
        assert!(packet.header.flags.contains(Flags::SYN | Flags::FROM_OPENER));
        assert!(!packet.header.flags.contains(Flags::LAST));
        assert_eq!((packet.wire_bytes, packet.header.payload_length()), (9064, 9000));
        assert_eq!(packet.header.service_port(), PORT);
    }
    lone.receive(&pull(1));
    let next = lone.next().unwrap();
    assert_eq!(next.header.sequence, 4);
    assert!(!next.header.flags.contains(Flags::SYN));
    assert_eq!(lone.next(), None);
}

/// NDP 3.2-m.
#[test]
fn the_last_packet_is_shorter_and_marked() {
    let mut lone = Lone::new(window(4));
    lone.open(1, Some(18_001));
    let sent = lone.all();
    let last: Vec<bool> = sent.iter().map(|p| p.header.flags.contains(Flags::LAST)).collect();
    assert_eq!(last, [false, false, true]);
    assert_eq!((sent[2].wire_bytes, sent[2].header.payload_length()), (65, 1));
}

#[test]
fn an_empty_stream_is_one_empty_packet() {
    let mut lone = Lone::new(window(4));
    lone.open(1, Some(0));
    let sent = lone.all();
    assert_eq!(sent.len(), 1);
    assert_eq!((sent[0].wire_bytes, sent[0].header.payload_length()), (64, 0));
    assert!(sent[0].header.flags.contains(Flags::SYN | Flags::LAST));
    lone.receive(&ack(0));
    assert!(matches!(lone.events()[..], [Event::Acknowledged { .. }]));
}

/// NDP 3.2.2-a.
#[test]
fn a_resent_first_window_packet_carries_syn() {
    let (mut lone, _) = pushed(window(2), None);
    lone.receive(&with_pull(nack(1), 1));
    let again = lone.next().unwrap();
    assert_eq!(again.header.sequence, 1);
    assert!(again.header.flags.contains(Flags::SYN));
    assert_eq!(again.header.flags.attempt(), 1);
}

/// NDP 3.2-k, 3.2.1-a.
#[test]
fn a_pull_sends_as_many_packets_as_its_counter_rose() {
    let (mut lone, _) = pushed(window(4), None);
    lone.receive(&pull(2));
    assert_eq!(lone.data(), [4, 5]);
    lone.receive(&pull(1));
    assert_eq!(lone.data(), []);
    lone.receive(&pull(3));
    assert_eq!(lone.data(), [6]);
    lone.receive(&with_pull(ack(0), 5));
    assert_eq!(lone.data(), [7, 8]);
}

/// NDP 3.2-j, 3.2-k.
#[test]
fn retransmissions_go_before_new_data() {
    let (mut lone, _) = pushed(window(4), None);
    lone.receive(&nack(2));
    lone.receive(&nack(1));
    assert_eq!(lone.data(), []);
    lone.receive(&pull(3));
    assert_eq!(lone.data(), [2, 1, 4]);
}

/// An unused rest of a window is no credit: 15 packets each of a hundred senders would be resent up to twice over
/// without a PULL. NDP 3.2-j.
#[test]
fn a_flow_shorter_than_its_window_waits_for_pulls_too() {
    let (mut lone, sent) = pushed(window(30), Some(3));
    assert_eq!(sent.len(), 3);
    lone.receive(&nack(1));
    lone.receive(&nack(2));
    assert_eq!(lone.data(), []);
    lone.receive(&pull(1));
    assert_eq!(lone.data(), [1]);
    lone.receive(&with_pull(ack(0), 2));
    assert_eq!(lone.data(), [2]);
}

#[test]
fn data_queued_during_the_first_window_joins_it() {
    let mut lone = Lone::new(window(4));
    lone.open(1, Some(9000));
    lone.command(Command::Send { key: sending(1), length: ByteCount::new(9000) });
    assert_eq!(lone.next().unwrap().header.sequence, 0);
    lone.command(Command::Send { key: sending(1), length: ByteCount::new(9 * 9000) });
    assert_eq!(lone.data(), [1, 2, 3]);
    lone.receive(&pull(1));
    assert_eq!(lone.data(), [4]);
}

/// NDP 3.2-l.
#[test]
fn the_packet_is_chosen_when_the_nic_polls() {
    let (mut lone, _) = pushed(window(4), None);
    lone.receive(&pull(2));
    assert_eq!(lone.next().unwrap().header.sequence, 4);
    // The second pull came before this NACK, and still the retransmission takes it.
    lone.receive(&nack(3));
    assert_eq!(lone.data(), [3]);
}

/// NDP 3.2.1-b.
#[test]
fn a_pull_that_overtakes_its_nack_keeps_its_credit() {
    let (mut lone, _) = pushed(window(1), Some(1));
    lone.at(us(50)).receive(&pull(1));
    assert_eq!(lone.data(), []);
    lone.at(us(51)).receive(&nack(0));
    assert_eq!(lone.data(), [0]);

    // Also while another packet is out.
    let (mut lone, _) = pushed(window(2), Some(2));
    lone.at(us(50)).receive(&pull(1));
    lone.at(us(51)).receive(&nack(0));
    assert_eq!(lone.data(), [0]);

    // Without that credit the packet waits for a PULL that has already come: only the backstop moves it.
    let (mut lone, _) = pushed(window(1), Some(1));
    lone.at(us(51)).receive(&nack(0));
    lone.pass(us(100_000));
    assert_eq!(lone.data(), []);
}

/// NDP 3.2-l.
#[test]
fn credits_of_all_connections_are_spent_in_arrival_order() {
    let mut lone = Lone::new(window(2));
    for connection in 1..=3 {
        lone.open(connection, Some(9000 * 9));
    }
    let order = |lone: &mut Lone| -> Vec<(u32, u32)> {
        lone.all()
            .iter()
            .map(|packet| (packet.header.connection.get(), packet.header.sequence))
            .collect()
    };
    assert_eq!(order(&mut lone), [(1, 0), (2, 0), (3, 0), (1, 1), (2, 1), (3, 1)]);
    for (connection, counter) in [(3, 1), (1, 1), (3, 2), (2, 1), (3, 4), (1, 2)] {
        let mut pull = pull(counter);
        pull.header.connection = trimline_packet::ConnectionId::new(connection);
        lone.receive(&pull);
    }
    assert_eq!(order(&mut lone), [(3, 2), (1, 2), (3, 3), (2, 2), (3, 4), (3, 5), (1, 3)]);
}

#[test]
fn a_paused_data_class_does_not_block_control() {
    let mut lone = Lone::sender(window(2), None);
    lone.receive(&data(9, 0, Flags::SYN));
    let control = lone.endpoint.poll_transmit(us(0), Allowed::CONTROL).unwrap();
    assert_eq!(control.header.kind, Kind::Ack);
    assert_eq!(lone.endpoint.poll_transmit(us(0), Allowed::CONTROL), None);
    assert_eq!(lone.data(), [0, 1]);
}

#[test]
fn a_flow_is_acknowledged_when_every_packet_is_acked() {
    let (mut lone, _) = pushed(window(4), Some(3));
    lone.receive(&ack(2));
    lone.receive(&ack(0));
    lone.receive(&ack(0));
    assert_eq!(lone.events(), []);
    lone.receive(&ack(1));
    let slot = lone.slot(sending(1));
    assert_eq!(lone.events(), [Event::Acknowledged { key: sending(1), slot }]);
    assert_eq!(lone.endpoint.sender_statistics(slot).packets_sent, 3);
    // The stream's timer is disarmed: its entry in the heap does nothing.
    lone.pass(us(1_000_000));
    assert_eq!((lone.data(), lone.endpoint.poll_timeout()), (vec![], Time::NEVER));
}

mod returned_headers {
    use super::*;

    /// NDP 3.2.4-i.
    #[test]
    fn a_returned_header_waits_while_first_window_packets_are_unanswered() {
        let (mut lone, sent) = pushed(window(4), None);
        for packet in &sent[..3] {
            lone.receive(&returned(*packet));
            assert_eq!(lone.data(), []);
        }
        assert_eq!(lone.endpoint.sender_statistics(0).returns, 3);
    }

    /// Condition 2: all other packets of the first window were returned too. NDP 3.2.4-j.
    #[test]
    fn the_last_packet_of_a_wholly_returned_first_window_is_resent() {
        let (mut lone, sent) = pushed(window(4), None);
        for packet in sent {
            lone.receive(&returned(packet));
        }
        assert_eq!(lone.data(), [3]);
        assert_eq!(lone.endpoint.sender_statistics(0).retransmissions_return, 1);
    }

    /// Condition 1: no packet was ACKed or NACKed but not yet pulled. NDP 3.2.4-i.
    #[test]
    fn a_returned_packet_is_resent_if_no_pull_is_expected() {
        let (mut lone, sent) = pushed(window(3), None);
        lone.receive(&with_pull(nack(0), 1));
        assert_eq!(lone.data(), [0]);
        lone.receive(&with_pull(nack(1), 2));
        assert_eq!(lone.data(), [1]);
        lone.receive(&returned(sent[2]));
        assert_eq!(lone.data(), [2]);
    }

    /// NDP 3.2.4-l.
    #[test]
    fn a_returned_packet_waits_for_an_expected_pull() {
        let (mut lone, sent) = pushed(window(3), None);
        lone.receive(&with_pull(nack(0), 1));
        assert_eq!(lone.data(), [0]);
        lone.receive(&nack(1));
        lone.receive(&returned(sent[2]));
        assert_eq!(lone.data(), []);
        // The returned packet then goes first: it has waited longest.
        lone.receive(&pull(2));
        assert_eq!(lone.data(), [2]);
        lone.receive(&pull(3));
        assert_eq!(lone.data(), [1]);
    }

    /// Condition 3: most recent packets were ACKed, the network is asymmetric. NDP 3.2.4-k.
    #[test]
    fn a_returned_packet_is_resent_if_most_recent_packets_were_acked() {
        for (acks, resent) in [(10, true), (9, false)] {
            let (mut lone, sent) = pushed(window(30), None);
            for packet in &sent[..16] {
                let kind = if packet.header.sequence < acks { Kind::Ack } else { Kind::Nack };
                lone.receive(&answer(kind, packet));
            }
            // This ACK and the return are the newest of the sixteen; the two oldest, ACKs, fall out.
            lone.receive(&answer(Kind::Ack, &sent[16]));
            lone.receive(&returned(sent[29]));
            assert_eq!(lone.data(), if resent { vec![29] } else { vec![] }, "{acks}");
        }
    }

    /// NDP 3.2.4-k.
    #[test]
    fn few_answers_do_not_indicate_an_asymmetric_network() {
        let (mut lone, sent) = pushed(window(30), None);
        for packet in &sent[..14] {
            lone.receive(&answer(Kind::Ack, packet));
        }
        lone.receive(&returned(sent[29]));
        assert_eq!(lone.data(), []);
    }

    #[test]
    fn a_returned_header_of_the_peer_is_not_taken_for_ours() {
        let (mut lone, sent) = pushed(window(1), None);
        let mut other = returned(sent[0]);
        other.header.flags = other.header.flags.without(Flags::FROM_OPENER);
        lone.receive(&other);
        assert_eq!(lone.data(), []);
        lone.receive(&returned(sent[0]));
        assert_eq!(lone.data(), [0]);
    }

    /// NDP 3.2.4-m.
    #[test]
    fn a_returned_packet_is_resent_on_another_path() {
        let (mut lone, sent) = pushed(window(1), None);
        let mut packet = sent[0];
        for _ in 0..200 {
            lone.receive(&returned(packet));
            let again = lone.next().unwrap();
            assert_ne!(again.header.path, packet.header.path);
            packet = again;
        }
    }

    /// The PULL overtook its ACK, and the pulled packet came back in between. NDP 3.2.4-l.
    #[test]
    fn a_waiting_returned_packet_is_resent_once_no_pull_is_expected() {
        let (mut lone, sent) = pushed(window(1), None);
        lone.receive(&pull(1));
        let pulled = lone.next().unwrap();
        lone.receive(&returned(pulled));
        assert_eq!(lone.data(), []);
        lone.receive(&answer(Kind::Ack, &sent[0]));
        assert_eq!(lone.data(), [1]);
    }

    /// Returned packets have used all credit, and the receiver dropped its last pulls: a repeated PULL says that no
    /// other will come. NDP 3.2.1-d.
    #[test]
    fn a_repeated_pull_frees_packets_whose_pulls_were_dropped() {
        let (mut lone, sent) = pushed(window(3), Some(3));
        lone.receive(&ack(0));
        lone.receive(&with_pull(nack(1), 1));
        let again = lone.next().unwrap();
        lone.receive(&returned(sent[2]));
        lone.receive(&returned(again));
        // As far as the sender knows one pull is owed.
        assert_eq!(lone.data(), []);
        lone.receive(&pull(1));
        let again = lone.next().unwrap();
        assert_eq!(again.header.sequence, 1);
        lone.receive(&pull(1));
        assert_eq!(lone.data(), [], "a packet is out: the repetition brings no second one");
        lone.receive(&returned(again));
        assert_eq!(lone.data(), [1], "no pull is expected any more");
    }
}

mod timers {
    use super::*;

    /// NDP 3.2-s.
    #[test]
    fn an_unanswered_packet_is_resent_after_the_rto_without_a_pull() {
        let mut lone = Lone::sender(window(2), None);
        let first = lone.next().unwrap();
        lone.at(us(7));
        let second = lone.next().unwrap();
        lone.pass(Time::from_ps(us(1000).as_ps() - 1));
        assert_eq!(lone.data(), []);
        lone.pass(us(1000));
        let again = lone.next().unwrap();
        assert_eq!(again.header.sequence, 0);
        assert_ne!(again.header.path, first.header.path);
        assert_eq!(lone.data(), []);
        lone.pass(us(1007));
        let again = lone.next().unwrap();
        assert_eq!(again.header.sequence, 1);
        assert_ne!(again.header.path, second.header.path);
        let statistics = lone.endpoint.sender_statistics(0);
        assert_eq!((statistics.timeouts, statistics.retransmissions_timeout), (2, 2));
        // Each packet is timed from its retransmission, for twice as long.
        lone.pass(us(2_999));
        assert_eq!(lone.data(), []);
        lone.pass(us(3_006));
        assert_eq!(lone.data(), [0]);
        lone.pass(us(3_007));
        assert_eq!(lone.data(), [1]);
    }

    /// NDP 3.2-s.
    #[test]
    fn an_answer_ends_the_back_off() {
        let (mut lone, _) = pushed(window(1), None);
        lone.pass(us(1_000));
        let again = lone.next().unwrap();
        lone.receive(&with_pull(answer(Kind::Nack, &again), 1));
        assert_eq!(lone.data(), [0]);
        lone.pass(us(1_999));
        assert_eq!(lone.data(), []);
        lone.pass(us(2_000));
        assert_eq!(lone.data(), [0]);
    }

    /// NDP 3.2-s, 3.2.3-c.
    #[test]
    fn time_outs_in_a_row_back_off_to_eight_times_the_rto() {
        let (mut lone, sent) = pushed(window(1), None);
        let (mut at, mut path) = (0, sent[0].header.path);
        for interval in [1, 2, 4].into_iter().chain([8; 100]) {
            at += interval * 1000;
            lone.pass(us(at - 1));
            assert_eq!(lone.data(), []);
            lone.pass(us(at));
            let again = lone.next().unwrap();
            assert_eq!(again.header.sequence, 0);
            assert_ne!(again.header.path, path);
            path = again.header.path;
        }
    }

    /// NDP 3.2-s.
    #[test]
    fn the_oldest_lost_packet_is_resent_first() {
        let (mut lone, _) = pushed(window(4), None);
        lone.pass(us(1000));
        assert_eq!(lone.data(), [0, 1, 2, 3]);
    }

    /// NDP 3.2-s.
    #[test]
    fn the_rto_of_a_packet_runs_from_its_sending() {
        let (mut lone, _) = pushed(window(1), None);
        lone.at(us(900)).receive(&with_pull(ack(0), 1));
        assert_eq!(lone.data(), [1]);
        lone.pass(us(1899));
        assert_eq!(lone.data(), []);
        lone.pass(us(1900));
        assert_eq!(lone.data(), [1]);
    }

    /// The timer was put off to the backstop; a packet sent meanwhile brings it forward. NDP 3.2-s.
    #[test]
    fn a_packet_sent_while_the_backstop_runs_has_its_own_rto() {
        let (mut lone, _) = pushed(window(1), None);
        lone.receive(&nack(0));
        lone.pass(us(5_000));
        lone.receive(&pull(1));
        assert_eq!(lone.data(), [0]);
        lone.pass(us(5_999));
        assert_eq!(lone.data(), []);
        lone.pass(us(6_000));
        assert_eq!(lone.data(), [0]);
    }

    /// NDP 3.2-s.
    #[test]
    fn a_late_ack_cancels_a_queued_retransmission() {
        let (mut lone, _) = pushed(window(1), None);
        lone.pass(us(1000));
        lone.receive(&ack(0));
        assert_eq!(lone.data(), []);
    }

    /// A NACKed packet in an 8000:1 incast waits 1.7 s for its PULL. NDP 3.2-t.
    #[test]
    fn only_the_long_backstop_resends_a_packet_that_waits_for_its_pull() {
        let (mut lone, _) = pushed(window(2), Some(2));
        lone.at(us(60)).receive(&nack(0));
        lone.at(us(70)).receive(&nack(1));
        lone.pass(us(100_069));
        assert_eq!(lone.data(), []);
        lone.pass(us(100_070));
        assert_eq!(lone.data(), [0]);
        assert_eq!(lone.endpoint.sender_statistics(0).timeouts, 1);
    }

    /// Packets that the backstop resends are answered, and any packet restarts the time; only a PULL shows that owed
    /// pulls still come. NDP 3.2-t.
    #[test]
    fn the_backstop_doubles_until_a_pull_arrives() {
        let (mut lone, sent) = pushed(window(1), None);
        let mut packet = sent[0];
        let mut at = 0;
        for interval in [100_000, 200_000, 400_000, 800_000] {
            lone.at(us(at)).receive(&answer(Kind::Nack, &packet));
            lone.pass(us(at + interval - 1));
            assert_eq!(lone.data(), []);
            lone.pass(us(at + interval));
            packet = lone.next().unwrap();
            at += interval + 60;
        }
        lone.at(us(at)).receive(&answer(Kind::Nack, &packet));
        lone.receive(&pull(1));
        packet = lone.next().unwrap();
        lone.receive(&answer(Kind::Nack, &packet));
        lone.pass(us(at + 99_999));
        assert_eq!(lone.data(), []);
        lone.pass(us(at + 100_000));
        assert_eq!(lone.data(), [0]);
    }
}

mod later_data {
    use super::*;

    fn send(lone: &mut Lone, packets: u64) {
        let length = ByteCount::new(packets * 9000);
        lone.command(Command::Send { key: sending(1), length });
    }

    /// NDP 3.2-p.
    #[test]
    fn data_after_the_last_packet_is_pushed() {
        let (mut lone, _) = pushed(window(4), Some(2));
        lone.receive(&ack(0));
        lone.receive(&ack(1));
        assert_eq!(lone.events().len(), 1);
        send(&mut lone, 6);
        assert_eq!(lone.data(), [2, 3, 4, 5]);
        lone.receive(&with_pull(ack(2), 1));
        assert_eq!(lone.data(), [6]);
    }

    /// NDP 3.2-p.
    #[test]
    fn data_after_the_last_packet_is_pushed_within_a_window() {
        let (mut lone, _) = pushed(window(4), Some(4));
        send(&mut lone, 6);
        assert_eq!(lone.data(), []);
        // The receiver knows LAST and has dropped its pulls: each ACK makes room.
        for sequence in 0..4 {
            lone.receive(&ack(sequence));
            assert_eq!(lone.data(), [4 + sequence]);
        }
        assert_eq!(lone.events(), []);
        lone.receive(&ack(4));
        assert_eq!(lone.data(), [], "a window was pushed; the rest is pulled");
        lone.receive(&pull(1));
        assert_eq!(lone.data(), [8]);
    }

    #[test]
    fn banked_credits_do_not_widen_the_window_of_later_data() {
        let (mut lone, _) = pushed(window(2), Some(2));
        lone.receive(&pull(5));
        lone.receive(&ack(0));
        lone.receive(&ack(1));
        send(&mut lone, 9);
        assert_eq!(lone.data(), [2, 3]);
    }

    #[test]
    fn pulled_packets_are_not_pushed_again() {
        let (mut lone, _) = pushed(window(4), Some(4));
        send(&mut lone, 9);
        lone.receive(&pull(2));
        assert_eq!(lone.data(), [4, 5]);
        let mut sent = Vec::new();
        for sequence in 0..6 {
            lone.receive(&ack(sequence));
            sent.extend(lone.data());
        }
        assert_eq!(sent, [6, 7], "a window in all");
    }

    #[test]
    fn data_added_before_the_last_packet_is_pulled() {
        let (mut lone, _) = pushed(window(2), Some(3));
        send(&mut lone, 1);
        assert_eq!(lone.data(), []);
        lone.receive(&pull(2));
        let sent = lone.all();
        let marks: Vec<bool> = sent.iter().map(|p| p.header.flags.contains(Flags::LAST)).collect();
        assert_eq!(marks, [false, true]);
    }

    /// NDP 3.2-m.
    #[test]
    fn a_packet_marked_last_loses_its_mark_when_more_follows() {
        let (mut lone, sent) = pushed(window(1), Some(1));
        assert!(sent[0].header.flags.contains(Flags::LAST));
        send(&mut lone, 1);
        lone.receive(&with_pull(nack(0), 1));
        assert!(!lone.next().unwrap().header.flags.contains(Flags::LAST));
    }

    #[test]
    fn data_for_an_unknown_stream_is_refused() {
        let mut lone = Lone::new(config());
        send(&mut lone, 1);
        assert_eq!(lone.events(), [Event::Refused { key: sending(1) }]);
    }

    #[test]
    fn the_accepting_end_may_send_too() {
        let mut lone = Lone::new(window(2));
        lone.receive(&data(5, 0, Flags::SYN | Flags::LAST));
        lone.all();
        lone.events();
        let key = trimline_transport::Key { opened_here: false, ..sending(5) };
        lone.command(Command::Send { key, length: ByteCount::new(9000) });
        let back = lone.next().unwrap();
        assert!(back.header.flags.contains(Flags::SYN | Flags::LAST));
        assert!(!back.header.flags.contains(Flags::FROM_OPENER));
        let mut reply = answer(Kind::Ack, &back);
        reply.header.flags = reply.header.flags.with(Flags::FROM_OPENER);
        lone.receive(&reply);
        assert!(matches!(lone.events()[..], [Event::Acknowledged { key: of, .. }] if of == key));
    }
}

mod path_sets {
    use super::*;

    fn penalty() -> Config {
        Config {
            path_penalty: Some(PathPenalty {
                min_nacks: 10,
                min_losses: 2,
                ratio: 2,
                removal: TimeDelta::from_ms(1),
                removal_max: TimeDelta::from_ms(4),
            }),
            ..window(8)
        }
    }

    /// Runs rounds of eight packets, with the answer `bad` for path 3; returns the last three rounds' paths.
    fn rounds(lone: &mut Lone, counter: &mut u32, count: usize, bad: Kind) -> BTreeSet<PathId> {
        let mut paths = BTreeSet::new();
        for round in 0..count {
            if round + 3 == count {
                paths.clear();
            }
            for _ in 0..8 {
                *counter += 1;
                let Some(packet) = lone.next() else { break };
                paths.insert(packet.header.path);
                let kind = if packet.header.path == PathId::new(3) { bad } else { Kind::Ack };
                lone.receive(&with_pull(answer(kind, &packet), *counter));
            }
        }
        paths
    }

    /// NDP 3.1.1-a.
    #[test]
    fn each_path_is_used_once_per_round() {
        let (_, sent) = pushed(window(8), None);
        let paths: BTreeSet<PathId> = sent.iter().map(|packet| packet.header.path).collect();
        assert_eq!(paths.len(), 8);
    }

    /// NDP 3.2.3-b.
    #[test]
    fn a_path_with_nacks_is_removed_and_restored() {
        let mut lone = Lone::sender(penalty(), None);
        let mut counter = 0;
        let paths = rounds(&mut lone, &mut counter, 20, Kind::Nack);
        assert_eq!(paths.len(), 7);
        assert!(!paths.contains(&PathId::new(3)));
        assert_eq!(lone.endpoint.sender_statistics(0).path_removals, 1);
        lone.at(us(1100));
        assert_eq!(rounds(&mut lone, &mut counter, 3, Kind::Ack).len(), 8);
    }

    /// NDP 3.2.3-c.
    #[test]
    fn losses_are_counted_for_the_path_that_the_packet_took() {
        let mut lone = Lone::sender(penalty(), None);
        let (mut counter, mut lost) = (0, 0);
        for _ in 0..400 {
            let Some(packet) = lone.next() else {
                lone.pass(lone.endpoint.poll_timeout());
                continue;
            };
            if packet.header.path == PathId::new(3) {
                lost += 1;
                continue;
            }
            counter += 1;
            lone.receive(&with_pull(answer(Kind::Ack, &packet), counter));
        }
        assert!(lost > 2);
        assert!(lone.endpoint.sender_statistics(0).path_removals > 0);
        let paths: BTreeSet<PathId> = (0..7)
            .filter_map(|_| {
                let packet = lone.next()?;
                counter += 1;
                lone.receive(&with_pull(answer(Kind::Ack, &packet), counter));
                Some(packet.header.path)
            })
            .collect();
        assert!(paths.len() >= 6, "{paths:?}");
    }

    /// An answer to an earlier transmission says nothing about a later path. NDP 3.2.3-a.
    #[test]
    fn an_answer_counts_for_the_attempt_that_earned_it() {
        let (mut lone, sent) = pushed(window(1), None);
        lone.pass(us(1000));
        let again = lone.next().unwrap();
        assert_eq!(again.header.flags.attempt(), 1);
        // A NACK of the first transmission: the second one is still out, no packet is queued.
        lone.receive(&with_pull(answer(Kind::Nack, &sent[0]), 1));
        assert_eq!(lone.data(), [1]);
        lone.receive(&with_pull(answer(Kind::Nack, &again), 2));
        assert_eq!(lone.data(), [0]);
    }
}

mod life {
    use super::*;

    fn from_peer(kind: Kind, connection: u32) -> Packet {
        let mut packet = answer(kind, &data(connection, 0, 0));
        packet.header.extra = 0;
        packet
    }

    #[test]
    fn a_reset_refuses_the_stream() {
        let (mut lone, _) = pushed(window(2), None);
        lone.receive(&from_peer(Kind::Reset, 1));
        assert_eq!(lone.events(), [Event::Refused { key: sending(1) }]);
        lone.pass(us(1_000_000));
        assert_eq!(lone.data(), []);
        assert!(trimline_transport::HostTables::find(&lone.directory, sending(1)).is_none());
    }

    #[test]
    fn a_late_reset_does_not_refuse_a_complete_flow() {
        let (mut lone, _) = pushed(window(2), Some(1));
        lone.receive(&ack(0));
        lone.events();
        lone.receive(&from_peer(Kind::Reset, 1));
        assert_eq!(lone.events(), []);
    }

    /// NDP 3.2.2-c.
    #[test]
    fn a_closed_stream_sends_its_data_and_is_remembered() {
        let (mut lone, _) = pushed(window(1), Some(2));
        lone.command(Command::Close { key: sending(1) });
        lone.receive(&with_pull(ack(0), 1));
        assert_eq!(lone.data(), [1]);
        lone.at(us(50)).receive(&ack(1));
        assert!(matches!(lone.events()[..], [Event::Acknowledged { .. }]));
        // NDP 3.2.2: the number cannot be used again while the stream is remembered.
        lone.pass(us(10_049));
        lone.open(1, Some(9000));
        assert_eq!(lone.events(), [Event::Refused { key: sending(1) }]);
        let slot = lone.slot(sending(1));
        lone.pass(us(10_050));
        assert_eq!(lone.endpoint.sender_statistics(slot).packets_sent, 2);
        lone.open(1, Some(9000));
        assert_eq!(lone.events(), []);
        assert_eq!(lone.endpoint.sender_statistics(slot).packets_sent, 0);
        assert_eq!(lone.data(), [0]);
    }

    /// Entries of an earlier stream in the host's queues are not its own.
    #[test]
    fn a_stream_in_a_reused_slot_starts_anew() {
        let mut lone = Lone::sender(window(8), None);
        assert_eq!(lone.next().map(|packet| packet.header.sequence), Some(0));
        lone.receive(&from_peer(Kind::Reset, 1));
        lone.pass(us(10_000));
        for packets in [1, 8] {
            let connection = 10 + packets as u32;
            lone.open(connection, Some(packets * 9000));
            assert_eq!(lone.slot(sending(connection)), packets.trailing_zeros() / 3);
            assert_eq!(lone.data(), (0..packets as u32).collect::<Vec<_>>());
        }
    }

    #[test]
    fn an_endless_stream_ends_when_it_is_closed() {
        let (mut lone, _) = pushed(window(2), None);
        lone.command(Command::Close { key: sending(1) });
        lone.receive(&with_pull(ack(0), 2));
        assert_eq!(lone.data(), []);
        lone.receive(&ack(1));
        assert!(matches!(lone.events()[..], [Event::Acknowledged { .. }]));
    }
}
