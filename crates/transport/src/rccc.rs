//! RCCC, the receiver's credit of Ultra Ethernet: bytes that a sender may send, in quanta of [`QUANTUM`] bytes.
//!
//! A sender begins with speculative credit. Each of its data packets states a *target*: the count of quanta up to which
//! it wants credit. The receiver serves its flows in turn and paces what it grants to a little less than its link's
//! rate. A PULL has the count of all quanta granted so far, so that a later one makes up for a lost one.
//!
//! Sender and receiver are those of [`nscc`](crate::nscc): here are the sender's account (`credit.rs`), the receiver's
//! queue of flows (`granting.rs`) and the rate where the core is the bottleneck (`core_rate.rs`). The rules are those of
//! uet-htsim at 40ccb05 (uec.cpp, oversubscribed_cc.cpp); `docs/internals/rccc.md` has them with the differences.
//!
//! NDP's pull queue counts packets and has classes, gaps that are drawn and pulls that go together. Credit in bytes
//! needs none of these, and NDP's needs no target: the two share the circular list alone.

mod core_rate;
mod credit;
mod granting;

use trimline_packet::{BitRate, ByteCount, TimeDelta};

pub(crate) use credit::{Account, Wanted};
pub(crate) use granting::{Demand, Granting};

/// Bytes of a quantum of credit.
pub const QUANTUM: u64 = 256;
/// The max credit of a flow, in bytes: targets and grants are told apart modulo 2^16 quanta.
pub const MAX_CREDIT: u64 = QUANTUM << 14;
/// The max that one PULL may grant, in bytes.
pub const MAX_PULL: u64 = MAX_CREDIT / 4;
/// Quanta whose time passes after a PULL that grants nothing: 1,024 bytes.
const EMPTY_PULL: u32 = 4;

/// The rule of a host's credit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The max credit of a flow, at most [`MAX_CREDIT`] bytes: what a sender may ask for, and what it may hold.
    pub max: u64,
    /// Speculative credit at the beginning of a flow, in bytes; at most [`Rule::max`].
    pub first: u64,
    /// Quanta of a PULL.
    pub pull: u32,
    /// Rate of the host's link.
    pub line: BitRate,
    /// Share of the rate at which credit is granted, in millionths.
    pub share: u32,
    /// How the rate follows the capacity of the core; `None`: it does not.
    pub core: Option<CoreControl>,
}

/// The rate of grants where the core is the bottleneck.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreControl {
    /// Base round trip: the rate is adapted every one and a half of these, on average.
    pub base: TimeDelta,
    /// The lowest rate, in millionths of the link's.
    pub floor: u32,
}

impl Rule {
    /// The time of `quanta` at the rate of grants.
    pub fn time_of(&self, quanta: u32) -> TimeDelta {
        let time = self.line.transmission(ByteCount::new(u64::from(quanta) * QUANTUM));
        let scaled = u128::from(time.as_ps()) * 1_000_000 / u128::from(self.share);
        TimeDelta::from_ps(scaled as u64)
    }

    /// # Panics
    /// Panics if credit, a PULL or a rate is nothing, or credit is too much.
    pub(crate) fn check(&self) {
        assert!(self.max > 0 && self.max <= MAX_CREDIT, "credit of {} bytes", self.max);
        assert!(self.first > 0 && self.first <= self.max, "first credit of {} bytes", self.first);
        assert!(self.pull > 0 && u64::from(self.pull) * QUANTUM <= MAX_PULL, "a PULL of nothing");
        assert!(
            self.share > 0 && self.share <= 1_000_000,
            "a rate of nothing, or above the link's"
        );
        assert!(self.line.as_bps() > 0, "a link without a rate");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn rule(gbps: u64) -> Rule {
        Rule {
            max: 40_960,
            first: 40_960,
            pull: 64,
            line: BitRate::from_gbps(gbps),
            share: 990_000,
            core: None,
        }
    }

    /// uet-htsim: 16,384 bytes at 0.99 of 100 Gb/s.
    #[test]
    fn a_pull_lasts_as_long_as_its_bytes_at_99_percent_of_the_line() {
        assert_eq!(rule(100).time_of(64), TimeDelta::from_ps(1_323_959));
        assert_eq!(rule(400).time_of(64), TimeDelta::from_ps(330_989));
        assert_eq!(rule(100).time_of(17), TimeDelta::from_ps(351_676));
    }
}
