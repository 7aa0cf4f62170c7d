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
        aeolus: false,
        payload_bytes: 9000,
        link_rate: BitRate::from_gbps(10),
        framing_bytes: 0,
        pull_spacing: ndp::PullSpacing::WireBytes,
        pull_ack: true,
        credit_bank: true,
        doubts_headers: false,
        ack_every: 1,
        core_rate: None,
        initial_window_bytes: 0,
        turn: 0,
        order: ndp::Order::Fair,
        rto: TimeDelta::from_ms(1),
        pull_repeat: TimeDelta::from_ms(1),
        backstop_unowed: TimeDelta::from_ms(1),
        backstop_owed: TimeDelta::from_ms(100),
        time_wait: TimeDelta::from_ms(1),
        pull_gaps: None,
        follows_path: None,
        record_latencies: false,
        path_penalty: Some(ndp::PathPenalty {
            min_nacks: 10,
            min_losses: 2,
            ratio: 2,
            removal: TimeDelta::from_ms(1),
            removal_max: TimeDelta::from_ms(4),
        }),
    }
}

/// A run to completion with NDP under the paper's switch.
pub(crate) fn plan(topology: Clos, initial_window: u32, workloads: Vec<Workload>) -> Plan {
    plans::plan(topology, Ndp.with(ndp(initial_window)), workloads)
}
