//! The time of a packet in an idle network: on links, in hosts and in switches.

use core::ops::Deref;

use trimline_packet::{ByteCount, HostId, TimeDelta};
use trimline_transport::Framing;

use super::{Clos, LinkSpec};

/// The processing delay of a host per packet, one way.
///
/// Any number of packets are in it at once, and it takes no link time. A host keeps its packets in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostDelay {
    /// Constant part.
    pub min: TimeDelta,
    /// Maximum extra delay of a packet, drawn uniformly. Times of an idle network do not include it.
    pub spread: TimeDelta,
}

/// Delays of hosts and switches per packet, besides the time on links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Processing {
    /// From the endpoint's decision to send until the first bit is on the host's link.
    pub host_send: HostDelay,
    /// From a packet's last bit at the host until the endpoint receives it.
    pub host_receive: HostDelay,
    /// From a packet's last bit at a switch until it enters the output queue: at a ToR, at an aggregation or spine
    /// switch, at a core. A header that a full queue returns does not take it again.
    pub switch: [TimeDelta; 3],
}

impl Processing {
    /// Adds the latency of the switch of this layer to a link that leads to it.
    pub(super) fn towards_switch(&self, link: LinkSpec, layer: usize) -> LinkSpec {
        LinkSpec { delay: link.delay + self.switch[layer], ..link }
    }

    /// Adds the delay of the host to a link that leads to it.
    pub(super) fn towards_host(&self, link: LinkSpec) -> LinkSpec {
        LinkSpec { delay: link.delay + self.host_receive.min, ..link }
    }

    /// Adds the delay of the host to a link on which it sends.
    pub(super) fn sent_by_host(&self, link: LinkSpec) -> LinkSpec {
        LinkSpec { delay: link.delay + self.host_send.min, ..link }
    }
}

/// The links of a way, in order. At most six, so they need no heap memory: each flow's ideal time computes two ways.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    links: [LinkSpec; 6],
    len: usize,
}

impl Way {
    fn of(links: impl IntoIterator<Item = LinkSpec>) -> Way {
        let mut links = links.into_iter();
        let first = links.next().expect("a way has a link");
        let mut way = Way { links: [first; 6], len: 1 };
        for link in links {
            way.links[way.len] = link;
            way.len += 1;
        }
        way
    }
}

impl Deref for Way {
    type Target = [LinkSpec];
    fn deref(&self) -> &[LinkSpec] {
        &self.links[..self.len]
    }
}

impl Clos {
    /// Minimum time between a packet's last bit on a link of the top tier and its place in a queue behind it; on hosts'
    /// links without such a tier.
    pub(crate) fn min_top_delay(&self) -> TimeDelta {
        let [tor, aggregation, core] = self.processing.switch;
        match self.tiers {
            3 => self.aggregation_link.delay + aggregation.min(core),
            2 => self.tor_link.delay + tor.min(aggregation),
            _ => self.host_link.delay,
        }
    }

    /// Returns the links from one host to another, in order. Their delays include the constant processing times of
    /// hosts and switches.
    pub fn links_between(&self, source: HostId, destination: HostId) -> Way {
        let tor = |host: HostId| host.get() / self.hosts_per_tor;
        let pod = |host: HostId| tor(host) / self.tors_per_pod;
        let processing = &self.processing;
        if self.tiers == 0 {
            return Way::of([processing.towards_host(processing.sent_by_host(self.host_link))]);
        }
        let height = 1
            + usize::from(tor(source) != tor(destination))
            + usize::from(pod(source) != pod(destination));
        let tiers = &[self.host_link, self.tor_link, self.aggregation_link][..height];
        let up = (0..height).map(|layer| processing.towards_switch(tiers[layer], layer));
        let down =
            (1..height).rev().map(|layer| processing.towards_switch(tiers[layer], layer - 1));
        let last = processing.towards_host(self.host_link);
        let mut way = Way::of(up.chain(down).chain([last]));
        way.links[0] = processing.sent_by_host(way.links[0]);
        way
    }

    /// Returns the number of links between host `one` and each of `others`, added up.
    pub fn links_to(&self, one: u32, others: core::ops::Range<u32>) -> u64 {
        let from = HostId::new(one);
        others.map(|other| self.links_between(from, HostId::new(other)).len() as u64).sum()
    }

    /// Returns the time from a packet's first bit to the arrival of its ACK, between the farthest hosts of an idle
    /// network. The ACK is as long as a header: no control packet is longer.
    pub fn idle_round_trip(&self, payload_bytes: u16, framing: Framing) -> TimeDelta {
        let wire = ByteCount::new(u64::from(framing.wire_bytes(payload_bytes)));
        let (first, last) = (HostId::new(0), HostId::new(self.hosts() - 1));
        let ack = ByteCount::new(u64::from(framing.header));
        self.ideal_completion(first, last, 0, wire, wire)
            + self.ideal_completion(last, first, 0, ack, ack)
    }

    /// Returns the minimum time in which `full_packets` full packets and a last one, shorter or not, can arrive on
    /// links in their initial state, over all paths and orders.
    ///
    /// It is exact with one path, and if [`Clos::ideal_times_are_exact`]. Otherwise it is a lower bound; the minimum is
    /// longer by at most one full packet on the slowest link, and no longer for full packets alone where all paths share
    /// the slowest link.
    pub fn ideal_completion(
        &self,
        source: HostId,
        destination: HostId,
        full_packets: u64,
        full_wire: ByteCount,
        last_wire: ByteCount,
    ) -> TimeDelta {
        let way = self.links_between(source, destination);
        match self.paths_between(source, destination) {
            1 => one_after_the_other(&way, full_packets, full_wire, last_wire),
            _ => side_by_side(&way, self.up_links(), full_packets, (full_wire, last_wire)),
        }
    }

    /// Returns whether [`Clos::ideal_completion`] is the minimum between all hosts: no link between switches is slower
    /// than hosts' links, and two paths share only hosts' links; or there is one path.
    pub fn ideal_times_are_exact(&self) -> bool {
        let tiers = [self.tor_link, self.aggregation_link];
        let between = &tiers[..usize::from(self.tiers.saturating_sub(1)).min(tiers.len())];
        let host = self.host_link;
        let is_slower =
            |link: &LinkSpec| link.rate < host.rate || link.framing_bytes > host.framing_bytes;
        let paths = self.aggregations_per_pod * self.cores_per_aggregation.max(1);
        self.tiers < 2
            || paths == 1
            || self.aggregations_per_pod > 1 && !between.iter().any(is_slower)
    }

    fn up_links(&self) -> [u64; 2] {
        [self.aggregations_per_pod, self.cores_per_aggregation].map(u64::from)
    }

    fn paths_between(&self, source: HostId, destination: HostId) -> u32 {
        let tor = |host: HostId| host.get() / self.hosts_per_tor;
        let pod = |host: HostId| tor(host) / self.tors_per_pod;
        match self.tiers {
            0 | 1 => 1,
            _ if tor(source) == tor(destination) => 1,
            _ if pod(source) == pod(destination) => self.aggregations_per_pod,
            _ => self.aggregations_per_pod * self.cores_per_aggregation,
        }
    }
}

/// Minimum time on one path. The last packet is behind the full ones on every link.
fn one_after_the_other(
    way: &[LinkSpec],
    full_packets: u64,
    full_wire: ByteCount,
    last_wire: ByteCount,
) -> TimeDelta {
    let mut slowest = TimeDelta::ZERO;
    let mut first_full = TimeDelta::ZERO;
    let mut last = TimeDelta::ZERO;
    for link in way {
        let full = link.transmission(full_wire);
        slowest = slowest.max(full);
        first_full = first_full + full;
        let before = match full_packets {
            0 => TimeDelta::ZERO,
            packets => first_full + slowest * (packets - 1),
        };
        last = last.max(before) + link.transmission(last_wire) + link.delay;
        first_full = first_full + link.delay;
    }
    last
}

/// Time of one packet over idle links.
fn alone(links: &[LinkSpec], wire: ByteCount) -> TimeDelta {
    let took = |link: &LinkSpec| link.transmission(wire) + link.delay;
    links.iter().map(took).fold(TimeDelta::ZERO, |sum, each| sum + each)
}

/// Minimum time of full packets and a last one, shorter or not, on several paths between two hosts.
///
/// All packets cross the first and the last link, which are alike; few share the links between. A short packet sent
/// last can overtake full ones between, but takes its time on both links. It takes no extra time only if it crosses the
/// last link before the first full packet arrives there.
fn side_by_side(
    way: &[LinkSpec],
    up_links: [u64; 2],
    full_packets: u64,
    (full_wire, last_wire): (ByteCount, ByteCount),
) -> TimeDelta {
    let Some(behind_first) = full_packets.checked_sub(1) else { return alone(way, last_wire) };
    let host = |wire| way.first().map_or(TimeDelta::ZERO, |link| link.transmission(wire));
    let (full, last) = (host(full_wire), host(last_wire));
    let (short, first_full) = (alone(way, last_wire), alone(way, full_wire));
    let all_full = first_full + full * behind_first;
    // The short packet leaves last and is the first on the last link, where the full packets follow it.
    let overtaking = short + full * (full_packets + 1);
    let more = if overtaking > first_full { overtaking - first_full } else { TimeDelta::ZERO };
    let together = all_full + last.min(more);
    let in_turn = first_full + behind(way, up_links, behind_first, full_wire);
    together.max(in_turn).max(one_by_one(way, up_links, full_packets, (full_wire, last_wire)))
}

/// Lower bound of the time of full packets and a last one, if all paths share links between switches: all packets cross
/// such a link one by one. The first or the last packet there is a full one, which takes its time before or behind the
/// link. Zero without such links.
fn one_by_one(
    way: &[LinkSpec],
    up_links: [u64; 2],
    full_packets: u64,
    (full_wire, last_wire): (ByteCount, ByteCount),
) -> TimeDelta {
    let is_shared = |place: usize| {
        let tier = place.min(way.len() - 1 - place);
        up_links[..tier].iter().all(|&links| links == 1)
    };
    let bound = |place: usize| {
        let (before, link, after) = (&way[..place], way[place], &way[place + 1..]);
        let crossed = link.transmission(full_wire) * full_packets + link.transmission(last_wire);
        let short_last = alone(before, full_wire) + alone(after, last_wire);
        let short_first = alone(before, last_wire) + alone(after, full_wire);
        crossed + link.delay + short_last.min(short_first)
    };
    let between = 1..way.len() - 1;
    between.filter(|&place| is_shared(place)).map(bound).max().unwrap_or(TimeDelta::ZERO)
}

/// Time between the arrivals of the first and the last full packet, if each link takes its turn: `packets` follow the
/// first. Several links between switches can still be the bottleneck, if they are slower than hosts' links.
fn behind(way: &[LinkSpec], up_links: [u64; 2], packets: u64, wire: ByteCount) -> TimeDelta {
    // The time in which a number of packets passes: 1, one per up-link of a ToR, one per path.
    let mut passes: [(u64, TimeDelta); 3] = [(1, TimeDelta::ZERO); 3];
    let (mut side, mut time) = (1, TimeDelta::ZERO);
    let tiers = &way[..way.len() / 2];
    for (tier, link) in tiers.iter().enumerate() {
        let times = if tier == 0 { 1 } else { up_links[tier - 1] };
        side *= times;
        time = (time * times).max(link.transmission(wire));
        passes[tier] = (side, time);
    }
    let mut left = packets;
    let mut sum = TimeDelta::ZERO;
    for &(side, time) in passes[..tiers.len()].iter().rev() {
        sum = sum + time * (left / side);
        left %= side;
    }
    sum
}
