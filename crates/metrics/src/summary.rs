//! summary.json: results of a run, or of runs that differ only in their seed. Bytes are deterministic: no wall time, no
//! machine.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use trimline_packet::PortCounters;

use crate::by_workload::{WorkloadSummary, Workloads};
use crate::distribution::{distribution, rounded};
use crate::flow::{FlowEnd, FlowRecord};
use crate::record::{HostCounters, LinkCounters, PathRecord, RunRecord};
use crate::statistics::{Interval, interval};

pub use crate::distribution::{Distribution, Goodput};

/// Results of a run. Field names end in units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Series of the scenario.
    pub series: String,
    /// Seed of the run.
    pub seed: u64,
    /// Virtual time at the end of the run.
    pub simulated_ps: u64,
    /// Virtual time without the warm-up.
    pub measured_ps: u64,
    /// True if the run was stopped early.
    pub interrupted: bool,
    /// Flow counts by end; each flow is in exactly one.
    pub flows: FlowCounts,
    /// Goodput of long-lived flows (payload in the measured interval) or delivered sized flows (size over FCT at the
    /// receiver). `None` without such flows and for a mix: see `workloads`.
    pub goodput_gbps: Option<Goodput>,
    /// Start to first packet on the wire, for flows that sent.
    pub host_wait_us: Option<Distribution>,
    /// Start to last byte at the receiver, for delivered flows.
    pub fct_receiver_us: Option<Distribution>,
    /// Start to last ACK at the sender, for completed flows.
    pub fct_sender_us: Option<Distribution>,
    /// FCT at the receiver over the ideal FCT.
    pub slowdown: Option<Distribution>,
    /// DATA packets sent, retransmissions included.
    pub packets_sent: u64,
    /// DATA packets that arrived whole, without duplicates.
    pub packets_delivered: u64,
    /// DATA packets that arrived whole at a host that had forgotten the connection: lost payload, except duplicates.
    #[serde(default)]
    pub packets_unclaimed: u64,
    /// Retransmissions by cause.
    pub retransmissions: Retransmissions,
    /// Sender timeouts.
    pub timeouts: u64,
    /// Headers that arrived at receivers.
    pub trims: u64,
    /// Headers returned to senders.
    pub returns: u64,
    /// Paths removed by senders as outliers.
    pub path_removals: u64,
    /// Removed paths restored by senders.
    pub path_restorations: u64,
    /// Switch port counters, summed.
    #[serde(with = "port_counts")]
    pub ports: PortCounters,
    /// Packets undelivered by links, summed.
    pub links: LinkCounters,
    /// Priority flow control; absent without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pauses: Option<PauseSummary>,
    /// Path lengths of packets; absent without detour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paths: Option<PathSummary>,
    /// NICs, processors, pacers and phantom queues of hosts; absent without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<HostSummary>,
    /// Packets that left a link, control and headers included.
    pub packet_hops: u64,
    /// Hops per delivered packet: the work that a packet costs.
    pub hops_per_delivered_packet: Option<f64>,
    /// Workloads in order of first flows.
    pub workloads: Vec<WorkloadSummary>,
}

/// Counters between transports and links, summed over hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostSummary {
    /// Packets dropped by full NIC queues.
    pub queue_dropped: u64,
    /// Frames dropped by full NIC rings.
    pub ring_dropped: u64,
    /// Packets dropped by full pacer FIFOs.
    pub pacer_dropped: u64,
    /// Interrupts.
    pub interrupts: u64,
    /// Packets that passed pacers at once.
    pub passed: u64,
    /// Packets that pacers queued.
    pub paced: u64,
    /// Flow associations with pacers.
    pub associated: u64,
    /// Associations that failed because the table was full.
    pub refused: u64,
    /// Packets marked by phantom queues.
    #[serde(default)]
    pub marked: u64,
}

fn hosts(record: &RunRecord) -> Option<HostSummary> {
    let sum =
        |of: fn(&HostCounters) -> u64| record.hosts.iter().map(|host| of(&host.counters)).sum();
    (!record.hosts.is_empty()).then(|| HostSummary {
        queue_dropped: sum(|host| host.queue_dropped),
        ring_dropped: sum(|host| host.ring_dropped),
        pacer_dropped: sum(|host| host.pacer_dropped),
        interrupts: sum(|host| host.interrupts),
        passed: sum(|host| host.passed),
        paced: sum(|host| host.paced),
        associated: sum(|host| host.associated),
        refused: sum(|host| host.refused),
        marked: sum(|host| host.marked),
    })
}

/// Path lengths of arrived data packets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathSummary {
    /// Number of packets.
    pub packets: u64,
    /// Packets with detours.
    pub detoured: u64,
    /// Mean links from host to host.
    pub mean_links: Option<f64>,
    /// Maximum links.
    pub max_links: u16,
    /// Maximum detours.
    pub max_detours: u8,
}

fn paths(record: &RunRecord) -> Option<PathSummary> {
    let of = &record.paths;
    let sum = |of: &dyn Fn(&PathRecord) -> u64| record.paths.iter().map(of).sum::<u64>();
    let packets = sum(&|path| path.packets);
    (!of.is_empty()).then(|| PathSummary {
        packets,
        detoured: sum(&|path| if path.detours > 0 { path.packets } else { 0 }),
        mean_links: ratio(sum(&|path| path.packets * u64::from(path.links)), packets),
        max_links: of.iter().map(|path| path.links).max().unwrap_or(0),
        max_detours: of.iter().map(|path| path.detours).max().unwrap_or(0),
    })
}

/// Priority flow control in a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PauseSummary {
    /// Pause frames that switches sent.
    pub sent: u64,
    /// Pause frames that arrived.
    pub received: u64,
    /// Picoseconds in which any class was paused, summed over ports and hosts.
    pub stopped_ps: u64,
    /// Port or host with the longest pause, the first on a tie; `None` without pauses.
    pub longest: Option<LongestStop>,
    /// Cycles of waiting ports that resolved by themselves.
    pub cycles_passed: u64,
    /// Links, in order, of the cycle that ended the run; empty without.
    pub deadlock: Vec<String>,
}

/// The longest pause of a port or host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LongestStop {
    /// Link name of the port or host.
    pub name: String,
    /// Picoseconds.
    pub stopped_ps: u64,
}

fn pauses(record: &RunRecord) -> Option<PauseSummary> {
    let of = &record.pauses;
    let longest = of.iter().filter(|link| link.stopped_ps > 0);
    let longest = longest.rev().max_by_key(|link| link.stopped_ps);
    (!of.is_empty()).then(|| PauseSummary {
        sent: of.iter().map(|link| link.sent).sum(),
        received: of.iter().map(|link| link.received).sum(),
        stopped_ps: of.iter().map(|link| link.stopped_ps).sum(),
        longest: longest
            .map(|link| LongestStop { name: link.place.to_string(), stopped_ps: link.stopped_ps }),
        cycles_passed: record.pause_cycles.passed,
        deadlock: record.pause_cycles.deadlock.iter().map(ToString::to_string).collect(),
    })
}

/// Flow counts by end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowCounts {
    /// All flows.
    pub total: u64,
    /// Delivered and acknowledged flows.
    pub completed: u64,
    /// Delivered flows whose sender did not learn it in time.
    pub delivered: u64,
    /// Undelivered flows at the end of the run.
    pub run_ended: u64,
    /// Long-lived flows.
    pub long_lived: u64,
    /// Flows due after the run.
    pub not_started: u64,
}

/// Retransmissions by cause.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retransmissions {
    /// Loss signals: NACKs (NDP), duplicate ACKs or SACK blocks (TCP).
    pub nack: u64,
    /// Returned headers.
    #[serde(rename = "return")]
    pub returned: u64,
    /// Timeouts.
    pub timeout: u64,
}

/// [`PortCounters`] as a JSON object, a key per counter.
mod port_counts {
    use serde::de::Error;
    use serde::ser::SerializeMap;
    use serde::{Deserialize, Deserializer, Serializer};
    use trimline_packet::PortCounters;

    pub(super) fn serialize<S: Serializer>(
        counters: &PortCounters,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(PortCounters::COUNT))?;
        for (name, value) in PortCounters::NAMES.iter().zip(counters.values()) {
            map.serialize_entry(name, &value)?;
        }
        map.end()
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<PortCounters, D::Error> {
        let map = serde_json::Map::deserialize(deserializer)?;
        let mut values = [0; PortCounters::COUNT];
        for (name, value) in PortCounters::NAMES.into_iter().zip(&mut values) {
            let found = map.get(name).and_then(serde_json::Value::as_u64);
            *value = found.ok_or_else(|| D::Error::missing_field(name))?;
        }
        Ok(PortCounters::from_values(values))
    }
}

/// Results of runs that differ only in their seed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Aggregate {
    /// Series of the scenario.
    pub series: String,
    /// Sweep point.
    pub point: Vec<(String, String)>,
    /// Seeds of the aggregated runs, in scenario order.
    pub seeds: Vec<u64>,
    /// Seeds of stopped runs.
    pub stopped_seeds: Vec<u64>,
    /// Undelivered sized flows, over all seeds.
    pub unfinished_flows: u64,
    /// Mean goodput over flows; all intervals: mean over seeds, 95 %.
    pub mean_goodput_gbps: Option<Interval>,
    /// Slowest flow's goodput.
    pub min_goodput_gbps: Option<Interval>,
    /// Median FCT.
    pub fct_receiver_p50_us: Option<Interval>,
    /// 99th percentile FCT.
    pub fct_receiver_p99_us: Option<Interval>,
    /// Maximum FCT.
    pub fct_receiver_max_us: Option<Interval>,
    /// Retransmissions per delivered packet.
    pub retransmissions_per_packet: Option<Interval>,
    /// Packets that left a link.
    pub packet_hops: Option<Interval>,
    /// Hops per delivered packet.
    pub hops_per_delivered_packet: Option<Interval>,
    /// Workloads in order of first flows.
    pub workloads: Vec<WorkloadAggregate>,
}

/// A workload of runs that differ only in their seed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorkloadAggregate {
    /// Workload name.
    pub workload: String,
    /// True for long-lived flows.
    pub long_lived: bool,
    /// Mean goodput over flows; all intervals: mean over seeds, 95 %.
    pub mean_goodput_gbps: Option<Interval>,
    /// Slowest flow's goodput.
    pub min_goodput_gbps: Option<Interval>,
    /// Median FCT.
    pub fct_receiver_p50_us: Option<Interval>,
    /// 99th percentile FCT.
    pub fct_receiver_p99_us: Option<Interval>,
    /// Maximum FCT.
    pub fct_receiver_max_us: Option<Interval>,
    /// Retransmissions.
    pub retransmissions: Option<Interval>,
    /// Realised load of Poisson arrivals, in percent; absent for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub realised_load_percent: Option<Interval>,
}

/// Runs included in a mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// Only complete runs.
    Whole,
    /// Stopped runs too.
    Stopped,
}

fn ratio(numerator: u64, denominator: u64) -> Option<f64> {
    (denominator > 0).then(|| rounded(numerator as f64 / denominator as f64))
}

#[derive(Default)]
struct Totals {
    packets_sent: u64,
    signalled: u64,
    returned: u64,
    timed_out: u64,
    timeouts: u64,
    trims: u64,
    returns: u64,
    path_removals: u64,
    path_restorations: u64,
}

impl Totals {
    fn add(&mut self, flow: &FlowRecord) {
        self.packets_sent += flow.packets_sent;
        self.signalled += flow.retransmissions_signalled;
        self.returned += flow.retransmissions_return;
        self.timed_out += flow.retransmissions_timeout;
        self.timeouts += flow.timeouts;
        self.trims += flow.trims;
        self.returns += flow.returns;
        self.path_removals += flow.path_removals;
        self.path_restorations += flow.path_restorations;
    }
}

impl Summary {
    /// Summarises a run.
    pub fn new(record: &RunRecord) -> Summary {
        let flows = &record.flows;
        let mut counts = FlowCounts { total: flows.len(), ..FlowCounts::default() };
        let mut totals = Totals::default();
        let mut workloads = Workloads::default();
        let (mut goodputs, mut goodput, mut min) = (0u64, 0.0, f64::INFINITY);
        let (mut has_long, mut has_sized) = (false, false);
        // The order is fixed, so that sums round alike everywhere.
        for flow in flows.iter() {
            *match flow.end {
                FlowEnd::Completed => &mut counts.completed,
                FlowEnd::Delivered => &mut counts.delivered,
                FlowEnd::RunEnded => &mut counts.run_ended,
                FlowEnd::LongLived => &mut counts.long_lived,
                FlowEnd::NotStarted => &mut counts.not_started,
            } += 1;
            totals.add(&flow);
            workloads.add(&flow, record.measured_ps);
            if let Some(of_flow) = flow.goodput_gbps(record.measured_ps) {
                goodputs += 1;
                goodput += of_flow;
                min = min.min(of_flow);
            }
            has_long |= flow.size_bytes.is_none();
            has_sized |= flow.size_bytes.is_some();
        }
        let is_mixed = has_long && has_sized;
        let goodput_gbps = (goodputs > 0 && !is_mixed)
            .then(|| Goodput { mean: rounded(goodput / goodputs as f64), min: rounded(min) });
        let workloads = workloads.finish(&record.loads);
        // One distribution at a time, to limit memory.
        let over_flows = |of: fn(&FlowRecord) -> Option<u64>| {
            distribution(flows.unordered().filter_map(|flow| of(&flow)))
        };
        let fct_receiver_us = match &workloads[..] {
            [all] => all.fct_receiver_us.clone(),
            _ => over_flows(|flow| flow.fct_receiver_ps),
        };
        let mut ports = PortCounters::default();
        record.ports.iter().for_each(|port| ports.add(&port.counters));
        let mut links = LinkCounters::default();
        record.links.iter().for_each(|link| links.add(&link.counters));
        Summary {
            series: record.series.clone(),
            seed: record.seed,
            simulated_ps: record.simulated_ps,
            measured_ps: record.measured_ps,
            interrupted: record.interrupted,
            flows: counts,
            goodput_gbps,
            host_wait_us: over_flows(|flow| flow.host_wait_ps),
            fct_receiver_us,
            fct_sender_us: over_flows(|flow| flow.fct_sender_ps),
            slowdown: over_flows(FlowRecord::slowdown_millionths),
            packets_sent: totals.packets_sent,
            packets_delivered: record.packets_delivered,
            packets_unclaimed: record.packets_unclaimed,
            retransmissions: Retransmissions {
                nack: totals.signalled,
                returned: totals.returned,
                timeout: totals.timed_out,
            },
            timeouts: totals.timeouts,
            trims: totals.trims,
            returns: totals.returns,
            path_removals: totals.path_removals,
            path_restorations: totals.path_restorations,
            ports,
            links,
            pauses: pauses(record),
            paths: paths(record),
            hosts: hosts(record),
            packet_hops: record.packet_hops,
            hops_per_delivered_packet: ratio(record.packet_hops, record.packets_delivered),
            workloads,
        }
    }

    /// Formats as JSON text with a final newline.
    pub fn to_json(&self) -> String {
        to_json(self)
    }

    /// Parses the output of [`Summary::to_json`], or returns `None`.
    pub fn from_json(text: &str) -> Option<Summary> {
        serde_json::from_str(text).ok()
    }

    /// True if a deadlock of waiting ports ended the run, as it would every time.
    pub fn is_deadlocked(&self) -> bool {
        self.pauses.as_ref().is_some_and(|pauses| !pauses.deadlock.is_empty())
    }

    fn retransmissions_per_packet(&self) -> Option<f64> {
        let retransmissions = &self.retransmissions;
        let all = retransmissions.nack + retransmissions.returned + retransmissions.timeout;
        ratio(all, self.packets_delivered)
    }
}

/// Mean and interval over runs.
fn over<R>(runs: &[R], of: impl Fn(&R) -> Option<f64>) -> Option<Interval> {
    let values: Vec<f64> = runs.iter().filter_map(of).collect();
    interval(&values).map(|interval| Interval {
        mean: rounded(interval.mean),
        half_width: interval.half_width.map(rounded),
        ..interval
    })
}

impl WorkloadAggregate {
    fn all(runs: &[&Summary]) -> Vec<WorkloadAggregate> {
        let mut names: Vec<&str> = Vec::new();
        let mut of: BTreeMap<&str, Vec<&WorkloadSummary>> = BTreeMap::new();
        for one in runs.iter().flat_map(|run| &run.workloads) {
            let group = of.entry(&one.workload).or_default();
            if group.is_empty() {
                names.push(&one.workload);
            }
            group.push(one);
        }
        names.iter().map(|&name| WorkloadAggregate::new(name, &of[name])).collect()
    }

    fn new(name: &str, runs: &[&WorkloadSummary]) -> WorkloadAggregate {
        let goodput = |of: fn(&Goodput) -> f64| over(runs, |run| run.goodput_gbps.as_ref().map(of));
        let fct =
            |of: fn(&Distribution) -> f64| over(runs, |run| run.fct_receiver_us.as_ref().map(of));
        WorkloadAggregate {
            workload: name.to_owned(),
            long_lived: runs.iter().any(|run| run.long_lived),
            mean_goodput_gbps: goodput(|goodput| goodput.mean),
            min_goodput_gbps: goodput(|goodput| goodput.min),
            fct_receiver_p50_us: fct(|distribution| distribution.p50),
            fct_receiver_p99_us: fct(|distribution| distribution.p99),
            fct_receiver_max_us: fct(|distribution| distribution.max),
            retransmissions: over(runs, |run| Some(run.retransmissions as f64)),
            realised_load_percent: over(runs, |run| Some(run.load.as_ref()?.realised_percent)),
        }
    }
}

impl Aggregate {
    /// Aggregates the runs of one series at one sweep point.
    pub fn new(point: &[(String, String)], all: &[&Summary], counting: Counting) -> Aggregate {
        let counts = |run: &&&Summary| match counting {
            Counting::Whole => !run.interrupted,
            Counting::Stopped => true,
        };
        let runs: Vec<&Summary> = all.iter().filter(counts).copied().collect();
        let over = |of: &dyn Fn(&Summary) -> Option<f64>| over(&runs, |run| of(run));
        let fct = |of: fn(&Distribution) -> f64| {
            over(&|run: &Summary| run.fct_receiver_us.as_ref().map(of))
        };
        let stopped = all.iter().filter(|run| run.interrupted);
        Aggregate {
            series: all.first().map(|run| run.series.clone()).unwrap_or_default(),
            point: point.to_vec(),
            seeds: runs.iter().map(|run| run.seed).collect(),
            stopped_seeds: stopped.map(|run| run.seed).collect(),
            unfinished_flows: runs.iter().map(|run| run.flows.run_ended).sum(),
            mean_goodput_gbps: over(&|run| run.goodput_gbps.as_ref().map(|goodput| goodput.mean)),
            min_goodput_gbps: over(&|run| run.goodput_gbps.as_ref().map(|goodput| goodput.min)),
            fct_receiver_p50_us: fct(|distribution| distribution.p50),
            fct_receiver_p99_us: fct(|distribution| distribution.p99),
            fct_receiver_max_us: fct(|distribution| distribution.max),
            retransmissions_per_packet: over(&Summary::retransmissions_per_packet),
            packet_hops: over(&|run| Some(run.packet_hops as f64)),
            hops_per_delivered_packet: over(&|run| run.hops_per_delivered_packet),
            workloads: WorkloadAggregate::all(&runs),
        }
    }

    /// Formats all groups as JSON text with a final newline.
    pub fn to_json(groups: &[Aggregate]) -> String {
        to_json(&groups)
    }
}

pub(crate) fn to_json(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("a record has only string keys");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{flow, record};
    use crate::record::PauseRecord;
    use crate::{Direction, Layer, LinkPlace, PortPlace};

    fn summary() -> Summary {
        Summary::new(&record(vec![
            flow(1, Some(270_000), Some(259_792_000)),
            flow(2, Some(270_000), Some(519_584_000)),
            flow(3, Some(270_000), None),
            flow(4, None, None),
        ]))
    }

    #[test]
    fn every_flow_has_exactly_one_end() {
        let flows = summary().flows;
        assert_eq!(
            flows.total,
            flows.completed
                + flows.delivered
                + flows.run_ended
                + flows.long_lived
                + flows.not_started
        );
        assert_eq!((flows.completed, flows.run_ended, flows.long_lived), (2, 1, 1));
    }

    #[test]
    fn a_summary_has_the_statistics_of_its_run() {
        let summary = summary();
        let fct = summary.fct_receiver_us.as_ref().unwrap();
        assert_eq!((fct.count, fct.min, fct.p50, fct.max), (2, 259.792, 259.792, 519.584));
        assert_eq!(fct.mean, 389.688);
        assert_eq!(summary.slowdown.as_ref().unwrap().max, 2.0);
        // A mean over long-lived and sized flows would describe neither.
        assert_eq!(summary.goodput_gbps, None);
        let sized =
            [flow(1, Some(270_000), Some(259_792_000)), flow(2, Some(270_000), Some(519_584_000))];
        let goodput = Summary::new(&record(sized.to_vec())).goodput_gbps.unwrap();
        // 270000 B in 519.584 us.
        assert_eq!(goodput.min, 4.157172);
        assert_eq!(goodput.mean, rounded((8.314344 + 4.157172) / 2.0));
        assert_eq!(summary.ports.dropped, 4);
        assert_eq!(summary.hops_per_delivered_packet, Some(16.666667));
    }

    #[test]
    fn pauses_are_summed_and_the_port_that_was_stopped_for_the_longest_is_named() {
        assert!(!summary().to_json().contains("pauses"), "without priority flow control");
        assert!(!summary().to_json().contains("ring_dropped"), "without NICs");
        let port = PortPlace { layer: Layer::Tor, switch: 0, direction: Direction::Up, link: 1 };
        let (port, host) = (LinkPlace::Port(port), LinkPlace::Host);
        let of = |place, stopped_ps| PauseRecord { place, sent: 7, received: 5, stopped_ps };
        let mut record = record(vec![]);
        record.pauses = vec![of(port, 40), of(host(2), 50), of(host(3), 50)];
        let pauses = Summary::new(&record).pauses.unwrap();
        assert_eq!((pauses.sent, pauses.received, pauses.stopped_ps), (21, 15, 140));
        assert_eq!(pauses.longest, Some(LongestStop { name: "host 2".into(), stopped_ps: 50 }));
        assert!(!Summary::new(&record).is_deadlocked());
        record.pause_cycles.deadlock = vec![record.pauses[0].place];
        let summary = Summary::new(&record);
        assert!(summary.is_deadlocked());
        assert_eq!(summary.pauses.as_ref().unwrap().deadlock, ["tor 0 up 1"]);
        assert_eq!(Summary::from_json(&summary.to_json()), Some(summary));
        record.pauses.iter_mut().for_each(|link| link.stopped_ps = 0);
        assert_eq!(Summary::new(&record).pauses.unwrap().longest, None);
    }

    #[test]
    fn summary_json_has_the_declared_order_and_no_wall_time() {
        let json = summary().to_json();
        assert_eq!(json, summary().to_json());
        let place = |key: &str| json.find(&format!("\"{key}\"")).unwrap_or_else(|| panic!("{key}"));
        assert!(place("series") < place("flows") && place("flows") < place("packet_hops"));
        assert!(!json.contains("wall") && json.ends_with("}\n"));
    }

    #[test]
    fn a_summary_round_trips_through_json() {
        let mut summary = summary();
        // The round trip loses no digit.
        summary.fct_receiver_us.as_mut().unwrap().mean = 0.1 + 0.2;
        summary.slowdown.as_mut().unwrap().p99 = 1.0 / 3.0;
        assert_eq!(Summary::from_json(&summary.to_json()), Some(summary));
        assert_eq!(Summary::from_json("{}"), None);
    }

    #[test]
    fn an_aggregate_combines_seeds() {
        let one = summary();
        let mut other = one.clone();
        other.seed = 2;
        other.packet_hops = 700;
        let point = [("senders".into(), "4".into())];
        let aggregate = Aggregate::new(&point, &[&one, &other], Counting::Whole);
        assert_eq!(aggregate.seeds, [1, 2]);
        let hops = aggregate.packet_hops.unwrap();
        assert_eq!((hops.mean, hops.count), (600.0, 2));
        assert_eq!(hops.half_width, Some(1270.6));
        assert_eq!(aggregate.unfinished_flows, 2);
        assert_eq!(aggregate.workloads.len(), one.workloads.len());
    }

    #[test]
    fn a_partial_run_enters_no_mean_by_default() {
        let whole = summary();
        let mut stopped = Summary { seed: 2, interrupted: true, packet_hops: 7, ..whole.clone() };
        stopped.workloads[0].retransmissions = 1000;
        let of = |counting| Aggregate::new(&[], &[&whole, &stopped], counting);
        let means = of(Counting::Whole);
        assert_eq!((&means.seeds[..], &means.stopped_seeds[..]), (&[1][..], &[2][..]));
        let count = |interval: Option<Interval>| interval.map(|interval| interval.count);
        assert_eq!(means.packet_hops.map(|hops| hops.mean), Some(500.0));
        assert_eq!(count(means.workloads[0].retransmissions), Some(1));
        let asked = of(Counting::Stopped);
        assert_eq!((count(asked.packet_hops), &asked.seeds[..]), (Some(2), &[1, 2][..]));
        assert_eq!(count(asked.workloads[0].retransmissions), Some(2));
        // Stopped runs alone have no mean.
        assert_eq!(Aggregate::new(&[], &[&stopped], Counting::Whole).packet_hops, None);
    }
}
