//! What went wrong, shown to the user: exit status 2.

use std::fmt;
use std::path::Path;
use std::process::ExitCode;

use miette::{Diagnostic, LabeledSpan, MietteHandlerOpts, NamedSource, SourceCode};
use trimline_sim::scenario::{Scenario, ScenarioError};
use trimline_sim::transports::Transports;

use crate::foreign::scenario_of;

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

/// Reads a scenario file and everything laid over it. Without a name it has that of its file.
pub(crate) fn read_scenario(
    path: &Path,
    format: Option<&str>,
    settings: &[String],
    transports: &Transports,
) -> Result<Scenario, Failure> {
    parse_scenario(path, &scenario_text(path, format)?, settings, transports)
}

/// The text of a scenario, also of a file that is none but can be run; `format` says that it is one of flows.
pub(crate) fn scenario_text(path: &Path, format: Option<&str>) -> Result<String, Failure> {
    match scenario_of(path, format)? {
        Some(text) => Ok(text),
        None => std::fs::read_to_string(path).map_err(|error| Failure::io(path, &error)),
    }
}

/// Reads the text of the scenario at `path`. Without a name it has that of its file.
pub(crate) fn parse_scenario(
    path: &Path,
    text: &str,
    settings: &[String],
    transports: &Transports,
) -> Result<Scenario, Failure> {
    let name = path.display().to_string();
    let mut scenario = Scenario::parse_with(&name, text, settings, transports)?;
    if scenario.name.is_empty() {
        scenario.name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    }
    Ok(scenario)
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
