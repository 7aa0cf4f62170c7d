//! The round trip and the retransmission time-out (RFC 6298), in picoseconds.

use trimline_packet::TimeDelta;

use super::config::Config;

/// The estimator of one subflow.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoundTrip {
    /// SRTT; zero before the first sample.
    smoothed: u64,
    /// RTTVAR.
    variation: u64,
    /// RTO without back-off.
    base: u64,
    /// Time-outs since the last sample.
    backoff: u8,
}

impl RoundTrip {
    pub(super) fn new(config: &Config) -> RoundTrip {
        RoundTrip { smoothed: 0, variation: 0, base: config.rto_initial.as_ps(), backoff: 0 }
    }

    /// SRTT, once there was a sample.
    #[inline]
    pub(super) fn smoothed(&self) -> Option<TimeDelta> {
        (self.smoothed != 0).then_some(TimeDelta::from_ps(self.smoothed))
    }

    /// A round trip was measured.
    #[inline]
    pub(super) fn sample(&mut self, measured: TimeDelta, config: &Config) {
        let measured = measured.as_ps().max(1);
        if self.smoothed == 0 {
            // RFC 6298 (2.2)
            self.smoothed = measured;
            self.variation = measured / 2;
        } else {
            // RFC 6298 (2.3): the variation first, by the old mean.
            let off = self.smoothed.abs_diff(measured);
            self.variation = self.variation - self.variation / 4 + off / 4;
            self.smoothed = self.smoothed - self.smoothed / 8 + measured / 8;
        }
        // The clock has no granularity to speak of: G is zero.
        let base = self.smoothed.saturating_add(self.variation.saturating_mul(4));
        self.base = base.max(config.rto_min.as_ps());
        self.backoff = 0;
    }

    /// RFC 6298 (5.5): the time-out doubles.
    pub(super) fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(32);
    }

    /// The time-out was for nothing.
    pub(super) fn forgive(&mut self) {
        self.backoff = 0;
    }

    /// RTO.
    #[inline]
    pub(super) fn timeout(&self, config: &Config) -> TimeDelta {
        let backed_off = u128::from(self.base) << self.backoff;
        let most = u128::from(config.rto_max.as_ps());
        TimeDelta::from_ps(backed_off.min(most) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::config;
    use super::*;

    #[test]
    fn the_estimator_follows_the_rfc() {
        let config = Config { rto_min: TimeDelta::from_us(1), ..config() };
        let mut round_trip = RoundTrip::new(&config);
        assert_eq!(
            (round_trip.smoothed(), round_trip.timeout(&config)),
            (None, config.rto_initial)
        );
        round_trip.sample(TimeDelta::from_us(80), &config);
        // 80 + 4 x 40
        assert_eq!(round_trip.timeout(&config), TimeDelta::from_us(240));
        round_trip.sample(TimeDelta::from_us(160), &config);
        // variation 3/4 x 40 + 1/4 x 80 = 50, mean 7/8 x 80 + 1/8 x 160 = 90
        assert_eq!(round_trip.smoothed(), Some(TimeDelta::from_us(90)));
        assert_eq!(round_trip.timeout(&config), TimeDelta::from_us(290));
    }

    #[test]
    fn the_timeout_doubles_until_a_sample_and_keeps_its_bounds() {
        let config =
            Config { rto_min: TimeDelta::from_ms(10), rto_max: TimeDelta::from_ms(70), ..config() };
        let mut round_trip = RoundTrip::new(&config);
        round_trip.sample(TimeDelta::from_us(80), &config);
        let mut seen = alloc::vec::Vec::new();
        for _ in 0..40 {
            seen.push(round_trip.timeout(&config).as_ps() / 1_000_000_000);
            round_trip.back_off();
        }
        assert_eq!(seen[..5], [10, 20, 40, 70, 70]);
        assert_eq!(seen[39], 70);
        round_trip.sample(TimeDelta::from_us(80), &config);
        assert_eq!(round_trip.timeout(&config), TimeDelta::from_ms(10));
    }
}
