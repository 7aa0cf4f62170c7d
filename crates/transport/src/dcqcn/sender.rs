//! The send stream of a connection: messages, position and pace.

use alloc::collections::VecDeque;
use core::num::NonZeroU16;

use trimline_packet::{HostId, Packet, Service, Time, TimeDelta, mix};

use super::ACK_REQUEST;
use super::config::{Config, SenderStatistics};
use super::pacing::Pace;
use super::way::Way;
use crate::round_robin::{Linked, Links};
use crate::shell::UsePaths;
use crate::timers::doubled;
use crate::{Key, PathList, RngStream};

/// Max doublings of the time-out (chosen).
const MAX_DOUBLINGS: u8 = 6;
/// Consecutive time-outs from which on each has a random addition of up to a quarter, and the sender is careful
/// (chosen).
const MANY_TIMEOUTS: u8 = 3;
const UNLIMITED: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Message {
    /// One past its last packet.
    end: u32,
    /// In bytes, of the last packet.
    last_bytes: u16,
}

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
    pub(super) listed: Time,
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
    /// Max outstanding packets while careful.
    max: u32,
    /// The sender is careful until packets before this are acknowledged.
    careful_until: u32,
    /// Time-outs since the last ACK of new data.
    backoff: u8,
    /// Bytes of a full packet.
    payload: u16,
    class: u8,
    is_endless: bool,
    cause: Cause,
    /// Oldest first.
    messages: VecDeque<Message>,
    pub(super) statistics: SenderStatistics,
}

impl Linked for Sender {
    #[inline]
    fn links(&mut self) -> &mut Links {
        &mut self.ready
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
            max: UNLIMITED,
            careful_until: 0,
            backoff: 0,
            payload,
            class,
            is_endless: false,
            cause: Cause::Nack,
            messages: VecDeque::new(),
            statistics: SenderStatistics::default(),
        }
    }

    pub(super) fn never_end(&mut self) {
        self.is_endless = true;
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
        if self.is_endless || length == 0 {
            return;
        }
        let payload = u64::from(self.payload);
        let last_bytes = match length % payload {
            0 => self.payload,
            rest => rest as u16,
        };
        let begin = self.messages.back().map_or(self.unacknowledged, |message| message.end);
        let end = begin.wrapping_add(length.div_ceil(payload) as u32);
        self.messages.push_back(Message { end, last_bytes });
    }

    #[inline]
    fn is_there(&self, sequence: u32) -> bool {
        self.is_endless
            || self
                .messages
                .back()
                .is_some_and(|last| last.end.wrapping_sub(sequence).wrapping_sub(1) < 1 << 31)
    }

    /// Returns whether there is a packet to send, whatever the pace.
    #[inline]
    pub(super) fn has_data(&self, config: &Config) -> bool {
        let outstanding = self.in_flight();
        self.is_there(self.next)
            && outstanding < self.max
            && config.window.is_none_or(|window| {
                let bytes = (u64::from(outstanding) + 1) * u64::from(self.payload);
                // At least one packet, however small the window.
                outstanding == 0 || bytes <= window.get()
            })
    }

    /// Returns the payload of a packet, and whether it ends a message.
    #[inline]
    fn length(&self, sequence: u32) -> (u16, bool) {
        let behind = sequence.wrapping_add(1);
        match self.messages.iter().find(|message| message.end == behind) {
            Some(message) => (message.last_bytes, true),
            None => (self.payload, false),
        }
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
        let (length, is_last) = self.length(sequence);
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
            self.deadline = self.deadline.saturating_add(self.spread(config, host, key));
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

    /// Returns a random addition to a repeated time-out. Without it two senders whose packets collide in a small queue
    /// would collide after every time-out, and one could lose its first packet each time.
    fn spread(&self, config: &Config, host: HostId, key: &Key) -> TimeDelta {
        if self.backoff < MANY_TIMEOUTS {
            return TimeDelta::ZERO;
        }
        let ends = u64::from(host.get()) << 32 | u64::from(key.peer.get());
        let connection = u64::from(key.connection.get());
        let seed = ends ^ connection.rotate_left(16) ^ self.statistics.timeouts.rotate_left(48);
        let drawn = mix(seed) >> 48;
        TimeDelta::from_ps((doubled(config.rto, self.backoff).as_ps() >> 18).saturating_mul(drawn))
    }

    fn restart(&mut self, now: Time, config: &Config) {
        self.deadline = now.saturating_add(doubled(config.rto, self.backoff));
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
        if self.max != UNLIMITED {
            self.widen(new);
        }
        self.backoff = 0;
        self.deadline = Time::NEVER;
        if self.next != sequence {
            self.restart(now, config);
        }
        self.end_messages()
    }

    #[cold]
    fn widen(&mut self, packets: u32) {
        let rest = self.careful_until.wrapping_sub(self.unacknowledged);
        let is_over = rest.wrapping_sub(1) >= 1 << 31;
        self.max = if is_over { UNLIMITED } else { self.max.saturating_add(packets) };
    }

    fn end_messages(&mut self) -> u32 {
        let mut ended = 0;
        let is_over = |message: &Message, at: u32| at.wrapping_sub(message.end) < 1 << 31;
        while self.messages.front().is_some_and(|front| is_over(front, self.unacknowledged)) {
            self.messages.pop_front();
            ended += 1;
        }
        ended
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

    /// Handles a time-out. After many in a row the sender is careful until all that it had sent has arrived: one
    /// packet, and one more per acknowledged packet. A burst reordered into a small queue leaves few packets, rarely
    /// the missing one.
    pub(super) fn time_out(&mut self) {
        self.statistics.timeouts += 1;
        self.backoff = (self.backoff + 1).min(MAX_DOUBLINGS);
        if self.backoff >= MANY_TIMEOUTS || self.max != UNLIMITED {
            (self.max, self.careful_until) = (1, self.highest);
        }
        self.go_back(Cause::Timeout);
    }
}
