//! The cause in a RESET, which the other end can report: the low byte of the header's last word, unused otherwise. A
//! host that does not know causes sends 0 and ignores others.

use std::fmt;

use super::Failure;

/// The cause for which the other end says it ended or refused a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Cause {
    /// It named no cause, or one that this version does not know.
    Unknown = 0,
    /// No application listens on that service there, or the connection is not known any more.
    NoService = 1,
    /// Its application has abandoned the connection or stopped.
    Ended = 2,
    /// The deadline of its connection has passed.
    Deadline = 3,
    /// It has no room for the rest of a message ([`super::Limits`]).
    NoRoom = 4,
    /// A message exceeded its maximum length ([`super::Limits::message_bytes`]).
    TooLong = 5,
    /// No data of it arrived here within its timeout.
    Stalled = 6,
    /// Its packets are longer than the path carries.
    PathMtu = 7,
    /// The CRC-32C of a message was not the one that it was sent with.
    Altered = 8,
}

impl Cause {
    const ALL: [Cause; 9] = [
        Cause::Unknown,
        Cause::NoService,
        Cause::Ended,
        Cause::Deadline,
        Cause::NoRoom,
        Cause::TooLong,
        Cause::Stalled,
        Cause::PathMtu,
        Cause::Altered,
    ];

    pub(super) fn of_word(extra: u32) -> Cause {
        Cause::ALL.into_iter().find(|&cause| cause as u32 == extra & 0xff).unwrap_or(Cause::Unknown)
    }

    pub(super) fn of(failure: Failure) -> Cause {
        match failure {
            Failure::Closed => Cause::Ended,
            Failure::Deadline => Cause::Deadline,
            Failure::NoRoom => Cause::NoRoom,
            Failure::TooLong => Cause::TooLong,
            Failure::Stalled(_) => Cause::Stalled,
            Failure::PathMtu(_) => Cause::PathMtu,
            Failure::Altered => Cause::Altered,
            Failure::Unreachable
            | Failure::Refused(_)
            | Failure::Full
            | Failure::Empty
            | Failure::Unchecked
            | Failure::DeadPeer(_) => Cause::Unknown,
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Cause::Unknown => "the peer refused or ended the connection",
            Cause::NoService => {
                "the peer refused the connection: no application listens on this service there, or the peer does not \
                 know the connection"
            }
            Cause::Ended => "the peer ended the connection: its application has stopped",
            Cause::Deadline => "the peer ended the connection: its deadline has passed",
            Cause::NoRoom => "the peer ended the connection: it has no room for the rest of a message",
            Cause::TooLong => "the peer ended the connection: a message is longer than it accepts",
            Cause::Stalled => "the peer ended the connection: none of its data arrived here",
            Cause::PathMtu => {
                "the peer ended the connection: its packets are longer than the path carries; set --mtu at both ends"
            }
            Cause::Altered => "the peer ended the connection: the CRC-32C of a message did not match",
        })
    }
}
