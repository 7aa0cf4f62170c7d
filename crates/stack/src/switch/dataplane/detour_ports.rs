//! The ports of a switch, as a frame sees them that may be detoured.

use trimline_packet::{Packet, Time};
use trimline_switch::Pool;

use super::Port;
use crate::switch::config::FarEnd;
use crate::switch::detour::LocalPorts;
use crate::switch::egress::Egress;

/// The ports of a switch, for a frame that may be detoured.
pub(super) struct DetourPorts<'a, E: Egress> {
    pub(super) now: Time,
    pub(super) model: &'a E::Model,
    pub(super) packet: Packet,
    pub(super) local: &'a [u32],
    pub(super) ports: &'a mut [Port<E>],
    pub(super) pool: &'a mut Pool,
    pub(super) equally_near: &'a [u16],
}

impl<E: Egress> DetourPorts<'_, E> {
    /// Returns a port after [`Port::release_sent`].
    fn port(&mut self, local: u16) -> &mut Port<E> {
        let port = &mut self.ports[self.local[usize::from(local)] as usize];
        port.release_sent(self.now, self.model, self.pool);
        port
    }

    pub(super) fn far_end(&self, local: u16) -> FarEnd {
        self.ports[self.local[usize::from(local)] as usize].far_end
    }
}

impl<E: Egress> LocalPorts for DetourPorts<'_, E> {
    fn count(&self) -> u16 {
        self.local.len() as u16
    }
    fn packets_before(&mut self, port: u16) -> u32 {
        let (model, packet) = (self.model, self.packet);
        self.port(port).egress.packets_before(model, &packet)
    }
    fn has_room(&mut self, port: u16) -> bool {
        let (model, packet) = (self.model, self.packet);
        self.port(port);
        let egress = &self.ports[self.local[usize::from(port)] as usize].egress;
        egress.has_room(model, &packet, self.pool)
    }
    fn leads_to_switch(&self, port: u16) -> bool {
        matches!(self.far_end(port), FarEnd::Port(_))
    }
    fn is_equally_near(&self, port: u16) -> bool {
        self.equally_near.contains(&port)
    }
}
