//! The linked increases of MPTCP (RFC 6356): a connection's subflows together are as aggressive as one flow.

use trimline_packet::TimeDelta;

use super::law::Linked;

/// Returns the increase of every subflow (RFC 6356 3), from windows (Q32.32) and round trips.
///
/// alpha = total x max(w / rtt^2) / (sum of w / rtt)^2; the result is alpha / total.
pub(in crate::tcp) fn linked(subflows: impl Iterator<Item = (u64, TimeDelta)> + Clone) -> Linked {
    // Round trips in units of 2^10 ps, so that everything fits 128 bits; none is below a microsecond.
    let round_trip = |delta: TimeDelta| u128::from((delta.as_ps() >> 10).clamp(1 << 10, 1 << 36));
    // Windows in Q16.16.
    let window = |window: u64| u128::from(window >> 16);
    let (mut sum, mut best) = (0, 0);
    for (own, delta) in subflows {
        let (own, rtt) = (window(own), round_trip(delta));
        // w / rtt in units of 2^-32, w / rtt^2 of 2^-64.
        sum += (own << 32) / rtt;
        best = best.max((own << 64) / (rtt * rtt));
    }
    if sum == 0 {
        return Linked { share: u64::MAX };
    }
    // [w Q16][2^64] / ([w Q16]^2 [2^64]) = 1 / [w Q16]: 2^16 to be taken out, 2^32 to be put in.
    let share = (((best << 24) / sum) << 24) / sum;
    Linked { share: u64::try_from(share).unwrap_or(u64::MAX) }
}

#[cfg(test)]
mod tests {
    use super::super::ONE;
    use super::*;

    fn us(us: u64) -> TimeDelta {
        TimeDelta::from_us(us)
    }

    /// RFC 6356 with n equal subflows: alpha is 1 / n, so together they grow by 1 / n of a segment per round trip. A
    /// loss halves one subflow, so this is the aggressiveness of one flow.
    #[test]
    fn equal_coupled_subflows_are_as_aggressive_as_one_flow() {
        for count in [1usize, 2, 8] {
            let subflows = core::iter::repeat_n((10 * ONE, us(100)), count);
            let Linked { share } = linked(subflows);
            let total = share * 10 * (count * count) as u64;
            assert!(total.abs_diff(ONE) < ONE / 1000, "{count}: {total}");
        }
    }

    /// RFC 6356 worked by hand: windows 10 and 40, round trips 100 and 400 us.
    /// max(10 / 1e4, 40 / 16e4) = 1e-3; (0.1 + 0.1)^2 = 0.04; share = 0.025.
    #[test]
    fn the_coupled_increase_follows_the_formula_of_the_rfc() {
        let Linked { share } = linked([(10 * ONE, us(100)), (40 * ONE, us(400))].into_iter());
        let expected = ONE / 40;
        assert!(share.abs_diff(expected) < expected / 200, "{share} {expected}");
    }
}
