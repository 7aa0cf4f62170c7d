//! One Homa host: takes packets, commands and deadlines, gives packets and events.
//!
//! The next packet is chosen when the NIC asks: first answers and RESENDs, then a due GRANT, then one packet of the
//! message with the fewest bytes left.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use trimline_packet::{Flags, HostId, Kind, Packet, Service, Time, TimeDelta};

use super::config::{Config, Ending};
use super::granting::Granting;
use super::receiver::{Arrival, Receiver};
use super::sender::Sender;
use super::sending::Sending;
use crate::flow::{Event, Statistics};
use crate::shell::{Opening, Shell, ShellEndpoint, ShellOf, Slot, StreamState, UsePaths, is_first};
use crate::spray::Spray;
use crate::{Allowed, Disposition, Framing, HostTables, Key, PathList, RngStream};

/// Free memory, last in first out.
#[derive(Debug)]
struct Spare<T>(Vec<Box<T>>);

impl<T> Default for Spare<T> {
    fn default() -> Spare<T> {
        Spare(Vec::new())
    }
}

impl<T> Spare<T> {
    /// Boxes a value, in free memory if there is any.
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

/// An arriving message; empty once all of it has arrived and no request can follow.
#[derive(Debug)]
pub struct Message(Option<Box<Receiver>>);

impl UsePaths for Message {
    fn use_paths(&mut self, paths: PathList, _stream: impl FnOnce() -> RngStream) {
        if let Message(Some(receiver)) = self {
            receiver.paths.replace(paths);
        }
    }
}

/// All Homa messages of one host.
#[derive(Debug)]
pub struct Endpoint {
    shell: ShellOf<Endpoint>,
    config: Arc<Config>,
    /// Send streams with a packet that may go.
    sending: Sending,
    /// Receive streams that want a GRANT.
    granting: Granting,
    /// Time of the next GRANT.
    grant_at: Time,
    /// Messages seen so far.
    messages: u64,
    /// Memory of forgotten streams, for reuse.
    spare_senders: Spare<Sender>,
    spare_receivers: Spare<Receiver>,
}

impl Endpoint {
    /// Makes a host without messages.
    ///
    /// # Panics
    /// Panics if [`Config`] does not allow the parameters.
    pub fn new(host: HostId, config: impl Into<Arc<Config>>) -> Endpoint {
        let config = config.into();
        config.check();
        Endpoint {
            shell: Shell::new(host),
            config,
            sending: Sending::default(),
            granting: Granting::default(),
            grant_at: Time::NEVER,
            messages: 0,
            spare_senders: Spare::default(),
            spare_receivers: Spare::default(),
        }
    }

    /// Returns the counters of the stream in `slot`.
    ///
    /// # Panics
    /// Panics if `slot` was never assigned.
    pub fn statistics(&self, slot: u32) -> &Statistics {
        self.shell.common(slot)
    }

    /// Returns the granted unsent packets of the send stream in `slot`.
    ///
    /// # Panics
    /// Panics if `slot` holds no send stream.
    pub fn granted_unsent(&self, slot: u32) -> u32 {
        self.shell.sender(slot).granted_unsent()
    }

    /// Returns the bytes of the receive stream in `slot` that were granted or unscheduled and have not arrived, headers
    /// included.
    ///
    /// # Panics
    /// Panics if `slot` holds no receive stream.
    pub fn outstanding_bytes(&self, slot: u32) -> u64 {
        self.shell.receiver(slot).0.as_ref().map_or(0, |receiver| receiver.outstanding())
    }

    /// Forgets the stream in `slot`. The slot may be assigned again.
    pub fn forget(&mut self, slot: u32) {
        match self.shell.vacate(slot) {
            StreamState::Vacant | StreamState::Receiving(Message(None)) => {}
            StreamState::Sending(sender) => {
                self.sending.replace(slot, sender.turn, None);
                self.spare_senders.put(sender);
            }
            StreamState::Receiving(Message(Some(receiver))) => {
                self.granting.replace(slot, receiver.key.peer, receiver.rank, None);
                self.plan_grant();
                self.spare_receivers.put(receiver);
            }
        }
        self.shell.place(slot, StreamState::Vacant, Statistics::default());
    }

    fn arm(&mut self, slot: u32) {
        let deadline = match &self.shell.at(slot).stream_state {
            StreamState::Vacant | StreamState::Receiving(Message(None)) => Time::NEVER,
            StreamState::Sending(sender) => sender.deadline(),
            StreamState::Receiving(Message(Some(receiver))) => receiver.deadline(&self.config),
        };
        self.shell.arm(slot, deadline);
    }

    fn rank_sender(&mut self, slot: u32) {
        let sender = self.shell.at(slot).stream_state.sender();
        let to = sender.place(&self.config);
        let from = core::mem::replace(&mut sender.turn, to);
        self.sending.replace(slot, from, to);
    }

    fn rank_receiver(&mut self, slot: u32) {
        let receiver = message(self.shell.at(slot));
        let to = receiver.place();
        let from = core::mem::replace(&mut receiver.rank, to);
        let peer = receiver.key.peer;
        self.granting.replace(slot, peer, from, to);
        self.plan_grant();
    }

    fn has_room(&self, slot: u32) -> bool {
        self.shell.receiver(slot).0.as_ref().is_some_and(|receiver| receiver.has_room(&self.config))
    }

    fn plan_grant(&mut self) {
        let has_room = |slot| self.has_room(slot);
        let first = self.granting.first(usize::from(self.config.overcommitment));
        let times = first.filter(|&(slot, _)| has_room(slot)).map(|(_, next_at)| next_at);
        self.grant_at = times.min().unwrap_or(Time::NEVER);
    }

    /// Makes a GRANT if one is due. Homa 3.3: for the message with the fewest bytes left that may have one.
    fn grant(&mut self, now: Time) -> Option<Packet> {
        if self.grant_at > now {
            return None;
        }
        let max = usize::from(self.config.overcommitment);
        let among = self.granting.among(max);
        let may =
            |&(_, (slot, next_at)): &(usize, (u32, Time))| self.has_room(slot) && next_at <= now;
        let (place, (slot, _)) = self.granting.first(max).enumerate().find(may)?;
        let receiver = message(&mut self.shell.slots[slot as usize]);
        let since = receiver.received_at();
        let packet = receiver.grant(now, self.shell.host, (place, among), &self.config);
        self.granting.given(now, since, receiver.key.peer, self.config.packet_time);
        self.rank_receiver(slot);
        self.arm(slot);
        Some(packet)
    }

    /// Handles DATA or a probe.
    fn on_data(&mut self, now: Time, packet: &Packet, tables: &mut impl HostTables) -> Disposition {
        let header = &packet.header;
        let key = Key::receiving(packet.source, header.connection);
        let none = Statistics::default();
        let accepted = self.shell.accept(key, none, is_first(packet), tables, |paths, stream| {
            self.messages += 1;
            let (spray, number) = (Spray::new(paths, stream), self.messages);
            let receiver = Receiver::new(now, key, spray, number, header, &self.config);
            Message(Some(self.spare_receivers.boxed(receiver)))
        });
        let Some((slot, is_new)) = accepted else { return Disposition::Discard };
        if self.was_received(slot) {
            return Disposition::Discard;
        }
        if header.kind == Kind::Nack {
            // Aeolus: missing unscheduled packets are granted again.
            message(self.shell.at(slot)).probed(now, header.sequence, &self.config);
            self.rank_receiver(slot);
            self.arm(slot);
            return Disposition::Discard;
        }
        let (host, config) = (self.shell.host, &*self.config);
        let ending = config.ending;
        let entry = self.shell.at(slot);
        let arrival = message(entry).arrive(now, header, config);
        if arrival == Arrival::New {
            entry.common.packets += 1;
            entry.common.bytes += u64::from(header.payload_length());
        }
        let receiver = message(entry);
        let (is_complete, key) = (receiver.is_complete(), receiver.key);
        let is_first_end = is_complete && !core::mem::replace(&mut receiver.was_delivered, true);
        // Attempt 1 asks whether the receiver is there.
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
            self.shell.events.push_back(Event::Delivered { key, slot });
        }
        answers.into_iter().for_each(|answer| self.shell.push_control(answer));
        self.rank_receiver(slot);
        self.arm(slot);
        // The next message reuses the memory.
        if is_complete
            && ending != Ending::Acknowledged
            && let Some(receiver) = self.shell.at(slot).stream_state.receiver().0.take()
        {
            self.spare_receivers.put(receiver);
        }
        match arrival {
            Arrival::New => Disposition::Accept { slot, sequence: header.sequence },
            Arrival::Duplicate | Arrival::Beyond => Disposition::Discard,
        }
    }

    fn handle_grant(&mut self, now: Time, packet: &Packet, directory: &mut impl HostTables) {
        let Some((slot, sender)) = self.shell.find_sender(packet, directory) else { return };
        sender.grant(now, &packet.header, &self.config);
        self.rank_sender(slot);
        self.arm(slot);
    }

    fn handle_resend(&mut self, now: Time, packet: &Packet, directory: &mut impl HostTables) {
        let (host, first) = (self.shell.host, packet.header.sequence);
        let Some((slot, sender)) = self.shell.find_sender(packet, directory) else { return };
        let will = sender.resend(now, &packet.header, &self.config);
        self.rank_sender(slot);
        self.arm(slot);
        // Homa 3.8: a sender with other things to send first says so, and is not asked again at once.
        if will && self.sending.first(Allowed::ALL) != Some(slot) {
            let busy = self.shell.at(slot).stream_state.sender().busy(host, first);
            self.shell.push_control(busy);
        }
    }

    fn handle_ack(&mut self, packet: &Packet, directory: &mut impl HostTables) {
        let Some((slot, sender)) = self.shell.find_sender(packet, directory) else { return };
        if sender.end(packet.header.sequence) {
            self.ended(slot);
            self.rank_sender(slot);
        }
    }

    fn handle_busy(&mut self, now: Time, packet: &Packet, directory: &mut impl HostTables) {
        let key = Key::receiving(packet.source, packet.header.connection);
        let Some(slot) = directory.find(key).filter(|&slot| !self.was_received(slot)) else {
            return;
        };
        message(self.shell.at(slot)).wait_on(now);
        self.arm(slot);
    }

    /// Tells the application that a message was sent.
    fn ended(&mut self, slot: u32) {
        let key = self.shell.sender(slot).key;
        self.shell.events.push_back(Event::Acknowledged { key, slot });
    }

    /// Returns whether a message has arrived whole and its state is gone.
    fn was_received(&self, slot: u32) -> bool {
        matches!(
            self.shell.slots[slot as usize].stream_state,
            StreamState::Receiving(Message(None))
        )
    }

    /// Sends a packet of the first-ranked message.
    fn data(&mut self, now: Time, allowed: Allowed) -> Option<Packet> {
        let slot = self.sending.first(allowed)?;
        let entry = &mut self.shell.slots[slot as usize];
        let (packet, is_repeated) =
            entry.stream_state.sender().send(now, self.shell.host, &self.config)?;
        if let Some(is_repeated) = is_repeated {
            entry.common.packets += 1;
            entry.common.bytes += u64::from(packet.header.payload_length());
            entry.common.resent += u64::from(is_repeated);
        }
        self.rank_sender(slot);
        if self.config.ending != Ending::Acknowledged {
            self.arm(slot);
        }
        Some(packet)
    }
}

/// Returns the receiver of a message that is still arriving.
fn message(side: &mut Slot<Box<Sender>, Message, Statistics>) -> &mut Receiver {
    side.stream_state.receiver().0.as_mut().expect("the message is still arriving")
}

impl ShellEndpoint for Endpoint {
    const FRAMING: Framing = super::FRAMING;
    type Sender = Box<Sender>;
    type Receiver = Message;
    type Common = Statistics;

    crate::shell_accessors!();

    /// Opens a message. Both ends count packets by the host's payload, so the message's own payload size is ignored.
    fn open(&mut self, now: Time, opening: Opening, slot: u32) {
        let Opening { key, class, length, payload: _, paths, stream } = opening;
        // The RNG of waits must not affect the choice of paths. A jump is the dearest part of a short message.
        let mut waits = stream.clone();
        if self.config.backoff != TimeDelta::ZERO {
            waits.jump();
        }
        let streams = (Spray::new(paths, stream), waits);
        self.messages += 1;
        let number = self.messages;
        let sender = Sender::new(now, key, streams, (length, class), number, &self.config);
        let stream_state = StreamState::Sending(self.spare_senders.boxed(sender));
        self.shell.place(slot, stream_state, Statistics::default());
        self.rank_sender(slot);
        // Without ACKs each sent packet arms the timer, and most messages have one packet.
        if self.config.ending == Ending::Acknowledged {
            self.arm(slot);
        }
    }

    fn receive(&mut self, now: Time, packet: &Packet, tables: &mut impl HostTables) -> Disposition {
        let is_from_opener = packet.header.flags.contains(Flags::FROM_OPENER);
        match (packet.header.kind, is_from_opener) {
            _ if packet.service.service().is_bounced() => {}
            _ if packet.service == Service::Trimmed => {}
            (Kind::Data, true) => return self.on_data(now, packet, tables),
            (Kind::Pull, false) => self.handle_grant(now, packet, tables),
            (Kind::Nack, false) => self.handle_resend(now, packet, tables),
            (Kind::Ack, false) => self.handle_ack(packet, tables),
            (Kind::Ack, true) => self.handle_busy(now, packet, tables),
            (Kind::Nack, true) if self.config.aeolus => return self.on_data(now, packet, tables),
            (Kind::Data, false) | (Kind::Pull | Kind::Nack, true) | (Kind::Reset, _) => {}
        }
        Disposition::Discard
    }

    fn expire(&mut self, now: Time, slot: u32) {
        let (host, config) = (self.shell.host, &*self.config);
        match &mut self.shell.at(slot).stream_state {
            StreamState::Vacant | StreamState::Receiving(Message(None)) => return,
            StreamState::Sending(sender) => {
                if sender.expire(now, config) {
                    self.ended(slot);
                }
                self.rank_sender(slot);
            }
            StreamState::Receiving(Message(Some(receiver))) => {
                let resends = receiver.expire(now, host, config);
                resends.into_iter().for_each(|resend| self.shell.push_control(resend));
                self.rank_receiver(slot);
            }
        }
        self.arm(slot);
    }

    fn transmit(&mut self, now: Time, allowed: Allowed) -> Option<Packet> {
        if allowed.control()
            && let Some(grant) = self.grant(now)
        {
            return Some(grant);
        }
        self.data(now, allowed)
    }

    fn ready_at(&self, allowed: Allowed) -> Time {
        if self.sending.is_ready(allowed) {
            return Time::ZERO;
        }
        if allowed.control() { self.grant_at } else { Time::NEVER }
    }
}
