//! The paths of a host: label-switched paths (NDP 3.1.1), and updates of routing (NDP 3.2.3).

use std::net::IpAddr;

use trimline_packet::wire::{LabelStack, Routes};
use trimline_packet::{HostId, Time};
use trimline_transport::ndp::Command;
use trimline_transport::{PathList, Side};

use super::Core;

/// The TTL of a label: that of the IP packet below it.
const LABEL_TTL: u8 = 64;

impl Core {
    /// Adds a peer whose next hop is to be looked up, with an address for each path if the fabric has them.
    pub fn name_peer(&mut self, canonical: IpAddr, ways: &[IpAddr]) {
        let host = self.peers.add(canonical, ways);
        if self.peers.next_hop(host).is_none() {
            self.unresolved.push(host);
        }
    }

    /// Gives a known peer a path for each stack of labels, the outermost label first (NDP 3.1.1). One label names a
    /// path that switches know; a label for each switch is a source route. Packets to the peer then have these labels
    /// before the IP header.
    ///
    /// # Errors
    /// Returns a message for an unknown peer, a peer with path addresses, no stack, a stack that is deeper than
    /// [`super::super::Config::leave_room_for_labels`] allows, and a label that is none.
    pub fn label_peer(&mut self, peer: IpAddr, stacks: &[Vec<u32>]) -> Result<(), String> {
        let host = self.peers.host(peer).ok_or_else(|| format!("{peer}: an unknown peer"))?;
        if self.peers.with_ways().any(|(other, _)| other == host) {
            return Err(format!("{peer}: a path has an address or labels, not both"));
        }
        let max = self.config.max_labels;
        let labels = stacks.iter().map(|labels| {
            let is_short = (1..=max).contains(&labels.len());
            LabelStack::of(labels, LABEL_TTL).filter(|_| is_short).ok_or_else(|| {
                format!("labels {labels:?}: expected 1 to {max} labels from 16 to 1048575")
            })
        });
        let labels: Vec<LabelStack> = labels.collect::<Result<_, _>>()?;
        if labels.is_empty() {
            return Err(format!("{peer}: expected labels of at least one path"));
        }
        self.peers.set_labels(host, labels);
        self.replace_paths(host);
        Ok(())
    }

    /// Stops using a path to a peer, because routing has withdrawn it (NDP 3.2.3). Packets in flight on it are sent
    /// again on other paths when they time out. If all paths are withdrawn, all are used. Returns whether the path is
    /// known and was in use.
    pub fn withdraw_path(&mut self, now: Time, peer: IpAddr, path: u16) -> bool {
        self.set_routed(now, peer, path, false)
    }

    /// Uses a withdrawn path again. Returns whether it was withdrawn.
    pub fn announce_path(&mut self, now: Time, peer: IpAddr, path: u16) -> bool {
        self.set_routed(now, peer, path, true)
    }

    fn set_routed(&mut self, now: Time, peer: IpAddr, path: u16, is_routed: bool) -> bool {
        let Some(host) = self.peers.host(peer) else { return false };
        let is_news = self.peers.set_routed(host, path, is_routed);
        if is_news {
            self.clock = self.clock.max(now);
            self.replace_paths(host);
        }
        is_news
    }

    /// Gives all connections with a peer the paths that are in use. New connections read them themselves.
    fn replace_paths(&mut self, host: HostId) {
        let mut paths = PathList::new();
        self.peers.paths(host, &mut paths);
        for index in 0..self.entries.len() {
            let entry = &self.entries[index];
            if !entry.in_use || entry.name.peer != host {
                continue;
            }
            let name = entry.name;
            for side in [Side::Sending, Side::Receiving] {
                let (key, paths) = (name.key(side), paths.clone());
                self.command(self.clock, Command::Paths { key, paths });
            }
        }
        self.drain_events(self.clock, None);
    }

    /// Returns the path addresses of the peers in use, each with its peer and path.
    pub(in crate::host) fn ways_in_use(&self) -> Vec<(IpAddr, u16, IpAddr)> {
        let mut all = Vec::new();
        for (host, ways) in self.peers.with_ways() {
            let Some(peer) = self.peers.canonical(host) else { continue };
            all.extend((0..).zip(ways).map(|(path, &way)| (peer, path, way)));
        }
        all
    }
}
