//! Models of switch ports: a profile, the scenario's changes to it, and rules for single ports.

use trimline_packet::{BitRate, Packet, TimeDelta};
use trimline_switch::model::{MarkAt, Unit};
use trimline_switch::profiles::{self, Profile, Sizes};
use trimline_switch::{
    Action, Cap, Choices, Classifier, Demands, DrrModel, Limit, Marker, QueueChoices, Scheduler,
    ServiceModel, Signal,
};
use trimline_transport::Framing;

use super::links::Links;
use crate::features::pfc::keys as pfc;
use crate::features::shared_buffer;
use crate::keys::error::ScenarioError;
use crate::keys::links::selected;
use crate::keys::port::Keys;
use crate::keys::quantity::{self, Quantity, QueueSize};
use crate::keys::read::read;
use crate::keys::tree::Node;
use crate::plan::{Base, Lossless, PortRule, SharedMemory};
use crate::topology::Clos;

/// NDP 6.1: DCTCP marks at 30 packets.
pub(super) const ECN_MARK: u32 = 30;

pub(super) struct Ports {
    pub(super) switch: ServiceModel,
    pub(super) base: Base,
    pub(super) droppable: Option<ServiceModel>,
    pub(super) rules: Vec<PortRule>,
    pub(super) memory: SharedMemory,
    pub(super) lossless: Option<Lossless>,
}

#[derive(Clone, Copy)]
struct Context<'a> {
    root: &'a Node,
    topology: &'a Clos,
    payload_bytes: u16,
    framing: Framing,
    links: &'a Links,
    /// The default marker of queues.
    marker: Option<Marker>,
}

impl Context<'_> {
    fn packet_bytes(&self) -> u16 {
        self.framing.wire_bytes(self.payload_bytes)
    }
}

/// Reads the service models, and the memory that ports share.
pub(super) fn ports(
    root: &Node,
    (profile, marker): (&str, Option<Marker>),
    topology: &Clos,
    (payload_bytes, framing): (u16, Framing),
    links: &Links,
) -> Result<Ports, ScenarioError> {
    let context = Context { root, topology, payload_bytes, framing, links, marker };
    let switch = root.child("switch");
    let profile = named(profile, switch.unwrap_or(root))?;
    let keys = Keys { rule: None, switch, profile };
    let (main, shared) = main_model(&keys, context)?;
    let droppable = droppable(&keys, context)?;
    let nodes = switch.and_then(|switch| switch.child("port")).and_then(Node::list);
    let rule = |node| rule(node, keys, context);
    let rules = nodes.unwrap_or(&[]).iter().map(rule).collect::<Result<_, _>>()?;
    let (memory, lossless) = match shared {
        Shared::Memory(memory) => (memory, None),
        Shared::Inputs(lossless) => (SharedMemory::None, Some(lossless)),
    };
    let base = base_of(profile, context)?;
    let ports = Ports { switch: main, base, droppable, rules, memory, lossless };
    check_demands(&ports, &keys)?;
    Ok(ports)
}

/// Returns an unchanged profile.
fn base_of(profile: &'static Profile, context: Context<'_>) -> Result<Base, ScenarioError> {
    let choices = sized(&Keys { rule: None, switch: None, profile }, context)?;
    let model = choices.build().map_err(|error| {
        ScenarioError::new(&context.root.place, error.to_string(), "another profile")
    })?;
    Ok(Base { name: profile.name, model })
}

fn named(name: &str, node: &Node) -> Result<&'static Profile, ScenarioError> {
    profiles::named(name).ok_or_else(|| {
        let expected = format!("one of {}", profiles::NAMES.join(", "));
        ScenarioError::new(&node.place, format!("there is no profile \"{name}\""), expected)
    })
}

/// Reads the ports and the model of a rule. It starts from its own profile, otherwise from `switch`.
fn rule(node: &Node, base: Keys<'_>, context: Context<'_>) -> Result<PortRule, ScenarioError> {
    let keys = match node.child("profile").and_then(Node::text) {
        Some(own) => Keys { rule: Some(node), switch: None, profile: named(own, node)? },
        None => Keys { rule: Some(node), ..base },
    };
    let (main, _) = main_model(&keys, context)?;
    if main.shares_memory() != (shares(&base) && pfc::table(&base).is_none()) {
        return Err(ScenarioError::new(
            &node.place,
            format!("profile \"{}\" beside ports that share memory", keys.profile.name),
            "a rule without a profile of its own: the ports of a switch agree on what they share",
        ));
    }
    let model = DrrModel { main, droppable: droppable(&keys, context)? };
    let base = base_of(keys.profile, context)?;
    Ok(PortRule { ports: selected(node, context.topology)?, model, base })
}

fn shares(keys: &Keys<'_>) -> bool {
    shared_buffer::KEYS.iter().any(|key| keys.get(key).is_some())
}

/// Returns the queues of a port, without the queue for droppable packets, and shared memory.
fn main_model(
    keys: &Keys<'_>,
    context: Context<'_>,
) -> Result<(ServiceModel, Shared), ScenarioError> {
    check_sizes(keys, context)?;
    let mut choices = sized(keys, context)?;
    let of_classes = choices.classifier == Classifier::Class;
    if choices.classifier == Classifier::HeaderAndData {
        ndp_queues(keys, context, &mut choices)?;
    } else {
        let why = match choices.classifier {
            Classifier::Class => "which has a queue for each class",
            Classifier::Priority => "which has a queue for each priority",
            Classifier::Notifications => "whose queues are for notifications and for all else",
            Classifier::Single | Classifier::HeaderAndData => "which has one queue",
        };
        let expected = "a profile with a header queue: paper, htsim, csg-htsim, netfpga, p4, uec";
        let names = ["header_queue", "wrr", "coin", "return_to_sender", "trim_to", "last_hop"];
        refuse(keys, &names, why, expected)?;
    }
    if of_classes {
        let names = ["droppable_queue", "droppable_ecn_threshold"];
        let why = "whose queues are for packets that may be dropped";
        refuse(
            keys,
            &names,
            why,
            "the queues of the classes alone; `data_queue` is the size of each",
        )?;
    }
    admission(keys, context, &mut choices)?;
    let own = choices.queues.last().map_or(Marker::None, |queue| queue.marker);
    if keys.profile.marks {
        choices.queues[0].marker = marker(keys, context.marker, MarkAt::Enqueue)?;
    } else if let Marker::Ramp { at, .. } = own {
        choices.queues.last_mut().expect("a port has queues").marker = marker(keys, Some(own), at)?;
    } else {
        let names = ["ecn_threshold", "ecn_ramp", "ecn_mark_at", "ecn_count_self"];
        refuse(keys, &names, "which does not mark", "profile \"ecn\" or \"uec\"")?;
    }
    match keys.profile.name {
        "codel" | "source-quench" | "fastlane" => codel(keys, &mut choices)?,
        _ => refuse(
            keys,
            &["codel"],
            "which does not look at waits",
            "profile \"codel\", \"source-quench\" or \"fastlane\"",
        )?,
    }
    if choices.classifier != Classifier::Notifications {
        let expected = "profile \"fastlane\" or \"fastlane-pfabric\"";
        refuse(keys, &["notifications"], "which tells of no drops", expected)?;
    }
    let (packet_bytes, topology) = (context.packet_bytes(), context.topology);
    let shared = match pfc::inputs(
        keys,
        topology,
        packet_bytes,
        (&context.links.events, context.links.impairment.reordering),
        &mut choices,
    )? {
        Some(lossless) => Shared::Inputs(lossless),
        None => Shared::Memory(shared_buffer::share(keys, topology, packet_bytes, &mut choices)?),
    };
    Ok((built(keys, context, &choices)?, shared))
}

fn refuse(keys: &Keys<'_>, names: &[&str], why: &str, expected: &str) -> Result<(), ScenarioError> {
    let given = names.iter().find_map(|name| Some((name, keys.get(name)?)));
    let Some((name, node)) = given else { return Ok(()) };
    let what = format!("`{name}` with profile \"{}\", {why}", keys.profile.name);
    Err(ScenarioError::new(&node.place, what, expected))
}

fn built(
    keys: &Keys<'_>,
    context: Context<'_>,
    choices: &Choices,
) -> Result<ServiceModel, ScenarioError> {
    let mut choices = choices.clone();
    super::cells::cells(keys, context.packet_bytes(), &mut choices)?;
    choices.build().map_err(|error| {
        let node = keys.rule.or(keys.switch).unwrap_or(context.root);
        ScenarioError::new(&node.place, error.to_string(), "a switch that can send")
    })
}

fn check_sizes(keys: &Keys<'_>, context: Context<'_>) -> Result<(), ScenarioError> {
    let names = [
        "data_queue",
        "port_limit",
        "header_queue",
        "ecn_threshold",
        "droppable_queue",
        "droppable_ecn_threshold",
    ];
    for name in names.into_iter().filter(|name| *name != "ecn_threshold" || !marks_nothing(keys)) {
        // The switch counts in 32 bits.
        let bytes = match keys.size(name)? {
            Some(QueueSize::Bytes(bytes)) => bytes,
            Some(QueueSize::Packets(packets)) => {
                u64::from(packets) * u64::from(context.packet_bytes())
            }
            None => 0,
        };
        if let Some(node) = keys.get(name).filter(|_| bytes > u64::from(u32::MAX / 4)) {
            let max = format!("at most {} bytes", u32::MAX / 4);
            return Err(ScenarioError::new(&node.place, format!("a queue of {bytes} bytes"), max));
        }
    }
    Ok(())
}

fn sized(keys: &Keys<'_>, context: Context<'_>) -> Result<Choices, ScenarioError> {
    let (payload_bytes, packet_bytes) = (context.payload_bytes, context.packet_bytes());
    let profile = keys.profile;
    let data = keys.size("data_queue")?;
    let packets = match data {
        Some(QueueSize::Packets(packets)) => packets,
        // The header queue follows the memory of the data queue.
        Some(QueueSize::Bytes(bytes)) => (bytes / u64::from(payload_bytes)).max(1) as u32,
        None => profile.packets.unwrap_or_else(|| bandwidth_delay_packets(context)),
    };
    let (mark, line) = (ECN_MARK, slowest(context.topology));
    let mut choices = (profile.build)(Sizes { packets, payload_bytes, packet_bytes, mark, line });
    if choices.classifier == Classifier::Notifications {
        return shared_out(keys, context, choices, data);
    }
    // NDP's queues: 0 for headers, 1 for data. Other queues are for both.
    let is_ndp = choices.classifier == Classifier::HeaderAndData;
    for queue in choices.queues.iter_mut().skip(usize::from(is_ndp)) {
        match data {
            Some(QueueSize::Bytes(bytes)) => {
                let bytes = bytes as u32;
                queue.whole = Limit::bytes(bytes);
                if !is_ndp {
                    let trims = queue.overflow.contains(&Action::TrimArriving);
                    let trimmed = QueueChoices::cut_payload(bytes).header;
                    queue.header = if trims { trimmed } else { queue.whole };
                }
            }
            Some(QueueSize::Packets(packets)) if !profile.is_sized => {
                queue.whole = Limit::packets(packets);
            }
            Some(QueueSize::Packets(_)) | None => {}
        }
        let at = keys.get("data_queue").or_else(|| keys.get("profile"));
        holds_a_packet("data", queue.whole, at.unwrap_or(context.root), packet_bytes)?;
    }
    Ok(choices)
}

/// The min queue of profile uec in packets (chosen: NDP's).
const MIN_PACKETS: u64 = 8;

/// Returns the full packets that a host's link sends in an idle round trip between the farthest hosts (uet-htsim: a
/// queue has a bandwidth-delay product), at least [`MIN_PACKETS`].
fn bandwidth_delay_packets(context: Context<'_>) -> u32 {
    let round_trip = context.topology.idle_round_trip(context.payload_bytes, context.framing);
    let bytes = context.topology.host_link.rate.bytes_in(round_trip).get();
    let packets = bytes.div_ceil(u64::from(context.packet_bytes()).max(1));
    // The switch counts in 32 bits.
    packets.clamp(MIN_PACKETS, 8_000) as u32
}

fn rates(topology: &Clos) -> impl Iterator<Item = BitRate> {
    let Clos { host_link, tor_link, aggregation_link, .. } = topology;
    let links = [host_link.rate, tor_link.rate, aggregation_link.rate];
    links.into_iter().take(topology.tiers.clamp(1, 3).into())
}

fn slowest(topology: &Clos) -> BitRate {
    rates(topology).min().expect("a network has links")
}

/// Sizes the queues of a port with notifications: `data_queue` is all of its memory (FastLane 3.3.2).
fn shared_out(
    keys: &Keys<'_>,
    context: Context<'_>,
    mut choices: Choices,
    data: Option<QueueSize>,
) -> Result<Choices, ScenarioError> {
    let at = keys.get("data_queue").or_else(|| keys.get("profile")).unwrap_or(context.root);
    let bounds = keys.get("notifications");
    let key = |name: &str| bounds.and_then(|bounds| bounds.child(name));
    let [notified, rest] = &mut choices.queues[..] else {
        panic!("notifications have one queue, and all else another")
    };
    let bytes = match data {
        Some(QueueSize::Bytes(bytes)) => bytes as u32,
        Some(QueueSize::Packets(_)) | None => notified.whole.bytes + rest.whole.bytes,
    };
    let mut part = profiles::notification_bytes(bytes);
    if let Some(node) = key("memory") {
        let memory = read(node, quantity::bytes, Quantity::Bytes)?.get();
        let min = u64::from(Packet::HEADER_BYTES);
        if !(min..u64::from(bytes)).contains(&memory) {
            return Err(ScenarioError::new(
                &node.place,
                format!("{memory} B for notifications of a port of {bytes} B"),
                format!("{min} B at least, the size of one, and less than the port has"),
            ));
        }
        part = memory as u32;
    }
    let limits = [part, bytes.saturating_sub(part)].map(Limit::bytes);
    (notified.whole, notified.header, rest.whole, rest.header) =
        (limits[0], limits[0], limits[1], limits[1]);
    holds_a_packet("data", rest.whole, at, context.packet_bytes())?;
    let line = slowest(context.topology);
    if rates(context.topology).any(|rate| rate != line) {
        return Err(ScenarioError::new(
            &at.place,
            "a cap on a part of links of several rates",
            "links of one rate, with a profile that tells senders of drops",
        ));
    }
    if let Some(node) = key("cap") {
        let share = read(node, quantity::share, Quantity::Share)?;
        let bps = u128::from(line.as_bps()) * u128::from(share) / 1_000_000_000;
        if bps == 0 {
            return Err(ScenarioError::new(
                &node.place,
                "a cap that lets nothing through",
                "a share of the link, such as \"1%\"",
            ));
        }
        let is_work_conserving = true;
        let rate = BitRate::from_bps(bps as u64);
        choices.scheduler = Scheduler::RateLimited(Cap { rate, is_work_conserving });
    }
    if let (Scheduler::RateLimited(cap), Some(is_on)) =
        (&mut choices.scheduler, key("work_conserving").and_then(Node::boolean))
    {
        cap.is_work_conserving = is_on;
    }
    Ok(choices)
}

fn codel(keys: &Keys<'_>, choices: &mut Choices) -> Result<(), ScenarioError> {
    let Some(node) = keys.get("codel") else { return Ok(()) };
    let data = choices.queues.last_mut().expect("a port has queues");
    let time = |key: &str, default: TimeDelta| {
        node.child(key).map_or(Ok(default), crate::keys::read::positive)
    };
    let default = match data.marker {
        Marker::CoDel { signal, .. } => signal,
        Marker::None | Marker::Threshold { .. } | Marker::Ramp { .. } => Signal::Mark,
    };
    let signal = match node.child("signal").and_then(Node::text) {
        Some("quench") => Signal::Quench,
        Some("mark") => Signal::Mark,
        Some(_) | None => default,
    };
    data.marker = Marker::CoDel {
        target: time("target", profiles::CODEL_TARGET)?,
        interval: time("interval", profiles::CODEL_INTERVAL)?,
        signal,
    };
    Ok(())
}

/// Refuses settings that contradict ports with a clock or priorities.
fn check_demands(ports: &Ports, keys: &Keys<'_>) -> Result<(), ScenarioError> {
    let demanding = |model: &ServiceModel| model.demands() != Demands::default();
    let rules = || ports.rules.iter().map(|rule| &rule.model.main);
    if !demanding(&ports.switch) && !rules().any(demanding) {
        return Ok(());
    }
    let beside = ["port", "droppable_queue", "pfc", "detour", "buffer_cell"];
    let given = beside.iter().find_map(|name| Some((name, keys.switch?.child(name)?)));
    match given {
        None => Ok(()),
        Some((name, node)) => Err(ScenarioError::new(
            &node.place,
            format!("`{name}` beside ports that tell of drops, look at waits or at urgencies"),
            "ports that are all alike, with nothing beside them: the profile alone",
        )),
    }
}

fn holds_a_packet(
    name: &str,
    limit: Limit,
    node: &Node,
    packet_bytes: u16,
) -> Result<(), ScenarioError> {
    if limit.bytes >= u32::from(packet_bytes) {
        return Ok(());
    }
    Err(ScenarioError::new(
        &node.place,
        format!("the {name} queue holds {} B, but a packet has {packet_bytes} B", limit.bytes),
        format!("room for at least one packet, such as \"{packet_bytes}B\" or \"8pkt\""),
    ))
}

/// Applies limits besides the queues' own.
fn admission(
    keys: &Keys<'_>,
    context: Context<'_>,
    choices: &mut Choices,
) -> Result<(), ScenarioError> {
    if let (Some(node), Some(size)) = (keys.get("port_limit"), keys.size("port_limit")?) {
        match choices.classifier {
            Classifier::Class | Classifier::Priority => {}
            Classifier::Single | Classifier::HeaderAndData | Classifier::Notifications => {
                let why = "which has one queue for data";
                let expected = "a profile with several queues for data: qos, priorities";
                refuse(keys, &["port_limit"], why, expected)?;
            }
        }
        choices.port = match size {
            QueueSize::Packets(packets) => Limit::packets(packets),
            QueueSize::Bytes(bytes) => Limit::bytes(bytes as u32),
        };
        holds_a_packet("port's", choices.port, node, context.packet_bytes())?;
    }
    let first = usize::from(choices.classifier == Classifier::HeaderAndData);
    for queue in &mut choices.queues[first..] {
        queue.selective_drop = selective_drop(keys, context, queue.whole)?;
    }
    Ok(())
}

/// Reads the bytes above which unscheduled packets are dropped.
fn selective_drop(
    keys: &Keys<'_>,
    context: Context<'_>,
    queue: Limit,
) -> Result<Option<u32>, ScenarioError> {
    let Some(node) = keys.get("selective_drop") else { return Ok(None) };
    let above = read(node, quantity::bytes, Quantity::Bytes)?.get();
    let packets = u64::from(queue.packets) * u64::from(context.packet_bytes());
    let max = packets.min(queue.bytes.into());
    match u32::try_from(above).ok().filter(|_| above < max) {
        Some(above) => Ok(Some(above)),
        None => Err(ScenarioError::new(
            &node.place,
            format!("unscheduled packets dropped beyond {above} B of a queue that holds {max} B"),
            "less than the queue holds, such as \"6KB\"",
        )),
    }
}

fn ndp_queues(
    keys: &Keys<'_>,
    context: Context<'_>,
    choices: &mut Choices,
) -> Result<(), ScenarioError> {
    if keys.get("header_queue").is_some() {
        let limit = match keys.size("header_queue")? {
            Some(QueueSize::Bytes(bytes)) => Limit::bytes(bytes as u32),
            Some(QueueSize::Packets(packets)) => Limit::packets(packets),
            None => choices.queues[0].header,
        };
        (choices.queues[0].whole, choices.queues[0].header) = (limit, limit);
    }
    // A header queue too small for one header would lose every ACK. By default it has the memory of several payloads.
    let (holds, header) = (choices.queues[0].whole.bytes, context.framing.min);
    if holds < u32::from(header) {
        let place = keys.get("header_queue").unwrap_or(context.root);
        return Err(ScenarioError::new(
            &place.place,
            format!("the header queue holds {holds} B, and a header has {header} B"),
            format!("a `header_queue` of at least \"{header}B\" or \"1pkt\""),
        ));
    }
    if let Some(node) = keys.get("wrr") {
        let headers = read(node, quantity::ratio, Quantity::Ratio)?;
        choices.scheduler =
            Scheduler::WeightedRoundRobin { weights: [headers, 1, 0, 0, 0, 0, 0, 0] };
    }
    if let Some(node) = keys.get("coin") {
        let action =
            if node.boolean() == Some(true) { Action::TrimRandom } else { Action::TrimArriving };
        choices.queues[1].overflow = vec![action];
    }
    if let Some(node) = keys.get("trim_to")
        && let Some(action) = trim_to(node.text())
    {
        if let Some(coin) = keys.get("coin").filter(|coin| coin.boolean() == Some(true)) {
            return Err(ScenarioError::new(
                &coin.place,
                "`coin` where a trimmed header goes to the sender: only the arriving packet is trimmed",
                "`coin = false`, or `trim_to = \"receiver\"`",
            ));
        }
        choices.queues[1].overflow = vec![action];
    }
    if let Some(node) = keys.get("return_to_sender") {
        let action = if node.boolean() == Some(true) { Action::Return } else { Action::Drop };
        choices.queues[0].overflow = vec![action];
    }
    choices.is_last_hop = keys.get("last_hop").and_then(Node::boolean) == Some(true);
    Ok(())
}

/// Returns the destination of trimmed packets; `None`: their receivers.
fn trim_to(word: Option<&str>) -> Option<Action> {
    match word {
        Some("sender") => Some(Action::TrimToSender),
        Some("both") => Some(Action::TrimToBoth),
        Some(_) | None => None,
    }
}

enum Shared {
    Memory(SharedMemory),
    Inputs(Lossless),
}

const OF_THRESHOLD: [&str; 3] = ["ecn_threshold", "ecn_mark_at", "ecn_count_self"];

/// Reads the marker of a queue. Without keys it is `default`, otherwise a threshold; `at` is the default time.
fn marker(keys: &Keys<'_>, default: Option<Marker>, at: MarkAt) -> Result<Marker, ScenarioError> {
    let at = mark_at(keys, at);
    if let Some(ramp) = keys.get("ecn_ramp") {
        return ramp_of(keys, ramp, at);
    }
    if marks_nothing(keys) {
        return match OF_THRESHOLD[1..].iter().find_map(|name| Some((name, keys.get(name)?))) {
            None => Ok(Marker::None),
            Some((name, node)) => Err(ScenarioError::new(
                &node.place,
                format!("`{name}` beside a queue that marks nothing"),
                "a queue size as `ecn_threshold`, or that key alone",
            )),
        };
    }
    let says_nothing = OF_THRESHOLD.iter().all(|name| keys.get(name).is_none());
    if let Some(marker) = default.filter(|_| says_nothing) {
        return Ok(marker);
    }
    let (unit, above) = threshold(keys.size("ecn_threshold")?, ECN_MARK);
    let count_self = keys.get("ecn_count_self").and_then(Node::boolean) == Some(true);
    Ok(Marker::Threshold { unit, above, count_self, at })
}

fn marks_nothing(keys: &Keys<'_>) -> bool {
    keys.get("ecn_threshold").and_then(Node::text) == Some("none")
}

fn mark_at(keys: &Keys<'_>, default: MarkAt) -> MarkAt {
    match keys.get("ecn_mark_at").and_then(Node::text) {
        Some("dequeue") => MarkAt::Dequeue,
        Some("enqueue") => MarkAt::Enqueue,
        Some(_) | None => default,
    }
}

fn ramp_of(keys: &Keys<'_>, ramp: &Node, at: MarkAt) -> Result<Marker, ScenarioError> {
    let contradicts = ["ecn_threshold", "ecn_count_self"];
    if let Some((name, node)) = contradicts.iter().find_map(|name| Some((name, keys.get(name)?))) {
        return Err(ScenarioError::new(
            &node.place,
            format!("`{name}` beside `ecn_ramp`"),
            "one of the two: a ramp looks at the queue without the packet",
        ));
    }
    let bytes = |key: &str| {
        let node = ramp.child(key).unwrap_or(ramp);
        let bytes = read(node, quantity::bytes, Quantity::Bytes)?.get();
        u32::try_from(bytes).ok().filter(|&bytes| bytes <= u32::MAX / 4).ok_or_else(|| {
            let max = format!("at most {} bytes", u32::MAX / 4);
            ScenarioError::new(&node.place, format!("a queue of {bytes} bytes"), max)
        })
    };
    let (kmin, kmax) = (bytes("kmin")?, bytes("kmax")?);
    let node = ramp.child("pmax").unwrap_or(ramp);
    let share = read(node, quantity::share, Quantity::Share)?;
    if kmin >= kmax {
        return Err(ScenarioError::new(
            &ramp.place,
            format!("a ramp from {kmin} B to {kmax} B"),
            "a kmin below kmax",
        ));
    }
    // A fraction of 2^32.
    let pmax = (share << 32) / 1_000_000_000;
    let pmax = u32::try_from(pmax).unwrap_or(u32::MAX);
    Ok(Marker::Ramp { kmin, kmax, pmax, at })
}

fn threshold(size: Option<QueueSize>, packets: u32) -> (Unit, u32) {
    match size {
        Some(QueueSize::Bytes(bytes)) => (Unit::Bytes, bytes as u32),
        Some(QueueSize::Packets(packets)) => (Unit::Packets, packets),
        None => (Unit::Packets, packets),
    }
}

/// Returns the queue for droppable packets, if given.
fn droppable(keys: &Keys<'_>, context: Context<'_>) -> Result<Option<ServiceModel>, ScenarioError> {
    let mark = keys.size("droppable_ecn_threshold")?;
    let Some(node) = keys.get("droppable_queue") else {
        return match keys.get("droppable_ecn_threshold") {
            Some(node) => Err(ScenarioError::new(
                &node.place,
                "`droppable_ecn_threshold` without a queue that could mark",
                "`droppable_queue` beside it, such as \"100pkt\"",
            )),
            None => Ok(None),
        };
    };
    let limit = match read(node, quantity::queue, Quantity::Queue)? {
        QueueSize::Packets(packets) => Limit::packets(packets),
        QueueSize::Bytes(bytes) => Limit::bytes(bytes as u32),
    };
    holds_a_packet("droppable", limit, node, context.packet_bytes())?;
    let mut queue = QueueChoices::new(limit);
    queue.selective_drop = selective_drop(keys, context, limit)?;
    if mark.is_some() {
        let (unit, above) = threshold(mark, 0);
        let (count_self, at) = (false, MarkAt::Enqueue);
        queue = queue.marker(Marker::Threshold { unit, above, count_self, at });
    }
    let choices = Choices { queues: vec![queue], ..Choices::drop_tail(1) };
    built(keys, context, &choices).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;
    use crate::scenario::Scenario;

    fn plan(keys: &str) -> Result<Plan, String> {
        let text = format!(
            "topology.fattree.k = 4\n{keys}\n\
             [[workload]]\nname = \"w\"\npermutation = {{}}\nsize = \"9KB\"\n"
        );
        let scenario = Scenario::parse("s.toml", &text, &[]).map_err(|error| error.to_string())?;
        Ok(scenario.runs[0].plan.clone())
    }

    #[test]
    fn a_droppable_queue_drops_or_marks() {
        let plain = plan("switch.droppable_queue = \"100pkt\"").unwrap();
        assert_eq!(plain.droppable, Some(ServiceModel::drop_tail(100)));
        assert_eq!(plain.switch, ServiceModel::paper(8, 9000));
        let marks =
            plan("switch = { droppable_queue = \"100pkt\", droppable_ecn_threshold = \"20pkt\" }");
        assert_eq!(marks.unwrap().droppable, Some(ServiceModel::ecn(100, 20)));
        assert_eq!(plan("").unwrap().droppable, None);
        let alone = plan("switch.droppable_ecn_threshold = \"20pkt\"").unwrap_err();
        assert!(alone.contains("`droppable_queue` beside it"), "{alone}");
        let small = plan("switch.droppable_queue = \"9KB\"").unwrap_err();
        assert!(small.contains("droppable queue holds 9000 B"), "{small}");
    }

    #[test]
    fn a_port_has_a_limit_and_drops_selectively() {
        let model = |keys: &str| plan(&format!("switch = {{ {keys} }}"));
        let mut choices = Choices::priorities(200, 9064);
        choices.port = Limit::packets(64);
        for queue in &mut choices.queues {
            queue.selective_drop = Some(6000);
        }
        let keys = "profile = \"priorities\", port_limit = \"64pkt\", selective_drop = \"6KB\"";
        assert_eq!(model(keys).unwrap().switch, choices.build().unwrap());
        let mut paper = Choices::paper(8, 9000);
        paper.queues[1].selective_drop = Some(0);
        let found = model("selective_drop = \"0B\"").unwrap().switch;
        assert_eq!(found, paper.build().unwrap());
        for (keys, why) in [
            ("port_limit = \"64pkt\"", "which has one queue for data"),
            ("profile = \"priorities\", port_limit = \"9KB\"", "the port's queue holds 9000 B"),
            ("selective_drop = \"72512B\"", "of a queue that holds 72512 B"),
            ("selective_drop = \"5GB\"", "beyond 5000000000 B"),
        ] {
            let error = model(keys).unwrap_err();
            assert!(error.contains(why) && error.contains("s.toml:2:"), "{error}");
        }
    }

    #[test]
    fn each_class_has_a_queue_of_the_given_size() {
        let model = |keys: &str| plan(&format!("switch = {{ profile = \"qos\", {keys} }}"));
        let switch = |keys| model(keys).unwrap().switch;
        assert_eq!(switch("data_queue = \"10pkt\""), ServiceModel::qos(10));
        assert_eq!(model("latency = \"0s\"").unwrap().switch, ServiceModel::qos(200));
        let mut choices = Choices::qos(1);
        for queue in &mut choices.queues {
            (queue.whole, queue.header) = (Limit::bytes(15_000), Limit::bytes(15_000));
        }
        assert_eq!(switch("data_queue = \"15KB\""), choices.build().unwrap());
        let refused = |keys| model(keys).unwrap_err();
        let header = refused("header_queue = \"9KB\"");
        assert!(
            header
                .contains("`header_queue` with profile \"qos\", which has a queue for each class"),
            "{header}"
        );
        let beside = refused("droppable_queue = \"9pkt\"");
        assert!(beside.contains("`data_queue` is the size of each"), "{beside}");
        assert!(refused("ecn_threshold = \"9pkt\"").contains("which does not mark"));
        assert!(refused("data_queue = \"9KB\"").contains("data queue holds 9000 B"));
        let misspelt = plan("switch.profile = \"qoss\"").unwrap_err();
        assert!(misspelt.contains("nearest: \"qos\""), "{misspelt}");
    }

    #[test]
    fn port_rules_overlay_the_switch_for_their_ports() {
        let plan = plan(
            "switch.data_queue = \"12pkt\"\n\
             [[switch.port]]\nlayer = \"tor\"\ndirection = \"down\"\nwrr = \"20:1\"\n\
             [[switch.port]]\nlink = \"core 3 down 1\"\nprofile = \"drop-tail\"\n",
        )
        .unwrap();
        let [down, core] = &plan.port_rules[..] else { panic!("{:?}", plan.port_rules) };
        assert_eq!((down.ports.len(), core.ports.len()), (16, 1));
        let mut choices = Choices::paper(12, 9000);
        choices.scheduler = Scheduler::WeightedRoundRobin { weights: [20, 1, 0, 0, 0, 0, 0, 0] };
        assert_eq!(down.model.main, choices.build().unwrap());
        assert_eq!(core.model.main, ServiceModel::drop_tail(200), "its profile's own size");
    }

    #[test]
    fn port_rules_without_effect_are_refused() {
        let refused = |rule: &str| plan(&format!("[[switch.port]]\n{rule}")).unwrap_err();
        assert!(refused("wrr = \"20:1\"").contains("no port of this network is meant"));
        assert!(refused("layer = \"spine\"").contains("no port of this network is meant"));
        assert!(refused("link = \"tor 0 down 9\"").contains("no link is named"));
        assert!(refused("link = \"host 3\"").contains("a host has no queues"));
        assert!(refused("link = \"tor 0 up 0\"\nlayer = \"tor\"").contains("beside a link"));
        // All ports of a switch share the same memory.
        let shared = refused("layer = \"tor\"\nshared_buffer = \"1MB\"");
        assert!(shared.contains("unknown key `shared_buffer`"), "{shared}");
        let other = plan(
            "switch = { profile = \"drop-tail\", shared_buffer = \"1MB\", \
             port = [{ layer = \"tor\", profile = \"ecn\" }] }",
        );
        assert!(other.unwrap_err().contains("agree on what they share"));
    }

    #[test]
    fn ports_that_mark_nothing_are_declared() {
        for (profile, mut choices) in
            [("ecn", Choices::ecn(43, 20)), ("uec", Choices::uec(43, 9064))]
        {
            choices.queues.last_mut().expect("a queue").marker = Marker::None;
            let keys = format!(
                "profile = \"{profile}\", data_queue = \"43pkt\", ecn_threshold = \"none\""
            );
            let found = plan(&format!("switch = {{ {keys} }}")).unwrap().switch;
            assert_eq!(found, choices.build().unwrap(), "{profile}");
        }
        let both =
            "switch = { profile = \"ecn\", ecn_threshold = \"none\", ecn_mark_at = \"dequeue\" }";
        assert!(plan(both).unwrap_err().contains("beside a queue that marks nothing"));
    }
}
