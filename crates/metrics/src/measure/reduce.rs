//! How many values become one number.

use super::spec::Within;
use crate::statistics::{jain, mean};

/// How many values become one number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Reduction {
    /// Arithmetic mean.
    Mean,
    /// Least.
    Min,
    /// Most.
    Max,
    /// All added up.
    Sum,
    /// By nearest rank, in ten thousandths.
    Quantile(u32),
    /// How many are within the range; all that there are without one.
    Count(Within),
    /// How many of all, in percent, are within the range.
    Share(Within),
    /// Jain's fairness index.
    Jain,
    /// Most over least.
    MaxOverMin,
    /// Mean of the least tenth, one at least.
    LowestTenth,
    /// Mean less the mean of the least tenth.
    MeanLessLowestTenth,
    /// Of each switch's ports the least in percent of their mean; of all switches the least.
    MinOfSwitch,
}

/// A reduction of values that are stated in a unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reduced {
    pub(super) reduction: Reduction,
    /// How many of what the values are counted in are one unit.
    pub(super) unit: f64,
}

impl Reduced {
    /// Of plain numbers.
    pub(super) fn plain(reduction: Reduction) -> Reduced {
        Reduced { reduction, unit: 1.0 }
    }

    /// The number; `None` where it would need a value that there is not.
    pub(super) fn of(&self, values: &[Option<f64>], missing: Missing) -> Option<f64> {
        // Exact values are reduced before they are divided, so that the number is as exact as can be.
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

/// Which end of the values one belongs to that there is not, such as the time of a flow that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    /// It would be more than all that there are.
    Max,
    /// It would be less.
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
    /// Reads "mean", "p99.9" and so on.
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

    /// The number; `None` where it would need a value that there is not.
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
            // Needs to know the switches: of ports alone.
            Reduction::MinOfSwitch => None,
        }
    }

    /// What the unit of the values is to the result.
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

/// What has the unit of a measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnitOf {
    /// The number itself.
    Result,
    /// The values that are looked at, not the number.
    Values,
    /// Nothing: the number is the same in every unit.
    Nothing,
}

/// "99.9" in ten thousandths; more than 0, at most 100, two decimals at most.
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
