//! flows.csv, ports.csv, links.csv and others: rows are flows, ports, links; column names end in units.

use std::io::{self, Write};

use trimline_packet::PortCounters;

use crate::csv::{line, table};
use crate::flow::{FlowEnd, FlowRecord};
use crate::record::{
    HostCounters, HostRecord, LinkRecord, PacketLatency, PathRecord, PauseRecord, PortRecord,
    RunRecord,
};
use crate::statistics::quantile;

/// Columns of flows.csv. Missing numbers are empty fields.
pub const FLOW_COLUMNS: [&str; 23] = [
    "workload",
    "index",
    "id",
    "source",
    "destination",
    "size_bytes",
    "start_ps",
    "host_wait_ps",
    "fct_receiver_ps",
    "fct_sender_ps",
    "ideal_fct_ps",
    "ideal_fct_sender_ps",
    "slowdown",
    "delivered_bytes",
    "measured_bytes",
    "packets_sent",
    "retransmissions_signalled",
    "retransmissions_return",
    "retransmissions_timeout",
    "trims",
    "returns",
    "timeouts",
    "end",
];

/// Columns of ports.csv.
pub fn port_columns() -> Vec<&'static str> {
    ["name"].into_iter().chain(PortCounters::NAMES).chain(["rate_bps"]).collect()
}

/// Writes flows.csv, rows in record order.
///
/// # Errors
/// Fails if `out` fails.
pub fn write_flows(record: &RunRecord, mut out: impl Write) -> io::Result<()> {
    out.write_all(&line(&FLOW_COLUMNS))?;
    let (mut name, mut row) = (None, FlowRow::default());
    for flow in record.flows.iter() {
        if name.as_ref() != Some(&flow.workload) {
            row.name = quoted(&flow.workload);
            name = Some(flow.workload.clone());
        }
        row.write(&flow);
        out.write_all(&row.text)?;
    }
    Ok(())
}

/// Formats ports.csv, rows in record order.
pub fn ports(record: &RunRecord) -> Vec<u8> {
    table(&port_columns(), record.ports.iter().map(port_row))
}

/// Columns of pauses.csv.
pub const PAUSE_COLUMNS: [&str; 4] = ["name", "sent", "received", "stopped_ps"];

/// Formats pauses.csv, rows in record order.
pub fn pauses(record: &RunRecord) -> Vec<u8> {
    let row = |pauses: &PauseRecord| {
        let PauseRecord { place, sent, received, stopped_ps } = pauses;
        [place.to_string(), sent.to_string(), received.to_string(), stopped_ps.to_string()]
    };
    table(&PAUSE_COLUMNS, record.pauses.iter().map(row))
}

/// Columns of hosts.csv.
pub fn host_columns() -> Vec<&'static str> {
    ["host"].into_iter().chain(HostCounters::NAMES).chain(HostRecord::MEASURED).collect()
}

/// Formats hosts.csv, rows in record order.
pub fn hosts(record: &RunRecord) -> Vec<u8> {
    let row = |host: &HostRecord| -> Vec<String> {
        let numbers = [u64::from(host.host)].into_iter().chain(host.counters.values());
        let numbers = numbers.chain(host.measured_values());
        numbers.map(|number| number.to_string()).collect()
    };
    table(&host_columns(), record.hosts.iter().map(row))
}

/// Columns of paths.csv.
pub const PATH_COLUMNS: [&str; 5] = ["workload", "up_to_bytes", "links", "detours", "packets"];

/// Formats paths.csv, rows in record order.
pub fn paths(record: &RunRecord) -> Vec<u8> {
    let row = |path: &PathRecord| {
        let PathRecord { workload, up_to_bytes, links, detours, packets } = path;
        [
            workload.to_string(),
            up_to_bytes.map_or_else(String::new, |bytes| bytes.to_string()),
            links.to_string(),
            detours.to_string(),
            packets.to_string(),
        ]
    };
    table(&PATH_COLUMNS, record.paths.iter().map(row))
}

/// Columns of links.csv.
pub const LINK_COLUMNS: [&str; 5] = ["name", "failed", "lost", "corrupted", "rate_bps"];

/// Formats links.csv, rows in record order.
pub fn links(record: &RunRecord) -> Vec<u8> {
    let row = |link: &LinkRecord| {
        let [failed, lost, corrupted] = link.counters.values().map(|value| value.to_string());
        [link.place.to_string(), failed, lost, corrupted, link.rate_bps.to_string()]
    };
    table(&LINK_COLUMNS, record.links.iter().map(row))
}

/// Columns of latencies.csv.
pub const LATENCY_COLUMNS: [&str; 3] = ["packets", "share_permille", "latency_ps"];

/// Formats latencies.csv: nearest-rank quantiles of all packets, and of packets behind the first window.
pub fn latencies(record: &RunRecord) -> Vec<u8> {
    let of = |wanted: fn(&PacketLatency) -> bool| -> Vec<u64> {
        record.latencies.iter().filter(|latency| wanted(latency)).map(|l| l.ps).collect()
    };
    let groups = [("all", of(|_| true)), ("later", of(|latency| !latency.first_window))];
    let rows = groups.iter().flat_map(|(name, sorted)| {
        (0..=1000).filter_map(move |permille| {
            let latency = quantile(sorted, permille * 10)?;
            Some([(*name).to_owned(), permille.to_string(), latency.to_string()])
        })
    });
    table(&LATENCY_COLUMNS, rows)
}

/// Name of a flow's end in flows.csv.
pub fn end_name(end: FlowEnd) -> &'static str {
    match end {
        FlowEnd::Completed => "completed",
        FlowEnd::Delivered => "delivered",
        FlowEnd::RunEnded => "run-ended",
        FlowEnd::LongLived => "long-lived",
        FlowEnd::NotStarted => "not-started",
    }
}

/// Buffer for a row of flows.csv, reused for millions of rows.
#[derive(Default)]
struct FlowRow {
    /// Quoted workload name.
    name: Vec<u8>,
    text: Vec<u8>,
}

impl FlowRow {
    fn write(&mut self, flow: &FlowRecord) {
        self.text.clear();
        self.text.extend(&self.name);
        self.number(flow.index);
        self.some(flow.id.map(|id| u64::from(id.get())));
        self.number(u64::from(flow.source));
        self.number(u64::from(flow.destination));
        self.some(flow.size_bytes);
        self.number(flow.start_ps);
        self.some(flow.host_wait_ps);
        self.some(flow.fct_receiver_ps);
        self.some(flow.fct_sender_ps);
        self.some(flow.ideal_fct_ps);
        self.some(flow.ideal_fct_sender_ps);
        self.slowdown(flow.slowdown_millionths());
        self.number(flow.delivered_bytes);
        self.number(flow.measured_bytes);
        self.number(flow.packets_sent);
        self.number(flow.retransmissions_signalled);
        self.number(flow.retransmissions_return);
        self.number(flow.retransmissions_timeout);
        self.number(flow.trims);
        self.number(flow.returns);
        self.number(flow.timeouts);
        self.text.push(b',');
        self.text.extend(end_name(flow.end).as_bytes());
        self.text.push(b'\n');
    }

    fn number(&mut self, number: u64) {
        self.text.push(b',');
        self.digits(number);
    }

    fn some(&mut self, number: Option<u64>) {
        self.text.push(b',');
        number.into_iter().for_each(|number| self.digits(number));
    }

    /// Writes six decimals.
    fn slowdown(&mut self, millionths: Option<u64>) {
        self.text.push(b',');
        if let Some(millionths) = millionths {
            self.digits(millionths / 1_000_000);
            // A leading one keeps the zeros; the point replaces it.
            let point = self.text.len();
            self.digits(1_000_000 + millionths % 1_000_000);
            self.text[point] = b'.';
        }
    }

    fn digits(&mut self, number: u64) {
        self.text.extend(itoa::Buffer::new().format(number).as_bytes());
    }
}

/// Quotes a CSV field.
fn quoted(field: &str) -> Vec<u8> {
    // An empty field alone would look like an empty line.
    let mut text = line(&[field, ""]);
    text.truncate(text.len() - ",\n".len());
    text
}

fn port_row(port: &PortRecord) -> Vec<String> {
    let counters = port.counters.values().map(|value| value.to_string());
    [port.name()].into_iter().chain(counters).chain([port.rate_bps.to_string()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{flow, record};

    #[test]
    fn flows_csv_has_the_expected_bytes() {
        let mut late = flow(1, Some(270_000), Some(259_792_000));
        late.start_ps = 7;
        (late.id, late.host_wait_ps) = (std::num::NonZeroU32::new(7), Some(0));
        let run = record(vec![
            late,
            flow(2, Some(270_000), Some(300_000_000)),
            flow(1, None, None),
            flow(1, Some(270_000), None),
        ]);
        let mut text = Vec::new();
        write_flows(&run, &mut text).unwrap();
        let expected = "\
workload,index,id,source,destination,size_bytes,start_ps,host_wait_ps,fct_receiver_ps,fct_sender_ps,ideal_fct_ps,ideal_fct_sender_ps,slowdown,delivered_bytes,measured_bytes,packets_sent,retransmissions_signalled,retransmissions_return,retransmissions_timeout,trims,returns,timeouts,end
reply,0,,1,0,,0,,,,,,,1000000,900000,31,1,0,0,1,0,0,long-lived
reply,0,,1,0,270000,0,,,,259792000,266099200,,270000,270000,31,1,0,0,1,0,0,run-ended
reply,0,,2,0,270000,0,,300000000,306307200,259792000,266099200,1.154770,270000,270000,31,1,0,0,1,0,0,completed
reply,0,7,1,0,270000,7,0,259792000,266099200,259792000,266099200,1.000000,270000,270000,31,1,0,0,1,0,0,completed
";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }

    #[test]
    fn ports_csv_has_the_expected_bytes() {
        let text = ports(&record(Vec::new()));
        let expected = "\
name,packets,bytes,trimmed,dropped,dropped_headers,returned,notified,marked,detoured,rate_bps
tor 0 down 0,31,280000,1,0,0,0,0,0,0,0
core 3 down 2,0,0,0,4,0,2,0,0,0,0
";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }

    #[test]
    fn links_csv_has_the_expected_bytes() {
        let text = links(&record(Vec::new()));
        let expected =
            "name,failed,lost,corrupted,rate_bps\ntor 0 down 0,0,0,0,10\nhost 0,1,2,3,10\n";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
        let json = crate::Summary::new(&record(Vec::new())).to_json();
        let json: String = json.split_whitespace().collect();
        assert!(json.contains(r#""links":{"failed":1,"lost":2,"corrupted":3}"#), "{json}");
    }

    /// A new counter reaches every file without further code.
    #[test]
    fn every_counter_reaches_ports_csv_series_csv_and_summary_json() {
        let counters = PortCounters::from_values(std::array::from_fn(|place| 1000 + place as u64));
        let mut run = record(Vec::new());
        run.ports = vec![PortRecord { counters, ..PortRecord::default() }];
        let group = crate::PortGroup {
            layer: crate::Layer::Tor,
            direction: crate::Direction::Up,
            pod: None,
            ports: 1,
            rate_bps: 1,
        };
        let sample = crate::Sample { time_ps: 1, counters, ..crate::Sample::default() };
        run.samples = crate::Samples {
            groups: vec![group],
            samples: vec![sample],
            ..crate::Samples::default()
        };
        let json = crate::Summary::new(&run).to_json();
        for file in [ports(&run), crate::samples::csv(&run.samples)] {
            let text = String::from_utf8(file).unwrap();
            let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
            let (header, row) = (lines.next().unwrap(), lines.next().unwrap());
            assert_eq!(header.len(), row.len());
            for (name, value) in PortCounters::NAMES.into_iter().zip(counters.values()) {
                let place = header.iter().position(|column| *column == name);
                assert_eq!(row[place.expect("a column a counter")], value.to_string(), "{name}");
                assert!(json.contains(&format!("\"{name}\": {value}")), "{name} in summary.json");
            }
        }
    }

    #[test]
    fn slowdown_rounds_half_up_in_integers() {
        let mut flow = flow(0, Some(1), Some(2_000_001));
        flow.ideal_fct_ps = Some(2_000_000);
        assert_eq!(flow.slowdown_millionths(), Some(1_000_001));
        let mut row = FlowRow::default();
        row.slowdown(flow.slowdown_millionths());
        assert_eq!(row.text, b",1.000001");
        flow.ideal_fct_ps = Some(0);
        assert_eq!(flow.slowdown_millionths(), None);
        // Beyond 64 bits: 1.5 times four months.
        (flow.fct_receiver_ps, flow.ideal_fct_ps) = (Some(15 << 59), Some(10 << 59));
        assert_eq!(flow.slowdown_millionths(), Some(1_500_000));
    }

    /// Names are quoted as a CSV writer does it.
    #[test]
    fn names_with_special_characters_are_quoted() {
        for (name, expected) in [
            ("web", "web"),
            ("a,b", "\"a,b\""),
            ("a\"b", "\"a\"\"b\""),
            ("a\nb", "\"a\nb\""),
            ("", ""),
        ] {
            assert_eq!(quoted(name), expected.as_bytes(), "{name:?}");
        }
    }
}
