//! The time of a request and its answer (NDP 5.1, Figure 8), over everything that this machine has: the
//! bare packet interface, NDP, TCP with data in its SYN, TCP, and TCP on a connection that stays.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use hdrhistogram::Histogram;
use trimline_packet::wire::Profile;
use trimline_packet::{BitRate, TimeDelta};

use super::network::{Shape, TestNetwork, address};
use super::sys::{self, Open};
use crate::clock::Clock;
use crate::host::{Config, Failure, Idle, Options};
use crate::io::{PacketIo, wait_readable};
use std::os::fd::{AsRawFd, RawFd};

/// Bytes of a request, and of its answer.
pub const REQUEST_BYTES: usize = 1024;

const SERVICE: u16 = 7;

/// What carries requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// The frame goes to the other host and back: no protocol.
    Raw,
    /// A new NDP connection for each request.
    Ndp,
    /// A new TCP connection for each, the request in its SYN (RFC 7413).
    FastOpen,
    /// A new TCP connection for each.
    Tcp,
    /// One TCP connection for all.
    TcpKept,
}

impl Carrier {
    /// All of them.
    pub const ALL: [Carrier; 5] =
        [Carrier::Raw, Carrier::Ndp, Carrier::FastOpen, Carrier::Tcp, Carrier::TcpKept];

    /// As tables write it.
    pub fn name(self) -> &'static str {
        match self {
            Carrier::Raw => "raw echo",
            Carrier::Ndp => "NDP",
            Carrier::FastOpen => "TFO",
            Carrier::Tcp => "TCP",
            Carrier::TcpKept => "TCP, one connection",
        }
    }
}

/// Latencies in nanoseconds.
pub type Latencies = Histogram<u64>;

fn latencies() -> Latencies {
    Histogram::new_with_bounds(1, 60_000_000_000, 3).expect("sound bounds")
}

/// Times `requests` requests between two hosts on a cable, after a tenth as many to warm up. Both ends
/// poll, or both block.
///
/// # Errors
/// A right is missing, or a contender fails.
pub fn measure(carrier: Carrier, polls: bool, requests: u64) -> io::Result<Latencies> {
    let network = TestNetwork::build(Shape::BackToBack, 1500)?;
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let server = scope.spawn(|| {
            sys::pin(1);
            let outcome = serve(&network, carrier, polls, &over);
            over.store(true, Ordering::Relaxed);
            outcome
        });
        let client = scope.spawn(|| {
            sys::pin(0);
            let outcome = ask(&network, carrier, polls, requests, &over);
            over.store(true, Ordering::Relaxed);
            outcome
        });
        let asked = client.join().map_err(|_| io::Error::other("the client panicked"))?;
        server.join().map_err(|_| io::Error::other("the server panicked"))??;
        asked
    })
}

/// The paper's times: hosts with a core of their own.
fn host_config(network: &TestNetwork, number: u32, polls: bool) -> io::Result<Config> {
    let mut config = network.config(number, BitRate::from_gbps(100))?;
    config.ndp.rto = TimeDelta::from_ms(1);
    config.ndp.pull_repeat = TimeDelta::from_ms(1);
    config.ndp.time_wait = TimeDelta::from_ms(10);
    config.idle = if polls { Idle::Poll } else { Idle::Sleep };
    Ok(config)
}

/// Waits as the policy says; the longest wait is short, so that the end of a run is seen.
fn pause(polls: bool, turns: &mut u32, fd: RawFd) -> io::Result<()> {
    *turns += 1;
    if !polls {
        wait_readable(&[fd], 50_000_000)?;
    } else if turns.is_multiple_of(64) {
        thread::yield_now();
    } else {
        std::hint::spin_loop();
    }
    Ok(())
}

fn serve(
    network: &TestNetwork,
    carrier: Carrier,
    polls: bool,
    over: &AtomicBool,
) -> io::Result<()> {
    match carrier {
        Carrier::Raw => {
            let mut socket = network.socket(1)?;
            let (mut frame, mut turns) = (Vec::new(), 0);
            while !over.load(Ordering::Relaxed) {
                let taken = socket.rx_burst(1, &mut |bytes| {
                    frame.clear();
                    frame.extend_from_slice(bytes);
                })?;
                if taken == 0 {
                    let fd = socket.poll_fd().map_or(-1, |fd| fd.as_raw_fd());
                    pause(polls, &mut turns, fd)?;
                    continue;
                }
                for byte in 0..6 {
                    frame.swap(byte, byte + 6);
                }
                socket.tx_burst(&[&[&frame]])?;
                socket.flush()?;
            }
            Ok(())
        }
        Carrier::Ndp => {
            let clock = Clock::real();
            let config = host_config(network, 1, polls)?;
            let mut host = network.host(1, config, &clock)?;
            host.listen(SERVICE);
            while !over.load(Ordering::Relaxed) {
                let stop = host.now().saturating_add(TimeDelta::from_ms(50));
                host.run_until(stop, |core| {
                    let mut any = false;
                    while core.accept().is_some() {}
                    while let Some(connection) = core.next_readable() {
                        if let Ok(Some(request)) = core.receive(connection) {
                            any |= core.send(connection, &request).is_ok();
                            core.close(connection);
                        }
                    }
                    any
                })?;
            }
            Ok(())
        }
        Carrier::FastOpen | Carrier::Tcp | Carrier::TcpKept => {
            network.hosts[1].namespace.enter()?;
            let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, SERVICE))?;
            sys::set_congestion(&listener, "cubic")?;
            sys::accept_fast_open(&listener)?;
            listener.set_nonblocking(true)?;
            let mut turns = 0;
            while !over.load(Ordering::Relaxed) {
                match listener.accept() {
                    Ok((mut stream, _)) => {
                        stream.set_nodelay(true)?;
                        stream.set_nonblocking(true)?;
                        let mut bytes = [0; REQUEST_BYTES];
                        while take(&mut stream, &mut bytes, polls, over)? {
                            give(&mut stream, &bytes, polls)?;
                            if carrier != Carrier::TcpKept {
                                break;
                            }
                        }
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        pause(polls, &mut turns, listener.as_raw_fd())?;
                    }
                    Err(error) => return Err(error),
                }
            }
            Ok(())
        }
    }
}

/// Reads a whole message. False: the stream ended, or the run did.
fn take(
    stream: &mut TcpStream,
    bytes: &mut [u8],
    polls: bool,
    over: &AtomicBool,
) -> io::Result<bool> {
    let (mut got, mut turns) = (0, 0);
    while got < bytes.len() {
        match stream.read(&mut bytes[got..]) {
            Ok(0) => return Ok(false),
            Ok(count) => got += count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if over.load(Ordering::Relaxed) {
                    return Ok(false);
                }
                pause(polls, &mut turns, stream.as_raw_fd())?;
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(false),
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// Writes a whole message, on a connection that may still be opening.
fn give(stream: &mut TcpStream, bytes: &[u8], polls: bool) -> io::Result<()> {
    let (mut given, mut turns) = (0, 0u32);
    while given < bytes.len() {
        match stream.write(&bytes[given..]) {
            Ok(count) => given += count,
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::NotConnected
                ) =>
            {
                // Rare: room comes back within microseconds.
                turns += 1;
                if polls && !turns.is_multiple_of(64) {
                    std::hint::spin_loop();
                } else {
                    thread::yield_now();
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn ask(
    network: &TestNetwork,
    carrier: Carrier,
    polls: bool,
    requests: u64,
    over: &AtomicBool,
) -> io::Result<Latencies> {
    // The server is to be there first.
    thread::sleep(std::time::Duration::from_millis(30));
    let mut taken = latencies();
    let mut record = |number: u64, start: Instant| {
        if number >= requests / 10 {
            taken.saturating_record(start.elapsed().as_nanos() as u64);
        }
    };
    let all = 0..requests + requests / 10;
    let request = [0x5a; REQUEST_BYTES];
    match carrier {
        Carrier::Raw => {
            let mut socket = network.socket(0)?;
            let frame = raw_frame(&request);
            let mut turns = 0;
            for number in all {
                let start = Instant::now();
                socket.tx_burst(&[&[&frame]])?;
                socket.flush()?;
                while socket.rx_burst(1, &mut |_| {})? == 0 {
                    if over.load(Ordering::Relaxed) {
                        return Err(io::Error::other("the server stopped"));
                    }
                    let fd = socket.poll_fd().map_or(-1, |fd| fd.as_raw_fd());
                    pause(polls, &mut turns, fd)?;
                }
                record(number, start);
            }
        }
        Carrier::Ndp => {
            let clock = Clock::real();
            let mut config = host_config(network, 0, polls)?;
            // The next request follows at once.
            config.sends_later = true;
            let mut host = network.host(0, config, &clock)?;
            for number in all {
                let start = Instant::now();
                let connection = host.connect(address(1, 0).into(), SERVICE, Options::default())?;
                host.core().send(connection, &request)?;
                host.core().close(connection);
                let answer = host.receive(connection, TimeDelta::from_ms(5000))?;
                if answer != request {
                    return Err(io::Error::other("another answer"));
                }
                record(number, start);
                // The end of the connection came with the answer.
                match host.core().receive(connection) {
                    Err(Failure::Closed) => {}
                    other => return Err(io::Error::other(format!("not the end: {other:?}"))),
                }
            }
        }
        Carrier::FastOpen | Carrier::Tcp | Carrier::TcpKept => {
            network.hosts[0].namespace.enter()?;
            let open = if carrier == Carrier::FastOpen { Open::Fast } else { Open::Plain };
            let connect = || sys::tcp_connect(address(1, 0), SERVICE, open, !polls, &request);
            let mut kept = None;
            for number in all {
                let start = Instant::now();
                let (mut stream, sent) = match kept.take() {
                    Some(stream) => (stream, 0),
                    None => connect()?,
                };
                give(&mut stream, &request[sent..], polls)?;
                let mut answer = [0; REQUEST_BYTES];
                if !take_answer(&mut stream, &mut answer, polls, over)? || answer != request {
                    return Err(io::Error::other("no answer, or another one"));
                }
                record(number, start);
                if carrier == Carrier::TcpKept {
                    kept = Some(stream);
                }
            }
        }
    }
    Ok(taken)
}

fn take_answer(
    stream: &mut TcpStream,
    answer: &mut [u8],
    polls: bool,
    over: &AtomicBool,
) -> io::Result<bool> {
    if polls {
        return take(stream, answer, polls, over);
    }
    // The socket blocks by itself.
    stream.read_exact(answer).map(|()| true)
}

/// A frame of NDP's port that no host of the protocol sees.
pub(super) fn raw_frame(payload: &[u8]) -> Vec<u8> {
    use trimline_packet::wire::{Datagram, Ethernet, Fields};
    use trimline_packet::{ConnectionId, Flags, Header, Kind, Service};
    let datagram = Datagram {
        source: address(0, 0).into(),
        destination: address(1, 0).into(),
        entropy: 50_000,
        service: Service::Trimmable.into(),
        marks: 0,
        fields: Fields {
            kind: Kind::Data,
            flags: Flags::default(),
            connection: ConnectionId::new(0),
            sequence: 0,
            extra: Header::data_extra(payload.len() as u16, 0),
        },
    };
    let ethernet =
        Ethernet { destination: super::network::ethernet(1), source: super::network::ethernet(0) };
    let mut frame = Vec::new();
    datagram
        .emit(ethernet, &Profile::PAPER, payload, &[], &mut frame)
        .expect("a whole packet of 1 KB");
    frame
}
