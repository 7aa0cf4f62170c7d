//! One NSCC host: takes packets, commands and deadlines, gives packets and events.
//!
//! ACKs and NACKs go first, in the order in which they arose. Then flows whose windows have room take turns, one packet
//! each.

use alloc::boxed::Box;
use alloc::sync::Arc;

use trimline_packet::{Flags, HostId, Kind, Packet, Service, Time, TimeDelta};

use super::config::{Config, SenderStatistics};
use super::receiver::Receiver;
use super::sender::Sender;
use super::window::max_window;
use crate::flow::{Event, Statistics};
use crate::path_choice::PathChooser;
use crate::round_robin::RoundRobin;
use crate::shell::{Opening, Shell, ShellEndpoint, ShellOf, StreamState, is_first};
use crate::spray::Spray;
use crate::{Allowed, Disposition, HostTables, Key};

/// All NSCC flows of one host.
#[derive(Debug)]
pub struct Endpoint {
    shell: ShellOf<Endpoint>,
    config: Arc<Config>,
    /// Send streams that may send.
    ready: RoundRobin,
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
        Endpoint { shell: Shell::new(host), config, ready: RoundRobin::EMPTY }
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
        SenderStatistics { quick_adapts: sender.window.adapted(), ..sender.statistics }
    }

    /// Returns the counters of the receive stream in `slot`.
    ///
    /// # Panics
    /// Panics if `slot` holds no receive stream.
    pub fn receiver_statistics(&self, slot: u32) -> &Statistics {
        &self.shell.receiver(slot).statistics
    }

    /// Returns window and bytes in flight of the send stream in `slot`, on the wire.
    ///
    /// # Panics
    /// Panics if `slot` holds no send stream.
    pub fn window(&self, slot: u32) -> (u64, u64) {
        let sender = self.shell.sender(slot);
        (sender.window.bytes(), sender.in_flight())
    }

    /// Returns the mean delay of the send stream in `slot`.
    ///
    /// # Panics
    /// Panics if `slot` holds no send stream.
    pub fn mean_delay(&self, slot: u32) -> TimeDelta {
        self.shell.sender(slot).window.mean_delay(&self.config.law)
    }

    /// Forgets the stream in `slot`. The slot may be assigned again.
    pub fn forget(&mut self, slot: u32) {
        if let Some(entry) = self.shell.slots.get_mut(slot as usize)
            && let StreamState::Sending(sender) = &entry.stream_state
            && sender.links.joined()
        {
            self.ready.leave(&mut self.shell.slots, slot);
        }
        self.shell.vacate(slot);
    }

    /// Updates the turn and the timer of a send stream after a change of its state.
    fn changed(&mut self, slot: u32) {
        let sender = self.shell.at(slot).stream_state.sender();
        let (is_ready, is_member) = (sender.is_ready(), sender.links.joined());
        let deadline = sender.deadline(&self.config);
        if deadline < Time::NEVER {
            self.shell.arm(slot, deadline);
        }
        match (is_ready, is_member) {
            (true, false) => self.ready.join(&mut self.shell.slots, slot),
            (false, true) => self.ready.leave(&mut self.shell.slots, slot),
            (true, true) | (false, false) => {}
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
        let whole = u32::from(header.payload_length()) + u32::from(Packet::HEADER_BYTES);
        if packet.service == Service::Trimmed || u32::from(packet.wire_bytes) < whole {
            let answer = receiver.trimmed(host, packet);
            self.shell.push_control(answer);
            return Disposition::Discard;
        }
        let arrived = receiver.arrive(packet, self.config.ack_every);
        let Some(arrived) = arrived else { return Disposition::Discard };
        let is_complete = receiver.is_complete();
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
            Kind::Data | Kind::Pull | Kind::Reset => {}
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
            // What it told of was trimmed too, or comes again by time-out.
            _ if packet.service == Service::Notification => {}
            (Kind::Data, true) if packet.service == Service::Returned => {
                self.on_answer(now, packet, tables);
            }
            _ if packet.service == Service::Returned => {}
            (Kind::Data, true) => return self.on_data(packet, tables),
            (Kind::Ack | Kind::Nack, false) => self.on_answer(now, packet, tables),
            (Kind::Data, false)
            | (Kind::Ack | Kind::Nack, true)
            | (Kind::Pull | Kind::Reset, _) => {}
        }
        Disposition::Discard
    }

    fn expire(&mut self, now: Time, slot: u32) {
        let StreamState::Sending(sender) = &mut self.shell.at(slot).stream_state else { return };
        sender.expire(now, &self.config);
        self.changed(slot);
    }

    #[inline]
    fn transmit(&mut self, now: Time, allowed: Allowed) -> Option<Packet> {
        if !allowed.data() || self.ready.is_empty() {
            return None;
        }
        let (slot, host) = (self.ready.head(), self.shell.host);
        let packet = self.shell.at(slot).stream_state.sender().send(now, host, &self.config);
        // Behind the others, or out of the ring.
        self.ready.turn(&mut self.shell.slots);
        self.changed(slot);
        packet
    }

    #[inline]
    fn ready_at(&self, allowed: Allowed) -> Time {
        if allowed.data() && !self.ready.is_empty() { Time::ZERO } else { Time::NEVER }
    }
}
