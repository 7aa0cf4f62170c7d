//! The lookahead window engine and the heap engine give equal records on random small networks: topologies, profiles,
//! workloads, tiny queues that return headers, switch-random paths, limits inside windows; every fourth with links that
//! change, lose and reorder.
//!
//! A failure prints the case number; `TRIMLINE_CASE=n` replays it alone.

use crate::plans::{both, fattree, incast, plan, run, star, workload};
use trimline_metrics::FlowEnd;
use trimline_packet::SplitMix;
use trimline_packet::{BitRate, TimeDelta};
use trimline_sim::plan::Matrix;
use trimline_sim::suites::{case, change_links, take_time};
use trimline_sim::topology::{Clos, LinkSpec};
use trimline_switch::ServiceModel;

#[test]
fn the_engines_agree_and_every_sized_flow_completes() {
    let one = std::env::var("TRIMLINE_CASE").ok().and_then(|case| case.parse().ok());
    let cases = one.map_or(0..400u64, |case: u64| case..case + 1);
    let (mut returned, mut trimmed, mut dropped, mut completed) = (0, 0, 0, 0);
    for number in cases {
        println!("case {number}: TRIMLINE_CASE={number} cargo test -p trimline-sim --test runs");
        let mut plan = case(number);
        if number % 4 == 3 {
            // Long-lived and larger flows than in `random_networks`.
            change_links(&mut plan, &mut SplitMix(number));
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
fn a_seed_determines_the_record() {
    let mut plan = case(11);
    let record = run(&plan);
    assert_eq!(record, run(&plan));
    plan.seed += 1;
    assert_ne!(record.flows, run(&plan).flows);
}

#[test]
fn adding_a_flow_changes_no_draw_of_another() {
    // Two racks that share no port can affect each other only by draws.
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

/// A transmission of 72.5 us is longer than the ring of lookahead windows, and epochs end every 50 us inside a window:
/// events at the ring's far end are no idle time.
#[test]
fn an_event_near_the_far_end_of_the_ring_is_not_skipped() {
    let slow = LinkSpec::new(BitRate::from_gbps(1), TimeDelta::from_ns(100));
    for senders in 1..6 {
        let clos = Clos { host_link: slow, ..star(10) };
        let mut plan = plan(clos, 2, vec![incast(senders, 300_000)]);
        plan.switch = ServiceModel::paper(2, 9000);
        both(&plan);
    }
}
