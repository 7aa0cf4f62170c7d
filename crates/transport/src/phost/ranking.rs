//! Flows in the order of their turns.

use alloc::collections::BTreeSet;

use super::config::Order;

/// Where a flow stands: a lower one goes first. No two flows of a host have the same order of coming.
pub(super) type Rank = (u64, u64);

/// Flows that may go, the next one first.
#[derive(Debug, Default)]
pub(super) struct Ranking {
    flows: BTreeSet<(Rank, u32)>,
    /// Turns that were taken, and flows that came.
    count: u64,
}

impl Ranking {
    /// No flow.
    pub(super) const fn new() -> Ranking {
        Ranking { flows: BTreeSet::new(), count: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    /// The flow whose turn it is.
    pub(super) fn first(&self) -> Option<u32> {
        self.flows.first().map(|&(_, slot)| slot)
    }

    /// A number behind all that were given.
    pub(super) fn number(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    /// The flow in `slot` stands at `to` instead of `from`.
    pub(super) fn replace(&mut self, slot: u32, from: Option<Rank>, to: Option<Rank>) {
        if from == to {
            return;
        }
        if let Some(rank) = from {
            self.flows.remove(&(rank, slot));
        }
        if let Some(rank) = to {
            self.flows.insert((rank, slot));
        }
    }
}

/// The rank of a flow of a class (0 to 3, 3 first) with so many packets left, which has a number.
pub(super) fn rank(order: Order, class: u8, left: u32, number: u64) -> Rank {
    let class = u64::from(3 - class.min(3)) << 32;
    match order {
        // pHost 3-srpt.
        Order::Srpt => (class | u64::from(left), number),
        Order::Fair => (class, number),
    }
}
