//! Constant bit rate in the simulator.

use std::sync::Arc;

use trimline_packet::{HostId, TimeDelta};
use trimline_transport::cbr::{Config, Endpoint};
use trimline_transport::{Framing, flow};

use super::describe::time;
use super::{
    BYTES, Form, Grammar, Group, Keys, Plan, Protocol, RATE, Sample, ScenarioError, Setting,
    Traits, Transport, Work, computed, constant_rate, fixed,
};
use crate::random;

/// Relative time of a hop where nearly every packet is trimmed.
const OVERLOAD_FACTOR: f64 = 1.4;

const FRAMING: Framing = <Endpoint as trimline_transport::Endpoint>::FRAMING;

impl Protocol for Endpoint {
    type Config = Config;

    /// The plan's clock is the slowest one; each host draws its own.
    fn new(host: HostId, config: &Arc<Config>, seed: u64) -> Self {
        let mut clocks = random::stream(seed, "clock", &[u64::from(host.get())]);
        let lag = random::below(&mut clocks, config.clock_lag.as_ps() + 1);
        let clock_lag = TimeDelta::from_ps(lag);
        Endpoint::new(host, Config { clock_lag, ..Config::clone(config) })
    }

    /// No sender learns that its flow has ended.
    fn time_wait(_config: &Config) -> TimeDelta {
        TimeDelta::ZERO
    }

    fn forget(&mut self, slot: u32) {
        Endpoint::forget(self, slot);
    }

    fn statistics_of(&self, slot: u32) -> flow::Statistics {
        *self.statistics(slot)
    }

    fn connections(&self) -> flow::Memory {
        self.connections_memory()
    }
}

static GRAMMAR: Grammar = Grammar {
    about: "Unresponsive senders; receivers only count. Flows of a size only in a scenario with `duration`: what is lost is lost, and a flow that loses a packet never ends. The completion time is the receiver's: no sender learns of it.",
    alternatives: &[],
    keys: &[
        fixed("payload", BYTES, "9000B", "Payload of a packet; the header adds 64 B."),
        computed(
            "rate",
            RATE,
            "the rate of the host's link",
            "Bits on the wire of each flow, headers included.",
        )
        .with_samples(&["100Mbps", "1Gbps", "5Gbps"]),
        fixed(
            "clock_ppm",
            Form::Integer(0, 1_000),
            "0",
            "Each host's clock is slow by a number of parts per million that is drawn up to this one: two clocks that IEEE 802.3 allows differ by 200 at most. With 0 all rates are exactly the same.",
        )
        .with_samples(&["1", "200"]),
        fixed(
            "unscheduled",
            Form::Boolean,
            "false",
            "Whether packets bear the mark of unscheduled data, which `switch.detour` looks for (UDP of OPF's Figure 3).",
        )
        .with_samples(&["true"]),
    ],
};

/// Constant-rate senders without congestion control.
#[derive(Clone, Copy, Debug)]
pub struct Cbr;

impl Transport for Cbr {
    type Endpoint = Endpoint;
    const IS_BUILT_IN: bool = true;

    fn name(self) -> &'static str {
        "cbr"
    }
    fn label(self) -> &'static str {
        "CBR"
    }
    fn colour(self) -> &'static str {
        "#767676"
    }
    fn about(self) -> &'static str {
        "Senders of a constant bit rate that nothing slows down."
    }
    fn grammar(self) -> &'static Grammar {
        &GRAMMAR
    }
    fn traits(self) -> Traits {
        Traits {
            keeps_paths: false,
            ends_flows: false,
            no_latencies: Some("whose senders hear of no arrival"),
        }
    }
    fn resolve(self, keys: &Keys<'_>, setting: &Setting<'_>) -> Result<Config, ScenarioError> {
        let rate = keys.rate_or("rate", setting.topology.host_link.rate)?;
        let payload_bytes = keys.payload()?;
        let mut config = Config {
            payload_bytes,
            rate,
            clock_lag: TimeDelta::ZERO,
            marks_unscheduled: keys.flag("unscheduled"),
        };
        let ppm = u128::from(keys.integer("clock_ppm"));
        let lag = u128::from(config.gap().as_ps()) * ppm / 1_000_000;
        config.clock_lag = TimeDelta::from_ps(u64::try_from(lag).unwrap_or(u64::MAX - 1));
        Ok(config)
    }

    fn answers_marks(self, _config: &Config) -> bool {
        false
    }

    fn payload_bytes(self, config: &Config) -> u16 {
        config.payload_bytes
    }

    fn with_payload(self, config: &Config, payload_bytes: u16) -> Result<Config, &'static str> {
        Ok(Config { payload_bytes, ..config.clone() })
    }

    fn describe(self, config: &Config) -> String {
        let clocks = match config.clock_lag {
            TimeDelta::ZERO => String::new(),
            lag => format!("; host clocks lose up to {} per packet", time(lag)),
        };
        format!(
            "constant bit rate: {} per flow, {} B payload per packet, no reaction to losses or marks{clocks}",
            config.rate, config.payload_bytes
        )
    }

    fn work(self, config: &Config, plan: &Plan, group: &Group) -> Work {
        let rate = config.rate.as_bps() as f64;
        let work = constant_rate(plan, config.payload_bytes, FRAMING, rate, group);
        Work { slowness: OVERLOAD_FACTOR, ..work }
    }

    fn samples(self) -> &'static [Sample] {
        &[Sample { name: "cbr", keys: "clock_ppm = 97", min_bytes: 4_000_000 }]
    }
}
