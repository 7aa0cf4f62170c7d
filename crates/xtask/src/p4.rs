//! Runs the P4 programs: `cargo xtask p4`. The kept compiled programs must belong to the kept sources, and pass every
//! vector of the profile `p4` and of `vectors/detour`. The real compiler and switch must agree if they are on PATH;
//! otherwise that is reported.

use std::path::Path;

use crate::bmv2::Program;
use crate::vectors::read;

mod bench;
mod change;
mod compiled;
mod mutations;
mod opf;
mod real;
mod simple_switch;
#[cfg(test)]
mod tests;

const PROFILE: &str = "p4";

struct Kept {
    source: &'static str,
    compiled: &'static str,
    tables: &'static str,
}

const NDP: Kept = Kept {
    source: "p4/ndp_v1model.p4",
    compiled: "p4/ndp_v1model.json",
    tables: "p4/four_ports.txt",
};

const OPF: Kept = Kept {
    source: "p4/opf_v1model.p4",
    compiled: "p4/opf_v1model.json",
    tables: "p4/eight_ports.txt",
};

pub(crate) use compiled::compile;

struct Claim {
    kept: Kept,
    /// Runs its vectors, and returns their number.
    hold: fn(&Path, &Program) -> Result<usize, Vec<String>>,
    /// Compares with the real switch. Returns what was compared, or why not.
    real: fn(&Path, &str, &str) -> Result<String, String>,
}

const CLAIMS: [Claim; 2] = [
    Claim { kept: NDP, hold: bench::hold, real: real::compare },
    Claim { kept: OPF, hold: opf::hold, real: opf::compare },
];

pub(crate) struct Covered {
    /// Vectors of the profile.
    pub(crate) vectors: usize,
    /// Vectors of detours.
    pub(crate) detours: usize,
    /// Comparisons with the real compiler and switch that were done or skipped.
    pub(crate) real: Vec<String>,
}

/// Checks the compiled programs, runs each on every vector that it claims, and compares with the real compiler and
/// switch if present. Returns a line per failure.
pub(crate) fn run_all(root: &Path) -> Result<Covered, Vec<String>> {
    compiled::check(root).map_err(|error| vec![error])?;
    let (mut vectors, mut real, mut failures) = ([0; 2], Vec::new(), Vec::new());
    for (vectors, Claim { kept, hold, real: ask }) in vectors.iter_mut().zip(&CLAIMS) {
        let file = |name: &str| read(root, Path::new(name)).map_err(|error| vec![error]);
        let (text, tables) = (file(kept.compiled)?, file(kept.tables)?);
        let program = Program::parse(kept.compiled, &text).map_err(|error| vec![error])?;
        match hold(root, &program) {
            Ok(held) => *vectors = held,
            Err(errors) => failures.extend(errors),
        }
        let anew = compiled::compare(root, kept, |program| hold(root, program));
        let asked = ask(root, &text, &tables).map_err(|error| vec![error]);
        for outcome in [anew, asked] {
            match outcome {
                Ok(line) => real.push(line),
                Err(errors) => failures.extend(errors),
            }
        }
    }
    let [vectors, detours] = vectors;
    if failures.is_empty() { Ok(Covered { vectors, detours, real }) } else { Err(failures) }
}

/// Returns the vectors that find each mistake in either program, or a line per mistake without any.
pub(crate) fn check_mutations(
    root: &Path,
) -> Result<Vec<(&'static str, Vec<String>)>, Vec<String>> {
    let mut found = mutations::check_all(root)?;
    found.extend(opf::check_mutations(root)?);
    Ok(found)
}
