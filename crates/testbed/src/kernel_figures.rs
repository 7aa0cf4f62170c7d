//! The programs `trimline cat` and `trimline rpc` compared with the kernel's own protocols, over one cable without
//! offloads: a long flow with TCP, a request with a UDP echo.

use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use super::bulk::{self, Bulk};
use super::figures::us;
use super::network::{Shape, TestNetwork, address};
use super::report::Report;
use super::rpc::{self, Carrier};
use super::steps::Steps;
use super::sys;

/// Measured time of each TCP flow.
const TIME: Duration = Duration::from_millis(500);

const BYTES: u64 = 600_000_000;

const REQUESTS: u64 = 3000;

/// Time for a listener to start (chosen: a hundred times the time on an idle machine).
const BEGIN: Duration = Duration::from_millis(200);

/// A program in a host's namespace, which is killed when this value is dropped.
struct Program(Child);

impl Program {
    /// Starts `trimline` with these arguments, its interface and address. `host` 0 sends to host 1.
    fn start(
        network: &TestNetwork,
        program: &Path,
        host: u32,
        words: &[&str],
        input: Stdio,
    ) -> io::Result<Program> {
        let host = &network.hosts[host as usize];
        let own = address(host.number, 0).to_string();
        let start = || {
            // Each end has its own processor, as with the kernel's protocols.
            sys::pin(host.number as usize);
            let mut command = Command::new(program);
            command.args(words).args(["-i", &host.interface, "-a", &own, "--rate", "100Gbps"]);
            command.args(["--log", "json"]).stdin(input);
            let output = if host.number == 0 { Stdio::piped() } else { Stdio::null() };
            command.stdout(output).stderr(Stdio::piped()).spawn().map_err(|error| {
                io::Error::new(error.kind(), format!("{}: {error}", program.display()))
            })
        };
        host.namespace.inside(start).map(Program)
    }

    fn finish(mut self) -> io::Result<(String, String)> {
        let (mut printed, mut logged) = (String::new(), String::new());
        if let Some(mut output) = self.0.stdout.take() {
            output.read_to_string(&mut printed)?;
        }
        if let Some(mut errors) = self.0.stderr.take() {
            errors.read_to_string(&mut logged)?;
        }
        match self.0.wait()? {
            status if status.success() => Ok((printed, logged)),
            status => Err(io::Error::other(format!("{status}: {printed}{logged}"))),
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // A program that has ended takes no signal.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn number_behind(text: &str, word: &str) -> io::Result<f64> {
    let number = text.split_once(word).map(|(_, rest)| {
        rest.trim_start().split(|c: char| !c.is_ascii_digit() && c != '.').next().unwrap_or("")
    });
    let number = number.and_then(|digits| digits.parse().ok());
    number.ok_or_else(|| io::Error::other(format!("expected a number behind {word:?} in {text:?}")))
}

fn cat(network: &TestNetwork, program: &Path) -> io::Result<Bulk> {
    let before = sys::processor_time_of_children();
    let listener = Program::start(network, program, 1, &["cat", "listen"], Stdio::null())?;
    thread::sleep(BEGIN);
    let server = address(1, 0).to_string();
    let zeros = sys::zeros(BYTES)?.into();
    let sender = Program::start(network, program, 0, &["cat", "send", &server], zeros)?;
    let (_, logged) = sender.finish()?;
    listener.finish()?;
    let processor = sys::processor_time_of_children() - before;
    let time = Duration::from_secs_f64(number_behind(&logged, "\"end_s\":")?);
    Ok(Bulk { bytes: BYTES, time, processor, ..Bulk::default() })
}

/// Returns the median time of requests of 1 KB by `trimline rpc`, in microseconds.
fn request_us(network: &TestNetwork, program: &Path, polls: bool) -> io::Result<f64> {
    let way: &[&str] = if polls { &["--poll"] } else { &[] };
    let serve = [&["rpc", "serve"], way].concat();
    let _server = Program::start(network, program, 1, &serve, Stdio::null())?;
    thread::sleep(BEGIN);
    let (server, count) = (address(1, 0).to_string(), REQUESTS.to_string());
    let load = [&["rpc", "load", &server, "-c", &count], way].concat();
    let (printed, _) = Program::start(network, program, 0, &load, Stdio::null())?.finish()?;
    number_behind(&printed, "median")
}

/// Measures long flows and requests of NDP, each compared with the kernel's protocol just before it, because a shared
/// machine changes its speed within seconds. `program` is `trimline`.
///
/// # Errors
/// Fails if the kernel refuses what the testbed needs, or a program fails.
pub fn kernel(program: &Path, rounds: u64, steps: &Steps<'_>) -> io::Result<Report> {
    let mut report = Report::default();
    report.line(&format!("{rounds} rounds, one after the other: median (min, max)"));
    steps.begin(4 * rounds);
    for mtu in [9000, 1500] {
        let network = TestNetwork::build(Shape::BackToBack, mtu)?;
        network.set_offloads(false)?;
        let pair = |_| Ok(steps.end((bulk::tcp_over(&network, TIME)?, cat(&network, program)?)));
        let pairs: Vec<(Bulk, Bulk)> = (0..rounds).map(pair).collect::<io::Result<_>>()?;
        let mut add = |label: &str, name: &str, value: &dyn Fn(&(Bulk, Bulk)) -> f64| {
            let (label, name) = (format!("MTU {mtu}: {label}"), format!("{name}_{mtu}"));
            report.rounds(&label, &name, pairs.iter().map(value));
        };
        add("TCP, Gb/s", "tcp_gbps", &|(tcp, _)| tcp.gbps());
        add("cat, Gb/s", "cat_gbps", &|(_, cat)| cat.gbps());
        add("cat over TCP", "cat_over_tcp", &|(tcp, cat)| cat.gbps() / tcp.gbps());
        add("TCP, CPU s per GB", "tcp_s_per_gb", &|(tcp, _)| tcp.seconds_per_gb());
        add("cat, CPU s per GB", "cat_s_per_gb", &|(_, cat)| cat.seconds_per_gb());
        add("cat over TCP, CPU time", "cat_s_over_tcp", &|(tcp, cat)| {
            cat.seconds_per_gb() / tcp.seconds_per_gb()
        });
    }
    let network = TestNetwork::build(Shape::BackToBack, 1500)?;
    network.set_offloads(false)?;
    for (mode, polls) in [("polling", true), ("blocking", false)] {
        let pair = |_| {
            let echo = rpc::measure_over(&network, Carrier::Udp, polls, REQUESTS)?;
            Ok(steps.end((us(&echo, 0.5), request_us(&network, program, polls)?)))
        };
        let pairs: Vec<(f64, f64)> = (0..rounds).map(pair).collect::<io::Result<_>>()?;
        let mut add = |label: &str, name: &str, value: &dyn Fn(&(f64, f64)) -> f64| {
            let (label, name) = (format!("1 KB, {mode}: {label}"), format!("{name}_{mode}"));
            report.rounds(&label, &name, pairs.iter().map(value));
        };
        add("UDP echo, us", "udp_us", &|pair| pair.0);
        add("rpc, us", "rpc_us", &|pair| pair.1);
        add("rpc over UDP echo", "rpc_over_udp", &|pair| pair.1 / pair.0);
    }
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_read_after_its_word() {
        let said = "3 answered\nus: median 24.5, 90 % 31.0\n";
        assert_eq!(number_behind(said, "median").unwrap(), 24.5);
        let error = number_behind(said, "mean").unwrap_err().to_string();
        assert!(error.contains("\"mean\"") && error.contains("median 24.5"), "{error}");
    }
}
