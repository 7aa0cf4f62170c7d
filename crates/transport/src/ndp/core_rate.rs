//! Where the network before the last switch is the bottleneck: the receiver pulls as fast as packets get through it.
//! An option; NDP does not have it.
//!
//! Pulls are paced to the receiver's link (NDP 3.2). Where the core carries less, each pull beyond that elicits a packet
//! that is trimmed there, and is sent again: at 8:1 up to three times. The DSCP of a header says where it was cut. What
//! the port to the receiver cuts is many senders' first windows or pulls that came late, and pulls at the rate of
//! the link are right. What was cut before tells of a core that is full.
//!
//! The rate is a share of the link's. A header that was cut in the core takes one part in [`CoreRate::cut`] of it; a
//! whole packet adds one part in [`CoreRate::rise`] of the link's. So receivers whose rates differ approach each other. Few
//! trims are chance: of [`CoreRate::tolerated`] answers one may be such a header, and [`BURST`] in a row may be.
//!
//! Only packets that were pulled count. Of a first window it is the sender that decides how fast it comes.

/// A rate is a share of the link's, in units of 2^-20.
const LINK: u32 = 1 << 20;
/// The slowest rate (chosen: more oversubscription than networks have).
const LEAST: u32 = LINK / 256;
/// Headers that may come in a row (chosen).
const BURST: u32 = 4;

use trimline_packet::TimeDelta;

/// How the rate of pulls follows what the core carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreRate {
    /// A header takes one part in so many of the rate; at least 2.
    pub cut: u16,
    /// A whole packet adds one part in so many of the link's rate; at least 1.
    pub rise: u16,
    /// One header in so many answers takes nothing; at least 1.
    pub tolerated: u16,
}

/// The rate of one receiver.
#[derive(Clone, Copy, Debug)]
pub(super) struct Core {
    rule: CoreRate,
    rate: u32,
    /// Headers beyond those that are tolerated, in parts of [`CoreRate::tolerated`].
    score: u32,
}

impl Core {
    /// The link's rate.
    pub(super) fn new(rule: CoreRate) -> Core {
        Core { rule, rate: LINK, score: 0 }
    }

    /// A packet that was pulled arrived whole, or was cut by the last switch. Whether the rate changed.
    pub(super) fn passed(&mut self) -> bool {
        self.score = self.score.saturating_sub(1);
        let before = self.rate;
        self.rate = LINK.min(before + LINK / u32::from(self.rule.rise));
        self.rate != before
    }

    /// A packet that was pulled was cut in the core. Whether the rate changed.
    pub(super) fn cut(&mut self) -> bool {
        let most = BURST * u32::from(self.rule.tolerated);
        self.score += u32::from(self.rule.tolerated);
        if self.score <= most {
            return false;
        }
        self.score = most;
        let before = self.rate;
        self.rate = LEAST.max(before - before / u32::from(self.rule.cut));
        self.rate != before
    }

    /// The time between two pulls where it is so long at the link's rate.
    pub(super) fn slowed(&self, gap: TimeDelta) -> TimeDelta {
        let long = u128::from(gap.as_ps()) * u128::from(LINK);
        TimeDelta::from_ps(long.div_ceil(u128::from(self.rate)) as u64)
    }
}
