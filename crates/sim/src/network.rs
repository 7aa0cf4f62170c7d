//! The state machines of a run: switch ports with their links, and hosts with their NICs.
//!
//! [`Core`] holds the state that belongs to no node. Switch ports are a table of one kind of port ([`Switches`]), hosts
//! of one kind of endpoint ([`Hosts`]). Neither is compiled for the kind of the other: [`Network`] holds both behind
//! trait objects.
//!
//! The engine decides in which order nodes run ([`crate::engine`]). This module keeps the rules that make the order
//! irrelevant:
//!
//! - A node acts on others only through [`EventSink::arrive`], at least one link delay ahead. The one exception is a
//!   returned header, which enters another port *of the same switch* at once.
//! - At one instant a node's transmitter acts before its arrivals, arrivals before timers, timers before application
//!   starts. An action that becomes possible at the same instant happens at once.
//! - Ports are lazy: an arrival first performs all departures that were due before it; at a coupled switch the
//!   departures of all ports, in order of time ([`coupled`]).

mod bounds;
mod build;
mod core;
mod coupled;
mod host;
mod host_tables;
mod observe;
mod port;
mod tables;

use std::cmp::Ordering;

use trimline_packet::{BitRate, Handle, HostId, Packet, Time};
use trimline_switch::Disposition;
use trimline_transport::{Key, PathList, Side};

pub(crate) use self::build::model_numbers;
pub(crate) use self::core::{Core, LinkClass, Transmitter};
pub(crate) use self::host::Hosts;
pub(crate) use self::port::{Switches, pool_of};
pub(crate) use self::tables::{HostTable, SwitchTable};
use crate::arena::Arena;
use crate::features::pfc::state::classes_of;
use crate::flows::{Opened, Seat};
use crate::links::{LinkChange, Step};
use crate::random;
use crate::topology::{LinkId, LinkSpec};
use crate::workload::Notice;

/// Takes the packets that nodes send, to be delivered later.
pub(crate) trait EventSink {
    /// Delivers `handle`, sent by the transmission `from`, to `node` at `at`.
    fn arrive(
        &mut self,
        arena: &mut Arena,
        node: u32,
        at: Time,
        handle: Handle,
        from: Transmission,
    );
    /// Notes that a port was changed at once by another port of its switch: it received a packet, or acted.
    fn touched(&mut self, port: u32);
    /// Hook for recorders: a port does not keep a packet.
    #[inline]
    fn disposed(&mut self, _arena: &Arena, _port: u32, _handle: Handle, _disposition: Disposition) {
    }
    /// Hook for recorders: a port notifies the sender of a packet that goes on.
    #[inline]
    fn quenched(&mut self, _port: u32, _packet: &Packet) {}
    /// Hook for recorders: a packet for a port leaves by another port.
    #[inline]
    fn detoured(&mut self, _arena: &Arena, _port: u32, _handle: Handle) {}
    /// Hook for recorders: the link of a node took a packet and loses it.
    #[inline]
    fn lost(&mut self, _arena: &Arena, _node: u32, _handle: Handle) {}
}

/// One transmission: the node of the link, and the number of packets that the link sent before. The number repeats
/// after 2^32 packets; pause frames have their own. It is one word, because every packet on a link has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Transmission(u64);

impl Transmission {
    pub(crate) const NONE: Transmission = Transmission(0);
    /// Set in the number of a pause frame.
    pub(crate) const PAUSE: u64 = 1 << 31;

    /// Transmission of the link of `node` that follows `before` others.
    #[inline(always)]
    pub(crate) const fn new(node: u32, before: u64) -> Transmission {
        Transmission(before << 32 | node as u64)
    }
    #[inline(always)]
    pub(crate) const fn link(self) -> u32 {
        self.0 as u32
    }
}

/// The order of packets that arrive at one switch or host at the same instant: a hash, so that no port is favoured and
/// equal-length packets build no permanent phase.
///
/// It hashes the seed and the transmission, not the time or the number of hosts: a run that is shifted in time, faster,
/// or beside idle hosts is the same run.
#[derive(Clone, Copy)]
pub(crate) struct Ties {
    seed: u64,
    ports: u32,
}

impl Ties {
    /// Set in the name of a host's link, whose node number depends on the number of ports.
    const HOST: u32 = 1 << 31;

    pub(crate) const fn new(seed: u64, ports: u32) -> Ties {
        Ties { seed, ports }
    }

    /// Hash of a transmission: the packet with the smaller hash comes first.
    #[inline]
    pub(crate) fn tie(self, of: Transmission) -> u64 {
        let link = of.link();
        let name = link.checked_sub(self.ports).map_or(link, |host| host | Ties::HOST);
        random::mix(self.seed ^ random::mix(of.0 - u64::from(link) + u64::from(name)))
    }

    #[inline]
    pub(crate) fn order(self, a: (Time, Transmission), b: (Time, Transmission)) -> Ordering {
        a.0.cmp(&b.0).then_with(|| self.tie(a.1).cmp(&self.tie(b.1)))
    }
}

/// The state of a run, or one thread's view of it.
pub(crate) struct Network<S: ?Sized, H: ?Sized> {
    pub(crate) core: Core,
    pub(crate) switches: Box<S>,
    pub(crate) hosts: Box<H>,
}

impl<S: SwitchTable + ?Sized, H: HostTable + ?Sized> Network<S, H> {
    fn transmitter(&self, node: u32) -> &Transmitter {
        match node.checked_sub(self.core.routes.ports()) {
            Some(host) => self.hosts.link(host),
            None => self.switches.link(node),
        }
    }

    fn transmitter_mut(&mut self, node: u32) -> &mut Transmitter {
        match node.checked_sub(self.core.routes.ports()) {
            Some(host) => self.hosts.link_mut(host),
            None => self.switches.link_mut(node),
        }
    }

    /// Makes all packets that arrive over `over` leave the switch there by `by`, whatever their destination.
    pub(crate) fn fixed_route(&mut self, over: LinkId, by: LinkId) {
        self.transmitter_mut(over.node()).set_far_end(by.node());
    }

    pub(crate) fn rate(&self, port: u32) -> BitRate {
        self.core.rate(self.switches.link(port))
    }

    /// Payload that has arrived at the receivers of flows under way, in bytes.
    pub(crate) fn payload_arrived(&self) -> u64 {
        let of = |opened| {
            let Seat { flow, receiver, .. } = self.core.flows.seat(opened);
            Some(self.hosts.statistics_of(flow.destination, receiver?).bytes)
        };
        self.core.flows.under_way().filter_map(of).sum()
    }

    pub(crate) fn any_start(&self) -> bool {
        let flows = &self.core.flows;
        (0..self.core.routes.hosts()).any(|host| flows.next_start(host) != Time::NEVER)
    }

    /// Announces a notice to a host. Returns its node, which must run then.
    pub(crate) fn expect(&mut self, notice: Notice) -> u32 {
        self.core.flows.applications.expect(notice);
        self.hosts.set_next_start(notice.host, self.core.flows.next_start(notice.host));
        self.core.routes.ports() + notice.host
    }

    /// Performs the changes of links due at `now`, before anything else at that instant.
    pub(crate) fn change_links(&mut self, now: Time) {
        let mut has_learned = false;
        while let Some(step) = self.core.links.take(now) {
            match step {
                Step::Change(link, change) => self.change_link(link, change, now),
                Step::Learn(link, works) => {
                    self.core.routes.learn(link, works);
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
        let first = self.core.routes.link(link.node()).spec;
        let rate = match change {
            LinkChange::Rate(rate) => rate,
            LinkChange::Fail => self.core.rate(self.transmitter(link.node())),
            LinkChange::Restore => first.rate,
        };
        // Delay and framing stay.
        let class = self.core.class_now(link, LinkSpec { rate, ..first });
        self.transmitter_mut(link.node()).class = class;
    }

    /// Forgets pauses that the ends of a failed link sent or received over it.
    fn forget_pauses(&mut self, link: LinkId, now: Time) {
        let node = link.node();
        let Some(resumed) = self.core.forget_pauses(link, now) else { return };
        match node.checked_sub(self.core.routes.ports()) {
            None => classes_of(resumed).for_each(|class| self.switches.resume(node, class, now)),
            // The host sends nothing before `now`.
            Some(host) => self.hosts.hold_until(host, now),
        }
    }

    /// NDP 3.2.3: hosts receive the routing updates to know which paths to avoid.
    fn announce_paths(&mut self, now: Time) {
        let under_way: Vec<Opened> = self.core.flows.under_way().collect();
        for opened in under_way {
            let flow = self.core.flows.seat(opened).flow;
            let connection = self.core.flows.connection(opened);
            for side in [Side::Sending, Side::Receiving] {
                let (host, peer) = match side {
                    Side::Sending => (flow.source, flow.destination),
                    Side::Receiving => (flow.destination, flow.source),
                };
                let leaves_choice = match side {
                    Side::Sending => flow.switch_random,
                    Side::Receiving => self.core.flows.any_switch_random(),
                };
                let key = Key { peer, connection, opened_here: side == Side::Sending, side };
                if leaves_choice || self.core.flows.find(host.get(), key).is_none() {
                    continue;
                }
                let mut paths = PathList::new();
                self.core.routes.paths(host, peer, &mut paths);
                self.hosts.set_paths(&mut self.core, host, now, (key, paths));
            }
        }
    }

    /// Prefetches both streams of a flow that is forgotten soon.
    pub(crate) fn prefetch_sides(&self, opened: Opened) {
        for (host, slot) in sides(&self.core.flows.seat(opened)) {
            if let Some(slot) = slot {
                self.hosts.prefetch_side(host, slot);
            }
        }
    }

    /// Frees the slots and the place of a flow that has answered late packets. No other thread may work.
    pub(crate) fn forget(&mut self, opened: Opened) {
        for (host, slot) in sides(&self.core.flows.seat(opened)) {
            if let Some(slot) = slot {
                self.hosts.forget(host, slot);
            }
        }
        self.core.flows.forget(opened);
    }
}

fn sides(Seat { flow, sender, receiver, .. }: &Seat) -> [(HostId, Option<u32>); 2] {
    [(flow.source, *sender), (flow.destination, *receiver)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_favour_no_link_and_differ_by_seed() {
        let first = |seed, number| {
            let tie = |link| Ties::new(seed, 8).tie(Transmission::new(link, number));
            tie(7) < tie(8)
        };
        let count = (0..10_000).filter(|&number| first(1, number)).count();
        assert!((4_800..5_200).contains(&count), "{count}");
        let changed = (0..10_000).filter(|&number| first(1, number) != first(2, number)).count();
        assert!((4_800..5_200).contains(&changed), "{changed}");
    }

    #[test]
    fn more_ports_change_no_tie() {
        let tie = |ports, link| Ties::new(1, ports).tie(Transmission::new(link, 3));
        assert_eq!(tie(8, 8 + 5), tie(20, 20 + 5), "a host's link");
        assert_eq!(tie(8, 5), tie(20, 5), "a port's");
        assert_ne!(tie(8, 5), tie(8, 8 + 5));
    }
}
