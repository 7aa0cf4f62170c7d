//! Several transports in one run: a workload names its transport, and transports share a host's link.

use crate::plans::{both, fattree, incast, ndp, plan, run, star, workload};
use trimline_metrics::{FlowRecord, RunRecord};
use trimline_packet::{BitRate, ByteCount, TimeDelta};
use trimline_sim::plan::{Chosen, Matrix, Plan};
use trimline_sim::suites::plans::same_everywhere;
use trimline_sim::transports::{AnyTransport, Cbr, Family, Ndp, Transport};
use trimline_transport::cbr;

fn sample(transport: &dyn AnyTransport) -> Chosen {
    let first = transport.samples()[0].keys;
    transport.with_keys(first, &star(2)).expect("a sample")
}

fn constant_rate(payload_bytes: u16) -> Chosen {
    let rate = BitRate::from_gbps(10);
    Cbr.with(cbr::Config {
        payload_bytes,
        rate,
        clock_lag: TimeDelta::ZERO,
        marks_unscheduled: false,
    })
}

fn of(record: &RunRecord, workload: &str) -> Vec<FlowRecord> {
    let flows: Vec<_> = record.flows.iter().filter(|flow| flow.workload == workload).collect();
    assert!(!flows.is_empty(), "no flows of {workload}");
    flows
}

/// A permutation and an incast of NDP, with a permutation of another transport.
fn mixed(other: Chosen) -> Plan {
    let everyone = workload("ndp", Matrix::Permutation, Some(500_000));
    let mut beside = workload("beside", Matrix::Permutation, Some(300_000));
    beside.transport = 1;
    let mut sudden = incast(12, 45_000);
    sudden.start = TimeDelta::from_us(200);
    let mut plan = plan(fattree(4), 23, vec![everyone, beside, sudden]);
    plan.transports.push(other);
    plan
}

#[test]
fn ndp_beside_each_tcp_variant_agrees_on_all_engines_and_ends() {
    for (place, family) in [Family::Tcp, Family::Dctcp, Family::Mptcp].into_iter().enumerate() {
        let plan = mixed(sample(&family));
        let record = same_everywhere(&plan, 2 + place % 2);
        for flow in &record.flows {
            assert_eq!(flow.size_bytes, Some(flow.delivered_bytes), "{family:?}: {flow:?}");
        }
        // NDP asks for what was trimmed; the others' data is never trimmed.
        assert!(of(&record, "beside").iter().all(|flow| flow.trims == 0));
    }
}

#[test]
fn an_idle_transport_slows_no_other() {
    let mut alone = mixed(sample(&Family::Tcp));
    alone.workloads.retain(|workload| workload.transport == 0);
    alone.transports.truncate(1);
    let mut beside = mixed(sample(&Family::Tcp));
    beside.workloads[1].start = TimeDelta::from_ms(30);
    let (alone, beside) = (run(&alone), both(&beside));
    for workload in ["ndp", "incast"] {
        assert_eq!(of(&alone, workload), of(&beside, workload));
    }
    assert!(of(&beside, "beside").iter().all(|flow| flow.start_ps > 20_000_000_000));
}

/// Two transports that could each fill host 0's link get half of its bytes each, whatever their packets.
#[test]
fn data_of_a_host_takes_turns_by_bytes() {
    for payload_bytes in [1500, 9000] {
        let pair = |to| Matrix::Pairs(vec![(0, to)]);
        let mut rate = workload("cbr", pair(2), None);
        rate.transport = 1;
        let mut plan = plan(star(3), 30, vec![workload("ndp", pair(1), None), rate]);
        plan.transports.push(constant_rate(payload_bytes));
        plan.duration = Some(TimeDelta::from_ms(5));
        let record = both(&plan);
        let wire = |workload: &str, payload: u64| {
            let bytes = of(&record, workload)[0].delivered_bytes;
            bytes + bytes.div_ceil(payload) * 64
        };
        let (ndp, cbr) = (wire("ndp", 9000), wire("cbr", payload_bytes.into()));
        assert!(ndp.abs_diff(cbr) < (ndp + cbr) / 50, "{ndp} and {cbr} bytes at {payload_bytes}");
        assert!(ndp + cbr > 6_000_000, "{}", ByteCount::new(ndp + cbr));
    }
}

/// A flow's ideal FCT follows its own transport's packets.
#[test]
fn payloads_of_transports_may_differ() {
    let mut plan = mixed(sample(&Family::Tcp));
    plan.transports[0] =
        Ndp.with(trimline_transport::ndp::Config { payload_bytes: 1500, ..ndp(60) });
    let record = both(&plan);
    let slower = of(&record, "ndp")[0].ideal_fct_ps.expect("a size");
    let alone = {
        let mut plan = mixed(sample(&Family::Tcp));
        plan.transports[0] = Ndp.with(ndp(23));
        run(&plan)
    };
    assert_ne!(of(&alone, "ndp")[0].ideal_fct_ps.expect("a size"), slower);
    assert_eq!(of(&alone, "beside")[0].ideal_fct_ps, of(&record, "beside")[0].ideal_fct_ps);
}
