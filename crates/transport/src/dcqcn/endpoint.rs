//! One DCQCN host: takes packets, commands and deadlines, gives packets and events.
//!
//! ACKs, NACKs and CNPs go first, in the order in which they arose. Then flows whose pace lets them send go in turn,
//! one packet each: a NIC whose flows ask for more than its link is shared fairly.

use alloc::collections::{BinaryHeap, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::num::NonZeroU16;

use trimline_packet::{BitRate, ByteCount, Flags, HostId, Kind, Packet, Service, Time};

use super::MARK_CNP;
use super::config::{Config, ReceiverStatistics, SenderStatistics};
use super::rate::LEAST_TIMER;
use super::receiver::{Arrived, Receiver};
use super::sender::Sender;
use super::way::Way;
use crate::flow::{Command, Event, Memory};
use crate::round_robin::{Linked, Links, RoundRobin};
use crate::timers::Timers;
use crate::{Allowed, Disposition, Half, HostTables, Key, PathList};

/// Answers that a host holds for a NIC that takes none; further ones are dropped.
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

/// All DCQCN connections of one host.
#[derive(Debug)]
pub struct Endpoint {
    control: VecDeque<Packet>,
    slots: Vec<Slot>,
    /// Sending halves whose time has come.
    ready: RoundRobin,
    /// Sending halves that wait for their time. The first entry always holds; others may be old.
    waiting: BinaryHeap<Reverse<(Time, u32)>>,
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
    /// Rates out of order; timers below [`LEAST_TIMER`]; ACKs of no packet; a gain above one; a time-out of nothing.
    pub fn new(host: HostId, config: impl Into<Arc<Config>>) -> Endpoint {
        let config = config.into();
        assert!(config.least_rate <= config.line_rate, "the least rate is not above the line's");
        for timer in [config.alpha_timer, config.increase_timer] {
            assert!(timer >= LEAST_TIMER, "a rate's timer is a microsecond or longer");
        }
        assert!(config.ack_every > 0, "an ACK answers a packet at least");
        assert!(config.gain_shift < 32, "alpha has 32 bits");
        assert!(config.rto.as_ps() > 0, "a time-out of nothing");
        Endpoint {
            control: VecDeque::new(),
            slots: Vec::new(),
            ready: RoundRobin::EMPTY,
            waiting: BinaryHeap::new(),
            timers: Timers::NONE,
            config,
            events: VecDeque::new(),
            host,
            is_listening: false,
        }
    }

    fn sender(&self, slot: u32) -> &Sender {
        match self.slots.get(slot as usize).map(|entry| &entry.role) {
            Some(Role::Sending(sender)) => sender,
            _ => panic!("slot {slot} is not of a sending half"),
        }
    }

    /// What the sending half in `slot` has done.
    ///
    /// # Panics
    /// A slot that is not of a sending half.
    pub fn sender_statistics(&self, slot: u32) -> &SenderStatistics {
        &self.sender(slot).statistics
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

    /// The rate of the sending half in `slot` at a time that is not before the last call's. Looking changes nothing.
    ///
    /// # Panics
    /// A slot that is not of a sending half.
    pub fn rate(&self, slot: u32, now: Time) -> BitRate {
        BitRate::from_bps(self.sender(slot).look(now, &self.config).0)
    }

    /// `alpha` of the sending half in `slot` at such a time, in units of 1 / [`super::ALPHA_ONE`].
    ///
    /// # Panics
    /// A slot that is not of a sending half.
    pub fn alpha(&self, slot: u32, now: Time) -> u64 {
        self.sender(slot).look(now, &self.config).1
    }

    /// Packets of the sending half in `slot` that were sent and not acknowledged; of those sent again only these.
    ///
    /// # Panics
    /// A slot that is not of a sending half.
    pub fn in_flight(&self, slot: u32) -> u32 {
        self.sender(slot).in_flight()
    }

    /// Where the state of all connections lies, for drivers that prefetch.
    #[inline]
    pub fn connections_memory(&self) -> Memory {
        Memory::of(&self.slots)
    }

    /// The half in `slot`, which has nothing to send, is forgotten: the slot may be assigned again.
    ///
    /// # Panics
    /// A half that could send.
    pub fn forget(&mut self, slot: u32) {
        let entry = &mut self.slots[slot as usize];
        if let Role::Sending(sender) = &entry.role {
            assert!(
                !sender.ready.joined() && sender.listed == Time::NEVER,
                "what is forgotten has nothing to send"
            );
        }
        entry.role = Role::Vacant;
        entry.deadline = Time::NEVER;
        self.drop_old();
    }

    fn place(&mut self, slot: u32, key: Key, role: Role) {
        let index = slot as usize;
        if self.slots.len() <= index {
            let vacant = || Slot { role: Role::Vacant, deadline: Time::NEVER, key };
            self.slots.resize_with(index + 1, vacant);
        }
        self.slots[index] = Slot { role, deadline: Time::NEVER, key };
    }

    /// Whether an entry of the heap holds.
    fn holds(&self, (due, slot): (Time, u32)) -> bool {
        matches!(&self.slots[slot as usize].role,
            Role::Sending(sender) if sender.listed == due)
    }

    /// Takes old entries off the top of the heap.
    fn drop_old(&mut self) {
        while self.waiting.peek().is_some_and(|&Reverse(entry)| !self.holds(entry)) {
            self.waiting.pop();
        }
    }

    /// After anything that may have changed whether, or when, a sending half sends, or its deadline.
    fn sender_changed(&mut self, now: Time, slot: u32) {
        let entry = &mut self.slots[slot as usize];
        let Role::Sending(sender) = &mut entry.role else { return };
        if sender.deadline < entry.deadline {
            entry.deadline = sender.deadline;
            self.timers.arm(slot, sender.deadline);
        }
        let has_data = sender.has_data(&self.config);
        let due = sender.due();
        let (joins, waits) = (has_data && due <= now, has_data && due > now);
        let listed = if waits { due } else { Time::NEVER };
        let is_listed = sender.listed == listed;
        sender.listed = listed;
        let is_member = sender.ready.joined();
        if waits && !is_listed {
            self.waiting.push(Reverse((due, slot)));
        }
        if joins && !is_member {
            self.ready.join(&mut self.slots, slot);
        } else if !joins && is_member {
            self.ready.leave(&mut self.slots, slot);
        }
        self.drop_old();
    }

    /// Those whose time has come get into line, in the order of their times.
    fn gather(&mut self, now: Time) {
        while let Some(&Reverse((due, slot))) = self.waiting.peek()
            && due <= now
        {
            self.waiting.pop();
            let Role::Sending(sender) = &mut self.slots[slot as usize].role else {
                panic!("only sending halves wait for their time")
            };
            sender.listed = Time::NEVER;
            self.ready.join(&mut self.slots, slot);
            self.drop_old();
        }
    }

    fn open(
        &mut self,
        now: Time,
        key: Key,
        class: u8,
        (length, payload): (Option<u64>, Option<NonZeroU16>),
        way: Way,
        slot: u32,
    ) {
        let mut sender = Sender::new(now, &self.config, payload, class, way);
        match length {
            None => sender.never_end(),
            Some(0) => self.events.push_back(Event::Acknowledged { key, slot }),
            Some(length) => sender.append(length),
        }
        self.place(slot, key, Role::Sending(sender));
        self.sender_changed(now, slot);
    }

    fn handle_data(
        &mut self,
        now: Time,
        packet: &Packet,
        directory: &mut impl HostTables,
    ) -> Disposition {
        let key = Key::of(packet);
        let whole = u32::from(packet.header.payload_length()) + u32::from(Packet::HEADER_BYTES);
        let is_whole = u32::from(packet.wire_bytes) >= whole;
        if key.half == Half::Sending
            || !packet.header.flags.contains(Flags::FROM_OPENER)
            || !is_whole
            || packet.service == Service::Trimmed
        {
            return Disposition::Discard;
        }
        let slot = match directory.find(key) {
            Some(slot) => slot,
            None if self.is_listening && directory.accepts(key) => {
                let mut paths = PathList::new();
                directory.paths(key.peer, &mut paths);
                let way = Way::new(&paths, directory.stream(key));
                let slot = directory.assign(key);
                self.place(slot, key, Role::Receiving(Receiver::new(way)));
                slot
            }
            None => return Disposition::Discard,
        };
        self.receive(now, packet, slot)
    }

    #[inline]
    fn receive(&mut self, now: Time, packet: &Packet, slot: u32) -> Disposition {
        let entry = &mut self.slots[slot as usize];
        let Role::Receiving(receiver) = &mut entry.role else {
            panic!("the directory gave a receiving half the slot of a sending one")
        };
        if self.control.len() >= CONTROL_LIMIT {
            return Disposition::Discard;
        }
        let (host, key) = (self.host, entry.key);
        let cnp = receiver.notify(now, packet, &self.config, host, &key);
        let (arrived, answer) = receiver.arrive(packet, host, &key);
        self.control.extend(cnp.into_iter().chain(answer));
        match arrived {
            Arrived::OutOfOrder => Disposition::Discard,
            Arrived::InOrder { ends_message } => {
                if ends_message {
                    self.events.push_back(Event::Delivered { key, slot });
                }
                Disposition::Accept { slot, sequence: packet.header.sequence }
            }
        }
    }

    fn handle_answer(&mut self, now: Time, packet: &Packet, directory: &mut impl HostTables) {
        let Some(slot) = directory.find(Key::of(packet)) else { return };
        let entry = &mut self.slots[slot as usize];
        let Role::Sending(sender) = &mut entry.role else {
            panic!("the directory gave a sending half the slot of a receiving one")
        };
        let sequence = packet.header.sequence;
        let ended = if packet.marks & MARK_CNP != 0 {
            sender.notified(now, &self.config);
            0
        } else if packet.header.kind == Kind::Nack {
            sender.missed(now, &self.config, sequence)
        } else {
            sender.acknowledged(now, &self.config, sequence)
        };
        let event = Event::Acknowledged { key: entry.key, slot };
        self.events.extend((0..ended).map(|_| event));
        self.sender_changed(now, slot);
    }

    /// The deadline of a half has come, or had come before it was put off.
    fn expire(&mut self, now: Time, slot: u32) {
        let entry = &mut self.slots[slot as usize];
        entry.deadline = Time::NEVER;
        if let Role::Sending(sender) = &mut entry.role
            && sender.deadline <= now
        {
            sender.time_out();
        }
        self.sender_changed(now, slot);
    }
}

impl crate::Endpoint for Endpoint {
    type Command = Command;
    type Event = Event;

    fn handle_command(&mut self, now: Time, command: Command, directory: &mut impl HostTables) {
        match command {
            Command::Listen => self.is_listening = true,
            Command::Open { peer, connection, class, length, payload, paths, stream } => {
                assert!(!paths.is_empty(), "a connection has at least one path");
                let key = Key { peer, connection, opened_here: true, half: Half::Sending };
                let slot = directory.assign(key);
                let length = length.map(ByteCount::get);
                self.open(now, key, class, (length, payload), Way::new(&paths, stream), slot);
            }
            Command::Send { key, length } => {
                let Some(slot) = directory.find(key) else { return };
                let Role::Sending(sender) = &mut self.slots[slot as usize].role else { return };
                sender.append(length.get());
                self.sender_changed(now, slot);
            }
            Command::Paths { key, paths } => {
                let Some(slot) = directory.find(key) else { return };
                let stream = || directory.stream(key);
                match &mut self.slots[slot as usize].role {
                    Role::Sending(sender) => sender.way.keep_to(&paths, stream),
                    Role::Receiving(receiver) => receiver.way.keep_to(&paths, stream),
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
            // What a switch turned round is no packet of the peer's.
            _ if packet.service.service().is_turned_round() => {}
            Kind::Data => return self.handle_data(now, packet, directory),
            Kind::Ack | Kind::Nack => self.handle_answer(now, packet, directory),
            Kind::Pull | Kind::Reset => {}
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
        if !allowed.data() {
            return None;
        }
        self.gather(now);
        if self.ready.is_empty() {
            return None;
        }
        let slot = self.ready.head();
        let entry = &mut self.slots[slot as usize];
        let Role::Sending(sender) = &mut entry.role else {
            panic!("only sending halves have turns")
        };
        let packet = sender.transmit(now, &self.config, self.host, &entry.key);
        // Behind the others, or out of line until its next packet is due.
        self.ready.turn(&mut self.slots);
        self.sender_changed(now, slot);
        Some(packet)
    }

    #[inline]
    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    #[inline]
    fn transmit_at(&self, allowed: Allowed) -> Time {
        if (allowed.control() && !self.control.is_empty())
            || (allowed.data() && !self.ready.is_empty())
        {
            return Time::ZERO;
        }
        let first = self.waiting.peek().filter(|_| allowed.data());
        first.map_or(Time::NEVER, |&Reverse((due, _))| due)
    }

    #[inline]
    fn poll_timeout(&self) -> Time {
        self.timers.earliest()
    }
}
