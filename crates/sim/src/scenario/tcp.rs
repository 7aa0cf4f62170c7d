//! The TCP family in a scenario: its keys, and the parameters that they come to.

use trimline_packet::TimeDelta;
use trimline_transport::tcp::{Config, Control, Handshake, MAX_SUBFLOWS};

use super::error::ScenarioError;
use super::form::{BYTES, DURATION, Form, Grammar, Key, optional};
use super::read::{duration_of, number, payload};
use super::tree::Node;

/// Segments of a receive window at most: half of what an ACK's 16 bits can say.
const MAX_WINDOW: i64 = 32_767;

const PAYLOAD: Key =
    optional("payload", BYTES, "Payload of a full segment; the header adds 64 B. Default: 9000B.");
const INITIAL_WINDOW: Key = optional(
    "initial_window",
    Form::Integer(1, MAX_WINDOW),
    "Segments of the initial window. Default: 10 (RFC 6928).",
);
const INITIAL_THRESHOLD: Key = optional(
    "initial_threshold",
    Form::Integer(2, MAX_WINDOW),
    "Segments at which the first slow start ends. Default: the receive window (RFC 5681: arbitrarily high).",
);
const HANDSHAKE: Key = optional(
    "handshake",
    Form::Word(&["three-way", "fast-open", "standing"]),
    "\"three-way\" (default): a SYN and its answer before data. \"fast-open\": the SYN carries the first segment (RFC 7413, the cookie known). \"standing\": the connection stood before; the first window is sent at once.",
);
const ACK_EVERY: Key = optional(
    "ack_every",
    Form::Integer(1, 255),
    "Segments in order that one ACK answers. Default: 2 (RFC 5681).",
);
const ACK_DELAY: Key =
    optional("ack_delay", DURATION, "The longest that an ACK is delayed. Default: 40ms.");
const RTO_INITIAL: Key = optional(
    "rto_initial",
    DURATION,
    "Time-out before a round trip was measured. Default: 1s (RFC 6298), or rto_max if that is less.",
);
const RTO_MIN: Key = optional(
    "rto_min",
    DURATION,
    "Least time-out. Default: 200ms (Linux; RFC 6298 has 1s). Data centres use 1ms to 10ms.",
);
const RTO_MAX: Key = optional("rto_max", DURATION, "Greatest time-out. Default: 60s (RFC 6298).");
const RECEIVE_WINDOW: Key = optional(
    "receive_window",
    Form::Integer(1, MAX_WINDOW),
    "Segments that the receiver takes beyond the oldest one that is missing. Default: 8192.",
);
const TIME_WAIT: Key = optional(
    "time_wait",
    DURATION,
    "How long both ends answer what is late after everything was acknowledged. Default: 10ms.",
);
const SACK: Key = optional(
    "sack",
    Form::Boolean,
    "Whether receivers say which segments they have, and senders recover by it (RFC 2018, RFC 6675). Default: true.",
);
const DSACK: Key = optional(
    "dsack",
    Form::Boolean,
    "Whether receivers say which segments came twice, and senders take back what was for nothing (RFC 2883, RFC 3708). Needs sack. Default: false.",
);
const TIMESTAMPS: Key = optional(
    "timestamps",
    Form::Boolean,
    "Whether ACKs without SACK blocks echo times (RFC 7323): round trips also of what was resent, and the Eifel detection (RFC 3522). Default: true.",
);
const FRTO: Key = optional(
    "frto",
    Form::Boolean,
    "Whether time-outs are tested for being spurious (F-RTO, RFC 5682). Default: false.",
);
const ECN: Key = optional(
    "ecn",
    Form::Boolean,
    "Whether senders react to marks (RFC 3168). The switch profile is then ecn by default. Default: false.",
);

pub(super) static TCP: Grammar = Grammar {
    about: "Parameters of TCP. Everything that a SYN negotiates is the same at all hosts.",
    alternatives: &[],
    keys: &[
        optional(
            "control",
            Form::Word(&["newreno", "cubic"]),
            "How the window moves: NewReno (default; RFC 5681, RFC 6582) or CUBIC (RFC 9438).",
        ),
        PAYLOAD,
        INITIAL_WINDOW,
        INITIAL_THRESHOLD,
        ECN,
        SACK,
        DSACK,
        TIMESTAMPS,
        FRTO,
        HANDSHAKE,
        ACK_EVERY,
        ACK_DELAY,
        RTO_INITIAL,
        RTO_MIN,
        RTO_MAX,
        RECEIVE_WINDOW,
        TIME_WAIT,
    ],
};

pub(super) static DCTCP: Grammar = Grammar {
    about: "Parameters of DCTCP: TCP that reacts to the share of marked segments.",
    alternatives: &[],
    keys: &[
        optional(
            "gain_shift",
            Form::Integer(0, 16),
            "The share is averaged with the gain 2^-gain_shift. Default: 4 (RFC 8257).",
        ),
        PAYLOAD,
        INITIAL_WINDOW,
        INITIAL_THRESHOLD,
        SACK,
        DSACK,
        TIMESTAMPS,
        FRTO,
        HANDSHAKE,
        ACK_EVERY,
        ACK_DELAY,
        RTO_INITIAL,
        RTO_MIN,
        RTO_MAX,
        RECEIVE_WINDOW,
        TIME_WAIT,
    ],
};

pub(super) static MPTCP: Grammar = Grammar {
    about: "Parameters of Multipath TCP: NewReno on each subflow, increases linked (RFC 6356), what a subflow's time-out leaves behind sent on the others too.",
    alternatives: &[],
    keys: &[
        optional(
            "subflows",
            Form::Integer(2, MAX_SUBFLOWS as i64),
            "Subflows of a connection, each with a path of its own while there are others. Default: 8.",
        ),
        PAYLOAD,
        INITIAL_WINDOW,
        INITIAL_THRESHOLD,
        ECN,
        TIMESTAMPS,
        FRTO,
        HANDSHAKE,
        ACK_EVERY,
        ACK_DELAY,
        RTO_INITIAL,
        RTO_MIN,
        RTO_MAX,
        RECEIVE_WINDOW,
        TIME_WAIT,
    ],
};

/// The switch profile of a scenario that names none; `None` where another transport is asked for.
pub(super) fn default_profile(root: &Node) -> Option<&'static str> {
    let asks = |transport| {
        let ecn = root.at(&["transport", transport, "ecn"]).and_then(Node::boolean);
        root.at(&["transport", transport]).map(|_| ecn == Some(true))
    };
    match asks("tcp").or_else(|| asks("mptcp")) {
        Some(true) => Some("ecn"),
        Some(false) => Some("drop-tail"),
        None => root.at(&["transport", "dctcp"]).map(|_| "ecn"),
    }
}

/// The parameters, if a scenario asks for one of the family.
pub(super) fn transport(root: &Node) -> Result<Option<Config>, ScenarioError> {
    let find = |name| root.at(&["transport", name]).map(|node| (name, node));
    let Some((name, node)) = find("tcp").or_else(|| find("dctcp")).or_else(|| find("mptcp")) else {
        return Ok(None);
    };
    if let Some(asked) = root.at(&["output", "latencies"]).filter(|n| n.boolean() == Some(true)) {
        return Err(ScenarioError::new(
            &asked.place,
            format!("latencies of transport {name}, whose ACKs answer several segments"),
            "transport ndp",
        ));
    }
    let flag = |key, default| node.child(key).and_then(Node::boolean).unwrap_or(default);
    let time = |key, default| node.child(key).map_or(Ok(default), duration_of);
    let count = |key, default| number(node, key).map_or(default, |number| number as u16);
    let rto_max = time("rto_max", TimeDelta::from_ms(60_000))?;
    let receive_window = count("receive_window", 8192);
    let config = Config {
        payload_bytes: payload(node)?.unwrap_or(9000),
        initial_window: count("initial_window", 10),
        initial_threshold: count("initial_threshold", receive_window),
        control: match (name, node.child("control").and_then(Node::text)) {
            ("dctcp", _) => Control::Dctcp { gain_shift: count("gain_shift", 4) as u8 },
            (_, Some("cubic")) => Control::Cubic,
            _ => Control::NewReno,
        },
        subflows: if name == "mptcp" { count("subflows", 8) as u8 } else { 1 },
        ecn: name == "dctcp" || flag("ecn", false),
        sack: name != "mptcp" && flag("sack", true),
        dsack: flag("dsack", false),
        timestamps: flag("timestamps", true),
        frto: flag("frto", false),
        handshake: match node.child("handshake").and_then(Node::text) {
            Some("fast-open") => Handshake::FastOpen,
            Some("standing") => Handshake::Standing,
            _ => Handshake::ThreeWay,
        },
        ack_every: count("ack_every", 2) as u8,
        ack_delay: time("ack_delay", TimeDelta::from_ms(40))?,
        rto_initial: time("rto_initial", TimeDelta::from_ms(1000).min(rto_max))?,
        rto_min: time("rto_min", TimeDelta::from_ms(200))?,
        rto_max,
        receive_window,
        // Twice what a segment waits in a thousand full packets' queue at 10 Gb/s, and something (RFC 9293: 2 MSL).
        time_wait: time("time_wait", TimeDelta::from_ms(10))?,
    };
    let refuse = |key: &str, problem: &str, expected: &str| {
        let place = node.child(key).unwrap_or(node);
        Err(ScenarioError::new(&place.place, problem, expected))
    };
    if config.dsack && !config.sack {
        return refuse("dsack", "`dsack` without `sack`", "sack = true, or no dsack");
    }
    if config.rto_min == TimeDelta::ZERO || config.rto_initial == TimeDelta::ZERO {
        let key = if config.rto_min == TimeDelta::ZERO { "rto_min" } else { "rto_initial" };
        return refuse(key, "a time-out of nothing", "a time above 0");
    }
    if config.rto_min > config.rto_max || config.rto_initial > config.rto_max {
        let key = if config.rto_min > config.rto_max { "rto_min" } else { "rto_initial" };
        return refuse(
            key,
            "a time-out above `rto_max`",
            "at most `rto_max`, which is 60s by default",
        );
    }
    Ok(Some(config))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Plan, Spraying, Transport};
    use crate::scenario::Scenario;
    use trimline_switch::{Choices, Limit, ServiceModel, model};

    fn plan(keys: &str) -> Result<Plan, String> {
        let text = format!(
            "topology.star.hosts = 4\nworkload = [{{ name = \"w\", permutation = {{}}, size = \"9KB\" }}]\n{keys}"
        );
        let scenario = Scenario::parse("s.toml", &text, &[]).map_err(|error| error.to_string())?;
        Ok(scenario.runs[0].plan.clone())
    }

    fn config(keys: &str) -> Config {
        match plan(keys).unwrap_or_else(|error| panic!("{error}")).transport {
            Transport::Tcp(config) => config,
            other => panic!("not of the family: {other:?}"),
        }
    }

    #[test]
    fn each_of_the_family_has_its_defaults_and_its_switch() {
        let tcp = config("transport.tcp = {}");
        assert_eq!(
            (tcp.control, tcp.subflows, tcp.sack, tcp.ecn),
            (Control::NewReno, 1, true, false)
        );
        assert_eq!(
            (tcp.rto_initial, tcp.rto_min),
            (TimeDelta::from_ms(1000), TimeDelta::from_ms(200))
        );
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
    fn marks_are_set_where_and_when_the_scenario_says() {
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
    fn what_does_not_fit_together_is_refused() {
        let refused = |keys| plan(keys).unwrap_err();
        assert!(
            refused("transport.tcp = { sack = false, dsack = true }").contains("`dsack` without")
        );
        assert!(refused("transport.tcp.rto_min = \"0us\"").contains("a time-out of nothing"));
        assert!(refused("transport.tcp = { rto_max = \"1ms\" }").contains("above `rto_max`"));
        assert!(refused("transport.mptcp.sack = true").contains("unknown key `sack`"));
        assert!(refused("transport.tcp = {}\noutput.latencies = true").contains("latencies of"));
        assert!(
            refused("transport.tcp = {}\nswitch.ecn_mark_at = \"enqueue\"")
                .contains("does not mark")
        );
        let spraying = |transport: &str, word: &str| {
            let text = format!(
                "topology.star.hosts = 4\ntransport.{transport} = {{}}\n[[workload]]\nname = \"w\"\n\
                 permutation = {{}}\nsize = \"9KB\"\nspraying = \"{word}\""
            );
            let scenario =
                Scenario::parse("s.toml", &text, &[]).map_err(|error| error.to_string())?;
            Ok::<_, String>(scenario.runs[0].plan.workloads[0].spraying)
        };
        assert_eq!(spraying("dctcp", "per-flow"), Ok(Spraying::SenderPermuted));
        assert_eq!(spraying("dctcp", "switch-random"), Ok(Spraying::SwitchRandom));
        assert!(spraying("dctcp", "sender-permuted").unwrap_err().contains("per-flow"));
        assert!(spraying("ndp", "per-flow").unwrap_err().contains("sender-permuted"));
    }
}
