//! A packet in the switch: header fields, metadata, and unparsed bytes.

use super::names::{FieldRef, Header, Member};

/// Field values of all headers and metadata, and the rest of the frame.
#[derive(Clone, Debug)]
pub(crate) struct Packet {
    headers: Vec<Instance>,
    pub(super) payload: Vec<u8>,
    /// Maximum number of bytes that leave the switch.
    pub(super) truncated: Option<usize>,
    pub(super) length: usize,
}

#[derive(Clone, Debug)]
struct Instance {
    valid: bool,
    fields: Vec<u128>,
}

pub(super) fn mask(bits: u32) -> u128 {
    if bits >= 128 { u128::MAX } else { (1 << bits) - 1 }
}

impl Packet {
    /// Creates an unparsed frame: no header is valid, all metadata are zero.
    pub(super) fn new(headers: &[Header], frame: &[u8]) -> Packet {
        let instance = |header: &Header| Instance {
            valid: header.metadata,
            fields: vec![0; header.fields.len()],
        };
        Packet {
            headers: headers.iter().map(instance).collect(),
            payload: frame.to_vec(),
            truncated: None,
            length: frame.len(),
        }
    }

    pub(super) fn read(&self, field: FieldRef) -> u128 {
        let header = &self.headers[field.header];
        match field.member {
            Member::Field(index) => header.fields[index],
            Member::Valid => header.valid.into(),
        }
    }

    /// Writes as many low bits as the field has.
    pub(super) fn write(&mut self, field: FieldRef, value: u128) {
        if let Member::Field(index) = field.member {
            self.headers[field.header].fields[index] = value & mask(field.bits);
        }
    }

    pub(super) fn is_valid(&self, header: usize) -> bool {
        self.headers[header].valid
    }

    /// Takes a header off the payload. Returns `false`, without effect, if bytes are missing.
    pub(super) fn extract(&mut self, index: usize, header: &Header) -> bool {
        let bytes = header.bits() as usize / 8;
        if self.payload.len() < bytes {
            return false;
        }
        let rest = self.payload.split_off(bytes);
        let taken = std::mem::replace(&mut self.payload, rest);
        let mut at = 0;
        let instance = &mut self.headers[index];
        for (value, field) in instance.fields.iter_mut().zip(&header.fields) {
            *value = bits_of(&taken, at, field.bits);
            at += field.bits;
        }
        instance.valid = true;
        true
    }

    pub(super) fn emit(&self, index: usize, header: &Header, bytes: &mut Bits) {
        for (value, field) in self.headers[index].fields.iter().zip(&header.fields) {
            bytes.push(*value, field.bits);
        }
    }
}

/// Returns `bits` bits from bit `at`, counted from the highest bit of the first byte.
fn bits_of(bytes: &[u8], at: u32, bits: u32) -> u128 {
    (at..at + bits).fold(0, |value, at| {
        let bit = bytes[at as usize / 8] >> (7 - at % 8) & 1;
        value << 1 | u128::from(bit)
    })
}

/// Bytes made of fields, highest bit first.
#[derive(Clone, Debug, Default)]
pub(super) struct Bits {
    pub(super) bytes: Vec<u8>,
    /// Unused bits of the last byte.
    free: u32,
}

impl Bits {
    pub(super) fn push(&mut self, value: u128, bits: u32) {
        for bit in (0..bits).rev() {
            if self.free == 0 {
                self.bytes.push(0);
                self.free = 8;
            }
            self.free -= 1;
            let last = self.bytes.last_mut().expect("a byte was pushed");
            *last |= ((value >> bit & 1) as u8) << self.free;
        }
    }

    /// Appends a field on its own bytes, behind zeros.
    pub(super) fn push_padded(&mut self, value: u128, bits: u32) {
        self.push(0, (8 - bits % 8) % 8);
        self.push(value, bits);
    }

    /// Returns the RFC 1071 checksum: the complement of the one's-complement sum of 16-bit words.
    pub(super) fn internet_checksum(&self) -> u16 {
        let word = |pair: &[u8]| u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]);
        let mut sum: u64 = self.bytes.chunks(2).map(|pair| u64::from(word(pair))).sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    /// Returns the CRC-32 of IEEE 802.3, bits reflected.
    pub(super) fn crc32(&self) -> u32 {
        let step = |crc: u32| if crc & 1 == 0 { crc >> 1 } else { crc >> 1 ^ 0xedb8_8320 };
        let byte = |crc: u32, &byte: &u8| (0..8).fold(crc ^ u32::from(byte), |crc, _| step(crc));
        !self.bytes.iter().fold(u32::MAX, byte)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_share_bytes() {
        let mut bits = Bits::default();
        for (value, width) in [(4, 4), (5, 4), (0x155, 9), (0x2a, 7)] {
            bits.push(value, width);
        }
        assert_eq!(bits.bytes, [0x45, 0xaa, 0xaa]);
        assert_eq!(bits_of(&bits.bytes, 8, 9), 0x155);
        assert_eq!(bits_of(&bits.bytes, 17, 7), 0x2a);
    }

    #[test]
    fn a_key_has_bytes_of_its_own_for_each_field() {
        // The example of the format: 12 bits 0xaba and 2 bits 3 are 0x0aba03.
        let mut bits = Bits::default();
        bits.push_padded(0xaba, 12);
        bits.push_padded(3, 2);
        assert_eq!(bits.bytes, [0x0a, 0xba, 0x03]);
    }

    #[test]
    fn the_checksum_of_rfc_1071() {
        // Section 3 of RFC 1071: the sum of these is ddf2.
        let mut bits = Bits::default();
        bits.push(0x0001_f203_f4f5_f6f7, 64);
        assert_eq!(bits.internet_checksum(), !0xddf2);
    }

    #[test]
    fn the_check_value_of_crc_32() {
        let mut bits = Bits::default();
        b"123456789".iter().for_each(|&digit| bits.push(digit.into(), 8));
        assert_eq!(bits.crc32(), 0xcbf4_3926);
    }
}
