//! Switches whose ports share memory by dynamic thresholds (Choudhury and Hahne 1998). Every run checks now and then
//! that pools hold their queues, within their size; `every_transport` and `random_networks` compare engines and
//! threads.

use std::collections::BTreeSet;

use crate::plans::{both, plan, same_everywhere, star, workload};
use trimline_packet::{BitRate, ByteCount, TimeDelta};
use trimline_sim::plan::{Matrix, Plan, SharedMemory};
use trimline_sim::scenario::Scenario;
use trimline_sim::transports::{Cbr, Transport};
use trimline_switch::{Alpha, Choices};
use trimline_transport::cbr;

/// One switch of drop-tail queues that share `memory`.
fn shared(hosts: u32, pairs: &[(u32, u32)], alpha: Alpha, memory: SharedMemory) -> Plan {
    let matrix = Matrix::Pairs(pairs.to_vec());
    let mut plan = plan(star(hosts), 1, vec![workload("w", matrix, None)]);
    let mut choices = Choices::drop_tail(100_000);
    choices.queues[0].pool = Some(alpha);
    plan.switch = choices.build().expect("a model");
    plan.shared_memory = memory;
    plan.transports = vec![Cbr.with(cbr::Config {
        payload_bytes: 936,
        rate: BitRate::from_gbps(10),
        clock_lag: TimeDelta::ZERO,
        marks_unscheduled: false,
    })];
    plan.duration = Some(TimeDelta::from_ms(5));
    plan
}

/// The fixed point of the paper: each of n full queues holds alpha times the free memory, so alpha / (1 + n alpha) of
/// the memory, and 1 / (1 + n alpha) stays free for a port that wakes up.
#[test]
fn hot_ports_share_memory_by_the_dynamic_threshold() {
    let memory = 1_000_000;
    for (numerator, denominator) in [(1, 4), (1, 1), (2, 1), (8, 1)] {
        for hot in [1, 2, 4] {
            // Two senders at line rate for each hot port.
            let pairs: Vec<(u32, u32)> =
                (0..2 * hot).map(|sender| (sender, 8 + sender / 2)).collect();
            let alpha = Alpha::from_fraction(numerator, denominator);
            let mut plan =
                shared(12, &pairs, alpha, SharedMemory::OfSwitch(ByteCount::new(memory)));
            plan.sample_every = Some(TimeDelta::from_ms(1));
            let record = both(&plan);
            // The ports come before the hosts.
            let last = record.samples.samples.iter().rfind(|sample| sample.group == 0);
            let last = last.expect("samples");
            let each = memory * u64::from(numerator)
                / (u64::from(denominator) + u64::from(hot) * u64::from(numerator));
            let case = format!("{hot} hot, alpha {numerator}/{denominator}");
            // A packet has 1000 bytes: one too many or too few for each hot port.
            let mean = last.queue_bytes / u64::from(hot);
            assert!(mean.abs_diff(each) <= 1000 * u64::from(hot), "{case}: {mean} of {each}");
            // The threshold itself moves by alpha for each of the packets, and the next arrival gets that memory.
            let max = last.queue_bytes_max;
            let swing = 1000 * u64::from(hot * numerator.div_ceil(denominator));
            assert!(max.abs_diff(each) <= swing, "{case}: {max} of {each}");
        }
    }
}

/// Memory is free when the packet's last bit leaves, also at a port that then is idle; an arrival elsewhere at that
/// instant finds it free.
#[test]
fn shared_memory_is_freed_with_the_last_bit_of_a_packet() {
    let dropped = |later_ps: u64| {
        let memory = SharedMemory::OfSwitch(ByteCount::new(1000));
        let mut plan = shared(4, &[(0, 2)], Alpha::from_fraction(1000, 1), memory);
        let mut second = workload("second", Matrix::Pairs(vec![(1, 3)]), None);
        second.start = TimeDelta::from_ps(later_ps);
        plan.workloads.push(second);
        // One packet of each sender: the next would come after a millisecond.
        plan.transports = vec![Cbr.with(cbr::Config {
            payload_bytes: 936,
            rate: BitRate::from_bps(8_000_000),
            clock_lag: TimeDelta::ZERO,
            marks_unscheduled: false,
        })];
        plan.duration = Some(TimeDelta::from_us(500));
        both(&plan).ports.iter().map(|port| port.dropped).sum::<u64>()
    };
    // 1000 bytes take 800 ns; the first packet is on the wire of its port from 1.8 to 2.6 us.
    assert_eq!(dropped(799_999), 1, "one picosecond before the memory is free");
    assert_eq!(dropped(800_000), 0, "at the instant at which it is");
    assert_eq!(dropped(900_000), 0, "after it");
}

/// A full port leaves room for a burst to another one. Memory divided among ports would drop the burst, and a limit of
/// its own would have stopped the first port earlier.
#[test]
fn a_port_can_use_memory_that_another_leaves_free() {
    let lost = |memory, alpha| {
        let mut plan = shared(12, &[(0, 8), (1, 8)], alpha, memory);
        let burst: Vec<(u32, u32)> = (2..8).map(|sender| (sender, 9)).collect();
        let mut burst = workload("burst", Matrix::Pairs(burst), None);
        burst.start = TimeDelta::from_ms(4);
        plan.workloads.push(burst);
        plan.duration = Some(TimeDelta::from_us(4_050));
        let record = both(&plan);
        let port = |name| record.ports.iter().find(|port| port.name() == name).expect("a port");
        (port("tor 0 down 8").dropped, port("tor 0 down 9").dropped)
    };
    let port = SharedMemory::OfPort(ByteCount::new(50_000));
    // 600,000 bytes in all. Alpha 1: the first port stops at 300,000; of the burst, 6 x 62.5 packets at 10 Gb/s less
    // what leaves, 200,000 can stay.
    let (hot, burst) = lost(port, Alpha::from_fraction(1, 1));
    assert!(hot > 0 && burst > 0, "{hot} {burst}");
    let switch = SharedMemory::OfSwitch(ByteCount::new(12 * 50_000));
    assert_eq!(lost(switch, Alpha::from_fraction(1, 1)), (hot, burst), "twelve ports' memory");
    let (_, generous) = lost(port, Alpha::from_fraction(1, 4));
    assert!(generous > burst, "a smaller factor leaves more memory unused: {generous} {burst}");
    let (_, greedy) = lost(port, Alpha::from_fraction(64, 1));
    assert!(greedy > burst, "a greedy port leaves nothing: {greedy} {burst}");
}

/// Every profile that the scenario lets share memory, under an incast that fills it, is the same run on both engines and
/// on two threads; every flow ends.
#[test]
fn every_profile_that_may_share_memory_does() {
    let transports = ["tcp = { sack = true }", "tcp.notifications = true", "homa = {}", "ndp = {}"];
    let plan = |profile: &str, transport: &str| {
        let text = format!(
            "topology.fattree.k = 4\n\
             transport.{transport}\nswitch = {{ profile = \"{profile}\", shared_buffer = \"60pkt\" }}\n\
             [[workload]]\nname = \"w\"\nincast = {{ receiver = 0, senders = 11 }}\nsize = \"90KB\"\n"
        );
        let scenario = Scenario::parse("s.toml", &text, &[]);
        scenario.map(|scenario| scenario.runs[0].plan.clone()).map_err(|error| error.to_string())
    };
    let mut sharing = BTreeSet::new();
    for profile in &trimline_switch::profiles::ALL {
        for transport in transports {
            let Ok(plan) = plan(profile.name, transport) else { continue };
            sharing.insert(profile.name);
            let record = same_everywhere(&plan, 2);
            let ended = record.flows.iter().filter(|flow| flow.fct_receiver_ps.is_some()).count();
            assert_eq!(ended, 11, "{} with {transport}", profile.name);
        }
    }
    let expected = [
        "codel",
        "cut-payload",
        "drop-tail",
        "ecn",
        "fastlane",
        "priorities",
        "qos",
        "source-quench",
    ];
    assert!(sharing.iter().eq(&expected), "{sharing:?}");
}
