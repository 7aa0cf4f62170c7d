//! Workloads with their own payload, paths per pair of hosts, memory in cells, and discarded credits: set-ups of the
//! critique of NDP (University of Cambridge, TR-933).

use std::collections::BTreeSet;

use crate::plans::both;
use trimline_metrics::RunRecord;
use trimline_packet::TimeDelta;
use trimline_sim::plan::Plan;
use trimline_sim::scenario::Scenario;

fn plan(text: &str) -> Result<Plan, String> {
    let scenario = Scenario::parse("s.toml", text, &[]).map_err(|error| error.to_string())?;
    Ok(scenario.runs[0].plan.clone())
}

fn run(text: &str) -> RunRecord {
    both(&plan(text).unwrap_or_else(|error| panic!("{error}")))
}

/// One flow between the farthest hosts has the workload's payload.
#[test]
fn a_workload_sets_the_payload_of_its_packets() {
    for transport in
        ["ndp", "tcp", "dctcp", "mptcp", "dcqcn", "pfabric", "nscc", "rccc", "hpcc", "cbr"]
    {
        let scenario = |of_transport: &str, of_workload: &str| {
            let end = if transport == "cbr" { "duration = \"1ms\"\n" } else { "" };
            run(&format!(
                "{end}topology.fattree.k = 4\ntransport.{transport} = {{ {of_transport} }}\n\
                 workload = [{{ name = \"w\", pairs = [[0, 15]], size = \"100KB\", {of_workload} }}]\n"
            ))
        };
        let own = scenario("", "payload = \"1500B\"");
        let flow = own.flows.iter().next().expect("a flow");
        assert_eq!(flow.packets_sent, 67, "{transport}: 66 packets of 1500 B and one of 1000 B");
        assert_eq!(flow.delivered_bytes, 100_000, "{transport}");
        let all = scenario("payload = \"1500B\"", "");
        let other = all.flows.iter().next().expect("a flow");
        assert_eq!(flow.ideal_fct_ps, other.ideal_fct_ps, "{transport}");
        // The window of pFabric counts packets of the transport's payload; round trips of NSCC, RCCC and HPCC have one.
        if !["pfabric", "nscc", "rccc", "hpcc"].contains(&transport) {
            assert_eq!(flow, other, "{transport}");
        }
    }
}

/// Both ends of these transports compute with one payload.
#[test]
fn a_workload_payload_is_refused_where_both_ends_need_one_payload() {
    let last_hops = "switch.port = [{ layer = \"tor\", direction = \"down\", last_hop = true }]";
    for (transport, of_transport, ports) in [
        ("phost", "", ""),
        ("homa", "", ""),
        ("ndp", "aeolus = true", ""),
        ("ndp", "core_rate = true", last_hops),
    ] {
        let problem = plan(&format!(
            "topology.star.hosts = 3\ntransport.{transport} = {{ {of_transport} }}\n{ports}\n\
             workload = [{{ name = \"w\", pairs = [[0, 2]], size = \"9KB\", payload = \"1500B\" }}]\n"
        ))
        .expect_err(transport);
        assert!(problem.contains("one payload"), "{transport}: {problem}");
    }
}

/// Two flows into one host share its link.
#[test]
fn flows_with_different_payloads_share_a_fabric() {
    let record = run("topology.star.hosts = 3\ntransport.ndp = {}\n\
         workload = [{ name = \"large\", pairs = [[0, 2]], size = \"900KB\" },\n\
         { name = \"small\", pairs = [[1, 2]], size = \"900KB\", payload = \"1500B\" }]\n");
    let flows: Vec<_> = record.flows.iter().collect();
    assert_eq!(flows.len(), 2);
    for flow in &flows {
        let first = match &*flow.workload {
            "large" => 100,
            _ => 600,
        };
        let resent = flow.packets_sent - first;
        assert_eq!(resent, flow.retransmissions_signalled + flow.retransmissions_return);
        assert_eq!(flow.delivered_bytes, 900_000);
    }
}

/// Each of two senders has a flow of large packets to one of two receivers and a flow of small packets to the other. By
/// packets the small ones have a sixth; turns of bytes give each its half.
#[test]
fn byte_turns_share_links_by_bytes() {
    let small_over_large = |turn: &str| {
        let record = run(&format!(
            "topology.star.hosts = 4\nduration = \"4ms\"\nwarm_up = \"1ms\"\n\
             transport.ndp = {{ initial_window = 30{turn} }}\n\
             workload = [{{ name = \"large\", pairs = [[0, 2], [1, 3]], size = \"long-lived\" }},\n\
             {{ name = \"small\", pairs = [[0, 3], [1, 2]], size = \"long-lived\", payload = \"1500B\" }}]\n"
        ));
        let of = |name: &str| -> u64 {
            let flows = record.flows.iter().filter(|flow| &*flow.workload == name);
            flows.map(|flow| flow.measured_bytes).sum()
        };
        of("small") as f64 / of("large") as f64
    };
    let (by_bytes, by_packets) = (small_over_large(", turn = \"9000B\""), small_over_large(""));
    assert!((0.9..1.1).contains(&by_bytes), "{by_bytes}");
    assert!(by_packets < 0.5, "{by_packets}");
    let refused = plan(
        "topology.star.hosts = 2\ntransport.ndp.turn = \"0B\"\n\
         workload = [{ name = \"w\", pairs = [[0, 1]], size = \"9KB\" }]\n",
    );
    assert!(refused.unwrap_err().contains("s.toml:2:22: a turn of 0 B"));
}

#[test]
fn a_window_in_bytes_does_not_depend_on_the_payload() {
    let in_flight = |window: &str| {
        let record = run(&format!(
            "topology.star.hosts = 3\nlinks.delay = \"50us\"\nduration = \"100us\"\n\
             transport.ndp = {{ {window} }}\n\
             workload = [{{ name = \"large\", pairs = [[0, 2]], size = \"long-lived\" }},\n\
             {{ name = \"small\", pairs = [[1, 2]], size = \"long-lived\", payload = \"1500B\" }}]\n"
        ));
        record.flows.iter().map(|flow| flow.packets_sent).collect::<Vec<_>>()
    };
    // 100 us pass before the first pull arrives.
    assert_eq!(in_flight("initial_window = 6"), [6, 6]);
    assert_eq!(in_flight("initial_window_bytes = \"54KB\""), [6, 36]);
}

#[test]
fn queues_in_packets_count_the_largest_payload() {
    let text = |payload: &str| {
        format!(
            "topology.star.hosts = 3\ntransport.ndp.payload = \"1500B\"\nswitch.profile = \"htsim\"\n\
             workload = [{{ name = \"a\", pairs = [[0, 1]], size = \"9KB\" }},\n\
             {{ name = \"b\", pairs = [[0, 2]], size = \"9KB\"{payload} }}]\n"
        )
    };
    let plan = |payload: &str| plan(&text(payload)).unwrap();
    let htsim = trimline_switch::ServiceModel::htsim;
    assert_eq!(plan("").switch, htsim(8, 1500));
    assert_eq!(plan(", payload = \"9000B\"").switch, htsim(8, 9000));
    assert_eq!(plan(", payload = \"9000B\"").full_wire_bytes(), 9064);
    assert_eq!(plan(", payload = \"64B\"").switch, htsim(8, 1500));
}

#[test]
fn an_invalid_payload_is_refused() {
    let refused = |transport: &str, payload: &str| {
        plan(&format!(
            "topology.star.hosts = 3\ntransport = {transport}\n\
             workload = [{{ name = \"w\", permutation = {{}}, size = \"9KB\", payload = \"{payload}\" }}]\n"
        ))
        .unwrap_err()
    };
    assert!(refused("{ ndp = {} }", "65472B").contains("from 1B to 65471B"));
    assert!(refused("{ ndp = {} }", "0B").contains("from 1B to 65471B"));
    let homa = refused("{ homa = {} }", "1500B");
    assert!(homa.contains("transport homa, both of whose ends"), "{homa}");
    assert!(homa.contains("s.toml:3"), "it names the place: {homa}");
    let aeolus = refused("{ ndp = { aeolus = true } }", "1500B");
    assert!(aeolus.contains("transport ndp, whose probes"), "{aeolus}");
}

/// Returns the switch ports that a closed loop of flows from host 0 to host 15 uses.
fn ports_in_use(transport: &str, spraying: &str, seed: u64) -> BTreeSet<usize> {
    let record = run(&format!(
        "seeds = [{seed}]\ntopology.fattree.k = 4\ntransport.{transport} = {{}}\n\
         workload = [{{ name = \"w\", pairs = [[0, 15]], size = \"20KB\", spraying = \"{spraying}\",\n\
         arrivals.closed_loop = {{ gap = \"1us\", count = 40 }} }}]\n"
    ));
    assert_eq!(record.flows.iter().filter(|flow| flow.fct_sender_ps.is_some()).count(), 40);
    let used = record.ports.iter().enumerate();
    used.filter(|(_, port)| port.counters.packets > 0).map(|(place, _)| place).collect()
}

/// Five switches from pod to pod and five back, for any number of flows; another seed takes another path.
#[test]
fn per_pair_spraying_keeps_one_path_for_all_flows_of_a_pair() {
    for transport in ["dctcp", "tcp", "dcqcn"] {
        let paths: BTreeSet<_> =
            (1..9).map(|seed| ports_in_use(transport, "per-pair", seed)).collect();
        assert!(paths.iter().all(|ports| ports.len() == 10), "{transport}: {paths:?}");
        assert!(paths.len() > 3, "{transport}: {} of eight seeds", paths.len());
        assert!(ports_in_use(transport, "per-flow", 1).len() > 14, "{transport}");
    }
    // Each subflow has a path of its own, here all four.
    assert_eq!(ports_in_use("mptcp", "per-pair", 1).len(), 2 * (2 + 4 + 4 + 2 + 1));
}

#[test]
fn per_pair_spraying_is_refused_for_transports_that_choose_no_path() {
    let text = "topology.star.hosts = 3\n\
                workload = [{ name = \"w\", permutation = {}, size = \"9KB\", spraying = \"per-pair\" }]\n";
    let error = plan(text).unwrap_err();
    assert!(error.contains("\"per-pair\" paths, which this transport does not choose"), "{error}");
}

/// A packet of 1 B of payload has 65 B on the wire and takes 96 B in cells of 32 B, 47.7 % more. Two senders at line
/// rate fill a queue of 960 B: it keeps 14 packets, or 10 in cells.
#[test]
fn a_packet_takes_whole_cells_of_its_queue() {
    let delivered = |cells: &str| {
        let record = run(&format!(
            "duration = \"1ms\"\ntopology.star.hosts = 3\ntransport.cbr = {{ payload = \"1B\" }}\n\
             switch = {{ profile = \"drop-tail\", data_queue = \"960B\"{cells} }}\n\
             workload = [{{ name = \"w\", pairs = [[0, 2], [1, 2]], size = \"400B\" }}]\n"
        ));
        record.flows.iter().map(|flow| flow.delivered_bytes).sum::<u64>()
    };
    assert_eq!(delivered("") - delivered(", buffer_cell = \"32B\""), 14 - 10);
    assert_eq!(delivered(""), delivered(", buffer_cell = \"1B\""));
    assert_eq!(delivered(""), delivered(", buffer_cell = \"65B\""), "one cell each");
    // 9000 B more do not matter where a packet has whole cells.
    assert!(delivered(", buffer_cell = \"480B\"") < delivered(", buffer_cell = \"320B\""));
}

#[test]
fn without_a_credit_bank_a_run_has_a_duration() {
    let text = |duration: &str, more: &str| {
        format!(
            "{duration}topology.star.hosts = 3\ntransport.ndp = {{ credit_bank = false{more} }}\n\
             workload = [{{ name = \"w\", permutation = {{}}, size = \"9KB\" }}]\n"
        )
    };
    let error = plan(&text("", "")).unwrap_err();
    assert!(error.contains("a flow that resends nothing and may never be whole"), "{error}");
    let given = plan(&text("duration = \"1ms\"\n", "")).unwrap();
    let config = given.transports[0].config::<trimline_transport::ndp::Config>().unwrap();
    assert!(!config.credit_bank && config.pull_repeat > TimeDelta::from_ms(1_000_000));
    let error = plan(&text("duration = \"1ms\"\n", ", pull_repeat = \"1ms\"")).unwrap_err();
    assert!(error.contains("`pull_repeat` without a credit bank"), "{error}");
}

/// With a duration the flows need not end.
#[test]
fn a_file_of_flows_may_be_run_without_a_credit_bank() {
    let place = std::env::temp_dir().join(format!("trimline-bank-{}", std::process::id()));
    std::fs::create_dir_all(&place).unwrap();
    std::fs::write(place.join("m.cm"), "Nodes 3\nConnections 1\n0->1 start 0 size 9000\n").unwrap();
    let file = place.join("m.cm");
    let text = |duration: &str| {
        format!(
            "{duration}topology.star.hosts = 3\ntransport.ndp.credit_bank = false\n\
             workload = [{{ name = \"w\", file = {:?} }}]\n",
            file.display().to_string()
        )
    };
    let error = plan(&text("")).unwrap_err();
    assert!(error.contains("expected `duration` in the scenario"), "{error}");
    let record = run(&text("duration = \"1ms\"\n"));
    assert!(record.flows.iter().all(|flow| flow.delivered_bytes == 9000));
    std::fs::remove_dir_all(&place).unwrap();
}

#[test]
fn a_send_order_beside_byte_turns_is_refused() {
    let text = |order: &str| {
        format!(
            "topology.star.hosts = 3\ntransport.ndp = {{ turn = \"9KB\", order = \"{order}\" }}\n\
             workload = [{{ name = \"w\", permutation = {{}}, size = \"9KB\" }}]\n"
        )
    };
    assert!(plan(&text("round-robin")).is_ok());
    let error = plan(&text("arrival")).unwrap_err();
    assert!(error.contains("beside `turn`, with which connections send in turn"), "{error}");
}
