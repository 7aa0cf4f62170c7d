//! Lines of a description, as wide as a terminal.

use serde::Serialize;

/// Columns of a terminal, and the column where a line's words begin.
const WIDTH: usize = 80;
const MARGIN: usize = 13;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Line {
    pub(crate) about: String,
    pub(crate) described: String,
}

impl Line {
    pub(crate) fn new(about: &str, described: impl Into<String>) -> Line {
        Line { about: about.to_owned(), described: described.into() }
    }

    /// Wraps the line for a terminal.
    pub(crate) fn text(&self) -> String {
        format!("{}\n", wrapped(&format!("  {:<10} {}", self.about, self.described), MARGIN))
    }
}

/// Wraps a line between words at 80 columns; further lines are indented. A longer word has a line of its own.
pub fn wrapped(text: &str, indent: usize) -> String {
    let margin = " ".repeat(indent);
    let (mut lines, mut column) = (String::new(), 0);
    // Blanks before the first word are its indentation.
    let start = text.len() - text.trim_start_matches(' ').len();
    for (place, word) in text[start..].split(' ').enumerate() {
        let word = if place == 0 { &text[..start + word.len()] } else { word };
        let length = word.chars().count();
        if place > 0 && column > indent && column + 1 + length > WIDTH {
            lines.truncate(lines.trim_end_matches(' ').len());
            lines += &format!("\n{margin}");
            column = indent;
        } else if place > 0 {
            lines.push(' ');
            column += 1;
        }
        lines += word;
        column += length;
    }
    lines
}

pub(crate) fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// Joins values with commas; of more than eight only the first two and the last.
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
    fn lines_fit_a_terminal() {
        let text = Line::new("switch", "a word ".repeat(40).trim()).text();
        assert!(text.lines().all(|line| line.len() <= WIDTH), "{text}");
        assert!(
            text.lines().nth(1).is_some_and(|line| line.starts_with("             ")),
            "{text}"
        );
    }

    #[test]
    fn a_wrapped_line_has_the_same_words() {
        let text = format!("error: {} {} end", "some words".repeat(9), "x".repeat(100));
        let lines = wrapped(&text, 2);
        assert_eq!(lines.split_whitespace().collect::<Vec<_>>().join(" "), text);
        let wide: Vec<&str> = lines.lines().filter(|line| line.chars().count() > 80).collect();
        assert_eq!(wide, [format!("  {}", "x".repeat(100))]);
        assert_eq!(wrapped("short", 2), "short");
        // Blanks at the end of a line are dropped, and others stay.
        assert_eq!(wrapped("  a  b", 2), "  a  b");
    }

    #[test]
    fn long_lists_are_shortened() {
        let values: Vec<String> = (1..=9).map(|n| n.to_string()).collect();
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        assert_eq!(shortened(&values), "1, 2, ..., 9 (9 values)");
        assert_eq!(shortened(&values[..2]), "1, 2");
    }
}
