//! pFabric's port: sends the most urgent packet first and drops the least urgent.

use alloc::vec::Vec;

use trimline_packet::list::Queue;
use trimline_packet::{ConnectionId, Handle, HostId, Packet, Packets, ServiceClass, Time};

use crate::Rng;
use crate::model::{Limit, Order, ServiceModel, is_header};
use crate::output_port::{OutputPort, QueueView};
use crate::pool::Pool;
use crate::port_context::PortContext;

/// Priority value; a smaller value is more urgent. Data has it in `extra` of its header (pFabric: remaining or total
/// bytes of its flow). Chosen: headers and control packets come before all data.
#[inline]
fn rank(packet: &Packet) -> u32 {
    match is_header(packet.service.service()) {
        0 => packet.header.extra,
        _ => 0,
    }
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    rank: u32,
    bytes: u32,
    handle: Handle,
    /// A direction of a connection.
    flow: (HostId, HostId, ConnectionId),
}

/// A port of 1 to `Q` <= 8 queues with strict priority. The model's last queue is in order of urgency if it says so
/// ([`Order::Urgency`]); others, such as for notifications, are drop-tail FIFOs.
///
/// - The flow of the most urgent packet sends its first packet, so that flows keep their order (pFabric 4.2, its remark
///   on starvation). Of equally urgent packets the first counts.
/// - A packet without room evicts less urgent ones: the least urgent first, the last among equals, as few as make room.
///   If that is not enough, only the packet itself is dropped. The packet on the wire stays.
///
/// A search scans all waiting packets: tens, of 28 bytes each.
#[derive(Clone, Debug)]
pub struct PriorityDrop<const Q: usize> {
    queues: [Queue; Q],
    /// Packets of the last queue, in order of arrival; linked in this order too.
    waiting: Vec<Waiting>,
    wire_bytes: u32,
    wire_queue: u8,
    /// Bit `queue` is set unless the queue is paused.
    open: u8,
    urgent: u8,
}

impl<const Q: usize> Default for PriorityDrop<Q> {
    fn default() -> PriorityDrop<Q> {
        const { assert!(Q >= 1 && Q <= 8, "a port has 1 to 8 queues") };
        PriorityDrop {
            queues: [Queue::EMPTY; Q],
            waiting: Vec::new(),
            wire_bytes: 0,
            wire_queue: 0,
            open: u8::MAX,
            urgent: 0,
        }
    }
}

impl<const Q: usize> PriorityDrop<Q> {
    fn fits(&self, queue: usize, packets: u32, bytes: u32, arriving: u32, limit: Limit) -> bool {
        let list = &self.queues[queue];
        list.packets - packets < limit.packets
            && u64::from(list.bytes - bytes) + u64::from(arriving) <= u64::from(limit.bytes)
    }

    /// Removes a packet from the urgency list. It stays in the queue's counters.
    fn remove<K: Packets>(&mut self, place: usize, packets: &mut K) -> Waiting {
        let removed = self.waiting.remove(place);
        let list = &mut self.queues[usize::from(self.urgent)];
        let next = self.waiting.get(place).map_or(Handle::NONE, |waiting| waiting.handle);
        match place.checked_sub(1).map(|before| self.waiting[before].handle) {
            None => list.head = next,
            Some(before) => packets.set_next(before, next),
        }
        if next.is_none() {
            list.tail = self.waiting.last().map_or(Handle::NONE, |waiting| waiting.handle);
        }
        removed
    }

    /// Index of the packet that goes next: the first of the most urgent packet's flow.
    fn next(&self) -> usize {
        let first = self.waiting.iter().min_by_key(|waiting| waiting.rank);
        let flow = first.expect("a queue that is served has a packet").flow;
        self.waiting.iter().position(|waiting| waiting.flow == flow).unwrap_or(0)
    }

    /// Index of the packet that is evicted next: the last of the least urgent ones.
    fn lowest_priority(&self) -> usize {
        let ranks = self.waiting.iter().map(|waiting| waiting.rank).enumerate();
        ranks.max_by_key(|&(_, rank)| rank).map_or(0, |(place, _)| place)
    }

    /// Evicts packets less urgent than `rank` until `bytes` fit. False, without effect, if they cannot.
    fn make_room<K: Packets, C: Rng>(
        &mut self,
        (rank, bytes): (u32, u32),
        limit: Limit,
        context: &mut PortContext<'_, ServiceModel, K, C>,
    ) -> bool {
        let less_urgent = self.waiting.iter().filter(|waiting| waiting.rank > rank);
        let (count, sum) =
            less_urgent.fold((0, 0), |(count, sum), waiting| (count + 1, sum + waiting.bytes));
        let queue = usize::from(self.urgent);
        if !self.fits(queue, count, sum, bytes, limit) {
            return false;
        }
        while !self.fits(queue, 0, 0, bytes, limit) {
            let evicted = self.remove(self.lowest_priority(), context.packets);
            self.queues[queue].release(1, evicted.bytes);
            let service = context.packets.packet(evicted.handle).service.service();
            let disposition = context.model.queues[queue].disposition(service);
            context.drop_list.push(evicted.handle, disposition);
        }
        true
    }

    #[inline]
    fn choice(&self) -> Option<usize> {
        (0..Q).find(|&queue| self.open >> queue & 1 != 0 && !self.queues[queue].head.is_none())
    }
}

impl<const Q: usize> QueueView for PriorityDrop<Q> {
    type Model = ServiceModel;
    const QUEUES: usize = Q;

    #[inline]
    fn is_sending(&self) -> bool {
        self.wire_bytes != 0
    }

    fn max_in_queue(&self, model: &ServiceModel, queue: usize) -> Option<Limit> {
        (queue < model.queue_count()).then(|| model.max_in_queue(queue))
    }

    fn is_pooled(&self, model: &ServiceModel, queue: usize) -> bool {
        model.is_pooled(queue)
    }

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
        self.queue_packets(model.classify(packet))
    }

    fn has_room(&self, model: &ServiceModel, packet: &Packet, _pool: &Pool) -> bool {
        let queue = model.classify(packet);
        let limit = model.queues[queue].limits[is_header(packet.service.service())];
        self.fits(queue, 0, 0, model.occupancy(packet.wire_bytes), limit)
    }

    fn marked(&self) -> u32 {
        0
    }
}

impl<const Q: usize> OutputPort for PriorityDrop<Q> {
    #[inline]
    fn enqueue_plainly<K: Packets>(
        &mut self,
        _packet: Handle,
        _model: &ServiceModel,
        _packets: &mut K,
    ) -> bool {
        false
    }

    fn enqueue<K: Packets, C: Rng>(
        &mut self,
        packet: Handle,
        context: &mut PortContext<'_, ServiceModel, K, C>,
    ) {
        let arriving = *context.packets.packet(packet);
        let queue = context.model.classify(&arriving);
        let choices = &context.model.queues[queue];
        let service = arriving.service.service();
        let (limit, bytes) =
            (choices.limits[is_header(service)], context.model.occupancy(arriving.wire_bytes));
        let is_urgent = choices.order == Order::Urgency;
        let rank = rank(&arriving);
        if is_urgent {
            self.urgent = queue as u8;
        }
        let has_room = self.fits(queue, 0, 0, bytes, limit)
            || is_urgent && self.make_room((rank, bytes), limit, context);
        if !has_room {
            return context.drop_list.push(packet, choices.disposition(service));
        }
        self.queues[queue].push(context.packets, packet, bytes);
        if is_urgent {
            let flow = (arriving.source, arriving.destination, arriving.header.connection);
            self.waiting.push(Waiting { rank, bytes, handle: packet, flow });
        }
    }

    fn dequeue<K: Packets, C: Rng>(
        &mut self,
        context: &mut PortContext<'_, ServiceModel, K, C>,
    ) -> Option<Handle> {
        self.release(context.model, context.pool);
        let queue = self.choice()?;
        let sent = match context.model.queues[queue].order {
            Order::Arrival => self.queues[queue].pop(context.packets),
            Order::Urgency => self.remove(self.next(), context.packets).handle,
        };
        self.wire_queue = queue as u8;
        self.wire_bytes = context.model.occupancy(context.packets.packet(sent).wire_bytes);
        Some(sent)
    }

    #[inline]
    fn release(&mut self, _model: &ServiceModel, _pool: &mut Pool) {
        let packets = u32::from(self.wire_bytes != 0);
        self.queues[usize::from(self.wire_queue)].release(packets, self.wire_bytes);
        self.wire_bytes = 0;
    }

    fn pause(&mut self, queue: usize) {
        assert!(queue < Q, "a paused class is a queue of the port");
        self.open &= !(1 << queue);
    }

    fn resume(&mut self, queue: usize) {
        assert!(queue < Q, "a resumed class is a queue of the port");
        self.open |= 1 << queue;
    }

    #[inline]
    fn next_start(&self, free_at: Time) -> Time {
        if self.choice().is_some() { free_at } else { Time::NEVER }
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::VecDeque;

    use proptest::prelude::*;
    use trimline_packet::{BitRate, Service};

    use super::*;
    use crate::Disposition;
    use crate::model::{Cap, Choices, QueueChoices};
    use crate::testing::{World, packet};

    fn of(flow: u32, rank: u32, bytes: u16, service: Service) -> Packet {
        let mut packet = packet(service, bytes, 0);
        packet.header.connection = ConnectionId::new(flow);
        packet.header.extra = rank;
        packet
    }

    fn arrive(
        port: &mut PriorityDrop<1>,
        world: &mut World,
        model: &ServiceModel,
        packet: Packet,
    ) -> Handle {
        let handle = world.packets.add(packet);
        port.enqueue(handle, &mut world.context(Time::ZERO, model));
        handle
    }

    fn serve_all(
        port: &mut PriorityDrop<1>,
        world: &mut World,
        model: &ServiceModel,
    ) -> Vec<Handle> {
        core::iter::from_fn(|| port.dequeue(&mut world.context(Time::ZERO, model))).collect()
    }

    /// pFabric 4.2: the most urgent packet's flow sends its first packet; the least urgent packet is dropped.
    #[test]
    fn the_least_urgent_is_evicted_and_the_most_urgent_flow_sends_in_order() {
        let (model, mut world) = (ServiceModel::pfabric(4 * 1500), World::new());
        let mut port = PriorityDrop::<1>::default();
        let mut data = |flow, rank| {
            arrive(&mut port, &mut world, &model, of(flow, rank, 1500, Service::Droppable))
        };
        let a0 = data(1, 9000);
        let long = data(2, 90_000);
        let a1 = data(1, 7500);
        let other = data(3, 8000);
        // Full: drops the longest flow's packet, from the middle, and then the arriving packet itself.
        let a2 = data(1, 6000);
        let late = data(4, 50_000);
        // Equally urgent as the last one: drops the arriving packet.
        let equal = data(5, 9000);
        let lost = [long, late, equal].map(|handle| (handle, Disposition::Dropped));
        assert_eq!(world.drop_list.list(), lost);
        // Flow 1 is the most urgent by its last packet, and sends its first.
        assert_eq!(serve_all(&mut port, &mut world, &model), [a0, a1, a2, other]);
        assert_eq!((port.queue_packets(0), port.queue_bytes(0)), (0, 0));
    }

    /// Chosen: packets without an urgency come before data, and are not evicted for it.
    #[test]
    fn control_packets_go_first() {
        let (model, mut world) = (ServiceModel::pfabric(1564), World::new());
        let mut port = PriorityDrop::<1>::default();
        let data = arrive(&mut port, &mut world, &model, of(1, 1, 1500, Service::Droppable));
        let ack = arrive(&mut port, &mut world, &model, of(2, 77, 64, Service::Control));
        let next = arrive(&mut port, &mut world, &model, of(3, 99, 64, Service::Control));
        assert_eq!(world.drop_list.list(), [(data, Disposition::Dropped)]);
        assert_eq!(serve_all(&mut port, &mut world, &model), [ack, next]);
    }

    /// A packet that would not fit even after all evictions evicts none.
    #[test]
    fn a_packet_that_does_not_fit_evicts_no_packet() {
        let (model, mut world) = (ServiceModel::pfabric(3000), World::new());
        let mut port = PriorityDrop::<1>::default();
        let mut data = |rank, bytes| {
            arrive(&mut port, &mut world, &model, of(rank, rank, bytes, Service::Droppable))
        };
        let small = data(50, 100);
        let urgent = data(5, 2000);
        let large = data(20, 1500);
        assert_eq!(world.drop_list.list(), [(large, Disposition::Dropped)]);
        assert_eq!(serve_all(&mut port, &mut world, &model), [urgent, small]);
    }

    /// The port, by sorting all waiting packets.
    struct Sorted {
        limits: [u32; 2],
        notified: VecDeque<(Handle, Packet)>,
        waiting: Vec<(Handle, Packet)>,
        wire: Option<Packet>,
        drop_list: Vec<(Handle, Disposition)>,
        notifies: bool,
        paused: [bool; 2],
    }

    impl Sorted {
        fn is_notified(packet: &Packet) -> bool {
            packet.service == Service::Notification
        }

        fn bytes(&self, notified: bool) -> u32 {
            let wire = self.wire.iter().filter(|wire| Sorted::is_notified(wire) == notified);
            let waiting = self.notified.iter().chain(&self.waiting).map(|(_, packet)| packet);
            let of = wire.chain(waiting.filter(|packet| Sorted::is_notified(packet) == notified));
            of.map(|packet| u32::from(packet.wire_bytes)).sum()
        }

        fn lose(&mut self, handle: Handle, packet: &Packet) {
            let service = packet.service.service();
            let is_notified =
                self.notifies && !matches!(service, Service::Returned | Service::Notification);
            self.drop_list.push((
                handle,
                if is_notified { Disposition::Notify } else { Disposition::Dropped },
            ));
        }

        fn rank(packet: &Packet) -> u32 {
            let has_rank =
                matches!(packet.service.service(), Service::Trimmable | Service::Droppable);
            if has_rank { packet.header.extra } else { 0 }
        }

        fn enqueue(&mut self, handle: Handle, packet: Packet) {
            let bytes = u32::from(packet.wire_bytes);
            if Sorted::is_notified(&packet) {
                match self.bytes(true) + bytes <= self.limits[0] {
                    true => self.notified.push_back((handle, packet)),
                    false => self.drop_list.push((handle, Disposition::Dropped)),
                }
                return;
            }
            // Eviction candidates in order: the least urgent first, of equal ones the last.
            let mut victims: Vec<usize> = (0..self.waiting.len())
                .filter(|&place| Sorted::rank(&self.waiting[place].1) > Sorted::rank(&packet))
                .collect();
            victims.sort_by_key(|&place| (Sorted::rank(&self.waiting[place].1), place));
            victims.reverse();
            let mut free = i64::from(self.limits[1]) - i64::from(self.bytes(false));
            let mut evicted = Vec::new();
            while free < i64::from(bytes) {
                let Some(&victim) = victims.get(evicted.len()) else {
                    return self.lose(handle, &packet);
                };
                free += i64::from(self.waiting[victim].1.wire_bytes);
                evicted.push(self.waiting[victim]);
            }
            for (victim, packet) in evicted {
                self.waiting.retain(|&(other, _)| other != victim);
                self.lose(victim, &packet);
            }
            self.waiting.push((handle, packet));
        }

        fn dequeue(&mut self) -> Option<Handle> {
            self.wire = None;
            let next = match self.notified.is_empty() || self.paused[0] {
                false => self.notified.pop_front(),
                true if self.waiting.is_empty() || self.paused[1] => None,
                true => {
                    let mut order: Vec<usize> = (0..self.waiting.len()).collect();
                    order.sort_by_key(|&place| (Sorted::rank(&self.waiting[place].1), place));
                    let flow = |packet: &Packet| {
                        (packet.source, packet.destination, packet.header.connection)
                    };
                    let wanted = flow(&self.waiting[order[0]].1);
                    let first = self.waiting.iter().position(|(_, packet)| flow(packet) == wanted);
                    first.map(|place| self.waiting.remove(place))
                }
            };
            self.wire = next.map(|next| next.1);
            next.map(|next| next.0)
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Arrive(Packet),
        Serve,
        Pause(usize, bool),
    }

    fn any_step() -> impl Strategy<Value = Step> {
        let service = prop_oneof![
            8 => Just(Service::Droppable),
            2 => Just(Service::Control),
            1 => Just(Service::Notification),
            1 => Just(Service::Returned),
        ];
        let bytes = prop_oneof![3 => Just(1500u16), 1 => Just(64), 1 => 64u16..3000];
        let packet = (service, bytes, 0u32..6, 0u32..8, 0u32..3);
        prop_oneof![
            12 => packet.prop_map(|(service, bytes, flow, rank, destination)| {
                let mut packet = of(flow, rank * 1000, bytes, service);
                packet.destination = HostId::new(destination);
                Step::Arrive(packet)
            }),
            6 => Just(Step::Serve),
            1 => (0usize..2, any::<bool>()).prop_map(|(queue, stops)| Step::Pause(queue, stops)),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_port_agrees_with_a_sorted_reference(
            steps in prop::collection::vec(any_step(), 1..200),
            bytes in 1000u32..20_000,
            notified in 64u32..1000,
            notifies in any::<bool>(),
        ) {
            let cap = Cap::of_line(BitRate::from_gbps(10));
            let mut choices = Choices::fastlane_pfabric(bytes + notified, notified, cap);
            if !notifies {
                let limit = Limit::bytes(bytes);
                choices.queues[1] = QueueChoices { order: Order::Urgency, ..QueueChoices::new(limit) };
            }
            let (model, mut world) = (choices.build().unwrap(), World::new());
            let mut port = PriorityDrop::<2>::default();
            let mut sorted = Sorted {
                limits: [notified, bytes],
                notified: VecDeque::new(),
                waiting: Vec::new(),
                wire: None,
                drop_list: Vec::new(),
                notifies,
                paused: [false; 2],
            };
            for step in steps {
                match step {
                    Step::Arrive(packet) => {
                        let handle = world.packets.add(packet);
                        prop_assert!(!port.enqueue_plainly(handle, &model, &mut world.packets));
                        port.enqueue(handle, &mut world.context(Time::ZERO, &model));
                        sorted.enqueue(handle, packet);
                    }
                    Step::Serve => {
                        let sent = port.dequeue(&mut world.context(Time::ZERO, &model));
                        prop_assert_eq!(sent, sorted.dequeue());
                        prop_assert_eq!(port.is_sending(), sent.is_some());
                    }
                    Step::Pause(queue, stops) => {
                        sorted.paused[queue] = stops;
                        if stops { port.pause(queue) } else { port.resume(queue) }
                    }
                }
                prop_assert_eq!(world.drop_list.list(), &sorted.drop_list[..]);
                prop_assert_eq!(port.queue_bytes(0), sorted.bytes(true));
                prop_assert_eq!(port.queue_bytes(1), sorted.bytes(false));
                let waits = !sorted.notified.is_empty() && !sorted.paused[0]
                    || !sorted.waiting.is_empty() && !sorted.paused[1];
                prop_assert_eq!(port.next_start(Time::ZERO) == Time::ZERO, waits);
                // The list is in order of arrival.
                let mut next = port.first(1);
                for &(handle, _) in &sorted.waiting {
                    prop_assert_eq!(next, handle);
                    next = world.packets.next(handle);
                }
                prop_assert!(next.is_none());
            }
        }
    }
}
