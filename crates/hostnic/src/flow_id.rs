//! Maps a packet to its flow at a host.

use trimline_packet::{Flags, HostId, Packet};

/// A flow of a host, in both directions: any number that is unique at the host.
///
/// [`FlowId::of_sent`] and [`FlowId::of_received`] take it from packets; drivers of frames derive it from addresses,
/// protocol and ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(u128);

impl FlowId {
    /// The flow with this number.
    #[inline]
    pub const fn new(number: u128) -> FlowId {
        FlowId(number)
    }

    /// The flow of a packet that the host sends: its connection, with all subflows.
    #[inline]
    pub fn of_sent(packet: &Packet) -> FlowId {
        let opened_here = packet.header.flags.contains(Flags::FROM_OPENER);
        FlowId::of(packet.destination, packet, opened_here)
    }

    /// The flow of a packet that arrived at the host.
    #[inline]
    pub fn of_received(packet: &Packet) -> FlowId {
        let opened_here = !packet.header.flags.contains(Flags::FROM_OPENER);
        FlowId::of(packet.source, packet, opened_here)
    }

    #[inline]
    fn of(peer: HostId, packet: &Packet, opened_here: bool) -> FlowId {
        let connection = u128::from(packet.header.connection.get());
        FlowId(u128::from(peer.get()) << 33 | connection << 1 | u128::from(opened_here))
    }

    /// Hashes the flow evenly to an index below `count`, which is above zero.
    #[inline]
    pub(super) const fn place(self, count: u8) -> usize {
        if count == 1 {
            return 0;
        }
        // Multiplicative hashing (Knuth, "Sorting and Searching", 6.4): the upper bits of a product with 2^64 over the
        // golden ratio.
        let folded = (self.0 >> 64) as u64 ^ self.0 as u64;
        let mixed = (folded ^ folded >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        ((mixed * count as u64) >> 32) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trimline_packet::testing::packet;
    use trimline_packet::{ConnectionId, Kind, Service};

    /// An answer belongs to the flow of its packet, whichever side opened the connection, and to no other.
    #[test]
    fn an_answer_belongs_to_the_flow_of_its_packet() {
        let mut seen = alloc::collections::BTreeSet::new();
        for flags in [Flags::default(), Flags::default().with(Flags::FROM_OPENER)] {
            for (peer, connection) in [(2, 7), (2, 8), (3, 7), (u32::MAX, u32::MAX)] {
                let mut sent = packet(Service::Droppable, 1500, 0);
                sent.destination = HostId::new(peer);
                sent.header.connection = ConnectionId::new(connection);
                sent.header.flags = flags;
                let mut answer = Packet { source: sent.destination, ..sent };
                answer.destination = sent.source;
                answer.header.kind = Kind::Ack;
                answer.header.flags = Flags::from_bits(flags.bits() ^ Flags::FROM_OPENER);
                assert_eq!(FlowId::of_received(&answer), FlowId::of_sent(&sent));
                assert!(seen.insert(FlowId::of_sent(&sent)), "a flow of its own");
            }
        }
    }

    #[test]
    fn flows_spread_over_all_buckets() {
        for count in 1..=8u8 {
            let mut flows = [0u32; 8];
            for number in 0..8000 {
                flows[FlowId::new(number << 1).place(count)] += 1;
            }
            let (used, unused) = flows.split_at(count.into());
            let fair = 8000 / u32::from(count);
            assert!(used.iter().all(|&flows| flows.abs_diff(fair) < fair / 5), "{flows:?}");
            assert!(unused.iter().all(|&flows| flows == 0));
        }
    }
}
