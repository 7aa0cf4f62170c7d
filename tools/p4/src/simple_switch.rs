//! bmv2's `simple_switch` as a process: frames in capture files, tables and registers through its control plane. The
//! switch has threads and a clock, so a comparison permits several ways out for a packet.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::bmv2::{Program, Switch};
use crate::claim::Claim;

pub(crate) const SWITCH: &str = "simple_switch";
const CONTROL: &str = "simple_switch_CLI";

/// Port of the control plane (chosen; different from bmv2's default, to leave another switch alone).
const CONTROL_PORT: &str = "49099";

/// Depth of bmv2's own queues, which drop silently: larger than the programs' limits.
const DEEP: &str = "set_queue_depth 2000";

/// Maximum time for its tables before the first packet.
const HEAD_START: Duration = Duration::from_secs(4);
/// Maximum time for its packets.
const STALL_TIMEOUT: Duration = Duration::from_secs(30);
/// Time without a frame after which no further one is expected.
const IDLE_TIMEOUT: Duration = Duration::from_secs(1);

/// Input port and frame.
pub(crate) type Arrivals = Vec<(usize, Vec<u8>)>;

/// Sends frames through a switch. Takes the name of the run, commands and frames.
pub(crate) type Simple<'a> = dyn Fn(&str, &str, &Arrivals) -> Result<Run, String> + 'a;

/// Compares a switch with the interpreter on a program with its tables. Returns a line per comparison.
pub(crate) type Comparison = fn(&Program, &str, &Simple<'_>) -> Result<String, String>;

/// Frames that left each port, and registers.
#[derive(Clone)]
pub(crate) struct Run {
    pub(crate) left: Vec<Vec<Vec<u8>>>,
    pub(crate) registers: BTreeMap<String, Vec<u64>>,
}

/// A permitted way out of a frame.
pub(crate) struct Exit {
    /// Number of the packet, which leaves once, in whatever form.
    pub(crate) packet: usize,
    /// Frames of a stream leave a port in the order of their numbers.
    pub(crate) stream: usize,
    pub(crate) ports: Vec<usize>,
}

/// Ways out by frame. No two packets leave alike.
pub(crate) type Exits = BTreeMap<Vec<u8>, Exit>;

impl Run {
    /// Returns the interpreter's run: all frames arrive before the first leaves.
    pub(crate) fn interpreted<C: Claim>(
        program: &Program,
        mut switch: Switch<'_>,
        frames: &Arrivals,
    ) -> Result<Run, String> {
        for (port, frame) in frames {
            switch.receive(*port as u64, frame)?;
        }
        let mut left = vec![Vec::new(); C::PORTS];
        for (port, left) in left.iter_mut().enumerate() {
            while let Some(packet) = switch.pop(port as u64) {
                left.push(switch.send(port as u64, packet)?);
            }
        }
        let read = |name: &str| Ok((name.to_owned(), switch.register(name)?.to_vec()));
        let registers = program.register_names().map(read).collect::<Result<_, String>>()?;
        Ok(Run { left, registers })
    }

    pub(crate) fn sum(&self, register: &str) -> u64 {
        self.registers[register].iter().sum()
    }

    /// Checks that each frame left by a permitted way, in order, and each packet once. Returns the ways, with the ports.
    pub(crate) fn judge<'e>(&self, exits: &'e Exits) -> Result<Vec<(&'e Exit, usize)>, String> {
        let (mut seen, mut last, mut taken) = (BTreeSet::new(), BTreeMap::new(), Vec::new());
        for (port, frames) in self.left.iter().enumerate() {
            for frame in frames {
                let wrong =
                    |what: &str| Err(format!("{SWITCH}: port {port}: {what}: {}", hex(frame)));
                let Some(exit) = exits.get(frame) else { return wrong("no packet that was sent") };
                if !exit.ports.contains(&port) {
                    return wrong("the wrong port");
                }
                if !seen.insert(exit.packet) {
                    return wrong("a second time");
                }
                if last.insert((port, exit.stream), exit.packet) > Some(exit.packet) {
                    return wrong("overtaken by a packet behind it");
                }
                taken.push((exit, port));
            }
        }
        Ok(taken)
    }

    /// Judges a run as [`Run::judge`] does, and checks that no packet was lost.
    pub(crate) fn judge_all<'e>(&self, exits: &'e Exits) -> Result<Vec<(&'e Exit, usize)>, String> {
        let taken = self.judge(exits)?;
        if taken.len() != exits.len() {
            return Err(format!("{SWITCH}: {} packets left, not {}", taken.len(), exits.len()));
        }
        Ok(taken)
    }
}

/// Checks what a register holds.
pub(crate) fn expect(name: &str, held: u64, expected: u64) -> Result<(), String> {
    if held == expected {
        return Ok(());
    }
    Err(format!("register {name} is {held} in {SWITCH}, not {expected}"))
}

/// Returns the first program that is needed and that is not on PATH.
pub(crate) fn missing() -> Option<&'static str> {
    [SWITCH, CONTROL].into_iter().find(|program| {
        let called = Command::new(program).arg("--help").output();
        called.is_err_and(|error| error.kind() == ErrorKind::NotFound)
    })
}

/// The process, which is killed on drop.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Sends commands to the control plane, through a file, and returns its output.
fn control(folder: &Path, commands: &str) -> Result<String, String> {
    let error = |error| format!("{CONTROL}: {error}");
    let path = folder.join("commands");
    fs::write(&path, commands).map_err(error)?;
    let mut call = Command::new(CONTROL);
    call.args(["--thrift-port", CONTROL_PORT]).stdin(fs::File::open(path).map_err(error)?);
    let output = call.output().map_err(error)?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() || text.contains("Error") || text.contains("Invalid") {
        return Err(format!("{CONTROL}: {text}{}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(text)
}

/// Starts a switch in `folder`, gives it commands and frames, and reads the register arrays when no more frames leave. It
/// is an error if it does not start or refuses a command.
pub(crate) fn run<C: Claim>(
    folder: &Path,
    document: &Path,
    program: &Program,
    commands: &str,
    frames: &Arrivals,
) -> Result<Run, String> {
    let unusable = |error| format!("{}: {error}", folder.display());
    // Files of an earlier run would be read as this run's.
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).map_err(unusable)?;
    let mut call = Command::new(SWITCH);
    call.current_dir(folder).args(["--use-files", &HEAD_START.as_secs().to_string()]);
    call.args(["--thrift-port", CONTROL_PORT]);
    for port in 0..C::PORTS {
        fs::write(folder.join(format!("port{port}_in.pcap")), pcap(frames, port))
            .map_err(unusable)?;
        call.args(["-i", &format!("{port}@port{port}")]);
    }
    call.arg(document);
    call.args(["--", "--priority-queues", &C::PRIORITIES.to_string()]);
    let log = fs::File::create(folder.join("log")).map_err(unusable)?;
    let log_too = log.try_clone().map_err(unusable)?;
    let started = Instant::now();
    let running = call.stdin(Stdio::null()).stdout(log).stderr(log_too).spawn();
    let mut running = Running(running.map_err(|error| format!("{SWITCH}: {error}"))?);

    // It takes no comments, and does not listen at once.
    let lines = commands.lines().filter(|line| !line.starts_with('#'));
    let commands: String = lines.chain([DEEP]).map(|line| format!("{line}\n")).collect();
    while let Err(error) = control(folder, &commands) {
        let ended = running.0.try_wait().is_ok_and(|status| status.is_some());
        if ended || started.elapsed() > HEAD_START || !error.contains("connect") {
            return Err(format!("{SWITCH} ({}): {error}", folder.join("log").display()));
        }
        sleep(Duration::from_millis(100));
    }
    if started.elapsed() > HEAD_START {
        let seconds = HEAD_START.as_secs();
        return Err(format!("{CONTROL} took more than {seconds} s: the machine is too slow"));
    }

    let mut left = vec![Vec::new(); C::PORTS];
    let mut last = started + HEAD_START;
    while last.max(started + HEAD_START).elapsed() < IDLE_TIMEOUT {
        if started.elapsed() > HEAD_START + STALL_TIMEOUT {
            return Err(format!("{SWITCH} sends without end: {}", folder.display()));
        }
        sleep(Duration::from_millis(50));
        for (port, left) in left.iter_mut().enumerate() {
            let bytes = fs::read(folder.join(format!("port{port}_out.pcap"))).unwrap_or_default();
            let frames = read_pcap(&bytes);
            if frames.len() > left.len() {
                (*left, last) = (frames, Instant::now());
            }
        }
    }
    let reads = program.register_names().map(|name| format!("register_read {name}\n"));
    let printed = control(folder, &reads.collect::<String>())?;
    let read = |name: &str| -> Result<(String, Vec<u64>), String> {
        let line = printed.lines().find_map(|line| line.split_once(&format!("{name}=")));
        let values = line.map(|(_, values)| values.split(',').map(|value| value.trim().parse()));
        let values = values.and_then(|values| values.collect::<Result<_, _>>().ok());
        let values = values.ok_or_else(|| format!("{CONTROL} prints no {name}: {printed}"))?;
        Ok((name.to_owned(), values))
    };
    let registers = program.register_names().map(read).collect::<Result<_, _>>()?;
    Ok(Run { left, registers })
}

/// Returns a capture file of the frames to a port. Times give the order across ports.
fn pcap(frames: &Arrivals, port: usize) -> Vec<u8> {
    // Magic, version 2.4, no zone, longest packet, Ethernet.
    let head = [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, 1u32];
    let mut bytes: Vec<u8> = head.into_iter().flat_map(u32::to_le_bytes).collect();
    for (index, (_, frame)) in frames.iter().enumerate().filter(|(_, (from, _))| *from == port) {
        let length = frame.len() as u32;
        bytes.extend([1, index as u32, length, length].into_iter().flat_map(u32::to_le_bytes));
        bytes.extend_from_slice(frame);
    }
    bytes
}

/// Returns the complete packets of a capture file.
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

/// Formats the first bytes of a frame, enough to identify it, and its length.
pub(crate) fn hex(frame: &[u8]) -> String {
    let digits: String = frame.iter().take(62).map(|byte| format!("{byte:02x}")).collect();
    format!("{digits} ({} bytes)", frame.len())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::claim::{KEPT, program, switch, tables};

    /// Compares the interpreter in place of `simple_switch`, with the draws that it needs and a change of one run.
    pub(crate) fn compared<C: Claim>(
        compare: Comparison,
        draws: &[(u64, u64)],
        changed: &str,
        change: &dyn Fn(&mut Run),
    ) -> Result<String, String> {
        let root = crate::root();
        let program = program::<C>(&root, KEPT)?;
        compare(&program, &tables::<C>(&root)?, &|name, commands, frames| {
            // The interpreter's queues have no rate.
            let mut switch = switch::<C>(&program, &commands.replace("set_queue_rate", "#"))?;
            switch.draws.extend(draws);
            let mut run = Run::interpreted::<C>(&program, switch, frames)?;
            if name == changed {
                change(&mut run);
            }
            Ok(run)
        })
    }

    #[test]
    fn capture_files_round_trip() {
        let frames = vec![(0, vec![1, 2, 3]), (1, vec![4]), (0, vec![5; 70])];
        assert_eq!(read_pcap(&pcap(&frames, 0)), [vec![1, 2, 3], vec![5; 70]]);
        assert_eq!(read_pcap(&pcap(&frames, 2)), Vec::<Vec<u8>>::new());
        let cut = pcap(&frames, 0);
        assert_eq!(read_pcap(&cut[..cut.len() - 1]), [vec![1, 2, 3]]);
    }
}
