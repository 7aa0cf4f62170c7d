//! Circular lists threaded through the endpoint's slots: streams with a pull to send, and streams with data to send.
//!
//! A turn moves one number; joining and leaving take constant time, and a list allocates nothing. A stream is in at
//! most one ring: a send stream in the ring of senders, a receive stream in the pull ring of its class.
//!
//! Tried: a deque of slots with lazy removal. It grows with the incast, and a reassigned slot must be told apart from
//! its old entry.

pub(super) const NONE: u32 = u32::MAX;

/// The neighbours of a member; both [`NONE`] outside a ring.
#[derive(Clone, Copy, Debug)]
pub(super) struct Links {
    next: u32,
    previous: u32,
}

impl Links {
    pub(super) const OUTSIDE: Links = Links { next: NONE, previous: NONE };

    #[inline]
    pub(super) const fn joined(self) -> bool {
        self.next != NONE
    }
}

pub(super) trait Linked {
    fn links(&mut self) -> &mut Links;
}

/// A table of neighbours alone, for members that have none of their own.
impl Linked for Links {
    fn links(&mut self) -> &mut Links {
        self
    }
}

/// A circular list; its head is served next.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoundRobin {
    head: u32,
}

impl RoundRobin {
    pub(super) const EMPTY: RoundRobin = RoundRobin { head: NONE };

    #[inline]
    pub(super) const fn is_empty(self) -> bool {
        self.head == NONE
    }

    /// The member to serve next, or [`NONE`].
    #[inline]
    pub(super) const fn head(self) -> u32 {
        self.head
    }

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

    /// Removes a member; the next one replaces it as head.
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

    proptest! {
        /// A deque that is rotated and searched agrees with the ring.
        #[test]
        fn a_round_robin_ring_agrees_with_a_rotated_deque(steps in prop::collection::vec((0u32..12, 0u8..3), 0..200)) {
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
