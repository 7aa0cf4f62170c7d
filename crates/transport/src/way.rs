//! The path of a stream that keeps to one.

use rand_xoshiro::rand_core::RngCore;
use trimline_packet::PathId;

use crate::RngStream;

/// One path, and substitutes when it is gone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    path: PathId,
    /// Draws so far. Repeating the first draw would send all streams that leave a path to its neighbours.
    drawn: u8,
}

impl Way {
    pub(crate) fn new(paths: &[PathId], mut stream: RngStream) -> Way {
        Way { path: draw(paths, &mut stream), drawn: 1 }
    }

    pub(crate) fn path(self) -> PathId {
        self.path
    }

    /// Draws another path unless the current one remains. `stream` is the RNG from its beginning.
    pub(crate) fn keep_to(&mut self, paths: &[PathId], stream: impl FnOnce() -> RngStream) {
        if paths.is_empty() || paths.contains(&self.path) {
            return;
        }
        let mut stream = stream();
        for _ in 0..self.drawn {
            stream.next_u64();
        }
        self.path = draw(paths, &mut stream);
        self.drawn = self.drawn.saturating_add(1);
    }
}

fn draw(paths: &[PathId], stream: &mut RngStream) -> PathId {
    // Multiply and shift: the bias of 2^-16 does not matter here.
    let place = ((stream.next_u64() >> 32) * paths.len() as u64) >> 32;
    paths[place as usize]
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use rand_xoshiro::rand_core::SeedableRng;

    use super::*;

    #[test]
    fn flows_that_leave_a_path_spread_over_all_others() {
        let all: Vec<PathId> = (0..8).map(PathId::new).collect();
        let mut left = all.clone();
        let mut ways: Vec<(u64, Way)> =
            (0..8000).map(|seed| (seed, Way::new(&all, RngStream::seed_from_u64(seed)))).collect();
        // Paths fail one after another. Streams that leave spread evenly over the others, within five deviations.
        for gone in [3, 4, 0] {
            let dead = PathId::new(gone);
            left.retain(|path| *path != dead);
            let mut counts = [0u32; 8];
            for (seed, way) in ways.iter_mut().filter(|(_, way)| way.path() == dead) {
                way.keep_to(&left, || RngStream::seed_from_u64(*seed));
                counts[way.path().index()] += 1;
            }
            let (sum, paths) = (i64::from(counts.iter().sum::<u32>()), left.len() as i64);
            for path in &left {
                // The count's distance from the mean, times paths; its square is compared with 25 times the mean,
                // scaled alike.
                let off = i64::from(counts[path.index()]) * paths - sum;
                assert!(off * off < 25 * sum * paths, "{gone} is gone: {counts:?}");
            }
        }
    }

    #[test]
    fn a_flow_on_a_working_path_keeps_it() {
        let all: Vec<PathId> = (0..4).map(PathId::new).collect();
        let mut way = Way::new(&all, RngStream::seed_from_u64(1));
        let before = way.path();
        way.keep_to(&[before], || unreachable!("nothing is drawn"));
        way.keep_to(&[], || unreachable!("nothing is drawn"));
        assert_eq!(way.path(), before);
    }
}
