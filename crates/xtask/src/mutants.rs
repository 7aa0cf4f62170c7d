//! Mutants of the sources, which tests must find: `cargo xtask mutations`.
//!
//! Each file of spec/mutations lists mutants of one crate: a text that occurs once in a file, its replacement, the
//! broken rule, and tests, at least one of which must fail. Each mutant is made in a copy of the workspace under
//! target/mutations, which is built there; the sources themselves are never changed.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::claims::{self, Citations, Covered};

mod run;

pub(crate) use run::{Outcome, Selection, parse_part, run};

const FOLDER: &str = "spec/mutations";

/// One file of mutants.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Table {
    package: String,
    folder: String,
    /// Limit of a test run in seconds of processor time, so that other programs on the machine find no mutant; ten
    /// times as many seconds of the clock end a test that waits. A longer run never ends.
    #[serde(default = "limit_seconds")]
    limit_seconds: u64,
    mutation: Vec<Mutant>,
}

/// Without a mutant the tests of most crates take seconds.
fn limit_seconds() -> u64 {
    60
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mutant {
    pub(crate) name: String,
    /// Broken claims: for each, one of the tests that cite it must fail.
    #[serde(default)]
    pub(crate) breaks: Vec<String>,
    /// Broken rule, if it is not a claim.
    #[serde(default)]
    rule: String,
    /// Tests of that rule: at least one must fail.
    #[serde(default)]
    tests: Vec<String>,
    file: String,
    /// Text that occurs once in the file.
    old: String,
    new: String,
}

impl Table {
    fn is_of(&self, package: &str) -> bool {
        self.package.strip_prefix("trimline-") == Some(package)
    }

    /// Returns the folder of the crate: the part before `/src`.
    fn package_folder(&self) -> &str {
        self.folder.split("/src").next().unwrap_or(&self.folder)
    }
}

impl Mutant {
    /// Returns groups of tests. At least one test of each group must fail.
    fn finders(&self, citations: &Citations) -> Vec<BTreeSet<String>> {
        if self.breaks.is_empty() {
            return vec![self.tests.iter().cloned().collect()];
        }
        let of_claim = |claim| citations.tests.get(claim).cloned().unwrap_or_default();
        self.breaks.iter().map(of_claim).collect()
    }

    fn rule(&self) -> String {
        if self.breaks.is_empty() {
            self.rule.clone()
        } else {
            format!("NDP {}", self.breaks.join(", "))
        }
    }
}

pub(crate) fn read_all(root: &Path) -> Result<Vec<Table>, String> {
    let unreadable = |error| format!("{FOLDER}: {error}");
    let mut files = Vec::new();
    for entry in fs::read_dir(root.join(FOLDER)).map_err(unreadable)? {
        files.push(entry.map_err(unreadable)?.path());
    }
    files.sort();
    let read = |file: &std::path::PathBuf| {
        let text =
            fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        toml::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))
    };
    files.iter().map(read).collect()
}

/// Checks that every mutant can be made and names its tests, and that every claim has one. Nothing is built. Returns a
/// line per failure.
pub(crate) fn check(root: &Path) -> Result<(usize, Covered), Vec<String>> {
    let tables = read_all(root).map_err(|error| vec![error])?;
    let mut findings = Vec::new();
    let mut names = BTreeSet::new();
    for table in &tables {
        let tests = claims::tests_of(root, table.package_folder()).map_err(|error| vec![error])?;
        for mutant in &table.mutation {
            let mut finds =
                |what: String| findings.push(format!("{FOLDER}: {}: {what}", mutant.name));
            if !names.insert(mutant.name.clone()) {
                finds("another mutant has this name".to_owned());
            }
            match fs::read_to_string(root.join(&table.folder).join(&mutant.file)) {
                Err(error) => finds(format!("{}: {error}", mutant.file)),
                Ok(text) => {
                    if let Err(error) = replaced(&text, mutant) {
                        finds(error);
                    }
                }
            }
            if mutant.breaks.is_empty() == (mutant.rule.is_empty() || mutant.tests.is_empty()) {
                finds("expected either `breaks`, or `rule` and `tests`".to_owned());
            }
            for test in mutant.tests.iter().filter(|test| !tests.contains_key(*test)) {
                finds(format!("{} has no test `{test}`", table.package));
            }
        }
    }
    let mutants: Vec<Mutant> = tables.into_iter().flat_map(|table| table.mutation).collect();
    let broken = mutants.iter().flat_map(|mutant| {
        mutant.breaks.iter().map(|claim| (mutant.name.as_str(), claim.as_str()))
    });
    match claims::check(root, &broken.collect::<Vec<_>>()) {
        Ok(covered) if findings.is_empty() => Ok((mutants.len(), covered)),
        Ok(_) => Err(findings),
        Err(missing) => {
            findings.extend(missing);
            Err(findings)
        }
    }
}

fn replaced(text: &str, mutant: &Mutant) -> Result<String, String> {
    if mutant.old == mutant.new {
        return Err("`old` and `new` are the same".to_owned());
    }
    match text.matches(&mutant.old).count() {
        1 => Ok(text.replacen(&mutant.old, &mutant.new, 1)),
        0 => Err(format!("`old` does not stand in {}", mutant.file)),
        count => Err(format!("`old` stands {count} times in {}; expected once", mutant.file)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutant(old: &str, new: &str) -> Mutant {
        Mutant {
            name: String::new(),
            breaks: Vec::new(),
            rule: "a rule".to_owned(),
            tests: vec!["a_test".to_owned()],
            file: "a.rs".to_owned(),
            old: old.to_owned(),
            new: new.to_owned(),
        }
    }

    #[test]
    fn the_text_that_a_mutant_replaces_occurs_once() {
        assert_eq!(replaced("a b c", &mutant("b", "d")).unwrap(), "a d c");
        assert!(
            replaced("a b c", &mutant("d", "e")).unwrap_err().contains("does not stand in a.rs")
        );
        assert!(replaced("a b b", &mutant("b", "e")).unwrap_err().contains("2 times"));
        assert!(replaced("a b c", &mutant("b", "b")).unwrap_err().contains("the same"));
    }

    #[test]
    fn every_mutant_applies_to_the_sources() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        if let Err(findings) = check(&root) {
            panic!("{}", findings.join("\n"));
        }
    }
}
