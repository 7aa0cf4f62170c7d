//! NSCC and RCCC of Ultra Ethernet in the simulator: the sender's window, the receiver's credit, or both.

use std::sync::Arc;

use trimline_metrics::{FlowRecord, Reading, Readings, SeriesColumn};
use trimline_packet::{ByteCount, Flags, HostId, Kind, Packet, TimeDelta};
use trimline_switch::profiles::{self, Sizes};
use trimline_transport::nscc::{Average, Config, Control, Endpoint, Law, QuickAdapt};
use trimline_transport::path_choice::PathChoice;
use trimline_transport::rccc::QUANTUM;
use trimline_transport::shell::ShellEndpoint as _;
use trimline_transport::{Framing, Side, flow};

use super::describe::{path_rule, time};
use super::keys::PATH_CHOICES;
use super::rccc::{self, CREDIT, CREDIT_COLUMNS};
use super::{
    BYTES, DURATION, Form, Grammar, Group, Key, Keys, Need, PacketKind, Plan, Protocol, Sample,
    ScenarioError, Setting, Traits, Transport, Work, computed, fixed, windowed,
};
use crate::random;
use crate::topology::Clos;

const FRAMING: Framing = <Endpoint as trimline_transport::Endpoint>::FRAMING;
/// uet-htsim: the time-out without the time of queues.
const RTO: TimeDelta = TimeDelta::from_us(15);
/// uet-htsim: the delay below which the way counts as idle. RCCC has no use for it.
const CLEAR: TimeDelta = TimeDelta::from_us(1);
/// uet-htsim: bytes for which a receiver sends an ACK, at 100 Gb/s.
const ACK_EVERY: u64 = 16_384;
/// Switches without trimming have five times the queue (uet-htsim).
const UNTRIMMED: u64 = 5;

impl Protocol for Endpoint {
    type Config = Config;

    fn new(host: HostId, config: &Arc<Config>, seed: u64) -> Self {
        let endpoint = Endpoint::new(host, Arc::clone(config));
        match config.control.credit().and_then(|rule| rule.core.as_ref()) {
            Some(_) => {
                endpoint.with_stream(random::stream(seed, "credit", &[u64::from(host.get())]))
            }
            None => endpoint,
        }
    }

    fn time_wait(config: &Config) -> TimeDelta {
        config.time_wait
    }

    fn forget(&mut self, slot: u32) {
        Endpoint::forget(self, slot);
    }

    fn statistics_of(&self, slot: u32) -> flow::Statistics {
        *self.receiver_statistics(slot)
    }

    fn record_sender(&self, slot: u32, record: &mut FlowRecord) {
        let seen = self.sender_statistics(slot);
        record.packets_sent = seen.packets_sent;
        record.retransmissions_signalled = seen.resent_trimmed;
        record.retransmissions_timeout = seen.resent_timeout;
        record.timeouts = seen.timeouts;
        record.returns = seen.returned;
    }

    fn connections(&self) -> flow::Memory {
        self.shell().memory()
    }

    fn series_columns(config: &Config) -> Vec<SeriesColumn> {
        let mut columns = match config.control.has_window() {
            true => COLUMNS.to_vec(),
            false => COLUMNS[1..2].to_vec(),
        };
        if config.control.credit().is_some() {
            columns.extend(CREDIT_COLUMNS);
        }
        columns
    }

    fn read(&self, slot: u32, side: Side, readings: &mut Readings<'_>) {
        let control = self.control();
        match side {
            Side::Sending => {
                let (window, in_flight) = self.window(slot);
                readings.set("in_flight_bytes", in_flight);
                if control.has_window() {
                    readings.set("window_bytes", window);
                    readings.set("mean_delay_ns", self.mean_delay(slot).as_ps() / 1_000);
                    readings.set("quick_adapts", self.sender_statistics(slot).quick_adapts);
                }
                if control.credit().is_some() {
                    readings.set("credit_bytes", self.credit(slot).max(0) as u64);
                    readings.set("rts", self.sender_statistics(slot).rts_sent);
                }
            }
            Side::Receiving => {
                if control.credit().is_some() {
                    readings.set("granted_bytes", u64::from(self.granted(slot)) * QUANTUM);
                }
            }
        }
    }
}

const COLUMNS: [SeriesColumn; 4] = [
    SeriesColumn {
        name: "window_bytes",
        unit: "B",
        about: "that may be in flight, with headers",
        kind: Reading::Level,
        decimals: 0,
    },
    SeriesColumn {
        name: "in_flight_bytes",
        unit: "B",
        about: "sent, and neither counted by the receiver nor taken for lost, with headers",
        kind: Reading::Level,
        decimals: 0,
    },
    SeriesColumn {
        name: "mean_delay_ns",
        unit: "ns",
        about: "the average of the delays beyond the base round trip that decides by how much the window falls",
        kind: Reading::Level,
        decimals: 0,
    },
    SeriesColumn {
        name: "quick_adapts",
        unit: "times",
        about: "that QuickAdapt lowered the window to what had arrived",
        kind: Reading::Count,
        decimals: 0,
    },
];

const PAYLOAD: Key =
    fixed("payload", BYTES, "9000B", "Payload of a full packet; the header adds 64 B.")
        .with_source("chosen: that of the other transports; uet-htsim has 4086B");

const TRIMMING: Key = computed(
    "trimming",
    Form::Boolean,
    "whether the switch profile trims",
    "Whether switches may trim its packets. Without, only a time-out finds what was dropped, and the default target and time-out are longer.",
)
.with_source("uet-htsim")
.with_samples(&["true", "false"]);

const PATH_CHOICE: Key = fixed(
    "path_choice",
    Form::Word(&PATH_CHOICES),
    "mixed",
    "Path of each packet. oblivious: one on each path in each round. bitmap: the same without paths that have a penalty, of 1 for a mark, 4 for a trim and 15 for a time-out. reps: paths of unmarked ACKs again, otherwise drawn. mixed: those, otherwise by the bitmap. random: drawn. permutation: NDP's rounds in a drawn order.",
)
.with_source("uet-htsim")
.with_samples(&["bitmap", "reps", "oblivious", "random", "permutation"]);

const REPS_FREEZE: Key = fixed(
    "reps_freeze",
    DURATION,
    "10ms",
    "With path_choice \"reps\": time after a time-out in which only known paths are used. 0us: never.",
)
.with_source("uet-htsim")
.with_samples(&["0us", "100us"]);

const ENTROPIES: Key = computed(
    "entropies",
    Form::Integer(1, 4_096),
    "a number for each path",
    "Numbers (entropy values) of path_choice, each of which stands for a path that is drawn, as where switches hash it: two may share a path, and a path may have none. Permutation has no numbers.",
)
.with_source("uet-htsim: 64")
.with_samples(&["1", "16", "128"]);

const ACK_EVERY_KEY: Key = computed(
    "ack_every",
    BYTES,
    "16384B, or an eighth of what the host's link sends in base_rtt if that is less",
    "Bytes on the wire for which a receiver sends one ACK. A marked packet, a duplicate, a flow's first packet and one whose sender asks get one at once: it asks where it may send nothing more, and with each packet while its window is less than two ACKs answer.",
)
.with_source("uet-htsim; chosen for short round trips at low rates, where such ACKs would leave the link idle")
.with_samples(&["1B", "40KB"]);

const RTO_KEY: Key = computed(
    "rto",
    DURATION,
    "15us, and six times what the link sends in a bandwidth-delay product; without trimming thirty times",
    "Time in flight after which a packet counts as lost.",
)
.with_source("uet-htsim")
.with_samples(&["60us", "1ms"]);

const RTO_DOUBLINGS: Key = fixed(
    "rto_doublings",
    Form::Integer(0, 16),
    "0",
    "How many times that time doubles with time-outs in a row, and the wait of a flow without credit with RTSs in a row. After 16 time-outs in a row the time doubles up to six times, whatever this key says.",
)
.with_source("uet-htsim")
.with_samples(&["2", "6"]);

const TIME_WAIT: Key =
    fixed("time_wait", DURATION, "10ms", "How long both ends remember a flow that has ended.");

static GRAMMAR: Grammar = Grammar {
    about: "Parameters of NSCC, the sender's window of Ultra Ethernet (UET), by public code: uet-htsim, and asteria-ns3 where it cites the specification otherwise.",
    alternatives: &[],
    keys: &[
        PAYLOAD,
        TRIMMING,
        PATH_CHOICE,
        REPS_FREEZE,
        ENTROPIES,
        computed(
            "base_rtt",
            DURATION,
            "the idle round trip between the farthest hosts",
            "Round trip beyond which time counts as delay. A flow that measures less takes that. The max window is what the host's link sends in one and a half; steps grow with it.",
        )
        .with_source("uet-htsim")
        .with_samples(&["2us", "60us"]),
        computed(
            "target",
            DURATION,
            "three quarters of base_rtt with trimming, otherwise base_rtt",
            "Delay above which the network counts as congested.",
        )
        .with_source("uet-htsim")
        .with_samples(&["1us", "100us"]),
        fixed(
            "clear_delay",
            DURATION,
            "1us",
            "Delay below which the way counts as idle: after a window of such ACKs the window grows by a quarter in a round trip and faster (fast increase).",
        )
        .with_source("uet-htsim; asteria-ns3 has about 0")
        .with_samples(&["0us", "5us"]),
        computed(
            "initial_window",
            BYTES,
            "the max window: one and a half bandwidth-delay products",
            "First window of a flow, with headers.",
        )
        .with_source("uet-htsim")
        .with_samples(&["1B", "20KB"]),
        fixed(
            "step",
            Form::Word(&["payload", "packet"]),
            "payload",
            "Bytes of a step of the window, at 100 Gb/s and 12 us: those of the payload of a full packet, or of the packet.",
        )
        .with_source("uet-htsim has the payload, asteria-ns3 the packet")
        .with_samples(&["packet"]),
        fixed(
            "average",
            Form::Word(&["exponential", "round-trip"]),
            "exponential",
            "The average of delays that decides by how much a window falls: exponential with a gain of 1/80 for each ACK, where an unmarked delay above the target counts as a quarter of the base; or the mean of the last base round trip.",
        )
        .with_source("uet-htsim has the first, asteria-ns3 the second")
        .with_samples(&["round-trip"]),
        fixed(
            "quick_adapt",
            Form::Word(&["delay", "loss", "off"]),
            "delay",
            "When a window falls to what arrived in the last base round trip and target, if that is less than an eighth of the max: after a NACK or a delay above four targets; after a NACK or a time-out; or never.",
        )
        .with_source("uet-htsim has delay, asteria-ns3 loss where switches trim")
        .with_samples(&["loss", "off"]),
        ACK_EVERY_KEY,
        RTO_KEY,
        RTO_DOUBLINGS,
        TIME_WAIT,
        fixed(
            "credit",
            Form::Either(&[Form::Boolean, Form::Table(&CREDIT)]),
            "false",
            "Whether the receiver's credit (RCCC) stands beside the window: a packet needs both. Without the window: transport.rccc.",
        )
        .with_source("uet-htsim")
        .with_samples(&["true"]),
    ],
};

static RCCC: Grammar = Grammar {
    about: "Parameters of RCCC, the receiver's credit of Ultra Ethernet (UET), by public code: uet-htsim. With NSCC's window beside it: transport.nscc.credit.",
    alternatives: &[],
    keys: &[
        PAYLOAD,
        TRIMMING,
        PATH_CHOICE,
        REPS_FREEZE,
        ENTROPIES,
        computed(
            "base_rtt",
            DURATION,
            "the idle round trip between the farthest hosts",
            "Round trip of an idle network: the default of max_credit is what the host's link sends in one and a half.",
        )
        .with_source("uet-htsim")
        .with_samples(&["2us", "60us"]),
        rccc::MAX,
        rccc::FIRST,
        rccc::PULL,
        rccc::PULL_PERCENT,
        rccc::CORE_CONTROL,
        ACK_EVERY_KEY,
        RTO_KEY,
        RTO_DOUBLINGS,
        TIME_WAIT,
    ],
};

/// The congestion controls of Ultra Ethernet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uet {
    /// The sender's window, alone or with the receiver's credit.
    Nscc,
    /// The receiver's credit alone.
    Rccc,
}

impl Transport for Uet {
    type Endpoint = Endpoint;
    const IS_BUILT_IN: bool = true;

    fn name(self) -> &'static str {
        match self {
            Uet::Nscc => "nscc",
            Uet::Rccc => "rccc",
        }
    }
    fn label(self) -> &'static str {
        match self {
            Uet::Nscc => "NSCC",
            Uet::Rccc => "RCCC",
        }
    }
    fn colour(self) -> &'static str {
        match self {
            Uet::Nscc => "#AA4499",
            Uet::Rccc => "#999933",
        }
    }
    fn about(self) -> &'static str {
        match self {
            Uet::Nscc => "NSCC of Ultra Ethernet: a window by delay and ECN.",
            Uet::Rccc => "RCCC of Ultra Ethernet: the receiver's credit in bytes.",
        }
    }
    fn grammar(self) -> &'static Grammar {
        match self {
            Uet::Nscc => &GRAMMAR,
            Uet::Rccc => &RCCC,
        }
    }
    fn traits(self) -> Traits {
        Traits {
            keeps_paths: false,
            ends_flows: true,
            no_latencies: Some("whose ACKs answer several packets"),
        }
    }
    fn profile(self, _keys: &Keys<'_>) -> &'static str {
        "uec"
    }

    fn resolve(self, keys: &Keys<'_>, setting: &Setting<'_>) -> Result<Config, ScenarioError> {
        let (payload_bytes, topology) = (keys.payload()?, setting.topology);
        let packet_bytes = FRAMING.wire_bytes(payload_bytes);
        let trims = keys.flag_or("trimming", trims(setting.profile, topology));
        let base = keys.timer_or("base_rtt", topology.idle_round_trip(payload_bytes, FRAMING))?;
        let product = topology.host_link.rate.bytes_in(base).get();
        let ack_every = ByteCount::new((product / 8).min(ACK_EVERY));
        let of_target = TimeDelta::from_ps(base.as_ps() / 4 * if trims { 3 } else { 4 });
        let law = Law {
            step_bytes: payload_bytes.into(),
            packet_bytes: packet_bytes.into(),
            line: topology.host_link.rate,
            base,
            target: of_target,
            clear: CLEAR,
            first: None,
            average: Average::Exponential,
            quick_adapt: QuickAdapt::Delay,
        };
        let control = match self {
            Uet::Rccc => Control::Credit(rccc::rule(keys, &law, topology)?),
            Uet::Nscc => match keys.node("credit").filter(|node| node.boolean() != Some(false)) {
                Some(_) => {
                    Control::Both(rccc::rule(&keys.below("credit", &CREDIT), &law, topology)?)
                }
                None => Control::Window,
            },
        };
        Ok(Config {
            payload_bytes,
            trims,
            path_choice: path_choice(keys)?,
            entropies: keys.has("entropies").then(|| keys.integer("entropies") as u16),
            ack_every: u32::try_from(keys.bytes_or("ack_every", ack_every)?.get())
                .unwrap_or(u32::MAX),
            rto: keys.timer_or("rto", rto(packet_bytes, base, trims, topology))?,
            rto_doublings: keys.integer("rto_doublings") as u8,
            time_wait: keys.duration("time_wait")?,
            law: match self {
                Uet::Nscc => with_keys(law, keys)?,
                Uet::Rccc => law,
            },
            control,
        })
    }

    fn packet_kind(self, packet: &Packet) -> PacketKind {
        let is_of_opener = packet.header.flags.contains(Flags::FROM_OPENER);
        match packet.header.kind {
            Kind::Pull if is_of_opener => PacketKind::Rts,
            kind => PacketKind::of_header(kind),
        }
    }

    fn payload_bytes(self, config: &Config) -> u16 {
        config.payload_bytes
    }

    fn with_payload(self, config: &Config, payload_bytes: u16) -> Result<Config, &'static str> {
        Ok(Config { payload_bytes, ..config.clone() })
    }

    fn need(self, config: &Config) -> Option<(&'static str, Need)> {
        if config.control.credit().is_some_and(|rule| rule.core.is_some()) {
            return Some(("core_control", Need::LastHop));
        }
        config.trims.then_some(("trimming", Need::Trimming))
    }

    fn first_timeout(self, config: &Config) -> Option<(&'static str, TimeDelta)> {
        Some(("rto", config.rto))
    }

    fn window(self, config: &Config) -> Option<(&'static str, u64)> {
        let packet = u64::from(FRAMING.wire_bytes(config.payload_bytes));
        let (key, first) = match &config.control {
            Control::Window | Control::Both(_) => {
                let first = config.law.first.unwrap_or_else(|| Endpoint::max_window(config));
                ("initial_window", first)
            }
            Control::Credit(rule) => ("first_credit", rule.first),
        };
        Some((key, (first / packet).max(1)))
    }

    fn describe(self, config: &Config) -> String {
        match &config.control {
            Control::Window => describe_window(config),
            Control::Both(rule) => {
                format!("{}; credit: {}", describe_window(config), rccc::describe(rule))
            }
            Control::Credit(rule) => format!(
                "RCCC: {}, {} B payload per packet, {}, base round trip {}, paths {}, an ACK per {} B, RTO {}",
                rccc::describe(rule),
                config.payload_bytes,
                if config.trims { "trimmable" } else { "not trimmable" },
                time(config.law.base),
                describe_paths(config),
                config.ack_every,
                time(config.rto),
            ),
        }
    }

    fn work(self, config: &Config, plan: &Plan, group: &Group) -> Work {
        let packet = f64::from(FRAMING.wire_bytes(config.payload_bytes));
        let acks = (packet / f64::from(config.ack_every.max(1))).min(1.0);
        let pulls = config
            .control
            .credit()
            .map_or(0.0, |rule| packet / (f64::from(rule.pull) * QUANTUM as f64));
        windowed(plan, config.payload_bytes, FRAMING, (acks + pulls).min(1.0), group)
    }

    fn samples(self) -> &'static [Sample] {
        match self {
            Uet::Nscc => &[
                Sample { name: "nscc", keys: "rto = \"200us\"", min_bytes: 1_000_000 },
                Sample {
                    name: "nscc, without trimming",
                    keys: "rto = \"200us\"\ntrimming = false\naverage = \"round-trip\"\nquick_adapt = \"loss\"",
                    min_bytes: 1_000_000,
                },
                Sample {
                    name: "nscc, with credit",
                    keys: "rto = \"200us\"\ncredit = true",
                    min_bytes: 1_000_000,
                },
            ],
            Uet::Rccc => &[
                Sample { name: "rccc", keys: "rto = \"200us\"", min_bytes: 1_000_000 },
                Sample {
                    name: "rccc, without trimming",
                    keys: "rto = \"200us\"\ntrimming = false",
                    min_bytes: 1_000_000,
                },
            ],
        }
    }
}

/// Returns the law with the keys of NSCC's table.
fn with_keys(law: Law, keys: &Keys<'_>) -> Result<Law, ScenarioError> {
    Ok(Law {
        step_bytes: keys
            .one_of("step", [("payload", law.step_bytes), ("packet", law.packet_bytes)]),
        target: keys.timer_or("target", law.target)?,
        clear: keys.duration("clear_delay")?,
        first: match keys.has("initial_window") {
            true => Some(keys.bytes("initial_window")?.get().min(u64::from(u32::MAX))),
            false => None,
        },
        average: keys.one_of(
            "average",
            [("exponential", Average::Exponential), ("round-trip", Average::RoundTrip)],
        ),
        quick_adapt: keys.one_of(
            "quick_adapt",
            [("delay", QuickAdapt::Delay), ("loss", QuickAdapt::Loss), ("off", QuickAdapt::Off)],
        ),
        ..law
    })
}

fn describe_window(config: &Config) -> String {
    let law = &config.law;
    let max = Endpoint::max_window(config);
    format!(
        "NSCC: window {} to {max} B per flow, max {max} B, {} B payload per packet, {}, base round trip {}, target {}, clear below {}, step of {} B, {} average, QuickAdapt {}, paths {}, an ACK per {} B, RTO {}",
        law.first.unwrap_or(max),
        config.payload_bytes,
        if config.trims { "trimmable" } else { "not trimmable" },
        time(law.base),
        time(law.target),
        time(law.clear),
        law.step_bytes,
        match law.average {
            Average::Exponential => "exponential",
            Average::RoundTrip => "round trip's",
        },
        match law.quick_adapt {
            QuickAdapt::Delay => "by loss and delay",
            QuickAdapt::Loss => "by loss",
            QuickAdapt::Off => "off",
        },
        describe_paths(config),
        config.ack_every,
        time(config.rto),
    )
}

fn describe_paths(config: &Config) -> String {
    let rule = path_rule(config.path_choice);
    match config.entropies {
        None => rule,
        Some(numbers) => format!("{rule} of {numbers} hashed numbers"),
    }
}
fn path_choice(keys: &Keys<'_>) -> Result<PathChoice, ScenarioError> {
    let choice = keys.path_choice(keys.duration("reps_freeze")?);
    if keys.has("reps_freeze") && !matches!(choice, PathChoice::Reps { .. }) {
        return Err(keys.refuse(
            "reps_freeze",
            "`reps_freeze` beside a path choice that never freezes",
            "path_choice = \"reps\", or no reps_freeze",
        ));
    }
    if keys.has("entropies") && choice == PathChoice::Permutation {
        return Err(keys.refuse(
            "entropies",
            "`entropies` beside a path choice without numbers",
            "another path_choice than \"permutation\", or no entropies",
        ));
    }
    Ok(choice)
}

/// Returns whether a profile trims packets without room.
fn trims(profile: &str, topology: &Clos) -> bool {
    let line = topology.host_link.rate;
    let sizes = Sizes { packets: 8, payload_bytes: 1000, packet_bytes: 1064, mark: 1, line };
    profiles::named(profile)
        .and_then(|profile| (profile.build)(sizes).build().ok())
        .is_some_and(|model| model.trims())
}

/// uet-htsim: 15 us, and the time of six full queues of a bandwidth-delay product in whole packets.
fn rto(packet_bytes: u16, base: TimeDelta, trims: bool, topology: &Clos) -> TimeDelta {
    let packet = topology.host_link.transmission(ByteCount::new(packet_bytes.into()));
    let queue = packet * base.as_ps().div_ceil(packet.as_ps().max(1));
    RTO + queue * if trims { 6 } else { 6 * UNTRIMMED }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, plan};
    use super::*;
    use crate::scenario::Scenario;
    use trimline_packet::BitRate;

    fn config(keys: &str) -> Config {
        testing::config(keys)
    }

    /// uet-htsim at its defaults: three tiers, links of 1 us at 100 Gb/s.
    const UET: &str = "topology.fattree.k = 4\nlinks = { rate = \"100Gbps\", delay = \"1us\" }\n\
        transport.nscc.payload = \"4086B\"\nworkload = [{ name = \"w\", pairs = [[0, 15]], size = \"2MB\" }]\n";

    #[test]
    fn every_key_is_read() {
        let keys = "transport.nscc = { payload = \"1000B\", trimming = false, path_choice = \"reps\", reps_freeze = \"3ms\", entropies = 7, base_rtt = \"30us\", target = \"7us\", \
            clear_delay = \"2us\", initial_window = \"9KB\", step = \"packet\", average = \"round-trip\", \
            quick_adapt = \"loss\", ack_every = \"5KB\", rto = \"44us\", rto_doublings = 3, time_wait = \"1ms\" }";
        let expected = Config {
            payload_bytes: 1000,
            trims: false,
            path_choice: PathChoice::Reps { freeze: TimeDelta::from_ms(3) },
            entropies: Some(7),
            ack_every: 5_000,
            rto: TimeDelta::from_us(44),
            rto_doublings: 3,
            time_wait: TimeDelta::from_ms(1),
            law: Law {
                step_bytes: 1064,
                packet_bytes: 1064,
                line: BitRate::from_gbps(10),
                base: TimeDelta::from_us(30),
                target: TimeDelta::from_us(7),
                clear: TimeDelta::from_us(2),
                first: Some(9_000),
                average: Average::RoundTrip,
                quick_adapt: QuickAdapt::Loss,
            },
            control: Control::Window,
        };
        assert_eq!(config(keys), expected);
        for (word, choice) in [
            ("mixed", PathChoice::Mixed),
            ("bitmap", PathChoice::Bitmap),
            ("oblivious", PathChoice::Oblivious),
            ("random", PathChoice::Random),
            ("permutation", PathChoice::Permutation),
        ] {
            let keys = format!("transport.nscc.path_choice = \"{word}\"");
            assert_eq!(config(&keys).path_choice, choice);
        }
        assert_eq!(config("transport.nscc = {}").path_choice, PathChoice::Mixed);
        let off = config("transport.nscc = { quick_adapt = \"off\" }").law.quick_adapt;
        assert_eq!(off, QuickAdapt::Off);
        for key in
            ["reps_freeze = \"1ms\"", "path_choice = \"permutation\"\ntransport.nscc.entropies = 7"]
        {
            let refused = plan(&format!("transport.nscc.{key}")).expect_err(key).to_string();
            assert!(refused.contains("beside a path choice"), "{refused}");
        }
        for key in ["rto", "base_rtt", "target"] {
            assert!(plan(&format!("transport.nscc.{key} = \"0s\"")).is_err(), "{key}");
        }
    }

    /// The figures that uet-htsim prints at its defaults.
    #[test]
    fn defaults_are_those_of_uet_htsim() {
        let uet = |more: &str| {
            let scenario = Scenario::parse("s.toml", &format!("{UET}{more}"), &[]);
            let plan = scenario.unwrap_or_else(|error| panic!("{error}")).runs[0].plan.clone();
            plan.transports[0].config::<Config>().expect("NSCC").clone()
        };
        let with = uet("");
        assert_eq!(with.law.base, TimeDelta::from_ps(14_022_720));
        assert_eq!(with.law.target, TimeDelta::from_ps(10_517_040));
        assert_eq!(Endpoint::max_window(&with), 262_926);
        assert_eq!((with.law.step_bytes, with.trims, with.ack_every), (4_086, true, 16_384));
        // 12 us at 10 Gb/s are 15,000 bytes.
        let short = config("transport.nscc.base_rtt = \"12us\"");
        assert_eq!(short.ack_every, 15_000 / 8);
        // 43 packets of 332 ns, six times.
        assert_eq!(with.rto, TimeDelta::from_ns(15_000 + 6 * 43 * 332));
        let without = uet("switch.profile = \"ecn\"");
        assert_eq!((without.law.target, without.trims), (without.law.base, false));
        assert_eq!(without.rto, TimeDelta::from_ns(15_000 + 30 * 43 * 332));
    }
}
