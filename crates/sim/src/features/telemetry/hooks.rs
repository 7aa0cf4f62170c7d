//! Telemetry of packets at hosts: a sender's packet leaves with room for it, and what arrived goes to the transport.

use trimline_packet::{Handle, Packet};

use crate::network::{Core, Hosts};
use crate::protocol::Protocol;

impl<E: Protocol> Hosts<E> {
    /// Stores a packet that the endpoint of a host has just returned. Transports without telemetry pay nothing for it.
    #[inline(always)]
    pub(crate) fn insert(&mut self, core: &mut Core, host: u32, packet: Packet) -> Handle {
        let handle = core.arena.insert(packet);
        if E::TELEMETRY && core.arena.carries_telemetry() {
            let telemetry = self.hosts[host as usize].endpoint.telemetry(&packet);
            core.arena.set_telemetry(handle, telemetry);
        }
        handle
    }

    /// Gives the telemetry of an arriving packet to a host's transport, which gets the packet next.
    #[inline(always)]
    pub(crate) fn receive_telemetry(&mut self, core: &Core, host: u32, handle: Handle) {
        if E::TELEMETRY && core.arena.carries_telemetry() {
            let telemetry = core.arena.telemetry(handle);
            self.hosts[host as usize].endpoint.handle_telemetry(telemetry);
        }
    }
}
