//! What every transport owes under every switch profile, whatever it promises beyond: the same record twice, from
//! both engines and on two threads, with and without trouble on the links; packets and bytes conserved, nothing delivered twice
//! (asserted by every run at its end); data that arrives.
//!
//! A transport is covered once it is in [`TRANSPORTS`]; a variant of [`Transport`] that is not does not compile here.

use crate::plans::{both, fattree, incast, ndp, plan, run, tcp, workload};
use trimline_packet::{BitRate, ByteCount, TimeDelta};
use trimline_sim::plan::{
    Impairment, LinkChange, LinkEvent, Matrix, Plan, Share, SharedMemory, Spraying, Transport,
};
use trimline_sim::topology;
use trimline_switch::{Alpha, Choices, ServiceModel};
use trimline_transport::{cbr, tcp};

const TRANSPORTS: [&str; 7] = ["ndp", "cbr", "tcp", "tcp-sack", "cubic", "dctcp", "mptcp"];

fn name(transport: &Transport) -> &'static str {
    match transport {
        Transport::Ndp(_) => "ndp",
        Transport::Cbr(_) => "cbr",
        Transport::Tcp(config) => match (config.control, config.subflows) {
            (tcp::Control::Dctcp { .. }, _) => "dctcp",
            (tcp::Control::Cubic, _) => "cubic",
            (_, 1) if config.sack => "tcp-sack",
            (_, 1) => "tcp",
            _ => "mptcp",
        },
    }
}

fn transport(name: &str) -> Transport {
    match name {
        "ndp" => Transport::Ndp(ndp(23)),
        "cbr" => Transport::Cbr(cbr::Config {
            payload_bytes: 9000,
            rate: BitRate::from_gbps(10),
            clock_lag: TimeDelta::from_ps(700),
        }),
        "tcp" => Transport::Tcp(tcp::Config { sack: false, ..tcp() }),
        "tcp-sack" => Transport::Tcp(tcp::Config { dsack: true, frto: true, ..tcp() }),
        "cubic" => {
            Transport::Tcp(tcp::Config { control: tcp::Control::Cubic, timestamps: true, ..tcp() })
        }
        "dctcp" => Transport::Tcp(tcp::Config {
            control: tcp::Control::Dctcp { gain_shift: 4 },
            ecn: true,
            ..tcp()
        }),
        "mptcp" => Transport::Tcp(tcp::Config { subflows: 8, sack: false, ..tcp() }),
        _ => panic!("{name} has parameters here"),
    }
}

/// Eight packets of each port, shared.
fn shared() -> ServiceModel {
    let mut choices = Choices::ecn(64, 4);
    choices.queues[0].pool = Some(Alpha::from_fraction(1, 1));
    choices.build().expect("a model")
}

fn profiles() -> [(&'static str, ServiceModel); 9] {
    [
        ("shared", shared()),
        ("paper", ServiceModel::paper(8, 9000)),
        ("htsim", ServiceModel::htsim(8, 9000)),
        ("csg-htsim", ServiceModel::csg_htsim(8, 9000)),
        ("netfpga", ServiceModel::netfpga()),
        ("p4", ServiceModel::p4(8, 9000)),
        ("cut-payload", ServiceModel::cut_payload(8, 9064)),
        ("drop-tail", ServiceModel::drop_tail(8)),
        ("ecn", ServiceModel::ecn(64, 16)),
    ]
}

/// A permutation, an incast into it, and flows whose paths the switches choose, for two milliseconds.
fn load(transport: Transport, switch: ServiceModel) -> Plan {
    let mut endless = workload("endless", Matrix::Permutation, None);
    endless.start_jitter = TimeDelta::from_us(30);
    let mut spread =
        workload("spread", Matrix::Random { flows: 2, excluding: vec![] }, Some(100_000));
    spread.start = TimeDelta::from_us(300);
    spread.start_jitter = TimeDelta::from_us(500);
    spread.spraying = Spraying::SwitchRandom;
    let mut sudden = incast(12, 45_000);
    sudden.start = TimeDelta::from_us(700);
    let mut plan = plan(fattree(4), 23, vec![endless, spread, sudden]);
    plan.transport = transport;
    plan.switch = switch;
    // What no queue of the model uses does no harm.
    plan.shared_memory = SharedMemory::OfPort(ByteCount::new(8 * 9064));
    plan.duration = Some(TimeDelta::from_ms(2));
    plan.warm_up = TimeDelta::from_us(333);
    plan
}

/// Loss, damage, reordering, and a link that fails and comes back.
fn trouble(plan: &mut Plan) {
    let share = |billionths| Share::from_billionths(billionths).expect("a share");
    plan.impairment = Impairment {
        loss: share(2_000_000),
        corruption: share(1_000_000),
        reordering: TimeDelta::from_us(20),
        links: Vec::new(),
    };
    let link = topology::links(&plan.topology)
        .into_iter()
        .find(|(name, _)| name == "aggregation 0 up 0")
        .expect("a FatTree has aggregations")
        .1;
    for (at, change) in [(400, LinkChange::Fail), (1200, LinkChange::Restore)] {
        let at = TimeDelta::from_us(at);
        plan.link_events.push(LinkEvent { at, link, both_directions: true, change });
    }
}

#[test]
fn every_transport_runs_the_same_under_every_profile() {
    for wanted in TRANSPORTS {
        assert_eq!(name(&transport(wanted)), wanted);
        for (profile, switch) in profiles() {
            for is_troubled in [false, true] {
                let case = format!("{wanted} under {profile}, trouble: {is_troubled}");
                let mut plan = load(transport(wanted), switch.clone());
                if is_troubled {
                    trouble(&mut plan);
                }
                let record = both(&plan);
                assert_eq!(record, run(&plan), "{case}: twice");
                plan.seed += 1;
                assert_ne!(record.flows, run(&plan).flows, "{case}: another seed");
                for flow in &record.flows {
                    let most = flow.size_bytes.unwrap_or(u64::MAX);
                    assert!(flow.delivered_bytes <= most, "{case}: {flow:?}");
                }
                // All of it could carry 16 x 2 ms x 10 Gb/s = 40 MB. Queues of eight packets, or one, that cannot
                // trim what TCP sends leave it little.
                let delivered: u64 = record.flows.iter().map(|flow| flow.delivered_bytes).sum();
                let least =
                    if matches!(plan.transport, Transport::Tcp(_)) { 1 } else { 4 } * 1_000_000;
                assert!(delivered > least, "{case}: {} delivered", ByteCount::new(delivered));
            }
        }
    }
}
