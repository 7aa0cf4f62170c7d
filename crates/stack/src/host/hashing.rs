//! The hash of the tables read for every frame.

use std::hash::{BuildHasher, Hasher};

use crate::random;

/// A fast hash with a seed for each process, so that no outsider can aim at it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quick(u64);

impl Default for Quick {
    fn default() -> Quick {
        Quick(random::seed())
    }
}

impl BuildHasher for Quick {
    type Hasher = QuickHasher;
    fn build_hasher(&self) -> QuickHasher {
        QuickHasher(self.0)
    }
}

#[derive(Debug)]
pub(super) struct QuickHasher(u64);

impl Hasher for QuickHasher {
    fn finish(&self) -> u64 {
        random::mix(self.0)
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }
    fn write_u8(&mut self, number: u8) {
        self.write_u64(number.into());
    }
    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }
    fn write_isize(&mut self, number: isize) {
        self.write_u64(number as u64);
    }
    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(23) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}
