//! What ports do: arrivals, departures, and what becomes of packets that lose their place.

use std::mem;

use trimline_packet::{Handle, Packet, Packets, PortCounters, Time, TimeDelta};
use trimline_switch::{Around, Fabric, Fate, OutputPort, PortModel, settle};

use super::{Calendar, Network, next_hop_draw, pool_of};
use crate::arena::Arena;
use crate::deflections::Deflections;
use crate::flows::Flows;
use crate::pauses::Pauses;
use crate::protocol::Protocol;
use crate::random::Draw;

impl<E: Protocol, P: OutputPort> Network<E, P> {
    /// Until when a port sends what it is sending, and when it will next start to send.
    #[inline(always)]
    pub(crate) fn port_outlook(&self, port: u32) -> (Time, Time) {
        let unit = &self.ports[port as usize];
        (unit.link.busy_until, unit.next_departure())
    }

    /// When a port will next start to send: never when it has nothing to send.
    #[inline(always)]
    pub(crate) fn port_next(&self, port: u32) -> Time {
        self.ports[port as usize].next_departure()
    }

    /// Performs a port's departures that are due before `limit`.
    #[inline]
    pub(crate) fn port_advance(&mut self, calendar: &mut impl Calendar, port: u32, limit: Time) {
        loop {
            let now = self.port_next(port);
            if now >= limit {
                return;
            }
            self.port_depart(calendar, port, now);
        }
    }

    /// A port that has something to send starts to send it.
    #[inline(always)]
    pub(crate) fn port_depart(&mut self, calendar: &mut impl Calendar, port: u32, now: Time) {
        self.depart::<false>(calendar, port, now);
    }

    /// The same; `NOTED` where somebody notes what leaves: whose inputs are counted, or which may deflect.
    #[inline(always)]
    pub(super) fn depart<const NOTED: bool>(
        &mut self,
        calendar: &mut impl Calendar,
        port: u32,
        now: Time,
    ) {
        let pool = pool_of(&self.model, &self.routes, port);
        let unit = &mut self.ports[port as usize];
        let pool = &mut self.pools[pool];
        let mut around = Around {
            now,
            model: &self.model,
            packets: &mut self.arena,
            pool,
            chance: &mut Draw { streams: &mut self.coins, unit: port },
            displaced: &mut self.displaced,
        };
        if let Some(handle) = unit.port.dequeue(&mut around) {
            let packet = self.arena.packet(handle);
            let bytes = packet.wire_bytes;
            let (to, path) = (packet.destination, packet.header.path);
            if NOTED {
                let packets = (&self.arena, &self.flows);
                let (of, model) = ((port, &unit.port), &self.model);
                note_departure(&mut self.pauses, &mut self.deflections, packets, of, model, handle);
            }
            let counters = &mut self.counters[port as usize];
            counters.packets += 1;
            counters.bytes += u64::from(bytes);
            let (arrival, is_impaired) = unit.link.begin(&self.classes, now, bytes);
            let any = next_hop_draw(&mut self.choices, port);
            let next = self.routes.next_unit(unit.link.far_end, to, path, any);
            self.port_hops += 1;
            if is_impaired {
                self.pass(calendar, next, now, arrival, handle, port);
            } else {
                calendar.arrive(&mut self.arena, next, arrival, handle, port);
            }
        }
        // A plain model displaces nothing here.
        if !self.model.is_plain() && self.displaced.is_changed() {
            self.settle_displaced(calendar, port, now);
        }
    }

    /// A packet arrives at a port. It departs with the next [`Network::port_advance`], at once if
    /// the port is idle.
    #[inline(always)]
    pub(crate) fn port_arrive(
        &mut self,
        calendar: &mut impl Calendar,
        port: u32,
        now: Time,
        handle: Handle,
    ) {
        let unit = &mut self.ports[port as usize];
        if unit.link.busy_until <= now {
            // Whatever was due has departed: the transmitter is idle since then.
            let pool = pool_of(&self.model, &self.routes, port);
            unit.port.release(&self.model, &mut self.pools[pool]);
            unit.link.busy_until = now;
        }
        if !unit.port.enqueue_plainly(handle, &self.model, &mut self.arena) {
            self.port_overflow(calendar, port, now, handle);
        }
    }

    /// A packet arrives at a port that may have no room for it.
    #[inline(never)]
    pub(super) fn port_overflow(
        &mut self,
        calendar: &mut impl Calendar,
        port: u32,
        now: Time,
        handle: Handle,
    ) {
        let mut around = Around {
            now,
            model: &self.model,
            packets: &mut self.arena,
            pool: &mut self.pools[pool_of(&self.model, &self.routes, port)],
            chance: &mut Draw { streams: &mut self.coins, unit: port },
            displaced: &mut self.displaced,
        };
        self.ports[port as usize].port.enqueue(handle, &mut around);
        if self.displaced.is_changed() {
            self.settle_displaced(calendar, port, now);
        }
    }

    /// Acts on what a port could not keep.
    #[cold]
    #[inline(never)]
    fn settle_displaced(&mut self, calendar: &mut impl Calendar, port: u32, now: Time) {
        let mut displaced = mem::take(&mut self.displaced);
        settle(&mut displaced, &mut Switch { network: self, calendar, port, now });
        // Keeps the list's memory; what a returned header displaced in turn is already settled.
        self.displaced = displaced;
    }
}

/// A packet begins to leave a port whose inputs are counted, or which may deflect.
#[inline(never)]
fn note_departure<P: OutputPort>(
    pauses: &mut Option<Box<Pauses>>,
    deflections: &mut Option<Box<Deflections>>,
    (arena, flows): (&Arena, &Flows),
    (number, port): (u32, &P),
    model: &P::Model,
    handle: Handle,
) {
    let packet = arena.packet(handle);
    if let Some(pauses) = pauses {
        pauses.departs(number, handle, port.classify(model, packet), packet.wire_bytes);
    }
    if let Some(deflections) = deflections
        && deflections.notes(number)
    {
        let held = || port.packets_before(model, packet);
        deflections.note_departure(number, packet, arena.steps(handle), held, flows);
    }
}

/// The switch around a port that could not keep packets.
struct Switch<'a, E, P: OutputPort, C> {
    network: &'a mut Network<E, P>,
    calendar: &'a mut C,
    port: u32,
    now: Time,
}

impl<E: Protocol, P: OutputPort, C: Calendar> Fabric for Switch<'_, E, P, C> {
    fn note(&mut self, packet: Handle, fate: Fate) {
        self.calendar.displaced(&self.network.arena, self.port, packet, fate);
    }
    fn counters(&mut self) -> &mut PortCounters {
        &mut self.network.counters[self.port as usize]
    }
    fn cut(&mut self, bytes: u64) {
        self.network.ledger.cut_bytes += bytes;
    }
    fn turn_round(&mut self, packet: Handle) -> bool {
        self.network.arena.packet_mut(packet).turn_round();
        true
    }
    fn forward(&mut self, packet: Handle) {
        let Switch { network, calendar, port, now } = self;
        let Packet { destination, header, .. } = *network.arena.packet(packet);
        let any = next_hop_draw(&mut network.choices, *port);
        let switch = network.routes.switch_of(*port);
        let way = network.routes.next_port(switch, destination, header.path, any);
        if network.couples_ports() {
            network.enqueue_coupled(*calendar, way, *now, packet);
        } else {
            network.port_advance(*calendar, way, *now + TimeDelta::from_ps(1));
            network.port_arrive(*calendar, way, *now, packet);
        }
        calendar.touched(way);
    }
    fn make_notification(&mut self, packet: Handle) -> Option<u16> {
        Some(self.network.arena.packet_mut(packet).notify())
    }
    /// Its way back is that of the header which it is: by the link over which the packet came.
    fn send_back(&mut self, notification: Handle) {
        self.forward(notification);
    }
    fn quench(&mut self, _packet: Handle, header: &Packet) -> bool {
        let mut notification = *header;
        notification.notify();
        self.network.ledger.created += 1;
        self.network.ledger.created_bytes += u64::from(notification.wire_bytes);
        let notification = self.network.arena.insert(notification);
        self.forward(notification);
        true
    }
    fn free(&mut self, packet: Handle) {
        self.network.ledger.dropped += 1;
        let bytes = self.network.arena.packet(packet).wire_bytes;
        self.network.ledger.dropped_bytes += u64::from(bytes);
        self.network.arena.release(packet);
    }
}
