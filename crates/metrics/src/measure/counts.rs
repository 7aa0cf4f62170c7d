//! Measures that are counts or ratios of counts.

use super::flows::Selection;
use super::spec::PortFilter;
use crate::flow::{FlowEnd, FlowRecord};
use crate::record::{PortRecord, RunRecord};

/// A count.
#[derive(Clone, Debug)]
pub(super) enum Count {
    /// Sum over the selected flows.
    Flows(fn(&FlowRecord) -> u64),
    /// DATA packets of the run that arrived whole, without duplicates.
    PacketsDelivered,
    /// Packets of the run that left a link.
    Hops,
    /// Sum over these ports.
    Ports(fn(&PortRecord) -> u64, Vec<PortFilter>),
    /// Sum over all other ports.
    Beyond(fn(&PortRecord) -> u64, PortFilter),
}

/// The divisor of a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Per {
    /// DATA packets that the selected flows sent, minus those counted at excluded ports.
    PacketsSent,
    /// DATA packets of the run that arrived whole.
    PacketsDelivered,
    /// Headers of DATA packets that arrived at receivers or back at senders.
    Headers,
    /// Payload bytes of selected sized flows that were started.
    Bytes,
    /// Retransmissions after returned headers, at least one: without any, the ratio is the count itself.
    Returns,
}

pub(super) fn number(
    of: &Count,
    per: Option<&Per>,
    scale: f64,
    record: &RunRecord,
    flows: &Selection,
) -> Option<f64> {
    let total = |of: fn(&FlowRecord) -> u64| {
        let each = flows.each(record, of);
        (!each.is_empty()).then(|| each.iter().sum::<u64>())
    };
    let mut left_out = 0;
    let count = match of {
        Count::Flows(of) => total(*of)?,
        Count::PacketsDelivered => record.packets_delivered,
        Count::Hops => record.packet_hops,
        Count::Ports(of, filters) => at(record, *of, |port| takes(filters, port))?,
        Count::Beyond(of, filter) => {
            left_out = at(record, *of, |port| filter.takes(&port.place))?;
            at(record, *of, |port| !filter.takes(&port.place))?
        }
    };
    let Some(per) = per else { return Some(count as f64 / scale) };
    let whole = match per {
        Per::PacketsSent => total(|flow| flow.packets_sent)?.saturating_sub(left_out),
        Per::PacketsDelivered => record.packets_delivered,
        Per::Headers => total(|flow| flow.trims + flow.returns)?,
        Per::Bytes => total(started_bytes)?,
        Per::Returns => total(|flow| flow.retransmissions_return)?.max(1),
    };
    (whole > 0).then(|| count as f64 / whole as f64 * scale)
}

/// Payload bytes of a started, sized flow, else 0.
fn started_bytes(flow: &FlowRecord) -> u64 {
    flow.size_bytes.filter(|_| flow.end != FlowEnd::NotStarted).unwrap_or(0)
}

/// Undelivered payload bytes of a started, sized flow.
pub(super) fn missing_bytes(flow: &FlowRecord) -> u64 {
    started_bytes(flow).saturating_sub(flow.delivered_bytes)
}

/// True if any filter takes the port, or without filters.
pub(super) fn takes(filters: &[PortFilter], port: &PortRecord) -> bool {
    filters.is_empty() || filters.iter().any(|filter| filter.takes(&port.place))
}

/// Sums a counter over ports; `None` without such ports.
fn at(
    record: &RunRecord,
    of: fn(&PortRecord) -> u64,
    wanted: impl Fn(&PortRecord) -> bool,
) -> Option<u64> {
    let mut counts = record.ports.iter().filter(|port| wanted(port)).map(of).peekable();
    counts.peek().is_some().then(|| counts.sum())
}
