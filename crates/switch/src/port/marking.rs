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
        self.mark_by_ramp(packet, model, packets, rng);
        Some(packet)
    }

    /// Marks a departing packet by the ramp of its queue, if that has one.
    #[inline]
    pub(super) fn mark_by_ramp<P: Packets, C: Rng>(
        &mut self,
        packet: Handle,
        model: &ServiceModel,
        packets: &mut P,
        rng: &mut C,
    ) {
        let list = &self.queues[usize::from(self.wire_queue) & (Q - 1)];
        let marker = model.queues[usize::from(self.wire_queue) & 7].marker;
        let Some(ramp) = marker.ramp_at(MarkAt::Dequeue) else { return };
        // uet-htsim (queue.cpp): the length is that of the queue without the packet, strictly above the lower end.
        if ramp_marks(list.bytes - self.wire_bytes, ramp, rng) {
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
        packet: Handle,
        model: &ServiceModel,
        packets: &mut P,
    ) {
        let queue = usize::from(self.wire_queue) & (Q - 1);
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

#[cfg(test)]
mod tests {
    use trimline_packet::{ByteCount, Service};

    use super::*;
    use crate::model::{Choices, Limit, Marker, QueueChoices};
    use crate::pool::Alpha;
    use crate::testing::{Bench, packet};

    /// Bit masks of ten packets with ECN: marked on arrival, and on departure. The kind of memory changes nothing.
    fn marks(marker: Marker, coins: &[bool]) -> [u32; 2] {
        let [own, shared] =
            [None, Some(Alpha::from_fraction(100, 1))].map(|pool| marks_in(pool, marker, coins));
        assert_eq!(own, shared);
        own
    }

    fn marks_in(pool: Option<Alpha>, marker: Marker, coins: &[bool]) -> [u32; 2] {
        let queue = QueueChoices::new(Limit::packets(100)).marker(marker);
        let queue = QueueChoices { pool, ..queue };
        let choices = Choices { queues: alloc::vec![queue], ..Choices::drop_tail(1) };
        let mut bench = Bench::<1>::new(choices.build().unwrap());
        bench.pool = Pool::new(ByteCount::new(1_000_000));
        bench.coins.0.extend(coins);
        let marked = |bench: &Bench<1>, handle: Handle| {
            u32::from(bench.packets.packet(handle).marks & Packet::MARK_CE != 0)
                << bench.packets.packet(handle).header.sequence
        };
        let (mut at_arrival, mut at_departure) = (0, 0);
        for sequence in 0..10 {
            let mut arriving = packet(Service::Droppable, 1000, sequence);
            arriving.marks = Packet::MARK_ECT;
            let handle = bench.arrive(arriving);
            at_arrival |= marked(&bench, handle);
        }
        while let Some(sent) = bench.serve() {
            at_departure |= marked(&bench, sent);
        }
        assert!(bench.coins.0.is_empty(), "coins were not drawn");
        [at_arrival, at_departure]
    }

    #[test]
    fn a_threshold_counts_its_unit_at_enqueue_or_dequeue() {
        use crate::model::{MarkAt::*, Unit::*};
        let mark = |unit, above, count_self, at| Marker::Threshold { unit, above, count_self, at };
        assert_eq!(marks(mark(Packets, 7, false, Enqueue), &[]), [0b11_0000_0000; 2]);
        assert_eq!(marks(mark(Packets, 7, true, Enqueue), &[]), [0b11_1000_0000; 2]);
        assert_eq!(marks(mark(Bytes, 7000, false, Enqueue), &[]), [0b11_0000_0000; 2]);
        assert_eq!(marks(mark(Bytes, 6999, false, Enqueue), &[]), [0b11_1000_0000; 2]);
        // At departure the first packets leave the longest queue behind.
        assert_eq!(marks(mark(Packets, 7, true, Dequeue), &[]), [0, 0b111]);
        assert_eq!(marks(mark(Packets, 7, false, Dequeue), &[]), [0, 0b11]);
        assert_eq!(marks(mark(Bytes, 7000, false, Dequeue), &[]), [0, 0b11]);
    }

    #[test]
    fn a_ramp_marks_none_then_some_then_all() {
        // At 3000 and 4000 bytes a coin decides: 0 marks, and 1 (the larger number) marks too unless the probability is
        // tiny.
        use crate::model::MarkAt::{Dequeue, Enqueue};
        let ramp = |pmax, at| Marker::Ramp { kmin: 2000, kmax: 4000, pmax, at };
        let found = |pmax, coins: &[bool]| marks(ramp(pmax, Enqueue), coins);
        assert_eq!(found(u32::MAX, &[true, true]), [0b11_1111_1000; 2]);
        assert_eq!(found(1, &[false, false])[0], 0b11_1111_0000, "1 / 2 rounds down to 0");
        assert_eq!(found(0, &[false, false])[0], 0b11_1110_0000);
        // Packets 0 to 4 leave 9 to 5 behind; 5 and 6 leave 4 and 3; 7 leaves the lower end, 2000 bytes.
        let left = |pmax, coins: &[bool]| marks(ramp(pmax, Dequeue), coins);
        assert_eq!(left(u32::MAX, &[true, true]), [0, 0b00_0111_1111]);
        assert_eq!(left(1, &[false, false]), [0, 0b00_0011_1111]);
        assert_eq!(left(0, &[false, false]), [0, 0b00_0001_1111]);
    }
}
