//! A long run under constant failures: `make soak`, or with another time
//! `cargo run --release --package trimline-stack --example soak -- SECONDS`.
//!
//! Five hosts around a software switch, each process in a network namespace. One pair transfers messages of one to two
//! megabytes and is killed; another pair is never killed. Ten threads of a fifth host flood them with forged packets.
//! Every second a fault occurs: a kill -9 of an end or of the switch, a link that goes down, a process that is stopped
//! for a while. Every process's clock wraps within seconds of its start.
//!
//! At the end the soak prints the transfers with the right checksum, the growth of memory, and the load of idle
//! processes. It fails on too few transfers, on a wrong checksum, on a process that ended by itself or is busy while
//! idle, and on memory that grew by more than 64 MB.

mod ends;
mod flood;

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use trimline_stack::switch::quantity;
use trimline_testbed::namespace::{self, Namespace};
use trimline_testbed::network::{self, Shape, TestNetwork};

/// Host numbers of the roles.
const CLIENT: u32 = 0;
const SERVER: u32 = 1;
const FLOODER: u32 = 2;
const LASTING_SERVER: u32 = 3;
const LASTING_CLIENT: u32 = 4;
const HOSTS: u32 = 5;

/// Transfers needed in ten minutes; a shorter run needs a share.
const TRANSFERS: u64 = 1000;
const WHOLE: Duration = Duration::from_secs(600);

/// Limit on the growth of a process's memory, in KB.
const GROWTH_KB: u64 = 64 << 10;

/// Counts of what the processes printed.
#[derive(Default)]
struct Said {
    done: AtomicU64,
    lasting_done: AtomicU64,
    again: AtomicU64,
    wrong: Mutex<Vec<String>>,
}

impl Said {
    fn wrong(&self, what: String) {
        self.wrong.lock().unwrap_or_else(PoisonError::into_inner).push(what);
    }
}

/// The state of a run.
struct Soak<'a> {
    network: &'a TestNetwork,
    processes: BTreeMap<&'static str, Child>,
    said: Arc<Said>,
    /// State of the RNG, equal in every run.
    draw: u64,
    events: BTreeMap<&'static str, u64>,
    /// Max memory of each role's processes in KB, killed ones included: of the first quarter, and of all.
    memory_kb: BTreeMap<&'static str, (u64, u64)>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words[..] {
        ["role", role, age] => ends::run(role, age),
        [] => soak(WHOLE),
        [seconds] => seconds
            .parse()
            .map_err(io::Error::other)
            .and_then(|seconds| soak(Duration::from_secs(seconds))),
        _ => Err(io::Error::other("usage: soak [SECONDS]")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if namespace::is_forbidden(&error) => {
            println!("SKIPPED soak: {error} ({})", namespace::NEEDS);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("soak: {error}");
            ExitCode::FAILURE
        }
    }
}

fn soak(time: Duration) -> io::Result<()> {
    namespace::become_root()?;
    let network = TestNetwork::build(Shape::Star(HOSTS), 1500)?;
    let mut soak = Soak {
        network: &network,
        processes: BTreeMap::new(),
        said: Arc::new(Said::default()),
        draw: 0x5eed,
        events: BTreeMap::new(),
        memory_kb: BTreeMap::new(),
    };
    for role in ROLES {
        soak.start(role)?;
    }
    let (over, flooded) = (AtomicBool::new(false), AtomicU64::new(0));
    let outcome = thread::scope(|scope| {
        for kind in 0..flood::KINDS {
            let place = &network.hosts[FLOODER as usize].namespace;
            let (over, flooded) = (&over, &flooded);
            scope.spawn(move || flood::run(place, kind, over, flooded));
        }
        let outcome = soak.disturb_for(time);
        over.store(true, Ordering::Relaxed);
        outcome
    });
    outcome?;
    soak.judge(time, flooded.into_inner())
}

const ROLES: [&str; 5] = ["switch", "server", "client", "lasting-server", "lasting-client"];

impl Soak<'_> {
    fn below(&mut self, bound: u64) -> u64 {
        self.draw ^= self.draw << 13;
        self.draw ^= self.draw >> 7;
        self.draw ^= self.draw << 17;
        self.draw % bound
    }

    fn place(&self, role: &str) -> io::Result<&Namespace> {
        let host = match role {
            "client" => CLIENT,
            "server" => SERVER,
            "lasting-client" => LASTING_CLIENT,
            "lasting-server" => LASTING_SERVER,
            _ => {
                let middle = self.network.middle.as_ref();
                return middle.ok_or_else(|| io::Error::other("no switch is here"));
            }
        };
        Ok(&self.network.hosts[host as usize].namespace)
    }

    /// Starts a process whose clock wraps within ten seconds.
    fn start(&mut self, role: &'static str) -> io::Result<()> {
        let left_ms = self.below(10_000);
        let start = || {
            Command::new(std::env::current_exe()?)
                .args(["role", role, &left_ms.to_string()])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
        };
        let mut child = self.place(role)?.inside(start)?;
        let (said, lines) = (Arc::clone(&self.said), child.stdout.take());
        thread::spawn(move || {
            let lines = lines.into_iter().flat_map(|lines| BufReader::new(lines).lines());
            for line in lines.map_while(Result::ok) {
                match line.split(' ').next() {
                    Some("done") if role == "client" => &said.done,
                    Some("done") => &said.lasting_done,
                    Some("again") => &said.again,
                    _ => {
                        said.wrong(format!("{role}: {line}"));
                        continue;
                    }
                }
                .fetch_add(1, Ordering::Relaxed);
            }
        });
        self.processes.insert(role, child);
        Ok(())
    }

    /// Kills a process and restarts it.
    fn kill(&mut self, role: &'static str) -> io::Result<()> {
        if let Some(mut child) = self.processes.remove(role) {
            child.kill()?;
            child.wait()?;
        }
        self.start(role)
    }

    fn signal(&self, role: &str, signal: &str) -> io::Result<()> {
        let id = self.processes.get(role).map_or(0, Child::id).to_string();
        Command::new("kill").args([signal, &id]).status().map(|_| ())
    }

    /// Takes a link down for 0.3 s. The host's kernel loses its neighbour entries with it.
    fn flap(&mut self, host: u32) -> io::Result<()> {
        let host = &self.network.hosts[host as usize];
        let device = &host.interface;
        host.namespace.ip(&[format!("link set {device} down")])?;
        thread::sleep(Duration::from_millis(300));
        let mut lines = vec![format!("link set {device} up")];
        for other in (0..HOSTS).filter(|&other| other != host.number) {
            let mac = quantity::ethernet_text(network::ethernet(other));
            let address = network::address(other, 0);
            lines.push(format!("neigh replace {address} lladdr {mac} dev {device} nud permanent"));
        }
        host.namespace.ip(&lines)
    }

    fn disturb(&mut self) -> io::Result<()> {
        let what = match self.below(8) {
            0 | 1 => "kill client",
            2 | 3 => "kill server",
            4 | 5 => "kill switch",
            6 => "link down",
            _ => "stop server",
        };
        *self.events.entry(what).or_default() += 1;
        match what {
            "link down" => {
                let host = [CLIENT, SERVER, LASTING_SERVER][self.below(3) as usize];
                self.flap(host)
            }
            "stop server" => {
                self.signal("server", "-STOP")?;
                thread::sleep(Duration::from_millis(1500));
                self.signal("server", "-CONT")
            }
            kill => {
                self.kill(ROLES.into_iter().find(|role| kill.ends_with(role)).unwrap_or(ROLES[0]))
            }
        }
    }

    fn disturb_for(&mut self, time: Duration) -> io::Result<()> {
        let start = Instant::now();
        while start.elapsed() < time {
            thread::sleep(Duration::from_secs(1));
            self.disturb()?;
            for (role, child) in &mut self.processes {
                if let Some(status) = child.try_wait()? {
                    return Err(io::Error::other(format!("{role} ended by itself: {status}")));
                }
            }
            for (&role, child) in &self.processes {
                let kb = memory_kb(child)?;
                // A quarter of the time for tables that grow to their size.
                let (first, max) = self.memory_kb.entry(role).or_insert((kb, kb));
                if start.elapsed() < time / 4 {
                    *first = (*first).max(kb);
                }
                *max = (*max).max(kb);
            }
        }
        Ok(())
    }

    /// Prints the results; fails if a requirement is not met.
    fn judge(&mut self, time: Duration, flooded: u64) -> io::Result<()> {
        for role in ["client", "lasting-client"] {
            if let Some(mut child) = self.processes.remove(role) {
                child.kill()?;
                child.wait()?;
            }
        }
        // The remaining processes are idle once the silence is over.
        thread::sleep(Duration::from_secs(8));
        let busy = |child: &Child| cpu_ticks(child.id());
        let before: BTreeMap<_, _> =
            self.processes.iter().map(|(role, child)| (*role, busy(child))).collect();
        thread::sleep(Duration::from_secs(2));
        let mut wrong = self.said.wrong.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for (role, child) in &self.processes {
            // A hundred ticks a second.
            let ticks = busy(child).saturating_sub(before[role]);
            println!("{role}: {ticks} of 200 ticks while there is nothing to do");
            if ticks > 100 {
                wrong.push(format!("{role} works with nothing to do: {ticks} of 200 ticks"));
            }
        }
        for (role, &(first, max)) in &self.memory_kb {
            println!("{role}: {first} KB, then at most {max} KB");
            if max > first + GROWTH_KB {
                wrong.push(format!("{role} grew from {first} KB to {max} KB"));
            }
        }
        let [done, lasting, again] = [&self.said.done, &self.said.lasting_done, &self.said.again]
            .map(|count| count.load(Ordering::Relaxed));
        println!("{flooded} forged frames; {:?}", self.events);
        println!("{done} and {lasting} transfers, {again} tried again");
        let needed = (TRANSFERS * time.as_secs()).div_ceil(WHOLE.as_secs());
        for (count, who) in [(done, "that were killed"), (lasting, "that lasted")] {
            if count < needed {
                wrong.push(format!("{count} transfers of those {who}, expected {needed}"));
            }
        }
        match wrong.is_empty() {
            true => Ok(()),
            false => Err(io::Error::other(wrong.join("\n"))),
        }
    }
}

impl Drop for Soak<'_> {
    fn drop(&mut self) {
        for child in self.processes.values_mut() {
            // The process may have ended.
            child.kill().and_then(|()| child.wait()).ok();
        }
    }
}

/// Returns the memory of a process, in KB.
fn memory_kb(child: &Child) -> io::Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id()))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let words = line.and_then(|line| line.split_whitespace().next());
    words.and_then(|kb| kb.parse().ok()).ok_or_else(|| io::Error::other("no VmRSS"))
}

/// Returns the CPU time of a process, in ticks of /proc.
fn cpu_ticks(id: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    let behind_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let times = behind_name.split_whitespace().skip(11).take(2);
    times.filter_map(|ticks| ticks.parse::<u64>().ok()).sum()
}
