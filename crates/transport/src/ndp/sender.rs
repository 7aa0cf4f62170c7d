//! The send stream of a connection (NDP 3.2): it pushes a first window, then sends as it is pulled.
//!
//! # Credit
//! Everything that may be sent is a credit: the first window, pulls, and immediate retransmissions after a time-out or
//! a return. So one rule decides what goes next: first the oldest retransmission, then new data. A credit that finds
//! nothing to send is banked. A PULL that overtakes its NACK finds nothing, and the NACK must find the credit;
//! otherwise the packet waits for a PULL that has already come. For study: [`Config::without_credit_bank`].
//!
//! # Returned headers
//! NDP 3.2.4 resends a returned packet at once
//! 1. if no PULL is expected: all ACKs and NACKs were pulled, and no packets of the first window are still out. Without
//!    the latter the first returns of an incast would reach senders without any answer, and all be resent: the echo
//!    that the rule avoids;
//! 2. if all other packets of the first window were returned. With the reading above, 1. says this when the last one
//!    comes back;
//! 3. if most recent packets were ACKed: the network is asymmetric. Recent are the last 16 answers; fewer say nothing.
//!
//! Otherwise it waits, before all others, for a PULL. It takes another packet's credit, so each return costs the
//! connection one credit; the last one is never lost, because then 1. holds. Owed pulls may be overestimated (the
//! receiver drops superfluous ones): the receiver then repeats its last PULL, which says that it holds no other.
//!
//! # Timers
//! Only a packet in flight times out. A packet that waits for its PULL is resent only by the backstop, which counts
//! from the last packet of the connection and is long while pulls are owed. Only a PULL ends its doubling. If any
//! packet did, the answers to its own retransmissions would, and in an incast pulled more slowly than the backstop each
//! sender would resend at the first rate.
//!
//! While data is left, credit, packets in flight and expected answers are together never zero: [`Sender::reconcile`]
//! gives a credit otherwise. A packet of the first window that timed out counts as expected until it is answered. If
//! its credit sends a packet that was returned before, and that is returned again, nothing is in flight and no pull is
//! owed. The short backstop ends this.

use core::num::NonZeroU16;

use trimline_packet::{Flags, Header, HostId, Kind, Packet, PathId, Service, Time, TimeDelta};

use super::config::{Config, PathPenalty, SenderProgress, SenderStatistics};
use super::paths::{NO_PATH, Paths};
use super::round_trips::{Growth, Rto};
use super::send_scheduler::Queued;
use super::window::{Record, Sample, State, Window};
use crate::Key;
use crate::arrivals::WINDOW_LIMIT;
use crate::timers::{doubled, set_back};
use alloc::boxed::Box;

const ENDLESS: u64 = u64::MAX;

/// Answers that condition 3 of NDP 3.2.4 considers.
const RECENT: u32 = 16;

/// Max doublings of the backstop while pulls are owed.
const BACKSTOP_DOUBLINGS: u8 = 10;

#[derive(Debug)]
pub(super) struct Sender {
    window: Window,
    /// Payload bytes not yet in a packet.
    unsent: u64,
    /// Packets that may be sent.
    credit: u32,
    /// The highest pull counter received.
    pull_counter: u32,
    /// ACKs and NACKs: the pull counter that the receiver will reach.
    answers: u32,
    /// Unsent packets of the first window, if there is data.
    first_window: u16,
    /// Unanswered packets of the first window.
    unheard: u16,
    /// Packets of later data that may still be pushed.
    push: u16,
    /// The last answers, newest lowest, 1 for an ACK; a 1 above the oldest.
    recent: u32,
    /// Time of the last packet received, or of opening.
    last_received: Time,
    service_port: u16,
    /// Payload of a full packet.
    pub(super) payload: u16,
    class: u8,
    /// Expiries of the backstop since the last PULL.
    backstops: u8,
    /// Aeolus: the path of the next probe, or [`NO_PATH`].
    probe: u16,
    /// An empty stream owes one empty packet.
    empty: bool,
    /// The application knows that everything was ACKed.
    pub(super) acknowledged: bool,
    paths: Paths,
    /// Growth beyond the first window, with [`Config::follows_path`].
    growth: Option<Box<Growth>>,
    pub(super) scheduler: Queued,
    pub(super) statistics: SenderStatistics,
}

impl Sender {
    pub(super) const fn progress(&self) -> SenderProgress {
        let (in_flight, waiting) = (self.window.in_flight(), self.window.waiting());
        SenderProgress { in_flight, waiting, pulls: self.pull_counter, credit: self.credit }
    }

    pub(super) fn new(
        now: Time,
        config: &Config,
        payload: Option<NonZeroU16>,
        length: Option<u64>,
        service_port: u16,
        class: u8,
        paths: Paths,
    ) -> Sender {
        let payload = payload.map_or(config.payload_bytes.max(1), NonZeroU16::get);
        let packets = length.map_or(u64::MAX, |length| length.div_ceil(u64::from(payload)));
        let window = config.window(payload);
        let expected = packets.min(u64::from(window)) as u32;
        Sender {
            window: Window::new(expected),
            unsent: length.unwrap_or(ENDLESS),
            // NDP 3.2-a: the sender sends a full window of data without waiting for a response. A flow shorter than a
            // window gets no credit for the rest: a trimmed packet waits for its PULL.
            credit: expected.clamp(1, WINDOW_LIMIT),
            pull_counter: 0,
            answers: 0,
            first_window: window.clamp(1, WINDOW_LIMIT) as u16,
            unheard: 0,
            push: 0,
            recent: 1,
            last_received: now,
            service_port,
            payload,
            class: class & 3,
            backstops: 0,
            probe: NO_PATH,
            empty: length == Some(0),
            acknowledged: false,
            paths,
            growth: config.follows_path.map(|_| Box::new(Growth::NONE)),
            scheduler: Queued::PUSHING,
            statistics: SenderStatistics::default(),
        }
    }

    #[inline]
    fn has_new_data(&self) -> bool {
        self.unsent > 0 || self.empty
    }

    #[inline]
    fn has_something_to_send(&self) -> bool {
        self.window.waiting() > 0
            || self.has_new_data() && !self.window.is_full()
            || self.is_probing() && self.window.unacked() > 0
    }

    /// Returns whether a packet may go now.
    #[inline]
    pub(super) fn ready(&self) -> bool {
        self.credit > 0 && self.has_something_to_send()
    }

    #[inline]
    pub(super) const fn is_probing(&self) -> bool {
        self.probe != NO_PATH
    }

    /// Drops the probe if its packets were all answered while it waited, and keeps its credit for later data. Returns whether
    /// it was dropped.
    #[cold]
    pub(super) fn drops_probe(&mut self) -> bool {
        let is_late = self.window.unacked() == 0;
        if is_late {
            self.probe = NO_PATH;
        }
        is_late
    }

    #[inline]
    pub(super) const fn credit(&self) -> u32 {
        self.credit
    }

    #[inline]
    pub(super) fn complete(&self) -> bool {
        self.window.unacked() == 0 && !self.has_new_data()
    }

    /// NDP 3.2.4-i, 3.2.4-j: returns whether a PULL is on its way, waits in the receiver's queue, or will be queued
    /// when outstanding packets of the first window arrive.
    fn expects_pulls(&self) -> bool {
        self.answers.wrapping_sub(self.pull_counter) as i32 > 0 || self.unheard > 0
    }

    /// NDP 3.2.4-k: returns whether most recent packets were ACKed.
    fn mostly_acked(&self) -> bool {
        self.recent >> RECENT != 0 && (self.recent & ((1 << RECENT) - 1)).count_ones() > RECENT / 2
    }

    #[inline]
    pub(super) const fn waiting(&self) -> u32 {
        self.window.waiting()
    }

    pub(super) fn path_restorations(&self) -> u64 {
        self.paths.restorations()
    }

    #[inline]
    fn remember(&mut self, acked: bool) {
        let full = self.recent & 1 << RECENT;
        self.recent = self.recent << 1 & ((2 << RECENT) - 1) | full | u32::from(acked);
    }

    /// The window in packets: the first one and its growth.
    #[inline]
    pub(super) fn window(&self, config: &Config) -> u32 {
        config.window(self.payload) + self.growth.as_ref().map_or(0, |growth| growth.extra)
    }

    /// Returns the next packet, sent now, and its deadline. With `prefers_new` new data goes first.
    ///
    /// # Panics
    /// Panics unless [`Sender::ready`].
    #[inline]
    pub(super) fn transmit(
        &mut self,
        now: Time,
        config: &Config,
        host: HostId,
        key: &Key,
        prefers_new: bool,
    ) -> (Packet, Time) {
        if self.paths.round_ended() {
            let removed = self.paths.permute(now, config.path_penalty.as_ref());
            self.statistics.path_removals += u64::from(removed);
        }
        assert!(self.credit > 0, "only a half with credit transmits");
        self.credit -= 1;
        self.statistics.packets_sent += 1;
        // NDP 3.2-k: any packets queued for retransmission are sent first, followed by new data.
        let is_new = self.window.waiting() == 0 || prefers_new && self.has_new_data();
        let (sequence, record) =
            if is_new { self.push_new(now, config) } else { self.retransmit(now) };
        // NDP 3.2-m: when the sender runs out of data to send, it marks the last packet.
        let last = !self.has_new_data() && sequence.wrapping_add(1) == self.window.next();
        let mut flags = Flags::default().with_class(self.class).with_attempt(record.attempt());
        // NDP 3.2.2-a: every packet of the first window can open the connection.
        let mut marks = 0;
        if record.first_window() {
            flags = flags.with(Flags::SYN);
            if is_new && sequence < config.marked {
                marks = Packet::MARK_UNSCHEDULED;
            }
        }
        if last {
            flags = flags.with(Flags::LAST);
        }
        if key.opened_here {
            flags = flags.with(Flags::FROM_OPENER);
        }
        let packet = Packet {
            source: host,
            destination: key.peer,
            header: Header {
                kind: Kind::Data,
                flags,
                path: self.paths.id(record.path),
                connection: key.connection,
                sequence,
                extra: Header::data_extra(record.length, self.service_port),
            },
            wire_bytes: record.length + Packet::HEADER_BYTES,
            service: Service::Trimmable.into(),
            marks,
        };
        (packet, now.saturating_add(doubled(config.rto, record.timeouts())))
    }

    /// Aeolus: returns a probe that asks which unasked packets arrived, by the last one's number, on its path and in
    /// its queues. It is not dropped as that may be.
    ///
    /// # Panics
    /// Panics unless [`Sender::is_probing`].
    pub(super) fn probe(&mut self, host: HostId, key: &Key) -> Packet {
        assert!(self.is_probing(), "a probe is due");
        let path = core::mem::replace(&mut self.probe, NO_PATH);
        self.credit -= 1;
        let mut flags = Flags::default().with(Flags::SYN | Flags::PULL).with_class(self.class);
        if !self.has_new_data() {
            flags = flags.with(Flags::LAST);
        }
        if key.opened_here {
            flags = flags.with(Flags::FROM_OPENER);
        }
        Packet {
            source: host,
            destination: key.peer,
            header: Header {
                kind: Kind::Data,
                flags,
                path: self.paths.id(path),
                connection: key.connection,
                sequence: self.window.next().wrapping_sub(1),
                extra: Header::data_extra(0, self.service_port),
            },
            wire_bytes: Packet::HEADER_BYTES,
            service: Service::Droppable.into(),
            marks: 0,
        }
    }

    #[inline]
    fn push_new(&mut self, now: Time, config: &Config) -> (u32, Record) {
        let length = self.unsent.min(u64::from(self.payload)) as u16;
        if self.unsent != ENDLESS {
            self.unsent -= u64::from(length);
        }
        self.empty = false;
        let first_window = self.first_window > 0;
        let path = self.paths.choose(NO_PATH);
        if first_window {
            self.first_window -= 1;
            self.unheard += 1;
            if config.aeolus && length > 0 {
                self.end_of_unasked(path);
            }
        }
        let record = Record::new(now, path, length, first_window);
        (self.window.push(record), record)
    }

    /// Aeolus: lets a probe follow the last unasked packet, on its path.
    #[cold]
    fn end_of_unasked(&mut self, path: u16) {
        if self.first_window == 0 || !self.has_new_data() {
            self.probe = path;
            self.credit += 1;
        }
    }

    #[inline(never)]
    fn retransmit(&mut self, now: Time) -> (u32, Record) {
        let (sequence, cause) = self.window.retransmit().expect("a packet waits");
        let record = self.window.record(sequence).expect("a waiting packet is in the window");
        let avoid = match cause {
            State::Nacked => {
                self.statistics.retransmissions_nack += 1;
                NO_PATH
            }
            // NDP 3.2.4-m: on another path than the one that was full.
            State::Returned => {
                self.statistics.retransmissions_return += 1;
                record.path
            }
            // NDP 3.2.3-c: a lost packet is always resent on a different path.
            _ => {
                self.statistics.retransmissions_timeout += 1;
                record.path
            }
        };
        record.next_attempt();
        record.sent_at = now;
        record.path = self.paths.choose(avoid);
        (sequence, *record)
    }

    pub(super) fn set_back(&mut self, by: TimeDelta) {
        set_back(&mut self.last_received, by);
        self.window.set_back(by);
        if let Some(scoreboard) = self.paths.scoreboard() {
            scoreboard.set_back(by);
        }
    }

    #[inline]
    pub(super) fn receive(&mut self, now: Time) {
        self.last_received = now;
    }

    /// Returns the round-trip news in an ACK or NACK, before the window changes.
    #[cold]
    #[inline(never)]
    pub(super) fn sample(&mut self, header: &Header) -> Option<Sample> {
        let (record, attempt) = (self.window.record(header.sequence)?, header.flags.attempt());
        let is_news = match header.kind {
            Kind::Ack => record.state != State::Acked,
            Kind::Nack => record.state == State::InFlight && record.attempt() == attempt,
            Kind::Data | Kind::Pull | Kind::Reset => false,
        };
        is_news.then(|| record.sample(attempt))?
    }

    pub(super) fn timeouts(&mut self, sequence: u32) -> u8 {
        self.window.record(sequence).map_or(0, |record| record.timeouts())
    }

    /// Handles an ACK; ignores packets never sent or already ACKed.
    #[inline]
    pub(super) fn acked(&mut self, sequence: u32, attempt: u8) {
        let Some(record) = self.window.record(sequence) else { return };
        let (state, path, same) = (record.state, record.path, record.attempt() == attempt);
        if state == State::Acked {
            return;
        }
        self.unheard -= u16::from(record.received());
        if state == State::InFlight {
            self.window.acked(sequence);
        } else {
            self.window.acked_while_waiting(sequence);
            if state == State::TimedOut {
                // The credit was given to resend it.
                self.credit = self.credit.saturating_sub(1);
            }
        }
        self.answers = self.answers.wrapping_add(1);
        self.remember(true);
        // NDP 3.2.3-a: for the path that this attempt took.
        if let (true, Some(judges)) = (same, self.paths.judges()) {
            judges.ack(self.last_received, path);
        }
    }

    /// Handles a NACK: the packet waits behind the others for its PULL (NDP 3.2-j).
    #[inline]
    pub(super) fn nacked(&mut self, sequence: u32, attempt: u8) {
        let Some(record) = self.window.record(sequence) else { return };
        // The receiver queued a pull for the header, whatever has become of the packet since.
        self.answers = self.answers.wrapping_add(1);
        if record.state != State::InFlight || record.attempt() != attempt {
            return;
        }
        let path = record.path;
        self.unheard -= u16::from(record.received());
        self.window.wait_behind(sequence, State::Nacked);
        self.remember(false);
        if let Some(judges) = self.paths.judges() {
            judges.nack(self.last_received, path);
        }
    }

    /// Handles a measured round trip, with the minimum to the peer.
    #[cold]
    pub(super) fn measured(
        &mut self,
        header: &Header,
        sample: (TimeDelta, TimeDelta),
        max_window: u32,
        config: &Config,
    ) {
        let window = self.window(config);
        let Some(growth) = &mut self.growth else { return };
        let (next, in_flight) = (self.window.next(), self.window.in_flight());
        growth.measured(header.sequence, next, in_flight, sample);
        if header.kind == Kind::Nack {
            growth.debt += u32::from(growth.gives_up(header.sequence, window, self.window.next()));
            return;
        }
        let was_sent = self.credit <= self.window.in_flight() / 4;
        let rode = header.flags.contains(Flags::PULL);
        if rode && was_sent && window < max_window && growth.grows(window) {
            self.credit = (self.credit + 1).min(WINDOW_LIMIT);
        }
    }

    /// Handles a returned header (NDP 3.2.4).
    pub(super) fn returned(&mut self, sequence: u32, attempt: u8) {
        self.statistics.returns += 1;
        let Some(record) = self.window.record(sequence) else { return };
        if record.state != State::InFlight || record.attempt() != attempt {
            return;
        }
        let path = record.path;
        self.unheard -= u16::from(record.received());
        self.window.wait_before(sequence, State::Returned);
        self.remember(false);
        if let Some(judges) = self.paths.judges() {
            judges.nack(self.last_received, path);
        }
        if !self.expects_pulls() || self.mostly_acked() {
            self.credit = (self.credit + 1).min(WINDOW_LIMIT);
        }
    }

    /// Queues the first window again, with its credit: the receiver kept nothing of it. Does nothing after an answer or
    /// pull.
    pub(super) fn renew(&mut self) {
        if self.answers > 0 || self.pull_counter > 0 {
            return;
        }
        // Newest first, so that the oldest goes first.
        for place in self.window.newest_first() {
            let Some(record) = self.window.record(place) else { continue };
            if record.state == State::InFlight {
                self.unheard -= u16::from(record.received());
                self.window.wait_before(place, State::Returned);
                self.credit = (self.credit + 1).min(WINDOW_LIMIT);
            }
        }
    }

    #[inline]
    pub(super) fn pulled(&mut self, counter: u32) {
        let rise = counter.wrapping_sub(self.pull_counter);
        if rise == 0 {
            // NDP 3.2.1-d: the receiver repeats its last PULL: it holds no other one.
            self.answers = self.pull_counter;
        } else if rise <= WINDOW_LIMIT {
            // NDP 3.2.1-a, 3.2.1-b: as many packets as the counter rose by. What finds nothing is banked.
            self.pull_counter = counter;
            self.backstops = 0;
            self.push = self.push.saturating_sub(rise as u16);
            let rise = rise - self.forfeit(rise);
            self.credit = (self.credit + rise).min(WINDOW_LIMIT);
        }
        // A counter that fell was overtaken; one that rose by more than any window is foreign.
    }

    /// Returns the pulls forfeited for packets that the window gave up. Without new data it is 0: the receiver pulls
    /// only packets that it lacks.
    #[inline]
    fn forfeit(&mut self, pulls: u32) -> u32 {
        let has_new_data = self.has_new_data();
        let Some(growth) = self.growth.as_mut().filter(|growth| has_new_data && growth.debt > 0)
        else {
            return 0;
        };
        let forfeited = growth.debt.min(pulls);
        growth.debt -= forfeited;
        forfeited
    }

    /// Handles the low half of a pull counter.
    pub(super) fn pulled_low(&mut self, low: u16) {
        let rise = low.wrapping_sub(self.pull_counter as u16) as i16;
        if let Ok(rise) = u32::try_from(rise) {
            self.pulled(self.pull_counter.wrapping_add(rise));
        }
    }

    pub(super) fn append(&mut self, now: Time, length: u64, config: &Config, rto: Rto) {
        if length == 0 || self.unsent == ENDLESS {
            return;
        }
        // NDP 3.2-p: what comes after a packet marked LAST is pushed rather than pulled.
        if !self.has_new_data() {
            let window = self.window(config);
            let is_idle = self.window.unacked() == 0
                && now >= self.last_received.saturating_add(rto.after(0));
            if let Some(growth) = self.growth.as_mut().filter(|_| is_idle) {
                growth.begin_anew(window);
            }
            self.push = self.window(config).clamp(1, WINDOW_LIMIT) as u16;
            self.scheduler.push();
            if self.window.unacked() == 0 {
                (self.credit, self.probe) = (0, NO_PATH);
            }
        }
        self.unsent = self.unsent.saturating_add(length).min(ENDLESS - 1);
        if self.push == 0 && self.answers == 0 {
            // Without an answer this is still the first window: it takes the new data too.
            let packets = self.unsent.div_ceil(u64::from(self.payload));
            let first_window = u64::from(self.first_window).min(packets) as u32;
            self.credit = self.credit.max(first_window);
        }
        self.acknowledged = false;
        self.grant_push(config);
    }

    /// Gives the credit that no PULL will bring, after each packet received.
    #[inline]
    pub(super) fn reconcile(&mut self, config: &Config) {
        if self.push > 0 {
            self.grant_push(config);
        }
        if !config.credit_bank {
            return self.discard_credit();
        }
        // NDP 3.2.4-l, condition 1, for packets that came back while PULLs were still expected: the
        // last PULL may have overtaken the answer that it belonged to.
        if self.credit == 0
            && self.window.in_flight() == 0
            && !self.expects_pulls()
            && self.has_something_to_send()
        {
            self.credit = 1;
        }
    }

    /// Without a bank: discards superfluous credit.
    #[cold]
    fn discard_credit(&mut self) {
        self.credit = u64::from(self.credit).min(self.sendable()) as u32;
    }

    fn sendable(&self) -> u64 {
        let new = self.unsent.div_ceil(u64::from(self.payload)) + u64::from(self.empty);
        new + u64::from(self.window.waiting()) + u64::from(self.is_probing())
    }

    /// Pushes later data up to a window of unACKed packets. A receiver that knows LAST drops its pulls, so each ACK may
    /// have to make room for one more. Only present data gets credit: empty turns would delay the next message's.
    fn grant_push(&mut self, config: &Config) {
        let out = self.window.unacked() + self.credit;
        let room = self.window(config).saturating_sub(out).min(self.push.into());
        let missing = self.sendable().saturating_sub(self.credit.into());
        let grant = u64::from(room).min(missing) as u32;
        self.push -= grant as u16;
        self.credit += grant;
    }

    pub(super) fn classify(&mut self, class: u8) {
        self.class = class & 3;
    }

    pub(super) fn use_paths(&mut self, paths: &[PathId], penalty: Option<&PathPenalty>) {
        self.paths.replace(paths, penalty);
    }

    pub(super) fn avoid(&mut self, path: PathId, until: Time) {
        self.paths.avoid(path, until);
    }

    /// Ends the data; an endless stream ends here.
    pub(super) fn finish(&mut self) {
        if self.unsent == ENDLESS {
            self.unsent = 0;
        }
    }

    pub(super) fn abandon(&mut self) {
        self.unsent = 0;
        self.empty = false;
        self.credit = 0;
        self.push = 0;
        self.unheard = 0;
        self.probe = NO_PATH;
        self.window.clear();
    }

    /// Resends what timed out. Returns the next deadline; [`Time::NEVER`] if the next packet will arm it.
    pub(super) fn expire(&mut self, now: Time, config: &Config, rto: Rto) -> Time {
        let mut earliest = Time::NEVER;
        if self.window.in_flight() > 0 {
            // Newest first, so that the oldest ends up in front of the retransmission queue.
            for sequence in self.window.newest_first() {
                let Some(record) = self.window.record(sequence) else { continue };
                if record.state != State::InFlight {
                    continue;
                }
                // NDP 3.2-s: the time-out backs off with each one in a row.
                let due = record.sent_at.saturating_add(rto.after(record.timeouts()));
                if due > now {
                    earliest = earliest.min(due);
                    continue;
                }
                record.timed_out();
                let path = record.path;
                let (window, next) = (self.window(config), self.window.next());
                // The last packet in flight has no other whose pull would bring it.
                let others = self.window.in_flight() > 1;
                let growth = self.growth.as_mut().filter(|_| others);
                if growth.is_some_and(|growth| growth.gives_up(sequence, window, next)) {
                    self.window.wait_before(sequence, State::GivenUp);
                } else {
                    self.window.wait_before(sequence, State::TimedOut);
                    self.credit = (self.credit + 1).min(WINDOW_LIMIT);
                }
                self.statistics.timeouts += 1;
                if let Some(judges) = self.paths.judges() {
                    judges.loss(now, path);
                }
            }
        }
        if self.window.in_flight() > 0 || self.ready() || self.complete() {
            return earliest;
        }
        // NDP 3.2-t: what waits for its PULL is resent by this backstop alone.
        let owed = self.answers.wrapping_sub(self.pull_counter) as i32 > 0;
        let interval = if owed {
            doubled(config.backstop_owed, self.backstops)
        } else {
            config.backstop_unowed
        };
        let due = self.last_received.saturating_add(interval);
        if now < due {
            return due;
        }
        self.backstops = (self.backstops + u8::from(owed)).min(BACKSTOP_DOUBLINGS);
        self.statistics.timeouts += 1;
        self.credit = 1;
        Time::NEVER
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ndp::tests::{PENALTY, config};
    use crate::{RngStream, Side};
    use alloc::vec::Vec;
    use rand_xoshiro::rand_core::SeedableRng;
    use trimline_packet::ConnectionId;

    /// NDP 3.2.3-a.
    #[test]
    fn a_late_ack_of_the_first_attempt_does_not_judge_the_path_of_the_second() {
        let config = Config { path_penalty: Some(PENALTY), ..config() };
        let list = [PathId::new(0), PathId::new(1)];
        let paths = Paths::new(&list, RngStream::seed_from_u64(1), Some(&PENALTY));
        let mut sender = Sender::new(Time::ZERO, &config, None, None, 0, 0, paths);
        let (here, connection) = (HostId::new(0), ConnectionId::new(1));
        let key = Key { peer: HostId::new(1), connection, opened_here: true, side: Side::Sending };
        let (first, due) = sender.transmit(Time::ZERO, &config, here, &key, false);
        sender.expire(due, &config, Rto::fixed(config.rto));
        let (again, _) = sender.transmit(due, &config, here, &key, false);
        let [good, bad] = [first, again].map(|packet| packet.header.path.get());
        assert_ne!(good, bad);
        // Just an outlier: with one ACK more it would not be.
        let board = sender.paths.scoreboard().expect("paths may be removed");
        (0..100).for_each(|_| board.ack(good));
        (0..PENALTY.min_nacks).for_each(|_| board.nack(bad));
        sender.acked(first.header.sequence, first.header.flags.attempt());
        assert_eq!(sender.paths.permute(due, Some(&PENALTY)), 1);
    }

    /// If a receiver kept nothing, the window is as before it was sent. After an answer nothing changes.
    #[test]
    fn a_discarded_first_window_is_resent_whole() {
        let config = Config { initial_window: 4, ..config() };
        let paths = Paths::new(&[PathId::new(0)], RngStream::seed_from_u64(1), None);
        let mut sender = Sender::new(Time::ZERO, &config, None, Some(90_000), 0, 0, paths);
        let (here, connection) = (HostId::new(0), ConnectionId::new(1));
        let key = Key { peer: HostId::new(1), connection, opened_here: true, side: Side::Sending };
        let send = |sender: &mut Sender| {
            let mut all = Vec::new();
            while sender.ready() {
                let (packet, _) = sender.transmit(Time::ZERO, &config, here, &key, false);
                all.push((packet.header.sequence, packet.header.flags.attempt()));
            }
            all
        };
        assert_eq!(send(&mut sender), [(0, 0), (1, 0), (2, 0), (3, 0)]);
        sender.renew();
        assert_eq!(send(&mut sender), [(0, 1), (1, 1), (2, 1), (3, 1)]);
        sender.acked(0, 1);
        sender.renew();
        assert_eq!(send(&mut sender), [], "the receiver has kept one");
    }
}
