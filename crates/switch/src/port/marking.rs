//! The markers of AQM (active queue management), at arrival or departure: DCTCP's threshold K and DCQCN's ramp.

use trimline_packet::{Handle, Packet, Packets};

use super::Port;
use crate::model::{MarkAt, ServiceModel, Unit};
use crate::{Pool, PortContext, Rng};

/// Returns whether a ramp marks at `length` bytes. A number is drawn between its ends only.
fn ramp_marks(length: u32, [kmin, kmax, pmax]: [u32; 3], rng: &mut impl Rng) -> bool {
    length > kmax || {
        let above = u64::from(length.saturating_sub(kmin));
        // Q0.32, rounded down: never more than pmax.
        let probability = above * u64::from(pmax) / u64::from(kmax - kmin);
        above > 0 && u64::from(rng.below(u32::MAX)) < probability
    }
}

impl<const Q: usize> Port<Q> {
    pub(super) fn mark_enqueued<K: Packets, C: Rng>(
        &mut self,
        queue: usize,
        packet: Handle,
        bytes: u32,
        context: &mut PortContext<'_, ServiceModel, K, C>,
    ) {
        let model = context.model;
        let Some(ramp) = model.queues[queue].marker.ramp_at(MarkAt::Enqueue) else {
            return self.mark_by_threshold(queue, packet, bytes, model, context.packets);
        };
        if ramp_marks(self.queues[queue].bytes, ramp, context.rng) {
            self.congestion_experienced(context.packets.packet_mut(packet));
        }
    }

    /// Dequeues under a model with a ramp at departure: a call, so that other ports have short code.
    #[inline(never)]
    pub(super) fn dequeue_by_ramp<P: Packets, C: Rng>(
        &mut self,
        model: &ServiceModel,
        packets: &mut P,
        pool: &mut Pool,
        rng: &mut C,
    ) -> Option<Handle> {
        let packet = self.dequeue_slowly(model, packets, pool)?;
        let queue = usize::from(self.wire_queue);
        if let Some(ramp) = model.queues[queue].marker.ramp_at(MarkAt::Dequeue) {
            // uet-htsim (queue.cpp): the length is that of the queue without the packet, strictly above the lower end.
            let left = self.queues[queue].bytes - self.wire_bytes;
            if ramp_marks(left, ramp, rng) {
                self.congestion_experienced(packets.packet_mut(packet));
            }
        }
        Some(packet)
    }

    /// Marks an arriving packet above DCTCP's K, if its queue has that marker.
    #[inline]
    pub(super) fn mark_by_threshold<P: Packets>(
        &mut self,
        queue: usize,
        packet: Handle,
        bytes: u32,
        model: &ServiceModel,
        packets: &mut P,
    ) {
        let marker = model.queues[queue & 7].marker;
        let Some((unit, above, count_self)) = marker.threshold_at(MarkAt::Enqueue) else { return };
        let list = &self.queues[queue];
        let (length, own) = match unit {
            Unit::Packets => (list.packets, 1),
            Unit::Bytes => (list.bytes, bytes),
        };
        if u64::from(length) + u64::from(own) * u64::from(count_self) > u64::from(above) {
            self.congestion_experienced(packets.packet_mut(packet));
        }
    }

    /// Marks a departing packet above DCTCP's K, if its queue has that marker.
    #[inline]
    pub(super) fn mark_dequeued<P: Packets>(
        &mut self,
        queue: usize,
        packet: Handle,
        model: &ServiceModel,
        packets: &mut P,
    ) {
        let marker = model.queues[queue & 7].marker;
        let Some((unit, above, count_self)) = marker.threshold_at(MarkAt::Dequeue) else { return };
        // The packet is on the wire now: the counters include it.
        let list = &self.queues[queue];
        let (length, own) = match unit {
            Unit::Packets => (list.packets, 1),
            Unit::Bytes => (list.bytes, self.wire_bytes),
        };
        if length - own * u32::from(!count_self) > above {
            self.congestion_experienced(packets.packet_mut(packet));
        }
    }

    fn congestion_experienced(&mut self, packet: &mut Packet) {
        let is_new = packet.marks & (Packet::MARK_ECT | Packet::MARK_CE) == Packet::MARK_ECT;
        if is_new {
            packet.marks |= Packet::MARK_CE;
            self.marked = self.marked.wrapping_add(1);
        }
    }
}
