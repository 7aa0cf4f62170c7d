//! Rates, times and shares as configurations write them.

use std::fmt::Display;

use serde::Deserialize;
use trimline_packet::quantity::{self, A_DURATION, A_RATE, A_SHARE, A_SIZE, Fault};
use trimline_packet::{BitRate, ByteCount, TimeDelta};

fn mistake(text: &str, expected: &str, fault: &Fault) -> String {
    let nearest = fault.nearest.as_ref().map(|nearest| format!("; nearest: {nearest:?}"));
    format!("{text:?} {}; expected {expected}{}", fault.problem, nearest.unwrap_or_default())
}

/// Parses a rate: "100Mbps".
///
/// # Errors
/// Returns what was expected.
pub fn rate(text: &str) -> Result<BitRate, String> {
    quantity::rate(text).map_err(|fault| mistake(text, A_RATE, &fault))
}

/// Parses a time: "5us".
///
/// # Errors
/// Returns what was expected.
pub fn time(text: &str) -> Result<TimeDelta, String> {
    quantity::duration(text).map_err(|fault| mistake(text, A_DURATION, &fault))
}

/// Parses a size: "1KB".
///
/// # Errors
/// Returns what was expected.
pub fn size(text: &str) -> Result<ByteCount, String> {
    quantity::bytes(text).map_err(|fault| mistake(text, A_SIZE, &fault))
}

/// The whole, in billionths.
const ALL: u64 = 1_000_000_000;

/// Parses a share in billionths: "95%".
///
/// # Errors
/// Returns what was expected.
pub fn billionths(text: &str) -> Result<u64, String> {
    let billionths = quantity::share(text).map_err(|fault| mistake(text, A_SHARE, &fault))?;
    if billionths > ALL {
        return Err(format!("{text:?} is more than 100 %"));
    }
    Ok(billionths)
}

/// Parses a share of 2^32, rounded down: "1%".
///
/// # Errors
/// Returns what was expected.
pub fn share(text: &str) -> Result<u32, String> {
    let billionths = billionths(text)?;
    let share = (u128::from(billionths) << 32) / u128::from(ALL);
    Ok(u32::try_from(share).unwrap_or(u32::MAX))
}

macro_rules! from_text {
    ($(#[$doc:meta])* $name:ident($inner:ty), $parse:path) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
        #[serde(try_from = "String")]
        pub struct $name(pub $inner);

        impl TryFrom<String> for $name {
            type Error = String;
            fn try_from(text: String) -> Result<$name, String> {
                $parse(&text).map($name)
            }
        }
    };
}

from_text! {
    /// A rate in a configuration.
    Rate(BitRate), rate
}
from_text! {
    /// A time in a configuration.
    Delay(TimeDelta), time
}
from_text! {
    /// A share in a configuration.
    Share(u32), share
}
from_text! {
    /// A share of a rate in a configuration, in billionths.
    Billionths(u64), billionths
}
from_text! {
    /// A size in a configuration.
    Size(ByteCount), size
}

from_text! {
    /// An Ethernet address in a configuration.
    Ethernet([u8; 6]), ethernet
}

impl Billionths {
    /// Returns this share of a rate, rounded down; `None` for 0.
    pub fn of(self, rate: BitRate) -> Option<BitRate> {
        let bits = u128::from(rate.as_bps()) * u128::from(self.0) / u128::from(ALL);
        (bits > 0).then(|| BitRate::from_bps(bits as u64))
    }
}

/// Parses an Ethernet address: "02:00:00:00:00:01".
///
/// # Errors
/// Returns what was expected.
pub fn ethernet(text: &str) -> Result<[u8; 6], String> {
    let wrong = || format!("expected an Ethernet address such as 02:00:00:00:00:01, not {text:?}");
    let mut address = [0; 6];
    let mut parts = text.trim().split(':');
    for byte in &mut address {
        let part = parts.next().ok_or_else(wrong)?;
        *byte = u8::from_str_radix(part, 16).map_err(|_| wrong())?;
    }
    if parts.next().is_some() { Err(wrong()) } else { Ok(address) }
}

/// Returns an Ethernet address as text: six hexadecimal pairs with colons.
pub fn ethernet_text(address: [u8; 6]) -> impl Display {
    address.map(|byte| format!("{byte:02x}")).join(":")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_exact_or_refused() {
        assert_eq!(rate("100Mbps"), Ok(BitRate::from_bps(100_000_000)));
        assert_eq!(rate("2.5 Gbps"), Ok(BitRate::from_bps(2_500_000_000)));
        assert_eq!(time("1.5us"), Ok(TimeDelta::from_ns(1500)));
        assert_eq!(share("100%"), Ok(u32::MAX));
        assert_eq!(share("0.5%"), Ok(21_474_836));
        let of = |share: &str| {
            billionths(share).map(|share| Billionths(share).of(BitRate::from_bps(1_000)))
        };
        assert_eq!(of("95%"), Ok(Some(BitRate::from_bps(950))));
        assert_eq!([of("0%"), of("0.01%")], [Ok(None), Ok(None)]);
        assert_eq!(size("6KB"), Ok(ByteCount::new(6000)));
        assert_eq!(rate("1Tbps"), Ok(BitRate::from_gbps(1000)));
        assert_eq!(
            rate("100MBps").unwrap_err(),
            "\"100MBps\" has the unknown unit `MBps`: `b` is a bit, `B` a byte; expected a rate such as \"10Gbps\" \
             (units: bps, Kbps, Mbps, Gbps, Tbps); nearest: \"100Mbps\""
        );
        // Digits are not cut off.
        assert!(rate("1.5bps").unwrap_err().contains("no whole number of bps"));
        let beyond = "18446744073.9Gbps";
        for wrong in ["", "100", "Mbps", "-1Mbps", "0Mbps", "1.x2Mbps", beyond] {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
        assert!(share("101%").is_err());
    }

    #[test]
    fn ethernet_addresses_are_read_and_written() {
        let address = ethernet("02:00:0a:ff:00:01").unwrap();
        assert_eq!(address, [2, 0, 10, 255, 0, 1]);
        assert_eq!(ethernet_text(address).to_string(), "02:00:0a:ff:00:01");
        for wrong in ["", "02:00", "02:00:00:00:00:00:00", "0g:00:00:00:00:00"] {
            assert!(ethernet(wrong).is_err(), "{wrong}");
        }
    }
}
