//! The keys of detours in a scenario, and the resulting model.

use trimline_switch::detour::{Counts, DetourModel, Detourable, Hot, Pick, Seen, Targets};
use trimline_switch::{Limit, ServiceModel};

use crate::keys::error::ScenarioError;
use crate::keys::form::{Form, Grammar, Key, QUEUE, computed, fixed};
use crate::keys::quantity::{self, Quantity, QueueSize};
use crate::keys::read::read;
use crate::keys::tree::Node;
use crate::topology::{Clos, Routes};

const NAME: &str = "detour";

/// OPF IV: opf-thresh is 4 to 12 packets below a longest queue of 64. An eighth below it, at least one packet.
fn by_default(longest: u32) -> u32 {
    longest - longest.div_ceil(8)
}

pub(crate) const KEY: Key = computed(
    NAME,
    Form::Table(&DETOUR),
    "none",
    "Detour: a packet that finds its port busy leaves by another port of the switch (OPF, DIBS: a detour).",
);

static DETOUR: Grammar = Grammar {
    about: "A scheme, and what differs from it.",
    alternatives: &[],
    keys: &[
        fixed(
            "scheme",
            Form::Word(&["opf", "dibs", "rps"]),
            "opf",
            "OPF: unscheduled packets, above a threshold, to the shorter of two ports, twice at most. DIBS: all data, when the port is full, to a port with room. RPS (random packet spraying): all data, always, to a port that is equally near.",
        ),
        computed(
            "packets",
            Form::Word(&["unscheduled", "data"]),
            "the scheme's",
            "What may be detoured: what its sender marks as unscheduled, or all whole data.",
        ),
        computed(
            "when",
            Form::Word(&["above", "full", "always", "never"]),
            "the scheme's",
            "Above the threshold, when the port has no room for the packet, always, or never: then only paths.csv is written.",
        ),
        computed(
            "threshold",
            QUEUE,
            "an eighth less than the queue holds",
            "A port that is seen to hold more is busy (OPF: opf-thresh).",
        ),
        computed(
            "choice",
            Form::Word(&["shorter-of-two", "one"]),
            "the scheme's",
            "Two ports are drawn, with replacement, and the shorter is taken; or one is drawn.",
        ),
        computed(
            "limit",
            Form::Either(&[Form::Integer(1, 255), Form::Word(&["none"])]),
            "2 with opf, else none",
            "A packet with this count is not detoured again (OPF: dcc-thresh).",
        ),
        fixed(
            "counts",
            Form::Word(&["detours", "switches"]),
            "detours",
            "What counts towards the limit: detours, or all switches that the packet has left (OPF's Algorithm 1 as printed, by the TTL).",
        ),
        fixed(
            "seen",
            Form::Word(&["now", "last-departure", "last-arrival"]),
            "now",
            "How long a queue is seen to be: as it is; as it was when a packet last began to leave it (OPF's Algorithm 2); as the last packet to begin to leave found it when it came (OPF's published prototype).",
        ),
        fixed(
            "hosts",
            Form::Boolean,
            "false",
            "Whether packets are detoured to ports of hosts too, where they are lost.",
        ),
        fixed(
            "input",
            Form::Boolean,
            "false",
            "Whether they are detoured to where they came from too.",
        ),
        fixed(
            "dead",
            Form::Boolean,
            "false",
            "Whether they are detoured to links that routing knows to be dead too.",
        ),
        computed(
            "own",
            Form::Boolean,
            "false; true with rps",
            "Whether the busy port is one of those that are drawn.",
        ),
    ],
};

pub(crate) fn detour(
    root: &Node,
    switch: &ServiceModel,
    topology: &Clos,
    packet_bytes: u16,
) -> Result<Option<DetourModel>, ScenarioError> {
    let Some(node) = root.at(&["switch", NAME]) else { return Ok(None) };
    let routes = Routes::new(topology);
    let to_switch = |port| routes.leads_to_switch(port);
    if !(0..routes.ports()).any(to_switch) {
        return Err(ScenarioError::new(
            &node.place,
            "detour in a network of one switch",
            "switches with ports to other switches: a leaf-spine or a FatTree",
        ));
    }
    let word = |key| node.child(key).and_then(Node::text);
    let scheme = match word("scheme") {
        Some("dibs") => DetourModel::dibs(),
        Some("rps") => DetourModel::rps(),
        Some(_) | None => DetourModel::opf(0),
    };
    let hot = match (word("when"), scheme.hot) {
        (Some("never"), _) => None,
        (Some("full"), _) | (None, Some(Hot::Full)) => Some(Hot::Full),
        (Some("always"), _) | (None, Some(Hot::Always)) => Some(Hot::Always),
        (Some(_), _) | (None, Some(Hot::Above(_)) | None) => {
            Some(Hot::Above(threshold(node, switch, packet_bytes)?))
        }
    };
    if let Some(key) = node.child("threshold")
        && !matches!(hot, Some(Hot::Above(_)))
    {
        return Err(ScenarioError::new(
            &key.place,
            "a threshold where no queue is compared with one",
            "`when = \"above\"` beside it",
        ));
    }
    let flag = |key, default| node.child(key).and_then(Node::boolean).unwrap_or(default);
    let targets = scheme.targets;
    Ok(Some(DetourModel {
        detourable: match word("packets") {
            Some("unscheduled") => Detourable::Unscheduled,
            Some(_) => Detourable::Data,
            None => scheme.detourable,
        },
        hot,
        pick: match word("choice") {
            Some("one") => Pick::One,
            Some(_) => Pick::ShorterOfTwo,
            None => scheme.pick,
        },
        targets: Targets {
            hosts: flag("hosts", targets.hosts),
            input: flag("input", targets.input),
            dead: flag("dead", targets.dead),
            own: flag("own", targets.own),
            ..targets
        },
        limit: match node.child("limit") {
            None => scheme.limit,
            Some(limit) => limit.integer().and_then(|limit| u8::try_from(limit).ok()),
        },
        counts: match word("counts") {
            Some("switches") => Counts::Switches,
            Some(_) | None => Counts::Detours,
        },
        seen: match word("seen") {
            Some("last-departure") => Seen::LastDeparture,
            Some("last-arrival") => Seen::LastArrivalThatLeft,
            Some(_) | None => Seen::Now,
        },
    }))
}

/// Reads the threshold in packets, below the queue's limit.
fn threshold(node: &Node, switch: &ServiceModel, packet_bytes: u16) -> Result<u32, ScenarioError> {
    let Limit { packets, bytes } = switch.room_for_data();
    let longest = packets.min(bytes / u32::from(packet_bytes));
    let Some(key) = node.child("threshold") else {
        if bytes == u32::MAX && packets == u32::MAX {
            return Err(ScenarioError::new(
                &node.place,
                "no threshold of queues without a limit of their own: shared memory, or pauses, bound them",
                "`threshold`, such as \"56pkt\"",
            ));
        }
        return Ok(by_default(longest));
    };
    let threshold = match read(key, quantity::queue, Quantity::Queue)? {
        QueueSize::Packets(packets) => packets,
        QueueSize::Bytes(bytes) => {
            u32::try_from(bytes / u64::from(packet_bytes)).unwrap_or(u32::MAX)
        }
    };
    if threshold >= longest {
        return Err(ScenarioError::new(
            &key.place,
            format!("a threshold of {threshold} packets at a queue that holds {longest}"),
            format!("less than the queue holds, such as \"{}pkt\"", by_default(longest)),
        ));
    }
    Ok(threshold)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;
    use crate::scenario::Scenario;

    fn plan(topology: &str, switch: &str) -> Result<Plan, String> {
        let text = format!(
            "topology.{topology}\nswitch = {{ {switch} }}\n\
             [[workload]]\nname = \"w\"\npermutation = {{}}\nsize = \"9KB\"\n"
        );
        let scenario = Scenario::parse("s.toml", &text, &[]).map_err(|error| error.to_string())?;
        Ok(scenario.runs[0].plan.clone())
    }

    fn model(switch: &str) -> DetourModel {
        plan("fattree.k = 4", switch).unwrap().detour.expect("a model")
    }

    #[test]
    fn a_detour_scheme_sets_defaults_that_keys_change() {
        assert_eq!(model("data_queue = \"64pkt\", detour = {}"), DetourModel::opf(56));
        assert_eq!(model("detour = {}"), DetourModel::opf(7), "of eight packets");
        assert_eq!(model("detour.scheme = \"dibs\""), DetourModel::dibs());
        assert_eq!(model("detour.scheme = \"rps\""), DetourModel::rps());
        let opf = |keys: &str| model(&format!("data_queue = \"64pkt\", detour = {{ {keys} }}"));
        assert_eq!(opf("threshold = \"52pkt\"").hot, Some(Hot::Above(52)));
        assert_eq!(opf("threshold = \"100KB\"").hot, Some(Hot::Above(11)), "whole packets");
        assert_eq!(opf("when = \"never\"").hot, None);
        assert_eq!(opf("limit = \"none\"").limit, None);
        assert_eq!(opf("limit = 255").limit, Some(255));
        assert_eq!(opf("choice = \"one\"").pick, Pick::One);
        assert_eq!(opf("packets = \"data\"").detourable, Detourable::Data);
        assert_eq!(opf("counts = \"switches\"").counts, Counts::Switches);
        assert_eq!(opf("seen = \"last-arrival\"").seen, Seen::LastArrivalThatLeft);
        let targets = opf("hosts = true, input = true, dead = true, own = true").targets;
        let all = Targets { hosts: true, input: true, dead: true, own: true, ..Targets::OTHERS };
        assert_eq!(targets, all);
        assert_eq!(plan("fattree.k = 4", "latency = \"0s\"").unwrap().detour, None);
    }

    #[test]
    fn the_default_threshold_follows_the_port_limit() {
        let text = "profile = \"priorities\", data_queue = \"100pkt\", port_limit = \"64pkt\"";
        assert_eq!(model(&format!("{text}, detour = {{}}")).hot, Some(Hot::Above(56)));
    }

    #[test]
    fn invalid_detours_are_refused() {
        let refused = |topology: &str, keys: &str| {
            plan(topology, &format!("data_queue = \"64pkt\", detour = {{ {keys} }}"))
                .expect_err("refused")
        };
        let fattree = |keys: &str| refused("fattree.k = 4", keys);
        for threshold in ["64pkt", "70pkt", "1MB"] {
            let error = fattree(&format!("threshold = \"{threshold}\""));
            assert!(error.contains("at a queue that holds 64"), "{error}");
            assert!(error.contains("such as \"56pkt\""), "{error}");
        }
        assert!(fattree("scheme = \"dibs\", threshold = \"9pkt\"").contains("a threshold where"));
        assert!(fattree("limit = 0").contains("1 to 255"));
        assert!(fattree("limit = \"nine\"").contains("\"none\""));
        let shared =
            plan("fattree.k = 4", "profile = \"drop-tail\", shared_buffer = \"1MB\", detour = {}");
        assert!(shared.expect_err("no limit").contains("queues without a limit of their own"));
        let star = refused("star.hosts = 4", "");
        assert!(star.contains("a network of one switch"), "{star}");
        let cable = refused("back_to_back = {}", "");
        assert!(cable.contains("a network of one switch"), "{cable}");
    }
}
