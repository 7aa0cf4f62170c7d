//! One run: from a plan to a record.

use std::io;
use std::ops::ControlFlow;

use trimline_metrics::{PauseCycles, RunRecord, Timeline};
use trimline_packet::{Time, TimeDelta};
use trimline_switch::{DrrModel, OutputPort, PortVisitor, visit_ports};

use crate::engine::{
    Engine, Heap, HostNodes, LookaheadWindows, Network, SwitchNodes, longest_run, together,
};
use crate::features::pfc::deadlocks::Deadlocks;
use crate::features::pfc::state::LosslessInputs;
use crate::features::timeline::state::Recorder;
use crate::flows::Flows;
use crate::links::Links;
use crate::network::{Core, Hosts, Switches, Transmitter, model_numbers};
use crate::partition::{Partition, division};
use crate::plan::{
    Arrivals, Connection, EngineChoice, FixedRoute, Plan, Pool, Progress, Resources, RunError,
    Size, Workload,
};
use crate::protocol::Protocol;
use crate::records::Records;
use crate::sampler::Sampler;
use crate::topology::{self, Routes};
use crate::workload;

/// Virtual time between two checks of the clock, the progress and the end. Every engine stops at the same instants, so
/// that events after the last flow agree.
pub(crate) const EPOCH: TimeDelta = TimeDelta::from_us(50);

/// Epochs between two times at which finished flows are forgotten.
const FORGET_EVERY: u64 = 8;

/// Flows that may begin between such times: if more do, flows are forgotten at each epoch.
const FORGET_BEYOND: u64 = 1 << 14;

/// Packet-hops between two checks of all queues: frequent enough for every phase of a run, rare enough to cost nothing.
const CHECK_HOPS: u64 = 250_000;

/// Runs a plan. `watch` receives the progress and may end the run early, as the record then says.
///
/// # Errors
/// Fails if the plan names hosts that do not exist, or needs more than a run can hold.
///
/// # Panics
/// Panics on a broken invariant: lost packets or bytes, or a double delivery.
pub fn run(
    plan: &Plan,
    watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<RunRecord, RunError> {
    run_with(plan, Resources::default(), watch)
}

/// Runs a plan on at most `threads` threads. The record does not depend on them.
///
/// # Errors
/// See [`run`].
///
/// # Panics
/// See [`run`].
pub fn run_on(
    plan: &Plan,
    threads: usize,
    watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<RunRecord, RunError> {
    run_with(plan, Resources { threads, ..Resources::default() }, watch)
}

/// Runs a plan with these resources. The record does not depend on them.
///
/// # Errors
/// See [`run`].
///
/// # Panics
/// See [`run`].
pub fn run_with(
    plan: &Plan,
    resources: Resources,
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
    leading.run(plan, resources, watch)
}

/// Runs a plan with hosts that have endpoints `E`; see [`run_with`].
pub(crate) fn run_hosts<E: Protocol>(
    plan: &Plan,
    config: &E::Config,
    resources: Resources,
    watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<RunRecord, RunError> {
    perform(plan, &|core, links| Box::new(Hosts::<E>::new(config, links, core)), resources, watch)
}

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
    plan.workloads.iter().try_for_each(|workload| check_persistent(plan, workload))?;
    let leads = |fixed_route: &FixedRoute| {
        topology::leads_to(&plan.topology, fixed_route.over, fixed_route.by)
            && !topology::leads_to_host(&plan.topology, fixed_route.by)
    };
    if !plan.fixed_routes.iter().all(leads) {
        let problem = "a fixed route by a port of another switch than that to which its link leads, or to a host";
        return Err(RunError::Topology(problem.to_owned()));
    }
    if plan.collects_telemetry() && (plan.detour.is_some() || !plan.fixed_routes.is_empty()) {
        let problem = "ways of more ports than packets with telemetry have room for";
        return Err(RunError::Topology(problem.to_owned()));
    }
    let applications = workload::applications(plan).map_err(RunError::Topology)?;
    let transports = plan.workloads.iter().map(|workload| workload.transport).collect();
    Ok(Flows::new(applications, hosts, transports))
}

/// Refuses persistent connections that take no further message.
fn check_persistent(plan: &Plan, workload: &Workload) -> Result<(), RunError> {
    let transport = plan.transport_of(workload);
    let problem = match (workload.connection, &workload.size) {
        (Connection::New, _) => return Ok(()),
        (Connection::Pool(Pool { each: 0, .. }), _) => "of which there are none".to_owned(),
        (Connection::Persistent | Connection::Pool(_), Size::LongLived) => {
            "whose flows never end".to_owned()
        }
        (Connection::Persistent | Connection::Pool(_), _) if !transport.takes_messages() => {
            format!("and transport `{}` sends one message on each", transport.name())
        }
        (
            Connection::Persistent | Connection::Pool(_),
            Size::Fixed(_) | Size::Drawn(_) | Size::Pareto(_),
        ) => return Ok(()),
    };
    let name = &workload.name;
    Err(RunError::Workload(format!("`{name}` keeps its connections, {problem}")))
}

fn switches(plan: &Plan, links: Vec<Transmitter>) -> Box<dyn SwitchNodes> {
    let every = DrrModel { main: plan.switch.clone(), droppable: plan.droppable.clone() };
    let others = plan.port_rules.iter().map(|rule| rule.model.clone());
    let numbers = model_numbers(&plan.port_rules, links.len() as u32);
    visit_ports(&every, others, MakePorts { numbers, links })
}

/// Makes idle ports with these links. `numbers` gives the model of each, where models differ.
struct MakePorts {
    numbers: Vec<u16>,
    links: Vec<Transmitter>,
}

impl PortVisitor for MakePorts {
    type Output = Box<dyn SwitchNodes>;

    fn visit<P: OutputPort + 'static>(self, model: P::Model) -> Box<dyn SwitchNodes> {
        Box::new(Switches::<P>::new(model, self.numbers, self.links))
    }
}

type MakeHosts<'a> = &'a dyn Fn(&mut Core, Vec<Transmitter>) -> Box<dyn HostNodes>;

fn perform(
    plan: &Plan,
    hosts: MakeHosts<'_>,
    resources: Resources,
    watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<RunRecord, RunError> {
    let links = |routes: &Routes| links_of(plan, routes);
    let full_wire = plan.full_wire_bytes();
    let inputs =
        plan.lossless.map(|lossless| LosslessInputs { lossless, largest_packet: full_wire });
    let (mut core, mut links) = Core::new(plan, flows(plan)?, links);
    let host_links = links.split_off(core.routes.ports() as usize);
    let hosts = hosts(&mut core, host_links);
    let lossless_and_detour = (inputs, plan.detour);
    let mut network = Network::new(core, switches(plan, links), hosts, lossless_and_detour);
    plan.fixed_routes
        .iter()
        .for_each(|fixed_route| network.fixed_route(fixed_route.over, fixed_route.by));
    let records = Records::new(plan, resources.records_in_memory);
    let mut timeline = Timeline::default();
    let mut drive = Drive { plan, records, watch };
    let stop = match (Recorder::new(plan, &network.core.routes), plan.engine) {
        (None, EngineChoice::LookaheadWindows) => {
            let threads = division(plan, resources.threads).threads;
            if threads > 1 {
                let partition = Partition::new(&network.core.routes, threads);
                together(&mut network, full_wire, &partition, |network, engine| {
                    drive.run(network, engine)
                })
            } else {
                let mut engine = LookaheadWindows::new(&network, full_wire);
                drive.run(&mut network, &mut engine)
            }
        }
        (recorder @ Some(_), EngineChoice::LookaheadWindows) | (recorder, EngineChoice::Heap) => {
            let mut engine = Heap::new(&network, recorder);
            let stop = drive.run(&mut network, &mut engine);
            timeline = engine.into_timeline();
            stop
        }
    }?;
    check_conservation(&network);
    let samples = stop.sampler.map(Sampler::into_samples).unwrap_or_default();
    let record = drive.records.into_record(&mut network, stop.now, stop.is_interrupted);
    Ok(RunRecord { timeline, samples, pause_cycles: stop.cycles, ..recorded(record)? })
}

fn links_of(plan: &Plan, routes: &Routes) -> Links {
    let links = Links::new(
        &plan.link_events,
        &plan.impairment,
        plan.routing_convergence,
        routes.nodes(),
        plan.seed,
        &|link| routes.reverse(link),
    );
    // Without samples hosts send as on any other link, at no cost.
    if plan.sample_every.is_some() { links.counted(routes.ports()) } else { links }
}

fn recorded<T>(records: io::Result<T>) -> Result<T, RunError> {
    records.map_err(|error| RunError::Records(error.to_string()))
}

struct Stop {
    now: Time,
    is_interrupted: bool,
    sampler: Option<Sampler>,
    cycles: PauseCycles,
}

struct Drive<'a, 'w> {
    plan: &'a Plan,
    records: Records<'a>,
    watch: &'w mut dyn FnMut(Progress) -> ControlFlow<()>,
}

/// Returns whether the flows of a run without a duration have ended, the last one `quiet` ago. Late packets are awaited
/// as long as flows are remembered: no sender would send them again.
fn have_ended(flows: &Flows, quiet: TimeDelta, time_wait: TimeDelta) -> bool {
    flows.are_over() && (flows.are_delivered() || quiet > time_wait)
}

/// Gives up a run without a duration in which no payload arrives and nothing else is due. Flows that end prove
/// progress. After a long time without one, the payload of flows under way is added up, twice.
#[derive(Default)]
struct StallTimer {
    /// The time at which payload was last found to have arrived.
    since: Time,
    /// Payload that had arrived after half of the time.
    arrived: Option<u64>,
}

impl StallTimer {
    fn is_spent(&mut self, network: &mut Network, engine: &mut dyn Engine, now: Time) -> bool {
        let quiet = now.saturating_since(network.core.flows.last_change().max(self.since));
        let max = network.hosts.stall_timeout();
        if quiet * 2 <= max {
            self.arrived = None;
            return false;
        }
        if self.arrived.is_some() && quiet <= max {
            return false;
        }
        engine.catch_up(network, now);
        let arrived = network.payload_arrived();
        let before = *self.arrived.get_or_insert(arrived);
        if quiet <= max {
            return false;
        }
        let is_due = network.core.next_link_event() != Time::NEVER || network.any_start();
        let goes_on = is_due || arrived != before;
        if goes_on {
            *self = StallTimer { since: now, arrived: None };
        }
        !goes_on
    }
}

impl Drive<'_, '_> {
    fn run(&mut self, network: &mut Network, engine: &mut dyn Engine) -> Result<Stop, RunError> {
        let plan = self.plan;
        let warm_up = Time::ZERO + plan.warm_up;
        let end = plan.duration.map(|duration| Time::ZERO + duration);
        let max = longest_run(network.core.lookahead());
        let mut now = Time::ZERO;
        let (mut next_check, mut epochs) = (0, 0u64);
        let forget_every = forget_every(plan);
        let mut deadlocks = Deadlocks::default();
        let mut stall_timer = StallTimer::default();
        let mut sampler = plan.sample_every.map(|every| Sampler::new(network, plan, every));
        loop {
            if now == warm_up {
                recorded(self.records.begin_measuring(network, now))?;
            }
            if let Some(failure) = network.core.flows.failure() {
                return Err(RunError::Workload(failure.to_owned()));
            }
            let is_over = match end {
                Some(end) => now >= end,
                None => {
                    let quiet = now.saturating_since(network.core.flows.last_change());
                    have_ended(&network.core.flows, quiet, network.hosts.time_wait())
                        || stall_timer.is_spent(network, engine, now)
                }
            };
            let is_stuck = deadlocks.inspect(network, engine, now);
            let is_interrupted = is_stuck || self.inspect(network, now).is_break() && !is_over;
            if is_over || is_interrupted {
                engine.catch_up(network, now);
                let cycles = deadlocks.found(&network.core.routes);
                return Ok(Stop { now, is_interrupted, sampler, cycles });
            }
            if now >= Time::ZERO + max {
                return Err(RunError::Workload(format!(
                    "it goes on after {max}, the longest run with these links; `duration` ends it before"
                )));
            }
            let mut next = (now + EPOCH).min(Time::ZERO + max);
            if now < warm_up {
                next = next.min(warm_up);
            }
            if let Some(end) = end {
                next = next.min(end);
            }
            run_epoch(network, engine, &mut sampler, next);
            now = next;
            epochs += 1;
            let forgets = epochs.is_multiple_of(forget_every) && network.core.flows.has_sized();
            if end.is_none_or(|end| now >= end) || now == warm_up || forgets {
                engine.catch_up(network, now);
            }
            if forgets {
                recorded(self.records.forget(network, now))?;
            }
            if network.core.packet_hops() > next_check {
                network.check_queue_bounds();
                next_check = network.core.packet_hops() + CHECK_HOPS;
            }
        }
    }

    fn inspect(&mut self, network: &Network, now: Time) -> ControlFlow<()> {
        let (flows, flows_done) = network.core.flows.progress();
        (self.watch)(Progress {
            simulated: now.saturating_since(Time::ZERO),
            duration: self.plan.duration,
            packet_hops: network.core.packet_hops(),
            flows_done,
            flows,
        })
    }
}

/// Epochs between two times at which finished flows are forgotten. The plan alone decides, so that all engines agree.
fn forget_every(plan: &Plan) -> u64 {
    let span = u128::from(EPOCH.as_ps()) * u128::from(FORGET_EVERY);
    let begin = |workload: &Workload| match workload.arrivals {
        Arrivals::Poisson { mean: gap, .. } | Arrivals::Periodic { every: gap, .. } => {
            u128::from(plan.topology.hosts()) * span / u128::from(gap.as_ps().max(1))
        }
        Arrivals::Once | Arrivals::ClosedLoop { .. } => 0,
    };
    match plan.workloads.iter().map(begin).sum::<u128>() > u128::from(FORGET_BEYOND) {
        true => 1,
        false => FORGET_EVERY,
    }
}

/// Runs until `next`. At one instant a change of a link comes first.
fn run_epoch(
    network: &mut Network,
    engine: &mut dyn Engine,
    sampler: &mut Option<Sampler>,
    next: Time,
) {
    loop {
        let change = network.core.next_link_event();
        let sample = sampler.as_ref().map_or(Time::NEVER, Sampler::next);
        let at = change.min(sample);
        if change >= next && sample > next {
            break;
        }
        engine.run_until(network, at);
        engine.catch_up(network, at);
        if change == at && change < next {
            network.change_links(at);
            for node in network.core.take_disturbed() {
                engine.disturb(network, node, at);
            }
        } else if let Some(sampler) = sampler {
            network.switches.end_transmissions(&mut network.core, at);
            sampler.sample(network, at);
        }
    }
    engine.run_until(network, next);
}

/// Checks that packets and bytes that entered the network left it, or are in it. Counts the inside from the packet
/// storage, not from queues and links.
fn check_conservation(network: &Network) {
    let (mut packets, mut bytes) = (0, 0);
    network.core.arena.for_each_live(|packet| {
        packets += 1;
        bytes += u64::from(packet.wire_bytes);
    });
    let ledger = &network.core.ledger;
    let left = ledger.delivered.iter().sum::<u64>() + ledger.dropped + ledger.lost;
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
