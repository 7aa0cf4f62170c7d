//! Cycles of paused ports: every port waits for the next one, the last for the first.
//!
//! A port waits with a class for another port if the switch at its link's far end has stopped the class, and a packet
//! of this input waits at the other port, which is stopped too. If no packet has left any port of a cycle for the
//! length of a pause, 3.36 ms at 10 Gb/s, none ever will: the run ends. Routes up and down make no cycle.

use std::collections::BTreeSet;
use std::iter;

use trimline_metrics::PauseCycles;
use trimline_packet::{Handle, Time};
use trimline_switch::CLASSES;

use super::state::Pauses;
use crate::engine::{Engine, Network};
use crate::topology::Routes;

/// A stopped class of a port with waiting packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Blocked {
    port: u32,
    class: usize,
    since: Time,
}

/// Detects cycles in a run, at equal intervals.
#[derive(Default)]
pub(crate) struct Deadlocks {
    /// True if there was a cycle at the last check.
    stands: bool,
    begun: u64,
    /// The ports of a permanent cycle.
    ports: Vec<u32>,
}

impl Deadlocks {
    /// Checks ports that have caught up to `now`. Returns whether there is a permanent cycle.
    pub(crate) fn inspect(
        &mut self,
        network: &Network,
        engine: &mut dyn Engine,
        now: Time,
    ) -> bool {
        let Some(pauses) = &network.core.pauses else { return false };
        let has_waiting = |port, class| network.has_waiting(port, class);
        let blocked = blocked(network.core.routes.ports(), pauses, &has_waiting);
        let edges =
            confirm(network, engine, &blocked, &possible(&network.core.routes, pauses, &blocked));
        self.record(&blocked, edges, &|Blocked { port, since, .. }| {
            now.saturating_since(*since) >= pauses.longest(network.rate(*port))
        })
    }

    /// Records the wait edges, by places in `blocked`. `is_long` selects ports that have waited for long. Returns
    /// whether there is a permanent cycle.
    fn record(
        &mut self,
        blocked: &[Blocked],
        mut edges: Vec<(usize, usize)>,
        is_long: &dyn Fn(&Blocked) -> bool,
    ) -> bool {
        let stands = cycle(blocked.len(), &edges).is_some();
        self.begun += u64::from(stands && !self.stands);
        self.stands = stands;
        edges.retain(|&(from, to)| is_long(&blocked[from]) && is_long(&blocked[to]));
        let found = cycle(blocked.len(), &edges).unwrap_or_default();
        self.ports = found.into_iter().map(|at| blocked[at].port).collect();
        !self.ports.is_empty()
    }

    pub(crate) fn found(&self, routes: &Routes) -> PauseCycles {
        let place = |&port: &u32| routes.node_place(port);
        let deadlock: Vec<_> = self.ports.iter().map(place).collect();
        PauseCycles { passed: self.begun - u64::from(!deadlock.is_empty()), deadlock }
    }
}

/// Returns every stopped class of every port with waiting packets, in order.
fn blocked(ports: u32, pauses: &Pauses, has_waiting: &dyn Fn(u32, usize) -> bool) -> Vec<Blocked> {
    let of_port = |port: u32| {
        let sender = &pauses.senders[port as usize];
        let classes = if sender.stopped == 0 { 0..0 } else { 0..CLASSES };
        classes.filter_map(move |class| {
            let since = sender.stopped_since(class)?;
            has_waiting(port, class).then_some(Blocked { port, class, since })
        })
    };
    (0..ports).flat_map(of_port).collect()
}

/// Possible wait edges, by places: from ports whose class the far switch has stopped, to blocked ports there of this
/// class. Keeps only ports that wait and are waited for.
fn possible(routes: &Routes, pauses: &Pauses, blocked: &[Blocked]) -> Vec<(usize, usize)> {
    let of = |from: usize| {
        let Blocked { port, class, .. } = blocked[from];
        let input = pauses.opposite[port as usize];
        let stops = |input: u32| pauses.inputs[input as usize].ingress.stopped() >> class & 1 != 0;
        let is_stopped = input < routes.ports() && stops(input);
        let there = if is_stopped { routes.ports_of(routes.switch_of(input)) } else { 0..0 };
        let first = blocked.partition_point(|other| other.port < there.start);
        (first..blocked.len())
            .take_while(move |&to| blocked[to].port < there.end)
            .filter(move |&to| blocked[to].class == class)
            .map(move |to| (from, to))
    };
    let mut edges: Vec<_> = (0..blocked.len()).flat_map(of).collect();
    let kept = remaining(blocked.len(), &edges);
    edges.retain(|&(from, to)| kept[from] && kept[to]);
    edges
}

/// Edges that are real: packets from the first port's link wait at the second.
fn confirm(
    network: &Network,
    engine: &mut dyn Engine,
    blocked: &[Blocked],
    edges: &[(usize, usize)],
) -> Vec<(usize, usize)> {
    let mut confirmed = BTreeSet::new();
    for to in awaited(edges) {
        let Blocked { port, class, .. } = blocked[to];
        engine.at_node(network, port, &mut |network| {
            let pauses = network.core.pauses.as_ref().expect("a network with pauses");
            let waiting = &mut network.waiting_in(port, class);
            confirmed.append(&mut senders_of(waiting, pauses, blocked, (edges, to)));
        });
    }
    confirmed.into_iter().collect()
}

fn awaited(edges: &[(usize, usize)]) -> BTreeSet<usize> {
    edges.iter().map(|&(_, to)| to).collect()
}

/// Edges to `to` from ports whose packets wait there.
fn senders_of(
    waiting: &mut dyn Iterator<Item = Handle>,
    pauses: &Pauses,
    blocked: &[Blocked],
    (edges, to): (&[(usize, usize)], usize),
) -> BTreeSet<(usize, usize)> {
    let input = |from: usize| pauses.opposite[blocked[from].port as usize];
    let mut unseen: Vec<usize> =
        edges.iter().filter(|edge| edge.1 == to).map(|&(from, _)| from).collect();
    let mut seen = BTreeSet::new();
    for handle in waiting {
        let came_by = pauses.input_of(handle);
        if let Some(place) = unseen.iter().position(|&from| input(from) == came_by) {
            seen.insert((unseen.swap_remove(place), to));
        }
        if unseen.is_empty() {
            break;
        }
    }
    seen
}

/// Removes repeatedly ports that wait for no port or for which no port waits. Returns which ones remain.
fn remaining(count: usize, edges: &[(usize, usize)]) -> Vec<bool> {
    let mut kept = vec![true; count];
    loop {
        let (mut waits, mut is_awaited) = (vec![false; count], vec![false; count]);
        for &(from, to) in edges.iter().filter(|&&(from, to)| kept[from] && kept[to]) {
            (waits[from], is_awaited[to]) = (true, true);
        }
        let next: Vec<bool> = (0..count).map(|at| waits[at] && is_awaited[at]).collect();
        if next == kept {
            return kept;
        }
        kept = next;
    }
}

/// Returns a cycle of the edges, if any, from its lowest place on. Equal edges in equal order give the same cycle.
fn cycle(count: usize, edges: &[(usize, usize)]) -> Option<Vec<usize>> {
    let kept = remaining(count, edges);
    let next = |at: usize| {
        let of = edges.iter().filter(|&&(from, to)| from == at && kept[to]);
        of.map(|&(_, to)| to).min().expect("one that is kept waits for another that is")
    };
    let first = kept.iter().position(|&kept| kept)?;
    let mut way = vec![first];
    loop {
        let after = next(*way.last().unwrap_or(&first));
        let Some(begin) = way.iter().position(|&at| at == after) else {
            way.push(after);
            continue;
        };
        let mut cycle = way.split_off(begin);
        let lowest = iter::zip(&cycle, 0..).min().map_or(0, |(_, place)| place);
        cycle.rotate_left(lowest);
        return Some(cycle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_cycle_excludes_paths_that_lead_to_it_and_from_it() {
        let check = |edges: &[(usize, usize)], expected: Option<&[usize]>| {
            assert_eq!(cycle(9, edges).as_deref(), expected, "{edges:?}");
        };
        check(&[], None);
        check(&[(0, 1), (1, 2), (0, 2), (3, 2)], None);
        check(&[(1, 2), (2, 1)], Some(&[1, 2]));
        check(&[(0, 4), (4, 7), (7, 2), (2, 4), (2, 8)], Some(&[2, 4, 7]));
        check(&[(5, 6), (6, 5), (3, 4), (4, 3)], Some(&[3, 4]));
        // Between two cycles.
        check(&[(7, 8), (8, 7), (7, 1), (1, 4), (4, 5), (5, 4)], Some(&[4, 5]));
    }

    proptest! {
        /// There is a cycle exactly if a walk can return to its begin.
        #[test]
        fn a_cycle_is_found_if_a_port_waits_for_itself(
            edges in prop::collection::vec((0usize..12, 0usize..12), 0..30),
        ) {
            let mut reach = [[false; 12]; 12];
            edges.iter().for_each(|&(from, to)| reach[from][to] = true);
            for over in 0..12 {
                for from in 0..12 {
                    for to in 0..12 {
                        reach[from][to] |= reach[from][over] && reach[over][to];
                    }
                }
            }
            let found = cycle(12, &edges);
            prop_assert_eq!(found.is_some(), (0..12).any(|at| reach[at][at]));
            let Some(found) = found else { return Ok(()) };
            let next = found.iter().cycle().skip(1);
            prop_assert!(iter::zip(&found, next).all(|(&from, &to)| edges.contains(&(from, to))));
            prop_assert_eq!(found.iter().min(), found.first());
            let different: BTreeSet<_> = found.iter().collect();
            prop_assert_eq!(different.len(), found.len());
        }
    }
}
