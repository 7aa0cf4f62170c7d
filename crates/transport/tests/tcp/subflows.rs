//! Connections with several subflows, packet by packet.

use trimline_packet::Packet;
use trimline_transport::tcp::Config;

use crate::lone::*;

/// Returns the subflow of a segment, and its number in the connection.
fn named(packet: &Packet) -> (u8, u32) {
    (packet.header.flags.bits() >> 3 & 7, packet.header.extra)
}

fn names(packets: &[Packet]) -> Vec<(u8, u32)> {
    packets.iter().map(named).collect()
}

/// A sender with two subflows; the first takes the even segments.
fn pushed(receive_window: u16) -> Lone {
    let config = Config { subflows: 2, receive_window, ..standing(4) };
    let mut sender = Lone::sender(&config, None);
    let expected: Vec<(u8, u32)> = (0..8).map(|data| ((data % 2) as u8, data)).collect();
    assert_eq!(names(&sender.all()), expected);
    sender
}

/// RFC 8684 3.3.4: the window ignores what a subflow has acknowledged.
#[test]
fn the_receive_window_belongs_to_the_connection() {
    let mut sender = pushed(8);
    assert_eq!(sender.answers(&subflow_ack(1, 4, 0)), []);
    let sent = sender.answers(&subflow_ack(0, 1, 2));
    assert_eq!(names(&sent).iter().map(|&(_, data)| data).collect::<Vec<_>>(), [8, 9]);
    // An older ACK of the connection takes nothing back.
    sender.receive(&subflow_ack(0, 2, 4));
    let sent = sender.answers(&subflow_ack(0, 2, 2));
    assert_eq!(names(&sent).iter().map(|&(_, data)| data).collect::<Vec<_>>(), [10, 11]);
}

/// RFC 8684 3.3.6: segments are offered once, unless the connection has acknowledged them.
#[test]
fn a_timeout_offers_outstanding_data_to_the_other_subflow() {
    let mut sender = pushed(8);
    let early = sender.at(5_000).answers(&subflow_ack(1, 4, 2));
    assert_eq!(names(&early).iter().map(|&(_, data)| data).collect::<Vec<_>>(), [8, 9]);
    assert_eq!(sender.timeout(100_000), Some(10_000));
    // 0 had arrived, and 2 arrives meanwhile: the other subflow sends neither. 10 is new.
    let again = names(&sender.answers(&subflow_ack(1, 4, 4)));
    assert_eq!(again, [(0, 0), (1, 4), (1, 6), (1, 10)]);
    assert_eq!(sender.sent().retransmissions_timeout, 3);
    // A segment that was offered to one subflow is not offered again.
    assert_eq!(names(&sender.at(10_100).answers(&subflow_ack(1, 9, 4))), [(1, 11)]);
    assert_eq!(sender.answers(&subflow_ack(1, 10, 4)), []);
    assert_eq!(sender.timeout(100_000), Some(30_000));
    assert_eq!(names(&sender.all()), [(0, 0)]);
}

/// RFC 8684 3.3.6.
#[test]
fn data_that_the_connection_has_is_not_offered() {
    let mut sender = pushed(8);
    assert_eq!(names(&sender.at(5_000).answers(&subflow_ack(1, 4, 2))), [(1, 8), (1, 9)]);
    assert_eq!(sender.timeout(100_000), Some(10_000));
    assert_eq!(names(&sender.all()), [(0, 0), (1, 2), (1, 4)]);
}

/// RFC 8684 3.3.6.
#[test]
fn a_subflow_does_not_take_what_it_offered() {
    let mut sender = pushed(16);
    assert_eq!(names(&sender.at(5_000).answers(&subflow_ack(1, 1, 0))), [(1, 8)]);
    assert_eq!(sender.timeout(100_000), Some(10_000));
    // All its segments arrived late, and 3 is missing: 4 and 6 are still offered.
    let sent = sender.answers(&subflow_ack(0, 4, 3));
    assert_eq!(names(&sent), [(0, 9), (0, 10)]);
}

/// RFC 8684 3.3.2: the answer to a SYN repeated behind data acknowledges that data on its subflow; without the
/// connection's number a full window would stay closed for ever.
#[test]
fn a_repeated_syn_ack_carries_the_progress_of_the_connection() {
    let config = Config { subflows: 2, receive_window: 1, ..standing(4) };
    let mut receiver = Lone::receiver(&config);
    assert_eq!(receiver.answers(&syn()).len(), 1);
    let answers = receiver.answers(&segment(0));
    assert_eq!(answers, [subflow_ack(0, 1, 1)], "this one is lost");
    let [again] = &receiver.answers(&syn())[..] else { panic!("one answer") };
    assert_eq!((again.header.sequence >> 16, again.header.extra, again.marks), (1, 1, 2 << 4));

    let mut sender = Lone::sender(&config, None);
    assert_eq!(sender.all().len(), 1);
    assert_eq!(names(&sender.answers(again)).len(), 1, "the window is open again");
}
