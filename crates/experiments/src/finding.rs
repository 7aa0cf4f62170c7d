//! A finding of expected.toml.

use std::collections::BTreeMap;

use serde::Deserialize;
use trimline_metrics::Measure;

use crate::baseline::{Baseline, Span};

/// A finding. It holds if the measure of its runs, or the mean over seeds, lies within the bounds.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding<M = Measure> {
    pub(crate) name: String,
    /// Its place in the paper, or its derivation: for the reader of the file, and required, so that no bound lacks one.
    #[serde(rename = "source")]
    _source: String,
    /// Series of the scenario; default: all.
    pub(crate) series: Option<String>,
    /// The measure of a run; of the testbed its name.
    pub measure: M,
    pub(crate) flows: Option<usize>,
    pub(crate) flows_from: Option<usize>,
    /// Only runs at these places of the sweep: key, and value or range.
    #[serde(default)]
    pub(crate) at: BTreeMap<String, At>,
    /// Judge max minus min among runs that differ only in this key of the sweep.
    pub(crate) spread_over: Option<String>,
    /// Judge R squared, the share of the variance among runs that differ only in this key of the sweep that a straight
    /// line over the key's numbers explains (max 1). Needs three runs.
    pub(crate) linear_over: Option<String>,
    /// Judge by how many percent the measure exceeds this series' with the same place of the sweep and seed.
    pub(crate) against: Option<String>,
    /// Unit of the judged number; default: the measure's.
    pub(crate) unit: Option<String>,
    /// The value over seeds that must hold.
    #[serde(default)]
    pub(crate) over_seeds: OverSeeds,
    pub(crate) paper: Option<f64>,
    /// The value of the authors' files.
    pub(crate) reference: Option<f64>,
    /// Results of their published program; default: `reference`.
    pub(crate) baseline: Option<Baseline>,
    /// Cause of a known miss. The experiment's README explains it below the table.
    pub(crate) cause: Option<String>,
    pub(crate) lo: Option<f64>,
    pub(crate) hi: Option<f64>,
    /// For a finding that a network without deliveries would satisfy: a finding about the same series that it would
    /// fail.
    pub(crate) companion: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum At {
    Number(i64),
    Text(String),
    Range(Range),
}

/// A range, both ends included.
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

/// The values of several seeds that a finding judges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum OverSeeds {
    #[default]
    Each,
    Mean,
    Min,
    Max,
}

impl<M> Finding<M> {
    /// True for a comparison whose only bound is 0: it asks only which series is larger.
    pub(crate) fn is_sign(&self) -> bool {
        let is_at_zero = match (self.lo, self.hi) {
            (Some(bound), None) | (None, Some(bound)) => bound == 0.0,
            _ => false,
        };
        is_at_zero && self.against.is_some()
    }

    /// The baseline: as measured, otherwise from the authors' files.
    pub(crate) fn span_of_baseline(&self) -> Option<Span> {
        match &self.baseline {
            Some(baseline) => baseline.span(),
            None => self.reference.map(|value| Span { from: value, to: value }),
        }
    }

    /// True if it is about runs of this series, or compares with them.
    pub(crate) fn is_asked_of(&self, series: &str) -> bool {
        self.series.as_deref().is_none_or(|own| own == series)
            || self.against.as_deref() == Some(series)
    }
}
