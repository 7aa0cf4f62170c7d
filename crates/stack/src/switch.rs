//! Switches in one process: the simulator's ports around frames.
//!
//! [`Config`] says which switches there are and how they are cabled; [`Fabric`] is what they do, on any
//! clock; [`Runner`] drives it with a real one between packet interfaces. Inner links are in memory; only
//! hosts' cables touch the kernel. Each port is the simulator's with any of its profiles, at a virtual line
//! rate. A switch classifies by DSCP and knows nothing of connections; one that tells senders of drops makes notifications
//! of the bytes of TCP and UDP, whose ends need not be of this protocol.

mod config;
mod dataplane;
mod detour;
mod egress;
mod fabric;
mod forwarding;
mod frames;
mod ingress;
mod ip_header;
mod notification;
mod notifications_config;
mod pfabric;
mod phantom;
mod places;
mod port_news;
pub mod quantity;
mod reload;
mod run;
mod security;

pub use config::{
    AddressConfig, Config, ForwardingLayer, HostConfig, ImpairmentConfig, LinkConfig, SwitchConfig,
};
pub use dataplane::{QueueCounters, Ties, Waits};
pub use detour::{Detour, DetourConfig, DetourScheme, DetourState, DetourView, LocalPorts};
pub use fabric::Fabric;
pub use forwarding::Spread;
pub use frames::Frames;
pub use notification::Untold;
pub use notifications_config::NotificationsConfig;
pub use phantom::PhantomConfig;
pub use port_news::{PortEvent, PortNews};
pub use run::{Losses, Runner};
pub use security::PortSecurityConfig;
