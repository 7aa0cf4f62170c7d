//! ECN (RFC 3168): marks, their echoes, and the reaction to them.

use trimline_packet::Packet;
use trimline_transport::tcp::{Config, Handshake, MARK_CWR};

use crate::lone::*;

const SEGMENT: u64 = 1 << 16;
const ECT: u8 = Packet::MARK_ECT;
const CE: u8 = Packet::MARK_CE;
const ECE: u8 = Packet::MARK_ECE;

fn ecn(window: u16) -> Config {
    Config { ecn: true, ..standing(window) }
}

/// RFC 3168 6.1.3: the echo goes on if the segment that would end it is marked itself. 6.1.4: an ACK is not
/// ECN-capable.
#[test]
fn a_mark_is_echoed_until_the_sender_has_acted() {
    let mut receiver = Lone::receiver(&ecn(8));
    let marks = [ECT, ECT | CE, ECT, ECT | MARK_CWR, ECT, ECT | CE | MARK_CWR, ECT];
    let echoes: Vec<u8> = (0..)
        .zip(marks)
        .map(|(sequence, marks)| receiver.answers(&Packet { marks, ..segment(sequence) })[0].marks)
        .collect();
    assert_eq!(echoes, [0, ECE, ECE, 0, 0, ECE, ECE]);
    assert_eq!(receiver.seen().marked, 2);
}

/// RFC 3168 6.1.1, 6.1.2: data is ECN-capable, the SYN is not; further echoes change nothing and stop growth.
#[test]
fn an_echo_halves_the_window_once_and_the_next_segment_has_cwr() {
    let mut sender = Lone::sender(&Config { handshake: Handshake::ThreeWay, ..ecn(8) }, None);
    let marks =
        |sender: &mut Lone| -> Vec<u8> { sender.all().iter().map(|packet| packet.marks).collect() };
    assert_eq!(marks(&mut sender), [0]);
    sender.receive(&syn_answer());
    assert_eq!(marks(&mut sender), [ECT; 8]);
    for number in 1..=4 {
        sender.receive(&echo(number));
        assert_eq!((marks(&mut sender), sender.window()), (vec![], 4 * SEGMENT));
    }
    sender.receive(&echo(5));
    assert_eq!(marks(&mut sender), [ECT | MARK_CWR]);
    sender.receive(&echo(6));
    assert_eq!(marks(&mut sender), [ECT]);
    sender.receive(&echo(8));
    assert_eq!(sender.window(), 4 * SEGMENT);
    sender.receive(&echo(9));
    assert_eq!(sender.window(), 2 * SEGMENT);
}

/// htsim's DCTCP: the reduced window grows by one segment in a window of data, marked or not.
#[test]
fn with_growth_on_marked_acks_an_echo_opens_the_window() {
    let mut sender = Lone::sender(&Config { grows_when_marked: true, ..ecn(8) }, None);
    sender.all();
    sender.receive(&echo(1));
    let reduced = sender.window();
    assert!((4 * SEGMENT..4 * SEGMENT + SEGMENT / 3).contains(&reduced), "{reduced}");
    // The window limits the sender only when half of the sent data is acknowledged.
    for number in 2..=8 {
        sender.receive(&echo(number));
        sender.all();
    }
    assert!(sender.window() > reduced + SEGMENT / 2, "{}", sender.window());
}

/// RFC 3168 6.1.5, 6.1.2: a new segment says that the window was reduced.
#[test]
fn retransmissions_are_not_ecn_capable() {
    let mut sender = Lone::sender(&ecn(8), None);
    sender.all();
    sender.receive(&echo(1));
    let resent = sender.receive_times(3, &ack(1)).all();
    assert_eq!(resent.iter().map(|packet| packet.header.sequence).collect::<Vec<_>>(), [1]);
    assert_eq!(resent[0].marks, 0);
    let new = sender.answers(&ack(8));
    assert_eq!((new[0].header.sequence, new[0].marks), (8, ECT | MARK_CWR));
}
