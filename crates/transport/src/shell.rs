//! The part of an endpoint that is the same in every transport: its slots, control queue, timers and events.
//!
//! A transport holds a [`Shell`] beside its own state, and implements [`ShellEndpoint`]: what its senders and receivers
//! do. [`Endpoint`] follows. NDP has an endpoint of its own, because its halves live on after they end.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::num::NonZeroU16;

use trimline_packet::{ByteCount, Flags, HostId, Packet, Time};

use crate::flow::{Command, Event, Memory};
use crate::round_robin::{Linked, Links};
use crate::timers::Timers;
use crate::{Allowed, Disposition, Endpoint, Framing, HostTables, Key, PathList, Stream};

/// Control packets that a host holds for a NIC that takes none. Further ones are dropped, and time-outs bring them again.
const CONTROL_LIMIT: usize = 1 << 16;

/// What a half does, with its state.
#[derive(Debug, Default)]
pub enum StreamState<S, R> {
    /// The slot is not in use.
    #[default]
    Vacant,
    /// It sends data.
    Sending(S),
    /// It receives data.
    Receiving(R),
}

impl<S, R> StreamState<S, R> {
    /// The sender of a half that sends.
    ///
    /// # Panics
    /// Any other half.
    #[inline]
    pub fn sender(&mut self) -> &mut S {
        match self {
            StreamState::Sending(sender) => sender,
            StreamState::Receiving(_) | StreamState::Vacant => {
                panic!("the slot is not of a sending half")
            }
        }
    }

    /// The receiver of a half that receives.
    ///
    /// # Panics
    /// Any other half.
    #[inline]
    pub fn receiver(&mut self) -> &mut R {
        match self {
            StreamState::Receiving(receiver) => receiver,
            StreamState::Sending(_) | StreamState::Vacant => {
                panic!("the slot is not of a receiving half")
            }
        }
    }
}

/// One half of a connection. `X` is what the transport keeps for halves of both directions: a key, or statistics.
#[derive(Debug)]
pub struct Slot<S, R, X = ()> {
    /// What the half does.
    pub stream_state: StreamState<S, R>,
    /// When the half is to be looked at; [`Time::NEVER`] if no timer is armed.
    pub deadline: Time,
    /// What is kept for halves of both directions.
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
    /// Control packets, to be sent in this order before anything else.
    pub control: VecDeque<Packet>,
    /// The halves.
    pub slots: Vec<Slot<S, R, X>>,
    pub(crate) timers: Timers,
    /// What the application is told.
    pub events: VecDeque<Event>,
    /// The host.
    pub host: HostId,
    is_listening: bool,
}

impl<S, R, X: Copy> Shell<S, R, X> {
    /// A host without connections.
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

    /// Puts a new half into a slot.
    pub fn place(&mut self, slot: u32, stream_state: StreamState<S, R>, common: X) {
        let index = slot as usize;
        if self.slots.len() <= index {
            let vacant =
                || Slot { stream_state: StreamState::Vacant, deadline: Time::NEVER, common };
            self.slots.resize_with(index + 1, vacant);
        }
        self.slots[index] = Slot { stream_state, deadline: Time::NEVER, common };
    }

    /// Empties a slot, so that it may be assigned again. Returns what the half was.
    pub fn vacate(&mut self, slot: u32) -> StreamState<S, R> {
        let Some(entry) = self.slots.get_mut(slot as usize) else { return StreamState::Vacant };
        entry.deadline = Time::NEVER;
        core::mem::take(&mut entry.stream_state)
    }

    /// The half in a slot.
    ///
    /// # Panics
    /// A slot that was never assigned.
    #[inline]
    pub fn at(&mut self, slot: u32) -> &mut Slot<S, R, X> {
        &mut self.slots[slot as usize]
    }

    /// What is kept for the half in `slot`, whatever its direction.
    ///
    /// # Panics
    /// A slot that was never assigned.
    pub fn common(&self, slot: u32) -> &X {
        match self.slots.get(slot as usize) {
            Some(entry) => &entry.common,
            None => panic!("slot {slot} was never assigned"),
        }
    }

    /// The sender in `slot`.
    ///
    /// # Panics
    /// A slot that is not of a sending half.
    pub fn sender(&self, slot: u32) -> &S {
        match self.slots.get(slot as usize).map(|entry| &entry.stream_state) {
            Some(StreamState::Sending(sender)) => sender,
            _ => panic!("slot {slot} is not of a sending half"),
        }
    }

    /// The receiver in `slot`.
    ///
    /// # Panics
    /// A slot that is not of a receiving half.
    pub fn receiver(&self, slot: u32) -> &R {
        match self.slots.get(slot as usize).map(|entry| &entry.stream_state) {
            Some(StreamState::Receiving(receiver)) => receiver,
            _ => panic!("slot {slot} is not of a receiving half"),
        }
    }

    /// Where the table of halves lies, for drivers that prefetch.
    #[inline]
    pub fn memory(&self) -> Memory {
        Memory::of(&self.slots)
    }

    /// The slot of the receiving half `key`, and whether it is new. An unknown half begins if the host listens, the
    /// packet `may_begin` it and the driver accepts it; `receiver` makes it from the paths back and its random stream.
    #[inline]
    pub fn accept(
        &mut self,
        key: Key,
        common: X,
        may_begin: bool,
        directory: &mut impl HostTables,
        receiver: impl FnOnce(PathList, Stream) -> R,
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

    /// The sender that an answer is for, with its slot, if this host opened the connection and knows it.
    #[inline]
    pub fn find_sender(
        &mut self,
        packet: &Packet,
        directory: &impl HostTables,
    ) -> Option<(u32, &mut S)> {
        let slot = directory.find(Key::sending(packet.source, packet.header.connection))?;
        Some((slot, self.slots[slot as usize].stream_state.sender()))
    }

    /// Whether the control queue takes another packet.
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

    /// Sets the timer of a half unless it comes earlier already.
    #[inline]
    pub fn arm(&mut self, slot: u32, deadline: Time) {
        let entry = self.at(slot);
        if deadline < entry.deadline {
            entry.deadline = deadline;
            self.timers.arm(slot, deadline);
        }
    }
}

/// A sender or receiver, whose packets take paths.
pub trait UsePaths {
    /// These paths work from now on; an empty list changes nothing. `stream` is the half's random stream from its
    /// beginning.
    fn use_paths(&mut self, paths: PathList, stream: impl FnOnce() -> Stream);
}

impl<T: UsePaths> UsePaths for Box<T> {
    fn use_paths(&mut self, paths: PathList, stream: impl FnOnce() -> Stream) {
        (**self).use_paths(paths, stream);
    }
}

/// A connection that the application opens: [`Command::Open`] with its key.
#[derive(Debug)]
pub struct Opening {
    /// The sending half.
    pub key: Key,
    /// Priority class, 0 to 3.
    pub class: u8,
    /// Payload bytes to send; `None` never runs out.
    pub length: Option<u64>,
    /// Payload of a full packet, if it is not that of the host's other connections.
    pub payload: Option<NonZeroU16>,
    /// The paths to the peer, at least one.
    pub paths: PathList,
    /// The connection's random stream.
    pub stream: Stream,
}

/// The shell of a transport, by its types.
pub type ShellOf<T> = Shell<
    <T as ShellEndpoint>::Sender,
    <T as ShellEndpoint>::Receiver,
    <T as ShellEndpoint>::Common,
>;

/// What a transport adds to a [`Shell`]: what its senders and receivers do. It is an [`Endpoint`] then.
pub trait ShellEndpoint {
    /// Bytes on the wire that its packets have beside their payload.
    const FRAMING: Framing = Framing::NDP;
    /// The state of a sending half.
    type Sender: UsePaths;
    /// The state of a receiving half.
    type Receiver: UsePaths;
    /// What is kept for halves of both directions.
    type Common: Copy;

    /// The shell.
    fn shell(&self) -> &ShellOf<Self>;
    /// The shell, to be changed.
    fn shell_mut(&mut self) -> &mut ShellOf<Self>;
    /// The application opens a connection, which has `slot`.
    fn open(&mut self, now: Time, opening: Opening, slot: u32);
    /// The application has `bytes` more to send on the half in `slot`. Without this a connection carries one message, and
    /// a further one is not taken.
    fn append(&mut self, _now: Time, _slot: u32, _bytes: u64) {}
    /// A packet arrived from the network.
    fn receive(
        &mut self,
        now: Time,
        packet: &Packet,
        directory: &mut impl HostTables,
    ) -> Disposition;
    /// The deadline of the half in `slot` has come, and is cleared.
    fn expire(&mut self, now: Time, slot: u32);
    /// The NIC has room, and the control queue is empty or paused: the packet to send.
    fn transmit(&mut self, now: Time, allowed: Allowed) -> Option<Packet>;
    /// The earliest time at which [`ShellEndpoint::transmit`] returns a packet.
    fn ready_at(&self, allowed: Allowed) -> Time;
}

/// The accessors of [`ShellEndpoint`], for an endpoint whose field `shell` is its shell.
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
            // A deadline that was brought forward has left its old entry behind, and the half may be another one.
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
}

/// Whether a packet may begin a connection.
#[inline]
pub fn is_first(packet: &Packet) -> bool {
    packet.header.flags.contains(Flags::SYN)
}
