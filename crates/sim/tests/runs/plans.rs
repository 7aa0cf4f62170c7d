//! Plans for tests, without scenario files.

use std::ops::ControlFlow;

use trimline_metrics::RunRecord;
use trimline_packet::{BitRate, ByteCount, TimeDelta};
use trimline_sim::plan::{
    Arrivals, Choose, EngineChoice, Impairment, Matrix, Plan, SharedMemory, Size, Spraying,
    Transport, Workload,
};
use trimline_sim::topology::{Clos, LinkSpec, Processing};
use trimline_switch::ServiceModel;
use trimline_transport::{ndp, tcp};

pub(crate) const TEN_GIG: LinkSpec = LinkSpec::new(BitRate::from_gbps(10), TimeDelta::from_us(1));

/// The FatTree of `k`-port switches.
pub(crate) fn fattree(k: u32) -> Clos {
    Clos {
        tiers: 3,
        pods: k,
        tors_per_pod: k / 2,
        hosts_per_tor: k / 2,
        aggregations_per_pod: k / 2,
        cores_per_aggregation: k / 2,
        host_link: TEN_GIG,
        tor_link: TEN_GIG,
        aggregation_link: TEN_GIG,
        processing: Processing::default(),
    }
}

/// One switch.
pub(crate) fn star(hosts: u32) -> Clos {
    Clos {
        tiers: 1,
        pods: 1,
        tors_per_pod: 1,
        hosts_per_tor: hosts,
        aggregations_per_pod: 0,
        cores_per_aggregation: 0,
        ..fattree(4)
    }
}

/// NDP with the paper's parameters and this initial window.
pub(crate) fn ndp(initial_window: u32) -> ndp::Config {
    ndp::Config {
        initial_window,
        payload_bytes: 9000,
        link_rate: BitRate::from_gbps(10),
        framing_bytes: 0,
        pull_spacing: ndp::PullSpacing::WireBytes,
        pull_ack: true,
        rto: TimeDelta::from_ms(1),
        pull_repeat: TimeDelta::from_ms(1),
        backstop_unowed: TimeDelta::from_ms(1),
        backstop_owed: TimeDelta::from_ms(100),
        time_wait: TimeDelta::from_ms(1),
        pull_gaps: None,
        record_latencies: false,
        path_penalty: Some(ndp::PathPenalty {
            min_nacks: 10,
            min_losses: 2,
            ratio: 2,
            removal: TimeDelta::from_ms(1),
            removal_max: TimeDelta::from_ms(4),
        }),
    }
}

/// TCP with SACK and timers for a data centre.
pub(crate) fn tcp() -> tcp::Config {
    tcp::Config {
        payload_bytes: 9000,
        initial_window: 10,
        initial_threshold: u16::MAX,
        control: tcp::Control::NewReno,
        subflows: 1,
        ecn: false,
        sack: true,
        dsack: false,
        timestamps: false,
        frto: false,
        handshake: tcp::Handshake::ThreeWay,
        ack_every: 2,
        ack_delay: TimeDelta::from_us(100),
        rto_initial: TimeDelta::from_ms(1),
        rto_min: TimeDelta::from_ms(1),
        rto_max: TimeDelta::from_ms(100),
        receive_window: 1024,
        time_wait: TimeDelta::from_ms(10),
    }
}

/// A workload of flows of `size` bytes that start together.
pub(crate) fn workload(name: &str, matrix: Matrix, size: Option<u64>) -> Workload {
    Workload {
        name: name.into(),
        matrix,
        size: size.map_or(Size::LongLived, |size| Size::Fixed(ByteCount::new(size))),
        arrivals: Arrivals::Once,
        start: TimeDelta::ZERO,
        start_jitter: TimeDelta::ZERO,
        class: 0,
        spraying: Spraying::SenderPermuted,
    }
}

/// An incast of `senders` flows to host 0.
pub(crate) fn incast(senders: u32, size: u64) -> Workload {
    let matrix = Matrix::Incast { receiver: 0, senders, excluding: vec![], choose: Choose::Random };
    workload("incast", matrix, Some(size))
}

/// A run to completion under the paper's switch.
pub(crate) fn plan(topology: Clos, initial_window: u32, workloads: Vec<Workload>) -> Plan {
    Plan {
        series: String::new(),
        seed: 1,
        topology,
        switch: ServiceModel::paper(8, 9000),
        droppable: None,
        port_rules: Vec::new(),
        shared_memory: SharedMemory::None,
        transport: Transport::Ndp(ndp(initial_window)),
        workloads,
        duration: None,
        warm_up: TimeDelta::ZERO,
        link_events: Vec::new(),
        routing_convergence: TimeDelta::from_us(100),
        impairment: Impairment::default(),
        engine: EngineChoice::Windows,
        timeline: None,
        sample_every: None,
    }
}

/// Runs a plan to its end.
pub(crate) fn run(plan: &Plan) -> RunRecord {
    trimline_sim::run(plan, &mut |_| ControlFlow::Continue(())).expect("the plan can be run")
}

/// The same on several threads.
pub(crate) fn run_on(plan: &Plan, threads: usize) -> RunRecord {
    trimline_sim::run_on(plan, threads, &mut |_| ControlFlow::Continue(()))
        .expect("the plan can be run")
}

/// The record of a plan, the same from both engines and on two threads.
pub(crate) fn both(plan: &Plan) -> RunRecord {
    let windows = run(plan);
    if trimline_sim::division(plan, 2).threads == 2 {
        assert_eq!(windows, run_on(plan, 2), "one thread and two differ: {plan:#?}");
    }
    let heap = run(&Plan { engine: EngineChoice::Heap, ..plan.clone() });
    assert_eq!(windows.flows, heap.flows, "flows of the engines differ: {plan:#?}");
    assert_eq!(windows, heap, "records of the engines differ: {plan:#?}");
    windows
}
