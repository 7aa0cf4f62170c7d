//! The window: HPCC's Algorithm 1 (section 3.2).
//!
//! U estimates the bytes in flight on the busiest link of the path, in units of its bandwidth-delay product: queue and
//! rate together. The window goes to where U is eta. Between two round trips every ACK computes it anew from the same
//! reference window, so that no congestion is answered twice.

use alloc::boxed::Box;

use trimline_packet::{Hop, Telemetry};

use super::config::{Law, Units};

/// A utilisation of 1, in units of 2^-32.
pub const UTILISATION_ONE: u64 = 1 << 32;

/// Parts of a byte in which windows are kept: an additive increase may be a few bytes.
const PARTS: u64 = 1 << 10;
/// Bits in a byte times picoseconds in a second.
const BITS_PS: u64 = 8_000_000_000_000;
const BILLION: u64 = 1_000_000_000;

/// The window of a flow.
#[derive(Debug)]
pub(super) struct Window {
    /// L, the telemetry of the last answer.
    last: Option<Box<Telemetry>>,
    /// U, in 2^-32.
    utilisation: u64,
    /// W and the reference W^c, in parts of a byte.
    value: u64,
    reference: u64,
    /// incStage.
    stage: u32,
    /// lastUpdateSeq: the reference changes with the first ACK beyond this packet.
    updated_until: u32,
}

impl Window {
    /// A flow begins with a window of a bandwidth-delay product, at the line's rate (HPCC 3.2).
    pub(super) fn new(law: &Law) -> Window {
        let max = max_window(law);
        Window {
            last: None,
            // The paper gives no first U; its simulator has 1 (rdma-queue-pair.cc).
            utilisation: UTILISATION_ONE,
            value: max,
            reference: max,
            stage: 0,
            updated_until: 0,
        }
    }

    /// W, in bytes on the wire.
    pub(super) fn bytes(&self) -> u64 {
        self.value / PARTS
    }

    /// U, in 2^-32.
    pub(super) fn utilisation(&self) -> u64 {
        self.utilisation
    }

    /// R = W / T, in bits per second: at most the line's.
    pub(super) fn rate_bps(&self, law: &Law) -> u64 {
        let bits = u128::from(self.value) * u128::from(BITS_PS);
        let rate = bits.div_ceil(u128::from(PARTS) * u128::from(law.base.as_ps()));
        u64::try_from(rate).unwrap_or(u64::MAX).clamp(1, law.line.as_bps())
    }

    /// Handles the telemetry of an answer: all packets before `sequence` have arrived, and `next` is sent next.
    pub(super) fn answered(
        &mut self,
        law: &Law,
        (sequence, next): (u32, u32),
        telemetry: &Telemetry,
    ) {
        if telemetry.hops().is_empty() {
            // Hosts without a switch between them: no port says anything.
            return;
        }
        let Some(last) = &mut self.last else {
            // The simulator's: the first answer is only stored, and its round trip changes no reference.
            self.updated_until = next;
            self.last = Some(Box::new(*telemetry));
            return;
        };
        let before = **last;
        if !before.is_same_path(telemetry) {
            // HPCC 4.1: another path, so the old records say nothing.
            **last = *telemetry;
            return;
        }
        let Some((now, tau_ps)) = utilisation(law, &before, telemetry) else { return };
        **last = *telemetry;
        self.average(law, now, tau_ps);
        self.update(law, sequence, next);
    }

    /// Averages U over a base round trip: tau of the busiest link is the weight, T at most (Algorithm 1, lines 7 to 9).
    fn average(&mut self, law: &Law, now: u64, tau_ps: u64) {
        let base = law.base.as_ps();
        let tau = tau_ps.min(base);
        let sum = u128::from(self.utilisation) * u128::from(base - tau)
            + u128::from(now) * u128::from(tau);
        self.utilisation = u64::try_from(sum / u128::from(base)).unwrap_or(u64::MAX).max(1);
    }

    /// Computes W from the reference; the first ACK beyond the last update makes it the reference (Algorithm 1, lines
    /// 11 to 22).
    fn update(&mut self, law: &Law, sequence: u32, next: u32) {
        let target = u128::from(law.target) * u128::from(UTILISATION_ONE);
        let is_busy = u128::from(self.utilisation) * u128::from(BILLION) >= target;
        let multiplies = is_busy || self.stage >= law.max_stage;
        let left = if multiplies {
            let left = u128::from(self.reference) * target
                / (u128::from(self.utilisation) * u128::from(BILLION));
            u64::try_from(left).unwrap_or(u64::MAX)
        } else {
            self.reference
        };
        let added = law.additive_increase.get().saturating_mul(PARTS);
        let (min, max) = (min_window(law), max_window(law));
        self.value = left.saturating_add(added).clamp(min.min(max), max);
        if (sequence.wrapping_sub(self.updated_until) as i32) > 0 {
            self.reference = self.value;
            self.stage = if multiplies { 0 } else { self.stage + 1 };
            self.updated_until = next;
        }
    }
}

/// B T of the host's link, in parts of a byte: the first and max window.
fn max_window(law: &Law) -> u64 {
    law.line.bytes_in(law.base).get().max(1).saturating_mul(PARTS)
}

/// The window of the min rate, in parts of a byte.
fn min_window(law: &Law) -> u64 {
    law.min_rate.bytes_in(law.base).get().max(1).saturating_mul(PARTS)
}

/// Returns U of the busiest link between two answers (Algorithm 1, lines 1 to 6), in 2^-32, and that link's time between
/// them. `None` if the second is not the later one.
fn utilisation(law: &Law, last: &Telemetry, new: &Telemetry) -> Option<(u64, u64)> {
    // Rate of queue and bytes, the link's rate, and the time.
    let mut max = (0, 1, 0);
    for (last, new) in last.hops().iter().zip(new.hops()) {
        let (tau_ps, bytes, queue) = between(law.units, last, new)?;
        let bps = bps(queue, law.base.as_ps()).saturating_add(bps(bytes, tau_ps));
        let rate = new.rate.as_bps().max(1);
        if u128::from(bps) * u128::from(max.1) > u128::from(max.0) * u128::from(rate) {
            max = (bps, rate, tau_ps);
        }
    }
    let (bps, rate, tau_ps) = max;
    let u = u128::from(bps) * u128::from(UTILISATION_ONE) / u128::from(rate);
    Some((u64::try_from(u).unwrap_or(u64::MAX), tau_ps))
}

/// Returns a link's time between two answers, the bytes that it sent in it, and the shorter of its two queues.
fn between(units: Units, last: &Hop, new: &Hop) -> Option<(u64, u64, u64)> {
    let queue = u64::from(new.queue_bytes.min(last.queue_bytes));
    let (tau_ps, bytes, queue) = match units {
        Units::Exact => {
            let bytes = new.sent_bytes.wrapping_sub(last.sent_bytes);
            (new.at.saturating_since(last.at).as_ps(), bytes, queue)
        }
        // HPCC 4.1, Figure 7, with the units of its simulator (int-header.h).
        Units::Header => {
            let since =
                |now: u64, before: u64, bits: u32| now.wrapping_sub(before) & ((1 << bits) - 1);
            let ns = since(new.at.as_ps() / 1_000, last.at.as_ps() / 1_000, 24);
            let sent = since(new.sent_bytes / 128, last.sent_bytes / 128, 20);
            (ns * 1_000, sent * 128, queue / 80 * 80)
        }
    };
    (tau_ps > 0).then_some((tau_ps, bytes, queue))
}

/// Returns the rate of `bytes` in a time, in bits per second.
fn bps(bytes: u64, ps: u64) -> u64 {
    match bytes.checked_mul(BITS_PS) {
        Some(bits) => bits / ps,
        None => {
            let rate = u128::from(bytes) * u128::from(BITS_PS) / u128::from(ps);
            u64::try_from(rate).unwrap_or(u64::MAX)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use trimline_packet::{BitRate, ByteCount, Time, TimeDelta};

    use super::*;

    /// The paper's: 100 Gb/s, 13 us.
    const PRODUCT: u64 = 162_500;
    /// Bytes of a packet on the wire, in the paper's simulator.
    const PACKET: u64 = 1_048;

    fn law() -> Law {
        Law {
            line: BitRate::from_gbps(100),
            base: TimeDelta::from_us(13),
            target: Law::TARGET,
            max_stage: Law::MAX_STAGE,
            additive_increase: ByteCount::new(80),
            min_rate: BitRate::from_bps(100_000_000),
            units: Units::Exact,
        }
    }

    fn hop(at_ps: u64, sent_bytes: u64, queue_bytes: u32) -> Hop {
        let rate = BitRate::from_gbps(100);
        Hop { port: 1, queue_bytes, sent_bytes, at: Time::from_ps(at_ps), rate }
    }

    fn of(hops: &[Hop]) -> Telemetry {
        let mut telemetry = Telemetry::EMPTY;
        hops.iter().for_each(|&hop| telemetry.push(hop));
        telemetry.echo()
    }

    /// A flow alone: its answers come as the window paces them.
    struct Alone {
        window: Window,
        law: Law,
        at_ps: u64,
        sent: u64,
        acknowledged: u32,
    }

    impl Alone {
        fn new(law: Law) -> Alone {
            let window = Window::new(&law);
            let mut alone = Alone { window, law, at_ps: 1_000_000, sent: 0, acknowledged: 0 };
            alone.answer(0, 155);
            alone
        }

        /// One packet later, `tau_ps` after the last one. `ahead` packets are in flight.
        fn answer(&mut self, tau_ps: u64, ahead: u32) {
            self.at_ps += tau_ps;
            self.acknowledged += 1;
            let telemetry = of(&[hop(self.at_ps, self.sent, 0)]);
            let numbers = (self.acknowledged, self.acknowledged + ahead);
            self.window.answered(&self.law, numbers, &telemetry);
            self.sent += PACKET;
        }

        /// In thousandths of a byte.
        fn thousandths(&self) -> u64 {
            self.window.value * 1_000 / PARTS
        }

        fn u_billionths(&self) -> u64 {
            let u = u128::from(self.window.utilisation) * u128::from(BILLION);
            (u / u128::from(UTILISATION_ONE)) as u64
        }
    }

    /// Time of a packet at 100 Gb/s.
    const AT_LINE_PS: u64 = PACKET * 80;

    #[test]
    fn a_flow_begins_with_a_product_at_the_line_rate() {
        let window = Window::new(&law());
        assert_eq!((window.bytes(), window.rate_bps(&law())), (PRODUCT, 100_000_000_000));
        let increase = |gbps, us, target| {
            Law::increase(BitRate::from_gbps(gbps), TimeDelta::from_us(us), target).get()
        };
        assert_eq!((increase(100, 13, Law::TARGET), increase(400, 13, Law::TARGET)), (81, 325));
        assert_eq!((increase(100, 13, 990_000_000), increase(1, 1, 999_999_999)), (16, 1));
    }

    /// U stays 1, so from the second answer on W is B T x 0.95 + 80 = 154,455 B; the reference follows when packets of
    /// after the first answer are acknowledged.
    #[test]
    fn on_an_idle_path_the_second_ack_takes_a_twentieth_and_the_next_round_trip_the_reference() {
        let mut alone = Alone::new(law());
        assert_eq!(alone.window.bytes(), PRODUCT, "the first answer is stored");
        for number in 2..=156 {
            alone.answer(AT_LINE_PS, 155);
            assert_eq!(alone.window.utilisation(), UTILISATION_ONE);
            assert_eq!(alone.window.bytes(), 154_455, "{number}");
            assert_eq!(alone.window.reference / PARTS, PRODUCT, "{number}");
        }
        alone.answer(AT_LINE_PS, 155);
        assert_eq!(alone.window.reference / PARTS, 154_455);
    }

    /// After the update, answers come every 88.2 ns: U = 0.950492 + 0.049508 x 0.993215^k, so the window dips to 146,862
    /// B and comes back.
    #[test]
    fn the_window_dips_after_the_first_update_and_returns_to_the_fixed_point() {
        let mut alone = Alone::new(law());
        (2..=157).for_each(|_| alone.answer(AT_LINE_PS, 155));
        assert_eq!(alone.window.reference / PARTS, 154_455);
        // 95.05 Gb/s.
        let times = |packets: u64| packets * PACKET * 8_000_000_000_000 / 95_049_230_769;
        let mut power = u128::from(BILLION);
        for k in 1..=155 {
            alone.answer(times(k) - times(k - 1), 155);
            power = power * 993_215 / 1_000_000;
            let u = 950_492_308 + (49_507_692 * power / u128::from(BILLION)) as u64;
            assert!(alone.u_billionths().abs_diff(u) < 2_000, "{k}: {} {u}", alone.u_billionths());
            let expected = 154_455_000 * 950_000_000 / u + 80_000;
            let found = alone.thousandths();
            assert!(found.abs_diff(expected) < 1_000, "{k}: {found} {expected}");
            match k {
                1 => assert!(found.abs_diff(146_862_000) < 1_000, "{found}"),
                // Of rounded factors 151,335.
                136 => assert!(found.abs_diff(151_334_000) < 1_000, "{found}"),
                _ => {}
            }
        }
    }

    /// The fixed point: U x (1 - 80 / W) = eta at a rate of W / T. 95.05 Gb/s and U 0.950492.
    #[test]
    fn a_flow_alone_settles_at_eta_and_its_additive_increase() {
        let mut alone = Alone::new(law());
        let mut rest = 0;
        for _ in 0..60_000 {
            let rate = alone.window.rate_bps(&alone.law);
            let bits = PACKET * 8_000_000_000_000 + rest;
            rest = bits % rate;
            alone.answer(bits / rate, 147);
        }
        let rate = alone.window.rate_bps(&alone.law);
        assert!(rate.abs_diff(95_050_000_000) < 10_000_000, "{rate}");
        let u = alone.u_billionths();
        assert!(u.abs_diff(950_492_308) < 2_000, "{u}");
        let found = alone.thousandths();
        assert!(found.abs_diff(154_455_000) < 500, "{found}");
    }

    #[test]
    fn a_queue_of_half_a_product_and_a_full_link_are_one_and_a_half() {
        let mut window = Window::new(&law());
        let queue = (PRODUCT / 2) as u32;
        // A whole base round trip later.
        window.answered(&law(), (1, 100), &of(&[hop(0, 0, queue)]));
        window.answered(&law(), (2, 100), &of(&[hop(13_000_000, PRODUCT, queue + 9_000)]));
        assert_eq!(window.utilisation(), UTILISATION_ONE * 3 / 2);
        // 102,996.67 B.
        assert_eq!(window.value * 100 / PARTS, 10_299_666);
        // Later still: the weight is one at most.
        window.answered(&law(), (3, 100), &of(&[hop(39_000_000, 3 * PRODUCT, queue)]));
        assert_eq!(window.utilisation(), UTILISATION_ONE * 3 / 2);
    }

    /// The busiest link counts, by its own rate and time.
    #[test]
    fn the_busiest_link_decides() {
        let at = |port, gbps, at_us: u64, sent, queue| Hop {
            port,
            rate: BitRate::from_gbps(gbps),
            ..hop(at_us * 1_000_000, sent, queue)
        };
        let mut window = Window::new(&law());
        window.answered(&law(), (1, 9), &of(&[at(1, 100, 0, 0, 0), at(2, 400, 0, 0, 0)]));
        // 65,000 B in 13 us are 40 Gb/s; 455,000 B in 14 us are 260 Gb/s, 65 % of 400.
        let second = of(&[at(1, 100, 13, 65_000, 0), at(2, 400, 14, 455_000, 0)]);
        window.answered(&law(), (2, 9), &second);
        assert_eq!(window.utilisation(), UTILISATION_ONE * 13 / 20);
        // 130,000 B in 13 us are 80 Gb/s, 80 % of 100, and more than 65 % of 400.
        let third = of(&[at(1, 100, 26, 195_000, 0), at(2, 400, 28, 910_000, 0)]);
        window.answered(&law(), (3, 9), &third);
        assert_eq!(window.utilisation(), UTILISATION_ONE * 4 / 5);
    }

    /// Wc 10,000 and U 0.5: with maxStage 5 five updates add 80 B each, and the sixth multiplies.
    #[test]
    fn additive_increases_come_between_multiplicative_ones() {
        let run = |max_stage, updates: u32| {
            let law = Law { max_stage, ..law() };
            let mut window = Window::new(&law);
            window.answered(&law, (1, 1), &of(&[hop(0, 0, 0)]));
            window.utilisation = UTILISATION_ONE / 2;
            (window.value, window.reference) = (10_000 * PARTS, 10_000 * PARTS);
            for update in 1..=updates {
                // Half of the link, and each ACK is beyond the last update.
                let (at, sent) = (u64::from(update) * 13_000_000, u64::from(update) * PRODUCT / 2);
                window.answered(&law, (update + 1, update + 1), &of(&[hop(at, sent, 0)]));
                assert_eq!(window.reference, window.value);
            }
            window.bytes()
        };
        assert_eq!((run(5, 1), run(5, 5), run(5, 6)), (10_080, 10_400, 19_840));
        assert_eq!((run(0, 1), run(5, 7)), (19_080, 19_920));
    }

    /// Another path: what the old one said is discarded, and nothing else changes.
    #[test]
    fn another_path_discards_the_last_telemetry() {
        let mut alone = Alone::new(law());
        (2..=200).for_each(|_| alone.answer(AT_LINE_PS * 2, 155));
        let before = (alone.window.value, alone.window.utilisation, alone.window.reference);
        let other = |at, sent| of(&[Hop { port: 9, ..hop(at, sent, 0) }]);
        alone.window.answered(&law(), (201, 300), &other(alone.at_ps + 1_000, 77_000_000));
        let after = (alone.window.value, alone.window.utilisation, alone.window.reference);
        assert_eq!(after, before, "stored");
        alone.window.answered(&law(), (202, 300), &other(alone.at_ps + 101_000, 77_000_100));
        assert!(alone.window.utilisation < before.1, "100 B in 100 ns are 8 Gb/s");
    }

    #[test]
    fn telemetry_that_is_not_newer_changes_nothing() {
        let mut alone = Alone::new(law());
        (2..=200).for_each(|_| alone.answer(AT_LINE_PS * 2, 155));
        let before = (alone.window.value, alone.window.utilisation);
        for at in [alone.at_ps, alone.at_ps - 1_000] {
            alone.window.answered(&law(), (201, 300), &of(&[hop(at, 0, 1_000_000)]));
        }
        alone.window.answered(&law(), (201, 300), &of(&[]));
        assert_eq!((alone.window.value, alone.window.utilisation), before);
    }

    /// HPCC 4.1: 17 bits of 80 B, 20 bits of 128 B, 24 bits of nanoseconds; time and bytes wrap.
    #[test]
    fn units_of_the_header_are_cut_and_wrap() {
        let last = hop(16_777_214_999, 134_217_727, 159);
        let new = hop(16_777_300_100, 134_217_728 + 1_100, 159);
        assert_eq!(between(Units::Exact, &last, &new), Some((85_101, 1_101, 159)));
        // 16,777,214 ns to 84 ns, 1,048,575 to 8, one unit of a queue.
        assert_eq!(between(Units::Header, &last, &new), Some((86_000, 9 * 128, 80)));
        let late = hop(16_777_216_000 + 5_999, 134_217_728 + 300, 0);
        assert_eq!(between(Units::Header, &hop(0, 0, 0), &late), Some((5_000, 256, 0)));
    }

    proptest! {
        /// Whatever telemetry says, window and rate keep their bounds.
        #[test]
        fn a_window_keeps_its_bounds(
            answers in prop::collection::vec(
                (0u64..40_000_000, 0u64..10_000_000, any::<u32>(), 1u64..4, 0u32..3), 1..80),
            max_stage in 0u32..6,
            header in any::<bool>(),
            is_idle in any::<bool>(),
        ) {
            let units = if header { Units::Header } else { Units::Exact };
            let law = Law { max_stage, units, ..law() };
            let mut window = Window::new(&law);
            let (mut at, mut sent) = (0, 0);
            for (place, (tau, bytes, queue, rate, port)) in (1..).zip(answers) {
                let (bytes, queue) = if is_idle { (bytes % 2_000, 0) } else { (bytes, queue) };
                at += tau;
                sent += bytes;
                let rate = BitRate::from_gbps(rate * 100);
                let hop = Hop { port: port / 2, rate, ..hop(at, sent, queue) };
                window.answered(&law, (place, place + 3), &of(&[hop]));
                prop_assert!((1_250 * 13 / 100..=PRODUCT).contains(&window.bytes()), "{}", window.bytes());
                let rate = window.rate_bps(&law);
                prop_assert!((98_000_000..=100_000_000_000).contains(&rate), "{rate}");
            }
        }
    }
}
