//! Packets that no NDP host sends, at an endpoint that must survive them.

use proptest::prelude::*;
use trimline_packet::{
    ByteCount, ConnectionId, Flags, Header, Kind, Packet, PathId, Service, Time, TimeDelta,
};
use trimline_transport::ndp::{Command, PathPenalty};

use crate::link::{PORT, config};
use crate::lone::*;

fn sequence() -> impl Strategy<Value = u32> {
    prop_oneof![4 => 0u32..80, 1 => 32_700u32..32_800, 1 => (u32::MAX - 80)..=u32::MAX, 1 => any::<u32>()]
}

fn packet() -> impl Strategy<Value = Packet> {
    let kind = prop_oneof![
        3 => Just(Kind::Data),
        2 => Just(Kind::Ack),
        2 => Just(Kind::Nack),
        2 => Just(Kind::Pull),
        1 => Just(Kind::Reset),
    ];
    let service = prop_oneof![
        Just(Service::Trimmable),
        Just(Service::Trimmed),
        Just(Service::Returned),
        Just(Service::Control),
        Just(Service::Droppable),
    ];
    let extra =
        prop_oneof![sequence(), any::<u16>().prop_map(|length| Header::data_extra(length, PORT)),];
    (kind, any::<u8>(), 0u32..3, sequence(), extra, any::<u16>(), service).prop_map(
        |(kind, bits, connection, sequence, extra, wire_bytes, service)| Packet {
            source: PEER,
            destination: HERE,
            header: Header {
                kind,
                flags: Flags::from_bits(bits),
                path: PathId::new(wire_bytes),
                connection: ConnectionId::new(connection),
                sequence,
                extra,
            },
            wire_bytes,
            service: service.into(),
            marks: bits,
        },
    )
}

#[derive(Clone, Debug)]
enum Step {
    Hear(Packet),
    Transmit(usize),
    Pass(u64),
    Command(u8, u32, u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => packet().prop_map(Step::Hear),
        2 => (0usize..20).prop_map(Step::Transmit),
        1 => (0u64..5_000_000_000).prop_map(Step::Pass),
        1 => (0u8..8, 0u32..3, 0u64..400_000)
            .prop_map(|(what, connection, length)| Step::Command(what, connection, length)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    /// No panic, no runaway timer, and input bounds output.
    #[test]
    fn any_packets_in_any_order_are_survived(steps in prop::collection::vec(step(), 1..400)) {
        let penalty = PathPenalty {
            min_nacks: 3,
            min_losses: 2,
            ratio: 2,
            removal: TimeDelta::from_ms(1),
            removal_max: TimeDelta::from_ms(4),
        };
        let mut lone = Lone::new(trimline_transport::ndp::Config {
            path_penalty: Some(penalty),
            initial_window: 12,
            ..config()
        });
        lone.open(0, Some(1_000_000));
        lone.open(1, None);
        for step in steps {
            match step {
                Step::Hear(packet) => {
                    lone.receive(&packet);
                }
                Step::Transmit(count) => {
                    for _ in 0..count {
                        lone.next();
                    }
                }
                Step::Pass(time) => {
                    let now = Time::from_ps(lone.now.as_ps() + time);
                    lone.pass(now);
                }
                Step::Command(what, connection, length) => {
                    let key = match what % 4 {
                        0 => sending(connection),
                        1 => receiving(connection),
                        2 => trimline_transport::Key { opened_here: false, ..sending(connection) },
                        _ => trimline_transport::Key { opened_here: true, ..receiving(connection) },
                    };
                    let length = ByteCount::new(length);
                    match what {
                        0..2 => lone.command(Command::Send { key, length }),
                        2..4 => lone.command(Command::Prioritise { key, class: length.get() as u8 }),
                        4 => lone.open(connection, Some(length.get())),
                        _ => lone.command(Command::Close { key }),
                    }
                }
            }
            lone.events();
        }
        // The NIC gets a bounded number of packets.
        let mut left = 0u64;
        while lone.next().is_some() {
            left += 1;
            prop_assert!(left < 200_000, "the endpoint sends for ever");
        }
    }
}

#[test]
fn a_counter_that_jumps_is_ignored() {
    let mut lone = Lone::sender(config(), None);
    lone.all();
    lone.receive(&pull(1 << 20));
    lone.receive(&pull(u32::MAX));
    assert_eq!(lone.data(), []);
    lone.receive(&pull(1));
    assert_eq!(lone.data(), [30]);
}

#[test]
fn a_packet_beyond_any_window_is_discarded() {
    let mut lone = Lone::new(config());
    lone.receive(&data(1, 0, Flags::SYN));
    lone.all();
    lone.receive(&data(1, 1 << 20, 0));
    assert_eq!(lone.kinds(), []);
    lone.receive(&data(2, 1 << 20, Flags::SYN));
    assert_eq!(lone.kinds().len(), 1, "a RESET: it opens no connection");
}

#[test]
fn new_data_stops_short_of_the_widest_window() {
    let mut lone = Lone::sender(config(), None);
    let mut counter = 0;
    let mut sent = Vec::new();
    for _ in 0..40_000 {
        sent.extend(lone.data());
        counter += 1;
        // Packet 0 is never answered, all others are ACKed.
        if let Some(&sequence) = sent.last().filter(|&&sequence| sequence > 0) {
            lone.receive(&with_pull(ack(sequence), counter));
        }
    }
    assert_eq!(sent.last(), Some(&((1 << 15) - 1)));
    lone.receive(&ack(0));
    assert_eq!(lone.next().map(|packet| packet.header.sequence), Some(1 << 15));
}
