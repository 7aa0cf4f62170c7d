//! Extensions of NDP's paper: delayed ACKs, pulls at the core's rate, turns of bytes.

use std::num::NonZeroU16;

use trimline_packet::{ByteCount, DelayedAck, Flags, Header, Kind, Packet, Time, TimeDelta};
use trimline_transport::ndp::{Command, Config, CoreRate};
use trimline_transport::{Allowed, Endpoint as _};

use crate::impaired::two;
use crate::link::{LinkAction, PORT, config, us};
use crate::lone::*;

const SYN: u8 = Flags::SYN;
const GAP: TimeDelta = TimeDelta::from_ps(7_251_200);

fn joining(ack_every: u8) -> Config {
    Config { ack_every, ..config() }
}

/// Returns the packets that an ACK names, oldest first.
fn named(packet: &Packet) -> Vec<u32> {
    let DelayedAck { before, .. } = packet.header.delayed_ack().expect("an ACK of several packets");
    let older = (0..16).rev().filter(|bit| before >> bit & 1 == 1);
    let older = older.map(|bit| packet.header.sequence - 1 - bit);
    older.chain([packet.header.sequence]).collect()
}

/// Returns the next packet, and its time.
fn next_after(lone: &mut Lone) -> (Time, Packet) {
    let at = lone.endpoint.transmit_at(Allowed::ALL).min(lone.endpoint.poll_timeout());
    lone.pass(at.max(lone.now));
    match lone.next() {
        Some(packet) => (lone.now, packet),
        None => next_after(lone),
    }
}

#[test]
fn six_packets_get_one_ack_that_pulls_six() {
    let mut lone = Lone::new(joining(6));
    for sequence in 0..5 {
        lone.receive(&data(1, sequence, SYN));
        assert_eq!(lone.next(), None, "{sequence}");
    }
    lone.receive(&data(1, 5, SYN));
    let ack = lone.next().expect("six wait");
    assert_eq!((ack.header.kind, named(&ack)), (Kind::Ack, (0..6).collect()));
    assert_eq!(ack.header.delayed_ack().and_then(|delayed_ack| delayed_ack.pulls), Some(6));
    assert_eq!(ack.wire_bytes, Packet::HEADER_BYTES);
    // The next six may go after the time that these take on the link.
    (6..12).for_each(|sequence| {
        lone.receive(&data(1, sequence, SYN));
    });
    let (at, ack) = next_after(&mut lone);
    assert_eq!((at, named(&ack)), (Time::ZERO + GAP * 6, (6..12).collect()));
    let slot = lone.slot(receiving(1));
    assert_eq!(lone.endpoint.receiver_statistics(slot).pulls, 12);
}

#[test]
fn an_incomplete_delayed_ack_waits_as_long_as_a_full_one_takes() {
    let mut lone = Lone::new(joining(6));
    lone.at(us(10)).receive(&data(1, 7, SYN));
    lone.at(us(11)).receive(&data(1, 3, SYN));
    let (at, ack) = next_after(&mut lone);
    assert_eq!((at, named(&ack)), (us(10) + GAP * 5, vec![3, 7]));
    assert_eq!(ack.header.delayed_ack().and_then(|delayed_ack| delayed_ack.pulls), Some(2));
}

#[test]
fn a_nack_is_not_delayed() {
    let mut lone = Lone::new(joining(6));
    lone.receive(&data(1, 0, SYN));
    lone.receive(&trimmed(data(1, 1, SYN)));
    assert_eq!(lone.kinds(), [(Kind::Nack, 1)]);
}

#[test]
fn the_end_of_a_message_sends_a_delayed_ack_at_once() {
    let mut lone = Lone::new(joining(6));
    lone.receive(&data(1, 0, SYN));
    lone.receive(&data(1, 1, SYN | Flags::LAST));
    assert_eq!(lone.kinds(), [(Kind::Ack, 0), (Kind::Ack, 1)]);
    lone.receive(&data(1, 0, SYN));
    assert_eq!(lone.kinds(), [(Kind::Ack, 0)]);
}

/// An ACK echoes one attempt.
#[test]
fn packets_of_two_attempts_get_two_acks() {
    let mut lone = Lone::new(joining(6));
    lone.receive(&data(1, 0, SYN));
    let mut again = data(1, 1, SYN);
    again.header.flags = again.header.flags.with_attempt(1);
    lone.receive(&again);
    let ack = lone.next().expect("the first goes");
    assert_eq!((named(&ack), ack.header.flags.attempt()), (vec![0], 0));
}

/// The application does not read, so no pull goes: the ACK does not wait for the sender's timeout.
#[test]
fn a_delayed_ack_without_a_pull_goes_after_a_quarter_of_the_rto() {
    let mut lone = Lone::new(joining(6));
    lone.at(us(1)).receive(&data(1, 0, SYN));
    lone.command(Command::Hold { key: receiving(1), holds: true });
    let (at, ack) = next_after(&mut lone);
    assert_eq!((at, named(&ack)), (us(251), vec![0]));
    assert_eq!(ack.header.delayed_ack().and_then(|delayed_ack| delayed_ack.pulls), None);
}

/// Other connections' pulls would hold up the ACK.
#[test]
fn no_ack_waits_in_a_long_queue_of_pulls() {
    let mut lone = Lone::new(joining(6));
    // The pull of the first packet rides.
    (0..13).for_each(|sequence| {
        lone.receive(&trimmed(data(1, sequence, SYN)));
    });
    lone.receive(&data(2, 0, SYN));
    let last = lone.kinds().pop();
    assert_eq!(last, Some((Kind::Ack, 0)));
}

#[test]
fn a_sender_reads_each_packet_and_the_counter_of_a_delayed_ack() {
    let mut lone = Lone::sender(Config { initial_window: 8, ..config() }, None);
    assert_eq!(lone.data(), (0..8).collect::<Vec<_>>());
    let mut delayed_ack = ack(5);
    delayed_ack.header.flags = delayed_ack.header.flags.with(Flags::DELAYED_ACK | Flags::PULL);
    delayed_ack.header.extra = DelayedAck { before: 0b1_0111, pulls: Some(3) }.extra();
    lone.receive(&delayed_ack);
    assert_eq!(lone.data(), [8, 9, 10]);
    let slot = lone.slot(sending(1));
    // Packets 1, 6, 7 and the three new ones are out.
    assert_eq!(lone.endpoint.sender_progress(slot).in_flight, 6);
    // An older counter is ignored; a counter across the 16-bit boundary counts.
    lone.receive(&delayed_ack);
    assert_eq!(lone.data(), [] as [u32; 0]);
    lone.receive(&pull(30_000));
    let sent = lone.data().len();
    delayed_ack.header.extra = DelayedAck { before: 0, pulls: Some(30_000 + 10_000) }.extra();
    lone.receive(&delayed_ack);
    assert_eq!(lone.endpoint.sender_progress(slot).pulls, 40_000, "{sent}");
    delayed_ack.header.extra = DelayedAck { before: 0, pulls: Some(70_000u32 as u16) }.extra();
    lone.receive(&delayed_ack);
    assert_eq!(lone.endpoint.sender_progress(slot).pulls, 70_000);
}

#[test]
fn a_flow_with_a_sixth_of_the_acks_is_as_fast() {
    let run = |ack_every| {
        let network = two(&joining(ack_every), 600, |_, _| LinkAction::Pass);
        let key = crate::link::Network::receiving(0, 1);
        let control = network.hosts[1].sent.len();
        assert_eq!(network.hosts[0].endpoint.sender_statistics(0).packets_sent, 600);
        (network.delivered_at(1, key).expect("the flow ends").as_ps(), control)
    };
    let ((alone, single), (together, delayed_ack)) = (run(1), run(6));
    assert!(together < alone + 20_000_000, "{together} and {alone} ps");
    // The last window has no pulls left for its ACKs to ride in.
    assert!(single >= 600 && delayed_ack <= 100 + 30 + 2, "{delayed_ack} of {single}");
}

const CORE: CoreRate = CoreRate { cut: 2, rise: 4, tolerated: 4 };

/// A receiver with a flow whose first packet came as a header.
fn receiver(core_rate: Option<CoreRate>) -> Lone {
    let mut lone = Lone::new(Config { pull_ack: false, core_rate, ..config() });
    lone.receive(&trimmed(data(1, 0, SYN)));
    lone
}

/// Receives 64 whole packets of another first window, `between` apart.
fn receive_whole_packets(lone: &mut Lone, between: TimeDelta) {
    for sequence in 0..64 {
        lone.pass(lone.now + between);
        lone.receive(&data(2, sequence, SYN));
        lone.all();
    }
}

/// Returns the time between two pulls, after all pulls that were due.
fn next_gap(lone: &mut Lone) -> TimeDelta {
    lone.all();
    let first = next_after(lone).0;
    next_after(lone).0 - first
}

/// Returns the time between two pulls after `headers` headers of pulled packets, from the core or the last hop.
fn gap_after(core_rate: Option<CoreRate>, headers: u32, flags: u8, marks: u8) -> TimeDelta {
    let mut lone = receiver(core_rate);
    for sequence in 1..=headers {
        let mut header = trimmed(data(1, sequence, flags));
        header.marks |= marks;
        lone.receive(&header);
    }
    (0..8).for_each(|sequence| {
        lone.receive(&trimmed(data(2, sequence, SYN)));
    });
    next_gap(&mut lone)
}

#[test]
fn only_trims_in_the_core_slow_down_pulls() {
    // Four in a row are chance, each of the two beyond halves the rate.
    assert_eq!(gap_after(Some(CORE), 4, 0, 0), GAP);
    assert_eq!(gap_after(Some(CORE), 6, 0, 0), GAP * 4);
    assert_eq!(gap_after(None, 6, 0, 0), GAP);
    // NDP 3.2: what the receiver's own port trims, pulls at the link's rate answer.
    assert_eq!(gap_after(Some(CORE), 6, 0, Packet::MARK_LAST_HOP), GAP);
    // No pull asked for a first window.
    assert_eq!(gap_after(Some(CORE), 6, SYN, 0), GAP);
}

#[test]
fn whole_packets_restore_the_pull_rate() {
    let mut lone = receiver(Some(CORE));
    (1..=6).for_each(|sequence| {
        lone.receive(&trimmed(data(1, sequence, 0)));
    });
    // A quarter; each whole packet adds a quarter.
    (7..10).for_each(|sequence| {
        lone.receive(&data(1, sequence, 0));
    });
    assert_eq!(next_gap(&mut lone), GAP);
}

/// While whole packets come without a gap, first windows included, the core carries that rate.
#[test]
fn the_pull_rate_stays_above_the_arrival_rate_of_whole_packets() {
    let gap = |between: TimeDelta| {
        let mut lone = receiver(Some(CORE));
        receive_whole_packets(&mut lone, between);
        (1..=8).for_each(|sequence| {
            lone.receive(&trimmed(data(1, sequence, 0)));
        });
        next_gap(&mut lone)
    };
    // Four headers cut the rate to a sixteenth. Whole packets at a quarter of the rate keep it at a quarter.
    for between in [GAP, GAP * 4] {
        let (slowed, little) = (gap(between), TimeDelta::from_ps(between.as_ps() / 100));
        assert!(slowed >= between && slowed < between + little, "{slowed:?}");
    }
}

#[test]
fn old_arrivals_do_not_count_for_the_pull_rate() {
    let mut lone = receiver(Some(CORE));
    receive_whole_packets(&mut lone, GAP);
    lone.pass(lone.now + GAP * 8);
    (1..=6).for_each(|sequence| {
        lone.receive(&trimmed(data(1, sequence, 0)));
    });
    // Two headers beyond four: a quarter, above the eighth that comes.
    assert_eq!(next_gap(&mut lone), GAP * 4);
}

/// The first packets of a burst give the rate, whatever came before.
#[test]
fn a_new_burst_sets_the_pull_rate_by_its_arrivals() {
    let idle_times = [TimeDelta::ZERO, GAP * 64, GAP * 1000];
    for (idle, between) in idle_times.into_iter().flat_map(|idle| [(idle, GAP), (idle, GAP * 4)]) {
        let mut lone = receiver(Some(CORE));
        if idle > TimeDelta::ZERO {
            receive_whole_packets(&mut lone, GAP * 32);
        }
        lone.pass(lone.now + idle);
        for sequence in 0..3 {
            // The first packet follows at once: the time since the last burst is no gap.
            lone.pass(lone.now + if sequence > 0 { between } else { TimeDelta::ZERO });
            lone.receive(&data(3, sequence, SYN));
        }
        (1..=8).for_each(|sequence| {
            lone.receive(&trimmed(data(1, sequence, 0)));
        });
        let gap = next_gap(&mut lone);
        let min = between.as_ps() - between.as_ps() / 100;
        assert!((min..min * 102 / 99).contains(&gap.as_ps()), "{idle:?}, {between:?}: {gap:?}");
    }
}

/// Six packets of 1500 B take as long as one of 9000 B, and have as long a turn.
#[test]
fn byte_turns_share_a_receiver_by_bytes() {
    let order = |turn, ack_every| {
        let mut lone = Lone::new(Config { pull_ack: false, turn, ack_every, ..config() });
        (0..2).for_each(|sequence| {
            lone.receive(&trimmed(data(1, sequence, SYN)));
        });
        for sequence in 0..12 {
            let mut small = data(2, sequence, SYN);
            small.header.extra = Header::data_extra(1500, PORT);
            lone.receive(&trimmed(small));
        }
        // A PULL asks for as many packets as its counter rises by.
        let (mut pulls, mut counters) = (Vec::new(), [0; 3]);
        while pulls.len() < 14 {
            let header = next_after(&mut lone).1.header;
            if header.kind == Kind::Pull {
                let connection = header.connection.get();
                let before = std::mem::replace(&mut counters[connection as usize], header.sequence);
                pulls.extend((before..header.sequence).map(|_| connection));
            }
        }
        pulls.chunk_by(|a, b| a == b).map(|turn| (turn[0], turn.len())).collect::<Vec<_>>()
    };
    assert_eq!(order(9000, 1), [(1, 1), (2, 6), (1, 1), (2, 6)]);
    assert_eq!(order(0, 1), [(1, 1), (2, 1), (1, 1), (2, 11)]);
    // Pulls that go together do not exceed a turn.
    assert_eq!(order(9000, 2), [(1, 1), (2, 6), (1, 1), (2, 6)]);
    assert_eq!(order(9000, 17), [(1, 1), (2, 6), (1, 1), (2, 6)]);
    assert_eq!(order(0, 17), [(1, 2), (2, 12)]);
}

/// A first window of 54 KB is six packets of 9000 B or 36 of 1500 B; so is a push of later data.
#[test]
fn windows_in_bytes_depend_on_the_payload() {
    for (payload, expected) in [(None, 6), (NonZeroU16::new(1500), 36)] {
        let mut lone = Lone::new(Config { initial_window_bytes: 54_000, ..config() });
        lone.open_with(1, Some(1_500), payload);
        assert_eq!(lone.data(), [0]);
        lone.command(Command::Send { key: sending(1), length: ByteCount::new(1 << 30) });
        assert_eq!(lone.data().len(), expected - 1, "one is on its way");
        assert_eq!(lone.endpoint.window(lone.slot(sending(1))), expected as u32);
    }
}
