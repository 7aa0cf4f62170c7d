//! Aeolus (SIGCOMM 2020) on a switch with selective drop: unscheduled losses return without a timeout.

use trimline_metrics::{FlowEnd, RunRecord};
use trimline_sim::scenario::Scenario;
use trimline_sim::suites::plans::same_everywhere;

/// 32 hosts each send 20,000 B to another one at once, with timeouts of 50 ms.
fn incast(transport: &str, switch: &str) -> RunRecord {
    let text = format!(
        "topology.star.hosts = 33\nlinks.delay = \"500ns\"\n{transport}\n{switch}\n\
         [[workload]]\nname = \"w\"\nincast = {{ receiver = 0, senders = 32 }}\nsize = \"20000B\"\n"
    );
    let scenario = Scenario::parse("s.toml", &text, &[]);
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}\n{text}"));
    same_everywhere(&scenario.runs[0].plan, 2)
}

fn last_us(record: &RunRecord) -> u64 {
    assert!(record.flows.iter().all(|flow| flow.end == FlowEnd::Completed));
    let times = record.flows.iter().map(|flow| flow.fct_receiver_ps.expect("it has ended"));
    times.max().expect("a flow") / 1_000_000
}

fn dropped(record: &RunRecord) -> u64 {
    record.ports.iter().map(|port| port.dropped).sum()
}

/// 32 x 20,000 B at 10 Gb/s are 512 us without headers.
#[test]
fn an_incast_of_homa_ends_without_a_timeout() {
    let transport = |aeolus: bool| {
        format!("transport.homa = {{ payload = \"1442B\", resend = \"50ms\", aeolus = {aeolus} }}")
    };
    let switch = "switch.selective_drop = \"6KB\"";
    let with = incast(&transport(true), switch);
    assert!(dropped(&with) > 50 && last_us(&with) < 900, "{} us", last_us(&with));
    let without = incast(&transport(false), switch);
    assert!(last_us(&without) > 50_000, "{} us", last_us(&without));
    // Without selective drop nothing is lost, and probes change little.
    let whole = incast(&transport(true), "");
    assert!(dropped(&whole) == 0 && last_us(&whole) < 700, "{} us", last_us(&whole));
}

#[test]
fn an_incast_of_ndp_ends_without_a_timeout_on_switches_that_do_not_trim() {
    let transport = |aeolus: bool| {
        format!(
            "transport.ndp = {{ payload = \"1442B\", initial_window = 8, rto = \"50ms\", aeolus = {aeolus} }}"
        )
    };
    let switch = "switch = { profile = \"drop-tail\", selective_drop = \"6KB\" }";
    let with = incast(&transport(true), switch);
    assert!(dropped(&with) > 50 && last_us(&with) < 900, "{} us", last_us(&with));
    let without = incast(&transport(false), switch);
    assert!(last_us(&without) > 50_000, "{} us", last_us(&without));
}
