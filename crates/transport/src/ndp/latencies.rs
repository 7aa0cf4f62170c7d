//! Records the time from a packet's first transmission to its ACK, if asked. Other hosts hold only a null pointer.

use alloc::vec::Vec;

use trimline_packet::{Time, TimeDelta};

/// The latency of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latency {
    /// Number of the packet in its stream.
    pub sequence: u32,
    /// Time from its first transmission to its ACK.
    pub time: TimeDelta,
}

#[derive(Debug, Default)]
struct Packets {
    /// Time of each packet's first transmission; never, once ACKed.
    first_sent: Vec<Time>,
    acked: Vec<Latency>,
}

/// Packets of a host's send streams, by slot.
#[derive(Debug, Default)]
pub(super) struct Latencies(Vec<Packets>);

impl Latencies {
    #[cold]
    pub(super) fn sent(&mut self, now: Time, slot: u32, sequence: u32) {
        let slot = slot as usize;
        if self.0.len() <= slot {
            self.0.resize_with(slot + 1, Packets::default);
        }
        // A recorded run ends before the numbers of a stream wrap.
        if self.0[slot].first_sent.len() == sequence as usize {
            self.0[slot].first_sent.push(now);
        }
    }

    /// Records an ACK; the first of a packet counts.
    #[cold]
    pub(super) fn acked(&mut self, now: Time, slot: u32, sequence: u32) {
        let Some(Packets { first_sent, acked }) = self.0.get_mut(slot as usize) else { return };
        let Some(first) = first_sent.get_mut(sequence as usize) else { return };
        if *first != Time::NEVER {
            acked.push(Latency { sequence, time: now.saturating_since(*first) });
            *first = Time::NEVER;
        }
    }

    pub(super) fn forget(&mut self, slot: u32) {
        if let Some(packets) = self.0.get_mut(slot as usize) {
            *packets = Packets::default();
        }
    }

    pub(super) fn of(&self, slot: u32) -> &[Latency] {
        self.0.get(slot as usize).map_or(&[], |packets| &packets.acked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::from_ps(us * 1_000_000)
    }

    #[test]
    fn a_packet_latency_is_from_its_first_sending_to_its_first_ack() {
        let mut latencies = Latencies::default();
        latencies.sent(at(1), 2, 0);
        latencies.sent(at(2), 2, 1);
        latencies.sent(at(5), 2, 0);
        latencies.acked(at(9), 2, 0);
        latencies.acked(at(10), 2, 0);
        latencies.acked(at(11), 2, 7);
        latencies.acked(at(11), 3, 0);
        assert_eq!(latencies.of(2), [Latency { sequence: 0, time: TimeDelta::from_us(8) }]);
        assert!(latencies.of(0).is_empty() && latencies.of(9).is_empty());
    }
}
