//! Text on a terminal.

use std::io::{self, Write};

use trimline_experiments::Failure;

/// Prints to stdout and flushes. A closed pipe (`| head`) is not an error.
///
/// # Errors
/// Returns an error if standard output fails, such as a file on a full disk.
pub(crate) fn write(text: &str) -> io::Result<()> {
    write_to(&mut io::stdout().lock(), text).map(drop)
}

/// Prints a line to stderr. Errors are ignored, so that long-running commands go on.
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

/// Aligns rows in columns, the first row their heads: words left, numbers right.
pub(crate) fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..count).map(|column| width(column).unwrap_or(0)).collect();
    let are_words: Vec<bool> =
        (0..count).map(|column| column == 0 || holds_words(rows, column)).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let padding = " ".repeat(widths[column] - cell.chars().count());
            let separator = if column == 0 { "" } else { "  " };
            line += separator;
            line += &if are_words[column] {
                format!("{cell}{padding}")
            } else {
                format!("{padding}{cell}")
            };
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
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
}
