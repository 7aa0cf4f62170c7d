//! Ports of a network with different models.

use alloc::vec::Vec;

use trimline_packet::{Handle, Packets, Time};

use crate::Rng;
use crate::output_port::{OutputPort, PortModel, Returning, Wrapper};
use crate::pool::Pool;
use crate::port_context::PortContext;

/// A small table of models for ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Models<M>(Vec<M>);

impl<M> Models<M> {
    /// A table of at least one model.
    ///
    /// # Panics
    /// Panics without models, or with more than 65536.
    pub fn new(models: Vec<M>) -> Models<M> {
        assert!((1..=1 << 16).contains(&models.len()), "a table has 1 to 65536 models");
        Models(models)
    }
}

impl<M: PortModel> PortModel for Models<M> {
    fn is_plain(&self) -> bool {
        self.0.iter().all(PortModel::is_plain)
    }

    fn shares_memory(&self) -> bool {
        self.0.iter().any(PortModel::shares_memory)
    }

    /// The smallest bound, if all models with returns have the same header queue.
    fn returning(&self) -> Returning {
        self.0.iter().map(PortModel::returning).fold(Returning::Never, |all, one| {
            match (all, one) {
                (Returning::Anywhere, _) | (_, Returning::Anywhere) => Returning::Anywhere,
                (Returning::Never, other) | (other, Returning::Never) => other,
                (
                    Returning::WhenFull { queue, bytes },
                    Returning::WhenFull { queue: other, bytes: other_bytes },
                ) if queue == other => Returning::WhenFull { queue, bytes: bytes.min(other_bytes) },
                (Returning::WhenFull { .. }, _) | (_, Returning::WhenFull { .. }) => {
                    Returning::Anywhere
                }
                (
                    Returning::From {
                        queue,
                        bytes,
                        trimmed_bytes,
                        cell_bytes,
                        queues_trimmed_by_bytes,
                    },
                    Returning::From {
                        queue: other,
                        bytes: other_bytes,
                        trimmed_bytes: other_trimmed,
                        cell_bytes: other_cell,
                        queues_trimmed_by_bytes: other_queues,
                    },
                ) => match queue == other {
                    true => Returning::From {
                        queue,
                        bytes: bytes.min(other_bytes),
                        trimmed_bytes: trimmed_bytes.max(other_trimmed),
                        cell_bytes: cell_bytes.max(other_cell),
                        queues_trimmed_by_bytes: queues_trimmed_by_bytes.max(other_queues),
                    },
                    false => Returning::Anywhere,
                },
            }
        })
    }
}

/// A port with the number of its model.
#[derive(Clone, Debug, Default)]
pub struct PerPort<P> {
    port: P,
    model: u16,
}

impl<P: OutputPort> PerPort<P> {
    /// The port without its number.
    pub fn port_mut(&mut self) -> &mut P {
        &mut self.port
    }
}

impl<P: OutputPort> Wrapper for PerPort<P> {
    type Model = Models<P::Model>;
    type Inner = P;

    #[inline(always)]
    fn inner(&self) -> &P {
        &self.port
    }

    #[inline(always)]
    fn inner_model<'a>(&self, models: &'a Models<P::Model>) -> &'a P::Model {
        &models.0[usize::from(self.model)]
    }
}

impl<P: OutputPort> OutputPort for PerPort<P> {
    fn with_model(number: u16) -> PerPort<P> {
        PerPort { port: P::default(), model: number }
    }

    #[inline(always)]
    fn enqueue_plainly<K: Packets>(
        &mut self,
        packet: Handle,
        models: &Models<P::Model>,
        packets: &mut K,
    ) -> bool {
        let model = self.inner_model(models);
        self.port.enqueue_plainly(packet, model, packets)
    }

    fn enqueue<K: Packets, C: Rng>(
        &mut self,
        packet: Handle,
        context: &mut PortContext<'_, Models<P::Model>, K, C>,
    ) {
        let model = self.inner_model(context.model);
        self.port.enqueue(packet, &mut context.with(model));
    }

    #[inline(always)]
    fn dequeue<K: Packets, C: Rng>(
        &mut self,
        context: &mut PortContext<'_, Models<P::Model>, K, C>,
    ) -> Option<Handle> {
        let model = self.inner_model(context.model);
        self.port.dequeue(&mut context.with(model))
    }

    #[inline]
    fn release(&mut self, models: &Models<P::Model>, pool: &mut Pool) {
        let model = self.inner_model(models);
        self.port.release(model, pool);
    }

    fn pause(&mut self, queue: usize) {
        self.port.pause(queue);
    }

    fn resume(&mut self, queue: usize) {
        self.port.resume(queue);
    }

    #[inline]
    fn next_start(&self, free_at: Time) -> Time {
        self.port.next_start(free_at)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use trimline_packet::Service;

    use super::*;
    use crate::testing::{World, packet};
    use crate::{Limit, Port, QueueView, ServiceModel};

    #[test]
    fn each_port_has_the_model_of_its_number() {
        let models = Models::new(vec![ServiceModel::drop_tail(1), ServiceModel::drop_tail(3)]);
        for (number, max) in [(0, 1), (1, 3)] {
            let (mut port, mut world) = (PerPort::<Port<1>>::with_model(number), World::new());
            for sequence in 0..5 {
                let handle = world.packets.add(packet(Service::Droppable, 1500, sequence));
                port.enqueue(handle, &mut world.context(Time::ZERO, &models));
            }
            assert_eq!(port.queue_packets(0), max);
            assert_eq!(port.max_in_queue(&models, 0), Some(Limit::packets(max)));
        }
    }

    #[test]
    fn headers_are_returned_from_the_smallest_queue_or_from_anywhere() {
        let paper = |packets| ServiceModel::paper(packets, 9000);
        let returning = |models| Models::new(models).returning();
        assert_eq!(returning(vec![ServiceModel::drop_tail(8)]), Returning::Never);
        let both = returning(vec![paper(8), ServiceModel::drop_tail(8), paper(4)]);
        assert_eq!(both, paper(4).returning());
        let mut choices = crate::Choices::cut_payload(4, 9064);
        choices.queues[0].overflow.push(crate::Action::Return);
        choices.classifier = crate::Classifier::Class;
        choices.scheduler = crate::Scheduler::Strict;
        choices.queues = vec![choices.queues[0].clone(); 4];
        let elsewhere = choices.build().unwrap();
        assert_eq!(returning(vec![paper(8), elsewhere]), Returning::Anywhere);
    }
}
