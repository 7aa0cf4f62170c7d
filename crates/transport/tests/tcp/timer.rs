//! The retransmission timer (RFC 6298), to the microsecond.

use trimline_packet::{Packet, TimeDelta};
use trimline_transport::tcp::{Config, Handshake};

use crate::lone::*;

/// A time-out is three round trips after the first sample, however short these are.
fn without_bound(window: u16) -> Config {
    Config { rto_min: TimeDelta::from_us(1), ..standing(window) }
}

/// RFC 6298 5.1: a timer that runs is not put off.
#[test]
fn a_segment_sent_later_does_not_put_the_timer_off() {
    let mut sender = Lone::sender(&standing(4), None);
    sender.next();
    sender.at(3_000).all();
    assert_eq!(sender.timeout(100_000), Some(10_000));
}

/// RFC 6298 5.3: the timer starts anew when new data is acknowledged, and at no duplicate.
#[test]
fn new_data_acknowledged_starts_the_timer_anew() {
    let mut sender = Lone::sender(&standing(4), None);
    sender.all();
    sender.at(5_000).hear(&ack(1));
    sender.at(8_000).hear_times(2, &ack(1));
    // The sample of 5 ms makes it three times as long.
    assert_eq!(sender.timeout(100_000), Some(20_000));
}

/// RFC 6298 5.2.
#[test]
fn the_timer_stops_when_nothing_is_outstanding() {
    let mut sender = Lone::sender(&standing(4), None);
    sender.all();
    sender.at(5_000).hear(&ack(4));
    assert_eq!(sender.timeout(10_000_000), None);
}

/// RFC 6298 3 and 5: what was resent measures nothing, and the back-off stays until something does.
#[test]
fn what_was_resent_measures_no_round_trip() {
    for next_sample in [false, true] {
        let mut sender = Lone::sender(&without_bound(1), None);
        assert_eq!(sender.data(), [0]);
        assert_eq!(sender.timeout(100_000), Some(10_000));
        assert_eq!(sender.data(), [0]);
        assert_eq!(sender.at(10_001).data_after(&ack(1)), [1, 2]);
        if next_sample {
            sender.at(10_101).hear(&ack(2));
            assert_eq!(sender.timeout(100_000), Some(10_401));
        } else {
            assert_eq!(sender.timeout(100_000), Some(30_001));
        }
    }
}

/// RFC 6298 3: a segment whose arrival was told of earlier by a block measures nothing.
#[test]
fn what_was_sacked_measures_no_round_trip() {
    let config = Config { sack: true, ..without_bound(2) };
    let (mut sender, mut receiver) = (Lone::sender(&config, None), Lone::receiver(&config));
    let sent = sender.all();
    let early = receiver.answers(&sent[1]);
    sender.at(20).hear(&early[0]);
    let late = receiver.answers(&sent[0]);
    assert_eq!(late[0].header.sequence, 2);
    sender.at(5_000).hear(&late[0]);
    sender.all();
    assert_eq!(sender.timeout(100_000), Some(15_000));
}

/// A connection whose SYN is answered 100 us after it was sent for the last time.
fn answered(losses: u64) -> Lone {
    let config = Config { handshake: Handshake::ThreeWay, ..without_bound(4) };
    let mut sender = Lone::sender(&config, None);
    assert_eq!(sender.all().len(), 1);
    for _ in 0..losses {
        assert_eq!(sender.timeout(1_000_000), Some(10_000));
        let again: Vec<Packet> = sender.all();
        assert_eq!((again.len(), again[0].wire_bytes), (1, 64));
    }
    sender.at(10_000 * losses + 100).hear(&syn_answer());
    sender
}

/// RFC 6298 2.2: the handshake is the first sample.
#[test]
fn the_handshake_is_the_first_sample() {
    let mut sender = answered(0);
    assert_eq!(sender.data(), [0, 1, 2, 3]);
    assert_eq!(sender.timeout(100_000), Some(400));
}

/// RFC 6298 3, RFC 5681 3.1: a SYN that was resent measures nothing, and the window is then one segment.
#[test]
fn a_syn_that_was_resent_measures_no_round_trip() {
    let mut sender = answered(1);
    assert_eq!(sender.data(), [0]);
    assert_eq!(sender.timeout(100_000), Some(30_100));
}

/// RFC 5681 3.1: the threshold is set by the first time-out, and those of what it resent leave it.
#[test]
fn a_second_timeout_leaves_the_threshold() {
    let config = Config { initial_threshold: u16::MAX, ..standing(16) };
    let mut sender = Lone::sender(&config, None);
    sender.all();
    for at in [10_000, 30_000] {
        assert_eq!(sender.timeout(100_000), Some(at));
        assert_eq!(sender.data(), [0]);
    }
    let windows: Vec<u64> = (1..=8)
        .map(|number| {
            sender.hear(&ack(number));
            sender.window() >> 16
        })
        .collect();
    assert_eq!(windows, [2, 3, 4, 5, 6, 7, 8, 8]);
}
