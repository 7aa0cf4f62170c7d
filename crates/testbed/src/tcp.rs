//! Flows of the kernel's TCP from several hosts of a testbed to one, and the kernels' counters.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use super::incast::SERVICE;
use super::network::{TestHost, address};
use super::sys::{self, Open};

const CHUNK: usize = 1 << 16;

struct Flow {
    sender: TcpStream,
    receiver: TcpStream,
}

#[derive(Debug)]
pub(super) struct Received(Vec<AtomicU64>);

impl Received {
    /// Returns the bytes of each flow, in the order of the senders.
    pub(super) fn of_each(&self) -> Vec<u64> {
        self.0.iter().map(|bytes| bytes.load(Ordering::Relaxed)).collect()
    }

    pub(super) fn sum(&self) -> u64 {
        self.of_each().into_iter().sum()
    }
}

/// Returns the congestion controls of this kernel.
fn known() -> String {
    let path = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

/// Returns this kernel's name of DCTCP: its own, or the one from scripts/dctcp.sh.
pub(super) fn dctcp() -> Option<&'static str> {
    let known = known();
    ["dctcp", "bpf_dctcp"].into_iter().find(|name| known.split_whitespace().any(|has| has == *name))
}

fn set_congestion(socket: &impl AsRawFd, congestion: &str) -> io::Result<()> {
    sys::set_congestion(socket, congestion).map_err(|error| {
        let text = format!(
            "TCP's congestion control {congestion:?}: {error}; expected one of this kernel's: {}",
            known()
        );
        io::Error::new(error.kind(), text)
    })
}

fn open(senders: &[TestHost], receiver: &TestHost, congestion: &str) -> io::Result<Vec<Flow>> {
    let bind = || TcpListener::bind((Ipv4Addr::UNSPECIFIED, SERVICE));
    let listener = receiver.namespace.inside(bind)?;
    // RFC 8257: a receiver of DCTCP reports for each segment whether it was marked. Accepted sockets inherit the
    // listener's congestion control.
    set_congestion(&listener, congestion)?;
    let flow = |host: &TestHost| {
        let connect = || {
            let to = address(receiver.number, 0);
            let (stream, _) = sys::tcp_connect(to, SERVICE, Open::Plain, true, &[])?;
            set_congestion(&stream, congestion)?;
            Ok(stream)
        };
        let sender = host.namespace.inside(connect)?;
        let (receiver, _) = listener.accept()?;
        Ok(Flow { sender, receiver })
    };
    senders.iter().map(flow).collect()
}

fn send(mut stream: &TcpStream, over: &AtomicBool) -> io::Result<()> {
    let bytes = vec![0x5a; CHUNK];
    loop {
        match stream.write_all(&bytes) {
            _ if over.load(Ordering::Acquire) => return Ok(()),
            outcome => outcome.map_err(|error| named("sender", &error))?,
        }
    }
}

fn receive(mut stream: &TcpStream, received: &AtomicU64, over: &AtomicBool) -> io::Result<()> {
    let mut bytes = vec![0; CHUNK];
    loop {
        let outcome = stream.read(&mut bytes);
        if over.load(Ordering::Acquire) {
            return Ok(());
        }
        match outcome.map_err(|error| named("receiver", &error))? {
            0 => return Err(io::Error::other("a flow of TCP ended by itself")),
            count => received.fetch_add(count as u64, Ordering::Relaxed),
        };
    }
}

fn named(end: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("TCP's {end}: {error}"))
}

/// Keeps a flow from each sender to the receiver busy during `act`, which gets the bytes that the receiver's
/// application has read. The threads of senders and of receivers are pinned to `processors`, if given. Fails if a flow
/// or `act` does.
pub(super) fn beside_flows<T>(
    senders: &[TestHost],
    receiver: &TestHost,
    congestion: &str,
    processors: Option<[usize; 2]>,
    act: impl FnOnce(&Received) -> io::Result<T>,
) -> io::Result<T> {
    let flows = open(senders, receiver, congestion)?;
    let received = Received(flows.iter().map(|_| AtomicU64::new(0)).collect());
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let (received, over) = (&received, &over);
        let place = move |end: usize| processors.into_iter().for_each(|both| sys::pin(both[end]));
        let sending = flows.iter().map(|flow| {
            scope.spawn(move || {
                place(0);
                send(&flow.sender, over)
            })
        });
        let mut threads: Vec<_> = sending.collect();
        let receiving = flows.iter().zip(&received.0);
        threads.extend(receiving.map(|(flow, received)| {
            scope.spawn(move || {
                place(1);
                receive(&flow.receiver, received, over)
            })
        }));
        let outcome = act(received);
        over.store(true, Ordering::Release);
        for end in flows.iter().flat_map(|flow| [&flow.sender, &flow.receiver]) {
            // A broken flow is shut down already; its thread reports it.
            let _ = end.shutdown(Shutdown::Both);
        }
        let ends = threads.into_iter().map(|thread| thread.join());
        let ends: Vec<io::Result<()>> = ends
            .map(|end| end.unwrap_or_else(|_| Err(io::Error::other("a flow of TCP panicked"))))
            .collect();
        let done = outcome?;
        ends.into_iter().collect::<io::Result<()>>().map(|()| done)
    })
}

fn byte(place: u64) -> u8 {
    (place % 251) as u8
}

/// The results of flows of one size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transferred {
    /// Flows of which the receiver's application has read every byte as sent.
    pub complete: u32,
    /// The faults of the other flows.
    pub faults: Vec<String>,
}

/// Sends `flows` flows of `bytes` bytes from each sender at once, and waits until the receiver's application has read
/// them all, or a flow broke. Fails if one cannot be opened.
pub(super) fn transfer(
    senders: &[TestHost],
    receiver: &TestHost,
    congestion: &str,
    flows: u32,
    bytes: u64,
) -> io::Result<Transferred> {
    let mut opened = Vec::new();
    for _ in 0..flows {
        opened.extend(open(senders, receiver, congestion)?);
    }
    thread::scope(|scope| {
        let ends = opened.iter().map(|Flow { sender, receiver }| {
            let sending = scope.spawn(move || {
                let (mut stream, mut place) = (sender, 0);
                while place < bytes {
                    let end = bytes.min(place + CHUNK as u64);
                    let chunk: Vec<u8> = (place..end).map(byte).collect();
                    stream.write_all(&chunk).map_err(|error| named("sender", &error))?;
                    place = end;
                }
                sender.shutdown(Shutdown::Write)
            });
            let receiving = scope.spawn(move || {
                let (mut stream, mut place, mut chunk) = (receiver, 0, vec![0; CHUNK]);
                loop {
                    let count =
                        stream.read(&mut chunk).map_err(|error| named("receiver", &error))?;
                    if count == 0 {
                        break;
                    }
                    let is_it = (place..).zip(&chunk[..count]).all(|(at, &got)| got == byte(at));
                    if !is_it {
                        return Err(io::Error::other("TCP's receiver read what was not sent"));
                    }
                    place += count as u64;
                }
                match place == bytes {
                    true => Ok(()),
                    false => Err(io::Error::other(format!("{place} of {bytes} B of TCP arrived"))),
                }
            });
            [sending, receiving]
        });
        // All threads run before the first is waited for.
        let ends: Vec<_> = ends.collect();
        let mut transferred = Transferred::default();
        for ends in ends {
            let panicked = |_| Err(io::Error::other("a flow of TCP panicked"));
            let ends = ends.map(|end| end.join().unwrap_or_else(panicked));
            let faults = ends.into_iter().filter_map(|end| Some(end.err()?.to_string()));
            let before = transferred.faults.len();
            transferred.faults.extend(faults);
            transferred.complete += u32::from(transferred.faults.len() == before);
        }
        Ok(transferred)
    })
}

/// Returns the packets that a host's kernel dropped as shorter than their IP length: IpExtInTruncatedPkts of nstat.
pub(super) fn truncated(host: &TestHost) -> io::Result<u64> {
    host.namespace.inside(|| counter("netstat", "IpExt:", "InTruncatedPkts"))
}

/// The kernels' counters of TCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpCounters {
    /// Segments that were sent again.
    pub retransmissions: u64,
    /// Retransmission timers that expired.
    pub timeouts: u64,
}

impl TcpCounters {
    pub(super) fn of(hosts: &[TestHost]) -> io::Result<TcpCounters> {
        let mut sum = TcpCounters::default();
        for host in hosts {
            let read = || {
                let again = counter("snmp", "Tcp:", "RetransSegs")?;
                Ok((again, counter("netstat", "TcpExt:", "TCPTimeouts")?))
            };
            let (retransmissions, timeouts) = host.namespace.inside(read)?;
            sum.retransmissions += retransmissions;
            sum.timeouts += timeouts;
        }
        Ok(sum)
    }

    pub(super) fn since(self, before: TcpCounters) -> TcpCounters {
        TcpCounters {
            retransmissions: self.retransmissions - before.retransmissions,
            timeouts: self.timeouts - before.timeouts,
        }
    }
}

/// Returns a counter of this thread's network namespace, from a file of /proc/net with a line of names and a line of
/// values that begin with `table`.
fn counter(file: &str, table: &str, name: &str) -> io::Result<u64> {
    let path = format!("/proc/thread-self/net/{file}");
    let text = fs::read_to_string(&path)?;
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(table));
    let names = lines.next().unwrap_or_default().split_whitespace();
    let mut values = names.zip(lines.next().unwrap_or_default().split_whitespace());
    let value = values.find(|&(known, _)| known == name).and_then(|(_, value)| value.parse().ok());
    value.ok_or_else(|| io::Error::other(format!("{path}: no {name}")))
}
