//! The send side of one subflow: segments in flight, losses, retransmissions.
//!
//! # One machine for both kinds of recovery
//! Each outstanding segment is in flight, lost or SACKed, and `pipe` estimates what the network holds (RFC 6675).
//! Without SACK each duplicate ACK takes one segment from the estimate. This equals the window inflation of RFC 5681
//! and RFC 6582: window + duplicates against all outstanding segments, or window against outstanding segments less
//! duplicates. So limited transmit (RFC 3042) needs no extra rule. `forced` marks a segment that ignores the window:
//! the first retransmission, and that of a partial ACK.
//!
//! # Choices where the RFCs leave one
//! * Every partial ACK restarts the timer ("slow but steady", RFC 6582 4), as NDP's authors have it; with many losses
//!   in a window the other variant always ends in a time-out. The timer also restarts when fast recovery resends the
//!   oldest segment (RFC 6675 6), with SACK and without.
//! * SACK information outlives a time-out: these receivers do not renege (RFC 6675 5.1).
//! * A lost retransmission waits for the timer (no RACK, RFC 8985).
//! * The window does not grow while something else limits the sender (RFC 7661): in slow start its bound is twice the
//!   segments in flight, afterwards the segments in flight.
//! * Slow start after a time-out counts like any other.

mod blocks;

use alloc::boxed::Box;

use trimline_packet::{PathId, Time};

use super::config::{Config, SenderStatistics};
use super::congestion::{Acked, Congestion, Linked, Signals};
use super::notified::Notified;
use super::outstanding::{Outstanding, State};
use super::round_trip::RoundTrip;
use super::segment::{Block, Extra, SHORT_ROUND};

/// RFC 5681: number of duplicate ACKs that signal a loss.
const DUPLICATES: u32 = 3;

/// The loss state of a subflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// No known losses.
    Open,
    /// Fast recovery, until `recover` is acknowledged.
    Recovery,
    /// After a time-out, until `recover` is acknowledged.
    Loss,
    /// Switches reported drops; until all dropped segments are acknowledged (FastLane 3.4.1). Nothing new is sent.
    Notified,
}

/// RFC 5682: the progress of the test of a time-out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Test {
    /// No test.
    None,
    /// Step 2: the oldest segment was resent; no ACK yet.
    Resent,
    /// Step 3: two new segments may go, and the next ACK decides.
    Probing,
}

/// The effect of an ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Received {
    /// Newly acknowledged segments.
    pub(super) acked: u32,
    /// True if the window changed.
    pub(super) has_moved: bool,
}

/// One ACK, as a subflow reads it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ack {
    /// The next missing segment.
    pub(super) number: u32,
    /// ECN-Echo.
    pub(super) echo: bool,
    pub(super) extra: Extra,
    /// Send time of the segment whose stamp is echoed.
    pub(super) sent: Option<Time>,
}

/// The send side of a subflow.
#[derive(Debug)]
pub(super) struct Subflow {
    pub(super) sent: Outstanding,
    /// Segments in flight.
    flight: u32,
    /// Segments to resend.
    lost: u32,
    /// No lost segment lies before this one.
    lost_from: u32,
    /// Pending duplicate ACKs; with SACK only those with news. With FastLane the segments that arrived beyond the
    /// oldest missing one, by the ACKs' byte count.
    duplicates: u32,
    /// Outstanding SACKed segments.
    sacked: u32,
    /// One past the highest SACKed segment.
    sacked_end: u32,
    /// First segment not yet checked for loss.
    judged: u32,
    /// True once this recovery has resent the last segment, whose loss nothing behind it would show.
    is_rescued: bool,
    /// Newest block of the last ACK: the next ACK mostly repeats it.
    last_block: Block,
    /// Segments that recovery resends lie between these two.
    recover_from: u32,
    recover: u32,
    /// Time at which the oldest segment is resent.
    pub(super) deadline: Time,
    pub(super) congestion: Congestion,
    pub(super) round_trip: RoundTrip,
    pub(super) path: PathId,
    pub(super) phase: Phase,
    test: Test,
    /// True once the peer has answered.
    pub(super) is_established: bool,
    /// True if the SYN was sent more than once.
    syn_was_lost: bool,
    /// True if one segment may ignore the window.
    is_forced: bool,
    /// True without SACK: a duplicate ACK is a segment that left the network.
    counts_duplicates: bool,
    /// True if the next new segment must report a reduced window.
    says_reduced: bool,
    /// Retransmissions of this recovery that may prove needless; `None` once one was needed.
    undo: Option<u32>,
    /// Send time of the SYN or of this recovery's first retransmission.
    mark_time: Time,
    /// Time of the last transmission.
    last_sent: Time,
    /// Drops that switches reported, with FastLane.
    notified: Option<Box<Notified>>,
}

impl Subflow {
    pub(super) fn new(config: &Config, path: PathId) -> Subflow {
        Subflow {
            sent: Outstanding::new(),
            flight: 0,
            lost: 0,
            lost_from: 0,
            duplicates: 0,
            sacked: 0,
            sacked_end: 0,
            judged: 0,
            is_rescued: false,
            last_block: (0, 0),
            recover_from: 0,
            recover: 0,
            deadline: Time::NEVER,
            congestion: Congestion::new(config),
            round_trip: RoundTrip::new(config),
            path,
            phase: Phase::Open,
            test: Test::None,
            is_established: false,
            syn_was_lost: false,
            is_forced: false,
            counts_duplicates: !config.sack,
            says_reduced: false,
            undo: None,
            mark_time: Time::ZERO,
            last_sent: Time::ZERO,
            notified: config.notifications.fastlane().map(|_| Box::default()),
        }
    }

    /// Returns the segments in the network, as far as the sender knows.
    #[inline]
    pub(super) const fn pipe(&self) -> u32 {
        self.flight.saturating_sub(if self.counts_duplicates { self.duplicates } else { 0 })
    }

    /// Returns whether a segment may be sent. `has_new`: there is unsent data.
    #[inline]
    pub(super) fn may_send(&self, config: &Config, has_new: bool) -> bool {
        if self.lost > 0 {
            return self.is_forced || self.may_resend(config);
        }
        has_new
            && self.phase != Phase::Notified
            && self.pipe() < self.congestion.segments()
            && self.sent.len() < u32::from(config.receive_window)
    }

    #[inline]
    fn may_resend(&self, config: &Config) -> bool {
        match (&self.notified, config.notifications.fastlane()) {
            (Some(notified), Some(rules)) if self.phase == Phase::Notified => {
                notified.may_resend(self.pipe(), rules.retry_shift)
            }
            (Some(_) | None, _) => self.pipe() < self.congestion.segments(),
        }
    }

    #[inline]
    pub(super) const fn has_lost(&self) -> bool {
        self.lost > 0
    }

    pub(super) fn syn_sent(&mut self, now: Time, config: &Config) {
        self.mark_time = now;
        self.deadline = now.saturating_add(self.round_trip.syn_timeout(config));
    }

    /// Handles the peer's first answer.
    pub(super) fn establish(&mut self, now: Time, config: &Config) {
        self.is_established = true;
        if self.sent.len() > 0 {
            return;
        }
        self.deadline = Time::NEVER;
        if self.syn_was_lost {
            self.congestion.begin_small();
        } else {
            self.round_trip.sample(now.saturating_since(self.mark_time), config);
        }
    }

    /// Sends a lost segment, or else `data`, a new one. Returns its number, its number in the connection, and whether
    /// it was sent before.
    #[inline]
    pub(super) fn transmit(
        &mut self,
        now: Time,
        config: &Config,
        data: impl FnOnce() -> u32,
        statistics: &mut SenderStatistics,
    ) -> (u32, u32, bool) {
        statistics.packets_sent += 1;
        self.flight += 1;
        if self.deadline == Time::NEVER {
            // RFC 6298 (5.1)
            self.deadline = now.saturating_add(self.round_trip.timeout(config));
        }
        let last_sent = core::mem::replace(&mut self.last_sent, now);
        if self.lost == 0 {
            if self.sent.len() == 0 {
                self.congestion.skip_time(now);
                let is_long = now.saturating_since(last_sent) > self.round_trip.timeout(config);
                if config.restart_after_idle && is_long {
                    self.congestion.restart(config);
                }
            }
            let data = data();
            return (self.sent.push(now, data), data, false);
        }
        match self.phase {
            Phase::Loss => statistics.retransmissions_timeout += 1,
            Phase::Notified => statistics.retransmissions_notified += 1,
            Phase::Open | Phase::Recovery => statistics.retransmissions_fast += 1,
        }
        let mut sequence = self.lost_from;
        if !self.sent.contains(sequence) {
            sequence = self.sent.first();
        }
        while self.sent.record(sequence).state != State::Lost {
            sequence = sequence.wrapping_add(1);
        }
        let record = self.sent.record(sequence);
        record.state = State::InFlight;
        record.is_resent = true;
        record.sent = now;
        let data = record.data;
        if self.phase == Phase::Recovery && sequence == self.sent.first() {
            // RFC 6675 6, as in Linux (`tcp_xmit_retransmit_queue`): the repair of the oldest segment has a whole RTO.
            self.deadline = now.saturating_add(self.round_trip.timeout(config));
        }
        self.lost -= 1;
        self.lost_from = sequence.wrapping_add(1);
        self.is_forced = false;
        if let Some(notified) = &mut self.notified {
            notified.resent(sequence);
        }
        if self.undo == Some(0) {
            self.mark_time = now;
        }
        self.undo = self.undo.map(|count| count + 1);
        (sequence, data, true)
    }

    /// Returns, and clears, whether the next new segment must report a reduced window.
    #[inline]
    pub(super) fn take_reduced(&mut self) -> bool {
        core::mem::take(&mut self.says_reduced)
    }

    fn mark_lost(&mut self, sequence: u32) {
        let record = self.sent.record(sequence);
        if record.state != State::InFlight {
            return;
        }
        record.state = State::Lost;
        self.flight -= 1;
        if self.lost == 0 || (sequence.wrapping_sub(self.lost_from) as i32) < 0 {
            self.lost_from = sequence;
        }
        self.lost += 1;
    }

    /// Handles an ACK. `has_new`: there is unsent data.
    #[inline]
    pub(super) fn receive(
        &mut self,
        now: Time,
        ack: &Ack,
        config: &Config,
        linked: Option<Linked>,
        has_new: bool,
        statistics: &mut SenderStatistics,
    ) -> Received {
        let outstanding = self.sent.len();
        let acked = ack.number.wrapping_sub(self.sent.first());
        if acked > outstanding {
            // Older than another one, or of something that was never sent.
            return Received::default();
        }
        let window = self.congestion.window();
        // RFC 7661: see the head of the file.
        let is_limited = if self.congestion.is_slow_start() {
            self.congestion.segments() < outstanding.saturating_mul(2)
        } else {
            outstanding >= self.congestion.segments()
        };
        let mut is_new_block = false;
        if config.sack {
            is_new_block = self.receive_blocks(ack, acked, statistics);
        }
        if config.ecn {
            let is_recovering = self.phase != Phase::Open;
            let next = self.sent.next();
            let signals = Signals { number: ack.number, next, acked, echo: ack.echo };
            self.says_reduced |= self.congestion.received_marks(&signals, is_recovering);
        }
        if acked > 0 {
            self.advance(now, ack, acked, config, statistics);
        } else if outstanding > 0
            && (is_new_block || !config.sack)
            && self.phase != Phase::Loss
            && self.notified.is_none()
        {
            self.duplicates += 1;
        }
        if config.frto && self.test != Test::None {
            self.judge_timeout(acked, has_new, statistics);
        }
        if config.sack && self.sacked > 0 {
            self.judge_blocks(has_new);
        }
        if self.notified.is_some() {
            // FastLane 4.1.2: duplicate ACKs mean segments out of order, and say nothing of loss.
            self.receive_beyond(ack, acked, config);
        } else {
            let is_lost = self.lost > 0 || self.duplicates >= DUPLICATES;
            if self.phase == Phase::Open && is_lost && self.sent.len() > 0 {
                self.enter_recovery();
            }
        }
        let may_grow = !(config.ecn && ack.echo) || config.grows_when_marked;
        let is_repairing = matches!(self.phase, Phase::Recovery | Phase::Notified);
        if acked > 0 && !is_limited {
            self.congestion.skip_time(now);
        }
        if acked > 0 && !is_repairing && is_limited && may_grow {
            let round_trip = self.round_trip.smoothed();
            let acked = if config.byte_counting { acked } else { 1 };
            self.congestion.grow(&Acked { now, acked, round_trip, linked });
        }
        Received { acked, has_moved: window >> 32 != self.congestion.window() >> 32 }
    }

    /// Handles newly acknowledged segments.
    #[inline]
    fn advance(
        &mut self,
        now: Time,
        ack: &Ack,
        acked: u32,
        config: &Config,
        statistics: &mut SenderStatistics,
    ) {
        let (mut sample, mut is_resent, mut newest) = (None, false, now);
        for _ in 0..acked {
            let record = self.sent.pop();
            newest = record.sent;
            match record.state {
                State::InFlight => {
                    self.flight -= 1;
                    sample = Some(record.sent);
                }
                State::Lost => self.lost -= 1,
                State::Sacked => {
                    self.sacked -= 1;
                    // It arrived earlier than its ACK shows.
                    sample = None;
                }
            }
            is_resent |= record.is_resent;
        }
        let is_short = matches!(ack.extra, Extra::Connection(_));
        let is_too_old = is_short && now.saturating_since(newest) >= SHORT_ROUND;
        match (ack.sent.filter(|_| !is_too_old), sample) {
            (Some(sent), _) => {
                // RFC 7323 4.1: the echo is of this very segment, resent or not.
                self.round_trip.sample(now.saturating_since(sent), config);
                self.detect_by_echo(sent, is_resent, statistics);
            }
            (_, Some(sent)) if !is_resent => {
                self.round_trip.sample(now.saturating_since(sent), config);
            }
            _ => {}
        }
        let first = self.sent.first();
        if (first.wrapping_sub(self.judged) as i32) > 0 {
            self.judged = first;
        }
        // RFC 6298 (5.2), (5.3)
        self.deadline = match self.sent.len() {
            0 => Time::NEVER,
            _ => now.saturating_add(self.round_trip.timeout(config)),
        };
        if self.phase == Phase::Notified {
            // FastLane 3.4.1: until all dropped segments have been resent successfully.
            if self.notified.as_mut().is_none_or(|notified| notified.forget_before(first)) {
                self.phase = Phase::Open;
                self.is_forced = false;
            }
            return;
        }
        if self.phase == Phase::Open {
            self.duplicates = 0;
            return;
        }
        if (first.wrapping_sub(self.recover) as i32) >= 0 {
            if self.phase == Phase::Recovery && self.sacked == 0 && !config.sack {
                self.congestion.recovered(self.sent.len());
            }
            self.leave_recovery(first);
        } else if self.phase == Phase::Recovery && !config.sack {
            // RFC 6582 3.2 step 3, a partial ACK: the next segment was lost too. All but one of the segments that it
            // acknowledged had caused a duplicate ACK.
            self.duplicates -= self.duplicates.min(acked - 1);
            self.mark_lost(first);
            self.is_forced = true;
        }
    }

    /// Ends a recovery: all segments outstanding at its start have arrived. `first` is outstanding now.
    fn leave_recovery(&mut self, first: u32) {
        self.phase = Phase::Open;
        self.duplicates = 0;
        self.is_forced = false;
        self.test = Test::None;
        // Drops of segments sent since then, all new.
        if self.notified.as_mut().is_some_and(|notified| !notified.forget_before(first)) {
            self.phase = Phase::Notified;
        }
    }

    /// FastLane 3.4.1: inflates the window by the out-of-order arrivals, which have left the network. A new ACK resets
    /// the count; among duplicate ACKs, which may be out of order, the max counts.
    fn receive_beyond(&mut self, ack: &Ack, acked: u32, config: &Config) {
        let bytes = match ack.extra {
            Extra::Beyond(bytes) => bytes,
            _ => 0,
        };
        let segments = bytes.div_ceil(u32::from(config.payload_bytes)).min(self.sent.len());
        let known = if acked > 0 { 0 } else { self.duplicates };
        // After a time-out only resent segments count as in flight.
        self.duplicates = if self.phase == Phase::Loss { 0 } else { known.max(segments) };
    }

    /// Handles a notification of a drop: the segment is resent (FastLane 3.4.1). Returns whether it was in flight.
    pub(super) fn notified(&mut self, now: Time, sequence: u32) -> bool {
        let Some(notified) = &mut self.notified else { return false };
        if !self.sent.contains(sequence) || self.sent.record(sequence).state != State::InFlight {
            return false;
        }
        let (first, sent) = (self.sent.first(), self.sent.record(sequence).sent);
        match self.phase {
            Phase::Loss => {
                if notified.sides(now, sent) {
                    notified.bound(self.congestion.segments());
                    self.congestion.told_after_timeout();
                }
                notified.insert(sequence, first);
            }
            Phase::Notified => notified.insert(sequence, first),
            Phase::Open | Phase::Recovery => {
                notified.begin(self.congestion.segments());
                notified.insert(sequence, first);
                self.congestion.notified();
                self.phase = Phase::Notified;
                self.undo = None;
            }
        }
        self.mark_lost(sequence);
        // FastLane 3.4.1: behind the smallest number no ACK gets through.
        self.is_forced |= sequence == first;
        true
    }

    /// Handles a NACK of a trimmed segment, whose loss is certain. Returns whether it was in flight.
    pub(super) fn trimmed(&mut self, sequence: u32) -> bool {
        if !self.sent.contains(sequence) || self.sent.record(sequence).state != State::InFlight {
            return false;
        }
        self.mark_lost(sequence);
        if self.phase == Phase::Open {
            self.enter_recovery();
        }
        // The loss is certain: no echo, duplicate or test shows that the reduction was needless.
        (self.undo, self.test) = (None, Test::None);
        true
    }

    /// Handles a Source Quench: a segment met congestion.
    pub(super) fn quenched(&mut self, sequence: u32) -> bool {
        let (next, is_recovering) = (self.sent.next(), self.phase != Phase::Open);
        self.sent.contains(sequence)
            && self.congestion.quenched(sequence.wrapping_add(1), next, is_recovering)
    }

    #[cold]
    fn enter_recovery(&mut self) {
        self.phase = Phase::Recovery;
        self.is_rescued = false;
        self.recover = self.sent.next();
        self.congestion.lost(self.sent.len());
        let first = self.sent.first();
        self.recover_from = first;
        if self.lost == 0 {
            self.mark_lost(first);
        }
        // RFC 5681 3.2, RFC 6675 5 (4.3): the first retransmission ignores the window.
        self.is_forced = true;
        self.undo = Some(0);
    }

    /// Handles a time-out of the oldest segment.
    pub(super) fn time_out(
        &mut self,
        now: Time,
        config: &Config,
        statistics: &mut SenderStatistics,
    ) {
        statistics.timeouts += 1;
        self.round_trip.back_off();
        if self.sent.len() == 0 {
            self.deadline = now.saturating_add(self.round_trip.syn_timeout(config));
            self.syn_was_lost = true;
            return;
        }
        self.deadline = now.saturating_add(self.round_trip.timeout(config));
        let first = self.sent.first();
        let is_first = self.phase != Phase::Loss || !self.sent.record(first).is_resent;
        self.congestion.timed_out(self.sent.len(), is_first);
        for distance in 0..self.sent.len() {
            let sequence = first.wrapping_add(distance);
            self.mark_lost(sequence);
        }
        // RFC 5682 2.1 (1): a time-out within the repair of another one is not tested.
        let is_tested = config.frto && self.phase != Phase::Loss;
        self.test = if is_tested { Test::Resent } else { Test::None };
        self.phase = Phase::Loss;
        self.recover_from = first;
        self.recover = self.sent.next();
        self.duplicates = 0;
        if let Some(notified) = &mut self.notified {
            notified.clear();
        }
        self.is_forced = false;
        self.undo = is_first.then_some(0);
    }

    /// RFC 5682 2.1: judges a time-out by the first two ACKs after it.
    fn judge_timeout(&mut self, acked: u32, has_new: bool, statistics: &mut SenderStatistics) {
        if self.phase != Phase::Loss {
            self.test = Test::None;
            return;
        }
        match self.test {
            // (2b) The ACK advances, but not to the end: two new segments go instead of old ones.
            Test::Resent if acked > 0 && has_new => {
                self.test = Test::Probing;
                self.keep_flying();
                self.congestion.allow(self.flight + 2);
            }
            // (3b) Another ACK advances: segments arrived that were not resent.
            Test::Probing if acked > 0 => {
                self.test = Test::None;
                self.undo_reduction(statistics);
            }
            // (3a) A duplicate ACK: segments were lost, not delayed.
            Test::Probing => {
                self.test = Test::None;
                let first = self.sent.first();
                for distance in 0..self.recover.wrapping_sub(first) {
                    let sequence = first.wrapping_add(distance);
                    if !self.sent.record(sequence).is_resent {
                        self.mark_lost(sequence);
                    }
                }
                self.congestion.allow(3);
            }
            // (2a), or nothing new to send.
            _ => self.test = Test::None,
        }
    }

    /// Marks lost segments as in flight again.
    fn keep_flying(&mut self) {
        let first = self.sent.first();
        for distance in 0..self.sent.len() {
            let record = self.sent.record(first.wrapping_add(distance));
            if record.state == State::Lost {
                record.state = State::InFlight;
                self.lost -= 1;
                self.flight += 1;
            }
        }
        self.is_forced = false;
    }

    /// Undoes the last, needless reduction.
    fn undo_reduction(&mut self, statistics: &mut SenderStatistics) {
        statistics.undone += 1;
        self.congestion.undo();
        self.round_trip.forgive();
        self.keep_flying();
        self.phase = Phase::Open;
        self.duplicates = 0;
        self.undo = None;
    }

    /// RFC 2883, RFC 3708: handles a duplicate arrival. If every resent segment arrived twice, nothing was lost. A copy
    /// of a segment that was not resent is the network's. Of an acknowledged segment it is only known whether this
    /// recovery can have resent it.
    fn arrived_twice(&mut self, sequence: u32, statistics: &mut SenderStatistics) {
        let from = self.recover_from;
        let was_resent = if self.sent.contains(sequence) {
            self.sent.record(sequence).is_resent
        } else {
            sequence.wrapping_sub(from) < self.recover.wrapping_sub(from)
        };
        if !was_resent {
            return;
        }
        match self.undo {
            Some(1) => self.undo_reduction(statistics),
            Some(count) if count > 1 => self.undo = Some(count - 1),
            _ => {}
        }
    }

    /// RFC 3522 (Eifel): the ACK of a resent segment echoes a time before the resending.
    fn detect_by_echo(&mut self, sent: Time, is_resent: bool, statistics: &mut SenderStatistics) {
        // At least one tick of the coarser clock apart, so that rounding cannot cause it.
        let is_before = sent.as_ps() + (1 << 22) < self.mark_time.as_ps();
        if is_resent && is_before && self.phase != Phase::Open && self.undo.is_some_and(|n| n > 0) {
            self.undo_reduction(statistics);
        }
    }

    /// Stops the timer: everything arrived, perhaps on other subflows. Outstanding segments stay so, as the receiver
    /// waits for their numbers before any later data.
    pub(super) fn finish(&mut self) {
        self.deadline = Time::NEVER;
        if self.sent.len() > 0 {
            return;
        }
        self.sent.clear();
        (self.flight, self.lost, self.sacked, self.duplicates) = (0, 0, 0, 0);
        self.phase = Phase::Open;
        self.test = Test::None;
        self.is_forced = false;
    }

    /// Handles an ACK after everything arrived on other subflows: removes its segments.
    pub(super) fn receive_late(&mut self, number: u32) {
        let acked = number.wrapping_sub(self.sent.first());
        if acked == 0 || acked > self.sent.len() {
            return;
        }
        for _ in 0..acked {
            match self.sent.pop().state {
                State::InFlight => self.flight -= 1,
                State::Lost => self.lost -= 1,
                State::Sacked => self.sacked -= 1,
            }
        }
        if (number.wrapping_sub(self.judged) as i32) > 0 {
            self.judged = number;
        }
        let is_repaired = (number.wrapping_sub(self.recover) as i32) >= 0;
        if matches!(self.phase, Phase::Recovery | Phase::Loss) && is_repaired {
            self.leave_recovery(number);
        }
        self.finish();
    }

    /// Resumes after a pause with more to send: the timer goes on as if it had never stopped. `awaits_syn`: a subflow
    /// that is not established has sent a SYN.
    pub(super) fn resume(&mut self, now: Time, config: &Config, awaits_syn: bool) {
        let (since, timeout) = match self.sent.len() {
            0 if awaits_syn && !self.is_established => {
                (self.mark_time, self.round_trip.syn_timeout(config))
            }
            0 => return,
            _ => (self.last_sent, self.round_trip.timeout(config)),
        };
        if self.deadline == Time::NEVER {
            self.deadline = now.max(since.saturating_add(timeout));
        }
    }
}
