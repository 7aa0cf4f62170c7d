//! The stages between a host's transport and its link: the NIC's queue and processors (HULL 4.1), and the pacer behind
//! them (HULL 4.2).
//!
//! A packet goes from the transport to the queue, to the pacer, and on the link; each of the three may be missing. The
//! pacer sees an arriving packet, which then waits in the NIC and goes to the transport.

use trimline_hostnic::Taken;
use trimline_packet::{Handle, Packet, Packets, Time};
use trimline_transport::Allowed;

use super::state::received;
use crate::network::{Core, EventSink, Hosts};
use crate::protocol::Protocol;

#[derive(Clone, Copy)]
struct Stages {
    /// The transport hands a packet to the NIC's queue; never without a queue.
    to_queue: Time,
    /// A packet is ready for the next stage: the pacer, or the link.
    ready: Time,
}

impl<E: Protocol> Hosts<E> {
    fn stages(&self, core: &Core, host: u32) -> Option<Stages> {
        let ready = self.hosts[host as usize].endpoint.transmit_at(Allowed::ALL);
        match core.nics.as_ref().and_then(|nics| nics.next_event(host, ready)) {
            Some((to_queue, ready)) => Some(Stages { to_queue, ready }),
            None => {
                let has_pacer = core.pacers.as_ref().is_some_and(|pacers| pacers.has_pacer(host));
                has_pacer.then_some(Stages { to_queue: Time::NEVER, ready })
            }
        }
    }

    /// Returns when a host with a queue or a pacer next sends, or hands a packet on; otherwise `None`.
    pub(crate) fn staged_next_event(&self, core: &Core, host: u32) -> Option<Time> {
        let Stages { to_queue, ready } = self.stages(core, host)?;
        let node = &self.hosts[host as usize];
        let free_at = node.link.busy_until;
        let paced = core.pacers.as_ref().and_then(|pacers| pacers.next(host, ready, free_at));
        let behind = paced.unwrap_or(ready.max(free_at));
        Some(to_queue.min(behind).max(node.clock))
    }

    /// Performs the event announced by [`Hosts::staged_next_event`]. Returns whether this host has a queue or a pacer.
    pub(crate) fn staged_transmit(
        &mut self,
        core: &mut Core,
        sink: &mut (impl EventSink + ?Sized),
        host: u32,
        now: Time,
    ) -> bool {
        let Some(Stages { to_queue, ready }) = self.stages(core, host) else { return false };
        self.hosts[host as usize].clock = now;
        if to_queue <= now {
            self.hand_to_queue(core, sink, host, now);
            return true;
        }
        let pacers = core.pacers.as_mut().filter(|pacers| pacers.has_pacer(host));
        let sent = match pacers {
            None => core.next_of_queue(host),
            Some(pacers) if pacers.takes(host, ready, now) => {
                self.hand_to_pacer(core, sink, host, now);
                return true;
            }
            Some(pacers) => pacers.poll_transmit(host, now, &core.arena),
        };
        if let Some(handle) = sent {
            let packet = *core.arena.packet(handle);
            self.send(core, sink, host, now, (handle, &packet));
        }
        true
    }

    fn hand_to_queue(
        &mut self,
        core: &mut Core,
        sink: &mut (impl EventSink + ?Sized),
        host: u32,
        now: Time,
    ) {
        let Some(packet) = self.pull_counted(core, host, now) else { return };
        let is_followed = self.hosts[host as usize].endpoint.transmit_at(Allowed::ALL) <= now;
        let handle = self.insert(core, host, packet);
        let nics = core.nics.as_mut().expect("a host with a queue");
        if !nics.handle_packet(host, now, (handle, is_followed), &mut core.arena) {
            core.drop_at_host(sink, host, handle);
        }
    }

    /// Hands a packet of the queue, or of the transport, to the pacer.
    fn hand_to_pacer(
        &mut self,
        core: &mut Core,
        sink: &mut (impl EventSink + ?Sized),
        host: u32,
        now: Time,
    ) {
        let has_queue = core.nics.as_ref().is_some_and(|nics| nics.has_queue(host));
        let handle = match has_queue {
            true => core.next_of_queue(host),
            false => {
                self.pull_counted(core, host, now).map(|packet| self.insert(core, host, packet))
            }
        };
        let Some(handle) = handle else { return };
        let packet = *core.arena.packet(handle);
        let link = &self.hosts[host as usize].link;
        let transmission = core.classes[link.class as usize].transmission(packet.wire_bytes);
        let pacers = core.pacers.as_mut().expect("a host with a pacer");
        match pacers.handle_packet(host, (now, transmission), handle, &mut core.arena) {
            Taken::Passes | Taken::Waits => {}
            Taken::Dropped => core.drop_at_host(sink, host, handle),
        }
    }

    fn pull_counted(&mut self, core: &mut Core, host: u32, now: Time) -> Option<Packet> {
        let packet = self.pull(core, host, now, Allowed::ALL)?;
        core.count_sent(host);
        Some(packet)
    }

    /// Shows an arriving packet to the stages. Returns whether they keep it from the transport now.
    #[inline(never)]
    pub(crate) fn stage_receives(
        &mut self,
        core: &mut Core,
        host: u32,
        now: Time,
        handle: Handle,
    ) -> bool {
        if core.drops_stray(host, handle) {
            return true;
        }
        if let Some(pacers) = &mut core.pacers {
            pacers.receive(host, now, core.arena.packet(handle));
        }
        if core.pauses.is_some() && self.takes_pause(core, host, now, handle) {
            return true;
        }
        let Some(nics) = &mut core.nics else { return false };
        match nics.arrive(host, now, handle, &mut core.arena) {
            None => false,
            Some(true) => true,
            Some(false) => {
                core.drop_quietly(handle);
                true
            }
        }
    }

    /// Gives packets that the processors have finished to the transport.
    pub(crate) fn deliver_due(&mut self, core: &mut Core, host: u32, now: Time) {
        let due = |core: &mut Core| core.nics.as_mut()?.deliver(host, now, &mut core.arena);
        while let Some(delivered) = due(core) {
            let packet = received(*core.arena.packet(delivered.packet), delivered.is_followed);
            self.receive(core, host, now, delivered.packet, &packet);
        }
    }

    /// Returns whether a packet is a pause frame, which the host takes.
    #[cold]
    fn takes_pause(&mut self, core: &mut Core, host: u32, now: Time, handle: Handle) -> bool {
        let node = &mut self.hosts[host as usize];
        let is_pause = core.host_takes_pause((host, &node.link), now, handle);
        if is_pause {
            node.clock = now;
        }
        is_pause
    }
}

impl Core {
    fn next_of_queue(&mut self, host: u32) -> Option<Handle> {
        self.nics.as_mut()?.poll_transmit(host, &self.arena)
    }

    /// Counts a packet that a transport has sent, where hosts have counters.
    pub(crate) fn count_sent(&mut self, host: u32) {
        if let Some(nics) = &mut self.nics {
            nics.count(host);
        }
    }

    fn drop_at_host(&mut self, sink: &mut (impl EventSink + ?Sized), host: u32, handle: Handle) {
        sink.lost(&self.arena, self.routes.ports() + host, handle);
        self.drop_quietly(handle);
    }

    /// Returns when the next packet in a host's NIC reaches the transport.
    pub(crate) fn next_delivery(&self, host: u32) -> Time {
        self.nics.as_ref().map_or(Time::NEVER, |nics| nics.next_delivery(host))
    }
}
