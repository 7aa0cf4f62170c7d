//! The send stream of a connection: messages, position and pace.

use core::num::NonZeroU16;

use trimline_packet::{HostId, Packet, Service, Time};

use super::ACK_REQUEST;
use super::config::{Config, SenderStatistics};
use super::pacing::Pace;
use crate::messages::Messages;
use crate::pacing::Paced;
use crate::round_robin::{Linked, Links};
use crate::shell::UsePaths;
use crate::timeouts::Timeouts;
use crate::way::Way;
use crate::{Key, PathList, RngStream};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    Nack,
    Timeout,
}

/// The send stream.
#[derive(Debug)]
pub struct Sender {
    pace: Pace,
    /// Time of the next packet; a cache of `pace`.
    due: Time,
    /// Due time in the heap; [`Time::NEVER`] outside it.
    listed: Time,
    /// Time-out of the oldest packet; [`Time::NEVER`] if none is outstanding.
    pub(super) deadline: Time,
    asked_at: Time,
    pub(super) ready: Links,
    next: u32,
    /// One past the highest packet ever sent.
    highest: u32,
    unacknowledged: u32,
    pub(super) way: Way,
    /// Packets since the last ACK request.
    unasked: u8,
    timeouts: Timeouts,
    class: u8,
    cause: Cause,
    messages: Messages,
    pub(super) statistics: SenderStatistics,
}

impl Linked for Sender {
    #[inline]
    fn links(&mut self) -> &mut Links {
        &mut self.ready
    }
}

impl Paced for Sender {
    #[inline]
    fn listed(&self) -> Time {
        self.listed
    }
    #[inline]
    fn list(&mut self, at: Time) {
        self.listed = at;
    }
}

impl UsePaths for Sender {
    fn use_paths(&mut self, paths: PathList, stream: impl FnOnce() -> RngStream) {
        self.way.keep_to(&paths, stream);
    }
}

impl Sender {
    pub(super) fn new(
        now: Time,
        config: &Config,
        payload: Option<NonZeroU16>,
        class: u8,
        way: Way,
    ) -> Sender {
        let payload = payload.map_or(config.payload_bytes, NonZeroU16::get);
        Sender {
            pace: Pace::new(now, config, payload),
            due: now,
            listed: Time::NEVER,
            deadline: Time::NEVER,
            asked_at: now,
            ready: Links::OUTSIDE,
            next: 0,
            highest: 0,
            unacknowledged: 0,
            way,
            unasked: 0,
            timeouts: Timeouts::NONE,
            class,
            cause: Cause::Nack,
            messages: Messages::new(payload),
            statistics: SenderStatistics::default(),
        }
    }

    pub(super) fn never_end(&mut self) {
        self.messages.never_end();
    }

    /// Returns the time of the next packet if no CNP comes before; may be in the past.
    #[inline]
    pub(super) fn due(&self) -> Time {
        self.due
    }

    pub(super) fn in_flight(&self) -> u32 {
        self.next.wrapping_sub(self.unacknowledged)
    }

    pub(super) fn rate_and_alpha(&self, now: Time, config: &Config) -> (u64, u64) {
        self.pace.rate_and_alpha(now, config)
    }

    pub(super) fn notified(&mut self, now: Time, config: &Config) {
        self.statistics.cnps += 1;
        self.pace.notified(now, config);
        self.due = self.pace.due(config);
    }

    pub(super) fn append(&mut self, length: u64) {
        self.messages.append(self.unacknowledged, length);
    }

    /// Returns whether there is a packet to send, whatever the pace.
    #[inline]
    pub(super) fn has_data(&self, config: &Config) -> bool {
        let outstanding = self.in_flight();
        self.messages.has(self.next)
            && self.timeouts.allows(outstanding)
            && config.window.is_none_or(|window| {
                let bytes = (u64::from(outstanding) + 1) * u64::from(self.messages.payload());
                // At least one packet, however small the window.
                outstanding == 0 || bytes <= window.get()
            })
    }

    #[inline]
    pub(super) fn transmit(
        &mut self,
        now: Time,
        config: &Config,
        host: HostId,
        key: &Key,
    ) -> Packet {
        let sequence = self.next;
        let (length, is_last) = self.messages.length(sequence);
        let mut packet =
            key.data(host, self.way.path(), sequence, length, is_last, Service::Droppable);
        packet.marks = Packet::MARK_ECT;
        packet.header.flags = packet.header.flags.with_class(self.class);
        self.next = sequence.wrapping_add(1);
        if self.asks(now, config, is_last) {
            packet.header.flags = packet.header.flags.with(ACK_REQUEST);
            (self.unasked, self.asked_at) = (0, now);
        }
        if sequence == self.highest {
            self.highest = self.next;
        } else {
            match self.cause {
                Cause::Nack => self.statistics.resent_nack += 1,
                Cause::Timeout => self.statistics.resent_timeout += 1,
            }
        }
        self.statistics.packets_sent += 1;
        if self.deadline == Time::NEVER {
            self.restart(now, config);
            let (rto, count) = (config.rto, self.statistics.timeouts);
            let spread = self.timeouts.spread(rto, host, key, count);
            self.deadline = self.deadline.saturating_add(spread);
        }
        self.pace.sent(now, packet.wire_bytes, config);
        self.due = self.pace.due(config);
        packet
    }

    /// Returns whether this packet requests an ACK: the last of a message or window, every `ack_every`-th, and one per
    /// quarter of the time-out, so that slow flows do not time out.
    #[inline]
    fn asks(&mut self, now: Time, config: &Config, is_last: bool) -> bool {
        self.unasked = self.unasked.saturating_add(1);
        is_last
            || self.unasked >= config.ack_every
            || !self.has_data(config)
            || (now - self.asked_at).as_ps() >= config.rto.as_ps() / 4
    }

    fn restart(&mut self, now: Time, config: &Config) {
        self.deadline = now.saturating_add(self.timeouts.length(config.rto));
    }

    /// Handles an ACK of all packets before `sequence`. Returns the number of ended messages.
    #[inline]
    pub(super) fn acknowledged(&mut self, now: Time, config: &Config, sequence: u32) -> u32 {
        let new = sequence.wrapping_sub(self.unacknowledged);
        if new == 0 || new > self.highest.wrapping_sub(self.unacknowledged) {
            return 0;
        }
        let is_overtaken = self.next.wrapping_sub(self.unacknowledged) < new;
        self.unacknowledged = sequence;
        if is_overtaken {
            self.next = sequence;
        }
        self.timeouts.answered(new, sequence);
        self.deadline = Time::NEVER;
        if self.next != sequence {
            self.restart(now, config);
        }
        self.messages.end(sequence)
    }

    /// Handles a NACK of `sequence`: all before it has arrived. Returns the number of ended messages.
    pub(super) fn missed(&mut self, now: Time, config: &Config, sequence: u32) -> u32 {
        let ended = self.acknowledged(now, config, sequence);
        // A NACK of a packet that was acknowledged since is stale.
        if sequence == self.unacknowledged && sequence != self.highest {
            self.go_back(Cause::Nack);
        }
        ended
    }

    /// Restarts at the oldest unacknowledged packet.
    fn go_back(&mut self, cause: Cause) {
        self.cause = cause;
        self.next = self.unacknowledged;
        self.deadline = Time::NEVER;
    }

    /// Handles a time-out.
    pub(super) fn time_out(&mut self) {
        self.statistics.timeouts += 1;
        self.timeouts.expired(self.highest);
        self.go_back(Cause::Timeout);
    }
}
