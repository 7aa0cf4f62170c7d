//! Measures of flows.

use std::collections::BTreeMap;

use super::reduce::{Missing, Reduced, Reduction, UnitOf};
use super::spec::{Groups, Sizes};
use crate::flow::FlowRecord;
use crate::record::RunRecord;

/// A selection of flows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Selection {
    /// Only this workload.
    pub(super) workload: Option<String>,
    /// Only from this source to this destination.
    pub(super) pair: Option<[u32; 2]>,
    /// Only flows that began before this time. Flows under way at the end of a run are mostly slow.
    pub(super) started_before_ps: Option<u64>,
    /// Only these sizes.
    pub(super) sizes: Option<Sizes>,
}

/// A value of a flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    /// FCT at the receiver, ps.
    FctReceiver,
    /// FCT at the sender, ps.
    FctSender,
    /// FCT at the receiver minus the ideal, ps: the wait of a single-packet flow.
    Waiting,
    /// FCT at the receiver over the ideal.
    Slowdown,
    /// FCT at the sender over the ideal there.
    SlowdownSender,
    /// Goodput, Gb/s.
    Goodput,
    /// Goodput in percent of a host link's rate.
    LinkShare,
    /// Goodput in percent of an equal share of a host link among the selected flows.
    FairShare,
}

impl Selection {
    fn takes(&self, flow: &FlowRecord) -> bool {
        self.workload.as_ref().is_none_or(|workload| *workload == flow.workload)
            && self.pair.is_none_or(|pair| pair == [flow.source, flow.destination])
            && self.started_before_ps.is_none_or(|end| flow.start_ps < end)
            && self.sizes.is_none_or(|sizes| sizes.takes(flow.size_bytes))
    }

    /// Maps the selected flows.
    pub(super) fn each<T>(&self, record: &RunRecord, of: impl Fn(&FlowRecord) -> T) -> Vec<T> {
        record.flows.iter().filter(|flow| self.takes(flow)).map(|flow| of(&flow)).collect()
    }
}

/// Percent of a host link per Gb/s.
fn percent_of_gbps(record: &RunRecord) -> Option<f64> {
    let gbps = record.host_link.rate_bps as f64 / 1e9;
    (gbps > 0.0).then(|| 100.0 / gbps)
}

pub(super) fn number(
    value: Value,
    record: &RunRecord,
    flows: &Selection,
    reduce: &Reduced,
) -> Option<f64> {
    let goodputs = || flows.each(record, |flow| flow.goodput_gbps(record.measured_ps));
    match value {
        Value::FctReceiver
        | Value::FctSender
        | Value::Waiting
        | Value::Slowdown
        | Value::SlowdownSender => {
            reduce.of(&flows.each(record, |flow| time(value, flow)), Missing::Max)
        }
        Value::Goodput => reduce.of(&goodputs(), Missing::Min),
        Value::LinkShare => link_share(&goodputs(), percent_of_gbps(record)?, reduce.reduction),
        Value::FairShare => fair_share(&goodputs(), percent_of_gbps(record)?, reduce.reduction),
    }
}

/// Time of a flow, or time over ideal; `None` if unfinished.
fn time(value: Value, flow: &FlowRecord) -> Option<f64> {
    match value {
        Value::FctReceiver => flow.fct_receiver_ps.map(|ps| ps as f64),
        Value::FctSender => flow.fct_sender_ps.map(|ps| ps as f64),
        Value::Waiting => Some(flow.fct_receiver_ps?.saturating_sub(flow.ideal_fct_ps?) as f64),
        Value::Slowdown => ratio(flow.fct_receiver_ps, flow.ideal_fct_ps),
        Value::SlowdownSender => ratio(flow.fct_sender_ps, flow.ideal_fct_sender_ps),
        Value::Goodput | Value::LinkShare | Value::FairShare => None,
    }
}

/// Mean over groups of flows, weighted by their flows.
pub(super) fn mean_of_groups(
    value: Value,
    record: &RunRecord,
    flows: &Selection,
    groups: &Groups,
    reduce: &Reduced,
) -> Option<f64> {
    let last = groups.sizes_up_to.len().saturating_sub(1);
    let group = |flow: &FlowRecord| {
        let size = flow.size_bytes.unwrap_or(u64::MAX);
        let class = groups.sizes_up_to.partition_point(|&max| max < size).min(last);
        (groups.receivers.then_some(flow.destination), class)
    };
    let mut grouped: BTreeMap<_, Vec<Option<f64>>> = BTreeMap::new();
    for (group, time) in flows.each(record, |flow| (group(flow), time(value, flow))) {
        grouped.entry(group).or_default().push(time);
    }
    let (mut sum, mut count) = (0.0, 0);
    for times in grouped.values() {
        sum += reduce.of(times, Missing::Max)? * times.len() as f64;
        count += times.len();
    }
    (count > 0).then(|| sum / count as f64)
}

/// Reduces query times: until the last answer, in ps. Answers with equal client and start belong to one query: their
/// records start with it if the scenario says so (`fct_from = "request"`).
pub(super) fn of_queries(record: &RunRecord, flows: &Selection, reduce: &Reduced) -> Option<f64> {
    let mut queries: BTreeMap<(u32, u64), Option<u64>> = BTreeMap::new();
    let each = |flow: &FlowRecord| ((flow.destination, flow.start_ps), flow.fct_receiver_ps);
    for (query, fct) in flows.each(record, each) {
        let last = queries.entry(query).or_insert(Some(0));
        *last = last.zip(fct).map(|(last, fct)| last.max(fct));
    }
    let times: Vec<Option<f64>> =
        queries.into_values().map(|last| last.map(|ps| ps as f64)).collect();
    reduce.of(&times, Missing::Max)
}

fn ratio(fct: Option<u64>, ideal: Option<u64>) -> Option<f64> {
    let (fct, ideal) = (fct?, ideal?);
    (ideal > 0).then(|| fct as f64 / ideal as f64)
}

/// Reduces goodputs to percent of a link; one Gb/s is `factor` percent.
fn link_share(goodputs: &[Option<f64>], factor: f64, reduction: Reduction) -> Option<f64> {
    match reduction.unit() {
        UnitOf::Result => reduction.of(goodputs, Missing::Min).map(|gbps| gbps * factor),
        UnitOf::Values => reduction.of(&times(goodputs, factor), Missing::Min),
        UnitOf::Nothing => reduction.of(goodputs, Missing::Min),
    }
}

/// Reduces goodputs to percent of the fair share, 1/n of the link for n flows, so the mean is the sum over the link.
fn fair_share(goodputs: &[Option<f64>], factor: f64, reduction: Reduction) -> Option<f64> {
    let count = goodputs.len() as f64;
    let of = |reduction: Reduction| reduction.of(goodputs, Missing::Min);
    match reduction {
        Reduction::Mean => of(Reduction::Sum).map(|sum| sum * factor),
        Reduction::LowestTenth => of(Reduction::LowestTenth).map(|min| min * count * factor),
        Reduction::MeanLessLowestTenth => {
            let min = fair_share(goodputs, factor, Reduction::LowestTenth)?;
            Some(fair_share(goodputs, factor, Reduction::Mean)? - min)
        }
        Reduction::Min
        | Reduction::Max
        | Reduction::Sum
        | Reduction::Quantile(_)
        | Reduction::Count(_)
        | Reduction::Share(_)
        | Reduction::Jain
        | Reduction::MaxOverMin
        | Reduction::MinOfSwitch => reduction.of(&times(goodputs, count * factor), Missing::Min),
    }
}

fn times(values: &[Option<f64>], factor: f64) -> Vec<Option<f64>> {
    values.iter().map(|value| value.map(|value| value * factor)).collect()
}

/// Excess of the last flow over the ideal, in percent: the receiver's link is busy until the last packet arrives.
/// `None` for several receivers or unfinished flows.
pub(super) fn incast_overhead(record: &RunRecord, flows: &Selection) -> Option<f64> {
    let link = &record.host_link;
    let each = flows.each(record, |flow| {
        let busy = link.busy_ps(flow.size_bytes?);
        let way = flow.ideal_fct_ps?.saturating_sub(busy);
        Some((flow.destination, busy, way, flow.fct_receiver_ps?))
    });
    let each: Vec<(u32, u64, u64, u64)> = each.into_iter().collect::<Option<_>>()?;
    let receiver = each.first()?.0;
    if each.iter().any(|&(destination, ..)| destination != receiver) {
        return None;
    }
    let busy: u64 = each.iter().map(|&(_, busy, ..)| busy).sum();
    let way = each.iter().map(|&(_, _, way, _)| way).max()?;
    let last = each.iter().map(|&(.., fct)| fct).max()?;
    let ideal = (busy + way) as f64;
    (ideal > 0.0).then(|| (last as f64 / ideal - 1.0) * 100.0)
}
