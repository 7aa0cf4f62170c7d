//! Lines of a description, as wide as a terminal.

/// Columns of a terminal, and the column where a line's words begin.
const WIDTH: usize = 80;
const MARGIN: usize = 13;

#[derive(Clone, Debug, PartialEq, Eq)]
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
        let mut text = format!("  {:<10} ", self.about);
        let mut column = MARGIN;
        for (place, word) in self.described.split(' ').enumerate() {
            let length = word.chars().count();
            if place > 0 && column + 1 + length > WIDTH {
                text += &format!("\n{}", " ".repeat(MARGIN));
                column = MARGIN;
            } else if place > 0 {
                text.push(' ');
                column += 1;
            }
            text += word;
            column += length;
        }
        text.push('\n');
        text
    }
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
    fn long_lists_are_shortened() {
        let values: Vec<String> = (1..=9).map(|n| n.to_string()).collect();
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        assert_eq!(shortened(&values), "1, 2, ..., 9 (9 values)");
        assert_eq!(shortened(&values[..2]), "1, 2");
    }
}
