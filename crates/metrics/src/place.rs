//! Place of a switch port: layer, switch, direction, number.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A layer of switches, or the hosts below them.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// Hosts: a layer of links without switch ports.
    Host,
    /// Switches with hosts: tops of racks, leaves, the switch of a star.
    #[default]
    Tor,
    /// Middle of three tiers.
    Aggregation,
    /// Upper of two tiers.
    Spine,
    /// Upper of three tiers.
    Core,
}

/// Direction of a port's link.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Away from the hosts.
    Up,
    /// Towards the hosts.
    #[default]
    Down,
}

/// An output port of a switch. Its text, such as `tor 3 down 2`, is its name in tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortPlace {
    /// Switch layer.
    pub layer: Layer,
    /// Switch number within the layer, from 0.
    pub switch: u32,
    /// Direction of the link.
    pub direction: Direction,
    /// Port number within switch and direction, from 0.
    pub link: u32,
}

/// Sender on one direction of a link. Its text, such as `tor 3 down 2` or `host 7`, is the link's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkPlace {
    /// An output port of a switch.
    Port(PortPlace),
    /// A host.
    Host(u32),
}

impl fmt::Display for LinkPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinkPlace::Port(port) => port.fmt(f),
            LinkPlace::Host(host) => write!(f, "{} {host}", Layer::Host),
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Layer::Host => "host",
            Layer::Tor => "tor",
            Layer::Aggregation => "aggregation",
            Layer::Spine => "spine",
            Layer::Core => "core",
        })
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Direction::Up => "up",
            Direction::Down => "down",
        })
    }
}

impl fmt::Display for PortPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} {}", self.layer, self.switch, self.direction, self.link)
    }
}
