//! The TCP family in the simulator: TCP, DCTCP and MPTCP, one endpoint under three names.

mod check;

use std::sync::Arc;

use trimline_metrics::{FlowRecord, Reading, Readings, SeriesColumn};
use trimline_packet::{Flags, HostId, Kind, Packet, TimeDelta};
use trimline_transport::shell::ShellEndpoint as _;
use trimline_transport::tcp::{
    Config, Control, Endpoint, FastLane, Handshake, MAX_SUBFLOWS, Notifications,
};
use trimline_transport::{Framing, Side, flow};

use self::check::check;
use super::describe::time;
use super::frames::Segments;
use super::{
    BYTES, DURATION, Form, Frames, Grammar, Group, Key, Keys, Need, PacketKind, Plan, Protocol,
    Sample, ScenarioError, Setting, Traits, Transport, Work, computed, fixed, windowed,
};
use crate::protocol::STALL_TIMEOUT;

/// Maximum receive window in segments: half the range of an ACK's 16 bits.
const MAX_WINDOW: i64 = 32_767;

const PAYLOAD: Key =
    fixed("payload", BYTES, "9000B", "Payload of a full segment; the header adds 64 B.");
const INITIAL_WINDOW: Key =
    fixed("initial_window", Form::Integer(1, MAX_WINDOW), "10", "Segments of the initial window.")
        .with_source("RFC 6928")
        .with_samples(&["1", "2", "40"]);
const INITIAL_THRESHOLD: Key = computed(
    "initial_threshold",
    Form::Integer(2, MAX_WINDOW),
    "the receive window",
    "Segments at which the first slow start ends.",
)
.with_source("RFC 5681: arbitrarily high")
.with_samples(&["2", "15"]);
const HANDSHAKE: Key = fixed(
    "handshake",
    Form::Word(&["three-way", "fast-open", "standing"]),
    "three-way",
    "\"three-way\": a SYN and its answer before data. \"fast-open\": the SYN carries the first segment (RFC 7413, the cookie known). \"standing\": the connection stood before; the first window is sent at once.",
)
.with_source("RFC 7413, the cookie known")
.with_samples(&["fast-open", "standing"]);
const ACK_EVERY: Key = fixed(
    "ack_every",
    Form::Integer(1, 255),
    "2",
    "Segments in order that one ACK answers. With 2 or more a mark leaves a window of at least two segments, with 1 of at least one.",
)
.with_source("RFC 5681")
.with_samples(&["1", "5"]);
const TIMERS: Key = fixed(
    "timers",
    Form::Word(&["linux", "datacenter", "rfc", "ns-3"]),
    "linux",
    "The defaults of ack_delay, rto_min and rto_initial. \"linux\": 40ms, 200ms, 1s, and without a key rto_min a time-out is at least the smoothed round trip and 200ms. \"datacenter\": 1ms, 5ms, 10ms (chosen; operators use an rto_min of 1ms to 10ms). \"rfc\": 500ms (RFC 1122), 1s, 1s (RFC 6298). \"ns-3\": 200ms, 200ms, 1s, a syn_timeout of 3s, and a time-out is the smoothed round trip and four times its variation, at least rto_min (ns-3.16 to ns-3.18).",
)
.with_source("RFC 1122; RFC 6298; ns-3.17, tcp-socket.cc and rtt-estimator.cc")
.with_samples(&["datacenter", "rfc", "ns-3"]);
const ACK_FIRST: Key = fixed(
    "ack_first",
    Form::Boolean,
    "false",
    "Whether the first segment of a connection is acknowledged at once. With false and an ack_every of 2 or more, an initial window of one segment waits for ack_delay. Needs an ack_every of 2 or more.",
)
.with_source("ns-3.17, tcp-socket-base.cc")
.with_samples(&["true"]);
const BYTE_COUNTING: Key = fixed(
    "byte_counting",
    Form::Boolean,
    "true",
    "Whether the window grows by the segments that an ACK answers, in slow start by two at most. With false each ACK counts as one segment, as in ns-3.",
)
.with_source("RFC 3465")
.with_samples(&["false"]);
const SYN_TIMEOUT: Key = computed(
    "syn_timeout",
    DURATION,
    "rto_initial; 3s with timers = \"ns-3\", or `rto_max` if it is smaller",
    "Time-out of a SYN without data; each repetition doubles it. Needs handshake = \"three-way\".",
)
.with_source("RFC 6298; ns-3.17, tcp-socket.cc")
.with_samples(&["1ms", "5ms"]);
const ACK_DELAY: Key =
    computed("ack_delay", DURATION, "the value of `timers`", "The maximum delay of an ACK.")
        .with_samples(&["1us", "100us", "5ms"]);
const RTO_INITIAL: Key = computed(
    "rto_initial",
    DURATION,
    "the value of `timers`, or `rto_max` if it is smaller",
    "Time-out before a round trip was measured.",
)
.with_samples(&["200us", "1ms", "10ms"]);
const RTO_MIN: Key = computed(
    "rto_min",
    DURATION,
    "the value of `timers`",
    "Minimum time-out. Except with timers = \"ns-3\" a time-out is also at least 3/2 of the smoothed round trip, and ack_delay more where ack_every is 2 or more.",
)
.with_samples(&["100us", "1ms"]);
const RTO_MAX: Key = fixed("rto_max", DURATION, "60s", "Maximum time-out.")
    .with_source("RFC 6298")
    // A run is given up after four times the default. If links lose half of all packets, four in a row are lost.
    .with_samples_only(&["10ms", "100ms", "1s"]);
const TIME_WAIT: Key = fixed(
    "time_wait",
    DURATION,
    "10ms",
    "How long both ends answer what is late after everything was acknowledged.",
);
const RECEIVE_WINDOW: Key = fixed(
    "receive_window",
    Form::Integer(1, MAX_WINDOW),
    "8192",
    "Segments that the receiver takes beyond the oldest one that is missing.",
)
.with_samples(&["1", "7", "1024"]);
const ORDER: Key = fixed(
    "order",
    Form::Word(&["round-robin", "arrival"]),
    "round-robin",
    "How the connections of a host share its link. \"round-robin\": a segment of each in turn. \"arrival\": segments leave in the order in which windows allowed them, as from a NIC with one queue. ACKs go first in both.",
)
.with_samples(&["arrival"]);
const SACK: Key = computed(
    "sack",
    Form::Boolean,
    "true; false with notifications = \"fastlane\"",
    "Whether receivers say which segments they have, and senders recover by it (RFC 2018, RFC 6675).",
)
.with_source("RFC 2018, RFC 6675")
.with_samples(&["true", "false"]);
const DSACK: Key = fixed(
    "dsack",
    Form::Boolean,
    "false",
    "Whether receivers say which segments came twice, and senders take back what was for nothing (RFC 2883, RFC 3708). Needs sack.",
)
.with_source("RFC 2883, RFC 3708")
.with_samples(&["true", "false"]);
const TIMESTAMPS: Key = computed(
    "timestamps",
    Form::Boolean,
    "true; false with notifications = \"fastlane\"",
    "Whether ACKs without SACK blocks echo times (RFC 7323): round trips also of what was resent, and the Eifel detection (RFC 3522).",
)
.with_source("RFC 7323; RFC 3522")
.with_samples(&["true", "false"]);
const FRTO: Key = fixed(
    "frto",
    Form::Boolean,
    "false",
    "Whether time-outs are tested for being spurious (F-RTO, RFC 5682).",
)
.with_source("F-RTO, RFC 5682")
.with_samples(&["true", "false"]);
const ECN: Key = fixed(
    "ecn",
    Form::Boolean,
    "false",
    "Whether senders react to marks (RFC 3168). The switch profile is then ecn by default.",
)
.with_source("RFC 3168")
.with_samples(&["true"]);
const RESTART_AFTER_IDLE: Key = fixed(
    "restart_after_idle",
    Form::Boolean,
    "false",
    "Whether a persistent connection that was idle for longer than its time-out restarts with at most the initial window (RFC 5681 4.1). With false it keeps its window however long it is idle.",
)
.with_source("RFC 5681 4.1")
.with_samples(&["true"]);

const NOTIFICATIONS: Key = fixed(
    "notifications",
    Form::Word(&["ignored", "source-quench", "fastlane", "cut-payload"]),
    "ignored",
    "What is done about notifications of switches. \"ignored\". \"source-quench\": the window is reduced as for a mark, and nothing resent (FastLane 2.2.1). \"fastlane\": what was dropped is resent at once, half a window at a time, and duplicate ACKs say nothing of loss (FastLane 3.4.1); not with sack, timestamps or frto. \"cut-payload\": switches trim segments, the receiver answers a trimmed segment with a NACK, and the sender resends it at once (CP, NDP 2.3); with sack. The switch profile is then source-quench, fastlane or cut-payload by default.",
)
.with_samples(&["source-quench", "fastlane", "cut-payload"]);
const MAX_SIM_SHIFT: Key = fixed(
    "max_sim_shift",
    Form::Integer(0, 8),
    "1",
    "With fastlane: how much less may be resent at a time with each further try of a segment, as a shift. 1: half as much.",
)
.with_samples(&["0", "2"]);

static TCP: Grammar = Grammar {
    about: "Parameters of TCP. Everything that a SYN negotiates is the same at all hosts.",
    alternatives: &[],
    keys: &[
        fixed(
            "control",
            Form::Word(&["newreno", "cubic"]),
            "newreno",
            "How the window moves: NewReno (RFC 5681, RFC 6582) or CUBIC (RFC 9438).",
        )
        .with_source("RFC 5681, RFC 6582; RFC 9438")
        .with_samples(&["cubic"]),
        PAYLOAD,
        INITIAL_WINDOW,
        INITIAL_THRESHOLD,
        ECN,
        ORDER,
        SACK,
        DSACK,
        TIMESTAMPS,
        FRTO,
        NOTIFICATIONS,
        MAX_SIM_SHIFT,
        HANDSHAKE,
        ACK_EVERY,
        ACK_FIRST,
        BYTE_COUNTING,
        TIMERS,
        ACK_DELAY,
        SYN_TIMEOUT,
        RTO_INITIAL,
        RTO_MIN,
        RTO_MAX,
        TIME_WAIT,
        RECEIVE_WINDOW,
        RESTART_AFTER_IDLE,
    ],
};

static DCTCP: Grammar = Grammar {
    about: "Parameters of DCTCP: TCP that reacts to the share of marked segments.",
    alternatives: &[],
    keys: &[
        fixed(
            "gain_shift",
            Form::Integer(0, 16),
            "4",
            "The share is averaged with the gain 2^-gain_shift.",
        )
        .with_source("RFC 8257")
        .with_samples(&["0", "1", "5"]),
        fixed(
            "grows_when_marked",
            Form::Boolean,
            "false",
            "Whether an ACK that echoes a mark lets the window grow, as in htsim.",
        )
        .with_source("RFC 3168 6.1.2")
        .with_samples(&["true"]),
        fixed(
            "alpha_from_zero",
            Form::Boolean,
            "false",
            "Whether the averaged share begins at 0, as in htsim, so that the first marks hardly count. With false it begins at 1.",
        )
        .with_source("RFC 8257 4.2")
        .with_samples(&["true"]),
        PAYLOAD,
        INITIAL_WINDOW,
        INITIAL_THRESHOLD,
        ORDER,
        SACK,
        DSACK,
        TIMESTAMPS,
        FRTO,
        NOTIFICATIONS,
        MAX_SIM_SHIFT,
        HANDSHAKE,
        ACK_EVERY,
        ACK_FIRST,
        BYTE_COUNTING,
        TIMERS,
        ACK_DELAY,
        SYN_TIMEOUT,
        RTO_INITIAL,
        RTO_MIN,
        RTO_MAX,
        TIME_WAIT,
        RECEIVE_WINDOW,
        RESTART_AFTER_IDLE,
    ],
};

static MPTCP: Grammar = Grammar {
    about: "Parameters of Multipath TCP: NewReno on each subflow, what a subflow's time-out leaves behind sent on the others too.",
    alternatives: &[],
    keys: &[
        fixed(
            "subflows",
            Form::Integer(2, MAX_SUBFLOWS as i64),
            "8",
            "Subflows of a connection, each with a path of its own while there are others.",
        )
        .with_samples(&["2", "3"]),
        fixed(
            "control",
            Form::Word(&["coupled", "uncoupled"]),
            "coupled",
            "Whether the increases of subflows are linked. \"coupled\" (RFC 6356): together the subflows are as aggressive as one flow. \"uncoupled\": each subflow grows as a flow does (the default of htsim's programs, UNCOUPLED).",
        )
        .with_source("RFC 6356")
        .with_samples(&["uncoupled"]),
        PAYLOAD,
        INITIAL_WINDOW,
        INITIAL_THRESHOLD,
        ORDER,
        ECN,
        TIMESTAMPS,
        FRTO,
        HANDSHAKE,
        ACK_EVERY,
        ACK_FIRST,
        BYTE_COUNTING,
        TIMERS,
        ACK_DELAY,
        SYN_TIMEOUT,
        RTO_INITIAL,
        RTO_MIN,
        RTO_MAX,
        TIME_WAIT,
        RECEIVE_WINDOW,
        RESTART_AFTER_IDLE,
    ],
};

const FRAMING: Framing = <Endpoint as trimline_transport::Endpoint>::FRAMING;

impl Protocol for Endpoint {
    const TAKES_MESSAGES: bool = true;

    type Config = Config;

    fn new(host: HostId, config: &Arc<Config>, _seed: u64) -> Self {
        Endpoint::new(host, Arc::clone(config))
    }

    fn time_wait(config: &Config) -> TimeDelta {
        config.time_wait
    }

    /// A segment that was lost repeatedly waits up to `rto_max` for its next time-out.
    fn stall_timeout(config: &Config) -> TimeDelta {
        STALL_TIMEOUT.max(config.rto_max * 4)
    }

    fn forget(&mut self, slot: u32) {
        Endpoint::forget(self, slot);
    }

    fn statistics_of(&self, slot: u32) -> flow::Statistics {
        let seen = self.receiver_statistics(slot);
        let (packets, bytes) = (seen.packets, seen.bytes);
        flow::Statistics { packets, bytes, ..flow::Statistics::default() }
    }

    fn record_sender(&self, slot: u32, record: &mut FlowRecord) {
        let seen = self.sender_statistics(slot);
        record.packets_sent = seen.packets_sent;
        record.retransmissions_signalled = seen.retransmissions_fast;
        record.retransmissions_timeout = seen.retransmissions_timeout;
        record.retransmissions_return = seen.retransmissions_notified.into();
        record.returns = seen.notifications.into();
        record.timeouts = seen.timeouts;
    }

    fn connections(&self) -> flow::Memory {
        self.shell().memory()
    }

    fn series_columns(config: &Config) -> Vec<SeriesColumn> {
        let is_dctcp = match config.control {
            Control::Dctcp { .. } => true,
            Control::NewReno | Control::Cubic => false,
        };
        [WINDOW, IN_FLIGHT, ROUND_TRIP].into_iter().chain(is_dctcp.then_some(ALPHA)).collect()
    }

    fn read(&self, slot: u32, side: Side, readings: &mut Readings<'_>) {
        match side {
            Side::Sending => {
                let now = self.progress(slot);
                readings.set(WINDOW.name, rounded(now.window, 1000));
                readings.set(IN_FLIGHT.name, now.in_flight.into());
                if let Some(time) = now.round_trip {
                    readings.set(ROUND_TRIP.name, time.as_ps());
                }
                if let Some(alpha) = now.alpha {
                    readings.set(ALPHA.name, rounded(alpha, 1_000_000));
                }
            }
            Side::Receiving => {}
        }
    }
}

/// Converts Q32.32 to a multiple of 1 / `parts`, rounded half up.
fn rounded(number: u64, parts: u64) -> u64 {
    ((u128::from(number) * u128::from(parts) + (1 << 31)) >> 32) as u64
}

const WINDOW: SeriesColumn = SeriesColumn {
    name: "window_packets",
    unit: "packets",
    about: "congestion window, summed over subflows",
    kind: Reading::Level,
    decimals: 3,
};
const IN_FLIGHT: SeriesColumn = SeriesColumn {
    name: "in_flight_packets",
    unit: "packets",
    about: "sent, and neither acknowledged nor taken for lost, summed over subflows",
    kind: Reading::Level,
    decimals: 0,
};
const ROUND_TRIP: SeriesColumn = SeriesColumn {
    name: "round_trip_ps",
    unit: "ps",
    about: "smoothed round trip, of the subflow with the longest",
    kind: Reading::Level,
    decimals: 0,
};
const ALPHA: SeriesColumn = SeriesColumn {
    name: "alpha",
    unit: "share",
    about: "DCTCP's average share of marked segments",
    kind: Reading::Level,
    decimals: 6,
};

/// The TCP family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// NewReno or CUBIC.
    Tcp,
    /// DCTCP (RFC 8257).
    Dctcp,
    /// NewReno on several subflows, whose increases are coupled or not (RFC 6356).
    Mptcp,
}

/// A sample with short timers for the suite's two milliseconds.
macro_rules! sample {
    ($name:literal, $keys:literal) => {
        Sample {
            name: $name,
            keys: concat!(
                "ack_delay = \"100us\"\nrto_initial = \"1ms\"\nrto_min = \"1ms\"\n",
                $keys
            ),
            // Queues of eight packets, or of one, that cannot trim TCP leave it little.
            min_bytes: 1_000_000,
        }
    };
}

impl Transport for Family {
    type Endpoint = Endpoint;
    const IS_BUILT_IN: bool = true;

    fn name(self) -> &'static str {
        match self {
            Family::Tcp => "tcp",
            Family::Dctcp => "dctcp",
            Family::Mptcp => "mptcp",
        }
    }
    fn label(self) -> &'static str {
        match self {
            Family::Tcp => "TCP",
            Family::Dctcp => "DCTCP",
            Family::Mptcp => "MPTCP",
        }
    }
    fn colour(self) -> &'static str {
        match self {
            Family::Tcp => "#000000",
            Family::Dctcp => "#D55E00",
            Family::Mptcp => "#009E73",
        }
    }
    fn about(self) -> &'static str {
        match self {
            Family::Tcp => "TCP: NewReno or CUBIC.",
            Family::Dctcp => "DCTCP (RFC 8257).",
            Family::Mptcp => "Multipath TCP.",
        }
    }
    fn grammar(self) -> &'static Grammar {
        match self {
            Family::Tcp => &TCP,
            Family::Dctcp => &DCTCP,
            Family::Mptcp => &MPTCP,
        }
    }
    fn traits(self) -> Traits {
        Traits {
            keeps_paths: true,
            ends_flows: true,
            no_latencies: Some("whose ACKs answer several segments"),
        }
    }
    fn profile(self, keys: &Keys<'_>) -> &'static str {
        match self.notifications(keys) {
            "fastlane" => "fastlane",
            "source-quench" => "source-quench",
            "cut-payload" => "cut-payload",
            _ if self.marks(keys) => "ecn",
            _ => "drop-tail",
        }
    }

    fn resolve(self, keys: &Keys<'_>, _setting: &Setting<'_>) -> Result<Config, ScenarioError> {
        let count = |key| keys.integer(key) as u16;
        let rto_max = keys.duration("rto_max")?;
        let timers = keys.one_of(
            "timers",
            [
                ("linux", [40, 200, 1000]),
                ("datacenter", [1, 5, 10]),
                ("rfc", [500, 1000, 1000]),
                ("ns-3", [200, 200, 1000]),
            ],
        );
        let [ack_delay, rto_min, rto_initial] = timers.map(TimeDelta::from_ms);
        let rto_initial = keys.duration_or("rto_initial", rto_initial.min(rto_max))?;
        let is_ns3 = keys.word("timers") == "ns-3";
        let syn_timeout = if is_ns3 { TimeDelta::from_ms(3000).min(rto_max) } else { rto_initial };
        let receive_window = count("receive_window");
        let notifications = match self {
            Family::Mptcp => Notifications::Ignored,
            Family::Tcp | Family::Dctcp => {
                let fastlane = FastLane { retry_shift: count("max_sim_shift") as u8 };
                let values = [
                    ("ignored", Notifications::Ignored),
                    ("source-quench", Notifications::Quench),
                    ("fastlane", Notifications::FastLane(fastlane)),
                    ("cut-payload", Notifications::CutPayload),
                ];
                keys.one_of("notifications", values)
            }
        };
        let has_options = !matches!(notifications, Notifications::FastLane(_));
        let config = Config {
            is_fifo: keys.one_of("order", [("round-robin", false), ("arrival", true)]),
            payload_bytes: keys.payload()?,
            initial_window: count("initial_window"),
            initial_threshold: keys.integer_or("initial_threshold", receive_window.into()) as u16,
            control: match self {
                Family::Dctcp => Control::Dctcp { gain_shift: count("gain_shift") as u8 },
                Family::Tcp => keys
                    .one_of("control", [("newreno", Control::NewReno), ("cubic", Control::Cubic)]),
                Family::Mptcp => Control::NewReno,
            },
            subflows: match self {
                Family::Tcp | Family::Dctcp => 1,
                Family::Mptcp => count("subflows") as u8,
            },
            coupled: match self {
                Family::Tcp | Family::Dctcp => true,
                Family::Mptcp => keys.one_of("control", [("coupled", true), ("uncoupled", false)]),
            },
            ecn: self.marks(keys),
            sack: self != Family::Mptcp && keys.flag_or("sack", has_options),
            dsack: self != Family::Mptcp && keys.flag("dsack"),
            timestamps: keys.flag_or("timestamps", has_options),
            frto: keys.flag("frto"),
            handshake: keys.one_of(
                "handshake",
                [
                    ("three-way", Handshake::ThreeWay),
                    ("fast-open", Handshake::FastOpen),
                    ("standing", Handshake::Standing),
                ],
            ),
            ack_every: count("ack_every") as u8,
            ack_first: keys.flag("ack_first"),
            ack_delay: keys.duration_or("ack_delay", ack_delay)?,
            byte_counting: keys.flag("byte_counting"),
            syn_timeout: keys.duration_or("syn_timeout", syn_timeout)?,
            rto_initial,
            rto_min: keys.duration_or("rto_min", rto_min)?,
            rto_variance_min: match keys.word("timers") {
                // `tcp_rto_min` bounds the variance (`tcp_rtt_estimator`). A scenario's `rto_min` bounds the RTO.
                "linux" if !keys.has("rto_min") => rto_min,
                _ => TimeDelta::ZERO,
            },
            rto_margin: !is_ns3,
            rto_max,
            // Twice the wait of a segment in a queue of a thousand full packets at 10 Gb/s, and a margin (RFC 9293: 2
            // MSL).
            time_wait: keys.duration("time_wait")?,
            receive_window,
            restart_after_idle: keys.flag("restart_after_idle"),
            grows_when_marked: self == Family::Dctcp && keys.flag("grows_when_marked"),
            alpha_from_zero: self == Family::Dctcp && keys.flag("alpha_from_zero"),
            notifications,
        };
        check(&config, keys)?;
        Ok(config)
    }

    fn answers_marks(self, config: &Config) -> bool {
        config.ecn
    }

    fn packet_kind(self, packet: &Packet) -> PacketKind {
        let is_syn = packet.header.flags.contains(Flags::SYN);
        let is_without_data = packet.wire_bytes <= Packet::HEADER_BYTES;
        match packet.header.kind {
            Kind::Data if is_syn && is_without_data => PacketKind::Syn,
            Kind::Ack if is_syn => PacketKind::SynAck,
            kind => PacketKind::of_header(kind),
        }
    }
    fn payload_bytes(self, config: &Config) -> u16 {
        config.payload_bytes
    }

    fn with_payload(self, config: &Config, payload_bytes: u16) -> Result<Config, &'static str> {
        if matches!(config.notifications, Notifications::FastLane(_)) {
            return Err(
                "whose receivers count what arrived out of order by one payload (FastLane)",
            );
        }
        Ok(Config { payload_bytes, ..config.clone() })
    }

    fn need(self, config: &Config) -> Option<(&'static str, Need)> {
        let need = match config.notifications {
            Notifications::Ignored => return None,
            Notifications::CutPayload => Need::Trimming,
            Notifications::Quench | Notifications::FastLane(_) => Need::Notification,
        };
        Some(("notifications", need))
    }

    fn window(self, config: &Config) -> Option<(&'static str, u64)> {
        Some(("receive_window", config.receive_window.into()))
    }

    fn describe(self, config: &Config) -> String {
        let name = match (self, config.control) {
            (Family::Dctcp, _) => "DCTCP".to_owned(),
            (Family::Mptcp, _) => format!(
                "MPTCP with {} {}subflows",
                config.subflows,
                if config.coupled { "" } else { "uncoupled " }
            ),
            (Family::Tcp, Control::Cubic) => "TCP CUBIC".to_owned(),
            (Family::Tcp, Control::NewReno | Control::Dctcp { .. }) => "TCP NewReno".to_owned(),
        };
        let options = [
            (config.ecn, "ECN"),
            (config.sack, "SACK"),
            (config.dsack, "DSACK"),
            (config.timestamps, "timestamps"),
            (config.frto, "F-RTO"),
            (config.restart_after_idle, "restart after idle"),
            (config.ack_first, "the first segment acknowledged at once"),
            (!config.byte_counting, "growth by ACKs"),
            (config.grows_when_marked, "window growth on marked ACKs"),
            (config.alpha_from_zero, "initial alpha 0"),
            (config.notifications == Notifications::Quench, "Source Quench"),
            (config.notifications == Notifications::CutPayload, "NACKs of trimmed segments (CP)"),
            (matches!(config.notifications, Notifications::FastLane(_)), "FastLane"),
        ];
        let options: Vec<&str> =
            options.iter().filter(|(is_on, _)| *is_on).map(|&(_, name)| name).collect();
        format!(
            "{name}: initial window {} segments, {} B payload per segment, RTO {} to {}, an ACK per {} or after {}{}{}",
            config.initial_window,
            config.payload_bytes,
            match config.rto_variance_min {
                TimeDelta::ZERO => time(config.rto_min),
                variance => format!("SRTT + {}", time(variance)),
            },
            time(config.rto_max),
            match config.ack_every {
                1 => "segment".to_owned(),
                several => format!("{several} segments"),
            },
            time(config.ack_delay),
            if options.is_empty() { "" } else { ", " },
            options.join(", "),
        )
    }

    fn slow_timers(self, config: &Config) -> Option<String> {
        // Operators of data centres set lower values.
        const SLOW: TimeDelta = TimeDelta::from_ms(10);
        (config.rto_min > SLOW || config.ack_delay > SLOW).then(|| {
            format!(
                "minimum time-out {}, ACKs delayed by up to {}",
                time(config.rto_min),
                time(config.ack_delay)
            )
        })
    }

    fn first_timeout(self, config: &Config) -> Option<(&'static str, TimeDelta)> {
        let has_syn = config.handshake == Handshake::ThreeWay;
        match has_syn && config.syn_timeout < config.rto_initial {
            true => Some(("syn_timeout", config.syn_timeout)),
            false => Some(("rto_initial", config.rto_initial)),
        }
    }

    fn work(self, config: &Config, plan: &Plan, group: &Group) -> Work {
        windowed(plan, config.payload_bytes, FRAMING, 1.0 / f64::from(config.ack_every), group)
    }

    fn frames(self, config: &Config, packets: &[Packet]) -> Option<Box<dyn Frames>> {
        Some(Box::new(Segments::new(config, packets)))
    }

    fn samples(self) -> &'static [Sample] {
        match self {
            Family::Tcp => &[
                sample!("tcp", "sack = false\ntimestamps = false"),
                sample!("tcp-sack", "dsack = true\nfrto = true\ntimestamps = false"),
                sample!("cubic", "control = \"cubic\""),
                sample!("tcp, told of drops", "notifications = \"fastlane\""),
                sample!("tcp, quenched", "notifications = \"source-quench\""),
                sample!("tcp, NACKs of trimmed segments", "notifications = \"cut-payload\""),
            ],
            Family::Dctcp => &[
                sample!("dctcp", ""),
                sample!("dctcp, told of drops", "notifications = \"fastlane\""),
            ],
            Family::Mptcp => {
                &[sample!("mptcp", ""), sample!("mptcp, uncoupled", "control = \"uncoupled\"")]
            }
        }
    }
}

impl Family {
    /// Returns the reaction to notifications of switches: MPTCP has none.
    fn notifications<'a>(self, keys: &Keys<'a>) -> &'a str {
        if self == Family::Mptcp { "ignored" } else { keys.word("notifications") }
    }

    fn marks(self, keys: &Keys<'_>) -> bool {
        self == Family::Dctcp || keys.flag("ecn")
    }
}

#[cfg(test)]
mod tests;
