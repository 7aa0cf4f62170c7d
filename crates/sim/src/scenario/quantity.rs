//! Numbers with their unit, as scenario files write them: "10Gbps", "9000B", "8pkt", "20.1ms".
//!
//! Exact: decimals are read as integers, never through a float, and what is no whole number of the
//! smallest unit (bit/s, byte, picosecond) is refused.

use trimline_packet::{BitRate, ByteCount, TimeDelta};

use super::error::nearest;

/// What a key measures.
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
    /// Headers to data packets, "10:1".
    Ratio,
    /// A part of all packets.
    Share,
    /// A positive number, "2", "1/4" or "0.25".
    Factor,
}

/// Memory of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueueSize {
    Packets(u32),
    Bytes(u64),
}

/// Why a text is no such quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) problem: String,
    pub(crate) nearest: Option<String>,
}

const RATES: &[(&str, u64)] = &[
    ("bps", 1),
    ("Kbps", 1_000),
    ("Mbps", 1_000_000),
    ("Gbps", 1_000_000_000),
    ("Tbps", 1_000_000_000_000),
];
const DURATIONS: &[(&str, u64)] =
    &[("ps", 1), ("ns", 1_000), ("us", 1_000_000), ("ms", 1_000_000_000), ("s", 1_000_000_000_000)];
const BYTES: &[(&str, u64)] = &[
    ("B", 1),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];
/// In billionths.
const SHARES: &[(&str, u64)] = &[("ppb", 1), ("ppm", 1_000), ("%", 10_000_000)];
const PACKETS: &[(&str, u64)] = &[("pkt", 1)];

impl Quantity {
    /// The end of "expected ...".
    pub(crate) const fn expected(self) -> &'static str {
        match self {
            Quantity::Rate => "a rate such as \"10Gbps\" (units: bps, Kbps, Mbps, Gbps, Tbps)",
            Quantity::Duration => "a time such as \"1us\" (units: ps, ns, us, ms, s)",
            Quantity::Bytes => {
                "a size such as \"9000B\" (units: B, KB, MB, GB of 1000; KiB, MiB, GiB of 1024)"
            }
            Quantity::Queue => "packets such as \"8pkt\" or bytes such as \"72000B\"",
            Quantity::Ratio => "headers to data packets such as \"10:1\"",
            Quantity::Factor => "a factor from 1/65536 to 65535 such as \"2\", \"1/4\" or \"0.25\"",
            Quantity::Share => "a share such as \"0.1%\" (units: %, ppm, ppb)",
        }
    }

    /// The texts that are such a quantity, as a regular expression for the JSON Schema.
    pub(crate) const fn pattern(self) -> &'static str {
        match self {
            Quantity::Rate => r"^[0-9]+(\.[0-9]+)? ?(bps|Kbps|Mbps|Gbps|Tbps)$",
            Quantity::Duration => r"^[0-9]+(\.[0-9]+)? ?(ps|ns|us|ms|s)$",
            Quantity::Bytes => r"^[0-9]+(\.[0-9]+)? ?(B|KB|MB|GB|KiB|MiB|GiB)$",
            Quantity::Queue => r"^[0-9]+(\.[0-9]+)? ?(pkt|B|KB|MB|GB|KiB|MiB|GiB)$",
            Quantity::Ratio => r"^[0-9]+:1$",
            Quantity::Factor => r"^[0-9]+(\.[0-9]+|/[0-9]+)?$",
            Quantity::Share => r"^[0-9]+(\.[0-9]+)? ?(%|ppm|ppb)$",
        }
    }

    /// Whether `text` is such a quantity.
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

pub(crate) fn rate(text: &str) -> Result<BitRate, Fault> {
    match scaled(text, &[RATES])? {
        (0, _) => Err(fault("a rate of zero never delivers")),
        (bits, _) => Ok(BitRate::from_bps(bits)),
    }
}

pub(crate) fn duration(text: &str) -> Result<TimeDelta, Fault> {
    scaled(text, &[DURATIONS]).map(|(ps, _)| TimeDelta::from_ps(ps))
}

pub(crate) fn bytes(text: &str) -> Result<ByteCount, Fault> {
    scaled(text, &[BYTES]).map(|(bytes, _)| ByteCount::new(bytes))
}

pub(crate) fn queue(text: &str) -> Result<QueueSize, Fault> {
    let (amount, unit) = scaled(text, &[PACKETS, BYTES])?;
    match (amount, unit) {
        (0, _) => Err(fault("a queue of nothing holds nothing")),
        (packets, "pkt") => {
            u32::try_from(packets).map(QueueSize::Packets).map_err(|_| fault("too many packets"))
        }
        (bytes, _) => Ok(QueueSize::Bytes(bytes)),
    }
}

/// The headers that go for one data packet.
pub(crate) fn ratio(text: &str) -> Result<u32, Fault> {
    let (headers, data) = text.split_once(':').ok_or_else(|| fault("no colon"))?;
    match (headers.trim().parse(), data.trim()) {
        (Ok(headers @ 1..), "1") => Ok(headers),
        (_, "1") => Err(fault("the left side is no positive whole number")),
        _ => Err(fault("the right side is not 1")),
    }
}

/// Billionths.
pub(crate) fn share(text: &str) -> Result<u64, Fault> {
    scaled(text, &[SHARES]).map(|(billionths, _)| billionths)
}

/// Numerator and denominator: "2", "1/4" or "0.25".
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
                false => Err(fault("is too small or too large")),
            }
        }
        _ => Err(fault("is no positive number, nor one over another")),
    }
}

fn fault(problem: &str) -> Fault {
    Fault { problem: problem.to_owned(), nearest: None }
}

/// The amount in the smallest unit, and the name of the unit that was written.
fn scaled(text: &str, unit_sets: &[&[(&'static str, u64)]]) -> Result<(u64, &'static str), Fault> {
    let unit_start = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_start);
    let unit = unit.strip_prefix(' ').unwrap_or(unit);
    let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || decimals.contains('.') || number.ends_with('.') {
        return Err(fault("does not begin with a number"));
    }
    let units = || unit_sets.iter().copied().flatten();
    let Some(&(name, factor)) = units().find(|(name, _)| *name == unit) else {
        let problem = match unit {
            "" => "has no unit".to_owned(),
            unit => format!("has the unknown unit `{unit}`"),
        };
        let nearest = nearest(unit, units().map(|(name, _)| *name));
        return Err(Fault { problem, nearest: nearest.map(|unit| format!("{number}{unit}")) });
    };
    let too_large = || fault("is too large");
    let digits: u128 = format!("{whole}{decimals}").parse().map_err(|_| too_large())?;
    let scale = 10u128.checked_pow(decimals.len() as u32).ok_or_else(too_large)?;
    let amount = digits.checked_mul(u128::from(factor)).ok_or_else(too_large)?;
    if amount % scale != 0 {
        let smallest = units().find(|(_, factor)| *factor == 1).map_or("", |(name, _)| name);
        return Err(fault(&format!("is no whole number of {smallest}")));
    }
    // Half the range: sums of two times or sizes then never overflow.
    let amount = u64::try_from(amount / scale).ok().filter(|&amount| amount <= u64::MAX / 2);
    Ok((amount.ok_or_else(too_large)?, name))
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
    fn what_is_not_whole_or_too_large_is_refused() {
        assert_eq!(bytes("0.5B").unwrap_err().problem, "is no whole number of B");
        assert_eq!(duration("0.0001ns").unwrap_err().problem, "is no whole number of ps");
        assert_eq!(duration("99999999999s").unwrap_err().problem, "is too large");
        assert_eq!(
            duration("9999999999999999999999999999999999999999999s").unwrap_err().problem,
            "is too large"
        );
        for text in ["", "us", ".5us", "5.us", "1.2.3us", "-1us", "1e3us"] {
            assert!(duration(text).is_err(), "{text}");
        }
        assert!(rate("0bps").is_err() && queue("0pkt").is_err() && ratio("0:1").is_err());
        assert!(ratio("10:2").is_err() && ratio("10").is_err());
    }
}
