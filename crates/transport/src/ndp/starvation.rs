//! When headers are nearly all that arrives: the receiver pulls more slowly.
//!
//! Pulls are paced to the receiver's link (NDP 3.2). Where the network before it is slower, each pull
//! elicits a packet that is trimmed, and its header asks for the next pull. A switch that sends ten
//! headers to one data packet (NDP 3.1) still brings one whole packet in eleven. A switch that prefers
//! headers strictly, or nearly so (the authors' P4 and NetFPGA switches, csg-htsim), brings none once
//! the headers alone fill its link, and the connections never end. So a receiver at which less than one
//! packet in [`WHOLE_WEIGHT`] + 1 arrives whole, over about [`STARVED`] of them, doubles the time between
//! its pulls, and halves it again when more do. Where the paper's scheduler keeps its ratio this never
//! happens: not at the fan-in of 8000 of NDP 6.2 either.
//!
//! Tried: going back to full speed with the first whole packet. The queues are full of headers again
//! before a round trip has passed, and a thousand of them are needed each time to notice.

/// Headers that one whole packet outweighs. Above the 10 of NDP 3.1.
const WHOLE_WEIGHT: u16 = 16;
/// Headers, less those outweighed, after which the time between pulls doubles.
const STARVED: u16 = 1024;
/// Where the count begins after a change.
const MIDDLE: u16 = STARVED / 2;
/// Doublings at most.
const DOUBLINGS: u8 = 16;

/// How much of what arrives is headers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Starvation {
    score: u16,
    /// The time between two pulls is so often doubled.
    doublings: u8,
}

impl Starvation {
    /// How often the time between two pulls is doubled.
    #[inline]
    pub(super) const fn doublings(self) -> u8 {
        self.doublings
    }

    /// A packet arrived whole. Whether the doublings changed.
    #[inline]
    pub(super) fn whole(&mut self) -> bool {
        self.score = self.score.saturating_sub(WHOLE_WEIGHT);
        self.score == 0 && self.doublings > 0 && self.step(-1)
    }

    /// A header arrived. Whether the doublings changed.
    #[inline]
    pub(super) fn header(&mut self) -> bool {
        self.score += 1;
        self.score >= STARVED && self.step(1)
    }

    #[cold]
    fn step(&mut self, by: i8) -> bool {
        self.score = MIDDLE;
        let before = self.doublings;
        self.doublings = before.saturating_add_signed(by).min(DOUBLINGS);
        self.doublings != before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One whole packet after every `headers`, for 100,000 packets.
    fn doublings(headers: u32, before: u8) -> u8 {
        let mut starvation = Starvation { score: 0, doublings: before };
        for packet in 0..100_000 {
            if packet % (headers + 1) == headers {
                starvation.whole();
            } else {
                starvation.header();
            }
        }
        starvation.doublings()
    }

    #[test]
    fn ten_headers_to_one_packet_is_no_starvation() {
        assert_eq!(doublings(10, 0), 0);
        assert_eq!(doublings(10, DOUBLINGS), 0);
    }

    #[test]
    fn twenty_headers_to_one_packet_is() {
        assert_eq!(doublings(20, 0), DOUBLINGS);
        assert_eq!(doublings(u32::MAX - 1, 3), DOUBLINGS);
    }
}
