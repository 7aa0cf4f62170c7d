//! The keys of detours in a scenario, and the resulting model.

use trimline_packet::ByteCount;
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
            Form::Word(&["opf", "dibs", "rps", "adaptive"]),
            "opf",
            "OPF: unscheduled packets, above a threshold, to the shorter of two ports, twice at most. DIBS: all data, when the port is full, to a port with room. RPS (random packet spraying): all data, always, to a port that is equally near. Adaptive (routing): as RPS, to the shorter of two such ports.",
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
            Form::Either(&[QUEUE, Form::Word(&["auto"])]),
            "an eighth less than the queue holds",
            "A port that is seen to hold more is busy (OPF: opf-thresh). \"auto\": what the queue holds less what the port sends during one detour on idle links; at least half of what the queue holds.",
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
            "false; true with rps and adaptive",
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
        Some("adaptive") => DetourModel::adaptive(),
        Some(_) | None => DetourModel::opf(0),
    };
    let hot = match (word("when"), scheme.hot) {
        (Some("never"), _) => None,
        (Some("full"), _) | (None, Some(Hot::Full)) => Some(Hot::Full),
        (Some("always"), _) | (None, Some(Hot::Always)) => Some(Hot::Always),
        (Some(_), _) | (None, Some(Hot::Above(_)) | None) => {
            Some(Hot::Above(threshold(node, switch, topology, packet_bytes)?))
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

/// The threshold that leaves room for one detour, in packets, of queues that hold `longest`.
///
/// A packet that leaves on a detour is back after a fixed time on idle links. Meanwhile the port has sent `detour`
/// packets: that many of the packets that come back find room. A receiver that sends credit at its link's rate brings no
/// more scheduled packets in that time. (OPF VI: thresholds that are tuned automatically. The rule is ours.)
fn automatic(longest: u32, detour: u32) -> u32 {
    longest.saturating_sub(detour).max(longest / 2)
}

/// Returns the max number of full packets that a port sends during a detour: to a neighbour and back, on idle links.
fn packets_of_a_detour(topology: &Clos, packet_bytes: u16) -> u32 {
    let Clos { host_link, tor_link, aggregation_link, .. } = *topology;
    let wire = ByteCount::new(packet_bytes.into());
    let [tor, aggregation, core] = topology.processing.switch;
    let (low, high) = ((tor_link, tor + aggregation), (aggregation_link, aggregation + core));
    // A port, and the link of another port of its switch by which packets come back, with the switches of its ends.
    let (within, between) =
        ([(host_link, low), (tor_link, low)], [(tor_link, high), (aggregation_link, high)]);
    let between = between.into_iter().filter(|_| topology.tiers > 2);
    let packets = within.into_iter().chain(between).map(|(port, (way, switches))| {
        let there = way.transmission(wire) + way.delay;
        let detour = (there + there + switches).as_ps();
        detour.div_ceil(port.transmission(wire).as_ps().max(1))
    });
    packets.max().map_or(0, |packets| u32::try_from(packets).unwrap_or(u32::MAX))
}

/// Reads the threshold in packets, below the queue's limit.
fn threshold(
    node: &Node,
    switch: &ServiceModel,
    topology: &Clos,
    packet_bytes: u16,
) -> Result<u32, ScenarioError> {
    let Limit { packets, bytes } = switch.room_for_data();
    let longest = packets.min(bytes / u32::from(packet_bytes));
    let key = node.child("threshold");
    let is_automatic = key.and_then(Node::text) == Some("auto");
    if (key.is_none() || is_automatic) && bytes == u32::MAX && packets == u32::MAX {
        return Err(ScenarioError::new(
            &key.unwrap_or(node).place,
            "no threshold of queues without a limit of their own: shared memory, or pauses, bound them",
            "`threshold`, such as \"56pkt\"",
        ));
    }
    let Some(key) = key else { return Ok(by_default(longest)) };
    if is_automatic {
        return Ok(automatic(longest, packets_of_a_detour(topology, packet_bytes)));
    }
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
        assert_eq!(model("detour.scheme = \"adaptive\""), DetourModel::adaptive());
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

    /// 9064 B take 725.12 ns at 100 Gb/s and 7.2512 us at 10 Gb/s.
    #[test]
    fn an_automatic_threshold_leaves_room_for_what_a_port_sends_during_a_detour() {
        let above = |topology: &str, switch: &str| {
            let plan = plan(topology, &format!("{switch}, detour.threshold = \"auto\"")).unwrap();
            match plan.detour.expect("a model").hot {
                Some(Hot::Above(threshold)) => threshold,
                hot => panic!("{hot:?}"),
            }
        };
        let fattree = |links: &str, switch: &str| {
            above(&format!("fattree.k = 4\nlinks = {{ {links} }}"), switch)
        };
        let fast = "rate = \"100Gbps\", delay = \"500ns\"";
        // 2.45 us: 3.4 packets.
        assert_eq!(fattree(fast, "data_queue = \"64pkt\""), 60);
        assert_eq!(fattree(fast, "data_queue = \"32pkt\""), 28);
        assert_eq!(fattree(fast, "data_queue = \"7pkt\""), 3, "half of a short queue");
        assert_eq!(fattree(fast, "data_queue = \"1pkt\""), 0);
        // 5.45 us: 7.5 packets. 3.45 us with a switch's latency: 4.8.
        let far = "rate = \"100Gbps\", delay = \"2us\"";
        assert_eq!(fattree(far, "data_queue = \"64pkt\""), 56);
        assert_eq!(fattree(fast, "data_queue = \"64pkt\", latency = \"500ns\""), 59);
        // 16.5 us: 2.3 packets.
        let slow = "rate = \"10Gbps\", delay = \"1us\"";
        assert_eq!(fattree(slow, "data_queue = \"64pkt\""), 61);
        // By the longest links between switches: 41.5 us to a core and back, 5.7 packets.
        let long = format!("{slow}, aggregation.delay = \"13.5us\"");
        assert_eq!(fattree(&long, "data_queue = \"64pkt\""), 58);
        // A spine, not a port to a host: 1.45 us on links of 100 Gb/s.
        let leaves = "leafspine = { leaves = 4, spines = 2, hosts_per_leaf = 2 }\n\
                      links = { rate = \"10Gbps\", delay = \"0s\", tor.rate = \"100Gbps\" }";
        assert_eq!(above(leaves, "data_queue = \"64pkt\""), 62);
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
        for detour in ["detour = {}", "detour.threshold = \"auto\""] {
            let keys = format!("profile = \"drop-tail\", shared_buffer = \"1MB\", {detour}");
            let shared = plan("fattree.k = 4", &keys).expect_err("no limit");
            assert!(shared.contains("queues without a limit of their own"), "{shared}");
        }
        let dibs = fattree("scheme = \"dibs\", threshold = \"auto\"");
        assert!(dibs.contains("a threshold where"), "{dibs}");
        assert!(fattree("threshold = \"automatic\"").contains("\"auto\""));
        let star = refused("star.hosts = 4", "");
        assert!(star.contains("a network of one switch"), "{star}");
        let cable = refused("back_to_back = {}", "");
        assert!(cable.contains("a network of one switch"), "{cable}");
    }
}
