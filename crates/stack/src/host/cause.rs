//! The cause in a RESET, so that the other end can name it: the low byte of the header's last word, which RESET does not
//! use otherwise. A host that does not know of causes sends 0 and ignores others.

use std::fmt;

use super::Failure;

/// The cause for which the other end ended or refused a connection, as it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Cause {
    /// It named none, or one that this version does not know.
    Unknown = 0,
    /// Nobody listens on that service there, or the connection is not known any more.
    NoService = 1,
    /// Its application wants nothing of the connection any more, or has stopped.
    Ended = 2,
    /// The deadline of its connection has passed.
    Deadline = 3,
    /// It has no room for the rest of a message ([`super::Limits`]).
    NoRoom = 4,
    /// A message was longer than it takes ([`super::Limits::message_bytes`]).
    TooLong = 5,
    /// None of its data arrived here for as long as it waits.
    Stalled = 6,
    /// Its packets are longer than the path carries.
    PathMtu = 7,
    /// A message arrived with another CRC-32C than it was sent with.
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

    /// The cause in the last word of a RESET.
    pub(super) fn of_word(extra: u32) -> Cause {
        Cause::ALL.into_iter().find(|&cause| cause as u32 == extra & 0xff).unwrap_or(Cause::Unknown)
    }

    /// The cause that the other end is told of a failure here.
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
                "the peer refused the connection: nobody listens on this service there, or it does not know the connection"
            }
            Cause::Ended => "the peer ended the connection: its application has stopped",
            Cause::Deadline => "the peer ended the connection: its deadline has passed",
            Cause::NoRoom => "the peer ended the connection: it has no room for the rest of a message",
            Cause::TooLong => "the peer ended the connection: a message is longer than it takes",
            Cause::Stalled => "the peer ended the connection: none of its data arrived here",
            Cause::PathMtu => {
                "the peer ended the connection: its packets are longer than the path carries; set --mtu at both ends"
            }
            Cause::Altered => "the peer ended the connection: a message arrived with another CRC-32C",
        })
    }
}
