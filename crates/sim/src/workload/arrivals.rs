//! Flows that follow each other: periodic, Poisson, closed loop.

use trimline_packet::{Time, TimeDelta};
use trimline_transport::Stream;

use super::{Draft, Making, jitter, members, other_member, pairs};
use crate::plan::{Arrivals, Gap, Matrix, Trigger, Workload};
use crate::random;
use crate::triggers::{NONE, Wiring};

impl Making<'_> {
    /// Each pair of a matrix, or each connection to hosts that are drawn anew, has flow after flow.
    pub(super) fn repeated(&mut self, place: u32, workload: &Workload) -> Result<(), String> {
        let drawn_from = match &workload.matrix {
            Matrix::Random { excluding, .. } => Some(members(self.hosts, excluding)),
            _ => None,
        };
        let pairs = pairs(workload, self.hosts, self.plan.seed);
        let mut pairs_of = vec![0u32; self.hosts as usize];
        for &(source, _) in &pairs {
            pairs_of[source as usize] += 1;
        }
        let mut slots_of = vec![0u32; self.hosts as usize];
        for (source, destination) in pairs {
            let slot = slots_of[source as usize];
            slots_of[source as usize] += 1;
            let connection = Connection {
                source,
                destination,
                drawn_from: drawn_from.as_deref(),
                slot,
                slots: pairs_of[source as usize],
            };
            match workload.arrivals {
                Arrivals::ClosedLoop { gap, count } => {
                    self.closed_loop(place, workload, &connection, gap, count)?;
                }
                _ => self.open_loop(place, workload, &connection)?,
            }
        }
        Ok(())
    }

    fn open_loop(
        &mut self,
        place: u32,
        workload: &Workload,
        connection: &Connection<'_>,
    ) -> Result<(), String> {
        let name = random::name_number(&workload.name);
        let Connection { source, slot, slots, .. } = *connection;
        let seed = self.plan.seed;
        let first = workload.start + jitter(workload, seed, source, name, slot);
        let owner = [u64::from(source), name, u64::from(slot)];
        let draws = random::stream(seed, "arrivals", &owner);
        for (number, at) in (0u64..).zip(times(workload.arrivals, u64::from(slots), first, draws)) {
            let index = connection.index(number);
            let destination = connection.to(seed, name, index);
            let start = Time::ZERO + at;
            self.flow(place, workload, Draft { source, destination, index, start, wiring: None })?;
        }
        Ok(())
    }

    /// As many flows as the run could see, each but the first started by the last ACK of the one before.
    fn closed_loop(
        &mut self,
        place: u32,
        workload: &Workload,
        connection: &Connection<'_>,
        gap: Gap,
        count: Option<u32>,
    ) -> Result<(), String> {
        let name = random::name_number(&workload.name);
        let Connection { source, slot, .. } = *connection;
        let seed = self.plan.seed;
        let end = self.plan.duration;
        let mut draws =
            random::stream(seed, "arrivals", &[u64::from(source), name, u64::from(slot)]);
        let mut earliest = workload.start + jitter(workload, seed, source, name, slot);
        let mut waits_for = NONE;
        let mut delay = TimeDelta::ZERO;
        for number in 0u64.. {
            let is_over = count.is_some_and(|count| number >= u64::from(count))
                || end.is_some_and(|end| earliest >= end);
            if is_over {
                break;
            }
            let index = connection.index(number);
            let destination = connection.to(seed, name, index);
            let next = self.trigger(Trigger::After(1));
            let start = if number == 0 { Time::ZERO + earliest } else { Time::NEVER };
            let wiring = Wiring { waits_for, delay, on_acknowledged: next, ..Wiring::LOOSE };
            let wiring = Some(wiring);
            let draft = Draft { source, destination, index, start, wiring };
            let Some(size) = self.flow(place, workload, draft)? else { break };
            waits_for = next;
            delay = gap_of(gap, &mut draws);
            earliest = earliest + self.at_least(source, destination, size) + delay;
        }
        Ok(())
    }
}

/// One of several series of flows of a source.
struct Connection<'a> {
    source: u32,
    destination: u32,
    /// The destination of each flow is drawn anew, from these.
    drawn_from: Option<&'a [u32]>,
    slot: u32,
    slots: u32,
}

impl Connection<'_> {
    /// The index of a flow does not depend on how many there are.
    fn index(&self, number: u64) -> u64 {
        number * u64::from(self.slots) + u64::from(self.slot)
    }

    fn to(&self, seed: u64, name: u64, index: u64) -> u32 {
        let Some(members) = self.drawn_from else { return self.destination };
        let owner = [u64::from(self.source), name, index];
        let mut draws = random::stream(seed, "destination", &owner);
        other_member(self.source, members, &mut draws)
    }
}

/// The times of an open loop that begins at `first`, each series of a source one of `slots`.
pub(super) fn times(
    arrivals: Arrivals,
    slots: u64,
    first: TimeDelta,
    mut draws: Stream,
) -> impl Iterator<Item = TimeDelta> {
    let (until, mut at) = match arrivals {
        // A Poisson process has no first event that others could meet.
        Arrivals::Poisson { mean, until } => (until, first + exponential(mean * slots, &mut draws)),
        Arrivals::Periodic { until, .. } => (until, first),
        Arrivals::Once | Arrivals::ClosedLoop { .. } => (first + TimeDelta::from_ps(1), first),
    };
    std::iter::from_fn(move || {
        let now = at;
        at = match arrivals {
            Arrivals::Periodic { every, .. } => at + every,
            Arrivals::Poisson { mean, .. } => at + exponential(mean * slots, &mut draws),
            Arrivals::Once | Arrivals::ClosedLoop { .. } => until,
        };
        (now < until).then_some(now)
    })
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
        let draws = random::stream(1, "test", &[]);
        assert_eq!(times(arrivals, 1, us(2), draws).collect::<Vec<_>>(), [us(2), us(5), us(8)]);
    }
}
