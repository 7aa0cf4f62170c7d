//! Lookahead windows: the fast engine.
//!
//! Units act on each other only through links. Time therefore advances in windows no longer than the
//! shortest transmission plus delay: what a unit sends inside a window arrives in a later one, and
//! every active unit can work through a whole window alone, in any order of units. There is no global
//! event queue.
//!
//! - A window is a power of two of picoseconds, so that the window of a time is a shift.
//! - A ring of bitmaps, one a window, says which units have anything to do in it. A summary bitmap lets
//!   an idle fabric be skipped.
//! - Packets on a link wait in the inbox of the unit where they will arrive: a list in order of time,
//!   threaded through the packet arena.
//! - What lies beyond the ring (retransmission timers, flow starts, slow links) waits in a heap.
//!
//! # Units are visited when they may act
//! A unit whose transmitter is busy until some time cannot act on anything else before it, whatever
//! arrives. So it is not visited for its arrivals, but in the window in which its transmitter becomes
//! free, and then works through all that has arrived since, in order of time. At a busy port that is one
//! visit for each packet of data, headers included. Its inbox remembers the window of the next visit; a
//! packet that could make the unit act earlier brings it forward.
//!
//! Whoever looks at units from outside (the end of a run or of its warm-up, links that change) settles
//! them first.
//!
//! # Returned headers
//! One thing crosses units without a link: a header that a full header queue returns enters another
//! port of its switch at the same instant. While a header queue of a switch could overflow in one visit,
//! the ports of that switch are therefore visited together, in every window in which something arrives
//! there, arrivals in order of time across all of them. The bound is arithmetic: what can arrive at a
//! switch in one window, and the [`MOST_PENDING`] packets that may wait for a visit. Other engines of
//! this kind would have to give the returned header a delay; this one keeps the instant.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::select_unpredictable;
use std::mem;

use trimline_packet::{Handle, Packet, Packets, Time, TimeDelta};

use super::Engine;
use crate::arena::{Arena, Arrival};
use crate::network::{self, Calendar, Network};
use crate::protocol::Protocol;
use crate::table::Table;

/// At most this many windows in the ring: beyond, the bitmaps would outgrow the caches.
const RING_MAX: u32 = 128;
const RING_MIN: u32 = 4;
/// Windows ahead up to which a packet is not long on its way: headers, mostly.
const SHORT: u64 = 2;
/// Packets in an inbox, those still on their links included, up to which a unit need not be visited for
/// their sake.
const MOST_PENDING: u64 = 16;

/// Units from which on a network's inboxes do not fit the second cache. In debug builds so few that the
/// tests work in both ways.
const LARGE: usize = if cfg!(debug_assertions) { 64 } else { 16_384 };
/// Packets that are put into their inboxes together in a large network.
const LETTERS: usize = 24;

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

/// When a unit is visited next, and how many packets its inbox holds: 40 and 24 bits.
#[derive(Clone, Copy)]
struct Outlook(u64);

impl Outlook {
    /// No visit, no packet.
    const NONE: Outlook = Outlook(Outlook::NEVER << 24);
    /// The window of no visit.
    const NEVER: u64 = (1 << 40) - 1;
    const PACKETS: u64 = (1 << 24) - 1;

    #[inline(always)]
    fn window(self) -> u64 {
        self.0 >> 24
    }
    #[inline(always)]
    fn packets(self) -> u64 {
        self.0 & Outlook::PACKETS
    }
    #[inline(always)]
    fn set_window(&mut self, window: u64) {
        self.0 = window << 24 | self.packets();
    }
}

/// Packets on links, in order of time.
#[derive(Clone, Copy)]
struct Arrivals {
    /// When the first arrives: never if there is none.
    first_at: Time,
    last_at: Time,
    first: Handle,
    last: Handle,
}

impl Arrivals {
    const NONE: Arrivals = Arrivals {
        first_at: Time::NEVER,
        last_at: Time::ZERO,
        first: Handle::NONE,
        last: Handle::NONE,
    };
}

/// What will arrive at a unit, and when the unit is visited: a cache line.
///
/// Packets that are long on their way have a list of their own: so nearly every packet goes to the end of
/// its list.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Inbox {
    lists: [Arrivals; 2],
    /// No arrival makes the unit act before this window: its transmitter is busy.
    busy_until: u64,
    outlook: Outlook,
}

impl Inbox {
    const EMPTY: Inbox =
        Inbox { lists: [Arrivals::NONE; 2], busy_until: 0, outlook: Outlook::NONE };

    /// When the first packet arrives.
    #[inline(always)]
    fn first_arrival(&self) -> Time {
        self.lists[0].first_at.min(self.lists[1].first_at)
    }
}

/// The windows to come.
struct Ring {
    /// Windows are `1 << shift` picoseconds long.
    shift: u32,
    /// The window being worked on, and when it begins.
    current: u64,
    base: Time,
    /// Windows of the ring less one: a mask.
    ring_mask: u64,
    /// Arrivals wait no longer than this for a visit.
    longest_wait: TimeDelta,
    words: usize,
    summary_words: usize,
    seed: u64,
    /// Per window of the ring: a bit for each unit with something to do.
    active: Table<u64>,
    /// Per window of the ring: a bit for each word of `active` that is not zero.
    summary: Table<u64>,
    inboxes: Table<Inbox>,
    far: BinaryHeap<Reverse<Far>>,
    /// Packets on their way to inboxes that were asked for, in a large network.
    letters: Vec<Far>,
    is_large: bool,
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

    /// The unit's next visit is in this window.
    #[inline]
    fn plan(&mut self, unit: u32, window: u64) {
        let ahead = window.wrapping_sub(self.current);
        if ahead.wrapping_sub(1) < self.ring_mask {
            self.inboxes[unit as usize].outlook.set_window(window);
            self.mark(self.slot(window), unit);
        } else {
            self.plan_otherwise(unit, window);
        }
    }

    #[cold]
    fn plan_otherwise(&mut self, unit: u32, window: u64) {
        let outlook = &mut self.inboxes[unit as usize].outlook;
        if window >= Time::NEVER.as_ps() >> self.shift {
            outlook.set_window(Outlook::NEVER);
            return;
        }
        assert!(window >= self.current, "a unit would act in the past");
        assert!(window < Outlook::NEVER, "a run has less than 2^40 windows");
        if window == self.current {
            outlook.set_window(window);
            self.unfinished.push(unit);
            return;
        }
        let far_wake = &mut self.far_wakes[unit as usize];
        let at = Time::from_ps(window << self.shift);
        if at < *far_wake {
            *far_wake = at;
            self.far.push(Reverse(Far { at, unit, handle: Handle::NONE, link: 0 }));
        }
        // Perhaps one that comes earlier is on its way already.
        outlook.set_window(far_wake.as_ps() >> self.shift);
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
                let ahead = window - self.current;
                self.put(arena, far.unit, far.at, ahead, far.handle, far.link);
            }
        }
        is_any
    }

    /// Puts a packet into its inbox, and brings the unit's visit forward if need be. `ahead` is the number
    /// of windows until it arrives.
    #[inline(always)]
    fn put(
        &mut self,
        arena: &mut Arena,
        unit: u32,
        at: Time,
        ahead: u64,
        handle: Handle,
        link: u32,
    ) {
        arena.set_arrival(handle, Arrival { at, link });
        let inbox = &mut self.inboxes[unit as usize];
        let list = &mut inbox.lists[usize::from(ahead > SHORT)];
        // An empty list has no last time, so that this is nearly always true.
        if at > list.last_at {
            let is_empty = list.first.is_none();
            let last = select_unpredictable(is_empty, handle, list.last);
            list.first = select_unpredictable(is_empty, handle, list.first);
            list.first_at = list.first_at.min(at);
            arena.set_next(last, handle);
            arena.set_next(handle, Handle::NONE);
            list.last = handle;
            list.last_at = at;
        } else {
            Ring::put_between(list, arena, at, handle, link, self.seed);
        }
        inbox.outlook.0 += 1;
        let busy_until = if inbox.outlook.packets() > MOST_PENDING { 0 } else { inbox.busy_until };
        let window = (self.current + ahead).max(busy_until);
        if window < inbox.outlook.window() {
            self.plan(unit, window);
        }
    }

    /// The packet does not arrive later than the last one.
    #[inline(never)]
    fn put_between(
        list: &mut Arrivals,
        arena: &mut Arena,
        at: Time,
        handle: Handle,
        link: u32,
        seed: u64,
    ) {
        let goes_first = |arrival: Arrival| {
            if { arrival.at } != at {
                return { arrival.at } < at;
            }
            network::tie(seed, at, arrival.link) <= network::tie(seed, at, link)
        };
        let (mut before, mut after) = (Handle::NONE, list.first);
        while !after.is_none() && goes_first(arena.arrival(after)) {
            (before, after) = (after, arena.next(after));
        }
        arena.set_next(handle, after);
        if before.is_none() {
            list.first = handle;
            list.first_at = at;
        } else {
            arena.set_next(before, handle);
        }
        if after.is_none() {
            list.last = handle;
        }
    }

    /// When the first packet in an inbox arrives.
    #[inline(always)]
    fn first_arrival(&self, unit: u32) -> Time {
        self.inboxes[unit as usize].first_arrival()
    }

    /// Takes the first packet out of an inbox that has one.
    #[inline(always)]
    fn take_first(&mut self, arena: &Arena, unit: u32) -> Handle {
        let seed = self.seed;
        let inbox = &mut self.inboxes[unit as usize];
        let [short, long] = &inbox.lists;
        let mut number = select_unpredictable(long.first_at < short.first_at, 1, 0);
        if long.first_at == short.first_at {
            let tie = |first: Handle| network::tie(seed, long.first_at, arena.arrival(first).link);
            number = usize::from(tie(long.first) < tie(short.first));
        }
        let list = &mut inbox.lists[number];
        let handle = list.first;
        let next = arena.next(handle);
        list.first = next;
        arena.prefetch(next);
        // As likely as not there is another one: no branch on it.
        let is_last = next.is_none();
        let next_at = arena.arrival(select_unpredictable(is_last, handle, next)).at;
        list.first_at = select_unpredictable(is_last, Time::NEVER, next_at);
        list.last_at = select_unpredictable(is_last, Time::ZERO, list.last_at);
        inbox.outlook.0 -= 1;
        handle
    }
}

impl Calendar for Ring {
    #[inline(always)]
    fn arrive(&mut self, arena: &mut Arena, unit: u32, at: Time, handle: Handle, link: u32) {
        if self.is_large {
            self.post(arena, Far { at, unit, handle, link });
            return;
        }
        self.deliver(arena, unit, at, handle, link);
    }
    #[inline]
    fn returned_into(&mut self, _port: u32) {
        // The ports of a switch that may return headers are visited together, this one included.
    }
}

impl Ring {
    /// In a large network the inbox is not in the cache: it is asked for, and other work done before the
    /// packet is put there.
    #[inline(never)]
    fn post(&mut self, arena: &mut Arena, letter: Far) {
        self.inboxes.prefetch(letter.unit as usize);
        self.letters.push(letter);
        if self.letters.len() == LETTERS {
            self.deliver_letters(arena);
        }
    }

    #[inline(never)]
    fn deliver_letters(&mut self, arena: &mut Arena) {
        for index in 0..self.letters.len() {
            let Far { at, unit, handle, link } = self.letters[index];
            self.deliver(arena, unit, at, handle, link);
        }
        self.letters.clear();
    }

    #[inline(always)]
    fn deliver(&mut self, arena: &mut Arena, unit: u32, at: Time, handle: Handle, link: u32) {
        let ahead = (at.as_ps() >> self.shift).wrapping_sub(self.current);
        if ahead.wrapping_sub(1) < self.ring_mask {
            self.put(arena, unit, at, ahead, handle, link);
        } else {
            self.arrive_far(unit, at, handle, link);
        }
    }
}

/// An arrival at one of the ports that are visited together.
#[derive(Clone, Copy)]
struct Entry {
    at: Time,
    link: u32,
    unit: u32,
    handle: Handle,
}

/// Which switches may have to return a header in the next window.
struct Returns {
    /// Bytes in a header queue beyond which it could overflow within one visit.
    threshold: u32,
    /// Header queues are so small that they always could.
    always: bool,
    queue: usize,
    risky_ports: Vec<bool>,
    /// Per switch: its risky ports, and the first window for which that counts.
    risky: Vec<(u32, u64)>,
    /// Risky ports of all switches.
    any: u32,
}

/// The bits that are set, lowest first.
fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then_some(word.trailing_zeros() as usize);
        word &= word.wrapping_sub(1);
        bit
    })
}

/// The engine of lookahead windows.
pub(crate) struct Windows {
    ring: Ring,
    now: Time,
    /// The units to be visited in this window.
    units: Table<u32>,
    /// The arrivals at ports that are visited together.
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
        let shift = lookahead.ilog2();
        let horizon = (network.horizon(largest_packet).as_ps() >> shift) + 2;
        let ring = horizon.next_power_of_two().clamp(u64::from(RING_MIN), u64::from(RING_MAX));
        let units = network.routes.units() as usize;
        let words = units.div_ceil(64);
        let summary_words = words.div_ceil(64);
        let mut engine = Windows {
            ring: Ring {
                shift,
                current: 0,
                base: Time::ZERO,
                ring_mask: ring - 1,
                longest_wait: TimeDelta::from_ps((ring - 2) << shift),
                words,
                summary_words,
                seed: network.seed(),
                active: vec![0; words * ring as usize].into(),
                summary: vec![0; summary_words * ring as usize].into(),
                inboxes: vec![Inbox::EMPTY; units].into(),
                far: BinaryHeap::new(),
                letters: Vec::with_capacity(LETTERS),
                is_large: units >= LARGE,
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
            let next = network.host_next(host).as_ps() >> shift;
            engine.ring.plan(network.routes.ports() + host, next);
        }
        engine.keep_unfinished();
        engine
    }

    fn keep_unfinished(&mut self) {
        debug_assert!(
            self.ring.letters.is_empty(),
            "a window ends when its packets are in their inboxes"
        );
        let slot = self.ring.slot(self.ring.current);
        while let Some(unit) = self.ring.unfinished.pop() {
            self.ring.mark(slot, unit);
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
        for index in 0..count {
            // Most of a visit's time would be waiting for memory: ask for what the next visits need, in
            // two steps, because the second needs what the first brings. Behind the last unit stand those of
            // an earlier window: asked in vain, but without a branch.
            let far = self.units[index + FAR_AHEAD];
            network.prefetch_unit(far);
            self.ring.inboxes.prefetch(far as usize);
            let near = self.units[index + NEAR_AHEAD];
            network.prefetch_second(near);
            for list in &self.ring.inboxes[near as usize].lists {
                network.arena.prefetch(list.first);
            }
            let unit = self.units[index];
            if self.ring.inboxes[unit as usize].outlook.window() > self.ring.current {
                // What it was marked for was done in an earlier visit.
                continue;
            }
            if unit >= ports {
                self.visit_host(network, unit, limit);
            } else if self.returns.any == 0 {
                self.visit_port(network, unit, limit);
            } else {
                self.visit_risky(network, unit, limit);
            }
        }
        self.ring.deliver_letters(&mut network.arena);
        self.keep_unfinished();
    }

    #[cold]
    #[inline(never)]
    fn visit_port_rarely<E: Protocol, const Q: usize>(
        &mut self,
        network: &mut Network<E, Q>,
        port: u32,
        limit: Time,
    ) {
        self.visit_port(network, port, limit);
    }

    #[inline(always)]
    fn visit_port<E: Protocol, const Q: usize>(
        &mut self,
        network: &mut Network<E, Q>,
        port: u32,
        limit: Time,
    ) {
        let mut departure = network.port_next(port);
        let mut arrival = self.ring.first_arrival(port);
        loop {
            // At one instant the transmitter acts first.
            while arrival < departure.min(limit) {
                let handle = self.ring.take_first(&network.arena, port);
                network.port_arrive(&mut self.ring, port, arrival, handle);
                departure = network.port_next(port);
                arrival = self.ring.first_arrival(port);
            }
            if departure >= limit {
                break;
            }
            network.port_depart(&mut self.ring, port, departure);
            departure = network.port_next(port);
        }
        self.leave_port(network, port);
    }

    /// Arranges a port's next visit.
    #[inline(always)]
    fn leave_port<E: Protocol, const Q: usize>(&mut self, network: &Network<E, Q>, port: u32) {
        let is_eager = self.returns.note(network, port, self.ring.current);
        let (busy_until, next) = network.port_outlook(port);
        let busy_until = if is_eager { Time::ZERO } else { busy_until };
        self.leave(port, busy_until, next);
    }

    /// Arranges the next visit of a unit that will next act by itself at `next`.
    #[inline(always)]
    fn leave(&mut self, unit: u32, busy_until: Time, next: Time) {
        // What has arrived is visited within the ring.
        let busy_until = busy_until.min(self.ring.base + self.ring.longest_wait);
        let arrival = self.ring.first_arrival(unit).max(busy_until);
        self.ring.inboxes[unit as usize].busy_until = busy_until.as_ps() >> self.ring.shift;
        self.ring.plan(unit, next.min(arrival).as_ps() >> self.ring.shift);
    }

    /// Visits a port while some switch may have to return headers.
    #[cold]
    fn visit_risky<E: Protocol, const Q: usize>(
        &mut self,
        network: &mut Network<E, Q>,
        port: u32,
        limit: Time,
    ) {
        let switch = network.routes.switch_of(port);
        if self.returns.together(switch, self.ring.current) {
            self.visit_switch(network, port, limit);
        } else {
            self.visit_port_rarely(network, port, limit);
        }
    }

    /// Visits all ports of a port's switch together, arrivals in order of time across them.
    fn visit_switch<E: Protocol, const Q: usize>(
        &mut self,
        network: &mut Network<E, Q>,
        port: u32,
        limit: Time,
    ) {
        let ports = network.routes.ports_of(network.routes.switch_of(port));
        self.entries.clear();
        for unit in ports.clone() {
            loop {
                let at = self.ring.first_arrival(unit);
                if at >= limit {
                    break;
                }
                let handle = self.ring.take_first(&network.arena, unit);
                let link = network.arena.arrival(handle).link;
                self.entries.push(Entry { at, link, unit, handle });
            }
        }
        let seed = network.seed();
        self.entries.sort_by(|a, b| {
            let tie = |entry: &Entry| network::tie(seed, entry.at, entry.link);
            a.at.cmp(&b.at).then_with(|| tie(a).cmp(&tie(b)))
        });
        for index in 0..self.entries.len() {
            let entry = self.entries[index];
            network.port_advance(&mut self.ring, entry.unit, entry.at + TimeDelta::from_ps(1));
            network.port_arrive(&mut self.ring, entry.unit, entry.at, entry.handle);
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
        limit: Time,
    ) {
        let host = unit - network.routes.ports();
        let mut arrival = self.ring.first_arrival(unit);
        let (mut transmission, mut other) = network.host_outlook(host);
        // At one instant the transmitter acts first, then what arrives is taken, then all else.
        loop {
            if transmission <= arrival.min(other) {
                if transmission >= limit {
                    break;
                }
                network.host_transmit(&mut self.ring, host, transmission);
            } else if arrival <= other {
                if arrival >= limit {
                    break;
                }
                let handle = self.ring.take_first(&network.arena, unit);
                network.host_receive(host, arrival, handle);
                arrival = self.ring.first_arrival(unit);
            } else {
                if other >= limit {
                    break;
                }
                network.host_otherwise(host, other);
            }
            (transmission, other) = network.host_outlook(host);
        }
        self.leave(unit, network.host_busy_until(host), transmission.min(other));
    }
}

impl Returns {
    fn new<E: Protocol, const Q: usize>(network: &Network<E, Q>, shift: u32) -> Returns {
        let switches = network.routes.switches();
        let mut returns = Returns {
            threshold: u32::MAX,
            always: false,
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
        let headers = network.most_headers_per_link(window) * most_links + 2 * MOST_PENDING;
        let margin = headers * u64::from(Packet::HEADER_BYTES);
        returns.queue = queue;
        match u64::from(capacity).checked_sub(margin) {
            Some(threshold) => returns.threshold = threshold as u32,
            None => {
                returns.always = true;
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

    /// Notes how full a port's header queue is at the end of a visit. Whether its switch may have to
    /// return headers.
    #[inline(always)]
    fn note<E: Protocol, const Q: usize>(
        &mut self,
        network: &Network<E, Q>,
        port: u32,
        window: u64,
    ) -> bool {
        let is_risky = network.queue_bytes(port, self.queue) > self.threshold;
        (is_risky || self.any > 0)
            && (self.always || self.change(network.routes.switch_of(port), port, is_risky, window))
    }

    #[cold]
    fn change(&mut self, switch: u32, port: u32, is_risky: bool, window: u64) -> bool {
        let was_risky = mem::replace(&mut self.risky_ports[port as usize], is_risky);
        let (ports, since) = &mut self.risky[switch as usize];
        if is_risky == was_risky {
            return *ports > 0;
        }
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
        *ports > 0
    }
}

impl<E: Protocol, const Q: usize> Engine<E, Q> for Windows {
    fn run_until(&mut self, network: &mut Network<E, Q>, limit: Time) {
        while self.now < limit {
            self.ring.current = self.now.as_ps() >> self.ring.shift;
            self.ring.base = Time::from_ps(self.ring.current << self.ring.shift);
            if self.ring.draw_near(&mut network.arena) {
                self.keep_unfinished();
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

    /// Works through what has arrived before `limit` at units that were not visited for it yet.
    fn settle(&mut self, network: &mut Network<E, Q>, limit: Time) {
        let ports = network.routes.ports();
        // Whoever has something waiting has a visit within the ring.
        for slot in 0..=self.ring.ring_mask as usize {
            let first = slot * self.ring.summary_words;
            for summary_word in 0..self.ring.summary_words {
                for word in bits(self.ring.summary[first + summary_word]) {
                    let word = summary_word * 64 + word;
                    for bit in bits(self.ring.active[slot * self.ring.words + word]) {
                        let unit = (word * 64 + bit) as u32;
                        if self.ring.first_arrival(unit) >= limit {
                            continue;
                        }
                        if unit >= ports {
                            self.visit_host(network, unit, limit);
                        } else {
                            self.visit_port_rarely(network, unit, limit);
                        }
                    }
                }
            }
        }
        self.ring.deliver_letters(&mut network.arena);
        self.keep_unfinished();
    }
}
