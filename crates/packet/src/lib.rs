//! Units, identifiers, the packet as switches and endpoints see it, and its form on the wire.
//!
//! This crate contains no switch, transport or clock. It is the lowest layer: every other crate may use it, and it uses
//! no other.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod counters;
pub mod ids;
pub mod packet;
mod pause;
pub mod quantity;
pub mod units;
pub mod wire;

pub use counters::PortCounters;
pub use ids::{ConnectionId, Handle, HostId, PathId};
pub use packet::{DelayedAck, Flags, Header, Kind, Packet, Packets, Service, ServiceClass};
pub use pause::Pause;
pub use units::{BitRate, ByteCount, Time, TimeDelta};
