//! One DCQCN host: takes packets, commands and deadlines, gives packets and events.
//!
//! ACKs, NACKs and CNPs go first, in the order in which they arose. Then due flows take turns, one packet each, so they
//! share an overloaded NIC fairly.

use alloc::sync::Arc;

use trimline_packet::{BitRate, Flags, HostId, Kind, Packet, Service, Time};

use super::MARK_CNP;
use super::config::{Config, ReceiverStatistics, SenderStatistics};
use super::rate::MIN_TIMER;
use super::receiver::{Arrived, Receiver};
use super::sender::Sender;
use crate::flow::Event;
use crate::pacing::{Paced as _, PacedSenders};
use crate::shell::{Opening, Shell, ShellEndpoint, ShellOf, StreamState};
use crate::way::Way;
use crate::{Allowed, Disposition, HostTables, Key, Side};

/// All DCQCN connections of one host.
#[derive(Debug)]
pub struct Endpoint {
    shell: ShellOf<Endpoint>,
    turns: PacedSenders,
    config: Arc<Config>,
}

impl Endpoint {
    /// Makes a host without connections.
    ///
    /// # Panics
    /// Panics if rates are out of order, a timer is below [`MIN_TIMER`], `ack_every` or the time-out is 0, or the
    /// gain's shift exceeds 31.
    pub fn new(host: HostId, config: impl Into<Arc<Config>>) -> Endpoint {
        let config = config.into();
        assert!(config.min_rate <= config.line_rate, "the least rate is not above the line's");
        for timer in [config.alpha_timer, config.increase_timer] {
            assert!(timer >= MIN_TIMER, "a rate's timer is a microsecond or longer");
        }
        assert!(config.ack_every > 0, "an ACK answers a packet at least");
        assert!(config.gain_shift < 32, "alpha has 32 bits");
        assert!(config.rto.as_ps() > 0, "a time-out of nothing");
        Endpoint { shell: Shell::new(host), turns: PacedSenders::NONE, config }
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

    /// Returns the rate of the send stream in `slot`. `now` must not precede the last call's.
    ///
    /// # Panics
    /// Panics if `slot` holds no send stream.
    pub fn rate(&self, slot: u32, now: Time) -> BitRate {
        BitRate::from_bps(self.shell.sender(slot).rate_and_alpha(now, &self.config).0)
    }

    /// Returns `alpha` of the send stream in `slot`, in units of 1 / [`super::ALPHA_ONE`]. `now` must not precede the
    /// last call's.
    ///
    /// # Panics
    /// Panics if `slot` holds no send stream.
    pub fn alpha(&self, slot: u32, now: Time) -> u64 {
        self.shell.sender(slot).rate_and_alpha(now, &self.config).1
    }

    /// Returns the packets in flight of the send stream in `slot`; after going back only resent ones.
    ///
    /// # Panics
    /// Panics if `slot` holds no send stream.
    pub fn in_flight(&self, slot: u32) -> u32 {
        self.shell.sender(slot).in_flight()
    }

    /// Forgets the stream in `slot`, which has nothing to send. The slot may be assigned again.
    ///
    /// # Panics
    /// Panics if the stream could send.
    pub fn forget(&mut self, slot: u32) {
        if let StreamState::Sending(sender) = self.shell.vacate(slot) {
            assert!(
                !sender.ready.joined() && sender.listed() == Time::NEVER,
                "what is forgotten has nothing to send"
            );
        }
        self.turns.drop_old(&self.shell);
    }

    fn sender_changed(&mut self, now: Time, slot: u32) {
        let entry = self.shell.at(slot);
        let StreamState::Sending(sender) = &mut entry.stream_state else { return };
        let deadline = sender.deadline;
        let next = (sender.has_data(&self.config), sender.due());
        self.shell.arm(slot, deadline);
        self.turns.update(&mut self.shell, now, slot, next);
    }

    fn on_data(&mut self, now: Time, packet: &Packet, tables: &mut impl HostTables) -> Disposition {
        let key = Key::of(packet);
        let whole = u32::from(packet.header.payload_length()) + u32::from(Packet::HEADER_BYTES);
        let is_whole = u32::from(packet.wire_bytes) >= whole;
        if key.side == Side::Sending
            || !packet.header.flags.contains(Flags::FROM_OPENER)
            || !is_whole
            || packet.service == Service::Trimmed
        {
            return Disposition::Discard;
        }
        let accepted = self.shell.accept(key, key, true, tables, |paths, stream| {
            Receiver::new(Way::new(&paths, stream))
        });
        let Some((slot, _)) = accepted else { return Disposition::Discard };
        self.arrive(now, packet, slot)
    }

    #[inline]
    fn arrive(&mut self, now: Time, packet: &Packet, slot: u32) -> Disposition {
        if !self.shell.has_room() {
            return Disposition::Discard;
        }
        let host = self.shell.host;
        let entry = self.shell.at(slot);
        let (receiver, key) = (entry.stream_state.receiver(), entry.common);
        let cnp = receiver.notify(now, packet, &self.config, host, &key);
        let (arrived, answer) = receiver.arrive(packet, host, &key);
        self.shell.control.extend(cnp.into_iter().chain(answer));
        match arrived {
            Arrived::OutOfOrder => Disposition::Discard,
            Arrived::InOrder { ends_message } => {
                if ends_message {
                    self.shell.events.push_back(Event::Delivered { key, slot });
                }
                Disposition::Accept { slot, sequence: packet.header.sequence }
            }
        }
    }

    fn handle_answer(&mut self, now: Time, packet: &Packet, directory: &mut impl HostTables) {
        let Some(slot) = directory.find(Key::of(packet)) else { return };
        let entry = self.shell.at(slot);
        let sender = entry.stream_state.sender();
        let sequence = packet.header.sequence;
        let ended = if packet.marks & MARK_CNP != 0 {
            sender.notified(now, &self.config);
            0
        } else if packet.header.kind == Kind::Nack {
            sender.missed(now, &self.config, sequence)
        } else {
            sender.acknowledged(now, &self.config, sequence)
        };
        let event = Event::Acknowledged { key: entry.common, slot };
        self.shell.events.extend((0..ended).map(|_| event));
        self.sender_changed(now, slot);
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
        let way = Way::new(&paths, stream);
        let mut sender = Sender::new(now, &self.config, payload, class, way);
        match length {
            None => sender.never_end(),
            Some(0) => self.shell.events.push_back(Event::Acknowledged { key, slot }),
            Some(length) => sender.append(length),
        }
        self.shell.place(slot, StreamState::Sending(sender), key);
        self.sender_changed(now, slot);
    }

    fn append(&mut self, now: Time, slot: u32, bytes: u64) {
        self.shell.at(slot).stream_state.sender().append(bytes);
        self.sender_changed(now, slot);
    }

    #[inline]
    fn receive(&mut self, now: Time, packet: &Packet, tables: &mut impl HostTables) -> Disposition {
        match packet.header.kind {
            // A packet that a switch sent back is not from the peer.
            _ if packet.service.service().is_bounced() => {}
            Kind::Data => return self.on_data(now, packet, tables),
            Kind::Ack | Kind::Nack => self.handle_answer(now, packet, tables),
            Kind::Pull | Kind::Reset => {}
        }
        Disposition::Discard
    }

    fn expire(&mut self, now: Time, slot: u32) {
        if let StreamState::Sending(sender) = &mut self.shell.at(slot).stream_state
            && sender.deadline <= now
        {
            sender.time_out();
        }
        self.sender_changed(now, slot);
    }

    #[inline]
    fn transmit(&mut self, now: Time, allowed: Allowed) -> Option<Packet> {
        if !allowed.data() {
            return None;
        }
        let slot = self.turns.next(&mut self.shell, now)?;
        let host = self.shell.host;
        let entry = self.shell.at(slot);
        let packet = entry.stream_state.sender().transmit(now, &self.config, host, &entry.common);
        // Behind the others, or out of the ring until its next packet is due.
        self.turns.turn(&mut self.shell);
        self.sender_changed(now, slot);
        Some(packet)
    }

    #[inline]
    fn ready_at(&self, allowed: Allowed) -> Time {
        if allowed.data() { self.turns.ready_at() } else { Time::NEVER }
    }
}
