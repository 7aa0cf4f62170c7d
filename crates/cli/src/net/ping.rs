//! `trimline ping`: messages to a host that answers, and their times.

use std::io;
use std::net::IpAddr;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::{Value, json};
use trimline_experiments::{Bar, Failure};
use trimline_packet::TimeDelta;
use trimline_stack::host::Options;

use super::host::{AnyHost, Interface, status, wait, with_host};
use super::server::{PING_SERVICE, STALL_TIMEOUT};
use crate::interrupt::{catch_interrupts, is_stopped};
use crate::output::Output;
use crate::status::done;
use crate::terminal;

#[derive(Args, Clone, Debug)]
pub(crate) struct Ping {
    /// Address of a peer that runs `trimline rpc serve`.
    peer: IpAddr,
    #[command(flatten)]
    interface: Interface,
    /// Number of pings.
    #[arg(long, short, default_value_t = 5)]
    count: u64,
    /// Size of a ping, in bytes.
    #[arg(long, default_value_t = 1024)]
    bytes: usize,
    /// Time between two pings, in milliseconds.
    #[arg(long, default_value_t = 200)]
    gap: u64,
    #[command(flatten)]
    output: Output,
}

pub(crate) fn ping(options: &Ping) -> Result<ExitCode, Failure> {
    catch_interrupts()?;
    let outcome = with_host(&options.interface, Some(options.peer), |host, account| {
        let message = vec![0x5a; options.bytes.max(1)];
        let (mut asked, mut lost) = (0, 0);
        let is_json = options.output.is_json();
        let (mut pings, bar) = (Vec::new(), Bar::new(options.count, !is_json));
        bar.name("pings");
        let mut keep = |ping: Value| {
            if is_json {
                pings.push(ping);
            }
        };
        let say = |text: String| if is_json { Ok(()) } else { terminal::write(&text) };
        while asked < options.count && !is_stopped() {
            let number = asked;
            asked += 1;
            match request(host, options.peer, &message) {
                Ok(time) => {
                    let us = time.as_secs_f64() * 1e6;
                    keep(json!({ "number": number, "rtt_us": us }));
                    let (bytes, peer) = (message.len(), options.peer);
                    say(format!("{bytes} B from {peer}: number {number}, {us:.1} us\n"))?;
                }
                Err(error) => {
                    lost += 1;
                    keep(json!({ "number": number, "error": error.to_string() }));
                    say(format!("{}: number {number}: {error}\n", options.peer))?;
                }
            }
            let until = host.now().saturating_add(TimeDelta::from_ms(options.gap));
            wait(host, until, |_| false)?;
            account.update(host);
            bar.advance(1);
        }
        drop(bar);
        let answered = asked - lost;
        let all = json!({
            "peer": options.peer,
            "bytes": message.len(),
            "sent": asked,
            "answered": answered,
            "pings": pings,
        });
        options.output.write(&all, || format!("{answered} of {asked} answered\n"))?;
        Ok(done(lost == 0))
    });
    status("ping", &options.interface, outcome)
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
        Some(_) => Err(io::Error::other("the answer differs from the request")),
        None => {
            let ms = time.as_millis();
            Err(io::Error::new(io::ErrorKind::TimedOut, format!("no answer in {ms} ms")))
        }
    }
}
