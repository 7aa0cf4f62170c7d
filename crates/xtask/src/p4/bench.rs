//! A switch that runs the program and is compared with a vector: frames, their order at each port, and counts.
//!
//! A packet counts in its queue until its last bit has left (claim 3.1-i). As in the vectors, this bench chooses a
//! packet when the line is free; egress, which frees its place in the queue, sees it when the line has taken it. In
//! `simple_switch` and in chips egress sees it when it is chosen: p4/README.md.

use std::collections::VecDeque;
use std::path::Path;

use trimline_switch::{Action, Choices, Limit, Scheduler};

use super::{NDP, PROFILE};
use crate::bmv2::{Program, Queued, Switch};
use crate::frames::frame;
use crate::generate::GENERATED;
use crate::vectors::{Command, FOLDER, PORTS, Vector, list, read};

/// Queues of a port: data and headers.
pub(super) const PRIORITIES: usize = 2;

pub(super) fn claimed(root: &Path) -> Result<Vec<Vector>, String> {
    let mut vectors = Vec::new();
    for folder in [FOLDER, GENERATED] {
        for file in list(root, Path::new(folder))? {
            let vector = Vector::parse(&file, &read(root, &file)?)?;
            if vector.profiles.iter().any(|profile| profile == PROFILE) {
                vectors.push(vector);
            }
        }
    }
    Ok(vectors)
}

fn switch<'p>(program: &'p Program, tables: &str, vector: &Vector) -> Result<Switch<'p>, String> {
    let mut switch = Switch::new(program, PRIORITIES);
    let tables = tables.to_owned() + &settings(&vector.choices(PROFILE)?)?;
    switch.configure(&tables).map_err(|error| format!("{}:{error}", NDP.tables))?;
    Ok(switch)
}

/// Runs the program on every vector of the profile. Returns their number, or a line per failure.
pub(super) fn hold(root: &Path, program: &Program) -> Result<usize, Vec<String>> {
    let tables = read(root, Path::new(NDP.tables)).map_err(|error| vec![error])?;
    let vectors = claimed(root).map_err(|error| vec![error])?;
    let outcomes = vectors.iter().map(|vector| run_vector(program, &tables, vector));
    let mut failures: Vec<String> = outcomes.filter_map(Result::err).collect();
    if vectors.is_empty() {
        failures.push(format!("{FOLDER}: no vector of the profile {PROFILE}"));
    }
    if failures.is_empty() { Ok(vectors.len()) } else { Err(failures) }
}

fn run_vector(program: &Program, tables: &str, vector: &Vector) -> Result<(), String> {
    Bench::new(switch(program, tables, vector)?).run(vector)
}

/// Returns the command for the limits of a service model. Refuses a model that the program cannot have.
pub(super) fn settings(choices: &Choices) -> Result<String, String> {
    let cannot = |what: &str| Err(format!("the program cannot be set to {what}"));
    let [header, data] = &choices.queues[..] else { return cannot("anything but two queues") };
    if choices.scheduler != Scheduler::Strict {
        return cannot("another order than headers first");
    }
    if choices.cell_bytes != 1 || header.pool.is_some() || data.pool.is_some() {
        return cannot("cells or shared memory");
    }
    let drops = header.selective_drop.or(data.selective_drop);
    if drops.is_some() || choices.port != Limit::NONE {
        return cannot("selective dropping or a limit over both queues");
    }
    if header.overflow[..] != [Action::Return] || data.overflow[..] != [Action::TrimArriving] {
        return cannot("anything but trimming the newcomer and returning headers");
    }
    let profile = trimline_packet::wire::Profile::PAPER;
    let (trimmed, returned) = (profile.trimmed, profile.returned);
    Ok(format!(
        "table_set_default ingress.settings ingress.set {trimmed} {returned} {} {} {} {} {}\n",
        choices.trimmed_bytes,
        data.whole.packets,
        data.whole.bytes,
        header.header.packets,
        header.header.bytes,
    ))
}

/// A frame with the line of the vector that served it.
type Line = (usize, Vec<u8>);

pub(super) struct Bench<'p> {
    pub(super) switch: Switch<'p>,
    /// The packet on the wire of each port, before egress, and its final frame.
    wires: [Option<(Queued, Vec<u8>)>; PORTS],
    /// Frames that left and were not yet expected, with the line that served each.
    left: [VecDeque<Line>; PORTS],
}

impl<'p> Bench<'p> {
    pub(super) fn new(switch: Switch<'p>) -> Bench<'p> {
        Bench { switch, wires: Default::default(), left: Default::default() }
    }

    /// Runs a vector. An error names file and line, expectation and finding.
    pub(super) fn run(mut self, vector: &Vector) -> Result<(), String> {
        let fail = |line: usize, error: String| Err(format!("{}:{line}: {error}", vector.file));
        let mut last = 0;
        for (line, command) in &vector.commands {
            last = *line;
            if let Err(error) = self.obey(*line, command) {
                return fail(*line, error);
            }
        }
        for port in 0..PORTS {
            if let Some((line, frame)) = self.left[port].front() {
                return fail(*line, format!("surplus frame at port {port}: {}", hex(frame)));
            }
            // Packets still on the wire must leave as they were seen there.
            if let Err(error) = self.release(port) {
                return fail(last, error);
            }
        }
        Ok(())
    }

    fn obey(&mut self, line: usize, command: &Command) -> Result<(), String> {
        match command {
            Command::Config(_) => {}
            Command::ScriptedBit(_) => return Err("the profile draws no coins".to_owned()),
            Command::At(_) => return Err("the profile has no clock".to_owned()),
            Command::Packet { packets, .. } => {
                for (_, packet) in packets {
                    self.receive(packet.source.index() % PORTS, &frame(packet)?)?;
                }
            }
            Command::Serve { port, times } => {
                for _ in 0..*times {
                    if let Some(frame) = self.serve(*port)? {
                        self.left[*port].push_back((line, frame));
                    }
                }
            }
            Command::Expect { port, packets } => {
                for (name, packet) in packets {
                    let expected = frame(packet)?;
                    match self.left[*port].pop_front() {
                        None => return Err(format!("missing frame at port {port}: {name}")),
                        Some((_, left)) if left != expected => {
                            return Err(format!(
                                "expected {name} at port {port}, which is {}, not {}",
                                hex(&expected),
                                hex(&left)
                            ));
                        }
                        Some(_) => {}
                    }
                }
            }
            Command::Count { name, number } => {
                let got = self.count(name)?;
                if got != *number {
                    return Err(format!("{name} is {got}, not {number}"));
                }
            }
        }
        Ok(())
    }

    pub(super) fn receive(&mut self, port: usize, frame: &[u8]) -> Result<(), String> {
        self.switch.receive(port as u64, frame).map(|_| ())
    }

    /// Puts a packet on the wire after the last one has left, and returns its frame.
    pub(super) fn serve(&mut self, port: usize) -> Result<Option<Vec<u8>>, String> {
        self.release(port)?;
        let Some(queued) = self.switch.take(port as u64) else { return Ok(None) };
        let frame = self.switch.preview(port as u64, &queued)?;
        let frame = frame.ok_or_else(|| format!("egress of port {port} dropped a packet"))?;
        self.wires[port] = Some((queued, frame.clone()));
        Ok(Some(frame))
    }

    /// Completes the packet on the wire.
    pub(super) fn release(&mut self, port: usize) -> Result<(), String> {
        let Some((queued, expected)) = self.wires[port].take() else { return Ok(()) };
        match self.switch.send(port as u64, queued)? {
            Some(frame) if frame == expected => Ok(()),
            _ => Err(format!("port {port}: what leaves depends on when egress sees it")),
        }
    }

    /// Returns a count of the vectors, from the registers of the program.
    pub(super) fn count(&self, name: &str) -> Result<u64, String> {
        match name {
            "trimmed" | "cut_bytes" | "dropped" | "returned" => {
                Ok(self.switch.registers(name)?.iter().sum())
            }
            // Nothing draws coins or sends notifications.
            "coins" | "notified" => Ok(0),
            _ => {
                let (port, register) =
                    name.split_once('.').ok_or_else(|| format!("nothing is counted as {name}"))?;
                let port = port.parse().map_err(|_| format!("expected a port, not {port:?}"))?;
                self.switch.register(register, port)
            }
        }
    }
}

/// Formats the first bytes of a frame, enough to identify it, and its length.
pub(super) fn hex(frame: &[u8]) -> String {
    let digits: String = frame.iter().take(62).map(|byte| format!("{byte:02x}")).collect();
    format!("{digits} ({} bytes)", frame.len())
}
