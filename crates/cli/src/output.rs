//! Results on standard output: text for people, or JSON for programs.

use clap::Args;
use serde::Serialize;
use trimline_experiments::Failure;

use crate::terminal::print;

/// The option `--json` of every command that prints results.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct Output {
    /// Print results as JSON. Default: text.
    #[arg(long)]
    json: bool,
}

/// Commands without `--json`, and the reason.
pub(crate) const WITHOUT_JSON: [(&str, &str); 7] = [
    ("schema", "prints JSON Schema"),
    ("reference", "prints Markdown; `schema` has the keys as JSON"),
    ("completions", "writes files for shells and man pages"),
    ("cat listen", "prints the bytes of the peer; `--log json` reports the transfer"),
    ("cat send", "prints nothing; `--log json` reports the transfer"),
    ("rpc serve", "prints nothing; `--stats` and `--metrics` have its counters"),
    ("key new", "prints nothing"),
];

impl Output {
    pub(crate) fn is_json(self) -> bool {
        self.json
    }

    /// Prints the results of a command: one JSON value, or the text.
    pub(crate) fn print(
        self,
        value: &impl Serialize,
        text: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        if self.json { print_json(value) } else { print(&text()) }
    }

    /// Prints as [`Output::print`], for commands with real packets.
    #[cfg(target_os = "linux")]
    pub(crate) fn write(
        self,
        value: &impl Serialize,
        text: impl FnOnce() -> String,
    ) -> std::io::Result<()> {
        self.print(value, text).map_err(|failure| std::io::Error::other(failure.to_string()))
    }

    /// The results of a command that prints repeatedly: JSON in one line, or the text.
    #[cfg(target_os = "linux")]
    pub(crate) fn repeated(
        self,
        value: &serde_json::Value,
        text: impl FnOnce() -> String,
    ) -> String {
        if self.json { format!("{value}\n") } else { text() }
    }
}

/// Prints a JSON value, indented.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value);
    print(&format!("{}\n", text.map_err(|error| Failure::message(error.to_string()))?))
}
