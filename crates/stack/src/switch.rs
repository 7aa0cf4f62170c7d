//! Switches in one process: the simulator's ports around frames.
//!
//! [`Config`] describes the switches and their links. [`Fabric`] is their behaviour, on any clock. [`Runner`] drives it
//! with a real clock between packet interfaces. Inner links are in memory; only hosts' cables use the kernel. Each port
//! is the simulator's with any of its profiles, at a virtual line rate. A switch classifies by DSCP and knows no
//! connections. Notifications are made from the bytes of TCP and UDP, also between hosts of other protocols.

mod config;
mod dataplane;
mod detour;
mod egress;
mod exit;
mod fabric;
mod forwarding;
mod frames;
mod ingress;
mod ip_header;
mod labels;
mod notification;
mod notifications_config;
mod pacer;
mod pfabric;
mod phantom;
mod places;
mod port_news;
pub mod quantity;
mod reload;
mod rng;
mod run;
mod security;

pub use config::{
    AddressConfig, Config, ForwardingLayer, HostConfig, ImpairmentConfig, LinkConfig, SwitchConfig,
};
pub use dataplane::{QueueCounters, Ties, Waits};
pub use detour::{
    Detour, DetourConfig, DetourCount, DetourScheme, DetourState, DetourView, LocalPorts,
};
pub use fabric::Fabric;
pub use forwarding::Spread;
pub use frames::{Frames, Track};
pub use labels::LabelConfig;
pub use notification::Unnotified;
pub use notifications_config::NotificationsConfig;
pub use pacer::{MeasuredBytes, PacerConfig, PacerState};
pub use phantom::PhantomConfig;
pub use port_news::{PortEvent, PortNews};
pub use run::{Losses, Runner};
pub use security::PortSecurityConfig;
pub use trimline_hostnic::PacerCounters;
