//! Keys of a workload: senders, receivers, sizes and times.

use super::{queries, random_matrix};
use crate::keys::form::{
    BYTES, DURATION, Form, Grammar, HOST, MAX_HOSTS, SHARE, computed, fixed, optional, required,
};
use crate::keys::quantity::Quantity;

pub(super) static WORKLOAD: Grammar = Grammar {
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
            "Each host sends to others drawn at random, or `total` flows are drawn in all.",
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
        computed(
            "format",
            Form::Word(&["htsim", "hpcc"]),
            "htsim for .cm and .tm, else hpcc",
            "Form of the file: htsim's connection matrix or HPCC's flows.",
        ),
        fixed(
            "priorities",
            Form::Boolean,
            "true",
            "Whether the priorities of a connection matrix (`prio`) order the pulls of a receiver, a lower number first.",
        ),
        computed(
            "size",
            Form::Either(&[Form::Word(&["long-lived"]), BYTES, Form::Table(&SIZE)]),
            "none; it is needed without `file`",
            "Payload of each flow, \"long-lived\", or a distribution.",
        ),
        computed(
            "arrivals",
            Form::Table(&ARRIVALS),
            "each flow once",
            "How flows follow each other.",
        ),
        fixed(
            "connection",
            Form::Either(&[Form::Word(&["new", "persistent"]), Form::Table(&POOL)]),
            "new",
            "\"new\": a connection for each flow. \"persistent\": one for all flows of the workload from one host to another, as messages one after another; it keeps its window and its estimates. Each message waits until the one before was acknowledged, and the wait counts in its completion time. A table: several such connections; a flow takes an idle one.",
        ),
        fixed("start", DURATION, "0s", "When the flows start."),
        fixed("start_jitter", DURATION, "0s", "Each flow starts up to this much later, uniformly."),
        fixed(
            "class",
            Form::Integer(0, 3),
            "0",
            "Priority class of the flows: 0 to 3, the highest. NDP's and pHost's receivers pull a higher class first. Switches with profile qos send it first: all data has its flow's class, and so have ACKs of TCP and DCQCN; ACKs of NDP and pHost, PULLs and tokens have class 0.",
        ),
        computed(
            "spraying",
            Form::Word(&["sender-permuted", "per-flow", "per-pair", "switch-random"]),
            "per-flow with tcp, dctcp, mptcp and dcqcn, else sender-permuted",
            "Who chooses the paths: the sender by random permutations (NDP 3.1.1); a hash of the flow, or of each subflow, which keeps its path; a hash of source and destination, so that all flows of the workload from one host to another have the same path, with subflows the same paths, and their ACKs too (the authors' programs for DCTCP and DCQCN in NDP's Figure 15); or every switch at random for every packet.",
        )
        .with_source("NDP 3.1.1"),
        computed(
            "payload",
            BYTES,
            "the payload of its transport",
            "Payload of a full packet of its flows. Queues that are given in packets hold whole packets of the largest payload of the scenario.",
        ),
        computed(
            "transport",
            Form::Transport,
            "the only one; it is needed where there are several",
            "Which of the tables under `transport` its flows use.",
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
        fixed(
            "when_busy",
            Form::Word(&["wait", "least-busy"]),
            "wait",
            "What a flow does that finds none idle. \"wait\": it takes the first one that becomes idle, so that none is idle while a flow waits. \"least-busy\": it waits for the one behind which the fewest wait, and stays there. Both count in its completion time.",
        ),
    ],
};

static SIZE: Grammar = Grammar {
    about: "A distribution of flow sizes: built in, of a file, or by its parameters.",
    alternatives: &["distribution", "file", "pareto", "mixture"],
    keys: &[
        crate::distributions::BUILT_IN_KEY,
        crate::distributions::FILE_KEY,
        crate::distributions::FORMAT_KEY,
        crate::distributions::PACKET_KEY,
        computed(
            "interpolation",
            Form::Word(&["step", "linear"]),
            "as its authors draw it, linear with hpcc and dcpim, step with homa and percentiles",
            "Only the sizes of the distribution (step), or all between them (linear).",
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
        computed(
            "max",
            BYTES,
            "the limit of the transport, 2^31-1 packets: a larger size becomes this limit",
            "A larger size is drawn again; the mean is kept.",
        ),
    ],
};

static PART: Grammar = Grammar {
    about: "One size of a mixture.",
    alternatives: &[],
    keys: &[
        required("size", BYTES, "Payload of the flow."),
        fixed("weight", Form::Integer(0, u32::MAX as i64), "1", ""),
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
        computed("until", DURATION, "`duration`", "No arrival at this time or later."),
    ],
};

static LOAD: Grammar = Grammar {
    about: "Payload that crosses these links on average, over their rate. Destinations are drawn from all other hosts, so flows cross the links above a ToR switch if they leave the rack, and those to the core if they leave the pod.",
    alternatives: &[],
    keys: &[
        required(
            "of",
            Form::Word(&["hosts", "uplinks", "core", "bottleneck"]),
            "\"hosts\": links of hosts, as without a table. \"uplinks\": from the ToR switches upwards. \"core\": from the aggregation switches to the core. \"bottleneck\": the links of these three that fill first.",
        ),
        required("value", SHARE, "Payload over their rate."),
    ],
};

static PERIODIC: Grammar = Grammar {
    about: "Equal gaps.",
    alternatives: &[],
    keys: &[
        required("every", DURATION, "From one arrival to the next."),
        computed("until", DURATION, "`duration`", "No arrival at this time or later."),
    ],
};

static CLOSED_LOOP: Grammar = Grammar {
    about: "The gap between the end of a flow and the next.",
    alternatives: &["gap", "mean_gap", "median_gap"],
    keys: &[
        optional("gap", DURATION, "Always this."),
        optional("mean_gap", DURATION, "Exponential, by its mean."),
        optional("median_gap", DURATION, "Exponential, by its median."),
        computed(
            "count",
            Form::Integer(1, u32::MAX as i64),
            "until the end of the run",
            "Flows of each connection, or queries of each client.",
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
        fixed(
            "choose",
            Form::Word(&["random", "last"]),
            "random",
            "Which hosts receive: drawn at random, or those with the highest numbers.",
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
            "The receiving host; \"random\": drawn for each incast; or several hosts: one is drawn, and none of the list sends.",
        ),
        fixed(
            "each",
            Form::Word(&["incast", "sender"]),
            "incast",
            "Of several receivers one is drawn for each incast, or for each sender.",
        ),
        required("senders", Form::Integer(1, MAX_HOSTS), "How many send."),
        computed(
            "excluding",
            Form::List(&HOST),
            "none",
            "Hosts that are never drawn, beside the receiver.",
        ),
        fixed(
            "choose",
            Form::Word(&["random", "last"]),
            "random",
            "Which hosts send: drawn at random, or those with the highest numbers, the farthest from host 0.",
        ),
    ],
};
