//! The round trip and the retransmission time-out (RFC 6298), in picoseconds.

use trimline_packet::TimeDelta;

use super::config::Config;

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

    /// Returns SRTT, once there was a sample.
    #[inline]
    pub(super) fn smoothed(&self) -> Option<TimeDelta> {
        (self.smoothed != 0).then_some(TimeDelta::from_ps(self.smoothed))
    }

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
        // RFC 6298 (2.3): max(G, 4 RTTVAR).
        let variance = self.variation.saturating_mul(4).max(self.variance_min(config));
        let base = self.smoothed.saturating_add(variance);
        self.base = base.max(config.rto_min.as_ps());
        self.backoff = 0;
    }

    /// Returns the min of 4 RTTVAR, in picoseconds. On a steady path RTTVAR vanishes, and without a min the timer would
    /// fire when a repair of one round trip ends.
    #[inline]
    fn variance_min(&self, config: &Config) -> u64 {
        if !config.rto_margin {
            return config.rto_variance_min.as_ps();
        }
        // Chosen: the two segments that limited transmit (RFC 3042) sends ahead of a retransmission take half a round
        // trip if the window is four segments and the link is full.
        let repair = self.smoothed / 2;
        // RFC 9002 6.2.1: delayed ACKs may add this.
        let delay = if config.ack_every > 1 { config.ack_delay.as_ps() } else { 0 };
        repair.saturating_add(delay).max(config.rto_variance_min.as_ps())
    }

    /// RFC 6298 (5.5): doubles the time-out.
    pub(super) fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(32);
    }

    /// Undoes back-off after a spurious time-out.
    pub(super) fn forgive(&mut self) {
        self.backoff = 0;
    }

    #[inline]
    pub(super) fn timeout(&self, config: &Config) -> TimeDelta {
        self.backed_off(self.base, config)
    }

    /// Returns the time-out of a SYN without data.
    pub(super) fn syn_timeout(&self, config: &Config) -> TimeDelta {
        self.backed_off(config.syn_timeout.as_ps(), config)
    }

    #[inline]
    fn backed_off(&self, base: u64, config: &Config) -> TimeDelta {
        let backed_off = u128::from(base) << self.backoff;
        let max = u128::from(config.rto_max.as_ps());
        TimeDelta::from_ps(backed_off.min(max) as u64)
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

    /// RFC 6298 (2.3), Linux `tcp_rtt_estimator`: on a steady path the min of 4 RTTVAR applies.
    #[test]
    fn the_variance_has_a_minimum_on_a_steady_path() {
        let (us, ms) = (TimeDelta::from_us, TimeDelta::from_ms);
        let timeout = |round: TimeDelta, config: Config| {
            let mut round_trip = RoundTrip::new(&config);
            (0..1000).for_each(|_| round_trip.sample(round, &config));
            round_trip.timeout(&config).as_ps().div_ceil(1_000_000)
        };
        let linux = Config { rto_min: ms(200), rto_variance_min: ms(200), ..config() };
        assert_eq!(timeout(ms(300), linux.clone()), 500_000);
        assert_eq!(timeout(us(80), linux.clone()), 200_080);
        assert_eq!(timeout(ms(600), linux), 900_000);
        // The RTO has its own minimum.
        assert_eq!(timeout(us(80), config()), 10_000);
        let datacenter = Config { ack_delay: ms(1), rto_min: us(1), ..config() };
        assert_eq!(timeout(us(80), datacenter.clone()), 120);
        assert_eq!(timeout(us(80), Config { ack_every: 2, ..datacenter }), 1_120);
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
