//! Tables of one width as CSV.

/// A header and its rows as CSV text, quoted as every reader expects it.
pub(crate) fn table<R: AsRef<[String]>>(header: &[&str], rows: impl Iterator<Item = R>) -> Vec<u8> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    let written = writer
        .write_record(header)
        .and_then(|()| rows.into_iter().try_for_each(|row| writer.write_record(row.as_ref())));
    written.expect("writing rows of one width to memory cannot fail");
    writer.into_inner().expect("flushing to memory cannot fail")
}
