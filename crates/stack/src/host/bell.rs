//! What wakes a host from another thread.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use crate::io::sys;

/// Wakes a host that waits in [`Host::run_until`](super::Host::run_until): it asks its application once more whether it
/// is done. Another thread may ring it at any time; a ring while the host is busy is not lost.
#[derive(Clone, Debug)]
pub struct Bell(Arc<OwnedFd>);

impl Bell {
    pub(super) fn new() -> io::Result<Bell> {
        sys::event_fd().map(|fd| Bell(Arc::new(fd)))
    }

    /// Wakes the host.
    ///
    /// # Errors
    /// The system refuses.
    pub fn ring(&self) -> io::Result<()> {
        sys::ring(&self.0)
    }

    /// It is rung no more.
    pub(super) fn silence(&self) {
        sys::silence(&self.0);
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};
    use std::time::{Duration, Instant};

    use trimline_packet::{BitRate, TimeDelta};

    use crate::host::{Host, Idle};

    /// Without the bell each would wait a tenth of a second, the longest that a host sleeps.
    #[test]
    fn a_host_that_sleeps_hears_its_bell() {
        const RINGS: u32 = 100;
        let address = IpAddr::V4(Ipv4Addr::new(127, 0, 7, 1));
        let sleep = |config: &mut crate::host::Config| config.idle = Idle::Sleep;
        let mut host = Host::open_udp(address, 1500, 1, BitRate::from_gbps(1), sleep).unwrap();
        let bell = host.bell().unwrap();
        let (asked, questions) = std::sync::mpsc::sync_channel(0);
        let ringing = std::thread::spawn(move || {
            for () in questions {
                bell.ring().unwrap();
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
        // It is heard once for a ring.
        let bell = host.bell().unwrap();
        bell.ring().unwrap();
        let (start, mut calls) = (Instant::now(), 0);
        let done = host.run_until(host.now().saturating_add(TimeDelta::from_ms(300)), |_| {
            calls += 1;
            calls > 1000
        });
        assert!(!done.unwrap() && start.elapsed() >= Duration::from_millis(300), "{calls}");
    }
}
