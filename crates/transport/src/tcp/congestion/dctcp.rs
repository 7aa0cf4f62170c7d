//! DCTCP (RFC 8257): the window shrinks by the share of marked segments.

use super::law::{Acked, Law, ONE, Signals, additive, half};

#[derive(Clone, Copy, Debug)]
pub(super) struct Dctcp {
    /// Average share of marked segments, Q0.32: at most [`ONE`].
    alpha: u64,
    /// Segments acknowledged in this observation window.
    acked: u32,
    /// Segments acknowledged by ACKs with an echo.
    marked: u32,
    /// The window ends when this segment is acknowledged.
    end: u32,
    /// The gain of the average is 2^-`gain_shift`.
    gain_shift: u8,
}

impl Dctcp {
    pub(super) const fn new(gain_shift: u8, from_zero: bool) -> Dctcp {
        // RFC 8257 4.2: alpha begins at 1, so that the first mark is a strong one.
        let alpha = if from_zero { 0 } else { ONE };
        Dctcp { alpha, acked: 0, marked: 0, end: 0, gain_shift }
    }

    /// Returns the average share of marked segments, Q32.32.
    pub(super) const fn alpha(&self) -> u64 {
        self.alpha
    }
}

impl Law for Dctcp {
    fn grow(&mut self, window: u64, ack: &Acked) -> u64 {
        additive(window, ack)
    }

    #[inline]
    fn receive(&mut self, signals: &Signals) {
        self.acked += signals.acked;
        if signals.echo {
            self.marked += signals.acked;
        }
        // RFC 8257 3.3: alpha moves once for each window of data.
        if signals.number.wrapping_sub(self.end) as i32 > 0 && self.acked > 0 {
            let share = u64::from(self.marked) * ONE / u64::from(self.acked);
            self.alpha = self.alpha - (self.alpha >> self.gain_shift) + (share >> self.gain_shift);
            (self.acked, self.marked, self.end) = (0, 0, signals.next);
        }
    }

    /// RFC 8257 3.3 (6).
    fn reduce_for_mark(&mut self, window: u64) -> u64 {
        window - ((u128::from(window) * u128::from(self.alpha)) >> 33) as u64
    }

    /// RFC 8257 3.5: a loss is answered as by any TCP.
    fn reduce_for_loss(&mut self, used: u64) -> u64 {
        half(used)
    }

    fn reduce_for_timeout(&mut self, used: u64) -> u64 {
        half(used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alpha_follows_the_share_of_marks_and_cuts_the_window_by_half_of_it() {
        let mut dctcp = Dctcp::new(4, false);
        // alpha begins at 1: the first mark halves.
        assert_eq!(dctcp.reduce_for_mark(16 * ONE), 8 * ONE);
        // Windows of 16 segments, a quarter marked: alpha goes to 1/4.
        let mut number = 0;
        for _ in 0..200 {
            for place in 0..16 {
                number += 1;
                dctcp.receive(&Signals { number, next: number + 16, acked: 1, echo: place < 4 });
            }
        }
        assert!(dctcp.alpha.abs_diff(ONE / 4) < ONE / 16, "{}", dctcp.alpha);
        let reduced = dctcp.reduce_for_mark(16 * ONE);
        assert!(reduced.abs_diff(14 * ONE) < ONE / 2, "{reduced}");
    }

    /// RFC 8257 3.3: alpha = alpha (1 - g) + g F, once for each window of data, and at most 1.
    #[test]
    fn alpha_moves_once_a_window_by_the_gain() {
        let mut dctcp = Dctcp::new(3, false);
        let mut receive = |number, echo| {
            dctcp.receive(&Signals { number, next: number + 16, acked: 1, echo });
            dctcp.alpha
        };
        assert_eq!(receive(1, true), ONE);
        // Segments of the next window come with the ACKs of 17 segments.
        assert!((2..18).all(|number| receive(number, false) == ONE));
        let first = ONE / 8 * 7;
        assert_eq!(receive(18, false), first);
        assert!((19..35).all(|number| receive(number, true) == first));
        assert_eq!(receive(35, true), first / 8 * 7 + ONE / 8);
    }

    #[test]
    fn alpha_from_zero_makes_the_first_window_of_marks_count_by_the_gain() {
        let mut dctcp = Dctcp::new(4, true);
        assert_eq!(dctcp.reduce_for_mark(16 * ONE), 16 * ONE);
        dctcp.receive(&Signals { number: 1, next: 17, acked: 1, echo: true });
        assert_eq!(dctcp.alpha, ONE / 16);
        assert_eq!(dctcp.reduce_for_mark(32 * ONE), 31 * ONE);
    }

    /// RFC 8257 3.5: a loss halves the window, however few marks there were.
    #[test]
    fn a_loss_halves_whatever_alpha_says() {
        let mut dctcp = Dctcp { alpha: ONE / 100, ..Dctcp::new(4, false) };
        assert_eq!(dctcp.reduce_for_loss(16 * ONE), 8 * ONE);
        assert_eq!(dctcp.reduce_for_timeout(16 * ONE), 8 * ONE);
    }
}
