//! Hosts with a pacer between their endpoint and their link (HULL 4.2).

use trimline_packet::{Packets, Time};
use trimline_switch::OutputPort;
use trimline_switch::bump::Taken;
use trimline_transport::Allowed;

use super::{Calendar, Network};
use crate::protocol::Protocol;

impl<E: Protocol, P: OutputPort> Network<E, P> {
    /// When a host with a pacer next sends, or hands a packet to it. `None` without one.
    pub(super) fn paced_outlook(&self, host: u32) -> Option<Time> {
        let bumps = self.bumps.as_ref()?;
        let unit = &self.hosts[host as usize];
        let ready = unit.endpoint.transmit_at(Allowed::ALL);
        Some(bumps.next(host, ready, unit.link.busy_until)?.max(unit.clock))
    }

    /// What [`Network::paced_outlook`] said. Whether this host has a pacer.
    pub(super) fn paced_transmit(
        &mut self,
        calendar: &mut impl Calendar,
        host: u32,
        now: Time,
    ) -> bool {
        if self.paced_outlook(host).is_none() {
            return false;
        }
        let unit = &mut self.hosts[host as usize];
        unit.clock = now;
        let ready = unit.endpoint.transmit_at(Allowed::ALL);
        let bumps = self.bumps.as_mut().expect("a host with a pacer");
        if bumps.takes(host, ready, now) {
            self.hand_to_pacer(calendar, host, now);
        } else if let Some(packet) = bumps.give(host, now, &self.arena) {
            let sent = *self.arena.packet(packet);
            self.send(calendar, host, now, (packet, &sent));
        }
        true
    }

    /// The endpoint of a host gives a packet to the pacer.
    fn hand_to_pacer(&mut self, calendar: &mut impl Calendar, host: u32, now: Time) {
        let Some(packet) = self.pull(host, now, Allowed::ALL) else { return };
        let link = &self.hosts[host as usize].link;
        let transmission = self.classes[link.class as usize].transmission(packet.wire_bytes);
        let handle = self.arena.insert(packet);
        let bumps = self.bumps.as_mut().expect("a host with a pacer");
        match bumps.take(host, (now, transmission), handle, &mut self.arena) {
            Taken::Passes | Taken::Waits => {}
            Taken::Dropped => {
                let sender = self.ports.len() as u32 + host;
                calendar.lost(&self.arena, sender, handle);
                self.ledger.dropped += 1;
                self.ledger.dropped_bytes += u64::from(packet.wire_bytes);
                self.arena.release(handle);
            }
        }
    }
}
