//! A TCP segment as a packet value: 28 bytes, like every protocol's.
//!
//! Numbers count segments, not bytes: every segment of a message is full but its last, and is resent unchanged. The
//! payload's length follows from the size on the wire.
//!
//! LAST marks the last segment of a message, like a real PUSH. The stream may continue with another message. If the
//! application hands over more before that segment is sent, the segment is filled up, and both messages share one end.
//! If more follows before it is acknowledged, the receiver reports two messages or, if the first end arrives after part
//! of the second message, one.
//!
//! | field | segment with data | ACK |
//! |---|---|---|
//! | `kind` | DATA | ACK |
//! | `sequence` | segment of the stream, from 0 | the next missing segment |
//! | `extra` | the send time (RFC 7323); with FastLane the time-outs so far | see `marks` |
//! | `flags` | SYN; LAST (of a message); FROM_OPENER; subflow (bits 3 to 5); class | as data |
//! | `marks` | ECT and CE of IP; CWR (bit 3) | ECE (bit 2); the form of `extra` (bits 4 to 6) |
//!
//! With several subflows, `sequence` belongs to the subflow: the low 16 bits of its number, and 16 bits of the send
//! time or its echo. The window is below 2^15 segments, so the rest of the number is known. `extra` is the connection's
//! whole number: a stuck subflow may resend old data.
//!
//! A SYN without data is a DATA packet of 64 bytes; its answer is an ACK with the flag SYN.
//!
//! # Options of an ACK
//! Real options have forty bytes, these one word. So an ACK carries one of
//!
//! - the echo of a time stamp;
//! - one SACK block of any length, two with distances and lengths below 256, or three below 32. Each counts from the
//!   end of the one before (the first from the ACK's number). The most recent blocks that fit are sent, always with the
//!   block of the segment just received. So windows of up to thirty segments between holes get the three blocks of a
//!   real ACK with time stamps (RFC 2018);
//! - one duplicate segment, by its signed distance from the ACK's number, and one block (RFC 2883);
//! - the connection's next missing segment (RFC 8684: DATA_ACK);
//! - the out-of-order bytes beyond the number (FastLane 3.4.1).
//!
//! The bits are as on a wire. The losses against real options: an ACK with blocks echoes no time, so recovery measures
//! no round trip; an ACK of several subflows has no blocks.

use trimline_packet::{Flags, Packet, Time, TimeDelta};

/// [`Packet::marks`]: congestion window reduced, the sender has acted on an echo (RFC 3168).
pub const MARK_CWR: u8 = 1 << 3;

const FORM_SHIFT: u8 = 4;
const SUBFLOW_SHIFT: u8 = 3;
const SUBFLOW_MASK: u8 = 7 << SUBFLOW_SHIFT;

/// A run of segments: the first one and the length.
pub(super) type Block = (u32, u32);

/// Up to three runs of segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Blocks {
    list: [Block; 3],
    count: u8,
}

impl Blocks {
    pub(super) const NONE: Blocks = Blocks { list: [(0, 0); 3], count: 0 };

    pub(super) fn push(&mut self, block: Block) {
        self.list[usize::from(self.count)] = block;
        self.count += 1;
    }

    pub(super) fn as_slice(&self) -> &[Block] {
        &self.list[..usize::from(self.count)]
    }
}

/// The option of an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extra {
    /// Nothing.
    Nothing,
    /// The time stamp of the acknowledged segment.
    Echo(u32),
    /// Segments that arrived beyond the number; most recent first when encoded, ascending when decoded.
    Blocks(Blocks),
    /// A duplicate segment, and the newest block, if any.
    Twice(u32, Blocks),
    /// The connection's next missing segment.
    Connection(u32),
    /// Bytes that arrived beyond the number.
    Beyond(u32),
}

#[inline]
pub(super) const fn subflow(flags: Flags) -> u8 {
    (flags.bits() & SUBFLOW_MASK) >> SUBFLOW_SHIFT
}

#[inline]
pub(super) const fn of_subflow(flags: Flags, subflow: u8) -> Flags {
    Flags::from_bits(flags.bits() & !SUBFLOW_MASK | subflow << SUBFLOW_SHIFT & SUBFLOW_MASK)
}

#[inline]
pub(super) const fn payload(packet: &Packet) -> u16 {
    packet.wire_bytes.saturating_sub(Packet::HEADER_BYTES)
}

/// Tick of a time stamp: 2^20 picoseconds, 1.05 us; the clock wraps in 75 minutes. (RFC 7323 5.4 wants 1 ms to 1 s for
/// the Internet's round trips; these are of microseconds.)
const TICK: u32 = 20;
/// Tick of a short time stamp: 4.2 us.
const SHORT_TICK: u32 = 22;
/// Wrap time of short time stamps: 275 ms. An echo of an older segment is ambiguous.
pub(super) const SHORT_ROUND: TimeDelta = TimeDelta::from_ps(1 << (SHORT_TICK + 16));

#[inline]
pub(super) const fn stamp(now: Time) -> u32 {
    (now.as_ps() >> TICK) as u32
}

/// Returns the instant of an echo, to within a tick.
#[inline]
pub(super) const fn stamped(now: Time, echo: u32) -> Time {
    let ticks = now.as_ps() >> TICK;
    let ago = (ticks as u32).wrapping_sub(echo) as u64;
    Time::from_ps(ticks.saturating_sub(ago) << TICK)
}

#[inline]
pub(super) const fn short(number: u32, now: Time) -> u32 {
    number << 16 | (now.as_ps() >> SHORT_TICK) as u16 as u32
}

#[inline]
pub(super) const fn short_echo(number: u32, echo: u32) -> u32 {
    number << 16 | echo & 0xffff
}

/// Returns the whole number nearest to `near`.
#[inline]
pub(super) const fn whole(word: u32, near: u32) -> u32 {
    let distance = ((word >> 16) as u16).wrapping_sub(near as u16) as i16;
    near.wrapping_add_signed(distance as i32)
}

/// Returns the instant of a short echo, to within a tick.
#[inline]
pub(super) const fn short_stamped(now: Time, word: u32) -> Time {
    let ticks = now.as_ps() >> SHORT_TICK;
    let ago = (ticks as u16).wrapping_sub(word as u16) as u64;
    Time::from_ps(ticks.saturating_sub(ago) << SHORT_TICK)
}

/// Packs the distances and lengths of ascending blocks, each `bits` wide; `None` if one does not fit.
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

    /// Decodes any marks and word.
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

/// Encodes as many of the most recent blocks as fit.
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
    fn subflow_numbers_do_not_overlap_other_flags() {
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
    fn a_dsack_block_lies_before_or_after_the_ack_number() {
        for sequence in [95, 105] {
            let twice = Extra::Twice(sequence, blocks(&[(102, 200)]));
            assert_eq!(through(twice, 100), twice);
            let far = Extra::Twice(sequence, blocks(&[(1000, 200)]));
            assert_eq!(through(far, 100), Extra::Twice(sequence, Blocks::NONE));
        }
    }

    proptest! {
        #[test]
        fn short_numbers_and_times_expand_near_the_full_ones(
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

        /// Every block is one that the receiver has, and the newest block is whole.
        #[test]
        fn encoded_sack_blocks_are_true(
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
        fn every_extra_word_decodes(marks: u8, number: u32, word: u32) {
            Extra::decode(marks, number, word);
        }

        #[test]
        fn encoded_numbers_decode_to_themselves(number: u32, word: u32) {
            prop_assert_eq!(through(Extra::Echo(word), number), Extra::Echo(word));
            prop_assert_eq!(through(Extra::Connection(word), number), Extra::Connection(word));
            prop_assert_eq!(through(Extra::Beyond(word), number), Extra::Beyond(word));
        }
    }
}
