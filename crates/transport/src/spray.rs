//! Chooses the path of each packet: packet spraying.

use rand_xoshiro::rand_core::RngCore;
use trimline_packet::PathId;

use crate::{PathList, RngStream};

/// Sprays packets: one on each path per round, in a drawn order.
#[derive(Debug)]
pub struct Spray {
    /// The paths already used in this round, then the others.
    paths: PathList,
    taken: usize,
    stream: RngStream,
}

impl Spray {
    /// Sprays over `paths`, in orders drawn from `stream`.
    ///
    /// # Panics
    /// Panics if `paths` is empty.
    pub fn new(paths: PathList, stream: RngStream) -> Spray {
        assert!(!paths.is_empty(), "a connection has at least one path");
        Spray { paths, taken: 0, stream }
    }

    /// Begins a round with these paths; an empty list changes nothing.
    pub fn replace(&mut self, paths: PathList) {
        if !paths.is_empty() {
            (self.paths, self.taken) = (paths, 0);
        }
    }

    /// Returns the path of the next packet.
    pub fn next_path(&mut self) -> PathId {
        if self.taken == self.paths.len() {
            self.taken = 0;
        }
        let left = (self.paths.len() - self.taken) as u64;
        let draw = ((self.stream.next_u64() >> 32) * left) >> 32;
        self.paths.swap(self.taken, self.taken + draw as usize);
        self.taken += 1;
        self.paths[self.taken - 1]
    }
}
