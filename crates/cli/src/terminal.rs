//! Text on a terminal.

use std::io::Write;

/// Prints to stdout. A reader that has gone away (`| head`) is no error.
pub(crate) fn print(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// Rows as columns of equal width, the first flush left, the others flush right.
pub(crate) fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..count).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let padding = " ".repeat(widths[column] - cell.chars().count());
            let separator = if column == 0 { "" } else { "  " };
            line += separator;
            line +=
                &if column == 0 { format!("{cell}{padding}") } else { format!("{padding}{cell}") };
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// A list of which the middle goes when it is long.
pub(crate) fn shortened(values: &[&str]) -> String {
    match values {
        [first, second, .., last] if values.len() > 8 => {
            format!("{first}, {second}, ..., {last} ({} values)", values.len())
        }
        values => values.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows = [vec!["run".into(), "Gb/s".into()], vec!["seed-1".to_owned(), "µ".to_owned()]];
        assert_eq!(columns(&rows), "run     Gb/s\nseed-1     µ\n");
    }

    #[test]
    fn long_lists_are_shortened() {
        let values: Vec<String> = (1..=9).map(|n| n.to_string()).collect();
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        assert_eq!(shortened(&values), "1, 2, ..., 9 (9 values)");
        assert_eq!(shortened(&values[..2]), "1, 2");
    }
}
