//! The NICs and processors of hosts. [`trimline_hostnic`] has their behaviour.

use trimline_hostnic::FlowId;
use trimline_hostnic::{Delivered, Receiver, ReceiverModel, Transmitter, TransmitterModel};
use trimline_metrics::HostCounters;
use trimline_packet::{Handle, Packet, Packets, Time, TimeDelta};

use crate::plan;
use crate::table::Shared;

#[derive(Clone, Default)]
struct Nic {
    transmitter: Option<Transmitter>,
    receiver: Option<Receiver>,
    sent: u64,
}

pub(crate) struct Nics {
    of_hosts: Shared<Option<Box<Nic>>>,
    transmit: Option<TransmitterModel>,
    receive: Option<ReceiverModel>,
}

impl Nics {
    pub(crate) fn new(plan: &plan::Nics, hosts: u32) -> Option<Box<Nics>> {
        let plan::Nics { transmit, receive } = plan;
        if transmit.is_none() && receive.is_none() {
            return None;
        }
        let of_host = |host: u32| {
            let transmit =
                transmit.as_ref().filter(|transmit| plan::is_among(host, &transmit.hosts));
            let receive = receive.as_ref().filter(|receive| plan::is_among(host, &receive.hosts));
            if transmit.is_none() && receive.is_none() {
                return None;
            }
            Some(Box::new(Nic {
                transmitter: transmit.map(|_| Transmitter::new()),
                receiver: receive.map(|receive| Receiver::new(&receive.model)),
                sent: 0,
            }))
        };
        Some(Box::new(Nics {
            of_hosts: (0..hosts).map(of_host).collect(),
            transmit: transmit.as_ref().map(|transmit| transmit.model),
            receive: receive.as_ref().map(|receive| receive.model),
        }))
    }

    /// Returns another view of these tables.
    ///
    /// # Safety
    /// See [`crate::network::Core::view`].
    pub(crate) unsafe fn view(&self) -> Nics {
        // SAFETY: promised by the caller.
        let of_hosts = unsafe { self.of_hosts.view() };
        Nics { of_hosts, transmit: self.transmit, receive: self.receive }
    }

    fn transmitter(&self, host: u32) -> Option<(&Transmitter, &TransmitterModel)> {
        let nic = self.of_hosts.find(host as usize)?.as_ref()?;
        Some((nic.transmitter.as_ref()?, self.transmit.as_ref()?))
    }

    fn transmitter_mut(&mut self, host: u32) -> Option<(&mut Transmitter, &TransmitterModel)> {
        let nic = self.of_hosts.find_mut(host as usize)?.as_mut()?;
        Some((nic.transmitter.as_mut()?, self.transmit.as_ref()?))
    }

    fn receiver(&self, host: u32) -> Option<(&Receiver, &ReceiverModel)> {
        let nic = self.of_hosts.find(host as usize)?.as_ref()?;
        Some((nic.receiver.as_ref()?, self.receive.as_ref()?))
    }

    fn receiver_mut(&mut self, host: u32) -> Option<(&mut Receiver, &ReceiverModel)> {
        let nic = self.of_hosts.find_mut(host as usize)?.as_mut()?;
        Some((nic.receiver.as_mut()?, self.receive.as_ref()?))
    }

    pub(crate) fn has_queue(&self, host: u32) -> bool {
        self.transmitter(host).is_some()
    }

    /// Returns when a host with a packet at `ready` hands it to its NIC's queue, and when the queue has a packet to
    /// send: at once or never. `None` without a queue.
    pub(crate) fn next_event(&self, host: u32, ready: Time) -> Option<(Time, Time)> {
        let (transmitter, model) = self.transmitter(host)?;
        Some((ready.max(transmitter.takes_at(model)), transmitter.next_start(Time::ZERO)))
    }

    pub(crate) fn count(&mut self, host: u32) {
        if let Some(Some(nic)) = self.of_hosts.find_mut(host as usize) {
            nic.sent += 1;
        }
    }

    /// Hands a host's packet to its NIC's queue; `is_followed` if another follows. Returns whether there is room.
    pub(crate) fn handle_packet(
        &mut self,
        host: u32,
        now: Time,
        (packet, is_followed): (Handle, bool),
        packets: &mut impl Packets,
    ) -> bool {
        let (transmitter, model) = self.transmitter_mut(host).expect("a host with a queue");
        let flow = FlowId::of_sent(packets.packet(packet));
        let is_taken = transmitter.handle_packet(now, flow, packet, packets, model);
        if !is_followed {
            transmitter.end_burst();
        }
        is_taken
    }

    pub(crate) fn poll_transmit(&mut self, host: u32, packets: &impl Packets) -> Option<Handle> {
        self.transmitter_mut(host)?.0.poll_transmit(packets)
    }

    /// Returns when a host's transport receives the next waiting packet; never, if none waits.
    pub(crate) fn next_delivery(&self, host: u32) -> Time {
        let timeout = |(receiver, model): (&Receiver, &ReceiverModel)| receiver.poll_timeout(model);
        self.receiver(host).map_or(Time::NEVER, timeout)
    }

    /// Takes an arriving frame. Returns `None` if nothing delays it, otherwise whether there is room.
    pub(crate) fn arrive(
        &mut self,
        host: u32,
        now: Time,
        packet: Handle,
        packets: &mut impl Packets,
    ) -> Option<bool> {
        let (receiver, model) = self.receiver_mut(host)?;
        if model.bypasses(packets.packet(packet)) {
            return None;
        }
        Some(receiver.handle_frame(now, packet, packets, model))
    }

    pub(crate) fn deliver(
        &mut self,
        host: u32,
        now: Time,
        packets: &mut impl Packets,
    ) -> Option<Delivered> {
        let (receiver, model) = self.receiver_mut(host)?;
        receiver.poll_delivery(now, packets, model)
    }

    pub(crate) fn counters(&self, host: u32, now: Time) -> HostCounters {
        let Some(Some(nic)) = self.of_hosts.find(host as usize) else {
            return HostCounters::default();
        };
        let sending = nic.transmitter.as_ref().map(Transmitter::counters).unwrap_or_default();
        let receiving =
            nic.receiver.as_ref().map(|receiver| receiver.counters(now)).unwrap_or_default();
        let work = self.transmitter(host).map(|(transmitter, model)| transmitter.busy(now, model));
        HostCounters {
            sent: nic.sent,
            bursts: sending.bursts,
            queue_dropped: sending.dropped,
            sending_ps: work.map_or(0, TimeDelta::as_ps),
            frames: receiving.frames,
            ring_dropped: receiving.dropped,
            interrupts: receiving.interrupts,
            taken: receiving.taken,
            receiving_ps: receiving.busy.as_ps(),
            ..HostCounters::default()
        }
    }
}

/// Returns a packet as its NIC hands it to the transport. A mark delays its ACK if the next packet was taken with it.
pub(crate) fn received(packet: Packet, is_followed: bool) -> Packet {
    let mark = if is_followed { Packet::MARK_DELAYED_ACK } else { 0 };
    Packet { marks: packet.marks | mark, ..packet }
}
