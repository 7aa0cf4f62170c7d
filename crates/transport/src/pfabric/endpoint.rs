//! One pFabric host: takes packets, commands and deadlines, gives packets and events.
//!
//! ACKs and probes that go back are sent first, in the order in which they arose; then one packet of the most urgent flow
//! that may send.

use alloc::boxed::Box;
use alloc::collections::{BTreeSet, VecDeque};
use alloc::sync::Arc;

use trimline_packet::{ByteCount, Flags, HostId, Kind, Packet, Service, Time};

use super::config::{Config, SenderStatistics};
use super::receiver::Receiver;
use super::sender::Sender;
use crate::flow::{Command, Event, Memory, Slots, Statistics};
use crate::spray::Spray;
use crate::timers::Timers;
use crate::{Allowed, Disposition, Half, HostTables, Key, PathList};

/// ACKs and probes that a host holds for a NIC that takes none; further ones are dropped, and time-outs bring them again.
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
}

impl Default for Slot {
    fn default() -> Slot {
        Slot { role: Role::Vacant, deadline: Time::NEVER }
    }
}

impl Slot {
    fn sender(&mut self) -> &mut Sender {
        match &mut self.role {
            Role::Sending(sender) => sender,
            Role::Receiving(_) | Role::Vacant => panic!("the slot is not of a sending half"),
        }
    }
}

/// All pFabric flows of one host.
#[derive(Debug)]
pub struct Endpoint {
    host: HostId,
    /// Shared by the hosts of a simulation.
    config: Arc<Config>,
    is_listening: bool,
    slots: Slots<Slot>,
    /// ACKs and probes that go back, to be sent in this order before anything else.
    control: VecDeque<Packet>,
    /// Sending halves that may send: urgency, number, slot.
    ready: BTreeSet<(u32, u64, u32)>,
    /// Flows opened so far.
    opened: u64,
    timers: Timers,
    events: VecDeque<Event>,
}

impl Endpoint {
    /// A host without flows.
    ///
    /// # Panics
    /// A window of no packets, a time-out of nothing, payloads of nothing.
    pub fn new(host: HostId, config: impl Into<Arc<Config>>) -> Endpoint {
        let config = config.into();
        assert!(config.window > 0, "a window has at least one packet");
        assert!(config.rto.as_ps() > 0, "a time-out of nothing");
        assert!(config.payload_bytes > 0, "packets carry something");
        Endpoint {
            host,
            config,
            is_listening: false,
            slots: Slots::new(),
            control: VecDeque::new(),
            ready: BTreeSet::new(),
            opened: 0,
            timers: Timers::NONE,
            events: VecDeque::new(),
        }
    }

    fn find(&self, slot: u32) -> &Role {
        match self.slots.find(slot) {
            Some(slot) => &slot.role,
            None => panic!("slot {slot} was never assigned"),
        }
    }

    fn sender(&self, slot: u32) -> &Sender {
        match self.find(slot) {
            Role::Sending(sender) => sender,
            Role::Receiving(_) | Role::Vacant => panic!("slot {slot} is not of a sending half"),
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
    pub fn receiver_statistics(&self, slot: u32) -> &Statistics {
        match self.find(slot) {
            Role::Receiving(receiver) => &receiver.statistics,
            Role::Sending(_) | Role::Vacant => panic!("slot {slot} is not of a receiving half"),
        }
    }

    /// Packets that the sending half in `slot` may have in flight, and those that it has.
    ///
    /// # Panics
    /// A slot that is not of a sending half.
    pub fn window(&self, slot: u32) -> (u32, u32) {
        let sender = self.sender(slot);
        (sender.window(), sender.in_flight())
    }

    /// Where the table of flows lies, for drivers that prefetch.
    pub fn connections_memory(&self) -> Memory {
        self.slots.memory()
    }

    /// The half in `slot` is forgotten: the slot may be assigned again.
    pub fn forget(&mut self, slot: u32) {
        if let Role::Sending(sender) = &mut self.slots.at(slot).role
            && let Some((urgency, number)) = sender.rank.take()
        {
            self.ready.remove(&(urgency, number, slot));
        }
        *self.slots.at(slot) = Slot::default();
    }

    fn say(&mut self, packet: Packet) {
        if self.control.len() < CONTROL_LIMIT {
            self.control.push_back(packet);
        }
    }

    /// After anything that may have changed whether a sending half may send, how urgent it is, or its deadline.
    fn changed(&mut self, slot: u32) {
        let entry = self.slots.at(slot);
        let Role::Sending(sender) = &mut entry.role else { return };
        let rank = sender.is_ready().then(|| (sender.urgency(&self.config), sender.number));
        let before = core::mem::replace(&mut sender.rank, rank);
        if sender.deadline < entry.deadline {
            entry.deadline = sender.deadline;
            self.timers.arm(slot, entry.deadline);
        }
        if before == rank {
            return;
        }
        if let Some((urgency, number)) = before {
            self.ready.remove(&(urgency, number, slot));
        }
        if let Some((urgency, number)) = rank {
            self.ready.insert((urgency, number, slot));
        }
    }

    fn handle_data(&mut self, packet: &Packet, directory: &mut impl HostTables) -> Disposition {
        let (header, peer) = (&packet.header, packet.source);
        let key =
            Key { peer, connection: header.connection, opened_here: false, half: Half::Receiving };
        let slot = match directory.find(key) {
            Some(slot) => slot,
            None if self.is_listening
                && header.flags.contains(Flags::SYN)
                && directory.accepts(key) =>
            {
                let slot = directory.assign(key);
                let mut paths = PathList::new();
                directory.paths(peer, &mut paths);
                let receiver = Receiver::new(key, Spray::new(paths, directory.stream(key)));
                self.slots.at(slot).role = Role::Receiving(Box::new(receiver));
                slot
            }
            None => return Disposition::Discard,
        };
        let host = self.host;
        let Role::Receiving(receiver) = &mut self.slots.at(slot).role else {
            panic!("the directory gave a receiving half the slot of a sending one")
        };
        let bytes = packet.wire_bytes.saturating_sub(Packet::HEADER_BYTES);
        let Some(is_new) = receiver.arrive(header, bytes) else { return Disposition::Discard };
        let ack = receiver.ack(host, header.sequence);
        if receiver.is_complete() && !core::mem::replace(&mut receiver.was_delivered, true) {
            receiver.shrink();
            self.events.push_back(Event::Delivered { key, slot });
        }
        self.say(ack);
        match is_new {
            true => Disposition::Accept { slot, sequence: header.sequence },
            false => Disposition::Discard,
        }
    }

    /// pFabric 4.3, FastLane 4.2.2: a probe goes back, whether or not its flow is known.
    fn echo(&mut self, packet: &Packet) {
        let mut header = packet.header;
        (header.flags, header.extra) = (Flags::default(), 0);
        let echo = Packet::control(self.host, packet.source, header);
        self.say(echo);
    }

    fn handle_ack(&mut self, now: Time, packet: &Packet, directory: &mut impl HostTables) {
        let Some(slot) = sending(packet, directory) else { return };
        let sender = self.slots.at(slot).sender();
        let key = sender.key;
        if sender.hear(now, &packet.header, &self.config) {
            self.events.push_back(Event::Acknowledged { key, slot });
        }
        self.changed(slot);
    }

    fn handle_probe(&mut self, now: Time, packet: &Packet, directory: &mut impl HostTables) {
        let Some(slot) = sending(packet, directory) else { return };
        let sender = self.slots.at(slot).sender();
        sender.hear_probe(now, packet.header.sequence, &self.config);
        self.changed(slot);
    }

    /// A switch told of a packet of this host.
    fn handle_notification(&mut self, packet: &Packet, directory: &mut impl HostTables) {
        let (header, host) = (&packet.header, self.host);
        if !self.config.fastlane {
            return;
        }
        match (header.kind, header.flags.contains(Flags::FROM_OPENER)) {
            (kind @ (Kind::Data | Kind::Pull), true) => {
                let Some(slot) = sending(packet, directory) else { return };
                let sender = self.slots.at(slot).sender();
                let is_heard = match kind {
                    Kind::Data => sender.told(header),
                    _ => sender.told_of_probe(header.sequence),
                };
                sender.statistics.notifications += u64::from(is_heard);
                self.changed(slot);
            }
            (Kind::Ack, false) => {
                let key = Key::of(packet);
                let Some(slot) = directory.find(key) else { return };
                let Role::Receiving(receiver) = &mut self.slots.at(slot).role else { return };
                // FastLane 3.4.1: control packets that need to be resent go at once.
                if receiver.needs_again(header) {
                    let ack = receiver.ack(host, header.sequence);
                    self.say(ack);
                }
            }
            // A probe that was on its way back: the timer repeats it.
            (Kind::Pull | Kind::Data | Kind::Nack | Kind::Reset, false)
            | (Kind::Ack | Kind::Nack | Kind::Reset, true) => {}
        }
    }
}

/// The sending half that an answer, or what came back, is for.
fn sending(packet: &Packet, directory: &impl HostTables) -> Option<u32> {
    let (peer, connection) = (packet.source, packet.header.connection);
    directory.find(Key { peer, connection, opened_here: true, half: Half::Sending })
}

impl crate::Endpoint for Endpoint {
    type Command = Command;
    type Event = Event;

    /// A flow is one message: a further one ([`Command::Send`]) would be a flow of its own, and is not taken.
    fn handle_command(&mut self, _now: Time, command: Command, directory: &mut impl HostTables) {
        match command {
            Command::Listen => self.is_listening = true,
            Command::Open { peer, connection, class, length, payload, paths, stream } => {
                let key = Key { peer, connection, opened_here: true, half: Half::Sending };
                let slot = directory.assign(key);
                let (paths, length) = (Spray::new(paths, stream), length.map(ByteCount::get));
                let mut sender = Sender::new(key, paths, (length, payload), class, &self.config);
                sender.number = self.opened;
                self.opened += 1;
                *self.slots.at(slot) =
                    Slot { role: Role::Sending(Box::new(sender)), ..Slot::default() };
                self.changed(slot);
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
            _ if packet.service == Service::Notification => {
                self.handle_notification(packet, directory);
            }
            // pFabric's packets are dropped, not trimmed.
            _ if packet.service == Service::Returned || packet.service == Service::Trimmed => {}
            (Kind::Data, true) => return self.handle_data(packet, directory),
            (Kind::Ack, false) => self.handle_ack(now, packet, directory),
            (Kind::Pull, true) => self.echo(packet),
            (Kind::Pull, false) => self.handle_probe(now, packet, directory),
            (Kind::Data, false) | (Kind::Ack, true) | (Kind::Nack | Kind::Reset, _) => {}
        }
        Disposition::Discard
    }

    fn handle_timeout(&mut self, now: Time, _directory: &mut impl HostTables) {
        while let Some((deadline, slot)) = self.timers.due(now) {
            let entry = self.slots.at(slot);
            // An earlier deadline was set since, or the half is another one.
            if entry.deadline != deadline {
                continue;
            }
            entry.deadline = Time::NEVER;
            let Role::Sending(sender) = &mut entry.role else { continue };
            sender.expire(now, &self.config);
            self.changed(slot);
        }
    }

    fn poll_transmit(&mut self, now: Time, allowed: Allowed) -> Option<Packet> {
        if allowed.control()
            && let Some(packet) = self.control.pop_front()
        {
            return Some(packet);
        }
        if !allowed.data() {
            return None;
        }
        let &(_, _, slot) = self.ready.first()?;
        let packet = self.slots.at(slot).sender().send(now, self.host, &self.config);
        self.changed(slot);
        packet
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn transmit_at(&self, allowed: Allowed) -> Time {
        let has_more = (allowed.control() && !self.control.is_empty())
            || (allowed.data() && !self.ready.is_empty());
        if has_more { Time::ZERO } else { Time::NEVER }
    }

    fn poll_timeout(&self) -> Time {
        self.timers.earliest()
    }
}
