//! The idle loop of a thread.
//!
//! It polls, then yields, then blocks; earlier where a yield takes long. It never only spins: two threads that spin on
//! one core hold each other up for whole time slices. It never sleeps up to a deadline: timers wake tens of
//! microseconds late, so the last stretch before a pull is polled.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::thread;
use std::time::{Duration, Instant};

use trimline_packet::{Time, TimeDelta};

use crate::io::Alarm;

/// The way in which a thread waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idle {
    /// Poll and yield without end: the shortest latency, for a core.
    Poll,
    /// Poll and yield for a while, then block until there is work. Beside a thread that never waits, block nearly at
    /// once.
    Block,
    /// Block at once: the least CPU time, with actions as late as timers.
    Sleep,
}

/// Idle turns that only spin.
const SPINS: u32 = 64;
/// Further idle turns, in which the thread also yields.
const YIELDS: u32 = 4096;
/// Interval of yields, in turns.
const YIELD_EVERY: u32 = 64;
/// Minimum duration of a yield beside a thread that does not yield.
const LONG_YIELD: Duration = Duration::from_micros(500);
/// Number of waits that then block without a yield. A blocked thread is woken within microseconds, a yielding one gets
/// the core back after a time slice.
const CROWDED_WAITS: u32 = 1000;
/// Maximum delay of a kernel timer (`nanosleep` here: 65 us). The thread does not block this close to a deadline.
const OVERSLEEP: TimeDelta = TimeDelta::from_us(100);
/// The longest wait at once.
const LONGEST: TimeDelta = TimeDelta::from_ms(100);

/// The state of an idle thread.
#[derive(Debug, Default)]
pub struct Waiter {
    turns: u32,
    /// Remaining waits that block at once, since another thread needs the core.
    crowded: u32,
    /// The timer that wakes this thread, once it has blocked.
    alarm: Option<Alarm>,
    /// The time of its alarm.
    rings: Option<Time>,
}

impl Waiter {
    /// Records that there was work.
    #[inline]
    pub fn busy(&mut self) {
        self.turns = 0;
    }

    /// Waits until `due` or until a descriptor becomes readable. Returns whether it blocked.
    ///
    /// # Errors
    /// Fails if the system refuses to wait.
    pub fn idle<'a>(
        &mut self,
        policy: Idle,
        now: Time,
        due: Time,
        fds: impl Iterator<Item = BorrowedFd<'a>>,
    ) -> io::Result<bool> {
        match self.pause(policy, now, due) {
            Some(wait) => self.block(now, wait, fds).map(|()| true),
            None => Ok(false),
        }
    }

    /// Spins or yields and returns `None`, or returns the time to [`Waiter::block`].
    pub(super) fn pause(&mut self, policy: Idle, now: Time, due: Time) -> Option<TimeDelta> {
        self.turns = self.turns.saturating_add(1);
        let left = due.saturating_since(now);
        let (stall_timeout, early) = match policy {
            Idle::Poll => (u32::MAX, OVERSLEEP),
            Idle::Block if self.crowded > 0 => (SPINS, OVERSLEEP),
            Idle::Block => (SPINS + YIELDS, OVERSLEEP),
            Idle::Sleep => (0, TimeDelta::ZERO),
        };
        if self.turns <= stall_timeout || left <= early {
            if self.turns > SPINS && self.turns.is_multiple_of(YIELD_EVERY) {
                self.let_others_run();
            } else {
                std::hint::spin_loop();
            }
            return None;
        }
        Some(left.saturating_sub(early).min(LONGEST))
    }

    fn let_others_run(&mut self) {
        let before = Instant::now();
        thread::yield_now();
        if before.elapsed() > LONG_YIELD {
            self.crowded = CROWDED_WAITS;
        }
    }

    /// Blocks for at most `wait`. Waits in quick succession, as in requests, share one alarm.
    pub(super) fn block<'a>(
        &mut self,
        now: Time,
        wait: TimeDelta,
        fds: impl Iterator<Item = BorrowedFd<'a>>,
    ) -> io::Result<()> {
        self.crowded = self.crowded.saturating_sub(1);
        let until = now.saturating_add(wait);
        let alarm = match &mut self.alarm {
            Some(alarm) => alarm,
            None => self.alarm.insert(Alarm::new()?),
        };
        if self.rings.is_none_or(|at| at > until) {
            alarm.set(wait.as_ps() / 1000)?;
            self.rings = Some(until);
        }
        if alarm.wait(fds.map(|fd| fd.as_raw_fd()))? {
            self.rings = None;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::sys;
    use std::os::fd::AsFd;

    #[test]
    fn a_thread_that_shares_a_processor_blocks_without_yielding() {
        let waker = sys::event_fd().unwrap();
        sys::ring(&waker).unwrap();
        let due = Time::ZERO.saturating_add(TimeDelta::from_ms(90_000));
        let mut waiter = Waiter { crowded: 2, ..Waiter::default() };
        // The number of turns until it blocks, when there was work before each count.
        let mut check = |policy: Idle, turns: u32| {
            let mut one = || {
                let fds = std::iter::once(waker.as_fd());
                waiter.idle(policy, Time::ZERO, due, fds).unwrap()
            };
            assert!((1..turns).all(|_| !one()) && one(), "{policy:?}: {turns}");
            waiter.busy();
        };
        check(Idle::Sleep, 1);
        check(Idle::Block, SPINS + 1);
        assert_eq!(waiter.crowded, 0, "then it tries again");
    }

    #[test]
    fn an_alarm_stays_set_unless_an_earlier_one_is_due() {
        let waker = sys::event_fd().unwrap();
        sys::ring(&waker).unwrap();
        let ms = |ms| Time::ZERO.saturating_add(TimeDelta::from_ms(ms));
        let mut waiter = Waiter::default();
        let mut check = |now: Time, due: Time, rings: Option<Time>| {
            let fds = std::iter::once(waker.as_fd());
            assert!(waiter.idle(Idle::Sleep, now, due, fds).unwrap());
            assert_eq!(waiter.rings, rings);
        };
        check(ms(0), ms(90_000), Some(ms(100)));
        check(ms(50), ms(120), Some(ms(100)));
        check(ms(60), ms(80), Some(ms(80)));
        // The alarm alone: it rings, and is set again.
        let (start, now) = (std::time::Instant::now(), ms(70));
        let nobody = std::iter::empty;
        assert!(waiter.idle(Idle::Sleep, now, ms(72), nobody()).unwrap());
        assert!(waiter.rings.is_none() && start.elapsed().as_millis() >= 2);
    }
}
