//! The host of a command: its options, and how it is opened, waits and ends.

use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use clap::Args;
use trimline_experiments::Failure;
use trimline_packet::wire::Profile;
use trimline_packet::{BitRate, Time, TimeDelta};
use trimline_stack::host::{Config, Core, Failure as Broken, Host, Idle, payload_of_mtu};
use trimline_stack::io::PacketIo;

use super::key;
use super::paths::PeerPaths;
use crate::interrupt::is_stopped;
use crate::log::{self, Log};
use crate::quantity;
use crate::stats::Account;
use crate::status::{self, interrupted};

/// Interval of news, statistics and checks for a stop.
pub(super) const GLANCE: TimeDelta = TimeDelta::from_ms(100);

/// Time for RESETs at the end of a command.
const GOODBYE: TimeDelta = TimeDelta::from_ms(5);

/// Options of the interface.
#[derive(Args, Clone, Debug)]
pub(crate) struct Interface {
    /// Network interface of this host; required without `--udp`.
    #[arg(long, short, value_name = "NAME", required_unless_present = "udp")]
    interface: Option<String>,
    /// Use UDP sockets, which need no privileges but do not work behind switches that trim. Default: whole frames on
    /// the interface.
    #[arg(long, conflicts_with = "interface")]
    udp: bool,
    /// MTU of the path in bytes, IP headers included. Default: the MTU of the interface, or 1500 with `--udp`.
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u16).range(128..))]
    mtu: Option<u16>,
    /// Initial window, in packets. Default: 30, which grows if the round trip takes 1 ms or more.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    window: Option<u16>,
    /// Retransmission time-out before the first round-trip measurement, from 100us to 5s; a value below 20ms also
    /// lowers the later minimum. Default: 200ms.
    #[arg(long, value_name = "TIME", value_parser = time_out)]
    rto: Option<TimeDelta>,
    /// Number of UDP source ports to spread packets over.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "udp",
        value_parser = clap::value_parser!(u16).range(1..=256))]
    paths: u16,
    /// IP address of this host.
    #[arg(long, short, value_name = "ADDRESS")]
    address: IpAddr,
    /// All addresses of this host, if the network has one for each path to it; `--address` is among them. Default: one
    /// address.
    #[arg(long, value_name = "ADDRESS,...", value_delimiter = ',', conflicts_with = "udp")]
    path_addresses: Vec<IpAddr>,
    /// Paths to a peer, for each peer once: an address for each path (10.0.0.2=10.0.0.2,10.1.0.2), MPLS labels
    /// (10.0.0.2=16,17), or the labels of each switch on the way (10.0.0.2=16/20,17/20). Default: its address, with 16
    /// UDP source ports for networks that hash.
    #[arg(long, value_name = "PEER=PATH,...", conflicts_with = "udp")]
    peer_paths: Vec<PeerPaths>,
    /// Rate of the link, or this host's share of it; a number without a unit is in Mb/s.
    #[arg(long, value_name = "RATE", default_value = "10Gbps", value_parser = quantity::rate)]
    rate: BitRate,
    /// Poll continuously, which minimises latency but occupies a core. Default: block when no frames arrive.
    #[arg(long)]
    poll: bool,
    /// Give up on a peer after S seconds without a packet from it.
    #[arg(long, value_name = "S", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    dead_peer_timeout: u64,
    /// Accept only peers with the key in FILE (`trimline key new`); a second line may hold another accepted key.
    /// Default: no authentication.
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Write counters into FILE as JSON, twice a second and at the end, for `trimline stats`.
    #[arg(long, value_name = "FILE")]
    stats: Option<PathBuf>,
    /// Serve counters as OpenMetrics text over HTTP, on a Unix socket that the command creates at PATH.
    #[arg(long, value_name = "unix:PATH")]
    metrics: Option<String>,
    /// Format of events on standard error.
    #[arg(long, value_enum, default_value_t)]
    log: log::Format,
}

impl Interface {
    fn log(&self) -> Log {
        Log::new("trimline", self.log)
    }

    fn name(&self) -> &str {
        self.interface.as_deref().unwrap_or("udp")
    }
}

/// Parses a retransmission time-out. Its max keeps the back-off below the peer's memory.
fn time_out(text: &str) -> Result<TimeDelta, String> {
    let time = quantity::duration(text)?;
    match (TimeDelta::from_us(100)..=TimeDelta::from_ms(5000)).contains(&time) {
        true => Ok(time),
        false => Err("expected a time from 100us to 5s".into()),
    }
}

pub(super) type AnyHost = Host<Box<dyn PacketIo>>;

/// Opens a host for a command. At the end it resets open connections and writes statistics.
pub(super) fn with_host(
    interface: &Interface,
    peer: Option<IpAddr>,
    act: impl FnOnce(&mut AnyHost, &mut Account) -> io::Result<ExitCode>,
) -> io::Result<ExitCode> {
    let (stats, metrics) = (interface.stats.as_deref(), interface.metrics.as_deref());
    let mut account = Account::new(interface.log(), stats, metrics, interface.name())?;
    let mut host = open(interface, peer)?;
    let outcome = act(&mut host, &mut account);
    let is_left = say_goodbye(&mut host);
    let is_written = account.write(&mut host);
    match outcome {
        Err(error) if is_stopped() => {
            account.log().event("interrupted", &[], &error.to_string());
            Ok(interrupted())
        }
        Ok(_) if is_stopped() => Ok(interrupted()),
        Ok(code) => is_left.and(is_written).map(|()| code),
        Err(error) => Err(error),
    }
}

/// The status of a command. A failure is a log event if programs read the log.
pub(super) fn status(
    command: &str,
    interface: &Interface,
    outcome: io::Result<ExitCode>,
) -> Result<ExitCode, Failure> {
    outcome.or_else(|error| {
        let text = format!("{command}: {error}");
        if !interface.log().is_json() {
            return Err(Failure::message(text));
        }
        interface.log().event("failed", &[], &text);
        Ok(status::error())
    })
}

pub(super) fn say_goodbye(host: &mut AnyHost) -> io::Result<()> {
    if host.core().connections() > 0 {
        let now = host.now();
        host.core().abandon_all(now);
        host.run_until(now.saturating_add(GOODBYE), |_| false)?;
    }
    Ok(())
}

/// Runs until `is_done`, the deadline or a stop. Returns whether it is done.
pub(super) fn wait(
    host: &mut AnyHost,
    until: Time,
    mut is_done: impl FnMut(&mut Core) -> bool,
) -> io::Result<bool> {
    while !is_stopped() && host.now() < until {
        let next = host.now().saturating_add(GLANCE).min(until);
        if host.run_until(next, &mut is_done)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn open(interface: &Interface, peer: Option<IpAddr>) -> io::Result<AnyHost> {
    let Interface { address, mtu, window, rto, paths, poll, .. } = *interface;
    let rate = interface.rate;
    let keys = interface.key.as_deref().map(key::read).transpose()?;
    let payload = mtu.map(|mtu| payload_of_mtu(mtu.into(), address)).transpose();
    let payload = payload.map_err(|text| io::Error::new(io::ErrorKind::InvalidInput, text))?;
    let change = |config: &mut Config| {
        let ndp = &mut config.ndp;
        ndp.payload_bytes = payload.unwrap_or(u16::MAX).min(ndp.payload_bytes);
        if let Some(follows) = &mut ndp.follows_path {
            follows.min_rto = rto.unwrap_or(follows.min_rto).min(follows.min_rto);
            follows.grows_from = follows.grows_from.filter(|_| window.is_none());
        }
        ndp.rto = rto.unwrap_or(ndp.rto);
        ndp.initial_window = window.map_or(ndp.initial_window, u32::from);
        if let Some((key, other)) = keys {
            config.share(key);
            config.other_key = other;
            config.profile = Profile::KEYED;
        }
        config.ways.clone_from(&interface.path_addresses);
        interface.peer_paths.iter().for_each(|paths| paths.prepare(config));
        config.idle = if poll { Idle::Poll } else { Idle::Block };
        config.dead_peer_timeout = Some(TimeDelta::from_ms(interface.dead_peer_timeout * 1000));
    };
    let host = match &interface.interface {
        Some(name) => {
            let mut host = Host::open(name, address, rate, change)?;
            let invalid = |text| io::Error::new(io::ErrorKind::InvalidInput, text);
            let mut paths = interface.peer_paths.iter();
            paths.try_for_each(|paths| paths.apply(host.core())).map_err(invalid)?;
            peer.map_or(Ok(()), |peer| host.resolve(peer))?;
            host.boxed()
        }
        None if address.is_unspecified() => {
            let text = format!("{address}: expected a specific address of this machine");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        None => {
            let mtu = mtu.map_or(1500, usize::from);
            let mut host = Host::open_udp(address, mtu, paths, rate, change)?;
            peer.into_iter().for_each(|peer| host.resolve(peer));
            host.boxed()
        }
    };
    Ok(host)
}

/// Describes a failed connection: the peer, and how long it was silent.
pub(super) fn broken(peer: IpAddr, failure: Broken) -> io::Error {
    let text = match failure {
        Broken::DeadPeer(quiet) => {
            let since = SystemTime::now() - Duration::from_nanos(quiet.as_ps() / 1000);
            let since = since.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            let (second, quiet) = (since.as_secs() % 86_400, quiet.as_ps() / 1_000_000_000_000);
            let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
            format!(
                "no packet from {peer} for {quiet} s, since {hour:02}:{minute:02}:{second:02} UTC"
            )
        }
        failure => format!("{peer}: {failure}"),
    };
    io::Error::new(io::Error::from(failure).kind(), text)
}
