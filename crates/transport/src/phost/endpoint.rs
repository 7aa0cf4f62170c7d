//! One pHost host: takes packets, commands and deadlines, gives packets and events.
//!
//! What goes next is decided when the NIC asks: first RTSs and ACKs, then the token that is due, then one packet of the
//! flow whose token's turn it is.

use alloc::boxed::Box;
use alloc::collections::{BTreeSet, VecDeque};
use alloc::sync::Arc;
use core::num::NonZeroU16;

use trimline_packet::{ByteCount, Flags, HostId, Kind, Packet, Time};

use super::config::{Config, Order, ReceiverRules};
use super::pace::Pace;
use super::ranking::{Ranking, rank};
use super::receiver::{Arrival, Place, Receiver, Turn};
use super::sender::Sender;
use crate::flow::{Command, Event, Memory, Slots, Statistics};
use crate::spray::Spray;
use crate::timers::Timers;
use crate::{Allowed, Disposition, Half, HostTables, Key, PathList};

/// RTSs and ACKs that a host holds for a NIC that takes none; further ones are dropped, and repeated RTSs bring them
/// again.
const CONTROL_LIMIT: usize = 1 << 16;

/// What a half is.
#[derive(Debug, Default)]
enum Role {
    #[default]
    Vacant,
    Sending(Box<Sender>),
    Receiving(Box<Receiver>),
}

/// One half.
#[derive(Debug)]
struct Slot {
    role: Role,
    /// When its timer comes.
    deadline: Time,
    statistics: Statistics,
}

impl Default for Slot {
    fn default() -> Slot {
        Slot { role: Role::Vacant, deadline: Time::NEVER, statistics: Statistics::default() }
    }
}

impl Slot {
    fn sender(&mut self) -> &mut Sender {
        match &mut self.role {
            Role::Sending(sender) => sender,
            _ => panic!("the slot is not of a sending half"),
        }
    }

    fn receiver(&mut self) -> &mut Receiver {
        match &mut self.role {
            Role::Receiving(receiver) => receiver,
            _ => panic!("the slot is not of a receiving half"),
        }
    }
}

/// All pHost flows of one host.
#[derive(Debug)]
pub struct Endpoint {
    host: HostId,
    /// Shared by the hosts of a simulation.
    config: Arc<Config>,
    is_listening: bool,
    slots: Slots<Slot>,
    /// RTSs and ACKs, to be sent in this order before anything else.
    control: VecDeque<Packet>,
    /// Sending halves with a token.
    sending: Ranking,
    /// Receiving halves that may have a token.
    asking: Ranking,
    /// Those that may have one at a time.
    waiting: BTreeSet<(Time, u32)>,
    pace: Pace,
    timers: Timers,
    events: VecDeque<Event>,
}

impl Endpoint {
    /// A host without flows.
    ///
    /// # Panics
    /// A window of no tokens.
    pub fn new(host: HostId, config: impl Into<Arc<Config>>) -> Endpoint {
        let config = config.into();
        assert!(config.token_window > 0, "a window has at least one token");
        let pace = Pace::new(config.packet_time);
        Endpoint {
            host,
            config,
            is_listening: false,
            slots: Slots::new(),
            control: VecDeque::new(),
            sending: Ranking::new(),
            asking: Ranking::new(),
            waiting: BTreeSet::new(),
            pace,
            timers: Timers::NONE,
            events: VecDeque::new(),
        }
    }

    /// What the half in `slot` has done.
    ///
    /// # Panics
    /// A slot that was never assigned.
    pub fn statistics(&self, slot: u32) -> &Statistics {
        match self.slots.find(slot) {
            Some(slot) => &slot.statistics,
            None => panic!("slot {slot} was never assigned"),
        }
    }

    /// Tokens of the sending half in `slot` that it may still use at a time.
    ///
    /// # Panics
    /// A slot that is not of a sending half.
    pub fn tokens_held(&self, slot: u32, now: Time) -> u32 {
        match self.slots.find(slot).map(|slot| &slot.role) {
            Some(Role::Sending(sender)) => sender.held(now),
            _ => panic!("slot {slot} is not of a sending half"),
        }
    }

    /// Tokens of the receiving half in `slot` that no packet has answered.
    ///
    /// # Panics
    /// A slot that is not of a receiving half.
    pub fn tokens_unanswered(&self, slot: u32) -> u64 {
        match self.slots.find(slot).map(|slot| &slot.role) {
            Some(Role::Receiving(receiver)) => receiver.unanswered(),
            _ => panic!("slot {slot} is not of a receiving half"),
        }
    }

    /// Where the table of flows lies, for drivers that prefetch.
    pub fn connections_memory(&self) -> Memory {
        self.slots.memory()
    }

    /// The half in `slot` is forgotten: the slot may be assigned again.
    pub fn forget(&mut self, slot: u32) {
        match &mut self.slots.at(slot).role {
            Role::Vacant => {}
            Role::Sending(sender) => self.sending.replace(slot, sender.rank.take(), None),
            Role::Receiving(_) => self.put(slot, Place::Outside),
        }
        *self.slots.at(slot) = Slot::default();
    }

    fn say(&mut self, packet: Packet) {
        if self.control.len() < CONTROL_LIMIT {
            self.control.push_back(packet);
        }
    }

    fn open(
        &mut self,
        now: Time,
        key: Key,
        spray: Spray,
        length: (Option<u64>, Option<NonZeroU16>),
        class: u8,
        slot: u32,
    ) {
        let mut sender = Sender::new(now, key, spray, length, class, &self.config);
        sender.number = self.sending.number();
        let rts = sender.rts(self.host);
        self.slots.at(slot).role = Role::Sending(Box::new(sender));
        self.say(rts);
        self.rank_sender(slot);
        self.arm(slot);
    }

    /// The timer of a sending half comes no later than it must.
    fn arm(&mut self, slot: u32) {
        let entry = self.slots.at(slot);
        let deadline = entry.sender().deadline();
        if deadline < entry.deadline {
            entry.deadline = deadline;
            self.timers.arm(slot, deadline);
        }
    }

    /// A sending half has more tokens, or fewer.
    fn rank_sender(&mut self, slot: u32) {
        let sender = self.slots.at(slot).sender();
        let order = self.config.sender_order;
        // A class is the receiver's business.
        let to = sender.is_ready().then(|| rank(order, 0, sender.left(), sender.number));
        let from = core::mem::replace(&mut sender.rank, to);
        self.sending.replace(slot, from, to);
    }

    /// The receiving half of a packet, which SYN creates.
    fn receiving(
        &mut self,
        now: Time,
        packet: &Packet,
        directory: &mut impl HostTables,
    ) -> Option<u32> {
        let (peer, connection) = (packet.source, packet.header.connection);
        let key = Key { peer, connection, opened_here: false, half: Half::Receiving };
        let known = directory.find(key);
        let is_new = self.is_listening
            && packet.header.flags.contains(Flags::SYN)
            && known.is_none()
            && directory.accepts(key);
        if !is_new {
            return known;
        }
        let slot = directory.assign(key);
        let mut paths = PathList::new();
        directory.paths(peer, &mut paths);
        let spray = Spray::new(paths, directory.stream(key));
        let mut receiver = Receiver::new(now, key, spray, self.asking.number());
        receiver.class = packet.header.flags.class();
        self.slots.at(slot).role = Role::Receiving(Box::new(receiver));
        Some(slot)
    }

    fn handle_rts(&mut self, now: Time, packet: &Packet, directory: &mut impl HostTables) {
        let Some(slot) = self.receiving(now, packet, directory) else { return };
        let receiver = self.slots.at(slot).receiver();
        let is_new = receiver.announced(now, packet.header.sequence, packet.header.extra);
        let free = receiver.all_free();
        if is_new && self.config.receiver == ReceiverRules::Yaps {
            self.pace.owe(now, free);
        }
        self.follow(now, slot);
        if is_new {
            self.pace.wake();
        }
    }

    fn handle_data(
        &mut self,
        now: Time,
        packet: &Packet,
        directory: &mut impl HostTables,
    ) -> Disposition {
        let header = &packet.header;
        let Some(slot) = self.receiving(now, packet, directory) else {
            return Disposition::Discard;
        };
        let entry = self.slots.at(slot);
        let length = header.payload_length();
        if u32::from(packet.wire_bytes) < u32::from(length) + u32::from(Packet::HEADER_BYTES) {
            // A switch that trims what it should drop: the payload is asked for again.
            entry.statistics.headers += 1;
            return Disposition::Discard;
        }
        let disposition = match entry.receiver().arrive(header) {
            Arrival::Beyond => return Disposition::Discard,
            Arrival::Duplicate => Disposition::Discard,
            Arrival::New => {
                entry.statistics.packets += 1;
                entry.statistics.bytes += u64::from(length);
                Disposition::Accept { slot, sequence: header.sequence }
            }
        };
        self.follow(now, slot);
        disposition
    }

    /// After anything that a receiving half heard: it is complete, or has another place.
    fn follow(&mut self, now: Time, slot: u32) {
        let host = self.host;
        let receiver = self.slots.at(slot).receiver();
        if receiver.is_complete() {
            let ack = receiver.ack(host);
            let key = receiver.key;
            if !core::mem::replace(&mut receiver.was_delivered, true) {
                self.events.push_back(Event::Delivered { key, slot });
            }
            self.say(ack);
        }
        self.place(now, slot);
    }

    /// A receiving half stands where its turn is.
    fn place(&mut self, now: Time, slot: u32) {
        let receiver = self.slots.at(slot).receiver();
        let place = match receiver.turn(&self.config) {
            Turn::Never => Place::Outside,
            Turn::At(time) => Place::Waiting(time),
            Turn::Now => {
                let order = self.config.receiver_order;
                Place::Asking(rank(order, receiver.class, receiver.left(), receiver.number))
            }
        };
        let is_first = self.asking.is_empty();
        let wake = self.waiting.first().map(|&(time, _)| time);
        self.put(slot, place);
        if !is_first || !matches!(place, Place::Asking(_)) {
            return;
        }
        match (self.config.receiver, wake) {
            (ReceiverRules::Yaps, Some(wake)) if self.pace.has_passed(now) => {
                self.pace.sleep(now, wake);
            }
            (ReceiverRules::Yaps | ReceiverRules::Prompt, _) => self.pace.wanted(now),
        }
    }

    fn put(&mut self, slot: u32, place: Place) {
        let receiver = self.slots.at(slot).receiver();
        let from = core::mem::replace(&mut receiver.place, place);
        if from == place {
            return;
        }
        let asking = |place| match place {
            Place::Asking(rank) => Some(rank),
            Place::Outside | Place::Waiting(_) => None,
        };
        self.asking.replace(slot, asking(from), asking(place));
        if let Place::Waiting(time) = from {
            self.waiting.remove(&(time, slot));
        }
        if let Place::Waiting(time) = place {
            self.waiting.insert((time, slot));
        }
    }

    fn handle_token(&mut self, now: Time, packet: &Packet, directory: &mut impl HostTables) {
        let Some(slot) = sending(packet, directory) else { return };
        let sender = self.slots.at(slot).sender();
        sender.heard(now, &self.config);
        sender.given(now, &packet.header, &self.config);
        self.rank_sender(slot);
        self.arm(slot);
    }

    fn handle_ack(&mut self, packet: &Packet, directory: &mut impl HostTables) {
        let Some(slot) = sending(packet, directory) else { return };
        let sender = self.slots.at(slot).sender();
        let key = sender.key;
        if sender.end(packet.header.sequence) {
            self.events.push_back(Event::Acknowledged { key, slot });
            self.rank_sender(slot);
        }
    }

    /// When the next token goes.
    fn token_at(&self) -> Time {
        if !self.asking.is_empty() {
            return self.pace.at();
        }
        let first = self.waiting.first();
        first.map_or(Time::NEVER, |&(time, _)| time.max(self.pace.at()))
    }

    /// The token that is due, if one is.
    fn token(&mut self, now: Time) -> Option<Packet> {
        if self.token_at() > now {
            return None;
        }
        while let Some(&(time, slot)) = self.waiting.first()
            && time <= now
        {
            self.slots.at(slot).receiver().resume(&self.config);
            self.place(time, slot);
        }
        let slot = self.asking.first()?;
        let receiver = self.slots.at(slot).receiver();
        let token = receiver.ask(now, self.host);
        if self.config.receiver_order == Order::Fair {
            receiver.number = self.asking.number();
        }
        self.pace.given(now);
        self.place(now, slot);
        Some(token)
    }

    /// A packet of the flow whose token's turn it is.
    fn data(&mut self) -> Option<Packet> {
        let slot = self.sending.first()?;
        let entry = self.slots.at(slot);
        let (packet, is_repeated) = entry.sender().send(self.host)?;
        entry.statistics.packets += 1;
        entry.statistics.bytes += u64::from(packet.header.payload_length());
        entry.statistics.resent += u64::from(is_repeated);
        if self.config.sender_order == Order::Fair {
            entry.sender().number = self.sending.number();
        }
        self.rank_sender(slot);
        Some(packet)
    }
}

/// The sending half that a token or an ACK is for.
fn sending(packet: &Packet, directory: &impl HostTables) -> Option<u32> {
    let (peer, connection) = (packet.source, packet.header.connection);
    directory.find(Key { peer, connection, opened_here: true, half: Half::Sending })
}

impl crate::Endpoint for Endpoint {
    type Command = Command;
    type Event = Event;

    /// A flow is one message: a further one ([`Command::Send`]) would be a flow of its own, and is not taken.
    fn handle_command(&mut self, now: Time, command: Command, directory: &mut impl HostTables) {
        match command {
            Command::Listen => self.is_listening = true,
            Command::Open { peer, connection, class, length, payload, paths, stream } => {
                let key = Key { peer, connection, opened_here: true, half: Half::Sending };
                let slot = directory.assign(key);
                let spray = Spray::new(paths, stream);
                let length = length.map(ByteCount::get);
                self.open(now, key, spray, (length, payload), class, slot);
            }
            Command::Send { .. } => {}
            Command::Paths { key, paths } => {
                let Some(slot) = directory.find(key) else { return };
                match &mut self.slots.at(slot).role {
                    Role::Vacant => {}
                    Role::Sending(sender) => sender.paths.replace(paths),
                    Role::Receiving(receiver) => receiver.paths.replace(paths),
                }
            }
        }
    }

    fn handle_packet(
        &mut self,
        now: Time,
        packet: &Packet,
        directory: &mut impl HostTables,
    ) -> Disposition {
        let is_from_opener = packet.header.flags.contains(Flags::FROM_OPENER);
        match (packet.header.kind, is_from_opener) {
            _ if packet.service.service().is_turned_round() => {}
            (Kind::Data, true) => return self.handle_data(now, packet, directory),
            (Kind::Pull, true) => self.handle_rts(now, packet, directory),
            (Kind::Pull, false) => self.handle_token(now, packet, directory),
            (Kind::Ack, false) => self.handle_ack(packet, directory),
            (Kind::Data, false) | (Kind::Ack, true) | (Kind::Nack | Kind::Reset, _) => {}
        }
        Disposition::Discard
    }

    fn handle_timeout(&mut self, now: Time, _directory: &mut impl HostTables) {
        while let Some((deadline, slot)) = self.timers.due(now) {
            let host = self.host;
            let entry = self.slots.at(slot);
            // An earlier deadline was set since, or the half is another one.
            if entry.deadline != deadline {
                continue;
            }
            entry.deadline = Time::NEVER;
            let Role::Sending(sender) = &mut entry.role else { continue };
            sender.expire(now);
            let rts = sender.repeats(now, &self.config).then(|| sender.rts(host));
            if let Some(rts) = rts {
                self.say(rts);
            }
            self.rank_sender(slot);
            self.arm(slot);
        }
    }

    fn poll_transmit(&mut self, now: Time, allowed: Allowed) -> Option<Packet> {
        if allowed.control() {
            if let Some(packet) = self.control.pop_front() {
                return Some(packet);
            }
            if let Some(token) = self.token(now) {
                return Some(token);
            }
        }
        if allowed.data() { self.data() } else { None }
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn transmit_at(&self, allowed: Allowed) -> Time {
        if allowed.control() && !self.control.is_empty() {
            return Time::ZERO;
        }
        if allowed.data() && !self.sending.is_empty() {
            return Time::ZERO;
        }
        if allowed.control() { self.token_at() } else { Time::NEVER }
    }

    fn poll_timeout(&self) -> Time {
        self.timers.earliest()
    }
}
