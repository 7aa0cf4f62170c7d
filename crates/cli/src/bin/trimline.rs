//! The program.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    trimline::command(std::env::args_os())
}
