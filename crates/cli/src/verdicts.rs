//! Verdicts, and their output: findings.json, and a table for people.

use std::io::IsTerminal;
use std::path::Path;

use serde::Serialize;
use serde_json::json;
use trimline_metrics::{Interval, result_folder};

use crate::baseline::{Missed, Span};
use crate::failure::Failure;
use crate::terminal::columns;

/// The part of an experiment's runs that is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tier {
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

    /// The text after a title.
    fn describe(self) -> &'static str {
        match self {
            Tier::Full => "",
            Tier::Quick => " (quick tier: some of the runs)",
            Tier::Partial => " (some of the series)",
        }
    }
}

/// A finding with the verdict of our runs, in machine-readable form.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Verdict {
    pub(crate) name: String,
    pub(crate) paper: Option<f64>,
    pub(crate) reference: Option<f64>,
    /// The baseline, if it was run for this finding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) baseline: Option<Span>,
    /// The value of all runs that is closest to a bound, or furthest beyond it; without bounds the mean. `None` if a
    /// run has no such value.
    pub(crate) ours: Option<f64>,
    pub(crate) lo: Option<f64>,
    pub(crate) hi: Option<f64>,
    /// The bounds ask only for the sign of a comparison.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) sign: bool,
    pub(crate) unit: String,
    pub(crate) holds: bool,
    /// The quick tier lacks the finding's runs or the seeds for a mean; or a partial run lacks some of its series.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) not_judged: bool,
    /// Cause of the miss, or its relation to the baseline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) missed: Option<Missed>,
    /// Interval over the seeds' values, if there are several.
    #[serde(skip_serializing_if = "is_of_one_seed")]
    pub(crate) seeds: Option<Interval>,
}

fn is_of_one_seed(seeds: &Option<Interval>) -> bool {
    seeds.is_none_or(|seeds| seeds.count < 2)
}

/// The content of findings.json.
pub(crate) fn as_json(id: &str, verdicts: &[Verdict], tier: Tier) -> serde_json::Value {
    let mut json = json!({ "id": id, "findings": verdicts });
    if let Some(name) = tier.name() {
        json["tier"] = name.into();
    }
    json
}

/// Writes findings.json into a folder, whole or not at all.
pub(crate) fn write(folder: &Path, findings: &serde_json::Value) -> Result<(), Failure> {
    let path = folder.join("findings.json");
    let text = format!("{findings:#}\n");
    result_folder::write_file(&path, text).map_err(|error| Failure::io(&path, &error))
}

/// Numbers of judged findings and of findings that hold; findings about a sign count separately.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    ranges: [usize; 2],
    signs: [usize; 2],
}

impl Count {
    pub(crate) fn add(&mut self, verdicts: &[Verdict]) {
        let is_judged =
            |verdict: &&Verdict| !verdict.not_judged && verdict.lo.or(verdict.hi).is_some();
        for verdict in verdicts.iter().filter(is_judged) {
            let [judged, hold] = if verdict.sign { &mut self.signs } else { &mut self.ranges };
            *judged += 1;
            *hold += usize::from(verdict.holds);
        }
    }

    /// Describes both kinds together.
    pub(crate) fn describe(self) -> String {
        let Count { ranges, signs } = self;
        format!("{} of {} findings hold", ranges[1] + signs[1], ranges[0] + signs[0])
    }

    /// Describes each kind, in one line.
    pub(crate) fn line(&self) -> String {
        let Count { ranges: [ranges, ranges_hold], signs: [signs, signs_hold] } = self;
        format!(
            "findings with a range: {ranges_hold} of {ranges} hold; with a sign alone: {signs_hold} of {signs} hold\n"
        )
    }
}

/// The number of findings that hold, and the first judged finding, in 80 columns.
pub(crate) fn summary(id: &str, title: &str, verdicts: &[Verdict], tier: Tier) -> String {
    let mut count = Count::default();
    count.add(verdicts);
    let counted = format!("  {}", count.describe());
    let mut text = format!("{id}: {title}{}\n{counted}", tier.describe());
    let first = verdicts.iter().find(|one| !one.not_judged && one.lo.or(one.hi).is_some());
    if let Some(Verdict { name, ours: Some(ours), unit, paper, .. }) = first {
        let paper = paper.map_or(String::new(), |paper| format!(" (paper {})", significant(paper)));
        let described = format!("{name}: {} {unit}{paper}", significant(*ours));
        let is_short = counted.chars().count() + 2 + described.chars().count() <= 80;
        text += if is_short { "; " } else { "\n  " };
        text += &described;
    }
    text + "\n"
}

/// The verdicts for people.
pub(crate) fn table(id: &str, title: &str, verdicts: &[Verdict], tier: Tier) -> String {
    let head =
        ["finding", "paper", "reference", "ours", "range", "unit", "mean over seeds", "verdict"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for verdict in verdicts {
        let number = |number: Option<f64>| number.map_or("-".to_owned(), significant);
        let range = match (verdict.lo, verdict.hi) {
            (None, None) => "-".to_owned(),
            (lo, hi) => format!(
                "{}..{}{}",
                lo.map(significant).unwrap_or_default(),
                hi.map(significant).unwrap_or_default(),
                if verdict.sign { " sign" } else { "" }
            ),
        };
        let seeds = verdict.seeds.map_or("-".to_owned(), |interval| match interval.half_width {
            Some(half_width) => format!("{} ± {half_width:.2}", significant(interval.mean)),
            None => significant(interval.mean),
        });
        rows.push(vec![
            verdict.name.clone(),
            number(verdict.paper),
            match verdict.baseline {
                Some(Span { from, to }) if from < to => {
                    format!("{}..{}", significant(from), significant(to))
                }
                Some(Span { from, .. }) => significant(from),
                None => number(verdict.reference),
            },
            number(verdict.ours),
            range,
            verdict.unit.clone(),
            seeds,
            match (verdict.holds, verdict.lo.or(verdict.hi)) {
                _ if verdict.not_judged => "not judged",
                (true, Some(_)) => "holds",
                (true, None) => "reported",
                (false, _) => verdict.missed.map_or("DOES NOT HOLD", Missed::describe),
            }
            .to_owned(),
        ]);
    }
    let mut text = format!("\n{id}: {title}{}\n", tier.describe());
    let lines = columns(&rows);
    for (line, verdict) in lines.lines().zip(std::iter::once(None).chain(verdicts.iter().map(Some)))
    {
        let is_refuted = verdict.is_some_and(|verdict| !verdict.holds);
        if is_refuted && std::io::stdout().is_terminal() {
            text += &format!("\x1b[31m{line}\x1b[0m\n");
        } else {
            text += &format!("{line}\n");
        }
    }
    let mut count = Count::default();
    count.add(verdicts);
    text + &count.line()
}

/// Up to four decimals, no trailing zeros.
fn significant(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::significant;

    #[test]
    fn numbers_are_short() {
        assert_eq!(significant(92.0), "92");
        assert_eq!(significant(1668.1248), "1668.1248");
        assert_eq!(significant(0.045_77), "0.0458");
        assert_eq!(significant(100.0), "100");
    }
}
