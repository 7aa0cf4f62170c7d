//! Quantities of scenario keys: the quantities of [`trimline_packet::quantity`], and "8pkt", "10:1" and "1/4", which
//! only scenarios have.

use trimline_packet::quantity::{self, A_DURATION, A_RATE, A_SHARE, A_SIZE, BYTES, Units, scaled};
use trimline_packet::{BitRate, ByteCount, TimeDelta};

pub(crate) use trimline_packet::quantity::{Fault, share};

/// Quantity that a key takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Bits per second.
    Rate,
    /// A time.
    Duration,
    /// Bytes.
    Bytes,
    /// Bytes, or whole packets.
    Queue,
    /// Headers per data packet, "10:1".
    Ratio,
    /// A fraction of all packets.
    Share,
    /// A positive number: "2", "1/4" or "0.25".
    Factor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueueSize {
    Packets(u32),
    Bytes(u64),
}

const PACKETS: Units = &[("pkt", 1)];

/// Returns every unit of scenarios, as a multiple of the smallest unit of its kind.
pub fn units() -> impl Iterator<Item = (&'static str, u64)> {
    [quantity::RATES, quantity::DURATIONS, BYTES, quantity::SHARES, PACKETS]
        .into_iter()
        .flatten()
        .copied()
}

impl Quantity {
    /// Returns the end of "expected ...".
    pub(crate) const fn expected(self) -> &'static str {
        match self {
            Quantity::Rate => A_RATE,
            Quantity::Duration => A_DURATION,
            Quantity::Bytes => A_SIZE,
            Quantity::Queue => "packets such as \"8pkt\" or bytes such as \"72000B\"",
            Quantity::Ratio => "headers to data packets such as \"10:1\"",
            Quantity::Factor => "a factor from 1/65536 to 65535 such as \"2\", \"1/4\" or \"0.25\"",
            Quantity::Share => A_SHARE,
        }
    }

    /// Returns a regular expression of its usual texts, for the JSON Schema: at most one space, no point at the end.
    pub(crate) const fn pattern(self) -> &'static str {
        match self {
            Quantity::Rate => r"^[0-9]+(\.[0-9]+)? ?[kKMGT]?b(ps|/s)$",
            Quantity::Duration => r"^[0-9]+(\.[0-9]+)? ?(ps|ns|us|ms|s)$",
            Quantity::Bytes => r"^[0-9]+(\.[0-9]+)? ?(B|KB|MB|GB|KiB|MiB|GiB)$",
            Quantity::Queue => r"^[0-9]+(\.[0-9]+)? ?(pkt|B|KB|MB|GB|KiB|MiB|GiB)$",
            Quantity::Ratio => r"^[0-9]+:1$",
            Quantity::Factor => r"^[0-9]+(\.[0-9]+|/[0-9]+)?$",
            Quantity::Share => r"^[0-9]+(\.[0-9]+)? ?(%|ppm|ppb)$",
        }
    }

    pub(crate) fn check(self, text: &str) -> Result<(), Fault> {
        match self {
            Quantity::Rate => rate(text).map(|_| ()),
            Quantity::Duration => duration(text).map(|_| ()),
            Quantity::Bytes => bytes(text).map(|_| ()),
            Quantity::Queue => queue(text).map(|_| ()),
            Quantity::Ratio => ratio(text).map(|_| ()),
            Quantity::Share => share(text).map(|_| ()),
            Quantity::Factor => factor(text).map(|_| ()),
        }
    }
}

/// Refuses amounts above half the range, so that sums of two never overflow.
fn few(amount: u64) -> Result<u64, Fault> {
    if amount > u64::MAX / 2 { Err(Fault::new("is too large")) } else { Ok(amount) }
}

pub(crate) fn rate(text: &str) -> Result<BitRate, Fault> {
    let rate = quantity::rate(text)?;
    few(rate.as_bps()).map(|_| rate)
}

/// The longest time of a scenario (chosen). Sums of 18 such times do not overflow.
pub(crate) const LONGEST: TimeDelta = TimeDelta::from_ms(1_000_000_000);

pub(crate) fn duration(text: &str) -> Result<TimeDelta, Fault> {
    match quantity::duration(text)? {
        time if time > LONGEST => Err(Fault::new("is too large, above 1000000s")),
        time => Ok(time),
    }
}

pub(crate) fn bytes(text: &str) -> Result<ByteCount, Fault> {
    few(quantity::bytes(text)?.get()).map(ByteCount::new)
}

pub(crate) fn queue(text: &str) -> Result<QueueSize, Fault> {
    let (amount, unit) = scaled(text, &[PACKETS, BYTES])?;
    match (amount, unit) {
        (0, _) => Err(Fault::new("is a queue that holds nothing")),
        (packets, "pkt") => u32::try_from(packets)
            .map(QueueSize::Packets)
            .map_err(|_| Fault::new("too many packets")),
        (bytes, _) => few(bytes).map(QueueSize::Bytes),
    }
}

pub(crate) fn ratio(text: &str) -> Result<u32, Fault> {
    let (headers, data) = text.split_once(':').ok_or_else(|| Fault::new("no colon"))?;
    match (headers.trim().parse(), data.trim()) {
        (Ok(headers @ 1..), "1") => Ok(headers),
        (_, "1") => Err(Fault::new("the left side is no positive whole number")),
        _ => Err(Fault::new("the right side is not 1")),
    }
}

/// Returns numerator and denominator of "2", "1/4" or "0.25".
pub(crate) fn factor(text: &str) -> Result<(u32, u32), Fault> {
    let decimal = text.split_once('.').filter(|(_, decimals)| decimals.len() <= 6);
    let (numerator, denominator) = match (text.split_once('/'), decimal) {
        (Some((numerator, denominator)), _) => (numerator.parse(), denominator.parse()),
        (None, Some((whole, decimals))) => {
            (format!("{whole}{decimals}").parse(), Ok(10u32.pow(decimals.len() as u32)))
        }
        (None, None) => (text.parse(), Ok(1)),
    };
    match (numerator, denominator) {
        (Ok(numerator), Ok(denominator @ 1..)) => {
            let scaled = (u64::from(numerator) << 16) / u64::from(denominator);
            match (1..=65_535 << 16).contains(&scaled) {
                true => Ok((numerator, denominator)),
                false => Err(Fault::new("is too small or too large")),
            }
        }
        _ => Err(Fault::new("is no positive number, nor one over another")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_exact() {
        assert_eq!(rate("10Gbps").unwrap(), BitRate::from_gbps(10));
        assert_eq!(rate("2.5 Gbps").unwrap(), BitRate::from_bps(2_500_000_000));
        assert_eq!(duration("20.1ms").unwrap(), TimeDelta::from_us(20_100));
        assert_eq!(duration("7.2512us").unwrap(), TimeDelta::from_ps(7_251_200));
        assert_eq!(bytes("270KB").unwrap(), ByteCount::new(270_000));
        assert_eq!(bytes("4KiB").unwrap(), ByteCount::new(4096));
        assert_eq!(bytes("1.5KiB").unwrap(), ByteCount::new(1536));
        assert_eq!(queue("8pkt").unwrap(), QueueSize::Packets(8));
        assert_eq!(queue("72000B").unwrap(), QueueSize::Bytes(72_000));
        assert_eq!(ratio("100000:1").unwrap(), 100_000);
        assert_eq!(share("0.1%").unwrap(), 1_000_000);
        assert_eq!(share("20ppm").unwrap(), 20_000);
        assert_eq!((factor("2").unwrap(), factor("21/100").unwrap()), ((2, 1), (21, 100)));
        assert_eq!(factor("0.21").unwrap(), (21, 100));
        for text in ["0", "1/0", "1/65537", "65536", "0.0000001", "-1", "1/2/3", "0.5/2", ""] {
            assert!(factor(text).is_err(), "{text}");
        }
    }

    #[test]
    fn wrong_units_name_the_nearest() {
        let fault = rate("10Gbs").unwrap_err();
        assert_eq!(fault.problem, "has the unknown unit `Gbs`");
        assert_eq!(fault.nearest.as_deref(), Some("10Gbps"));
        assert_eq!(duration("20mS").unwrap_err().nearest.as_deref(), Some("20ms"));
        assert_eq!(queue("8pkts").unwrap_err().nearest.as_deref(), Some("8pkt"));
        assert_eq!(duration("5").unwrap_err().problem, "has no unit");
    }

    #[test]
    fn a_fractional_or_too_large_quantity_is_refused() {
        assert_eq!(bytes("0.5B").unwrap_err().problem, "is no whole number of B");
        assert_eq!(duration("0.0001ns").unwrap_err().problem, "is no whole number of ps");
        assert_eq!(duration("99999999999s").unwrap_err().problem, "is too large");
        assert_eq!(
            duration("9999999999999999999999999999999999999999999s").unwrap_err().problem,
            "is too large"
        );
        assert_eq!(duration("1000000s").unwrap(), LONGEST);
        let above = duration("1000000.000000000001s").unwrap_err();
        assert_eq!(above.problem, "is too large, above 1000000s");
        for text in ["", "us", ".5us", "1.2.3us", "-1us", "1e3us"] {
            assert!(duration(text).is_err(), "{text}");
        }
        assert!(rate("0bps").is_err() && queue("0pkt").is_err() && ratio("0:1").is_err());
        assert!(ratio("10:2").is_err() && ratio("10").is_err());
    }
}
