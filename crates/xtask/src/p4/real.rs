//! bmv2's `simple_switch`, where it is on PATH, against the interpreter: the same frames in, the same frames and
//! registers out.
//!
//! The switch has threads and a clock, so what fills its queues depends on chance. Therefore the registers are made to
//! say that a queue is full: whatever the threads do, every packet then has one fate. Between the two queues of a port
//! order is left open. Rates of queues are not set: they hold for a port and priority, no link is shared.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::bmv2::{Program, Switch};
use crate::frames::frame;
use crate::vectors::{Command as Line, PORTS, Vector};

use super::COMPILED;
use super::bench::PRIORITIES;

const SWITCH: &str = "simple_switch";
const CONTROL: &str = "simple_switch_CLI";

/// The port of its control plane (chosen; not bmv2's default, so that another switch is not disturbed).
const CONTROL_PORT: &str = "49099";

/// Seconds that it waits for its tables before the first packet.
const HEAD_START: u64 = 4;
/// How long its packets may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Port 1 has room for everything, however late its queues are served; the data queue of port 2 is full; both queues of
/// ports 0 and 3 are.
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

/// Every kind of packet from every port to every port, and packets that lead nowhere.
fn packets() -> Result<Vec<(usize, Vec<u8>)>, String> {
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
                // What is returned goes the other way.
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
    let vector = Vector::parse(Path::new("packets of every kind"), &text)?;
    let mut frames = Vec::new();
    for (_, command) in &vector.commands {
        if let Line::Packet { packets, .. } = command {
            for (_, packet) in packets {
                frames.push((packet.source.index(), frame(packet)?));
            }
        }
    }
    // A wrong checksum, and what is not IP.
    let mut damaged = frames[0].1.clone();
    damaged[24] ^= 1;
    let other = [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5][..], &[7; 50]].concat();
    frames.extend([(0, damaged), (2, other)]);
    Ok(frames)
}

/// Frames that left each port, those of each queue in order.
type Left = BTreeMap<(usize, bool), Vec<Vec<u8>>>;

/// Whether a frame came out of the header queue: by its DSCP, as the tables have it.
fn is_header(frame: &[u8]) -> bool {
    frame[12..14] == [8, 0] && [48, 50, 52, 54].contains(&(frame[15] >> 2))
}

fn sort(port: usize, frames: Vec<Vec<u8>>, left: &mut Left) {
    for frame in frames {
        left.entry((port, is_header(&frame))).or_default().push(frame);
    }
}

fn interpreted(program: &Program, commands: &str) -> Result<(Left, Vec<Vec<u64>>), String> {
    let mut switch = Switch::new(program, PRIORITIES);
    switch.configure(commands)?;
    for (port, frame) in packets()? {
        switch.receive(port as u64, &frame)?;
    }
    let mut left = Left::new();
    for port in 0..PORTS {
        while let Some(queued) = switch.take(port as u64) {
            let frame = switch.send(port as u64, queued)?.ok_or("egress dropped a packet")?;
            sort(port, vec![frame], &mut left);
        }
    }
    let registers = REGISTERS.map(|name| switch.registers(name));
    Ok((left, registers.into_iter().collect::<Result<_, _>>()?))
}

/// The switch; it is ended when this is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Gives commands to the control plane; what it prints.
fn control(commands: &str) -> Result<String, String> {
    let error = |error| format!("{CONTROL}: {error}");
    let mut child = Command::new(CONTROL)
        .args(["--thrift-port", CONTROL_PORT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(error)?;
    let mut input = child.stdin.take().expect("it is piped");
    input.write_all(commands.as_bytes()).map_err(error)?;
    drop(input);
    let output = child.wait_with_output().map_err(error)?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() || text.contains("Error") || text.contains("Invalid") {
        return Err(format!("{CONTROL}: {text}{}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(text)
}

/// The program on `simple_switch` gives the frames and registers that it gives interpreted.
///
/// # Errors
/// It does not.
pub(super) fn compare(root: &Path, text: &str, tables: &str) -> Result<String, String> {
    let on_path = |program: &str| {
        let called = Command::new(program).arg("--help").output();
        !called.is_err_and(|error| error.kind() == ErrorKind::NotFound)
    };
    if let Some(missing) = [SWITCH, CONTROL].into_iter().find(|program| !on_path(program)) {
        return Ok(format!("SKIPPED: {missing} is not on PATH; bmv2 was not asked"));
    }
    let program = Program::parse(COMPILED, text)?;
    let commands = tables.to_owned() + FULL;
    let (left, registers) = interpreted(&program, &commands)?;
    let expected: usize = left.values().map(Vec::len).sum();

    let folder = root.join("out/p4/simple_switch");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let frames = packets()?;
    for port in 0..PORTS {
        let path = folder.join(format!("port{port}_in.pcap"));
        fs::write(&path, pcap(&frames, port))
            .map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let mut call = Command::new(SWITCH);
    call.current_dir(&folder).args(["--use-files", &HEAD_START.to_string()]);
    call.args(["--thrift-port", CONTROL_PORT]);
    for port in 0..PORTS {
        call.args(["-i", &format!("{port}@port{port}")]);
    }
    let json = fs::canonicalize(root.join(COMPILED)).map_err(|error| error.to_string())?;
    call.arg(json).args(["--", "--priority-queues", &PRIORITIES.to_string()]);
    let log = fs::File::create(folder.join("log")).map_err(|error| error.to_string())?;
    let log_too = log.try_clone().map_err(|error| error.to_string())?;
    let started = Instant::now();
    let running = call.stdin(Stdio::null()).stdout(log).stderr(log_too).spawn();
    let mut running = Running(running.map_err(|error| format!("{SWITCH}: {error}"))?);
    let head_start = Duration::from_secs(HEAD_START);
    // Its control plane takes a moment to listen.
    let deep = "set_queue_depth 2000\n";
    while let Err(error) = control(&commands_for_it(&commands, deep)) {
        let ended = running.0.try_wait().is_ok_and(|status| status.is_some());
        if ended || started.elapsed() > head_start || !error.contains("connect") {
            return Err(format!("{SWITCH} ({}): {error}", folder.join("log").display()));
        }
        sleep(Duration::from_millis(100));
    }
    if started.elapsed() > head_start {
        return Err(format!("{CONTROL} took more than {HEAD_START} s: the machine is too slow"));
    }
    let deadline = Instant::now() + head_start + PATIENCE;
    let mut got;
    loop {
        got = Left::new();
        for port in 0..PORTS {
            let bytes = fs::read(folder.join(format!("port{port}_out.pcap"))).unwrap_or_default();
            sort(port, read_pcap(&bytes), &mut got);
        }
        if got.values().map(Vec::len).sum::<usize>() >= expected || Instant::now() > deadline {
            break;
        }
        sleep(Duration::from_millis(100));
    }
    // A frame too many has a moment to come.
    sleep(Duration::from_millis(300));
    let printed = control(&REGISTERS.map(|name| format!("register_read {name}\n")).concat())?;
    drop(running);
    judge(&left, &got)?;
    for (name, expected) in REGISTERS.iter().zip(&registers) {
        let line = printed.lines().find_map(|line| line.split_once(&format!("{name}=")));
        let (_, values) = line.ok_or_else(|| format!("{CONTROL} prints no {name}: {printed}"))?;
        let values = values.split(',').map(|value| value.trim().parse().ok());
        let values: Vec<u64> = values.collect::<Option<_>>().unwrap_or_default();
        if values != *expected {
            return Err(format!(
                "register {name} is {:?} in {SWITCH}, not {:?}",
                &values[..values.len().min(PORTS)],
                &expected[..PORTS]
            ));
        }
    }
    Ok(format!(
        "{SWITCH} gives the interpreter's {expected} frames and {} registers for {} packets",
        REGISTERS.len(),
        frames.len()
    ))
}

/// The tables without comments, which the control plane does not take behind a command.
fn commands_for_it(commands: &str, first: &str) -> String {
    let lines = commands.lines().filter(|line| !line.starts_with('#'));
    lines.fold(first.to_owned(), |text, line| text + line + "\n")
}

fn judge(expected: &Left, got: &Left) -> Result<(), String> {
    for port in 0..PORTS {
        for header in [false, true] {
            let none = Vec::new();
            let expected = expected.get(&(port, header)).unwrap_or(&none);
            let got = got.get(&(port, header)).unwrap_or(&none);
            let queue = if header { "header queue" } else { "data queue" };
            if let Some(at) = expected.iter().zip(got).position(|(expected, got)| expected != got) {
                return Err(format!(
                    "{SWITCH}: port {port}, {queue}, frame {at}: expected {}, not {}",
                    super::bench::hex(&expected[at]),
                    super::bench::hex(&got[at])
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

/// A capture file of what comes in by a port. Times say in which order the ports' packets come.
fn pcap(frames: &[(usize, Vec<u8>)], port: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    // Magic, version 2.4, no zone, longest packet, Ethernet.
    for word in [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, 1u32] {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    for (index, (_, frame)) in frames.iter().enumerate().filter(|(_, (from, _))| *from == port) {
        for word in [1, index as u32, frame.len() as u32, frame.len() as u32] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        bytes.extend_from_slice(frame);
    }
    bytes
}

/// The whole packets of a capture file.
fn read_pcap(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    let mut rest = bytes.get(24..).unwrap_or_default();
    while let Some((head, behind)) = rest.split_at_checked(16) {
        let length = u32::from_le_bytes([head[8], head[9], head[10], head[11]]) as usize;
        let Some((frame, behind)) = behind.split_at_checked(length) else { break };
        frames.push(frame.to_vec());
        rest = behind;
    }
    frames
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::read;

    fn root() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    /// The packets that the real switch would get meet every fate in the interpreter.
    #[test]
    fn the_packets_meet_every_fate() {
        let text = read(&root(), Path::new(COMPILED)).unwrap();
        let program = Program::parse(COMPILED, &text).unwrap();
        let tables = read(&root(), Path::new(super::super::TABLES)).unwrap();
        let (left, registers) = interpreted(&program, &(tables + FULL)).unwrap();
        let sum = |name: &str| -> u64 {
            let index = REGISTERS.iter().position(|known| *known == name).unwrap();
            registers[index].iter().sum()
        };
        for name in ["trimmed", "cut_bytes", "returned", "dropped"] {
            assert!(sum(name) > 0, "{name}");
        }
        assert_eq!(sum("refused"), 2);
        // Nothing waits, so only what was written stands in the registers.
        assert_eq!((sum("data_packets"), sum("data_bytes")), (3000, 0));
        assert_eq!((sum("header_packets"), sum("header_bytes")), (0, 1_000_000));
        let frames = left.values().map(Vec::len).sum::<usize>() as u64;
        assert_eq!(frames + sum("dropped") + sum("refused"), packets().unwrap().len() as u64);
        judge(&left, &left).unwrap();
    }

    #[test]
    fn capture_files_are_read_as_written() {
        let frames = [(0, vec![1, 2, 3]), (1, vec![4]), (0, vec![5; 70])];
        assert_eq!(read_pcap(&pcap(&frames, 0)), [vec![1, 2, 3], vec![5; 70]]);
        assert_eq!(read_pcap(&pcap(&frames, 2)), Vec::<Vec<u8>>::new());
        let cut = pcap(&frames, 0);
        assert_eq!(read_pcap(&cut[..cut.len() - 1]), [vec![1, 2, 3]]);
    }

    #[test]
    fn a_frame_too_few_or_another_is_found() {
        let one = Left::from([((2, true), vec![vec![1], vec![2]])]);
        let other = Left::from([((2, true), vec![vec![1], vec![3]])]);
        let less = Left::from([((2, true), vec![vec![1]])]);
        assert!(judge(&one, &other).unwrap_err().contains("port 2, header queue, frame 1"));
        assert!(judge(&one, &less).unwrap_err().ends_with("1 frames, not 2"));
    }
}
