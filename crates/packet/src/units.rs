//! Exact integer units: picoseconds, bytes and bits per second.
//!
//! Units never convert by accident: `Time + Time` does not compile, and floating point is not used. Fractions of a
//! picosecond round up, so that no packet arrives before its last bit.

use core::fmt;
use core::ops::{Add, AddAssign, Mul, Sub, SubAssign};

/// Picoseconds in one second.
pub const PICOSECONDS_PER_SECOND: u64 = 1_000_000_000_000;

/// A point in time, in picoseconds since the start of the run.
///
/// ```
/// use trimline_packet::{Time, TimeDelta};
///
/// let sent = Time::ZERO + TimeDelta::from_us(3);
/// let timer = sent + TimeDelta::from_ms(1);
/// assert_eq!(timer - sent, TimeDelta::from_ms(1));
/// assert_eq!(sent.saturating_since(timer), TimeDelta::ZERO);
/// assert!(timer < Time::NEVER, "an unarmed timer is later");
/// assert_eq!(timer.to_string(), "1003.000000 us");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Time(u64);

impl Time {
    /// Start of the run.
    pub const ZERO: Time = Time(0);
    /// Later than every event: deadline of an unarmed timer.
    pub const NEVER: Time = Time(u64::MAX);

    /// Creates a time from picoseconds since the start.
    pub const fn from_ps(ps: u64) -> Time {
        Time(ps)
    }

    /// Picoseconds since the start.
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Time since `earlier`, zero if `earlier` is later.
    pub const fn saturating_since(self, earlier: Time) -> TimeDelta {
        TimeDelta(self.0.saturating_sub(earlier.0))
    }

    /// Adds `delta`, up to [`Time::NEVER`].
    pub const fn saturating_add(self, delta: TimeDelta) -> Time {
        Time(self.0.saturating_add(delta.0))
    }

    /// Converts to a clock that was set back by `by`: older instants become [`Time::ZERO`]; [`Time::NEVER`] stays.
    pub const fn set_back(self, by: TimeDelta) -> Time {
        match self {
            Time::NEVER => Time::NEVER,
            Time(ps) => Time(ps.saturating_sub(by.0)),
        }
    }
}

/// A span of time in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct TimeDelta(u64);

impl TimeDelta {
    /// Zero time.
    pub const ZERO: TimeDelta = TimeDelta(0);

    /// Creates a span from picoseconds.
    pub const fn from_ps(ps: u64) -> TimeDelta {
        TimeDelta(ps)
    }
    /// Creates a span from nanoseconds.
    pub const fn from_ns(ns: u64) -> TimeDelta {
        TimeDelta(ns * 1_000)
    }
    /// Creates a span from microseconds.
    pub const fn from_us(us: u64) -> TimeDelta {
        TimeDelta(us * 1_000_000)
    }
    /// Creates a span from milliseconds.
    pub const fn from_ms(ms: u64) -> TimeDelta {
        TimeDelta(ms * 1_000_000_000)
    }
    /// Span in picoseconds.
    pub const fn as_ps(self) -> u64 {
        self.0
    }
    /// Subtracts `other`, down to zero.
    pub const fn saturating_sub(self, other: TimeDelta) -> TimeDelta {
        TimeDelta(self.0.saturating_sub(other.0))
    }
}

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct ByteCount(u64);

impl ByteCount {
    /// No bytes.
    pub const ZERO: ByteCount = ByteCount(0);

    /// Creates a size from bytes.
    pub const fn new(bytes: u64) -> ByteCount {
        ByteCount(bytes)
    }
    /// The number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// A link rate in bits per second.
///
/// ```
/// use trimline_packet::{BitRate, ByteCount, TimeDelta};
///
/// let link = BitRate::from_gbps(100);
/// let packet = link.transmission(ByteCount::new(9064));
/// assert_eq!(packet, TimeDelta::from_ps(725_120));
/// assert_eq!(link.bytes_in(packet), ByteCount::new(9064));
///
/// // A byte takes 2.67 ps at 3 Tb/s: it arrives no earlier.
/// let fast = BitRate::from_gbps(3000);
/// assert_eq!(fast.transmission(ByteCount::new(1)), TimeDelta::from_ps(3));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct BitRate(u64);

impl BitRate {
    /// Creates a rate from bits per second.
    ///
    /// # Panics
    /// Panics on zero: a link that never delivers is failed, not slow.
    pub const fn from_bps(bits: u64) -> BitRate {
        assert!(bits > 0, "a link rate must be positive");
        BitRate(bits)
    }
    /// Creates a rate from gigabits per second.
    pub const fn from_gbps(gigabits: u64) -> BitRate {
        BitRate::from_bps(gigabits * 1_000_000_000)
    }
    /// Rate in bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// Transmission time of `bytes`, rounded up to a picosecond.
    ///
    /// # Panics
    /// Panics above `u64` picoseconds (213 days).
    pub const fn transmission(self, bytes: ByteCount) -> TimeDelta {
        const PICOSECOND_BITS: u64 = 8 * PICOSECONDS_PER_SECOND;
        if bytes.0 <= u64::MAX / PICOSECOND_BITS {
            // Every packet is below 2.3 MB: one 64-bit division.
            return TimeDelta((bytes.0 * PICOSECOND_BITS).div_ceil(self.0));
        }
        let ps = (bytes.0 as u128 * PICOSECOND_BITS as u128).div_ceil(self.0 as u128);
        assert!(ps <= u64::MAX as u128, "transmission time overflows");
        TimeDelta(ps as u64)
    }

    /// Picoseconds per byte, if whole: the engine then multiplies instead of dividing.
    pub const fn whole_ps_per_byte(self) -> Option<u64> {
        if (8 * PICOSECONDS_PER_SECOND).is_multiple_of(self.0) {
            Some(8 * PICOSECONDS_PER_SECOND / self.0)
        } else {
            None
        }
    }

    /// Scales a number that a source gives for links of rate `at`: proportionally above `at`, unchanged up to `at`.
    /// Rounded down.
    pub const fn scale(self, number: u64, at: BitRate) -> u64 {
        if self.0 <= at.0 {
            return number;
        }
        let scaled = number as u128 * self.0 as u128 / at.0 as u128;
        if scaled > u64::MAX as u128 { u64::MAX } else { scaled as u64 }
    }

    /// Bytes that leave a link within `span`, rounded down.
    pub const fn bytes_in(self, span: TimeDelta) -> ByteCount {
        let bits = self.0 as u128 * span.0 as u128 / PICOSECONDS_PER_SECOND as u128;
        ByteCount((bits / 8) as u64)
    }
}

impl Add<TimeDelta> for Time {
    type Output = Time;
    #[inline]
    fn add(self, delta: TimeDelta) -> Time {
        Time(self.0 + delta.0)
    }
}

impl Sub<TimeDelta> for Time {
    type Output = Time;
    #[inline]
    fn sub(self, delta: TimeDelta) -> Time {
        Time(self.0 - delta.0)
    }
}

impl AddAssign<TimeDelta> for Time {
    #[inline]
    fn add_assign(&mut self, delta: TimeDelta) {
        self.0 += delta.0;
    }
}

impl Sub<Time> for Time {
    type Output = TimeDelta;
    #[inline]
    fn sub(self, earlier: Time) -> TimeDelta {
        TimeDelta(self.0 - earlier.0)
    }
}

impl Add for TimeDelta {
    type Output = TimeDelta;
    #[inline]
    fn add(self, other: TimeDelta) -> TimeDelta {
        TimeDelta(self.0 + other.0)
    }
}

impl Sub for TimeDelta {
    type Output = TimeDelta;
    #[inline]
    fn sub(self, other: TimeDelta) -> TimeDelta {
        TimeDelta(self.0 - other.0)
    }
}

impl Mul<u64> for TimeDelta {
    type Output = TimeDelta;
    #[inline]
    fn mul(self, times: u64) -> TimeDelta {
        TimeDelta(self.0 * times)
    }
}

impl Add for ByteCount {
    type Output = ByteCount;
    #[inline]
    fn add(self, other: ByteCount) -> ByteCount {
        ByteCount(self.0 + other.0)
    }
}

impl AddAssign for ByteCount {
    #[inline]
    fn add_assign(&mut self, other: ByteCount) {
        self.0 += other.0;
    }
}

impl Sub for ByteCount {
    type Output = ByteCount;
    #[inline]
    fn sub(self, other: ByteCount) -> ByteCount {
        ByteCount(self.0 - other.0)
    }
}

impl SubAssign for ByteCount {
    #[inline]
    fn sub_assign(&mut self, other: ByteCount) {
        self.0 -= other.0;
    }
}

impl Mul<u64> for ByteCount {
    type Output = ByteCount;
    #[inline]
    fn mul(self, times: u64) -> ByteCount {
        ByteCount(self.0 * times)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        TimeDelta(self.0).fmt(f)
    }
}

impl fmt::Display for TimeDelta {
    /// Prints microseconds with six decimals: exact and readable at datacenter scales.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06} us", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}

impl fmt::Display for ByteCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} B", self.0)
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const STEPS: [(u64, &str); 3] = [(1_000_000_000, "Gb/s"), (1_000_000, "Mb/s"), (1, "b/s")];
        let (unit, name) =
            STEPS[STEPS.iter().position(|&(unit, _)| self.0.is_multiple_of(unit)).unwrap_or(2)];
        write!(f, "{} {name}", self.0 / unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transmission_is_exact_at_ten_gigabits() {
        let rate = BitRate::from_gbps(10);
        assert_eq!(rate.transmission(ByteCount::new(9064)).as_ps(), 7_251_200);
        assert_eq!(rate.transmission(ByteCount::new(64)).as_ps(), 51_200);
        assert_eq!(rate.whole_ps_per_byte(), Some(800));
    }

    #[test]
    fn transmission_rounds_up() {
        let rate = BitRate::from_bps(3_000_000_000_000);
        assert_eq!(rate.transmission(ByteCount::new(1)).as_ps(), 3);
        assert_eq!(rate.whole_ps_per_byte(), None);
    }

    #[test]
    fn a_transmission_beyond_64_bit_products_is_exact() {
        let rate = BitRate::from_gbps(10);
        assert_eq!(rate.transmission(ByteCount::new(10_000_000)).as_ps(), 8_000_000_000);
    }

    #[test]
    fn a_published_number_scales_above_the_rate_of_its_source() {
        let scaled = |gbps, number| BitRate::from_gbps(gbps).scale(number, BitRate::from_gbps(40));
        assert_eq!(
            [scaled(1, 5_000), scaled(40, 5_000), scaled(100, 5_000)],
            [5_000, 5_000, 12_500]
        );
        assert_eq!(scaled(41, 39), 39, "rounded down");
        assert_eq!(scaled(80, u64::MAX), u64::MAX);
    }

    #[test]
    fn bytes_in_inverts_transmission() {
        let rate = BitRate::from_gbps(100);
        let span = rate.transmission(ByteCount::new(9064));
        assert_eq!(rate.bytes_in(span), ByteCount::new(9064));
    }

    #[test]
    fn quantities_print_with_their_units() {
        extern crate std;
        use std::string::ToString;
        assert_eq!(Time::from_ps(259_792_000).to_string(), "259.792000 us");
        assert_eq!(BitRate::from_gbps(10).to_string(), "10 Gb/s");
        assert_eq!(BitRate::from_bps(1500).to_string(), "1500 b/s");
    }
}
