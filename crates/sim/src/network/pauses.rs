//! Priority flow control (IEEE 802.1Qbb) at ports and hosts: inputs of switches that tell the senders of their links to
//! stop, and senders that do.
//!
//! - A frame takes wire time on the reverse direction of the link, ahead of the queues there and behind the packet on
//!   the wire. It says what holds when it leaves, so that two changes before that are one frame.
//! - A pause ends by itself. While a class stays stopped its sender is told again in half that time.
//! - A class that is stopped at a host is one that its transport may not send ([`trimline_transport::Allowed`]).

use std::mem;

use trimline_packet::{ByteCount, Handle, Packets, Pause, Time, TimeDelta};
use trimline_switch::{Arrival, CLASSES, Fate, OutputPort};

use super::{Calendar, LinkClass, Network, pool_of};
use crate::protocol::Protocol;
use crate::topology::LinkId;

/// How long a frame stops what is sent on a link of this class.
fn lasts(class: &LinkClass, pause: Pause) -> TimeDelta {
    class.rate.transmission(ByteCount::new(Pause::QUANTUM_BITS / 8 * u64::from(pause.quanta)))
}

impl<E: Protocol, P: OutputPort> Network<E, P> {
    /// A packet arrives over a link at a port whose inputs are counted. Gives whether the port may act at once.
    #[inline(never)]
    pub(super) fn lossless_arrive(
        &mut self,
        calendar: &mut impl Calendar,
        port: u32,
        (now, link): (Time, u32),
        handle: Handle,
    ) -> bool {
        let packet = *self.arena.packet(handle);
        if let Some(pause) = Pause::of(&packet) {
            self.consume(handle);
            self.tell_port(port, pause, now);
            return true;
        }
        let class = self.ports[port as usize].port.classify(&self.model, &packet);
        let pauses = self.pauses.as_mut().expect("a network with pauses");
        let input = pauses.opposite[link as usize];
        match pauses.arrives(handle, input, class, packet.wire_bytes, now) {
            Arrival::Counted => {}
            Arrival::Stops => calendar.touched(input),
            Arrival::NoRoom => {
                calendar.displaced(&self.arena, port, handle, Fate::Dropped);
                self.counters[port as usize].dropped += 1;
                self.ledger.dropped += 1;
                self.ledger.dropped_bytes += u64::from(packet.wire_bytes);
                self.arena.release(handle);
                return false;
            }
        }
        // Behind a pause frame on the wire it is what comes next.
        let is_frame = !self.ports[port as usize].port.is_sending();
        self.enqueue_coupled(calendar, port, now, handle) || is_frame
    }

    /// What [`Network::coupled_act`] does where inputs are counted.
    #[inline(never)]
    pub(super) fn lossless_act(&mut self, calendar: &mut impl Calendar, port: u32, now: Time) {
        let unit = &mut self.ports[port as usize];
        let is_free = unit.link.busy_until <= now;
        let pauses = self.pauses.as_mut().expect("a network with pauses");
        if is_free && unit.port.is_sending() {
            let pool = pool_of(&self.model, &self.routes, port);
            unit.port.release(&self.model, &mut self.pools[pool]);
            if let Some(input) = pauses.leaves(port, now) {
                calendar.touched(input);
            }
        }
        let sender = &mut pauses.senders[port as usize];
        for class in sender.ended(now) {
            sender.go_on(class, now);
            unit.port.resume(class);
            unit.link.busy_until = unit.link.busy_until.max(now);
        }
        let input = &mut pauses.inputs[port as usize];
        if input.renew_at <= now {
            input.renew_at = Time::NEVER;
            let stopped = input.ingress.stopped();
            (0..CLASSES)
                .filter(|class| stopped >> class & 1 != 0)
                .for_each(|class| input.tell(class, now));
        }
        if !is_free {
            return;
        }
        if input.untold != 0 {
            self.send_pause(calendar, port, now);
        } else if unit.next_departure() <= now {
            self.depart::<true>(calendar, port, now);
        }
    }

    /// A port tells the sender at the other end of its link what holds.
    fn send_pause(&mut self, calendar: &mut impl Calendar, port: u32, now: Time) {
        let pauses = self.pauses.as_mut().expect("a network with pauses");
        let next = pauses.opposite[port as usize];
        let packet = pauses.frame(port, now).to_packet();
        let link = &mut self.ports[port as usize].link;
        let (arrival, is_impaired) = link.begin(&self.classes, now, packet.wire_bytes);
        self.ledger.created += 1;
        self.ledger.created_bytes += u64::from(packet.wire_bytes);
        self.port_hops += 1;
        let handle = self.arena.insert(packet);
        if is_impaired {
            self.pass(calendar, next, now, arrival, handle, port);
        } else {
            calendar.arrive(&mut self.arena, next, arrival, handle, port);
        }
    }

    /// A frame has reached the end of its link.
    fn consume(&mut self, handle: Handle) {
        let packet = self.arena.packet(handle);
        self.ledger.delivered_bytes += u64::from(packet.wire_bytes);
        self.ledger.delivered[packet.service.service_index()] += 1;
        self.arena.release(handle);
    }

    /// A port is told what it may send.
    fn tell_port(&mut self, port: u32, pause: Pause, now: Time) {
        let unit = &mut self.ports[port as usize];
        let lasts = lasts(&self.classes[unit.link.class as usize], pause);
        let pauses = self.pauses.as_mut().expect("a network with pauses");
        let sender = &mut pauses.senders[port as usize];
        sender.counters.received += 1;
        for class in (0..CLASSES).filter(|class| pause.classes >> class & 1 != 0) {
            if pause.stopped >> class & 1 == 0 {
                sender.go_on(class, now);
                unit.port.resume(class);
                unit.link.busy_until = unit.link.busy_until.max(now);
            } else if sender.stop(class, now, now + lasts) {
                unit.port.pause(class);
            }
        }
    }

    /// A host takes a frame, if this is one.
    #[cold]
    pub(super) fn host_takes_pause(&mut self, host: u32, now: Time, handle: Handle) -> bool {
        let Some(pause) = Pause::of(self.arena.packet(handle)) else { return false };
        self.consume(handle);
        let unit = &mut self.hosts[host as usize];
        unit.clock = now;
        let lasts = lasts(&self.classes[unit.link.class as usize], pause);
        let sender = self.routes.ports() + host;
        let pauses = self.pauses.as_mut().expect("a network with pauses");
        pauses.tell_host(sender, pause, lasts, now);
        true
    }

    /// A link fails: what its ends were told and have told is void.
    pub(super) fn forget_pauses(&mut self, link: LinkId, now: Time) {
        let Some(pauses) = &mut self.pauses else { return };
        let sender = &mut pauses.senders[link.index()];
        let stopped = sender.stopped;
        for class in (0..CLASSES).filter(|class| stopped >> class & 1 != 0) {
            sender.go_on(class, now);
            if let Some(unit) = self.ports.find_mut(link.index()) {
                unit.port.resume(class);
                unit.link.busy_until = unit.link.busy_until.max(now);
            }
        }
        if let Some(host) = link.unit().checked_sub(self.routes.ports()) {
            // What it sends now it does not send earlier.
            let host = &mut self.hosts[host as usize];
            host.clock = host.clock.max(now);
        }
        pauses.disturbed.push(link.unit());
        let receiver = pauses.opposite[link.index()];
        pauses.forget_input(receiver);
    }

    /// Units that a change of links has given something to do: they must be visited.
    pub(crate) fn take_disturbed(&mut self) -> Vec<u32> {
        self.pauses.as_mut().map_or_else(Vec::new, |pauses| mem::take(&mut pauses.disturbed))
    }
}
