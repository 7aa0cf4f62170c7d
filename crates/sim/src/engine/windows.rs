//! Lookahead windows: the fast engine.
//!
//! Units act on each other only through links. Time therefore advances in windows no longer than the
//! shortest transmission plus delay: what a unit sends inside a window arrives in a later one, and
//! every active unit can work through a whole window alone, in any order of units. There is no global
//! event queue.
//!
//! - A window is a power of two of picoseconds, so that the window of a time is a shift.
//! - A wheel of bitmaps, one a window, says which units have anything to do in it. A summary bitmap lets
//!   an idle fabric be skipped.
//! - Packets on a link wait in the inbox of the unit where they will arrive: a list in order of time,
//!   of a table of the packets on links (`flights`).
//! - What lies beyond the wheel (retransmission timers, flow starts, slow links) waits in a heap.
//!
//! # Units are visited when they may act
//! A unit whose transmitter is busy until some time cannot act on anything else before it, whatever
//! arrives. So it is not visited for its arrivals, but in the window in which its transmitter becomes
//! free, and then works through all that has arrived since, in order of time. At a busy port that is one
//! visit for each packet of data, headers included. Its inbox remembers the window of the next visit; a
//! packet that could make the unit act earlier brings it forward.
//!
//! Call `settle` before reading results or changing links: it works through what waits for such a
//! visit.
//!
//! # Returned headers
//! One thing crosses units without a link: a header that a full header queue returns enters another
//! port of its switch at the same instant. While a header queue of a switch could overflow in one visit,
//! the ports of that switch are therefore visited together, in every window in which something arrives
//! there, arrivals in order of time across all of them. The bound is arithmetic: what can arrive at a
//! switch in one window, and the [`MOST_PENDING`](super::inbox::MOST_PENDING) packets that may wait for a visit. Other engines of
//! this kind would have to give the returned header a delay; this one keeps the instant.
//!
//! # Coupled switches
//! Where the ports of a switch share memory, what one may keep depends on what the others hold at that instant. Such
//! a switch is visited in every window in which something happens at it, in one pass over its arrivals and what its
//! ports do, in the order that [`crate::network`] gives. Only the ports with something to do in the window are looked
//! at: each says at the end of a visit when it acts next.

use trimline_packet::{Handle, Time, TimeDelta};
use trimline_switch::OutputPort;

use super::Engine;
use super::agenda::Agenda;
use super::exchange::{Mail, Outgoing};
use super::returns::Returns;
use super::wheel::Wheel;
use crate::network::{self, Network};
use crate::protocol::Protocol;
use crate::table::Table;
use crate::workload::Notice;

/// Visits ahead at which a unit's own lines and its inbox are asked for, and at which its packets are.
const FAR_AHEAD: usize = 6;
const NEAR_AHEAD: usize = 3;
/// Of the packet that arrives next at a host: its flow, and then its connection.
const FLOW_AHEAD: usize = 2;
const CONNECTION_AHEAD: usize = 1;

/// An arrival at one of the ports that are visited together.
#[derive(Clone, Copy)]
struct Entry {
    at: Time,
    link: u32,
    unit: u32,
    handle: Handle,
}

/// Sorts arrivals. No two are alike: a link brings one packet at a time.
fn in_order(entries: &mut [Entry], seed: u64) {
    let key = |entry: &Entry| (entry.at, entry.link);
    entries.sort_unstable_by(|a, b| network::order(seed, key(a), key(b)));
}

/// The engine of lookahead windows.
pub(crate) struct Windows {
    wheel: Wheel,
    now: Time,
    /// The units to be visited in this window.
    units: Table<u32>,
    /// The arrivals at ports that are visited together.
    entries: Vec<Entry>,
    /// What the ports of a coupled switch will do in this window.
    agenda: Agenda,
    /// The ports of a coupled switch that others of it have changed in this visit.
    touched: Vec<u32>,
    returns: Returns,
    /// Ports of coupled switches may be visited alone while there is room for what arrives: packets of so many bytes.
    largest_packet: Option<u64>,
    /// The last window in which something happened or came into the wheel.
    last_active: u64,
}

impl Windows {
    /// An engine for a network that has not run yet; `largest_packet` is in bytes on the wire.
    pub(crate) fn new<E: Protocol, P: OutputPort>(
        network: &Network<E, P>,
        largest_packet: u16,
    ) -> Windows {
        let wheel = Windows::wheel(network, largest_packet);
        Windows::with(network, wheel, largest_packet)
    }

    /// The engines of several threads, each for the units of its own.
    ///
    /// # Safety
    /// As [`Network::view`]: while several work, each is given a view of its own.
    pub(super) unsafe fn divided<E: Protocol, P: OutputPort>(
        network: &Network<E, P>,
        largest_packet: u16,
        outgoing: Vec<Outgoing>,
    ) -> Vec<Windows> {
        let whole = Windows::wheel(network, largest_packet);
        outgoing
            .into_iter()
            // SAFETY: promised by the caller.
            .map(|outgoing| Windows::with(network, unsafe { whole.view(outgoing) }, largest_packet))
            .collect()
    }

    fn wheel<E: Protocol, P: OutputPort>(network: &Network<E, P>, largest_packet: u16) -> Wheel {
        let lookahead = network.lookahead().as_ps();
        assert!(lookahead > 0, "a packet takes time to send");
        let shift = lookahead.ilog2();
        let horizon = (network.horizon(largest_packet).as_ps() >> shift) + 2;
        Wheel::new(network.routes.units() as usize, shift, horizon, network.seed())
    }

    /// An engine with a wheel in which nothing is planned yet.
    fn with<E: Protocol, P: OutputPort>(
        network: &Network<E, P>,
        wheel: Wheel,
        largest_packet: u16,
    ) -> Windows {
        let units = network.routes.units();
        // Padding, so that prefetching past the end is harmless: a unit of this thread, not of another.
        let mine = (0..units).find(|&unit| wheel.is_mine(unit)).expect("every thread has a part");
        let mut engine = Windows {
            returns: Returns::new(network, wheel.shift(), largest_packet),
            wheel,
            now: Time::ZERO,
            units: vec![mine; units as usize + FAR_AHEAD + 1].into(),
            entries: Vec::new(),
            agenda: Agenda::default(),
            touched: Vec::new(),
            largest_packet: network.may_be_apart().then_some(largest_packet.into()),
            last_active: 0,
        };
        for host in 0..network.routes.hosts() {
            let unit = network.routes.ports() + host;
            if engine.wheel.is_mine(unit) {
                let next = network.host_next(host).as_ps() >> engine.wheel.shift();
                engine.wheel.plan(unit, next);
            }
        }
        engine.wheel.keep_unfinished();
        engine
    }

    /// Until when everything was done.
    pub(super) fn now(&self) -> Time {
        self.now
    }

    /// The number of the window that was worked on last.
    pub(super) fn window(&self) -> u64 {
        self.wheel.current
    }

    /// Whole windows in a span of time.
    pub(super) fn windows_in(&self, span: TimeDelta) -> u64 {
        span.as_ps() >> self.wheel.shift()
    }

    /// A unit is visited at `at` or in the window of it, if it is of this thread.
    pub(super) fn visit_at(&mut self, unit: u32, at: Time) {
        if self.wheel.is_mine(unit) {
            self.wheel.plan(unit, (at.as_ps() >> self.wheel.shift()).max(self.wheel.current));
            self.wheel.keep_unfinished();
            self.last_active = self.wheel.current;
        }
    }

    /// Whether this thread drives a unit.
    pub(super) fn is_mine(&self, unit: u32) -> bool {
        self.wheel.is_mine(unit)
    }

    /// What goes to the units of other threads.
    pub(super) fn outgoing(&mut self) -> Option<&mut Outgoing> {
        self.wheel.outgoing()
    }

    /// Takes packets that arrive from units of another thread, in the current window or behind it.
    pub(super) fn take<E: Protocol, P: OutputPort>(
        &mut self,
        network: &mut Network<E, P>,
        mail: &Mail,
    ) {
        let letters = &mail.letters;
        if !mail.is_empty() {
            self.last_active = self.wheel.current;
        }
        for &notice in &mail.notices {
            self.expect(network, notice);
        }
        for (index, letter) in letters.iter().enumerate() {
            if let Some(later) = letters.get(index + FAR_AHEAD) {
                self.wheel.prefetch_inbox(later.unit);
            }
            let handle = network.arena.insert(letter.packet);
            if network.deflects() {
                network.arena.set_steps(handle, letter.steps);
            }
            self.wheel.accept(letter.unit, letter.at, handle, letter.link);
        }
        self.wheel.keep_unfinished();
    }

    /// Begins the next window, or goes on with the current one, up to `limit`. Gives its end.
    #[inline]
    fn begin(&mut self, limit: Time) -> Time {
        let (end, is_any) = self.wheel.begin(self.now);
        if is_any {
            self.last_active = self.wheel.current;
        }
        end.min(limit)
    }

    /// The first half of a window of one thread of several: the units that no other thread sends to. Gives the end of
    /// the window, `limit` at most.
    pub(super) fn begin_window<E: Protocol, P: OutputPort>(
        &mut self,
        network: &mut Network<E, P>,
        limit: Time,
    ) -> Time {
        let end = self.begin(limit);
        let count = self.wheel.collect_inner(&mut self.units);
        self.work(network, end, count);
        end
    }

    /// The second half of a window that ends at `end`: the units that other threads send to, after what these sent
    /// before the window was taken.
    pub(super) fn end_window<E: Protocol, P: OutputPort>(
        &mut self,
        network: &mut Network<E, P>,
        end: Time,
    ) {
        let count = self.wheel.collect_border(&mut self.units);
        self.work(network, end, count);
        self.now = end;
    }

    /// Until when there is nothing to do: zero if there may be something soon.
    #[inline]
    pub(super) fn idle_until(&self) -> Time {
        // The wheel was empty for a whole turn: nothing happens before the first entry of the heap.
        let is_idle = self.wheel.current - self.last_active > self.wheel.wheel_mask;
        if is_idle { self.wheel.first_far() } else { Time::ZERO }
    }

    /// Nothing happens before this.
    #[inline]
    pub(super) fn skip_to(&mut self, idle_until: Time) {
        self.now = self.now.max(idle_until);
    }

    /// Works through everything that happens before `limit` in the current window at the units that were collected.
    fn work<E: Protocol, P: OutputPort>(
        &mut self,
        network: &mut Network<E, P>,
        limit: Time,
        count: usize,
    ) {
        let ports = network.routes.ports();
        if count > 0 {
            self.last_active = self.wheel.current;
        }
        if self.returns.is_counted() {
            self.visit_crowded(network, limit, count);
        }
        let mut first = 0;
        if self.returns.are_coupled() {
            first = self.visit_switches(network, limit, count);
        }
        for index in first..count {
            self.look_ahead(network, index);
            let unit = self.units[index];
            if !self.wheel.is_due(unit) {
                // What it was marked for was done in an earlier visit.
                continue;
            }
            if unit >= ports {
                self.look_ahead_at_hosts(network, index, count);
                self.visit_host(network, unit, limit);
            } else if self.returns.is_calm() {
                self.visit_port(network, unit, limit);
            } else {
                self.visit_risky(network, unit, limit);
            }
        }
        if network.has_notices {
            self.tell(network);
        }
        self.wheel.deliver_letters();
        self.wheel.keep_unfinished();
    }

    /// Most of a visit's time would be waiting for memory: asks for what the next visits need, in two steps, because the
    /// second needs what the first brings. Past the last unit this prefetches units of an earlier window: harmless, and
    /// it saves a branch.
    #[inline(always)]
    fn look_ahead<E: Protocol, P: OutputPort>(&self, network: &Network<E, P>, index: usize) {
        let far = self.units[index + FAR_AHEAD];
        network.prefetch_unit(far);
        self.wheel.prefetch_inbox(far);
        let near = self.units[index + NEAR_AHEAD];
        network.prefetch_second(near);
        for first in self.wheel.firsts(near) {
            network.arena.prefetch(first);
        }
    }

    /// The same for connections, of hosts that have more than are asked for with the host: behind a host come hosts.
    #[inline(always)]
    fn look_ahead_at_hosts<E: Protocol, P: OutputPort>(
        &self,
        network: &Network<E, P>,
        index: usize,
        count: usize,
    ) {
        let ports = network.routes.ports();
        let crowded = |ahead| {
            let unit = (index + ahead < count).then(|| self.units[index + ahead])?;
            network.has_many_connections(unit - ports).then_some(unit)
        };
        if let Some(unit) = crowded(FLOW_AHEAD)
            && let Some(handle) = self.wheel.next_packet(unit)
        {
            network.prefetch_flow(unit - ports, handle);
        }
        if let Some(unit) = crowded(CONNECTION_AHEAD)
            && let Some(handle) = self.wheel.next_packet(unit)
        {
            network.prefetch_connection(unit - ports, handle);
        }
    }

    /// Finds the switches that may have to return something in this window, and visits their ports together. All that
    /// arrives in it was sent before it.
    #[inline(never)]
    fn visit_crowded<E: Protocol, P: OutputPort>(
        &mut self,
        network: &mut Network<E, P>,
        limit: Time,
        count: usize,
    ) {
        self.returns.forget_counts();
        if self.returns.none_is_near() {
            return;
        }
        self.count_arrivals(network, count);
        let mut place = 0;
        while let Some(switch) = self.returns.crowded(place) {
            self.visit_switch(network, switch, limit);
            place += 1;
        }
    }

    /// Counts what has arrived at each port that is to be visited.
    fn count_arrivals<E: Protocol, P: OutputPort>(
        &mut self,
        network: &Network<E, P>,
        count: usize,
    ) {
        for index in 0..count {
            let far = self.units[index + FAR_AHEAD];
            network.prefetch_unit(far);
            self.wheel.prefetch_inbox(far);
            let unit = self.units[index];
            if unit >= network.routes.ports() {
                // Ports come before hosts.
                break;
            }
            if self.wheel.is_due(unit) {
                self.returns.count(network, &self.wheel, unit);
            }
        }
    }

    /// The same as [`Windows::visit_port`], which stands in line where it is called most.
    #[cold]
    #[inline(never)]
    fn visit_port_rarely<E: Protocol, P: OutputPort>(
        &mut self,
        network: &mut Network<E, P>,
        port: u32,
        limit: Time,
    ) {
        self.visit_port(network, port, limit);
    }

    /// Works through what a port does before `limit`.
    #[inline(always)]
    fn visit_port<E: Protocol, P: OutputPort>(
        &mut self,
        network: &mut Network<E, P>,
        port: u32,
        limit: Time,
    ) {
        self.wheel.open(port);
        let mut departure = network.port_next(port);
        let mut arrival = self.wheel.first_arrival(port);
        loop {
            // At one instant the transmitter acts first.
            while arrival < departure.min(limit) {
                let (handle, _) = self.wheel.take_first(&network.arena, port);
                network.port_arrive(&mut self.wheel, port, arrival, handle);
                departure = network.port_next(port);
                arrival = self.wheel.first_arrival(port);
            }
            if departure >= limit {
                break;
            }
            network.port_depart(&mut self.wheel, port, departure);
            departure = network.port_next(port);
        }
        self.leave_port(network, port);
    }

    /// Arranges a port's next visit.
    #[inline(always)]
    fn leave_port<E: Protocol, P: OutputPort>(&mut self, network: &Network<E, P>, port: u32) {
        let is_eager = self.returns.note(network, &self.wheel, port);
        let (busy_until, next) = network.port_outlook(port);
        let busy_until = if is_eager { Time::ZERO } else { busy_until };
        self.wheel.leave(port, busy_until, next);
    }

    /// Visits a port while some switch may have to return headers.
    #[cold]
    fn visit_risky<E: Protocol, P: OutputPort>(
        &mut self,
        network: &mut Network<E, P>,
        port: u32,
        limit: Time,
    ) {
        let switch = network.routes.switch_of(port);
        if self.returns.together(switch, self.wheel.current) {
            self.visit_switch(network, switch, limit);
        } else {
            self.visit_port_rarely(network, port, limit);
        }
    }

    /// Visits all ports of a switch together, arrivals in order of time across them.
    fn visit_switch<E: Protocol, P: OutputPort>(
        &mut self,
        network: &mut Network<E, P>,
        switch: u32,
        limit: Time,
    ) {
        let ports = network.routes.ports_of(switch);
        self.entries.clear();
        for unit in ports.clone() {
            self.take_arrivals(network, unit, limit);
        }
        in_order(&mut self.entries, network.seed());
        for index in 0..self.entries.len() {
            let entry = self.entries[index];
            let just_after = entry.at + TimeDelta::from_ps(1);
            network.port_advance(&mut self.wheel, entry.unit, just_after);
            network.port_arrive(&mut self.wheel, entry.unit, entry.at, entry.handle);
        }
        for port in ports {
            network.port_advance(&mut self.wheel, port, limit);
            self.leave_port(network, port);
        }
        self.wheel.touched.clear();
    }

    /// Works through what happens at coupled switches. Gives the place of the first unit that is not of one.
    #[inline(never)]
    fn visit_switches<E: Protocol, P: OutputPort>(
        &mut self,
        network: &mut Network<E, P>,
        limit: Time,
        count: usize,
    ) -> usize {
        let mut first = 0;
        while first < count && self.units[first] < network.routes.ports() {
            let (end, packets) = self.count_switch(network, first, count);
            let bytes = self.largest_packet.map(|largest| largest * packets);
            let is_apart = bytes.is_some_and(|bytes| network.is_apart(self.units[first], bytes));
            if is_apart && self.all_keep(network, first, end) {
                for index in first..end {
                    self.look_ahead(network, index);
                    self.visit_apart(network, self.units[index], limit);
                }
            } else {
                self.visit_coupled(network, first, end, limit);
            }
            first = end;
        }
        first
    }

    /// Whether no port of those to be visited, from the place `first` to `end`, deflects a packet or returns a header in
    /// this window.
    #[inline(always)]
    fn all_keep<E: Protocol, P: OutputPort>(
        &self,
        network: &Network<E, P>,
        first: usize,
        end: usize,
    ) -> bool {
        let keeps = |unit| network.keeps_all(unit, self.wheel.packets(unit));
        !network.deflects() || (first..end).all(|index| keeps(self.units[index]))
    }

    /// The ports of one switch among the units to be visited, from the place `first` on: the place behind them, and the
    /// packets in their inboxes. All that arrives in this window is there.
    #[inline(always)]
    fn count_switch<E: Protocol, P: OutputPort>(
        &self,
        network: &Network<E, P>,
        first: usize,
        count: usize,
    ) -> (usize, u64) {
        let ports = network.routes.ports_of(network.routes.switch_of(self.units[first]));
        let (mut end, mut packets) = (first, 0);
        while end < count && self.units[end] < ports.end {
            packets += self.wheel.packets(self.units[end]);
            end += 1;
        }
        (end, packets)
    }

    /// Works through what a port of a coupled switch does before `limit`, while it does not depend on the others.
    #[inline(always)]
    fn visit_apart<E: Protocol, P: OutputPort>(
        &mut self,
        network: &mut Network<E, P>,
        port: u32,
        limit: Time,
    ) {
        self.wheel.open(port);
        let mut next = network.coupled_next(port);
        let mut arrival = self.wheel.first_arrival(port);
        loop {
            // At one instant the transmitter acts first.
            while arrival < next.min(limit) {
                let packet = self.wheel.take_first(&network.arena, port);
                network.coupled_arrive(&mut self.wheel, port, arrival, packet);
                debug_assert!(self.wheel.touched.is_empty(), "the switch is calm");
                next = network.coupled_next(port);
                arrival = self.wheel.first_arrival(port);
            }
            if next >= limit {
                break;
            }
            next = network.coupled_act(&mut self.wheel, port, next);
        }
        self.wheel.leave(port, Time::ZERO, next);
    }

    /// Works through what happens at a coupled switch before `limit`: its ports are the units to be visited from the
    /// place `first` to `end`.
    #[inline(never)]
    fn visit_coupled<E: Protocol, P: OutputPort>(
        &mut self,
        network: &mut Network<E, P>,
        first: usize,
        end: usize,
        limit: Time,
    ) {
        self.gather(network, first, end, limit);
        if self.entries.len() > 1 {
            in_order(&mut self.entries, network.seed());
        }
        let (mut index, mut possible) = (0, None);
        loop {
            let entry = self.entries.get(index).copied();
            // At one instant the transmitters act first.
            let until = entry.map_or(limit, |entry| entry.at + TimeDelta::from_ps(1));
            // What the last arrival made possible happens at once.
            if let Some((now, port)) = possible.take().or_else(|| self.agenda.take(until)) {
                let next = network.coupled_act(&mut self.wheel, port, now);
                self.agenda.note(next, port, limit);
            } else if let Some(Entry { at, link, unit, handle }) = entry {
                index += 1;
                if network.coupled_arrive(&mut self.wheel, unit, at, (handle, link)) {
                    possible = Some((at, unit));
                    continue;
                }
            } else {
                break;
            }
            self.note_touched(network, limit);
        }
        for index in first..end {
            let port = self.units[index];
            self.wheel.leave(port, Time::ZERO, network.coupled_next(port));
        }
        for port in self.touched.drain(..) {
            self.wheel.leave(port, Time::ZERO, network.coupled_next(port));
        }
    }

    /// Takes what arrives at the ports of a coupled switch before `limit`, and notes what they will do by themselves.
    #[inline(always)]
    fn gather<E: Protocol, P: OutputPort>(
        &mut self,
        network: &Network<E, P>,
        first: usize,
        end: usize,
        limit: Time,
    ) {
        self.entries.clear();
        for index in first..end {
            self.look_ahead(network, index);
            let unit = self.units[index];
            self.agenda.note(network.coupled_next(unit), unit, limit);
            self.take_arrivals(network, unit, limit);
        }
    }

    /// Takes what arrives at a unit before `limit` to the entries.
    #[inline(always)]
    fn take_arrivals<E: Protocol, P: OutputPort>(
        &mut self,
        network: &Network<E, P>,
        unit: u32,
        limit: Time,
    ) {
        self.wheel.open(unit);
        loop {
            let at = self.wheel.first_arrival(unit);
            if at >= limit {
                break;
            }
            let (handle, link) = self.wheel.take_first(&network.arena, unit);
            self.entries.push(Entry { at, link, unit, handle });
        }
    }

    /// Notes when ports act next that others have changed, and that they are to be left, too.
    #[inline(always)]
    fn note_touched<E: Protocol, P: OutputPort>(&mut self, network: &Network<E, P>, limit: Time) {
        while let Some(port) = self.wheel.touched.pop() {
            self.agenda.note(network.coupled_next(port), port, limit);
            self.touched.push(port);
        }
    }

    /// Works through what a host does before `limit`.
    #[inline]
    fn visit_host<E: Protocol, P: OutputPort>(
        &mut self,
        network: &mut Network<E, P>,
        unit: u32,
        limit: Time,
    ) {
        let host = unit - network.routes.ports();
        self.wheel.open(unit);
        let mut arrival = self.wheel.first_arrival(unit);
        let (mut transmission, mut other) = network.host_outlook(host);
        // At one instant the transmitter acts first, then what arrives is taken, then all else.
        loop {
            if transmission <= arrival.min(other) {
                if transmission >= limit {
                    break;
                }
                network.host_transmit(&mut self.wheel, host, transmission);
            } else if arrival <= other {
                if arrival >= limit {
                    break;
                }
                let (handle, _) = self.wheel.take_first(&network.arena, unit);
                network.host_receive(host, arrival, handle);
                arrival = self.wheel.first_arrival(unit);
            } else {
                if other >= limit {
                    break;
                }
                network.host_otherwise(host, other);
            }
            (transmission, other) = network.host_outlook(host);
        }
        // What a host tells others must be told in time.
        let busy_until =
            if network.has_notices { Time::ZERO } else { network.host_busy_until(host) };
        self.wheel.leave(unit, busy_until, transmission.min(other));
    }

    /// Hands over what hosts told each other in this window. It arrives in later ones.
    #[cold]
    fn tell<E: Protocol, P: OutputPort>(&mut self, network: &mut Network<E, P>) {
        for notice in network.take_notices() {
            let unit = network.routes.ports() + notice.host;
            match self.wheel.outgoing() {
                Some(outgoing) if !outgoing.is_mine(unit) => outgoing.tell(unit, notice),
                _ => self.expect(network, notice),
            }
        }
    }

    fn expect<E: Protocol, P: OutputPort>(&mut self, network: &mut Network<E, P>, notice: Notice) {
        let unit = network.expect(notice);
        self.wheel.wake(unit, notice.at);
    }
}

impl<E: Protocol, P: OutputPort> Engine<E, P> for Windows {
    fn run_until(&mut self, network: &mut Network<E, P>, limit: Time) {
        while self.now < limit {
            let end = self.begin(limit);
            let count = self.wheel.collect(&mut self.units);
            self.work(network, end, count);
            self.now = end;
            self.skip_to(self.idle_until().min(limit));
        }
    }

    fn disturb(&mut self, _network: &mut Network<E, P>, unit: u32, at: Time) {
        self.visit_at(unit, at);
    }

    /// Works through what has arrived before `limit` at units that were not visited for it yet.
    fn settle(&mut self, network: &mut Network<E, P>, limit: Time) {
        let ports = network.routes.ports();
        let mut units = Vec::new();
        self.wheel.behind(limit, &mut units);
        for unit in units {
            if unit >= ports {
                self.visit_host(network, unit, limit);
            } else {
                self.visit_port_rarely(network, unit, limit);
            }
        }
        if network.has_notices {
            self.tell(network);
        }
        self.wheel.deliver_letters();
        self.wheel.keep_unfinished();
    }
}
