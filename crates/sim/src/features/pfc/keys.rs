//! The keys of priority flow control in a scenario, and the resulting settings.

use trimline_packet::TimeDelta;
use trimline_switch::{Choices, Classifier, Limit, QueueChoices, Scheduler};

use crate::features::shared_buffer;
use crate::keys::error::ScenarioError;
use crate::keys::form::{Form, Grammar, Key, QUEUE, computed, fixed};
use crate::keys::port::Keys;
use crate::keys::tree::Node;
use crate::plan::{LinkChange, LinkEvent, Lossless, SharedMemory, headroom_of};
use crate::topology::{Clos, LinkId, LinkSpec, Routes};

const NAME: &str = "pfc";

pub(crate) const KEY: Key = computed(
    NAME,
    Form::Table(&PFC),
    "none",
    "Priority flow control (IEEE 802.1Qbb): inputs that hold too much stop the senders of their links, and nothing is dropped. Profiles drop-tail and ecn, whose queues then have no limit of their own.",
);

static PFC: Grammar = Grammar {
    about: "When an input of a switch stops the sender at the other end of its link.",
    alternatives: &[],
    keys: &[
        computed(
            "xoff",
            QUEUE,
            "the shared buffer's part for each port, less the headroom and a packet",
            "An input that holds more than this of a class stops it.",
        ),
        computed(
            "xon",
            QUEUE,
            "two packets below xoff",
            "A stopped class goes on when the input holds this or less of it.",
        ),
        computed(
            "headroom",
            QUEUE,
            "what the input's link needs, 2 x delay x rate / 8 + 2 packets + 64 B",
            "Memory of each input above xoff and the packet that crosses it, for what is on its way when a class is stopped.",
        ),
        fixed(
            "classes",
            Form::Word(&["all", "data"]),
            "all",
            "What is lossless: everything, in one queue; or data, while ACKs and other control packets have a queue of their own that goes first, is never stopped and may drop.",
        ),
    ],
};

/// Switch keys that contradict priority flow control, and why.
const BESIDE: [(&str, &str); 3] = [
    ("data_queue", "queues have no limit of their own: inputs are stopped before memory runs out"),
    ("droppable_queue", "one queue of a port would stop and the other drop"),
    ("shared_buffer_alpha", "inputs have fixed parts of the buffer"),
];

pub(crate) fn table<'a>(keys: &Keys<'a>) -> Option<&'a Node> {
    keys.switch.and_then(|switch| switch.child(NAME))
}

/// Removes queue limits if the scenario has priority flow control, and returns when inputs stop their senders.
pub(crate) fn inputs(
    keys: &Keys<'_>,
    topology: &Clos,
    packet_bytes: u16,
    (events, reordering): (&[LinkEvent], TimeDelta),
    choices: &mut Choices,
) -> Result<Option<Lossless>, ScenarioError> {
    let Some(node) = table(keys) else { return Ok(None) };
    check_beside(keys, node, choices)?;
    let routes = Routes::new(topology);
    let max = |port| {
        let link = routes.reverse(LinkId::new(port));
        let back = routes.link(port).spec.delay + reordering;
        let spec = routes.link(link.node()).spec;
        let spec = LinkSpec { delay: spec.delay + reordering, ..spec };
        headroom_of(&at_its_fastest(link, spec, events), back, packet_bytes)
    };
    let needed = (0..routes.ports()).map(max).max().unwrap_or(0);
    let size = |key| size_of(node, key, packet_bytes);
    let headroom = size("headroom")?;
    let room = headroom.unwrap_or(needed);
    let memory = shared_buffer::given(keys, packet_bytes)?;
    let xoff = xoff_threshold((node, memory), &routes, (room, packet_bytes), size("xoff")?)?;
    let xon = match size("xon")? {
        None => xoff.saturating_sub(2 * u64::from(packet_bytes)),
        Some(xon) if xon < xoff => xon,
        Some(xon) => {
            return Err(ScenarioError::new(
                &node.child("xon").unwrap_or(node).place,
                format!("XON of {xon} B is not below XOFF of {xoff} B"),
                "an XON below XOFF: an input that holds it lets its sender go on",
            ));
        }
    };
    let fits = |bytes: u64| u32::try_from(bytes).ok().filter(|&bytes| bytes <= u32::MAX / 4);
    let (Some(xoff), Some(xon)) = (fits(xoff), fits(xon)) else {
        let max = format!("at most {} bytes", u32::MAX / 4);
        return Err(ScenarioError::new(&node.place, format!("an input of {xoff} bytes"), max));
    };
    let headroom = headroom.map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX / 4));
    let classes = open_queues(node, packet_bytes, choices);
    Ok(Some(Lossless { xoff, xon, headroom, classes }))
}

fn check_beside(keys: &Keys<'_>, node: &Node, choices: &Choices) -> Result<(), ScenarioError> {
    if choices.classifier == Classifier::Class {
        return Err(ScenarioError::new(
            &node.place,
            format!(
                "`{NAME}` with profile \"{}\", whose classes are those of flows",
                keys.profile()
            ),
            "a profile with one queue that drops: drop-tail or ecn",
        ));
    }
    let trims = |queue: &QueueChoices| queue.overflow.iter().any(|action| action.trims());
    let does_trim = choices.queues.iter().any(trims);
    if choices.queues.len() > 1 || does_trim {
        let why = if does_trim { "which trims" } else { "which has several queues" };
        return Err(ScenarioError::new(
            &node.place,
            format!("`{NAME}` with profile \"{}\", {why}", keys.profile()),
            "a profile that drops: drop-tail or ecn",
        ));
    }
    if let Some((node, why)) = BESIDE.iter().find_map(|&(key, why)| Some((keys.get(key)?, why))) {
        return Err(ScenarioError::new(
            &node.place,
            format!("this key beside `{NAME}`, where {why}"),
            format!("one of the two; `{NAME}.xoff` is the memory of an input"),
        ));
    }
    if let Some(node) = keys.switch.and_then(|switch| switch.child("port")) {
        return Err(ScenarioError::new(
            &node.place,
            format!("ports that differ beside `{NAME}`"),
            "ports that are alike: a class is the same queue at each",
        ));
    }
    Ok(())
}

fn size_of(node: &Node, key: &str, packet_bytes: u16) -> Result<Option<u64>, ScenarioError> {
    node.child(key).map(|node| shared_buffer::bytes_of(node, packet_bytes)).transpose()
}

/// Returns XOFF: the given one, or the memory less the headroom. Memory must hold both.
fn xoff_threshold(
    (node, memory): (&Node, Option<(&Node, SharedMemory)>),
    routes: &Routes,
    (headroom, packet_bytes): (u64, u16),
    given: Option<u64>,
) -> Result<u64, ScenarioError> {
    let Some((key, memory)) = memory else {
        return given.ok_or_else(|| {
            ScenarioError::new(
                &node.place,
                format!("`{NAME}` without the memory of an input"),
                format!("`{NAME}.xoff`, or `shared_buffer_per_port`, of which a packet and the headroom of {headroom} B are kept free"),
            )
        });
    };
    let switches = 0..routes.switches() as u32;
    let ports = switches.map(|switch| routes.ports_of(switch).len() as u64).max().unwrap_or(1);
    let each = match memory {
        SharedMemory::OfSwitch(bytes) => bytes.get() / ports,
        SharedMemory::OfPort(bytes) => bytes.get(),
        SharedMemory::None => 0,
    };
    let above = headroom + u64::from(packet_bytes);
    let needed = given.unwrap_or(1) + above;
    if each < needed {
        let what = match given {
            None => format!("{ports} ports with a packet and a headroom of {headroom} B each"),
            Some(xoff) => format!(
                "{ports} ports with {xoff} B up to XOFF, a packet and a headroom of {headroom} B each"
            ),
        };
        return Err(ScenarioError::new(
            &key.place,
            format!("{what} do not fit {} B a port", each),
            format!("at least {} B a port, {} B a switch", needed, needed * ports),
        ));
    }
    Ok(given.unwrap_or(each - above))
}

/// Makes lossless queues unlimited, with a queue for control packets if only data is lossless. Returns the lossless
/// queues, a bit each.
fn open_queues(node: &Node, packet_bytes: u16, choices: &mut Choices) -> u8 {
    let queue = &mut choices.queues[0];
    (queue.whole, queue.header) = (Limit::NONE, Limit::NONE);
    if node.child("classes").and_then(Node::text) != Some("data") {
        return 1;
    }
    let control = Limit::bytes(CONTROL_PACKETS * u32::from(packet_bytes));
    choices.queues.insert(0, QueueChoices::new(control));
    choices.classifier = Classifier::HeaderAndData;
    choices.scheduler = Scheduler::Strict;
    1 << 1
}

/// Memory for control packets, in full packets (chosen: the default of drop-tail queues).
const CONTROL_PACKETS: u32 = 200;

/// Returns a link with a rate that is at least its highest.
fn at_its_fastest(link: LinkId, spec: LinkSpec, events: &[LinkEvent]) -> LinkSpec {
    let concerns = |event: &&LinkEvent| event.link == link || event.both_directions;
    let events = events.iter().filter(concerns);
    let rate = events.fold(spec.rate, |rate, event| match event.change {
        LinkChange::Rate(other) => rate.max(other),
        LinkChange::Fail | LinkChange::Restore => rate,
    });
    LinkSpec { rate, ..spec }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;
    use crate::scenario::Scenario;
    use trimline_switch::model::MarkAt;
    use trimline_switch::{Marker, ServiceModel};

    fn plan(switch: &str) -> Result<Plan, String> {
        let text = format!(
            "topology.fattree.k = 4\ntransport.dctcp = {{}}\nswitch = {{ {switch} }}\n\
             [[workload]]\nname = \"w\"\npermutation = {{}}\nsize = \"9KB\"\n"
        );
        let scenario = Scenario::parse("s.toml", &text, &[]).map_err(|error| error.to_string())?;
        Ok(scenario.runs[0].plan.clone())
    }

    fn inputs(switch: &str) -> Lossless {
        plan(switch).unwrap().lossless.expect("priority flow control")
    }

    #[test]
    fn pause_thresholds_are_given_or_follow_from_the_memory() {
        let packets = inputs("pfc = { xoff = \"15pkt\", xon = \"12pkt\" }");
        let (xoff, xon) = (15 * 9064, 12 * 9064);
        assert_eq!(packets, Lossless { xoff, xon, headroom: None, classes: 1 });
        let bytes = inputs("pfc = { xoff = \"100KB\", headroom = \"9KB\" }");
        assert_eq!((bytes.xon, bytes.headroom), (100_000 - 2 * 9064, Some(9_000)));
        // 10 Gb/s and 1 us: 20,692 B of headroom, and the packet that crosses.
        let memory = inputs("shared_buffer_per_port = \"200pkt\", pfc = {}");
        assert_eq!(memory.xoff, 200 * 9064 - 20_692 - 9064);
        let switch = inputs("shared_buffer = \"800pkt\", pfc = {}");
        assert_eq!(switch, memory, "four ports");
    }

    #[test]
    fn lossless_queues_have_no_limit_and_acks_may_have_their_own_queue() {
        let one = plan("ecn_threshold = \"20pkt\", pfc = { xoff = \"15pkt\" }").unwrap();
        assert_eq!(one.switch, ServiceModel::ecn(u32::MAX, 20));
        assert_eq!(one.shared_memory, SharedMemory::None);
        let two = plan("pfc = { xoff = \"15pkt\", classes = \"data\" }").unwrap();
        assert_eq!((two.switch.queue_count(), two.lossless.unwrap().classes), (2, 0b10));
        let ramp = "ecn_ramp = { kmin = \"5KB\", kmax = \"200KB\", pmax = \"1%\" }";
        let ramp = plan(&format!("{ramp}, pfc = {{ xoff = \"15pkt\" }}")).unwrap();
        let mut choices = Choices::drop_tail(u32::MAX);
        let pmax = ((1u64 << 32) / 100) as u32;
        choices.queues[0].marker =
            Marker::Ramp { kmin: 5_000, kmax: 200_000, pmax, at: MarkAt::Enqueue };
        assert_eq!(ramp.switch, choices.build().unwrap());
    }

    #[test]
    fn contradicting_pause_keys_are_refused_with_a_valid_value() {
        let refused = |switch: &str, what: &str| {
            let error = plan(switch).expect_err(switch);
            assert!(error.contains(what), "{switch}: {error}");
        };
        refused("pfc = {}", "`pfc.xoff`, or `shared_buffer_per_port`");
        refused("pfc = { xoff = \"12pkt\", xon = \"12pkt\" }", "is not below XOFF of 108768 B");
        refused(
            "shared_buffer_per_port = \"20KB\", pfc = {}",
            "at least 29757 B a port, 119028 B a switch",
        );
        refused(
            "shared_buffer_per_port = \"100KB\", pfc = { xoff = \"90KB\" }",
            "at least 119756 B a port",
        );
        refused("profile = \"paper\", pfc = { xoff = \"12pkt\" }", "which trims");
        refused("profile = \"cut-payload\", pfc = { xoff = \"12pkt\" }", "which trims");
        refused(
            "profile = \"qos\", pfc = { xoff = \"12pkt\" }",
            "whose classes are those of flows",
        );
        refused("data_queue = \"100pkt\", pfc = { xoff = \"12pkt\" }", "no limit of their own");
        refused("droppable_queue = \"9pkt\", pfc = { xoff = \"12pkt\" }", "and the other drop");
        refused("pfc = { xoff = \"3GB\" }", "at most 1073741823 bytes");
        refused(
            "pfc = { xoff = \"12pkt\" }, port = [{ layer = \"tor\", data_queue = \"9pkt\" }]",
            "ports that are alike",
        );
        refused(
            "ecn_ramp = { kmin = \"9KB\", kmax = \"9KB\", pmax = \"1%\" }",
            "a kmin below kmax",
        );
        refused(
            "ecn_threshold = \"9pkt\", ecn_ramp = { kmin = \"1KB\", kmax = \"9KB\", pmax = \"1%\" }",
            "beside `ecn_ramp`",
        );
        refused(
            "ecn_count_self = true, ecn_ramp = { kmin = \"1KB\", kmax = \"9KB\", pmax = \"1%\" }",
            "a ramp looks at the queue without the packet",
        );
    }
}
