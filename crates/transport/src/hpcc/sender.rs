//! The send stream of a connection: messages, position, window and pace.

use alloc::boxed::Box;
use core::num::NonZeroU16;

use trimline_packet::{HostId, Kind, Packet, Service, Telemetry, Time};

use super::FRAMING;
use super::config::{Config, Resend, SenderStatistics};
use super::holes::Holes;
use super::window::Window;
use crate::messages::Messages;
use crate::pacing::{Paced, Pacer};
use crate::round_robin::{Linked, Links};
use crate::shell::UsePaths;
use crate::timeouts::Timeouts;
use crate::way::Way;
use crate::{Key, PathList, RngStream, WINDOW_LIMIT};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    Answer,
    Timeout,
}

/// The send stream.
#[derive(Debug)]
pub struct Sender {
    pub(super) window: Window,
    pacer: Pacer,
    /// R, a cache of the window's.
    rate_bps: u64,
    /// Time of the next packet; a cache of `pacer`.
    due: Time,
    listed: Time,
    /// Time-out of the oldest packet; [`Time::NEVER`] if none is outstanding.
    pub(super) deadline: Time,
    pub(super) ready: Links,
    next: u32,
    /// One past the highest packet ever sent.
    highest: u32,
    unacknowledged: u32,
    way: Way,
    timeouts: Timeouts,
    class: u8,
    cause: Cause,
    messages: Messages,
    /// With selective retransmission.
    holes: Option<Box<Holes>>,
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
        let window = Window::new(&config.law);
        Sender {
            rate_bps: window.rate_bps(&config.law),
            window,
            pacer: Pacer::new(now, payload.saturating_add(FRAMING.header)),
            due: now,
            listed: Time::NEVER,
            deadline: Time::NEVER,
            ready: Links::OUTSIDE,
            next: 0,
            highest: 0,
            unacknowledged: 0,
            way,
            timeouts: Timeouts::NONE,
            class,
            cause: Cause::Answer,
            messages: Messages::new(payload),
            holes: match config.resend {
                Resend::GoBack => None,
                Resend::Selective => Some(Box::default()),
            },
            statistics: SenderStatistics::default(),
        }
    }

    pub(super) fn never_end(&mut self) {
        self.messages.never_end();
    }

    pub(super) fn append(&mut self, length: u64) {
        self.messages.append(self.unacknowledged, length);
    }

    /// Returns the time of the next packet if no answer comes before; may be in the past.
    #[inline]
    pub(super) fn due(&self) -> Time {
        self.due
    }

    pub(super) fn rate_bps(&self) -> u64 {
        self.rate_bps
    }

    /// Packets that were sent and not said to have arrived; after going back only resent ones.
    pub(super) fn in_flight(&self) -> u32 {
        let beyond = self.holes.as_ref().map_or(0, |holes| holes.beyond());
        self.next.wrapping_sub(self.unacknowledged) - beyond
    }

    /// The packet to resend, with selective retransmission.
    #[inline]
    fn lost(&self) -> Option<u32> {
        self.holes.as_ref()?.first()
    }

    /// Returns whether there is a packet to send, whatever the pace. What is lost is in flight no more: it needs no
    /// room in the window.
    #[inline]
    pub(super) fn has_data(&self) -> bool {
        if self.lost().is_some() {
            return true;
        }
        let full = u64::from(self.messages.payload()) + u64::from(FRAMING.header);
        let in_flight = self.in_flight();
        // The simulator's: a packet may go while less than a window is in flight, so one always may.
        self.messages.has(self.next)
            && self.next.wrapping_sub(self.unacknowledged) < WINDOW_LIMIT
            && self.timeouts.allows(in_flight)
            && (in_flight == 0 || u64::from(in_flight) * full < self.window.bytes())
    }

    #[inline]
    pub(super) fn transmit(
        &mut self,
        now: Time,
        config: &Config,
        host: HostId,
        key: &Key,
    ) -> Packet {
        let sequence = match self.lost() {
            Some(lost) => {
                self.holes.as_mut().expect("something is lost").resent();
                lost
            }
            None => {
                self.next = self.next.wrapping_add(1);
                self.next.wrapping_sub(1)
            }
        };
        if sequence == self.highest {
            self.highest = sequence.wrapping_add(1);
        } else {
            match self.cause {
                Cause::Answer => self.statistics.resent_signalled += 1,
                Cause::Timeout => self.statistics.resent_timeout += 1,
            }
        }
        let (length, is_last) = self.messages.length(sequence);
        let mut packet =
            key.data(host, self.way.path(), sequence, length, is_last, Service::Droppable);
        packet.wire_bytes = FRAMING.wire_bytes(length);
        packet.header.flags = packet.header.flags.with_class(self.class);
        self.statistics.packets_sent += 1;
        if self.deadline == Time::NEVER {
            self.restart(now, config);
            let (rto, count) = (config.rto, self.statistics.timeouts);
            let spread = self.timeouts.spread(rto, host, key, count);
            self.deadline = self.deadline.saturating_add(spread);
        }
        self.pacer.drain(now, self.rate_bps);
        self.pacer.sent(packet.wire_bytes);
        self.due = self.pacer.due(self.rate_bps);
        packet
    }

    fn restart(&mut self, now: Time, config: &Config) {
        self.deadline = now.saturating_add(self.timeouts.length(config.rto));
    }

    /// Handles an ACK or a NACK with its telemetry. Returns the number of ended messages.
    pub(super) fn answered(
        &mut self,
        now: Time,
        config: &Config,
        packet: &Packet,
        telemetry: Option<&Telemetry>,
    ) -> u32 {
        let sequence = packet.header.sequence;
        let sent = self.highest.wrapping_sub(self.unacknowledged);
        if sequence.wrapping_sub(self.unacknowledged) > sent {
            // Late, or of nothing that was sent.
            return 0;
        }
        let ended = self.acknowledged(now, config, sequence);
        if let Some(holes) = &mut self.holes {
            let answered = packet.header.extra;
            if self.highest.wrapping_sub(answered).wrapping_sub(1) < 1 << 31 {
                holes.answered(sequence, answered);
            }
            if holes.first().is_none() {
                self.cause = Cause::Answer;
            }
        } else if packet.header.kind == Kind::Nack && sequence != self.highest {
            self.go_back(Cause::Answer);
        }
        if let Some(telemetry) = telemetry {
            self.window.answered(&config.law, (sequence, self.next), telemetry);
            self.pacer.drain(now, self.rate_bps);
            self.rate_bps = self.window.rate_bps(&config.law);
            self.due = self.pacer.due(self.rate_bps);
        }
        ended
    }

    /// Handles an acknowledgement of all packets before `sequence`.
    fn acknowledged(&mut self, now: Time, config: &Config, sequence: u32) -> u32 {
        let new = sequence.wrapping_sub(self.unacknowledged);
        if new == 0 {
            return 0;
        }
        if self.next.wrapping_sub(self.unacknowledged) < new {
            self.next = sequence;
        }
        self.unacknowledged = sequence;
        self.timeouts.answered(new, sequence);
        self.deadline = Time::NEVER;
        if self.next != sequence {
            self.restart(now, config);
        }
        self.messages.end(sequence)
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
        match &mut self.holes {
            Some(holes) => {
                holes.time_out(self.next);
                (self.cause, self.deadline) = (Cause::Timeout, Time::NEVER);
            }
            None => self.go_back(Cause::Timeout),
        }
    }
}
