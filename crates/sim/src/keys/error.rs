//! Errors in scenarios, and their places in the text.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) use trimline_packet::quantity::nearest;

/// A text that a scenario was read from: a file, or one `--set`.
#[derive(Debug)]
pub struct Source {
    /// File name, or `--set`.
    pub name: String,
    /// The whole text.
    pub text: String,
    /// Files that the text names, by path, as they were first read.
    files: Mutex<BTreeMap<String, Result<String, String>>>,
}

impl PartialEq for Source {
    fn eq(&self, other: &Source) -> bool {
        (&self.name, &self.text) == (&other.name, &other.text)
    }
}

impl Eq for Source {}

impl Source {
    /// Creates a source. The files that the text names are not read yet.
    pub fn new(name: &str, text: &str) -> Source {
        Source { name: name.to_owned(), text: text.to_owned(), files: Mutex::default() }
    }

    /// Returns the contents of the file at `path`. Each path is read once, so that all sweep points see one state of
    /// it.
    pub(crate) fn file(
        &self,
        path: &str,
        read: impl FnOnce(&str) -> Result<String, String>,
    ) -> Result<String, String> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.entry(path.to_owned()).or_insert_with(|| read(path)).clone()
    }

    /// Returns line and column (both from 1, columns in characters) of the byte at `offset`.
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

/// A range of bytes in a [`Source`]: `start..end`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The text that the range is in.
    pub source: Arc<Source>,
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Place {
    /// The place of a value that no text contains.
    pub(crate) fn nowhere() -> Place {
        let source = Arc::new(Source::new("default", ""));
        Place { source, start: 0, end: 0 }
    }

    /// Returns the first line of the text at this place.
    pub fn text(&self) -> &str {
        let text = self.source.text.get(self.start..self.end).unwrap_or("");
        text.lines().next().unwrap_or("")
    }
}

/// An error in a scenario. `Display` is one line: `file:line:column: problem, expected, nearest`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// Place of the error.
    pub place: Place,
    /// Description of the error.
    pub problem: String,
    /// The correct input, as the end of "expected ...".
    pub expected: String,
    /// The valid key, name or number nearest to the given one.
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

    /// Returns the name of the source, and the line and column (from 1) of the error.
    pub fn position(&self) -> (&str, usize, usize) {
        let (line, column) = self.place.source.position(self.place.start);
        (&self.place.source.name, line, column)
    }

    /// Returns the first line of the wrong text.
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
