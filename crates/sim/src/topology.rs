//! The network's shape: a folded Clos of one to three tiers, or a single cable.
//!
//! FatTree, leaf-spine, star and back-to-back are the same arithmetic with other numbers; there is no routing table. A
//! *node* is what the engine runs: an output port of a switch, or a host with its NIC. Ports come first in the
//! numbering, switch by switch (ToRs, aggregations, cores; in each the down ports, then the up ports), then hosts. A
//! link is named by the node that sends on it.

mod idle;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

pub use idle::{HostDelay, Processing, Way};
use trimline_metrics::{Direction, Layer, LinkPlace, PortPlace};
use trimline_packet::{BitRate, ByteCount, HostId, PathId, TimeDelta};
use trimline_switch::Rng;
use trimline_transport::{ANY_PATH, PathList};

use crate::table::Shared;

/// The links of one tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkSpec {
    /// Bits per second in each direction.
    pub rate: BitRate,
    /// Propagation delay.
    pub delay: TimeDelta,
    /// Bytes per packet for preamble and gap. They take time on the link and are counted nowhere.
    pub framing_bytes: u16,
}

impl LinkSpec {
    /// Returns a link without framing.
    pub const fn new(rate: BitRate, delay: TimeDelta) -> LinkSpec {
        LinkSpec { rate, delay, framing_bytes: 0 }
    }

    /// Returns the time of a packet of `wire` bytes on the link.
    pub fn transmission(&self, wire: ByteCount) -> TimeDelta {
        self.rate.transmission(wire + ByteCount::new(u64::from(self.framing_bytes)))
    }
}

/// A folded Clos network.
///
/// Hosts are numbered by pod, then by ToR, then by port. With three tiers aggregation switch `a` of every pod has
/// `cores_per_aggregation` up-links, to the cores of group `a`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clos {
    /// Switch tiers on the way up: 0 back-to-back (two hosts, one cable), 1 star (one switch), 2 leaf-spine (every leaf
    /// to every spine), 3 FatTree.
    pub tiers: u8,
    /// Pods. 1 with fewer than three tiers.
    pub pods: u32,
    /// ToR (leaf) switches in a pod.
    pub tors_per_pod: u32,
    /// Hosts below a ToR.
    pub hosts_per_tor: u32,
    /// Aggregation switches in a pod, and up-links of each ToR; spines with two tiers; 0 with fewer.
    pub aggregations_per_pod: u32,
    /// Up-links of each aggregation switch; 0 with fewer than three tiers.
    pub cores_per_aggregation: u32,
    /// Host to ToR.
    pub host_link: LinkSpec,
    /// ToR to aggregation (leaf to spine).
    pub tor_link: LinkSpec,
    /// Aggregation to core.
    pub aggregation_link: LinkSpec,
    /// Delays of hosts and switches per packet.
    pub processing: Processing,
}

impl Clos {
    /// Returns the number of hosts.
    pub fn hosts(&self) -> u32 {
        self.pods * self.tors_per_pod * self.hosts_per_tor
    }

    /// Returns the minimum number of ports of a switch; 0 without switches.
    pub fn min_switch_ports(&self) -> u32 {
        let tor = self.hosts_per_tor + self.aggregations_per_pod;
        match self.tiers {
            0 => 0,
            1 => self.hosts_per_tor,
            2 => tor.min(self.tors_per_pod),
            _ => tor.min(self.tors_per_pod + self.cores_per_aggregation).min(self.pods),
        }
    }

    /// Returns the up-links of one ToR switch and of one pod's aggregation switches, if there are such tiers.
    pub fn shared_up_links(&self) -> Vec<UpLinks> {
        let pod = self.tors_per_pod * self.hosts_per_tor;
        let cores = self.aggregations_per_pod * self.cores_per_aggregation;
        let of = |switches, hosts_below, links: u32, rate: BitRate| UpLinks {
            switches,
            hosts_below,
            bits_per_second: u64::from(links) * rate.as_bps(),
        };
        let tor = of("ToR", self.hosts_per_tor, self.aggregations_per_pod, self.tor_link.rate);
        let aggregation = of("aggregation", pod, cores, self.aggregation_link.rate);
        [(2, tor), (3, aggregation)]
            .into_iter()
            .filter(|&(tiers, _)| self.tiers >= tiers)
            .map(|(_, links)| links)
            .collect()
    }
}

/// Up-links that the hosts below a ToR switch, or below the aggregation switches of a pod, share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpLinks {
    /// The tier that they leave: "ToR" or "aggregation".
    pub switches: &'static str,
    /// Hosts below.
    pub hosts_below: u32,
    /// Rate of all up-links together.
    pub bits_per_second: u64,
}

/// A host's position in the tree, as each layer sees it (ToR, aggregation, core).
#[derive(Clone, Copy, Debug)]
struct Position {
    /// The switch of the layer above the host: its ToR, its pod; zero for cores.
    below: [u16; 3],
    /// The down port of such a switch that leads to the host.
    down: [u16; 3],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tier {
    Tor,
    Aggregation,
    Core,
}

#[derive(Clone, Copy, Debug)]
struct Switch {
    layer: Tier,
    /// The hosts below the switch: [`Position::below`].
    id: u16,
    /// The bits of a path that choose the up port.
    path_shift: u8,
    path_mask: u16,
    /// Node of the first down port.
    down: u32,
    /// Node of the first up port.
    up: u32,
    /// Node behind the last port.
    end: u32,
}

/// One direction of a link, named by its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkId(u32);

impl LinkId {
    pub(crate) const fn new(node: u32) -> LinkId {
        LinkId(node)
    }
    pub(crate) const fn node(self) -> u32 {
        self.0
    }
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Returns whether a link leads to the switch of a port.
pub fn leads_to(clos: &Clos, link: LinkId, port: LinkId) -> bool {
    let routes = Routes::new(clos);
    port.node() < routes.ports()
        && routes.link(link.node()).far_end == FarEnd(routes.switch_of(port.node()))
}

/// Returns whether a link leads to a host.
pub fn leads_to_host(clos: &Clos, link: LinkId) -> bool {
    Routes::new(clos).link(link.node()).far_end.0 & FarEnd::HOST != 0
}

/// Returns every link, each direction, with the name of its sender: a port (`aggregation 3 up 2`) or a host (`host 7`).
pub fn links(clos: &Clos) -> Vec<(String, LinkId)> {
    let routes = Routes::new(clos);
    (0..routes.nodes()).map(|node| (routes.node_name(node), LinkId(node))).collect()
}

/// Returns the link in the other direction between the same ends.
pub fn reverse(clos: &Clos, link: LinkId) -> LinkId {
    Routes::new(clos).reverse(link)
}

/// The far end of a node's link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FarEnd(u32);

impl FarEnd {
    const HOST: u32 = 1 << 31;

    /// Every packet enters this node, whatever its destination.
    pub(crate) const fn node(node: u32) -> FarEnd {
        FarEnd(FarEnd::HOST | node)
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub(crate) far_end: FarEnd,
    pub(crate) spec: LinkSpec,
}

fn small(number: u32) -> u16 {
    u16::try_from(number).expect("at most 65536 switches of a layer and ports of a switch")
}

#[derive(Default)]
struct Dead {
    count: AtomicU32,
    /// Per node; empty in a run in which routing learns of none.
    links: Vec<AtomicBool>,
}

impl Dead {
    #[inline]
    fn is_empty(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }
    fn contains(&self, node: u32) -> bool {
        self.links.get(node as usize).is_some_and(|link| link.load(Ordering::Relaxed))
    }
}

/// The routes of a [`Clos`], as arithmetic on its node numbers.
pub(crate) struct Routes {
    clos: Clos,
    places: Shared<Position>,
    switches: Shared<Switch>,
    switch_of: Shared<u32>,
    first_host: u32,
    up_bits: u32,
    dead: Arc<Dead>,
}

impl Routes {
    pub(crate) fn new(clos: &Clos) -> Routes {
        let tors = if clos.tiers == 0 { 0 } else { clos.pods * clos.tors_per_pod };
        let aggregations = if clos.tiers < 2 { 0 } else { clos.pods * clos.aggregations_per_pod };
        let cores =
            if clos.tiers < 3 { 0 } else { clos.aggregations_per_pod * clos.cores_per_aggregation };
        let tor_ups = if clos.tiers < 2 { 0 } else { clos.aggregations_per_pod };
        let aggregation_ups = if clos.tiers < 3 { 0 } else { clos.cores_per_aggregation };
        let up_bits = clos.aggregations_per_pod.max(1).next_power_of_two().trailing_zeros();
        let core_bits = clos.cores_per_aggregation.max(1).next_power_of_two().trailing_zeros();
        assert!(up_bits + core_bits < 16, "a path has 16 bits, one value means any");
        let mut switches = Vec::new();
        let mut node = 0;
        let mut add = |layer, id: u32, downs: u32, ups: u32| {
            switches.push(Switch {
                layer,
                id: small(id),
                path_shift: if layer == Tier::Tor { 0 } else { up_bits as u8 },
                path_mask: if layer == Tier::Tor { (1 << up_bits) - 1 } else { u16::MAX },
                down: node,
                up: node + downs,
                end: node + downs + ups,
            });
            node += downs + ups;
        };
        for tor in 0..tors {
            add(Tier::Tor, tor, clos.hosts_per_tor, tor_ups);
        }
        for aggregation in 0..aggregations {
            let pod = aggregation / clos.aggregations_per_pod;
            add(Tier::Aggregation, pod, clos.tors_per_pod, aggregation_ups);
        }
        for _ in 0..cores {
            add(Tier::Core, 0, clos.pods, 0);
        }
        let mut switch_of: Vec<u32> = vec![0; node as usize];
        for (number, switch) in switches.iter().enumerate() {
            switch_of[switch.down as usize..switch.end as usize].fill(number as u32);
        }
        let places = (0..clos.hosts())
            .map(|host| {
                let tor = host / clos.hosts_per_tor;
                let pod = tor / clos.tors_per_pod;
                Position {
                    below: [small(tor), small(pod), 0],
                    down: [
                        small(host % clos.hosts_per_tor),
                        small(tor % clos.tors_per_pod),
                        small(pod),
                    ],
                }
            })
            .collect();
        let first_host = node;
        Routes {
            clos: clos.clone(),
            places,
            switches: switches.into(),
            switch_of: switch_of.into(),
            first_host,
            up_bits,
            dead: Arc::default(),
        }
    }

    /// Returns a view for another thread of the run.
    ///
    /// # Safety
    /// See [`Shared::view`]: only the knowledge about dead links changes, and all views share it.
    pub(crate) unsafe fn view(&self) -> Routes {
        // SAFETY: promised by the caller.
        unsafe {
            Routes {
                clos: self.clos.clone(),
                places: self.places.view(),
                switches: self.switches.view(),
                switch_of: self.switch_of.view(),
                first_host: self.first_host,
                up_bits: self.up_bits,
                dead: Arc::clone(&self.dead),
            }
        }
    }

    /// Number of nodes: ports and hosts.
    pub(crate) fn nodes(&self) -> u32 {
        self.first_host + self.hosts()
    }
    pub(crate) fn ports(&self) -> u32 {
        self.first_host
    }
    pub(crate) fn hosts(&self) -> u32 {
        self.places.len() as u32
    }
    pub(crate) fn switch_of(&self, port: u32) -> u32 {
        self.switch_of[port as usize]
    }
    pub(crate) fn switches(&self) -> usize {
        self.switches.len()
    }
    pub(crate) fn ports_of(&self, switch: u32) -> core::ops::Range<u32> {
        let switch = &self.switches[switch as usize];
        switch.down..switch.end
    }

    pub(crate) fn clos(&self) -> &Clos {
        &self.clos
    }

    /// Link on which a node sends. Its delay includes the constant processing times of both ends.
    pub(crate) fn link(&self, node: u32) -> Link {
        let clos = &self.clos;
        let tors = clos.pods * clos.tors_per_pod;
        let aggregations = clos.pods * clos.aggregations_per_pod;
        let processing = &clos.processing;
        let to_switch = |switch: u32, spec| Link {
            far_end: FarEnd(switch),
            spec: processing.towards_switch(spec, self.switches[switch as usize].layer as usize),
        };
        let to_host = |host: u32, spec| Link {
            far_end: FarEnd::node(self.first_host + host),
            spec: processing.towards_host(spec),
        };
        if node >= self.first_host {
            let host = node - self.first_host;
            let link = processing.sent_by_host(clos.host_link);
            return match clos.tiers {
                0 => to_host(1 - host, link),
                _ => to_switch(host / clos.hosts_per_tor, link),
            };
        }
        let number = self.switch_of[node as usize];
        let switch = &self.switches[number as usize];
        let (is_up, port) =
            if node >= switch.up { (true, node - switch.up) } else { (false, node - switch.down) };
        match (switch.layer, is_up) {
            (Tier::Tor, false) => to_host(number * clos.hosts_per_tor + port, clos.host_link),
            (Tier::Tor, true) => {
                let pod = number / clos.tors_per_pod;
                to_switch(tors + pod * clos.aggregations_per_pod + port, clos.tor_link)
            }
            (Tier::Aggregation, false) => {
                to_switch(u32::from(switch.id) * clos.tors_per_pod + port, clos.tor_link)
            }
            (Tier::Aggregation, true) => {
                let group = (number - tors) % clos.aggregations_per_pod;
                let core = group * clos.cores_per_aggregation + port;
                to_switch(tors + aggregations + core, clos.aggregation_link)
            }
            (Tier::Core, _) => {
                let group = (number - tors - aggregations) / clos.cores_per_aggregation;
                to_switch(tors + port * clos.aggregations_per_pod + group, clos.aggregation_link)
            }
        }
    }

    /// The node that a packet enters at the far end of a link: a host, or the output port that the switch there
    /// chooses. If the switch is free to choose, `any` draws a number below its argument.
    #[inline(always)]
    pub(crate) fn next_node(
        &self,
        far_end: FarEnd,
        destination: HostId,
        path: PathId,
        any: impl FnOnce(u32) -> u32,
    ) -> u32 {
        if far_end.0 & FarEnd::HOST != 0 {
            return far_end.0 & !FarEnd::HOST;
        }
        self.next_port(far_end.0, destination, path, any)
    }

    /// Output port of a switch for a packet. Valid at every switch, whatever way the packet came, for returned and
    /// detoured packets.
    #[inline(always)]
    pub(crate) fn next_port(
        &self,
        switch: u32,
        destination: HostId,
        path: PathId,
        any: impl FnOnce(u32) -> u32,
    ) -> u32 {
        let place = &self.places[destination.index()];
        let switch = &self.switches[switch as usize];
        let layer = switch.layer as usize;
        let ups = switch.end - switch.up;
        if place.below[layer] == switch.id || ups == 0 {
            return switch.down + u32::from(place.down[layer]);
        }
        if path == ANY_PATH {
            return self.any_live(switch, destination, any);
        }
        let up = u32::from(path.get() >> switch.path_shift & switch.path_mask);
        // A path is valid for its pair of hosts; from elsewhere it may name a port that is not there.
        switch.up + if up < ups { up } else { up % ups }
    }

    /// Makes room for dead links. Call it before there are views.
    pub(crate) fn expect_dead(&mut self) {
        let links = (0..self.nodes()).map(|_| AtomicBool::new(false)).collect();
        self.dead = Arc::new(Dead { count: AtomicU32::new(0), links });
    }

    /// Records that routing learns whether a link works.
    pub(crate) fn learn(&mut self, link: LinkId, works: bool) {
        let was_dead = self.dead.links[link.index()].swap(!works, Ordering::Relaxed);
        if works && was_dead {
            self.dead.count.fetch_sub(1, Ordering::Relaxed);
        } else if !works && !was_dead {
            self.dead.count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Pod of a port's switch, or the pod to which a core port's link leads; `None` without pods.
    pub(crate) fn pod_of(&self, port: u32) -> Option<u32> {
        let clos = &self.clos;
        let number = self.switch_of(port);
        let switch = &self.switches[number as usize];
        (clos.tiers == 3).then(|| match switch.layer {
            Tier::Tor => number / clos.tors_per_pod,
            Tier::Aggregation => switch.id.into(),
            Tier::Core => port - switch.down,
        })
    }

    pub(crate) fn leads_to_switch(&self, port: u32) -> bool {
        self.link(port).far_end.0 & FarEnd::HOST == 0
    }

    pub(crate) fn is_dead(&self, node: u32) -> bool {
        self.dead.contains(node)
    }

    /// Returns whether routing might have chosen `other` as well as `port` of one switch: all up ports are equal.
    pub(crate) fn are_equally_near(&self, port: u32, other: u32) -> bool {
        let up = self.switches[self.switch_of(port) as usize].up;
        port == other || port >= up && other >= up
    }

    /// Draws a path, each with equal probability.
    pub(crate) fn draw_path(&self, rng: &mut impl Rng) -> PathId {
        let mut below = |count: u32| if count > 1 { rng.below(count) } else { 0 };
        let aggregation = below(self.clos.aggregations_per_pod);
        let core = below(self.clos.cores_per_aggregation);
        PathId::new((core << self.up_bits | aggregation) as u16)
    }

    /// Returns an up port that leads to the destination, or any up port if there is none.
    #[inline(never)]
    fn any_live(&self, switch: &Switch, destination: HostId, any: impl FnOnce(u32) -> u32) -> u32 {
        if self.dead.is_empty() {
            return switch.up + any(switch.end - switch.up);
        }
        let live = || (switch.up..switch.end).filter(|&port| self.leads(port, destination));
        match live().count() {
            0 => switch.up + any(switch.end - switch.up),
            count => live().nth(any(count as u32) as usize).expect("a number below the count"),
        }
    }

    /// Returns whether a packet on a node's link can reach its destination, as routing knows.
    fn leads(&self, node: u32, destination: HostId) -> bool {
        if self.dead.contains(node) {
            return false;
        }
        let far_end = self.link(node).far_end.0;
        if far_end & FarEnd::HOST != 0 {
            return far_end & !FarEnd::HOST == self.first_host + destination.get();
        }
        let switch = &self.switches[far_end as usize];
        let place = &self.places[destination.index()];
        let layer = switch.layer as usize;
        if place.below[layer] == switch.id || switch.up == switch.end {
            return self.leads(switch.down + u32::from(place.down[layer]), destination);
        }
        (switch.up..switch.end).any(|port| self.leads(port, destination))
    }

    fn is_live(&self, source: HostId, destination: HostId, path: PathId) -> bool {
        let mut node = self.first_host + source.get();
        loop {
            if self.dead.contains(node) {
                return false;
            }
            node = self.next_node(self.link(node).far_end, destination, path, |_| 0);
            if node >= self.first_host {
                return true;
            }
        }
    }

    /// Adds the paths between two hosts that routing does not know to be dead; every path if all are dead.
    pub(crate) fn paths(&self, source: HostId, destination: HostId, paths: &mut PathList) {
        let first = paths.len();
        self.all_paths(source, destination, paths);
        if self.dead.is_empty() {
            return;
        }
        let is_live = |path: &PathId| self.is_live(source, destination, *path);
        let live: Vec<PathId> = paths[first..].iter().copied().filter(is_live).collect();
        if !live.is_empty() {
            paths.truncate(first);
            paths.extend(live);
        }
    }

    fn all_paths(&self, source: HostId, destination: HostId, paths: &mut PathList) {
        let (from, to) = (&self.places[source.index()], &self.places[destination.index()]);
        if self.clos.tiers < 2 || from.below[0] == to.below[0] {
            return paths.push(PathId::new(0));
        }
        let cores = if from.below[1] == to.below[1] { 1 } else { self.clos.cores_per_aggregation };
        paths.reserve((self.clos.aggregations_per_pod * cores) as usize);
        for aggregation in 0..self.clos.aggregations_per_pod {
            for core in 0..cores {
                paths.push(PathId::new((core << self.up_bits | aggregation) as u16));
            }
        }
    }

    /// Link in the other direction between the same ends.
    pub(crate) fn reverse(&self, link: LinkId) -> LinkId {
        let far_end = self.link(link.node()).far_end.0;
        if far_end & FarEnd::HOST != 0 {
            return LinkId(far_end & !FarEnd::HOST);
        }
        let near = match link.node().checked_sub(self.first_host) {
            Some(host) => FarEnd::node(self.first_host + host),
            None => FarEnd(self.switch_of(link.node())),
        };
        let back = |&port: &u32| self.link(port).far_end == near;
        LinkId(self.ports_of(far_end).find(back).expect("every link has two directions"))
    }

    pub(crate) fn node_name(&self, node: u32) -> String {
        self.node_place(node).to_string()
    }

    pub(crate) fn node_place(&self, node: u32) -> LinkPlace {
        match node.checked_sub(self.first_host) {
            Some(host) => LinkPlace::Host(host),
            None => LinkPlace::Port(self.port_place(node)),
        }
    }

    pub(crate) fn port_name(&self, port: u32) -> String {
        self.port_place(port).to_string()
    }

    pub(crate) fn port_place(&self, port: u32) -> PortPlace {
        let number = self.switch_of[port as usize];
        let switch = &self.switches[number as usize];
        let tors = self.clos.pods * self.clos.tors_per_pod;
        let aggregations = self.clos.pods * self.clos.aggregations_per_pod;
        let (layer, first) = match (switch.layer, self.clos.tiers) {
            (Tier::Tor, _) => (Layer::Tor, 0),
            (Tier::Aggregation, 2) => (Layer::Spine, tors),
            (Tier::Aggregation, _) => (Layer::Aggregation, tors),
            (Tier::Core, _) => (Layer::Core, tors + aggregations),
        };
        let (direction, first_port) = if port >= switch.up {
            (Direction::Up, switch.up)
        } else {
            (Direction::Down, switch.down)
        };
        PortPlace { layer, switch: number - first, direction, link: port - first_port }
    }
}

#[cfg(test)]
pub(crate) mod tests;
