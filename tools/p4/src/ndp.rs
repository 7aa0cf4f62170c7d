//! NDP's program, and a bench that holds it to `vectors/switch` and `vectors/generated`: frames, their order at each
//! port, and counts.
//!
//! A packet counts in its queue until its last bit has left (claim 3.1-i). As in the vectors, the bench chooses a
//! packet when the line is free; egress, which frees its place in the queue, sees it when the line has taken it. In
//! `simple_switch` and in chips egress sees it when it is chosen: p4/README.md.

use std::collections::VecDeque;
use std::path::Path;

use serde_json::json;
use trimline_packet::wire::Profile;
use trimline_switch::Choices;

use crate::bmv2::{Packet, Switch};
use crate::claim::Claim;
use crate::frames::{GENERATED, frame};
use crate::mutants::Mutant::{self, Always, Operation, Read, Set, Table, Without};
use crate::simple_switch::hex;
use crate::vectors::{Command, FOLDER, PORTS, Vector, read_all};

pub(crate) mod real;
#[cfg(test)]
mod tests;

const PROFILE: &str = "p4";

pub(crate) struct Ndp;

impl Claim for Ndp {
    type Vector = Vector;
    type Settings = Choices;
    const FILE: &'static str = "ndp_v1model.json";
    const TABLES: &'static str = "p4/four_ports.txt";
    const PORTS: usize = PORTS;
    const PRIORITIES: u64 = 2;
    const MUTANTS: &'static [(&'static str, Mutant<Choices>)] = &MUTANTS;

    fn vectors(root: &Path) -> Result<Vec<Vector>, String> {
        let mut vectors = read_all(root, &[FOLDER, GENERATED])?;
        vectors.retain(|vector| vector.profiles.iter().any(|profile| profile == PROFILE));
        Ok(vectors)
    }

    fn settings(vector: &Vector) -> Result<Choices, String> {
        vector.choices(PROFILE)
    }

    fn commands(choices: &Choices) -> Result<String, String> {
        let cannot = || format!("the program cannot be set to {choices:?}");
        let [header, data] = &choices.queues[..] else { return Err(cannot()) };
        let mut settable = Choices::p4(1, 0);
        settable.trimmed_bytes = choices.trimmed_bytes;
        for (queue, limits) in settable.queues.iter_mut().zip([header, data]) {
            (queue.header, queue.whole) = (limits.header, limits.whole);
        }
        if settable != *choices {
            return Err(cannot());
        }
        let Profile { trimmed, returned, .. } = Profile::PAPER;
        Ok(format!(
            "table_set_default ingress.settings ingress.set {trimmed} {returned} {} {} {} {} {}\n",
            choices.trimmed_bytes,
            data.whole.packets,
            data.whole.bytes,
            header.header.packets,
            header.header.bytes,
        ))
    }

    fn run(switch: Switch<'_>, vector: &Vector) -> Result<(), String> {
        let mut bench = Bench::new(switch);
        let mut last = 0;
        for (line, command) in &vector.commands {
            last = *line;
            bench.obey(command).map_err(|error| format!("{}:{line}: {error}", vector.file))?;
        }
        bench.finish().map_err(|error| format!("{}:{last}: {error}", vector.file))
    }
}

struct Bench<'p> {
    switch: Switch<'p>,
    /// The packet on the wire of each port, before egress, and its final frame.
    wires: [Option<(Packet<'p>, Vec<u8>)>; PORTS],
    /// Frames that left and were not yet expected.
    left: [VecDeque<Vec<u8>>; PORTS],
}

impl<'p> Bench<'p> {
    fn new(switch: Switch<'p>) -> Bench<'p> {
        Bench { switch, wires: Default::default(), left: Default::default() }
    }

    fn obey(&mut self, command: &Command) -> Result<(), String> {
        match command {
            Command::Config(_) => {}
            Command::ScriptedBit(_) | Command::At(_) => {
                return Err("the profile has no coins and no clock".to_owned());
            }
            Command::Packet { packets, .. } => {
                for (_, packet) in packets {
                    self.receive(packet.source.index() % PORTS, &frame(packet)?)?;
                }
            }
            Command::Serve { port, times } => {
                for _ in 0..*times {
                    let frame = self.serve(*port)?;
                    self.left[*port].extend(frame);
                }
            }
            Command::Expect { port, packets } => {
                for (name, packet) in packets {
                    let (expected, left) = (frame(packet)?, self.left[*port].pop_front());
                    if left.as_ref() != Some(&expected) {
                        let left = left.map_or("nothing".to_owned(), |left| hex(&left));
                        let expected = hex(&expected);
                        return Err(format!("port {port}: {left} left, not {name}: {expected}"));
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

    /// Checks that every frame was expected, and that packets on the wire leave as they were seen there.
    fn finish(mut self) -> Result<(), String> {
        for port in 0..PORTS {
            if let Some(frame) = self.left[port].front() {
                return Err(format!("surplus frame at port {port}: {}", hex(frame)));
            }
            self.release(port)?;
        }
        Ok(())
    }

    fn receive(&mut self, port: usize, frame: &[u8]) -> Result<(), String> {
        self.switch.receive(port as u64, frame).map(|_| ())
    }

    /// Puts a packet on the wire after the last one has left, and returns its frame.
    fn serve(&mut self, port: usize) -> Result<Option<Vec<u8>>, String> {
        self.release(port)?;
        let Some(packet) = self.switch.pop(port as u64) else { return Ok(None) };
        let before = self.switch.registers.clone();
        let frame = self.switch.send(port as u64, packet.clone())?;
        self.switch.registers = before;
        self.wires[port] = Some((packet, frame.clone()));
        Ok(Some(frame))
    }

    /// Completes the packet on the wire.
    fn release(&mut self, port: usize) -> Result<(), String> {
        let Some((packet, expected)) = self.wires[port].take() else { return Ok(()) };
        if self.switch.send(port as u64, packet)? != expected {
            return Err(format!("port {port}: what leaves depends on when egress sees it"));
        }
        Ok(())
    }

    /// Returns a count of the vectors, from the registers of the program.
    fn count(&self, name: &str) -> Result<u64, String> {
        match (name, name.split_once('.')) {
            // Nothing draws coins or sends notifications.
            ("coins" | "notified", _) => Ok(0),
            (total, None) => Ok(self.switch.register(total)?.iter().sum()),
            (_, Some((port, register))) => {
                let port: usize = port.parse().map_err(|_| format!("no port {port:?}"))?;
                Ok(self.switch.register(register)?[port])
            }
        }
    }
}

const MUTANTS: [(&str, Mutant<Choices>); 25] = [
    ("trim to 60 bytes", Set(|choices| choices.trimmed_bytes = 60)),
    ("trim to 63 bytes", Set(|choices| choices.trimmed_bytes = 63)),
    ("trim to 65 bytes", Set(|choices| choices.trimmed_bytes = 65)),
    ("trim to 128 bytes", Set(|choices| choices.trimmed_bytes = 128)),
    ("one packet more in the data queue", Set(|choices| choices.queues[1].whole.packets += 1)),
    ("one packet less in the data queue", Set(|choices| choices.queues[1].whole.packets -= 1)),
    ("one header less in the header queue", Set(|choices| choices.queues[0].header.bytes -= 64)),
    ("a full data queue takes one more", Operation("admit_data", "<", "<=")),
    ("the header queue is never filled to the last byte", Operation("admit_header", "<=", "<")),
    (
        "headers are reckoned without the frame check sequence",
        Read("admit_header", "0x00000004", "0x0"),
    ),
    ("nothing is cut off", Without("trim", &["truncate"])),
    ("the IPv4 length is not mended", Without("mark_trimmed_ipv4", &["ipv4.length"])),
    ("the TRIMMED DSCP is not written", Without("mark_trimmed_ipv4", &["ipv4.dscp"])),
    (
        "the IPv4 checksum is not mended",
        Mutant::Program(|program| program["checksums"][0]["update"] = json!(false)),
    ),
    (
        "the addresses are not swapped",
        Without("turn_round_ipv4", &["ipv4.source", "ipv4.destination"]),
    ),
    ("only one address is swapped", Without("turn_round_ipv4", &["ipv4.source"])),
    (
        "the MAC addresses are not swapped",
        Without("turn_round", &["ethernet.source", "ethernet.destination"]),
    ),
    ("the UDP ports are not swapped", Without("turn_round", &["udp.source", "udp.destination"])),
    ("the RETURNED DSCP is not written", Without("turn_round_ipv4", &["ipv4.dscp"])),
    ("nothing is returned to its sender", Always("ndp.kind", false)),
    (
        "a returned header leaves by the port where it found no place",
        Table("back ingress.forward 10.0.1.0/24 => 1", "back ingress.forward 10.0.1.0/24 => 2"),
    ),
    ("a returned header is returned again", Table("serve 54 => 3", "serve 54 => 2")),
    ("headers wait behind data", Without("enqueue", &["standard.priority"])),
    ("egress gives no data packet's place back", Without("release_data", &["register_write"])),
    ("egress gives no header's place back", Without("release_header", &["register_write"])),
];
