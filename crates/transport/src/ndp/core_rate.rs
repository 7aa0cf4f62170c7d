//! Slows pulls down where the network before the last switch is the bottleneck. An option; NDP does not have it.
//!
//! Pulls are paced to the receiver's link (NDP 3.2). Where the core carries less, each surplus pull elicits a packet
//! that is trimmed there and sent again: at 8:1 up to three times. The DSCP of a header says where it was trimmed. At
//! the port to the receiver the cause is many senders' first windows or late pulls, and the link's rate is right.
//! Earlier trims show that the core is full.
//!
//! The rate is a share of the link's. A header trimmed in the core takes one part in [`CoreRate::cut`] of it; a whole
//! packet adds one part in [`CoreRate::rise`] of the link's. So receivers with different rates converge. A few trims
//! are chance: one in [`CoreRate::tolerated`] answers, and [`BURST`] in a row, take nothing.
//!
//! Only pulled packets count: the sender sets the pace of a first window.
//!
//! No trim takes the rate below that of arriving whole packets, pulled or not: the core does carry them. An incast's
//! first windows fill it for a moment and get pulled packets trimmed while the receiver's link is busy without a gap;
//! without this floor an incast of 11 took 15 % longer. The floor is a mean over about eight packets, or fewer since a
//! gap of [`LONGEST_GAP`].

use trimline_packet::{Time, TimeDelta};

use crate::timers::set_back;

/// The link's rate: rates are shares of it, in units of 2^-20.
const LINK: u32 = 1 << 20;
/// The slowest rate (chosen: more oversubscription than networks have).
const MIN: u32 = LINK / 256;
/// Headers in a row that take nothing (chosen).
const BURST: u32 = 4;
/// Number of gaps in the mean gap between whole packets (chosen; 4 to 64 differ little).
const MEAN_OVER: u64 = 8;
/// Min gap between bursts, in packet times (chosen).
const LONGEST_GAP: u64 = 64;

/// The rule by which pulls follow the capacity of the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreRate {
    /// A header takes 1/`cut` of the rate; at least 2.
    pub cut: u16,
    /// A whole packet adds 1/`rise` of the link's rate; at least 1.
    pub rise: u16,
    /// One header in `tolerated` answers takes nothing; at least 1.
    pub tolerated: u16,
}

#[derive(Clone, Copy, Debug)]
struct Arrivals {
    last: Time,
    /// The mean gap.
    gap: TimeDelta,
    gaps: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Core {
    rule: CoreRate,
    /// The time of a full packet on the link.
    full: TimeDelta,
    rate: u32,
    /// Headers beyond the tolerated ones, in parts of [`CoreRate::tolerated`].
    score: u32,
    arrivals: Option<Arrivals>,
}

impl Core {
    pub(super) fn new(rule: CoreRate, full: TimeDelta) -> Core {
        Core { rule, full, rate: LINK, score: 0, arrivals: None }
    }

    pub(super) fn set_back(&mut self, by: TimeDelta) {
        self.arrivals.iter_mut().for_each(|arrivals| set_back(&mut arrivals.last, by));
    }

    /// Records a whole packet, pulled or not.
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

    /// The rate at which whole packets arrive.
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

    /// Records a pulled packet that was whole or trimmed by the last switch. Returns whether the rate changed.
    pub(super) fn passed(&mut self) -> bool {
        self.score = self.score.saturating_sub(1);
        let before = self.rate;
        self.rate = LINK.min(before + LINK / u32::from(self.rule.rise));
        self.rate != before
    }

    /// Records a pulled packet trimmed in the core. Returns whether the rate changed.
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

    /// Stretches a gap at the link's rate to the pull rate.
    pub(super) fn slowed(&self, gap: TimeDelta) -> TimeDelta {
        let long = u128::from(gap.as_ps()) * u128::from(LINK);
        TimeDelta::from_ps(long.div_ceil(u128::from(self.rate)) as u64)
    }
}
