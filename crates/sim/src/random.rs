//! Random streams: one per (use, owner), so that adding one moves none.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use trimline_packet::Rng;
pub use trimline_packet::mix;
use trimline_transport::RngStream;

use crate::table::Shared;

/// The common part of the streams of one purpose, computed once for many owners.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Purpose(u64);

impl Purpose {
    pub(crate) fn new(seed: u64, purpose: &str) -> Purpose {
        Purpose(purpose.bytes().fold(mix(seed), |state, byte| mix(state ^ u64::from(byte))))
    }

    pub(crate) fn of(self, owner: &[u64]) -> RngStream {
        let mut state = owner.iter().fold(self.0, |state, &part| mix(state ^ mix(part)));
        let mut bytes = [0u8; 32];
        for chunk in bytes.chunks_exact_mut(8) {
            state = mix(state);
            chunk.copy_from_slice(&state.to_le_bytes());
        }
        Xoshiro256PlusPlus::from_seed(bytes)
    }
}

/// Returns the stream of `owner` for `purpose` in the run with this seed.
///
/// An owner is a port, a host or a flow, named by numbers that do not change when others are added (a flow: source,
/// hash of its workload's name, index in it).
pub fn stream(seed: u64, purpose: &str, owner: &[u64]) -> RngStream {
    Purpose::new(seed, purpose).of(owner)
}

/// Returns a hash of a name.
pub fn name_number(name: &str) -> u64 {
    name.bytes().fold(0, |state, byte| mix(state ^ u64::from(byte)))
}

/// Draws a uniform number below `bound`, without bias (Lemire's method with rejection).
pub(crate) fn below(stream: &mut RngStream, bound: u64) -> u64 {
    assert!(bound > 0, "nothing is below zero");
    loop {
        let product = u128::from(stream.next_u64()) * u128::from(bound);
        let low = product as u64;
        if low >= bound || low >= bound.wrapping_neg() % bound {
            return (product >> 64) as u64;
        }
    }
}

/// Shuffles a slice (Fisher-Yates).
pub(crate) fn shuffle<T>(stream: &mut RngStream, items: &mut [T]) {
    for last in (1..items.len()).rev() {
        items.swap(last, below(stream, last as u64 + 1) as usize);
    }
}

/// The RNG of a node, with its own stream. The stream is looked up at a draw, because most packets draw nothing.
pub(crate) struct NodeRng<'a> {
    pub(crate) streams: &'a mut Shared<RngStream>,
    pub(crate) node: u32,
}

impl NodeRng<'_> {
    #[inline]
    fn stream(&mut self) -> &mut RngStream {
        &mut self.streams[self.node as usize]
    }
}

impl Rng for NodeRng<'_> {
    #[inline]
    fn coin(&mut self) -> bool {
        self.stream().next_u64() >> 63 != 0
    }
    #[inline]
    fn below(&mut self, bound: u32) -> u32 {
        below(self.stream(), u64::from(bound)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_use_owner_and_seed() {
        let first = |seed, purpose, owner: &[u64]| stream(seed, purpose, owner).next_u64();
        let base = first(1, "coin", &[3]);
        assert_eq!(base, first(1, "coin", &[3]));
        for other in [
            first(2, "coin", &[3]),
            first(1, "path", &[3]),
            first(1, "coin", &[4]),
            first(1, "coin", &[3, 0]),
        ] {
            assert_ne!(base, other);
        }
    }

    #[test]
    fn every_value_below_a_bound_is_equally_likely() {
        let mut draws = stream(7, "test", &[]);
        let mut counts = [0u32; 6];
        for _ in 0..60_000 {
            counts[below(&mut draws, 6) as usize] += 1;
        }
        assert!(counts.iter().all(|&count| (9_500..10_500).contains(&count)), "{counts:?}");
    }

    #[test]
    fn a_shuffle_keeps_every_item() {
        let mut items: Vec<u32> = (0..100).collect();
        shuffle(&mut stream(1, "test", &[]), &mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn a_shuffle_moves_an_item_anywhere_equally_often() {
        let mut draws = stream(1, "test", &[]);
        let mut counts = [[0u32; 4]; 4];
        for _ in 0..40_000 {
            let mut items = [0, 1, 2, 3];
            shuffle(&mut draws, &mut items);
            for (place, &item) in items.iter().enumerate() {
                counts[item][place] += 1;
            }
        }
        assert!(counts.iter().flatten().all(|count| (9_500..10_500).contains(count)), "{counts:?}");
    }

    #[test]
    fn a_random_bit_has_either_value_equally_often() {
        let mut streams = Shared::from(vec![stream(1, "test", &[])]);
        let mut draw = NodeRng { streams: &mut streams, node: 0 };
        let heads = (0..10_000).filter(|_| draw.coin()).count();
        assert!((4_800..5_200).contains(&heads), "{heads}");
    }
}
