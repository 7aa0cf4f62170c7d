//! Exact amounts of a fluid.

use crate::units::PICOSECONDS_PER_SECOND;
use crate::{BitRate, ByteCount, TimeDelta};

/// An amount in parts of a byte. A rate in b/s moves a whole number of parts per picosecond, so nothing is rounded or
/// drifts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Volume(u128);

impl Volume {
    /// No fluid.
    pub const ZERO: Volume = Volume(0);
    /// Parts per byte; 1 b/s for 1 ps moves one part.
    const PER_BYTE: u128 = 8 * PICOSECONDS_PER_SECOND as u128;

    /// The volume of whole bytes.
    #[inline]
    pub const fn of(bytes: ByteCount) -> Volume {
        Volume(bytes.get() as u128 * Volume::PER_BYTE)
    }

    /// The amount that flows at a rate in a time. A product of two 64-bit numbers: it always fits.
    #[inline]
    pub const fn flowed(rate: BitRate, span: TimeDelta) -> Volume {
        Volume(rate.as_bps() as u128 * span.as_ps() as u128)
    }

    /// Multiplies, and saturates.
    #[inline]
    pub const fn times(self, count: u64) -> Volume {
        Volume(self.0.saturating_mul(count as u128))
    }

    /// Adds, up to the largest volume.
    #[inline]
    pub const fn saturating_add(self, other: Volume) -> Volume {
        Volume(self.0.saturating_add(other.0))
    }

    /// Subtracts, down to zero.
    #[inline]
    pub const fn saturating_sub(self, other: Volume) -> Volume {
        Volume(self.0.saturating_sub(other.0))
    }

    /// Number of portions `other`, which is above zero, that make at least this amount.
    #[inline]
    pub fn in_portions_of(self, other: Volume) -> u64 {
        u64::try_from(self.0.div_ceil(other.0)).unwrap_or(u64::MAX)
    }

    /// Time in which this amount flows at a rate, rounded up.
    #[inline]
    pub fn time_at(self, rate: BitRate) -> TimeDelta {
        let rate = rate.as_bps();
        // Up to 2.3 MB: one 64-bit division.
        let ps = match u64::try_from(self.0) {
            Ok(parts) => parts.div_ceil(rate),
            Err(_) => u64::try_from(self.0.div_ceil(u128::from(rate))).unwrap_or(u64::MAX),
        };
        TimeDelta::from_ps(ps)
    }

    /// Whole bytes, rounded down.
    pub fn whole_bytes(self) -> ByteCount {
        ByteCount::new(u64::try_from(self.0 / Volume::PER_BYTE).unwrap_or(u64::MAX))
    }
}
