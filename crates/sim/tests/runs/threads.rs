//! A run on several threads gives the record of one thread.
//!
//! Every comparison of the engines also uses two threads ([`crate::plans::both`]).

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::links::event;
use crate::plans::{fattree, incast, plan, run, run_on, star, workload};
use trimline_packet::{BitRate, TimeDelta};
use trimline_sim::division;
use trimline_sim::plan::{EngineChoice, Impairment, LinkChange, Matrix, Plan, Share, Watch};
use trimline_sim::topology::{Clos, LinkSpec};

/// Compares one thread with 2, 3, ... threads, up to the network's parts.
fn check(plan: &Plan) {
    let alone = run(plan);
    let max = division(plan, 1000).threads;
    assert!(max > 2, "a network with parts");
    for threads in 2..=max {
        assert_eq!(alone, run_on(plan, threads), "{threads} threads differ from one: {plan:#?}");
    }
}

fn permutation() -> Plan {
    let mut plan = plan(fattree(6), 23, vec![workload("p", Matrix::Permutation, None)]);
    plan.duration = Some(TimeDelta::from_us(1_234));
    plan.warm_up = TimeDelta::from_ps(400_000_001);
    plan
}

#[test]
fn threads_agree_on_a_permutation() {
    check(&permutation());
}

/// More than a header queue holds, so headers are returned.
#[test]
fn threads_agree_on_an_incast() {
    check(&plan(fattree(6), 30, vec![incast(53, 450_000)]));
    let mut crowded = plan(fattree(6), 30, vec![incast(53, 450_000)]);
    crowded.switch = trimline_switch::ServiceModel::paper(2, 128);
    check(&crowded);
}

#[test]
fn threads_agree_on_mixed_sizes_and_start_times() {
    let sizes = [1, 9_000, 123_457, 900_000];
    let workloads = sizes.iter().enumerate().map(|(place, &size)| {
        let mut flows = workload(
            &format!("w{place}"),
            Matrix::Random { flows: 2, excluding: vec![] },
            Some(size),
        );
        flows.start = TimeDelta::from_us(100 * place as u64);
        flows.start_jitter = TimeDelta::from_us(700);
        flows.class = place as u8;
        flows
    });
    check(&plan(fattree(6), 23, workloads.collect()));
}

#[test]
fn threads_agree_while_links_fail_and_are_restored() {
    let mut plan = permutation();
    plan.duration = Some(TimeDelta::from_ms(3));
    for (at, name, change) in [
        (300, "aggregation 0 up 0", LinkChange::Fail),
        (500, "tor 7 up 1", LinkChange::Fail),
        (700, "aggregation 9 up 2", LinkChange::Rate(BitRate::from_gbps(1))),
        (1_500, "aggregation 0 up 0", LinkChange::Restore),
    ] {
        plan.link_events.push(event(&plan.topology, at, name, change));
    }
    check(&plan);
}

#[test]
fn threads_agree_with_loss_corruption_and_reordering() {
    let share = |billionths| Share::from_billionths(billionths).expect("a share");
    let mut plan = plan(fattree(6), 23, vec![workload("p", Matrix::Permutation, Some(900_000))]);
    plan.impairment = Impairment {
        loss: share(5_000_000),
        corruption: share(5_000_000),
        reordering: TimeDelta::from_us(20),
        links: Vec::new(),
    };
    check(&plan);
}

/// The top tier's longer links let threads meet less often than every lookahead window. A round may exceed the ring.
#[test]
fn threads_agree_with_long_links_of_the_top_tier() {
    let spec = |gbps, ns| LinkSpec::new(BitRate::from_gbps(gbps), TimeDelta::from_ns(ns));
    for (host, top) in [(spec(10, 100), spec(10, 5_000)), (spec(100, 0), spec(10, 20_000))] {
        let spines = Clos {
            tiers: 2,
            pods: 1,
            tors_per_pod: 5,
            hosts_per_tor: 3,
            aggregations_per_pod: 4,
            cores_per_aggregation: 0,
            host_link: host,
            tor_link: top,
            ..fattree(4)
        };
        let pods = Clos { host_link: host, tor_link: host, aggregation_link: top, ..fattree(4) };
        for clos in [spines, pods] {
            let mut sudden = incast(9, 123_456);
            sudden.start = TimeDelta::from_us(100);
            let flows = workload("p", Matrix::Permutation, Some(300_000));
            check(&plan(clos, 12, vec![flows, sudden]));
        }
    }
}

#[test]
fn a_network_that_cannot_be_partitioned_has_a_reason() {
    let check = |plan: &Plan, threads: usize, expected: usize, reason: Option<&str>| {
        let found = division(plan, threads);
        assert_eq!(found.threads, expected);
        match (found.reason, reason) {
            (None, None) => {}
            (Some(found), Some(expected)) => assert!(found.contains(expected), "{found}"),
            (found, expected) => panic!("{found:?} instead of {expected:?}"),
        }
    };
    let pods = permutation();
    check(&pods, 0, 1, None);
    check(&pods, 6, 6, None);
    check(&pods, 7, 6, Some("whole pods, and there are 6"));
    let switch = plan(star(8), 23, vec![incast(7, 9000)]);
    check(&switch, 1, 1, None);
    check(&switch, 2, 1, Some("there are 1"));
    let no_delay = LinkSpec { delay: TimeDelta::ZERO, ..fattree(6).aggregation_link };
    let topology = Clos { aggregation_link: no_delay, ..fattree(6) };
    check(&Plan { topology, ..pods.clone() }, 2, 1, Some("no delay"));
    check(&Plan { engine: EngineChoice::Heap, ..pods.clone() }, 2, 1, Some("heap"));
    let watch = Watch {
        places: vec![],
        flows: vec![],
        from: TimeDelta::ZERO,
        to: None,
        keep_packets: false,
    };
    check(&Plan { timeline: Some(watch), ..pods }, 2, 1, Some("timeline"));
}

#[test]
fn an_interrupted_run_returns_a_partial_record() {
    let interrupted = |threads| {
        let watch = &mut |progress: trimline_sim::Progress| match progress.packet_hops {
            0..10_000 => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        };
        trimline_sim::run_on(&permutation(), threads, watch).expect("the plan can be run")
    };
    let alone = interrupted(1);
    assert!(alone.interrupted);
    assert_eq!(alone, interrupted(4));
}

/// Other threads must not wait for ever.
#[test]
fn a_panic_ends_all_threads_of_a_run() {
    let panics = || {
        let mut inspects = 0;
        let watch = &mut |_| {
            inspects += 1;
            assert!(inspects < 10, "the caller has enough");
            ControlFlow::Continue(())
        };
        trimline_sim::run_on(&permutation(), 4, watch).map(|_| ())
    };
    assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
}
