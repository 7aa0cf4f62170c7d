//! What the workspace checks about itself: `cargo xtask vectors`, `cargo xtask tidy`. CI calls
//! nothing that a developer cannot call.

use std::path::Path;
use std::process::ExitCode;

mod frames;
mod generate;
mod mutations;
mod tidy;
mod vectors;

const USAGE: &str =
    "usage: cargo xtask vectors [--mutations | --generate | --expand FOLDER] | tidy";

fn written(outcome: Result<usize, String>) -> ExitCode {
    match outcome {
        Ok(files) => {
            println!("{files} files written");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["vectors"] => match vectors::run_all(&root)
            .and_then(|covered| Ok((covered, generate::check_all(&root)?)))
        {
            Ok((covered, generated)) => {
                let vectors::Covered { vectors, runs, claims } = covered;
                println!("{vectors} vectors hold in {runs} runs and show {claims} claims");
                println!("{generated} generated vectors hold and are what their seeds give");
                ExitCode::SUCCESS
            }
            Err(failures) => {
                failures.iter().for_each(|failure| eprintln!("{failure}"));
                ExitCode::FAILURE
            }
        },
        ["vectors", "--mutations"] => match mutations::check_all(&root) {
            Ok(found) => {
                for (mistake, finders) in found {
                    println!("{mistake}: found by {}", finders.join(" "));
                }
                ExitCode::SUCCESS
            }
            Err(missed) => {
                missed.iter().for_each(|line| eprintln!("{line}"));
                ExitCode::FAILURE
            }
        },
        ["vectors", "--generate"] => written(generate::write_all(&root)),
        ["vectors", "--expand", folder] => written(frames::expand_all(&root, Path::new(folder))),
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
