//! How the windows engine works through a window at hosts. Compiled once for each transport.

use trimline_packet::Time;

use super::visits::{FAR_AHEAD, NEAR_AHEAD, Visits};
use crate::network::{Core, Hosts};
use crate::protocol::Protocol;

/// Visits ahead at which the flow of the packet that arrives next at a host is prefetched, and then its connection.
const FLOW_AHEAD: usize = 2;
const CONNECTION_AHEAD: usize = 1;

impl Visits {
    /// Works through everything that hosts do before `limit`: the units from the place `first` to `count`.
    pub(super) fn work_at_hosts<E: Protocol>(
        &mut self,
        hosts: &mut Hosts<E>,
        core: &mut Core,
        (first, count): (usize, usize),
        limit: Time,
    ) {
        for index in first..count.min(first + NEAR_AHEAD) {
            hosts.prefetch_connections(self.units[index] - core.routes.ports());
        }
        for index in first..count {
            self.look_ahead_at_hosts(hosts, core, index, count);
            let unit = self.units[index];
            if self.wheel.is_due(unit) {
                self.look_ahead_at_connections(hosts, core, index, count);
                self.visit_host(hosts, core, unit, limit);
            }
        }
    }

    /// Prefetches what the next visits need, in two steps.
    #[inline(always)]
    fn look_ahead_at_hosts<E: Protocol>(
        &self,
        hosts: &Hosts<E>,
        core: &Core,
        index: usize,
        count: usize,
    ) {
        if index + FAR_AHEAD < count {
            let far = self.units[index + FAR_AHEAD];
            core.prefetch_host(far - core.routes.ports());
            self.wheel.prefetch_inbox(far);
        }
        if index + NEAR_AHEAD < count {
            let near = self.units[index + NEAR_AHEAD];
            hosts.prefetch_connections(near - core.routes.ports());
            self.prefetch_arrivals(core, near);
        }
    }

    /// Prefetches single connections of hosts that have more than [`Hosts::prefetch_connections`] asks for.
    #[inline(always)]
    fn look_ahead_at_connections<E: Protocol>(
        &self,
        hosts: &Hosts<E>,
        core: &Core,
        index: usize,
        count: usize,
    ) {
        let ports = core.routes.ports();
        let crowded = |ahead| {
            let unit = (index + ahead < count).then(|| self.units[index + ahead])?;
            hosts.has_many_connections(unit - ports).then_some(unit)
        };
        if let Some(unit) = crowded(FLOW_AHEAD)
            && let Some(handle) = self.wheel.next_packet(unit)
        {
            hosts.prefetch_flow(core, unit - ports, handle);
        }
        if let Some(unit) = crowded(CONNECTION_AHEAD)
            && let Some(handle) = self.wheel.next_packet(unit)
        {
            hosts.prefetch_connection(core, unit - ports, handle);
        }
    }

    /// Works through what a host does before `limit`.
    #[inline]
    pub(super) fn visit_host<E: Protocol>(
        &mut self,
        hosts: &mut Hosts<E>,
        core: &mut Core,
        unit: u32,
        limit: Time,
    ) {
        let host = unit - core.routes.ports();
        self.wheel.open(unit);
        let mut arrival = self.wheel.first_arrival(unit);
        let (mut transmission, mut other) = hosts.host_outlook(core, host);
        // At one instant the transmitter acts first, then what arrives is taken, then all else.
        loop {
            if transmission <= arrival.min(other) {
                if transmission >= limit {
                    break;
                }
                hosts.host_transmit(core, &mut self.wheel, host, transmission);
            } else if arrival <= other {
                if arrival >= limit {
                    break;
                }
                let (handle, _) = self.wheel.take_first(&core.arena, unit);
                hosts.host_receive(core, host, arrival, handle);
                arrival = self.wheel.first_arrival(unit);
            } else {
                if other >= limit {
                    break;
                }
                hosts.host_otherwise(core, host, other);
            }
            (transmission, other) = hosts.host_outlook(core, host);
        }
        // What a host tells others must be told in time.
        let busy_until = if core.has_notices { Time::ZERO } else { hosts.host_busy_until(host) };
        self.wheel.leave(unit, busy_until, transmission.min(other));
    }
}
