//! The receiving half of a connection: packets become a stream, and the stream messages.

use std::collections::VecDeque;

use trimline_packet::wire::{Record, Records};

use super::buffer::Buffer;

/// A packet that arrived before one that it follows.
#[derive(Debug)]
struct Early {
    payload: Vec<u8>,
    ends: Vec<u16>,
    closes: bool,
}

/// What has arrived and was not read.
#[derive(Debug, Default)]
pub(super) struct Incoming {
    /// The first packet that is not in the stream.
    next: u32,
    /// Packets behind it, `None` where one is missing; the first is always missing.
    early: VecDeque<Option<Early>>,
    stream: Buffer,
    /// Offsets at which messages end, unread.
    ends: VecDeque<u64>,
    /// The stream goes no further than what is there.
    closed: bool,
}

impl Incoming {
    /// A packet that the endpoint accepted, each number once. Gives whether the application can now
    /// read more than before.
    pub(super) fn insert(&mut self, sequence: u32, payload: &[u8], extension: &[u8]) -> bool {
        let distance = sequence.wrapping_sub(self.next) as usize;
        if distance > 0 {
            if self.early.len() <= distance {
                self.early.resize_with(distance + 1, || None);
            }
            let mut early = Early { payload: payload.to_vec(), ends: Vec::new(), closes: false };
            early.closes = records(extension, payload.len(), |end| early.ends.push(end));
            self.early[distance] = Some(early);
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
        self.next = self.next.wrapping_add(1);
        self.early.pop_front();
        self.join();
        true
    }

    /// Packets that came early and are now in order.
    fn join(&mut self) {
        while let Some(slot) = self.early.front_mut() {
            let Some(early) = slot.take() else { return };
            self.early.pop_front();
            self.next = self.next.wrapping_add(1);
            let base = self.stream.end();
            self.stream.append(&early.payload);
            let ends = early.ends.iter().map(|&end| base + u64::from(end));
            self.ends.extend(ends);
            if early.closes {
                self.close(base + early.ends.last().map_or(0, |&end| u64::from(end)));
            }
        }
    }

    /// The packet that closes says where the stream ends: at the last message end in it, or where it
    /// begins. What is behind is padding that made the packet possible.
    fn close(&mut self, end: u64) {
        self.stream.truncate(end);
        self.closed = true;
    }

    /// The next whole message.
    pub(super) fn message(&mut self) -> Option<Vec<u8>> {
        let end = self.ends.pop_front()?;
        let message = self.stream.slices(self.stream.start(), end).concat();
        self.stream.release(end);
        Some(message)
    }

    /// The next bytes of the stream, whatever messages they belong to.
    pub(super) fn read(&mut self, bytes: &mut [u8]) -> usize {
        let start = self.stream.start();
        let count = bytes.len().min(self.stream.len());
        let [first, second] = self.stream.slices(start, start + count as u64);
        bytes[..first.len()].copy_from_slice(first);
        bytes[first.len()..count].copy_from_slice(second);
        self.stream.release(start + count as u64);
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

/// The ends of messages in an extension, each handed over. Gives whether it closes.
fn records(extension: &[u8], payload_length: usize, mut end: impl FnMut(u16)) -> bool {
    let mut closes = false;
    for record in Records::new(extension, payload_length).flatten() {
        match record {
            Record::MessageEnd(at) => end(at),
            Record::Close => closes = true,
            Record::Unknown { .. } => {}
        }
    }
    closes
}

/// Whether every record of an extension can be read, and the ends rise.
pub(super) fn is_readable(extension: &[u8], payload_length: usize) -> bool {
    let mut last = 0;
    Records::new(extension, payload_length).all(|record| match record {
        Ok(Record::MessageEnd(end)) => end >= std::mem::replace(&mut last, end),
        Ok(_) => true,
        Err(_) => false,
    })
}
