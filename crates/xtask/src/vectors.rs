//! Runs the test vectors of `vectors/switch` against the switch port.
//!
//! A vector is text, with one behaviour per file; `vectors/README.md` describes the language. The harness is a switch
//! of a few ports with host N at port N. A packet that a port returns is bounced and routed like any other, so a
//! notification leaves by its packet's input.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use trimline_packet::{
    BitRate, ConnectionId, Flags, Handle, Header, HostId, Kind, Packet, Packets, PathId, Service,
    Time, TimeDelta,
};
use trimline_switch::model::MarkAt;
use trimline_switch::{
    Choices, CodelPort, Demands, Disposition, DropList, Limit, Marker, OutputPort, Pool, Port,
    PortContext, PriorityDrop, RateLimited, Rng, Scheduler, ServiceModel, profiles,
};

pub(crate) const FOLDER: &str = "vectors/switch";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Covered {
    pub(crate) vectors: usize,
    /// Runs: files times profiles times port types.
    pub(crate) runs: usize,
    /// Claims of the specification.
    pub(crate) claims: usize,
}

/// Specifications whose claims the vectors check.
const SPECS: [&str; 2] = ["spec/ndp-switch.toml", "spec/fastlane-switch.toml"];

/// Runs every vector under `root` (the workspace), and checks that each names a claim of [`SPECS`], and each claim has
/// a vector. Returns a line per failure: `file:line: problem (claim)`.
pub(crate) fn run_all(root: &Path) -> Result<Covered, Vec<String>> {
    let mut claims = BTreeMap::new();
    for spec in SPECS {
        let more = read(root, Path::new(spec)).and_then(|text| read_claims(spec, &text));
        claims.extend(more.map_err(|error| vec![error])?);
    }
    let vectors = read_all(root, &[FOLDER]).map_err(|error| vec![error])?;
    let mut failures = Vec::new();
    let mut covered = Covered { vectors: vectors.len(), runs: 0, claims: claims.len() };
    for vector in &vectors {
        let Some(used) = claims.get_mut(&vector.claim) else {
            let (specs, Vector { file, claim, .. }) = (SPECS.join(" or "), vector);
            failures.push(format!("{file}:1: claim {claim} is not in {specs}"));
            continue;
        };
        *used = true;
        match vector.run() {
            Ok(runs) => covered.runs += runs,
            Err(error) => failures.push(error),
        }
    }
    let unused = claims.iter().filter(|(_, used)| !**used);
    failures.extend(unused.map(|(claim, _)| format!("spec: claim {claim} has no vector")));
    if vectors.is_empty() {
        failures.push(format!("{FOLDER}: no vector"));
    }
    if failures.is_empty() { Ok(covered) } else { Err(failures) }
}

pub(crate) fn read(root: &Path, file: &Path) -> Result<String, String> {
    fs::read_to_string(root.join(file)).map_err(|error| format!("{}: {error}", file.display()))
}

/// Lists the vectors of a folder, by name.
pub(crate) fn list(root: &Path, folder: &Path) -> Result<Vec<PathBuf>, String> {
    let error = |error| format!("{}: {error}", folder.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(root.join(folder)).map_err(error)? {
        let name = PathBuf::from(entry.map_err(error)?.file_name());
        if name.extension().is_some_and(|extension| extension == "vec") {
            files.push(folder.join(name));
        }
    }
    files.sort();
    Ok(files)
}

/// Reads the vectors of some folders.
pub(crate) fn read_all(root: &Path, folders: &[&str]) -> Result<Vec<Vector>, String> {
    let mut vectors = Vec::new();
    for folder in folders {
        for file in list(root, Path::new(folder))? {
            vectors.push(Vector::parse(&file, &read(root, &file)?)?);
        }
    }
    Ok(vectors)
}

/// Reads the numbers of the claims: lines of the form `"number" = "claim"`.
fn read_claims(file: &str, text: &str) -> Result<BTreeMap<String, bool>, String> {
    let mut claims = BTreeMap::new();
    for (index, line) in text.lines().enumerate() {
        let Some(rest) = line.strip_prefix('"') else { continue };
        let here = format!("{file}:{}", index + 1);
        let (number, _) = rest
            .split_once("\" = \"")
            .ok_or_else(|| format!("{here}: expected \"number\" = \"claim\""))?;
        if claims.insert(number.to_owned(), false).is_some() {
            return Err(format!("{here}: claim {number} is there twice"));
        }
    }
    Ok(claims)
}

#[derive(Clone, Debug)]
pub(crate) enum Command {
    Config(Vec<(String, String)>),
    At(Time),
    Packet { port: usize, packets: Vec<(String, Packet)> },
    Serve { port: usize, times: usize },
    ScriptedBit(Vec<bool>),
    Expect { port: usize, packets: Vec<(String, Packet)> },
    Count { name: String, number: u64 },
}

pub(crate) struct Vector {
    pub(crate) file: String,
    claim: String,
    pub(crate) profiles: Vec<String>,
    pub(crate) commands: Vec<(usize, Command)>,
}

impl Vector {
    pub(crate) fn parse(file: &Path, text: &str) -> Result<Vector, String> {
        let file = file.display().to_string();
        let head = |key: &str| {
            let lines = text.lines().take_while(|line| line.starts_with('#'));
            let mut values = lines.filter_map(|line| line.strip_prefix("# ")?.strip_prefix(key));
            let value = values.next().and_then(|value| value.strip_prefix(": "));
            value.ok_or_else(|| format!("{file}:1: the head has no \"# {key}: ...\""))
        };
        let (claim, profiles) = (head("claim")?.trim().to_owned(), head("profiles")?);
        head("origin")?;
        let profiles: Vec<String> = profiles.split_whitespace().map(str::to_owned).collect();
        let (mut commands, mut names) = (Vec::new(), BTreeMap::new());
        for (index, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            let words: Vec<&str> = line.split_whitespace().collect();
            if let Some((&verb, rest)) = words.split_first() {
                let command = parse_command(verb, rest, &mut names)
                    .map_err(|error| format!("{file}:{}: {error} (claim {claim})", index + 1))?;
                commands.extend(command.map(|command| (index + 1, command)));
            }
        }
        Ok(Vector { file, claim, profiles, commands })
    }

    /// Runs the vector on every profile of its head, on ports with the needed features and with more. Returns the
    /// number of runs.
    pub(crate) fn run(&self) -> Result<usize, String> {
        let mut runs = 0;
        for profile in &self.profiles {
            let model = self.model(profile)?;
            let queues = model.queue_count();
            match model.demands() {
                Demands { clock: false, sojourn: false, urgency: false } => {
                    match queues {
                        1 => self.run_on::<Port<1>>(&model, profile)?,
                        _ => self.run_on::<Port<2>>(&model, profile)?,
                    }
                    self.run_on::<Port<8>>(&model, profile)?;
                }
                Demands { urgency: true, .. } => match queues {
                    1 => self.run_on::<PriorityDrop<1>>(&model, profile)?,
                    _ => self.run_on::<RateLimited<PriorityDrop<2>>>(&model, profile)?,
                },
                Demands { sojourn: true, .. } => {
                    self.run_on::<RateLimited<CodelPort<Port<2>>>>(&model, profile)?;
                }
                Demands { clock: true, .. } => {
                    self.run_on::<RateLimited<Port<2>>>(&model, profile)?
                }
            }
            runs += 2;
            // A port with more features behaves equally.
            match model.demands().urgency {
                true if queues == 1 => {
                    self.run_on::<RateLimited<PriorityDrop<1>>>(&model, profile)?
                }
                true => self.run_on::<CodelPort<RateLimited<PriorityDrop<2>>>>(&model, profile)?,
                false => self.run_on::<RateLimited<CodelPort<Port<8>>>>(&model, profile)?,
            }
        }
        Ok(runs)
    }

    fn run_on<P: OutputPort<Model = ServiceModel>>(
        &self,
        model: &ServiceModel,
        profile: &str,
    ) -> Result<(), String> {
        Harness::<P>::new(model).run(self, profile)
    }

    /// Returns the service model: the profile with the `config` lines applied.
    pub(crate) fn model(&self, profile: &str) -> Result<ServiceModel, String> {
        let choices = self.choices(profile)?;
        choices.build().map_err(|error| format!("{}:1: {error} (profile {profile})", self.file))
    }

    pub(crate) fn choices(&self, profile: &str) -> Result<Choices, String> {
        let mut settings = BTreeMap::new();
        let mut first_line = 1;
        for (line, command) in &self.commands {
            if let Command::Config(pairs) = command {
                first_line = *line;
                settings.extend(pairs.iter().cloned());
            }
        }
        let error = |text: String| {
            format!("{}:{first_line}: {text} (profile {profile}, claim {})", self.file, self.claim)
        };
        let choices = choose(profile, &mut settings).map_err(error)?;
        match settings.keys().next() {
            Some(key) => Err(error(format!("config knows no {key}"))),
            None => Ok(choices),
        }
    }
}

/// Default link rate of a port in Mb/s.
const LINE: u64 = 10_000;

fn take(settings: &mut BTreeMap<String, String>, key: &str) -> Result<Option<u32>, String> {
    settings.remove(key).map(|value| number(&value)).transpose()
}

fn choose(profile: &str, settings: &mut BTreeMap<String, String>) -> Result<Choices, String> {
    let packets = take(settings, "packets")?.unwrap_or(8);
    let payload = u16::try_from(take(settings, "payload")?.unwrap_or(9000))
        .map_err(|_| "a payload is less than 64 KiB".to_owned())?;
    let mark = take(settings, "mark")?;
    let found = profiles::named(profile).ok_or_else(|| format!("there is no profile {profile}"))?;
    let packet_bytes = payload + Packet::HEADER_BYTES;
    let mark = mark.unwrap_or(packets);
    let line = BitRate::from_bps(take(settings, "line_mbps")?.map_or(LINE, u64::from) * 1_000_000);
    let mut choices = (found.build)(profiles::Sizes {
        packets,
        payload_bytes: payload,
        packet_bytes,
        mark,
        line,
    });
    if let Scheduler::RateLimited(cap) = &mut choices.scheduler {
        cap.is_work_conserving = take(settings, "work_conserving")? != Some(0);
    }
    if let Some(bytes) = take(settings, "header_bytes")? {
        choices.queues[0].header = Limit::bytes(bytes);
    }
    if let Some(bytes) = take(settings, "data_bytes")? {
        let data = choices.queues.last_mut().expect("a profile has a queue");
        let is_for_all = data.header == data.whole;
        data.whole = Limit::bytes(bytes);
        if is_for_all {
            data.header = data.whole;
        }
    }
    if let Some(ratio) = take(settings, "ratio")? {
        let mut weights = [0; 8];
        (weights[0], weights[1]) = (ratio, 1);
        choices.scheduler = Scheduler::WeightedRoundRobin { weights };
    }
    if let Some(packets) = take(settings, "port_packets")? {
        choices.port = Limit::packets(packets);
    }
    if let Some(bytes) = take(settings, "selective_drop")? {
        let data = choices.queues.last_mut().expect("a profile has a queue");
        data.selective_drop = Some(bytes);
    }
    if let (Some(kmin), Some(kmax)) = (take(settings, "kmin")?, take(settings, "kmax")?) {
        let data = choices.queues.last_mut().expect("a profile has a queue");
        let at = match take(settings, "departure")? {
            Some(1) => MarkAt::Dequeue,
            Some(_) | None => MarkAt::Enqueue,
        };
        data.marker = Marker::Ramp { kmin, kmax, pmax: u32::MAX, at };
    }
    if let Some(cell) = take(settings, "cell")? {
        choices.cell_bytes =
            u16::try_from(cell).map_err(|_| "a cell is less than 64 KiB".to_owned())?;
    }
    Ok(choices)
}

pub(crate) fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("expected a number, not {text:?}"))
}

/// Expands `a1..a9`, or a single name.
fn names_of(text: &str) -> Result<Vec<String>, String> {
    let Some((first, last)) = text.split_once("..") else { return Ok(vec![text.to_owned()]) };
    let split = |name: &str| {
        let digits = name.len() - name.bytes().rev().take_while(u8::is_ascii_digit).count();
        (name[..digits].to_owned(), name[digits..].parse::<u32>())
    };
    match (split(first), split(last)) {
        ((a, Ok(from)), (b, Ok(to))) if a == b && from <= to => {
            Ok((from..=to).map(|index| format!("{a}{index}")).collect())
        }
        _ => Err(format!("expected a range such as d1..d8, not {text:?}")),
    }
}

type Names = BTreeMap<String, Packet>;

fn look_up(words: &[&str], names: &Names) -> Result<Vec<(String, Packet)>, String> {
    let mut packets = Vec::new();
    for word in words {
        for name in names_of(word)? {
            let packet = *names.get(&name).ok_or_else(|| format!("no packet is named {name}"))?;
            packets.push((name, packet));
        }
    }
    if packets.is_empty() { Err("expected the name of a packet".to_owned()) } else { Ok(packets) }
}

fn parse_command(verb: &str, rest: &[&str], names: &mut Names) -> Result<Option<Command>, String> {
    let command = match (verb, rest) {
        ("config", pairs) => {
            let pairs = pairs.iter().map(|pair| {
                let (key, value) = pair
                    .split_once('=')
                    .ok_or_else(|| format!("expected key=value, not {pair:?}"))?;
                Ok((key.to_owned(), value.to_owned()))
            });
            Command::Config(pairs.collect::<Result<_, String>>()?)
        }
        ("define", [name, kind, rest @ ..]) => {
            for (name, packet) in define(name, kind, rest, names)? {
                if names.insert(name.clone(), packet).is_some() {
                    return Err(format!("packet {name} is defined twice"));
                }
            }
            return Ok(None);
        }
        ("packet", [port, rest @ ..]) => {
            Command::Packet { port: number(port)?, packets: look_up(rest, names)? }
        }
        ("expect", [port, rest @ ..]) => {
            Command::Expect { port: number(port)?, packets: look_up(rest, names)? }
        }
        ("at", [ns]) => Command::At(Time::ZERO + TimeDelta::from_ns(number(ns)?)),
        ("serve", [port]) => Command::Serve { port: number(port)?, times: 1 },
        ("serve", [port, times]) => Command::Serve { port: number(port)?, times: number(times)? },
        ("coin", coins) if !coins.is_empty() => {
            let coins = coins.iter().map(|coin| match *coin {
                "0" => Ok(false),
                "1" => Ok(true),
                _ => Err(format!("expected a coin of 0 or 1, not {coin:?}")),
            });
            Command::ScriptedBit(coins.collect::<Result<_, String>>()?)
        }
        ("count", [name, count]) => {
            Command::Count { name: (*name).to_owned(), number: number(count)? }
        }
        _ => {
            return Err(format!(
                "expected a command, not {:?}",
                [&[verb], rest].concat().join(" ")
            ));
        }
    };
    Ok(Some(command))
}

fn define(
    name: &str,
    kind: &str,
    rest: &[&str],
    names: &Names,
) -> Result<Vec<(String, Packet)>, String> {
    let defined = names_of(name)?;
    if let "trimmed" | "returned" | "marked" | "notification" = kind {
        let origins = look_up(rest, names)?;
        if origins.len() != defined.len() {
            return Err(format!("{} names for {} packets", defined.len(), origins.len()));
        }
        let derived = origins.into_iter().map(|(_, mut packet)| {
            if kind == "marked" {
                packet.marks |= Packet::MARK_CE;
            } else if kind == "notification" {
                packet.notify();
            } else if packet.service == Service::Trimmable {
                packet.trim(Packet::HEADER_BYTES);
            }
            if kind == "returned" {
                packet.bounce();
            }
            packet
        });
        return Ok(defined.into_iter().zip(derived).collect());
    }
    let (kind, service) = match kind {
        "data" => (Kind::Data, Service::Trimmable),
        "droppable" => (Kind::Data, Service::Droppable),
        "ack" => (Kind::Ack, Service::Control),
        "nack" => (Kind::Nack, Service::Control),
        "pull" => (Kind::Pull, Service::Control),
        "reset" => (Kind::Reset, Service::Control),
        _ => return Err(format!("there is no kind of packet {kind:?}")),
    };
    let mut fields = BTreeMap::new();
    for field in rest {
        let (key, value) =
            field.split_once('=').ok_or_else(|| format!("expected key=value, not {field:?}"))?;
        fields.insert(key, number::<u32>(value)?);
    }
    let mut field = |key: &str, default: Option<u32>| {
        fields.remove(key).or(default).ok_or_else(|| format!("a {kind:?} packet needs {key}="))
    };
    let default_size = (service == Service::Control).then_some(u32::from(Packet::HEADER_BYTES));
    let size =
        u16::try_from(field("size", default_size)?).map_err(|_| "a packet is less than 64 KiB")?;
    let (source, destination) = (field("from", None)?, field("to", None)?);
    let (connection, sequence) = (field("connection", Some(1))?, field("seq", Some(0))?);
    let mut marks = if field("ecn", Some(0))? == 1 { Packet::MARK_ECT } else { 0 };
    if field("unscheduled", Some(0))? == 1 {
        marks |= Packet::MARK_UNSCHEDULED;
    }
    let urgency = fields.remove("urgency");
    if let Some(key) = fields.keys().next() {
        return Err(format!("a packet has no field {key:?}"));
    }
    let payload = size.saturating_sub(Packet::HEADER_BYTES);
    let said = if kind == Kind::Data { Header::data_extra(payload, 0) } else { 0 };
    let extra = urgency.unwrap_or(said);
    let packet = |index| Packet {
        source: HostId::new(source),
        destination: HostId::new(destination),
        header: Header {
            kind,
            flags: Flags::default().with(Flags::FROM_OPENER),
            path: PathId::new(0),
            connection: ConnectionId::new(connection),
            sequence: sequence + index,
            extra,
        },
        wire_bytes: size,
        service: service.into(),
        marks,
    };
    Ok(defined.into_iter().zip((0..).map(packet)).collect())
}

#[derive(Default)]
pub(crate) struct Arena(pub(crate) Vec<(Packet, Handle)>);

impl Packets for Arena {
    fn packet(&self, handle: Handle) -> &Packet {
        &self.0[handle.index()].0
    }
    fn packet_mut(&mut self, handle: Handle) -> &mut Packet {
        &mut self.0[handle.index()].0
    }
    fn next(&self, handle: Handle) -> Handle {
        self.0[handle.index()].1
    }
    fn set_next(&mut self, handle: Handle, next: Handle) {
        self.0[handle.index()].1 = next;
    }
}

/// Scripted coins of the vector, in order. A draw beyond them is an error.
#[derive(Default)]
pub(crate) struct ScriptedRng {
    pub(crate) scripted: VecDeque<bool>,
    pub(crate) drawn: u64,
    missing: bool,
    /// True in a mutant that inverts the coins.
    pub(crate) opposite: bool,
}

impl Rng for ScriptedRng {
    fn coin(&mut self) -> bool {
        self.drawn += 1;
        let coin = self.scripted.pop_front().unwrap_or_else(|| {
            self.missing = true;
            false
        });
        coin != self.opposite
    }
    fn below(&mut self, bound: u32) -> u32 {
        if self.coin() { bound - 1 } else { 0 }
    }
}

/// Ports of the switch; host N is at port N.
pub(crate) const PORTS: usize = 4;

/// Maximum hops after one arrival: a packet that is returned for ever makes the harness fail, not hang.
const MAX_HOPS: usize = 1000;

/// A switch, and the packets that left it.
pub(crate) struct Harness<'a, P> {
    model: &'a ServiceModel,
    now: Time,
    pub(crate) ports: [P; PORTS],
    packets: Arena,
    pool: Pool,
    pub(crate) rng: ScriptedRng,
    drop_list: DropList,
    /// Bytes that were trimmed to make notifications.
    notified_bytes: u64,
    /// Packets that left a port and were not yet expected, with the line that served each.
    pub(crate) left: [VecDeque<(usize, Packet)>; PORTS],
    dispositions: [u64; 3],
    quenched: u64,
}

impl<'a, P: OutputPort<Model = ServiceModel>> Harness<'a, P> {
    pub(crate) fn new(model: &'a ServiceModel) -> Harness<'a, P> {
        Harness {
            model,
            now: Time::ZERO,
            ports: std::array::from_fn(|_| P::default()),
            packets: Arena::default(),
            pool: Pool::none(),
            rng: ScriptedRng::default(),
            drop_list: DropList::new(),
            notified_bytes: 0,
            left: Default::default(),
            dispositions: [0; 3],
            quenched: 0,
        }
    }

    pub(crate) fn run(mut self, vector: &Vector, profile: &str) -> Result<(), String> {
        let fail = |line: usize, error: String| {
            Err(format!(
                "{}:{line}: {error} (profile {profile}, claim {})",
                vector.file, vector.claim
            ))
        };
        let mut last = 0;
        for (line, command) in &vector.commands {
            last = *line;
            if let Err(error) = self.obey(*line, command, vector) {
                return fail(*line, error);
            }
            if self.rng.missing {
                return fail(*line, "a coin was drawn that the vector does not lay out".to_owned());
            }
        }
        for (port, left) in self.left.iter().enumerate() {
            if let Some((line, packet)) = left.front() {
                let packet = name(packet, vector);
                return fail(*line, format!("surplus packet at port {port}: {packet}"));
            }
        }
        match self.rng.scripted.len() {
            0 => Ok(()),
            coins => fail(last, format!("{coins} coins were not drawn")),
        }
    }

    fn obey(&mut self, line: usize, command: &Command, vector: &Vector) -> Result<(), String> {
        match command {
            Command::Config(_) => {}
            Command::At(time) if *time < self.now => {
                return Err("time never falls".to_owned());
            }
            Command::At(time) => self.now = *time,
            Command::ScriptedBit(coins) => self.rng.scripted.extend(coins),
            Command::Packet { port, packets } => {
                for (_, packet) in packets {
                    if packet.destination.index() != *port {
                        let host = packet.destination.get();
                        return Err(format!(
                            "a packet to host {host} does not leave by port {port}"
                        ));
                    }
                    self.arrive(*packet)?;
                }
            }
            Command::Serve { port, times } => {
                for _ in 0..*times {
                    self.serve(line, *port)?;
                }
            }
            Command::Expect { port, packets } => {
                for (expected, packet) in packets {
                    let left = self.left.get_mut(*port).ok_or("no such port")?;
                    match left.pop_front() {
                        None => return Err(format!("missing packet at port {port}: {expected}")),
                        Some((_, got)) if got != *packet => {
                            let got = name(&got, vector);
                            return Err(format!("expected {expected} at port {port}, not {got}"));
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

    /// Routes a packet to its port, and everything that is returned because of it.
    pub(crate) fn arrive(&mut self, packet: Packet) -> Result<(), String> {
        let handle = Handle::new(self.packets.0.len() as u32);
        self.packets.0.push((packet, Handle::NONE));
        let mut travelling = VecDeque::from([handle]);
        for _ in 0..MAX_HOPS {
            let Some(packet) = travelling.pop_front() else { return Ok(()) };
            let host = self.packets.packet(packet).destination;
            let port = self.ports.get_mut(host.index()).ok_or("no port leads to that host")?;
            let Harness { model, packets, pool, rng, drop_list, .. } = self;
            let (now, model) = (self.now, *model);
            port.enqueue(packet, &mut PortContext { now, model, packets, pool, rng, drop_list });
            travelling.extend(self.apply_dispositions());
        }
        Err("packets are returned again and again".to_owned())
    }

    /// Applies the dispositions of dropped packets. Returns the packets that go on to another port.
    fn apply_dispositions(&mut self) -> Vec<Handle> {
        let mut going = Vec::new();
        for (packet, disposition) in self.drop_list.drain() {
            self.dispositions[disposition as usize] += 1;
            match disposition {
                Disposition::Returned => {
                    self.packets.packet_mut(packet).bounce();
                    going.push(packet);
                }
                Disposition::Notify => {
                    let cut = self.packets.packet_mut(packet).notify();
                    self.notified_bytes += u64::from(cut);
                    going.push(packet);
                }
                Disposition::Dropped => {}
            }
        }
        for (_, mut header) in self.drop_list.drain_quenched() {
            self.quenched += 1;
            header.notify();
            going.push(Handle::new(self.packets.0.len() as u32));
            self.packets.0.push((header, Handle::NONE));
        }
        going
    }

    pub(crate) fn serve(&mut self, line: usize, port: usize) -> Result<(), String> {
        let Harness { model, packets, pool, rng, drop_list, .. } = self;
        let server = self.ports.get_mut(port).ok_or("no such port")?;
        let (now, model) = (self.now, *model);
        let mut context = PortContext { now, model, packets, pool, rng, drop_list };
        if let Some(packet) = server.dequeue(&mut context) {
            self.left[port].push_back((line, *self.packets.packet(packet)));
        }
        self.apply_dispositions().into_iter().try_for_each(|handle| {
            let packet = *self.packets.packet(handle);
            self.arrive(packet)
        })
    }

    pub(crate) fn count(&self, name: &str) -> Result<u64, String> {
        let count = match name {
            "trimmed" => u64::from(self.drop_list.trimmed),
            "cut_bytes" => self.drop_list.cut_bytes + self.notified_bytes,
            "dropped" => self.dispositions[Disposition::Dropped as usize],
            "returned" => self.dispositions[Disposition::Returned as usize],
            "notified" => self.dispositions[Disposition::Notify as usize],
            "quenched" => self.quenched,
            "coins" => self.rng.drawn,
            _ => {
                let unknown = || format!("nothing is counted as {name}");
                let (port, queue) = name.split_once('.').ok_or_else(unknown)?;
                let port = self.ports.get(number::<usize>(port)?).ok_or("no such port")?;
                let (queue, unit) = queue.split_once('_').ok_or_else(unknown)?;
                let queue = match queue {
                    "header" => self.model.queue_of(Service::Trimmed),
                    "data" => self.model.queue_of(Service::Trimmable),
                    "notification" => self.model.queue_of(Service::Notification),
                    _ => return Err(unknown()),
                };
                match unit {
                    "packets" => u64::from(port.queue_packets(queue)),
                    "bytes" => u64::from(port.queue_bytes(queue)),
                    _ => return Err(unknown()),
                }
            }
        };
        Ok(count)
    }
}

/// Names a packet that came out, as in the vector, or describes it.
fn name(packet: &Packet, vector: &Vector) -> String {
    let known = vector.commands.iter().flat_map(|(_, command)| match command {
        Command::Packet { packets, .. } | Command::Expect { packets, .. } => packets.as_slice(),
        Command::Config(_)
        | Command::At(_)
        | Command::Serve { .. }
        | Command::ScriptedBit(_)
        | Command::Count { .. } => &[],
    });
    let mut known = known.filter(|(_, known)| known == packet);
    known.next().map_or_else(|| format!("{packet:?}"), |(name, _)| name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "# claim: c\n# origin: here\n# profiles: paper\n\
        config packets=2 payload=9000\n\
        define d1..d3 data size=9064 from=1 to=2\n\
        define h1..h3 trimmed d1..d3\n";

    /// Runs the lines behind a fixed head of six lines.
    fn check(lines: &str, expected: Result<usize, &str>) {
        let text = format!("{HEAD}{lines}");
        let outcome = Vector::parse(Path::new("v"), &text).and_then(|vector| vector.run());
        match (outcome, expected) {
            (Ok(runs), Ok(expected)) => assert_eq!(runs, expected),
            (Err(error), Err(expected)) => assert!(error.starts_with(expected), "{error}"),
            (outcome, _) => panic!("{outcome:?} instead of {expected:?}"),
        }
    }

    #[test]
    fn a_correct_switch_vector_passes() {
        check("packet 2 d1\nserve 2 2\nexpect 2 d1\ncount 2.data_bytes 0\n", Ok(2));
    }

    #[test]
    fn a_missing_packet_fails() {
        check("serve 2\nexpect 2 d1\n", Err("v:8: missing packet at port 2: d1"));
    }

    #[test]
    fn a_surplus_packet_fails_at_the_line_that_served_it() {
        check("packet 2 d1\nserve 2\n", Err("v:8: surplus packet at port 2: d1"));
    }

    #[test]
    fn a_wrong_packet_fails() {
        check("packet 2 d1\nserve 2\nexpect 2 d2\n", Err("v:9: expected d2 at port 2, not d1"));
        check("packet 2 d1\nserve 2\nexpect 2 h1\n", Err("v:9: expected h1 at port 2, not d1"));
    }

    #[test]
    fn coins_of_a_vector_must_match_the_draws() {
        let full = "packet 2 d1..d3\n";
        check(full, Err("v:7: a coin was drawn"));
        check(&format!("coin 0 1\n{full}"), Err("v:8: 1 coins were not drawn"));
        check(&format!("coin 0\n{full}count coins 1\n"), Ok(2));
    }

    #[test]
    fn a_wrong_count_fails() {
        check("packet 2 d1\ncount 2.data_packets 2\n", Err("v:8: 2.data_packets is 1, not 2"));
        check("count luck 7\n", Err("v:7: nothing is counted as luck"));
    }

    #[test]
    fn an_unreadable_line_is_named() {
        check("jump 2\n", Err("v:7: expected a command, not \"jump 2\""));
        check("define d9 data size=10 from=1\n", Err("v:7: a Data packet needs to="));
        check("define d1 ack from=1 to=2\n", Err("v:7: packet d1 is defined twice"));
        check("packet 2 d7\n", Err("v:7: no packet is named d7"));
        check("config luck=1\n", Err("v:7: config knows no luck"));
        check("packet 1 d1\n", Err("v:7: a packet to host 2 does not leave by port 1"));
    }
}
