//! The state machines of a run: every switch port with its link, every host with its NIC.
//!
//! Nothing here knows in which order the units are visited; that is the engine's business
//! ([`crate::engine`]). The rules that make the order of units irrelevant are kept here:
//!
//! - A unit acts on others only through [`Calendar::arrive`], at least one link delay ahead. The one
//!   exception is a returned header, which enters another port *of the same switch* at once.
//! - At one instant a unit's transmitter acts before its arrivals, arrivals before timers, timers
//!   before application starts. What an action makes possible at the same instant happens at once.
//! - Ports are lazy: an arrival first performs all departures that were due before it; where the ports of
//!   a switch share memory, those of all its ports.

mod bounds;
mod directory;
mod observe;
mod views;

use std::cmp::Ordering;
use std::mem;
use std::ops::Range;
use std::sync::Arc;

use trimline_packet::{
    BitRate, ByteCount, ConnectionId, Handle, HostId, Packets, Service, Time, TimeDelta,
};
use trimline_switch::{Displaced, Fate, Pool, Port, ServiceModel};
use trimline_transport::{Allowed, Half, Key, Stream};

use self::directory::HostDirectory;
use crate::arena::Arena;
use crate::flows::Flows;
use crate::links::{LinkChange, Links, Passage, Step};
use crate::protocol::Protocol;
use crate::random::{self, Draw};
use crate::scenario::plan::SharedMemory;
use crate::table::{self, Shared};
use crate::topology::{Clos, FarEnd, LinkId, LinkSpec, Routes};

/// How a unit's packets reach another unit.
pub(crate) trait Calendar {
    /// `handle`, now on the link of unit `link`, arrives at `unit` at `at`.
    fn arrive(&mut self, arena: &mut Arena, unit: u32, at: Time, handle: Handle, link: u32);
    /// A port received a packet from another port of its switch, at once.
    fn returned_into(&mut self, port: u32);
    /// A packet loses its place at a port. For those who record it: nothing follows.
    #[inline]
    fn displaced(&mut self, _arena: &Arena, _port: u32, _handle: Handle, _fate: Fate) {}
    /// The link of a unit took a packet and loses it. For those who record it: nothing follows.
    #[inline]
    fn lost(&mut self, _arena: &Arena, _unit: u32, _handle: Handle) {}
}

/// The order of packets that arrive at one switch or host at the same instant: a hash, so that no
/// port is favoured and equal-length packets build no permanent phase.
#[inline]
pub(crate) fn tie(seed: u64, at: Time, link: u32) -> u64 {
    random::mix(seed ^ random::mix(at.as_ps()) ^ u64::from(link) << 32)
}

/// The order of two arrivals at one unit, each a time and a link.
#[inline]
pub(crate) fn order(seed: u64, a: (Time, u32), b: (Time, u32)) -> Ordering {
    a.0.cmp(&b.0).then_with(|| tie(seed, a.0, a.1).cmp(&tie(seed, b.0, b.1)))
}

/// What the packets of one kind of link experience.
#[derive(Clone, Copy)]
struct LinkClass {
    rate: BitRate,
    delay: TimeDelta,
    /// Zero when a byte does not take a whole number of picoseconds.
    ps_per_byte: u64,
    /// Packets must ask [`Links::passage`] what becomes of them.
    asks: bool,
}

impl LinkClass {
    fn new(rate: BitRate, delay: TimeDelta, asks: bool) -> LinkClass {
        LinkClass { rate, delay, ps_per_byte: rate.whole_ps_per_byte().unwrap_or(0), asks }
    }

    #[inline]
    fn transmission(&self, bytes: u16) -> TimeDelta {
        if self.ps_per_byte != 0 {
            TimeDelta::from_ps(self.ps_per_byte * u64::from(bytes))
        } else {
            self.rate.transmission(ByteCount::new(u64::from(bytes)))
        }
    }
}

/// A sender's own link: what leaves the unit, until when it is busy.
#[derive(Clone, Copy)]
struct Transmitter {
    busy_until: Time,
    far_end: FarEnd,
    class: u32,
}

impl Transmitter {
    /// Begins to send. Gives when the packet arrives, and whether it must ask for its passage.
    #[inline(always)]
    fn begin(&mut self, classes: &Shared<LinkClass>, now: Time, bytes: u16) -> (Time, bool) {
        let class = &classes[self.class as usize];
        self.busy_until = now + class.transmission(bytes);
        (self.busy_until + class.delay, class.asks)
    }
}

/// An output port and its link: one cache line with the two queues of an NDP port.
#[repr(C, align(64))]
struct PortUnit<const Q: usize> {
    port: Port<Q>,
    link: Transmitter,
}

impl<const Q: usize> PortUnit<Q> {
    /// When the port will next start to send: never when it has nothing to send. Both are as likely, so
    /// there is no branch on it.
    #[inline(always)]
    fn next_departure(&self) -> Time {
        let never_if_idle = u64::from(self.port.is_backlogged()).wrapping_sub(1);
        Time::from_ps(self.link.busy_until.as_ps() | never_if_idle)
    }
}

/// Bytes at the beginning of a host that its packets need.
const HOST_FRONT: usize = 320;

/// Bytes of a host's connections that are worth asking for before it is visited: two connections.
const MOST_PREFETCH: usize = 512;

/// What happened at a port. Packets and bytes stand apart: side by side they would be counted with vector
/// instructions, three times as many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct PortCounters {
    pub(crate) packets: u64,
    pub(crate) trimmed: u64,
    pub(crate) bytes: u64,
    pub(crate) dropped: u64,
    pub(crate) returned: u64,
}

#[repr(C, align(64))]
struct HostUnit<E> {
    link: Transmitter,
    /// No event of this host lies before this.
    clock: Time,
    /// When the next of this host's flows starts.
    next_start_at: Time,
    endpoint: E,
    /// This host's flows that have not started, in order of their starts.
    starts: Range<u32>,
}

/// Packets and bytes, as they enter and leave the network: the two sides of conservation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ledger {
    /// Packets that hosts sent.
    pub(crate) created: u64,
    /// Bytes that hosts sent.
    pub(crate) created_bytes: u64,
    /// Packets that reached a host, by [`Service`]: returned headers at their sender, all others at their
    /// destination.
    pub(crate) delivered: [u64; Service::COUNT],
    /// Bytes that reached a host.
    pub(crate) delivered_bytes: u64,
    /// Packets that switches dropped.
    pub(crate) dropped: u64,
    /// Their bytes.
    pub(crate) dropped_bytes: u64,
    /// Packets that links lost.
    pub(crate) lost_on_link: u64,
    /// Packets that links damaged.
    pub(crate) corrupted: u64,
    /// The bytes of both.
    pub(crate) lost_bytes: u64,
    /// Bytes that trimming cut.
    pub(crate) cut_bytes: u64,
}

/// The class of a link like this.
fn class_of(classes: &mut Vec<LinkClass>, spec: LinkSpec, asks: bool) -> u32 {
    let is_like =
        |class: &LinkClass| (class.rate, class.delay, class.asks) == (spec.rate, spec.delay, asks);
    let known = classes.iter().position(is_like).unwrap_or_else(|| {
        classes.push(LinkClass::new(spec.rate, spec.delay, asks));
        classes.len() - 1
    });
    known as u32
}

/// The draw of a switch that chooses among its up ports, from the stream of the unit that the packet
/// comes from.
#[inline]
fn next_hop_draw(choices: &mut Shared<Stream>, unit: u32) -> impl FnOnce(u32) -> u32 + '_ {
    move |ups| {
        let stream = choices.find_mut(unit as usize).expect("a run that lets switches choose");
        random::below(stream, u64::from(ups)) as u32
    }
}

/// The memory that a port shares with the others of its switch. No port of a plain model looks at it.
#[inline(always)]
fn pool_of(model: &ServiceModel, routes: &Routes, port: u32) -> usize {
    if model.is_plain() { 0 } else { routes.switch_of(port) as usize }
}

/// Everything that has state during a run, or one thread's view of it: units, links and flows are shared with the
/// other threads, packets and the counts of what was done are its own.
pub(crate) struct Network<E, const Q: usize> {
    seed: u64,
    ports: Shared<PortUnit<Q>>,
    hosts: Shared<HostUnit<E>>,
    classes: Shared<LinkClass>,
    links: Links,
    pub(crate) arena: Arena,
    pub(crate) routes: Routes,
    model: ServiceModel,
    /// One a switch.
    pools: Shared<Pool>,
    coins: Shared<Stream>,
    /// One a unit, when some flow leaves the choice of paths to the switches.
    choices: Shared<Stream>,
    counters: Shared<PortCounters>,
    displaced: Displaced,
    pub(crate) flows: Flows,
    pub(crate) ledger: Ledger,
    pub(crate) packet_hops: u64,
}

impl<E: Protocol, const Q: usize> Network<E, Q> {
    /// Builds the network; every flow of `flows` will start by itself.
    pub(crate) fn new(
        clos: &Clos,
        (model, memory): (&ServiceModel, SharedMemory),
        config: &E::Config,
        mut flows: Flows,
        seed: u64,
        links: impl FnOnce(&Routes) -> Links,
    ) -> Self {
        let mut routes = Routes::new(clos);
        let links = links(&routes);
        if links.steps().any(|step| matches!(step, Step::Learn(..))) {
            routes.expect_dead();
        }
        let mut classes: Vec<LinkClass> = Vec::new();
        let mut transmitter = |unit| {
            let link = routes.link(unit);
            let asks = links.asks(LinkId::new(unit));
            let class = class_of(&mut classes, link.spec, asks);
            Transmitter { busy_until: Time::ZERO, far_end: link.far_end, class }
        };
        let ports: Shared<_> = (0..routes.ports())
            .map(|port| PortUnit { port: Port::new(), link: transmitter(port) })
            .collect();
        let config = Arc::new(config.clone());
        let hosts = (0..routes.hosts())
            .map(|host| {
                let starts = flows.starts_of(host);
                let host_id = HostId::new(host);
                let mut endpoint = E::new(host_id, &config, seed);
                let mut directory =
                    HostDirectory { host: host_id, flows: &mut flows, routes: &routes, seed };
                endpoint.handle_command(Time::ZERO, E::listen(), &mut directory);
                HostUnit {
                    endpoint,
                    link: transmitter(routes.ports() + host),
                    clock: Time::ZERO,
                    next_start_at: flows.next_start(host, &starts),
                    starts,
                }
            })
            .collect();
        // Every class that a link will ever have: lookahead and horizon hold for the whole run.
        for step in links.steps() {
            let Step::Change(link, change) = step else { continue };
            let spec = routes.link(link.unit()).spec;
            let rate = if let LinkChange::Rate(rate) = change { rate } else { spec.rate };
            for asks in [false, true] {
                class_of(&mut classes, LinkSpec { rate, ..spec }, asks);
            }
        }
        let streams = |purpose, count| {
            (0..count).map(move |owner| random::stream(seed, purpose, &[u64::from(owner)]))
        };
        let pool = |switch| Pool::new(memory.of(routes.ports_of(switch).len() as u64));
        let mut pools: Vec<Pool> = (0..routes.switches() as u32).map(pool).collect();
        if pools.is_empty() {
            // No port looks at it, but each is handed the first.
            pools.push(Pool::none());
        }
        let units_that_choose = if flows.any_switch_random() { routes.units() } else { 0 };
        Network {
            seed,
            hosts,
            classes: classes.into(),
            links,
            arena: Arena::new(),
            model: model.clone(),
            pools: pools.into(),
            coins: streams("coin", routes.ports()).collect(),
            choices: streams("next hop", units_that_choose).collect(),
            counters: vec![PortCounters::default(); ports.len()].into(),
            ports,
            routes,
            displaced: Displaced::default(),
            flows,
            ledger: Ledger::default(),
            packet_hops: 0,
        }
    }

    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// Bytes in a queue of a port, the packet on the wire included.
    pub(crate) fn queue_bytes(&self, port: u32, queue: usize) -> u32 {
        self.ports[port as usize].port.queue_bytes(queue)
    }

    /// When a link changes next.
    pub(crate) fn next_link_event(&self) -> Time {
        self.links.next_at()
    }

    /// Performs the changes of links that are due at `now`, before anything else at that instant.
    pub(crate) fn change_links(&mut self, now: Time) {
        let mut has_learned = false;
        while let Some(step) = self.links.take(now) {
            match step {
                Step::Change(link, change) => self.change_link(link, change),
                Step::Learn(link, works) => {
                    self.routes.learn(link, works);
                    has_learned = true;
                }
            }
        }
        if has_learned {
            self.announce_paths(now);
        }
    }

    fn change_link(&mut self, link: LinkId, change: LinkChange) {
        let asks = self.links.asks(link);
        let first = self.routes.link(link.unit()).spec;
        let transmitter = match link.unit().checked_sub(self.routes.ports()) {
            Some(host) => &mut self.hosts[host as usize].link,
            None => &mut self.ports[link.index()].link,
        };
        let rate = match change {
            LinkChange::Rate(rate) => rate,
            LinkChange::Fail => self.classes[transmitter.class as usize].rate,
            LinkChange::Restore => first.rate,
        };
        let is_like =
            |class: &LinkClass| (class.rate, class.delay, class.asks) == (rate, first.delay, asks);
        let class = self.classes.iter().position(is_like).expect("every class was made at set-up");
        transmitter.class = class as u32;
    }

    /// NDP 3.2.3: hosts receive the routing updates to know which paths to avoid.
    fn announce_paths(&mut self, now: Time) {
        for number in 0..self.flows.len() {
            let flow = *self.flows.description(number);
            for half in [Half::Sending, Half::Receiving] {
                let (host, peer) = match half {
                    Half::Sending => (flow.source, flow.destination),
                    Half::Receiving => (flow.destination, flow.source),
                };
                let leaves_choice = match half {
                    Half::Sending => flow.switch_random,
                    Half::Receiving => self.flows.any_switch_random(),
                };
                let connection = ConnectionId::new(number);
                let key = Key { peer, connection, opened_here: half == Half::Sending, half };
                if leaves_choice || self.flows.find(key).is_none() {
                    continue;
                }
                let mut paths = Vec::new();
                self.routes.paths(host, peer, &mut paths);
                let mut directory = HostDirectory {
                    host,
                    flows: &mut self.flows,
                    routes: &self.routes,
                    seed: self.seed,
                };
                let endpoint = &mut self.hosts[host.index()].endpoint;
                endpoint.handle_command(now, E::paths(key, paths), &mut directory);
            }
        }
    }

    /// A packet on a link that asks: it arrives, later perhaps, or is lost.
    #[cold]
    #[inline(never)]
    fn pass(
        &mut self,
        calendar: &mut impl Calendar,
        next: u32,
        now: Time,
        at: Time,
        handle: Handle,
        unit: u32,
    ) {
        match self.links.passage(unit, now, at) {
            Passage::Arrives(at) => {
                return calendar.arrive(&mut self.arena, next, at, handle, unit);
            }
            Passage::Lost => self.ledger.lost_on_link += 1,
            Passage::Corrupted => self.ledger.corrupted += 1,
        }
        calendar.lost(&self.arena, unit, handle);
        self.ledger.lost_bytes += u64::from(self.arena.packet(handle).wire_bytes);
        self.arena.release(handle);
    }

    /// Asks for the cache lines of a unit that will soon be visited.
    #[inline(always)]
    pub(crate) fn prefetch_unit(&self, unit: u32) {
        let ports = self.ports.len();
        if (unit as usize) < ports {
            self.ports.prefetch(unit as usize);
        } else {
            self.hosts.prefetch_front(unit as usize - ports, HOST_FRONT);
        }
    }

    /// Asks for the packets that a port may send next, or for a host's connections.
    #[inline(always)]
    pub(crate) fn prefetch_second(&self, unit: u32) {
        if (unit as usize) >= self.ports.len() {
            let (address, bytes) =
                self.hosts[unit as usize - self.ports.len()].endpoint.connections();
            table::prefetch(address, bytes.min(MOST_PREFETCH));
        } else {
            let port = &self.ports[unit as usize].port;
            for queue in 0..Q.min(2) {
                self.arena.prefetch(port.first(queue));
            }
        }
    }

    /// Until when a port sends what it is sending, and when it will next start to send.
    #[inline(always)]
    pub(crate) fn port_outlook(&self, port: u32) -> (Time, Time) {
        let unit = &self.ports[port as usize];
        (unit.link.busy_until, unit.next_departure())
    }

    /// Until when a host sends what it is sending.
    #[inline(always)]
    pub(crate) fn host_busy_until(&self, host: u32) -> Time {
        self.hosts[host as usize].link.busy_until
    }

    /// When a port will next start to send: never when it has nothing to send.
    #[inline(always)]
    pub(crate) fn port_next(&self, port: u32) -> Time {
        self.ports[port as usize].next_departure()
    }

    /// Performs a port's departures that are due before `limit`.
    #[inline]
    pub(crate) fn port_advance(&mut self, calendar: &mut impl Calendar, port: u32, limit: Time) {
        loop {
            let now = self.port_next(port);
            if now >= limit {
                return;
            }
            self.port_depart(calendar, port, now);
        }
    }

    /// Performs what comes before an arrival at a port: its departures, and where the ports of a switch share
    /// memory also theirs, and what they have sent gives its memory back.
    #[inline]
    pub(crate) fn port_ready(&mut self, calendar: &mut impl Calendar, port: u32, now: Time) {
        let just_after = now + TimeDelta::from_ps(1);
        if !self.model.shares_memory() {
            return self.port_advance(calendar, port, just_after);
        }
        let switch = self.routes.switch_of(port);
        for other in self.routes.ports_of(switch) {
            self.port_advance(calendar, other, just_after);
            let unit = &mut self.ports[other as usize];
            if unit.link.busy_until <= now {
                unit.port.release(&self.model, &mut self.pools[switch as usize]);
            }
        }
    }

    /// A port that has something to send starts to send it.
    #[inline(always)]
    pub(crate) fn port_depart(&mut self, calendar: &mut impl Calendar, port: u32, now: Time) {
        let pool = pool_of(&self.model, &self.routes, port);
        let unit = &mut self.ports[port as usize];
        let pool = &mut self.pools[pool];
        let (arena, displaced) = (&mut self.arena, &mut self.displaced);
        if let Some(handle) = unit.port.dequeue(now, &self.model, arena, pool, displaced) {
            let packet = arena.packet(handle);
            let bytes = packet.wire_bytes;
            let counters = &mut self.counters[port as usize];
            counters.packets += 1;
            counters.bytes += u64::from(bytes);
            let (arrival, asks) = unit.link.begin(&self.classes, now, bytes);
            let any = next_hop_draw(&mut self.choices, port);
            let (to, path) = (packet.destination, packet.header.path);
            let next = self.routes.next_unit(unit.link.far_end, to, path, any);
            self.packet_hops += 1;
            if asks {
                self.pass(calendar, next, now, arrival, handle, port);
            } else {
                calendar.arrive(arena, next, arrival, handle, port);
            }
        }
        // A plain model displaces nothing here.
        if !self.model.is_plain() && self.displaced.is_changed() {
            self.settle_displaced(calendar, port, now);
        }
    }

    /// A packet arrives at a port. It departs with the next [`Network::port_advance`], at once if
    /// the port is idle.
    #[inline(always)]
    pub(crate) fn port_arrive(
        &mut self,
        calendar: &mut impl Calendar,
        port: u32,
        now: Time,
        handle: Handle,
    ) {
        let unit = &mut self.ports[port as usize];
        if unit.link.busy_until <= now {
            // Whatever was due has departed: the transmitter is idle since then.
            let pool = pool_of(&self.model, &self.routes, port);
            unit.port.release(&self.model, &mut self.pools[pool]);
            unit.link.busy_until = now;
        }
        if !unit.port.enqueue_plainly(handle, &self.model, &mut self.arena) {
            self.port_overflow(calendar, port, now, handle);
        }
    }

    /// A packet arrives at a port that may have no room for it.
    #[inline(never)]
    fn port_overflow(
        &mut self,
        calendar: &mut impl Calendar,
        port: u32,
        now: Time,
        handle: Handle,
    ) {
        let mut coin = Draw(&mut self.coins[port as usize]);
        let pool = &mut self.pools[pool_of(&self.model, &self.routes, port)];
        let (arena, displaced) = (&mut self.arena, &mut self.displaced);
        let port_state = &mut self.ports[port as usize].port;
        port_state.enqueue(now, handle, &self.model, arena, pool, &mut coin, displaced);
        if self.displaced.is_changed() {
            self.settle_displaced(calendar, port, now);
        }
    }

    /// Acts on what a port could not keep.
    #[cold]
    #[inline(never)]
    fn settle_displaced(&mut self, calendar: &mut impl Calendar, port: u32, now: Time) {
        let mut displaced = mem::take(&mut self.displaced);
        let counters = &mut self.counters[port as usize];
        counters.trimmed += u64::from(mem::take(&mut displaced.trimmed));
        self.ledger.cut_bytes += mem::take(&mut displaced.cut_bytes);
        for (handle, fate) in displaced.drain() {
            calendar.displaced(&self.arena, port, handle, fate);
            match fate {
                Fate::Dropped => {
                    self.counters[port as usize].dropped += 1;
                    self.ledger.dropped += 1;
                    self.ledger.dropped_bytes += u64::from(self.arena.packet(handle).wire_bytes);
                    self.arena.release(handle);
                }
                Fate::Returned => {
                    self.counters[port as usize].returned += 1;
                    let packet = self.arena.packet_mut(handle);
                    packet.turn_round();
                    let packet = *packet;
                    let any = next_hop_draw(&mut self.choices, port);
                    let (to, path) = (packet.destination, packet.header.path);
                    let way_back =
                        self.routes.next_port(self.routes.switch_of(port), to, path, any);
                    let just_after = now + TimeDelta::from_ps(1);
                    self.port_advance(calendar, way_back, just_after);
                    self.port_arrive(calendar, way_back, now, handle);
                    calendar.returned_into(way_back);
                }
                Fate::Notify => unreachable!("no profile of the simulator notifies yet"),
            }
        }
        // Keeps the list's memory; what a returned header displaced in turn is already settled.
        self.displaced = displaced;
    }

    /// When a host will next act by itself.
    #[inline]
    pub(crate) fn host_next(&self, host: u32) -> Time {
        let (transmission, other) = self.host_outlook(host);
        transmission.min(other)
    }

    /// When a host will next send, and when it will next do anything else by itself.
    #[inline(always)]
    pub(crate) fn host_outlook(&self, host: u32) -> (Time, Time) {
        let unit = &self.hosts[host as usize];
        let transmission = unit.endpoint.transmit_at().max(unit.link.busy_until).max(unit.clock);
        (transmission, unit.endpoint.poll_timeout().min(unit.next_start_at))
    }

    /// Performs everything that a host does by itself before `limit`.
    #[inline]
    pub(crate) fn host_advance(&mut self, calendar: &mut impl Calendar, host: u32, limit: Time) {
        loop {
            let (transmission, other) = self.host_outlook(host);
            if transmission.min(other) >= limit {
                return;
            }
            if transmission <= other {
                self.host_transmit(calendar, host, transmission);
            } else {
                self.host_otherwise(host, other);
            }
        }
    }

    /// A packet arrives at a host. Before it the host does what is due, and at once what it makes possible.
    pub(crate) fn host_arrive(
        &mut self,
        calendar: &mut impl Calendar,
        host: u32,
        now: Time,
        handle: Handle,
    ) {
        self.host_advance(calendar, host, now);
        self.host_transmit_due(calendar, host, now);
        self.host_receive(host, now, handle);
        self.host_transmit_due(calendar, host, now);
    }

    fn host_transmit_due(&mut self, calendar: &mut impl Calendar, host: u32, now: Time) {
        while self.host_outlook(host).0 <= now {
            self.host_transmit(calendar, host, now);
        }
    }

    /// A host's timer is due, or the start of a flow.
    #[cold]
    pub(crate) fn host_otherwise(&mut self, host: u32, now: Time) {
        let unit = &self.hosts[host as usize];
        if unit.endpoint.poll_timeout() <= now {
            self.host_timer(host, now.max(unit.clock));
        } else {
            self.host_start(host, now);
        }
    }

    /// The NIC is free and the endpoint may have something to send.
    #[inline]
    pub(crate) fn host_transmit(&mut self, calendar: &mut impl Calendar, host: u32, now: Time) {
        let unit = &mut self.hosts[host as usize];
        unit.clock = now;
        let Some(packet) = unit.endpoint.poll_transmit(now, Allowed::ALL) else {
            assert!(
                unit.endpoint.transmit_at() > now,
                "an endpoint that has nothing to send must say when it will"
            );
            return;
        };
        self.ledger.created += 1;
        self.ledger.created_bytes += u64::from(packet.wire_bytes);
        let (arrival, asks) = unit.link.begin(&self.classes, now, packet.wire_bytes);
        let sender = self.ports.len() as u32 + host;
        let any = next_hop_draw(&mut self.choices, sender);
        let (to, path) = (packet.destination, packet.header.path);
        let next = self.routes.next_unit(unit.link.far_end, to, path, any);
        let handle = self.arena.insert(packet);
        self.packet_hops += 1;
        if asks {
            self.pass(calendar, next, now, arrival, handle, sender);
        } else {
            calendar.arrive(&mut self.arena, next, arrival, handle, sender);
        }
    }

    fn host_timer(&mut self, host: u32, now: Time) {
        let unit = &mut self.hosts[host as usize];
        unit.clock = now;
        let mut directory = HostDirectory {
            host: HostId::new(host),
            flows: &mut self.flows,
            routes: &self.routes,
            seed: self.seed,
        };
        unit.endpoint.handle_timeout(now, &mut directory);
        self.drain_events(host, now);
    }

    fn host_start(&mut self, host: u32, now: Time) {
        let unit = &mut self.hosts[host as usize];
        unit.clock = now;
        let flow = self.flows.take_start(host, &mut unit.starts).expect("a flow starts");
        unit.next_start_at = self.flows.next_start(host, &unit.starts);
        let mut paths = Vec::new();
        let description = self.flows.description(flow);
        if description.switch_random {
            paths.push(trimline_transport::ANY_PATH);
        } else {
            self.routes.paths(description.source, description.destination, &mut paths);
        }
        let stream = self.flows.stream(self.seed, flow, Half::Sending);
        let command = E::open(self.flows.description(flow), flow, paths, stream);
        let mut directory = HostDirectory {
            host: HostId::new(host),
            flows: &mut self.flows,
            routes: &self.routes,
            seed: self.seed,
        };
        unit.endpoint.handle_command(now, command, &mut directory);
        self.drain_events(host, now);
    }

    /// A host takes a packet, and does nothing else yet.
    #[inline(always)]
    pub(crate) fn host_receive(&mut self, host: u32, now: Time, handle: Handle) {
        let packet = *self.arena.packet(handle);
        self.arena.release(handle);
        self.ledger.delivered_bytes += u64::from(packet.wire_bytes);
        self.ledger.delivered[packet.service as usize] += 1;
        let unit = &mut self.hosts[host as usize];
        unit.clock = now;
        let mut directory = HostDirectory {
            host: HostId::new(host),
            flows: &mut self.flows,
            routes: &self.routes,
            seed: self.seed,
        };
        unit.endpoint.handle_packet(now, &packet, &mut directory);
        self.drain_events(host, now);
    }

    #[inline]
    fn drain_events(&mut self, host: u32, now: Time) {
        while let Some(event) = self.hosts[host as usize].endpoint.poll_event() {
            self.note_event(host, event, now);
        }
    }

    /// What ends may start something at the same host.
    #[cold]
    fn note_event(&mut self, host: u32, event: E::Event, now: Time) {
        if let Some(event) = E::flow_event(event) {
            self.flows.note(event, now);
            let unit = &mut self.hosts[host as usize];
            unit.next_start_at = self.flows.next_start(host, &unit.starts);
        }
    }

    pub(crate) fn endpoint(&self, host: HostId) -> &E {
        &self.hosts[host.index()].endpoint
    }
    pub(crate) fn port_counters(&self) -> impl Iterator<Item = &PortCounters> {
        self.counters.iter()
    }
}
