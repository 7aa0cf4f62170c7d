//! A key that hosts share, and its packet tags.
//!
//! A tag is eight bytes behind the 16 (`trimline_packet::wire`). Its first four cover what a switch leaves of a packet:
//! both addresses, in either order, and the 16 bytes. Its last four also cover payload and extension. So half of the
//! tag still validates a trimmed header, and the whole tag a packet. Neither covers DSCP and ECN, which switches
//! change.

use std::fmt;
use std::hash::Hasher;
use std::net::IpAddr;

use siphasher::sip::SipHasher24;
use trimline_packet::wire::{HEADER_BYTES, TAG_BYTES, Tag};

const KEY_BYTES: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Header = 1,
    Whole = 2,
}

/// A secret of hosts that trust each other.
#[derive(Clone, PartialEq, Eq)]
pub struct Key([u8; KEY_BYTES]);

impl fmt::Debug for Key {
    /// Hides the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

impl Key {
    /// Returns a key of these bytes.
    pub const fn new(bytes: [u8; KEY_BYTES]) -> Key {
        Key(bytes)
    }

    /// Reads a key from 32 hexadecimal digits, with optional white space around them.
    ///
    /// # Errors
    /// Returns a message that does not repeat any other text.
    pub fn parse(text: &str) -> Result<Key, String> {
        let text = text.trim();
        let expected = || "expected 32 hexadecimal digits".to_owned();
        if text.len() != 2 * KEY_BYTES || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(expected());
        }
        let mut bytes = [0; KEY_BYTES];
        for (place, byte) in bytes.iter_mut().enumerate() {
            let digits = &text[2 * place..2 * place + 2];
            *byte = u8::from_str_radix(digits, 16).map_err(|_| expected())?;
        }
        Ok(Key(bytes))
    }

    fn half(
        &self,
        part: Part,
        addresses: [IpAddr; 2],
        header: &[u8; HEADER_BYTES],
        pieces: &[&[u8]],
    ) -> [u8; 4] {
        let mut hasher = SipHasher24::new_with_key(&self.0);
        hasher.write(&[part as u8]);
        let [one, other] = addresses;
        for address in [one.min(other), one.max(other)] {
            match address {
                IpAddr::V4(address) => hasher.write(&address.octets()),
                IpAddr::V6(address) => hasher.write(&address.octets()),
            }
        }
        hasher.write(header);
        pieces.iter().for_each(|piece| hasher.write(piece));
        let [a, b, c, d, ..] = hasher.finish().to_be_bytes();
        [a, b, c, d]
    }

    /// Returns the tag of a packet. `pieces` are its bytes behind the header.
    pub(super) fn tag(
        &self,
        addresses: [IpAddr; 2],
        header: &[u8; HEADER_BYTES],
        pieces: &[&[u8]],
    ) -> Tag {
        let mut tag = [0; TAG_BYTES];
        tag[..4].copy_from_slice(&self.half(Part::Header, addresses, header, &[]));
        tag[4..].copy_from_slice(&self.half(Part::Whole, addresses, header, pieces));
        tag
    }

    /// Returns whether the first half of a tag is right, for a trimmed packet.
    pub(super) fn made_header(
        &self,
        tag: Tag,
        addresses: [IpAddr; 2],
        header: &[u8; HEADER_BYTES],
    ) -> bool {
        tag[..4] == self.half(Part::Header, addresses, header, &[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_32_digits_and_is_not_shown() {
        let key = Key::parse(" 000102030405060708090a0b0c0d0e0F\n").unwrap();
        assert_eq!(key, Key::new(std::array::from_fn(|place| place as u8)));
        assert_eq!(format!("{key:?}"), "Key");
        for wrong in
            ["", "00", "000102030405060708090a0b0c0d0e0g", "+00102030405060708090a0b0c0d0e0f"]
        {
            assert!(Key::parse(wrong).is_err(), "{wrong}");
        }
        // 16 characters of two bytes: the length in bytes is right.
        assert!(Key::parse(&"\u{e9}".repeat(16)).is_err());
    }

    #[test]
    fn every_bit_of_a_packet_is_in_its_tag_and_the_order_of_addresses_is_not() {
        let key = Key::new([7; 16]);
        let [a, b] = [1, 2].map(|last| IpAddr::from([10, 0, 0, last]));
        let (header, payload) = ([3; 16], [5; 40]);
        let tag = key.tag([a, b], &header, &[&payload]);
        assert_eq!(key.tag([b, a], &header, &[&payload[..9], &payload[9..]]), tag);
        assert!(key.made_header(tag, [b, a], &header));
        for bit in 0..40 * 8 {
            let mut other = payload;
            other[bit / 8] ^= 1 << (bit % 8);
            let changed = key.tag([a, b], &header, &[&other]);
            assert_eq!(changed[..4], tag[..4], "a payload that was cut is missed by nobody");
            assert_ne!(changed[4..], tag[4..], "bit {bit} of the payload");
        }
        for bit in 0..16 * 8 {
            let mut other = header;
            other[bit / 8] ^= 1 << (bit % 8);
            let changed = key.tag([a, b], &other, &[&payload]);
            assert!(changed[..4] != tag[..4] && changed[4..] != tag[4..], "bit {bit}");
            assert!(!key.made_header(tag, [a, b], &other));
        }
        assert!(!key.made_header(tag, [a, a], &header));
        assert!(!Key::new([8; 16]).made_header(tag, [a, b], &header));
    }
}
