//! How the windows engine works through a window at switch ports. Compiled once for each kind of port.

use trimline_packet::{Time, TimeDelta};
use trimline_switch::OutputPort;

use super::visits::{Entry, FAR_AHEAD, NEAR_AHEAD, Visits, in_order};
use crate::network::{Core, Switches};

impl Visits {
    /// Works through everything that ports do before `limit`, of the first `count` units. Returns the place of the first
    /// host among them.
    pub(super) fn work_at_ports<P: OutputPort>(
        &mut self,
        switches: &mut Switches<P>,
        core: &mut Core,
        count: usize,
        limit: Time,
    ) -> usize {
        if self.returns.is_counted() {
            self.visit_crowded(switches, core, limit, count);
        }
        if self.returns.are_coupled() {
            return self.visit_switches(switches, core, limit, count);
        }
        let ports = core.routes.ports();
        for index in 0..count {
            let unit = self.units[index];
            if unit >= ports {
                return index;
            }
            self.look_ahead_at_ports(switches, core, index);
            if !self.wheel.is_due(unit) {
                // What it was marked for was done in an earlier visit.
                continue;
            }
            if self.returns.is_calm() {
                self.visit_port(switches, core, unit, limit);
            } else {
                self.visit_risky(switches, core, unit, limit);
            }
        }
        count
    }

    /// Most of a visit's time would be waiting for memory: prefetches what the next visits need, in two steps, because the
    /// second needs what the first brings. Past the last unit this prefetches units of an earlier window: harmless, and
    /// it saves a branch. Hosts ask for their connections themselves.
    #[inline(always)]
    fn look_ahead_at_ports<P: OutputPort>(
        &self,
        switches: &Switches<P>,
        core: &Core,
        index: usize,
    ) {
        let far = self.units[index + FAR_AHEAD];
        self.prefetch_unit(switches, core, far);
        let near = self.units[index + NEAR_AHEAD];
        if near < core.routes.ports() {
            switches.prefetch_packets(&core.arena, near);
        }
        self.prefetch_arrivals(core, near);
    }

    /// Prefetches the lines of a unit that will soon be visited, and its inbox.
    #[inline(always)]
    fn prefetch_unit<P: OutputPort>(&self, switches: &Switches<P>, core: &Core, unit: u32) {
        match unit.checked_sub(core.routes.ports()) {
            None => switches.prefetch(unit),
            Some(host) => core.prefetch_host(host),
        }
        self.wheel.prefetch_inbox(unit);
    }

    /// Finds the switches that may have to return something in this window, and visits their ports together. All that
    /// arrives in it was sent before it.
    #[inline(never)]
    fn visit_crowded<P: OutputPort>(
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
            self.visit_switch(switches, core, switch, limit);
            place += 1;
        }
    }

    /// Counts what has arrived at each port that is to be visited.
    fn count_arrivals<P: OutputPort>(&mut self, switches: &Switches<P>, core: &Core, count: usize) {
        for index in 0..count {
            let far = self.units[index + FAR_AHEAD];
            self.prefetch_unit(switches, core, far);
            let unit = self.units[index];
            if unit >= core.routes.ports() {
                // Ports come before hosts.
                break;
            }
            if self.wheel.is_due(unit) {
                self.returns.count(switches, core, &self.wheel, unit);
            }
        }
    }

    /// As [`Visits::visit_port`], which is inlined where it is called most.
    #[cold]
    #[inline(never)]
    pub(super) fn visit_port_rarely<P: OutputPort>(
        &mut self,
        switches: &mut Switches<P>,
        core: &mut Core,
        port: u32,
        limit: Time,
    ) {
        self.visit_port(switches, core, port, limit);
    }

    /// Works through what a port does before `limit`.
    #[inline(always)]
    fn visit_port<P: OutputPort>(
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

    /// Arranges a port's next visit.
    #[inline(always)]
    fn leave_port<P: OutputPort>(&mut self, switches: &Switches<P>, core: &Core, port: u32) {
        let is_eager = self.returns.note(switches, core, &self.wheel, port);
        let (busy_until, next) = switches.port_outlook(port);
        let busy_until = if is_eager { Time::ZERO } else { busy_until };
        self.wheel.leave(port, busy_until, next);
    }

    /// Visits a port while some switch may have to return headers.
    #[cold]
    fn visit_risky<P: OutputPort>(
        &mut self,
        switches: &mut Switches<P>,
        core: &mut Core,
        port: u32,
        limit: Time,
    ) {
        let switch = core.routes.switch_of(port);
        if self.returns.together(switch, self.wheel.current) {
            self.visit_switch(switches, core, switch, limit);
        } else {
            self.visit_port_rarely(switches, core, port, limit);
        }
    }

    /// Visits all ports of a switch together, arrivals in order of time across them.
    fn visit_switch<P: OutputPort>(
        &mut self,
        switches: &mut Switches<P>,
        core: &mut Core,
        switch: u32,
        limit: Time,
    ) {
        let ports = core.routes.ports_of(switch);
        self.entries.clear();
        for unit in ports.clone() {
            self.take_arrivals(core, unit, limit);
        }
        in_order(&mut self.entries, core.ties());
        for index in 0..self.entries.len() {
            let entry = self.entries[index];
            let just_after = entry.at + TimeDelta::from_ps(1);
            switches.port_advance(core, &mut self.wheel, entry.unit, just_after);
            switches.port_arrive(core, &mut self.wheel, entry.unit, entry.at, entry.handle);
        }
        for port in ports {
            switches.port_advance(core, &mut self.wheel, port, limit);
            self.leave_port(switches, core, port);
        }
        self.wheel.touched.clear();
    }

    /// Works through what happens at coupled switches. Gives the place of the first unit that is not of one.
    #[inline(never)]
    fn visit_switches<P: OutputPort>(
        &mut self,
        switches: &mut Switches<P>,
        core: &mut Core,
        limit: Time,
        count: usize,
    ) -> usize {
        let mut first = 0;
        while first < count && self.units[first] < core.routes.ports() {
            let (end, packets) = self.count_switch(core, first, count);
            let bytes = self.largest_packet.map(|largest| largest * packets);
            let is_apart =
                bytes.is_some_and(|bytes| switches.is_apart(core, self.units[first], bytes));
            if is_apart && self.all_keep(switches, core, first, end) {
                for index in first..end {
                    self.look_ahead_at_ports(switches, core, index);
                    self.visit_apart(switches, core, self.units[index], limit);
                }
            } else {
                self.visit_coupled(switches, core, first, end, limit);
            }
            first = end;
        }
        first
    }

    /// Whether no port of those to be visited, from the place `first` to `end`, detours a packet or returns a header in
    /// this window.
    #[inline(always)]
    fn all_keep<P: OutputPort>(
        &self,
        switches: &Switches<P>,
        core: &Core,
        first: usize,
        end: usize,
    ) -> bool {
        let keeps = |unit| switches.keeps_all(core, unit, self.wheel.packets(unit));
        !core.detours_packets() || (first..end).all(|index| keeps(self.units[index]))
    }

    /// The ports of one switch among the units to be visited, from the place `first` on: the place behind them, and the
    /// packets in their inboxes. All that arrives in this window is there.
    #[inline(always)]
    fn count_switch(&self, core: &Core, first: usize, count: usize) -> (usize, u64) {
        let ports = core.routes.ports_of(core.routes.switch_of(self.units[first]));
        let (mut end, mut packets) = (first, 0);
        while end < count && self.units[end] < ports.end {
            packets += self.wheel.packets(self.units[end]);
            end += 1;
        }
        (end, packets)
    }

    /// Works through what a port of a coupled switch does before `limit`, while it does not depend on the others.
    #[inline(always)]
    fn visit_apart<P: OutputPort>(
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

    /// Works through what happens at a coupled switch before `limit`: its ports are the units to be visited from the
    /// place `first` to `end`.
    #[inline(never)]
    fn visit_coupled<P: OutputPort>(
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
            // What the last arrival made possible happens at once.
            if let Some((now, port)) = possible.take().or_else(|| self.agenda.take(until)) {
                let next = switches.coupled_act(core, &mut self.wheel, port, now);
                self.agenda.note(next, port, limit);
            } else if let Some(Entry { at, from, unit, handle }) = entry {
                index += 1;
                if switches.coupled_arrive(core, &mut self.wheel, unit, at, (handle, from.link())) {
                    possible = Some((at, unit));
                    continue;
                }
            } else {
                break;
            }
            self.note_touched(switches, core, limit);
        }
        for index in first..end {
            let port = self.units[index];
            self.wheel.leave(port, Time::ZERO, switches.coupled_next(core, port));
        }
        for port in self.touched.drain(..) {
            self.wheel.leave(port, Time::ZERO, switches.coupled_next(core, port));
        }
    }

    /// Takes what arrives at the ports of a coupled switch before `limit`, and notes what they will do by themselves.
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
            self.look_ahead_at_ports(switches, core, index);
            let unit = self.units[index];
            self.agenda.note(switches.coupled_next(core, unit), unit, limit);
            self.take_arrivals(core, unit, limit);
        }
    }

    /// Takes what arrives at a unit before `limit` to the entries.
    #[inline(always)]
    fn take_arrivals(&mut self, core: &Core, unit: u32, limit: Time) {
        self.wheel.open(unit);
        loop {
            let at = self.wheel.first_arrival(unit);
            if at >= limit {
                break;
            }
            let (handle, from) = self.wheel.take_first(&core.arena, unit);
            self.entries.push(Entry { at, from, unit, handle });
        }
    }

    /// Notes when ports act next that others have changed, and that they are to be left, too.
    #[inline(always)]
    fn note_touched<P: OutputPort>(&mut self, switches: &Switches<P>, core: &Core, limit: Time) {
        while let Some(port) = self.wheel.touched.pop() {
            self.agenda.note(switches.coupled_next(core, port), port, limit);
            self.touched.push(port);
        }
    }
}
