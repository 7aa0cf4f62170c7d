//! The packets of a stream that arrived whole: a ring of bits above the first gap.
//!
//! 64 packets fit inline; a wider gap grows the ring, up to [`WINDOW_LIMIT`] packets.

use alloc::boxed::Box;
use alloc::vec;

/// Max packets from the oldest missing one to the newest. A sender stops short of it; a receiver ignores packets
/// beyond.
pub const WINDOW_LIMIT: u32 = 1 << 15;

/// The packets of a stream that arrived.
///
/// ```
/// use trimline_transport::Arrivals;
///
/// let mut arrived = Arrivals::default();
/// for sequence in [0, 2, 3] {
///     arrived.insert(sequence);
/// }
/// assert_eq!(arrived.base(), 1, "the oldest missing packet");
/// assert!(arrived.contains(3) && !arrived.contains(1) && !arrived.is_dense());
/// arrived.insert(1);
/// assert_eq!(arrived.base(), 4);
/// ```
#[derive(Debug, Default)]
pub struct Arrivals {
    base: u32,
    /// The ring while it is one word: bit `sequence % 64`.
    word: u64,
    /// The ring once it has more words, a power of two.
    words: Box<[u64]>,
}

impl Arrivals {
    /// All packets before this one arrived.
    #[inline]
    pub const fn base(&self) -> u32 {
        self.base
    }

    /// Returns whether a packet at or after the base arrived.
    #[inline]
    pub fn contains(&self, sequence: u32) -> bool {
        let offset = sequence.wrapping_sub(self.base);
        if self.words.is_empty() {
            return offset < 64 && self.word >> (sequence % 64) & 1 != 0;
        }
        offset < self.words.len() as u32 * 64
            && self.words[self.place(sequence)] >> (sequence % 64) & 1 != 0
    }

    /// Adds a packet at or after the base, less than [`WINDOW_LIMIT`] beyond it.
    #[inline]
    pub fn insert(&mut self, sequence: u32) {
        let offset = sequence.wrapping_sub(self.base);
        debug_assert!(offset < WINDOW_LIMIT, "an arrival lies inside the window");
        if self.words.is_empty() && offset < 64 {
            self.word |= 1 << (sequence % 64);
            if offset == 0 {
                // After the rotation the packet at the base is the lowest bit.
                let run = self.word.rotate_right(sequence % 64).trailing_ones();
                let passed = if run == 64 { u64::MAX } else { (1 << run) - 1 };
                self.word &= !passed.rotate_left(sequence % 64);
                self.base = self.base.wrapping_add(run);
            }
            return;
        }
        self.insert_wide(sequence, offset);
    }

    #[cold]
    fn grow(&mut self, offset: u32) {
        let count = (offset as usize / 64 + 1).next_power_of_two().max(2);
        let mut words = vec![0; count].into_boxed_slice();
        let old = if self.words.is_empty() { 64 } else { self.words.len() as u32 * 64 };
        for distance in 0..old {
            let sequence = self.base.wrapping_add(distance);
            if self.contains(sequence) {
                words[(sequence / 64) as usize & (count - 1)] |= 1 << (sequence % 64);
            }
        }
        self.words = words;
        self.word = 0;
    }

    #[inline(never)]
    fn insert_wide(&mut self, sequence: u32, offset: u32) {
        if self.words.is_empty() || offset >= self.words.len() as u32 * 64 {
            self.grow(offset);
        }
        let place = self.place(sequence);
        self.words[place] |= 1 << (sequence % 64);
        if offset == 0 {
            loop {
                let place = self.place(self.base);
                let bit = 1 << (self.base % 64);
                if self.words[place] & bit == 0 {
                    break;
                }
                self.words[place] &= !bit;
                self.base = self.base.wrapping_add(1);
            }
        }
    }

    /// Returns whether no packet beyond the base arrived.
    pub fn is_dense(&self) -> bool {
        self.word == 0 && self.words.iter().all(|&word| word == 0)
    }

    #[inline]
    fn place(&self, sequence: u32) -> usize {
        (sequence / 64) as usize & (self.words.len() - 1)
    }

    /// Frees the ring and forgets arrivals beyond the base. The base stays for duplicates and later data.
    pub fn shrink(&mut self) {
        self.words = Box::default();
        self.word = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use proptest::prelude::*;

    proptest! {
        /// A set of numbers agrees, also where the sequence space wraps.
        #[test]
        fn received_sequences_agree_with_a_set(
            first in prop_oneof![Just(0u32), Just(u32::MAX - 300), any::<u32>()],
            steps in prop::collection::vec(prop_oneof![8 => 0u32..70, 1 => 0u32..900], 1..400),
        ) {
            let mut arrivals = Arrivals { base: first, ..Arrivals::default() };
            let mut set = BTreeSet::new();
            let mut base = 0u32;
            for step in steps {
                let number = base + step;
                let sequence = first.wrapping_add(number);
                prop_assert_eq!(arrivals.contains(sequence), set.contains(&number));
                if set.insert(number) {
                    arrivals.insert(sequence);
                }
                while set.contains(&base) {
                    base += 1;
                }
                prop_assert_eq!(arrivals.base(), first.wrapping_add(base));
                prop_assert_eq!(arrivals.is_dense(), set.range(base..).next().is_none());
                for probe in base..base + 70 {
                    prop_assert_eq!(
                        arrivals.contains(first.wrapping_add(probe)),
                        set.contains(&probe)
                    );
                }
            }
        }
    }

    #[test]
    fn a_packet_just_beyond_the_ring_makes_it_grow() {
        for edge in [64, 128, 1024] {
            let mut arrivals = Arrivals::default();
            arrivals.insert(edge - 1);
            arrivals.insert(edge);
            assert!(arrivals.contains(edge) && !arrivals.contains(0), "{edge}");
        }
    }

    #[test]
    fn the_widest_window_fits() {
        let mut arrivals = Arrivals::default();
        arrivals.insert(WINDOW_LIMIT - 1);
        assert!(arrivals.contains(WINDOW_LIMIT - 1) && !arrivals.contains(WINDOW_LIMIT - 2));
        for sequence in 0..WINDOW_LIMIT - 1 {
            arrivals.insert(sequence);
        }
        assert_eq!(arrivals.base(), WINDOW_LIMIT);
    }
}
