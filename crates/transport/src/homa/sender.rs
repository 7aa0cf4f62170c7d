//! The send stream of a message: packets that may go, and packets to resend.

use alloc::collections::BTreeSet;

use rand_xoshiro::rand_core::RngCore;
use trimline_packet::{
    Flags, Header, HostId, Kind, Packet, Service, ServiceClass, Time, TimeDelta,
};

use super::config::{Config, Ending, MAX_DOUBLINGS, doubled, said};
use super::sending::Turn;
use crate::shell::UsePaths;
use crate::spray::Spray;
use crate::{Key, PathList, RngStream, WINDOW_LIMIT};

/// Max packets to resend; the receiver requests further ones again.
const MAX_RESENT: usize = 1024;

/// The next packet of a message, by number.
#[derive(Clone, Copy, Debug)]
enum Upcoming {
    New(u32),
    Again(u32),
    /// A probe behind this packet.
    Probe(u32),
}

/// The send stream of a message.
#[derive(Debug)]
pub struct Sender {
    pub(super) key: Key,
    pub(super) paths: Spray,
    /// Rank and priority, while a packet may go.
    pub(super) turn: Option<Turn>,
    /// Number of the message at this host.
    number: u64,
    stream: RngStream,
    length: Option<u64>,
    packets: u32,
    class: u8,
    /// First packet that may not go.
    granted: u32,
    /// Priority of scheduled packets.
    priority: u8,
    /// First unsent packet.
    next: u32,
    /// Packets to resend, and the priority of the scheduled ones.
    again: BTreeSet<u32>,
    again_priority: u8,
    /// The first packet goes again, to test whether the receiver is there.
    is_asking: bool,
    /// Aeolus: the probe behind the unscheduled packets goes next.
    is_probing: bool,
    /// Time at which the wait for the receiver ends.
    gives_up_at: Time,
    repeats: u8,
    has_ended: bool,
}

impl UsePaths for Sender {
    fn use_paths(&mut self, paths: PathList, _stream: impl FnOnce() -> RngStream) {
        self.paths.replace(paths);
    }
}

impl Sender {
    pub(super) fn new(
        now: Time,
        key: Key,
        (paths, stream): (Spray, RngStream),
        (length, class): (Option<u64>, u8),
        number: u64,
        config: &Config,
    ) -> Sender {
        let packets = config.packets_of(length);
        let mut sender = Sender {
            key,
            paths,
            turn: None,
            number,
            stream,
            length,
            packets,
            class,
            granted: packets.min(config.unscheduled()),
            priority: 0,
            next: 0,
            again: BTreeSet::new(),
            again_priority: 0,
            is_asking: false,
            is_probing: false,
            gives_up_at: Time::NEVER,
            repeats: 0,
            has_ended: false,
        };
        sender.wait(now, config);
        sender
    }

    pub(super) fn granted_unsent(&self) -> u32 {
        self.granted.saturating_sub(self.next)
    }

    fn upcoming(&self) -> Option<Upcoming> {
        if self.is_probing {
            return Some(Upcoming::Probe(self.next.saturating_sub(1)));
        }
        if self.is_asking {
            return Some(Upcoming::Again(0));
        }
        match self.again.first() {
            Some(&sequence) => Some(Upcoming::Again(sequence)),
            None => (self.next < self.granted).then_some(Upcoming::New(self.next)),
        }
    }

    fn priority_of(&self, upcoming: Upcoming, config: &Config) -> u8 {
        match upcoming {
            // Aeolus: lost packets are resent as scheduled ones.
            Upcoming::Again(_) if config.aeolus && !self.is_asking => self.again_priority,
            Upcoming::Again(sequence) | Upcoming::New(sequence) | Upcoming::Probe(sequence)
                if sequence < config.unscheduled() =>
            {
                let left = self.length.unwrap_or(u64::MAX).saturating_sub(config.start(sequence));
                config.unscheduled_priority(left)
            }
            Upcoming::Again(_) => self.again_priority,
            Upcoming::New(_) | Upcoming::Probe(_) => self.priority,
        }
    }

    /// Returns the rank. Homa 3.2: fewest bytes left first; among endless messages fewest bytes sent.
    pub(super) fn place(&self, config: &Config) -> Option<Turn> {
        let upcoming = self.upcoming()?;
        let sent = config.start(self.next);
        let left = match self.length {
            Some(length) => {
                length.saturating_sub(sent) + config.bytes_of(self.again.len() as u32).0
            }
            None => (1 << 63) + sent,
        };
        Some(((left, self.number), self.priority_of(upcoming, config)))
    }

    /// Sends the next packet. Returns also whether it was sent before; `None` for a probe.
    pub(super) fn send(
        &mut self,
        now: Time,
        host: HostId,
        config: &Config,
    ) -> Option<(Packet, Option<bool>)> {
        let upcoming = self.upcoming()?;
        let priority = self.priority_of(upcoming, config);
        let (sequence, is_repeated) = match upcoming {
            Upcoming::New(sequence) => (sequence, false),
            Upcoming::Again(sequence) => (sequence, true),
            Upcoming::Probe(sequence) => {
                let probe = self.probe(host, sequence, priority);
                self.wait_if_done(now, config);
                return Some((probe, None));
            }
        };
        let is_asking = core::mem::take(&mut self.is_asking);
        if !is_asking && !self.again.remove(&sequence) {
            self.next += 1;
            // Aeolus: a probe behind the last unscheduled packet.
            let unasked = config.unscheduled().min(self.packets);
            self.is_probing = config.aeolus && self.next == unasked;
        }
        let end = config.start(sequence + 1).min(self.length.unwrap_or(u64::MAX));
        let length = (end - config.start(sequence)) as u16;
        let is_last = self.length.is_some() && sequence + 1 == self.packets;
        let path = self.paths.next_path();
        let mut packet = self.key.data(host, path, sequence, length, is_last, Service::Droppable);
        let header = &mut packet.header;
        header.extra = Header::data_extra(length, said(self.packets));
        let is_unscheduled = sequence < config.unscheduled();
        let syn = if is_unscheduled { Flags::SYN } else { 0 };
        header.flags = header.flags.with(syn).with_class(self.class).with_attempt(is_asking.into());
        if is_unscheduled && !is_repeated && sequence < config.marked {
            packet.marks |= Packet::MARK_UNSCHEDULED;
        }
        packet.service = ServiceClass::new(Service::Droppable, priority);
        packet.wire_bytes = super::FRAMING.wire_bytes(length);
        self.wait_if_done(now, config);
        Some((packet, Some(is_repeated)))
    }

    /// Starts the final wait once all is sent and no ACK will come.
    fn wait_if_done(&mut self, now: Time, config: &Config) {
        if self.is_done() && config.ending != Ending::Acknowledged {
            self.wait(now, config);
        }
    }

    /// Makes Aeolus's probe: it names the last packet sent unscheduled. It is unmarked, and waits in those packets'
    /// queues.
    fn probe(&mut self, host: HostId, sequence: u32, priority: u8) -> Packet {
        self.is_probing = false;
        let flags = Flags::default().with(Flags::FROM_OPENER | Flags::SYN).with_class(self.class);
        let (connection, path) = (self.key.connection, self.paths.next_path());
        let extra = Header::data_extra(0, said(self.packets));
        let header = Header { kind: Kind::Nack, flags, path, connection, sequence, extra };
        let service = ServiceClass::new(Service::Droppable, priority);
        Packet { service, ..Packet::control(host, self.key.peer, header) }
    }

    /// Returns whether all of a message with an end has been sent.
    fn is_done(&self) -> bool {
        self.length.is_some() && self.next == self.packets && self.upcoming().is_none()
    }

    /// Handles a GRANT.
    pub(super) fn grant(&mut self, now: Time, header: &Header, config: &Config) {
        if self.has_ended {
            return;
        }
        self.received(now, config);
        let max = self.next.saturating_add(WINDOW_LIMIT).min(self.packets);
        if header.sequence > self.granted {
            self.granted = header.sequence.min(max);
            self.priority = header.extra as u8 & ServiceClass::TOP_PRIORITY;
        }
    }

    /// Handles a RESEND. Returns whether there is anything to send.
    pub(super) fn resend(&mut self, now: Time, header: &Header, config: &Config) -> bool {
        let is_final = self.has_ended && config.ending == Ending::Acknowledged;
        let first = header.sequence;
        if is_final || first >= self.packets {
            return false;
        }
        self.received(now, config);
        let max = self.next.saturating_add(WINDOW_LIMIT).min(self.packets);
        let end = first.saturating_add(header.extra >> 16).min(max);
        let priority = header.extra as u8 & ServiceClass::TOP_PRIORITY;
        if end > self.granted {
            (self.granted, self.priority) = (end, priority);
        }
        self.again_priority = priority;
        let room = MAX_RESENT.saturating_sub(self.again.len());
        self.again.extend((first..end.min(self.next)).take(room));
        end > first
    }

    /// Handles an ACK of a message of `packets` packets. Returns whether it ends this message.
    pub(super) fn end(&mut self, packets: u32) -> bool {
        if packets != self.packets || self.length.is_none() || self.has_ended {
            return false;
        }
        self.has_ended = true;
        (self.granted, self.is_asking, self.is_probing) = (self.next, false, false);
        self.again = BTreeSet::new();
        true
    }

    /// Notes an answer: the receiver is there.
    fn received(&mut self, now: Time, config: &Config) {
        (self.repeats, self.is_asking) = (0, false);
        self.wait(now, config);
    }

    /// Starts a wait for the receiver.
    fn wait(&mut self, now: Time, config: &Config) {
        let wait = match config.ending {
            Ending::Silent(time) if self.is_done() => time,
            _ => {
                let spread = u128::from(doubled(config.backoff, self.repeats).as_ps());
                // No draw without a spread.
                let more = if spread == 0 {
                    0
                } else {
                    (spread * u128::from(self.stream.next_u64())) >> 64
                };
                let time = doubled(config.retry, self.repeats);
                TimeDelta::from_ps(time.as_ps().saturating_add(more as u64))
            }
        };
        self.gives_up_at = now.saturating_add(wait);
    }

    pub(super) fn deadline(&self) -> Time {
        if self.has_ended { Time::NEVER } else { self.gives_up_at }
    }

    /// Handles the timer. Returns whether silence ended the message.
    pub(super) fn expire(&mut self, now: Time, config: &Config) -> bool {
        if self.has_ended || self.gives_up_at > now {
            return false;
        }
        if self.is_done() && config.ending != Ending::Acknowledged {
            self.has_ended = true;
            return true;
        }
        // Without sent packets there can be no answer.
        if self.upcoming().is_none() {
            self.is_asking = true;
            self.repeats = self.repeats.saturating_add(1).min(MAX_DOUBLINGS);
        }
        self.wait(now, config);
        false
    }

    /// Makes the answer to a RESEND of a sender with other things to send first.
    pub(super) fn busy(&mut self, host: HostId, sequence: u32) -> Packet {
        let flags = Flags::default().with(Flags::FROM_OPENER);
        let (connection, path) = (self.key.connection, self.paths.next_path());
        let header = Header { kind: Kind::Ack, flags, path, connection, sequence, extra: 0 };
        Packet::control(host, self.key.peer, header)
    }
}
