//! Text on a terminal.

use std::io::{self, IsTerminal, Write};

use serde_json::Value;
use trimline_experiments::Failure;
use trimline_explain::wrapped;

/// Columns of a terminal.
pub(crate) const WIDTH: usize = 80;

/// Prints to stdout and flushes. A closed pipe (`| head`) is not an error.
///
/// # Errors
/// Returns an error if standard output fails, such as a file on a full disk.
pub(crate) fn write(text: &str) -> io::Result<()> {
    write_to(&mut io::stdout().lock(), text).map(drop)
}

/// Prints a whole line to stderr, for programs. Errors are ignored, so that long-running commands go on.
pub(crate) fn say(text: &str) {
    say_to(&mut io::stderr().lock(), text);
}

fn say_to(out: &mut impl Write, text: &str) {
    // There is no other place to report this.
    let _ = writeln!(out, "{text}");
}

/// Prints to stdout as [`write()`], for commands.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    is_read(text).map(drop)
}

/// Prints to stdout, and returns whether the reader is still there.
pub(crate) fn is_read(text: &str) -> Result<bool, Failure> {
    write_to(&mut io::stdout().lock(), text).map_err(|error| Failure::message(error.to_string()))
}

/// Returns whether the reader is still there.
fn write_to(out: &mut impl Write, text: &str) -> io::Result<bool> {
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => {
            let described = format!("standard output: {error}; the output is incomplete");
            Err(io::Error::new(error.kind(), described))
        }
    }
}

/// True if standard output shows colours: a terminal whose user has not set NO_COLOR (no-color.org).
pub(crate) fn has_colours() -> bool {
    let is_unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    io::stdout().is_terminal() && !is_unwanted
}

/// Aligns rows in columns, the first row their heads, as [`aligned`].
pub(crate) fn columns(rows: &[Vec<String>]) -> String {
    aligned(rows).concat()
}

/// Longest first cell that other cells stand beside in a table that is too wide.
const MAX_LABEL: usize = 32;

/// Aligns rows in columns, the first row their heads: words left, numbers right. Returns the text of each row. If a row
/// does not fit a terminal, every row has several lines, with the same columns in each; a long first cell has its own.
pub(crate) fn aligned(rows: &[Vec<String>]) -> Vec<String> {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    let are_words: Vec<bool> =
        (0..count).map(|column| column == 0 || holds_words(rows, column)).collect();
    let label = widths.first().copied().unwrap_or(0);
    let all = widths.iter().map(|width| width + SEPARATOR).sum::<usize>();
    let is_label_apart = all > WIDTH + SEPARATOR && label > MAX_LABEL;
    let margin = if is_label_apart { 0 } else { label };
    // The columns of each line, without the first.
    let (mut lines, mut end): (Vec<Vec<usize>>, usize) = (vec![Vec::new()], margin);
    for (column, width) in widths.iter().enumerate().skip(1) {
        end += SEPARATOR + width;
        if end > WIDTH && lines.last().is_some_and(|line| !line.is_empty()) {
            lines.push(Vec::new());
            end = margin + SEPARATOR + width;
        }
        if let Some(line) = lines.last_mut() {
            line.push(column);
        }
    }
    let text = |row: &Vec<String>| {
        let name = row.first().map_or("", String::as_str);
        let mut text = if is_label_apart { wrapped(name, SEPARATOR) + "\n" } else { String::new() };
        for (place, line) in lines.iter().enumerate() {
            let head = if place == 0 && !is_label_apart { name } else { "" };
            let mut shown = format!("{head:margin$}");
            for &column in line {
                let cell = row.get(column).map_or("", String::as_str);
                let width = widths[column];
                shown += &if are_words[column] {
                    format!("  {cell:width$}")
                } else {
                    format!("  {cell:>width$}")
                };
            }
            text += shown.trim_end();
            text.push('\n');
        }
        text
    };
    rows.iter().map(text).collect()
}

/// Blanks between two columns.
const SEPARATOR: usize = 2;

/// Aligns the rows of a JSON array in columns, the keys of the first. Empty without rows.
pub(crate) fn entries(entries: &[Value]) -> String {
    let Some(first) = entries.first().and_then(Value::as_object) else { return String::new() };
    let plain = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Bool(is) => if *is { "yes" } else { "no" }.to_owned(),
        other => other.to_string(),
    };
    let mut rows = vec![first.keys().map(|name| name.replace('_', " ")).collect::<Vec<_>>()];
    for entry in entries {
        let cell = |name: &String| entry.get(name).map_or_else(|| "-".to_owned(), plain);
        rows.push(first.keys().map(cell).collect());
    }
    columns(&rows)
}

/// True if a column has words below its head, and no number.
fn holds_words(rows: &[Vec<String>], column: usize) -> bool {
    let first = |row: &Vec<String>| row.get(column)?.chars().next();
    let mut below = rows.iter().skip(1).filter_map(first);
    let is_word = |first: char| first.is_alphabetic() || matches!(first, '%' | '-');
    below.clone().any(|first| first.is_alphabetic() || first == '%') && below.all(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes nothing, or keeps all in a buffer that cannot be emptied.
    struct Closed(io::ErrorKind, bool);

    impl Write for Closed {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.1 { Ok(bytes.len()) } else { Err(self.0.into()) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(self.0.into())
        }
    }

    #[test]
    fn a_full_output_is_an_error_and_a_closed_pipe_is_not() {
        for is_buffered in [false, true] {
            let kind =
                |kind| write_to(&mut Closed(kind, is_buffered), "text").map_err(|e| e.kind());
            assert_eq!(kind(io::ErrorKind::BrokenPipe), Ok(false));
            assert_eq!(kind(io::ErrorKind::StorageFull), Err(io::ErrorKind::StorageFull));
        }
    }

    #[test]
    fn a_message_to_a_closed_pipe_is_no_error() {
        say_to(&mut Closed(io::ErrorKind::BrokenPipe, false), "text");
        let mut received = Vec::new();
        say_to(&mut received, "text");
        assert_eq!(received, b"text\n");
    }

    #[test]
    fn table_words_are_flush_left_and_numbers_flush_right() {
        let table = [
            ["finding", "ours", "unit", "paper", "verdict"],
            ["median", "none", "µs", "-", "holds"],
            ["share", "2.5", "%", "-", "-"],
        ];
        let rows = table.map(|row| row.map(str::to_owned).to_vec());
        let expected = "\
            finding  ours  unit  paper  verdict\n\
            median   none  µs        -  holds\n\
            share     2.5  %         -  -\n";
        assert_eq!(columns(&rows), expected);
    }

    #[test]
    fn rows_of_a_wide_table_have_several_lines() {
        let head = |first: &str| -> Vec<String> {
            let names = (0..9).map(|column| format!("{:>12}", format!("column {column}")));
            std::iter::once(first.to_owned()).chain(names).collect()
        };
        let row = |first: &str| -> Vec<String> {
            std::iter::once(first.to_owned()).chain((0..9).map(|n| n.to_string())).collect()
        };
        for (label, is_apart) in [("beside", false), (&*"long words ".repeat(9), true)] {
            let label = label.trim_end();
            let rows = aligned(&[head("name"), row(label)]);
            let text = rows.concat();
            assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
            // Every cell is there, in its order, and below its head.
            let words = rows[1].split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(words, format!("{label} 0 1 2 3 4 5 6 7 8"));
            assert_eq!(rows[1].starts_with(&format!("{label}  ")), !is_apart, "{text}");
            let [head, cells] = [0, 1].map(|row| rows[row].lines().last().unwrap());
            assert_eq!(head.chars().count(), cells.chars().count(), "{text}");
        }
    }
}
