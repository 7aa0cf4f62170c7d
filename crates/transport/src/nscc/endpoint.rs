//! One NSCC host: takes packets, commands and deadlines, gives packets and events.
//!
//! ACKs, NACKs and RTSs go first, in the order in which they arose, then the PULL that is due. Then flows that may send
//! take turns, one packet each.

use alloc::boxed::Box;
use alloc::sync::Arc;

use rand_xoshiro::rand_core::SeedableRng;
use trimline_packet::{Flags, HostId, Kind, Packet, Service, Time, TimeDelta};

use super::config::{Config, Control, SenderStatistics};
use super::receiver::Receiver;
use super::sender::Sender;
use super::window::{Window, max_window};
use crate::flow::{Event, Statistics};
use crate::path_choice::PathChooser;
use crate::rccc::{Account, Granting};
use crate::round_robin::RoundRobin;
use crate::shell::{Opening, Shell, ShellEndpoint, ShellOf, StreamState, is_first};
use crate::spray::Spray;
use crate::{Allowed, Disposition, HostTables, Key, RngStream};

/// All NSCC flows of one host.
#[derive(Debug)]
pub struct Endpoint {
    shell: ShellOf<Endpoint>,
    config: Arc<Config>,
    /// Send streams that may send, and their number.
    ready: RoundRobin,
    active: u32,
    /// The receiver's credit for the flows to this host.
    granting: Option<Granting>,
}

impl Endpoint {
    /// Makes a host without flows.
    ///
    /// # Panics
    /// Panics if a payload, a time or the link's rate is 0.
    pub fn new(host: HostId, config: impl Into<Arc<Config>>) -> Endpoint {
        let config = config.into();
        assert!(config.payload_bytes > 0, "packets carry something");
        assert!(config.law.line.as_bps() > 0, "a link without a rate");
        for time in [config.rto, config.law.base, config.law.target] {
            assert!(time.as_ps() > 0, "a round trip, a target or a time-out of nothing");
        }
        let granting = config.control.credit().map(|rule| {
            rule.check();
            Granting::new(rule, RngStream::seed_from_u64(host.get().into()))
        });
        Endpoint { shell: Shell::new(host), config, ready: RoundRobin::EMPTY, active: 0, granting }
    }

    /// Draws the times at which credit follows the core from a stream ([`CoreControl`](crate::rccc::CoreControl)).
    #[must_use]
    pub fn with_stream(self, stream: RngStream) -> Endpoint {
        let granting = self.config.control.credit().map(|rule| Granting::new(rule, stream));
        Endpoint { granting, ..self }
    }

    /// Returns who decides how much a sender may send.
    pub fn control(&self) -> &Control {
        &self.config.control
    }

    /// Returns the max window of a flow to the farthest host, in bytes on the wire.
    pub fn max_window(config: &Config) -> u64 {
        max_window(&config.law, config.law.base)
    }

    /// Returns the counters of the send stream in `slot`.
    ///
    /// # Panics
    /// Panics if `slot` holds no send stream.
    pub fn sender_statistics(&self, slot: u32) -> SenderStatistics {
        let sender = self.shell.sender(slot);
        let quick_adapts = sender.window.as_ref().map_or(0, Window::adapted);
        SenderStatistics { quick_adapts, ..sender.statistics }
    }

    /// Returns the counters of the receive stream in `slot`.
    ///
    /// # Panics
    /// Panics if `slot` holds no receive stream.
    pub fn receiver_statistics(&self, slot: u32) -> &Statistics {
        &self.shell.receiver(slot).statistics
    }

    /// Returns window and bytes in flight of the send stream in `slot`, on the wire. Without a window it is `u64::MAX`.
    ///
    /// # Panics
    /// Panics if `slot` holds no send stream.
    pub fn window(&self, slot: u32) -> (u64, u64) {
        let sender = self.shell.sender(slot);
        (sender.window.as_ref().map_or(u64::MAX, Window::bytes), sender.in_flight())
    }

    /// Returns the credit of the send stream in `slot`, in bytes on the wire; negative if a packet overdrew it.
    ///
    /// # Panics
    /// Panics if `slot` holds no send stream.
    pub fn credit(&self, slot: u32) -> i64 {
        self.shell.sender(slot).credit.as_ref().map_or(0, Account::left)
    }

    /// Returns the quanta granted to the receive stream in `slot`, modulo 2^32.
    ///
    /// # Panics
    /// Panics if `slot` holds no receive stream.
    pub fn granted(&self, slot: u32) -> u32 {
        self.shell.receiver(slot).demand.granted()
    }

    /// Returns the rate at which this host grants credit, in millionths of the paced one.
    pub fn core_share(&self) -> u32 {
        self.granting.as_ref().map_or(1_000_000, Granting::core_share)
    }

    /// Returns the mean delay of the send stream in `slot`.
    ///
    /// # Panics
    /// Panics if `slot` holds no send stream.
    pub fn mean_delay(&self, slot: u32) -> TimeDelta {
        let window = self.shell.sender(slot).window.as_ref();
        window.map_or(TimeDelta::ZERO, |window| window.mean_delay(&self.config.law))
    }

    /// Forgets the stream in `slot`. The slot may be assigned again.
    pub fn forget(&mut self, slot: u32) {
        let state = self.shell.slots.get_mut(slot as usize).map(|entry| &mut entry.stream_state);
        match state {
            Some(StreamState::Sending(sender)) if sender.links.joined() => {
                self.ready.leave(&mut self.shell.slots, slot);
                self.active -= 1;
            }
            Some(StreamState::Receiving(receiver)) => {
                if let Some(granting) = &mut self.granting {
                    granting.leave(slot, &mut receiver.demand);
                }
            }
            Some(StreamState::Sending(_) | StreamState::Vacant) | None => {}
        }
        self.shell.vacate(slot);
    }

    /// Updates the turn and the timer of a send stream after a change of its state.
    fn changed(&mut self, slot: u32) {
        let is_ready = self.shell.at(slot).stream_state.sender().is_ready();
        self.changed_to(slot, is_ready);
    }

    /// Updates the turn and the timer of a send stream that may send, or may not.
    fn changed_to(&mut self, slot: u32, is_ready: bool) {
        let sender = self.shell.at(slot).stream_state.sender();
        let is_member = sender.links.joined();
        let deadline = sender.deadline(&self.config);
        if deadline < Time::NEVER {
            self.shell.arm(slot, deadline);
        }
        match (is_ready, is_member) {
            (true, false) => {
                self.ready.join(&mut self.shell.slots, slot);
                self.active += 1;
            }
            (false, true) => {
                self.ready.leave(&mut self.shell.slots, slot);
                self.active -= 1;
            }
            (true, true) | (false, false) => {}
        }
    }

    /// Returns the slot of the receive stream of a packet, if there is one or the packet may begin it.
    fn accept(&mut self, packet: &Packet, tables: &mut impl HostTables) -> Option<(u32, Key)> {
        let key = Key::receiving(packet.source, packet.header.connection);
        let accepted = self.shell.accept(key, (), is_first(packet), tables, |paths, stream| {
            Box::new(Receiver::new(key, Spray::new(paths, stream)))
        });
        accepted.map(|(slot, _)| (slot, key))
    }

    fn on_data(&mut self, now: Time, packet: &Packet, tables: &mut impl HostTables) -> Disposition {
        let (header, host) = (&packet.header, self.shell.host);
        let Some((slot, key)) = self.accept(packet, tables) else { return Disposition::Discard };
        let receiver = self.shell.slots[slot as usize].stream_state.receiver();
        let whole = u32::from(header.payload_length()) + u32::from(Packet::HEADER_BYTES);
        if packet.service == Service::Trimmed || u32::from(packet.wire_bytes) < whole {
            let answer = receiver.trimmed(host, packet);
            if let (Some(granting), Some(rule)) = (&mut self.granting, self.config.control.credit())
            {
                granting.count_trimmed(now, packet.marks & Packet::MARK_LAST_HOP != 0);
                // It will be resent, and that needs credit.
                let is_owed = answer.header.kind == Kind::Nack;
                let target = receiver.demand.target_of(header.extra as u16);
                if !receiver.was_delivered {
                    granting.record_demand(
                        now,
                        slot,
                        &mut receiver.demand,
                        (target, is_owed),
                        rule,
                    );
                }
            }
            self.shell.push_control(answer);
            return Disposition::Discard;
        }
        let arrived = receiver.arrive(packet, self.config.ack_every);
        let Some(arrived) = arrived else { return Disposition::Discard };
        let is_complete = receiver.is_complete();
        if let (Some(granting), Some(rule)) = (&mut self.granting, self.config.control.credit()) {
            granting.count_whole(now, packet.marks & Packet::MARK_CE != 0);
            if is_complete {
                granting.leave(slot, &mut receiver.demand);
            } else {
                let target = receiver.demand.target_of(header.extra as u16);
                granting.record_demand(now, slot, &mut receiver.demand, (target, false), rule);
            }
        }
        let ack = arrived.is_answered.then(|| receiver.ack(host, packet));
        if is_complete && !core::mem::replace(&mut receiver.was_delivered, true) {
            receiver.shrink();
            self.shell.events.push_back(Event::Delivered { key, slot });
        }
        ack.into_iter().for_each(|ack| self.shell.push_control(ack));
        match arrived.is_new {
            true => Disposition::Accept { slot, sequence: header.sequence },
            false => Disposition::Discard,
        }
    }

    /// Handles an RTS: its flow gets a PULL, unless it has everything, and an ACK.
    fn on_rts(&mut self, now: Time, packet: &Packet, tables: &mut impl HostTables) {
        if self.granting.is_none() {
            return;
        }
        let Some((slot, _)) = self.accept(packet, tables) else { return };
        let receiver = self.shell.slots[slot as usize].stream_state.receiver();
        if let (Some(granting), Some(rule)) = (&mut self.granting, self.config.control.credit()) {
            granting.count_whole(now, false);
            if !receiver.was_delivered {
                let stated = (packet.header.sequence, true);
                granting.record_demand(now, slot, &mut receiver.demand, stated, rule);
            }
        }
        let ack = receiver.rts(self.shell.host, packet);
        self.shell.push_control(ack);
    }

    fn on_answer(&mut self, now: Time, packet: &Packet, directory: &mut impl HostTables) {
        let Some((slot, sender)) = self.shell.find_sender(packet, directory) else { return };
        let key = sender.key;
        match packet.header.kind {
            Kind::Ack => {
                if sender.acknowledged(now, packet, &self.config) {
                    self.shell.events.push_back(Event::Acknowledged { key, slot });
                }
            }
            Kind::Nack => sender.trimmed(now, packet, &self.config),
            Kind::Data if packet.service == Service::Returned => {
                sender.statistics.returned += 1;
                sender.trimmed(now, packet, &self.config);
            }
            Kind::Pull => sender.pulled(now, packet, &self.config),
            Kind::Data | Kind::Reset => {}
        }
        self.changed(slot);
    }
}

impl ShellEndpoint for Endpoint {
    type Sender = Sender;
    type Receiver = Box<Receiver>;
    type Common = ();

    crate::shell_accessors!();

    fn open(&mut self, now: Time, opening: Opening, slot: u32) {
        let Opening { key, class, length, payload, paths, stream } = opening;
        let Config { path_choice, entropies, .. } = *self.config;
        let paths = PathChooser::hashed(path_choice, entropies, paths, stream);
        let sender = Sender::new(now, key, paths, (length, payload), class, &self.config);
        self.shell.place(slot, StreamState::Sending(sender), ());
        self.changed(slot);
    }

    #[inline]
    fn receive(&mut self, now: Time, packet: &Packet, tables: &mut impl HostTables) -> Disposition {
        let is_from_opener = packet.header.flags.contains(Flags::FROM_OPENER);
        match (packet.header.kind, is_from_opener) {
            // What it announced was trimmed too, or comes again by time-out.
            _ if packet.service == Service::Notification => {}
            (Kind::Data, true) if packet.service == Service::Returned => {
                self.on_answer(now, packet, tables);
            }
            _ if packet.service == Service::Returned => {}
            (Kind::Data, true) => return self.on_data(now, packet, tables),
            (Kind::Pull, true) => self.on_rts(now, packet, tables),
            (Kind::Ack | Kind::Nack | Kind::Pull, false) => self.on_answer(now, packet, tables),
            (Kind::Data, false) | (Kind::Ack | Kind::Nack, true) | (Kind::Reset, _) => {}
        }
        Disposition::Discard
    }

    fn expire(&mut self, now: Time, slot: u32) {
        let (host, active) = (self.shell.host, self.active);
        let StreamState::Sending(sender) = &mut self.shell.at(slot).stream_state else { return };
        let has_lost = sender.expire(now, &self.config);
        let rts = sender.ask(now, host, has_lost, active, &self.config);
        rts.into_iter().for_each(|rts| self.shell.push_control(rts));
        self.changed(slot);
    }

    #[inline]
    fn transmit(&mut self, now: Time, allowed: Allowed) -> Option<Packet> {
        if allowed.control()
            && let Some(granting) = &mut self.granting
            && granting.at() <= now
            && let (Some(slot), Some(rule)) = (granting.head(), self.config.control.credit())
        {
            let receiver = self.shell.slots[slot as usize].stream_state.receiver();
            let granted = granting.pull(now, slot, &mut receiver.demand, rule);
            return Some(receiver.pull(self.shell.host, granted));
        }
        if !allowed.data() || self.ready.is_empty() {
            return None;
        }
        let (slot, host) = (self.ready.head(), self.shell.host);
        let sender = self.shell.at(slot).stream_state.sender();
        let (packet, is_ready) = sender.send(now, host, self.active, &self.config);
        // Behind the others, or out of the ring.
        self.ready.turn(&mut self.shell.slots);
        self.changed_to(slot, is_ready);
        Some(packet)
    }

    #[inline]
    fn ready_at(&self, allowed: Allowed) -> Time {
        if allowed.data() && !self.ready.is_empty() {
            return Time::ZERO;
        }
        match &self.granting {
            Some(granting) if allowed.control() => granting.at(),
            Some(_) | None => Time::NEVER,
        }
    }
}
