//! Parses quantities with units, as people write them: "10Gbps", "9000B", "20.1ms", "0.1%".
//!
//! Parsing is exact: decimals are integers, never floats, and fractions of the smallest unit (bit/s, byte, picosecond,
//! billionth) are errors. Printed [`BitRate`], [`ByteCount`] and [`TimeDelta`] parse back to the same value.
//!
//! Prefixes are powers of 1000: `K` (in rates also `k`), `M`, `G`, `T`; with an `i` powers of 1024. `m` is milli, never
//! `M`; `b` is a bit, `B` a byte: a mix-up is an error, not a guess.
//!
//! ```
//! use trimline_packet::quantity::{bytes, duration, rate, share};
//! use trimline_packet::{BitRate, ByteCount, TimeDelta};
//!
//! assert_eq!(rate("10Gbps"), Ok(BitRate::from_gbps(10)));
//! assert_eq!(duration("20.1ms"), Ok(TimeDelta::from_us(20_100)));
//! assert_eq!(bytes("4KiB"), Ok(ByteCount::new(4096)));
//! assert_eq!(share("0.1%"), Ok(1_000_000), "billionths");
//!
//! let fault = bytes("9000b").unwrap_err();
//! assert_eq!(fault.to_string(), "has the unknown unit `b`: `b` is a bit, `B` a byte; nearest: 9000B");
//! assert_eq!(duration("0.5ps").unwrap_err().to_string(), "is no whole number of ps");
//! ```

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use crate::{BitRate, ByteCount, TimeDelta};

/// Unit names with their factors, smallest unit first.
pub type Units = &'static [(&'static str, u64)];

/// Rate units, in bits per second.
pub const RATES: Units = &[
    ("bps", 1),
    ("Kbps", 1_000),
    ("Mbps", 1_000_000),
    ("Gbps", 1_000_000_000),
    ("Tbps", 1_000_000_000_000),
    ("kbps", 1_000),
    ("b/s", 1),
    ("kb/s", 1_000),
    ("Kb/s", 1_000),
    ("Mb/s", 1_000_000),
    ("Gb/s", 1_000_000_000),
    ("Tb/s", 1_000_000_000_000),
];

/// Time units, in picoseconds.
pub const DURATIONS: Units =
    &[("ps", 1), ("ns", 1_000), ("us", 1_000_000), ("ms", 1_000_000_000), ("s", 1_000_000_000_000)];

/// Size units, in bytes.
pub const BYTES: Units = &[
    ("B", 1),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];

/// Share units, in billionths.
pub const SHARES: Units = &[("ppb", 1), ("ppm", 1_000), ("%", 10_000_000)];

/// Ends an "expected ..." message for rates.
pub const A_RATE: &str = "a rate such as \"10Gbps\" (units: bps, Kbps, Mbps, Gbps, Tbps)";
/// Ends an "expected ..." message for times.
pub const A_DURATION: &str = "a time such as \"1us\" (units: ps, ns, us, ms, s)";
/// Ends an "expected ..." message for sizes.
pub const A_SIZE: &str =
    "a size such as \"9000B\" (units: B, KB, MB, GB of 1000; KiB, MiB, GiB of 1024)";
/// Ends an "expected ..." message for shares.
pub const A_SHARE: &str = "a share such as \"0.1%\" (units: %, ppm, ppb)";

/// The reason why a text is no quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The problem, as the end of a sentence after the text.
    pub problem: String,
    /// Nearest valid text.
    pub nearest: Option<String>,
}

impl Fault {
    /// Creates a fault without nearest text.
    pub fn new(problem: impl Into<String>) -> Fault {
        Fault { problem: problem.into(), nearest: None }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem)?;
        match &self.nearest {
            Some(nearest) => write!(f, "; nearest: {nearest}"),
            None => Ok(()),
        }
    }
}

impl core::error::Error for Fault {}

/// Parses a rate above zero: "10Gbps".
///
/// # Errors
/// Describes the problem.
pub fn rate(text: &str) -> Result<BitRate, Fault> {
    match scaled(text, &[RATES])? {
        (0, _) => Err(Fault::new("is a rate of zero, which never delivers")),
        (bits, _) => Ok(BitRate::from_bps(bits)),
    }
}

/// Parses a time: "20.1ms".
///
/// # Errors
/// Describes the problem.
pub fn duration(text: &str) -> Result<TimeDelta, Fault> {
    scaled(text, &[DURATIONS]).map(|(ps, _)| TimeDelta::from_ps(ps))
}

/// Parses a size: "9000B", "4KiB".
///
/// # Errors
/// Describes the problem.
pub fn bytes(text: &str) -> Result<ByteCount, Fault> {
    scaled(text, &[BYTES]).map(|(bytes, _)| ByteCount::new(bytes))
}

/// Parses a share into billionths: "0.1%", "20ppm".
///
/// # Errors
/// Describes the problem.
pub fn share(text: &str) -> Result<u64, Fault> {
    scaled(text, &[SHARES]).map(|(billionths, _)| billionths)
}

/// Parses a quantity into the amount in the smallest unit and the written unit. Spaces may separate number and unit.
///
/// # Errors
/// Describes the problem.
pub fn scaled(text: &str, sets: &[Units]) -> Result<(u64, &'static str), Fault> {
    let unit_start = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_start);
    let unit = unit.trim();
    let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || decimals.contains('.') {
        return Err(Fault::new("does not begin with a number"));
    }
    let units = || sets.iter().copied().flatten();
    let Some(&(name, factor)) = units().find(|(name, _)| *name == unit) else {
        let nearest = nearest(unit, units().map(|(name, _)| *name));
        let problem = match unit {
            "" => "has no unit".to_owned(),
            unit => format!("has the unknown unit `{unit}`{}", mistaken(unit, nearest)),
        };
        return Err(Fault { problem, nearest: nearest.map(|unit| format!("{number}{unit}")) });
    };
    let too_large = || Fault::new("is too large");
    let broken = || {
        let smallest = units().find(|(_, factor)| *factor == 1).map_or("", |(name, _)| name);
        Fault::new(format!("is no whole number of {smallest}"))
    };
    let decimals = decimals.trim_end_matches('0');
    let whole: u64 = whole.parse().map_err(|_| too_large())?;
    let part = part_of(decimals, factor).ok_or_else(broken)?;
    let amount = u128::from(whole) * u128::from(factor) + u128::from(part);
    Ok((u64::try_from(amount).map_err(|_| too_large())?, name))
}

/// Multiplies decimals by `factor`; `None` if the product is not whole.
fn part_of(decimals: &str, factor: u64) -> Option<u64> {
    // The last digit is not zero, so with more places than the factor has twos (30 for GiB) a remainder is left.
    let places = u32::try_from(decimals.len()).ok().filter(|&places| places <= 30)?;
    let digits: u128 = if decimals.is_empty() { 0 } else { decimals.parse().ok()? };
    // Both sides are divided by their common twos, so that the product fits.
    let twos = factor.trailing_zeros().min(places);
    let (factor, scale) = (u128::from(factor >> twos), 10u128.pow(places) >> twos);
    let product = digits.checked_mul(factor)?;
    if product.is_multiple_of(scale) { u64::try_from(product / scale).ok() } else { None }
}

/// Explains a unit with wrong letter case.
fn mistaken(unit: &str, nearest: Option<&str>) -> &'static str {
    let Some(known) = nearest.filter(|known| known.eq_ignore_ascii_case(unit)) else { return "" };
    let differs = |a: char, b: char| {
        unit.chars().zip(known.chars()).any(|(written, meant)| (written, meant) == (a, b))
    };
    if differs('B', 'b') || differs('b', 'B') {
        ": `b` is a bit, `B` a byte"
    } else if differs('m', 'M') || differs('M', 'm') {
        ": `m` is milli, `M` mega"
    } else {
        ""
    }
}

/// Returns the name with the fewest edits from `written`, unless they share next to nothing.
pub fn nearest<'a>(written: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let (distance, name) = names
        .into_iter()
        .map(|name| (edits(written, name), name))
        .min_by_key(|&(edits, _)| edits)?;
    let longest = written.chars().count().max(name.chars().count());
    // More than half wrong is another word: "parsec" is not "ps", but "sec" begins with "s".
    let is_like = 2 * distance <= longest || distance < longest && written.starts_with(name);
    is_like.then_some(name)
}

/// Counts insertions, deletions, substitutions and swaps of neighbours from `a` to `b`.
fn edits(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.to_lowercase().chars().collect();
    let b: Vec<char> = b.to_lowercase().chars().collect();
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let substituted = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = substituted.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_swap_of_two_letters_counts_as_one_edit() {
        assert_eq!(nearest("seesd", ["seeds", "speed"]), Some("seeds"));
        assert_eq!(nearest("duratoin", ["duration", "warm_up"]), Some("duration"));
        assert_eq!(nearest("x", ["duration"]), None);
        let units = ["ps", "ns", "us", "ms", "s"];
        assert_eq!(
            ["parsec", "sec", "usec"].map(|unit| nearest(unit, units)),
            [None, Some("s"), Some("us")]
        );
    }
}
