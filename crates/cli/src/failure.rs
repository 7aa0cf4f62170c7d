//! Errors on standard error.

use std::process::ExitCode;

use trimline_experiments::{Failure, notice};
use trimline_sim::scenario::ScenarioError;

use crate::status;

/// Prints a failure. Returns exit status 2.
pub(crate) fn report(failure: &Failure) -> ExitCode {
    notice(&format!("error: {failure}"));
    if let Failure::Scenario(error) = failure {
        eprint!("{}", shown(error));
    }
    status::error()
}

/// Shows the line with the mistake, and marks below it.
fn shown(error: &ScenarioError) -> String {
    const ROOM: usize = 72;
    let (_, line, column) = error.position();
    let text = error.place.source.text.lines().nth(line - 1).unwrap_or_default();
    if text.trim().is_empty() {
        return String::new();
    }
    // Show only the part of a long line around the mistake.
    let first = if column > ROOM { column - ROOM / 2 } else { 1 };
    let part: String = text.chars().skip(first - 1).take(ROOM).map(plain).collect();
    let length = error.offending().chars().count().clamp(1, ROOM);
    let indent = " ".repeat(column - first);
    let marks = "^".repeat(length.min(part.chars().count().saturating_sub(column - first)).max(1));
    let number = line.to_string();
    let margin = " ".repeat(number.len());
    format!(" {number} | {part}\n {margin} | {indent}{marks}\n")
}

/// Shows control characters, such as tabs, as a space.
fn plain(letter: char) -> char {
    if letter.is_control() { ' ' } else { letter }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trimline_sim::scenario::Scenario;

    fn of(text: &str) -> String {
        match Scenario::parse("s", text, &[]) {
            Err(error) => shown(&error),
            Ok(_) => panic!("{text}"),
        }
    }

    #[test]
    fn an_error_is_marked_in_its_line_once() {
        let text = "topology.star.hosts = 3\nengine = \"steam\"\n";
        assert_eq!(of(text), " 2 | engine = \"steam\"\n   |          ^^^^^^^\n");
        // A line that is longer than a terminal.
        let long = format!("workload = [{{ name = \"{}\", colour = 1 }}]", "a".repeat(300));
        let shown = of(&long);
        assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
        assert!(shown.contains("colour = 1") && shown.contains(" ^^^^^^\n"), "{shown}");
    }
}
