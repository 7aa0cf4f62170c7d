//! pFabric: a full queue evicts the least urgent packets, wherever they are in it, and the most
//! urgent flow sends its earliest packet first. Remove-at-index on the same list.

use trimline_packet::{Handle, Packet, Packets, Service, Time};

use crate::list::Queue;
use crate::testing::{Arena, packet};
use crate::{Displaced, Fate};

impl Queue {
    /// Takes the packet behind `previous` ([`Handle::NONE`]: the first) out of the list. The counters
    /// do not change.
    fn remove_after<P: Packets>(&mut self, packets: &mut P, previous: Handle) -> Handle {
        if previous.is_none() {
            return self.pop(packets);
        }
        let removed = packets.next(previous);
        packets.set_next(previous, packets.next(removed));
        if self.tail == removed {
            self.tail = previous;
        }
        removed
    }
}

/// A port of one queue in order of urgency.
struct UrgencyPort {
    queue: Queue,
    limit_bytes: u32,
    wire: (u32, u32),
}

/// Bytes that the packet's flow has still to send: the fewer, the more urgent. The transport writes
/// them into its header.
fn remaining(packet: &Packet) -> u32 {
    packet.header.extra
}

impl UrgencyPort {
    fn enqueue<P: Packets>(
        &mut self,
        _now: Time,
        arriving: Handle,
        packets: &mut P,
        displaced: &mut Displaced,
    ) {
        let bytes = u32::from(packets.packet(arriving).wire_bytes);
        self.queue.push(packets, arriving, bytes);
        while self.queue.bytes > self.limit_bytes {
            // The latest of the least urgent: the newcomer among its equals.
            let (_, previous) =
                self.search(packets, |best, packet| remaining(packet) >= remaining(best));
            let evicted = self.queue.remove_after(packets, previous);
            self.queue.release(1, u32::from(packets.packet(evicted).wire_bytes));
            displaced.push(evicted, Fate::Dropped);
        }
    }

    fn dequeue<P: Packets>(&mut self, _now: Time, packets: &mut P) -> Option<Handle> {
        let (count, bytes) = core::mem::take(&mut self.wire);
        self.queue.release(count, bytes);
        if self.queue.head.is_none() {
            return None;
        }
        let (urgent, _) = self.search(packets, |best, packet| remaining(packet) < remaining(best));
        // The earliest packet of that flow, so that a flow is not reordered.
        let flow = |packet: &Packet| (packet.source, packet.header.connection);
        let wanted = flow(packets.packet(urgent));
        let (mut previous, mut next) = (Handle::NONE, self.queue.head);
        while flow(packets.packet(next)) != wanted {
            (previous, next) = (next, packets.next(next));
        }
        let sent = self.queue.remove_after(packets, previous);
        self.wire = (1, u32::from(packets.packet(sent).wire_bytes));
        Some(sent)
    }

    /// The packet that beats all before it, and the one in front of it.
    fn search<P: Packets>(
        &self,
        packets: &P,
        beats: impl Fn(&Packet, &Packet) -> bool,
    ) -> (Handle, Handle) {
        let mut best = (self.queue.head, Handle::NONE);
        let mut previous = self.queue.head;
        let mut next = packets.next(previous);
        while !next.is_none() {
            if beats(packets.packet(best.0), packets.packet(next)) {
                best = (next, previous);
            }
            (previous, next) = (next, packets.next(next));
        }
        best
    }
}

#[test]
fn the_least_urgent_is_evicted_and_the_most_urgent_flow_sends_in_order() {
    let (mut packets, mut displaced) = (Arena::default(), Displaced::new());
    let mut port = UrgencyPort { queue: Queue::EMPTY, limit_bytes: 4 * 1500, wire: (0, 0) };
    let mut arrive = |connection: u32, remaining: u32, sequence: u32| {
        let mut arriving = packet(Service::Droppable, 1500, sequence);
        arriving.header.connection = trimline_packet::ConnectionId::new(connection);
        arriving.header.extra = remaining;
        let handle = packets.add(arriving);
        port.enqueue(Time::ZERO, handle, &mut packets, &mut displaced);
        handle
    };
    let a0 = arrive(1, 9000, 0);
    let long = arrive(2, 90_000, 0);
    let a1 = arrive(1, 7500, 1);
    let other = arrive(3, 8000, 0);
    // Full: the longest flow's packet, from the middle, and then the newcomer itself.
    let a2 = arrive(1, 6000, 2);
    let late = arrive(4, 50_000, 0);
    assert_eq!(displaced.list(), [(long, Fate::Dropped), (late, Fate::Dropped)]);
    // Flow 1 is the most urgent by its last packet, and sends its first.
    let mut order = alloc::vec::Vec::new();
    while let Some(sent) = port.dequeue(Time::ZERO, &mut packets) {
        order.push(sent);
    }
    assert_eq!(order, [a0, a1, a2, other]);
    assert_eq!((port.queue.packets, port.queue.bytes), (0, 0));
}
