//! Whole packets of a connection whose ACK is delayed.

use trimline_packet::{DelayedAck, Header, Time};

#[derive(Clone, Copy, Debug)]
pub(super) struct PendingAcks {
    /// The newest packet.
    newest: u32,
    /// Bit `i`: `newest - 1 - i` is pending too.
    before: u16,
    count: u8,
    /// The attempt of all packets: their ACK echoes it.
    attempt: u8,
    /// Arrival time of the first packet.
    since: Time,
}

impl PendingAcks {
    pub(super) const NONE: PendingAcks =
        PendingAcks { newest: 0, before: 0, count: 0, attempt: 0, since: Time::ZERO };

    pub(super) const fn count(&self) -> u8 {
        self.count
    }

    pub(super) const fn since(&self) -> Time {
        self.since
    }

    pub(super) fn since_mut(&mut self) -> &mut Time {
        &mut self.since
    }

    /// Adds a packet. Returns false, unchanged, if one ACK cannot answer it too.
    pub(super) fn add(&mut self, now: Time, header: &Header) -> bool {
        let (sequence, attempt) = (header.sequence, header.flags.attempt());
        if self.count == 0 {
            *self = PendingAcks { newest: sequence, before: 0, count: 1, attempt, since: now };
            return true;
        }
        let reach = u32::from(DelayedAck::MAX) - 1;
        let ahead = sequence.wrapping_sub(self.newest);
        let span = u32::BITS - u32::from(self.before).leading_zeros();
        if attempt != self.attempt {
            return false;
        }
        if (1..=reach).contains(&ahead) && ahead + span <= reach {
            // The newest packet so far is `ahead` before this one.
            self.before = (u32::from(self.before) << ahead | 1 << (ahead - 1)) as u16;
            self.newest = sequence;
        } else if (1..=reach).contains(&ahead.wrapping_neg()) {
            self.before |= 1 << (ahead.wrapping_neg() - 1);
        } else {
            return false;
        }
        self.count += 1;
        true
    }

    /// Empties this into its ACK's fields: the newest packet, the others, and their attempt.
    pub(super) fn take(&mut self) -> (u32, u16, u8) {
        self.count = 0;
        (self.newest, self.before, self.attempt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;
    use trimline_packet::{ConnectionId, Flags, Kind, PathId};

    fn header(sequence: u32, attempt: u8) -> Header {
        Header {
            kind: Kind::Data,
            flags: Flags::default().with_attempt(attempt),
            path: PathId::new(0),
            connection: ConnectionId::new(0),
            sequence,
            extra: 0,
        }
    }

    fn named((newest, before, _): (u32, u16, u8)) -> Vec<u32> {
        let bits = (0..16).filter(|bit| before >> bit & 1 == 1);
        let mut all: Vec<u32> = bits.map(|bit| newest.wrapping_sub(1 + bit)).collect();
        all.push(newest);
        all.sort_unstable();
        all
    }

    proptest! {
        /// Exactly the added packets are named, whatever comes in whichever order.
        #[test]
        fn a_delayed_ack_names_exactly_the_added_packets(
            base in any::<u32>(),
            steps in proptest::collection::vec((0u32..24, 0u8..4), 1..40),
        ) {
            let mut pending_acks = PendingAcks::NONE;
            let mut added: Vec<u32> = Vec::new();
            for (step, attempt) in steps {
                let sequence = base.wrapping_add(step);
                if added.contains(&sequence) {
                    continue;
                }
                if pending_acks.add(Time::ZERO, &header(sequence, attempt / 3)) {
                    added.push(sequence);
                }
                prop_assert_eq!(usize::from(pending_acks.count()), added.len());
            }
            let mut left = named(pending_acks.take());
            left.sort_unstable();
            added.sort_unstable();
            prop_assert_eq!(left, added);
        }
    }

    #[test]
    fn a_delayed_ack_holds_17_consecutive_packets() {
        let mut pending_acks = PendingAcks::NONE;
        let added = (0..30).filter(|&sequence| pending_acks.add(Time::ZERO, &header(sequence, 0)));
        assert_eq!(added.count(), usize::from(DelayedAck::MAX));
        assert_eq!(pending_acks.take(), (16, u16::MAX, 0));
        let mut pending_acks = PendingAcks::NONE;
        assert!(pending_acks.add(Time::ZERO, &header(20, 1)));
        assert!(!pending_acks.add(Time::ZERO, &header(21, 2)), "of another attempt");
        assert!(!pending_acks.add(Time::ZERO, &header(3, 1)));
        assert!(pending_acks.add(Time::ZERO, &header(4, 1)));
        assert!(!pending_acks.add(Time::ZERO, &header(21, 1)), "4 would not be named any more");
    }
}
