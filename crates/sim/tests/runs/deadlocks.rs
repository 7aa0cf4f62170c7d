//! Cycles of paused ports: one that stands for as long as a pause lasts ends the run, whoever drives it; others pass.
//! That routes up and down make none, `random_networks` looks at.

use trimline_metrics::RunRecord;
use trimline_packet::{BitRate, TimeDelta};
use trimline_sim::plan::{Detour, Lossless, Matrix, Plan};
use trimline_sim::topology::{self, Clos, LinkId};
use trimline_sim::transports::{Cbr, Transport};
use trimline_switch::{Choices, Limit};
use trimline_transport::cbr;

use crate::plans::{fattree, plan, run, same_everywhere, workload};

const PACKET: u32 = 9064;

/// Leaves below one spine, which sends what comes from a leaf to the next one. Of each leaf the first host sends to
/// that of the leaf behind the next: what goes from one leaf to the next is twice what a link takes.
fn ring(leaves: u32) -> Plan {
    let topology = Clos {
        tiers: 2,
        pods: 1,
        tors_per_pod: leaves,
        hosts_per_tor: 2,
        aggregations_per_pod: 1,
        cores_per_aggregation: 0,
        ..fattree(4)
    };
    let pairs = (0..leaves).map(|leaf| (2 * leaf, 2 * ((leaf + 2) % leaves))).collect();
    let mut plan = plan(topology, 1, vec![workload("w", Matrix::Pairs(pairs), None)]);
    plan.detours = (0..leaves)
        .map(|leaf| Detour {
            over: link(&plan, &format!("tor {leaf} up 0")),
            by: link(&plan, &format!("spine 0 down {}", (leaf + 1) % leaves)),
        })
        .collect();
    let mut choices = Choices::drop_tail(1);
    (choices.queues[0].whole, choices.queues[0].header) = (Limit::NONE, Limit::NONE);
    plan.switch = choices.build().expect("a model");
    plan.transports = vec![constant(10_000)];
    plan.lossless =
        Some(Lossless { xoff: 5 * PACKET, xon: 4 * PACKET, headroom: None, classes: 1 });
    plan.duration = Some(TimeDelta::from_ms(20));
    plan
}

/// Packets at so many Mb/s.
fn constant(megabits: u64) -> trimline_sim::plan::Chosen {
    Cbr.with(cbr::Config {
        payload_bytes: 9000,
        rate: BitRate::from_bps(megabits * 1_000_000),
        clock_lag: TimeDelta::ZERO,
    })
}

fn link(plan: &Plan, name: &str) -> LinkId {
    let links = topology::links(&plan.topology);
    links.into_iter().find(|(known, _)| known == name).expect("a link of this name").1
}

fn deadlock(record: &RunRecord) -> Vec<String> {
    record.pause_cycles.deadlock.iter().map(ToString::to_string).collect()
}

/// 65535 times 512 bits at 10 Gb/s.
const QUANTUM_PS: u64 = 3_355_392_000;
/// Between two looks.
const STRIDE_PS: u64 = 50_000_000;

#[test]
fn a_ring_of_paused_ports_ends_the_run_with_its_links() {
    for leaves in [3, 4] {
        let plan = ring(leaves);
        let record = (1..=3).map(|threads| same_everywhere(&plan, threads)).last().expect("one");
        let mut expected = Vec::new();
        for leaf in 0..leaves {
            expected.push(format!("tor {leaf} up 0"));
            expected.push(format!("spine 0 down {}", (leaf + 1) % leaves));
        }
        assert_eq!(deadlock(&record), expected);
        assert!(record.interrupted);
        // The last of these packets left, and a pause later the run ended.
        let last = (0..)
            .map(|part| record.simulated_ps - QUANTUM_PS - part * 10_000_000)
            .take_while(|&at| at > STRIDE_PS)
            .find(|&at| hops(&plan, at) < record.packet_hops);
        println!("{leaves}: {} {last:?}", record.simulated_ps);
    }
}

fn hops(plan: &Plan, at: u64) -> u64 {
    run(&Plan { duration: Some(TimeDelta::from_ps(at)), ..plan.clone() }).packet_hops
}
