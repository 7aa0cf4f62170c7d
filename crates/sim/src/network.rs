//! The state machines of a run: every switch port with its link, every host with its NIC.
//!
//! Nothing here knows in which order the units are visited; that is the engine's business
//! ([`crate::engine`]). The rules that make the order of units irrelevant are kept here:
//!
//! - A unit acts on others only through [`Calendar::arrive`], at least one link delay ahead. The one
//!   exception is a returned header, which enters another port *of the same switch* at once.
//! - At one instant a unit's transmitter acts before its arrivals, arrivals before timers, timers
//!   before application starts. What an action makes possible at the same instant happens at once.
//! - Ports are lazy: an arrival first performs all departures that were due before it. Where the ports of
//!   a switch are coupled, those of all its ports, in order of time ([`coupled`]).

mod bounds;
mod build;
mod coupled;
mod deflected;
mod host;
mod host_tables;
mod observe;
mod pauses;
mod port;
mod staged;
mod views;

use std::cmp::Ordering;

use trimline_metrics::LinkCounters;
use trimline_packet::{BitRate, ByteCount, Handle, HostId, Packets, PortCounters, Time, TimeDelta};
use trimline_switch::{Displaced, Fate, OutputPort, Pool, PortModel};
use trimline_transport::{Key, Stream};

use crate::arena::Arena;
use crate::bumps::Bumps;
use crate::deflections::Deflections;
use crate::flows::{Flows, Seat};
use crate::links::{LinkChange, Links, Loss, Passage, Step};
use crate::nics::Nics;
use crate::pauses::Pauses;
use crate::protocol::Protocol;
use crate::random;
use crate::table::{self, Shared};
use crate::topology::{FarEnd, LinkId, LinkSpec, Routes};

/// How a unit's packets reach another unit.
pub(crate) trait Calendar {
    /// `handle`, now on the link of unit `link`, arrives at `unit` at `at`.
    fn arrive(&mut self, arena: &mut Arena, unit: u32, at: Time, handle: Handle, link: u32);
    /// A port was changed by another port of its switch, at once: it received a packet, or acted.
    fn touched(&mut self, port: u32);
    /// A packet loses its place at a port. For those who record it: nothing follows.
    #[inline]
    fn displaced(&mut self, _arena: &Arena, _port: u32, _handle: Handle, _fate: Fate) {}
    /// A packet that was for a port leaves by another one. For those who record it: nothing follows.
    #[inline]
    fn deflected(&mut self, _arena: &Arena, _port: u32, _handle: Handle) {}
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
    /// Zero when a byte does not take a whole number of picoseconds, and on a link with framing: the links of most
    /// runs must not pay for it.
    ps_per_byte: u64,
    framing_bytes: u16,
    /// Packets must ask [`Links::passage`] what becomes of them.
    is_impaired: bool,
}

impl LinkClass {
    fn new(spec: LinkSpec, is_impaired: bool) -> LinkClass {
        let LinkSpec { rate, delay, framing_bytes } = spec;
        let whole = rate.whole_ps_per_byte().filter(|_| framing_bytes == 0);
        LinkClass { rate, delay, ps_per_byte: whole.unwrap_or(0), framing_bytes, is_impaired }
    }

    fn spec(&self) -> LinkSpec {
        LinkSpec { rate: self.rate, delay: self.delay, framing_bytes: self.framing_bytes }
    }

    fn is_like(&self, spec: LinkSpec, is_impaired: bool) -> bool {
        (self.spec(), self.is_impaired) == (spec, is_impaired)
    }

    #[inline]
    fn transmission(&self, bytes: u16) -> TimeDelta {
        if self.ps_per_byte != 0 {
            TimeDelta::from_ps(self.ps_per_byte * u64::from(bytes))
        } else {
            self.spec().transmission(ByteCount::new(u64::from(bytes)))
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
        (self.busy_until + class.delay, class.is_impaired)
    }
}

/// An output port and its link: one cache line with the two queues of an NDP port.
#[repr(C, align(64))]
struct PortUnit<P> {
    port: P,
    link: Transmitter,
}

impl<P: OutputPort> PortUnit<P> {
    /// When the port will next start to send: never when it has nothing to send.
    #[inline(always)]
    fn next_departure(&self) -> Time {
        self.port.next_start(self.link.busy_until)
    }
}

/// Bytes at the beginning of a host that its packets need.
const HOST_FRONT: usize = 320;

/// Bytes of a host's connections that are worth asking for before it is visited: two connections.
const MOST_PREFETCH: usize = 512;

#[repr(C, align(64))]
struct HostUnit<E> {
    link: Transmitter,
    /// No event of this host lies before this.
    clock: Time,
    /// When the next of this host's flows starts.
    next_start_at: Time,
    /// Flows that started here and of which no packet has left.
    unsent: u32,
    endpoint: E,
}

/// Packets and bytes, as they enter and leave the network: the two sides of conservation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ledger {
    /// Packets that hosts sent.
    pub(crate) created: u64,
    /// Bytes that hosts sent.
    pub(crate) created_bytes: u64,
    /// Packets that reached a host, by its service's number: returned headers at their sender, all others at their
    /// destination.
    pub(crate) delivered: [u64; 8],
    /// Bytes that reached a host.
    pub(crate) delivered_bytes: u64,
    /// Packets that switches dropped.
    pub(crate) dropped: u64,
    /// Their bytes.
    pub(crate) dropped_bytes: u64,
    /// Packets that links did not bring.
    pub(crate) lost: u64,
    /// Their bytes.
    pub(crate) lost_bytes: u64,
    /// Bytes that trimming cut.
    pub(crate) cut_bytes: u64,
}

/// The class of a link like this.
fn class_of(classes: &mut Vec<LinkClass>, spec: LinkSpec, is_impaired: bool) -> u32 {
    let is_like = |class: &LinkClass| class.is_like(spec, is_impaired);
    let known = classes.iter().position(is_like).unwrap_or_else(|| {
        classes.push(LinkClass::new(spec, is_impaired));
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
fn pool_of(model: &impl PortModel, routes: &Routes, port: u32) -> usize {
    if model.is_plain() { 0 } else { routes.switch_of(port) as usize }
}

/// Everything that has state during a run, or one thread's view of it: units, links and flows are shared with the
/// other threads, packets and the counts of what was done are its own.
pub(crate) struct Network<E, P: OutputPort> {
    seed: u64,
    ports: Shared<PortUnit<P>>,
    hosts: Shared<HostUnit<E>>,
    classes: Shared<LinkClass>,
    links: Links,
    pub(crate) arena: Arena,
    pub(crate) routes: Routes,
    model: P::Model,
    /// One a switch.
    pools: Shared<Pool>,
    /// What a port does depends on the others of its switch.
    couples_ports: bool,
    /// Priority flow control, where there is any.
    pub(crate) pauses: Option<Box<Pauses>>,
    /// What switches that deflect packets remember, where any do.
    pub(crate) deflections: Option<Box<Deflections>>,
    /// Phantom queues and pacers, where there are any.
    bumps: Option<Box<Bumps>>,
    /// The queues and processors of hosts, where there are any.
    nics: Option<Box<Nics>>,
    /// Something stands between hosts and their links: a NIC's queue or processors, a pacer, switches that may tell them
    /// to stop, or packets that are for others.
    has_stages: bool,
    coins: Shared<Stream>,
    /// One a unit, when some flow leaves the choice of paths to the switches.
    choices: Shared<Stream>,
    counters: Shared<PortCounters>,
    /// By unit; empty in a run whose links lose nothing.
    losses: Shared<LinkCounters>,
    /// By host: what it sent; empty in a run that is not sampled.
    sent: Shared<PortCounters>,
    displaced: Displaced,
    pub(crate) flows: Flows,
    /// Hosts tell each other when flows start, without packets: none may be behind.
    pub(crate) has_notices: bool,
    pub(crate) ledger: Ledger,
    /// Packets that ports began to send.
    port_hops: u64,
}

impl<E: Protocol, P: OutputPort> Network<E, P> {
    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// Bytes in a queue of a port, the packet on the wire included.
    pub(crate) fn queue_bytes(&self, port: u32, queue: usize) -> u32 {
        self.ports[port as usize].port.queue_bytes(queue)
    }

    /// What arrives over a link leaves the switch there by one port, wherever it goes.
    pub(crate) fn detour(&mut self, over: LinkId, by: LinkId) {
        let transmitter = match over.unit().checked_sub(self.routes.ports()) {
            Some(host) => &mut self.hosts[host as usize].link,
            None => &mut self.ports[over.index()].link,
        };
        transmitter.far_end = FarEnd::unit(by.unit());
    }

    /// The rate of a port's link now.
    pub(crate) fn rate(&self, port: u32) -> BitRate {
        self.classes[self.ports[port as usize].link.class as usize].rate
    }

    /// Payload that has arrived at the receivers of flows under way.
    pub(crate) fn payload_arrived(&self) -> u64 {
        let of = |opened| {
            let Seat { flow, receiver, .. } = self.flows.seat(opened);
            Some(self.endpoint(flow.destination).statistics_of(receiver?).bytes)
        };
        self.flows.under_way().filter_map(of).sum()
    }

    /// Whether a flow is to start, as far as hosts know.
    pub(crate) fn any_start(&self) -> bool {
        (0..self.hosts.len() as u32).any(|host| self.flows.next_start(host) != Time::NEVER)
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
                Step::Change(link, change) => self.change_link(link, change, now),
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

    fn change_link(&mut self, link: LinkId, change: LinkChange, now: Time) {
        if change == LinkChange::Fail {
            self.forget_pauses(link, now);
        }
        let is_impaired = self.links.is_impaired(link);
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
        // Delay and framing stay what they are.
        let spec = LinkSpec { rate, ..first };
        let is_like = |class: &LinkClass| class.is_like(spec, is_impaired);
        let class = self.classes.iter().position(is_like).expect("every class was made at set-up");
        transmitter.class = class as u32;
    }

    /// A packet on an impaired link: it arrives, later perhaps, or is lost.
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
        let transmitter = match unit.checked_sub(self.routes.ports()) {
            Some(host) => &self.hosts[host as usize].link,
            None => &self.ports[unit as usize].link,
        };
        let transmission = transmitter.busy_until - now;
        if let Some(bumps) = &mut self.bumps {
            bumps.pass(unit as usize, now, self.arena.packet_mut(handle));
        }
        let host = unit.wrapping_sub(self.routes.ports()) as usize;
        if let Some(sent) = self.sent.find_mut(host) {
            sent.packets += 1;
            sent.bytes += u64::from(self.arena.packet(handle).wire_bytes);
        }
        match self.links.passage(unit, now, at, transmission) {
            Passage::Arrives(at) => {
                return calendar.arrive(&mut self.arena, next, at, handle, unit);
            }
            Passage::Gone(loss) => {
                self.ledger.lost += 1;
                let counters = self.losses.find_mut(unit as usize).expect("links that may lose");
                *match loss {
                    Loss::Failed => &mut counters.failed,
                    Loss::Lost => &mut counters.lost,
                    Loss::Corrupted => &mut counters.corrupted,
                } += 1;
            }
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
            let host = &self.hosts[unit as usize - self.ports.len()];
            let (address, bytes) = host.endpoint.connections().all();
            table::prefetch(address, bytes.min(MOST_PREFETCH));
        } else {
            let port = &self.ports[unit as usize].port;
            for queue in 0..P::QUEUES.min(2) {
                self.arena.prefetch(port.first(queue));
            }
        }
    }

    /// Whether a host has more connections than are asked for before it is visited.
    #[inline(always)]
    pub(crate) fn has_many_connections(&self, host: u32) -> bool {
        self.hosts[host as usize].endpoint.connections().all().1 > MOST_PREFETCH
    }

    /// Asks for what says which connection a packet is for that will soon arrive at a host.
    #[inline(always)]
    pub(crate) fn prefetch_flow(&self, host: u32, handle: Handle) {
        self.flows.prefetch(host, Key::of(self.arena.packet(handle)));
    }

    /// Asks for the connection that a packet is for that will soon arrive at a host.
    #[inline(always)]
    pub(crate) fn prefetch_connection(&self, host: u32, handle: Handle) {
        if let Some(slot) = self.flows.find(host, Key::of(self.arena.packet(handle))) {
            let (address, bytes) = self.hosts[host as usize].endpoint.connections().item(slot);
            table::prefetch(address, bytes);
        }
    }

    pub(crate) fn endpoint(&self, host: HostId) -> &E {
        &self.hosts[host.index()].endpoint
    }

    /// Packets that a host or a port began to send.
    pub(crate) fn packet_hops(&self) -> u64 {
        self.ledger.created + self.port_hops
    }

    /// What each link did not bring, ports before hosts.
    pub(crate) fn link_counters(&self) -> Vec<LinkCounters> {
        let mut counters: Vec<LinkCounters> = self.losses.iter().copied().collect();
        counters.resize(self.routes.units() as usize, LinkCounters::default());
        counters
    }

    /// What happened at each port.
    pub(crate) fn port_counters(&self) -> Vec<PortCounters> {
        let mut counters = Vec::with_capacity(self.ports.len());
        for port in 0..self.ports.len() {
            let by_phantom = self.bumps.as_ref().map_or(0, |bumps| bumps.marked(port));
            let marked = u64::from(self.ports[port].port.marked()) + by_phantom;
            counters.push(PortCounters { marked, ..self.counters[port] });
        }
        counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_favour_no_link_and_differ_by_seed() {
        let first = |seed, at| tie(seed, Time::from_ps(at), 7) < tie(seed, Time::from_ps(at), 8);
        let count = (0..10_000).filter(|&at| first(1, at)).count();
        assert!((4_800..5_200).contains(&count), "{count}");
        let changed = (0..10_000).filter(|&at| first(1, at) != first(2, at)).count();
        assert!((4_800..5_200).contains(&changed), "{changed}");
    }
}
