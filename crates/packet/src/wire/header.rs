//! The 16 bytes after UDP, big-endian.
//!
//! ```text
//!  0        1        2                 4                                   8
//! +--------+--------+-----------------+-----------------------------------+
//! |ver|type| flags  |      check      |            connection             |
//! +--------+--------+-----------------+-----------------+-----------------+
//! |     sequence or pull counter      | payload length  |  service port   |
//! |                                   |      (ACK, NACK: pull counter)    |
//! +-----------------------------------+-----------------+-----------------+
//!  8                                   12                14               16
//! ```

use core::net::IpAddr;

use super::checksum::Sum;
use super::{Error, What};
use crate::ids::{ConnectionId, PathId};
use crate::packet::{Flags, Header, Kind};

/// Bytes of the header.
pub const HEADER_BYTES: usize = 16;

/// The only version. Not 0, so that zeros are no header.
pub const VERSION: u8 = 1;

mod field {
    use core::ops::Range;

    pub(super) const VERSION_AND_KIND: usize = 0;
    pub(super) const FLAGS: usize = 1;
    pub(super) const CHECK: Range<usize> = 2..4;
    pub(super) const CONNECTION: Range<usize> = 4..8;
    pub(super) const SEQUENCE: Range<usize> = 8..12;
    pub(super) const EXTRA: Range<usize> = 12..16;
}

/// Header bytes. Any 16 bytes are readable without validation, to show malformed packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View<'a>(&'a [u8; HEADER_BYTES]);

impl<'a> View<'a> {
    /// Views the header at the beginning of `bytes`.
    ///
    /// # Errors
    /// [`What::Truncated`] below 16 bytes.
    pub fn new(bytes: &'a [u8]) -> Result<View<'a>, Error> {
        match bytes.first_chunk() {
            Some(bytes) => Ok(View(bytes)),
            None => Err(Error::new(What::Truncated, bytes.len())),
        }
    }

    /// The bytes.
    pub const fn bytes(&self) -> &'a [u8; HEADER_BYTES] {
        self.0
    }

    /// Format version. Receivers refuse unknown versions.
    pub fn version(&self) -> u8 {
        self.0[field::VERSION_AND_KIND] >> 4
    }

    /// Packet type number.
    pub fn kind_number(&self) -> u8 {
        self.0[field::VERSION_AND_KIND] & 0xf
    }

    /// Packet type; receivers refuse unknown types (`None`).
    pub fn kind(&self) -> Option<Kind> {
        [Kind::Data, Kind::Ack, Kind::Nack, Kind::Pull, Kind::Reset]
            .into_iter()
            .find(|&kind| kind as u8 == self.kind_number())
    }

    /// The flag bits. Every combination is legal.
    pub fn flags(&self) -> Flags {
        Flags::from_bits(self.0[field::FLAGS])
    }

    /// Checksum, for [`View::check_holds`].
    pub fn check(&self) -> u16 {
        self.0[field::CHECK].iter().fold(0, |word, &byte| word << 8 | u16::from(byte))
    }

    /// True if the one's-complement sum over these bytes and both addresses is correct. Swapped addresses and a new
    /// DSCP do not change it: returned headers pass.
    pub fn check_holds(&self, source: IpAddr, destination: IpAddr) -> bool {
        Sum::default().bytes(self.0).address(source).address(destination).holds()
    }

    /// Connection. Receivers look up (peer host, connection).
    pub fn connection(&self) -> ConnectionId {
        ConnectionId::new(self.word(field::CONNECTION))
    }

    /// DATA: packet number. ACK, NACK: answered packet. PULL: pull counter.
    pub fn sequence(&self) -> u32 {
        self.word(field::SEQUENCE)
    }

    /// DATA: payload length and service port. ACK, NACK: pull counter, ignored without the PULL flag. RESET: cause in
    /// the low byte, 0 for none; unknown causes are ignored.
    pub fn extra(&self) -> u32 {
        self.word(field::EXTRA)
    }

    /// Checks and decodes the header.
    ///
    /// # Errors
    /// [`What::Version`] first, because other versions may differ in everything; [`What::Check`], [`What::Kind`].
    pub fn parse(&self, source: IpAddr, destination: IpAddr) -> Result<Fields, Error> {
        if self.version() != VERSION {
            return Err(Error::new(What::Version, field::VERSION_AND_KIND));
        }
        if !self.check_holds(source, destination) {
            return Err(Error::new(What::Check, field::CHECK.start));
        }
        let kind = self.kind().ok_or(Error::new(What::Kind, field::VERSION_AND_KIND))?;
        Ok(Fields {
            kind,
            flags: self.flags(),
            connection: self.connection(),
            sequence: self.sequence(),
            extra: self.extra(),
        })
    }

    fn word(&self, range: core::ops::Range<usize>) -> u32 {
        self.0[range].iter().fold(0, |word, &byte| word << 8 | u32::from(byte))
    }
}

/// The decoded 16 bytes: a [`Header`] without path, which addresses and ports hold.
///
/// The checksum covers both addresses in either order, so a header that a switch bounces stays valid:
///
/// ```
/// use trimline_packet::wire::{Fields, View};
/// use trimline_packet::{ConnectionId, Flags, Kind};
///
/// let kind = Kind::Nack;
/// let connection = ConnectionId::new(7);
/// let fields = Fields { kind, flags: Flags::default(), connection, sequence: 3, extra: 0 };
/// let (here, there) = ("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap());
/// let mut bytes = fields.emit(here, there);
/// assert_eq!(View::new(&bytes).unwrap().parse(there, here), Ok(fields));
///
/// bytes[11] ^= 1;
/// let error = View::new(&bytes).unwrap().parse(here, there).unwrap_err();
/// assert_eq!(error.to_string(), "header check does not match at byte 2");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    /// Packet type.
    pub kind: Kind,
    /// Flag bits.
    pub flags: Flags,
    /// Connection, unique at its opener.
    pub connection: ConnectionId,
    /// See [`View::sequence`].
    pub sequence: u32,
    /// See [`View::extra`].
    pub extra: u32,
}

impl Fields {
    /// Extracts the fields of a header.
    pub const fn of(header: &Header) -> Fields {
        Fields {
            kind: header.kind,
            flags: header.flags,
            connection: header.connection,
            sequence: header.sequence,
            extra: header.extra,
        }
    }

    /// Adds a path, from addresses or ports.
    pub const fn on_path(self, path: PathId) -> Header {
        Header {
            kind: self.kind,
            flags: self.flags,
            path,
            connection: self.connection,
            sequence: self.sequence,
            extra: self.extra,
        }
    }

    /// Payload bytes sent: 0 except in DATA.
    pub const fn payload_length(&self) -> usize {
        match self.kind {
            Kind::Data => (self.extra >> 16) as usize,
            Kind::Ack | Kind::Nack | Kind::Pull | Kind::Reset => 0,
        }
    }

    /// Encodes the 16 bytes with a checksum for these addresses in either order.
    pub fn emit(&self, source: IpAddr, destination: IpAddr) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[field::VERSION_AND_KIND] = VERSION << 4 | self.kind as u8;
        bytes[field::FLAGS] = self.flags.bits();
        bytes[field::CONNECTION].copy_from_slice(&self.connection.get().to_be_bytes());
        bytes[field::SEQUENCE].copy_from_slice(&self.sequence.to_be_bytes());
        bytes[field::EXTRA].copy_from_slice(&self.extra.to_be_bytes());
        let sum = Sum::default().bytes(&bytes).address(source).address(destination);
        bytes[field::CHECK].copy_from_slice(&sum.complement().to_be_bytes());
        bytes
    }
}
