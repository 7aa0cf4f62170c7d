//! What a thread does while there is nothing to do.
//!
//! Poll, then let others run, then block. Never pure spinning: two threads that spin on one core hold each
//! other up for whole time slices. And never sleeping up to a deadline: timers wake tens of microseconds
//! late, so the last stretch before a pull is due is polled.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::thread;

use trimline_packet::{Time, TimeDelta};

use crate::io::wait_readable;

/// What to do while there is nothing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idle {
    /// Poll and let others run, for as long as it takes: the shortest latency, a core.
    Poll,
    /// Poll and let others run a while, then block until a frame arrives or something is due.
    Block,
    /// Block at once: the least work; what is due goes as late as timers wake.
    Sleep,
}

/// Turns without anything to do that are simply taken again.
const SPINS: u32 = 64;
/// Further ones that first let others run.
const YIELDS: u32 = 4096;
/// Then one turn in so many lets others run.
const YIELD_EVERY: u32 = 64;
/// How late a timer of the kernel may wake (`nanosleep` here: 65 us): so long before a deadline nobody
/// blocks.
const OVERSLEEP: TimeDelta = TimeDelta::from_us(100);
/// The longest wait at once.
const LONGEST: TimeDelta = TimeDelta::from_ms(100);

/// How long there has been nothing to do.
#[derive(Clone, Copy, Debug, Default)]
pub struct Waiter {
    turns: u32,
}

impl Waiter {
    /// There was something to do.
    #[inline]
    pub fn busy(&mut self) {
        self.turns = 0;
    }

    /// There is nothing to do before `due` unless one of the descriptors becomes readable. Gives
    /// whether it blocked.
    ///
    /// # Errors
    /// The system refuses to wait.
    pub fn idle<'a>(
        &mut self,
        policy: Idle,
        now: Time,
        due: Time,
        fds: impl Iterator<Item = BorrowedFd<'a>>,
    ) -> io::Result<bool> {
        self.turns = self.turns.saturating_add(1);
        let left = due.saturating_since(now);
        let (patience, early) = match policy {
            Idle::Poll => (u32::MAX, OVERSLEEP),
            Idle::Block => (SPINS + YIELDS, OVERSLEEP),
            Idle::Sleep => (0, TimeDelta::ZERO),
        };
        if self.turns <= patience || left <= early {
            if self.turns > SPINS && self.turns.is_multiple_of(YIELD_EVERY) {
                thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
            return Ok(false);
        }
        let wait = left.saturating_sub(early).min(LONGEST);
        let raw: Vec<_> = fds.map(|fd| fd.as_raw_fd()).collect();
        wait_readable(&raw, wait.as_ps() / 1000)?;
        Ok(true)
    }
}
