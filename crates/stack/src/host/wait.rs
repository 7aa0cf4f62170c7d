//! What a thread does while there is nothing to do.
//!
//! Poll, then let others run, then block; block earlier where letting others run takes long. Never pure spinning: two
//! threads that spin on one core hold each other up for whole time slices. And never sleeping up to a deadline: timers
//! wake tens of microseconds late, so the last stretch before a pull is due is polled.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::thread;
use std::time::{Duration, Instant};

use trimline_packet::{Time, TimeDelta};

use crate::io::Alarm;

/// What to do while there is nothing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idle {
    /// Poll and let others run, for as long as it takes: the shortest latency, a core.
    Poll,
    /// Poll and let others run a while, then block until a frame arrives or something is due. Beside a thread that
    /// never waits, block nearly at once.
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
/// A thread that let others run for so long shares its processor with one that does not let others run.
const LONG_YIELD: Duration = Duration::from_micros(500);
/// So often it then blocks without letting others run first: who blocks is woken within microseconds, who yields gets
/// the processor back after a time slice.
const CROWDED_WAITS: u32 = 1000;
/// How late a timer of the kernel may wake (`nanosleep` here: 65 us): so long before a deadline nobody
/// blocks.
const OVERSLEEP: TimeDelta = TimeDelta::from_us(100);
/// The longest wait at once.
const LONGEST: TimeDelta = TimeDelta::from_ms(100);

/// How long there has been nothing to do.
#[derive(Debug, Default)]
pub struct Waiter {
    turns: u32,
    /// Waits that are still to block at once, since another thread needs the processor.
    crowded: u32,
    /// What wakes this thread by itself, once it has blocked.
    alarm: Option<Alarm>,
    /// When that rings.
    rings: Option<Time>,
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
        match self.pause(policy, now, due) {
            Some(wait) => self.block(now, wait, fds).map(|()| true),
            None => Ok(false),
        }
    }

    /// Polls or lets others run, and gives `None`; or gives how long to [`Waiter::block`], since there is nothing to do
    /// before `due`.
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

    /// Blocks for so long at most. An alarm that rings earlier stays as it is: what follows each other quickly, as
    /// requests do, sets none.
    ///
    /// # Errors
    /// The system refuses to wait.
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
    fn who_shares_a_processor_blocks_without_yielding() {
        let waker = sys::event_fd().unwrap();
        sys::ring(&waker).unwrap();
        let due = Time::ZERO.saturating_add(TimeDelta::from_ms(90_000));
        let mut waiter = Waiter { crowded: 2, ..Waiter::default() };
        // How many turns it takes to block, when something is heard each time.
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
    fn an_alarm_stays_set_unless_something_is_due_earlier() {
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
        // Nothing but the alarm: it rings, and is set again.
        let (start, now) = (std::time::Instant::now(), ms(70));
        let nobody = std::iter::empty;
        assert!(waiter.idle(Idle::Sleep, now, ms(72), nobody()).unwrap());
        assert!(waiter.rings.is_none() && start.elapsed().as_millis() >= 2);
    }
}
