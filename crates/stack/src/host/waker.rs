//! The waker of a host for other threads.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::io::sys;

/// Wakes a host that waits in [`Host::run_until`](super::Host::run_until), which then checks again whether its
/// application is done. Another thread may ring it at any time; a ring while the host is busy is not lost, and takes no
/// system call.
#[derive(Clone, Debug)]
pub struct Waker(Arc<State>);

#[derive(Debug)]
struct State {
    fd: OwnedFd,
    /// [`QUIET`], [`RUNG`] or [`BLOCKED`].
    now: AtomicU8,
}

/// The host is busy, without a ring since its last check.
const QUIET: u8 = 0;
/// A ring came.
const RUNG: u8 = 1;
/// The host blocks; the descriptor wakes it.
const BLOCKED: u8 = 2;

impl Waker {
    pub(super) fn new() -> io::Result<Waker> {
        let state = State { fd: sys::event_fd()?, now: AtomicU8::new(QUIET) };
        Ok(Waker(Arc::new(state)))
    }

    /// Wakes the host.
    ///
    /// # Errors
    /// Fails if the system refuses.
    pub fn wake(&self) -> io::Result<()> {
        match self.0.now.swap(RUNG, Ordering::AcqRel) {
            BLOCKED => sys::ring(&self.0.fd),
            _ => Ok(()),
        }
    }

    /// Records that the host is about to block. Returns false after a ring.
    pub(super) fn may_block(&self) -> bool {
        let state = &self.0.now;
        let seen = state.compare_exchange(QUIET, BLOCKED, Ordering::AcqRel, Ordering::Acquire);
        if seen.is_err() {
            // The ring is consumed before the host checks for work.
            state.swap(QUIET, Ordering::AcqRel);
        }
        seen.is_ok()
    }

    pub(super) fn clear(&self) {
        self.0.now.swap(QUIET, Ordering::AcqRel);
        // A ring may be seen before the descriptor is written: the next block then ends at once, and comes here.
        sys::clear_eventfd(&self.0.fd);
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};
    use std::os::fd::AsRawFd;
    use std::time::{Duration, Instant};

    use trimline_packet::{BitRate, TimeDelta};

    use super::*;
    use crate::host::{Host, Idle};

    #[test]
    fn a_wake_writes_its_descriptor_only_for_a_host_that_blocks() {
        let waker = Waker::new().unwrap();
        let is_written = || sys::wait_readable([waker.0.fd.as_raw_fd()].into_iter(), 0).unwrap();
        waker.wake().unwrap();
        assert!(!is_written() && !waker.may_block(), "it was rung before");
        assert!(waker.may_block(), "that was heard");
        waker.wake().unwrap();
        assert!(is_written(), "the host blocks");
        waker.clear();
        assert!(!is_written() && waker.may_block());
        waker.clear();
        assert!(waker.may_block(), "it woke by itself");
    }

    /// Without the waker each wait would take 100 ms, the longest sleep of a host.
    #[test]
    fn a_host_that_sleeps_wakes() {
        const RINGS: u32 = 100;
        let address = IpAddr::V4(Ipv4Addr::new(127, 0, 7, 1));
        let sleep = |config: &mut crate::host::Config| config.idle = Idle::Sleep;
        let mut host = Host::open_udp(address, 1500, 1, BitRate::from_gbps(1), sleep).unwrap();
        let waker = host.waker().unwrap();
        let (asked, questions) = std::sync::mpsc::sync_channel(0);
        let ringing = std::thread::spawn(move || {
            for () in questions {
                waker.wake().unwrap();
            }
        });
        let (start, mut calls) = (Instant::now(), 0);
        let until = host.now().saturating_add(TimeDelta::from_ms(60_000));
        let is_done = host.run_until(until, |_| {
            calls += 1;
            asked.send(()).unwrap();
            calls == RINGS
        });
        assert!(is_done.unwrap());
        assert!(start.elapsed() < Duration::from_millis(50) * RINGS, "{:?}", start.elapsed());
        drop(asked);
        ringing.join().unwrap();
        // Each ring is seen once.
        let waker = host.waker().unwrap();
        waker.wake().unwrap();
        let (start, mut calls) = (Instant::now(), 0);
        let done = host.run_until(host.now().saturating_add(TimeDelta::from_ms(300)), |_| {
            calls += 1;
            calls > 1000
        });
        assert!(!done.unwrap() && start.elapsed() >= Duration::from_millis(300), "{calls}");
    }
}
