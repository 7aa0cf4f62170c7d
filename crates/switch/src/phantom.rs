//! The phantom queue (HULL 2.1, 5.1): a counter that drains slower than the link, and marks.
//!
//! A link of 1 Gb/s is full. Its real queue stays empty, and the phantom queue, which drains at 950 Mb/s, grows by 53
//! bytes a packet:
//!
//! ```
//! use trimline_packet::fluid::Clock;
//! use trimline_packet::testing::packet;
//! use trimline_packet::{BitRate, Packet, Service, Time, TimeDelta};
//! use trimline_switch::phantom::{PhantomQueue, PhantomSettings};
//!
//! let settings = PhantomSettings { clock: Clock::Continuous, ..PhantomSettings::testbed() };
//! let model = settings.check(BitRate::from_gbps(1)).unwrap();
//! let mut phantom = PhantomQueue::new();
//! let mut now = Time::ZERO;
//! let first_marked = (1..).find(|&number| {
//!     let mut passing = packet(Service::Droppable, 1514, number);
//!     passing.marks = Packet::MARK_ECT;
//!     let is_marked = phantom.pass(now, &mut passing, &model);
//!     now += TimeDelta::from_ns(12_304); // 1538 bytes with preamble and gap
//!     is_marked
//! });
//! assert_eq!(first_marked, Some(20), "it finds more than 1 KB");
//! ```

use alloc::format;
use alloc::vec::Vec;

use trimline_packet::fluid::{Clock, Volume};
use trimline_packet::{BitRate, ByteCount, Packet, SettingFault, Time, TimeDelta};

/// The link rate of HULL's large simulation (6.3): the paper's fastest with settings.
const SIMULATED_AT: BitRate = BitRate::from_gbps(10);

/// Settings of a link's phantom queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhantomSettings {
    /// Drain rate of the counter: the link's rate times the paper's gamma.
    pub drain: BitRate,
    /// A packet that finds more than this in the counter is marked.
    pub threshold: ByteCount,
    /// The times at which the counter falls.
    pub clock: Clock,
}

impl PhantomSettings {
    /// The testbed's settings, for 1 Gb/s: 950 Mb/s and 1 KB (HULL table 3), every 800 ns (5.1).
    pub const fn testbed() -> PhantomSettings {
        PhantomSettings {
            drain: BitRate::from_bps(950_000_000),
            threshold: ByteCount::new(1000),
            clock: Clock::Tick(TimeDelta::from_ns(800)),
        }
    }

    /// The large simulation's settings, for 10 Gb/s: 9.5 Gb/s (HULL 6.3). Threshold: the testbed's (chosen; not in the
    /// paper), about a round trip's surplus at a full link in both.
    pub const fn simulated() -> PhantomSettings {
        PhantomSettings {
            drain: BitRate::from_bps(9_500_000_000),
            clock: Clock::Continuous,
            ..PhantomSettings::testbed()
        }
    }

    /// The threshold for a link: 1 KB up to 10 Gb/s; above, the time of 1 KB at 10 Gb/s (chosen: the paper has no
    /// faster link).
    pub fn threshold_for(link: BitRate) -> ByteCount {
        let base = PhantomSettings::simulated().threshold;
        ByteCount::new(link.scale(base.get(), SIMULATED_AT))
    }

    /// Checks the settings for a link of this rate.
    ///
    /// # Errors
    /// Returns the first invalid setting.
    pub fn check(&self, link: BitRate) -> Result<PhantomModel, SettingFault> {
        if self.drain >= link {
            let reason = format!("is not below the link's {link}: nothing would ever be marked");
            let nearest = link.as_bps().saturating_sub(link.as_bps() / 20);
            let fault = SettingFault::new("drain", self.drain, reason);
            return Err(if nearest > 0 && nearest < link.as_bps() {
                fault.nearest(BitRate::from_bps(nearest))
            } else {
                fault
            });
        }
        if self.threshold == ByteCount::ZERO {
            let reason = "marks whatever follows another packet, at any load";
            return Err(SettingFault::new("threshold", self.threshold, reason).nearest("1 B"));
        }
        if self.clock == Clock::Tick(TimeDelta::ZERO) {
            return Err(SettingFault::new("clock", "a tick of no time", "never comes")
                .nearest("continuous"));
        }
        Ok(PhantomModel {
            drain: self.drain,
            threshold: Volume::of(self.threshold),
            clock: self.clock,
        })
    }

    /// Allowed but suspicious settings.
    pub fn warnings(&self) -> Vec<SettingFault> {
        let mut warnings = Vec::new();
        if let Clock::Tick(tick) = self.clock {
            let portion = self.drain.bytes_in(tick);
            if portion > self.threshold {
                let reason = format!(
                    "drains {portion} at once, more than the threshold of {}: marks follow the ticks",
                    self.threshold
                );
                warnings.push(SettingFault::new("clock", format!("a tick of {tick}"), reason));
            }
        }
        warnings
    }
}

/// Checked settings, shared by links of one rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhantomModel {
    drain: BitRate,
    threshold: Volume,
    clock: Clock,
}

/// The phantom queue of a link: 32 bytes, and no packet. It delays nothing.
///
/// It counts bytes as the link's port does ([`Packet::wire_bytes`]): frames, without preamble and gap (HULL 5.1: the
/// counter is incremented upon receiving a packet).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PhantomQueue {
    length: Volume,
    at: Time,
}

impl PhantomQueue {
    /// An empty phantom queue.
    pub const fn new() -> PhantomQueue {
        PhantomQueue { length: Volume::ZERO, at: Time::ZERO }
    }

    /// Counts a packet whose transmission starts. `now` never falls. Returns whether this call marked it.
    ///
    /// Packets without ECN count, and are never marked.
    #[inline]
    pub fn pass(&mut self, now: Time, packet: &mut Packet, model: &PhantomModel) -> bool {
        let found = self.fill(now, ByteCount::new(packet.wire_bytes.into()), model);
        // HULL 2.1: packets are marked when the counter is above the threshold. What the packet finds is compared, not
        // what it leaves: table 3's 1 KB would else mark every full packet.
        let is_new = found > model.threshold
            && packet.marks & (Packet::MARK_ECT | Packet::MARK_CE) == Packet::MARK_ECT;
        if is_new {
            packet.marks |= Packet::MARK_CE;
        }
        is_new
    }

    /// Adds bytes, and returns the length before.
    #[inline]
    fn fill(&mut self, now: Time, bytes: ByteCount, model: &PhantomModel) -> Volume {
        let found = self.length_at(now, model);
        self.length = found.saturating_add(Volume::of(bytes));
        self.at = self.at.max(now);
        found
    }

    #[inline]
    fn length_at(&self, now: Time, model: &PhantomModel) -> Volume {
        self.length.saturating_sub(model.clock.moved(model.drain, self.at, now))
    }

    /// Sets the clock back: `now` falls once by `by`, and the counter stays. Ticks start anew unless `by` is a
    /// multiple.
    pub const fn set_back(&mut self, by: TimeDelta) {
        self.at = self.at.set_back(by);
    }

    /// The counter in whole bytes. `now` is not before the last packet's.
    pub fn bytes(&self, now: Time, model: &PhantomModel) -> ByteCount {
        self.length_at(now, model).whole_bytes()
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec::Vec;

    use proptest::prelude::*;
    use trimline_packet::Service;

    use super::*;
    use crate::testing::packet;

    const GIGABIT: BitRate = BitRate::from_gbps(1);

    fn settings(clock: Clock) -> PhantomSettings {
        PhantomSettings { clock, ..PhantomSettings::testbed() }
    }

    fn model(clock: Clock) -> PhantomModel {
        settings(clock).check(GIGABIT).expect("the paper's")
    }

    /// Numbers, from 1, of the marked packets among `count` that are `gap_ns` apart.
    fn marked(clock: Clock, (count, bytes, gap_ns): (u64, u16, u64), marks: u8) -> Vec<u64> {
        let (model, mut phantom) = (model(clock), PhantomQueue::new());
        let mut pass = |number: &u64| {
            let mut passing = packet(Service::Droppable, bytes, 0);
            passing.marks = marks;
            let now = Time::from_ps((number - 1) * gap_ns * 1000);
            let is_new = phantom.pass(now, &mut passing, &model);
            assert_eq!(passing.marks & Packet::MARK_CE != marks & Packet::MARK_CE, is_new);
            is_new
        };
        (1..=count).filter(|number| pass(number)).collect()
    }

    /// HULL table 3: with 1 KB a packet on an idle link is not marked, nor one that follows after the first has
    /// drained.
    #[test]
    fn a_packet_on_an_idle_link_is_not_marked() {
        assert_eq!(marked(Clock::Continuous, (1, 1514, 0), Packet::MARK_ECT), []);
        assert_eq!(marked(Clock::Continuous, (100, 1514, 12_749), Packet::MARK_ECT), []);
    }

    /// HULL 2.1: at 1 Gb/s with a drain of 950 Mb/s a full link gains 52.9 B per frame of 1514 B in 1538 B of time.
    /// From the twentieth, which finds 1005 B, all packets find more than 1 KB.
    #[test]
    fn the_twentieth_packet_back_to_back_is_the_first_marked() {
        let found = marked(Clock::Continuous, (100, 1514, 12_304), Packet::MARK_ECT);
        assert_eq!(found, (20..=100).collect::<Vec<_>>());
    }

    /// A packet that finds exactly the threshold is not marked: 1000 B behind 1000 B.
    #[test]
    fn a_counter_at_the_threshold_does_not_mark() {
        let found = marked(Clock::Continuous, (3, 1000, 0), Packet::MARK_ECT);
        assert_eq!(found, [3]);
    }

    /// Packets without ECN fill the counter too (HULL 2.1: link utilization), and others are marked for it.
    #[test]
    fn packets_without_ecn_count_and_are_not_marked() {
        assert_eq!(marked(Clock::Continuous, (100, 1514, 0), 0), []);
        let (model, mut phantom) = (model(Clock::Continuous), PhantomQueue::new());
        let mut plain = packet(Service::Droppable, 1514, 0);
        let mut ecn = Packet { marks: Packet::MARK_ECT, ..plain };
        assert!(!phantom.pass(Time::ZERO, &mut plain, &model));
        assert!(phantom.pass(Time::ZERO, &mut ecn, &model));
    }

    #[test]
    fn a_marked_packet_is_not_marked_again() {
        let both = Packet::MARK_ECT | Packet::MARK_CE;
        assert_eq!(marked(Clock::Continuous, (100, 1514, 0), both), []);
    }

    /// HULL 5.1: 950 Mb/s drain 95 B every 800 ns, and nothing between.
    #[test]
    fn a_tick_drains_at_its_instant() {
        let model = model(Clock::Tick(TimeDelta::from_ns(800)));
        let mut phantom = PhantomQueue::new();
        phantom.pass(Time::from_ps(799_999), &mut packet(Service::Droppable, 1000, 0), &model);
        let bytes = |ps| phantom.bytes(Time::from_ps(ps), &model).get();
        assert_eq!([799_999, 800_000, 1_599_999, 1_600_000].map(bytes), [1000, 905, 905, 810]);
        assert_eq!(bytes(1_000_000_000), 0);
    }

    /// Setting a driver's clock back by a second shifts the counter by a second.
    #[test]
    fn a_clock_that_is_set_back_changes_nothing() {
        let second = TimeDelta::from_ms(1000);
        let model = model(Clock::Tick(TimeDelta::from_ns(800)));
        let at = |us| Time::ZERO + second + TimeDelta::from_us(us);
        let mut phantom = PhantomQueue::new();
        phantom.pass(at(0), &mut packet(Service::Droppable, 1514, 0), &model);
        let mut back = phantom;
        back.set_back(second);
        for us in [0, 1, 7, 12, 13, 100] {
            assert_eq!(back.bytes(at(us).set_back(second), &model), phantom.bytes(at(us), &model));
        }
    }

    proptest! {
        /// The counter stays within one tick's bytes of the continuous drain.
        #[test]
        fn ticks_agree_with_the_continuous_drain(
            steps in prop::collection::vec((0u64..30_000_000, 64u16..=9064), 1..400),
            tick_ps in 1u64..5_000_000,
            bits in 1_000_000u64..1_000_000_000,
        ) {
            let settings = |clock| PhantomSettings {
                drain: BitRate::from_bps(bits), threshold: ByteCount::new(1000), clock,
            };
            let tick = TimeDelta::from_ps(tick_ps);
            let models = [Clock::Continuous, Clock::Tick(tick)]
                .map(|clock| settings(clock).check(GIGABIT).expect("below the link's"));
            let mut phantoms = [PhantomQueue::new(); 2];
            let portion = Volume::flowed(BitRate::from_bps(bits), tick);
            let mut now = Time::ZERO;
            for (gap, bytes) in steps {
                now += TimeDelta::from_ps(gap);
                let [exact, ticked] =
                    [0, 1].map(|place| phantoms[place].length_at(now, &models[place]));
                prop_assert!(exact <= ticked.saturating_add(portion));
                prop_assert!(ticked <= exact.saturating_add(portion));
                for (phantom, model) in phantoms.iter_mut().zip(&models) {
                    phantom.pass(now, &mut packet(Service::Droppable, bytes, 0), model);
                }
            }
        }

        /// The counter equals the queue of a link of the drain rate, computed over the whole past in parts of a byte.
        #[test]
        fn the_counter_equals_the_queue_of_a_slower_link(
            steps in prop::collection::vec((0u64..20_000_000, 64u16..=1538), 1..200),
            bits in 1u64..1_000_000_000,
        ) {
            let settings = PhantomSettings {
                drain: BitRate::from_bps(bits), ..settings(Clock::Continuous)
            };
            let model = settings.check(GIGABIT).expect("below the link's");
            let mut phantom = PhantomQueue::new();
            let mut passed: Vec<(u64, u64)> = Vec::new();
            let mut now = 0u64;
            for (gap, bytes) in steps {
                now += gap;
                // The max backlog over all starting points: all bytes since, less all that could leave since.
                let mut sum = 0i128;
                let mut expected = 0i128;
                for &(at, bytes) in passed.iter().rev() {
                    sum += i128::from(bytes) * 8_000_000_000_000;
                    expected = expected.max(sum - i128::from(now - at) * i128::from(bits));
                }
                let mut passing = packet(Service::Droppable, bytes, 0);
                passing.marks = Packet::MARK_ECT;
                let is_marked = phantom.pass(Time::from_ps(now), &mut passing, &model);
                prop_assert_eq!(is_marked, expected > 1000 * 8_000_000_000_000);
                passed.push((now, bytes.into()));
            }
        }
    }

    fn check(change: impl FnOnce(&mut PhantomSettings), expected: &str) {
        let mut settings = PhantomSettings::testbed();
        change(&mut settings);
        let said =
            settings.check(GIGABIT).map_or_else(|fault| fault.to_string(), |_| "right".into());
        assert_eq!(said, expected);
    }

    #[test]
    fn an_invalid_phantom_queue_is_refused() {
        check(|_| {}, "right");
        check(
            |settings| settings.drain = GIGABIT,
            "`drain` of 1 Gb/s is not below the link's 1 Gb/s: nothing would ever be marked; nearest: 950 Mb/s",
        );
        check(
            |settings| settings.threshold = ByteCount::ZERO,
            "`threshold` of 0 B marks whatever follows another packet, at any load; nearest: 1 B",
        );
        check(
            |settings| settings.clock = Clock::Tick(TimeDelta::ZERO),
            "`clock` of a tick of no time never comes; nearest: continuous",
        );
        let tenfold = PhantomSettings::simulated();
        assert!(tenfold.check(BitRate::from_gbps(10)).is_ok() && tenfold.warnings().is_empty());
    }

    #[test]
    fn a_threshold_scales_with_the_link_rate() {
        let of = |gbps| PhantomSettings::threshold_for(BitRate::from_gbps(gbps)).get();
        assert_eq!([of(1), of(10), of(25), of(400)], [1_000, 1_000, 2_500, 40_000]);
    }

    #[test]
    fn a_tick_of_more_than_the_threshold_is_warned_of() {
        assert_eq!(PhantomSettings::testbed().warnings(), []);
        let coarse = settings(Clock::Tick(TimeDelta::from_us(10)));
        let said: Vec<_> = coarse.warnings().iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "`clock` of a tick of 10.000000 us drains 1187 B at once, more than the threshold of 1000 B: marks follow the ticks"
            ]
        );
    }

    #[test]
    fn a_phantom_queue_fits_half_a_cache_line() {
        assert_eq!(size_of::<PhantomQueue>(), 32);
    }
}
