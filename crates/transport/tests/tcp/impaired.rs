//! Everything arrives once, whatever links do.

use proptest::prelude::*;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use trimline_packet::{Kind, TimeDelta};
use trimline_transport::RngStream;
use trimline_transport::tcp::{Config, Control, Handshake};

use crate::link::{LinkAction, Network, config, us};

pub(crate) fn any_config() -> impl Strategy<Value = Config> {
    let control = prop_oneof![
        Just(Control::NewReno),
        Just(Control::Cubic),
        Just(Control::Dctcp { gain_shift: 4 })
    ];
    let handshake = prop_oneof![
        Just(Handshake::ThreeWay),
        Just(Handshake::FastOpen),
        Just(Handshake::Standing)
    ];
    let options = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (control, handshake, options, prop_oneof![Just(1u8), Just(3), Just(8)], 1u8..4, 1u16..50)
        .prop_map(
            |(
                control,
                handshake,
                (ecn, sack, dsack, timestamps, frto),
                subflows,
                ack_every,
                window,
            )| Config {
                control,
                handshake,
                ecn: ecn || matches!(control, Control::Dctcp { .. }),
                sack: sack && subflows == 1,
                dsack: dsack && sack && subflows == 1,
                timestamps,
                frto,
                subflows,
                ack_every,
                initial_window: window,
                receive_window: 30 + 4 * window,
                rto_max: TimeDelta::from_ms(40),
                ..config()
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn all_data_arrives_once_and_is_acknowledged(
        config in any_config(),
        seed: u64,
        loss in prop_oneof![Just(0u64), Just(10), Just(100), Just(300)],
        capacity in prop_oneof![Just(3usize), Just(10), Just(1000)],
        segments in 1u64..120,
    ) {
        let mut network = Network::new(3, 4, &config);
        network.capacity = capacity;
        network.mark_above = capacity / 3;
        network.idle_calls = 100;
        let mut dice = RngStream::seed_from_u64(seed);
        network.impairment = Box::new(move |_, _| match dice.next_u64() % 1000 {
            die if die < loss => LinkAction::Drop,
            die if die < loss * 3 / 2 => LinkAction::Twice,
            die if die < loss * 2 => LinkAction::Hold(TimeDelta::from_us(dice.next_u64() % 2000)),
            _ => LinkAction::Pass,
        });
        for host in 1..3 {
            network.open(host, 0, 1, Some(segments));
        }
        network.run(us(60_000_000));
        for host in 1..3 {
            prop_assert_eq!(network.received(host as u32) as u64, segments);
            prop_assert!(network.acknowledged_at(host).is_some(), "host {}", host);
        }
    }
}

/// SYNs and their answers are lost.
#[test]
fn a_lost_syn_is_sent_again_with_back_off_and_the_window_begins_at_one() {
    let mut network = Network::new(2, 1, &config());
    let mut seen = 0;
    network.impairment = Box::new(move |_, packet| {
        let is_syn = packet.header.kind == Kind::Data && packet.wire_bytes == 64;
        seen += u32::from(is_syn);
        if is_syn && seen <= 2 { LinkAction::Drop } else { LinkAction::Pass }
    });
    network.open(1, 0, 1, Some(3));
    network.run(us(1_000_000));
    let sent = &network.hosts[1].sent;
    let syns: Vec<u64> = sent.iter().take(3).map(|(at, _)| at.as_ps() / 1_000_000_000).collect();
    assert_eq!(syns, [0, 10, 30]);
    let first = network.hosts[1].sent_data()[0].0;
    let second = network.hosts[1].sent_data()[1].0;
    assert!(second - first > TimeDelta::from_us(50), "RFC 5681 3.1: one segment after a lost SYN");
    assert!(network.acknowledged_at(1).is_some());
}

/// RFC 7413.
#[test]
fn fast_open_saves_the_round_trip_of_the_handshake() {
    let delivered = |handshake| {
        let mut network = Network::new(2, 1, &Config { handshake, ..config() });
        network.open(1, 0, 1, Some(1));
        network.run(us(10_000));
        network.delivered_at(0).expect("it arrives").as_ps() / 1_000
    };
    let (three_way, fast) = (delivered(Handshake::ThreeWay), delivered(Handshake::FastOpen));
    // 64 bytes each way at 10 and 1 Gb/s and twice 20 us: 41.1264 us.
    assert_eq!(three_way - fast, 41_126);
    assert_eq!(fast, delivered(Handshake::Standing));
}
