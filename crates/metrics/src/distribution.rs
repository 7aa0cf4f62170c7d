//! Distributions as summaries contain them.

use serde::{Deserialize, Serialize};

use crate::statistics::quantile;

/// Goodput over flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Goodput {
    /// Mean.
    pub mean: f64,
    /// Slowest flow.
    pub min: f64,
}

/// Quantiles by nearest rank ([`quantile`]).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// Number of values.
    pub count: u64,
    /// Mean.
    pub mean: f64,
    /// Smallest.
    pub min: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// Largest.
    pub max: f64,
}

/// Rounds to six decimals: microseconds to the picosecond, in readable files.
pub(crate) fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// Summarises millionths: picoseconds as microseconds, parts per million as ratios.
pub(crate) fn distribution(values: impl Iterator<Item = u64>) -> Option<Distribution> {
    let mut sorted: Vec<u64> = values.collect();
    sorted.sort_unstable();
    let at = |share| quantile(&sorted, share).map(|value| value as f64 / 1e6);
    let sum: u128 = sorted.iter().map(|&value| u128::from(value)).sum();
    Some(Distribution {
        count: sorted.len() as u64,
        mean: rounded(sum as f64 / sorted.len() as f64 / 1e6),
        min: at(0)?,
        p50: at(5000)?,
        p90: at(9000)?,
        p99: at(9900)?,
        p999: at(9990)?,
        max: at(10_000)?,
    })
}
