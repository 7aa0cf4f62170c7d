//! The syntax of measures in expected.toml, and its valid combinations.

use serde::{Deserialize, Serialize};

use crate::place::{Direction, Layer, PortPlace};

/// A measure as written in expected.toml. All keys but `quantity` are optional; [`Measure`](super::Measure) checks the
/// keys of each quantity.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    /// Measured quantity.
    pub quantity: String,
    /// Completion times: at `receiver` or `sender`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Only flows of this workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// Only flows from first to second host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pair: Option<[u32; 2]>,
    /// Only flows that began before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_before_us: Option<u64>,
    /// Only flows of these sizes, in payload bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<Sizes>,
    /// Reduces flows by group; the number is the mean over groups, weighted by their flows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<Groups>,
    /// Retransmissions: cause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// Only these ports; default all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ports: Option<OneOrMore>,
    /// All ports but these; packets sent exclude packets that these trimmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beyond: Option<PortFilter>,
    /// Hosts: only this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<u32>,
    /// Latencies: of `all` packets, or of `later` ones, behind their flow's first window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets: Option<String>,
    /// Timelines: only this port or host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// Timelines: kind of event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// Bursts: idle time of a link that ends a burst.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap_us: Option<u64>,
    /// Samples: only ports of this pod, and of core switches that lead to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod: Option<u32>,
    /// Queues: only those for `data`, or for `headers` and control packets. Bursts: their `packets`, `bytes` on the
    /// wire, `span` from first to last bit, or `period` from one to the next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// Timelines: interval length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_us: Option<u64>,
    /// Timelines: threshold for busy time, in percent of an interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub below_percent: Option<u64>,
    /// Samples: only from this time on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_us: Option<u64>,
    /// Samples: only up to this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_us: Option<u64>,
    /// Reduction of many values to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reduce: Option<String>,
    /// Values that count, in `unit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<Within>,
    /// Divisor of a count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per: Option<String>,
    /// Unit of values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
}

/// A half-open range of sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Sizes {
    /// Minimum size.
    pub from: Option<u64>,
    /// Exclusive maximum size.
    pub below: Option<u64>,
}

/// Groups of flows, by receiver and size class.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Groups {
    /// True if each receiver has its own groups.
    pub receivers: bool,
    /// Maximum payload bytes per size class, ascending; larger flows are in the last class. Empty: one class.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sizes_up_to: Vec<u64>,
}

/// A closed range of values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Within {
    /// Minimum value.
    pub from: Option<f64>,
    /// Maximum value.
    pub to: Option<f64>,
}

/// A filter of ports: each present key must match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PortFilter {
    /// Switch layer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<Layer>,
    /// Switch number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switch: Option<u32>,
    /// Direction of the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// Link number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<u32>,
}

/// One filter or a list.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(
    untagged,
    expecting = "expected a table of layer, switch, direction and link, or a list of such tables; layers are tor, \
                 aggregation, spine and core, directions up and down"
)]
pub enum OneOrMore {
    /// One filter.
    One(PortFilter),
    /// A list: ports that any filter takes.
    More(Vec<PortFilter>),
}

impl PortFilter {
    /// True if the filter takes the port.
    pub fn takes(&self, place: &PortPlace) -> bool {
        self.layer.is_none_or(|layer| layer == place.layer)
            && self.switch.is_none_or(|switch| switch == place.switch)
            && self.direction.is_none_or(|direction| direction == place.direction)
            && self.link.is_none_or(|link| link == place.link)
    }
}

impl Sizes {
    /// True if the range contains the size; false for long-lived flows.
    pub fn takes(&self, size: Option<u64>) -> bool {
        size.is_some_and(|size| {
            self.from.is_none_or(|from| size >= from) && self.below.is_none_or(|below| size < below)
        })
    }
}

impl Within {
    /// True if the range contains `value`.
    pub fn takes(&self, value: f64) -> bool {
        self.from.is_none_or(|from| value >= from) && self.to.is_none_or(|to| value <= to)
    }
}

impl Spec {
    /// Present keys except `quantity`.
    pub(super) fn keys(&self) -> Vec<String> {
        let json = serde_json::to_value(self).expect("a measure has only string keys");
        let keys = json.as_object().into_iter().flatten();
        keys.map(|(key, _)| key.clone()).filter(|key| key != "quantity").collect()
    }
}
