//! Keys of what a run writes.

use crate::keys::form::{DURATION, Form, Grammar, HOST, optional, required};

pub(super) static OUTPUT: Grammar = Grammar {
    about: "Files of a run beside summary.json and manifest.json.",
    alternatives: &[],
    keys: &[
        optional("flows", Form::Boolean, "flows.csv: one row a flow. Default: true."),
        optional("ports", Form::Boolean, "ports.csv: one row a switch port. Default: false."),
        optional(
            "links",
            Form::Boolean,
            "links.csv: one row a link, hosts' included: packets that it did not bring, by cause. Default: false.",
        ),
        optional(
            "series",
            Form::Either(&[DURATION, Form::Table(&SERIES_OUTPUT)]),
            "series.csv: utilisation and queues of each layer of ports, sampled this often. A table chooses flows and ports beside the layers. Default: none.",
        ),
        optional(
            "fct",
            Form::Boolean,
            "fct.txt: a line for each flow that ended, in the form of HPCC's simulations. Default: false.",
        ),
        optional(
            "latencies",
            Form::Boolean,
            "latencies.csv: quantiles of the time from a packet's first sending until its ACK arrived. NDP only. Default: false.",
        ),
        optional(
            "timeline",
            Form::Table(&TIMELINE),
            "timeline.csv: one row for each thing that happens at some places or to some flows. The run is then driven by the slow engine, heap, whatever `engine` says.",
        ),
    ],
};

static SERIES_OUTPUT: Grammar = Grammar {
    about: "What is sampled, and how often: series.csv, and what is chosen one by one.",
    alternatives: &[],
    keys: &[
        required("every", DURATION, "The time between two samples."),
        optional(
            "flows",
            Form::List(&Form::List(&HOST)),
            "flow_series.csv: flows by their [source, destination]. Default: none.",
        ),
        optional(
            "ports",
            Form::List(&Form::Text),
            "port_series.csv: switch ports, named as in link_event: \"tor 0 down 0\". Default: none.",
        ),
        optional(
            "pods",
            Form::List(&Form::Integer(0, 65_535)),
            "Pods whose layers have rows of their own in series.csv, beside those of all pods: \"pod 0 tor down\". Default: none.",
        ),
    ],
};

static TIMELINE: Grammar = Grammar {
    about: "What is recorded: everything at these places, and everything that happens to these flows anywhere.",
    alternatives: &[],
    keys: &[
        optional(
            "places",
            Form::List(&Form::Text),
            "Ports and hosts, named as in link_event: \"tor 0 down 0\", \"host 7\". Default: none.",
        ),
        optional(
            "flows",
            Form::List(&Form::List(&HOST)),
            "Flows by their [source, destination], with their ACKs, NACKs and PULLs. Default: none.",
        ),
        optional("from", DURATION, "Nothing earlier. Default: 0."),
        optional("to", DURATION, "Nothing at this time or later. Default: the end of the run."),
    ],
};
