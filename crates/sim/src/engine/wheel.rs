//! The wheel of coming windows: the nodes that run in each, and the packets that arrive.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::select_unpredictable;
use std::mem;

use trimline_packet::{Handle, Time, TimeDelta};

use super::exchange::Outgoing;
use super::flights::{Flights, Place};
use super::inbox::{Inbox, MAX_PENDING, NextEvent};
use crate::arena::Arena;
use crate::network::{EventSink, Ties, Transmission};
use crate::table::{Shared, Table};

/// Maximum number of windows in the wheel: with more, the bitmaps would outgrow the caches.
const RING_MAX: u64 = 128;
const RING_MIN: u64 = 4;
/// Maximum number of windows in a run. Every plan within it and a turn of the wheel behind it has its own number.
pub(super) const MAX_WINDOWS: u64 = NextEvent::NEVER - 2 * RING_MAX;
/// A packet that arrives at most this number of windows ahead, mostly a header, goes into the short-delay list.
const SHORT: u64 = 2;

/// Number of nodes from which on the inboxes do not fit the second cache. Small in debug builds: tests take both ways.
const LARGE: usize = if cfg!(debug_assertions) { 64 } else { 16_384 };
/// Packets that go into their inboxes together in a large network.
const LETTERS: usize = 24;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Far {
    at: Time,
    node: u32,
    /// The packet that arrives; empty for a wake.
    handle: Handle,
    from: Transmission,
}

impl Far {
    const NONE: Far =
        Far { at: Time::NEVER, node: 0, handle: Handle::NONE, from: Transmission::NONE };
}

/// The way of a departing packet to its inbox.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Direct,
    Posted,
    /// Another thread may own the node where the packet will arrive.
    Sorted,
}

pub(super) struct Wheel {
    /// Windows are `1 << shift` picoseconds long.
    shift: u32,
    /// The window being worked on. It begins at `base`.
    pub(super) current: u64,
    base: Time,
    /// Windows of the wheel minus one: a mask.
    pub(super) wheel_mask: u64,
    /// Arrivals wait no longer than this for a run.
    longest_wait: TimeDelta,
    words: usize,
    summary_words: usize,
    ties: Ties,
    /// Per window: a bit for each node with something to do.
    active: Table<u64>,
    /// Per window: a bit for each word of `active` that is not zero.
    summary: Table<u64>,
    inboxes: Shared<Inbox>,
    flights: Flights,
    far: BinaryHeap<Reverse<Far>>,
    letters: Table<Far>,
    letter_count: usize,
    is_large: bool,
    way: Way,
    posts: bool,
    /// Messages to the nodes of other threads, on several threads.
    outgoing: Option<Outgoing>,
    /// The node that ran last or runs now: a letter for it may arrive meanwhile.
    running: u32,
    sorting: Vec<(Time, Transmission, Place)>,
    /// Nodes with more to do in the current window, after a limit inside it.
    unfinished: Vec<u32>,
    /// Ports that another port of their switch has changed.
    pub(super) touched: Vec<u32>,
    /// Per node: the earliest wake in `far`.
    far_wakes: Shared<Time>,
}

impl Wheel {
    /// Returns a wheel with windows of `1 << shift` picoseconds. Packets that travel longer than `horizon` windows wait
    /// in the heap.
    pub(super) fn new(nodes: usize, shift: u32, horizon: u64, ties: Ties) -> Wheel {
        let windows = horizon.next_power_of_two().clamp(RING_MIN, RING_MAX);
        let inboxes = vec![Inbox::EMPTY; nodes].into();
        Wheel::over(inboxes, vec![Time::NEVER; nodes].into(), shift, windows, ties, None)
    }

    /// Wheel of another thread. Call it before anything is planned.
    ///
    /// # Safety
    /// See [`Shared::view`]: only the thread that owns a node uses its inbox.
    pub(super) unsafe fn view(&self, outgoing: Outgoing) -> Wheel {
        // SAFETY: promised by the caller.
        let (inboxes, far_wakes) = unsafe { (self.inboxes.view(), self.far_wakes.view()) };
        let windows = self.wheel_mask + 1;
        Wheel::over(inboxes, far_wakes, self.shift, windows, self.ties, Some(outgoing))
    }

    fn over(
        inboxes: Shared<Inbox>,
        far_wakes: Shared<Time>,
        shift: u32,
        windows: u64,
        ties: Ties,
        outgoing: Option<Outgoing>,
    ) -> Wheel {
        let nodes = inboxes.len();
        let words = nodes.div_ceil(64);
        let summary_words = words.div_ceil(64);
        Wheel {
            shift,
            current: 0,
            base: Time::ZERO,
            wheel_mask: windows - 1,
            longest_wait: TimeDelta::from_ps((windows - 2) << shift),
            words,
            summary_words,
            ties,
            active: vec![0; words * windows as usize].into(),
            summary: vec![0; summary_words * windows as usize].into(),
            inboxes,
            flights: Flights::new(),
            far: BinaryHeap::new(),
            letters: vec![Far::NONE; LETTERS].into(),
            letter_count: 0,
            is_large: nodes >= LARGE,
            way: Way::Direct,
            posts: false,
            outgoing,
            running: u32::MAX,
            sorting: Vec::new(),
            unfinished: Vec::new(),
            touched: Vec::new(),
            far_wakes,
        }
    }

    pub(super) fn outgoing(&mut self) -> Option<&mut Outgoing> {
        self.outgoing.as_mut()
    }

    pub(super) fn is_mine(&self, node: u32) -> bool {
        self.outgoing.as_ref().is_none_or(|outgoing| outgoing.is_mine(node))
    }

    /// Returns log2 of the length of a window in picoseconds.
    pub(super) fn shift(&self) -> u32 {
        self.shift
    }

    /// Begins or continues the window of `now`. Returns its end, and whether anything entered the wheel.
    #[inline]
    pub(super) fn begin(&mut self, now: Time) -> (Time, bool) {
        self.current = now.as_ps() >> self.shift;
        self.base = Time::from_ps(self.current << self.shift);
        let is_any = self.draw_near();
        if is_any {
            self.keep_unfinished();
        }
        (Time::from_ps((self.current + 1) << self.shift), is_any)
    }

    /// Beginning of the window of the first event beyond the wheel, or never.
    pub(super) fn first_far(&self) -> Time {
        let next = self.far.peek().map_or(Time::NEVER, |Reverse(far)| far.at);
        Time::from_ps(next.as_ps() >> self.shift << self.shift)
    }

    #[inline]
    fn slot(&self, window: u64) -> usize {
        (window & self.wheel_mask) as usize
    }

    #[inline]
    fn mark(&mut self, slot: usize, node: u32) {
        let word = node as usize / 64;
        self.active[slot * self.words + word] |= 1 << (node % 64);
        self.summary[slot * self.summary_words + word / 64] |= 1 << (word % 64);
    }

    #[inline]
    pub(super) fn plan(&mut self, node: u32, window: u64) {
        let ahead = window.wrapping_sub(self.current);
        if ahead.wrapping_sub(1) < self.wheel_mask {
            self.inboxes[node as usize].next_event.set_window(window);
            self.mark(self.slot(window), node);
        } else if window >= Time::NEVER.as_ps() >> self.shift {
            self.inboxes[node as usize].next_event.set_window(NextEvent::NEVER);
        } else {
            self.plan_otherwise(node, window);
        }
    }

    #[cold]
    fn plan_otherwise(&mut self, node: u32, window: u64) {
        let next_event = &mut self.inboxes[node as usize].next_event;
        assert!(window >= self.current, "a unit would act in the past");
        if window >= NextEvent::NEVER {
            // Behind the end of the longest run.
            next_event.set_window(NextEvent::NEVER);
            return;
        }
        if window == self.current {
            next_event.set_window(window);
            self.unfinished.push(node);
            return;
        }
        let far_wake = &mut self.far_wakes[node as usize];
        let at = Time::from_ps(window << self.shift);
        if at < *far_wake {
            *far_wake = at;
            self.far.push(Reverse(Far {
                at,
                node,
                handle: Handle::NONE,
                from: Transmission::NONE,
            }));
        }
        // An earlier wake may be in the heap already.
        next_event.set_window(far_wake.as_ps() >> self.shift);
    }

    /// Plans a run at `at`, in a later window, of a node that runs for every event.
    pub(super) fn wake(&mut self, node: u32, at: Time) {
        let window = at.as_ps() >> self.shift;
        assert!(window > self.current, "a notice would arrive in the window in which it was sent");
        if window < self.inboxes[node as usize].next_event.window() {
            self.plan(node, window);
        }
    }

    #[cold]
    fn arrive_far(&mut self, node: u32, at: Time, handle: Handle, from: Transmission) {
        assert!(
            at.as_ps() >> self.shift > self.current,
            "a packet would arrive in the window in which it was sent"
        );
        self.far.push(Reverse(Far { at, node, handle, from }));
    }

    /// Moves events into the wheel that now lie within it. Returns whether there was any.
    #[inline]
    fn draw_near(&mut self) -> bool {
        let mut is_any = false;
        while let Some(&Reverse(far)) = self.far.peek() {
            let window = far.at.as_ps() >> self.shift;
            if window > self.current + self.wheel_mask {
                break;
            }
            self.far.pop();
            is_any = true;
            if far.handle.is_none() {
                if self.far_wakes[far.node as usize] == far.at {
                    self.far_wakes[far.node as usize] = Time::NEVER;
                }
                self.mark(self.slot(window), far.node);
            } else {
                let ahead = window - self.current;
                self.put(far.node, far.at, ahead, far.handle, far.from);
            }
        }
        is_any
    }

    /// Puts a packet into its inbox, `ahead` windows before it arrives, and brings the node's run forward if needed.
    #[inline(always)]
    fn put(&mut self, node: u32, at: Time, ahead: u64, handle: Handle, from: Transmission) {
        let place = self.flights.insert(at, handle, from);
        let inbox = &mut self.inboxes[node as usize];
        let number = usize::from(ahead > SHORT);
        let list = &mut inbox.lists[number];
        // The last time of an empty list is past, so that this is nearly always true.
        if at > list.last_at {
            let is_empty = list.first.is_none();
            let last = select_unpredictable(is_empty, Place::NONE, list.last);
            list.first = select_unpredictable(is_empty, place, list.first);
            list.first_at = list.first_at.min(at);
            self.flights.link_behind(last, place);
            list.last = place;
            list.last_at = at;
        } else {
            let is_running = node == self.running;
            inbox.put_between(&mut self.flights, number, place, self.ties, is_running);
        }
        inbox.next_event.add_packet();
        let busy_until =
            if inbox.next_event.packets() > MAX_PENDING { 0 } else { inbox.busy_until };
        let window = (self.current + ahead).max(busy_until);
        if window < inbox.next_event.window() {
            self.plan(node, window);
        }
    }

    /// Sorts an inbox, if need be, before packets are taken out.
    #[inline(always)]
    pub(super) fn open(&mut self, node: u32) {
        self.running = node;
        if self.inboxes[node as usize].next_event.is_unsorted() {
            self.sort(node);
        }
    }

    #[inline(never)]
    fn sort(&mut self, node: u32) {
        let flights = &mut self.flights;
        let ties = self.ties;
        let inbox = &mut self.inboxes[node as usize];
        inbox.next_event.set_sorted();
        for list in &mut inbox.lists {
            self.sorting.clear();
            let mut place = list.first;
            while !place.is_none() {
                self.sorting.push((flights.at(place), flights.from(place), place));
                place = flights.next(place);
            }
            // In order except for the last packets.
            self.sorting.sort_by(|a, b| ties.order((a.0, a.1), (b.0, b.1)));
            let mut after = Place::NONE;
            for &(_, _, place) in self.sorting.iter().rev() {
                flights.set_next(place, after);
                after = place;
            }
            list.first = after;
            if let Some(&(_, _, last)) = self.sorting.last() {
                list.last = last;
            }
        }
    }

    #[inline(always)]
    pub(super) fn first_arrival(&self, node: u32) -> Time {
        self.inboxes[node as usize].first_arrival()
    }

    /// Takes the first packet, with its transmission, out of an inbox.
    #[inline(always)]
    pub(super) fn take_first(&mut self, arena: &Arena, node: u32) -> (Handle, Transmission) {
        let (ties, flights) = (self.ties, &mut self.flights);
        let inbox = &mut self.inboxes[node as usize];
        let [short, long] = &inbox.lists;
        let mut number = select_unpredictable(long.first_at < short.first_at, 1, 0);
        if long.first_at == short.first_at {
            let tie = |first: Place| ties.tie(flights.from(first));
            number = usize::from(tie(long.first) < tie(short.first));
        }
        let list = &mut inbox.lists[number];
        let place = list.first;
        let (handle, next) = (flights.handle(place), flights.next(place));
        list.first = next;
        list.first_at = flights.at(next);
        arena.prefetch(flights.handle(next));
        inbox.next_event.remove_packet();
        let from = flights.from(place);
        flights.remove(place);
        (handle, from)
    }
}

impl Wheel {
    /// Marks nodes with more to do in the current window, so that they run when it continues.
    pub(super) fn keep_unfinished(&mut self) {
        debug_assert!(
            self.letter_count == 0,
            "a window ends when its packets are in their inboxes"
        );
        let slot = self.slot(self.current);
        while let Some(node) = self.unfinished.pop() {
            self.mark(slot, node);
        }
    }

    /// Moves the nodes of the current window from the bitmaps into `nodes`. Returns their number.
    #[inline]
    pub(super) fn collect(&mut self, nodes: &mut Table<u32>) -> usize {
        let count = self.collect_where(nodes, |_, _| u64::MAX);
        self.choose_way(count);
        count
    }

    /// Chooses the way of packets: posting helps only while there is other work.
    fn choose_way(&mut self, count: usize) {
        self.posts = self.is_large && count >= LETTERS;
        self.way = if self.posts { Way::Posted } else { Way::Direct };
    }

    /// Collects the nodes to which no other thread sends. They send to no other thread either.
    pub(super) fn collect_inner(&mut self, nodes: &mut Table<u32>) -> usize {
        let count = self.collect_where(nodes, |wheel, word| !wheel.border(word));
        self.choose_way(count);
        count
    }

    pub(super) fn collect_border(&mut self, nodes: &mut Table<u32>) -> usize {
        let count = self.collect_where(nodes, Wheel::border);
        self.choose_way(count);
        self.way = Way::Sorted;
        count
    }

    /// Returns a bit for each of 64 nodes to which other threads send.
    #[inline(always)]
    fn border(&self, word: usize) -> u64 {
        self.outgoing.as_ref().expect("one thread of several").border(word)
    }

    #[inline(always)]
    fn collect_where(
        &mut self,
        nodes: &mut Table<u32>,
        mask_of: impl Fn(&Wheel, usize) -> u64,
    ) -> usize {
        let slot = self.slot(self.current);
        let mut count = 0;
        for summary_word in 0..self.summary_words {
            let summary_at = slot * self.summary_words + summary_word;
            let summary = self.summary[summary_at];
            for bit in bits(summary) {
                let word = summary_word * 64 + bit;
                let mask = mask_of(self, word);
                let active = &mut self.active[slot * self.words + word];
                for node in bits(*active & mask) {
                    nodes[count] = (word * 64 + node) as u32;
                    count += 1;
                }
                *active &= !mask;
                if *active == 0 {
                    self.summary[summary_at] &= !(1 << bit);
                }
            }
        }
        count
    }

    /// Returns whether the node must run in this window. A mark may be left over from a run brought forward.
    #[inline(always)]
    pub(super) fn is_due(&self, node: u32) -> bool {
        self.inboxes[node as usize].next_event.window() <= self.current
    }

    #[inline(always)]
    pub(super) fn packets(&self, node: u32) -> u64 {
        self.inboxes[node as usize].next_event.packets()
    }

    /// Arranges the next run of a node whose transmitter is busy until `busy_until` and that acts by itself at `next`.
    #[inline(always)]
    pub(super) fn leave(&mut self, node: u32, busy_until: Time, next: Time) {
        // Arrivals are processed within the wheel.
        let busy_until = busy_until.min(self.base + self.longest_wait);
        let arrival = self.first_arrival(node).max(busy_until);
        self.inboxes[node as usize].busy_until = busy_until.as_ps() >> self.shift;
        self.plan(node, next.min(arrival).as_ps() >> self.shift);
    }

    /// Collects the nodes with an arrival before `limit` for which they have not run.
    pub(super) fn behind(&self, limit: Time, nodes: &mut Vec<u32>) {
        // A node with waiting packets has a run within the wheel.
        for slot in 0..=self.wheel_mask as usize {
            let first = slot * self.summary_words;
            for summary_word in 0..self.summary_words {
                for word in bits(self.summary[first + summary_word]) {
                    let word = summary_word * 64 + word;
                    for bit in bits(self.active[slot * self.words + word]) {
                        let node = (word * 64 + bit) as u32;
                        if self.first_arrival(node) < limit {
                            nodes.push(node);
                        }
                    }
                }
            }
        }
        // A node may be marked in several windows.
        nodes.sort_unstable();
        nodes.dedup();
    }

    #[inline(always)]
    pub(super) fn prefetch_inbox(&self, node: u32) {
        self.inboxes.prefetch(node as usize);
    }

    /// First packets of a node's inbox; each may be empty.
    #[inline(always)]
    pub(super) fn firsts(&self, node: u32) -> [Handle; 2] {
        self.inboxes[node as usize].lists.map(|list| self.flights.handle(list.first))
    }

    /// Packet that arrives next at a node, as known now.
    #[inline(always)]
    pub(super) fn next_packet(&self, node: u32) -> Option<Handle> {
        let [short, long] = &self.inboxes[node as usize].lists;
        let list = if long.first_at < short.first_at { long } else { short };
        (list.first_at < Time::NEVER).then(|| self.flights.handle(list.first))
    }
}

fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then_some(word.trailing_zeros() as usize);
        word &= word.wrapping_sub(1);
        bit
    })
}

impl EventSink for Wheel {
    #[inline(always)]
    fn arrive(
        &mut self,
        arena: &mut Arena,
        node: u32,
        at: Time,
        handle: Handle,
        from: Transmission,
    ) {
        match self.way {
            Way::Direct => self.deliver(node, at, handle, from),
            Way::Posted => self.post(Far { at, node, handle, from }),
            Way::Sorted => self.sort_out(arena, Far { at, node, handle, from }),
        }
    }
    #[inline]
    fn touched(&mut self, port: u32) {
        // The ports of its switch run together, this one included.
        self.touched.push(port);
    }
}

impl Wheel {
    /// Prefetches an inbox to deliver the packet later: large networks have inboxes outside the cache.
    #[inline(always)]
    fn post(&mut self, letter: Far) {
        self.inboxes.prefetch(letter.node as usize);
        self.letters[self.letter_count] = letter;
        self.letter_count += 1;
        if self.letter_count == LETTERS {
            self.deliver_letters();
        }
    }

    /// Keeps a packet, or sends it to the thread that owns its node.
    #[inline(never)]
    fn sort_out(&mut self, arena: &mut Arena, letter: Far) {
        let Far { at, node, handle, from } = letter;
        let is_mine = match &mut self.outgoing {
            Some(outgoing) => !outgoing.send(arena, node, at, handle, from),
            None => true,
        };
        if is_mine && self.posts {
            self.post(letter);
        } else if is_mine {
            self.deliver(node, at, handle, from);
        }
    }

    #[inline(never)]
    pub(super) fn deliver_letters(&mut self) {
        for index in 0..mem::take(&mut self.letter_count) {
            let Far { at, node, handle, from } = self.letters[index];
            self.deliver(node, at, handle, from);
        }
    }

    /// Takes a packet of another thread, which may arrive in the current window, before its node runs.
    #[inline(always)]
    pub(super) fn accept(&mut self, node: u32, at: Time, handle: Handle, from: Transmission) {
        let ahead = (at.as_ps() >> self.shift).wrapping_sub(self.current);
        if ahead <= self.wheel_mask {
            self.put(node, at, ahead, handle, from);
        } else {
            self.arrive_far(node, at, handle, from);
        }
    }

    #[inline(always)]
    fn deliver(&mut self, node: u32, at: Time, handle: Handle, from: Transmission) {
        let ahead = (at.as_ps() >> self.shift).wrapping_sub(self.current);
        if ahead.wrapping_sub(1) < self.wheel_mask {
            self.put(node, at, ahead, handle, from);
        } else {
            self.arrive_far(node, at, handle, from);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use trimline_packet::{ConnectionId, Flags, Header, HostId, Kind, Packet, PathId, Service};

    const TIES: Ties = Ties::new(7, 1000);
    const SHIFT: u32 = 10;

    fn packet() -> Packet {
        let header = Header {
            kind: Kind::Ack,
            flags: Flags::default(),
            path: PathId::new(0),
            connection: ConnectionId::new(0),
            sequence: 0,
            extra: 0,
        };
        let (source, destination) = (HostId::new(0), HostId::new(1));
        let service = Service::Control;
        Packet { source, destination, header, wire_bytes: 64, service: service.into(), marks: 0 }
    }

    proptest! {
        /// A sorted vector agrees, for any number and order of packets.
        #[test]
        fn packets_leave_an_inbox_in_the_order_of_their_times(
            steps in prop::collection::vec((0u64..30, 0u32..40, 0u8..4), 1..200),
        ) {
            let (mut arena, mut wheel) = (Arena::new(), Wheel::new(2, SHIFT, 30, TIES));
            let mut sent: Vec<(Time, u64, Handle)> = Vec::new();
            let mut links = std::collections::BTreeSet::new();
            for (late, link, take) in steps {
                // Few different times, so that many packets arrive at one instant.
                let at = Time::from_ps((1 << SHIFT) + late * 512);
                if links.insert((at, link)) {
                    let handle = arena.insert(packet());
                    let from = Transmission::new(link, late);
                    wheel.arrive(&mut arena, 0, at, handle, from);
                    sent.push((at, TIES.tie(from), handle));
                }
                sent.sort();
                let first = sent.first().map_or(Time::NEVER, |&(at, ..)| at);
                prop_assert_eq!(wheel.first_arrival(0), first);
                if take == 0 && !sent.is_empty() {
                    wheel.open(0);
                    let (at, tie, handle) = sent.remove(0);
                    let (taken, from) = wheel.take_first(&arena, 0);
                    prop_assert_eq!(taken, handle);
                    prop_assert_eq!(TIES.tie(from), tie);
                    links.remove(&(at, from.link()));
                    arena.release(handle);
                } else if take == 1 {
                    // Another node runs: what arrives now waits for the next run.
                    wheel.open(1);
                }
            }
        }
    }

    /// Two packets at one instant: one travelled for long, one did not.
    #[test]
    fn at_one_instant_the_hash_orders_packets_of_all_lists() {
        for link in 1..40 {
            let (mut arena, mut wheel) = (Arena::new(), Wheel::new(1, SHIFT, 30, TIES));
            let at = Time::from_ps((5 << SHIFT) + u64::from(link));
            let far = arena.insert(packet());
            wheel.arrive(&mut arena, 0, at, far, Transmission::new(0, 1));
            wheel.begin(Time::from_ps(4 << SHIFT));
            let near = arena.insert(packet());
            let from = Transmission::new(link, 2);
            wheel.arrive(&mut arena, 0, at, near, from);
            wheel.open(0);
            let is_far = TIES.tie(Transmission::new(0, 1)) < TIES.tie(from);
            let (first, _) = wheel.take_first(&arena, 0);
            assert_eq!(first, if is_far { far } else { near }, "{link}");
        }
    }

    #[test]
    fn a_busy_node_runs_only_for_many_arrivals() {
        let (mut arena, mut wheel) = (Arena::new(), Wheel::new(1, SHIFT, 30, TIES));
        wheel.leave(0, Time::from_ps(20 << SHIFT), Time::NEVER);
        assert_eq!(wheel.inboxes[0].next_event.window(), NextEvent::NEVER);
        for number in 0..=MAX_PENDING {
            let at = Time::from_ps((5 << SHIFT) + number);
            let handle = arena.insert(packet());
            wheel.arrive(&mut arena, 0, at, handle, Transmission::NONE);
            let expected = if number < MAX_PENDING { 20 } else { 5 };
            assert_eq!(wheel.inboxes[0].next_event.window(), expected, "{number}");
        }
        let mut behind = Vec::new();
        wheel.behind(Time::from_ps(6 << SHIFT), &mut behind);
        assert_eq!(behind, [0]);
        behind.clear();
        wheel.behind(Time::from_ps(5 << SHIFT), &mut behind);
        assert!(behind.is_empty());
    }
}
