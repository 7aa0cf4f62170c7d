//! The hardware pacer of a NIC (HULL 4.2, 5.1): spaces out the packets of the flows that cause congestion.

use alloc::vec::Vec;

use trimline_packet::list::Queue;
use trimline_packet::{BitRate, ByteCount, Handle, Packets, Rng, Time};

use super::associations::Associations;
use super::flow_id::FlowId;
use super::limiter::Limiter;
use super::pacer_settings::{Measured, PacerModel};

#[cfg(test)]
mod tests;

/// Probabilities are counted in billionths.
const BILLION: u32 = 1_000_000_000;

/// What became of a packet that the host sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It goes when the line is free.
    Passes,
    /// It waits for tokens.
    Waits,
    /// The FIFO is full: the packet is the caller's again, and lost.
    Dropped,
}

/// What a pacer has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacerCounters {
    /// Packets that it let pass.
    pub passed: u64,
    /// Packets that it queued.
    pub paced: u64,
    /// Packets that found its FIFO full.
    pub dropped: u64,
    /// Their bytes.
    pub dropped_bytes: u64,
    /// How often a flow was associated.
    pub associated: u64,
    /// How often a flow was to be, and the table was full.
    pub refused: u64,
}

/// The pacer of one host: it sees what the host sends, behind the last thing that makes bursts (segmentation), and of
/// what arrives the echoes of congestion.
///
/// # The contract
/// `now` never falls. Every call is harmless when early or repeated.
/// 1. A packet that the host sends goes to [`Pacer::handle_packet`]. The link between the two is as fast as the line: the
///    driver hands a packet over when the one before has had its time on it, and while [`Pacer::is_open`].
/// 2. For a packet that arrives and [`echoes congestion`](trimline_packet::Packet::echoes_congestion) it calls
///    [`Pacer::handle_echo`], and gives the packet to the host at once.
/// 3. When the line is free and [`Pacer::next_start`] has come, [`Pacer::poll_transmit`] gives the packet to send, or
///    says with `None` that the rate has changed and the time with it.
///
/// Packets that pass go ahead of those that wait. The packets of a flow keep their order: while one waits, all that
/// follow wait behind it.
///
/// Nothing is allocated after [`Pacer::new`]. Packets are in the caller's storage, threaded into lists.
#[derive(Clone, Debug)]
pub struct Pacer {
    passing: Queue,
    limiters: Vec<Limiter>,
    /// Whose turn it is where several limiters may send at once.
    turn: usize,
    associations: Associations,
    counters: PacerCounters,
}

impl Pacer {
    /// A pacer that has seen nothing: every flow passes, every bucket is full.
    pub fn new(model: &PacerModel) -> Pacer {
        Pacer {
            passing: Queue::EMPTY,
            limiters: (0..model.buckets).map(|_| Limiter::new(model)).collect(),
            turn: 0,
            associations: Associations::new(model.flows),
            counters: PacerCounters::default(),
        }
    }

    /// The host sends a packet of a flow.
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

    /// The host hears that packets of a flow met congestion. Draws only if the flow is not associated yet.
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
        if rng.below(BILLION) >= model.rng {
            return;
        }
        // HULL 5.1: the table holds 64 entries.
        if self.associations.insert(flow, now, model.lifetime, left) {
            self.counters.associated += 1;
        } else {
            self.counters.refused += 1;
        }
    }

    /// The line is free: the packet to send now.
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

    /// When to call [`Pacer::poll_transmit`], if nothing happens before and the line is free at `free_at`: never if no
    /// packet is here.
    #[inline]
    pub fn next_start(&self, free_at: Time, model: &PacerModel) -> Time {
        if !self.is_open() {
            return free_at;
        }
        let next = self.limiters.iter().map(|limiter| limiter.next(model)).min();
        next.unwrap_or(Time::NEVER).max(free_at)
    }

    /// Whether the host may hand over a packet: none is here that passes and waits for the line.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.passing.head.is_none()
    }

    /// Flows that are associated at a time.
    pub fn flows(&self, now: Time, model: &PacerModel) -> usize {
        let left = |flow: FlowId| self.limiters[flow.place(model.buckets)].left();
        self.associations.count(now, model.lifetime, left)
    }

    /// Each bucket's rate and backlog, at a time that is not before the last call's.
    pub fn buckets(
        &self,
        now: Time,
        model: &PacerModel,
    ) -> impl Iterator<Item = (BitRate, ByteCount)> {
        self.limiters.iter().map(move |limiter| limiter.inspect(now, model))
    }

    /// What it has done.
    pub fn counters(&self) -> PacerCounters {
        self.counters
    }
}
