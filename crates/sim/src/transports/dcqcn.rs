//! DCQCN in the simulator.

use std::sync::Arc;

use trimline_metrics::{FlowRecord, Reading, Readings, SeriesColumn};
use trimline_packet::{BitRate, HostId, Kind, Packet, TimeDelta};
use trimline_switch::Marker;
use trimline_switch::model::MarkAt;
use trimline_transport::dcqcn::{ALPHA_ONE, Config, Endpoint, MARK_CNP, MIN_TIMER};
use trimline_transport::shell::ShellEndpoint as _;
use trimline_transport::{Framing, Side, flow};

use super::describe::time;
use super::roce::Queues;
use super::{
    BYTES, DURATION, Form, Frames, Grammar, Group, Keys, PacketKind, Plan, Protocol, RATE, Sample,
    ScenarioError, Setting, Traits, Transport, Work, computed, fixed, windowed,
};

const FRAMING: Framing = <Endpoint as trimline_transport::Endpoint>::FRAMING;

/// Returns the marking ramp for a rate. DCQCN 5.2: at 40 Gb/s, from 5 KB on, 1 % at 200 KB. Above 40 Gb/s both ends
/// scale with the rate (chosen; HPCC's simulator, `run.py`, scales Kmin and Kmax, with one Pmax).
fn ramp(rate: BitRate) -> Marker {
    let bytes =
        |published| rate.scale(published, Config::PUBLISHED_AT).min(u64::from(u32::MAX / 4)) as u32;
    Marker::Ramp {
        kmin: bytes(5_000),
        kmax: bytes(200_000),
        pmax: u32::MAX / 100,
        at: MarkAt::Enqueue,
    }
}

static GRAMMAR: Grammar = Grammar {
    about: "Parameters of DCQCN (Zhu et al., SIGCOMM 2015). Its switch is by default profile ecn with ecn_ramp = { kmin = \"5KB\", kmax = \"200KB\", pmax = \"1%\" }, the paper's at 40 Gb/s, with kmin and kmax in proportion to the rate of hosts' links above that (chosen); switch.pfc makes the network lossless.",
    alternatives: &[],
    keys: &[
        fixed(
            "payload",
            BYTES,
            "9000B",
            "Payload of a full packet; the header adds 64 B. RoCEv2 has 4096B at most.",
        ),
        fixed(
            "gain_shift",
            Form::Integer(1, 16),
            "8",
            "alpha is averaged with the gain 2^-gain_shift. 8 is 1/256.",
        )
        .with_source("DCQCN 5.2")
        .with_samples(&["1", "4", "10"]),
        fixed(
            "alpha_timer",
            DURATION,
            "55us",
            "Time without a CNP after which alpha falls. At least 1us.",
        )
        .with_source("DCQCN 5.2")
        .with_samples(&["1us"]),
        fixed(
            "timer",
            DURATION,
            "55us",
            "Time between two increases of the rate. At least 1us.",
        )
        .with_source("DCQCN 5.2")
        .with_samples(&["1us", "1500us"]),
        fixed(
            "byte_counter",
            BYTES,
            "10MB",
            "Bytes on the wire between two increases of the rate.",
        )
        .with_source("DCQCN 5.2")
        .with_samples(&["1B", "150KB"]),
        fixed(
            "fast_recoveries",
            Form::Integer(0, 1_000),
            "5",
            "Increases that go half of the way back to the target before the target rises: F.",
        )
        .with_source("DCQCN 3.1")
        .with_samples(&["0", "1", "6"]),
        computed(
            "additive_increase",
            RATE,
            "40Mbps (DCQCN 5.2), above 40 Gb/s in proportion to the rate of hosts' links (chosen)",
            "What additive increase adds to the target: R_AI.",
        ),
        computed(
            "hyper_increase",
            RATE,
            "400Mbps, above 40 Gb/s in proportion to the rate of hosts' links",
            "What hyper increase adds to the target, once more each time: R_HAI.",
        )
        .with_source("chosen: ten times R_AI, the proportion of 802.1Qau; the paper names none"),
        computed(
            "min_rate",
            RATE,
            "10Mbps, or the host's link if that is slower; above 40 Gb/s in proportion to that link",
            "The minimum rate of a flow.",
        )
        .with_source("chosen: the value of 802.1Qau; the paper names none")
        .with_samples(&["1Mbps", "500Mbps"]),
        fixed(
            "cnp_interval",
            DURATION,
            "50us",
            "The least time between two CNPs of a flow.",
        )
        .with_source("DCQCN 3.1")
        .with_samples(&["0us", "4us"]),
        fixed(
            "ack_every",
            Form::Integer(1, 255),
            "1",
            "Packets for which the sender asks for one ACK. The last one of a message always asks.",
        )
        .with_samples(&["3", "64"]),
        computed(
            "window",
            BYTES,
            "no limit, as in the paper",
            "Payload that a flow may have outstanding; one packet always may.",
        )
        .with_samples(&["1B", "40KB"]),
        fixed(
            "rto",
            DURATION,
            "10ms",
            "Time without an answer after which a sender goes back to what is not acknowledged; it doubles up to 64 times.",
        )
        .with_source("chosen: a lossless network needs none")
        .with_samples(&["200us", "1ms"]),
    ],
};

impl Protocol for Endpoint {
    const TAKES_MESSAGES: bool = true;

    type Config = Config;

    fn new(host: HostId, config: &Arc<Config>, _seed: u64) -> Self {
        Endpoint::new(host, Arc::clone(config))
    }

    /// A sender whose data is all acknowledged needs no further answer.
    fn time_wait(_config: &Config) -> TimeDelta {
        TimeDelta::ZERO
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
        record.retransmissions_signalled = seen.resent_nack;
        record.retransmissions_timeout = seen.resent_timeout;
        record.timeouts = seen.timeouts;
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
                readings.set("sending_rate_bps", self.rate(slot, now).as_bps());
                let alpha = u128::from(self.alpha(slot, now));
                readings.set("alpha", (alpha * 1_000_000 / u128::from(ALPHA_ONE)) as u64);
                readings.set("in_flight_packets", self.in_flight(slot).into());
            }
            Side::Receiving => {}
        }
    }
}

const COLUMNS: [SeriesColumn; 3] = [
    SeriesColumn {
        name: "sending_rate_bps",
        unit: "bit/s",
        about: "the rate at which the sender may send",
        kind: Reading::Level,
        decimals: 0,
    },
    SeriesColumn {
        name: "alpha",
        unit: "share",
        about: "how congested the sender takes the path to be: the next CNP cuts the rate by half of it",
        kind: Reading::Level,
        decimals: 6,
    },
    SeriesColumn {
        name: "in_flight_packets",
        unit: "packets",
        about: "sent and not acknowledged",
        kind: Reading::Level,
        decimals: 0,
    },
];

/// DCQCN.
#[derive(Clone, Copy, Debug)]
pub struct Dcqcn;

impl Transport for Dcqcn {
    type Endpoint = Endpoint;
    const IS_BUILT_IN: bool = true;

    fn name(self) -> &'static str {
        "dcqcn"
    }
    fn label(self) -> &'static str {
        "DCQCN"
    }
    fn colour(self) -> &'static str {
        "#CC79A7"
    }
    fn about(self) -> &'static str {
        "DCQCN: rates that CNPs cut, for RoCEv2."
    }
    fn grammar(self) -> &'static Grammar {
        &GRAMMAR
    }
    fn traits(self) -> Traits {
        Traits {
            keeps_paths: true,
            ends_flows: true,
            no_latencies: Some("whose ACKs answer several packets"),
        }
    }
    fn profile(self, _keys: &Keys<'_>) -> &'static str {
        "ecn"
    }
    fn marker(self, rate: BitRate) -> Option<Marker> {
        Some(ramp(rate))
    }

    fn resolve(self, keys: &Keys<'_>, setting: &Setting<'_>) -> Result<Config, ScenarioError> {
        let base = Config::published(setting.topology.host_link.rate);
        let config = Config {
            payload_bytes: keys.payload()?,
            line_rate: base.line_rate,
            min_rate: keys.rate_or("min_rate", base.min_rate)?,
            gain_shift: keys.integer("gain_shift") as u8,
            alpha_timer: keys.timer("alpha_timer")?,
            increase_timer: keys.timer("timer")?,
            increase_bytes: keys.bytes("byte_counter")?,
            recoveries: keys.integer("fast_recoveries"),
            additive_increase: keys.rate_or("additive_increase", base.additive_increase)?,
            hyper_increase: keys.rate_or("hyper_increase", base.hyper_increase)?,
            cnp_interval: keys.duration("cnp_interval")?,
            ack_every: keys.integer("ack_every") as u8,
            window: match keys.has("window") {
                true => Some(keys.bytes("window")?),
                false => None,
            },
            rto: keys.timer("rto")?,
        };
        check(&config, keys)?;
        Ok(config)
    }

    fn packet_kind(self, packet: &Packet) -> PacketKind {
        match packet.header.kind {
            Kind::Ack if packet.marks & MARK_CNP != 0 => PacketKind::Cnp,
            kind @ (Kind::Data | Kind::Ack | Kind::Nack | Kind::Pull | Kind::Reset) => {
                PacketKind::of_header(kind)
            }
        }
    }
    fn payload_bytes(self, config: &Config) -> u16 {
        config.payload_bytes
    }

    fn with_payload(self, config: &Config, payload_bytes: u16) -> Result<Config, &'static str> {
        Ok(Config { payload_bytes, ..config.clone() })
    }

    fn first_timeout(self, config: &Config) -> Option<(&'static str, TimeDelta)> {
        Some(("rto", config.rto))
    }

    fn window(self, config: &Config) -> Option<(&'static str, u64)> {
        let payload = u64::from(config.payload_bytes.max(1));
        config.window.map(|window| ("window", (window.get() / payload).max(1)))
    }

    fn describe(self, config: &Config) -> String {
        let window = match config.window {
            None => String::new(),
            Some(window) => format!(", window {window}"),
        };
        format!(
            "DCQCN: rate {} to {} per flow, {} B payload per packet, max one CNP per {}, g 1/{}, alpha timer {}, rate increases every {} and every {} by {} after {} fast recoveries, an ACK per {}, RTO {}{window}",
            config.min_rate,
            config.line_rate,
            config.payload_bytes,
            time(config.cnp_interval),
            1u64 << config.gain_shift,
            time(config.alpha_timer),
            time(config.increase_timer),
            config.increase_bytes,
            config.additive_increase,
            config.recoveries,
            match config.ack_every {
                1 => "packet".to_owned(),
                several => format!("{several} packets"),
            },
            time(config.rto),
        )
    }

    fn work(self, config: &Config, plan: &Plan, group: &Group) -> Work {
        windowed(plan, config.payload_bytes, FRAMING, 1.0 / f64::from(config.ack_every), group)
    }

    fn frames(self, config: &Config, _packets: &[Packet]) -> Option<Box<dyn Frames>> {
        Some(Box::new(Queues::new(config)))
    }

    fn samples(self) -> &'static [Sample] {
        // Loss does not slow it down: with queues of one packet, it mostly goes back.
        &[
            Sample { name: "dcqcn", keys: "rto = \"1ms\"", min_bytes: 250_000 },
            Sample {
                name: "dcqcn-window",
                keys: "rto = \"1ms\"\nwindow = \"90KB\"\nack_every = 4",
                min_bytes: 250_000,
            },
        ]
    }
}

fn check(config: &Config, keys: &Keys<'_>) -> Result<(), ScenarioError> {
    for (key, timer) in [("alpha_timer", config.alpha_timer), ("timer", config.increase_timer)] {
        if timer < MIN_TIMER {
            let min = format!("at least {}", time(MIN_TIMER));
            return Err(keys.refuse(key, format!("a timer of {}", time(timer)), min));
        }
    }
    if config.min_rate > config.line_rate {
        return Err(keys.refuse(
            "min_rate",
            format!("a minimum rate of {}", config.min_rate),
            format!("at most the rate of the host's link, {}", config.line_rate),
        ));
    }
    if config.min_rate.as_bps() < 1_000_000 {
        // At 1 Mb/s the largest packet takes half a second.
        return Err(keys.refuse(
            "min_rate",
            format!("a minimum rate of {}", config.min_rate),
            "at least 1Mbps",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, plan};
    use super::*;
    use trimline_packet::ByteCount;
    use trimline_switch::{Choices, ServiceModel};

    fn config(keys: &str) -> Config {
        testing::config(keys)
    }

    #[test]
    fn every_parameter_is_a_key_with_the_default_of_the_paper() {
        assert_eq!(config("transport.dcqcn = {}"), Config::published(BitRate::from_gbps(10)));
        let keys = "transport.dcqcn = { payload = \"1000B\", gain_shift = 4, alpha_timer = \"1us\", \
            timer = \"2us\", byte_counter = \"3KB\", fast_recoveries = 1, additive_increase = \"5Mbps\", \
            hyper_increase = \"6Mbps\", min_rate = \"7Mbps\", cnp_interval = \"8us\", ack_every = 9, \
            window = \"10KB\", rto = \"11us\" }";
        let expected = Config {
            payload_bytes: 1000,
            line_rate: BitRate::from_gbps(10),
            min_rate: BitRate::from_bps(7_000_000),
            gain_shift: 4,
            alpha_timer: TimeDelta::from_us(1),
            increase_timer: TimeDelta::from_us(2),
            increase_bytes: ByteCount::new(3_000),
            recoveries: 1,
            additive_increase: BitRate::from_bps(5_000_000),
            hyper_increase: BitRate::from_bps(6_000_000),
            cnp_interval: TimeDelta::from_us(8),
            ack_every: 9,
            window: Some(ByteCount::new(10_000)),
            rto: TimeDelta::from_us(11),
        };
        assert_eq!(config(keys), expected);
    }

    #[test]
    fn the_dcqcn_switch_marks_by_the_ramp_of_the_paper_by_default() {
        let switch = |keys: &str| plan(keys).unwrap_or_else(|error| panic!("{error}")).switch;
        let ramp = |marker| {
            let mut choices = Choices::ecn(200, 30);
            choices.queues[0].marker = marker;
            choices.build().expect("a model")
        };
        let published =
            Marker::Ramp { kmin: 5_000, kmax: 200_000, pmax: u32::MAX / 100, at: MarkAt::Enqueue };
        assert_eq!(switch("transport.dcqcn = {}"), ramp(published));
        assert_eq!(switch("transport.dcqcn = {}\nlinks.rate = \"40Gbps\""), ramp(published));
        let tenfold = Marker::Ramp {
            kmin: 50_000,
            kmax: 2_000_000,
            pmax: u32::MAX / 100,
            at: MarkAt::Enqueue,
        };
        let fast = "transport.dcqcn = {}\nlinks.rate = \"400Gbps\"";
        assert_eq!(switch(fast), ramp(tenfold));
        assert_eq!(config(fast), Config::published(BitRate::from_gbps(400)));
        let same = "switch.ecn_ramp = { kmin = \"5KB\", kmax = \"200KB\", pmax = \"1%\" }";
        assert_eq!(switch(&format!("transport.dcqcn = {{}}\n{same}")), ramp(published));
        let threshold = "transport.dcqcn = {}\nswitch.ecn_threshold = \"30pkt\"";
        assert_eq!(switch(threshold), ServiceModel::ecn(200, 30));
        let drops = "transport.dcqcn = {}\nswitch.profile = \"drop-tail\"";
        assert_eq!(switch(drops), ServiceModel::drop_tail(200));
    }

    #[test]
    fn contradicting_dcqcn_keys_are_refused() {
        for (keys, expected) in [
            ("timer = \"999ns\"", "at least 1us"),
            ("alpha_timer = \"1ns\"", "at least 1us"),
            ("min_rate = \"11Gbps\"", "at most the rate of the host's link"),
            ("min_rate = \"1kbps\"", "at least 1Mbps"),
            ("rto = \"0us\"", "a time above zero"),
        ] {
            let error = plan(&format!("transport.dcqcn = {{ {keys} }}")).unwrap_err();
            assert!(error.contains(expected), "{keys}: {error}");
        }
    }
}
