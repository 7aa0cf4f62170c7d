//! The order in which a host's send streams transmit: credits are spent in the order in which they came.
//!
//! NDP 3.2: when a PULL arrives the sender sends as many packets as its counter rose by. So the receivers' pulls share
//! the sender's link, and a receiver that also pulls from other senders gets a little less of a full one (NDP 6.2,
//! sender-limited traffic). Tried: one packet of each ready connection in turn. It shares exactly evenly, unlike the
//! paper's text and measurements; csg-htsim's NICs do it ([`Order::RoundRobin`]).
//!
//! A *burst* is what a connection pushes, even one packet, or several credits at once for a connection without any.
//! With [`Order::Fair`] a burst takes turns with the connections that have queued credit, one packet each. It neither
//! delays later credits nor waits for all earlier ones, and connections that start together are interleaved from their
//! first packet. The paper is silent; chosen. Tried: one packet of a burst per round of the queue. A long flow has a
//! window of credits queued, and each packet of a short one waited for all: ten packets beside one long flow took 703
//! us, in a fair queue 188 us.
//!
//! With [`Order::Arrival`] bursts are queued in a row, as in a NIC with one queue. They persist, because every receiver
//! pulls at the pace of its arrivals. The authors' NIC has a second queue, for retransmissions
//! ([`Order::RetransmissionsFirst`]). Their sender assigns a packet to a credit when the credit comes: a packet that is
//! NACKed later waits for a later credit.
//!
//! Only the turn is queued. Its packet, a retransmission or new data, is chosen when the turn comes. A turn whose
//! credit is gone, or finds nothing to send, passes; a remaining credit gets a new turn when there is something to
//! send.

use alloc::collections::VecDeque;

/// The order in which connections share a host's link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Credits in the order in which they came; bursts take turns.
    #[default]
    Fair,
    /// All credits in the order in which they came.
    Arrival,
    /// One packet of each ready connection in turn.
    RoundRobin,
    /// Retransmissions of all connections first; each kind in the order of credits.
    RetransmissionsFirst,
}

#[derive(Clone, Copy, Debug)]
struct Burst {
    slot: u32,
    turns: u32,
}

#[derive(Debug, Default)]
pub(super) struct SendScheduler {
    /// Single turns, by slot.
    credits: VecDeque<u32>,
    /// Bursts that take turns ([`Order::Fair`]), or turns for retransmissions ([`Order::RetransmissionsFirst`]).
    bursts: VecDeque<Burst>,
    /// Credits that go before the next turns of bursts.
    before: u32,
    /// Bursts whose turn in this round is still to come.
    now: u32,
    /// Streams ready to send; each has a turn queued.
    ready: u32,
    order: Order,
    turn: u32,
    /// The slot that sent last, and its bytes in the current turn.
    last: (u32, u32),
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Queued {
    turns: u32,
    /// Turns for retransmissions ([`Order::RetransmissionsFirst`]).
    resends: u16,
    is_ready: bool,
    /// The next credits are pushed: a first window, or a window for data after the end of a message.
    pushes: bool,
}

impl SendScheduler {
    /// Creates a queue with this order, or with turns of `turn` payload bytes if not 0.
    pub(super) fn new(order: Order, turn: u32) -> SendScheduler {
        match turn {
            0 => SendScheduler { order, ..SendScheduler::default() },
            _ => SendScheduler { order: Order::RoundRobin, turn, ..SendScheduler::default() },
        }
    }

    /// Records a packet, with turns of bytes, after its stream's update. The stream stays next until its turn is full.
    #[cold]
    pub(super) fn sent(&mut self, slot: u32, bytes: u32) {
        let before = if self.last.0 == slot { self.last.1 } else { 0 };
        let sent = before.saturating_add(bytes);
        self.last = (slot, if sent < self.turn { sent } else { 0 });
        if sent < self.turn && self.credits.back() == Some(&slot) {
            self.credits.rotate_right(1);
        }
    }

    /// Returns whether turns are by kind: new data or retransmission.
    #[inline]
    pub(super) fn are_by_kind(&self) -> bool {
        self.order == Order::RetransmissionsFirst
    }

    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.ready == 0
    }

    /// Updates a stream's readiness, credit, and packets to send again.
    #[inline]
    pub(super) fn update(
        &mut self,
        slot: u32,
        queued: &mut Queued,
        is_ready: bool,
        (credit, waiting): (u32, u32),
    ) {
        if is_ready != queued.is_ready {
            queued.is_ready = is_ready;
            self.ready = if is_ready { self.ready + 1 } else { self.ready - 1 };
        }
        if is_ready && credit > queued.turns {
            if matches!(self.order, Order::RoundRobin | Order::RetransmissionsFirst) {
                return self.queue_otherwise(slot, queued, credit, waiting);
            }
            let turns = credit - queued.turns;
            if turns == 1 && !queued.pushes {
                self.credits.push_back(slot);
            } else {
                self.burst(slot, turns, queued.turns == 0);
            }
            queued.turns = credit;
            queued.pushes = false;
        }
    }

    /// Queues new turns by round robin or by kind.
    #[inline(never)]
    fn queue_otherwise(&mut self, slot: u32, queued: &mut Queued, credit: u32, waiting: u32) {
        let turns = credit - queued.turns;
        if self.are_by_kind() {
            self.queue_by_kind(slot, queued, turns, waiting);
            queued.turns = credit;
        } else if queued.turns == 0 {
            // At most one turn of a connection is queued.
            self.credits.push_back(slot);
            queued.turns = 1;
        }
        queued.pushes = false;
    }

    /// Queues credits that came together; behind others of their connection they wait like those.
    #[inline(never)]
    fn burst(&mut self, slot: u32, turns: u32, is_all: bool) {
        match self.order {
            Order::Fair if is_all => {
                if self.bursts.is_empty() {
                    // It goes behind the other connections, like a queue that was empty in a fair scheduler.
                    (self.now, self.before) = (0, self.ready - 1);
                }
                self.bursts.push_back(Burst { slot, turns });
            }
            Order::Fair | Order::Arrival | Order::RoundRobin | Order::RetransmissionsFirst => {
                self.credits.extend((0..turns).map(|_| slot))
            }
        }
    }

    /// Queues new turns, first for packets to send again without a turn.
    fn queue_by_kind(&mut self, slot: u32, queued: &mut Queued, turns: u32, waiting: u32) {
        let lacking = waiting.saturating_sub(queued.resends.into()).min(turns);
        let resends = u16::try_from(lacking).unwrap_or(u16::MAX).min(u16::MAX - queued.resends);
        if resends > 0 {
            self.bursts.push_back(Burst { slot, turns: resends.into() });
            queued.resends += resends;
        }
        self.credits.extend((u32::from(resends)..turns).map(|_| slot));
    }

    /// Removes the turns of a stream that is not ready, so that the slot's next stream has none.
    pub(super) fn forget(&mut self, slot: u32, queued: &Queued) {
        if queued.turns > 0 {
            self.credits.retain(|credit| *credit != slot);
            self.bursts.retain(|burst| burst.slot != slot);
        }
    }

    /// Takes the next turn and returns its slot; the caller calls [`Queued::spend`].
    ///
    /// # Panics
    /// Panics if no stream is ready to send.
    #[inline]
    pub(super) fn next(&mut self) -> u32 {
        if !self.bursts.is_empty() {
            return self.next_beside_bursts();
        }
        self.credits.pop_front().expect("a ready side has a turn")
    }

    /// Takes a turn of a round: one credit of each connection without a burst, one turn of every burst.
    #[inline(never)]
    fn next_beside_bursts(&mut self) -> u32 {
        if self.are_by_kind() {
            let first = &mut self.bursts[0];
            let slot = first.slot;
            first.turns -= 1;
            if first.turns == 0 {
                self.bursts.pop_front();
            }
            return slot;
        }
        if self.now == 0
            && self.before > 0
            && let Some(slot) = self.credits.pop_front()
        {
            self.before -= 1;
            return slot;
        }
        let bursts = self.bursts.len() as u32;
        if self.now == 0 {
            self.now = bursts;
            self.before = self.ready.saturating_sub(bursts);
        }
        // Forgotten bursts have no turn.
        self.now = self.now.min(bursts) - 1;
        let Burst { slot, turns } = self.bursts.pop_front().expect("there is a burst");
        if turns > 1 {
            self.bursts.push_back(Burst { slot, turns: turns - 1 });
        }
        slot
    }
}

impl Queued {
    pub(super) const PUSHING: Queued =
        Queued { turns: 0, resends: 0, is_ready: false, pushes: true };

    /// Marks that a window is to be pushed.
    pub(super) fn push(&mut self) {
        self.pushes = true;
    }

    /// Ends one turn, perhaps of the slot's former stream.
    #[inline]
    pub(super) fn spend(&mut self) {
        self.turns = self.turns.saturating_sub(1);
    }

    /// Ends a turn by kind. Returns whether it was a retransmission; they come first.
    pub(super) fn spend_resend(&mut self) -> bool {
        let is_resend = self.resends > 0;
        self.resends -= u16::from(is_resend);
        is_resend
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// Spends `count` turns of streams that are ready while they have credit.
    fn order(
        scheduler: &mut SendScheduler,
        queued: &mut [Queued],
        credit: &mut [u32],
        count: u32,
    ) -> Vec<u32> {
        (0..count)
            .map(|_| {
                let slot = scheduler.next();
                let (queued, credit) = (&mut queued[slot as usize], &mut credit[slot as usize]);
                queued.spend();
                *credit -= 1;
                scheduler.update(slot, queued, *credit > 0, (*credit, 0));
                slot
            })
            .collect()
    }

    /// Spends the credits of three streams that have begun. A rise is a slot and its new credits.
    fn spent(order_of: Order, rises: &[(u32, u32)]) -> Vec<u32> {
        spent_by([Queued::default(); 3], order_of, rises)
    }

    fn spent_by(mut queued: [Queued; 3], order_of: Order, rises: &[(u32, u32)]) -> Vec<u32> {
        let mut scheduler = SendScheduler::new(order_of, 0);
        let mut credit = [0; 3];
        for &(slot, rise) in rises {
            credit[slot as usize] += rise;
            scheduler.update(slot, &mut queued[slot as usize], true, (credit[slot as usize], 0));
        }
        let all = credit.iter().sum();
        let spent = order(&mut scheduler, &mut queued, &mut credit, all);
        assert!(
            scheduler.is_empty() && scheduler.credits.is_empty() && scheduler.bursts.is_empty()
        );
        spent
    }

    /// NDP 3.2-l.
    #[test]
    fn credits_are_spent_in_order_and_first_windows_alternate_with_other_connections() {
        let rises = [(0, 2), (1, 1), (0, 1), (2, 2), (1, 2)];
        assert_eq!(spent(Order::Fair, &rises), [0, 2, 1, 0, 2, 0, 1, 1]);
        assert_eq!(spent(Order::Arrival, &rises), [0, 0, 1, 0, 2, 2, 1, 1]);
        assert_eq!(spent(Order::RoundRobin, &rises), [0, 1, 2, 0, 1, 2, 0, 1]);
        let singles = [(2, 1), (0, 1), (1, 1), (0, 1), (2, 1)];
        assert_eq!(spent(Order::Fair, &singles), [2, 0, 1, 0, 2]);
        assert_eq!(spent(Order::Arrival, &singles), [2, 0, 1, 0, 2]);
    }

    /// A long flow has a window of credits queued when a short one begins: they alternate.
    #[test]
    fn a_first_window_waits_for_one_packet_of_each_other_connection() {
        for window in 1..=10 {
            let mut rises = [(0, 1); 15].to_vec();
            rises.push((1, window));
            let new = [Queued::default(), Queued::PUSHING, Queued::default()];
            let beside = 2 * window as usize;
            let fair = spent_by(new, Order::Fair, &rises);
            assert!(fair[..beside].chunks(2).all(|pair| pair == [0, 1]), "{window}: {fair:?}");
            let arrival = spent_by(new, Order::Arrival, &rises);
            assert!(arrival[15..].iter().all(|slot| *slot == 1), "{window}: {arrival:?}");
        }
    }

    /// A credit of a stream that has begun keeps the place of its pull.
    #[test]
    fn a_single_pull_waits_for_earlier_pulls() {
        let mut rises = [(0, 1); 15].to_vec();
        rises.push((1, 1));
        assert_eq!(spent(Order::Fair, &rises)[15], 1);
    }

    #[test]
    fn a_forgotten_stream_leaves_no_turn_in_the_scheduler() {
        let orders = [Order::Fair, Order::Arrival, Order::RoundRobin, Order::RetransmissionsFirst];
        for order_of in orders {
            let mut scheduler = SendScheduler::new(order_of, 0);
            let mut queued = [Queued::default(); 3];
            let mut credit = [4, 3, 1];
            for slot in 0..3 {
                scheduler.update(
                    slot,
                    &mut queued[slot as usize],
                    true,
                    (credit[slot as usize], 0),
                );
            }
            let first = order(&mut scheduler, &mut queued, &mut credit, 1);
            assert_eq!(first, [0]);
            scheduler.update(1, &mut queued[1], false, (0, 0));
            scheduler.forget(1, &queued[1]);
            let left = order(&mut scheduler, &mut queued, &mut credit, 4);
            assert!(!left.contains(&1) && scheduler.is_empty(), "{left:?}");
        }
    }

    /// A turn of 9000 B is one packet of 9000 B or six of 1500 B; an unused rest is lost.
    #[test]
    fn a_byte_turn_holds_as_many_packets_as_fill_it() {
        let mut scheduler = SendScheduler::new(Order::Fair, 9000);
        let (mut queued, mut credit) = ([Queued::default(); 3], [3u32, 4, 14]);
        let bytes = [9000, 1500, 1500];
        for slot in 0..3 {
            scheduler.update(slot, &mut queued[slot as usize], true, (credit[slot as usize], 0));
        }
        let mut order: Vec<(u32, u32)> = Vec::new();
        while !scheduler.is_empty() {
            let slot = scheduler.next();
            let (queued, credit) = (&mut queued[slot as usize], &mut credit[slot as usize]);
            queued.spend();
            *credit -= 1;
            scheduler.update(slot, queued, *credit > 0, (*credit, 0));
            scheduler.sent(slot, bytes[slot as usize]);
            match order.last_mut() {
                Some((last, packets)) if *last == slot => *packets += 1,
                _ => order.push((slot, 1)),
            }
        }
        // The packets of stream 1 end before its turn does, and stream 2 has a whole one.
        assert_eq!(order, [(0, 1), (1, 4), (2, 6), (0, 1), (2, 6), (0, 1), (2, 2)]);
    }

    /// Stream 0 has three credits for first-time data; stream 1 three, for one retransmission and two new packets; then
    /// stream 0 gets one more, with two packets to send again.
    #[test]
    fn retransmissions_pass_first_time_data_of_all_connections() {
        let mut scheduler = SendScheduler::new(Order::RetransmissionsFirst, 0);
        let mut queued = [Queued::PUSHING, Queued::default()];
        scheduler.update(0, &mut queued[0], true, (3, 0));
        scheduler.update(1, &mut queued[1], true, (2, 1));
        scheduler.update(1, &mut queued[1], true, (3, 1));
        scheduler.update(0, &mut queued[0], true, (4, 2));
        let mut spent = || {
            let slot = scheduler.next();
            queued[slot as usize].spend();
            (slot, queued[slot as usize].spend_resend())
        };
        let order: [(u32, bool); 7] = core::array::from_fn(|_| spent());
        assert_eq!(order[..2], [(1, true), (0, true)]);
        assert_eq!(order[2..].iter().map(|turn| turn.0).collect::<Vec<_>>(), [0, 0, 0, 1, 1]);
        assert!(order[2..].iter().all(|turn| !turn.1));
    }

    #[test]
    fn a_banked_credit_is_used_when_data_arrives() {
        let mut scheduler = SendScheduler::default();
        let mut queued = Queued::default();
        scheduler.update(0, &mut queued, false, (3, 0));
        assert!(scheduler.is_empty());
        scheduler.update(0, &mut queued, true, (3, 0));
        assert!(!scheduler.is_empty());
        let mut credit = [3];
        assert_eq!(order(&mut scheduler, &mut [queued], &mut credit, 3), [0, 0, 0]);
    }
}
