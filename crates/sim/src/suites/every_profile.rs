//! The duties of a transport under every switch profile.

use trimline_packet::{BitRate, ByteCount, TimeDelta};
use trimline_switch::{
    Alpha, Cap, Choices, Limit, ServiceModel, Signal, profiles as switch_profiles,
};

use super::plans::{fattree, incast, plan, run, same_everywhere, star, workload};
use super::variations::trims_towards_senders;
use crate::plan::{
    Arrivals, Chosen, Connection, Gap, Impairment, LinkChange, LinkEvent, Lossless, Matrix, Pareto,
    Plan, Pool, Queries, Servers, Share, SharedMemory, Size, Spraying, WhenBusy, Workload,
};
use crate::topology;
use crate::transports::AnyTransport;

/// Profile with priority flow control at six packets.
const LOSSLESS: &str = "lossless";

/// Eight packets of memory for each port, shared between its queues.
fn shared(mut choices: Choices) -> ServiceModel {
    for queue in &mut choices.queues {
        queue.pool = Some(Alpha::from_fraction(1, 1));
    }
    choices.build().expect("a model")
}

/// Twenty packets over all queues, and selective dropping above 6000 B.
fn together(mut choices: Choices) -> ServiceModel {
    choices.port = Limit::packets(20);
    choices.queues.iter_mut().for_each(|queue| queue.selective_drop = Some(6000));
    choices.build().expect("a model")
}

/// A cap of 1 % of 10 Gb/s, strict or work-conserving.
fn cap(is_work_conserving: bool) -> Cap {
    Cap { is_work_conserving, ..Cap::of_line(BitRate::from_gbps(10)) }
}

/// A port of eight packets with notifications, which marks or quenches by sojourn time.
fn timed(signal: Signal) -> ServiceModel {
    let mut choices = Choices::fastlane(8 * 9076, 3_200, cap(true));
    choices.queues[1].marker = switch_profiles::codel(signal);
    choices.build().expect("a model")
}

fn profiles() -> [(&'static str, ServiceModel); 22] {
    [
        ("fastlane, strict cap", ServiceModel::fastlane(8 * 9076, 3_200, cap(false))),
        ("fastlane, CoDel", timed(Signal::Mark)),
        ("fastlane, quench", timed(Signal::Quench)),
        ("pfabric", ServiceModel::pfabric(8 * 9076)),
        ("fastlane-pfabric", ServiceModel::fastlane_pfabric(8 * 9076, 640, cap(true))),
        (LOSSLESS, ServiceModel::ecn(u32::MAX, 16)),
        ("shared", shared(Choices::ecn(64, 4))),
        ("qos", ServiceModel::qos(8)),
        ("qos, shared", shared(Choices::qos(64))),
        ("paper", ServiceModel::paper(8, 9000)),
        ("paper, to senders", trims_towards_senders(false, 8, 9000)),
        ("paper, to both", trims_towards_senders(true, 8, 9000)),
        ("htsim", ServiceModel::htsim(8, 9000)),
        ("csg-htsim", ServiceModel::csg_htsim(8, 9000)),
        ("uec", ServiceModel::uec(8, 9076)),
        ("netfpga", ServiceModel::netfpga()),
        ("p4", ServiceModel::p4(8, 9000)),
        ("cut-payload", ServiceModel::cut_payload(8, 9064)),
        ("drop-tail", ServiceModel::drop_tail(8)),
        ("ecn", ServiceModel::ecn(64, 16)),
        ("priorities", ServiceModel::priorities(8, 9076)),
        ("priorities, together, selective", together(Choices::priorities(8, 9076))),
    ]
}

/// Two milliseconds of a permutation, flows over paths that switches choose, and an incast, each in its own class.
fn load(transport: Chosen, switch: ServiceModel) -> Plan {
    let mut endless = workload("endless", Matrix::Permutation, None);
    endless.start_jitter = TimeDelta::from_us(30);
    let mut spread =
        workload("spread", Matrix::Random { flows: 2, excluding: vec![] }, Some(100_000));
    spread.start = TimeDelta::from_us(300);
    spread.start_jitter = TimeDelta::from_us(500);
    spread.spraying = Spraying::SwitchRandom;
    spread.class = 1;
    let mut sudden = incast(12, 45_000);
    sudden.start = TimeDelta::from_us(700);
    sudden.class = 3;
    let mut plan = plan(fattree(4), transport, vec![endless, spread, sudden]);
    plan.switch = switch;
    // Shared memory that no queue of the model uses does no harm.
    plan.shared_memory = SharedMemory::OfPort(ByteCount::new(8 * 9064));
    plan.duration = Some(TimeDelta::from_ms(2));
    plan.warm_up = TimeDelta::from_us(333);
    plan
}

/// Adds requests over connection pools, if the transport takes messages, otherwise over new connections, with
/// heavy-tailed answers.
fn ask(plan: &mut Plan) {
    let takes_messages = plan.transports.iter().all(|chosen| chosen.takes_messages());
    if !plan.transports.iter().all(|chosen| chosen.traits().ends_flows) {
        return;
    }
    let queries = Queries {
        clients: None,
        servers: Servers::Fixed(2),
        excluding: vec![1],
        service_time: Gap::Fixed(TimeDelta::from_us(3)),
        from_request: true,
    };
    let requests = workload("ask-requests", Matrix::Requests(queries), Some(100));
    let answers = Workload {
        size: Size::Pareto(Pareto::bounded((105, 100), 10_000, 1_000_000).expect("sizes")),
        ..workload("ask", Matrix::Responses, None)
    };
    let (mean, until) = (TimeDelta::from_us(200), TimeDelta::from_us(1500));
    for workload in [requests, answers] {
        plan.workloads.push(Workload {
            arrivals: Arrivals::Poisson { mean, until },
            connection: match takes_messages {
                true => Connection::Pool(Pool { each: 2, when_busy: WhenBusy::Wait }),
                false => Connection::New,
            },
            ..workload
        });
    }
}

/// Adds loss, corruption, reordering, and a link that fails and comes back.
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

/// Runs every sample of a transport under every switch profile, with and without trouble on the links. The record is
/// equal on both engines and on two or three threads, packets and bytes are conserved, nothing is delivered twice, and
/// data arrives. Without trouble a second run has the same record; with trouble another seed gives another record.
///
/// Trouble comes under every second profile, and for the next sample under the other profiles. With `TRIMLINE_TROUBLE`
/// set it comes under all (`make nightly`).
///
/// # Panics
/// Panics if a property does not hold. The message names sample and profile.
pub fn every_profile(transport: &dyn AnyTransport) {
    let samples = transport.samples();
    assert!(!samples.is_empty(), "transport {} has no sample", transport.name());
    let is_whole = std::env::var_os("TRIMLINE_TROUBLE").is_some();
    for (place, sample) in samples.iter().enumerate() {
        let chosen = transport.with_keys(sample.keys, &star(2));
        let chosen = chosen.unwrap_or_else(|error| panic!("{}: {error}", sample.name));
        for (number, (profile, switch)) in profiles().into_iter().enumerate() {
            let has_trouble = is_whole || (place + number) % 2 == 0;
            for is_troubled in [false, true].into_iter().take(1 + usize::from(has_trouble)) {
                let case = format!("{} under {profile}, trouble: {is_troubled}", sample.name);
                println!("{case}");
                let mut plan = load(chosen.clone(), switch.clone());
                if profile == LOSSLESS {
                    let (xoff, xon) = (6 * 9064, 4 * 9064);
                    plan.lossless = Some(Lossless { xoff, xon, headroom: None, classes: 1 });
                }
                if is_troubled {
                    trouble(&mut plan);
                    ask(&mut plan);
                }
                let record = same_everywhere(&plan, if is_troubled { 3 } else { 2 });
                if is_troubled {
                    plan.seed += 1;
                    assert_ne!(record.flows, run(&plan).flows, "{case}: another seed");
                } else {
                    assert_eq!(record, run(&plan), "{case}: twice");
                }
                for flow in &record.flows {
                    let max = flow.size_bytes.unwrap_or(u64::MAX);
                    assert!(flow.delivered_bytes <= max, "{case}: {flow:?}");
                }
                let delivered: u64 = record.flows.iter().map(|flow| flow.delivered_bytes).sum();
                assert!(
                    delivered > sample.min_bytes,
                    "{case}: {} delivered",
                    ByteCount::new(delivered)
                );
            }
        }
    }
}
