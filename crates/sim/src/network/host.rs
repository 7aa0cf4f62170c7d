//! Hosts: packets, timers, flow starts and events.

use std::sync::Arc;

use trimline_metrics::{FlowRecord, PacketLatency, Readings, SeriesColumn};
use trimline_packet::{ConnectionId, Flags, Handle, HostId, Packet, Packets, Time, TimeDelta};
use trimline_transport::{Allowed, Disposition, Framing, Key, PathList, Side, flow};

use super::core::{HOST_FRONT, next_hop_draw};
use super::host_tables::Tables;
use super::{Core, EventSink, HostTable, Transmission, Transmitter};
use crate::flow::Flow;
use crate::flows::{Begun, Flows, Further};
use crate::protocol::Protocol;
use crate::table::{self, Fronts, Shared};

/// Bytes of a host's connections that are worth prefetching before it runs: two connections.
const MAX_PREFETCH: usize = 512;

#[repr(C, align(64))]
pub(crate) struct HostNode<E> {
    pub(crate) link: Transmitter,
    /// No event of this host lies before this.
    pub(crate) clock: Time,
    next_start_at: Time,
    /// Flows that started here without a packet sent yet.
    unsent: u32,
    begun: u32,
    pub(crate) endpoint: E,
}

pub(crate) struct Hosts<E: Protocol> {
    pub(crate) hosts: Shared<HostNode<E>>,
    config: Arc<E::Config>,
}

impl<E: Protocol> Hosts<E> {
    pub(crate) fn new(
        config: &E::Config,
        links: impl IntoIterator<Item = Transmitter>,
        core: &mut Core,
    ) -> Hosts<E> {
        let config = Arc::new(config.clone());
        let Core { flows, routes, seed, .. } = core;
        let node = |(host, link)| {
            let host_id = HostId::new(host);
            let mut endpoint = E::new(host_id, &config, *seed);
            let mut directory = Tables { host: host_id, flows: &mut *flows, routes: &*routes };
            endpoint.handle_command(Time::ZERO, flow::Command::Listen.into(), &mut directory);
            let next_start_at = flows.next_start(host);
            HostNode { endpoint, link, clock: Time::ZERO, next_start_at, unsent: 0, begun: 0 }
        };
        let hosts = (0..).zip(links).map(node).collect();
        Hosts { hosts, config }
    }

    /// Returns another view of these hosts.
    ///
    /// # Safety
    /// See [`Core::view`].
    pub(crate) unsafe fn view(&self) -> Hosts<E> {
        // SAFETY: promised by the caller.
        Hosts { hosts: unsafe { self.hosts.view() }, config: Arc::clone(&self.config) }
    }

    #[inline(always)]
    pub(crate) fn prefetch_connections(&self, host: u32) {
        let (address, bytes) = self.hosts[host as usize].endpoint.connections().all();
        table::prefetch(address, bytes.min(MAX_PREFETCH));
    }

    /// Returns whether a host has more connections than [`Hosts::prefetch_connections`] covers.
    #[inline(always)]
    pub(crate) fn has_many_connections(&self, host: u32) -> bool {
        self.hosts[host as usize].endpoint.connections().all().1 > MAX_PREFETCH
    }

    /// Prefetches the table entry that gives the connection of a host's next packet.
    #[inline(always)]
    pub(crate) fn prefetch_flow(&self, core: &Core, host: u32, handle: Handle) {
        core.flows.prefetch(host, Key::of(core.arena.packet(handle)));
    }

    #[inline(always)]
    pub(crate) fn prefetch_connection(&self, core: &Core, host: u32, handle: Handle) {
        if let Some(slot) = core.flows.find(host, Key::of(core.arena.packet(handle))) {
            let (address, bytes) = self.hosts[host as usize].endpoint.connections().item(slot);
            table::prefetch(address, bytes);
        }
    }

    #[inline]
    pub(crate) fn host_next(&self, core: &Core, host: u32) -> Time {
        let (transmission, other) = self.host_next_event(core, host);
        transmission.min(other)
    }

    /// Times at which a host sends next, and does anything else next by itself.
    #[inline(always)]
    pub(crate) fn host_next_event(&self, core: &Core, host: u32) -> (Time, Time) {
        if core.has_stages {
            return self.host_next_event_staged(core, host);
        }
        let node = &self.hosts[host as usize];
        let transmission =
            node.endpoint.transmit_at(Allowed::ALL).max(node.link.busy_until).max(node.clock);
        (transmission, node.endpoint.poll_timeout().min(node.next_start_at))
    }

    /// [`Hosts::host_next_event`] of a host that has stages before its link, or may be paused.
    #[inline(never)]
    fn host_next_event_staged(&self, core: &Core, host: u32) -> (Time, Time) {
        let (node, number) = (&self.hosts[host as usize], core.routes.ports() + host);
        let other = node.endpoint.poll_timeout().min(node.next_start_at);
        let other = other.min(core.next_delivery(host));
        if let Some(next) = self.staged_next_event(core, host) {
            return (next, other);
        }
        let allowed = self.host_allows(core, host);
        let transmission =
            node.endpoint.transmit_at(allowed).max(node.link.busy_until).max(node.clock);
        let end = core.pauses.as_ref().map_or(Time::NEVER, |pauses| pauses.first_end(number));
        (transmission, other.min(end))
    }

    fn host_allows(&self, core: &Core, host: u32) -> Allowed {
        match &core.pauses {
            None => Allowed::ALL,
            Some(pauses) => pauses.allowed(core.routes.ports() + host),
        }
    }

    #[inline]
    pub(crate) fn host_advance(
        &mut self,
        core: &mut Core,
        sink: &mut (impl EventSink + ?Sized),
        host: u32,
        limit: Time,
    ) {
        loop {
            let (transmission, other) = self.host_next_event(core, host);
            if transmission.min(other) >= limit {
                return;
            }
            if transmission <= other {
                self.host_transmit(core, sink, host, transmission);
            } else {
                self.host_otherwise(core, host, other);
            }
        }
    }

    /// Performs an arrival at a host, after all that is due, and then what it makes possible at once.
    pub(crate) fn host_arrive(
        &mut self,
        core: &mut Core,
        sink: &mut (impl EventSink + ?Sized),
        host: u32,
        now: Time,
        handle: Handle,
    ) {
        self.host_advance(core, sink, host, now);
        self.host_transmit_due(core, sink, host, now);
        self.host_receive(core, host, now, handle);
        self.host_transmit_due(core, sink, host, now);
    }

    fn host_transmit_due(
        &mut self,
        core: &mut Core,
        sink: &mut (impl EventSink + ?Sized),
        host: u32,
        now: Time,
    ) {
        while self.host_next_event(core, host).0 <= now {
            self.host_transmit(core, sink, host, now);
        }
    }

    /// Performs a timer, a flow's start, or the delivery of packets that waited in the NIC.
    #[cold]
    pub(crate) fn host_otherwise(&mut self, core: &mut Core, host: u32, now: Time) {
        if core.next_delivery(host) <= now {
            return self.deliver_due(core, host, now);
        }
        if let Some(pauses) = &mut core.pauses {
            let number = core.routes.ports() + host;
            if pauses.first_end(number) <= now {
                self.hosts[host as usize].clock = now;
                return pauses.end_at_host(number, now);
            }
        }
        let node = &self.hosts[host as usize];
        if node.endpoint.poll_timeout() <= now {
            self.host_timer(core, host, now.max(node.clock));
        } else {
            self.host_start(core, host, now);
        }
    }

    #[inline]
    pub(crate) fn host_transmit(
        &mut self,
        core: &mut Core,
        sink: &mut (impl EventSink + ?Sized),
        host: u32,
        now: Time,
    ) {
        if core.has_stages {
            return self.transmit_staged(core, sink, host, now);
        }
        if let Some(packet) = self.pull(core, host, now, Allowed::ALL) {
            let handle = self.insert(core, host, packet);
            self.send(core, sink, host, now, (handle, &packet));
        }
    }

    /// Polls the endpoint of a host that has stages before its link, or may be paused.
    #[inline(never)]
    fn transmit_staged(
        &mut self,
        core: &mut Core,
        sink: &mut (impl EventSink + ?Sized),
        host: u32,
        now: Time,
    ) {
        if self.staged_transmit(core, sink, host, now) {
            return;
        }
        let allowed = self.host_allows(core, host);
        if let Some(packet) = self.pull(core, host, now, allowed) {
            core.count_sent(host);
            let handle = self.insert(core, host, packet);
            self.send(core, sink, host, now, (handle, &packet));
        }
    }

    /// Polls the endpoint of a host for a packet.
    #[inline(always)]
    pub(crate) fn pull(
        &mut self,
        core: &mut Core,
        host: u32,
        now: Time,
        allowed: Allowed,
    ) -> Option<Packet> {
        let node = &mut self.hosts[host as usize];
        node.clock = now;
        let Some(packet) = node.endpoint.poll_transmit(now, allowed) else {
            assert!(
                node.endpoint.transmit_at(allowed) > now,
                "an endpoint that has nothing to send must say when it will"
            );
            return None;
        };
        if node.unsent > 0 {
            node.unsent -= u32::from(left(&mut core.flows, host, now, &packet));
        }
        core.count_created(&packet);
        Some(packet)
    }

    /// Sends a packet on the link of a host, which is free.
    #[inline(always)]
    pub(crate) fn send(
        &mut self,
        core: &mut Core,
        sink: &mut (impl EventSink + ?Sized),
        host: u32,
        now: Time,
        (handle, packet): (Handle, &Packet),
    ) {
        let HostNode { link, begun, .. } = &mut self.hosts[host as usize];
        let sender = core.routes.ports() + host;
        let from = Transmission::new(sender, (*begun).into());
        *begun = begun.wrapping_add(1);
        let any = next_hop_draw(&mut core.choices, sender);
        let (to, path) = (packet.destination, packet.header.path);
        let next = core.routes.next_node(link.far_end, to, path, any);
        core.begin(sink, link, (from, next), (now, handle, packet.wire_bytes));
    }

    fn host_timer(&mut self, core: &mut Core, host: u32, now: Time) {
        let node = &mut self.hosts[host as usize];
        node.clock = now;
        let mut directory =
            Tables { host: HostId::new(host), flows: &mut core.flows, routes: &core.routes };
        node.endpoint.handle_timeout(now, &mut directory);
        self.drain_events(core, host, now);
    }

    fn host_start(&mut self, core: &mut Core, host: u32, now: Time) {
        let node = &mut self.hosts[host as usize];
        node.clock = now;
        let begun = core.flows.begin(host, now);
        node.next_start_at = core.flows.next_start(host);
        match begun {
            None => {}
            Some(Begun::Send(further)) => self.host_send(core, host, now, further),
            Some(Begun::Open(connection, flow)) => {
                self.host_open(core, host, now, connection, flow)
            }
        }
    }

    fn host_open(
        &mut self,
        core: &mut Core,
        host: u32,
        now: Time,
        connection: ConnectionId,
        flow: Flow,
    ) {
        let mut paths = PathList::new();
        if flow.switch_random {
            paths.push(trimline_transport::ANY_PATH);
        } else {
            core.routes.paths(flow.source, flow.destination, &mut paths);
        }
        let stream = core.flows.stream_of(&flow, Side::Sending);
        let payload = core.flows.applications.payload(flow.workload);
        let Flow { destination: peer, class, size: length, .. } = flow;
        let command =
            flow::Command::Open { peer, connection, class, length, payload, paths, stream };
        self.host_command(core, host, now, command);
        self.drain_events(core, host, now);
    }

    fn host_send(&mut self, core: &mut Core, host: u32, now: Time, further: Further) {
        let Further { key, length } = further;
        self.host_command(core, host, now, flow::Command::Send { key, length });
        self.drain_events(core, host, now);
    }

    fn host_command(&mut self, core: &mut Core, host: u32, now: Time, command: flow::Command) {
        let mut directory =
            Tables { host: HostId::new(host), flows: &mut core.flows, routes: &core.routes };
        let node = &mut self.hosts[host as usize];
        node.unsent += 1;
        node.endpoint.handle_command(now, command.into(), &mut directory);
    }

    /// Receives a packet, and does nothing else yet.
    #[inline(always)]
    pub(crate) fn host_receive(&mut self, core: &mut Core, host: u32, now: Time, handle: Handle) {
        if core.has_stages && self.stage_receives(core, host, now, handle) {
            return;
        }
        let packet = *core.arena.packet(handle);
        self.receive(core, host, now, handle, &packet);
    }

    /// Gives a packet to a host's transport: it leaves the network.
    #[inline(always)]
    pub(crate) fn receive(
        &mut self,
        core: &mut Core,
        host: u32,
        now: Time,
        handle: Handle,
        packet: &Packet,
    ) {
        self.receive_telemetry(core, host, handle);
        core.arena.release(handle);
        core.count_delivered(packet);
        let node = &mut self.hosts[host as usize];
        node.clock = now;
        let mut directory =
            Tables { host: HostId::new(host), flows: &mut core.flows, routes: &core.routes };
        let disposition = node.endpoint.handle_packet(now, packet, &mut directory);
        if disposition == Disposition::Discard && packet.service.service().is_whole() {
            core.count_if_unclaimed(host, packet);
        }
        self.drain_events(core, host, now);
    }

    #[inline]
    fn drain_events(&mut self, core: &mut Core, host: u32, now: Time) {
        while let Some(event) = self.hosts[host as usize].endpoint.poll_event() {
            self.record_event(core, host, event, now);
        }
    }

    /// Records a transport's event. A flow's end may start another at the same host.
    #[cold]
    fn record_event(&mut self, core: &mut Core, host: u32, event: E::Event, now: Time) {
        if let Some(event) = event.into() {
            let (flow::Event::Delivered { key, .. } | flow::Event::Acknowledged { key, .. }) =
                event;
            if core.flows.is_persistent(host, key) {
                self.record_message(core, host, event, now);
            } else {
                core.flows.record(host, event, now);
            }
            self.hosts[host as usize].next_start_at = core.flows.next_start(host);
        }
    }

    /// Records a message's event on a persistent connection: the message behind it goes at once. The caller drains the
    /// events.
    fn record_message(&mut self, core: &mut Core, host: u32, event: flow::Event, now: Time) {
        let (side, slot) = match event {
            flow::Event::Delivered { slot, .. } => (Side::Receiving, slot),
            flow::Event::Acknowledged { slot, .. } => (Side::Sending, slot),
        };
        let totals = HostTable::totals(self, HostId::new(host), side, slot);
        if let Some(Further { key, length }) = core.flows.record_message(host, event, now, totals) {
            self.host_command(core, host, now, flow::Command::Send { key, length });
        }
    }

    fn endpoint(&self, host: HostId) -> &E {
        &self.hosts[host.index()].endpoint
    }

    #[inline(always)]
    pub(crate) fn host_busy_until(&self, host: u32) -> Time {
        self.hosts[host as usize].link.busy_until
    }
}

/// Notes that a packet leaves a host. Returns whether it is the first of the host's flow.
#[cold]
fn left(flows: &mut Flows, host: u32, now: Time, packet: &Packet) -> bool {
    let is_own = packet.header.flags.contains(Flags::FROM_OPENER);
    is_own && flows.leave(host, packet.header.connection, now)
}

impl<E: Protocol> HostTable for Hosts<E> {
    fn framing(&self) -> Framing {
        E::FRAMING
    }
    fn fronts(&self) -> Fronts<HOST_FRONT> {
        self.hosts.fronts()
    }
    fn link(&self, host: u32) -> &Transmitter {
        &self.hosts[host as usize].link
    }
    fn link_mut(&mut self, host: u32) -> &mut Transmitter {
        &mut self.hosts[host as usize].link
    }
    fn hold_until(&mut self, host: u32, now: Time) {
        let host = &mut self.hosts[host as usize];
        host.clock = host.clock.max(now);
    }
    fn set_next_start(&mut self, host: u32, at: Time) {
        self.hosts[host as usize].next_start_at = at;
    }
    fn time_wait(&self) -> TimeDelta {
        E::time_wait(&self.config)
    }
    fn stall_timeout(&self) -> TimeDelta {
        E::stall_timeout(&self.config)
    }
    fn series_columns(&self) -> Vec<SeriesColumn> {
        E::series_columns(&self.config)
    }
    fn statistics_of(&self, host: HostId, slot: u32) -> flow::Statistics {
        self.endpoint(host).statistics_of(slot)
    }
    fn record_sender(&self, host: HostId, slot: u32, record: &mut FlowRecord) {
        self.endpoint(host).record_sender(slot, record);
    }
    fn record_receiver(&self, host: HostId, slot: u32, record: &mut FlowRecord) -> u64 {
        self.endpoint(host).record_receiver(slot, record)
    }
    fn latencies(&self, host: HostId, slot: u32, latencies: &mut Vec<PacketLatency>) {
        self.endpoint(host).latencies(slot, &self.config, latencies);
    }
    fn read(&self, host: HostId, slot: u32, side: Side, readings: &mut Readings<'_>) {
        self.endpoint(host).read(slot, side, readings);
    }
    fn prefetch_side(&self, host: HostId, slot: u32) {
        let (address, bytes) = self.endpoint(host).connections().item(slot);
        table::prefetch(address, bytes);
    }
    fn forget(&mut self, host: HostId, slot: u32) {
        self.hosts[host.index()].endpoint.forget(slot);
    }
    fn set_paths(
        &mut self,
        core: &mut Core,
        host: HostId,
        now: Time,
        (key, paths): (Key, PathList),
    ) {
        let command = flow::Command::Paths { key, paths };
        let mut directory = Tables { host, flows: &mut core.flows, routes: &core.routes };
        self.hosts[host.index()].endpoint.handle_command(now, command.into(), &mut directory);
    }
}
