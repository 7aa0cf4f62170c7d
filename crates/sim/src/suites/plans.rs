//! Plans without scenario files, and their runs on every engine.

use std::ops::ControlFlow;

use crate::plan::{
    Arrivals, Base, Choose, Chosen, Connection, EngineChoice, Impairment, Matrix, Nics, Plan,
    Sampled, SharedMemory, Size, Spraying, Workload,
};
use crate::run::EPOCH;
use crate::topology::{Clos, LinkSpec, Processing};
use trimline_metrics::RunRecord;
use trimline_packet::{BitRate, ByteCount, TimeDelta};
use trimline_switch::ServiceModel;

/// A link of 10 Gb/s and a microsecond of delay.
pub const TEN_GIG: LinkSpec = LinkSpec::new(BitRate::from_gbps(10), TimeDelta::from_us(1));

/// A FatTree of `k`-port switches.
pub fn fattree(k: u32) -> Clos {
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

/// A network of one switch.
pub fn star(hosts: u32) -> Clos {
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

/// A workload of flows of `size` bytes that start together.
pub fn workload(name: &str, matrix: Matrix, size: Option<u64>) -> Workload {
    Workload {
        name: name.into(),
        matrix,
        size: size.map_or(Size::LongLived, |size| Size::Fixed(ByteCount::new(size))),
        arrivals: Arrivals::Once,
        connection: Connection::New,
        start: TimeDelta::ZERO,
        start_jitter: TimeDelta::ZERO,
        class: 0,
        spraying: Spraying::SenderPermuted,
        transport: 0,
        payload: None,
    }
}

/// An incast of `senders` flows to host 0.
pub fn incast(senders: u32, size: u64) -> Workload {
    let matrix = Matrix::Incast { receiver: 0, senders, excluding: vec![], choose: Choose::Random };
    workload("incast", matrix, Some(size))
}

/// A plan of a run to completion with the paper's switch.
pub fn plan(topology: Clos, transport: Chosen, workloads: Vec<Workload>) -> Plan {
    Plan {
        series: String::new(),
        seed: 1,
        topology,
        switch: ServiceModel::paper(8, 9000),
        base: Base { name: "paper", model: ServiceModel::paper(8, 9000) },
        droppable: None,
        port_rules: Vec::new(),
        shared_memory: SharedMemory::None,
        lossless: None,
        detour: None,
        phantom_queues: Vec::new(),
        pacer: None,
        nics: Nics::default(),
        fixed_routes: Vec::new(),
        transports: vec![transport],
        workloads,
        duration: None,
        warm_up: TimeDelta::ZERO,
        link_events: Vec::new(),
        routing_convergence: TimeDelta::from_us(100),
        impairment: Impairment::default(),
        engine: EngineChoice::LookaheadWindows,
        timeline: None,
        sample_every: None,
        sampled: Sampled::default(),
    }
}

/// Runs a plan to its end.
///
/// # Panics
/// Panics if the plan cannot be run, and if an assertion of the run fails.
pub fn run(plan: &Plan) -> RunRecord {
    run_on(plan, 1)
}

/// Runs a plan to its end on several threads.
///
/// # Panics
/// See [`run`].
pub fn run_on(plan: &Plan, threads: usize) -> RunRecord {
    let is_watched = std::env::var_os("TRIMLINE_WATCH").is_some();
    if is_watched {
        eprintln!("{plan:#?}");
    }
    let record = crate::run_on(plan, threads, &mut |progress| {
        if is_watched {
            eprintln!("{progress:?}");
        }
        ControlFlow::Continue(())
    });
    record.unwrap_or_else(|error| panic!("{error}: {plan:#?}"))
}

/// Maximum thread meetings that a test waits for. One random network in a hundred has more, and these would take as
/// long as all others.
const MAX_MEETINGS: u64 = 300_000;

/// Estimates how often threads meet: at each epoch's end, and once per lookahead window with events, few per
/// packet-hop.
fn meetings(plan: &Plan, record: &RunRecord) -> u64 {
    let windows = record.simulated_ps / plan.topology.min_top_delay().as_ps().max(1);
    record.simulated_ps / EPOCH.as_ps() + windows.min(8 * record.packet_hops)
}

/// Returns the record of a plan, which must be equal on both engines, on one thread and, unless these would meet too
/// often, on `threads`.
///
/// # Panics
/// Panics if the records differ, and as [`run`] does.
pub fn same_everywhere(plan: &Plan, threads: usize) -> RunRecord {
    let windows = run(plan);
    if crate::division(plan, threads).threads == threads && meetings(plan, &windows) < MAX_MEETINGS
    {
        assert_eq!(windows, run_on(plan, threads), "one thread and {threads} differ: {plan:#?}");
    }
    let heap = run(&Plan { engine: EngineChoice::Heap, ..plan.clone() });
    assert_eq!(windows.flows, heap.flows, "flows of the engines differ: {plan:#?}");
    assert_eq!(windows, heap, "records of the engines differ: {plan:#?}");
    windows
}

/// Returns the record of a plan, which must be equal on both engines, and on one and two threads.
///
/// # Panics
/// See [`same_everywhere`].
pub fn both(plan: &Plan) -> RunRecord {
    same_everywhere(plan, 2)
}
