//! Measures: one number of one run, as findings use them.
//!
//! A measure is data: quantity, selection, and reduction of many values to one. It is parsed from a table such as
//! `{ quantity = "fct", at = "receiver", size_bytes = { below = 10_000 }, reduce = "p99.9", unit = "us" }`.
//! Meaningless keys and combinations are refused. Rates and ideal times come from the record.

mod counts;
mod events;
mod flows;
mod hosts;
mod parse;
mod paths;
mod ports;
mod reduce;
mod samples;
mod spec;

use serde::{Deserialize, Serialize};

use crate::record::RunRecord;
use reduce::Reduced;

pub use spec::{Groups, OneOrMore, PortFilter, Sizes, Spec, Within};

/// One number of a run.
///
/// ```
/// use trimline_metrics::Measure;
///
/// let text = r#"{ "quantity": "fct", "at": "receiver", "reduce": "p99", "unit": "us" }"#;
/// let measure: Measure = serde_json::from_str(text).unwrap();
/// assert_eq!((measure.unit(), measure.needs()), ("us", None));
///
/// let wrong = text.replace("p99", "p999");
/// let error = serde_json::from_str::<Measure>(&wrong).unwrap_err();
/// assert!(error.to_string().contains("no `reduce` is named `p999`"), "{error}");
/// ```
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(try_from = "Spec", into = "Spec")]
pub struct Measure {
    spec: Spec,
    of: Of,
}

/// An optional output that a measure needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// `output.latencies`.
    Latencies,
    /// `output.timeline`.
    Timeline,
    /// `output.series`.
    Series,
}

/// A parsed measure.
#[derive(Clone, Debug)]
enum Of {
    /// A value per flow.
    Flows { value: flows::Value, flows: flows::Selection, groups: Option<Groups>, reduce: Reduced },
    /// A time per query: until its last answer.
    Queries { flows: flows::Selection, reduce: Reduced },
    /// Excess of the last flow over the ideal of its receiver's link, in percent.
    IncastOverhead { flows: flows::Selection },
    /// A count, or a ratio of counts.
    Count { of: counts::Count, per: Option<counts::Per>, scale: f64, flows: flows::Selection },
    /// A value per port.
    Ports { value: ports::Value, ports: Vec<PortFilter>, reduce: Reduced },
    /// A value between transport and link, of one host or all.
    Hosts { value: hosts::Value, host: Option<u32>, scale: f64, flows: flows::Selection },
    /// Packet latencies.
    Latency { later: bool, reduce: Reduced },
    /// A value of timeline events.
    Events { value: events::Value, place: Option<String> },
    /// A value per sample of a port group.
    Samples {
        value: samples::Value,
        ports: samples::Group,
        window: samples::Window,
        reduce: Reduced,
    },
    /// Path lengths of data packets.
    Paths { value: paths::Value, workload: Option<String>, sizes: Option<Sizes> },
}

impl PartialEq for Measure {
    fn eq(&self, other: &Measure) -> bool {
        self.spec == other.spec
    }
}

impl TryFrom<Spec> for Measure {
    type Error = String;
    fn try_from(spec: Spec) -> Result<Measure, String> {
        let of = parse::of(&spec)?;
        Ok(Measure { spec, of })
    }
}

impl From<Measure> for Spec {
    fn from(measure: Measure) -> Spec {
        measure.spec
    }
}

impl Measure {
    /// Computes the number. `None` without values or if a needed value is missing: unfinished flows are not fast.
    pub fn of(&self, record: &RunRecord) -> Option<f64> {
        if record.flows.is_empty() {
            return None;
        }
        match &self.of {
            Of::Flows { value, flows, groups: None, reduce } => {
                flows::number(*value, record, flows, reduce)
            }
            Of::Flows { value, flows, groups: Some(groups), reduce } => {
                flows::mean_of_groups(*value, record, flows, groups, reduce)
            }
            Of::Queries { flows, reduce } => flows::of_queries(record, flows, reduce),
            Of::IncastOverhead { flows } => flows::incast_overhead(record, flows),
            Of::Count { of, per, scale, flows } => {
                counts::number(of, per.as_ref(), *scale, record, flows)
            }
            Of::Ports { value, ports, reduce } => ports::number(*value, record, ports, reduce),
            Of::Hosts { value, host, scale, flows } => {
                hosts::number(*value, *host, *scale, record, flows)
            }
            Of::Latency { later, reduce } => events::latency(record, *later, reduce),
            Of::Events { value, place } => {
                events::number(value, &record.timeline, place.as_deref())
            }
            Of::Paths { value, workload, sizes } => {
                paths::number(*value, &record.paths, workload.as_deref(), *sizes)
            }
            Of::Samples { value, ports, window, reduce } => {
                samples::number(*value, &record.samples, ports, *window, reduce)
            }
        }
    }

    /// Unit for people: "us", "%", "packets"; empty for a plain number.
    pub fn unit(&self) -> &str {
        parse::unit_of(&self.spec, &self.of)
    }

    /// Workload of the measured flows, if restricted to one.
    pub fn workload(&self) -> Option<&str> {
        self.spec.workload.as_deref()
    }

    /// Output that the scenario must request.
    pub fn needs(&self) -> Option<Needs> {
        match &self.of {
            Of::Flows { .. }
            | Of::Queries { .. }
            | Of::IncastOverhead { .. }
            | Of::Count { .. }
            | Of::Ports { .. }
            | Of::Hosts { .. }
            | Of::Paths { .. } => None,
            Of::Latency { .. } => Some(Needs::Latencies),
            Of::Events { .. } => Some(Needs::Timeline),
            Of::Samples { .. } => Some(Needs::Series),
        }
    }
}

#[cfg(test)]
mod tests;
