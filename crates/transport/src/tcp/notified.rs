//! A sender's table of reported drops (FastLane 3.4.1), and the max number of simultaneous retransmissions.
//!
//! # Free slots
//! NewReno's ACKs are cumulative: they do not cover a resent segment behind a hole. The ACKs' count of out-of-order
//! bytes shows its arrival. The count does not name segments; but if it leaves at most `n` segments in the network, at
//! most `n` resent ones can be there. So the resent segments under way are the min of the two, and the paper's bound
//! applies to that.
//!
//! # Choices where the paper leaves one
//! * max_sim is half the window at the start of a recovery, shifted right by [`FastLane::retry_shift`] for each further
//!   try of the segment with the most tries; at least 1. Later tries of other segments change nothing.
//! * A resent segment does not restart the timer (the paper's kernel resends past its own bookkeeping).
//! * After a time-out everything outstanding is resent in slow start, as always. A notification then halves the window,
//!   once for all that was sent before the last halving.
//!
//! [`FastLane::retry_shift`]: super::FastLane::retry_shift

use alloc::vec::Vec;

use trimline_packet::Time;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Lost {
    sequence: u32,
    tries: u8,
    /// True if it was resent without news since.
    is_out: bool,
}

#[derive(Debug, Default)]
pub(super) struct Notified {
    /// In ascending order.
    lost: Vec<Lost>,
    /// Max simultaneous retransmissions of this recovery, before any second try.
    half_window: u32,
    /// Max tries of a segment of this recovery.
    max_tries: u8,
    halved_at: Time,
}

impl Notified {
    /// Begins a recovery with this window, in segments.
    pub(super) fn begin(&mut self, window: u32) {
        self.lost.clear();
        self.bound(window);
    }

    /// Bounds simultaneous retransmissions to half of this window.
    pub(super) fn bound(&mut self, window: u32) {
        (self.half_window, self.max_tries) = (window / 2, 0);
    }

    /// Adds a segment, or marks it as dropped again. `first` is the oldest outstanding one.
    pub(super) fn insert(&mut self, sequence: u32, first: u32) {
        let distance = |sequence: u32| sequence.wrapping_sub(first);
        let place = self.lost.partition_point(|lost| distance(lost.sequence) < distance(sequence));
        match self.lost.get_mut(place) {
            Some(lost) if lost.sequence == sequence => lost.is_out = false,
            Some(_) | None => self.lost.insert(place, Lost { sequence, tries: 0, is_out: false }),
        }
    }

    pub(super) fn resent(&mut self, sequence: u32) {
        if let Some(lost) = self.lost.iter_mut().find(|lost| lost.sequence == sequence) {
            lost.is_out = true;
            lost.tries = lost.tries.saturating_add(1);
            self.max_tries = self.max_tries.max(lost.tries);
        }
    }

    /// Forgets the segments before `first`. Returns whether the table is empty.
    pub(super) fn forget_before(&mut self, first: u32) -> bool {
        self.lost.retain(|lost| lost.sequence.wrapping_sub(first) as i32 >= 0);
        self.lost.is_empty()
    }

    /// Returns the max simultaneous retransmissions: see the head of the file.
    pub(super) fn max_sim(&self, retry_shift: u8) -> u32 {
        // The first try is not a further try.
        let shift = u32::from(self.max_tries.saturating_sub(1)) * u32::from(retry_shift);
        self.half_window.checked_shr(shift).unwrap_or(0).max(1)
    }

    pub(super) fn may_resend(&self, in_network: u32, retry_shift: u8) -> bool {
        let out = self.lost.iter().filter(|lost| lost.is_out).count() as u32;
        out.min(in_network) < self.max_sim(retry_shift)
    }

    pub(super) fn clear(&mut self) {
        self.lost.clear();
    }

    /// Returns whether a drop of a segment sent at `sent` counts as new congestion after a time-out.
    pub(super) fn sides(&mut self, now: Time, sent: Time) -> bool {
        let is_new = sent >= self.halved_at;
        if is_new {
            self.halved_at = now;
        }
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(window: u32, sequences: &[u32]) -> Notified {
        let mut table = Notified::default();
        table.begin(window);
        sequences.iter().for_each(|&sequence| table.insert(sequence, 10));
        table
    }

    /// FastLane 3.4.1: half the window at first, less with each further try of a segment, at least 1.
    #[test]
    fn max_sim_is_half_the_window_and_halves_with_each_retry() {
        let mut table = with(20, &[10, 11, 12]);
        let mut seen = Vec::new();
        for _ in 0..6 {
            // A try of each: tries of the others change nothing.
            [10, 11, 12].iter().for_each(|&sequence| table.resent(sequence));
            seen.push(table.max_sim(1));
            [10, 11, 12].iter().for_each(|&sequence| table.insert(sequence, 10));
        }
        assert_eq!(seen, [10, 5, 2, 1, 1, 1]);
        assert_eq!(with(1, &[]).max_sim(1), 1);
        let mut quarter = with(64, &[10]);
        (0..3).for_each(|_| quarter.resent(10));
        assert_eq!(quarter.max_sim(2), 2);
        (0..200).for_each(|_| quarter.resent(10));
        assert_eq!(quarter.max_sim(2), 1);
        // A recovery does not remember earlier ones.
        quarter.begin(64);
        assert_eq!(quarter.max_sim(2), 32);
    }

    #[test]
    fn at_most_max_sim_segments_are_resent_at_a_time() {
        let mut table = with(4, &[13, 10, 12]);
        let left: Vec<u32> = table.lost.iter().map(|lost| lost.sequence).collect();
        assert_eq!(left, [10, 12, 13]);
        assert!(table.may_resend(50, 1));
        table.resent(10);
        assert!(table.may_resend(50, 1));
        table.resent(12);
        assert!(!table.may_resend(50, 1) && !table.may_resend(2, 1));
        // All but one have arrived, whichever they are.
        assert!(table.may_resend(1, 1));
        // Segment 12 was dropped again: only one at a time from now on.
        table.insert(12, 10);
        assert!(table.may_resend(50, 1), "one is out, two are allowed");
        table.resent(12);
        assert!(!table.may_resend(2, 1) && !table.may_resend(1, 1) && table.may_resend(0, 1));
    }

    #[test]
    fn a_recovery_ends_with_the_last_hole() {
        let mut table = with(4, &[10, 12]);
        assert!(!table.forget_before(12));
        assert!(table.forget_before(13));
        // Around the end of the numbers.
        let mut table = Notified::default();
        table.begin(8);
        [1, u32::MAX, 0].iter().for_each(|&sequence| table.insert(sequence, u32::MAX - 3));
        let order: Vec<u32> = table.lost.iter().map(|lost| lost.sequence).collect();
        assert_eq!(order, [u32::MAX, 0, 1]);
        assert!(!table.forget_before(1));
        assert!(table.forget_before(2));
    }
}
