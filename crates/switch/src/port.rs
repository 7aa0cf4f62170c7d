//! One output port: what waits, what is on the wire, and who goes next.

use trimline_packet::{Handle, Packet, Packets, Service, Time};

use crate::Chance;
use crate::displaced::{Displaced, Fate};
use crate::list::Queue;
use crate::model::{Action, MarkAt, Marker, Scheduler, ServiceModel, Unit, is_header};
use crate::pool::Pool;

/// An output port of `Q` queues: 16 bytes a queue and 16 more. `Q` is a power of two up to 8 and at
/// least [`ServiceModel::queue_count`].
///
/// The model is an argument of every call, because all ports of a profile share it. Occupancy, of
/// queue and pool, includes the packet on the wire until its last bit has left, that is until the
/// next [`Port::dequeue`].
#[derive(Clone, Debug)]
pub struct Port<const Q: usize> {
    queues: [Queue; Q],
    /// Packets that the queue whose turn it is has sent in this turn.
    served: u32,
    /// Memory of the packet on the wire, zero when there is none.
    wire_bytes: u32,
    /// Packets on the wire: zero or one.
    wire_packets: u8,
    /// The queue that the packet on the wire came from.
    wire_queue: u8,
    /// The queue whose turn it is.
    turn: u8,
    /// Bit `queue` is set while packets wait in it.
    waiting: u8,
    /// Bit `class` is set while the class is paused.
    paused: u8,
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
            wire_bytes: 0,
            wire_packets: 0,
            wire_queue: 0,
            turn: 0,
            waiting: 0,
            paused: 0,
        }
    }

    /// A packet arrives. It is queued, or it or others lose their place: they are appended to
    /// `displaced`, in the order in which it happened.
    ///
    /// No choice of today looks at `_now`; it is part of the call for those that do.
    ///
    /// # Panics
    /// A model of more than `Q` queues.
    #[inline]
    #[allow(clippy::too_many_arguments)] // State, and every source of what the port may not own.
    pub fn enqueue<P: Packets, C: Chance>(
        &mut self,
        _now: Time,
        packet: Handle,
        model: &ServiceModel,
        packets: &mut P,
        pool: &mut Pool,
        coin: &mut C,
        displaced: &mut Displaced,
    ) {
        let arriving = packets.packet(packet);
        let service = arriving.service;
        let queue = model.classify(arriving);
        let bytes = model.occupancy(arriving.wire_bytes);
        if self.admits(queue, service, bytes, model, pool) {
            self.push(queue, packet, bytes, model, packets, pool, coin);
        } else {
            self.overflow(queue, packet, model, packets, pool, coin, displaced);
        }
    }

    /// The transmitter is free: what was on the wire has left, and its memory is released. The
    /// scheduler chooses the next packet, which is now on the wire; `None` when nothing may go.
    ///
    /// No choice of today looks at `_now` or drops here; both are part of the call for those that do.
    #[inline]
    pub fn dequeue<P: Packets>(
        &mut self,
        _now: Time,
        model: &ServiceModel,
        packets: &mut P,
        pool: &mut Pool,
        _displaced: &mut Displaced,
    ) -> Option<Handle> {
        self.release(model, pool);
        let eligible = self.waiting & !self.paused;
        if eligible == 0 {
            return None;
        }
        let queue = self.schedule(eligible, model);
        let list = &mut self.queues[queue];
        let packet = list.pop(packets);
        if list.head.is_none() {
            self.waiting &= !(1 << queue);
        }
        self.wire_queue = queue as u8;
        self.wire_packets = 1;
        self.wire_bytes = model.occupancy(packets.packet(packet).wire_bytes);
        if !matches!(model.queues[queue & 7].marker, Marker::None) {
            self.mark_dequeued(queue, packet, model, packets);
        }
        Some(packet)
    }

    /// What was on the wire has left: its memory is released, and nothing is sent. For whoever
    /// schedules between several ports; [`Port::dequeue`] does it by itself.
    #[inline]
    pub fn release(&mut self, model: &ServiceModel, pool: &mut Pool) {
        let queue = usize::from(self.wire_queue) & (Q - 1);
        self.queues[queue].release(u32::from(self.wire_packets), self.wire_bytes);
        if model.queues[queue & 7].pool.is_some() {
            pool.give(self.wire_bytes);
        }
        self.wire_packets = 0;
        self.wire_bytes = 0;
    }

    /// Whether a packet waits, not counting the one on the wire, and its class is not paused.
    #[inline]
    pub fn is_backlogged(&self) -> bool {
        self.waiting & !self.paused != 0
    }

    /// Stops the queue `class` from sending. Its packet on the wire is not affected.
    ///
    /// # Panics
    /// No such queue.
    #[inline]
    pub fn pause(&mut self, class: usize) {
        assert!(class < Q, "a paused class is a queue of the port");
        self.paused |= 1 << class;
    }

    /// Lets the queue `class` send again.
    ///
    /// # Panics
    /// No such queue.
    #[inline]
    pub fn resume(&mut self, class: usize) {
        assert!(class < Q, "a resumed class is a queue of the port");
        self.paused &= !(1 << class);
    }

    /// Bytes of memory that a queue uses, those of its packet on the wire included.
    #[inline]
    pub fn queue_bytes(&self, queue: usize) -> u32 {
        self.queues[queue].bytes
    }

    /// Packets of a queue, the one on the wire included.
    #[inline]
    pub fn queue_packets(&self, queue: usize) -> u32 {
        self.queues[queue].packets
    }

    #[inline]
    fn admits(
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

    #[inline]
    #[allow(clippy::too_many_arguments)]
    fn push<P: Packets, C: Chance>(
        &mut self,
        queue: usize,
        packet: Handle,
        bytes: u32,
        model: &ServiceModel,
        packets: &mut P,
        pool: &mut Pool,
        coin: &mut C,
    ) {
        let choices = &model.queues[queue & 7];
        if !matches!(choices.marker, Marker::None) {
            self.mark_enqueued(queue, packet, bytes, model, packets, coin);
        }
        self.queues[queue].push(packets, packet, bytes);
        self.waiting |= 1 << queue;
        if choices.pool.is_some() {
            pool.take(bytes);
        }
    }

    /// The queue that sends next among those of `eligible`, which is not empty.
    #[inline]
    fn schedule(&mut self, eligible: u8, model: &ServiceModel) -> usize {
        let first = eligible.trailing_zeros() as usize & (Q - 1);
        match &model.scheduler {
            Scheduler::Fifo | Scheduler::Strict => first,
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

    /// The packet does not fit its queue: the first step of the queue's list that applies to it.
    #[cold]
    #[inline(never)]
    #[allow(clippy::too_many_arguments)]
    fn overflow<P: Packets, C: Chance>(
        &mut self,
        queue: usize,
        packet: Handle,
        model: &ServiceModel,
        packets: &mut P,
        pool: &mut Pool,
        coin: &mut C,
        displaced: &mut Displaced,
    ) {
        let service = packets.packet(packet).service;
        for action in model.queues[queue].overflow {
            match (action, service) {
                (Action::TrimArriving, Service::Trimmable) => {
                    return self.trim(packet, model, packets, pool, coin, displaced);
                }
                (Action::TrimByCoin, Service::Trimmable) => {
                    // NDP 3.1: the newcomer or the tail, 50 % each.
                    if !self.is_tail_trimmable(queue, packets)
                        || !coin.coin()
                        || !self.trim_tails(queue, packet, model, packets, pool, coin, displaced)
                    {
                        self.trim(packet, model, packets, pool, coin, displaced);
                    }
                    return;
                }
                // NDP 3.2.4: the header goes back to its sender, once.
                (Action::Return, Service::Trimmed) => {
                    return displaced.push(packet, Fate::Returned);
                }
                (Action::Notify, Service::Trimmable | Service::Droppable) => {
                    return displaced.push(packet, Fate::Notify);
                }
                (Action::Drop, _) => break,
                _ => {}
            }
        }
        displaced.push(packet, Fate::Dropped);
    }

    /// Cuts a packet that is in no queue and queues its header, which runs the list of its own
    /// queue. It is not trimmable any more, so that this happens at most once.
    #[allow(clippy::too_many_arguments)]
    fn trim<P: Packets, C: Chance>(
        &mut self,
        packet: Handle,
        model: &ServiceModel,
        packets: &mut P,
        pool: &mut Pool,
        coin: &mut C,
        displaced: &mut Displaced,
    ) {
        displaced.trimmed += 1;
        displaced.cut_bytes += u64::from(packets.trim(packet, model.trimmed_bytes));
        let header = packets.packet(packet);
        let queue = model.classify(header);
        let bytes = model.occupancy(header.wire_bytes);
        if self.admits(queue, Service::Trimmed, bytes, model, pool) {
            self.push(queue, packet, bytes, model, packets, pool, coin);
        } else {
            self.overflow(queue, packet, model, packets, pool, coin, displaced);
        }
    }

    /// Whether the queue's tail is a packet that may be trimmed: not the one on the wire, nor one
    /// that knows no trimming.
    fn is_tail_trimmable<P: Packets>(&self, queue: usize, packets: &P) -> bool {
        let list = &self.queues[queue];
        !list.head.is_none() && packets.packet(list.tail).service == Service::Trimmable
    }

    /// Trims tails until the packet fits, and queues it. Does nothing and gives `false` when it would
    /// not fit, or when a packet that may not be trimmed stands in the way.
    #[allow(clippy::too_many_arguments)]
    fn trim_tails<P: Packets, C: Chance>(
        &mut self,
        queue: usize,
        packet: Handle,
        model: &ServiceModel,
        packets: &mut P,
        pool: &mut Pool,
        coin: &mut C,
        displaced: &mut Displaced,
    ) -> bool {
        let bytes = model.occupancy(packets.packet(packet).wire_bytes);
        let Some((last, kept)) = self.tails(queue, bytes, model, packets, pool) else {
            return false;
        };
        let list = &mut self.queues[queue];
        let freed = Kept { packets: list.packets - kept.packets, bytes: list.bytes - kept.bytes };
        let mut tails = list.split_after(packets, last);
        list.release(freed.packets, freed.bytes);
        if model.queues[queue].pool.is_some() {
            pool.give(freed.bytes);
        }
        self.push(queue, packet, bytes, model, packets, pool, coin);

        // The tail goes first: its list is turned round.
        let mut reversed = Handle::NONE;
        while !tails.is_none() {
            let next = packets.next(tails);
            packets.set_next(tails, reversed);
            reversed = core::mem::replace(&mut tails, next);
        }
        while !reversed.is_none() {
            let next = packets.next(reversed);
            self.trim(reversed, model, packets, pool, coin, displaced);
            reversed = next;
        }
        true
    }

    /// The last packet that may stay ([`Handle::NONE`]: none may) so that `arriving` bytes fit when
    /// all behind it are trimmed, and what then is left; `None` when trimming tails cannot make room.
    fn tails<P: Packets>(
        &self,
        queue: usize,
        arriving: u32,
        model: &ServiceModel,
        packets: &P,
        pool: &Pool,
    ) -> Option<(Handle, Kept)> {
        let (list, choices) = (&self.queues[queue], &model.queues[queue]);
        let limit = &choices.limits[0];
        let fits = |kept: Kept| {
            kept.packets < limit.packets
                && u64::from(kept.bytes) + u64::from(arriving) <= u64::from(limit.bytes)
                && choices.pool.is_none_or(|alpha| {
                    pool.admits_after(list.bytes - kept.bytes, kept.bytes, arriving, alpha)
                })
        };
        // The packet on the wire is never trimmed: it stays in any case.
        let mut kept = Kept { packets: 0, bytes: 0 };
        if usize::from(self.wire_queue) == queue {
            kept = Kept { packets: u32::from(self.wire_packets), bytes: self.wire_bytes };
        }
        if !fits(kept) {
            return None;
        }
        let (mut last, mut next) = (Handle::NONE, list.head);
        while !next.is_none() {
            let bytes = model.occupancy(packets.packet(next).wire_bytes);
            let more = Kept { packets: kept.packets + 1, bytes: kept.bytes + bytes };
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

    #[inline(never)]
    fn mark_enqueued<P: Packets, C: Chance>(
        &self,
        queue: usize,
        packet: Handle,
        bytes: u32,
        model: &ServiceModel,
        packets: &mut P,
        coin: &mut C,
    ) {
        let list = &self.queues[queue];
        let mark = match model.queues[queue].marker {
            Marker::Threshold { unit, above, count_self, at: MarkAt::Enqueue } => {
                let (length, own) = match unit {
                    Unit::Packets => (list.packets, 1),
                    Unit::Bytes => (list.bytes, bytes),
                };
                u64::from(length) + u64::from(own) * u64::from(count_self) > u64::from(above)
            }
            Marker::Ramp { kmin, kmax, pmax } => {
                list.bytes > kmax || {
                    let above = u64::from(list.bytes.saturating_sub(kmin));
                    // Q0.32, rounded down: never more than pmax.
                    let probability = above * u64::from(pmax) / u64::from(kmax - kmin);
                    above > 0 && u64::from(coin.below(u32::MAX)) < probability
                }
            }
            Marker::None | Marker::Threshold { at: MarkAt::Dequeue, .. } => false,
        };
        if mark {
            congestion_experienced(packets.packet_mut(packet));
        }
    }

    #[inline(never)]
    fn mark_dequeued<P: Packets>(
        &self,
        queue: usize,
        packet: Handle,
        model: &ServiceModel,
        packets: &mut P,
    ) {
        let Marker::Threshold { unit, above, count_self, at: MarkAt::Dequeue } =
            model.queues[queue].marker
        else {
            return;
        };
        // The packet is on the wire now: the counters include it.
        let list = &self.queues[queue];
        let (length, own) = match unit {
            Unit::Packets => (list.packets, 1),
            Unit::Bytes => (list.bytes, self.wire_bytes),
        };
        if length - own * u32::from(!count_self) > above {
            congestion_experienced(packets.packet_mut(packet));
        }
    }
}

/// What stays of a queue when its tails are trimmed.
#[derive(Clone, Copy)]
struct Kept {
    packets: u32,
    bytes: u32,
}

fn congestion_experienced(packet: &mut Packet) {
    if packet.marks & Packet::MARK_ECT != 0 {
        packet.marks |= Packet::MARK_CE;
    }
}
