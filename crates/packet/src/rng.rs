//! Random numbers as an argument of state machines.

/// Random numbers that a driver supplies: neither a port nor a pacer owns a stream.
///
/// Numbers are drawn only when a rule needs them, so a port without collisions moves no stream.
pub trait Rng {
    /// Draws a fair bit.
    fn coin(&mut self) -> bool;
    /// Draws a uniform number below `bound`, which is positive.
    fn below(&mut self, bound: u32) -> u32;
}

/// Adds SplitMix64's constant to `value` and applies its finalizer: every input bit reaches every output bit.
#[inline]
pub const fn mix(value: u64) -> u64 {
    let z = value.wrapping_add(SplitMix::STEP);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The generator SplitMix64, for tests and generated inputs. Equal states give equal draws.
#[derive(Clone, Debug)]
pub struct SplitMix(pub u64);

impl SplitMix {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

    /// Draws 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        let drawn = mix(self.0);
        self.0 = self.0.wrapping_add(SplitMix::STEP);
        drawn
    }

    /// Draws a number modulo `bound`, which is positive. It differs from [`Rng::below`].
    pub fn modulo(&mut self, bound: u64) -> u64 {
        self.next_u64() % bound
    }

    /// Draws one of `items`, which are not empty.
    pub fn one_of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.modulo(items.len() as u64) as usize]
    }
}

impl Rng for SplitMix {
    fn coin(&mut self) -> bool {
        self.next_u64() >> 63 != 0
    }
    fn below(&mut self, bound: u32) -> u32 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix_draws_the_published_numbers() {
        let mut draws = SplitMix(0);
        let expected = [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f];
        assert_eq!(expected.map(|_: u64| draws.next_u64()), expected);
    }
}
