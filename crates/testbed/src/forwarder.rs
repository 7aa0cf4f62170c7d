//! The forwarding rate of a switch of sixteen ports, compared with a loop that only receives and sends.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use trimline_packet::wire::{Datagram, Ethernet, Fields, Profile};
use trimline_packet::{ConnectionId, Flags, Header, Kind, Service};

use super::network::{Shape, TestNetwork, address, ethernet};
use super::sys;
use trimline_stack::clock::Clock;
use trimline_stack::host::Idle;
use trimline_stack::io::PacketIo;
use trimline_stack::io::afpacket::AfPacket;
use trimline_stack::switch::{Config, Fabric, Runner};

const PORTS: u32 = 16;
/// Frames that one host sends before it receives.
const BATCH: usize = 16;

/// Returns a frame of 64 bytes, FCS included, to the opposite host.
fn frame(from: u32, to: u32) -> Vec<u8> {
    let datagram = Datagram {
        source: address(from, 0).into(),
        destination: address(to, 0).into(),
        entropy: 50_000,
        service: Service::Trimmable.into(),
        marks: 0,
        fields: Fields {
            kind: Kind::Data,
            flags: Flags::default(),
            connection: ConnectionId::new(from),
            sequence: 0,
            extra: Header::data_extra(2, 0),
        },
    };
    let ethernet = Ethernet { destination: ethernet(to), source: ethernet(from) };
    let mut bytes = Vec::new();
    datagram.emit(ethernet, &Profile::PAPER, &[7; 2], &[], &mut bytes).expect("a small packet");
    bytes
}

/// Sends from all hosts as fast as one thread can. Returns the packets that `forward` passed on in a second.
fn load<F>(network: &TestNetwork, time: Duration, forward: F) -> io::Result<f64>
where
    F: FnOnce(&AtomicBool) -> io::Result<u64> + Send,
{
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let forwarder = scope.spawn(|| {
            sys::pin(1);
            let start = Instant::now();
            forward(&over).map(|packets| packets as f64 / start.elapsed().as_secs_f64())
        });
        let sender = scope.spawn(|| -> io::Result<()> {
            sys::pin(0);
            let mut sockets =
                (0..PORTS).map(|host| network.socket(host)).collect::<io::Result<Vec<_>>>()?;
            let frames: Vec<Vec<u8>> =
                (0..PORTS).map(|host| frame(host, (host + PORTS / 2) % PORTS)).collect();
            let start = Instant::now();
            while start.elapsed() < time {
                for (socket, frame) in sockets.iter_mut().zip(&frames) {
                    let whole = [frame.as_slice()];
                    socket.tx_burst(&[&whole[..]; BATCH])?;
                    socket.flush()?;
                    socket.rx_burst(usize::MAX, &mut |_| {})?;
                }
            }
            Ok(())
        });
        let sent = sender.join().map_err(|_| io::Error::other("the hosts panicked"))?;
        over.store(true, Ordering::Relaxed);
        let rate = forwarder.join().map_err(|_| io::Error::other("the forwarder panicked"))??;
        sent.map(|()| rate)
    })
}

/// Measures a loop that sends each frame from the opposite port, and does nothing else.
///
/// # Errors
/// Fails if a privilege is missing.
pub fn bare(time: Duration) -> io::Result<f64> {
    let network = TestNetwork::build(Shape::Star(PORTS), 1500)?;
    let mut ports = network.ports()?;
    load(&network, time, move |over| {
        let mut count = 0;
        let mut frames: Vec<Vec<u8>> = Vec::new();
        while !over.load(Ordering::Relaxed) {
            for port in 0..ports.len() {
                let mut taken = 0;
                ports[port].rx_burst(64, &mut |frame| {
                    if frames.len() <= taken {
                        frames.push(Vec::new());
                    }
                    frames[taken].clear();
                    frames[taken].extend_from_slice(frame);
                    taken += 1;
                })?;
                let opposite = (port + ports.len() / 2) % ports.len();
                count += send(&mut ports[opposite], &frames[..taken])?;
            }
        }
        Ok(count)
    })
}

fn send(port: &mut AfPacket, frames: &[Vec<u8>]) -> io::Result<u64> {
    let mut count = 0;
    for frame in frames {
        count += port.tx_burst(&[&[frame]])? as u64;
    }
    port.flush()?;
    Ok(count)
}

/// Measures the software switch with sixteen ports and NDP's queues, at a rate that limits nothing.
///
/// # Errors
/// Fails if a privilege is missing.
pub fn switched(time: Duration) -> io::Result<f64> {
    let network = TestNetwork::build(Shape::Star(PORTS), 1500)?;
    let text = network.shape().switches("rate = \"400Gbps\"\npayload = 1400\npackets = 512");
    let config = Config::parse(&text).map_err(io::Error::other)?;
    let fabric = Fabric::new(&config).map_err(io::Error::other)?;
    let mut runner = Runner::new(fabric, network.ports()?, Clock::real(), Idle::Poll)
        .map_err(io::Error::other)?;
    load(&network, time, move |over| {
        runner.run(|_, _| over.load(Ordering::Relaxed))?;
        let sent: u64 = runner.fabric().counters().map(|(_, _, port)| port.packets).sum();
        Ok(sent - runner.refused())
    })
}
