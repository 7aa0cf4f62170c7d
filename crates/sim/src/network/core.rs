//! The state of a run that belongs to no single port or host: packets, flows, links, routes and counters.

use std::mem;

use trimline_metrics::LinkCounters;
use trimline_packet::{BitRate, ByteCount, Handle, Packet, Packets, PortCounters, Time, TimeDelta};
use trimline_switch::{DropList, Pool, Returning};
use trimline_transport::{Framing, Key, RngStream};

use super::{EventSink, Ties, Transmission};
use crate::arena::Arena;
use crate::features::detour::state::Detours;
use crate::features::nic::pacer::Pacers;
use crate::features::nic::state::Nics;
use crate::features::pfc::state::Pauses;
use crate::features::phantom_queue::state::PhantomQueues;
use crate::features::telemetry::state::SentBytes;
use crate::flows::Flows;
use crate::links::{Links, Loss, Passage};
use crate::random;
use crate::table::{Fronts, Shared};
use crate::topology::{FarEnd, LinkId, LinkSpec, Routes};
use crate::workload::Notice;

/// Bytes at the beginning of a host that its packets need.
pub(crate) const HOST_FRONT: usize = 320;

#[derive(Clone, Copy)]
pub(crate) struct LinkClass {
    pub(crate) rate: BitRate,
    pub(crate) delay: TimeDelta,
    /// Zero if a byte does not take whole picoseconds, and on links with framing: the links of most runs must not pay
    /// for it.
    ps_per_byte: u64,
    framing_bytes: u16,
    /// True if packets must ask [`Links::passage`] about loss and delay.
    is_impaired: bool,
}

impl LinkClass {
    fn new(spec: LinkSpec, is_impaired: bool) -> LinkClass {
        let LinkSpec { rate, delay, framing_bytes } = spec;
        let whole = rate.whole_ps_per_byte().filter(|_| framing_bytes == 0);
        LinkClass { rate, delay, ps_per_byte: whole.unwrap_or(0), framing_bytes, is_impaired }
    }

    fn spec(&self) -> LinkSpec {
        LinkSpec { rate: self.rate, delay: self.delay, framing_bytes: self.framing_bytes }
    }

    pub(crate) fn is_like(&self, spec: LinkSpec, is_impaired: bool) -> bool {
        (self.spec(), self.is_impaired) == (spec, is_impaired)
    }

    #[inline]
    pub(crate) fn transmission(&self, bytes: u16) -> TimeDelta {
        if self.ps_per_byte != 0 {
            TimeDelta::from_ps(self.ps_per_byte * u64::from(bytes))
        } else {
            self.spec().transmission(ByteCount::new(u64::from(bytes)))
        }
    }
}

/// The state of a node's own link.
#[derive(Clone, Copy)]
pub(crate) struct Transmitter {
    pub(crate) busy_until: Time,
    pub(crate) far_end: FarEnd,
    pub(crate) class: u32,
}

impl Transmitter {
    #[inline(always)]
    pub(crate) fn busy_until(&self) -> Time {
        self.busy_until
    }

    /// Makes all packets that arrive over this link leave the switch there by one port.
    pub(crate) fn set_far_end(&mut self, node: u32) {
        self.far_end = FarEnd::node(node);
    }
}

/// Packets and bytes that enter and leave the network: both sides of conservation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ledger {
    /// Packets that hosts sent, pause frames, and notifications of congestion.
    pub(crate) created: u64,
    /// Notifications in `created` about packets that went on: no link brought them.
    pub(crate) quenched: u64,
    pub(crate) created_bytes: u64,
    /// Packets that reached a host, by service number: returned headers at their sender, others at their destination.
    pub(crate) delivered: [u64; 8],
    pub(crate) delivered_bytes: u64,
    /// Packets that switches dropped.
    pub(crate) dropped: u64,
    pub(crate) dropped_bytes: u64,
    /// Packets that links did not deliver.
    pub(crate) lost: u64,
    pub(crate) lost_bytes: u64,
    pub(crate) cut_bytes: u64,
    /// Whole data packets that reached a host which had forgotten their connection.
    pub(crate) unclaimed: u64,
}

/// Class of a link, adding it if it is new.
pub(crate) fn class_of(classes: &mut Vec<LinkClass>, spec: LinkSpec, is_impaired: bool) -> u32 {
    let is_like = |class: &LinkClass| class.is_like(spec, is_impaired);
    let known = classes.iter().position(is_like).unwrap_or_else(|| {
        classes.push(LinkClass::new(spec, is_impaired));
        classes.len() - 1
    });
    known as u32
}

/// Random choice of a switch among its up ports, from the RNG stream of the node before it.
#[inline]
pub(crate) fn next_hop_draw(
    choices: &mut Shared<RngStream>,
    node: u32,
) -> impl FnOnce(u32) -> u32 + '_ {
    move |ups| {
        let stream = choices.find_mut(node as usize).expect("a run that lets switches choose");
        random::below(stream, u64::from(ups)) as u32
    }
}

/// The state of a run that belongs to no single port or host, as one thread sees it. Threads share links and flows, not
/// packets and counts.
pub(crate) struct Core {
    pub(crate) seed: u64,
    pub(crate) classes: Shared<LinkClass>,
    pub(crate) links: Links,
    pub(crate) arena: Arena,
    pub(crate) routes: Routes,
    /// Header and shortest packet of the transport.
    pub(crate) framing: Framing,
    pub(crate) returning: Returning,
    /// True if ports use their switch's pool.
    pub(crate) has_pools: bool,
    /// Shared packet memory, one pool per switch.
    pub(crate) pools: Shared<Pool>,
    /// True if ports of a switch depend on each other and run together.
    pub(crate) couples_ports: bool,
    pub(crate) pauses: Option<Box<Pauses>>,
    /// State of switches that detour packets, in a run with detours.
    pub(crate) detours: Option<Box<Detours>>,
    /// Bytes that ports have sent, in a run with telemetry.
    pub(crate) sent_bytes: Option<Box<SentBytes>>,
    /// True if departures are recorded for detours or telemetry.
    pub(crate) watches_departures: bool,
    pub(crate) phantom_queues: Option<Box<PhantomQueues>>,
    pub(crate) pacers: Option<Box<Pacers>>,
    /// Transmit queues and packet processing of hosts, in a run with either.
    pub(crate) nics: Option<Box<Nics>>,
    /// True if hosts have stages before their links: a NIC's queue or processors, a pacer, switches that may pause
    /// them, or packets for other hosts.
    pub(crate) has_stages: bool,
    pub(crate) coins: Shared<RngStream>,
    /// One per node, when switches choose the paths of some flow.
    pub(crate) choices: Shared<RngStream>,
    pub(crate) counters: Shared<PortCounters>,
    /// By node; empty in a run whose links lose nothing.
    pub(crate) losses: Shared<LinkCounters>,
    /// By host: packets and bytes sent; empty in a run that is not sampled.
    pub(crate) sent: Shared<PortCounters>,
    pub(crate) drop_list: DropList,
    pub(crate) flows: Flows,
    /// True if hosts announce flow starts to each other without packets: no host may be behind.
    pub(crate) has_notices: bool,
    pub(crate) ledger: Ledger,
    pub(crate) port_hops: u64,
    pub(crate) hosts: Fronts<HOST_FRONT>,
}

impl Core {
    /// Begins to send a packet on `link` to node `next`: transmission `from`. An impaired link may delay or lose it.
    #[inline(always)]
    pub(crate) fn begin(
        &mut self,
        sink: &mut (impl EventSink + ?Sized),
        link: &mut Transmitter,
        (from, next): (Transmission, u32),
        (now, handle, bytes): (Time, Handle, u16),
    ) {
        let class = &self.classes[link.class as usize];
        link.busy_until = now + class.transmission(bytes);
        let arrival = link.busy_until + class.delay;
        if class.is_impaired {
            let transmission = link.busy_until - now;
            self.pass(sink, (from, next), handle, now, arrival, transmission);
        } else {
            sink.arrive(&mut self.arena, next, arrival, handle, from);
        }
    }

    /// Decides whether a packet on an impaired link arrives, perhaps later, or is lost.
    #[cold]
    #[inline(never)]
    fn pass(
        &mut self,
        sink: &mut (impl EventSink + ?Sized),
        (from, next): (Transmission, u32),
        handle: Handle,
        begin: Time,
        arrival: Time,
        transmission: TimeDelta,
    ) {
        let node = from.link();
        if let Some(phantoms) = &mut self.phantom_queues {
            phantoms.pass(node as usize, begin, self.arena.packet_mut(handle));
        }
        let host = node.wrapping_sub(self.routes.ports()) as usize;
        if let Some(sent) = self.sent.find_mut(host) {
            sent.packets += 1;
            sent.bytes += u64::from(self.arena.packet(handle).wire_bytes);
        }
        match self.links.passage(node, begin, arrival, transmission) {
            Passage::Arrives(at) => {
                return sink.arrive(&mut self.arena, next, at, handle, from);
            }
            Passage::Gone(loss) => {
                self.ledger.lost += 1;
                let counters = self.losses.find_mut(node as usize).expect("links that may lose");
                *match loss {
                    Loss::Failed => &mut counters.failed,
                    Loss::Lost => &mut counters.lost,
                    Loss::Corrupted => &mut counters.corrupted,
                } += 1;
            }
        }
        sink.lost(&self.arena, node, handle);
        self.ledger.lost_bytes += u64::from(self.arena.packet(handle).wire_bytes);
        self.arena.release(handle);
    }

    /// Drops a packet of a host or for a host.
    pub(crate) fn drop_quietly(&mut self, handle: Handle) {
        self.ledger.dropped += 1;
        self.ledger.dropped_bytes += u64::from(self.arena.packet(handle).wire_bytes);
        self.arena.release(handle);
    }

    #[inline(always)]
    pub(crate) fn count_delivered(&mut self, packet: &Packet) {
        self.ledger.delivered_bytes += u64::from(packet.wire_bytes);
        self.ledger.delivered[packet.service.service_index()] += 1;
    }

    /// Counts a discarded whole data packet if the host has forgotten its connection: then it is no duplicate.
    #[cold]
    #[inline(never)]
    pub(crate) fn count_if_unclaimed(&mut self, host: u32, packet: &Packet) {
        if self.flows.find(host, Key::of(packet)).is_none() {
            self.ledger.unclaimed += 1;
        }
    }

    #[inline(always)]
    pub(crate) fn count_created(&mut self, packet: &Packet) {
        self.ledger.created += 1;
        self.ledger.created_bytes += u64::from(packet.wire_bytes);
    }

    pub(crate) fn ties(&self) -> Ties {
        Ties::new(self.seed, self.routes.ports())
    }

    pub(crate) fn rate(&self, link: &Transmitter) -> BitRate {
        self.classes[link.class as usize].rate
    }

    pub(crate) fn class_now(&self, link: LinkId, spec: LinkSpec) -> u32 {
        let is_impaired = self.links.is_impaired(link);
        let is_like = |class: &LinkClass| class.is_like(spec, is_impaired);
        let class = self.classes.iter().position(is_like).expect("every class was made at set-up");
        class as u32
    }

    /// Number of packets that hosts and ports began to send.
    pub(crate) fn packet_hops(&self) -> u64 {
        self.ledger.created - self.ledger.quenched + self.port_hops
    }

    /// Packets that the phantom queue of a node's link was the first to mark.
    pub(crate) fn marked_by_phantom(&self, node: u32) -> u64 {
        self.phantom_queues.as_ref().map_or(0, |phantoms| phantoms.marked(node as usize))
    }

    pub(crate) fn next_link_event(&self) -> Time {
        self.links.next_at()
    }

    #[inline]
    pub(crate) fn detours_packets(&self) -> bool {
        self.detours.is_some()
    }

    #[inline(always)]
    pub(crate) fn prefetch_host(&self, host: u32) {
        self.hosts.prefetch(host as usize);
    }

    /// Takes the notices that hosts sent each other since the last call.
    #[inline]
    pub(crate) fn take_notices(&mut self) -> Vec<Notice> {
        mem::take(self.flows.applications.notices())
    }

    /// Takes the nodes that must run because of a change of links.
    pub(crate) fn take_disturbed(&mut self) -> Vec<u32> {
        self.pauses.as_mut().map_or_else(Vec::new, |pauses| mem::take(&mut pauses.disturbed))
    }

    /// Packets that each link did not deliver, ports before hosts.
    pub(crate) fn link_counters(&self) -> Vec<LinkCounters> {
        let mut counters: Vec<LinkCounters> = self.losses.iter().copied().collect();
        counters.resize(self.routes.nodes() as usize, LinkCounters::default());
        counters
    }

    /// Returns another view of this state, without packets.
    ///
    /// # Safety
    /// See [`Shared::view`]: while two threads use views, each changes only state of its own nodes, and a switch with
    /// all its ports belongs to one thread.
    pub(crate) unsafe fn view(&self) -> Core {
        let pools = if self.has_pools {
            // SAFETY: promised by the caller.
            unsafe { self.pools.view() }
        } else {
            // No port reads it, but each is handed the first pool.
            Shared::from(vec![Pool::none()])
        };
        // SAFETY: promised by the caller.
        unsafe {
            Core {
                seed: self.seed,
                classes: self.classes.view(),
                links: self.links.view(),
                arena: self.arena.another(),
                routes: self.routes.view(),
                framing: self.framing,
                returning: self.returning,
                has_pools: self.has_pools,
                pools,
                couples_ports: self.couples_ports,
                pauses: self.pauses.as_ref().map(|pauses| Box::new(pauses.view())),
                detours: self.detours.as_ref().map(|of| Box::new(of.view())),
                sent_bytes: self.sent_bytes.as_ref().map(|of| Box::new(of.view())),
                watches_departures: self.watches_departures,
                phantom_queues: self.phantom_queues.as_ref().map(|of| Box::new(of.view())),
                pacers: self.pacers.as_ref().map(|pacers| Box::new(pacers.view())),
                nics: self.nics.as_ref().map(|nics| Box::new(nics.view())),
                has_stages: self.has_stages,
                coins: self.coins.view(),
                choices: self.choices.view(),
                counters: self.counters.view(),
                losses: self.losses.view(),
                sent: self.sent.view(),
                drop_list: DropList::default(),
                flows: self.flows.view(),
                has_notices: self.has_notices,
                ledger: Ledger::default(),
                port_hops: 0,
                hosts: self.hosts,
            }
        }
    }

    pub(crate) fn gather(&mut self, other: &mut Core) {
        self.flows.gather(&mut other.flows);
        self.ledger.add(&mem::take(&mut other.ledger));
        if let (Some(mine), Some(theirs)) = (&mut self.detours, &mut other.detours) {
            mine.gather(theirs);
        }
        self.port_hops += mem::take(&mut other.port_hops);
    }

    /// Takes the packets of another view at the end of a run.
    pub(crate) fn take_packets(&mut self, other: &Core) {
        other.arena.for_each_live(|&packet| {
            self.arena.insert(packet);
        });
    }
}

impl Ledger {
    fn add(&mut self, other: &Ledger) {
        self.created += other.created;
        self.quenched += other.quenched;
        self.created_bytes += other.created_bytes;
        for (mine, theirs) in self.delivered.iter_mut().zip(other.delivered) {
            *mine += theirs;
        }
        self.delivered_bytes += other.delivered_bytes;
        self.dropped += other.dropped;
        self.dropped_bytes += other.dropped_bytes;
        self.lost += other.lost;
        self.lost_bytes += other.lost_bytes;
        self.cut_bytes += other.cut_bytes;
        self.unclaimed += other.unclaimed;
    }
}
