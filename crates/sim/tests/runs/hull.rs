//! Phantom queues and pacers on the links of a run (HULL, NSDI 2012).

use trimline_metrics::RunRecord;
use trimline_packet::{PortCounters, TimeDelta};
use trimline_sim::plan::Plan;
use trimline_sim::scenario::Scenario;

use crate::plans::{run, same_everywhere};

/// Two long DCTCP flows to one host of a star of 1 Gb/s, and more keys.
fn two_flows(besides: &str) -> Plan {
    let text = format!(
        "duration = \"300ms\"\nwarm_up = \"100ms\"\ntopology.star.hosts = 3\n\
         links = {{ rate = \"1Gbps\", delay = \"20us\", framing = \"24B\" }}\n\
         transport.dctcp = {{ payload = \"1436B\", initial_threshold = 15 }}\n\
         switch = {{ profile = \"drop-tail\", data_queue = \"150KB\" }}\n\
         workload = [{{ name = \"w\", incast = {{ receiver = 0, senders = 2 }}, size = \"long-lived\" }}]\n\
         output.ports = true\n{besides}\n"
    );
    let scenario = Scenario::parse("s.toml", &text, &[]).unwrap_or_else(|error| panic!("{error}"));
    scenario.runs[0].plan.clone()
}

const PHANTOM: &str = "phantom_queue = [{ drain = \"80%\", threshold = \"6KB\" }]\n";

/// Returns goodput in Mb/s from 100 to 300 ms.
fn goodput(record: &RunRecord) -> f64 {
    record.flows.iter().map(|flow| flow.measured_bytes as f64 * 8.0 / 200_000.0).sum()
}

/// HULL 2.1: the counter drains at gamma C, so flows settle there. Without it they fill the queue of 150 KB.
#[test]
fn a_phantom_queue_gives_bandwidth_up_for_a_short_queue() {
    let (with, without) = (run(&two_flows(PHANTOM)), run(&two_flows("")));
    // 1436 of 1500 bytes counted, at 800 Mb/s.
    let drained = 800.0 * 1436.0 / 1500.0;
    assert!((0.9 * drained..1.02 * drained).contains(&goodput(&with)), "{}", goodput(&with));
    assert!(goodput(&without) > 930.0, "{}", goodput(&without));
    let count = |record: &RunRecord, of: fn(&PortCounters) -> u64| {
        record.ports.iter().map(|port| of(&port.counters)).sum::<u64>()
    };
    assert_eq!(count(&with, |port| port.dropped), 0);
    assert!(count(&without, |port| port.dropped) > 0);
    assert!(count(&with, |port| port.marked) > 100);
    assert_eq!(count(&without, |port| port.marked), 0);
}

/// A phantom queue leaves bursts of a window, and a pacer spreads them.
#[test]
fn phantom_queues_agree_on_both_engines_and_on_threads() {
    let paced = format!("{PHANTOM}host.pacer = {{}}");
    for besides in
        [PHANTOM, &paced, "host.pacer = { hosts = [1] }\nphantom_queue = [{ link = \"host 1\" }]"]
    {
        let mut plan = two_flows(besides);
        plan.duration = Some(TimeDelta::from_ms(30));
        plan.warm_up = TimeDelta::ZERO;
        same_everywhere(&plan, 2);
    }
}
