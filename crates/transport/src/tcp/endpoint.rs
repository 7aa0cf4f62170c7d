//! One TCP host: takes packets, commands and deadlines, gives packets and events.
//!
//! ACKs and SYNs go first, in the order in which they arose; then one segment of each connection in turn that
//! may send. Which segment it is, of which subflow, is decided when the NIC asks.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::num::NonZeroU16;

use trimline_packet::{ByteCount, Flags, HostId, Kind, Packet, PathId, Service, Time};

use super::config::{Config, ReceiverStatistics, SenderProgress, SenderStatistics};
use super::receiver::Receiver;
use super::segment;
use super::sender::Sender;
use crate::flow::{Command, Event, Memory};
use crate::round_robin::{Linked, Links, RoundRobin};
use crate::timers::Timers;
use crate::{Allowed, Disposition, Half, HostTables, Key, PathList, Stream};

/// ACKs and SYNs that a host holds for a NIC that takes none; further ACKs are dropped.
const CONTROL_LIMIT: usize = 1 << 16;

/// What a half does.
#[derive(Debug)]
enum Role {
    /// The slot was never used.
    Vacant,
    Sending(Sender),
    Receiving(Receiver),
}

/// One half of a connection.
#[derive(Debug)]
struct Slot {
    role: Role,
    /// When the half is to be looked at; [`Time::NEVER`] if no timer is armed.
    deadline: Time,
    key: Key,
}

impl Linked for Slot {
    #[inline]
    fn links(&mut self) -> &mut Links {
        match &mut self.role {
            Role::Sending(sender) => &mut sender.ready,
            _ => panic!("only sending halves have turns"),
        }
    }
}

/// All TCP connections of one host.
#[derive(Debug)]
pub struct Endpoint {
    control: VecDeque<Packet>,
    slots: Vec<Slot>,
    /// Sending halves that may send.
    ready: RoundRobin,
    timers: Timers,
    config: Arc<Config>,
    events: VecDeque<Event>,
    host: HostId,
    is_listening: bool,
}

impl Endpoint {
    /// A host without connections.
    ///
    /// # Panics
    /// No subflows, or more than [`super::MAX_SUBFLOWS`]; ACKs of no segment; FastLane with several subflows, SACK or time
    /// stamps.
    pub fn new(host: HostId, config: impl Into<Arc<Config>>) -> Endpoint {
        let config = config.into();
        assert!((1..=super::MAX_SUBFLOWS).contains(&config.subflows), "1 to 8 subflows");
        assert!(config.ack_every > 0, "an ACK answers a segment at least");
        assert!(config.subflows == 1 || !config.sack, "ACKs of several subflows have no blocks");
        if config.notifications.fastlane().is_some() {
            let has_room = config.subflows == 1 && !config.sack && !config.timestamps;
            assert!(has_room, "FastLane's options stand where those of others would");
        }
        Endpoint {
            control: VecDeque::new(),
            slots: Vec::new(),
            ready: RoundRobin::EMPTY,
            timers: Timers::NONE,
            config,
            events: VecDeque::new(),
            host,
            is_listening: false,
        }
    }

    /// What the sending half in `slot` has done.
    ///
    /// # Panics
    /// A slot that is not of a sending half.
    pub fn sender_statistics(&self, slot: u32) -> &SenderStatistics {
        match self.slots.get(slot as usize).map(|entry| &entry.role) {
            Some(Role::Sending(sender)) => &sender.statistics,
            _ => panic!("slot {slot} is not of a sending half"),
        }
    }

    /// What the receiving half in `slot` has seen.
    ///
    /// # Panics
    /// A slot that is not of a receiving half.
    pub fn receiver_statistics(&self, slot: u32) -> &ReceiverStatistics {
        match self.slots.get(slot as usize).map(|entry| &entry.role) {
            Some(Role::Receiving(receiver)) => &receiver.statistics,
            _ => panic!("slot {slot} is not of a receiving half"),
        }
    }

    /// The congestion window of a subflow of the sending half in `slot`, in 2^-16 segments.
    ///
    /// # Panics
    /// A slot that is not of a sending half, or no such subflow.
    pub fn window(&self, slot: u32, subflow: u8) -> u64 {
        match self.slots.get(slot as usize).map(|entry| &entry.role) {
            Some(Role::Sending(sender)) => sender.window(subflow) >> 16,
            _ => panic!("slot {slot} is not of a sending half"),
        }
    }

    /// How far the sending half in `slot` is.
    ///
    /// # Panics
    /// A slot that is not of a sending half.
    pub fn progress(&self, slot: u32) -> SenderProgress {
        match self.slots.get(slot as usize).map(|entry| &entry.role) {
            Some(Role::Sending(sender)) => sender.progress(),
            _ => panic!("slot {slot} is not of a sending half"),
        }
    }

    /// Where the state of all connections lies, for drivers that prefetch.
    #[inline]
    pub fn connections_memory(&self) -> Memory {
        Memory::of(&self.slots)
    }

    fn place(&mut self, slot: u32, key: Key, role: Role) {
        let index = slot as usize;
        if self.slots.len() <= index {
            let vacant = || Slot { role: Role::Vacant, deadline: Time::NEVER, key };
            self.slots.resize_with(index + 1, vacant);
        }
        self.slots[index] = Slot { role, deadline: Time::NEVER, key };
    }

    /// The half in `slot`, which waits for nothing, is forgotten at once: for a driver that knows when nobody will
    /// speak of it again ([`Config::time_wait`]), and assigns the slot to another one. A half does not end by itself:
    /// until then it takes more to send.
    pub fn forget(&mut self, slot: u32) {
        let entry = &mut self.slots[slot as usize];
        if let Role::Sending(sender) = &entry.role {
            assert!(!sender.ready.joined(), "a half that is forgotten has nothing to send");
        }
        entry.role = Role::Vacant;
        entry.deadline = Time::NEVER;
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of one command")]
    fn open(
        &mut self,
        now: Time,
        key: Key,
        class: u8,
        (length, payload): (Option<ByteCount>, Option<NonZeroU16>),
        paths: &[PathId],
        stream: Stream,
        directory: &mut impl HostTables,
    ) {
        assert!(!paths.is_empty(), "a connection has at least one path");
        let slot = directory.assign(key);
        let length = length.map(ByteCount::get);
        let mut sender = Sender::new(&self.config, class, (length, payload), paths, stream);
        if let Some(syn) = sender.begin(now, &self.config, self.host, &key) {
            self.control.push_back(syn);
        }
        self.place(slot, key, Role::Sending(sender));
        self.sender_changed(slot);
    }

    /// After anything that may have made a sending half ready, unready or complete, or brought its deadline
    /// forward.
    #[inline]
    fn sender_changed(&mut self, slot: u32) {
        let entry = &mut self.slots[slot as usize];
        let Role::Sending(sender) = &mut entry.role else { return };
        if sender.is_complete() && !sender.is_over {
            sender.is_over = true;
            self.events.push_back(Event::Acknowledged { key: entry.key, slot });
        }
        let deadline = sender.deadline();
        if deadline < entry.deadline {
            entry.deadline = deadline;
            self.timers.arm(slot, deadline);
        }
        let (is_ready, is_member) = (sender.is_ready(&self.config), sender.ready.joined());
        if is_ready != is_member {
            if is_ready {
                self.ready.join(&mut self.slots, slot);
            } else {
                self.ready.leave(&mut self.slots, slot);
            }
        }
    }

    #[inline]
    fn handle_data(
        &mut self,
        now: Time,
        packet: &Packet,
        directory: &mut impl HostTables,
    ) -> Disposition {
        let header = &packet.header;
        let key = Key {
            peer: packet.source,
            connection: header.connection,
            opened_here: false,
            half: Half::Receiving,
        };
        let subflow = segment::subflow(header.flags);
        if !header.flags.contains(Flags::FROM_OPENER) || subflow >= self.config.subflows {
            return Disposition::Discard;
        }
        let slot = match directory.find(key) {
            Some(slot) => slot,
            None if self.is_listening
                && header.flags.contains(Flags::SYN)
                && directory.accepts(key) =>
            {
                let mut paths = PathList::new();
                directory.paths(key.peer, &mut paths);
                let receiver = Receiver::new(&paths, directory.stream(key));
                let slot = directory.assign(key);
                self.place(slot, key, Role::Receiving(receiver));
                slot
            }
            None => return Disposition::Discard,
        };
        let entry = &mut self.slots[slot as usize];
        let Role::Receiving(receiver) = &mut entry.role else {
            panic!("the directory gave a receiving half the slot of a sending one")
        };
        if !receiver.knows(subflow) {
            let mut paths = PathList::new();
            directory.paths(key.peer, &mut paths);
            receiver.join(subflow, &paths);
        }
        if self.control.len() >= CONTROL_LIMIT {
            return Disposition::Discard;
        }
        let (config, host, control) = (&self.config, self.host, &mut self.control);
        let new = receiver.arrive(now, packet, config, host, &key, control);
        if !receiver.is_delivered && receiver.is_complete(config) {
            receiver.is_delivered = true;
            self.events.push_back(Event::Delivered { key, slot });
        }
        let deadline = receiver.deadline();
        if deadline < entry.deadline {
            entry.deadline = deadline;
            self.timers.arm(slot, deadline);
        }
        match new {
            Some(sequence) => Disposition::Accept { slot, sequence },
            None => Disposition::Discard,
        }
    }

    #[inline]
    fn handle_ack(&mut self, now: Time, packet: &Packet, directory: &mut impl HostTables) {
        let key = Key {
            peer: packet.source,
            connection: packet.header.connection,
            opened_here: true,
            half: Half::Sending,
        };
        let Some(slot) = directory.find(key) else { return };
        let Role::Sending(sender) = &mut self.slots[slot as usize].role else {
            panic!("the directory gave a sending half the slot of a receiving one")
        };
        sender.hear(now, packet, &self.config, self.host, &key, &mut self.control);
        self.sender_changed(slot);
    }

    /// A switch told of a packet of this host.
    #[cold]
    fn handle_notification(&mut self, now: Time, packet: &Packet, directory: &mut impl HostTables) {
        let key = Key::of(packet);
        let Some(slot) = directory.find(key) else { return };
        let (config, host, control) = (&self.config, self.host, &mut self.control);
        match &mut self.slots[slot as usize].role {
            Role::Vacant => {}
            Role::Sending(sender) => {
                sender.hear_notification(now, packet, config, host, &key, control);
                self.sender_changed(slot);
            }
            Role::Receiving(receiver) => {
                receiver.hear_notification(packet, config, host, &key, control);
            }
        }
    }

    /// The deadline of a half has come, or had come before it was put off.
    fn expire(&mut self, now: Time, slot: u32) {
        let entry = &mut self.slots[slot as usize];
        let (config, host, control) = (&self.config, self.host, &mut self.control);
        entry.deadline = match &mut entry.role {
            Role::Vacant => Time::NEVER,
            Role::Sending(sender) => sender.expire(now, config, host, &entry.key, control),
            Role::Receiving(receiver) => receiver.expire(now, config, host, &entry.key, control),
        };
        if entry.deadline != Time::NEVER {
            self.timers.arm(slot, entry.deadline);
        }
        self.sender_changed(slot);
    }
}

impl crate::Endpoint for Endpoint {
    type Command = Command;
    type Event = Event;

    fn handle_command(&mut self, now: Time, command: Command, directory: &mut impl HostTables) {
        match command {
            Command::Listen => self.is_listening = true,
            Command::Open { peer, connection, class, length, payload, paths, stream } => {
                let key = Key { peer, connection, opened_here: true, half: Half::Sending };
                self.open(now, key, class, (length, payload), &paths, stream, directory);
            }
            Command::Send { key, length } => {
                let Some(slot) = directory.find(key) else { return };
                let Role::Sending(sender) = &mut self.slots[slot as usize].role else { return };
                sender.append(now, &self.config, length.get());
                self.sender_changed(slot);
            }
            Command::Paths { key, paths } => {
                let Some(slot) = directory.find(key) else { return };
                match &mut self.slots[slot as usize].role {
                    Role::Sending(sender) => sender.use_paths(&paths),
                    Role::Receiving(receiver) => receiver.use_paths(&paths),
                    Role::Vacant => {}
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
        match packet.header.kind {
            _ if packet.service == Service::Notification => {
                self.handle_notification(now, packet, directory);
            }
            Kind::Data => return self.handle_data(now, packet, directory),
            Kind::Ack => self.handle_ack(now, packet, directory),
            Kind::Nack | Kind::Pull | Kind::Reset => {}
        }
        Disposition::Discard
    }

    fn handle_timeout(&mut self, now: Time, _directory: &mut impl HostTables) {
        while let Some((deadline, slot)) = self.timers.due(now) {
            // A deadline that was brought forward has left its old entry behind.
            if self.slots[slot as usize].deadline == deadline {
                self.expire(now, slot);
            }
        }
    }

    #[inline]
    fn poll_transmit(&mut self, now: Time, allowed: Allowed) -> Option<Packet> {
        if allowed.control()
            && let Some(packet) = self.control.pop_front()
        {
            return Some(packet);
        }
        if !allowed.data() || self.ready.is_empty() {
            return None;
        }
        let slot = self.ready.head();
        let entry = &mut self.slots[slot as usize];
        let Role::Sending(sender) = &mut entry.role else {
            panic!("only sending halves have turns")
        };
        let (packet, due) = sender.transmit(now, &self.config, self.host, &entry.key)?;
        if due < entry.deadline {
            entry.deadline = due;
            self.timers.arm(slot, due);
        }
        if sender.is_ready(&self.config) {
            self.ready.turn(&mut self.slots);
        } else {
            self.ready.leave(&mut self.slots, slot);
        }
        Some(packet)
    }

    #[inline]
    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    #[inline]
    fn transmit_at(&self, allowed: Allowed) -> Time {
        let has_more = (allowed.control() & !self.control.is_empty())
            | (allowed.data() & !self.ready.is_empty());
        if has_more { Time::ZERO } else { Time::NEVER }
    }

    #[inline]
    fn poll_timeout(&self) -> Time {
        self.timers.earliest()
    }
}
