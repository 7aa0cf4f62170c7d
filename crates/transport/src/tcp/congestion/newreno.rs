//! NewReno (RFC 5681, RFC 6582): one segment more per round trip, half the window after a loss.

use super::law::{Acked, Law, additive, half};

/// NewReno has no state but the window. With several subflows the increase is shared ([`linked`](super::linked)).
#[derive(Clone, Copy, Debug)]
pub(super) struct NewReno;

impl Law for NewReno {
    fn grow(&mut self, window: u64, ack: &Acked) -> u64 {
        additive(window, ack)
    }

    /// RFC 3168 6.1.2: a mark is answered like a loss.
    fn reduce_for_mark(&mut self, window: u64) -> u64 {
        half(window)
    }

    /// RFC 5681 (4).
    fn reduce_for_loss(&mut self, used: u64) -> u64 {
        half(used)
    }

    fn reduce_for_timeout(&mut self, used: u64) -> u64 {
        half(used)
    }
}
