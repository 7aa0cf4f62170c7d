//! Flows that follow each other: periodic, Poisson, closed loop.

use trimline_packet::{Time, TimeDelta};
use trimline_transport::Stream;

use super::applications::{Application, Next};
use super::{Building, Setup, jitter, other_member, pairs};
use crate::plan::{Arrivals, Gap, Workload};
use crate::random;

impl Building<'_> {
    /// Each pair of a matrix, or each connection to hosts that are drawn anew, has flow after flow.
    pub(super) fn repeated(&mut self, place: u32, workload: &Workload) -> Result<(), String> {
        let (seed, name) = (self.setup.seed, self.setup.names[place as usize]);
        let pairs = pairs(workload, self.setup.hosts, seed);
        let mut pairs_of = vec![0u32; self.setup.hosts as usize];
        for &(source, destination) in &pairs {
            self.check(source, destination)?;
            pairs_of[source as usize] += 1;
        }
        let mut slots_of = vec![0u32; self.setup.hosts as usize];
        for (source, destination) in pairs {
            let slot = slots_of[source as usize];
            slots_of[source as usize] += 1;
            let connection = Connection { destination, slot, slots: pairs_of[source as usize] };
            let first = workload.start + jitter(workload, seed, source, name, u64::from(slot));
            let draws =
                random::stream(seed, "arrivals", &[u64::from(source), name, u64::from(slot)]);
            let application = match workload.arrivals {
                Arrivals::ClosedLoop { gap, count } => {
                    if self.setup.is_after_end(first) || count == Some(0) {
                        continue;
                    }
                    let next = Some((Time::ZERO + first, false));
                    let closed = ClosedLoop { connection, draws, gap, count, number: 0, next };
                    let sized = u64::from(workload.size.mean_millibytes().is_some());
                    self.counts.known += sized * u64::from(count.unwrap_or(0));
                    Application::Closed(closed)
                }
                _ => {
                    let slots = u64::from(connection.slots);
                    let times = Times::new(workload.arrivals, slots, first, draws);
                    Application::Open(OpenLoop { connection, times, number: 0 })
                }
            };
            self.application(place, source, application);
        }
        Ok(())
    }
}

/// One of several series of flows of a source.
struct Connection {
    destination: u32,
    slot: u32,
    slots: u32,
}

impl Connection {
    /// The index of a flow does not depend on how many there are.
    fn index(&self, number: u64) -> u64 {
        number * u64::from(self.slots) + u64::from(self.slot)
    }

    /// Where a flow goes: perhaps drawn anew.
    fn to(&self, setup: &Setup, workload: u32, host: u32, index: u64) -> u32 {
        let Some(members) = setup.drawn_from(workload) else { return self.destination };
        let owner = [u64::from(host), setup.names[workload as usize], index];
        let mut draws = random::stream(setup.seed, "destination", &owner);
        other_member(host, members, &mut draws)
    }
}

/// Flows whose starts do not ask what became of the others.
pub(super) struct OpenLoop {
    connection: Connection,
    times: Times,
    number: u64,
}

impl OpenLoop {
    pub(super) fn next(&self) -> Option<Next> {
        let at = Time::ZERO + self.times.peek()?;
        Some(Next { at, follows: false, index: self.connection.index(self.number) })
    }

    /// The next flow starts: its destination, and whether it is the last one.
    pub(super) fn take(&mut self, setup: &Setup, workload: u32, host: u32) -> (u32, bool) {
        let index = self.connection.index(self.number);
        self.number += 1;
        self.times.advance();
        (self.connection.to(setup, workload, host, index), self.times.peek().is_none())
    }
}

/// Each flow starts a gap after the last ACK of the one before.
pub(super) struct ClosedLoop {
    connection: Connection,
    draws: Stream,
    gap: Gap,
    count: Option<u32>,
    number: u64,
    /// When the next flow starts, and whether another one was before it; nothing while that one is under way.
    next: Option<(Time, bool)>,
}

impl ClosedLoop {
    pub(super) fn next(&self) -> Option<Next> {
        let (at, follows) = self.next?;
        Some(Next { at, follows, index: self.connection.index(self.number) })
    }

    fn is_done(&self) -> bool {
        self.count.is_some_and(|count| self.number >= u64::from(count))
    }

    /// The next flow starts: its destination, and whether it is the last one.
    pub(super) fn take(&mut self, setup: &Setup, workload: u32, host: u32) -> (u32, bool) {
        let index = self.connection.index(self.number);
        self.number += 1;
        self.next = None;
        (self.connection.to(setup, workload, host, index), self.is_done())
    }

    /// The flow has ended.
    pub(super) fn ended(&mut self, now: Time) {
        if !self.is_done() {
            self.next = Some((now + gap_of(self.gap, &mut self.draws), true));
        }
    }
}

/// The times of an open loop that begins at `first`, each series of a source one of `slots`.
#[derive(Clone)]
pub(super) struct Times {
    arrivals: Arrivals,
    slots: u64,
    draws: Stream,
    at: TimeDelta,
    until: TimeDelta,
}

impl Times {
    pub(super) fn new(
        arrivals: Arrivals,
        slots: u64,
        first: TimeDelta,
        mut draws: Stream,
    ) -> Times {
        let (until, at) = match arrivals {
            // A Poisson process has no first event that others could meet.
            Arrivals::Poisson { mean, until } => {
                (until, first + exponential(mean * slots, &mut draws))
            }
            Arrivals::Periodic { until, .. } => (until, first),
            Arrivals::Once | Arrivals::ClosedLoop { .. } => (first + TimeDelta::from_ps(1), first),
        };
        Times { arrivals, slots, draws, at, until }
    }

    /// The next time; nothing when there is none any more.
    pub(super) fn peek(&self) -> Option<TimeDelta> {
        (self.at < self.until).then_some(self.at)
    }

    /// The next time is over.
    pub(super) fn advance(&mut self) {
        self.at = match self.arrivals {
            Arrivals::Periodic { every, .. } => self.at + every,
            Arrivals::Poisson { mean, .. } => {
                self.at + exponential(mean * self.slots, &mut self.draws)
            }
            Arrivals::Once | Arrivals::ClosedLoop { .. } => self.until,
        };
    }
}

pub(super) fn gap_of(gap: Gap, draws: &mut Stream) -> TimeDelta {
    match gap {
        Gap::Fixed(gap) => gap,
        Gap::Exponential(mean) => exponential(mean, draws),
    }
}

/// An exponential time. The logarithm is libm's, the same on every machine.
fn exponential(mean: TimeDelta, draws: &mut Stream) -> TimeDelta {
    const STEPS: u64 = 1 << 53;
    // Never the logarithm of zero.
    let uniform = (random::below(draws, STEPS) + 1) as f64 / STEPS as f64;
    TimeDelta::from_ps((-libm::log(uniform) * mean.as_ps() as f64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponential_times_have_their_mean_and_spread() {
        let mut draws = random::stream(1, "test", &[]);
        let mean = TimeDelta::from_us(10);
        let times: Vec<f64> =
            (0..100_000).map(|_| exponential(mean, &mut draws).as_ps() as f64 / 1e7).collect();
        let average = times.iter().sum::<f64>() / 1e5;
        let square = times.iter().map(|time| time * time).sum::<f64>() / 1e5;
        assert!((average - 1.0).abs() < 0.02, "{average}");
        assert!((square - 2.0).abs() < 0.1, "{square}");
        let beyond = times.iter().filter(|&&time| time > 2.0f64.ln()).count();
        assert!((48_500..51_500).contains(&beyond), "the median is ln 2 of the mean: {beyond}");
    }

    #[test]
    fn periods_end_before_their_end() {
        let us = TimeDelta::from_us;
        let arrivals = Arrivals::Periodic { every: us(3), until: us(11) };
        let mut times = Times::new(arrivals, 1, us(2), random::stream(1, "test", &[]));
        let next = || {
            let next = times.peek();
            times.advance();
            next
        };
        assert_eq!(std::iter::from_fn(next).collect::<Vec<_>>(), [us(2), us(5), us(8)]);
    }
}
