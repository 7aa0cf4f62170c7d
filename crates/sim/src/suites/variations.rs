//! Further variations of a network: shared memory, different ports, delays of hosts and switches, persistent
//! connections.

use std::num::NonZeroU16;
use std::sync::Arc;

use trimline_hostnic::{Adaptive, Bypass, Interrupts, ReceiverSettings, TransmitterSettings};
use trimline_hostnic::{Measured, PacerSettings};
use trimline_packet::fluid::Clock;
use trimline_packet::{BitRate, ByteCount, TimeDelta};
use trimline_switch::PhantomSettings;
use trimline_switch::detour::{Counts, DetourModel, Detourable, Pick, Seen, Targets};
use trimline_switch::model::{MarkAt, Unit};
use trimline_switch::{
    Action, Alpha, Choices, Classifier, DrrModel, Limit, Marker, Scheduler, ServiceModel,
};
use trimline_transport::ndp;

use super::plans::workload;
use crate::plan::{
    Arrivals, Connection, Gap, Groups, Lossless, Matrix, PacedHosts, Pareto, PhantomLink, Plan,
    Pool, PortRule, Queries, ReceiveHosts, Servers, SharedMemory, Size, SizeDistribution, Spraying,
    TransmitHosts, WhenBusy, Workload,
};
use crate::topology::{self, HostDelay, Processing, Routes};
use crate::transports::{Chosen, Ndp, Transport};
use trimline_packet::SplitMix;

/// Makes queues share memory of four packets or more.
pub(super) fn share_memory(plan: &mut Plan, seed: u64) {
    let mut draws = SplitMix(seed ^ 0x706f_6f6c_0000);
    let payload = plan.transports[0].payload_bytes();
    let packets = draws.one_of(&[2, 8, 60]);
    let mut switch = match draws.modulo(5) {
        0 => trimline_switch::Choices::paper(packets, payload),
        1 => trimline_switch::Choices::p4(packets, payload),
        2 => trimline_switch::Choices::drop_tail(packets),
        3 => trimline_switch::Choices::qos(packets),
        _ => trimline_switch::Choices::ecn(packets, packets / 3),
    };
    let alpha = draws.one_of(&[(1, 1), (3, 1), (64, 1)]);
    for queue in &mut switch.queues {
        if draws.modulo(4) != 0 {
            queue.pool = Some(Alpha::from_fraction(alpha.0, alpha.1));
        }
    }
    plan.switch = switch.build().expect("a model");
    let packet = u64::from(payload) + 64;
    plan.shared_memory = match draws.modulo(2) {
        0 => SharedMemory::OfPort(ByteCount::new(packet * draws.one_of(&[2, 10]))),
        _ => SharedMemory::OfSwitch(ByteCount::new(packet * draws.one_of(&[4, 40]))),
    };
}

/// Adds priority flow control with early or late thresholds, with or without a queue for control packets.
pub(super) fn stop_inputs(plan: &mut Plan, seed: u64) {
    let mut draws = SplitMix(seed ^ 0x7066_6300_0000);
    let packet = u32::from(plan.full_wire_bytes());
    let mut choices = trimline_switch::Choices::drop_tail(1);
    let queue = &mut choices.queues[0];
    (queue.whole, queue.header) = (Limit::NONE, Limit::NONE);
    let kmin = packet * draws.one_of(&[0, 1, 8]);
    queue.marker = match draws.modulo(3) {
        0 => Marker::None,
        1 => Marker::Threshold {
            unit: Unit::Bytes,
            above: kmin,
            count_self: false,
            at: draws.one_of(&[MarkAt::Enqueue, MarkAt::Dequeue]),
        },
        _ => Marker::Ramp {
            kmin,
            kmax: kmin + 5 * packet,
            pmax: 1 << draws.modulo(32),
            at: draws.one_of(&[MarkAt::Enqueue, MarkAt::Dequeue]),
        },
    };
    let mut classes = 1;
    if draws.modulo(2) == 0 {
        choices.queues.insert(0, choices.queues[0].clone().marker(Marker::None));
        choices.classifier = Classifier::HeaderAndData;
        choices.scheduler = Scheduler::Strict;
        classes = draws.one_of(&[0b10, 0b11]);
    }
    plan.switch = choices.build().expect("a model");
    (plan.shared_memory, plan.droppable) = (SharedMemory::None, None);
    plan.port_rules.clear();
    let xoff = packet * draws.one_of(&[1, 3, 20]) + draws.modulo(100) as u32;
    let xon = draws.modulo(u64::from(xoff)) as u32;
    plan.lossless = Some(Lossless { xoff, xon, headroom: None, classes });
}

/// A port that sends trimmed packets to their senders, or to both ends.
pub(super) fn trims_towards_senders(both: bool, packets: u32, payload_bytes: u16) -> ServiceModel {
    let mut choices = Choices::paper(packets, payload_bytes);
    choices.queues[1].overflow = vec![if both { Action::TrimToBoth } else { Action::TrimToSender }];
    choices.build().expect("a model")
}

/// Makes switches detour packets early or late, rarely or always. Not with priority flow control: paths that are not up
/// and down may form a cycle of paused ports.
pub(super) fn detour(plan: &mut Plan, seed: u64) {
    let mut draws = SplitMix(seed ^ 0x6f70_6600_0000);
    let routes = Routes::new(&plan.topology);
    let has_ways = (0..routes.ports()).any(|port| routes.leads_to_switch(port));
    if plan.lossless.is_some() || !has_ways {
        return;
    }
    let scheme = match draws.modulo(4) {
        0 => DetourModel::dibs(),
        1 => DetourModel::rps(),
        _ => DetourModel::opf(draws.modulo(3) as u32),
    };
    let is_spraying = scheme.targets.equal_cost;
    let limits = match is_spraying {
        true => [None; 4],
        // A packet that is detoured for ever in a small network may never arrive.
        false => [Some(1), Some(2), Some(2), Some(20)],
    };
    let mut model = DetourModel {
        detourable: draws.one_of(&[Detourable::Unscheduled, Detourable::Data, Detourable::Data]),
        hot: if draws.modulo(8) == 0 { None } else { scheme.hot },
        pick: draws.one_of(&[Pick::ShorterOfTwo, Pick::One]),
        targets: Targets {
            hosts: !is_spraying && draws.modulo(8) == 0,
            input: draws.modulo(4) == 0,
            dead: draws.modulo(4) == 0,
            own: is_spraying || draws.modulo(4) == 0,
            ..scheme.targets
        },
        limit: draws.one_of(&limits),
        counts: draws.one_of(&[Counts::Detours, Counts::Detours, Counts::Switches]),
        seen: draws.one_of(&[Seen::Now, Seen::Now, Seen::LastDeparture, Seen::LastArrivalThatLeft]),
    };
    // A register may stay above its threshold for ever. Without its own port among the drawn ones, a packet would then
    // always leave towards the same dead link.
    model.targets.own |= model.seen != Seen::Now;
    if model.seen != Seen::Now {
        // A lone packet is detoured up to the limit, and each link may lose it.
        model.limit = model.limit.map(|limit| limit.min(2));
    }
    plan.detour = Some(model);
}

/// Adds phantom queues to some links, and pacers to some hosts.
pub(super) fn bump_links(plan: &mut Plan, seed: u64) {
    let mut draws = SplitMix(seed ^ 0x6275_6d70_0000);
    let routes = Routes::new(&plan.topology);
    let one_in = draws.one_of(&[1, 3]);
    for (_, link) in topology::links(&plan.topology) {
        if draws.modulo(one_in) != 0 {
            continue;
        }
        let rate = routes.link(link.node()).spec.rate;
        let settings = PhantomSettings {
            drain: BitRate::from_bps(rate.as_bps() / 100 * draws.one_of(&[50, 80, 95])),
            threshold: ByteCount::new(draws.one_of(&[1, 1_000, 30_000])),
            clock: draws.one_of(&[Clock::Continuous, Clock::Tick(TimeDelta::from_ns(800))]),
        };
        let model = settings.check(rate).expect("a drain below the rate");
        plan.phantom_queues.push(PhantomLink { link, settings, model });
    }
    // A pacer does not see pauses.
    if plan.lossless.is_none() && draws.modulo(2) == 0 {
        plan.pacer = Some(pace(plan, &mut draws));
    }
}

/// Pacers that follow their flows fast or slowly, with small or large buckets.
fn pace(plan: &Plan, draws: &mut SplitMix) -> PacedHosts {
    let link = plan.topology.host_link.rate;
    let packet = plan.full_wire_bytes();
    let settings = PacerSettings {
        interval: TimeDelta::from_us(draws.one_of(&[1, 7, 64])),
        backlog_gain: draws.one_of(&[16, 375, 100_000]),
        measured: draws.one_of(&[Measured::Paced, Measured::FromHost]),
        min_rate: BitRate::from_bps(draws.one_of(&[500_000, 50_000_000])),
        bucket: ByteCount::new(u64::from(packet) * draws.one_of(&[1, 2])),
        clock: draws.one_of(&[Clock::Continuous, Clock::Tick(TimeDelta::from_us(16))]),
        queue: ByteCount::new(u64::from(packet) * draws.one_of(&[2, 40])),
        buckets: draws.one_of(&[1, 1, 4]),
        association_chance: draws.one_of(&[1_000_000_000, 125_000_000]),
        association_lifetime: TimeDelta::from_us(draws.one_of(&[10, 1_000, 10_000])),
        flows: draws.one_of(&[1, 64]),
        ..PacerSettings::simulated()
    };
    let model = settings.check(link, packet).expect("a pacer");
    let hosts = plan.topology.hosts();
    let some = (0..hosts).filter(|_| draws.modulo(2) == 0).collect();
    PacedHosts { hosts: draws.one_of(&[true, false]).then_some(some), settings, model }
}

/// Adds queues in NICs, and processors for arriving packets.
pub(super) fn add_nics(plan: &mut Plan, seed: u64) {
    let mut draws = SplitMix(seed ^ 0x6e69_6373_0000);
    let packet = plan.full_wire_bytes();
    let us = TimeDelta::from_us;
    let hosts = plan.topology.hosts();
    let some = |draws: &mut SplitMix| match draws.modulo(3) {
        0 => Some((0..hosts).filter(|_| draws.modulo(2) == 0).collect()),
        _ => None,
    };
    // A queue does not see pauses.
    if plan.lossless.is_none() && draws.modulo(3) != 0 {
        let settings = TransmitterSettings {
            queue: ByteCount::new(u64::from(packet) * draws.one_of(&[4, 40, 1_000])),
            burst: ByteCount::new(draws.one_of(&[0, 5_000, 64_000])),
            per_burst: TimeDelta::from_ns(draws.one_of(&[0, 300, 5_000])),
        };
        let model = settings.check(packet).expect("a queue");
        let transmit = TransmitHosts { hosts: some(&mut draws), settings, model };
        // Flows may never end if tokens expire while a host hands over a burst.
        let is_usable = |chosen: &Chosen| {
            chosen.token_expiry().is_none_or(|(_, expiry)| expiry > settings.per_burst)
        };
        plan.nics.transmit = plan.transports.iter().all(is_usable).then_some(transmit);
    }
    let processors = draws.one_of(&[1, 1, 3, 16]);
    let settings = ReceiverSettings {
        interrupts: match draws.modulo(3) {
            0 => Interrupts::EachFrame,
            1 => Interrupts::Coalesced {
                frames: draws.one_of(&[2, 32]),
                time: us(draws.one_of(&[0, 3, 50])),
            },
            _ => Interrupts::Adaptive(Adaptive { interval: us(20), ..Adaptive::mlx4() }),
        },
        ring: draws.one_of(&[16, 1_024]),
        round: if processors > 1 { 1 } else { draws.one_of(&[1, 64]) },
        merge: ByteCount::new(draws.one_of(&[0, 20_000, 64_000])),
        processors,
        per_interrupt: TimeDelta::from_ns(draws.one_of(&[0, 1_000])),
        per_packet: TimeDelta::from_ns(draws.one_of(&[0, 260])),
        per_answer: TimeDelta::from_ns(draws.one_of(&[0, 5_200])),
        bypass: Bypass { notifications: draws.modulo(2) == 0, probes: draws.modulo(2) == 0 },
    };
    let model = settings.check().expect("processors");
    plan.nics.receive = Some(ReceiveHosts { hosts: some(&mut draws), settings, model });
}

/// Makes ports differ, and adds a second queue for droppable packets.
pub(super) fn vary_ports(plan: &mut Plan, seed: u64) {
    let mut draws = SplitMix(seed ^ 0x706f_7274_7300);
    let payload = plan.transports[0].payload_bytes();
    let beside = |draws: &mut SplitMix| match draws.modulo(3) {
        0 => None,
        1 => Some(ServiceModel::drop_tail(draws.one_of(&[2, 9, 50]))),
        _ => Some(ServiceModel::ecn(draws.one_of(&[6, 50]), 3)),
    };
    plan.droppable = beside(&mut draws);
    let links = topology::links(&plan.topology);
    let ports: Vec<_> = links.iter().filter(|(name, _)| !name.starts_with("host")).collect();
    // Either all ports of a switch share memory, or no port does.
    let rules = if plan.switch.shares_memory() { 0 } else { 1 + draws.modulo(3) };
    for _ in 0..rules {
        let packets = draws.one_of(&[2, 8, 40]);
        let main = match draws.modulo(6) {
            0 => last_hop(packets, payload),
            1 => ServiceModel::p4(packets, payload),
            2 => ServiceModel::drop_tail(packets),
            3 => ServiceModel::qos(packets),
            4 => selective(packets, draws.one_of(&[0, 6000])),
            _ => ServiceModel::cut_payload(packets, payload + 64),
        };
        let (every, first) = (1 + draws.modulo(3) as usize, draws.modulo(3) as usize);
        let ports = ports.iter().skip(first).step_by(every).map(|&&(_, link)| link).collect();
        let model = DrrModel { main, droppable: beside(&mut draws) };
        let base = plan.base.clone();
        plan.port_rules.push(PortRule { ports, model, base });
    }
}

/// NDP's queues with `last_hop`, wherever the port is.
fn last_hop(packets: u32, payload: u16) -> ServiceModel {
    let choices = Choices { is_last_hop: true, ..Choices::paper(packets, payload) };
    choices.build().expect("a model")
}

fn selective(packets: u32, above: u32) -> ServiceModel {
    let mut choices = Choices::drop_tail(packets);
    choices.queues[0].selective_drop = Some(above);
    choices.build().expect("a model")
}

/// Gives hosts and switches random delays in both directions, and links framing.
pub fn take_time(plan: &mut Plan, seed: u64) {
    let mut draws = SplitMix(seed ^ 0x7061_7274_7300);
    let mut host = || HostDelay {
        min: TimeDelta::from_ns(draws.one_of(&[0, 1, 800, 20_000])),
        spread: TimeDelta::from_ns(draws.one_of(&[0, 0, 1, 900, 30_000])),
    };
    plan.topology.processing = Processing {
        host_send: host(),
        host_receive: host(),
        switch: [0; 3].map(|_| TimeDelta::from_ns(draws.one_of(&[0, 300, 2_000]))),
    };
    let clos = &mut plan.topology;
    for link in [&mut clos.host_link, &mut clos.tor_link, &mut clos.aggregation_link] {
        link.framing_bytes = draws.one_of(&[0, 20, 24, 333]);
    }
    let framing_bytes = plan.topology.host_link.framing_bytes;
    for chosen in &mut plan.transports {
        if let Some(config) = chosen.config::<ndp::Config>() {
            *chosen = Ndp.with(ndp::Config { framing_bytes, ..config.clone() });
        }
    }
}

/// Makes all connections persistent, with flows that follow each other, and adds requests.
pub(super) fn make_persistent(plan: &mut Plan, seed: u64) {
    let mut draws = SplitMix(seed ^ 0x6b65_7074_0000);
    for workload in &mut plan.workloads {
        workload.arrivals = arrivals(workload, &mut draws);
    }
    plan.workloads.extend(queries(plan.topology.hosts(), &mut draws));
    for workload in may_persist(plan) {
        workload.connection = Connection::Persistent;
    }
}

/// Returns workloads that may have persistent connections: all but groups of answers, whose servers repeat.
fn may_persist(plan: &mut Plan) -> impl Iterator<Item = &mut Workload> {
    let is_group = |workload: &Workload| {
        let Matrix::Requests(queries) = &workload.matrix else { return false };
        matches!(queries.servers, Servers::Groups(_))
    };
    let has_groups = plan.workloads.iter().any(is_group);
    plan.workloads
        .iter_mut()
        .filter(move |workload| !(has_groups && workload.name.starts_with('q')))
}

/// Makes connections persistent, in pools of one or more. Sizes are Pareto or a mixture of two.
pub(super) fn pool_connections(plan: &mut Plan, seed: u64) {
    make_persistent(plan, seed);
    let mut draws = SplitMix(seed ^ 0x706f_6f6c_7300);
    for workload in may_persist(plan) {
        workload.size = heavy_tail(&workload.size, &mut draws);
        if let Matrix::Requests(queries) = &mut workload.matrix {
            queries.from_request = draws.modulo(2) == 0;
        }
    }
    let each = draws.one_of(&[1, 2, 3, 16]);
    let when_busy = draws.one_of(&[WhenBusy::Wait, WhenBusy::LeastBusy]);
    for workload in may_persist(plan) {
        workload.connection = Connection::Pool(Pool { each, when_busy });
    }
}

/// Gives every workload heavy-tailed sizes.
pub(super) fn draw_sizes(plan: &mut Plan, seed: u64) {
    let mut draws = SplitMix(seed ^ 0x7061_7265_746f);
    for workload in &mut plan.workloads {
        workload.size = heavy_tail(&workload.size, &mut draws);
    }
}

/// Returns sizes of about equal mean, with a few much larger sizes.
fn heavy_tail(size: &Size, draws: &mut SplitMix) -> Size {
    let mean = size.mean_millibytes().unwrap_or(0) / 1000;
    let max = 200_000;
    let mean = mean.clamp(100, max / 4);
    let shape = draws.one_of(&[(105, 100), (3, 2), (4, 1)]);
    let pareto = match draws.modulo(3) {
        0 => Pareto::bounded(shape, mean, max),
        1 => Pareto::unbounded(shape, mean, max),
        _ => {
            let sizes = SizeDistribution::mixture(&[(mean, 4), (max, 1)]).expect("a mixture");
            return Size::Drawn(Arc::new(sizes));
        }
    };
    Size::Pareto(pareto.expect("sizes of 100 B and more"))
}

/// Draws several flows for each one; they start before or after the previous one ends.
fn arrivals(workload: &Workload, draws: &mut SplitMix) -> Arrivals {
    let gap = TimeDelta::from_us(draws.one_of(&[0, 1, 20, 300, 5_000]));
    let every = TimeDelta::from_us(draws.one_of(&[1, 20, 200]));
    let until = workload.start + every * (1 + draws.modulo(8));
    let count = Some(1 + draws.modulo(6) as u32);
    match draws.modulo(3) {
        0 => Arrivals::Poisson { mean: every, until },
        1 => Arrivals::Periodic { every, until },
        // The senders of an incast do not wait for each other.
        _ if matches!(workload.matrix, Matrix::Incast { .. }) => {
            Arrivals::Periodic { every, until }
        }
        _ => Arrivals::ClosedLoop { gap: Gap::Fixed(gap), count },
    }
}

fn queries(hosts: u32, draws: &mut SplitMix) -> [Workload; 2] {
    let servers = Servers::Fixed(1 + draws.modulo(u64::from(hosts - 1).min(3)) as u32);
    let service_time = Gap::Fixed(TimeDelta::from_us(draws.modulo(30)));
    let asked = Matrix::Requests(Queries {
        clients: None,
        servers,
        excluding: vec![],
        service_time,
        from_request: false,
    });
    let gap = Gap::Fixed(TimeDelta::from_us(draws.modulo(100)));
    let arrivals = Arrivals::ClosedLoop { gap, count: Some(1 + draws.modulo(4) as u32) };
    let mut requests = workload("q-requests", asked, Some(1 + draws.modulo(3_000)));
    let mut answers = workload("q", Matrix::Responses, Some(1 + draws.modulo(30_000)));
    if draws.modulo(2) == 0
        && let Matrix::Requests(queries) = &mut requests.matrix
    {
        // A group may have more answers than a small network has hosts.
        let groups = Groups::new(&[(2_000, 1), (8_000, 2)], &[8_000, 24_000]).expect("groups");
        answers.size = Size::Drawn(Arc::new(groups.of_answers()));
        queries.servers = Servers::Groups(groups);
        if draws.modulo(2) == 0 {
            queries.clients = Some(vec![0, hosts - 1]);
        }
    }
    [requests, answers].map(|workload| Workload { arrivals, ..workload })
}

/// Adds settings from the critique of NDP: own payloads, a number of random pairs, per-pair paths, memory in cells,
/// discarded credits.
pub(super) fn mix(plan: &mut Plan, seed: u64) {
    let mut draws = SplitMix(seed ^ 0x6d69_7800_0000);
    let hosts = plan.topology.hosts();
    let matrix = Matrix::RandomPairs {
        total: 1 + draws.modulo(20) as u32,
        not_source: vec![0],
        not_destination: vec![hosts - 1],
        self_pairs: draws.modulo(2) == 0,
    };
    plan.workloads.push(workload("drawn", matrix, Some(1 + draws.modulo(60_000))));
    for place in 0..plan.workloads.len() {
        let chosen = plan.transport_of(&plan.workloads[place]);
        // No larger than the packets that NICs and port rules were made for.
        let own = draws.one_of(&[64, 700, 1500, 4500]).min(chosen.payload_bytes());
        let workload = &mut plan.workloads[place];
        if draws.modulo(3) != 0 && chosen.with_payload(own).is_ok() {
            workload.payload = NonZeroU16::new(own);
        }
        if draws.modulo(2) == 0 && chosen.traits().keeps_paths {
            workload.spraying = Spraying::PerPair;
        }
    }
    if draws.modulo(3) == 0
        && let Some(config) = plan.transports[0].config::<ndp::Config>()
    {
        plan.transports[0] = Ndp.with(config.clone().without_credit_bank());
        plan.duration = Some(TimeDelta::from_ms(5));
    }
    let is_fixed = plan.lossless.is_some() || plan.switch.shares_memory();
    if is_fixed || plan.switch.demands() != Default::default() {
        return;
    }
    let payload = plan.full_wire_bytes();
    let packets = draws.one_of(&[2, 6, 30]);
    let mut switch = match draws.modulo(4) {
        0 => Choices::htsim(packets + 1, payload),
        1 => Choices::drop_tail(packets),
        2 => Choices::ecn(packets, packets / 3),
        _ => Choices::paper(packets, payload),
    };
    switch.cell_bytes = draws.one_of(&[1, 32, 64, 256, 1000]);
    if switch.classifier == Classifier::HeaderAndData && draws.modulo(2) == 0 {
        // Few headers fit, so more are bounced.
        let limit = Limit::bytes(4 * u32::from(switch.cell_bytes).max(100));
        (switch.queues[0].whole, switch.queues[0].header) = (limit, limit);
    }
    plan.switch = switch.build().expect("a model");
}
