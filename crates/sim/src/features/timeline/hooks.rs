//! Records what happens in an event of the heap engine.
//!
//! The recorder compares the queues before and after each event. A new packet in a queue was queued; a waiting packet
//! without its payload was trimmed. So ports, hosts and the fast engine know nothing of the recorder.

use trimline_metrics::timeline::{FlowName, PacketKind, What};
use trimline_packet::{Handle, Packet, Packets, Service, Time};
use trimline_switch::Disposition;

use super::state::{Connection, Inspection, Recorder};
use crate::arena::Arena;
use crate::network::{HostTable, Network, SwitchTable};

impl Recorder {
    /// Begins an event of `node` at `now`: the arrival of `arriving`, if there is one.
    pub(crate) fn begins(&mut self, arena: &Arena, node: u32, now: Time, arriving: Handle) {
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

    pub(crate) fn departs(&mut self, arena: &Arena, node: u32, handle: Handle) {
        self.leave(arena, node, handle);
        self.remember_opened(node, arena.packet(handle));
        self.record_departure(node, arena.packet(handle));
    }

    /// Records that the link of `node` took a packet and loses it.
    pub(crate) fn lost(&mut self, arena: &Arena, node: u32, handle: Handle) {
        self.leave(arena, node, handle);
        self.remember_opened(node, arena.packet(handle));
        self.record_departure(node, arena.packet(handle));
        self.record(node, arena.packet(handle), What::Lose, None);
    }

    pub(crate) fn disposed(
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
    pub(crate) fn quenched(&mut self, port: u32, packet: &Packet) {
        self.record(port, packet, What::Notify, None);
    }

    pub(crate) fn detoured(&mut self, arena: &Arena, port: u32, handle: Handle) {
        self.record(port, arena.packet(handle), What::Detour, None);
    }

    /// Ends an event of `node`, which was named to [`Recorder::begins`] or changed at once by such a node.
    pub(crate) fn ends<S, H>(&mut self, network: &Network<S, H>, node: u32)
    where
        S: SwitchTable + ?Sized,
        H: HostTable + ?Sized,
    {
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

    fn name<S: ?Sized, H: ?Sized>(&mut self, network: &Network<S, H>) {
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
}
