//! Records events at chosen places and of chosen flows.
//!
//! The recorder compares the queues before and after each event of the heap engine. A new packet in a queue was queued;
//! a waiting packet without its payload was trimmed. So ports, hosts and the fast engine know nothing of the recorder.

use std::collections::BTreeMap;

use trimline_metrics::timeline::{Event, FlowName, PacketKind, Timeline, What};
use trimline_packet::{ConnectionId, Flags, Handle, Packet, Packets, Service, ServiceClass, Time};
use trimline_switch::Disposition;

use super::Network;
use crate::arena::Arena;
use crate::plan::{Chosen, Plan, Watch};
use crate::topology::Routes;

/// Stands for a flow whose name is not known yet.
const UNNAMED: FlowName = FlowName { workload: 0, index: 0, source: 0, destination: 0 };

/// A connection of the network, by the host that opened it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Connection {
    opener: u32,
    number: ConnectionId,
    peer: u32,
}

impl Connection {
    fn of(packet: &Packet) -> Connection {
        let is_back = packet.service.service().is_bounced();
        let is_from_opener = packet.header.flags.contains(Flags::FROM_OPENER) != is_back;
        let (source, destination) = (packet.source.get(), packet.destination.get());
        let (opener, peer) = match is_from_opener {
            true => (source, destination),
            false => (destination, source),
        };
        Connection { opener, number: packet.header.connection, peer }
    }
}

/// The fields of a packet that a switch may change.
#[derive(Clone, Copy)]
struct Inspection {
    service: ServiceClass,
    is_marked: bool,
}

impl Inspection {
    fn of(packet: &Packet) -> Inspection {
        Inspection { service: packet.service, is_marked: packet.marks & Packet::MARK_CE != 0 }
    }
}

pub(crate) struct Recorder {
    from: Time,
    to: Time,
    keeps_packets: bool,
    /// By node: whether all its events are recorded.
    is_watched: Vec<bool>,
    /// (source, destination) of flows whose events are all recorded.
    watched: Vec<(u32, u32)>,
    /// By connection: the flow's name. It outlives the flow, because packets may come late.
    names: BTreeMap<Connection, FlowName>,
    /// Connections on which their opener sends in the present event.
    opened: Vec<Connection>,
    /// Records of the present event without a flow name: places in the timeline, and packets.
    unnamed: Vec<(usize, Connection, Packet)>,
    /// By workload: the transport, which knows the kinds of its packets.
    transports: Vec<Chosen>,
    now: Time,
    ports: u32,
    /// By handle: the port where the packet waits, and its state there.
    waiting: Vec<Option<(u32, Inspection)>>,
    /// The packet that arrives in the present event.
    arriving: Option<(Handle, Inspection)>,
    /// Departures of the present event without an end: place in the timeline, and packet.
    departed: Vec<(usize, Packet)>,
    timeline: Timeline,
}

impl Recorder {
    pub(crate) fn new(watch: &Watch, routes: &Routes, plan: &Plan) -> Recorder {
        let mut is_watched = vec![false; routes.nodes() as usize];
        for place in &watch.places {
            is_watched[place.index()] = true;
        }
        Recorder {
            from: Time::ZERO + watch.from,
            to: watch.to.map_or(Time::NEVER, |to| Time::ZERO + to),
            keeps_packets: watch.keep_packets,
            is_watched,
            watched: watch.flows.clone(),
            names: BTreeMap::new(),
            opened: Vec::new(),
            unnamed: Vec::new(),
            transports: plan.workloads.iter().map(|workload| plan.transport_of(workload)).collect(),
            now: Time::ZERO,
            ports: routes.ports(),
            waiting: Vec::new(),
            arriving: None,
            departed: Vec::new(),
            timeline: Timeline {
                places: (0..routes.nodes()).map(|node| routes.node_name(node)).collect(),
                workloads: plan.workloads.iter().map(|workload| workload.name.clone()).collect(),
                events: Vec::new(),
                packets: Vec::new(),
            },
        }
    }

    pub(crate) fn into_timeline(self) -> Timeline {
        self.timeline
    }

    fn record(
        &mut self,
        node: u32,
        packet: &Packet,
        what: What,
        queue: Option<(u32, u32)>,
    ) -> bool {
        let connection = Connection::of(packet);
        let ends = (connection.opener, connection.peer);
        let is_of_flow = !packet.service.is_link();
        let is_wanted = (self.is_watched[node as usize]
            || is_of_flow && self.watched.contains(&ends))
            && self.now >= self.from
            && self.now < self.to;
        if is_wanted {
            self.timeline.events.push(Event {
                time_ps: self.now.as_ps(),
                until_ps: None,
                place: node,
                what,
                packet: PacketKind::of_switches(packet).unwrap_or(PacketKind::Data),
                flow: if is_of_flow { UNNAMED } else { FlowName::NONE },
                sequence: packet.header.sequence,
                attempt: packet.header.flags.attempt(),
                path: packet.header.path.get(),
                wire_bytes: packet.wire_bytes,
                queue,
            });
            if is_of_flow {
                self.unnamed.push((self.timeline.events.len() - 1, connection, *packet));
            }
            if self.keeps_packets {
                self.timeline.packets.push(*packet);
            }
        }
        is_wanted
    }

    fn name(&mut self, network: &Network) {
        for connection in self.opened.drain(..) {
            let Connection { opener, peer, number } = connection;
            if let Some(flow) = network.core.flows.carried(opener, number) {
                let (workload, index) = (flow.workload, flow.index);
                let name = FlowName { workload, index, source: opener, destination: peer };
                self.names.insert(connection, name);
            }
        }
        for (place, connection, packet) in self.unnamed.drain(..) {
            let name = *self.names.get(&connection).expect("a flow begins with a departure");
            let event = &mut self.timeline.events[place];
            event.flow = name;
            if PacketKind::of_switches(&packet).is_none() {
                event.packet = self.transports[name.workload as usize].packet_kind(&packet);
            }
        }
    }

    fn record_departure(&mut self, node: u32, packet: &Packet) {
        if self.record(node, packet, What::Depart, None) {
            self.departed.push((self.timeline.events.len() - 1, *packet));
        }
    }

    fn place_of(&mut self, handle: Handle) -> &mut Option<(u32, Inspection)> {
        if self.waiting.len() <= handle.index() {
            self.waiting.resize(handle.index() + 1, None);
        }
        &mut self.waiting[handle.index()]
    }

    /// Notes the connection of a packet that leaves the connection's opener.
    fn see(&mut self, node: u32, packet: &Packet) {
        let connection = Connection::of(packet);
        if !packet.service.is_link() && node.checked_sub(self.ports) == Some(connection.opener) {
            self.opened.push(connection);
        }
    }

    /// Records the mark of a packet that leaves a port or its host, and clears its place. A port may mark it on its way
    /// in or out.
    fn leave(&mut self, arena: &Arena, node: u32, handle: Handle) {
        if node < self.ports {
            let before = self.before(handle);
            self.record_mark(node, arena.packet(handle), before);
        } else if Inspection::of(arena.packet(handle)).is_marked {
            // Endpoints send nothing with a mark: the phantom queue of the host's link marked it.
            self.record(node, arena.packet(handle), What::Mark, None);
        }
        *self.place_of(handle) = None;
    }

    /// State of a packet before the present event, unless it was on a link.
    fn before(&mut self, handle: Handle) -> Option<Inspection> {
        let arrived = self.arriving.filter(|&(arriving, _)| arriving == handle);
        arrived
            .map(|(_, inspection)| inspection)
            .or(self.place_of(handle).map(|(_, inspection)| inspection))
    }

    fn record_mark(&mut self, port: u32, packet: &Packet, before: Option<Inspection>) {
        if Inspection::of(packet).is_marked && before.is_some_and(|before| !before.is_marked) {
            self.record(port, packet, What::Mark, None);
        }
    }
}

impl Recorder {
    /// Begins an event of `node` at `now`: the arrival of `arriving`, if there is one.
    pub(super) fn begins(&mut self, arena: &Arena, node: u32, now: Time, arriving: Handle) {
        self.now = now;
        self.arriving = None;
        if arriving.is_none() {
            return;
        }
        let packet = *arena.packet(arriving);
        self.arriving = Some((arriving, Inspection::of(&packet)));
        if node >= self.ports || packet.service.is_link() {
            self.record(node, &packet, What::Arrive, None);
        }
    }

    pub(super) fn departs(&mut self, arena: &Arena, node: u32, handle: Handle) {
        self.leave(arena, node, handle);
        self.see(node, arena.packet(handle));
        self.record_departure(node, arena.packet(handle));
    }

    /// Records that the link of `node` took a packet and loses it.
    pub(super) fn lost(&mut self, arena: &Arena, node: u32, handle: Handle) {
        self.leave(arena, node, handle);
        self.see(node, arena.packet(handle));
        self.record_departure(node, arena.packet(handle));
        self.record(node, arena.packet(handle), What::Lose, None);
    }

    pub(super) fn disposed(
        &mut self,
        arena: &Arena,
        port: u32,
        handle: Handle,
        disposition: Disposition,
    ) {
        let packet = arena.packet(handle);
        let before = self.before(handle);
        let was_whole = before.is_some_and(|before| before.service == Service::Trimmable);
        if was_whole && packet.service == Service::Trimmed {
            self.record(port, packet, What::Trim, None);
        }
        let what = match disposition {
            Disposition::Returned => What::Return,
            Disposition::Notify => What::Notify,
            Disposition::Dropped => What::Drop,
        };
        self.record(port, packet, what, None);
        *self.place_of(handle) = None;
        // A bounced header is new wherever it is queued now.
        if self.arriving.is_some_and(|(arriving, _)| arriving == handle) {
            self.arriving = None;
        }
    }

    /// Records that `port` sends a notification about a packet that goes on.
    pub(super) fn quenched(&mut self, port: u32, packet: &Packet) {
        self.record(port, packet, What::Notify, None);
    }

    pub(super) fn detoured(&mut self, arena: &Arena, port: u32, handle: Handle) {
        self.record(port, arena.packet(handle), What::Detour, None);
    }

    pub(super) fn ends(&mut self, network: &Network, node: u32) {
        let until = network.busy_until(node);
        for (place, packet) in &self.departed {
            let event = &mut self.timeline.events[*place];
            if event.place == node {
                event.until_ps = Some(until.as_ps());
                event.queue = (node < self.ports).then(|| network.queue_of(node, packet));
            }
        }
        self.departed.retain(|&(place, _)| self.timeline.events[place].place != node);
        if node >= self.ports {
            return self.name(network);
        }
        for (handle, packet) in network.waiting(node) {
            let before = self.before(handle);
            let earlier = self.place_of(handle).replace((node, Inspection::of(packet)));
            if earlier.is_some_and(|(port, was)| (port, was.service) == (node, packet.service)) {
                continue;
            }
            let is_cut = packet.service == Service::Trimmed
                && before.is_some_and(|before| before.service == Service::Trimmable);
            let what = if is_cut { What::Trim } else { What::Enqueue };
            self.record(node, packet, what, Some(network.queue_of(node, packet)));
            self.record_mark(node, packet, before);
        }
        self.name(network);
    }
}
