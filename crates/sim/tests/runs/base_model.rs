//! Exact values of the base model: 10 Gb/s, 1 us a link, six links, 9000 B of payload behind 64 B of header, store and
//! forward. Derived by hand, equal to the picosecond.

use crate::plans::{fattree, plan, run, workload};
use trimline_sim::plan::{EngineChoice, Matrix};

/// Returns completion times at receiver and sender of a transfer between pods, in ps.
fn transfer(packets: u64, initial_window: u32) -> (u64, u64) {
    let times: Vec<_> = [EngineChoice::LookaheadWindows, EngineChoice::Heap]
        .into_iter()
        .map(|engine| {
            let matrix = Matrix::Pairs(vec![(0, 431)]);
            let flow = workload("one", matrix, Some(packets * 9000));
            let mut plan = plan(fattree(12), initial_window, vec![flow]);
            plan.engine = engine;
            let flow = run(&plan).flows.get(0).unwrap();
            (flow.fct_receiver_ps.expect("delivered"), flow.fct_sender_ps.expect("ACKed"))
        })
        .collect();
    assert_eq!(times[0], times[1], "the engines disagree");
    times[0]
}

#[test]
fn thirty_packets_with_a_window_of_ten_or_more_take_the_base_models_time() {
    for initial_window in [10, 15, 23, 30, 45] {
        assert_eq!(transfer(30, initial_window).0, 259_792_000, "IW {initial_window}");
    }
}

#[test]
fn fifty_packets_take_the_base_models_time() {
    assert_eq!(transfer(50, 23).0, 404_816_000);
}

#[test]
fn thirty_packets_with_a_window_of_one_take_the_base_models_time() {
    assert_eq!(transfer(30, 1).0, 1_668_124_800);
}

#[test]
fn one_packet_and_its_ack_take_the_base_models_time() {
    assert_eq!(transfer(1, 30), (49_507_200, 55_814_400));
}
