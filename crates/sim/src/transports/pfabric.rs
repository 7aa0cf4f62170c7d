//! pFabric in the simulator (SIGCOMM 2013), alone and with FastLane.

use std::sync::Arc;

use trimline_metrics::{FlowRecord, Reading, Readings, SeriesColumn};
use trimline_packet::{ByteCount, HostId, Kind, Packet, TimeDelta};
use trimline_transport::pfabric::{Config, Endpoint, Priority};
use trimline_transport::shell::ShellEndpoint as _;
use trimline_transport::{Framing, Side, flow};

use super::describe::time;
use super::{
    BYTES, DURATION, Form, Grammar, Group, Keys, Need, PacketKind, Plan, Protocol, Sample,
    ScenarioError, Setting, Traits, Transport, Work, computed, fixed, windowed,
};
use crate::topology::Clos;

const FRAMING: Framing = <Endpoint as trimline_transport::Endpoint>::FRAMING;
/// FastLane 5: pFabric's time-out.
const RTO: TimeDelta = TimeDelta::from_us(250);

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
        *self.receiver_statistics(slot)
    }

    fn record_sender(&self, slot: u32, record: &mut FlowRecord) {
        let seen = self.sender_statistics(slot);
        record.packets_sent = seen.packets_sent;
        record.retransmissions_timeout = seen.retransmissions_timeout;
        record.retransmissions_return = seen.retransmissions_notified;
        record.returns = seen.notifications;
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
                readings.set("window_packets", window.into());
                readings.set("in_flight_packets", in_flight.into());
            }
            Side::Receiving => {}
        }
    }
}

const COLUMNS: [SeriesColumn; 2] = [
    SeriesColumn {
        name: "window_packets",
        unit: "packets",
        about: "that may be in flight",
        kind: Reading::Level,
        decimals: 0,
    },
    SeriesColumn {
        name: "in_flight_packets",
        unit: "packets",
        about: "sent, and neither acknowledged nor taken for lost",
        kind: Reading::Level,
        decimals: 0,
    },
];

static GRAMMAR: Grammar = Grammar {
    about: "Parameters of pFabric.",
    alternatives: &[],
    keys: &[
        fixed("payload", BYTES, "9000B", "Payload of a full packet; the header adds 64 B."),
        computed(
            "window",
            Form::Integer(1, 32_767),
            "the bandwidth-delay product of the longest way",
            "Packets that may be in flight at most, and are at the beginning.",
        )
        .with_source("pFabric 4.3")
        .with_samples(&["1", "3", "40"]),
        fixed(
            "priority",
            Form::Word(&["remaining", "total"]),
            "remaining",
            "Priority value of a packet, the smallest first: the bytes of its flow that are not acknowledged (pFabric 4.1), or the bytes of the whole flow (FastLane 4.2.2).",
        )
        .with_source("pFabric 4.1; FastLane 4.2.2")
        .with_samples(&["total"]),
        computed(
            "rto",
            DURATION,
            "250us (FastLane 5), or three idle round trips between the farthest hosts where one takes longer than that (pFabric 4.3)",
            "Time-out, which is not backed off.",
        )
        .with_samples(&["100us", "2ms"]),
        fixed(
            "probe_after",
            Form::Integer(1, 255),
            "5",
            "Time-outs in a row after which a flow probes.",
        )
        .with_source("pFabric 4.3")
        .with_samples(&["1"]),
        fixed(
            "fastlane",
            Form::Boolean,
            "false",
            "Whether notifications of drops are acted on: a probe, then what was dropped (FastLane 3.4.2). The switch profile is then fastlane-pfabric by default.",
        )
        .with_samples(&["true"]),
        fixed("time_wait", DURATION, "10ms", "How long both ends remember a flow that has ended."),
    ],
};

/// pFabric.
#[derive(Clone, Copy, Debug)]
pub struct Pfabric;

impl Transport for Pfabric {
    type Endpoint = Endpoint;
    const IS_BUILT_IN: bool = true;

    fn name(self) -> &'static str {
        "pfabric"
    }
    fn label(self) -> &'static str {
        "pFabric"
    }
    fn colour(self) -> &'static str {
        "#882255"
    }
    fn about(self) -> &'static str {
        "pFabric (SIGCOMM 2013), alone or with FastLane."
    }
    fn grammar(self) -> &'static Grammar {
        &GRAMMAR
    }
    fn traits(self) -> Traits {
        Traits {
            keeps_paths: false,
            ends_flows: true,
            no_latencies: Some("whose senders do not measure it"),
        }
    }
    fn profile(self, keys: &Keys<'_>) -> &'static str {
        if keys.flag("fastlane") { "fastlane-pfabric" } else { "pfabric" }
    }

    fn resolve(self, keys: &Keys<'_>, setting: &Setting<'_>) -> Result<Config, ScenarioError> {
        let (payload_bytes, topology) = (keys.payload()?, setting.topology);
        Ok(Config {
            payload_bytes,
            window: keys.integer_or("window", product(payload_bytes, topology).into()) as u16,
            priority: keys.one_of(
                "priority",
                [("remaining", Priority::Remaining), ("total", Priority::Total)],
            ),
            rto: keys.timer_or("rto", rto(payload_bytes, topology))?,
            probe_after: keys.integer("probe_after") as u8,
            fastlane: keys.flag("fastlane"),
            time_wait: keys.duration("time_wait")?,
        })
    }

    fn answers_marks(self, _config: &Config) -> bool {
        false
    }

    fn packet_kind(self, packet: &Packet) -> PacketKind {
        match packet.header.kind {
            Kind::Pull => PacketKind::Probe,
            kind @ (Kind::Data | Kind::Ack | Kind::Nack | Kind::Reset) => {
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

    fn need(self, config: &Config) -> Option<(&'static str, Need)> {
        config.fastlane.then_some(("fastlane", Need::Notification))
    }

    fn first_timeout(self, config: &Config) -> Option<(&'static str, TimeDelta)> {
        Some(("rto", config.rto))
    }

    fn window(self, config: &Config) -> Option<(&'static str, u64)> {
        Some(("window", config.window.into()))
    }

    fn describe(self, config: &Config) -> String {
        format!(
            "pFabric: window {} packets, {} B payload per packet, priority by {}, RTO {}, probes after {} timeouts{}",
            config.window,
            config.payload_bytes,
            match config.priority {
                Priority::Remaining => "remaining size",
                Priority::Total => "flow size",
            },
            time(config.rto),
            config.probe_after,
            if config.fastlane { ", FastLane" } else { "" },
        )
    }

    fn work(self, config: &Config, plan: &Plan, group: &Group) -> Work {
        // An ACK per packet.
        windowed(plan, config.payload_bytes, FRAMING, 1.0, group)
    }

    fn samples(self) -> &'static [Sample] {
        &[
            Sample { name: "pfabric", keys: "window = 8", min_bytes: 1_000_000 },
            Sample {
                name: "pfabric, told of drops",
                keys: "window = 8\nfastlane = true\npriority = \"total\"",
                min_bytes: 1_000_000,
            },
        ]
    }
}

/// Returns FastLane's time-out, or pFabric's if FastLane's ends before an answer can arrive.
fn rto(payload_bytes: u16, topology: &Clos) -> TimeDelta {
    let round_trip = topology.idle_round_trip(payload_bytes, FRAMING);
    match round_trip < RTO {
        true => RTO,
        false => TimeDelta::from_ps(round_trip.as_ps().saturating_mul(3)),
    }
}

/// Returns the bandwidth-delay product of the longest path, in full packets, rounded up.
fn product(payload_bytes: u16, topology: &Clos) -> u16 {
    let Clos { host_link, tor_link, aggregation_link, .. } = topology;
    let links = [host_link, tor_link, aggregation_link];
    let full = ByteCount::new(FRAMING.wire_bytes(payload_bytes).into());
    let min = ByteCount::new(FRAMING.min.into());
    // Up and down again, there and back.
    let layers = links.into_iter().take(topology.tiers.clamp(1, 3).into());
    let round_trip: u64 = layers
        .map(|link| {
            let each = link.transmission(full).as_ps() + link.transmission(min).as_ps();
            2 * (each + 2 * link.delay.as_ps())
        })
        .sum();
    let packets = round_trip.div_ceil(host_link.transmission(full).as_ps().max(1));
    packets.clamp(1, 32_767) as u16
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
    fn every_key_is_read() {
        let keys = "transport.pfabric = { window = 9, priority = \"total\", rto = \"45us\", probe_after = 3, fastlane = true, time_wait = \"1ms\" }";
        let expected = Config {
            window: 9,
            priority: Priority::Total,
            rto: TimeDelta::from_us(45),
            probe_after: 3,
            fastlane: true,
            time_wait: TimeDelta::from_ms(1),
            ..config("transport.pfabric = {}")
        };
        assert_eq!(config(keys), expected);
        assert!(plan("transport.pfabric.rto = \"0s\"").is_err());
        assert!(plan("transport.pfabric.window = 0").is_err());
        assert_eq!(config("transport.pfabric = {}").rto, RTO);
        // 2 x 72.512 us and 2 x 512 ns with four delays of 26 us.
        let slow = "transport.pfabric = {}\nlinks = { rate = \"1Gbps\", delay = \"26us\" }";
        assert_eq!(config(slow).rto, TimeDelta::from_ns(3 * 250_048));
    }

    #[test]
    fn the_pfabric_switch_drops_by_priority_and_notifies_if_asked() {
        let plain = plan("transport.pfabric = {}").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(plain.switch, ServiceModel::pfabric(43 * 9064));
        let notified =
            plan("transport.pfabric.fastlane = true").unwrap_or_else(|error| panic!("{error}"));
        assert!(notified.switch.notifies() && notified.switch.demands().urgency);
    }
}
