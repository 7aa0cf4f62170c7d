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
pub mod flow;
pub mod ndp;
mod round_robin;
pub mod tcp;
mod timers;

use alloc::vec::Vec;

pub use arrivals::{Arrivals, WINDOW_LIMIT};

use rand_xoshiro::Xoshiro256PlusPlus;
use trimline_packet::{ConnectionId, HostId, Packet, PathId, Time};

/// A random stream: one per (use, owner), seeded by the driver.
pub type Stream = Xoshiro256PlusPlus;

/// Which half of a connection: data may flow both ways, and each way is a stream of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Half {
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
    pub half: Half,
}

/// What a host knows about its peers: where connections are kept, and which paths lead where.
///
/// The simulator answers from dense tables made at set-up; the stack from a map and its routes.
pub trait HostTables {
    /// The slot of a half that was assigned and not released.
    fn find(&self, key: Key) -> Option<u32>;
    /// A slot for a new half. Slots are small numbers: they index the endpoint's tables.
    fn assign(&mut self, key: Key) -> u32;
    /// The half is gone: its slot may be assigned again.
    fn release(&mut self, key: Key, slot: u32);
    /// Appends every path that leads to `peer`. At least one. [`ANY_PATH`] leaves the choice to the
    /// switches.
    fn paths(&self, peer: HostId, paths: &mut Vec<PathId>);
    /// The random stream of the half of a connection that the peer opened.
    fn stream(&self, key: Key) -> Stream;
    /// Which transport of a host with several carries a connection, by its place among them.
    fn transport(&self, _connection: ConnectionId) -> usize {
        0
    }
}

/// The path of a packet for which each switch chooses the next hop at random (per-packet ECMP).
pub const ANY_PATH: PathId = PathId::new(u16::MAX);

/// Which packets the NIC would take now: a paused data class must not block control packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowed(u8);

impl Allowed {
    /// Everything.
    pub const ALL: Allowed = Allowed(3);
    /// Control packets only: data is paused.
    pub const CONTROL: Allowed = Allowed(1);
    /// Whether data may be sent.
    #[inline]
    pub const fn data(self) -> bool {
        self.0 & 2 != 0
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
    /// The NIC has room: the packet to send, control strictly before data.
    fn poll_transmit(&mut self, now: Time, allowed: Allowed) -> Option<Packet>;
    /// Something for the application.
    fn poll_event(&mut self) -> Option<Self::Event>;
    /// The earliest time at which [`Endpoint::poll_transmit`] could return a packet if nothing else
    /// happens first: [`Time::ZERO`] when it can now, [`Time::NEVER`] when it cannot.
    fn transmit_at(&self) -> Time;
    /// The next deadline of a timer, [`Time::NEVER`] when none is armed. O(1). Paced sends are not
    /// timers: they are in [`Endpoint::transmit_at`].
    fn poll_timeout(&self) -> Time;
}
