//! Settings of a pacer.

use alloc::format;
use alloc::vec::Vec;

use trimline_packet::fluid::{Clock, Volume};
use trimline_packet::units::PICOSECONDS_PER_SECOND;
use trimline_packet::{BitRate, ByteCount, SettingFault, TimeDelta};

use super::rate::Law;

/// The rate of the links in HULL's large simulation (6.3): the fastest for which the paper gives settings.
const SIMULATED_AT: BitRate = BitRate::from_gbps(10);

const BILLION: u32 = 1_000_000_000;

/// The bytes that the rate follows: M_r of equation (4). The paper gives both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measured {
    /// Paced packets, dropped ones included (HULL 4.2, footnote 2).
    Paced,
    /// All packets that the host sends (HULL 4.2, the text); with several buckets, each flow at its bucket.
    FromHost,
}

/// Settings of the pacer of a host. Shares are in billionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacerSettings {
    /// Time between two updates of the rate, T_r.
    pub interval: TimeDelta,
    /// Weight of the last sample, eta.
    pub gain: u32,
    /// Rate added per byte of backlog and update, beta, in B/s.
    pub backlog_gain: u64,
    /// The bytes that are measured.
    pub measured: Measured,
    /// First rate, within the bounds; `None`: the line's.
    pub first_rate: Option<BitRate>,
    /// The min rate.
    pub min_rate: BitRate,
    /// The bucket's rate is a multiple of this.
    pub rate_step: BitRate,
    /// Tokens that a bucket holds.
    pub bucket: ByteCount,
    /// The times at which tokens come.
    pub clock: Clock,
    /// Bytes of packets that each bucket's FIFO holds.
    pub queue: ByteCount,
    /// Token buckets, each with a FIFO (HULL 4.2, remark 4). A flow stays with one.
    pub buckets: u8,
    /// Probability that a congestion echo associates its flow, p_a.
    pub association_chance: u32,
    /// Time after the last echo at which a flow's association ends, T_i.
    pub association_lifetime: TimeDelta,
    /// Max number of associated flows.
    pub flows: u16,
}

impl PacerSettings {
    /// The testbed's settings, at 1 Gb/s (HULL table 3, 5.1). First rate: the line's (chosen; not in the paper).
    pub const fn testbed() -> PacerSettings {
        PacerSettings {
            interval: TimeDelta::from_us(64),
            gain: BILLION / 8,
            backlog_gain: 16,
            measured: Measured::Paced,
            first_rate: None,
            min_rate: BitRate::from_bps(500_000),
            rate_step: BitRate::from_bps(500_000),
            bucket: ByteCount::new(3_000),
            clock: Clock::Tick(TimeDelta::from_us(16)),
            queue: ByteCount::new(128_000),
            buckets: 1,
            association_chance: BILLION / 8,
            association_lifetime: TimeDelta::from_ms(10),
            flows: 64,
        }
    }

    /// The large simulation's settings, at 10 Gb/s (HULL 6.3). Others are the testbed's, except the tick: a bucket of 3
    /// KB per 16 us would pass at most 1.5 Gb/s.
    pub const fn simulated() -> PacerSettings {
        PacerSettings {
            interval: TimeDelta::from_ns(7_200),
            backlog_gain: 375,
            association_lifetime: TimeDelta::from_ms(1),
            clock: Clock::Continuous,
            ..PacerSettings::testbed()
        }
    }

    /// Settings for a link: the testbed's below 10 Gb/s, otherwise the large simulation's. Above 10 Gb/s a FIFO holds
    /// what the link sends in the time of 128 KB at 10 Gb/s (chosen: the paper has no faster link).
    pub fn for_link(link: BitRate) -> PacerSettings {
        if link < SIMULATED_AT {
            return PacerSettings::testbed();
        }
        let base = PacerSettings::simulated();
        PacerSettings { queue: ByteCount::new(link.scale(base.queue.get(), SIMULATED_AT)), ..base }
    }

    /// Checks the settings for a link of this rate and packets of up to `largest_packet` bytes ([`wire_bytes`]).
    ///
    /// [`wire_bytes`]: trimline_packet::Packet::wire_bytes
    ///
    /// # Errors
    /// Returns the first invalid setting.
    pub fn check(&self, link: BitRate, largest_packet: u16) -> Result<PacerModel, SettingFault> {
        self.check_rates(link)?;
        self.check_table()?;
        let queue_bytes = self.check_queue(largest_packet)?;
        Ok(PacerModel {
            law: Law {
                interval: self.interval,
                gain: self.gain,
                backlog_gain: self.backlog_gain,
                min: self.min_rate,
                max: link,
                step: self.rate_step,
            },
            first_rate: self.first_rate.unwrap_or(link),
            measured: self.measured,
            depth: Volume::of(self.bucket),
            clock: self.clock,
            queue_bytes,
            largest_packet,
            buckets: self.buckets,
            association_probability: self.association_chance,
            lifetime: self.association_lifetime,
            flows: self.flows,
        })
    }

    fn check_rates(&self, link: BitRate) -> Result<(), SettingFault> {
        // Rates are averaged in 2^-16 b/s, in 64 bits.
        const MAX: BitRate = BitRate::from_bps(1 << 47);
        let share = |billionths| format!("{billionths} billionths");
        if self.interval == TimeDelta::ZERO {
            let fault = SettingFault::new("interval", self.interval, "measures nothing");
            return Err(fault.nearest(TimeDelta::from_ps(1)));
        }
        if self.gain == 0 || self.gain > BILLION {
            let reason = "is no weight above 0 and up to 1: the rate would not follow the flows'";
            let fault = SettingFault::new("gain", share(self.gain), reason);
            return Err(fault.nearest(share(self.gain.clamp(1, BILLION))));
        }
        for (key, rate) in [("min_rate", self.min_rate), ("rate_step", self.rate_step)] {
            if rate > link {
                let fault = SettingFault::new(key, rate, "is above the link's rate");
                return Err(fault.nearest(link));
            }
        }
        if link > MAX {
            let reason = "is more than a pacer can count";
            return Err(SettingFault::new("link", link, reason).nearest(MAX));
        }
        if self.clock == Clock::Tick(TimeDelta::ZERO) {
            let fault = SettingFault::new("clock", "a tick of no time", "never comes");
            return Err(fault.nearest("continuous"));
        }
        Ok(())
    }

    fn check_table(&self) -> Result<(), SettingFault> {
        let share = |billionths| format!("{billionths} billionths");
        if self.association_chance == 0 || self.association_chance > BILLION {
            let reason = "is no probability above 0: no flow would ever be paced";
            let reason = if self.association_chance == 0 { reason } else { "is above 1" };
            let fault =
                SettingFault::new("association_chance", share(self.association_chance), reason);
            return Err(fault.nearest(share(self.association_chance.clamp(1, BILLION))));
        }
        if self.association_lifetime == TimeDelta::ZERO {
            let (value, reason) = (self.association_lifetime, "ends as it begins");
            let fault = SettingFault::new("association_lifetime", value, reason);
            return Err(fault.nearest(TimeDelta::from_ps(1)));
        }
        for (key, count) in [("flows", self.flows), ("buckets", self.buckets.into())] {
            if count == 0 {
                return Err(SettingFault::new(key, count, "paces nothing").nearest(1));
            }
        }
        Ok(())
    }

    fn check_queue(&self, largest_packet: u16) -> Result<u32, SettingFault> {
        let packet = ByteCount::new(largest_packet.into());
        for (key, bytes, reason) in [
            ("bucket", self.bucket, "which would never have the tokens to leave"),
            ("queue", self.queue, "which would always be dropped"),
        ] {
            if bytes < packet {
                let reason = format!("is less than a packet of {packet}, {reason}");
                return Err(SettingFault::new(key, bytes, reason).nearest(packet));
            }
        }
        u32::try_from(self.queue.get()).map_err(|_| {
            let max = ByteCount::new(u32::MAX.into());
            SettingFault::new("queue", self.queue, "is more than a pacer can count").nearest(max)
        })
    }

    /// Allowed but suspicious settings for a link of this rate.
    pub fn warnings(&self, link: BitRate) -> Vec<SettingFault> {
        let mut warnings = Vec::new();
        // Equation (4) with a backlog that grows by (M / T_r - R) T_r is linear, and stable for beta T_r < eta.
        let interval = u128::from(self.interval.as_ps());
        let pushed = u128::from(self.backlog_gain) * interval;
        let gain = u128::from(self.gain) * u128::from(PICOSECONDS_PER_SECOND / u64::from(BILLION));
        if pushed >= gain && interval > 0 {
            let reason = "times the interval is not below the gain: the rate oscillates";
            let max = gain.div_ceil(interval).saturating_sub(1);
            let fault = SettingFault::new("backlog_gain", self.backlog_gain, reason);
            warnings.push(if max > 0 { fault.nearest(max) } else { fault });
        }
        if self.backlog_gain == 0 {
            let reason = "never lets a backlog go that the rate just carries";
            warnings.push(SettingFault::new("backlog_gain", 0, reason).nearest(1));
        }
        if let Clock::Tick(tick) = self.clock
            && link.bytes_in(tick) > self.bucket
            && tick > TimeDelta::ZERO
        {
            let bits = u128::from(self.bucket.get()) * 8 * u128::from(PICOSECONDS_PER_SECOND);
            let max = u64::try_from(bits / u128::from(tick.as_ps())).unwrap_or(u64::MAX);
            let reason = format!(
                "fills a bucket of {} at {}: paced flows get no more of a link of {link}",
                self.bucket,
                BitRate::from_bps(max.max(1))
            );
            let fault = SettingFault::new("clock", format!("a tick of {tick}"), reason);
            warnings.push(fault.nearest("continuous"));
        }
        warnings
    }
}

/// Checked settings, shared by pacers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacerModel {
    pub(super) law: Law,
    pub(super) first_rate: BitRate,
    pub(super) measured: Measured,
    pub(super) depth: Volume,
    pub(super) clock: Clock,
    pub(super) queue_bytes: u32,
    pub(super) largest_packet: u16,
    pub(super) buckets: u8,
    pub(super) association_probability: u32,
    pub(super) lifetime: TimeDelta,
    pub(super) flows: u16,
}

#[cfg(test)]
mod tests {
    use alloc::string::{String, ToString};

    use super::*;

    const GIGABIT: BitRate = BitRate::from_gbps(1);

    fn check(change: impl FnOnce(&mut PacerSettings), expected: &str) {
        let mut settings = PacerSettings::testbed();
        change(&mut settings);
        let checked = settings.check(GIGABIT, 1514);
        let said = checked.map_or_else(|fault| fault.to_string(), |_| "right".into());
        assert_eq!(said, expected);
    }

    #[test]
    fn an_invalid_pacer_is_refused() {
        check(|_| {}, "right");
        check(
            |s| s.interval = TimeDelta::ZERO,
            "`interval` of 0.000000 us measures nothing; nearest: 0.000001 us",
        );
        check(
            |s| s.gain = 0,
            "`gain` of 0 billionths is no weight above 0 and up to 1: the rate would not follow the flows'; nearest: 1 billionths",
        );
        check(
            |s| s.gain = BILLION + 1,
            "`gain` of 1000000001 billionths is no weight above 0 and up to 1: the rate would not follow the flows'; nearest: 1000000000 billionths",
        );
        check(
            |s| s.min_rate = BitRate::from_gbps(2),
            "`min_rate` of 2 Gb/s is above the link's rate; nearest: 1 Gb/s",
        );
        check(
            |s| s.rate_step = BitRate::from_gbps(2),
            "`rate_step` of 2 Gb/s is above the link's rate; nearest: 1 Gb/s",
        );
        check(
            |s| s.clock = Clock::Tick(TimeDelta::ZERO),
            "`clock` of a tick of no time never comes; nearest: continuous",
        );
        check(
            |s| s.association_chance = 0,
            "`association_chance` of 0 billionths is no probability above 0: no flow would ever be paced; nearest: 1 billionths",
        );
        check(
            |s| s.association_chance = u32::MAX,
            "`association_chance` of 4294967295 billionths is above 1; nearest: 1000000000 billionths",
        );
        check(
            |s| s.association_lifetime = TimeDelta::ZERO,
            "`association_lifetime` of 0.000000 us ends as it begins; nearest: 0.000001 us",
        );
        check(|s| s.flows = 0, "`flows` of 0 paces nothing; nearest: 1");
        check(|s| s.buckets = 0, "`buckets` of 0 paces nothing; nearest: 1");
        check(
            |s| s.bucket = ByteCount::new(1513),
            "`bucket` of 1513 B is less than a packet of 1514 B, which would never have the tokens to leave; nearest: 1514 B",
        );
        check(
            |s| s.queue = ByteCount::new(1513),
            "`queue` of 1513 B is less than a packet of 1514 B, which would always be dropped; nearest: 1514 B",
        );
        check(
            |s| s.queue = ByteCount::new(1 << 32),
            "`queue` of 4294967296 B is more than a pacer can count; nearest: 4294967295 B",
        );
        check(|s| s.bucket = ByteCount::new(1514), "right");
    }

    #[test]
    fn a_fifo_holds_more_bytes_on_a_faster_link() {
        let of = |gbps| PacerSettings::for_link(BitRate::from_gbps(gbps));
        assert_eq!((of(1), of(9)), (PacerSettings::testbed(), PacerSettings::testbed()));
        assert_eq!(of(10), PacerSettings::simulated());
        let queue = ByteCount::new(5_120_000);
        assert_eq!(of(400), PacerSettings { queue, ..PacerSettings::simulated() });
    }

    fn warned(settings: PacerSettings, link: BitRate) -> Vec<String> {
        settings.warnings(link).iter().map(ToString::to_string).collect()
    }

    /// HULL 4.4 sweeps beta to 2^14; with table 3's other constants the rate oscillates from 1954 on.
    #[test]
    fn suspicious_pacer_settings_are_warned_of() {
        assert_eq!(warned(PacerSettings::testbed(), GIGABIT), [""; 0]);
        assert_eq!(warned(PacerSettings::simulated(), BitRate::from_gbps(10)), [""; 0]);
        let beta = |backlog_gain| PacerSettings { backlog_gain, ..PacerSettings::testbed() };
        assert_eq!(warned(beta(1953), GIGABIT), [""; 0]);
        assert_eq!(
            warned(beta(1954), GIGABIT),
            [
                "`backlog_gain` of 1954 times the interval is not below the gain: the rate oscillates; nearest: 1953"
            ]
        );
        assert_eq!(
            warned(beta(0), GIGABIT),
            ["`backlog_gain` of 0 never lets a backlog go that the rate just carries; nearest: 1"]
        );
        assert_eq!(
            warned(PacerSettings::testbed(), BitRate::from_gbps(10)),
            [
                "`clock` of a tick of 16.000000 us fills a bucket of 3000 B at 1500 Mb/s: paced flows get no more of a link of 10 Gb/s; nearest: continuous"
            ]
        );
    }
}
