//! The recorder of a timeline: what it watches, what it remembers between events, and the events so far.

use std::collections::BTreeMap;

use trimline_metrics::timeline::{Event, FlowName, PacketKind, Timeline, What};
use trimline_packet::{ConnectionId, Flags, Handle, Packet, Packets, ServiceClass, Time};

use crate::arena::Arena;
use crate::plan::{Chosen, Plan};
use crate::topology::Routes;

/// Stands for a flow whose name is not known yet.
const UNNAMED: FlowName = FlowName { workload: 0, index: 0, source: 0, destination: 0 };

/// A connection of the network, by the host that opened it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Connection {
    pub(super) opener: u32,
    pub(super) number: ConnectionId,
    pub(super) peer: u32,
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
pub(super) struct Inspection {
    pub(super) service: ServiceClass,
    is_marked: bool,
}

impl Inspection {
    pub(super) fn of(packet: &Packet) -> Inspection {
        Inspection { service: packet.service, is_marked: packet.marks & Packet::MARK_CE != 0 }
    }
}

/// Records the events that a plan asks for. It changes nothing in the run.
pub(crate) struct Recorder {
    from: Time,
    to: Time,
    keeps_packets: bool,
    /// By node: whether all its events are recorded.
    is_watched: Vec<bool>,
    /// (source, destination) of flows whose events are all recorded.
    watched: Vec<(u32, u32)>,
    /// By connection: the flow's name. It outlives the flow, because packets may come late.
    pub(super) names: BTreeMap<Connection, FlowName>,
    /// Connections on which their opener sends in the present event.
    pub(super) opened: Vec<Connection>,
    /// Records of the present event without a flow name: places in the timeline, and packets.
    pub(super) unnamed: Vec<(usize, Connection, Packet)>,
    /// By workload: the transport, which knows the kinds of its packets.
    pub(super) transports: Vec<Chosen>,
    pub(super) now: Time,
    pub(super) ports: u32,
    /// By handle: the port where the packet waits, and its state there.
    waiting: Vec<Option<(u32, Inspection)>>,
    /// The packet that arrives in the present event.
    pub(super) arriving: Option<(Handle, Inspection)>,
    /// Departures of the present event without an end: place in the timeline, and packet.
    pub(super) departed: Vec<(usize, Packet)>,
    pub(super) timeline: Timeline,
}

impl Recorder {
    /// Returns the recorder of a plan, if the plan asks for a timeline.
    pub(crate) fn new(plan: &Plan, routes: &Routes) -> Option<Recorder> {
        let watch = plan.timeline.as_ref()?;
        let mut is_watched = vec![false; routes.nodes() as usize];
        for place in &watch.places {
            is_watched[place.index()] = true;
        }
        Some(Recorder {
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
        })
    }

    pub(crate) fn into_timeline(self) -> Timeline {
        self.timeline
    }

    pub(super) fn record(
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

    pub(super) fn record_departure(&mut self, node: u32, packet: &Packet) {
        if self.record(node, packet, What::Depart, None) {
            self.departed.push((self.timeline.events.len() - 1, *packet));
        }
    }

    pub(super) fn place_of(&mut self, handle: Handle) -> &mut Option<(u32, Inspection)> {
        if self.waiting.len() <= handle.index() {
            self.waiting.resize(handle.index() + 1, None);
        }
        &mut self.waiting[handle.index()]
    }

    /// Remembers the connection of a packet that leaves the connection's opener.
    pub(super) fn remember_opened(&mut self, node: u32, packet: &Packet) {
        let connection = Connection::of(packet);
        if !packet.service.is_link() && node.checked_sub(self.ports) == Some(connection.opener) {
            self.opened.push(connection);
        }
    }

    /// Records the mark of a packet that leaves a port or its host, and clears its place. A port may mark it on its way
    /// in or out.
    pub(super) fn leave(&mut self, arena: &Arena, node: u32, handle: Handle) {
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
    pub(super) fn before(&mut self, handle: Handle) -> Option<Inspection> {
        let arrived = self.arriving.filter(|&(arriving, _)| arriving == handle);
        arrived
            .map(|(_, inspection)| inspection)
            .or(self.place_of(handle).map(|(_, inspection)| inspection))
    }

    pub(super) fn record_mark(&mut self, port: u32, packet: &Packet, before: Option<Inspection>) {
        if Inspection::of(packet).is_marked && before.is_some_and(|before| !before.is_marked) {
            self.record(port, packet, What::Mark, None);
        }
    }
}
