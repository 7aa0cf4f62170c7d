//! A fabric between packet interfaces, on a real clock.

use std::io;

use crate::clock::Clock;
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
        let unflushed = vec![false; interfaces.len()];
        let waiter = Waiter::default();
        Ok(Runner { fabric, interfaces, clock, waiter, idle, unflushed, refused: 0 })
    }

    /// The switches.
    pub fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// Frames that an interface had no room for.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Takes what has arrived and does what is due. Never waits. Gives whether there was anything.
    ///
    /// # Errors
    /// An interface is gone.
    pub fn turn(&mut self) -> io::Result<bool> {
        let now = self.clock.now();
        let Runner { fabric, interfaces, unflushed, refused, .. } = self;
        let mut any = false;
        let mut error = None;
        let mut pass_on = |interfaces: &mut Vec<I>, host: u32, frame: &[u8]| {
            let index = host as usize;
            match interfaces[index].tx_burst(&[&[frame]]) {
                Ok(1) => unflushed[index] = true,
                Ok(_) => *refused += 1,
                Err(problem) => error = Some(problem),
            }
        };
        // What was due before these arrivals happened before them.
        any |= fabric.advance(now, &mut |_, host, frame| pass_on(interfaces, host, frame));
        for (host, interface) in (0..).zip(interfaces.iter_mut()) {
            let taken =
                interface.rx_burst(BURST, &mut |frame| fabric.host_sends(now, host, frame))?;
            any |= taken > 0;
        }
        any |= fabric.advance(now, &mut |_, host, frame| pass_on(interfaces, host, frame));
        if let Some(error) = error {
            return Err(error);
        }
        for (interface, unflushed) in self.interfaces.iter_mut().zip(&mut self.unflushed) {
            if std::mem::take(unflushed) {
                interface.flush()?;
            }
        }
        Ok(any)
    }

    /// Turns until `is_over`.
    ///
    /// # Errors
    /// As [`Runner::turn`].
    pub fn run(&mut self, mut is_over: impl FnMut(&Fabric) -> bool) -> io::Result<()> {
        while !is_over(&self.fabric) {
            if self.turn()? {
                self.waiter.busy();
                continue;
            }
            let fds = self.interfaces.iter().filter_map(PacketIo::poll_fd);
            self.waiter.idle(self.idle, self.clock.now(), self.fabric.next(), fds)?;
        }
        Ok(())
    }
}
