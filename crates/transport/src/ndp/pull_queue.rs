//! The one pull queue of a host and its pacer (NDP 3.2).
//!
//! All receive streams share it: strict priority between four classes, round robin between the connections of a class.
//! Each stream counts its queued pulls; the queue is a ring per class of streams that have any. So the pull of a
//! connection that sends seldom goes out after at most one pull of each other connection (NDP 6.2, sender-limited
//! traffic).
//!
//! # The pacer
//! After a pull the next one is due when the elicited packet has had its time on the link. A pull that found the NIC
//! busy counts from when it was due, so that the mean rate stays the link's; but not from before it was queued, and at
//! most [`LATE_PULLS`] go without spacing.

use alloc::boxed::Box;

use rand_xoshiro::rand_core::RngCore;
use trimline_packet::{BitRate, ByteCount, Packet, Time, TimeDelta};

use super::config::{Config, PullGaps, PullSpacing};
use super::core_rate::Core;
use super::starvation::Starvation;
use crate::round_robin::{Linked, RoundRobin};
use crate::timers::{doubled, set_back};

/// Max pulls without spacing after the NIC was busy long (chosen: 8, the queue of a switch port in the paper).
const LATE_PULLS: u64 = 8;

/// The time between two pulls, by the payload of the first one's packet.
#[derive(Clone, Debug)]
pub(super) struct Gaps {
    /// The length with a constant gap: beyond any length when gaps are drawn.
    full_length: u32,
    payload_bytes: u16,
    starvation: Starvation,
    full: TimeDelta,
    rule: Box<Rule>,
    core: Option<Core>,
}

#[derive(Clone, Debug)]
struct Rule {
    rate: BitRate,
    framing: ByteCount,
    spacing: PullSpacing,
    drawn: Option<PullGaps>,
}

impl Gaps {
    pub(super) fn new(config: &Config) -> Gaps {
        let mut gaps = Gaps {
            full_length: match config.pull_gaps {
                None => u32::from(config.payload_bytes),
                Some(_) => u32::MAX,
            },
            payload_bytes: config.payload_bytes,
            starvation: Starvation::default(),
            core: None,
            full: TimeDelta::ZERO,
            rule: Box::new(Rule {
                rate: config.link_rate,
                framing: ByteCount::new(u64::from(config.framing_bytes)),
                spacing: config.pull_spacing,
                drawn: config.pull_gaps.clone(),
            }),
        };
        gaps.full = gaps.compute(config.payload_bytes);
        gaps.core = config.core_rate.map(|rule| Core::new(rule, gaps.full));
        gaps
    }

    #[inline]
    pub(super) fn arrived(&mut self) {
        if self.starvation.whole() {
            self.full = self.slowed(self.compute(self.payload_bytes));
        }
    }

    /// Records a pull for a packet with this payload. Returns the gap after it.
    #[inline]
    pub(super) fn pulled(&mut self, length: u16) -> TimeDelta {
        if self.starvation.pulled() {
            self.full = self.slowed(self.compute(self.payload_bytes));
        }
        self.after(length)
    }

    pub(super) fn set_back(&mut self, by: TimeDelta) {
        self.core.iter_mut().for_each(|core| core.set_back(by));
    }

    /// Core rate: records a whole packet.
    #[cold]
    pub(super) fn heed_whole(&mut self, now: Time, was_pulled: bool) {
        if let Some(core) = &mut self.core {
            core.arrived(now);
            if was_pulled && core.passed() {
                self.full = self.slowed(self.compute(self.payload_bytes));
            }
        }
    }

    /// Core rate: records a pulled packet trimmed in the core or by the last switch.
    #[cold]
    pub(super) fn heed_header(&mut self, now: Time, is_last_hop: bool) {
        let changed = self.core.as_mut().is_some_and(|core| match is_last_hop {
            true => core.passed(),
            false => core.cut(now),
        });
        if changed {
            self.full = self.slowed(self.compute(self.payload_bytes));
        }
    }

    fn slowed(&self, gap: TimeDelta) -> TimeDelta {
        let gap = doubled(gap, self.starvation.doublings());
        self.core.as_ref().map_or(gap, |core| core.slowed(gap))
    }

    /// The gap of a full packet at the link's rate; draws nothing.
    pub(super) fn of_full(&self) -> TimeDelta {
        self.compute(self.payload_bytes)
    }

    /// The gap after a pull for a packet with this payload.
    #[inline]
    pub(super) fn after(&mut self, length: u16) -> TimeDelta {
        if u32::from(length) == self.full_length { self.full } else { self.other(length) }
    }

    /// The gap of a packet that is not full, or a drawn one.
    #[inline(never)]
    fn other(&mut self, length: u16) -> TimeDelta {
        let gap = self.unslowed(length);
        self.slowed(gap)
    }

    fn unslowed(&mut self, length: u16) -> TimeDelta {
        let Some(PullGaps { steps, stream }) = &mut self.rule.drawn else {
            return self.compute(length);
        };
        let share = (stream.next_u64() >> 32) as u32;
        let step = steps.partition_point(|step| step.share <= share).min(steps.len() - 1);
        let full = u128::from(steps[step].gap.as_ps());
        if length == self.payload_bytes {
            return steps[step].gap;
        }
        // A shorter packet has a proportional gap, by wire bytes.
        let wire = |length: u16| u128::from(length) + u128::from(Packet::HEADER_BYTES);
        TimeDelta::from_ps((full * wire(length)).div_ceil(wire(self.payload_bytes)) as u64)
    }

    fn compute(&self, length: u16) -> TimeDelta {
        let payload = ByteCount::new(u64::from(length));
        let wire = payload + ByteCount::new(u64::from(Packet::HEADER_BYTES)) + self.rule.framing;
        let rate = self.rule.rate;
        match self.rule.spacing {
            // NDP 3.2-f: the time of the packet that is pulled on the receiver's link.
            PullSpacing::WireBytes => rate.transmission(wire),
            PullSpacing::PayloadBytes => rate.transmission(payload),
            PullSpacing::WireBytesScaled { percent } => {
                let whole = rate.transmission(wire).as_ps() as u128;
                TimeDelta::from_ps((whole * u128::from(percent)).div_ceil(100) as u64)
            }
        }
    }
}

#[derive(Debug)]
pub(super) struct PullQueue {
    /// Streams with queued pulls, by class.
    classes: [RoundRobin; 4],
    queued: u32,
    /// Time from which the next pull may be sent.
    next: Time,
    /// Time when the queue became non-empty.
    waiting_since: Time,
    /// Fewer queued pulls than this wait for others.
    together: u32,
    /// Max wait of the first pull.
    wait: TimeDelta,
    /// Payload bytes of a turn ([`Config::turn`]).
    turn: u32,
    /// Bytes asked for in the turn of each class's head.
    asked: [u32; 4],
}

/// Pulls of one stream that go together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    /// The time of the packets that they ask for.
    pub(super) gap: TimeDelta,
    pub(super) count: u32,
    /// Payload bytes that they ask for.
    pub(super) bytes: u32,
    /// True if they were the stream's last.
    pub(super) leaves: bool,
}

impl PullQueue {
    /// An empty queue whose pacer is due, with pulls one by one.
    pub(super) const EMPTY: PullQueue = PullQueue {
        classes: [RoundRobin::EMPTY; 4],
        queued: 0,
        next: Time::ZERO,
        waiting_since: Time::ZERO,
        together: 1,
        wait: TimeDelta::ZERO,
        turn: 0,
        asked: [0; 4],
    };

    /// Creates a queue whose pulls go together, or when as many would have been due. `gap` is for one.
    pub(super) fn new(config: &Config, gap: TimeDelta) -> PullQueue {
        let together = u32::from(config.ack_every);
        let wait = gap * u64::from(together - 1);
        PullQueue { together, wait, turn: config.turn, ..PullQueue::EMPTY }
    }

    #[inline]
    pub(super) const fn queued(&self) -> u32 {
        self.queued
    }

    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.queued == 0
    }

    /// Time when the next queued pull is due, or [`Time::NEVER`].
    #[inline]
    pub(super) fn due(&self) -> Time {
        if self.queued == 0 {
            Time::NEVER
        } else if self.queued >= self.together {
            self.next
        } else {
            self.next.max(self.waiting_since.saturating_add(self.wait))
        }
    }

    /// NDP 3.2-q, footnote 4: returns whether a pull may ride in its ACK or NACK.
    #[inline]
    pub(super) fn may_ride(&self, now: Time) -> bool {
        self.queued == 0 && now >= self.next
    }

    /// Records a pull that rode; the next one keeps its distance.
    #[inline]
    pub(super) fn rode(&mut self, now: Time, gap: TimeDelta) {
        self.next = now + gap;
    }

    pub(super) fn set_back(&mut self, by: TimeDelta) {
        set_back(&mut self.next, by);
        set_back(&mut self.waiting_since, by);
    }

    /// Counts a queued pull. If its stream had no other, [`PullQueue::join`] follows.
    #[inline]
    pub(super) fn add(&mut self, now: Time) {
        if self.queued == 0 {
            self.waiting_since = now;
        }
        self.queued += 1;
    }

    pub(super) fn join(&mut self, table: &mut [impl Linked], slot: u32, class: u8) {
        self.classes[class as usize].join(table, slot);
    }

    /// Removes `count` superfluous pulls of a stream. `leaves`: they were its last.
    pub(super) fn remove(
        &mut self,
        table: &mut [impl Linked],
        slot: u32,
        class: u8,
        count: u32,
        leaves: bool,
    ) {
        self.queued -= count;
        if leaves {
            self.leave(table, slot, class);
        }
    }

    fn leave(&mut self, table: &mut [impl Linked], slot: u32, class: u8) {
        let ring = &mut self.classes[class as usize];
        if ring.head() == slot {
            self.asked[class as usize] = 0;
        }
        ring.leave(table, slot);
    }

    pub(super) fn reclassify(&mut self, table: &mut [impl Linked], slot: u32, old: u8, new: u8) {
        self.leave(table, slot, old);
        self.classes[new as usize].join(table, slot);
    }

    /// Returns the stream whose pull is next, and its class. NDP 3.2-h, 6.2-b: a higher class goes first.
    #[inline]
    pub(super) fn head(&self) -> (u32, u8) {
        let mut class = 3;
        while self.classes[class].is_empty() {
            assert!(class > 0, "a queued pull belongs to a half in a ring");
            class -= 1;
        }
        (self.classes[class].head(), class as u8)
    }

    #[inline]
    pub(super) fn sent(
        &mut self,
        now: Time,
        table: &mut [impl Linked],
        class: u8,
        Sent { gap, count, bytes, leaves }: Sent,
    ) {
        self.queued -= count;
        if leaves {
            self.leave(table, self.classes[class as usize].head(), class);
        } else if self.turn == 0 || self.ends_turn(class, bytes) {
            // NDP 3.2-g, 6.2-a: one pull of each connection in turn.
            self.classes[class as usize].turn(table);
        }
        // NDP 3.2-r: from when it was due, and not from long ago.
        let due = self.next.max(self.waiting_since);
        let late = gap.as_ps().saturating_mul(LATE_PULLS - 1) / u64::from(count);
        let floor = now.as_ps().saturating_sub(late);
        self.next = due.max(Time::from_ps(floor)) + gap;
    }

    /// Returns whether `bytes` more fill the turn of a class's head.
    pub(super) fn fills_turn(&self, class: u8, bytes: u32) -> bool {
        self.turn > 0 && self.asked[class as usize].saturating_add(bytes) >= self.turn
    }

    /// Adds bytes to the turn of a class's head. Returns whether the turn ends.
    #[cold]
    fn ends_turn(&mut self, class: u8, bytes: u32) -> bool {
        let ends = self.fills_turn(class, bytes);
        let asked = &mut self.asked[class as usize];
        *asked = if ends { 0 } else { asked.saturating_add(bytes) };
        ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::round_robin::Links;
    use alloc::vec::Vec;

    fn config(pull_spacing: PullSpacing) -> Config {
        Config { pull_spacing, ..crate::ndp::tests::config() }
    }

    /// NDP 3.2-f.
    #[test]
    fn pull_gaps_are_exact() {
        let gap = |spacing, length| Gaps::new(&config(spacing)).after(length).as_ps();
        assert_eq!(gap(PullSpacing::WireBytes, 9000), 7_251_200);
        assert_eq!(gap(PullSpacing::WireBytes, 1000), 851_200);
        assert_eq!(gap(PullSpacing::PayloadBytes, 9000), 7_200_000);
        assert_eq!(gap(PullSpacing::WireBytesScaled { percent: 101 }, 9000), 7_323_712);
        // Preamble and gap of Ethernet: 16 ns more at 10 Gb/s, for any packet.
        let framed = Config { framing_bytes: 20, ..config(PullSpacing::WireBytes) };
        assert_eq!(Gaps::new(&framed).after(9000).as_ps(), 7_267_200);
        assert_eq!(Gaps::new(&framed).after(1000).as_ps(), 867_200);
    }

    #[test]
    fn drawn_pull_gaps_follow_their_distribution() {
        use crate::ndp::config::PullGap;
        use rand_xoshiro::rand_core::SeedableRng;
        let step = |share, us| PullGap { share, gap: TimeDelta::from_us(us) };
        let pull_gaps = PullGaps {
            steps: [step(1 << 30, 5), step(3 << 30, 7), step(u32::MAX, 9)].into(),
            stream: crate::RngStream::seed_from_u64(1),
        };
        let config = Config { pull_gaps: Some(pull_gaps), ..config(PullSpacing::WireBytes) };
        let mut gaps = Gaps::new(&config);
        let mut counts = [0; 10];
        for _ in 0..40_000 {
            counts[(gaps.after(9000).as_ps() / 1_000_000) as usize] += 1;
        }
        assert_eq!(counts.iter().sum::<i32>(), counts[5] + counts[7] + counts[9]);
        for (us, expected) in [(5, 10_000), (7, 20_000), (9, 10_000)] {
            assert!((expected - 500..expected + 500).contains(&counts[us]), "{counts:?}");
        }
        // Half of the wire bytes, half of the time.
        let side = gaps.after(9000 / 2 - 32).as_ps();
        assert!([2_500_000, 3_500_000, 4_500_000].contains(&side), "{side}");
    }

    const GAP: TimeDelta = TimeDelta::from_us(7);

    /// One pull for a packet of 9000 B.
    fn one(leaves: bool) -> Sent {
        Sent { gap: GAP, count: 1, bytes: 9000, leaves }
    }

    fn at(us: u64) -> Time {
        Time::from_ps(us * 1_000_000)
    }

    #[test]
    fn a_pull_that_found_the_nic_busy_does_not_delay_the_next() {
        let mut table = [Links::OUTSIDE; 1];
        let mut queue = PullQueue::EMPTY;
        queue.join(&mut table, 0, 0);
        (0..3).for_each(|_| queue.add(at(0)));
        queue.sent(at(5), &mut table, 0, one(false));
        assert_eq!(queue.due(), at(7));
        queue.sent(at(13), &mut table, 0, one(false));
        assert_eq!(queue.due(), at(14));
    }

    /// NDP 3.2-r.
    #[test]
    fn after_a_busy_nic_at_most_eight_pulls_catch_up() {
        let mut table = [Links::OUTSIDE; 1];
        let mut queue = PullQueue::EMPTY;
        queue.join(&mut table, 0, 0);
        (0..100).for_each(|_| queue.add(at(0)));
        let mut sent = 0;
        while queue.due() <= at(10_000) {
            queue.sent(at(10_000), &mut table, 0, one(false));
            sent += 1;
        }
        assert_eq!(sent, 8);
    }

    /// NDP 3.2-r.
    #[test]
    fn an_idle_pull_pacer_saves_no_credit() {
        let mut table = [Links::OUTSIDE; 1];
        let mut queue = PullQueue::EMPTY;
        queue.join(&mut table, 0, 0);
        (0..2).for_each(|_| queue.add(at(100)));
        queue.sent(at(100), &mut table, 0, one(false));
        assert_eq!(queue.due(), at(107));
    }

    /// NDP 3.2-g, 3.2-h.
    #[test]
    fn higher_classes_are_pulled_first_and_streams_of_a_class_in_turn() {
        let mut table = [Links::OUTSIDE; 4];
        let mut queue = PullQueue::EMPTY;
        let classes = [0u8, 2, 0, 2];
        let mut counts = [2u32, 2, 1, 1];
        for slot in 0..4 {
            queue.join(&mut table, slot, classes[slot as usize]);
            (0..counts[slot as usize]).for_each(|_| queue.add(at(0)));
        }
        let mut order = Vec::new();
        while !queue.is_empty() {
            let (slot, class) = queue.head();
            assert_eq!(class, classes[slot as usize]);
            counts[slot as usize] -= 1;
            queue.sent(queue.due(), &mut table, class, one(counts[slot as usize] == 0));
            order.push(slot);
        }
        assert_eq!(order, [1, 3, 1, 0, 2, 0]);
    }

    /// A turn of 9000 B is one pull for 9000 B or six for 1500 B; an unused rest is lost.
    #[test]
    fn a_byte_turn_holds_as_many_pulls_as_fill_it() {
        let mut table = [Links::OUTSIDE; 3];
        let mut queue = PullQueue { turn: 9000, ..PullQueue::EMPTY };
        let (bytes, mut counts) = ([9000, 1500, 1500], [3u32, 14, 4]);
        for slot in 0..3 {
            queue.join(&mut table, slot, 0);
            (0..counts[slot as usize]).for_each(|_| queue.add(at(0)));
        }
        let mut order = Vec::new();
        while !queue.is_empty() {
            let (slot, class) = queue.head();
            let count = &mut counts[slot as usize];
            *count -= 1;
            let sent = Sent { bytes: bytes[slot as usize], ..one(*count == 0) };
            queue.sent(queue.due(), &mut table, class, sent);
            match order.last_mut() {
                Some((last, pulls)) if *last == slot => *pulls += 1,
                _ => order.push((slot, 1)),
            }
        }
        assert_eq!(order, [(0, 1), (1, 6), (2, 4), (0, 1), (1, 6), (0, 1), (1, 2)]);
    }

    /// After a stream that goes in the middle of its turn, the next one has a whole turn.
    #[test]
    fn a_byte_turn_ends_with_its_stream() {
        let mut table = [Links::OUTSIDE; 2];
        let mut queue = PullQueue { turn: 9000, ..PullQueue::EMPTY };
        for slot in 0..2 {
            queue.join(&mut table, slot, 0);
            (0..9).for_each(|_| queue.add(at(0)));
        }
        let small = Sent { bytes: 1500, ..one(false) };
        (0..4).for_each(|_| queue.sent(at(0), &mut table, 0, small));
        queue.remove(&mut table, 0, 0, 5, true);
        queue.join(&mut table, 0, 0);
        queue.add(at(0));
        let turn = (0..7).take_while(|_| {
            let is_second = queue.head().0 == 1;
            queue.sent(at(0), &mut table, 0, small);
            is_second
        });
        assert_eq!(turn.count(), 6);
    }
}
