//! Transport endpoints without input and output: one protocol at one host, with all its connections.
//!
//! An endpoint is a plain value. It reads no clock, draws only from RNG streams that it was given, and makes no
//! callbacks. The crate knows packets. It knows no switch and no link.
//!
//! # Begin with
//! - [`Endpoint`]: the interface of every protocol. [`ndp::Endpoint`] and [`tcp::Endpoint`] (with DCTCP and MPTCP),
//!   [`dcqcn`], [`hpcc`], [`phost`], [`homa`], [`pfabric`], [`nscc`] (with [`rccc`]) and [`cbr`] implement it.
//! - [`flow::Command`] and [`flow::Event`]: requests of an application, and reports to it.
//! - [`HostTables`]: what an endpoint asks its driver: slots of streams, paths, RNG streams.
//!
//! # The contract
//! The driver is the simulator with a virtual clock, or the stack with a real one. It gives commands, packets and
//! deadlines, and takes packets, events and the next deadline.
//! 1. Call `handle_command`, `handle_packet` or `handle_timeout` with a `now` that never falls.
//! 2. Then, while the NIC has room, call [`Endpoint::poll_transmit`], which decides only then what to send.
//! 3. Then drain [`Endpoint::poll_event`].
//! 4. Come back at [`Endpoint::poll_timeout`], or when a packet arrives, or when the NIC has room and
//!    [`Endpoint::transmit_at`] has come.
//!
//! Early and repeated calls are harmless: a poll that returns nothing changes nothing and draws nothing.
//!
//! # Example
//! A host sends 20 kB at 10 Gb/s. `Tables` is the driver's [`HostTables`]:
//!
//! ```
//! # use rand_xoshiro::rand_core::SeedableRng;
//! # use trimline_packet::{BitRate, ByteCount, ConnectionId, HostId, PathId, Time, TimeDelta};
//! # use trimline_transport::{HostTables, Key, PathList, RngStream};
//! # struct Tables;
//! # impl HostTables for Tables {
//! #     fn find(&self, _key: Key) -> Option<u32> { None }
//! #     fn assign(&mut self, _key: Key) -> u32 { 0 }
//! #     fn release(&mut self, _key: Key, _slot: u32) {}
//! #     fn paths(&self, _peer: HostId, _paths: &mut PathList) {}
//! #     fn stream(&self, _key: Key) -> RngStream { RngStream::seed_from_u64(1) }
//! # }
//! use trimline_transport::flow::Command;
//! use trimline_transport::{Allowed, Endpoint, cbr};
//!
//! let (rate, clock_lag) = (BitRate::from_gbps(10), TimeDelta::ZERO);
//! let config = cbr::Config { payload_bytes: 9000, rate, clock_lag, marks_unscheduled: false };
//! let mut host = cbr::Endpoint::new(HostId::new(0), config);
//! let open = Command::Open {
//!     peer: HostId::new(1),
//!     connection: ConnectionId::new(0),
//!     class: 0,
//!     length: Some(ByteCount::new(20_000)),
//!     payload: None,
//!     paths: [PathId::new(0)].into_iter().collect(),
//!     stream: RngStream::seed_from_u64(1),
//! };
//! host.handle_command(Time::ZERO, open, &mut Tables);
//!
//! let mut sent = Vec::new();
//! while host.transmit_at(Allowed::ALL) < Time::NEVER {
//!     let now = host.transmit_at(Allowed::ALL);
//!     let packet = host.poll_transmit(now, Allowed::ALL).expect("its time has come");
//!     sent.push((now.as_ps(), packet.header.payload_length()));
//! }
//! assert_eq!(sent, [(0, 9000), (7_251_200, 9000), (14_502_400, 2000)]);
//! assert!(matches!(host.poll_event(), Some(cbr::Event::Sent { slot: 0, .. })));
//! ```
//!
//! `cargo run -p trimline-transport --example lossy_pipe` drives two NDP hosts over a link that loses packets.
//!
//! # Read on
//! To write a transport, implement [`shell::ShellEndpoint`], which makes an [`Endpoint`]:
//! `docs/howto-add-a-transport.md`. `docs/internals/transports.md` and `docs/internals/ndp.md` explain the design.
//! `spec` has the claims of the papers. The crate is `no_std` with `alloc`, and has no features.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod arrivals;
pub mod cbr;
pub mod dcqcn;
pub mod flow;
pub mod homa;
pub mod hpcc;
mod messages;
pub mod ndp;
pub mod nscc;
mod pacing;
pub mod path_choice;
pub mod pfabric;
pub mod phost;
pub mod rccc;
mod round_robin;
pub mod shell;
pub mod spray;
pub mod tcp;
mod timeouts;
mod timers;
mod way;

pub use arrivals::{Arrivals, WINDOW_LIMIT};

use rand_xoshiro::Xoshiro256PlusPlus;
use trimline_packet::{ConnectionId, HostId, Packet, PathId, Telemetry, Time};

/// An RNG stream of one (use, owner), seeded by the driver.
pub type RngStream = Xoshiro256PlusPlus;

/// The direction of a stream at one host. A connection may have a stream each way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// This host sends the data.
    Sending,
    /// This host receives the data.
    Receiving,
}

/// Names one send or receive stream of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The peer, by its canonical address.
    pub peer: HostId,
    /// The connection, unique at its opener.
    pub connection: ConnectionId,
    /// True if this host opened the connection.
    pub opened_here: bool,
    /// The direction of the data.
    pub side: Side,
}

/// The connection and path tables of a host: dense tables in the simulator, a map and routes in the stack.
///
/// A host with few streams finds them in a list; a slot is a place in it:
///
/// ```
/// use rand_xoshiro::rand_core::SeedableRng;
/// use trimline_packet::{ConnectionId, HostId, PathId};
/// use trimline_transport::{HostTables, Key, PathList, RngStream};
///
/// #[derive(Default)]
/// struct Tables(Vec<Option<Key>>);
///
/// impl HostTables for Tables {
///     fn find(&self, key: Key) -> Option<u32> {
///         self.0.iter().position(|&known| known == Some(key)).map(|slot| slot as u32)
///     }
///     fn assign(&mut self, key: Key) -> u32 {
///         self.0.push(Some(key));
///         self.0.len() as u32 - 1
///     }
///     fn release(&mut self, _key: Key, slot: u32) {
///         self.0[slot as usize] = None;
///     }
///     fn paths(&self, _peer: HostId, paths: &mut PathList) {
///         paths.extend((0..4).map(PathId::new));
///     }
///     fn stream(&self, key: Key) -> RngStream {
///         RngStream::seed_from_u64(key.connection.get().into())
///     }
/// }
///
/// let (mut tables, key) = (Tables::default(), Key::sending(HostId::new(1), ConnectionId::new(7)));
/// let slot = tables.assign(key);
/// assert_eq!(tables.find(key), Some(slot));
/// tables.release(key, slot);
/// assert_eq!(tables.find(key), None);
/// ```
pub trait HostTables {
    /// Returns the slot of a stream that is assigned and not released.
    fn find(&self, key: Key) -> Option<u32>;
    /// Assigns a slot to a new stream. Slots are small numbers: they index tables.
    fn assign(&mut self, key: Key) -> u32;
    /// Returns whether a packet may open the stream: not if its connection was forgotten.
    fn accepts(&self, _key: Key) -> bool {
        true
    }
    /// Releases the slot of a stream that ended.
    fn release(&mut self, key: Key, slot: u32);
    /// Appends all paths to `peer`, at least one; [`ANY_PATH`] lets switches choose.
    fn paths(&self, peer: HostId, paths: &mut PathList);
    /// Returns the RNG stream of a stream that the peer opened.
    fn stream(&self, key: Key) -> RngStream;
    /// Returns the index of the transport that carries a connection; `None` if it is no longer known. Ignores the key's
    /// side.
    fn transport(&self, _key: Key) -> Option<usize> {
        Some(0)
    }
}

/// Paths to a peer. Up to eight are inline: most networks have no more, and millions of short flows would allocate.
pub type PathList = smallvec::SmallVec<[PathId; 8]>;

/// The path of a packet that each switch forwards at random (per-packet ECMP).
pub const ANY_PATH: PathId = PathId::new(u16::MAX);

/// The classes ([`Packet::class`]) that the NIC takes now; the others are paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowed(u8);

impl Allowed {
    /// All classes.
    pub const ALL: Allowed = Allowed(u8::MAX);
    /// Control packets only: data is paused.
    pub const CONTROL: Allowed = Allowed(1 << Packet::CONTROL_CLASS);
    /// Everything but control packets.
    pub const DATA: Allowed = Allowed(!Allowed::CONTROL.0);

    /// Allows the classes whose bits are set, bit 0 for class 0.
    #[inline]
    pub const fn from_bits(bits: u8) -> Allowed {
        Allowed(bits)
    }
    /// Returns the classes allowed by both.
    #[inline]
    #[must_use]
    pub const fn and(self, other: Allowed) -> Allowed {
        Allowed(self.0 & other.0)
    }
    /// Returns whether a class (0 to 7) may be sent.
    #[inline]
    pub const fn class(self, class: u8) -> bool {
        self.0 >> (class & 7) & 1 != 0
    }
    /// Returns whether headers and control packets may be sent.
    #[inline]
    pub const fn control(self) -> bool {
        self.class(Packet::CONTROL_CLASS)
    }
    /// Returns whether data of class 0 may be sent.
    #[inline]
    pub const fn data(self) -> bool {
        self.class(0)
    }
}

/// Header sizes on the wire, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    /// The header of a packet with payload. No control packet is longer.
    pub header: u16,
    /// The shortest packet: switches trim to no less.
    pub min: u16,
}

impl Framing {
    /// A packet without payload takes 64 bytes, the shortest Ethernet frame (NDP 3.1).
    pub const NDP: Framing = Framing { header: Packet::HEADER_BYTES, min: Packet::HEADER_BYTES };

    /// Combines two transports: the longer header and the shorter packet.
    #[must_use]
    pub const fn with(self, other: Framing) -> Framing {
        Framing {
            header: if self.header > other.header { self.header } else { other.header },
            min: if self.min < other.min { self.min } else { other.min },
        }
    }

    /// Returns the wire bytes of a packet with `payload` bytes.
    pub const fn wire_bytes(self, payload: u16) -> u16 {
        self.header + payload
    }
}

/// The driver's use of a received payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// No payload, or an unwanted one (duplicate, control packet, unknown connection).
    Discard,
    /// New payload: packet `sequence` of the receive stream in `slot`.
    Accept {
        /// Slot of the receive stream.
        slot: u32,
        /// Packet number from the beginning of the stream.
        sequence: u32,
    },
}

/// One protocol at one host.
pub trait Endpoint {
    /// Header sizes of its packets.
    const FRAMING: Framing = Framing::NDP;
    /// True if its packets collect telemetry of the ports on their way ([`Telemetry`]). Its driver then calls
    /// [`Endpoint::telemetry`] and [`Endpoint::handle_telemetry`].
    const TELEMETRY: bool = false;
    /// Requests of the application.
    type Command;
    /// Reports to the application.
    type Event;

    /// Takes a request of the application.
    fn handle_command(
        &mut self,
        now: Time,
        command: Self::Command,
        directory: &mut impl HostTables,
    );
    /// Takes a packet: whole, trimmed, returned or control.
    fn handle_packet(
        &mut self,
        now: Time,
        packet: &Packet,
        directory: &mut impl HostTables,
    ) -> Disposition;
    /// Runs the timers when [`Endpoint::poll_timeout`] has come.
    fn handle_timeout(&mut self, now: Time, directory: &mut impl HostTables);
    /// Returns the packet to send when the NIC has room for `allowed` classes: control strictly before data.
    fn poll_transmit(&mut self, now: Time, allowed: Allowed) -> Option<Packet>;
    /// Returns the next event for the application.
    fn poll_event(&mut self) -> Option<Self::Event>;
    /// The time from which [`Endpoint::poll_transmit`] returns a packet, if nothing else happens: [`Time::ZERO`] for
    /// now, [`Time::NEVER`] if nothing is ready or only paused classes are.
    fn transmit_at(&self, allowed: Allowed) -> Time;
    /// The next deadline of a timer, or [`Time::NEVER`]. O(1). Paced sends are in [`Endpoint::transmit_at`].
    fn poll_timeout(&self) -> Time;
    /// Returns the telemetry of the packet that [`Endpoint::poll_transmit`] has just returned: empty, to be filled on
    /// its way, or an ACK's ([`Telemetry::echo`]). `None`: the packet has no room for it.
    fn telemetry(&mut self, _packet: &Packet) -> Option<Telemetry> {
        None
    }
    /// Takes the telemetry of the packet with which [`Endpoint::handle_packet`] is called next.
    fn handle_telemetry(&mut self, _telemetry: Option<Telemetry>) {}
}
