//! Loss detection and retransmission, ACK by ACK.

use trimline_packet::Packet;
use trimline_transport::tcp::Config;

use crate::lone::*;

const SEGMENT: u64 = 1 << 16;

/// Returns a sender after its first window, and its segments from 0.
fn pushed(config: &Config) -> (Lone, Vec<Packet>) {
    let mut sender = Lone::sender(config, None);
    let sent = sender.all();
    assert_eq!(sent.len(), usize::from(config.initial_window));
    (sender, sent)
}

/// RFC 5681 3.2, RFC 3042: the first two duplicate ACKs send a new segment each, the third resends the oldest one
/// whatever the window, and each further one is a segment less in the network. RFC 6582 3.2: a partial ACK resends the
/// next hole, and takes back the duplicates of what it acknowledged.
#[test]
fn fast_recovery_without_sack_follows_the_rfc() {
    let (mut sender, _) = pushed(&standing(8));
    // 0 and 4 were lost: all others of the eight, and the segments behind them, cause a duplicate.
    let duplicates: Vec<Vec<u32>> = (0..8).map(|_| sender.data_after(&ack(0))).collect();
    let nothing = Vec::new;
    let expected = [vec![8], vec![9], vec![0], nothing(), nothing(), nothing(), vec![10], vec![11]];
    assert_eq!(duplicates, expected);
    assert_eq!(sender.window(), 4 * SEGMENT);
    // 4 + 8 duplicates - 4 acknowledged + 1 resent = 9: a new one beside 4 to 11.
    assert_eq!(sender.data_after(&ack(4)), [4, 12]);
    assert_eq!(sender.window(), 4 * SEGMENT, "no growth in recovery");
    // The ACK covers all that was sent when recovery began.
    assert_eq!(sender.data_after(&ack(10)), [13, 14]);
    assert_eq!(sender.window(), 5 * SEGMENT);
    assert_eq!(sender.sent().retransmissions_fast, 2);
    // Recovery is over: another one may begin.
    let duplicates: Vec<Vec<u32>> = (0..3).map(|_| sender.data_after(&ack(10))).collect();
    assert_eq!(duplicates, [vec![15], vec![16], vec![10]]);
}

/// RFC 6582 3.2 step 3: a partial ACK resends the next hole.
#[test]
fn a_partial_ack_resends_regardless_of_the_window() {
    let (mut sender, _) = pushed(&standing(8));
    for sent in [8, 9, 0] {
        assert_eq!(sender.data_after(&ack(0)), [sent]);
    }
    assert_eq!(sender.data_after(&ack(2)), [2]);
}

/// RFC 5681 2: only an ACK with the greatest number is a duplicate.
#[test]
fn an_old_ack_or_an_ack_without_outstanding_data_is_no_duplicate() {
    let (mut sender, _) = pushed(&standing(4));
    sender.receive(&ack(4));
    sender.receive_times(3, &ack(4));
    assert_eq!(sender.data(), [4, 5, 6, 7]);
    sender.receive(&ack(5));
    sender.all();
    sender.receive_times(5, &ack(4));
    assert_eq!(sender.data(), []);
    // Two duplicates are not yet three.
    sender.receive_times(2, &ack(5));
    assert!(!sender.data().contains(&5));
    assert!(sender.data_after(&ack(5)).contains(&5));
}

/// RFC 9293 3.10.7.4.
#[test]
fn an_ack_of_what_was_never_sent_changes_nothing() {
    let (mut sender, _) = pushed(&standing(4));
    for number in [5, 100, u32::MAX] {
        assert_eq!(sender.data_after(&ack(number)), []);
    }
    assert_eq!(sender.data_after(&ack(1)), [4]);
}

/// RFC 6582 3.2 step 1 and 4: duplicates count again once all earlier segments are acknowledged.
#[test]
fn duplicates_after_a_timeout_begin_no_recovery() {
    let (mut sender, _) = pushed(&standing(8));
    assert_eq!(sender.timeout(100_000), Some(10_000));
    assert_eq!(sender.data(), [0]);
    for _ in 0..5 {
        assert_eq!(sender.data_after(&ack(0)), []);
    }
    assert_eq!(sender.data_after(&ack(5)), [5, 6, 7]);
    for _ in 0..5 {
        assert_eq!(sender.data_after(&ack(5)), []);
    }
    assert_eq!((sender.sent().retransmissions_fast, sender.sent().timeouts), (0, 1));
}

/// RFC 9293 3.8.6.
#[test]
fn the_receive_window_bounds_outstanding_data() {
    let mut sender = Lone::sender(&Config { receive_window: 5, ..standing(8) }, None);
    assert_eq!(sender.data(), [0, 1, 2, 3, 4]);
    assert_eq!(sender.data_after(&ack(2)), [5, 6]);
}

/// RFC 7661 4.
#[test]
fn an_unused_window_does_not_grow() {
    for threshold in [10, 100] {
        let config = Config { initial_threshold: threshold, ..standing(10) };
        let mut sender = Lone::sender(&config, None);
        for number in 1..20 {
            sender.next();
            sender.receive(&ack(number));
        }
        assert_eq!(sender.window(), 10 * SEGMENT);
    }
}

/// RFC 3465: an ACK of two segments opens a window by two in slow start. ns-3 counts ACKs, also afterwards.
#[test]
fn without_byte_counting_an_ack_counts_as_one_segment() {
    let grown = |byte_counting, initial_threshold| {
        let config = Config { byte_counting, initial_threshold, ..standing(4) };
        let mut sender = Lone::sender(&config, None);
        sender.data();
        sender.receive(&ack(2));
        sender.window() - 4 * SEGMENT
    };
    assert_eq!((grown(true, 100), grown(false, 100)), (2 * SEGMENT, SEGMENT));
    assert_eq!(
        (grown(true, 4), grown(false, 4)),
        (SEGMENT / 2 - 1, SEGMENT / 4 - 1),
        "rounded down"
    );
}

/// A sender and a receiver.
struct Pair {
    sender: Lone,
    receiver: Lone,
    sent: Vec<Packet>,
}

impl Pair {
    fn new(window: u16) -> Pair {
        let config = Config { sack: true, ..standing(window) };
        let (sender, sent) = pushed(&config);
        Pair { sender, receiver: Lone::receiver(&config), sent }
    }

    /// Delivers a segment and its ACK. Returns what the sender sends then.
    fn deliver(&mut self, sequence: u32) -> Vec<u32> {
        let is_it = |packet: &&Packet| packet.header.sequence == sequence;
        let packet = *self.sent.iter().rev().find(is_it).expect("it was sent");
        for answer in self.receiver.answers(&packet) {
            self.sender.receive(&answer);
        }
        self.take()
    }

    /// Returns what the sender sends now.
    fn take(&mut self) -> Vec<u32> {
        let packets = self.sender.all();
        self.sent.extend(&packets);
        packets.iter().map(|packet| packet.header.sequence).collect()
    }

    fn deliver_each(&mut self, segments: impl IntoIterator<Item = u32>) -> Vec<Vec<u32>> {
        segments.into_iter().map(|sequence| self.deliver(sequence)).collect()
    }
}

/// RFC 6675 4: IsLost; lost segments go before new ones (NextSeg 1, 2) and as the estimate of the network allows
/// (SetPipe).
#[test]
fn a_segment_is_lost_when_three_beyond_it_arrived() {
    let mut pair = Pair::new(10);
    let nothing = Vec::new;
    // 0 and 8 are lost.
    let sent = pair.deliver_each([1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(sent, [vec![10], vec![11], vec![0], nothing(), nothing(), nothing(), nothing()]);
    assert_eq!(pair.sender.window(), 5 * SEGMENT);
    assert_eq!(pair.deliver_each([9, 10, 11]), [vec![12], vec![13], vec![8, 14]]);
    assert_eq!(pair.sender.sent().retransmissions_fast, 2);
}

/// RFC 6675 5 (C): the first retransmission ignores the window, the others go lowest first.
#[test]
fn retransmissions_wait_for_the_window() {
    let mut pair = Pair::new(10);
    let sent = pair.deliver_each([3, 4, 5, 6, 7, 8, 9, 10]);
    let nothing = Vec::new;
    let expected = [vec![10], vec![11], vec![0], nothing(), nothing(), vec![1], vec![2], vec![12]];
    assert_eq!(sent, expected);
}

/// RFC 6675 2.
#[test]
fn with_sack_a_duplicate_ack_carries_new_blocks() {
    let mut pair = Pair::new(10);
    pair.sender.receive_times(5, &ack(0));
    assert_eq!(pair.take(), []);
    assert_eq!(pair.sender.sent().retransmissions_fast, 0);
}

/// RFC 2018 5, RFC 6675 5.1.
#[test]
fn a_timeout_does_not_resend_sacked_segments() {
    let mut pair = Pair::new(8);
    assert_eq!(pair.deliver(2), [8]);
    assert_eq!(pair.sender.timeout(100_000), Some(10_000));
    assert_eq!(pair.take(), [0]);
    assert_eq!(pair.deliver(0), [1, 3]);
}

/// RFC 6675 4.
#[test]
fn earlier_segments_do_not_mark_a_retransmission_as_lost() {
    let mut pair = Pair::new(8);
    assert_eq!(pair.sender.timeout(100_000), Some(10_000));
    assert_eq!(pair.take(), [0]);
    let sent = pair.deliver_each([1, 2, 3, 4]);
    assert!(sent.iter().all(Vec::is_empty), "{sent:?}");
    assert_eq!(pair.deliver(0), [5, 6, 7]);
}
