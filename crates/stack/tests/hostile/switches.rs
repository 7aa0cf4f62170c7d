//! Hostile frames and failing interfaces at a switch between in-memory interfaces.

use super::*;
use std::io;
use std::os::fd::BorrowedFd;

use trimline_stack::clock::Clock;
use trimline_stack::host::Idle;
use trimline_stack::io::mem::{self, Mem};
use trimline_stack::io::{Caps, PacketIo, Pieces};
use trimline_stack::switch::{self, Fabric, PortEvent, PortNews, Runner};

/// An interface that may fail.
struct Frail {
    io: Mem,
    fails: bool,
}

impl PacketIo for Frail {
    fn rx_burst(&mut self, max: usize, take: &mut dyn FnMut(&[u8])) -> io::Result<usize> {
        self.io.rx_burst(max, take)
    }
    fn tx_burst(&mut self, frames: &[Pieces<'_>]) -> io::Result<usize> {
        match self.fails {
            true => Err(io::Error::other("it broke")),
            false => self.io.tx_burst(frames),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        self.io.flush()
    }
    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        self.io.poll_fd()
    }
    fn caps(&self) -> Caps {
        self.io.caps()
    }
}

/// Returns a switch of two ports with these MTUs, the far ends of their cables, and its clock.
fn switch_of(mtus: [usize; 2], fails: bool) -> (Runner<Frail>, [Mem; 2], Clock) {
    let mut text = "rate = \"1Gbps\"\n[[switch]]\nname = \"s\"\n".to_owned();
    for n in 1..3 {
        text += &format!(
            "[[host]]\nswitch = \"s\"\ninterface = \"p{n}\"\n\
             addresses = [{{ address = \"{}\" }}]\n",
            address(n)
        );
    }
    let fabric = Fabric::new(&switch::Config::parse(&text).unwrap()).unwrap();
    let clock = Clock::new_virtual();
    let [(a, near), (b, far)] = mtus.map(|mtu| mem::pair(mtu).unwrap());
    let ports = vec![Frail { io: a, fails }, Frail { io: b, fails: false }];
    (Runner::new(fabric, ports, clock.clone(), Idle::Poll).unwrap(), [near, far], clock)
}

/// Sends frames from host 2 to host 1. Returns the numbers that arrived and were refused, and all news.
fn send(fails: bool, frames: &[Vec<u8>]) -> (usize, u64, Vec<PortNews>) {
    let (mut runner, [mut near, mut far], clock) = switch_of([200, 1500], fails);
    let (mut got, mut news) = (0, Vec::new());
    for (number, frame) in (1..).zip(frames) {
        far.tx_burst(&[&[frame]]).unwrap();
        for step in 0..10 {
            clock.advance_to(ms(number * 1000 + step));
            news.extend(runner.inspect());
            runner.turn().unwrap();
            got += near.rx_burst(8, &mut |_| {}).unwrap();
        }
    }
    (got, runner.refused(), news)
}

/// Some losses have no port.
#[test]
fn frames_that_a_switch_loses_are_counted_by_reason() {
    let (mut runner, [_near, mut far], clock) = switch_of([200, 1500], false);
    let nowhere = Forged::syn(address(2), 1).frame_to(address(9), b"x", &[]);
    for (number, frame) in (1..).zip([to_host_1(1000), nowhere.clone(), nowhere]) {
        far.tx_burst(&[&[&frame]]).unwrap();
        for step in 0..10 {
            clock.advance_to(ms(number * 1000 + step));
            runner.turn().unwrap();
        }
    }
    let lost = runner.losses();
    assert_eq!((lost.refused, lost.without_way), (1, 2), "{lost:?}");
    assert_eq!(lost.named().iter().map(|&(_, count)| count).sum::<u64>(), 3, "{lost:?}");
}

fn to_host_1(bytes: usize) -> Vec<u8> {
    Forged::syn(address(2), 1).frame(&vec![7; bytes], &[])
}

/// Ports may have different MTUs.
#[test]
fn a_frame_that_an_output_cannot_carry_is_the_only_loss() {
    let (got, refused, news) = send(false, &[to_host_1(100), to_host_1(1000), to_host_1(100)]);
    assert_eq!((got, refused, news), (2, 1, Vec::new()));
}

#[test]
fn a_failed_port_is_reported_once() {
    let (got, refused, news) = send(true, &[to_host_1(100), to_host_1(100), to_host_1(100)]);
    assert_eq!((got, refused), (0, 2), "what comes later is counted");
    let event = PortEvent::Lost("it broke".to_owned());
    assert_eq!(news, [PortNews { port: 0, event }]);
}
