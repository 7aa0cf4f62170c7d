//! All hosts of a testbed in one thread and its switches in another, so that two cores suffice for any number.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use trimline_packet::Time;

use super::network::TestNetwork;
use super::sys;
use trimline_stack::clock::Clock;
use trimline_stack::host::{Host, Idle, Waiter};
use trimline_stack::io::afpacket::AfPacket;
use trimline_stack::io::capture::{Capture, Captured};
use trimline_stack::switch::{self, Fabric, Runner};

/// The counts of all switches in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwitchCount {
    /// Packets sent by all ports.
    pub packets: u64,
    /// Packets that were trimmed.
    pub trimmed: u64,
    /// Packets that found no room.
    pub dropped: u64,
    /// Headers that were sent back.
    pub returned: u64,
    /// Frames that an interface did not accept or that exceeded their cable's rate.
    pub refused: u64,
}

/// Runs switches during `act`. `settings` are the first lines of their configuration. A capture has every frame between
/// hosts and switches.
///
/// # Errors
/// Fails if the configuration is wrong, an interface is gone, or `act` fails.
pub fn with_switches<T>(
    network: &TestNetwork,
    settings: &str,
    clock: &Clock,
    capture: Option<&Path>,
    act: impl FnOnce() -> io::Result<T>,
) -> io::Result<(T, SwitchCount)> {
    let watched = Watched { prepare: |_: &mut Fabric| {}, show: |_: &Fabric| {} };
    with_watched_switches(network, settings, clock, capture, watched, act)
}

/// Hooks that inspect running switches.
#[derive(Debug)]
pub struct Watched<P, S> {
    /// Called with the switches before they run.
    pub prepare: P,
    /// Called by the switches' thread each time that it polls for frames.
    pub show: S,
}

/// Runs switches as [`with_switches`] does, with hooks that inspect them.
///
/// # Errors
/// Fails as [`with_switches`] does.
pub fn with_watched_switches<T>(
    network: &TestNetwork,
    settings: &str,
    clock: &Clock,
    capture: Option<&Path>,
    watched: Watched<impl FnOnce(&mut Fabric), impl Fn(&Fabric) + Send>,
    act: impl FnOnce() -> io::Result<T>,
) -> io::Result<(T, SwitchCount)> {
    let text = network.shape().switches(settings);
    let config = switch::Config::parse(&text).map_err(io::Error::other)?;
    let mut fabric = Fabric::new(&config).map_err(io::Error::other)?;
    (watched.prepare)(&mut fabric);
    let capture = capture.map(|path| Capture::create(path, clock)).transpose()?;
    let ports = network.ports()?.into_iter();
    let ports = ports.map(|port| Captured::new(port, capture.clone())).collect();
    let mut runner =
        Runner::new(fabric, ports, clock.clone(), Idle::Block).map_err(io::Error::other)?;
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        // The thread that owns the switches calls `show`.
        let (show, over, runner) = (watched.show, &over, &mut runner);
        let switches = scope.spawn(move || {
            sys::pin(1);
            let outcome = runner.run(|runner, _| {
                show(runner.fabric());
                over.load(Ordering::Relaxed)
            });
            let mut count = SwitchCount::default();
            for (_, _, port) in runner.fabric().counters() {
                count.packets += port.packets;
                count.trimmed += port.trimmed;
                count.dropped += port.dropped;
                count.returned += port.returned;
            }
            count.refused = runner.refused() + runner.fabric().dropped_at_ingress();
            outcome.map(|()| count)
        });
        let outcome = act();
        over.store(true, Ordering::Relaxed);
        let count = switches.join().map_err(|_| io::Error::other("the switches panicked"))??;
        capture.map_or(Ok(()), |capture| capture.finish())?;
        Ok((outcome?, count))
    })
}

/// Hosts that one thread drives.
#[derive(Debug)]
pub struct Group {
    /// The hosts.
    pub hosts: Vec<Host<AfPacket>>,
    clock: Clock,
    waiter: Waiter,
    idle: Idle,
}

impl Group {
    /// Returns a group of hosts on one clock.
    pub fn new(hosts: Vec<Host<AfPacket>>, clock: &Clock, idle: Idle) -> Group {
        Group { hosts, clock: clock.clone(), waiter: Waiter::default(), idle }
    }

    /// Returns the time of the clock.
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// Turns all hosts until `is_done` or the deadline. Returns whether it is done.
    ///
    /// # Errors
    /// Fails if an interface is gone.
    pub fn run_until(
        &mut self,
        deadline: Time,
        mut is_done: impl FnMut(&mut [Host<AfPacket>]) -> bool,
    ) -> io::Result<bool> {
        loop {
            let mut busy = false;
            for host in &mut self.hosts {
                busy |= host.turn()?;
            }
            if is_done(&mut self.hosts) {
                return Ok(true);
            }
            let now = self.clock.now();
            if now >= deadline {
                return Ok(false);
            }
            if busy {
                self.waiter.busy();
                continue;
            }
            let due = self.hosts.iter().map(Host::next).min().unwrap_or(Time::NEVER);
            let fds = self.hosts.iter().filter_map(Host::poll_fd);
            self.waiter.idle(self.idle, now, due.min(deadline), fds)?;
        }
    }
}
