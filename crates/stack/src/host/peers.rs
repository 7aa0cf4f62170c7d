//! Hosts and their addresses: which address is whose, which way leads there.

use std::collections::HashMap;
use std::net::IpAddr;

use super::hashing::Quick;
use trimline_packet::wire::Routes;
use trimline_packet::wire::route::{entropy_of, path_of};
use trimline_packet::{HostId, PathId};

/// This host among its peers.
pub(super) const ME: HostId = HostId::new(0);

/// A host by its addresses.
#[derive(Clone, Debug)]
struct Peer {
    canonical: IpAddr,
    /// An address for each path, or none where the fabric hashes.
    ways: Vec<IpAddr>,
    /// The next hop's Ethernet address, once it is known.
    next_hop: Option<[u8; 6]>,
}

/// All hosts that this one has heard of.
#[derive(Debug)]
pub(super) struct Peers {
    peers: Vec<Peer>,
    /// Every address: whose, and its number among the ways.
    addresses: HashMap<IpAddr, (HostId, u16), Quick>,
    /// Paths to a host with one address: UDP source ports.
    entropies: u16,
}

impl Peers {
    /// This host alone.
    pub(super) fn new(canonical: IpAddr, ways: &[IpAddr], entropies: u16) -> Peers {
        let mut peers =
            Peers { peers: Vec::new(), addresses: HashMap::default(), entropies: entropies.max(1) };
        peers.add(canonical, ways);
        peers
    }

    /// The host with this canonical address, made known if it is not, with an address for each path if
    /// there are any.
    pub(super) fn add(&mut self, canonical: IpAddr, ways: &[IpAddr]) -> HostId {
        let host = match self.addresses.get(&canonical) {
            Some(&(host, _)) => host,
            None => {
                let host = HostId::new(self.peers.len() as u32);
                self.peers.push(Peer { canonical, ways: Vec::new(), next_hop: None });
                self.addresses.insert(canonical, (host, 0));
                host
            }
        };
        if !ways.is_empty() {
            self.peers[host.index()].ways = ways.to_vec();
            for (number, &way) in (0..).zip(ways) {
                self.addresses.insert(way, (host, number));
            }
        }
        host
    }

    pub(super) fn next_hop(&self, host: HostId) -> Option<[u8; 6]> {
        self.peers[host.index()].next_hop
    }

    pub(super) fn set_next_hop(&mut self, host: HostId, ethernet: [u8; 6]) {
        self.peers[host.index()].next_hop = Some(ethernet);
    }

    /// The paths that lead to a host.
    pub(super) fn paths(&self, host: HostId, paths: &mut Vec<PathId>) {
        let count = match self.peers[host.index()].ways.len() {
            0 => self.entropies,
            ways => ways as u16,
        };
        paths.extend((0..count).map(PathId::new));
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
        // A path that this host does not have leads there all the same.
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
