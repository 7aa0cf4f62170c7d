//! RCCC of Ultra Ethernet over its switch, alone and beneath NSCC.

use trimline_metrics::RunRecord;
use trimline_sim::scenario::Scenario;

use crate::plans::run;

/// Credit alone, and beside the window.
const TRANSPORTS: [&str; 2] = ["transport.rccc = { payload = \"4086B\" }", BOTH];
const BOTH: &str = "transport.nscc = { payload = \"4086B\", credit = true }";
/// The ports to hosts mark nothing.
const SWITCH: &str = "switch.port = [{ layer = \"tor\", direction = \"down\", last_hop = true, ecn_threshold = \"1GB\" }]\n\
    links = { rate = \"100Gbps\", delay = \"1us\" }\n";

fn record(keys: &str) -> RunRecord {
    let text = format!("{SWITCH}{keys}");
    let scenario = Scenario::parse("s.toml", &text, &[]).unwrap_or_else(|error| panic!("{error}"));
    run(&scenario.runs[0].plan)
}

/// uet-htsim's one.cm prints 177.368 us with credit, alone and beside the window.
#[test]
fn one_flow_takes_the_time_that_uet_htsim_prints() {
    for transport in TRANSPORTS {
        let record = record(&format!(
            "topology.fattree.k = 4\n{transport}\nworkload = [{{ name = \"one\", pairs = [[0, 15]], size = \"2MB\" }}]\n"
        ));
        let flow = record.flows.iter().next().expect("a flow");
        assert_eq!((flow.packets_sent, flow.timeouts), (490, 0), "{transport}");
        let took = flow.fct_sender_ps.expect("it ended");
        assert!(took.abs_diff(177_368_000) <= 10_000, "{transport}: {took} ps");
    }
}

/// Jain's index of 0.9 at least, and 95 % of the link: grants are paced to 99 %.
#[test]
fn two_to_64_flows_share_a_link() {
    for transport in TRANSPORTS {
        for flows in [2, 4, 8, 16, 32, 64] {
            let record = record(&format!(
                "topology.star.hosts = 65\nduration = \"3ms\"\nwarm_up = \"1ms\"\n{transport}\n\
                 workload = [{{ name = \"w\", incast = {{ receiver = 0, senders = {flows} }}, size = \"long-lived\" }}]\n"
            ));
            let bytes: Vec<u64> = record.flows.iter().map(|flow| flow.measured_bytes).collect();
            assert_eq!(bytes.len() as u64, flows);
            let (sum, squares) = bytes.iter().fold((0u128, 0u128), |(sum, squares), &bytes| {
                let bytes = u128::from(bytes);
                (sum + bytes, squares + bytes * bytes)
            });
            let jain = sum * sum * 1_000 / (u128::from(flows) * squares);
            // 2 ms at 100 Gb/s, without headers.
            let busy = sum * 1_000 / (25_000_000 * 4086 / 4150);
            let is_shared = jain >= 900 && (950..=992).contains(&busy);
            assert!(is_shared, "{transport}, {flows} flows: {jain}, {busy}");
        }
    }
}

/// Time of the last flow of an oversubscribed permutation, and the share of packets sent again, in thousandths.
fn oversubscribed(keys: &str) -> (u64, u64) {
    let record = record(&format!(
        "topology.leafspine = {{ leaves = 4, spines = 2, hosts_per_leaf = 8 }}\ntransport.rccc = {{ payload = \"4086B\", {keys} }}\n\
         workload = [{{ name = \"w\", permutation = {{}}, size = \"2MB\" }}]\n"
    ));
    let ends = record.flows.iter().map(|flow| flow.fct_sender_ps.expect("it ended"));
    let last = ends.max().expect("a flow");
    let sent: u64 = record.flows.iter().map(|flow| flow.packets_sent).sum();
    let again: u64 = record.flows.iter().map(|flow| flow.retransmissions_signalled).sum();
    (last, again * 1_000 / sent)
}

/// Where the core carries a quarter of what hosts send, grants that follow it waste fewer packets and no time.
#[test]
fn credit_that_follows_the_core_is_trimmed_less() {
    let (last, again) = oversubscribed("");
    let (followed, fewer) = oversubscribed("core_control = true");
    assert!(fewer * 2 < again, "{fewer} and {again} of a thousand packets");
    assert!(followed < last + last / 20, "{followed} and {last} ps");
}
