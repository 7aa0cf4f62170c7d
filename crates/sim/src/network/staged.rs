//! What stands between a host's transport and its link: the NIC's queue and its processors (HULL 4.1), and the pacer
//! behind them (HULL 4.2).
//!
//! A packet that is sent goes from the transport to the queue, from there to the pacer, from there on the link; each of
//! the three may be missing. What arrives is seen by the pacer, waits in the NIC, and goes to the transport.

use trimline_packet::{Handle, Packet, Packets, Time};
use trimline_switch::OutputPort;
use trimline_switch::bump::Taken;
use trimline_transport::Allowed;

use super::{Calendar, Network};
use crate::nics::heard;
use crate::protocol::Protocol;

/// When the stages of a host act next, each by itself.
#[derive(Clone, Copy)]
struct Stages {
    /// The transport hands a packet to the NIC's queue. Never without one.
    to_queue: Time,
    /// When there is a packet for what stands behind: the pacer, or the link.
    ready: Time,
}

impl<E: Protocol, P: OutputPort> Network<E, P> {
    fn stages(&self, host: u32) -> Option<Stages> {
        let ready = self.hosts[host as usize].endpoint.transmit_at(Allowed::ALL);
        match self.nics.as_ref().and_then(|nics| nics.outlook(host, ready)) {
            Some((to_queue, ready)) => Some(Stages { to_queue, ready }),
            None => {
                let has_pacer = self.bumps.as_ref().is_some_and(|bumps| bumps.has_pacer(host));
                has_pacer.then_some(Stages { to_queue: Time::NEVER, ready })
            }
        }
    }

    /// When a host with a queue or a pacer next sends, or hands a packet on. `None` without.
    pub(super) fn staged_outlook(&self, host: u32) -> Option<Time> {
        let Stages { to_queue, ready } = self.stages(host)?;
        let unit = &self.hosts[host as usize];
        let free_at = unit.link.busy_until;
        let paced = self.bumps.as_ref().and_then(|bumps| bumps.next(host, ready, free_at));
        let behind = paced.unwrap_or(ready.max(free_at));
        Some(to_queue.min(behind).max(unit.clock))
    }

    /// What [`Network::staged_outlook`] said. Whether this host has a queue or a pacer.
    pub(super) fn staged_transmit(
        &mut self,
        calendar: &mut impl Calendar,
        host: u32,
        now: Time,
    ) -> bool {
        let Some(Stages { to_queue, ready }) = self.stages(host) else { return false };
        self.hosts[host as usize].clock = now;
        if to_queue <= now {
            self.hand_to_queue(calendar, host, now);
            return true;
        }
        let bumps = self.bumps.as_mut().filter(|bumps| bumps.has_pacer(host));
        let sent = match bumps {
            None => self.next_of_queue(host),
            Some(bumps) if bumps.takes(host, ready, now) => {
                self.hand_to_pacer(calendar, host, now);
                return true;
            }
            Some(bumps) => bumps.give(host, now, &self.arena),
        };
        if let Some(handle) = sent {
            let packet = *self.arena.packet(handle);
            self.send(calendar, host, now, (handle, &packet));
        }
        true
    }

    /// A host hands a packet to its NIC's queue.
    fn hand_to_queue(&mut self, calendar: &mut impl Calendar, host: u32, now: Time) {
        let Some(packet) = self.pull_counted(host, now) else { return };
        let is_followed = self.hosts[host as usize].endpoint.transmit_at(Allowed::ALL) <= now;
        let handle = self.arena.insert(packet);
        let nics = self.nics.as_mut().expect("a host with a queue");
        if !nics.take(host, now, (handle, is_followed), &mut self.arena) {
            self.drop_at_host(calendar, host, (handle, &packet));
        }
    }

    fn next_of_queue(&mut self, host: u32) -> Option<Handle> {
        self.nics.as_mut()?.give(host, &self.arena)
    }

    /// The transport, or the queue behind it, gives a packet to the pacer.
    fn hand_to_pacer(&mut self, calendar: &mut impl Calendar, host: u32, now: Time) {
        let has_queue = self.nics.as_ref().is_some_and(|nics| nics.has_queue(host));
        let handle = match has_queue {
            true => self.next_of_queue(host),
            false => self.pull_counted(host, now).map(|packet| self.arena.insert(packet)),
        };
        let Some(handle) = handle else { return };
        let packet = *self.arena.packet(handle);
        let link = &self.hosts[host as usize].link;
        let transmission = self.classes[link.class as usize].transmission(packet.wire_bytes);
        let bumps = self.bumps.as_mut().expect("a host with a pacer");
        match bumps.take(host, (now, transmission), handle, &mut self.arena) {
            Taken::Passes | Taken::Waits => {}
            Taken::Dropped => self.drop_at_host(calendar, host, (handle, &packet)),
        }
    }

    fn pull_counted(&mut self, host: u32, now: Time) -> Option<Packet> {
        let packet = self.pull(host, now, Allowed::ALL)?;
        self.count_sent(host);
        Some(packet)
    }

    /// A transport gave a packet up. For the counters of hosts that have some.
    pub(super) fn count_sent(&mut self, host: u32) {
        if let Some(nics) = &mut self.nics {
            nics.count(host);
        }
    }

    /// A host has no room for a packet that it sends.
    fn drop_at_host(
        &mut self,
        calendar: &mut impl Calendar,
        host: u32,
        (handle, packet): (Handle, &Packet),
    ) {
        let sender = self.ports.len() as u32 + host;
        calendar.lost(&self.arena, sender, handle);
        self.drop_quietly(handle, packet);
    }

    pub(super) fn drop_quietly(&mut self, handle: Handle, packet: &Packet) {
        self.ledger.dropped += 1;
        self.ledger.dropped_bytes += u64::from(packet.wire_bytes);
        self.arena.release(handle);
    }

    /// What stands between a host and its link sees what arrives. Whether the transport does not hear of it now.
    #[inline(never)]
    pub(super) fn stage_receives(&mut self, host: u32, now: Time, handle: Handle) -> bool {
        if self.drops_stray(host, handle) {
            return true;
        }
        if let Some(bumps) = &mut self.bumps {
            bumps.hear(host, now, self.arena.packet(handle));
        }
        if self.pauses.is_some() && self.host_takes_pause(host, now, handle) {
            return true;
        }
        let Some(nics) = &mut self.nics else { return false };
        match nics.arrive(host, now, handle, &mut self.arena) {
            None => false,
            Some(true) => true,
            Some(false) => {
                let packet = *self.arena.packet(handle);
                self.drop_quietly(handle, &packet);
                true
            }
        }
    }

    /// When the transport of a host next hears of what waits in its NIC.
    pub(super) fn next_delivery(&self, host: u32) -> Time {
        self.nics.as_ref().map_or(Time::NEVER, |nics| nics.next_delivery(host))
    }

    /// The transport of a host hears of what its processors are done with.
    pub(super) fn deliver_due(&mut self, host: u32, now: Time) {
        let due =
            |network: &mut Self| network.nics.as_mut()?.deliver(host, now, &mut network.arena);
        while let Some(delivered) = due(self) {
            let packet = heard(*self.arena.packet(delivered.packet), delivered.is_followed);
            self.hear(host, now, delivered.packet, &packet);
        }
    }
}
