//! Views of a network between two events, for recorders and checks.

use trimline_hostnic::PacerCounters;
use trimline_metrics::HostCounters;
use trimline_packet::{Handle, Packet, Packets, PortCounters, ServiceClass, Time, TimeDelta};
use trimline_transport::Side;

use super::{Core, HostTable, Network, SwitchTable};
use crate::flows::{Seat, Totals};

impl<S: SwitchTable + ?Sized, H: HostTable + ?Sized> Network<S, H> {
    /// Checks that no queue exceeds its limit, and that pools count the bytes in their queues.
    ///
    /// # Panics
    /// Panics if a check fails.
    pub(crate) fn check_queue_bounds(&self) {
        for port in 0..self.core.routes.ports() {
            for queue in 0..self.switches.queues() {
                let Some(max) = self.switches.max_in_queue(port, queue) else { continue };
                let packets = self.switches.queue_packets(port, queue);
                let bytes = self.switches.queue_bytes(port, queue);
                assert!(
                    packets <= max.packets && bytes <= max.bytes,
                    "{}: queue {queue} holds {packets} packets, {bytes} B of {max:?}",
                    self.core.routes.port_name(port)
                );
            }
        }
        let switches = if self.switches.shares_memory() { self.core.routes.switches() } else { 0 };
        for switch in 0..switches {
            let (pool, ports) =
                (&self.core.pools[switch], self.core.routes.ports_of(switch as u32));
            let pooled = |port: u32| -> u64 {
                let pooled = |&queue: &usize| self.switches.is_pooled(port, queue);
                let queues = (0..self.switches.queues()).filter(pooled);
                queues.map(|queue| u64::from(self.switches.queue_bytes(port, queue))).sum()
            };
            let held: u64 = ports.map(pooled).sum();
            let used = pool.used().get();
            assert!(
                held == used && used <= pool.capacity().get(),
                "switch {switch}: queues hold {held} B of the pool, which counts {used} of {}",
                pool.capacity()
            );
        }
    }

    pub(crate) fn waiting_in(&self, port: u32, queue: usize) -> impl Iterator<Item = Handle> {
        let some = |handle: Handle| (!handle.is_none()).then_some(handle);
        let first = some(self.switches.first(port, queue));
        std::iter::successors(first, move |&handle| some(self.core.arena.next(handle)))
    }

    /// Returns whether a packet waits in a port's queue, besides the one on the wire.
    pub(crate) fn has_waiting(&self, port: u32, queue: usize) -> bool {
        queue < self.switches.queues() && !self.switches.first(port, queue).is_none()
    }

    pub(crate) fn waiting(&self, port: u32) -> impl Iterator<Item = (Handle, &Packet)> {
        let queues =
            (0..self.switches.queues()).flat_map(move |queue| self.waiting_in(port, queue));
        queues.map(|handle| (handle, self.core.arena.packet(handle)))
    }

    /// Packets and bytes of the port's queue for this packet, including the packet on the wire.
    pub(crate) fn queue_of(&self, port: u32, packet: &Packet) -> (u32, u32) {
        let queue = self.switches.classify(port, packet);
        (self.switches.queue_packets(port, queue), self.switches.queue_bytes(port, queue))
    }

    /// Bytes in all queues of a port, the packet on the wire included.
    pub(crate) fn queued_bytes(&self, port: u32) -> u64 {
        self.queued_in(port, u32::MAX)
    }

    /// Queues of a port that whole data packets enter, a bit each.
    pub(crate) fn data_queues(&self, port: u32) -> u32 {
        data_queues(&*self.switches, port)
    }

    pub(crate) fn queued_in(&self, port: u32, queues: u32) -> u64 {
        let queues = (0..self.switches.queues()).filter(|queue| queues >> queue & 1 != 0);
        queues.map(|queue| u64::from(self.switches.queue_bytes(port, queue))).sum()
    }

    /// Returns how long pauses have stopped any class of a node.
    pub(crate) fn stopped_for(&self, node: u32, now: Time) -> TimeDelta {
        let pauses = self.core.pauses.as_ref();
        pauses.map_or(TimeDelta::ZERO, |pauses| pauses.counters(node, now).1.stopped_for)
    }

    /// Counters of the stages before hosts' links, by host; empty in a run without stages.
    pub(crate) fn staged_hosts(&self, now: Time) -> Vec<HostCounters> {
        let Core { nics, pacers, phantom_queues, routes, .. } = &self.core;
        let nodes = routes.ports()..routes.nodes();
        let has_phantoms = phantom_queues.as_ref().is_some_and(|of| of.has_any(nodes.clone()));
        if nics.is_none() && pacers.is_none() && !has_phantoms {
            return Vec::new();
        }
        let of_host = |(host, node): (u32, u32)| {
            let pacer = pacers.as_ref().map(|pacers| pacers.counters(host)).unwrap_or_default();
            let PacerCounters { passed, paced, dropped, associated, refused, dropped_bytes: _ } =
                pacer;
            // Without a NIC's counters the pacer has seen all packets.
            let to_pacer =
                || HostCounters { sent: passed + paced + dropped, ..HostCounters::default() };
            HostCounters {
                passed,
                paced,
                pacer_dropped: dropped,
                associated,
                refused,
                marked: self.core.marked_by_phantom(node),
                ..nics.as_ref().map_or_else(to_pacer, |nics| nics.counters(host, now))
            }
        };
        (0..).zip(nodes).map(of_host).collect()
    }

    /// Packets and bytes that each host sent, and its link's phantom marks, in a sampled run.
    pub(crate) fn host_counters(&self) -> impl Iterator<Item = PortCounters> {
        self.core.sent.iter().zip(self.core.routes.ports()..).map(move |(sent, node)| {
            PortCounters { marked: self.core.marked_by_phantom(node), ..*sent }
        })
    }

    /// Payload of sized flows that applications have handed over and hosts have not sent once, by host.
    ///
    /// `payloads` are the bytes of a full packet, by workload.
    pub(crate) fn unsent_bytes(&self, payloads: &[u64]) -> Vec<u64> {
        let mut unsent = vec![0; self.core.routes.hosts() as usize];
        for opened in self.core.flows.under_way() {
            let Seat { flow, sender, acknowledged: None, receiver, .. } =
                self.core.flows.seat(opened)
            else {
                continue;
            };
            let totals = |host, side, slot: Option<u32>| {
                slot.map_or(Totals::default(), |slot| self.hosts.totals(host, side, slot))
            };
            let sent = totals(flow.source, Side::Sending, sender);
            let (flow, sent) = match self.core.flows.carries_messages(opened) {
                false => (flow, sent),
                true => {
                    let received = totals(flow.destination, Side::Receiving, receiver);
                    match self.core.flows.course(opened, sent, received) {
                        Some(course) => (course.flow, course.totals),
                        None => continue,
                    }
                }
            };
            let Some(size) = flow.size else { continue };
            let sent = sent.sent_once() * payloads[flow.workload as usize];
            unsent[flow.source.index()] += size.get().saturating_sub(sent);
        }
        self.core.flows.unsent_of_waiting(&mut unsent);
        unsent
    }

    pub(crate) fn busy_until(&self, node: u32) -> Time {
        self.transmitter(node).busy_until()
    }

    pub(crate) fn port_counters(&self) -> Vec<PortCounters> {
        let of = |port: u32| {
            let marked = u64::from(self.switches.marked(port)) + self.core.marked_by_phantom(port);
            PortCounters { marked, ..self.core.counters[port as usize] }
        };
        (0..self.core.routes.ports()).map(of).collect()
    }
}

pub(super) fn data_queues(switches: &(impl SwitchTable + ?Sized), port: u32) -> u32 {
    let is_whole = |class: &ServiceClass| class.service().is_whole();
    let queue = |class| switches.queue_of(port, class);
    ServiceClass::all().filter(is_whole).fold(0, |all, class| all | 1 << queue(class))
}
