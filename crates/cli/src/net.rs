//! Commands with real packets: `trimline ping`, `rpc` and `cat`.

mod cat;
pub(crate) mod key;
#[cfg(test)]
mod pair;
mod server;

use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

use clap::{Args, Subcommand};
use hdrhistogram::Histogram;
use serde_json::json;
use trimline_packet::wire::Profile;
use trimline_packet::{BitRate, Time, TimeDelta};
use trimline_stack::host::{
    Cause, Config, Connection, Core, Failure as Broken, Host, Idle, Options, payload_of_mtu,
};
use trimline_stack::io::PacketIo;

use crate::execute::{catch_interrupts, interrupted, is_stopped};
use crate::failure::Failure;
use crate::log::{self, Log};
use crate::quantity;
use crate::stats::Account;
use crate::terminal;

pub(crate) use cat::cat;
use server::Server;

/// Max time that a client waits for an answer.
const STALL_TIMEOUT: TimeDelta = TimeDelta::from_ms(2000);

/// Interval of news, statistics and checks for a stop.
const GLANCE: TimeDelta = TimeDelta::from_ms(100);

/// Time for RESETs at the end of a command.
const GOODBYE: TimeDelta = TimeDelta::from_ms(5);

/// The service that answers requests.
const PING_SERVICE: u16 = 7;

/// Options of the interface.
#[derive(Args, Clone, Debug)]
pub(crate) struct Interface {
    /// Interface of this host; `--udp` needs none.
    #[arg(long, short, value_name = "NAME", required_unless_present = "udp")]
    interface: Option<String>,
    /// Over UDP sockets instead of whole frames: needs no right, but not behind switches that trim.
    #[arg(long, conflicts_with = "interface")]
    udp: bool,
    /// Bytes that the path carries in a packet, IP headers included: by default those of the interface, over UDP sockets 1500.
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u16).range(128..))]
    mtu: Option<u16>,
    /// Packets that are sent before the first answer. Default: 30, and more where a round trip takes a millisecond.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    window: Option<u16>,
    /// Retransmission time-out until a round trip was measured, up to 5 s; it then follows the path. Default: 200ms. Less than
    /// 20ms is the minimum later, too.
    #[arg(long, value_name = "TIME", value_parser = time_out)]
    rto: Option<TimeDelta>,
    /// UDP source ports that packets are spread over.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "udp",
        value_parser = clap::value_parser!(u16).range(1..=256))]
    paths: u16,
    /// This host's address on it.
    #[arg(long, short, value_name = "ADDRESS")]
    address: IpAddr,
    /// Rate of the link, or the share of it that is this host's; without a unit in Mb/s.
    #[arg(long, value_name = "RATE", default_value = "10Gbps", value_parser = quantity::rate)]
    rate: BitRate,
    /// Poll for ever instead of blocking after a while: the shortest latency, a core.
    #[arg(long)]
    poll: bool,
    /// Give a peer up that was not heard for so many seconds.
    #[arg(long, value_name = "S", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    dead_peer_timeout: u64,
    /// Believe those alone who share the key in this file (`trimline key new`); a key in its second line is believed
    /// too.
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Write what went through here, as JSON, twice a second and after the command, for `trimline stats`.
    #[arg(long, value_name = "FILE")]
    stats: Option<PathBuf>,
    /// Answer there, over HTTP, with counters in the text format of OpenMetrics: unix:PATH, a socket to make.
    #[arg(long, value_name = "unix:PATH")]
    metrics: Option<String>,
    /// Form of events on standard error.
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

#[derive(Subcommand, Clone, Debug)]
pub(crate) enum Rpc {
    /// Answer every request with itself.
    Serve {
        #[command(flatten)]
        interface: Interface,
        /// Stop after so many seconds.
        #[arg(long, value_name = "S")]
        seconds: Option<u64>,
        /// Answer those alone whose messages have a CRC-32C (`rpc load --check`). Without it both are answered.
        #[arg(long)]
        check: bool,
    },
    /// Ask: one request after the other, or so many a second.
    Load {
        /// The server's address.
        server: IpAddr,
        #[command(flatten)]
        interface: Interface,
        /// Bytes of a request.
        #[arg(long, default_value_t = 1024)]
        bytes: usize,
        /// Requests.
        #[arg(long, short, default_value_t = 10_000)]
        count: u64,
        /// Requests under way at the same time (closed loop).
        #[arg(long, default_value_t = 1)]
        concurrency: usize,
        /// Requests a second, whether earlier ones were answered or not (open loop).
        #[arg(long, value_name = "RPS")]
        rate_rps: Option<u64>,
        /// Send each message with its CRC-32C, which both ends compare. A server that does not know it refuses.
        #[arg(long)]
        check: bool,
    },
}

#[derive(Subcommand, Clone, Debug)]
pub(crate) enum Cat {
    /// Write what a peer sends to standard output.
    Listen {
        #[command(flatten)]
        interface: Interface,
        /// Take it from this peer alone.
        #[arg(long, value_name = "ADDRESS")]
        from: Option<IpAddr>,
        #[command(flatten)]
        interval: Interval,
    },
    /// Send standard input to a peer that listens.
    Send {
        /// The peer's address.
        peer: IpAddr,
        #[command(flatten)]
        interface: Interface,
        #[command(flatten)]
        interval: Interval,
    },
}

/// The interval of reports on a transfer.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Interval {
    /// Say every so many seconds how much went through, on standard error.
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=3600))]
    interval: Option<u64>,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Ping {
    /// The peer's address; `trimline rpc serve` answers there.
    peer: IpAddr,
    #[command(flatten)]
    interface: Interface,
    /// Pings.
    #[arg(long, short, default_value_t = 5)]
    count: u64,
    /// Bytes of a ping.
    #[arg(long, default_value_t = 1024)]
    bytes: usize,
    /// Milliseconds from one ping to the next.
    #[arg(long, default_value_t = 200)]
    gap: u64,
}

/// Parses a retransmission time-out. Its max keeps the back-off below the peer's memory.
fn time_out(text: &str) -> Result<TimeDelta, String> {
    let time = quantity::duration(text)?;
    match (TimeDelta::from_us(100)..=TimeDelta::from_ms(5000)).contains(&time) {
        true => Ok(time),
        false => Err("expected a time from 100us to 5s".into()),
    }
}

type AnyHost = Host<Box<dyn PacketIo>>;

/// Opens a host for a command. At the end it resets open connections and writes statistics.
fn with_host(
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
fn status(
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
        Ok(ExitCode::from(2))
    })
}

fn say_goodbye(host: &mut AnyHost) -> io::Result<()> {
    if host.core().connections() > 0 {
        let now = host.now();
        host.core().abandon_all(now);
        host.run_until(now.saturating_add(GOODBYE), |_| false)?;
    }
    Ok(())
}

/// Runs until `is_done`, the deadline or a stop. Returns whether it is done.
fn wait(
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
        config.idle = if poll { Idle::Poll } else { Idle::Block };
        config.dead_peer_timeout = Some(TimeDelta::from_ms(interface.dead_peer_timeout * 1000));
    };
    let host = match &interface.interface {
        Some(name) => {
            let mut host = Host::open(name, address, rate, change)?;
            peer.map_or(Ok(()), |peer| host.resolve(peer))?;
            host.boxed()
        }
        None if address.is_unspecified() => {
            let text = format!("{address}: expected one address of this machine, to answer from");
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
fn broken(peer: IpAddr, failure: Broken) -> io::Error {
    let text = match failure {
        Broken::DeadPeer(quiet) => {
            let since = SystemTime::now() - Duration::from_nanos(quiet.as_ps() / 1000);
            let since = since.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            let (second, quiet) = (since.as_secs() % 86_400, quiet.as_ps() / 1_000_000_000_000);
            let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
            format!(
                "{peer} was not heard for {quiet} s, since {hour:02}:{minute:02}:{second:02} UTC"
            )
        }
        failure => format!("{peer}: {failure}"),
    };
    io::Error::new(io::Error::from(failure).kind(), text)
}

fn request(host: &mut AnyHost, peer: IpAddr, message: &[u8]) -> io::Result<Duration> {
    let start = Instant::now();
    let connection = host.connect(peer, PING_SERVICE, Options::default())?;
    host.core().send(connection, message)?;
    host.core().close(connection);
    let (until, mut answer) = (host.now().saturating_add(STALL_TIMEOUT), Ok(None));
    wait(host, until, |core| {
        answer = core.receive(connection);
        !matches!(answer, Ok(None))
    })?;
    let time = start.elapsed();
    let now = host.now();
    host.core().abandon(now, connection);
    match answer? {
        Some(answer) if answer == message => Ok(time),
        Some(_) => Err(io::Error::other("the answer is another message")),
        None => {
            let ms = time.as_millis();
            Err(io::Error::new(io::ErrorKind::TimedOut, format!("no answer in {ms} ms")))
        }
    }
}

/// Pings a host: `trimline ping`.
pub(crate) fn ping(options: &Ping) -> Result<ExitCode, Failure> {
    catch_interrupts()?;
    let outcome = with_host(&options.interface, Some(options.peer), |host, account| {
        let message = vec![0x5a; options.bytes.max(1)];
        let (mut asked, mut lost) = (0, 0);
        while asked < options.count && !is_stopped() {
            let number = asked;
            asked += 1;
            match request(host, options.peer, &message) {
                Ok(time) => terminal::write(&format!(
                    "{} B from {}: number {number}, {:.1} us\n",
                    message.len(),
                    options.peer,
                    time.as_secs_f64() * 1e6
                ))?,
                Err(error) => {
                    lost += 1;
                    terminal::write(&format!("{}: number {number}: {error}\n", options.peer))?;
                }
            }
            let until = host.now().saturating_add(TimeDelta::from_ms(options.gap));
            wait(host, until, |_| false)?;
            account.update(host);
        }
        terminal::write(&format!("{} of {asked} answered\n", asked - lost))?;
        Ok(ExitCode::from(u8::from(lost > 0)))
    });
    status("ping", &options.interface, outcome)
}

/// Serves or loads: `trimline rpc`.
pub(crate) fn rpc(what: &Rpc) -> Result<ExitCode, Failure> {
    catch_interrupts()?;
    let (interface, outcome) = match what {
        Rpc::Serve { interface, seconds, check } => {
            let serve = |host: &mut AnyHost, account: &mut _| {
                if !check {
                    host.listen(PING_SERVICE);
                }
                host.listen_checked(PING_SERVICE);
                serve(host, account, *seconds)
            };
            (interface, with_host(interface, None, serve))
        }
        Rpc::Load { server, interface, bytes, count, concurrency, rate_rps, check } => {
            let load = |host: &mut _, account: &mut _| {
                let options = Options { checked: *check, ..Options::default() };
                let loop_of = ((*concurrency).max(1), *rate_rps);
                load(host, account, (*server, options), *bytes, *count, loop_of)
            };
            (interface, with_host(interface, Some(*server), load))
        }
    };
    status("rpc", interface, outcome)
}

fn serve(host: &mut AnyHost, account: &mut Account, seconds: Option<u64>) -> io::Result<ExitCode> {
    let start = Instant::now();
    let is_over = || seconds.is_some_and(|seconds| start.elapsed().as_secs() >= seconds);
    let mut server = Server::default();
    while !is_over() && !is_stopped() {
        let now = host.now();
        host.run_until(now.saturating_add(GLANCE), |core| server.answer(core, now))?;
        account.update(host);
    }
    Ok(ExitCode::SUCCESS)
}

fn load(
    host: &mut AnyHost,
    account: &mut Account,
    (server, options): (IpAddr, Options),
    bytes: usize,
    count: u64,
    (concurrency, rate_rps): (usize, Option<u64>),
) -> io::Result<ExitCode> {
    let message = vec![0x5a; bytes.max(1)];
    let mut taken: Histogram<u64> =
        Histogram::new_with_bounds(1, 600_000_000_000, 3).map_err(io::Error::other)?;
    let mut waiting: Vec<(Connection, Time)> = Vec::new();
    let (mut asked, mut failed) = (0u64, 0u64);
    let (mut why, mut is_gone) = (None, false);
    let begin = host.now();
    let gap = rate_rps.map(|rps| TimeDelta::from_ps(1_000_000_000_000 / rps.max(1)));
    while asked < count || !waiting.is_empty() {
        // An open loop counts from when a request should have been sent: waiting is part of it.
        let mut due = begin;
        while asked < count {
            let now = host.now();
            due = match gap {
                Some(gap) => begin.saturating_add(gap * asked),
                None if waiting.len() < concurrency => now,
                None => Time::NEVER,
            };
            if due > now {
                break;
            }
            let connection = host.connect(server, PING_SERVICE, options)?;
            host.core().send(connection, &message)?;
            host.core().close(connection);
            waiting.push((connection, due));
            asked += 1;
        }
        let (stall_timeout, frames) =
            (host.now().saturating_add(STALL_TIMEOUT), host.statistics().frames_in);
        let until = if asked < count { due.min(stall_timeout) } else { stall_timeout };
        let before = waiting.len();
        let clock = Instant::now();
        let base = host.now();
        wait(host, until, |core| {
            waiting.retain(|&(connection, start)| match core.receive(connection) {
                Ok(None) => true,
                outcome => {
                    let elapsed = TimeDelta::from_ns(clock.elapsed().as_nanos() as u64);
                    let time = base.saturating_add(elapsed).saturating_since(start);
                    match outcome {
                        Ok(Some(answer)) if answer == message => {
                            taken.saturating_record(time.as_ps() / 1000);
                        }
                        Err(failure) => {
                            failed += 1;
                            why = Some(failure);
                            is_gone |= matches!(
                                failure,
                                Broken::DeadPeer(_) | Broken::Stalled(_) | Broken::PathMtu(_)
                            );
                        }
                        Ok(_) => failed += 1,
                    }
                    false
                }
            });
            waiting.len() < before
        })?;
        account.update(host);
        if is_stopped() {
            failed += waiting.len() as u64;
            break;
        }
        // A long answer takes time while frames arrive; connections without frames fail by themselves.
        let is_quiet = host.statistics().frames_in == frames;
        if waiting.len() == before && host.now() >= stall_timeout && is_quiet {
            is_gone = true;
            why = why.or(Some(Broken::DeadPeer(STALL_TIMEOUT)));
        }
        // A silent peer gets no more requests.
        if is_gone {
            failed += waiting.len() as u64;
            break;
        }
    }
    let seconds = host.now().saturating_since(begin).as_ps() as f64 / 1e12;
    let us = |quantile| taken.value_at_quantile(quantile) as f64 / 1000.0;
    terminal::write(&format!(
        "{} answered, {failed} not, in {seconds:.2} s: {:.0} a second\n\
         us: median {:.1}, 90 % {:.1}, 99 % {:.1}, 99.9 % {:.1}, most {:.1}\n",
        taken.len(),
        taken.len() as f64 / seconds,
        us(0.5),
        us(0.9),
        us(0.99),
        us(0.999),
        taken.max() as f64 / 1000.0
    ))?;
    if let Some(failure) = why {
        let about = [("server", json!(server))];
        account.log().event("request_failed", &about, &broken(server, failure).to_string());
        if options.checked && matches!(failure, Broken::Refused(Cause::NoService | Cause::Unknown))
        {
            account.log().event(
                "request_failed",
                &about,
                "a server of an older version does not know --check",
            );
        }
    }
    Ok(ExitCode::from(u8::from(failed > 0)))
}
