//! Every key of a scenario file: one table that the checker, the errors and the JSON Schema read.

use super::{
    cells, deflection, lossless, output_keys, processing, queries, random_matrix, shared_memory,
};
use crate::keys::form::{
    BYTES, DIRECTION, DURATION, Form, Grammar, HOST, Key, LAYER, MAX_HOSTS, QUEUE, RATE, SHARE,
    optional, required,
};
use crate::keys::quantity::Quantity;

/// Names of the switch profiles, as the file writes them.
pub(crate) const PROFILES: &[&str] = &trimline_switch::profiles::NAMES;

/// Rates of hosts' links, as the trade names them.
pub(crate) const PRESETS: &[&str] = &["10G", "25G", "40G", "50G", "100G", "200G", "400G", "800G"];

pub(crate) static SCENARIO: Grammar = Grammar {
    about: "A Trimline scenario.",
    alternatives: &[],
    keys: &[
        optional("name", Form::Name, "Name of the scenario. Default: the file's name."),
        optional("description", Form::Text, "What the scenario shows. Default: empty."),
        optional(
            "duration",
            DURATION,
            "Simulated time. Default: until every sized flow has ended; or until no payload has arrived for 30 s (with TCP, DCTCP and MPTCP for four times `rto_max`, if that is longer), no flow is to start and no link is to change: the command then says that it gave up.",
        ),
        optional(
            "warm_up",
            DURATION,
            "Time at the beginning that throughput does not count. Default: 0.",
        ),
        optional(
            "seeds",
            Form::Either(&[
                Form::Integer(0, i64::MAX),
                Form::Range,
                Form::List(&Form::Integer(0, i64::MAX)),
            ]),
            "One run for each: a range \"1..5\" that includes both ends, or a list such as [3]. A bare number is refused unless it is 1: it might be a count. Default: 1.",
        ),
        optional(
            "engine",
            Form::Word(&["windows", "heap"]),
            "The engine that drives the run: lookahead windows (default), or the slow heap that it is checked against.",
        ),
        required("topology", Form::Table(&TOPOLOGY), "The network's shape."),
        optional("links", Form::Table(&LINKS), "Rates, delays and framing."),
        processing::HOST_KEY,
        optional("link_event", Form::Tables(&LINK_EVENT), "Links that change during the run."),
        optional(
            "routing_convergence",
            DURATION,
            "How long after a link fails or is restored hosts and switches know. Default: 10ms.",
        ),
        optional("impairment", Form::Table(&IMPAIRMENT), "What links do to packets."),
        optional(
            "detour",
            Form::Tables(&DETOUR),
            "Packets that do not go up and down. With switch.pfc ports may then wait for each other in a circle.",
        ),
        optional("switch", Form::Table(&SWITCH), "What every switch port does."),
        super::bumps::PHANTOM_KEY,
        optional(
            "transport",
            Form::Transports,
            "The transport of every flow, and its parameters. Several where every workload names its own. Default: ndp.",
        ),
        optional(
            "payload",
            BYTES,
            "Payload of a full packet with every transport and scheme; set (`--set payload=1460B`) or swept it holds in every series. A payload of a workload goes before it, and one in a table under `transport` of the same or a later layer. Default: that of each transport.",
        ),
        required("workload", Form::Tables(&WORKLOAD), "Who sends what to whom."),
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
const SCHEMES_KEY: Key = optional(
    "schemes",
    Form::List(&Form::Name),
    "The schemes that run, by name: built in, or with a table. Default: all that have a table.",
);

/// A file of schemes.
pub(crate) static SCHEMES_FILE: Grammar =
    Grammar { about: "Schemes.", alternatives: &[], keys: &[SCHEME_KEY, SCHEMES_KEY] };

pub(crate) static SCHEME: Grammar = Grammar {
    about: "A scheme takes the place of the scenario's transport, of its switch but for the latency, of its phantom queues and pacers. `payload` of the scenario is kept, and so is a payload that the scenario gives its one transport.",
    alternatives: &[],
    keys: &[
        required("name", Form::Name, "Its name, unique in the scenario."),
        optional(
            "like",
            Form::Word(&super::schemes::NAMES),
            "The built-in scheme that it begins from; its thresholds fit the links' rate. Default: that of its name, if there is one.",
        ),
        optional(
            "transport",
            Form::Transports,
            "The transport of every flow. Default: that of the scheme that it is like.",
        ),
        optional(
            "switch",
            Form::Table(&SWITCH),
            "What every switch port does. Default: as its transports have it.",
        ),
        super::bumps::PHANTOM_KEY,
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
        optional(
            "format",
            Form::Word(&["htsim", "hpcc"]),
            "Form of `file`, and only beside it. Default: htsim for .topo, else hpcc.",
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
        optional("tiers", Form::Integer(2, 3), "Tiers of switches. Default: 3."),
        optional(
            "oversubscription",
            Form::Integer(1, 64),
            "Hosts of a ToR for each of its up-links. Default: 1.",
        ),
    ],
};

static CLOS: Grammar = Grammar {
    about: "Three tiers. Aggregation switch number a of every pod has its up-links to the same cores, those of group a.",
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
        optional(
            "preset",
            Form::Word(PRESETS),
            "Rate of every link, and initial_window \"bdp\", where they are not given. Default: none.",
        ),
        optional("rate", RATE, "Rate of each direction. Default: the preset's, or 10Gbps."),
        optional("delay", DURATION, "Propagation delay. Default: 1us."),
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
        optional("rate", RATE, "Rate of each direction. Default: that of all links."),
        optional("delay", DURATION, "Propagation delay. Default: that of all links."),
        processing::FRAMING_KEY,
    ],
};

static LINK_EVENT: Grammar = Grammar {
    about: "One change of one link. At one instant changes come before everything else, in the order of the file.",
    alternatives: &[],
    keys: &[
        optional(
            "name",
            Form::Name,
            "A name by which a series or a sweep changes this event. Default: none.",
        ),
        required("at", DURATION, "When, from the beginning of the run."),
        required(
            "link",
            Form::Text,
            "The link, by the port or host that sends on it: \"aggregation 3 up 2\", \"tor 0 down 1\", \"spine 1 down 0\", \"core 0 down 2\", \"host 7\".",
        ),
        optional(
            "directions",
            Form::Word(&["both", "one"]),
            "Whether the other direction changes too. Default: both.",
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
        optional("loss", SHARE, "Share of packets that are lost. Default: 0%."),
        optional(
            "corruption",
            SHARE,
            "Share of packets that the far end of the link throws away. Default: 0%.",
        ),
        optional(
            "reordering",
            DURATION,
            "Each packet is delayed by up to this much, uniformly, and may be overtaken. Default: 0.",
        ),
        optional(
            "links",
            Form::List(&Form::Text),
            "Only these links, both directions, named as in link_event. Default: every link.",
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

/// The keys of a port's model, between others.
macro_rules! port_keys {
    ($($before:expr,)*; $($behind:expr,)*) => { &[
        $($before,)*
        optional(
            "profile",
            Form::Word(PROFILES),
            "Whose constants. It also decides the defaults of the transport's pull_spacing and pull_ack. Default: paper; with TCP and MPTCP drop-tail; ecn with DCTCP, DCQCN and where TCP has ecn; priorities with Homa; p4 with pHost; pfabric with pFabric; source-quench, fastlane and fastlane-pfabric where hosts act on notifications.",
        ),
        optional(
            "data_queue",
            QUEUE,
            "Capacity of the data queue; with qos of the queue of each class, with fastlane and fastlane-pfabric of the whole port. Default: the profile's (paper: 8pkt).",
        ),
        optional(
            "port_limit",
            QUEUE,
            "What all queues of a port hold together, control packets counted: a packet that would take them beyond does not fit. Profiles with several queues for data only: qos, priorities. Default: no limit.",
        ),
        optional(
            "selective_drop",
            BYTES,
            "A data packet with the mark of unscheduled data (`marked` of ndp and homa) that finds more than so many bytes in its queue is dropped, whatever else the profile does (Aeolus, SIGCOMM 2020, which takes 6KB). Default: it is like any other.",
        ),
        optional(
            "header_queue",
            QUEUE,
            "Capacity of the header queue. Default: the profile's (paper: the memory of the data queue).",
        ),
        optional(
            "wrr",
            Form::Quantity(Quantity::Ratio),
            "Headers to data packets of the weighted round robin. Default: the profile's (paper: 10:1).",
        ),
        optional(
            "coin",
            Form::Boolean,
            "Whether a coin decides between the arriving packet and the tail (NDP 3.1); otherwise the arriving packet is trimmed. Default: the profile's.",
        ),
        optional(
            "trim_to",
            Form::Word(&["receiver", "sender", "both"]),
            "Where a trimmed packet goes, as switches' management interfaces name it: on to its receiver (NDP 3.1), back to its sender, or on to its receiver with a notification to its sender. For the last two the arriving packet is trimmed, without a coin. Default: receiver.",
        ),
        optional(
            "return_to_sender",
            Form::Boolean,
            "Whether a header that finds its queue full goes back to its sender (NDP 3.2.4); otherwise it is dropped. Default: the profile's.",
        ),
        optional(
            "last_hop",
            Form::Boolean,
            "Whether what these ports trim bears the DSCP of the last hop: for those that lead to hosts, so that a receiver knows what was trimmed before (ndp.core_rate). Default: false.",
        ),
        optional(
            "notifications",
            Form::Table(&NOTIFICATIONS),
            "What notifications of drops may take of a port. Profiles fastlane and fastlane-pfabric only. Default: what the paper has.",
        ),
        optional(
            "codel",
            Form::Table(&CODEL),
            "How long packets may wait in the data queue, and what is done about it (CoDel, RFC 8289). Profiles codel, source-quench and fastlane only. Default: none with fastlane.",
        ),
        optional(
            "ecn_threshold",
            QUEUE,
            "Occupancy from which the data queue marks. Profile ecn only. Default: the profile's.",
        ),
        optional(
            "ecn_ramp",
            Form::Table(&RAMP),
            "A packet is marked with a probability that rises with the occupancy that it finds (RED; DCQCN), in place of ecn_threshold. Profile ecn only. Default: a threshold; with dcqcn alone, that of its paper.",
        ),
        optional(
            "ecn_mark_at",
            Form::Word(&["enqueue", "dequeue"]),
            "When the occupancy is looked at: as a packet arrives (default), or as it leaves. Profile ecn only.",
        ),
        optional(
            "ecn_count_self",
            Form::Boolean,
            "Whether the packet itself is part of the occupancy. Default: false. Profile ecn only.",
        ),
        optional(
            "droppable_queue",
            QUEUE,
            "Capacity of a queue beside the others for packets that may only be dropped (TCP's data), which shares the wire with them under deficit round robin (NDP 3.3). Default: no such queue; these packets are in the data queue.",
        ),
        optional(
            "droppable_ecn_threshold",
            QUEUE,
            "Occupancy from which that queue marks. Default: it marks nothing.",
        ),
        shared_memory::OF_SWITCH_KEY,
        shared_memory::OF_PORT_KEY,
        shared_memory::ALPHA_KEY,
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
        optional(
            "cap",
            SHARE,
            "Of the rate of the link: each waits until the one before has had its time at this rate. Default: 1% (FastLane 3.3.1).",
        ),
        optional(
            "memory",
            BYTES,
            "Of the memory of the port, which is `data_queue`. Default: a fortieth of it (FastLane 3.3.2).",
        ),
        optional(
            "work_conserving",
            Form::Boolean,
            "Whether they go beyond the cap while nothing else waits. Default: true (FastLane 3.3.1).",
        ),
    ],
};

static CODEL: Grammar = Grammar {
    about: "What is done once packets have waited longer than target for interval, and then after interval / sqrt(n) (RFC 8289).",
    alternatives: &[],
    keys: &[
        optional("target", DURATION, "A wait that is not too long. Default: 20us (chosen)."),
        optional("interval", DURATION, "How long waits must be too long. Default: 200us (chosen)."),
        optional(
            "signal",
            Form::Word(&["mark", "quench"]),
            "\"mark\": packets get the mark of congestion (default with codel and fastlane). \"quench\": the sender gets a notification (default with source-quench; FastLane 2.2.1).",
        ),
    ],
};

static SWITCH: Grammar = Grammar {
    about: "A profile, and what differs from it.",
    alternatives: &[],
    keys: port_keys![
        ;
        processing::LATENCY_KEY,
        lossless::KEY,
        deflection::KEY,
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
        optional("link", Form::Text, "One port, named as in link_event: \"tor 0 down 1\". Default: all of the layer and direction."),
        ;
    ],
};

static WORKLOAD: Grammar = Grammar {
    about: "One group of flows: exactly one of permutation, random, all_to_all, incast, outcast, pairs, partition_aggregate, file.",
    alternatives: &[
        "permutation",
        "random",
        "all_to_all",
        "incast",
        "outcast",
        "pairs",
        "partition_aggregate",
        "file",
    ],
    keys: &[
        required("name", Form::Name, "Unique in the scenario; part of every flow's identity."),
        optional(
            "permutation",
            Form::Table(&PERMUTATION),
            "Every host sends to one other and receives from one other.",
        ),
        optional(
            "random",
            Form::Table(&random_matrix::RANDOM),
            "Every host sends to others drawn at random, or so many flows in all are drawn.",
        ),
        optional("all_to_all", Form::Table(&ALL_TO_ALL), "Every host sends to every other."),
        optional("incast", Form::Table(&INCAST), "Many send to one."),
        optional("outcast", Form::Table(&OUTCAST), "One sends to many."),
        optional("pairs", Form::List(&Form::List(&HOST)), "Exactly these [source, destination]."),
        optional(
            "partition_aggregate",
            Form::Table(&queries::PARTITION_AGGREGATE),
            "Clients ask servers and wait for all answers. The requests are a workload of their own, NAME-requests.",
        ),
        optional(
            "file",
            Form::Text,
            "Flows as a file lists them. A relative name begins at the scenario's folder.",
        ),
        optional(
            "format",
            Form::Word(&["htsim", "hpcc"]),
            "Form of the file: htsim's connection matrix or HPCC's flows. Default: htsim for .cm and .tm, else hpcc.",
        ),
        optional(
            "priorities",
            Form::Boolean,
            "Whether the priorities of a connection matrix (`prio`) order the pulls of a receiver, a lower number first. Default: true.",
        ),
        optional(
            "size",
            Form::Either(&[Form::Word(&["long-lived"]), BYTES, Form::Table(&SIZE)]),
            "Payload of each flow, \"long-lived\", or a distribution. Default: none; it is needed without `file`.",
        ),
        optional(
            "arrivals",
            Form::Table(&ARRIVALS),
            "How flows follow each other. Default: each flow once.",
        ),
        optional(
            "connection",
            Form::Either(&[Form::Word(&["new", "kept"]), Form::Table(&POOL)]),
            "\"new\" (default): a connection for each flow. \"kept\": one for all flows of the workload from one host to another, as messages one after another; it keeps its window and what else it has learned. Each waits until the one before was acknowledged, and this counts in its completion time. A table: several such connections, of which a flow takes an idle one.",
        ),
        optional("start", DURATION, "When the flows start. Default: 0."),
        optional(
            "start_jitter",
            DURATION,
            "Each flow starts up to this much later, uniformly. Default: 0.",
        ),
        optional(
            "class",
            Form::Integer(0, 3),
            "Priority class of the flows: 0 (default) to 3, the highest. NDP's and pHost's receivers pull a higher class first. Switches with profile qos send it first: all data bears its flow's class, and ACKs of TCP and DCQCN do; those of NDP and pHost, PULLs and tokens have class 0.",
        ),
        optional(
            "spraying",
            Form::Word(&["sender-permuted", "per-flow", "per-pair", "switch-random"]),
            "Who chooses the paths: the sender by random permutations (default of NDP, cbr and pHost, NDP 3.1.1); a hash of the flow, or of each subflow, which keeps its path (default of TCP, DCTCP, MPTCP and DCQCN); a hash of source and destination, so that all flows of the workload from one host to another have the same path, with subflows the same paths, and their ACKs too (the authors' programs for DCTCP and DCQCN in NDP's Figure 15); or every switch at random for every packet.",
        ),
        optional(
            "payload",
            BYTES,
            "Payload of a full packet of its flows. Queues that are given in packets hold whole packets of the largest payload of the scenario. Default: that of its transport.",
        ),
        optional(
            "transport",
            Form::Transport,
            "Which of the tables under `transport` its flows use. Default: the only one; it is needed where there are several.",
        ),
    ],
};

static POOL: Grammar = Grammar {
    about: "A pool of connections from each host to each that it sends to. They are opened by their first messages and stay open; window, alpha and round-trip times outlive a message (TCP's restart_after_idle says what a pause changes). A flow takes one of those that are idle, drawn at random. With partition_aggregate the answer comes back on the connection of its request, which is idle again when the answer is there (HULL 6.2).",
    alternatives: &[],
    keys: &[
        required(
            "each",
            Form::Integer(1, 1024),
            "Connections from one host to another. HULL 6.2: 16.",
        ),
        optional(
            "when_busy",
            Form::Word(&["wait", "least-busy"]),
            "What a flow does that finds none idle. \"wait\" (default): it takes the first one that becomes idle, so that none is idle while a flow waits. \"least-busy\": it waits for the one behind which the fewest wait, and stays there. Both count in its completion time.",
        ),
    ],
};

static SIZE: Grammar = Grammar {
    about: "A distribution of flow sizes: built in, of a file, or by its parameters.",
    alternatives: &["distribution", "file", "pareto", "mixture"],
    keys: &[
        optional(
            "distribution",
            Form::Word(&crate::distributions::NAMES),
            "A built-in distribution; `trimline formats` lists them with their sources.",
        ),
        optional("file", Form::Text, crate::distributions::FILE),
        optional(
            "format",
            Form::Word(&crate::distributions::FORMATS),
            crate::distributions::FORMAT,
        ),
        optional("packet", BYTES, crate::distributions::PACKETS),
        optional(
            "interpolation",
            Form::Word(&["step", "linear"]),
            "Only the sizes of the distribution (step), or all between them (linear). Default: as its authors draw it, linear with hpcc and dcpim, step with homa and percentiles.",
        ),
        optional(
            "pareto",
            Form::Table(&PARETO),
            "A Pareto distribution: the share of flows larger than x is (least/x)^shape.",
        ),
        optional(
            "mixture",
            Form::List(&Form::Table(&PART)),
            "Some sizes, each drawn as often as its weight over the sum of all.",
        ),
    ],
};

static PARETO: Grammar = Grammar {
    about: "Sizes by shape and mean; the least size follows. With a shape near 1 most bytes are in flows that few runs draw: a run reports the load that it realised.",
    alternatives: &[],
    keys: &[
        required(
            "shape",
            Form::Quantity(Quantity::Factor),
            "Above 1, for the mean is infinite otherwise. HULL 6.3: \"1.05\".",
        ),
        required("mean", BYTES, "Mean size. HULL 6.3: 100KB."),
        optional(
            "most",
            BYTES,
            "A larger size is drawn again; the mean is kept. Default: no bound but that of the transport, 2^31-1 packets: a larger size becomes that.",
        ),
    ],
};

static PART: Grammar = Grammar {
    about: "One size of a mixture.",
    alternatives: &[],
    keys: &[
        required("size", BYTES, "Payload of the flow."),
        optional("weight", Form::Integer(0, u32::MAX as i64), "Default: 1."),
    ],
};

static ARRIVALS: Grammar = Grammar {
    about: "How the flows of a pair follow each other; with random, of a connection whose destination is drawn for each flow. An incast or a query is one arrival.",
    alternatives: &["poisson", "periodic", "closed_loop"],
    keys: &[
        optional("poisson", Form::Table(&POISSON), "An open loop with exponential gaps."),
        optional("periodic", Form::Table(&PERIODIC), "An open loop with equal gaps."),
        optional(
            "closed_loop",
            Form::Table(&CLOSED_LOOP),
            "The next flow when the last ACK of the one before has arrived and a gap has passed; the next query when all answers are there.",
        ),
    ],
};

static POISSON: Grammar = Grammar {
    about: "By load or by mean gap.",
    alternatives: &["load", "every"],
    keys: &[
        optional(
            "load",
            Form::Either(&[SHARE, Form::Table(&LOAD)]),
            "Payload over the rate of each source's link; with incast of the receiver's, with a receiver drawn of all that may receive; with partition_aggregate the answers over the client's. A table: over the rate of other links, with random, permutation and all_to_all.",
        ),
        optional(
            "every",
            DURATION,
            "Mean gap between the arrivals of one source, or of the incasts.",
        ),
        optional("until", DURATION, "No arrival at this time or later. Default: `duration`."),
    ],
};

static LOAD: Grammar = Grammar {
    about: "Payload that crosses these links on average, over their rate. Destinations are drawn from all other hosts, so flows cross the links above a ToR switch if they leave the rack, and those to the core if they leave the pod.",
    alternatives: &[],
    keys: &[
        required(
            "of",
            Form::Word(&["hosts", "uplinks", "core", "bottleneck"]),
            "\"hosts\": links of hosts, as without a table. \"uplinks\": from the ToR switches upwards. \"core\": from the aggregation switches to the core. \"bottleneck\": those of the three that fill first.",
        ),
        required("value", SHARE, "Payload over their rate."),
    ],
};

static PERIODIC: Grammar = Grammar {
    about: "Equal gaps.",
    alternatives: &[],
    keys: &[
        required("every", DURATION, "From one arrival to the next."),
        optional("until", DURATION, "No arrival at this time or later. Default: `duration`."),
    ],
};

static CLOSED_LOOP: Grammar = Grammar {
    about: "The gap between the end of a flow and the next.",
    alternatives: &["gap", "mean_gap", "median_gap"],
    keys: &[
        optional("gap", DURATION, "Always this."),
        optional("mean_gap", DURATION, "Exponential, by its mean."),
        optional("median_gap", DURATION, "Exponential, by its median."),
        optional(
            "count",
            Form::Integer(1, u32::MAX as i64),
            "Flows of each connection, or queries of each client. Default: until the end of the run.",
        ),
    ],
};

static PERMUTATION: Grammar =
    Grammar { about: "A random derangement of the hosts.", alternatives: &[], keys: &[] };

static ALL_TO_ALL: Grammar =
    Grammar { about: "Every pair of hosts, both ways.", alternatives: &[], keys: &[] };

static OUTCAST: Grammar = Grammar {
    about: "Receivers chosen among the other hosts.",
    alternatives: &[],
    keys: &[
        required("sender", HOST, "The sending host."),
        required("receivers", Form::Integer(1, MAX_HOSTS), "How many receive."),
        optional(
            "choose",
            Form::Word(&["random", "last"]),
            "Which hosts receive: drawn at random (default), or those with the highest numbers.",
        ),
    ],
};

static INCAST: Grammar = Grammar {
    about: "Senders chosen among the other hosts.",
    alternatives: &[],
    keys: &[
        required(
            "receiver",
            Form::Either(&[HOST, Form::Word(&["random"]), Form::List(&HOST)]),
            "The receiving host; \"random\": drawn for each incast; or several hosts, of which one is drawn and none sends.",
        ),
        optional(
            "each",
            Form::Word(&["incast", "sender"]),
            "Of several receivers one is drawn for each incast (default), or for each sender.",
        ),
        required("senders", Form::Integer(1, MAX_HOSTS), "How many send."),
        optional(
            "excluding",
            Form::List(&HOST),
            "Hosts that are never drawn, beside the receiver. Default: none.",
        ),
        optional(
            "choose",
            Form::Word(&["random", "last"]),
            "Which hosts send: drawn at random (default), or those with the highest numbers, the farthest from host 0.",
        ),
    ],
};
