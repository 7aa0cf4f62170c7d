//! Measures between transports and links of hosts.

use super::flows::Selection;
use crate::flow::FlowRecord;
use crate::record::{HostCounters, HostRecord, RunRecord};

/// A value of one host or all.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    /// Processor time over the measured interval, in percent of one processor.
    Load(Side),
    /// Payload received over packets sent, both in the measured interval: bytes per ACK of a host that only answers.
    BytesAnAnswer,
    /// A counter.
    Counter(fn(&HostCounters) -> u64),
}

/// Kind of processor work.
#[derive(Clone, Copy, Debug)]
pub(super) enum Side {
    Receiving,
    Sending,
}

impl Side {
    fn time_of(self) -> fn(&HostCounters) -> u64 {
        match self {
            Side::Receiving => |host| host.receiving_ps,
            Side::Sending => |host| host.sending_ps,
        }
    }
}

/// Measures one host or all; `None` without such hosts or packets.
pub(super) fn number(
    value: Value,
    host: Option<u32>,
    scale: f64,
    record: &RunRecord,
    flows: &Selection,
) -> Option<f64> {
    let is_meant = |number: u32| host.is_none_or(|host| host == number);
    let hosts: Vec<&HostRecord> =
        record.hosts.iter().filter(|record| is_meant(record.host)).collect();
    if hosts.is_empty() {
        return None;
    }
    let sum =
        |of: fn(&HostCounters) -> u64| hosts.iter().map(|host| of(&host.counters)).sum::<u64>();
    let measured =
        |of: fn(&HostCounters) -> u64| hosts.iter().map(|host| host.measured(of)).sum::<u64>();
    let over = |count: u64, whole: u64| (whole > 0).then(|| count as f64 / whole as f64);
    match value {
        Value::Load(side) => {
            over(measured(side.time_of()), record.measured_ps * hosts.len() as u64)
                .map(|share| 100.0 * share)
        }
        Value::BytesAnAnswer => {
            let arrived = |flow: &FlowRecord| match is_meant(flow.destination) {
                true => flow.measured_bytes,
                false => 0,
            };
            let bytes = flows.each(record, arrived).iter().sum();
            over(bytes, measured(|host| host.sent)).map(|bytes| bytes / scale)
        }
        Value::Counter(of) => Some(sum(of) as f64 / scale),
    }
}
