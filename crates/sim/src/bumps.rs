//! Phantom queues of links and pacers of hosts (HULL, NSDI 2012). [`trimline_switch::bump`] has their behaviour;
//! [`crate::network`] has the points where packets meet them.

use std::ops::Range;

use trimline_hostnic::{FlowId, Pacer, PacerCounters, PacerModel, Taken};
use trimline_packet::{Handle, Packet, Packets, Time, TimeDelta};
use trimline_switch::{PhantomModel, PhantomQueue};
use trimline_transport::RngStream;

use crate::plan::{self, PacedHosts, PhantomLink};
use crate::random::{self, NodeRng};
use crate::table::Shared;
use crate::topology::Routes;

#[derive(Clone)]
struct Phantom {
    model: PhantomModel,
    queue: PhantomQueue,
    /// Packets that it was the first to mark.
    marked: u64,
}

#[derive(Clone)]
struct Paced {
    pacer: Pacer,
    /// End of the way of the last packet from the host to the pacer.
    taken_until: Time,
}

/// The phantom queues and pacers of a network, in a run with either.
pub(crate) struct Bumps {
    /// By node; empty in a run without phantom queues.
    phantoms: Shared<Option<Box<Phantom>>>,
    /// By host; empty in a run without pacers.
    paced: Shared<Option<Box<Paced>>>,
    /// By host with a pacer: whether an echo associates its flow.
    coins: Shared<RngStream>,
    model: Option<PacerModel>,
}

impl Bumps {
    /// Phantom queues and pacers of a plan, if it has any. The last phantom queue for a link holds.
    pub(crate) fn new(plan: &plan::Bumps, routes: &Routes, seed: u64) -> Option<Box<Bumps>> {
        let plan::Bumps { phantoms, paced } = plan;
        let paced = paced.as_ref();
        if phantoms.is_empty() && paced.is_none() {
            return None;
        }
        let mut by_node = vec![None; if phantoms.is_empty() { 0 } else { routes.nodes() as usize }];
        for &PhantomLink { link, model, .. } in phantoms {
            let phantom = Phantom { model, queue: PhantomQueue::new(), marked: 0 };
            by_node[link.index()] = Some(Box::new(phantom));
        }
        let hosts = if paced.is_some() { routes.hosts() } else { 0 };
        let of_host = |host: u32| {
            let PacedHosts { model, hosts, .. } = paced?;
            let is_paced = plan::is_among(host, hosts);
            let pacer = || Paced { pacer: Pacer::new(model), taken_until: Time::ZERO };
            is_paced.then(|| Box::new(pacer()))
        };
        let coin = |host: u32| random::stream(seed, "pacer", &[u64::from(host)]);
        Some(Box::new(Bumps {
            phantoms: by_node.into(),
            paced: (0..hosts).map(of_host).collect(),
            coins: (0..hosts).map(coin).collect(),
            model: paced.map(|paced| paced.model),
        }))
    }

    /// Returns another view of these tables.
    ///
    /// # Safety
    /// See [`crate::network::Core::view`].
    pub(crate) unsafe fn view(&self) -> Bumps {
        // SAFETY: promised by the caller.
        unsafe {
            Bumps {
                phantoms: self.phantoms.view(),
                paced: self.paced.view(),
                coins: self.coins.view(),
                model: self.model,
            }
        }
    }

    /// Returns, for each of `nodes` nodes, whether its link has a phantom queue.
    pub(crate) fn have_phantoms(&self, nodes: u32) -> Shared<bool> {
        let has_phantom = |node| self.phantoms.find(node).is_some_and(Option::is_some);
        (0..nodes as usize).map(has_phantom).collect()
    }

    pub(crate) fn has_phantom_of(&self, nodes: Range<u32>) -> bool {
        nodes.into_iter().any(|node| self.phantoms.find(node as usize).is_some_and(Option::is_some))
    }

    pub(crate) fn paces(&self) -> bool {
        self.model.is_some()
    }

    /// Shows a packet at its departure to the phantom queue of its link.
    pub(crate) fn pass(&mut self, node: usize, now: Time, packet: &mut Packet) {
        if let Some(Some(phantom)) = self.phantoms.find_mut(node) {
            phantom.marked += u64::from(phantom.queue.pass(now, packet, &phantom.model));
        }
    }

    pub(crate) fn marked(&self, node: usize) -> u64 {
        self.phantoms.find(node).and_then(Option::as_ref).map_or(0, |phantom| phantom.marked)
    }

    fn paced(&self, host: u32) -> Option<(&Paced, &PacerModel)> {
        let paced = self.paced.find(host as usize)?.as_ref()?;
        Some((paced, self.model.as_ref()?))
    }

    fn paced_mut(&mut self, host: u32) -> Option<(&mut Paced, &PacerModel)> {
        let paced = self.paced.find_mut(host as usize)?.as_mut()?;
        Some((paced, self.model.as_ref()?))
    }

    pub(crate) fn has_pacer(&self, host: u32) -> bool {
        self.paced(host).is_some()
    }

    pub(crate) fn pacer_counters(&self, host: u32) -> PacerCounters {
        self.paced(host).map(|(paced, _)| paced.pacer.counters()).unwrap_or_default()
    }

    /// Time of the next event at a host's pacer, with a packet at `ready` and a free link at `free_at`. `None` without
    /// a pacer.
    pub(crate) fn next(&self, host: u32, ready: Time, free_at: Time) -> Option<Time> {
        let (paced, model) = self.paced(host)?;
        Some(paced.takes_at(ready).min(paced.pacer.next_start(free_at, model)))
    }

    /// Returns whether a host's pacer takes a packet now, instead of sending one.
    pub(crate) fn takes(&self, host: u32, ready: Time, now: Time) -> bool {
        self.paced(host).is_some_and(|(paced, _)| paced.takes_at(ready) <= now)
    }

    /// Hands a host's packet to its pacer, which takes as long as on the host's link.
    pub(crate) fn take(
        &mut self,
        host: u32,
        (now, transmission): (Time, TimeDelta),
        packet: Handle,
        packets: &mut impl Packets,
    ) -> Taken {
        let (paced, model) = self.paced_mut(host).expect("a host with a pacer");
        paced.taken_until = now + transmission;
        let flow = FlowId::of_sent(packets.packet(packet));
        paced.pacer.handle_packet(now, flow, packet, packets, model)
    }

    /// Packet that a pacer sends now, on a link that is free.
    pub(crate) fn give(&mut self, host: u32, now: Time, packets: &impl Packets) -> Option<Handle> {
        let (paced, model) = self.paced_mut(host)?;
        paced.pacer.poll_transmit(now, packets, model)
    }

    pub(crate) fn receive(&mut self, host: u32, now: Time, packet: &Packet) {
        if !packet.echoes_congestion() {
            return;
        }
        let Some(Some(paced)) = self.paced.find_mut(host as usize) else { return };
        let Some(model) = &self.model else { return };
        let rng = &mut NodeRng { streams: &mut self.coins, node: host };
        paced.pacer.handle_echo(now, FlowId::of_received(packet), model, rng);
    }
}

impl Paced {
    /// Returns when the pacer takes a packet that the host has at `ready`.
    fn takes_at(&self, ready: Time) -> Time {
        if self.pacer.is_open() { ready.max(self.taken_until) } else { Time::NEVER }
    }
}
