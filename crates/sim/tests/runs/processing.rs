//! Processing times of hosts and switches, and the framing of links.
//!
//! A failure prints the case number; `TRIMLINE_CASE=n` replays it alone.

use crate::links::event;
use crate::plans::{both, fattree, incast, plan, run, run_on, star, workload};
use trimline_metrics::FlowRecord;
use trimline_metrics::timeline::What;
use trimline_packet::SplitMix;
use trimline_packet::{BitRate, ByteCount, HostId, TimeDelta};
use trimline_sim::division;
use trimline_sim::plan::{LinkChange, Matrix, Plan, Watch};
use trimline_sim::suites::take_time;
use trimline_sim::topology::{Clos, HostDelay, LinkSpec, Processing, links};
use trimline_sim::transports::{Cbr, Family, Ndp, Transport};
use trimline_transport::{Framing, cbr, ndp};

fn shape(choices: &mut SplitMix) -> Clos {
    match choices.modulo(4) {
        0 => star(2 + choices.modulo(5) as u32),
        1 => fattree(4),
        2 => Clos {
            tiers: 2,
            pods: 1,
            tors_per_pod: 2 + choices.modulo(3) as u32,
            hosts_per_tor: 1 + choices.modulo(4) as u32,
            aggregations_per_pod: 1 + choices.modulo(4) as u32,
            cores_per_aggregation: 0,
            ..fattree(4)
        },
        _ => Clos { tiers: 0, pods: 1, tors_per_pod: 2, hosts_per_tor: 1, ..star(2) },
    }
}

/// One flow alone between random hosts, with random delays everywhere. No link between switches is slower than the
/// hosts' links.
fn alone(number: u64) -> Plan {
    let mut choices = SplitMix(number);
    let mut clos = shape(&mut choices);
    let rate = choices.one_of(&[1, 3, 10, 40, 100]);
    let framing_bytes = choices.one_of(&[0, 20, 24, 1_000]);
    let inner = |choices: &mut SplitMix| LinkSpec {
        rate: BitRate::from_gbps(rate * choices.one_of(&[1, 2, 4])),
        delay: TimeDelta::from_ps(choices.modulo(5_000_000)),
        framing_bytes: choices.modulo(u64::from(framing_bytes) + 1) as u16,
    };
    (clos.tor_link, clos.aggregation_link) = (inner(&mut choices), inner(&mut choices));
    clos.host_link =
        LinkSpec { rate: BitRate::from_gbps(rate), framing_bytes, ..inner(&mut choices) };
    let mut time = || TimeDelta::from_ps(choices.modulo(2) * choices.modulo(9_000_000));
    let mut host = || HostDelay { min: time(), spread: TimeDelta::ZERO };
    let (host_send, host_receive) = (host(), host());
    clos.processing = Processing { host_send, host_receive, switch: [time(), time(), time()] };
    let hosts = u64::from(clos.hosts());
    let source = choices.modulo(hosts);
    let destination = (source + 1 + choices.modulo(hosts - 1)) % hosts;
    let (source, destination) = (source as u32, destination as u32);
    let payload = choices.one_of(&[9000, 1500, 512]);
    let packets = 1 + choices.modulo(60);
    let cut = choices.modulo(payload);
    let size = packets * payload - choices.one_of(&[0, cut]);
    // All at once, or as many as keep the link full until the first pull comes.
    let wire = clos.host_link.transmission(ByteCount::new(payload + 64)).as_ps();
    let round_trip = clos.idle_round_trip(payload as u16, Framing::NDP).as_ps().div_ceil(wire);
    let initial_window = choices.one_of(&[packets, round_trip + 1]) as u32;
    let flow = workload("one", Matrix::Pairs(vec![(source, destination)]), Some(size));
    let mut plan = plan(clos, initial_window, vec![flow]);
    let config = ndp::Config {
        payload_bytes: payload as u16,
        link_rate: plan.topology.host_link.rate,
        framing_bytes,
        ..crate::plans::ndp(initial_window)
    };
    plan.transports = vec![Ndp.with(config)];
    plan.switch = trimline_switch::ServiceModel::paper(8, payload as u16);
    plan
}

/// Returns the latest arrival of a flow alone at the link's rate, in order. A short last packet that does not overtake
/// the full ones takes its time behind them.
fn latest(plan: &Plan, flow: &FlowRecord) -> u64 {
    let payload = u64::from(plan.transports[0].payload_bytes());
    let size = flow.size_bytes.expect("a size");
    let (full_packets, last) = ((size - 1) / payload, (size - 1) % payload + 1);
    let (from, to) = (HostId::new(flow.source), HostId::new(flow.destination));
    let wire = |payload| ByteCount::new(payload + 64);
    let is_last_full = last == payload || full_packets == 0;
    let (behind, of_last) = match is_last_full {
        true => (full_packets, 0),
        false => (full_packets - 1, plan.topology.host_link.transmission(wire(last)).as_ps()),
    };
    let end = if full_packets == 0 { wire(last) } else { wire(payload) };
    plan.topology.ideal_completion(from, to, behind, wire(payload), end).as_ps() + of_last
}

/// Checks that a flow alone has slowdown 1, or as much more as its short last packet takes.
fn check_alone(number: u64, plan: &Plan, flow: &FlowRecord, took: Option<u64>) {
    let (took, ideal) = took.zip(flow.ideal_fct_ps).expect("it ends");
    let links =
        plan.topology.links_between(HostId::new(flow.source), HostId::new(flow.destination));
    let latest = if links.len() <= 2 { ideal } else { latest(plan, flow) };
    assert!(took >= ideal, "case {number}: {took} < {ideal}, {plan:#?}");
    assert!(took <= latest, "case {number}: {took} > {latest}, ideal {ideal}, {plan:#?}");
}

#[test]
fn a_lone_flow_at_constant_bit_rate_takes_its_ideal_time() {
    for number in 0..200 {
        let mut plan = alone(number);
        let payload_bytes = plan.transports[0].payload_bytes();
        let (rate, clock_lag) = (plan.topology.host_link.rate, TimeDelta::ZERO);
        let config = cbr::Config { payload_bytes, rate, clock_lag, marks_unscheduled: false };
        plan.transports = vec![Cbr.with(config)];
        plan.duration = Some(TimeDelta::from_ms(20));
        let record = both(&plan);
        let flow = record.flows.get(0).expect("a flow");
        // Hosts report no end of this flow.
        let links = links(&plan.topology);
        let host = links.iter().find(|(name, _)| *name == format!("host {}", flow.destination));
        let places = host.map(|&(_, link)| link).into_iter().collect();
        let (from, keep_packets) = (TimeDelta::ZERO, false);
        plan.timeline = Some(Watch { places, flows: Vec::new(), from, to: None, keep_packets });
        let timeline = run(&plan).timeline;
        let arrivals = timeline.events.iter().filter(|event| event.what == What::Arrive);
        check_alone(number, &plan, &flow, arrivals.map(|event| event.time_ps).max());
    }
}

#[test]
fn a_lone_flow_takes_its_ideal_time() {
    let one = std::env::var("TRIMLINE_CASE").ok().and_then(|case| case.parse().ok());
    for number in one.map_or(0..600u64, |case: u64| case..case + 1) {
        println!("case {number}: TRIMLINE_CASE={number} cargo test -p trimline-sim --test runs");
        let plan = alone(number);
        let record = both(&plan);
        let flow: &FlowRecord = &record.flows.get(0).expect("a flow");
        check_alone(number, &plan, flow, flow.fct_receiver_ps);
        if flow.packets_sent == 1 {
            // The way back of the ACK.
            let (from, to) = (HostId::new(flow.destination), HostId::new(flow.source));
            let header = ByteCount::new(64);
            let back = plan.topology.ideal_completion(from, to, 0, header, header).as_ps();
            assert_eq!(flow.ideal_fct_sender_ps, flow.ideal_fct_ps.map(|fct| fct + back));
            assert_eq!(flow.fct_sender_ps, flow.ideal_fct_sender_ps);
        }
        assert!(flow.fct_sender_ps >= flow.ideal_fct_sender_ps, "{plan:#?}");
    }
}

/// By hand: 10 packets of 9064 B and 20 B of framing on two links of 1 us at 10 Gb/s; 3 us to send, 5 us to receive,
/// 700 ns in the switch.
fn by_hand() -> Plan {
    let flow = workload("one", Matrix::Pairs(vec![(0, 1)]), Some(10 * 9000));
    let mut plan = plan(star(2), 10, vec![flow]);
    plan.topology.host_link.framing_bytes = 20;
    let host = |us| HostDelay { min: TimeDelta::from_us(us), spread: TimeDelta::ZERO };
    plan.topology.processing = Processing {
        host_send: host(3),
        host_receive: host(5),
        switch: [TimeDelta::from_ns(700), TimeDelta::ZERO, TimeDelta::ZERO],
    };
    plan
}

#[test]
fn every_processing_delay_counts_once() {
    let packet = (9064 + 20) * 800;
    let expected = 11 * packet + 2_000_000 + 3_000_000 + 5_000_000 + 700_000;
    let record = both(&by_hand());
    assert_eq!(record.flows.get(0).expect("a flow").fct_receiver_ps, Some(expected));
    // Framing takes time, but no counter includes it.
    let down = record.ports.iter().find(|port| port.name() == "tor 0 down 1").expect("the port");
    assert_eq!((down.packets, down.bytes), (10, 10 * 9064));
}

#[test]
fn a_link_change_keeps_the_framing() {
    let mut plan = by_hand();
    let slow = LinkChange::Rate(BitRate::from_gbps(1));
    plan.link_events.push(event(&plan.topology, 0, "host 0", slow));
    let (fast, slow) = ((9064 + 20) * 800, (9064 + 20) * 8_000);
    let others = 2_000_000 + 3_000_000 + 5_000_000 + 700_000;
    assert_eq!(
        both(&plan).flows.get(0).expect("a flow").fct_receiver_ps,
        Some(10 * slow + fast + others)
    );
    // Back after 100 us, when the second packet is being sent.
    plan.link_events.push(event(&plan.topology, 100, "host 0", LinkChange::Restore));
    assert_eq!(
        both(&plan).flows.get(0).expect("a flow").fct_receiver_ps,
        Some(2 * slow + 9 * fast + others)
    );
}

/// A switch's latency is before its queue.
#[test]
fn a_switch_latency_delays_packets_and_keeps_the_throughput() {
    let times = |latency| {
        let mut plan = plan(star(9), 4, vec![incast(8, 4 * 9000)]);
        plan.topology.processing.switch = [latency; 3];
        both(&plan).flows.iter().map(|flow| flow.fct_receiver_ps).max().flatten()
    };
    let last = |latency| times(latency).expect("every flow ends");
    let late = last(TimeDelta::from_us(2)) - last(TimeDelta::ZERO);
    // Only the round trips after the first burst feel it.
    assert!((2_000_000..20_000_000).contains(&late), "{late}");
}

/// Each host delays a flow by less than the spread; the mean delay of a lone packet is the spread.
#[test]
fn a_delay_spread_is_the_max_extra_delay() {
    let spread = TimeDelta::from_us(4);
    let mut later = Vec::new();
    for seed in 0..200 {
        let flow = workload("one", Matrix::Pairs(vec![(0, 15)]), Some(9000));
        let mut plan = plan(fattree(4), 30, vec![flow]);
        plan.seed = seed;
        plan.topology.processing.host_send.spread = spread;
        plan.topology.processing.host_receive.spread = spread;
        let record = both(&plan);
        let flow = &record.flows.get(0).expect("a flow");
        let (took, ideal) = (flow.fct_receiver_ps.zip(flow.ideal_fct_ps)).expect("it ends");
        later.push(took - ideal);
    }
    assert!(later.iter().all(|&later| later <= 2 * spread.as_ps()), "{later:?}");
    let mean = later.iter().sum::<u64>() / later.len() as u64;
    assert!((3_700_000..4_300_000).contains(&mean), "{mean}");
}

/// On one path no packet is taken for lost, however much the delay varies.
#[test]
fn a_delay_spread_reorders_no_packets() {
    let flow = workload("one", Matrix::Pairs(vec![(0, 1)]), Some(900_000));
    let mut plan = plan(star(2), 30, vec![flow]);
    let keys = "ack_every = 1\ndsack = true\nack_delay = \"100us\"";
    plan.transports = vec![Family::Tcp.with(Family::Tcp.config(keys, &star(2)).expect("its keys"))];
    plan.switch = trimline_switch::ServiceModel::drop_tail(1000);
    for host in
        [&mut plan.topology.processing.host_send, &mut plan.topology.processing.host_receive]
    {
        host.spread = TimeDelta::from_us(40);
    }
    let record = both(&plan);
    let flow = &record.flows.get(0).expect("a flow");
    assert_eq!(flow.packets_sent, 100, "{flow:?}");
}

#[test]
fn threads_agree_with_all_processing_delays() {
    for seed in [1, 2, 3, 5, 8, 13] {
        let permutation = workload("p", Matrix::Permutation, Some(300_000));
        let mut plan = plan(fattree(6), 12, vec![permutation, incast(9, 45_000)]);
        take_time(&mut plan, seed);
        let alone = both(&plan);
        assert!(division(&plan, 3).threads == 3);
        assert_eq!(alone, run_on(&plan, 3), "{plan:#?}");
    }
}

/// Latency of the top tier adds lookahead between threads.
#[test]
fn a_switch_latency_allows_threads_without_link_delay() {
    let permutation = workload("p", Matrix::Permutation, Some(100_000));
    let mut plan = plan(fattree(4), 12, vec![permutation]);
    plan.topology.aggregation_link.delay = TimeDelta::ZERO;
    assert_eq!(division(&plan, 2).threads, 1);
    plan.topology.processing.switch[2] = TimeDelta::from_ns(600);
    assert_eq!(division(&plan, 2).threads, 1, "down from the core there is no time");
    plan.topology.processing.switch[1] = TimeDelta::from_ns(400);
    assert_eq!(division(&plan, 2).threads, 2);
    assert_eq!(run(&plan), run_on(&plan, 2));
}
