//! The table of the slots of an endpoint's streams.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use rand_xoshiro::rand_core::RngCore;
use trimline_packet::{ConnectionId, HostId};
use trimline_transport::{HostTables, Key, PathList, RngStream, Side};

use super::hashing::Quick;
use super::peers::{ME, Peers};
use crate::random;

/// RNG streams of connections by their keys, for repeatable runs.
#[derive(Clone)]
pub struct Streams(pub Arc<dyn Fn(Key) -> RngStream + Send + Sync>);

impl Streams {
    /// Derives all streams from one seed.
    pub fn seeded(seed: u64) -> Streams {
        Streams(Arc::new(move |key: Key| {
            let flags = u64::from(key.opened_here) << 1 | u64::from(key.side == Side::Sending);
            let name = u64::from(key.peer.get()) << 32 | u64::from(key.connection.get());
            random::stream(seed ^ random::mix(flags), name)
        }))
    }
}

impl Streams {
    /// Returns a seed for the host's own random choices, from an impossible connection of the host with itself.
    pub(super) fn seed(&self) -> u64 {
        let connection = ConnectionId::new(0);
        let key = Key { peer: ME, connection, opened_here: true, side: Side::Sending };
        (self.0)(key).next_u64()
    }
}

impl fmt::Debug for Streams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Streams")
    }
}

#[derive(Debug)]
pub(super) struct Slots {
    slots: HashMap<Key, u32, Quick>,
    free: Vec<u32>,
    used: u32,
    /// The connection of each slot, if the host still has it.
    owners: Vec<Option<u32>>,
    streams: Streams,
}

impl Slots {
    pub(super) fn new(streams: Streams) -> Slots {
        Slots { slots: HashMap::default(), free: Vec::new(), used: 0, owners: Vec::new(), streams }
    }

    pub(super) fn owner(&self, slot: u32) -> Option<u32> {
        self.owners.get(slot as usize).copied().flatten()
    }

    pub(super) fn set_owner(&mut self, slot: u32, owner: Option<u32>) {
        let index = slot as usize;
        if self.owners.len() <= index {
            self.owners.resize(index + 1, None);
        }
        self.owners[index] = owner;
    }

    pub(super) fn slot(&self, key: Key) -> Option<u32> {
        self.slots.get(&key).copied()
    }

    pub(super) fn use_streams(&mut self, streams: Streams) {
        self.streams = streams;
    }

    pub(super) fn stream(&self, key: Key) -> RngStream {
        (self.streams.0)(key)
    }
}

/// The tables that the endpoint reads and changes.
pub(super) struct View<'a> {
    pub(super) slots: &'a mut Slots,
    pub(super) peers: &'a mut Peers,
    /// The packet in handling is of a connection that has begun.
    pub(super) begun: bool,
}

impl HostTables for View<'_> {
    #[inline]
    fn find(&self, key: Key) -> Option<u32> {
        self.slots.slots.get(&key).copied()
    }

    fn assign(&mut self, key: Key) -> u32 {
        let slot = self.slots.free.pop().unwrap_or_else(|| {
            self.slots.used += 1;
            self.slots.used - 1
        });
        self.slots.slots.insert(key, slot);
        self.slots.set_owner(slot, None);
        self.peers.holds(key.peer, |holdings| holdings.sides += 1);
        slot
    }

    /// Refuses to reopen a connection that an application still has but the endpoint has forgotten: the two would
    /// disagree about what has arrived.
    fn accepts(&self, _key: Key) -> bool {
        !self.begun
    }

    fn release(&mut self, key: Key, slot: u32) {
        self.peers.holds(key.peer, |holdings| holdings.sides -= 1);
        self.slots.slots.remove(&key);
        self.slots.set_owner(slot, None);
        self.slots.free.push(slot);
    }

    fn paths(&self, peer: HostId, paths: &mut PathList) {
        self.peers.paths(peer, paths);
    }

    fn stream(&self, key: Key) -> RngStream {
        self.slots.stream(key)
    }
}
