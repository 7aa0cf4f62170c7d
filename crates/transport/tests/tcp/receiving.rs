//! A receiver's ACKs and echoes, segment by segment.

use trimline_packet::{Packet, TimeDelta};
use trimline_transport::Disposition;
use trimline_transport::tcp::Config;

use crate::link::config;
use crate::lone::*;

fn receiver(ack_every: u8) -> Lone {
    let ack_delay = TimeDelta::from_ms(3);
    Lone::receiver(&Config { ack_every, ack_delay, timestamps: true, ..config() })
}

/// Returns the numbers of the ACKs that a segment causes at once.
fn numbers(receiver: &mut Lone, sequence: u32) -> Vec<u32> {
    receiver.answers(&segment(sequence)).iter().map(|answer| answer.header.sequence).collect()
}

/// RFC 5681 4.2: at least every second segment in order is answered; segments out of order, at a gap and copies at
/// once.
#[test]
fn only_in_order_segments_have_delayed_acks() {
    let mut receiver = receiver(2);
    let answers: Vec<Vec<u32>> =
        [0, 1, 3, 5, 2, 4, 6, 6].map(|sequence| numbers(&mut receiver, sequence)).into();
    let expected = [vec![], vec![2], vec![2], vec![2], vec![4], vec![6], vec![], vec![7]];
    assert_eq!(answers, expected);
}

/// RFC 1122 4.2.3.2.
#[test]
fn an_ack_waits_from_the_first_segment_that_it_answers() {
    let mut receiver = receiver(3);
    assert_eq!(numbers(&mut receiver, 0), []);
    assert_eq!(numbers(receiver.at(1_000), 1), []);
    assert_eq!(receiver.pass(2_999).all(), []);
    let answers = receiver.pass(3_000).all();
    assert_eq!(answers.iter().map(|answer| answer.header.sequence).collect::<Vec<_>>(), [2]);
    for (sequence, expected) in [(2, vec![]), (3, vec![]), (4, vec![5])] {
        assert_eq!(numbers(receiver.at(4_000), sequence), expected);
    }
    assert_eq!(receiver.pass(1_000_000).all(), []);
}

/// RFC 9293 3.10.7.4.
#[test]
fn segments_beyond_the_receive_window_are_discarded() {
    let mut receiver = Lone::receiver(&Config { receive_window: 5, ..config() });
    let mut is_taken = |sequence| receiver.receive(&segment(sequence)) != Disposition::Discard;
    assert_eq!([0, 6, 5, 7].map(&mut is_taken), [true, false, true, false]);
    assert_eq!([1, 6, 7].map(&mut is_taken), [true, true, false]);
}

/// RFC 7323 4.3: this is the first segment that the ACK answers, or the one that fills a gap; none beyond a gap, and no
/// older one.
#[test]
fn an_ack_echoes_the_segment_that_the_last_one_asked_for() {
    let mut receiver = receiver(2);
    let mut echoes = |sequence, extra| {
        let mut packet: Packet = segment(sequence);
        packet.header.extra = extra;
        let answers = receiver.answers(&packet);
        answers.iter().map(|answer| answer.header.extra).collect::<Vec<_>>()
    };
    assert_eq!((echoes(0, 100), echoes(1, 200)), (vec![], vec![100]));
    assert_eq!((echoes(3, 300), echoes(2, 400)), (vec![100], vec![400]));
    // A copy that was under way for long, or one that was sent later.
    assert_eq!((echoes(4, 500), echoes(0, 100)), (vec![], vec![500]));
    assert_eq!((echoes(5, 550), echoes(3, 600)), (vec![], vec![600]));
}

/// RFC 7323 4.3 with short times, whose clock wraps.
#[test]
fn an_ack_of_a_subflow_echoes_no_older_copy() {
    let config = Config { subflows: 2, timestamps: true, ack_every: 2, ..config() };
    let mut receiver = Lone::receiver(&config);
    let mut echoes = |sequence, time: u16| {
        let mut packet: Packet = segment(sequence << 16 | u32::from(time));
        packet.header.extra = sequence;
        let answers = receiver.answers(&packet);
        answers.iter().map(|answer| answer.header.sequence).collect::<Vec<_>>()
    };
    assert_eq!((echoes(0, 65_000), echoes(1, 65_400)), (vec![], vec![2 << 16 | 65_000]));
    assert_eq!((echoes(2, 10), echoes(0, 65_000)), (vec![], vec![3 << 16 | 10]));
    assert_eq!((echoes(3, 20), echoes(1, 30)), (vec![], vec![4 << 16 | 30]));
}

/// ns-3 answers the first segment at once, so that an initial window of one segment does not wait for the delay.
#[test]
fn with_ack_first_the_first_segment_is_acknowledged_at_once() {
    let answers = |ack_first| {
        let config = Config { ack_first, ack_every: 2, ..config() };
        let mut receiver = Lone::receiver(&config);
        [0, 1, 2, 3].map(|sequence| numbers(&mut receiver, sequence))
    };
    assert_eq!(answers(true), [vec![1], vec![], vec![3], vec![]]);
    assert_eq!(answers(false), [vec![], vec![2], vec![], vec![4]]);
}
