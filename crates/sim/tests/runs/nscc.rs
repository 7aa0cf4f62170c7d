//! NSCC of Ultra Ethernet over its switch.

use trimline_metrics::RunRecord;
use trimline_sim::scenario::Scenario;

use crate::plans::run;

fn record(keys: &str) -> RunRecord {
    let scenario = Scenario::parse("s.toml", keys, &[]).unwrap_or_else(|error| panic!("{error}"));
    run(&scenario.runs[0].plan)
}

/// uet-htsim's one.cm prints 176.2 us: 489 packets of 4150 B and one of 2010 B behind one another, six links of 1 us
/// and 100 Gb/s, and the ACK of the last one.
#[test]
fn one_flow_takes_the_time_that_uet_htsim_prints() {
    let record = record(
        "topology.fattree.k = 4\nlinks = { rate = \"100Gbps\", delay = \"1us\" }\ntransport.nscc.payload = \"4086B\"\n\
         workload = [{ name = \"one\", pairs = [[0, 15]], size = \"2MB\" }]\n",
    );
    let flow = record.flows.iter().next().expect("a flow");
    assert_eq!((flow.packets_sent, flow.timeouts), (490, 0));
    let expected = (489 + 5) * 332_000 + 160_800 + 12_000_000 + 30_720;
    let took = flow.fct_sender_ps.expect("it ended");
    assert!(took.abs_diff(expected) <= 10_000, "{took} ps, expected {expected}");
}

/// Returns delivered bytes of endless flows into one host in two milliseconds after one, and the share of the link in
/// thousandths.
fn shares(flows: u64, keys: &str) -> (Vec<u64>, u64) {
    let record = record(&format!(
        "topology.star.hosts = 65\nduration = \"3ms\"\nwarm_up = \"1ms\"\nlinks = {{ rate = \"100Gbps\", delay = \"1us\" }}\n\
         transport.nscc = {{ payload = \"4086B\", {keys} }}\n\
         workload = [{{ name = \"w\", incast = {{ receiver = 0, senders = {flows} }}, size = \"long-lived\" }}]\n",
    ));
    let bytes: Vec<u64> = record.flows.iter().map(|flow| flow.measured_bytes).collect();
    // 2 ms at 100 Gb/s, without headers.
    let sum: u64 = bytes.iter().sum();
    (bytes, sum * 1_000 / (25_000_000 * 4086 / 4150))
}

/// Jain's index of 0.9 at least, and 95 % of the link, by each average.
#[test]
fn two_to_64_flows_share_a_link() {
    for keys in ["average = \"exponential\"", "average = \"round-trip\""] {
        for flows in [2, 4, 8, 16, 32, 64] {
            let (bytes, busy) = shares(flows, keys);
            assert_eq!(bytes.len() as u64, flows);
            let (sum, squares) = bytes.iter().fold((0u128, 0u128), |(sum, squares), &bytes| {
                let bytes = u128::from(bytes);
                (sum + bytes, squares + bytes * bytes)
            });
            let jain = sum * sum * 1_000 / (u128::from(flows) * squares);
            assert!(jain >= 900 && busy >= 950, "{keys}, {flows} flows: {jain}, {busy}");
        }
    }
}

/// The headers of 128 windows of one packet come to 2.5 times the receiver's link, and go before data. In uet-htsim such
/// an incast stops delivering (1023 flows at 10 Gb/s).
#[test]
fn headers_of_an_incast_do_not_fill_its_link_forever() {
    let record = record(
        "topology.star.hosts = 129\nduration = \"100ms\"\nlinks = { rate = \"1Gbps\", delay = \"1us\" }\n\
         transport.nscc.payload = \"1436B\"\n\
         workload = [{ name = \"w\", incast = { receiver = 0, senders = 128 }, size = \"30KB\" }]\n",
    );
    let last = record.flows.iter().map(|flow| flow.fct_receiver_ps).max().flatten();
    let ideal = 128 * (30_000 + 21 * 64) * 8_000;
    assert!(record.flows.iter().all(|flow| flow.fct_receiver_ps.is_some()));
    assert!(last.is_some_and(|last| last < 2 * ideal), "{last:?} ps, ideal {ideal}");
}

fn ndp(keys: &str) -> Result<RunRecord, String> {
    let text = format!(
        "topology.fattree.k = 4\ntransport.ndp = {{ {keys} }}\n\
         workload = [{{ name = \"w\", permutation = {{}}, size = \"300KB\" }}, \
         {{ name = \"i\", incast = {{ receiver = 0, senders = 12 }}, size = \"90KB\" }}]\n"
    );
    let scenario = Scenario::parse("s.toml", &text, &[]).map_err(|error| error.to_string())?;
    Ok(run(&scenario.runs[0].plan))
}

/// NDP takes the choices of UET; its permutation is the default, with removal of outliers.
#[test]
fn ndp_takes_each_path_choice() {
    let default = ndp("").expect("NDP");
    assert_eq!(ndp("path_choice = \"permutation\"").as_ref(), Ok(&default));
    let mut seen = vec![default];
    for choice in ["mixed", "bitmap", "reps", "oblivious", "random"] {
        let record = ndp(&format!("path_choice = \"{choice}\"")).expect(choice);
        assert!(record.flows.iter().all(|flow| flow.fct_sender_ps.is_some()), "{choice}");
        assert!(!seen.contains(&record), "{choice} is as another");
        seen.push(record);
    }
    let refused = ndp("path_choice = \"reps\", path_penalty = {}").expect_err("outliers");
    assert!(refused.contains("beside another choice of paths"), "{refused}");
}
