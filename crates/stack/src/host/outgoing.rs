//! The send stream of a connection: bytes until they are ACKed, and the packets that carry them.

use std::collections::VecDeque;
use std::ops::Range;

use trimline_packet::wire::{Record, TOKEN_BYTES};

use super::buffer::{Buffer, SPARE, emptied};
use super::credit::Pulled;
use super::tokens::Token;

/// Maximum number of message ends in one packet.
pub(super) const ENDS: usize = 8;

/// Maximum bytes of a packet's own records: [`ENDS`] of four bytes, a closing one, and a token.
pub(super) const EXTENSION_ROOM: usize = 4 * ENDS + 2 + 2 + TOKEN_BYTES;

#[derive(Clone, Copy, Debug)]
struct Sent {
    offset: u64,
    length: u16,
    /// The path of its last transmission.
    path: u16,
    /// The attempt of its last transmission, as in the packet.
    attempt: u8,
    /// The number of its last transmission, among all of the stream.
    number: u64,
    /// Neither ACKed, NACKed nor returned since then.
    out: bool,
    acked: bool,
}

/// Data to be sent or ACKed.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    stream: Buffer,
    /// Ends of messages whose bytes are still buffered.
    ends: VecDeque<u64>,
    handed: u64,
    /// Offset of the next new packet.
    next_offset: u64,
    /// Packets from the oldest unACKed one.
    sent: VecDeque<Sent>,
    /// Sequence number of the first of `sent`.
    base: u32,
    /// Offset of the byte whose packet closes the stream.
    closes_at: Option<u64>,
    /// The endpoint has the stream.
    pub(super) opened: bool,
    /// It is in the host's list of streams to hand over.
    pub(super) listed: bool,
    /// Number of transmissions.
    sends: u64,
    /// The newest transmission that was answered.
    answered: u64,
    /// Pulls of the peer so far.
    pub(super) pulled: Pulled,
    /// Number of answers with news: first ACKs, and answers of a peer whose application does not read.
    pub(super) news: u64,
    /// The token that its first packets showed.
    pub(super) shown: Option<Token>,
}

impl Outgoing {
    /// Resets to an unopened stream. Reuses small allocations if `keeps`.
    pub(super) fn emptied(self, keeps: bool) -> Outgoing {
        let Outgoing { stream, ends, sent, .. } = self;
        let (ends, sent) = (emptied(ends, keeps), emptied(sent, keeps));
        Outgoing { stream: stream.emptied(keeps), ends, sent, ..Outgoing::default() }
    }

    pub(super) fn bytes(&self) -> usize {
        self.stream.len()
    }

    /// Adds a message, which is not empty.
    pub(super) fn message(&mut self, bytes: &[u8]) {
        self.stream.append(bytes);
        self.ends.push_back(self.stream.end());
    }

    pub(super) fn write(&mut self, bytes: &[u8]) {
        self.stream.append(bytes);
    }

    /// Ends the stream, with a byte of padding whose packet can carry the end.
    pub(super) fn close(&mut self) {
        if self.closes_at.is_none() {
            let end = self.stream.end();
            if self.ends.back() != Some(&end) {
                self.ends.push_back(end);
            }
            self.closes_at = Some(end);
            self.stream.append(&[0]);
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closes_at.is_some()
    }

    /// Returns the bytes that the endpoint may now learn of, so that no packet holds the ends of more than [`ENDS`]
    /// messages.
    pub(super) fn hand_over(&mut self) -> u64 {
        let first = self.ends.partition_point(|&end| end <= self.next_offset);
        let limit = match self.ends.get(first + ENDS - 1) {
            Some(&end) => end,
            None => self.stream.end(),
        };
        let more = limit.saturating_sub(self.handed);
        self.handed += more;
        more
    }

    pub(super) fn is_handed_over(&self) -> bool {
        self.handed == self.stream.end()
    }

    /// Returns the stream's range for a packet of the endpoint, and appends its records to `extension`.
    ///
    /// # Panics
    /// Panics for a packet that was ACKed, or is neither sent before nor the next one.
    pub(super) fn packet(
        &mut self,
        sequence: u32,
        length: u16,
        extension: &mut Vec<u8>,
    ) -> Range<u64> {
        let distance = sequence.wrapping_sub(self.base) as usize;
        if distance == self.sent.len() {
            let (path, attempt, number) = (0, 0, 0);
            let offset = self.next_offset;
            let (out, acked) = (false, false);
            self.sent.push_back(Sent { offset, length, path, attempt, number, out, acked });
            self.next_offset += u64::from(length);
        }
        let sent = self.sent[distance];
        assert!(!sent.acked && sent.length == length, "packet {sequence} is another one");
        let end = sent.offset + u64::from(length);
        let first = self.ends.partition_point(|&at| at <= sent.offset);
        for &at in self.ends.range(first..).take_while(|&&at| at <= end) {
            // Within the payload, whose length has 16 bits.
            let record = Record::MessageEnd((at - sent.offset) as u16);
            record.emit(extension).expect("a known record");
        }
        if self.closes_at.is_some_and(|at| (sent.offset..end).contains(&at)) {
            Record::Close.emit(extension).expect("a known record");
        }
        sent.offset..end
    }

    pub(super) fn slices(&self, at: &Range<u64>) -> [&[u8]; 2] {
        self.stream.slices(at.start, at.end)
    }

    /// Records the path of the packet just placed by [`Outgoing::packet`]. Returns the previous path if that lost the
    /// packet, which was not answered.
    #[inline]
    pub(super) fn takes(&mut self, sequence: u32, path: u16, attempt: u8) -> Option<u16> {
        let distance = sequence.wrapping_sub(self.base) as usize;
        let sent = self.sent.get_mut(distance)?;
        let lost_on = sent.out.then_some(sent.path);
        self.sends += 1;
        (sent.path, sent.attempt, sent.number, sent.out) = (path, attempt, self.sends, true);
        lost_on
    }

    pub(super) fn came_through(&mut self, sequence: u32, attempt: u8) {
        let distance = sequence.wrapping_sub(self.base) as usize;
        if let Some(sent) = self.sent.get(distance).filter(|sent| sent.attempt == attempt) {
            self.answered = self.answered.max(sent.number);
        }
    }

    pub(super) fn on_their_way(&self) -> u32 {
        u32::try_from(self.sends - self.answered).unwrap_or(u32::MAX)
    }

    /// Records an answer. Returns the packet's path, if it was out.
    pub(super) fn answered(&mut self, sequence: u32, attempt: u8) -> Option<u16> {
        let distance = sequence.wrapping_sub(self.base) as usize;
        let sent = self.sent.get_mut(distance)?;
        let is_news = sent.out && sent.attempt == attempt;
        sent.out &= !is_news;
        is_news.then_some(sent.path)
    }

    /// Records an ACK and releases bytes. Returns the packet's path, if it was out.
    pub(super) fn acked(&mut self, sequence: u32, attempt: u8) -> Option<u16> {
        let distance = sequence.wrapping_sub(self.base) as usize;
        let path = self.answered(sequence, attempt);
        let sent = self.sent.get_mut(distance)?;
        self.news += u64::from(!std::mem::replace(&mut sent.acked, true));
        while self.sent.front().is_some_and(|sent| sent.acked) {
            let sent = self.sent.pop_front().expect("it was looked at");
            self.base = self.base.wrapping_add(1);
            let end = sent.offset + u64::from(sent.length);
            self.stream.release(end, SPARE);
            while self.ends.front().is_some_and(|&at| at <= end) {
                self.ends.pop_front();
            }
        }
        path
    }

    /// Returns the last packet ACKed with all before it, whose copy is a keepalive probe.
    pub(super) fn last_acked(&self) -> Option<u32> {
        let any = self.stream.start() > 0;
        any.then(|| self.base.wrapping_sub(1))
    }

    pub(super) fn first_out(&self) -> Option<(u32, u16, u8)> {
        self.sent.front().map(|sent| (self.base, sent.length, sent.attempt))
    }

    pub(super) fn shortest_out(&self) -> Option<u16> {
        self.sent.iter().filter(|sent| !sent.acked).map(|sent| sent.length).min()
    }

    /// Returns whether a packet with this number was sent recently.
    pub(super) fn has_sent(&self, sequence: u32) -> bool {
        let distance = sequence.wrapping_sub(self.base);
        (distance as usize) < self.sent.len() || self.last_acked() == Some(sequence)
    }

    pub(super) fn is_complete(&self) -> bool {
        self.stream.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::super::incoming::{Incoming, is_readable};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_stream_with_reused_memory_starts_anew() {
        let begun = format!("{:?}", (Outgoing::default(), Incoming::default()));
        for keeps in [true, false] {
            let (mut out, mut extension) = (Outgoing::default(), Vec::new());
            out.message(&[7; 100]);
            out.message(&[8; 50]);
            out.close();
            let length = out.hand_over() as u16;
            let at = out.packet(0, length, &mut extension);
            let payload = out.slices(&at).concat();
            let mut incoming = Incoming::default();
            incoming.insert(0, &payload, &extension);
            // Early, and behind the end: it is never read.
            incoming.insert(2, b"early", &[]);
            assert_eq!(incoming.message().unwrap(), [7; 100]);
            let emptied = format!("{:?}", (out.emptied(keeps), incoming.emptied(keeps)));
            assert_eq!(emptied, begun, "{keeps}");
        }
        // The memory of a large transfer is not kept.
        let mut out = Outgoing::default();
        out.write(&[9; 100_000]);
        assert_eq!(out.emptied(true).stream.capacity(), 0);
        let mut out = Outgoing::default();
        out.write(&[9; 1000]);
        assert!(out.emptied(true).stream.capacity() >= 1000);
    }

    #[test]
    fn a_packet_has_the_ends_of_eight_messages_and_no_more() {
        let mut out = Outgoing::default();
        (0..20).for_each(|_| out.message(b"x"));
        let mut sizes = Vec::new();
        for sequence in 0.. {
            let length = out.hand_over() as u16;
            if length == 0 {
                break;
            }
            let mut extension = Vec::new();
            out.packet(sequence, length, &mut extension);
            assert!(extension.len() <= EXTENSION_ROOM);
            sizes.push(length);
        }
        assert_eq!(sizes, [8, 8, 4]);
    }

    #[test]
    fn an_answer_names_the_last_path_of_a_packet_once() {
        let mut out = Outgoing::default();
        out.write(&[7; 300]);
        out.hand_over();
        for sequence in 0..3 {
            out.packet(sequence, 100, &mut Vec::new());
            assert_eq!(out.takes(sequence, 10 + sequence as u16, 0), None);
        }
        assert_eq!(out.acked(1, 0), Some(11));
        assert_eq!(out.acked(1, 0), None, "twice");
        // NACKed, so not lost when it is sent again.
        assert_eq!(out.answered(2, 0), Some(12));
        assert_eq!(out.takes(2, 20, 1), None);
        assert_eq!(out.answered(2, 0), None, "late news of the first time");
        // Sent again without an answer: the previous path lost it.
        assert_eq!(out.takes(2, 21, 2), Some(20));
        assert_eq!(out.acked(2, 1), None, "whatever became of the last one");
        assert_eq!(out.takes(0, 22, 1), Some(10));
        assert_eq!(out.acked(0, 1), Some(22));
        assert_eq!(out.acked(0, 1), None, "it is forgotten");
        assert!(out.is_complete());
    }

    proptest! {
        /// Messages arrive unchanged, for all packets and orders, and no packet needs more room than there is.
        #[test]
        fn messages_survive_any_packet_order(
            messages in prop::collection::vec((1usize..400, 0u8..4), 0..40),
            payload_bytes in 1u16..300,
            order in any::<u64>(),
        ) {
            let (mut out, mut sent) = (Outgoing::default(), Vec::new());
            let (mut known, mut number, mut expected) = (0u64, 0u32, Vec::new());
            let mut send = |out: &mut Outgoing, known: &mut u64, all: bool| {
                *known += out.hand_over();
                while *known > 0 && (all || *known > u64::from(payload_bytes)) {
                    let length = (*known).min(u64::from(payload_bytes)) as u16;
                    let mut extension = Vec::new();
                    let at = out.packet(number, length, &mut extension);
                    assert_eq!(out.takes(number, number as u16 % 7, 0), None);
                    let payload = out.slices(&at).concat();
                    sent.push((number, payload, extension));
                    *known -= u64::from(length);
                    number += 1;
                    *known += out.hand_over();
                }
            };
            for (index, &(length, flush)) in messages.iter().enumerate() {
                let message = vec![index as u8; length];
                out.message(&message);
                expected.push(message);
                send(&mut out, &mut known, flush == 0);
            }
            out.close();
            send(&mut out, &mut known, true);
            let mut shuffled = sent.clone();
            let mut state = order | 1;
            for last in (1..shuffled.len()).rev() {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                shuffled.swap(last, (state >> 33) as usize % (last + 1));
            }
            let (mut incoming, mut got) = (Incoming::default(), Vec::new());
            let mut coming: VecDeque<_> = shuffled.iter().collect();
            while let Some(packet) = coming.pop_front() {
                let (sequence, payload, extension) = packet;
                prop_assert!(extension.len() <= EXTENSION_ROOM);
                prop_assert!(is_readable(extension, payload.len()));
                // A packet too far ahead is refused, and comes again.
                if !incoming.expects(*sequence) {
                    coming.push_back(packet);
                    continue;
                }
                incoming.insert(*sequence, payload, extension);
                got.extend(std::iter::from_fn(|| incoming.message()));
                // A repeated packet has the same payload and extension.
            }
            prop_assert_eq!(got, expected);
            prop_assert!(incoming.is_finished());
            for (sequence, _, _) in &shuffled {
                prop_assert_eq!(out.acked(*sequence, 0), Some(*sequence as u16 % 7));
            }
            prop_assert!(out.is_complete());
        }
    }
}
