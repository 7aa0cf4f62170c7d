//! Which messages of a host are granted: those with the fewest bytes left, one of each peer.

use alloc::collections::{BTreeMap, BTreeSet};

use trimline_packet::{HostId, Time, TimeDelta};

/// Where a message stands: its class and what is left of it, then its length, then its number at this host.
pub(super) type Rank = (u64, u32, u64);

/// Messages of one peer that want a GRANT.
#[derive(Debug, Default)]
struct Peer {
    messages: BTreeSet<(Rank, u32)>,
    /// No GRANT goes to the peer before.
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
    /// The message in `slot` stands at `to` instead of `from`.
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

    /// The messages that are granted at a time, each with the time before which its peer gets no GRANT.
    pub(super) fn first(&self, count: usize) -> impl Iterator<Item = (u32, Time)> + '_ {
        let next_at = |host| self.peers.get(host).map_or(Time::ZERO, |peer| peer.next_at);
        self.heads.iter().take(count).map(move |(_, slot, host)| (*slot, next_at(host)))
    }

    /// How many messages are granted at a time, of so many at most.
    pub(super) fn among(&self, count: usize) -> usize {
        self.heads.len().min(count)
    }

    /// A GRANT goes to a peer, which might have gone at some time before. A NIC that was busy longer than a packet time
    /// is not made up for.
    pub(super) fn given(&mut self, now: Time, since: Time, host: HostId, packet_time: TimeDelta) {
        if let Some(peer) = self.peers.get_mut(&host) {
            let earliest = Time::from_ps(now.as_ps().saturating_sub(packet_time.as_ps()));
            peer.next_at = peer.next_at.max(since).max(earliest) + packet_time;
        }
    }
}
