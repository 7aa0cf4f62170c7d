//! A subflow's unacknowledged segments: a ring as large as the largest window so far.

use alloc::boxed::Box;
use alloc::vec;

use trimline_packet::Time;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum State {
    /// In the network, as far as the sender knows.
    InFlight,
    /// To be resent.
    Lost,
    /// At the receiver, by a SACK block.
    Sacked,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub(super) sent: Time,
    /// Its number in the connection.
    pub(super) data: u32,
    pub(super) state: State,
    /// True if sent more than once: its ACK measures no round trip (Karn).
    pub(super) is_resent: bool,
    /// True if another subflow has sent its data, or will.
    pub(super) is_reinjected: bool,
}

#[derive(Debug)]
pub(super) struct Outstanding {
    records: Box<[Record]>,
    first: u32,
    next: u32,
}

const VACANT: Record = Record {
    sent: Time::ZERO,
    data: 0,
    state: State::InFlight,
    is_resent: false,
    is_reinjected: false,
};

impl Outstanding {
    pub(super) fn new() -> Outstanding {
        Outstanding { records: Box::default(), first: 0, next: 0 }
    }

    #[inline]
    pub(super) const fn first(&self) -> u32 {
        self.first
    }

    #[inline]
    pub(super) const fn next(&self) -> u32 {
        self.next
    }

    #[inline]
    pub(super) const fn len(&self) -> u32 {
        self.next.wrapping_sub(self.first)
    }

    #[inline]
    pub(super) fn record(&mut self, sequence: u32) -> &mut Record {
        debug_assert!(self.contains(sequence), "the segment is outstanding");
        let place = sequence as usize & (self.records.len() - 1);
        &mut self.records[place]
    }

    #[inline]
    pub(super) const fn contains(&self, sequence: u32) -> bool {
        sequence.wrapping_sub(self.first) < self.len()
    }

    /// Returns whether this segment of the connection is outstanding here.
    pub(super) fn carries(&self, data: u32) -> bool {
        let place =
            |distance| self.first.wrapping_add(distance) as usize & (self.records.len() - 1);
        (0..self.len()).any(|distance| self.records[place(distance)].data == data)
    }

    #[inline]
    pub(super) fn push(&mut self, now: Time, data: u32) -> u32 {
        if self.len() as usize == self.records.len() {
            self.grow();
        }
        let sequence = self.next;
        self.next = self.next.wrapping_add(1);
        *self.record(sequence) = Record { sent: now, data, ..VACANT };
        sequence
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Record {
        let record = *self.record(self.first);
        self.first = self.first.wrapping_add(1);
        record
    }

    #[cold]
    fn grow(&mut self) {
        let count = (self.records.len() * 2).max(4);
        let mut records = vec![VACANT; count].into_boxed_slice();
        for distance in 0..self.len() {
            let sequence = self.first.wrapping_add(distance);
            records[sequence as usize & (count - 1)] = *self.record(sequence);
        }
        self.records = records;
    }

    /// Frees memory after everything arrived.
    pub(super) fn clear(&mut self) {
        self.first = self.next;
        self.records = Box::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tcp_segment_record_is_16_bytes() {
        assert_eq!(size_of::<Record>(), 16);
    }

    #[test]
    fn segment_records_keep_their_order_while_the_ring_grows() {
        let mut ring =
            Outstanding { first: u32::MAX - 5, next: u32::MAX - 5, ..Outstanding::new() };
        for data in 0..3 {
            ring.push(Time::ZERO, data);
        }
        assert_eq!((ring.pop().data, ring.pop().data), (0, 1));
        for data in 3..100 {
            assert_eq!(ring.push(Time::from_ps(1), data), (u32::MAX - 5).wrapping_add(data));
        }
        assert_eq!(ring.len(), 98);
        assert!((2..100).all(|data| ring.pop().data == data));
        assert_eq!(ring.len(), 0);
    }
}
