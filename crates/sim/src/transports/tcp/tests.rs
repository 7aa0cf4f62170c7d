//! Scenarios with the TCP family.

use super::super::testing::{self, plan};
use super::*;
use crate::plan::Spraying;
use crate::scenario::Scenario;
use trimline_switch::{Choices, Limit, ServiceModel, model};

fn config(keys: &str) -> Config {
    testing::config(keys)
}

#[test]
fn timers_have_presets_and_slow_ones_are_described() {
    let ms = TimeDelta::from_ms;
    for (keys, delay, min, first, is_slow) in [
        ("transport.tcp = {}", ms(40), ms(200), ms(1000), true),
        ("transport.dctcp.timers = \"linux\"", ms(40), ms(200), ms(1000), true),
        ("transport.dctcp.timers = \"datacenter\"", ms(1), ms(5), ms(10), false),
        ("transport.mptcp.timers = \"rfc\"", ms(500), ms(1000), ms(1000), true),
        (
            "transport.tcp = { timers = \"datacenter\", rto_min = \"2ms\" }",
            ms(1),
            ms(2),
            ms(10),
            false,
        ),
    ] {
        let chosen = config(keys);
        let timers = (chosen.ack_delay, chosen.rto_min, chosen.rto_initial);
        assert_eq!(timers, (delay, min, first), "{keys}");
        let plan = plan(keys).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(plan.transports[0].slow_timers().is_some(), is_slow, "{keys}");
    }
}

/// ns-3.17: tcp-socket.cc and rtt-estimator.cc.
#[test]
fn the_timers_of_ns3_are_its_defaults() {
    let ms = TimeDelta::from_ms;
    let chosen = config("transport.tcp.timers = \"ns-3\"");
    let timers = (chosen.ack_delay, chosen.rto_min, chosen.rto_initial, chosen.syn_timeout);
    assert_eq!(timers, (ms(200), ms(200), ms(1000), ms(3000)));
    assert!(!chosen.rto_margin && chosen.rto_variance_min == TimeDelta::ZERO);
    assert!(config("transport.tcp = {}").rto_margin);
    for (keys, syn_timeout) in [
        ("transport.tcp = {}", ms(1000)),
        ("transport.tcp.rto_initial = \"7ms\"", ms(7)),
        ("transport.tcp = { timers = \"ns-3\", rto_initial = \"7ms\" }", ms(3000)),
        ("transport.tcp = { timers = \"ns-3\", syn_timeout = \"7ms\" }", ms(7)),
        ("transport.tcp = { timers = \"ns-3\", rto_max = \"2s\" }", ms(2000)),
    ] {
        assert_eq!(config(keys).syn_timeout, syn_timeout, "{keys}");
    }
    let other = config("transport.tcp = { ack_first = true, byte_counting = false }");
    assert!(other.ack_first && !other.byte_counting);
    let described = Family::Tcp.describe(&other);
    assert!(described.contains("the first segment acknowledged at once, growth by ACKs"));
}

/// Linux bounds the variance of a round trip by 200 ms. A scenario's `rto_min` bounds the RTO alone.
#[test]
fn only_the_timers_of_linux_bound_the_variance() {
    for (keys, variance) in [
        ("transport.tcp = {}", 200),
        ("transport.mptcp.timers = \"linux\"", 200),
        ("transport.dctcp = { timers = \"linux\", rto_min = \"10ms\" }", 0),
        ("transport.tcp.rto_min = \"200ms\"", 0),
        ("transport.tcp.timers = \"datacenter\"", 0),
        ("transport.tcp.timers = \"rfc\"", 0),
    ] {
        assert_eq!(config(keys).rto_variance_min, TimeDelta::from_ms(variance), "{keys}");
    }
    let described = |keys| Family::Tcp.describe(&config(keys));
    assert!(described("transport.tcp = {}").contains(", RTO SRTT + 200ms to 60s, "));
    assert!(described("transport.tcp.rto_min = \"5ms\"").contains(", RTO 5ms to 60s, "));
}

#[test]
fn each_tcp_variant_has_its_defaults_and_switch() {
    let tcp = config("transport.tcp = {}");
    assert_eq!((tcp.control, tcp.subflows, tcp.sack, tcp.ecn), (Control::NewReno, 1, true, false));
    assert_eq!((tcp.rto_initial, tcp.rto_min), (TimeDelta::from_ms(1000), TimeDelta::from_ms(200)));
    let cubic = config(
        "transport.tcp = { control = \"cubic\", ecn = true, rto_max = \"1ms\", rto_min = \"1ms\" }",
    );
    assert_eq!(
        (cubic.control, cubic.ecn, cubic.rto_initial),
        (Control::Cubic, true, TimeDelta::from_ms(1))
    );
    let dctcp = config("transport.dctcp = {}");
    assert_eq!((dctcp.control, dctcp.ecn), (Control::Dctcp { gain_shift: 4 }, true));
    let mptcp = config("transport.mptcp = {}");
    assert_eq!((mptcp.subflows, mptcp.sack, mptcp.timestamps), (8, false, true));
    let uncoupled = config("transport.mptcp.control = \"uncoupled\"");
    assert!(mptcp.coupled && !uncoupled.coupled);
    assert!(Family::Mptcp.describe(&uncoupled).starts_with("MPTCP with 8 uncoupled subflows: "));
    let switch = |keys| plan(keys).unwrap().switch;
    assert_eq!(switch("transport.tcp = {}"), ServiceModel::drop_tail(200));
    assert_eq!(switch("transport.mptcp = {}"), ServiceModel::drop_tail(200));
    assert_eq!(switch("transport.dctcp = {}"), ServiceModel::ecn(200, 30));
    assert_eq!(switch("transport.tcp = { ecn = true }"), ServiceModel::ecn(200, 30));
    assert_eq!(
        switch("transport.dctcp = {}\nswitch.profile = \"paper\""),
        ServiceModel::paper(8, 9000)
    );
    assert_eq!(switch("transport.ndp = {}"), ServiceModel::paper(8, 9000));
}

#[test]
fn the_scenario_decides_where_and_when_marks_are_set() {
    let switch = plan(
        "transport.dctcp = {}\nswitch = { data_queue = \"900KB\", ecn_threshold = \"270KB\", ecn_mark_at = \"dequeue\", ecn_count_self = true }",
    );
    let mut choices = Choices::ecn(200, 30);
    choices.queues[0].whole = Limit::bytes(900_000);
    choices.queues[0].header = Limit::bytes(900_000);
    choices.queues[0].marker = model::Marker::Threshold {
        unit: model::Unit::Bytes,
        above: 270_000,
        count_self: true,
        at: model::MarkAt::Dequeue,
    };
    assert_eq!(switch.unwrap().switch, choices.build().unwrap());
}

#[test]
fn contradicting_tcp_keys_are_refused() {
    let refused = |keys| plan(keys).unwrap_err();
    assert!(refused("transport.tcp = { sack = false, dsack = true }").contains("`dsack` without"));
    assert!(refused("transport.tcp.rto_min = \"0us\"").contains("a time-out of nothing"));
    assert!(refused("transport.tcp.timers = \"wan\"").contains("\"datacenter\", \"rfc\""));
    let each = "transport.tcp = { ack_first = true, ack_every = 1 }";
    assert!(refused(each).contains("where each segment has an ACK"));
    let standing = "transport.tcp = { syn_timeout = \"1ms\", handshake = \"standing\" }";
    assert!(refused(standing).contains("`syn_timeout` without SYNs"));
    assert!(refused("transport.tcp.syn_timeout = \"0us\"").contains("a time-out of nothing"));
    assert!(refused("transport.tcp = { rto_max = \"1ms\" }").contains("above `rto_max`"));
    assert!(refused("transport.mptcp.sack = true").contains("unknown key `sack`"));
    assert!(refused("transport.tcp = {}\noutput.latencies = true").contains("latencies of"));
    assert!(
        refused("transport.tcp = {}\nswitch.ecn_mark_at = \"enqueue\"").contains("does not mark")
    );
    let spraying = |transport: &str, word: &str| {
        let text = format!(
            "topology.star.hosts = 4\ntransport.{transport} = {{}}\n[[workload]]\nname = \"w\"\n\
             permutation = {{}}\nsize = \"9KB\"\nspraying = \"{word}\""
        );
        let scenario = Scenario::parse("s.toml", &text, &[]).map_err(|error| error.to_string())?;
        Ok::<_, String>(scenario.runs[0].plan.workloads[0].spraying)
    };
    assert_eq!(spraying("dctcp", "per-flow"), Ok(Spraying::SenderPermuted));
    assert_eq!(spraying("dctcp", "switch-random"), Ok(Spraying::SwitchRandom));
    assert!(spraying("dctcp", "sender-permuted").unwrap_err().contains("per-flow"));
    assert!(spraying("ndp", "per-flow").unwrap_err().contains("sender-permuted"));
}
