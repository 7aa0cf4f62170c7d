//! FastLane: a drop is told to its sender by a notification that leaves by the packet's input port,
//! in a class of its own that is capped in memory and in bandwidth.

use alloc::vec;

use trimline_packet::{BitRate, ByteCount, Handle, Packets, Service, Time, TimeDelta};

use crate::testing::{World, packet};
use crate::{
    Action, Choices, Classifier, Fate, Limit, Port, QueueChoices, Scheduler, ServiceModel,
};

const NOTIFICATIONS: usize = 0;

/// 128 KB a port, 2.5 % of it for notifications.
fn model() -> ServiceModel {
    let choices = Choices {
        queues: vec![
            QueueChoices::new(Limit::bytes(3_200)),
            QueueChoices::new(Limit::bytes(124_800)).overflow(&[Action::Notify]),
        ],
        classifier: Classifier::HeaderAndData,
        scheduler: Scheduler::Strict,
        trimmed_bytes: 64,
        cell_bytes: 1,
    };
    choices.lay_out().expect("valid choices")
}

/// A cap on one class of a port: a class that has used its share is paused until it has earned
/// the packet it sent. Work-conserving when it lets go while nothing else waits.
struct RateCap {
    share: BitRate,
    ready_at: Time,
}

impl RateCap {
    /// What the driver does around a dequeue at `now`.
    fn dequeue(
        &mut self,
        now: Time,
        port: &mut Port<2>,
        model: &ServiceModel,
        world: &mut World,
    ) -> Option<Handle> {
        if now < self.ready_at {
            port.pause(NOTIFICATIONS);
        } else {
            port.resume(NOTIFICATIONS);
        }
        let sent = port.dequeue(&mut world.around(now, model))?;
        let packet = world.packets.packet(sent);
        if packet.service == Service::Control {
            let bytes = ByteCount::new(u64::from(packet.wire_bytes));
            self.ready_at = now + self.share.transmission(bytes);
        }
        Some(sent)
    }
}

#[test]
fn a_drop_is_told_through_the_input_port_within_the_cap() {
    let model = model();
    let (mut ports, mut world) = ([Port::<2>::new(), Port::new()], World::new());
    // 100 packets from port 0 meet a queue of 83 at port 1.
    for sequence in 0..100 {
        let handle = world.packets.add(packet(Service::Droppable, 1500, sequence));
        let input = 0;
        ports[1].enqueue(handle, &mut world.around(Time::ZERO, &model));
        while let Some((lost, fate)) = world.displaced.pop() {
            assert_eq!(fate, Fate::Notify);
            let mut notification = *world.packets.packet(lost);
            (notification.service, notification.wire_bytes) = (Service::Control.into(), 64);
            core::mem::swap(&mut notification.source, &mut notification.destination);
            let handle = world.packets.add(notification);
            ports[input].enqueue(handle, &mut world.around(Time::ZERO, &model));
        }
    }
    assert_eq!(ports[1].queue_packets(1), 83);
    assert_eq!(ports[0].queue_packets(NOTIFICATIONS), 17);

    // 1 % of 10 Gb/s: 64 bytes each 5.12 us, and never two at once.
    let mut cap = RateCap { share: BitRate::from_bps(100_000_000), ready_at: Time::ZERO };
    let (mut told, mut first) = (0, None);
    for step in 0..1000 {
        let now = Time::ZERO + TimeDelta::from_ns(100) * step;
        if let Some(sent) = cap.dequeue(now, &mut ports[0], &model, &mut world) {
            told += 1;
            first.get_or_insert(world.packets.packet(sent).header.sequence);
        }
    }
    assert_eq!((told, first), (17, Some(83)));
    assert!(cap.ready_at >= Time::ZERO + TimeDelta::from_ns(5_120) * 17);
}
