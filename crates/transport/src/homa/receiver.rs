//! The receive stream of a message: arrivals, GRANTs and RESENDs.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use trimline_packet::{Flags, Header, HostId, Kind, Packet, Time};

use super::MANY;
use super::config::{Config, MAX_DOUBLINGS, doubled};
use super::granting::Rank;
use crate::spray::Spray;
use crate::{Arrivals, Key, WINDOW_LIMIT};

/// Max RESENDs at a time, each for consecutive packets.
const MAX_RESENDS: usize = 64;
/// Max packets per RESEND.
const MAX_ASKED: u32 = 0xFFFF;

/// The result of a data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    New,
    Duplicate,
    /// Behind the end, or too far ahead of the first missing packet.
    Beyond,
}

/// The receive stream of a message.
#[derive(Debug)]
pub(super) struct Receiver {
    pub(super) key: Key,
    pub(super) paths: Spray,
    /// Rank among the messages that want a GRANT.
    pub(super) rank: Option<Rank>,
    /// Number of the message at this host.
    number: u64,
    class: u8,
    pub(super) was_delivered: bool,
    /// Packets of the message, once known.
    packets: Option<u32>,
    arrivals: Arrivals,
    count: u32,
    /// First packet that still needs a GRANT.
    granted: u32,
    priority: u8,
    /// Link bytes of granted packets that have not arrived.
    outstanding: u64,
    /// Aeolus: packets that a probe found missing and that were not granted again.
    lost: BTreeSet<u32>,
    was_probed: bool,
    /// Time of the last packet, GRANT or BUSY of the message.
    received_at: Time,
    /// Consecutive RESENDs without data.
    timeouts: u8,
}

impl Receiver {
    /// Makes a message from its first packet, which carries class and packet count.
    pub(super) fn new(
        now: Time,
        key: Key,
        paths: Spray,
        number: u64,
        header: &Header,
        config: &Config,
    ) -> Receiver {
        let said = u32::from(header.service_port());
        let mut receiver = Receiver {
            key,
            paths,
            rank: None,
            number,
            class: header.flags.class(),
            was_delivered: false,
            packets: (said < MANY).then_some(said.max(1)),
            arrivals: Arrivals::default(),
            count: 0,
            granted: 0,
            priority: 0,
            outstanding: 0,
            lost: BTreeSet::new(),
            was_probed: false,
            received_at: now,
            timeouts: 0,
        };
        receiver.advance(config.unscheduled().min(receiver.end()), config);
        receiver
    }

    /// Returns one past the last packet that the message may have.
    fn end(&self) -> u32 {
        self.packets.unwrap_or(u32::MAX)
    }

    /// Grants all packets before `granted`.
    fn advance(&mut self, granted: u32, config: &Config) {
        while self.granted < granted {
            self.outstanding += config.wire_bytes(self.granted, self.end());
            self.granted += 1;
        }
    }

    pub(super) fn is_complete(&self) -> bool {
        self.packets.is_some_and(|packets| self.arrivals.base() >= packets)
    }

    pub(super) fn packets(&self) -> u32 {
        self.packets.unwrap_or(0)
    }

    /// Returns the time of the last packet or GRANT: what may go now may have gone then.
    pub(super) fn received_at(&self) -> Time {
        self.received_at
    }

    pub(super) fn outstanding(&self) -> u64 {
        if self.is_complete() { 0 } else { self.outstanding }
    }

    pub(super) fn arrive(&mut self, now: Time, header: &Header, config: &Config) -> Arrival {
        let (sequence, base) = (header.sequence, self.arrivals.base());
        if sequence >= self.end() || (sequence > base && sequence - base >= WINDOW_LIMIT) {
            return Arrival::Beyond;
        }
        // A LAST before packets that have arrived is false.
        let is_end = header.flags.contains(Flags::LAST) && !self.has_beyond(sequence);
        if is_end && self.packets.is_none() {
            self.cut_back(sequence + 1, config);
        }
        if sequence < base || self.arrivals.contains(sequence) {
            return Arrival::Duplicate;
        }
        // A sender that sends more than was granted has another idea of what is unscheduled.
        self.advance(sequence + 1, config);
        self.arrivals.insert(sequence);
        self.count += 1;
        if !self.lost.remove(&sequence) {
            self.outstanding -= config.wire_bytes(sequence, self.end());
        }
        (self.received_at, self.timeouts) = (now, 0);
        if self.is_complete() {
            self.arrivals.shrink();
        }
        Arrival::New
    }

    fn has_beyond(&self, sequence: u32) -> bool {
        (sequence + 1..self.granted).any(|later| self.arrivals.contains(later))
    }

    /// Sets the end of the message: packets granted beyond it never come.
    fn cut_back(&mut self, end: u32, config: &Config) {
        self.packets = Some(end);
        let granted = self.granted.min(end);
        (self.granted, self.outstanding) = (self.arrivals.base().min(end), 0);
        self.advance(granted, config);
        let arrived =
            (self.arrivals.base()..granted).filter(|&packet| self.arrivals.contains(packet));
        let bytes: u64 = arrived.map(|packet| config.wire_bytes(packet, end)).sum();
        self.outstanding -= bytes;
        self.lost = self.lost.split_off(&0).into_iter().filter(|&lost| lost < end).collect();
        self.outstanding -= self.bytes_of_lost(config);
    }

    fn bytes_of_lost(&self, config: &Config) -> u64 {
        self.lost.iter().map(|&lost| config.wire_bytes(lost, self.end())).sum()
    }

    /// Aeolus: packets up to `last` were sent unscheduled. Missing ones are no longer on their way.
    pub(super) fn probed(&mut self, now: Time, last: u32, config: &Config) {
        // A duplicate probe may come after they were granted again.
        if core::mem::replace(&mut self.was_probed, true) {
            return;
        }
        let sent = last.saturating_add(1).min(config.unscheduled()).min(self.granted);
        let missing =
            (self.arrivals.base()..sent).filter(|&packet| !self.arrivals.contains(packet));
        self.lost = missing.collect();
        self.outstanding -= self.bytes_of_lost(config);
        (self.received_at, self.timeouts) = (now, 0);
    }

    /// Returns the rank if the message wants a GRANT. A message with an unanswered RESEND gives up its place until its
    /// data comes.
    pub(super) fn place(&self) -> Option<Rank> {
        let max = self.arrivals.base().saturating_add(WINDOW_LIMIT - 1);
        let wants = !self.lost.is_empty() || (self.granted < self.end() && self.granted < max);
        if !wants || self.timeouts > 0 {
            return None;
        }
        let class = u64::from(3 - self.class.min(3)) << 62;
        // Homa 3.3: shortest remaining first. Messages without a known end come last, in turn.
        let left = match self.packets {
            Some(packets) => u64::from(packets - self.granted) + self.lost.len() as u64,
            None => (1 << 32) + u64::from(self.granted),
        };
        Some((class | left, self.end(), self.number))
    }

    /// Returns whether less than a round trip of bytes is on its way.
    pub(super) fn has_room(&self, config: &Config) -> bool {
        self.outstanding < u64::from(config.rtt_bytes)
    }

    /// Grants the next packet, to the message at `place` among `among`.
    pub(super) fn grant(
        &mut self,
        now: Time,
        host: HostId,
        (place, among): (usize, usize),
        config: &Config,
    ) -> Packet {
        let left = self.end() - self.granted;
        self.received_at = now;
        // Aeolus: lost packets first.
        if let Some(lost) = self.lost.pop_first() {
            let left = left.saturating_add(self.lost.len() as u32 + 1);
            let priority = config.scheduled_priority(place, among, left);
            self.outstanding += config.wire_bytes(lost, self.end());
            return self.control(host, Kind::Nack, lost, 1 << 16 | u32::from(priority));
        }
        self.priority = config.scheduled_priority(place, among, left);
        self.advance(self.granted + 1, config);
        self.repeat_grant(host)
    }

    /// Makes the last GRANT again, or one of the unscheduled packets.
    pub(super) fn repeat_grant(&mut self, host: HostId) -> Packet {
        self.control(host, Kind::Pull, self.granted, self.priority.into())
    }

    pub(super) fn ack(&mut self, host: HostId) -> Packet {
        self.control(host, Kind::Ack, self.packets(), 0)
    }

    /// Returns the time at which missing packets are requested.
    pub(super) fn deadline(&self, config: &Config) -> Time {
        match self.outstanding() {
            0 => Time::NEVER,
            _ => self.received_at.saturating_add(doubled(config.resend, self.timeouts)),
        }
    }

    /// Handles BUSY: the sender is there, and has other things to do.
    pub(super) fn wait_on(&mut self, now: Time) {
        self.received_at = now;
        self.timeouts = self.timeouts.min(1);
    }

    /// Makes RESENDs if they are due.
    pub(super) fn expire(&mut self, now: Time, host: HostId, config: &Config) -> Vec<Packet> {
        if self.deadline(config) > now {
            return Vec::new();
        }
        self.received_at = now;
        // All missing packets are requested.
        self.outstanding += self.bytes_of_lost(config);
        self.lost = BTreeSet::new();
        self.timeouts = self.timeouts.saturating_add(1).min(MAX_DOUBLINGS);
        self.resends(host, config)
    }

    /// Returns whether a RESEND is unanswered.
    pub(super) fn is_silent(&self) -> bool {
        self.timeouts > 0 && self.outstanding() > 0
    }

    /// Makes RESENDs for missing granted packets, one per run.
    pub(super) fn resends(&mut self, host: HostId, config: &Config) -> Vec<Packet> {
        let missing = self.granted - self.count;
        let priority = config.unscheduled_priority(config.bytes_of(missing).0);
        let mut packets = Vec::new();
        let mut next = self.arrivals.base();
        while next < self.granted && packets.len() < MAX_RESENDS {
            let first = next;
            while next < self.granted && !self.arrivals.contains(next) && next - first < MAX_ASKED {
                next += 1;
            }
            let extra = (next - first) << 16 | u32::from(priority);
            packets.push(self.control(host, Kind::Nack, first, extra));
            while next < self.granted && self.arrivals.contains(next) {
                next += 1;
            }
        }
        packets
    }

    fn control(&mut self, host: HostId, kind: Kind, sequence: u32, extra: u32) -> Packet {
        let (connection, path) = (self.key.connection, self.paths.next_path());
        let header = Header { kind, flags: Flags::default(), path, connection, sequence, extra };
        Packet::control(host, self.key.peer, header)
    }
}
