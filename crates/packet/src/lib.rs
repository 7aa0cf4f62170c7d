//! Units, identifiers, the packet as switches and endpoints see it, and its wire format.
//!
//! This crate is the lowest: it uses no other crate of the workspace, and has no clock, no socket and no floating
//! point. What two crates of one level share is here too.
//!
//! # Begin with
//! - [`Time`], [`TimeDelta`], [`ByteCount`] and [`BitRate`]: integers with a unit. `Time + Time` does not compile, and
//!   delays round up.
//! - [`Packet`]: addresses, [`Header`], size on the wire, [`ServiceClass`] and marks, in 28 bytes. It has no payload.
//! - [`wire::Datagram`] and [`wire::Frame`]: the same packet as the bytes of a frame.
//!
//! # How a packet moves
//! A driver, which is the simulator or the stack, owns all packets in a storage that implements [`Packets`]. An
//! endpoint makes a [`Packet`]. The driver stores it and hands its [`Handle`] to queues, which link packets through the
//! storage ([`list::Queue`]). A switch marks a packet, trims it ([`Packet::trim`]), bounces it ([`Packet::bounce`]) or
//! makes it the notification of its drop ([`Packet::notify`]). The stack reads packets from frames
//! ([`wire::Frame::parse`], [`wire::Parsed::packet`]) and writes them ([`wire::Datagram::of`],
//! [`wire::Datagram::emit`]).
//!
//! # Example
//! A switch trims a packet. The header still names the packet and its size, so the receiver can ask for it again:
//!
//! ```
//! use trimline_packet::{
//!     BitRate, ByteCount, ConnectionId, Flags, Header, HostId, Kind, Packet, PathId, Service, TimeDelta,
//! };
//!
//! let header = Header {
//!     kind: Kind::Data,
//!     flags: Flags::default(),
//!     path: PathId::new(0),
//!     connection: ConnectionId::new(7),
//!     sequence: 3,
//!     extra: Header::data_extra(9000, 0),
//! };
//! let (source, destination) = (HostId::new(1), HostId::new(2));
//! let service = Service::Trimmable.into();
//! let mut packet = Packet { source, destination, header, wire_bytes: 9064, service, marks: 0 };
//!
//! let link = BitRate::from_gbps(10);
//! let on_wire = |packet: &Packet| link.transmission(ByteCount::new(packet.wire_bytes.into()));
//! assert_eq!(on_wire(&packet), TimeDelta::from_ps(7_251_200));
//!
//! assert_eq!(packet.trim(Packet::HEADER_BYTES), 9000, "bytes cut");
//! assert!(packet.service == Service::Trimmed);
//! assert_eq!((packet.header.sequence, packet.header.payload_length()), (3, 9000));
//! assert_eq!(on_wire(&packet), TimeDelta::from_ps(51_200));
//! ```
//!
//! # Read on
//! - [`quantity`] reads units from text such as "10Gbps". [`fluid`] has counters that a rate fills or drains exactly.
//! - [`SettingFault`] is an invalid setting, [`Rng`] a source of random numbers, [`SplitMix`] one for tests, [`PortCounters`] what a port counts.
//!   [`Telemetry`] is what ports said about themselves on a packet's way.
//! - `docs/internals/packet.md` draws the packet and the frame. `spec/wire.toml` has the claims of the wire format.
//!
//! # Features
//! The crate is `no_std` with `alloc`. Feature `testing` adds the module `testing`: storage and packets, for tests and
//! examples.
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
mod telemetry;
#[cfg(feature = "testing")]
pub mod testing;
pub mod units;
pub mod wire;

pub use counters::PortCounters;
pub use ids::{ConnectionId, Handle, HostId, PathId};
pub use packet::{DelayedAck, Flags, Header, Kind, Packet, Packets, Service, ServiceClass};
pub use pause::Pause;
pub use rng::{Rng, SplitMix, mix};
pub use setting::SettingFault;
pub use telemetry::{Hop, Telemetry};
pub use units::{BitRate, ByteCount, Time, TimeDelta};
