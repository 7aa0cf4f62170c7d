//! Runs the test vectors of `vectors/detour` on the detour decision of the switch crate (OPF, IFIP Networking 2024,
//! Algorithms 1 and 2).
//!
//! A vector is text, untimed, with one behaviour per file; `vectors/README.md` describes the language.

use std::collections::VecDeque;
use std::path::Path;

use trimline_packet::{
    ConnectionId, Flags, Handle, Header, HostId, Kind, Packet, PathId, Service, ServiceClass, Time,
};
use trimline_switch::detour::{Counts, Seen, Steps, Target};
use trimline_switch::{
    Choices, DetourModel, DropList, OutputPort, Pool, Port, PortContext, QueueView, Rng,
    ServiceModel,
};

use crate::vector_folder::{parse_folder, run_each};
use crate::vectors::{Arena, number};

pub(crate) const FOLDER: &str = "vectors/detour";

/// Ports of the switch. Port N leads to host N, directly or behind another switch.
pub(crate) const PORTS: usize = 8;

/// Limit of a queue in packets: more than any vector needs.
const DEPTH: u32 = 1000;

/// Payload bytes of a data packet.
const PAYLOAD: u16 = 1000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arriving {
    pub(crate) input: usize,
    pub(crate) own: usize,
    /// Number of switches left so far.
    pub(crate) switches: u8,
    pub(crate) packet: Packet,
}

#[derive(Clone, Debug)]
pub(crate) enum Command {
    Length {
        port: usize,
        packets: u16,
    },
    /// Scripted draws: places among `of` ports.
    Draw {
        places: Vec<u32>,
        of: u32,
    },
    Packet(Arriving),
    Expect(usize),
    Serve {
        port: usize,
        times: usize,
    },
    Seen {
        port: usize,
        packets: u16,
    },
    Detoured {
        port: usize,
        packets: u64,
    },
}

/// Settings of a whole file.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) threshold: u32,
    pub(crate) limit: u8,
    /// Ports to switches; the others lead to hosts.
    pub(crate) to_switch: [bool; PORTS],
    /// Ports whose link is dead, as routing knows.
    pub(crate) dead: [bool; PORTS],
}

pub(crate) struct Vector {
    pub(crate) file: String,
    pub(crate) config: Config,
    pub(crate) commands: Vec<(usize, Command)>,
}

impl Vector {
    pub(crate) fn parse(file: &Path, text: &str) -> Result<Vector, String> {
        let file = file.display().to_string();
        let mut head = text.lines().take_while(|line| line.starts_with('#'));
        for key in ["# rule: ", "# origin: "] {
            if !head.next().is_some_and(|line| line.starts_with(key)) {
                return Err(format!("{file}:1: expected \"# rule: ...\", then \"# origin: ...\""));
            }
        }
        let (to_switch, dead) = ([false; PORTS], [false; PORTS]);
        let mut config = Config { threshold: 8, limit: 2, to_switch, dead };
        let mut commands: Vec<(usize, Command)> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let words: Vec<&str> =
                line.split('#').next().unwrap_or_default().split_whitespace().collect();
            let Some((&verb, rest)) = words.split_first() else { continue };
            let sequence = commands.len() as u32;
            let command = match (config.obey(verb, rest), commands.is_empty()) {
                (Ok(true), true) => continue,
                (Ok(true), false) => Err(format!("{verb} stands before everything that happens")),
                (Ok(false), _) => parse_command(verb, rest, sequence),
                (Err(error), _) => Err(error),
            };
            let command = command.map_err(|error| format!("{file}:{}: {error}", index + 1))?;
            commands.push((index + 1, command));
        }
        Ok(Vector { file, config, commands })
    }

    /// Runs the vector.
    pub(crate) fn run(&self) -> Result<(), String> {
        Harness::new(self.model(), &self.config).run(self)
    }

    pub(crate) fn model(&self) -> DetourModel {
        DetourModel {
            limit: Some(self.config.limit),
            counts: Counts::Switches,
            seen: Seen::LastDeparture,
            ..DetourModel::opf(self.config.threshold)
        }
    }
}

impl Config {
    /// Reads a line that holds for the whole file; returns whether it does.
    fn obey(&mut self, verb: &str, rest: &[&str]) -> Result<bool, String> {
        match (verb, rest) {
            ("config", pairs) => {
                for pair in pairs {
                    match pair.split_once('=') {
                        Some(("threshold", value)) => self.threshold = number(value)?,
                        Some(("limit", value)) => self.limit = number(value)?,
                        _ => {
                            return Err(format!("expected threshold=N or limit=N, not {pair:?}"));
                        }
                    }
                }
            }
            ("ports", ["to_switch", ports @ ..]) => {
                for port in ports {
                    self.to_switch[port_of(port)?] = true;
                }
            }
            ("dead", ports) => {
                for port in ports {
                    self.dead[port_of(port)?] = true;
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn port_of(word: &str) -> Result<usize, String> {
    let port: usize = number(word)?;
    if port < PORTS { Ok(port) } else { Err(format!("expected a port below {PORTS}, not {port}")) }
}

fn parse_command(verb: &str, rest: &[&str], sequence: u32) -> Result<Command, String> {
    Ok(match (verb, rest) {
        ("length", [port, packets]) => {
            Command::Length { port: port_of(port)?, packets: number(packets)? }
        }
        ("draw", [places @ .., "of", of]) if !places.is_empty() => {
            let places = places.iter().map(|place| number(place)).collect::<Result<_, _>>()?;
            Command::Draw { places, of: number(of)? }
        }
        ("packet", [input, own, kind, fields @ ..]) => {
            let (input, own) = (port_of(input)?, port_of(own)?);
            let (mut switches, mut priority) = (0, 0);
            for field in fields {
                match field.split_once('=') {
                    Some(("count", value)) => switches = number(value)?,
                    Some(("priority", value)) => priority = number(value)?,
                    _ => return Err(format!("expected count=N or priority=N, not {field:?}")),
                }
            }
            let packet = packet_of(kind, (input, own), priority, sequence)?;
            Command::Packet(Arriving { input, own, switches, packet })
        }
        ("expect", [port]) => Command::Expect(port_of(port)?),
        ("serve", [port]) => Command::Serve { port: port_of(port)?, times: 1 },
        ("serve", [port, times]) => Command::Serve { port: port_of(port)?, times: number(times)? },
        ("seen", [port, packets]) => {
            Command::Seen { port: port_of(port)?, packets: number(packets)? }
        }
        ("detoured", [port, packets]) => {
            Command::Detoured { port: port_of(port)?, packets: number(packets)? }
        }
        _ => {
            let line = [&[verb], rest].concat().join(" ");
            return Err(format!("expected a command, not {line:?}"));
        }
    })
}

/// Returns a packet from a host behind port `input` to one behind port `own`.
pub(crate) fn packet_of(
    kind: &str,
    (input, own): (usize, usize),
    priority: u8,
    sequence: u32,
) -> Result<Packet, String> {
    let (of, service, marks) = match kind {
        "marked" | "header" => (Kind::Data, Service::Trimmable, Packet::MARK_UNSCHEDULED),
        "scheduled" => (Kind::Data, Service::Trimmable, 0),
        "droppable" => (Kind::Data, Service::Droppable, Packet::MARK_UNSCHEDULED),
        "control" => (Kind::Ack, Service::Control, 0),
        _ => {
            let known = "marked, scheduled, droppable, header or control";
            return Err(format!("expected {known}, not {kind:?}"));
        }
    };
    let payload = if of == Kind::Data { PAYLOAD } else { 0 };
    let mut packet = Packet {
        source: HostId::new(input as u32),
        destination: HostId::new(own as u32),
        header: Header {
            kind: of,
            flags: Flags::default().with(Flags::FROM_OPENER),
            path: PathId::new(0),
            connection: ConnectionId::new(1),
            sequence,
            extra: if of == Kind::Data { Header::data_extra(payload, 0) } else { 0 },
        },
        wire_bytes: payload + Packet::HEADER_BYTES,
        service: ServiceClass::new(service, priority),
        marks,
    };
    if kind == "header" {
        packet.trim(Packet::HEADER_BYTES);
    }
    Ok(packet)
}

/// Scripted draws with their bounds, in order. Any other draw is recorded as an error.
#[derive(Default)]
pub(crate) struct ScriptedDraws {
    scripted: VecDeque<(u32, u32)>,
    wrong: Option<String>,
}

impl ScriptedDraws {
    /// Scripts draws, each among `of` ports.
    pub(crate) fn lay_out(&mut self, places: &[u32], of: u32) {
        self.scripted.extend(places.iter().map(|&place| (place, of)));
    }

    /// Checks that all scripted draws were drawn, and no others.
    pub(crate) fn check_all_drawn(&mut self) -> Result<(), String> {
        match (self.wrong.take(), self.scripted.len()) {
            (Some(wrong), _) => Err(wrong),
            (None, 0) => Ok(()),
            (None, draws) => Err(format!("{draws} draws were not drawn")),
        }
    }
}

impl Rng for ScriptedDraws {
    fn coin(&mut self) -> bool {
        self.below(2) == 1
    }
    fn below(&mut self, bound: u32) -> u32 {
        let wrong = match self.scripted.pop_front() {
            Some((place, of)) if of == bound && place < bound => return place,
            Some((_, of)) if of == bound => format!("there is no such place of {bound}"),
            Some((_, of)) => format!("a draw of {bound}, not of {of}"),
            None => "a draw that the vector does not lay out".to_owned(),
        };
        self.wrong = Some(wrong);
        0
    }
}

/// A switch that a vector drives.
pub(crate) trait Device: Sized {
    fn set_length(&mut self, port: usize, packets: u16) -> Result<(), String>;

    /// Scripts draws, each among `of` ports.
    fn lay_out(&mut self, places: &[u32], of: u32);

    /// Lets a packet arrive, which must take all scripted draws. Returns its output port.
    fn arrive(&mut self, arriving: &Arriving) -> Result<usize, String>;

    /// Starts to transmit a packet of a port.
    fn serve(&mut self, port: usize) -> Result<(), String>;

    /// Returns the seen queue length of a port, in packets.
    fn seen(&self, port: usize) -> Result<u64, String>;

    fn detoured(&self, port: usize) -> Result<u64, String>;

    /// Checks that nothing that the vector scripts is left.
    fn finish(self) -> Result<(), String>;

    /// Runs a vector. An error names file and line, expectation and finding.
    fn run(mut self, vector: &Vector) -> Result<(), String> {
        // The output port of the last packet, which the vector must expect.
        let (mut way, mut last) = (None, 0);
        for (line, command) in &vector.commands {
            last = *line;
            let outcome = self.obey(command, &mut way);
            outcome.map_err(|error| format!("{}:{line}: {error}", vector.file))?;
        }
        let outcome = self.finish().and_then(|()| check_expected(way));
        outcome.map_err(|error| format!("{}:{last}: {error}", vector.file))
    }

    fn obey(&mut self, command: &Command, way: &mut Option<usize>) -> Result<(), String> {
        match command {
            Command::Length { port, packets } => self.set_length(*port, *packets)?,
            Command::Draw { places, of } => self.lay_out(places, *of),
            Command::Packet(arriving) => {
                check_expected(*way)?;
                *way = Some(self.arrive(arriving)?);
            }
            Command::Expect(port) => match way.take() {
                Some(way) if way == *port => {}
                Some(way) => return Err(format!("expected port {port}, not {way}")),
                None => return Err("no packet came".to_owned()),
            },
            Command::Serve { port, times } => {
                for _ in 0..*times {
                    self.serve(*port)?;
                }
            }
            Command::Seen { port, packets } => {
                let seen = self.seen(*port)?;
                if seen != u64::from(*packets) {
                    return Err(format!("port {port} is seen to hold {seen}, not {packets}"));
                }
            }
            Command::Detoured { port, packets } => {
                let got = self.detoured(*port)?;
                if got != *packets {
                    return Err(format!("{got} were detoured from port {port}, not {packets}"));
                }
            }
        }
        Ok(())
    }
}

fn check_expected(way: Option<usize>) -> Result<(), String> {
    match way {
        None => Ok(()),
        Some(way) => Err(format!("a packet left by port {way}, which the vector does not expect")),
    }
}

/// The detour decision of the switch crate in a switch of [`PORTS`] ports.
pub(crate) struct Harness {
    detour: DetourModel,
    config: Config,
    ports: [Port<1>; PORTS],
    /// Seen queue length of each port, if it is not the current one.
    registers: [u16; PORTS],
    detoured: [u64; PORTS],
    packets: Arena,
    /// Queue length that each packet found.
    found: Vec<u16>,
    draws: ScriptedDraws,
}

impl Harness {
    pub(crate) fn new(detour: DetourModel, config: &Config) -> Harness {
        Harness {
            detour,
            config: config.clone(),
            ports: [const { Port::new() }; PORTS],
            registers: [0; PORTS],
            detoured: [0; PORTS],
            packets: Arena::default(),
            found: Vec::new(),
            draws: ScriptedDraws::default(),
        }
    }

    fn way(&mut self, arriving: &Arriving) -> usize {
        let Some(admitted) = self.admitted(arriving) else { return arriving.own };
        let seen: Vec<u32> = admitted.iter().map(|&port| self.seen_packets(port)).collect();
        let packets = |place: u32| seen[place as usize];
        let place = self.detour.choose(admitted.len() as u32, packets, &mut self.draws);
        place.map_or(arriving.own, |place| admitted[place as usize])
    }

    /// Returns the seen queue length of a port, in packets.
    fn seen_packets(&self, port: usize) -> u32 {
        match self.detour.seen {
            Seen::Now => self.ports[port].queue_packets(0),
            Seen::LastDeparture | Seen::LastArrivalThatLeft => self.registers[port].into(),
        }
    }

    /// Returns the ports for a detour of a packet; `None` if it may not be detoured.
    pub(crate) fn admitted(&self, arriving: &Arriving) -> Option<Vec<usize>> {
        let Arriving { input, own, switches, packet } = *arriving;
        let (model, steps) = (self.detour, Steps { switches, ..Steps::default() });
        if !model.applies(&packet, steps) || !model.is_hot(self.seen_packets(own), || false) {
            return None;
        }
        let target = |port: usize| Target {
            is_host: !self.config.to_switch[port],
            is_input: port == input,
            is_dead: self.config.dead[port],
            is_own: port == own,
            ..Target::default()
        };
        Some((0..PORTS).filter(|&port| model.targets.admit(target(port))).collect())
    }

    fn context<T>(
        &mut self,
        port: usize,
        act: impl FnOnce(&mut Port<1>, &mut PortContext<'_, ServiceModel, Arena, ScriptedDraws>) -> T,
    ) -> T {
        let model = Choices::drop_tail(DEPTH).build().expect("the profile can be built");
        let (mut pool, mut drop_list) = (Pool::none(), DropList::new());
        let mut context = PortContext {
            now: Time::ZERO,
            model: &model,
            packets: &mut self.packets,
            pool: &mut pool,
            rng: &mut self.draws,
            drop_list: &mut drop_list,
        };
        act(&mut self.ports[port], &mut context)
    }
}

impl Device for Harness {
    fn set_length(&mut self, port: usize, packets: u16) -> Result<(), String> {
        self.registers[port] = packets;
        Ok(())
    }

    fn lay_out(&mut self, places: &[u32], of: u32) {
        self.draws.lay_out(places, of);
    }

    fn arrive(&mut self, arriving: &Arriving) -> Result<usize, String> {
        let way = self.way(arriving);
        self.detoured[arriving.own] += u64::from(way != arriving.own);
        let handle = Handle::new(self.packets.0.len() as u32);
        self.packets.0.push((arriving.packet, Handle::NONE));
        self.found.push(self.ports[way].queue_packets(0) as u16);
        self.context(way, |port, context| port.enqueue(handle, context));
        self.draws.check_all_drawn().map(|()| way)
    }

    fn serve(&mut self, port: usize) -> Result<(), String> {
        let Some(leaving) = self.context(port, |port, context| port.dequeue(context)) else {
            return Ok(());
        };
        let (held, found) = (self.ports[port].queue_packets(0), self.found[leaving.index()]);
        if let Some(length) = self.detour.seen.at_departure(held, found) {
            self.registers[port] = length;
        }
        Ok(())
    }

    fn seen(&self, port: usize) -> Result<u64, String> {
        Ok(self.seen_packets(port).into())
    }

    fn detoured(&self, port: usize) -> Result<u64, String> {
        Ok(self.detoured[port])
    }

    fn finish(mut self) -> Result<(), String> {
        self.draws.check_all_drawn()
    }
}

pub(crate) fn read_all(root: &Path) -> Result<Vec<Vector>, String> {
    parse_folder(root, FOLDER, Vector::parse)
}

/// Runs every vector. Returns their number, or a line per failure.
pub(crate) fn run_all(root: &Path) -> Result<usize, Vec<String>> {
    run_each(read_all(root), Vector::run)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        "# rule: r\n# origin: here\nconfig threshold=3\nports to_switch 2 3 4 5\ndead 5\n";

    /// Runs the lines behind a fixed head of five lines.
    #[track_caller]
    fn check(lines: &str, expected: Result<(), &str>) {
        let outcome = Vector::parse(Path::new("v"), &format!("{HEAD}{lines}"))
            .and_then(|vector| vector.run());
        assert_eq!(outcome, expected.map_err(str::to_owned));
    }

    #[test]
    fn a_correct_detour_vector_passes() {
        // Ports 3 and 4 are both empty: the first draw decides.
        let detoured = "packet 0 2 marked count=1\nexpect 4\ndetoured 2 1\n";
        check(&format!("length 2 4\ndraw 1 0 of 2\n{detoured}"), Ok(()));
        check("packet 0 2 marked\nexpect 2\nserve 2 2\nseen 2 1\n", Ok(()));
    }

    #[test]
    fn a_packet_at_another_port_fails() {
        check("packet 0 2 marked\nexpect 3\n", Err("v:7: expected port 3, not 2"));
        check("expect 3\n", Err("v:6: no packet came"));
        let unexpected = "a packet left by port 2, which the vector does not expect";
        check("packet 0 2 marked\nserve 2\n", Err(&format!("v:7: {unexpected}")));
        check("packet 0 2 marked\npacket 0 2 marked\n", Err(&format!("v:7: {unexpected}")));
    }

    #[test]
    fn draws_must_match_the_vector() {
        let check =
            |lines: &str, expected: &str| check(&format!("length 2 4\n{lines}"), Err(expected));
        let packet = "packet 0 2 marked\n";
        check(&format!("draw 0 of 2\n{packet}"), "v:8: a draw that the vector does not lay out");
        check(&format!("draw 0 0 0 of 2\n{packet}expect 3\n"), "v:8: 1 draws were not drawn");
        check("draw 0 of 2\n", "v:7: 1 draws were not drawn");
        check(&format!("draw 0 2 of 2\n{packet}"), "v:8: there is no such place of 2");
        check(&format!("draw 0 0 of 3\n{packet}"), "v:8: a draw of 2, not of 3");
        check("draw 0 0\n", "v:7: expected a command, not \"draw 0 0\"");
    }

    #[test]
    fn wrong_numbers_fail() {
        check("length 2 4\nseen 2 3\n", Err("v:7: port 2 is seen to hold 4, not 3"));
        check("detoured 2 1\n", Err("v:6: 0 were detoured from port 2, not 1"));
    }

    #[test]
    fn an_unreadable_line_is_named() {
        check("jump 2\n", Err("v:6: expected a command, not \"jump 2\""));
        check("length 8 1\n", Err("v:6: expected a port below 8, not 8"));
        let late = "v:7: ports stands before everything that happens";
        check("length 2 4\nports to_switch 6\n", Err(late));
        let known = "marked, scheduled, droppable, header or control";
        check("packet 0 2 data\n", Err(&format!("v:6: expected {known}, not \"data\"")));
        check(
            "packet 0 2 marked ttl=3\n",
            Err("v:6: expected count=N or priority=N, not \"ttl=3\""),
        );
        let headless = Vector::parse(Path::new("v"), "# origin: here\n").map(|_| ());
        let head = "v:1: expected \"# rule: ...\", then \"# origin: ...\"";
        assert_eq!(headless, Err(head.to_owned()));
    }
}
