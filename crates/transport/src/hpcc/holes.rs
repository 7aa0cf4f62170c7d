//! Selective retransmission: which packets of a send stream have arrived, and which are lost.
//!
//! Packets of one path keep their order. So a packet behind which another one has arrived is lost, and is resent once;
//! a time-out finds a loss of the second transmission.

use crate::{Arrivals, WINDOW_LIMIT};

/// The packets of a send stream that are known to have arrived, and those that are lost.
#[derive(Debug, Default)]
pub(super) struct Holes {
    known: Arrivals,
    /// Known packets beyond the first unknown one.
    beyond: u32,
    /// Unknown packets before this one are lost.
    lost_before: u32,
    /// Lost packets before this one were resent.
    resent_before: u32,
}

/// Returns whether a packet comes before another.
#[inline]
const fn is_before(packet: u32, other: u32) -> bool {
    (packet.wrapping_sub(other) as i32) < 0
}

impl Holes {
    /// The number of packets that are known beyond the first unknown one.
    #[inline]
    pub(super) fn beyond(&self) -> u32 {
        self.beyond
    }

    /// The lost packet to resend next.
    #[inline]
    pub(super) fn first(&self) -> Option<u32> {
        is_before(self.resent_before, self.lost_before).then_some(self.resent_before)
    }

    /// Notes that the packet of [`Holes::first`] was resent.
    pub(super) fn resent(&mut self) {
        self.resent_before = self.resent_before.wrapping_add(1);
        self.pass_known();
    }

    fn know(&mut self, sequence: u32) {
        let before = self.known.base();
        let offset = sequence.wrapping_sub(before);
        if offset >= WINDOW_LIMIT || self.known.contains(sequence) {
            return;
        }
        self.known.insert(sequence);
        match self.known.base().wrapping_sub(before) {
            0 => self.beyond += 1,
            passed => self.beyond -= passed - 1,
        }
    }

    /// Handles an answer: all packets before `base` have arrived, and so has `answered`.
    pub(super) fn answered(&mut self, base: u32, answered: u32) {
        while is_before(self.known.base(), base) {
            self.know(self.known.base());
        }
        self.know(answered);
        if is_before(self.lost_before, answered) {
            self.lost_before = answered;
        }
        self.pass_known();
    }

    /// Takes all unknown packets before `next` for lost.
    pub(super) fn time_out(&mut self, next: u32) {
        (self.resent_before, self.lost_before) = (self.known.base(), next);
        self.pass_known();
    }

    /// Passes known packets.
    fn pass_known(&mut self) {
        let base = self.known.base();
        for end in [&mut self.resent_before, &mut self.lost_before] {
            if is_before(*end, base) {
                *end = base;
            }
        }
        while is_before(self.resent_before, self.lost_before)
            && self.known.contains(self.resent_before)
        {
            self.resent_before = self.resent_before.wrapping_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    fn all(holes: &mut Holes) -> Vec<u32> {
        let next = || {
            let first = holes.first()?;
            holes.resent();
            Some(first)
        };
        core::iter::from_fn(next).collect()
    }

    #[test]
    fn what_an_arrival_overtook_is_resent_once_and_again_after_a_timeout() {
        let mut holes = Holes::default();
        holes.answered(2, 1);
        assert_eq!(holes.first(), None);
        holes.answered(2, 4);
        holes.answered(2, 7);
        assert_eq!((all(&mut holes), holes.beyond()), ([2, 3, 5, 6].to_vec(), 2));
        holes.answered(3, 2);
        assert_eq!(all(&mut holes), []);
        holes.answered(3, 9);
        assert_eq!(all(&mut holes), [8], "what was resent is not resent for another arrival");
        holes.time_out(11);
        assert_eq!(all(&mut holes), [3, 5, 6, 8, 10]);
        holes.answered(5, 3);
        assert_eq!(holes.beyond(), 2);
        holes.answered(8, 6);
        assert_eq!((holes.beyond(), holes.first()), (1, None));
    }

    proptest! {
        /// A set of numbers agrees, whatever order answers have.
        #[test]
        fn holes_agree_with_a_set(answers in prop::collection::vec(0u32..60, 1..200)) {
            let (mut holes, mut set) = (Holes::default(), BTreeSet::new());
            for answered in answers {
                set.insert(answered);
                let base = (0..).find(|number| !set.contains(number)).expect("a gap");
                holes.answered(base, answered);
                let beyond = set.range(base..).count();
                prop_assert_eq!(holes.beyond() as usize, beyond);
                prop_assert!(holes.first().is_none_or(|first| first >= base && !set.contains(&first)));
                if answered % 3 == 0 && holes.first().is_some() {
                    holes.resent();
                }
            }
            let last = set.last().copied().expect("one");
            holes.time_out(last + 1);
            let lost: Vec<u32> = (0..last).filter(|number| !set.contains(number)).collect();
            prop_assert_eq!(all(&mut holes), lost);
        }
    }
}
