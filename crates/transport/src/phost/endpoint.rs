//! One pHost host: takes packets, commands and deadlines, gives packets and events.
//!
//! The next packet is chosen when the NIC asks: RTSs and ACKs, then a due token, then a packet of the first-ranked flow
//! with a token.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::sync::Arc;

use trimline_packet::{Flags, HostId, Kind, Packet, Time};

use super::config::{Config, Order, ReceiverRules};
use super::pace::Pace;
use super::ranking::{Ranking, rank};
use super::receiver::{Arrival, Place, Receiver, Turn};
use super::sender::Sender;
use crate::flow::{Event, Statistics};
use crate::shell::{Opening, Shell, ShellEndpoint, ShellOf, StreamState, is_first};
use crate::spray::Spray;
use crate::{Allowed, Disposition, HostTables, Key};

/// All pHost flows of one host.
#[derive(Debug)]
pub struct Endpoint {
    shell: ShellOf<Endpoint>,
    config: Arc<Config>,
    /// Send streams with a token.
    sending: Ranking,
    /// Receive streams that may have a token.
    asking: Ranking,
    /// Receive streams that may have a token later.
    waiting: BTreeSet<(Time, u32)>,
    pace: Pace,
}

impl Endpoint {
    /// Makes a host without flows.
    ///
    /// # Panics
    /// Panics if the token window is 0.
    pub fn new(host: HostId, config: impl Into<Arc<Config>>) -> Endpoint {
        let config = config.into();
        assert!(config.token_window > 0, "a window has at least one token");
        let pace = Pace::new(config.packet_time);
        Endpoint {
            shell: Shell::new(host),
            config,
            sending: Ranking::new(),
            asking: Ranking::new(),
            waiting: BTreeSet::new(),
            pace,
        }
    }

    /// Returns the counters of the stream in `slot`.
    ///
    /// # Panics
    /// Panics if `slot` was never assigned.
    pub fn statistics(&self, slot: u32) -> &Statistics {
        self.shell.common(slot)
    }

    /// Returns the tokens that the send stream in `slot` may still use at `now`.
    ///
    /// # Panics
    /// Panics if `slot` holds no send stream.
    pub fn tokens_held(&self, slot: u32, now: Time) -> u32 {
        self.shell.sender(slot).held(now)
    }

    /// Returns the unanswered tokens of the receive stream in `slot`.
    ///
    /// # Panics
    /// Panics if `slot` holds no receive stream.
    pub fn tokens_unanswered(&self, slot: u32) -> u64 {
        self.shell.receiver(slot).unanswered()
    }

    /// Forgets the stream in `slot`. The slot may be assigned again.
    pub fn forget(&mut self, slot: u32) {
        match &mut self.shell.at(slot).stream_state {
            StreamState::Vacant => {}
            StreamState::Sending(sender) => self.sending.replace(slot, sender.rank.take(), None),
            StreamState::Receiving(_) => self.put(slot, Place::Outside),
        }
        self.shell.place(slot, StreamState::Vacant, Statistics::default());
    }

    fn arm(&mut self, slot: u32) {
        let deadline = self.shell.at(slot).stream_state.sender().deadline();
        self.shell.arm(slot, deadline);
    }

    fn rank_sender(&mut self, slot: u32) {
        let sender = self.shell.at(slot).stream_state.sender();
        let order = self.config.sender_order;
        // Only receivers rank by class.
        let to = sender.is_ready().then(|| rank(order, 0, sender.left(order), sender.number));
        let from = core::mem::replace(&mut sender.rank, to);
        self.sending.replace(slot, from, to);
    }

    /// Finds the receive stream of a packet; SYN creates it.
    fn accept(&mut self, now: Time, packet: &Packet, tables: &mut impl HostTables) -> Option<u32> {
        let key = Key::receiving(packet.source, packet.header.connection);
        let common = Statistics::default();
        let (slot, _) =
            self.shell.accept(key, common, is_first(packet), tables, |paths, stream| {
                let (spray, number) = (Spray::new(paths, stream), self.asking.number());
                let mut receiver = Receiver::new(now, key, spray, number);
                receiver.class = packet.header.flags.class();
                Box::new(receiver)
            })?;
        Some(slot)
    }

    fn handle_rts(&mut self, now: Time, packet: &Packet, directory: &mut impl HostTables) {
        let Some(slot) = self.accept(now, packet, directory) else { return };
        let receiver = self.shell.at(slot).stream_state.receiver();
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

    fn on_data(&mut self, now: Time, packet: &Packet, tables: &mut impl HostTables) -> Disposition {
        let header = &packet.header;
        let Some(slot) = self.accept(now, packet, tables) else {
            return Disposition::Discard;
        };
        let entry = self.shell.at(slot);
        let length = header.payload_length();
        if u32::from(packet.wire_bytes) < u32::from(length) + u32::from(Packet::HEADER_BYTES) {
            // The switch trims where it should drop: the payload is requested again.
            entry.common.headers += 1;
            return Disposition::Discard;
        }
        let disposition = match entry.stream_state.receiver().arrive(header) {
            Arrival::Beyond => return Disposition::Discard,
            Arrival::Duplicate => Disposition::Discard,
            Arrival::New => {
                entry.common.packets += 1;
                entry.common.bytes += u64::from(length);
                Disposition::Accept { slot, sequence: header.sequence }
            }
        };
        self.follow(now, slot);
        disposition
    }

    /// Acknowledges a complete flow, and updates its place.
    fn follow(&mut self, now: Time, slot: u32) {
        let host = self.shell.host;
        let receiver = self.shell.at(slot).stream_state.receiver();
        if receiver.is_complete() {
            let ack = receiver.ack(host);
            let key = receiver.key;
            if !core::mem::replace(&mut receiver.was_delivered, true) {
                self.shell.events.push_back(Event::Delivered { key, slot });
            }
            self.shell.push_control(ack);
        }
        self.place(now, slot);
    }

    fn place(&mut self, now: Time, slot: u32) {
        let receiver = self.shell.at(slot).stream_state.receiver();
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
        let receiver = self.shell.at(slot).stream_state.receiver();
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
        let Some((slot, sender)) = self.shell.find_sender(packet, directory) else { return };
        sender.received(now, &self.config);
        sender.given(now, &packet.header, &self.config);
        self.rank_sender(slot);
        self.arm(slot);
    }

    fn handle_ack(&mut self, packet: &Packet, directory: &mut impl HostTables) {
        let Some((slot, sender)) = self.shell.find_sender(packet, directory) else { return };
        let key = sender.key;
        if sender.end(packet.header.sequence) {
            self.shell.events.push_back(Event::Acknowledged { key, slot });
            self.rank_sender(slot);
        }
    }

    fn token_at(&self) -> Time {
        if !self.asking.is_empty() {
            return self.pace.at();
        }
        let first = self.waiting.first();
        first.map_or(Time::NEVER, |&(time, _)| time.max(self.pace.at()))
    }

    fn token(&mut self, now: Time) -> Option<Packet> {
        if self.token_at() > now {
            return None;
        }
        while let Some(&(time, slot)) = self.waiting.first()
            && time <= now
        {
            self.shell.at(slot).stream_state.receiver().resume(&self.config);
            self.place(time, slot);
        }
        let slot = self.asking.first()?;
        let receiver = self.shell.slots[slot as usize].stream_state.receiver();
        let token = receiver.ask(now, self.shell.host, self.config.sender_order);
        if self.config.receiver_order == Order::Fair {
            receiver.number = self.asking.number();
        }
        self.pace.given(now);
        self.place(now, slot);
        Some(token)
    }

    fn data(&mut self) -> Option<Packet> {
        let slot = self.sending.first()?;
        let entry = &mut self.shell.slots[slot as usize];
        let (packet, is_repeated) =
            entry.stream_state.sender().send(self.shell.host, &self.config)?;
        entry.common.packets += 1;
        entry.common.bytes += u64::from(packet.header.payload_length());
        entry.common.resent += u64::from(is_repeated);
        if self.config.sender_order == Order::Fair {
            entry.stream_state.sender().number = self.sending.number();
        }
        self.rank_sender(slot);
        Some(packet)
    }
}

impl ShellEndpoint for Endpoint {
    type Sender = Box<Sender>;
    type Receiver = Box<Receiver>;
    type Common = Statistics;

    crate::shell_accessors!();

    fn open(&mut self, now: Time, opening: Opening, slot: u32) {
        let Opening { key, class, length, payload, paths, stream } = opening;
        let spray = Spray::new(paths, stream);
        let mut sender = Sender::new(now, key, spray, (length, payload), class, &self.config);
        sender.number = self.sending.number();
        let rts = sender.rts(self.shell.host);
        self.shell.place(slot, StreamState::Sending(Box::new(sender)), Statistics::default());
        self.shell.push_control(rts);
        self.rank_sender(slot);
        self.arm(slot);
    }

    fn receive(&mut self, now: Time, packet: &Packet, tables: &mut impl HostTables) -> Disposition {
        let is_from_opener = packet.header.flags.contains(Flags::FROM_OPENER);
        match (packet.header.kind, is_from_opener) {
            _ if packet.service.service().is_bounced() => {}
            (Kind::Data, true) => return self.on_data(now, packet, tables),
            (Kind::Pull, true) => self.handle_rts(now, packet, tables),
            (Kind::Pull, false) => self.handle_token(now, packet, tables),
            (Kind::Ack, false) => self.handle_ack(packet, tables),
            (Kind::Data, false) | (Kind::Ack, true) | (Kind::Nack | Kind::Reset, _) => {}
        }
        Disposition::Discard
    }

    fn expire(&mut self, now: Time, slot: u32) {
        let side = &mut self.shell.slots[slot as usize].stream_state;
        let StreamState::Sending(sender) = side else { return };
        sender.expire(now);
        if sender.repeats(now, &self.config) {
            let rts = sender.rts(self.shell.host);
            self.shell.push_control(rts);
        }
        self.rank_sender(slot);
        self.arm(slot);
    }

    fn transmit(&mut self, now: Time, allowed: Allowed) -> Option<Packet> {
        if allowed.control()
            && let Some(token) = self.token(now)
        {
            return Some(token);
        }
        if allowed.data() { self.data() } else { None }
    }

    fn ready_at(&self, allowed: Allowed) -> Time {
        if allowed.data() && !self.sending.is_empty() {
            return Time::ZERO;
        }
        if allowed.control() { self.token_at() } else { Time::NEVER }
    }
}
