//! Engines: the order in which the nodes of a [`Network`] run.
//!
//! [`LookaheadWindows`] is fast; [`Heap`] is simple and serves as the oracle. Their results are equal, bit for bit: a
//! node depends only on its own events in the order (time, class, tie), and both engines keep that order for every
//! node.
//!
//! Engines are compiled once. They drive two trait objects: the ports of a run ([`SwitchNodes`]) and its hosts
//! ([`HostNodes`]).

mod event_list;
mod exchange;
mod flights;
mod heap;
mod inbox;
mod lookahead_windows;
mod nodes;
mod returns;
mod run_hosts;
mod run_ports;
mod runner;
mod threads;
mod wheel;

pub(crate) use heap::Heap;
pub(crate) use lookahead_windows::LookaheadWindows;
pub(crate) use nodes::{HostNodes, Network, SwitchNodes};
pub(crate) use threads::together;

use trimline_packet::{Time, TimeDelta};

use crate::keys::quantity::LONGEST;

/// Longest possible run with a given lookahead, the minimum time from a decision to send until the arrival.
/// Later events never happen. The bound holds for every engine.
pub(crate) fn longest_run(lookahead: TimeDelta) -> TimeDelta {
    let ps = u128::from(wheel::MAX_WINDOWS) << lookahead.as_ps().max(1).ilog2();
    TimeDelta::from_ps(u64::try_from(ps).unwrap_or(u64::MAX)).min(LONGEST)
}

pub(crate) trait Engine {
    /// Performs every event before `limit`.
    fn run_until(&mut self, network: &mut Network, limit: Time);
    /// Performs every event of every node before `limit`. After [`Engine::run_until`] a node may be behind, if its
    /// events cannot affect other nodes yet. Call this before reading state or changing links.
    fn catch_up(&mut self, _network: &mut Network, _limit: Time) {}
    /// Calls `inspect` with the network of the thread that drives `node`. Call it between two calls of
    /// [`Engine::run_until`].
    fn at_node(&mut self, network: &Network, _node: u32, inspect: &mut dyn FnMut(&Network)) {
        inspect(network);
    }
    /// Gives `node` something to do at `at`, from outside the events. All nodes have caught up to `at`.
    fn disturb(&mut self, network: &mut Network, node: u32, at: Time);
}
