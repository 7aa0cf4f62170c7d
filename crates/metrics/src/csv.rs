//! Tables of one width as CSV.

use std::io::{self, Write};

/// A header and its rows as CSV text, quoted as every reader expects it.
pub(crate) fn table<R: AsRef<[String]>>(header: &[&str], rows: impl Iterator<Item = R>) -> Vec<u8> {
    let mut text = Vec::new();
    write_table(&mut text, header, rows).expect("writing to memory cannot fail");
    text
}

/// Writes a header and its rows, row by row.
///
/// # Errors
/// Nothing more can be written.
pub(crate) fn write_table<R: AsRef<[String]>>(
    out: impl Write,
    header: &[&str],
    mut rows: impl Iterator<Item = R>,
) -> io::Result<()> {
    let mut writer = ::csv::Writer::from_writer(out);
    writer.write_record(header)?;
    rows.try_for_each(|row| writer.write_record(row.as_ref()))?;
    writer.flush()
}

/// A quotient with six decimals, rounded half up; in integers, so that the digits are the same everywhere.
pub(crate) fn share(part: u128, whole: u128) -> String {
    let whole = whole.max(1);
    let millionths = (part * 2_000_000 + whole) / (2 * whole);
    format!("{}.{:06}", millionths / 1_000_000, millionths % 1_000_000)
}
