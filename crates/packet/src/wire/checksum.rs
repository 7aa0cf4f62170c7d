//! The Internet checksum (RFC 1071), a one's-complement sum.

use core::net::IpAddr;

/// A running sum of big-endian 16-bit words. Word order does not matter, so a checksum over two addresses survives
/// their swap.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum(u64);

impl Sum {
    /// Adds bytes; an odd last byte is the high byte of a word.
    pub(super) fn bytes(mut self, bytes: &[u8]) -> Sum {
        // RFC 1071, section 2: the sum may be taken in longer words and in any byte order if it is folded and swapped
        // at the end. This adds several words at a time.
        let mut long_words = bytes.chunks_exact(4);
        let mut native = 0;
        for word in &mut long_words {
            native += u64::from(u32::from_ne_bytes([word[0], word[1], word[2], word[3]]));
        }
        self.0 += u64::from(u16::from_be_bytes(Sum(native).folded().to_ne_bytes()));
        let mut words = long_words.remainder().chunks_exact(2);
        for word in &mut words {
            self.0 += u64::from(u16::from_be_bytes([word[0], word[1]]));
        }
        if let [last] = words.remainder() {
            self.0 += u64::from(*last) << 8;
        }
        self
    }

    /// Adds consecutive pieces of any lengths.
    pub(super) fn pieces<'a>(mut self, pieces: impl IntoIterator<Item = &'a [u8]>) -> Sum {
        let mut is_odd = false;
        for piece in pieces {
            let sum = Sum::default().bytes(piece).folded();
            // RFC 1071, section 2 (B): a piece that begins within a word contributes its sum with swapped bytes.
            self.0 += u64::from(if is_odd { sum.swap_bytes() } else { sum });
            is_odd ^= piece.len() % 2 == 1;
        }
        self
    }

    /// Adds one word.
    pub(super) fn word(mut self, word: u16) -> Sum {
        self.0 += u64::from(word);
        self
    }

    /// Adds an address of either family.
    pub(super) fn address(self, address: IpAddr) -> Sum {
        match address {
            IpAddr::V4(address) => self.bytes(&address.octets()),
            IpAddr::V6(address) => self.bytes(&address.octets()),
        }
    }

    fn folded(self) -> u16 {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    }

    /// Value for the checksum field.
    pub(super) fn complement(self) -> u16 {
        !self.folded()
    }

    /// True if the sum, its own field included, is correct.
    pub(super) fn holds(self) -> bool {
        self.folded() == 0xffff
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 1071, section 3.
    #[test]
    fn a_checksum_matches_the_example_of_the_rfc() {
        let sum = Sum::default().bytes(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]);
        assert_eq!(sum.complement(), !0xddf2);
    }

    /// Compares with the RFC's definition, word by word.
    #[test]
    fn a_checksum_by_long_words_equals_one_by_words() {
        let bytes: [u8; 67] = core::array::from_fn(|place| (place * 89 + 0xa5) as u8);
        for start in 0..8 {
            for end in start..bytes.len() {
                let part = &bytes[start..end];
                let by_word = part.chunks(2).fold(0u64, |sum, word| {
                    sum + (u64::from(word[0]) << 8) + word.get(1).map_or(0, |&low| u64::from(low))
                });
                assert_eq!(Sum::default().bytes(part).folded(), Sum(by_word).folded());
            }
        }
    }

    #[test]
    fn a_checksum_of_pieces_equals_that_of_the_whole() {
        let bytes: [u8; 41] = core::array::from_fn(|place| (place * 151 + 0x3b) as u8);
        let whole = Sum::default().bytes(&bytes).folded();
        for first in 0..bytes.len() {
            for second in first..bytes.len() {
                let pieces = [&bytes[..first], &bytes[first..second], &bytes[second..]];
                assert_eq!(Sum::default().pieces(pieces).folded(), whole, "{first} {second}");
            }
        }
    }

    #[test]
    fn an_odd_byte_is_a_high_byte() {
        assert_eq!(Sum::default().bytes(&[0x12]).complement(), !0x1200);
        assert!(Sum::default().bytes(&[0x12, 0x34]).word(!0x1234).holds());
    }
}
