//! Flows in rank order.

use alloc::collections::BTreeSet;

use super::config::Order;

/// Rank of a flow: lower goes first. The second part is unique at a host.
pub(super) type Rank = (u64, u64);

#[derive(Debug, Default)]
pub(super) struct Ranking {
    flows: BTreeSet<(Rank, u32)>,
    /// Numbers given to flows and turns.
    count: u64,
}

impl Ranking {
    pub(super) const fn new() -> Ranking {
        Ranking { flows: BTreeSet::new(), count: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    pub(super) fn first(&self) -> Option<u32> {
        self.flows.first().map(|&(_, slot)| slot)
    }

    /// Returns a number above all earlier ones.
    pub(super) fn number(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

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

/// Ranks by class (0 to 3, 3 first), then packets left (not if fair), then number.
pub(super) fn rank(order: Order, class: u8, left: u32, number: u64) -> Rank {
    let class = u64::from(3 - class.min(3)) << 32;
    match order {
        // pHost 3-srpt.
        Order::Srpt | Order::Reported => (class | u64::from(left), number),
        Order::Fair => (class, number),
    }
}
