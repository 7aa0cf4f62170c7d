//! The clock of a counter that models a fluid.

use crate::{BitRate, Time, TimeDelta};

use super::volume::Volume;

/// The times at which a counter is updated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// At every instant, exactly.
    Continuous,
    /// Only at the positive multiples of a period, as in hardware (HULL 5.1). Events at such an instant see the updated
    /// counter.
    Tick(TimeDelta),
}

impl Clock {
    /// The volume moved at a rate after `from` and up to `to`; zero if `to` is earlier.
    #[inline]
    pub fn moved(self, rate: BitRate, from: Time, to: Time) -> Volume {
        match self {
            Clock::Continuous => Volume::flowed(rate, to.saturating_since(from)),
            Clock::Tick(tick) => {
                let number = |time: Time| time.as_ps() / tick.as_ps();
                Volume::flowed(rate, tick).times(number(to).saturating_sub(number(from)))
            }
        }
    }

    /// Time at which a counter will have moved by `volume` since `from`.
    #[inline]
    pub fn reaches(self, volume: Volume, rate: BitRate, from: Time) -> Time {
        match self {
            Clock::Continuous => from.saturating_add(volume.time_at(rate)),
            Clock::Tick(_) if volume == Volume::ZERO => from,
            Clock::Tick(tick) => {
                let portions = volume.in_portions_of(Volume::flowed(rate, tick));
                let number = (from.as_ps() / tick.as_ps()).saturating_add(portions);
                Time::from_ps(number.saturating_mul(tick.as_ps()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn clock() -> impl Strategy<Value = Clock> {
        prop_oneof![
            Just(Clock::Continuous),
            (1u64..10_000_000).prop_map(|ps| Clock::Tick(TimeDelta::from_ps(ps))),
        ]
    }

    proptest! {
        /// Two parts of a span move as much as the whole.
        #[test]
        fn two_parts_of_an_interval_move_as_much_as_the_whole(
            clock in clock(),
            bits in 1u64..1 << 40,
            mut times in [0u64..1 << 40, 0u64..1 << 40, 0u64..1 << 40],
        ) {
            times.sort_unstable();
            let [start, cut, end] = times.map(Time::from_ps);
            let rate = BitRate::from_bps(bits);
            let moved = |from, to| clock.moved(rate, from, to);
            prop_assert_eq!(moved(start, cut).saturating_add(moved(cut, end)), moved(start, end));
        }

        /// The computed instant is the first at which the counter has moved so far.
        #[test]
        fn a_clock_reaches_an_amount_at_the_computed_time(
            clock in clock(),
            bits in 1_000_000u64..1 << 40,
            bytes in 0u64..10_000,
            from in 0u64..1 << 40,
        ) {
            let (rate, from) = (BitRate::from_bps(bits), Time::from_ps(from));
            let volume = Volume::of(crate::ByteCount::new(bytes));
            let at = clock.reaches(volume, rate, from);
            prop_assert!(clock.moved(rate, from, at) >= volume);
            if at > from {
                let before = Time::from_ps(at.as_ps() - 1);
                prop_assert!(clock.moved(rate, from, before) < volume);
            }
        }
    }

    #[test]
    fn a_tick_moves_the_counter_at_its_multiples() {
        let (rate, tick) = (BitRate::from_gbps(1), TimeDelta::from_ps(10));
        let moved =
            |from, to| Clock::Tick(tick).moved(rate, Time::from_ps(from), Time::from_ps(to));
        let one = Volume::flowed(rate, tick);
        for (from, to, ticks) in [(5, 9, 0), (5, 10, 1), (10, 19, 0), (9, 30, 3), (7, 3, 0)] {
            assert_eq!(moved(from, to), one.times(ticks), "{from} to {to}");
        }
    }
}
