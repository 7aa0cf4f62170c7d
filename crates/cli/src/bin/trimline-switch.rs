//! The software switch.
#![forbid(unsafe_code)]

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    trimline::switch()
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    eprintln!("`trimline-switch` needs Linux");
    ExitCode::from(2)
}
