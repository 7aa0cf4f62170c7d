//! Pacing of a receiver's tokens: one per packet time, and none in place of a free token.

use trimline_packet::{Time, TimeDelta};

#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    packet_time: TimeDelta,
    /// Earliest time of the next token or skipped token.
    due: Time,
    /// Tokens to skip.
    owed: u32,
    /// Earliest time of the next token while all flows wait.
    asleep_until: Time,
}

impl Pace {
    pub(super) const fn new(packet_time: TimeDelta) -> Pace {
        Pace { packet_time, due: Time::ZERO, owed: 0, asleep_until: Time::ZERO }
    }

    /// Returns the time of the next token.
    pub(super) fn at(&self) -> Time {
        let left_out = self.packet_time.as_ps().saturating_mul(u64::from(self.owed));
        self.due.saturating_add(TimeDelta::from_ps(left_out)).max(self.asleep_until)
    }

    /// Skips `tokens` tokens in place of free ones; replaces those still owed.
    pub(super) fn owe(&mut self, now: Time, tokens: u32) {
        if now >= self.due {
            let since = now.saturating_since(self.due);
            let passed = since.as_ps() / self.packet_time.as_ps() + 1;
            let paid = passed.min(u64::from(self.owed));
            self.due += TimeDelta::from_ps(paid * self.packet_time.as_ps());
            self.due = self.due.max(now);
        }
        self.owed = tokens;
    }

    /// Handles demand after a time without; that time is not made up for.
    pub(super) fn wanted(&mut self, now: Time) {
        if self.at() <= now {
            (self.due, self.owed) = (now, 0);
        }
    }

    /// Sleeps until `until`, after a token was due without demand.
    pub(super) fn sleep(&mut self, now: Time, until: Time) {
        self.wanted(now);
        self.asleep_until = until;
    }

    /// Returns whether a token fell due without demand.
    pub(super) fn has_passed(&self, now: Time) -> bool {
        self.at() < now
    }

    /// Ends a sleep: a new flow gets a token as soon as one is due.
    pub(super) fn wake(&mut self) {
        self.asleep_until = Time::ZERO;
    }

    /// Counts a token. A NIC busy for longer than a packet time does not catch up.
    pub(super) fn given(&mut self, now: Time) {
        let earliest = now.as_ps().saturating_sub(self.packet_time.as_ps());
        self.due = self.at().max(Time::from_ps(earliest)) + self.packet_time;
        self.owed = 0;
    }
}
