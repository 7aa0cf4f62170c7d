//! Results by workload. Long-lived flows have a throughput and sized flows a completion time: a mean over both would
//! describe neither.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::distribution::{Distribution, Goodput, distribution, rounded};
use crate::flow::{FlowEnd, FlowRecord, Name};
use crate::record::LoadRecord;
use crate::statistics::quantile;

/// Results of one workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkloadSummary {
    /// Workload name.
    pub workload: String,
    /// True for long-lived flows.
    pub long_lived: bool,
    /// Number of flows.
    pub flows: u64,
    /// Number of delivered flows.
    pub delivered: u64,
    /// Long-lived flows: payload in the measured interval. Sized flows: size over FCT at the receiver.
    pub goodput_gbps: Option<Goodput>,
    /// Time from start to last byte at the receiver, for delivered flows.
    pub fct_receiver_us: Option<Distribution>,
    /// FCT at the receiver over the ideal FCT, for delivered flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowdown: Option<Slowdown>,
    /// Retransmissions for any cause.
    pub retransmissions: u64,
    /// Sender timeouts.
    pub timeouts: u64,
    /// Intended and realised load of Poisson arrivals; absent for other arrivals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Load>,
}

/// Slowdowns of flows, by nearest rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Slowdown {
    /// Median.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Median and 99th percentile by size class, smallest first, without empty classes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<SlowdownOfSizes>,
}

/// Slowdowns of a size class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlowdownOfSizes {
    /// Largest size of the class; `None` for the class of the largest flows.
    pub up_to_bytes: Option<u64>,
    /// Number of flows.
    pub count: u64,
    /// Median.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
}

/// Largest size of each class but the last, in bytes (chosen: as `trimline compare`, except 1 KB and 10 MB, so
/// that a row fits a terminal).
const CLASSES: [u64; 3] = [10_000, 100_000, 1_000_000];

impl Slowdown {
    /// Summarises slowdowns in millionths, by class.
    fn new(mut classes: [Vec<u64>; CLASSES.len() + 1]) -> Option<Slowdown> {
        let of = |values: &[u64], share| quantile(values, share).map(|value| value as f64 / 1e6);
        let mut sizes = Vec::new();
        for (place, values) in classes.iter_mut().enumerate() {
            values.sort_unstable();
            if let (Some(p50), Some(p99)) = (of(values, 5000), of(values, 9900)) {
                let (up_to_bytes, count) = (CLASSES.get(place).copied(), values.len() as u64);
                sizes.push(SlowdownOfSizes { up_to_bytes, count, p50, p99 });
            }
        }
        let mut all = classes.concat();
        all.sort_unstable();
        Some(Slowdown { p50: of(&all, 5000)?, p99: of(&all, 9900)?, sizes })
    }
}

/// Payload over link capacity during the arrivals. With heavy-tailed sizes, offered and realised load differ much: runs
/// draw few of the flows that carry most bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// Computed from the mean size and gap.
    pub offered_percent: f64,
    /// Computed from the sizes of the flows that began.
    pub realised_percent: f64,
}

impl Load {
    fn new(load: &LoadRecord, begun_bytes: u128) -> Load {
        let capacity = load.capacity_bytes.max(1) as f64;
        Load {
            offered_percent: rounded(load.offered_billionths as f64 / 1e7),
            realised_percent: rounded(begun_bytes as f64 / capacity * 100.0),
        }
    }
}

#[derive(Default)]
struct Sums {
    workload: String,
    long_lived: bool,
    flows: u64,
    goodputs: u64,
    goodput: f64,
    min: f64,
    fct: Vec<u64>,
    /// Slowdowns in millionths, by size class.
    slowdowns: [Vec<u64>; CLASSES.len() + 1],
    retransmissions: u64,
    timeouts: u64,
    begun_bytes: u128,
}

impl Sums {
    fn add(&mut self, flow: &FlowRecord, measured_ps: u64) {
        self.flows += 1;
        self.long_lived |= flow.size_bytes.is_none();
        if let Some(goodput) = flow.goodput_gbps(measured_ps) {
            self.min = if self.goodputs == 0 { goodput } else { self.min.min(goodput) };
            self.goodputs += 1;
            self.goodput += goodput;
        }
        self.fct.extend(flow.fct_receiver_ps);
        if let (Some(size), Some(slowdown)) = (flow.size_bytes, flow.slowdown_millionths()) {
            let class = CLASSES.partition_point(|&largest| largest < size);
            self.slowdowns[class].push(slowdown);
        }
        self.retransmissions += flow.retransmissions_signalled
            + flow.retransmissions_return
            + flow.retransmissions_timeout;
        self.timeouts += flow.timeouts;
        self.begun_bytes += match flow.end {
            FlowEnd::NotStarted => 0,
            FlowEnd::Completed | FlowEnd::Delivered | FlowEnd::RunEnded | FlowEnd::LongLived => {
                u128::from(flow.size_bytes.unwrap_or(0))
            }
        };
    }

    fn finish(self, loads: &[LoadRecord]) -> WorkloadSummary {
        let load = loads.iter().find(|load| load.workload == self.workload);
        WorkloadSummary {
            workload: self.workload,
            long_lived: self.long_lived,
            flows: self.flows,
            delivered: self.fct.len() as u64,
            goodput_gbps: (self.goodputs > 0).then(|| Goodput {
                mean: rounded(self.goodput / self.goodputs as f64),
                min: rounded(self.min),
            }),
            fct_receiver_us: distribution(self.fct.into_iter()),
            slowdown: Slowdown::new(self.slowdowns),
            retransmissions: self.retransmissions,
            timeouts: self.timeouts,
            load: load.map(|load| Load::new(load, self.begun_bytes)),
        }
    }
}

/// Accumulates the workloads of a run, in the order of their first flows.
#[derive(Default)]
pub(crate) struct Workloads {
    places: BTreeMap<Name, usize>,
    sums: Vec<Sums>,
}

impl Workloads {
    /// Adds a flow; flows come in record order.
    pub(crate) fn add(&mut self, flow: &FlowRecord, measured_ps: u64) {
        let place = match self.places.get(&*flow.workload) {
            Some(&place) => place,
            None => {
                let place = self.sums.len();
                self.places.insert(flow.workload.clone(), place);
                self.sums.push(Sums { workload: flow.workload.to_string(), ..Sums::default() });
                place
            }
        };
        self.sums[place].add(flow, measured_ps);
    }

    pub(crate) fn finish(self, loads: &[LoadRecord]) -> Vec<WorkloadSummary> {
        self.sums.into_iter().map(|sums| sums.finish(loads)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{flow, record};
    use crate::record::RunRecord;

    fn by_workload(record: &RunRecord) -> Vec<WorkloadSummary> {
        let mut workloads = Workloads::default();
        record.flows.iter().for_each(|flow| workloads.add(&flow, record.measured_ps));
        workloads.finish(&record.loads)
    }

    #[test]
    fn every_flow_counts_for_one_workload() {
        let mut long = flow(4, None, None);
        long.workload = "background".into();
        let record = record(vec![
            flow(1, Some(270_000), Some(259_792_000)),
            flow(2, Some(270_000), Some(519_584_000)),
            flow(3, Some(270_000), None),
            long,
        ]);
        let found = by_workload(&record);
        let names: Vec<&str> = found.iter().map(|one| &*one.workload).collect();
        assert_eq!(names, ["reply", "background"]);
        let (replies, background) = (&found[0], &found[1]);
        assert_eq!((replies.flows, replies.delivered, replies.long_lived), (3, 2, false));
        assert_eq!(replies.fct_receiver_us.as_ref().map(|fct| fct.max), Some(519.584));
        assert_eq!((background.flows, background.delivered, background.long_lived), (1, 0, true));
        let goodput = background.goodput_gbps.as_ref();
        assert_eq!(goodput, Some(&Goodput { mean: 7.2, min: 7.2 }));
        assert_eq!(background.fct_receiver_us, None);
        assert_eq!((&replies.load, &background.load), (&None, &None));
    }

    #[test]
    fn slowdowns_are_grouped_by_flow_size() {
        let record = record(vec![
            flow(1, Some(10_000), Some(259_792_000)),
            flow(2, Some(10_001), Some(519_584_000)),
            flow(3, Some(100_000), Some(779_376_000)),
            flow(4, Some(1_000_001), None),
        ]);
        let slowdown = by_workload(&record)[0].slowdown.clone().expect("flows were delivered");
        let of = |up_to_bytes, count, p50, p99| SlowdownOfSizes { up_to_bytes, count, p50, p99 };
        let sizes = vec![of(Some(10_000), 1, 1.0, 1.0), of(Some(100_000), 2, 2.0, 3.0)];
        assert_eq!(slowdown, Slowdown { p50: 2.0, p99: 3.0, sizes });
    }

    /// Flows that began count, whether they ended or not; flows that were only due do not.
    #[test]
    fn the_realised_load_counts_the_flows_that_began() {
        let due = FlowRecord::not_started("reply".into(), 7, 0, 1, Some(1_000_000));
        let mut record = record(vec![
            flow(1, Some(270_000), Some(259_792_000)),
            flow(3, Some(130_000), None),
            due,
        ]);
        record.loads = vec![LoadRecord {
            workload: "reply".into(),
            offered_billionths: 150_000_000,
            capacity_bytes: 5_000_000,
        }];
        let found = by_workload(&record);
        let load = Load { offered_percent: 15.0, realised_percent: 8.0 };
        assert_eq!(found[0].load, Some(load));
    }
}
