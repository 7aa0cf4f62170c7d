//! Changes without effect: the start time, other hosts, and the scale of all rates.

use trimline_metrics::FlowRecord;
use trimline_sim::scenario::Scenario;

use crate::plans::both;

/// Transports and switches, with every duration as `<us>` and every rate as `{Mb/s}`.
const SCHEMES: [(&str, &str); 10] = [
    (
        "ndp",
        "transport.ndp = { initial_window = 8, rto = <1000>, pull_repeat = <1000>, backstop_unowed = <1000>, \
         backstop_owed = <100000>, time_wait = <1000>, path_penalty = { removal = <1000>, removal_max = <4000> } }",
    ),
    ("homa", "transport.homa = { resend = <1000>, retry = <2000>, time_wait = <1000> }"),
    ("phost", "transport.phost = { time_wait = <1000> }"),
    ("pfabric", "transport.pfabric = { rto = <250>, time_wait = <10000> }"),
    ("cbr", "transport.cbr = { rate = {4000} }\nswitch.profile = \"drop-tail\""),
    (
        "tcp",
        "transport.tcp = { rto_initial = <2000>, rto_min = <1000>, ack_delay = <100>, rto_max = <1000000>, \
         time_wait = <10000> }",
    ),
    (
        "cubic",
        "transport.tcp = { control = \"cubic\", rto_initial = <2000>, rto_min = <1000>, ack_delay = <100>, \
         rto_max = <1000000>, time_wait = <10000> }",
    ),
    (
        "dctcp",
        "transport.dctcp = { rto_initial = <2000>, rto_min = <1000>, ack_delay = <100>, rto_max = <1000000>, \
         time_wait = <10000> }\nswitch.ecn_threshold = \"20pkt\"",
    ),
    (
        "mptcp",
        "transport.mptcp = { rto_initial = <2000>, rto_min = <1000>, ack_delay = <100>, rto_max = <1000000>, \
         time_wait = <10000> }",
    ),
    (
        "dcqcn",
        "transport.dcqcn = { alpha_timer = <60>, timer = <60>, cnp_interval = <50>, rto = <10000>, \
         additive_increase = {40}, min_rate = {40} }\nswitch.pfc = { xoff = \"15pkt\", xon = \"12pkt\" }",
    ),
];

/// Six pairs for all schemes: packets of one size start together and often arrive together.
const PAIRS: &str = "pairs = [[1, 0], [2, 0], [3, 0], [0, 4], [5, 4], [4, 1]]\nsize = \"300KB\"";

/// Runs one network at 10 Gb/s times `faster`; its flows start after `start_us`.
fn flows(
    scheme: &str,
    topology: &str,
    faster: u64,
    start_us: u64,
    further: &str,
) -> Vec<FlowRecord> {
    let end_us = start_us + 50_000;
    let text = format!(
        "seeds = [1]\nduration = <{end_us}>\n{topology}\nlinks = {{ rate = {{10000}}, delay = <1> }}\n{scheme}\n\
         [[workload]]\nname = \"flows\"\nstart = <{start_us}>\n{PAIRS}\n{further}"
    );
    let text = replaced(&text, ('<', '>'), |us| format!("\"{}ns\"", us * 1000 / faster));
    let text = replaced(&text, ('{', '}'), |mbps| format!("\"{}Mbps\"", mbps * faster));
    let scenario = Scenario::parse("metamorphic.toml", &text, &[]);
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}\n{text}"));
    let record = both(&scenario.runs[0].plan);
    record.flows.into_iter().filter(|flow| &*flow.workload == "flows").collect()
}

/// Replaces each number between these brackets; brackets around other text stay.
fn replaced(text: &str, (open, close): (char, char), of: impl Fn(u64) -> String) -> String {
    let mut parts = text.split(open);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(close).map(|(number, rest)| (number.parse(), rest)) {
            Some((Ok(number), rest)) => out += &(of(number) + rest),
            _ => {
                out.push(open);
                out += part;
            }
        }
    }
    out
}

const STAR: &str = "topology.star.hosts = 8";
const FAT_TREE: &str = "topology.fattree.k = 4";

#[test]
fn idle_hosts_change_no_result() {
    for (name, scheme) in SCHEMES {
        let few = flows(scheme, STAR, 1, 0, "");
        assert_eq!(few, flows(scheme, "topology.star.hosts = 23", 1, 0, ""), "{name}");
    }
}

#[test]
fn flows_between_other_hosts_change_no_result() {
    let others = "[[workload]]\nname = \"others\"\npairs = [[6, 7], [7, 6]]\nsize = \"1MB\"";
    for (name, scheme) in SCHEMES {
        assert_eq!(flows(scheme, STAR, 1, 0, ""), flows(scheme, STAR, 1, 0, others), "{name}");
    }
}

/// The shift is a multiple of the time after which ended flows are forgotten.
#[test]
fn a_later_start_shifts_all_times() {
    const LATER_US: u64 = 7 * 6400;
    for (name, scheme) in SCHEMES {
        let mut later = flows(scheme, FAT_TREE, 1, LATER_US, "");
        later.iter_mut().for_each(|flow| flow.start_ps -= LATER_US * 1_000_000);
        assert_eq!(flows(scheme, FAT_TREE, 1, 0, ""), later, "{name}");
    }
}

/// Ten times the rate and a tenth of every time. Timers in whole microseconds round. CUBIC's window grows with time
/// itself (RFC 9438 4.2), so it is another transport at another rate.
#[test]
fn a_faster_network_scales_all_times() {
    for (name, scheme) in SCHEMES {
        if name == "cubic" {
            continue;
        }
        let rounds = ["tcp", "dctcp", "mptcp", "dcqcn"].contains(&name);
        let slow = flows(scheme, FAT_TREE, 1, 0, "");
        let fast = flows(scheme, FAT_TREE, 10, 0, "");
        for (slow, fast) in slow.iter().zip(&fast) {
            assert_eq!(slow.end, fast.end, "{name}");
            assert_eq!(slow.packets_sent, fast.packets_sent, "{name}: {slow:?} and {fast:?}");
            let (slow, fast) = (slow.fct_receiver_ps, fast.fct_receiver_ps.map(|ps| 10 * ps));
            let max = if rounds { slow.unwrap_or(0) / 1000 } else { 0 };
            let difference = slow.unwrap_or(0).abs_diff(fast.unwrap_or(0));
            assert!(difference <= max, "{name}: {slow:?} and {fast:?} ps");
        }
    }
}
