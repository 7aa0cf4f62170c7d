//! Deficit round robin between kinds of traffic on a wire.

/// Bytes per turn (chosen): a full packet of 9000 bytes of payload, so that every turn sends one.
const QUANTUM: i64 = 9064;

/// Deficit round robin (Shreedhar and Varghese, "Efficient Fair Queueing Using Deficit Round Robin", 1995): backlogged
/// kinds of traffic send equally many bytes.
///
/// An idle kind saves no credit, and keeps the debt of a packet longer than the rest of its turn.
#[derive(Clone, Debug, Default)]
pub struct Deficits<D> {
    /// Bytes left in each kind's turn.
    left: D,
    turn: usize,
}

impl<D: AsRef<[i64]> + AsMut<[i64]>> Deficits<D> {
    /// The initial state for as many kinds as `left` has zeros.
    pub fn new(left: D) -> Deficits<D> {
        Deficits { left, turn: 0 }
    }

    /// The kind that sends next among those that wait.
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

    /// Charges a packet to the kind that [`Deficits::next`] chose.
    pub fn sent(&mut self, bytes: u16) {
        self.left.as_mut()[self.turn] -= i64::from(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// While both wait, their bytes differ by less than two packets over any time.
    #[test]
    fn queues_of_a_drr_send_equal_bytes() {
        let sizes = [9064u16, 1564, 64];
        let mut deficits = Deficits::new([0; 3]);
        // A kind that is long alone gets no debt, and the others get no credit.
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
