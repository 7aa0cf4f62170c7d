//! Endpoints over links that lose, trim, return, double and delay packets.

use std::collections::BTreeSet;

use proptest::prelude::*;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use trimline_packet::{Flags, Kind, Packet, TimeDelta};
use trimline_transport::RngStream;
use trimline_transport::ndp::{Config, CoreRate, PathPenalty};

use crate::link::{LinkAction, Network, config, us};

/// Sends `packets` DATA packets from host 0 to host 1. `action` gets each packet and the earlier count of its kind.
pub(crate) fn two(
    config: &Config,
    packets: u64,
    mut action: impl FnMut(&Packet, usize) -> LinkAction + 'static,
) -> Network {
    let mut network = Network::new(2, 1, config);
    let mut counts = [0; 5];
    network.impairment = Box::new(move |_, packet| {
        let count = &mut counts[packet.header.kind as usize];
        *count += 1;
        action(packet, *count - 1)
    });
    network.open(0, 1, 1, Some(packets * 9000));
    network.run(us(1_000_000));
    assert_eq!(network.hosts[1].received[&(0, 1)].len() as u64, packets);
    network
}

fn delivered(network: &Network) -> u64 {
    network.delivered_at(1, Network::receiving(0, 1)).expect("the flow ends").as_ps() / 1_000_000
}

/// NDP 3.2.1-a.
#[test]
fn a_lost_pull_is_covered_by_the_next() {
    let config = Config { initial_window: 2, pull_ack: false, ..config() };
    let network = two(&config, 20, |packet, count| {
        if packet.header.kind == Kind::Pull && count == 3 {
            LinkAction::Drop
        } else {
            LinkAction::Pass
        }
    });
    assert!(delivered(&network) < 400, "{}", delivered(&network));
}

/// NDP 3.2.1-c.
#[test]
fn a_lost_pull_that_no_other_follows_is_repeated() {
    let config = Config { initial_window: 1, pull_ack: false, ..config() };
    let network = two(&config, 3, |packet, count| {
        if packet.header.kind == Kind::Pull && count == 0 {
            LinkAction::Drop
        } else {
            LinkAction::Pass
        }
    });
    assert!((1_000..1_200).contains(&delivered(&network)), "{}", delivered(&network));
    // One PULL was lost and one repeated: no packet was sent twice.
    assert_eq!(network.hosts[0].sent_kind(Kind::Data).len(), 3);
}

#[test]
fn lost_pulls_alone_never_cost_a_retransmission() {
    let config = Config { initial_window: 4, pull_ack: false, ..config() };
    let network = two(&config, 100, |packet, count| {
        if packet.header.kind == Kind::Pull && count % 3 != 0 {
            LinkAction::Drop
        } else {
            LinkAction::Pass
        }
    });
    assert_eq!(network.hosts[0].sent_kind(Kind::Data).len(), 100);
}

#[test]
fn a_lost_ack_costs_one_time_out_and_nothing_is_delivered_twice() {
    let network = two(&config(), 10, |packet, count| {
        if packet.header.kind == Kind::Ack && count == 4 {
            LinkAction::Drop
        } else {
            LinkAction::Pass
        }
    });
    assert!(delivered(&network) < 100);
    let statistics = network.hosts[0].endpoint.sender_statistics(0);
    assert_eq!((statistics.timeouts, statistics.packets_sent), (1, 11));
    assert_eq!(network.hosts[1].endpoint.receiver_statistics(0).duplicates, 1);
}

#[test]
fn a_lost_nack_costs_one_time_out() {
    let network = two(&config(), 10, |packet, count| match packet.header.kind {
        Kind::Data if count == 4 => LinkAction::Trim,
        Kind::Nack => LinkAction::Drop,
        _ => LinkAction::Pass,
    });
    assert!((1_000..1_100).contains(&delivered(&network)));
    let statistics = network.hosts[0].endpoint.sender_statistics(0);
    assert_eq!((statistics.timeouts, statistics.retransmissions_timeout), (1, 1));
}

/// NDP 3.2.3-c.
#[test]
fn a_lost_packet_is_resent_after_the_rto_on_another_path() {
    let network = two(&config(), 10, |packet, count| {
        if packet.header.kind == Kind::Data && count == 4 {
            LinkAction::Drop
        } else {
            LinkAction::Pass
        }
    });
    let sent = network.hosts[0].sent_kind(Kind::Data);
    let copies: Vec<_> = sent.iter().filter(|(_, packet)| packet.header.sequence == 4).collect();
    assert_eq!(copies.len(), 2);
    assert_eq!(copies[1].0 - copies[0].0, TimeDelta::from_ms(1));
    assert_ne!(copies[0].1.header.path, copies[1].1.header.path);
}

#[test]
fn a_trimmed_packet_is_resent_within_a_round_trip() {
    let network = two(&config(), 10, |packet, count| {
        if packet.header.kind == Kind::Data && count == 4 {
            LinkAction::Trim
        } else {
            LinkAction::Pass
        }
    });
    assert!(delivered(&network) < 110, "{}", delivered(&network));
    assert_eq!(network.hosts[0].endpoint.sender_statistics(0).retransmissions_nack, 1);
}

#[test]
fn a_flow_survives_a_link_outage() {
    let mut network = Network::new(3, 1, &config());
    network.impairment =
        Box::new(|now, _| if now < us(50_000) { LinkAction::Drop } else { LinkAction::Pass });
    for host in 1..3 {
        network.open(host, 0, 1, Some(900_000));
    }
    network.run(us(60_000));
    for host in 1..3 {
        assert!(network.delivered_at(0, Network::receiving(host, 1)).is_some());
    }
}

#[test]
fn a_flow_survives_a_period_of_corruption() {
    let mut network = Network::new(2, 1, &config());
    network.impairment = Box::new(|now, _| {
        if (us(100)..us(20_000)).contains(&now) { LinkAction::Drop } else { LinkAction::Pass }
    });
    network.open(0, 1, 1, Some(4_500_000));
    network.run(us(40_000));
    assert!(network.delivered_at(1, Network::receiving(0, 1)).is_some());
}

/// NDP 3.2.4-j.
#[test]
fn a_flow_ends_if_every_packet_is_returned_once() {
    let network = two(&config(), 100, {
        let mut seen = BTreeSet::new();
        move |packet, _| {
            let data = packet.header.kind == Kind::Data;
            if data && seen.insert(packet.header.sequence) {
                LinkAction::Return
            } else {
                LinkAction::Pass
            }
        }
    });
    let statistics = network.hosts[0].endpoint.sender_statistics(0);
    assert_eq!((statistics.returns, statistics.timeouts), (100, 0));
}

/// The receiver drops owed pulls at LAST, and returned packets use up the rest: only a repeated PULL frees the others.
/// NDP 3.2.1-d.
#[test]
fn returned_packets_do_not_strand_the_end_of_a_flow() {
    let network = two(&config(), 30, |packet, count| {
        let data = packet.header.kind == Kind::Data;
        if data && (20..29).contains(&packet.header.sequence) && count < 60 {
            LinkAction::Return
        } else {
            LinkAction::Pass
        }
    });
    assert!(delivered(&network) < 5_000, "{}", delivered(&network));
    assert_eq!(network.hosts[0].endpoint.sender_statistics(0).timeouts, 0);
}

/// NDP 3.2.2-b.
#[test]
fn a_connection_opens_from_a_packet_in_the_middle_of_the_first_window() {
    let network = two(&config(), 60, |packet, _| {
        let first = packet.header.kind == Kind::Data && packet.header.sequence < 20;
        if first && packet.header.flags.attempt() == 0 {
            LinkAction::Hold(TimeDelta::from_us(300))
        } else {
            LinkAction::Pass
        }
    });
    let first = network.hosts[1].sent_kind(Kind::Ack)[0].1;
    assert_eq!(first.header.sequence, 20);
    assert_eq!(network.hosts[0].endpoint.sender_statistics(0).timeouts, 0);
}

/// The scoreboard leaves a dead path out most of the time. NDP 3.2.3-d.
#[test]
fn a_dead_path_is_excluded() {
    let dead = |packet: &Packet| packet.header.path.get() == 3 && packet.header.kind == Kind::Data;
    let run = |path_penalty| {
        let network = two(&Config { path_penalty, ..config() }, 2_000, move |packet, _| {
            if dead(packet) { LinkAction::Drop } else { LinkAction::Pass }
        });
        network.hosts[0].endpoint.sender_statistics(0).timeouts
    };
    let penalty = PathPenalty {
        min_nacks: 10,
        min_losses: 2,
        ratio: 2,
        removal: TimeDelta::from_ms(1),
        removal_max: TimeDelta::from_ms(4),
    };
    let (without, with) = (run(None), run(Some(penalty)));
    assert!(without >= 250, "{without}");
    assert!(with * 3 < without, "{with} of {without}");
}

#[derive(Clone, Debug)]
struct Weather {
    seed: u64,
    loss: u64,
    control_loss: u64,
    trim: u64,
    returns: u64,
    twice: u64,
    hold_us: u64,
    initial_window: u32,
    pull_ack: bool,
    aeolus: bool,
    doubts_headers: bool,
    ack_every: u8,
    core_rate: bool,
    turn: u32,
    header_capacity: usize,
    idle_calls: u64,
    /// Flows: (from, packets, start in us).
    flows: Vec<(usize, u64, u64)>,
}

fn weather() -> impl Strategy<Value = Weather> {
    let rates = (0u64..60, 0u64..60, 0u64..300, 0u64..300, 0u64..30, 0u64..200);
    let config = (1u32..40, any::<bool>(), prop_oneof![Just(4usize), Just(40), Just(1125)]);
    let flows = prop::collection::vec((1usize..5, 1u64..90, 0u64..200), 1..8);
    (any::<u64>(), rates, config, flows, 0u64..300).prop_map(
        |(seed, (loss, control_loss, trim, returns, twice, hold_us), config, flows, idle_calls)| {
            // Fair weather is included: each impairment is off in a third of the cases.
            let off = |bit: u64, rate: u64| if (seed >> bit).is_multiple_of(3) { 0 } else { rate };
            Weather {
                seed,
                loss: off(0, loss),
                control_loss: off(2, control_loss),
                trim: off(4, trim),
                returns: off(6, returns),
                twice: off(8, twice),
                hold_us: off(10, hold_us),
                initial_window: config.0,
                pull_ack: config.1,
                aeolus: seed & 4096 != 0,
                doubts_headers: seed & 0x3000 == 0x2000,
                ack_every: [1, 1, 2, 6, 17][(seed >> 16) as usize % 5],
                core_rate: seed >> 24 & 3 == 0,
                turn: [0, 0, 1, 20_000][(seed >> 32) as usize % 4],
                header_capacity: config.2,
                idle_calls,
                flows,
            }
        },
    )
}

/// Runs flows to host 0 through the weather.
fn run(weather: &Weather) -> Network {
    let config = Config {
        initial_window: weather.initial_window,
        pull_ack: weather.pull_ack,
        aeolus: weather.aeolus,
        doubts_headers: weather.doubts_headers,
        ack_every: weather.ack_every,
        core_rate: weather.core_rate.then_some(CoreRate { cut: 16, rise: 256, tolerated: 16 }),
        turn: weather.turn,
        // The weather trims in addition to the port, so PULLs may be owed for long.
        backstop_owed: TimeDelta::from_ms(20),
        ..config()
    };
    let mut network = Network::new(5, 1, &config);
    network.header_capacity = weather.header_capacity;
    network.idle_calls = weather.idle_calls;
    let mut dice = RngStream::seed_from_u64(weather.seed);
    let w = weather.clone();
    network.impairment = Box::new(move |_, packet| {
        let mut roll = |in_a_thousand| dice.next_u64() % 1000 < in_a_thousand;
        let loss = if packet.header.kind == Kind::Data { w.loss } else { w.control_loss };
        if roll(loss) {
            LinkAction::Drop
        } else if roll(w.trim) {
            LinkAction::Trim
        } else if roll(w.returns) {
            LinkAction::Return
        } else if roll(w.twice) {
            LinkAction::Twice
        } else if w.hold_us > 0 {
            LinkAction::Hold(TimeDelta::from_us(dice.next_u64() % w.hold_us))
        } else {
            LinkAction::Pass
        }
    });
    let mut flows: Vec<(u64, usize, u64, u32)> = (1..)
        .zip(&weather.flows)
        .map(|(connection, &(from, packets, start))| (start, from, packets, connection))
        .collect();
    flows.sort_unstable();
    for &(start, from, packets, connection) in &flows {
        network.run(us(start));
        network.open(from, 0, connection, Some(packets * 9000 - 17));
    }
    network.run(us(20_000_000));
    network
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Every flow ends, and no packet goes without a credit; the link asserts single delivery and that no pull counter
    /// falls. NDP 3.2-i, 3.2.2-c.
    #[test]
    fn every_flow_survives_random_impairments(weather in weather()) {
        let network = run(&weather);
        for (connection, &(from, packets, _)) in (1..).zip(&weather.flows) {
            let receiving = Network::receiving(from, connection);
            prop_assert!(network.delivered_at(0, receiving).is_some(), "delivered");
            let here = network.slot(0, receiving);
            let seen = network.hosts[0].endpoint.receiver_statistics(here);
            prop_assert_eq!(seen.bytes, packets * 9000 - 17);
            prop_assert_eq!(seen.packets, packets);

            let key = trimline_transport::Key {
                peer: trimline_packet::HostId::new(0),
                opened_here: true,
                side: trimline_transport::Side::Sending,
                ..receiving
            };
            prop_assert!(network.acknowledged_at(from, key).is_some(), "acknowledged");
            let done = network.hosts[from].endpoint.sender_statistics(network.slot(from, key));
            // Conservation of credit. A repeated PULL may free a packet too.
            let repeats = if weather.loss + weather.control_loss + weather.returns + weather.twice
                == 0 && weather.header_capacity == 1125 { 0 } else { seen.pulls };
            let credits = u64::from(weather.initial_window)
                + seen.pulls + repeats + done.returns + done.timeouts;
            prop_assert!(done.packets_sent <= credits, "{:?} {:?}", done, seen);
            prop_assert_eq!(
                done.packets_sent,
                packets + done.retransmissions_nack + done.retransmissions_return
                    + done.retransmissions_timeout
            );
            // Without loss and doubling no timer of a sender expires, though headers come back. A receiver that doubts
            // headers takes the fifth attempt for the first.
            if weather.loss + weather.control_loss + weather.twice == 0
                && weather.header_capacity == 1125
                && !weather.doubts_headers
            {
                prop_assert_eq!(done.timeouts, 0);
            }
        }
    }

    #[test]
    fn early_calls_are_harmless(weather in weather()) {
        let quiet = run(&Weather { idle_calls: 0, ..weather.clone() });
        let nosy = run(&Weather { idle_calls: 1000, ..weather });
        for (quiet, nosy) in quiet.hosts.iter().zip(&nosy.hosts) {
            prop_assert_eq!(&quiet.sent, &nosy.sent);
        }
    }
}

/// Resent packets of the first window carry SYN too. All paths exist. NDP 3.2.2-a.
#[test]
fn only_first_window_packets_carry_syn() {
    let network = two(&Config { initial_window: 6, ..config() }, 40, |packet, count| {
        if packet.header.kind == Kind::Data && count % 5 == 0 {
            LinkAction::Trim
        } else {
            LinkAction::Pass
        }
    });
    for (_, packet) in network.hosts[0].sent_kind(Kind::Data) {
        let syn = packet.header.flags.contains(Flags::SYN);
        assert_eq!(syn, packet.header.sequence < 6);
        assert!(packet.header.path.get() < 8);
    }
}
