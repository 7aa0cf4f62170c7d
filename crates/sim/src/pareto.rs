//! Flow sizes of a Pareto distribution, by shape and mean.
//!
//! The share of flows larger than `x` is `(min / x)^shape` (HULL 6.3: shape 1.05, mean 100 KB). With a shape near 1
//! most bytes are in flows that few runs ever draw: usually the mean of a sample is far below the mean of the
//! distribution. So a run reports its realised load next to the requested one.
//!
//! A bounded distribution has sizes up to the bound alone (larger ones are drawn again), with a minimum size that keeps
//! the requested mean.
//!
//! Powers are libm's, the same on every machine.

/// Draws are numbers below this, all equally likely.
pub const DRAWS: u64 = 1 << 53;

/// The reason why there is no such distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPareto {
    /// A shape of 1 or less: the mean is infinite.
    Shape,
    /// Some sizes would be below a byte. Holds the minimum mean that avoids this, in bytes, if there is one.
    Mean(Option<u64>),
    /// A bound that does not exceed the mean.
    Max,
}

/// Sizes of a Pareto distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pareto {
    /// A fraction, numerator and denominator, above 1.
    shape: (u32, u32),
    mean_millibytes: u64,
    min_millibytes: u64,
    max: u64,
    /// True if larger sizes are drawn again; otherwise they become the maximum size.
    is_bounded: bool,
}

impl Pareto {
    /// Returns an unbounded distribution. Sizes are clamped to `max` bytes, the largest flow that a transport can
    /// number; [`Pareto::mean_bytes`] ignores the clamp.
    ///
    /// # Errors
    /// Fails for a shape of 1 or less, sizes below a byte, and a `max` that does not exceed the mean.
    pub fn unbounded(shape: (u32, u32), mean_bytes: u64, max: u64) -> Result<Pareto, NoPareto> {
        let above = excess(shape)?;
        let mean_millibytes = mean_bytes.saturating_mul(1000);
        // HULL 6.3: the mean is least * shape / (shape - 1).
        let min = u128::from(mean_millibytes) * u128::from(above) / u128::from(shape.0);
        if min < 1000 {
            return Err(NoPareto::Mean(Some(u64::from(shape.0.div_ceil(above)))));
        }
        if max <= mean_bytes {
            return Err(NoPareto::Max);
        }
        let min_millibytes = min as u64;
        Ok(Pareto { shape, mean_millibytes, min_millibytes, max, is_bounded: false })
    }

    /// Returns a distribution with a bound, in bytes.
    ///
    /// # Errors
    /// Fails for a shape of 1 or less, sizes below a byte, and a bound that does not exceed the mean.
    pub fn bounded(shape: (u32, u32), mean_bytes: u64, max: u64) -> Result<Pareto, NoPareto> {
        excess(shape)?;
        if max <= mean_bytes {
            return Err(NoPareto::Max);
        }
        let with = |min_millibytes| Pareto {
            shape,
            mean_millibytes: mean_bytes.saturating_mul(1000),
            min_millibytes,
            max,
            is_bounded: true,
        };
        // The mean rises with the minimum size.
        let mean = |min| with(min).mean_of_bounded();
        let (mut low, mut high) = (1000, mean_bytes.saturating_mul(1000));
        if mean(low) > mean_bytes as f64 {
            let min = mean(low).ceil() as u64;
            return Err(NoPareto::Mean((min < max).then_some(min)));
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            let is_low = mean(middle) <= mean_bytes as f64;
            *(if is_low { &mut low } else { &mut high }) = middle;
        }
        Ok(with(low))
    }

    fn exponent(&self) -> f64 {
        f64::from(self.shape.0) / f64::from(self.shape.1)
    }

    fn min(&self) -> f64 {
        self.min_millibytes as f64 / 1000.0
    }

    /// Share of flows that would exceed the bound without it.
    fn beyond(&self) -> f64 {
        match self.is_bounded {
            true => libm::pow(self.min() / self.max as f64, self.exponent()),
            false => 0.0,
        }
    }

    fn mean_of_bounded(&self) -> f64 {
        let shape = self.exponent();
        let without = shape / (shape - 1.0) * self.min();
        let bytes = 1.0 - libm::pow(self.min() / self.max as f64, shape - 1.0);
        without * bytes / (1.0 - self.beyond())
    }

    /// Returns the size for a uniform draw below [`DRAWS`], in bytes: at least one, and smaller for larger draws.
    pub fn size(&self, draw: u64) -> u64 {
        // Never zero.
        let uniform = (draw + 1) as f64 / DRAWS as f64;
        let share = uniform + (1.0 - uniform) * self.beyond();
        let size = self.min() * libm::pow(share, -1.0 / self.exponent());
        // The cast saturates.
        ((size + 0.5) as u64).clamp(1, self.max)
    }

    /// Returns the requested mean, in bytes.
    pub fn mean_bytes(&self) -> u64 {
        self.mean_millibytes / 1000
    }

    /// Returns the requested mean, in thousandths of a byte.
    pub fn mean_millibytes(&self) -> u64 {
        self.mean_millibytes
    }

    /// Returns the minimum size, in thousandths of a byte.
    pub fn min_millibytes(&self) -> u64 {
        self.min_millibytes
    }

    /// Returns the maximum size, in bytes.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// Returns whether larger sizes are drawn again.
    pub fn is_bounded(&self) -> bool {
        self.is_bounded
    }

    /// Returns the shape: numerator and denominator.
    pub fn shape(&self) -> (u32, u32) {
        self.shape
    }
}

/// Excess of a shape's numerator over its denominator.
fn excess(shape: (u32, u32)) -> Result<u32, NoPareto> {
    shape.0.checked_sub(shape.1).filter(|&above| above > 0).ok_or(NoPareto::Shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: (u32, u32) = (105, 100);
    const TERABYTE: u64 = 1_000_000_000_000;

    /// HULL 6.3.
    fn hull() -> Pareto {
        Pareto::unbounded(SHAPE, 100_000, 1000 * TERABYTE).unwrap()
    }

    /// Share of flows larger than `size`: half a byte more, because sizes are whole.
    fn share_above(sizes: &Pareto, size: u64) -> f64 {
        let (mut low, mut high) = (0, DRAWS);
        while low < high {
            let middle = low + (high - low) / 2;
            match sizes.size(middle) > size {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low as f64 / DRAWS as f64
    }

    /// Mean bytes of a flow in flows up to `size`: each power of two of draws in equal parts.
    fn bytes_up_to(sizes: &Pareto, size: u64) -> f64 {
        const PARTS: u64 = 4096;
        let min = share_above(sizes, size);
        let mut sum = 0.0;
        for octave in 13..53 {
            let (first, step) = (1u64 << octave, (1u64 << octave) / PARTS);
            for part in 0..PARTS.min(1 << octave) {
                let draw = first + part * step + step / 2;
                if draw as f64 / DRAWS as f64 > min {
                    sum += sizes.size(draw) as f64 * step as f64;
                }
            }
        }
        sum / DRAWS as f64
    }

    #[test]
    fn the_min_size_follows_from_shape_and_mean() {
        assert_eq!(hull().min_millibytes(), 4_761_904);
        assert_eq!(hull().size(DRAWS - 1), 4762);
        assert_eq!(hull().mean_bytes(), 100_000);
    }

    /// The mean is of the distribution function; the mean of a sample would be half of it.
    #[test]
    fn the_distribution_function_is_that_of_pareto() {
        let sizes = hull();
        for size in [5_000u64, 10_000, 100_000, 1_000_000, 10_000_000, 10_000_000_000] {
            let expected = (4_761.904 / (size as f64 + 0.5)).powf(1.05);
            let found = share_above(&sizes, size);
            assert!((found / expected - 1.0).abs() < 1e-6, "{size}: {found} {expected}");
        }
        // 96 % of flows are below 100 KB; three in ten thousand are above 10 MB.
        assert!((share_above(&sizes, 100_000) - 0.0409).abs() < 1e-4);
        assert!((share_above(&sizes, 10_000_000) - 0.000_324_6).abs() < 1e-6);
    }

    /// Flows below 100 KB carry 14.1 % of the bytes, flows above 10 MB 68.2 %.
    #[test]
    fn few_flows_carry_most_bytes() {
        let sizes = hull();
        let small = bytes_up_to(&sizes, 100_000) / 100_000.0;
        let large = 1.0 - bytes_up_to(&sizes, 10_000_000) / 100_000.0;
        assert!((small - 0.141_2).abs() < 2e-4, "{small}");
        assert!((large - 0.682_1).abs() < 2e-4, "{large}");
    }

    #[test]
    fn a_bound_keeps_the_mean() {
        for (shape, max) in [((105, 100), 1_000_000_000), ((3, 2), 10_000_000), ((4, 1), 200_000)] {
            let sizes = Pareto::bounded(shape, 100_000, max).unwrap();
            assert!(sizes.size(0) <= max && sizes.size(0) > max / 10 * 9, "{}", sizes.size(0));
            assert!(sizes.size(DRAWS - 1).abs_diff(sizes.min_millibytes() / 1000) <= 1);
            let mean = bytes_up_to(&sizes, max) / 100_000.0;
            assert!((mean - 1.0).abs() < 2e-3, "{shape:?}: {mean}");
            // An unbounded distribution has a lower minimum size.
            let without = Pareto::unbounded(shape, 100_000, TERABYTE).unwrap();
            assert!(sizes.min_millibytes() > without.min_millibytes());
        }
    }

    #[test]
    fn a_size_beyond_the_largest_flow_is_clamped() {
        let sizes = Pareto::unbounded(SHAPE, 100_000, 1_000_000).unwrap();
        assert_eq!((sizes.size(0), sizes.max()), (1_000_000, 1_000_000));
        // Below it all sizes are equal.
        let middle = DRAWS / 2;
        assert_eq!(sizes.size(middle), hull().size(middle));
    }

    #[test]
    fn a_pareto_without_mean_or_bytes_is_refused() {
        for shape in [(1, 1), (1, 2), (99, 100)] {
            assert_eq!(Pareto::unbounded(shape, 1000, TERABYTE), Err(NoPareto::Shape));
            assert_eq!(Pareto::bounded(shape, 1000, TERABYTE), Err(NoPareto::Shape));
        }
        assert_eq!(Pareto::unbounded(SHAPE, 20, TERABYTE), Err(NoPareto::Mean(Some(21))));
        assert!(Pareto::unbounded(SHAPE, 21, TERABYTE).is_ok());
        assert_eq!(Pareto::unbounded(SHAPE, 0, TERABYTE), Err(NoPareto::Mean(Some(21))));
        assert_eq!(Pareto::bounded(SHAPE, 5000, 5000), Err(NoPareto::Max));
        let Err(NoPareto::Mean(Some(min))) = Pareto::bounded(SHAPE, 5, 1_000_000) else {
            panic!("sizes below a byte")
        };
        assert!(Pareto::bounded(SHAPE, min, 1_000_000).is_ok());
        assert!(Pareto::bounded(SHAPE, min - 1, 1_000_000).is_err());
    }
}
