//! `trimline rpc`: requests, and a server that answers them.

use std::io;
use std::net::IpAddr;
use std::process::ExitCode;
use std::time::Instant;

use clap::Subcommand;
use hdrhistogram::Histogram;
use serde_json::json;
use trimline_experiments::{Bar, Failure};
use trimline_packet::{Time, TimeDelta};
use trimline_stack::host::{Backlog, Cause, Connection, Failure as Broken, Options};

use super::host::{AnyHost, GLANCE, Interface, broken, status, wait, with_host};
use super::server::{PING_SERVICE, STALL_TIMEOUT, Server};
use crate::interrupt::{catch_interrupts, is_stopped};
use crate::output::Output;
use crate::stats::Account;
use crate::status::done;

#[derive(Subcommand, Clone, Debug)]
pub(crate) enum Rpc {
    /// Answer every request with the same bytes.
    Serve {
        #[command(flatten)]
        interface: Interface,
        /// Connections for which the server reserves room, with a first window of bytes each, whatever others fill.
        #[arg(long, value_name = "N", default_value_t = 16,
            value_parser = clap::value_parser!(u32).range(0..=1024))]
        backlog: u32,
        /// Stop after S seconds. Default: run until interrupted.
        #[arg(long, value_name = "S")]
        seconds: Option<u64>,
        /// Answer only messages with a CRC-32C (`rpc load --check`). Default: answer messages with and without it.
        #[arg(long)]
        check: bool,
    },
    /// Send requests, one after the other or at a fixed rate, and measure their latency.
    Load {
        /// Address of the server.
        server: IpAddr,
        #[command(flatten)]
        interface: Interface,
        /// Size of a request, in bytes.
        #[arg(long, default_value_t = 1024)]
        bytes: usize,
        /// Number of requests.
        #[arg(long, short, default_value_t = 10_000)]
        count: u64,
        /// Number of concurrent requests (closed loop).
        #[arg(long, default_value_t = 1)]
        concurrency: usize,
        /// Requests per second, sent without waiting for earlier answers (open loop). Default: a closed loop.
        #[arg(long, value_name = "RPS")]
        rate_rps: Option<u64>,
        /// Send each message with its CRC-32C, which both ends verify. A server without this feature refuses the
        /// connection.
        #[arg(long)]
        check: bool,
        #[command(flatten)]
        output: Output,
    },
}

pub(crate) fn rpc(what: &Rpc) -> Result<ExitCode, Failure> {
    catch_interrupts()?;
    let (interface, outcome) = match what {
        Rpc::Serve { interface, backlog, seconds, check } => {
            let serve = |host: &mut AnyHost, account: &mut _| {
                let now = host.now();
                let core = host.core();
                let backlog = Backlog { connections: *backlog, bytes: core.first_window_bytes() };
                let listened = match check {
                    true => Ok(()),
                    false => core.listen_with(now, PING_SERVICE, backlog),
                };
                listened
                    .and_then(|()| core.listen_checked_with(now, PING_SERVICE, backlog))
                    .map_err(io::Error::other)?;
                serve(host, account, *seconds)
            };
            (interface, with_host(interface, None, serve))
        }
        Rpc::Load { server, interface, bytes, count, concurrency, rate_rps, check, output } => {
            let load = |host: &mut _, account: &mut _| {
                let options = Options { checked: *check, ..Options::default() };
                let loop_of = ((*concurrency).max(1), *rate_rps);
                load(host, account, (*server, options), *bytes, *count, loop_of, *output)
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
    output: Output,
) -> io::Result<ExitCode> {
    let message = vec![0x5a; bytes.max(1)];
    let mut taken: Histogram<u64> =
        Histogram::new_with_bounds(1, 600_000_000_000, 3).map_err(io::Error::other)?;
    let mut waiting: Vec<(Connection, Time)> = Vec::new();
    let bar = Bar::new(count, false);
    bar.name("requests");
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
        bar.advance((before - waiting.len()) as u64);
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
    drop(bar);
    let (answered, max) = (taken.len(), taken.max() as f64 / 1000.0);
    let per_second = answered as f64 / seconds;
    let [p50, p90, p99, p999] = [0.5, 0.9, 0.99, 0.999].map(us);
    let all = json!({
        "server": server,
        "bytes": message.len(),
        "answered": answered,
        "failed": failed,
        "seconds": seconds,
        "answered_per_second": per_second,
        "latency_us": { "p50": p50, "p90": p90, "p99": p99, "p999": p999, "max": max },
    });
    output.write(&all, || {
        format!(
            "{answered} answered, {failed} not, in {seconds:.2} s: {per_second:.0} per second\n\
             us: median {p50:.1}, 90 % {p90:.1}, 99 % {p99:.1}, 99.9 % {p999:.1}, max {max:.1}\n"
        )
    })?;
    if let Some(failure) = why {
        let about = [("server", json!(server))];
        account.log().event("request_failed", &about, &broken(server, failure).to_string());
        if options.checked && matches!(failure, Broken::Refused(Cause::NoService | Cause::Unknown))
        {
            account.log().event(
                "request_failed",
                &about,
                "a server of an older version does not support --check",
            );
        }
    }
    Ok(done(failed == 0))
}
