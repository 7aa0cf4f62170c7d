//! The receive stream of a connection (NDP 3.2): its arrivals, its queued pulls, and the counter of pulls sent.
//!
//! # LAST
//! A packet marked LAST shows where the data ends for now. The receiver then keeps at most one pull for each missing
//! packet: fewer would strand a NACKed packet, more would only be banked by a sender without data. A later packet means
//! more data: once everything up to the newest LAST is there, the application gets another event, one for each message
//! that begins after the one before was delivered.
//!
//! # A lost PULL
//! The counter of the next PULL covers it. If none follows, the receiver repeats the last PULL with the same counter,
//! whether it was lost or the packet that it elicited: a sender that missed it sends; one that did not learns that no
//! further PULL waits for it. Lost data is resent by the sender's RTO. Tried: repeating with the next counter, which
//! pulls two packets after each lost PULL and lets the window grow without bound on a lossy path.
//! Repetition backs off, to spare an idle sender.

use trimline_packet::{Time, TimeDelta};

use super::config::ReceiverStatistics;
use super::paths::Paths;
use super::pending_acks::PendingAcks;
use crate::arrivals::{Arrivals, WINDOW_LIMIT};
use crate::timers::doubled;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// Whole, and the first copy.
    Whole,
    /// A header whose payload is missing.
    Header,
    /// Its payload is here already.
    Duplicate,
    /// Too far ahead to be kept.
    Beyond,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repeat {
    /// The next deadline; [`Time::NEVER`] if the next pull sent arms it.
    At(Time),
    /// Queue the last PULL again; the next deadline.
    Now(Time),
}

/// Max doublings of the interval between repeated PULLs: 1 ms becomes one second.
const REPEAT_DOUBLINGS: u8 = 10;

#[derive(Debug)]
pub(super) struct Receiver {
    arrivals: Arrivals,
    /// One past the newest known packet.
    pub(super) end: u32,
    /// Packets before `end` that have not arrived whole.
    pub(super) missing: u32,
    /// Nothing comes after `end` for now.
    last: bool,
    /// The application knows that everything before `end` arrived.
    pub(super) delivered: bool,
    pub(super) class: u8,
    /// Chosen by the application: packets no longer change the class.
    pub(super) class_fixed: bool,
    /// The application does not read: nothing is pulled.
    pub(super) held: bool,
    /// Pulls withheld meanwhile.
    pub(super) withheld: u32,
    /// Repetitions of the last PULL in a row.
    pub(super) repeats: u8,
    /// The last PULL is queued again. Never while others are queued, which say more.
    pub(super) repeating: bool,
    /// The service port of the connection.
    pub(super) service_port: u16,
    /// Payload of the largest packet pulled for.
    full_length: u16,
    /// Payload of the last smaller packet.
    odd_length: u16,
    /// Pulls queued, without a repetition.
    queued: u32,
    /// Queued pulls for smaller packets.
    odd: u32,
    /// Pulls sent.
    counter: u32,
    /// Packets with a delayed ACK.
    pub(super) pending_acks: PendingAcks,
    /// Time of the last packet or pull.
    pub(super) active_at: Time,
    pub(super) paths: Paths,
    pub(super) statistics: ReceiverStatistics,
}

impl Receiver {
    pub(super) fn new(now: Time, service_port: u16, class: u8, paths: Paths) -> Receiver {
        Receiver {
            arrivals: Arrivals::default(),
            end: 0,
            missing: 0,
            last: false,
            delivered: false,
            class,
            class_fixed: false,
            held: false,
            withheld: 0,
            repeats: 0,
            repeating: false,
            service_port,
            full_length: 0,
            odd_length: 0,
            queued: 0,
            odd: 0,
            counter: 0,
            pending_acks: PendingAcks::NONE,
            active_at: now,
            paths,
            statistics: ReceiverStatistics::default(),
        }
    }

    #[inline]
    pub(super) fn arrive(
        &mut self,
        now: Time,
        sequence: u32,
        length: u16,
        whole: bool,
        last: bool,
    ) -> Arrival {
        self.active_at = now;
        self.repeats = 0;
        let base = self.arrivals.base();
        let offset = sequence.wrapping_sub(base);
        if offset >= WINDOW_LIMIT {
            if (offset as i32) < 0 {
                self.statistics.duplicates += u64::from(whole);
                return Arrival::Duplicate;
            }
            return Arrival::Beyond;
        }
        let span = self.end.wrapping_sub(base);
        if offset >= span {
            self.end = sequence.wrapping_add(1);
            self.missing += offset + 1 - span;
            self.delivered = false;
        }
        // Also for another copy of the newest packet: the sender may have got more to send since.
        if offset + 1 >= span {
            self.last = last;
        }
        // NDP 3.2-e: what is here already is no reason to pull.
        if self.arrivals.contains(sequence) {
            self.statistics.duplicates += u64::from(whole);
            return Arrival::Duplicate;
        }
        if !whole {
            self.statistics.trims += 1;
            return Arrival::Header;
        }
        self.arrivals.insert(sequence);
        self.missing -= 1;
        self.statistics.bytes += u64::from(length);
        self.statistics.packets += 1;
        Arrival::Whole
    }

    pub(super) const fn base(&self) -> u32 {
        self.arrivals.base()
    }

    /// Records a packet: a PULL is repeated anew if nothing follows.
    pub(super) fn received(&mut self, now: Time) {
        self.active_at = now;
        self.repeats = 0;
    }

    /// Returns whether the packet arrived before: all that time-wait asks.
    pub(super) fn has(&self, sequence: u32) -> bool {
        let offset = sequence.wrapping_sub(self.arrivals.base());
        (offset as i32) < 0 || self.arrivals.contains(sequence)
    }

    #[inline]
    pub(super) const fn complete(&self) -> bool {
        self.last && self.missing == 0
    }

    /// Max queued pulls: any number until LAST is known, then one per missing packet (NDP 3.2-o).
    #[inline]
    pub(super) const fn allowance(&self) -> u32 {
        if self.last { self.missing } else { u32::MAX }
    }

    /// Pulls queued, a repetition included.
    #[inline]
    pub(super) const fn pulls(&self) -> u32 {
        self.queued + self.repeating as u32
    }

    #[inline]
    pub(super) fn queue_pull(&mut self, length: u16) {
        self.queued += 1;
        if length >= self.full_length {
            self.full_length = length;
        } else {
            self.odd_length = length;
            self.odd += 1;
        }
    }

    /// Stops pulling. Returns the queued pulls, which the caller drops and [`Receiver::go_on`] restores.
    pub(super) fn hold(&mut self) -> u32 {
        let queued = self.queued;
        (self.held, self.withheld) = (true, queued);
        queued
    }

    /// Resumes pulling. Queues withheld pulls as far as packets are missing, and returns their number.
    pub(super) fn go_on(&mut self) -> u32 {
        self.held = false;
        let count = core::mem::take(&mut self.withheld);
        let count = count.min(self.allowance().saturating_sub(self.pulls()));
        let length = self.full_length;
        (0..count).for_each(|_| self.queue_pull(length));
        count
    }

    /// Keeps `allowance` pulls and no repetition. Returns the number dropped.
    #[inline]
    pub(super) fn drop_pulls(&mut self, allowance: u32) -> u32 {
        let dropped = self.queued.saturating_sub(allowance) + u32::from(self.repeating);
        self.queued = self.queued.min(allowance);
        self.odd = self.odd.min(self.queued);
        self.repeating = false;
        dropped
    }

    /// Takes a queued pull. Returns its counter (NDP 3.2-i) and its packet's payload. The smaller packet is a message's
    /// last, so its pull goes last.
    #[inline]
    pub(super) fn send_pull(&mut self, now: Time) -> (u32, u16) {
        self.statistics.pulls += 1;
        self.active_at = now;
        if self.repeating {
            self.repeating = false;
            return (self.counter, self.full_length);
        }
        self.counter = self.counter.wrapping_add(1);
        let length = if self.queued == self.odd {
            self.odd -= 1;
            self.odd_length
        } else {
            self.full_length
        };
        self.queued -= 1;
        (self.counter, length)
    }

    /// Counts a pull that rides. Returns its counter.
    #[inline]
    pub(super) fn ride_pull(&mut self) -> u32 {
        self.statistics.pulls += 1;
        self.counter = self.counter.wrapping_add(1);
        self.counter
    }

    /// Handles the deadline: repeats the last PULL, if it was lost or elicited nothing.
    pub(super) fn expire(&mut self, now: Time, interval: TimeDelta) -> Repeat {
        if self.held {
            // Nothing is pulled before the application reads.
            return Repeat::At(Time::NEVER);
        }
        if self.complete() || self.queued > 0 || self.counter == 0 {
            return Repeat::At(Time::NEVER);
        }
        let due = self.active_at.saturating_add(doubled(interval, self.repeats));
        if now < due {
            return Repeat::At(due);
        }
        if self.repeating {
            // The queue is long: the repetition has not been sent yet.
            return Repeat::At(now.saturating_add(interval));
        }
        // NDP 3.2.1-c: less and less often.
        self.repeats = (self.repeats + 1).min(REPEAT_DOUBLINGS);
        self.repeating = true;
        Repeat::Now(now.saturating_add(doubled(interval, self.repeats)))
    }

    /// Frees memory after the stream's end; its statistics stay.
    pub(super) fn shrink(&mut self) {
        self.arrivals.shrink();
    }
}
