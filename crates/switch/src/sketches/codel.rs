//! CoDel: drops at dequeue what has waited too long. State beside the port, only where configured:
//! the port's 48 bytes do not grow. A drop at dequeue is a second dequeue.

use alloc::collections::VecDeque;

use trimline_packet::{Handle, Packets, Service, Time, TimeDelta};

use crate::testing::{World, packet};
use crate::{Around, Chance, Fate, Port, ServiceModel};

const TARGET: TimeDelta = TimeDelta::from_us(50);
const INTERVAL: TimeDelta = TimeDelta::from_us(1000);

/// A port of one queue that drops by sojourn time.
#[derive(Default)]
struct CodelPort {
    port: Port<1>,
    /// When each waiting packet arrived.
    arrivals: VecDeque<Time>,
    /// The sojourn time has been above target since one interval before this.
    drop_from: Option<Time>,
    /// Drops in this spell of dropping, and when the next one is due.
    dropping: Option<(u64, Time)>,
}

impl CodelPort {
    fn enqueue<K: Packets, C: Chance>(
        &mut self,
        packet: Handle,
        around: &mut Around<'_, ServiceModel, K, C>,
    ) {
        let before = self.port.queue_packets(0);
        self.port.enqueue(packet, around);
        if self.port.queue_packets(0) > before {
            self.arrivals.push_back(around.now);
        }
    }

    fn dequeue<K: Packets, C: Chance>(
        &mut self,
        around: &mut Around<'_, ServiceModel, K, C>,
    ) -> Option<Handle> {
        let now = around.now;
        loop {
            let Some(packet) = self.port.dequeue(around) else {
                (self.drop_from, self.dropping) = (None, None);
                return None;
            };
            let arrived = self.arrivals.pop_front().expect("every waiting packet has its time");
            if !self.drops(now, now - arrived) {
                return Some(packet);
            }
            around.displaced.push(packet, Fate::Dropped);
        }
    }

    /// The control law: the nth drop of a spell comes interval / sqrt(n) after the one before.
    fn drops(&mut self, now: Time, sojourn: TimeDelta) -> bool {
        if sojourn < TARGET {
            (self.drop_from, self.dropping) = (None, None);
            return false;
        }
        if now < *self.drop_from.get_or_insert(now + INTERVAL) {
            return false;
        }
        let (count, due) = self.dropping.unwrap_or((0, now));
        if now < due {
            return false;
        }
        let step = (INTERVAL.as_ps().pow(2) / (count + 1)).isqrt();
        self.dropping = Some((count + 1, due + TimeDelta::from_ps(step)));
        true
    }
}

/// 1500-byte packets every `gap`, served every 12 us for 20 ms: what is dropped, and the last
/// sojourn time.
fn run(gap: TimeDelta) -> (usize, TimeDelta) {
    let (model, mut port) = (ServiceModel::drop_tail(10_000), CodelPort::default());
    let mut world = World::new();
    let (mut arrival, mut sojourn) = (Time::ZERO, TimeDelta::ZERO);
    for service in 0..1666 {
        let now = Time::ZERO + TimeDelta::from_us(12) * service;
        while arrival <= now {
            let sequence = (arrival.as_ps() / 1000) as u32;
            let handle = world.packets.add(packet(Service::Droppable, 1500, sequence));
            port.enqueue(handle, &mut world.around(arrival, &model));
            arrival += gap;
        }
        if let Some(sent) = port.dequeue(&mut world.around(now, &model)) {
            let sequence = world.packets.packet(sent).header.sequence;
            sojourn = now - Time::from_ps(u64::from(sequence) * 1000);
        }
        assert_eq!(
            port.port.queue_packets(0) as usize,
            port.arrivals.len() + 1,
            "one is on the wire"
        );
    }
    (world.displaced.list().len(), sojourn)
}

#[test]
fn an_overloaded_queue_is_thinned_at_dequeue() {
    let (dropped, sojourn) = run(TimeDelta::from_us(11));
    assert!(dropped > 20, "{dropped} packets dropped at dequeue");
    // Unchecked, 1/12 of 20 ms would be waiting at the end.
    assert!(sojourn < TimeDelta::from_us(800), "{sojourn}");
}

#[test]
fn a_queue_that_is_served_in_time_is_left_alone() {
    assert_eq!(run(TimeDelta::from_us(12)).0, 0);
}
