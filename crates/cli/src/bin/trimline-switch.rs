//! The software switch: `trimline-switch CONFIG.toml`.
//!
//! All switches of the file run in this process; hosts are on its interfaces. Counters are printed at the
//! end, and every second with `--counters`.
#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Parser;
use trimline::switch_ports;
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
            eprintln!("trimline-switch: {error}");
            ExitCode::from(2)
        }
    }
}

fn counters(fabric: &Fabric, config: &Config) {
    print!("{}", switch_ports::table(config, fabric));
    let reasons = fabric.untold().into_iter().flatten().filter(|(_, count)| *count > 0);
    let reasons: Vec<String> =
        reasons.map(|(reason, count)| format!("{} {count}", reason.name())).collect();
    if !reasons.is_empty() {
        println!("dropped, and nobody told: {}", reasons.join(", "));
    }
}

/// What has happened to a port, for whoever runs the switch. The other ports go on.
fn say(config: &Config, news: &PortNews) {
    let name = |port: usize| config.host.get(port).map_or("", |host| host.interface.as_str());
    match news {
        PortNews::Down(port) => eprintln!("{}: the link is down", name(*port)),
        PortNews::Up(port) => eprintln!("{}: the link is up", name(*port)),
        PortNews::Lost(port, why) => eprintln!("{}: {why}; this port is dead", name(*port)),
    }
}

fn run(options: &Options) -> Result<(), String> {
    let path = options.config.display();
    let text =
        std::fs::read_to_string(&options.config).map_err(|error| format!("{path}: {error}"))?;
    let config = Config::parse(&text).map_err(|error| format!("{path}: {error}"))?;
    let fabric = Fabric::new(&config).map_err(|error| format!("{path}: {error}"))?;
    if options.check {
        let (switches, links) = (config.switch.len(), config.link.len());
        println!("{switches} switches, {links} links, {} hosts", fabric.hosts());
        let words = [
            config.phantom_words(),
            config.notification_words(),
            config.urgency_words(),
            config.deflection_words(),
        ];
        for lines in words {
            for line in lines.map_err(|error| format!("{path}: {error}"))? {
                println!("{line}");
            }
        }
        return Ok(());
    }
    let ports: Result<Vec<AfPacket>, String> = config
        .host
        .iter()
        .map(|host| AfPacket::open(&host.interface).map_err(|error| error.to_string()))
        .collect();
    let idle = if options.poll { Idle::Poll } else { Idle::Block };
    let mut runner = Runner::new(fabric, ports?, Clock::real(), idle)?;
    let over = Arc::new(AtomicBool::new(false));
    let stop = Arc::clone(&over);
    ctrlc::set_handler(move || stop.store(true, Ordering::Relaxed))
        .map_err(|error| error.to_string())?;
    let written = |fabric: &Fabric| match &options.stats {
        Some(path) => switch_ports::write(path, &config, fabric)
            .map_err(|error| format!("{}: {error}", path.display())),
        None => Ok(()),
    };
    let mut failed = None;
    let mut shown = Instant::now();
    runner
        .run(|fabric, news| {
            news.iter().for_each(|news| say(&config, news));
            if shown.elapsed() >= Duration::from_secs(1) {
                shown = Instant::now();
                if options.counters {
                    counters(fabric, &config);
                }
                if let Err(error) = written(fabric) {
                    failed = Some(error);
                    return true;
                }
            }
            over.load(Ordering::Relaxed)
        })
        .map_err(|error| error.to_string())?;
    counters(runner.fabric(), &config);
    match failed {
        Some(error) => Err(error),
        None => written(runner.fabric()),
    }
}
