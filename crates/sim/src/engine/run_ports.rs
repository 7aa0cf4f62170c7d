//! Runs switch ports through a lookahead window. Compiled once for each kind of port.

use trimline_packet::{Time, TimeDelta};
use trimline_switch::OutputPort;

use super::runner::{Entry, FAR_AHEAD, NEAR_AHEAD, Runner, in_order};
use crate::network::{Core, Switches};

impl Runner {
    /// Performs the events before `limit` of ports among the first `count` nodes. Returns the first host's place.
    pub(super) fn work_at_ports<P: OutputPort>(
        &mut self,
        switches: &mut Switches<P>,
        core: &mut Core,
        count: usize,
        limit: Time,
    ) -> usize {
        if self.returns.is_counted() {
            self.run_crowded(switches, core, limit, count);
        }
        if self.returns.are_coupled() {
            return self.run_switches(switches, core, limit, count);
        }
        let ports = core.routes.ports();
        for index in 0..count {
            let node = self.nodes[index];
            if node >= ports {
                return index;
            }
            self.prefetch_ports(switches, core, index);
            if !self.wheel.is_due(node) {
                // An earlier run did what it was marked for.
                continue;
            }
            if self.returns.is_calm() {
                self.run_port(switches, core, node, limit);
            } else {
                self.run_risky(switches, core, node, limit);
            }
        }
        count
    }

    /// Prefetches data of the next nodes, because most of a run would be waiting for memory. The second step needs data
    /// of the first. Past the last node come nodes of an earlier window, which is harmless and saves a branch. Hosts
    /// prefetch their own connections.
    #[inline(always)]
    fn prefetch_ports<P: OutputPort>(&self, switches: &Switches<P>, core: &Core, index: usize) {
        let far = self.nodes[index + FAR_AHEAD];
        self.prefetch_node(switches, core, far);
        let near = self.nodes[index + NEAR_AHEAD];
        if near < core.routes.ports() {
            switches.prefetch_packets(&core.arena, near);
        }
        self.prefetch_arrivals(core, near);
    }

    #[inline(always)]
    fn prefetch_node<P: OutputPort>(&self, switches: &Switches<P>, core: &Core, node: u32) {
        match node.checked_sub(core.routes.ports()) {
            None => switches.prefetch(node),
            Some(host) => core.prefetch_host(host),
        }
        self.wheel.prefetch_inbox(node);
    }

    /// Finds the switches that may have to return a packet in this window, and runs their ports together. All arrivals
    /// were sent before the window.
    #[inline(never)]
    fn run_crowded<P: OutputPort>(
        &mut self,
        switches: &mut Switches<P>,
        core: &mut Core,
        limit: Time,
        count: usize,
    ) {
        self.returns.forget_counts();
        if self.returns.none_is_near() {
            return;
        }
        self.count_arrivals(switches, core, count);
        let mut place = 0;
        while let Some(switch) = self.returns.crowded(place) {
            self.run_switch(switches, core, switch, limit);
            place += 1;
        }
    }

    fn count_arrivals<P: OutputPort>(&mut self, switches: &Switches<P>, core: &Core, count: usize) {
        for index in 0..count {
            let far = self.nodes[index + FAR_AHEAD];
            self.prefetch_node(switches, core, far);
            let node = self.nodes[index];
            if node >= core.routes.ports() {
                // Ports come before hosts.
                break;
            }
            if self.wheel.is_due(node) {
                self.returns.count(switches, core, &self.wheel, node);
            }
        }
    }

    /// Performs a port's events before `limit`: [`Runner::run_port`], not inlined.
    #[cold]
    #[inline(never)]
    pub(super) fn run_port_rarely<P: OutputPort>(
        &mut self,
        switches: &mut Switches<P>,
        core: &mut Core,
        port: u32,
        limit: Time,
    ) {
        self.run_port(switches, core, port, limit);
    }

    #[inline(always)]
    fn run_port<P: OutputPort>(
        &mut self,
        switches: &mut Switches<P>,
        core: &mut Core,
        port: u32,
        limit: Time,
    ) {
        self.wheel.open(port);
        let mut departure = switches.port_next(port);
        let mut arrival = self.wheel.first_arrival(port);
        loop {
            // At one instant the transmitter acts first.
            while arrival < departure.min(limit) {
                let (handle, _) = self.wheel.take_first(&core.arena, port);
                switches.port_arrive(core, &mut self.wheel, port, arrival, handle);
                departure = switches.port_next(port);
                arrival = self.wheel.first_arrival(port);
            }
            if departure >= limit {
                break;
            }
            switches.port_depart(core, &mut self.wheel, port, departure);
            departure = switches.port_next(port);
        }
        self.leave_port(switches, core, port);
    }

    #[inline(always)]
    fn leave_port<P: OutputPort>(&mut self, switches: &Switches<P>, core: &Core, port: u32) {
        let is_eager = self.returns.record(switches, core, &self.wheel, port);
        let (busy_until, next) = switches.port_next_event(port);
        let busy_until = if is_eager { Time::ZERO } else { busy_until };
        self.wheel.leave(port, busy_until, next);
    }

    /// Runs a port while some switch may have to return headers.
    #[cold]
    fn run_risky<P: OutputPort>(
        &mut self,
        switches: &mut Switches<P>,
        core: &mut Core,
        port: u32,
        limit: Time,
    ) {
        let switch = core.routes.switch_of(port);
        if self.returns.together(switch, self.wheel.current) {
            self.run_switch(switches, core, switch, limit);
        } else {
            self.run_port_rarely(switches, core, port, limit);
        }
    }

    /// Runs all ports of a switch together, with arrivals in order of time across them.
    fn run_switch<P: OutputPort>(
        &mut self,
        switches: &mut Switches<P>,
        core: &mut Core,
        switch: u32,
        limit: Time,
    ) {
        let ports = core.routes.ports_of(switch);
        self.entries.clear();
        for node in ports.clone() {
            self.collect_arrivals(core, node, limit);
        }
        in_order(&mut self.entries, core.ties());
        for index in 0..self.entries.len() {
            let entry = self.entries[index];
            let just_after = entry.at + TimeDelta::from_ps(1);
            switches.port_advance(core, &mut self.wheel, entry.node, just_after);
            switches.port_arrive(core, &mut self.wheel, entry.node, entry.at, entry.handle);
        }
        for port in ports {
            switches.port_advance(core, &mut self.wheel, port, limit);
            self.leave_port(switches, core, port);
        }
        self.wheel.touched.clear();
    }

    /// Runs the coupled switches. Returns the place of the first host.
    #[inline(never)]
    fn run_switches<P: OutputPort>(
        &mut self,
        switches: &mut Switches<P>,
        core: &mut Core,
        limit: Time,
        count: usize,
    ) -> usize {
        let mut first = 0;
        while first < count && self.nodes[first] < core.routes.ports() {
            let (end, packets) = self.count_switch(core, first, count);
            let bytes = self.largest_packet.map(|largest| largest * packets);
            let is_apart =
                bytes.is_some_and(|bytes| switches.is_apart(core, self.nodes[first], bytes));
            if is_apart && self.all_keep(switches, core, first, end) {
                for index in first..end {
                    self.prefetch_ports(switches, core, index);
                    self.run_apart(switches, core, self.nodes[index], limit);
                }
            } else {
                self.run_coupled(switches, core, first, end, limit);
            }
            first = end;
        }
        first
    }

    /// Returns whether the ports from place `first` to `end` detour no packet and return no header in this window.
    #[inline(always)]
    fn all_keep<P: OutputPort>(
        &self,
        switches: &Switches<P>,
        core: &Core,
        first: usize,
        end: usize,
    ) -> bool {
        let keeps = |node| switches.keeps_all(core, node, self.wheel.packets(node));
        !core.detours_packets() || (first..end).all(|index| keeps(self.nodes[index]))
    }

    /// Counts one switch's ports from the place `first` on. Returns the place behind them, and the packets in their
    /// inboxes: all arrivals of this window.
    #[inline(always)]
    fn count_switch(&self, core: &Core, first: usize, count: usize) -> (usize, u64) {
        let ports = core.routes.ports_of(core.routes.switch_of(self.nodes[first]));
        let (mut end, mut packets) = (first, 0);
        while end < count && self.nodes[end] < ports.end {
            packets += self.wheel.packets(self.nodes[end]);
            end += 1;
        }
        (end, packets)
    }

    /// Performs the events before `limit` of a coupled switch's port, while it does not depend on others.
    #[inline(always)]
    fn run_apart<P: OutputPort>(
        &mut self,
        switches: &mut Switches<P>,
        core: &mut Core,
        port: u32,
        limit: Time,
    ) {
        self.wheel.open(port);
        let mut next = switches.coupled_next(core, port);
        let mut arrival = self.wheel.first_arrival(port);
        loop {
            // At one instant the transmitter acts first.
            while arrival < next.min(limit) {
                let (handle, from) = self.wheel.take_first(&core.arena, port);
                let packet = (handle, from.link());
                switches.coupled_arrive(core, &mut self.wheel, port, arrival, packet);
                debug_assert!(self.wheel.touched.is_empty(), "the switch is calm");
                next = switches.coupled_next(core, port);
                arrival = self.wheel.first_arrival(port);
            }
            if next >= limit {
                break;
            }
            next = switches.coupled_act(core, &mut self.wheel, port, next);
        }
        self.wheel.leave(port, Time::ZERO, next);
    }

    /// Performs the events before `limit` of a coupled switch, with the ports from place `first` to `end`.
    #[inline(never)]
    fn run_coupled<P: OutputPort>(
        &mut self,
        switches: &mut Switches<P>,
        core: &mut Core,
        first: usize,
        end: usize,
        limit: Time,
    ) {
        self.gather(switches, core, first, end, limit);
        if self.entries.len() > 1 {
            in_order(&mut self.entries, core.ties());
        }
        let (mut index, mut possible) = (0, None);
        loop {
            let entry = self.entries.get(index).copied();
            // At one instant the transmitters act first.
            let until = entry.map_or(limit, |entry| entry.at + TimeDelta::from_ps(1));
            // A port acts at once on an arrival that lets it.
            if let Some((now, port)) = possible.take().or_else(|| self.event_list.pop(until)) {
                let next = switches.coupled_act(core, &mut self.wheel, port, now);
                self.event_list.push(next, port, limit);
            } else if let Some(Entry { at, from, node, handle }) = entry {
                index += 1;
                if switches.coupled_arrive(core, &mut self.wheel, node, at, (handle, from.link())) {
                    possible = Some((at, node));
                    continue;
                }
            } else {
                break;
            }
            self.record_touched(switches, core, limit);
        }
        for index in first..end {
            let port = self.nodes[index];
            self.wheel.leave(port, Time::ZERO, switches.coupled_next(core, port));
        }
        for port in self.touched.drain(..) {
            self.wheel.leave(port, Time::ZERO, switches.coupled_next(core, port));
        }
    }

    /// Takes a coupled switch's arrivals before `limit`, and fills the event list.
    #[inline(always)]
    fn gather<P: OutputPort>(
        &mut self,
        switches: &Switches<P>,
        core: &Core,
        first: usize,
        end: usize,
        limit: Time,
    ) {
        self.entries.clear();
        for index in first..end {
            self.prefetch_ports(switches, core, index);
            let node = self.nodes[index];
            self.event_list.push(switches.coupled_next(core, node), node, limit);
            self.collect_arrivals(core, node, limit);
        }
    }

    /// Moves a node's arrivals before `limit` into the entries.
    #[inline(always)]
    fn collect_arrivals(&mut self, core: &Core, node: u32, limit: Time) {
        self.wheel.open(node);
        loop {
            let at = self.wheel.first_arrival(node);
            if at >= limit {
                break;
            }
            let (handle, from) = self.wheel.take_first(&core.arena, node);
            self.entries.push(Entry { at, from, node, handle });
        }
    }

    /// Records the next events of ports that others have changed, and lists these ports for the end of the run.
    #[inline(always)]
    fn record_touched<P: OutputPort>(&mut self, switches: &Switches<P>, core: &Core, limit: Time) {
        while let Some(port) = self.wheel.touched.pop() {
            self.event_list.push(switches.coupled_next(core, port), port, limit);
            self.touched.push(port);
        }
    }
}
