//! The form of a packet on the wire: Ethernet, IPv4 or IPv6, UDP, 16 bytes of header, payload,
//! extension.
//!
//! Switches that trim know nothing of this protocol: they select packets by DSCP, cut them at a byte
//! count and write another DSCP. So everything that recovery needs lies in the 16 bytes after UDP,
//! which survive a cut at 64 bytes; a cut is seen by DSCP and by length, never by a flag that the
//! switch would have had to set; and of a packet that was cut no length and no UDP checksum is
//! believed: the 16 bytes carry a check of their own.
//!
//! | module | what |
//! |---|---|
//! | [`header`] | the 16 bytes: [`View`] their bytes, [`Fields`] their meaning |
//! | [`extension`] | records behind the payload, which a cut may take |
//! | [`profile`] | the DSCP and the cut of a deployed kind of switch |
//! | [`frame`] | [`Frame`] the bytes of a whole frame, [`Datagram`] its meaning; trim, turn round |
//! | [`route`] | addresses and ports to hosts and paths: a [`Datagram`] and a [`crate::Packet`] |
//!
//! Hosts that share a key put eight bytes behind the 16, before the payload, that nobody else can make
//! ([`Frame::tag`]). To switches they are payload.
//!
//! Parsers are total: no sequence of bytes makes them panic. What can be emitted parses back to what
//! it was. Not here: sockets, ARP, routing, fragments (a fragment is refused).

mod checksum;
pub mod extension;
pub mod frame;
pub mod header;
pub mod profile;
pub mod route;

#[cfg(test)]
mod tests;

use core::fmt;

pub use extension::{ACKED_BYTES, Record, Records, TOKEN_BYTES};
pub use frame::{Datagram, Ethernet, Frame, Lengths, Parsed, TAG_BYTES, Tag};
pub use header::{Fields, HEADER_BYTES, View};
pub use profile::Profile;
pub use route::Routes;

/// Why bytes were refused, or could not be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// What is wrong.
    pub what: What,
    /// Offset of the offending byte from the beginning of what was parsed.
    pub at: usize,
}

/// Declares [`What`] with the name and the words of each variant: none can lack either.
macro_rules! what {
    ($($(#[$doc:meta])+ $variant:ident $name:literal $words:literal,)+) => {
        /// What is wrong with bytes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum What {
            $($(#[$doc])+ $variant,)+
        }

        impl What {
            /// All of them. The place of each is its number (`what as usize`).
            pub const ALL: [What; [$($name),+].len()] = [$(What::$variant),+];

            /// What a counter of it is called.
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
    /// The bytes end inside a header, or there is no room to write.
    Truncated "truncated" "bytes end too early",
    /// The EtherType is neither IPv4 nor IPv6.
    EtherType "ether_type" "neither IPv4 nor IPv6",
    /// The IP version contradicts the EtherType, or the two addresses are of different families.
    IpVersion "ip_version" "wrong IP version",
    /// The IPv4 header is shorter than 20 bytes.
    IpHeader "ip_header" "IPv4 header too short",
    /// A fragment.
    Fragment "fragment" "a fragment",
    /// Not UDP.
    Protocol "protocol" "not UDP",
    /// The checksum of the IPv4 header does not match.
    IpChecksum "ip_checksum" "IPv4 header checksum does not match",
    /// The UDP checksum of a complete packet does not match, or is missing.
    UdpChecksum "udp_checksum" "UDP checksum does not match",
    /// A UDP port that is not the protocol's.
    Port "port" "not this protocol's UDP port",
    /// A length that does not fit its field, or that contradicts the header.
    Length "length" "impossible length",
    /// The check of the 16 bytes does not match: refuse and count.
    Check "check" "header check does not match",
    /// A version of the header that is not known.
    Version "version" "unknown header version",
    /// A type of packet that is not known.
    Kind "kind" "unknown packet type",
    /// A DSCP that the profile does not name, or that this type of packet never bears.
    Service "service" "DSCP not in the profile, or not for this packet type",
    /// Congestion marks that IP cannot express.
    Marks "marks" "marks that IP cannot express",
    /// A record of the extension that is cut, or whose value has the wrong length or range.
    Record "record" "malformed extension record",
    /// The tag is not that of the key, or missing.
    Tag "tag" "tag does not match",
    /// An address that belongs to no host, or a host or path without an address.
    Address "address" "no such address",
}

impl Error {
    pub(crate) const fn new(what: What, at: usize) -> Error {
        Error { what, at }
    }

    /// The same error, `by` bytes further in: a header inside a frame.
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
