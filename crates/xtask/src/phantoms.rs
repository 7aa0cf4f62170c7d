//! Runs the test vectors of `vectors/phantom` on the phantom queue of the switch crate (HULL 2.1, 5.1), and writes them in bytes
//! for RTL, with random runs of that phantom queue beside them.

use std::fmt::Write as _;
use std::path::Path;

use trimline_packet::fluid::Clock;
use trimline_packet::{BitRate, ByteCount, Packet, SplitMix, Time, TimeDelta};
use trimline_switch::Rng as _;
use trimline_switch::phantom::{PhantomModel, PhantomQueue, PhantomSettings};

use crate::detours::packet_of;
use crate::frames::{frame, hex};
use crate::vector_folder::{parse_folder, run_each, write_texts};
use crate::vectors::number;

pub(crate) const FOLDER: &str = "vectors/phantom";

/// The rate of the paper's links, in Mb/s.
const LINK_MBPS: u64 = 1000;

/// The hardware's cycle at 125 MHz (HULL 5.1), in nanoseconds.
const CYCLE_NS: u64 = 8;

/// Parts of a byte that the hardware counts.
const PARTS: u64 = 256;

/// Random runs that are written for the RTL, and packets of each.
const RANDOM_RUNS: u64 = 3;
const RANDOM_PACKETS: u32 = 60;

/// The ECN field of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ecn {
    Plain,
    Ect,
    Ce,
}

impl Ecn {
    fn parse(word: &str) -> Result<Ecn, String> {
        match word {
            "plain" => Ok(Ecn::Plain),
            "ect" => Ok(Ecn::Ect),
            "ce" => Ok(Ecn::Ce),
            _ => Err(format!("expected plain, ect or ce, not {word:?}")),
        }
    }

    fn marks(self) -> u8 {
        match self {
            Ecn::Plain => 0,
            Ecn::Ect => Packet::MARK_ECT,
            Ecn::Ce => Packet::MARK_ECT | Packet::MARK_CE,
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Command {
    At(u64),
    /// A packet of this size begins to be transmitted.
    Packet(u16, Ecn),
    Expect(Ecn),
    /// The counter in whole bytes.
    Length(u64),
}

/// Settings of a whole file.
#[derive(Clone, Copy, Debug)]
struct Config {
    drain_mbps: u64,
    threshold: u64,
    tick_ns: u64,
}

impl Config {
    fn set(&mut self, pair: &str) -> Result<(), String> {
        match pair.split_once('=') {
            Some(("drain_mbps", value)) => self.drain_mbps = number(value)?,
            Some(("threshold", value)) => self.threshold = number(value)?,
            Some(("tick_ns", value)) => self.tick_ns = number(value)?,
            _ => return Err(format!("expected drain_mbps, threshold or tick_ns, not {pair:?}")),
        }
        Ok(())
    }

    fn model(self) -> Result<PhantomModel, String> {
        let settings = PhantomSettings {
            drain: BitRate::from_bps(self.drain_mbps * 1_000_000),
            threshold: ByteCount::new(self.threshold),
            clock: Clock::Tick(TimeDelta::from_ns(self.tick_ns)),
        };
        settings.check(BitRate::from_bps(LINK_MBPS * 1_000_000)).map_err(|fault| fault.to_string())
    }

    /// The registers of the hardware.
    fn registers(self) -> Result<String, String> {
        let parts = self.drain_mbps * self.tick_ns * PARTS;
        if !parts.is_multiple_of(8000) || !self.tick_ns.is_multiple_of(CYCLE_NS) {
            return Err("the drain of a tick is no whole number of parts of a byte".to_owned());
        }
        Ok(format!(
            "config tick={} drain={} threshold={}\n",
            self.tick_ns / CYCLE_NS,
            parts / 8000,
            self.threshold
        ))
    }
}

pub(crate) struct Vector {
    file: String,
    config: Config,
    commands: Vec<(usize, Command)>,
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
        let mut config = Config { drain_mbps: 950, threshold: 1000, tick_ns: 800 };
        let mut commands = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let words: Vec<&str> =
                line.split('#').next().unwrap_or_default().split_whitespace().collect();
            let command = match words[..] {
                [] => continue,
                ["config", ref pairs @ ..] => {
                    pairs.iter().try_for_each(|pair| config.set(pair)).map(|()| None)
                }
                ["at", ns] => number(ns).map(|ns| Some(Command::At(ns))),
                ["packet", bytes, ecn] => number(bytes)
                    .and_then(|bytes| Ok(Some(Command::Packet(bytes, Ecn::parse(ecn)?)))),
                ["expect", ecn] => Ecn::parse(ecn).map(|ecn| Some(Command::Expect(ecn))),
                ["length", bytes] => number(bytes).map(|bytes| Some(Command::Length(bytes))),
                _ => Err(format!("expected a command, not {:?}", words.join(" "))),
            };
            match command {
                Ok(Some(command)) => commands.push((index + 1, command)),
                Ok(None) => {}
                Err(error) => return Err(format!("{file}:{}: {error}", index + 1)),
            }
        }
        Ok(Vector { file, config, commands })
    }

    /// Runs the vector on the phantom queue of the switch crate. Returns its bytes, for RTL.
    pub(crate) fn run(&self) -> Result<String, String> {
        let place = |line: usize| move |error: String| format!("{}:{line}: {error}", self.file);
        let mut harness = Harness::new(self.config).map_err(place(1))?;
        for &(line, command) in &self.commands {
            harness.obey(command).map_err(place(line))?;
        }
        harness.finish().map_err(place(self.commands.last().map_or(1, |&(line, _)| line)))
    }
}

/// A phantom queue on a link of [`LINK_MBPS`].
struct Harness {
    model: PhantomModel,
    phantom: PhantomQueue,
    now_ns: u64,
    /// Time at which the link is free.
    free_ns: u64,
    packets: u32,
    /// The last packet, as it left.
    left: Option<Packet>,
    text: String,
}

impl Harness {
    fn new(config: Config) -> Result<Harness, String> {
        Ok(Harness {
            model: config.model()?,
            phantom: PhantomQueue::new(),
            now_ns: 0,
            free_ns: 0,
            packets: 0,
            left: None,
            text: config.registers()?,
        })
    }

    fn now(&self) -> Time {
        Time::ZERO + TimeDelta::from_ns(self.now_ns)
    }

    /// Lets a packet pass. Returns whether it was marked.
    fn pass(&mut self, bytes: u16, ecn: Ecn) -> Result<bool, String> {
        if self.now_ns < self.free_ns {
            return Err(format!("the link is busy until {} ns", self.free_ns));
        }
        let payload = bytes.checked_sub(Packet::HEADER_BYTES);
        let payload =
            payload.ok_or_else(|| format!("a packet has {} B or more", Packet::HEADER_BYTES))?;
        let mut packet = packet_of("droppable", (0, 1), 0, self.packets)?;
        packet.header.extra = trimline_packet::Header::data_extra(payload, 0);
        packet.wire_bytes = bytes;
        packet.marks = ecn.marks();
        let before = frame(&packet)?;
        let is_marked = self.phantom.pass(self.now(), &mut packet, &self.model);
        let after = frame(&packet)?;
        let cycle = self.now_ns / CYCLE_NS;
        let _ = writeln!(self.text, "packet {cycle} {} {}", hex(&before), hex(&after));
        self.packets += 1;
        self.free_ns = self.now_ns + u64::from(bytes) * 8000 / LINK_MBPS;
        self.left = Some(packet);
        Ok(is_marked)
    }

    fn obey(&mut self, command: Command) -> Result<(), String> {
        match command {
            Command::At(ns) if ns < self.now_ns || !ns.is_multiple_of(CYCLE_NS) => {
                Err(format!("{ns} ns is no later cycle of {CYCLE_NS} ns"))
            }
            Command::At(ns) => {
                self.now_ns = ns;
                Ok(())
            }
            Command::Packet(bytes, ecn) => {
                self.check_expected()?;
                self.pass(bytes, ecn).map(|_| ())
            }
            Command::Expect(ecn) => {
                let left = self.left.take().ok_or("no packet came")?;
                let ecn_bits = Packet::MARK_ECT | Packet::MARK_CE;
                if left.marks & ecn_bits == ecn.marks() {
                    Ok(())
                } else {
                    Err(format!("expected {ecn:?}, not marks {:#x}", left.marks & ecn_bits))
                }
            }
            Command::Length(expected) => {
                let bytes = self.phantom.bytes(self.now(), &self.model).get();
                if bytes != expected {
                    return Err(format!("the counter is {bytes}, not {expected}"));
                }
                let _ = writeln!(self.text, "length {} {bytes}", self.now_ns / CYCLE_NS);
                Ok(())
            }
        }
    }

    fn check_expected(&self) -> Result<(), String> {
        self.left
            .map_or(Ok(()), |_| Err("a packet left that the vector does not expect".to_owned()))
    }

    fn finish(self) -> Result<String, String> {
        self.check_expected()?;
        Ok(self.text)
    }
}

/// Returns a random run of the phantom queue in bytes, and the number of packets that it marked.
fn random_run(seed: u64) -> Result<(String, u64), String> {
    let mut rng = SplitMix(seed);
    let config = Config {
        drain_mbps: 5 * u64::from(100 + rng.below(99)),
        threshold: u64::from(1 + rng.below(3000)),
        tick_ns: 800,
    };
    let mut harness = Harness::new(config)?;
    let mut marked = 0;
    for _ in 0..RANDOM_PACKETS {
        let bytes = if rng.coin() { 1514 } else { 64 + rng.below(1500) as u16 };
        let ecn = [Ecn::Ect, Ecn::Ect, Ecn::Plain, Ecn::Ce][rng.below(4) as usize];
        let gap = match rng.below(4) {
            0 => u64::from(rng.below(3000)) * CYCLE_NS,
            1 => u64::from(rng.below(100)) * CYCLE_NS,
            _ => 0,
        };
        harness.now_ns = harness.free_ns + gap;
        marked += u64::from(harness.pass(bytes, ecn)?);
    }
    harness.left = None;
    Ok((harness.finish()?, marked))
}

fn read_all(root: &Path) -> Result<Vec<Vector>, String> {
    parse_folder(root, FOLDER, Vector::parse)
}

/// Runs every vector. Returns their number, or a line per failure.
pub(crate) fn run_all(root: &Path) -> Result<usize, Vec<String>> {
    run_each(read_all(root), Vector::run)
}

/// Writes every vector in bytes into `folder`, and random runs. Returns their number, or problem and place.
pub(crate) fn expand_all(root: &Path, folder: &Path) -> Result<usize, String> {
    let mut texts = Vec::new();
    for vector in read_all(root)? {
        let name = Path::new(&vector.file).file_stem().unwrap_or_default().to_string_lossy();
        texts.push((name.into_owned(), vector.run()?));
    }
    for seed in 1..=RANDOM_RUNS {
        texts.push((format!("random-{seed}"), random_run(seed)?.0));
    }
    write_texts(folder, "phantom", &texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "# rule: r\n# origin: here\nconfig drain_mbps=950 threshold=89\n";

    #[track_caller]
    fn check(lines: &str, expected: Result<&str, &str>) {
        let outcome = Vector::parse(Path::new("v"), &format!("{HEAD}{lines}"))
            .and_then(|vector| vector.run())
            .map(|text| text.lines().next().unwrap_or_default().to_owned());
        assert_eq!(outcome, expected.map(str::to_owned).map_err(str::to_owned));
    }

    #[test]
    fn a_correct_vector_of_a_phantom_queue_passes() {
        let lines = "packet 1514 ect\nexpect ect\nat 12304\nlength 89\npacket 64 ect\nexpect ect\n";
        check(lines, Ok("config tick=100 drain=24320 threshold=89"));
    }

    #[test]
    fn a_wrong_mark_or_counter_fails() {
        check("packet 64 ect\nexpect ce\n", Err("v:5: expected Ce, not marks 0x1"));
        check("packet 64 plain\nlength 63\n", Err("v:5: the counter is 64, not 63"));
        check("packet 64 plain\n", Err("v:4: a packet left that the vector does not expect"));
        check("expect ce\n", Err("v:4: no packet came"));
    }

    #[test]
    fn what_no_link_carries_is_refused() {
        check(
            "packet 1514 ect\nexpect ect\nat 8\npacket 64 ect\n",
            Err("v:7: the link is busy until 12112 ns"),
        );
        check("at 7\n", Err("v:4: 7 ns is no later cycle of 8 ns"));
        check("packet 63 ect\n", Err("v:4: a packet has 64 B or more"));
        check("jump\n", Err("v:4: expected a command, not \"jump\""));
    }

    #[test]
    fn random_runs_mark_some_packets() {
        let marked: u64 = (1..=RANDOM_RUNS).map(|seed| random_run(seed).unwrap().1).sum();
        let packets = RANDOM_RUNS * u64::from(RANDOM_PACKETS);
        assert!((packets / 8..packets * 3 / 4).contains(&marked), "{marked}");
    }
}
