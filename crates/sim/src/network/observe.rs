//! What a recorder may look at between two events.

use trimline_packet::{Handle, Packet, Packets, Service, Time};

use super::Network;
use crate::protocol::Protocol;

impl<E: Protocol, const Q: usize> Network<E, Q> {
    /// The packets that wait at a port, queue by queue, without the one on the wire.
    pub(crate) fn waiting(&self, port: u32) -> impl Iterator<Item = (Handle, &Packet)> {
        let unit = &self.ports[port as usize];
        (0..self.model.queue_count()).flat_map(move |queue| {
            let some = |handle: Handle| (!handle.is_none()).then_some(handle);
            let first = some(unit.port.first(queue));
            std::iter::successors(first, move |&handle| some(self.arena.next(handle)))
                .map(|handle| (handle, self.arena.packet(handle)))
        })
    }

    /// Packets and bytes of the queue of a port for packets of this service, the packet on the wire
    /// included.
    pub(crate) fn queue_of(&self, port: u32, service: Service) -> (u32, u32) {
        let queue = self.model.queue_of(service);
        let port = &self.ports[port as usize].port;
        (port.queue_packets(queue), port.queue_bytes(queue))
    }

    /// When the last bit of what a unit sent last leaves it.
    pub(crate) fn busy_until(&self, unit: u32) -> Time {
        match unit.checked_sub(self.ports.len() as u32) {
            Some(host) => self.hosts[host as usize].link.busy_until,
            None => self.ports[unit as usize].link.busy_until,
        }
    }
}
