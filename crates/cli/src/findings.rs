//! expected.toml: what a paper found, with bounds, and whether our runs agree.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use trimline_metrics::{Interval, Measure, Selection, interval};

use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::quick::Quick;

/// expected.toml.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expected {
    pub(crate) title: String,
    /// Files of experiments/reference that belong into the figure.
    #[serde(default)]
    pub(crate) reference_files: Vec<String>,
    /// What the quick tier runs.
    #[serde(default)]
    pub(crate) quick: Quick,
    pub(crate) finding: Vec<Finding>,
}

/// One finding. It holds when the measure of every run that it is about lies within the bounds, or
/// its mean over the seeds.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Finding {
    pub(crate) name: String,
    /// Where it stands, or how it follows.
    #[allow(
        dead_code,
        reason = "for the reader of the file; required, so that no bound lacks one"
    )]
    pub(crate) source: String,
    /// Series of the scenario; all without it.
    pub(crate) series: Option<String>,
    pub(crate) measure: String,
    /// Only flows of this workload.
    workload: Option<String>,
    /// Only flows from the first to the second host.
    pair: Option<[u32; 2]>,
    /// Only flows that began before this time.
    started_before_us: Option<u64>,
    /// Of a timeline, only what is about this port or host.
    place: Option<String>,
    /// Only runs with this many flows.
    flows: Option<usize>,
    /// Only runs with at least this many flows.
    flows_from: Option<usize>,
    /// Only runs at these places of the sweep: key, and value or range.
    #[serde(default)]
    at: BTreeMap<String, At>,
    /// Not the measure itself, but the largest less the smallest among runs that differ in this key of
    /// the sweep alone.
    spread_over: Option<String>,
    /// Not the measure itself, but by how many percent it exceeds that of this series, at the same
    /// place of the sweep and with the same seed.
    against: Option<String>,
    pub(crate) unit: String,
    /// Whether every seed must hold, or the mean over the seeds.
    #[serde(default)]
    over_seeds: OverSeeds,
    /// What the paper says.
    pub(crate) paper: Option<f64>,
    /// What the authors' files say.
    pub(crate) reference: Option<f64>,
    pub(crate) lo: Option<f64>,
    pub(crate) hi: Option<f64>,
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
    from: Option<i64>,
    to: Option<i64>,
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
enum OverSeeds {
    /// Every seed holds.
    #[default]
    Each,
    /// The mean over the seeds holds.
    Mean,
}

/// Whether all runs of an experiment were run, or some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tier {
    Full,
    Quick,
}

fn is_of_one_seed(seeds: &Option<Interval>) -> bool {
    seeds.is_none_or(|seeds| seeds.count < 2)
}

/// A finding and what our runs say about it: the machine-readable form.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Verdict {
    pub(crate) name: String,
    pub(crate) paper: Option<f64>,
    pub(crate) reference: Option<f64>,
    /// Of all runs, the value nearest to breaking a bound or furthest beyond it; without bounds the
    /// mean. `None` when a run has no such value.
    pub(crate) ours: Option<f64>,
    pub(crate) lo: Option<f64>,
    pub(crate) hi: Option<f64>,
    pub(crate) unit: String,
    pub(crate) holds: bool,
    /// The quick tier has none of the runs that it is about, or too few seeds for a mean.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) not_judged: bool,
    /// Each seed's value, over seeds, where there are several.
    #[serde(skip_serializing_if = "is_of_one_seed")]
    pub(crate) seeds: Option<Interval>,
}

impl Expected {
    /// Reads expected.toml.
    pub(crate) fn parse(file: &str, text: &str) -> Result<Expected, Failure> {
        let expected: Expected = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
            Failure::message(format!("{file}:{line}: {}", error.message()))
        })?;
        for finding in &expected.finding {
            if Measure::named(&finding.measure).is_none() {
                let names: Vec<&str> = Measure::names().collect();
                return Err(Failure::message(format!(
                    "{file}: finding \"{}\": no measure `{}`; expected one of {}",
                    finding.name,
                    finding.measure,
                    names.join(", ")
                )));
            }
            if let (Some(lo), Some(hi)) = (finding.lo, finding.hi)
                && lo > hi
            {
                return Err(Failure::message(format!(
                    "{file}: finding \"{}\": lo is above hi",
                    finding.name
                )));
            }
        }
        Ok(expected)
    }
}

impl Finding {
    /// Whether it is about runs of this series, or compares with them.
    pub(crate) fn is_asked_of(&self, series: &str) -> bool {
        self.series.as_deref().is_none_or(|own| own == series)
            || self.against.as_deref() == Some(series)
    }

    /// What of a run it is about.
    pub(crate) fn selection(&self) -> Selection {
        Selection {
            workload: self.workload.clone(),
            pair: self.pair.map(|[source, destination]| (source, destination)),
            started_before_ps: self.started_before_us.map(|us| us.saturating_mul(1_000_000)),
            place: self.place.clone(),
        }
    }

    fn is_about(&self, run: &Outcome) -> bool {
        let is_at = |(key, at): (&String, &At)| {
            run.point.iter().any(|(name, label)| name == key && at.takes(label))
        };
        self.series.as_ref().is_none_or(|series| *series == run.series)
            && self.flows.is_none_or(|flows| flows == run.flows)
            && self.flows_from.is_none_or(|flows| flows <= run.flows)
            && self.at.iter().all(is_at)
    }

    /// Seed and number of each run, or group of runs, that the finding is about.
    fn values(&self, runs: &[Outcome], place: usize) -> Option<Vec<(u64, f64)>> {
        let about: Vec<&Outcome> = runs.iter().filter(|run| self.is_about(run)).collect();
        if let Some(key) = &self.spread_over {
            return about
                .iter()
                .map(|run| {
                    let mut group = Vec::new();
                    for other in &about {
                        if other.seed == run.seed
                            && other.series == run.series
                            && other.point_without(key) == run.point_without(key)
                        {
                            group.push(other.values[place]?);
                        }
                    }
                    let largest = group.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    let smallest = group.iter().copied().fold(f64::INFINITY, f64::min);
                    (group.len() > 1).then_some((run.seed, largest - smallest))
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

    /// What the runs say; `place` is the finding's own among the findings. A run without a value, or
    /// no run at all, refutes the finding: an experiment that did not happen confirms nothing. Only the quick
    /// tier may have none of its runs, and it has not the seeds that a mean is over.
    pub(crate) fn verdict(&self, runs: &[Outcome], place: usize, tier: Tier) -> Verdict {
        let is_mean = self.over_seeds == OverSeeds::Mean && self.lo.or(self.hi).is_some();
        let not_judged =
            tier == Tier::Quick && (is_mean || !runs.iter().any(|run| self.is_about(run)));
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
        };
        let holds = ours.is_some_and(|ours| {
            self.lo.is_none_or(|lo| ours >= lo) && self.hi.is_none_or(|hi| ours <= hi)
        });
        Verdict {
            name: self.name.clone(),
            paper: self.paper,
            reference: self.reference,
            ours,
            lo: self.lo,
            hi: self.hi,
            unit: self.unit.clone(),
            holds: holds || not_judged,
            not_judged,
            seeds: interval(&of_seeds),
        }
    }

    /// The value with the least room to a bound. Without bounds the mean.
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

#[cfg(test)]
mod tests {
    use super::*;
    use trimline_metrics::{FlowEnd, FlowRecord, RunRecord};

    fn record(seed: u64, fcts_us: &[Option<u64>]) -> RunRecord {
        let flows = fcts_us.iter().zip(1..).map(|(fct, source)| FlowRecord {
            workload: "w".into(),
            index: 0,
            source,
            destination: 0,
            size_bytes: Some(9000),
            start_ps: 0,
            fct_receiver_ps: fct.map(|us| us * 1_000_000),
            fct_sender_ps: None,
            ideal_fct_ps: None,
            delivered_bytes: 0,
            measured_bytes: 0,
            packets_sent: 0,
            retransmissions_signalled: 0,
            retransmissions_return: 0,
            retransmissions_timeout: 0,
            trims: 0,
            returns: 0,
            timeouts: 0,
            path_removals: 0,
            path_restorations: 0,
            end: FlowEnd::Delivered,
        });
        RunRecord {
            samples: Default::default(),
            series: "ndp".to_owned(),
            seed,
            flows: flows.collect(),
            latencies: Vec::new(),
            timeline: Default::default(),
            ports: Vec::new(),
            simulated_ps: 1,
            measured_ps: 1,
            packet_hops: 1,
            packets_delivered: 1,
            interrupted: false,
        }
    }

    fn verdict(bounds: &str, records: &[RunRecord]) -> Verdict {
        let text = format!(
            "title = \"t\"\n[[finding]]\nname = \"n\"\nsource = \"s\"\nunit = \"us\"\n\
             measure = \"last_fct_receiver_us\"\n{bounds}"
        );
        let findings = Expected::parse("expected.toml", &text).unwrap().finding;
        let runs: Vec<Outcome> =
            records.iter().map(|record| Outcome::new(&findings, &[], record)).collect();
        findings[0].verdict(&runs, 0, Tier::Full)
    }

    /// Runs of series "ndp" and "other" at places of a sweep, each with the FCT of its only flow.
    fn swept(bounds: &str, runs: &[(&str, &str, &str, u64)]) -> Verdict {
        let text = format!(
            "title = \"t\"\n[[finding]]\nname = \"n\"\nsource = \"s\"\nunit = \"us\"\n\
             measure = \"last_fct_receiver_us\"\n{bounds}"
        );
        let findings = Expected::parse("expected.toml", &text).unwrap().finding;
        let runs: Vec<Outcome> = runs
            .iter()
            .map(|&(series, window, queue, fct)| {
                let point =
                    [("window".to_owned(), window.to_owned()), ("queue".to_owned(), queue.into())];
                let mut record = record(1, &[Some(fct)]);
                record.series = series.to_owned();
                Outcome::new(&findings, &point, &record)
            })
            .collect();
        findings[0].verdict(&runs, 0, Tier::Full)
    }

    #[test]
    fn places_of_a_sweep_are_selected() {
        let runs = [("ndp", "1", "6pkt", 10), ("ndp", "15", "6pkt", 20), ("ndp", "30", "8pkt", 40)];
        let ours = |bounds: &str| swept(&format!("hi = 99.0\n{bounds}"), &runs).ours;
        assert_eq!(ours("at.window = 15"), Some(20.0));
        assert_eq!(ours("at.window = { to = 15 }"), Some(20.0));
        assert_eq!(ours("at.window = { from = 16 }"), Some(40.0));
        assert_eq!(ours("at.window = { from = 15, to = 15 }"), Some(20.0));
        assert_eq!(ours("at.queue = \"6pkt\""), Some(20.0));
        assert_eq!(ours("at.window = 2"), None);
        assert_eq!(ours("at.other = 15"), None);
    }

    #[test]
    fn a_spread_is_within_runs_that_differ_in_one_key() {
        let runs = [
            ("ndp", "1", "6pkt", 10),
            ("ndp", "1", "8pkt", 13),
            ("ndp", "2", "6pkt", 50),
            ("ndp", "2", "8pkt", 54),
        ];
        assert_eq!(swept("hi = 5.0\nspread_over = \"queue\"", &runs).ours, Some(4.0));
        assert!(!swept("hi = 3.9\nspread_over = \"queue\"", &runs).holds);
        assert_eq!(swept("hi = 5.0\nspread_over = \"queue\"", &runs[..1]).ours, None);
    }

    #[test]
    fn a_series_is_compared_with_another_at_the_same_place() {
        let runs = [
            ("other", "1", "6pkt", 100),
            ("other", "2", "6pkt", 200),
            ("ndp", "1", "6pkt", 101),
            ("ndp", "2", "6pkt", 199),
        ];
        let finding = "series = \"ndp\"\nagainst = \"other\"\n";
        let worst = swept(&format!("{finding}lo = -2.0\nhi = 2.0"), &runs);
        assert!((worst.ours.unwrap() - 1.0).abs() < 1e-9 && worst.holds);
        assert!(!swept(&format!("{finding}hi = 0.9"), &runs).holds);
        assert_eq!(swept(&format!("{finding}hi = 0.9"), &runs[1..]).ours, None);
    }

    #[test]
    fn every_run_must_hold_and_the_worst_is_shown() {
        let records = [record(1, &[Some(10), Some(20)]), record(2, &[Some(30)])];
        let upper = verdict("hi = 30.0", &records);
        assert_eq!((upper.ours, upper.holds), (Some(30.0), true));
        assert_eq!(upper.seeds.unwrap().mean, 25.0);
        assert!(!verdict("hi = 29.9", &records).holds);
        let lower = verdict("lo = 20.0", &records);
        assert_eq!((lower.ours, lower.holds), (Some(20.0), true));
        assert!(!verdict("lo = 20.1", &records).holds);
        assert_eq!(verdict("lo = 10.0\nhi = 31.0", &records).ours, Some(30.0));
        assert!(!verdict("lo = 21.0\nhi = 100.0", &records).holds);
        assert_eq!(verdict("", &records).ours, Some(25.0));
    }

    #[test]
    fn several_seeds_have_a_mean_and_an_interval_in_the_machine_readable_form() {
        let records = [10, 20, 30].map(|us| record(us, &[Some(us)]));
        let of =
            |records: &[RunRecord]| serde_json::to_value(verdict("hi = 99.0", records)).unwrap();
        let seeds = &of(&records)["seeds"];
        assert_eq!((&seeds["mean"], &seeds["count"]), (&20.0.into(), &3.into()));
        // Student's t of two degrees of freedom: 4.303 x 10 / sqrt 3.
        assert!((seeds["half_width"].as_f64().unwrap() - 24.843).abs() < 1e-3, "{seeds}");
        assert!(of(&records[..1]).as_object().unwrap().get("seeds").is_none());
    }

    #[test]
    fn the_mean_over_the_seeds_may_hold_where_a_seed_does_not() {
        let records = [record(1, &[Some(20)]), record(2, &[Some(30)])];
        let mean = verdict("hi = 25.0\nover_seeds = \"mean\"", &records);
        assert_eq!((mean.ours, mean.holds), (Some(25.0), true));
        assert!(!verdict("hi = 24.9\nover_seeds = \"mean\"", &records).holds);
        assert!(!verdict("hi = 25.0", &records).holds);
    }

    #[test]
    fn what_was_not_measured_does_not_hold() {
        let unfinished = [record(1, &[Some(10)]), record(2, &[Some(10), None])];
        let missing = verdict("hi = 30.0", &unfinished);
        assert_eq!((missing.ours, missing.holds), (None, false));
        assert!(!verdict("", &unfinished).holds);
        assert!(!verdict("hi = 30.0\nseries = \"other\"", &unfinished).holds);
        assert!(!verdict("hi = 30.0\nflows = 7", &unfinished).holds);
        assert!(verdict("hi = 30.0\nflows = 1", &unfinished).holds);
        assert!(!verdict("hi = 30.0\nflows_from = 2", &unfinished).holds);
        let mut stopped = record(1, &[Some(10)]);
        stopped.interrupted = true;
        assert!(!verdict("hi = 30.0", &[stopped]).holds);
    }

    #[test]
    fn the_quick_tier_may_lack_runs_but_no_value() {
        let text = "title = \"t\"\n[[finding]]\nname = \"n\"\nsource = \"s\"\nunit = \"us\"\n\
                    measure = \"last_fct_receiver_us\"\nhi = 30.0\n";
        let quick = |more: &str, record: &RunRecord| {
            let findings = Expected::parse("e", &format!("{text}{more}")).unwrap().finding;
            let verdict =
                findings[0].verdict(&[Outcome::new(&findings, &[], record)], 0, Tier::Quick);
            (verdict.not_judged, verdict.holds, verdict.ours)
        };
        let (ended, unfinished) = (record(1, &[Some(10)]), record(1, &[Some(10), None]));
        assert_eq!(quick("series = \"other\"", &ended), (true, true, None));
        assert_eq!(quick("flows = 7", &ended), (true, true, None));
        assert_eq!(quick("", &ended), (false, true, Some(10.0)));
        assert_eq!(quick("", &unfinished), (false, false, None));
        assert_eq!(quick("lo = 11.0", &ended), (false, false, Some(10.0)));
        assert_eq!(quick("lo = 11.0\nover_seeds = \"mean\"", &ended), (true, true, Some(10.0)));
        assert_eq!(quick("against = \"other\"", &ended), (false, false, None));
    }

    #[test]
    fn flows_are_selected() {
        let records = [record(1, &[Some(10), Some(20)])];
        assert_eq!(verdict("hi = 30.0\npair = [1, 0]", &records).ours, Some(10.0));
        assert_eq!(verdict("hi = 30.0\nworkload = \"x\"", &records).ours, None);
    }

    #[test]
    fn mistakes_in_expected_toml_are_named() {
        let refused = |text: &str| match Expected::parse("expected.toml", text) {
            Err(Failure::Message(message)) => message,
            other => panic!("{other:?}"),
        };
        assert!(refused("titel = \"t\"").starts_with("expected.toml:1: unknown field `titel`"));
        let finding = "title = \"t\"\n[[finding]]\nname = \"n\"\nsource = \"s\"\nunit = \"us\"\n";
        let message = refused(&format!("{finding}measure = \"speed\""));
        assert!(message.contains("no measure `speed`"), "{message}");
    }
}
