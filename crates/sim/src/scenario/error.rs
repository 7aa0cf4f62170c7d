//! What is wrong with a scenario, and where.

use std::fmt;
use std::sync::Arc;

/// A text that a scenario was read from: the file, or one `--set`.
#[derive(Debug, PartialEq, Eq)]
pub struct Source {
    /// File name, or `--set`.
    pub name: String,
    /// The whole text.
    pub text: String,
}

impl Source {
    /// Line and column (both from 1, columns in characters) of the byte at `offset`.
    pub fn position(&self, offset: usize) -> (usize, usize) {
        let mut end = offset.min(self.text.len());
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        let before = &self.text[..end];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }
}

/// A place in a [`Source`]: bytes `start..end`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Where the text stands.
    pub source: Arc<Source>,
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Place {
    /// That of what nobody wrote.
    pub(crate) fn nowhere() -> Place {
        let source = Arc::new(Source { name: "default".to_owned(), text: String::new() });
        Place { source, start: 0, end: 0 }
    }

    /// The text at this place: its first line.
    pub fn text(&self) -> &str {
        let text = self.source.text.get(self.start..self.end).unwrap_or("");
        text.lines().next().unwrap_or("")
    }
}

/// A mistake in a scenario. `Display` is one line: `file:line:column: what, expected, nearest`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// Where it is.
    pub place: Place,
    /// What is wrong.
    pub problem: String,
    /// What would be right, as the end of "expected ...".
    pub expected: String,
    /// The valid key, name or number nearest to what was written.
    pub nearest: Option<String>,
}

impl ScenarioError {
    pub(crate) fn new(
        place: &Place,
        problem: impl Into<String>,
        expected: impl Into<String>,
    ) -> ScenarioError {
        ScenarioError {
            place: place.clone(),
            problem: problem.into(),
            expected: expected.into(),
            nearest: None,
        }
    }

    pub(crate) fn nearest(mut self, nearest: Option<impl Into<String>>) -> ScenarioError {
        self.nearest = nearest.map(Into::into);
        self
    }

    /// Name of the text with the mistake, its line and its column (from 1).
    pub fn position(&self) -> (&str, usize, usize) {
        let (line, column) = self.place.source.position(self.place.start);
        (&self.place.source.name, line, column)
    }

    /// The text that is wrong: its first line.
    pub fn offending(&self) -> &str {
        self.place.text()
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (file, line, column) = self.position();
        write!(f, "{file}:{line}:{column}: {}", self.problem)?;
        if !self.offending().is_empty() {
            write!(f, " (at `{}`)", self.offending())?;
        }
        write!(f, "; expected {}", self.expected)?;
        match &self.nearest {
            Some(nearest) => write!(f, "; nearest: {nearest}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ScenarioError {}

/// The one of `names` with the fewest edits from `written`, unless it shares next to nothing.
pub(crate) fn nearest<'a>(
    written: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let (distance, name) = names
        .into_iter()
        .map(|name| (edits(written, name), name))
        .min_by_key(|&(edits, _)| edits)?;
    let longest = written.chars().count().max(name.chars().count());
    (distance < longest).then_some(name)
}

/// Insertions, deletions, substitutions and swaps of neighbours that make `b` of `a`.
fn edits(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.to_lowercase().chars().collect();
    let b: Vec<char> = b.to_lowercase().chars().collect();
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let substituted = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = substituted.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_counts_a_swap_as_one_edit() {
        assert_eq!(nearest("seesd", ["seeds", "speed"]), Some("seeds"));
        assert_eq!(nearest("duratoin", ["duration", "warm_up"]), Some("duration"));
        assert_eq!(nearest("x", ["duration"]), None);
    }

    #[test]
    fn positions_count_characters_not_bytes() {
        let source = Source { name: "s".into(), text: "a = 1\n\"é\" = 2\n".into() };
        assert_eq!(source.position(0), (1, 1));
        assert_eq!(source.position(10), (2, 4));
        assert_eq!(source.position(999), (3, 1));
    }
}
