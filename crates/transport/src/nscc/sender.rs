//! The send stream of a flow: what is in flight on which path since when, what is resent, and the window.

use alloc::collections::{BTreeSet, VecDeque};
use core::num::NonZeroU16;

use trimline_packet::{Flags, Header, HostId, Kind, Packet, PathId, Service, Time, TimeDelta};

use super::config::{Config, SenderStatistics};
use super::window::Window;
use super::{ACK_REQUEST, BITMAP, NO_ECHO, bitmap_base, whole};
use crate::path_choice::{Feedback, PathChooser};
use crate::rccc::{Account, Wanted};
use crate::round_robin::{Linked, Links};
use crate::shell::UsePaths;
use crate::timers::doubled;
use crate::{Key, PathList, RngStream, WINDOW_LIMIT};

const ENDLESS: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    InFlight,
    Arrived,
    /// To be resent: trimmed, or lost.
    Trimmed,
    Lost,
}

/// A packet that was sent, from the first one that is not known to have arrived.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Time,
    /// Number and path of the path choice.
    path: (u16, PathId),
    /// Retransmissions, modulo 4.
    attempt: u8,
    state: State,
}

/// Round trips in a row with nothing but headers after which a flow waits, and the max doublings of the wait
/// (chosen: in uet-htsim 1023 flows into one at 10 Gb/s stop delivering).
const TRIMMED_ROUNDS: u8 = 64;
const MAX_DOUBLINGS: u8 = 6;
/// Time-outs in a row after which the next ones double, whatever `rto_doublings` is (chosen).
const EQUAL_TIMEOUTS: u8 = 16;

/// The send stream of a flow.
#[derive(Debug)]
pub struct Sender {
    pub(super) key: Key,
    pub(super) links: Links,
    paths: PathChooser,
    length: Option<u64>,
    packets: u32,
    /// Payload of a full packet, in bytes.
    payload: u16,
    class: u8,
    /// The first packet that is not known to have arrived, and the records from it on.
    base: u32,
    sent: VecDeque<Sent>,
    /// Records in flight, and records known to have arrived.
    in_flight: u32,
    known: u32,
    /// The most packets that the receiver said to have.
    counted: u32,
    /// Records in the order of sending: time and packet. Those that are no longer in flight since then are skipped.
    order: VecDeque<(Time, u32)>,
    again: BTreeSet<u32>,
    pub(super) window: Option<Window>,
    pub(super) credit: Option<Account>,
    /// Time-outs since the last ACK of new data, and the time of the ACK that ended the last row of them.
    in_a_row: u8,
    calm_since: Time,
    /// Round trips in a row with nothing but headers, the end of the one that was counted last, and the end of the wait
    /// after it ([`Time::NEVER`]: it does not wait).
    trimmed_rounds: u8,
    round_until: Time,
    resumes_at: Time,
    was_received: bool,
    has_ended: bool,
    pub(super) statistics: SenderStatistics,
}

impl UsePaths for Sender {
    fn use_paths(&mut self, paths: PathList, _stream: impl FnOnce() -> RngStream) {
        self.paths.replace(paths);
    }
}

impl Linked for Sender {
    fn links(&mut self) -> &mut Links {
        &mut self.links
    }
}

impl Sender {
    pub(super) fn new(
        now: Time,
        key: Key,
        paths: PathChooser,
        (length, payload): (Option<u64>, Option<NonZeroU16>),
        class: u8,
        config: &Config,
    ) -> Sender {
        let payload = payload.map_or(config.payload_bytes, NonZeroU16::get);
        let packets = length.map_or(ENDLESS, |length| {
            let count = length.div_ceil(u64::from(payload)).max(1);
            let count = u32::try_from(count).ok().filter(|&count| count < ENDLESS);
            count.expect("a flow with an end has fewer than 2^32 - 1 packets")
        });
        Sender {
            key,
            links: Links::OUTSIDE,
            paths,
            length,
            packets,
            payload,
            class,
            base: 0,
            sent: VecDeque::new(),
            in_flight: 0,
            known: 0,
            counted: 0,
            order: VecDeque::new(),
            again: BTreeSet::new(),
            window: config.control.has_window().then(|| {
                Window::new(now, &config.law, u64::from(payload) + u64::from(Packet::HEADER_BYTES))
            }),
            credit: config.control.credit().map(|rule| Account::new(now, rule)),
            in_a_row: 0,
            calm_since: now,
            trimmed_rounds: 0,
            round_until: now,
            resumes_at: Time::NEVER,
            was_received: false,
            has_ended: false,
            statistics: SenderStatistics::default(),
        }
    }

    fn payload_of(&self, sequence: u32) -> u16 {
        let payload = u64::from(self.payload);
        let before = u64::from(sequence) * payload;
        self.length.map_or(payload, |length| (length - before.min(length)).min(payload)) as u16
    }

    /// Bytes on the wire of a packet.
    fn bytes_of(&self, sequence: u32) -> u64 {
        u64::from(self.payload_of(sequence)) + u64::from(Packet::HEADER_BYTES)
    }

    fn next(&self) -> u32 {
        self.base + self.sent.len() as u32
    }

    fn record(&mut self, sequence: u32) -> Option<&mut Sent> {
        self.sent.get_mut(sequence.checked_sub(self.base)? as usize)
    }

    /// Bytes in flight. The receiver counts packets before an ACK names them: those are not in flight either.
    pub(super) fn in_flight(&self) -> u64 {
        let unnamed = self.counted.saturating_sub(self.base + self.known);
        let packets = u64::from(self.in_flight.saturating_sub(unnamed));
        (packets * self.full_bytes()).saturating_sub(self.short_of_full())
    }

    /// Bytes on the wire of a full packet.
    fn full_bytes(&self) -> u64 {
        u64::from(self.payload) + u64::from(Packet::HEADER_BYTES)
    }

    /// Bytes by which the last packet is shorter than the others, while it is in flight.
    fn short_of_full(&self) -> u64 {
        let last = self.packets - 1;
        match self.sent.get((last - self.base.min(last)) as usize) {
            Some(record) if record.state == State::InFlight => {
                self.full_bytes() - self.bytes_of(last)
            }
            Some(_) | None => 0,
        }
    }

    fn next_to_send(&self) -> Option<u32> {
        let is_near = (self.sent.len() as u32) < WINDOW_LIMIT;
        let new = (self.next() < self.packets && is_near).then(|| self.next());
        self.again.first().copied().or(new).filter(|_| !self.has_ended)
    }

    pub(super) fn is_ready(&self) -> bool {
        let Some(sequence) = self.next_to_send() else { return false };
        if self.resumes_at < Time::NEVER {
            return false;
        }
        if self.credit.as_ref().is_some_and(|credit| !credit.may_send()) {
            return false;
        }
        let Some(window) = &self.window else { return true };
        let in_flight = self.in_flight();
        in_flight == 0 || in_flight + self.bytes_of(sequence) <= window.bytes()
    }

    /// Bytes on the wire that were never sent, and those to be resent.
    fn backlog(&self) -> (u64, u64) {
        let last = self.packets - 1;
        let short = self.full_bytes() - self.bytes_of(last);
        let bytes = |packets: u64, has_last: bool| {
            packets * self.full_bytes() - if has_last { short } else { 0 }
        };
        let new = self.packets - self.next();
        let again = self.again.len() as u64;
        (bytes(new.into(), new > 0), bytes(again, self.again.last() == Some(&last)))
    }

    /// Returns the target of a packet that goes now, among `active` flows that may send; 0 without credit.
    fn target(&mut self, now: Time, active: u32, config: &Config) -> u32 {
        let (new, again) = self.backlog();
        let packet = self.full_bytes();
        let (Some(credit), Some(rule)) = (&mut self.credit, config.control.credit()) else {
            return 0;
        };
        let window = self.window.as_ref().map(|window| window.bytes() + packet);
        credit.target(now, &Wanted { new, again, window, packet, active }, rule)
    }

    /// Sends the next packet. `active` flows may send, this one included. Returns whether another may follow.
    ///
    /// # Panics
    /// Panics if the flow has nothing to send.
    pub(super) fn send(
        &mut self,
        now: Time,
        host: HostId,
        active: u32,
        config: &Config,
    ) -> (Packet, bool) {
        debug_assert!(self.is_ready(), "only flows that may send have a turn");
        let sequence = self.next_to_send().expect("a flow with a turn has a packet");
        let path = self.paths.next_numbered();
        let is_resent = self.again.remove(&sequence);
        let attempt = if is_resent {
            let record = self.record(sequence).expect("a packet to resend has a record");
            let attempt = (record.attempt + 1) & 3;
            let was_trimmed = record.state == State::Trimmed;
            *record = Sent { at: now, path, attempt, state: State::InFlight };
            self.statistics.resent_trimmed += u64::from(was_trimmed);
            self.statistics.resent_timeout += u64::from(!was_trimmed);
            attempt
        } else {
            self.sent.push_back(Sent { at: now, path, attempt: 0, state: State::InFlight });
            0
        };
        self.in_flight += 1;
        self.order.push_back((now, sequence));
        self.statistics.packets_sent += 1;
        let is_last = self.length.is_some() && sequence + 1 == self.packets;
        let service = if config.trims { Service::Trimmable } else { Service::Droppable };
        let length = self.payload_of(sequence);
        let mut packet = self.key.data(host, path.1, sequence, length, is_last, service);
        if let Some(credit) = &mut self.credit {
            credit.spend(packet.wire_bytes.into());
            packet.header.extra =
                Header::data_extra(length, self.target(now, active, config) as u16);
        }
        let syn = if self.was_received { 0 } else { Flags::SYN };
        // uet-htsim: nothing more will follow soon, or it is sent again. Chosen: nor may a narrow window wait for packets
        // that it will not send, should it shrink.
        let two_acks = 2 * u64::from(config.ack_every);
        let is_narrow = self.window.as_ref().is_some_and(|window| window.bytes() < two_acks);
        let is_ready = self.is_ready();
        let asks = if is_ready && !is_narrow && !is_resent { 0 } else { ACK_REQUEST };
        let flags = packet.header.flags.with(syn | asks);
        packet.header.flags = flags.with_class(self.class).with_attempt(attempt);
        packet.marks = Packet::MARK_ECT;
        (packet, is_ready)
    }

    /// Handles an ACK. Returns whether it ends the flow.
    pub(super) fn acknowledged(&mut self, now: Time, packet: &Packet, config: &Config) -> bool {
        self.was_received = true;
        if self.has_ended {
            return false;
        }
        let header = &packet.header;
        let is_echo = !header.flags.contains(NO_ECHO);
        let echo = whole((header.sequence >> 16) as u16, self.base);
        let until = whole(header.sequence as u16, self.base);
        let beyond = header.extra >> 16;
        let next = self.next();
        if until > next || until.saturating_add(beyond) > next || is_echo && echo >= next {
            return false;
        }
        let attempt = header.flags.attempt();
        let echoed = self.record(echo).filter(|record| is_echo && record.attempt == attempt);
        let echoed = echoed.map(|record| (record.at, record.path));
        let first = bitmap_base(echo, until);
        for place in (0..BITMAP).filter(|place| header.extra >> place & 1 != 0) {
            self.arrived(first.wrapping_add(place));
        }
        if is_echo {
            self.arrived(echo);
        }
        if let Some(credit) = &mut self.credit {
            credit.answered(is_echo);
        }
        while self.base < until {
            self.arrived(self.base);
            self.known -= 1;
            self.sent.pop_front();
            self.base += 1;
        }
        self.skip_known();
        let counted = until + beyond;
        let new = counted.saturating_sub(self.counted);
        if new > 0 {
            self.counted = counted;
            (self.trimmed_rounds, self.resumes_at) = (0, Time::NEVER);
            if self.in_a_row > 0 {
                (self.in_a_row, self.calm_since) = (0, now);
            }
        }
        let bytes = u64::from(new) * self.full_bytes();
        let is_marked = packet.marks & Packet::MARK_ECE != 0;
        if let Some((_, path)) = echoed {
            self.paths.learn(now, path, arrived_as(is_marked));
        }
        let round_trip = echoed.map(|(at, _)| now.saturating_since(at));
        let counts = (bytes, self.in_flight());
        if let Some(window) = &mut self.window {
            window.acknowledged(now, &config.law, counts, round_trip, is_marked);
        }
        self.skip_answered();
        self.has_ended = self.base >= self.packets;
        if self.has_ended {
            self.order = VecDeque::new();
        }
        self.has_ended
    }

    /// Pops records that the bitmap made known at the beginning.
    fn skip_known(&mut self) {
        while self.sent.front().is_some_and(|record| record.state == State::Arrived) {
            self.sent.pop_front();
            self.known -= 1;
            self.base += 1;
        }
    }

    /// Marks a packet as arrived.
    fn arrived(&mut self, sequence: u32) {
        let Some(record) = self.record(sequence) else { return };
        match core::mem::replace(&mut record.state, State::Arrived) {
            State::Arrived => return,
            State::InFlight => self.in_flight -= 1,
            State::Trimmed | State::Lost => {
                self.again.remove(&sequence);
            }
        }
        self.known += 1;
    }

    /// Handles a NACK, or a header that a switch returned.
    pub(super) fn trimmed(&mut self, now: Time, packet: &Packet, config: &Config) {
        let (sequence, attempt) = (packet.header.sequence, packet.header.flags.attempt());
        let (bytes, in_flight) = (self.bytes_of(sequence), self.in_flight());
        self.was_received |= packet.header.kind == Kind::Nack;
        let Some(record) = self.record(sequence) else { return };
        if record.state != State::InFlight || record.attempt != attempt {
            return;
        }
        record.state = State::Trimmed;
        let (at, path) = (record.at, record.path);
        self.in_flight -= 1;
        self.count_trimmed_round(now, config);
        if packet.header.kind == Kind::Nack
            && let Some(window) = &mut self.window
        {
            window.sample(now.saturating_since(at), &config.law);
        }
        // uet-htsim: what the last hop trimmed, another path would not have saved.
        let is_last_hop = packet.marks & Packet::MARK_LAST_HOP != 0;
        let feedback = match is_last_hop {
            false => Feedback::Trimmed,
            true => arrived_as(packet.marks & Packet::MARK_ECE != 0),
        };
        self.paths.learn(now, path, feedback);
        self.again.insert(sequence);
        if let Some(credit) = &mut self.credit {
            credit.stop_speculating();
        }
        match &mut self.window {
            // uet-htsim: the last hop's queue is the receiver's business.
            Some(window) if is_last_hop && self.credit.is_some() => {
                window.heard_of_trim(now, &config.law, bytes, in_flight);
            }
            Some(window) => window.trimmed(now, &config.law, bytes, in_flight),
            None => {}
        }
        self.skip_answered();
    }

    /// Counts a round trip in which packets were trimmed and none arrived whole. Headers go before data, and each NACK
    /// brings the next packet, so that the headers of many flows can fill a link for good. After some such round trips a
    /// flow waits, longer each time.
    fn count_trimmed_round(&mut self, now: Time, config: &Config) {
        // A window bounds what is in flight to a round trip; credit does not.
        let is_over = match self.window {
            Some(_) => self.in_flight == 0,
            None => now >= self.round_until,
        };
        if !is_over {
            return;
        }
        self.round_until = now.saturating_add(config.law.base);
        self.trimmed_rounds = self.trimmed_rounds.saturating_add(1);
        if let Some(doublings) = self.trimmed_rounds.checked_sub(TRIMMED_ROUNDS) {
            let wait = doubled(config.law.base, doublings.min(MAX_DOUBLINGS));
            // A half to one and a half of the wait, by the time of the NACK, so that flows do not all come back together.
            let drawn = now.as_ps().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
            let spread = (u128::from(wait.as_ps()) * (u128::from(drawn) + (1 << 31))) >> 32;
            self.resumes_at = now.saturating_add(TimeDelta::from_ps(spread as u64));
        }
    }

    /// Drops records that were answered from the beginning of the order of sending.
    fn skip_answered(&mut self) {
        while let Some(&(at, sequence)) = self.order.front() {
            let is_in_flight = self
                .record(sequence)
                .is_some_and(|record| record.state == State::InFlight && record.at == at);
            if is_in_flight {
                return;
            }
            self.order.pop_front();
        }
    }

    /// Handles a PULL.
    pub(super) fn pulled(&mut self, now: Time, packet: &Packet, config: &Config) {
        if let (Some(credit), Some(rule)) = (&mut self.credit, config.control.credit()) {
            self.was_received = true;
            credit.pulled(now, packet.header.sequence, rule);
        }
    }

    /// The credit of a flow that has something to send and may not for want of it.
    fn lacking(&self) -> Option<&Account> {
        let credit = self.credit.as_ref().filter(|credit| !credit.may_send());
        credit.filter(|_| self.next_to_send().is_some())
    }

    /// Returns an RTS, if packets were found lost or the time for it has come, and there is no credit.
    pub(super) fn ask(
        &mut self,
        now: Time,
        host: HostId,
        has_lost: bool,
        active: u32,
        config: &Config,
    ) -> Option<Packet> {
        let credit = self.lacking()?;
        let may_ask = has_lost && credit.may_ask(now, config.law.base);
        if !may_ask && credit.asks_at(config.rto, config.rto_doublings) > now {
            return None;
        }
        let target = self.target(now, active, config);
        self.credit.as_mut().expect("it lacks credit").asked();
        self.statistics.rts_sent += 1;
        let syn = if self.was_received { 0 } else { Flags::SYN };
        let header = Header {
            kind: Kind::Pull,
            flags: Flags::default().with(Flags::FROM_OPENER | syn),
            path: self.paths.next_numbered().1,
            connection: self.key.connection,
            sequence: target,
            extra: 0,
        };
        Some(Packet::control(host, self.key.peer, header))
    }

    /// The time at which the oldest packet in flight counts as lost, or at which a flow without credit asks for some.
    pub(super) fn deadline(&self, config: &Config) -> Time {
        if self.has_ended {
            return Time::NEVER;
        }
        let oldest = self.order.front();
        let lost_at = oldest.map_or(Time::NEVER, |&(at, _)| self.lost_at(at, config));
        let lost_at = lost_at.min(self.resumes_at);
        match self.lacking() {
            Some(credit) => lost_at.min(credit.asks_at(config.rto, config.rto_doublings)),
            None => lost_at,
        }
    }

    /// The time at which a packet sent `at` counts as lost. A time-out that becomes short again begins anew, so that
    /// none lies in the past.
    fn lost_at(&self, at: Time, config: &Config) -> Time {
        let timeout = match self.in_a_row {
            0 => config.rto,
            row => {
                // A time-out below the round trip would otherwise resend every packet before its ACK comes.
                let late = row.saturating_sub(EQUAL_TIMEOUTS).min(MAX_DOUBLINGS);
                doubled(config.rto, row.min(config.rto_doublings).max(late))
            }
        };
        at.max(self.calm_since).saturating_add(timeout)
    }

    /// Takes packets that have been in flight for the time-out for lost. Returns whether there were any.
    pub(super) fn expire(&mut self, now: Time, config: &Config) -> bool {
        if self.resumes_at <= now {
            self.resumes_at = Time::NEVER;
        }
        let mut has_lost = false;
        while let Some(&(at, sequence)) = self.order.front().filter(|_| !self.has_ended) {
            if self.lost_at(at, config) > now {
                break;
            }
            let bytes = self.bytes_of(sequence);
            if let Some(record) = self.record(sequence) {
                record.state = State::Lost;
                let path = record.path;
                self.paths.learn(now, path, Feedback::TimedOut);
            }
            self.in_flight -= 1;
            self.again.insert(sequence);
            if let Some(window) = &mut self.window {
                window.timed_out(&config.law, bytes);
            }
            has_lost = true;
            self.order.pop_front();
            self.skip_answered();
        }
        if has_lost {
            self.statistics.timeouts += 1;
            self.in_a_row = self.in_a_row.saturating_add(1);
        }
        has_lost
    }
}

/// Returns the feedback for the path of a packet that arrived, or that the last hop trimmed.
fn arrived_as(is_marked: bool) -> Feedback {
    if is_marked { Feedback::Marked } else { Feedback::Good }
}
