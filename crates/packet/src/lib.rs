//! What a packet is: units, identifiers, the packet as switches and endpoints see it, and its
//! form on the wire.
//!
//! This crate knows no switch, no transport and no clock. It is the first room of the house: every
//! other crate reads it, and it reads none.
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
