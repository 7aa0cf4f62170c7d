//! Plans for tests, without scenario files.

use trimline_packet::{BitRate, TimeDelta};
use trimline_sim::plan::{Plan, Workload};
use trimline_sim::suites::plans;
pub(crate) use trimline_sim::suites::plans::{
    both, fattree, incast, run, run_on, same_everywhere, star, workload,
};
use trimline_sim::topology::Clos;
use trimline_sim::transports::{Ndp, Transport};
use trimline_transport::ndp;

/// NDP with the paper's parameters and this initial window.
pub(crate) fn ndp(initial_window: u32) -> ndp::Config {
    ndp::Config {
        initial_window,
        marked: initial_window,
        path_penalty: Some(ndp::PathPenalty::lasting(TimeDelta::from_ms(1))),
        ..ndp::Config::paper(BitRate::from_gbps(10))
    }
}

/// A run to completion with NDP under the paper's switch.
pub(crate) fn plan(topology: Clos, initial_window: u32, workloads: Vec<Workload>) -> Plan {
    plans::plan(topology, Ndp.with(ndp(initial_window)), workloads)
}
