//! Measures of switch ports.

use std::collections::BTreeMap;

use super::counts::takes;
use super::reduce::{Missing, Reduced, Reduction};
use super::spec::PortFilter;
use crate::record::{PortRecord, RunRecord};
use crate::statistics::mean;

/// A value of a port.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    /// A counter.
    Counter(fn(&PortRecord) -> u64),
    /// Bytes sent, headers and control packets included, in percent of the link's capacity in the whole run.
    Utilisation,
}

/// Measures the selected ports; `None` without any.
pub(super) fn number(
    value: Value,
    record: &RunRecord,
    filters: &[PortFilter],
    reduce: &Reduced,
) -> Option<f64> {
    let ports: Vec<&PortRecord> = record.ports.iter().filter(|port| takes(filters, port)).collect();
    if reduce.reduction == Reduction::MinOfSwitch {
        return min_of_switch(value, record, &ports);
    }
    match (value, reduce.reduction) {
        // The mean is over all links together: bytes sent over capacity.
        (Value::Utilisation, Reduction::Mean) => {
            let bytes: u64 = ports.iter().map(|port| port.bytes).sum();
            let max = capacity(record, &ports);
            (max > 0.0).then(|| bytes as f64 / max * 100.0)
        }
        (Value::Utilisation | Value::Counter(_), _) => {
            reduce.of(&values(value, record, &ports), Missing::Min)
        }
    }
}

fn values(value: Value, record: &RunRecord, ports: &[&PortRecord]) -> Vec<Option<f64>> {
    let of = |port: &&PortRecord| match value {
        Value::Counter(of) => Some(of(port) as f64),
        Value::Utilisation => {
            let max = capacity(record, &[port]);
            (max > 0.0).then(|| port.bytes as f64 / max * 100.0)
        }
    };
    ports.iter().map(of).collect()
}

/// Capacity of these links in the whole run, in bytes.
fn capacity(record: &RunRecord, ports: &[&PortRecord]) -> f64 {
    let mut by_rate: BTreeMap<u64, u32> = BTreeMap::new();
    for port in ports {
        *by_rate.entry(port.rate_bps).or_default() += 1;
    }
    let of_rate = |(&bps, &count): (&u64, &u32)| {
        let ps_per_byte = 8e12 / bps as f64;
        record.simulated_ps as f64 / ps_per_byte * f64::from(count)
    };
    by_rate.iter().filter(|(bps, _)| **bps > 0).map(of_rate).sum()
}

/// Per switch, min/mean over its selected ports, in percent; then the minimum over switches that sent. A switch's ports
/// are adjacent in the record.
fn min_of_switch(value: Value, record: &RunRecord, ports: &[&PortRecord]) -> Option<f64> {
    let is_same = |a: &&PortRecord, b: &&PortRecord| {
        (a.place.layer, a.place.switch) == (b.place.layer, b.place.switch)
    };
    let shares = ports.chunk_by(is_same).filter_map(|ports| {
        let values: Vec<f64> = values(value, record, ports).into_iter().flatten().collect();
        let mean = mean(&values).filter(|mean| *mean > 0.0)?;
        Some(values.iter().copied().fold(f64::INFINITY, f64::min) / mean * 100.0)
    });
    shares.min_by(f64::total_cmp)
}
