//! Workloads: sources, destinations, starts and sizes of flows.
//!
//! | module | content |
//! |---|---|
//! | [`matrix`] | sources and destinations |
//! | [`due`] | scheduled actions of hosts |
//! | [`listed`] | flows of files, and triggers |
//! | [`setup`] | constants of a run |
//! | [`arrivals`] | flows that follow each other: periodic, Poisson, closed loop |
//! | [`incasts`] | repeated incasts |
//! | [`queries`] | clients that ask servers |
//! | [`applications`] | state machines at hosts that start flows |
//! | [`building`] | from a plan to its applications |
//!
//! A flow is made when it starts, with draws from its own streams: a longer run, another workload or another host moves
//! no draw.

mod applications;
mod arrivals;
mod building;
mod due;
mod incasts;
mod listed;
mod matrix;
mod queries;
mod setup;
#[cfg(test)]
mod tests;

pub(crate) use applications::{Applications, Notice};
pub(crate) use building::applications;
pub(crate) use matrix::MAX_PAIRS;
use matrix::self_pairs as drawn_to_itself;
pub(crate) use queries::REQUEST;
pub(crate) use setup::Persistence;

use crate::plan::Plan;

/// Returns the number of pairs of a host with itself that the workload at `place` of a plan draws. They become no
/// flows.
pub fn self_pairs(plan: &Plan, place: usize) -> usize {
    let workload = plan.workloads.get(place);
    workload.map_or(0, |own| drawn_to_itself(own, plan.topology.hosts(), plan.seed))
}
