//! Measures of port samples.

use super::reduce::{Missing, Reduced};
use super::spec::PortFilter;
use crate::samples::{PortGroup, Sample, Samples};

/// A value of a port group's sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// Mean bytes in queues over the group's ports.
    Queue(Queues),
    /// Bytes in the queues of the fullest port.
    FullestQueue,
    /// Bytes sent since the previous sample, in percent of capacity.
    Utilisation,
}

/// A selection of a port's queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Queues {
    /// All queues.
    All,
    /// Queues for whole data packets.
    Data,
    /// Other queues.
    Headers,
}

/// Ports of a layer and direction, in one pod or all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) ports: PortFilter,
    pub(super) pod: Option<u32>,
}

/// Samples from one time to another, both included, ps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) from_ps: Option<u64>,
    pub(super) to_ps: Option<u64>,
}

/// Measures the selected samples; `None` without any.
pub(super) fn number(
    value: Value,
    samples: &Samples,
    &Group { ports, pod }: &Group,
    window: Window,
    reduce: &Reduced,
) -> Option<f64> {
    let is_meant = |group: &PortGroup| {
        group.pod == pod
            && ports.layer.is_none_or(|layer| layer == group.layer)
            && ports.direction.is_none_or(|direction| direction == group.direction)
    };
    let values = samples.samples.iter().filter_map(|sample| {
        let group = samples.groups.get(sample.group as usize).filter(|group| is_meant(group))?;
        let is_in = window.from_ps.is_none_or(|from| sample.time_ps >= from)
            && window.to_ps.is_none_or(|to| sample.time_ps <= to);
        is_in.then(|| of(value, sample, group))
    });
    reduce.of(&values.collect::<Vec<_>>(), Missing::Min)
}

fn of(value: Value, sample: &Sample, group: &PortGroup) -> Option<f64> {
    match value {
        Value::Queue(queues) => {
            let (all, data) = (sample.queue_bytes, sample.data_queue_bytes);
            let bytes = match queues {
                Queues::All => all,
                Queues::Data => data,
                Queues::Headers => all - data,
            };
            (group.ports > 0).then(|| bytes as f64 / group.ports as f64)
        }
        Value::FullestQueue => Some(sample.queue_bytes_max as f64),
        Value::Utilisation => {
            let ps = sample.time_ps.saturating_sub(sample.since_ps);
            let max = group.rate_bps as f64 * ps as f64 / 8e12;
            (max > 0.0).then(|| sample.counters.bytes as f64 / max * 100.0)
        }
    }
}
