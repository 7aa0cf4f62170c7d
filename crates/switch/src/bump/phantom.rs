//! The phantom queue (HULL 3.1): a counter that drains slower than the link, and marks.

use trimline_packet::{BitRate, ByteCount, Packet, Time};

/// A queue of no packets. It fills with every packet that passes and drains at a fraction of the
/// link's rate; packets that find it long are marked before a real queue forms.
struct PhantomQueue {
    drain: BitRate,
    threshold: ByteCount,
    length: ByteCount,
    drained_at: Time,
}

impl PhantomQueue {
    fn new(drain: BitRate, threshold: ByteCount) -> PhantomQueue {
        PhantomQueue { drain, threshold, length: ByteCount::ZERO, drained_at: Time::ZERO }
    }

    /// A packet's transmission starts.
    fn pass(&mut self, now: Time, packet: &mut Packet) {
        let drained = self.drain.bytes_in(now - self.drained_at);
        self.length = ByteCount::new(self.length.get().saturating_sub(drained.get()));
        // What is left of the last byte's time is not lost.
        self.drained_at = match self.length {
            ByteCount::ZERO => now,
            _ => self.drained_at + self.drain.transmission(drained),
        };
        self.length += ByteCount::new(u64::from(packet.wire_bytes));
        if self.length > self.threshold && packet.marks & Packet::MARK_ECT != 0 {
            packet.marks |= Packet::MARK_CE;
        }
    }
}

#[cfg(test)]
mod tests {
    use trimline_packet::{Packets, Service};

    use super::*;
    use crate::ServiceModel;
    use crate::testing::{Bench, packet};

    /// Packets of 1500 bytes leave a 1 Gb/s port, one every `gap_ns`; how many of 1000 are marked.
    fn marked(gap_ns: u64) -> u32 {
        let mut phantom = PhantomQueue::new(BitRate::from_bps(950_000_000), ByteCount::new(3000));
        let mut bench = Bench::<1>::new(ServiceModel::drop_tail(10));
        let mut marked = 0;
        for number in 0..1000 {
            let mut arriving = packet(Service::Droppable, 1500, number);
            arriving.marks = Packet::MARK_ECT;
            bench.arrive(arriving);
            let sent = bench.serve().expect("it waits");
            let now = Time::from_ps(u64::from(number) * gap_ns * 1000);
            let sent = bench.packets.packet_mut(sent);
            phantom.pass(now, sent);
            marked += u32::from(sent.marks & Packet::MARK_CE != 0);
        }
        marked
    }

    #[test]
    fn a_full_link_is_marked_though_its_queue_is_empty() {
        assert!(marked(12_000) > 900, "100 % of the link against a drain of 95 %");
    }

    #[test]
    fn a_link_below_the_drain_rate_is_not_marked() {
        assert_eq!(marked(13_000), 0, "92 % of the link against a drain of 95 %");
    }
}
