//! The software switch: `trimline-switch CONFIG.toml`, or `trimline-switch --pacer HOST NETWORK --rate RATE`.
//!
//! All switches of the file run in this process; hosts are on its interfaces. It prints counters at the end, or every
//! second with `--counters`. SIGHUP reloads the file; SIGTERM and Ctrl-C drain the switches and exit.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Parser;
use serde_json::{Value, json};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use trimline_explain::wrapped;
use trimline_packet::TimeDelta;
use trimline_stack::clock::Clock;
use trimline_stack::host::Idle;
use trimline_stack::io::PacketIo;
use trimline_stack::io::afpacket::AfPacket;
use trimline_stack::switch::{Config, Fabric, PortNews, Runner};

use crate::log::{self, Log};
use crate::openmetrics::Endpoint;
use crate::output::Output;
use crate::writer::Writer;
use crate::{status, switch_ports, terminal};

#[derive(Parser, Debug)]
#[command(
    name = "trimline-switch",
    version,
    term_width = 80,
    after_help = status::help(),
    about = "Runs switches that trim packets, between network interfaces."
)]
pub(crate) struct Options {
    /// Configuration file (TOML) of switches, links and hosts.
    #[arg(required_unless_present = "pacer")]
    config: Option<PathBuf>,
    /// Run HULL's pacer between two interfaces, without a file: one to the host, one to the network. Requires --rate.
    #[arg(long, num_args = 2, value_names = ["HOST", "NETWORK"], conflicts_with = "config", requires = "rate")]
    pacer: Option<Vec<String>>,
    /// Rate of the host's link, with --pacer: "1Gbps".
    #[arg(long, value_name = "RATE", requires = "pacer")]
    rate: Option<String>,
    /// Check and describe the configuration, and exit without opening an interface.
    #[arg(long)]
    check: bool,
    /// Print counters every second. Default: only at the end.
    #[arg(long)]
    counters: bool,
    #[command(flatten)]
    output: Output,
    /// Write counters into FILE every second, for `trimline stats`.
    #[arg(long, value_name = "FILE")]
    stats: Option<PathBuf>,
    /// Serve counters as OpenMetrics text over HTTP, on a Unix socket that the command creates at PATH.
    #[arg(long, value_name = "unix:PATH")]
    metrics: Option<String>,
    /// Format of events on standard error.
    #[arg(long, value_enum, default_value_t)]
    log: log::Format,
    /// Maximum time, in seconds, to forward queued frames after SIGTERM or Ctrl-C; a second signal exits at once.
    #[arg(long, value_name = "S", default_value_t = 1, value_parser = clap::value_parser!(u64).range(0..=600))]
    drain: u64,
    /// Poll continuously. Default: block when no frames arrive.
    #[arg(long)]
    poll: bool,
}

impl Options {
    /// The source of the configuration, as messages name it.
    fn source(&self) -> String {
        match &self.config {
            Some(path) => path.display().to_string(),
            None => "--pacer".to_owned(),
        }
    }

    fn log(&self) -> Log {
        Log::new("trimline-switch", self.log)
    }
}

/// Runs the software switch with this process's arguments. Help and misuse end the process.
pub fn switch() -> ExitCode {
    let options = Options::parse();
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            options.log().event("failed", &[], &format!("trimline-switch: {error}"));
            status::error()
        }
    }
}

fn counters(runner: &Runner<AfPacket>, config: &Config) -> String {
    let fabric = runner.fabric();
    let mut text = switch_ports::table(config, fabric);
    text += &switch_ports::pacers(config, fabric);
    text += &switch_ports::losses(&runner.losses());
    let reasons = fabric.unnotified().into_iter().flatten().filter(|(_, count)| *count > 0);
    let reasons: Vec<String> =
        reasons.map(|(reason, count)| format!("{} {count}", reason.name())).collect();
    if !reasons.is_empty() {
        text += &format!("dropped without a notification: {}\n", reasons.join(", "));
    }
    text
}

/// Reports an event of a port. The other ports go on.
fn say(log: &Log, config: &Config, news: &PortNews) {
    let name = config.host.get(news.port).map_or("", |host| host.interface.as_str());
    let about = [("interface", json!(name))];
    log.event(news.event.name(), &about, &format!("{name}: {}", news.event));
}

fn read(options: &Options) -> Result<Config, String> {
    let source = options.source();
    let text = match (&options.config, &options.pacer, &options.rate) {
        (Some(path), ..) => {
            std::fs::read_to_string(path).map_err(|error| format!("{source}: {error}"))?
        }
        (None, Some(interfaces), Some(rate)) => paced_cable(interfaces, rate),
        (None, ..) => unreachable!("clap asks for a file, or for interfaces and their rate"),
    };
    Config::parse(&text).map_err(|error| format!("{source}: {error}"))
}

/// The configuration of `--pacer`: a switch with two ports, that of the host with a pacer. Both links have one rate, so
/// no queue forms behind the pacer.
fn paced_cable(interfaces: &[String], rate: &str) -> String {
    let mut text = format!(
        "rate = {rate:?}\nprofile = \"drop-tail\"\npackets = 1000\npayload = 1500\n\
         [[switch]]\nname = \"pacer\"\nforwarding = \"l2\"\n"
    );
    for (interface, pacer) in interfaces.iter().zip(["pacer = {}\n", ""]) {
        text += &format!("[[host]]\nswitch = \"pacer\"\ninterface = {interface:?}\n{pacer}");
    }
    text
}

/// Reloads the configuration; on an error, reports it and keeps the old one.
fn reload(options: &Options, runner: &mut Runner<AfPacket>, config: &mut Config) {
    let path = options.source();
    let changed = read(options).and_then(|new| {
        let changed = new.check_places().and_then(|()| runner.fabric_mut().change(config, &new));
        changed.map(|()| new).map_err(|error| format!("{path}: {error}"))
    });
    let about = [("config", json!(path))];
    match changed {
        Ok(new) => {
            *config = new;
            options.log().event("reloaded", &about, &format!("{path}: configuration reloaded"));
        }
        Err(error) => {
            let text = format!("{error}; the old configuration stays in use");
            options.log().event("reload_refused", &about, &text);
        }
    }
}

struct Signals {
    over: Arc<AtomicBool>,
    again: Arc<AtomicBool>,
}

impl Signals {
    fn catch() -> io::Result<Signals> {
        let (over, again) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        for signal in [SIGINT, SIGTERM] {
            flag::register_conditional_shutdown(signal, 130, Arc::clone(&over))?;
            flag::register(signal, Arc::clone(&over))?;
        }
        flag::register(SIGHUP, Arc::clone(&again))?;
        Ok(Signals { over, again })
    }

    fn are_there(&self) -> bool {
        self.over.load(Ordering::Relaxed) || self.again.load(Ordering::Relaxed)
    }
}

fn run(options: &Options) -> Result<(), String> {
    let path = options.source();
    let mut config = read(options)?;
    let fabric = Fabric::new(&config).map_err(|error| format!("{path}: {error}"))?;
    config.check_places().map_err(|error| format!("{path}: {error}"))?;
    if options.check {
        let (switches, links) = (config.switch.len(), config.link.len());
        let mut settings = Vec::new();
        let described = [
            config.describe_phantom(),
            config.describe_pacers(),
            config.describe_notifications(),
            config.describe_pfabric(),
            config.describe_detour(),
            Ok(config.describe_labels()),
            config.describe_security(),
        ];
        for lines in described {
            settings.extend(lines.map_err(|error| format!("{path}: {error}"))?);
        }
        let hosts = fabric.hosts();
        let all =
            json!({ "switches": switches, "links": links, "hosts": hosts, "settings": settings });
        let text = || {
            let lines: String = settings.iter().map(|line| wrapped(line, 2) + "\n").collect();
            format!("{switches} switches, {links} links, {hosts} hosts\n{lines}")
        };
        return options.output.print(&all, text).map_err(|failure| failure.to_string());
    }
    options
        .stats
        .as_deref()
        .map_or(Ok(()), switch_ports::check_target)
        .map_err(|error| error.to_string())?;
    let ports: Result<Vec<AfPacket>, String> = config
        .host
        .iter()
        .map(|host| AfPacket::open(&host.interface).map_err(|error| error.to_string()))
        .collect();
    let ports = ports?;
    config
        .check_pacers(ports.iter().map(|port| port.caps().mtu))
        .map_err(|error| format!("{path}: {error}"))?;
    let idle = if options.poll { Idle::Poll } else { Idle::Block };
    let mut runner = Runner::new(fabric, ports, Clock::real(), idle)?;
    let mut account = Account::new(options)?;
    let signals = Signals::catch().map_err(|error| error.to_string())?;
    let log = options.log();
    let about = [("config", json!(path))];
    if log.is_json() {
        log.event("started", &about, &format!("{path}: {} ports are open", config.host.len()));
    }
    while !signals.over.load(Ordering::Relaxed) {
        if signals.again.swap(false, Ordering::Relaxed) {
            reload(options, &mut runner, &mut config);
        }
        runner
            .run(|runner, news| {
                news.iter().for_each(|news| say(&log, &config, news));
                account.update(runner, &config);
                signals.are_there()
            })
            .map_err(|error| error.to_string())?;
    }
    let longest = TimeDelta::from_ms(options.drain * 1000);
    let left = runner.drain(longest).map_err(|error| error.to_string())?;
    if left > 0 || log.is_json() {
        let text = format!("{left} frames were left after {} s of draining", options.drain);
        log.event("drained", &[("frames_left", json!(left))], &text);
    }
    account.finish(&runner, &config).map_err(|error| error.to_string())
}

/// Reports of the running switch, from threads: a slow reader does not stop the switch.
struct Account {
    /// Print counters every second, not only at the end.
    prints: bool,
    output: Output,
    printer: Writer<String>,
    file: Option<Writer<Value>>,
    endpoint: Option<Endpoint>,
    reported_at: Option<Instant>,
}

impl Account {
    fn new(options: &Options) -> Result<Account, String> {
        let endpoint = options.metrics.as_deref().map(Endpoint::open).transpose();
        let file = options.stats.clone().map(|path| {
            let place = path.display().to_string();
            Writer::start(place, move |state: Value| switch_ports::write_file(&path, &state))
        });
        Ok(Account {
            prints: options.counters,
            output: options.output,
            printer: Writer::start("standard output", |text: String| terminal::write(&text)),
            file,
            endpoint: endpoint.map_err(|error| error.to_string())?,
            reported_at: None,
        })
    }

    /// Reports the state, at most once a second.
    fn update(&mut self, runner: &Runner<AfPacket>, config: &Config) {
        if self.reported_at.is_some_and(|at| at.elapsed() < Duration::from_secs(1)) {
            return;
        }
        self.reported_at = Some(Instant::now());
        if self.prints {
            self.printer.set_pending(self.counters(runner, config));
        }
        if let Some(file) = &self.file {
            file.set_pending(switch_ports::state(config, runner.fabric(), &runner.losses()));
        }
        if let Some(endpoint) = &self.endpoint {
            endpoint.publish(switch_ports::exposition(config, runner));
        }
    }

    /// The counters as they are printed.
    fn counters(&self, runner: &Runner<AfPacket>, config: &Config) -> String {
        match self.output.is_json() {
            true => {
                let mut state = switch_ports::state(config, runner.fabric(), &runner.losses());
                let reasons = runner.fabric().unnotified().into_iter().flatten();
                let reasons =
                    reasons.map(|(reason, count)| (reason.name().to_owned(), json!(count)));
                state["unnotified"] = Value::Object(reasons.collect());
                format!("{state}\n")
            }
            false => counters(runner, config),
        }
    }

    fn finish(self, runner: &Runner<AfPacket>, config: &Config) -> io::Result<()> {
        let state = switch_ports::state(config, runner.fabric(), &runner.losses());
        let text = self.counters(runner, config);
        let written = self.file.map_or(Ok(()), |file| file.finish(state));
        written.and(self.printer.finish(text))
    }
}
