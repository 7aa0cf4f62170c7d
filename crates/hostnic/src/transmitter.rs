//! The NIC's transmit queue, and the bursts that fill it (HULL 4.1, 6.2.2).

use trimline_packet::list::Queue;
use trimline_packet::{ByteCount, Handle, Packets, SettingFault, Time, TimeDelta};

use crate::flow_id::FlowId;

/// How a host hands packets to its NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransmitterSettings {
    /// Bytes of packets that the queue holds, which all connections share.
    pub queue: ByteCount,
    /// Bytes that the host hands over at once, for the NIC to cut (large send offload; the paper: 64 KB). Zero: each
    /// packet by itself.
    pub burst: ByteCount,
    /// Time of a processor for each burst.
    pub per_burst: TimeDelta,
}

impl TransmitterSettings {
    /// Checks the settings for packets of up to so many bytes.
    ///
    /// # Errors
    /// The first setting that cannot be.
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

/// Checked settings, which the NICs of many hosts share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransmitterModel {
    queue: u32,
    burst: u32,
    per_burst: TimeDelta,
    largest_packet: u16,
}

/// What a transmitter has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransmitterCounters {
    /// Packets that were queued.
    pub packets: u64,
    /// Bursts that the host handed over.
    pub bursts: u64,
    /// Packets that found the queue full.
    pub dropped: u64,
    /// Their bytes.
    pub dropped_bytes: u64,
}

/// What the host hands over at once.
#[derive(Clone, Copy, Debug)]
struct Burst {
    flow: FlowId,
    bytes: u32,
    /// When a processor begins with it.
    begins: Time,
}

/// The transmit queue of one host, first in first out: what the host's order was decides, once, when a packet enters.
///
/// # The contract
/// `now` never falls.
/// 1. The driver asks the host for a packet when [`Transmitter::takes_at`] has come, and hands it over with
///    [`Transmitter::handle_packet`]; again and again while the host has some and the time has come.
/// 2. When the host has none, it says so with [`Transmitter::end_burst`].
/// 3. When the line is free, [`Transmitter::poll_transmit`] gives the packet to send.
#[derive(Clone, Debug)]
pub struct Transmitter {
    queue: Queue,
    burst: Option<Burst>,
    /// When a processor is done with all bursts so far.
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

    /// From when on the host can hand a packet over: that of the burst under way while it has room for one, the end of
    /// the work for it otherwise. A packet of another flow that comes before begins a burst that is early by the work
    /// that is left, and no further one can.
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

    /// The host hands a packet of a flow over. Gives whether there is room for it; if not, it is the caller's again, and
    /// lost.
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

    /// The burst under way with one more packet, or another one.
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

    /// The host has nothing more to send: what it sends later is another burst.
    #[inline]
    pub fn end_burst(&mut self) {
        self.burst = None;
    }

    /// The line is free: the packet to send now.
    #[inline]
    pub fn poll_transmit<P: Packets>(&mut self, packets: &P) -> Option<Handle> {
        if self.queue.head.is_none() {
            return None;
        }
        let packet = self.queue.pop(packets);
        self.queue.release(1, packets.packet(packet).wire_bytes.into());
        Some(packet)
    }

    /// When a packet can begin, if nothing is handed over before and the line is free at `free_at`.
    #[inline]
    pub fn next_start(&self, free_at: Time) -> Time {
        if self.queue.head.is_none() { Time::NEVER } else { free_at }
    }

    /// Bytes that wait.
    pub fn backlog(&self) -> ByteCount {
        ByteCount::new(self.queue.bytes.into())
    }

    /// A processor's time for all bursts by `now`: of work under way what is behind it.
    pub fn busy(&self, now: Time, model: &TransmitterModel) -> TimeDelta {
        let all = model.per_burst * self.counters.bursts;
        all.saturating_sub(self.free_at.saturating_since(now))
    }

    /// What it has done.
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

    /// HULL 4.1: with large send offload a processor's time is for 64 KB, without for a packet.
    #[test]
    fn a_processor_is_busy_once_a_burst() {
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
        // Of a burst under way what is behind the processor counts.
        let (model, mut nic, mut packets) = (model(SETTINGS), Transmitter::new(), Arena::default());
        let handle = packets.add(packet(Service::Droppable, 1500, 0));
        nic.handle_packet(Time::ZERO, flow(1), handle, &mut packets, &model);
        let busy = |ns: u64| nic.busy(Time::from_ps(ns * 1_000), &model).as_ps() / 1_000;
        assert_eq!([busy(0), busy(500), busy(2_000), busy(9_000)], [0, 500, 2_000, 2_000]);
    }

    /// Flows that take turns by packets gain nothing from it: each packet is a burst.
    #[test]
    fn another_flow_is_another_burst() {
        let (model, mut nic) = (model(SETTINGS), Transmitter::new());
        let (mut packets, mut now) = (Arena::default(), Time::ZERO);
        for (number, of) in (0..).zip([1, 2, 1, 2, 1, 1, 1, 2]) {
            now = now.max(nic.takes_at(&model));
            let handle = packets.add(packet(Service::Droppable, 1500, number));
            assert!(nic.handle_packet(now, flow(of), handle, &mut packets, &model));
        }
        assert_eq!(nic.counters().bursts, 6);
        // The last but one began at 8 us, and the last was handed over at its beginning.
        assert_eq!(now, Time::from_ps(8_000_000));
        assert_eq!(nic.takes_at(&model), Time::from_ps(10_000_000));
    }

    proptest! {
        /// What is taken leaves once and in order, the queue keeps its bound, and only what does not fit is dropped.
        #[test]
        fn what_is_taken_leaves_in_order_and_the_rest_did_not_fit(
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
    fn a_transmitter_that_cannot_be_is_refused() {
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
