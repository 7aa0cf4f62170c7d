//! Runs vectors by their names: `cargo xtask vectors NAME..`.

use std::path::Path;

use crate::detours;
use crate::vectors::{self, read};

/// Runs the named vectors, of ports and of detours. Returns the number of runs, or a line per failure.
pub(crate) fn run(root: &Path, names: &[&str]) -> Result<usize, Vec<String>> {
    let run_one = |name: &&str| {
        let [port, detour] = [vectors::FOLDER, detours::FOLDER]
            .map(|folder| Path::new(folder).join(format!("{name}.vec")));
        if root.join(&detour).is_file() {
            return detours::Vector::parse(&detour, &read(root, &detour)?)?.run().map(|()| 1);
        }
        vectors::Vector::parse(&port, &read(root, &port)?)?.run()
    };
    let mut runs = 0;
    let failed = |outcome: Result<usize, String>| outcome.map(|count| runs += count).err();
    let failures: Vec<String> = names.iter().map(run_one).filter_map(failed).collect();
    if failures.is_empty() { Ok(runs) } else { Err(failures) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_of_ports_and_detours_run_by_name() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        assert_eq!(run(&root, &["threshold"]), Ok(1));
        let runs = run(&root, &["header-priority"]).unwrap();
        assert!(runs > 1);
        assert_eq!(run(&root, &["header-priority", "threshold"]), Ok(runs + 1));
        let failures = run(&root, &["threshold", "nothing"]).unwrap_err();
        assert_eq!(failures.len(), 1, "{failures:?}");
        assert!(failures[0].starts_with("vectors/switch/nothing.vec: "), "{failures:?}");
    }
}
