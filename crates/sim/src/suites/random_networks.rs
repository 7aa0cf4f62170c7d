//! Random small networks with all kinds of faults at once.

use std::ops::Range;

use trimline_metrics::{FlowEnd, PauseCycles, RunRecord};
use trimline_packet::{BitRate, ByteCount, TimeDelta};
use trimline_switch::{Cap, Choices, Limit, Marker, ServiceModel, Signal};

use super::plans::{fattree, incast, plan, run, same_everywhere, star, workload};
use super::variations::{
    add_nics, bump_links, detour, draw_sizes, make_persistent, mix, pool_connections, share_memory,
    stop_inputs, take_time, trims_towards_senders, vary_ports,
};
use crate::plan::{Impairment, LinkChange, LinkEvent, Matrix, Plan, Share, Size, Spraying};
use crate::topology::{self, Clos, LinkSpec};
use crate::transports::{AnyTransport, Keys, Ndp, random_parameters};
use trimline_packet::SplitMix;

fn topology(draws: &mut SplitMix) -> Clos {
    let mut clos = match draws.modulo(5) {
        0 => star(2 + draws.modulo(14) as u32),
        1 => fattree(4),
        2 => Clos { hosts_per_tor: 4, ..fattree(4) },
        3 => Clos {
            tiers: 2,
            pods: 1,
            tors_per_pod: 2 + draws.modulo(4) as u32,
            hosts_per_tor: 1 + draws.modulo(4) as u32,
            aggregations_per_pod: 1 + draws.modulo(4) as u32,
            cores_per_aggregation: 0,
            ..fattree(4)
        },
        _ => Clos { tiers: 0, pods: 1, tors_per_pod: 2, hosts_per_tor: 1, ..star(2) },
    };
    if draws.modulo(3) == 0 {
        let mut spec = || {
            let rate = BitRate::from_gbps(draws.one_of(&[1, 3, 10, 40, 100]));
            LinkSpec::new(rate, TimeDelta::from_ns(draws.one_of(&[0, 100, 1000, 5000])))
        };
        (clos.host_link, clos.tor_link, clos.aggregation_link) = (spec(), spec(), spec());
    }
    clos
}

/// A random small network with NDP: topology, switch profile, workloads, tiny queues.
pub fn case(number: u64) -> Plan {
    let mut draws = SplitMix(number);
    let topology = topology(&mut draws);
    let hosts = topology.hosts();
    let host = |draws: &mut SplitMix| draws.modulo(u64::from(hosts)) as u32;
    let mut workloads = Vec::new();
    for place in 0..1 + draws.modulo(3) {
        let mut new = match draws.modulo(4) {
            0 => {
                let mut matrix = incast(1 + draws.modulo(u64::from(hosts) - 1) as u32, 1);
                let size = trimline_packet::ByteCount::new(1 + draws.modulo(300_000));
                matrix.size = Size::Fixed(size);
                matrix
            }
            1 => workload("", Matrix::Permutation, Some(1 + draws.modulo(1_000_000))),
            2 => workload("", Matrix::Permutation, None),
            _ => {
                let mut pairs = Vec::new();
                for _ in 0..1 + draws.modulo(6) {
                    let from = host(&mut draws);
                    pairs.push((from, (from + 1 + host(&mut draws) % (hosts - 1)) % hosts));
                }
                workload("", Matrix::Pairs(pairs), Some(1 + draws.modulo(200_000)))
            }
        };
        new.name = format!("w{place}");
        new.start_jitter = TimeDelta::from_ns(draws.one_of(&[0, 1, 1000, 100_000]));
        new.start = TimeDelta::from_us(draws.one_of(&[0, 0, 7, 2_000]));
        new.class = draws.modulo(4) as u8;
        if draws.modulo(4) == 0 {
            new.spraying = Spraying::SwitchRandom;
        }
        workloads.push(new);
    }
    let packets = draws.one_of(&[1, 2, 3, 6, 8, 12]);
    let payload = draws.one_of(&[9000, 9000, 1500, 512]);
    let switch = match draws.modulo(8) {
        0 => ServiceModel::htsim(packets.max(2), payload),
        1 => ServiceModel::csg_htsim(packets.max(2), payload),
        2 => ServiceModel::netfpga(),
        3 => ServiceModel::p4(packets, payload),
        4 => ServiceModel::drop_tail(packets + 4),
        5 => ServiceModel::paper(packets, 128),
        _ => ServiceModel::paper(packets, payload),
    };
    let chosen = random_parameters(&Ndp, &mut draws, payload, &topology);
    let mut plan = plan(topology, chosen, workloads);
    (plan.seed, plan.switch) = (number, switch);
    let is_endless = plan.workloads.iter().any(|workload| workload.size == Size::LongLived);
    if is_endless || draws.modulo(4) == 0 {
        plan.duration = Some(TimeDelta::from_ps(1_000_000_000 + draws.modulo(2_000_000_000)));
        plan.warm_up = TimeDelta::from_ps(draws.modulo(900_000_000));
    }
    plan
}

/// Draws changes of the links of a run. At most one failed link is not restored.
pub fn change_links(plan: &mut Plan, draws: &mut SplitMix) {
    let links = topology::links(&plan.topology);
    for _ in 0..draws.modulo(4) {
        let link = links[draws.modulo(links.len() as u64) as usize].1;
        let begin = draws.one_of(&[0, 1, 20, 100, 1_000, 2_050]) * 1_000_000;
        let begin = TimeDelta::from_ps(begin + draws.modulo(3) * draws.modulo(1_000_000));
        let length = draws.one_of(&[1, 50, 500, 3_000, 20_000]);
        let both_directions = draws.modulo(3) != 0;
        let change = match draws.modulo(3) {
            0 => LinkChange::Rate(BitRate::from_bps(draws.one_of(&[
                100_000_000,
                1_000_000_000,
                2_500_000_000,
                40_000_000_000,
            ]))),
            _ => LinkChange::Fail,
        };
        let end = begin + TimeDelta::from_us(length);
        plan.link_events.push(LinkEvent { at: begin, link, both_directions, change });
        let change = LinkChange::Restore;
        plan.link_events.push(LinkEvent { at: end, link, both_directions: true, change });
    }
    if draws.modulo(4) == 0 {
        // One link between switches fails for good. If each switch has two up-links every pair of hosts keeps a path;
        // otherwise a time limit ends the run.
        let between: Vec<_> = links.iter().filter(|(name, _)| name.contains(" up ")).collect();
        if !between.is_empty() {
            let link = between[draws.modulo(between.len() as u64) as usize].1;
            let back = topology::reverse(&plan.topology, link);
            plan.link_events.retain(|event| event.link != link && event.link != back);
            let at = TimeDelta::from_us(draws.modulo(1_000));
            let (both_directions, change) = (draws.modulo(2) == 0, LinkChange::Fail);
            plan.link_events.push(LinkEvent { at, link, both_directions, change });
            if plan.topology.aggregations_per_pod < 2 {
                plan.duration = Some(TimeDelta::from_ms(20));
            }
        }
    }
    plan.routing_convergence = TimeDelta::from_us(draws.one_of(&[0, 1, 200, 5_000]));
    let mut share = |shares: &[u64]| Share::from_billionths(draws.one_of(shares)).expect("a share");
    plan.impairment = Impairment {
        loss: share(&[0, 0, 100_000, 10_000_000, 50_000_000]),
        corruption: share(&[0, 0, 1_000_000, 20_000_000]),
        reordering: TimeDelta::from_ns(draws.one_of(&[0, 0, 1, 900, 20_000, 300_000])),
        links: Vec::new(),
    };
    if draws.modulo(3) == 0 {
        for _ in 0..1 + draws.modulo(3) {
            plan.impairment.links.push(links[draws.modulo(links.len() as u64) as usize].1);
        }
    }
}

/// Totals over a range of seeds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Flows that ended.
    pub completed: u64,
    /// Time-outs of the senders of these flows.
    pub timeouts: u64,
    /// Networks whose hosts had several transports.
    pub shared: u64,
    /// Flows that ended as messages on persistent connections.
    pub persistent: u64,
    /// Flows that ended in networks with connection pools, where a message takes an idle connection.
    pub pooled: u64,
    /// Flows that ended in networks with several payloads, random pairs, persistent paths, cells or discarded credits.
    pub mixed: u64,
    /// Pause frames that switches sent.
    pub pauses: u64,
    /// Packets that reached their hosts after a detour.
    pub detoured: u64,
}

impl Seen {
    /// Runs a network everywhere and returns the number of completed flows.
    fn inspect(&mut self, plan: &Plan, seed: u64) -> u64 {
        let mut ended = 0;
        let record = run_everywhere(plan, seed);
        // Routes up and down make no cycle.
        assert_eq!(record.pause_cycles, PauseCycles::default(), "seed {seed}: {plan:#?}");
        self.pauses += record.pauses.iter().map(|link| link.sent).sum::<u64>();
        self.inspect_paths(plan, seed, &record);
        for flow in &record.flows {
            self.timeouts += flow.timeouts;
            match flow.end {
                FlowEnd::Completed => ended += 1,
                FlowEnd::Delivered
                | FlowEnd::RunEnded
                | FlowEnd::LongLived
                | FlowEnd::NotStarted => {
                    assert!(plan.duration.is_some(), "seed {seed}: {flow:?} of {plan:#?}");
                }
            }
        }
        ended
    }
}

impl Seen {
    /// Checks the limits of detours and links: after each detour a packet goes up and down once.
    fn inspect_paths(&mut self, plan: &Plan, seed: u64, record: &RunRecord) {
        let Some(model) = plan.detour else { return assert!(record.paths.is_empty()) };
        let longest = 2 * u16::from(plan.topology.tiers);
        for path in &record.paths {
            self.detoured += if path.detours > 0 { path.packets } else { 0 };
            // A packet whose path the switches choose goes up and down, too.
            let ways = u16::from(path.detours) + 1;
            let goes_on = model.targets.equal_cost || path.links <= ways * longest;
            let may = model.limit.is_none_or(|limit| path.detours <= limit);
            assert!(may && goes_on, "seed {seed}: {path:?} of {plan:#?}");
        }
    }
}

/// Returns the record of a network, equal everywhere. With `TRIMLINE_ONCE` only one engine runs, several times as fast,
/// for very many seeds.
fn run_everywhere(plan: &Plan, seed: u64) -> RunRecord {
    match std::env::var_os("TRIMLINE_ONCE") {
        None => same_everywhere(plan, 2 + (seed % 2) as usize),
        Some(_) => run(plan),
    }
}

/// Checks that lossless classes lose nothing without link faults; here even control packets are not dropped.
fn loses_nothing(plan: &Plan, seed: u64) {
    let Some(lossless) = plan.lossless else { return };
    let untroubled =
        Plan { impairment: Impairment::default(), link_events: Vec::new(), ..plan.clone() };
    let record = run_everywhere(&untroubled, seed);
    let dropped = record.ports.iter().map(|port| port.dropped).sum::<u64>();
    // The queue for control packets has no limit here.
    assert_eq!(dropped, 0, "seed {seed}, {lossless:?}: {plan:#?}");
}

/// Runs the networks of these seeds with priority flow control, each once. Paused ports never wait for each other in a
/// cycle. Returns the number of pause frames that switches sent.
///
/// # Panics
/// Panics if ports do, and if an assertion of a run fails.
pub fn lossless_networks(transports: &[&'static dyn AnyTransport], seeds: Range<u64>) -> u64 {
    let mut transports = transports.to_vec();
    transports.retain(|transport| transport.traits().ends_flows);
    let sent = |seed| {
        let mut plan = network(seed, &transports);
        stop_inputs(&mut plan, seed);
        // Paths that are not up and down may close a cycle.
        plan.detour = None;
        // A cycle forms after a few packets.
        plan.duration = Some(TimeDelta::from_ms(10));
        let record = run(&plan);
        assert_eq!(record.pause_cycles, PauseCycles::default(), "seed {seed}: {plan:#?}");
        record.pauses.iter().map(|link| link.sent).sum::<u64>()
    };
    seeds.map(sent).sum()
}

/// Returns the network of a seed: two of three have the first of `transports`, the third another in turn, every seventh
/// two together.
fn network(seed: u64, transports: &[&'static dyn AnyTransport]) -> Plan {
    let mut draws = SplitMix(seed ^ 0x6c69_6e6b_7300_0000);
    let mut plan = case(seed);
    let others = transports.len() as u64 - 1;
    let place = match (others, seed % 3) {
        (0, _) | (_, 0 | 1) => 0,
        _ => 1 + seed / 3 % others,
    };
    use_transport(&mut plan, seed, transports[place as usize]);
    if seed % 7 == 6 && others > 0 {
        let beside = transports[((place + 1 + seed / 7 % others) % (others + 1)) as usize];
        let payload_bytes = plan.transports[0].payload_bytes();
        let mut draws = SplitMix(seed ^ 0x6265_7369);
        let beside = random_parameters(beside, &mut draws, payload_bytes, &plan.topology);
        plan.transports.push(beside);
        for (place, workload) in plan.workloads.iter_mut().enumerate() {
            workload.transport = (place % 2) as u8;
        }
        // Another workload, so that both transports have flows.
        let mut more = workload("more", Matrix::Permutation, Some(30_000));
        more.transport = 1;
        plan.workloads.push(more);
    }
    if seed % 5 == 4 {
        share_memory(&mut plan, seed);
    }
    if seed % 6 == 5 {
        take_time(&mut plan, seed);
    }
    if seed % 4 == 3 {
        vary_ports(&mut plan, seed);
    }
    if seed % 9 == 8 {
        stop_inputs(&mut plan, seed);
    }
    if seed % 5 == 3 {
        bump_links(&mut plan, seed);
    }
    // Packets with telemetry have room for the shortest ways.
    if seed % 4 == 2 && !plan.collects_telemetry() {
        detour(&mut plan, seed);
    }
    if seed % 7 == 5 {
        add_nics(&mut plan, seed);
    }
    for workload in &mut plan.workloads {
        // Small flows, so that a thousand runs take seconds.
        let max = 1 + draws.modulo(100_000);
        let size = match workload.size {
            Size::Fixed(size) => size.get().min(max),
            Size::LongLived | Size::Drawn(_) | Size::Pareto(_) => max,
        };
        workload.size = Size::Fixed(ByteCount::new(size));
    }
    (plan.duration, plan.warm_up) = (None, TimeDelta::ZERO);
    change_links(&mut plan, &mut draws);
    plan
}

/// Chooses a random transport. If its default switches do not trim, three of four networks have such switches.
fn use_transport(plan: &mut Plan, seed: u64, transport: &'static dyn AnyTransport) {
    let mut draws = SplitMix(seed ^ 0x7463_7000);
    let payload_bytes = plan.transports[0].payload_bytes();
    plan.transports = vec![random_parameters(transport, &mut draws, payload_bytes, &plan.topology)];
    let profile = transport.profile(&Keys::none(transport.grammar()));
    let is_plain = matches!(profile, "drop-tail" | "ecn" | "priorities");
    if is_plain && draws.modulo(4) != 0 {
        let packets = draws.one_of(&[2, 5, 30, 200]);
        plan.switch = match profile {
            "priorities" => priorities(packets, payload_bytes + 100, &mut draws),
            _ => ServiceModel::ecn(packets, packets / 3),
        };
    }
    // Ports that are all alike, with nothing beside them. No draws here: seeds keep their networks.
    let is_alone = seed % 4 < 2 && seed % 5 != 4 && seed % 9 != 8;
    if is_alone && seed % 13 == 6 && profile != "pfabric" {
        let both = seed / 13 % 2 == 1;
        plan.switch = trims_towards_senders(both, 2 + seed as u32 / 26 % 7, payload_bytes);
        return;
    }
    if is_alone && (profile == "pfabric" || is_plain && seed % 8 < 2) {
        plan.switch = notified_of_drops(seed, profile == "pfabric", payload_bytes + 100);
    }
}

/// A port with notifications that uses sojourn time or priority, by the seed.
fn notified_of_drops(seed: u64, by_urgency: bool, packet_bytes: u16) -> ServiceModel {
    let notified = [64, 640, 3_200][seed as usize / 3 % 3];
    let rest = u32::from(packet_bytes) * [2, 5, 30][seed as usize / 5 % 3];
    let rate = BitRate::from_bps([1, 10, 100][seed as usize / 7 % 3] * 10_000_000);
    let cap = Cap { rate, is_work_conserving: (seed / 8).is_multiple_of(2) };
    let mut choices = match (by_urgency, seed / 2 % 3) {
        (true, 0) => Choices::pfabric(rest),
        (true, _) => Choices::fastlane_pfabric(rest + notified, notified, cap),
        (false, _) => Choices::fastlane(rest + notified, notified, cap),
    };
    if !by_urgency && !(seed / 16).is_multiple_of(3) {
        let signal = if seed / 16 % 3 == 1 { Signal::Mark } else { Signal::Quench };
        let (target, interval) = (TimeDelta::from_us(2), TimeDelta::from_us(20));
        choices.queues[1].marker = Marker::CoDel { target, interval, signal };
    }
    choices.build().expect("a model")
}

/// Eight priorities; half of the draws add a common limit and selective dropping.
fn priorities(packets: u32, packet_bytes: u16, draws: &mut SplitMix) -> ServiceModel {
    let mut choices = Choices::priorities(packets, packet_bytes);
    if draws.modulo(2) == 0 {
        choices.port = Limit::packets(packets + draws.one_of(&[0, 3, 60]));
    }
    if draws.modulo(2) == 0 {
        let above = draws.one_of(&[0, 1500, 6000]);
        choices.queues.iter_mut().for_each(|queue| queue.selective_drop = Some(above));
    }
    choices.build().expect("a model")
}

/// Runs the networks of these seeds: loss, corruption, reordering, links that slow down, fail and come back, tiny
/// queues, shared memory. Every sized flow completes, packets and bytes are conserved, nothing is delivered twice, and
/// both engines agree, on one thread and on two or three. Every eleventh network runs a second time with persistent
/// connections, if its transports take further messages. Another eleventh runs with heavy-tailed sizes and, if
/// possible, connection pools. Another eleventh runs with several payloads, memory in cells and other settings of a
/// critique of NDP.
///
/// The output of a failure ends with its seed and how to replay it. Transports that end no flow are left out.
///
/// # Panics
/// Panics if a property does not hold, or if no transport is left.
pub fn random_networks(transports: &[&'static dyn AnyTransport], seeds: Range<u64>) -> Seen {
    let mut transports = transports.to_vec();
    transports.retain(|transport| transport.traits().ends_flows);
    assert!(!transports.is_empty(), "no transport that ends its flows");
    let mut seen = Seen::default();
    for seed in seeds {
        let mut plan = network(seed, &transports);
        let names: Vec<&str> = plan.transports.iter().map(|chosen| chosen.name()).collect();
        println!("seed {seed}, {}: TRIMLINE_SEED={seed} and this test again", names.join(" and "));
        seen.shared += u64::from(plan.transports.len() > 1);
        seen.completed += seen.inspect(&plan, seed);
        loses_nothing(&plan, seed);
        if seed % 11 == 5 && plan.transports.iter().all(|chosen| chosen.takes_messages()) {
            make_persistent(&mut plan, seed);
            seen.persistent += seen.inspect(&plan, seed);
        }
        if seed % 11 == 2 {
            let mut plan = plan.clone();
            mix(&mut plan, seed);
            seen.mixed += seen.inspect(&plan, seed);
        }
        if seed % 11 == 8 {
            draw_sizes(&mut plan, seed);
            let takes_messages = plan.transports.iter().all(|chosen| chosen.takes_messages());
            if takes_messages {
                pool_connections(&mut plan, seed);
            }
            let ended = seen.inspect(&plan, seed);
            seen.pooled += if takes_messages { ended } else { 0 };
        }
    }
    seen
}

/// Returns the seeds that the environment asks for: `TRIMLINE_SEED=n` is n alone, `TRIMLINE_SEEDS=n` the first n,
/// `TRIMLINE_SEEDS=a..b` a to b - 1; without either the first `default`.
///
/// # Panics
/// Panics if a variable is set to anything else.
pub fn seeds(default: u64) -> Range<u64> {
    let parse = |text: &str| match text.split_once("..") {
        Some((first, end)) => Some(first.parse().ok()?..end.parse().ok()?),
        None => Some(0..text.parse().ok()?),
    };
    if let Ok(text) = std::env::var("TRIMLINE_SEED") {
        let seed = text
            .parse::<u64>()
            .unwrap_or_else(|_| panic!("TRIMLINE_SEED={text}: expected a number"));
        return seed..seed + 1;
    }
    match std::env::var("TRIMLINE_SEEDS") {
        Ok(text) => parse(&text).filter(|seeds| !seeds.is_empty()).unwrap_or_else(|| {
            panic!("TRIMLINE_SEEDS={text}: expected n or a..b, at least one seed")
        }),
        Err(_) => 0..default,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ops::ControlFlow;

    /// On any shape, rates and paths. Some flows reach the bound, so it is not too low.
    #[test]
    fn no_flow_is_faster_than_its_ideal() {
        let (mut flows, mut exact) = (0, 0);
        for number in 0..150 {
            let record = crate::run(&case(number), &mut |_| ControlFlow::Continue(()));
            let record = record.unwrap_or_else(|error| panic!("case {number}: {error}"));
            for flow in record.flows.iter() {
                let Some((took, ideal)) = flow.fct_receiver_ps.zip(flow.ideal_fct_ps) else {
                    continue;
                };
                assert!(took >= ideal, "case {number}: {took} < {ideal}, {flow:?}");
                if let Some((took, ideal)) = flow.fct_sender_ps.zip(flow.ideal_fct_sender_ps) {
                    assert!(took >= ideal, "case {number}: {took} < {ideal}, {flow:?}");
                }
                flows += 1;
                exact += u32::from(took == ideal);
            }
        }
        assert!(flows > 300 && exact > 15, "{exact} of {flows}");
    }
}
