//! One stream in the endpoint's table, and its life.

use trimline_packet::{Flags, Header, HostId, Kind, Packet, PathId, Time};

use super::receiver::Receiver;
use super::sender::Sender;
use crate::Key;
use crate::round_robin::{Linked, Links};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    /// In use.
    Open,
    /// Closed by its application, with data still to be sent or ACKed.
    Closing,
    /// Remembered after its end.
    TimeWait,
    /// Only the statistics are left.
    Released,
}

#[derive(Debug)]
pub(super) enum StreamState {
    /// The slot was never used: the directory began with a higher one.
    Vacant,
    Sending(Sender),
    Receiving(Receiver),
}

#[derive(Debug)]
pub(super) struct Slot {
    pub(super) links: Links,
    /// The time of the stream's timer; [`Time::NEVER`] if not armed.
    pub(super) deadline: Time,
    pub(super) key: Key,
    pub(super) life: Life,
    pub(super) stream_state: StreamState,
}

impl Linked for Slot {
    #[inline]
    fn links(&mut self) -> &mut Links {
        &mut self.links
    }
}

impl Slot {
    #[inline]
    pub(super) fn direction(&self) -> Flags {
        Flags::from_bits(if self.key.opened_here { Flags::FROM_OPENER } else { 0 })
    }

    #[inline]
    pub(super) fn control(
        &self,
        host: HostId,
        kind: Kind,
        flags: Flags,
        path: PathId,
        sequence: u32,
        extra: u32,
    ) -> Packet {
        let connection = self.key.connection;
        let header = Header { kind, flags, path, connection, sequence, extra };
        Packet::control(host, self.key.peer, header)
    }
}

impl Receiver {
    /// Returns the receiver of a slot known to hold a receive stream.
    #[inline]
    pub(super) fn of(stream_state: &mut StreamState) -> &mut Receiver {
        match stream_state {
            StreamState::Receiving(receiver) => receiver,
            StreamState::Vacant | StreamState::Sending(_) => {
                panic!("what is asked of a receiver, of a half that is none")
            }
        }
    }
}
