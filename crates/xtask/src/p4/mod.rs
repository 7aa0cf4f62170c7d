//! The P4 program, executed: `cargo xtask p4`. The compiled program that is kept is that of the source that is kept,
//! and gives what every vector of the profile `p4` asks for. Where the real compiler and switch are on PATH they must
//! say the same; where they are not, that is said.

use std::path::Path;

use crate::bmv2::Program;
use crate::vectors::{FOLDER, read};

mod bench;
mod compiled;
mod mutations;
mod real;
mod simple_switch;
#[cfg(test)]
mod tests;

use bench::{claimed, run_vector};

/// The profile that the program claims.
const PROFILE: &str = "p4";
/// Where program, its compiled form and its tables are.
const SOURCE: &str = "p4/ndp_v1model.p4";
const COMPILED: &str = "p4/ndp_v1model.json";
const TABLES: &str = "p4/four_ports.txt";

pub(crate) use compiled::compile;
pub(crate) use mutations::check_all as check_mutations;

/// What a run covered.
pub(crate) struct Covered {
    /// Vectors of the profile, by hand and generated.
    pub(crate) vectors: usize,
    /// What was and what was not done with the real compiler and switch.
    pub(crate) real: Vec<String>,
}

/// Checks the compiled program, runs it on every vector of its profile, and compares it with the real compiler and
/// the real switch if they are there.
///
/// # Errors
/// One line a failure.
pub(crate) fn run_all(root: &Path) -> Result<Covered, Vec<String>> {
    compiled::check(root).map_err(|error| vec![error])?;
    let text = read(root, Path::new(COMPILED)).map_err(|error| vec![error])?;
    let program = Program::parse(COMPILED, &text).map_err(|error| vec![error])?;
    let tables = read(root, Path::new(TABLES)).map_err(|error| vec![error])?;
    let vectors = claimed(root).map_err(|error| vec![error])?;
    let outcomes = vectors.iter().map(|vector| run_vector(&program, &tables, vector));
    let mut failures: Vec<String> = outcomes.filter_map(Result::err).collect();
    if vectors.is_empty() {
        failures.push(format!("{FOLDER}: no vector of the profile {PROFILE}"));
    }
    let mut real = Vec::new();
    for outcome in [compiled::compare(root), real::compare(root, &text, &tables)] {
        match outcome {
            Ok(line) => real.push(line),
            Err(error) => failures.push(error),
        }
    }
    if failures.is_empty() { Ok(Covered { vectors: vectors.len(), real }) } else { Err(failures) }
}
