//! What the workspace checks about itself: `cargo xtask vectors`, `cargo xtask tidy`. CI calls
//! nothing that a developer cannot call.

use std::path::Path;
use std::process::ExitCode;

mod tidy;
mod vectors;

const USAGE: &str = "usage: cargo xtask vectors | tidy";

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["vectors"] => match vectors::run_all(&root) {
            Ok(covered) => {
                let vectors::Covered { vectors, runs, claims } = covered;
                println!("{vectors} vectors hold in {runs} runs and show {claims} claims");
                ExitCode::SUCCESS
            }
            Err(failures) => {
                failures.iter().for_each(|failure| eprintln!("{failure}"));
                ExitCode::FAILURE
            }
        },
        ["tidy"] => match tidy::run_all(&root) {
            Ok(files) => {
                println!("{files} files are tidy");
                ExitCode::SUCCESS
            }
            Err(findings) => {
                findings.iter().for_each(|finding| eprintln!("{finding}"));
                ExitCode::FAILURE
            }
        },
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}
