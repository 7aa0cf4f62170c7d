//! The P4 programs, executed: `cargo xtask p4`. The compiled programs that are kept are those of the sources that are
//! kept, and give what every vector of the profile `p4` and of `vectors/detour` asks for. Where the real compiler and
//! switch are on PATH they must say the same; where they are not, that is said.

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

/// The profile that NDP's program claims.
const PROFILE: &str = "p4";

/// Where a program, its compiled form and its tables are.
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

/// What a program is held to.
struct Claim {
    kept: Kept,
    /// Its vectors: how many there are.
    hold: fn(&Path, &Program) -> Result<usize, Vec<String>>,
    /// The real switch, which is given the compiled program and its tables: what it was asked, or why not.
    real: fn(&Path, &str, &str) -> Result<String, String>,
}

const CLAIMS: [Claim; 2] = [
    Claim { kept: NDP, hold: bench::hold, real: real::compare },
    Claim { kept: OPF, hold: opf::hold, real: opf::compare },
];

/// What a run covered.
pub(crate) struct Covered {
    /// Vectors of the profile, by hand and generated.
    pub(crate) vectors: usize,
    /// Vectors of detour.
    pub(crate) detours: usize,
    /// What was and what was not done with the real compiler and switch.
    pub(crate) real: Vec<String>,
}

/// Checks the compiled programs, runs each on every vector that it claims, and compares it with the real compiler and
/// the real switch if they are there.
///
/// # Errors
/// One line a failure.
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

/// The vectors that find each mistake in either program.
///
/// # Errors
/// One line a mistake that no vector finds, or that could not be made.
pub(crate) fn check_mutations(
    root: &Path,
) -> Result<Vec<(&'static str, Vec<String>)>, Vec<String>> {
    let mut found = mutations::check_all(root)?;
    found.extend(opf::check_mutations(root)?);
    Ok(found)
}
