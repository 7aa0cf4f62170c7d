//! One HPCC host: takes packets with their telemetry, commands and deadlines, gives packets and events.
//!
//! ACKs and NACKs go first, in the order in which they arose. Then due flows take turns, one packet each, so they share
//! an overloaded NIC fairly.

use alloc::collections::VecDeque;
use alloc::sync::Arc;

use trimline_packet::{BitRate, Flags, HostId, Kind, Packet, Service, Telemetry, Time};

use super::FRAMING;
use super::config::{Config, ReceiverStatistics, SenderStatistics};
use super::receiver::Receiver;
use super::sender::Sender;
use crate::flow::Event;
use crate::pacing::{Paced as _, PacedSenders};
use crate::shell::{Opening, Shell, ShellEndpoint, ShellOf, StreamState};
use crate::way::Way;
use crate::{Allowed, Disposition, Framing, HostTables, Key, Side};

/// All HPCC connections of one host.
#[derive(Debug)]
pub struct Endpoint {
    shell: ShellOf<Endpoint>,
    turns: PacedSenders,
    config: Arc<Config>,
    /// Telemetry of the packet that comes next.
    arriving: Option<Telemetry>,
    /// Answers that wait or were just sent, with the telemetry that they carry back.
    echoes: VecDeque<(Packet, Telemetry)>,
}

impl Endpoint {
    /// Makes a host without connections.
    ///
    /// # Panics
    /// Panics if a payload, a rate, a time or eta is 0.
    pub fn new(host: HostId, config: impl Into<Arc<Config>>) -> Endpoint {
        let config = config.into();
        assert!(config.payload_bytes > 0, "packets carry something");
        assert!(config.law.line.as_bps() > 0, "a link without a rate");
        assert!(config.law.target > 0, "windows aim at something");
        for time in [config.rto, config.law.base] {
            assert!(time.as_ps() > 0, "a round trip or a time-out of nothing");
        }
        Endpoint {
            shell: Shell::new(host),
            turns: PacedSenders::NONE,
            config,
            arriving: None,
            echoes: VecDeque::new(),
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

    /// Returns window of the send stream in `slot`, in bytes on the wire, and its packets in flight.
    ///
    /// # Panics
    /// Panics if `slot` holds no send stream.
    pub fn window(&self, slot: u32) -> (u64, u32) {
        let sender = self.shell.sender(slot);
        (sender.window.bytes(), sender.in_flight())
    }

    /// Returns the rate of the send stream in `slot`.
    ///
    /// # Panics
    /// Panics if `slot` holds no send stream.
    pub fn rate(&self, slot: u32) -> BitRate {
        BitRate::from_bps(self.shell.sender(slot).rate_bps())
    }

    /// Returns U of the send stream in `slot`, in units of 1 / [`super::UTILISATION_ONE`].
    ///
    /// # Panics
    /// Panics if `slot` holds no send stream.
    pub fn utilisation(&self, slot: u32) -> u64 {
        self.shell.sender(slot).window.utilisation()
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
        let next = (sender.has_data(), sender.due());
        self.shell.arm(slot, deadline);
        self.turns.update(&mut self.shell, now, slot, next);
    }

    fn on_data(&mut self, packet: &Packet, tables: &mut impl HostTables) -> Disposition {
        let key = Key::of(packet);
        let whole = u32::from(packet.header.payload_length()) + u32::from(FRAMING.header);
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
        if !self.shell.has_room() {
            return Disposition::Discard;
        }
        let (host, resend) = (self.shell.host, self.config.resend);
        let entry = self.shell.at(slot);
        let (receiver, key) = (entry.stream_state.receiver(), entry.common);
        let arrived = receiver.arrive(packet, resend, host, &key);
        if let Some(answer) = arrived.answer {
            self.shell.control.push_back(answer);
            if let Some(telemetry) = &self.arriving {
                self.echoes.push_back((answer, telemetry.echo()));
            }
        }
        let event = Event::Delivered { key, slot };
        self.shell.events.extend((0..arrived.messages).map(|_| event));
        match arrived.is_taken {
            true => Disposition::Accept { slot, sequence: packet.header.sequence },
            false => Disposition::Discard,
        }
    }

    fn on_answer(&mut self, now: Time, packet: &Packet, directory: &mut impl HostTables) {
        let Some(slot) = directory.find(Key::of(packet)) else { return };
        let entry = self.shell.at(slot);
        let sender = entry.stream_state.sender();
        let ended = sender.answered(now, &self.config, packet, self.arriving.as_ref());
        let event = Event::Acknowledged { key: entry.common, slot };
        self.shell.events.extend((0..ended).map(|_| event));
        self.sender_changed(now, slot);
    }
}

impl ShellEndpoint for Endpoint {
    const FRAMING: Framing = FRAMING;
    const TELEMETRY: bool = true;
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
            Kind::Data => return self.on_data(packet, tables),
            Kind::Ack | Kind::Nack => self.on_answer(now, packet, tables),
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

    /// Hosts with several transports ask each of them: an answer is recognised by all of its fields.
    fn telemetry_of(&mut self, packet: &Packet) -> Option<Telemetry> {
        match packet.header.kind {
            Kind::Data => Some(Telemetry::EMPTY),
            Kind::Ack | Kind::Nack => {
                self.echoes.front().filter(|(answer, _)| answer == packet)?;
                self.echoes.pop_front().map(|(_, telemetry)| telemetry)
            }
            Kind::Pull | Kind::Reset => None,
        }
    }

    fn receive_telemetry(&mut self, telemetry: Option<Telemetry>) {
        self.arriving = telemetry;
    }
}
