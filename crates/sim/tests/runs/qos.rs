//! Switches with a queue per class of flows (profile qos): the classes' order and memory.

use trimline_metrics::RunRecord;
use trimline_packet::{BitRate, ByteCount, TimeDelta};
use trimline_sim::plan::{Matrix, Plan, SharedMemory};
use trimline_sim::scenario::Scenario;
use trimline_sim::transports::{Cbr, Transport};
use trimline_switch::{Alpha, Choices, Limit, ServiceModel};
use trimline_transport::cbr;

use crate::plans::{both, plan, run, star, workload};

/// Two senders of packets of 1000 B at line rate for each class, each class `later` than the one before, all to host 8,
/// for 5 ms.
fn hot(classes: &[u8], later: TimeDelta, switch: ServiceModel, memory: u64) -> Plan {
    let flows = |(place, &class): (usize, &u8)| {
        let first = 2 * place as u32;
        let pairs = Matrix::Pairs(vec![(first, 8), (first + 1, 8)]);
        let mut flows = workload(&format!("class-{class}"), pairs, None);
        flows.class = class;
        flows.start = later * place as u64;
        flows
    };
    let workloads = classes.iter().enumerate().map(flows).collect();
    let mut plan = plan(star(12), 1, workloads);
    plan.switch = switch;
    plan.shared_memory = SharedMemory::OfSwitch(ByteCount::new(memory));
    plan.transports = vec![Cbr.with(cbr::Config {
        payload_bytes: 936,
        rate: BitRate::from_gbps(10),
        clock_lag: TimeDelta::ZERO,
        marks_unscheduled: false,
    })];
    plan.duration = Some(TimeDelta::from_ms(5));
    plan.sample_every = Some(TimeDelta::from_ms(1));
    plan
}

/// Returns the bytes that the one hot port holds at the end.
fn held(record: &RunRecord) -> u64 {
    let last = record.samples.samples.iter().rfind(|sample| sample.group == 0);
    last.expect("samples").queue_bytes
}

/// The fixed point of Choudhury and Hahne's paper, for classes as for ports: n full queues hold alpha / (1 + n alpha)
/// of the memory each. A later class takes memory from an earlier one.
#[test]
fn each_hot_class_of_a_port_has_its_dynamic_threshold() {
    let memory = 1_000_000;
    for (numerator, denominator) in [(1, 4), (1, 1), (2, 1), (8, 1)] {
        for classes in [&[0][..], &[3, 0]] {
            let mut choices = Choices::qos(1);
            for queue in &mut choices.queues {
                queue.pool = Some(Alpha::from_fraction(numerator, denominator));
                (queue.whole, queue.header) = (Limit::NONE, Limit::NONE);
            }
            let switch = choices.build().expect("a model");
            let record = both(&hot(classes, TimeDelta::from_us(1500), switch, memory));
            let (count, numerator) = (classes.len() as u64, u64::from(numerator));
            let all = count * memory * numerator / (u64::from(denominator) + count * numerator);
            let case = format!("classes {classes:?}, alpha {numerator}/{denominator}");
            let swing = 1000 * count * numerator.div_ceil(u64::from(denominator));
            assert!(held(&record).abs_diff(all) <= swing, "{case}: {} of {all}", held(&record));
        }
    }
}

#[test]
fn each_class_has_its_own_memory_without_a_shared_buffer() {
    for (classes, packets) in [(&[2][..], 10), (&[3, 0], 20), (&[3, 2, 1, 0], 40)] {
        let record = both(&hot(classes, TimeDelta::ZERO, ServiceModel::qos(10), 0));
        assert!(held(&record).abs_diff(packets * 1000) <= 1000, "{classes:?}: {}", held(&record));
    }
}

/// Strict priority: other classes have what the highest leaves.
#[test]
fn the_highest_class_gets_the_whole_link() {
    let record = both(&hot(&[1, 3, 0], TimeDelta::ZERO, ServiceModel::qos(10), 0));
    let delivered = |class: &str| {
        let flows = record.flows.iter().filter(|flow| flow.workload == class);
        flows.map(|flow| flow.delivered_bytes).sum::<u64>()
    };
    // 5 ms of 10 Gb/s are 6250 packets. Before the first of class 3 each other class may have had the link once.
    assert!(delivered("class-3") > 6_200 * 936, "{}", delivered("class-3"));
    assert!(delivered("class-1") <= 936 && delivered("class-0") <= 2 * 936);
}

/// Long TCP flows of class 0 both ways between four hosts and messages of 1 KB of `class` beside them.
fn messages(class: u8) -> RunRecord {
    let text = format!(
        "duration = \"60ms\"\ntopology.star.hosts = 6\ntransport.tcp = {{ rto_min = \"10ms\" }}\n\
         switch = {{ profile = \"qos\", data_queue = \"100pkt\" }}\n\
         [[workload]]\nname = \"long\"\npairs = [[2, 0], [3, 0], [4, 1], [5, 1]]\nsize = \"long-lived\"\n\
         [[workload]]\nname = \"short\"\npairs = [[1, 0]]\nsize = \"1KB\"\nclass = {class}\nstart = \"20ms\"\n\
         arrivals.periodic = {{ every = \"100us\", until = \"50ms\" }}\n"
    );
    let scenario = Scenario::parse("s.toml", &text, &[]).unwrap_or_else(|error| panic!("{error}"));
    run(&scenario.runs[0].plan)
}

/// SYN and data wait at the port to host 0, their answers at the port to host 1, behind one packet at most each, unless
/// they have the class of the long flows.
#[test]
fn tcp_packets_and_acks_have_the_class_of_their_flow() {
    // `None`: not all have ended.
    let slowest = |class: u8| {
        let record = messages(class);
        let short: Vec<_> = record.flows.iter().filter(|flow| flow.workload == "short").collect();
        assert_eq!(short.len(), 300);
        let longest = |fct: fn(&trimline_metrics::FlowRecord) -> Option<u64>| {
            short.iter().map(fct).collect::<Option<Vec<u64>>>()?.into_iter().max()
        };
        (longest(|flow| flow.fct_receiver_ps), longest(|flow| flow.fct_sender_ps))
    };
    // A packet of 9064 B takes 7.2512 us; each way through an idle network 2 us and little more.
    for class in 1..4 {
        let (receiver, sender) = slowest(class);
        assert!(receiver.is_some_and(|ps| ps < 30_000_000), "{class}: {receiver:?}");
        assert!(sender.is_some_and(|ps| ps < 40_000_000), "{class}: {sender:?}");
    }
    // In the full queue of the long flows a message waits, or is lost.
    let (receiver, sender) = slowest(0);
    assert!(receiver.is_none_or(|ps| ps > 100_000_000), "{receiver:?}");
    assert!(sender.is_none_or(|ps| ps > 150_000_000), "{sender:?}");
}
