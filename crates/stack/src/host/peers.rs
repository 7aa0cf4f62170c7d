//! Hosts with their addresses and next hops.

use std::collections::HashMap;
use std::net::IpAddr;

use super::hashing::Quick;
use super::tokens::Token;
use trimline_packet::wire::route::{entropy_of, path_of};
use trimline_packet::wire::{LabelStack, Routes};
use trimline_packet::{HostId, PathId, Time, TimeDelta};
use trimline_transport::PathList;

pub(super) const ME: HostId = HostId::new(0);

/// The time for which an unused peer is remembered.
const AGE: TimeDelta = TimeDelta::from_ms(10_000);

/// Number of peers whose age is checked for each new peer.
const CHECKED_PEERS: usize = 8;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Holdings {
    pub(super) connections: u32,
    pub(super) accepted: u32,
    /// Connections that the peer opened and that could not be read yet.
    pub(super) half_open: u32,
    pub(super) sides: u32,
    pub(super) kept: u64,
    pub(super) unacked: u64,
}

#[derive(Clone, Debug)]
struct Peer {
    canonical: IpAddr,
    /// An address for each path; empty where the fabric hashes.
    ways: Vec<IpAddr>,
    /// The labels of each path; empty without labels.
    labels: Vec<LabelStack>,
    /// The paths that routing has withdrawn.
    withdrawn: Vec<u16>,
    /// The next hop's Ethernet address, once known.
    next_hop: Option<[u8; 6]>,
    /// This host named it, so it stays.
    named: bool,
    /// The time when it was added, or last opened a connection.
    seen: Time,
    /// The token that it demands of new connections.
    token: Option<Token>,
    holdings: Holdings,
}

impl Peer {
    fn is_in_use(&self) -> bool {
        self.named || self.holdings.connections > 0 || self.holdings.sides > 0
    }
}

#[derive(Debug)]
pub(super) struct Peers {
    peers: Vec<Peer>,
    /// The host of each address, and the address's index among its ways.
    addresses: HashMap<IpAddr, (HostId, u16), Quick>,
    /// Number of paths to a host with one address: UDP source ports.
    entropies: u16,
    /// Unused entries of `peers`.
    free: Vec<u32>,
    /// Index at which the next search for old peers begins.
    hand: usize,
    /// Number of peers that this host did not name.
    strangers: u32,
    /// The holdings of all peers.
    total: Holdings,
}

impl Peers {
    pub(super) fn new(canonical: IpAddr, ways: &[IpAddr], entropies: u16) -> Peers {
        let mut peers = Peers {
            peers: Vec::new(),
            addresses: HashMap::default(),
            entropies: entropies.max(1),
            free: Vec::new(),
            hand: 0,
            strangers: 0,
            total: Holdings::default(),
        };
        peers.add(canonical, ways);
        peers
    }

    /// Adds the host with this canonical address for good, with an address for each path, if any.
    pub(super) fn add(&mut self, canonical: IpAddr, ways: &[IpAddr]) -> HostId {
        let host = match self.addresses.get(&canonical) {
            Some(&(host, _)) => host,
            None => self.place(canonical, Time::ZERO),
        };
        let peer = &mut self.peers[host.index()];
        self.strangers -= u32::from(!std::mem::replace(&mut peer.named, true));
        if !ways.is_empty() {
            self.peers[host.index()].ways = ways.to_vec();
            for (number, &way) in (0..).zip(ways) {
                self.addresses.insert(way, (host, number));
            }
        }
        host
    }

    /// Gives a host a path for each stack of labels.
    pub(super) fn set_labels(&mut self, host: HostId, labels: Vec<LabelStack>) {
        self.peers[host.index()].labels = labels;
    }

    /// Returns the labels of a packet to a host, if its paths have labels.
    #[inline]
    pub(super) fn labels(&self, host: HostId, path: PathId) -> Option<&LabelStack> {
        let labels = &self.peers[host.index()].labels;
        labels.get(path.index().checked_rem(labels.len())?)
    }

    /// Returns the hosts with an address for each path that this host uses, and those addresses.
    pub(super) fn with_ways(&self) -> impl Iterator<Item = (HostId, &[IpAddr])> + '_ {
        let all = (0..).map(HostId::new).zip(&self.peers).skip(1);
        let with_ways = all.filter(|(_, peer)| peer.is_in_use() && !peer.ways.is_empty());
        with_ways.map(|(host, peer)| (host, peer.ways.as_slice()))
    }

    /// Withdraws a path, or announces it again. Returns whether that is a change; an unknown path is none.
    pub(super) fn set_routed(&mut self, host: HostId, path: u16, is_routed: bool) -> bool {
        let count = self.count(host);
        let withdrawn = &mut self.peers[host.index()].withdrawn;
        let place = withdrawn.iter().position(|&other| other == path);
        match (place, is_routed) {
            (None, false) if path < count => withdrawn.push(path),
            (Some(place), true) => drop(withdrawn.swap_remove(place)),
            (None | Some(_), _) => return false,
        }
        true
    }

    pub(super) fn is_withdrawn(&self, host: HostId, path: u16) -> bool {
        self.peers[host.index()].withdrawn.contains(&path)
    }

    /// Returns the number of paths to a host, the withdrawn ones included.
    fn count(&self, host: HostId) -> u16 {
        let peer = &self.peers[host.index()];
        match (peer.ways.len(), peer.labels.len()) {
            (0, 0) => self.entropies,
            (0, labels) => labels as u16,
            (ways, _) => ways as u16,
        }
    }

    /// Adds a host that came by itself, up to `max`. Old peers make room and are given to `forget`.
    pub(super) fn admit(
        &mut self,
        now: Time,
        address: IpAddr,
        max: u32,
        mut forget: impl FnMut(HostId),
    ) -> Option<HostId> {
        for _ in 0..CHECKED_PEERS.min(self.peers.len()) {
            self.hand = (self.hand + 1) % self.peers.len();
            let host = HostId::new(self.hand as u32);
            if self.forget_if_old(now, host) {
                forget(host);
            }
        }
        (self.strangers < max).then(|| self.place(address, now))
    }

    fn place(&mut self, canonical: IpAddr, now: Time) -> HostId {
        let peer = Peer {
            canonical,
            ways: Vec::new(),
            labels: Vec::new(),
            withdrawn: Vec::new(),
            next_hop: None,
            named: false,
            seen: now,
            token: None,
            holdings: Holdings::default(),
        };
        self.strangers += 1;
        let host = match self.free.pop() {
            Some(index) => {
                self.peers[index as usize] = peer;
                HostId::new(index)
            }
            None => {
                self.peers.push(peer);
                HostId::new(self.peers.len() as u32 - 1)
            }
        };
        self.addresses.insert(canonical, (host, 0));
        host
    }

    fn forget_if_old(&mut self, now: Time, host: HostId) -> bool {
        let peer = &self.peers[host.index()];
        let is_old = now >= peer.seen.saturating_add(AGE);
        // A forgotten peer leaves its address in its entry, but not in `addresses`.
        let is_there = self.addresses.get(&peer.canonical).is_some_and(|&(there, _)| there == host);
        if peer.is_in_use() || !is_old || !is_there {
            return false;
        }
        self.addresses.remove(&peer.canonical);
        self.free.push(host.get());
        self.strangers -= 1;
        true
    }

    #[inline]
    pub(super) fn holds(&mut self, host: HostId, change: impl Fn(&mut Holdings)) {
        change(&mut self.peers[host.index()].holdings);
        change(&mut self.total);
    }

    #[inline]
    pub(super) fn received(&mut self, host: HostId, now: Time) {
        self.peers[host.index()].seen = now;
    }

    pub(super) fn set_back(&mut self, by: TimeDelta) {
        self.peers.iter_mut().for_each(|peer| peer.seen = peer.seen.set_back(by));
    }

    /// Returns the holdings of a peer, and of all.
    pub(super) fn holdings(&self, host: HostId) -> (Holdings, Holdings) {
        (self.peers[host.index()].holdings, self.total)
    }

    pub(super) fn strangers(&self) -> u32 {
        self.strangers
    }

    pub(super) fn in_use(&self) -> impl Iterator<Item = IpAddr> + '_ {
        self.peers.iter().skip(1).filter(|peer| peer.is_in_use()).map(|peer| peer.canonical)
    }

    pub(super) fn lacks_way(&self, address: IpAddr) -> bool {
        let peer = self.host(address).map(|host| &self.peers[host.index()]);
        peer.is_some_and(|peer| peer.is_in_use() && peer.next_hop.is_none())
    }

    pub(super) fn token(&self, host: HostId) -> Option<Token> {
        self.peers[host.index()].token
    }

    pub(super) fn set_token(&mut self, host: HostId, token: Token) {
        self.peers[host.index()].token = Some(token);
    }

    pub(super) fn next_hop(&self, host: HostId) -> Option<[u8; 6]> {
        self.peers[host.index()].next_hop
    }

    pub(super) fn set_next_hop(&mut self, host: HostId, ethernet: [u8; 6]) {
        self.peers[host.index()].next_hop = Some(ethernet);
    }

    pub(super) fn paths(&self, host: HostId, paths: &mut PathList) {
        let (count, withdrawn) = (self.count(host), &self.peers[host.index()].withdrawn);
        // Packets that may be lost are better than none.
        if withdrawn.is_empty() || withdrawn.len() >= usize::from(count) {
            return paths.extend((0..count).map(PathId::new));
        }
        paths.extend((0..count).filter(|path| !withdrawn.contains(path)).map(PathId::new));
    }
}

impl Routes for Peers {
    fn canonical(&self, host: HostId) -> Option<IpAddr> {
        Some(self.peers.get(host.index())?.canonical)
    }

    fn toward(&self, host: HostId, path: PathId) -> Option<(IpAddr, u16)> {
        let peer = self.peers.get(host.index())?;
        if peer.ways.is_empty() {
            return Some((peer.canonical, entropy_of(path)));
        }
        // A path number that this host does not have leads there as well.
        Some((peer.ways[path.index() % peer.ways.len()], entropy_of(PathId::new(0))))
    }

    fn host(&self, address: IpAddr) -> Option<HostId> {
        self.addresses.get(&address).map(|&(host, _)| host)
    }

    fn path(&self, address: IpAddr, entropy: u16) -> Option<PathId> {
        let &(host, number) = self.addresses.get(&address)?;
        match self.peers[host.index()].ways.len() {
            0 => Some(path_of(entropy)),
            _ => Some(PathId::new(number)),
        }
    }
}
