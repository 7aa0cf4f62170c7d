//! A random stream as ports and pacers draw from it.

use rand_xoshiro::rand_core::RngCore;
use trimline_switch::Rng;
use trimline_transport::RngStream;

#[derive(Debug)]
pub(super) struct ScriptedRng(pub(super) RngStream);

impl Rng for ScriptedRng {
    fn coin(&mut self) -> bool {
        self.0.next_u64() >> 63 != 0
    }
    fn below(&mut self, bound: u32) -> u32 {
        ((u128::from(self.0.next_u64()) * u128::from(bound)) >> 64) as u32
    }
}
