//! Rows of JSON: as text in columns, and in a file that `trimline stats` prints.

use std::io;
use std::path::Path;

use serde_json::Value;

/// Rows of a JSON array as columns: words from the left, numbers from the right. Nothing if there are none.
pub(crate) fn aligned(columns: &[&str], entries: &[Value]) -> String {
    if entries.is_empty() {
        return String::new();
    }
    let plain = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Bool(is) => if *is { "yes" } else { "no" }.to_owned(),
        other => other.to_string(),
    };
    let mut rows = vec![columns.iter().map(|name| name.replace('_', " ")).collect::<Vec<_>>()];
    for entry in entries {
        let cell = |name: &&str| entry.get(*name).map_or_else(|| "-".to_owned(), plain);
        rows.push(columns.iter().map(cell).collect());
    }
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    let mut out = String::from("\n");
    for row in &rows {
        for ((name, cell), &width) in columns.iter().zip(row).zip(&widths) {
            out += &match *name {
                "peer" | "switch" => format!("{cell:width$}"),
                "address" => format!("  {cell:width$}"),
                _ => format!("  {cell:>width$}"),
            };
        }
        out.push('\n');
    }
    out
}

/// Writes the file: whole or not at all, so that readers never see half of it.
pub(crate) fn write_file(path: &Path, json: &Value) -> io::Result<()> {
    let beside = path.with_extension("new");
    std::fs::write(&beside, format!("{json:#}\n"))?;
    std::fs::rename(&beside, path)
}
