//! What went wrong, shown to the user: exit status 2.

use std::fmt;
use std::path::Path;
use std::process::ExitCode;

use miette::{Diagnostic, LabeledSpan, MietteHandlerOpts, NamedSource, SourceCode};
use trimline_sim::scenario::ScenarioError;

/// Something that the user can put right.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A mistake in a scenario.
    Scenario(Box<ScenarioError>),
    /// Anything else, in one line.
    Message(String),
}

impl Failure {
    pub(crate) fn message(text: impl Into<String>) -> Failure {
        Failure::Message(text.into())
    }

    /// An input or output error, with what it was about.
    pub(crate) fn io(what: &Path, error: &std::io::Error) -> Failure {
        Failure::Message(format!("{}: {error}", what.display()))
    }

    /// Prints the failure to stderr.
    pub(crate) fn report(self) -> ExitCode {
        match self {
            Failure::Message(text) => eprintln!("error: {text}"),
            Failure::Scenario(error) => {
                let handler = MietteHandlerOpts::new().wrap_lines(false).context_lines(1).build();
                // The first line is whole, whatever the terminal: programs read it too.
                eprintln!("error: {}", error);
                let snippet = Snippet::new(*error);
                eprint!("{}", Shown(&handler, &snippet));
            }
        }
        ExitCode::from(2)
    }
}

impl From<ScenarioError> for Failure {
    fn from(error: ScenarioError) -> Failure {
        Failure::Scenario(Box::new(error))
    }
}

/// The line with the mistake.
#[derive(Debug)]
struct Snippet {
    error: ScenarioError,
    source: NamedSource<String>,
}

impl Snippet {
    fn new(error: ScenarioError) -> Snippet {
        let source = &error.place.source;
        let source = NamedSource::new(&source.name, source.text.clone()).with_language("toml");
        Snippet { error, source }
    }
}

impl fmt::Display for Snippet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.error.problem)
    }
}

impl std::error::Error for Snippet {}

impl Diagnostic for Snippet {
    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.source)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let place = &self.error.place;
        let length = place.text().len();
        let label = self.error.nearest.as_ref().map(|nearest| format!("nearest: {nearest}"));
        Some(Box::new(std::iter::once(LabeledSpan::new(label, place.start, length))))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(format!("expected {}", self.error.expected)))
    }
}

struct Shown<'a>(&'a miette::MietteHandler, &'a Snippet);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        miette::ReportHandler::debug(self.0, self.1, f)
    }
}
