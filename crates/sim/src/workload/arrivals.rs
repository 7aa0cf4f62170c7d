//! Flows that follow each other: periodic, Poisson, closed loop.

use trimline_packet::{Time, TimeDelta};
use trimline_transport::RngStream;

use super::due::Next;
use super::matrix::other_member;
use super::setup::Setup;
use crate::plan::{Arrivals, Gap};
use crate::random;

/// A series of flows of a source, one of several.
pub(super) struct Connection {
    pub(super) destination: u32,
    pub(super) slot: u32,
    pub(super) slots: u32,
}

impl Connection {
    /// Index of a flow, which does not depend on the number of flows.
    fn index(&self, number: u64) -> u64 {
        number * u64::from(self.slots) + u64::from(self.slot)
    }

    /// Destination of a flow, which may be drawn.
    fn to(&self, setup: &Setup, workload: u32, host: u32, index: u64) -> u32 {
        let Some(members) = setup.drawn_from(workload) else { return self.destination };
        let owner = [u64::from(host), setup.names[workload as usize], index];
        let mut draws = setup.destinations.of(&owner);
        other_member(host, members, &mut draws)
    }
}

/// A series of flows that start regardless of the ends of others.
pub(super) struct OpenLoop {
    pub(super) connection: Connection,
    pub(super) times: Times,
    pub(super) number: u64,
}

impl OpenLoop {
    pub(super) fn next(&self) -> Option<Next> {
        let at = Time::ZERO + self.times.peek()?;
        Some(Next { at, follows: false, index: self.connection.index(self.number) })
    }

    /// Starts the next flow. Returns its destination, and whether it is the last flow.
    pub(super) fn start_next(&mut self, setup: &Setup, workload: u32, host: u32) -> (u32, bool) {
        let index = self.connection.index(self.number);
        self.number += 1;
        self.times.advance();
        (self.connection.to(setup, workload, host, index), self.times.peek().is_none())
    }
}

/// A series of flows that each start a gap after the last ACK of the flow before.
pub(super) struct ClosedLoop {
    pub(super) connection: Connection,
    pub(super) draws: RngStream,
    pub(super) gap: Gap,
    pub(super) count: Option<u32>,
    pub(super) number: u64,
    /// The start of the next flow, and whether it follows another; `None` while a flow is under way.
    pub(super) next: Option<(Time, bool)>,
}

impl ClosedLoop {
    pub(super) fn next(&self) -> Option<Next> {
        let (at, follows) = self.next?;
        Some(Next { at, follows, index: self.connection.index(self.number) })
    }

    fn is_done(&self) -> bool {
        self.count.is_some_and(|count| self.number >= u64::from(count))
    }

    /// Starts the next flow. Returns its destination, and whether it is the last flow.
    pub(super) fn start_next(&mut self, setup: &Setup, workload: u32, host: u32) -> (u32, bool) {
        let index = self.connection.index(self.number);
        self.number += 1;
        self.next = None;
        (self.connection.to(setup, workload, host, index), self.is_done())
    }

    pub(super) fn ended(&mut self, now: Time) {
        if !self.is_done() {
            self.next = Some((now + gap_of(self.gap, &mut self.draws), true));
        }
    }
}

/// The times of an open loop that begins at `first`, for one of a source's `slots` series.
#[derive(Clone)]
pub(super) struct Times {
    arrivals: Arrivals,
    slots: u64,
    draws: RngStream,
    at: TimeDelta,
    until: TimeDelta,
}

impl Times {
    pub(super) fn new(
        arrivals: Arrivals,
        slots: u64,
        first: TimeDelta,
        mut draws: RngStream,
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

    pub(super) fn peek(&self) -> Option<TimeDelta> {
        (self.at < self.until).then_some(self.at)
    }

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

pub(super) fn gap_of(gap: Gap, draws: &mut RngStream) -> TimeDelta {
    match gap {
        Gap::Fixed(gap) => gap,
        Gap::Exponential(mean) => exponential(mean, draws),
    }
}

/// Draws an exponential time. The logarithm is libm's, the same on every machine.
fn exponential(mean: TimeDelta, draws: &mut RngStream) -> TimeDelta {
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
    fn periodic_arrivals_stop_before_their_end() {
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
