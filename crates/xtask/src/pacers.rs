//! Runs the test vectors of `vectors/pacer` on the pacer of the hostnic crate (HULL 4.2, 5.1), and writes them in bytes for RTL, with
//! random runs of that pacer beside them.

use std::fmt::Write as _;
use std::path::Path;

use trimline_hostnic::{FlowId, Pacer, PacerModel, PacerSettings, Taken};
use trimline_packet::{BitRate, ByteCount, Handle, Packet, SplitMix, Time, TimeDelta};
use trimline_switch::Rng;

use crate::detours::packet_of;
use crate::frames::{hex, mend_checksum};
use crate::vector_folder::{parse_folder, run_each, write_texts};
use crate::vectors::{Arena, number};

pub(crate) const FOLDER: &str = "vectors/pacer";

/// The hardware's cycle at 125 MHz (HULL 5.1), in nanoseconds.
const CYCLE_NS: u64 = 8;

/// Largest packet of the paper's hosts.
const LARGEST: u16 = 1514;

const LINK: BitRate = BitRate::from_gbps(1);
const TICK_NS: u64 = 16_000;
const BILLION: u32 = 1_000_000_000;

/// Random runs that are written for the RTL, and packets of each.
const RANDOM_RUNS: u64 = 3;
const RANDOM_PACKETS: usize = 80;

/// Time that the hardware may need to move a packet to its FIFO. Random runs keep this distance between what would race.
const MOVE_NS: u64 = 2_400;

#[derive(Clone, Copy, Debug)]
enum Command {
    At(u64),
    Send {
        flow: u32,
        bytes: u16,
        taken: Taken,
    },
    /// With the draw, if there is one: whether the flow is associated.
    Echo {
        flow: u32,
        draw: Option<bool>,
    },
    /// A packet begins to leave; packets are numbered from 1 as they are sent.
    Leaves {
        at_ns: u64,
        number: usize,
    },
    /// Tokens of a tick.
    Rate(u64),
    Backlog(u64),
    Count(Counter, u64),
}

#[derive(Clone, Copy, Debug)]
enum Counter {
    Passed,
    Paced,
    Dropped,
    Associated,
    Refused,
}

impl Counter {
    const ALL: [(&str, Counter); 5] = [
        ("passed", Counter::Passed),
        ("paced", Counter::Paced),
        ("dropped", Counter::Dropped),
        ("associated", Counter::Associated),
        ("refused", Counter::Refused),
    ];

    fn of(self, pacer: &Pacer) -> u64 {
        let counters = pacer.counters();
        match self {
            Counter::Passed => counters.passed,
            Counter::Paced => counters.paced,
            Counter::Dropped => counters.dropped,
            Counter::Associated => counters.associated,
            Counter::Refused => counters.refused,
        }
    }
}

/// Settings of a whole file; the others are the testbed's.
#[derive(Clone, Copy, Debug)]
struct Config {
    first_mbps: u64,
    interval_us: u64,
    queue: u64,
}

impl Config {
    const DEFAULT: Config = Config { first_mbps: 1000, interval_us: 64, queue: 128_000 };

    fn set(&mut self, pair: &str) -> Result<(), String> {
        match pair.split_once('=') {
            Some(("first_mbps", value)) => self.first_mbps = number(value)?,
            Some(("interval_us", value)) => self.interval_us = number(value)?,
            Some(("queue", value)) => self.queue = number(value)?,
            _ => return Err(format!("expected first_mbps, interval_us or queue, not {pair:?}")),
        }
        Ok(())
    }

    fn settings(self) -> PacerSettings {
        PacerSettings {
            first_rate: Some(BitRate::from_bps(self.first_mbps * 1_000_000)),
            interval: TimeDelta::from_us(self.interval_us),
            queue: ByteCount::new(self.queue),
            ..PacerSettings::testbed()
        }
    }

    /// The registers of the hardware.
    fn registers(self) -> Result<String, String> {
        let settings = self.settings();
        let (step, interval_ns) = (settings.rate_step.as_bps(), self.interval_us * 1000);
        let is_whole =
            interval_ns.is_multiple_of(TICK_NS) && 8_000_000u64.is_multiple_of(self.interval_us);
        if !is_whole || interval_ns / TICK_NS > 255 {
            return Err("T_r is no whole number of ticks up to 255, or a byte in it no whole rate"
                .to_owned());
        }
        Ok(format!(
            "config tick={} interval={} sample={} backlog={} step={step} first={} max={} max_tokens={} gain=3 depth={} \
             queue={} largest={LARGEST} lifetime={}\n",
            TICK_NS / CYCLE_NS,
            interval_ns / TICK_NS,
            8_000_000 / self.interval_us,
            8 * settings.backlog_gain,
            self.first_mbps * 1_000_000,
            LINK.as_bps(),
            LINK.as_bps() / step,
            settings.bucket.get(),
            self.queue,
            settings.association_lifetime.as_ps() / 1000 / CYCLE_NS,
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
        let mut config = Config::DEFAULT;
        let mut commands = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let words: Vec<&str> =
                line.split('#').next().unwrap_or_default().split_whitespace().collect();
            let command = match words[..] {
                [] => continue,
                ["config", ref pairs @ ..] => {
                    pairs.iter().try_for_each(|pair| config.set(pair)).map(|()| None)
                }
                _ => parse_command(&words).map(Some),
            };
            match command {
                Ok(Some(command)) => commands.push((index + 1, command)),
                Ok(None) => {}
                Err(error) => return Err(format!("{file}:{}: {error}", index + 1)),
            }
        }
        Ok(Vector { file, config, commands })
    }

    /// Runs the vector on the pacer of the hostnic crate. Returns its bytes, for RTL.
    pub(crate) fn run(&self) -> Result<String, String> {
        let place = |line: usize| move |error: String| format!("{}:{line}: {error}", self.file);
        let mut harness = Harness::new(self.config).map_err(place(1))?;
        for &(line, command) in &self.commands {
            harness.obey(command).map_err(place(line))?;
        }
        let last = self.commands.last().map_or(1, |&(line, _)| line);
        harness.finish().map_err(place(last))
    }
}

fn parse_command(words: &[&str]) -> Result<Command, String> {
    Ok(match *words {
        ["at", ns] => Command::At(number(ns)?),
        ["send", flow, bytes, taken] => {
            let taken = match taken {
                "passes" => Taken::Passes,
                "waits" => Taken::Waits,
                "dropped" => Taken::Dropped,
                _ => return Err(format!("expected passes, waits or dropped, not {taken:?}")),
            };
            Command::Send { flow: number(flow)?, bytes: number(bytes)?, taken }
        }
        ["echo", flow] => Command::Echo { flow: number(flow)?, draw: None },
        ["echo", flow, draw @ ("0" | "1")] => {
            Command::Echo { flow: number(flow)?, draw: Some(draw == "1") }
        }
        ["leaves", at, which] => Command::Leaves { at_ns: number(at)?, number: number(which)? },
        ["rate", tokens] => Command::Rate(number(tokens)?),
        ["backlog", bytes] => Command::Backlog(number(bytes)?),
        ["count", name, count] => {
            let counter = Counter::ALL.iter().find(|(known, _)| *known == name);
            let (_, counter) = counter.ok_or_else(|| format!("there is no counter {name:?}"))?;
            Command::Count(*counter, number(count)?)
        }
        _ => return Err(format!("expected a command, not {:?}", words.join(" "))),
    })
}

/// The draw of an echo, if it draws.
#[derive(Default)]
struct Draw {
    associates: Option<bool>,
    surplus: bool,
}

impl Rng for Draw {
    fn coin(&mut self) -> bool {
        self.below(2) == 1
    }
    fn below(&mut self, bound: u32) -> u32 {
        match self.associates.take() {
            Some(true) => 0,
            Some(false) => bound - 1,
            None => {
                self.surplus = true;
                bound - 1
            }
        }
    }
}

/// Returns a frame of TCP over IPv4 between a host and its peer, in one direction, without check sequence.
fn frame(flow: u32, bytes: u16, number: usize, is_echo: bool) -> Vec<u8> {
    let mut frame = vec![0u8; usize::from(bytes) - 4];
    let (host, peer) = ([10, 0, 0, 1], [10, 0, 1, (flow % 3) as u8]);
    let (source, destination) = if is_echo { (peer, host) } else { (host, peer) };
    let (here, there) = ((5000 + flow as u16).to_be_bytes(), [0x1f, 0x90]);
    let (from, to) = if is_echo { (there, here) } else { (here, there) };
    frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 8, 0]);
    frame[14] = 0x45;
    frame[16..18].copy_from_slice(&(bytes - 18).to_be_bytes());
    frame[22..24].copy_from_slice(&[64, 6]);
    frame[26..30].copy_from_slice(&source);
    frame[30..34].copy_from_slice(&destination);
    frame[34..36].copy_from_slice(&from);
    frame[36..38].copy_from_slice(&to);
    // No two frames are equal.
    frame[38..42].copy_from_slice(&(number as u32).to_be_bytes());
    // ACK, or ACK with ECN-Echo.
    frame[46..48].copy_from_slice(&[0x50, if is_echo { 0x50 } else { 0x10 }]);
    for (at, byte) in frame.iter_mut().enumerate().skip(54) {
        *byte = (at as u8).wrapping_mul(7).wrapping_add((number as u8).wrapping_mul(31));
    }
    mend_checksum(&mut frame);
    frame
}

/// A pacer before a line of 1 Gb/s.
struct Harness {
    model: PacerModel,
    pacer: Pacer,
    packets: Arena,
    frames: Vec<Vec<u8>>,
    now_ns: u64,
    line_free: Time,
    host_free_ns: u64,
    /// Packets that have left and that no line of the vector has expected: time and number.
    left: Vec<(u64, usize)>,
    text: String,
}

impl Harness {
    fn new(config: Config) -> Result<Harness, String> {
        let model = config.settings().check(LINK, LARGEST).map_err(|fault| fault.to_string())?;
        Ok(Harness {
            pacer: Pacer::new(&model),
            model,
            packets: Arena::default(),
            frames: Vec::new(),
            now_ns: 0,
            line_free: Time::ZERO,
            host_free_ns: 0,
            left: Vec::new(),
            text: config.registers()?,
        })
    }

    fn now(&self) -> Time {
        Time::ZERO + TimeDelta::from_ns(self.now_ns)
    }

    fn cycle(&self) -> u64 {
        self.now_ns / CYCLE_NS
    }

    /// Lets packets leave up to and including `until`.
    fn run(&mut self, until: Time) {
        loop {
            let next = self.pacer.next_start(self.line_free, &self.model);
            if next > until {
                return;
            }
            let sent = self.pacer.poll_transmit(next, &self.packets, &self.model);
            if let Some(handle) = sent {
                let bytes = self.packets.0[handle.index()].0.wire_bytes;
                self.line_free = next + LINK.transmission(ByteCount::new(bytes.into()));
                let ns = next.as_ps() / 1000;
                let frame = hex(&self.frames[handle.index()]);
                let _ = writeln!(self.text, "leaves {} {frame}", ns / CYCLE_NS);
                self.left.push((ns, handle.index() + 1));
            }
        }
    }

    fn send(&mut self, flow: u32, bytes: u16) -> Result<Taken, String> {
        self.run(self.now());
        if !self.pacer.is_open() || self.now_ns < self.host_free_ns {
            return Err("the packet before still comes, or waits for the line".to_owned());
        }
        let mut packet: Packet = packet_of("droppable", (0, 1), 0, 0)?;
        packet.wire_bytes = bytes;
        let handle = Handle::new(self.packets.0.len() as u32);
        self.packets.0.push((packet, Handle::NONE));
        let frame = frame(flow, bytes, self.frames.len(), false);
        let _ = writeln!(self.text, "send {} {}", self.cycle(), hex(&frame));
        self.frames.push(frame);
        self.host_free_ns = self.now_ns + u64::from(bytes) * 8;
        let flow = FlowId::new(flow.into());
        let taken =
            self.pacer.handle_packet(self.now(), flow, handle, &mut self.packets, &self.model);
        // A line that is idle does not send before the packet has come.
        self.line_free = self.line_free.max(self.now());
        self.run(self.now());
        Ok(taken)
    }

    fn echo(&mut self, flow: u32, draw: Option<bool>) -> Result<(), String> {
        self.run(self.now());
        let mut rng = Draw { associates: draw, surplus: false };
        let coin = draw.map_or("-", |associates| if associates { "1" } else { "0" });
        let hex = hex(&frame(flow, 64, 0, true));
        let _ = writeln!(self.text, "echo {} {hex} {coin}", self.cycle());
        self.pacer.handle_echo(self.now(), FlowId::new(flow.into()), &self.model, &mut rng);
        match (rng.associates, rng.surplus) {
            (None, false) => Ok(()),
            (Some(_), _) => Err("the draw was not drawn".to_owned()),
            (None, true) => Err("a draw that the vector does not lay out".to_owned()),
        }
    }

    fn bucket(&self) -> (u64, u64) {
        let buckets = self.pacer.buckets(self.now(), &self.model).next();
        let (rate, backlog) = buckets.expect("a pacer has a bucket");
        (rate.as_bps() * TICK_NS / 8 / u64::from(BILLION), backlog.get())
    }

    fn obey(&mut self, command: Command) -> Result<(), String> {
        let check = |what: &str, found: u64, expected: u64| {
            let error = format!("{what} is {found}, not {expected}");
            if found == expected { Ok(()) } else { Err(error) }
        };
        match command {
            Command::At(ns) if ns < self.now_ns => Err(format!("{ns} ns is past")),
            Command::At(ns) => {
                self.now_ns = ns;
                self.run(self.now());
                Ok(())
            }
            Command::Send { flow, bytes, taken } => {
                let found = self.send(flow, bytes)?;
                let error = format!("the packet {found:?}, not {taken:?}");
                if found == taken { Ok(()) } else { Err(error) }
            }
            Command::Echo { flow, draw } => self.echo(flow, draw),
            Command::Leaves { at_ns, number } => {
                self.run(Time::ZERO + TimeDelta::from_ns(at_ns.max(self.now_ns)));
                if self.left.is_empty() {
                    return Err("no packet leaves".to_owned());
                }
                let found = self.left.remove(0);
                let error = format!("packet {} leaves at {} ns", found.1, found.0);
                if found == (at_ns, number) { Ok(()) } else { Err(error) }
            }
            Command::Rate(expected) => {
                let _ = writeln!(self.text, "rate {} {expected}", self.cycle());
                check("the rate", self.bucket().0, expected)
            }
            Command::Backlog(expected) => {
                let _ = writeln!(self.text, "backlog {} {expected}", self.cycle());
                check("the backlog", self.bucket().1, expected)
            }
            Command::Count(counter, expected) => {
                let name = Counter::ALL[counter as usize].0;
                let _ = writeln!(self.text, "count {} {name} {expected}", self.cycle());
                check(name, counter.of(&self.pacer), expected)
            }
        }
    }

    fn finish(self) -> Result<String, String> {
        match self.left.first() {
            None => Ok(self.text),
            Some((ns, number)) => {
                Err(format!("packet {number} leaves at {ns} ns, which the vector does not expect"))
            }
        }
    }
}

/// Returns a random run of the pacer in bytes. Nothing happens so close to a tick or to a free line that moving a packet in
/// hardware would decide.
fn random_run(seed: u64) -> Result<String, String> {
    let mut rng = SplitMix(seed);
    let config = Config { first_mbps: 50 * u64::from(1 + rng.below(20)), ..Config::DEFAULT };
    let mut harness = Harness::new(config)?;
    while harness.frames.len() < RANDOM_PACKETS {
        let longest = [200, 2000, 20_000][rng.below(3) as usize];
        let gap = u64::from(rng.below(longest)) * CYCLE_NS;
        let mut at = harness.host_free_ns.max(harness.now_ns) + MOVE_NS + gap;
        at = at / CYCLE_NS * CYCLE_NS;
        loop {
            harness.run(Time::ZERO + TimeDelta::from_ns(at));
            let next = harness.pacer.next_start(harness.line_free, &harness.model);
            let free = harness.line_free.as_ps() / 1000;
            let near = |ns: u64| at <= ns + MOVE_NS && ns <= at + MOVE_NS;
            if TICK_NS - at % TICK_NS <= MOVE_NS {
                at = (at / TICK_NS + 1) * TICK_NS + CYCLE_NS;
            } else if near(free)
                || (next != Time::NEVER && near(next.as_ps() / 1000))
                || !harness.pacer.is_open()
            {
                at += MOVE_NS;
            } else {
                break;
            }
        }
        harness.now_ns = at;
        let flow = 1 + rng.below(5);
        if rng.below(4) == 0 {
            // A copy tells if the pacer draws.
            let mut trial = Draw::default();
            let (now, model) = (harness.now(), harness.model);
            harness.pacer.clone().handle_echo(now, FlowId::new(flow.into()), &model, &mut trial);
            harness.echo(flow, trial.surplus.then(|| rng.coin()))?;
        } else {
            let bytes = if rng.coin() { 1514 } else { 64 + rng.below(1450) as u16 };
            harness.send(flow, bytes)?;
        }
    }
    harness.now_ns += 40 * TICK_NS;
    harness.run(harness.now());
    let (rate, backlog) = harness.bucket();
    let cycle = harness.cycle();
    let _ = writeln!(harness.text, "rate {cycle} {rate}\nbacklog {cycle} {backlog}");
    for (name, counter) in Counter::ALL {
        let _ = writeln!(harness.text, "count {cycle} {name} {}", counter.of(&harness.pacer));
    }
    harness.left.clear();
    harness.finish()
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
        texts.push((format!("random-{seed}"), random_run(seed)?));
    }
    write_texts(folder, "pacer", &texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "# rule: r\n# origin: here\nconfig first_mbps=500\n";

    #[track_caller]
    fn check(lines: &str, expected: Result<(), &str>) {
        let outcome = Vector::parse(Path::new("v"), &format!("{HEAD}{lines}"))
            .and_then(|vector| vector.run())
            .map(|_| ());
        assert_eq!(outcome, expected.map_err(str::to_owned));
    }

    #[test]
    fn a_correct_vector_of_a_pacer_passes() {
        check("rate 1000\necho 1 1\nsend 1 1500 waits\nleaves 0 1\ncount associated 1\n", Ok(()));
        check("send 1 1500 passes\nleaves 0 1\n", Ok(()));
    }

    #[test]
    fn a_wrong_expectation_of_a_pacer_fails() {
        check("send 1 1500 waits\n", Err("v:4: the packet Passes, not Waits"));
        check(
            "send 1 1500 passes\n",
            Err("v:4: packet 1 leaves at 0 ns, which the vector does not expect"),
        );
        check("send 1 1500 passes\nleaves 8 1\n", Err("v:5: packet 1 leaves at 0 ns"));
        check("leaves 8 1\n", Err("v:4: no packet leaves"));
        check("rate 999\n", Err("v:4: the rate is 1000, not 999"));
        check("count paced 1\n", Err("v:4: paced is 0, not 1"));
        check("echo 1\n", Err("v:4: a draw that the vector does not lay out"));
        check("echo 1 1\necho 1 1\n", Err("v:5: the draw was not drawn"));
    }

    #[test]
    fn what_no_host_sends_is_refused() {
        let busy = "v:6: the packet before still comes, or waits for the line";
        check("send 1 1500 passes\nleaves 0 1\nsend 1 64 passes\n", Err(busy));
        check("jump\n", Err("v:4: expected a command, not \"jump\""));
        check("count lost 1\n", Err("v:4: there is no counter \"lost\""));
    }

    #[test]
    fn random_runs_pass_and_pace() {
        for seed in 1..=RANDOM_RUNS {
            let text = random_run(seed).unwrap();
            let count = |name: &str| {
                let line = text.lines().find(|line| line.contains(&format!(" {name} "))).unwrap();
                line.rsplit(' ').next().unwrap().parse::<usize>().unwrap()
            };
            assert_eq!(
                count("passed") + count("paced") + count("dropped"),
                RANDOM_PACKETS,
                "{seed}"
            );
            assert!(
                count("passed") > 5 && count("paced") > 20 && count("associated") > 1,
                "{seed}: {text}"
            );
        }
    }
}
