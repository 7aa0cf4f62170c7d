//! When a receiver's next token goes: one each packet time, and none in place of a free one.

use trimline_packet::{Time, TimeDelta};

/// The times at which a receiver gives tokens.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// From one token to the next.
    packet_time: TimeDelta,
    /// The next token, or the first that is left out, goes no sooner.
    due: Time,
    /// Tokens that are left out.
    owed: u32,
    /// Nor before.
    asleep_until: Time,
}

impl Pace {
    /// A receiver that has given no token.
    pub(super) const fn new(packet_time: TimeDelta) -> Pace {
        Pace { packet_time, due: Time::ZERO, owed: 0, asleep_until: Time::ZERO }
    }

    /// No token goes before.
    pub(super) fn at(&self) -> Time {
        let left_out = self.packet_time.as_ps().saturating_mul(u64::from(self.owed));
        self.due.saturating_add(TimeDelta::from_ps(left_out)).max(self.asleep_until)
    }

    /// So many packets come on free tokens: as many are left out, instead of what was still owed.
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

    /// Somebody wants a token, after a time in which nobody did: that time is not made up for.
    pub(super) fn wanted(&mut self, now: Time) {
        if self.at() <= now {
            (self.due, self.owed) = (now, 0);
        }
    }

    /// Nobody wanted a token when one was due, and nobody is asked before a time.
    pub(super) fn sleep(&mut self, now: Time, until: Time) {
        self.wanted(now);
        self.asleep_until = until;
    }

    /// Whether a token was due, and nobody wanted it.
    pub(super) fn has_passed(&self, now: Time) -> bool {
        self.at() < now
    }

    /// A flow is heard of: a token goes as soon as one is due.
    pub(super) fn wake(&mut self) {
        self.asleep_until = Time::ZERO;
    }

    /// A token goes. A NIC that was busy longer than a packet time is not made up for.
    pub(super) fn given(&mut self, now: Time) {
        let earliest = now.as_ps().saturating_sub(self.packet_time.as_ps());
        self.due = self.at().max(Time::from_ps(earliest)) + self.packet_time;
        self.owed = 0;
    }
}
