//! The program on bmv2's `simple_switch`, if it is on PATH.
//!
//! The switch has threads and a clock, so the load of its queues is random. There are two comparisons. First, registers
//! mark queues as full: then every packet has one disposition, and frames and registers must be the interpreter's; the
//! order between the two queues of a port is open. Then slow queues do fill: every packet must be accounted for, in
//! order, and every place freed.

use std::collections::BTreeMap;
use std::path::Path;

use crate::bmv2::{Program, Switch};
use crate::frames::frame;
use crate::vectors::{Command, PORTS, Vector};

use super::NDP;
use super::bench::{PRIORITIES, hex};
use super::simple_switch::{self, Arrivals, SWITCH, Shape};

const SHAPE: Shape<'static> =
    Shape { compiled: NDP.compiled, ports: PORTS, priorities: PRIORITIES };

/// Depth of bmv2's own queues, which drop silently: larger than the program's limits.
const DEEP: &str = "set_queue_depth 2000\n";

/// Port 1 has room for everything, however late its queues are served; the data queue of port 2 is full; both queues of
/// ports 0 and 3 are full.
const FULL: &str = "table_set_default ingress.settings ingress.set 50 54 64 1000 0xffffffff 0xffffffff 500000\n\
    register_write data_packets 2 1000\nregister_write data_packets 3 1000\n\
    register_write header_bytes 3 500000\nregister_write data_packets 0 1000\n\
    register_write header_bytes 0 500000\n";

const REGISTERS: [&str; 9] = [
    "data_packets",
    "data_bytes",
    "header_packets",
    "header_bytes",
    "trimmed",
    "cut_bytes",
    "returned",
    "dropped",
    "refused",
];

const HEAD: &str = "# claim: all\n# origin: chosen\n# profiles: p4\n";

fn frames_of(text: &str) -> Result<Arrivals, String> {
    let vector = Vector::parse(Path::new("packets for the real switch"), text)?;
    let packets = vector.commands.iter().filter_map(|(_, command)| match command {
        Command::Packet { packets, .. } => Some(packets),
        _ => None,
    });
    packets.flatten().map(|(_, packet)| Ok((packet.source.index(), frame(packet)?))).collect()
}

/// Returns every kind of packet from every port to every port, and unroutable packets.
fn packets() -> Result<Arrivals, String> {
    let mut text = HEAD.to_owned();
    let mut names = Vec::new();
    for from in 0..PORTS {
        for to in 0..PORTS {
            let hosts = format!("from={from} to={to} seq={}", from * PORTS + to);
            for (kind, size) in [
                ("data", " size=1500"),
                ("data", " size=9064"),
                ("data", " size=70"),
                ("droppable", " size=300"),
                ("ack", ""),
                ("pull", ""),
            ] {
                let name = format!("p{}", names.len());
                text.push_str(&format!("define {name} {kind}{size} {hosts}\n"));
                names.push((name, to));
            }
            let origin = format!("p{}", names.len() - 5);
            for kind in ["trimmed", "returned"] {
                let name = format!("p{}", names.len());
                text.push_str(&format!("define {name} {kind} {origin}\n"));
                // A returned packet goes the other way.
                names.push((name, if kind == "returned" { from } else { to }));
            }
        }
    }
    // No route leads to this host.
    text.push_str("define astray data size=100 from=0 to=9\n");
    names.push(("astray".to_owned(), 9));
    for (name, to) in &names {
        text.push_str(&format!("packet {to} {name}\n"));
    }
    let mut frames = frames_of(&text)?;
    // A wrong checksum, and a frame that is not IP.
    let mut damaged = frames[0].1.clone();
    damaged[24] ^= 1;
    let other = [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5][..], &[7; 50]].concat();
    frames.extend([(0, damaged), (2, other)]);
    Ok(frames)
}

/// Frames that left each port, in order for each queue.
type ByQueue = BTreeMap<(usize, bool), Vec<Vec<u8>>>;

/// Returns whether a frame is from the header queue, by its DSCP in the tables.
fn is_header(frame: &[u8]) -> bool {
    frame[12..14] == [8, 0] && [48, 50, 52, 54].contains(&(frame[15] >> 2))
}

fn sort(port: usize, frames: Vec<Vec<u8>>, left: &mut ByQueue) {
    for frame in frames {
        left.entry((port, is_header(&frame))).or_default().push(frame);
    }
}

fn interpreted(program: &Program, commands: &str) -> Result<(ByQueue, Vec<Vec<u64>>), String> {
    let mut switch = Switch::new(program, PRIORITIES);
    switch.configure(commands)?;
    for (port, frame) in packets()? {
        switch.receive(port as u64, &frame)?;
    }
    let mut left = ByQueue::new();
    for port in 0..PORTS {
        while let Some(queued) = switch.take(port as u64) {
            let frame = switch.send(port as u64, queued)?.ok_or("egress dropped a packet")?;
            sort(port, vec![frame], &mut left);
        }
    }
    let registers = REGISTERS.map(|name| switch.registers(name));
    Ok((left, registers.into_iter().collect::<Result<_, _>>()?))
}

/// Compares the switch with the interpreter. Returns what was compared or why not; a difference or a lost packet is an
/// error.
pub(super) fn compare(root: &Path, text: &str, tables: &str) -> Result<String, String> {
    if let Some(missing) = simple_switch::missing() {
        return Ok(format!("SKIPPED: {missing} is not on PATH; bmv2 was not asked"));
    }
    let program = Program::parse(NDP.compiled, text)?;
    let same = full_queues(root, &program, tables)?;
    let accounted = slow_queues(root, tables)?;
    Ok(format!("{same}\n{accounted}"))
}

fn full_queues(root: &Path, program: &Program, tables: &str) -> Result<String, String> {
    let commands = tables.to_owned() + FULL;
    let (expected, registers) = interpreted(program, &commands)?;
    let frames = packets()?;
    let run = simple_switch::run(root, &SHAPE, "full", &(commands + DEEP), &frames, &REGISTERS)?;
    let mut left = ByQueue::new();
    run.left.into_iter().enumerate().for_each(|(port, frames)| sort(port, frames, &mut left));
    judge(&expected, &left)?;
    for ((name, expected), got) in REGISTERS.iter().zip(&registers).zip(&run.registers) {
        if got != expected {
            let (got, expected) = (&got[..got.len().min(PORTS)], &expected[..PORTS]);
            return Err(format!("register {name} is {got:?} in {SWITCH}, not {expected:?}"));
        }
    }
    Ok(format!(
        "{SWITCH} gives the interpreter's {} frames and {} registers for {} packets",
        expected.values().map(Vec::len).sum::<usize>(),
        REGISTERS.len(),
        frames.len()
    ))
}

/// Packets of a burst from port 1 to port 2, which is slow and holds four data packets and four headers.
const BURST: usize = 200;
const SLOW: &str = "table_set_default ingress.settings ingress.set 50 54 64 4 0xffffffff 0xffffffff 256\n\
    set_queue_rate 100 2\n";

/// Form of a packet of the burst when it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Form {
    Whole,
    Trimmed,
    Returned,
}

type Forms = BTreeMap<Vec<u8>, (usize, Form)>;

fn burst() -> Result<(Arrivals, Forms), String> {
    let mut text = format!(
        "{HEAD}define d1..d{BURST} data size=1500 from=1 to=2\n\
         define t1..t{BURST} trimmed d1..d{BURST}\ndefine r1..r{BURST} returned d1..d{BURST}\n"
    );
    for form in ["d", "t", "r"] {
        text.push_str(&format!("packet 2 {form}1..{form}{BURST}\n"));
    }
    let mut frames = frames_of(&text)?;
    let mut forms = Forms::new();
    for (index, (_, frame)) in frames.iter().enumerate() {
        let form = [Form::Whole, Form::Trimmed, Form::Returned][index / BURST];
        forms.insert(frame.clone(), (index % BURST, form));
    }
    frames.truncate(BURST);
    Ok((frames, forms))
}

fn slow_queues(root: &Path, tables: &str) -> Result<String, String> {
    let (frames, forms) = burst()?;
    let commands = tables.to_owned() + SLOW + DEEP;
    let run = simple_switch::run(root, &SHAPE, "slow", &commands, &frames, &REGISTERS)?;
    let counts = account(&run.left, &run.registers, &forms)?;
    let [whole, trimmed, returned, dropped] = counts;
    // The numbers are random, but each form must occur: the burst takes a moment, the queue two seconds.
    if [whole, trimmed, returned].contains(&0) {
        return Err(format!("{SWITCH}: {whole} whole, {trimmed} trimmed, {returned} returned"));
    }
    Ok(format!(
        "{SWITCH} accounts for a burst of {BURST} to a slow port: {whole} whole, {trimmed} trimmed, {returned} \
         returned, {dropped} dropped"
    ))
}

/// Checks that every packet left once by the right port in order, or was dropped, that registers agree, and that queues
/// are empty. Returns the numbers of whole, trimmed, returned and dropped packets.
fn account(
    left: &[Vec<Vec<u8>>],
    registers: &[Vec<u64>],
    forms: &Forms,
) -> Result<[usize; 4], String> {
    let mut seen = [false; BURST];
    let mut counts = [0; 4];
    for (port, frames) in left.iter().enumerate() {
        let mut last = BTreeMap::new();
        for frame in frames {
            let wrong = |what: &str| Err(format!("{SWITCH}: port {port}: {what}: {}", hex(frame)));
            let Some(&(packet, form)) = forms.get(frame) else {
                return wrong("no packet of the burst in any form");
            };
            if port != if form == Form::Returned { 1 } else { 2 } {
                return wrong("the wrong port");
            }
            if last.insert(form, packet).is_some_and(|last| last > packet) {
                return wrong("overtaken by a packet behind it");
            }
            if std::mem::replace(&mut seen[packet], true) {
                return wrong("a second time");
            }
            counts[form as usize] += 1;
        }
    }
    let lost = seen.iter().filter(|seen| !**seen).count();
    counts[3] = lost;
    let sum = |name: &str| -> u64 {
        let mut known = REGISTERS.iter().zip(registers);
        known.find(|(known, _)| **known == name).map_or(0, |(_, cells)| cells.iter().sum())
    };
    let [_, trimmed, returned, _] = counts;
    // A dropped header was trimmed and returned before.
    let of_headers = (trimmed + returned + lost) as u64;
    for (name, expected) in [
        ("trimmed", of_headers),
        ("returned", (returned + lost) as u64),
        ("dropped", lost as u64),
        ("cut_bytes", of_headers * (1500 - 64)),
        ("refused", 0),
        ("data_packets", 0),
        ("data_bytes", 0),
        ("header_packets", 0),
        ("header_bytes", 0),
    ] {
        if sum(name) != expected {
            return Err(format!("register {name} is {} in {SWITCH}, not {expected}", sum(name)));
        }
    }
    Ok(counts)
}

fn judge(expected: &ByQueue, got: &ByQueue) -> Result<(), String> {
    for port in 0..PORTS {
        for header in [false, true] {
            let none = Vec::new();
            let expected = expected.get(&(port, header)).unwrap_or(&none);
            let got = got.get(&(port, header)).unwrap_or(&none);
            let queue = if header { "header queue" } else { "data queue" };
            if let Some(at) = expected.iter().zip(got).position(|(expected, got)| expected != got) {
                return Err(format!(
                    "{SWITCH}: port {port}, {queue}, frame {at}: expected {}, not {}",
                    hex(&expected[at]),
                    hex(&got[at])
                ));
            }
            if expected.len() != got.len() {
                let (expected, got) = (expected.len(), got.len());
                return Err(format!(
                    "{SWITCH}: port {port}, {queue}: {got} frames, not {expected}"
                ));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::p4::simple_switch::Left;
    use crate::vectors::read;

    fn root() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    /// The real switch's packets meet every disposition in the interpreter.
    #[test]
    fn the_packets_meet_every_fate() {
        let text = read(&root(), Path::new(NDP.compiled)).unwrap();
        let program = Program::parse(NDP.compiled, &text).unwrap();
        let tables = read(&root(), Path::new(NDP.tables)).unwrap();
        let (left, registers) = interpreted(&program, &(tables + FULL)).unwrap();
        let sum = |name: &str| -> u64 {
            let index = REGISTERS.iter().position(|known| *known == name).unwrap();
            registers[index].iter().sum()
        };
        for name in ["trimmed", "cut_bytes", "returned", "dropped"] {
            assert!(sum(name) > 0, "{name}");
        }
        assert_eq!(sum("refused"), 2);
        // Nothing waits, so registers hold only what was written.
        assert_eq!((sum("data_packets"), sum("data_bytes")), (3000, 0));
        assert_eq!((sum("header_packets"), sum("header_bytes")), (0, 1_000_000));
        let frames = left.values().map(Vec::len).sum::<usize>() as u64;
        assert_eq!(frames + sum("dropped") + sum("refused"), packets().unwrap().len() as u64);
        judge(&left, &left).unwrap();
    }

    #[test]
    fn a_frame_too_few_or_another_is_found() {
        let one = ByQueue::from([((2, true), vec![vec![1], vec![2]])]);
        let other = ByQueue::from([((2, true), vec![vec![1], vec![3]])]);
        let less = ByQueue::from([((2, true), vec![vec![1]])]);
        assert!(judge(&one, &other).unwrap_err().contains("port 2, header queue, frame 1"));
        assert!(judge(&one, &less).unwrap_err().ends_with("1 frames, not 2"));
    }

    /// The burst in the interpreter, without service; then with mistakes.
    #[test]
    fn a_burst_is_accounted_for() {
        let text = read(&root(), Path::new(NDP.compiled)).unwrap();
        let program = Program::parse(NDP.compiled, &text).unwrap();
        let tables = read(&root(), Path::new(NDP.tables)).unwrap();
        let set = SLOW.lines().next().unwrap();
        let mut switch = Switch::new(&program, PRIORITIES);
        switch.configure(&(tables + set)).unwrap();
        let (frames, forms) = burst().unwrap();
        for (port, frame) in &frames {
            switch.receive(*port as u64, frame).unwrap();
        }
        let mut left: Left = vec![Vec::new(); PORTS];
        for (port, left) in left.iter_mut().enumerate() {
            while let Some(queued) = switch.take(port as u64) {
                left.push(switch.send(port as u64, queued).unwrap().unwrap());
            }
        }
        let registers = REGISTERS.map(|name| switch.registers(name).unwrap());
        // Four places in each of three queues.
        assert_eq!(account(&left, &registers, &forms), Ok([4, 4, 4, BURST - 12]));

        let found = |change: fn(&mut Left, &mut [Vec<u64>; 9])| {
            let (mut left, mut registers) = (left.clone(), registers.clone());
            change(&mut left, &mut registers);
            account(&left, &registers, &forms).unwrap_err()
        };
        assert!(found(|left, _| left[2][0][20] ^= 1).contains("no packet of the burst"));
        assert!(found(|left, _| left.swap(1, 2)).contains("the wrong port"));
        assert!(found(|left, _| left[2].swap(4, 5)).contains("overtaken"));
        let twice = found(|left, _| {
            let frame = left[2][7].clone();
            left[2].push(frame);
        });
        assert!(twice.contains("a second time"));
        assert!(found(|left, _| drop(left[2].pop())).contains("register trimmed"));
        assert!(found(|_, registers| registers[0][2] = 1).contains("register data_packets"));
    }
}
