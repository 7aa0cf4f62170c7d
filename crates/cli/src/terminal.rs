//! Text on a terminal.

use std::io::Write;

/// Prints to stdout. A reader that has gone away (`| head`) is no error.
pub(crate) fn print(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// Rows as columns of equal width, the first row their heads: words flush left, numbers flush right.
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

/// Whether a column has words below its head, and no number.
fn holds_words(rows: &[Vec<String>], column: usize) -> bool {
    let first = |row: &Vec<String>| row.get(column)?.chars().next();
    let mut below = rows.iter().skip(1).filter_map(first);
    let is_word = |first: char| first.is_alphabetic() || matches!(first, '%' | '-');
    below.clone().any(|first| first.is_alphabetic() || first == '%') && below.all(is_word)
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
    fn words_are_flush_left_and_numbers_flush_right() {
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
    fn long_lists_are_shortened() {
        let values: Vec<String> = (1..=9).map(|n| n.to_string()).collect();
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        assert_eq!(shortened(&values), "1, 2, ..., 9 (9 values)");
        assert_eq!(shortened(&values[..2]), "1, 2");
    }
}
