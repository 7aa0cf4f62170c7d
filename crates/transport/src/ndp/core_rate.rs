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
//!
//! No cut takes the rate below that at which whole packets come, whoever asked for them: so much the core does carry. First
//! windows of an incast fill it for a moment, and packets that were pulled are cut among them while the receiver's link
//! is busy without a gap; without this floor an incast of 11 took 15 % longer. It is a mean over about eight packets, over fewer
//! where no more came since a gap of [`LONGEST_GAP`].

use trimline_packet::{Time, TimeDelta};

use crate::timers::set_back;

/// A rate is a share of the link's, in units of 2^-20.
const LINK: u32 = 1 << 20;
/// The slowest rate (chosen: more oversubscription than networks have).
const MIN: u32 = LINK / 256;
/// Headers that may come in a row (chosen).
const BURST: u32 = 4;
/// Packets over which the mean gap between whole ones is taken (chosen; 4 to 64 differ little).
const MEAN_OVER: u64 = 8;
/// A gap so long is none between packets of one burst, in packets' times (chosen).
const LONGEST_GAP: u64 = 64;

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

/// When whole packets came.
#[derive(Clone, Copy, Debug)]
struct Arrivals {
    last: Time,
    /// The mean time between two.
    gap: TimeDelta,
    /// Gaps that the mean is over.
    gaps: u64,
}

/// The rate of one receiver.
#[derive(Clone, Copy, Debug)]
pub(super) struct Core {
    rule: CoreRate,
    /// The time of a full packet on the link.
    full: TimeDelta,
    rate: u32,
    /// Headers beyond those that are tolerated, in parts of [`CoreRate::tolerated`].
    score: u32,
    arrivals: Option<Arrivals>,
}

impl Core {
    /// The link's rate.
    pub(super) fn new(rule: CoreRate, full: TimeDelta) -> Core {
        Core { rule, full, rate: LINK, score: 0, arrivals: None }
    }

    /// The clock was set back.
    pub(super) fn set_back(&mut self, by: TimeDelta) {
        self.arrivals.iter_mut().for_each(|arrivals| set_back(&mut arrivals.last, by));
    }

    /// A whole packet arrived, pulled or not.
    pub(super) fn arrived(&mut self, now: Time) {
        let longest = self.full * LONGEST_GAP;
        let burst = self.arrivals.filter(|before| now.saturating_since(before.last) < longest);
        self.arrivals = Some(match burst {
            None => Arrivals { last: now, gap: TimeDelta::ZERO, gaps: 0 },
            Some(Arrivals { last, gap, gaps }) => {
                let (gaps, newest) = (MEAN_OVER.min(gaps + 1), now.saturating_since(last));
                let sum = gap.as_ps() * (gaps - 1) + newest.as_ps();
                Arrivals { last: now, gap: TimeDelta::from_ps(sum / gaps), gaps }
            }
        });
    }

    /// The rate at which whole packets come.
    fn arriving(&self, now: Time) -> u32 {
        match self.arrivals {
            Some(Arrivals { last, gap, gaps: 1.. }) => {
                let gap = gap.max(now.saturating_since(last)).as_ps().max(1);
                let rate = u128::from(LINK) * u128::from(self.full.as_ps()) / u128::from(gap);
                rate.min(u128::from(LINK)) as u32
            }
            Some(Arrivals { gaps: 0, .. }) | None => 0,
        }
    }

    /// A packet that was pulled arrived whole, or was cut by the last switch. Whether the rate changed.
    pub(super) fn passed(&mut self) -> bool {
        self.score = self.score.saturating_sub(1);
        let before = self.rate;
        self.rate = LINK.min(before + LINK / u32::from(self.rule.rise));
        self.rate != before
    }

    /// A packet that was pulled was cut in the core. Whether the rate changed.
    pub(super) fn cut(&mut self, now: Time) -> bool {
        let max = BURST * u32::from(self.rule.tolerated);
        self.score += u32::from(self.rule.tolerated);
        if self.score <= max {
            return false;
        }
        self.score = max;
        let before = self.rate;
        let floor = MIN.max(self.arriving(now)).min(before);
        self.rate = floor.max(before - before / u32::from(self.rule.cut));
        self.rate != before
    }

    /// The time between two pulls where it is so long at the link's rate.
    pub(super) fn slowed(&self, gap: TimeDelta) -> TimeDelta {
        let long = u128::from(gap.as_ps()) * u128::from(LINK);
        TimeDelta::from_ps(long.div_ceil(u128::from(self.rate)) as u64)
    }
}
