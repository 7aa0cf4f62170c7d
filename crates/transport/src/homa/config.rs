//! Parameters of a host, and the division of messages into packets.

use alloc::vec::Vec;

use trimline_packet::{ServiceClass, TimeDelta};

use super::{ENDLESS, MANY};
use crate::WINDOW_LIMIT;

/// Max doublings of a wait: the longest wait is 1024 times the first.
pub(super) const MAX_DOUBLINGS: u8 = 10;

/// The end of a message at its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The receiver acknowledges the whole message.
    Acknowledged,
    /// No ACKs. The sender assumes delivery if no request comes for this time after its last packet. A message that
    /// loses all packets is lost (the simulator of Homa's authors, whose networks lose nothing).
    Silent(TimeDelta),
}

/// Parameters of every message of a host. All hosts of a network have equal parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Payload of a full packet, in bytes.
    pub payload_bytes: u16,
    /// Bytes of a packet on the host's link beside its payload.
    pub overhead_bytes: u16,
    /// Time of a full packet on the host's link: the gap between GRANTs for a peer.
    pub packet_time: TimeDelta,
    /// A message gets a GRANT while fewer than this many bytes of it are on their way, headers included.
    pub rtt_bytes: u32,
    /// Payload bytes of a message that need no GRANT; at least one.
    pub unscheduled_bytes: u32,
    /// Number of first packets that bear [`trimline_packet::Packet::MARK_UNSCHEDULED`] when first sent.
    pub marked: u32,
    /// True if a probe follows the unscheduled packets, so that the receiver knows which were lost (Aeolus, SIGCOMM
    /// 2020). It grants those again, before others.
    pub aeolus: bool,
    /// Last bytes of a message, headers included, whose GRANTs may use the priority of an unscheduled message of that
    /// length, if more urgent.
    pub boost_bytes: u32,
    /// Priorities of unscheduled packets, from 7 down: 1 to 8.
    pub unscheduled_levels: u8,
    /// Message bytes left, ascending: packets of a message with at most the first value left have priority 7, at most
    /// the second 6, and so on. At most `unscheduled_levels` - 1 values.
    pub cutoffs: Vec<u32>,
    /// Priorities of granted packets, from 0 up: 1 to 8.
    pub scheduled_levels: u8,
    /// Messages granted at a time, of different peers; at least one.
    pub overcommitment: u8,
    /// Time without granted packets after which a receiver sends a RESEND. It doubles, up to 1024 times this.
    pub resend: TimeDelta,
    /// Time without an answer after which a sender resends its first packet. It doubles, up to 1024 times this.
    pub retry: TimeDelta,
    /// Max random addition to `retry`, drawn for each wait and doubled with it.
    pub backoff: TimeDelta,
    /// End of a message at its sender.
    pub ending: Ending,
    /// Time for which both ends remember an ended message.
    pub time_wait: TimeDelta,
}

impl Config {
    /// Panics on invalid parameters.
    pub(super) fn check(&self) {
        assert!(self.payload_bytes > 0, "a packet has a payload");
        assert!(self.unscheduled_bytes > 0, "a message begins with an unscheduled packet");
        assert!(self.unscheduled() <= WINDOW_LIMIT / 2, "unscheduled packets fit half a window");
        assert!(self.overcommitment > 0, "a receiver grants one message at least");
        let levels = ServiceClass::TOP_PRIORITY + 1;
        for count in [self.unscheduled_levels, self.scheduled_levels] {
            assert!((1..=levels).contains(&count), "there are one to eight priorities");
        }
        assert!(self.cutoffs.is_sorted(), "cut-offs ascend");
    }

    fn payload(&self) -> u64 {
        u64::from(self.payload_bytes)
    }

    /// Returns the unscheduled packets of a message that has more.
    pub fn unscheduled(&self) -> u32 {
        self.unscheduled_bytes.div_ceil(u32::from(self.payload_bytes))
    }

    /// Returns the packets of a message of `length` bytes; at least one.
    ///
    /// # Panics
    /// Panics on a message of [`ENDLESS`] packets or more.
    pub(super) fn packets_of(&self, length: Option<u64>) -> u32 {
        let Some(length) = length else { return ENDLESS };
        let unscheduled = u64::from(self.unscheduled_bytes);
        let packets = match length.checked_sub(unscheduled) {
            None | Some(0) => length.div_ceil(self.payload()).max(1),
            Some(behind) => u64::from(self.unscheduled()) + behind.div_ceil(self.payload()),
        };
        let packets = u32::try_from(packets).ok().filter(|&packets| packets < ENDLESS);
        packets.expect("a message with an end has fewer than 2^32 - 1 packets")
    }

    /// Returns the message bytes before a packet.
    pub(super) fn start(&self, sequence: u32) -> u64 {
        let unscheduled = self.unscheduled();
        match sequence.checked_sub(unscheduled) {
            None => u64::from(sequence) * self.payload(),
            Some(behind) => u64::from(self.unscheduled_bytes) + u64::from(behind) * self.payload(),
        }
    }

    /// Returns the bytes of a packet on the host's link, if the last packet is full.
    pub(super) fn wire_bytes(&self, sequence: u32, packets: u32) -> u64 {
        let is_cut = sequence + 1 == self.unscheduled() && packets > self.unscheduled();
        let payload = match is_cut {
            true => u64::from(self.unscheduled_bytes) - self.start(sequence),
            false => self.payload(),
        };
        payload + u64::from(self.overhead_bytes)
    }

    /// Returns payload and link bytes of full packets.
    pub(super) fn bytes_of(&self, packets: u32) -> (u64, u64) {
        let payload = u64::from(packets) * self.payload();
        (payload, payload + u64::from(packets) * u64::from(self.overhead_bytes))
    }

    /// Returns the priority of an unscheduled packet with `left` message bytes left, itself included.
    pub(super) fn unscheduled_priority(&self, left: u64) -> u8 {
        let level = self.cutoffs.iter().position(|&cutoff| left <= u64::from(cutoff));
        let level =
            level.unwrap_or(self.cutoffs.len()).min(usize::from(self.unscheduled_levels - 1));
        ServiceClass::TOP_PRIORITY - level as u8
    }

    /// Returns the priority for a GRANT to the message at `place` (0 is first) of `granted`, with `left` packets to
    /// grant. Homa 3.4: fewer messages than priorities use the lowest.
    pub(super) fn scheduled_priority(&self, place: usize, granted: usize, left: u32) -> u8 {
        let level = (granted - 1 - place).min(usize::from(self.scheduled_levels - 1)) as u8;
        let (payload, wire) = self.bytes_of(left);
        if wire < u64::from(self.boost_bytes) {
            level.max(self.unscheduled_priority(payload))
        } else {
            level
        }
    }
}

/// Returns a packet count as headers carry it.
pub(super) fn said(packets: u32) -> u16 {
    packets.min(MANY) as u16
}

/// Doubles a wait, at most [`MAX_DOUBLINGS`] times.
pub(super) fn doubled(wait: TimeDelta, doublings: u8) -> TimeDelta {
    crate::timers::doubled(wait, doublings.min(MAX_DOUBLINGS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use proptest::prelude::*;

    fn config(payload_bytes: u16, unscheduled_bytes: u32) -> Config {
        Config {
            payload_bytes,
            overhead_bytes: 96,
            packet_time: TimeDelta::from_ns(1230),
            rtt_bytes: 10_000,
            unscheduled_bytes,
            marked: 0,
            aeolus: false,
            boost_bytes: 10_000,
            unscheduled_levels: 4,
            cutoffs: vec![100, 1000, 5000],
            scheduled_levels: 3,
            overcommitment: 3,
            resend: TimeDelta::from_ms(2),
            retry: TimeDelta::from_ms(4),
            backoff: TimeDelta::ZERO,
            ending: Ending::Acknowledged,
            time_wait: TimeDelta::from_ms(1),
        }
    }

    #[test]
    fn the_unscheduled_bytes_of_the_authors_fill_a_round_trip() {
        let config = config(1442, 1442 + 7886);
        assert_eq!((config.unscheduled(), config.start(6), config.start(7)), (7, 8652, 9328));
        let wire: u64 = (0..7).map(|sequence| config.wire_bytes(sequence, 100)).sum();
        assert_eq!(wire, 10_000);
        assert_eq!((config.wire_bytes(6, 7), config.wire_bytes(7, 100)), (1538, 1538));
    }

    #[test]
    fn cutoffs_select_the_priority_level() {
        let config = config(1442, 9328);
        for (left, priority) in
            [(0, 7), (100, 7), (101, 6), (1000, 6), (1001, 5), (5000, 5), (5001, 4), (1 << 40, 4)]
        {
            assert_eq!(config.unscheduled_priority(left), priority, "{left}");
        }
        let one = Config { unscheduled_levels: 1, ..config };
        assert_eq!(one.unscheduled_priority(1 << 40), 7, "no level below the last one");
    }

    #[test]
    fn few_granted_messages_use_the_lowest_priorities_and_a_short_rest_is_urgent() {
        let config = config(1442, 9328);
        let priorities = |granted: usize, left: u32| -> Vec<u8> {
            (0..granted).map(|place| config.scheduled_priority(place, granted, left)).collect()
        };
        assert_eq!(priorities(1, 100), [0]);
        assert_eq!(priorities(2, 100), [1, 0]);
        assert_eq!(priorities(3, 100), [2, 1, 0]);
        assert_eq!(priorities(4, 100), [2, 2, 1, 0]);
        // Seven packets are 10,766 bytes on the wire, six are 9228.
        assert_eq!(
            (priorities(1, 7), priorities(1, 6), priorities(1, 3)),
            (vec![0], vec![4], vec![5])
        );
    }

    proptest! {
        /// Packets cover a message without gaps. Only an empty message has an empty packet.
        #[test]
        fn the_packets_of_a_message_cover_all_bytes(
            payload in 1u16..2000,
            unscheduled in 1u32..20_000,
            length in prop_oneof![0u64..100, 0u64..60_000],
        ) {
            let config = config(payload, unscheduled);
            let packets = config.packets_of(Some(length));
            prop_assert_eq!(config.start(0), 0);
            for sequence in 1..packets {
                let before = config.start(sequence) - config.start(sequence - 1);
                prop_assert!(0 < before && before <= u64::from(payload));
            }
            let last = length - config.start(packets - 1);
            prop_assert!(last <= u64::from(payload) && (last > 0 || length == 0));
            prop_assert!(length > 0 || packets == 1);
        }
    }
}
