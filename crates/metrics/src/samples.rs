//! What a run samples over time: the ports of each layer in series.csv; chosen flows and ports in [`crate::series`].

use trimline_packet::PortCounters;

use crate::csv::{share, table};
use crate::place::{Direction, Layer};
use crate::series::{FlowSeries, PortSeries};

/// Samples of a run at equal distances.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Samples {
    /// Groups of ports.
    pub groups: Vec<PortGroup>,
    /// In order of time, one for each layer and instant.
    pub samples: Vec<Sample>,
    /// Chosen flows.
    pub flows: FlowSeries,
    /// Chosen ports.
    pub ports: PortSeries,
}

/// Ports of switches of one kind that send in one direction, or all hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortGroup {
    /// Layer of their switches.
    pub layer: Layer,
    /// Where their links lead.
    pub direction: Direction,
    /// Only those of this pod, and those of core switches that lead to it; `None`: of all pods.
    pub pod: Option<u32>,
    /// How many there are.
    pub ports: u64,
    /// Sum of their rates at the beginning, in bit/s.
    pub rate_bps: u64,
}

impl PortGroup {
    /// As series.csv names it: "tor up", "pod 3 tor up".
    pub fn name(&self) -> String {
        let pod = self.pod.map_or_else(String::new, |pod| format!("pod {pod} "));
        format!("{pod}{} {}", self.layer, self.direction)
    }
}

/// What the ports of a group did since the sample before, and how full they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// When, from the start of the run.
    pub time_ps: u64,
    /// Since when.
    pub since_ps: u64,
    /// Of [`Samples::groups`].
    pub group: u32,
    /// What they did since then.
    pub counters: PortCounters,
    /// How long pauses stopped any class of its ports, or its hosts, since then: summed over them.
    pub stopped_ps: u64,
    /// Bytes in all queues of all ports now, packets on the wire included. Of hosts: payload that was handed over to
    /// them, in flows of a size, and that they have not sent once.
    pub queue_bytes: u64,
    /// Of these, bytes in queues that whole data packets enter. Of hosts 0.
    pub data_queue_bytes: u64,
    /// Bytes in the queues of the fullest port now, or at the host with the most.
    pub queue_bytes_max: u64,
}

/// The columns of series.csv.
pub fn columns() -> Vec<&'static str> {
    let counters = PortCounters::NAMES.into_iter();
    let before = ["time_ps", "layer", "utilisation", "stopped"].into_iter();
    let behind = ["queue_bytes_mean", "queue_bytes_max", "data_queue_bytes_mean"];
    before.chain(counters).chain(behind).collect()
}

/// series.csv.
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
    fn series_csv_to_the_byte() {
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
                // Two of the four, for half of the ten microseconds.
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
