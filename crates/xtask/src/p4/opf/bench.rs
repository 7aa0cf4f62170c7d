//! A switch that runs OPF's program and is compared with a vector: each packet leaves by the expected port, a hop older
//! and otherwise unchanged, and registers hold the lengths that the vector sees.
//!
//! The vectors give each draw and its bound: the interpreter's `random` returns the draw, and the program must pass the
//! bound.

use std::collections::VecDeque;
use std::path::Path;

use crate::bmv2::{Draw, Program, Switch};
use crate::detours::{Arriving, Command, Config, PORTS, Vector, read_all};
use crate::frames::{frame, mend_checksum};
use crate::p4::OPF;
use crate::p4::bench::hex;
use crate::vectors::read;

/// Initial TTL in the wire format: the paper's `MAX_TTL`.
pub(super) const MAX_TIME_TO_LIVE: u8 = 64;

pub(super) const PRIORITIES: usize = 1;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Setup {
    pub(super) max_time_to_live: u8,
    pub(super) limit: u8,
    pub(super) threshold: u32,
    /// Candidate ports, before input and own port are left out.
    pub(super) targets: Vec<usize>,
    /// Ports that are left out as input, with their places among the targets.
    pub(super) inputs: Vec<(usize, usize)>,
    /// Ports that are left out as own, with their places.
    pub(super) owns: Vec<(usize, usize)>,
}

impl Setup {
    pub(super) fn of(config: &Config) -> Setup {
        let is_target = |&port: &usize| config.to_switch[port] && !config.dead[port];
        Setup::among((0..PORTS).filter(is_target).collect(), config)
    }

    /// Creates a setup as if `targets` were the live ports to switches.
    pub(super) fn among(targets: Vec<usize>, config: &Config) -> Setup {
        let places: Vec<(usize, usize)> = targets.iter().copied().zip(0..).collect();
        Setup {
            max_time_to_live: MAX_TIME_TO_LIVE,
            limit: config.limit,
            threshold: config.threshold,
            targets,
            inputs: places.clone(),
            owns: places,
        }
    }

    /// Returns the commands of the control plane.
    pub(super) fn commands(&self) -> String {
        let Setup { max_time_to_live, limit, threshold, targets, inputs, owns } = self;
        let mut text = format!(
            "table_set_default ingress.settings ingress.set {max_time_to_live} {limit} {threshold} {}\n",
            targets.len()
        );
        for draw in ["first", "second"] {
            text.push_str(&format!("table_clear ingress.{draw}_target\n"));
            for (place, port) in targets.iter().enumerate() {
                let action = format!("ingress.{draw}_target ingress.{draw}_is");
                text.push_str(&format!("table_add {action} {place} => {port}\n"));
            }
        }
        for (whose, places) in [("input", inputs), ("own", owns)] {
            text.push_str(&format!("table_clear ingress.place_of_{whose}\n"));
            for (port, place) in places {
                let action = format!("ingress.place_of_{whose} ingress.{whose}_is_at");
                text.push_str(&format!("table_add {action} {port} => {place}\n"));
            }
        }
        text
    }
}

/// Returns the frame of a packet that has left this number of switches.
///
/// # Errors
/// Refuses a packet that would have been dropped on its way.
pub(super) fn frame_of(arriving: &Arriving, switches: u8) -> Result<Vec<u8>, String> {
    let mut bytes = frame(&arriving.packet)?;
    let left = MAX_TIME_TO_LIVE.checked_sub(switches).filter(|&left| left > 0);
    bytes[22] = left.ok_or_else(|| format!("no packet leaves {switches} switches"))?;
    mend_checksum(&mut bytes);
    Ok(bytes)
}

pub(super) type Encode = fn(&Arriving, u8) -> Result<Vec<u8>, String>;

/// The switch with the frames that wait in it.
pub(super) struct Bench<'p> {
    pub(super) switch: Switch<'p>,
    encode: Encode,
    /// Frames that must leave each port.
    waiting: [VecDeque<Vec<u8>>; PORTS],
    /// Output port of the last packet, which the vector must expect.
    way: Option<usize>,
}

impl<'p> Bench<'p> {
    /// Creates a switch with the kept tables, and then the setup.
    pub(super) fn new(
        program: &'p Program,
        tables: &str,
        setup: &Setup,
        encode: Encode,
    ) -> Result<Bench<'p>, String> {
        let mut switch = Switch::new(program, PRIORITIES);
        switch.configure(tables).map_err(|error| format!("{}:{error}", OPF.tables))?;
        switch.configure(&setup.commands())?;
        Ok(Bench { switch, encode, waiting: Default::default(), way: None })
    }

    /// Runs a vector. An error names file and line, expectation and finding.
    pub(super) fn run(mut self, vector: &Vector) -> Result<(), String> {
        let mut last = 0;
        for (line, command) in &vector.commands {
            last = *line;
            self.obey(command).map_err(|error| format!("{}:{line}: {error}", vector.file))?;
        }
        self.finish().map_err(|error| format!("{}:{last}: {error}", vector.file))
    }

    fn obey(&mut self, command: &Command) -> Result<(), String> {
        match command {
            Command::Length { port, packets } => self.set_length(*port, *packets),
            Command::Draw { places, of } => {
                self.lay_out(places, *of);
                Ok(())
            }
            Command::Packet(arriving) => {
                self.check_expected()?;
                self.way = Some(self.arrive(arriving)?);
                Ok(())
            }
            Command::Expect(port) => match self.way.take() {
                Some(way) if way == *port => Ok(()),
                Some(way) => Err(format!("expected port {port}, not {way}")),
                None => Err("no packet came".to_owned()),
            },
            Command::Serve { port, times } => (0..*times).try_for_each(|_| self.serve(*port)),
            Command::Seen { port, packets } => {
                self.holds("queue_length", *port, u64::from(*packets))
            }
            Command::Detoured { port, packets } => self.holds("deflected", *port, *packets),
        }
    }

    /// Checks that the vector expected every packet.
    fn check_expected(&self) -> Result<(), String> {
        match self.way {
            None => Ok(()),
            Some(way) => Err(format!("a packet left by port {way}, which nobody expected")),
        }
    }

    pub(super) fn set_length(&mut self, port: usize, packets: u16) -> Result<(), String> {
        self.switch.configure(&format!("register_write queue_length {port} {packets}"))
    }

    pub(super) fn lay_out(&mut self, places: &[u32], of: u32) {
        for &place in places {
            let (value, high) = (place.into(), u64::from(of) - 1);
            self.switch.lay_out(Draw { value, low: 0, high });
        }
    }

    pub(super) fn holds(&self, array: &str, port: usize, expected: u64) -> Result<(), String> {
        match self.switch.register(array, port)? {
            held if held == expected => Ok(()),
            held => Err(format!("{array} of port {port} is {held}, not {expected}")),
        }
    }

    /// Lets a packet arrive. Returns its output port.
    pub(super) fn arrive(&mut self, arriving: &Arriving) -> Result<usize, String> {
        let bytes = (self.encode)(arriving, arriving.switches)?;
        let way = self.switch.receive(arriving.input as u64, &bytes)?;
        let way = way.ok_or("the packet was dropped")? as usize;
        let waiting = self.waiting.get_mut(way).ok_or_else(|| format!("there is no port {way}"))?;
        waiting.push_back((self.encode)(arriving, arriving.switches + 1)?);
        self.undrawn().map(|()| way)
    }

    /// Checks that all scripted draws were drawn.
    fn undrawn(&self) -> Result<(), String> {
        match self.switch.undrawn() {
            0 => Ok(()),
            draws => Err(format!("{draws} draws were not drawn")),
        }
    }

    pub(super) fn serve(&mut self, port: usize) -> Result<(), String> {
        let Some(queued) = self.switch.take(port as u64) else { return Ok(()) };
        let left = self.switch.send(port as u64, queued)?;
        let left = left.ok_or_else(|| format!("egress of port {port} dropped a packet"))?;
        match self.waiting[port].pop_front() {
            Some(expected) if expected == left => Ok(()),
            Some(expected) => Err(format!(
                "{} leaves port {port}, which should be {}",
                hex(&left),
                hex(&expected)
            )),
            None => Err(format!("surplus frame at port {port}: {}", hex(&left))),
        }
    }

    /// Checks that every packet and every scripted draw occurred, and drains the queues.
    pub(super) fn finish(mut self) -> Result<(), String> {
        self.undrawn()?;
        self.check_expected()?;
        for port in 0..PORTS {
            while !self.waiting[port].is_empty() {
                let before = self.waiting[port].len();
                self.serve(port)?;
                if self.waiting[port].len() == before {
                    return Err(format!("{before} frames are missing at port {port}"));
                }
            }
        }
        Ok(())
    }
}

/// Runs the program on every vector of detours. Returns their number, or a line per failure.
pub(in crate::p4) fn hold(root: &Path, program: &Program) -> Result<usize, Vec<String>> {
    let tables = read(root, Path::new(OPF.tables)).map_err(|error| vec![error])?;
    let vectors = read_all(root).map_err(|error| vec![error])?;
    let run = |vector: &Vector| {
        Bench::new(program, &tables, &Setup::of(&vector.config), frame_of)?.run(vector)
    };
    let failures: Vec<String> = vectors.iter().map(run).filter_map(Result::err).collect();
    if failures.is_empty() { Ok(vectors.len()) } else { Err(failures) }
}
