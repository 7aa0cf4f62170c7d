//! The flows of a run that are under way, with their progress.
//!
//! A flow is made when it starts, and forgotten some time after both its ends know that it is over ([`Flows::forget`]).
//! So memory depends on the flows under way alone.
//!
//! # The number of a connection
//! The opening host numbers a flow's connection: the place of the flow among the host's flows under way, and a
//! *generation*, which differs for each flow at the place. A late packet of a forgotten flow names an old generation,
//! and meets an unknown connection. A host assigns places and slots in the order of its own events, so no number
//! depends on the engine or on the number of threads.
//!
//! # Persistent connections
//! The flow of a persistent connection is its first message: it names the connection's streams, hosts, class and
//! transport, which all messages share. [`persistent`] holds the message under way, and those behind it.
//!
//! # Threads
//! Mutable state of a flow belongs to one of its streams, and so to the thread that drives the stream's host. Places
//! are forgotten while no thread works.

mod persistent;

use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::io;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use trimline_packet::{ByteCount, ConnectionId, Time};
use trimline_transport::{Key, RngStream, Side, flow};

pub(crate) use persistent::{Course, Totals};
use persistent::{Persistent, PersistentConnections, Turn};

use crate::flow::Flow;
use crate::random::{self, Purpose};
use crate::table::{self, Growing, Shared};
use crate::workload::{Applications, Persistence};

/// Bits of a connection's number that are the flow's place; the others are its generation.
const PLACE_BITS: u32 = 22;
const PLACE: u32 = (1 << PLACE_BITS) - 1;
/// Maximum number of flows that a host can send at a time, and send and receive together.
pub(crate) const MAX_OF_HOST: u32 = PLACE - 1;
/// Generations of a place, without the last, which stands for streams that are not open.
const GENERATIONS: u32 = (1 << (32 - PLACE_BITS)) - 1;

/// In place of a stream's generation: the endpoint has released its slot, kept for the record.
const CLOSED: u32 = GENERATIONS << PLACE_BITS;
/// No slot yet.
const NO_SLOT: u32 = CLOSED | PLACE;
/// The host had no slot left: the run fails.
const NONE_LEFT: u32 = CLOSED | (PLACE - 1);

/// A flow under way, or a place for one. Fields for each packet come first.
#[repr(C)]
struct Live {
    /// Changes while no thread works.
    generation: AtomicU32,
    /// Slot and generation of each open stream: one word says whether a connection's number is known and where.
    /// [`NO_SLOT`] before the stream opens, then [`CLOSED`] and the slot. Changed by the stream's own host.
    sides: [AtomicU32; 2],
    /// Departure of the first packet, in picoseconds, or never. For a persistent connection see [`persistent`].
    left: AtomicU64,
    acknowledged: AtomicU64,
    delivered: AtomicU64,
    /// Payload that had arrived at the end of the warm-up.
    before: AtomicU64,
    flow: UnsafeCell<Flow>,
}

// SAFETY: `flow` is written by the thread of the host that opens the flow, before any other thread can have heard of
// it, or while no other thread works; all else are atomics.
unsafe impl Sync for Live {}

impl Default for Live {
    fn default() -> Live {
        Live {
            generation: AtomicU32::new(0),
            sides: [const { AtomicU32::new(NO_SLOT) }; 2],
            left: AtomicU64::new(Time::NEVER.as_ps()),
            acknowledged: AtomicU64::new(Time::NEVER.as_ps()),
            delivered: AtomicU64::new(Time::NEVER.as_ps()),
            before: AtomicU64::new(0),
            flow: UnsafeCell::new(Flow::NONE),
        }
    }
}

impl Live {
    #[inline(always)]
    fn side(&self, side: Side) -> &AtomicU32 {
        &self.sides[match side {
            Side::Sending => 0,
            Side::Receiving => 1,
        }]
    }

    fn flow(&self) -> &Flow {
        // SAFETY: written before anybody could ask, see `Sync`.
        unsafe { &*self.flow.get() }
    }

    fn is_under_way(&self) -> bool {
        self.flow().start != Time::NEVER
    }
}

/// Small numbers for reuse: the number returned last is taken first.
#[derive(Default)]
struct Numbers {
    free: Vec<u32>,
    next: u32,
}

impl Numbers {
    fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        })
    }
}

#[derive(Default)]
struct Book {
    places: Numbers,
    slots: Numbers,
    persistent: PersistentConnections,
}

#[derive(Clone, Copy, Default)]
pub(crate) struct Seen {
    started: u64,
    /// Sized flows that ended, as their senders know.
    finished: u64,
    delivered: u64,
    last_change: Time,
}

/// A flow under way: the host that opened it, and its place there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Opened {
    pub(crate) by: u32,
    place: u32,
}

/// A command to the endpoint of a flow that begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begun {
    Open(ConnectionId, Flow),
    Send(Further),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Further {
    /// The send stream.
    pub(crate) key: Key,
    pub(crate) length: ByteCount,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Seat {
    pub(crate) flow: Flow,
    /// Departure of the first packet.
    pub(crate) left: Option<Time>,
    pub(crate) delivered: Option<Time>,
    pub(crate) acknowledged: Option<Time>,
    /// Slots of its streams, if they were opened.
    pub(crate) sender: Option<u32>,
    pub(crate) receiver: Option<u32>,
    /// Payload that had arrived at the end of the warm-up.
    pub(crate) before: u64,
}

/// All flows under way, and the applications that start them.
pub(crate) struct Flows {
    live: Shared<Growing<Live>>,
    books: Shared<Book>,
    pub(crate) applications: Applications,
    /// Hash of each workload's name: part of a flow's identity.
    workload_names: Arc<[u64]>,
    /// Purposes of the streams' random numbers: of flows, and of pairs; of senders, and of receivers.
    sides: [[Purpose; 2]; 2],
    transports: Arc<[u8]>,
    keeps: Arc<[bool]>,
    /// By workload: how it uses its connections.
    persistence: Arc<[Persistence]>,
    /// By place, parallel to `live`; empty without persistent connections.
    persistent: Shared<Growing<Persistent>>,
    any_switch_random: bool,
    seen: Seen,
    /// Ended messages of persistent connections of this thread.
    messages: Vec<Course>,
    /// Ended sized flows of this thread, as their senders know, with the times.
    ended: Vec<(Time, Opened)>,
    failure: Option<String>,
}

impl Flows {
    pub(crate) fn new(applications: Applications, hosts: u32, transports: Arc<[u8]>) -> Flows {
        let keeps = applications.keeps();
        let keepers = if keeps.contains(&true) { hosts } else { 0 };
        Flows {
            keeps,
            persistence: applications.persistence(),
            persistent: (0..keepers).map(|_| Growing::new()).collect(),
            live: (0..hosts).map(|_| Growing::new()).collect(),
            books: (0..hosts).map(|_| Book::default()).collect(),
            workload_names: applications.names(),
            sides: [["flow sender", "flow receiver"], ["pair sender", "pair receiver"]]
                .map(|of| of.map(|purpose| Purpose::new(applications.seed(), purpose))),
            transports,
            any_switch_random: applications.any_switch_random(),
            applications,
            messages: Vec::new(),
            seen: Seen::default(),
            ended: Vec::new(),
            failure: None,
        }
    }

    /// Returns a view for another thread of the run.
    ///
    /// # Safety
    /// See [`Shared::view`]: one thread at a time uses the state of a host.
    pub(crate) unsafe fn view(&self) -> Flows {
        // SAFETY: promised by the caller.
        unsafe {
            Flows {
                live: self.live.view(),
                books: self.books.view(),
                keeps: Arc::clone(&self.keeps),
                persistence: Arc::clone(&self.persistence),
                persistent: self.persistent.view(),
                messages: Vec::new(),
                applications: self.applications.view(),
                workload_names: Arc::clone(&self.workload_names),
                sides: self.sides,
                transports: Arc::clone(&self.transports),
                any_switch_random: self.any_switch_random,
                seen: Seen::default(),
                ended: Vec::new(),
                failure: None,
            }
        }
    }

    pub(crate) fn gather(&mut self, other: &mut Flows) {
        let seen = mem::take(&mut other.seen);
        self.seen.started += seen.started;
        self.seen.finished += seen.finished;
        self.seen.delivered += seen.delivered;
        self.seen.last_change = self.seen.last_change.max(seen.last_change);
        self.ended.append(&mut other.ended);
        self.messages.append(&mut other.messages);
        self.applications.gather(&mut other.applications);
        if self.failure.is_none() {
            self.failure = other.failure.take();
        }
    }

    pub(crate) fn any_switch_random(&self) -> bool {
        self.any_switch_random
    }

    /// Numbers of known and of ended sized flows, as their senders know.
    pub(crate) fn progress(&self) -> (u64, u64) {
        (self.applications.known(), self.seen.finished)
    }

    /// Returns whether all sized flows have ended at their senders, and none will start.
    pub(crate) fn are_over(&self) -> bool {
        self.seen.started == self.seen.finished && self.applications.are_done()
    }

    /// Returns whether all last bytes of started sized flows have arrived. A sender that waits for no ACKs ends before.
    pub(crate) fn are_delivered(&self) -> bool {
        self.seen.started == self.seen.delivered
    }

    pub(crate) fn has_sized(&self) -> bool {
        self.seen.started > 0
    }

    pub(crate) fn last_change(&self) -> Time {
        self.seen.last_change
    }

    pub(crate) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Appends the sized flows that ended since the last call.
    pub(crate) fn take_ended(&mut self, ended: &mut VecDeque<(Time, Opened)>) {
        ended.extend(self.ended.drain(..));
    }

    /// Takes the messages of persistent connections that ended since the last call.
    pub(crate) fn take_messages(&mut self) -> Vec<Course> {
        mem::take(&mut self.messages)
    }

    /// Start of a host's next flow, as far as the host knows; never, if there is none.
    pub(crate) fn next_start(&self, host: u32) -> Time {
        self.applications.next_start(host)
    }

    /// Begins the flow due at a host at `now`, if any. A message may have to wait.
    pub(crate) fn begin(&mut self, host: u32, now: Time) -> Option<Begun> {
        let flow = self.applications.start_due(host, now)?;
        self.seen.started += u64::from(flow.size.is_some());
        if self.keeps[flow.workload as usize] {
            return self.begin_message(host, flow);
        }
        Some(Begun::Open(self.open(host, flow)?, flow))
    }

    fn begin_message(&mut self, host: u32, flow: Flow) -> Option<Begun> {
        let owner =
            [u64::from(flow.source.get()), self.workload_names[flow.workload as usize], flow.index];
        let seed = self.applications.seed();
        let draw = |idle| random::below(&mut random::stream(seed, "connection", &owner), idle);
        let persistence = &self.persistence[flow.workload as usize];
        let turn = self.books[host as usize].persistent.place(flow, persistence, draw)?;
        if turn.connection.is_some() {
            return Some(Begun::Send(self.hand_over(host, turn)));
        }
        let connection = self.open(host, turn.flow)?;
        self.books[host as usize].persistent.open(&turn.flow, connection);
        self.persistent[host as usize].grow_to(connection.get() & PLACE).begin(turn.flow);
        Some(Begun::Open(connection, turn.flow))
    }

    fn open(&mut self, host: u32, flow: Flow) -> Option<ConnectionId> {
        let place = self.books[host as usize].places.take();
        if place >= MAX_OF_HOST {
            self.fail_beyond_numbers(host);
            return None;
        }
        let live = self.live[host as usize].grow_to(place);
        // SAFETY: nobody else knows of the place yet.
        unsafe { *live.flow.get() = flow };
        let generation = live.generation.load(Ordering::Relaxed);
        Some(ConnectionId::new(generation << PLACE_BITS | place))
    }

    fn hand_over(&mut self, host: u32, turn: Turn) -> Further {
        let Turn { flow, connection } = turn;
        let connection = connection.expect("a connection that was opened");
        self.persistent_at(host, connection).begin(flow);
        let (peer, side) = (flow.destination, Side::Sending);
        let length = flow.size.expect("a message has a size");
        Further { key: Key { peer, connection, opened_here: true, side }, length }
    }

    fn persistent_at(&self, opener: u32, connection: ConnectionId) -> &Persistent {
        let persistent = self.persistent[opener as usize].find(connection.get() & PLACE);
        persistent.expect("a persistent connection")
    }

    #[cold]
    fn fail_beyond_numbers(&mut self, host: u32) {
        self.failure.get_or_insert_with(|| {
            format!("host {host} has {MAX_OF_HOST} flows under way, more than it can number")
        });
    }

    #[inline]
    fn live(&self, opener: u32, connection: ConnectionId) -> Option<&Live> {
        let live = self.live[opener as usize].find(connection.get() & PLACE)?;
        let generation = live.generation.load(Ordering::Relaxed);
        (generation == connection.get() >> PLACE_BITS).then_some(live)
    }

    /// Host that opened a connection that `host` knows by this key.
    #[inline]
    fn opener(host: u32, key: Key) -> u32 {
        if key.opened_here { host } else { key.peer.get() }
    }

    #[inline]
    pub(crate) fn find(&self, host: u32, key: Key) -> Option<u32> {
        let number = key.connection.get();
        let live = self.live[Flows::opener(host, key) as usize].find(number & PLACE)?;
        // The rest is the slot if the generations are equal.
        let slot = live.side(key.side).load(Ordering::Relaxed) ^ (number & !PLACE);
        (slot <= PLACE).then_some(slot)
    }

    /// Prefetches the data of [`Flows::find`].
    #[inline(always)]
    pub(crate) fn prefetch(&self, host: u32, key: Key) {
        let live = self.live.find(Flows::opener(host, key) as usize);
        if let Some(live) = live {
            live.prefetch(key.connection.get() & PLACE);
        }
    }

    /// Returns whether a stream of a flow under way may be opened: it never was.
    pub(crate) fn accepts(&self, host: u32, key: Key) -> bool {
        self.live(Flows::opener(host, key), key.connection).is_some_and(|live| {
            live.is_under_way() && live.side(key.side).load(Ordering::Relaxed) == NO_SLOT
        })
    }

    pub(crate) fn assign(&mut self, host: u32, key: Key) -> u32 {
        assert!(
            self.accepts(host, key),
            "host {host} opens {key:?} a second time: it had forgotten the side while packets of it were on their way; expected \
             `Protocol::time_wait` to be longer than a packet and its retransmissions take"
        );
        let slot = self.books[host as usize].slots.take();
        let live = self.live(Flows::opener(host, key), key.connection).expect("it accepts");
        let number = match slot {
            0..MAX_OF_HOST => live.generation.load(Ordering::Relaxed) << PLACE_BITS | slot,
            MAX_OF_HOST.. => NONE_LEFT,
        };
        live.side(key.side).store(number, Ordering::Relaxed);
        if number == NONE_LEFT {
            self.fail_beyond_numbers(host);
        }
        slot
    }

    /// Closes a stream that its endpoint releases. The slot is not reused before the flow is forgotten.
    pub(crate) fn release(&mut self, host: u32, key: Key) {
        if let Some(live) = self.live(Flows::opener(host, key), key.connection) {
            live.side(key.side).fetch_or(CLOSED, Ordering::Relaxed);
        }
    }

    #[inline]
    pub(crate) fn is_persistent(&self, host: u32, key: Key) -> bool {
        if self.persistent.len() == 0 {
            return false;
        }
        let flow = self.description(Flows::opener(host, key), key.connection);
        flow.is_some_and(|flow| self.keeps[flow.workload as usize])
    }

    pub(crate) fn keeps(&self, workload: u32) -> bool {
        self.keeps[workload as usize]
    }

    pub(crate) fn carries_messages(&self, opened: Opened) -> bool {
        self.keeps[self.place(opened).flow().workload as usize]
    }

    /// Flow of a connection, or the message under way on a persistent one.
    pub(crate) fn carried(&self, opener: u32, connection: ConnectionId) -> Option<Flow> {
        let first = *self.description(opener, connection)?;
        match self.keeps[first.workload as usize] {
            true => self.persistent_at(opener, connection).flow(),
            false => Some(first),
        }
    }

    /// Flow of a connection, or the first flow of a persistent one, unless it was forgotten.
    pub(crate) fn description(&self, opener: u32, connection: ConnectionId) -> Option<&Flow> {
        self.live(opener, connection).map(Live::flow)
    }

    /// Records that a packet leaves its connection's opener. Returns whether it is the first of the flow or message.
    pub(crate) fn leave(&mut self, opener: u32, connection: ConnectionId, now: Time) -> bool {
        let Some(live) = self.live(opener, connection) else { return false };
        if self.keeps[live.flow().workload as usize] {
            return self.persistent_at(opener, connection).leave(now);
        }
        let is_first = live.left.load(Ordering::Relaxed) == Time::NEVER.as_ps();
        if is_first {
            live.left.store(now.as_ps(), Ordering::Relaxed);
        }
        is_first
    }

    /// RNG stream of a send or receive stream, named by the flow, not its number; by the pair, if all its flows share
    /// paths.
    pub(crate) fn stream(&self, host: u32, key: Key) -> RngStream {
        let flow = self.description(Flows::opener(host, key), key.connection);
        self.stream_of(flow.expect("a half is of a flow under way"), key.side)
    }

    /// Returns [`Flows::stream`] of a flow that is already looked up.
    pub(crate) fn stream_of(&self, flow: &Flow, side: Side) -> RngStream {
        let is_per_pair = self.applications.is_per_pair(flow.workload);
        let [sender, receiver] = self.sides[usize::from(is_per_pair)];
        let purpose = match side {
            Side::Sending => sender,
            Side::Receiving => receiver,
        };
        let name = self.workload_names[flow.workload as usize];
        let number = if is_per_pair { flow.destination.get().into() } else { flow.index };
        purpose.of(&[u64::from(flow.source.get()), name, number])
    }

    /// Place of a connection's transport in the plan, unless its flow was forgotten.
    pub(crate) fn transport_of(&self, host: u32, key: Key) -> Option<usize> {
        let flow = self.description(Flows::opener(host, key), key.connection)?;
        Some(usize::from(self.transports[flow.workload as usize]))
    }

    /// Records an event of a flow at `host`. Its consequences happen at the same host.
    pub(crate) fn record(&mut self, host: u32, event: flow::Event, now: Time) {
        self.seen.last_change = self.seen.last_change.max(now);
        let (flow::Event::Delivered { key, .. } | flow::Event::Acknowledged { key, .. }) = event;
        let opener = Flows::opener(host, key);
        let live = self.live(opener, key.connection).expect("a half is of a flow under way");
        let flow = *live.flow();
        let end = match event {
            flow::Event::Delivered { .. } => &live.delivered,
            flow::Event::Acknowledged { .. } => &live.acknowledged,
        };
        if end.load(Ordering::Relaxed) != Time::NEVER.as_ps() {
            return;
        }
        end.store(now.as_ps(), Ordering::Relaxed);
        match event {
            flow::Event::Delivered { .. } => {
                self.seen.delivered += u64::from(flow.size.is_some());
                self.applications.delivered(&flow, now);
            }
            flow::Event::Acknowledged { .. } => {
                if flow.size.is_some() {
                    self.seen.finished += 1;
                    let place = key.connection.get() & PLACE;
                    self.ended.push((now, Opened { by: opener, place }));
                }
                self.applications.acknowledged(&flow, now);
            }
        }
    }

    /// Records an event of a persistent connection's message at `host`, whose stream has counted `totals`. Returns the
    /// next message of the host.
    pub(crate) fn record_message(
        &mut self,
        host: u32,
        event: flow::Event,
        now: Time,
        totals: Totals,
    ) -> Option<Further> {
        self.seen.last_change = self.seen.last_change.max(now);
        match event {
            flow::Event::Delivered { key, .. } => {
                let persistent = self.persistent_at(Flows::opener(host, key), key.connection);
                let flow = persistent.deliver(now, totals);
                self.seen.delivered += 1;
                self.applications.delivered(&flow, now);
                if !self.persistence[flow.workload as usize].answers {
                    return None;
                }
                // The requests are the workload before.
                let persistence = &self.persistence[flow.workload as usize - 1];
                let next = self.books[host as usize].persistent.answered(&flow, persistence);
                next.map(|turn| self.hand_over(host, turn))
            }
            flow::Event::Acknowledged { key, .. } => {
                let live = self.live(host, key.connection).expect("a half is of a flow under way");
                let before = live.before.load(Ordering::Relaxed);
                let course =
                    self.persistent_at(host, key.connection).acknowledge(now, totals, before);
                self.seen.finished += 1;
                self.messages.push(course);
                self.applications.acknowledged(&course.flow, now);
                let persistence = &self.persistence[course.flow.workload as usize];
                let next =
                    self.books[host as usize].persistent.acknowledged(&course.flow, persistence);
                next.map(|turn| self.hand_over(host, turn))
            }
        }
    }

    /// Course so far of a persistent connection's present message, if any, from both streams' counts.
    pub(crate) fn course(&self, opened: Opened, sent: Totals, received: Totals) -> Option<Course> {
        let before = self.place(opened).before.load(Ordering::Relaxed);
        self.persistent_at(opened.by, self.connection(opened)).course(sent, received, before)
    }

    /// Calls `take` with every waiting message, host by host.
    ///
    /// # Errors
    /// Returns the errors of `take`.
    pub(crate) fn each_waiting(
        &self,
        take: &mut dyn FnMut(Course) -> io::Result<()>,
    ) -> io::Result<()> {
        self.waiting().try_for_each(|&flow| take(Course::waiting(flow)))
    }

    pub(crate) fn unsent_of_waiting(&self, unsent: &mut [u64]) {
        for flow in self.waiting() {
            unsent[flow.source.index()] += flow.size.map_or(0, ByteCount::get);
        }
    }

    fn waiting(&self) -> impl Iterator<Item = &Flow> {
        self.books.iter().flat_map(|book| book.persistent.waiting())
    }

    /// All flows under way, host by host; of a persistent connection the first.
    pub(crate) fn under_way(&self) -> impl Iterator<Item = Opened> + '_ {
        (0..self.books.len() as u32).flat_map(move |by| {
            let places = 0..self.books[by as usize].places.next.min(MAX_OF_HOST);
            let is_there = move |place: &u32| {
                self.live[by as usize].find(*place).is_some_and(Live::is_under_way)
            };
            places.filter(is_there).map(move |place| Opened { by, place })
        })
    }

    pub(crate) fn seat(&self, opened: Opened) -> Seat {
        let live = self.place(opened);
        let time = |end: &AtomicU64| {
            Some(Time::from_ps(end.load(Ordering::Relaxed))).filter(|&at| at != Time::NEVER)
        };
        let slot = |side| match live.side(side).load(Ordering::Relaxed) {
            NO_SLOT | NONE_LEFT => None,
            slot => Some(slot & PLACE),
        };
        Seat {
            flow: *live.flow(),
            left: time(&live.left),
            delivered: time(&live.delivered),
            acknowledged: time(&live.acknowledged),
            sender: slot(Side::Sending),
            receiver: slot(Side::Receiving),
            before: live.before.load(Ordering::Relaxed),
        }
    }

    pub(crate) fn prefetch_seat(&self, opened: Opened) {
        table::prefetch(std::ptr::from_ref(self.place(opened)).cast(), size_of::<Live>());
    }

    fn place(&self, opened: Opened) -> &Live {
        self.live[opened.by as usize].find(opened.place).expect("a place that was handed out")
    }

    pub(crate) fn connection(&self, opened: Opened) -> ConnectionId {
        let generation = self.place(opened).generation.load(Ordering::Relaxed);
        ConnectionId::new(generation << PLACE_BITS | opened.place)
    }

    /// Stores a flow's payload that had arrived at the end of the warm-up.
    pub(crate) fn set_before(&mut self, opened: Opened, bytes: u64) {
        self.place(opened).before.store(bytes, Ordering::Relaxed);
    }

    /// Forgets a flow whose endpoints have forgotten it. No other thread may work.
    pub(crate) fn forget(&mut self, opened: Opened) {
        let seat = self.seat(opened);
        let live = self.place(opened);
        let generation = live.generation.load(Ordering::Relaxed);
        live.generation.store((generation + 1) % GENERATIONS, Ordering::Relaxed);
        live.sides.iter().for_each(|side| side.store(NO_SLOT, Ordering::Relaxed));
        live.left.store(Time::NEVER.as_ps(), Ordering::Relaxed);
        live.acknowledged.store(Time::NEVER.as_ps(), Ordering::Relaxed);
        live.delivered.store(Time::NEVER.as_ps(), Ordering::Relaxed);
        live.before.store(0, Ordering::Relaxed);
        // SAFETY: no other thread works.
        unsafe { *live.flow.get() = Flow::NONE };
        self.books[opened.by as usize].places.free.push(opened.place);
        for (slot, host) in
            [(seat.sender, seat.flow.source), (seat.receiver, seat.flow.destination)]
        {
            self.books[host.index()].slots.free.extend(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;
    use crate::workload;

    /// A persistent connection takes the same memory, however many messages it carries.
    #[test]
    fn a_hundred_thousand_messages_use_one_slot() {
        let text = "topology.star.hosts = 2\nduration = \"1s\"\n[[workload]]\nname = \"w\"\n\
                    pairs = [[0, 1]]\nsize = \"9KB\"\narrivals.periodic.every = \"1us\"\n\
                    connection = \"persistent\"\n";
        let plan = Scenario::parse("s", text, &[]).unwrap().runs.remove(0).plan;
        let mut flows = Flows::new(workload::applications(&plan).unwrap(), 2, [0; 1].into());
        let Some(Begun::Open(connection, first)) = flows.begin(0, Time::ZERO) else {
            panic!("the first message opens the connection")
        };
        let (peer, side) = (first.destination, Side::Sending);
        let sending = Key { peer, connection, opened_here: true, side };
        let (peer, side) = (first.source, Side::Receiving);
        let receiving = Key { peer, connection, opened_here: false, side };
        for (host, key) in [(0, sending), (1, receiving)] {
            assert_eq!(flows.assign(host, key), 0);
        }
        for index in 0..100_000 {
            let now = flows.next_start(0);
            // The next message waits, and goes when the present one has ended.
            assert_eq!(flows.begin(0, now), None);
            assert_eq!(flows.waiting().map(|flow| flow.index).sum::<u64>(), index + 1);
            let delivered = flow::Event::Delivered { key: receiving, slot: 0 };
            assert_eq!(flows.record_message(1, delivered, now, Totals::default()), None);
            let acknowledged = flow::Event::Acknowledged { key: sending, slot: 0 };
            let next = flows.record_message(0, acknowledged, now, Totals::default());
            let length = first.size.unwrap();
            assert_eq!(next, Some(Further { key: sending, length }));
            let ended: Vec<u64> =
                flows.take_messages().iter().map(|course| course.flow.index).collect();
            assert_eq!((ended, flows.waiting().count()), (vec![index], 0));
        }
        assert_eq!(flows.under_way().count(), 1);
        assert!([0, 1].iter().all(|&host| flows.books[host].slots.next == 1));
        assert_eq!((flows.books[0].places.next, flows.seen.finished), (1, 100_000));
    }

    /// A place is used again, with new numbers until the generations begin anew.
    #[test]
    fn a_late_packet_of_a_forgotten_flow_finds_no_connection() {
        let text = "topology.star.hosts = 2\nduration = \"1s\"\n[[workload]]\nname = \"w\"\n\
                    pairs = [[0, 1]]\nsize = \"9KB\"\narrivals.periodic.every = \"1us\"\n";
        let plan = Scenario::parse("s", text, &[]).unwrap().runs.remove(0).plan;
        let mut flows = Flows::new(workload::applications(&plan).unwrap(), 2, [0; 1].into());
        let (sender, receiver) = (trimline_packet::HostId::new(0), trimline_packet::HostId::new(1));
        let keys = |connection| {
            let side = Side::Sending;
            let sending = Key { peer: receiver, connection, opened_here: true, side };
            let side = Side::Receiving;
            (sending, Key { peer: sender, connection, opened_here: false, side })
        };
        let mut numbers = Vec::new();
        for index in 0..u64::from(GENERATIONS) + 1 {
            let now = flows.next_start(0);
            let Some(Begun::Open(connection, flow)) = flows.begin(0, now) else {
                panic!("each flow opens a connection")
            };
            assert_eq!((flow.index, flow.start), (index, now));
            let (sending, receiving) = keys(connection);
            assert_eq!((flows.assign(0, sending), flows.find(0, sending)), (0, Some(0)));
            assert!(flows.accepts(1, receiving) && flows.find(1, receiving).is_none());
            assert_eq!((flows.assign(1, receiving), flows.find(1, receiving)), (0, Some(0)));
            // An endpoint that releases a stream has it no more, and no packet opens it again.
            flows.release(1, receiving);
            assert!(flows.find(1, receiving).is_none() && !flows.accepts(1, receiving));
            let opened: Vec<Opened> = flows.under_way().collect();
            assert_eq!(flows.seat(opened[0]).receiver, Some(0));
            flows.forget(opened[0]);
            assert_eq!(flows.under_way().count(), 0);
            for (host, key) in [(0, sending), (1, receiving)] {
                assert!(flows.find(host, key).is_none() && !flows.accepts(host, key));
            }
            assert!(index == u64::from(GENERATIONS) || !numbers.contains(&connection));
            numbers.push(connection);
        }
        assert_eq!(numbers.first(), numbers.last());
    }
}
