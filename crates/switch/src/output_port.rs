//! What a driver asks of an output port, whatever its queues are.

use trimline_packet::{Handle, Packets, Time};

use crate::Chance;
use crate::displaced::Displaced;
use crate::model::ServiceModel;
use crate::pool::Pool;
use crate::port::Port;

/// An output port: packets enter it, and one at a time leaves it for the wire.
pub trait OutputPort: Default + Send + Sync {
    /// The most queues that it can have.
    const QUEUES: usize;

    /// The first step of [`OutputPort::enqueue`], for drivers that count instructions: queues a packet that fits
    /// under a model with nothing but limits. Gives whether it did; if not, nothing has happened.
    fn enqueue_plainly<K: Packets>(
        &mut self,
        packet: Handle,
        model: &ServiceModel,
        packets: &mut K,
    ) -> bool;

    /// A packet arrives. It is queued, or it or others lose their place: they are appended to `displaced`, in the
    /// order in which it happened.
    #[allow(clippy::too_many_arguments)] // State, and every source of what the port may not own.
    fn enqueue<K: Packets, C: Chance>(
        &mut self,
        now: Time,
        packet: Handle,
        model: &ServiceModel,
        packets: &mut K,
        pool: &mut Pool,
        coin: &mut C,
        displaced: &mut Displaced,
    );

    /// The transmitter is free: what was on the wire has left, and its memory is released. The scheduler chooses
    /// the next packet, which is now on the wire; `None` when nothing may go.
    fn dequeue<K: Packets>(
        &mut self,
        now: Time,
        model: &ServiceModel,
        packets: &mut K,
        pool: &mut Pool,
        displaced: &mut Displaced,
    ) -> Option<Handle>;

    /// What was on the wire has left: its memory is released, and nothing is sent.
    fn release(&mut self, model: &ServiceModel, pool: &mut Pool);

    /// Whether a packet waits that may be sent, not counting the one on the wire.
    fn is_backlogged(&self) -> bool;

    /// The first packet that waits in a queue, [`Handle::NONE`] if there is none.
    fn first(&self, queue: usize) -> Handle;

    /// Bytes of memory that a queue uses, those of its packet on the wire included.
    fn queue_bytes(&self, queue: usize) -> u32;

    /// Packets of a queue, the one on the wire included.
    fn queue_packets(&self, queue: usize) -> u32;
}

impl<const Q: usize> OutputPort for Port<Q> {
    const QUEUES: usize = Q;

    #[inline(always)]
    fn enqueue_plainly<K: Packets>(
        &mut self,
        packet: Handle,
        model: &ServiceModel,
        packets: &mut K,
    ) -> bool {
        Port::enqueue_plainly(self, packet, model, packets)
    }

    #[inline]
    fn enqueue<K: Packets, C: Chance>(
        &mut self,
        now: Time,
        packet: Handle,
        model: &ServiceModel,
        packets: &mut K,
        pool: &mut Pool,
        coin: &mut C,
        displaced: &mut Displaced,
    ) {
        Port::enqueue(self, now, packet, model, packets, pool, coin, displaced);
    }

    #[inline(always)]
    fn dequeue<K: Packets>(
        &mut self,
        now: Time,
        model: &ServiceModel,
        packets: &mut K,
        pool: &mut Pool,
        displaced: &mut Displaced,
    ) -> Option<Handle> {
        Port::dequeue(self, now, model, packets, pool, displaced)
    }

    #[inline]
    fn release(&mut self, model: &ServiceModel, pool: &mut Pool) {
        Port::release(self, model, pool);
    }

    #[inline]
    fn is_backlogged(&self) -> bool {
        Port::is_backlogged(self)
    }

    #[inline]
    fn first(&self, queue: usize) -> Handle {
        Port::first(self, queue)
    }

    #[inline]
    fn queue_bytes(&self, queue: usize) -> u32 {
        Port::queue_bytes(self, queue)
    }

    #[inline]
    fn queue_packets(&self, queue: usize) -> u32 {
        Port::queue_packets(self, queue)
    }
}
