//! Cycles of paused ports: a cycle as long as a pause ends the run, on every engine; others pass. `random_networks`
//! checks that routes up and down make no cycle.

use std::ops::ControlFlow;

use trimline_metrics::timeline::{Event, PacketKind, What};
use trimline_metrics::{PauseCycles, RunRecord};
use trimline_packet::{BitRate, TimeDelta};
use trimline_sim::RunError;
use trimline_sim::plan::{
    Chosen, FixedRoute, LinkChange, LinkEvent, Lossless, Matrix, Plan, Watch,
};
use trimline_sim::suites::{lossless_networks, seeds};
use trimline_sim::topology::{self, Clos, LinkId};
use trimline_sim::transports::{Cbr, Transport, Transports};
use trimline_switch::{Choices, Classifier, Limit, Scheduler};
use trimline_transport::cbr;

use crate::plans::{fattree, plan, run, same_everywhere, workload};

const PACKET: u32 = 9064;

/// Leaves below one spine, which sends packets of a leaf to the next one. Each leaf's first host sends to the first
/// host of the leaf behind the next: the load between leaves is twice a link's rate.
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
    plan.fixed_routes = (0..leaves)
        .map(|leaf| FixedRoute {
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

/// Packets at this rate in Mb/s.
fn constant(megabits: u64) -> Chosen {
    Cbr.with(cbr::Config {
        payload_bytes: 9000,
        rate: BitRate::from_bps(megabits * 1_000_000),
        clock_lag: TimeDelta::ZERO,
        marks_unscheduled: false,
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
/// The time between two checks.
const STRIDE_PS: u64 = 50_000_000;

/// The links of a ring's cycle, from its lowest port on.
fn round(leaves: u32) -> Vec<String> {
    let of_leaf =
        |leaf: u32| [format!("tor {leaf} up 0"), format!("spine 0 down {}", (leaf + 1) % leaves)];
    (0..leaves).flat_map(of_leaf).collect()
}

#[test]
fn a_ring_of_paused_ports_ends_the_run_and_names_its_links() {
    for leaves in [3, 4] {
        let plan = ring(leaves);
        let record = same_everywhere(&plan, 2);
        assert_eq!(same_everywhere(&plan, 3), record);
        assert_eq!(deadlock(&record), round(leaves));
        assert!(record.interrupted && record.pause_cycles.passed == 0, "{:?}", record.pause_cycles);
        // Data waits for ever, and left a port for the last time a pause before the end.
        let last = last_departure(&plan, &round(leaves));
        let stood = record.simulated_ps - last;
        assert!((QUANTUM_PS..QUANTUM_PS + 2 * STRIDE_PS).contains(&stood), "{last} {stood}");
    }
}

/// Returns when data last began to leave one of these ports.
fn last_departure(plan: &Plan, ports: &[String]) -> u64 {
    let places = ports.iter().map(|port| link(plan, port)).collect();
    let watch =
        Watch { places, flows: vec![], from: TimeDelta::ZERO, to: None, keep_packets: false };
    let record = run(&Plan { timeline: Some(watch), ..plan.clone() });
    let of_data = |event: &&Event| event.packet == PacketKind::Data && event.what == What::Depart;
    let departures = ports.iter().flat_map(|port| record.timeline.at(Some(port)).filter(of_data));
    departures.map(|event| event.time_ps).max().expect("data")
}

/// Control packets have their own queue, which is never paused.
#[test]
fn one_class_deadlocks_while_another_runs() {
    let mut plan = ring(3);
    let mut choices = Choices::drop_tail(1);
    (choices.queues[0].whole, choices.queues[0].header) = (Limit::NONE, Limit::NONE);
    choices.queues.insert(0, choices.queues[0].clone());
    choices.classifier = Classifier::HeaderAndData;
    choices.scheduler = Scheduler::Strict;
    plan.switch = choices.build().expect("a model");
    plan.lossless = plan.lossless.map(|lossless| Lossless { classes: 0b10, ..lossless });
    assert_eq!(deadlock(&same_everywhere(&plan, 3)), round(3));
}

/// A link that is down loses packets: the ring goes on, and is stuck again.
#[test]
fn a_broken_pause_cycle_is_counted_and_its_time_restarts() {
    let mut plan = ring(3);
    let (fails, back) = (2_500, 2_600);
    for (at, change) in [(fails, LinkChange::Fail), (back, LinkChange::Restore)] {
        plan.link_events.push(LinkEvent {
            at: TimeDelta::from_us(at),
            link: link(&plan, "tor 1 up 0"),
            both_directions: false,
            change,
        });
    }
    let record = same_everywhere(&plan, 3);
    assert_eq!(deadlock(&record), round(3));
    assert_eq!(record.pause_cycles.passed, 1);
    assert!(record.simulated_ps > back * 1_000_000 + QUANTUM_PS, "{}", record.simulated_ps);
    // A cycle that stands when the time is over has not ended the run.
    plan.duration = Some(TimeDelta::from_us(fails));
    let record = same_everywhere(&plan, 3);
    assert!(!record.interrupted && deadlock(&record).is_empty());
    assert_eq!(record.pause_cycles.passed, 1);
}

/// Without fixed routes the flows wait for the spine, and the spine for the leaves; at half the rate no port waits.
#[test]
fn a_ring_without_fixed_routes_or_with_less_traffic_has_no_deadlock() {
    let straight = Plan { fixed_routes: vec![], ..ring(3) };
    let light = Plan { transports: vec![constant(4_900)], ..ring(3) };
    for plan in [straight, light] {
        let record = same_everywhere(&plan, 3);
        assert_eq!(record.pause_cycles, PauseCycles::default());
        assert!(!record.interrupted);
        assert_eq!(record.simulated_ps, 20_000_000_000);
    }
}

#[test]
fn up_down_routing_has_no_deadlock() {
    let transports: Vec<_> = Transports::built_in().iter().collect();
    let sent = lossless_networks(&transports, seeds(1000));
    assert!(sent > 10_000, "{sent}");
}

#[test]
fn a_fixed_route_by_a_port_of_another_switch_is_refused() {
    let mut plan = ring(3);
    plan.fixed_routes[0].by = link(&plan, "tor 1 up 0");
    let refused = trimline_sim::run(&plan, &mut |_| ControlFlow::Continue(()));
    assert!(matches!(refused, Err(RunError::Topology(_))), "{refused:?}");
}
