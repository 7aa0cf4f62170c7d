//! Trimmed headers that may be forged (`Config::doubts_headers`): the receiver answers them and trusts nothing in them.

use trimline_packet::{Flags, Kind, Packet, Time, TimeDelta};
use trimline_transport::ndp::{Command, Config};
use trimline_transport::{Allowed, Endpoint as _};

use crate::link::config;
use crate::lone::*;

const SYN: u8 = Flags::SYN;

/// A receiver with a window of four, packets 0, 1 and 2 of connection 1, and only their pulls to send.
fn receiver(last: u8) -> Lone {
    let mut lone =
        Lone::new(Config { doubts_headers: true, initial_window: 4, pull_ack: false, ..config() });
    for (sequence, flags) in [(0, SYN), (1, SYN), (2, SYN | last)] {
        lone.receive(&data(1, sequence, flags));
    }
    while lone.endpoint.transmit_at(Allowed::ALL) == Time::ZERO {
        lone.next();
    }
    lone
}

fn header(sequence: u32, attempt: u8, flags: u8) -> Packet {
    let mut packet = trimmed(data(1, sequence, flags));
    packet.header.flags = packet.header.flags.with_attempt(attempt);
    packet
}

fn pulls(lone: &Lone) -> u32 {
    lone.endpoint.pulls_queued(lone.slot(receiving(1)))
}

/// Returns the NACKs and the pulls that a header draws.
fn draws(lone: &mut Lone, header: &Packet) -> (usize, u32) {
    let before = pulls(lone);
    lone.receive(header);
    let pulled = pulls(lone) - before;
    let mut nacks = 0;
    while lone.endpoint.transmit_at(Allowed::ALL) == Time::ZERO {
        nacks += usize::from(lone.next().expect("it waits").header.kind == Kind::Nack);
    }
    (nacks, pulled)
}

/// Answered headers belong to a receive stream: a send stream that reuses its flow id has none.
#[test]
fn a_reused_slot_of_a_receive_stream_may_send() {
    let mut lone = receiver(0);
    assert_eq!(draws(&mut lone, &header(4, 0, 0)), (1, 1));
    let slot = lone.slot(receiving(1));
    lone.command(Command::Abandon { key: receiving(1) });
    lone.pass(Time::ZERO + TimeDelta::from_ms(100));
    lone.open(2, Some(1));
    assert_eq!(lone.slot(sending(2)), slot);
    lone.all();
    lone.pass(Time::ZERO + TimeDelta::from_ms(200));
    assert_eq!(lone.data().len(), 1, "again after its time-out");
}

#[test]
fn a_header_earns_one_answer_for_each_attempt() {
    let mut lone = receiver(0);
    let all = [0, 0, 1, 1, 1, 2].map(|attempt| draws(&mut lone, &header(4, attempt, 0)));
    let (answer, nothing) = ((1, 1), (0, 0));
    assert_eq!(all, [answer, nothing, answer, nothing, nothing, answer]);
    // Attempts are counted modulo four.
    assert_eq!([3, 0, 0].map(|attempt| draws(&mut lone, &header(4, attempt, 0)).0), [1, 1, 0]);
}

#[test]
fn headers_queue_no_more_pulls_than_packets_can_be_missing() {
    let mut lone = receiver(0);
    for n in 0..1000u32 {
        lone.receive(&header(3 + n % 8, (n / 8) as u8, 0));
    }
    assert_eq!(pulls(&lone), 8 + 4);
}

#[test]
fn headers_two_windows_beyond_the_newest_whole_packet_are_ignored() {
    let mut lone = receiver(0);
    assert_eq!(
        [10, 11, 10_000].map(|sequence| draws(&mut lone, &header(sequence, 0, 0)).0),
        [1, 0, 0]
    );
    lone.receive(&data(1, 3, 0));
    lone.next();
    assert_eq!([11, 12].map(|sequence| draws(&mut lone, &header(sequence, 0, 0)).0), [1, 0]);
}

#[test]
fn a_header_does_not_set_the_last_packet() {
    let mut lone = receiver(0);
    // Two pulls wait. A LAST would leave one, for the one missing packet.
    assert_eq!(draws(&mut lone, &header(3, 0, Flags::LAST)), (1, 1));
    assert_eq!(pulls(&lone), 3);
    let mut lone = receiver(Flags::LAST);
    assert_eq!(lone.events().len(), 2, "accepted and delivered");
    // A header of the last packet does not say that there is more.
    lone.receive(&header(2, 1, 0));
    assert_eq!((lone.next().map(|packet| packet.header.kind), pulls(&lone)), (Some(Kind::Ack), 0));
    lone.receive(&data(1, 0, SYN));
    assert_eq!((lone.next().map(|packet| packet.header.kind), pulls(&lone)), (Some(Kind::Ack), 0));
}

/// All first packets of the next message may be trimmed.
#[test]
fn a_header_beyond_the_last_packet_is_pulled_with_limited_repetitions() {
    let mut lone = receiver(Flags::LAST);
    assert_eq!([3, 5].map(|sequence| draws(&mut lone, &header(sequence, 0, 0))), [(1, 1); 2]);
    // Packet 3 comes whole, packet 5 never does.
    lone.receive(&data(1, 3, Flags::LAST));
    assert_eq!(pulls(&lone), 1);
    let mut sent = Vec::new();
    while lone.endpoint.poll_timeout() < Time::NEVER {
        let until = lone.endpoint.poll_timeout();
        lone.pass(until);
        lone.now = until + TimeDelta::from_us(10);
        sent.extend(lone.kinds());
    }
    let repeated = sent.iter().filter(|&&(kind, _)| kind == Kind::Pull).count();
    assert!((2..=5).contains(&repeated), "{sent:?}");
    // The header is forgotten: it may be news again.
    assert_eq!(draws(&mut lone, &header(5, 0, 0)), (1, 1));
}

#[test]
fn a_header_does_not_set_the_class() {
    let mut lone = receiver(0);
    lone.receive(&data(2, 0, SYN | 1 << 6));
    lone.receive(&header(3, 0, 3 << 6));
    lone.now = Time::ZERO + TimeDelta::from_ms(1);
    let next = lone.all().into_iter().find(|packet| packet.header.kind == Kind::Pull);
    assert_eq!(next.map(|packet| packet.header.connection.get()), Some(2));
}
