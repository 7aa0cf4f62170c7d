//! Puts the commit and the experiments into the program, so that an installed binary has them.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by Cargo"));
    let root = manifest.join("../..");
    println!("cargo::rustc-env=TRIMLINE_COMMIT={}", commit(&root));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by Cargo"));
    let source = experiments(&root.join("experiments"));
    fs::write(out.join("experiments.rs"), source).expect("the output directory is writable");
}

/// The commit of the repository, `-dirty` when files differ from it, `unknown` outside of one.
fn commit(root: &Path) -> String {
    println!("cargo::rerun-if-env-changed=TRIMLINE_COMMIT");
    if let Ok(commit) = env::var("TRIMLINE_COMMIT") {
        return commit;
    }
    let git = |arguments: &[&str]| -> Option<String> {
        let output = Command::new("git").arg("-C").arg(root).args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    // The log moves with every commit; a change of the sources may make the tree differ from it.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]).map(|log| root.join(log))
        && log.exists()
    {
        println!("cargo::rerun-if-changed={}", log.display());
    }
    println!("cargo::rerun-if-changed={}", root.join("crates").display());
    let Some(head) = git(&["rev-parse", "HEAD"]) else { return "unknown".to_owned() };
    match git(&["--no-optional-locks", "status", "--porcelain", "--untracked-files=no"]) {
        Some(changes) if changes.is_empty() => head,
        _ => format!("{head}-dirty"),
    }
}

/// Rust source with the text of every experiment and reference file.
fn experiments(root: &Path) -> String {
    println!("cargo::rerun-if-changed={}", root.display());
    let mut source = String::from("/// (id, scenario.toml, expected.toml)\n");
    source.push_str("pub(crate) static EMBEDDED: &[(&str, &str, &str)] = &[\n");
    for paper in entries(root) {
        for experiment in entries(&paper) {
            let (scenario, expected) =
                (experiment.join("scenario.toml"), experiment.join("expected.toml"));
            if scenario.exists() && expected.exists() {
                let id = format!("{}/{}", name(&paper), name(&experiment));
                let _ = writeln!(
                    source,
                    "    ({id:?}, include_str!({scenario:?}), include_str!({expected:?})),"
                );
            }
        }
    }
    source.push_str("];\n/// (file name, text)\n");
    source.push_str("pub(crate) static EMBEDDED_REFERENCE: &[(&str, &str)] = &[\n");
    for file in entries(&root.join("reference")) {
        if file.extension().is_some_and(|extension| extension == "csv") {
            let _ = writeln!(source, "    ({:?}, include_str!({file:?})),", name(&file));
        }
    }
    source.push_str("];\n");
    source
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    println!("cargo::rerun-if-changed={}", directory.display());
    let Ok(read) = fs::read_dir(directory) else { return Vec::new() };
    let mut entries: Vec<PathBuf> =
        read.filter_map(|entry| fs::canonicalize(entry.ok()?.path()).ok()).collect();
    entries.sort();
    entries
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
