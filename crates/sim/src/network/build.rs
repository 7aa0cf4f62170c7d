//! A network from its shape, its ports' model, its hosts' parameters and its flows.

use std::sync::Arc;

use trimline_metrics::LinkCounters;
use trimline_packet::{HostId, Pause, PortCounters, Time};
use trimline_switch::{DeflectionModel, Displaced, OutputPort, Pool, PortModel, Returning};
use trimline_transport::{Stream, flow};

use super::bounds::lookahead;
use super::host_tables::Tables;
use super::{HostUnit, Ledger, LinkClass, Network, PortUnit, Transmitter, class_of};
use crate::arena::Arena;
use crate::bumps::Bumps;
use crate::deflections::{Deflections, data_queues};
use crate::flows::Flows;
use crate::links::{LinkChange, Links, Step};
use crate::nics::Nics;
use crate::pauses::{LosslessInputs, Pauses};
use crate::plan::{Bumps as BumpsOf, Nics as NicsOf, PortRule, SharedMemory};
use crate::protocol::Protocol;
use crate::random;
use crate::table::Shared;
use crate::topology::{Clos, LinkId, LinkSpec, Routes};

impl<E: Protocol, P: OutputPort> Network<E, P> {
    /// Builds the network; every flow of `flows` will start by itself.
    pub(crate) fn new(
        clos: &Clos,
        (model, memory, rules): (&P::Model, SharedMemory, &[PortRule]),
        (lossless, deflection, bumps, nics): (
            Option<LosslessInputs>,
            Option<DeflectionModel>,
            &BumpsOf,
            &NicsOf,
        ),
        config: &E::Config,
        mut flows: Flows,
        seed: u64,
        links: impl FnOnce(&Routes) -> Links,
    ) -> Self {
        let mut routes = Routes::new(clos);
        let bumps = Bumps::new(bumps, &routes, seed);
        let nics = Nics::new(nics, routes.hosts());
        let mut links = links(&routes).with_hosts(clos, &routes, seed);
        if let Some(bumps) = &bumps {
            links = links.with_bumps(bumps.have_phantoms(routes.units()));
        }
        if links.steps().any(|step| matches!(step, Step::Learn(..))) {
            routes.expect_dead();
        }
        let (transmitters, classes) = transmitters(&routes, &links);
        let classes = Shared::from(classes);
        let mut transmitters = transmitters.into_iter();
        let mut ports = Vec::with_capacity(routes.ports() as usize);
        for (number, link) in
            model_numbers(rules, routes.ports()).into_iter().zip(&mut transmitters)
        {
            ports.push(PortUnit { port: P::with_model(number), link });
        }
        let ports = Shared::from(ports);
        let config = Arc::new(config.clone());
        let mut hosts = Vec::with_capacity(routes.hosts() as usize);
        for (host, link) in (0..routes.hosts()).zip(transmitters) {
            let host_id = HostId::new(host);
            let mut endpoint = E::new(host_id, &config, seed);
            let mut directory = Tables { host: host_id, flows: &mut flows, routes: &routes };
            endpoint.handle_command(Time::ZERO, flow::Command::Listen.into(), &mut directory);
            let next_start_at = flows.next_start(host);
            hosts.push(HostUnit { endpoint, link, clock: Time::ZERO, next_start_at, unsent: 0 });
        }
        // Two hosts back to back have nobody between them who could stop them.
        let lossless = lossless.filter(|_| routes.ports() > 0);
        let pauses = lossless.map(|LosslessInputs { lossless, largest_packet }| {
            // Where inputs are counted all ports have the same classes.
            let queue_of = |class| ports[0].port.queue_of(model, class);
            let lookahead = lookahead(&classes, E::FRAMING.least.min(Pause::BYTES));
            let longest = (largest_packet, lookahead);
            Box::new(Pauses::new(lossless, longest, &routes, &links, &queue_of))
        });
        // Two hosts back to back have no switch.
        let deflection = deflection.filter(|_| routes.ports() > 0);
        let deflections = deflection.map(|deflection| {
            let of_all = |all, unit: &PortUnit<P>| all | data_queues(&unit.port, model);
            let data = (ports.iter().fold(0, of_all), model.returning());
            Box::new(Deflections::new(deflection, data, &routes, seed))
        });
        // A Source Quench enters another port of the switch when a packet leaves: at any time, not at arrivals alone.
        let tells_at_departure = !model.is_plain() && model.returning() == Returning::Anywhere;
        let strays = deflection.is_some_and(|deflection| deflection.targets.hosts);
        let units_that_choose = if flows.any_switch_random() { routes.units() } else { 0 };
        let senders = if links.counts_hosts() { routes.hosts() as usize } else { 0 };
        let lossy = if links.may_lose() { routes.units() as usize } else { 0 };
        Network {
            seed,
            hosts: hosts.into(),
            classes,
            links,
            arena: Arena::new(),
            model: model.clone(),
            pools: pools(memory, &routes),
            couples_ports: model.shares_memory()
                || tells_at_departure
                || pauses.is_some()
                || deflections.is_some(),
            has_stages: strays
                || pauses.is_some()
                || nics.is_some()
                || bumps.as_ref().is_some_and(|bumps| bumps.paces()),
            pauses,
            deflections,
            bumps,
            nics,
            coins: streams(seed, "coin", routes.ports()),
            choices: streams(seed, "next hop", units_that_choose),
            counters: vec![PortCounters::default(); ports.len()].into(),
            sent: vec![PortCounters::default(); senders].into(),
            losses: vec![LinkCounters::default(); lossy].into(),
            ports,
            routes,
            displaced: Displaced::default(),
            has_notices: flows.applications.has_notices(),
            flows,
            ledger: Ledger::default(),
            port_hops: 0,
        }
    }
}

// What does not depend on the kind of ports and hosts is compiled once, not for each pair of kinds.

/// The transmitters of all units, and every class that a link will ever have: lookahead and horizon hold for the whole
/// run.
fn transmitters(routes: &Routes, links: &Links) -> (Vec<Transmitter>, Vec<LinkClass>) {
    let mut classes = Vec::new();
    let transmitter = |unit| {
        let link = routes.link(unit);
        let is_impaired = links.is_impaired(LinkId::new(unit));
        let class = class_of(&mut classes, link.spec, is_impaired);
        Transmitter { busy_until: Time::ZERO, far_end: link.far_end, class }
    };
    let transmitters = (0..routes.units()).map(transmitter).collect();
    for step in links.steps() {
        let Step::Change(link, change) = step else { continue };
        let spec = routes.link(link.unit()).spec;
        let rate = if let LinkChange::Rate(rate) = change { rate } else { spec.rate };
        for is_impaired in [false, true] {
            class_of(&mut classes, LinkSpec { rate, ..spec }, is_impaired);
        }
    }
    (transmitters, classes)
}

/// By port: the number of its model. That of number 0 is every port's, those of `rules` follow.
fn model_numbers(rules: &[PortRule], ports: u32) -> Vec<u16> {
    let mut numbers = vec![0; ports as usize];
    for (number, rule) in (1..).zip(rules) {
        rule.ports.iter().for_each(|port| numbers[port.index()] = number);
    }
    numbers
}

/// By switch: its memory.
fn pools(memory: SharedMemory, routes: &Routes) -> Shared<Pool> {
    let pool = |switch| Pool::new(memory.of(routes.ports_of(switch).len() as u64));
    let mut pools: Vec<Pool> = (0..routes.switches() as u32).map(pool).collect();
    if pools.is_empty() {
        // No port looks at it, but each is handed the first.
        pools.push(Pool::none());
    }
    pools.into()
}

/// A stream for each of so many.
fn streams(seed: u64, purpose: &str, count: u32) -> Shared<Stream> {
    (0..count).map(|owner| random::stream(seed, purpose, &[u64::from(owner)])).collect()
}
