//! A port that signals congestion by the sojourn times of a queue (CoDel).

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use trimline_packet::{Handle, Packet, Packets, Time};

use crate::Rng;
use crate::codel::CoDel;
use crate::model::{Marker, ServiceModel, Signal, is_header};
use crate::output_port::{OutputPort, Wrapper};
use crate::pool::Pool;
use crate::port_context::PortContext;

/// A port with the arrival times of its CoDel queue ([`Marker::CoDel`](crate::Marker::CoDel)). Without CoDel it acts as
/// the port inside.
///
/// Times are in queue order, so the queue keeps every packet that it accepted: it neither trims tails nor evicts.
#[derive(Clone, Debug, Default)]
pub struct CodelPort<P> {
    port: P,
    /// Present since the first packet of the queue.
    waits: Option<Box<Waits>>,
}

/// State of a port's CoDel queue.
#[derive(Clone, Debug, Default)]
struct Waits {
    /// Arrival times of the waiting packets.
    arrivals: VecDeque<Time>,
    law: CoDel,
    marked: u32,
}

impl<P: OutputPort<Model = ServiceModel>> CodelPort<P> {
    /// Signals congestion by a packet that leaves the CoDel queue, if the law says so.
    fn inspect<K: Packets, C: Rng>(
        &mut self,
        queue: usize,
        sent: Handle,
        context: &mut PortContext<'_, ServiceModel, K, C>,
    ) {
        let Marker::CoDel { target, interval, signal } = context.model.queues[queue].marker else {
            return;
        };
        let waits = self.waits.as_mut().expect("a packet of the queue has arrived");
        let arrived = waits.arrivals.pop_front().expect("every waiting packet has its time");
        let (now, packet) = (context.now, context.packets.packet_mut(sent));
        let own = context.model.occupancy(packet.wire_bytes);
        // A backlog of at most another packet of its size is short. So the last packet ends a spell.
        let is_short = self.port.queue_bytes(queue) <= 2 * own;
        if !waits.law.inspect(now, now - arrived, is_short, target, interval) {
            return;
        }
        // A signal that this packet cannot carry waits for the next packet that can.
        match signal {
            Signal::Mark => {
                if packet.marks & Packet::MARK_ECT == 0 {
                    return;
                }
                let is_new = packet.marks & Packet::MARK_CE == 0;
                waits.marked = waits.marked.wrapping_add(is_new.into());
                packet.marks |= Packet::MARK_CE;
            }
            Signal::Quench => {
                if is_header(packet.service.service()) == 1 {
                    return;
                }
                let header = *packet;
                context.drop_list.quench(sent, header);
            }
        }
        waits.law.signalled(now, interval);
    }
}

impl<P: OutputPort<Model = ServiceModel>> Wrapper for CodelPort<P> {
    type Model = ServiceModel;
    type Inner = P;

    #[inline(always)]
    fn inner(&self) -> &P {
        &self.port
    }

    #[inline(always)]
    fn inner_model<'a>(&self, model: &'a ServiceModel) -> &'a ServiceModel {
        model
    }

    fn marked_outside(&self) -> u32 {
        self.waits.as_ref().map_or(0, |waits| waits.marked)
    }
}

impl<P: OutputPort<Model = ServiceModel>> OutputPort for CodelPort<P> {
    #[inline(always)]
    fn enqueue_plainly<K: Packets>(
        &mut self,
        packet: Handle,
        model: &ServiceModel,
        packets: &mut K,
    ) -> bool {
        // A packet for the CoDel queue needs its arrival time.
        let is_plain = |queue| model.classify(packets.packet(packet)) != queue;
        model.codel_queue().is_none_or(is_plain)
            && self.port.enqueue_plainly(packet, model, packets)
    }

    fn enqueue<K: Packets, C: Rng>(
        &mut self,
        packet: Handle,
        context: &mut PortContext<'_, ServiceModel, K, C>,
    ) {
        let queue = context.model.codel_queue();
        let length = |port: &P| queue.map(|queue| port.queue_packets(queue));
        let before = length(&self.port);
        self.port.enqueue(packet, context);
        if length(&self.port) > before {
            self.waits.get_or_insert_default().arrivals.push_back(context.now);
        }
    }

    #[inline(always)]
    fn dequeue<K: Packets, C: Rng>(
        &mut self,
        context: &mut PortContext<'_, ServiceModel, K, C>,
    ) -> Option<Handle> {
        let sent = self.port.dequeue(context)?;
        if let Some(queue) = context.model.codel_queue()
            && context.model.classify(context.packets.packet(sent)) == queue
        {
            self.inspect(queue, sent, context);
        }
        Some(sent)
    }

    #[inline]
    fn release(&mut self, model: &ServiceModel, pool: &mut Pool) {
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
    use alloc::collections::BTreeMap;

    use proptest::prelude::*;
    use trimline_packet::{BitRate, Service, TimeDelta};

    use super::*;
    use crate::model::{Cap, Choices};
    use crate::testing::{World, packet};
    use crate::{Port, QueueView, profiles};

    fn model(signal: Signal) -> ServiceModel {
        ServiceModel::codel(10_000, 1500, profiles::CODEL_TARGET, profiles::CODEL_INTERVAL, signal)
    }

    /// Serves `service` packets of 1500 bytes, one per `gap` ns, each in 1.2 us. Returns marks, quenches, and the last
    /// wait.
    fn run(model: &ServiceModel, service: Service, gap: u64) -> (u32, usize, TimeDelta) {
        let (mut port, mut world) = (CodelPort::<Port<1>>::default(), World::new());
        let (mut arrival, mut sojourn, mut quenches) = (Time::ZERO, TimeDelta::ZERO, 0);
        for turn in 0..2000 {
            let now = Time::ZERO + TimeDelta::from_ns(1200) * turn;
            while arrival <= now {
                let mut arriving = packet(service, 1500, (arrival.as_ps() / 1000) as u32);
                arriving.marks = Packet::MARK_ECT;
                let handle = world.packets.add(arriving);
                port.enqueue(handle, &mut world.context(arrival, model));
                arrival += TimeDelta::from_ns(gap);
            }
            let sent = port.dequeue(&mut world.context(now, model)).expect("a packet waits");
            let sequence = world.packets.packet(sent).header.sequence;
            sojourn = now - Time::from_ps(u64::from(sequence) * 1000);
            for (number, (quenched, header)) in world.drop_list.drain_quenched().enumerate() {
                assert_eq!((quenched, number), (sent, 0), "it is what leaves, and alone");
                assert_eq!(header, *world.packets.packet(sent));
                assert_eq!(header.marks & Packet::MARK_CE, 0);
                quenches += 1;
            }
        }
        (port.marked(), quenches, sojourn)
    }

    #[test]
    fn only_a_queue_above_the_sojourn_target_marks_or_quenches() {
        for (signal, expected) in [(Signal::Mark, true), (Signal::Quench, false)] {
            let (marks, quenches, sojourn) = run(&model(signal), Service::Droppable, 1100);
            // No sender slows down: 100 of 1200 ns pile up for each packet.
            assert!(sojourn > TimeDelta::from_us(150), "{sojourn}");
            assert_eq!((marks > 5, quenches > 5), (expected, !expected), "{marks} {quenches}");
            assert_eq!(run(&model(signal), Service::Droppable, 1200).0, 0);
        }
    }

    /// Source Quench signals data alone, one packet per signal.
    #[test]
    fn only_senders_of_data_are_quenched() {
        let model = model(Signal::Quench);
        assert!(model.notifies() && !model.is_plain());
        for (service, expected) in [(Service::Droppable, true), (Service::Control, false)] {
            let mut quenches = 0;
            let (mut port, mut world) = (CodelPort::<Port<1>>::default(), World::new());
            for number in 0..1000 {
                let handle = world.packets.add(packet(service, 1500, number));
                port.enqueue(handle, &mut world.context(Time::ZERO, &model));
            }
            for turn in 0..1000 {
                let now = Time::ZERO + TimeDelta::from_ns(1200) * turn;
                let sent = port.dequeue(&mut world.context(now, &model));
                for (quenched, _) in world.drop_list.drain_quenched() {
                    assert_eq!(Some(quenched), sent);
                    quenches += 1;
                }
            }
            assert_eq!(quenches > 5, expected, "{service:?}: {quenches}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

        /// Drops do not disturb the port inside; each packet has its own wait.
        #[test]
        fn every_packet_keeps_its_sojourn_time(
            steps in prop::collection::vec((0u64..5000, any::<bool>(), 0usize..3, 64u16..3000), 1..300),
            bytes in 2000u32..40_000,
            is_fastlane in any::<bool>(),
        ) {
            let cap = Cap::of_line(BitRate::from_gbps(10));
            let plain = match is_fastlane {
                true => Choices::fastlane(bytes, 640, cap),
                false => Choices::codel(bytes, 1, profiles::CODEL_TARGET, profiles::CODEL_INTERVAL, Signal::Mark),
            };
            let mut choices = plain.clone();
            choices.queues.last_mut().unwrap().marker = profiles::codel(Signal::Mark);
            let (model, plain) = (choices.build().unwrap(), plain.build().unwrap());
            let (mut port, mut world) = (CodelPort::<Port<2>>::default(), World::new());
            let (mut inside, mut other) = (Port::<2>::new(), World::new());
            let mut arrived = BTreeMap::new();
            let mut now = Time::ZERO;
            for (wait, is_served, service, bytes) in steps {
                now += TimeDelta::from_ns(wait);
                if is_served {
                    let sent = port.dequeue(&mut world.context(now, &model));
                    prop_assert_eq!(sent, inside.dequeue(&mut other.context(now, &plain)));
                    arrived.remove(&sent);
                } else {
                    let service = [Service::Droppable, Service::Notification, Service::Control][service];
                    let handle = world.packets.add(packet(service, bytes, 0));
                    other.packets.add(packet(service, bytes, 0));
                    if !port.enqueue_plainly(handle, &model, &mut world.packets) {
                        port.enqueue(handle, &mut world.context(now, &model));
                    }
                    inside.enqueue(handle, &mut other.context(now, &plain));
                    let is_kept = !world.drop_list.list().iter().any(|&(lost, _)| lost == handle);
                    if is_kept && Some(model.classify(world.packets.packet(handle))) == model.codel_queue() {
                        arrived.insert(Some(handle), now);
                    }
                }
                prop_assert_eq!(world.drop_list.list(), other.drop_list.list());
                let waits = port.waits.iter().flat_map(|waits| &waits.arrivals);
                prop_assert!(waits.eq(arrived.values()));
            }
        }
    }
}
