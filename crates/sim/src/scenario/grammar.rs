//! Every key of a scenario file: one table for checker, errors and JSON Schema.

use super::{cells, output_keys, processing, workload_keys};
use crate::features::{detour, pfc, phantom_queue, shared_buffer};
use crate::keys::form::{
    BYTES, DIRECTION, DURATION, Form, Grammar, Key, LAYER, MAX_HOSTS, QUEUE, RATE, SHARE, computed,
    fixed, optional, required,
};
use crate::keys::quantity::Quantity;

pub(crate) const PROFILES: &[&str] = &trimline_switch::profiles::NAMES;

pub(crate) const PRESETS: &[&str] = &["10G", "25G", "40G", "50G", "100G", "200G", "400G", "800G"];

pub(crate) static SCENARIO: Grammar = Grammar {
    about: "A Trimline scenario.",
    alternatives: &[],
    keys: &[
        computed("name", Form::Name, "the file's name", "Name of the scenario."),
        computed("description", Form::Text, "empty", "What the scenario shows."),
        computed(
            "duration",
            DURATION,
            "until every sized flow has ended; or until no payload has arrived for 30 s (with TCP, DCTCP and MPTCP for four times `rto_max`, if that is longer), no flow is to start and no link is to change: the command then says that it gave up",
            "Simulated time.",
        ),
        fixed("warm_up", DURATION, "0s", "Time at the beginning that throughput does not count."),
        fixed(
            "seeds",
            Form::Either(&[
                Form::Integer(0, i64::MAX),
                Form::Range,
                Form::List(&Form::Integer(0, i64::MAX)),
            ]),
            "1",
            "One run for each: a range \"1..5\" that includes both ends, or a list such as [3]. A bare number is refused unless it is 1: it might be a count.",
        ),
        fixed(
            "engine",
            Form::Word(&["windows", "heap"]),
            "windows",
            "The engine that drives the run: lookahead windows, or the slow heap that it is checked against.",
        ),
        required("topology", Form::Table(&TOPOLOGY), "The network's shape."),
        optional("links", Form::Table(&LINKS), "Rates, delays and framing."),
        processing::HOST_KEY,
        optional("link_event", Form::Tables(&LINK_EVENT), "Links that change during the run."),
        fixed(
            "routing_convergence",
            DURATION,
            "10ms",
            "How long after a link fails or is restored hosts and switches know.",
        ),
        optional("impairment", Form::Table(&IMPAIRMENT), "What links do to packets."),
        optional(
            "fixed_route",
            Form::Tables(&DETOUR),
            "Packets that do not go up and down. With switch.pfc ports may then wait for each other in a circle.",
        ),
        optional("switch", Form::Table(&SWITCH), "What every switch port does."),
        phantom_queue::keys::KEY,
        computed(
            "transport",
            Form::Transports,
            "ndp",
            "The transport of every flow, and its parameters. Several where every workload names its own.",
        ),
        computed(
            "payload",
            BYTES,
            "the payload of each transport",
            "Payload of a full packet with every transport and scheme; set (`--set payload=1460B`) or swept it holds in every series. A payload of a workload goes before it, and one in a table under `transport` of the same or a later layer.",
        ),
        required("workload", Form::Tables(&workload_keys::WORKLOAD), "Who sends what to whom."),
        optional("output", Form::Table(&output_keys::OUTPUT), "What a run writes."),
        optional(
            "sweep",
            Form::Sweep,
            "Keys of the scenario, dotted or nested, each with a list of values or a range { from, to, step }: one run for every combination. In a list of named tables, the name is a key: workload.<name>.size. The values take the place of one beside the sweep. A series or a setting does not give a key that is swept below it another value: it gives `sweep.KEY`. A key of a transport is swept only where every series and scheme has this transport; `payload` is a key of all.",
        ),
        optional("series", Form::Tables(&SERIES), "Variants of the scenario, run side by side."),
        SCHEME_KEY,
        SCHEMES_KEY,
    ],
};

const SCHEME_KEY: Key = optional(
    "scheme",
    Form::Tables(&SCHEME),
    "Schemes: what hosts and switches do together, under one name. Every series runs with each, as SERIES-SCHEME.",
);
const SCHEMES_KEY: Key = computed(
    "schemes",
    Form::List(&Form::Name),
    "all that have a table",
    "The schemes that run, by name: built in, or with a table.",
);

pub(crate) static SCHEMES_FILE: Grammar =
    Grammar { about: "Schemes.", alternatives: &[], keys: &[SCHEME_KEY, SCHEMES_KEY] };

pub(crate) static SCHEME: Grammar = Grammar {
    about: "A scheme takes the place of the scenario's transport, of its switch but for the latency, of its phantom queues and pacers. `payload` of the scenario is kept, and so is a payload that the scenario gives its one transport.",
    alternatives: &[],
    keys: &[
        required("name", Form::Name, "Its name, unique in the scenario."),
        computed(
            "like",
            Form::Word(&super::schemes::NAMES),
            "the built-in scheme of its name, if there is one",
            "The built-in scheme that it begins from; its thresholds fit the links' rate.",
        ),
        computed(
            "transport",
            Form::Transports,
            "the transport of the scheme that it is like",
            "The transport of every flow.",
        ),
        computed(
            "switch",
            Form::Table(&SWITCH),
            "as its transports have it",
            "What every switch port does.",
        ),
        phantom_queue::keys::KEY,
        processing::HOST_KEY,
    ],
};

static SERIES: Grammar = Grammar {
    about: "A variant: its name, and what it overrides. Workloads merge by name.",
    alternatives: &[],
    keys: &[
        required("name", Form::Name, "Name of the series, unique in the scenario."),
        optional("", Form::Overrides, "Any other key of the scenario, except series."),
    ],
};

static TOPOLOGY: Grammar = Grammar {
    about: "Exactly one shape.",
    alternatives: &["fattree", "clos", "leafspine", "star", "back_to_back", "file"],
    keys: &[
        optional("fattree", Form::Table(&FATTREE), "FatTree of switches with k ports."),
        optional("clos", Form::Table(&CLOS), "Three tiers with numbers of their own."),
        optional("leafspine", Form::Table(&LEAFSPINE), "Every leaf connected to every spine."),
        optional("star", Form::Table(&STAR), "One switch."),
        optional("back_to_back", Form::Table(&BACK_TO_BACK), "Two hosts and a cable."),
        optional(
            "file",
            Form::Text,
            "A topology with its links as a file describes it. A relative name begins at the scenario's folder.",
        ),
        computed(
            "format",
            Form::Word(&["htsim", "hpcc"]),
            "htsim for .topo, else hpcc",
            "Form of `file`, and only beside it.",
        ),
    ],
};

static FATTREE: Grammar = Grammar {
    about: "FatTree, by k or by its number of hosts.",
    alternatives: &["k", "hosts"],
    keys: &[
        optional("k", Form::Integer(2, 128), "Ports of a switch: even."),
        optional(
            "hosts",
            Form::Integer(2, MAX_HOSTS),
            "Hosts: k^3/4 with three tiers, k^2/2 with two, times the oversubscription.",
        ),
        fixed("tiers", Form::Integer(2, 3), "3", "Tiers of switches."),
        fixed(
            "oversubscription",
            Form::Integer(1, 64),
            "1",
            "Hosts of a ToR for each of its up-links.",
        ),
    ],
};

static CLOS: Grammar = Grammar {
    about: "Three tiers. Aggregation switch number a of every pod has its up-links to the same cores: group a.",
    alternatives: &[],
    keys: &[
        required("pods", Form::Integer(1, 128), "Pods, each connected once to every core."),
        required("tors_per_pod", Form::Integer(1, 128), "ToR switches of a pod."),
        required("hosts_per_tor", Form::Integer(1, 65_536), "Hosts below each ToR."),
        required(
            "aggregations_per_pod",
            Form::Integer(1, 64),
            "Aggregation switches of a pod, each connected once to every ToR of it.",
        ),
        required(
            "cores_per_aggregation",
            Form::Integer(1, 64),
            "Up-links of an aggregation switch, each to a core.",
        ),
    ],
};

static LEAFSPINE: Grammar = Grammar {
    about: "Two tiers.",
    alternatives: &[],
    keys: &[
        required("leaves", Form::Integer(1, 65_536), "Leaf switches."),
        required("spines", Form::Integer(1, 65_534), "Spine switches."),
        required("hosts_per_leaf", Form::Integer(1, 65_536), "Hosts below each leaf."),
    ],
};

static STAR: Grammar = Grammar {
    about: "One switch.",
    alternatives: &[],
    keys: &[required("hosts", Form::Integer(2, 65_536), "Hosts.")],
};

static BACK_TO_BACK: Grammar =
    Grammar { about: "Two hosts and a cable.", alternatives: &[], keys: &[] };

static LINKS: Grammar = Grammar {
    about: "Rate, propagation delay and framing of every link, and exceptions by tier.",
    alternatives: &[],
    keys: &[
        computed(
            "preset",
            Form::Word(PRESETS),
            "none",
            "Rate of every link, and initial_window \"bdp\", where they are not given.",
        ),
        computed("rate", RATE, "the preset's, or 10Gbps", "Rate of each direction."),
        fixed("delay", DURATION, "1us", "Propagation delay."),
        processing::FRAMING_KEY,
        optional("host", Form::Table(&LINK), "Host to ToR."),
        optional("tor", Form::Table(&LINK), "ToR to aggregation, or leaf to spine."),
        optional("aggregation", Form::Table(&LINK), "Aggregation to core."),
    ],
};

static LINK: Grammar = Grammar {
    about: "The links of one tier.",
    alternatives: &[],
    keys: &[
        computed("rate", RATE, "the rate of all links", "Rate of each direction."),
        computed("delay", DURATION, "the delay of all links", "Propagation delay."),
        processing::FRAMING_KEY,
    ],
};

static LINK_EVENT: Grammar = Grammar {
    about: "One change of one link. At one instant changes come before everything else, in the order of the file.",
    alternatives: &[],
    keys: &[
        computed(
            "name",
            Form::Name,
            "none",
            "A name by which a series or a sweep changes this event.",
        ),
        required("at", DURATION, "When, from the beginning of the run."),
        required(
            "link",
            Form::Text,
            "The link, by the port or host that sends on it: \"aggregation 3 up 2\", \"tor 0 down 1\", \"spine 1 down 0\", \"core 0 down 2\", \"host 7\".",
        ),
        fixed(
            "directions",
            Form::Word(&["both", "one"]),
            "both",
            "Whether the other direction changes too.",
        ),
        required(
            "change",
            Form::Either(&[Form::Word(&["fail", "restore"]), Form::Table(&NEW_RATE)]),
            "\"fail\": what is handed to the link from now on is lost. \"restore\": the link is what it was at the beginning. Or another rate.",
        ),
    ],
};

static NEW_RATE: Grammar = Grammar {
    about: "Another rate, from the next packet on.",
    alternatives: &[],
    keys: &[required("rate", RATE, "Rate of the link.")],
};

static IMPAIRMENT: Grammar = Grammar {
    about: "Loss, corruption and reordering, drawn for each packet on each link.",
    alternatives: &[],
    keys: &[
        fixed("loss", SHARE, "0%", "Share of packets that are lost."),
        fixed(
            "corruption",
            SHARE,
            "0%",
            "Share of packets that the far end of the link throws away.",
        ),
        fixed(
            "reordering",
            DURATION,
            "0s",
            "Each packet is delayed by up to this much, uniformly, and may be overtaken.",
        ),
        computed(
            "links",
            Form::List(&Form::Text),
            "every link",
            "Only these links, both directions, named as in link_event.",
        ),
    ],
};

static DETOUR: Grammar = Grammar {
    about: "What arrives at a switch over one link leaves it by one port, wherever it goes; ideal times know nothing of it.",
    alternatives: &[],
    keys: &[
        required("over", Form::Text, "The link, named as in link_event."),
        required(
            "by",
            Form::Text,
            "The port of the switch to which the link leads, named as in link_event. It leads to another switch.",
        ),
    ],
};

/// Keys of a port's model, between others.
macro_rules! port_keys {
    ($($before:expr,)*; $($behind:expr,)*) => { &[
        $($before,)*
        computed(
            "profile",
            Form::Word(PROFILES),
            "paper; with TCP, MPTCP and HPCC drop-tail; ecn with DCTCP, DCQCN and where TCP has ecn; uec with NSCC; priorities with Homa; p4 with pHost; pfabric with pFabric; source-quench, fastlane and fastlane-pfabric where hosts act on notifications",
            "Whose constants. It also decides the defaults of the transport's pull_spacing and pull_ack.",
        ),
        computed(
            "data_queue",
            QUEUE,
            "the profile's (paper: 8pkt; uec: what the host's link sends in an idle round trip, at least 8pkt)",
            "Capacity of the data queue, the packet on the wire included (ns-2 and ns-3 do not count it); with qos of the queue of each class, with fastlane and fastlane-pfabric of the whole port.",
        ),
        computed(
            "port_limit",
            QUEUE,
            "no limit",
            "What all queues of a port hold together, control packets counted: a packet that would take them beyond does not fit. Profiles with several queues for data only: qos, priorities.",
        ),
        computed(
            "selective_drop",
            BYTES,
            "it is like any other",
            "A data packet with the mark of unscheduled data (`marked` of ndp and homa) that finds more than this many bytes in its queue is dropped, whatever else the profile does (Aeolus, SIGCOMM 2020, which takes 6KB).",
        ),
        computed(
            "header_queue",
            QUEUE,
            "the profile's (paper: the memory of the data queue)",
            "Capacity of the header queue.",
        ),
        computed(
            "wrr",
            Form::Quantity(Quantity::Ratio),
            "the profile's (paper: 10:1)",
            "Headers to data packets of the weighted round robin.",
        ),
        computed(
            "coin",
            Form::Boolean,
            "the profile's",
            "Whether a coin decides between the arriving packet and the tail (NDP 3.1); otherwise the arriving packet is trimmed.",
        )
        .with_source("NDP 3.1"),
        fixed(
            "trim_to",
            Form::Word(&["receiver", "sender", "both"]),
            "receiver",
            "Where a trimmed packet goes, as switches' management interfaces name it: on to its receiver (NDP 3.1), back to its sender, or on to its receiver with a notification to its sender. For the last two the arriving packet is trimmed, without a coin.",
        )
        .with_source("NDP 3.1"),
        computed(
            "return_to_sender",
            Form::Boolean,
            "the profile's",
            "Whether a header that finds its queue full goes back to its sender (NDP 3.2.4); otherwise it is dropped.",
        )
        .with_source("NDP 3.2.4"),
        fixed(
            "last_hop",
            Form::Boolean,
            "false",
            "Whether what these ports trim bears the DSCP of the last hop: for those that lead to hosts, so that a receiver knows what was trimmed before (ndp.core_rate).",
        ),
        computed(
            "notifications",
            Form::Table(&NOTIFICATIONS),
            "what the paper has",
            "What notifications of drops may take of a port. Profiles fastlane and fastlane-pfabric only.",
        ),
        computed(
            "codel",
            Form::Table(&CODEL),
            "none with fastlane",
            "How long packets may wait in the data queue, and what is done about it (CoDel, RFC 8289). Profiles codel, source-quench and fastlane only.",
        )
        .with_source("CoDel, RFC 8289"),
        computed(
            "ecn_threshold",
            Form::Either(&[QUEUE, Form::Word(&["none"])]),
            "the profile's",
            "Occupancy from which the data queue marks, or none: it marks nothing. Profiles ecn and uec only.",
        ),
        computed(
            "ecn_ramp",
            Form::Table(&RAMP),
            "a threshold; with dcqcn alone, the ramp of its paper; with profile uec from a fifth of the queue to four, 100%",
            "A packet is marked with a probability that rises with the occupancy that it finds (RED; DCQCN), or with ecn_mark_at = \"dequeue\" that it leaves behind, in place of ecn_threshold. Profiles ecn and uec only.",
        ),
        computed(
            "ecn_mark_at",
            Form::Word(&["enqueue", "dequeue"]),
            "enqueue, of a threshold or of an ecn_ramp; dequeue with profile uec",
            "When the occupancy is looked at: as a packet arrives, or as it leaves. Profiles ecn and uec only.",
        ),
        computed(
            "ecn_count_self",
            Form::Boolean,
            "false, of a threshold",
            "Whether the packet itself is part of the occupancy. Profiles ecn and uec only.",
        ),
        computed(
            "droppable_queue",
            QUEUE,
            "no such queue; these packets are in the data queue",
            "Capacity of a queue beside the others for packets that may only be dropped (TCP's data), which shares the wire with them under deficit round robin (NDP 3.3).",
        )
        .with_source("NDP 3.3"),
        computed(
            "droppable_ecn_threshold",
            QUEUE,
            "it marks nothing",
            "Occupancy from which that queue marks.",
        ),
        cells::KEY,
        $($behind,)*
    ] };
}

static RAMP: Grammar = Grammar {
    about: "The probability of a mark: 0 up to kmin, pmax at kmax, 1 beyond.",
    alternatives: &[],
    keys: &[
        required("kmin", BYTES, "Occupancy up to which nothing is marked. DCQCN: 5KB at 40 Gb/s."),
        required("kmax", BYTES, "Occupancy beyond which everything is marked. DCQCN: 200KB."),
        required("pmax", SHARE, "Probability of a mark at kmax. DCQCN: 1%."),
    ],
};

static NOTIFICATIONS: Grammar = Grammar {
    about: "What notifications of drops may take of a port (FastLane 3.3).",
    alternatives: &[],
    keys: &[
        fixed(
            "cap",
            SHARE,
            "1%",
            "Of the rate of the link: each waits until the one before has had its time at this rate.",
        )
        .with_source("FastLane 3.3.1"),
        computed(
            "memory",
            BYTES,
            "a fortieth of it",
            "Of the memory of the port, which is `data_queue`.",
        )
        .with_source("FastLane 3.3.2"),
        fixed(
            "work_conserving",
            Form::Boolean,
            "true",
            "Whether they go beyond the cap while nothing else waits.",
        )
        .with_source("FastLane 3.3.1"),
    ],
};

static CODEL: Grammar = Grammar {
    about: "What is done once packets have waited longer than target for interval, and then after interval / sqrt(n) (RFC 8289).",
    alternatives: &[],
    keys: &[
        fixed("target", DURATION, "20us", "A wait that is not too long."),
        fixed("interval", DURATION, "200us", "How long waits must be too long."),
        computed(
            "signal",
            Form::Word(&["mark", "quench"]),
            "mark; quench with source-quench",
            "\"mark\": packets get the mark of congestion. \"quench\": the sender gets a notification (FastLane 2.2.1).",
        ),
    ],
};

static SWITCH: Grammar = Grammar {
    about: "A profile, and what differs from it.",
    alternatives: &[],
    keys: port_keys![
        ;
        shared_buffer::OF_SWITCH_KEY,
        shared_buffer::OF_PORT_KEY,
        shared_buffer::ALPHA_KEY,
        processing::LATENCY_KEY,
        pfc::keys::KEY,
        detour::keys::KEY,
        optional(
            "port",
            Form::Tables(&PORT),
            "Ports that differ from the others. Of two entries for a port the later one holds.",
        ),
    ],
};

static PORT: Grammar = Grammar {
    about: "Some ports, by layer and direction or by link, and keys of `switch` that are others for them. With a profile of its own an entry starts from that profile alone.",
    alternatives: &[],
    keys: port_keys![
        LAYER,
        DIRECTION,
        computed(
            "link",
            Form::Text,
            "all of the layer and direction",
            "One port, named as in link_event: \"tor 0 down 1\".",
        ),
        ;
    ],
};
