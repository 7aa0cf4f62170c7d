//! A TCP segment in the value of a packet: 28 bytes, the same as every protocol's.
//!
//! Segments are numbered, not bytes: every segment of a message is full but its last, and a segment is resent
//! as it was. The payload's length follows from the packet's size on the wire.
//!
//! The last segment of a message is marked LAST, like the PUSH of a real one. A stream may go on behind it with
//! another message: what is marked is the end for now. If the application hands over more before that segment is sent,
//! it is filled up, and both messages have one end; if more follows before it is acknowledged, the receiver tells of two
//! messages or, if the first one's end comes after part of the second, of one.
//!
//! | field | segment with data | ACK |
//! |---|---|---|
//! | `kind` | DATA | ACK |
//! | `sequence` | segment of the stream, from 0 | the next segment that is missing |
//! | `extra` | the time of sending (RFC 7323); with FastLane the time-outs so far | what `marks` says |
//! | `flags` | SYN; LAST (of a message); FROM_OPENER; subflow (bits 3 to 5); class | the same |
//! | `marks` | ECT and CE of IP; CWR (bit 3) | ECE (bit 2); the form of `extra` (bits 4 to 6) |
//!
//! With several subflows, `sequence` is of the subflow: the low 16 bits of its number, and 16 bits of the time of
//! sending or of its echo; the window is below 2^15 segments, so the rest of the number is known. `extra` is the
//! connection's number, whole: what a stuck subflow resends may lie far behind.
//!
//! A SYN without data is a DATA packet of 64 bytes; its answer an ACK with the flag SYN.
//!
//! # What an ACK says beyond its number
//! Real options have forty bytes; here is one word, so an ACK carries one of
//!
//! - the echo of a time stamp;
//! - one SACK block of any length, two with distances and lengths below 256, or three below 32, each counted
//!   from the end of the one before (the first from the ACK's number). As many of the most recent blocks
//!   as fit; the one that holds the segment just received always does. Windows of up to thirty segments
//!   between the holes so get the three blocks of a real ACK that also has time stamps (RFC 2018);
//! - one segment that came twice, by its signed distance from the ACK's number, and one block (RFC 2883);
//! - the connection's own number, the next of its segments that is missing (RFC 8684: DATA_ACK);
//! - the bytes that have arrived out of order, beyond the number (FastLane 3.4.1).
//!
//! The bits are those that a wire would carry. What is lost against real options: an ACK with blocks echoes
//! no time, so that in recovery the round trip is not measured; an ACK of several subflows has no blocks.

use trimline_packet::{Flags, Packet, Time, TimeDelta};

/// [`Packet::marks`]: congestion window reduced, the sender has acted on an echo (RFC 3168).
pub const MARK_CWR: u8 = 1 << 3;

const FORM_SHIFT: u8 = 4;
const SUBFLOW_SHIFT: u8 = 3;
const SUBFLOW_MASK: u8 = 7 << SUBFLOW_SHIFT;

/// A run of segments: its first one, and how many.
pub(super) type Block = (u32, u32);

/// Up to three runs of segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Blocks {
    list: [Block; 3],
    count: u8,
}

impl Blocks {
    /// None.
    pub(super) const NONE: Blocks = Blocks { list: [(0, 0); 3], count: 0 };

    /// Adds a block behind the others; there are at most three.
    pub(super) fn push(&mut self, block: Block) {
        self.list[usize::from(self.count)] = block;
        self.count += 1;
    }

    pub(super) fn as_slice(&self) -> &[Block] {
        &self.list[..usize::from(self.count)]
    }
}

/// What an ACK says beyond its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extra {
    /// Nothing.
    Nothing,
    /// The time stamp of the segment that it answers.
    Echo(u32),
    /// Segments beyond the number that have arrived; most recent first when an ACK is made, in rising order
    /// when it is read.
    Blocks(Blocks),
    /// A segment that came twice, and the block around what came last, if there is one.
    Twice(u32, Blocks),
    /// The next segment of the connection that is missing.
    Connection(u32),
    /// Bytes that have arrived beyond the number.
    Beyond(u32),
}

/// The subflow that a segment or ACK belongs to.
#[inline]
pub(super) const fn subflow(flags: Flags) -> u8 {
    (flags.bits() & SUBFLOW_MASK) >> SUBFLOW_SHIFT
}

/// These flags, of this subflow.
#[inline]
pub(super) const fn of_subflow(flags: Flags, subflow: u8) -> Flags {
    Flags::from_bits(flags.bits() & !SUBFLOW_MASK | subflow << SUBFLOW_SHIFT & SUBFLOW_MASK)
}

/// Bytes of payload of a segment.
#[inline]
pub(super) const fn payload(packet: &Packet) -> u16 {
    packet.wire_bytes.saturating_sub(Packet::HEADER_BYTES)
}

/// A tick of a time stamp is 2^20 picoseconds, 1.05 us, and its clock goes round in 75 minutes. (RFC 7323 5.4
/// wants between 1 ms and 1 s for the Internet's round trips; these are of microseconds.)
const TICK: u32 = 20;
/// That of a short time stamp: 4.2 us.
const SHORT_TICK: u32 = 22;
/// Its clock goes round in 275 ms. Of a segment that is so old an echo does not tell how often it went round.
pub(super) const SHORT_ROUND: TimeDelta = TimeDelta::from_ps(1 << (SHORT_TICK + 16));

/// The time stamp of an instant.
#[inline]
pub(super) const fn stamp(now: Time) -> u32 {
    (now.as_ps() >> TICK) as u32
}

/// The instant, to within a tick, that an echo is of.
#[inline]
pub(super) const fn stamped(now: Time, echo: u32) -> Time {
    let ticks = now.as_ps() >> TICK;
    let ago = (ticks as u32).wrapping_sub(echo) as u64;
    Time::from_ps(ticks.saturating_sub(ago) << TICK)
}

/// The number of a subflow's segment or ACK, and the instant of its sending.
#[inline]
pub(super) const fn short(number: u32, now: Time) -> u32 {
    number << 16 | (now.as_ps() >> SHORT_TICK) as u16 as u32
}

/// The same, with an echo.
#[inline]
pub(super) const fn short_echo(number: u32, echo: u32) -> u32 {
    number << 16 | echo & 0xffff
}

/// The whole number that is nearest to another one.
#[inline]
pub(super) const fn whole(word: u32, near: u32) -> u32 {
    let distance = ((word >> 16) as u16).wrapping_sub(near as u16) as i16;
    near.wrapping_add_signed(distance as i32)
}

/// The instant, to within a tick, that a short echo is of.
#[inline]
pub(super) const fn short_stamped(now: Time, word: u32) -> Time {
    let ticks = now.as_ps() >> SHORT_TICK;
    let ago = (ticks as u16).wrapping_sub(word as u16) as u64;
    Time::from_ps(ticks.saturating_sub(ago) << SHORT_TICK)
}

/// Distances and lengths of blocks in rising order, each `bits` wide; `None` when one does not fit.
fn pack(number: u32, blocks: &[Block], bits: u32) -> Option<u32> {
    let (mut word, mut end, mut shift) = (0, number, 0);
    for &(first, length) in blocks {
        let distance = first.wrapping_sub(end);
        if distance == 0 || distance >> bits != 0 || length == 0 || length >> bits != 0 {
            return None;
        }
        word |= (distance | length << bits) << shift;
        shift += 2 * bits;
        end = first.wrapping_add(length);
    }
    Some(word)
}

fn unpack(number: u32, word: u32, bits: u32, count: u32) -> Blocks {
    let mask = (1 << bits) - 1;
    let mut blocks = Blocks::NONE;
    let mut end = number;
    for place in 0..count {
        let pair = word >> (2 * bits * place);
        let (distance, length) = (pair & mask, pair >> bits & mask);
        if length == 0 {
            break;
        }
        let first = end.wrapping_add(distance);
        blocks.push((first, length));
        end = first.wrapping_add(length);
    }
    blocks
}

impl Extra {
    /// The form's mark and the word of an ACK with this number.
    pub(super) fn encode(&self, number: u32) -> (u8, u32) {
        let (form, word) = match *self {
            Extra::Nothing => (0, 0),
            Extra::Echo(time) => (1, time),
            Extra::Connection(next) => (2, next),
            Extra::Beyond(bytes) => (7, bytes),
            Extra::Blocks(blocks) => encode_blocks(number, blocks),
            Extra::Twice(sequence, blocks) => {
                let distance = sequence.wrapping_sub(number) as u16;
                let word = blocks.as_slice().first().and_then(|&block| pack(number, &[block], 8));
                (6, u32::from(distance) | word.unwrap_or(0) << 16)
            }
        };
        (form << FORM_SHIFT, word)
    }

    /// Reads an ACK. Total: every mark and word means something.
    #[inline]
    pub(super) fn decode(marks: u8, number: u32, word: u32) -> Extra {
        match marks >> FORM_SHIFT & 7 {
            1 => Extra::Echo(word),
            2 => Extra::Connection(word),
            3 => {
                let mut blocks = Blocks::NONE;
                blocks.push((number.wrapping_add(word & 0xffff), word >> 16));
                Extra::Blocks(blocks)
            }
            4 => Extra::Blocks(unpack(number, word, 8, 2)),
            5 => Extra::Blocks(unpack(number, word, 5, 3)),
            6 => {
                let distance = i32::from(word as u16 as i16);
                let sequence = number.wrapping_add_signed(distance);
                Extra::Twice(sequence, unpack(number, word >> 16, 8, 1))
            }
            7 => Extra::Beyond(word),
            _ => Extra::Nothing,
        }
    }
}

/// As many of the most recent blocks as fit.
fn encode_blocks(number: u32, blocks: Blocks) -> (u8, u32) {
    for (count, bits, form) in [(3, 5, 5), (2, 8, 4)] {
        if usize::from(blocks.count) >= count {
            let mut rising = blocks.list;
            let rising = &mut rising[..count];
            rising.sort_unstable_by_key(|&(first, _)| first.wrapping_sub(number));
            if let Some(word) = pack(number, rising, bits) {
                return (form, word);
            }
        }
    }
    match blocks.as_slice().first() {
        None => (0, 0),
        Some(&(first, length)) => {
            let distance = first.wrapping_sub(number);
            debug_assert!(distance <= 0xffff, "a receive window is below 65536 segments");
            (3, distance & 0xffff | length.min(0xffff) << 16)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn blocks(list: &[Block]) -> Blocks {
        let mut blocks = Blocks::NONE;
        list.iter().for_each(|&block| blocks.push(block));
        blocks
    }

    fn through(extra: Extra, number: u32) -> Extra {
        let (marks, word) = extra.encode(number);
        Extra::decode(marks | Packet::MARK_ECT | Packet::MARK_ECE | MARK_CWR, number, word)
    }

    #[test]
    fn subflows_keep_out_of_the_other_flags() {
        let flags = Flags::default().with(Flags::SYN | Flags::FROM_OPENER).with_class(2);
        for number in 0..MAX {
            let named = of_subflow(flags, number);
            assert_eq!((subflow(named), named.class()), (number, 2));
            assert!(
                named.contains(Flags::SYN | Flags::FROM_OPENER) && !named.contains(Flags::LAST)
            );
        }
    }
    const MAX: u8 = super::super::MAX_SUBFLOWS;

    #[test]
    fn three_short_blocks_two_longer_ones_or_one_of_any_length_fit() {
        let three = through(Extra::Blocks(blocks(&[(150, 31), (101, 3), (110, 9)])), 100);
        assert_eq!(three, Extra::Blocks(blocks(&[(101, 3), (110, 9), (150, 31)])));
        let two = through(Extra::Blocks(blocks(&[(350, 31), (101, 3), (110, 9)])), 100);
        assert_eq!(two, Extra::Blocks(blocks(&[(101, 3), (350, 31)])));
        let one = through(Extra::Blocks(blocks(&[(9000, 3000), (101, 3)])), 100);
        assert_eq!(one, Extra::Blocks(blocks(&[(9000, 3000)])));
    }

    #[test]
    fn a_segment_that_came_twice_lies_before_or_behind_the_number() {
        for sequence in [95, 105] {
            let twice = Extra::Twice(sequence, blocks(&[(102, 200)]));
            assert_eq!(through(twice, 100), twice);
            let far = Extra::Twice(sequence, blocks(&[(1000, 200)]));
            assert_eq!(through(far, 100), Extra::Twice(sequence, Blocks::NONE));
        }
    }

    proptest! {
        #[test]
        fn short_numbers_and_times_are_known_near_the_whole_ones(
            near: u32,
            distance in -32_768i32..32_768,
            sent in 0u64..1 << 50,
            later in 0u64..1 << 37,
        ) {
            let number = near.wrapping_add_signed(distance);
            let word = short(number, Time::from_ps(sent));
            prop_assert_eq!(whole(word, near), number);
            prop_assert_eq!(short_echo(number, word), word);
            let now = Time::from_ps(sent + later);
            prop_assert!(sent - short_stamped(now, word).as_ps() < 1 << SHORT_TICK);
            prop_assert!(sent - stamped(now, stamp(Time::from_ps(sent))).as_ps() < 1 << TICK);
        }

        /// Whatever an ACK says is part of what the receiver has, and the newest block is whole.
        #[test]
        fn nothing_is_said_that_is_not_so(
            number: u32,
            steps in prop::collection::vec((1u32..400, 1u32..400), 0..4),
            newest: prop::sample::Index,
        ) {
            let mut list = alloc::vec::Vec::new();
            let mut end = number;
            for (distance, length) in steps.into_iter().take(3) {
                list.push((end.wrapping_add(distance), length));
                end = end.wrapping_add(distance + length);
            }
            if !list.is_empty() {
                let count = list.len();
                list.rotate_left(newest.index(count));
            }
            match through(Extra::Blocks(blocks(&list)), number) {
                Extra::Nothing => prop_assert!(list.is_empty()),
                Extra::Blocks(said) => {
                    prop_assert!(said.as_slice().contains(&list[0]));
                    prop_assert!(said.as_slice().iter().all(|block| list.contains(block)));
                }
                other => prop_assert!(false, "{:?}", other),
            }
        }

        #[test]
        fn every_word_is_read(marks: u8, number: u32, word: u32) {
            Extra::decode(marks, number, word);
        }

        #[test]
        fn numbers_are_read_as_they_were_written(number: u32, word: u32) {
            prop_assert_eq!(through(Extra::Echo(word), number), Extra::Echo(word));
            prop_assert_eq!(through(Extra::Connection(word), number), Extra::Connection(word));
            prop_assert_eq!(through(Extra::Beyond(word), number), Extra::Beyond(word));
        }
    }
}
