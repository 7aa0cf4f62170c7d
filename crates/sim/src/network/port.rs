//! What ports do: arrivals, departures, and what becomes of packets that lose their place.

use std::mem;

use trimline_packet::{Handle, Packet, Packets, PortCounters, Time, TimeDelta};
use trimline_switch::{Around, Fabric, Fate, OutputPort, PortModel, settle};

use super::{Calendar, Network, next_hop_draw, pool_of};
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

    /// The same, for ports whose inputs are counted or not.
    #[inline(always)]
    pub(super) fn depart<const LOSSLESS: bool>(
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
            let arena = &mut self.arena;
            let packet = arena.packet(handle);
            let bytes = packet.wire_bytes;
            if LOSSLESS {
                let class = unit.port.classify(&self.model, packet);
                let pauses = self.pauses.as_mut().expect("a network with pauses");
                pauses.departs(port, handle, class, bytes);
            }
            let counters = &mut self.counters[port as usize];
            counters.packets += 1;
            counters.bytes += u64::from(bytes);
            let (arrival, is_impaired) = unit.link.begin(&self.classes, now, bytes);
            let any = next_hop_draw(&mut self.choices, port);
            let (to, path) = (packet.destination, packet.header.path);
            let next = self.routes.next_unit(unit.link.far_end, to, path, any);
            self.port_hops += 1;
            if is_impaired {
                self.pass(calendar, next, now, arrival, handle, port);
            } else {
                calendar.arrive(arena, next, arrival, handle, port);
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
    fn free(&mut self, packet: Handle) {
        self.network.ledger.dropped += 1;
        let bytes = self.network.arena.packet(packet).wire_bytes;
        self.network.ledger.dropped_bytes += u64::from(bytes);
        self.network.arena.release(packet);
    }
}
