//! A port with two kinds of traffic on a wire: NDP's and droppable packets (NDP 3.3).

use trimline_packet::{Handle, Packet, Packets, Service, ServiceClass, Time};

use crate::Rng;
use crate::deficits::Deficits;
use crate::model::{Limit, ServiceModel};
use crate::output_port::{OutputPort, PortModel, QueueView, Returning};
use crate::pool::Pool;
use crate::port_context::PortContext;

/// Models of the two kinds of traffic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrrModel {
    /// For all other packets.
    pub main: ServiceModel,
    /// For packets that may only be dropped ([`Service::Droppable`]); `None`: `main` too.
    pub droppable: Option<ServiceModel>,
}

impl DrrModel {
    /// The model of `droppable`, if this class goes there.
    #[inline]
    fn droppable_of(&self, class: ServiceClass) -> Option<&ServiceModel> {
        self.droppable.as_ref().filter(|_| class == Service::Droppable)
    }
}

impl PortModel for DrrModel {
    #[inline(always)]
    fn is_plain(&self) -> bool {
        self.main.is_plain() && self.droppable.as_ref().is_none_or(PortModel::is_plain)
    }

    fn shares_memory(&self) -> bool {
        self.main.shares_memory() || self.droppable.as_ref().is_some_and(PortModel::shares_memory)
    }

    fn returning(&self) -> Returning {
        self.main.returning()
    }
}

/// Two ports that share a wire by deficit round robin ([`Deficits`]).
///
/// Its queues are the queues of `main`, followed by the queues of `droppable`.
#[derive(Clone, Debug, Default)]
pub struct Drr<A, B> {
    main: A,
    droppable: B,
    deficits: Deficits<[i64; 2]>,
}

impl<A, B> Drr<A, B>
where
    A: OutputPort<Model = ServiceModel>,
    B: OutputPort<Model = ServiceModel>,
{
    #[inline]
    fn split(queue: usize) -> Result<usize, usize> {
        if queue < A::QUEUES { Ok(queue) } else { Err(queue - A::QUEUES) }
    }
}

impl<A, B> QueueView for Drr<A, B>
where
    A: OutputPort<Model = ServiceModel>,
    B: OutputPort<Model = ServiceModel>,
{
    type Model = DrrModel;
    const QUEUES: usize = A::QUEUES + B::QUEUES;

    #[inline]
    fn is_sending(&self) -> bool {
        self.main.is_sending() || self.droppable.is_sending()
    }

    fn max_in_queue(&self, model: &DrrModel, queue: usize) -> Option<Limit> {
        match Self::split(queue) {
            Ok(queue) => self.main.max_in_queue(&model.main, queue),
            Err(queue) => self.droppable.max_in_queue(model.droppable.as_ref()?, queue),
        }
    }

    fn is_pooled(&self, model: &DrrModel, queue: usize) -> bool {
        match (Self::split(queue), &model.droppable) {
            (Ok(queue), _) => self.main.is_pooled(&model.main, queue),
            (Err(queue), Some(model)) => self.droppable.is_pooled(model, queue),
            (Err(_), None) => false,
        }
    }

    fn classify(&self, model: &DrrModel, packet: &Packet) -> usize {
        match model.droppable_of(packet.service) {
            Some(model) => A::QUEUES + self.droppable.classify(model, packet),
            None => self.main.classify(&model.main, packet),
        }
    }

    fn queue_of(&self, model: &DrrModel, class: ServiceClass) -> usize {
        match model.droppable_of(class) {
            Some(model) => A::QUEUES + self.droppable.queue_of(model, class),
            None => self.main.queue_of(&model.main, class),
        }
    }

    #[inline]
    fn first(&self, queue: usize) -> Handle {
        match Self::split(queue) {
            Ok(queue) => self.main.first(queue),
            Err(queue) => self.droppable.first(queue),
        }
    }

    #[inline]
    fn queue_bytes(&self, queue: usize) -> u32 {
        match Self::split(queue) {
            Ok(queue) => self.main.queue_bytes(queue),
            Err(queue) => self.droppable.queue_bytes(queue),
        }
    }

    #[inline]
    fn queue_packets(&self, queue: usize) -> u32 {
        match Self::split(queue) {
            Ok(queue) => self.main.queue_packets(queue),
            Err(queue) => self.droppable.queue_packets(queue),
        }
    }

    fn packets_before(&self, model: &DrrModel, packet: &Packet) -> u32 {
        match model.droppable_of(packet.service) {
            Some(model) => self.droppable.packets_before(model, packet),
            None => self.main.packets_before(&model.main, packet),
        }
    }

    fn has_room(&self, model: &DrrModel, packet: &Packet, pool: &Pool) -> bool {
        match model.droppable_of(packet.service) {
            Some(model) => self.droppable.has_room(model, packet, pool),
            None => self.main.has_room(&model.main, packet, pool),
        }
    }

    fn marked(&self) -> u32 {
        self.main.marked().wrapping_add(self.droppable.marked())
    }
}

impl<A, B> OutputPort for Drr<A, B>
where
    A: OutputPort<Model = ServiceModel>,
    B: OutputPort<Model = ServiceModel>,
{
    #[inline]
    fn enqueue_plainly<K: Packets>(
        &mut self,
        packet: Handle,
        model: &DrrModel,
        packets: &mut K,
    ) -> bool {
        match model.droppable_of(packets.packet(packet).service) {
            Some(model) => self.droppable.enqueue_plainly(packet, model, packets),
            None => self.main.enqueue_plainly(packet, &model.main, packets),
        }
    }

    fn enqueue<K: Packets, C: Rng>(
        &mut self,
        packet: Handle,
        context: &mut PortContext<'_, DrrModel, K, C>,
    ) {
        let model = context.model;
        match model.droppable_of(context.packets.packet(packet).service) {
            Some(model) => self.droppable.enqueue(packet, &mut context.with(model)),
            None => self.main.enqueue(packet, &mut context.with(&model.main)),
        }
    }

    fn dequeue<K: Packets, C: Rng>(
        &mut self,
        context: &mut PortContext<'_, DrrModel, K, C>,
    ) -> Option<Handle> {
        let model = context.model;
        let Some(droppable) = &model.droppable else {
            return self.main.dequeue(&mut context.with(&model.main));
        };
        // The ports share a wire: the memory of the last packet is freed before the next one starts.
        self.release(model, context.pool);
        let waits = [&self.main.next_start(context.now), &self.droppable.next_start(context.now)]
            .map(|start| *start <= context.now);
        let sent = if self.deficits.next(|place| waits[place])? == 0 {
            self.main.dequeue(&mut context.with(&model.main))
        } else {
            self.droppable.dequeue(&mut context.with(droppable))
        };
        self.deficits.sent(sent.map_or(0, |sent| context.packets.packet(sent).wire_bytes));
        sent
    }

    #[inline]
    fn release(&mut self, model: &DrrModel, pool: &mut Pool) {
        self.main.release(&model.main, pool);
        if let Some(droppable) = &model.droppable {
            self.droppable.release(droppable, pool);
        }
    }

    fn pause(&mut self, queue: usize) {
        match Self::split(queue) {
            Ok(queue) => self.main.pause(queue),
            Err(queue) => self.droppable.pause(queue),
        }
    }

    fn resume(&mut self, queue: usize) {
        match Self::split(queue) {
            Ok(queue) => self.main.resume(queue),
            Err(queue) => self.droppable.resume(queue),
        }
    }

    #[inline]
    fn next_start(&self, free_at: Time) -> Time {
        self.main.next_start(free_at).min(self.droppable.next_start(free_at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Port;
    use crate::testing::{World, packet};

    #[test]
    fn both_ports_of_a_drr_send_equal_bytes_from_their_own_queues() {
        let droppable = Some(ServiceModel::drop_tail(50));
        let model = DrrModel { main: ServiceModel::paper(8, 9000), droppable };
        let (mut port, mut world) = (Drr::<Port<2>, Port<1>>::default(), World::new());
        world.coins.0.extend([false, true].into_iter().cycle().take(10_000));
        let mut sent = [0u64; 2];
        for round in 0..2000 {
            for (service, bytes) in [(Service::Trimmable, 9064), (Service::Droppable, 1564)] {
                let copies = 9064 / u32::from(bytes) + 1;
                for copy in 0..copies {
                    let arriving = packet(service, bytes, round * 10 + copy);
                    let handle = world.packets.add(arriving);
                    port.enqueue(handle, &mut world.context(Time::ZERO, &model));
                }
            }
            let next = port.dequeue(&mut world.context(Time::ZERO, &model));
            let next = world.packets.packet(next.expect("both wait"));
            sent[usize::from(next.service == Service::Droppable)] += u64::from(next.wire_bytes);
            assert!(port.queue_packets(1) <= 8 && port.queue_packets(2) <= 50);
        }
        assert!(sent[0].abs_diff(sent[1]) <= 2 * 9064, "{sent:?}");
        assert!(world.drop_list.trimmed > 0, "NDP's packets are trimmed");
        assert!(!world.drop_list.is_empty(), "TCP's are dropped");
    }

    #[test]
    fn a_drr_without_a_droppable_queue_uses_the_main_port() {
        let model = DrrModel { main: ServiceModel::paper(8, 9000), droppable: None };
        let (mut port, mut world) = (Drr::<Port<2>, Port<1>>::default(), World::new());
        let handle = world.packets.add(packet(Service::Droppable, 1564, 0));
        port.enqueue(handle, &mut world.context(Time::ZERO, &model));
        assert_eq!((port.queue_packets(1), port.queue_packets(2)), (1, 0));
        assert_eq!(port.next_start(Time::from_ps(7)), Time::from_ps(7));
        assert_eq!(port.dequeue(&mut world.context(Time::ZERO, &model)), Some(handle));
        assert_eq!(port.next_start(Time::ZERO), Time::NEVER);
    }
}
