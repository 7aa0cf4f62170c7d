//! Puts the commit, a fingerprint of the source and the experiments into the program, so that an installed binary
//! has them.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by Cargo"));
    let root = manifest.join("../..");
    // A package of a registry has no repository and no other crates: all were published together, from one commit.
    let published = published_from(&manifest);
    let commit = published.clone().unwrap_or_else(|| commit(&root));
    println!("cargo::rustc-env=TRIMLINE_COMMIT={commit}");
    let source = published.unwrap_or_else(|| fingerprint(&root));
    println!("cargo::rustc-env=TRIMLINE_SOURCE={source}");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by Cargo"));
    // A link, which `cargo package` follows.
    let source = experiments(&manifest.join("experiments"));
    fs::write(out.join("experiments.rs"), source).expect("the output directory is writable");
}

/// The commit that Cargo writes into a package.
fn published_from(manifest: &Path) -> Option<String> {
    let text = fs::read_to_string(manifest.join(".cargo_vcs_info.json")).ok()?;
    let (_, after) = text.split_once("\"sha1\": \"")?;
    Some(after.split_once('"')?.0.to_owned())
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

/// Of everything that decides what the program does: the source of all crates, and the versions of all others
/// (FNV-1a, 128 bits).
fn fingerprint(root: &Path) -> String {
    // Paths as `entries` gives them, so that two copies of the source have one fingerprint.
    let root = &fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
    let lock = root.join("Cargo.lock");
    println!("cargo::rerun-if-changed={}", lock.display());
    let mut files = vec![lock];
    collect(&root.join("crates"), &mut files);
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for file in files {
        let path = file.strip_prefix(root).unwrap_or(&file).to_string_lossy().into_owned();
        let text = fs::read(&file).unwrap_or_default();
        for byte in path.bytes().chain([0]).chain(text).chain([0]) {
            hash =
                (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }
    format!("{hash:032x}")
}

/// Source files below a folder, in the order of their names; tests decide nothing.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for path in entries(folder) {
        // What a link leads to is no source.
        if !path.starts_with(folder) {
            continue;
        }
        if path.is_dir() && path.file_name().is_some_and(|name| name != "tests") {
            collect(&path, files);
        } else if path.is_file() {
            files.push(path);
        }
    }
}

/// What an experiment may have and still be built in. One that names further files needs its folder.
const ALONE: [&str; 7] = [
    "README.md",
    "expected.toml",
    "cached.jsonl",
    "figure.py",
    "scenario.toml",
    "simulated.toml",
    "testbed.toml",
];

/// Rust source with the text of every experiment that names no files of its own, and of every reference file.
fn experiments(root: &Path) -> String {
    println!("cargo::rerun-if-changed={}", root.display());
    let mut source = String::from("/// (id, scenario.toml, expected.toml)\n");
    source.push_str("pub(crate) static EMBEDDED: &[(&str, &str, &str)] = &[\n");
    for paper in entries(root) {
        for experiment in entries(&paper) {
            let (scenario, expected) =
                (experiment.join("scenario.toml"), experiment.join("expected.toml"));
            let has_file = entries(&experiment).iter().any(|file| !ALONE.contains(&&*name(file)));
            let is_alone = !has_file && !names_other_folders(&scenario);
            if scenario.exists() && expected.exists() && is_alone {
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

/// Tells whether a value of a scenario is a file in another folder.
fn names_other_folders(scenario: &Path) -> bool {
    fs::read_to_string(scenario).is_ok_and(|text| text.contains("\"../"))
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
