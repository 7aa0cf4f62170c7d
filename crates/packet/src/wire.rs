//! The wire format: Ethernet, IPv4 or IPv6, UDP, 16 bytes of header, payload, extension.
//!
//! Switches that trim do not know this protocol: they select packets by DSCP, cut them at a byte count and write
//! another DSCP. So the 16 bytes after UDP, which survive a trim to 64 bytes, hold everything that recovery needs. DSCP
//! and length reveal a trim, without a flag from the switch. Lengths and UDP checksum of a trimmed packet are not
//! trusted: the 16 bytes have their own checksum.
//!
//! | module | what |
//! |---|---|
//! | [`header`] | the 16 bytes: [`View`] their bytes, [`Fields`] their meaning |
//! | [`extension`] | records behind the payload, which a cut may take |
//! | [`profile`] | the DSCP and the cut of a deployed kind of switch |
//! | [`frame`] | [`Frame`] the bytes of a whole frame, [`Datagram`] its meaning; trim, bounce |
//! | [`labels`] | MPLS labels before the IP header: [`LabelStack`] |
//! | [`route`] | addresses and ports to hosts and paths: a [`Datagram`] and a [`crate::Packet`] |
//!
//! Hosts that share a key put an unforgeable tag of eight bytes between the 16 bytes and the payload ([`Frame::tag`]).
//! To switches it is payload.
//!
//! Parsers are total: no bytes make them panic. Emitted frames parse back. Out of scope: sockets, ARP, routing,
//! fragments (which are refused).

mod checksum;
pub mod extension;
pub mod frame;
pub mod header;
pub mod labels;
pub mod profile;
pub mod route;

#[cfg(test)]
mod tests;

use core::fmt;

pub use extension::{ACKED_BYTES, Record, Records, TOKEN_BYTES};
pub use frame::{Datagram, Ethernet, Frame, Lengths, Parsed, TAG_BYTES, Tag};
pub use header::{Fields, HEADER_BYTES, View};
pub use labels::LabelStack;
pub use profile::Profile;
pub use route::Routes;

/// The reason why bytes were refused or not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// Kind of error.
    pub what: What,
    /// Offset of the offending byte from the start of the parsed bytes.
    pub at: usize,
}

/// Declares [`What`] with name and description of each variant.
macro_rules! what {
    ($($(#[$doc:meta])+ $variant:ident $name:literal $words:literal,)+) => {
        /// Kinds of errors in bytes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum What {
            $($(#[$doc])+ $variant,)+
        }

        impl What {
            /// All kinds, indexed by number (`what as usize`).
            pub const ALL: [What; [$($name),+].len()] = [$(What::$variant),+];

            /// Counter name of this kind.
            pub const fn name(self) -> &'static str {
                match self {
                    $(What::$variant => $name,)+
                }
            }

            const fn words(self) -> &'static str {
                match self {
                    $(What::$variant => $words,)+
                }
            }
        }
    };
}

what! {
    /// Bytes end inside a header, or the buffer is too small.
    Truncated "truncated" "bytes end too early",
    /// EtherType is neither IPv4 nor IPv6.
    EtherType "ether_type" "neither IPv4 nor IPv6",
    /// IP version contradicts the EtherType, or the address families differ.
    IpVersion "ip_version" "wrong IP version",
    /// IPv4 header is shorter than 20 bytes.
    IpHeader "ip_header" "IPv4 header too short",
    /// Packet is a fragment.
    Fragment "fragment" "a fragment",
    /// Protocol is not UDP.
    Protocol "protocol" "not UDP",
    /// IPv4 header checksum does not match.
    IpChecksum "ip_checksum" "IPv4 header checksum does not match",
    /// UDP checksum of a complete packet does not match, or is missing.
    UdpChecksum "udp_checksum" "UDP checksum does not match",
    /// UDP port is not the protocol's.
    Port "port" "not this protocol's UDP port",
    /// Length does not fit its field, or contradicts the header.
    Length "length" "impossible length",
    /// Checksum of the 16 bytes does not match: refuse and count.
    Check "check" "header check does not match",
    /// Header version is unknown.
    Version "version" "unknown header version",
    /// Packet type is unknown.
    Kind "kind" "unknown packet type",
    /// Profile does not name the DSCP, or this packet type never has it.
    Service "service" "DSCP not in the profile, or not for this packet type",
    /// IP cannot express the congestion marks.
    Marks "marks" "marks that IP cannot express",
    /// Extension record is cut, or its value has a wrong length or range.
    Record "record" "malformed extension record",
    /// Tag does not match the key, or is missing.
    Tag "tag" "tag does not match",
    /// Address without host, or host or path without address.
    Address "address" "no such address",
}

impl Error {
    pub(crate) const fn new(what: What, at: usize) -> Error {
        Error { what, at }
    }

    /// Moves the error by `by` bytes, from a header to its frame.
    pub(crate) const fn moved(self, by: usize) -> Error {
        Error { what: self.what, at: self.at + by }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.what.words(), self.at)
    }
}

impl core::error::Error for Error {}
