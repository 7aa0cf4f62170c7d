//! Builds a network from its shape, its flows, its ports and its hosts.

use trimline_metrics::LinkCounters;
use trimline_packet::{Pause, PortCounters, Time};
use trimline_switch::{DetourModel, DropList, Pool, Returning};
use trimline_transport::{Framing, RngStream};

use super::bounds::lookahead;
use super::core::{Core, Ledger, LinkClass, Transmitter, class_of};
use super::{HostTable, Network, SwitchTable};
use crate::arena::Arena;
use crate::features::detour::state::Detours;
use crate::features::nic::pacer::Pacers;
use crate::features::nic::state::Nics;
use crate::features::pfc::state::{LosslessInputs, Pauses};
use crate::features::phantom_queue::state::PhantomQueues;
use crate::features::telemetry::state::SentBytes;
use crate::flows::Flows;
use crate::links::{LinkChange, Links, Step};
use crate::plan::{Plan, PortRule, SharedMemory};
use crate::random;
use crate::table::{Fronts, Shared};
use crate::topology::{LinkId, LinkSpec, Routes};

impl Core {
    /// State of a run without ports and hosts, and the links of all nodes, ports first. Every flow of `flows` starts by
    /// itself.
    pub(crate) fn new(
        plan: &Plan,
        flows: Flows,
        links: impl FnOnce(&Routes) -> Links,
    ) -> (Core, Vec<Transmitter>) {
        let (clos, seed) = (&plan.topology, plan.seed);
        let mut routes = Routes::new(clos);
        let phantom_queues = PhantomQueues::new(&plan.phantom_queues, &routes);
        let pacers = Pacers::new(plan.pacer.as_ref(), routes.hosts(), seed);
        let nics = Nics::new(&plan.nics, routes.hosts());
        let mut links = links(&routes).with_hosts(clos, &routes, seed);
        if let Some(phantoms) = &phantom_queues {
            links = links.with_phantom_queues(phantoms.on_links());
        }
        if links.steps().any(|step| matches!(step, Step::Learn(..))) {
            routes.expect_dead();
        }
        let (transmitters, classes) = transmitters(&routes, &links);
        let nodes_that_choose = if flows.any_switch_random() { routes.nodes() } else { 0 };
        let senders = if links.counts_hosts() { routes.hosts() as usize } else { 0 };
        let has_telemetry = plan.collects_telemetry();
        let lossy = if links.may_lose() { routes.nodes() as usize } else { 0 };
        let core = Core {
            seed,
            classes: classes.into(),
            links,
            arena: if has_telemetry { Arena::with_telemetry() } else { Arena::new() },
            framing: Framing::NDP,
            returning: Returning::Never,
            has_pools: false,
            pools: pools(plan.shared_memory, &routes),
            couples_ports: false,
            pauses: None,
            detours: None,
            sent_bytes: has_telemetry.then(|| Box::new(SentBytes::new(routes.ports()))),
            watches_departures: false,
            has_stages: nics.is_some() || pacers.is_some(),
            phantom_queues,
            pacers,
            nics,
            coins: streams(seed, "coin", routes.ports()),
            choices: streams(seed, "next hop", nodes_that_choose),
            counters: vec![PortCounters::default(); routes.ports() as usize].into(),
            sent: vec![PortCounters::default(); senders].into(),
            losses: vec![LinkCounters::default(); lossy].into(),
            routes,
            drop_list: DropList::default(),
            has_notices: flows.applications.has_notices(),
            flows,
            ledger: Ledger::default(),
            port_hops: 0,
            hosts: Fronts::default(),
        };
        (core, transmitters)
    }
}

impl<S: SwitchTable + ?Sized, H: HostTable + ?Sized> Network<S, H> {
    pub(crate) fn new(
        mut core: Core,
        switches: Box<S>,
        hosts: Box<H>,
        (lossless, detour): (Option<LosslessInputs>, Option<DetourModel>),
    ) -> Network<S, H> {
        core.framing = hosts.framing();
        core.hosts = hosts.fronts();
        core.returning = switches.returning();
        core.has_pools = switches.has_pools();
        // Two hosts back to back have no switch that could pause them or detour packets.
        let ports = core.routes.ports();
        let lossless = lossless.filter(|_| ports > 0);
        let detour = detour.filter(|_| ports > 0);
        core.pauses = lossless.map(|LosslessInputs { lossless, largest_packet }| {
            // Where inputs are counted all ports have the same classes.
            let queue_of = |class| switches.queue_of(0, class);
            let lookahead = lookahead(&core.classes, core.framing.min.min(Pause::BYTES));
            let longest = (largest_packet, lookahead);
            Box::new(Pauses::new(lossless, longest, &core.routes, &core.links, &queue_of))
        });
        core.detours = detour
            .map(|detour| Box::new(Detours::new(detour, core.returning, &core.routes, core.seed)));
        // A Source Quench enters another port of the switch when a packet leaves: at any time, not at arrivals alone.
        let tells_at_departure = core.has_pools && core.returning == Returning::Anywhere;
        core.watches_departures = core.detours.is_some() || core.sent_bytes.is_some();
        core.couples_ports = switches.shares_memory()
            || tells_at_departure
            || core.pauses.is_some()
            || core.watches_departures;
        let strays = detour.is_some_and(|detour| detour.targets.hosts);
        core.has_stages |= strays || core.pauses.is_some();
        Network { core, switches, hosts }
    }
}

/// Transmitters of all nodes, and every class that a link will ever have: lookahead and horizon hold for the whole run.
fn transmitters(routes: &Routes, links: &Links) -> (Vec<Transmitter>, Vec<LinkClass>) {
    let mut classes = Vec::new();
    let transmitter = |node| {
        let link = routes.link(node);
        let is_impaired = links.is_impaired(LinkId::new(node));
        let class = class_of(&mut classes, link.spec, is_impaired);
        Transmitter { busy_until: Time::ZERO, far_end: link.far_end, class }
    };
    let transmitters = (0..routes.nodes()).map(transmitter).collect();
    for step in links.steps() {
        let Step::Change(link, change) = step else { continue };
        let spec = routes.link(link.node()).spec;
        let rate = if let LinkChange::Rate(rate) = change { rate } else { spec.rate };
        for is_impaired in [false, true] {
            class_of(&mut classes, LinkSpec { rate, ..spec }, is_impaired);
        }
    }
    (transmitters, classes)
}

/// Model number of each port. Number 0 is the common model; those in `rules` follow.
pub(crate) fn model_numbers(rules: &[PortRule], ports: u32) -> Vec<u16> {
    let mut numbers = vec![0; ports as usize];
    for (number, rule) in (1..).zip(rules) {
        rule.ports.iter().for_each(|port| numbers[port.index()] = number);
    }
    numbers
}

fn pools(memory: SharedMemory, routes: &Routes) -> Shared<Pool> {
    let pool = |switch| Pool::new(memory.of(routes.ports_of(switch).len() as u64));
    let mut pools: Vec<Pool> = (0..routes.switches() as u32).map(pool).collect();
    if pools.is_empty() {
        // No port reads it, but each is handed the first pool.
        pools.push(Pool::none());
    }
    pools.into()
}

fn streams(seed: u64, purpose: &str, count: u32) -> Shared<RngStream> {
    (0..count).map(|owner| random::stream(seed, purpose, &[u64::from(owner)])).collect()
}
