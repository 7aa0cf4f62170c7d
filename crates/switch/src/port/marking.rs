//! The markers of AQM (active queue management), at arrival or departure: DCTCP's threshold K and DCQCN's ramp.

use trimline_packet::{Handle, Packet, Packets};

use super::Port;
use crate::PortContext;
use crate::Rng;
use crate::model::{MarkAt, Marker, ServiceModel, Unit};

impl<const Q: usize> Port<Q> {
    pub(super) fn mark_enqueued<K: Packets, C: Rng>(
        &mut self,
        queue: usize,
        packet: Handle,
        bytes: u32,
        context: &mut PortContext<'_, ServiceModel, K, C>,
    ) {
        match context.model.queues[queue].marker {
            Marker::Ramp { at: MarkAt::Enqueue, .. } => {
                let PortContext { model, packets, rng, .. } = context;
                self.mark_by_ramp(queue, self.queues[queue].bytes, packet, model, *packets, *rng);
            }
            Marker::Threshold { .. } => {
                let (model, packets) = (context.model, &mut *context.packets);
                self.mark_by_threshold(queue, packet, bytes, model, packets);
            }
            Marker::Ramp { at: MarkAt::Dequeue, .. } | Marker::None | Marker::CoDel { .. } => {}
        }
    }

    /// Marks the packet that has just gone to the wire, under a model without a table by class.
    pub(super) fn mark_leaving<P: Packets, C: Rng>(
        &mut self,
        packet: Handle,
        model: &ServiceModel,
        packets: &mut P,
        rng: &mut C,
    ) {
        let queue = usize::from(self.wire_queue);
        match model.queues[queue].marker {
            // uet-htsim (queue.cpp): the length is that of the queue without the packet, strictly above the lower end.
            Marker::Ramp { at: MarkAt::Dequeue, .. } => {
                let left = self.queues[queue].bytes - self.wire_bytes;
                self.mark_by_ramp(queue, left, packet, model, packets, rng);
            }
            Marker::Threshold { .. } => self.mark_dequeued(queue, packet, model, packets),
            Marker::Ramp { at: MarkAt::Enqueue, .. } | Marker::None | Marker::CoDel { .. } => {}
        }
    }

    /// Marks a packet with the probability of a ramp at `length` bytes. A call, so that ports without a ramp have short code.
    #[inline(never)]
    fn mark_by_ramp<P: Packets, C: Rng>(
        &mut self,
        queue: usize,
        length: u32,
        packet: Handle,
        model: &ServiceModel,
        packets: &mut P,
        rng: &mut C,
    ) {
        let Marker::Ramp { kmin, kmax, pmax, .. } = model.queues[queue].marker else {
            return;
        };
        let mark = length > kmax || {
            let above = u64::from(length.saturating_sub(kmin));
            // Q0.32, rounded down: never more than pmax.
            let probability = above * u64::from(pmax) / u64::from(kmax - kmin);
            above > 0 && u64::from(rng.below(u32::MAX)) < probability
        };
        if mark {
            self.congestion_experienced(packets.packet_mut(packet));
        }
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
