//! The connection ids that this host allocates.

use std::hash::{BuildHasher, RandomState};

use trimline_packet::ConnectionId;

/// An allocator of ids that no outsider can predict. A restarted client does not reuse ids that its servers remember.
#[derive(Debug)]
pub(super) struct ConnectionIds {
    /// A keyed hash (SipHash) of a count, with a key of the operating system. `None` in repeatable runs, whose ids
    /// count up.
    hash: Option<RandomState>,
    count: u32,
}

impl Default for ConnectionIds {
    fn default() -> ConnectionIds {
        ConnectionIds { hash: Some(RandomState::new()), count: 0 }
    }
}

impl ConnectionIds {
    pub(super) fn from(first: u32) -> ConnectionIds {
        ConnectionIds { hash: None, count: first }
    }

    /// Returns the next id. It may be in use already.
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
    fn connection_ids_are_sequential_only_on_request() {
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
