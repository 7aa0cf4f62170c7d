//! The processes of a soak: hosts that ask or answer, and the switch.

use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher;
use std::io;
use std::net::IpAddr;
use std::thread;
use std::time::{Duration, Instant};

use trimline_packet::wire::Profile;
use trimline_packet::{BitRate, TimeDelta};
use trimline_stack::clock::Clock;
use trimline_stack::host::{Config, Core, Failure, Host, Idle, Options};
use trimline_stack::io::PacketIo;
use trimline_stack::io::afpacket::AfPacket;
use trimline_stack::switch::{self, Fabric, PortEvent, Runner};
use trimline_testbed::network::{self, Shape};

use super::{CLIENT, HOSTS, LASTING_CLIENT, LASTING_SERVER, SERVER};

const SERVICE: u16 = 9;

/// The silence after which a peer counts as dead.
const DEAD_PEER: TimeDelta = TimeDelta::from_ms(4000);

/// Plays a role. `left_ms` is the time until this process's clock wraps.
///
/// # Errors
/// The role ended by itself.
pub(crate) fn run(role: &str, left_ms: &str) -> io::Result<()> {
    // The end of the run closes the standard input.
    thread::spawn(|| {
        io::copy(&mut io::stdin(), &mut io::sink()).ok();
        std::process::exit(0);
    });
    let left = left_ms.parse().map_err(io::Error::other)?;
    let clock = clock(Duration::from_millis(left));
    match role {
        "switch" => switch(clock),
        "server" => serve(open(SERVER, clock)?),
        "lasting-server" => serve(open(LASTING_SERVER, clock)?),
        "client" => ask(open(CLIENT, clock)?, SERVER),
        "lasting-client" => ask(open(LASTING_CLIENT, clock)?, LASTING_SERVER),
        role => Err(io::Error::other(format!("no role `{role}`"))),
    }
}

/// Returns a clock that wraps, at 2^63 ps, after `left`.
fn clock(left: Duration) -> Clock {
    let age = Duration::from_nanos(((1u128 << 63) / 1000) as u64) - left;
    Instant::now().checked_sub(age).map_or_else(Clock::real, Clock::Real)
}

fn open(number: u32, clock: Clock) -> io::Result<Host<AfPacket>> {
    let address: IpAddr = network::address(number, 0).into();
    let io = AfPacket::open_host(&format!("h{number}"), &Profile::PAPER, &[address])?;
    let rate = BitRate::from_gbps(1);
    let mut config = Config::new(address, io.caps().mtu, rate).map_err(io::Error::other)?;
    config.ethernet = io.ethernet();
    config.validates_addresses = true;
    config.dead_peer_timeout = Some(DEAD_PEER);
    Ok(Host::new(io, config, clock))
}

fn checksum(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

/// A message of one to two megabytes; its first eight bytes are the checksum of the rest.
fn message(number: u64) -> Vec<u8> {
    let length = 1_000_000 + (number * 7919 % 1_000_000) as usize;
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut bytes = vec![0; 8];
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    let sum = checksum(&bytes[8..]);
    bytes[..8].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// Answers messages with their checksums.
fn serve(mut host: Host<AfPacket>) -> io::Result<()> {
    host.listen(SERVICE);
    loop {
        let now = host.now();
        let deadline = now.saturating_add(TimeDelta::from_ms(30_000));
        let answer = |core: &mut Core| {
            while let Some(connection) = core.accept() {
                core.set_deadline(connection, Some(deadline));
            }
            while let Some(connection) = core.next_readable() {
                match core.receive(connection) {
                    Ok(Some(message)) => {
                        let (sum, body) = message.split_at(message.len().min(8));
                        // The flood's packets have no token, so a sender that comes so far is genuine.
                        if sum != checksum(body).to_le_bytes() {
                            println!("a message of {} B has another checksum", message.len());
                        }
                        core.send(connection, &checksum(&message).to_le_bytes()).ok();
                        core.close(connection);
                    }
                    Ok(None) => {}
                    Err(Failure::Closed) if core.failure(connection).is_none() => {
                        core.close(connection);
                    }
                    Err(_) => core.abandon(now, connection),
                }
            }
            false
        };
        host.run_until(now.saturating_add(TimeDelta::from_ms(50)), answer)?;
    }
}

fn ask(mut host: Host<AfPacket>, server: u32) -> io::Result<()> {
    let server: IpAddr = network::address(server, 0).into();
    let mut number = u64::from(std::process::id());
    loop {
        number += 1;
        let message = message(number);
        loop {
            match transfer(&mut host, server, &message) {
                Ok(sum) if sum == checksum(&message).to_le_bytes() => {
                    break println!("done {number}");
                }
                Ok(_) => println!("message {number} was answered with another checksum"),
                // A lost interface is an error of `run_until`, and ends the process.
                Err(Ok(failure)) => println!("again {number}: {failure}"),
                Err(Err(error)) => return Err(error),
            }
        }
    }
}

/// Sends one message and returns its answer, or the connection's failure, or the error that ends this process.
fn transfer(
    host: &mut Host<AfPacket>,
    server: IpAddr,
    message: &[u8],
) -> Result<Vec<u8>, Result<Failure, io::Error>> {
    if host.resolve(server).is_err() {
        thread::sleep(Duration::from_millis(50));
        return Err(Ok(Failure::Unreachable));
    }
    let connection = host.connect(server, SERVICE, Options::default()).map_err(Ok)?;
    host.core().send(connection, message).map_err(Ok)?;
    host.core().close(connection);
    let deadline = host.now().saturating_add(TimeDelta::from_ms(10_000));
    let mut outcome = Ok(None);
    host.run_until(deadline, |core| {
        outcome = core.receive(connection);
        !matches!(outcome, Ok(None))
    })
    .map_err(Err)?;
    let now = host.now();
    host.core().abandon(now, connection);
    match outcome {
        Ok(Some(answer)) => Ok(answer),
        Ok(None) => Err(Ok(Failure::Deadline)),
        Err(failure) => Err(Ok(failure)),
    }
}

fn switch(clock: Clock) -> io::Result<()> {
    let text = Shape::Star(HOSTS).switches("rate = \"1Gbps\"\npayload = 1400");
    let config = switch::Config::parse(&text).map_err(io::Error::other)?;
    let fabric = Fabric::new(&config).map_err(io::Error::other)?;
    let ports = (0..HOSTS).map(|host| AfPacket::open(&format!("p{host}")));
    let ports = ports.collect::<io::Result<_>>()?;
    let mut runner = Runner::new(fabric, ports, clock, Idle::Block).map_err(io::Error::other)?;
    runner.run(|_, news| {
        for one in news {
            if let PortEvent::Lost(why) = &one.event {
                println!("port {}: {why}", one.port);
            }
        }
        false
    })
}
