//! The receive stream of a flow.

use trimline_packet::{Flags, Header, HostId, Kind, Packet, Time, TimeDelta};

use super::config::{Config, MAX_DOUBLINGS, Order, ReceiverRules, times};
use super::ranking::Rank;
use crate::shell::UsePaths;
use crate::spray::Spray;
use crate::{Arrivals, Key, PathList, RngStream, WINDOW_LIMIT};

/// Number of silent waits before waits double.
const FIRST_TIMEOUTS: u8 = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Nothing is missing, or the flow is unknown yet.
    Never,
    Now,
    /// Not before a time.
    At(Time),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Wants no token.
    Outside,
    /// May have a token.
    Asking(Rank),
    /// Waits for a time.
    Waiting(Time),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    New,
    Duplicate,
    /// Behind the end, or too far ahead of the first missing packet.
    Beyond,
}

/// The receive stream of a flow.
#[derive(Debug)]
pub struct Receiver {
    pub(super) key: Key,
    pub(super) paths: Spray,
    pub(super) place: Place,
    /// Number of the flow, or of its turn.
    pub(super) number: u64,
    pub(super) class: u8,
    pub(super) was_delivered: bool,
    /// Packets of the flow, once known.
    packets: Option<u32>,
    arrivals: Arrivals,
    count: u32,
    /// Next packet to request: missing, unless the round has ended.
    cursor: u32,
    /// Tokens given, free ones included.
    tokens: u64,
    /// First token that is still awaited.
    answered: u64,
    free: u32,
    /// Time of the last token, or of the flow's first packet.
    asked_at: Time,
    /// Unanswered waits since the last data packet.
    timeouts: u8,
}

impl UsePaths for Receiver {
    fn use_paths(&mut self, paths: PathList, _stream: impl FnOnce() -> RngStream) {
        self.paths.replace(paths);
    }
}

impl Receiver {
    pub(super) fn new(now: Time, key: Key, paths: Spray, number: u64) -> Receiver {
        Receiver {
            key,
            paths,
            place: Place::Outside,
            number,
            class: 0,
            was_delivered: false,
            packets: None,
            arrivals: Arrivals::default(),
            count: 0,
            cursor: 0,
            tokens: 0,
            answered: 0,
            free: 0,
            asked_at: now,
            timeouts: 0,
        }
    }

    /// Handles an RTS: the first `free` of `packets` packets come on free tokens. Returns whether that is new.
    pub(super) fn announced(&mut self, now: Time, packets: u32, free: u32) -> bool {
        if self.packets.is_some() {
            return false;
        }
        self.packets = Some(packets);
        self.free = free.min(packets).min(WINDOW_LIMIT);
        self.tokens = self.tokens.max(u64::from(self.free));
        self.cursor = self.cursor.max(self.free);
        self.asked_at = now;
        self.reconcile();
        true
    }

    /// Returns the packets on free tokens if all are, else 0.
    pub(super) fn all_free(&self) -> u32 {
        if self.packets == Some(self.free) { self.free } else { 0 }
    }

    pub(super) fn left(&self) -> u32 {
        self.packets.unwrap_or(0).saturating_sub(self.count)
    }

    pub(super) fn is_complete(&self) -> bool {
        self.packets.is_some_and(|packets| self.arrivals.base() >= packets)
    }

    pub(super) fn arrive(&mut self, header: &Header) -> Arrival {
        let (sequence, base) = (header.sequence, self.arrivals.base());
        let is_behind = self.packets.is_some_and(|packets| sequence >= packets);
        if is_behind || (sequence > base && sequence - base >= WINDOW_LIMIT) {
            return Arrival::Beyond;
        }
        if header.flags.contains(Flags::SYN) {
            self.tokens = self.tokens.max(u64::from(sequence) + 1);
            self.cursor = self.cursor.max(sequence + 1);
        }
        if header.flags.contains(Flags::LAST) && self.packets.is_none() {
            self.packets = Some(sequence + 1);
            self.free = self.cursor.min(sequence + 1);
        }
        self.answer(header.service_port());
        self.timeouts = 0;
        if sequence < base || self.arrivals.contains(sequence) {
            return Arrival::Duplicate;
        }
        self.arrivals.insert(sequence);
        self.count += 1;
        self.reconcile();
        if self.is_complete() {
            self.arrivals.shrink();
        }
        Arrival::New
    }

    /// Marks a token as answered. Older tokens are no longer awaited, used or not.
    fn answer(&mut self, number: u16) {
        let ahead = number.wrapping_sub(self.answered as u16) as i16;
        let token = self.answered.saturating_add_signed(i64::from(ahead));
        if ahead >= 0 && token < self.tokens {
            self.answered = token + 1;
        }
    }

    /// Returns the end of this round: one past the last packet that may be requested.
    fn end(&self) -> u32 {
        self.packets.unwrap_or(0).min(self.arrivals.base().saturating_add(WINDOW_LIMIT))
    }

    fn reconcile(&mut self) {
        self.cursor = self.cursor.max(self.arrivals.base());
        while self.cursor < self.end() && self.arrivals.contains(self.cursor) {
            self.cursor += 1;
        }
    }

    /// Returns the unanswered tokens, free ones included.
    pub(super) fn unanswered(&self) -> u64 {
        if self.is_complete() { 0 } else { self.tokens - self.answered }
    }

    fn has_full_window(&self, config: &Config) -> bool {
        self.tokens - self.answered >= u64::from(config.token_window)
    }

    /// Returns when the flow may have a token. pHost: a window of unanswered tokens costs a flow its turn. Once all
    /// packets were requested, missing ones are requested again.
    pub(super) fn turn(&self, config: &Config) -> Turn {
        if self.packets.is_none() || self.is_complete() {
            return Turn::Never;
        }
        let is_round_over = self.cursor >= self.end();
        let is_full = self.has_full_window(config);
        let mut wait = TimeDelta::ZERO;
        if is_round_over {
            wait = self.resend_wait(config);
        }
        if is_full {
            wait = wait.max(config.downgrade);
        }
        match is_round_over || is_full {
            true => Turn::At(self.asked_at.saturating_add(self.backed_off(wait))),
            false => Turn::Now,
        }
    }

    /// Returns the wait for missing packets. A flow without other tokens waits one packet time per free token.
    fn resend_wait(&self, config: &Config) -> TimeDelta {
        if self.tokens > u64::from(self.free) {
            return config.resend;
        }
        let on_their_way = times(config.packet_time, self.free).as_ps();
        let more = match config.receiver {
            ReceiverRules::Prompt => config.resend.as_ps(),
            ReceiverRules::Yaps => on_their_way,
        };
        TimeDelta::from_ps(on_their_way.saturating_add(more))
    }

    /// Lengthens a wait after silent waits. Otherwise receivers whose sources cannot answer fill slow links with
    /// tokens, and no data gets through.
    fn backed_off(&self, wait: TimeDelta) -> TimeDelta {
        let doublings = self.timeouts.saturating_sub(FIRST_TIMEOUTS - 1).min(MAX_DOUBLINGS);
        TimeDelta::from_ps(wait.as_ps().saturating_mul(1 << doublings))
    }

    /// Ends a wait: one more token may go unanswered, and a finished round starts again.
    pub(super) fn resume(&mut self, config: &Config) {
        self.timeouts = self.timeouts.saturating_add(1);
        if self.has_full_window(config) {
            self.answered = self.tokens - u64::from(config.token_window - 1);
        }
        if self.cursor >= self.end() {
            self.cursor = self.arrivals.base();
            self.reconcile();
        }
    }

    /// Makes the next token. It says how many packets are missing where senders rank by that.
    pub(super) fn ask(&mut self, now: Time, host: HostId, order: Order) -> Packet {
        let (sequence, number) = (self.cursor, self.tokens as u16);
        let missing = match order {
            Order::Reported => self.left().min(u32::from(u16::MAX)),
            Order::Srpt | Order::Fair => 0,
        };
        self.cursor += 1;
        self.tokens += 1;
        self.asked_at = now;
        self.reconcile();
        self.control(host, Kind::Pull, sequence, missing << 16 | u32::from(number))
    }

    pub(super) fn ack(&mut self, host: HostId) -> Packet {
        self.control(host, Kind::Ack, self.packets.unwrap_or(0), 0)
    }

    fn control(&mut self, host: HostId, kind: Kind, sequence: u32, extra: u32) -> Packet {
        let (connection, path) = (self.key.connection, self.paths.next_path());
        let header = Header { kind, flags: Flags::default(), path, connection, sequence, extra };
        Packet::control(host, self.key.peer, header)
    }
}
