//! The flows of a run that are under way: who sends what to whom, and how far each one is.
//!
//! A flow is made when it starts, and forgotten some time after both its ends know that it is over
//! ([`Flows::forget`]). So memory is that of the flows under way, however many there are in a run.
//!
//! # The number of a connection
//! A flow's connection is numbered by the host that opens it: the place of the flow among those that this host has
//! under way, and a *generation*, which is another one for each flow that uses the place. A late packet of a flow
//! that was forgotten names an old generation, and meets an unknown connection. Places and slots are handed out by a
//! host in the order of its own events, so no number depends on the engine or on the number of threads.
//!
//! # Persistent connections
//! Where a workload keeps its connections the flow of a place is the first message of its connection: it names the
//! connection's streams, hosts, class and transport, which all its messages share. Which message is under way, and
//! what waits behind it, is in [`persistent`].
//!
//! # Threads
//! What changes in a flow belongs to one half of it, and so to the thread that drives the host of that half. Places
//! are forgotten while no thread works.

mod persistent;

use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::io;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use trimline_packet::{ByteCount, ConnectionId, Time};
use trimline_transport::{Key, Side, Stream, flow};

pub(crate) use persistent::{Course, Totals};
use persistent::{Persistent, PersistentConnections, Turn};

use crate::flow::Flow;
use crate::random::{self, Purpose};
use crate::table::{self, Growing, Shared};
use crate::workload::{Applications, Persistence};

/// Bits of a connection's number that are the flow's place; the others are its generation.
const PLACE_BITS: u32 = 22;
const PLACE: u32 = (1 << PLACE_BITS) - 1;
/// The most flows that a host can send at a time, and the most that it can send and receive together.
pub(crate) const MAX_OF_HOST: u32 = PLACE - 1;
/// Generations of a place. One number less than there are: the last one stands for halves that are not open.
const GENERATIONS: u32 = (1 << (32 - PLACE_BITS)) - 1;

/// In place of a half's generation: the endpoint gave its slot back, and it is kept for the record.
const CLOSED: u32 = GENERATIONS << PLACE_BITS;
/// No slot yet.
const NO_SLOT: u32 = CLOSED | PLACE;
/// The host had no slot left: the run fails.
const NONE_LEFT: u32 = CLOSED | (PLACE - 1);

/// A flow that is under way, or a place for one. What each packet asks for lies in front.
#[repr(C)]
struct Live {
    /// Changes while no thread works.
    generation: AtomicU32,
    /// Of each half that is open its slot, and above it the generation, so that one word says whether a connection's
    /// number is known and where; [`NO_SLOT`] before the half was opened, then [`CLOSED`] and the slot. Changed by the
    /// half's own host.
    sides: [AtomicU32; 2],
    /// When its first packet began to leave, in picoseconds: never before. Of a persistent connection it is in [`persistent`].
    left: AtomicU64,
    /// When the last ACK arrived.
    acknowledged: AtomicU64,
    /// When the last byte arrived.
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

/// Small numbers that are used again: the last one that came back first.
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

/// What a host hands out.
#[derive(Default)]
struct Book {
    places: Numbers,
    slots: Numbers,
    persistent: PersistentConnections,
}

/// What a thread of the run saw of flows.
#[derive(Clone, Copy, Default)]
pub(crate) struct Seen {
    /// Sized flows that started.
    started: u64,
    /// Those whose sender knows that they ended.
    finished: u64,
    /// Those whose last byte has arrived.
    delivered: u64,
    last_change: Time,
}

/// A flow under way: the host that opened it, and its place there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Opened {
    pub(crate) by: u32,
    place: u32,
}

/// What a flow that begins asks of its endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begun {
    /// A connection.
    Open(ConnectionId, Flow),
    /// To be sent on a connection that is open.
    Send(Further),
}

/// A further message on an open connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Further {
    /// The sending half.
    pub(crate) key: Key,
    /// Its payload.
    pub(crate) length: ByteCount,
}

/// What the record of a flow is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seat {
    /// What it is.
    pub(crate) flow: Flow,
    /// When its first packet began to leave.
    pub(crate) left: Option<Time>,
    /// When the last byte arrived.
    pub(crate) delivered: Option<Time>,
    /// When the last ACK arrived.
    pub(crate) acknowledged: Option<Time>,
    /// Slots of its halves, where they were opened.
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
    /// What the random streams of halves have in common: of flows, and of pairs; of senders, and of receivers.
    sides: [[Purpose; 2]; 2],
    /// Place of each workload's transport in the plan.
    transports: Arc<[u8]>,
    /// Whether each workload keeps its connections.
    keeps: Arc<[bool]>,
    /// How.
    persistence: Arc<[Persistence]>,
    /// By place, beside `live`; nothing where no workload keeps its connections.
    persistent: Shared<Growing<Persistent>>,
    any_switch_random: bool,
    seen: Seen,
    /// Messages of persistent connections that ended: those of this thread.
    messages: Vec<Course>,
    /// Sized flows whose sender knows that they ended, and when: those of this thread.
    ended: Vec<(Time, Opened)>,
    /// Why the run cannot go on.
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

    /// The same flows for another thread of the run.
    ///
    /// # Safety
    /// As [`Shared::view`]: what belongs to a host is used by one thread at a time.
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

    /// Takes over what the view of another thread saw.
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

    /// Sized flows that are known of, and those whose sender knows that they ended.
    pub(crate) fn progress(&self) -> (u64, u64) {
        (self.applications.known(), self.seen.finished)
    }

    /// Whether every sized flow has ended at its sender, and none will start.
    pub(crate) fn are_over(&self) -> bool {
        self.seen.started == self.seen.finished && self.applications.are_done()
    }

    /// Whether the last byte of every sized flow that started has arrived. A sender that waits for no ACKs ends before.
    pub(crate) fn are_delivered(&self) -> bool {
        self.seen.started == self.seen.delivered
    }

    /// Whether a sized flow ever started.
    pub(crate) fn has_sized(&self) -> bool {
        self.seen.started > 0
    }

    /// When a sized flow was last delivered or ended.
    pub(crate) fn last_change(&self) -> Time {
        self.seen.last_change
    }

    /// Why the run cannot go on.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Puts the sized flows that ended since the last time behind the others.
    pub(crate) fn take_ended(&mut self, ended: &mut VecDeque<(Time, Opened)>) {
        ended.extend(self.ended.drain(..));
    }

    /// What became of messages of persistent connections that ended since the last time.
    pub(crate) fn take_messages(&mut self) -> Vec<Course> {
        mem::take(&mut self.messages)
    }

    /// When the next flow of a host starts, as far as the host knows: never if there is none.
    pub(crate) fn next_start(&self, host: u32) -> Time {
        self.applications.next_start(host)
    }

    /// What is due at a host at `now` begins: a flow, in most cases. A message may have to wait.
    pub(crate) fn begin(&mut self, host: u32, now: Time) -> Option<Begun> {
        let flow = self.applications.take_start(host, now)?;
        self.seen.started += u64::from(flow.size.is_some());
        if self.keeps[flow.workload as usize] {
            return self.begin_message(host, flow);
        }
        Some(Begun::Open(self.open(host, flow)?, flow))
    }

    /// A message begins, or waits.
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

    /// A number for the connection of a flow.
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

    /// A message is sent on a connection that carries no other.
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

    /// The host that opened a connection that `host` knows by this key.
    #[inline]
    fn opener(host: u32, key: Key) -> u32 {
        if key.opened_here { host } else { key.peer.get() }
    }

    #[inline]
    pub(crate) fn find(&self, host: u32, key: Key) -> Option<u32> {
        let number = key.connection.get();
        let live = self.live[Flows::opener(host, key) as usize].find(number & PLACE)?;
        // What is left is the slot if the generations are the same.
        let slot = live.side(key.side).load(Ordering::Relaxed) ^ (number & !PLACE);
        (slot <= PLACE).then_some(slot)
    }

    /// Asks for what [`Flows::find`] will look at.
    #[inline(always)]
    pub(crate) fn prefetch(&self, host: u32, key: Key) {
        let live = self.live.find(Flows::opener(host, key) as usize);
        if let Some(live) = live {
            live.prefetch(key.connection.get() & PLACE);
        }
    }

    /// Whether a half of a flow under way may still be opened: it never was.
    pub(crate) fn accepts(&self, host: u32, key: Key) -> bool {
        self.live(Flows::opener(host, key), key.connection).is_some_and(|live| {
            live.is_under_way() && live.side(key.side).load(Ordering::Relaxed) == NO_SLOT
        })
    }

    pub(crate) fn assign(&mut self, host: u32, key: Key) -> u32 {
        assert!(
            self.accepts(host, key),
            "host {host} opens {key:?} a second time: it had forgotten the half while packets of it were on their way; expected \
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

    /// An endpoint gives a half up; its slot is not used again before the flow is forgotten.
    pub(crate) fn release(&mut self, host: u32, key: Key) {
        if let Some(live) = self.live(Flows::opener(host, key), key.connection) {
            live.side(key.side).fetch_or(CLOSED, Ordering::Relaxed);
        }
    }

    /// Whether a connection is persistent for further messages.
    #[inline]
    pub(crate) fn is_persistent(&self, host: u32, key: Key) -> bool {
        if self.persistent.len() == 0 {
            return false;
        }
        let flow = self.description(Flows::opener(host, key), key.connection);
        flow.is_some_and(|flow| self.keeps[flow.workload as usize])
    }

    /// Whether the connections of a workload are kept.
    pub(crate) fn keeps(&self, workload: u32) -> bool {
        self.keeps[workload as usize]
    }

    /// Whether the connection of a flow under way is kept.
    pub(crate) fn carries_messages(&self, opened: Opened) -> bool {
        self.keeps[self.place(opened).flow().workload as usize]
    }

    /// What a connection carries now: its flow, or the message under way on one that is kept.
    pub(crate) fn carried(&self, opener: u32, connection: ConnectionId) -> Option<Flow> {
        let first = *self.description(opener, connection)?;
        match self.keeps[first.workload as usize] {
            true => self.persistent_at(opener, connection).flow(),
            false => Some(first),
        }
    }

    /// The flow of a connection, of one that is kept the first, unless it was forgotten.
    pub(crate) fn description(&self, opener: u32, connection: ConnectionId) -> Option<&Flow> {
        self.live(opener, connection).map(Live::flow)
    }

    /// A packet of a connection leaves the host that opened it. Gives whether it is the first of what the connection
    /// carries.
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

    /// The random stream of one half of a flow, named by what the flow is and not by its number; where all flows of a pair
    /// have the same paths, by the pair.
    pub(crate) fn stream(&self, host: u32, key: Key) -> Stream {
        let flow = self.description(Flows::opener(host, key), key.connection);
        self.stream_of(flow.expect("a half is of a flow under way"), key.side)
    }

    /// The same.
    pub(crate) fn stream_of(&self, flow: &Flow, side: Side) -> Stream {
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

    /// The place of a connection's transport in the plan, unless its flow was forgotten.
    pub(crate) fn transport_of(&self, host: u32, key: Key) -> Option<usize> {
        let flow = self.description(Flows::opener(host, key), key.connection)?;
        Some(usize::from(self.transports[flow.workload as usize]))
    }

    /// Something happened to a flow, at `host`. What follows happens at the same host.
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

    /// Something happened to a message of a persistent connection, at `host`, whose half has counted `totals`. Gives what
    /// the host sends next.
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

    /// What became so far of the message under way on a persistent connection, if there is one, when its halves have counted
    /// so much.
    pub(crate) fn course(&self, opened: Opened, sent: Totals, received: Totals) -> Option<Course> {
        let before = self.place(opened).before.load(Ordering::Relaxed);
        self.persistent_at(opened.by, self.connection(opened)).course(sent, received, before)
    }

    /// Takes every message that waits behind another one, host by host.
    ///
    /// # Errors
    /// Those of `take`.
    pub(crate) fn each_waiting(
        &self,
        take: &mut dyn FnMut(Course) -> io::Result<()>,
    ) -> io::Result<()> {
        self.waiting().try_for_each(|&flow| take(Course::waiting(flow)))
    }

    /// By host: adds the payload of its messages that wait.
    pub(crate) fn unsent_of_waiting(&self, unsent: &mut [u64]) {
        for flow in self.waiting() {
            unsent[flow.source.index()] += flow.size.map_or(0, ByteCount::get);
        }
    }

    fn waiting(&self) -> impl Iterator<Item = &Flow> {
        self.books.iter().flat_map(|book| book.persistent.waiting())
    }

    /// Every flow under way, host by host; of a persistent connection the first.
    pub(crate) fn under_way(&self) -> impl Iterator<Item = Opened> + '_ {
        (0..self.books.len() as u32).flat_map(move |by| {
            let places = 0..self.books[by as usize].places.next.min(MAX_OF_HOST);
            let is_there = move |place: &u32| {
                self.live[by as usize].find(*place).is_some_and(Live::is_under_way)
            };
            places.filter(is_there).map(move |place| Opened { by, place })
        })
    }

    /// What is known of a flow under way.
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

    /// Asks for what [`Flows::seat`] reads.
    pub(crate) fn prefetch_seat(&self, opened: Opened) {
        table::prefetch(std::ptr::from_ref(self.place(opened)).cast(), size_of::<Live>());
    }

    fn place(&self, opened: Opened) -> &Live {
        self.live[opened.by as usize].find(opened.place).expect("a place that was handed out")
    }

    /// The connection of a flow under way.
    pub(crate) fn connection(&self, opened: Opened) -> ConnectionId {
        let generation = self.place(opened).generation.load(Ordering::Relaxed);
        ConnectionId::new(generation << PLACE_BITS | opened.place)
    }

    /// The warm-up is over: so much had arrived.
    pub(crate) fn set_before(&mut self, opened: Opened, bytes: u64) {
        self.place(opened).before.store(bytes, Ordering::Relaxed);
    }

    /// Forgets a flow whose endpoints have forgotten it. While no other thread works.
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

    /// What is kept is of the connection, however many messages it carries.
    #[test]
    fn a_hundred_thousand_messages_have_one_place() {
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
            // The next one waits, and goes when the one under way has ended.
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

    /// A place is used again, and each time under another number, until the generations begin anew.
    #[test]
    fn a_late_packet_of_a_forgotten_flow_meets_an_unknown_connection() {
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
            // An endpoint that gives a half up has it no more, and no packet opens it again.
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
