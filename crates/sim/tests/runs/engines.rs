//! The window engine and the heap engine give equal records on random small networks: topologies,
//! profiles, workloads, tiny queues that return headers, switch-random paths, limits inside windows; every
//! fourth with links that change, lose and reorder.
//!
//! A failure prints the case number; `TRIMLINE_CASE=n` replays it alone.

use crate::plans::{both, fattree, incast, ndp, plan, run, star, workload};
use crate::processing::take_time;
use crate::random_networks::unsettle;
use trimline_metrics::FlowEnd;
use trimline_packet::{BitRate, TimeDelta};
use trimline_sim::plan::{Matrix, Plan, Size, Spraying, Transport};
use trimline_sim::topology::{Clos, LinkSpec};
use trimline_switch::ServiceModel;
use trimline_transport::ndp::PullSpacing;

/// SplitMix64: the choices of a case, apart from every stream of the simulator.
pub(crate) struct Choices(pub(crate) u64);

impl Choices {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
    pub(crate) fn one_of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u64) as usize]
    }
}

fn topology(choices: &mut Choices) -> Clos {
    let mut clos = match choices.below(5) {
        0 => star(2 + choices.below(14) as u32),
        1 => fattree(4),
        2 => Clos { hosts_per_tor: 4, ..fattree(4) },
        3 => Clos {
            tiers: 2,
            pods: 1,
            tors_per_pod: 2 + choices.below(4) as u32,
            hosts_per_tor: 1 + choices.below(4) as u32,
            aggregations_per_pod: 1 + choices.below(4) as u32,
            cores_per_aggregation: 0,
            ..fattree(4)
        },
        _ => Clos { tiers: 0, pods: 1, tors_per_pod: 2, hosts_per_tor: 1, ..star(2) },
    };
    if choices.below(3) == 0 {
        let mut spec = || {
            let rate = BitRate::from_gbps(choices.one_of(&[1, 3, 10, 40, 100]));
            LinkSpec::new(rate, TimeDelta::from_ns(choices.one_of(&[0, 100, 1000, 5000])))
        };
        (clos.host_link, clos.tor_link, clos.aggregation_link) = (spec(), spec(), spec());
    }
    clos
}

pub(crate) fn case(number: u64) -> Plan {
    let mut choices = Choices(number);
    let topology = topology(&mut choices);
    let hosts = topology.hosts();
    let host = |choices: &mut Choices| choices.below(u64::from(hosts)) as u32;
    let mut workloads = Vec::new();
    for place in 0..1 + choices.below(3) {
        let mut new = match choices.below(4) {
            0 => {
                let mut matrix = incast(1 + choices.below(u64::from(hosts) - 1) as u32, 1);
                let size = trimline_packet::ByteCount::new(1 + choices.below(300_000));
                matrix.size = Size::Fixed(size);
                matrix
            }
            1 => workload("", Matrix::Permutation, Some(1 + choices.below(1_000_000))),
            2 => workload("", Matrix::Permutation, None),
            _ => {
                let mut pairs = Vec::new();
                for _ in 0..1 + choices.below(6) {
                    let from = host(&mut choices);
                    pairs.push((from, (from + 1 + host(&mut choices) % (hosts - 1)) % hosts));
                }
                workload("", Matrix::Pairs(pairs), Some(1 + choices.below(200_000)))
            }
        };
        new.name = format!("w{place}");
        new.start_jitter = TimeDelta::from_ns(choices.one_of(&[0, 1, 1000, 100_000]));
        new.start = TimeDelta::from_us(choices.one_of(&[0, 0, 7, 2_000]));
        new.class = choices.below(4) as u8;
        if choices.below(4) == 0 {
            new.spraying = Spraying::SwitchRandom;
        }
        workloads.push(new);
    }
    let initial_window = choices.one_of(&[1, 2, 8, 23, 30]);
    let mut plan = plan(topology, initial_window, workloads);
    plan.seed = number;
    let packets = choices.one_of(&[1, 2, 3, 6, 8, 12]);
    let payload = choices.one_of(&[9000, 9000, 1500, 512]);
    plan.switch = match choices.below(8) {
        0 => ServiceModel::htsim(packets.max(2), payload),
        1 => ServiceModel::csg_htsim(packets.max(2), payload),
        2 => ServiceModel::netfpga(),
        3 => ServiceModel::p4(packets, payload),
        4 => ServiceModel::drop_tail(packets + 4),
        5 => ServiceModel::paper(packets, 128),
        _ => ServiceModel::paper(packets, payload),
    };
    let mut config = ndp(initial_window);
    config.payload_bytes = payload;
    config.link_rate = plan.topology.host_link.rate;
    config.framing_bytes = plan.topology.host_link.framing_bytes;
    config.pull_ack = choices.below(4) != 0;
    config.pull_spacing = choices.one_of(&[
        PullSpacing::WireBytes,
        PullSpacing::PayloadBytes,
        PullSpacing::WireBytesScaled { percent: 101 },
    ]);
    plan.transport = Transport::Ndp(config);
    let is_endless = plan.workloads.iter().any(|workload| workload.size == Size::LongLived);
    if is_endless || choices.below(4) == 0 {
        plan.duration = Some(TimeDelta::from_ps(1_000_000_000 + choices.below(2_000_000_000)));
        plan.warm_up = TimeDelta::from_ps(choices.below(900_000_000));
    }
    plan
}

#[test]
fn the_engines_agree_and_every_sized_flow_completes() {
    let one = std::env::var("TRIMLINE_CASE").ok().and_then(|case| case.parse().ok());
    let cases = one.map_or(0..400u64, |case: u64| case..case + 1);
    let (mut returned, mut trimmed, mut dropped, mut completed) = (0, 0, 0, 0);
    for number in cases {
        println!("case {number}: TRIMLINE_CASE={number} cargo test -p trimline-sim --test runs");
        let mut plan = case(number);
        if number % 4 == 3 {
            // Long-lived and larger flows than those of `random_networks`.
            unsettle(&mut plan, &mut Choices(number));
        }
        if number % 5 == 2 {
            take_time(&mut plan, number);
        }
        let record = both(&plan);
        for port in &record.ports {
            returned += port.returned;
            trimmed += port.trimmed;
            dropped += port.dropped;
        }
        for flow in &record.flows {
            match flow.end {
                FlowEnd::Completed => completed += 1,
                _ => assert!(plan.duration.is_some(), "case {number}: {flow:?} did not complete"),
            }
        }
    }
    if one.is_none() {
        let seen = [returned, trimmed, dropped, completed];
        assert!(seen.iter().all(|&count| count > 1000), "the cases exercise too little: {seen:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_record_and_another_seed_another() {
    let mut plan = case(11);
    let record = run(&plan);
    assert_eq!(record, run(&plan));
    plan.seed += 1;
    assert_ne!(record.flows, run(&plan).flows);
}

#[test]
fn adding_a_flow_moves_no_other_flows_draws() {
    // Two racks that share no port: what happens in one cannot reach the other, except by draws.
    let pairs = |pairs: &[(u32, u32)]| Matrix::Pairs(pairs.to_vec());
    let there = |workloads| {
        let record = run(&plan(fattree(6), 23, workloads));
        let there: Vec<_> = record.flows.iter().filter(|flow| flow.workload == "there").collect();
        assert!(!there.is_empty());
        there
    };
    // Within pod 0 and within pod 5.
    let first = workload("there", pairs(&[(0, 3), (1, 3), (2, 3), (6, 3)]), Some(900_000));
    let other = workload("a", pairs(&[(45, 49), (46, 49), (52, 49)]), Some(500_000));
    let alone = there(vec![first.clone()]);
    assert_eq!(alone, there(vec![first.clone(), other.clone()]));
    assert_eq!(alone, there(vec![other, first]));
}

/// A transmission of 72.5 us is longer than the ring of windows, and runs stop every 50 us inside a window:
/// what comes into the ring at its far end must not be skipped as idle time.
#[test]
fn what_comes_near_at_the_end_of_an_idle_ring_is_not_skipped() {
    let slow = LinkSpec::new(BitRate::from_gbps(1), TimeDelta::from_ns(100));
    for senders in 1..6 {
        let clos = Clos { host_link: slow, ..star(10) };
        let mut plan = plan(clos, 2, vec![incast(senders, 300_000)]);
        plan.switch = ServiceModel::paper(2, 9000);
        both(&plan);
    }
}
