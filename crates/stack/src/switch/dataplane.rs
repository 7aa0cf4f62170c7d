//! Switches, their ports and the links between them, on any clock, generic over the kind of queues.
//!
//! Inner links are in memory and on virtual time: their events have exact times, though they may run a little later by
//! the wall clock. Only hosts' frames come and go in real time. So the mean rate of every link is exact, however late
//! the thread wakes.

mod detour_ports;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use hdrhistogram::Histogram;
use trimline_packet::{
    ByteCount, Handle, Packet, Packets, PortCounters, Service, ServiceClass, Time, TimeDelta,
};
use trimline_switch::{Disposition, DropList, Pool, PortContext, apply_dispositions};
use trimline_transport::RngStream;

use self::detour_ports::DetourPorts;
use super::config::{FarEnd, ForwardingLayer, Layout, Line, SwitchConfig};
use super::detour::DetourState;
use super::egress::Egress;
use super::exit::Exit;
use super::forwarding::{Forwarding, Table};
use super::frames::{Frames, Track};
use super::ingress::Ingress;
use super::ip_header::IpHeader;
use super::labels::LabelTable;
use super::notification::Unnotified;
use super::pacer::{HostPacer, PacerState};
use super::phantom::Phantom;
use super::rng::ScriptedRng;
use crate::io::mem::{Impairer, Impairments};
use crate::random;

/// Maximum number of queues of an output port of any kind.
const MAX_QUEUES: usize = 9;

#[derive(Debug)]
struct Port<E> {
    switch: u32,
    /// Its index at its switch.
    local: u16,
    egress: E,
    line: Line,
    far_end: FarEnd,
    busy_until: Time,
    /// The valid departure among the events; `NEVER` if there is none. Others are obsolete.
    planned: Time,
    coins: ScriptedRng,
    impairer: Option<Impairer>,
    counters: PortCounters,
    queues: [QueueCounters; MAX_QUEUES],
    phantom: Option<Box<Phantom>>,
    waits: Option<Box<Waits>>,
    /// The times at which notifications began to leave, if recorded.
    notified_at: Option<Vec<Time>>,
}

/// Waits of frames at a port, in nanoseconds: from their last bit in to their first bit out.
pub type Waits = Histogram<u64>;

/// The longest wait that is distinguished from longer ones.
const LONGEST_WAIT: TimeDelta = TimeDelta::from_ms(60_000);

impl<E> Port<E> {
    fn marked_by_phantom(&self) -> u64 {
        self.phantom.as_ref().map_or(0, |phantom| phantom.marked)
    }
}

impl<E: Egress> Port<E> {
    fn release_sent(&mut self, now: Time, model: &E::Model, pool: &mut Pool) {
        if self.busy_until <= now {
            self.egress.release(model, pool);
        }
    }
}

/// Counters of one queue of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueCounters {
    /// Packets that began to leave.
    pub packets: u64,
    /// Bytes on the wire of packets that began to leave.
    pub bytes: u64,
    /// Packets that found no room.
    pub dropped: u64,
}

#[derive(Debug)]
struct Switch {
    ports: Vec<u32>,
    forwarding: Forwarding,
    detours: Option<Box<Detours>>,
}

#[derive(Debug)]
struct Detours {
    detour_state: DetourState,
    draws: ScriptedRng,
}

/// The order at one instant: departures before arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Depart(u32),
    /// The pacer of this host takes a frame, or sends one.
    Pace(u32),
    /// A frame arrives at the switch of this port.
    Arrive(u32, u32),
    /// A frame arrives at this host.
    Deliver(u32, u32),
}

impl Event {
    fn class(self) -> u8 {
        match self {
            Event::Depart(_) | Event::Pace(_) => 0,
            Event::Arrive(..) | Event::Deliver(..) => 1,
        }
    }
}

type Planned = (Time, u8, u64, u64, Event);

/// The tie-break of arrivals at one instant, from a line's number and the frames that it sent before.
pub type Ties = Box<dyn Fn(u32, u64) -> u64 + Send>;

pub(super) struct Queues<M> {
    pub(super) model: M,
    /// The index of each port's model in a table; empty without a table.
    pub(super) of_port: Vec<u16>,
}

pub(super) struct Dataplane<E: Egress> {
    model: E::Model,
    frames: Frames,
    switches: Vec<Switch>,
    ports: Vec<Port<E>>,
    hosts: Vec<Ingress>,
    /// By time, class, tie and order of creation.
    events: BinaryHeap<Reverse<Planned>>,
    made: u64,
    ties: Ties,
    sent: Vec<u64>,
    drop_list: DropList,
    /// Queues have memory of their own, so this is empty.
    pool: Pool,
    /// Frames without a route.
    pub(super) lost_ways: u64,
    /// Frames with a label that the table of a switch does not have.
    pub(super) unknown_labels: u64,
    /// Frames dropped without a notification, by reason.
    unnotified: [u64; Unnotified::ALL.len()],
    passed: VecDeque<Vec<u8>>,
}

impl<E: Egress> Dataplane<E> {
    /// Sets all remembered times back with the clock.
    pub(super) fn set_back(&mut self, by: TimeDelta) {
        for switch in &mut self.switches {
            switch.forwarding.set_back(by);
        }
        for port in &mut self.ports {
            (port.busy_until, port.planned) =
                (port.busy_until.set_back(by), port.planned.set_back(by));
            port.egress.set_back(by);
            if let Some(phantom) = &mut port.phantom {
                phantom.set_back(by);
            }
        }
        for host in &mut self.hosts {
            host.set_back(by);
        }
        let events = std::mem::take(&mut self.events).into_iter();
        let moved = |Reverse((time, class, tie, made, event)): Reverse<Planned>| {
            Reverse((time.set_back(by), class, tie, made, event))
        };
        self.events = events.map(moved).collect();
    }

    /// Builds the switches of a layout, which forward as `described`. `coins` gives each port's RNG stream, `ties` the
    /// order of arrivals at one instant.
    pub(super) fn new(
        described: &[SwitchConfig],
        layout: Layout,
        queues: Queues<E::Model>,
        seed: u64,
        coins: impl Fn(u32) -> RngStream,
        ties: Ties,
    ) -> Dataplane<E> {
        const { assert!(E::QUEUES <= MAX_QUEUES, "a port counts what each of its queues does") };
        let Layout {
            profile,
            lengths,
            notifies_control,
            switches,
            ports,
            phantoms,
            pacers,
            detour,
            hosts,
            guards,
            routes,
            labels,
        } = layout;
        let reads_labels = !labels.is_empty();
        let mut labels = labels.into_iter();
        let Queues { model, of_port } = queues;
        let impairer = |rules: Impairments, owner: u64| {
            let impairs = rules.loss | rules.corruption | rules.duplication | rules.reordering != 0;
            let stream = random::stream(seed ^ random::mix(u64::MAX), owner);
            impairs.then(|| Impairer::new(rules, stream))
        };
        let lines = ports.len() + hosts.len();
        let hosts = hosts.into_iter().zip(guards).zip(pacers).map(|((port, guard), pacer)| {
            let rules = ports[port as usize].1.rules;
            let draws = random::stream(seed ^ random::mix(3), u64::from(port));
            let pacer = pacer.map(|model| HostPacer::new(model, draws));
            Ingress::new(port, impairer(rules, u64::from(port) << 1), guard, pacer)
        });
        let hosts = hosts.collect();
        let local_of = |switch: u32, port: u32| {
            let place = switches[switch as usize].iter().position(|&other| other == port);
            place.expect("a port is one of its switch") as u16
        };
        let ports = (0..).zip(&ports).map(|(number, &(switch, line, far_end))| Port {
            switch,
            local: local_of(switch, number),
            egress: E::with_model(of_port.get(number as usize).copied().unwrap_or(0)),
            line,
            far_end,
            busy_until: Time::ZERO,
            planned: Time::NEVER,
            coins: ScriptedRng(coins(number)),
            impairer: impairer(line.rules, u64::from(number) << 1 | 1),
            counters: PortCounters::default(),
            queues: [QueueCounters::default(); MAX_QUEUES],
            phantom: phantoms[number as usize].map(|model| Box::new(Phantom::new(model))),
            waits: None,
            notified_at: None,
        });
        let ports = ports.collect();
        let switches = (0..).zip(switches.into_iter().zip(routes)).zip(described);
        let switches = switches.map(|((number, (ports, routes)), described)| Switch {
            detours: detour.map(|detour| {
                let detour_state = DetourState::new(detour, ports.len());
                let draws = ScriptedRng(random::stream(seed ^ random::mix(2), number));
                Box::new(Detours { detour_state, draws })
            }),
            ports,
            forwarding: below_labels(
                labels.next(),
                match described.forwarding {
                    ForwardingLayer::L2 => Forwarding::L2(Default::default()),
                    ForwardingLayer::L3 => Forwarding::L3(Table {
                        routes: routes.into_iter().collect(),
                        spread: described.spread,
                        seed: random::mix(seed ^ number),
                        hashes_input: detour.is_some(),
                        draws: random::stream(seed ^ random::mix(1), number),
                    }),
                },
            ),
        });
        let mut frames = Frames::new(profile, lengths);
        (frames.notifies_control, frames.reads_labels) = (notifies_control, reads_labels);
        Dataplane {
            model,
            frames,
            switches: switches.collect(),
            ports,
            hosts,
            events: BinaryHeap::new(),
            made: 0,
            sent: vec![0; lines],
            ties,
            drop_list: DropList::new(),
            pool: Pool::none(),
            lost_ways: 0,
            unknown_labels: 0,
            unnotified: [0; Unnotified::ALL.len()],
            passed: VecDeque::new(),
        }
    }

    pub(super) fn hosts(&self) -> usize {
        self.hosts.len()
    }

    /// Returns each port's switch, index there and counters, in the order of [`Dataplane::new`].
    pub(super) fn counters(&self) -> impl Iterator<Item = (u32, u16, PortCounters)> + '_ {
        let counted = |port: &Port<E>| {
            let marked = u64::from(port.egress.marked()) + port.marked_by_phantom();
            (port.switch, port.local, PortCounters { marked, ..port.counters })
        };
        self.ports.iter().map(counted)
    }

    pub(super) fn queue_counters(&self, port: u32, class: ServiceClass) -> QueueCounters {
        let port = &self.ports[port as usize];
        port.queues[port.egress.queue_of(&self.model, class)]
    }

    /// Returns the packets that a phantom queue has marked, which [`Dataplane::counters`] includes.
    pub(super) fn marked_by_phantom(&self, port: u32) -> u64 {
        self.ports[port as usize].marked_by_phantom()
    }

    pub(super) fn watch_waits(&mut self, port: u32) {
        let longest = LONGEST_WAIT.as_ps() / 1000;
        let waits = Waits::new_with_bounds(1, longest, 3).expect("sound bounds");
        self.ports[port as usize].waits = Some(Box::new(waits));
    }

    pub(super) fn waits(&self, port: u32) -> Option<&Waits> {
        self.ports[port as usize].waits.as_deref()
    }

    pub(super) fn watch_notifications(&mut self, port: u32) {
        self.ports[port as usize].notified_at = Some(Vec::new());
    }

    pub(super) fn notifications(&self, port: u32) -> Option<&[Time]> {
        self.ports[port as usize].notified_at.as_deref()
    }

    pub(super) fn unnotified(&self) -> [(Unnotified, u64); Unnotified::ALL.len()] {
        Unnotified::ALL.map(|reason| (reason, self.unnotified[reason as usize]))
    }

    pub(super) fn queued(&self, port: u32) -> Vec<u32> {
        let egress = &self.ports[port as usize].egress;
        let exists = |queue: &usize| egress.max_in_queue(&self.model, *queue).is_some();
        (0..E::QUEUES).filter(exists).map(|queue| egress.queue_packets(queue)).collect()
    }

    pub(super) fn held(&self) -> usize {
        self.frames.held()
    }

    pub(super) fn dropped_at_ingress(&self) -> u64 {
        self.hosts.iter().map(|host| host.dropped).sum()
    }

    /// Returns the state of a host's pacer, if it has one.
    pub(super) fn pacer(&self, host: u32) -> Option<PacerState> {
        self.hosts.get(host as usize)?.pacer.as_ref().map(|pacer| pacer.state())
    }

    pub(super) fn ingresses(&self) -> &[Ingress] {
        &self.hosts
    }

    pub(super) fn ingresses_mut(&mut self) -> &mut [Ingress] {
        &mut self.hosts
    }

    /// Takes over rates, delays, routes and accepted sources of another layout of these switches.
    pub(super) fn change(&mut self, described: &[SwitchConfig], layout: Layout) {
        for (port, (_, line, _)) in self.ports.iter_mut().zip(layout.ports) {
            (port.line.rate, port.line.delay) = (line.rate, line.delay);
        }
        for (host, guard) in self.hosts.iter_mut().zip(layout.guards) {
            host.change_guard(guard);
        }
        let switches = self.switches.iter_mut().zip(layout.routes).zip(described);
        for ((switch, routes), described) in switches {
            if let Some(table) = switch.forwarding.addresses_mut() {
                table.routes = routes.into_iter().collect();
                table.spread = described.spread;
            }
        }
    }

    fn insert(&mut self, frame: &[u8]) -> Handle {
        let handle = self.frames.insert(frame);
        self.frames.read_fields::<E>(handle);
        handle
    }

    fn push(&mut self, at: Time, line: u32, event: Event) {
        self.made += 1;
        let class = event.class();
        let tie = if class == 0 {
            0
        } else {
            let before = &mut self.sent[line as usize];
            *before += 1;
            (self.ties)(line, *before - 1)
        };
        self.events.push(Reverse((at, class, tie, self.made, event)));
    }

    /// Returns the next event that is not a host's action.
    pub(super) fn next(&self) -> Time {
        self.events.peek().map_or(Time::NEVER, |Reverse((at, ..))| *at)
    }

    /// Lets a host begin to send a frame. Time must not fall.
    pub(super) fn host_sends(&mut self, now: Time, host: u32, frame: &[u8]) {
        let ingress = &mut self.hosts[host as usize];
        let line = self.ports[ingress.port as usize].line;
        if !ingress.admits(now, line, frame) {
            return;
        }
        let handle = self.insert(frame);
        match &mut self.hosts[host as usize].pacer {
            None => self.put_on_cable(now, host, handle),
            Some(pacer) => {
                pacer.accept(now, handle, &mut self.frames);
                self.plan_pacer(now, host);
            }
        }
    }

    /// Sends a frame on a host's cable, when that is free.
    fn put_on_cable(&mut self, now: Time, host: u32, handle: Handle) {
        let line_number = self.ports.len() as u32 + host;
        let wire = self.frames.packet(handle).wire_bytes;
        let ingress = &mut self.hosts[host as usize];
        let (port, line) = (ingress.port, self.ports[ingress.port as usize].line);
        let arrival = ingress.send(now, line, wire) + line.delay;
        let event = |handle: Handle| Event::Arrive(port, handle.index() as u32);
        let Some(impairer) = &mut ingress.impairer else {
            return self.push(arrival, line_number, event(handle));
        };
        impairer.pass(self.frames.bytes(handle).to_vec(), &mut self.passed);
        self.frames.release(handle);
        while let Some(frame) = self.passed.pop_front() {
            let handle = self.insert(&frame);
            self.push(arrival, line_number, event(handle));
        }
    }

    #[cold]
    fn plan_pacer(&mut self, now: Time, host: u32) {
        let Ingress { pacer: Some(pacer), busy_until, .. } = &mut self.hosts[host as usize] else {
            return;
        };
        let at = pacer.next(*busy_until).max(now);
        if at < pacer.planned {
            pacer.planned = at;
            self.push(at, host, Event::Pace(host));
        }
    }

    /// Lets a host's pacer take what is due and send on the cable.
    #[cold]
    fn pace(&mut self, now: Time, host: u32) {
        loop {
            let Ingress { pacer: Some(pacer), busy_until, port, .. } =
                &mut self.hosts[host as usize]
            else {
                return;
            };
            pacer.planned = Time::NEVER;
            let rate = self.ports[*port as usize].line.rate;
            let Some(handle) = pacer.poll(now, *busy_until, rate, &mut self.frames) else { break };
            self.put_on_cable(now, host, handle);
        }
        self.plan_pacer(now, host);
    }

    /// Handles all events due by `now`, and hands over frames for hosts with the exact arrival of their last bit.
    /// Returns whether there were events.
    pub(super) fn advance(&mut self, now: Time, deliver: &mut dyn FnMut(Time, u32, &[u8])) -> bool {
        let mut any = false;
        while let Some(&Reverse((at, .., event))) = self.events.peek() {
            if at > now {
                break;
            }
            any = true;
            self.events.pop();
            match event {
                Event::Depart(port) => {
                    if self.ports[port as usize].planned == at {
                        self.depart(at, port);
                    }
                }
                Event::Pace(host) => {
                    if self.hosts[host as usize].is_planned(at) {
                        self.pace(at, host);
                    }
                }
                Event::Arrive(port, handle) => {
                    let Port { switch, local, .. } = self.ports[port as usize];
                    self.forward(at, switch, local, Handle::new(handle));
                }
                Event::Deliver(host, handle) => {
                    let handle = Handle::new(handle);
                    if let Some(pacer) = &mut self.hosts[host as usize].pacer {
                        pacer.see_delivered(at, self.frames.bytes(handle));
                    }
                    match self.frames.has_labels(handle) {
                        false => deliver(at, host, self.frames.bytes(handle)),
                        true => deliver(at, host, &self.frames.labelled(handle)),
                    }
                    self.frames.release(handle);
                }
            }
        }
        any
    }

    fn forward(&mut self, now: Time, switch: u32, from: u16, handle: Handle) {
        let state = &mut self.switches[switch as usize];
        match state.forwarding.exit(now, from, self.frames.stored_mut(handle)) {
            Exit::By(local) => {
                let local = match &state.detours {
                    None => local,
                    Some(_) => self.way(now, switch, (from, local), handle),
                };
                let port = self.switches[switch as usize].ports[usize::from(local)];
                if E::NOTIFIES {
                    self.frames.set_input(handle, Some(from));
                }
                self.arrive(now, port, handle);
            }
            Exit::Flood => {
                let bytes = self.frames.bytes(handle).to_vec();
                for local in 0..state.ports.len() {
                    if local != usize::from(from) {
                        let port = self.switches[switch as usize].ports[local];
                        let copy = self.insert(&bytes);
                        self.arrive(now, port, copy);
                    }
                }
                self.frames.release(handle);
            }
            Exit::Nowhere => {
                self.lost_ways += 1;
                self.frames.release(handle);
            }
            Exit::UnknownLabel => {
                self.unknown_labels += 1;
                self.frames.release(handle);
            }
        }
    }

    /// Chooses the port by which a frame leaves a detouring switch; `ways` are its input and the routed port. Records
    /// the queue that it finds.
    #[cold]
    fn way(&mut self, now: Time, switch: u32, ways: (u16, u16), handle: Handle) -> u16 {
        let way = self.chosen_way(now, switch, ways, handle);
        let port = self.switches[switch as usize].ports[usize::from(way)];
        let port = &mut self.ports[port as usize];
        port.release_sent(now, &self.model, &mut self.pool);
        let found = port.egress.packets_before(&self.model, self.frames.packet(handle));
        self.frames.set_found(handle, found);
        way
    }

    fn chosen_way(
        &mut self,
        now: Time,
        switch: u32,
        (from, own): (u16, u16),
        handle: Handle,
    ) -> u16 {
        let Some(track) = self.frames.track(handle) else { return own };
        let Switch { ports: local, forwarding, detours } = &mut self.switches[switch as usize];
        let Some(detours) = detours else { return own };
        let equally_near = forwarding.equally_near(self.frames.bytes(handle));
        let packet = *self.frames.packet(handle);
        let (model, ports, pool) = (&self.model, &mut self.ports, &mut self.pool);
        let local = &*local;
        let beside = &mut DetourPorts { now, model, packet, local, ports, pool, equally_near };
        let Detours { detour_state, draws } = &mut **detours;
        let is_from_host = matches!(beside.far_end(from), FarEnd::Host(_));
        // A host's own count is not trusted: the field may have any value.
        let track = match track.detours {
            Some(_) if is_from_host => Track { detours: Some(0), ..track },
            _ => track,
        };
        let way = detour_state.way((&packet, track), (from, own), beside, draws);
        if way != own {
            self.ports[local[usize::from(own)] as usize].counters.detoured += 1;
        }
        if let Some(detours) = track.detours.filter(|_| detour_state.counts_detours())
            && (way != own || is_from_host)
        {
            self.frames.set_detours(handle, detours.saturating_add(u8::from(way != own)));
        }
        way
    }

    fn arrive(&mut self, now: Time, number: u32, handle: Handle) {
        let port = &mut self.ports[number as usize];
        if port.busy_until <= now {
            // All earlier frames have departed: the transmitter is idle.
            port.egress.release(&self.model, &mut self.pool);
            port.busy_until = now;
        }
        self.frames.at_last_hop = matches!(port.far_end, FarEnd::Host(_));
        if port.waits.is_some() {
            self.frames.set_since(handle, now);
        }
        let (egress, mut context) = self.split(now, number);
        egress.enqueue(handle, &mut context);
        if self.drop_list.is_changed() {
            self.apply_dispositions(now, number);
        }
        let port = &self.ports[number as usize];
        if port.egress.next_start(port.busy_until) <= now {
            self.depart(now, number);
        } else {
            self.plan(number);
        }
    }

    fn split(
        &mut self,
        now: Time,
        number: u32,
    ) -> (&mut E, PortContext<'_, E::Model, Frames, ScriptedRng>) {
        let port = &mut self.ports[number as usize];
        let context = PortContext {
            now,
            model: &self.model,
            packets: &mut self.frames,
            pool: &mut self.pool,
            rng: &mut port.coins,
            drop_list: &mut self.drop_list,
        };
        (&mut port.egress, context)
    }

    fn plan(&mut self, number: u32) {
        let port = &mut self.ports[number as usize];
        let at = port.egress.next_start(port.busy_until);
        if at < port.planned {
            port.planned = at;
            self.push(at, number, Event::Depart(number));
        }
    }

    #[cold]
    fn apply_dispositions(&mut self, now: Time, number: u32) {
        let mut drop_list = std::mem::take(&mut self.drop_list);
        apply_dispositions(&mut drop_list, &mut PortActions { fabric: self, port: number, now });
        // Keeps the list's memory; frames that a returned header displaced in turn are already handled.
        self.drop_list = drop_list;
    }

    fn depart(&mut self, now: Time, number: u32) {
        self.ports[number as usize].planned = Time::NEVER;
        let (egress, mut context) = self.split(now, number);
        let sent = egress.dequeue(&mut context);
        if self.drop_list.is_changed() {
            self.apply_dispositions(now, number);
        }
        let Some(handle) = sent else { return };
        let port = &mut self.ports[number as usize];
        // HULL 2.1: the phantom queue is in series with the port. It sees a leaving frame at its first bit.
        if let Some(phantom) = &mut port.phantom {
            phantom.pass(now, self.frames.packet_mut(handle));
        }
        if let Some(waits) = &mut port.waits {
            let waited = now.saturating_since(self.frames.since(handle));
            waits.saturating_record(waited.as_ps() / 1000);
        }
        let packet = *self.frames.packet(handle);
        let wire = packet.wire_bytes;
        port.counters.packets += 1;
        port.counters.bytes += u64::from(wire);
        if E::NOTIFIES
            && packet.service == Service::Notification
            && let Some(times) = &mut port.notified_at
        {
            times.push(now);
        }
        if let Some(detours) = &mut self.switches[port.switch as usize].detours {
            let held = port.egress.packets_before(&self.model, &packet);
            detours.detour_state.record_departure(port.local, held, self.frames.found(handle));
        }
        let queue = &mut port.queues[port.egress.classify(&self.model, &packet)];
        queue.packets += 1;
        queue.bytes += u64::from(wire);
        port.busy_until = now + port.line.rate.transmission(ByteCount::new(wire.into()));
        let arrival = port.busy_until + port.line.delay;
        self.plan(number);
        if packet.marks & Packet::MARK_CE != 0 {
            let bytes = self.frames.bytes_mut(handle);
            if let Some(network) = IpHeader::of(bytes) {
                network.mark(bytes);
            }
        }
        self.launch(arrival, number, handle);
    }

    fn launch(&mut self, arrival: Time, number: u32, handle: Handle) {
        let port = &mut self.ports[number as usize];
        let far_end = port.far_end;
        let event = |handle: Handle| match far_end {
            FarEnd::Port(other) => Event::Arrive(other, handle.index() as u32),
            FarEnd::Host(host) => Event::Deliver(host, handle.index() as u32),
        };
        let Some(impairer) = &mut port.impairer else {
            return self.push(arrival, number, event(handle));
        };
        impairer.pass(self.frames.labelled(handle), &mut self.passed);
        self.frames.release(handle);
        while let Some(frame) = self.passed.pop_front() {
            let handle = self.frames.insert(&frame);
            self.frames.describe_again(handle);
            self.frames.read_fields::<E>(handle);
            self.push(arrival, number, event(handle));
        }
    }
}

/// Returns the forwarding of a switch; in a network with labels it looks at these first.
fn below_labels(labels: Option<LabelTable>, forwarding: Forwarding) -> Forwarding {
    match labels {
        None => forwarding,
        Some(table) => Forwarding::Labels(Box::new((table, forwarding))),
    }
}

struct PortActions<'a, E: Egress> {
    fabric: &'a mut Dataplane<E>,
    port: u32,
    now: Time,
}

impl<E: Egress> trimline_switch::SwitchActions for PortActions<'_, E> {
    /// Nothing observes dispositions.
    fn record(&mut self, _packet: Handle, _disposition: Disposition) {}
    fn counters(&mut self) -> &mut PortCounters {
        &mut self.fabric.ports[self.port as usize].counters
    }
    /// Trimming cuts a frame's bytes itself; they are not counted again.
    fn cut(&mut self, _bytes: u64) {}
    fn bounce(&mut self, packet: Handle) -> bool {
        self.fabric.frames.bounce(packet)
    }
    fn forward(&mut self, packet: Handle) {
        let Port { switch, local, .. } = self.fabric.ports[self.port as usize];
        self.fabric.forward(self.now, switch, local, packet);
    }
    fn make_notification(&mut self, packet: Handle) -> Option<u16> {
        match self.fabric.frames.notify(packet) {
            Ok(cut) => Some(cut),
            Err(reason) => {
                self.fabric.unnotified[reason as usize] += 1;
                None
            }
        }
    }
    /// fastlane-3.2-b: out of the port by which the packet came in. No route is looked up.
    fn send_back(&mut self, notification: Handle) {
        let Dataplane { frames, switches, ports, .. } = &*self.fabric;
        let input = frames.input(notification).expect("what has no input is not told of");
        let switch = ports[self.port as usize].switch;
        let back = switches[switch as usize].ports[usize::from(input)];
        self.fabric.arrive(self.now, back, notification);
    }
    fn quench(&mut self, packet: Handle, _header: &Packet) -> bool {
        let bytes = self.fabric.frames.bytes(packet).to_vec();
        let copy = self.fabric.frames.insert(&bytes);
        let is_notified = self.fabric.frames.notify(copy).is_ok();
        if is_notified {
            self.forward(copy);
        } else {
            self.fabric.frames.release(copy);
        }
        is_notified
    }
    fn is_header(&self, packet: Handle) -> bool {
        self.fabric.frames.packet(packet).service.service().is_header()
    }
    fn free(&mut self, packet: Handle) {
        let described = self.fabric.frames.packet(packet);
        let port = &mut self.fabric.ports[self.port as usize];
        port.queues[port.egress.classify(&self.fabric.model, described)].dropped += 1;
        self.fabric.frames.release(packet);
    }
}
