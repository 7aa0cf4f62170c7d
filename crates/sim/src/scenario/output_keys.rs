//! Keys of the output of a run.

use crate::features::timeline;
use crate::keys::form::{DURATION, Form, Grammar, HOST, computed, fixed, required};

pub(super) static OUTPUT: Grammar = Grammar {
    about: "Files of a run beside summary.json and manifest.json.",
    alternatives: &[],
    keys: &[
        fixed("flows", Form::Boolean, "true", "flows.csv: one row a flow."),
        fixed("ports", Form::Boolean, "false", "ports.csv: one row a switch port."),
        fixed(
            "links",
            Form::Boolean,
            "false",
            "links.csv: one row a link, hosts' included: packets that it did not bring, by cause.",
        ),
        computed(
            "series",
            Form::Either(&[DURATION, Form::Table(&SERIES_OUTPUT)]),
            "none",
            "series.csv: utilisation and queues of each layer of ports, sampled this often. A table chooses flows and ports beside the layers.",
        ),
        fixed(
            "fct",
            Form::Boolean,
            "false",
            "fct.txt: a line for each flow that ended, in the form of HPCC's simulations.",
        ),
        fixed(
            "latencies",
            Form::Boolean,
            "false",
            "latencies.csv: quantiles of the time from a packet's first sending until its ACK arrived. NDP only.",
        ),
        timeline::keys::KEY,
    ],
};

static SERIES_OUTPUT: Grammar = Grammar {
    about: "What is sampled, and how often: series.csv, and what is chosen one by one.",
    alternatives: &[],
    keys: &[
        required("every", DURATION, "The time between two samples."),
        computed(
            "flows",
            Form::List(&Form::List(&HOST)),
            "none",
            "flow_series.csv: flows by their [source, destination].",
        ),
        computed(
            "ports",
            Form::List(&Form::Text),
            "none",
            "port_series.csv: switch ports, named as in link_event: \"tor 0 down 0\".",
        ),
        computed(
            "pods",
            Form::List(&Form::Integer(0, 65_535)),
            "none",
            "Pods whose layers have rows of their own in series.csv, beside the rows of all pods: \"pod 0 tor down\".",
        ),
    ],
};
