//! A rate limiter of a pacer: a FIFO, a token bucket at its head, and its rate (HULL 4.2, figure 4).

use trimline_packet::list::Queue;
use trimline_packet::{BitRate, ByteCount, Handle, Packets, Time, TimeDelta};

use super::pacer_settings::PacerModel;
use super::rate::Estimate;
use super::tokens::Tokens;

#[derive(Clone, Debug)]
pub(super) struct Limiter {
    tokens: Tokens,
    estimate: Estimate,
    rate: BitRate,
    queue: Queue,
    first_bytes: u16,
    left: u64,
}

impl Limiter {
    pub(super) fn new(model: &PacerModel) -> Limiter {
        let estimate = Estimate::new(model.first_rate, &model.law);
        Limiter {
            tokens: Tokens::full(model.depth),
            rate: estimate.bucket_rate(&model.law),
            estimate,
            queue: Queue::EMPTY,
            first_bytes: 0,
            left: 0,
        }
    }

    /// Updates rate and tokens. The backlog has not changed since the last call.
    #[inline]
    pub(super) fn advance(&mut self, now: Time, model: &PacerModel) {
        while self.estimate.next_update() <= now {
            self.update(now, model);
        }
        self.tokens.accrue(now, self.rate, model.depth, model.clock);
    }

    /// Accrues the tokens of the old rate, then updates the rate.
    #[inline(never)]
    fn update(&mut self, now: Time, model: &PacerModel) {
        let ended = self.estimate.next_update();
        self.tokens.accrue(ended, self.rate, model.depth, model.clock);
        self.estimate.update(self.backlog(), now, &model.law);
        self.rate = self.estimate.bucket_rate(&model.law);
    }

    /// Sets the clock back: `now` falls once by `by`.
    pub(super) const fn set_back(&mut self, by: TimeDelta) {
        self.tokens.set_back(by);
        self.estimate.set_back(by);
    }

    #[inline]
    pub(super) fn count(&mut self, bytes: u16) {
        self.estimate.count(bytes);
    }

    /// Queues a packet if the FIFO has room and the packet fits the bucket.
    #[inline]
    pub(super) fn push<P: Packets>(
        &mut self,
        packet: Handle,
        bytes: u16,
        packets: &mut P,
        model: &PacerModel,
    ) -> bool {
        let filled = self.queue.bytes.saturating_add(u32::from(bytes));
        if filled > model.queue_bytes || bytes > model.largest_packet {
            return false;
        }
        if self.queue.head.is_none() {
            self.first_bytes = bytes;
        }
        self.queue.push(packets, packet, bytes.into());
        true
    }

    /// Number of the packet queued last, from 1.
    #[inline]
    pub(super) fn last(&self) -> u64 {
        self.left + u64::from(self.queue.packets)
    }

    /// Number of packets that have left the queue.
    #[inline]
    pub(super) fn left(&self) -> u64 {
        self.left
    }

    #[inline]
    pub(super) fn pop<P: Packets>(
        &mut self,
        now: Time,
        packets: &P,
        model: &PacerModel,
    ) -> Option<Handle> {
        if self.queue.head.is_none() {
            return None;
        }
        self.advance(now, model);
        if !self.tokens.consume(self.first_bytes) {
            return None;
        }
        let packet = self.queue.pop(packets);
        self.queue.release(1, self.first_bytes.into());
        self.left += 1;
        if !self.queue.head.is_none() {
            self.first_bytes = packets.packet(self.queue.head).wire_bytes;
        }
        Some(packet)
    }

    /// Time to poll next, for tokens or an update of the rate; never if the queue is empty.
    #[inline]
    pub(super) fn next(&self, model: &PacerModel) -> Time {
        if self.queue.head.is_none() {
            return Time::NEVER;
        }
        self.tokens.due(self.first_bytes, self.rate, model.clock).min(self.estimate.next_update())
    }

    /// Rate and backlog at `now`, which is not before the last call's.
    pub(super) fn inspect(&self, now: Time, model: &PacerModel) -> (BitRate, ByteCount) {
        let mut limiter = self.clone();
        limiter.advance(now, model);
        (limiter.rate, limiter.backlog())
    }

    #[inline]
    fn backlog(&self) -> ByteCount {
        ByteCount::new(self.queue.bytes.into())
    }
}
