//! The trimmed headers that a receive stream answered, if headers may be forged (module `headers`).

use alloc::collections::VecDeque;

#[derive(Debug, Default)]
pub(super) struct Answered {
    /// The packet of the first record.
    first: u32,
    /// The last answered attempt of each packet from `first` on.
    attempts: VecDeque<Option<u8>>,
    /// Recorded packets beyond the newest whole one. They count as missing.
    pub(super) ahead: u32,
}

impl Answered {
    /// Records a header at or after `base`, the first missing packet. Returns whether its attempt is new, and
    /// whether its packet is.
    pub(super) fn record(&mut self, base: u32, sequence: u32, attempt: u8) -> (bool, bool) {
        let passed = base.wrapping_sub(self.first) as usize;
        self.attempts.drain(..passed.min(self.attempts.len()));
        self.first = base;
        let place = sequence.wrapping_sub(base) as usize;
        if place >= self.attempts.len() {
            self.attempts.resize(place + 1, None);
        }
        let before = self.attempts[place].replace(attempt);
        (before != Some(attempt), before.is_none())
    }

    /// Counts recorded packets at or after `end`.
    pub(super) fn from(&self, end: u32) -> u32 {
        let place = end.wrapping_sub(self.first) as usize;
        self.attempts.iter().skip(place).flatten().count() as u32
    }

    /// Forgets packets at or after `end`. Returns how many counted as missing.
    pub(super) fn forget_from(&mut self, end: u32) -> u32 {
        self.attempts.truncate(end.wrapping_sub(self.first) as usize);
        core::mem::take(&mut self.ahead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_attempt_is_answered_once_and_attempt_numbers_wrap() {
        for base in [0, u32::MAX - 1] {
            let mut answered = Answered::default();
            let news = |answered: &mut Answered, ahead: u32, attempt| {
                answered.record(base, base.wrapping_add(ahead), attempt)
            };
            assert_eq!(news(&mut answered, 3, 0), (true, true));
            assert_eq!(news(&mut answered, 3, 0), (false, false));
            let all = [1, 1, 2, 3, 3, 0].map(|attempt| news(&mut answered, 3, attempt).0);
            assert_eq!(all, [true, false, true, true, false, true]);
            assert_eq!(news(&mut answered, 5, 0), (true, true));
            assert_eq!([3, 4, 6].map(|ahead| answered.from(base.wrapping_add(ahead))), [2, 1, 0]);
            // Packets that have arrived have no record.
            assert_eq!(
                answered.record(base.wrapping_add(5), base.wrapping_add(5), 0),
                (false, false)
            );
            assert_eq!(answered.attempts.len(), 1);
        }
    }
}
