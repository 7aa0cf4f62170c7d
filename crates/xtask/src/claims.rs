//! Claims of spec/ndp-transport.toml and their citations: as `NDP 3.2-k` or `NDP 3.2-k, 3.2.1-a` in a comment at the
//! code that obeys the claim and at the tests that check it. spec/mutations breaks each claim.
//!
//! A citation of a test is in the comment right above it. `cargo xtask mutations` shows that cited tests are effective:
//! if a claim is broken, a test that cites it must fail.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const SPEC: &str = "spec/ndp-transport.toml";
const SOURCES: &str = "crates/transport";

#[derive(Debug, Default)]
pub(crate) struct Citations {
    /// Places in code, `file:line`.
    code: BTreeMap<String, Vec<String>>,
    /// Names of tests.
    pub(crate) tests: BTreeMap<String, BTreeSet<String>>,
}

pub(crate) struct Covered {
    pub(crate) claims: usize,
    pub(crate) code: usize,
    pub(crate) tests: usize,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Source {
    /// Claim and line, in code.
    code: Vec<(String, usize)>,
    tests: Vec<(String, String)>,
    names: Vec<String>,
}

fn cited(line: &str) -> Vec<&str> {
    let Some((_, comment)) = line.split_once("//") else { return Vec::new() };
    let mut claims = Vec::new();
    for (start, _) in comment.match_indices("NDP ") {
        let mut rest = &comment[start + 4..];
        loop {
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "-.".contains(c)));
            let word = rest[..end.unwrap_or(rest.len())].trim_end_matches('.');
            if !is_claim(word) {
                break;
            }
            claims.push(word);
            match rest[word.len()..].strip_prefix(", ") {
                Some(next) => rest = next,
                None => break,
            }
        }
    }
    claims
}

/// Returns whether a word is a section and a letter: `3.2.1-a`.
fn is_claim(word: &str) -> bool {
    let Some((section, letter)) = word.split_once('-') else { return false };
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    section.split('.').all(is_number)
        && letter.len() == 1
        && letter.as_bytes()[0].is_ascii_lowercase()
}

/// Reads a source. With `is_test` all of it is tests, otherwise the part below `mod tests`.
fn read(text: &str, is_test: bool) -> Source {
    let mut source = Source::default();
    let mut in_tests = is_test;
    // Comments and attributes above the line, and whether `#[test]` is among these.
    let (mut above, mut marked): (Vec<String>, bool) = (Vec::new(), false);
    for (index, line) in text.lines().enumerate() {
        let trimmed = line.trim_start();
        in_tests |= line.starts_with("mod tests");
        if !in_tests {
            source.code.extend(cited(line).iter().map(|claim| ((*claim).to_owned(), index + 1)));
        } else if trimmed.starts_with("//") {
            above.extend(cited(line).iter().map(|claim| (*claim).to_owned()));
        } else if trimmed == "#[test]" {
            marked = true;
        } else if !trimmed.starts_with("#[") {
            let name = trimmed.strip_prefix("fn ").and_then(|rest| rest.split_once('('));
            if let (true, Some((name, _))) = (marked, name) {
                source.tests.extend(above.iter().map(|claim| (claim.clone(), name.to_owned())));
                source.names.push(name.to_owned());
            }
            (above, marked) = (Vec::new(), false);
        }
    }
    source
}

fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let unreadable = |error| format!("{}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.is_dir() {
            rust_files(&path, files)?;
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(())
}

/// Reads the sources of a crate; files of tests count as tests only.
fn sources(root: &Path, folder: &str) -> Result<Vec<(String, Source)>, String> {
    let mut read_all = Vec::new();
    for (part, is_test) in [("src", false), ("tests", true)] {
        let mut files = Vec::new();
        let part = root.join(folder).join(part);
        if part.is_dir() {
            rust_files(&part, &mut files)?;
        }
        for file in files {
            let text = fs::read_to_string(&file)
                .map_err(|error| format!("{}: {error}", file.display()))?;
            let name = file.strip_prefix(root).expect("listed under the root");
            // Oracles, which compare a crate with a plain one, are tests too.
            let is_tests = |name: &std::ffi::OsStr| name == "tests.rs" || name == "oracle.rs";
            let folder = file.parent().and_then(Path::file_name);
            let is_test = is_test
                || file.file_name().is_some_and(is_tests)
                || folder.is_some_and(|folder| folder == "tests");
            read_all.push((name.to_string_lossy().into_owned(), read(&text, is_test)));
        }
    }
    Ok(read_all)
}

/// The tests of a crate, each with its programs.
pub(crate) type Tests = BTreeMap<String, BTreeSet<Program>>;

/// A program of tests, as cargo knows it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Program {
    /// Tests under the code.
    Library,
    /// Tests of a file or folder of `tests`.
    Integration(String),
}

/// Returns the tests of the crate in this folder, or a source that cannot be read.
pub(crate) fn tests_of(root: &Path, folder: &str) -> Result<Tests, String> {
    let mut tests = Tests::new();
    for (file, source) in sources(root, folder)? {
        let below = file.strip_prefix(folder).unwrap_or(&file).trim_start_matches('/');
        let program = match below.strip_prefix("tests/") {
            Some(rest) => {
                let name = rest.split('/').next().unwrap_or(rest);
                Program::Integration(name.trim_end_matches(".rs").to_owned())
            }
            None => Program::Library,
        };
        for name in source.names {
            tests.entry(name).or_default().insert(program.clone());
        }
    }
    Ok(tests)
}

impl Citations {
    pub(crate) fn read(root: &Path) -> Result<Citations, String> {
        let mut citations = Citations::default();
        for (file, source) in sources(root, SOURCES)? {
            for (claim, line) in source.code {
                citations.code.entry(claim).or_default().push(format!("{file}:{line}"));
            }
            for (claim, test) in source.tests {
                citations.tests.entry(claim).or_default().insert(test);
            }
        }
        Ok(citations)
    }
}

/// Returns name and text of each claim.
fn claims(root: &Path) -> Result<BTreeMap<String, String>, String> {
    #[derive(serde::Deserialize)]
    struct Spec {
        claims: BTreeMap<String, String>,
    }
    let text = fs::read_to_string(root.join(SPEC)).map_err(|error| format!("{SPEC}: {error}"))?;
    let spec: Spec = toml::from_str(&text).map_err(|error| format!("{SPEC}: {error}"))?;
    Ok(spec.claims)
}

/// Checks that each claim is cited by code and by a test and is broken by a mutant, and that every citation names a
/// claim. `broken` pairs mutants with claims. Returns a line for each claim or citation that fails.
pub(crate) fn check(root: &Path, broken: &[(&str, &str)]) -> Result<Covered, Vec<String>> {
    let one = |error| vec![error];
    let claims = claims(root).map_err(one)?;
    let citations = Citations::read(root).map_err(one)?;
    let mut findings = Vec::new();
    for (claim, text) in &claims {
        if !citations.code.contains_key(claim) {
            findings.push(format!("{SPEC}: {claim}: no code cites it: write `// NDP {claim}: ...` where it is obeyed: {text}"));
        }
        if !citations.tests.contains_key(claim) {
            findings.push(format!("{SPEC}: {claim}: no test cites it: write `/// NDP {claim}.` above one that checks it: {text}"));
        }
        if !broken.iter().any(|(_, broken)| broken == claim) {
            findings.push(format!(
                "{SPEC}: {claim}: no mutant breaks it: add one to spec/mutations: {text}"
            ));
        }
    }
    for (claim, places) in &citations.code {
        if !claims.contains_key(claim) {
            findings.push(format!("{}: {claim} is no claim of {SPEC}", places.join(", ")));
        }
    }
    for (claim, tests) in &citations.tests {
        if !claims.contains_key(claim) {
            let tests: Vec<&str> = tests.iter().map(String::as_str).collect();
            findings
                .push(format!("{SOURCES}: {}: {claim} is no claim of {SPEC}", tests.join(", ")));
        }
    }
    for (name, claim) in broken {
        if !claims.contains_key(*claim) {
            findings.push(format!("spec/mutations: {name}: {claim} is no claim of {SPEC}"));
        }
    }
    if !findings.is_empty() {
        return Err(findings);
    }
    Ok(Covered {
        claims: claims.len(),
        code: citations.code.values().map(Vec::len).sum(),
        tests: citations.tests.values().map(BTreeSet::len).sum(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_citation_is_a_prefix_and_names_of_claims() {
        let check = |line: &str, expected: &[&str]| assert_eq!(cited(line), expected, "{line}");
        check("// NDP 3.2-k: first what was lost", &["3.2-k"]);
        check("    /// NDP 3.2-k, 3.2.1-a.", &["3.2-k", "3.2.1-a"]);
        check("//! as it says (NDP 6.2-a), and NDP 3.1.1-b", &["6.2-a", "3.1.1-b"]);
        check("// NDP 3.2, footnote 4", &[]);
        check("// NDP 3.2-k, footnote 4", &["3.2-k"]);
        check("let a = \"NDP 3.2-k\";", &[]);
        check("// 3.2-k", &[]);
    }

    #[test]
    fn citations_in_code_and_in_tests_are_distinguished() {
        let text = "\
// NDP 3.2-a: code
fn a() {}

mod tests {
    // NDP 3.2-b: of no test
    fn helper() {}

    /// What it shows.
    /// NDP 3.2-c, 3.2-d.
    #[test]
    #[should_panic]
    fn it_bites() {
        // NDP 3.2-e: a remark
    }
}
";
        let pair = |claim: &str, name: &str| (claim.to_owned(), name.to_owned());
        let source = read(text, false);
        assert_eq!(source.code, [("3.2-a".to_owned(), 1)]);
        assert_eq!(source.tests, [pair("3.2-c", "it_bites"), pair("3.2-d", "it_bites")]);
        assert_eq!(source.names, ["it_bites"]);
        assert!(read(text, true).code.is_empty());
    }

    /// An incomplete claim is named.
    #[test]
    fn a_claim_that_no_mutant_breaks_is_named() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let Err(findings) = check(&root, &[]) else { panic!("no mutant breaks any claim") };
        assert_eq!(findings.len(), claims(&root).unwrap().len(), "{findings:?}");
        assert!(findings.iter().all(|finding| finding.contains("no mutant breaks it")));
    }
}
