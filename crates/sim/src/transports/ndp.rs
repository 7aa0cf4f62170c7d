//! NDP in the simulator (SIGCOMM 2017).

use std::sync::Arc;

use trimline_metrics::{FlowRecord, PacketLatency, Reading, Readings, SeriesColumn};
use trimline_packet::{BitRate, ByteCount, DelayedAck, HostId, TimeDelta};
use trimline_transport::ndp::{Config, CoreRate, Endpoint, Order, PathPenalty, PullSpacing};
use trimline_transport::path_choice::PathChoice;
use trimline_transport::{Framing, Side, flow};

use super::describe::{path_rule, time};
use super::keys::PATH_CHOICES;
use super::{
    BYTES, DURATION, Form, Grammar, Group, Keys, Need, Plan, Protocol, Sample, ScenarioError,
    Setting, Traits, Transport, Work, computed, fixed, optional, pull_gaps,
};
use crate::keys::read::number;
use crate::random;
use crate::topology::Clos;

const FRAMING: Framing = <Endpoint as trimline_transport::Endpoint>::FRAMING;
/// Packets in a data queue besides the one in transmission: eight (NDP 3.1).
const QUEUE_PACKETS: f64 = 8.0;
/// Bytes of memory for a recorded latency.
const BYTES_PER_LATENCY: f64 = 48.0;
/// Initial window in packets at [`PUBLISHED_AT`] (NDP 6.2).
const INITIAL_WINDOW: u32 = 30;
const PUBLISHED_AT: BitRate = BitRate::from_gbps(10);
/// uet-htsim: time for which REPS keeps to known paths after a time-out.
const FREEZE: TimeDelta = TimeDelta::from_ms(10);

impl Protocol for Endpoint {
    const TAKES_MESSAGES: bool = true;

    type Config = Config;

    fn new(host: HostId, config: &Arc<Config>, seed: u64) -> Self {
        let mut config = Arc::clone(config);
        if config.pull_gaps.is_some()
            && let Some(gaps) = &mut Arc::make_mut(&mut config).pull_gaps
        {
            gaps.stream = random::stream(seed, "pull gap", &[u64::from(host.get())]);
        }
        Endpoint::new(host, config)
    }

    fn time_wait(config: &Config) -> TimeDelta {
        config.time_wait
    }

    fn forget(&mut self, slot: u32) {
        Endpoint::forget(self, slot);
    }

    fn statistics_of(&self, slot: u32) -> flow::Statistics {
        let seen = self.receiver_statistics(slot);
        let (packets, bytes, headers) = (seen.packets, seen.bytes, seen.trims);
        flow::Statistics { packets, bytes, headers, resent: 0 }
    }

    fn record_sender(&self, slot: u32, record: &mut FlowRecord) {
        let seen = self.sender_statistics(slot);
        record.packets_sent = seen.packets_sent;
        record.retransmissions_signalled = seen.retransmissions_nack;
        record.retransmissions_return = seen.retransmissions_return;
        record.retransmissions_timeout = seen.retransmissions_timeout;
        record.returns = seen.returns;
        record.timeouts = seen.timeouts;
        record.path_removals = seen.path_removals;
        record.path_restorations = self.path_restorations(slot);
    }

    fn connections(&self) -> flow::Memory {
        self.connections_memory()
    }

    fn series_columns(_config: &Config) -> Vec<SeriesColumn> {
        COLUMNS.to_vec()
    }

    fn read(&self, slot: u32, side: Side, readings: &mut Readings<'_>) {
        match side {
            Side::Sending => {
                let now = self.sender_progress(slot);
                readings.set("in_flight_packets", now.in_flight.into());
                readings.set("waiting_packets", now.waiting.into());
                readings.set("pulls_received", now.pulls.into());
            }
            Side::Receiving => {
                readings.set("pulls_sent", self.receiver_statistics(slot).pulls);
                readings.set("pulls_queued", self.pulls_queued(slot).into());
            }
        }
    }

    fn latencies(&self, slot: u32, _config: &Config, latencies: &mut Vec<PacketLatency>) {
        let window = self.window(slot);
        latencies.extend(self.latencies(slot).iter().map(|latency| PacketLatency {
            first_window: latency.sequence < window,
            ps: latency.time.as_ps(),
        }));
    }
}

/// Series columns of NDP. Its window is what is in flight: pulls move it.
const COLUMNS: [SeriesColumn; 5] = [
    SeriesColumn {
        name: "in_flight_packets",
        unit: "packets",
        about: "sent and not heard of: the window",
        kind: Reading::Level,
        decimals: 0,
    },
    SeriesColumn {
        name: "waiting_packets",
        unit: "packets",
        about: "to be sent again at the next pull",
        kind: Reading::Level,
        decimals: 0,
    },
    SeriesColumn {
        name: "pulls_received",
        unit: "packets",
        about: "packets that pulls asked the sender for, since the row before",
        kind: Reading::Count,
        decimals: 0,
    },
    SeriesColumn {
        name: "pulls_sent",
        unit: "packets",
        about: "pulls that the receiver sent since the row before, alone or with an ACK or NACK",
        kind: Reading::Count,
        decimals: 0,
    },
    SeriesColumn {
        name: "pulls_queued",
        unit: "packets",
        about: "pulls of the flow that wait at the receiver",
        kind: Reading::Level,
        decimals: 0,
    },
];

static GRAMMAR: Grammar = Grammar {
    about: "Parameters of NDP.",
    alternatives: &[],
    keys: &[
        computed(
            "initial_window",
            Form::Either(&[Form::Integer(1, 65_535), Form::Word(&["bdp"])]),
            "30 (NDP 6.2, at 10 Gb/s); where hosts have faster links the value of \"bdp\" if it is larger; \"bdp\" with a preset",
            "Packets pushed before the first PULL, or \"bdp\": the packets of an idle round trip between the farthest hosts, and of two full data queues of eight packets, one on the way up and one on the way down.",
        )
        .with_source("NDP 6.2, at 10 Gb/s")
        .with_samples(&["1", "2", "8", "23"]),
        computed(
            "initial_window_bytes",
            BYTES,
            "by `initial_window`",
            "The same in bytes of payload, rounded up to packets: a window as large whatever the payload, also of a workload's own. In place of initial_window.",
        ),
        computed(
            "marked",
            Form::Integer(0, 65_535),
            "all",
            "Packets of the initial window that bear the mark of unscheduled data, the first ones, when they are sent for the first time: what detours and Aeolus look for.",
        )
        .with_samples(&["0", "3"]),
        fixed(
            "aeolus",
            Form::Boolean,
            "false",
            "Whether a probe of 64 B follows the first window; what of the window is not there when it comes is answered by NACKs and pulled (Aeolus, SIGCOMM 2020). The switch's part is switch.selective_drop.",
        )
        .with_samples(&["true"]),
        fixed("payload", BYTES, "9000B", "Payload of a full packet; the header adds 64 B."),
        computed(
            "pull_spacing",
            Form::Either(&[
                Form::Word(&["wire-bytes", "payload-bytes"]),
                Form::Table(&PULL_SPACING),
            ]),
            "wire-bytes; payload-bytes with profile htsim, 101 % with csg-htsim",
            "Time between two pulls: the packet's wire bytes (with the link's framing) or payload bytes over the link rate.",
        )
        .with_samples(&["payload-bytes", "{ percent_of_wire = 101 }"]),
        fixed("pull_ack", Form::Boolean, "true", "Whether a pull may ride in its ACK or NACK.")
            .with_samples(&["false"]),
        fixed(
            "credit_bank",
            Form::Boolean,
            "true",
            "Whether a credit that finds nothing to send is kept. Without it a PULL that overtakes its NACK is lost, as in the authors' program, and no timer makes up for it: no PULL is repeated and the sender has no backstop. Flows may then stall for ever: for study, with a `duration`.",
        ),
        fixed(
            "ack_every",
            Form::Integer(1, DelayedAck::MAX as i64),
            "1",
            "Whole packets of a connection that one ACK answers at most, and pulls that go together in it: for small packets. 1, each its own, is NDP's.",
        )
        .with_samples(&["2", "6", "17"]),
        fixed(
            "core_rate",
            Form::Either(&[Form::Boolean, Form::Table(&CORE_RATE)]),
            "false",
            "Whether pulls slow down while packets are trimmed before the last switch, which the ports to hosts must tell apart (switch.port with last_hop).",
        )
        .with_samples(&["true"]),
        computed(
            "order",
            Form::Word(&["fair", "arrival", "round-robin", "retransmissions-first"]),
            "fair; round-robin with profile csg-htsim",
            "How the connections of a host share its link. \"fair\": pulled packets leave in the order of their pulls; a first window takes turns with the other connections. \"arrival\": all packets leave in the order in which they were allowed to, a first window in a row, as from a NIC with one queue. \"retransmissions-first\": the same, but retransmissions pass first-time data of all connections, as in the authors' program. \"round-robin\": one packet of each connection in turn, as in csg-htsim.",
        )
        .with_samples(&["arrival", "round-robin", "retransmissions-first"]),
        computed(
            "turn",
            BYTES,
            "one packet whatever its size, NDP's",
            "Payload of a connection's turn, to be pulled and to send: as many packets as fill it, one at least, so that connections with packets of several sizes share a link by bytes.",
        )
        .with_samples(&["900B", "27KB"]),
        fixed(
            "rto",
            DURATION,
            "1ms",
            "Time-out of a packet that was neither ACKed, NACKed nor returned.",
        ),
        fixed(
            "pull_repeat",
            DURATION,
            "1ms",
            "A PULL that elicits nothing for this long is queued again.",
        ),
        fixed(
            "backstop_unowed",
            DURATION,
            "1ms",
            "The sender's backstop while nothing is owed to it.",
        ),
        fixed(
            "backstop_owed",
            DURATION,
            "100ms",
            "The sender's backstop while pulls are owed; it doubles.",
        ),
        fixed("time_wait", DURATION, "1ms", "How long both ends remember a finished connection."),
        fixed(
            "path_penalty",
            Form::Either(&[Form::Boolean, Form::Table(&PATH_PENALTY)]),
            "true",
            "Temporary removal of outlier paths (NDP 3.2.3).",
        )
        .with_source("NDP 3.2.3")
        .with_samples(&["false"]),
        fixed(
            "path_choice",
            Form::Word(&PATH_CHOICES),
            "permutation",
            "Path of each data packet. permutation: rounds over all paths in a drawn order, without outliers (path_penalty). The others are those of UET, as transport.nscc.path_choice has them; a returned header counts as a trim, and path_penalty is off.",
        )
        .with_source("NDP 3.1.1; the others: uet-htsim")
        .with_samples(&["mixed", "bitmap", "reps", "oblivious", "random"]),
    ],
};

static PULL_SPACING: Grammar = Grammar {
    about: "The wire time of the packet scaled, or drawn from a distribution.",
    alternatives: &["percent_of_wire", "distribution", "file"],
    keys: &[
        optional("percent_of_wire", Form::Integer(1, 1_000), "Percent of the wire time."),
        optional(
            "distribution",
            Form::Word(&pull_gaps::BUILT_IN),
            "A built-in distribution of the time after the pull of a full packet, for this payload at 10Gbps.",
        ),
        optional(
            "file",
            Form::Text,
            "A file with a distribution: a line for each step, a gap in ns and the share of all gaps up to it, rising to 1. A relative name begins at the scenario's folder.",
        ),
    ],
};

static CORE_RATE: Grammar = Grammar {
    about: "How the rate of pulls follows what the core carries.",
    alternatives: &[],
    keys: &[
        fixed(
            "cut",
            Form::Integer(2, 65_535),
            "2",
            "A header trimmed in the core reduces the rate by one part in `cut`, but never below the rate at which whole packets arrive.",
        ),
        fixed(
            "rise",
            Form::Integer(1, 65_535),
            "256",
            "A whole packet adds one part in `rise` of the link's rate.",
        ),
        fixed(
            "tolerated",
            Form::Integer(1, 65_535),
            "32",
            "One such header in `tolerated` answers does not reduce the rate.",
        ),
    ],
};

static PATH_PENALTY: Grammar = Grammar {
    about: "When a path is an outlier, and for how long it is removed.",
    alternatives: &[],
    keys: &[
        fixed(
            "min_nacks",
            Form::Integer(1, 65_535),
            "10",
            "NACKs before a path can be an outlier.",
        ),
        fixed(
            "min_losses",
            Form::Integer(1, 65_535),
            "2",
            "Losses before a path can be an outlier.",
        ),
        fixed("ratio", Form::Integer(1, 65_535), "2", "Factor over the mean."),
        fixed("removal", DURATION, "1ms", "First removal."),
        fixed("removal_max", DURATION, "4ms", "Longest removal."),
    ],
};

/// NDP.
#[derive(Clone, Copy, Debug)]
pub struct Ndp;

impl Transport for Ndp {
    type Endpoint = Endpoint;
    const IS_BUILT_IN: bool = true;

    fn name(self) -> &'static str {
        "ndp"
    }
    fn label(self) -> &'static str {
        "NDP"
    }
    fn colour(self) -> &'static str {
        "#0072B2"
    }
    fn about(self) -> &'static str {
        "NDP (SIGCOMM 2017)."
    }
    fn grammar(self) -> &'static Grammar {
        &GRAMMAR
    }
    fn traits(self) -> Traits {
        Traits { keeps_paths: false, ends_flows: true, no_latencies: None }
    }
    fn resolve(self, keys: &Keys<'_>, setting: &Setting<'_>) -> Result<Config, ScenarioError> {
        let path_choice = keys.path_choice(FREEZE);
        let mut config = Config {
            initial_window: 0,
            initial_window_bytes: 0,
            marked: 0,
            payload_bytes: keys.payload()?,
            link_rate: setting.topology.host_link.rate,
            framing_bytes: setting.topology.host_link.framing_bytes,
            record_latencies: setting.records_latencies,
            pull_ack: keys.flag("pull_ack"),
            aeolus: keys.flag("aeolus"),
            order: match keys.word_given("order") {
                Some("fair") => Order::Fair,
                Some("arrival") => Order::Arrival,
                Some("retransmissions-first") => Order::RetransmissionsFirst,
                Some("round-robin") => Order::RoundRobin,
                Some(other) => unreachable!("the grammar has no order {other}"),
                None if setting.profile == "csg-htsim" => Order::RoundRobin,
                None => Order::Fair,
            },
            // Profiles of the authors' two simulators have these simulators' pull spacing.
            pull_spacing: match setting.profile {
                "htsim" => PullSpacing::PayloadBytes,
                "csg-htsim" => PullSpacing::WireBytesScaled { percent: 101 },
                _ => PullSpacing::WireBytes,
            },
            pull_gaps: None,
            credit_bank: true,
            doubts_headers: false,
            ack_every: keys.integer("ack_every") as u8,
            core_rate: core_rate(keys),
            turn: 0,
            rto: keys.timer("rto")?,
            pull_repeat: keys.timer("pull_repeat")?,
            backstop_unowed: keys.timer("backstop_unowed")?,
            backstop_owed: keys.timer("backstop_owed")?,
            time_wait: keys.duration("time_wait")?,
            follows_path: None,
            path_penalty: path_penalty(keys, path_choice)?,
            path_choice,
        };
        if keys.has("turn") {
            if let Some(word) = keys.word_given("order").filter(|word| *word != "round-robin") {
                return Err(keys.refuse(
                    "order",
                    format!(
                        "`order = \"{word}\"` beside `turn`, with which connections send in turn"
                    ),
                    "one of the two".to_owned(),
                ));
            }
            config.turn = turn(keys)?;
        }
        if keys.has("initial_window_bytes") {
            config.initial_window_bytes = window_bytes(keys, config.payload_bytes)?;
        }
        config.initial_window = match keys.node("initial_window") {
            _ if config.initial_window_bytes > 0 => config.window(config.payload_bytes),
            Some(window) if window.text().is_none() => keys.integer("initial_window"),
            None if !setting.is_preset => default_window(setting.topology, config.payload_bytes),
            _ => bdp_window(setting.topology, config.payload_bytes),
        };
        config.marked = keys.marked(config.initial_window)?;
        if config.initial_window_bytes > 0 && !keys.has("marked") {
            // All packets, of any payload.
            config.marked = u32::MAX;
        }
        if let Some(spacing) = keys.node("pull_spacing") {
            config.pull_spacing = match (spacing.text(), number(spacing, "percent_of_wire")) {
                (Some("payload-bytes"), _) => PullSpacing::PayloadBytes,
                (None, Some(percent)) => PullSpacing::WireBytesScaled { percent },
                _ => PullSpacing::WireBytes,
            };
            config.pull_gaps = pull_gaps::read(spacing)?;
        }
        if !keys.flag("credit_bank") {
            config = without_credit_bank(keys, config)?;
        }
        Ok(config)
    }

    fn answers_marks(self, _config: &Config) -> bool {
        false
    }

    fn need(self, config: &Config) -> Option<(&'static str, Need)> {
        config.core_rate.map(|_| ("core_rate", Need::LastHop))
    }

    fn payload_bytes(self, config: &Config) -> u16 {
        config.payload_bytes
    }

    fn with_payload(self, config: &Config, payload_bytes: u16) -> Result<Config, &'static str> {
        if config.aeolus {
            return Err("whose probes ask for packets of one payload (Aeolus)");
        }
        if config.core_rate.is_some() {
            return Err(
                "whose receivers measure what the core carries by packets of one payload (core_rate)",
            );
        }
        let initial_window = config.window(payload_bytes);
        Ok(Config { payload_bytes, initial_window, ..config.clone() })
    }

    fn ends_flows(self, config: &Config) -> bool {
        config.credit_bank
    }

    fn first_timeout(self, config: &Config) -> Option<(&'static str, TimeDelta)> {
        Some(("rto", config.rto))
    }

    fn window(self, config: &Config) -> Option<(&'static str, u64)> {
        let key = match config.initial_window_bytes {
            0 => "initial_window",
            _ => "initial_window_bytes",
        };
        Some((key, config.initial_window.into()))
    }

    fn describe(self, config: &Config) -> String {
        format!(
            "NDP: initial window {} packets{}, {} B payload per packet, RTO {}, {}{}{}{}{}{}{}{}",
            config.initial_window,
            if config.aeolus { " and a probe after them" } else { "" },
            config.payload_bytes,
            time(config.rto),
            match config.pull_spacing {
                _ if config.pull_gaps.is_some() => "pulls spaced by a distribution".to_owned(),
                PullSpacing::WireBytes => "pulls paced by wire bytes".to_owned(),
                PullSpacing::PayloadBytes => "pulls paced by payload bytes".to_owned(),
                PullSpacing::WireBytesScaled { percent } => {
                    format!("pulls paced to {percent} % of the wire time")
                }
            },
            if config.pull_ack { " and carried by ACKs" } else { " in packets of their own" },
            match config.ack_every {
                1 => String::new(),
                max => format!(", one ACK for up to {max} packets"),
            },
            if config.core_rate.is_some() { ", fewer pulls when the core trims" } else { "" },
            match config.turn {
                0 => String::new(),
                bytes => format!(", connections served round robin with {bytes} B per turn"),
            },
            match config.order {
                Order::Fair => "",
                Order::Arrival => ", packets sent in the order of credits",
                Order::RetransmissionsFirst => {
                    ", packets sent in the order of credits, retransmissions first"
                }
                Order::RoundRobin => ", connections served round robin",
            },
            match config.path_choice {
                PathChoice::Permutation if config.path_penalty.is_some() => String::new(),
                PathChoice::Permutation => ", no path penalty".to_owned(),
                other => format!(", paths {}", path_rule(other)),
            },
            if config.credit_bank {
                ""
            } else {
                ", no credit bank: credits without data to send are lost"
            },
        )
    }

    fn work(self, config: &Config, plan: &Plan, group: &Group) -> Work {
        work(plan, config, group)
    }

    fn samples(self) -> &'static [Sample] {
        &[
            Sample { name: "ndp", keys: "initial_window = 23", min_bytes: 4_000_000 },
            Sample {
                name: "ndp, aeolus",
                keys: "initial_window = 23\naeolus = true",
                min_bytes: 4_000_000,
            },
            Sample {
                name: "ndp, joined",
                keys: "initial_window = 23\nack_every = 6\ncore_rate = true\nturn = \"9KB\"",
                min_bytes: 4_000_000,
            },
        ]
    }
}

/// Returns the default initial window: the paper's up to 10 Gb/s; faster links may hold more.
fn default_window(topology: &Clos, payload_bytes: u16) -> u32 {
    match topology.host_link.rate > PUBLISHED_AT {
        true => INITIAL_WINDOW.max(bdp_window(topology, payload_bytes)),
        false => INITIAL_WINDOW,
    }
}

/// Returns the initial window "bdp" in packets: an idle round trip between the farthest hosts, from a packet's first
/// bit to its ACK, and two full data queues of eight, up and down (chosen: on the base model 8 + 16 = 24, the authors
/// use 23 and 30).
fn bdp_window(topology: &Clos, payload_bytes: u16) -> u32 {
    const QUEUES: u64 = 16;
    let wire = ByteCount::new(u64::from(FRAMING.wire_bytes(payload_bytes)));
    let packet = topology.host_link.transmission(wire).as_ps();
    let packets = topology.idle_round_trip(payload_bytes, FRAMING).as_ps().div_ceil(packet);
    (packets + QUEUES).min(65_535) as u32
}

/// Makes hosts discard credits, and refuses timers that would compensate.
fn without_credit_bank(keys: &Keys<'_>, config: Config) -> Result<Config, ScenarioError> {
    let timers = ["pull_repeat", "backstop_unowed", "backstop_owed"];
    match timers.into_iter().find(|timer| keys.has(timer)) {
        None => Ok(config.without_credit_bank()),
        Some(timer) => Err(keys.refuse(
            timer,
            format!("`{timer}` without a credit bank, which takes it away"),
            format!("no `{timer}`, or `credit_bank = true`"),
        )),
    }
}

fn path_penalty(keys: &Keys<'_>, choice: PathChoice) -> Result<Option<PathPenalty>, ScenarioError> {
    if !keys.flag("path_penalty") {
        return Ok(None);
    }
    if choice != PathChoice::Permutation {
        return match keys.has("path_penalty") {
            false => Ok(None),
            true => Err(keys.refuse(
                "path_penalty",
                "removal of outlier paths beside another choice of paths",
                "`path_choice = \"permutation\"`, whose rounds leave removed paths out",
            )),
        };
    }
    let keys = keys.below("path_penalty", &PATH_PENALTY);
    let count = |key| keys.integer(key) as u16;
    let penalty = PathPenalty {
        min_nacks: count("min_nacks"),
        min_losses: count("min_losses"),
        ratio: count("ratio"),
        removal: keys.duration("removal")?,
        removal_max: keys.duration("removal_max")?,
    };
    if penalty.removal > penalty.removal_max {
        let key = if keys.has("removal") { "removal" } else { "removal_max" };
        return Err(keys.refuse(
            key,
            "the first removal is longer than the longest",
            format!("`removal` up to `removal_max`, which is {}", penalty.removal_max),
        ));
    }
    Ok(Some(penalty))
}

fn window_bytes(keys: &Keys<'_>, payload_bytes: u16) -> Result<u32, ScenarioError> {
    const MAX: u64 = 65_535;
    if keys.has("initial_window") {
        return Err(keys.refuse(
            "initial_window_bytes",
            "an initial window in packets and one in bytes",
            "one of the two",
        ));
    }
    let bytes = keys.bytes_or("initial_window_bytes", ByteCount::ZERO)?.get();
    let packets = bytes.div_ceil(u64::from(payload_bytes));
    if !(1..=MAX).contains(&packets) {
        return Err(keys.refuse(
            "initial_window_bytes",
            format!("a window of {packets} packets"),
            format!("1 to {MAX} packets of {payload_bytes} B"),
        ));
    }
    Ok(bytes as u32)
}

fn turn(keys: &Keys<'_>) -> Result<u32, ScenarioError> {
    let bytes = keys.bytes_or("turn", ByteCount::ZERO)?.get();
    u32::try_from(bytes).ok().filter(|&bytes| bytes > 0).ok_or_else(|| {
        let found = format!("a turn of {bytes} B");
        keys.refuse("turn", found, format!("1 to {} B", u32::MAX))
    })
}

fn core_rate(keys: &Keys<'_>) -> Option<CoreRate> {
    let is_on = keys.node("core_rate").is_some_and(|node| node.boolean() != Some(false));
    let keys = keys.below("core_rate", &CORE_RATE);
    let count = |key| keys.integer(key) as u16;
    is_on.then(|| CoreRate {
        cut: count("cut"),
        rise: count("rise"),
        tolerated: count("tolerated"),
    })
}

fn work(plan: &Plan, config: &Config, group: &Group) -> Work {
    let clos = &plan.topology;
    let wire_bits = f64::from(FRAMING.wire_bytes(config.payload_bytes)) * 8.0;
    let packet_seconds = wire_bits / clos.host_link.rate.as_bps() as f64;
    let round_trip = clos.idle_round_trip(config.payload_bytes, FRAMING).as_ps() as f64 / 1e12;
    let window = f64::from(config.initial_window);
    let windows = window / (round_trip / packet_seconds);
    // Without other traffic a window per round trip; in a network the queues take part of it (the shape of Figure 17).
    let share = if clos.tiers < 2 { windows.min(1.0) } else { 1.0 - (-windows).exp() };
    let max = group.seconds / packet_seconds * share / group.into.max(group.out_of);
    let packets = group.packets.min(max);

    // Each packet and its ACK; a PULL of its own, unless an ACK carries it; headers and the packets after them.
    let mut each = 1.0 + 1.0 / f64::from(config.ack_every);
    if group.into > 1.0 {
        let pushed = window.min(group.packets);
        let all = packets * group.into;
        let accepted = (pushed + QUEUE_PACKETS).min(all);
        // At most what the senders' links can carry until the end.
        let possible = group.seconds / packet_seconds * group.into / group.out_of - all;
        let resent = (pushed * group.into - accepted).min(possible).max(0.0);
        each += (all - accepted + 2.0 * resent) / all.max(1.0);
    } else {
        let size = (f64::from(clos.hosts()) / 16.0).log2().max(0.0);
        let collisions = if clos.tiers < 2 { 0.0 } else { 0.1 * size * share * share };
        let is_fast = matches!(config.pull_spacing, PullSpacing::PayloadBytes);
        each += collisions + f64::from(u8::from(is_fast)) * 0.3;
        each += f64::from(u8::from(!config.pull_ack));
    }
    let latencies = if config.record_latencies { BYTES_PER_LATENCY } else { 0.0 };
    Work {
        hops: group.flows * packets * each * group.links,
        slowness: 1.0,
        bytes: group.flows * packets * latencies,
    }
}
