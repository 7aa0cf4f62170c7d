//! A fabric between packet interfaces, on a real clock.

use std::io;

use trimline_packet::{Time, TimeDelta};

use crate::clock::{Clock, EPOCH};
use crate::host::{Idle, Waiter};
use crate::io::PacketIo;

use super::fabric::Fabric;

/// Frames taken from one interface before the next is looked at.
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
    /// Frames that an interface did not take.
    refused: u64,
    /// Why interfaces were given up, if they were.
    lost: Vec<Option<String>>,
    /// Interfaces whose links were up when they were looked at last.
    running: Vec<bool>,
    looked: Option<Time>,
    /// The latest time that was seen: it falls when the clock begins again.
    latest: Time,
}

/// A clock that begins again falls by an epoch, less what nobody looked at it for.
const EPOCH_SLACK: TimeDelta = TimeDelta::from_ps(1 << 62);

/// How often interfaces are looked at.
const LOOK: TimeDelta = TimeDelta::from_ms(100);

/// What happened to a port's interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PortNews {
    /// Its link went down: what goes there is lost until it is up.
    Down(usize),
    /// Its link is up again.
    Up(usize),
    /// The interface is gone, for this reason: the port is dead.
    Lost(usize, String),
}

impl<I: PacketIo> Runner<I> {
    /// A fabric whose hosts are behind these interfaces, in order.
    ///
    /// # Errors
    /// Not one interface a host.
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
            lost: vec![None; count],
            running: vec![true; count],
            looked: None,
            latest: Time::ZERO,
        })
    }

    /// The switches.
    pub fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// Frames that an interface had no room for.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Looks at the interfaces, if that was long ago. Gives what has happened to them.
    pub fn look(&mut self) -> Vec<PortNews> {
        let now = self.clock.now();
        if self.looked.is_some_and(|at| now < at.saturating_add(LOOK)) {
            return Vec::new();
        }
        self.looked = Some(now);
        let mut news = Vec::new();
        for port in 0..self.interfaces.len() {
            if self.lost[port].is_some() {
                continue;
            }
            match self.interfaces[port].link() {
                Ok(state) => {
                    let before = std::mem::replace(&mut self.running[port], state.running);
                    match (before, state.running) {
                        (true, false) => news.push(PortNews::Down(port)),
                        (false, true) => news.push(PortNews::Up(port)),
                        (true, true) | (false, false) => {}
                    }
                }
                Err(error) => {
                    self.lost[port] = Some(error.to_string());
                    news.push(PortNews::Lost(port, error.to_string()));
                }
            }
        }
        news
    }

    /// Takes what has arrived and does what is due. Never waits. Gives whether there was anything. An interface
    /// that fails is given up, and the others go on.
    ///
    /// # Errors
    /// All interfaces are gone.
    pub fn turn(&mut self) -> io::Result<bool> {
        let now = self.clock.now();
        if now.saturating_add(EPOCH) <= self.latest.saturating_add(EPOCH_SLACK) {
            self.fabric.set_back(EPOCH);
            self.looked = None;
        }
        self.latest = now;
        let Runner { fabric, interfaces, unflushed, refused, lost, .. } = self;
        let mut any = false;
        let mut pass_on =
            |interfaces: &mut Vec<I>, lost: &mut Vec<Option<String>>, host: u32, frame: &[u8]| {
                let index = host as usize;
                if lost[index].is_some() {
                    *refused += 1;
                    return;
                }
                match interfaces[index].tx_burst(&[&[frame]]) {
                    Ok(1) => unflushed[index] = true,
                    Ok(_) => *refused += 1,
                    Err(problem) => lost[index] = Some(problem.to_string()),
                }
            };
        // What was due before these arrivals happened before them.
        any |= fabric.advance(now, &mut |_, host, frame| pass_on(interfaces, lost, host, frame));
        for (host, interface) in interfaces.iter_mut().enumerate() {
            if lost[host].is_some() {
                continue;
            }
            let mut take = |frame: &[u8]| fabric.host_sends(now, host as u32, frame);
            match interface.rx_burst(BURST, &mut take) {
                Ok(taken) => any |= taken > 0,
                Err(problem) => lost[host] = Some(problem.to_string()),
            }
        }
        any |= fabric.advance(now, &mut |_, host, frame| pass_on(interfaces, lost, host, frame));
        for (host, interface) in self.interfaces.iter_mut().enumerate() {
            if std::mem::take(&mut self.unflushed[host])
                && let Err(problem) = interface.flush()
            {
                self.lost[host] = Some(problem.to_string());
            }
        }
        match self.lost.iter().find(|lost| lost.is_none()) {
            None if !self.lost.is_empty() => {
                let why = self.lost[0].clone().unwrap_or_default();
                Err(io::Error::other(format!("no interface is left: {why}")))
            }
            _ => Ok(any),
        }
    }

    /// Turns until `is_over`, to which the news of the ports are given.
    ///
    /// # Errors
    /// As [`Runner::turn`].
    pub fn run(&mut self, mut is_over: impl FnMut(&Fabric, &[PortNews]) -> bool) -> io::Result<()> {
        loop {
            let news = self.look();
            if is_over(&self.fabric, &news) {
                return Ok(());
            }
            if self.turn()? {
                self.waiter.busy();
                continue;
            }
            let there = self.interfaces.iter().zip(&self.lost).filter(|(_, lost)| lost.is_none());
            let fds = there.filter_map(|(interface, _)| interface.poll_fd());
            self.waiter.idle(self.idle, self.clock.now(), self.fabric.next(), fds)?;
        }
    }
}
