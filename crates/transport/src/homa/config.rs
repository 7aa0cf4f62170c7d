//! Parameters of a host, and how messages are cut into packets.

use alloc::vec::Vec;

use trimline_packet::{ServiceClass, TimeDelta};

use super::{ENDLESS, MANY};
use crate::WINDOW_LIMIT;

/// Waits in vain double so often at most, which makes the longest 1024 times the first.
pub(super) const MAX_DOUBLINGS: u8 = 10;

/// How a message ends at its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Its receiver says when all has arrived.
    Acknowledged,
    /// Nobody says so. The sender takes it for delivered when nobody has asked for anything for so long after its last
    /// packet. A message of which every packet is lost is lost (the simulator of Homa's authors, whose networks lose
    /// nothing).
    Silent(TimeDelta),
}

/// Parameters of every message of a host. All hosts of a network have the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Payload of a full packet in bytes.
    pub payload_bytes: u16,
    /// Bytes that a packet takes on the host's link beside its payload.
    pub overhead_bytes: u16,
    /// Time of a full packet on the host's link: from one GRANT for a peer to its next.
    pub packet_time: TimeDelta,
    /// A message is granted its next packet while fewer bytes of it are on their way, headers counted.
    pub rtt_bytes: u32,
    /// Payload bytes of a message that go unasked: one at least.
    pub unscheduled_bytes: u32,
    /// The first so many packets of these bear [`trimline_packet::Packet::MARK_UNSCHEDULED`] when they are sent for the
    /// first time.
    pub marked: u32,
    /// Whether a probe goes behind the unscheduled packets, so that the receiver knows what of them was lost (Aeolus,
    /// SIGCOMM 2020). It grants those again, before others.
    pub aeolus: bool,
    /// The last bytes of a message, headers counted, are granted with the priority that an unscheduled message of that
    /// length has, if that is more urgent.
    pub boost_bytes: u32,
    /// Priorities of unscheduled packets, from 7 downwards: 1 to 8.
    pub unscheduled_levels: u8,
    /// Message bytes left, ascending: a packet of a message that has no more than the first of these left has
    /// priority 7, no more than the second 6, and so on. As many as levels, less one, or fewer.
    pub cutoffs: Vec<u32>,
    /// Priorities of granted packets, from 0 upwards: 1 to 8.
    pub scheduled_levels: u8,
    /// Messages that are granted at a time, of different peers: at least one.
    pub overcommitment: u8,
    /// A receiver that misses granted packets for so long sends a RESEND; then it waits twice as long, up to 1024 times.
    pub resend: TimeDelta,
    /// A sender that has heard nothing for so long sends its first packet again; then it waits twice as long, up to
    /// 1024 times.
    pub retry: TimeDelta,
    /// What a sender waits longer than that, at most: drawn at random for each wait, and doubled with it.
    pub backoff: TimeDelta,
    /// How a message ends at its sender.
    pub ending: Ending,
    /// How long both ends remember a message that has ended.
    pub time_wait: TimeDelta,
}

impl Config {
    /// Panics where no endpoint could keep what is asked for.
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

    /// Packets that go unasked, of a message that has more.
    pub fn unscheduled(&self) -> u32 {
        self.unscheduled_bytes.div_ceil(u32::from(self.payload_bytes))
    }

    /// The packets of a message of so many bytes, one at least.
    ///
    /// # Panics
    /// A message of [`ENDLESS`] packets or more.
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

    /// Message bytes before a packet.
    pub(super) fn start(&self, sequence: u32) -> u64 {
        let unscheduled = self.unscheduled();
        match sequence.checked_sub(unscheduled) {
            None => u64::from(sequence) * self.payload(),
            Some(behind) => u64::from(self.unscheduled_bytes) + u64::from(behind) * self.payload(),
        }
    }

    /// Bytes that a packet of a message with so many takes on the host's link, if the last one is full.
    pub(super) fn wire_bytes(&self, sequence: u32, packets: u32) -> u64 {
        let is_cut = sequence + 1 == self.unscheduled() && packets > self.unscheduled();
        let payload = match is_cut {
            true => u64::from(self.unscheduled_bytes) - self.start(sequence),
            false => self.payload(),
        };
        payload + u64::from(self.overhead_bytes)
    }

    /// Bytes of so many full packets: the payload, and what they take on the host's link.
    pub(super) fn bytes_of(&self, packets: u32) -> (u64, u64) {
        let payload = u64::from(packets) * self.payload();
        (payload, payload + u64::from(packets) * u64::from(self.overhead_bytes))
    }

    /// The priority of an unscheduled packet when the message has so many bytes left, itself counted.
    pub(super) fn unscheduled_priority(&self, left: u64) -> u8 {
        let level = self.cutoffs.iter().position(|&cutoff| left <= u64::from(cutoff));
        let level =
            level.unwrap_or(self.cutoffs.len()).min(usize::from(self.unscheduled_levels - 1));
        ServiceClass::TOP_PRIORITY - level as u8
    }

    /// The priority of a packet that is granted to the message with this place among so many that are granted at a time,
    /// 0 the first, which has so many packets left to grant. Homa 3.4: fewer messages than priorities use the lowest.
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

/// The packets of a message as a header says them.
pub(super) fn said(packets: u32) -> u16 {
    packets.min(MANY) as u16
}

/// A wait that has doubled so often.
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
    fn unscheduled_bytes_of_the_authors_fill_a_round_trip() {
        let config = config(1442, 1442 + 7886);
        assert_eq!((config.unscheduled(), config.start(6), config.start(7)), (7, 8652, 9328));
        let wire: u64 = (0..7).map(|sequence| config.wire_bytes(sequence, 100)).sum();
        assert_eq!(wire, 10_000);
        assert_eq!((config.wire_bytes(6, 7), config.wire_bytes(7, 100)), (1538, 1538));
    }

    #[test]
    fn cutoffs_say_the_level() {
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
    fn fewer_messages_use_the_lowest_priorities_and_the_end_is_urgent() {
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
        /// Packets cover a message without gaps, and none is empty but the only one of an empty message.
        #[test]
        fn packets_cover_a_message(
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
