//! The pace of a flow: packets leave at the reaction point's rate, which changes on the way.

use trimline_packet::{Packet, Time};

use super::config::Config;
use super::rate::Reaction;
use crate::pacing::Pacer;

#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    reaction: Reaction,
    pacer: Pacer,
}

impl Pace {
    pub(super) fn new(now: Time, config: &Config, payload: u16) -> Pace {
        let pacer = Pacer::new(now, payload.saturating_add(Packet::HEADER_BYTES));
        Pace { reaction: Reaction::new(config), pacer }
    }

    /// Removes the work done up to `until` at the present rate.
    #[inline]
    fn drain(&mut self, until: Time) {
        self.pacer.drain(until, self.reaction.current_bps());
    }

    #[inline]
    fn advance(&mut self, now: Time, config: &Config) {
        if self.reaction.next_change() <= now {
            self.expire(now, config);
        }
        self.drain(now);
    }

    fn expire(&mut self, now: Time, config: &Config) {
        loop {
            self.reaction.pass(now, config);
            let change = self.reaction.next_change();
            if change > now {
                return;
            }
            // After `pass` only this change can lie before the last drain.
            self.drain(change.max(self.pacer.at()));
            self.reaction.expire(config);
        }
    }

    #[inline]
    pub(super) fn sent(&mut self, now: Time, wire_bytes: u16, config: &Config) {
        self.advance(now, config);
        self.pacer.sent(wire_bytes);
        self.reaction.sent(u64::from(wire_bytes), config);
    }

    pub(super) fn notified(&mut self, now: Time, config: &Config) {
        self.advance(now, config);
        self.reaction.notified(now, config);
    }

    /// Returns the time of the next packet if no CNP comes before; may be in the past.
    #[inline]
    pub(super) fn due(&self, config: &Config) -> Time {
        let mut pace = *self;
        loop {
            let due = pace.pacer.due(pace.reaction.current_bps());
            let change = pace.reaction.next_change();
            if due <= change {
                return due;
            }
            pace.expire(change, config);
        }
    }

    /// Returns rate (bits per second) and `alpha`. `now` must not precede the last call's.
    pub(super) fn rate_and_alpha(&self, now: Time, config: &Config) -> (u64, u64) {
        let mut pace = *self;
        pace.advance(now.max(self.pacer.at()), config);
        (pace.reaction.current_bps(), pace.reaction.alpha_at(now, config))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::config;
    use super::*;
    use proptest::prelude::*;
    use trimline_packet::{BitRate, TimeDelta};

    const FULL: u16 = 9064;
    /// 9064 bytes at 10 Gb/s.
    const GAP_PS: u64 = 7_251_200;

    fn ps(ps: u64) -> Time {
        Time::from_ps(ps)
    }

    #[test]
    fn dcqcn_sends_at_the_line_rate_until_a_notification_halves_it() {
        let config = config();
        let mut pace = Pace::new(Time::ZERO, &config, config.payload_bytes);
        assert_eq!(pace.due(&config), Time::ZERO);
        for number in 0..5 {
            pace.sent(ps(number * GAP_PS), FULL, &config);
            assert_eq!(pace.due(&config), ps((number + 1) * GAP_PS));
        }
        // Half of the gap has gone by: the other half takes twice as long.
        pace.notified(ps(4 * GAP_PS + GAP_PS / 2), &config);
        assert_eq!(pace.due(&config), ps(4 * GAP_PS + GAP_PS / 2 + GAP_PS));
    }

    #[test]
    fn after_a_busy_nic_a_sender_catches_up_by_one_packet() {
        let config = config();
        let mut pace = Pace::new(Time::ZERO, &config, config.payload_bytes);
        pace.sent(Time::ZERO, FULL, &config);
        pace.sent(ps(GAP_PS + 100), FULL, &config);
        assert_eq!(pace.due(&config), ps(2 * GAP_PS), "the next one keeps its time");
        pace.sent(ps(9 * GAP_PS), FULL, &config);
        assert_eq!(pace.due(&config), ps(9 * GAP_PS));
        pace.sent(ps(9 * GAP_PS), FULL, &config);
        assert_eq!(pace.due(&config), ps(10 * GAP_PS));
    }

    /// The flow is so slow that its rate rises several times in a gap.
    #[test]
    fn a_rate_increase_between_two_packets_advances_the_next_packet() {
        let config = config();
        let mut pace = Pace::new(Time::ZERO, &config, config.payload_bytes);
        for _ in 0..10 {
            pace.notified(Time::ZERO, &config);
        }
        // At 10 Mb/s and a target of 19.5 Mb/s.
        pace.sent(Time::ZERO, FULL, &config);
        let mut rate = 10_000_000_u64;
        let mut target = 19_531_250_u64;
        let (mut bits_ps, mut stage) = (u128::from(FULL) * 8 * 1_000_000_000_000, 0);
        let step_ps = 55_000_000;
        while bits_ps > u128::from(rate) * u128::from(step_ps) {
            bits_ps -= u128::from(rate) * u128::from(step_ps);
            stage += 1;
            target += if stage > 5 { 40_000_000 } else { 0 };
            rate = (rate + target).div_ceil(2);
        }
        let expected = stage * step_ps + bits_ps.div_ceil(u128::from(rate)) as u64;
        assert_eq!(pace.due(&config).as_ps(), expected);
        assert!(stage > 6 && expected < 1_000_000_000, "and not 7.25 ms: {expected}");
    }

    proptest! {
        /// Updates change no result, however often they are made.
        #[test]
        fn additional_updates_change_no_rate(
            steps in prop::collection::vec((0u64..400_000_000, 0u8..4), 1..60),
            min in 1u64..200,
        ) {
            let config = Config { min_rate: BitRate::from_bps(min * 1_000_000), ..config() };
            let mut seldom = Pace::new(Time::ZERO, &config, config.payload_bytes);
            let mut often = seldom;
            let mut now = Time::ZERO;
            for (gap, what) in steps {
                let begin = now;
                now += TimeDelta::from_ps(gap);
                for part in 1..=7 {
                    often.advance(begin + TimeDelta::from_ps(gap / 7 * part), &config);
                }
                match what {
                    0 => [&mut seldom, &mut often].map(|pace| pace.notified(now, &config)),
                    1 => continue,
                    _ if seldom.due(&config) > now => continue,
                    _ => [&mut seldom, &mut often].map(|pace| pace.sent(now, FULL, &config)),
                };
                prop_assert_eq!(seldom.due(&config), often.due(&config));
                prop_assert_eq!(seldom.rate_and_alpha(now, &config), often.rate_and_alpha(now, &config));
            }
        }
    }
}
