//! The receive stream of a connection.
//!
//! An ACK is delayed (RFC 1122, RFC 5681 4.2) only for a segment in order without a gap behind it. A segment that is
//! out of order, fills a gap, is a duplicate or ends a message is acknowledged at once; with [`Config::ack_first`] also
//! the first one of a connection.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use trimline_packet::{Flags, Header, HostId, Kind, Packet, PathId, Time};

use super::config::{Config, Notifications, ReceiverStatistics};
use super::segment::{self, Block, Blocks, Extra, MARK_CWR};
use super::sender::draw_path;
use crate::arrivals::{Arrivals, WINDOW_LIMIT};
use crate::shell::UsePaths;
use crate::{Key, PathList, RngStream};

/// Max remembered blocks; an ACK names at most three.
const REMEMBERED: usize = 8;

/// The receive side of one subflow.
#[derive(Debug)]
struct Side {
    arrivals: Arrivals,
    /// One past the highest segment that arrived.
    end: u32,
    /// Runs beyond the first gap, last changed first; `None` before the first gap.
    runs: Option<Box<Runs>>,
    /// Segments since the last ACK.
    pending: u8,
    /// True if the ACKs echo congestion.
    echoes: bool,
    acked: u32,
    stamp: u32,
    /// Option word of the last ACK.
    said: u32,
    /// Bytes beyond the first gap, with FastLane.
    beyond: Option<Box<Beyond>>,
    due: Time,
    path: PathId,
}

/// Payload that arrived beyond the first gap.
#[derive(Clone, Debug, Default)]
struct Beyond {
    bytes: u32,
    /// Segments that are not full: ends of messages.
    short: Vec<(u32, u16)>,
}

impl Beyond {
    fn insert(&mut self, sequence: u32, bytes: u16, full: u16) {
        self.bytes += u32::from(bytes);
        if bytes != full {
            self.short.push((sequence, bytes));
        }
    }

    /// Forgets `count` segments, all before `base`, which are now in order.
    fn forget(&mut self, count: u32, base: u32, full: u16) {
        let mut bytes = count * u32::from(full);
        self.short.retain(|&(sequence, length)| {
            let is_kept = sequence.wrapping_sub(base) as i32 >= 0;
            if !is_kept {
                bytes -= u32::from(full - length);
            }
            is_kept
        });
        self.bytes -= bytes;
    }
}

/// Runs of segments beyond a gap, most recent first.
#[derive(Clone, Copy, Debug, Default)]
struct Runs {
    list: [Block; REMEMBERED],
    count: u8,
}

impl Runs {
    fn remove(&mut self, place: usize) -> Block {
        let block = self.list[place];
        self.list.copy_within(place + 1..usize::from(self.count), place);
        self.count -= 1;
        block
    }

    /// Adds a segment that arrived out of order for the first time.
    fn insert(&mut self, sequence: u32) {
        let mut run = (sequence, 1u32);
        let mut place = 0;
        while place < usize::from(self.count) {
            let (first, length) = self.list[place];
            if first.wrapping_add(length) == run.0 {
                run = (first, length + run.1);
            } else if run.0.wrapping_add(run.1) == first {
                run.1 += length;
            } else {
                place += 1;
                continue;
            }
            self.remove(place);
        }
        // The oldest run is forgotten: the sender knows it.
        let kept = usize::from(self.count).min(REMEMBERED - 1);
        self.list.copy_within(..kept, 1);
        self.list[0] = run;
        self.count = kept as u8 + 1;
    }

    fn forget_before(&mut self, number: u32) {
        let mut place = 0;
        while place < usize::from(self.count) {
            if (self.list[place].0.wrapping_sub(number) as i32) < 0 {
                self.remove(place);
            } else {
                place += 1;
            }
        }
    }

    fn blocks(&self, max: usize) -> Blocks {
        let mut blocks = Blocks::NONE;
        for &block in self.list[..usize::from(self.count)].iter().take(max) {
            blocks.push(block);
        }
        blocks
    }
}

/// The receive stream.
#[derive(Debug)]
pub struct Receiver {
    first: Side,
    others: Vec<Side>,
    /// Arrivals of the connection, with several subflows.
    whole: Arrivals,
    /// One past the last segment of the newest message with a known end.
    end: Option<u32>,
    /// True once the application knows that all before `end` arrived.
    pub(super) is_delivered: bool,
    /// Class of the segments and their ACKs.
    class: u8,
    stream: RngStream,
    pub(super) statistics: ReceiverStatistics,
}

impl Side {
    fn new(path: PathId) -> Side {
        Side {
            arrivals: Arrivals::default(),
            end: 0,
            runs: None,
            pending: 0,
            echoes: false,
            acked: 0,
            stamp: 0,
            said: 0,
            beyond: None,
            due: Time::NEVER,
            path,
        }
    }
}

impl UsePaths for Receiver {
    fn use_paths(&mut self, paths: PathList, _stream: impl FnOnce() -> RngStream) {
        self.keep_to(&paths);
    }
}

impl Receiver {
    pub(super) fn new(paths: &[PathId], mut stream: RngStream) -> Receiver {
        let path = draw_path(paths, &mut stream);
        Receiver {
            first: Side::new(path),
            others: Vec::new(),
            whole: Arrivals::default(),
            end: None,
            is_delivered: false,
            class: 0,
            stream,
            statistics: ReceiverStatistics::default(),
        }
    }

    #[inline]
    pub(super) fn knows(&self, subflow: u8) -> bool {
        usize::from(subflow) <= self.others.len()
    }

    #[cold]
    pub(super) fn join(&mut self, subflow: u8, paths: &[PathId]) {
        while !self.knows(subflow) {
            let path = draw_path(paths, &mut self.stream);
            self.others.push(Side::new(path));
        }
    }

    #[inline]
    fn side(&mut self, number: u8) -> &mut Side {
        match number {
            0 => &mut self.first,
            number => &mut self.others[usize::from(number) - 1],
        }
    }

    /// Returns whether everything arrived up to the newest known end.
    #[inline]
    pub(super) fn is_complete(&self, config: &Config) -> bool {
        let base = if config.subflows > 1 { self.whole.base() } else { self.first.arrivals.base() };
        self.end == Some(base)
    }

    /// Receives a segment or a bare SYN. Its ACK goes to `control`, or waits for [`Receiver::deadline`]. Returns the
    /// number of new data.
    #[inline]
    pub(super) fn arrive(
        &mut self,
        now: Time,
        packet: &Packet,
        config: &Config,
        host: HostId,
        key: &Key,
        control: &mut VecDeque<Packet>,
    ) -> Option<u32> {
        let header = &packet.header;
        let number = segment::subflow(header.flags);
        self.class = header.flags.class();
        let bytes = segment::payload(packet);
        if bytes == 0 {
            // A SYN may be repeated after data has arrived. No subflow resends what its answer acknowledges, so the
            // answer also carries the connection's number (RFC 8684 3.3.2).
            let extra = match config.subflows {
                0 | 1 => Extra::Nothing,
                _ => Extra::Connection(self.whole.base()),
            };
            control.push_back(self.ack(config, host, key, number, Flags::SYN, extra));
            return None;
        }
        let is_single = config.subflows <= 1;
        let ahead = header.extra.wrapping_sub(self.whole.base()) as i32;
        let side = self.side(number);
        let (sequence, data) = match is_single {
            true => (header.sequence, header.sequence),
            false => (segment::whole(header.sequence, side.arrivals.base()), header.extra),
        };
        let offset = sequence.wrapping_sub(side.arrivals.base());
        if offset as i32 >= i32::from(config.receive_window)
            || !is_single && ahead >= WINDOW_LIMIT as i32
        {
            return None;
        }
        let is_known = (offset as i32) < 0 || side.arrivals.contains(sequence);
        let is_marked = packet.marks & Packet::MARK_CE != 0;
        if config.ecn {
            if config.control.echoes_each_mark() {
                // RFC 8257 3.2: earlier segments are acknowledged with their own mark.
                if side.echoes != is_marked && side.pending > 0 {
                    let ack = self.answer(config, host, key, number, None);
                    control.push_back(ack);
                }
                self.side(number).echoes = is_marked;
            } else {
                // RFC 3168 6.1.3: until the sender says that it has acted.
                side.echoes &= packet.marks & MARK_CWR == 0;
                side.echoes |= is_marked;
            }
        }
        self.statistics.marked += u64::from(is_marked);
        let side = self.side(number);
        let is_behind_gap = side.end.wrapping_sub(side.arrivals.base()) as i32 > 0;
        let is_in_order = offset == 0;
        // RFC 7323 4.3 (2): the stamp of the segment that the last ACK asked for. A late copy has an older stamp: a
        // waiting ACK does not echo it.
        let (stamp, unused) = if is_single { (header.extra, 0) } else { (header.sequence, 16) };
        let is_older = ((stamp << unused).wrapping_sub(side.stamp << unused) as i32) < 0;
        if sequence.wrapping_sub(side.acked) as i32 <= 0 && !(is_older && side.pending > 0) {
            side.stamp = stamp;
        }
        if !is_known {
            let base = side.arrivals.base();
            side.arrivals.insert(sequence);
            if config.notifications.fastlane().is_some() && (!is_in_order || is_behind_gap) {
                let beyond = side.beyond.get_or_insert_default();
                if is_in_order {
                    // All but the segment itself had arrived before.
                    let passed = side.arrivals.base().wrapping_sub(base) - 1;
                    beyond.forget(passed, side.arrivals.base(), config.payload_bytes);
                } else {
                    beyond.insert(sequence, bytes, config.payload_bytes);
                }
            }
            if sequence.wrapping_sub(side.end) as i32 >= 0 {
                side.end = sequence.wrapping_add(1);
            }
            if config.sack && (!is_in_order || is_behind_gap) {
                let runs = side.runs.get_or_insert_default();
                if !is_in_order {
                    runs.insert(sequence);
                }
                runs.forget_before(side.arrivals.base());
            }
        }
        if header.flags.contains(Flags::LAST) {
            self.received_last(data.wrapping_add(1));
        }
        let is_new = if is_single {
            !is_known
        } else {
            let is_new = ahead >= 0 && !self.whole.contains(data);
            if is_new {
                self.whole.insert(data);
            }
            is_new
        };
        let statistics = &mut self.statistics;
        if is_new {
            statistics.packets += 1;
            statistics.bytes += u64::from(bytes);
        } else {
            statistics.duplicates += 1;
        }
        let is_last = self.end.is_some() && self.is_complete(config);
        let side = self.side(number);
        side.pending = side.pending.saturating_add(1);
        let is_due = is_known
            || !is_in_order
            || is_behind_gap
            || is_last
            || side.pending >= config.ack_every
            || header.flags.contains(Flags::LAST)
            || config.ack_first && sequence == 0;
        if packet.marks & Packet::MARK_DELAYED_ACK != 0 {
            // HULL 4.1: one ACK covers all segments that the NIC hands over together. The last of them follows now.
            if is_due {
                side.pending = side.pending.max(config.ack_every);
            }
        } else if is_due {
            let twice = (is_known && config.dsack).then_some(sequence);
            let ack = self.answer(config, host, key, number, twice);
            control.push_back(ack);
        } else if side.due == Time::NEVER {
            side.due = now.saturating_add(config.ack_delay);
        }
        if self.is_complete(config) {
            self.shrink();
        }
        is_new.then_some(data)
    }

    /// Notes that a message ends before segment `end`, unless a later end is known.
    #[inline]
    fn received_last(&mut self, end: u32) {
        if self.end.is_none_or(|known| end.wrapping_sub(known) as i32 > 0) {
            self.end = Some(end);
            self.is_delivered = false;
        }
    }

    /// Frees memory after everything arrived, unless part of a later message is there.
    #[cold]
    fn shrink(&mut self) {
        for side in core::iter::once(&mut self.first).chain(&mut self.others) {
            if side.end == side.arrivals.base() {
                side.arrivals.shrink();
                (side.runs, side.beyond) = (None, None);
            }
        }
        if self.whole.is_dense() {
            self.whole.shrink();
        }
    }

    #[inline]
    fn answer(
        &mut self,
        config: &Config,
        host: HostId,
        key: &Key,
        number: u8,
        twice: Option<u32>,
    ) -> Packet {
        let side = self.side(number);
        side.pending = 0;
        side.due = Time::NEVER;
        side.acked = side.arrivals.base();
        let stamp = side.stamp;
        let beyond = side.beyond.as_ref().map_or(0, |beyond| beyond.bytes);
        let has_gap = side.end != side.acked;
        let blocks = match &side.runs {
            Some(runs) if has_gap => runs.blocks(3),
            _ => Blocks::NONE,
        };
        let extra = match twice {
            _ if config.subflows > 1 => Extra::Connection(self.whole.base()),
            Some(sequence) => Extra::Twice(sequence, blocks),
            None if blocks != Blocks::NONE => Extra::Blocks(blocks),
            None if has_gap && beyond > 0 => Extra::Beyond(beyond),
            None if config.timestamps => Extra::Echo(stamp),
            None => Extra::Nothing,
        };
        self.ack(config, host, key, number, 0, extra)
    }

    fn ack(
        &mut self,
        config: &Config,
        host: HostId,
        key: &Key,
        number: u8,
        flags: u8,
        extra: Extra,
    ) -> Packet {
        let flags = Flags::default().with(flags).with_class(self.class);
        let side = self.side(number);
        let mut sequence = side.arrivals.base();
        let (mut marks, extra) = extra.encode(sequence);
        side.said = extra;
        if config.subflows > 1 {
            sequence = segment::short_echo(sequence, side.stamp);
        }
        if config.ecn && side.echoes {
            marks |= Packet::MARK_ECE;
        }
        let header = Header {
            kind: Kind::Ack,
            flags: segment::of_subflow(flags, number),
            path: side.path,
            connection: key.connection,
            sequence,
            extra,
        };
        Packet { marks, ..Packet::control(host, key.peer, header) }
    }

    /// Answers a trimmed segment with a NACK that names it, unless the segment has arrived (CP).
    #[cold]
    pub(super) fn arrive_trimmed(
        &mut self,
        packet: &Packet,
        config: &Config,
        host: HostId,
        key: &Key,
        control: &mut VecDeque<Packet>,
    ) {
        if config.notifications != Notifications::CutPayload {
            return;
        }
        let header = &packet.header;
        self.class = header.flags.class();
        let arrivals = &self.first.arrivals;
        let offset = header.sequence.wrapping_sub(arrivals.base()) as i32;
        if offset < 0 || arrivals.contains(header.sequence) {
            return;
        }
        let nack = Header {
            kind: Kind::Nack,
            flags: Flags::default().with_class(self.class),
            path: self.first.path,
            connection: key.connection,
            sequence: header.sequence,
            extra: 0,
        };
        control.push_back(Packet::control(host, key.peer, nack));
    }

    /// Handles a notification of a dropped ACK: resends it at once, with the present state, unless a later ACK replaced
    /// it (FastLane 3.4.1: control packets that need to be resent).
    pub(super) fn receive_notification(
        &mut self,
        packet: &Packet,
        config: &Config,
        host: HostId,
        key: &Key,
        control: &mut VecDeque<Packet>,
    ) {
        if config.notifications.fastlane().is_none() {
            return;
        }
        let (header, side) = (&packet.header, &self.first);
        if header.flags.contains(Flags::SYN) {
            // Data shows that the answer to the SYN arrived.
            if side.end == 0 {
                control.push_back(self.ack(config, host, key, 0, Flags::SYN, Extra::Nothing));
            }
        } else if (header.sequence, header.extra) == (side.acked, side.said) {
            control.push_back(self.answer(config, host, key, 0, None));
        }
    }

    /// Sends due ACKs. Returns the next deadline.
    pub(super) fn expire(
        &mut self,
        now: Time,
        config: &Config,
        host: HostId,
        key: &Key,
        control: &mut VecDeque<Packet>,
    ) -> Time {
        for number in 0..=self.others.len() as u8 {
            if self.side(number).due <= now {
                control.push_back(self.answer(config, host, key, number, None));
            }
        }
        self.deadline()
    }

    #[inline]
    pub(super) fn deadline(&self) -> Time {
        self.others.iter().map(|side| side.due).fold(self.first.due, Time::min)
    }

    pub(super) fn keep_to(&mut self, paths: &[PathId]) {
        if paths.is_empty() {
            return;
        }
        let (first, others, stream) = (&mut self.first, &mut self.others, &mut self.stream);
        for side in core::iter::once(first).chain(others) {
            if !paths.contains(&side.path) {
                side.path = draw_path(paths, stream);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::Control;
    use super::super::tests::config;
    use super::*;
    use crate::Side;
    use rand_xoshiro::rand_core::SeedableRng;
    use trimline_packet::{ConnectionId, Service};

    struct Lone {
        receiver: Receiver,
        config: Config,
    }

    impl Lone {
        fn new(config: Config) -> Lone {
            let receiver = Receiver::new(&[PathId::new(0)], RngStream::seed_from_u64(1));
            Lone { receiver, config }
        }

        fn answers(&mut self, sequence: u32, is_marked: bool) -> VecDeque<Packet> {
            let congested = if is_marked { Packet::MARK_CE } else { 0 };
            self.answers_to(sequence, Packet::MARK_ECT | congested)
        }

        fn answers_to(&mut self, sequence: u32, marks: u8) -> VecDeque<Packet> {
            let (peer, connection) = (HostId::new(1), ConnectionId::new(0));
            let host = HostId::new(0);
            let packet = Packet {
                source: peer,
                destination: host,
                header: Header {
                    kind: Kind::Data,
                    flags: Flags::default().with(Flags::FROM_OPENER),
                    path: PathId::new(0),
                    connection,
                    sequence,
                    extra: 0,
                },
                wire_bytes: 9064,
                service: Service::Droppable.into(),
                marks,
            };
            let key = Key { peer, connection, opened_here: false, side: Side::Receiving };
            let mut answers = VecDeque::new();
            self.receiver.arrive(Time::ZERO, &packet, &self.config, host, &key, &mut answers);
            answers
        }
    }

    /// RFC 8257 3.2: an ACK of two segments never mixes marked and unmarked ones, and no ACK is repeated.
    #[test]
    fn no_ack_covers_marked_and_unmarked_segments() {
        let seen = |marks: &[bool]| {
            let control = Control::Dctcp { gain_shift: 4 };
            let mut lone = Lone::new(Config { control, ecn: true, ack_every: 2, ..config() });
            let mut seen = Vec::new();
            for (sequence, &is_marked) in (0..).zip(marks) {
                let echo = |ack: Packet| (ack.header.sequence, ack.marks & Packet::MARK_ECE != 0);
                let answers = lone.answers(sequence, is_marked);
                seen.extend(answers.into_iter().map(|ack| (sequence, echo(ack))));
            }
            seen
        };
        let expected = [(1, (1, false)), (2, (3, true)), (4, (4, true)), (5, (6, false))];
        assert_eq!(seen(&[false, true, true, true, false, false]), expected);
        assert_eq!(seen(&[false, false, true, true]), [(1, (2, false)), (3, (4, true))]);
    }

    /// HULL 4.1: segments handed over together have one ACK, at the last one. A lone segment waits for another as
    /// usual; what needs an ACK at once gets it then.
    #[test]
    fn coalesced_segments_are_acknowledged_together() {
        let mut lone = Lone::new(Config { ack_every: 2, ..config() });
        let mut acks = |sequence, is_joined| {
            let marks = if is_joined { Packet::MARK_DELAYED_ACK } else { 0 };
            let answers = lone.answers_to(sequence, marks);
            answers.into_iter().map(|ack| ack.header.sequence).collect::<Vec<_>>()
        };
        assert_eq!(acks(0, false), []);
        assert_eq!(acks(1, false), [2]);
        for sequence in 2..300 {
            assert_eq!(acks(sequence, true), []);
        }
        assert_eq!(acks(300, false), [301]);
        assert_eq!(acks(301, false), [], "alone, it waits for another");
        // A gap: the first segment behind it is joined with the second, whose ACK reports it at once.
        assert_eq!(acks(303, true), []);
        assert_eq!(acks(304, false), [302]);
        assert_eq!(acks(302, true), []);
        assert_eq!(acks(305, false), [306]);
    }

    /// RFC 2018 4: a block is a run of neighbours. The newest segment's block is always included, the most recent
    /// others follow, and no block lies before the number.
    #[test]
    fn sack_blocks_are_contiguous_and_the_newest_come_first() {
        let mut lone = Lone::new(Config { sack: true, ..config() });
        let mut said = |sequence| {
            let ack = lone.answers(sequence, false)[0];
            match Extra::decode(ack.marks, ack.header.sequence, ack.header.extra) {
                Extra::Blocks(blocks) => (ack.header.sequence, blocks.as_slice().to_vec()),
                other => (ack.header.sequence, alloc::vec![(0, other.encode(0).1)]),
            }
        };
        assert_eq!(said(2), (0, alloc::vec![(2, 1)]));
        assert_eq!(said(4), (0, alloc::vec![(2, 1), (4, 1)]));
        // Behind a run, before a run, and between two.
        assert_eq!(said(5), (0, alloc::vec![(2, 1), (4, 2)]));
        assert_eq!(said(3), (0, alloc::vec![(2, 4)]));
        assert_eq!(said(1), (0, alloc::vec![(1, 5)]));
        for far in [8, 12] {
            said(far);
        }
        // Of four runs the three that changed last.
        assert_eq!(said(10), (0, alloc::vec![(8, 1), (10, 1), (12, 1)]));
        assert_eq!(said(6), (0, alloc::vec![(1, 6), (10, 1), (12, 1)]));
        // Acknowledged segments are in no block.
        assert_eq!(said(0), (7, alloc::vec![(8, 1), (10, 1), (12, 1)]));
    }
}
