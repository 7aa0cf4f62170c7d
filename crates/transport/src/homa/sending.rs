//! Messages of a host with a packet that may go, in rank order.

use alloc::collections::BTreeSet;

use crate::Allowed;

/// Rank of a message: lower goes first. The second part, its number, is unique at a host.
pub(super) type Rank = (u64, u64);

/// A rank, and the priority of the message's next packet.
pub(super) type Turn = (Rank, u8);

/// Messages that may send, by the priority of their next packets: a link may pause some priorities.
#[derive(Debug, Default)]
pub(super) struct Sending {
    queues: [BTreeSet<(Rank, u32)>; 8],
    /// Bit p is set while a message's next packet has priority p.
    ready: u8,
}

impl Sending {
    /// Returns whether a message may send a packet of an allowed class.
    pub(super) fn is_ready(&self, allowed: Allowed) -> bool {
        (0..8).any(|class| self.ready >> class & 1 != 0 && allowed.class(class))
    }

    /// Returns the first message with an allowed class.
    pub(super) fn first(&self, allowed: Allowed) -> Option<u32> {
        let is_allowed = |class: u8| self.ready >> class & 1 != 0 && allowed.class(class);
        let classes = (0..8).filter(|&class| is_allowed(class));
        let first = classes.filter_map(|class| self.queues[usize::from(class)].first()).min();
        first.map(|&(_, slot)| slot)
    }

    /// Moves the message in `slot` from `from` to `to`.
    pub(super) fn replace(&mut self, slot: u32, from: Option<Turn>, to: Option<Turn>) {
        if from == to {
            return;
        }
        if let Some((rank, priority)) = from {
            let queue = &mut self.queues[usize::from(priority & 7)];
            queue.remove(&(rank, slot));
            if queue.is_empty() {
                self.ready &= !(1 << (priority & 7));
            }
        }
        if let Some((rank, priority)) = to {
            self.queues[usize::from(priority & 7)].insert((rank, slot));
            self.ready |= 1 << (priority & 7);
        }
    }
}
