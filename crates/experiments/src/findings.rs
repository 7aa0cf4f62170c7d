//! Reads expected.toml, the findings of a paper, and judges our runs.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use trimline_metrics::measure::Needs;
use trimline_metrics::{Measure, interval};
use trimline_sim::scenario::{Run, Scenario};

use crate::baseline::{Baseline, Missed};
use crate::failure::Failure;
pub use crate::finding::Finding;
use crate::finding::{At, OverSeeds};
use crate::outcome::Outcome;
use crate::quick::Quick;
use crate::verdicts::{Tier, Verdict};

/// The content of expected.toml, or of testbed.toml with a testbed program's measures.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected<M = Measure> {
    /// The title of the figure.
    pub title: String,
    /// Other figures and tables of the paper that these runs show, by the names that users look for.
    #[serde(default)]
    pub also: Vec<String>,
    /// Files of experiments/reference that the figure shows.
    #[serde(default)]
    pub(crate) reference_files: Vec<String>,
    #[serde(default)]
    pub(crate) quick: Quick,
    /// The findings.
    pub finding: Vec<Finding<M>>,
}

impl<M: DeserializeOwned> Expected<M> {
    /// Parses the text of `file`.
    ///
    /// # Errors
    /// Returns a mistake, with the line or the finding.
    pub fn parse(file: &str, text: &str) -> Result<Expected<M>, Failure> {
        let expected: Expected<M> = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
            Failure::message(format!("{file}:{line}: {}", error.message()))
        })?;
        for finding in &expected.finding {
            let mistake = |what: &str| {
                Failure::message(format!("{file}: finding \"{}\": {what}", finding.name))
            };
            if finding.lo.zip(finding.hi).is_some_and(|(lo, hi)| lo > hi) {
                return Err(mistake("lo is above hi"));
            }
            if expected.finding.iter().filter(|other| other.name == finding.name).count() > 1 {
                return Err(mistake("another finding has the same name"));
            }
            if let Some(what) = finding.baseline.as_ref().and_then(Baseline::mistake) {
                return Err(mistake(what));
            }
            if finding.cause.as_ref().is_some_and(|cause| cause.trim().is_empty()) {
                return Err(mistake("`cause` is empty"));
            }
            let Some(companion) = &finding.companion else { continue };
            let is_companion = |other: &&Finding<M>| {
                other.name == *companion
                    && other.companion.is_none()
                    && other.series == finding.series
                    && other.lo.or(other.hi).is_some()
            };
            if expected.finding.iter().find(is_companion).is_none() {
                return Err(mistake(
                    "`companion` names no finding of the same series with bounds and without a companion",
                ));
            }
        }
        Ok(expected)
    }
}

impl Expected {
    /// Checks that runs of this scenario can judge every finding: an unknown series would never be refuted.
    pub(crate) fn check(&self, file: &str, scenario: &Scenario) -> Result<(), Failure> {
        for finding in &self.finding {
            let asked = |run: &&Run| finding.is_asked_of(&run.plan.series);
            let mistake = |what: String| {
                Failure::message(format!("{file}: finding \"{}\": {what}", finding.name))
            };
            for series in finding.series.iter().chain(&finding.against) {
                if !scenario.runs.iter().any(|run| run.plan.series == *series) {
                    return Err(mistake(format!("the scenario has no series `{series}`")));
                }
            }
            for run in scenario.runs.iter().filter(asked) {
                let is_there = |name: &str| run.plan.workloads.iter().any(|w| w.name == name);
                if let Some(name) = finding.measure.workload().filter(|name| !is_there(name)) {
                    return Err(mistake(format!("{}: no workload `{name}`", run.name)));
                }
                let (needed, is_asked) = match finding.measure.needs() {
                    None => continue,
                    Some(Needs::Latencies) => ("latencies", run.output.latencies),
                    Some(Needs::Timeline) => ("timeline", run.plan.timeline.is_some()),
                    Some(Needs::Series) => ("series", run.plan.sample_every.is_some()),
                };
                if !is_asked {
                    return Err(mistake(format!(
                        "{}: the measure needs output.{needed} in the scenario",
                        run.name
                    )));
                }
            }
        }
        Ok(())
    }
}

impl Finding {
    pub(crate) fn unit(&self) -> &str {
        match (&self.unit, &self.against) {
            (Some(unit), _) => unit,
            (None, Some(_)) => "%",
            (None, None) => self.measure.unit(),
        }
    }

    pub(crate) fn verdict(&self, runs: &[Outcome], place: usize, tier: Tier) -> Verdict {
        self.judge(self.unit(), runs, place, tier)
    }
}

impl Finding<String> {
    /// Judges the measures of a testbed program.
    pub fn of_testbed(&self, measures: &BTreeMap<String, f64>) -> Verdict {
        let value = measures.get(&self.measure).copied().filter(|value| value.is_finite());
        let run = Outcome { values: vec![value], ..Outcome::default() };
        self.judge(self.unit.as_deref().unwrap_or_default(), &[run], 0, Tier::Full)
    }
}

impl<M> Finding<M> {
    fn is_about(&self, run: &Outcome) -> bool {
        let is_at = |(key, at): (&String, &At)| {
            run.point.iter().any(|(name, label)| name == key && at.takes(label))
        };
        self.series.as_ref().is_none_or(|series| *series == run.series)
            && self.flows.is_none_or(|flows| flows == run.flows)
            && self.flows_from.is_none_or(|flows| flows <= run.flows)
            && self.at.iter().all(is_at)
    }

    /// Seed and value of each run, or group of runs, that the finding is about.
    fn values(&self, runs: &[Outcome], place: usize) -> Option<Vec<(u64, f64)>> {
        let about: Vec<&Outcome> = runs.iter().filter(|run| self.is_about(run)).collect();
        if let Some(key) = self.spread_over.as_ref().or(self.linear_over.as_ref()) {
            return about
                .iter()
                .map(|run| {
                    let mut group = Vec::new();
                    for other in &about {
                        if other.seed == run.seed
                            && other.series == run.series
                            && other.point_without(key) == run.point_without(key)
                        {
                            group.push((other.number_at(key), other.values[place]?));
                        }
                    }
                    let of_group = match self.spread_over {
                        Some(_) => spread(&group),
                        None => straightness(&group),
                    };
                    Some((run.seed, of_group?))
                })
                .collect();
        }
        about
            .iter()
            .map(|run| {
                let value = run.values[place]?;
                let Some(series) = &self.against else { return Some((run.seed, value)) };
                let same = |other: &&Outcome| {
                    other.series == *series && other.seed == run.seed && other.point == run.point
                };
                let base = runs.iter().find(same)?.values[place]?;
                (base != 0.0).then(|| (run.seed, (value / base - 1.0) * 100.0))
            })
            .collect()
    }

    /// A run without a value, or no run, refutes the finding: an experiment that did not happen confirms nothing. Only
    /// the quick tier and a partial run may lack runs; the quick tier lacks seeds for a mean, min or max.
    fn judge(&self, unit: &str, runs: &[Outcome], place: usize, tier: Tier) -> Verdict {
        let is_of_all = match self.over_seeds {
            OverSeeds::Each => false,
            OverSeeds::Mean | OverSeeds::Min | OverSeeds::Max => self.lo.or(self.hi).is_some(),
        };
        let has_runs = runs.iter().any(|run| self.is_about(run));
        let not_judged = match tier {
            Tier::Full => false,
            Tier::Quick => is_of_all || !has_runs,
            Tier::Partial => {
                let has = |series: &String| runs.iter().any(|run| run.series == *series);
                self.series.is_none() || !has_runs || !self.against.iter().all(has)
            }
        };
        let values = self.values(runs, place);
        let values = values.unwrap_or_default();
        let all: Vec<f64> = values.iter().map(|&(_, value)| value).collect();
        let mut seeds: Vec<u64> = values.iter().map(|&(seed, _)| seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        let of_seeds: Vec<f64> = seeds
            .iter()
            .filter_map(|&seed| {
                let own =
                    values.iter().filter(|&&(other, _)| other == seed).map(|&(_, value)| value);
                self.worst(&own.collect::<Vec<_>>())
            })
            .collect();
        let ours = match self.over_seeds {
            OverSeeds::Each => self.worst(&all),
            OverSeeds::Mean => interval(&of_seeds).map(|interval| interval.mean),
            OverSeeds::Min => all.iter().copied().min_by(f64::total_cmp),
            OverSeeds::Max => all.iter().copied().max_by(f64::total_cmp),
        };
        let holds = ours.is_some_and(|ours| {
            self.lo.is_none_or(|lo| ours >= lo) && self.hi.is_none_or(|hi| ours <= hi)
        });
        let baseline = self.span_of_baseline();
        let is_missed = !holds && !not_judged;
        // A miss without a value, as of flows that never end, has a cause as well.
        let missed = if is_missed {
            ours.and_then(|ours| {
                Missed::of(ours, [self.lo, self.hi], self.baseline.as_ref(), baseline)
            })
            .or(self.cause.as_ref().map(|_| Missed::CauseKnown))
        } else {
            None
        };
        Verdict {
            name: self.name.clone(),
            paper: self.paper,
            reference: self.reference,
            baseline: baseline.filter(|_| self.baseline.is_some()),
            ours,
            lo: self.lo,
            hi: self.hi,
            sign: self.is_sign(),
            unit: unit.to_owned(),
            holds: holds || not_judged,
            not_judged,
            missed,
            seeds: interval(&of_seeds),
        }
    }

    /// The value closest to a bound, or beyond it. Without bounds the mean.
    fn worst(&self, values: &[f64]) -> Option<f64> {
        let room = |value: f64| {
            let below = self.lo.map_or(f64::INFINITY, |lo| value - lo);
            let above = self.hi.map_or(f64::INFINITY, |hi| hi - value);
            below.min(above)
        };
        if self.lo.is_none() && self.hi.is_none() {
            return interval(values).map(|interval| interval.mean);
        }
        values.iter().copied().min_by(|&a, &b| room(a).total_cmp(&room(b)))
    }
}

/// Max minus min.
fn spread(group: &[(Option<f64>, f64)]) -> Option<f64> {
    let values = || group.iter().map(|&(_, value)| value);
    let largest = values().fold(f64::NEG_INFINITY, f64::max);
    (group.len() > 1).then(|| largest - values().fold(f64::INFINITY, f64::min))
}

/// Share of the values' variance that a straight line over their places explains.
fn straightness(group: &[(Option<f64>, f64)]) -> Option<f64> {
    let points =
        group.iter().map(|&(place, value)| Some((place?, value))).collect::<Option<Vec<_>>>()?;
    let count = points.len() as f64;
    let mean = |of: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(&|point| point.0), mean(&|point| point.1));
    let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
        points.iter().map(|point| of(point.0 - x, point.1 - y)).sum()
    };
    let (xx, xy, yy) = (sum(&|x, _| x * x), sum(&|x, y| x * y), sum(&|_, y| y * y));
    (points.len() > 2 && xx > 0.0 && yy > 0.0).then(|| xy * xy / (xx * yy))
}

#[cfg(test)]
mod dead;
#[cfg(test)]
mod tests;
