//! Named measures: one number of one run, as findings and figures use them.

use crate::record::{FlowRecord, RunRecord};

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
    /// When the last flow was acknowledged, counted from each flow's start, us.
    LastFctSender,
    /// By how many percent the last flow exceeds the ideal incast of the base model:
    /// n x p x 7.2512 us + 5 x 7.2512 us + 6 us for n senders of p packets.
    LastOverIdealPercent,
    /// FCT at the receiver: last over first.
    SlowestOverFastest,
}

/// Which flows count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Those of this workload.
    pub workload: Option<String>,
    /// Those from this source to this destination.
    pub pair: Option<(u32, u32)>,
}

impl Selection {
    fn takes(&self, flow: &FlowRecord) -> bool {
        self.workload.as_ref().is_none_or(|workload| *workload == flow.workload)
            && self.pair.is_none_or(|pair| pair == (flow.source, flow.destination))
    }
}

const NAMES: [(&str, Measure); 9] = [
    ("mean_goodput_gbps", Measure::MeanGoodput),
    ("mean_goodput_percent", Measure::MeanGoodputPercent),
    ("min_goodput_gbps", Measure::MinGoodput),
    ("packet_hops_millions", Measure::PacketHops),
    ("hops_per_delivered_packet", Measure::HopsPerDeliveredPacket),
    ("last_fct_receiver_us", Measure::LastFctReceiver),
    ("last_fct_sender_us", Measure::LastFctSender),
    ("last_over_ideal_percent", Measure::LastOverIdealPercent),
    ("slowest_over_fastest", Measure::SlowestOverFastest),
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
        let flows: Vec<&FlowRecord> =
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

fn max(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

fn min(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::tests::{flow, record};

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
        run.flows[0].fct_receiver_ps = None;
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
        let selection = Selection { workload: Some("other".into()), ..Selection::default() };
        assert_eq!(Measure::MeanGoodput.of(&run, &selection), None);
    }

    #[test]
    fn every_name_names_its_measure() {
        assert_eq!(Measure::names().filter_map(Measure::named).count(), NAMES.len());
        assert_eq!(Measure::named("goodput"), None);
    }
}
