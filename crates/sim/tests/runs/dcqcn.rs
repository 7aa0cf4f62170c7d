//! DCQCN in lossless networks: flows meet at equal shares, without loss.

use trimline_packet::{BitRate, TimeDelta};
use trimline_sim::plan::{Lossless, Matrix, Plan};
use trimline_sim::topology::Clos;
use trimline_sim::transports::{Dcqcn, Transport};
use trimline_switch::{Choices, Limit};
use trimline_transport::dcqcn;

use crate::plans::{plan, run, star, workload};

const PAYLOAD: u16 = 1024;
const PACKET: u32 = 1088;

/// The paper's parameters at 40 Gb/s: two endless flows into one host, the second a millisecond later.
fn two_flows(duration: TimeDelta) -> Plan {
    let mut clos: Clos = star(3);
    clos.host_link.rate = BitRate::from_gbps(40);
    let flows = [("first", 1), ("second", 2)].map(|(name, host)| {
        let mut flow = workload(name, Matrix::Pairs(vec![(host, 0)]), None);
        flow.start = TimeDelta::from_ms(u64::from(host) - 1);
        flow
    });
    let mut plan = plan(clos, 1, flows.to_vec());
    let config = dcqcn::Config { payload_bytes: PAYLOAD, ..paper() };
    plan.transports = vec![Dcqcn.with(config)];
    let mut choices = Choices::ecn(1, 1);
    let queue = &mut choices.queues[0];
    (queue.whole, queue.header) = (Limit::NONE, Limit::NONE);
    queue.marker = Dcqcn.marker(BitRate::from_gbps(40)).expect("a ramp");
    plan.switch = choices.build().expect("a model");
    let (xoff, xon) = (400 * PACKET, 398 * PACKET);
    plan.lossless = Some(Lossless { xoff, xon, headroom: None, classes: 1 });
    plan.duration = Some(duration);
    plan
}

fn paper() -> dcqcn::Config {
    dcqcn::Config::published(BitRate::from_gbps(40))
}

/// Returns both flows' rates in bit/s, every `every` ms.
fn shares(every: u64, count: u64) -> Vec<[u64; 2]> {
    let delivered = |ms: u64| -> [u64; 2] {
        let record = run(&two_flows(TimeDelta::from_ms(ms)));
        let dropped: u64 = record.ports.iter().map(|port| port.dropped).sum();
        assert_eq!(dropped, 0);
        let bytes: Vec<u64> = record.flows.iter().map(|flow| flow.delivered_bytes).collect();
        bytes.try_into().expect("two flows")
    };
    let ends: Vec<[u64; 2]> = (1..=count).map(|place| delivered(place * every)).collect();
    let rate =
        |pair: &[[u64; 2]]| [0, 1].map(|flow| (pair[1][flow] - pair[0][flow]) * 8 * 1000 / every);
    ends.windows(2).map(rate).collect()
}

/// The paper's Figure 13 has two flows of 40 Gb/s through one bottleneck, with these parameters. Checked: when they
/// first stay within a fifth of each other, and a full link.
#[test]
fn two_dcqcn_flows_converge_to_equal_shares() {
    let shares = shares(10, 11);
    let gbps = |bits: u64| bits as f64 / 1e9;
    for (place, [first, second]) in shares.iter().enumerate() {
        println!("from {} ms: {:.2} and {:.2} Gb/s", 10 * (place + 1), gbps(*first), gbps(*second));
    }
    for [first, second] in &shares[5..] {
        let (less, more) = (first.min(second), first.max(second));
        assert!(less * 5 >= more * 4, "{shares:?}");
    }
    // 1024 of 1088 bytes are payload.
    let full = 40_000_000_000 / 1088 * 1024;
    assert!(shares.iter().all(|[first, second]| first + second > full / 10 * 9), "{shares:?}");
}
