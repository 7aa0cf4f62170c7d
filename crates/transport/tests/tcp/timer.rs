//! The retransmission timer (RFC 6298), to the microsecond.

use proptest::prelude::*;
use trimline_packet::{BitRate, Kind, Packet, TimeDelta};
use trimline_transport::Side;
use trimline_transport::tcp::{Config, Control, Handshake};

use crate::link::{LinkAction, Network, config, us};
use crate::lone::*;

/// A configuration whose timeout is three round trips after the first sample, however short.
fn without_bound(window: u16) -> Config {
    Config { rto_min: TimeDelta::from_us(1), ..standing(window) }
}

/// RFC 6298 5.1.
#[test]
fn a_later_segment_does_not_postpone_the_timer() {
    let mut sender = Lone::sender(&standing(4), None);
    sender.next();
    sender.at(3_000).all();
    assert_eq!(sender.timeout(100_000), Some(10_000));
}

/// RFC 6298 5.3: duplicates do not restart the timer.
#[test]
fn an_ack_of_new_data_restarts_the_timer() {
    let mut sender = Lone::sender(&standing(4), None);
    sender.all();
    sender.at(5_000).receive(&ack(1));
    sender.at(8_000).receive_times(2, &ack(1));
    // The sample of 5 ms makes it three times as long.
    assert_eq!(sender.timeout(100_000), Some(20_000));
}

/// RFC 6675 6: only the resent oldest segment restarts the timer.
#[test]
fn fast_recovery_restarts_the_timer() {
    let mut sender = Lone::sender(&standing(8), None);
    sender.all();
    sender.at(1_000).receive(&ack(1));
    sender.all();
    assert!(sender.at(5_000).receive_times(3, &ack(1)).data().contains(&1));
    assert!(!sender.at(6_000).receive_times(6, &ack(1)).data().is_empty());
    assert_eq!(sender.timeout(100_000), Some(15_000));
}

/// RFC 6298 5.2.
#[test]
fn the_timer_stops_without_outstanding_data() {
    let mut sender = Lone::sender(&standing(4), None);
    sender.all();
    sender.at(5_000).receive(&ack(4));
    assert_eq!(sender.timeout(10_000_000), None);
}

/// RFC 6298 3 and 5: the back-off stays until the next sample.
#[test]
fn a_retransmission_measures_no_round_trip() {
    for next_sample in [false, true] {
        let mut sender = Lone::sender(&without_bound(1), None);
        assert_eq!(sender.data(), [0]);
        assert_eq!(sender.timeout(100_000), Some(10_000));
        assert_eq!(sender.data(), [0]);
        assert_eq!(sender.at(10_001).data_after(&ack(1)), [1, 2]);
        if next_sample {
            sender.at(10_101).receive(&ack(2));
            assert_eq!(sender.timeout(100_000), Some(10_401));
        } else {
            assert_eq!(sender.timeout(100_000), Some(30_001));
        }
    }
}

/// RFC 6298 3.
#[test]
fn a_sacked_segment_measures_no_round_trip() {
    let config = Config { sack: true, ..without_bound(2) };
    let (mut sender, mut receiver) = (Lone::sender(&config, None), Lone::receiver(&config));
    let sent = sender.all();
    let early = receiver.answers(&sent[1]);
    sender.at(20).receive(&early[0]);
    let late = receiver.answers(&sent[0]);
    assert_eq!(late[0].header.sequence, 2);
    sender.at(5_000).receive(&late[0]);
    sender.all();
    assert_eq!(sender.timeout(100_000), Some(15_000));
}

/// A connection whose SYN is answered 100 us after its last transmission.
fn answered(losses: u64) -> Lone {
    let config = Config { handshake: Handshake::ThreeWay, ..without_bound(4) };
    let mut sender = Lone::sender(&config, None);
    assert_eq!(sender.all().len(), 1);
    for _ in 0..losses {
        assert_eq!(sender.timeout(1_000_000), Some(10_000));
        let again: Vec<Packet> = sender.all();
        assert_eq!((again.len(), again[0].wire_bytes), (1, 64));
    }
    sender.at(10_000 * losses + 100).receive(&syn_answer());
    sender
}

/// RFC 6298 2.2.
#[test]
fn the_handshake_gives_the_first_round_trip_sample() {
    let mut sender = answered(0);
    assert_eq!(sender.data(), [0, 1, 2, 3]);
    assert_eq!(sender.timeout(100_000), Some(400));
}

/// RFC 6298 3, RFC 5681 3.1: the window is then one segment.
#[test]
fn a_resent_syn_measures_no_round_trip() {
    let mut sender = answered(1);
    assert_eq!(sender.data(), [0]);
    assert_eq!(sender.timeout(100_000), Some(30_100));
}

/// RFC 5681 3.1.
#[test]
fn a_second_timeout_keeps_the_threshold() {
    let config = Config { initial_threshold: u16::MAX, ..standing(16) };
    let mut sender = Lone::sender(&config, None);
    sender.all();
    for at in [10_000, 30_000] {
        assert_eq!(sender.timeout(100_000), Some(at));
        assert_eq!(sender.data(), [0]);
    }
    let windows: Vec<u64> = (1..=8)
        .map(|number| {
            sender.receive(&ack(number));
            sender.window() >> 16
        })
        .collect();
    assert_eq!(windows, [2, 3, 4, 5, 6, 7, 8, 8]);
}

/// Senders over round trips of 10 us to 1 s, with any minimum RTO. Only the first timeout is always long.
fn any_sender() -> impl Strategy<Value = (Config, u64)> {
    let control = prop_oneof![
        Just(Control::NewReno),
        Just(Control::Cubic),
        Just(Control::Dctcp { gain_shift: 4 })
    ];
    // Evenly over their orders of magnitude.
    let round_trip = (10f64.ln()..1e6f64.ln()).prop_map(|ln| ln.exp() as u64);
    let rto_min = (1f64.ln()..1e6f64.ln()).prop_map(|ln| ln.exp() as u64);
    let delay = prop_oneof![Just(1u64), Just(1_000), Just(40_000), Just(500_000)];
    let options = (any::<bool>(), any::<bool>(), 1u8..4);
    (control, options, rto_min, delay, round_trip).prop_map(
        |(control, (sack, timestamps, ack_every), rto_min, delay, round_trip)| {
            let config = Config {
                control,
                sack,
                timestamps,
                ack_every,
                ecn: matches!(control, Control::Dctcp { .. }),
                ack_delay: TimeDelta::from_us(delay),
                rto_initial: TimeDelta::from_ms(5_000),
                syn_timeout: TimeDelta::from_ms(5_000),
                rto_min: TimeDelta::from_us(rto_min),
                rto_max: TimeDelta::from_ms(60_000),
                ..config()
            };
            (config, round_trip)
        },
    )
}

/// Runs a transfer over a path with this round trip in us and rate in Gb/s; segment `lost` is lost once.
fn transfer(
    config: &Config,
    (round_trip, gbps): (u64, u64),
    segments: u64,
    lost: Option<u32>,
) -> Network {
    // Each subflow has a path of its own: only its own segments are ahead of it.
    let mut network = Network::new(2, config.subflows.into(), config);
    network.delay = TimeDelta::from_us(round_trip / 2);
    network.rates.fill(BitRate::from_gbps(gbps));
    let mut lost = lost;
    network.impairment = Box::new(move |_, packet| {
        let is_it = packet.header.kind == Kind::Data
            && packet.wire_bytes > 64
            && Some(packet.header.sequence) == lost;
        if is_it {
            lost = None;
            return LinkAction::Drop;
        }
        LinkAction::Pass
    });
    network.open(1, 0, 1, Some(segments));
    assert!(network.run_until_acknowledged(1, 1, us(1_000_000_000)));
    assert_eq!(network.hosts[1].count(Side::Sending), 1);
    network
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    /// RFC 6298 (2.3): the window varies, and the handshake or a segment is the first sample.
    #[test]
    fn a_steady_path_has_no_timeout(
        (config, round_trip) in any_sender(),
        window in prop_oneof![Just(1u16), 1u16..40],
        threshold in 2u16..200,
        segments in 1u64..1500,
        subflows in 1u8..3,
    ) {
        let sack = config.sack && subflows == 1;
        let config = Config {
            subflows,
            sack,
            initial_window: window,
            initial_threshold: threshold,
            receive_window: 200,
            ..config
        };
        let network = transfer(&config, (round_trip, 10), segments, None);
        let statistics = network.hosts[1].endpoint.sender_statistics(0);
        prop_assert_eq!((statistics.timeouts, statistics.packets_sent), (0, segments));
    }

    /// RFC 5681 3.2, RFC 6675 6: one retransmission repairs the loss.
    #[test]
    fn one_loss_in_a_long_transfer_has_no_timeout(
        (config, round_trip) in any_sender(),
        window in 8u16..200,
        lost in 2_000u32..2_400,
    ) {
        // A SYN takes less time on this wire than a segment.
        let config = Config {
            handshake: Handshake::Standing,
            initial_window: 8,
            initial_threshold: window,
            receive_window: window,
            ..config
        };
        let network = transfer(&config, (round_trip, 1), 4_000, Some(lost));
        let statistics = network.hosts[1].endpoint.sender_statistics(0);
        prop_assert_eq!((statistics.timeouts, statistics.packets_sent), (0, 4_001));
    }
}

/// ns-3's ConnTimeout. Data has the RTO of data, backed off after a lost SYN.
#[test]
fn a_syn_has_a_timeout_of_its_own() {
    let syn_timeout = TimeDelta::from_ms(30);
    let config = Config { handshake: Handshake::ThreeWay, syn_timeout, ..standing(4) };
    let mut sender = Lone::sender(&config, None);
    assert_eq!(sender.all().len(), 1);
    for due in [30_000, 90_000] {
        assert_eq!(sender.timeout(1_000_000), Some(due));
        assert_eq!(sender.all().len(), 1);
    }
    sender.at(90_100).receive(&syn_answer());
    assert_eq!(sender.data(), [0]);
    assert_eq!(sender.timeout(1_000_000), Some(90_100 + 40_000));
}

/// RFC 6298 2.3 alone: on a steady path the variation vanishes, and delayed ACKs add nothing.
#[test]
fn without_a_margin_a_timeout_is_srtt_and_four_variations() {
    let timeout = |rto_margin| {
        let config = Config { rto_margin, ack_every: 2, receive_window: 1, ..without_bound(1) };
        let mut sender = Lone::sender(&config, None);
        for number in 1..=60 {
            assert_eq!(sender.data().len(), 1);
            sender.at(u64::from(number) * 100).receive(&ack(number));
        }
        assert_eq!(sender.data().len(), 1);
        sender.timeout(1_000_000).expect("a timeout") - 6_000
    };
    assert_eq!(timeout(false), 100);
    assert_eq!(timeout(true), 100 + 50 + 40_000);
}
