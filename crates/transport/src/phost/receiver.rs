//! The receiving half of a flow: what arrived, and which packets are asked for.

use trimline_packet::{Flags, Header, HostId, Kind, Packet, Time, TimeDelta};

use super::config::{Config, MAX_DOUBLINGS, ReceiverRules, times};
use super::ranking::Rank;
use crate::shell::UsePaths;
use crate::spray::Spray;
use crate::{Arrivals, Key, PathList, Stream, WINDOW_LIMIT};

/// Waits in silence that are as long as the first one. Then each is twice as long as the one before.
const FIRST_SILENCES: u8 = 8;

/// Whether a flow may have a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Nothing is missing, or the flow is not known yet.
    Never,
    /// It may.
    Now,
    /// Not before a time.
    At(Time),
}

/// Where a flow stands at its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// It wants no token.
    Outside,
    /// Among those that may have one.
    Asking(Rank),
    /// Among those that wait for a time.
    Waiting(Time),
}

/// What a packet of data brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    New,
    Duplicate,
    /// Behind the end, or too far ahead of what is missing.
    Beyond,
}

/// The receiving half of a flow.
#[derive(Debug)]
pub struct Receiver {
    pub(super) key: Key,
    pub(super) paths: Spray,
    pub(super) place: Place,
    /// The number of the flow, or of its turn.
    pub(super) number: u64,
    pub(super) class: u8,
    pub(super) was_delivered: bool,
    /// Packets of the flow, once they are known.
    packets: Option<u32>,
    arrivals: Arrivals,
    count: u32,
    /// The next packet to ask for: missing, unless this round has come to its end.
    cursor: u32,
    /// Tokens given, the free ones counted.
    tokens: u64,
    /// Tokens before this one are not awaited any more.
    answered: u64,
    free: u32,
    /// The last token was given, or the flow was heard of.
    asked_at: Time,
    /// Waits for an answer that came to their end since the last packet of data.
    silences: u8,
}

impl UsePaths for Receiver {
    fn use_paths(&mut self, paths: PathList, _stream: impl FnOnce() -> Stream) {
        self.paths.replace(paths);
    }
}

impl Receiver {
    /// A flow of which nothing is known.
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
            silences: 0,
        }
    }

    /// An RTS arrived: the flow has so many packets, of which the first come on free tokens. Whether that is news.
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

    /// How many packets come on free tokens, if all of them do.
    pub(super) fn all_free(&self) -> u32 {
        if self.packets == Some(self.free) { self.free } else { 0 }
    }

    /// Packets that have not arrived.
    pub(super) fn left(&self) -> u32 {
        self.packets.unwrap_or(0).saturating_sub(self.count)
    }

    /// Whether everything has arrived.
    pub(super) fn is_complete(&self) -> bool {
        self.packets.is_some_and(|packets| self.arrivals.base() >= packets)
    }

    /// A packet of data arrived.
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
        self.silences = 0;
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

    /// A packet came on the token with this number: older tokens are not awaited either, used or not.
    fn answer(&mut self, number: u16) {
        let ahead = number.wrapping_sub(self.answered as u16) as i16;
        let token = self.answered.saturating_add_signed(i64::from(ahead));
        if ahead >= 0 && token < self.tokens {
            self.answered = token + 1;
        }
    }

    /// The end of this round: one behind the last packet that may be asked for.
    fn end(&self) -> u32 {
        self.packets.unwrap_or(0).min(self.arrivals.base().saturating_add(WINDOW_LIMIT))
    }

    /// Passes over what has arrived.
    fn reconcile(&mut self) {
        self.cursor = self.cursor.max(self.arrivals.base());
        while self.cursor < self.end() && self.arrivals.contains(self.cursor) {
            self.cursor += 1;
        }
    }

    /// Tokens that no packet has answered, the free ones among them.
    pub(super) fn unanswered(&self) -> u64 {
        if self.is_complete() { 0 } else { self.tokens - self.answered }
    }

    fn has_full_window(&self, config: &Config) -> bool {
        self.tokens - self.answered >= u64::from(config.token_window)
    }

    /// Whether the flow may have a token. pHost: a window of them without an answer takes the flow its turn; what did
    /// not come after all packets were asked for is asked for again.
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
            true => Turn::At(self.asked_at.saturating_add(self.in_silence(wait))),
            false => Turn::Now,
        }
    }

    /// How long missing packets are waited for. Those of a flow that was given no token take a packet time each.
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

    /// A wait after waits that brought nothing. Without this, receivers whose sources cannot answer fill slow links with
    /// tokens for ever, and no data comes through.
    fn in_silence(&self, wait: TimeDelta) -> TimeDelta {
        let doublings = self.silences.saturating_sub(FIRST_SILENCES - 1).min(MAX_DOUBLINGS);
        TimeDelta::from_ps(wait.as_ps().saturating_mul(1 << doublings))
    }

    /// The time that the flow had to wait for has come: one token may go unanswered more, and a round that is over
    /// begins again.
    pub(super) fn resume(&mut self, config: &Config) {
        self.silences = self.silences.saturating_add(1);
        if self.has_full_window(config) {
            self.answered = self.tokens - u64::from(config.token_window - 1);
        }
        if self.cursor >= self.end() {
            self.cursor = self.arrivals.base();
            self.reconcile();
        }
    }

    /// Gives a token: for the next missing packet.
    pub(super) fn ask(&mut self, now: Time, host: HostId) -> Packet {
        let (sequence, number) = (self.cursor, self.tokens as u16);
        self.cursor += 1;
        self.tokens += 1;
        self.asked_at = now;
        self.reconcile();
        self.control(host, Kind::Pull, sequence, u32::from(number))
    }

    /// That everything has arrived.
    pub(super) fn ack(&mut self, host: HostId) -> Packet {
        self.control(host, Kind::Ack, self.packets.unwrap_or(0), 0)
    }

    fn control(&mut self, host: HostId, kind: Kind, sequence: u32, extra: u32) -> Packet {
        let (connection, path) = (self.key.connection, self.paths.next_path());
        let header = Header { kind, flags: Flags::default(), path, connection, sequence, extra };
        Packet::control(host, self.key.peer, header)
    }
}
