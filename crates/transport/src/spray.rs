//! Which path a packet takes.

use rand_xoshiro::rand_core::RngCore;
use trimline_packet::PathId;

use crate::{PathList, Stream};

/// All paths to a peer: a packet on each, in an order that is drawn anew for each round.
#[derive(Debug)]
pub struct Spray {
    /// Those of this round that were taken, then the others.
    paths: PathList,
    taken: usize,
    stream: Stream,
}

impl Spray {
    /// All these paths, in orders that are drawn from the stream.
    ///
    /// # Panics
    /// No path.
    pub fn new(paths: PathList, stream: Stream) -> Spray {
        assert!(!paths.is_empty(), "a connection has at least one path");
        Spray { paths, taken: 0, stream }
    }

    /// Uses these paths from now on, in a new round; an empty list changes nothing.
    pub fn replace(&mut self, paths: PathList) {
        if !paths.is_empty() {
            (self.paths, self.taken) = (paths, 0);
        }
    }

    /// The path of the next packet.
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
