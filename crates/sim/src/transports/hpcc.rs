//! HPCC in the simulator.

use std::sync::Arc;

use trimline_metrics::{FlowRecord, Reading, Readings, SeriesColumn};
use trimline_packet::{BitRate, HostId, TimeDelta};
use trimline_transport::hpcc::{Config, Endpoint, Law, Resend, UTILISATION_ONE, Units};
use trimline_transport::shell::ShellEndpoint as _;
use trimline_transport::{Framing, Side, flow};

use super::describe::time;
use super::{
    BYTES, DURATION, Form, Grammar, Group, Keys, Plan, Protocol, Quantity, RATE, Sample,
    ScenarioError, Setting, Traits, Transport, Work, computed, fixed, windowed,
};

const FRAMING: Framing = <Endpoint as trimline_transport::Endpoint>::FRAMING;
/// The min rate is this part of the line's: 100 Mb/s at 100 Gb/s.
const MIN_RATE_PART: u64 = 1_000;

static GRAMMAR: Grammar = Grammar {
    about: "Parameters of HPCC (Li et al., SIGCOMM 2019): windows by telemetry that ports write into packets. Each packet and each answer has 42 B for five ports. switch.pfc makes the network lossless.",
    alternatives: &[],
    keys: &[
        fixed(
            "payload",
            BYTES,
            "9000B",
            "Payload of a full packet; header and telemetry add 106 B.",
        )
        .with_source("chosen: that of the other transports; the paper's simulator has 1000B"),
        fixed(
            "eta",
            Form::Quantity(Quantity::Share),
            "95%",
            "Utilisation of a link at which windows aim.",
        )
        .with_source("HPCC 3.3")
        .with_samples(&["80%", "99%"]),
        fixed(
            "max_stage",
            Form::Integer(0, 1_000),
            "0",
            "Additive increases between two multiplicative ones while links are used less than eta: maxStage.",
        )
        .with_source("the paper's simulator; the paper says 5, which its authors call a misprint")
        .with_samples(&["1", "5"]),
        computed(
            "base_rtt",
            DURATION,
            "the idle round trip between the farthest hosts",
            "The base round trip T: a flow begins with what the host's link sends in it, never has more in flight, and paces a window in it.",
        )
        .with_source("the paper's simulator; the paper has 13us where the longest is 12us")
        .with_samples(&["2us", "60us"]),
        computed(
            "additive_increase",
            BYTES,
            "what the host's link sends in base_rtt, times 1 - eta, over 100 flows; 1B at least",
            "The additive increase W_AI of a window, with headers.",
        )
        .with_source("HPCC 3.3 and 5.1: 80B at 100 Gb/s")
        .with_samples(&["0B", "300B"]),
        computed(
            "min_rate",
            RATE,
            "a thousandth of the rate of hosts' links",
            "The minimum rate of a flow.",
        )
        .with_source("the paper's simulator: 100Mbps at 100 Gb/s, and 1Gbps in a script; the paper names none")
        .with_samples(&["1Mbps", "500Mbps"]),
        fixed(
            "units",
            Form::Word(&["exact", "header"]),
            "exact",
            "Units of telemetry. header: those of the paper's packets, 80 B of a queue, 128 B sent modulo 2^20, nanoseconds modulo 2^24; rates are exact.",
        )
        .with_source("chosen: 128 B are an eighth of a packet of 1000 B; header: HPCC 4.1")
        .with_samples(&["header"]),
        fixed(
            "resend",
            Form::Word(&["go-back-n", "selective"]),
            "go-back-n",
            "What is resent after a loss. go-back-n: all from the missing packet on, for lossless networks. selective: the missing packets.",
        )
        .with_source("HPCC 5.1; selective as IRN, SIGCOMM 2018")
        .with_samples(&["selective"]),
        fixed(
            "rto",
            DURATION,
            "10ms",
            "Time without an answer after which a sender resends what is not acknowledged; it doubles up to 64 times.",
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
        record.retransmissions_signalled = seen.resent_signalled;
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
                let (window, in_flight) = self.window(slot);
                readings.set("window_bytes", window);
                readings.set("sending_rate_bps", self.rate(slot).as_bps());
                let used = u128::from(self.utilisation(slot)) * 1_000_000;
                let used = used / u128::from(UTILISATION_ONE);
                readings.set("utilisation", u64::try_from(used).unwrap_or(u64::MAX));
                readings.set("in_flight_packets", in_flight.into());
            }
            Side::Receiving => {}
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
        name: "sending_rate_bps",
        unit: "bit/s",
        about: "the rate at which the sender may send",
        kind: Reading::Level,
        decimals: 0,
    },
    SeriesColumn {
        name: "utilisation",
        unit: "share",
        about: "U, the sender's estimate of the bytes in flight on the busiest link over its bandwidth-delay product",
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

/// HPCC.
#[derive(Clone, Copy, Debug)]
pub struct Hpcc;

impl Transport for Hpcc {
    type Endpoint = Endpoint;
    const IS_BUILT_IN: bool = true;

    fn name(self) -> &'static str {
        "hpcc"
    }
    fn label(self) -> &'static str {
        "HPCC"
    }
    fn colour(self) -> &'static str {
        "#332288"
    }
    fn about(self) -> &'static str {
        "HPCC: windows by in-band telemetry."
    }
    fn grammar(self) -> &'static Grammar {
        &GRAMMAR
    }
    fn traits(self) -> Traits {
        Traits {
            keeps_paths: true,
            ends_flows: true,
            no_latencies: Some("whose senders do not measure it"),
        }
    }
    fn profile(self, _keys: &Keys<'_>) -> &'static str {
        "drop-tail"
    }
    fn answers_marks(self, _config: &Config) -> bool {
        false
    }

    fn resolve(self, keys: &Keys<'_>, setting: &Setting<'_>) -> Result<Config, ScenarioError> {
        let (payload_bytes, topology) = (payload(keys)?, setting.topology);
        let line = topology.host_link.rate;
        let base = keys.timer_or("base_rtt", topology.idle_round_trip(payload_bytes, FRAMING))?;
        let target = keys.share("eta")? as u32;
        if target == 0 {
            return Err(keys.refuse("eta", "an eta of nothing", "a share above zero"));
        }
        let slowest = BitRate::from_bps((line.as_bps() / MIN_RATE_PART).max(1));
        let min_rate = keys.rate_or("min_rate", slowest)?;
        if min_rate > line {
            return Err(keys.refuse(
                "min_rate",
                format!("a minimum rate of {min_rate}"),
                format!("at most the rate of the host's link, {line}"),
            ));
        }
        Ok(Config {
            payload_bytes,
            law: Law {
                line,
                base,
                target,
                max_stage: keys.integer("max_stage"),
                additive_increase: keys
                    .bytes_or("additive_increase", Law::increase(line, base, target))?,
                min_rate,
                units: keys.one_of("units", [("exact", Units::Exact), ("header", Units::Header)]),
            },
            resend: keys.one_of(
                "resend",
                [("go-back-n", Resend::GoBack), ("selective", Resend::Selective)],
            ),
            rto: keys.timer("rto")?,
        })
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
        let product = config.law.line.bytes_in(config.law.base).get();
        let packet = u64::from(FRAMING.wire_bytes(config.payload_bytes));
        // A packet may go while less than a window is in flight.
        Some(("base_rtt", product.div_ceil(packet).max(1)))
    }

    fn describe(self, config: &Config) -> String {
        let law = &config.law;
        format!(
            "HPCC: window to {} B per flow, {} B payload per packet and 42 B of telemetry, base round trip {}, eta {}.{:07} %, max stage {}, additive increase {}, min rate {}, {} units, {}, RTO {}",
            law.line.bytes_in(law.base).get(),
            config.payload_bytes,
            time(law.base),
            law.target / 10_000_000,
            law.target % 10_000_000,
            law.max_stage,
            law.additive_increase,
            law.min_rate,
            match law.units {
                Units::Exact => "exact",
                Units::Header => "the header's",
            },
            match config.resend {
                Resend::GoBack => "go-back-N",
                Resend::Selective => "selective retransmission",
            },
            time(config.rto),
        )
    }

    fn work(self, config: &Config, plan: &Plan, group: &Group) -> Work {
        windowed(plan, config.payload_bytes, FRAMING, 1.0, group)
    }

    fn samples(self) -> &'static [Sample] {
        // Go-back-N: with queues of one packet, it mostly goes back.
        &[
            Sample { name: "hpcc", keys: "rto = \"1ms\"", min_bytes: 250_000 },
            Sample {
                name: "hpcc-selective",
                keys: "rto = \"200us\"\nresend = \"selective\"",
                min_bytes: 1_000_000,
            },
        ]
    }
}

/// Reads the payload, which with header and telemetry fits in 16 bits.
fn payload(keys: &Keys<'_>) -> Result<u16, ScenarioError> {
    let payload = keys.payload()?;
    if u16::MAX - payload < FRAMING.header {
        let max = u16::MAX - FRAMING.header;
        return Err(keys.refuse(
            "payload",
            format!("a payload of {payload} B with a header of {} B", FRAMING.header),
            format!("at most {max}B"),
        ));
    }
    Ok(payload)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, plan};
    use super::*;
    use trimline_packet::ByteCount;
    use trimline_switch::ServiceModel;

    fn config(keys: &str) -> Config {
        testing::config(keys)
    }

    #[test]
    fn every_key_is_read() {
        let keys = "transport.hpcc = { payload = \"1000B\", eta = \"90%\", max_stage = 5, base_rtt = \"13us\", \
            additive_increase = \"80B\", min_rate = \"7Mbps\", units = \"header\", resend = \"selective\", rto = \"11us\" }";
        let expected = Config {
            payload_bytes: 1000,
            law: Law {
                line: BitRate::from_gbps(10),
                base: TimeDelta::from_us(13),
                target: 900_000_000,
                max_stage: 5,
                additive_increase: ByteCount::new(80),
                min_rate: BitRate::from_bps(7_000_000),
                units: Units::Header,
            },
            resend: Resend::Selective,
            rto: TimeDelta::from_us(11),
        };
        assert_eq!(config(keys), expected);
    }

    /// The paper's constants, and a round trip of packets of 106 B more than their payload.
    #[test]
    fn defaults_are_those_of_the_paper() {
        let keys = "transport.hpcc.base_rtt = \"13us\"\nlinks.rate = \"100Gbps\"";
        let found = config(keys);
        assert_eq!((found.law.target, found.law.max_stage), (Law::TARGET, 0));
        assert_eq!(found.law.additive_increase, ByteCount::new(81));
        assert_eq!(found.law.min_rate, BitRate::from_bps(100_000_000));
        assert_eq!(found.resend, Resend::GoBack);
        // Two links each way, 1 us: data of 9106 B, an answer of 106 B.
        let base = config("transport.hpcc = {}").law.base;
        assert_eq!(
            base,
            TimeDelta::from_ns(4 * 1_000) + TimeDelta::from_ps(2 * (9_106 + 106) * 800)
        );
        let switch = plan("transport.hpcc = {}").expect("a plan").switch;
        assert_eq!(switch, ServiceModel::drop_tail(200));
    }

    #[test]
    fn contradicting_hpcc_keys_are_refused() {
        for (keys, expected) in [
            ("eta = \"0%\"", "a share above zero"),
            ("min_rate = \"11Gbps\"", "at most the rate of the host's link"),
            ("rto = \"0us\"", "a time above zero"),
            ("base_rtt = \"0us\"", "a time above zero"),
            ("payload = \"65450B\"", "at most 65429B"),
        ] {
            let error = plan(&format!("transport.hpcc = {{ {keys} }}")).unwrap_err();
            assert!(error.contains(expected), "{keys}: {error}");
        }
    }
}
