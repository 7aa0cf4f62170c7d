//! The send stream of a connection: its data and subflows.
//!
//! # Several subflows
//! A subflow gets data only when it may send and the NIC has room: a faster one takes more. It has its own numbers and
//! recovery, below the connection's numbers. Its time-out offers its outstanding data to the others (reinjection), so a
//! dead path blocks its own numbers but not the connection. The connection's own number acknowledges it, whatever holes
//! subflows have.
//!
//! # Several messages
//! More data may come at any time, also long after all was acknowledged. Numbers, windows, thresholds, the law's state
//! and round-trip estimates continue. A subflow with outstanding segments goes on repairing them.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use core::num::NonZeroU16;

use rand_xoshiro::rand_core::RngCore;
use trimline_packet::{Flags, Header, HostId, Kind, Packet, PathId, Time, TimeDelta};

use super::config::{Config, Handshake, Notifications, SenderProgress, SenderStatistics};
use super::congestion::{Linked, linked};
use super::segment::{self, Extra, MARK_CWR};
use super::subflow::{Ack, Subflow};
use crate::round_robin::{self, Links};
use crate::shell::UsePaths;
use crate::{Key, PathList, RngStream};

/// The send stream.
#[derive(Debug)]
pub struct Sender {
    first: Subflow,
    others: Box<[Subflow]>,
    pub(super) ready: Links,
    /// The connection's first unsent segment.
    next: u32,
    /// The connection's oldest unacknowledged segment; with one subflow its own.
    unacknowledged: u32,
    /// Segments of all messages so far; `None` never runs out.
    end: Option<u32>,
    last_bytes: u16,
    /// Ends of earlier messages whose last segment may be resent: one past it, and its payload in bytes.
    ends: Box<[(u32, u16)]>,
    /// The subflow that is asked first.
    turn: u8,
    /// Bytes of a full segment.
    payload: u16,
    class: u8,
    /// True once the application knows that all arrived.
    pub(super) is_over: bool,
    linked: Option<Linked>,
    /// The connection's segments to resend, each by another subflow than the named one.
    reinjected: VecDeque<(u32, u8)>,
    stream: RngStream,
    pub(super) statistics: SenderStatistics,
}

pub(super) fn draw_path(paths: &[PathId], stream: &mut RngStream) -> PathId {
    // Multiply and shift: the bias of 2^-16 does not matter here.
    let place = ((stream.next_u64() >> 32) * paths.len() as u64) >> 32;
    paths[place as usize]
}

/// Returns the index of the first segment that a subflow may take over. Its own offers may precede, and wait for ever
/// for a dead subflow.
#[inline]
fn offer_to(reinjected: &VecDeque<(u32, u8)>, subflow: u8) -> Option<usize> {
    reinjected.iter().position(|&(_, origin)| origin != subflow)
}

/// Returns a message's segments, and the payload of the last one.
fn segments(payload: u16, length: u64) -> (u32, u16) {
    let full = u64::from(payload);
    let last_bytes = match length % full {
        0 => payload,
        rest => rest as u16,
    };
    (length.div_ceil(full) as u32, last_bytes)
}

impl round_robin::Linked for Sender {
    #[inline]
    fn links(&mut self) -> &mut Links {
        &mut self.ready
    }
}

impl UsePaths for Sender {
    fn use_paths(&mut self, paths: PathList, _stream: impl FnOnce() -> RngStream) {
        self.keep_to(&paths);
    }
}

impl Sender {
    pub(super) fn new(
        config: &Config,
        class: u8,
        (length, payload): (Option<u64>, Option<NonZeroU16>),
        paths: &[PathId],
        mut stream: RngStream,
    ) -> Sender {
        let payload = payload.map_or(config.payload_bytes, NonZeroU16::get);
        let (end, last_bytes) = match length.map(|length| segments(payload, length)) {
            None => (None, payload),
            Some((count, last_bytes)) => (Some(count), last_bytes),
        };
        let mut left = paths.to_vec();
        let mut subflow = || {
            if left.is_empty() {
                left.extend_from_slice(paths);
            }
            let path = draw_path(&left, &mut stream);
            left.retain(|&other| other != path);
            Subflow::new(config, path)
        };
        let first = subflow();
        let others = (1..config.subflows).map(|_| subflow()).collect();
        Sender {
            first,
            others,
            ready: Links::OUTSIDE,
            next: 0,
            unacknowledged: 0,
            end,
            last_bytes,
            ends: Box::default(),
            turn: 0,
            payload,
            class,
            is_over: false,
            linked: None,
            reinjected: VecDeque::new(),
            stream,
            statistics: SenderStatistics::default(),
        }
    }

    #[inline]
    fn count(&self) -> u8 {
        1 + self.others.len() as u8
    }

    #[inline]
    fn is_single(&self) -> bool {
        self.others.is_empty()
    }

    #[inline]
    fn subflow(&mut self, number: u8) -> &mut Subflow {
        match number {
            0 => &mut self.first,
            number => &mut self.others[usize::from(number) - 1],
        }
    }

    #[inline]
    fn at(&self, number: u8) -> &Subflow {
        match number {
            0 => &self.first,
            number => &self.others[usize::from(number) - 1],
        }
    }

    /// Returns a subflow's window, Q32.32.
    pub(super) fn window(&self, subflow: u8) -> u64 {
        self.at(subflow).congestion.window()
    }

    pub(super) fn progress(&self) -> SenderProgress {
        let subflows = || core::iter::once(&self.first).chain(self.others.iter());
        SenderProgress {
            window: subflows().map(|subflow| subflow.congestion.window()).sum(),
            in_flight: subflows().map(Subflow::pipe).sum(),
            round_trip: subflows().filter_map(|subflow| subflow.round_trip.smoothed()).max(),
            alpha: self.first.congestion.alpha(),
        }
    }

    #[inline]
    pub(super) fn is_complete(&self) -> bool {
        self.end == Some(self.unacknowledged)
    }

    #[inline]
    fn has_new(&self, config: &Config, subflow: u8) -> bool {
        if self.end != Some(self.next)
            && (self.is_single()
                || self.next.wrapping_sub(self.unacknowledged) < u32::from(config.receive_window))
        {
            return true;
        }
        offer_to(&self.reinjected, subflow).is_some()
    }

    #[inline]
    fn may_send(&self, config: &Config, number: u8) -> bool {
        let subflow = self.at(number);
        let is_begun = subflow.is_established
            || match config.handshake {
                Handshake::ThreeWay => false,
                Handshake::FastOpen => {
                    number == 0 && (subflow.sent.len() == 0 || subflow.has_lost())
                }
                Handshake::Standing => true,
            };
        is_begun && subflow.may_send(config, self.has_new(config, number))
    }

    #[inline]
    fn choice(&self, config: &Config) -> Option<u8> {
        if self.is_over {
            return None;
        }
        if self.is_single() {
            return self.may_send(config, 0).then_some(0);
        }
        let count = self.count();
        (0..count)
            .map(|step| (self.turn + step) % count)
            .find(|&number| self.may_send(config, number))
    }

    #[inline]
    pub(super) fn is_ready(&self, config: &Config) -> bool {
        self.choice(config).is_some()
    }

    /// Begins the connection. Returns the SYN, if one goes before the data.
    pub(super) fn begin(
        &mut self,
        now: Time,
        config: &Config,
        host: HostId,
        key: &Key,
    ) -> Option<Packet> {
        (config.handshake == Handshake::ThreeWay).then(|| self.syn(now, config, host, key, 0))
    }

    /// Appends data, unless `length` is 0 or the stream endless.
    pub(super) fn append(&mut self, now: Time, config: &Config, length: u64) {
        let Some(end) = self.end.filter(|_| length > 0) else { return };
        let (first, length) = if self.next == end {
            self.remember_end(end);
            (end, length)
        } else {
            // The last segment is unsent: it is filled up.
            (end.wrapping_sub(1), length.saturating_add(u64::from(self.last_bytes)))
        };
        let (count, last_bytes) = segments(self.payload, length);
        (self.end, self.last_bytes) = (Some(first.wrapping_add(count)), last_bytes);
        if core::mem::take(&mut self.is_over) {
            let awaits_syn = self.first.is_established && config.handshake != Handshake::Standing;
            for subflow in core::iter::once(&mut self.first).chain(&mut self.others) {
                subflow.resume(now, config, awaits_syn);
            }
        }
    }

    /// Remembers that a message ends before segment `end`. Forgets ends that no subflow has outstanding.
    fn remember_end(&mut self, end: u32) {
        let (first, others) = (&self.first.sent, &self.others);
        let known = self.ends.iter().copied().chain([(end, self.last_bytes)]);
        let is_out = |&(end, _): &(u32, u16)| {
            let last = end.wrapping_sub(1);
            match others.is_empty() {
                true => first.contains(last),
                false => first.carries(last) || others.iter().any(|other| other.sent.carries(last)),
            }
        };
        self.ends = known.filter(is_out).collect();
    }

    fn syn(&mut self, now: Time, config: &Config, host: HostId, key: &Key, number: u8) -> Packet {
        let flags = Flags::default().with(Flags::SYN | Flags::FROM_OPENER).with_class(self.class);
        let epoch = self.epoch(config);
        let subflow = self.subflow(number);
        subflow.syn_sent(now, config);
        let header = Header {
            kind: Kind::Data,
            flags: segment::of_subflow(flags, number),
            path: subflow.path,
            connection: key.connection,
            sequence: 0,
            extra: epoch,
        };
        Packet::control(host, key.peer, header)
    }

    /// Returns the time-outs so far, which every packet and its notifications carry (FastLane 3.4.1).
    fn epoch(&self, config: &Config) -> u32 {
        match config.notifications.fastlane() {
            Some(_) => self.statistics.timeouts as u32,
            None => 0,
        }
    }

    /// Handles a notification or a returned header. A SYN goes to `control`.
    pub(super) fn receive_notification(
        &mut self,
        now: Time,
        packet: &Packet,
        config: &Config,
        host: HostId,
        key: &Key,
        control: &mut VecDeque<Packet>,
    ) {
        let header = &packet.header;
        if self.is_over || !self.is_single() {
            return;
        }
        let is_received = match config.notifications {
            Notifications::Ignored => false,
            // A returned header, or the notification of a trimmed segment, says what a NACK says.
            Notifications::CutPayload => self.first.trimmed(header.sequence),
            Notifications::Quench => self.first.quenched(header.sequence),
            // FastLane 3.4.1: what was sent before the last time-out has been resent.
            Notifications::FastLane(_) if header.extra != self.epoch(config) => false,
            Notifications::FastLane(_) => {
                // Only the SYN of a three-way handshake is without data.
                let is_control =
                    header.flags.contains(Flags::SYN) && config.handshake == Handshake::ThreeWay;
                match (is_control, self.first.is_established) {
                    (false, _) => self.first.notified(now, header.sequence),
                    (true, true) => false,
                    (true, false) => {
                        // FastLane 3.4.1: control packets at once. The timer runs on.
                        let deadline = self.first.deadline;
                        control.push_back(self.syn(now, config, host, key, 0));
                        self.first.deadline = deadline;
                        true
                    }
                }
            }
        };
        self.statistics.notifications += u32::from(is_received);
    }

    /// Handles a NACK: a switch trimmed the segment that it names.
    pub(super) fn receive_nack(&mut self, packet: &Packet, config: &Config) {
        if self.is_over || config.notifications != Notifications::CutPayload {
            return;
        }
        let is_received = self.first.trimmed(packet.header.sequence);
        self.statistics.notifications += u32::from(is_received);
    }

    /// Sends the next segment. Returns it and its subflow's deadline.
    #[inline]
    pub(super) fn transmit(
        &mut self,
        now: Time,
        config: &Config,
        host: HostId,
        key: &Key,
    ) -> Option<(Packet, Time)> {
        let number = self.choice(config)?;
        self.turn = if number + 1 == self.count() { 0 } else { number + 1 };
        let mut is_reinjected = false;
        let (is_single, epoch) = (self.others.is_empty(), self.epoch(config));
        let (next, reinjected) = (&mut self.next, &mut self.reinjected);
        let subflow = match number {
            0 => &mut self.first,
            number => &mut self.others[usize::from(number) - 1],
        };
        let offer = offer_to(reinjected, number);
        let data = || match offer.and_then(|place| reinjected.remove(place)) {
            Some((data, _)) => {
                is_reinjected = true;
                data
            }
            None => {
                let data = *next;
                *next = data.wrapping_add(1);
                data
            }
        };
        let (sequence, data, is_resent) = subflow.transmit(now, config, data, &mut self.statistics);
        self.statistics.retransmissions_timeout += u64::from(is_reinjected);
        let mut flags = Flags::default().with(Flags::FROM_OPENER).with_class(self.class);
        let mut bytes = self.payload;
        if self.end == Some(data.wrapping_add(1)) {
            flags = flags.with(Flags::LAST);
            bytes = self.last_bytes;
        } else if (is_resent || is_reinjected)
            && let Some(&(_, last_bytes)) =
                self.ends.iter().find(|&&(end, _)| end == data.wrapping_add(1))
        {
            flags = flags.with(Flags::LAST);
            bytes = last_bytes;
        }
        if !subflow.is_established {
            flags = flags.with(Flags::SYN);
        }
        let mut marks = 0;
        if config.ecn {
            if !is_resent || config.control.marks_retransmissions() {
                marks |= Packet::MARK_ECT;
            }
            if !is_resent && subflow.take_reduced() {
                marks |= MARK_CWR;
            }
        }
        let (sequence, extra) = match is_single {
            false => (segment::short(sequence, now), data),
            true if config.timestamps => (sequence, segment::stamp(now)),
            true => (sequence, epoch),
        };
        let packet = Packet {
            source: host,
            destination: key.peer,
            header: Header {
                kind: Kind::Data,
                flags: segment::of_subflow(flags, number),
                path: subflow.path,
                connection: key.connection,
                sequence,
                extra,
            },
            wire_bytes: bytes + Packet::HEADER_BYTES,
            service: config.notifications.data_service().into(),
            marks,
        };
        Some((packet, subflow.deadline))
    }

    /// Handles an ACK. SYNs of further subflows go to `control`.
    #[inline]
    pub(super) fn receive(
        &mut self,
        now: Time,
        packet: &Packet,
        config: &Config,
        host: HostId,
        key: &Key,
        control: &mut VecDeque<Packet>,
    ) {
        let header = &packet.header;
        let number = segment::subflow(header.flags);
        if number >= self.count() {
            return;
        }
        if !self.at(number).is_established {
            self.subflow(number).establish(now, config);
            if number == 0 && config.handshake != Handshake::Standing {
                for other in 1..self.count() {
                    control.push_back(self.syn(now, config, host, key, other));
                }
            }
        }
        let first = self.at(number).sent.first();
        let next_missing = match self.others.is_empty() {
            true => header.sequence,
            false => segment::whole(header.sequence, first),
        };
        if self.is_over {
            return self.subflow(number).receive_late(next_missing);
        }
        let extra = Extra::decode(packet.marks, next_missing, header.extra);
        let ack = Ack {
            number: next_missing,
            echo: packet.marks & Packet::MARK_ECE != 0,
            extra,
            sent: match extra {
                Extra::Echo(echo) => Some(segment::stamped(now, echo)),
                // The answer to a SYN echoes no segment.
                Extra::Connection(_) if config.timestamps && !header.flags.contains(Flags::SYN) => {
                    Some(segment::short_stamped(now, header.sequence))
                }
                _ => None,
            },
        };
        // The answer to a SYN that was sent twice is no duplicate ACK.
        if header.flags.contains(Flags::SYN) && ack.number == first {
            return;
        }
        let has_new = self.has_new(config, number);
        let linked = self.linked;
        let subflow = match number {
            0 => &mut self.first,
            number => &mut self.others[usize::from(number) - 1],
        };
        let received = subflow.receive(now, &ack, config, linked, has_new, &mut self.statistics);
        if self.others.is_empty() {
            self.unacknowledged = self.first.sent.first();
        } else {
            if let Extra::Connection(next) = ack.extra
                && next.wrapping_sub(self.unacknowledged)
                    <= self.next.wrapping_sub(self.unacknowledged)
            {
                self.unacknowledged = next;
                self.forget_reinjected();
            }
            if config.coupled && (received.has_moved || self.linked.is_none()) {
                self.link();
            }
        }
        if self.is_complete() {
            self.first.finish();
            self.others.iter_mut().for_each(Subflow::finish);
            self.reinjected = VecDeque::new();
        }
    }

    fn forget_reinjected(&mut self) {
        let oldest = self.unacknowledged;
        self.reinjected.retain(|&(data, _)| data.wrapping_sub(oldest) as i32 >= 0);
    }

    /// RFC 6356: recomputes the shared increase after a window changed by a segment.
    fn link(&mut self) {
        let each = core::iter::once(&self.first).chain(self.others.iter());
        let known = each.filter_map(|subflow| {
            let round_trip: Option<TimeDelta> = subflow.round_trip.smoothed();
            round_trip.map(|round_trip| (subflow.congestion.window(), round_trip))
        });
        self.linked = Some(linked(known));
    }

    /// Handles due timers. SYNs go to `control`. Returns the next deadline.
    pub(super) fn expire(
        &mut self,
        now: Time,
        config: &Config,
        host: HostId,
        key: &Key,
        control: &mut VecDeque<Packet>,
    ) -> Time {
        for number in 0..self.count() {
            if self.at(number).deadline > now {
                continue;
            }
            let statistics = &mut self.statistics;
            let subflow = match number {
                0 => &mut self.first,
                number => &mut self.others[usize::from(number) - 1],
            };
            subflow.time_out(now, config, statistics);
            if subflow.sent.len() == 0 {
                control.push_back(self.syn(now, config, host, key, number));
            } else if !self.others.is_empty() {
                self.offer(number);
            }
        }
        self.deadline()
    }

    pub(super) fn deadline(&self) -> Time {
        let others = self.others.iter().map(|subflow| subflow.deadline);
        others.fold(self.first.deadline, Time::min)
    }

    fn offer(&mut self, number: u8) {
        let oldest = self.unacknowledged;
        let subflow = match number {
            0 => &mut self.first,
            number => &mut self.others[usize::from(number) - 1],
        };
        let first = subflow.sent.first();
        for distance in 0..subflow.sent.len() {
            let record = subflow.sent.record(first.wrapping_add(distance));
            if !record.is_reinjected && record.data.wrapping_sub(oldest) as i32 >= 0 {
                record.is_reinjected = true;
                self.reinjected.push_back((record.data, number));
            }
        }
    }

    pub(super) fn keep_to(&mut self, paths: &[PathId]) {
        if paths.is_empty() {
            return;
        }
        let (first, others, stream) = (&mut self.first, &mut self.others, &mut self.stream);
        for subflow in core::iter::once(first).chain(others.iter_mut()) {
            if !paths.contains(&subflow.path) {
                subflow.path = draw_path(paths, stream);
            }
        }
    }
}
