//! Slows pulls down when headers are nearly all that arrives.
//!
//! Pulls are paced to the receiver's link (NDP 3.2). Where the network before it is slower, each pull elicits a packet
//! that is trimmed, and its header asks for the next pull. A switch that sends ten headers to one data packet (NDP 3.1)
//! still delivers one whole packet in eleven. With strict or nearly strict priority for headers (the authors' P4 and
//! NetFPGA switches, csg-htsim) it delivers no packet once headers fill its link, and the connections never end. So a
//! receiver at which less than one pull in [`WHOLE_WEIGHT`] brings a whole packet, over about [`STARVED`] pulls,
//! doubles the time between its pulls. Whole packets then weigh more ([`RECOVERY_WEIGHT`]): eight halve the time.
//!
//! Pulls count, not headers. The first windows of a large incast are trimmed by the thousand while every pull brings a
//! packet: that burst drains. With the paper's scheduler no receiver starves, even at the fan-in of 8000 of NDP 6.2.
//!
//! Tried: counting headers against whole packets. Ordinary incasts on switches with strict priority looked starved: 200
//! senders of 135 KB took 29.8 ms instead of 21.9 ms. Tried: full speed again after the first whole packet. The queues
//! refill with headers within a round trip, and it takes a thousand pulls each time to notice.

/// Pulls that one whole packet outweighs. Above the 10 of NDP 3.1.
const WHOLE_WEIGHT: u16 = 16;
/// Weight of a whole packet while pulls are slowed (chosen: recovery takes a small part of the time that starvation
/// took).
const RECOVERY_WEIGHT: u16 = 64;
/// Pulls, less those outweighed, after which the time between pulls doubles.
const STARVED: u16 = 1024;
/// The count after a change.
const MIDDLE: u16 = STARVED / 2;
const DOUBLINGS: u8 = 16;

/// Counts pulls that brought no whole packet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Starvation {
    score: u16,
    /// Doublings of the time between two pulls.
    doublings: u8,
}

impl Starvation {
    #[inline]
    pub(super) const fn doublings(self) -> u8 {
        self.doublings
    }

    /// Records a whole packet. Returns whether the doublings changed.
    #[inline]
    pub(super) fn whole(&mut self) -> bool {
        let weight = if self.doublings == 0 { WHOLE_WEIGHT } else { RECOVERY_WEIGHT };
        self.score = self.score.saturating_sub(weight);
        self.score == 0 && self.doublings > 0 && self.step(-1)
    }

    /// Records a pull. Returns whether the doublings changed.
    #[inline]
    pub(super) fn pulled(&mut self) -> bool {
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

    /// Yields the doublings after each of 100,000 events: one whole packet after every `pulls`.
    fn doublings(pulls: u32, before: u8) -> impl Iterator<Item = u8> {
        let mut starvation = Starvation { score: 0, doublings: before };
        (0..100_000).map(move |event| {
            if event % (pulls + 1) == pulls {
                starvation.whole();
            } else {
                starvation.pulled();
            }
            starvation.doublings()
        })
    }

    #[test]
    fn one_whole_packet_per_ten_pulls_is_no_starvation() {
        assert!(doublings(10, 0).all(|doublings| doublings == 0));
        assert_eq!(doublings(10, DOUBLINGS).last(), Some(0));
    }

    #[test]
    fn one_whole_packet_per_twenty_pulls_is_starvation() {
        assert!(doublings(20, 0).any(|doublings| doublings == 1));
        // Slower pulls bring more: the doublings alternate.
        assert!(doublings(20, 0).all(|doublings| doublings <= 1));
        assert_eq!(doublings(u32::MAX - 1, 3).last(), Some(DOUBLINGS));
    }

    /// If every pull brings a packet again, eight packets halve the time.
    #[test]
    fn a_starved_receiver_recovers_faster_than_it_starves() {
        let slow = doublings(1, DOUBLINGS).take_while(|&doublings| doublings > 0).count() / 2;
        assert!((100..=150).contains(&slow), "{slow} packets");
    }
}
