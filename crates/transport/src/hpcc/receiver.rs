//! The receive stream of a connection: takes packets, and answers each with its telemetry.

use alloc::vec::Vec;

use trimline_packet::{Flags, Header, HostId, Kind, Packet};

use super::FRAMING;
use super::config::{ReceiverStatistics, Resend};
use crate::shell::UsePaths;
use crate::way::Way;
use crate::{Arrivals, Key, PathList, RngStream, WINDOW_LIMIT};

/// The receive stream.
#[derive(Debug)]
pub struct Receiver {
    /// The packets that were taken; with go-back-N none beyond the first missing one.
    arrivals: Arrivals,
    /// True if a NACK has named the missing packet.
    is_named: bool,
    /// Ends of messages beyond the first missing packet.
    ends: Vec<u32>,
    way: Way,
    pub(super) statistics: ReceiverStatistics,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arrived {
    /// The application gets it.
    pub(super) is_taken: bool,
    /// Messages that are complete with it.
    pub(super) messages: u32,
    /// The answer.
    pub(super) answer: Option<Packet>,
}

impl UsePaths for Receiver {
    fn use_paths(&mut self, paths: PathList, stream: impl FnOnce() -> RngStream) {
        self.way.keep_to(&paths, stream);
    }
}

impl Receiver {
    pub(super) fn new(way: Way) -> Receiver {
        Receiver {
            arrivals: Arrivals::default(),
            is_named: false,
            ends: Vec::new(),
            way,
            statistics: ReceiverStatistics::default(),
        }
    }

    fn answer(&self, kind: Kind, data: &Packet, host: HostId, key: &Key) -> Packet {
        let Header { flags, connection, sequence, .. } = data.header;
        let flags = Flags::default().with_class(flags.class());
        let (path, base) = (self.way.path(), self.arrivals.base());
        let header = Header { kind, flags, path, connection, sequence: base, extra: sequence };
        let answer = Packet::control(host, key.peer, header);
        Packet { wire_bytes: FRAMING.header, ..answer }
    }

    /// Receives a whole data packet.
    #[inline]
    pub(super) fn arrive(
        &mut self,
        data: &Packet,
        resend: Resend,
        host: HostId,
        key: &Key,
    ) -> Arrived {
        let sequence = data.header.sequence;
        let offset = sequence.wrapping_sub(self.arrivals.base()) as i32;
        let is_new = offset >= 0 && !self.arrivals.contains(sequence);
        let is_taken = match resend {
            Resend::GoBack => offset == 0,
            Resend::Selective => is_new && offset < WINDOW_LIMIT as i32,
        };
        if !is_taken {
            self.statistics.discarded += 1;
            let answer = match is_new {
                // InfiniBand 9.7.5.2.8: named once, until it has come.
                true => (!core::mem::replace(&mut self.is_named, true)).then_some(Kind::Nack),
                // A duplicate: the ACK was lost, or is on its way.
                false => Some(Kind::Ack),
            };
            let answer = answer.map(|kind| self.answer(kind, data, host, key));
            return Arrived { is_taken, messages: 0, answer };
        }
        self.arrivals.insert(sequence);
        self.is_named = false;
        self.statistics.packets += 1;
        self.statistics.bytes += u64::from(data.header.payload_length());
        if data.header.flags.contains(Flags::LAST) {
            self.ends.push(sequence);
        }
        let messages = if self.ends.is_empty() { 0 } else { self.complete() };
        Arrived { is_taken, messages, answer: Some(self.answer(Kind::Ack, data, host, key)) }
    }

    /// Counts and forgets the messages that are complete.
    fn complete(&mut self) -> u32 {
        let (before, base) = (self.ends.len(), self.arrivals.base());
        self.ends.retain(|&end| (end.wrapping_sub(base) as i32) >= 0);
        (before - self.ends.len()) as u32
    }
}
