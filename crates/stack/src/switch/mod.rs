//! Switches in one process: the simulator's ports around frames.
//!
//! [`Config`] says which switches there are and how they are cabled; [`Fabric`] is what they do, on any
//! clock; [`Runner`] drives it with a real one between packet interfaces. Inner links are in memory; only
//! hosts' cables touch the kernel. Each port is the simulator's with any of its profiles, at a virtual line
//! rate. A switch classifies by DSCP and knows nothing of connections.

mod config;
mod fabric;
mod forwarding;
mod frames;
mod ip_header;
mod phantom;
pub mod quantity;
mod run;

pub use config::{
    AddressConfig, Config, ForwardingLayer, HostConfig, ImpairmentConfig, LinkConfig, SwitchConfig,
};
pub use fabric::{Fabric, QueueCounters, Ties, Waits};
pub use forwarding::Spread;
pub use frames::Frames;
pub use phantom::PhantomConfig;
pub use run::{PortNews, Runner};
