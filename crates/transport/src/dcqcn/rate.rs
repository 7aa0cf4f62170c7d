//! The reaction point: the rate of a flow, changed by CNPs, time and bytes (DCQCN 3.1, Figure 7).
//!
//! It needs no host timer: each caller applies expired changes, in order, and the result does not depend on when.

use trimline_packet::{Time, TimeDelta};

use super::config::Config;

/// `alpha` of 1, in units of 2^-32.
pub const ALPHA_ONE: u64 = 1 << 32;

/// Min timer of a rate. Shorter ones would expire very often between packets of a slow flow.
pub const MIN_TIMER: TimeDelta = TimeDelta::from_us(1);

/// The rate of one flow. Before the first CNP it is the line rate, and no timer runs (chosen, as in HPCC's simulator):
/// earlier time and bytes do not count.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reaction {
    current_bps: u64,
    target_bps: u64,
    /// In 2^-32.
    alpha: u64,
    /// Time at which `alpha` falls next without a CNP.
    alpha_due: Time,
    /// Time of the next rise; [`Time::NEVER`] before the first CNP.
    increase_due: Time,
    bytes_left: u64,
    /// Increases by time and by bytes since the last CNP.
    timer_stage: u32,
    byte_stage: u32,
}

impl Reaction {
    pub(super) fn new(config: &Config) -> Reaction {
        let line_bps = config.line_rate.as_bps();
        Reaction {
            current_bps: line_bps,
            target_bps: line_bps,
            alpha: ALPHA_ONE,
            alpha_due: Time::NEVER,
            increase_due: Time::NEVER,
            bytes_left: config.increase_bytes.get(),
            timer_stage: 0,
            byte_stage: 0,
        }
    }

    /// R_C.
    #[inline]
    pub(super) fn current_bps(&self) -> u64 {
        self.current_bps
    }

    #[inline]
    pub(super) fn next_change(&self) -> Time {
        self.increase_due
    }

    pub(super) fn expire(&mut self, config: &Config) {
        self.timer_stage = self.timer_stage.saturating_add(1);
        self.increase_due = self.increase_due.saturating_add(config.increase_timer);
        self.increase(config);
    }

    /// Counts the expiries before `now` at once: at the line rate they change nothing else.
    pub(super) fn pass(&mut self, now: Time, config: &Config) {
        if self.increase_due >= now || self.current_bps < config.line_rate.as_bps() {
            return;
        }
        let period_ps = config.increase_timer.as_ps();
        let periods = (now - self.increase_due).as_ps() / period_ps;
        self.timer_stage =
            self.timer_stage.saturating_add(u32::try_from(periods).unwrap_or(u32::MAX));
        self.increase_due += TimeDelta::from_ps(periods * period_ps);
    }

    #[inline]
    pub(super) fn sent(&mut self, bytes: u64, config: &Config) {
        if self.increase_due == Time::NEVER {
            return;
        }
        if bytes < self.bytes_left {
            self.bytes_left -= bytes;
            return;
        }
        // Excess bytes count for the next increase.
        self.bytes_left =
            (config.increase_bytes.get() + self.bytes_left).saturating_sub(bytes).max(1);
        self.byte_stage = self.byte_stage.saturating_add(1);
        self.increase(config);
    }

    /// Applies fast recovery, additive or hyper increase, by the counts of time and bytes.
    fn increase(&mut self, config: &Config) {
        let (timer, bytes) = (self.timer_stage, self.byte_stage);
        let step_bps = if timer.max(bytes) <= config.recoveries {
            0
        } else if timer.min(bytes) > config.recoveries {
            // As QCN has it: the step grows each time.
            let times = u64::from(timer.min(bytes) - config.recoveries);
            config.hyper_increase.as_bps().saturating_mul(times)
        } else {
            config.additive_increase.as_bps()
        };
        let line_bps = config.line_rate.as_bps();
        self.target_bps = self.target_bps.saturating_add(step_bps).min(line_bps);
        // Rounded up, so that the rate reaches its target.
        self.current_bps = u64::midpoint(self.target_bps, self.current_bps + 1).min(line_bps);
    }

    pub(super) fn notified(&mut self, now: Time, config: &Config) {
        self.alpha = self.alpha_at(now, config);
        self.target_bps = self.current_bps;
        let cut = u128::from(self.current_bps) * u128::from(self.alpha) / u128::from(2 * ALPHA_ONE);
        self.current_bps = (self.current_bps - cut as u64).max(config.min_rate.as_bps());
        self.alpha =
            self.alpha - (self.alpha >> config.gain_shift) + (ALPHA_ONE >> config.gain_shift);
        self.alpha_due = now.saturating_add(config.alpha_timer);
        self.increase_due = now.saturating_add(config.increase_timer);
        self.bytes_left = config.increase_bytes.get();
        (self.timer_stage, self.byte_stage) = (0, 0);
    }

    /// Returns `alpha` at `now`: it falls once per timer without a CNP.
    pub(super) fn alpha_at(&self, now: Time, config: &Config) -> u64 {
        let mut alpha = self.alpha;
        if now < self.alpha_due {
            return alpha;
        }
        let times = 1 + (now - self.alpha_due).as_ps() / config.alpha_timer.as_ps();
        for _ in 0..times {
            let less = alpha >> config.gain_shift;
            if less == 0 {
                break;
            }
            alpha -= less;
        }
        alpha
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::config;
    use super::*;
    use trimline_packet::{BitRate, ByteCount};

    const LINE_BPS: u64 = 10_000_000_000;

    fn us(us: u64) -> Time {
        Time::from_ps(us * 1_000_000)
    }

    fn raised(reaction: &mut Reaction, config: &Config, times: u64) -> u64 {
        for _ in 0..times {
            reaction.expire(config);
        }
        reaction.current_bps()
    }

    #[test]
    fn a_first_notification_halves_the_rate_and_five_recoveries_restore_all_but_a_64th() {
        let config = config();
        let mut reaction = Reaction::new(&config);
        assert_eq!((reaction.current_bps(), reaction.next_change()), (LINE_BPS, Time::NEVER));
        reaction.notified(us(7), &config);
        assert_eq!(reaction.current_bps(), LINE_BPS / 2);
        for (number, denominator) in [4u64, 8, 16, 32, 64].into_iter().enumerate() {
            assert_eq!(reaction.next_change(), us(7 + 55 * (number as u64 + 1)));
            let rate = raised(&mut reaction, &config, 1);
            assert_eq!(rate, LINE_BPS / denominator * (denominator - 1), "{denominator}");
        }
    }

    #[test]
    fn alpha_falls_by_its_gain_for_each_timer_without_a_notification() {
        let config = config();
        let mut reaction = Reaction::new(&config);
        assert_eq!(reaction.alpha_at(us(1_000_000), &config), ALPHA_ONE, "none before the first");
        reaction.notified(us(10), &config);
        assert_eq!(reaction.alpha_at(us(10), &config), ALPHA_ONE, "one stays one");
        for times in 1..=12u32 {
            let at = us(10 + 55 * u64::from(times));
            // 255^n / 256^n of 2^32, each step rounded up.
            let exact = (255u128.pow(times) << 32) / 256u128.pow(times);
            let alpha = u128::from(reaction.alpha_at(at, &config));
            assert!((exact..=exact + u128::from(times)).contains(&alpha), "{times}: {alpha}");
            let before = reaction.alpha_at(Time::from_ps(at.as_ps() - 1), &config);
            assert!(u128::from(before) > alpha, "not before its time");
        }
        // It falls below half after 178 timers: ln 2 x 256 = 177.4.
        let side = ALPHA_ONE / 2;
        assert!(reaction.alpha_at(us(10 + 55 * 177), &config) > side);
        assert!(reaction.alpha_at(us(10 + 55 * 178), &config) < side);
        assert!(reaction.alpha_at(us(100_000_000), &config) < 1 << 9, "it falls to nothing");
    }

    #[test]
    fn a_notification_raises_alpha_by_its_gain_and_cuts_the_rate_by_the_old_alpha() {
        let config = config();
        let mut reaction = Reaction::new(&config);
        reaction.notified(us(0), &config);
        let at = us(55 * 10);
        let alpha = reaction.alpha_at(at, &config);
        let rate = raised(&mut reaction, &config, 10);
        reaction.notified(at, &config);
        let cut = (u128::from(rate) * u128::from(alpha)) >> 33;
        assert_eq!(u128::from(reaction.current_bps()), u128::from(rate) - cut);
        let raised = alpha - (alpha >> 8) + (ALPHA_ONE >> 8);
        assert_eq!(reaction.alpha_at(at, &config), raised);
        assert_eq!(reaction.next_change(), us(55 * 11));
    }

    #[test]
    fn the_target_rises_after_fast_recovery_and_faster_after_the_byte_counter() {
        let config = Config { increase_bytes: ByteCount::new(1000), ..config() };
        let mut reaction = Reaction::new(&config);
        reaction.notified(us(0), &config);
        let low = raised(&mut reaction, &config, 5);
        assert_eq!(reaction.target_bps, LINE_BPS);
        // A second one: the target is where the rate was.
        reaction.notified(us(0), &config);
        assert_eq!(reaction.target_bps, low);
        raised(&mut reaction, &config, 5);
        assert_eq!(reaction.target_bps, low, "five recoveries");
        raised(&mut reaction, &config, 1);
        assert_eq!(reaction.target_bps, low + 40_000_000, "then 40 Mb/s");
        // Bytes come round five times: still additive, as both must be beyond.
        (0..5).for_each(|_| reaction.sent(1000, &config));
        assert_eq!(reaction.target_bps, (low + 6 * 40_000_000).min(LINE_BPS));
        let target = reaction.target_bps;
        reaction.target_bps = 1_000_000_000;
        reaction.sent(1000, &config);
        assert_eq!(reaction.target_bps, 1_400_000_000, "hyper, by once the step");
        raised(&mut reaction, &config, 1);
        assert_eq!(reaction.target_bps, 1_800_000_000, "bytes have come round once beyond");
        reaction.sent(1000, &config);
        assert_eq!(reaction.target_bps, 2_600_000_000, "both have twice");
        assert!(target <= LINE_BPS);
    }

    #[test]
    fn the_byte_counter_restarts_at_a_notification_and_keeps_a_remainder() {
        let config = Config { increase_bytes: ByteCount::new(1000), ..config() };
        let mut reaction = Reaction::new(&config);
        reaction.sent(999, &config);
        reaction.notified(us(0), &config);
        reaction.sent(999, &config);
        assert_eq!(reaction.current_bps(), LINE_BPS / 2);
        reaction.sent(101, &config);
        assert_eq!(reaction.current_bps(), LINE_BPS / 4 * 3);
        reaction.sent(899, &config);
        assert_eq!(reaction.current_bps(), LINE_BPS / 4 * 3);
        reaction.sent(1, &config);
        assert_eq!(reaction.current_bps(), LINE_BPS / 8 * 7);
    }

    #[test]
    fn the_rate_keeps_its_bounds() {
        let min_rate = BitRate::from_bps(3_000_000);
        let config = Config { min_rate, ..config() };
        let mut reaction = Reaction::new(&config);
        for _ in 0..40 {
            reaction.notified(us(0), &config);
        }
        assert_eq!(reaction.current_bps(), 3_000_000);
        raised(&mut reaction, &config, 2_000);
        assert_eq!(reaction.current_bps(), LINE_BPS);
        // Skipping expiries that change nothing is the same as applying them.
        let mut other = reaction;
        reaction.pass(us(55 * 5000 + 3), &config);
        raised(&mut other, &config, 2999);
        assert_eq!(reaction.increase_due, other.increase_due);
        assert_eq!(reaction.timer_stage, other.timer_stage);
    }
}
