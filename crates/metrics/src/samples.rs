//! Samples of a run over time: port layers in series.csv; for chosen flows and ports see [`crate::series`].

use trimline_packet::PortCounters;

use crate::csv::{share, table};
use crate::place::{Direction, Layer};
use crate::series::{FlowSeries, PortSeries};

/// Samples of a run at equal intervals.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Samples {
    /// Port groups.
    pub groups: Vec<PortGroup>,
    /// Samples in time order, one per group and instant.
    pub samples: Vec<Sample>,
    /// Chosen flows.
    pub flows: FlowSeries,
    /// Chosen ports.
    pub ports: PortSeries,
}

/// Switch ports of one layer and direction, or all hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortGroup {
    /// Layer of the switches.
    pub layer: Layer,
    /// Direction of the links.
    pub direction: Direction,
    /// Restricts the group to this pod, including core switch ports that lead to it; `None` for all pods.
    pub pod: Option<u32>,
    /// Number of ports.
    pub ports: u64,
    /// Sum of the initial link rates, in bit/s.
    pub rate_bps: u64,
}

impl PortGroup {
    /// Name in series.csv: "tor up", "pod 3 tor up".
    pub fn name(&self) -> String {
        let pod = self.pod.map_or_else(String::new, |pod| format!("pod {pod} "));
        format!("{pod}{} {}", self.layer, self.direction)
    }
}

/// State of a group, and its counters since the previous sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Time since the start of the run.
    pub time_ps: u64,
    /// Time of the previous sample.
    pub since_ps: u64,
    /// Index into [`Samples::groups`].
    pub group: u32,
    /// Counters of the interval.
    pub counters: PortCounters,
    /// Time in the interval that any class was paused, summed over ports or hosts.
    pub stopped_ps: u64,
    /// Bytes in all queues now, including packets on the wire. For hosts: payload of sized flows that waits for its
    /// first transmission.
    pub queue_bytes: u64,
    /// Bytes in queues for whole data packets, a part of `queue_bytes`. For hosts 0.
    pub data_queue_bytes: u64,
    /// Bytes at the fullest port or host now.
    pub queue_bytes_max: u64,
}

/// Columns of series.csv.
pub fn columns() -> Vec<&'static str> {
    let counters = PortCounters::NAMES.into_iter();
    let before = ["time_ps", "layer", "utilisation", "stopped"].into_iter();
    let behind = ["queue_bytes_mean", "queue_bytes_max", "data_queue_bytes_mean"];
    before.chain(counters).chain(behind).collect()
}

/// Formats series.csv.
pub fn csv(samples: &Samples) -> Vec<u8> {
    let rows = samples.samples.iter().filter_map(|sample| {
        let group = samples.groups.get(sample.group as usize)?;
        let interval = u128::from(sample.time_ps - sample.since_ps);
        let mut row = vec![
            sample.time_ps.to_string(),
            group.name(),
            share(
                u128::from(sample.counters.bytes) * 8 * 1_000_000_000_000,
                u128::from(group.rate_bps) * interval,
            ),
            share(u128::from(sample.stopped_ps), u128::from(group.ports) * interval),
        ];
        row.extend(sample.counters.values().map(|value| value.to_string()));
        row.push(share(u128::from(sample.queue_bytes), u128::from(group.ports)));
        row.push(sample.queue_bytes_max.to_string());
        row.push(share(u128::from(sample.data_queue_bytes), u128::from(group.ports)));
        Some(row)
    });
    table(&columns(), rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_csv_has_the_expected_bytes() {
        let samples = Samples {
            groups: vec![PortGroup {
                layer: Layer::Tor,
                direction: Direction::Up,
                pod: Some(2),
                ports: 4,
                rate_bps: 40_000_000_000,
            }],
            samples: vec![Sample {
                time_ps: 30_000_000,
                since_ps: 20_000_000,
                counters: PortCounters {
                    packets: 4,
                    bytes: 36_256,
                    trimmed: 1,
                    ..Default::default()
                },
                // Two of four ports, for half of ten microseconds.
                stopped_ps: 10_000_000,
                queue_bytes: 18_128,
                data_queue_bytes: 9_064,
                queue_bytes_max: 9_064,
                ..Sample::default()
            }],
            ..Samples::default()
        };
        let expected = "\
time_ps,layer,utilisation,stopped,packets,bytes,trimmed,dropped,dropped_headers,returned,notified,marked,detoured,queue_bytes_mean,queue_bytes_max,data_queue_bytes_mean
30000000,pod 2 tor up,0.725120,0.250000,4,36256,1,0,0,0,0,0,0,4532.000000,9064,2266.000000
";
        assert_eq!(String::from_utf8(csv(&samples)).unwrap(), expected);
    }
}
