//! Rates, times and shares as configurations write them.

use std::fmt::Display;

use serde::Deserialize;
use trimline_packet::{BitRate, TimeDelta};

/// A decimal number with one of these units, in the smallest of them.
fn with_unit(text: &str, units: &[(&str, u64)]) -> Result<u64, String> {
    let expected = || {
        let names: Vec<&str> = units.iter().map(|&(name, _)| name).collect();
        format!("expected a number with a unit ({}), not {text:?}", names.join(", "))
    };
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(expected)?;
    let (number, unit) = text.split_at(split);
    let &(_, scale) = units.iter().find(|(name, _)| *name == unit.trim()).ok_or_else(expected)?;
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let whole: u64 = whole.parse().map_err(|_| expected())?;
    let mut value = whole.checked_mul(scale).ok_or_else(expected)?;
    let mut place = scale;
    for digit in part.bytes() {
        if !digit.is_ascii_digit() {
            return Err(expected());
        }
        place /= 10;
        let part = u64::from(digit - b'0') * place;
        value = value.checked_add(part).ok_or_else(expected)?;
    }
    Ok(value)
}

/// A rate: "100Mbps".
///
/// # Errors
/// What was expected.
pub fn rate(text: &str) -> Result<BitRate, String> {
    let units = [("Gbps", 1_000_000_000), ("Mbps", 1_000_000), ("kbps", 1000), ("bps", 1)];
    match with_unit(text, &units)? {
        0 => Err(format!("{text:?}: a link without a rate delivers nothing")),
        bits => Ok(BitRate::from_bps(bits)),
    }
}

/// A time: "5us".
///
/// # Errors
/// What was expected.
pub fn time(text: &str) -> Result<TimeDelta, String> {
    let units = [("ns", 1000), ("us", 1_000_000), ("ms", 1_000_000_000), ("s", 1_000_000_000_000)];
    with_unit(text, &units).map(TimeDelta::from_ps)
}

/// A share of 2^32: "1%".
///
/// # Errors
/// What was expected.
pub fn share(text: &str) -> Result<u32, String> {
    let millionths = with_unit(text, &[("%", 1_000_000)])?;
    if millionths > 100_000_000 {
        return Err(format!("{text:?} is more than all"));
    }
    let share = (u128::from(millionths) << 32) / 100_000_000;
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

/// An Ethernet address: "02:00:00:00:00:01".
///
/// # Errors
/// What was expected.
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

/// The text of an Ethernet address.
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
        let beyond = "18446744073.9Gbps";
        for wrong in ["", "100", "Mbps", "1Tbps", "-1Mbps", "0Mbps", "1.x2Mbps", beyond] {
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
