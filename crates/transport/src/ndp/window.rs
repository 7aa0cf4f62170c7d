//! The packets from the oldest unACKed one to the newest one sent: 16 bytes each, in a ring, with the retransmission
//! queue threaded through it.
//!
//! The queue's links are the low halves of sequence numbers, so they survive growth of the ring, and a record stays at
//! 16 bytes. A packet that is ACKed while it waits for retransmission (a spurious copy arrived) is searched for and
//! removed: rare, but needed for the ring to advance.

use alloc::boxed::Box;
use alloc::vec;

use trimline_packet::{Time, TimeDelta};

use crate::arrivals::WINDOW_LIMIT;
use crate::timers::set_back;

/// The state of a packet, as its sender knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum State {
    /// At its receiver.
    Acked,
    /// Unanswered: the only state that times out.
    InFlight,
    /// To be resent: trimmed.
    Nacked,
    /// To be resent: its header came back.
    Returned,
    /// To be resent: given up for lost.
    TimedOut,
    /// To be resent: lost, and the window has shrunk. It waits for a pull like a trimmed packet.
    GivenUp,
}

/// The round-trip news in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sample {
    /// It answers the transmission sent at this time.
    Sent(Time),
    /// It answers an earlier transmission; the last one followed this many time-outs in a row, which were too short.
    Late(u8),
}

/// One packet of the window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    /// Time of the last transmission.
    pub(super) sent_at: Time,
    /// The place of its path.
    pub(super) path: u16,
    /// Payload bytes.
    pub(super) length: u16,
    /// The next packet in the retransmission queue: the low half of its number.
    next: u16,
    pub(super) state: State,
    marks: u8,
}

impl Record {
    const ATTEMPT: u8 = 3;
    const TIMEOUTS_SHIFT: u8 = 2;
    const TIMEOUTS: u8 = 3 << Record::TIMEOUTS_SHIFT;
    const FIRST_WINDOW: u8 = 1 << 4;
    const RECEIVED: u8 = 1 << 5;

    #[inline]
    pub(super) const fn new(sent_at: Time, path: u16, length: u16, first_window: bool) -> Record {
        let marks = if first_window { Record::FIRST_WINDOW } else { Record::RECEIVED };
        Record { sent_at, path, length, next: 0, state: State::InFlight, marks }
    }

    /// The number of this transmission, modulo 4.
    #[inline]
    pub(super) const fn attempt(&self) -> u8 {
        self.marks & Record::ATTEMPT
    }

    #[inline]
    pub(super) fn next_attempt(&mut self) {
        self.marks = self.marks & !Record::ATTEMPT | self.marks.wrapping_add(1) & Record::ATTEMPT;
    }

    /// Returns whether the packet is of the first window and so carries SYN.
    #[inline]
    pub(super) const fn first_window(&self) -> bool {
        self.marks & Record::FIRST_WINDOW != 0
    }

    /// Records an answer. True for the first one to a packet of the first window.
    #[inline]
    pub(super) fn received(&mut self) -> bool {
        let first = self.marks & Record::RECEIVED == 0;
        self.marks = self.marks & !Record::TIMEOUTS | Record::RECEIVED;
        first
    }

    /// Time-outs in a row, at most 3.
    #[inline]
    pub(super) const fn timeouts(&self) -> u8 {
        (self.marks & Record::TIMEOUTS) >> Record::TIMEOUTS_SHIFT
    }

    /// The round-trip news in an answer to this attempt, before it is applied. Attempts wrap: after three time-outs two
    /// may share a number.
    #[inline]
    pub(super) fn sample(&self, attempt: u8) -> Option<Sample> {
        let is_out = !matches!(self.state, State::Acked | State::Nacked | State::Returned);
        match (self.timeouts(), self.attempt() == attempt && is_out) {
            (0..3, true) => Some(Sample::Sent(self.sent_at)),
            (0, false) => None,
            (timeouts, false) => Some(Sample::Late(timeouts)),
            (_, true) => None,
        }
    }

    pub(super) fn timed_out(&mut self) {
        if self.timeouts() < 3 {
            self.marks += 1 << Record::TIMEOUTS_SHIFT;
        }
    }
}

#[derive(Debug)]
pub(super) struct Window {
    records: Box<[Record]>,
    base: u32,
    next: u32,
    head: u32,
    tail: u32,
    waiting: u32,
    in_flight: u32,
}

impl Window {
    /// Creates an empty window with room for `expected` packets before it grows.
    pub(super) fn new(expected: u32) -> Window {
        Window {
            records: Window::memory(expected.clamp(1, WINDOW_LIMIT).next_power_of_two()),
            base: 0,
            next: 0,
            head: 0,
            tail: 0,
            waiting: 0,
            in_flight: 0,
        }
    }

    fn memory(count: u32) -> Box<[Record]> {
        let record = Record { state: State::Acked, ..Record::new(Time::ZERO, 0, 0, false) };
        vec![record; count as usize].into_boxed_slice()
    }

    /// The number of the next new packet.
    #[inline]
    pub(super) const fn next(&self) -> u32 {
        self.next
    }

    /// Packets in the retransmission queue.
    #[inline]
    pub(super) const fn waiting(&self) -> u32 {
        self.waiting
    }

    #[inline]
    pub(super) const fn in_flight(&self) -> u32 {
        self.in_flight
    }

    #[inline]
    pub(super) const fn unacked(&self) -> u32 {
        self.waiting + self.in_flight
    }

    #[inline]
    pub(super) const fn is_full(&self) -> bool {
        self.next.wrapping_sub(self.base) >= WINDOW_LIMIT
    }

    #[inline]
    fn place(&self, sequence: u32) -> usize {
        sequence as usize & (self.records.len() - 1)
    }

    /// The record of a sent packet at or after the base.
    #[inline]
    pub(super) fn record(&mut self, sequence: u32) -> Option<&mut Record> {
        if sequence.wrapping_sub(self.base) >= self.next.wrapping_sub(self.base) {
            return None;
        }
        let place = self.place(sequence);
        Some(&mut self.records[place])
    }

    /// Adds the next new packet, in flight. Returns its number (NDP 3.2-b).
    #[inline]
    pub(super) fn push(&mut self, record: Record) -> u32 {
        if self.next.wrapping_sub(self.base) as usize == self.records.len() {
            self.grow();
        }
        let sequence = self.next;
        let place = self.place(sequence);
        self.records[place] = record;
        self.next = self.next.wrapping_add(1);
        self.in_flight += 1;
        sequence
    }

    #[cold]
    fn grow(&mut self) {
        let mut records = Window::memory(self.records.len() as u32 * 2);
        let mask = records.len() - 1;
        for distance in 0..self.next.wrapping_sub(self.base) {
            let sequence = self.base.wrapping_add(distance);
            records[sequence as usize & mask] = self.records[self.place(sequence)];
        }
        self.records = records;
    }

    #[inline]
    pub(super) fn acked(&mut self, sequence: u32) {
        let place = self.place(sequence);
        debug_assert!(self.records[place].state == State::InFlight, "an ACK ends a flight");
        self.records[place].state = State::Acked;
        self.in_flight -= 1;
        if sequence == self.base {
            self.advance();
        }
    }

    #[inline]
    fn advance(&mut self) {
        while self.base != self.next && self.records[self.place(self.base)].state == State::Acked {
            self.base = self.base.wrapping_add(1);
        }
    }

    /// Queues a packet in flight behind all others.
    #[inline]
    pub(super) fn wait_behind(&mut self, sequence: u32, state: State) {
        let place = self.place(sequence);
        self.records[place].state = state;
        self.in_flight -= 1;
        if self.waiting == 0 {
            self.head = sequence;
        } else {
            let tail = self.place(self.tail);
            self.records[tail].next = sequence as u16;
        }
        self.tail = sequence;
        self.waiting += 1;
    }

    /// Queues a packet in flight before all others.
    #[inline]
    pub(super) fn wait_before(&mut self, sequence: u32, state: State) {
        let place = self.place(sequence);
        self.records[place].state = state;
        self.records[place].next = self.head as u16;
        self.in_flight -= 1;
        if self.waiting == 0 {
            self.tail = sequence;
        }
        self.head = sequence;
        self.waiting += 1;
    }

    /// The sequence number with this low half.
    #[inline]
    fn whole(&self, low: u16) -> u32 {
        self.base.wrapping_add(low.wrapping_sub(self.base as u16) as u32)
    }

    /// Puts the next packet to retransmit in flight. Returns it with its former state, the cause.
    #[inline]
    pub(super) fn retransmit(&mut self) -> Option<(u32, State)> {
        if self.waiting == 0 {
            return None;
        }
        let sequence = self.head;
        let place = self.place(sequence);
        let cause = core::mem::replace(&mut self.records[place].state, State::InFlight);
        self.head = self.whole(self.records[place].next);
        self.waiting -= 1;
        self.in_flight += 1;
        Some((sequence, cause))
    }

    #[cold]
    pub(super) fn acked_while_waiting(&mut self, sequence: u32) {
        let after = self.whole(self.records[self.place(sequence)].next);
        if self.head == sequence {
            self.head = after;
        } else {
            let mut before = self.head;
            for _ in 1..self.waiting {
                let next = self.whole(self.records[self.place(before)].next);
                if next == sequence {
                    break;
                }
                before = next;
            }
            let place = self.place(before);
            self.records[place].next = after as u16;
            if self.tail == sequence {
                self.tail = before;
            }
        }
        self.waiting -= 1;
        let place = self.place(sequence);
        self.records[place].state = State::Acked;
        self.advance();
    }

    pub(super) fn set_back(&mut self, by: TimeDelta) {
        self.records.iter_mut().for_each(|record| set_back(&mut record.sent_at, by));
    }

    pub(super) fn newest_first(&self) -> impl Iterator<Item = u32> + use<> {
        let base = self.base;
        (0..self.next.wrapping_sub(base)).rev().map(move |distance| base.wrapping_add(distance))
    }

    /// Forgets all packets and their memory; numbers go on.
    pub(super) fn clear(&mut self) {
        self.base = self.next;
        self.waiting = 0;
        self.in_flight = 0;
        if self.records.len() > 1 {
            self.records = Window::memory(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::{BTreeMap, VecDeque};
    use proptest::prelude::*;

    #[test]
    fn an_ndp_window_record_is_16_bytes() {
        assert_eq!(size_of::<Record>(), 16);
    }

    #[test]
    fn attempt_and_timeout_counts_are_independent() {
        let mut record = Record::new(Time::ZERO, 0, 9000, true);
        for attempt in 1..9 {
            record.next_attempt();
            record.timed_out();
            assert_eq!(record.attempt(), attempt & 3);
            assert_eq!(record.timeouts(), attempt.min(3));
            assert!(record.first_window());
        }
        assert!(record.received() && !record.received());
        assert_eq!(record.timeouts(), 0);
        assert!(!Record::new(Time::ZERO, 0, 9000, false).received());
    }

    proptest! {
        /// A map of states and a deque agree.
        #[test]
        fn a_window_agrees_with_a_map_and_a_deque(
            first in prop_oneof![Just(0u32), Just(u32::MAX - 40), Just(65_530u32)],
            steps in prop::collection::vec((0u8..6, any::<u16>()), 1..300),
        ) {
            let mut window = Window::new(2);
            (window.base, window.next) = (first, first);
            let mut states = BTreeMap::new();
            let mut queue: VecDeque<u32> = VecDeque::new();
            let mut sent = 0u32;
            for (step, pick) in steps {
                let flying: alloc::vec::Vec<u32> = states
                    .iter()
                    .filter(|&(_, &state)| state == State::InFlight)
                    .map(|(&number, _)| number)
                    .collect();
                let picked = (!flying.is_empty()).then(|| flying[pick as usize % flying.len()]);
                match (step, picked) {
                    (0, _) => {
                        let sequence = window.push(Record::new(Time::ZERO, 0, pick, false));
                        prop_assert_eq!(sequence, first.wrapping_add(sent));
                        states.insert(sent, State::InFlight);
                        sent += 1;
                    }
                    (1, Some(number)) => {
                        window.acked(first.wrapping_add(number));
                        states.insert(number, State::Acked);
                    }
                    (2, Some(number)) => {
                        window.wait_behind(first.wrapping_add(number), State::Nacked);
                        states.insert(number, State::Nacked);
                        queue.push_back(number);
                    }
                    (3, Some(number)) => {
                        window.wait_before(first.wrapping_add(number), State::Returned);
                        states.insert(number, State::Returned);
                        queue.push_front(number);
                    }
                    (4, _) => {
                        let expected = queue.pop_front().map(|number| {
                            let cause = states.insert(number, State::InFlight).unwrap();
                            (first.wrapping_add(number), cause)
                        });
                        prop_assert_eq!(window.retransmit(), expected);
                    }
                    (5, _) if !queue.is_empty() => {
                        let number = queue.remove(pick as usize % queue.len()).unwrap();
                        window.acked_while_waiting(first.wrapping_add(number));
                        states.insert(number, State::Acked);
                    }
                    _ => {}
                }
                prop_assert_eq!(window.waiting() as usize, queue.len());
                let base = (0..sent).find(|number| states[number] != State::Acked).unwrap_or(sent);
                prop_assert_eq!(window.base, first.wrapping_add(base));
                for number in base..sent {
                    let state = window.record(first.wrapping_add(number)).unwrap().state;
                    prop_assert_eq!(state, states[&number]);
                }
                prop_assert!(window.record(first.wrapping_add(sent)).is_none());
                prop_assert!(window.record(first.wrapping_add(base).wrapping_sub(1)).is_none());
            }
        }
    }
}
