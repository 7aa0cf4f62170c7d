//! What is wrong with a scenario, and where.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) use trimline_packet::quantity::nearest;

/// A text that a scenario was read from: the file, or one `--set`.
#[derive(Debug)]
pub struct Source {
    /// File name, or `--set`.
    pub name: String,
    /// The whole text.
    pub text: String,
    /// Files that the text names, by path: what was read first.
    files: Mutex<BTreeMap<String, Result<String, String>>>,
}

impl PartialEq for Source {
    fn eq(&self, other: &Source) -> bool {
        (&self.name, &self.text) == (&other.name, &other.text)
    }
}

impl Eq for Source {}

impl Source {
    /// A text and its name; nothing that it names is read yet.
    pub fn new(name: &str, text: &str) -> Source {
        Source { name: name.to_owned(), text: text.to_owned(), files: Mutex::default() }
    }

    /// What `read` says of the file at `path`, which is asked once: so that all points of a sweep are of one state
    /// of the file.
    pub(crate) fn file(
        &self,
        path: &str,
        read: impl FnOnce(&str) -> Result<String, String>,
    ) -> Result<String, String> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.entry(path.to_owned()).or_insert_with(|| read(path)).clone()
    }

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
        let source = Arc::new(Source::new("default", ""));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters_not_bytes() {
        let source = Source::new("s", "a = 1\n\"é\" = 2\n");
        assert_eq!(source.position(0), (1, 1));
        assert_eq!(source.position(10), (2, 4));
        assert_eq!(source.position(999), (3, 1));
    }
}
