//! Who sends next on a wire that several kinds of traffic share.

/// Bytes that each gains with its turn (chosen): a full packet of 9000 bytes of payload, so that every turn sends one.
const QUANTUM: i64 = 9064;

/// Deficit round robin (Shreedhar and Varghese, "Efficient Fair Queueing Using Deficit Round Robin", 1995): while
/// several have something to send, each sends as many bytes as the others.
///
/// Who has nothing to send saves nothing up. What it owes, because its last packet was longer than what was left of its
/// turn, it goes on to owe.
#[derive(Clone, Debug, Default)]
pub struct Deficits<D> {
    /// Bytes that each may still send in its turn.
    left: D,
    turn: usize,
}

impl<D: AsRef<[i64]> + AsMut<[i64]>> Deficits<D> {
    /// Nobody has sent anything: as many kinds of traffic as `left` has zeros.
    pub fn new(left: D) -> Deficits<D> {
        Deficits { left, turn: 0 }
    }

    /// Who sends next among those that have something to send: nobody if none has.
    pub fn next(&mut self, waits: impl Fn(usize) -> bool) -> Option<usize> {
        let left = self.left.as_mut();
        if !(0..left.len()).any(&waits) {
            left.iter_mut().for_each(|left| *left = (*left).min(0));
            return None;
        }
        loop {
            if !waits(self.turn) {
                left[self.turn] = left[self.turn].min(0);
            } else if left[self.turn] > 0 {
                return Some(self.turn);
            }
            self.turn = (self.turn + 1) % left.len();
            left[self.turn] += QUANTUM;
        }
    }

    /// Who was next sent so many bytes.
    pub fn sent(&mut self, bytes: u16) {
        self.left.as_mut()[self.turn] -= i64::from(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Over any time in which both wait, the bytes of each differ by less than two packets, whatever was sent before.
    #[test]
    fn each_sends_as_many_bytes_as_the_others() {
        let sizes = [9064u16, 1564, 64];
        let mut deficits = Deficits::new([0; 3]);
        // One alone, for long: that gives it no debt and the others no credit.
        for _ in 0..1000 {
            assert_eq!(deficits.next(|place| place == 1), Some(1));
            deficits.sent(1564);
        }
        assert_eq!(deficits.next(|_| false), None);
        let mut sent = [0u64; 3];
        for _ in 0..100_000 {
            let next = deficits.next(|_| true).expect("all wait");
            deficits.sent(sizes[next]);
            sent[next] += u64::from(sizes[next]);
            let (min, max) = (sent.iter().min().unwrap(), sent.iter().max().unwrap());
            assert!(max - min <= 2 * 9064, "{sent:?}");
        }
    }
}
