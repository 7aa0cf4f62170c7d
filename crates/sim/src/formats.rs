//! Readers of the files of other simulators.
//!
//! | module | what |
//! |---|---|
//! | [`sizes`] | flow-size distributions: HPCC, Homa, dcPIM, and percentiles in columns |
//! | [`connection_matrix`] | htsim's `.cm`: flows, triggers, failed links |
//! | [`htsim_topology`] | htsim's `.topo` |
//! | [`hpcc`] | HPCC's flow and topology files; the lines of its FCT output |
//!
//! Parsers are total: no text makes them panic, and an error is a [`FormatError`] that names file and line. Numbers are
//! read exactly, never through a float.

pub mod connection_matrix;
pub mod hpcc;
pub mod htsim_topology;
pub mod sizes;

use std::fmt;

/// An error in a file. `Display` is one line: `file:line: problem; expected ...`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatError {
    /// Name of the file.
    pub file: String,
    /// Line, from 1; the last line if the end is missing.
    pub line: usize,
    /// Description of the error.
    pub problem: String,
    /// The correct input.
    pub expected: String,
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}; expected {}", self.file, self.line, self.problem, self.expected)
    }
}

impl std::error::Error for FormatError {}

/// A text with its name, and its lines that are neither empty nor comments.
#[derive(Clone, Copy)]
struct Text<'a> {
    file: &'a str,
    text: &'a str,
}

impl<'a> Text<'a> {
    fn error(
        &self,
        line: usize,
        problem: impl Into<String>,
        expected: impl Into<String>,
    ) -> FormatError {
        FormatError {
            file: self.file.to_owned(),
            line,
            problem: problem.into(),
            expected: expected.into(),
        }
    }

    fn body(&self) -> &'a str {
        self.text.strip_prefix('\u{feff}').unwrap_or(self.text)
    }

    /// Returns the lines with their numbers and words, without empty lines and comments.
    fn lines(self) -> impl Iterator<Item = (usize, Vec<&'a str>)> {
        (1..).zip(self.body().lines()).filter_map(|(number, line)| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let says_something = words.first().is_some_and(|word| !word.starts_with('#'));
            says_something.then_some((number, words))
        })
    }

    fn last_line(&self) -> usize {
        self.text.lines().count().max(1)
    }
}

/// Multiplies a decimal of digits and at most one point by `unit`, rounded half up. Returns `None` for any other text
/// and on overflow.
fn decimal(text: &str, unit: u64) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() + part.len() == 0 || !are_digits(whole) || !are_digits(part) {
        return None;
    }
    // Digits beyond 18 places do not change a u64.
    let part = &part[..part.len().min(18)];
    let scale = 10u128.pow(part.len() as u32);
    let number = |text: &str| if text.is_empty() { Some(0) } else { text.parse::<u128>().ok() };
    let whole = number(whole).filter(|&whole| whole <= u128::from(u64::MAX))?;
    let value = (whole * scale + number(part)?).checked_mul(u128::from(unit))?;
    u64::try_from((value + scale / 2) / scale).ok()
}

/// Multiplies a decimal with an optional exponent (`2e-05`) by `unit`, rounded half up.
fn scientific(text: &str, unit: u64) -> Option<u64> {
    let Some((mantissa, exponent)) = text.split_once(['e', 'E']) else {
        return decimal(text, unit);
    };
    let exponent = exponent.strip_prefix('+').unwrap_or(exponent);
    let exponent: i32 = Some(exponent).filter(|text| !text.starts_with('+'))?.parse().ok()?;
    if exponent.unsigned_abs() > 30 {
        return None;
    }
    // The point is moved in the text, so that nothing is rounded twice.
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let zeros = "0".repeat(exponent.unsigned_abs() as usize);
    let moved = if exponent >= 0 {
        let digits = format!("{part}{zeros}");
        let (left, right) = digits.split_at_checked(exponent as usize)?;
        format!("{whole}{left}.{right}")
    } else {
        let digits = format!("{zeros}{whole}");
        let at = digits.len().checked_sub(exponent.unsigned_abs() as usize)?;
        let (left, right) = digits.split_at_checked(at)?;
        format!("{left}.{right}{part}")
    };
    if whole.is_empty() && part.is_empty() { None } else { decimal(&moved, unit) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact_and_rounded_half_up() {
        for (text, value) in [
            ("0", 0),
            ("12.5", 12_500),
            ("0.0005", 1),
            ("0.00049999999999999999999", 0),
            (".5", 500),
            ("7.", 7_000),
        ] {
            assert_eq!(decimal(text, 1000), Some(value), "{text}");
        }
        for text in ["", ".", "1e3", "-1", "1.2.3", "99999999999999999999"] {
            assert_eq!(decimal(text, 1000), None, "{text}");
        }
    }

    #[test]
    fn exponents_move_the_point() {
        for (text, value) in
            [("2.5e3", 2_500_000), ("2.5E+0", 2_500), ("25e-2", 250), ("1e-3", 1), ("1.5e-3", 2)]
        {
            assert_eq!(scientific(text, 1000), Some(value), "{text}");
        }
        for text in ["e3", "1e", "1e99", "1e-99", "1ee3", "1e++3", "é1e-2"] {
            assert_eq!(scientific(text, 1000), None, "{text}");
        }
    }
}
