//! Runs hosts through a lookahead window. Compiled once for each transport.

use trimline_packet::Time;

use super::runner::{FAR_AHEAD, NEAR_AHEAD, Runner};
use crate::network::{Core, Hosts};
use crate::protocol::Protocol;

/// Distances, in nodes, at which the flow, and then the connection, of a host's next packet are prefetched.
const FLOW_AHEAD: usize = 2;
const CONNECTION_AHEAD: usize = 1;

impl Runner {
    /// Performs the events before `limit` of hosts: nodes from the place `first` to `count`.
    pub(super) fn work_at_hosts<E: Protocol>(
        &mut self,
        hosts: &mut Hosts<E>,
        core: &mut Core,
        (first, count): (usize, usize),
        limit: Time,
    ) {
        for index in first..count.min(first + NEAR_AHEAD) {
            hosts.prefetch_connections(self.nodes[index] - core.routes.ports());
        }
        for index in first..count {
            self.prefetch_hosts(hosts, core, index, count);
            let node = self.nodes[index];
            if self.wheel.is_due(node) {
                self.prefetch_connections(hosts, core, index, count);
                self.run_host(hosts, core, node, limit);
            }
        }
    }

    #[inline(always)]
    fn prefetch_hosts<E: Protocol>(
        &self,
        hosts: &Hosts<E>,
        core: &Core,
        index: usize,
        count: usize,
    ) {
        if index + FAR_AHEAD < count {
            let far = self.nodes[index + FAR_AHEAD];
            core.prefetch_host(far - core.routes.ports());
            self.wheel.prefetch_inbox(far);
        }
        if index + NEAR_AHEAD < count {
            let near = self.nodes[index + NEAR_AHEAD];
            hosts.prefetch_connections(near - core.routes.ports());
            self.prefetch_arrivals(core, near);
        }
    }

    /// Prefetches single connections of hosts with more connections than [`Hosts::prefetch_connections`] covers.
    #[inline(always)]
    fn prefetch_connections<E: Protocol>(
        &self,
        hosts: &Hosts<E>,
        core: &Core,
        index: usize,
        count: usize,
    ) {
        let ports = core.routes.ports();
        let crowded = |ahead| {
            let node = (index + ahead < count).then(|| self.nodes[index + ahead])?;
            hosts.has_many_connections(node - ports).then_some(node)
        };
        if let Some(node) = crowded(FLOW_AHEAD)
            && let Some(handle) = self.wheel.next_packet(node)
        {
            hosts.prefetch_flow(core, node - ports, handle);
        }
        if let Some(node) = crowded(CONNECTION_AHEAD)
            && let Some(handle) = self.wheel.next_packet(node)
        {
            hosts.prefetch_connection(core, node - ports, handle);
        }
    }

    #[inline]
    pub(super) fn run_host<E: Protocol>(
        &mut self,
        hosts: &mut Hosts<E>,
        core: &mut Core,
        node: u32,
        limit: Time,
    ) {
        let host = node - core.routes.ports();
        self.wheel.open(node);
        let mut arrival = self.wheel.first_arrival(node);
        let (mut transmission, mut other) = hosts.host_next_event(core, host);
        // At one instant the transmitter acts first, then arrivals, then all else.
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
                let (handle, _) = self.wheel.take_first(&core.arena, node);
                hosts.host_receive(core, host, arrival, handle);
                arrival = self.wheel.first_arrival(node);
            } else {
                if other >= limit {
                    break;
                }
                hosts.host_otherwise(core, host, other);
            }
            (transmission, other) = hosts.host_next_event(core, host);
        }
        // Notices to other hosts must be sent in time.
        let busy_until = if core.has_notices { Time::ZERO } else { hosts.host_busy_until(host) };
        self.wheel.leave(node, busy_until, transmission.min(other));
    }
}
