//! One Homa host: takes packets, commands and deadlines, gives packets and events.
//!
//! What goes next is decided when the NIC asks: first answers and RESENDs, then the GRANT that is due, then one packet of
//! the message with the fewest bytes left.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

use trimline_packet::{ByteCount, Flags, HostId, Kind, Packet, Service, Time, TimeDelta};

use super::config::{Config, Ending};
use super::granting::Granting;
use super::receiver::{Arrival, Receiver};
use super::sender::Sender;
use super::sending::Sending;
use crate::flow::{Command, Event, Memory, Slots, Statistics};
use crate::spray::Spray;
use crate::timers::Timers;
use crate::{Allowed, Disposition, Framing, Half, HostTables, Key, PathList};

/// Control packets that a host holds for a NIC that takes none; further ones are dropped, and timers bring them again.
const CONTROL_LIMIT: usize = 1 << 16;

/// What a half is.
#[derive(Debug, Default)]
enum Role {
    #[default]
    Vacant,
    Sending(Box<Sender>),
    Receiving(Box<Receiver>),
    /// All has arrived, and nobody will ask.
    Received,
}

/// Memory that is free, the last that came back first.
#[derive(Debug)]
struct Spare<T>(Vec<Box<T>>);

impl<T> Default for Spare<T> {
    fn default() -> Spare<T> {
        Spare(Vec::new())
    }
}

impl<T> Spare<T> {
    /// A value in spare memory, or in new where there is none.
    fn boxed(&mut self, value: T) -> Box<T> {
        match self.0.pop() {
            Some(mut memory) => {
                *memory = value;
                memory
            }
            None => Box::new(value),
        }
    }

    fn put(&mut self, memory: Box<T>) {
        self.0.push(memory);
    }
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

/// All Homa messages of one host.
#[derive(Debug)]
pub struct Endpoint {
    host: HostId,
    /// Shared by the hosts of a simulation.
    config: Arc<Config>,
    is_listening: bool,
    slots: Slots<Slot>,
    /// Answers and RESENDs, to be sent in this order before anything else.
    control: VecDeque<Packet>,
    /// Sending halves with a packet that may go.
    sending: Sending,
    /// Receiving halves that want a GRANT.
    granting: Granting,
    /// When the next GRANT goes.
    grant_at: Time,
    /// Messages that began or were heard of.
    messages: u64,
    timers: Timers,
    events: VecDeque<Event>,
    /// Memory of halves that were forgotten, for those to come.
    spare_senders: Spare<Sender>,
    spare_receivers: Spare<Receiver>,
}

impl Endpoint {
    /// A host without messages.
    ///
    /// # Panics
    /// Parameters that [`Config`] does not allow.
    pub fn new(host: HostId, config: impl Into<Arc<Config>>) -> Endpoint {
        let config = config.into();
        config.check();
        Endpoint {
            host,
            config,
            is_listening: false,
            slots: Slots::new(),
            control: VecDeque::new(),
            sending: Sending::default(),
            granting: Granting::default(),
            grant_at: Time::NEVER,
            messages: 0,
            timers: Timers::NONE,
            events: VecDeque::new(),
            spare_senders: Spare::default(),
            spare_receivers: Spare::default(),
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

    /// Packets of the sending half in `slot` that may go and were never sent.
    ///
    /// # Panics
    /// A slot that is not of a sending half.
    pub fn granted_unsent(&self, slot: u32) -> u32 {
        match self.slots.find(slot).map(|slot| &slot.role) {
            Some(Role::Sending(sender)) => sender.granted_unsent(),
            _ => panic!("slot {slot} is not of a sending half"),
        }
    }

    /// Bytes of the receiving half in `slot` that were granted, or needed no GRANT, and have not arrived; headers
    /// counted.
    ///
    /// # Panics
    /// A slot that is not of a receiving half.
    pub fn outstanding_bytes(&self, slot: u32) -> u64 {
        match self.slots.find(slot).map(|slot| &slot.role) {
            Some(Role::Receiving(receiver)) => receiver.outstanding(),
            Some(Role::Received) => 0,
            _ => panic!("slot {slot} is not of a receiving half"),
        }
    }

    /// Where the table of messages lies, for drivers that prefetch.
    pub fn connections_memory(&self) -> Memory {
        self.slots.memory()
    }

    /// The half in `slot` is forgotten: the slot may be assigned again.
    pub fn forget(&mut self, slot: u32) {
        match &mut self.slots.at(slot).role {
            Role::Vacant | Role::Received => {}
            Role::Sending(sender) => {
                let from = sender.turn.take();
                self.sending.replace(slot, from, None);
            }
            Role::Receiving(receiver) => {
                let (peer, from) = (receiver.key.peer, receiver.rank.take());
                self.granting.replace(slot, peer, from, None);
                self.plan_grant();
            }
        }
        match core::mem::take(self.slots.at(slot)).role {
            Role::Vacant | Role::Received => {}
            Role::Sending(sender) => self.spare_senders.put(sender),
            Role::Receiving(receiver) => self.spare_receivers.put(receiver),
        }
    }

    fn say(&mut self, packet: Packet) {
        if self.control.len() < CONTROL_LIMIT {
            self.control.push_back(packet);
        }
    }

    fn number(&mut self) -> u64 {
        self.messages += 1;
        self.messages
    }

    /// The timer of a half comes no later than it must.
    fn arm(&mut self, slot: u32) {
        let entry = self.slots.at(slot);
        let deadline = match &entry.role {
            Role::Vacant | Role::Received => Time::NEVER,
            Role::Sending(sender) => sender.deadline(),
            Role::Receiving(receiver) => receiver.deadline(&self.config),
        };
        if deadline < entry.deadline {
            entry.deadline = deadline;
            self.timers.arm(slot, deadline);
        }
    }

    /// A sending half has more that may go, or less.
    fn rank_sender(&mut self, slot: u32) {
        let sender = self.slots.at(slot).sender();
        let to = sender.place(&self.config);
        let from = core::mem::replace(&mut sender.turn, to);
        self.sending.replace(slot, from, to);
    }

    /// A receiving half wants a GRANT, or does not any more.
    fn rank_receiver(&mut self, slot: u32) {
        let receiver = self.slots.at(slot).receiver();
        let to = receiver.place();
        let from = core::mem::replace(&mut receiver.rank, to);
        let peer = receiver.key.peer;
        self.granting.replace(slot, peer, from, to);
        self.plan_grant();
    }

    /// When the next GRANT goes: to a message that may have one.
    fn plan_grant(&mut self) {
        let (slots, config) = (&self.slots, &self.config);
        let has_room = |slot| match slots.find(slot).map(|slot| &slot.role) {
            Some(Role::Receiving(receiver)) => receiver.has_room(config),
            _ => false,
        };
        let first = self.granting.first(usize::from(config.overcommitment));
        let times = first.filter(|&(slot, _)| has_room(slot)).map(|(_, next_at)| next_at);
        self.grant_at = times.min().unwrap_or(Time::NEVER);
    }

    /// The GRANT that is due, if one is. Homa 3.3: to the message with the fewest bytes left that may have one.
    fn grant(&mut self, now: Time) -> Option<Packet> {
        if self.grant_at > now {
            return None;
        }
        let most = usize::from(self.config.overcommitment);
        let among = self.granting.among(most);
        let (slots, config) = (&self.slots, &self.config);
        let may = |&(_, (slot, next_at)): &(usize, (u32, Time))| {
            let has_room = match slots.find(slot).map(|slot| &slot.role) {
                Some(Role::Receiving(receiver)) => receiver.has_room(config),
                _ => false,
            };
            has_room && next_at <= now
        };
        let (place, (slot, _)) = self.granting.first(most).enumerate().find(may)?;
        let receiver = self.slots.at(slot).receiver();
        let since = receiver.heard_at();
        let packet = receiver.grant(now, self.host, (place, among), &self.config);
        self.granting.given(now, since, receiver.key.peer, self.config.packet_time);
        self.rank_receiver(slot);
        self.arm(slot);
        Some(packet)
    }

    /// Aeolus: what went unasked and is not here is granted again.
    fn handle_probe(&mut self, now: Time, packet: &Packet, directory: &mut impl HostTables) {
        let Some((slot, _)) = self.receiving(now, packet, directory) else { return };
        if self.was_received(slot) {
            return;
        }
        self.slots.at(slot).receiver().probed(now, packet.header.sequence, &self.config);
        self.rank_receiver(slot);
        self.arm(slot);
    }

    /// The receiving half of a packet, which SYN creates, and whether it is new.
    fn receiving(
        &mut self,
        now: Time,
        packet: &Packet,
        directory: &mut impl HostTables,
    ) -> Option<(u32, bool)> {
        let (peer, connection) = (packet.source, packet.header.connection);
        let key = Key { peer, connection, opened_here: false, half: Half::Receiving };
        let known = directory.find(key);
        let is_new = self.is_listening
            && packet.header.flags.contains(Flags::SYN)
            && known.is_none()
            && directory.accepts(key);
        if !is_new {
            return known.map(|slot| (slot, false));
        }
        let slot = directory.assign(key);
        let mut paths = PathList::new();
        directory.paths(peer, &mut paths);
        let spray = Spray::new(paths, directory.stream(key));
        let number = self.number();
        let receiver = Receiver::new(now, key, spray, number, &packet.header, &self.config);
        self.slots.at(slot).role = Role::Receiving(self.spare_receivers.boxed(receiver));
        Some((slot, true))
    }

    fn handle_data(
        &mut self,
        now: Time,
        packet: &Packet,
        directory: &mut impl HostTables,
    ) -> Disposition {
        let header = &packet.header;
        let Some((slot, is_new)) = self.receiving(now, packet, directory) else {
            return Disposition::Discard;
        };
        if self.was_received(slot) {
            return Disposition::Discard;
        }
        let (host, config) = (self.host, &*self.config);
        let ending = config.ending;
        let entry = self.slots.at(slot);
        let arrival = entry.receiver().arrive(now, header, config);
        if arrival == Arrival::New {
            entry.statistics.packets += 1;
            entry.statistics.bytes += u64::from(header.payload_length());
        }
        let receiver = entry.receiver();
        let (is_complete, key) = (receiver.is_complete(), receiver.key);
        let is_first_end = is_complete && !core::mem::replace(&mut receiver.was_delivered, true);
        // Attempt 1 asks whether anybody is there.
        let is_asked = header.flags.attempt() != 0;
        let mut answers = Vec::new();
        if is_complete && config.ending == Ending::Acknowledged {
            answers.push(receiver.ack(host));
        } else if is_asked && !is_complete {
            if is_new || receiver.is_silent() {
                answers = receiver.resends(host, config);
            }
            answers.push(receiver.repeat_grant(host));
        }
        if is_first_end {
            self.events.push_back(Event::Delivered { key, slot });
        }
        answers.into_iter().for_each(|answer| self.say(answer));
        self.rank_receiver(slot);
        self.arm(slot);
        // Its memory is the next message's.
        if is_complete
            && ending != Ending::Acknowledged
            && let Role::Receiving(receiver) =
                core::mem::replace(&mut self.slots.at(slot).role, Role::Received)
        {
            self.spare_receivers.put(receiver);
        }
        match arrival {
            Arrival::New => Disposition::Accept { slot, sequence: header.sequence },
            Arrival::Duplicate | Arrival::Beyond => Disposition::Discard,
        }
    }

    fn handle_grant(&mut self, now: Time, packet: &Packet, directory: &mut impl HostTables) {
        let Some(slot) = sending(packet, directory) else { return };
        self.slots.at(slot).sender().grant(now, &packet.header, &self.config);
        self.rank_sender(slot);
        self.arm(slot);
    }

    fn handle_resend(&mut self, now: Time, packet: &Packet, directory: &mut impl HostTables) {
        let Some(slot) = sending(packet, directory) else { return };
        let (host, first) = (self.host, packet.header.sequence);
        let will = self.slots.at(slot).sender().resend(now, &packet.header, &self.config);
        self.rank_sender(slot);
        self.arm(slot);
        // Homa 3.8: who has other things to send first says so, and is not asked again at once.
        if will && self.sending.first(Allowed::ALL) != Some(slot) {
            let busy = self.slots.at(slot).sender().busy(host, first);
            self.say(busy);
        }
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

    fn handle_busy(&mut self, now: Time, packet: &Packet, directory: &mut impl HostTables) {
        let (peer, connection) = (packet.source, packet.header.connection);
        let key = Key { peer, connection, opened_here: false, half: Half::Receiving };
        let Some(slot) = directory.find(key).filter(|&slot| !self.was_received(slot)) else {
            return;
        };
        self.slots.at(slot).receiver().wait_on(now);
        self.arm(slot);
    }

    /// Whether all of a message has arrived, and nothing of it is kept.
    fn was_received(&self, slot: u32) -> bool {
        self.slots.find(slot).is_some_and(|slot| matches!(slot.role, Role::Received))
    }

    /// A packet of the message whose turn it is.
    fn data(&mut self, now: Time, allowed: Allowed) -> Option<Packet> {
        let slot = self.sending.first(allowed)?;
        let entry = self.slots.at(slot);
        let (packet, is_repeated) = entry.sender().send(now, self.host, &self.config)?;
        if let Some(is_repeated) = is_repeated {
            entry.statistics.packets += 1;
            entry.statistics.bytes += u64::from(packet.header.payload_length());
            entry.statistics.resent += u64::from(is_repeated);
        }
        self.rank_sender(slot);
        if self.config.ending != Ending::Acknowledged {
            self.arm(slot);
        }
        Some(packet)
    }
}

/// The sending half that a GRANT, a RESEND or an ACK is for.
fn sending(packet: &Packet, directory: &impl HostTables) -> Option<u32> {
    let (peer, connection) = (packet.source, packet.header.connection);
    directory.find(Key { peer, connection, opened_here: true, half: Half::Sending })
}

impl crate::Endpoint for Endpoint {
    const FRAMING: Framing = super::FRAMING;
    type Command = Command;
    type Event = Event;

    /// A flow is one message: a further one ([`Command::Send`]) would be a flow of its own, and is not taken.
    fn handle_command(&mut self, now: Time, command: Command, directory: &mut impl HostTables) {
        match command {
            Command::Listen => self.is_listening = true,
            // Both ends count a message's packets by the host's payload: one of its own is never asked for.
            Command::Open { peer, connection, class, length, payload: _, paths, stream } => {
                let key = Key { peer, connection, opened_here: true, half: Half::Sending };
                let slot = directory.assign(key);
                // What waits draw has no part in which paths are taken. A jump is the dearest part of a short message.
                let mut waits = stream.clone();
                if self.config.backoff != TimeDelta::ZERO {
                    waits.jump();
                }
                let streams = (Spray::new(paths, stream), waits);
                let message = (length.map(ByteCount::get), class);
                let number = self.number();
                let sender = Sender::new(now, key, streams, message, number, &self.config);
                self.slots.at(slot).role = Role::Sending(self.spare_senders.boxed(sender));
                self.rank_sender(slot);
                // Without ACKs each packet that is sent arms it, and most messages have one.
                if self.config.ending == Ending::Acknowledged {
                    self.arm(slot);
                }
            }
            Command::Send { .. } => {}
            Command::Paths { key, paths } => {
                let Some(slot) = directory.find(key) else { return };
                match &mut self.slots.at(slot).role {
                    Role::Vacant | Role::Received => {}
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
            _ if packet.service == Service::Trimmed => {}
            (Kind::Data, true) => return self.handle_data(now, packet, directory),
            (Kind::Pull, false) => self.handle_grant(now, packet, directory),
            (Kind::Nack, false) => self.handle_resend(now, packet, directory),
            (Kind::Ack, false) => self.handle_ack(packet, directory),
            (Kind::Ack, true) => self.handle_busy(now, packet, directory),
            (Kind::Nack, true) if self.config.aeolus => self.handle_probe(now, packet, directory),
            (Kind::Data, false) | (Kind::Pull | Kind::Nack, true) | (Kind::Reset, _) => {}
        }
        Disposition::Discard
    }

    fn handle_timeout(&mut self, now: Time, _directory: &mut impl HostTables) {
        while let Some((deadline, slot)) = self.timers.due(now) {
            let (host, config) = (self.host, &*self.config);
            let entry = self.slots.at(slot);
            // An earlier deadline was set since, or the half is another one.
            if entry.deadline != deadline {
                continue;
            }
            entry.deadline = Time::NEVER;
            match &mut entry.role {
                Role::Vacant | Role::Received => continue,
                Role::Sending(sender) => {
                    if sender.lose_patience(now, config) {
                        let key = sender.key;
                        self.events.push_back(Event::Acknowledged { key, slot });
                    }
                    self.rank_sender(slot);
                }
                Role::Receiving(receiver) => {
                    let resends = receiver.lose_patience(now, host, config);
                    resends.into_iter().for_each(|resend| self.say(resend));
                    self.rank_receiver(slot);
                }
            }
            self.arm(slot);
        }
    }

    fn poll_transmit(&mut self, now: Time, allowed: Allowed) -> Option<Packet> {
        if allowed.control() {
            if let Some(packet) = self.control.pop_front() {
                return Some(packet);
            }
            if let Some(grant) = self.grant(now) {
                return Some(grant);
            }
        }
        self.data(now, allowed)
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn transmit_at(&self, allowed: Allowed) -> Time {
        let has_control = allowed.control() && !self.control.is_empty();
        if has_control || self.sending.is_ready(allowed) {
            return Time::ZERO;
        }
        if allowed.control() { self.grant_at } else { Time::NEVER }
    }

    fn poll_timeout(&self) -> Time {
        self.timers.earliest()
    }
}
