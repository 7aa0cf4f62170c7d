//! A timeout and a window that follow the path (`Config::follows_path`).

use trimline_packet::{Kind, Packet, Time, TimeDelta};
use trimline_transport::ndp::{Command, Config, FollowsPath};

use crate::link::config;
use crate::lone::*;

fn ms(ms: u64) -> Time {
    Time::ZERO + TimeDelta::from_ms(ms)
}

/// A sender with a window of four packets and more to send.
fn sender() -> Lone {
    let follows =
        FollowsPath { min_rto: TimeDelta::from_ms(20), grows_from: Some(TimeDelta::from_ms(1)) };
    let (rto, time_wait) = (TimeDelta::from_ms(200), TimeDelta::from_ms(50));
    let config =
        Config { rto, time_wait, initial_window: 4, follows_path: Some(follows), ..config() };
    let mut lone = Lone::sender(config, None);
    assert_eq!(lone.data(), [0, 1, 2, 3]);
    lone
}

fn window(lone: &Lone) -> u32 {
    lone.endpoint.window(lone.slot(sending(1)))
}

/// An ACK with the pull that its packet drew.
fn pulled(sequence: u32) -> Packet {
    with_pull(ack(sequence), sequence + 1)
}

/// RFC 6298, 2.2: after 50 ms the timeout is 50 ms and four times 25.
#[test]
fn the_first_answer_replaces_the_initial_rto_of_the_first_window() {
    for kind in [Kind::Ack, Kind::Nack] {
        let mut lone = sender();
        let first = if kind == Kind::Ack { ack(0) } else { nack(0) };
        lone.at(ms(50)).receive(&first);
        lone.pass(ms(149));
        assert_eq!(lone.data(), [], "{kind:?}");
        lone.pass(ms(150));
        assert_eq!(lone.data(), [1, 2, 3], "{kind:?}");
    }
}

/// RFC 6298, 2.3: a second round trip of 90 ms makes SRTT 55, RTTVAR 28.75.
#[test]
fn an_rto_follows_the_smoothed_round_trip_and_its_variation() {
    let mut lone = sender();
    lone.at(ms(50)).receive(&ack(0));
    lone.at(ms(90)).receive(&ack(1));
    lone.pass(ms(169));
    assert_eq!(lone.data(), []);
    lone.pass(ms(170));
    assert_eq!(lone.data(), [2, 3]);
    // The minimum, for round trips of zero.
    let mut lone = sender();
    lone.receive(&ack(0));
    lone.pass(ms(19));
    assert_eq!(lone.data(), []);
    lone.pass(ms(20));
    assert_eq!(lone.data(), [1, 2, 3]);
}

/// Karn: the answer to an earlier transmission measures nothing.
#[test]
fn an_answer_after_its_timeout_doubles_the_next_timeouts() {
    let mut lone = sender();
    lone.receive(&ack(0));
    lone.pass(ms(20));
    assert_eq!(lone.data(), [1, 2, 3]);
    lone.at(ms(35)).receive(&with_pull(ack(1), 1));
    assert_eq!(lone.data(), [4]);
    lone.at(ms(36)).receive(&ack(2));
    lone.at(ms(36)).receive(&ack(3));
    // 20 ms, doubled twice.
    lone.pass(ms(35 + 79));
    assert_eq!(lone.data(), []);
    lone.pass(ms(35 + 80));
    assert_eq!(lone.data(), [4]);
}

#[test]
fn a_window_grows_by_a_packet_for_each_ack_in_which_a_pull_rides() {
    for (round_trip, pull, expected) in [(ms(50), true, 8), (ms(50), false, 4), (ms(0), true, 4)] {
        let mut lone = sender();
        for sequence in 0..4 {
            let answer = if pull { pulled(sequence) } else { ack(sequence) };
            lone.at(round_trip).receive(&answer);
            let sent = lone.data().len();
            assert_eq!(sent, usize::from(pull) + usize::from(expected == 8), "{round_trip:?}");
        }
        assert_eq!(window(&lone), expected, "{round_trip:?}, {pull}");
    }
}

/// A trimmed packet waits for its pull, and the sender forfeits one.
#[test]
fn a_trim_or_loss_shrinks_the_window_by_a_packet() {
    let mut lone = sender();
    for sequence in 0..4 {
        lone.at(ms(50)).receive(&pulled(sequence));
        lone.data();
    }
    assert_eq!(window(&lone), 8);
    lone.at(ms(100)).receive(&with_pull(nack(4), 5));
    assert_eq!((window(&lone), lone.data().len()), (7, 0), "its pull is forfeited");
    // The others are lost: the window falls to the initial window, and no further.
    lone.pass(ms(1000));
    assert_eq!(window(&lone), 4);
    assert_eq!(lone.data().len(), 4, "of eight");
}

#[test]
fn a_connection_is_remembered_while_its_peer_may_retransmit() {
    let mut lone = sender();
    lone.at(ms(50)).receive(&ack(0));
    lone.command(Command::Abandon { key: sending(1) });
    lone.pass(ms(50 + 32 * 150 - 1));
    assert!(lone.knows(sending(1)));
    lone.pass(ms(50 + 32 * 150));
    assert!(!lone.knows(sending(1)));
}
