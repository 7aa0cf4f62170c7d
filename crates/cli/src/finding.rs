//! One finding of expected.toml, as the file has it.

use std::collections::BTreeMap;

use serde::Deserialize;
use trimline_metrics::Measure;

use crate::baseline::{Baseline, Span};

/// One finding. It holds when the measure of every run that it is about lies within the bounds, or
/// its mean over the seeds.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Finding<M = Measure> {
    pub(crate) name: String,
    /// Where it stands, or how it follows.
    #[allow(
        dead_code,
        reason = "for the reader of the file; required, so that no bound lacks one"
    )]
    pub(crate) source: String,
    /// Series of the scenario; all without it.
    pub(crate) series: Option<String>,
    /// The number that is judged.
    pub(crate) measure: M,
    /// Only runs with this many flows.
    pub(crate) flows: Option<usize>,
    /// Only runs with at least this many flows.
    pub(crate) flows_from: Option<usize>,
    /// Only runs at these places of the sweep: key, and value or range.
    #[serde(default)]
    pub(crate) at: BTreeMap<String, At>,
    /// Not the measure itself, but the largest less the smallest among runs that differ in this key of
    /// the sweep alone.
    pub(crate) spread_over: Option<String>,
    /// Not the measure itself, but how much of its variance among runs that differ in this key of the sweep alone a
    /// straight line over the key's numbers explains (R squared): 1 for all of it. Three runs at least.
    pub(crate) linear_over: Option<String>,
    /// Not the measure itself, but by how many percent it exceeds that of this series, at the same
    /// place of the sweep and with the same seed.
    pub(crate) against: Option<String>,
    /// Unit of what is judged; that of the measure without it.
    pub(crate) unit: Option<String>,
    /// Whether every seed must hold, the mean over the seeds, or the least or greatest of them.
    #[serde(default)]
    pub(crate) over_seeds: OverSeeds,
    /// What the paper says.
    pub(crate) paper: Option<f64>,
    /// What the authors' files say.
    pub(crate) reference: Option<f64>,
    /// What their published program gives for this work, or that none does it; without it `reference`.
    pub(crate) baseline: Option<Baseline>,
    /// Why our runs miss it, where they do and the cause is known. The README of the experiment explains it below the table.
    pub(crate) cause: Option<String>,
    pub(crate) lo: Option<f64>,
    pub(crate) hi: Option<f64>,
    /// Where a network that delivers nothing would satisfy the bounds: the finding about the same series that it
    /// would not satisfy.
    pub(crate) companion: Option<String>,
}

/// Places of a sweep.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum At {
    Number(i64),
    Text(String),
    Range(Range),
}

/// Both ends included.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Range {
    pub(super) from: Option<i64>,
    pub(super) to: Option<i64>,
}

impl At {
    pub(crate) fn takes(&self, label: &str) -> bool {
        match self {
            At::Number(number) => label.parse() == Ok(*number),
            At::Text(text) => text == label,
            At::Range(Range { from, to }) => label.parse::<i64>().is_ok_and(|number| {
                from.is_none_or(|from| number >= from) && to.is_none_or(|to| number <= to)
            }),
        }
    }
}

/// What a finding says of several seeds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum OverSeeds {
    /// Every seed holds.
    #[default]
    Each,
    /// The mean over the seeds holds.
    Mean,
    /// The least value of all seeds holds.
    Min,
    /// The greatest value of all seeds holds.
    Max,
}

impl<M> Finding<M> {
    /// Whether the only bound of a comparison is 0: it asks which series is larger, and not by how much.
    pub(crate) fn is_sign(&self) -> bool {
        let is_at_zero = match (self.lo, self.hi) {
            (Some(bound), None) | (None, Some(bound)) => bound == 0.0,
            _ => false,
        };
        is_at_zero && self.against.is_some()
    }

    /// What the authors' program gives: as it was measured, else as their files say.
    pub(crate) fn span_of_baseline(&self) -> Option<Span> {
        match &self.baseline {
            Some(baseline) => baseline.span(),
            None => self.reference.map(|value| Span { from: value, to: value }),
        }
    }

    /// Whether it is about runs of this series, or compares with them.
    pub(crate) fn is_asked_of(&self, series: &str) -> bool {
        self.series.as_deref().is_none_or(|own| own == series)
            || self.against.as_deref() == Some(series)
    }
}
