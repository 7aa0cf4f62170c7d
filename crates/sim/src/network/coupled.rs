//! Switches whose ports depend on each other. They share memory, so that a port's room depends on all queues; or their
//! inputs are counted, so that a departure changes another port's pauses ([`crate::features::pfc`]); or packets leave by
//! another port when their own is busy ([`crate::features::detour`]); or ports write telemetry into packets as they
//! leave, where only coupled switches record departures.
//!
//! Events of such a switch happen in order of time; at one instant, ports in order of their numbers, then arrivals. The
//! end of a transmission is an event of its own, since it frees memory.

use trimline_packet::{Handle, Time, TimeDelta};
use trimline_switch::{OutputPort, PortModel, Returning};

use super::port::{Switches, pool_of};
use super::{Core, EventSink};

impl<P: OutputPort> Switches<P> {
    /// Time of the next own event of a coupled switch's port: a last bit leaves, or a transmission starts.
    #[inline(always)]
    pub(crate) fn coupled_next(&self, core: &Core, port: u32) -> Time {
        let node = &self.ports[port as usize];
        let busy_until = node.link.busy_until;
        let own = if node.port.is_sending() { busy_until } else { node.next_departure() };
        match &core.pauses {
            None => own,
            Some(pauses) => own.min(pauses.next(port, busy_until)),
        }
    }

    /// Returns whether a switch's ports are independent for a lookahead in which `bytes` arrive: there is room for them
    /// in any order, and no input can cross XOFF or XON.
    #[inline(always)]
    pub(crate) fn is_apart(&self, core: &Core, port: u32, bytes: u64) -> bool {
        if core.pauses.as_ref().is_some_and(|pauses| !pauses.is_calm(core.routes.switch_of(port))) {
            return false;
        }
        if !self.model.shares_memory() {
            return true;
        }
        let pool = &core.pools[pool_of(&self.model, &core.routes, port)];
        self.model.admits_all(pool, bytes)
    }

    /// Returns when a port must run although nothing arrives.
    #[inline]
    pub(crate) fn port_wake(&self, core: &Core, port: u32) -> Time {
        if core.couples_ports { self.coupled_next(core, port) } else { self.port_next(port) }
    }

    /// Performs the event announced by [`Switches::coupled_next`], unless that has changed. Returns the time of the
    /// next.
    #[inline(always)]
    pub(crate) fn coupled_act(
        &mut self,
        core: &mut Core,
        sink: &mut (impl EventSink + ?Sized),
        port: u32,
        now: Time,
    ) -> Time {
        if core.pauses.is_some() {
            self.lossless_act(core, sink, port, now);
            return self.coupled_next(core, port);
        }
        let node = &mut self.ports[port as usize];
        if node.link.busy_until <= now {
            if node.next_departure() <= now {
                match core.watches_departures {
                    false => self.port_depart(core, sink, port, now),
                    true => self.depart::<true>(core, sink, port, now),
                }
            } else {
                let pool = pool_of(&self.model, &core.routes, port);
                node.port.release(&self.model, &mut core.pools[pool]);
            }
        }
        self.coupled_next(core, port)
    }

    /// Performs an arrival over `link` at a coupled port that has caught up. Returns whether the port may act at once.
    #[inline(always)]
    pub(crate) fn coupled_arrive(
        &mut self,
        core: &mut Core,
        sink: &mut (impl EventSink + ?Sized),
        port: u32,
        now: Time,
        (handle, link): (Handle, u32),
    ) -> bool {
        if core.detours.is_some() {
            return self.detouring_arrive(core, sink, port, (now, link), handle);
        }
        if core.pauses.is_some() {
            return self.lossless_arrive(core, sink, port, (now, link), handle);
        }
        self.enqueue_coupled(core, sink, port, now, handle)
    }

    /// Queues a packet at a coupled port. Returns whether its transmitter is free.
    #[inline(always)]
    pub(crate) fn enqueue_coupled(
        &mut self,
        core: &mut Core,
        sink: &mut (impl EventSink + ?Sized),
        port: u32,
        now: Time,
        handle: Handle,
    ) -> bool {
        let pool = pool_of(&self.model, &core.routes, port);
        let node = &mut self.ports[port as usize];
        // The port has released the packet that it sent.
        let is_free = node.link.busy_until <= now;
        node.link.busy_until = node.link.busy_until.max(now);
        let (model, packets) = (&self.model, &mut core.arena);
        let is_queued = if model.is_plain() {
            node.port.enqueue_plainly(handle, model, packets)
        } else {
            node.port.enqueue_pooled(handle, model, packets, &mut core.pools[pool])
        };
        if !is_queued {
            self.port_overflow(core, sink, port, now, handle);
        }
        is_free
    }

    /// Performs a coupled switch's own events before `limit`, in order.
    pub(crate) fn switch_advance(
        &mut self,
        core: &mut Core,
        sink: &mut (impl EventSink + ?Sized),
        switch: u32,
        limit: Time,
    ) {
        loop {
            let first =
                core.routes.ports_of(switch).map(|port| (self.coupled_next(core, port), port));
            let (now, port) = first.min().expect("a switch has ports");
            if now >= limit {
                return;
            }
            self.coupled_act(core, sink, port, now);
            sink.touched(port);
        }
    }
}

impl Core {
    /// Returns whether a switch's ports can be apart for a while: no port passes a packet to another. Packets that a
    /// link delays by different times may come at once, which no input is ready for.
    pub(crate) fn may_be_apart(&self) -> bool {
        let is_steady = self.links.max_delay() == TimeDelta::ZERO && !self.links.has_steps();
        // Where packets are detoured each window is checked ([`Switches::keeps_all`]).
        let keeps_headers = self.returning == Returning::Never || self.detours_packets();
        keeps_headers && (self.pauses.is_none() || is_steady)
    }
}
