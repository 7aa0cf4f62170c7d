//! The receiving half of a connection: packets become a stream, and the stream messages.

use std::collections::{BTreeMap, VecDeque};

use trimline_packet::wire::{Record, Records};
use trimline_transport::WINDOW_LIMIT;

use super::buffer::{Buffer, SPARE, emptied};
use super::outgoing::ENDS;
use super::tokens::Token;

/// A packet that arrived before one that it follows.
#[derive(Debug)]
struct Early {
    payload: Vec<u8>,
    ends: Vec<u16>,
    closes: bool,
}

/// What a packet that came early takes beside its bytes.
const EARLY_BYTES: u64 = 128;

/// What a message's end takes.
const END_BYTES: u64 = 8;

/// Packets ahead of the first that is missing, whatever has arrived (chosen: the largest first window that makes
/// sense at 400 Gb/s).
const AHEAD: u32 = 1024;

/// Further ones, for each that has arrived.
const AHEAD_FOR_EACH: u64 = 64;

/// Bytes of memory that stay where a stream is read (chosen: what a connection may keep unread by default; memory that is
/// made again for each turn slows transfers down).
const STREAM_SPARE: usize = 4 << 20;

/// What has arrived and was not read.
#[derive(Debug, Default)]
pub(super) struct Incoming {
    /// The first packet that is not in the stream, counted from the beginning of the connection.
    next: u64,
    /// Packets behind it, by the same count.
    early: BTreeMap<u64, Early>,
    /// What these take.
    early_bytes: u64,
    /// Packets that arrived.
    arrived: u64,
    stream: Buffer,
    /// Offsets at which messages end, unread.
    ends: VecDeque<u64>,
    /// The stream goes no further than what is there.
    closed: bool,
    /// How the application reads, once it has.
    reads: Option<Reads>,
}

/// What an application takes of what has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reads {
    Bytes,
    Messages,
}

impl Incoming {
    /// How far a packet is ahead of the first that is missing; `None` if it is behind it, or so far ahead that no
    /// sender would send it: what is kept of a gap stays in proportion to what has arrived.
    fn distance(&self, sequence: u32) -> Option<u32> {
        // The low half of the count is the number that the packet bears.
        let distance = sequence.wrapping_sub(self.next as u32);
        let max = u64::from(AHEAD).saturating_add(self.arrived.saturating_mul(AHEAD_FOR_EACH));
        (u64::from(distance) < max.min(u64::from(WINDOW_LIMIT))).then_some(distance)
    }

    /// A half that has not begun; with the memory of this one, if it `keeps` it and that is little.
    pub(super) fn emptied(self, keeps: bool) -> Incoming {
        let (stream, ends) = (self.stream.emptied(keeps), emptied(self.ends, keeps));
        Incoming { stream, ends, ..Incoming::default() }
    }

    /// A packet that the endpoint accepted, each number once. Gives whether the application can now
    /// read more than before.
    pub(super) fn insert(&mut self, sequence: u32, payload: &[u8], extension: &[u8]) -> bool {
        let Some(distance) = self.distance(sequence).filter(|_| !self.closed) else { return false };
        self.arrived += 1;
        if distance > 0 {
            let mut early = Early { payload: payload.to_vec(), ends: Vec::new(), closes: false };
            early.closes = records(extension, payload.len(), |end| early.ends.push(end));
            self.early_bytes += early.bytes();
            let old = self.early.insert(self.next + u64::from(distance), early);
            self.early_bytes -= old.map_or(0, |old| old.bytes());
            return false;
        }
        let base = self.stream.end();
        self.stream.append(payload);
        let ends = &mut self.ends;
        let mut last = base;
        let closes = records(extension, payload.len(), |end| {
            last = base + u64::from(end);
            ends.push_back(last);
        });
        if closes {
            self.close(last);
        }
        self.next += 1;
        self.join();
        true
    }

    /// Packets that came early and are now in order. Behind the one that closes nothing counts.
    fn join(&mut self) {
        while !self.closed
            && let Some(early) = self.early.remove(&self.next)
        {
            self.early_bytes -= early.bytes();
            self.next += 1;
            let base = self.stream.end();
            self.stream.append(&early.payload);
            let ends = early.ends.iter().map(|&end| base + u64::from(end));
            self.ends.extend(ends);
            if early.closes {
                self.close(base + early.ends.last().map_or(0, |&end| u64::from(end)));
            }
        }
        if self.closed {
            self.early.clear();
            self.early_bytes = 0;
        }
    }

    /// Bytes that it keeps.
    pub(super) fn kept(&self) -> u64 {
        self.stream.len() as u64 + self.early_bytes + self.ends.len() as u64 * END_BYTES
    }

    /// Bytes that wait for the application: everything in order, unless it takes whole messages.
    pub(super) fn waiting(&self) -> u64 {
        match self.reads {
            None | Some(Reads::Bytes) => self.stream.len() as u64,
            Some(Reads::Messages) => {
                self.ends.back().map_or(0, |&end| end.saturating_sub(self.stream.start()))
            }
        }
    }

    /// What waits for the application, the ends of messages included: messages without bytes take memory, too.
    pub(super) fn unread(&self) -> u64 {
        self.waiting() + self.ends.len() as u64 * END_BYTES
    }

    /// Bytes that wait for a packet before them.
    pub(super) fn early(&self) -> u64 {
        self.early_bytes
    }

    /// Packets that arrived.
    pub(super) fn arrived(&self) -> u64 {
        self.arrived
    }

    /// Whether a packet with this number may come: it did before, or it is not too far ahead.
    pub(super) fn expects(&self, sequence: u32) -> bool {
        let is_behind = (sequence.wrapping_sub(self.next as u32) as i32) < 0;
        is_behind || self.distance(sequence).is_some()
    }

    /// Whether a packet is here already, or was.
    pub(super) fn has(&self, sequence: u32) -> bool {
        let distance = sequence.wrapping_sub(self.next as u32);
        (distance as i32) < 0 || self.early.contains_key(&(self.next + u64::from(distance)))
    }

    /// Nothing more will come: what nobody can read any more goes.
    pub(super) fn give_up(&mut self) {
        self.early.clear();
        self.early_bytes = 0;
        if self.reads == Some(Reads::Messages) {
            self.stream.truncate(self.ends.back().map_or(self.stream.start(), |&end| end));
        }
    }

    /// The number of a packet that arrived: the last in order, or the first that came early.
    pub(super) fn last(&self) -> Option<u32> {
        let early = || self.early.first_key_value().map(|(&number, _)| number as u32);
        self.next.checked_sub(1).map(|last| last as u32).or_else(early)
    }

    /// Whether a packet is the first that is missing.
    pub(super) fn is_next(&self, sequence: u32) -> bool {
        sequence == self.next as u32
    }

    /// Bytes of a message whose end has not arrived.
    pub(super) fn unfinished(&self) -> u64 {
        self.stream.len() as u64 - self.waiting().min(self.stream.len() as u64)
    }

    /// The packet that closes says where the stream ends: at the last message end in it, or where it
    /// begins. What is behind is padding that made the packet possible.
    fn close(&mut self, end: u64) {
        self.stream.truncate(end);
        self.closed = true;
    }

    /// The next whole message.
    pub(super) fn message(&mut self) -> Option<Vec<u8>> {
        self.reads = Some(Reads::Messages);
        let end = self.ends.pop_front()?;
        let message = self.stream.slices(self.stream.start(), end).concat();
        self.stream.release(end, SPARE);
        Some(message)
    }

    /// Bytes of the next whole message.
    pub(super) fn next_length(&mut self) -> Option<usize> {
        self.reads = Some(Reads::Messages);
        self.ends.front().map(|end| end.saturating_sub(self.stream.start()) as usize)
    }

    /// The next bytes of the stream, whatever messages they belong to.
    pub(super) fn read(&mut self, bytes: &mut [u8]) -> usize {
        self.reads = Some(Reads::Bytes);
        let start = self.stream.start();
        let count = bytes.len().min(self.stream.len());
        let [first, second] = self.stream.slices(start, start + count as u64);
        bytes[..first.len()].copy_from_slice(first);
        bytes[first.len()..count].copy_from_slice(second);
        self.stream.release(start + count as u64, STREAM_SPARE);
        while self.ends.front().is_some_and(|&end| end <= self.stream.start()) {
            self.ends.pop_front();
        }
        count
    }

    /// Whether the peer closed its side and everything before has arrived.
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Whether nothing is left to read and nothing will come.
    pub(super) fn is_finished(&self) -> bool {
        self.closed && self.stream.len() == 0 && self.ends.is_empty()
    }
}

impl Early {
    fn bytes(&self) -> u64 {
        self.payload.len() as u64 + EARLY_BYTES + self.ends.len() as u64 * END_BYTES
    }
}

/// The ends of messages in an extension, each handed over. Gives whether it closes.
fn records(extension: &[u8], payload_length: usize, mut end: impl FnMut(u16)) -> bool {
    let mut closes = false;
    for record in Records::new(extension, payload_length).flatten() {
        match record {
            Record::MessageEnd(at) => end(at),
            Record::Close => closes = true,
            Record::Token(_) | Record::Acked { .. } | Record::Unknown { .. } => {}
        }
    }
    closes
}

/// The token in an extension, if there is one.
pub(super) fn token(extension: &[u8], payload_length: usize) -> Option<Token> {
    Records::new(extension, payload_length).flatten().find_map(|record| match record {
        Record::Token(token) => Some(token),
        Record::MessageEnd(_) | Record::Close | Record::Acked { .. } | Record::Unknown { .. } => {
            None
        }
    })
}

/// Whether every record of an extension can be read, and the ends rise and are no more than a packet may have: each
/// takes memory.
pub(super) fn is_readable(extension: &[u8], payload_length: usize) -> bool {
    let (mut last, mut ends) = (0, 0);
    Records::new(extension, payload_length).all(|record| match record {
        Ok(Record::MessageEnd(end)) => {
            ends += 1;
            ends <= ENDS && end >= std::mem::replace(&mut last, end)
        }
        Ok(_) => true,
        Err(_) => false,
    })
}
