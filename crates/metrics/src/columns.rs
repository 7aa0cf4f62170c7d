//! Column descriptions of a run's files. A test compares the names with the files.

/// A column of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name of the column.
    pub name: &'static str,
    /// Unit, empty for names and words.
    pub unit: &'static str,
    /// Meaning.
    pub about: &'static str,
}

/// A file of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileColumns {
    /// Name of the file.
    pub file: &'static str,
    /// Key of `output` that requests the file.
    pub key: &'static str,
    /// Meaning of a row.
    pub row: &'static str,
    /// Columns in file order.
    pub columns: &'static [Column],
}

const fn column(name: &'static str, unit: &'static str, about: &'static str) -> Column {
    Column { name, unit, about }
}

const fn packets(name: &'static str, about: &'static str) -> Column {
    column(name, "packets", about)
}

const TIME: &str = "ps";

/// Every table of a run.
pub const FILES: [FileColumns; 11] = [
    FileColumns { file: "flows.csv", key: "flows", row: "a flow", columns: &FLOWS },
    FileColumns {
        file: "ports.csv",
        key: "ports",
        row: "an output port of a switch, with its link",
        columns: &PORTS,
    },
    FileColumns {
        file: "links.csv",
        key: "links",
        row: "one direction of a link, first the links of ports, then the links of hosts",
        columns: &LINKS,
    },
    FileColumns {
        file: "pauses.csv",
        key: "ports",
        row: "one direction of a link, as links.csv; only with `switch.pfc`",
        columns: &PAUSES,
    },
    FileColumns {
        file: "paths.csv",
        key: "ports",
        row: "data packets that reached their hosts, by workload, size class, links and detours; only with `switch.detour`",
        columns: &PATHS,
    },
    FileColumns {
        file: "hosts.csv",
        key: "ports",
        row: "a host; only with `host.fifo`, `host.cpu`, `host.pacer` or a phantom queue on the link of a host",
        columns: &HOSTS,
    },
    FileColumns {
        file: "series.csv",
        key: "series",
        row: "a layer of links at one time: ports of switches by layer and direction, and hosts",
        columns: &SERIES,
    },
    FileColumns {
        file: "flow_series.csv",
        key: "series.flows",
        row: "a chosen flow at one time, while it is under way; columns of its transport stand behind these",
        columns: &FLOW_SERIES,
    },
    FileColumns {
        file: "port_series.csv",
        key: "series.ports",
        row: "a chosen port at one time",
        columns: &PORT_SERIES,
    },
    FileColumns {
        file: "latencies.csv",
        key: "latencies",
        row: "a quantile of the times from a packet's first sending until its ACK arrived",
        columns: &LATENCIES,
    },
    FileColumns {
        file: "timeline.csv",
        key: "timeline",
        row: "an event, in the order of time",
        columns: &TIMELINE,
    },
];

const FLOWS: [Column; 23] = [
    column("workload", "", "name of the workload"),
    column("index", "", "number among the flows of its source and workload, from 0"),
    column(
        "id",
        "",
        "its number in a file of flows (`id` in htsim's .cm); empty where no file gave one",
    ),
    column("source", "host", "sends"),
    column("destination", "host", "receives"),
    column("size_bytes", "bytes", "payload; empty for a long-lived flow"),
    column("start_ps", TIME, "when the application started it, from the beginning of the run"),
    column(
        "host_wait_ps",
        TIME,
        "from the start until its first packet began to leave its host; empty if none did",
    ),
    column(
        "fct_receiver_ps",
        TIME,
        "from the start until the last byte arrived; empty if none did",
    ),
    column("fct_sender_ps", TIME, "from the start until the last ACK arrived; empty if none did"),
    column(
        "ideal_fct_ps",
        TIME,
        "the minimum time until the last byte can arrive on idle links, over all paths and orders of packets; too short by at most one full packet on the slowest link where links between switches are slower than links of hosts, or a ToR has a single up-link and there are several paths",
    ),
    column("ideal_fct_sender_ps", TIME, "the same until the last ACK can arrive"),
    column("slowdown", "", "fct_receiver_ps over ideal_fct_ps"),
    column("delivered_bytes", "bytes", "payload that arrived, each byte once"),
    column("measured_bytes", "bytes", "the same, after the warm-up"),
    packets("packets_sent", "data packets sent, again or not"),
    packets("retransmissions_signalled", "sent again because the receiver told of a loss"),
    packets("retransmissions_return", "sent again because the header came back"),
    packets("retransmissions_timeout", "sent again because of a time-out"),
    packets("trims", "trimmed headers that arrived at the receiver"),
    packets("returns", "headers that came back to the sender"),
    column("timeouts", "", "time-outs of the sender"),
    column("end", "", "completed (acknowledged), delivered, run-ended, long-lived or not-started"),
];

const COUNTED: [Column; 9] = [
    packets("packets", "began to leave"),
    column("bytes", "bytes", "of these on the wire"),
    packets("trimmed", "lost their payload at the port"),
    packets("dropped", "found no place and are gone, headers included"),
    packets("dropped_headers", "trimmed packets among those dropped"),
    packets("returned", "headers that were sent back to their senders"),
    packets(
        "notified",
        "found no place or met congestion, and their senders were told; not among those dropped",
    ),
    packets("marked", "got a mark of congestion (ECN) and had none before"),
    packets("detoured", "were for this port and left by another (`switch.detour`)"),
];

const RATE: Column = column("rate_bps", "bit/s", "rate of the link at the beginning");

const PORTS: [Column; 11] = {
    let [a, b, c, d, e, f, g, h, i] = COUNTED;
    [column("name", "", "layer, switch, direction, link"), a, b, c, d, e, f, g, h, i, RATE]
};

const LINKS: [Column; 5] = [
    column("name", "", "the port or host that sends on it"),
    packets("failed", "lost because the link was down"),
    packets("lost", "lost by chance (`impairment.loss`)"),
    packets("corrupted", "damaged and thrown away at the far end (`impairment.corruption`)"),
    RATE,
];

const PAUSES: [Column; 4] = [
    column("name", "", "the port or host that sends on it"),
    column("sent", "frames", "pause frames that this end sent to the other"),
    column("received", "frames", "pause frames that it received from there"),
    column("stopped_ps", TIME, "how long any of its classes was stopped"),
];

const PATHS: [Column; 5] = [
    column("workload", "", "name of the workload"),
    column(
        "up_to_bytes",
        "bytes",
        "upper bound of the size class: its flows have up to this payload and more than half of it; empty without an end, and where connections are persistent",
    ),
    column("links", "links", "from host to host"),
    column("detours", "", "times that a switch detoured the packet"),
    packets("packets", "that went so, retransmissions included"),
];

const HOSTS: [Column; 19] = [
    column("host", "", "its number"),
    packets("sent", "given up by the transport"),
    column("bursts", "", "handed to the NIC at once (large send offload)"),
    packets("queue_dropped", "found the NIC's queue full"),
    column("sending_ps", TIME, "processor time for bursts"),
    column("frames", "frames", "found a place in the ring of the NIC"),
    column("ring_dropped", "frames", "found it full"),
    column("interrupts", "", "of the NIC"),
    column("taken", "", "times that a processor took frames, several of a flow as one"),
    column("receiving_ps", TIME, "processor time for what arrived"),
    packets("passed", "that the pacer let pass"),
    packets("paced", "that it queued"),
    packets("pacer_dropped", "found its FIFO full"),
    column("associated", "", "times that a flow became one that is paced"),
    column("refused", "", "times that one should have and the table was full"),
    packets("marked", "that the phantom queue of its link marked (ECN)"),
    packets("measured_sent", "as `sent`, after the warm-up"),
    column("measured_sending_ps", TIME, "as `sending_ps`, after the warm-up"),
    column("measured_receiving_ps", TIME, "as `receiving_ps`, after the warm-up"),
];

const SERIES: [Column; 16] = {
    let [a, b, c, d, e, f, g, h, i] = COUNTED;
    [
        column("time_ps", TIME, "of the sample, from the beginning of the run"),
        column(
            "layer",
            "",
            "layer and direction, of one pod (`pod 3 tor up`, `pod 3 core down` to it) or of all; `host up` are the links that hosts send on",
        ),
        column(
            "utilisation",
            "share",
            "bytes since the sample before over what the links carry at their rates of the beginning",
        ),
        column(
            "stopped",
            "share",
            "of the time since the sample before in which pauses stopped any class, mean over the layer",
        ),
        a,
        b,
        c,
        d,
        e,
        f,
        g,
        h,
        i,
        column(
            "queue_bytes_mean",
            "bytes",
            "in the queues of a port now, mean over the layer; of hosts: payload of flows of a size that they have \
             not sent once",
        ),
        column("queue_bytes_max", "bytes", "the same, at the port or host with the most"),
        column(
            "data_queue_bytes_mean",
            "bytes",
            "as queue_bytes_mean, in queues that whole data packets enter; the rest are headers and control packets. Of hosts 0",
        ),
    ]
};

const FLOW_SERIES: [Column; 12] = [
    column("time_ps", TIME, "of the row, from the beginning of the run"),
    column("workload", "", "of the flow, as in flows.csv; so are the next three"),
    column("index", "", "of the flow"),
    column("source", "host", "sends"),
    column("destination", "host", "receives"),
    column("rate_bps", "bit/s", "payload that arrived since the row before, over the time since"),
    packets("packets_sent", "data packets sent since the row before, again or not"),
    packets("retransmissions", "of these sent again, whatever the cause"),
    packets("trims", "trimmed headers that arrived at the receiver since the row before"),
    packets("returns", "headers that came back to the sender since the row before"),
    column("timeouts", "", "time-outs of the sender since the row before"),
    column("delivered_bytes", "bytes", "payload that arrived since the row before, each byte once"),
];

const PORT_SERIES: [Column; 14] = {
    let [a, b, c, d, e, f, g, h, i] = COUNTED;
    [
        column("time_ps", TIME, "of the row, from the beginning of the run"),
        column("name", "", "layer, switch, direction, link"),
        column(
            "utilisation",
            "share",
            "bytes since the row before over what the link carries at its rate of the beginning",
        ),
        column(
            "stopped",
            "share",
            "of the time since the row before in which pauses stopped any class",
        ),
        a,
        b,
        c,
        d,
        e,
        f,
        g,
        h,
        i,
        column("queue_bytes", "bytes", "in all its queues now, the packet on the wire included"),
    ]
};

const LATENCIES: [Column; 3] = [
    column("packets", "", "all, or later: behind the first window of their flows"),
    column("share_permille", "permille", "share of packets that took at most this long"),
    column("latency_ps", TIME, "the time"),
];

const TIMELINE: [Column; 15] = [
    column("time_ps", TIME, "when, from the beginning of the run"),
    column("until_ps", TIME, "of departures: when the last bit has left"),
    column("place", "", "port or host"),
    column("event", "", "what happened; see below"),
    column("packet", "", "its kind from now on; see below"),
    column("workload", "", "of the flow, as in flows.csv; so are the next three"),
    column("index", "", "of the flow"),
    column("source", "host", "of the flow, whichever way the packet goes"),
    column("destination", "host", "of the flow"),
    column("sequence", "", "packet number in the flow; of a PULL the pull counter"),
    column(
        "attempt",
        "",
        "which transmission of this packet number, from 0, modulo 4 (NDP, pFabric); 1 if it was resent (Homa); else 0",
    ),
    column("path", "", "the path that the sender chose"),
    column("wire_bytes", "bytes", "on the wire from now on"),
    packets(
        "queue_packets",
        "in the queue for such packets, after all that the port did at this instant",
    ),
    column("queue_bytes", "bytes", "the same"),
];

/// Events of a timeline: name and meaning.
pub const EVENTS: [(&str, &str); 10] = [
    ("enqueue", "it arrived at a port and waits there"),
    ("trim", "it lost its payload; what is left waits at the port"),
    (
        "mark",
        "the port, or the phantom queue of a port or host, marked it (ECN); it had no mark before",
    ),
    ("depart", "its first bit is on the link of a port or host; `until_ps` is its last"),
    ("arrive", "its last bit arrived at a host"),
    ("return", "it found no place at a port; its header goes back to its sender"),
    ("notify", "it found no place at a port or met congestion; a notification goes to its sender"),
    ("drop", "it found no place at a port and is gone"),
    ("detour", "it was for this port and leaves by another (`switch.detour`)"),
    ("lose", "the link did not bring it: down, chance or damage (links.csv counts by cause)"),
];

/// Kinds of packets of a timeline: name and meaning.
pub const PACKETS: [(&str, &str); 18] = [
    ("data", "data, whole"),
    ("header", "data without its payload: a trimmed packet"),
    ("returned", "a header on its way back to its sender (NDP)"),
    ("notification", "tells a sender of a drop (FastLane) or of congestion (Source Quench)"),
    ("ack", "ACK"),
    ("nack", "NACK (NDP, DCQCN)"),
    ("pull", "PULL (NDP)"),
    ("reset", "the connection is not known"),
    ("pause", "a frame of priority flow control, of no flow"),
    ("syn", "SYN without data (TCP, DCTCP, MPTCP)"),
    ("syn-ack", "the answer to a SYN"),
    (
        "probe",
        "asks whether packets arrive: on its way there and back (pFabric), or behind unscheduled data (Homa with Aeolus)",
    ),
    ("rts", "request to send (pHost)"),
    ("token", "allows one packet (pHost)"),
    ("grant", "allows packets of a message (Homa)"),
    ("resend", "asks for packets that are missing (Homa)"),
    ("busy", "says that another message goes first (Homa)"),
    ("cnp", "congestion notification packet (DCQCN)"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::{PacketKind, TIMELINE_COLUMNS, What};
    use crate::{samples, series, table};

    #[test]
    fn every_csv_file_has_the_documented_columns() {
        let written: [Vec<&str>; 11] = [
            table::FLOW_COLUMNS.to_vec(),
            table::port_columns(),
            table::LINK_COLUMNS.to_vec(),
            table::PAUSE_COLUMNS.to_vec(),
            table::PATH_COLUMNS.to_vec(),
            table::host_columns(),
            samples::columns(),
            series::flow_columns(),
            series::port_columns(),
            table::LATENCY_COLUMNS.to_vec(),
            TIMELINE_COLUMNS.to_vec(),
        ];
        for (described, written) in FILES.iter().zip(written) {
            let names: Vec<&str> = described.columns.iter().map(|column| column.name).collect();
            assert_eq!(names, written, "{}", described.file);
            for column in described.columns {
                let unit =
                    ["_ps", "_bytes", "_bps"].into_iter().find(|end| column.name.ends_with(end));
                let expected = unit.map(|unit| match unit {
                    "_ps" => TIME,
                    "_bps" => "bit/s",
                    _ => "bytes",
                });
                assert!(expected.is_none_or(|unit| column.unit == unit), "{column:?}");
            }
        }
    }

    #[test]
    fn every_kind_of_packet_is_described() {
        assert_eq!(PACKETS.map(|(name, _)| name), PacketKind::ALL.map(PacketKind::name));
    }

    #[test]
    fn every_event_is_described() {
        use What::*;
        let all = [Enqueue, Trim, Mark, Depart, Arrive, Return, Notify, Drop, Detour, Lose];
        assert_eq!(EVENTS.map(|(name, _)| name), all.map(What::name));
    }
}
