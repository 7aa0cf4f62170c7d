//! Homa on its authors' network: exact times, priorities, and losses.

use trimline_metrics::{FlowEnd, FlowRecord, RunRecord};
use trimline_sim::scenario::Scenario;
use trimline_sim::suites::plans::same_everywhere;

/// 144 hosts with the authors' simulator's parameters; `keys` adds keys of the transport.
fn network(keys: &str, rest: &str) -> RunRecord {
    let text = format!(
        "topology.leafspine = {{ leaves = 9, spines = 4, hosts_per_leaf = 16 }}\n\
         transport.homa = {{ payload = \"1442B\", rtt_bytes = \"10000B\"{keys} }}\n\
         links = {{ rate = \"10Gbps\", framing = \"20B\", host = {{ delay = \"875ns\" }}, \
         tor = {{ rate = \"40Gbps\", delay = \"250ns\" }} }}\n{rest}"
    );
    let scenario = Scenario::parse("s.toml", &text, &[]);
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}\n{text}"));
    same_everywhere(&scenario.runs[0].plan, 2)
}

fn pairs(name: &str, pairs: &str, size: &str) -> String {
    format!("[[workload]]\nname = \"{name}\"\npairs = [{pairs}]\nsize = \"{size}\"\n")
}

fn receiver_ps(flow: FlowRecord) -> u64 {
    flow.fct_receiver_ps.expect("a message that was delivered")
}

/// Two links within a rack, four across, each packet stored and forwarded.
#[test]
fn a_lone_message_takes_the_ideal_time_to_the_picosecond() {
    for acks in ["", ", acks = false, linger = \"50us\""] {
        let both = pairs("within", "[0, 1]", "1442B") + &pairs("across", "[40, 20]", "1442B");
        let record = network(acks, &both);
        let times: Vec<u64> = record.flows.iter().map(receiver_ps).collect();
        assert_eq!(times, [4_210_800, 5_326_000]);
        assert!(record.flows.iter().all(|flow| flow.end == FlowEnd::Completed));
    }
}

/// GRANTs come as fast as the link sends.
#[test]
fn a_lone_long_message_never_waits_for_a_grant() {
    let record = network("", &pairs("across", "[40, 20]", "1442000B"));
    let flow = record.flows.iter().next().expect("a message");
    let sent = flow.packets_sent;
    let time = receiver_ps(flow);
    // The seventh packet is cut at the end of the unscheduled bytes: one packet more.
    assert!(time <= 5_326_000 + 1000 * 1_230_400, "{time} ps");
    assert_eq!(sent, 1001);
}

#[test]
fn a_short_message_hardly_waits_for_a_long_one() {
    let rest = pairs("long", "[40, 20], [41, 20]", "3MB")
        + &pairs("short", "[60, 20]", "300B")
        + "start = \"1ms\"\n";
    let record = network("", &rest);
    let short = record.flows.iter().find(|flow| flow.size_bytes == Some(300)).expect("it");
    // A packet of the long message is on the wire at each of three ports.
    let time = receiver_ps(short);
    assert!(time < 4_000_000 + 2 * 1_230_400, "{time} ps");
}

#[test]
fn every_message_of_an_incast_arrives_despite_drops() {
    let senders: Vec<String> = (16..144).map(|host| format!("[{host}, 0]")).collect();
    let rest = pairs("incast", &senders.join(", "), "20KB");
    let keys = ", resend = \"100us\", backoff = \"200us\"";
    let record = network(keys, &format!("switch.data_queue = \"64pkt\"\n{rest}"));
    assert!(record.flows.iter().all(|flow| flow.end == FlowEnd::Completed));
    let resent: u64 = record.flows.iter().map(|flow| flow.retransmissions_timeout).sum();
    assert!(resent > 100, "128 times 10 KB do not fit 64 packets: {resent} sent again");
}

/// The message still crosses slow links: the run waits as long as the flow is remembered.
#[test]
fn a_run_waits_for_packets_in_flight_after_the_last_sender_ends() {
    let message = "links.delay = \"1ms\"\n".to_owned() + &pairs("message", "[0, 1]", "14420B");
    let end = |duration: &str, time_wait: &str| {
        let keys = format!("transport.homa = {{ acks = false, linger = \"50us\", {time_wait} }}");
        let text = format!("{duration}topology.star.hosts = 2\n{keys}\n{message}");
        let scenario = Scenario::parse("s.toml", &text, &[]).expect("a scenario");
        same_everywhere(&scenario.runs[0].plan, 2)
    };
    let patient = end("", "time_wait = \"10ms\"");
    let flow = patient.flows.iter().next().expect("a message");
    assert!(
        flow.fct_sender_ps.expect("it ended") < 1_000_000_000,
        "its sender ends in the first 1 ms"
    );
    assert!(receiver_ps(flow) > 2_000_000_000);
    // After 1 ms without news the flow is forgotten.
    let impatient = end("", "time_wait = \"100us\"");
    assert_eq!(impatient.flows.iter().next().expect("a message").fct_receiver_ps, None);
    assert_eq!(patient.packets_unclaimed, 0);
    // Packets that arrive then are counted.
    let watched = end("duration = \"10ms\"\n", "time_wait = \"100us\"");
    assert_eq!(watched.packets_unclaimed, 2, "of 9000 B");
}
