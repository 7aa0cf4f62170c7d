//! How evenly DCTCP's flows share one bottleneck within ten milliseconds.

use trimline_sim::scenario::Scenario;

use crate::plans::run;

/// Jain's index of ten flows into one host, 50 to 60 ms after they began, windows of two to four segments; the least of
/// three seeds.
fn least_jain(grows_when_marked: bool) -> f64 {
    let text = format!(
        "topology.fattree.hosts = 128\nseeds = \"1..3\"\nduration = \"60ms\"\nwarm_up = \"50ms\"\n\
         [transport.dctcp]\ninitial_threshold = 15\nack_every = 1\nsack = false\nrto_initial = \"10ms\"\n\
         rto_min = \"10ms\"\ngrows_when_marked = {grows_when_marked}\n\
         [switch]\nprofile = \"ecn\"\ndata_queue = \"1746000B\"\necn_threshold = \"135000B\"\n\
         ecn_mark_at = \"dequeue\"\necn_count_self = true\n\
         [[workload]]\nname = \"w\"\nincast = {{ receiver = 0, senders = 10, choose = \"last\" }}\n\
         size = \"long-lived\"\n"
    );
    let scenario = Scenario::parse("s.toml", &text, &[]).unwrap_or_else(|error| panic!("{error}"));
    let each = scenario.runs.iter().map(|each| {
        let record = run(&each.plan);
        let shares = || record.flows.iter().map(|flow| flow.measured_bytes as f64);
        let squares: f64 = shares().map(|share| share * share).sum();
        shares().sum::<f64>().powi(2) / (shares().count() as f64 * squares)
    });
    each.fold(f64::INFINITY, f64::min)
}

/// Why htsim's DCTCP shares more evenly: there an ACK with an echo lets the window grow.
#[test]
fn growth_by_every_ack_makes_the_shares_even() {
    let (even, plain) = (least_jain(true), least_jain(false));
    assert!(even > 0.999, "{even}");
    assert!((0.9..0.99).contains(&plain), "{plain}");
}
