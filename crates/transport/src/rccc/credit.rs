//! The sender's account of a flow: what it may send, and how much it asks for.

use trimline_packet::{Time, TimeDelta};

use super::{QUANTUM, Rule};
use crate::timers::doubled;

/// Time-outs after which a flow asks again although the receiver has heard it, for PULLs may be lost (chosen: uet-htsim
/// has no such time).
const HEARD_TIMEOUTS: u64 = 16;

/// The demand of a flow at the time of a target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// Bytes that were never sent.
    pub(crate) new: u64,
    /// Bytes to be resent.
    pub(crate) again: u64,
    /// What a window beside the credit allows to ask for.
    pub(crate) window: Option<u64>,
    /// Bytes of a full packet.
    pub(crate) packet: u64,
    /// Flows of the host that may send now, this one included.
    pub(crate) active: u32,
}

/// The credit of a flow at its sender.
#[derive(Debug)]
pub(crate) struct Account {
    /// Bytes that may be sent. The last packet may overdraw it.
    left: i64,
    /// The most quanta that a PULL said were granted, modulo 2^32.
    granted: u32,
    /// True until an answer ends the speculation.
    is_speculative: bool,
    /// Time of the last packet with a target, or of the last PULL.
    stated_at: Time,
    /// RTSs in a row without an answer.
    unanswered: u8,
}

impl Account {
    pub(crate) fn new(now: Time, rule: &Rule) -> Account {
        Account {
            left: rule.first as i64,
            granted: 0,
            is_speculative: true,
            stated_at: now,
            unanswered: 0,
        }
    }

    /// Bytes that may be sent; negative if a packet overdrew it.
    pub(crate) const fn left(&self) -> i64 {
        self.left
    }

    /// Returns whether a packet may go: any credit is enough.
    #[inline]
    pub(crate) const fn may_send(&self) -> bool {
        self.left > 0
    }

    pub(crate) fn spend(&mut self, bytes: u64) {
        debug_assert!(self.left > 0, "a packet needs credit");
        self.left -= bytes as i64;
    }

    /// The first answer: the receiver has taken over, and takes back what is left.
    pub(crate) fn stop_speculating(&mut self) {
        if self.is_speculative {
            self.is_speculative = false;
            self.left = self.left.min(0);
        }
    }

    /// Handles a PULL. Old ones change nothing.
    pub(crate) fn pulled(&mut self, now: Time, granted: u32, rule: &Rule) {
        self.stop_speculating();
        let more = granted.wrapping_sub(self.granted) as i32;
        if more > 0 {
            let bytes = i64::from(more) * QUANTUM as i64;
            self.left = (self.left + bytes).min(rule.max as i64);
            self.granted = granted;
        }
        (self.stated_at, self.unanswered) = (now, 0);
    }

    /// Returns the target of a packet that goes now: the count of quanta up to which credit is wanted.
    pub(crate) fn target(&mut self, now: Time, wanted: &Wanted, rule: &Rule) -> u32 {
        self.stated_at = now;
        let limit = wanted.window.unwrap_or(u64::MAX).min(rule.max);
        let backlog = wanted.new.saturating_add(wanted.again).min(limit);
        let mut bytes = backlog as i64 - self.left;
        // uet-htsim: a short flow asks for a packet's credit although it has more, for what may be trimmed.
        if self.is_speculative && wanted.new > 0 {
            bytes = bytes.max(wanted.packet as i64);
        }
        let bytes = bytes / i64::from(wanted.active.max(1));
        let quanta = (bytes + QUANTUM as i64 - 1).div_euclid(QUANTUM as i64);
        self.granted.wrapping_add_signed(quanta as i32)
    }

    /// The time at which a flow without credit asks by RTS. A receiver that has heard it may have many flows to serve
    /// first; data that it has not heard has time-outs of its own.
    pub(crate) fn asks_at(&self, rto: TimeDelta, doublings: u8) -> Time {
        let wait = match self.unanswered {
            0 => rto * HEARD_TIMEOUTS,
            rts => doubled(rto, (rts - 1).min(doublings)),
        };
        self.stated_at.saturating_add(wait)
    }

    /// Returns whether an RTS may go: one in a round trip.
    pub(crate) fn may_ask(&self, now: Time, round_trip: TimeDelta) -> bool {
        now.saturating_since(self.stated_at) >= round_trip
    }

    /// Counts an RTS.
    pub(crate) fn asked(&mut self) {
        self.unanswered = self.unanswered.saturating_add(1);
    }

    /// Handles an ACK, of data or of an RTS.
    pub(crate) fn answered(&mut self, is_of_data: bool) {
        self.stop_speculating();
        if !is_of_data {
            self.unanswered = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::rule;
    use super::*;

    const PACKET: u64 = 4_150;

    fn us(us: u64) -> Time {
        Time::ZERO + TimeDelta::from_us(us)
    }

    fn wanted(new: u64, again: u64) -> Wanted {
        Wanted { new, again, window: None, packet: PACKET, active: 1 }
    }

    /// The target of an account without speculation, credit `left` and 1,000 quanta granted.
    fn target(left: i64, wanted: &Wanted) -> i32 {
        let mut account = Account::new(Time::ZERO, &rule(100));
        account.stop_speculating();
        (account.left, account.granted) = (left, 1_000);
        account.target(Time::ZERO, wanted, &rule(100)).wrapping_sub(1_000) as i32
    }

    #[test]
    fn a_target_is_the_backlog_without_the_credit_in_whole_quanta() {
        assert_eq!(target(0, &wanted(1, 0)), 1);
        assert_eq!(target(0, &wanted(256, 0)), 1);
        assert_eq!(target(0, &wanted(257, 0)), 2);
        assert_eq!(target(0, &wanted(4_000, 150)), 17, "resends count");
        assert_eq!(target(-150, &wanted(4_000, 0)), 17, "an overdraft is asked for too");
        assert_eq!(target(4_000, &wanted(4_000, 0)), 0);
        assert_eq!(target(4_001, &wanted(4_000, 0)), 0);
        assert_eq!(target(4_256, &wanted(4_000, 0)), -1, "more credit than it needs");
    }

    #[test]
    fn a_target_is_bounded_by_the_max_and_by_a_window_and_shared_by_active_flows() {
        assert_eq!(target(0, &wanted(1 << 40, 0)), 160);
        assert_eq!(target(2_560, &wanted(1 << 40, 0)), 150);
        assert_eq!(target(0, &Wanted { window: Some(10_240), ..wanted(1 << 40, 0) }), 40);
        assert_eq!(target(0, &Wanted { window: Some(1 << 50), ..wanted(1 << 40, 0) }), 160);
        assert_eq!(target(0, &Wanted { active: 4, ..wanted(1 << 40, 0) }), 40);
        assert_eq!(target(0, &Wanted { active: 7, ..wanted(1 << 40, 0) }), 23);
    }

    #[test]
    fn speculation_asks_for_a_packet_at_least_while_there_is_new_data() {
        let mut account = Account::new(Time::ZERO, &rule(100));
        assert_eq!(account.target(us(0), &wanted(500, 0), &rule(100)), 17);
        assert_eq!(account.target(us(0), &wanted(0, 0), &rule(100)) as i32, -160);
        account.stop_speculating();
        assert_eq!(account.target(us(0), &wanted(500, 0), &rule(100)), 2);
    }

    #[test]
    fn the_first_answer_takes_back_speculative_credit_but_no_debt() {
        let mut account = Account::new(Time::ZERO, &rule(100));
        account.spend(4_150);
        account.stop_speculating();
        assert_eq!(account.left(), 0);
        account.pulled(us(1), 64, &rule(100));
        account.stop_speculating();
        assert_eq!(account.left(), 16_384, "granted credit stays");
        let mut account = Account::new(Time::ZERO, &rule(100));
        account.spend(41_000);
        account.pulled(us(1), 64, &rule(100));
        assert_eq!(account.left(), 16_384 - 40);
    }

    #[test]
    fn pulls_are_cumulative_and_bounded() {
        let mut account = Account::new(Time::ZERO, &rule(100));
        account.pulled(us(1), 64, &rule(100));
        account.pulled(us(2), 100, &rule(100));
        account.pulled(us(3), 64, &rule(100));
        assert_eq!(account.left(), 25_600, "an old one");
        account.pulled(us(4), 100, &rule(100));
        assert_eq!(account.left(), 25_600, "the same one");
        account.pulled(us(5), 1_000, &rule(100));
        assert_eq!(account.left(), 40_960, "no more than the max");
        account.spend(40_960);
        account.pulled(us(6), 1_001, &rule(100));
        assert_eq!(account.left(), 256, "what was beyond is not made up for");
    }

    #[test]
    fn an_unanswered_rts_is_sent_again_and_one_that_was_heard_waits_for_its_turn() {
        let (rto, rule) = (TimeDelta::from_us(100), rule(100));
        let mut account = Account::new(Time::ZERO, &rule);
        account.target(us(7), &wanted(1, 0), &rule);
        assert_eq!(
            account.asks_at(rto, 6),
            us(1_607),
            "the packet with the target has its own time-out"
        );
        assert!(!account.may_ask(us(16), TimeDelta::from_us(10)));
        assert!(account.may_ask(us(17), TimeDelta::from_us(10)));
        account.target(us(107), &wanted(1, 0), &rule);
        account.asked();
        assert_eq!(account.asks_at(rto, 6), us(207));
        account.asked();
        assert_eq!(account.asks_at(rto, 6), us(307));
        (0..300).for_each(|_| account.asked());
        assert_eq!(account.asks_at(rto, 6), us(107 + 6_400));
        assert_eq!(account.asks_at(rto, 0), us(207), "without doubling");
        account.answered(true);
        assert_eq!(account.asks_at(rto, 6), us(107 + 6_400), "an ACK of data");
        account.answered(false);
        assert_eq!(account.asks_at(rto, 6), us(1_707));
        account.asked();
        account.pulled(us(400), 0, &rule);
        assert_eq!(account.asks_at(rto, 6), us(2_000));
    }
}
