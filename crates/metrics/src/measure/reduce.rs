//! Reductions of many values to one number.

use super::spec::Within;
use crate::statistics::{jain, mean};

/// A reduction of many values to one number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Reduction {
    /// Arithmetic mean.
    Mean,
    /// Minimum.
    Min,
    /// Maximum.
    Max,
    /// Sum.
    Sum,
    /// Nearest-rank quantile, in ten thousandths.
    Quantile(u32),
    /// Number of values in the range; without a range all.
    Count(Within),
    /// Percentage of values in the range.
    Share(Within),
    /// Jain's fairness index.
    Jain,
    /// Maximum over minimum.
    MaxOverMin,
    /// Mean of the lowest tenth, at least one value.
    LowestTenth,
    /// Mean minus the mean of the lowest tenth.
    MeanLessLowestTenth,
    /// Per switch, min/mean over its ports, in percent; then the minimum over switches.
    MinOfSwitch,
}

/// A reduction of values with a unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reduced {
    pub(super) reduction: Reduction,
    /// Size of the stated unit in the values' own unit.
    pub(super) unit: f64,
}

impl Reduced {
    /// Creates a reduction of plain numbers.
    pub(super) fn plain(reduction: Reduction) -> Reduced {
        Reduced { reduction, unit: 1.0 }
    }

    /// Reduces values; `None` if a needed value is missing.
    pub(super) fn of(&self, values: &[Option<f64>], missing: Missing) -> Option<f64> {
        // Exact values are reduced before the division, for accuracy.
        match self.reduction.unit() {
            UnitOf::Result => self.reduction.of(values, missing).map(|number| number / self.unit),
            UnitOf::Values => {
                let values = values.iter().map(|value| value.map(|value| value / self.unit));
                self.reduction.of(&values.collect::<Vec<_>>(), missing)
            }
            UnitOf::Nothing => self.reduction.of(values, missing),
        }
    }
}

/// Rank of missing values, such as the time of an unfinished flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    /// Above all values.
    Max,
    /// Below all values.
    Min,
}

const NAMES: &[(&str, Reduction)] = &[
    ("mean", Reduction::Mean),
    ("min", Reduction::Min),
    ("max", Reduction::Max),
    ("sum", Reduction::Sum),
    ("jain", Reduction::Jain),
    ("max_over_min", Reduction::MaxOverMin),
    ("lowest_tenth", Reduction::LowestTenth),
    ("mean_less_lowest_tenth", Reduction::MeanLessLowestTenth),
    ("min_of_switch", Reduction::MinOfSwitch),
];

impl Reduction {
    /// Parses "mean", "p99.9" and so on.
    pub(super) fn parse(name: &str, within: Option<Within>) -> Result<Reduction, String> {
        let reduction = match name {
            "count" => return Ok(Reduction::Count(within.unwrap_or_default())),
            "share" => return Ok(Reduction::Share(within.unwrap_or_default())),
            _ => NAMES
                .iter()
                .find(|(known, _)| *known == name)
                .map(|&(_, reduction)| reduction)
                .or_else(|| name.strip_prefix('p').and_then(quantile_of).map(Reduction::Quantile)),
        };
        let Some(reduction) = reduction else {
            let known: Vec<&str> = NAMES.iter().map(|&(name, _)| name).collect();
            return Err(format!(
                "no `reduce` is named `{name}`; expected a quantile such as p50 or p99.9, count, share or one of {}",
                known.join(", ")
            ));
        };
        match within {
            Some(_) => Err(format!("`within` is for count and share, not for {name}")),
            None => Ok(reduction),
        }
    }

    /// Reduces values; `None` if a needed value is missing.
    pub(super) fn of(self, values: &[Option<f64>], missing: Missing) -> Option<f64> {
        let all = || values.iter().copied().collect::<Option<Vec<f64>>>().filter(|v| !v.is_empty());
        let min = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
        let max = |values: &[f64]| values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let within = |range: &Within| {
            values.iter().flatten().filter(|&&value| range.takes(value)).count() as f64
        };
        match self {
            Reduction::Mean => mean(&all()?),
            Reduction::Min => all().map(|values| min(&values)),
            Reduction::Max => all().map(|values| max(&values)),
            Reduction::Sum => all().map(|values| values.iter().sum()),
            Reduction::Quantile(share) => quantile(values, share, missing),
            Reduction::Count(range) => (!values.is_empty()).then(|| within(&range)),
            Reduction::Share(range) => {
                (!values.is_empty()).then(|| within(&range) / values.len() as f64 * 100.0)
            }
            Reduction::Jain => jain(&all()?),
            Reduction::MaxOverMin => {
                all().filter(|values| min(values) > 0.0).map(|v| max(&v) / min(&v))
            }
            Reduction::LowestTenth => lowest_tenth(all()?),
            Reduction::MeanLessLowestTenth => {
                let values = all()?;
                Some(mean(&values)? - lowest_tenth(values)?)
            }
            // Only port measures support it: it needs the switches.
            Reduction::MinOfSwitch => None,
        }
    }

    /// Returns the part that has the unit.
    pub(super) fn unit(self) -> UnitOf {
        match self {
            Reduction::Mean
            | Reduction::Min
            | Reduction::Max
            | Reduction::Sum
            | Reduction::Quantile(_)
            | Reduction::LowestTenth
            | Reduction::MeanLessLowestTenth => UnitOf::Result,
            Reduction::Count(range) | Reduction::Share(range) => match range.from.or(range.to) {
                Some(_) => UnitOf::Values,
                None => UnitOf::Nothing,
            },
            Reduction::Jain | Reduction::MaxOverMin | Reduction::MinOfSwitch => UnitOf::Nothing,
        }
    }
}

/// The part of a measure that has its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnitOf {
    /// The result.
    Result,
    /// The input values, but not the result.
    Values,
    /// Nothing: the result is the same in every unit.
    Nothing,
}

/// Parses "99.9" into ten thousandths; above 0, at most 100, at most two decimals.
fn quantile_of(text: &str) -> Option<u32> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || part.len() > 2 || !is_number(whole) || !is_number(part) {
        return None;
    }
    let part: u32 = format!("{part:0<2}").parse().ok()?;
    let share = whole.parse::<u32>().ok()?.checked_mul(100)?.checked_add(part)?;
    (1..=10_000).contains(&share).then_some(share)
}

fn quantile(values: &[Option<f64>], share: u32, missing: Missing) -> Option<f64> {
    let absent = match missing {
        Missing::Max => f64::INFINITY,
        Missing::Min => f64::NEG_INFINITY,
    };
    let mut sorted: Vec<f64> = values.iter().map(|value| value.unwrap_or(absent)).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let rank = (sorted.len() as u128 * u128::from(share)).div_ceil(10_000) as usize;
    sorted.get(rank.max(1) - 1).copied().filter(|value| value.is_finite())
}

fn lowest_tenth(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    mean(&values[..values.len().div_ceil(10)])
}
