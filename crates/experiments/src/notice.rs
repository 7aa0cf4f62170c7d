//! Notes, warnings and errors on standard error.

use std::io::{self, IsTerminal, Write};

use trimline_explain::wrapped;

/// Indent of the further lines of a notice.
const INDENT: usize = 2;

/// Prints a note, a warning or an error to standard error: in lines of 80 columns on a terminal, otherwise in one line,
/// for programs. Failures of standard error are ignored, so that commands go on.
pub fn notice(text: &str) {
    let text = if io::stderr().is_terminal() { wrapped(text, INDENT) } else { text.to_owned() };
    // There is no other place to report this.
    let _ = writeln!(io::stderr().lock(), "{text}");
}
