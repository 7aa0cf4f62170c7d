//! The part of an endpoint that all transports share: slots, control queue, timers and events.
//!
//! A transport has a [`Shell`] and implements [`ShellEndpoint`], which makes it an [`Endpoint`]. NDP has its own
//! endpoint, because its streams live on after they end.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::num::NonZeroU16;

use trimline_packet::{ByteCount, Flags, HostId, Packet, Telemetry, Time};

use crate::flow::{Command, Event, Memory};
use crate::round_robin::{Linked, Links};
use crate::timers::Timers;
use crate::{Allowed, Disposition, Endpoint, Framing, HostTables, Key, PathList, RngStream};

/// Max control packets held for a NIC that takes none. Further ones are dropped; time-outs make up for them.
const CONTROL_LIMIT: usize = 1 << 16;

/// The direction and state of a stream.
#[derive(Debug, Default)]
pub enum StreamState<S, R> {
    /// The slot is not in use.
    #[default]
    Vacant,
    /// A send stream.
    Sending(S),
    /// A receive stream.
    Receiving(R),
}

impl<S, R> StreamState<S, R> {
    /// Returns the sender.
    ///
    /// # Panics
    /// Panics unless this is a send stream.
    #[inline]
    pub fn sender(&mut self) -> &mut S {
        match self {
            StreamState::Sending(sender) => sender,
            StreamState::Receiving(_) | StreamState::Vacant => {
                panic!("the slot is not of a sending side")
            }
        }
    }

    /// Returns the receiver.
    ///
    /// # Panics
    /// Panics unless this is a receive stream.
    #[inline]
    pub fn receiver(&mut self) -> &mut R {
        match self {
            StreamState::Receiving(receiver) => receiver,
            StreamState::Sending(_) | StreamState::Vacant => {
                panic!("the slot is not of a receiving side")
            }
        }
    }
}

/// A slot with one stream. `X` is common state of both directions: a key, or statistics.
#[derive(Debug)]
pub struct Slot<S, R, X = ()> {
    /// The direction and state of the stream.
    pub stream_state: StreamState<S, R>,
    /// The time of the timer, or [`Time::NEVER`] if not armed.
    pub deadline: Time,
    /// State of streams of both directions.
    pub common: X,
}

impl<S: Linked, R, X> Linked for Slot<S, R, X> {
    #[inline]
    fn links(&mut self) -> &mut Links {
        self.stream_state.sender().links()
    }
}

/// Slots, control queue, timers and events of one host.
#[derive(Debug)]
pub struct Shell<S, R, X = ()> {
    /// Control packets in order, before anything else.
    pub control: VecDeque<Packet>,
    /// The streams, by slot.
    pub slots: Vec<Slot<S, R, X>>,
    pub(crate) timers: Timers,
    /// Events for the application.
    pub events: VecDeque<Event>,
    /// The host.
    pub host: HostId,
    is_listening: bool,
}

impl<S, R, X: Copy> Shell<S, R, X> {
    /// Creates a host without connections.
    pub const fn new(host: HostId) -> Shell<S, R, X> {
        Shell {
            control: VecDeque::new(),
            slots: Vec::new(),
            timers: Timers::NONE,
            events: VecDeque::new(),
            host,
            is_listening: false,
        }
    }

    /// Puts a new stream into a slot.
    pub fn place(&mut self, slot: u32, stream_state: StreamState<S, R>, common: X) {
        let index = slot as usize;
        if self.slots.len() <= index {
            let vacant =
                || Slot { stream_state: StreamState::Vacant, deadline: Time::NEVER, common };
            self.slots.resize_with(index + 1, vacant);
        }
        self.slots[index] = Slot { stream_state, deadline: Time::NEVER, common };
    }

    /// Empties a slot for reuse. Returns its former state.
    pub fn vacate(&mut self, slot: u32) -> StreamState<S, R> {
        let Some(entry) = self.slots.get_mut(slot as usize) else { return StreamState::Vacant };
        entry.deadline = Time::NEVER;
        core::mem::take(&mut entry.stream_state)
    }

    /// Returns a slot's entry.
    ///
    /// # Panics
    /// Panics if the slot was never assigned.
    #[inline]
    pub fn at(&mut self, slot: u32) -> &mut Slot<S, R, X> {
        &mut self.slots[slot as usize]
    }

    /// Returns the common state in `slot`.
    ///
    /// # Panics
    /// Panics if the slot was never assigned.
    pub fn common(&self, slot: u32) -> &X {
        match self.slots.get(slot as usize) {
            Some(entry) => &entry.common,
            None => panic!("slot {slot} was never assigned"),
        }
    }

    /// Returns the sender in `slot`.
    ///
    /// # Panics
    /// Panics if it is no send stream.
    pub fn sender(&self, slot: u32) -> &S {
        match self.slots.get(slot as usize).map(|entry| &entry.stream_state) {
            Some(StreamState::Sending(sender)) => sender,
            _ => panic!("slot {slot} is not of a sending side"),
        }
    }

    /// Returns the receiver in `slot`.
    ///
    /// # Panics
    /// Panics if it is no receive stream.
    pub fn receiver(&self, slot: u32) -> &R {
        match self.slots.get(slot as usize).map(|entry| &entry.stream_state) {
            Some(StreamState::Receiving(receiver)) => receiver,
            _ => panic!("slot {slot} is not of a receiving side"),
        }
    }

    /// Returns the slot table's memory, to prefetch.
    #[inline]
    pub fn memory(&self) -> Memory {
        Memory::of(&self.slots)
    }

    /// Returns the slot of receive stream `key`, and whether it is new. A new one needs a listening host, a packet that
    /// `may_begin` it and the driver's consent; `receiver` makes it from the paths back and its RNG stream.
    #[inline]
    pub fn accept(
        &mut self,
        key: Key,
        common: X,
        may_begin: bool,
        directory: &mut impl HostTables,
        receiver: impl FnOnce(PathList, RngStream) -> R,
    ) -> Option<(u32, bool)> {
        if let Some(slot) = directory.find(key) {
            return Some((slot, false));
        }
        if !self.is_listening || !may_begin || !directory.accepts(key) {
            return None;
        }
        let mut paths = PathList::new();
        directory.paths(key.peer, &mut paths);
        let receiver = receiver(paths, directory.stream(key));
        let slot = directory.assign(key);
        self.place(slot, StreamState::Receiving(receiver), common);
        Some((slot, true))
    }

    /// Returns an answer's sender and slot, if this host opened the connection and knows it.
    #[inline]
    pub fn find_sender(
        &mut self,
        packet: &Packet,
        directory: &impl HostTables,
    ) -> Option<(u32, &mut S)> {
        let slot = directory.find(Key::sending(packet.source, packet.header.connection))?;
        Some((slot, self.slots[slot as usize].stream_state.sender()))
    }

    /// Returns whether the control queue has room.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.control.len() < CONTROL_LIMIT
    }

    /// Queues a control packet if there is room.
    pub fn push_control(&mut self, packet: Packet) {
        if self.has_room() {
            self.control.push_back(packet);
        }
    }

    /// Sets a stream's timer, unless it is set earlier.
    #[inline]
    pub fn arm(&mut self, slot: u32, deadline: Time) {
        let entry = self.at(slot);
        if deadline < entry.deadline {
            entry.deadline = deadline;
            self.timers.arm(slot, deadline);
        }
    }
}

/// A sender or receiver whose packets take paths.
pub trait UsePaths {
    /// Uses `paths` from now on; an empty list changes nothing. `stream` is the RNG stream from its beginning.
    fn use_paths(&mut self, paths: PathList, stream: impl FnOnce() -> RngStream);
}

impl<T: UsePaths> UsePaths for Box<T> {
    fn use_paths(&mut self, paths: PathList, stream: impl FnOnce() -> RngStream) {
        (**self).use_paths(paths, stream);
    }
}

/// A [`Command::Open`] with its key.
#[derive(Debug)]
pub struct Opening {
    /// The send stream.
    pub key: Key,
    /// Priority class, 0 to 3.
    pub class: u8,
    /// Payload bytes to send; `None` never runs out.
    pub length: Option<u64>,
    /// Payload of a full packet, in bytes, if not the host's default.
    pub payload: Option<NonZeroU16>,
    /// The paths to the peer, at least one.
    pub paths: PathList,
    /// The connection's RNG stream.
    pub stream: RngStream,
}

/// The shell type of a transport.
pub type ShellOf<T> = Shell<
    <T as ShellEndpoint>::Sender,
    <T as ShellEndpoint>::Receiver,
    <T as ShellEndpoint>::Common,
>;

/// A transport's senders and receivers. It makes the transport an [`Endpoint`].
pub trait ShellEndpoint {
    /// Header sizes of its packets.
    const FRAMING: Framing = Framing::NDP;
    /// See [`Endpoint::TELEMETRY`].
    const TELEMETRY: bool = false;
    /// The state of a send stream.
    type Sender: UsePaths;
    /// The state of a receive stream.
    type Receiver: UsePaths;
    /// State of streams of both directions.
    type Common: Copy;

    /// Returns the shell.
    fn shell(&self) -> &ShellOf<Self>;
    /// Returns the shell for changes.
    fn shell_mut(&mut self) -> &mut ShellOf<Self>;
    /// Opens a connection in `slot`.
    fn open(&mut self, now: Time, opening: Opening, slot: u32);
    /// Adds `bytes` to send. By default they are ignored: a connection carries one message.
    fn append(&mut self, _now: Time, _slot: u32, _bytes: u64) {}
    /// Takes a packet from the network.
    fn receive(
        &mut self,
        now: Time,
        packet: &Packet,
        directory: &mut impl HostTables,
    ) -> Disposition;
    /// Handles a deadline, which is already cleared.
    fn expire(&mut self, now: Time, slot: u32);
    /// Returns the packet to send when the control queue is empty or paused.
    fn transmit(&mut self, now: Time, allowed: Allowed) -> Option<Packet>;
    /// The earliest time at which [`ShellEndpoint::transmit`] returns a packet.
    fn ready_at(&self, allowed: Allowed) -> Time;
    /// See [`Endpoint::telemetry`].
    fn telemetry_of(&mut self, _packet: &Packet) -> Option<Telemetry> {
        None
    }
    /// See [`Endpoint::handle_telemetry`].
    fn receive_telemetry(&mut self, _telemetry: Option<Telemetry>) {}
}

/// The accessors of [`ShellEndpoint`], for an endpoint with its shell in field `shell`.
#[macro_export]
macro_rules! shell_accessors {
    () => {
        #[inline]
        fn shell(&self) -> &$crate::shell::ShellOf<Self> {
            &self.shell
        }
        #[inline]
        fn shell_mut(&mut self) -> &mut $crate::shell::ShellOf<Self> {
            &mut self.shell
        }
    };
}

impl<T: ShellEndpoint> Endpoint for T {
    const FRAMING: Framing = T::FRAMING;
    const TELEMETRY: bool = T::TELEMETRY;
    type Command = Command;
    type Event = Event;

    fn handle_command(&mut self, now: Time, command: Command, directory: &mut impl HostTables) {
        match command {
            Command::Listen => self.shell_mut().is_listening = true,
            Command::Open { peer, connection, class, length, payload, paths, stream } => {
                let key = Key::sending(peer, connection);
                let slot = directory.assign(key);
                let length = length.map(ByteCount::get);
                self.open(now, Opening { key, class, length, payload, paths, stream }, slot);
            }
            Command::Send { key, length } => {
                let Some(slot) = directory.find(key) else { return };
                if let StreamState::Sending(_) = self.shell_mut().at(slot).stream_state {
                    self.append(now, slot, length.get());
                }
            }
            Command::Paths { key, paths } => {
                let Some(slot) = directory.find(key) else { return };
                let stream = || directory.stream(key);
                match &mut self.shell_mut().at(slot).stream_state {
                    StreamState::Vacant => {}
                    StreamState::Sending(sender) => sender.use_paths(paths, stream),
                    StreamState::Receiving(receiver) => receiver.use_paths(paths, stream),
                }
            }
        }
    }

    #[inline]
    fn handle_packet(
        &mut self,
        now: Time,
        packet: &Packet,
        directory: &mut impl HostTables,
    ) -> Disposition {
        self.receive(now, packet, directory)
    }

    fn handle_timeout(&mut self, now: Time, _directory: &mut impl HostTables) {
        while let Some((deadline, slot)) = self.shell_mut().timers.due(now) {
            let entry = self.shell_mut().at(slot);
            // A deadline that was brought forward left its old entry behind, and the slot may hold another stream now.
            if entry.deadline == deadline {
                entry.deadline = Time::NEVER;
                self.expire(now, slot);
            }
        }
    }

    #[inline]
    fn poll_transmit(&mut self, now: Time, allowed: Allowed) -> Option<Packet> {
        if allowed.control()
            && let Some(packet) = self.shell_mut().control.pop_front()
        {
            return Some(packet);
        }
        self.transmit(now, allowed)
    }

    #[inline]
    fn poll_event(&mut self) -> Option<Event> {
        self.shell_mut().events.pop_front()
    }

    #[inline]
    fn transmit_at(&self, allowed: Allowed) -> Time {
        if allowed.control() && !self.shell().control.is_empty() {
            return Time::ZERO;
        }
        self.ready_at(allowed)
    }

    #[inline]
    fn poll_timeout(&self) -> Time {
        self.shell().timers.earliest()
    }

    #[inline]
    fn telemetry(&mut self, packet: &Packet) -> Option<Telemetry> {
        self.telemetry_of(packet)
    }

    #[inline]
    fn handle_telemetry(&mut self, telemetry: Option<Telemetry>) {
        self.receive_telemetry(telemetry);
    }
}

/// Returns whether a packet may begin a connection.
#[inline]
pub fn is_first(packet: &Packet) -> bool {
    packet.header.flags.contains(Flags::SYN)
}
