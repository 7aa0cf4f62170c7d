//! One pFabric host: takes packets, commands and deadlines, gives packets and events.
//!
//! ACKs and returning probes go first, in the order in which they arose; then one packet of the most urgent flow that
//! may send.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::sync::Arc;

use trimline_packet::{Flags, HostId, Kind, Packet, Service, Time};

use super::config::{Config, SenderStatistics};
use super::receiver::Receiver;
use super::sender::Sender;
use crate::flow::{Event, Statistics};
use crate::shell::{Opening, Shell, ShellEndpoint, ShellOf, StreamState, is_first};
use crate::spray::Spray;
use crate::{Allowed, Disposition, HostTables, Key};

/// All pFabric flows of one host.
#[derive(Debug)]
pub struct Endpoint {
    shell: ShellOf<Endpoint>,
    config: Arc<Config>,
    /// Send streams that may send: urgency, number, slot.
    ready: BTreeSet<(u32, u64, u32)>,
    /// Flows opened so far.
    opened: u64,
}

impl Endpoint {
    /// Makes a host without flows.
    ///
    /// # Panics
    /// Panics if the window, the time-out or the payload is 0.
    pub fn new(host: HostId, config: impl Into<Arc<Config>>) -> Endpoint {
        let config = config.into();
        assert!(config.window > 0, "a window has at least one packet");
        assert!(config.rto.as_ps() > 0, "a time-out of nothing");
        assert!(config.payload_bytes > 0, "packets carry something");
        let shell = Shell::new(host);
        Endpoint { shell, config, ready: BTreeSet::new(), opened: 0 }
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
    pub fn receiver_statistics(&self, slot: u32) -> &Statistics {
        &self.shell.receiver(slot).statistics
    }

    /// Returns window and packets in flight of the send stream in `slot`.
    ///
    /// # Panics
    /// Panics if `slot` holds no send stream.
    pub fn window(&self, slot: u32) -> (u32, u32) {
        let sender = self.shell.sender(slot);
        (sender.window(), sender.in_flight())
    }

    /// Forgets the stream in `slot`. The slot may be assigned again.
    pub fn forget(&mut self, slot: u32) {
        if let StreamState::Sending(sender) = self.shell.vacate(slot)
            && let Some((urgency, number)) = sender.rank
        {
            self.ready.remove(&(urgency, number, slot));
        }
    }

    /// Updates rank and timer of a send stream after a change of its state.
    fn changed(&mut self, slot: u32) {
        let sender = self.shell.at(slot).stream_state.sender();
        let rank = sender.is_ready().then(|| (sender.urgency(&self.config), sender.number));
        let before = core::mem::replace(&mut sender.rank, rank);
        let deadline = sender.deadline;
        self.shell.arm(slot, deadline);
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

    fn on_data(&mut self, packet: &Packet, tables: &mut impl HostTables) -> Disposition {
        let (header, host) = (&packet.header, self.shell.host);
        let key = Key::receiving(packet.source, header.connection);
        let accepted = self.shell.accept(key, (), is_first(packet), tables, |paths, stream| {
            Box::new(Receiver::new(key, Spray::new(paths, stream)))
        });
        let Some((slot, _)) = accepted else { return Disposition::Discard };
        let receiver = self.shell.at(slot).stream_state.receiver();
        let bytes = packet.wire_bytes.saturating_sub(Packet::HEADER_BYTES);
        let Some(is_new) = receiver.arrive(header, bytes) else { return Disposition::Discard };
        let ack = receiver.ack(host, header.sequence);
        if receiver.is_complete() && !core::mem::replace(&mut receiver.was_delivered, true) {
            receiver.shrink();
            self.shell.events.push_back(Event::Delivered { key, slot });
        }
        self.shell.push_control(ack);
        match is_new {
            true => Disposition::Accept { slot, sequence: header.sequence },
            false => Disposition::Discard,
        }
    }

    /// pFabric 4.3, FastLane 4.2.2: a probe goes back, whether or not its flow is known.
    fn echo(&mut self, packet: &Packet) {
        let mut header = packet.header;
        (header.flags, header.extra) = (Flags::default(), 0);
        let echo = Packet::control(self.shell.host, packet.source, header);
        self.shell.push_control(echo);
    }

    fn handle_ack(&mut self, now: Time, packet: &Packet, directory: &mut impl HostTables) {
        let Some((slot, sender)) = self.shell.find_sender(packet, directory) else { return };
        let key = sender.key;
        if sender.receive(now, &packet.header, &self.config) {
            self.shell.events.push_back(Event::Acknowledged { key, slot });
        }
        self.changed(slot);
    }

    fn handle_probe(&mut self, now: Time, packet: &Packet, directory: &mut impl HostTables) {
        let Some((slot, sender)) = self.shell.find_sender(packet, directory) else { return };
        sender.receive_probe(now, packet.header.sequence, &self.config);
        self.changed(slot);
    }

    fn handle_notification(&mut self, packet: &Packet, directory: &mut impl HostTables) {
        let (header, host) = (&packet.header, self.shell.host);
        if !self.config.fastlane {
            return;
        }
        match (header.kind, header.flags.contains(Flags::FROM_OPENER)) {
            (kind @ (Kind::Data | Kind::Pull), true) => {
                let Some((slot, sender)) = self.shell.find_sender(packet, directory) else {
                    return;
                };
                let is_received = match kind {
                    Kind::Data => sender.notified(header),
                    _ => sender.notified_of_probe(header.sequence),
                };
                sender.statistics.notifications += u64::from(is_received);
                self.changed(slot);
            }
            (Kind::Ack, false) => {
                let key = Key::of(packet);
                let Some(slot) = directory.find(key) else { return };
                let StreamState::Receiving(receiver) = &mut self.shell.at(slot).stream_state else {
                    return;
                };
                // FastLane 3.4.1: control packets that need to be resent go at once.
                if receiver.needs_again(header) {
                    let ack = receiver.ack(host, header.sequence);
                    self.shell.push_control(ack);
                }
            }
            // A probe on its way back was dropped: the timer repeats it.
            (Kind::Pull | Kind::Data | Kind::Nack | Kind::Reset, false)
            | (Kind::Ack | Kind::Nack | Kind::Reset, true) => {}
        }
    }
}

impl ShellEndpoint for Endpoint {
    type Sender = Box<Sender>;
    type Receiver = Box<Receiver>;
    type Common = ();

    crate::shell_accessors!();

    fn open(&mut self, _now: Time, opening: Opening, slot: u32) {
        let Opening { key, class, length, payload, paths, stream } = opening;
        let paths = Spray::new(paths, stream);
        let mut sender = Sender::new(key, paths, (length, payload), class, &self.config);
        sender.number = self.opened;
        self.opened += 1;
        self.shell.place(slot, StreamState::Sending(Box::new(sender)), ());
        self.changed(slot);
    }

    fn receive(&mut self, now: Time, packet: &Packet, tables: &mut impl HostTables) -> Disposition {
        let is_from_opener = packet.header.flags.contains(Flags::FROM_OPENER);
        match (packet.header.kind, is_from_opener) {
            _ if packet.service == Service::Notification => {
                self.handle_notification(packet, tables);
            }
            // pFabric's packets are dropped, not trimmed.
            _ if packet.service == Service::Returned || packet.service == Service::Trimmed => {}
            (Kind::Data, true) => return self.on_data(packet, tables),
            (Kind::Ack, false) => self.handle_ack(now, packet, tables),
            (Kind::Pull, true) => self.echo(packet),
            (Kind::Pull, false) => self.handle_probe(now, packet, tables),
            (Kind::Data, false) | (Kind::Ack, true) | (Kind::Nack | Kind::Reset, _) => {}
        }
        Disposition::Discard
    }

    fn expire(&mut self, now: Time, slot: u32) {
        let StreamState::Sending(sender) = &mut self.shell.at(slot).stream_state else { return };
        sender.expire(now, &self.config);
        self.changed(slot);
    }

    fn transmit(&mut self, now: Time, allowed: Allowed) -> Option<Packet> {
        if !allowed.data() {
            return None;
        }
        let &(_, _, slot) = self.ready.first()?;
        let sender = self.shell.slots[slot as usize].stream_state.sender();
        let packet = sender.send(now, self.shell.host, &self.config);
        self.changed(slot);
        packet
    }

    fn ready_at(&self, allowed: Allowed) -> Time {
        if allowed.data() && !self.ready.is_empty() { Time::ZERO } else { Time::NEVER }
    }
}
