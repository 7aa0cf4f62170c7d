//! CSV tables with rows of equal width.

/// Writes a header and rows as CSV, quoted as every reader expects.
pub(crate) fn table<R: AsRef<[String]>>(
    header: &[&str],
    mut rows: impl Iterator<Item = R>,
) -> Vec<u8> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer
        .write_record(header)
        .and_then(|()| rows.try_for_each(|row| writer.write_record(row.as_ref())))
        .expect("all rows are as wide as the header");
    writer.into_inner().expect("writing to memory cannot fail")
}

/// Writes one line.
pub(crate) fn line(fields: &[&str]) -> Vec<u8> {
    table(fields, std::iter::empty::<[String; 0]>())
}

/// Formats a quotient with six decimals, rounded half up. Integer arithmetic gives the same digits everywhere.
pub(crate) fn share(part: u128, whole: u128) -> String {
    let whole = whole.max(1);
    let millionths = (part * 2_000_000 + whole) / (2 * whole);
    format!("{}.{:06}", millionths / 1_000_000, millionths % 1_000_000)
}
