//! Units, identifiers, the packet as switches and endpoints see it, and its wire format.
//!
//! This lowest crate knows no switch, transport or clock. Every other crate may use it; it uses no other.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod counters;
pub mod fluid;
pub mod ids;
pub mod list;
pub mod packet;
mod pause;
pub mod quantity;
mod rng;
mod setting;
#[cfg(feature = "testing")]
pub mod testing;
pub mod units;
pub mod wire;

pub use counters::PortCounters;
pub use ids::{ConnectionId, Handle, HostId, PathId};
pub use packet::{DelayedAck, Flags, Header, Kind, Packet, Packets, Service, ServiceClass};
pub use pause::Pause;
pub use rng::Rng;
pub use setting::SettingFault;
pub use units::{BitRate, ByteCount, Time, TimeDelta};
