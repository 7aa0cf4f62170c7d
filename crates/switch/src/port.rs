//! An output port.

mod marking;

use core::hint::select_unpredictable;

use trimline_packet::list::Queue;
use trimline_packet::{Handle, Packet, Packets, Service, ServiceClass, Time};

use crate::Rng;
use crate::drop_list::Disposition;
use crate::held::Held;
use crate::model::{Action, Classifier, Limit, Marker, Scheduler, ServiceModel, is_header};
use crate::output_port::{OutputPort, QueueView};
use crate::pool::Pool;
use crate::port_context::PortContext;

/// An output port of `Q` queues: 16 bytes a queue and 16 more. `Q` is a power of two up to 8 and at least
/// [`ServiceModel::queue_count`].
///
/// The model is an argument of every call, because all ports of a profile share it. Occupancy of queue and pool
/// includes the packet on the wire until the next [`OutputPort::dequeue`], when its last bit has left.
///
/// ```
/// use trimline_packet::SplitMix;
/// use trimline_packet::testing::{Arena, packet};
/// use trimline_packet::{Service, Time};
/// use trimline_switch::{DropList, OutputPort, Pool, Port, PortContext, QueueView, ServiceModel};
///
/// let model = ServiceModel::drop_tail(2);
/// let (mut port, mut packets) = (Port::<1>::new(), Arena::default());
/// let handles = [0, 1, 2].map(|number| packets.add(packet(Service::Droppable, 1500, number)));
/// let mut context = PortContext {
///     now: Time::ZERO,
///     model: &model,
///     packets: &mut packets,
///     pool: &mut Pool::none(),
///     rng: &mut SplitMix(1),
///     drop_list: &mut DropList::new(),
/// };
/// handles.map(|handle| port.enqueue(handle, &mut context));
/// assert_eq!(context.drop_list.list()[0].0, handles[2], "the queue holds two packets");
///
/// assert_eq!(port.dequeue(&mut context), Some(handles[0]));
/// assert_eq!(port.queue_packets(0), 2, "one waits, one is on the wire");
/// assert_eq!(port.dequeue(&mut context), Some(handles[1]));
/// assert_eq!(port.queue_packets(0), 1);
/// ```
#[derive(Clone, Debug)]
pub struct Port<const Q: usize> {
    queues: [Queue; Q],
    /// Packets sent in this queue's turn; with two queues, completed turns of the round.
    served: u32,
    marked: u32,
    wire_bytes: u32,
    /// The queue of the packet on the wire.
    wire_queue: u8,
    turn: u8,
    /// Bit `class` is set unless the class is paused.
    open: u8,
    eligible: u8,
}

impl<const Q: usize> Default for Port<Q> {
    fn default() -> Port<Q> {
        Port::new()
    }
}

impl<const Q: usize> Port<Q> {
    /// An idle port.
    pub const fn new() -> Port<Q> {
        const { assert!(Q.is_power_of_two() && Q <= 8, "a port has 1, 2, 4 or 8 queues") };
        Port {
            queues: [Queue::EMPTY; Q],
            served: 0,
            marked: 0,
            wire_bytes: 0,
            wire_queue: 0,
            turn: 0,
            open: u8::MAX,
            eligible: 0,
        }
    }

    /// True if a packet waits, besides the one on the wire, and is not paused.
    #[inline]
    pub fn is_backlogged(&self) -> bool {
        self.eligible != 0
    }

    #[inline]
    fn wire_packets(&self) -> u32 {
        u32::from(self.wire_bytes != 0)
    }

    #[inline]
    fn release_wire(&mut self) {
        self.release_occupancy();
        self.wire_bytes = 0;
    }

    #[inline]
    fn release_occupancy(&mut self) {
        let queue = usize::from(self.wire_queue) & (Q - 1);
        self.queues[queue].release(self.wire_packets(), self.wire_bytes);
    }

    /// Starts the scheduler's packet; a queue is eligible. Its memory is not yet known.
    #[inline]
    fn start<P: Packets>(&mut self, model: &ServiceModel, packets: &P) -> Handle {
        let queue = self.schedule(self.eligible, model);
        let list = &mut self.queues[queue];
        let packet = list.pop(packets);
        // No branch: unpredictable.
        self.eligible &= !(u8::from(list.head.is_none()) << queue);
        self.wire_queue = queue as u8;
        packet
    }

    #[inline]
    pub(crate) fn admits(
        &self,
        queue: usize,
        service: Service,
        bytes: u32,
        model: &ServiceModel,
        pool: &Pool,
    ) -> bool {
        let (list, choices) = (&self.queues[queue], &model.queues[queue & 7]);
        let limit = &choices.limits[is_header(service)];
        list.packets < limit.packets
            && u64::from(list.bytes) + u64::from(bytes) <= u64::from(limit.bytes)
            && choices.pool.is_none_or(|alpha| pool.admits(list.bytes, bytes, alpha))
    }

    /// Aeolus: unscheduled packets enter only a short queue.
    #[inline]
    pub(crate) fn drops_selectively(
        &self,
        queue: usize,
        arriving: &Packet,
        model: &ServiceModel,
    ) -> bool {
        arriving.marks & Packet::MARK_UNSCHEDULED != 0
            && is_header(arriving.service.service()) == 0
            && self.queues[queue].bytes > model.queues[queue & 7].unscheduled
    }

    /// True if the port limit has room for `bytes` more.
    pub(crate) fn has_room_for(&self, bytes: u32, model: &ServiceModel) -> bool {
        model.port == Limit::NONE || self.held().fits(bytes, model.port)
    }

    fn held(&self) -> Held {
        self.queues.iter().fold(Held { packets: 0, bytes: 0 }, |held, queue| Held {
            packets: held.packets + queue.packets,
            bytes: held.bytes.saturating_add(queue.bytes),
        })
    }

    #[inline]
    fn push<K: Packets, C: Rng>(
        &mut self,
        queue: usize,
        packet: Handle,
        bytes: u32,
        context: &mut PortContext<'_, ServiceModel, K, C>,
    ) {
        let choices = &context.model.queues[queue & 7];
        if !matches!(choices.marker, Marker::None) {
            self.mark_enqueued(queue, packet, bytes, context);
        }
        self.queues[queue].push(context.packets, packet, bytes);
        self.eligible |= 1 << queue & self.open;
        if choices.pool.is_some() {
            context.pool.reserve(bytes);
        }
    }

    /// The queue that sends next, of `eligible`, which is not empty.
    #[inline]
    fn schedule(&mut self, eligible: u8, model: &ServiceModel) -> usize {
        if Q == 2 {
            let first = usize::from(eligible & 1 == 0);
            // No branch: one or both wait with about equal odds. The count stands still while only one queue waits.
            let round = &model.round;
            let both = eligible == 3;
            let turn = usize::from(self.served >= round.first);
            let over = self.served + 1;
            let over = if over == round.all { 0 } else { over };
            self.served = select_unpredictable(both, over, self.served);
            return select_unpredictable(both, turn, first);
        }
        let first = eligible.trailing_zeros() as usize & (Q - 1);
        match &model.scheduler {
            Scheduler::Fifo | Scheduler::Strict | Scheduler::RateLimited(_) => first,
            // The count stands still while only one queue waits.
            Scheduler::WeightedRoundRobin { .. } if eligible.is_power_of_two() => first,
            Scheduler::WeightedRoundRobin { weights } => {
                // NDP 3.1: ten headers to one data packet.
                let mut turn = usize::from(self.turn) & (Q - 1);
                while eligible >> turn & 1 == 0 || self.served >= weights[turn & 7] {
                    turn = (turn + 1) & (Q - 1);
                    self.served = 0;
                }
                self.turn = turn as u8;
                self.served += 1;
                turn
            }
        }
    }

    /// Enqueues a packet that does not fit, or needs more checks.
    #[inline(never)]
    fn enqueue_slowly<K: Packets, C: Rng>(
        &mut self,
        packet: Handle,
        context: &mut PortContext<'_, ServiceModel, K, C>,
    ) {
        let (arriving, model) = (context.packets.packet(packet), context.model);
        let service = arriving.service.service();
        let queue = model.classify(arriving);
        let bytes = model.occupancy(arriving.wire_bytes);
        if self.drops_selectively(queue, arriving, model) {
            context.drop_list.push(packet, Disposition::Dropped);
        } else if self.admits(queue, service, bytes, model, context.pool)
            && self.has_room_for(bytes, model)
        {
            self.push(queue, packet, bytes, context);
        } else {
            self.overflow(queue, packet, context);
        }
    }

    /// Dequeues under a model with cells, a pool or markers, outside the inlined [`OutputPort::dequeue`].
    #[inline(never)]
    fn dequeue_slowly<P: Packets>(
        &mut self,
        model: &ServiceModel,
        packets: &mut P,
        pool: &mut Pool,
    ) -> Option<Handle> {
        self.release(model, pool);
        if self.eligible == 0 {
            return None;
        }
        let packet = self.start(model, packets);
        self.wire_bytes = model.occupancy(packets.packet(packet).wire_bytes);
        self.mark_dequeued(packet, model, packets);
        Some(packet)
    }

    /// Applies the overflow list to a packet that does not fit.
    fn overflow<K: Packets, C: Rng>(
        &mut self,
        queue: usize,
        packet: Handle,
        context: &mut PortContext<'_, ServiceModel, K, C>,
    ) {
        let service = context.packets.packet(packet).service.service();
        let is_trimmable = service == Service::Trimmable;
        for action in context.model.queues[queue].overflow {
            match action {
                Action::TrimArriving if is_trimmable => return self.trim(packet, context),
                Action::TrimRandom if is_trimmable => {
                    // NDP 3.1: the newcomer or the tail, 50 % each.
                    if !self.is_tail_trimmable(queue, context.packets)
                        || !context.rng.coin()
                        || !self.trim_tails(queue, packet, context)
                    {
                        self.trim(packet, context);
                    }
                    return;
                }
                Action::TrimToSender if is_trimmable => {
                    self.cut(packet, context);
                    return context.drop_list.push(packet, Disposition::Returned);
                }
                Action::TrimToBoth if is_trimmable => {
                    self.cut(packet, context);
                    context.drop_list.quench(packet, *context.packets.packet(packet));
                    return self.enqueue_slowly(packet, context);
                }
                Action::TrimArriving
                | Action::TrimRandom
                | Action::TrimToSender
                | Action::TrimToBoth
                | Action::Drop
                | Action::Return
                | Action::Notify => {
                    if let Some(disposition) = action.disposition(service) {
                        return context.drop_list.push(packet, disposition);
                    }
                }
            }
        }
        context.drop_list.push(packet, Disposition::Dropped);
    }

    /// Trims a packet and queues its header, by the overflow list of that queue. A header is not trimmable, so this
    /// happens at most once.
    fn trim<K: Packets, C: Rng>(
        &mut self,
        packet: Handle,
        context: &mut PortContext<'_, ServiceModel, K, C>,
    ) {
        self.cut(packet, context);
        self.enqueue_slowly(packet, context);
    }

    fn cut<K: Packets, C: Rng>(
        &self,
        packet: Handle,
        context: &mut PortContext<'_, ServiceModel, K, C>,
    ) {
        context.drop_list.trimmed += 1;
        let cut = context.packets.trim(packet, context.model.trimmed_bytes);
        context.packets.packet_mut(packet).marks |= context.model.trim_marks;
        context.drop_list.cut_bytes += u64::from(cut);
    }

    /// True if the queue's tail is trimmable and not on the wire.
    fn is_tail_trimmable<P: Packets>(&self, queue: usize, packets: &P) -> bool {
        let list = &self.queues[queue];
        !list.head.is_none() && packets.packet(list.tail).service == Service::Trimmable
    }

    /// Trims tails until the packet fits, and queues it. False, without effect, if it would not fit or an untrimmable
    /// packet is in the way.
    fn trim_tails<K: Packets, C: Rng>(
        &mut self,
        queue: usize,
        packet: Handle,
        context: &mut PortContext<'_, ServiceModel, K, C>,
    ) -> bool {
        let model = context.model;
        let bytes = model.occupancy(context.packets.packet(packet).wire_bytes);
        let Some((last, kept)) = self.tails(queue, bytes, model, context.packets, context.pool)
        else {
            return false;
        };
        let list = &mut self.queues[queue];
        let freed = Held { packets: list.packets - kept.packets, bytes: list.bytes - kept.bytes };
        let mut tails = list.split_after(context.packets, last);
        list.release(freed.packets, freed.bytes);
        if model.queues[queue].pool.is_some() {
            context.pool.release(freed.bytes);
        }
        self.push(queue, packet, bytes, context);

        // The tail is trimmed first: reverse its list.
        let mut reversed = Handle::NONE;
        while !tails.is_none() {
            let next = context.packets.next(tails);
            context.packets.set_next(tails, reversed);
            reversed = core::mem::replace(&mut tails, next);
        }
        while !reversed.is_none() {
            let next = context.packets.next(reversed);
            self.trim(reversed, context);
            reversed = next;
        }
        true
    }

    /// The last packet that may stay ([`Handle::NONE`]: no packet) so that `arriving` bytes fit once later ones are
    /// trimmed, and the occupancy then; `None` if trimming cannot make room.
    fn tails<P: Packets>(
        &self,
        queue: usize,
        arriving: u32,
        model: &ServiceModel,
        packets: &P,
        pool: &Pool,
    ) -> Option<(Handle, Held)> {
        let (list, choices) = (&self.queues[queue], &model.queues[queue]);
        let held = self.held();
        let fits = |kept: Held| {
            let all = Held {
                packets: held.packets - list.packets + kept.packets,
                bytes: held.bytes - list.bytes + kept.bytes,
            };
            kept.fits(arriving, choices.limits[0])
                && all.fits(arriving, model.port)
                && choices.pool.is_none_or(|alpha| {
                    pool.admits_after(list.bytes - kept.bytes, kept.bytes, arriving, alpha)
                })
        };
        // The packet on the wire is never trimmed: it stays in any case.
        let mut kept = Held { packets: 0, bytes: 0 };
        if usize::from(self.wire_queue) == queue {
            kept = Held { packets: self.wire_packets(), bytes: self.wire_bytes };
        }
        if !fits(kept) {
            return None;
        }
        let (mut last, mut next) = (Handle::NONE, list.head);
        while !next.is_none() {
            let bytes = model.occupancy(packets.packet(next).wire_bytes);
            let more = Held { packets: kept.packets + 1, bytes: kept.bytes + bytes };
            if !fits(more) {
                break;
            }
            (last, kept, next) = (next, more, packets.next(next));
        }
        while !next.is_none() {
            if packets.packet(next).service != Service::Trimmable {
                return None;
            }
            next = packets.next(next);
        }
        Some((last, kept))
    }
}

impl<const Q: usize> QueueView for Port<Q> {
    type Model = ServiceModel;
    const QUEUES: usize = Q;

    #[inline(always)]
    fn is_sending(&self) -> bool {
        self.wire_bytes != 0
    }

    fn max_in_queue(&self, model: &ServiceModel, queue: usize) -> Option<Limit> {
        (queue < model.queue_count()).then(|| model.max_in_queue(queue))
    }

    fn is_pooled(&self, model: &ServiceModel, queue: usize) -> bool {
        model.is_pooled(queue)
    }

    #[inline]
    fn classify(&self, model: &ServiceModel, packet: &Packet) -> usize {
        model.classify(packet)
    }

    fn queue_of(&self, model: &ServiceModel, class: ServiceClass) -> usize {
        model.queue_of(class)
    }

    #[inline]
    fn first(&self, queue: usize) -> Handle {
        self.queues[queue].head
    }

    #[inline]
    fn queue_bytes(&self, queue: usize) -> u32 {
        self.queues[queue].bytes
    }

    #[inline]
    fn queue_packets(&self, queue: usize) -> u32 {
        self.queues[queue].packets
    }

    fn packets_before(&self, model: &ServiceModel, packet: &Packet) -> u32 {
        match model.classifier {
            Classifier::Single
            | Classifier::HeaderAndData
            | Classifier::Class
            | Classifier::Notifications => self.queue_packets(model.classify(packet)),
            Classifier::Priority => (0..Q).map(|queue| self.queue_packets(queue)).sum(),
        }
    }

    fn has_room(&self, model: &ServiceModel, packet: &Packet, pool: &Pool) -> bool {
        let (queue, service) = (model.classify(packet), packet.service.service());
        let bytes = model.occupancy(packet.wire_bytes);
        !self.drops_selectively(queue, packet, model)
            && self.admits(queue, service, bytes, model, pool)
            && self.has_room_for(bytes, model)
    }

    #[inline]
    fn marked(&self) -> u32 {
        self.marked
    }
}

impl<const Q: usize> OutputPort for Port<Q> {
    /// # Panics
    /// Panics if the model has more than `Q` queues.
    #[inline(always)]
    fn enqueue_plainly<K: Packets>(
        &mut self,
        packet: Handle,
        model: &ServiceModel,
        packets: &mut K,
    ) -> bool {
        let arriving = packets.packet(packet);
        let (class_entry, bytes) = (&model.classes[arriving.service.index()], arriving.wire_bytes);
        let list = &self.queues[usize::from(class_entry.queue)];
        let fits = list.packets < class_entry.limit.packets
            && u64::from(list.bytes) + u64::from(bytes) <= u64::from(class_entry.limit.bytes);
        if fits {
            if model.marks_at_enqueue {
                let queue = usize::from(class_entry.queue);
                self.mark_by_threshold(queue, packet, u32::from(bytes), model, packets);
            }
            let list = &mut self.queues[usize::from(class_entry.queue)];
            list.push(packets, packet, u32::from(bytes));
            self.eligible |= class_entry.bit & self.open;
        }
        fits
    }

    #[inline(always)]
    fn enqueue_pooled<K: Packets>(
        &mut self,
        packet: Handle,
        model: &ServiceModel,
        packets: &mut K,
        pool: &mut Pool,
    ) -> bool {
        let arriving = packets.packet(packet);
        let (service, bytes) = (arriving.service.service(), u32::from(arriving.wire_bytes));
        let fits = model.is_one_pooled && self.admits(0, service, bytes, model, pool);
        if fits {
            if model.marks_at_enqueue {
                self.mark_by_threshold(0, packet, bytes, model, packets);
            }
            self.queues[0].push(packets, packet, bytes);
            self.eligible |= 1 & self.open;
            pool.reserve(bytes);
        }
        fits
    }

    /// # Panics
    /// Panics if the model has more than `Q` queues.
    #[inline]
    fn enqueue<K: Packets, C: Rng>(
        &mut self,
        packet: Handle,
        context: &mut PortContext<'_, ServiceModel, K, C>,
    ) {
        if !self.enqueue_plainly(packet, context.model, context.packets)
            && !self.enqueue_pooled(packet, context.model, context.packets, context.pool)
        {
            self.enqueue_slowly(packet, context);
        }
    }

    #[inline(always)]
    fn dequeue<K: Packets, C: Rng>(
        &mut self,
        context: &mut PortContext<'_, ServiceModel, K, C>,
    ) -> Option<Handle> {
        let (model, packets) = (context.model, &mut *context.packets);
        if !model.has_class_table {
            if model.ramps_at_dequeue {
                return self.dequeue_by_ramp(model, packets, context.pool, context.rng);
            }
            return self.dequeue_slowly(model, packets, context.pool);
        }
        self.release_occupancy();
        if self.eligible == 0 {
            self.wire_bytes = 0;
            return None;
        }
        let packet = self.start(model, packets);
        self.wire_bytes = u32::from(packets.packet(packet).wire_bytes);
        if model.marks_at_dequeue {
            self.mark_dequeued(packet, model, packets);
            if model.ramps_at_dequeue {
                self.mark_by_ramp(packet, model, packets, context.rng);
            }
        }
        Some(packet)
    }

    #[inline]
    fn release(&mut self, model: &ServiceModel, pool: &mut Pool) {
        if model.queues[usize::from(self.wire_queue)].pool.is_some() {
            pool.release(self.wire_bytes);
        }
        self.release_wire();
    }

    /// # Panics
    /// Panics if there is no such queue.
    #[inline]
    fn pause(&mut self, class: usize) {
        assert!(class < Q, "a paused class is a queue of the port");
        self.open &= !(1 << class);
        self.eligible &= self.open;
    }

    /// # Panics
    /// Panics if there is no such queue.
    #[inline]
    fn resume(&mut self, class: usize) {
        assert!(class < Q, "a resumed class is a queue of the port");
        self.open |= 1 << class;
        self.eligible |= u8::from(!self.queues[class].head.is_none()) << class;
    }

    #[inline(always)]
    fn next_start(&self, free_at: Time) -> Time {
        // No branch: both are equally likely.
        let never_if_idle = u64::from(self.is_backlogged()).wrapping_sub(1);
        Time::from_ps(free_at.as_ps() | never_if_idle)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use trimline_packet::ByteCount;

    use super::*;
    use crate::model::{Choices, Limit, QueueChoices};
    use crate::pool::Alpha;
    use crate::testing::{Bench, packet};

    fn data(sequence: u32) -> Packet {
        packet(Service::Trimmable, 9064, sequence)
    }

    #[test]
    fn a_port_of_two_queues_fits_48_bytes() {
        assert!(size_of::<Port<2>>() <= 48);
        assert!(size_of::<Port<1>>() <= 32);
        assert!(size_of::<Port<8>>() <= 160);
    }

    #[test]
    fn a_paused_class_waits_and_the_other_does_not() {
        let mut bench = Bench::<2>::new(ServiceModel::paper(8, 9000));
        let first = bench.arrive(data(0));
        assert!(bench.port.is_backlogged());
        bench.port.pause(1);
        assert!(!bench.port.is_backlogged());
        assert_eq!(bench.serve(), None);
        let pull = bench.arrive(packet(Service::Control, 64, 0));
        assert_eq!((bench.serve(), bench.serve()), (Some(pull), None));
        bench.port.resume(1);
        assert_eq!(bench.serve(), Some(first));
    }

    #[test]
    fn a_packet_on_the_wire_is_not_backlog() {
        let mut bench = Bench::<2>::new(ServiceModel::paper(8, 9000));
        bench.arrive(data(0));
        bench.serve();
        assert!(!bench.port.is_backlogged());
        assert_eq!((bench.port.queue_packets(1), bench.port.queue_bytes(1)), (1, 9064));
        assert_eq!(bench.serve(), None);
        assert_eq!((bench.port.queue_packets(1), bench.port.queue_bytes(1)), (0, 0));
    }

    #[test]
    #[should_panic]
    fn a_model_of_more_queues_than_the_port_has_is_refused() {
        Bench::<1>::new(ServiceModel::paper(8, 9000)).arrive(data(0));
    }

    /// Packets that a lone queue admits from a pool of 100 000 bytes.
    fn admitted(alpha: Alpha) -> u32 {
        let mut choices = Choices::drop_tail(1000);
        choices.queues[0].pool = Some(alpha);
        let mut bench = Bench::<1>::new(choices.build().unwrap());
        bench.pool = Pool::new(ByteCount::new(100_000));
        for sequence in 0..200 {
            bench.arrive(packet(Service::Droppable, 1000, sequence));
        }
        assert_eq!(bench.pool.used(), ByteCount::new(u64::from(bench.port.queue_bytes(0))));
        bench.port.queue_packets(0)
    }

    #[test]
    fn a_lone_port_takes_alpha_over_one_plus_alpha_of_the_pool() {
        // The fixed point: held = alpha x free, so held = alpha / (1 + alpha) of the pool.
        assert_eq!(admitted(Alpha::from_fraction(1, 1)), 50);
        assert_eq!(admitted(Alpha::from_fraction(1, 4)), 20);
        // At any alpha, the pool is the bound.
        assert_eq!(admitted(Alpha::from_fraction(1000, 1)), 100);
    }

    /// HULL 6.2.2: strict priority, and the memory of the switch by dynamic thresholds.
    #[test]
    fn the_highest_class_goes_first_and_each_has_a_threshold_of_its_own() {
        let mut choices = Choices::qos(1000);
        for queue in &mut choices.queues {
            queue.pool = Some(Alpha::from_fraction(1, 1));
        }
        let mut bench = Bench::<4>::new(choices.build().unwrap());
        bench.pool = Pool::new(ByteCount::new(100_000));
        let arrive = |bench: &mut Bench<4>, class| {
            let mut arriving = packet(Service::Droppable, 1000, 0);
            arriving.header.flags = arriving.header.flags.with_class(class);
            bench.arrive(arriving);
        };
        // Class 0 gets half of the pool; class 3 then half of the rest.
        (0..100).for_each(|_| arrive(&mut bench, 0));
        (0..100).for_each(|_| arrive(&mut bench, 3));
        assert_eq!([0, 1, 2, 3].map(|queue| bench.port.queue_packets(queue)), [25, 0, 0, 50]);
        arrive(&mut bench, 2);
        let mut served = Vec::new();
        while let Some(handle) = bench.serve() {
            served.push(bench.packets.packet(handle).header.flags.class());
        }
        let expected = [[3].repeat(25), vec![2], [0].repeat(50)].concat();
        assert_eq!(served, expected);
        assert_eq!(bench.pool.used(), ByteCount::ZERO);
    }

    #[test]
    fn a_trimmed_tail_gives_its_pool_memory_back() {
        let mut choices = Choices::paper(2, 9000);
        choices.queues[1].pool = Some(Alpha::from_fraction(8, 1));
        let mut bench = Bench::<2>::new(choices.build().unwrap());
        bench.pool = Pool::new(ByteCount::new(100_000));
        bench.coins.0.push_back(true);
        (0..3).for_each(|sequence| {
            bench.arrive(data(sequence));
        });
        assert_eq!(bench.pool.used(), ByteCount::new(2 * 9064));
        while bench.serve().is_some() {}
        assert_eq!(bench.pool.used(), ByteCount::ZERO);
    }

    /// FastLane 3.4.1: notifications for data and control packets; never for a notification, or twice for a packet.
    #[test]
    fn senders_are_notified_of_all_packets_but_bounced_ones() {
        let queue = QueueChoices::new(Limit::packets(1)).overflow(&[Action::Notify]);
        let choices = Choices { queues: alloc::vec![queue], ..Choices::drop_tail(1) };
        let mut bench = Bench::<1>::new(choices.build().unwrap());
        bench.arrive(data(0));
        let dispositions = Service::ALL.map(|service| {
            let arriving = bench.arrive(packet(service, 64, 1));
            assert_eq!(bench.drop_list.list()[0].0, arriving);
            bench.drop_list.pop().expect("the port is full").1
        });
        let (notified, not) = (Disposition::Notify, Disposition::Dropped);
        assert_eq!(dispositions, [notified, notified, not, notified, notified, not]);
    }
}
