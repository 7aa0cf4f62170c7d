//! Quantities on the command line.

use trimline_packet::quantity::{self, A_DURATION, A_RATE, A_SIZE};
use trimline_packet::{BitRate, ByteCount, TimeDelta};

/// Parses a time.
///
/// # Errors
/// Returns the fault of the text, and the expected form.
pub(crate) fn duration(text: &str) -> Result<TimeDelta, String> {
    quantity::duration(text).map_err(|fault| format!("it {fault}; expected {A_DURATION}"))
}

/// Parses a rate; a bare number is in Mb/s.
///
/// # Errors
/// Returns the fault of the text, and the expected form.
pub(crate) fn rate(text: &str) -> Result<BitRate, String> {
    quantity::rate(&with_unit(text, "Mbps"))
        .map_err(|fault| format!("it {fault}; expected {A_RATE}, or a number of Mb/s"))
}

/// Parses a size; a bare number is in bytes.
///
/// # Errors
/// Returns the fault of the text, and the expected form.
pub(crate) fn size(text: &str) -> Result<ByteCount, String> {
    quantity::bytes(&with_unit(text, "B"))
        .map_err(|fault| format!("it {fault}; expected {A_SIZE}, or a number of bytes"))
}

fn with_unit(text: &str, unit: &str) -> String {
    let is_bare = text.bytes().all(|byte| byte.is_ascii_digit());
    format!("{text}{}", if is_bare { unit } else { "" })
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

    #[test]
    fn a_time_has_a_unit() {
        assert_eq!(duration("250us"), Ok(TimeDelta::from_us(250)));
        assert!(duration("250").unwrap_err().contains("a time such as"));
    }

    #[test]
    fn a_size_has_a_unit_or_counts_bytes() {
        assert_eq!(size("450KB"), Ok(ByteCount::new(450_000)));
        assert_eq!(size("1500"), Ok(ByteCount::new(1500)));
        for wrong in ["", "-1", "1.5", "9 parsecs"] {
            assert!(size(wrong).unwrap_err().contains("number of bytes"), "{wrong}");
        }
    }
}
