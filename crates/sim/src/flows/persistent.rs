//! Persistent connections, which carry many messages one after another.
//!
//! All messages of a workload between two hosts use one connection, or a pool of several. The first message of a
//! connection opens it. A further message goes to the endpoint after the last ACK of the one before; until then it
//! waits in a [`PersistentConnection`] at its source, or for any [`PersistentConnection`] to that destination. A
//! connection lives until the end of the run, so memory depends on pairs of hosts and on waiting messages.
//!
//! # Pools of clients
//! A client sees both directions of a connection as one: an answer comes back on the connection with the number of its
//! request's, which is idle again when the answer has arrived and the request is acknowledged.
//!
//! # Records
//! Endpoints count from the beginning of a connection. A message gets the difference to the counts at the end of the
//! message before: at the receiver when its last byte arrived, at the sender when its last ACK did. Later events (a
//! bounced header of a packet that was sent twice) count for the next message.
//!
//! # Threads
//! A [`PersistentConnection`] belongs to the source. Both hosts' threads use a [`Persistent`], and a packet carries
//! each change to the other thread: the source begins a message before it sends any of its packets, the destination
//! records the delivery before the last ACK leaves, and the source ends it when that ACK has arrived. So no thread
//! waits for the lock, and reads do not depend on which thread is faster.

use std::array;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use trimline_metrics::FlowRecord;
use trimline_metrics::series::COUNTED;
use trimline_packet::{ConnectionId, HostId, Time};

use crate::flow::Flow;
use crate::plan::WhenBusy;
use crate::workload::Persistence;

const COUNTERS: usize = 10;

/// Counters of a record, without times, names and sizes.
fn counters(record: &mut FlowRecord) -> [&mut u64; COUNTERS] {
    let FlowRecord {
        workload: _,
        index: _,
        id: _,
        source: _,
        destination: _,
        size_bytes: _,
        start_ps: _,
        host_wait_ps: _,
        fct_receiver_ps: _,
        fct_sender_ps: _,
        ideal_fct_ps: _,
        ideal_fct_sender_ps: _,
        delivered_bytes,
        measured_bytes: _,
        packets_sent,
        retransmissions_signalled,
        retransmissions_return,
        retransmissions_timeout,
        trims,
        returns,
        timeouts,
        path_removals,
        path_restorations,
        end: _,
    } = record;
    [
        delivered_bytes,
        packets_sent,
        retransmissions_signalled,
        retransmissions_return,
        retransmissions_timeout,
        trims,
        returns,
        timeouts,
        path_removals,
        path_restorations,
    ]
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    counters: [u64; COUNTERS],
    /// Whole packets that arrived.
    packets: u64,
}

impl Totals {
    /// Counts that `write` writes into a record; `write` returns the whole packets.
    pub(crate) fn of(write: impl FnOnce(&mut FlowRecord) -> u64) -> Totals {
        let mut record = FlowRecord::not_started("".into(), 0, 0, 0, None);
        let packets = write(&mut record);
        Totals { counters: counters(&mut record).map(|counter| *counter), packets }
    }

    /// Writes the counts into a record. Returns the whole packets.
    pub(crate) fn write(&self, record: &mut FlowRecord) -> u64 {
        for (counter, value) in counters(record).into_iter().zip(self.counters) {
            *counter = value;
        }
        self.packets
    }

    fn bytes(&self) -> u64 {
        self.counters[0]
    }

    /// Number of distinct packets that were sent.
    pub(crate) fn sent_once(&self) -> u64 {
        let [_, sent, signalled, returned, timed_out, ..] = self.counters;
        sent.saturating_sub(signalled + returned + timed_out)
    }

    /// Counts of every flow's series, in the order of its columns.
    pub(crate) fn series(&self) -> [u64; COUNTED.len()] {
        let [bytes, sent, signalled, returned, timed_out, trims, returns, timeouts, _, _] =
            self.counters;
        [sent, signalled + returned + timed_out, trims, returns, timeouts, bytes]
    }

    pub(crate) fn with(&self, other: &Totals) -> Totals {
        self.each(other, |one, other| one + other)
    }

    fn each(&self, other: &Totals, with: impl Fn(u64, u64) -> u64) -> Totals {
        let counters = array::from_fn(|place| with(self.counters[place], other.counters[place]));
        Totals { counters, packets: with(self.packets, other.packets) }
    }

    fn since(&self, before: &Totals) -> Totals {
        self.each(before, |now, before| now - before)
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Course {
    pub(crate) flow: Flow,
    /// Departure of its first packet.
    pub(crate) left: Option<Time>,
    pub(crate) delivered: Option<Time>,
    pub(crate) acknowledged: Option<Time>,
    /// Counts of both streams for the message.
    pub(crate) totals: Totals,
    /// Payload of the message that had arrived at the end of the warm-up.
    pub(crate) before: u64,
}

impl Course {
    pub(crate) fn waiting(flow: Flow) -> Course {
        let totals = Totals::default();
        Course { flow, left: None, delivered: None, acknowledged: None, totals, before: 0 }
    }
}

#[derive(Clone, Copy)]
struct Message {
    flow: Flow,
    /// Departure of its first packet.
    left: Option<Time>,
    /// Arrival of its last byte, and the counts of the receive stream then.
    delivered: Option<(Time, Totals)>,
}

/// The state of a connection that both hosts know.
#[derive(Default)]
struct State {
    /// `None` between two messages.
    message: Option<Message>,
    /// Counts of the send stream at the acknowledgement of the message before, and of the receive stream at its
    /// delivery.
    sent: Totals,
    received: Totals,
}

impl State {
    /// Course of the message so far, from both streams' counts; `before` had arrived on the connection at the end of
    /// the warm-up.
    fn course(&self, message: Message, sent: Totals, received: Totals, before: u64) -> Course {
        let (sent, own) = (sent.since(&self.sent), received.since(&self.received));
        Course {
            flow: message.flow,
            left: message.left,
            delivered: message.delivered.map(|(at, _)| at),
            acknowledged: None,
            totals: sent.with(&own),
            before: before.saturating_sub(self.received.bytes()).min(own.bytes()),
        }
    }
}

#[derive(Default)]
pub(super) struct Persistent(Mutex<State>);

impl Persistent {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn flow(&self) -> Option<Flow> {
        self.state().message.map(|message| message.flow)
    }

    pub(super) fn begin(&self, flow: Flow) {
        let message = Message { flow, left: None, delivered: None };
        let before = self.state().message.replace(message);
        assert!(before.is_none(), "a connection carries one message at a time");
    }

    /// Records that a packet leaves the source. Returns whether it is the first of its message.
    pub(super) fn leave(&self, now: Time) -> bool {
        let mut state = self.state();
        let Some(message) = state.message.as_mut() else { return false };
        let is_first = message.left.is_none();
        message.left.get_or_insert(now);
        is_first
    }

    /// Records that the message's last byte arrived, when the receive stream had counted `received`.
    pub(super) fn deliver(&self, now: Time, received: Totals) -> Flow {
        let mut state = self.state();
        let message = state.message.as_mut().expect("what is delivered is under way");
        let before = message.delivered.replace((now, received));
        assert!(before.is_none(), "a message is delivered once");
        message.flow
    }

    /// Records that the message's last ACK arrived, when the send stream had counted `sent`.
    pub(super) fn acknowledge(&self, now: Time, sent: Totals, before: u64) -> Course {
        let mut state = self.state();
        let message = state.message.take().expect("what is acknowledged is under way");
        let (_, received) = message.delivered.expect("what is acknowledged was delivered");
        let course = state.course(message, sent, received, before);
        (state.sent, state.received) = (sent, received);
        Course { acknowledged: Some(now), ..course }
    }

    pub(super) fn course(&self, sent: Totals, received: Totals, before: u64) -> Option<Course> {
        let state = self.state();
        state.message.map(|message| state.course(message, sent, received, before))
    }
}

/// The next message, and its connection; `None` if that is not open.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    pub(super) flow: Flow,
    pub(super) connection: Option<ConnectionId>,
}

#[derive(Default)]
struct PersistentConnection {
    connection: Option<ConnectionId>,
    is_sending: bool,
    /// True while a request waits for its answer.
    is_asking: bool,
    /// Messages that wait for this connection, in the order of arrival.
    waiting: VecDeque<Flow>,
}

impl PersistentConnection {
    fn is_idle(&self) -> bool {
        !self.is_sending && !self.is_asking
    }

    fn begin(&mut self, flow: Flow, persistence: &Persistence) -> Turn {
        (self.is_sending, self.is_asking) = (true, persistence.asks);
        Turn { flow, connection: self.connection }
    }
}

struct ConnectionPool {
    lines: Vec<PersistentConnection>,
    /// Messages that take the first idle connection, in order.
    waiting: VecDeque<Flow>,
}

impl ConnectionPool {
    fn new(persistence: &Persistence) -> ConnectionPool {
        let lines = (0..persistence.connections).map(|_| PersistentConnection::default()).collect();
        ConnectionPool { lines, waiting: VecDeque::new() }
    }

    /// Returns an idle connection, drawn if there are several.
    fn idle(&self, draw: impl FnOnce(u64) -> u64) -> Option<u16> {
        let mut idle = (0u16..).zip(&self.lines).filter(|(_, line)| line.is_idle());
        let drawn = match idle.clone().count() {
            0 => return None,
            1 => 0,
            several => draw(several as u64) as usize,
        };
        idle.nth(drawn).map(|(connection_number, _)| connection_number)
    }

    fn least_busy(&self) -> u16 {
        let lines = (0u16..).zip(&self.lines);
        lines
            .min_by_key(|(_, line)| line.waiting.len())
            .map_or(0, |(connection_number, _)| connection_number)
    }

    /// Begins a message, or lets it wait.
    fn place(
        &mut self,
        flow: Flow,
        persistence: &Persistence,
        draw: impl FnOnce(u64) -> u64,
    ) -> Option<Turn> {
        // An answer takes the connection of its request.
        let connection_number =
            match (flow.connection_number.or_else(|| self.idle(draw)), persistence.when_busy) {
                (Some(connection_number), _) => connection_number,
                (None, WhenBusy::LeastBusy) => self.least_busy(),
                (None, WhenBusy::Wait) => {
                    self.waiting.push_back(flow);
                    return None;
                }
            };
        let flow = Flow { connection_number: Some(connection_number), ..flow };
        let line = &mut self.lines[usize::from(connection_number)];
        if line.is_idle() {
            return Some(line.begin(flow, persistence));
        }
        line.waiting.push_back(flow);
        None
    }

    /// Next message of a connection, if the connection is idle and a message waits.
    fn next(&mut self, connection_number: u16, persistence: &Persistence) -> Option<Turn> {
        let line = &mut self.lines[usize::from(connection_number)];
        if !line.is_idle() {
            return None;
        }
        let flow = line.waiting.pop_front().or_else(|| self.waiting.pop_front())?;
        Some(line.begin(Flow { connection_number: Some(connection_number), ..flow }, persistence))
    }
}

fn between(workload: u32, destination: HostId) -> (u32, u32) {
    (workload, destination.get())
}

/// The persistent connections that a host has opened, by workload and destination.
#[derive(Default)]
pub(super) struct PersistentConnections(BTreeMap<(u32, u32), ConnectionPool>);

impl PersistentConnections {
    /// Begins a message, or lets it wait. `draw` chooses among idle connections: a number below its argument.
    pub(super) fn place(
        &mut self,
        flow: Flow,
        persistence: &Persistence,
        draw: impl FnOnce(u64) -> u64,
    ) -> Option<Turn> {
        let between = between(flow.workload, flow.destination);
        self.0.entry(between).or_insert_with(|| ConnectionPool::new(persistence)).place(
            flow,
            persistence,
            draw,
        )
    }

    fn of(
        &mut self,
        workload: u32,
        destination: HostId,
        connection_number: Option<u16>,
    ) -> (&mut ConnectionPool, u16) {
        let connections = self.0.get_mut(&between(workload, destination));
        connections.zip(connection_number).expect("a connection that carried a message")
    }

    pub(super) fn open(&mut self, flow: &Flow, connection: ConnectionId) {
        let (connections, connection_number) =
            self.of(flow.workload, flow.destination, flow.connection_number);
        connections.lines[usize::from(connection_number)].connection = Some(connection);
    }

    /// Records that the last ACK of a message arrived. Returns the next message.
    pub(super) fn acknowledged(&mut self, flow: &Flow, persistence: &Persistence) -> Option<Turn> {
        let (connections, connection_number) =
            self.of(flow.workload, flow.destination, flow.connection_number);
        connections.lines[usize::from(connection_number)].is_sending = false;
        connections.next(connection_number, persistence)
    }

    /// Records that an answer arrived; `persistence` is of its requests. Returns the next message.
    pub(super) fn answered(&mut self, answer: &Flow, persistence: &Persistence) -> Option<Turn> {
        let (connections, connection_number) =
            self.of(answer.workload - 1, answer.source, answer.connection_number);
        connections.lines[usize::from(connection_number)].is_asking = false;
        connections.next(connection_number, persistence)
    }

    pub(super) fn waiting(&self) -> impl Iterator<Item = &Flow> {
        self.0.values().flat_map(|connections| {
            connections.lines.iter().flat_map(|line| &line.waiting).chain(&connections.waiting)
        })
    }
}
