//! The window's law: a pure state machine of ACKs, NACKs and time-outs.
//!
//! Constants scale with a = bandwidth-delay product / 150,000 B (100 Gb/s and 12 us), P is a step:
//!
//! | | delay below the target | at or above it |
//! |---|---|---|
//! | not marked | inc += 4 P a b / target x bytes x (target - delay), b = target / 12 us | inc += 5 P a x bytes |
//! | marked | nothing: the path choice moves away | once a base round trip: W x max(1 - 0.8 (average - target) / average, 0.5) |
//!
//! After eight packets or a round trip W += inc / W, and once a round trip 0.15 P a more. After a window of bytes with
//! clear delays, each further clear ACK adds 0.25 a x bytes instead (fast increase). The target's b cancels.
//!
//! There is no floating point: W has 16 binary places, and inc has the unit of 1 / (150,000 x 12 us).

use trimline_packet::{BitRate, Time, TimeDelta};

use super::config::{Average, Law, QuickAdapt};

/// Binary places of the window.
const PLACES: u32 = 16;
/// The network of the constants: 100 Gb/s and 12 us.
const REFERENCE_BYTES: u128 = 150_000;
const REFERENCE_PS: u128 = 12_000_000;
/// Denominator of the sum of increases.
const UNIT: u128 = REFERENCE_BYTES * REFERENCE_PS;
/// Full packets after which increases are applied.
const PACKETS: u64 = 8;
/// The max window over the part that QuickAdapt needs to have arrived.
const GATE: u64 = 8;

fn product(line: BitRate, time: TimeDelta) -> u64 {
    (u128::from(line.as_bps()) * u128::from(time.as_ps()) / 8_000_000_000_000) as u64
}

/// The mean delay.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    /// In picoseconds, with 16 binary places if it is exponential.
    value: u64,
    /// Sum and number of the samples of this round trip, and its end.
    sum: u64,
    count: u64,
    until: Time,
}

impl Mean {
    fn get(&self, average: Average) -> TimeDelta {
        TimeDelta::from_ps(match average {
            Average::Exponential => self.value >> PLACES,
            Average::RoundTrip => self.value,
        })
    }

    fn exponential(&mut self, delay: TimeDelta) {
        let sample = u128::from(delay.as_ps()) << PLACES;
        self.value = ((sample + 79 * u128::from(self.value)) / 80) as u64;
    }

    fn of_round_trip(&mut self, now: Time, delay: TimeDelta, base: TimeDelta) {
        if now > self.until && self.count > 0 {
            self.value = self.sum / self.count;
            (self.sum, self.count) = (0, 0);
        }
        if self.count == 0 {
            self.until = now.saturating_add(base);
        }
        self.sum = self.sum.saturating_add(delay.as_ps());
        self.count += 1;
    }
}

/// The window of a flow.
#[derive(Debug)]
pub(super) struct Window {
    /// With [`PLACES`] binary places.
    value: u64,
    base: TimeDelta,
    /// A full packet of the flow, in bytes on the wire.
    min: u64,
    max: u64,
    mean: Mean,
    /// Sum of increases in 1 / [`UNIT`], and the bytes since it was applied.
    sum: u128,
    received: u64,
    applied_at: Time,
    fell_at: Option<Time>,
    /// Bytes with clear delays in a row, and whether they have reached a window.
    clear: u64,
    is_fast: bool,
    /// Bytes that arrived in this period of QuickAdapt, its end, and whether a packet was lost in it.
    achieved: u64,
    period_ends: Option<Time>,
    has_lost: bool,
    /// Bytes whose marks are ignored, and those that have passed.
    to_ignore: u64,
    ignored: u64,
    adapted: u64,
}

impl Window {
    /// The window of a flow whose full packets have `packet_bytes`.
    pub(super) fn new(now: Time, law: &Law, packet_bytes: u64) -> Window {
        let max = max_window(law, law.base);
        let first = law.first.unwrap_or(max);
        let mut window = Window {
            value: first << PLACES,
            base: law.base,
            min: packet_bytes.min(law.packet_bytes.into()),
            max,
            mean: Mean::default(),
            sum: 0,
            received: 0,
            applied_at: now,
            fell_at: None,
            clear: 0,
            is_fast: false,
            achieved: 0,
            period_ends: None,
            has_lost: false,
            to_ignore: 0,
            ignored: 0,
            adapted: 0,
        };
        window.max = max.max(first);
        window.bound();
        window
    }

    /// The window in bytes on the wire.
    pub(super) const fn bytes(&self) -> u64 {
        self.value >> PLACES
    }

    /// The mean delay.
    pub(super) fn mean_delay(&self, law: &Law) -> TimeDelta {
        self.mean.get(law.average)
    }

    /// Times that QuickAdapt lowered it.
    pub(super) const fn adapted(&self) -> u64 {
        self.adapted
    }

    /// Handles an ACK of `bytes` that were not counted before, in flight `in_flight` bytes. `round_trip` is the echoed
    /// packet's, if it is known.
    pub(super) fn acknowledged(
        &mut self,
        now: Time,
        law: &Law,
        (bytes, in_flight): (u64, u64),
        round_trip: Option<TimeDelta>,
        is_marked: bool,
    ) {
        self.achieved += bytes;
        self.received += bytes;
        self.ignored += bytes;
        let delay = match round_trip {
            Some(round_trip) => {
                self.sample(round_trip, law);
                let delay = round_trip - self.base;
                self.average(now, law, delay, is_marked);
                delay
            }
            None => self.mean_delay(law),
        };
        if self.adapts(now, law, in_flight, is_marked, delay) {
            return;
        }
        match (is_marked, delay < law.target) {
            (false, true) => self.rise(law, bytes, delay),
            (false, false) => self.add(5 * REFERENCE_PS, law, bytes),
            (true, false) => self.fall(now, law),
            (true, true) => {}
        }
        self.bound();
        let is_due = now.saturating_since(self.applied_at) > law.base;
        if self.received > PACKETS * u64::from(law.packet_bytes) || is_due {
            self.apply(now, law);
            self.bound();
        }
    }

    /// Handles a NACK of a packet of `bytes`; `in_flight` includes it. Chosen by neither source: a header that a switch
    /// returned counts as a NACK.
    pub(super) fn trimmed(&mut self, now: Time, law: &Law, bytes: u64, in_flight: u64) {
        if !self.heard_of_trim(now, law, bytes, in_flight) {
            self.shrink(bytes);
        }
    }

    /// Handles a NACK that takes nothing from the window unless QuickAdapt does. Returns whether it did.
    pub(super) fn heard_of_trim(
        &mut self,
        now: Time,
        law: &Law,
        bytes: u64,
        in_flight: u64,
    ) -> bool {
        self.ignored += bytes;
        // uet-htsim: a trimmed packet met a full queue, which is one round trip of delay.
        self.average(now, law, law.base, true);
        self.has_lost = true;
        self.adapts(now, law, in_flight, true, TimeDelta::ZERO)
    }

    /// Handles a time-out of a packet of `bytes`.
    pub(super) fn timed_out(&mut self, law: &Law, bytes: u64) {
        self.has_lost |= law.quick_adapt == QuickAdapt::Loss;
        self.shrink(bytes);
    }

    fn shrink(&mut self, bytes: u64) {
        self.value = self.value.saturating_sub(bytes << PLACES);
        self.bound();
    }

    /// A round trip that is shorter than the base is the base: the peer is nearer than the farthest host. uet-htsim: a
    /// NACK's counts too, although the rest of the packet did not go all the way.
    pub(super) fn sample(&mut self, round_trip: TimeDelta, law: &Law) {
        if round_trip < self.base {
            self.base = round_trip;
            self.max = max_window(law, round_trip).max(law.first.unwrap_or(0));
        }
    }

    fn average(&mut self, now: Time, law: &Law, delay: TimeDelta, is_marked: bool) {
        match law.average {
            Average::Exponential => {
                let is_unmarked_late = !is_marked && delay > law.target;
                let quarter = TimeDelta::from_ps(self.base.as_ps() / 4);
                self.mean.exponential(if is_unmarked_late { quarter } else { delay });
            }
            Average::RoundTrip => self.mean.of_round_trip(now, delay, self.base),
        }
    }

    /// Lowers the window to what arrived in the last period, if it was little and packets were lost or very late.
    /// Returns whether the ACK or NACK has no other effect.
    fn adapts(
        &mut self,
        now: Time,
        law: &Law,
        in_flight: u64,
        is_marked: bool,
        delay: TimeDelta,
    ) -> bool {
        if law.quick_adapt == QuickAdapt::Off {
            return false;
        }
        let mut has_adapted = false;
        if is_marked && self.ignored < self.to_ignore {
            has_adapted = true;
        } else if self.period_ends.is_none_or(|ends| now > ends) {
            let is_late = law.quick_adapt == QuickAdapt::Delay && delay > law.target * 4;
            let is_little = self.achieved < self.max / GATE;
            if self.period_ends.is_some() && (self.has_lost || is_late) && is_little {
                self.value = self.achieved << PLACES;
                self.bound();
                (self.to_ignore, self.ignored) = (in_flight, 0);
                self.has_lost = false;
                self.adapted += 1;
                has_adapted = true;
            }
            self.achieved = 0;
            self.period_ends = Some(now.saturating_add(self.base + law.target));
        }
        if has_adapted {
            (self.sum, self.received) = (0, 0);
        }
        has_adapted
    }

    fn rise(&mut self, law: &Law, bytes: u64, delay: TimeDelta) {
        if delay < law.clear {
            self.clear += bytes;
            if self.is_fast || self.clear > self.bytes() {
                let scaled =
                    (u128::from(bytes) << PLACES) * u128::from(product(law.line, law.base));
                self.value += (scaled / (4 * REFERENCE_BYTES)) as u64;
                self.is_fast = true;
                return;
            }
        } else {
            self.clear = 0;
        }
        self.is_fast = false;
        self.add(4 * u128::from((law.target - delay).as_ps()), law, bytes);
    }

    /// Adds `times` steps for each of `bytes`, in 1 / [`REFERENCE_PS`].
    fn add(&mut self, times: u128, law: &Law, bytes: u64) {
        let step = u128::from(law.step_bytes) * u128::from(product(law.line, law.base));
        self.sum += times * step * u128::from(bytes);
    }

    fn fall(&mut self, now: Time, law: &Law) {
        (self.is_fast, self.clear) = (false, 0);
        let mean = self.mean_delay(law);
        let fell_lately = self.fell_at.is_some_and(|at| now.saturating_since(at) <= self.base);
        if mean <= law.target || fell_lately {
            return;
        }
        // 1 - 0.8 (mean - target) / mean = (mean + 4 target) / (5 mean), at least a half.
        let (mean, target) = (u128::from(mean.as_ps()), u128::from(law.target.as_ps()));
        let left = u128::from(self.value) * (mean + 4 * target) / (5 * mean);
        self.value = (left as u64).max(self.value / 2);
        self.fell_at = Some(now);
    }

    fn apply(&mut self, now: Time, law: &Law) {
        self.value += ((self.sum << (2 * PLACES)) / (UNIT * u128::from(self.value.max(1)))) as u64;
        if now.saturating_since(self.applied_at) >= law.base {
            let step = u128::from(law.step_bytes) * u128::from(product(law.line, law.base));
            self.value += (((15 * step) << PLACES) / (100 * REFERENCE_BYTES)) as u64;
            self.applied_at = now;
        }
        (self.sum, self.received) = (0, 0);
    }

    fn bound(&mut self) {
        self.value = self.value.min(self.max << PLACES).max(self.min << PLACES);
    }
}

/// Returns the max window for a base round trip: 1.5 bandwidth-delay products, at least a packet.
pub(super) fn max_window(law: &Law, base: TimeDelta) -> u64 {
    (product(law.line, base) * 3 / 2).max(u64::from(law.packet_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const P: u64 = 4096;

    /// 12 us and a target of 9 us, as with trimming.
    fn law(gbps: u64) -> Law {
        Law {
            step_bytes: P as u32,
            packet_bytes: P as u32 + 64,
            line: BitRate::from_gbps(gbps),
            base: TimeDelta::from_us(12),
            target: TimeDelta::from_us(9),
            clear: TimeDelta::from_us(1),
            first: None,
            average: Average::Exponential,
            quick_adapt: QuickAdapt::Delay,
        }
    }

    fn us(us: u64) -> Time {
        Time::ZERO + TimeDelta::from_us(us)
    }

    /// A window of `bytes` with a mean delay.
    fn window(law: &Law, bytes: u64, mean: TimeDelta) -> Window {
        let mut window = Window::new(Time::ZERO, law, P + 64);
        window.value = bytes << PLACES;
        window.mean.value = match law.average {
            Average::Exponential => mean.as_ps() << PLACES,
            Average::RoundTrip => mean.as_ps(),
        };
        window
    }

    /// The ACK of `bytes` with a delay.
    fn ack(window: &mut Window, law: &Law, at: u64, bytes: u64, delay: u64, is_marked: bool) {
        let round_trip = law.base + TimeDelta::from_us(delay);
        window.acknowledged(us(at), law, (bytes, bytes), Some(round_trip), is_marked);
    }

    /// The growth in a round trip of 100,000 bytes with this delay, in hundredths of a step.
    fn growth(gbps: u64, delay: u64) -> u64 {
        let law = law(gbps);
        let mut window = window(&law, 100_000, TimeDelta::ZERO);
        ack(&mut window, &law, 13, 100_000, delay, false);
        ((window.value - (100_000 << PLACES)) * 100 / P + (1 << (PLACES - 1))) >> PLACES
    }

    #[test]
    fn a_round_trip_adds_two_steps_one_or_five_and_a_part_of_one() {
        assert_eq!([3, 6, 9, 20].map(|delay| growth(100, delay)), [215, 115, 515, 515]);
        assert_eq!([3, 6, 9].map(|delay| growth(400, delay)), [860, 460, 2060]);
        assert_eq!(growth(100, 8), 33 + 15, "a third of a step at a ninth below the target");
    }

    #[test]
    fn a_mark_below_the_target_changes_nothing_but_the_part_of_a_step() {
        let law = law(100);
        let mut window = window(&law, 100_000, TimeDelta::from_us(30));
        ack(&mut window, &law, 5, 4_160, 8, true);
        assert_eq!(window.bytes(), 100_000);
        ack(&mut window, &law, 13, 4_160, 8, true);
        assert_eq!(window.bytes(), 100_000 + 15 * P / 100);
    }

    /// The share, in thousandths, to which a late marked ACK lowers a window with this mean delay.
    fn remaining(average: Average, mean: u64) -> u64 {
        let law = Law { average, quick_adapt: QuickAdapt::Off, ..law(100) };
        let mut window = window(&law, 100_000, TimeDelta::from_us(mean));
        // The sample is the mean, so the mean stays.
        ack(&mut window, &law, 11, 64, mean, true);
        window.bytes() / 100
    }

    #[test]
    fn a_marked_late_ack_lowers_the_window_by_the_mean_delay_and_by_half_at_most() {
        for average in [Average::Exponential, Average::RoundTrip] {
            let left = [12, 18, 24, 60].map(|mean| remaining(average, mean));
            assert_eq!(left, [800, 600, 500, 500], "{average:?}");
            assert_eq!(remaining(average, 9), 1000, "the target itself is not above it");
        }
    }

    #[test]
    fn a_window_falls_once_in_a_base_round_trip() {
        let law = Law { quick_adapt: QuickAdapt::Off, ..law(100) };
        let mut window = window(&law, 100_000, TimeDelta::from_us(18));
        for (at, bytes) in [(1, 60_000), (2, 60_000), (11, 60_000)] {
            ack(&mut window, &law, at, 64, 18, true);
            assert_eq!(window.bytes(), bytes, "{at}");
        }
        window.applied_at = us(12);
        ack(&mut window, &law, 14, 64, 18, true);
        assert_eq!(window.bytes(), 36_000);
    }

    #[test]
    fn the_window_begins_at_one_and_a_half_products_and_never_rises_above() {
        let law = law(100);
        let mut window = Window::new(Time::ZERO, &law, P + 64);
        assert_eq!(window.bytes(), 225_000);
        for at in 1..100 {
            ack(&mut window, &law, at, 30_000, 9, false);
            assert!(window.bytes() <= 225_000);
        }
        // A nearer peer has a smaller product; a first window of the user's choice is allowed.
        window.acknowledged(us(100), &law, (1, 1), Some(TimeDelta::from_us(6)), false);
        assert_eq!(window.bytes(), 112_500);
        let law = Law { first: Some(4_160 * 50), ..law };
        assert_eq!(Window::new(Time::ZERO, &law, P + 64).bytes(), 208_000);
    }

    /// Growth in thousandths by clear ACKs of a window, after one window of them.
    fn fast(gbps: u64) -> u64 {
        let law = law(gbps);
        let mut window = window(&law, 40_000, TimeDelta::ZERO);
        ack(&mut window, &law, 1, 40_000, 0, false);
        window.value = 40_000 << PLACES;
        for _ in 0..40 {
            ack(&mut window, &law, 2, 1_000, 0, false);
        }
        window.bytes() / 40 - 1_000
    }

    #[test]
    fn a_clear_way_lets_the_window_grow_by_a_quarter_in_a_round_trip() {
        assert_eq!((fast(100), fast(400)), (250, 1_000));
        // One delay that is not clear ends it.
        let law = law(100);
        let mut window = window(&law, 40_000, TimeDelta::ZERO);
        ack(&mut window, &law, 1, 20_000, 0, false);
        assert!(!window.is_fast, "half a window");
        ack(&mut window, &law, 1, 20_001, 0, false);
        assert!(window.is_fast);
        ack(&mut window, &law, 2, 64, 1, false);
        assert!(!window.is_fast && window.clear == 0);
    }

    #[test]
    fn quick_adapt_needs_a_loss_or_a_very_late_ack_and_little_that_arrived() {
        let nothing = |_: &mut Window, _: &Law| {};
        let nack = |window: &mut Window, law: &Law| window.trimmed(us(5), law, 0, 0);
        let timeout = |window: &mut Window, law: &Law| window.timed_out(law, 0);
        let adapted = |quick_adapt, bytes: u64, delay: u64, loss: fn(&mut Window, &Law)| {
            let law = Law { quick_adapt, ..law(100) };
            let mut window = Window::new(Time::ZERO, &law, P + 64);
            // The first ACK begins a period of 21 us.
            ack(&mut window, &law, 1, 64, 8, true);
            loss(&mut window, &law);
            ack(&mut window, &law, 22, bytes / 2, 8, true);
            assert_eq!(window.adapted(), 0, "the period is not over");
            ack(&mut window, &law, 23, bytes - bytes / 2, delay, true);
            (window.adapted() == 1).then_some(window.bytes())
        };
        use QuickAdapt::{Delay, Loss, Off};
        // An eighth of 225,000 B.
        assert_eq!(adapted(Delay, 28_124, 8, nack), Some(28_124));
        assert_eq!(adapted(Delay, 28_125, 8, nack), None);
        assert_eq!(adapted(Delay, 10_000, 8, nothing), None);
        assert_eq!(adapted(Delay, 10_000, 8, timeout), None, "uet-htsim has NACKs alone");
        assert_eq!(adapted(Delay, 10_000, 37, nothing), Some(10_000));
        assert_eq!(adapted(Delay, 10_000, 36, nothing), None, "four targets are not above four");
        assert_eq!(adapted(Loss, 10_000, 37, nothing), None);
        assert_eq!(adapted(Loss, 10_000, 8, nack), Some(10_000));
        assert_eq!(adapted(Loss, 10_000, 8, timeout), Some(10_000));
        assert_eq!(adapted(Off, 10_000, 37, nack), None);
        assert_eq!(adapted(Loss, 1_000, 8, nack), Some(4_160), "a packet at least");
    }

    #[test]
    fn marks_of_bytes_in_flight_at_a_quick_adapt_are_ignored() {
        let law = law(100);
        let mut window = Window::new(Time::ZERO, &law, P + 64);
        ack(&mut window, &law, 1, 64, 8, true);
        window.trimmed(us(30), &law, 4_160, 20_000);
        assert_eq!((window.adapted(), window.bytes()), (1, 4_160));
        window.mean.value = 24_000_000 << PLACES;
        window.value = 100_000 << PLACES;
        // 20,000 bytes were in flight: their marks, and their NACKs, say nothing new.
        ack(&mut window, &law, 31, 10_000, 20, true);
        window.trimmed(us(31), &law, 4_160, 20_000);
        assert_eq!(window.bytes(), 100_000);
        ack(&mut window, &law, 32, 5_840, 20, true);
        assert!((50_000..52_000).contains(&window.bytes()), "{}", window.bytes());
    }

    #[test]
    fn a_nack_takes_its_bytes_and_counts_as_a_round_trip_of_delay() {
        let law = law(100);
        let mut window = window(&law, 100_000, TimeDelta::ZERO);
        window.trimmed(us(1), &law, 4_160, 100_000);
        assert_eq!(window.bytes(), 95_840);
        assert_eq!(window.mean_delay(&law), TimeDelta::from_ns(150), "an 80th of 12 us");
        window.timed_out(&law, 4_160);
        assert_eq!(window.bytes(), 91_680);
        window.timed_out(&law, 1 << 30);
        assert_eq!(window.bytes(), 4_160);
        let mut window = Window::new(Time::ZERO, &law, 128);
        window.timed_out(&law, 1 << 30);
        assert_eq!(window.bytes(), 128, "a packet of a flow with small ones");
    }

    #[test]
    fn an_unmarked_late_delay_counts_as_a_quarter_of_the_base_in_the_exponential_mean() {
        let law = law(100);
        let mut window = window(&law, 100_000, TimeDelta::ZERO);
        ack(&mut window, &law, 1, 64, 80, false);
        assert_eq!(window.mean_delay(&law), TimeDelta::from_ps(37_500), "an 80th of 3 us");
        ack(&mut window, &law, 2, 64, 80, true);
        assert_eq!(window.mean_delay(&law).as_ps() / 1_000, 1_037);
    }

    #[test]
    fn the_mean_of_a_round_trip_is_that_of_its_samples() {
        let law = Law { average: Average::RoundTrip, ..law(100) };
        let mut window = Window::new(Time::ZERO, &law, P + 64);
        for (at, delay) in [(1, 2), (7, 4), (13, 6)] {
            ack(&mut window, &law, at, 64, delay, true);
            assert_eq!(window.mean_delay(&law), TimeDelta::ZERO, "the round trip is not over");
        }
        ack(&mut window, &law, 14, 64, 30, true);
        assert_eq!(window.mean_delay(&law), TimeDelta::from_us(4));
    }
}
