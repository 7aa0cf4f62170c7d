//! One half of a connection in the endpoint's table, and how far it has come.

use trimline_packet::{Flags, Header, HostId, Kind, Packet, PathId, Time};

use super::receiver::Receiver;
use super::sender::Sender;
use crate::Key;
use crate::round_robin::{Linked, Links};

/// How far a half has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    /// In use.
    Open,
    /// Closed by its application, with data still to be sent or ACKed.
    Closing,
    /// Remembered.
    TimeWait,
    /// Only its statistics are left.
    Released,
}

/// What a half does.
#[derive(Debug)]
pub(super) enum StreamState {
    /// The slot was never used: the directory began with a higher one.
    Vacant,
    /// It sends data.
    Sending(Sender),
    /// It receives data.
    Receiving(Receiver),
}

/// One half of a connection in the endpoint's table.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) links: Links,
    /// When the half is to be looked at; [`Time::NEVER`] if no timer is armed.
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
    /// The direction flag of the packets that this half sends.
    #[inline]
    pub(super) fn direction(&self) -> Flags {
        Flags::from_bits(if self.key.opened_here { Flags::FROM_OPENER } else { 0 })
    }

    /// A control packet of this half.
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
    /// The receiver behind a slot that is known to be of a receiving half.
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
