//! A run's answers to the findings of an experiment, computed at its end, so that its record can be dropped, and stored
//! for later reproductions.

use serde::{Deserialize, Serialize};
use trimline_metrics::{Measure, RunRecord};
use trimline_sim::scenario::Run;

use crate::finding::Finding;

/// The file in a run's directory.
pub(crate) const FILE: &str = "measures.json";

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) series: String,
    pub(crate) seed: u64,
    pub(crate) point: Vec<(String, String)>,
    pub(crate) flows: usize,
    /// By finding, in their order.
    pub(crate) values: Vec<Option<f64>>,
}

#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Measures {
    flows: usize,
    measures: Vec<Answer>,
}

#[derive(Debug, Deserialize, Serialize)]
struct Answer {
    measure: Measure,
    value: Option<f64>,
}

impl Outcome {
    /// Computes the findings' answers for a run at `point` of the sweep.
    pub(crate) fn new(
        findings: &[Finding],
        point: &[(String, String)],
        record: &RunRecord,
    ) -> Outcome {
        let value = |finding: &Finding| {
            let is_asked = finding.is_asked_of(&record.series);
            if record.interrupted || !is_asked {
                return None;
            }
            finding.measure.of(record)
        };
        Outcome {
            series: record.series.clone(),
            seed: record.seed,
            point: point.to_vec(),
            flows: record.flows.len() as usize,
            values: findings.iter().map(value).collect(),
        }
    }

    /// The text of measures.json: each question once, with its answer.
    pub(crate) fn to_json(&self, findings: &[Finding]) -> String {
        let mut measures: Vec<Answer> = Vec::new();
        for (finding, &value) in findings.iter().zip(&self.values) {
            let is_known = measures.iter().any(|answer| answer.measure == finding.measure);
            if finding.is_asked_of(&self.series) && !is_known {
                measures.push(Answer { measure: finding.measure.clone(), value });
            }
        }
        let measures = Measures { flows: self.flows, measures };
        let text = serde_json::to_string_pretty(&measures).expect("measures have only string keys");
        text + "\n"
    }

    /// Reads measures.json of a run; `None` if an answer is missing.
    pub(crate) fn from_json(findings: &[Finding], run: &Run, text: &str) -> Option<Outcome> {
        Outcome::of(findings, run, &serde_json::from_str(text).ok()?)
    }

    /// Converts the answers of a run; `None` if an answer is missing.
    pub(crate) fn of(findings: &[Finding], run: &Run, measures: &Measures) -> Option<Outcome> {
        let value = |finding: &Finding| {
            if !finding.is_asked_of(&run.plan.series) {
                return Some(None);
            }
            let known = measures.measures.iter().find(|answer| answer.measure == finding.measure);
            known.map(|answer| answer.value)
        };
        Some(Outcome {
            series: run.plan.series.clone(),
            seed: run.plan.seed,
            point: run.point.clone(),
            flows: measures.flows,
            values: findings.iter().map(value).collect::<Option<_>>()?,
        })
    }

    pub(crate) fn point_without(&self, key: &str) -> Vec<&(String, String)> {
        self.point.iter().filter(|(name, _)| name != key).collect()
    }

    /// The number with which the place in the sweep over `key` begins: 950 of `950Mbps`.
    pub(crate) fn number_at(&self, key: &str) -> Option<f64> {
        let (_, label) = self.point.iter().find(|(name, _)| name == key)?;
        let end = label.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(label.len());
        label[..end].parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::Expected;
    use trimline_sim::scenario::Scenario;

    fn findings(measures: &[&str]) -> Vec<Finding> {
        let mut text = "title = \"t\"\n".to_owned();
        for (number, measure) in measures.iter().enumerate() {
            text +=
                &format!("[[finding]]\nname = \"{number}\"\nsource = \"s\"\nmeasure = {measure}\n");
        }
        Expected::parse("expected.toml", &text).unwrap().finding
    }

    #[test]
    fn an_outcome_round_trips_if_it_answers_all_findings() {
        let scenario = "topology.star.hosts = 3\nseeds = [7]\n[[workload]]\nname = \"w\"\npermutation = {}\n\
                        size = \"9KB\"\n[[series]]\nname = \"a\"\n[sweep]\nwarm = [1]\n";
        let scenario = scenario.replace("[sweep]\nwarm = [1]\n", "");
        let run = Scenario::parse("s", &scenario, &[]).unwrap().runs.remove(0);
        let slowest = "{ quantity = \"goodput\", reduce = \"min\", unit = \"Gb/s\" }";
        let last = |pair: &str| {
            format!(
                "{{ quantity = \"fct\", at = \"sender\", pair = {pair}, reduce = \"max\", unit = \"us\" }}"
            )
        };
        let first = findings(&[
            slowest,
            "{ quantity = \"hops\" }\nseries = \"b\"",
            &last("[1, 2]"),
            &format!("{slowest}\nhi = 3.0"),
        ]);
        let third = 1.0 / 3.0;
        let outcome = Outcome {
            series: "a".into(),
            seed: 7,
            point: vec![],
            flows: 3,
            values: vec![Some(third), None, None, Some(third)],
        };
        let text = outcome.to_json(&first);
        assert_eq!(text.matches("goodput").count(), 1, "{text}");
        assert_eq!(Outcome::from_json(&first, &run, &text), Some(outcome));
        // Series "b" had no question; another pair is another question.
        let other = findings(&[&last("[2, 1]")]);
        assert_eq!(Outcome::from_json(&other, &run, &text), None);
        assert_eq!(Outcome::from_json(&first, &run, "{}"), None);
    }
}
