//! A fabric between packet interfaces, on a real clock.

use std::io;

use trimline_packet::{Time, TimeDelta};

use crate::clock::{Clock, EPOCH, begins_again};
use crate::host::{Idle, Waiter};
use crate::io::{ETHERNET_BYTES, PacketIo};

use super::fabric::Fabric;
use super::port_news::{PortEvent, PortNews};

/// Maximum number of frames taken from one interface in turn.
const BURST: usize = 64;

/// A fabric and the interfaces of its hosts.
pub struct Runner<I> {
    fabric: Fabric,
    interfaces: Vec<I>,
    clock: Clock,
    waiter: Waiter,
    idle: Idle,
    /// Interfaces with frames that were not flushed.
    unflushed: Vec<bool>,
    /// Frames that an interface did not accept.
    refused: u64,
    /// True for an interface that failed or is gone, and is not back.
    lost: Vec<bool>,
    /// Events that have not been reported yet.
    unsaid: Vec<PortNews>,
    /// State of each interface at the last inspection.
    seen: Vec<Seen>,
    looked: Option<Time>,
    /// The last time read: it falls when the clock restarts.
    latest: Time,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    /// Its link was up.
    running: bool,
    /// Events that are reported only once.
    offload: bool,
    unreadable: bool,
    intruder: bool,
}

/// Interval between inspections of the interfaces.
const INSPECTION_INTERVAL: TimeDelta = TimeDelta::from_ms(100);

/// Counts of lost frames that no port counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Frames without a route.
    pub without_way: u64,
    /// Frames with a label that the table of a switch does not have.
    pub unknown_label: u64,
    /// Frames dropped because hosts exceeded their cables' rates for too long.
    pub dropped_at_ingress: u64,
    /// Frames dropped by full FIFOs of pacers.
    pub dropped_by_pacer: u64,
    /// Frames that their output interface has no room for, cannot carry, or has lost.
    pub refused: u64,
    /// Frames that an interface accepted but could not send.
    pub unsent: u64,
    /// Frames that arrived unreadable: see [`PacketIo::unreadable`].
    pub unreadable: u64,
    /// Frames that arrived faster than they were taken: see [`PacketIo::overrun`].
    pub overrun: u64,
    /// Frames from a source that the port does not accept.
    pub refused_source: u64,
}

impl Losses {
    /// Returns each count with its name.
    pub fn named(&self) -> [(&'static str, u64); 9] {
        let Losses {
            without_way,
            unknown_label,
            dropped_at_ingress,
            dropped_by_pacer,
            refused,
            unsent,
            unreadable,
            overrun,
            refused_source,
        } = *self;
        [
            ("without_way", without_way),
            ("unknown_label", unknown_label),
            ("dropped_at_ingress", dropped_at_ingress),
            ("dropped_by_pacer", dropped_by_pacer),
            ("refused", refused),
            ("unsent", unsent),
            ("unreadable", unreadable),
            ("overrun", overrun),
            ("refused_source", refused_source),
        ]
    }
}

struct Exits<'a, I> {
    interfaces: &'a mut [I],
    unflushed: &'a mut [bool],
    lost: &'a mut [bool],
    unsaid: &'a mut Vec<PortNews>,
    refused: &'a mut u64,
}

impl<I: PacketIo> Exits<'_, I> {
    /// Sends a frame, or refuses one that the port cannot carry.
    fn pass_on(&mut self, port: usize, frame: &[u8]) {
        let interface = &mut self.interfaces[port];
        if self.lost[port] || frame.len() > interface.caps().mtu + ETHERNET_BYTES {
            *self.refused += 1;
            return;
        }
        match interface.tx_burst(&[&[frame]]) {
            Ok(1) => self.unflushed[port] = true,
            Ok(_) => *self.refused += 1,
            Err(error) => self.lose(port, &error),
        }
    }

    /// Gives a port up until its interface is back.
    fn lose(&mut self, port: usize, error: &io::Error) {
        if !std::mem::replace(&mut self.lost[port], true) {
            self.unsaid.push(PortNews { port, event: PortEvent::Lost(error.to_string()) });
        }
    }
}

impl<I: PacketIo> Runner<I> {
    /// Returns a runner with one interface for each host.
    ///
    /// # Errors
    /// Fails for another number of interfaces.
    pub fn new(
        fabric: Fabric,
        interfaces: Vec<I>,
        clock: Clock,
        idle: Idle,
    ) -> Result<Runner<I>, String> {
        if interfaces.len() != fabric.hosts() {
            let (got, expected) = (interfaces.len(), fabric.hosts());
            return Err(format!("{got} interfaces for {expected} hosts"));
        }
        let count = interfaces.len();
        Ok(Runner {
            fabric,
            interfaces,
            clock,
            waiter: Waiter::default(),
            idle,
            unflushed: vec![false; count],
            refused: 0,
            lost: vec![false; count],
            unsaid: Vec::new(),
            seen: vec![
                Seen { running: true, offload: false, unreadable: false, intruder: false };
                count
            ],
            looked: None,
            latest: Time::ZERO,
        })
    }

    /// Returns the switches.
    pub fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// Returns the switches, for changes between turns.
    pub fn fabric_mut(&mut self) -> &mut Fabric {
        &mut self.fabric
    }

    /// Returns whether the interface exists and its link was up at the last inspection.
    pub fn is_up(&self, port: usize) -> bool {
        !self.lost[port] && self.seen[port].running
    }

    /// Returns the frames that an interface had no room for, or cannot carry.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Returns the lost frames that ports do not count.
    pub fn losses(&self) -> Losses {
        let of_all = |count: fn(&I) -> u64| self.interfaces.iter().map(count).sum();
        Losses {
            without_way: self.fabric.lost_ways(),
            unknown_label: self.fabric.unknown_labels(),
            dropped_at_ingress: self.fabric.dropped_at_ingress(),
            dropped_by_pacer: self.fabric.dropped_by_pacers(),
            refused: self.refused,
            unsent: of_all(I::lost),
            unreadable: of_all(I::unreadable),
            overrun: of_all(I::overrun),
            refused_source: self.fabric.refused_sources().sum(),
        }
    }

    /// Inspects the interfaces, if it is time to. Returns their events.
    pub fn inspect(&mut self) -> Vec<PortNews> {
        let now = self.clock.now();
        let mut news = std::mem::take(&mut self.unsaid);
        if self.looked.is_some_and(|at| now < at.saturating_add(INSPECTION_INTERVAL)) {
            return news;
        }
        self.looked = Some(now);
        for port in 0..self.interfaces.len() {
            let mut say = |event| news.push(PortNews { port, event });
            let (interface, seen) = (&mut self.interfaces[port], &mut self.seen[port]);
            if self.lost[port] {
                if interface.reopen().is_err() {
                    continue;
                }
                self.lost[port] = false;
                seen.running = true;
                self.fabric.forget_sources(port);
                say(PortEvent::Back);
            }
            match interface.link() {
                Ok(state) => {
                    let before = std::mem::replace(&mut seen.running, state.running);
                    match (before, state.running) {
                        (true, false) => say(PortEvent::Down),
                        (false, true) => {
                            self.fabric.forget_sources(port);
                            say(PortEvent::Up);
                        }
                        (true, true) | (false, false) => {}
                    }
                }
                Err(error) => {
                    self.lost[port] = true;
                    say(PortEvent::Lost(error.to_string()));
                }
            }
            if interface.offload() > 0 && !std::mem::replace(&mut seen.offload, true) {
                say(PortEvent::Offload);
            }
            if interface.unreadable() > 0 && !std::mem::replace(&mut seen.unreadable, true) {
                say(PortEvent::Unreadable);
            }
            if let Some(source) = self.fabric.intruder(port)
                && !std::mem::replace(&mut seen.intruder, true)
            {
                say(PortEvent::Intruder(source.to_owned()));
            }
        }
        news
    }

    /// Receives frames and handles what is due, without waiting. Returns whether there was work. A failed interface is
    /// given up until [`Runner::inspect`] finds it again.
    ///
    /// # Errors
    /// Fails if all interfaces are gone for good.
    pub fn turn(&mut self) -> io::Result<bool> {
        self.turn_with(BURST)
    }

    /// Sends the frames in the switches, for at most `longest`, without receiving more. Returns the number of frames
    /// left.
    ///
    /// # Errors
    /// Fails as [`Runner::turn`] does.
    pub fn drain(&mut self, longest: TimeDelta) -> io::Result<usize> {
        // Frames that have arrived by now are sent on.
        self.turn()?;
        let until = self.clock.now().saturating_add(longest);
        while self.fabric.held() > 0 && self.clock.now() < until {
            if !self.turn_with(0)? {
                let due = self.fabric.next().min(until);
                self.waiter.idle(self.idle, self.clock.now(), due, std::iter::empty())?;
            }
        }
        Ok(self.fabric.held())
    }

    fn turn_with(&mut self, max: usize) -> io::Result<bool> {
        let now = self.clock.now();
        if begins_again(self.latest, now) {
            self.fabric.set_back(EPOCH);
            self.looked = None;
        }
        self.latest = now;
        let Runner { fabric, interfaces, unflushed, refused, lost, unsaid, .. } = self;
        let mut exits = Exits { interfaces, unflushed, lost, unsaid, refused };
        // Events due before these arrivals come first.
        let mut any =
            fabric.advance(now, &mut |_, host, frame| exits.pass_on(host as usize, frame));
        for port in 0..exits.interfaces.len() {
            if exits.lost[port] {
                continue;
            }
            let mut take = |frame: &[u8]| fabric.host_sends(now, port as u32, frame);
            match exits.interfaces[port].rx_burst(max, &mut take) {
                Ok(taken) => any |= taken > 0,
                Err(error) => exits.lose(port, &error),
            }
        }
        any |= fabric.advance(now, &mut |_, host, frame| exits.pass_on(host as usize, frame));
        for port in 0..exits.interfaces.len() {
            if std::mem::take(&mut exits.unflushed[port])
                && let Err(error) = exits.interfaces[port].flush()
            {
                exits.lose(port, &error);
            }
        }
        let is_over = |(interface, &lost): (&I, &bool)| lost && !interface.caps().reopens;
        match !self.lost.is_empty() && self.interfaces.iter().zip(&self.lost).all(is_over) {
            true => Err(io::Error::other("no interface is left")),
            false => Ok(any),
        }
    }

    /// Turns until `is_over`, which gets the runner and the events of its ports.
    ///
    /// # Errors
    /// Fails as [`Runner::turn`] does.
    pub fn run(
        &mut self,
        mut is_over: impl FnMut(&Runner<I>, &[PortNews]) -> bool,
    ) -> io::Result<()> {
        loop {
            let news = self.inspect();
            if is_over(self, &news) {
                return Ok(());
            }
            match self.turn() {
                Ok(false) => {}
                Ok(true) => {
                    self.waiter.busy();
                    continue;
                }
                // The last events are reported too.
                Err(error) => {
                    let news = std::mem::take(&mut self.unsaid);
                    is_over(self, &news);
                    return Err(error);
                }
            }
            let there = self.interfaces.iter().zip(&self.lost).filter(|&(_, &lost)| !lost);
            let fds = there.filter_map(|(interface, _)| interface.poll_fd());
            self.waiter.idle(self.idle, self.clock.now(), self.fabric.next(), fds)?;
        }
    }
}
