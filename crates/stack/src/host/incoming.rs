//! The receive stream of a connection: packets become a stream, and the stream messages.

use std::collections::{BTreeMap, VecDeque};

use trimline_packet::wire::{Record, Records};
use trimline_transport::WINDOW_LIMIT;

use super::buffer::{Buffer, SPARE, emptied};
use super::outgoing::ENDS;
use super::tokens::Token;

/// A packet that arrived before an earlier one.
#[derive(Debug)]
struct Early {
    payload: Vec<u8>,
    ends: Vec<u16>,
    closes: bool,
}

/// Memory of an early packet in addition to its bytes.
const EARLY_BYTES: u64 = 128;

/// Memory of the end of a message, in bytes.
const END_BYTES: u64 = 8;

/// Packets beyond the first missing one that are always accepted (chosen: the largest useful initial window at 400
/// Gb/s).
const AHEAD: u32 = 1024;

/// Further packets accepted for each packet that has arrived.
const AHEAD_FOR_EACH: u64 = 64;

/// Bytes of memory that stay while a stream is read (chosen: the default limit of unread bytes). Allocating them in
/// each turn slows transfers down.
const STREAM_SPARE: usize = 4 << 20;

#[derive(Debug, Default)]
pub(super) struct Incoming {
    /// Index of the first packet missing in the stream, from the start of the connection.
    next: u64,
    /// Packets behind it, by index.
    early: BTreeMap<u64, Early>,
    /// Memory of the early packets, in bytes.
    early_bytes: u64,
    arrived: u64,
    stream: Buffer,
    /// Offsets of the unread ends of messages.
    ends: VecDeque<u64>,
    /// The stream ends with the bytes that are here.
    closed: bool,
    /// The form in which the application reads, once it has read.
    reads: Option<Reads>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reads {
    Bytes,
    Messages,
}

impl Incoming {
    /// Returns a packet's distance from the first missing one. `None`: it is behind, or further ahead than a sender
    /// would go. So data kept behind a gap stays in proportion to what has arrived.
    fn distance(&self, sequence: u32) -> Option<u32> {
        // The low 32 bits of the index are the packet's sequence number.
        let distance = sequence.wrapping_sub(self.next as u32);
        let max = u64::from(AHEAD).saturating_add(self.arrived.saturating_mul(AHEAD_FOR_EACH));
        (u64::from(distance) < max.min(u64::from(WINDOW_LIMIT))).then_some(distance)
    }

    /// Resets to an unopened stream. Reuses small allocations if `keeps`.
    pub(super) fn emptied(self, keeps: bool) -> Incoming {
        let (stream, ends) = (self.stream.emptied(keeps), emptied(self.ends, keeps));
        Incoming { stream, ends, ..Incoming::default() }
    }

    /// Inserts a packet that the endpoint accepted, each number once. Returns whether the application can read more.
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

    /// Appends early packets that are now in order, up to the closing one.
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

    /// Returns the buffered bytes and their bookkeeping.
    pub(super) fn buffered_bytes(&self) -> u64 {
        self.stream.len() as u64 + self.early_bytes + self.ends.len() as u64 * END_BYTES
    }

    /// Returns the bytes for the application: all in order, or whole messages if it reads those.
    pub(super) fn waiting(&self) -> u64 {
        match self.reads {
            None | Some(Reads::Bytes) => self.stream.len() as u64,
            Some(Reads::Messages) => {
                self.ends.back().map_or(0, |&end| end.saturating_sub(self.stream.start()))
            }
        }
    }

    /// Returns the bytes for the application and the memory of message ends, which empty messages take, too.
    pub(super) fn unread(&self) -> u64 {
        self.waiting() + self.ends.len() as u64 * END_BYTES
    }

    pub(super) fn early(&self) -> u64 {
        self.early_bytes
    }

    pub(super) fn arrived(&self) -> u64 {
        self.arrived
    }

    /// Returns whether a packet is plausible: it came before, or is not too far ahead.
    pub(super) fn expects(&self, sequence: u32) -> bool {
        let is_behind = (sequence.wrapping_sub(self.next as u32) as i32) < 0;
        is_behind || self.distance(sequence).is_some()
    }

    pub(super) fn has(&self, sequence: u32) -> bool {
        let distance = sequence.wrapping_sub(self.next as u32);
        (distance as i32) < 0 || self.early.contains_key(&(self.next + u64::from(distance)))
    }

    /// Drops data that can never be read, when nothing more will come.
    pub(super) fn give_up(&mut self) {
        self.early.clear();
        self.early_bytes = 0;
        if self.reads == Some(Reads::Messages) {
            self.stream.truncate(self.ends.back().map_or(self.stream.start(), |&end| end));
        }
    }

    /// Returns the number of an arrived packet: the last in order, or else the first early one.
    pub(super) fn last(&self) -> Option<u32> {
        let early = || self.early.first_key_value().map(|(&number, _)| number as u32);
        self.next.checked_sub(1).map(|last| last as u32).or_else(early)
    }

    pub(super) fn is_next(&self, sequence: u32) -> bool {
        sequence == self.next as u32
    }

    /// Returns the bytes of the message that is not whole.
    pub(super) fn unfinished(&self) -> u64 {
        self.stream.len() as u64 - self.waiting().min(self.stream.len() as u64)
    }

    /// Ends the stream at `end`: the last message end in the closing packet, or its beginning. Bytes behind it are
    /// padding.
    fn close(&mut self, end: u64) {
        self.stream.truncate(end);
        self.closed = true;
    }

    pub(super) fn message(&mut self) -> Option<Vec<u8>> {
        self.reads = Some(Reads::Messages);
        let end = self.ends.pop_front()?;
        let message = self.stream.slices(self.stream.start(), end).concat();
        self.stream.release(end, SPARE);
        Some(message)
    }

    pub(super) fn next_length(&mut self) -> Option<usize> {
        self.reads = Some(Reads::Messages);
        self.ends.front().map(|end| end.saturating_sub(self.stream.start()) as usize)
    }

    /// Reads the next bytes, across message ends.
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

    /// Returns whether the peer closed its side and everything before arrived.
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Returns whether nothing is left to read and nothing will come.
    pub(super) fn is_finished(&self) -> bool {
        self.closed && self.stream.len() == 0 && self.ends.is_empty()
    }
}

impl Early {
    fn bytes(&self) -> u64 {
        self.payload.len() as u64 + EARLY_BYTES + self.ends.len() as u64 * END_BYTES
    }
}

/// Passes each message end to `end`. Returns whether the packet closes the stream.
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

pub(super) fn token(extension: &[u8], payload_length: usize) -> Option<Token> {
    Records::new(extension, payload_length).flatten().find_map(|record| match record {
        Record::Token(token) => Some(token),
        Record::MessageEnd(_) | Record::Close | Record::Acked { .. } | Record::Unknown { .. } => {
            None
        }
    })
}

/// Returns whether all records are readable, and their ends rise and are at most [`ENDS`], because each takes memory.
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
