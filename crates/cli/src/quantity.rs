//! Quantities on the command line.

use trimline_packet::BitRate;
use trimline_packet::quantity::{self, A_RATE};

/// A rate with its unit; a bare number counts Mb/s.
///
/// # Errors
/// What is wrong with the text, and what was expected.
pub(crate) fn rate(text: &str) -> Result<BitRate, String> {
    let bare = text.bytes().all(|byte| byte.is_ascii_digit());
    let read = if bare { quantity::rate(&format!("{text}Mbps")) } else { quantity::rate(text) };
    read.map_err(|fault| format!("it {fault}; expected {A_RATE}, or a number of Mb/s"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_has_a_unit_or_counts_megabits() {
        assert_eq!(rate("10000"), Ok(BitRate::from_gbps(10)));
        assert_eq!(rate("2.5Gbps"), Ok(BitRate::from_bps(2_500_000_000)));
        assert_eq!(rate("40 Gb/s"), Ok(BitRate::from_gbps(40)));
        assert!(rate("10Gbs").unwrap_err().contains("unknown unit `Gbs`; nearest: 10Gbps"));
        for wrong in ["", "0", "1.5", "-1", "0Gbps"] {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
    }
}
