//! The NIC's transmit queue (HULL 4.1, 6.2.2).

use trimline_packet::list::Queue;
use trimline_packet::{ByteCount, Handle, Packets, SettingFault, Time, TimeDelta};

use crate::flow_id::FlowId;

/// Settings of a host's transmit path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransmitterSettings {
    /// Bytes of the queue, which all connections share.
    pub queue: ByteCount,
    /// Bytes handed over at once and segmented by the NIC (large send offload; the paper: 64 KB). Zero: single packets.
    pub burst: ByteCount,
    /// Processor time per burst.
    pub per_burst: TimeDelta,
}

impl TransmitterSettings {
    /// Checks the settings for packets of up to `largest_packet` bytes.
    ///
    /// # Errors
    /// Returns the first invalid setting.
    pub fn check(&self, largest_packet: u16) -> Result<TransmitterModel, SettingFault> {
        let packet = ByteCount::new(largest_packet.into());
        if self.queue < packet {
            let reason = "is less than a packet, which would always be dropped";
            return Err(SettingFault::new("queue", self.queue, reason).nearest(packet));
        }
        let bytes = |key, bytes: ByteCount| {
            u32::try_from(bytes.get()).map_err(|_| {
                SettingFault::new(key, bytes, "is more than a NIC can count")
                    .nearest(ByteCount::new(u32::MAX.into()))
            })
        };
        Ok(TransmitterModel {
            queue: bytes("queue", self.queue)?,
            burst: bytes("burst", self.burst)?,
            per_burst: self.per_burst,
            largest_packet,
        })
    }
}

/// Checked settings, shared by many NICs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransmitterModel {
    queue: u32,
    burst: u32,
    per_burst: TimeDelta,
    largest_packet: u16,
}

/// Counters of a transmitter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransmitterCounters {
    /// Packets that were queued.
    pub packets: u64,
    /// Bursts that the host handed over.
    pub bursts: u64,
    /// Packets that found the queue full.
    pub dropped: u64,
    /// Bytes of the dropped packets.
    pub dropped_bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Burst {
    flow: FlowId,
    bytes: u32,
    /// Start of its processing.
    begins: Time,
}

/// The transmit FIFO of a host: the send scheduler's order is final once a packet enters.
///
/// # The contract
/// `now` never falls.
/// 1. At [`Transmitter::takes_at`] the driver polls the host and gives its packet to [`Transmitter::handle_packet`],
///    repeatedly while the host has packets and the time has come.
/// 2. If the host has no packet, the driver calls [`Transmitter::end_burst`].
/// 3. When the line is free, [`Transmitter::poll_transmit`] returns the packet to send.
///
/// # Example
/// The host needs 5 us of its processor for a burst of up to 4500 bytes:
///
/// ```
/// use trimline_hostnic::{FlowId, Transmitter, TransmitterSettings};
/// use trimline_packet::testing::{Arena, packet};
/// use trimline_packet::{ByteCount, Service, Time, TimeDelta};
///
/// let (queue, burst) = (ByteCount::new(100_000), ByteCount::new(4500));
/// let settings = TransmitterSettings { queue, burst, per_burst: TimeDelta::from_us(5) };
/// let model = settings.check(1500).unwrap();
/// let (mut nic, mut packets, flow) = (Transmitter::new(), Arena::default(), FlowId::new(7));
///
/// let mut taken_at = Vec::new();
/// for number in 0..6 {
///     let now = nic.takes_at(&model);
///     let handle = packets.add(packet(Service::Droppable, 1500, number));
///     assert!(nic.handle_packet(now, flow, handle, &mut packets, &model));
///     taken_at.push(now.as_ps() / 1_000_000);
/// }
/// assert_eq!(taken_at, [0, 0, 0, 5, 5, 5], "microseconds: two bursts of three packets");
/// assert_eq!((nic.counters().bursts, nic.backlog()), (2, ByteCount::new(9000)));
/// ```
#[derive(Clone, Debug)]
pub struct Transmitter {
    queue: Queue,
    burst: Option<Burst>,
    /// End of processing of all bursts so far.
    free_at: Time,
    counters: TransmitterCounters,
}

impl Default for Transmitter {
    fn default() -> Transmitter {
        Transmitter::new()
    }
}

impl Transmitter {
    /// An empty queue.
    pub fn new() -> Transmitter {
        let (queue, counters) = (Queue::EMPTY, TransmitterCounters::default());
        Transmitter { queue, burst: None, free_at: Time::ZERO, counters }
    }

    /// Time from which the host can hand over a packet: the start of the current burst while it has room, otherwise its
    /// end of processing. A packet of another flow before that starts a burst early by the remaining work; no further
    /// burst can.
    #[inline]
    pub fn takes_at(&self, model: &TransmitterModel) -> Time {
        match self.burst {
            Some(burst)
                if burst.bytes.saturating_add(model.largest_packet.into()) <= model.burst =>
            {
                burst.begins
            }
            Some(_) | None => self.free_at,
        }
    }

    /// Queues a packet from the host. False if the queue is full: the caller has the packet again, which is lost.
    pub fn handle_packet<P: Packets>(
        &mut self,
        now: Time,
        flow: FlowId,
        packet: Handle,
        packets: &mut P,
        model: &TransmitterModel,
    ) -> bool {
        let bytes = packets.packet(packet).wire_bytes;
        self.burst = Some(self.burst_of(now, flow, bytes, model));
        if self.queue.bytes.saturating_add(bytes.into()) > model.queue {
            self.counters.dropped += 1;
            self.counters.dropped_bytes += u64::from(bytes);
            return false;
        }
        self.queue.push(packets, packet, bytes.into());
        self.counters.packets += 1;
        true
    }

    #[inline]
    fn burst_of(&mut self, now: Time, flow: FlowId, bytes: u16, model: &TransmitterModel) -> Burst {
        let bytes = u32::from(bytes);
        match self.burst {
            Some(burst)
                if burst.flow == flow && burst.bytes.saturating_add(bytes) <= model.burst =>
            {
                Burst { bytes: burst.bytes.saturating_add(bytes), ..burst }
            }
            Some(_) | None => {
                let begins = self.free_at.max(now);
                self.free_at = begins.saturating_add(model.per_burst);
                self.counters.bursts += 1;
                Burst { flow, bytes, begins }
            }
        }
    }

    /// Ends the burst: the host has nothing more to send.
    #[inline]
    pub fn end_burst(&mut self) {
        self.burst = None;
    }

    /// The packet to send now; the line is free.
    #[inline]
    pub fn poll_transmit<P: Packets>(&mut self, packets: &P) -> Option<Handle> {
        if self.queue.head.is_none() {
            return None;
        }
        let packet = self.queue.pop(packets);
        self.queue.release(1, packets.packet(packet).wire_bytes.into());
        Some(packet)
    }

    /// Next start without further packets, if the line is free at `free_at`.
    #[inline]
    pub fn next_start(&self, free_at: Time) -> Time {
        if self.queue.head.is_none() { Time::NEVER } else { free_at }
    }

    /// Waiting bytes.
    pub fn backlog(&self) -> ByteCount {
        ByteCount::new(self.queue.bytes.into())
    }

    /// Processor time for bursts, without work still ahead at `now`.
    pub fn busy(&self, now: Time, model: &TransmitterModel) -> TimeDelta {
        let all = model.per_burst * self.counters.bursts;
        all.saturating_sub(self.free_at.saturating_since(now))
    }

    /// The counters.
    pub fn counters(&self) -> TransmitterCounters {
        self.counters
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec::Vec;

    use proptest::prelude::*;
    use trimline_packet::Service;

    use super::*;
    use trimline_packet::testing::{Arena, packet};

    const SETTINGS: TransmitterSettings = TransmitterSettings {
        queue: ByteCount::new(100_000),
        burst: ByteCount::new(64_000),
        per_burst: TimeDelta::from_us(2),
    };

    fn model(settings: TransmitterSettings) -> TransmitterModel {
        settings.check(1514).expect("right settings")
    }

    fn flow(number: u32) -> FlowId {
        FlowId::new(number.into())
    }

    /// HULL 4.1: with large send offload processor time is per 64 KB, without it per packet.
    #[test]
    fn a_burst_costs_processor_time_once() {
        let check = |burst, expected: [u64; 3]| {
            let model = model(TransmitterSettings { burst: ByteCount::new(burst), ..SETTINGS });
            let (mut nic, mut packets) = (Transmitter::new(), Arena::default());
            let mut now = Time::ZERO;
            let mut send = |nic: &mut Transmitter, of| {
                now = now.max(nic.takes_at(&model));
                let handle = packets.add(packet(Service::Droppable, 1500, 0));
                nic.handle_packet(now, flow(of), handle, &mut packets, &model);
                now.as_ps() / 1_000_000
            };
            let mut last = 0;
            (0..42).for_each(|_| last = send(&mut nic, 1));
            // 42 packets are 63,000 B: the next one begins a burst.
            let next = send(&mut nic, 1);
            nic.end_burst();
            assert_eq!([last, next, send(&mut nic, 1)], expected);
        };
        check(64_000, [0, 2, 4]);
        check(0, [82, 84, 86]);
        // Only the finished part of a burst under way counts.
        let (model, mut nic, mut packets) = (model(SETTINGS), Transmitter::new(), Arena::default());
        let handle = packets.add(packet(Service::Droppable, 1500, 0));
        nic.handle_packet(Time::ZERO, flow(1), handle, &mut packets, &model);
        let busy = |ns: u64| nic.busy(Time::from_ps(ns * 1_000), &model).as_ps() / 1_000;
        assert_eq!([busy(0), busy(500), busy(2_000), busy(9_000)], [0, 500, 2_000, 2_000]);
    }

    /// Flows that alternate by packets do not benefit: each packet is a burst.
    #[test]
    fn another_flow_begins_another_burst() {
        let (model, mut nic) = (model(SETTINGS), Transmitter::new());
        let (mut packets, mut now) = (Arena::default(), Time::ZERO);
        for (number, of) in (0..).zip([1, 2, 1, 2, 1, 1, 1, 2]) {
            now = now.max(nic.takes_at(&model));
            let handle = packets.add(packet(Service::Droppable, 1500, number));
            assert!(nic.handle_packet(now, flow(of), handle, &mut packets, &model));
        }
        assert_eq!(nic.counters().bursts, 6);
        // The last burst but one began at 8 us, and the last was handed over at its beginning.
        assert_eq!(now, Time::from_ps(8_000_000));
        assert_eq!(nic.takes_at(&model), Time::from_ps(10_000_000));
    }

    proptest! {
        /// Packets leave once and in order, the queue keeps its bound, and only overflow drops.
        #[test]
        fn accepted_packets_leave_in_order_and_overflow_is_dropped(
            steps in prop::collection::vec((any::<bool>(), (1u16..=15).prop_map(|n| 100 * n)), 1..300),
        ) {
            let model = model(TransmitterSettings { queue: ByteCount::new(10_000), ..SETTINGS });
            let (mut nic, mut packets) = (Transmitter::new(), Arena::default());
            let (mut waiting, mut left) = (Vec::new(), Vec::new());
            let mut dropped = 0;
            for (leaves, bytes) in steps {
                let held: u64 = waiting.iter().map(|&(_, bytes)| u64::from(bytes)).sum();
                prop_assert_eq!(nic.backlog().get(), held);
                prop_assert_eq!(nic.next_start(Time::ZERO) == Time::ZERO, held > 0);
                if leaves {
                    let expected = (!waiting.is_empty()).then(|| waiting.remove(0).0);
                    let sent = nic.poll_transmit(&packets);
                    prop_assert_eq!(sent, expected);
                    left.extend(sent);
                    continue;
                }
                let handle = packets.add(packet(Service::Droppable, bytes, 0));
                let fits = held + u64::from(bytes) <= 10_000;
                let taken = nic.handle_packet(Time::ZERO, flow(1), handle, &mut packets, &model);
                prop_assert_eq!(taken, fits);
                if fits { waiting.push((handle, bytes)) } else { dropped += 1 }
            }
            prop_assert_eq!(nic.counters().dropped, dropped);
            prop_assert_eq!(nic.counters().packets as usize, waiting.len() + left.len());
        }
    }

    #[test]
    fn an_invalid_transmitter_is_refused() {
        let small = TransmitterSettings { queue: ByteCount::new(1513), ..SETTINGS };
        assert_eq!(
            small.check(1514).expect_err("too small").to_string(),
            "`queue` of 1513 B is less than a packet, which would always be dropped; nearest: 1514 B"
        );
        let large = TransmitterSettings { burst: ByteCount::new(1 << 33), ..SETTINGS };
        assert_eq!(
            large.check(1514).expect_err("too large").to_string(),
            "`burst` of 8589934592 B is more than a NIC can count; nearest: 4294967295 B"
        );
    }
}
