//! The receiver's queue: which flow gets credit next, how much, and when.
//!
//! Flows that want credit take turns, one PULL each. A flow whose demand is met waits in a second ring: while no flow
//! wants credit, those get it unasked (slow credit), up to the max, so that what they have next need not wait for a
//! round trip. A PULL keeps the next one waiting for the time of the bytes that it grants.

use alloc::vec::Vec;

use trimline_packet::{Time, TimeDelta};

use super::core_rate::Core;
use super::{EMPTY_PULL, QUANTUM, Rule};
use crate::RngStream;
use crate::round_robin::{Links, RoundRobin};

/// PULLs of full size that may go without spacing after the NIC was busy (chosen: as many as NDP's).
const LATE_PULLS: u64 = 8;

/// Quanta of the largest packet.
const OVERDRAFT: i32 = 256;

/// The ring that a flow is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Ring {
    #[default]
    Neither,
    Active,
    Slow,
}

/// A flow's demand and grants, in quanta modulo 2^32.
#[derive(Debug, Default)]
pub(crate) struct Demand {
    granted: u32,
    /// The highest target.
    wanted: u32,
    ring: Ring,
}

impl Demand {
    /// All quanta granted so far.
    pub(crate) const fn granted(&self) -> u32 {
        self.granted
    }

    /// Quanta that it wants beyond those granted; negative: slow credit.
    const fn missing(&self) -> i32 {
        self.wanted.wrapping_sub(self.granted) as i32
    }

    /// Returns the target whose low 16 bits a packet had.
    pub(crate) const fn target_of(&self, low: u16) -> u32 {
        self.granted.wrapping_add_signed(low.wrapping_sub(self.granted as u16) as i16 as i32)
    }

    /// Takes a target. Returns whether it is higher than any before.
    fn raise(&mut self, target: u32, rule: &Rule) -> bool {
        // No sender asks for more than the max and an overdraft; a target beyond is older than 2^15 quanta.
        let is_asked = target.wrapping_sub(self.granted) as i32 <= max_quanta(rule) + OVERDRAFT;
        let is_higher = target.wrapping_sub(self.wanted) as i32 > 0;
        if is_asked && is_higher {
            self.wanted = target;
        }
        is_asked && is_higher
    }
}

/// The max of credit in whole quanta, at least one.
fn max_quanta(rule: &Rule) -> i32 {
    rule.max.div_ceil(QUANTUM) as i32
}

/// The flows of a receiver that get credit, and the pacer.
#[derive(Debug)]
pub(crate) struct Granting {
    active: RoundRobin,
    slow: RoundRobin,
    /// The neighbours of each slot; a flow is in at most one ring.
    links: Vec<Links>,
    /// Time from which the next PULL may go.
    next: Time,
    core: Option<Core>,
}

impl Granting {
    /// `stream` spreads the times at which the rate is adapted.
    pub(crate) fn new(rule: &Rule, stream: RngStream) -> Granting {
        Granting {
            active: RoundRobin::EMPTY,
            slow: RoundRobin::EMPTY,
            links: Vec::new(),
            next: Time::ZERO,
            core: rule.core.as_ref().map(|control| Core::new(control, stream)),
        }
    }

    /// Time of the next PULL; [`Time::NEVER`] if no flow gets one.
    #[inline]
    pub(crate) fn at(&self) -> Time {
        match self.active.is_empty() && self.slow.is_empty() {
            true => Time::NEVER,
            false => self.next,
        }
    }

    /// The flow that gets the next PULL, if one does.
    pub(crate) fn head(&self) -> Option<u32> {
        match (self.active.is_empty(), self.slow.is_empty()) {
            (false, _) => Some(self.active.head()),
            (true, false) => Some(self.slow.head()),
            (true, true) => None,
        }
    }

    /// Takes the target of a packet. With `is_owed` the flow gets a PULL although it wants nothing more: one was lost,
    /// or a packet was trimmed.
    pub(crate) fn record_demand(
        &mut self,
        now: Time,
        slot: u32,
        demand: &mut Demand,
        (target, is_owed): (u32, bool),
        rule: &Rule,
    ) {
        let is_higher = demand.raise(target, rule);
        if (!is_higher && !is_owed) || demand.ring == Ring::Active {
            return;
        }
        self.leave(slot, demand);
        if self.at() == Time::NEVER {
            self.next = self.next.max(now);
        }
        if self.links.len() <= slot as usize {
            self.links.resize(slot as usize + 1, Links::OUTSIDE);
        }
        self.active.join(&mut self.links, slot);
        demand.ring = Ring::Active;
    }

    /// A flow that has everything, or is forgotten, gets no more credit.
    pub(crate) fn leave(&mut self, slot: u32, demand: &mut Demand) {
        match core::mem::take(&mut demand.ring) {
            Ring::Neither => {}
            Ring::Active => self.active.leave(&mut self.links, slot),
            Ring::Slow => self.slow.leave(&mut self.links, slot),
        }
    }

    /// Gives the flow at the head its PULL. Returns the count of all quanta granted to it.
    pub(crate) fn pull(&mut self, now: Time, slot: u32, demand: &mut Demand, rule: &Rule) -> u32 {
        let quanta = match demand.ring {
            Ring::Active => {
                let quanta = demand.missing().clamp(0, rule.pull as i32);
                demand.granted = demand.granted.wrapping_add_signed(quanta);
                if demand.missing() > 0 {
                    self.active.turn(&mut self.links);
                } else {
                    self.leave(slot, demand);
                    self.slow.join(&mut self.links, slot);
                    demand.ring = Ring::Slow;
                }
                quanta as u32
            }
            Ring::Slow | Ring::Neither => {
                demand.granted = demand.granted.wrapping_add(rule.pull);
                self.slow.turn(&mut self.links);
                rule.pull
            }
        };
        if demand.ring == Ring::Slow && -demand.missing() >= (rule.max / QUANTUM) as i32 {
            self.leave(slot, demand);
        }
        let latest = rule.time_of(rule.pull) * (LATE_PULLS - 1);
        let since = Time::from_ps(now.as_ps().saturating_sub(latest.as_ps()));
        self.next = self.next.max(since) + self.slowed(now, rule.time_of(quanta.max(EMPTY_PULL)));
        demand.granted
    }

    fn slowed(&mut self, now: Time, time: TimeDelta) -> TimeDelta {
        match &mut self.core {
            Some(core) => core.slowed(now, time),
            None => time,
        }
    }

    /// The rate of the core: records a whole packet, an RTS included.
    #[inline]
    pub(crate) fn count_whole(&mut self, now: Time, is_marked: bool) {
        if let Some(core) = &mut self.core {
            core.arrived(now, is_marked);
        }
    }

    /// The rate of the core: records a trimmed packet.
    pub(crate) fn count_trimmed(&mut self, now: Time, is_last_hop: bool) {
        if let Some(core) = &mut self.core {
            core.trimmed(now, is_last_hop);
        }
    }

    /// The rate of the core, in millionths of the paced one.
    pub(crate) fn core_share(&self) -> u32 {
        self.core.as_ref().map_or(1_000_000, Core::share)
    }
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::rand_core::SeedableRng;

    use super::super::tests::rule;
    use super::*;

    /// Flows at one receiver, by slot.
    struct Flows {
        granting: Granting,
        demands: Vec<Demand>,
        rule: Rule,
        now: Time,
    }

    impl Flows {
        fn new(count: usize) -> Flows {
            let rule = rule(100);
            let granting = Granting::new(&rule, RngStream::seed_from_u64(1));
            let demands = (0..count).map(|_| Demand::default()).collect();
            Flows { granting, demands, rule, now: Time::ZERO }
        }

        fn record_demand(&mut self, slot: u32, target: u32, is_owed: bool) {
            let demand = &mut self.demands[slot as usize];
            self.granting.record_demand(self.now, slot, demand, (target, is_owed), &self.rule);
        }

        /// The next PULL: its time in picoseconds, its flow, and the count.
        fn pull(&mut self) -> Option<(u64, u32, u32)> {
            let slot = self.granting.head()?;
            self.now = self.now.max(self.granting.at());
            let demand = &mut self.demands[slot as usize];
            let granted = self.granting.pull(self.now, slot, demand, &self.rule);
            Some((self.now.as_ps(), slot, granted))
        }
    }

    #[test]
    fn flows_with_demand_take_turns_of_64_quanta_each_after_the_time_of_the_last() {
        let mut flows = Flows::new(3);
        for slot in 0..3 {
            flows.record_demand(slot, 100, false);
        }
        let pulls: Vec<_> = core::iter::from_fn(|| flows.pull()).take(7).collect();
        // 64 quanta last 1,323,959 ps, 36 744,727 ps.
        assert_eq!(
            pulls[..4],
            [(0, 0, 64), (1_323_959, 1, 64), (2_647_918, 2, 64), (3_971_877, 0, 100)]
        );
        assert_eq!(pulls[4], (4_716_604, 1, 100));
        assert_eq!(pulls[6].1, 0, "and then slow credit");
        assert_eq!(pulls[6].2, 164);
    }

    #[test]
    fn a_flow_gets_what_it_asked_for_and_slow_credit_up_to_the_max() {
        let mut flows = Flows::new(1);
        flows.record_demand(0, 65, false);
        let counts: Vec<u32> = core::iter::from_fn(|| flows.pull()).map(|pull| pull.2).collect();
        // The max is 160 quanta beyond the target: three PULLs of 64 pass it.
        assert_eq!(counts, [64, 65, 129, 193, 257]);
        // New demand below what was granted is met by a PULL without credit, and further slow credit.
        flows.record_demand(0, 120, false);
        let counts: Vec<u32> = core::iter::from_fn(|| flows.pull()).map(|pull| pull.2).collect();
        assert_eq!(counts, [257, 321]);
    }

    #[test]
    fn slow_credit_waits_while_any_flow_wants_some() {
        let mut flows = Flows::new(2);
        flows.record_demand(0, 1, false);
        flows.pull();
        flows.record_demand(1, 130, false);
        let order: Vec<u32> =
            core::iter::from_fn(|| flows.pull()).take(5).map(|pull| pull.1).collect();
        assert_eq!(order, [1, 1, 1, 0, 1]);
    }

    #[test]
    fn a_flow_that_is_owed_a_pull_gets_one_without_credit_after_1024_bytes() {
        let mut flows = Flows::new(1);
        flows.record_demand(0, 0, false);
        assert_eq!(flows.pull(), None, "no demand");
        flows.record_demand(0, 0, true);
        assert_eq!(flows.pull(), Some((0, 0, 0)));
        assert_eq!(flows.granting.at(), Time::from_ps(82_747), "four quanta");
        assert_eq!(flows.pull().map(|pull| pull.2), Some(64), "slow credit");
        flows.granting.leave(0, &mut flows.demands[0]);
        assert_eq!((flows.granting.at(), flows.pull()), (Time::NEVER, None));
    }

    #[test]
    fn a_target_beyond_the_max_or_below_the_last_is_ignored() {
        let mut flows = Flows::new(1);
        flows.record_demand(0, 160 + 257, false);
        assert_eq!(flows.pull(), None);
        flows.record_demand(0, 160 + 256, false);
        flows.record_demand(0, 3, false);
        let counts: Vec<u32> =
            core::iter::from_fn(|| flows.pull()).take(7).map(|pull| pull.2).collect();
        assert_eq!(counts, [64, 128, 192, 256, 320, 384, 416]);
        assert_eq!(flows.demands[0].target_of(415), 415);
        flows.demands[0].granted = 0x1_0005;
        assert_eq!(
            [4, 0xffff, 0x8004].map(|low| flows.demands[0].target_of(low)),
            [0x1_0004, 0xffff, 0x1_8004]
        );
    }

    #[test]
    fn pulls_that_a_busy_nic_held_back_go_without_spacing_but_no_more_than_eight() {
        let mut flows = Flows::new(1);
        flows.demands[0].granted = 0;
        flows.rule.max = 4 << 20;
        flows.record_demand(0, 16_000, false);
        flows.pull();
        flows.now = Time::from_ps(100_000_000);
        let at_once =
            (0..20).filter(|_| flows.pull().is_some_and(|pull| pull.0 == 100_000_000)).count();
        assert_eq!(at_once, 8);
    }
}
