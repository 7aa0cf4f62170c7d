//! Workloads: who starts flows, to whom, when and how large.
//!
//! | module | what |
//! |---|---|
//! | [`matrix`] | who sends to whom |
//! | [`due`] | what hosts are about to do |
//! | [`listed`] | flows of files, and triggers |
//! | [`setup`] | what never changes |
//! | [`arrivals`] | flows that follow each other: periodic, Poisson, closed loop |
//! | [`incasts`] | incasts that repeat |
//! | [`queries`] | clients that ask servers |
//! | [`applications`] | what starts flows: state machines, each at one host |
//! | [`building`] | from a plan to its applications |
//!
//! A flow is made when it starts. What is drawn for it comes from streams of its own, so a longer run, another
//! workload or another host moves no draw.

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

/// Pairs of a host with itself that the workload at this place of a plan draws: no flow is made of them.
pub fn self_pairs(plan: &Plan, place: usize) -> usize {
    let workload = plan.workloads.get(place);
    workload.map_or(0, |own| drawn_to_itself(own, plan.topology.hosts(), plan.seed))
}
