//! Random small networks in which everything goes wrong at once: loss, corruption, reordering, links
//! that slow down, fail and come back, tiny queues. Every sized flow completes, packets and bytes are
//! conserved and nothing is delivered twice (asserted by every run at its end), and both engines say
//! the same.
//!
//! A failure prints the seed; `TRIMLINE_SEED=n` replays it alone. `TRIMLINE_SEEDS=n` runs n seeds.

use crate::engines::{Choices, case};
use crate::plans::{both, tcp};
use crate::processing::take_time;
use trimline_metrics::FlowEnd;
use trimline_packet::{BitRate, ByteCount, TimeDelta};
use trimline_sim::plan::{
    Impairment, LinkChange, LinkEvent, Plan, PortRule, Share, SharedMemory, Size, Transport,
};
use trimline_sim::topology;
use trimline_switch::{Alpha, BesideModel, ServiceModel};
use trimline_transport::tcp;

const SEEDS: u64 = 1000;

/// What happens to the links of a run. Links that fail are restored, but for one, perhaps.
pub(crate) fn unsettle(plan: &mut Plan, choices: &mut Choices) {
    let links = topology::links(&plan.topology);
    for _ in 0..choices.below(4) {
        let link = links[choices.below(links.len() as u64) as usize].1;
        let begin = choices.one_of(&[0, 1, 20, 100, 1_000, 2_050]) * 1_000_000;
        let begin = TimeDelta::from_ps(begin + choices.below(3) * choices.below(1_000_000));
        let length = choices.one_of(&[1, 50, 500, 3_000, 20_000]);
        let both_directions = choices.below(3) != 0;
        let change = match choices.below(3) {
            0 => LinkChange::Rate(BitRate::from_bps(choices.one_of(&[
                100_000_000,
                1_000_000_000,
                2_500_000_000,
                40_000_000_000,
            ]))),
            _ => LinkChange::Fail,
        };
        let end = begin + TimeDelta::from_us(length);
        plan.link_events.push(LinkEvent { at: begin, link, both_directions, change });
        let change = LinkChange::Restore;
        plan.link_events.push(LinkEvent { at: end, link, both_directions: true, change });
    }
    if choices.below(4) == 0 {
        // One link between switches fails for good. Where each has two up-links every pair of hosts
        // keeps a path; elsewhere the run is cut off.
        let between: Vec<_> = links.iter().filter(|(name, _)| name.contains(" up ")).collect();
        if !between.is_empty() {
            let link = between[choices.below(between.len() as u64) as usize].1;
            let back = topology::reverse(&plan.topology, link);
            plan.link_events.retain(|event| event.link != link && event.link != back);
            let at = TimeDelta::from_us(choices.below(1_000));
            let (both_directions, change) = (choices.below(2) == 0, LinkChange::Fail);
            plan.link_events.push(LinkEvent { at, link, both_directions, change });
            if plan.topology.aggregations_per_pod < 2 {
                plan.duration = Some(TimeDelta::from_ms(20));
            }
        }
    }
    plan.routing_convergence = TimeDelta::from_us(choices.one_of(&[0, 1, 200, 5_000]));
    let mut share =
        |shares: &[u64]| Share::from_billionths(choices.one_of(shares)).expect("a share");
    plan.impairment = Impairment {
        loss: share(&[0, 0, 100_000, 10_000_000, 50_000_000]),
        corruption: share(&[0, 0, 1_000_000, 20_000_000]),
        reordering: TimeDelta::from_ns(choices.one_of(&[0, 0, 1, 900, 20_000, 300_000])),
        links: Vec::new(),
    };
    if choices.below(3) == 0 {
        for _ in 0..1 + choices.below(3) {
            plan.impairment.links.push(links[choices.below(links.len() as u64) as usize].1);
        }
    }
}

/// One of the TCP family with random options, on a switch that drops and marks; every third seed.
fn use_tcp(plan: &mut Plan, seed: u64) {
    let mut choices = Choices(seed ^ 0x7463_7000);
    let payload_bytes = plan.transport.payload_bytes();
    let sack = choices.below(2) == 0;
    let mut config = tcp::Config {
        payload_bytes,
        initial_window: choices.one_of(&[1, 2, 10, 40]),
        initial_threshold: choices.one_of(&[2, 15, u16::MAX]),
        ecn: choices.below(2) == 0,
        sack,
        dsack: sack && choices.below(2) == 0,
        timestamps: choices.below(2) == 0,
        frto: choices.below(2) == 0,
        handshake: choices.one_of(&[
            tcp::Handshake::ThreeWay,
            tcp::Handshake::FastOpen,
            tcp::Handshake::Standing,
        ]),
        ack_every: choices.one_of(&[1, 1, 2, 5]),
        ack_delay: TimeDelta::from_us(choices.one_of(&[1, 100, 5_000])),
        rto_initial: TimeDelta::from_us(choices.one_of(&[200, 1_000, 10_000])),
        rto_min: TimeDelta::from_us(choices.one_of(&[100, 1_000])),
        receive_window: choices.one_of(&[1, 7, 1024]),
        ..tcp()
    };
    match choices.below(4) {
        0 => config.control = tcp::Control::Cubic,
        1 => {
            config.control = tcp::Control::Dctcp { gain_shift: choices.below(6) as u8 };
            config.ecn = true;
        }
        2 => {
            config.subflows = choices.one_of(&[2, 3, 8]);
            (config.sack, config.dsack) = (false, false);
        }
        _ => {}
    }
    plan.transport = Transport::Tcp(config);
    if choices.below(4) != 0 {
        let packets = choices.one_of(&[2, 5, 30, 200]);
        plan.switch = ServiceModel::ecn(packets, packets / 3);
    }
}

/// Queues that share memory, of four packets and more, whatever the transport; every fifth seed.
fn share_memory(plan: &mut Plan, seed: u64) {
    let mut choices = Choices(seed ^ 0x706f_6f6c_0000);
    let payload = plan.transport.payload_bytes();
    let packets = choices.one_of(&[2, 8, 60]);
    let mut switch = match choices.below(4) {
        0 => trimline_switch::Choices::paper(packets, payload),
        1 => trimline_switch::Choices::p4(packets, payload),
        2 => trimline_switch::Choices::drop_tail(packets),
        _ => trimline_switch::Choices::ecn(packets, packets / 3),
    };
    let alpha = choices.one_of(&[(1, 1), (3, 1), (64, 1)]);
    for queue in &mut switch.queues {
        if choices.below(4) != 0 {
            queue.pool = Some(Alpha::from_fraction(alpha.0, alpha.1));
        }
    }
    plan.switch = switch.build().expect("a model");
    let packet = u64::from(payload) + 64;
    plan.shared_memory = match choices.below(2) {
        0 => SharedMemory::OfPort(ByteCount::new(packet * choices.one_of(&[2, 10]))),
        _ => SharedMemory::OfSwitch(ByteCount::new(packet * choices.one_of(&[4, 40]))),
    };
}

/// Ports that differ, and a queue beside the others for what may only be dropped; every fourth seed.
fn vary_ports(plan: &mut Plan, seed: u64) {
    let mut choices = Choices(seed ^ 0x706f_7274_7300);
    let payload = plan.transport.payload_bytes();
    let beside = |choices: &mut Choices| match choices.below(3) {
        0 => None,
        1 => Some(ServiceModel::drop_tail(choices.one_of(&[2, 9, 50]))),
        _ => Some(ServiceModel::ecn(choices.one_of(&[6, 50]), 3)),
    };
    plan.droppable = beside(&mut choices);
    let links = topology::links(&plan.topology);
    let ports: Vec<_> = links.iter().filter(|(name, _)| !name.starts_with("host")).collect();
    // Where a switch's ports share memory they all do.
    let rules = if plan.switch.shares_memory() { 0 } else { 1 + choices.below(3) };
    for _ in 0..rules {
        let packets = choices.one_of(&[2, 8, 40]);
        let main = match choices.below(4) {
            0 => ServiceModel::paper(packets, payload),
            1 => ServiceModel::p4(packets, payload),
            2 => ServiceModel::drop_tail(packets),
            _ => ServiceModel::cut_payload(packets, payload + 64),
        };
        let (every, first) = (1 + choices.below(3) as usize, choices.below(3) as usize);
        let ports = ports.iter().skip(first).step_by(every).map(|&&(_, link)| link).collect();
        let model = BesideModel { main, droppable: beside(&mut choices) };
        plan.port_rules.push(PortRule { ports, model });
    }
}

fn network(seed: u64) -> Plan {
    let mut choices = Choices(seed ^ 0x6c69_6e6b_7300_0000);
    let mut plan = case(seed);
    if seed % 3 == 2 {
        use_tcp(&mut plan, seed);
    }
    if seed % 5 == 4 {
        share_memory(&mut plan, seed);
    }
    if seed % 7 == 6 {
        take_time(&mut plan, seed);
    }
    if seed % 4 == 3 {
        vary_ports(&mut plan, seed);
    }
    for workload in &mut plan.workloads {
        // Small, so that a thousand runs take seconds.
        let most = 1 + choices.below(100_000);
        let size = match workload.size {
            Size::Fixed(size) => size.get().min(most),
            _ => most,
        };
        workload.size = Size::Fixed(ByteCount::new(size));
    }
    (plan.duration, plan.warm_up) = (None, TimeDelta::ZERO);
    if let Transport::Ndp(config) = &mut plan.transport
        && choices.below(3) == 0
    {
        config.path_penalty = None;
    }
    unsettle(&mut plan, &mut choices);
    plan
}

#[test]
fn every_flow_completes_whatever_happens_to_the_links() {
    let variable = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let one = variable("TRIMLINE_SEED");
    let seeds = match one {
        Some(seed) => seed..seed + 1,
        None => 0..variable("TRIMLINE_SEEDS").unwrap_or(SEEDS),
    };
    let (mut timeouts, mut completed) = (0, 0);
    for seed in seeds {
        println!(
            "seed {seed}: TRIMLINE_SEED={seed} cargo test -p trimline-sim --test runs random_networks"
        );
        let plan = network(seed);
        for flow in &both(&plan).flows {
            timeouts += flow.timeouts;
            match flow.end {
                FlowEnd::Completed => completed += 1,
                _ => assert!(plan.duration.is_some(), "seed {seed}: {flow:?} of {plan:#?}"),
            }
        }
    }
    if one.is_none() {
        println!("{completed} flows completed after {timeouts} time-outs");
        assert!(completed > 1000 && timeouts > 1000, "{completed} flows, {timeouts} time-outs");
    }
}
