//! Verdicts, and their file: findings.json.

use std::path::Path;

use serde::Serialize;
use serde_json::json;
use trimline_metrics::{Interval, result_folder};

pub use crate::baseline::{Missed, Span};
use crate::failure::Failure;

/// The part of an experiment's runs that is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// All runs.
    Full,
    /// The runs that expected.toml names.
    Quick,
    /// All runs of some series.
    Partial,
}

impl Tier {
    /// The name in findings.json.
    fn name(self) -> Option<&'static str> {
        match self {
            Tier::Full => None,
            Tier::Quick => Some("quick"),
            Tier::Partial => Some("part"),
        }
    }
}

/// A finding with the verdict of our runs, as in findings.json.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Verdict {
    /// The name of the finding.
    pub name: String,
    /// The value of the paper.
    pub paper: Option<f64>,
    /// The value of the authors' files.
    pub reference: Option<f64>,
    /// The baseline, if it was run for this finding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Span>,
    /// The value of all runs that is closest to a bound, or furthest beyond it; without bounds the mean. `None` if a
    /// run has no such value.
    pub ours: Option<f64>,
    /// Lower bound.
    pub lo: Option<f64>,
    /// Upper bound.
    pub hi: Option<f64>,
    /// The bounds ask only for the sign of a comparison.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sign: bool,
    /// Unit of all values.
    pub unit: String,
    /// Our value is within the bounds, or the finding is not judged.
    pub holds: bool,
    /// The quick tier lacks the finding's runs or the seeds for a mean; or a partial run lacks some of its series.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub not_judged: bool,
    /// Cause of the miss, or its relation to the baseline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missed: Option<Missed>,
    /// Interval over the seeds' values, if there are several.
    #[serde(skip_serializing_if = "is_of_one_seed")]
    pub seeds: Option<Interval>,
}

impl Verdict {
    /// True if the finding has bounds and was judged by them.
    pub fn is_judged(&self) -> bool {
        !self.not_judged && self.lo.or(self.hi).is_some()
    }
}

fn is_of_one_seed(seeds: &Option<Interval>) -> bool {
    seeds.is_none_or(|seeds| seeds.count < 2)
}

/// The content of findings.json.
pub fn as_json(id: &str, verdicts: &[Verdict], tier: Tier) -> serde_json::Value {
    let mut json = json!({ "id": id, "findings": verdicts });
    if let Some(name) = tier.name() {
        json["tier"] = name.into();
    }
    json
}

/// Writes findings.json into a folder, whole or not at all.
///
/// # Errors
/// Returns an error if the file cannot be written.
pub fn write(folder: &Path, findings: &serde_json::Value) -> Result<(), Failure> {
    let path = folder.join("findings.json");
    let text = format!("{findings:#}\n");
    result_folder::write_file(&path, text).map_err(|error| Failure::io(&path, &error))
}
