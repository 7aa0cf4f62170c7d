//! The receive stream of a flow: counts packets in any order, and decides when to answer.

use trimline_packet::{Flags, Header, HostId, Kind, Packet};

use super::{ACK_REQUEST, BITMAP, NO_ECHO, bitmap_base};
use crate::flow::Statistics;
use crate::rccc::Demand;
use crate::shell::UsePaths;
use crate::spray::Spray;
use crate::{Arrivals, Key, PathList, RngStream, WINDOW_LIMIT};

/// The receive stream of a flow.
#[derive(Debug)]
pub struct Receiver {
    pub(super) key: Key,
    pub(super) paths: Spray,
    /// Packets of the flow, once the last one arrived.
    packets: Option<u32>,
    arrivals: Arrivals,
    /// Bytes on the wire since the last ACK.
    unanswered: u32,
    /// True if an ACK is owed once nothing is missing.
    is_asked: bool,
    pub(super) was_delivered: bool,
    pub(super) statistics: Statistics,
    /// The receiver's credit: what this flow wants and has got.
    pub(super) demand: Demand,
}

impl UsePaths for Receiver {
    fn use_paths(&mut self, paths: PathList, _stream: impl FnOnce() -> RngStream) {
        self.paths.replace(paths);
    }
}

/// An arrival, and the receiver's decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arrived {
    pub(super) is_new: bool,
    /// An ACK goes now.
    pub(super) is_answered: bool,
}

impl Receiver {
    pub(super) fn new(key: Key, paths: Spray) -> Receiver {
        Receiver {
            key,
            paths,
            packets: None,
            arrivals: Arrivals::default(),
            unanswered: 0,
            is_asked: false,
            was_delivered: false,
            statistics: Statistics::default(),
            demand: Demand::default(),
        }
    }

    fn has(&self, sequence: u32) -> bool {
        (sequence.wrapping_sub(self.arrivals.base()) as i32) < 0 || self.arrivals.contains(sequence)
    }

    /// Receives a whole packet. `None` if it lies [`WINDOW_LIMIT`] or more packets ahead.
    pub(super) fn arrive(&mut self, packet: &Packet, ack_every: u32) -> Option<Arrived> {
        let header = &packet.header;
        let offset = header.sequence.wrapping_sub(self.arrivals.base()) as i32;
        if offset >= WINDOW_LIMIT as i32 {
            return None;
        }
        let is_new = !self.has(header.sequence);
        self.unanswered = self.unanswered.saturating_add(packet.wire_bytes.into());
        let mut is_answered = !is_new
            || packet.marks & Packet::MARK_CE != 0
            || self.unanswered >= ack_every
            || self.statistics.packets == 0;
        if is_new {
            self.arrivals.insert(header.sequence);
            self.statistics.packets += 1;
            self.statistics.bytes += u64::from(header.payload_length());
            if header.flags.contains(Flags::LAST) {
                self.packets = Some(header.sequence.wrapping_add(1));
            }
            if header.flags.contains(ACK_REQUEST) {
                (is_answered, self.is_asked) = (true, true);
            }
            if self.is_asked && self.arrivals.is_dense() {
                (is_answered, self.is_asked) = (true, false);
            }
        }
        Some(Arrived { is_new, is_answered })
    }

    /// Returns the answer to a packet that was trimmed on its way: a NACK, or an ACK if it arrived before.
    pub(super) fn trimmed(&mut self, host: HostId, packet: &Packet) -> Packet {
        self.statistics.headers += 1;
        let sequence = packet.header.sequence;
        if self.has(sequence) {
            return self.ack(host, packet);
        }
        let marks = packet.marks & Packet::MARK_LAST_HOP | echoed(packet);
        Packet { marks, ..self.answer(host, packet, Kind::Nack, sequence, 0) }
    }

    /// Returns an ACK that echoes a packet.
    pub(super) fn ack(&mut self, host: HostId, packet: &Packet) -> Packet {
        self.unanswered = 0;
        let (echo, base) = (packet.header.sequence, self.arrivals.base());
        let first = bitmap_base(echo, base);
        let bit =
            |place: u32| u32::from(self.arrivals.contains(first.wrapping_add(place))) << place;
        let bitmap = (0..BITMAP).map(bit).fold(0, |bits, bit| bits | bit);
        let beyond = (self.statistics.packets as u32).wrapping_sub(base);
        let sequence = echo << 16 | base & 0xffff;
        let ack = self.answer(host, packet, Kind::Ack, sequence, beyond << 16 | bitmap);
        Packet { marks: echoed(packet), ..ack }
    }

    /// Returns the answer to an RTS: an ACK without an echo.
    pub(super) fn rts(&mut self, host: HostId, packet: &Packet) -> Packet {
        let header = Header { sequence: self.arrivals.base(), ..packet.header };
        let mut ack = self.ack(host, &Packet { header, marks: 0, ..*packet });
        ack.header.flags = ack.header.flags.with(NO_ECHO);
        ack
    }

    /// Returns a PULL with the count of all quanta granted.
    pub(super) fn pull(&mut self, host: HostId, granted: u32) -> Packet {
        let header = Header {
            kind: Kind::Pull,
            flags: Flags::default(),
            path: self.paths.next_path(),
            connection: self.key.connection,
            sequence: granted,
            extra: 0,
        };
        Packet::control(host, self.key.peer, header)
    }

    fn answer(
        &mut self,
        host: HostId,
        packet: &Packet,
        kind: Kind,
        sequence: u32,
        extra: u32,
    ) -> Packet {
        let header = Header {
            kind,
            flags: Flags::default().with_attempt(packet.header.flags.attempt()),
            path: self.paths.next_path(),
            connection: self.key.connection,
            sequence,
            extra,
        };
        Packet::control(host, self.key.peer, header)
    }

    pub(super) fn is_complete(&self) -> bool {
        self.packets == Some(self.arrivals.base())
    }

    /// Frees memory after everything arrived.
    pub(super) fn shrink(&mut self) {
        self.arrivals.shrink();
    }
}

const fn echoed(packet: &Packet) -> u8 {
    if packet.marks & Packet::MARK_CE != 0 { Packet::MARK_ECE } else { 0 }
}
