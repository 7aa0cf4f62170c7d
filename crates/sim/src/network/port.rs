//! Switch ports: arrivals, departures, and the disposition of packets that a port does not keep.

use std::mem;

use trimline_packet::{Handle, Packet, Packets, PortCounters, ServiceClass, Time, TimeDelta};
use trimline_switch::{
    Disposition, Limit, OutputPort, PortContext, PortModel, Returning, SwitchActions,
    apply_dispositions,
};

use super::core::next_hop_draw;
use super::{Core, EventSink, SwitchTable, Transmission, Transmitter};
use crate::arena::Arena;
use crate::random::NodeRng;
use crate::table::Shared;
use crate::topology::Routes;

/// An output port and its link: one cache line with the two queues of an NDP port.
#[repr(C, align(64))]
pub(crate) struct PortNode<P> {
    pub(crate) port: P,
    pub(crate) link: Transmitter,
}

impl<P: OutputPort> PortNode<P> {
    /// Returns when the port starts to send next; never, if it is empty.
    #[inline(always)]
    pub(crate) fn next_departure(&self) -> Time {
        self.port.next_start(self.link.busy_until)
    }

    /// Lets a paused class be sent again, from `now` on.
    pub(crate) fn resume(&mut self, class: usize, now: Time) {
        self.port.resume(class);
        self.link.busy_until = self.link.busy_until.max(now);
    }
}

/// Pool of a port's switch. No port of a plain model reads it.
#[inline(always)]
pub(crate) fn pool_of(model: &impl PortModel, routes: &Routes, port: u32) -> usize {
    if model.is_plain() { 0 } else { routes.switch_of(port) as usize }
}

pub(crate) struct Switches<P: OutputPort> {
    pub(crate) ports: Shared<PortNode<P>>,
    pub(crate) model: P::Model,
}

impl<P: OutputPort> Switches<P> {
    /// Returns idle ports with these links. `numbers` gives each port's model, where models differ.
    pub(crate) fn new(
        model: P::Model,
        numbers: impl IntoIterator<Item = u16>,
        links: impl IntoIterator<Item = Transmitter>,
    ) -> Switches<P> {
        let node = |(number, link)| PortNode { port: P::with_model(number), link };
        Switches { ports: numbers.into_iter().zip(links).map(node).collect(), model }
    }

    /// Returns another view of these ports.
    ///
    /// # Safety
    /// See [`Core::view`].
    pub(crate) unsafe fn view(&self) -> Switches<P> {
        // SAFETY: promised by the caller.
        Switches { ports: unsafe { self.ports.view() }, model: self.model.clone() }
    }

    /// Bytes in a queue of a port, the packet on the wire included.
    #[inline(always)]
    pub(crate) fn bytes_in(&self, port: u32, queue: usize) -> u32 {
        self.ports[port as usize].port.queue_bytes(queue)
    }

    #[inline(always)]
    pub(crate) fn prefetch(&self, port: u32) {
        self.ports.prefetch(port as usize);
    }

    #[inline(always)]
    pub(crate) fn prefetch_packets(&self, arena: &Arena, port: u32) {
        let port = &self.ports[port as usize].port;
        for queue in 0..P::QUEUES.min(2) {
            arena.prefetch(port.first(queue));
        }
    }

    /// End of a port's present transmission, and the start of its next one.
    #[inline(always)]
    pub(crate) fn port_next_event(&self, port: u32) -> (Time, Time) {
        let node = &self.ports[port as usize];
        (node.link.busy_until, node.next_departure())
    }

    /// Start of a port's next transmission; never, if the port is empty.
    #[inline(always)]
    pub(crate) fn port_next(&self, port: u32) -> Time {
        self.ports[port as usize].next_departure()
    }

    #[inline]
    pub(crate) fn port_advance(
        &mut self,
        core: &mut Core,
        sink: &mut (impl EventSink + ?Sized),
        port: u32,
        limit: Time,
    ) {
        loop {
            let now = self.port_next(port);
            if now >= limit {
                return;
            }
            self.port_depart(core, sink, port, now);
        }
    }

    /// Starts to send the next packet of a port that is not empty.
    #[inline(always)]
    pub(crate) fn port_depart(
        &mut self,
        core: &mut Core,
        sink: &mut (impl EventSink + ?Sized),
        port: u32,
        now: Time,
    ) {
        self.depart::<false>(core, sink, port, now);
    }

    /// Starts the next transmission. `RECORDED` compiles in the bookkeeping of flow control and detours.
    #[inline(always)]
    pub(crate) fn depart<const RECORDED: bool>(
        &mut self,
        core: &mut Core,
        sink: &mut (impl EventSink + ?Sized),
        port: u32,
        now: Time,
    ) {
        let pool = pool_of(&self.model, &core.routes, port);
        let node = &mut self.ports[port as usize];
        let pool = &mut core.pools[pool];
        let mut context = PortContext {
            now,
            model: &self.model,
            packets: &mut core.arena,
            pool,
            rng: &mut NodeRng { streams: &mut core.coins, node: port },
            drop_list: &mut core.drop_list,
        };
        if let Some(handle) = node.port.dequeue(&mut context) {
            let packet = core.arena.packet(handle);
            let bytes = packet.wire_bytes;
            let (to, path) = (packet.destination, packet.header.path);
            if RECORDED {
                record_departure(core, (port, node), &self.model, now, handle);
            }
            let counters = &mut core.counters[port as usize];
            let from = Transmission::new(port, counters.packets);
            counters.packets += 1;
            counters.bytes += u64::from(bytes);
            let any = next_hop_draw(&mut core.choices, port);
            let next = core.routes.next_node(node.link.far_end, to, path, any);
            core.port_hops += 1;
            core.begin(sink, &mut node.link, (from, next), (now, handle, bytes));
        }
        // A plain model drops nothing here.
        if !self.model.is_plain() && core.drop_list.is_changed() {
            self.apply_dispositions(core, sink, port, now);
        }
    }

    /// Queues an arriving packet. It departs with the next [`Switches::port_advance`], at once if the port is idle.
    #[inline(always)]
    pub(crate) fn port_arrive(
        &mut self,
        core: &mut Core,
        sink: &mut (impl EventSink + ?Sized),
        port: u32,
        now: Time,
        handle: Handle,
    ) {
        let node = &mut self.ports[port as usize];
        if node.link.busy_until <= now {
            // All due packets have departed: the transmitter is idle since then.
            let pool = pool_of(&self.model, &core.routes, port);
            node.port.release(&self.model, &mut core.pools[pool]);
            node.link.busy_until = now;
        }
        if !node.port.enqueue_plainly(handle, &self.model, &mut core.arena) {
            self.port_overflow(core, sink, port, now, handle);
        }
    }

    /// Queues a packet at a port that may have no room for it.
    #[inline(never)]
    pub(crate) fn port_overflow(
        &mut self,
        core: &mut Core,
        sink: &mut (impl EventSink + ?Sized),
        port: u32,
        now: Time,
        handle: Handle,
    ) {
        let mut context = PortContext {
            now,
            model: &self.model,
            packets: &mut core.arena,
            pool: &mut core.pools[pool_of(&self.model, &core.routes, port)],
            rng: &mut NodeRng { streams: &mut core.coins, node: port },
            drop_list: &mut core.drop_list,
        };
        self.ports[port as usize].port.enqueue(handle, &mut context);
        if core.drop_list.is_changed() {
            self.apply_dispositions(core, sink, port, now);
        }
    }

    #[cold]
    #[inline(never)]
    fn apply_dispositions(
        &mut self,
        core: &mut Core,
        sink: &mut (impl EventSink + ?Sized),
        port: u32,
        now: Time,
    ) {
        let mut drop_list = mem::take(&mut core.drop_list);
        apply_dispositions(&mut drop_list, &mut Switch { switches: self, core, sink, port, now });
        // Keeps the list's memory; packets that a returned header displaced in turn have been handled.
        core.drop_list = drop_list;
    }
}

/// Records a departure from a port whose inputs are counted, which may detour, or which writes telemetry.
#[inline(never)]
fn record_departure<P: OutputPort>(
    core: &mut Core,
    (number, node): (u32, &PortNode<P>),
    model: &P::Model,
    now: Time,
    handle: Handle,
) {
    if let Some(pauses) = &mut core.pauses {
        pauses.departs(number, handle);
    }
    if core.watches_departures {
        watch_departure(core, (number, node), model, now, handle);
    }
}

fn watch_departure<P: OutputPort>(
    core: &mut Core,
    (number, node): (u32, &PortNode<P>),
    model: &P::Model,
    now: Time,
    handle: Handle,
) {
    let packet = core.arena.packet(handle);
    if let Some(detours) = &mut core.detours
        && detours.records_departures(number)
    {
        let held = || node.port.packets_before(model, packet);
        let steps = core.arena.steps(handle);
        detours.record_departure(number, packet, steps, held, &core.flows);
    }
    if let Some(sent_bytes) = &mut core.sent_bytes {
        let held: u32 = (0..P::QUEUES).map(|queue| node.port.queue_bytes(queue)).sum();
        let rate = core.classes[node.link.class as usize].rate;
        sent_bytes.write(&mut core.arena, handle, (number, rate), now, held);
    }
}

struct Switch<'a, P: OutputPort, C: ?Sized> {
    switches: &'a mut Switches<P>,
    core: &'a mut Core,
    sink: &'a mut C,
    port: u32,
    now: Time,
}

impl<P: OutputPort, C: EventSink + ?Sized> SwitchActions for Switch<'_, P, C> {
    fn record(&mut self, packet: Handle, disposition: Disposition) {
        self.sink.disposed(&self.core.arena, self.port, packet, disposition);
    }
    fn counters(&mut self) -> &mut PortCounters {
        &mut self.core.counters[self.port as usize]
    }
    fn cut(&mut self, bytes: u64) {
        self.core.ledger.cut_bytes += bytes;
    }
    fn bounce(&mut self, packet: Handle) -> bool {
        self.core.arena.packet_mut(packet).bounce();
        true
    }
    fn forward(&mut self, packet: Handle) {
        let Switch { switches, core, sink, port, now } = self;
        let Packet { destination, header, .. } = *core.arena.packet(packet);
        let any = next_hop_draw(&mut core.choices, *port);
        let switch = core.routes.switch_of(*port);
        let way = core.routes.next_port(switch, destination, header.path, any);
        if core.couples_ports {
            switches.enqueue_coupled(core, *sink, way, *now, packet);
        } else {
            switches.port_advance(core, *sink, way, *now + TimeDelta::from_ps(1));
            switches.port_arrive(core, *sink, way, *now, packet);
        }
        sink.touched(way);
    }
    fn make_notification(&mut self, packet: Handle) -> Option<u16> {
        Some(self.core.arena.packet_mut(packet).notify())
    }
    /// Sends a notification back by the link of its packet, like the header that it is.
    fn send_back(&mut self, notification: Handle) {
        self.forward(notification);
    }
    fn quench(&mut self, _packet: Handle, header: &Packet) -> bool {
        let mut notification = *header;
        notification.notify();
        self.core.count_created(&notification);
        self.core.ledger.quenched += 1;
        self.sink.quenched(self.port, header);
        let notification = self.core.arena.insert(notification);
        self.forward(notification);
        true
    }
    fn is_header(&self, packet: Handle) -> bool {
        self.core.arena.packet(packet).service.service().is_header()
    }
    fn free(&mut self, packet: Handle) {
        self.core.drop_quietly(packet);
    }
}

impl<P: OutputPort> SwitchTable for Switches<P> {
    fn queues(&self) -> usize {
        P::QUEUES
    }
    fn has_pools(&self) -> bool {
        !self.model.is_plain()
    }
    fn shares_memory(&self) -> bool {
        self.model.shares_memory()
    }
    fn returning(&self) -> Returning {
        self.model.returning()
    }
    fn link(&self, port: u32) -> &Transmitter {
        &self.ports[port as usize].link
    }
    fn link_mut(&mut self, port: u32) -> &mut Transmitter {
        &mut self.ports[port as usize].link
    }
    fn first(&self, port: u32, queue: usize) -> Handle {
        self.ports[port as usize].port.first(queue)
    }
    fn end_transmissions(&mut self, core: &mut Core, now: Time) {
        // Coupled ports act when a transmission ends.
        let ports = if core.couples_ports { 0 } else { core.routes.ports() };
        for port in 0..ports {
            let node = &mut self.ports[port as usize];
            if node.link.busy_until < now && node.port.is_sending() {
                let pool = pool_of(&self.model, &core.routes, port);
                node.port.release(&self.model, &mut core.pools[pool]);
            }
        }
    }
    fn queue_bytes(&self, port: u32, queue: usize) -> u32 {
        self.bytes_in(port, queue)
    }
    fn queue_packets(&self, port: u32, queue: usize) -> u32 {
        self.ports[port as usize].port.queue_packets(queue)
    }
    fn max_in_queue(&self, port: u32, queue: usize) -> Option<Limit> {
        self.ports[port as usize].port.max_in_queue(&self.model, queue)
    }
    fn is_pooled(&self, port: u32, queue: usize) -> bool {
        self.ports[port as usize].port.is_pooled(&self.model, queue)
    }
    fn classify(&self, port: u32, packet: &Packet) -> usize {
        self.ports[port as usize].port.classify(&self.model, packet)
    }
    fn queue_of(&self, port: u32, class: ServiceClass) -> usize {
        self.ports[port as usize].port.queue_of(&self.model, class)
    }
    fn marked(&self, port: u32) -> u32 {
        self.ports[port as usize].port.marked()
    }
    fn resume(&mut self, port: u32, class: usize, now: Time) {
        self.ports[port as usize].resume(class, now);
    }
}
