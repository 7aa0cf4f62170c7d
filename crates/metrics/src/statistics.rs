//! Quantiles, means and confidence intervals.

/// Quantile of `sorted` values by nearest rank: the smallest value that at least `per_ten_thousand` / 10000 of the
/// values do not exceed. Without interpolation: a measured value. `None` without values.
///
/// # Panics
/// Panics above 10000.
///
/// ```
/// use trimline_metrics::quantile;
///
/// let sorted = [10, 20, 30, 40];
/// assert_eq!(quantile(&sorted, 5_000), Some(20), "the median is a measured value");
/// assert_eq!(quantile(&sorted, 9_900), Some(40));
/// assert_eq!(quantile(&sorted, 0), Some(10));
/// assert_eq!(quantile(&[], 5_000), None);
/// ```
pub fn quantile(sorted: &[u64], per_ten_thousand: u32) -> Option<u64> {
    assert!(per_ten_thousand <= 10_000, "a quantile is a share of at most one");
    debug_assert!(sorted.is_sorted(), "quantiles are read from sorted values");
    let rank = (sorted.len() as u128 * u128::from(per_ten_thousand)).div_ceil(10_000) as usize;
    sorted.get(rank.max(1) - 1).copied()
}

/// Arithmetic mean. `None` without values.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Jain's fairness index: 1 if all are equal, 1 / n if one has everything. `None` if all are 0.
pub fn jain(values: &[f64]) -> Option<f64> {
    let sum: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|value| value * value).sum();
    (squares > 0.0).then(|| sum * sum / (values.len() as f64 * squares))
}

/// Mean over seeds with 95 % confidence interval (Student's t).
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Interval {
    /// The mean.
    pub mean: f64,
    /// Half the interval's width: `mean` ± `half_width`. `None` for one value.
    pub half_width: Option<f64>,
    /// Number of values.
    pub count: usize,
}

/// Mean and 95 % confidence interval of independent values. `None` without values.
///
/// ```
/// use trimline_metrics::interval;
///
/// let seeds = interval(&[9.0, 10.0, 11.0]).unwrap();
/// assert_eq!((seeds.mean, seeds.count), (10.0, 3));
/// let half_width = seeds.half_width.unwrap();
/// assert!((half_width - 2.484).abs() < 0.001, "4.303 (Student's t) times 1 over the root of 3");
/// assert_eq!(interval(&[9.0]).unwrap().half_width, None);
/// ```
pub fn interval(values: &[f64]) -> Option<Interval> {
    let count = values.len();
    let mean = mean(values)?;
    let half_width = (count > 1).then(|| {
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        let standard_error = (squares / (count - 1) as f64 / count as f64).sqrt();
        student_t(count - 1) * standard_error
    });
    Some(Interval { mean, half_width, count })
}

/// Two-sided 95 % quantile of Student's t (standard tables). Untabulated degrees of freedom use the lower row, so that
/// intervals are never too narrow.
fn student_t(degrees_of_freedom: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
        2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
        2.052, 2.048, 2.045, 2.042,
    ];
    match degrees_of_freedom {
        0 => f64::INFINITY,
        1..=30 => TABLE[degrees_of_freedom - 1],
        31..=39 => 2.042,
        40..=59 => 2.021,
        60..=119 => 2.000,
        120..=999 => 1.980,
        _ => 1.962,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantiles_use_the_nearest_rank() {
        let values = [10, 20, 30, 40];
        assert_eq!(quantile(&values, 0), Some(10));
        assert_eq!(quantile(&values, 2500), Some(10));
        assert_eq!(quantile(&values, 2501), Some(20));
        assert_eq!(quantile(&values, 5000), Some(20));
        assert_eq!(quantile(&values, 9900), Some(40));
        assert_eq!(quantile(&values, 10_000), Some(40));
        assert_eq!(quantile(&[], 5000), None);
    }

    #[test]
    fn an_interval_uses_the_t_distribution() {
        let of_five = interval(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert_eq!((of_five.mean, of_five.count), (3.0, 5));
        // 2.776 * sqrt(2.5 / 5)
        assert!((of_five.half_width.unwrap() - 1.962_929).abs() < 1e-5);
        assert_eq!(interval(&[7.0]).unwrap().half_width, None);
        assert_eq!(interval(&[]), None);
    }

    proptest! {
        #[test]
        fn a_quantile_divides_the_sorted_values(
            mut values in prop::collection::vec(0u64..1000, 1..200),
            share in 1u32..=10_000,
        ) {
            values.sort_unstable();
            let at = quantile(&values, share).unwrap();
            let count = |up_to: &dyn Fn(u64) -> bool| values.iter().filter(|&&v| up_to(v)).count();
            let wanted = values.len() as u64 * u64::from(share);
            prop_assert!(count(&|v| v <= at) as u64 * 10_000 >= wanted);
            prop_assert!((count(&|v| v < at) as u64) * 10_000 < wanted);
        }
    }
}
