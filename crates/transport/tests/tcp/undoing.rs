//! Spurious timeouts: F-RTO (RFC 5682) and D-SACK (RFC 2883, RFC 3708), ACK by ACK.

use trimline_packet::Packet;
use trimline_transport::tcp::Config;

use crate::lone::*;

const SEGMENT: u64 = 1 << 16;

/// A sender with a window of eight that has timed out `times` times and resent its oldest segment.
fn timed_out(times: usize, segments: Option<u64>) -> Lone {
    let mut sender = Lone::sender(&Config { frto: true, ..standing(8) }, segments);
    sender.all();
    for at in [10_000, 30_000].into_iter().take(times) {
        assert_eq!(sender.timeout(100_000), Some(at));
        assert_eq!(sender.data(), [0]);
    }
    sender
}

/// RFC 5682 2.1 (2b), (3b): new segments follow the first ACK.
#[test]
fn two_advancing_acks_undo_a_timeout() {
    let mut sender = timed_out(1, None);
    assert_eq!(sender.data_after(&ack(1)), [8, 9]);
    assert_eq!(sender.sent().undone, 0);
    assert_eq!(sender.data_after(&ack(2)), [10]);
    assert_eq!(sender.sent().undone, 1);
    assert!(sender.window() >= 8 * SEGMENT);
}

/// RFC 5682 2.1 (3a): three segments may be out.
#[test]
fn a_duplicate_after_the_new_segments_confirms_a_timeout() {
    let mut sender = timed_out(1, None);
    assert_eq!(sender.data_after(&ack(1)), [8, 9]);
    assert_eq!(sender.data_after(&ack(1)), [1]);
    assert_eq!((sender.sent().undone, sender.window()), (0, 3 * SEGMENT));
}

/// RFC 5682 2.1 (2a).
#[test]
fn a_duplicate_at_once_confirms_a_timeout() {
    let mut sender = timed_out(1, None);
    assert_eq!(sender.data_after(&ack(0)), []);
    assert_eq!(sender.data_after(&ack(1)), [1, 2]);
    assert_eq!(sender.data_after(&ack(2)), [3, 4]);
    assert_eq!(sender.sent().undone, 0);
}

/// RFC 5682 2.1 (1).
#[test]
fn a_second_timeout_is_not_tested() {
    let mut sender = timed_out(2, None);
    assert_eq!(sender.data_after(&ack(1)), [1, 2]);
}

/// RFC 5682 2.1 (1).
#[test]
fn a_timeout_within_the_repair_of_another_one_is_not_tested() {
    let mut sender = timed_out(1, None);
    assert_eq!(sender.data_after(&ack(1)), [8, 9]);
    assert_eq!(sender.timeout(100_000), Some(30_000));
    assert_eq!(sender.data(), [1]);
    assert_eq!(sender.data_after(&ack(2)), [2, 3]);
}

/// RFC 5682 2.1 (2b): there is no new data to send.
#[test]
fn a_timeout_of_the_last_segments_is_not_tested() {
    let mut sender = timed_out(1, Some(8));
    assert_eq!(sender.data_after(&ack(1)), [1, 2]);
}

/// Returns a sender that has timed out, its receiver, and its first window, which has not arrived yet.
fn held(window: u16) -> (Lone, Lone, Vec<Packet>) {
    let config = Config { sack: true, dsack: true, ..standing(window) };
    let mut sender = Lone::sender(&config, None);
    let sent = sender.all();
    assert_eq!(sender.timeout(100_000), Some(10_000));
    (sender, Lone::receiver(&config), sent)
}

/// RFC 3708 2: some copies are not enough.
#[test]
fn a_reduction_is_undone_if_all_retransmissions_were_duplicates() {
    let (mut sender, mut receiver, sent) = held(4);
    let mut resent = sender.all();
    sender.receive(&receiver.answers(&sent[0])[0]);
    resent.extend(sender.all());
    assert_eq!(resent.iter().map(|packet| packet.header.sequence).collect::<Vec<_>>(), [0, 1, 2]);
    for packet in &sent[1..] {
        sender.receive(&receiver.answers(packet)[0]);
    }
    let undone: Vec<u64> = resent
        .iter()
        .map(|packet| {
            sender.receive(&receiver.answers(packet)[0]);
            sender.sent().undone
        })
        .collect();
    assert_eq!(undone, [0, 0, 1]);
    assert!(sender.window() >= 4 * SEGMENT);
}

/// RFC 5682 2.1, RFC 6298 5.5.
#[test]
fn a_spurious_timeout_leaves_no_back_off() {
    let (mut sender, mut receiver, sent) = held(2);
    let resent = sender.all();
    sender.at(10_100).receive(&receiver.answers(&sent[0])[0]);
    sender.receive(&receiver.answers(&resent[0])[0]);
    assert_eq!(sender.sent().undone, 1);
    // The timer had restarted with the ACK.
    assert_eq!(sender.timeout(100_000), Some(30_100));
    assert_eq!(sender.timeout(100_000), Some(50_100));
}

/// RFC 3708 2: only copies of this recovery's retransmissions count.
#[test]
fn a_duplicate_of_an_original_segment_undoes_no_reduction() {
    let config = Config { sack: true, dsack: true, ..standing(10) };
    let (mut sender, mut receiver) = (Lone::sender(&config, None), Lone::receiver(&config));
    let sent = sender.all();
    // 3 is lost. The network doubles 0, 5 and one that is sent when the recovery is over.
    for place in [0, 1, 2, 4, 5, 6] {
        sender.receive(&receiver.answers(&sent[place])[0]);
    }
    let resent = sender.all();
    assert_eq!(resent[0].header.sequence, 3);
    for place in [0, 5] {
        sender.receive(&receiver.answers(&sent[place])[0]);
        assert_eq!(sender.sent().undone, 0, "a copy of {place}");
    }
    for packet in [&resent[0], &sent[7], &sent[8], &sent[9]] {
        sender.receive(&receiver.answers(packet)[0]);
    }
    let later = sender.all();
    for packet in &later {
        sender.receive(&receiver.answers(packet)[0]);
    }
    let last = later.last().expect("the recovery is over");
    sender.receive(&receiver.answers(last)[0]);
    assert_eq!(sender.sent().undone, 0, "a copy of what was sent later");
    // A copy of a resent segment does.
    sender.receive(&receiver.answers(&resent[0])[0]);
    assert_eq!(sender.sent().undone, 1);
}
