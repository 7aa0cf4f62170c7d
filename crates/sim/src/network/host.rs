//! What hosts do: packets that they take and send, timers, flows that start, events that are noted.

use std::mem;

use trimline_packet::{ConnectionId, Flags, Handle, HostId, Packet, Packets, Time};
use trimline_switch::OutputPort;
use trimline_transport::{Allowed, Half, Key, PathList, flow};

use super::host_tables::Tables;
use super::{Calendar, Network, next_hop_draw};
use crate::flow::Flow;
use crate::flows::{Begun, Flows, Further, Opened, Totals};
use crate::protocol::Protocol;
use crate::table;
use crate::workload::Notice;

impl<E: Protocol, P: OutputPort> Network<E, P> {
    /// When a host will next act by itself.
    #[inline]
    pub(crate) fn host_next(&self, host: u32) -> Time {
        let (transmission, other) = self.host_outlook(host);
        transmission.min(other)
    }

    /// When a host will next send, and when it will next do anything else by itself.
    #[inline(always)]
    pub(crate) fn host_outlook(&self, host: u32) -> (Time, Time) {
        if self.has_stages {
            return self.host_outlook_staged(host);
        }
        let unit = &self.hosts[host as usize];
        let transmission =
            unit.endpoint.transmit_at(Allowed::ALL).max(unit.link.busy_until).max(unit.clock);
        (transmission, unit.endpoint.poll_timeout().min(unit.next_start_at))
    }

    /// The same where switches may tell hosts to stop, or something stands before the link.
    #[inline(never)]
    fn host_outlook_staged(&self, host: u32) -> (Time, Time) {
        let (unit, number) = (&self.hosts[host as usize], self.routes.ports() + host);
        let other = unit.endpoint.poll_timeout().min(unit.next_start_at);
        let other = other.min(self.next_delivery(host));
        if let Some(next) = self.staged_outlook(host) {
            return (next, other);
        }
        let allowed = self.host_allows(host);
        let transmission =
            unit.endpoint.transmit_at(allowed).max(unit.link.busy_until).max(unit.clock);
        let end = self.pauses.as_ref().map_or(Time::NEVER, |pauses| pauses.first_end(number));
        (transmission, other.min(end))
    }

    /// Which packets the NIC of a host takes now.
    fn host_allows(&self, host: u32) -> Allowed {
        match &self.pauses {
            None => Allowed::ALL,
            Some(pauses) => pauses.allowed(self.routes.ports() + host),
        }
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

    /// A host's timer is due, or the start of a flow, or the transport hears of what waited in the NIC.
    #[cold]
    pub(crate) fn host_otherwise(&mut self, host: u32, now: Time) {
        if self.next_delivery(host) <= now {
            return self.deliver_due(host, now);
        }
        if let Some(pauses) = &mut self.pauses {
            let number = self.routes.ports() + host;
            if pauses.first_end(number) <= now {
                self.hosts[host as usize].clock = now;
                return pauses.end_at_host(number, now);
            }
        }
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
        if self.has_stages {
            return self.transmit_staged(calendar, host, now);
        }
        if let Some(packet) = self.pull(host, now, Allowed::ALL) {
            let handle = self.arena.insert(packet);
            self.send(calendar, host, now, (handle, &packet));
        }
    }

    /// The same where switches may tell hosts to stop, or something stands before the link.
    #[inline(never)]
    fn transmit_staged(&mut self, calendar: &mut impl Calendar, host: u32, now: Time) {
        if self.staged_transmit(calendar, host, now) {
            return;
        }
        let allowed = self.host_allows(host);
        if let Some(packet) = self.pull(host, now, allowed) {
            self.count_sent(host);
            let handle = self.arena.insert(packet);
            self.send(calendar, host, now, (handle, &packet));
        }
    }

    /// The packet that the endpoint of a host gives up now.
    #[inline(always)]
    pub(super) fn pull(&mut self, host: u32, now: Time, allowed: Allowed) -> Option<Packet> {
        let unit = &mut self.hosts[host as usize];
        unit.clock = now;
        let Some(packet) = unit.endpoint.poll_transmit(now, allowed) else {
            assert!(
                unit.endpoint.transmit_at(allowed) > now,
                "an endpoint that has nothing to send must say when it will"
            );
            return None;
        };
        if unit.unsent > 0 {
            unit.unsent -= u32::from(left(&mut self.flows, host, now, &packet));
        }
        self.ledger.created += 1;
        self.ledger.created_bytes += u64::from(packet.wire_bytes);
        Some(packet)
    }

    /// A packet goes on the link of a host, which is free.
    #[inline(always)]
    pub(super) fn send(
        &mut self,
        calendar: &mut impl Calendar,
        host: u32,
        now: Time,
        (handle, packet): (Handle, &Packet),
    ) {
        let link = &mut self.hosts[host as usize].link;
        let (arrival, is_impaired) = link.begin(&self.classes, now, packet.wire_bytes);
        let sender = self.ports.len() as u32 + host;
        let any = next_hop_draw(&mut self.choices, sender);
        let (to, path) = (packet.destination, packet.header.path);
        let next = self.routes.next_unit(link.far_end, to, path, any);
        if is_impaired {
            self.pass(calendar, next, now, arrival, handle, sender);
        } else {
            calendar.arrive(&mut self.arena, next, arrival, handle, sender);
        }
    }

    fn host_timer(&mut self, host: u32, now: Time) {
        let unit = &mut self.hosts[host as usize];
        unit.clock = now;
        let mut directory =
            Tables { host: HostId::new(host), flows: &mut self.flows, routes: &self.routes };
        unit.endpoint.handle_timeout(now, &mut directory);
        self.drain_events(host, now);
    }

    fn host_start(&mut self, host: u32, now: Time) {
        let unit = &mut self.hosts[host as usize];
        unit.clock = now;
        let begun = self.flows.begin(host, now);
        unit.next_start_at = self.flows.next_start(host);
        match begun {
            None => {}
            Some(Begun::Send(further)) => self.host_send(host, now, further),
            Some(Begun::Open(connection, flow)) => self.host_open(host, now, connection, flow),
        }
    }

    /// A flow opens its connection.
    fn host_open(&mut self, host: u32, now: Time, connection: ConnectionId, flow: Flow) {
        let mut paths = PathList::new();
        if flow.switch_random {
            paths.push(trimline_transport::ANY_PATH);
        } else {
            self.routes.paths(flow.source, flow.destination, &mut paths);
        }
        let stream = self.flows.stream_of(&flow, Half::Sending);
        let payload = self.flows.applications.payload(flow.workload);
        let Flow { destination: peer, class, size: length, .. } = flow;
        let command =
            flow::Command::Open { peer, connection, class, length, payload, paths, stream };
        self.host_command(host, now, command);
        self.drain_events(host, now);
    }

    /// A further message goes on its connection.
    fn host_send(&mut self, host: u32, now: Time, further: Further) {
        let Further { key, length } = further;
        self.host_command(host, now, flow::Command::Send { key, length });
        self.drain_events(host, now);
    }

    /// A flow or a message begins.
    fn host_command(&mut self, host: u32, now: Time, command: flow::Command) {
        let mut directory =
            Tables { host: HostId::new(host), flows: &mut self.flows, routes: &self.routes };
        let unit = &mut self.hosts[host as usize];
        unit.unsent += 1;
        unit.endpoint.handle_command(now, command.into(), &mut directory);
    }

    /// A host takes a packet, and does nothing else yet.
    #[inline(always)]
    pub(crate) fn host_receive(&mut self, host: u32, now: Time, handle: Handle) {
        if self.has_stages && self.stage_receives(host, now, handle) {
            return;
        }
        let packet = *self.arena.packet(handle);
        self.hear(host, now, handle, &packet);
    }

    /// The transport of a host hears of a packet, which is no longer in the network.
    #[inline(always)]
    pub(super) fn hear(&mut self, host: u32, now: Time, handle: Handle, packet: &Packet) {
        self.arena.release(handle);
        self.ledger.delivered_bytes += u64::from(packet.wire_bytes);
        self.ledger.delivered[packet.service.service_index()] += 1;
        let unit = &mut self.hosts[host as usize];
        unit.clock = now;
        let mut directory =
            Tables { host: HostId::new(host), flows: &mut self.flows, routes: &self.routes };
        unit.endpoint.handle_packet(now, packet, &mut directory);
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
        if let Some(event) = event.into() {
            let (flow::Event::Delivered { key, .. } | flow::Event::Acknowledged { key, .. }) =
                event;
            if self.flows.is_kept(host, key) {
                self.note_message(host, event, now);
            } else {
                self.flows.note(host, event, now);
            }
            self.hosts[host as usize].next_start_at = self.flows.next_start(host);
        }
    }

    /// The same of a message on a kept connection: the one that waits behind it goes at once. Whoever calls drains the
    /// events.
    fn note_message(&mut self, host: u32, event: flow::Event, now: Time) {
        let (half, slot) = match event {
            flow::Event::Delivered { slot, .. } => (Half::Receiving, slot),
            flow::Event::Acknowledged { slot, .. } => (Half::Sending, slot),
        };
        let totals = self.totals(HostId::new(host), half, slot);
        if let Some(Further { key, length }) = self.flows.note_message(host, event, now, totals) {
            self.host_command(host, now, flow::Command::Send { key, length });
        }
    }

    /// What a half at a host has counted.
    pub(crate) fn totals(&self, host: HostId, half: Half, slot: u32) -> Totals {
        let endpoint = self.endpoint(host);
        Totals::of(|record| match half {
            Half::Receiving => endpoint.record_receiver(slot, record),
            Half::Sending => {
                endpoint.record_sender(slot, record);
                0
            }
        })
    }

    /// What hosts tell each other, since the last time.
    #[inline]
    pub(crate) fn take_notices(&mut self) -> Vec<Notice> {
        mem::take(self.flows.applications.notices())
    }

    /// A host will hear something. Gives its unit, which must be visited then.
    pub(crate) fn expect(&mut self, notice: Notice) -> u32 {
        self.flows.applications.expect(notice);
        self.hosts[notice.host as usize].next_start_at = self.flows.next_start(notice.host);
        self.ports.len() as u32 + notice.host
    }

    /// NDP 3.2.3: hosts receive the routing updates to know which paths to avoid.
    pub(super) fn announce_paths(&mut self, now: Time) {
        let under_way: Vec<Opened> = self.flows.under_way().collect();
        for opened in under_way {
            let flow = self.flows.seat(opened).flow;
            let connection = self.flows.connection(opened);
            for half in [Half::Sending, Half::Receiving] {
                let (host, peer) = match half {
                    Half::Sending => (flow.source, flow.destination),
                    Half::Receiving => (flow.destination, flow.source),
                };
                let leaves_choice = match half {
                    Half::Sending => flow.switch_random,
                    Half::Receiving => self.flows.any_switch_random(),
                };
                let key = Key { peer, connection, opened_here: half == Half::Sending, half };
                if leaves_choice || self.flows.find(host.get(), key).is_none() {
                    continue;
                }
                let mut paths = PathList::new();
                self.routes.paths(host, peer, &mut paths);
                let mut directory = Tables { host, flows: &mut self.flows, routes: &self.routes };
                let endpoint = &mut self.hosts[host.index()].endpoint;
                let command = flow::Command::Paths { key, paths };
                endpoint.handle_command(now, command.into(), &mut directory);
            }
        }
    }

    /// Asks for the halves of a flow that is forgotten soon.
    pub(crate) fn prefetch_halves(&self, opened: Opened) {
        let seat = self.flows.seat(opened);
        for (slot, host) in
            [(seat.sender, seat.flow.source), (seat.receiver, seat.flow.destination)]
        {
            if let Some(slot) = slot {
                let (address, bytes) = self.endpoint(host).connections().item(slot);
                table::prefetch(address, bytes);
            }
        }
    }

    /// A flow is over, and what is late has been answered: its slots and its place are free. While no other thread
    /// works.
    pub(crate) fn forget(&mut self, opened: Opened) {
        let seat = self.flows.seat(opened);
        for (slot, host) in
            [(seat.sender, seat.flow.source), (seat.receiver, seat.flow.destination)]
        {
            if let Some(slot) = slot {
                self.hosts[host.index()].endpoint.forget(slot);
            }
        }
        self.flows.forget(opened);
    }

    /// Until when a host sends what it is sending.
    #[inline(always)]
    pub(crate) fn host_busy_until(&self, host: u32) -> Time {
        self.hosts[host as usize].link.busy_until
    }
}

/// A packet leaves a host. Gives whether it is the first of a flow of this host.
#[cold]
fn left(flows: &mut Flows, host: u32, now: Time, packet: &Packet) -> bool {
    let is_own = packet.header.flags.contains(Flags::FROM_OPENER);
    is_own && flows.leave(host, packet.header.connection, now)
}
