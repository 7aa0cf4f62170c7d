//! Checks of the workspace: `cargo xtask vectors`, `mutations`, `findings`, `tidy`. CI calls nothing that a
//! developer cannot call.

use std::path::Path;
use std::process::ExitCode;

mod arrows;
mod claims;
mod detour_frames;
mod detours;
mod findings;
mod frames;
mod generate;
mod module_graph;
mod mutants;
mod mutations;
mod named_vectors;
mod names;
mod pacers;
mod phantoms;
mod prose;
mod rows;
mod tidy;
mod vector_folder;
mod vectors;

const USAGE: &str = "usage: cargo xtask vectors [NAME.. | --mutations | --generate | --expand FOLDER] | mutations [--check] [--crate CRATE] [--part K/N] [NAME..] | findings [--because REASON | --signs] | tidy";

/// Writes all vectors that hardware obeys as bytes.
fn expanded(root: &Path, folder: &Path) -> Result<usize, String> {
    let ports = frames::expand_all(root, folder)? + detour_frames::expand_all(root, folder)?;
    Ok(ports + phantoms::expand_all(root, folder)? + pacers::expand_all(root, folder)?)
}

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

fn locked(outcome: Result<usize, Vec<String>>) -> ExitCode {
    match outcome {
        Ok(findings) => {
            println!("{findings} findings are locked");
            ExitCode::SUCCESS
        }
        Err(refused) => {
            refused.iter().for_each(|line| eprintln!("{line}"));
            ExitCode::FAILURE
        }
    }
}

/// Prints mutants with the vectors that find each, or mutants that no vector finds.
fn finders(outcome: Result<Vec<(&str, Vec<String>)>, Vec<String>>) -> ExitCode {
    match outcome {
        Ok(found) => {
            for (mutant, finders) in found {
                println!("{mutant}: found by {}", finders.join(" "));
            }
            ExitCode::SUCCESS
        }
        Err(missed) => {
            missed.iter().for_each(|line| eprintln!("{line}"));
            ExitCode::FAILURE
        }
    }
}

/// Checks that mutants can be made (`--check`), or finds the tests that fail with each.
fn mutations(root: &Path, arguments: &[&str]) -> ExitCode {
    let mut selection = mutants::Selection::default();
    let mut rest = arguments.iter();
    while let Some(&argument) = rest.next() {
        match argument {
            "--check" if arguments.len() == 1 => {
                return mutants_checked(root);
            }
            "--crate" => match rest.next() {
                Some(&package) => selection.package = Some(package.to_owned()),
                None => {
                    eprintln!("--crate: expected a name, such as transport or sim");
                    return ExitCode::from(2);
                }
            },
            "--part" => {
                selection.part = rest.next().and_then(|part| mutants::parse_part(part));
                if selection.part.is_none() {
                    eprintln!("--part: expected K/N with K from 1 to N, such as 2/8");
                    return ExitCode::from(2);
                }
            }
            _ if argument.starts_with('-') => {
                eprintln!("{USAGE}");
                return ExitCode::from(2);
            }
            name => selection.names.push(name.to_owned()),
        }
    }
    match mutants::run(root, &selection) {
        Ok(mutants::Outcome { found, missed }) if missed.is_empty() => {
            println!("{found} mutants are found");
            ExitCode::SUCCESS
        }
        Ok(mutants::Outcome { found, missed }) => {
            missed.iter().for_each(|line| eprintln!("{line}"));
            eprintln!("{found} mutants are found, {} are not", missed.len());
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn mutants_checked(root: &Path) -> ExitCode {
    match mutants::check(root) {
        Ok((mutants, claims::Covered { claims, code, tests })) => {
            println!("{mutants} mutants can be made");
            println!("{claims} claims are cited {code} times by code and {tests} times by tests");
            ExitCode::SUCCESS
        }
        Err(findings) => {
            findings.iter().for_each(|finding| eprintln!("{finding}"));
            ExitCode::FAILURE
        }
    }
}

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["vectors"] => match vectors::run_all(&root).and_then(|covered| {
            let others =
                [detours::run_all(&root)?, phantoms::run_all(&root)?, pacers::run_all(&root)?];
            Ok((covered, generate::check_all(&root)?, others))
        }) {
            Ok((covered, generated, [detours, phantoms, pacers])) => {
                let vectors::Covered { vectors, runs, claims } = covered;
                println!("{vectors} vectors hold in {runs} runs and show {claims} claims");
                println!("{generated} generated vectors hold and are what their seeds give");
                println!("{detours} vectors of detour hold");
                println!("{phantoms} vectors of phantom queues hold");
                println!("{pacers} vectors of pacers hold");
                ExitCode::SUCCESS
            }
            Err(failures) => {
                failures.iter().for_each(|failure| eprintln!("{failure}"));
                ExitCode::FAILURE
            }
        },
        ["vectors", "--mutations"] => finders(mutations::check_all(&root).and_then(|mut found| {
            found.extend(mutations::check_detours(&root)?);
            Ok(found)
        })),
        ["vectors", "--generate"] => written(generate::write_all(&root)),
        ["vectors", "--expand", folder] => written(expanded(&root, Path::new(folder))),
        ["vectors", ref names @ ..] if names.iter().all(|name| !name.starts_with('-')) => {
            match named_vectors::run(&root, names) {
                Ok(runs) => {
                    println!("{} vectors hold in {runs} runs", names.len());
                    ExitCode::SUCCESS
                }
                Err(failures) => {
                    failures.iter().for_each(|failure| eprintln!("{failure}"));
                    ExitCode::FAILURE
                }
            }
        }
        ["mutations", ref rest @ ..] => mutations(&root, rest),
        ["findings"] => locked(findings::update(&root, None)),
        ["findings", "--because", reason] => locked(findings::update(&root, Some(reason))),
        ["findings", "--signs"] => match findings::signs(&root) {
            Ok(counts) => {
                print!("{counts}");
                ExitCode::SUCCESS
            }
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        },
        ["tidy"] => match tidy::run_all(&root) {
            Ok(files) => {
                println!("{files} files are tidy");
                mutants_checked(&root)
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
