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
pub mod quantity;
mod run;

pub use config::{
    AddressConfig, Config, ForwardingLayer, HostConfig, ImpairmentConfig, LinkConfig, SwitchConfig,
};
pub use fabric::{Fabric, Ties};
pub use forwarding::Spread;
pub use frames::Frames;
pub use run::{PortNews, Runner};
