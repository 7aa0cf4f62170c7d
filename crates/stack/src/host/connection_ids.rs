//! The numbers of connections that are opened here.

use std::hash::{BuildHasher, RandomState};

use trimline_packet::ConnectionId;

/// Numbers in an order that nobody outside can continue: who sees some of them knows none of the others, and a
/// client that is started again does not use those that its servers remember.
#[derive(Debug)]
pub(super) struct ConnectionIds {
    /// A keyed hash (SipHash) of a count, with a key of the operating system; none in runs that are to be the same
    /// again, whose numbers follow each other.
    hash: Option<RandomState>,
    count: u32,
}

impl Default for ConnectionIds {
    fn default() -> ConnectionIds {
        ConnectionIds { hash: Some(RandomState::new()), count: 0 }
    }
}

impl ConnectionIds {
    /// Numbers that follow each other.
    pub(super) fn from(first: u32) -> ConnectionIds {
        ConnectionIds { hash: None, count: first }
    }

    /// The next number. It may have been used.
    pub(super) fn next(&mut self) -> ConnectionId {
        let count = self.count;
        self.count = count.wrapping_add(1);
        let number = self.hash.as_ref().map_or(count, |hash| hash.hash_one(count) as u32);
        ConnectionId::new(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn numbers_are_no_sequence_unless_it_was_asked_for() {
        let mut connection_ids = ConnectionIds::from(u32::MAX);
        assert_eq!(
            [connection_ids.next(), connection_ids.next()].map(ConnectionId::get),
            [u32::MAX, 0]
        );
        let mut connection_ids = ConnectionIds::default();
        let drawn: Vec<u32> = (0..1000).map(|_| connection_ids.next().get()).collect();
        let steps: BTreeSet<u32> =
            drawn.windows(2).map(|pair| pair[1].wrapping_sub(pair[0])).collect();
        assert!(steps.len() > 990, "{} different steps of 999", steps.len());
        assert_ne!(
            ConnectionIds::default().next(),
            ConnectionIds::default().next(),
            "each has its own"
        );
    }
}
