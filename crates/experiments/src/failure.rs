//! The error of this crate.

use std::fmt;
use std::path::Path;

use trimline_sim::scenario::ScenarioError;

/// The reason why a scenario cannot be read or run, or an experiment cannot be judged or kept.
#[derive(Debug)]
pub enum Failure {
    /// A mistake in a scenario, with its place.
    Scenario(Box<ScenarioError>),
    /// A line about anything else.
    Message(String),
}

impl Failure {
    /// A failure with this text.
    pub fn message(text: impl Into<String>) -> Failure {
        Failure::Message(text.into())
    }

    /// A failure of the file system at `what`.
    pub fn io(what: &Path, error: &std::io::Error) -> Failure {
        Failure::Message(format!("{}: {error}", what.display()))
    }
}

impl fmt::Display for Failure {
    /// Writes one line.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Scenario(error) => error.fmt(out),
            Failure::Message(text) => text.fmt(out),
        }
    }
}

impl From<ScenarioError> for Failure {
    fn from(error: ScenarioError) -> Failure {
        Failure::Scenario(Box::new(error))
    }
}
