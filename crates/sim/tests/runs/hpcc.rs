//! HPCC over ports that write telemetry.

use trimline_metrics::RunRecord;
use trimline_sim::plan::Plan;
use trimline_sim::scenario::Scenario;

use crate::plans::{run, same_everywhere};

fn parsed(keys: &str) -> Result<Plan, String> {
    let scenario = Scenario::parse("s.toml", keys, &[]).map_err(|error| error.to_string())?;
    Ok(scenario.runs[0].plan.clone())
}

fn plan(keys: &str) -> Plan {
    parsed(keys).unwrap_or_else(|error| panic!("{error}"))
}

fn dropped(record: &RunRecord) -> u64 {
    record.ports.iter().map(|port| port.dropped).sum()
}

/// Returns delivered bytes of endless flows into one host in two milliseconds after one, and the share of the link in
/// thousandths of its payload.
fn shares(flows: u64, gbps: u64, keys: &str) -> (Vec<u64>, u64) {
    let record = run(&plan(&format!(
        "topology.star.hosts = 65\nduration = \"3ms\"\nwarm_up = \"1ms\"\nlinks = {{ rate = \"{gbps}Gbps\", delay = \"1us\" }}\n\
         switch.pfc.xoff = \"1MB\"\ntransport.hpcc = {{ payload = \"1000B\", {keys} }}\n\
         workload = [{{ name = \"w\", incast = {{ receiver = 0, senders = {flows} }}, size = \"long-lived\" }}]\n",
    )));
    assert_eq!(dropped(&record), 0, "{flows} flows, {gbps} Gb/s");
    let bytes: Vec<u64> = record.flows.iter().map(|flow| flow.measured_bytes).collect();
    let sum: u64 = bytes.iter().sum();
    (bytes, sum * 1_000 / (gbps * 250_000 * 1_000 / 1_106))
}

/// A flow alone takes eta and its additive increase of a link: 0.95 x (1 + 0.05/95) = 95.05 %, whatever the rate. 1000 of
/// 1106 B are payload.
#[test]
fn one_flow_takes_eta_of_an_idle_link_from_10_to_800_gigabits() {
    for gbps in [10, 25, 40, 100, 200, 400, 800] {
        let (_, busy) = shares(1, gbps, "");
        assert!((945..=951).contains(&busy), "{gbps} Gb/s: {busy}");
    }
}

/// Flows share a link by their additive increases: with those of as many flows as there are Jain's index is 0.98 (0.85
/// where a share is less than a packet), with those of 100 flows, the default, 0.7. The link is used for 95 % of eta at least,
/// 90.2 %: queues of packets that meet count as use.
#[test]
fn two_to_64_flows_share_a_link() {
    for flows in [2, 4, 8, 16, 32, 64] {
        // 5 % of 100 Gb/s in a round trip of 4.19 us.
        let own = format!("additive_increase = \"{}B\"", 2_621 / flows);
        let header = format!("{own}, units = \"header\"");
        let fair = if flows < 64 { 980 } else { 850 };
        for (keys, bar) in [(&*own, fair), (&*header, fair), ("", 700), ("max_stage = 5", 700)] {
            let (bytes, busy) = shares(flows, 100, keys);
            assert_eq!(bytes.len() as u64, flows);
            let (sum, squares) = bytes.iter().fold((0u128, 0u128), |(sum, squares), &bytes| {
                let bytes = u128::from(bytes);
                (sum + bytes, squares + bytes * bytes)
            });
            let jain = sum * sum * 1_000 / (u128::from(flows) * squares);
            assert!(jain >= bar && busy >= 902, "{keys}, {flows} flows: {jain}, {busy}");
        }
    }
}

/// The longest way of a FatTree has five ports. Engines and threads agree.
#[test]
fn telemetry_of_five_ports_is_the_same_on_all_engines() {
    for (resend, switch) in [
        ("go-back-n", "switch.pfc.xoff = \"300KB\""),
        ("selective", "switch.data_queue = \"20KB\"\nimpairment.loss = \"0.5%\""),
    ] {
        let plan = plan(&format!(
            "topology.fattree.k = 4\nlinks.rate = \"40Gbps\"\n{switch}\n\
             transport.hpcc = {{ payload = \"1500B\", resend = \"{resend}\", rto = \"200us\" }}\n\
             workload = [{{ name = \"w\", permutation = {{}}, size = \"300KB\" }}, \
             {{ name = \"i\", incast = {{ receiver = 0, senders = 12 }}, size = \"90KB\" }}]\n"
        ));
        let record = same_everywhere(&plan, 2);
        assert!(record.flows.iter().all(|flow| flow.fct_sender_ps.is_some()), "{resend}");
        match resend {
            "selective" => assert!(dropped(&record) > 0, "queues of 20 KB drop"),
            _ => assert_eq!(dropped(&record), 0, "no input lets a queue drop"),
        }
    }
}

/// Over switches that drop, selective retransmission resends what was lost; go-back-N what was sent behind it too.
#[test]
fn selective_retransmission_resends_less() {
    let resent = |resend: &str| -> u64 {
        let record = run(&plan(&format!(
            "topology.star.hosts = 9\nlinks.rate = \"100Gbps\"\nswitch.data_queue = \"60KB\"\n\
             transport.hpcc = {{ payload = \"1000B\", resend = \"{resend}\", rto = \"200us\" }}\n\
             workload = [{{ name = \"i\", incast = {{ receiver = 0, senders = 8 }}, size = \"1MB\" }}]\n"
        )));
        let dropped = dropped(&record);
        let resent: u64 = record
            .flows
            .iter()
            .map(|flow| flow.retransmissions_signalled + flow.retransmissions_timeout)
            .sum();
        assert!(dropped > 0 && resent >= dropped, "{resend}: {dropped} dropped, {resent} resent");
        resent * 1_000 / dropped
    };
    let (back, selective) = (resent("go-back-n"), resent("selective"));
    assert!(selective < 1_100 && back > selective * 3 / 2, "{back} {selective}");
}

/// Beside other transports of a host too, and not at their cost.
#[test]
fn a_transport_beside_others_has_its_telemetry() {
    let of = |table: &str, more: &str| {
        let record = run(&plan(&format!(
            "topology.star.hosts = 6\nduration = \"2ms\"\nwarm_up = \"1ms\"\nlinks.rate = \"100Gbps\"\nswitch.profile = \"drop-tail\"\n\
             transport.hpcc.payload = \"1000B\"\n{table}\n\
             workload = [{{ name = \"w\", transport = \"hpcc\", pairs = [[0, 1]], size = \"long-lived\" }}, {more}]\n"
        )));
        let mut flows = record.flows.iter();
        flows.find(|flow| flow.workload == "w").expect("its flow").measured_bytes
    };
    let other = "{ name = \"t\", transport = \"dctcp\", pairs = [[2, 3]], size = \"long-lived\" }";
    let (alone, beside) = (of("", ""), of("transport.dctcp = {}", other));
    // 95.05 % of 100 Gb/s in a millisecond.
    let expected = 12_500_000 * 1_000 / 1_106 * 9_505 / 10_000;
    assert!(alone.abs_diff(expected) < expected / 200, "{alone} of {expected}");
    assert_eq!(alone, beside);
}

#[test]
fn longer_ways_than_telemetry_has_room_for_are_refused() {
    for (keys, place) in [
        ("switch.detour = {}", "switch.detour"),
        ("fixed_route = [{ over = \"host 0\", by = \"tor 0 up 0\" }]", "fixed_route"),
    ] {
        let text = format!(
            "topology.leafspine = {{ leaves = 2, spines = 2, hosts_per_leaf = 2 }}\n{keys}\ntransport.hpcc = {{}}\n\
             workload = [{{ name = \"w\", permutation = {{}}, size = \"9KB\" }}]\n"
        );
        let refused = parsed(&text).expect_err(place);
        assert!(refused.contains("the telemetry of 5 ports"), "{refused}");
    }
}

/// Returns the time of all packets of eight flows into one host over the time until the last has ended, in thousandths,
/// on the network of the rates test. The additive increase is in bytes.
fn busy_of_eight(gbps: u64, payload: u64, additive_increase: u64) -> u64 {
    let packets = 200;
    let record = run(&plan(&format!(
        "topology.leafspine = {{ leaves = 2, spines = 2, hosts_per_leaf = 6 }}\n\
         links = {{ rate = \"{gbps}Gbps\", delay = \"500ns\" }}\n\
         switch = {{ profile = \"drop-tail\", pfc.xoff = \"1250KB\" }}\n\
         transport.hpcc = {{ payload = \"{payload}B\", additive_increase = \"{additive_increase}B\" }}\n\
         workload = [{{ name = \"w\", incast = {{ receiver = 0, senders = 8, choose = \"last\" }}, \
         size = \"{}B\" }}]\n",
        packets * payload
    )));
    let last = record.flows.iter().filter_map(|flow| flow.fct_receiver_ps).max().expect("a flow");
    8 * packets * (payload + 106) * 8_000 * 1_000 / gbps / last
}

/// The cause of rates at which the link of an incast is used for less than 90.2 %: where a round trip has few packets,
/// a slow flow's window is a fraction of a packet. It sends once in many round trips, and telemetry of two packets must
/// say that others have ended before it grows. A larger additive increase makes windows equal, so that no flow is slow.
#[test]
fn slow_flows_are_late_to_learn_that_others_have_ended() {
    for (gbps, payload, small) in [(1, 1460, 3), (10, 1460, 5), (10, 9000, 20), (40, 9000, 28)] {
        let (default, larger) =
            (busy_of_eight(gbps, payload, small), busy_of_eight(gbps, payload, 16 * small));
        assert!(default < 902 && larger >= 902, "{gbps} Gb/s: {default} and {larger}");
    }
}
