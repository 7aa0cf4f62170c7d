//! Transport endpoints: one protocol at one host, with all its connections.
//!
//! Sans I/O: an endpoint is a plain value. A driver (the simulator with a virtual clock, the stack
//! with a real one) hands it commands, packets and deadlines, and asks it for packets, events and
//! the next deadline. It reads no clock, draws only from streams it was given, calls nobody back.
//!
//! # The contract
//! 1. Call `handle_command`, `handle_packet` or `handle_timeout` with a `now` that never falls.
//! 2. Then, while the NIC has room, call [`Endpoint::poll_transmit`]. What to send is decided at
//!    that moment and not before.
//! 3. Then drain [`Endpoint::poll_event`].
//! 4. Come back at [`Endpoint::poll_timeout`], or when a packet arrives, or when the NIC has room and
//!    [`Endpoint::transmit_at`] has come.
//!
//! Every call is harmless when early or repeated: a poll that returns nothing changes nothing and
//! draws nothing.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod arrivals;
pub mod cbr;
pub mod dcqcn;
pub mod flow;
pub mod homa;
pub mod ndp;
pub mod pfabric;
pub mod phost;
mod round_robin;
pub mod shell;
pub mod spray;
pub mod tcp;
mod timers;

pub use arrivals::{Arrivals, WINDOW_LIMIT};

use rand_xoshiro::Xoshiro256PlusPlus;
use trimline_packet::{ConnectionId, HostId, Packet, PathId, Time};

/// A random stream: one per (use, owner), seeded by the driver.
pub type Stream = Xoshiro256PlusPlus;

/// Which half of a connection: data may flow both ways, and each way is a stream of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// This host sends the data.
    Sending,
    /// This host receives the data.
    Receiving,
}

/// The name of one half of a connection at one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The other host, by its canonical address.
    pub peer: HostId,
    /// The connection, unique at its opener.
    pub connection: ConnectionId,
    /// Whether this host opened it.
    pub opened_here: bool,
    /// The direction of the data.
    pub side: Side,
}

/// What a host knows about its peers: where connections are persistent, and which paths lead where.
///
/// The simulator answers from dense tables made at set-up; the stack from a map and its routes.
pub trait HostTables {
    /// The slot of a half that was assigned and not released.
    fn find(&self, key: Key) -> Option<u32>;
    /// A slot for a new half. Slots are small numbers: they index the endpoint's tables.
    fn assign(&mut self, key: Key) -> u32;
    /// Whether a half that a packet would open may be: not one of a connection that was forgotten.
    fn accepts(&self, _key: Key) -> bool {
        true
    }
    /// The half is gone: its slot may be assigned again.
    fn release(&mut self, key: Key, slot: u32);
    /// Appends every path that leads to `peer`. At least one. [`ANY_PATH`] leaves the choice to the
    /// switches.
    fn paths(&self, peer: HostId, paths: &mut PathList);
    /// The random stream of the half of a connection that the peer opened.
    fn stream(&self, key: Key) -> Stream;
    /// Which transport of a host with several carries a connection, by its place among them; `None` of a connection
    /// that is not known any more. Of the key the half does not count.
    fn transport(&self, _key: Key) -> Option<usize> {
        Some(0)
    }
}

/// Paths to a peer. Up to eight need no memory of their own: most networks have no more, and millions of short flows
/// would ask for it and give it back.
pub type PathList = smallvec::SmallVec<[PathId; 8]>;

/// The path of a packet for which each switch chooses the next hop at random (per-packet ECMP).
pub const ANY_PATH: PathId = PathId::new(u16::MAX);

/// The classes of packets ([`Packet::class`]) that the NIC would take now: the others are paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowed(u8);

impl Allowed {
    /// Everything.
    pub const ALL: Allowed = Allowed(u8::MAX);
    /// Control packets only: data is paused.
    pub const CONTROL: Allowed = Allowed(1 << Packet::CONTROL_CLASS);
    /// Everything but control packets.
    pub const DATA: Allowed = Allowed(!Allowed::CONTROL.0);

    /// The classes whose bits are set: bit 0 for class 0.
    #[inline]
    pub const fn from_bits(bits: u8) -> Allowed {
        Allowed(bits)
    }
    /// What both allow.
    #[inline]
    #[must_use]
    pub const fn and(self, other: Allowed) -> Allowed {
        Allowed(self.0 & other.0)
    }
    /// Whether packets of a class (0 to 7) may be sent.
    #[inline]
    pub const fn class(self, class: u8) -> bool {
        self.0 >> (class & 7) & 1 != 0
    }
    /// Whether headers and control packets may be sent.
    #[inline]
    pub const fn control(self) -> bool {
        self.class(Packet::CONTROL_CLASS)
    }
    /// Whether data of class 0 may be sent.
    #[inline]
    pub const fn data(self) -> bool {
        self.class(0)
    }
}

/// Bytes on the wire that a transport's packets have beside their payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    /// Of a packet with payload. No control packet is longer.
    pub header: u16,
    /// Of the shortest packet, whatever its kind: switches trim to no less.
    pub min: u16,
}

impl Framing {
    /// Everything without payload takes 64 bytes, the shortest Ethernet frame (NDP 3.1).
    pub const NDP: Framing = Framing { header: Packet::HEADER_BYTES, min: Packet::HEADER_BYTES };

    /// Of two transports in one network: the longer header, and the shorter packet.
    #[must_use]
    pub const fn with(self, other: Framing) -> Framing {
        Framing {
            header: if self.header > other.header { self.header } else { other.header },
            min: if self.min < other.min { self.min } else { other.min },
        }
    }

    /// Bytes on the wire of a packet with so much payload.
    pub const fn wire_bytes(self, payload: u16) -> u16 {
        self.header + payload
    }
}

/// What the driver does with the payload of a packet it has handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// No payload, or none that is wanted (duplicate, control packet, unknown connection).
    Discard,
    /// New payload of the receiving half in `slot`: packet `sequence` of its stream.
    Accept {
        /// Slot of the receiving half.
        slot: u32,
        /// Packet number from the beginning of the stream.
        sequence: u32,
    },
}

/// One protocol at one host.
pub trait Endpoint {
    /// What its packets take on the wire beside their payload.
    const FRAMING: Framing = Framing::NDP;
    /// What the application may ask for.
    type Command;
    /// What the application is told.
    type Event;

    /// The application asks for something.
    fn handle_command(
        &mut self,
        now: Time,
        command: Self::Command,
        directory: &mut impl HostTables,
    );
    /// A packet arrived from the network: whole, trimmed, returned or control.
    fn handle_packet(
        &mut self,
        now: Time,
        packet: &Packet,
        directory: &mut impl HostTables,
    ) -> Disposition;
    /// The time of [`Endpoint::poll_timeout`] has come.
    fn handle_timeout(&mut self, now: Time, directory: &mut impl HostTables);
    /// The NIC has room for packets of the classes that are `allowed`: the packet to send, control strictly before
    /// data.
    fn poll_transmit(&mut self, now: Time, allowed: Allowed) -> Option<Packet>;
    /// Something for the application.
    fn poll_event(&mut self) -> Option<Self::Event>;
    /// The earliest time at which [`Endpoint::poll_transmit`] with the same `allowed` returns a packet if nothing else
    /// happens first: [`Time::ZERO`] when it does now, [`Time::NEVER`] when nothing is ready or all that is ready is
    /// of a paused class.
    fn transmit_at(&self, allowed: Allowed) -> Time;
    /// The next deadline of a timer, [`Time::NEVER`] when none is armed. O(1). Paced sends are not
    /// timers: they are in [`Endpoint::transmit_at`].
    fn poll_timeout(&self) -> Time;
}
