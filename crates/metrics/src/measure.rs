//! Named measures: one number of one run, as findings and figures use them.

use std::collections::BTreeMap;

use crate::record::{FlowRecord, PacketLatency, PortRecord, RunRecord};
use crate::timeline::{PacketKind, Timeline, What};

/// Times of the base model in picoseconds: 9000 B of payload in 9064 B at 10 Gb/s, six links of 1 us
/// and five switches between pods.
const PACKET_PS: f64 = 7_251_200.0;
const PACKET_BYTES: u64 = 9000;
const WAY_PS: f64 = 5.0 * PACKET_PS + 6_000_000.0;

/// One number of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Mean goodput of the flows, Gb/s.
    MeanGoodput,
    /// Mean goodput of the flows in percent of 10 Gb/s.
    MeanGoodputPercent,
    /// Goodput of the slowest flow, Gb/s.
    MinGoodput,
    /// Millions of packets that left a link.
    PacketHops,
    /// Hops for each DATA packet that arrived whole.
    HopsPerDeliveredPacket,
    /// When the last flow was delivered, counted from each flow's start, us.
    LastFctReceiver,
    /// Median FCT at the receiver, us. A flow that has not ended is slower than all that have; where it would be the
    /// median there is none.
    MedianFctReceiver,
    /// The 99th percentile, likewise.
    P99FctReceiver,
    /// When the last flow was acknowledged, counted from each flow's start, us.
    LastFctSender,
    /// By how many percent the last flow exceeds the ideal incast of the base model:
    /// n x p x 7.2512 us + 5 x 7.2512 us + 6 us for n senders of p packets.
    LastOverIdealPercent,
    /// FCT at the receiver: last over first.
    SlowestOverFastest,
    /// Flows with a goodput from 3 to 5.5 Gb/s.
    FlowsOf3To5Gbps,
    /// Bytes on the least used link between an aggregation switch and a core, each direction, in
    /// percent of the mean of such links of the switch that sends on it.
    LeastCoreLinkPercent,
    /// Packets trimmed at ports that lead up, in percent of the DATA packets sent.
    UplinkTrimPercent,
    /// Packets trimmed at the up ports of ToRs, in percent of the DATA packets sent.
    TorUpTrimPercent,
    /// Packets trimmed at all other ports, in percent of the DATA packets sent that no up port of a ToR trimmed.
    PastTorTrimPercent,
    /// Packets dropped at ports from ToRs to hosts.
    TorDownDrops,
    /// Packets dropped at ports from aggregation switches to ToRs.
    AggregationDownDrops,
    /// Paths that senders removed.
    PathRemovals,
    /// Retransmissions for each DATA packet of the run that arrived.
    RetransmissionsPerPacket,
    /// Those because of a NACK.
    NackRetransmissionsPerPacket,
    /// Those because a header came back.
    ReturnRetransmissionsPerPacket,
    /// Retransmissions because of a NACK over those because a header came back.
    NackOverReturn,
    /// Median time from a packet's first sending until its ACK arrived, us.
    MedianLatency,
    /// The same, of packets behind the first window.
    MedianLaterLatency,
    /// The longest such time of all packets, us.
    MaxLatency,
    /// Of all headers of DATA packets that came to anybody, how many percent came back to the sender.
    ReturnedHeaderPercent,
    /// Mean goodput of the flows in percent of their fair share of 10 Gb/s.
    FairSharePercent,
    /// The same of the slowest tenth of the flows, one at least.
    WorstDecileFairSharePercent,
    /// By how many points the slowest tenth is below the mean.
    WorstDecileBelowMean,
    /// Packets resent by a timer, in percent of the DATA packets sent.
    TimeoutRetransmissionsPercent,
    /// Bytes on the links from ToRs to hosts, headers and control packets included, in percent of what
    /// 10 Gb/s carry in the whole run.
    HostLinkPercent,
    /// Packets trimmed at the places of the timeline.
    TimelineTrims,
    /// The longest time that a link of the timeline was idle in all between its first and its last packet,
    /// us.
    TimelineIdle,
    /// Time, in intervals of 100 us from the first departure of the timeline on, in which whole DATA packets were on
    /// the link for less than nine tenths of the interval, us. An interval that is not over does not count.
    TimelineLow,
    /// The fewest packets that a retransmission found in its queue when it arrived at a port of the
    /// timeline, the packet on the wire included.
    RetransmissionFindsPackets,
}

/// Which flows count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Those of this workload.
    pub workload: Option<String>,
    /// Those from this source to this destination.
    pub pair: Option<(u32, u32)>,
    /// Those that began before this time. At the end of a run flows are under way, and the slow ones among them most.
    pub started_before_ps: Option<u64>,
    /// Of the timeline, what is about this port or host.
    pub place: Option<String>,
}

impl Selection {
    fn takes(&self, flow: &FlowRecord) -> bool {
        self.workload.as_ref().is_none_or(|workload| *workload == flow.workload)
            && self.pair.is_none_or(|pair| pair == (flow.source, flow.destination))
            && self.started_before_ps.is_none_or(|end| flow.start_ps < end)
    }
}

const NAMES: &[(&str, Measure)] = &[
    ("mean_goodput_gbps", Measure::MeanGoodput),
    ("mean_goodput_percent", Measure::MeanGoodputPercent),
    ("min_goodput_gbps", Measure::MinGoodput),
    ("packet_hops_millions", Measure::PacketHops),
    ("hops_per_delivered_packet", Measure::HopsPerDeliveredPacket),
    ("last_fct_receiver_us", Measure::LastFctReceiver),
    ("median_fct_receiver_us", Measure::MedianFctReceiver),
    ("p99_fct_receiver_us", Measure::P99FctReceiver),
    ("last_fct_sender_us", Measure::LastFctSender),
    ("last_over_ideal_percent", Measure::LastOverIdealPercent),
    ("slowest_over_fastest", Measure::SlowestOverFastest),
    ("flows_of_3_to_5_5_gbps", Measure::FlowsOf3To5Gbps),
    ("least_core_link_percent", Measure::LeastCoreLinkPercent),
    ("uplink_trim_percent", Measure::UplinkTrimPercent),
    ("tor_up_trim_percent", Measure::TorUpTrimPercent),
    ("past_tor_trim_percent", Measure::PastTorTrimPercent),
    ("tor_down_drops", Measure::TorDownDrops),
    ("aggregation_down_drops", Measure::AggregationDownDrops),
    ("path_removals", Measure::PathRemovals),
    ("retransmissions_per_packet", Measure::RetransmissionsPerPacket),
    ("nack_retransmissions_per_packet", Measure::NackRetransmissionsPerPacket),
    ("return_retransmissions_per_packet", Measure::ReturnRetransmissionsPerPacket),
    ("nack_over_return", Measure::NackOverReturn),
    ("host_link_percent", Measure::HostLinkPercent),
    ("median_latency_us", Measure::MedianLatency),
    ("median_later_latency_us", Measure::MedianLaterLatency),
    ("max_latency_us", Measure::MaxLatency),
    ("returned_header_percent", Measure::ReturnedHeaderPercent),
    ("fair_share_percent", Measure::FairSharePercent),
    ("worst_decile_fair_share_percent", Measure::WorstDecileFairSharePercent),
    ("worst_decile_below_mean_points", Measure::WorstDecileBelowMean),
    ("timeout_retransmissions_percent", Measure::TimeoutRetransmissionsPercent),
    ("timeline_trims", Measure::TimelineTrims),
    ("timeline_idle_us", Measure::TimelineIdle),
    ("timeline_low_us", Measure::TimelineLow),
    ("retransmission_finds_packets", Measure::RetransmissionFindsPackets),
];

impl Measure {
    /// The measure of this name.
    pub fn named(name: &str) -> Option<Measure> {
        NAMES.iter().find(|(known, _)| *known == name).map(|&(_, measure)| measure)
    }

    /// All names.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|&(name, _)| name)
    }

    /// The number, over the flows that `selection` takes. `None` when there are no such flows, or
    /// when one of them has not the time that is asked for: an unfinished flow is no fast flow.
    pub fn of(self, record: &RunRecord, selection: &Selection) -> Option<f64> {
        let flows: Vec<FlowRecord> =
            record.flows.iter().filter(|flow| selection.takes(flow)).collect();
        if flows.is_empty() {
            return None;
        }
        let goodputs = || -> Option<Vec<f64>> {
            flows.iter().map(|flow| goodput_gbps(flow, record.measured_ps)).collect()
        };
        let times = |of: fn(&FlowRecord) -> Option<u64>| -> Option<Vec<f64>> {
            flows.iter().map(|flow| of(flow).map(|ps| ps as f64)).collect()
        };
        let receiver = || times(|flow| flow.fct_receiver_ps);
        let total = |of: fn(&FlowRecord) -> u64| flows.iter().map(of).sum::<u64>();
        let per_packet = |count: u64| {
            (record.packets_delivered > 0).then(|| count as f64 / record.packets_delivered as f64)
        };
        match self {
            Measure::MeanGoodput => goodputs().as_deref().and_then(crate::statistics::mean),
            Measure::MeanGoodputPercent => {
                Measure::MeanGoodput.of(record, selection).map(|gbps| gbps * 10.0)
            }
            Measure::MinGoodput => goodputs().map(|goodputs| min(&goodputs)),
            Measure::PacketHops => Some(record.packet_hops as f64 / 1e6),
            Measure::HopsPerDeliveredPacket => (record.packets_delivered > 0)
                .then(|| record.packet_hops as f64 / record.packets_delivered as f64),
            Measure::LastFctReceiver => receiver().map(|times| max(&times) / 1e6),
            Measure::MedianFctReceiver => fct_quantile(&flows, 5000),
            Measure::P99FctReceiver => fct_quantile(&flows, 9900),
            Measure::LastFctSender => {
                times(|flow| flow.fct_sender_ps).map(|times| max(&times) / 1e6)
            }
            Measure::LastOverIdealPercent => {
                let packets: u64 = flows
                    .iter()
                    .map(|f| f.size_bytes.map(|b| b.div_ceil(PACKET_BYTES)))
                    .sum::<Option<u64>>()?;
                let ideal = packets as f64 * PACKET_PS + WAY_PS;
                receiver().map(|times| (max(&times) / ideal - 1.0) * 100.0)
            }
            Measure::SlowestOverFastest => receiver().map(|times| max(&times) / min(&times)),
            Measure::FlowsOf3To5Gbps => goodputs().map(|goodputs| {
                goodputs.iter().filter(|gbps| (3.0..=5.5).contains(*gbps)).count() as f64
            }),
            Measure::LeastCoreLinkPercent => least_core_link_percent(record),
            Measure::UplinkTrimPercent => {
                let trimmed: u64 = record
                    .ports
                    .iter()
                    .filter(|port| port.name.contains(" up "))
                    .map(|port| port.trimmed)
                    .sum();
                percent(trimmed, total(|flow| flow.packets_sent))
            }
            Measure::TorUpTrimPercent => {
                let trimmed = at_ports(record, "tor", "up", |port| port.trimmed);
                percent(trimmed, total(|flow| flow.packets_sent))
            }
            Measure::PastTorTrimPercent => {
                let first = at_ports(record, "tor", "up", |port| port.trimmed);
                let all: u64 = record.ports.iter().map(|port| port.trimmed).sum();
                percent(all - first, total(|flow| flow.packets_sent).saturating_sub(first))
            }
            Measure::TorDownDrops => {
                Some(at_ports(record, "tor", "down", |port| port.dropped) as f64)
            }
            Measure::AggregationDownDrops => {
                Some(at_ports(record, "aggregation", "down", |port| port.dropped) as f64)
            }
            Measure::PathRemovals => Some(total(|flow| flow.path_removals) as f64),
            Measure::RetransmissionsPerPacket => per_packet(total(|flow| {
                flow.retransmissions_signalled
                    + flow.retransmissions_return
                    + flow.retransmissions_timeout
            })),
            Measure::NackRetransmissionsPerPacket => {
                per_packet(total(|flow| flow.retransmissions_signalled))
            }
            Measure::ReturnRetransmissionsPerPacket => {
                per_packet(total(|flow| flow.retransmissions_return))
            }
            Measure::NackOverReturn => {
                let returned = total(|flow| flow.retransmissions_return);
                // Without a single return NACKs are the only cause, however few they are.
                Some(total(|flow| flow.retransmissions_signalled) as f64 / returned.max(1) as f64)
            }
            Measure::HostLinkPercent => {
                let links = record
                    .ports
                    .iter()
                    .filter(|port| port.name.starts_with("tor ") && port.name.contains(" down "));
                let (count, bytes) =
                    links.fold((0, 0), |(count, bytes), port| (count + 1, bytes + port.bytes));
                let most = record.simulated_ps as f64 / 800.0 * f64::from(count);
                (most > 0.0).then(|| bytes as f64 / most * 100.0)
            }
            Measure::MedianLatency => latency(record, 5000, |_| true),
            Measure::MedianLaterLatency => latency(record, 5000, |latency| !latency.first_window),
            Measure::MaxLatency => latency(record, 10_000, |_| true),
            Measure::ReturnedHeaderPercent => {
                let returns = total(|flow| flow.returns);
                percent(returns, returns + total(|flow| flow.trims))
            }
            Measure::FairSharePercent => {
                let goodputs = goodputs()?;
                Some(goodputs.iter().sum::<f64>() * 10.0)
            }
            Measure::WorstDecileFairSharePercent => {
                let mut goodputs = goodputs()?;
                goodputs.sort_by(f64::total_cmp);
                let tenth = goodputs.len().div_ceil(10);
                let mean = goodputs[..tenth].iter().sum::<f64>() / tenth as f64;
                Some(mean * goodputs.len() as f64 * 10.0)
            }
            Measure::WorstDecileBelowMean => {
                let mean = Measure::FairSharePercent.of(record, selection)?;
                Some(mean - Measure::WorstDecileFairSharePercent.of(record, selection)?)
            }
            Measure::TimeoutRetransmissionsPercent => {
                percent(total(|flow| flow.retransmissions_timeout), total(|flow| flow.packets_sent))
            }
            Measure::TimelineTrims => {
                let trimmed = |count: usize| (!record.timeline.events.is_empty()).then_some(count);
                let events = record.timeline.at(selection.place.as_deref());
                trimmed(events.filter(|event| event.what == What::Trim).count())
                    .map(|count| count as f64)
            }
            Measure::TimelineIdle => idle_us(&record.timeline, selection.place.as_deref()),
            Measure::TimelineLow => low_us(&record.timeline, selection.place.as_deref()),
            Measure::RetransmissionFindsPackets => {
                let arrivals = record.timeline.at(selection.place.as_deref()).filter(|event| {
                    event.what == What::Enqueue
                        && event.packet == PacketKind::Data
                        && event.attempt > 0
                });
                // Less itself.
                let found = arrivals.filter_map(|event| event.queue.map(|queue| queue.0 - 1));
                found.min().map(f64::from)
            }
        }
    }
}

/// Goodput of a flow in Gb/s. Long-lived: payload in the measured interval of `measured_ps`. Sized:
/// size over FCT at the receiver, `None` when it was not delivered.
pub fn goodput_gbps(flow: &FlowRecord, measured_ps: u64) -> Option<f64> {
    let (bytes, ps) = match flow.size_bytes {
        None => (flow.measured_bytes, measured_ps),
        Some(size) => (size, flow.fct_receiver_ps?),
    };
    // Bits per picosecond are terabits per second.
    (ps > 0).then(|| (bytes * 8) as f64 / ps as f64 * 1000.0)
}

/// A quantile of the times at the receiver, us.
fn fct_quantile(flows: &[FlowRecord], share: u32) -> Option<f64> {
    let mut times: Vec<u64> =
        flows.iter().map(|flow| flow.fct_receiver_ps.unwrap_or(u64::MAX)).collect();
    times.sort_unstable();
    let time = crate::statistics::quantile(&times, share)?;
    (time != u64::MAX).then(|| time as f64 / 1e6)
}

/// A counter of all ports of switches of one kind that send in one direction: "tor 3 up 2" is a ToR's, "up".
fn at_ports(record: &RunRecord, kind: &str, side: &str, of: fn(&PortRecord) -> u64) -> u64 {
    let is_there = |port: &&PortRecord| {
        let mut words = port.name.split(' ');
        words.next() == Some(kind) && words.nth(1) == Some(side)
    };
    record.ports.iter().filter(is_there).map(of).sum()
}

/// The time in which a link of the timeline carried little data.
fn low_us(timeline: &Timeline, place: Option<&str>) -> Option<f64> {
    const INTERVAL_PS: u64 = 100_000_000;
    let departures = || timeline.at(place).filter(|event| event.what == What::Depart);
    let begin = departures().next()?.time_ps;
    let end = departures().last()?.time_ps;
    let mut busy = vec![0; ((end - begin) / INTERVAL_PS) as usize];
    for event in departures().filter(|event| event.packet == PacketKind::Data) {
        if let Some(busy) = busy.get_mut(((event.time_ps - begin) / INTERVAL_PS) as usize) {
            *busy += event.until_ps.unwrap_or(event.time_ps) - event.time_ps;
        }
    }
    let low = busy.iter().filter(|&&busy| busy * 10 < INTERVAL_PS * 9).count() as u64;
    Some((low * INTERVAL_PS) as f64 / 1e6)
}

/// A quantile of the sorted latencies that `wanted` takes, us.
fn latency(record: &RunRecord, share: u32, wanted: fn(&PacketLatency) -> bool) -> Option<f64> {
    let sorted: Vec<u64> =
        record.latencies.iter().filter(|latency| wanted(latency)).map(|l| l.ps).collect();
    crate::statistics::quantile(&sorted, share).map(|ps| ps as f64 / 1e6)
}

fn percent(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64 * 100.0)
}

/// The most, over the places, of the time between two departures in which nothing was sent.
fn idle_us(timeline: &Timeline, place: Option<&str>) -> Option<f64> {
    // By place: when it became free, and how long it was idle.
    let mut links: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for event in timeline.at(place).filter(|event| event.what == What::Depart) {
        let (free, idle) = links.entry(event.place).or_insert((event.time_ps, 0));
        *idle += event.time_ps.saturating_sub(*free);
        *free = event.until_ps.unwrap_or(event.time_ps);
    }
    links.values().map(|&(_, idle)| idle).max().map(|ps| ps as f64 / 1e6)
}

/// The ports of a switch stand side by side in the record.
fn least_core_link_percent(record: &RunRecord) -> Option<f64> {
    let switch = |port: &PortRecord| {
        let side = if port.name.starts_with("core ") { " down " } else { " up " };
        let (switch, _) = port.name.split_once(side)?;
        (!switch.starts_with("tor ")).then(|| switch.to_owned())
    };
    let ports = record.ports.as_slice();
    let shares = ports.chunk_by(|a, b| switch(a) == switch(b)).filter_map(|ports| {
        switch(&ports[0])?;
        let bytes: Vec<f64> = ports.iter().map(|port| port.bytes as f64).collect();
        let mean = crate::statistics::mean(&bytes)?;
        (mean > 0.0).then(|| min(&bytes) / mean * 100.0)
    });
    shares.min_by(f64::total_cmp)
}

fn max(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

fn min(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::PortRecord;
    use crate::table::tests::{flow, record};
    use crate::timeline::Event;
    use crate::timeline::tests::event;

    fn of(name: &str, record: &RunRecord) -> Option<f64> {
        Measure::named(name).unwrap().of(record, &Selection::default())
    }

    #[test]
    fn an_incast_at_its_ideal_is_zero_percent_over() {
        // Three senders of 50 packets: 3 x 50 x 7.2512 + 42.256 us.
        let last = 1_087_680_000 + 42_256_000;
        let mut run = record(vec![
            flow(1, Some(450_000), Some(last / 2)),
            flow(2, Some(450_000), Some(last)),
            flow(3, Some(450_000), Some(last - 1)),
        ]);
        assert!(of("last_over_ideal_percent", &run).unwrap().abs() < 1e-9);
        assert_eq!(of("slowest_over_fastest", &run), Some(2.0));
        assert_eq!(of("last_fct_receiver_us", &run), Some(last as f64 / 1e6));
        run.flows.in_memory()[0].fct_receiver_ps = None;
        assert_eq!(of("last_over_ideal_percent", &run), None);
        assert_eq!(of("slowest_over_fastest", &run), None);
    }

    #[test]
    fn exact_times_stay_exact_as_microseconds() {
        let run = record(vec![flow(1, Some(270_000), Some(1_668_124_800))]);
        assert_eq!(of("last_fct_receiver_us", &run), Some(1668.1248));
    }

    #[test]
    fn goodput_counts_the_measured_interval() {
        let run = record(vec![flow(1, None, None), flow(2, None, None)]);
        assert_eq!(of("mean_goodput_gbps", &run), Some(7.2));
        assert_eq!(of("mean_goodput_percent", &run), Some(72.0));
        let selection = Selection { pair: Some((2, 0)), ..Selection::default() };
        assert_eq!(Measure::MinGoodput.of(&run, &selection), Some(7.2));
        let selection = Selection { pair: Some((0, 2)), ..Selection::default() };
        assert_eq!(Measure::MinGoodput.of(&run, &selection), None);
        let early = |end| Selection { started_before_ps: Some(end), ..Selection::default() };
        let counted = |end| Measure::PathRemovals.of(&run, &early(end));
        assert_eq!(
            (counted(0), counted(1)),
            (None, Measure::PathRemovals.of(&run, &Selection::default()))
        );
        let selection = Selection { workload: Some("other".into()), ..Selection::default() };
        assert_eq!(Measure::MeanGoodput.of(&run, &selection), None);
    }

    #[test]
    fn trims_count_on_the_way_up_alone() {
        let mut run = record(vec![flow(1, None, None), flow(2, None, None)]);
        run.flows.in_memory().iter_mut().for_each(|flow| flow.packets_sent = 100);
        let port = |name: &str, trimmed| PortRecord {
            name: name.to_owned(),
            trimmed,
            ..PortRecord::default()
        };
        run.ports = vec![
            port("tor 0 up 1", 2),
            port("aggregation 3 up 0", 1),
            port("tor 0 down 0", 50),
            port("core 1 down 2", 70),
        ];
        assert_eq!(of("uplink_trim_percent", &run), Some(1.5));
    }

    #[test]
    fn latencies_are_told_apart() {
        let mut run = record(vec![flow(1, None, None)]);
        assert_eq!(of("median_latency_us", &run), None);
        let latency = |us: u64, first_window| PacketLatency { ps: us * 1_000_000, first_window };
        run.latencies =
            vec![latency(5, true), latency(6, true), latency(7, false), latency(9, false)];
        assert_eq!(of("median_latency_us", &run), Some(6.0));
        assert_eq!(of("median_later_latency_us", &run), Some(7.0));
        assert_eq!(of("max_latency_us", &run), Some(9.0));
    }

    #[test]
    fn fair_shares_of_a_link() {
        // Eleven flows of 9e5 B in a millisecond: 7.2 Gb/s each in the fixture; two are slower.
        let mut run = record((1..=11).map(|source| flow(source, None, None)).collect());
        run.flows.in_memory().iter_mut().for_each(|flow| flow.measured_bytes = 100_000);
        run.flows.in_memory()[3].measured_bytes = 50_000;
        run.flows.in_memory()[4].measured_bytes = 0;
        let whole = (9.0 * 0.8 + 0.4) * 10.0;
        assert!((of("fair_share_percent", &run).unwrap() - whole).abs() < 1e-9);
        let worst = 0.2 * 11.0 * 10.0;
        assert!((of("worst_decile_fair_share_percent", &run).unwrap() - worst).abs() < 1e-9);
        let below = of("worst_decile_below_mean_points", &run).unwrap();
        assert!((below - (whole - worst)).abs() < 1e-9);
    }

    #[test]
    fn retransmissions_are_told_apart() {
        let mut run = record(vec![flow(1, None, None), flow(2, None, None)]);
        run.packets_delivered = 10;
        for flow in run.flows.in_memory() {
            flow.packets_sent = 100;
            flow.retransmissions_signalled = 3;
            flow.retransmissions_return = 2;
            flow.retransmissions_timeout = 1;
            flow.path_removals = 4;
        }
        assert_eq!(of("retransmissions_per_packet", &run), Some(1.2));
        assert_eq!(of("nack_retransmissions_per_packet", &run), Some(0.6));
        assert_eq!(of("return_retransmissions_per_packet", &run), Some(0.4));
        assert_eq!(of("timeout_retransmissions_percent", &run), Some(1.0));
        assert_eq!(of("path_removals", &run), Some(8.0));
    }

    #[test]
    fn slow_flows_are_counted() {
        let mut run = record((1..=4).map(|source| flow(source, None, None)).collect());
        for (flow, gbps) in run.flows.in_memory().iter_mut().zip([2.9, 3.1, 5.4, 5.6]) {
            flow.measured_bytes = (gbps / 8000.0 * run.measured_ps as f64) as u64;
        }
        assert_eq!(of("flows_of_3_to_5_5_gbps", &run), Some(2.0));
    }

    #[test]
    fn a_core_link_is_compared_with_those_of_its_switch() {
        let mut run = record(vec![flow(1, None, None)]);
        assert_eq!(of("least_core_link_percent", &run), None);
        let port = |name: &str, bytes| PortRecord {
            name: name.to_owned(),
            bytes,
            ..PortRecord::default()
        };
        run.ports = vec![
            port("tor 0 up 0", 1),
            port("tor 0 up 1", 999),
            port("aggregation 0 down 0", 1),
            port("aggregation 0 up 0", 1_000),
            port("aggregation 0 up 1", 3_000),
            port("aggregation 1 up 0", 700),
            port("aggregation 1 up 1", 700),
        ];
        assert_eq!(of("least_core_link_percent", &run), Some(50.0));
        run.ports.push(port("core 0 down 0", 900));
        run.ports.push(port("core 0 down 1", 100));
        assert_eq!(of("least_core_link_percent", &run), Some(20.0));
    }

    #[test]
    fn a_timeline_says_when_a_link_was_idle_and_what_a_retransmission_found() {
        let mut run = record(vec![flow(1, None, None)]);
        assert_eq!(of("timeline_trims", &run), None);
        assert_eq!(of("timeline_idle_us", &run), None);
        assert_eq!(of("retransmission_finds_packets", &run), None);
        let sends = |place, begin: u64, end: u64| Event {
            place,
            until_ps: Some(end),
            ..event(begin * 1_000_000, What::Depart)
        };
        let us = 1_000_000;
        run.timeline.places = vec!["tor 0 down 0".into(), "host 1".into()];
        run.timeline.events = vec![
            event(1, What::Enqueue),
            event(1, What::Trim),
            sends(0, 2, 5 * us),
            sends(1, 3, 4 * us),
            sends(0, 5, 6 * us),
            Event { attempt: 1, queue: Some((4, 1)), ..event(6 * us, What::Enqueue) },
            Event { attempt: 2, queue: Some((3, 1)), ..event(7 * us, What::Enqueue) },
            // Neither a header nor a departure is a retransmission that comes.
            Event { attempt: 1, packet: PacketKind::Header, ..event(7 * us, What::Enqueue) },
            sends(0, 8, 9 * us),
            sends(1, 9, 10 * us),
        ];
        assert_eq!(of("timeline_trims", &run), Some(1.0));
        assert_eq!(of("timeline_idle_us", &run), Some(5.0));
        assert_eq!(of("retransmission_finds_packets", &run), Some(2.0));
        let at = |name: &str, place: &str| {
            let place = Some(place.to_owned());
            Measure::named(name).unwrap().of(&run, &Selection { place, ..Selection::default() })
        };
        assert_eq!(at("timeline_idle_us", "tor 0 down 0"), Some(2.0));
        assert_eq!(at("timeline_trims", "host 1"), Some(0.0));
        assert_eq!(at("retransmission_finds_packets", "host 1"), None);
    }

    #[test]
    fn a_quantile_takes_unfinished_flows_for_the_slowest() {
        let us = 1_000_000;
        let times = [Some(30), Some(10), None, Some(20)];
        let flows = times.map(|us_each| flow(1, Some(9000), us_each.map(|each: u64| each * us)));
        let run = record(flows.to_vec());
        assert_eq!(of("median_fct_receiver_us", &run), Some(20.0));
        assert_eq!(of("p99_fct_receiver_us", &run), None);
        let run = record(flows[..2].to_vec());
        assert_eq!(of("p99_fct_receiver_us", &run), Some(30.0));
    }

    #[test]
    fn trims_and_drops_are_counted_where_they_happen() {
        let mut run = record(vec![FlowRecord { packets_sent: 100, ..flow(1, None, None) }]);
        let port = |name: &str, trimmed, dropped| PortRecord {
            name: name.to_owned(),
            trimmed,
            dropped,
            ..PortRecord::default()
        };
        run.ports = vec![
            port("tor 0 down 0", 2, 3),
            port("tor 0 up 1", 30, 5),
            port("tor 1 up 0", 10, 0),
            port("aggregation 0 down 1", 1, 7),
            port("aggregation 0 up 1", 0, 9),
        ];
        assert_eq!(of("tor_up_trim_percent", &run), Some(40.0));
        assert_eq!(of("past_tor_trim_percent", &run), Some(5.0));
        assert_eq!(of("tor_down_drops", &run), Some(3.0));
        assert_eq!(of("aggregation_down_drops", &run), Some(7.0));
    }

    #[test]
    fn an_interval_is_low_below_nine_tenths_of_data() {
        let mut run = record(vec![flow(1, None, None)]);
        assert_eq!(of("timeline_low_us", &run), None);
        let sends = |begin: u64, end: u64| Event {
            until_ps: Some(end * 1_000_000),
            ..event(begin * 1_000_000, What::Depart)
        };
        run.timeline.places = vec!["tor 0 down 0".into()];
        let header = Event { packet: PacketKind::Header, ..sends(195, 215) };
        // From 5 us on: 90 us of the first interval, 89 of the second, none of the third; the fourth is not over.
        run.timeline.events =
            vec![sends(5, 95), sends(105, 194), header, sends(305, 310), sends(320, 330)];
        assert_eq!(of("timeline_low_us", &run), Some(200.0));
    }

    #[test]
    fn every_name_names_its_measure() {
        assert_eq!(Measure::names().filter_map(Measure::named).count(), NAMES.len());
        assert_eq!(Measure::named("goodput"), None);
    }
}
