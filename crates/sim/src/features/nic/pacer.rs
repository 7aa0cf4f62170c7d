//! The pacers of hosts. [`trimline_hostnic::Pacer`] has their behaviour.

use trimline_hostnic::{FlowId, Pacer, PacerCounters, PacerModel, Taken};
use trimline_packet::{Handle, Packet, Packets, Time, TimeDelta};
use trimline_transport::RngStream;

use crate::plan::{self, PacedHosts};
use crate::random::{self, NodeRng};
use crate::table::Shared;

#[derive(Clone)]
struct Paced {
    pacer: Pacer,
    /// End of the way of the last packet from the host to the pacer.
    taken_until: Time,
}

/// The pacers of a network, in a run with any.
pub(crate) struct Pacers {
    of_hosts: Shared<Option<Box<Paced>>>,
    /// By host: whether an echo associates its flow.
    coins: Shared<RngStream>,
    model: PacerModel,
}

impl Pacers {
    pub(crate) fn new(plan: Option<&PacedHosts>, hosts: u32, seed: u64) -> Option<Box<Pacers>> {
        let PacedHosts { model, hosts: chosen, .. } = plan?;
        let of_host = |host: u32| {
            let pacer = || Paced { pacer: Pacer::new(model), taken_until: Time::ZERO };
            plan::is_among(host, chosen).then(|| Box::new(pacer()))
        };
        let coin = |host: u32| random::stream(seed, "pacer", &[u64::from(host)]);
        Some(Box::new(Pacers {
            of_hosts: (0..hosts).map(of_host).collect(),
            coins: (0..hosts).map(coin).collect(),
            model: *model,
        }))
    }

    /// Returns another view of these tables.
    ///
    /// # Safety
    /// See [`crate::network::Core::view`].
    pub(crate) unsafe fn view(&self) -> Pacers {
        // SAFETY: promised by the caller.
        unsafe {
            Pacers { of_hosts: self.of_hosts.view(), coins: self.coins.view(), model: self.model }
        }
    }

    fn paced(&self, host: u32) -> Option<(&Paced, &PacerModel)> {
        let paced = self.of_hosts[host as usize].as_ref()?;
        Some((paced, &self.model))
    }

    fn paced_mut(&mut self, host: u32) -> Option<(&mut Paced, &PacerModel)> {
        let paced = self.of_hosts[host as usize].as_mut()?;
        Some((paced, &self.model))
    }

    pub(crate) fn has_pacer(&self, host: u32) -> bool {
        self.paced(host).is_some()
    }

    pub(crate) fn counters(&self, host: u32) -> PacerCounters {
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
    pub(crate) fn handle_packet(
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
    pub(crate) fn poll_transmit(
        &mut self,
        host: u32,
        now: Time,
        packets: &impl Packets,
    ) -> Option<Handle> {
        let (paced, model) = self.paced_mut(host)?;
        paced.pacer.poll_transmit(now, packets, model)
    }

    pub(crate) fn receive(&mut self, host: u32, now: Time, packet: &Packet) {
        if !packet.echoes_congestion() {
            return;
        }
        let Some(paced) = &mut self.of_hosts[host as usize] else { return };
        let rng = &mut NodeRng { streams: &mut self.coins, node: host };
        paced.pacer.handle_echo(now, FlowId::of_received(packet), &self.model, rng);
    }
}

impl Paced {
    /// Returns when the pacer takes a packet that the host has at `ready`.
    fn takes_at(&self, ready: Time) -> Time {
        if self.pacer.is_open() { ready.max(self.taken_until) } else { Time::NEVER }
    }
}
