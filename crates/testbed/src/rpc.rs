//! The time of a request and its answer (NDP 5.1, Figure 8) over each carrier of this machine: the bare packet
//! interface, UDP, NDP, TCP with data in its SYN, TCP, and TCP on a persistent connection.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use trimline_packet::wire::Profile;
use trimline_packet::{BitRate, TimeDelta};

use super::network::{Shape, TestNetwork, address};
use super::sys::{self, Open};
use std::os::fd::{AsRawFd, RawFd};
use trimline_stack::clock::Clock;
use trimline_stack::host::{Config, Failure, Host, Idle, Options};
use trimline_stack::io::afpacket::AfPacket;
use trimline_stack::io::{PacketIo, wait_readable};

/// Bytes of a request, and of its answer.
pub const REQUEST_BYTES: usize = 1024;

const REQUEST: [u8; REQUEST_BYTES] = [0x5a; REQUEST_BYTES];

const SERVICE: u16 = 7;

/// Maximum wait of a blocking server before it checks for the end of the run.
const GLANCE: Duration = Duration::from_millis(50);

/// A carrier of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// A bare frame to the other host and back, without a protocol.
    Raw,
    /// A datagram of the kernel's UDP each way.
    Udp,
    /// A new NDP connection for each request.
    Ndp,
    /// A new NDP connection for each request, with a token that the client has from its first request.
    NdpValidated,
    /// A new TCP connection for each request, which is in its SYN (RFC 7413).
    FastOpen,
    /// A new TCP connection for each request.
    Tcp,
    /// One TCP connection for all requests.
    TcpKept,
}

impl Carrier {
    /// All carriers.
    pub const ALL: [Carrier; 7] = [
        Carrier::Raw,
        Carrier::Udp,
        Carrier::Ndp,
        Carrier::NdpValidated,
        Carrier::FastOpen,
        Carrier::Tcp,
        Carrier::TcpKept,
    ];

    /// Returns its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Carrier::Raw => "raw echo",
            Carrier::Udp => "UDP echo",
            Carrier::Ndp => "NDP",
            Carrier::NdpValidated => "NDP with tokens",
            Carrier::FastOpen => "TFO",
            Carrier::Tcp => "TCP",
            Carrier::TcpKept => "TCP, one connection",
        }
    }
}

/// Latencies in nanoseconds.
pub type Latencies = Histogram<u64>;

pub(super) fn latencies() -> Latencies {
    Histogram::new_with_bounds(1, 60_000_000_000, 3).expect("sound bounds")
}

fn elapsed_ns(start: Instant) -> u64 {
    start.elapsed().as_nanos() as u64
}

pub(super) struct Run<'a> {
    network: &'a TestNetwork,
    carrier: Carrier,
    polls: bool,
    requests: u64,
    /// Maximum wait for the other end.
    stall_timeout: Duration,
    /// The server is ready.
    ready: AtomicBool,
    /// One end has finished.
    over: AtomicBool,
}

/// Measures `requests` requests between two hosts on a cable, after a tenth as many to warm up. Both ends poll or
/// block.
///
/// # Errors
/// Fails if a privilege is missing, a carrier fails, or the other end is silent for five seconds.
pub fn measure(carrier: Carrier, polls: bool, requests: u64) -> io::Result<Latencies> {
    let network = TestNetwork::build(Shape::BackToBack, 1500)?;
    measure_over(&network, carrier, polls, requests)
}

/// Measures as [`measure`] does, between the hosts of this cable.
///
/// # Errors
/// Fails as [`measure`] does.
pub fn measure_over(
    network: &TestNetwork,
    carrier: Carrier,
    polls: bool,
    requests: u64,
) -> io::Result<Latencies> {
    let run = Run::new(network, carrier, polls, requests);
    run.beside_server(|| run.ask())
}

/// Returns a host's parameters with the paper's timers, for hosts with their own core.
fn host_config(network: &TestNetwork, number: u32, polls: bool) -> io::Result<Config> {
    let mut config = network.config(number, BitRate::from_gbps(100))?;
    config.ndp.rto = TimeDelta::from_ms(1);
    config.ndp.pull_repeat = TimeDelta::from_ms(1);
    config.ndp.time_wait = TimeDelta::from_ms(10);
    config.joins_acks = true;
    config.idle = if polls { Idle::Poll } else { Idle::Sleep };
    Ok(config)
}

struct Wait<'a> {
    run: &'a Run<'a>,
    since: Instant,
    turns: u32,
    /// Whether it ends with the run.
    until_over: bool,
}

impl Wait<'_> {
    /// Polls or blocks until the descriptor may be readable. Returns false if the run is over, and fails after the
    /// stall timeout.
    fn pause(&mut self, what: &str, fd: RawFd) -> io::Result<bool> {
        self.turns += 1;
        if self.until_over && self.run.over.load(Ordering::Relaxed) {
            return Ok(false);
        }
        if !self.run.polls {
            // A short wait, so that the end of a run is seen.
            wait_readable([fd].into_iter(), 50_000_000)?;
        } else if self.turns.is_multiple_of(64) {
            thread::yield_now();
        } else {
            std::hint::spin_loop();
        }
        let is_looked_at = !self.run.polls || self.turns.is_multiple_of(1024);
        match is_looked_at && !self.until_over && self.since.elapsed() > self.run.stall_timeout {
            true => Err(io::Error::new(io::ErrorKind::TimedOut, self.run.unanswered(what))),
            false => Ok(true),
        }
    }
}

impl<'a> Run<'a> {
    pub(super) fn new(
        network: &'a TestNetwork,
        carrier: Carrier,
        polls: bool,
        requests: u64,
    ) -> Run<'a> {
        let (ready, over) = (AtomicBool::new(false), AtomicBool::new(false));
        let stall_timeout = Duration::from_secs(5);
        Run { network, carrier, polls, requests, stall_timeout, ready, over }
    }

    pub(super) fn beside_server<T: Send>(
        &self,
        ask: impl FnOnce() -> io::Result<T> + Send,
    ) -> io::Result<T> {
        thread::scope(|scope| {
            let server = scope.spawn(|| {
                sys::pin(1);
                let outcome = self.serve();
                self.over.store(true, Ordering::Relaxed);
                outcome
            });
            let client = scope.spawn(|| {
                sys::pin(0);
                let outcome = self.wait_for_server().and_then(|()| ask());
                self.over.store(true, Ordering::Relaxed);
                outcome
            });
            let asked = client.join().map_err(|_| io::Error::other("the client panicked"))?;
            server.join().map_err(|_| io::Error::other("the server panicked"))??;
            asked
        })
    }

    fn unanswered(&self, what: &str) -> String {
        let (carrier, seconds) = (self.carrier.name(), self.stall_timeout.as_secs_f32());
        format!("{carrier}: no {what} in {seconds} s")
    }

    fn wait(&self) -> Wait<'_> {
        Wait { run: self, since: Instant::now(), turns: 0, until_over: false }
    }

    fn wait_for_request(&self) -> Wait<'_> {
        Wait { until_over: true, ..self.wait() }
    }

    fn serve(&self) -> io::Result<()> {
        match self.carrier {
            Carrier::Raw => self.serve_raw(),
            Carrier::Udp => self.serve_udp(),
            Carrier::Ndp | Carrier::NdpValidated => self.serve_ndp(),
            Carrier::FastOpen | Carrier::Tcp | Carrier::TcpKept => self.serve_tcp(),
        }
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    fn serve_raw(&self) -> io::Result<()> {
        let mut socket = self.network.socket(1)?;
        self.ready.store(true, Ordering::Release);
        let (mut frame, mut wait) = (Vec::new(), self.wait_for_request());
        while !self.is_over() {
            let taken = socket.rx_burst(1, &mut |bytes| {
                frame.clear();
                frame.extend_from_slice(bytes);
            })?;
            if taken == 0 {
                let fd = socket.poll_fd().map_or(-1, |fd| fd.as_raw_fd());
                wait.pause("request", fd)?;
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

    /// Returns a UDP socket, which waits in the kernel only if this run blocks.
    fn datagrams(&self, host: usize, port: u16) -> io::Result<UdpSocket> {
        self.network.hosts[host].namespace.enter()?;
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port))?;
        socket.set_nonblocking(self.polls)?;
        // A server must see the end of a run; a client has a stall timeout.
        socket.set_read_timeout(Some(if port == 0 { self.stall_timeout } else { GLANCE }))?;
        Ok(socket)
    }

    fn read_datagram(
        &self,
        socket: &UdpSocket,
        bytes: &mut [u8],
        mut wait: Wait<'_>,
    ) -> io::Result<Option<(usize, SocketAddr)>> {
        loop {
            match socket.recv_from(bytes) {
                Ok(got) => return Ok(Some(got)),
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                Err(_) if !wait.pause("answer", socket.as_raw_fd())? => return Ok(None),
                Err(_) => {}
            }
        }
    }

    fn serve_udp(&self) -> io::Result<()> {
        let socket = self.datagrams(1, SERVICE)?;
        self.ready.store(true, Ordering::Release);
        let mut bytes = [0; 2 * REQUEST_BYTES];
        while let Some((count, from)) =
            self.read_datagram(&socket, &mut bytes, self.wait_for_request())?
        {
            socket.send_to(&bytes[..count], from)?;
        }
        Ok(())
    }

    fn ask_udp(&self, record: &mut dyn FnMut(u64, u64)) -> io::Result<()> {
        let (socket, server) = (self.datagrams(0, 0)?, (address(1, 0), SERVICE));
        let mut bytes = [0; 2 * REQUEST_BYTES];
        for number in self.numbers() {
            let start = Instant::now();
            socket.send_to(&REQUEST, server)?;
            match self.read_datagram(&socket, &mut bytes, self.wait())? {
                Some((count, _)) if bytes[..count] == REQUEST => {}
                _ => return Err(io::Error::other("no answer, or a wrong answer")),
            }
            record(number, elapsed_ns(start));
        }
        Ok(())
    }

    fn serve_ndp(&self) -> io::Result<()> {
        let clock = Clock::real();
        let mut config = host_config(self.network, 1, self.polls)?;
        config.validates_addresses = self.carrier == Carrier::NdpValidated;
        let mut host = self.network.host(1, config, &clock)?;
        host.listen(SERVICE);
        self.ready.store(true, Ordering::Release);
        while !self.is_over() {
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

    fn serve_tcp(&self) -> io::Result<()> {
        self.network.hosts[1].namespace.enter()?;
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, SERVICE))?;
        sys::set_congestion(&listener, "cubic")?;
        sys::accept_fast_open(&listener)?;
        listener.set_nonblocking(true)?;
        self.ready.store(true, Ordering::Release);
        let mut wait = self.wait_for_request();
        while !self.is_over() {
            match listener.accept() {
                Ok((mut stream, _)) => {
                    stream.set_nodelay(true)?;
                    stream.set_nonblocking(true)?;
                    let mut bytes = [0; REQUEST_BYTES];
                    while self.read_message(&mut stream, &mut bytes, self.wait_for_request())? {
                        self.write_message(&mut stream, &bytes)?;
                        if self.carrier != Carrier::TcpKept {
                            break;
                        }
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    wait.pause("request", listener.as_raw_fd())?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads a whole message. Returns false if the stream or run has ended.
    fn read_message(
        &self,
        stream: &mut TcpStream,
        bytes: &mut [u8],
        wait: Wait<'_>,
    ) -> io::Result<bool> {
        let (mut got, mut wait) = (0, wait);
        while got < bytes.len() {
            match stream.read(&mut bytes[got..]) {
                Ok(0) => return Ok(false),
                Ok(count) => got += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if !wait.pause("answer", stream.as_raw_fd())? {
                        return Ok(false);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Writes a whole message on a connection that may still be opening.
    fn write_message(&self, stream: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
        let (mut given, mut turns, start) = (0, 0u32, Instant::now());
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
                    if self.polls && !turns.is_multiple_of(64) {
                        std::hint::spin_loop();
                        continue;
                    }
                    thread::yield_now();
                    if start.elapsed() > self.stall_timeout {
                        let text = self.unanswered("room for a message");
                        return Err(io::Error::new(io::ErrorKind::TimedOut, text));
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Waits for the server, because frames to an absent server are lost.
    fn wait_for_server(&self) -> io::Result<()> {
        let start = Instant::now();
        while !self.ready.load(Ordering::Acquire) {
            if self.is_over() || start.elapsed() > self.stall_timeout {
                return Err(io::Error::new(io::ErrorKind::TimedOut, self.unanswered("server")));
            }
            thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    fn ask(&self) -> io::Result<Latencies> {
        let mut taken = latencies();
        let mut record = |number: u64, ns: u64| {
            if number >= self.requests / 10 {
                taken.saturating_record(ns);
            }
        };
        match self.carrier {
            Carrier::Raw => self.ask_raw(&mut record),
            Carrier::Udp => self.ask_udp(&mut record),
            Carrier::Ndp | Carrier::NdpValidated => self.ask_ndp(&mut record),
            Carrier::FastOpen | Carrier::Tcp | Carrier::TcpKept => self.ask_tcp(&mut record),
        }?;
        Ok(taken)
    }

    /// Returns the numbers of all requests, warm-up first.
    fn numbers(&self) -> std::ops::Range<u64> {
        0..self.requests + self.requests / 10
    }

    fn ask_raw(&self, record: &mut dyn FnMut(u64, u64)) -> io::Result<()> {
        let mut socket = self.network.socket(0)?;
        let frame = raw_frame(&REQUEST);
        for number in self.numbers() {
            let start = Instant::now();
            socket.tx_burst(&[&[&frame]])?;
            socket.flush()?;
            let mut wait = self.wait();
            while socket.rx_burst(1, &mut |_| {})? == 0 {
                if self.is_over() {
                    return Err(io::Error::other("the server stopped"));
                }
                let fd = socket.poll_fd().map_or(-1, |fd| fd.as_raw_fd());
                wait.pause("echo", fd)?;
            }
            record(number, elapsed_ns(start));
        }
        Ok(())
    }

    pub(super) fn client(&self, clock: &Clock) -> io::Result<Host<AfPacket>> {
        let mut config = host_config(self.network, 0, self.polls)?;
        // The next request follows at once.
        config.sends_later = true;
        self.network.host(0, config, clock)
    }

    pub(super) fn request(&self, host: &mut Host<AfPacket>) -> io::Result<u64> {
        let stall_timeout = TimeDelta::from_ns(self.stall_timeout.as_nanos() as u64);
        let start = Instant::now();
        let connection = host.connect(address(1, 0).into(), SERVICE, Options::default())?;
        host.core().send(connection, &REQUEST)?;
        host.core().close(connection);
        let answer = host.receive(connection, stall_timeout)?;
        if answer != REQUEST {
            return Err(io::Error::other("a wrong answer"));
        }
        let ns = elapsed_ns(start);
        // The end of the connection came with the answer.
        match host.core().receive(connection) {
            Err(Failure::Closed) => Ok(ns),
            other => Err(io::Error::other(format!("not the end: {other:?}"))),
        }
    }

    fn ask_ndp(&self, record: &mut dyn FnMut(u64, u64)) -> io::Result<()> {
        let clock = Clock::real();
        let mut host = self.client(&clock)?;
        for number in self.numbers() {
            record(number, self.request(&mut host)?);
        }
        Ok(())
    }

    fn ask_tcp(&self, record: &mut dyn FnMut(u64, u64)) -> io::Result<()> {
        self.network.hosts[0].namespace.enter()?;
        let open = if self.carrier == Carrier::FastOpen { Open::Fast } else { Open::Plain };
        let connect = || {
            let opened = sys::tcp_connect(address(1, 0), SERVICE, open, !self.polls, &REQUEST)?;
            // A blocking socket waits up to the stall timeout.
            opened.0.set_read_timeout(Some(self.stall_timeout))?;
            Ok::<_, io::Error>(opened)
        };
        let mut kept = None;
        for number in self.numbers() {
            let start = Instant::now();
            let (mut stream, sent) = match kept.take() {
                Some(stream) => (stream, 0),
                None => connect()?,
            };
            self.write_message(&mut stream, &REQUEST[sent..])?;
            let mut answer = [0; REQUEST_BYTES];
            if !self.read_answer(&mut stream, &mut answer)? || answer != REQUEST {
                return Err(io::Error::other("no answer, or a wrong answer"));
            }
            record(number, elapsed_ns(start));
            if self.carrier == Carrier::TcpKept {
                kept = Some(stream);
            }
        }
        Ok(())
    }

    fn read_answer(&self, stream: &mut TcpStream, answer: &mut [u8]) -> io::Result<bool> {
        if self.polls {
            return self.read_message(stream, answer, self.wait());
        }
        match stream.read_exact(answer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                Err(io::Error::new(io::ErrorKind::TimedOut, self.unanswered("answer")))
            }
            done => done.map(|()| true),
        }
    }
}

/// Returns a frame with NDP's port that no NDP host receives.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::namespace::allowed;

    /// A lost frame or an absent server ends the wait.
    #[test]
    fn a_silent_server_is_given_up() {
        let Some(network) = allowed(TestNetwork::build(Shape::BackToBack, 1500)) else { return };
        for polls in [true, false] {
            for is_ready in [false, true] {
                let mut run = Run::new(&network, Carrier::Raw, polls, 3);
                run.stall_timeout = Duration::from_millis(100);
                run.ready = AtomicBool::new(is_ready);
                let error =
                    run.wait_for_server().and_then(|()| run.ask()).expect_err("nobody is there");
                assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{error}");
                let what = if is_ready { "no echo" } else { "no server" };
                assert!(error.to_string().contains(what), "{error}");
            }
        }
        // A listener that accepts and answers nothing.
        let listen = || TcpListener::bind((Ipv4Addr::UNSPECIFIED, SERVICE));
        let _listener = network.hosts[1].namespace.inside(listen).unwrap();
        for carrier in [Carrier::Ndp, Carrier::Tcp, Carrier::FastOpen] {
            for polls in [true, false] {
                let mut run = Run::new(&network, carrier, polls, 3);
                run.stall_timeout = Duration::from_millis(100);
                run.ready = AtomicBool::new(true);
                let outcome = thread::scope(|scope| scope.spawn(|| run.ask()).join().unwrap());
                let error = outcome.expect_err("nobody answers");
                assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{}: {error}", carrier.name());
            }
        }
    }
}
