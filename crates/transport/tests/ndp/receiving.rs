//! The rules of a receive stream.

use std::collections::BTreeSet;

use trimline_packet::{Flags, Kind, Packet, PathId, Time, TimeDelta};
use trimline_transport::ndp::{Command, Config, Event, PullSpacing};
use trimline_transport::{Allowed, Disposition, Endpoint as _, HostTables};

use crate::link::{config, us};
use crate::lone::*;

const SYN: u8 = Flags::SYN;
const LAST: u8 = Flags::LAST;
/// The wire time of 9064 bytes at 10 Gb/s, in ps.
const GAP: u64 = 7_251_200;

fn ps(ps: u64) -> Time {
    Time::from_ps(ps)
}

/// A configuration without riding pulls.
fn plain() -> Config {
    Config { pull_ack: false, ..config() }
}

/// Returns the pulls that go out until `until`: (connection, counter).
fn pulls(lone: &mut Lone, until: Time) -> Vec<(u32, u32)> {
    let mut sent = Vec::new();
    loop {
        while let Some(packet) = lone.next() {
            if let Some(counter) = packet.header.pull_counter() {
                sent.push((packet.header.connection.get(), counter));
            }
        }
        let at = lone.endpoint.transmit_at(Allowed::ALL);
        if at > until {
            return sent;
        }
        lone.at(at);
    }
}

/// NDP 3.2.2-b.
#[test]
fn any_first_window_packet_opens_the_connection() {
    for (packet, kind) in [
        (data(1, 17, SYN), Kind::Ack),
        (trimmed(data(1, 17, SYN)), Kind::Nack),
        (data(1, 0, SYN), Kind::Ack),
    ] {
        let mut lone = Lone::new(config());
        let disposition = lone.receive(&packet);
        let slot = lone.slot(receiving(1));
        assert_eq!(lone.events(), [Event::Accepted { key: receiving(1), slot }]);
        let sequence = packet.header.sequence;
        let whole = kind == Kind::Ack;
        let accepted = Disposition::Accept { slot, sequence };
        assert_eq!(disposition, if whole { accepted } else { Disposition::Discard });
        let answer = lone.next().unwrap();
        assert_eq!((answer.header.kind, answer.header.sequence), (kind, sequence));
        assert!(!answer.header.flags.contains(Flags::FROM_OPENER));
    }
}

/// NDP 3.2-c.
#[test]
fn every_packet_is_answered_at_once_without_pacing() {
    let mut lone = Lone::new(config());
    lone.receive(&data(1, 0, SYN));
    lone.receive(&trimmed(data(1, 1, SYN)));
    lone.receive(&data(1, 2, SYN));
    assert_eq!(lone.kinds(), [(Kind::Ack, 0), (Kind::Nack, 1), (Kind::Ack, 2)]);
}

/// NDP 3.2.3-a.
#[test]
fn an_answer_echoes_the_attempt() {
    let mut lone = Lone::new(config());
    let mut packet = data(1, 0, SYN);
    packet.header.flags = packet.header.flags.with_attempt(3);
    lone.receive(&packet);
    assert_eq!(lone.next().unwrap().header.flags.attempt(), 3);
}

#[test]
fn a_trimmed_packet_shorter_than_a_header_is_whole() {
    let mut lone = Lone::new(config());
    let mut packet = data(1, 0, SYN | LAST);
    packet.header.extra = trimline_packet::Header::data_extra(0, crate::link::PORT);
    lone.receive(&trimmed(packet));
    assert_eq!(lone.kinds(), [(Kind::Ack, 0)]);
    assert_eq!(lone.events().len(), 2);
}

/// NDP 3.2-q, 3.2-i.
#[test]
fn an_ack_carries_a_pull_when_none_is_queued_and_the_pacer_is_due() {
    for (after, rides) in [(GAP - 1, false), (GAP, true), (GAP + 1, true)] {
        let mut lone = Lone::new(config());
        lone.receive(&data(1, 0, SYN));
        assert_eq!(lone.next().unwrap().header.pull_counter(), Some(1));
        lone.at(ps(after)).receive(&trimmed(data(1, 1, SYN)));
        let answer = lone.next().unwrap();
        assert_eq!(answer.header.pull_counter(), rides.then_some(2), "{after}");
        if !rides {
            // The pull then goes alone, when the pacer is due.
            assert_eq!(lone.next(), None);
            assert_eq!(lone.endpoint.transmit_at(Allowed::ALL), ps(GAP));
            let pull = lone.at(ps(GAP)).next().unwrap();
            assert_eq!((pull.header.kind, pull.header.sequence), (Kind::Pull, 2));
        }
    }
}

/// NDP 3.2-q.
#[test]
fn an_ack_carries_no_pull_past_a_queued_one() {
    let mut lone = Lone::new(config());
    lone.receive(&data(1, 0, SYN));
    lone.receive(&data(1, 1, SYN));
    lone.at(ps(GAP)).receive(&data(1, 2, SYN));
    let sent = lone.all();
    let counters: Vec<Option<u32>> = sent.iter().map(|p| p.header.pull_counter()).collect();
    assert_eq!(counters, [Some(1), None, None, Some(2)]);
}

/// NDP 3.2-d.
#[test]
fn an_ack_carries_no_pull_if_switched_off() {
    let mut lone = Lone::new(plain());
    lone.receive(&data(1, 0, SYN));
    assert_eq!(lone.kinds(), [(Kind::Ack, 0), (Kind::Pull, 1)]);
}

/// NDP 3.2-f.
#[test]
fn pulls_are_paced_by_sent_bytes_even_if_trimmed() {
    let mut lone = Lone::new(plain());
    let mut small = data(1, 2, SYN);
    small.header.extra = trimline_packet::Header::data_extra(936, crate::link::PORT);
    small.wire_bytes = 1000;
    for packet in [trimmed(data(1, 0, SYN)), trimmed(data(1, 1, SYN)), trimmed(small)] {
        lone.receive(&packet);
    }
    lone.all();
    assert_eq!(lone.endpoint.transmit_at(Allowed::ALL), ps(GAP));
    lone.at(ps(GAP)).all();
    assert_eq!(lone.endpoint.transmit_at(Allowed::ALL), ps(2 * GAP));
    lone.at(ps(2 * GAP)).all();
    // The pull of 1000 bytes went last: after it the link is free sooner.
    lone.receive(&data(1, 3, SYN));
    lone.next();
    assert_eq!(lone.endpoint.transmit_at(Allowed::ALL), ps(2 * GAP + 800_000));
}

/// NDP 3.2-f.
#[test]
fn pulls_may_be_paced_by_payload_bytes() {
    let mut lone = Lone::new(Config { pull_spacing: PullSpacing::PayloadBytes, ..plain() });
    lone.receive(&data(1, 0, SYN));
    lone.receive(&data(1, 1, SYN));
    lone.all();
    assert_eq!(lone.endpoint.transmit_at(Allowed::ALL), ps(7_200_000));
}

/// NDP 3.2-e.
#[test]
fn a_duplicate_is_acked_without_a_pull() {
    let mut lone = Lone::new(plain());
    lone.receive(&data(1, 0, SYN));
    assert_eq!(lone.receive(&data(1, 0, SYN)), Disposition::Discard);
    // The payload is here, so the header of a copy is ACKed too.
    lone.receive(&trimmed(data(1, 0, SYN)));
    assert_eq!(lone.kinds(), [(Kind::Ack, 0), (Kind::Ack, 0), (Kind::Ack, 0), (Kind::Pull, 1)]);
    assert_eq!(pulls(&mut lone, us(500)), []);
    let statistics = lone.endpoint.receiver_statistics(0);
    assert_eq!((statistics.packets, statistics.duplicates, statistics.bytes), (1, 1, 9000));
}

/// NDP 3.2-d, 3.2-i.
#[test]
fn every_header_of_a_missing_packet_adds_a_pull() {
    let mut lone = Lone::new(plain());
    lone.receive(&trimmed(data(1, 0, SYN)));
    lone.receive(&trimmed(data(1, 0, SYN)));
    assert_eq!(pulls(&mut lone, us(500)), [(1, 1), (1, 2)]);
    assert_eq!(lone.endpoint.receiver_statistics(0).trims, 2);
}

mod last {
    use super::*;

    /// NDP 3.2-n.
    #[test]
    fn a_complete_flow_removes_its_pulls() {
        let mut lone = Lone::new(plain());
        for sequence in 0..9 {
            lone.receive(&data(1, sequence, SYN));
        }
        lone.events();
        lone.receive(&data(1, 9, SYN | LAST));
        let slot = lone.slot(receiving(1));
        assert_eq!(lone.events(), [Event::Delivered { key: receiving(1), slot }]);
        assert_eq!(pulls(&mut lone, us(1000)), []);
        assert_eq!(lone.endpoint.transmit_at(Allowed::ALL), Time::NEVER);
    }

    /// NDP 3.2-o.
    #[test]
    fn surplus_pulls_beyond_the_missing_packets_are_removed() {
        let mut lone = Lone::new(plain());
        for sequence in 0..9 {
            let packet = data(1, sequence, SYN);
            lone.receive(&if sequence % 3 == 0 { trimmed(packet) } else { packet });
        }
        // The header of the last packet tells as much as the packet.
        lone.receive(&trimmed(data(1, 9, SYN | LAST)));
        assert_eq!(pulls(&mut lone, us(500)), [(1, 1), (1, 2), (1, 3), (1, 4)]);
    }

    /// NDP 3.2-o.
    #[test]
    fn pulls_fewer_than_missing_packets_stay_queued() {
        let mut lone = Lone::new(plain());
        lone.receive(&trimmed(data(1, 3, SYN)));
        lone.receive(&data(1, 9, SYN | LAST));
        assert_eq!(pulls(&mut lone, us(500)), [(1, 1), (1, 2)]);
    }

    /// NDP 3.2-n.
    #[test]
    fn the_ack_of_the_last_missing_packet_carries_no_pull() {
        let mut lone = Lone::new(config());
        lone.receive(&data(1, 0, SYN | LAST));
        assert_eq!(lone.next().unwrap().header.pull_counter(), None);
    }

    #[test]
    fn data_after_the_last_packet_is_pulled_and_delivered_again() {
        let mut lone = Lone::new(plain());
        lone.receive(&data(1, 0, SYN | LAST));
        lone.events();
        lone.receive(&data(1, 1, 0));
        lone.receive(&data(1, 2, 0));
        assert_eq!(lone.events(), []);
        assert_eq!(pulls(&mut lone, us(500)), [(1, 1), (1, 2)]);
        lone.receive(&data(1, 3, LAST));
        assert!(matches!(lone.events()[..], [Event::Delivered { .. }]));
    }

    #[test]
    fn messages_of_one_packet_are_delivered_one_by_one() {
        let mut lone = Lone::new(plain());
        for sequence in 0..5 {
            lone.receive(&data(1, sequence, SYN | LAST));
            let slot = lone.slot(receiving(1));
            let delivered = [Event::Delivered { key: receiving(1), slot }];
            assert_eq!(lone.events().split_off(usize::from(sequence == 0)), delivered);
            lone.receive(&data(1, sequence, SYN | LAST));
            assert_eq!(lone.events(), [], "a copy of packet {sequence}");
        }
        // The sender now has more to send and resends the packet without LAST; its first copy comes late.
        lone.receive(&data(1, 4, SYN));
        lone.receive(&data(1, 4, SYN | LAST));
        assert_eq!(lone.events(), []);
    }

    /// NDP 3.2-m.
    #[test]
    fn an_unmarked_packet_overrides_the_last_mark_of_its_header() {
        let mut lone = Lone::new(plain());
        lone.receive(&trimmed(data(1, 0, SYN | LAST)));
        lone.receive(&data(1, 0, SYN));
        assert!(matches!(lone.events()[..], [Event::Accepted { .. }]));
        assert_eq!(pulls(&mut lone, us(500)), [(1, 1), (1, 2)]);
    }
}

mod pull_order {
    use super::*;

    /// NDP 3.2-g.
    #[test]
    fn connections_are_pulled_in_turn() {
        let mut lone = Lone::new(plain());
        for sequence in 0..3 {
            lone.receive(&trimmed(data(1, sequence, SYN)));
        }
        for connection in 2..4 {
            lone.receive(&trimmed(data(connection, 0, SYN)));
        }
        assert_eq!(pulls(&mut lone, us(100)), [(1, 1), (2, 1), (3, 1), (1, 2), (1, 3)]);
    }

    /// NDP 6.2, figure 21: the pull of a sparse connection goes out promptly. NDP 3.2-g.
    #[test]
    fn a_sparse_connection_waits_for_one_pull_of_each_other() {
        let mut lone = Lone::new(plain());
        for sequence in 0..50 {
            lone.receive(&trimmed(data(1, sequence, SYN)));
        }
        assert_eq!(pulls(&mut lone, ps(9 * GAP)).len(), 10);
        lone.receive(&data(2, 0, SYN));
        assert_eq!(pulls(&mut lone, ps(11 * GAP)), [(1, 11), (2, 1)]);
    }

    /// NDP 3.2-h.
    #[test]
    fn a_higher_class_is_pulled_first() {
        let mut lone = Lone::new(plain());
        for connection in 0..4u32 {
            for sequence in 0..2 {
                let mut packet = trimmed(data(connection, sequence, SYN));
                packet.header.flags =
                    packet.header.flags.with_class([0, 2, 3, 2][connection as usize]);
                lone.receive(&packet);
            }
        }
        let order: Vec<u32> = pulls(&mut lone, us(100)).iter().map(|&(of, _)| of).collect();
        assert_eq!(order, [2, 2, 1, 3, 1, 3, 0, 0]);
    }

    /// NDP 3.2-h.
    #[test]
    fn the_application_may_choose_the_class() {
        let mut lone = Lone::new(plain());
        for connection in 1..3 {
            for sequence in 0..2 {
                lone.receive(&trimmed(data(connection, sequence, SYN)));
            }
        }
        lone.command(Command::Prioritise { key: receiving(2), class: 3 });
        // The class in the packets no longer counts.
        lone.receive(&trimmed(data(2, 2, SYN)));
        let order: Vec<u32> = pulls(&mut lone, us(100)).iter().map(|&(of, _)| of).collect();
        assert_eq!(order, [2, 2, 2, 1, 1]);
    }

    /// NDP 3.2-h.
    #[test]
    fn a_class_may_change_while_pulls_are_queued() {
        let mut lone = Lone::new(plain());
        for connection in [1, 2, 1] {
            lone.receive(&trimmed(data(connection, 0, SYN)));
        }
        let mut urgent = trimmed(data(2, 1, SYN));
        urgent.header.flags = urgent.header.flags.with_class(1);
        lone.receive(&urgent);
        let order: Vec<u32> = pulls(&mut lone, us(100)).iter().map(|&(of, _)| of).collect();
        assert_eq!(order, [2, 2, 1, 1]);
    }

    /// NDP 3.2-l.
    #[test]
    fn answers_go_before_due_pulls_and_pulls_before_data() {
        let mut lone = Lone::new(plain());
        lone.receive(&data(5, 0, SYN));
        lone.open(1, Some(9000));
        let kinds: Vec<Kind> = lone.kinds().iter().map(|&(kind, _)| kind).collect();
        assert_eq!(kinds, [Kind::Ack, Kind::Pull, Kind::Data]);
    }
}

mod repeated_pulls {
    use super::*;

    /// NDP 3.2.1-c.
    #[test]
    fn an_unanswered_pull_is_repeated_with_its_counter_and_back_off() {
        let mut lone = Lone::new(config());
        lone.receive(&data(1, 0, SYN));
        assert_eq!(lone.next().unwrap().header.pull_counter(), Some(1));
        let mut at = 0;
        for interval in [1, 2, 4, 8, 16] {
            at += interval * 1000;
            lone.pass(us(at - 1));
            assert_eq!(lone.kinds(), []);
            lone.pass(us(at));
            assert_eq!(lone.kinds(), [(Kind::Pull, 1)], "after {at} us");
        }
        // A packet of the connection ends the back-off.
        lone.at(us(at + 500)).receive(&data(1, 1, SYN));
        assert_eq!(lone.next().unwrap().header.pull_counter(), Some(2));
        lone.pass(us(at + 1499));
        assert_eq!(lone.kinds(), []);
        lone.pass(us(at + 1500));
        assert_eq!(lone.kinds(), [(Kind::Pull, 2)]);
    }

    #[test]
    fn a_complete_flow_repeats_no_pull() {
        let mut lone = Lone::new(config());
        lone.receive(&data(1, 0, SYN));
        lone.receive(&data(1, 1, SYN | LAST));
        lone.all();
        lone.pass(us(100_000));
        assert_eq!((lone.kinds(), lone.endpoint.poll_timeout()), (vec![], Time::NEVER));
    }

    /// NDP 3.2.1-c.
    #[test]
    fn a_queued_pull_is_not_repeated() {
        let mut lone = Lone::new(Config { pull_repeat: TimeDelta::from_us(20), ..config() });
        lone.receive(&data(1, 0, SYN));
        for sequence in 0..10 {
            lone.receive(&trimmed(data(2, sequence, SYN)));
        }
        lone.receive(&trimmed(data(1, 1, SYN)));
        lone.all();
        lone.pass(us(60));
        let all = pulls(&mut lone, us(200));
        assert_eq!(all.iter().filter(|&&(of, _)| of == 1).count(), 1, "{all:?}");
    }

    /// NDP 3.2.1-c.
    #[test]
    fn an_arriving_packet_cancels_a_queued_repetition() {
        let mut lone = Lone::new(plain());
        lone.receive(&data(1, 0, SYN));
        assert_eq!(pulls(&mut lone, us(10)), [(1, 1)]);
        lone.pass(us(1000));
        lone.receive(&data(1, 1, SYN));
        assert_eq!(pulls(&mut lone, us(1200)), [(1, 2)]);
    }
}

mod at_most_once {
    use super::*;

    fn closed() -> Lone {
        let mut lone = Lone::new(plain());
        lone.receive(&data(1, 0, SYN));
        lone.receive(&data(1, 1, SYN | LAST));
        lone.all();
        lone.events();
        lone.command(Command::Close { key: receiving(1) });
        lone
    }

    /// NDP 3.2.2-c.
    #[test]
    fn a_late_first_window_packet_opens_no_second_connection() {
        let mut lone = closed();
        lone.at(us(5_000));
        assert_eq!(lone.receive(&data(1, 0, SYN)), Disposition::Discard);
        assert_eq!(lone.kinds(), [(Kind::Ack, 0)]);
        assert_eq!(lone.events(), []);
        // The late packet restarted time-wait.
        lone.pass(us(14_999));
        assert!(lone.directory.find(receiving(1)).is_some());
        lone.pass(us(15_000));
        assert!(lone.directory.find(receiving(1)).is_none());
        assert_eq!(lone.endpoint.receiver_statistics(0).packets, 2);
    }

    /// NDP 3.2.2-c.
    #[test]
    fn a_connection_number_may_be_reused_after_time_wait() {
        let mut lone = closed();
        lone.pass(us(10_000));
        lone.receive(&data(1, 0, SYN));
        assert!(matches!(lone.events()[..], [Event::Accepted { .. }]));
    }

    /// NDP 3.2.2-c.
    #[test]
    fn new_data_for_a_closed_receive_stream_is_refused() {
        let mut lone = closed();
        lone.receive(&data(1, 2, 0));
        assert_eq!(lone.kinds(), [(Kind::Reset, 2)]);
    }

    #[test]
    fn closing_a_stream_removes_its_pulls() {
        let mut lone = Lone::new(plain());
        lone.receive(&trimmed(data(1, 0, SYN)));
        lone.receive(&trimmed(data(1, 1, SYN)));
        lone.command(Command::Close { key: receiving(1) });
        assert_eq!(lone.kinds(), [(Kind::Nack, 0), (Kind::Nack, 1)]);
        assert_eq!(lone.endpoint.transmit_at(Allowed::ALL), Time::NEVER);
    }
}

mod unknown {
    use super::*;

    fn reset_of(packet: &Packet) -> Option<u8> {
        let mut lone = Lone::new(config());
        lone.receive(packet);
        let sent = lone.all();
        assert!(sent.iter().all(|packet| packet.header.kind == Kind::Reset));
        assert_eq!(lone.events(), []);
        sent.first().map(|packet| packet.header.flags.bits())
    }

    /// NDP 3.2.2-d.
    #[test]
    fn data_without_syn_is_reset() {
        assert_eq!(reset_of(&data(1, 40, 0)), Some(0));
    }

    /// NDP 3.2.2-d.
    #[test]
    fn data_for_a_port_without_a_listener_is_reset() {
        let mut packet = data(1, 0, SYN);
        packet.header.extra += 1;
        assert_eq!(reset_of(&packet), Some(0));
    }

    #[test]
    fn answers_on_a_connection_that_was_not_opened_here_are_reset() {
        let mut packet = data(1, 0, SYN);
        packet.header.flags = packet.header.flags.without(Flags::FROM_OPENER);
        assert_eq!(reset_of(&packet), Some(Flags::FROM_OPENER));
    }

    /// NDP 3.2.2-d.
    #[test]
    fn an_unknown_pull_is_reset_and_an_unknown_ack_is_not() {
        assert_eq!(reset_of(&pull(1)), Some(Flags::FROM_OPENER | Flags::PULL));
        assert_eq!(reset_of(&ack(1)), None);
        assert_eq!(reset_of(&nack(1)), None);
    }

    /// NDP 3.2.2-d.
    #[test]
    fn a_flood_is_answered_by_one_reset_per_packet_time() {
        let mut lone = Lone::new(config());
        for connection in 0..1000 {
            lone.receive(&data(connection, 40, 0));
        }
        assert_eq!(lone.all().len(), 1);
        lone.at(ps(GAP)).receive(&data(1, 40, 0));
        assert_eq!(lone.all().len(), 1);
    }

    #[test]
    fn a_reset_ends_the_receive_stream_that_pulled() {
        let mut lone = Lone::new(plain());
        lone.receive(&data(1, 0, SYN));
        lone.all();
        lone.events();
        let mut reset = answer(Kind::Reset, &data(1, 0, 0));
        reset.header.flags = Flags::default().with(Flags::FROM_OPENER | Flags::PULL);
        lone.receive(&reset);
        assert_eq!(lone.events(), [Event::Refused { key: receiving(1) }]);
        lone.pass(us(1_000_000));
        assert_eq!(lone.kinds(), []);
    }
}

/// NDP 3.2-r.
#[test]
fn a_busy_nic_does_not_slow_pulls() {
    let mut lone = Lone::new(plain());
    for sequence in 0..4 {
        lone.receive(&trimmed(data(1, sequence, SYN)));
    }
    lone.all();
    // The second pull is 5 us late, the third is on time again.
    lone.at(ps(GAP + 5_000_000));
    assert_eq!(lone.kinds(), [(Kind::Pull, 2)]);
    assert_eq!(lone.endpoint.transmit_at(Allowed::ALL), ps(2 * GAP));
}

/// NDP 3.1.1-b.
#[test]
fn answers_use_every_path_in_turn() {
    let mut lone = Lone::new(plain());
    for round in 0..5 {
        let paths: BTreeSet<PathId> = (0..8)
            .map(|sequence| {
                lone.receive(&data(1, round * 8 + sequence, SYN));
                lone.endpoint.poll_transmit(us(0), Allowed::CONTROL).unwrap().header.path
            })
            .collect();
        assert_eq!(paths.len(), 8);
    }
}

#[test]
fn an_idle_endpoint_is_small() {
    assert!(size_of::<trimline_transport::ndp::Endpoint>() < 500);
}
