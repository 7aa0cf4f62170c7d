//! One TCP host: takes packets, commands and deadlines, gives packets and events.
//!
//! ACKs and SYNs go first, in the order in which they arose; then ready connections take turns, one segment each. The
//! segment and its subflow are chosen when the NIC asks; with [`Config::is_fifo`] when the window allows them, and the
//! segment waits behind earlier ones.

use alloc::collections::VecDeque;
use alloc::sync::Arc;

use trimline_packet::{Flags, HostId, Kind, Packet, Service, Time};

use super::config::{Config, ReceiverStatistics, SenderProgress, SenderStatistics};
use super::receiver::Receiver;
use super::segment;
use super::sender::Sender;
use crate::flow::Event;
use crate::round_robin::RoundRobin;
use crate::shell::{Opening, Shell, ShellEndpoint, ShellOf, Slot, StreamState, is_first};
use crate::{Allowed, Disposition, HostTables, Key, PathList};

/// All TCP connections of one host.
#[derive(Debug)]
pub struct Endpoint {
    shell: ShellOf<Endpoint>,
    /// Send streams that may send.
    ready: RoundRobin,
    /// Segments that wait for the NIC ([`Config::is_fifo`]).
    fifo: VecDeque<Packet>,
    config: Arc<Config>,
}

impl Endpoint {
    /// Makes a host without connections.
    ///
    /// # Panics
    /// Panics unless there are 1 to [`super::MAX_SUBFLOWS`] subflows, if `ack_every` is 0, on SACK with several
    /// subflows, or on FastLane with several subflows, SACK or time stamps.
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
            shell: Shell::new(host),
            ready: RoundRobin::EMPTY,
            fifo: VecDeque::new(),
            config,
        }
    }

    /// Returns the counters of the send stream in `slot`.
    ///
    /// # Panics
    /// Panics if `slot` holds no send stream.
    pub fn sender_statistics(&self, slot: u32) -> &SenderStatistics {
        &self.shell.sender(slot).statistics
    }

    /// Returns the counters of the receive stream in `slot`.
    ///
    /// # Panics
    /// Panics if `slot` holds no receive stream.
    pub fn receiver_statistics(&self, slot: u32) -> &ReceiverStatistics {
        &self.shell.receiver(slot).statistics
    }

    /// Returns the congestion window of a subflow of the send stream in `slot`, in 2^-16 segments.
    ///
    /// # Panics
    /// Panics if `slot` holds no send stream, or on an unknown subflow.
    pub fn window(&self, slot: u32, subflow: u8) -> u64 {
        self.shell.sender(slot).window(subflow) >> 16
    }

    /// Returns the progress of the send stream in `slot`.
    ///
    /// # Panics
    /// Panics if `slot` holds no send stream.
    pub fn progress(&self, slot: u32) -> SenderProgress {
        self.shell.sender(slot).progress()
    }

    /// Forgets the stream in `slot`, which waits for nothing, so that the slot can be reused: for a driver that knows
    /// that no packet can follow ([`Config::time_wait`]). A stream does not end by itself; it takes more data.
    pub fn forget(&mut self, slot: u32) {
        if let StreamState::Sending(sender) = self.shell.vacate(slot) {
            assert!(!sender.ready.joined(), "a half that is forgotten has nothing to send");
        }
    }

    #[inline]
    fn sender_changed(&mut self, now: Time, slot: u32) {
        if self.config.is_fifo {
            self.fill_fifo(now, slot);
        }
        let entry = &mut self.shell.slots[slot as usize];
        let StreamState::Sending(sender) = &mut entry.stream_state else { return };
        if sender.is_complete() && !sender.is_over {
            sender.is_over = true;
            self.shell.events.push_back(Event::Acknowledged { key: entry.common, slot });
        }
        let deadline = sender.deadline();
        let (is_ready, is_member) = (sender.is_ready(&self.config), sender.ready.joined());
        self.shell.arm(slot, deadline);
        if is_ready != is_member {
            if is_ready {
                self.ready.join(&mut self.shell.slots, slot);
            } else {
                self.ready.leave(&mut self.shell.slots, slot);
            }
        }
    }

    #[inline(never)]
    fn fill_fifo(&mut self, now: Time, slot: u32) {
        let host = self.shell.host;
        let Slot { stream_state, common: key, .. } = self.shell.at(slot);
        let StreamState::Sending(sender) = stream_state else { return };
        let mut earliest = Time::NEVER;
        while let Some((packet, due)) = sender.transmit(now, &self.config, host, key) {
            self.fifo.push_back(packet);
            earliest = earliest.min(due);
        }
        self.shell.arm(slot, earliest);
    }

    #[inline]
    fn on_data(&mut self, now: Time, packet: &Packet, tables: &mut impl HostTables) -> Disposition {
        let header = &packet.header;
        let key = Key::receiving(packet.source, header.connection);
        let subflow = segment::subflow(header.flags);
        if !header.flags.contains(Flags::FROM_OPENER) || subflow >= self.config.subflows {
            return Disposition::Discard;
        }
        let accepted = self.shell.accept(key, key, is_first(packet), tables, |paths, stream| {
            Receiver::new(&paths, stream)
        });
        let Some((slot, _)) = accepted else { return Disposition::Discard };
        let has_room = self.shell.has_room();
        let receiver = self.shell.slots[slot as usize].stream_state.receiver();
        if !receiver.knows(subflow) {
            let mut paths = PathList::new();
            tables.paths(key.peer, &mut paths);
            receiver.join(subflow, &paths);
        }
        if !has_room {
            return Disposition::Discard;
        }
        let (config, host, control) = (&self.config, self.shell.host, &mut self.shell.control);
        let new = if packet.service == Service::Trimmed {
            receiver.arrive_trimmed(packet, config, host, &key, control);
            None
        } else {
            receiver.arrive(now, packet, config, host, &key, control)
        };
        if !receiver.is_delivered && receiver.is_complete(config) {
            receiver.is_delivered = true;
            self.shell.events.push_back(Event::Delivered { key, slot });
        }
        let deadline = receiver.deadline();
        self.shell.arm(slot, deadline);
        match new {
            Some(sequence) => Disposition::Accept { slot, sequence },
            None => Disposition::Discard,
        }
    }

    #[inline]
    fn handle_ack(&mut self, now: Time, packet: &Packet, directory: &mut impl HostTables) {
        let key = Key::sending(packet.source, packet.header.connection);
        let Some(slot) = directory.find(key) else { return };
        let Shell { slots, control, host, .. } = &mut self.shell;
        let sender = slots[slot as usize].stream_state.sender();
        sender.receive(now, packet, &self.config, *host, &key, control);
        self.sender_changed(now, slot);
    }

    #[cold]
    fn handle_nack(&mut self, now: Time, packet: &Packet, directory: &mut impl HostTables) {
        let key = Key::sending(packet.source, packet.header.connection);
        let Some(slot) = directory.find(key) else { return };
        let sender = self.shell.slots[slot as usize].stream_state.sender();
        sender.receive_nack(packet, &self.config);
        self.sender_changed(now, slot);
    }

    #[cold]
    fn handle_notification(&mut self, now: Time, packet: &Packet, directory: &mut impl HostTables) {
        let key = Key::of(packet);
        let Some(slot) = directory.find(key) else { return };
        let (config, host, control) = (&self.config, self.shell.host, &mut self.shell.control);
        match &mut self.shell.slots[slot as usize].stream_state {
            StreamState::Vacant => {}
            StreamState::Sending(sender) => {
                sender.receive_notification(now, packet, config, host, &key, control);
                self.sender_changed(now, slot);
            }
            StreamState::Receiving(receiver) => {
                receiver.receive_notification(packet, config, host, &key, control);
            }
        }
    }
}

impl ShellEndpoint for Endpoint {
    type Sender = Sender;
    type Receiver = Receiver;
    type Common = Key;

    crate::shell_accessors!();

    fn open(&mut self, now: Time, opening: Opening, slot: u32) {
        let Opening { key, class, length, payload, paths, stream } = opening;
        assert!(!paths.is_empty(), "a connection has at least one path");
        let mut sender = Sender::new(&self.config, class, (length, payload), &paths, stream);
        if let Some(syn) = sender.begin(now, &self.config, self.shell.host, &key) {
            self.shell.control.push_back(syn);
        }
        self.shell.place(slot, StreamState::Sending(sender), key);
        self.sender_changed(now, slot);
    }

    fn append(&mut self, now: Time, slot: u32, bytes: u64) {
        self.shell.at(slot).stream_state.sender().append(now, &self.config, bytes);
        self.sender_changed(now, slot);
    }

    #[inline]
    fn receive(&mut self, now: Time, packet: &Packet, tables: &mut impl HostTables) -> Disposition {
        match packet.header.kind {
            _ if packet.service == Service::Notification || packet.service == Service::Returned => {
                self.handle_notification(now, packet, tables);
            }
            Kind::Data => return self.on_data(now, packet, tables),
            Kind::Ack => self.handle_ack(now, packet, tables),
            Kind::Nack => self.handle_nack(now, packet, tables),
            Kind::Pull | Kind::Reset => {}
        }
        Disposition::Discard
    }

    fn expire(&mut self, now: Time, slot: u32) {
        let Shell { slots, control, host, .. } = &mut self.shell;
        let (config, entry) = (&self.config, &mut slots[slot as usize]);
        let deadline = match &mut entry.stream_state {
            StreamState::Vacant => Time::NEVER,
            StreamState::Sending(sender) => {
                sender.expire(now, config, *host, &entry.common, control)
            }
            StreamState::Receiving(receiver) => {
                receiver.expire(now, config, *host, &entry.common, control)
            }
        };
        self.shell.arm(slot, deadline);
        self.sender_changed(now, slot);
    }

    #[inline]
    fn transmit(&mut self, now: Time, allowed: Allowed) -> Option<Packet> {
        if !allowed.data() {
            return None;
        }
        if self.ready.is_empty() {
            return self.fifo.pop_front();
        }
        let (slot, host) = (self.ready.head(), self.shell.host);
        let Slot { stream_state, common: key, .. } = self.shell.at(slot);
        let sender = stream_state.sender();
        let (packet, due) = sender.transmit(now, &self.config, host, key)?;
        let is_ready = sender.is_ready(&self.config);
        self.shell.arm(slot, due);
        if is_ready {
            self.ready.turn(&mut self.shell.slots);
        } else {
            self.ready.leave(&mut self.shell.slots, slot);
        }
        Some(packet)
    }

    #[inline]
    fn ready_at(&self, allowed: Allowed) -> Time {
        let waits = !self.ready.is_empty() || !self.fifo.is_empty();
        if allowed.data() && waits { Time::ZERO } else { Time::NEVER }
    }
}
