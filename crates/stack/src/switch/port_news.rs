//! Events at the interfaces of a switch's ports, for the operator of the switch.

use std::fmt;

/// An event at the interface of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortNews {
    /// The port: the index of its host in the configuration.
    pub port: usize,
    /// The event.
    pub event: PortEvent,
}

/// A kind of event at a port's interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PortEvent {
    /// The link went down. Frames to it are lost until it is up.
    Down,
    /// The link is up again.
    Up,
    /// The interface is gone or failed, for this reason. Frames to it count as refused.
    Lost(String),
    /// The interface is there again, and the port works.
    Back,
    /// The first frame arrived that the sender's kernel left unfinished.
    Offload,
    /// The first frame arrived that could not be read.
    Unreadable,
    /// The first frame arrived from a refused source.
    Intruder(String),
}

impl PortEvent {
    /// Returns the name of the event in logs for programs.
    pub fn name(&self) -> &'static str {
        match self {
            PortEvent::Down => "link_down",
            PortEvent::Up => "link_up",
            PortEvent::Lost(_) => "port_lost",
            PortEvent::Back => "port_back",
            PortEvent::Offload => "offloads_seen",
            PortEvent::Unreadable => "frame_unreadable",
            PortEvent::Intruder(_) => "source_refused",
        }
    }
}

impl fmt::Display for PortEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PortEvent::Down => f.write_str("the link is down"),
            PortEvent::Up => f.write_str("the link is up"),
            PortEvent::Lost(why) => write!(f, "{why}; this port waits for an interface of its name"),
            PortEvent::Back => f.write_str("the interface is back"),
            PortEvent::Offload => f.write_str(
                "a frame arrived joined or without its checksum (TSO, GSO, GRO, checksum offload); the switch splits \
                 such frames and computes their checksums. To save it this work, run at the host's end of this cable: \
                 ethtool -K INTERFACE tso off gso off tx off; at this end: gro off",
            ),
            PortEvent::Unreadable => f.write_str(
                "a frame arrived that the switch cannot read and drops: it has a VLAN tag, or is joined in an unknown \
                 way (`unreadable` counts them). Remedy for joined ones, at the host's end of this \
                 cable: ethtool -K INTERFACE tso off gso off tx off; at this end: gro off lro off",
            ),
            PortEvent::Intruder(source) => write!(
                f,
                "a frame from {source} was refused (port_security): this port does not accept it; \
                 `refused_source` counts more"
            ),
        }
    }
}
