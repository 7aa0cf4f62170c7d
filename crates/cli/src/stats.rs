//! What went through a host or through switches: written while a command runs, printed by `trimline stats`.

use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use trimline_stack::host::{Host, PathStatus};
use trimline_stack::io::PacketIo;

use crate::failure::Failure;
use crate::rows;
use crate::switch_ports;
use crate::terminal::is_read;
use crate::writer::Writer;

/// How often it is written while a command runs.
const INTERVAL: Duration = Duration::from_millis(500);

/// Rows of the scoreboard, at most.
const ROWS: usize = 1024;

/// The file that a running command tells what went through, if it has one. A thread of its own writes it: the
/// packets do not wait for a disk.
#[derive(Debug)]
pub(crate) struct Account {
    writer: Option<Writer<Value>>,
    interface: String,
    written: Option<Instant>,
}

impl Account {
    /// # Errors
    /// The file is not a regular one.
    pub(crate) fn new(file: Option<&Path>, interface: Option<&str>) -> io::Result<Account> {
        file.map_or(Ok(()), rows::check_target)?;
        let interface = interface.unwrap_or("udp").to_owned();
        let writer = file.map(|file| {
            let file = file.to_owned();
            let place = file.display().to_string();
            Writer::start(place, move |state| rows::write_file(&file, &state))
        });
        Ok(Account { writer, interface, written: None })
    }

    /// Writes, if that was long ago. What goes wrong is said, and the command goes on.
    pub(crate) fn update<I: PacketIo>(&mut self, host: &mut Host<I>) {
        let is_due = |written: &Instant| written.elapsed() >= INTERVAL;
        if self.written.as_ref().is_some_and(|written| !is_due(written)) {
            return;
        }
        let Some(writer) = &self.writer else { return };
        self.written = Some(Instant::now());
        writer.tell(self.state(host));
    }

    /// Writes what there is at the end.
    ///
    /// # Errors
    /// That could not be written.
    pub(crate) fn write<I: PacketIo>(&mut self, host: &mut Host<I>) -> io::Result<()> {
        let state = self.state(host);
        self.writer.take().map_or(Ok(()), |writer| writer.finish(state))
    }

    fn state<I: PacketIo>(&self, host: &mut Host<I>) -> Value {
        let (seen, now) = (*host.statistics(), host.now());
        let paths: Vec<Value> = host.core().paths(now, ROWS).iter().map(path_entry).collect();
        let mut json = json!({
            "interface": self.interface,
            "frames_in": seen.frames_in,
            "bytes_in": seen.bytes_in,
            "frames_out": seen.frames_out,
            "bytes_out": seen.bytes_out,
            "trimmed_in": seen.trimmed_in,
            "returned_in": seen.returned_in,
            "misdirected": seen.misdirected,
            "refused": seen.refused_in_all(),
            "beyond_limits": seen.beyond_limits,
            "without_room": seen.without_room,
            "without_way": seen.without_way,
            "implausible": seen.implausible,
            "challenged": seen.challenged,
            "unsent": host.unsent(),
            "unreadable": host.unreadable(),
            "overrun": host.overrun(),
            "connections": host.core().connections(),
            "peers": host.core().peers(),
            "paths": paths,
        });
        for (reason, count) in seen.refused_by_reason().filter(|&(_, count)| count > 0) {
            json[format!("refused_{reason}")] = json!(count);
        }
        json
    }
}

fn path_entry(path: &PathStatus) -> Value {
    let seen = path.counters;
    json!({
        "peer": path.peer,
        "path": path.path,
        "address": path.address,
        "source_port": path.source_port,
        "sent": seen.sent,
        "acked": seen.acked,
        "nacked": seen.nacked,
        "returned": seen.returned,
        "lost": seen.lost,
        "removals": seen.removals,
        "removed": path.removed_until.is_some(),
    })
}

/// Columns of the scoreboard.
const COLUMNS: [&str; 11] = [
    "peer",
    "path",
    "address",
    "source_port",
    "sent",
    "acked",
    "nacked",
    "returned",
    "lost",
    "removals",
    "removed",
];

/// One line a counter, then the scoreboard, then the ports.
fn table(path: &Path) -> Result<String, Failure> {
    let wrong =
        |what: &dyn std::fmt::Display| Failure::message(format!("{}: {what}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| wrong(&error))?;
    let value: Value = serde_json::from_str(&text).map_err(|error| wrong(&error))?;
    let entries = value.as_object().ok_or_else(|| wrong(&"expected what --stats writes"))?;
    Ok(shown(entries))
}

fn shown(entries: &Map<String, Value>) -> String {
    let mut out = String::new();
    for (name, number) in entries.iter().filter(|(_, value)| !value.is_array()) {
        out += &format!("{name:14} {number}\n");
    }
    for (key, columns) in
        [("paths", COLUMNS.to_vec()), (switch_ports::KEY, switch_ports::columns())]
    {
        let rows = entries.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        out += &rows::aligned(&columns, rows);
    }
    out
}

/// `trimline stats`: what a command with `--stats` wrote last, once or again and again.
pub(crate) fn stats(path: &Path, every: Option<f64>) -> Result<ExitCode, Failure> {
    let every = every.map(|seconds| Duration::try_from_secs_f64(seconds.max(0.1)));
    let every = every.transpose().map_err(|error| Failure::message(format!("--every: {error}")))?;
    let mut text = table(path)?;
    // Until nobody reads any more.
    while is_read(&text)?
        && let Some(every) = every
    {
        std::thread::sleep(every);
        text = format!("\n{}", table(path)?);
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trimline_packet::PortCounters;

    #[test]
    fn every_counter_of_a_switch_port_is_printed() {
        let row = |(place, name): (usize, &str)| (name.to_owned(), json!(1000 + place));
        let port = Map::from_iter(PortCounters::NAMES.into_iter().enumerate().map(row));
        let text = shown(&Map::from_iter([(switch_ports::KEY.to_owned(), json!([port]))]));
        for (place, name) in PortCounters::NAMES.into_iter().enumerate() {
            let name = name.replace('_', " ");
            assert!(text.contains(&name) && text.contains(&(1000 + place).to_string()), "{text}");
        }
    }
}
