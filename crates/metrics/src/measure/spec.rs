//! How expected.toml spells a measure, and which spellings make sense.

use serde::{Deserialize, Serialize};

use crate::place::{Direction, Layer, PortPlace};

/// A measure as expected.toml writes it. Every key but `quantity` may be absent; which keys a quantity takes is
/// checked by [`Measure`](super::Measure).
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    /// What is measured.
    pub quantity: String,
    /// Completion times: at the `receiver` or at the `sender`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Only flows of this workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// Only flows from the first to the second host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pair: Option<[u32; 2]>,
    /// Only flows that began before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_before_us: Option<u64>,
    /// Only flows of such a size, payload bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<Sizes>,
    /// Flows in groups, each reduced by itself: the number is the mean of the groups, each counted as often as it has flows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<Groups>,
    /// Retransmissions: why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// Only these ports; all without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ports: Option<OneOrMore>,
    /// All ports but these; packets that these trimmed are not among those sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beyond: Option<PortFilter>,
    /// Hosts: only this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<u32>,
    /// Latencies: of `all` packets, or of the `later` ones, behind the first window of their flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets: Option<String>,
    /// Timelines: only what is about this port or host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// Timelines: what happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// Bursts: a link that is idle for so long ends one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap_us: Option<u64>,
    /// Samples: only ports of this pod, and those of core switches that lead to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod: Option<u32>,
    /// Queues: only those for `data`, or for `headers` and control packets. Bursts: their `packets`, `bytes` on the wire, `span` from first to last bit, or `period` from one to the next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// Timelines: length of an interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_us: Option<u64>,
    /// Timelines: how much of an interval is much.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub below_percent: Option<u64>,
    /// Samples: only those from this time on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_us: Option<u64>,
    /// Samples: only those up to this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_us: Option<u64>,
    /// How many values become one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reduce: Option<String>,
    /// Which values are counted, in `unit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<Within>,
    /// What a count is divided by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per: Option<String>,
    /// Unit of the values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
}

/// Sizes from one, included, to the other, left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Sizes {
    /// The least.
    pub from: Option<u64>,
    /// More than the most.
    pub below: Option<u64>,
}

/// How flows are grouped. Flows of one receiver and one class of sizes are in one group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Groups {
    /// Whether each receiver has groups of its own.
    pub receivers: bool,
    /// The most payload bytes of each class of sizes, ascending; what is larger is in the last one. Empty: one class.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sizes_up_to: Vec<u64>,
}

/// Values from one to the other, both included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Within {
    /// The least.
    pub from: Option<f64>,
    /// The most.
    pub to: Option<f64>,
}

/// Ports: each key that is there must be that of the port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PortFilter {
    /// Layer of the switch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<Layer>,
    /// Number of the switch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switch: Option<u32>,
    /// Where the link leads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// Number of the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<u32>,
}

/// One table, or a list of them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(
    untagged,
    expecting = "expected a table of layer, switch, direction and link, or a list of such tables; layers are tor, \
                 aggregation, spine and core, directions up and down"
)]
pub enum OneOrMore {
    /// One.
    One(PortFilter),
    /// More: a port that one of them takes.
    More(Vec<PortFilter>),
}

impl PortFilter {
    /// Whether the port is one of them.
    pub fn takes(&self, place: &PortPlace) -> bool {
        self.layer.is_none_or(|layer| layer == place.layer)
            && self.switch.is_none_or(|switch| switch == place.switch)
            && self.direction.is_none_or(|direction| direction == place.direction)
            && self.link.is_none_or(|link| link == place.link)
    }
}

impl Sizes {
    /// Whether a flow of this size is one of them; a long-lived one never is.
    pub fn takes(&self, size: Option<u64>) -> bool {
        size.is_some_and(|size| {
            self.from.is_none_or(|from| size >= from) && self.below.is_none_or(|below| size < below)
        })
    }
}

impl Within {
    /// Whether the value is in it.
    pub fn takes(&self, value: f64) -> bool {
        self.from.is_none_or(|from| value >= from) && self.to.is_none_or(|to| value <= to)
    }
}

impl Spec {
    /// Names of the keys that are there, but `quantity`.
    pub(super) fn keys(&self) -> Vec<String> {
        let json = serde_json::to_value(self).expect("a measure has only string keys");
        let keys = json.as_object().into_iter().flatten();
        keys.map(|(key, _)| key.clone()).filter(|key| key != "quantity").collect()
    }
}
