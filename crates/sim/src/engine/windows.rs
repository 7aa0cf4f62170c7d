//! Lookahead windows: the fast engine.
//!
//! Units act on each other only through links. Time therefore advances in windows no longer than the
//! shortest transmission plus delay: what a unit sends inside a window arrives in a later one, and
//! every active unit can work through a whole window alone, in any order of units. There is no global
//! event queue.
//!
//! - A window is a power of two of picoseconds, so that the window of a time is a shift.
//! - A ring of bitmaps, one a window, says which units have anything to do in it: an arrival, a
//!   departure, a timer. A summary bitmap lets an idle fabric be skipped.
//! - Packets on a link wait in the inbox of the unit and window where they will arrive: a list
//!   threaded through the packet arena. An inbox is sorted when it is opened, and mostly holds one
//!   packet.
//! - What lies beyond the ring (retransmission timers, flow starts, slow links) waits in a heap.
//!
//! One thing crosses units without a link: a header that a full header queue returns enters another
//! port of its switch at the same instant. While a header queue of a switch could overflow within one
//! window, the ports of that switch are therefore visited together, arrivals in order of time across
//! all of them. The bound is arithmetic: what can arrive at a switch in one window. Other engines of
//! this kind would have to give the returned header a delay; this one keeps the instant.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::mem;

use trimline_packet::{Handle, Packet, Packets, Time, TimeDelta};

use super::Engine;
use crate::arena::{Arena, Arrival};
use crate::network::{self, Calendar, Network};
use crate::protocol::Protocol;
use crate::table::Table;

/// At most this many windows in the ring: beyond, the inboxes would outgrow the caches.
const RING_MAX: u32 = 128;
const RING_MIN: u32 = 4;

/// Visits ahead at which a unit's own lines and its inbox are asked for, and at which its packets are.
const FAR_AHEAD: usize = 6;
const NEAR_AHEAD: usize = 3;

/// Something beyond the ring.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Far {
    at: Time,
    unit: u32,
    /// The packet that arrives, or none for a wake.
    handle: Handle,
    link: u32,
}

/// The windows to come.
struct Ring {
    /// Windows are `1 << shift` picoseconds long.
    shift: u32,
    /// The ring holds `1 << bits` windows.
    bits: u32,
    /// The window being worked on, and when it begins.
    current: u64,
    base: Time,
    /// Windows of the ring less one, and picoseconds of a window less one: masks.
    ring_mask: u64,
    offset_mask: u64,
    words: usize,
    summary_words: usize,
    /// Per window of the ring: a bit for each unit with something to do.
    active: Table<u64>,
    /// Per window of the ring: a bit for each word of `active` that is not zero.
    summary: Table<u64>,
    /// Per unit and window of the ring: the first packet that arrives.
    inboxes: Table<Handle>,
    far: BinaryHeap<Reverse<Far>>,
    /// Units that still have something to do in the current window, after a limit inside it.
    unfinished: Vec<u32>,
    /// The earliest wake in `far` of each unit.
    far_wakes: Vec<Time>,
}

impl Ring {
    #[inline]
    fn slot(&self, window: u64) -> usize {
        (window & self.ring_mask) as usize
    }

    #[inline]
    fn mark(&mut self, slot: usize, unit: u32) {
        let word = unit as usize / 64;
        self.active[slot * self.words + word] |= 1 << (unit % 64);
        self.summary[slot * self.summary_words + word / 64] |= 1 << (word % 64);
    }

    #[inline(always)]
    fn prefetch_inbox(&self, unit: u32, slot: usize) {
        self.inboxes.prefetch((unit as usize) << self.bits | slot);
    }

    #[inline]
    fn inbox(&mut self, unit: u32, slot: usize) -> &mut Handle {
        &mut self.inboxes[(unit as usize) << self.bits | slot]
    }

    /// The unit has something to do at `at`.
    #[inline]
    fn wake(&mut self, unit: u32, at: Time) {
        let ahead = (at.as_ps() >> self.shift).wrapping_sub(self.current);
        if ahead == 0 {
            self.unfinished.push(unit);
        } else if ahead <= self.ring_mask {
            self.mark(self.slot(self.current.wrapping_add(ahead)), unit);
        } else {
            self.wake_far(unit, at);
        }
    }

    #[cold]
    fn wake_far(&mut self, unit: u32, at: Time) {
        assert!(at.as_ps() >> self.shift >= self.current, "a unit would act in the past");
        if at < self.far_wakes[unit as usize] {
            self.far_wakes[unit as usize] = at;
            self.far.push(Reverse(Far { at, unit, handle: Handle::NONE, link: 0 }));
        }
    }

    #[cold]
    fn arrive_far(&mut self, unit: u32, at: Time, handle: Handle, link: u32) {
        assert!(
            at.as_ps() >> self.shift > self.current,
            "a packet would arrive in the window in which it was sent"
        );
        self.far.push(Reverse(Far { at, unit, handle, link }));
    }

    /// Takes everything into the ring that now lies within it. Whether there was anything.
    #[inline]
    fn draw_near(&mut self, arena: &mut Arena) -> bool {
        let mut is_any = false;
        while let Some(&Reverse(far)) = self.far.peek() {
            let window = far.at.as_ps() >> self.shift;
            if window > self.current + self.ring_mask {
                break;
            }
            self.far.pop();
            is_any = true;
            if far.handle.is_none() {
                if self.far_wakes[far.unit as usize] == far.at {
                    self.far_wakes[far.unit as usize] = Time::NEVER;
                }
                self.mark(self.slot(window), far.unit);
            } else {
                self.put(arena, far.unit, far.at, window, far.handle, far.link);
            }
        }
        is_any
    }

    #[inline]
    fn put(
        &mut self,
        arena: &mut Arena,
        unit: u32,
        at: Time,
        window: u64,
        handle: Handle,
        link: u32,
    ) {
        let slot = self.slot(window);
        let offset = (at.as_ps() & self.offset_mask) as u32;
        arena.set_arrival(handle, Arrival { offset, link });
        let first = self.inbox(unit, slot);
        let after = *first;
        *first = handle;
        arena.set_next(handle, after);
        self.mark(slot, unit);
    }
}

impl Calendar for Ring {
    #[inline]
    fn arrive(&mut self, arena: &mut Arena, unit: u32, at: Time, handle: Handle, link: u32) {
        let window = at.as_ps() >> self.shift;
        let ahead = window.wrapping_sub(self.current);
        if ahead.wrapping_sub(1) < self.ring_mask {
            self.put(arena, unit, at, window, handle, link);
        } else {
            self.arrive_far(unit, at, handle, link);
        }
    }
    #[inline]
    fn returned_into(&mut self, _port: u32) {
        // The ports of a switch that may return headers are visited together, this one included.
    }
}

/// An arrival of the window being worked on.
#[derive(Clone, Copy)]
struct Entry {
    arrival: Arrival,
    unit: u32,
    handle: Handle,
}

/// Which switches may have to return a header in the next window.
struct Returns {
    /// Bytes in a header queue from which on it could overflow within one window.
    threshold: Option<u32>,
    queue: usize,
    risky_ports: Vec<bool>,
    /// Per switch: its risky ports, and the first window for which that counts.
    risky: Vec<(u32, u64)>,
    /// Risky ports of all switches.
    any: u32,
}

/// The engine of lookahead windows.
pub(crate) struct Windows {
    ring: Ring,
    now: Time,
    /// The units to be visited in this window.
    units: Table<u32>,
    entries: Vec<Entry>,
    returns: Returns,
    /// The last window in which something happened or came into the ring.
    last_active: u64,
}

impl Windows {
    /// An engine for a network that has not run yet; `largest_packet` is in bytes on the wire.
    pub(crate) fn new<E: Protocol, const Q: usize>(
        network: &Network<E, Q>,
        largest_packet: u16,
    ) -> Windows {
        let lookahead = network.lookahead().as_ps();
        assert!(lookahead > 0, "a packet takes time to send");
        // Offsets are 32 bits: a window is at most 4 ms.
        let shift = lookahead.ilog2().min(31);
        let horizon = (network.horizon(largest_packet).as_ps() >> shift) + 2;
        let ring = horizon.next_power_of_two().clamp(u64::from(RING_MIN), u64::from(RING_MAX));
        let bits = ring.trailing_zeros();
        let units = network.routes.units() as usize;
        let words = units.div_ceil(64);
        let summary_words = words.div_ceil(64);
        let mut engine = Windows {
            ring: Ring {
                shift,
                bits,
                current: 0,
                base: Time::ZERO,
                ring_mask: (1 << bits) - 1,
                offset_mask: (1 << shift) - 1,
                words,
                summary_words,
                active: vec![0; words << bits].into(),
                summary: vec![0; summary_words << bits].into(),
                inboxes: vec![Handle::NONE; units << bits].into(),
                far: BinaryHeap::new(),
                unfinished: Vec::new(),
                far_wakes: vec![Time::NEVER; units],
            },
            now: Time::ZERO,
            units: vec![0; units + FAR_AHEAD + 1].into(),
            entries: Vec::new(),
            returns: Returns::new(network, shift),
            last_active: 0,
        };
        for host in 0..network.routes.hosts() {
            let next = network.host_next(host);
            if next != Time::NEVER {
                engine.ring.wake(network.routes.ports() + host, next);
            }
        }
        engine.keep_unfinished();
        engine
    }

    fn keep_unfinished(&mut self) {
        let slot = self.ring.slot(self.ring.current);
        while let Some(unit) = self.ring.unfinished.pop() {
            self.ring.mark(slot, unit);
        }
    }

    /// Opens an inbox: `entries` are its arrivals in order.
    #[inline(always)]
    fn open_inbox(&mut self, arena: &Arena, unit: u32, slot: usize, seed: u64) {
        self.entries.clear();
        self.empty_inbox(arena, unit, slot);
        if self.entries.len() > 1 {
            self.sort_entries(seed, self.ring.base);
        }
    }

    /// Appends the arrivals in an inbox to `entries`, in no order.
    #[inline(always)]
    fn empty_inbox(&mut self, arena: &Arena, unit: u32, slot: usize) {
        let mut handle = mem::replace(self.ring.inbox(unit, slot), Handle::NONE);
        while !handle.is_none() {
            self.entries.push(Entry { arrival: arena.arrival(handle), unit, handle });
            handle = arena.next(handle);
        }
    }

    /// Sorts `entries` by time; arrivals at one instant by their tie.
    #[inline]
    fn sort_entries(&mut self, seed: u64, base: Time) {
        let after = |a: &Entry, b: &Entry| {
            if a.arrival.offset != b.arrival.offset {
                return a.arrival.offset > b.arrival.offset;
            }
            let at = base + TimeDelta::from_ps(u64::from(a.arrival.offset));
            network::tie(seed, at, a.arrival.link) > network::tie(seed, at, b.arrival.link)
        };
        let entries = &mut self.entries[..];
        if let [first, second] = entries {
            // The common case, without a branch that no predictor can learn.
            let (a, b) = (*first, *second);
            let swap = after(&a, &b);
            (*first, *second) = if swap { (b, a) } else { (a, b) };
            return;
        }
        for sorted in 1..entries.len() {
            let entry = entries[sorted];
            let mut place = sorted;
            while place > 0 && after(&entries[place - 1], &entry) {
                entries[place] = entries[place - 1];
                place -= 1;
            }
            entries[place] = entry;
        }
    }

    /// Puts an arrival back that lies at or after the limit of this visit.
    #[cold]
    fn put_back(&mut self, arena: &mut Arena, entry: Entry, slot: usize) {
        let inbox = self.ring.inbox(entry.unit, slot);
        let after = *inbox;
        *inbox = entry.handle;
        arena.set_next(entry.handle, after);
        self.ring.unfinished.push(entry.unit);
    }

    /// Puts the arrivals of one port back from this one on.
    #[cold]
    fn put_back_from(
        &mut self,
        arena: &mut Arena,
        unit: u32,
        arrival: Arrival,
        handle: Handle,
        index: usize,
        slot: usize,
    ) {
        self.put_back(arena, Entry { arrival, unit, handle }, slot);
        for later in index..self.entries.len() {
            let entry = self.entries[later];
            self.put_back(arena, entry, slot);
        }
    }

    /// Takes the units out of the bitmaps that have something to do in the current window, into `units`.
    /// Gives how many.
    #[inline]
    fn collect_active(&mut self, slot: usize) -> usize {
        let mut count = 0;
        for summary_word in 0..self.ring.summary_words {
            let summary_at = slot * self.ring.summary_words + summary_word;
            let mut summary = mem::take(&mut self.ring.summary[summary_at]);
            while summary != 0 {
                let word = summary_word * 64 + summary.trailing_zeros() as usize;
                summary &= summary - 1;
                let mut active = mem::take(&mut self.ring.active[slot * self.ring.words + word]);
                while active != 0 {
                    self.units[count] = (word * 64) as u32 + active.trailing_zeros();
                    count += 1;
                    active &= active - 1;
                }
            }
        }
        if count > 0 {
            self.last_active = self.ring.current;
        }
        count
    }

    /// Works through everything that happens in the current window before `limit`.
    fn window<E: Protocol, const Q: usize>(&mut self, network: &mut Network<E, Q>, limit: Time) {
        let slot = self.ring.slot(self.ring.current);
        let ports = network.routes.ports();
        let count = self.collect_active(slot);
        // Behind the last port of a switch whose ports were visited together.
        let mut visited = 0;
        for index in 0..count {
            // Most of a visit's time would be waiting for memory: ask for what the next visits need, in
            // two steps, because the second needs what the first brings. Behind the last unit stand those of
            // an earlier window: asked in vain, but without a branch.
            let far = self.units[index + FAR_AHEAD];
            network.prefetch_unit(far);
            self.ring.prefetch_inbox(far, slot);
            let near = self.units[index + NEAR_AHEAD];
            network.prefetch_second(near);
            network.arena.prefetch_arrival(*self.ring.inbox(near, slot));
            let unit = self.units[index];
            if unit >= ports {
                self.visit_host(network, unit, slot, limit);
            } else if self.returns.any == 0 {
                self.visit_port(network, unit, slot, limit);
            } else if unit >= visited {
                let switch = network.routes.switch_of(unit);
                if self.returns.together(switch, self.ring.current) {
                    visited = network.routes.ports_of(switch).end;
                    self.visit_switch(network, unit, slot, limit);
                } else {
                    self.visit_port(network, unit, slot, limit);
                }
            }
        }
        self.keep_unfinished();
    }

    #[inline]
    fn at(&self, entry: &Entry) -> Time {
        self.ring.base + TimeDelta::from_ps(u64::from(entry.arrival.offset))
    }

    #[inline]
    fn visit_port<E: Protocol, const Q: usize>(
        &mut self,
        network: &mut Network<E, Q>,
        port: u32,
        slot: usize,
        limit: Time,
    ) {
        // Mostly an inbox holds one packet, which needs no list and no order.
        let mut handle = mem::replace(self.ring.inbox(port, slot), Handle::NONE);
        let mut arrival = Arrival::default();
        self.entries.clear();
        if !handle.is_none() {
            arrival = network.arena.arrival(handle);
            let next = network.arena.next(handle);
            if !next.is_none() {
                *self.ring.inbox(port, slot) = handle;
                self.open_inbox(&network.arena, port, slot, network.seed());
                (arrival, handle) = (self.entries[0].arrival, self.entries[0].handle);
            }
        }
        let base = self.ring.base;
        let mut index = 1;
        loop {
            let at = base + TimeDelta::from_ps(u64::from(arrival.offset));
            let is_due = !handle.is_none() && at < limit;
            let until = if is_due { at + TimeDelta::from_ps(1) } else { limit };
            network.port_advance(&mut self.ring, port, until);
            if !is_due {
                break;
            }
            network.port_arrive(&mut self.ring, port, at, handle);
            handle = Handle::NONE;
            if index < self.entries.len() {
                (arrival, handle) = (self.entries[index].arrival, self.entries[index].handle);
                index += 1;
            }
        }
        if !handle.is_none() {
            self.put_back_from(&mut network.arena, port, arrival, handle, index, slot);
        }
        self.leave_port(network, port);
    }

    /// Arranges a port's next visit.
    #[inline(always)]
    fn leave_port<E: Protocol, const Q: usize>(&mut self, network: &Network<E, Q>, port: u32) {
        let next = network.port_next(port);
        if next != Time::NEVER {
            self.ring.wake(port, next);
        }
        self.returns.note(network, port, self.ring.current);
    }

    /// Visits all ports of a port's switch together, arrivals in order of time across them.
    #[cold]
    fn visit_switch<E: Protocol, const Q: usize>(
        &mut self,
        network: &mut Network<E, Q>,
        port: u32,
        slot: usize,
        limit: Time,
    ) {
        let ports = network.routes.ports_of(network.routes.switch_of(port));
        self.entries.clear();
        for port in ports.clone() {
            self.ring.active[slot * self.ring.words + port as usize / 64] &= !(1 << (port % 64));
            self.empty_inbox(&network.arena, port, slot);
        }
        self.sort_entries(network.seed(), self.ring.base);
        for index in 0..self.entries.len() {
            let entry = self.entries[index];
            let at = self.at(&entry);
            if at < limit {
                network.port_advance(&mut self.ring, entry.unit, at + TimeDelta::from_ps(1));
                network.port_arrive(&mut self.ring, entry.unit, at, entry.handle);
            } else {
                self.put_back(&mut network.arena, entry, slot);
            }
        }
        for port in ports {
            network.port_advance(&mut self.ring, port, limit);
            self.leave_port(network, port);
        }
    }

    #[inline]
    fn visit_host<E: Protocol, const Q: usize>(
        &mut self,
        network: &mut Network<E, Q>,
        unit: u32,
        slot: usize,
        limit: Time,
    ) {
        let host = unit - network.routes.ports();
        self.open_inbox(&network.arena, unit, slot, network.seed());
        for index in 0..self.entries.len() {
            let entry = self.entries[index];
            let at = self.at(&entry);
            if at < limit {
                network.host_arrive(&mut self.ring, host, at, entry.handle);
            } else {
                self.put_back(&mut network.arena, entry, slot);
            }
        }
        let mut next = network.host_next(host);
        if next < limit {
            network.host_advance(&mut self.ring, host, limit);
            next = network.host_next(host);
        }
        if next != Time::NEVER {
            self.ring.wake(unit, next);
        }
    }
}

impl Returns {
    fn new<E: Protocol, const Q: usize>(network: &Network<E, Q>, shift: u32) -> Returns {
        let switches = network.routes.switches();
        let mut returns = Returns {
            threshold: None,
            queue: 0,
            risky_ports: vec![false; network.routes.ports() as usize],
            risky: vec![(0, 0); switches],
            any: 0,
        };
        let Some((queue, capacity)) = network.returning_queue() else { return returns };
        let most_links = (0..switches as u32)
            .map(|s| network.routes.ports_of(s).len() as u64)
            .max()
            .unwrap_or(0);
        let window = TimeDelta::from_ps(1 << shift);
        let headers = network.most_headers_per_link(window) * most_links;
        let margin = headers * u64::from(Packet::HEADER_BYTES);
        returns.queue = queue;
        match u64::from(capacity).checked_sub(margin) {
            Some(threshold) => returns.threshold = Some(threshold as u32),
            None => {
                returns.risky.fill((1, 0));
                returns.any = switches as u32;
            }
        }
        returns
    }

    /// Whether the ports of a switch must be visited together in the current window.
    #[inline]
    fn together(&self, switch: u32, window: u64) -> bool {
        let (ports, since) = self.risky[switch as usize];
        ports > 0 && since <= window
    }

    /// Notes how full a port's header queue is at the end of a visit.
    #[inline]
    fn note<E: Protocol, const Q: usize>(
        &mut self,
        network: &Network<E, Q>,
        port: u32,
        window: u64,
    ) {
        let Some(threshold) = self.threshold else { return };
        let is_risky = network.queue_bytes(port, self.queue) > threshold;
        if (is_risky || self.any > 0) && is_risky != self.risky_ports[port as usize] {
            self.change(network.routes.switch_of(port), port, is_risky, window);
        }
    }

    #[cold]
    fn change(&mut self, switch: u32, port: u32, is_risky: bool, window: u64) {
        self.risky_ports[port as usize] = is_risky;
        let (ports, since) = &mut self.risky[switch as usize];
        if is_risky {
            if *ports == 0 {
                *since = window + 1;
            }
            *ports += 1;
            self.any += 1;
        } else {
            *ports -= 1;
            self.any -= 1;
        }
    }
}

impl<E: Protocol, const Q: usize> Engine<E, Q> for Windows {
    fn run_until(&mut self, network: &mut Network<E, Q>, limit: Time) {
        while self.now < limit {
            self.ring.current = self.now.as_ps() >> self.ring.shift;
            self.ring.base = Time::from_ps(self.ring.current << self.ring.shift);
            if self.ring.draw_near(&mut network.arena) {
                self.last_active = self.ring.current;
            }
            let end = Time::from_ps((self.ring.current + 1) << self.ring.shift).min(limit);
            self.window(network, end);
            self.now = end;
            if self.ring.current - self.last_active > self.ring.ring_mask {
                // A whole turn of the ring was empty: nothing happens before the first far thing.
                let next = self.ring.far.peek().map_or(Time::NEVER, |Reverse(far)| far.at);
                let start = Time::from_ps(next.as_ps() >> self.ring.shift << self.ring.shift);
                self.now = self.now.max(start.min(limit));
            }
        }
    }
}
