//! The extension: records behind the payload of a complete packet. A trim may remove them, so recovery does not need
//! them; retransmissions repeat them.
//!
//! A record is type (1 byte), value length (1 byte), and value. The extension extends to the end of the packet. Unknown
//! types are skipped.

use alloc::vec::Vec;

use super::{Error, What};

const MESSAGE_END: u8 = 1;
const CLOSE: u8 = 2;
const TOKEN: u8 = 3;
const ACKED: u8 = 4;

/// Bytes of a token.
pub const TOKEN_BYTES: usize = 8;

/// Bytes of an ACK record.
pub const ACKED_BYTES: usize = 11;

/// A record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// An application message ends behind this many payload bytes of this packet, at most the payload length. The
    /// receiver delivers it in one piece; several small messages may end in one packet.
    MessageEnd(u16),
    /// Last packet of the send stream. The receiver refuses higher packet numbers and enters time-wait once it has all
    /// lower ones.
    Close,
    /// Proof of an address. In a NACK without a pull: the receiver kept no state at all; a sender that sees it at the
    /// address that it sent from repeats it in its next first packets. In DATA: the repeated token.
    Token([u8; TOKEN_BYTES]),
    /// An ACK without pulls, of any connection between the two hosts, with the effect of an ACK packet. If it is
    /// trimmed off, the data's sender waits for its timeout.
    Acked {
        /// [`super::View::connection`] of the ACK.
        connection: u32,
        /// [`super::View::sequence`] of the ACK.
        sequence: u32,
        /// [`super::View::flags`] of the ACK.
        flags: u8,
    },
    /// An unknown type, to be skipped.
    Unknown {
        /// Number of the type.
        number: u8,
        /// Value, at most 255 bytes.
        value: &'a [u8],
    },
}

impl Record<'_> {
    /// Appends the record.
    ///
    /// # Errors
    /// [`What::Record`] if an unknown record has a known number or more than 255 bytes.
    pub fn emit(&self, bytes: &mut Vec<u8>) -> Result<(), Error> {
        match *self {
            Record::MessageEnd(end) => {
                bytes.extend_from_slice(&[MESSAGE_END, 2]);
                bytes.extend_from_slice(&end.to_be_bytes());
            }
            Record::Close => bytes.extend_from_slice(&[CLOSE, 0]),
            Record::Token(token) => {
                bytes.extend_from_slice(&[TOKEN, TOKEN_BYTES as u8]);
                bytes.extend_from_slice(&token);
            }
            Record::Acked { connection, sequence, flags } => {
                bytes.extend_from_slice(&[ACKED, ACKED_BYTES as u8 - 2]);
                bytes.extend_from_slice(&connection.to_be_bytes());
                bytes.extend_from_slice(&sequence.to_be_bytes());
                bytes.push(flags);
            }
            Record::Unknown { number, value } => {
                let error = Error::new(What::Record, bytes.len());
                let length = u8::try_from(value.len()).map_err(|_| error)?;
                if matches!(number, MESSAGE_END | CLOSE | TOKEN | ACKED) {
                    return Err(error);
                }
                bytes.extend_from_slice(&[number, length]);
                bytes.extend_from_slice(value);
            }
        }
        Ok(())
    }
}

/// Iterator over an extension's records, in order; ends after the first error.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    bytes: &'a [u8],
    at: usize,
    payload_length: usize,
}

impl<'a> Records<'a> {
    /// Iterates over the extension of a packet with `payload_length` bytes of payload.
    pub const fn new(extension: &'a [u8], payload_length: usize) -> Records<'a> {
        Records { bytes: extension, at: 0, payload_length }
    }

    fn parse(&self) -> Result<(Record<'a>, usize), Error> {
        let error = Error::new(What::Record, self.at);
        let &[number, length] = self.bytes[self.at..].first_chunk().ok_or(error)?;
        let start = self.at + 2;
        let end = start + usize::from(length);
        let value = self.bytes.get(start..end).ok_or(error)?;
        let record = match (number, value) {
            (MESSAGE_END, &[high, low]) => {
                let message_end = u16::from_be_bytes([high, low]);
                if usize::from(message_end) > self.payload_length {
                    return Err(error);
                }
                Record::MessageEnd(message_end)
            }
            (CLOSE, []) => Record::Close,
            (TOKEN, value) => Record::Token(value.try_into().map_err(|_| error)?),
            (ACKED, &[a, b, c, d, e, f, g, h, flags]) => Record::Acked {
                connection: u32::from_be_bytes([a, b, c, d]),
                sequence: u32::from_be_bytes([e, f, g, h]),
                flags,
            },
            (MESSAGE_END | CLOSE | ACKED, _) => return Err(error),
            (number, value) => Record::Unknown { number, value },
        };
        Ok((record, end))
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, Error>;

    fn next(&mut self) -> Option<Result<Record<'a>, Error>> {
        if self.at >= self.bytes.len() {
            return None;
        }
        match self.parse() {
            Ok((record, end)) => {
                self.at = end;
                Some(Ok(record))
            }
            Err(error) => {
                self.at = self.bytes.len();
                Some(Err(error))
            }
        }
    }
}
