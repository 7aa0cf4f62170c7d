//! The send stream of a flow.

use alloc::collections::VecDeque;
use core::num::NonZeroU16;

use trimline_packet::{Flags, Header, HostId, Kind, Packet, Service, Time, TimeDelta};

use super::config::{Config, MAX_DOUBLINGS, Order, packets_of, times};
use super::ranking::Rank;
use crate::shell::UsePaths;
use crate::spray::Spray;
use crate::{Arrivals, Key, PathList, RngStream, WINDOW_LIMIT};

/// Number of first repeats that double the wait for an answer to an RTS. An incast needs some 30 more where RTSs share
/// a queue with data.
const FIRST_DOUBLINGS: u16 = 3;
/// Number of repeats after which the wait doubles with each repeat: links may be so slow that RTSs fill them.
const MANY_REPEATS: u16 = 64;

/// Permission to send one packet.
#[derive(Clone, Copy, Debug)]
struct Token {
    expiry: Time,
    sequence: u32,
    number: u16,
    is_free: bool,
}

/// The send stream of a flow.
#[derive(Debug)]
pub struct Sender {
    pub(super) key: Key,
    pub(super) paths: Spray,
    /// Rank among this host's flows, while there is a token.
    pub(super) rank: Option<Rank>,
    /// Number of the flow, or of its turn.
    pub(super) number: u64,
    length: Option<u64>,
    packets: u32,
    /// Payload of a full packet, in bytes.
    payload: u16,
    class: u8,
    /// First packet that can still go on a free token.
    next_free: u32,
    free: u32,
    free_expiry: Time,
    tokens: VecDeque<Token>,
    /// Packets sent, and their number.
    sent: Arrivals,
    sent_count: u32,
    /// Packets that the receiver missed with the last token (YAPS: `remaining_sz`).
    reported: u32,
    rts_at: Time,
    repeats: u16,
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
        paths: Spray,
        (length, payload): (Option<u64>, Option<NonZeroU16>),
        class: u8,
        config: &Config,
    ) -> Sender {
        let payload = payload.map_or(config.payload_bytes, NonZeroU16::get);
        let packets = packets_of(length, payload);
        let free = config.free_of(packets);
        // The free tokens take as many packet times, and then expire as others do.
        let in_use = times(config.packet_time, free);
        Sender {
            key,
            paths,
            rank: None,
            number: 0,
            length,
            packets,
            payload,
            class,
            next_free: 0,
            free,
            free_expiry: now.saturating_add(in_use).saturating_add(config.token_expiry),
            tokens: VecDeque::new(),
            sent: Arrivals::default(),
            sent_count: 0,
            reported: packets,
            rts_at: now.saturating_add(config.rts_repeat),
            repeats: 0,
            has_ended: false,
        }
    }

    pub(super) fn rts(&mut self, host: HostId) -> Packet {
        let flags = Flags::default().with(Flags::SYN | Flags::FROM_OPENER).with_class(self.class);
        let header = Header {
            kind: Kind::Pull,
            flags,
            path: self.paths.next_path(),
            connection: self.key.connection,
            sequence: self.packets,
            extra: self.free,
        };
        Packet::control(host, self.key.peer, header)
    }

    /// Returns the packets left, as this order counts them.
    pub(super) fn left(&self, order: Order) -> u32 {
        match order {
            Order::Reported => self.reported,
            Order::Srpt | Order::Fair => self.packets - self.sent_count,
        }
    }

    /// Returns the tokens usable at `now`, free ones included.
    pub(super) fn held(&self, now: Time) -> u32 {
        let free = if self.free_expiry > now { self.free - self.next_free } else { 0 };
        free + self.tokens.iter().filter(|token| token.expiry > now).count() as u32
    }

    pub(super) fn is_ready(&self) -> bool {
        self.next_free < self.free || !self.tokens.is_empty()
    }

    /// Stores a token. A sender keeps at most the token window, and ignores tokens that no receiver would send.
    pub(super) fn given(&mut self, now: Time, header: &Header, config: &Config) {
        let sequence = header.sequence;
        let is_beyond = sequence >= self.packets
            || (sequence >= self.sent.base() && sequence - self.sent.base() >= WINDOW_LIMIT);
        if self.has_ended || is_beyond || self.tokens.len() >= config.token_window as usize {
            return;
        }
        if config.sender_order == Order::Reported {
            self.reported = header.extra >> 16;
        }
        let expiry = now.saturating_add(config.token_expiry);
        let number = header.extra as u16;
        self.tokens.push_back(Token { expiry, sequence, number, is_free: false });
    }

    /// Takes the token that expires first. All but the free ones live equally long.
    fn take(&mut self) -> Option<Token> {
        let is_free = self.next_free < self.free
            && self.tokens.front().is_none_or(|token| self.free_expiry <= token.expiry);
        if !is_free {
            return self.tokens.pop_front();
        }
        let sequence = self.next_free;
        self.next_free += 1;
        Some(Token { expiry: self.free_expiry, sequence, number: sequence as u16, is_free })
    }

    /// Uses a token. Returns the packet and whether it was sent before.
    pub(super) fn send(&mut self, host: HostId, config: &Config) -> Option<(Packet, bool)> {
        let Token { sequence, number, is_free, .. } = self.take()?;
        let payload = u64::from(self.payload);
        let before = u64::from(sequence) * payload;
        let length = self.length.map_or(payload, |length| (length - before).min(payload)) as u16;
        let is_last = self.length.is_some() && sequence + 1 == self.packets;
        let path = self.paths.next_path();
        let mut packet = self.key.data(host, path, sequence, length, is_last, Service::Droppable);
        packet.header.extra = Header::data_extra(length, number);
        packet.header.flags = packet.header.flags.with_class(self.class);
        if is_free {
            packet.header.flags = packet.header.flags.with(Flags::SYN);
        }
        let is_repeated = sequence < self.sent.base() || self.sent.contains(sequence);
        // OPF II-C: hosts mark the unscheduled packets of the pre-credit phase.
        if is_free && !is_repeated && sequence < config.marked {
            packet.marks |= Packet::MARK_UNSCHEDULED;
        }
        if !is_repeated {
            self.sent.insert(sequence);
            self.sent_count += 1;
        }
        Some((packet, is_repeated))
    }

    /// Postpones the RTS after a token: the RTS has arrived. It is still repeated, as the ACK may be lost, but no
    /// sooner than before: otherwise senders that seldom get tokens would fill slow links with RTSs.
    pub(super) fn received(&mut self, now: Time, config: &Config) {
        self.rts_at = now.saturating_add(self.rts_wait(config));
    }

    /// Handles an ACK of a flow of `packets` packets. Returns whether it ends this flow.
    pub(super) fn end(&mut self, packets: u32) -> bool {
        if packets != self.packets || self.length.is_none() || self.has_ended {
            return false;
        }
        self.has_ended = true;
        self.next_free = self.free;
        self.tokens = VecDeque::new();
        self.sent.shrink();
        true
    }

    /// Returns the time of the next expiry or RTS.
    pub(super) fn deadline(&self) -> Time {
        if self.has_ended {
            return Time::NEVER;
        }
        let token = self.tokens.front().map_or(Time::NEVER, |token| token.expiry);
        let free = if self.next_free < self.free { self.free_expiry } else { Time::NEVER };
        self.rts_at.min(token).min(free)
    }

    pub(super) fn expire(&mut self, now: Time) {
        if self.free_expiry <= now {
            self.next_free = self.free;
        }
        while self.tokens.front().is_some_and(|token| token.expiry <= now) {
            self.tokens.pop_front();
        }
    }

    /// Returns whether an RTS is due, and lengthens the next wait.
    pub(super) fn repeats(&mut self, now: Time, config: &Config) -> bool {
        if self.has_ended || self.rts_at > now {
            return false;
        }
        self.repeats = self.repeats.saturating_add(1);
        self.rts_at = now.saturating_add(self.rts_wait(config));
        true
    }

    fn rts_wait(&self, config: &Config) -> TimeDelta {
        let more = self.repeats.saturating_sub(MANY_REPEATS);
        let doublings = (self.repeats.min(FIRST_DOUBLINGS) + more).min(MAX_DOUBLINGS.into());
        TimeDelta::from_ps(config.rts_repeat.as_ps().saturating_mul(1 << doublings))
    }
}
