//! Chosen flows and ports over time: flow_series.csv and port_series.csv.
//!
//! Some numbers are counted for every flow. Others belong to a transport, which lists them as [`SeriesColumn`] and
//! reports values by name through [`Readings`], so that a new transport needs no change here.

use trimline_packet::{PortCounters, Time};

use crate::csv::{share, table};
use crate::place::PortPlace;

/// A transport's column about its flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeriesColumn {
    /// Column name. Ends in the unit if that is ps, bytes or bit/s.
    pub name: &'static str,
    /// Unit, empty for a share.
    pub unit: &'static str,
    /// Meaning.
    pub about: &'static str,
    /// Relation of a row to the value.
    pub kind: Reading,
    /// Decimals: 1234 with three decimals prints as 1.234.
    pub decimals: u8,
}

/// Relation of a row to the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Value at the row's time.
    Level,
    /// Increase since the previous row. The value never falls.
    Count,
}

/// Receives a transport's column values.
#[derive(Debug)]
pub struct Readings<'a> {
    now: Time,
    columns: &'a [SeriesColumn],
    values: &'a mut [Option<u64>],
}

impl<'a> Readings<'a> {
    /// Creates readings at `now`, with a value per column.
    ///
    /// # Panics
    /// Panics unless there is one value per column.
    pub fn new(
        now: Time,
        columns: &'a [SeriesColumn],
        values: &'a mut [Option<u64>],
    ) -> Readings<'a> {
        assert_eq!(columns.len(), values.len(), "a value for each column");
        Readings { now, columns, values }
    }

    /// Time of the row.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Sets a value. Unset values are empty fields.
    ///
    /// # Panics
    /// Panics if the transport does not list the column.
    pub fn set(&mut self, name: &str, value: u64) {
        let place = self.columns.iter().position(|column| column.name == name);
        let place =
            place.unwrap_or_else(|| panic!("a transport gives `{name}`, and does not list it"));
        self.values[place] = Some(value);
    }
}

/// Columns counted for every flow since the previous row.
pub const COUNTED: [&str; 6] =
    ["packets_sent", "retransmissions", "trims", "returns", "timeouts", "delivered_bytes"];

/// Rows of flow_series.csv.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowSeries {
    /// Workload names, by number.
    pub workloads: Vec<String>,
    /// Columns of the run's transports.
    pub columns: Vec<SeriesColumn>,
    /// Rows by time, then host.
    pub rows: Vec<FlowRow>,
}

/// A flow at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowRow {
    /// Time since the start of the run.
    pub time_ps: u64,
    /// Time of the previous row.
    pub since_ps: u64,
    /// Workload number.
    pub workload: u32,
    /// Flow number within source and workload, as in flows.csv.
    pub index: u64,
    /// Source host.
    pub source: u32,
    /// Destination host.
    pub destination: u32,
    /// Values of [`COUNTED`].
    pub counted: [u64; COUNTED.len()],
    /// Values of [`FlowSeries::columns`].
    pub own: Vec<Option<u64>>,
}

impl FlowRow {
    /// Delivered bits per second since the previous row.
    pub fn rate_bps(&self) -> u64 {
        let [.., bytes] = self.counted;
        let bits = u128::from(bytes) * 8 * 1_000_000_000_000;
        u64::try_from(bits / u128::from(self.time_ps - self.since_ps).max(1)).unwrap_or(u64::MAX)
    }
}

/// First columns of flow_series.csv; those of transports follow.
pub fn flow_columns() -> Vec<&'static str> {
    let who = ["time_ps", "workload", "index", "source", "destination", "rate_bps"];
    who.into_iter().chain(COUNTED).collect()
}

/// Formats flow_series.csv.
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
    /// Formats a value with its decimals.
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
    /// Ports with their initial link rates in bit/s.
    pub ports: Vec<(PortPlace, u64)>,
    /// Rows by time, then port.
    pub rows: Vec<PortRow>,
}

/// A port at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortRow {
    /// Time since the start of the run.
    pub time_ps: u64,
    /// Time of the previous row.
    pub since_ps: u64,
    /// Index into [`PortSeries::ports`].
    pub port: u32,
    /// Counters of the interval.
    pub counters: PortCounters,
    /// Time in the interval that any class was paused.
    pub stopped_ps: u64,
    /// Bytes in all queues now, including the packet on the wire.
    pub queue_bytes: u64,
}

/// Columns of port_series.csv.
pub fn port_columns() -> Vec<&'static str> {
    let before = ["time_ps", "name", "utilisation", "stopped"].into_iter();
    before.chain(PortCounters::NAMES).chain(["queue_bytes"]).collect()
}

/// Formats port_series.csv.
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
    fn flow_series_csv_has_the_expected_bytes() {
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
    fn port_series_csv_has_the_expected_bytes() {
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
    fn an_unlisted_series_of_a_transport_panics() {
        Readings::new(Time::ZERO, &[WINDOW], &mut [None]).set("alpha", 1);
    }
}
