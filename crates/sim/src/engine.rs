//! Engines: the order in which the units of a [`Network`] are visited.
//!
//! [`Windows`] is the fast one; [`Heap`] is the plain one, the oracle. Results are equal, bit for bit:
//! what a unit does depends only on its own events in the order (time, class, tie), and both engines
//! keep that order for every unit.
//!
//! An engine is compiled once. What it drives is behind two trait objects: the ports of a run ([`SwitchNodes`]) and its hosts
//! ([`HostNodes`]).

mod event_list;
mod exchange;
mod flights;
mod heap;
mod inbox;
mod nodes;
mod recorder;
mod returns;
mod run_hosts;
mod run_ports;
mod runner;
mod threads;
mod wheel;
mod windows;

pub(crate) use heap::Heap;
pub(crate) use nodes::{HostNodes, Network, SwitchNodes};
pub(crate) use recorder::Recorder;
pub(crate) use threads::together;
pub(crate) use windows::Windows;

use trimline_packet::{Time, TimeDelta};

use crate::keys::quantity::LONGEST;

/// The longest run of a network in which what one unit sends arrives at another `lookahead` later at the earliest.
/// What lies behind it never happens. It is the same for every engine.
pub(crate) fn longest_run(lookahead: TimeDelta) -> TimeDelta {
    let ps = u128::from(wheel::MAX_WINDOWS) << lookahead.as_ps().max(1).ilog2();
    TimeDelta::from_ps(u64::try_from(ps).unwrap_or(u64::MAX)).min(LONGEST)
}

/// Drives a network through virtual time.
pub(crate) trait Engine {
    /// Performs every event before `limit`.
    fn run_until(&mut self, network: &mut Network, limit: Time);
    /// Units may be behind `limit` after [`Engine::run_until`], if nothing that they still have to do can
    /// be noticed by other units yet. Now they are not: for whoever looks at them, or changes links.
    fn catch_up(&mut self, _network: &mut Network, _limit: Time) {}
    /// Shows `inspect` the network as the thread sees it that drives a unit: with the packets that are there. Between two
    /// calls of [`Engine::run_until`].
    fn at_node(&mut self, network: &Network, _node: u32, inspect: &mut dyn FnMut(&Network)) {
        inspect(network);
    }
    /// Something that is no event has given a unit something to do at `at`, until when everything is settled.
    fn disturb(&mut self, network: &mut Network, node: u32, at: Time);
}
