//! One flow between two hosts on a cable: its rate compared with bare frames and with the kernel's TCP, and the spacing
//! of the PULLs at its sender (NDP 6, Figures 11 and 12).

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use trimline_packet::{BitRate, TimeDelta};

use super::network::{Shape, TestNetwork, address};
use super::{sys, tcp};
use trimline_stack::clock::Clock;
use trimline_stack::host::{Config, Idle, Options};
use trimline_stack::io::{PacketIo, Pieces};

const SERVICE: u16 = 7;

/// The results of a flow.
#[derive(Clone, Debug, Default)]
pub struct Bulk {
    /// Payload bytes delivered in the measured time.
    pub bytes: u64,
    /// The measured time.
    pub time: Duration,
    /// Processor time of both ends, with the kernel, in the measured time; not for NDP.
    pub processor: Duration,
    /// Nanoseconds between PULLs at the sender, in the measured time.
    pub gaps_ns: Vec<u64>,
    /// Packets sent.
    pub packets: u64,
    /// Retransmissions.
    pub retransmissions: u64,
}

impl Bulk {
    /// Returns the goodput in Gb/s.
    pub fn gbps(&self) -> f64 {
        self.bytes as f64 * 8.0 / self.time.as_nanos().max(1) as f64
    }

    /// Returns the processor seconds per gigabyte of payload.
    pub fn seconds_per_gb(&self) -> f64 {
        self.processor.as_nanos() as f64 / self.bytes.max(1) as f64
    }
}

/// The parameters of a flow.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// Payload of a packet, in bytes.
    pub payload: u16,
    /// Initial window, in packets.
    pub initial_window: u32,
    /// The rate of the receiver's pulls and of the sender's packets.
    pub rate: BitRate,
    /// The measured time, after a warm-up of a fifth of it.
    pub time: Duration,
}

fn config(network: &TestNetwork, number: u32, flow: &Flow) -> io::Result<Config> {
    let mut config = network.config(number, flow.rate)?;
    config.ndp.payload_bytes = flow.payload.min(config.ndp.payload_bytes);
    config.ndp.initial_window = flow.initial_window;
    config.idle = Idle::Poll;
    config.record_pulls = true;
    Ok(config)
}

const STALL_TIMEOUT: Duration = Duration::from_secs(10);

/// Waits for the receiver, because earlier packets are lost.
fn wait_for(ready: &AtomicBool) -> io::Result<()> {
    let start = Instant::now();
    while !ready.load(Ordering::Acquire) {
        if start.elapsed() > STALL_TIMEOUT {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the receiver does not start"));
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// Runs one flow of the kernel's TCP (cubic) between the hosts of a cable, for `time` after a fifth of it.
///
/// # Errors
/// Fails if the flow breaks.
pub fn tcp_over(network: &TestNetwork, time: Duration) -> io::Result<Bulk> {
    let hosts = &network.hosts;
    tcp::beside_flows(&hosts[..1], &hosts[1], "cubic", Some([0, 1]), |received| {
        thread::sleep(time / 5);
        let (start, processor, bytes) = (Instant::now(), sys::processor_time(), received.sum());
        thread::sleep(time);
        let bytes = received.sum() - bytes;
        let processor = sys::processor_time() - processor;
        Ok(Bulk { bytes, time: start.elapsed(), processor, ..Bulk::default() })
    })
}

/// Runs one NDP flow.
///
/// # Errors
/// Fails if a privilege is missing or the flow breaks.
pub fn ndp(flow: Flow) -> io::Result<Bulk> {
    let network = TestNetwork::build(Shape::BackToBack, usize::from(flow.payload) + 100)?;
    let clock = Clock::real();
    let (over, ready) = (AtomicBool::new(false), AtomicBool::new(false));
    let delivered = AtomicU64::new(0);
    let warm = flow.time / 5;
    thread::scope(|scope| {
        let receiver = scope.spawn(|| -> io::Result<()> {
            sys::pin(1);
            let mut host = network.host(1, config(&network, 1, &flow)?, &clock)?;
            host.listen(SERVICE);
            ready.store(true, Ordering::Release);
            let mut bytes = vec![0; 1 << 18];
            let (mut connection, mut all) = (None, 0);
            while !over.load(Ordering::Relaxed) {
                let stop = host.now().saturating_add(TimeDelta::from_ms(20));
                host.run_until(stop, |core| {
                    connection = connection.or_else(|| core.accept());
                    if let Some(connection) = connection {
                        while let Ok(count) = core.read(connection, &mut bytes)
                            && count > 0
                        {
                            all += count as u64;
                        }
                        delivered.store(all, Ordering::Relaxed);
                    }
                    false
                })?;
            }
            Ok(())
        });
        let sender = scope.spawn(|| -> io::Result<Bulk> {
            sys::pin(0);
            let mut host = network.host(0, config(&network, 0, &flow)?, &clock)?;
            wait_for(&ready)?;
            let peer = address(1, 0).into();
            let connection = host.connect(peer, SERVICE, Options::default())?;
            let bytes = vec![0x5a; 1 << 20];
            let start = Instant::now();
            let mut from = None;
            let mut bulk = Bulk::default();
            while start.elapsed() < flow.time + warm {
                let stop = host.now().saturating_add(TimeDelta::from_ms(1));
                let mut failure = None;
                host.run_until(stop, |core| {
                    while failure.is_none() {
                        match core.write(connection, &bytes) {
                            Ok(0) => break,
                            Ok(_) => {}
                            Err(error) => failure = Some(error),
                        }
                    }
                    false
                })?;
                if let Some(failure) = failure {
                    return Err(failure.into());
                }
                if from.is_none() && start.elapsed() >= warm {
                    from = Some((Instant::now(), delivered.load(Ordering::Relaxed), host.now()));
                }
            }
            if let Some((at, before, virtual_start)) = from {
                bulk.time = at.elapsed();
                bulk.bytes = delivered.load(Ordering::Relaxed) - before;
                let received = host.pulls_received();
                let counted = received.partition_point(|&time| time < virtual_start);
                bulk.gaps_ns = received[counted..]
                    .windows(2)
                    .map(|pair| pair[1].saturating_since(pair[0]).as_ps() / 1000)
                    .collect();
            }
            if let Some(seen) = host.core().sender_statistics(connection) {
                bulk.packets = seen.packets_sent;
                bulk.retransmissions = seen.retransmissions_nack
                    + seen.retransmissions_return
                    + seen.retransmissions_timeout;
            }
            Ok(bulk)
        });
        let bulk = sender.join().map_err(|_| io::Error::other("the sender panicked"))?;
        over.store(true, Ordering::Relaxed);
        receiver.join().map_err(|_| io::Error::other("the receiver panicked"))??;
        bulk
    })
}

/// Sends bare frames of this payload, one way, as fast as possible. Returns the payload bytes that arrived.
///
/// # Errors
/// Fails if a privilege is missing.
pub fn raw(payload: u16, time: Duration) -> io::Result<Bulk> {
    let network = TestNetwork::build(Shape::BackToBack, usize::from(payload) + 100)?;
    let (over, ready) = (AtomicBool::new(false), AtomicBool::new(false));
    let delivered = AtomicU64::new(0);
    thread::scope(|scope| {
        let receiver = scope.spawn(|| -> io::Result<()> {
            sys::pin(1);
            let mut socket = network.socket(1)?;
            ready.store(true, Ordering::Release);
            let mut all = 0;
            while !over.load(Ordering::Relaxed) {
                let taken = socket.rx_burst(64, &mut |_| all += u64::from(payload))?;
                match taken {
                    0 => thread::yield_now(),
                    _ => delivered.store(all, Ordering::Relaxed),
                }
            }
            Ok(())
        });
        let sender = scope.spawn(|| -> io::Result<Bulk> {
            sys::pin(0);
            let mut socket = network.socket(0)?;
            wait_for(&ready)?;
            let frame = super::rpc::raw_frame(&vec![0x5a; payload.into()]);
            let whole = [frame.as_slice()];
            let pieces = [whole.as_slice() as Pieces<'_>; 32];
            let (start, mut from) = (Instant::now(), None);
            while start.elapsed() < time + time / 5 {
                socket.tx_burst(&pieces)?;
                socket.flush()?;
                if from.is_none() && start.elapsed() >= time / 5 {
                    from = Some((Instant::now(), delivered.load(Ordering::Relaxed)));
                }
            }
            let (at, before) = from.unwrap_or((start, 0));
            let bytes = delivered.load(Ordering::Relaxed) - before;
            Ok(Bulk { bytes, time: at.elapsed(), ..Bulk::default() })
        });
        let bulk = sender.join().map_err(|_| io::Error::other("the sender panicked"))?;
        over.store(true, Ordering::Relaxed);
        receiver.join().map_err(|_| io::Error::other("the receiver panicked"))??;
        bulk
    })
}
