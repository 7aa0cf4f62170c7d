//! Room that a listening service reserves for connections to come (NDP 4).
//!
//! There is no handshake, so a connection begins with a train of packets that the server must take at once. A service
//! can reserve slots for it. Other services, and its own connections beyond the slots, cannot use a free slot's share
//! of the limits on connections, half-open ones, remembered sides and peers, nor its bytes. The limits of one peer hold
//! in any case, so that no peer takes all slots.

use trimline_packet::Time;

use super::super::Limits;
use super::Core;

/// The room that a service reserves ([`Core::listen_with`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Connections that peers may open whatever others have opened.
    pub connections: u32,
    /// Bytes that each of them may have unread, or waiting for a missing packet, whatever others have buffered.
    pub bytes: u64,
}

/// A service that listens.
#[derive(Clone, Copy, Debug)]
pub(super) struct Service {
    pub(super) port: u16,
    backlog: Backlog,
    /// Slots in use.
    used: u32,
}

/// The reserved room of all services that is not in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Free {
    pub(super) slots: u32,
    pub(super) bytes: u64,
}

impl Service {
    pub(super) fn new(port: u16) -> Service {
        Service { port, backlog: Backlog::default(), used: 0 }
    }
}

impl Backlog {
    fn total(self) -> u64 {
        u64::from(self.connections).saturating_mul(self.bytes)
    }
}

impl Core {
    /// Accepts unchecked connections to a service port as [`Core::listen`] does, and reserves room for them.
    ///
    /// # Errors
    /// Returns a message if all services together would reserve more than the [`Limits`] have.
    ///
    /// # Panics
    /// Panics as [`Core::listen`] does.
    pub fn listen_with(
        &mut self,
        now: Time,
        service_port: u16,
        backlog: Backlog,
    ) -> Result<(), String> {
        self.listen(now, service_port);
        self.reserve(service_port, backlog)
    }

    /// Accepts checked connections as [`Core::listen_checked`] does, and reserves room for them.
    ///
    /// # Errors
    /// Fails as [`Core::listen_with`] does.
    ///
    /// # Panics
    /// Panics as [`Core::listen`] does.
    pub fn listen_checked_with(
        &mut self,
        now: Time,
        service_port: u16,
        backlog: Backlog,
    ) -> Result<(), String> {
        self.listen_checked(now, service_port);
        self.reserve(service_port | super::CHECKED, backlog)
    }

    /// Returns the payload bytes of a first window: what a peer sends before it hears of this host.
    pub fn first_window_bytes(&self) -> u64 {
        let ndp = &self.config.ndp;
        u64::from(ndp.initial_window) * u64::from(ndp.payload_bytes)
    }

    fn reserve(&mut self, port: u16, backlog: Backlog) -> Result<(), String> {
        let others = self.services.iter().filter(|service| service.port != port);
        let (mut slots, mut bytes) = (u64::from(backlog.connections), backlog.total());
        for other in others {
            slots += u64::from(other.backlog.connections);
            bytes = bytes.saturating_add(other.backlog.total());
        }
        let Limits { connections, half_open, sides, peers, host_bytes, .. } = self.config.limits;
        let max = connections.min(half_open).min(sides / 2).min(peers);
        if slots > u64::from(max) || bytes > host_bytes {
            return Err(format!(
                "{slots} connections and {bytes} B would be reserved; expected at most {max} and {host_bytes} B, the \
                 limits of this host"
            ));
        }
        let service = self.services.iter_mut().find(|service| service.port == port);
        let service = service.expect("it listens");
        if service.used > 0 {
            return Err(
                "the service has connections already; expected a call before the first".into()
            );
        }
        let before = std::mem::replace(&mut service.backlog, backlog);
        self.free_reserve.slots =
            self.free_reserve.slots - before.connections + backlog.connections;
        self.free_reserve.bytes = self.free_reserve.bytes - before.total() + backlog.total();
        Ok(())
    }

    /// Returns the backlog of a service if it has a free slot.
    pub(super) fn free_slot(&self, port: u16) -> Option<Backlog> {
        let service = self.services.iter().find(|service| service.port == port)?;
        (service.used < service.backlog.connections).then_some(service.backlog)
    }

    /// Takes a slot for a new connection, if there is one. Returns its bytes.
    pub(super) fn take_slot(&mut self, port: u16) -> Option<u64> {
        let backlog = self.free_slot(port)?;
        let mut services = self.services.iter_mut();
        services.find(|service| service.port == port).expect("it has a slot").used += 1;
        self.free_reserve.slots -= 1;
        Some(backlog.bytes)
    }

    /// Gives back the slot of a connection that buffers nothing any more.
    pub(super) fn give_back_slot(&mut self, port: u16) {
        if let Some(service) = self.services.iter_mut().find(|service| service.port == port) {
            service.used -= 1;
            self.free_reserve.slots += 1;
        }
    }

    /// Returns the bytes that connections beyond their reserve may buffer in all.
    pub(super) fn shared_bytes(&self) -> u64 {
        self.config.limits.host_bytes.saturating_sub(self.free_reserve.bytes)
    }
}
