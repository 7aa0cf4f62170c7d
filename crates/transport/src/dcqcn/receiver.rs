//! The receive stream of a connection, the notification point: takes packets in order, answers them, and reports marks.

use trimline_packet::{Flags, Header, HostId, Kind, Packet, Time};

use super::config::{Config, ReceiverStatistics};
use super::{ACK_REQUEST, MARK_CNP};
use crate::shell::UsePaths;
use crate::way::Way;
use crate::{Key, PathList, RngStream};

/// The receive stream.
#[derive(Debug)]
pub struct Receiver {
    /// The next missing packet.
    expected: u32,
    /// True if a NACK has named the missing packet.
    is_named: bool,
    /// Earliest time of the next CNP.
    cnp_after: Time,
    pub(super) way: Way,
    pub(super) statistics: ReceiverStatistics,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrived {
    /// The missing packet; a message may end with it.
    InOrder {
        ends_message: bool,
    },
    OutOfOrder,
}

impl UsePaths for Receiver {
    fn use_paths(&mut self, paths: PathList, stream: impl FnOnce() -> RngStream) {
        self.way.keep_to(&paths, stream);
    }
}

impl Receiver {
    pub(super) fn new(way: Way) -> Receiver {
        Receiver {
            expected: 0,
            is_named: false,
            cnp_after: Time::ZERO,
            way,
            statistics: ReceiverStatistics::default(),
        }
    }

    fn control(&self, kind: Kind, sequence: u32, data: &Packet, host: HostId, key: &Key) -> Packet {
        let Header { flags, connection, .. } = data.header;
        let flags = Flags::default().with_class(flags.class());
        let header = Header { kind, flags, path: self.way.path(), connection, sequence, extra: 0 };
        Packet::control(host, key.peer, header)
    }

    /// Makes a CNP for a marked packet if the last CNP was long enough ago. DCQCN 3.1: one per flow and 50 us, when a
    /// marked packet arrives.
    #[inline]
    pub(super) fn notify(
        &mut self,
        now: Time,
        data: &Packet,
        config: &Config,
        host: HostId,
        key: &Key,
    ) -> Option<Packet> {
        if data.marks & Packet::MARK_CE == 0 {
            return None;
        }
        self.statistics.marked += 1;
        if now < self.cnp_after {
            return None;
        }
        self.cnp_after = now + config.cnp_interval;
        self.statistics.cnps += 1;
        let cnp = self.control(Kind::Ack, 0, data, host, key);
        Some(Packet { marks: MARK_CNP, ..cnp })
    }

    /// Receives a whole data packet. Returns its order and the answer.
    #[inline]
    pub(super) fn arrive(
        &mut self,
        data: &Packet,
        host: HostId,
        key: &Key,
    ) -> (Arrived, Option<Packet>) {
        let Header { sequence, flags, .. } = data.header;
        let beyond = sequence.wrapping_sub(self.expected);
        if beyond == 0 {
            self.expected = sequence.wrapping_add(1);
            self.is_named = false;
            self.statistics.packets += 1;
            self.statistics.bytes += u64::from(data.header.payload_length());
            let ack = flags.contains(ACK_REQUEST);
            let ack = ack.then(|| self.control(Kind::Ack, self.expected, data, host, key));
            return (Arrived::InOrder { ends_message: flags.contains(Flags::LAST) }, ack);
        }
        self.statistics.discarded += 1;
        if beyond < 1 << 31 {
            // InfiniBand 9.7.5.2.8: named once, until it has come.
            let is_new = !core::mem::replace(&mut self.is_named, true);
            let nack = is_new.then(|| self.control(Kind::Nack, self.expected, data, host, key));
            return (Arrived::OutOfOrder, nack);
        }
        // A duplicate: the ACK was lost, or is on its way.
        let ack = self.control(Kind::Ack, self.expected, data, host, key);
        (Arrived::OutOfOrder, Some(ack))
    }
}
