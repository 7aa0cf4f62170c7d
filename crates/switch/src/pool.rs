//! The switch's shared buffer memory.

use trimline_packet::ByteCount;

/// Factor of a dynamic threshold, Q16.16: a queue may hold alpha times the free memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Alpha(u32);

impl Alpha {
    /// The fraction `numerator` / `denominator`, rounded to the nearest 1/65536.
    ///
    /// # Panics
    /// Panics if the denominator is zero or the fraction is 65536 or more.
    pub const fn from_fraction(numerator: u32, denominator: u32) -> Alpha {
        assert!(denominator > 0, "a fraction needs a denominator");
        let scaled = ((numerator as u64) << 16) + denominator as u64 / 2;
        let alpha = scaled / denominator as u64;
        assert!(
            alpha <= u32::MAX as u64,
            "a dynamic threshold is below 65536 times the free memory"
        );
        Alpha(alpha as u32)
    }

    /// The factor in units of 1/65536.
    pub const fn bits(self) -> u32 {
        self.0
    }
}

/// Buffer memory of a switch, with dynamic thresholds (Choudhury and Hahne, "Dynamic Queue Length Thresholds for
/// Shared-Memory Packet Switches", 1998). A queue admits a packet while it holds at most alpha times the free memory: a
/// lone hot port gets much, many leave some for the next. Queues with memory of their own do not use it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    capacity: u64,
    used: u64,
}

impl Pool {
    /// A free pool of `capacity` bytes.
    pub const fn new(capacity: ByteCount) -> Pool {
        Pool { capacity: capacity.get(), used: 0 }
    }

    /// An empty pool, for models without shared memory.
    pub const fn none() -> Pool {
        Pool { capacity: 0, used: 0 }
    }

    /// Bytes in use, packets on the wires included.
    pub const fn used(&self) -> ByteCount {
        ByteCount::new(self.used)
    }

    /// Total bytes.
    pub const fn capacity(&self) -> ByteCount {
        ByteCount::new(self.capacity)
    }

    /// Free bytes.
    pub const fn free(&self) -> ByteCount {
        ByteCount::new(self.capacity - self.used)
    }

    /// True if a queue that holds `queue` bytes may take `arriving` more.
    #[inline]
    pub(crate) const fn admits(&self, queue: u32, arriving: u32, alpha: Alpha) -> bool {
        self.admits_after(0, queue, arriving, alpha)
    }

    /// [`Pool::admits`], after `freed` bytes are returned.
    #[inline]
    pub(crate) const fn admits_after(
        &self,
        freed: u32,
        queue: u32,
        arriving: u32,
        alpha: Alpha,
    ) -> bool {
        let free = self.capacity - self.used + freed as u64;
        let threshold = (free as u128 * alpha.bits() as u128) >> 16;
        arriving as u64 <= free && queue as u128 + arriving as u128 <= threshold
    }

    /// True if packets of `bytes` in total are all admitted, in any order.
    #[inline]
    pub const fn admits_all(&self, bytes: u64, alpha: Alpha) -> bool {
        // No queue holds more than all together.
        let max = self.used.saturating_add(bytes);
        let Some(free) = self.capacity.checked_sub(max) else { return false };
        max as u128 <= (free as u128 * alpha.bits() as u128) >> 16
    }

    #[inline]
    pub(crate) fn reserve(&mut self, bytes: u32) {
        self.used += u64::from(bytes);
        debug_assert!(self.used <= self.capacity, "the pool holds more than it has");
    }

    #[inline]
    pub(crate) fn release(&mut self, bytes: u32) {
        self.used -= u64::from(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_queue_may_reach_its_threshold_and_the_end_of_memory() {
        let mut pool = Pool::new(ByteCount::new(1000));
        let half = Alpha::from_fraction(1, 2);
        assert!(pool.admits(0, 500, half) && !pool.admits(0, 501, half));
        pool.reserve(500);
        assert!(pool.admits(0, 250, half) && !pool.admits(0, 251, half), "of what is free");
        assert!(!pool.admits(250, 1, half), "with what the queue holds");
        let eight = Alpha::from_fraction(8, 1);
        assert!(
            pool.admits(500, 500, eight) && !pool.admits(500, 501, eight),
            "no more than there is"
        );
        assert!(
            pool.admits_after(100, 400, 600, eight) && !pool.admits_after(100, 400, 601, eight)
        );
        pool.release(500);
        assert_eq!(
            (pool.used().get(), pool.free(), pool.capacity()),
            (0, pool.capacity(), ByteCount::new(1000))
        );
    }

    proptest! {
        /// In any order of packets and queues, whatever leaves meanwhile.
        #[test]
        fn a_pool_that_admits_a_total_admits_each_packet(
            held in prop::collection::vec(0u32..3000, 3),
            steps in prop::collection::vec((0usize..3, 1u32..2000, any::<bool>()), 1..12),
            capacity in 1u64..40_000,
            eighths in 1u32..40,
        ) {
            let (alpha, mut pool) =
                (Alpha::from_fraction(eighths, 8), Pool::new(ByteCount::new(capacity)));
            let mut queues = held;
            let used: u32 = queues.iter().sum();
            prop_assume!(u64::from(used) <= capacity);
            pool.reserve(used);
            let all: u64 =
                steps.iter().filter(|step| step.2).map(|step| u64::from(step.1)).sum();
            prop_assume!(pool.admits_all(all, alpha));
            for (queue, bytes, arrives) in steps {
                if arrives {
                    prop_assert!(pool.admits(queues[queue], bytes, alpha));
                    pool.reserve(bytes);
                    queues[queue] += bytes;
                } else {
                    let leaving = bytes.min(queues[queue]);
                    pool.release(leaving);
                    queues[queue] -= leaving;
                }
            }
        }
    }

    #[test]
    fn a_total_is_admitted_up_to_the_threshold_of_the_free_memory() {
        let mut pool = Pool::new(ByteCount::new(1000));
        let one = Alpha::from_fraction(1, 1);
        pool.reserve(300);
        assert!(pool.admits_all(200, one) && !pool.admits_all(201, one));
        assert!(!pool.admits_all(u64::MAX, one));
    }

    #[test]
    fn alphas_are_rounded_to_the_nearest_fraction() {
        let bits = |numerator| Alpha::from_fraction(numerator, 3).bits();
        assert_eq!((bits(1), bits(2), bits(3)), (21_845, 43_691, 65_536));
    }
}
