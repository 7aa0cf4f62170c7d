//! NSCC, the window of a sender in Ultra Ethernet (UET, UEC specification 1.0): delay and ECN together say how much may
//! be in flight.
//!
//! A flow begins with a window of 1.5 bandwidth-delay products. Its packets are sprayed; the receiver takes them in any
//! order, counts them, and acknowledges some at a time ([`Config::ack_every`]), at once if one is marked. A packet that
//! a switch trimmed is answered by a NACK and resent. A time-out finds what was dropped.
//!
//! With [`Control`] the receiver's credit ([`rccc`](crate::rccc)) stands beside the window or in its place.
//!
//! The window's law is in `window.rs`. It was taken from public code (uet-htsim at 40ccb05, Radonux/asteria-ns3 at
//! 368ce73): the specification's text was not read. Where the two differ, both are settings ([`Law`]).
//!
//! # The packet
//! | field | DATA | ACK | NACK |
//! |---|---|---|---|
//! | `kind` | DATA | ACK | NACK |
//! | `flags` | FROM_OPENER, class, attempt; SYN until an answer came; LAST; [`ACK_REQUEST`] | attempt of the echoed packet | attempt of the trimmed packet |
//! | `sequence` | its number, from 0 | high 16 bits: the echoed packet; low 16: the first missing packet | the trimmed packet |
//! | `extra` | payload bytes, as in every DATA packet | high 16 bits: packets beyond the first missing one that arrived; low 16: which of these near the echoed one | 0 |
//! | `marks` | ECT, and CE of a switch | ECE if the echoed packet was marked | ECE likewise; last hop, of the trimmed packet |
//! | service | trimmable, or droppable ([`Config::trims`]) | control | control |
//!
//! With credit, DATA has its target (modulo 2^16 quanta) in the low 16 bits of `extra`. A PULL has the count of all
//! granted quanta as its `sequence`; an RTS is a PULL with FROM_OPENER, and has its target there. Both are control.
//!
//! The numbers of an ACK are modulo 2^16: a window is below 2^15 packets. Bit `i` of the bitmap stands for the packet
//! `i` behind its first one, [`bitmap_base`]. A real ACK has 64 bits and counts bytes; here all packets but the last are
//! full, so packets say the same.
//!
//! Duties of a receiver:
//! - DATA: count it once. Answer at once if it is marked, requests it, is a duplicate, is the flow's first, or leaves
//!   nothing missing behind a request; otherwise when the bytes since the last answer reach the threshold.
//! - a trimmed packet: answer with a NACK, or with an ACK if it had arrived.

mod config;
mod endpoint;
mod receiver;
mod sender;
mod window;

pub use config::{Average, Config, Control, Law, QuickAdapt, SenderStatistics};
pub use endpoint::Endpoint;

/// Flag of data: answer at once, and again when nothing is missing any more.
pub const ACK_REQUEST: u8 = 1 << 3;

/// Flag of an ACK that answers an RTS: it echoes no packet, and the number in its place only says where the bitmap begins.
pub const NO_ECHO: u8 = 1 << 3;

/// Packets of an ACK's bitmap.
pub const BITMAP: u32 = 16;

/// Returns the first packet of the bitmap of an ACK that echoes `echo` while `base` is missing: half of the bits are
/// for packets before the echo. Those before `base` have all arrived.
pub const fn bitmap_base(echo: u32, base: u32) -> u32 {
    let first = echo.wrapping_sub(BITMAP / 2);
    if (first.wrapping_sub(base) as i32) < 0 { base } else { first }
}

/// Returns the number with these low 16 bits that is nearest to `near`.
const fn whole(low: u16, near: u32) -> u32 {
    near.wrapping_add_signed(low.wrapping_sub(near as u16) as i16 as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_16_bits_are_found_again_within_half_their_range() {
        for near in [0, 5, 0x7fff, 0x8000, 0xffff, 0x1_0000, u32::MAX - 3] {
            for distance in [-32_768i32, -300, -1, 0, 1, 299, 32_767] {
                let number = near.wrapping_add_signed(distance);
                assert_eq!(whole(number as u16, near), number, "{near} {distance}");
            }
        }
    }

    #[test]
    fn a_bitmap_begins_at_the_gap_or_half_its_length_before_the_echo() {
        assert_eq!((bitmap_base(5, 0), bitmap_base(8, 0), bitmap_base(20, 0)), (0, 0, 12));
        assert_eq!(bitmap_base(20, 18), 18);
        assert_eq!(bitmap_base(3, 7), 7, "the echoed packet filled the gap");
    }
}
