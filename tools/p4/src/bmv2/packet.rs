//! A packet in the switch: header fields, metadata, and unparsed bytes.

use super::{Field, Names};

#[derive(Clone)]
pub(crate) struct Packet<'p> {
    names: &'p Names,
    values: Vec<u128>,
    pub(super) payload: Vec<u8>,
    /// Maximum number of bytes that leave the switch.
    pub(super) truncated: usize,
}

pub(super) fn mask(bits: u32) -> u128 {
    if bits >= 128 { u128::MAX } else { (1 << bits) - 1 }
}

impl<'p> Packet<'p> {
    /// Creates an unparsed frame: no header is valid, all metadata are zero.
    pub(super) fn new(names: &'p Names, frame: &[u8]) -> Packet<'p> {
        let values = vec![0; names.widths.len()];
        Packet { names, values, payload: frame.to_vec(), truncated: usize::MAX }
    }

    pub(super) fn read(&self, field: Field) -> u128 {
        self.values[field]
    }

    /// Writes as many low bits as the field has.
    pub(super) fn write(&mut self, field: Field, value: u128) {
        self.values[field] = value & mask(self.names.widths[field]);
    }

    /// Returns a field of `simple_switch`'s metadata.
    pub(super) fn standard(&self, member: &str) -> u64 {
        self.read(self.names.fields[&format!("standard_metadata.{member}")]) as u64
    }

    pub(super) fn set_standard(&mut self, member: &str, value: u64) {
        self.write(self.names.fields[&format!("standard_metadata.{member}")], value.into());
    }

    /// Returns the field that says whether the packet has a header.
    fn validity(&self, header: &str) -> Field {
        self.names.headers[header].start - 1
    }

    /// Takes a header off the payload. Returns `false`, without effect, if bytes are missing.
    pub(super) fn extract(&mut self, header: &str) -> bool {
        let fields = self.names.headers[header].clone();
        let bytes = self.names.widths[fields.clone()].iter().sum::<u32>() as usize / 8;
        if self.payload.len() < bytes {
            return false;
        }
        let rest = self.payload.split_off(bytes);
        let taken = std::mem::replace(&mut self.payload, rest);
        let mut bits = taken.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1));
        for field in fields {
            let bits = bits.by_ref().take(self.names.widths[field] as usize);
            self.values[field] = bits.fold(0, |value, bit| value << 1 | u128::from(bit));
        }
        self.write(self.validity(header), 1);
        true
    }

    /// Returns the bytes of a header, if the packet has it.
    pub(super) fn emit(&self, header: &str) -> Vec<u8> {
        match self.read(self.validity(header)) {
            0 => Vec::new(),
            _ => self.bytes(self.names.headers[header].clone()),
        }
    }

    /// Returns the bytes of fields, highest bit first. Zeros fill the last byte.
    pub(super) fn bytes(&self, fields: impl Iterator<Item = Field>) -> Vec<u8> {
        let (mut bytes, mut used) = (Vec::new(), 0);
        for field in fields {
            for bit in (0..self.names.widths[field]).rev() {
                if used % 8 == 0 {
                    bytes.push(0);
                }
                bytes[used / 8] |= ((self.read(field) >> bit & 1) as u8) << (7 - used % 8);
                used += 1;
            }
        }
        bytes
    }
}

/// Returns the RFC 1071 checksum: the complement of the one's-complement sum of 16-bit words.
pub(super) fn internet_checksum(bytes: &[u8]) -> u16 {
    let word = |pair: &[u8]| u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]);
    let mut sum: u64 = bytes.chunks(2).map(|pair| u64::from(word(pair))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Returns the CRC-32 of IEEE 802.3, bits reflected.
pub(super) fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 0 { crc >> 1 } else { crc >> 1 ^ 0xedb8_8320 };
    let byte = |crc: u32, &byte: &u8| (0..8).fold(crc ^ u32::from(byte), |crc, _| step(crc));
    !bytes.iter().fold(u32::MAX, byte)
}
