//! bmv2's `simple_switch` as a process: frames in capture files, tables and registers through its control plane.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

pub(super) const SWITCH: &str = "simple_switch";
const CONTROL: &str = "simple_switch_CLI";

/// Port of the control plane (chosen; different from bmv2's default, to leave another switch alone).
const CONTROL_PORT: &str = "49099";

/// Maximum time for its tables before the first packet.
const HEAD_START: Duration = Duration::from_secs(4);
/// Maximum time for its packets.
const STALL_TIMEOUT: Duration = Duration::from_secs(30);
/// Time without a frame after which no further one is expected.
const SILENCE: Duration = Duration::from_secs(1);

/// Returns the first program that it needs and that is not on PATH.
pub(super) fn missing() -> Option<&'static str> {
    let is_missing = |program: &&str| {
        let called = Command::new(program).arg("--help").output();
        called.is_err_and(|error| error.kind() == ErrorKind::NotFound)
    };
    [SWITCH, CONTROL].into_iter().find(is_missing)
}

pub(super) struct Run {
    pub(super) left: Left,
    pub(super) registers: Vec<Vec<u64>>,
}

pub(super) type Left = Vec<Vec<Vec<u8>>>;

pub(super) type Arrivals = Vec<(usize, Vec<u8>)>;

/// The process, which is killed on drop.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Sends commands to the control plane, and returns its output.
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

pub(super) struct Shape<'a> {
    pub(super) compiled: &'a str,
    pub(super) ports: usize,
    pub(super) priorities: usize,
}

/// Starts a switch in a folder under `out`, gives it commands and frames, and reads the register arrays when no more
/// frames leave. It is an error if it does not start or refuses a command.
pub(super) fn run(
    root: &Path,
    shape: &Shape<'_>,
    name: &str,
    commands: &str,
    frames: &[(usize, Vec<u8>)],
    registers: &[&str],
) -> Result<Run, String> {
    let folder = root.join("out/p4").join(name);
    // Files of an earlier run would be read as this run's.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for port in 0..shape.ports {
        let path = folder.join(format!("port{port}_in.pcap"));
        fs::write(&path, pcap(frames, port))
            .map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let mut call = Command::new(SWITCH);
    call.current_dir(&folder).args(["--use-files", &HEAD_START.as_secs().to_string()]);
    call.args(["--thrift-port", CONTROL_PORT]);
    for port in 0..shape.ports {
        call.args(["-i", &format!("{port}@port{port}")]);
    }
    let json = fs::canonicalize(root.join(shape.compiled)).map_err(|error| error.to_string())?;
    call.arg(json).args(["--", "--priority-queues", &shape.priorities.to_string()]);
    let log = fs::File::create(folder.join("log")).map_err(|error| error.to_string())?;
    let log_too = log.try_clone().map_err(|error| error.to_string())?;
    let started = Instant::now();
    let running = call.stdin(Stdio::null()).stdout(log).stderr(log_too).spawn();
    let mut running = Running(running.map_err(|error| format!("{SWITCH}: {error}"))?);

    // It takes no comments, and does not listen at once.
    let lines = commands.lines().filter(|line| !line.starts_with('#'));
    let commands: String = lines.map(|line| format!("{line}\n")).collect();
    while let Err(error) = control(&commands) {
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

    let mut left = vec![Vec::new(); shape.ports];
    let mut last = started + HEAD_START;
    while last.max(started + HEAD_START).elapsed() < SILENCE {
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
    let reads: String = registers.iter().map(|name| format!("register_read {name}\n")).collect();
    let printed = control(&reads)?;
    let read = |name: &&str| -> Result<Vec<u64>, String> {
        let line = printed.lines().find_map(|line| line.split_once(&format!("{name}=")));
        let values = line.map(|(_, values)| values.split(',').map(|value| value.trim().parse()));
        let values = values.and_then(|values| values.collect::<Result<_, _>>().ok());
        values.ok_or_else(|| format!("{CONTROL} prints no {name}: {printed}"))
    };
    Ok(Run { left, registers: registers.iter().map(read).collect::<Result<_, _>>()? })
}

/// Returns a capture file of the frames to a port. Times give the order across ports.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capture_files_are_read_as_written() {
        let frames = [(0, vec![1, 2, 3]), (1, vec![4]), (0, vec![5; 70])];
        assert_eq!(read_pcap(&pcap(&frames, 0)), [vec![1, 2, 3], vec![5; 70]]);
        assert_eq!(read_pcap(&pcap(&frames, 2)), Vec::<Vec<u8>>::new());
        let cut = pcap(&frames, 0);
        assert_eq!(read_pcap(&cut[..cut.len() - 1]), [vec![1, 2, 3]]);
    }
}
