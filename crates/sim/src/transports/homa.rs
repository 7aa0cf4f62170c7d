//! Homa in the simulator (SIGCOMM 2018).

use std::sync::Arc;

use trimline_metrics::{Reading, Readings, SeriesColumn};
use trimline_packet::{ByteCount, Flags, HostId, Kind, Packet, ServiceClass, TimeDelta};
use trimline_transport::homa::{Config, Ending, Endpoint};
use trimline_transport::shell::ShellEndpoint as _;
use trimline_transport::{Framing, Side, WINDOW_LIMIT, flow};

use super::describe::time;
use super::homa_cutoffs::{Costs, cutoffs};
use super::{
    BYTES, DURATION, Form, Grammar, Group, Keys, PacketKind, Plan, Protocol, Sample, ScenarioError,
    Setting, Traits, Transport, Work, computed, fixed, windowed,
};
use crate::distributions::{self, distribution};
use crate::keys::quantity::{self, Quantity};
use crate::keys::read::read;
use crate::keys::tree::Node;
use crate::topology::Clos;

const FRAMING: Framing = <Endpoint as trimline_transport::Endpoint>::FRAMING;
const LEVELS: u8 = ServiceClass::TOP_PRIORITY + 1;

impl Protocol for Endpoint {
    type Config = Config;

    fn new(host: HostId, config: &Arc<Config>, _seed: u64) -> Self {
        Endpoint::new(host, Arc::clone(config))
    }

    fn time_wait(config: &Config) -> TimeDelta {
        config.time_wait
    }

    fn forget(&mut self, slot: u32) {
        Endpoint::forget(self, slot);
    }

    fn statistics_of(&self, slot: u32) -> flow::Statistics {
        *self.statistics(slot)
    }

    fn connections(&self) -> flow::Memory {
        self.shell().memory()
    }

    fn series_columns(_config: &Config) -> Vec<SeriesColumn> {
        COLUMNS.to_vec()
    }

    fn read(&self, slot: u32, side: Side, readings: &mut Readings<'_>) {
        match side {
            Side::Sending => readings.set("granted_unsent", self.granted_unsent(slot).into()),
            Side::Receiving => readings.set("outstanding_bytes", self.outstanding_bytes(slot)),
        }
    }
}

const COLUMNS: [SeriesColumn; 2] = [
    SeriesColumn {
        name: "granted_unsent",
        unit: "packets",
        about: "packets that the sender may send, unscheduled or granted, and has not sent",
        kind: Reading::Level,
        decimals: 0,
    },
    SeriesColumn {
        name: "outstanding_bytes",
        unit: "B",
        about: "bytes that the receiver has granted, or that needed no GRANT, and that have not arrived; headers counted",
        kind: Reading::Level,
        decimals: 0,
    },
];

static CUTOFFS: Grammar = Grammar {
    about: "A distribution of message sizes: each level then carries as many unscheduled bytes.",
    alternatives: &["distribution", "file"],
    keys: &[
        distributions::BUILT_IN_KEY,
        distributions::FILE_KEY,
        distributions::FORMAT_KEY,
        distributions::PACKET_KEY,
    ],
};

static GRAMMAR: Grammar = Grammar {
    about: "Parameters of Homa. Bytes of a round trip count headers, and links.framing; the header is of 76 B.",
    alternatives: &[],
    keys: &[
        fixed("payload", BYTES, "9000B", "Payload of a full packet; the header adds 76 B."),
        computed(
            "rtt_bytes",
            BYTES,
            "what the host's link sends in an idle round trip between the farthest hosts",
            "A message is granted its next packet while fewer bytes of it are on their way.",
        )
        .with_samples(&["1B", "100KB"]),
        computed(
            "unscheduled",
            BYTES,
            "the value of `rtt_bytes`",
            "Payload of a message that goes unasked.",
        )
        .with_samples(&["1B", "90KB"]),
        computed(
            "marked",
            Form::Integer(0, 65_535),
            "all",
            "Unscheduled packets of a message that bear the mark of unscheduled data, the first ones, when they are sent for the first time: what detours and Aeolus look for.",
        )
        .with_samples(&["0", "3"]),
        fixed(
            "aeolus",
            Form::Boolean,
            "false",
            "Whether a probe of 64 B follows the unscheduled packets. When it arrives, the receiver asks for the missing packets again, before others, by RESENDs (Aeolus, SIGCOMM 2020). The switch's part is switch.selective_drop.",
        )
        .with_samples(&["true"]),
        computed(
            "boost",
            BYTES,
            "rtt_bytes, as the simulator of its authors; 0B is the paper",
            "So many last bytes of a message are granted with the priority of an unscheduled message of that length, if that is more urgent.",
        )
        .with_samples(&["0B"]),
        computed(
            "unscheduled_levels",
            Form::Integer(1, LEVELS as i64),
            "those that scheduled_levels leaves, at most 7; 4 without it",
            "Priorities of unscheduled packets, from 7 downwards.",
        ),
        computed(
            "scheduled_levels",
            Form::Integer(1, LEVELS as i64),
            "those that unscheduled_levels leaves, at least one",
            "Priorities of granted packets, from 0 upwards.",
        )
        .with_samples(&["1", "3", "7"]),
        computed(
            "cutoffs",
            Form::Either(&[Form::List(&BYTES), Form::Table(&CUTOFFS)]),
            "equal parts of `unscheduled`",
            "Message bytes left up to which a packet has priority 7, then 6 and so on: one less than unscheduled_levels, or fewer; or the distribution of message sizes that they follow from.",
        ),
        computed(
            "overcommitment",
            Form::Integer(1, LEVELS as i64),
            "scheduled_levels",
            "Messages that a receiver grants at a time, each of another peer.",
        )
        .with_samples(&["1"]),
        fixed(
            "resend",
            DURATION,
            "2ms",
            "A receiver that misses granted packets for so long asks for them again; then it waits twice as long, up to 1024 times.",
        )
        .with_samples(&["20us", "200us"]),
        computed(
            "retry",
            DURATION,
            "twice `resend`",
            "A sender that has heard nothing for so long sends its first packet again; then it waits twice as long, up to 1024 times.",
        )
        .with_samples(&["20us", "200us", "4ms"]),
        fixed(
            "backoff",
            DURATION,
            "0s",
            "What a sender waits longer than `retry`, at most: drawn for each wait, and doubled with it (OPF, IFIP Networking 2024).",
        )
        .with_samples(&["50us", "1ms"]),
        fixed(
            "acks",
            Form::Boolean,
            "true",
            "Whether receivers acknowledge a message that is complete. Without, as in the simulator of its authors, a message ends at its sender when its receiver has asked for nothing for `linger`; a message that lacks packets then is lost. Where RESENDs may be lost too, give `linger` more than three times `resend`.",
        ),
        computed(
            "linger",
            DURATION,
            "twice `resend`",
            "With acks = false: how long after its last packet a message ends at its sender.",
        ),
        fixed(
            "time_wait",
            DURATION,
            "1ms",
            "How long both ends remember a message that has ended.",
        ),
    ],
};

/// Homa.
#[derive(Clone, Copy, Debug)]
pub struct Homa;

impl Transport for Homa {
    type Endpoint = Endpoint;
    const IS_BUILT_IN: bool = true;

    fn name(self) -> &'static str {
        "homa"
    }
    fn label(self) -> &'static str {
        "Homa"
    }
    fn colour(self) -> &'static str {
        "#56B4E9"
    }
    fn about(self) -> &'static str {
        "Homa (SIGCOMM 2018)."
    }
    fn grammar(self) -> &'static Grammar {
        &GRAMMAR
    }
    fn traits(self) -> Traits {
        Traits {
            keeps_paths: false,
            ends_flows: true,
            no_latencies: Some("whose senders hear of no packet's arrival"),
        }
    }
    /// Eight strict priorities.
    fn profile(self, _keys: &Keys<'_>) -> &'static str {
        "priorities"
    }

    fn resolve(self, keys: &Keys<'_>, setting: &Setting<'_>) -> Result<Config, ScenarioError> {
        let payload = keys.payload()?;
        if u16::MAX - payload < FRAMING.header {
            let max = u16::MAX - FRAMING.header;
            return Err(keys.refuse(
                "payload",
                format!("a payload of {payload} B with a header of {} B", FRAMING.header),
                format!("from 1B to {max}B"),
            ));
        }
        let link = &setting.topology.host_link;
        let overhead_bytes = FRAMING.header + link.framing_bytes;
        let rtt_bytes = size(keys, "rtt_bytes", round_trip_bytes(payload, setting.topology))?;
        let unscheduled = unscheduled_of(rtt_bytes, payload, overhead_bytes);
        let unscheduled_bytes = size(keys, "unscheduled", unscheduled)?;
        for (key, bytes) in [("rtt_bytes", rtt_bytes), ("unscheduled", unscheduled_bytes)] {
            let max = u64::from(WINDOW_LIMIT / 2) * u64::from(payload);
            if bytes == 0 || u64::from(bytes) > max {
                return Err(keys.refuse(
                    key,
                    format!("{bytes} B on their way unasked"),
                    format!("from 1B to {max}B, {} packets", WINDOW_LIMIT / 2),
                ));
            }
        }
        let (unscheduled_levels, scheduled_levels) = levels(keys)?;
        let overcommitment = keys.integer_or("overcommitment", scheduled_levels.into()) as u8;
        if overcommitment > scheduled_levels {
            return Err(keys.refuse(
                "overcommitment",
                format!("{overcommitment} messages at a time with {scheduled_levels} priorities"),
                format!("at most {scheduled_levels}, one for each of scheduled_levels"),
            ));
        }
        let resend = keys.timer("resend")?;
        let twice = TimeDelta::from_ps(resend.as_ps().saturating_mul(2));
        if keys.flag("acks") && keys.has("linger") {
            return Err(keys.refuse(
                "linger",
                "`linger` where receivers acknowledge",
                "`acks = false` beside it",
            ));
        }
        let mut config = Config {
            payload_bytes: payload,
            overhead_bytes,
            packet_time: link.transmission(ByteCount::new(FRAMING.wire_bytes(payload).into())),
            rtt_bytes,
            unscheduled_bytes,
            marked: 0,
            aeolus: keys.flag("aeolus"),
            boost_bytes: size(keys, "boost", rtt_bytes)?,
            unscheduled_levels,
            cutoffs: Vec::new(),
            scheduled_levels,
            overcommitment,
            resend,
            retry: keys.timer_or("retry", twice)?,
            backoff: keys.duration("backoff")?,
            ending: match keys.flag("acks") {
                true => Ending::Acknowledged,
                false => Ending::Silent(keys.timer_or("linger", twice)?),
            },
            time_wait: keys.duration("time_wait")?,
        };
        config.marked = keys.marked(config.unscheduled())?;
        config.cutoffs = cutoffs_of(keys, &config)?;
        Ok(config)
    }

    fn answers_marks(self, _config: &Config) -> bool {
        false
    }

    fn packet_kind(self, packet: &Packet) -> PacketKind {
        let is_of_opener = packet.header.flags.contains(Flags::FROM_OPENER);
        match (packet.header.kind, is_of_opener) {
            (Kind::Pull, _) => PacketKind::Grant,
            (Kind::Nack, true) => PacketKind::Probe,
            (Kind::Nack, false) => PacketKind::Resend,
            (Kind::Ack, true) => PacketKind::Busy,
            (kind @ (Kind::Data | Kind::Ack | Kind::Reset), _) => PacketKind::of_header(kind),
        }
    }
    fn payload_bytes(self, config: &Config) -> u16 {
        config.payload_bytes
    }

    fn with_payload(self, _config: &Config, _payload_bytes: u16) -> Result<Config, &'static str> {
        Err("both of whose ends count the packets of a message by one payload")
    }

    fn first_timeout(self, config: &Config) -> Option<(&'static str, TimeDelta)> {
        let timers = [("resend", config.resend), ("retry", config.retry)];
        timers.into_iter().min_by_key(|(_, time)| *time)
    }

    fn window(self, config: &Config) -> Option<(&'static str, u64)> {
        // A packet is granted while less than `rtt_bytes` is in flight.
        let packet = u32::from(config.payload_bytes) + u32::from(config.overhead_bytes);
        Some(("rtt_bytes", config.rtt_bytes.div_ceil(packet).into()))
    }

    fn describe(self, config: &Config) -> String {
        let cutoffs: Vec<String> = config.cutoffs.iter().map(u32::to_string).collect();
        format!(
            "Homa: {} B payload per packet, RTT bytes {} B; {} B of a message are unscheduled{}, at {}{}; grants to {} at a time, at {}; RESEND after {}, retry of the first packet after {}{}{}",
            config.payload_bytes,
            config.rtt_bytes,
            config.unscheduled_bytes,
            if config.aeolus { ", with a probe after them" } else { "" },
            match LEVELS - config.unscheduled_levels {
                7 => "priority 7".to_owned(),
                min => format!("priorities 7 to {min}"),
            },
            match &cutoffs[..] {
                [] => String::new(),
                cutoffs => format!(" by remaining size (up to {} B)", cutoffs.join(", ")),
            },
            match config.overcommitment {
                1 => "1 message".to_owned(),
                several => format!("{several} messages"),
            },
            match config.scheduled_levels {
                1 => "priority 0".to_owned(),
                levels => format!("priorities 0 to {}", levels - 1),
            },
            time(config.resend),
            time(config.retry),
            match config.backoff {
                TimeDelta::ZERO => String::new(),
                backoff => format!(" plus jitter up to {}", time(backoff)),
            },
            match config.ending {
                Ending::Acknowledged => String::new(),
                Ending::Silent(linger) =>
                    format!("; no ACKs: a message ends {} after its last packet", time(linger)),
            },
        )
    }

    fn work(self, config: &Config, plan: &Plan, group: &Group) -> Work {
        // At most a GRANT per packet.
        windowed(plan, config.payload_bytes, FRAMING, 1.0, group)
    }

    fn samples(self) -> &'static [Sample] {
        &[
            Sample {
                name: "homa, aeolus",
                keys: "rtt_bytes = \"72KB\"\nresend = \"100us\"\naeolus = true",
                min_bytes: 1_000_000,
            },
            Sample {
                name: "homa",
                keys: "rtt_bytes = \"72KB\"\nresend = \"100us\"",
                min_bytes: 1_000_000,
            },
            Sample {
                name: "homa, one message at a time, random waits",
                keys: "rtt_bytes = \"72KB\"\nresend = \"100us\"\nbackoff = \"300us\"\novercommitment = 1\n\
                       boost = \"0B\"\nunscheduled = \"9KB\"",
                min_bytes: 1_000_000,
            },
        ]
    }
}

fn size(keys: &Keys<'_>, key: &str, default: u32) -> Result<u32, ScenarioError> {
    let bytes = keys.bytes_or(key, ByteCount::new(default.into()))?.get();
    u32::try_from(bytes)
        .map_err(|_| keys.refuse(key, format!("{bytes} bytes"), format!("at most {}B", u32::MAX)))
}

/// Reads the numbers of priorities, unscheduled and scheduled.
fn levels(keys: &Keys<'_>) -> Result<(u8, u8), ScenarioError> {
    let level = |key: &str| keys.has(key).then(|| keys.integer(key) as u8);
    let (unscheduled, scheduled) = match (level("unscheduled_levels"), level("scheduled_levels")) {
        (None, None) => (4, 4),
        (Some(unscheduled), None) => (unscheduled, (LEVELS - unscheduled).max(1)),
        (None, Some(scheduled)) => ((LEVELS - scheduled).max(1), scheduled),
        (Some(unscheduled), Some(scheduled)) => (unscheduled, scheduled),
    };
    if unscheduled + scheduled <= LEVELS {
        return Ok((unscheduled, scheduled));
    }
    let key = if keys.has("scheduled_levels") { "scheduled_levels" } else { "unscheduled_levels" };
    Err(keys.refuse(
        key,
        format!("{unscheduled} priorities unscheduled and {scheduled} scheduled"),
        format!("{LEVELS} together, one of each at least"),
    ))
}

fn cutoffs_of(keys: &Keys<'_>, config: &Config) -> Result<Vec<u32>, ScenarioError> {
    let Some(node) = keys.node("cutoffs") else {
        return Ok(equal_parts(config.unscheduled_bytes, config.unscheduled_levels));
    };
    let Some(nodes) = node.list() else {
        let costs = Costs {
            payload: config.payload_bytes.into(),
            overhead: config.overhead_bytes.into(),
            grant: u64::from(config.overhead_bytes - (FRAMING.header - FRAMING.min)),
            unscheduled: config.unscheduled_bytes.into(),
            first_bytes: config.rtt_bytes.into(),
            last_bytes: config.boost_bytes.into(),
        };
        return Ok(cutoffs(&*distribution(node)?, config.unscheduled_levels, costs));
    };
    let bytes = |node: &Node| read(node, quantity::bytes, Quantity::Bytes).map(ByteCount::get);
    let given = nodes.iter().map(bytes).collect::<Result<Vec<u64>, _>>()?;
    let max = usize::from(config.unscheduled_levels) - 1;
    let ascends = given.windows(2).all(|two| two[0] < two[1]);
    let fits = given.iter().all(|&bytes| bytes <= u64::from(u32::MAX));
    if given.len() > max || !ascends || !fits {
        return Err(keys.refuse(
            "cutoffs",
            format!("{} cut-offs for {} priorities", given.len(), config.unscheduled_levels),
            format!("at most {max}, ascending, below 4 GiB"),
        ));
    }
    Ok(given.into_iter().map(|bytes| bytes as u32).collect())
}

/// Returns cut-offs that divide the unscheduled bytes in equal parts (chosen).
fn equal_parts(bytes: u32, levels: u8) -> Vec<u32> {
    let part = |level: u8| u64::from(bytes) * u64::from(level) / u64::from(levels);
    (1..levels).map(|level| part(level) as u32).collect()
}

/// Returns the payload of packets that take `rtt_bytes` on the link, at least one byte.
fn unscheduled_of(rtt_bytes: u32, payload: u16, overhead: u16) -> u32 {
    let (payload, overhead) = (u32::from(payload), u32::from(overhead));
    let (full, rest) = (rtt_bytes / (payload + overhead), rtt_bytes % (payload + overhead));
    (full * payload + rest.saturating_sub(overhead)).max(1)
}

/// Returns the link's wire bytes in an idle round trip between the farthest hosts.
fn round_trip_bytes(payload_bytes: u16, topology: &Clos) -> u32 {
    let round_trip = topology.idle_round_trip(payload_bytes, FRAMING).as_ps();
    let bits = u128::from(round_trip) * u128::from(topology.host_link.rate.as_bps());
    let bytes = bits.div_ceil(8 * 1_000_000_000_000);
    let max = u128::from(WINDOW_LIMIT / 2) * u128::from(payload_bytes);
    bytes.clamp(1, max.min(u32::MAX.into())) as u32
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, plan};
    use super::*;
    use trimline_switch::ServiceModel;

    fn config(keys: &str) -> Config {
        testing::config(keys)
    }

    fn refused(keys: &str) -> String {
        plan(&format!("transport.homa = {{ {keys} }}")).expect_err("a mistake")
    }

    #[test]
    fn the_defaults_of_the_authors_follow_from_their_round_trip() {
        let keys = "links.framing = \"20B\"\ntransport.homa = { payload = \"1442B\", rtt_bytes = \"10000B\", scheduled_levels = 1, cutoffs = { distribution = \"homa-w1\" } }";
        let config = config(keys);
        assert_eq!((config.overhead_bytes, config.unscheduled_bytes), (96, 1442 + 7886));
        assert_eq!(
            (config.boost_bytes, config.packet_time),
            (10_000, TimeDelta::from_ps(1_230_400))
        );
        assert_eq!((config.unscheduled_levels, config.overcommitment), (7, 1));
        assert_eq!(config.cutoffs, [11, 131, 280, 489, 794, 1360]);
    }

    #[test]
    fn the_round_trip_follows_from_the_network() {
        // Two links of 10 Gb/s and 1 us each way for 9076 B, and back for 76 B.
        let base = config("transport.homa = {}");
        let ps = 2 * (9076 + 76) * 800 + 4 * 1_000_000u64;
        assert_eq!(u64::from(base.rtt_bytes), ps.div_ceil(800));
        assert_eq!(base.unscheduled_bytes, 2 * 9000 + (base.rtt_bytes - 2 * 9076 - 76));
        assert_eq!((base.unscheduled_levels, base.scheduled_levels), (4, 4));
        let quarter = base.unscheduled_bytes / 4;
        assert_eq!((base.cutoffs[0], base.cutoffs.len()), (quarter, 3));
        assert_eq!((base.resend, base.retry), (TimeDelta::from_ms(2), TimeDelta::from_ms(4)));
    }

    #[test]
    fn every_key_is_read() {
        let keys = "transport.homa = { payload = \"1000B\", rtt_bytes = \"5000B\", unscheduled = \"3000B\", marked = 2, aeolus = true, boost = \"7B\", unscheduled_levels = 3, scheduled_levels = 2, cutoffs = [\"100B\", \"2KB\"], overcommitment = 1, resend = \"10us\", retry = \"11us\", backoff = \"12us\", acks = false, linger = \"13us\", time_wait = \"14us\" }";
        let us = TimeDelta::from_us;
        let expected = Config {
            rtt_bytes: 5000,
            unscheduled_bytes: 3000,
            marked: 2,
            aeolus: true,
            boost_bytes: 7,
            unscheduled_levels: 3,
            scheduled_levels: 2,
            cutoffs: vec![100, 2000],
            overcommitment: 1,
            resend: us(10),
            retry: us(11),
            backoff: us(12),
            ending: Ending::Silent(us(13)),
            time_wait: us(14),
            ..config("transport.homa.payload = \"1000B\"")
        };
        assert_eq!(config(keys), expected);
    }

    #[test]
    fn the_homa_switch_has_a_queue_for_each_priority() {
        let plan = plan("transport.homa = {}").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(plan.switch, ServiceModel::priorities(200, 9076));
    }

    #[test]
    fn all_queues_of_a_homa_switch_have_one_size() {
        let with = |keys: &str| plan(&format!("transport.homa = {{}}\nswitch = {{ {keys} }}"));
        let bytes = with("data_queue = \"20000B\"").expect("a switch").switch;
        let limits: Vec<u32> = (0..8).map(|queue| bytes.max_in_queue(queue).bytes).collect();
        assert_eq!(limits, [20_000; 8]);
        for (key, why) in [
            ("header_queue = \"8pkt\"", "which has a queue for each priority"),
            ("wrr = \"10:1\"", "which has a queue for each priority"),
            ("ecn_threshold = \"8pkt\"", "which does not mark"),
            ("pfc = {}", "which has several queues"),
        ] {
            let error = with(key).expect_err(key);
            assert!(error.contains(why) && error.contains("s.toml:4:"), "{error}");
        }
    }

    #[test]
    fn keys_that_contradict_each_other_are_refused() {
        for (keys, described) in [
            ("unscheduled_levels = 6, scheduled_levels = 3", "8 together"),
            ("unscheduled_levels = 8", "8 together"),
            ("scheduled_levels = 2, overcommitment = 3", "at most 2, one for each"),
            ("unscheduled_levels = 2, cutoffs = [\"1B\", \"2B\"]", "at most 1, ascending"),
            ("cutoffs = [\"3B\", \"2B\"]", "ascending"),
            ("unscheduled = \"0B\"", "from 1B to"),
            ("rtt_bytes = \"0B\"", "from 1B to"),
            ("rtt_bytes = \"4GB\"", "from 1B to"),
            ("rtt_bytes = \"5GB\"", "at most 4294967295B"),
            ("payload = \"65470B\"", "from 1B to 65459B"),
            ("resend = \"0s\"", "a time above zero"),
            ("unscheduled = \"18001B\", marked = 4", "at most 3, all that go unasked"),
            ("linger = \"1ms\"", "`acks = false` beside it"),
            ("cutoffs = { distribution = \"homa-w7\" }", "nearest"),
        ] {
            let error = refused(keys);
            assert!(error.contains(described) && error.contains("s.toml:3:"), "{keys}: {error}");
        }
    }
}
