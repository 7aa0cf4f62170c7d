//! Circular lists threaded through the endpoint's slots: who has a pull to send, who has data to
//! send.
//!
//! A round robin turns by moving one number; members join and leave in constant time, and no list
//! has memory of its own. A half is a member of at most one ring: a sending half of the ring of
//! senders, a receiving half of the pull ring of its class.
//!
//! Tried: a deque of slots with lazy removal. It needs memory that grows with the incast, and a slot
//! that is assigned again while its old entry waits must be told apart.

/// No slot.
pub(super) const NONE: u32 = u32::MAX;

/// A member's neighbours; both [`NONE`] outside of a ring.
#[derive(Clone, Copy, Debug)]
pub(super) struct Links {
    next: u32,
    previous: u32,
}

impl Links {
    /// In no ring.
    pub(super) const OUTSIDE: Links = Links { next: NONE, previous: NONE };

    /// Whether this is a member of a ring.
    #[inline]
    pub(super) const fn joined(self) -> bool {
        self.next != NONE
    }
}

/// What can be a member of a ring.
pub(super) trait Linked {
    /// The member's neighbours.
    fn links(&mut self) -> &mut Links;
}

/// A circular list; its head is served next.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoundRobin {
    head: u32,
}

impl RoundRobin {
    /// A ring without members.
    pub(super) const EMPTY: RoundRobin = RoundRobin { head: NONE };

    /// Whether nobody waits.
    #[inline]
    pub(super) const fn is_empty(self) -> bool {
        self.head == NONE
    }

    /// The member to be served next, [`NONE`] if nobody waits.
    #[inline]
    pub(super) const fn head(self) -> u32 {
        self.head
    }

    /// The head has had its turn.
    #[inline]
    pub(super) fn turn(&mut self, table: &mut [impl Linked]) {
        self.head = table[self.head as usize].links().next;
    }

    /// Adds a member behind all others.
    pub(super) fn join(&mut self, table: &mut [impl Linked], slot: u32) {
        debug_assert!(!table[slot as usize].links().joined(), "a half joins one ring at a time");
        if self.head == NONE {
            *table[slot as usize].links() = Links { next: slot, previous: slot };
            self.head = slot;
            return;
        }
        let next = self.head;
        let previous = table[next as usize].links().previous;
        table[next as usize].links().previous = slot;
        table[previous as usize].links().next = slot;
        *table[slot as usize].links() = Links { next, previous };
    }

    /// Takes a member out. The next one moves up if it was the head.
    pub(super) fn leave(&mut self, table: &mut [impl Linked], slot: u32) {
        let links = table[slot as usize].links();
        let Links { next, previous } = *links;
        debug_assert!(next != NONE, "only a member leaves a ring");
        *links = Links::OUTSIDE;
        if next == slot {
            self.head = NONE;
            return;
        }
        table[previous as usize].links().next = next;
        table[next as usize].links().previous = previous;
        if self.head == slot {
            self.head = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;
    use alloc::vec;
    use proptest::prelude::*;

    impl Linked for Links {
        fn links(&mut self) -> &mut Links {
            self
        }
    }

    proptest! {
        /// A deque that is rotated and searched says the same.
        #[test]
        fn a_ring_is_a_rotated_deque(steps in prop::collection::vec((0u32..12, 0u8..3), 0..200)) {
            let mut table = vec![Links::OUTSIDE; 12];
            let mut ring = RoundRobin::EMPTY;
            let mut deque = VecDeque::new();
            for (slot, step) in steps {
                let joined = deque.contains(&slot);
                match step {
                    0 if !joined => {
                        ring.join(&mut table, slot);
                        deque.push_back(slot);
                    }
                    1 if joined => {
                        ring.leave(&mut table, slot);
                        deque.retain(|&other| other != slot);
                    }
                    2 if !deque.is_empty() => {
                        ring.turn(&mut table);
                        deque.rotate_left(1);
                    }
                    _ => {}
                }
                prop_assert_eq!(ring.head(), deque.front().copied().unwrap_or(NONE));
                prop_assert_eq!(ring.is_empty(), deque.is_empty());
                prop_assert_eq!(table[slot as usize].joined(), deque.contains(&slot));
            }
        }
    }
}
