//! Banned words in the repository, and their replacements: `cargo xtask tidy`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{arrows, findings, module_graph, names, prose, rows};

/// Maximum lines of a file: a longer one is more than one concept.
const LONGEST: usize = 800;

/// Extensions of files that people write, and read as a whole.
const SOURCES: [&str; 9] = [".rs", ".py", ".p4", ".sv", ".cpp", ".h", ".sh", ".lua", ".js"];

/// Folders without sources.
const SKIPPED: [&str; 7] = [".git", ".venv", "__pycache__", "artifacts", "corpus", "out", "target"];

struct Ban {
    /// Banned words: whole words where they begin or end with a letter, digit or underscore.
    words: &'static [&'static str],
    /// Selects the files of the ban.
    on: fn(&str) -> bool,
    /// True if comments may use the words.
    comments_may: bool,
    /// Replacement to suggest.
    instead: &'static str,
}

// Concatenated, so that this file does not break its own rules.
const BANS: [Ban; 9] = [
    Ban {
        words: &[concat!("todo", "!"), concat!("unimplemented", "!")],
        on: rust,
        comments_may: false,
        instead: "write it, or return an error that says what is not supported",
    },
    Ban {
        words: &[concat!("FIX", "ME"), concat!("XX", "X"), concat!("TO", "DO")],
        on: everywhere,
        comments_may: false,
        instead: "write it, or state it in docs/limitations.md",
    },
    Ban {
        words: &[concat!("#[", "ignore")],
        on: rust,
        comments_may: false,
        instead: "make the test quick, or move it to an experiment",
    },
    Ban {
        words: &[concat!("dbg", "!")],
        on: rust,
        comments_may: false,
        instead: "a test that fails, or a record of the run",
    },
    Ban {
        words: &["HashMap", "HashSet"],
        on: pure,
        comments_may: true,
        instead: "a dense table or a BTreeMap: only ordered containers are iterated",
    },
    Ban {
        words: &["f32", "f64"],
        on: without_floats,
        comments_may: true,
        instead: "fixed point: u64 picoseconds, u128 products, Q32.32 for shares",
    },
    Ban {
        words: &[concat!("fn ge", "t_")],
        on: rust,
        comments_may: true,
        instead: "the noun alone: `rate`, not with a verb before it",
    },
    Ban {
        words: &[
            concat!("/wo", "rk/"),
            concat!("/ro", "ot/"),
            concat!("/ho", "me/"),
            concat!("/t", "mp/"),
        ],
        on: everywhere,
        comments_may: false,
        instead: "a path relative to the workspace, or a folder that the caller names",
    },
    Ban {
        words: &[
            concat!("../sha", "red"),
            concat!("sha", "red/design"),
            concat!("sha", "red/papers"),
            concat!("sha", "red/reference"),
        ],
        on: everywhere,
        comments_may: false,
        instead: "the paper's section, or a copy under experiments/reference with its source",
    },
];

fn everywhere(_: &str) -> bool {
    true
}

fn rust(path: &str) -> bool {
    path.ends_with(".rs")
}

/// Returns whether a file is of the crates without clock, thread and hash.
fn pure(path: &str) -> bool {
    const PURE: [&str; 4] =
        ["crates/packet/", "crates/switch/", "crates/hostnic/", "crates/transport/"];
    rust(path) && PURE.iter().any(|folder| path.starts_with(folder))
}

fn without_floats(path: &str) -> bool {
    pure(path) || rust(path) && path.starts_with("crates/sim/src/engine/")
}

/// Checks every text file under `root` (the workspace). Returns their number, or a line per finding: `file:line:
/// problem: replacement`.
pub(crate) fn run_all(root: &Path) -> Result<usize, Vec<String>> {
    let mut files = Vec::new();
    list(root, &mut files).map_err(|error| vec![error])?;
    files.sort();
    let (mut count, mut sentences) = (0, prose::Counts::default());
    let mut findings = Vec::new();
    for file in files {
        // A file that is not UTF-8 is not text, such as a picture.
        let Ok(text) = fs::read_to_string(&file) else { continue };
        let path = file.strip_prefix(root).expect("listed under the root");
        let path = path.to_string_lossy().replace('\\', "/");
        findings.extend(check(&path, &text));
        sentences.add(&path, &text);
        findings.extend(absent(&path, &text, |named| root.join(named).exists()));
        count += 1;
    }
    findings.extend(sentences.findings());
    for check_all in
        [module_graph::check_all, arrows::check_all, findings::check_all, rows::check_all]
    {
        findings.extend(check_all(root).map_err(|error| vec![error])?);
    }
    if findings.is_empty() { Ok(count) } else { Err(findings) }
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let unreadable = |error| format!("{}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let kind = entry.file_type().map_err(unreadable)?;
        let name = entry.file_name();
        // In a further work tree `.git` is a file.
        if SKIPPED.iter().any(|skipped| name == *skipped) {
            continue;
        }
        if kind.is_dir() {
            list(&entry.path(), files)?;
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
    Ok(())
}

fn check(path: &str, text: &str) -> Vec<String> {
    let mut findings = Vec::new();
    let source = SOURCES.iter().any(|ending| path.ends_with(ending));
    let lines = text.lines().count();
    if source && lines > LONGEST {
        findings.push(format!("{path}:{LONGEST}: {lines} lines: split the file by concept"));
    }
    if path.contains("/src/") && path.ends_with("/mod.rs") {
        findings.push(format!("{path}:1: a module `a` with children is a.rs beside the folder a"));
    }
    for ban in BANS.iter().filter(|ban| (ban.on)(path)) {
        for (index, line) in text.lines().enumerate() {
            let read = match line.find("//") {
                Some(comment) if ban.comments_may => &line[..comment],
                _ => line,
            };
            for word in ban.words.iter().filter(|word| prose::contains(read, word)) {
                let (line, instead) = (index + 1, ban.instead);
                findings.push(format!("{path}:{line}: {word}: {instead}"));
            }
        }
    }
    findings.extend(names::check(path, text));
    findings
}

/// Files of crates that a document or a specification names and that do not exist. The changelog keeps old names.
fn absent(path: &str, text: &str, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let is_document = path.ends_with(".md") && path != "CHANGELOG.md";
    if !(is_document || path.starts_with("spec/") && path.ends_with(".toml")) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for (start, _) in line.match_indices("crates/") {
            let is_in = |c: char| c.is_ascii_alphanumeric() || "_/.-".contains(c);
            let end = line[start..].find(|c| !is_in(c)).unwrap_or(line.len() - start);
            let named = &line[start..start + end];
            if named.ends_with(".rs") && !exists(named) {
                findings.push(format!("{path}:{}: {named}: no such file", index + 1));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn finds(path: &str, text: &str, expected: usize) {
        let found = check(path, text);
        assert_eq!(found.len(), expected, "{found:?}");
    }

    #[test]
    fn a_tidy_finding_names_file_line_and_replacement() {
        let text = ["fn a() {}", concat!("fn b() { todo", "!() }")].join("\n");
        let found = check("crates/sim/src/a.rs", &text);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("crates/sim/src/a.rs:2: "), "{}", found[0]);
        assert!(found[0].contains("write it"), "{}", found[0]);
    }

    #[test]
    fn floats_are_refused_below_metrics() {
        let text = "let share: f64 = 0.5;";
        finds("crates/switch/src/a.rs", text, 1);
        finds("crates/sim/src/engine/a.rs", text, 1);
        finds("crates/metrics/src/a.rs", text, 0);
        finds("crates/sim/src/scenario/a.rs", text, 0);
        finds("crates/switch/src/a.rs", "let buf64 = 1; // not f64", 0);
    }

    #[test]
    fn hash_maps_are_refused_below_the_simulator() {
        finds("crates/transport/src/a.rs", "use std::collections::HashMap;", 1);
        finds("crates/sim/src/a.rs", "use std::collections::HashMap;", 0);
    }

    #[test]
    fn getters_are_nouns() {
        finds("crates/sim/src/a.rs", concat!("    pub fn ge", "t_rate(&self) -> u64 {"), 1);
        finds("crates/sim/src/a.rs", "    pub fn get(&self) -> u64 {", 0);
    }

    #[test]
    fn machine_paths_are_refused_anywhere() {
        finds("README.md", concat!("see /wo", "rk/main"), 1);
        finds("Makefile", concat!("OUT := /t", "mp/out"), 1);
        finds("README.md", concat!("a frame", "wo", "rk/thing"), 0);
        finds("README.md", concat!("in net", "/wo", "rk/thing"), 0);
        finds("docs/a.md", concat!("as ../sha", "red says"), 1);
    }

    #[test]
    fn documents_that_name_missing_files_are_refused() {
        let text = "See `crates/sim/src/old.rs`, crates/sim/src/new.rs and crates/sim.";
        let absent = |path| absent(path, text, |named| named.ends_with("new.rs"));
        assert_eq!(absent("docs/a.md"), ["docs/a.md:1: crates/sim/src/old.rs: no such file"]);
        assert_eq!([absent("CHANGELOG.md"), absent("crates/a.rs")], [[""; 0], [""; 0]]);
    }

    #[test]
    fn module_files_have_one_style() {
        finds("crates/sim/src/engine/mod.rs", "", 1);
        finds("crates/sim/src/engine.rs", "", 0);
        finds("crates/transport/tests/world/mod.rs", "", 0);
    }

    #[test]
    fn long_files_are_refused() {
        finds("crates/sim/src/a.rs", &"\n".repeat(LONGEST), 0);
        finds("crates/sim/src/a.rs", &"\n".repeat(LONGEST + 1), 1);
        finds("rtl/src/a.sv", &"\n".repeat(LONGEST + 1), 1);
        finds("p4/a.json", &"\n".repeat(LONGEST + 1), 0);
        finds("Cargo.lock", &"\n".repeat(LONGEST + 1), 0);
    }
}
