//! The choice of messages to grant: fewest bytes left, one per peer.

use alloc::collections::{BTreeMap, BTreeSet};

use trimline_packet::{HostId, Time, TimeDelta};

/// Rank of a message: class and bytes left, then length, then number at this host.
pub(super) type Rank = (u64, u32, u64);

/// Messages of one peer that want a GRANT.
#[derive(Debug, Default)]
struct Peer {
    messages: BTreeSet<(Rank, u32)>,
    /// Earliest time of a GRANT to the peer.
    next_at: Time,
}

/// Messages that want a GRANT.
#[derive(Debug, Default)]
pub(super) struct Granting {
    peers: BTreeMap<HostId, Peer>,
    /// The first message of each peer.
    heads: BTreeSet<(Rank, u32, HostId)>,
}

impl Granting {
    /// Moves the message in `slot` from rank `from` to `to`.
    pub(super) fn replace(
        &mut self,
        slot: u32,
        host: HostId,
        from: Option<Rank>,
        to: Option<Rank>,
    ) {
        if from == to {
            return;
        }
        let peer = self.peers.entry(host).or_default();
        let head = peer.messages.first().copied();
        if let Some(rank) = from {
            peer.messages.remove(&(rank, slot));
        }
        if let Some(rank) = to {
            peer.messages.insert((rank, slot));
        }
        let new = peer.messages.first().copied();
        if head != new {
            if let Some((rank, slot)) = head {
                self.heads.remove(&(rank, slot, host));
            }
            if let Some((rank, slot)) = new {
                self.heads.insert((rank, slot, host));
            }
        }
        if new.is_none() {
            self.peers.remove(&host);
        }
    }

    /// Returns the messages granted at a time, each with the earliest time of a GRANT to its peer.
    pub(super) fn first(&self, count: usize) -> impl Iterator<Item = (u32, Time)> + '_ {
        let next_at = |host| self.peers.get(host).map_or(Time::ZERO, |peer| peer.next_at);
        self.heads.iter().take(count).map(move |(_, slot, host)| (*slot, next_at(host)))
    }

    /// Returns the number of messages granted at a time; at most `count`.
    pub(super) fn among(&self, count: usize) -> usize {
        self.heads.len().min(count)
    }

    /// Counts a GRANT to a peer that could have gone at `since`. A NIC that was busy for longer than a packet time does
    /// not catch up.
    pub(super) fn given(&mut self, now: Time, since: Time, host: HostId, packet_time: TimeDelta) {
        if let Some(peer) = self.peers.get_mut(&host) {
            let earliest = Time::from_ps(now.as_ps().saturating_sub(packet_time.as_ps()));
            peer.next_at = peer.next_at.max(since).max(earliest) + packet_time;
        }
    }
}
