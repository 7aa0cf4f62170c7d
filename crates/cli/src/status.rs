//! Exit statuses.

use std::process::ExitCode;

/// The exit statuses of all commands, with their meaning.
pub(crate) const STATUSES: [(u8, &str); 5] = [
    (0, "done"),
    (MISSED, "done, but a finding does not hold, or a ping or request had no answer"),
    (ERROR, "error: standard error names it, its place and what was expected"),
    (101, "fault of Trimline: an invariant is broken; please report it"),
    (INTERRUPTED, "stopped by Ctrl-C or SIGTERM; `run`, `compare` and `reproduce` keep results"),
];

const MISSED: u8 = 1;
const ERROR: u8 = 2;
/// 128 and the number of SIGINT, as shells have it.
pub(crate) const INTERRUPTED: u8 = 130;

/// The status of a command that is done: whether all that it judged holds.
pub(crate) fn done(all_hold: bool) -> ExitCode {
    if all_hold { ExitCode::SUCCESS } else { ExitCode::from(MISSED) }
}

/// The status of a command with an error.
pub(crate) fn error() -> ExitCode {
    ExitCode::from(ERROR)
}

/// The status of a command that was stopped.
pub(crate) fn interrupted() -> ExitCode {
    ExitCode::from(INTERRUPTED)
}

/// Lists the statuses, for the help of programs.
pub(crate) fn help() -> String {
    let line = |(status, meaning): &(u8, &str)| {
        trimline_explain::wrapped(&format!("  {status:<5} {meaning}"), 8)
    };
    let lines: Vec<String> = STATUSES.iter().map(line).collect();
    format!("Exit status:\n{}", lines.join("\n"))
}
