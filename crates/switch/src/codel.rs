//! CoDel's control law (RFC 8289; Nichols and Jacobson, "Controlling Queue Delay", 2012).

use trimline_packet::{Time, TimeDelta};

/// The control law of a queue. It signals where the RFC drops, one signal per packet: after a while without packets it
/// catches up packet by packet.
#[derive(Clone, Debug, Default)]
pub(crate) struct CoDel {
    /// End of the interval after which long sojourn times count.
    above_until: Option<Time>,
    is_signalling: bool,
    /// Signals of this spell, or of the last one.
    count: u32,
    /// The count at the start of this spell.
    first_count: u32,
    next: Time,
}

impl CoDel {
    /// True if a signal is due as a packet leaves after `sojourn`. `is_short`: at most a packet waits behind it.
    pub(crate) fn inspect(
        &mut self,
        now: Time,
        sojourn: TimeDelta,
        is_short: bool,
        target: TimeDelta,
        interval: TimeDelta,
    ) -> bool {
        // RFC 8289 5.4, dodequeue: a queue of a packet is none that stands.
        if is_short || sojourn < target {
            self.above_until = None;
            self.is_signalling = false;
            return false;
        }
        let until = *self.above_until.get_or_insert(now.saturating_add(interval));
        if now < until {
            self.is_signalling = false;
            return false;
        }
        !self.is_signalling || now >= self.next
    }

    pub(crate) fn signalled(&mut self, now: Time, interval: TimeDelta) {
        if self.is_signalling {
            self.count += 1;
            self.next = self.next.saturating_add(self.step(interval));
            return;
        }
        // RFC 8289 5.5, deque: a spell soon after another one goes on at about its rate.
        let is_soon = now.saturating_since(self.next).as_ps() / 16 < interval.as_ps();
        let given = self.count - self.first_count;
        self.count = if is_soon && given > 1 { given } else { 1 };
        self.first_count = self.count;
        self.is_signalling = true;
        self.next = now.saturating_add(self.step(interval));
    }

    /// Time from the nth signal to the next: interval / sqrt(n), rounded down.
    fn step(&self, interval: TimeDelta) -> TimeDelta {
        let square = u128::from(interval.as_ps()).pow(2) / u128::from(self.count);
        TimeDelta::from_ps(square.isqrt() as u64)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    const TARGET: TimeDelta = TimeDelta::from_us(20);
    const INTERVAL: TimeDelta = TimeDelta::from_us(200);

    /// Signal times for packets that leave each microsecond after `waits`, in microseconds.
    fn signals(law: &mut CoDel, from: u64, waits: impl Iterator<Item = u64>) -> Vec<u64> {
        let mut times = Vec::new();
        for (at, wait) in (from..).zip(waits) {
            let now = Time::ZERO + TimeDelta::from_us(at);
            let sojourn = TimeDelta::from_us(wait);
            if law.inspect(now, sojourn, false, TARGET, INTERVAL) {
                law.signalled(now, INTERVAL);
                times.push(at);
            }
        }
        times
    }

    /// RFC 8289 5.3: the nth signal of a spell comes interval / sqrt(n) after the one before.
    #[test]
    fn signals_come_faster_while_packets_wait_too_long() {
        let mut law = CoDel::default();
        let times = signals(&mut law, 0, core::iter::repeat_n(20, 900));
        // At 200, then 200 / sqrt(1), 200 / sqrt(2), 200 / sqrt(3), ... later, in whole microseconds.
        assert_eq!(times, [200, 400, 542, 657, 757, 847]);
    }

    #[test]
    fn one_packet_below_the_target_restarts_the_interval() {
        let mut law = CoDel::default();
        let waits = (0..1000).map(|at| if at == 199 { 19 } else { 50 });
        assert_eq!(signals(&mut law, 0, waits), [400, 600, 742, 857, 957]);
        // RFC 8289 5.5: soon after it, a spell goes on with as many signals as the last one gave more.
        let waits = (1000..2000).map(|at| if at == 1000 { 19 } else { 50 });
        let times = signals(&mut law, 1000, waits);
        assert_eq!(times[..3], [1201, 1301, 1391]);
        // Long after, the count starts at 1.
        let waits = (9000..10_000).map(|at| if at == 9000 { 19 } else { 50 });
        assert_eq!(signals(&mut law, 9000, waits)[..3], [9201, 9401, 9543]);
    }

    #[test]
    fn a_queue_that_is_often_short_gets_no_signal() {
        let mut law = CoDel::default();
        for at in 0..1000 {
            let (now, sojourn) = (Time::ZERO + TimeDelta::from_us(at), TimeDelta::from_us(90));
            assert!(!law.inspect(now, sojourn, at % 100 == 0, TARGET, INTERVAL), "{at}");
        }
    }
}
