//! Runs the compiled P4 programs: `cargo p4`. They must pass every vector of the profile `p4` and of `vectors/detour`, and
//! bmv2's switch must agree if it is on PATH; otherwise that is reported.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use claim::{Claim, KEPT, check_mutants, hold, program, tables};
use ndp::Ndp;
use opf::Opf;
use simple_switch::Comparison;

mod bmv2;
mod claim;
#[allow(dead_code, reason = "only frames are wanted here")]
#[path = "../../../crates/xtask/src/detour_frames.rs"]
mod detour_frames;
#[allow(dead_code, reason = "the model of a vector is for the Rust port")]
#[path = "../../../crates/xtask/src/detours.rs"]
mod detours;
#[allow(dead_code, reason = "only frames are wanted here")]
#[path = "../../../crates/xtask/src/frames.rs"]
mod frames;
#[allow(dead_code, reason = "tests generate more vectors")]
#[cfg(test)]
#[path = "../../../crates/xtask/src/generate.rs"]
mod generate;
mod mutants;
mod ndp;
mod opf;
mod simple_switch;
#[allow(dead_code, reason = "only detours are read here")]
#[path = "../../../crates/xtask/src/vector_folder.rs"]
mod vector_folder;
#[allow(dead_code, reason = "the harness is for the Rust port")]
#[path = "../../../crates/xtask/src/vectors.rs"]
mod vectors;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs the program of a folder on every vector that it claims, and compares `simple_switch` with the interpreter.
/// Returns a line per result.
fn check<C: Claim>(
    root: &Path,
    folder: &str,
    what: &str,
    compare: Comparison,
) -> Result<String, String> {
    let (program, document) = (program::<C>(root, folder)?, root.join(folder).join(C::FILE));
    let held = format!("{} {what}\n", hold::<C>(root, &program)?);
    if let Some(missing) = simple_switch::missing() {
        let skipped = format!("SKIPPED: {missing} is not on PATH; bmv2 did not run {}", C::FILE);
        return Ok(held + &skipped);
    }
    let compared = compare(&program, &tables::<C>(root)?, &|name, commands, frames| {
        let folder = root.join("out/p4").join(name);
        simple_switch::run::<C>(&folder, &document, &program, commands, frames)
    });
    Ok(held + &compared?)
}

fn check_all(root: &Path, folder: &str) -> Result<String, String> {
    let ndp = "vectors hold on NDP's compiled P4 program";
    let ndp = check::<Ndp>(root, folder, ndp, ndp::real::compare)?;
    let opf = check::<Opf>(root, folder, "vectors of detour hold on OPF's", opf::real::compare)?;
    Ok(ndp + "\n" + &opf)
}

fn main() -> ExitCode {
    let root = root();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => check_all(&root, KEPT),
        ["--mutations"] => check_mutants::<Ndp>(&root)
            .and_then(|ndp| check_mutants::<Opf>(&root).map(|opf| ndp + "\n" + &opf)),
        [folder] if !folder.starts_with('-') => check_all(&root, folder),
        _ => Err("usage: cargo p4 [--mutations | FOLDER]".to_owned()),
    };
    match outcome {
        Ok(lines) => {
            println!("{lines}");
            ExitCode::SUCCESS
        }
        Err(failures) => {
            eprintln!("{failures}");
            ExitCode::FAILURE
        }
    }
}
