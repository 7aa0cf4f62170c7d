//! pHost in the simulator (CoNEXT 2015).

use std::sync::Arc;

use trimline_metrics::{Reading, Readings, SeriesColumn};
use trimline_packet::{BitRate, ByteCount, Flags, HostId, Kind, Packet, TimeDelta};
use trimline_transport::phost::{Config, Endpoint, FreeTokens, Order, ReceiverRules};
use trimline_transport::shell::ShellEndpoint as _;
use trimline_transport::{Framing, Side, flow};

use super::describe::time;
use super::{
    BYTES, DURATION, Form, Grammar, Group, Keys, PacketKind, Plan, Protocol, Sample, ScenarioError,
    Setting, Traits, Transport, Work, computed, fixed, windowed,
};
use crate::topology::{Clos, LinkSpec};

const FRAMING: Framing = <Endpoint as trimline_transport::Endpoint>::FRAMING;

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
            Side::Sending => {
                let now = readings.now();
                readings.set("tokens_held", self.tokens_held(slot, now).into());
            }
            Side::Receiving => {
                readings.set("tokens_unanswered", self.tokens_unanswered(slot));
            }
        }
    }
}

const COLUMNS: [SeriesColumn; 2] = [
    SeriesColumn {
        name: "tokens_held",
        unit: "packets",
        about: "tokens that the sender may still use, the free ones among them",
        kind: Reading::Level,
        decimals: 0,
    },
    SeriesColumn {
        name: "tokens_unanswered",
        unit: "packets",
        about: "tokens of the receiver that no packet has answered, the free ones among them",
        kind: Reading::Level,
        decimals: 0,
    },
];

const ORDERS: Form = Form::Word(&["srpt", "fair"]);

static GRAMMAR: Grammar = Grammar {
    about: "Parameters of pHost. A packet time is the transmission time of a full packet on the host's link.",
    alternatives: &[],
    keys: &[
        fixed("payload", BYTES, "9000B", "Payload of a full packet; the header adds 64 B."),
        computed(
            "free_tokens",
            Form::Integer(0, 32_767),
            "8 (pHost, at 10 Gb/s); where hosts have faster links the packets of an idle round trip between the farthest hosts if they are more",
            "First packets of a flow that wait for no token.",
        )
        .with_samples(&["0", "1", "40"]),
        fixed(
            "free_for",
            Form::Word(&["all", "short"]),
            "all",
            "The flows that have free tokens: \"all\", or \"short\" ones that need no other tokens.",
        )
        .with_samples(&["short"]),
        computed(
            "marked",
            Form::Integer(0, 32_767),
            "as free_tokens",
            "First packets of a flow that bear the mark of unscheduled data, when they go on free tokens for the first time: what detours and Aeolus look for.",
        )
        .with_samples(&["0", "2"]),
        computed(
            "token_window",
            Form::Integer(1, 32_767),
            "as free_tokens",
            "Tokens of a flow that may be unanswered, the free ones counted.",
        )
        .with_samples(&["1", "2", "30"]),
        computed(
            "token_expiry",
            DURATION,
            "1.5 packet times",
            "How long a sender may use a token: a packet time at least.",
        )
        .with_samples(&["500ns", "7300ns", "200us"]),
        computed(
            "downgrade",
            DURATION,
            "25 packet times for each 8 tokens of the default window",
            "A flow with a window of unanswered tokens gets no other for so long after the last one.",
        )
        .with_samples(&["7us", "700us"]),
        computed(
            "resend",
            DURATION,
            "9 packet times for each 8 tokens of the default window",
            "When all packets were asked for, the missing ones are asked for again so long after the last token.",
        )
        .with_samples(&["7us", "350us"]),
        fixed(
            "receiver",
            Form::Word(&["prompt", "yaps"]),
            "prompt",
            "What the paper leaves open of receivers. \"prompt\": a flow may have a token as soon as data answers an older one; free tokens cost no others; packets on them are asked for again after a packet time each and `resend`. \"yaps\", as the simulator of its authors: a receiver whose flows all wait gives no token before the first wait ends or an RTS arrives; an RTS of a flow with free tokens for all its packets makes it leave out as many; such packets are asked for again after two packet times each.",
        )
        .with_samples(&["yaps"]),
        computed(
            "rts_repeat",
            DURATION,
            "100 packet times for each 8 tokens of the default window",
            "A sender that has heard nothing for so long repeats its RTS; then it waits twice as long, up to eight times, and longer after 64 repeats.",
        )
        .with_samples(&["70us"]),
        fixed(
            "receiver_order",
            ORDERS,
            "srpt",
            "Which flow a receiver gives its next token: \"srpt\", that with the fewest packets left, or \"fair\", each in turn.",
        )
        .with_samples(&["fair"]),
        fixed(
            "sender_order",
            Form::Word(&["srpt", "reported", "fair"]),
            "srpt",
            "Which flow's token a sender uses next: \"srpt\", that with the fewest packets not sent yet; \"reported\", as the simulator of its authors, that with the fewest packets not arrived, as its last token says, and all where it has had none; or \"fair\", each in turn.",
        )
        .with_samples(&["fair", "reported"]),
        fixed("time_wait", DURATION, "1ms", "How long both ends remember a flow that has ended."),
    ],
};

/// pHost.
#[derive(Clone, Copy, Debug)]
pub struct Phost;

impl Transport for Phost {
    type Endpoint = Endpoint;
    const IS_BUILT_IN: bool = true;

    fn name(self) -> &'static str {
        "phost"
    }
    fn label(self) -> &'static str {
        "pHost"
    }
    fn colour(self) -> &'static str {
        "#E69F00"
    }
    fn about(self) -> &'static str {
        "pHost (CoNEXT 2015)."
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
    /// Control packets first, and eight packets of data. Packets that may not be trimmed are dropped.
    fn profile(self, _keys: &Keys<'_>) -> &'static str {
        "p4"
    }

    fn resolve(self, keys: &Keys<'_>, setting: &Setting<'_>) -> Result<Config, ScenarioError> {
        let (payload_bytes, topology) = (keys.payload()?, setting.topology);
        let tokens = default_tokens(payload_bytes, topology);
        let packet_time = packet_time(payload_bytes, &topology.host_link);
        // The paper's times in packet times, as far as given; `spec/deviations.toml` lists the others.
        let sides =
            |count: u64| TimeDelta::from_ps(packet_time.as_ps().saturating_mul(count).div_ceil(2));
        // Waits last as many windows as in the paper.
        let of_window = |count: u64| {
            let time = u128::from(sides(count).as_ps()) * u128::from(tokens) / u128::from(TOKENS);
            TimeDelta::from_ps(u64::try_from(time).unwrap_or(u64::MAX))
        };
        let order = |key| {
            let orders =
                [("srpt", Order::Srpt), ("reported", Order::Reported), ("fair", Order::Fair)];
            keys.one_of(key, orders)
        };
        let free_tokens = keys.integer_or("free_tokens", tokens);
        let config = Config {
            payload_bytes,
            packet_time,
            free_tokens,
            marked: keys.marked(free_tokens)?,
            free_for: keys.one_of(
                "free_for",
                [("all", FreeTokens::AllFlows), ("short", FreeTokens::ShortFlows)],
            ),
            token_window: keys.integer_or("token_window", tokens),
            token_expiry: keys.duration_or("token_expiry", sides(3))?,
            downgrade: keys.timer_or("downgrade", of_window(50))?,
            resend: keys.timer_or("resend", of_window(18))?,
            receiver: keys.one_of(
                "receiver",
                [("prompt", ReceiverRules::Prompt), ("yaps", ReceiverRules::Yaps)],
            ),
            rts_repeat: keys.timer_or("rts_repeat", of_window(200))?,
            time_wait: keys.duration("time_wait")?,
            receiver_order: order("receiver_order"),
            sender_order: order("sender_order"),
        };
        if config.token_expiry < config.packet_time {
            return Err(keys.refuse(
                "token_expiry",
                "tokens that expire within the time of a packet",
                format!(
                    "{} at least, the time of a packet on the host's link",
                    time(config.packet_time)
                ),
            ));
        }
        Ok(config)
    }

    fn answers_marks(self, _config: &Config) -> bool {
        false
    }

    fn packet_kind(self, packet: &Packet) -> PacketKind {
        let is_of_opener = packet.header.flags.contains(Flags::FROM_OPENER);
        match (packet.header.kind, is_of_opener) {
            (Kind::Pull, true) => PacketKind::Rts,
            (Kind::Pull, false) => PacketKind::Token,
            (kind @ (Kind::Data | Kind::Ack | Kind::Nack | Kind::Reset), _) => {
                PacketKind::of_header(kind)
            }
        }
    }
    fn payload_bytes(self, config: &Config) -> u16 {
        config.payload_bytes
    }

    fn with_payload(self, _config: &Config, _payload_bytes: u16) -> Result<Config, &'static str> {
        Err("whose receivers give a token for each packet of one payload")
    }

    fn window(self, config: &Config) -> Option<(&'static str, u64)> {
        Some(("token_window", config.token_window.into()))
    }

    fn token_expiry(self, config: &Config) -> Option<(&'static str, TimeDelta)> {
        Some(("token_expiry", config.token_expiry))
    }

    fn describe(self, config: &Config) -> String {
        let order = |order| match order {
            Order::Srpt => "shortest first",
            Order::Reported => "fewest missing by the last token first",
            Order::Fair => "round robin",
        };
        format!(
            "pHost: {} free tokens for {}, {} B payload per packet, max {} unanswered tokens, token expiry {}; receivers serve flows {}{}, senders {}",
            config.free_tokens,
            match config.free_for {
                FreeTokens::AllFlows => "all flows",
                FreeTokens::ShortFlows => "short flows",
            },
            config.payload_bytes,
            config.token_window,
            time(config.token_expiry),
            order(config.receiver_order),
            match config.receiver {
                ReceiverRules::Prompt => "",
                ReceiverRules::Yaps => " by the rules of YAPS",
            },
            order(config.sender_order),
        )
    }

    fn work(self, config: &Config, plan: &Plan, group: &Group) -> Work {
        // A token per packet.
        windowed(plan, config.payload_bytes, FRAMING, 1.0, group)
    }

    fn samples(self) -> &'static [Sample] {
        &[
            Sample { name: "phost", keys: "", min_bytes: 1_000_000 },
            Sample {
                name: "phost, free tokens for short flows",
                keys: "free_for = \"short\"\nreceiver_order = \"fair\"\nsender_order = \"fair\"",
                min_bytes: 1_000_000,
            },
        ]
    }
}

/// Tokens of a flow in the paper, on links of 10 Gb/s: a round trip.
const TOKENS: u32 = 8;
const MAX_TOKENS: u32 = 32_767;

/// Returns the paper's tokens; above its 10 Gb/s a round trip in packets, at least eight.
fn default_tokens(payload_bytes: u16, topology: &Clos) -> u32 {
    let link = &topology.host_link;
    if link.rate <= BitRate::from_gbps(10) {
        return TOKENS;
    }
    let round_trip = topology.idle_round_trip(payload_bytes, FRAMING).as_ps();
    let packet_time = packet_time(payload_bytes, link).as_ps().max(1);
    // Not one more: the first token would wait behind the free packets, and expire.
    let packets = round_trip.div_ceil(packet_time);
    packets.clamp(TOKENS.into(), MAX_TOKENS.into()) as u32
}

fn packet_time(payload_bytes: u16, link: &LinkSpec) -> TimeDelta {
    link.transmission(ByteCount::new(u64::from(FRAMING.wire_bytes(payload_bytes))))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, plan};
    use super::*;
    use trimline_switch::ServiceModel;

    fn config(keys: &str) -> Config {
        testing::config(keys)
    }

    #[test]
    fn times_follow_from_a_packet_on_the_host_link() {
        let base = config("transport.phost = {}");
        let packet = 7_251_200;
        let ps = TimeDelta::from_ps;
        assert_eq!((base.packet_time, base.token_expiry), (ps(packet), ps(packet * 3 / 2)));
        assert_eq!((base.downgrade, base.resend), (ps(packet * 25), ps(packet * 9)));
        assert_eq!((base.free_tokens, base.token_window, base.marked), (8, 8, 8));
        assert_eq!((base.free_for, base.receiver_order), (FreeTokens::AllFlows, Order::Srpt));
        let fast = config("transport.phost.payload = \"1436B\"\nlinks.rate = \"40Gbps\"");
        assert_eq!((fast.packet_time, fast.token_expiry), (ps(300_000), ps(450_000)));
        // 4.6256 us on two links.
        assert_eq!((fast.free_tokens, fast.token_window), (16, 16));
        assert_eq!((fast.downgrade, fast.resend), (ps(15_000_000), ps(5_400_000)));
    }

    #[test]
    fn every_key_is_read() {
        let keys = "transport.phost = { free_tokens = 3, marked = 2, free_for = \"short\", token_window = 4, token_expiry = \"8us\", downgrade = \"9us\", resend = \"10us\", receiver = \"yaps\", rts_repeat = \"11us\", time_wait = \"12us\", receiver_order = \"fair\", sender_order = \"reported\" }";
        let us = TimeDelta::from_us;
        let expected = Config {
            free_tokens: 3,
            marked: 2,
            free_for: FreeTokens::ShortFlows,
            token_window: 4,
            token_expiry: us(8),
            downgrade: us(9),
            resend: us(10),
            receiver: ReceiverRules::Yaps,
            rts_repeat: us(11),
            time_wait: us(12),
            receiver_order: Order::Fair,
            sender_order: Order::Reported,
            ..config("transport.phost = {}")
        };
        assert_eq!(config(keys), expected);
    }

    #[test]
    fn the_phost_switch_drops_data_beyond_eight_packets_and_sends_control_first() {
        let plan = plan("transport.phost = {}").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(plan.switch, ServiceModel::p4(8, 9000));
    }

    #[test]
    fn tokens_that_expire_within_a_packet_are_refused() {
        assert!(plan("transport.phost.token_expiry = \"7251200ps\"").is_ok());
        let refused = plan("transport.phost.token_expiry = \"7us\"").expect_err("too short");
        for part in [
            "s.toml:3:32",
            "\"7us\"",
            "tokens that expire within the time of a packet",
            "expected 7.2512us at least",
        ] {
            assert!(refused.contains(part), "{part}: {refused}");
        }
        for key in ["downgrade", "resend", "rts_repeat"] {
            let refused = plan(&format!("transport.phost.{key} = \"0s\""));
            assert!(refused.expect_err("no time").contains("expected a time above zero"), "{key}");
        }
        assert!(plan("transport.phost.token_window = 0").is_err());
        let refused = plan("transport.phost = { free_tokens = 3, marked = 4 }");
        assert!(refused.expect_err("too many").contains("at most 3, all that go unasked"));
    }
}
