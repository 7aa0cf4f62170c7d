//! Chosen flows and ports over time: flow_series.csv and port_series.csv.
//!
//! Some numbers are counted of every flow. Others are a transport's own: it lists them as [`SeriesColumn`] and gives their
//! values through [`Readings`], by name. So a new transport needs no change here.

use trimline_packet::{PortCounters, Time};

use crate::csv::{share, table};
use crate::place::PortPlace;

/// What a transport tells of its flows over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeriesColumn {
    /// Its column. The name ends in the unit, where the unit is ps, bytes or bit/s.
    pub name: &'static str,
    /// What one is, empty for a share.
    pub unit: &'static str,
    /// What it says.
    pub about: &'static str,
    /// What a row has of it.
    pub kind: Reading,
    /// Decimals of a value: 1234 with three of them is written 1.234.
    pub decimals: u8,
}

/// What a row has of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Its value at the time of the row.
    Level,
    /// By how much it rose since the row before. It never falls.
    Count,
}

/// Where a transport gives the values of its columns.
#[derive(Debug)]
pub struct Readings<'a> {
    now: Time,
    columns: &'a [SeriesColumn],
    values: &'a mut [Option<u64>],
}

impl<'a> Readings<'a> {
    /// Of this time, for these columns, a value each.
    ///
    /// # Panics
    /// There is not one value for each column.
    pub fn new(
        now: Time,
        columns: &'a [SeriesColumn],
        values: &'a mut [Option<u64>],
    ) -> Readings<'a> {
        assert_eq!(columns.len(), values.len(), "a value for each column");
        Readings { now, columns, values }
    }

    /// The time of the row.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Gives a value. What is not given is an empty field.
    ///
    /// # Panics
    /// The transport does not list a column of this name.
    pub fn set(&mut self, name: &str, value: u64) {
        let place = self.columns.iter().position(|column| column.name == name);
        let place =
            place.unwrap_or_else(|| panic!("a transport gives `{name}`, and does not list it"));
        self.values[place] = Some(value);
    }
}

/// What is counted of every flow since the row before, in the order of the columns.
pub const COUNTED: [&str; 6] =
    ["packets_sent", "retransmissions", "trims", "returns", "timeouts", "delivered_bytes"];

/// Rows of flow_series.csv.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowSeries {
    /// Names of the workloads, by number.
    pub workloads: Vec<String>,
    /// What the transports of the run tell.
    pub columns: Vec<SeriesColumn>,
    /// In the order of time, and at one time in that of hosts.
    pub rows: Vec<FlowRow>,
}

/// A flow at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowRow {
    /// When, from the start of the run.
    pub time_ps: u64,
    /// Since when is counted.
    pub since_ps: u64,
    /// The flow's workload, by number.
    pub workload: u32,
    /// As in flows.csv; so are the next two.
    pub index: u64,
    /// Source host.
    pub source: u32,
    /// Destination host.
    pub destination: u32,
    /// In the order of [`COUNTED`].
    pub counted: [u64; COUNTED.len()],
    /// In the order of [`FlowSeries::columns`].
    pub own: Vec<Option<u64>>,
}

impl FlowRow {
    /// What arrived since the row before, as a rate.
    pub fn rate_bps(&self) -> u64 {
        let [.., bytes] = self.counted;
        let bits = u128::from(bytes) * 8 * 1_000_000_000_000;
        u64::try_from(bits / u128::from(self.time_ps - self.since_ps).max(1)).unwrap_or(u64::MAX)
    }
}

/// The first columns of flow_series.csv; those of transports stand behind.
pub fn flow_columns() -> Vec<&'static str> {
    let who = ["time_ps", "workload", "index", "source", "destination", "rate_bps"];
    who.into_iter().chain(COUNTED).collect()
}

/// flow_series.csv.
pub fn flows_csv(series: &FlowSeries) -> Vec<u8> {
    let own = series.columns.iter().map(|column| column.name);
    let columns: Vec<&str> = flow_columns().into_iter().chain(own).collect();
    let rows = series.rows.iter().map(|row| {
        let name = series.workloads.get(row.workload as usize).cloned().unwrap_or_default();
        let mut cells = vec![row.time_ps.to_string(), name];
        let (source, destination) = (u64::from(row.source), u64::from(row.destination));
        let numbers = [row.index, source, destination, row.rate_bps()];
        cells.extend(numbers.into_iter().chain(row.counted).map(|number| number.to_string()));
        let own = series.columns.iter().zip(&row.own);
        cells.extend(own.map(|(column, value)| value.map_or_else(String::new, |v| column.text(v))));
        cells
    });
    table(&columns, rows)
}

impl SeriesColumn {
    /// A value with its decimals.
    fn text(&self, value: u64) -> String {
        match self.decimals {
            0 => value.to_string(),
            decimals => {
                let one = 10u64.pow(decimals.into());
                format!("{}.{:0width$}", value / one, value % one, width = decimals.into())
            }
        }
    }
}

/// Rows of port_series.csv.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortSeries {
    /// The ports, each with the rate of its link at the beginning in bit/s.
    pub ports: Vec<(PortPlace, u64)>,
    /// In the order of time, and at one time in that of `ports`.
    pub rows: Vec<PortRow>,
}

/// A port at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortRow {
    /// When, from the start of the run.
    pub time_ps: u64,
    /// Since when is counted.
    pub since_ps: u64,
    /// Of [`PortSeries::ports`].
    pub port: u32,
    /// What it did since then.
    pub counters: PortCounters,
    /// How long pauses stopped any of its classes since then.
    pub stopped_ps: u64,
    /// Bytes in all its queues now, the packet on the wire included.
    pub queue_bytes: u64,
}

/// The columns of port_series.csv.
pub fn port_columns() -> Vec<&'static str> {
    let before = ["time_ps", "name", "utilisation", "stopped"].into_iter();
    before.chain(PortCounters::NAMES).chain(["queue_bytes"]).collect()
}

/// port_series.csv.
pub fn ports_csv(series: &PortSeries) -> Vec<u8> {
    let rows = series.rows.iter().filter_map(|row| {
        let (place, rate_bps) = series.ports.get(row.port as usize)?;
        let sent = u128::from(row.counters.bytes) * 8 * 1_000_000_000_000;
        let interval = u128::from(row.time_ps - row.since_ps);
        let mut cells = vec![row.time_ps.to_string(), place.to_string()];
        cells.push(share(sent, u128::from(*rate_bps) * interval));
        cells.push(share(u128::from(row.stopped_ps), interval));
        cells.extend(row.counters.values().map(|value| value.to_string()));
        cells.push(row.queue_bytes.to_string());
        Some(cells)
    });
    table(&port_columns(), rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::{Direction, Layer};

    const WINDOW: SeriesColumn = SeriesColumn {
        name: "window_packets",
        unit: "packets",
        about: "",
        kind: Reading::Level,
        decimals: 3,
    };

    #[test]
    fn flow_series_csv_to_the_byte() {
        let row = FlowRow {
            time_ps: 30_000_000,
            since_ps: 20_000_000,
            index: 3,
            source: 1,
            counted: [2, 1, 0, 0, 0, 9000],
            own: vec![Some(12_034), None],
            ..FlowRow::default()
        };
        let pulls = SeriesColumn { name: "pulls_sent", decimals: 0, ..WINDOW };
        let series = FlowSeries {
            workloads: vec!["w".into()],
            columns: vec![WINDOW, pulls],
            rows: vec![row],
        };
        let expected = "\
time_ps,workload,index,source,destination,rate_bps,packets_sent,retransmissions,trims,returns,timeouts,delivered_bytes,window_packets,pulls_sent
30000000,w,3,1,0,7200000000,2,1,0,0,0,9000,12.034,
";
        assert_eq!(String::from_utf8(flows_csv(&series)).unwrap(), expected);
    }

    #[test]
    fn port_series_csv_to_the_byte() {
        let place = PortPlace { layer: Layer::Tor, switch: 2, direction: Direction::Down, link: 1 };
        let counters = PortCounters { packets: 1, bytes: 9064, marked: 1, ..Default::default() };
        let row = PortRow {
            time_ps: 30_000_000,
            since_ps: 20_000_000,
            counters,
            stopped_ps: 2_500_000,
            queue_bytes: 18_128,
            ..PortRow::default()
        };
        let series = PortSeries { ports: vec![(place, 10_000_000_000)], rows: vec![row] };
        let expected = "\
time_ps,name,utilisation,stopped,packets,bytes,trimmed,dropped,dropped_headers,returned,notified,marked,detoured,queue_bytes
30000000,tor 2 down 1,0.725120,0.250000,1,9064,0,0,0,0,0,1,0,18128
";
        assert_eq!(String::from_utf8(ports_csv(&series)).unwrap(), expected);
    }

    #[test]
    #[should_panic(expected = "gives `alpha`, and does not list it")]
    fn what_a_transport_gives_is_what_it_lists() {
        Readings::new(Time::ZERO, &[WINDOW], &mut [None]).set("alpha", 1);
    }
}
