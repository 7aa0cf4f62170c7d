//! Next-hop queries: for which peers the kernel is asked, and when, on a virtual clock with a fake kernel.

use super::*;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex};

use trimline_stack::clock::Clock;
use trimline_stack::host::Host;
use trimline_stack::io::mem::{self, Mem};
use trimline_stack::io::{Caps, LinkState, NextHop, PacketIo, Pieces};

/// An interface whose kernel finds a next hop after `finds_at` queries.
struct Kernel {
    io: Mem,
    finds_at: usize,
    asked: Arc<Mutex<Vec<IpAddr>>>,
    mtu: Arc<Mutex<usize>>,
}

impl PacketIo for Kernel {
    fn rx_burst(&mut self, max: usize, take: &mut dyn FnMut(&[u8])) -> io::Result<usize> {
        self.io.rx_burst(max, take)
    }
    fn tx_burst(&mut self, frames: &[Pieces<'_>]) -> io::Result<usize> {
        self.io.tx_burst(frames)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.io.flush()
    }
    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        self.io.poll_fd()
    }
    fn caps(&self) -> Caps {
        Caps { finds_next_hops: true, ..self.io.caps() }
    }
    fn link(&mut self) -> io::Result<LinkState> {
        Ok(LinkState { running: true, mtu: *self.mtu.lock().unwrap() })
    }
    fn next_hop(&mut self, peer: IpAddr) -> NextHop {
        let mut asked = self.asked.lock().unwrap();
        asked.push(peer);
        match asked.iter().filter(|&&one| one == peer).count() >= self.finds_at {
            true => NextHop::Known([2; 6]),
            false => NextHop::Unknown,
        }
    }
}

/// A server, the other end of its cable, and its surroundings.
struct World {
    host: Host<Kernel>,
    cable: Mem,
    clock: Clock,
    asked: Arc<Mutex<Vec<IpAddr>>>,
    mtu: Arc<Mutex<usize>>,
}

impl World {
    fn new(finds_at: usize, change: impl FnOnce(&mut Config)) -> World {
        let (io, cable) = mem::pair(1500).unwrap();
        let clock = Clock::new_virtual();
        let (asked, mtu) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(1500)));
        let kernel = Kernel { io, finds_at, asked: Arc::clone(&asked), mtu: Arc::clone(&mtu) };
        let mut config = config(1);
        change(&mut config);
        let mut host = Host::new(kernel, config, clock.clone());
        host.listen(SERVICE);
        World { host, cable, clock, asked, mtu }
    }

    /// Runs a turn of the host every millisecond. Returns the number of frames it sent.
    fn run_to(&mut self, until_ms: u64) -> usize {
        let (from, mut sent) = (self.clock.now().as_ps() / 1_000_000_000, 0);
        for now in from..=until_ms {
            self.clock.advance_to(ms(now));
            self.host.turn().unwrap();
            sent += self.cable.rx_burst(64, &mut |_| {}).unwrap();
        }
        sent
    }

    fn asked_for(&self, peer: IpAddr) -> usize {
        self.asked.lock().unwrap().iter().filter(|&&one| one == peer).count()
    }
}

/// The kernel takes a moment to find a neighbour.
#[test]
fn an_unresolved_neighbour_is_queried_again_soon() {
    let mut world = World::new(3, |_| {});
    world.cable.tx_burst(&[&[&request(address(9), 1, b"x")]]).unwrap();
    assert_eq!(world.run_to(50), 0, "there is no way");
    let seen = *world.host.statistics();
    assert_eq!((seen.frames_out, seen.bytes_out), (0, 0), "what has no way is not sent");
    assert!(seen.without_way > 0);
    assert_eq!(world.asked_for(address(9)), 1);
    world.run_to(450);
    assert_eq!(world.asked_for(address(9)), 3, "it is found by the third question");
    world.cable.tx_burst(&[&[&request(address(9), 1, b"x")]]).unwrap();
    assert_eq!(world.run_to(460), 1, "its request came again, and is ACKed");
}

/// Strangers and peers whose connections have ended cause no repeated queries.
#[test]
fn only_peers_with_connections_are_queried_again() {
    // A connection is remembered for a second.
    let mut world = World::new(1, |config| config.ndp.follows_path = None);
    world.cable.tx_burst(&[&[&request(address(9), 1, b"x")]]).unwrap();
    world.run_to(1);
    assert!(world.host.core().accept().is_some());
    for number in 10..100 {
        // To an unused service: nothing is kept of it.
        let stranger = Forged { service: 99, ..Forged::syn(address(number), 1) };
        let ends = request(address(number + 100), 1, b"x");
        world.cable.tx_burst(&[&[&stranger.frame(b"x", &[])], &[&ends]]).unwrap();
        world.run_to(1);
        let connection = world.host.core().accept().expect("a new connection");
        world.host.core().abandon(ms(1), connection);
    }
    world.host.core().add_peer(address(201), &[], [3; 6]);
    world.run_to(21_000);
    for peer in [9, 201] {
        assert!(world.asked_for(address(peer)) >= 4, "every five seconds");
    }
    for number in (10..100).chain(110..200) {
        assert!(world.asked_for(address(number)) <= 1, "{number}");
    }
}

/// The MTU matters for what the host sends.
#[test]
fn a_smaller_mtu_does_not_affect_short_packets() {
    for (payload, minds) in [(900, false), (1200, true)] {
        let mut world = World::new(1, |config| config.ndp.payload_bytes = payload);
        world.run_to(200);
        *world.mtu.lock().unwrap() = 1000;
        world.run_to(400);
        assert_eq!(world.host.news().is_some(), minds, "{payload} B");
    }
}
