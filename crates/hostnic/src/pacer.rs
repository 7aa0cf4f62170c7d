//! The hardware pacer of a NIC (HULL 4.2, 5.1): spaces out packets of flows that cause congestion.

use alloc::vec::Vec;

use trimline_packet::list::Queue;
use trimline_packet::{BitRate, ByteCount, Handle, Packets, Rng, Time, TimeDelta};

use super::associations::Associations;
use super::flow_id::FlowId;
use super::limiter::Limiter;
use super::pacer_settings::{Measured, PacerModel};

#[cfg(test)]
mod tests;

const BILLION: u32 = 1_000_000_000;

/// The pacer's decision on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It goes when the line is free.
    Passes,
    /// It waits for tokens.
    Waits,
    /// The FIFO is full: the caller has the packet again, which is lost.
    Dropped,
}

/// Counters of a pacer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacerCounters {
    /// Packets passed.
    pub passed: u64,
    /// Packets queued.
    pub paced: u64,
    /// Packets dropped at a full FIFO.
    pub dropped: u64,
    /// Bytes of the dropped packets.
    pub dropped_bytes: u64,
    /// Associations made.
    pub associated: u64,
    /// Associations refused by a full table.
    pub refused: u64,
}

/// The pacer of a host, after segmentation. It sees sent packets, and the congestion echoes among arriving ones.
///
/// # The contract
/// `now` never falls. Early or repeated calls are harmless.
/// 1. Each packet that the host sends goes to [`Pacer::handle_packet`]. The host link is as fast as the line: the
///    driver hands a packet over after the transmission time of the one before, and while [`Pacer::is_open`].
/// 2. For an arriving packet that [`echoes congestion`](trimline_packet::Packet::echoes_congestion) the driver calls
///    [`Pacer::handle_echo`], and gives the packet to the host at once.
/// 3. When the line is free and [`Pacer::next_start`] has come, [`Pacer::poll_transmit`] returns the packet to send, or
///    `None` if the rate, and so the time, has changed.
///
/// Passing packets go ahead of waiting ones. While a packet of a flow waits, later ones wait behind it: flows keep
/// their order.
///
/// Nothing is allocated after [`Pacer::new`]. Packets stay in the caller's storage, threaded into lists.
///
/// # Example
/// A flow passes until an ACK echoes congestion. Then its packets leave at the rate of the token bucket:
///
/// ```
/// use trimline_hostnic::{FlowId, Pacer, PacerSettings, Taken};
/// use trimline_packet::SplitMix;
/// use trimline_packet::testing::{Arena, packet};
/// use trimline_packet::{BitRate, Service, Time, TimeDelta};
///
/// let settings = PacerSettings {
///     association_chance: 1_000_000_000, // each echo associates its flow
///     first_rate: Some(BitRate::from_bps(100_000_000)),
///     ..PacerSettings::testbed()
/// };
/// let model = settings.check(BitRate::from_gbps(1), 1500).unwrap();
/// let (mut pacer, mut packets, flow) = (Pacer::new(&model), Arena::default(), FlowId::new(7));
/// let mut send = |pacer: &mut Pacer, packets: &mut Arena| {
///     let handle = packets.add(packet(Service::Droppable, 1500, 0));
///     pacer.handle_packet(Time::ZERO, flow, handle, packets, &model)
/// };
/// assert_eq!(send(&mut pacer, &mut packets), Taken::Passes);
/// assert!(pacer.poll_transmit(Time::ZERO, &packets, &model).is_some());
///
/// pacer.handle_echo(Time::ZERO, flow, &model, &mut SplitMix(1));
/// for _ in 0..3 {
///     assert_eq!(send(&mut pacer, &mut packets), Taken::Waits);
/// }
/// // The full bucket of 3 KB lets two packets go. The third waits for tokens.
/// let (mut now, mut left) = (Time::ZERO, Vec::new());
/// while left.len() < 3 {
///     now = pacer.next_start(now, &model);
///     if pacer.poll_transmit(now, &packets, &model).is_some() {
///         left.push(now);
///     }
/// }
/// assert_eq!(left, [0, 0, 112].map(|us| Time::ZERO + TimeDelta::from_us(us)));
/// ```
#[derive(Clone, Debug)]
pub struct Pacer {
    passing: Queue,
    limiters: Vec<Limiter>,
    /// Index of the next limiter; round robin.
    turn: usize,
    associations: Associations,
    counters: PacerCounters,
}

impl Pacer {
    /// An idle pacer: every flow passes, every bucket is full.
    pub fn new(model: &PacerModel) -> Pacer {
        Pacer {
            passing: Queue::EMPTY,
            limiters: (0..model.buckets).map(|_| Limiter::new(model)).collect(),
            turn: 0,
            associations: Associations::new(model.flows),
            counters: PacerCounters::default(),
        }
    }

    /// Takes a packet of a flow from the host.
    pub fn handle_packet<P: Packets>(
        &mut self,
        now: Time,
        flow: FlowId,
        packet: Handle,
        packets: &mut P,
        model: &PacerModel,
    ) -> Taken {
        let bytes = packets.packet(packet).wire_bytes;
        let limiter = &mut self.limiters[flow.place(model.buckets)];
        limiter.advance(now, model);
        let last = self.associations.last_of(flow, now, limiter.left(), model.lifetime);
        if last.is_some() || model.measured == Measured::FromHost {
            limiter.count(bytes);
        }
        // HULL 4.2: the packets of associated flows go to the token bucket, the others are sent immediately.
        let Some(last) = last else {
            self.passing.push(packets, packet, bytes.into());
            self.counters.passed += 1;
            return Taken::Passes;
        };
        if !limiter.push(packet, bytes, packets, model) {
            self.counters.dropped += 1;
            self.counters.dropped_bytes += u64::from(bytes);
            return Taken::Dropped;
        }
        *last = limiter.last();
        self.counters.paced += 1;
        Taken::Waits
    }

    /// Records a congestion echo. Draws only if the flow is not associated.
    pub fn handle_echo<C: Rng>(
        &mut self,
        now: Time,
        flow: FlowId,
        model: &PacerModel,
        rng: &mut C,
    ) {
        let left = |flow: FlowId| self.limiters[flow.place(model.buckets)].left();
        if self.associations.refresh(flow, now, left(flow), model.lifetime) {
            return;
        }
        // HULL 4.2: for each ACK with ECN-Echo the flow is associated with probability p_a.
        if rng.below(BILLION) >= model.association_probability {
            return;
        }
        // HULL 5.1: the table holds 64 entries.
        if self.associations.insert(flow, now, model.lifetime, left) {
            self.counters.associated += 1;
        } else {
            self.counters.refused += 1;
        }
    }

    /// The packet to send now; the line is free.
    pub fn poll_transmit<P: Packets>(
        &mut self,
        now: Time,
        packets: &P,
        model: &PacerModel,
    ) -> Option<Handle> {
        if !self.is_open() {
            let packet = self.passing.pop(packets);
            self.passing.release(1, packets.packet(packet).wire_bytes.into());
            return Some(packet);
        }
        let count = self.limiters.len();
        for _ in 0..count {
            let place = self.turn;
            self.turn = if place + 1 == count { 0 } else { place + 1 };
            if let Some(packet) = self.limiters[place].pop(now, packets, model) {
                return Some(packet);
            }
        }
        None
    }

    /// Time of the next [`Pacer::poll_transmit`] without further packets, if the line is free at `free_at`; never
    /// without waiting packets.
    #[inline]
    pub fn next_start(&self, free_at: Time, model: &PacerModel) -> Time {
        if !self.is_open() {
            return free_at;
        }
        let next = self.limiters.iter().map(|limiter| limiter.next(model)).min();
        next.unwrap_or(Time::NEVER).max(free_at)
    }

    /// Sets the clock back: `now` falls once by `by`. Rates, tokens, waiting packets and associations stay. Ticks and
    /// intervals start anew unless `by` is a multiple of theirs.
    pub fn set_back(&mut self, by: TimeDelta) {
        self.limiters.iter_mut().for_each(|limiter| limiter.set_back(by));
        self.associations.set_back(by);
    }

    /// True if the host may hand over a packet: no passing packet waits for the line.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.passing.head.is_none()
    }

    /// Number of flows associated at `now`.
    pub fn flows(&self, now: Time, model: &PacerModel) -> usize {
        let left = |flow: FlowId| self.limiters[flow.place(model.buckets)].left();
        self.associations.count(now, model.lifetime, left)
    }

    /// Rate and backlog of each bucket at `now`, which is not before the last call's.
    pub fn buckets(
        &self,
        now: Time,
        model: &PacerModel,
    ) -> impl Iterator<Item = (BitRate, ByteCount)> {
        self.limiters.iter().map(move |limiter| limiter.inspect(now, model))
    }

    /// The counters.
    pub fn counters(&self) -> PacerCounters {
        self.counters
    }
}
