//! The shared test vectors, as `cargo xtask vectors` runs them.

use std::path::Path;

#[allow(dead_code, reason = "the list of mistakes needs more of it")]
#[path = "../../xtask/src/detours.rs"]
mod detours;
#[allow(dead_code, reason = "vectors are written by xtask alone")]
#[path = "../../xtask/src/vector_folder.rs"]
mod vector_folder;
#[path = "../../xtask/src/vectors.rs"]
mod vectors;

#[test]
fn every_vector_holds_and_every_claim_has_a_vector() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    match vectors::run_all(&root) {
        Ok(covered) => assert!(covered.runs >= 2 * covered.vectors && covered.claims > 0),
        Err(failures) => panic!("{}", failures.join("\n")),
    }
}

#[test]
fn every_detour_vector_holds() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    match detours::run_all(&root) {
        Ok(vectors) => assert!(vectors >= 20, "{vectors}"),
        Err(failures) => panic!("{}", failures.join("\n")),
    }
}
