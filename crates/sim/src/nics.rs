//! What hosts' NICs and processors do between their transports and their links (HULL, NSDI 2012, 4.1). What they do is
//! [`trimline_hostnic`]; where a packet meets them is in [`crate::network`].

use trimline_hostnic::FlowId;
use trimline_hostnic::{Delivered, Receiver, ReceiverModel, Transmitter, TransmitterModel};
use trimline_metrics::HostCounters;
use trimline_packet::{Handle, Packet, Packets, Time, TimeDelta};

use crate::plan;
use crate::table::Shared;

/// The NIC and the processors of a host.
#[derive(Clone, Default)]
struct Nic {
    transmitter: Option<Transmitter>,
    receiver: Option<Receiver>,
    /// Packets that the transport has given up.
    sent: u64,
}

/// Those of all hosts. Nothing is here in a run without.
pub(crate) struct Nics {
    /// By host.
    of_hosts: Shared<Option<Box<Nic>>>,
    transmit: Option<TransmitterModel>,
    receive: Option<ReceiverModel>,
}

impl Nics {
    /// Those of a plan, if it has any.
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

    /// Another view of the same tables.
    ///
    /// # Safety
    /// As [`crate::network::Core::view`].
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

    /// Whether a host has a queue of its NIC.
    pub(crate) fn has_queue(&self, host: u32) -> bool {
        self.transmitter(host).is_some()
    }

    /// When a host that has a packet at `ready` hands it to its NIC's queue, and when this has one to send: at once or
    /// never. `None` without a queue.
    pub(crate) fn next_event(&self, host: u32, ready: Time) -> Option<(Time, Time)> {
        let (transmitter, model) = self.transmitter(host)?;
        Some((ready.max(transmitter.takes_at(model)), transmitter.next_start(Time::ZERO)))
    }

    /// The transport of a host gives a packet up.
    pub(crate) fn count(&mut self, host: u32) {
        if let Some(Some(nic)) = self.of_hosts.find_mut(host as usize) {
            nic.sent += 1;
        }
    }

    /// A host hands a packet to its NIC's queue; whether another one follows is known. Gives whether there is room.
    pub(crate) fn take(
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

    /// The line is free: what a NIC sends now.
    pub(crate) fn give(&mut self, host: u32, packets: &impl Packets) -> Option<Handle> {
        self.transmitter_mut(host)?.0.poll_transmit(packets)
    }

    /// When the transport of a host hears of something that has arrived: never if nothing waits.
    pub(crate) fn next_delivery(&self, host: u32) -> Time {
        let timeout = |(receiver, model): (&Receiver, &ReceiverModel)| receiver.poll_timeout(model);
        self.receiver(host).map_or(Time::NEVER, timeout)
    }

    /// A frame arrives at a host. `None` if nothing delays it there, else whether there is room for it.
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

    /// The next packet that the transport of a host hears of now.
    pub(crate) fn deliver(
        &mut self,
        host: u32,
        now: Time,
        packets: &mut impl Packets,
    ) -> Option<Delivered> {
        let (receiver, model) = self.receiver_mut(host)?;
        receiver.poll_delivery(now, packets, model)
    }

    /// What the NIC of a host has done by `now`.
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

/// What a transport hears of a packet that its NIC hands over: for one that is taken together with the next, that its
/// answer waits for that.
pub(crate) fn received(packet: Packet, is_followed: bool) -> Packet {
    let mark = if is_followed { Packet::MARK_DELAYED_ACK } else { 0 };
    Packet { marks: packet.marks | mark, ..packet }
}
