//! The software switch: `trimline-switch CONFIG.toml`.
//!
//! All switches of the file run in this process; hosts are on its interfaces. Counters are printed at the
//! end, and every second with `--counters`.
#![forbid(unsafe_code)]

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Parser;
use serde_json::Value;
use trimline::writer::Writer;
use trimline::{switch_ports, terminal};
use trimline_stack::clock::Clock;
use trimline_stack::host::Idle;
use trimline_stack::io::afpacket::AfPacket;
use trimline_stack::switch::{Config, Fabric, PortNews, Runner};

#[derive(Parser, Debug)]
#[command(name = "trimline-switch", version, about = "Switches that trim, between interfaces.")]
struct Options {
    /// Switches, links and hosts (TOML).
    config: PathBuf,
    /// Check the file and say what is in it; open nothing.
    #[arg(long)]
    check: bool,
    /// Print counters every second.
    #[arg(long)]
    counters: bool,
    /// Write counters to this file every second, for `trimline stats`.
    #[arg(long, value_name = "FILE")]
    stats: Option<PathBuf>,
    /// Poll for ever instead of blocking after a while.
    #[arg(long)]
    poll: bool,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            terminal::say(&format!("trimline-switch: {error}"));
            ExitCode::from(2)
        }
    }
}

fn counters(runner: &Runner<AfPacket>, config: &Config) -> String {
    let fabric = runner.fabric();
    let mut text = switch_ports::table(config, fabric);
    text += &switch_ports::losses(&runner.losses());
    let reasons = fabric.untold().into_iter().flatten().filter(|(_, count)| *count > 0);
    let reasons: Vec<String> =
        reasons.map(|(reason, count)| format!("{} {count}", reason.name())).collect();
    if !reasons.is_empty() {
        text += &format!("dropped, and nobody told: {}\n", reasons.join(", "));
    }
    text
}

fn print(text: &str) -> Result<(), String> {
    terminal::write(text).map_err(|error| error.to_string())
}

/// What has happened to a port, for whoever runs the switch. The other ports go on.
fn say(config: &Config, news: &PortNews) {
    let name = |port: usize| config.host.get(port).map_or("", |host| host.interface.as_str());
    terminal::say(&match news {
        PortNews::Down(port) => format!("{}: the link is down", name(*port)),
        PortNews::Up(port) => format!("{}: the link is up", name(*port)),
        PortNews::Lost(port, why) => format!("{}: {why}; this port is dead", name(*port)),
    });
}

fn run(options: &Options) -> Result<(), String> {
    let path = options.config.display();
    let text =
        std::fs::read_to_string(&options.config).map_err(|error| format!("{path}: {error}"))?;
    let config = Config::parse(&text).map_err(|error| format!("{path}: {error}"))?;
    let fabric = Fabric::new(&config).map_err(|error| format!("{path}: {error}"))?;
    config.check_places().map_err(|error| format!("{path}: {error}"))?;
    if options.check {
        let (switches, links) = (config.switch.len(), config.link.len());
        let mut text = format!("{switches} switches, {links} links, {} hosts\n", fabric.hosts());
        let words = [
            config.phantom_words(),
            config.notification_words(),
            config.urgency_words(),
            config.deflection_words(),
        ];
        for lines in words {
            for line in lines.map_err(|error| format!("{path}: {error}"))? {
                text += &format!("{line}\n");
            }
        }
        return print(&text);
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
    let idle = if options.poll { Idle::Poll } else { Idle::Block };
    let mut runner = Runner::new(fabric, ports?, Clock::real(), idle)?;
    let mut account = Account::new(options);
    let over = Arc::new(AtomicBool::new(false));
    let stop = Arc::clone(&over);
    ctrlc::set_handler(move || stop.store(true, Ordering::Relaxed))
        .map_err(|error| error.to_string())?;
    runner
        .run(|runner, news| {
            news.iter().for_each(|news| say(&config, news));
            account.update(runner, &config);
            over.load(Ordering::Relaxed)
        })
        .map_err(|error| error.to_string())?;
    account.finish(&runner, &config).map_err(|error| error.to_string())
}

/// What the switch tells while it runs, by threads of their own: nobody who does not read stops it.
struct Account {
    /// Whether counters are printed every second, and not at the end alone.
    prints: bool,
    printer: Writer<String>,
    file: Option<Writer<Value>>,
    told: Instant,
}

impl Account {
    fn new(options: &Options) -> Account {
        let file = options.stats.clone().map(|path| {
            let place = path.display().to_string();
            Writer::start(place, move |state: Value| switch_ports::write(&path, &state))
        });
        Account {
            prints: options.counters,
            printer: Writer::start("standard output", |text: String| terminal::write(&text)),
            file,
            told: Instant::now(),
        }
    }

    /// Tells what there is, if that was long ago.
    fn update(&mut self, runner: &Runner<AfPacket>, config: &Config) {
        if self.told.elapsed() < Duration::from_secs(1) {
            return;
        }
        self.told = Instant::now();
        if self.prints {
            self.printer.tell(counters(runner, config));
        }
        if let Some(file) = &self.file {
            file.tell(switch_ports::state(config, runner.fabric(), &runner.losses()));
        }
    }

    /// Tells what there is at the end.
    fn finish(self, runner: &Runner<AfPacket>, config: &Config) -> io::Result<()> {
        let state = switch_ports::state(config, runner.fabric(), &runner.losses());
        let written = self.file.map_or(Ok(()), |file| file.finish(state));
        written.and(self.printer.finish(counters(runner, config)))
    }
}
