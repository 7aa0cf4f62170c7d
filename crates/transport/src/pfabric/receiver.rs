//! The receive stream of a flow: arrivals and ACKs.

use trimline_packet::{Flags, Header, HostId, Kind, Packet};

use crate::flow::Statistics;
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
    pub(super) was_delivered: bool,
    pub(super) statistics: Statistics,
}

impl UsePaths for Receiver {
    fn use_paths(&mut self, paths: PathList, _stream: impl FnOnce() -> RngStream) {
        self.paths.replace(paths);
    }
}

impl Receiver {
    pub(super) fn new(key: Key, paths: Spray) -> Receiver {
        Receiver {
            key,
            paths,
            packets: None,
            arrivals: Arrivals::default(),
            was_delivered: false,
            statistics: Statistics::default(),
        }
    }

    /// Receives a packet. Returns whether it is new; `None` if it lies [`WINDOW_LIMIT`] or more packets ahead.
    pub(super) fn arrive(&mut self, header: &Header, bytes: u16) -> Option<bool> {
        let offset = header.sequence.wrapping_sub(self.arrivals.base());
        let is_before = (offset as i32) < 0;
        if !is_before && offset >= WINDOW_LIMIT {
            return None;
        }
        if header.flags.contains(Flags::LAST) {
            self.packets = Some(header.sequence.wrapping_add(1));
        }
        let is_new = !is_before && !self.arrivals.contains(header.sequence);
        if is_new {
            self.arrivals.insert(header.sequence);
            self.statistics.packets += 1;
            self.statistics.bytes += u64::from(bytes);
        }
        Some(is_new)
    }

    pub(super) fn is_complete(&self) -> bool {
        self.packets == Some(self.arrivals.base())
    }

    pub(super) fn ack(&mut self, host: HostId, sequence: u32) -> Packet {
        let header = Header {
            kind: Kind::Ack,
            flags: Flags::default(),
            path: self.paths.next_path(),
            connection: self.key.connection,
            sequence,
            extra: self.arrivals.base(),
        };
        Packet::control(host, self.key.peer, header)
    }

    /// Returns whether to resend a dropped ACK because no later ACK covers it: a later ACK covers all packets before
    /// the first missing one.
    pub(super) fn needs_again(&self, ack: &Header) -> bool {
        let base = self.arrivals.base();
        ack.extra == base || ack.sequence.wrapping_sub(base) as i32 >= 0
    }

    /// Frees memory after everything arrived.
    pub(super) fn shrink(&mut self) {
        self.arrivals.shrink();
    }
}
