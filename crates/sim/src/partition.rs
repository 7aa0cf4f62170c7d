//! The division of a network among threads: whole pods, or leaves with their hosts, and the switches above them spread
//! evenly.
//!
//! Only links of the top tier cross between threads. So a packet changes threads at most twice on its way, and all
//! ports of a switch, its shared memory and its returned headers stay with one thread.
//!
//! The switches at both ends of those links are the border. All other nodes, hosts among them, neither send to other
//! threads nor receive from them.

use trimline_packet::TimeDelta;

use crate::network::Core;
use crate::plan::{EngineChoice, Plan};
use crate::table::Shared;
use crate::topology::{Clos, Routes};

/// Maximum number of threads. More are not worth a wider integer per node.
const MAX_THREADS: u32 = 255;

/// The number of threads of a run, and why it is smaller than the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Division {
    /// At least one.
    pub threads: usize,
    /// The reason why more threads are impossible; present if more were asked for.
    pub reason: Option<String>,
}

/// Divides a plan among at most `threads` threads: pods with three tiers, leaves with two, and the switches of the top
/// tier spread evenly.
pub fn division(plan: &Plan, threads: usize) -> Division {
    let (max, reason) = max_threads(plan);
    let reason = (threads > max).then_some(reason);
    Division { threads: threads.clamp(1, max), reason }
}

/// Maximum number of threads of a plan, and its reason.
fn max_threads(plan: &Plan) -> (usize, String) {
    let clos = &plan.topology;
    let (parts, _) = parts(clos);
    let what = match clos.tiers {
        3 => "pods",
        2 => "leaves",
        _ => "switches",
    };
    if plan.timeline.is_some() {
        (1, "a timeline is recorded event by event".to_owned())
    } else if plan.engine == EngineChoice::Heap {
        (1, "the heap engine has one heap".to_owned())
    } else if parts > 1 && clos.min_top_delay() == TimeDelta::ZERO {
        let reason = "the links of the top tier have no delay: threads would wait for each other at every packet";
        (1, reason.to_owned())
    } else {
        let max = parts.clamp(1, MAX_THREADS);
        (max as usize, format!("threads share out whole {what}, and there are {parts}"))
    }
}

/// The place of a node, seen from the top tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// In this part: parts are connected by the top tier only.
    Below(u32),
    /// A port of this switch of the top tier.
    Top(u32),
}

/// Number of parts that only the top tier connects (pods with three tiers, leaves with two), and of switches in that
/// tier. Smaller networks have one part and no such switch.
fn parts(clos: &Clos) -> (u32, u32) {
    match clos.tiers {
        3 => (clos.pods, clos.aggregations_per_pod * clos.cores_per_aggregation),
        2 => (clos.tors_per_pod, clos.aggregations_per_pod),
        _ => (1, 0),
    }
}

fn part_of(routes: &Routes, node: u32) -> Part {
    let clos = routes.clos();
    let (parts, tops) = parts(clos);
    if parts == 1 {
        return Part::Below(0);
    }
    let below = |tor: u32| Part::Below(if clos.tiers == 3 { tor / clos.tors_per_pod } else { tor });
    if let Some(host) = node.checked_sub(routes.ports()) {
        return below(host / clos.hosts_per_tor);
    }
    let (tors, switch) = (clos.pods * clos.tors_per_pod, routes.switch_of(node));
    match switch.checked_sub(routes.switches() as u32 - tops) {
        Some(top) => Part::Top(top),
        None if switch < tors => below(switch),
        None => Part::Below((switch - tors) / clos.aggregations_per_pod),
    }
}

/// Returns whether a port belongs to a switch at an end of a link between parts.
fn is_at_border(routes: &Routes, port: u32) -> bool {
    let clos = routes.clos();
    let switch = routes.switch_of(port);
    match clos.tiers {
        3 => switch >= clos.pods * clos.tors_per_pod,
        2 => true,
        _ => false,
    }
}

pub(crate) struct Partition {
    owners: Shared<u8>,
    /// A bit per node that is a port of a switch at the border.
    border: Shared<u64>,
    threads: usize,
}

impl Partition {
    /// Divides a network among `threads` threads, at most as many as it has parts.
    pub(crate) fn new(routes: &Routes, threads: usize) -> Partition {
        let (parts, tops) = parts(routes.clos());
        assert!(threads <= parts.min(MAX_THREADS) as usize, "a thread without a part");
        let share = |number: u32, of: u32| {
            (u64::from(number) * threads as u64 / u64::from(of.max(1))) as u8
        };
        let owner = |node| match part_of(routes, node) {
            Part::Below(part) => share(part, parts),
            Part::Top(switch) => share(switch, tops),
        };
        let mut border = vec![0; (routes.nodes() as usize).div_ceil(64)];
        for port in (0..routes.ports()).filter(|&port| is_at_border(routes, port)) {
            border[port as usize / 64] |= 1 << (port % 64);
        }
        let owners = (0..routes.nodes()).map(owner).collect();
        Partition { owners, border: border.into(), threads }
    }

    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    pub(crate) fn owners(&self) -> Shared<u8> {
        // SAFETY: no item ever changes.
        unsafe { self.owners.view() }
    }

    pub(crate) fn border(&self) -> Shared<u64> {
        // SAFETY: no item ever changes.
        unsafe { self.border.view() }
    }

    /// Minimum time of a packet from one thread to another.
    pub(crate) fn lookahead(&self, core: &Core) -> TimeDelta {
        core.min_transmission() + core.routes.clos().min_top_delay()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::LinkId;
    use crate::topology::tests::{back_to_back, fattree, leaf_spine, star, with_processing};

    /// A packet from one part to another takes at least as long as threads rely on.
    #[test]
    fn threads_rely_on_the_min_delay_of_the_top_tier() {
        for clos in [fattree(4), leaf_spine()].map(with_processing) {
            let routes = Routes::new(&clos);
            let crosses = |&node: &u32| {
                part_of(&routes, node) != part_of(&routes, routes.reverse(LinkId::new(node)).node())
            };
            let delays =
                (0..routes.nodes()).filter(crosses).map(|node| routes.link(node).spec.delay);
            assert_eq!(delays.min(), Some(clos.min_top_delay()));
        }
    }

    /// Only links of the top tier lead from one part to another.
    #[test]
    fn only_the_top_tier_connects_partitions() {
        for (clos, expected) in [
            (fattree(4), (4, 4)),
            (leaf_spine(), (5, 4)),
            (star(), (1, 0)),
            (back_to_back(), (1, 0)),
        ] {
            let routes = Routes::new(&clos);
            assert_eq!(parts(&clos), expected);
            for node in 0..routes.nodes() {
                let there = routes.reverse(LinkId::new(node)).node();
                match (part_of(&routes, node), part_of(&routes, there)) {
                    (Part::Below(one), Part::Below(other)) => assert_eq!(one, other),
                    (Part::Top(_), Part::Top(_)) => panic!("two switches of the top tier"),
                    _ => {
                        assert_eq!(routes.link(node).spec.delay, clos.min_top_delay());
                        assert!(is_at_border(&routes, node) && is_at_border(&routes, there));
                    }
                }
            }
            for switch in 0..routes.switches() as u32 {
                let is_top = |node| matches!(part_of(&routes, node), Part::Top(_));
                let joins_parts = |port| {
                    expected.0 > 1
                        && (is_top(port) || is_top(routes.reverse(LinkId::new(port)).node()))
                };
                let joins_parts = routes.ports_of(switch).any(joins_parts);
                for port in routes.ports_of(switch) {
                    assert_eq!(is_at_border(&routes, port), joins_parts);
                }
            }
        }
    }
}
