//! How many threads one run can work on.

use trimline_packet::TimeDelta;

use crate::plan::{EngineChoice, Plan};

/// More than this are not worth a byte for each unit.
pub(crate) const MOST_THREADS: u32 = 255;

/// How many threads a run works on, and why they are not as many as were asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Division {
    /// At least one.
    pub threads: usize,
    /// What keeps the run from more; present when more were asked for.
    pub reason: Option<String>,
}

/// Divides a plan among `threads` threads: whole pods of a network with three tiers, leaves of one with two, and the
/// switches of the top tier spread among them.
pub fn division(plan: &Plan, threads: usize) -> Division {
    let (most, reason) = most_threads(plan);
    let reason = (threads > most).then_some(reason);
    Division { threads: threads.clamp(1, most), reason }
}

/// The most threads that a plan can work on, and what keeps it from more.
fn most_threads(plan: &Plan) -> (usize, String) {
    let clos = &plan.topology;
    let (parts, what) = match clos.tiers {
        3 => (clos.pods, "pods"),
        2 => (clos.tors_per_pod, "leaves"),
        _ => (1, "switches"),
    };
    if plan.timeline.is_some() {
        (1, "a timeline is recorded event by event".to_owned())
    } else if plan.engine == EngineChoice::Heap {
        (1, "the heap engine has one heap".to_owned())
    } else if parts > 1 && clos.least_top_delay() == TimeDelta::ZERO {
        let reason = "the links of the top tier have no delay: threads would wait for each other at every packet";
        (1, reason.to_owned())
    } else {
        let most = parts.clamp(1, MOST_THREADS);
        (most as usize, format!("threads share out whole {what}, and there are {parts}"))
    }
}
