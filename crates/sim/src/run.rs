//! One run: from a plan to a record.

use std::ops::ControlFlow;

use trimline_metrics::{FlowEnd, FlowRecord, PortRecord, RunRecord, Samples, Timeline};
use trimline_packet::{ByteCount, HostId, Time, TimeDelta};
use trimline_switch::{OutputPort, Port};

use crate::division::division;
use crate::engine::{Engine, Heap, Partition, Recorder, Windows, together};
use crate::flows::{Flow, Flows};
use crate::links::Links;
use crate::network::Network;
use crate::plan::{EngineChoice, Plan, Progress, RunError, Workload};
use crate::protocol::Protocol;
use crate::sampler::Sampler;
use crate::topology::Routes;
use crate::workload;

/// Virtual time between two looks at the clock, the progress and the end of the run. Every engine
/// stops at the same instants, so that what happens after the last flow is the same too.
const STRIDE: TimeDelta = TimeDelta::from_us(50);

/// Without a duration a run ends when its flows have; one whose flows make no progress for this much
/// virtual time is given up.
const PATIENCE: TimeDelta = TimeDelta::from_ms(30_000);

/// Packet-hops between two checks of all queues of all ports: often enough to look into every phase of a run,
/// seldom enough to cost nothing.
const CHECK_HOPS: u64 = 250_000;

/// Runs a plan. `watch` is told of the progress and may end the run early; the record then says so.
///
/// # Errors
/// A plan that names hosts that do not exist.
///
/// # Panics
/// A broken invariant: packets or bytes that are not conserved, something delivered twice.
pub fn run(
    plan: &Plan,
    watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<RunRecord, RunError> {
    run_on(plan, 1, watch)
}

/// The same on as many threads as [`division`] makes of `threads`: another way to the same record.
///
/// # Errors
/// A plan that names hosts that do not exist.
///
/// # Panics
/// As [`run`].
pub fn run_on(
    plan: &Plan,
    threads: usize,
    watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<RunRecord, RunError> {
    let Some(first) = plan.transports.first() else {
        return Err(RunError::Transport("a plan has at least one".to_owned()));
    };
    let mut outside = plan.transports.iter().filter(|chosen| !chosen.is_built_in());
    let leading = outside.next().unwrap_or(first);
    if let Some(other) = outside.find(|other| other.name() != leading.name()) {
        return Err(RunError::Transport(format!(
            "`{}` beside `{}`: a run takes one transport that is not built in",
            other.name(),
            leading.name()
        )));
    }
    leading.run(plan, threads, watch)
}

/// The same with hosts of this kind.
pub(crate) fn run_with<E: Protocol>(
    plan: &Plan,
    config: &E::Config,
    threads: usize,
    watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<RunRecord, RunError> {
    Ok(build::<E>(plan, config, flows(plan)?, threads, watch))
}

/// All flows of a plan.
fn flows(plan: &Plan) -> Result<Flows, RunError> {
    let hosts = plan.topology.hosts();
    if hosts < 2 {
        return Err(RunError::Topology(format!("{hosts} hosts; at least 2 are needed")));
    }
    let nameless = |workload: &&Workload| plan.transports.len() <= workload.transport.into();
    if let Some(workload) = plan.workloads.iter().find(nameless) {
        let problem = format!("workload `{}` has none of the plan's", workload.name);
        return Err(RunError::Transport(problem));
    }
    let made = workload::flows(plan).map_err(RunError::Workload)?;
    let outside = |host: HostId| host.get() >= hosts;
    let is_outside = |flow: &&Flow| outside(flow.source) || outside(flow.destination);
    if let Some(flow) = made.flows.iter().find(is_outside) {
        return Err(RunError::Topology(format!(
            "a flow from host {} to host {}, but hosts are 0 to {}",
            flow.source.get(),
            flow.destination.get(),
            hosts - 1
        )));
    }
    let names: Vec<&str> = plan.workloads.iter().map(|workload| workload.name.as_str()).collect();
    let transports = plan.workloads.iter().map(|workload| workload.transport).collect();
    Ok(Flows::new(made, hosts, &names, transports))
}

/// Chooses the code for ports with as many queues as the switch has.
fn build<E: Protocol>(
    plan: &Plan,
    config: &E::Config,
    flows: Flows,
    threads: usize,
    watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> RunRecord {
    let full_wire = plan.full_wire_bytes();
    match plan.switch.queue_count() {
        1 => perform::<E, Port<1>>(plan, config, flows, full_wire, threads, watch),
        2 => perform::<E, Port<2>>(plan, config, flows, full_wire, threads, watch),
        _ => perform::<E, Port<8>>(plan, config, flows, full_wire, threads, watch),
    }
}

fn perform<E: Protocol, P: OutputPort>(
    plan: &Plan,
    config: &E::Config,
    flows: Flows,
    full_wire: u16,
    threads: usize,
    watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> RunRecord {
    let links = |routes: &Routes| {
        Links::new(
            &plan.link_events,
            &plan.impairment,
            plan.routing_convergence,
            routes.units(),
            plan.seed,
            |link| routes.reverse(link),
        )
    };
    let switch = (&plan.switch, plan.shared_memory);
    let mut network = Network::<E, P>::new(&plan.topology, switch, config, flows, plan.seed, links);
    let mut timeline = Timeline::default();
    let progress = match (&plan.timeline, plan.engine) {
        (Some(asked), _) => {
            let workloads = plan.workloads.iter().map(|workload| workload.name.clone()).collect();
            let recorder = Recorder::new(asked, &network.routes, &network.flows, workloads);
            let mut engine = Heap::new(&network, recorder);
            let stop = drive(plan, &mut network, &mut engine, watch);
            timeline = engine.into_observer().into_timeline();
            stop
        }
        (None, EngineChoice::Windows) => {
            let threads = division(plan, threads).threads;
            if threads > 1 {
                let partition = Partition::new(&network.routes, threads);
                together(&mut network, full_wire, &partition, |network, engine| {
                    drive(plan, network, engine, watch)
                })
            } else {
                let mut engine = Windows::new(&network, full_wire);
                drive(plan, &mut network, &mut engine, watch)
            }
        }
        (None, EngineChoice::Heap) => {
            let mut engine = Heap::new(&network, ());
            drive(plan, &mut network, &mut engine, watch)
        }
    };
    check_conservation(&network);
    let samples = progress.sampler.clone().map(Sampler::into_samples).unwrap_or_default();
    RunRecord { timeline, samples, ..record(plan, config, &network, &progress) }
}

/// Where a run stopped, and what had been delivered at the end of the warm-up.
struct Stop {
    now: Time,
    at_warm_up: Vec<u64>,
    is_interrupted: bool,
    sampler: Option<Sampler>,
}

fn drive<E: Protocol, P: OutputPort>(
    plan: &Plan,
    network: &mut Network<E, P>,
    engine: &mut dyn Engine<E, P>,
    watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Stop {
    let warm_up = Time::ZERO + plan.warm_up;
    let end = plan.duration.map(|duration| Time::ZERO + duration);
    let mut at_warm_up = Vec::new();
    let mut now = Time::ZERO;
    let mut next_check = 0;
    let mut sampler = plan.sample_every.map(|every| Sampler::new(network, every));
    loop {
        if now == warm_up {
            at_warm_up = delivered(network);
        }
        let (flows, flows_done) = network.flows.progress();
        let is_over = match end {
            Some(end) => now >= end,
            None => {
                let last = network.flows.last_change();
                flows_done == flows || now.saturating_since(last) > PATIENCE
            }
        };
        let seen = Progress {
            simulated: now.saturating_since(Time::ZERO),
            duration: plan.duration,
            packet_hops: network.packet_hops,
            flows_done,
            flows,
        };
        let is_interrupted = watch(seen).is_break() && !is_over;
        if is_over || is_interrupted {
            engine.settle(network, now);
            return Stop { now, at_warm_up, is_interrupted, sampler };
        }
        let mut next = now + STRIDE;
        if now < warm_up {
            next = next.min(warm_up);
        }
        if let Some(end) = end {
            next = next.min(end);
        }
        // The order at one instant: a change of a link comes first.
        loop {
            let change = network.next_link_event();
            let sample = sampler.as_ref().map_or(Time::NEVER, Sampler::next);
            let at = change.min(sample);
            if change >= next && sample > next {
                break;
            }
            engine.run_until(network, at);
            engine.settle(network, at);
            if change == at && change < next {
                network.change_links(at);
            } else if let Some(sampler) = &mut sampler {
                sampler.sample(network, at);
            }
        }
        engine.run_until(network, next);
        now = next;
        if end.is_none_or(|end| now >= end) || now == warm_up {
            engine.settle(network, now);
        }
        if network.packet_hops > next_check {
            network.check_queue_bounds();
            next_check = network.packet_hops + CHECK_HOPS;
        }
    }
}

fn delivered<E: Protocol, P: OutputPort>(network: &Network<E, P>) -> Vec<u64> {
    (0..network.flows.len())
        .map(|flow| match network.flows.has_receiver(flow) {
            true => {
                let receiver = network.endpoint(network.flows.description(flow).destination);
                receiver.statistics_of(network.flows.slots(flow).1).bytes
            }
            false => 0,
        })
        .collect()
}

/// Packets and bytes that entered the network left it, or are in it. Counted anew: what is inside
/// from the packet storage, not from the counters of queues and links.
fn check_conservation<E: Protocol, P: OutputPort>(network: &Network<E, P>) {
    let (mut packets, mut bytes) = (0, 0);
    network.arena.for_each_live(|packet| {
        packets += 1;
        bytes += u64::from(packet.wire_bytes);
    });
    let ledger = &network.ledger;
    let left = ledger.delivered.iter().sum::<u64>()
        + ledger.dropped
        + ledger.lost_on_link
        + ledger.corrupted;
    assert_eq!(ledger.created, left + packets, "packets are not conserved: {ledger:?}");
    assert_eq!(
        ledger.created_bytes,
        ledger.delivered_bytes
            + ledger.dropped_bytes
            + ledger.lost_bytes
            + ledger.cut_bytes
            + bytes,
        "bytes are not conserved: {ledger:?}"
    );
}

fn record<E: Protocol, P: OutputPort>(
    plan: &Plan,
    config: &E::Config,
    network: &Network<E, P>,
    stop: &Stop,
) -> RunRecord {
    let flows = &network.flows;
    let mut packets_delivered = 0;
    let mut records: Vec<FlowRecord> = (0..flows.len())
        .filter_map(|number| {
            // A flow that waits for the end of others has no start, and is none yet.
            let start = flows.start_of(number)?;
            let (record, packets) = flow_record(plan, network, stop, number, start);
            packets_delivered += packets;
            Some(record)
        })
        .collect();
    records.sort_by(|a, b| {
        let key = |r: &FlowRecord| (r.start_ps, r.source);
        key(a).cmp(&key(b)).then_with(|| a.workload.cmp(&b.workload)).then(a.index.cmp(&b.index))
    });
    let ports = network
        .port_counters()
        .enumerate()
        .map(|(port, counters)| PortRecord {
            name: network.routes.port_name(port as u32),
            packets: counters.packets,
            bytes: counters.bytes,
            trimmed: counters.trimmed,
            dropped: counters.dropped,
            returned: counters.returned,
            rate_bps: network.routes.link(port as u32).spec.rate.as_bps(),
        })
        .collect();
    let mut latencies = Vec::new();
    for number in (0..flows.len()).filter(|&number| flows.has_sender(number)) {
        let sender = network.endpoint(flows.description(number).source);
        sender.latencies(flows.slots(number).0, config, &mut latencies);
    }
    latencies.sort_unstable();
    RunRecord {
        timeline: Timeline::default(),
        samples: Samples::default(),
        latencies,
        series: plan.series.clone(),
        seed: plan.seed,
        flows: records,
        ports,
        simulated_ps: stop.now.as_ps(),
        measured_ps: stop.now.saturating_since(Time::ZERO + plan.warm_up).as_ps(),
        packet_hops: network.packet_hops,
        packets_delivered,
        interrupted: stop.is_interrupted,
    }
}

fn flow_record<E: Protocol, P: OutputPort>(
    plan: &Plan,
    network: &Network<E, P>,
    stop: &Stop,
    number: u32,
    start: Time,
) -> (FlowRecord, u64) {
    let flow = network.flows.description(number);
    let ends = network.flows.ends(number);
    let since_start = |end: Time| (end - start).as_ps();
    let end = match (flow.size, ends.delivered, ends.acknowledged) {
        _ if start >= stop.now => FlowEnd::NotStarted,
        (None, ..) => FlowEnd::LongLived,
        (_, Some(_), Some(_)) => FlowEnd::Completed,
        (_, Some(_), None) => FlowEnd::Delivered,
        _ => FlowEnd::RunEnded,
    };
    let mut record = FlowRecord {
        workload: plan.workloads[flow.workload as usize].name.clone(),
        index: flow.index,
        source: flow.source.get(),
        destination: flow.destination.get(),
        size_bytes: flow.size.map(ByteCount::get),
        start_ps: start.as_ps(),
        fct_receiver_ps: ends.delivered.map(since_start),
        fct_sender_ps: ends.acknowledged.map(since_start),
        ideal_fct_ps: flow.size.map(|size| ideal(plan, flow, size).as_ps()),
        delivered_bytes: 0,
        measured_bytes: 0,
        packets_sent: 0,
        retransmissions_signalled: 0,
        retransmissions_return: 0,
        retransmissions_timeout: 0,
        trims: 0,
        returns: 0,
        timeouts: 0,
        path_removals: 0,
        path_restorations: 0,
        end,
    };
    let (sender_slot, receiver_slot) = network.flows.slots(number);
    if network.flows.has_sender(number) {
        network.endpoint(flow.source).record_sender(sender_slot, &mut record);
    }
    let mut packets = 0;
    if network.flows.has_receiver(number) {
        packets = network.endpoint(flow.destination).record_receiver(receiver_slot, &mut record);
    }
    if let Some(size) = flow.size {
        assert!(
            record.delivered_bytes <= size.get(),
            "flow {number} delivered {} of {} bytes: something was delivered twice",
            record.delivered_bytes,
            size.get()
        );
        if ends.delivered.is_some() {
            assert_eq!(record.delivered_bytes, size.get(), "flow {number} ended with a hole");
        }
    }
    let before = stop.at_warm_up.get(number as usize).copied().unwrap_or(0);
    record.measured_bytes = record.delivered_bytes - before;
    (record, packets)
}

/// When the last byte of a flow would arrive in an idle network.
fn ideal(plan: &Plan, flow: &Flow, size: ByteCount) -> TimeDelta {
    let transport = plan.transport_of(&plan.workloads[flow.workload as usize]);
    let header = u64::from(transport.traits().header_bytes);
    let payload = u64::from(transport.payload_bytes());
    let full_packets = size.get().saturating_sub(1) / payload;
    let last = size.get() - full_packets * payload;
    plan.topology.ideal_completion(
        flow.source,
        flow.destination,
        full_packets,
        ByteCount::new(payload + header),
        ByteCount::new(last + header),
    )
}
