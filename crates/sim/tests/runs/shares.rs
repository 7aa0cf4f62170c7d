//! Fairness of flows that react to marks at one bottleneck.

use trimline_sim::scenario::Scenario;

use crate::plans::run;

/// Returns the min over three seeds of Jain's index of ten DCTCP flows into one host, from 50 to 60 ms, windows of two
/// to four segments.
fn min_jain_of_dctcp(grows_when_marked: bool) -> f64 {
    let text = format!(
        "topology.fattree.hosts = 128\nseeds = \"1..3\"\nduration = \"60ms\"\nwarm_up = \"50ms\"\n\
         [transport.dctcp]\ninitial_threshold = 15\nack_every = 1\nsack = false\nrto_initial = \"10ms\"\n\
         rto_min = \"10ms\"\ngrows_when_marked = {grows_when_marked}\n\
         [switch]\nprofile = \"ecn\"\ndata_queue = \"1746000B\"\necn_threshold = \"135000B\"\n\
         ecn_mark_at = \"dequeue\"\necn_count_self = true\n\
         [[workload]]\nname = \"w\"\nincast = {{ receiver = 0, senders = 10, choose = \"last\" }}\n\
         size = \"long-lived\"\n"
    );
    min_jain(&text)
}

/// Returns the min of Jain's index over a scenario's runs.
fn min_jain(text: &str) -> f64 {
    let scenario = Scenario::parse("s.toml", text, &[]).unwrap_or_else(|error| panic!("{error}"));
    let each = scenario.runs.iter().map(|each| {
        let record = run(&each.plan);
        let shares = || record.flows.iter().map(|flow| flow.measured_bytes as f64);
        let squares: f64 = shares().map(|share| share * share).sum();
        shares().sum::<f64>().powi(2) / (shares().count() as f64 * squares)
    });
    each.fold(f64::INFINITY, f64::min)
}

/// htsim's DCTCP shares more evenly: an ACK with an echo lets the window grow.
#[test]
fn growth_by_every_ack_evens_the_shares() {
    let (even, plain) = (min_jain_of_dctcp(true), min_jain_of_dctcp(false));
    assert!(even > 0.999, "{even}");
    assert!((0.94..0.99).contains(&plain), "{plain}");
}

/// A mark leaves no window of one segment, whose ACK would be delayed by 40 ms: Jain's index of long flows into one
/// host with each transport's defaults, from 10 to 110 ms, min of two seeds. More senders of MPTCP have more subflows
/// than the queue has packets.
#[test]
fn delayed_acks_starve_no_flow_that_answers_marks() {
    for (transport, senders) in [
        ("dctcp = {}", &[2, 3, 4, 8, 16, 32][..]),
        ("tcp.ecn = true", &[2, 8, 32]),
        ("tcp = { control = \"cubic\", ecn = true }", &[2, 8, 32]),
        ("mptcp.ecn = true", &[2, 4]),
    ] {
        for senders in senders {
            let jain = min_jain(&format!(
                "topology.star.hosts = 33\nseeds = \"1..2\"\nduration = \"110ms\"\nwarm_up = \"10ms\"\n\
                 transport.{transport}\n\
                 [[workload]]\nname = \"w\"\nincast = {{ receiver = 0, senders = {senders} }}\n\
                 size = \"long-lived\"\nstart_jitter = \"5ms\"\n"
            ));
            println!("{transport}, {senders} senders: {jain:.4}");
            assert!(jain >= 0.95, "{transport}, {senders} senders: {jain}");
        }
    }
}

/// Some of 32 flows that begin within 1 ms lose their first window; the timeout leaves one segment. Jain's index from
/// 210 to 310 ms, min of three seeds.
#[test]
fn flows_recover_from_a_timeout_where_every_ack_is_marked() {
    let jain = min_jain(
        "topology.star.hosts = 40\nseeds = \"1..3\"\nduration = \"310ms\"\nwarm_up = \"210ms\"\n\
         transport.dctcp = {}\n\
         [[workload]]\nname = \"w\"\nincast = { receiver = 0, senders = 32 }\n\
         size = \"long-lived\"\nstart_jitter = \"1ms\"\n",
    );
    assert!(jain >= 0.95, "{jain}");
}
