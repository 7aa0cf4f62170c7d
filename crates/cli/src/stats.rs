//! Statistics of a host or switches: written while a command runs, printed by `trimline stats`.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::{Value, json};
use trimline_experiments::Failure;
use trimline_stack::host::{Host, News, PathStatus};
use trimline_stack::io::PacketIo;

use crate::log::Log;
use crate::openmetrics::{Endpoint, Exposition, Kind, Labels};
use crate::output::Output;
use crate::rows;
use crate::switch_ports;
use crate::terminal::{self, is_read};
use crate::writer::Writer;

/// Interval of writes while a command runs.
const INTERVAL: Duration = Duration::from_millis(500);

const ROWS: usize = 1024;

/// Statistics output of a running command: an optional file and socket. Threads write and answer, so that packets do
/// not wait for a disk.
#[derive(Debug, Default)]
pub(crate) struct Account {
    log: Log,
    writer: Option<Writer<Value>>,
    endpoint: Option<Endpoint>,
    interface: String,
    written: Option<Instant>,
}

impl Account {
    /// # Errors
    /// Returns an error if the file is not a regular one, or the socket cannot be opened.
    pub(crate) fn new(
        log: Log,
        file: Option<&Path>,
        metrics: Option<&str>,
        interface: &str,
    ) -> io::Result<Account> {
        file.map_or(Ok(()), rows::check_target)?;
        let endpoint = metrics.map(Endpoint::open).transpose()?;
        let interface = interface.to_owned();
        let writer = file.map(|file| {
            let file = file.to_owned();
            let place = file.display().to_string();
            Writer::start(place, move |state| rows::write_file(&file, &state))
        });
        Ok(Account { log, writer, endpoint, interface, written: None })
    }

    pub(crate) fn log(&self) -> &Log {
        &self.log
    }

    /// Reports interface events, and writes if the interval has passed. Failures are only reported.
    pub(crate) fn update<I: PacketIo>(&mut self, host: &mut Host<I>) {
        while let Some(news) = host.news() {
            let about = [("interface", json!(self.interface))];
            self.log.event(event_of(news), &about, &news.to_string());
        }
        let is_due = |written: &Instant| written.elapsed() >= INTERVAL;
        if self.written.as_ref().is_some_and(|written| !is_due(written)) {
            return;
        }
        self.written = Some(Instant::now());
        if let Some(writer) = &self.writer {
            writer.set_pending(self.state(host));
        }
        if let Some(endpoint) = &self.endpoint {
            endpoint.publish(exposition(host));
        }
    }

    /// Writes the final statistics.
    ///
    /// # Errors
    /// Returns an error if the write failed.
    pub(crate) fn write<I: PacketIo>(&mut self, host: &mut Host<I>) -> io::Result<()> {
        let state = self.state(host);
        self.writer.take().map_or(Ok(()), |writer| writer.finish(state))
    }

    fn state<I: PacketIo>(&self, host: &mut Host<I>) -> Value {
        let (seen, now) = (*host.statistics(), host.now());
        let paths: Vec<Value> = host.core().paths(now, ROWS).iter().map(path_entry).collect();
        let mut json = json!({ "interface": self.interface });
        for (key, _, _, value) in counters(host) {
            json[key] = json!(value);
        }
        json["connections"] = json!(host.core().connections());
        json["peers"] = json!(host.core().peers());
        json["paths"] = json!(paths);
        for (reason, count) in seen.refused_by_reason().filter(|&(_, count)| count > 0) {
            json[format!("refused_{reason}")] = json!(count);
        }
        json
    }
}

/// Counter of a host: key in a file, name of its metric or nothing, help, value.
type Counter = (&'static str, &'static str, &'static str, u64);

fn counters<I: PacketIo>(host: &Host<I>) -> [Counter; 16] {
    let seen = host.statistics();
    let trimmed = "Received headers of trimmed packets.";
    let challenged = "First packets answered with a token.";
    let unreadable = "Frames that could not be read from the interface.";
    let limits = "Frames that would have exceeded a limit of the host.";
    let room = "Data packets treated as headers, because the application does not read.";
    let way = "Frames to peers whose Ethernet address is unknown.";
    [
        ("frames_in", "received_frames", "Received frames.", seen.frames_in),
        ("bytes_in", "received_bytes", "Bytes of received frames, without FCS.", seen.bytes_in),
        ("frames_out", "sent_frames", "Sent frames.", seen.frames_out),
        ("bytes_out", "sent_bytes", "Bytes of sent frames, without FCS.", seen.bytes_out),
        ("trimmed_in", "trimmed_frames", trimmed, seen.trimmed_in),
        ("returned_in", "returned_frames", "Own headers that a switch returned.", seen.returned_in),
        (
            "misdirected",
            "misdirected_frames",
            "Frames addressed to another host.",
            seen.misdirected,
        ),
        // Its metric has a label for each reason.
        ("refused", "", "", seen.refused_in_all()),
        ("beyond_limits", "beyond_limits_frames", limits, seen.beyond_limits),
        ("without_room", "without_room_frames", room, seen.without_room),
        ("without_way", "without_way_frames", way, seen.without_way),
        (
            "implausible",
            "implausible_frames",
            "Frames that name something impossible.",
            seen.implausible,
        ),
        ("challenged", "challenged_frames", challenged, seen.challenged),
        ("unsent", "unsent_frames", "Frames that the interface did not send.", host.unsent()),
        ("unreadable", "unreadable_frames", unreadable, host.unreadable()),
        ("overrun", "overrun_frames", "Frames lost because the ring was full.", host.overrun()),
    ]
}

fn exposition<I: PacketIo>(host: &mut Host<I>) -> Exposition {
    let (seen, now, mut text) = (*host.statistics(), host.now(), Exposition::default());
    let plain = |value: u64| [(Labels::new(), value)];
    for (_, name, help, value) in counters(host).into_iter().filter(|counter| !counter.1.is_empty())
    {
        let unit = if name.ends_with("bytes") { "bytes" } else { "frames" };
        text.add((&format!("trimline_host_{name}"), unit, help), Kind::Counter, plain(value));
    }
    let refused =
        seen.refused_by_reason().map(|(why, count)| (vec![("reason", why.to_owned())], count));
    let about = ("trimline_host_refused_frames", "frames", "Malformed or forged frames.");
    text.add(about, Kind::Counter, refused);
    let connections = plain(host.core().connections() as u64);
    text.add(("trimline_host_connections", "", "Current connections."), Kind::Gauge, connections);
    let peers = plain(host.core().peers() as u64);
    text.add(("trimline_host_peers", "", "Current peers."), Kind::Gauge, peers);
    let paths = host.core().paths(now, ROWS);
    let labels = |path: &PathStatus| -> Labels {
        vec![
            ("peer", path.peer.to_string()),
            ("path", path.path.to_string()),
            ("address", path.address.to_string()),
            ("source_port", path.source_port.to_string()),
        ]
    };
    for (name, help, count) in PATH_COUNTERS {
        let samples = paths.iter().map(|path| (labels(path), count(path)));
        let name = format!("trimline_path_{name}_packets");
        text.add((&name, "packets", help), Kind::Counter, samples);
    }
    text
}

type PathCounter = (&'static str, &'static str, fn(&PathStatus) -> u64);

const PATH_COUNTERS: [PathCounter; 5] = [
    ("sent", "Packets sent on a path.", |path| path.counters.sent),
    ("acked", "Packets ACKed on a path.", |path| path.counters.acked),
    ("nacked", "Packets NACKed on a path.", |path| path.counters.nacked),
    ("returned", "Packets of a path returned as headers.", |path| path.counters.returned),
    ("lost", "Packets of a path declared lost.", |path| path.counters.lost),
];

fn event_of(news: News) -> &'static str {
    match news {
        News::Down => "link_down",
        News::Up => "link_up",
        News::TooNarrow(_) => "mtu_too_small",
        News::WideEnough => "mtu_sufficient",
        News::Withdrawn(_) => "path_withdrawn",
        News::Announced(_) => "path_announced",
    }
}

fn path_entry(path: &PathStatus) -> Value {
    let mut entry = json!({
        "peer": path.peer,
        "path": path.path,
        "address": path.address,
        "source_port": path.source_port,
    });
    for (name, _, count) in PATH_COUNTERS {
        entry[name] = json!(count(path));
    }
    entry["removals"] = json!(path.counters.removals);
    entry["removed"] = json!(path.removed_until.is_some());
    entry["withdrawn"] = json!(path.is_withdrawn);
    entry
}

/// The statistics in a file.
fn read(path: &Path) -> Result<Value, Failure> {
    let wrong =
        |what: &dyn std::fmt::Display| Failure::message(format!("{}: {what}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| wrong(&error))?;
    let value: Value = serde_json::from_str(&text).map_err(|error| wrong(&error))?;
    match value.is_object() {
        true => Ok(value),
        false => Err(wrong(&"expected a file that --stats writes")),
    }
}

fn shown(state: &Value) -> String {
    let mut out = String::new();
    let entries = state.as_object().into_iter().flatten();
    for (name, number) in entries.filter(|(_, value)| !value.is_array()) {
        out += &format!("{name:14} {number}\n");
    }
    for key in ["paths", switch_ports::KEY] {
        let rows = state.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        if !rows.is_empty() {
            out += &format!("\n{}", terminal::entries(rows));
        }
    }
    out
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// File that `--stats` writes.
    file: PathBuf,
    /// Print every S seconds until interrupted. Default: print once.
    #[arg(long, value_name = "S")]
    every: Option<f64>,
    #[command(flatten)]
    output: Output,
}

/// Prints the last statistics of a command with `--stats`, once or repeatedly.
pub(crate) fn stats(options: &Options) -> Result<ExitCode, Failure> {
    let path = &options.file;
    let every = options.every.map(|seconds| Duration::try_from_secs_f64(seconds.max(0.1)));
    let every = every.transpose().map_err(|error| Failure::message(format!("--every: {error}")))?;
    let mut state = read(path)?;
    let Some(every) = every else {
        options.output.print(&state, || shown(&state))?;
        return Ok(ExitCode::SUCCESS);
    };
    let mut text = options.output.repeated(&state, || shown(&state));
    // Until the reader is gone.
    while is_read(&text)? {
        std::thread::sleep(every);
        state = read(path)?;
        text = options.output.repeated(&state, || format!("\n{}", shown(&state)));
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;
    use crate::openmetrics::tests::{are_documented, parse};
    use trimline_packet::{BitRate, PortCounters};
    use trimline_stack::clock::Clock;
    use trimline_stack::host::{Config, Options};
    use trimline_stack::io::mem;

    #[test]
    fn every_counter_of_a_host_is_in_an_exposition_and_in_the_documents() {
        let (near, _far) = mem::pair(1500).unwrap();
        let config = Config::new([10, 0, 0, 1].into(), 1500, BitRate::from_gbps(1)).unwrap();
        let mut host = Host::new(near, config, Clock::new_virtual());
        let peer = [10, 0, 0, 2].into();
        host.core().add_peer(peer, &[], [2; 6]);
        let connection = host.connect(peer, 7, Options::default()).unwrap();
        host.core().send(connection, &[7; 3000]).unwrap();
        host.turn().unwrap();
        let text = exposition(&mut host).finish();
        let samples = parse(&text).unwrap();
        let sent = host.statistics().frames_out;
        assert!(sent > 0 && samples["trimline_host_sent_frames_total"] == sent, "{text}");
        assert_eq!(samples["trimline_host_connections"], 1);
        assert!(
            samples.contains_key("trimline_host_refused_frames_total{reason=\"tag\"}"),
            "{text}"
        );
        let path = samples.iter().find(|(name, _)| name.starts_with("trimline_path_sent_packets"));
        assert!(path.is_some_and(|(name, _)| name.contains("peer=\"10.0.0.2\"")), "{text}");
        are_documented(&text);
    }

    #[test]
    fn every_counter_of_a_switch_port_is_printed() {
        let row = |(place, name): (usize, &str)| (name.to_owned(), json!(1000 + place));
        let port = Map::from_iter(PortCounters::NAMES.into_iter().enumerate().map(row));
        let text = shown(&json!({ switch_ports::KEY: [port] }));
        for (place, name) in PortCounters::NAMES.into_iter().enumerate() {
            let name = name.replace('_', " ");
            assert!(text.contains(&name) && text.contains(&(1000 + place).to_string()), "{text}");
        }
    }
}
