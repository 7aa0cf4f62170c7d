//! Whose packet goes next when several sending halves may send: credits are spent in the order in
//! which they came.
//!
//! NDP 3.2: when a PULL arrives the sender sends as many packets as its counter rose by. So the pulls
//! of the receivers decide how connections share the sender's link, and a receiver that has other
//! senders to pull from gets a little less of a full one (NDP 6.2, sender-limited traffic). Tried:
//! one packet of each ready connection in turn. It shares exactly evenly, which is not what the paper
//! describes and measures.
//!
//! Credits that come together, a first window above all, take one turn in each round of the queue: a
//! burst does not hold up the credits behind it, and connections that start together are interleaved
//! from their first packet on. The paper does not say; chosen. Tried: all in a row. The bursts then
//! live on for ever, because every receiver pulls at the pace at which its packets come.
//!
//! Only the turn is queued. Which packet it is, a retransmission or new data, is decided when the
//! turn comes. A turn whose credit is gone by then, or finds nothing to send, passes: its credit, if
//! it is still there, gets a new turn when there is something to send.

use alloc::collections::VecDeque;

/// Turns of one half that were queued together.
#[derive(Clone, Copy, Debug)]
struct Run {
    slot: u32,
    turns: u32,
}

/// The queue of turns of a host.
#[derive(Debug, Default)]
pub(super) struct Turns {
    runs: VecDeque<Run>,
    /// Halves that are ready to send; each has a turn queued.
    ready: u32,
}

/// What a half knows of its turns.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Queued {
    turns: u32,
    is_ready: bool,
}

impl Turns {
    /// Whether no half is ready to send.
    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.ready == 0
    }

    /// A half now is ready, or not, with this credit.
    #[inline]
    pub(super) fn update(&mut self, slot: u32, queued: &mut Queued, is_ready: bool, credit: u32) {
        if is_ready != queued.is_ready {
            queued.is_ready = is_ready;
            self.ready = if is_ready { self.ready + 1 } else { self.ready - 1 };
        }
        if is_ready && credit > queued.turns {
            let turns = credit - queued.turns;
            queued.turns = credit;
            self.runs.push_back(Run { slot, turns });
        }
    }

    /// A half that is not ready is forgotten: turns that are left from it are no other one's.
    pub(super) fn forget(&mut self, slot: u32, queued: &Queued) {
        if queued.turns > 0 {
            self.runs.retain(|run| run.slot != slot);
        }
    }

    /// The half whose turn it is. The turn is over; [`Queued::spend`] must be told.
    ///
    /// # Panics
    /// No half is ready to send.
    #[inline]
    pub(super) fn next(&mut self) -> u32 {
        let Run { slot, turns } = self.runs.pop_front().expect("a ready half has a turn");
        if turns > 1 {
            self.runs.push_back(Run { slot, turns: turns - 1 });
        }
        slot
    }
}

impl Queued {
    /// One turn of the half is over. It may be left from the half that had the slot before.
    #[inline]
    pub(super) fn spend(&mut self) {
        self.turns = self.turns.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// Spends `count` turns of halves that are ready while they have credit.
    fn order(turns: &mut Turns, queued: &mut [Queued], credit: &mut [u32], count: u32) -> Vec<u32> {
        (0..count)
            .map(|_| {
                let slot = turns.next();
                let (queued, credit) = (&mut queued[slot as usize], &mut credit[slot as usize]);
                queued.spend();
                *credit -= 1;
                turns.update(slot, queued, *credit > 0, *credit);
                slot
            })
            .collect()
    }

    /// NDP 3.2-l.
    #[test]
    fn credits_are_spent_in_order_and_bursts_one_each_round() {
        let mut turns = Turns::default();
        let mut queued = [Queued::default(); 3];
        let mut credit = [0; 3];
        for (slot, rise) in [(0, 2), (1, 1), (0, 1), (2, 2), (1, 1)] {
            credit[slot as usize] += rise;
            turns.update(slot, &mut queued[slot as usize], true, credit[slot as usize]);
        }
        let spent = order(&mut turns, &mut queued, &mut credit, 7);
        assert_eq!(spent, [0, 1, 0, 2, 1, 0, 2]);
        assert!(turns.is_empty() && turns.runs.is_empty());
    }

    #[test]
    fn a_banked_credit_gets_its_turn_when_there_is_something_to_send() {
        let mut turns = Turns::default();
        let mut queued = Queued::default();
        turns.update(0, &mut queued, false, 3);
        assert!(turns.is_empty());
        turns.update(0, &mut queued, true, 3);
        assert!(!turns.is_empty());
        let mut credit = [3];
        assert_eq!(order(&mut turns, &mut [queued], &mut credit, 3), [0, 0, 0]);
    }
}
