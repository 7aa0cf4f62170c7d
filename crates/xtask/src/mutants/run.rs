//! Makes the mutants, builds, and runs the tests that must find them.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::{Mutant, Table, read_all, replaced};
use crate::claims::{self, Citations, Program, Tests};

const TREE: &str = "target/mutations/tree";
const BUILD: &str = "target/mutations/build";

/// Folders that are not copied: no crate reads them.
const SKIPPED: [&str; 7] = [".git", ".venv", "target", "out", "rtl", "docs", "__pycache__"];

#[derive(Debug, Default)]
pub(crate) struct Selection {
    /// Restricts to a crate, such as `transport` or `sim`.
    pub(crate) package: Option<String>,
    /// Restricts to these mutants.
    pub(crate) names: Vec<String>,
    /// Restricts to part `k` of `n` of the list, from 1.
    pub(crate) part: Option<(usize, usize)>,
}

pub(crate) struct Outcome {
    pub(crate) found: usize,
    /// One text per mutant that no test finds.
    pub(crate) missed: Vec<String>,
}

impl Selection {
    fn has(&self, table: &Table, mutant: &Mutant) -> bool {
        self.package.as_ref().is_none_or(|package| table.is_of(package))
            && (self.names.is_empty() || self.names.contains(&mutant.name))
    }

    /// Refuses packages and names that are in no table.
    fn check(&self, tables: &[Table]) -> Result<(), String> {
        if let Some(package) = &self.package
            && !tables.iter().any(|table| table.is_of(package))
        {
            let packages: BTreeSet<&str> =
                tables.iter().filter_map(|table| table.package.strip_prefix("trimline-")).collect();
            return Err(format!(
                "--crate: no mutants of `{package}`; expected one of {packages:?}"
            ));
        }
        let known: BTreeSet<&String> =
            tables.iter().flat_map(|table| &table.mutation).map(|mutant| &mutant.name).collect();
        match self.names.iter().find(|name| !known.contains(name)) {
            Some(name) => {
                Err(format!("no mutant has the name `{name}`; spec/mutations lists them"))
            }
            None => Ok(()),
        }
    }
}

/// Makes the selected mutants, and reports for each the tests that find it. A mutant that cannot be compiled counts as
/// missed. It is an error if tests fail without a mutant, or if a name is unknown.
pub(crate) fn run(root: &Path, selection: &Selection) -> Result<Outcome, String> {
    let tables = read_all(root)?;
    selection.check(&tables)?;
    let citations = Citations::read(root)?;
    let mut outcome = Outcome { found: 0, missed: Vec::new() };
    copy(root, &root.join(TREE))?;
    let wanted_of = |table: &Table| -> usize {
        table.mutation.iter().filter(|mutant| selection.has(table, mutant)).count()
    };
    let mut range = part_of(tables.iter().map(wanted_of).sum(), selection.part.unwrap_or((1, 1)));
    for table in &tables {
        let selected = table.mutation.iter().filter(|mutant| selection.has(table, mutant));
        let count = wanted_of(table);
        let wanted: Vec<&Mutant> = selected.take(range.end).skip(range.start).collect();
        range = range.start.saturating_sub(count)..range.end.saturating_sub(count);
        if wanted.is_empty() {
            continue;
        }
        let bench = Bench::new(root, table)?;
        bench.check_sound(&wanted, &citations)?;
        for mutant in wanted {
            let start = Instant::now();
            let Finding { is_found, by } = match bench.find(mutant, &citations) {
                Ok(finding) => finding,
                Err(error) => {
                    println!("{error}");
                    outcome.missed.push(error);
                    continue;
                }
            };
            let verdict = if is_found { by.join(" ") } else { "NOT FOUND".to_owned() };
            println!("{:52} {:22} {verdict}: {}", mutant.name, mutant.rule(), seconds(start));
            if is_found {
                outcome.found += 1;
            } else {
                outcome.missed.push(format!(
                    "{}: no test finds it ({}); of those that must, these fail: {by:?}",
                    mutant.name,
                    mutant.rule()
                ));
            }
        }
    }
    Ok(outcome)
}

/// Reads `K/N`; `None` unless K is from 1 to N.
pub(crate) fn parse_part(text: &str) -> Option<(usize, usize)> {
    let (k, n) = text.split_once('/')?;
    let (k, n) = (k.parse().ok()?, n.parse().ok()?);
    (1..=n).contains(&k).then_some((k, n))
}

fn part_of(count: usize, (k, n): (usize, usize)) -> Range<usize> {
    count * (k - 1) / n..count * k / n
}

/// Tests that fail with a mutant, and whether these suffice.
struct Finding {
    is_found: bool,
    by: Vec<String>,
}

fn seconds(start: Instant) -> String {
    format!("{:.1} s", start.elapsed().as_secs_f64())
}

/// Names for a test run that was stopped, and for one that the system ended.
const NO_END: &str = "a run without end";
const CRASH: &str = "a crash";

struct Bench<'a> {
    table: &'a Table,
    tests: Tests,
    tree: PathBuf,
    build: PathBuf,
}

impl Bench<'_> {
    fn new<'a>(root: &Path, table: &'a Table) -> Result<Bench<'a>, String> {
        let tests = claims::tests_of(root, table.package_folder())?;
        Ok(Bench { table, tests, tree: root.join(TREE), build: root.join(BUILD) })
    }

    fn check_sound(&self, wanted: &[&Mutant], citations: &Citations) -> Result<(), String> {
        let start = Instant::now();
        let finders = wanted.iter().flat_map(|mutant| mutant.finders(citations));
        let tests: BTreeSet<String> = finders.flatten().collect();
        let failed = self.failing(&self.build(&tests)?, &tests)?;
        let package = &self.table.package;
        if !failed.is_empty() {
            return Err(format!("{package}: without a mutant {failed:?} fails"));
        }
        let count = tests.len();
        println!("{package}: {count} tests pass without a mutant: {}", seconds(start));
        Ok(())
    }

    fn find(&self, mutant: &Mutant, citations: &Citations) -> Result<Finding, String> {
        let finders = mutant.finders(citations);
        let tests: BTreeSet<String> = finders.iter().flatten().cloned().collect();
        let failed = self.with(mutant, || self.failing(&self.build(&tests)?, &tests))?;
        let has_stopped = failed.contains(NO_END) || failed.contains(CRASH);
        let is_any = |tests: &BTreeSet<String>| tests.iter().any(|test| failed.contains(test));
        let is_found = has_stopped || finders.iter().all(is_any);
        Ok(Finding { is_found, by: failed.into_iter().collect() })
    }

    /// Builds only the programs of these tests.
    fn build(&self, tests: &BTreeSet<String>) -> Result<Vec<PathBuf>, String> {
        let programs = tests.iter().filter_map(|test| self.tests.get(test)).flatten();
        let mut targets = Vec::new();
        for program in programs.collect::<BTreeSet<_>>() {
            match program {
                Program::Library => targets.push("--lib"),
                Program::Integration(name) => targets.extend(["--test", name]),
            }
        }
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let done = Command::new(cargo)
            .args(["test", "--no-run", "--locked", "--quiet", "--message-format", "json"])
            .args(["--package", &self.table.package])
            .args(targets)
            .current_dir(&self.tree)
            .env("CARGO_TARGET_DIR", &self.build)
            // Backtraces are not read. One function differs from build to build.
            .env("CARGO_PROFILE_DEV_DEBUG", "false")
            .env("CARGO_INCREMENTAL", "1")
            .stderr(Stdio::piped())
            .output()
            .map_err(|error| format!("cargo: {error}"))?;
        let messages = String::from_utf8_lossy(&done.stdout);
        let messages: Vec<serde_json::Value> =
            messages.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        if !done.status.success() {
            let rendered = messages.iter().filter(|message| message["message"]["level"] == "error");
            let rendered = rendered.filter_map(|message| message["message"]["rendered"].as_str());
            let errors: Vec<&str> = rendered.collect();
            let rest = String::from_utf8_lossy(&done.stderr);
            return Err(format!("does not compile:\n{}{rest}", errors.concat()));
        }
        let tests = messages.iter().filter(|message| message["profile"]["test"] == true);
        Ok(tests.filter_map(|message| message["executable"].as_str()).map(PathBuf::from).collect())
    }

    fn failing(
        &self,
        programs: &[PathBuf],
        tests: &BTreeSet<String>,
    ) -> Result<BTreeSet<String>, String> {
        let mut failed = BTreeSet::new();
        for program in programs {
            let paths = paths(program, tests)?;
            if paths.is_empty() {
                continue;
            }
            let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let log = self.build.join(format!("{name}.log"));
            let file = File::create(&log).map_err(|error| format!("{}: {error}", log.display()))?;
            let mut child = Command::new(program)
                .arg("--exact")
                .args(paths)
                .current_dir(self.tree.join(self.table.package_folder()))
                // Equal cases each time, and the first failure suffices.
                .env("PROPTEST_RNG_SEED", "1")
                .env("PROPTEST_MAX_SHRINK_ITERS", "0")
                .env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "true")
                .env("RUST_BACKTRACE", "0")
                .stdin(Stdio::null())
                .stdout(file)
                .stderr(Stdio::null())
                .spawn()
                .map_err(|error| format!("{}: {error}", program.display()))?;
            let start = Instant::now();
            let ended = loop {
                if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
                    break Some(status);
                }
                let limit = Duration::from_secs(self.table.limit_seconds);
                if processor_time(&child) > limit || start.elapsed() > 10 * limit {
                    child.kill().and_then(|()| child.wait()).map_err(|error| error.to_string())?;
                    break None;
                }
                thread::sleep(Duration::from_millis(10));
            };
            let text =
                fs::read_to_string(&log).map_err(|error| format!("{}: {error}", log.display()))?;
            let before = failed.len();
            failed.extend(failures(&text).map(str::to_owned));
            match ended {
                None => {
                    failed.insert(NO_END.to_owned());
                }
                Some(status) if status.code().is_none() => {
                    failed.insert(CRASH.to_owned());
                }
                Some(status) if !status.success() && failed.len() == before => {
                    return Err(format!("{}: {status}, and no test failed", log.display()));
                }
                Some(_) => {}
            }
        }
        Ok(failed)
    }

    /// Calls `act` while the mutant is in the copy.
    fn with<T>(
        &self,
        mutant: &Mutant,
        act: impl FnOnce() -> Result<T, String>,
    ) -> Result<T, String> {
        let file = self.tree.join(&self.table.folder).join(&mutant.file);
        let named = |error: &dyn std::fmt::Display| format!("{}: {error}", mutant.name);
        let text = fs::read_to_string(&file).map_err(|error| named(&error))?;
        let wrong = replaced(&text, mutant).map_err(|error| named(&error))?;
        fs::write(&file, wrong).map_err(|error| named(&error))?;
        let done = act();
        fs::write(&file, text).map_err(|error| named(&error))?;
        done.map_err(|error| named(&error))
    }
}

/// Returns the processor time that a process has taken, all its threads included. Linux counts it in 1/100 s.
fn processor_time(child: &Child) -> Duration {
    let text = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap_or_default();
    // The name of the program is in parentheses; the state after it is field 3, the two times are 14 and 15.
    let fields = text.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok());
    Duration::from_millis(10 * ticks.sum::<u64>())
}

/// Returns the tests of a program with these names, with their modules.
fn paths(program: &Path, tests: &BTreeSet<String>) -> Result<Vec<String>, String> {
    let listed = Command::new(program).args(["--list", "--format", "terse"]).output();
    let listed = listed.map_err(|error| format!("{}: {error}", program.display()))?;
    let text = String::from_utf8_lossy(&listed.stdout);
    let listed = text.lines().filter_map(|line| line.strip_suffix(": test"));
    let is_wanted = |path: &&str| path.rsplit("::").next().is_some_and(|name| tests.contains(name));
    Ok(listed.filter(is_wanted).map(str::to_owned).collect())
}

/// Returns the tests that failed, without their modules.
fn failures(log: &str) -> impl Iterator<Item = &str> {
    log.lines().filter_map(|line| {
        let path = line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?;
        // A test that must panic has a note behind its name.
        let path = path.split(" - ").next().unwrap_or(path);
        path.rsplit("::").next()
    })
}

/// Makes `to` a copy of `from`. Equal files stay, so that cargo rebuilds nothing.
fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let failed = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    fs::create_dir_all(to).map_err(|error| failed(to, error))?;
    let mut kept = BTreeSet::new();
    for entry in fs::read_dir(from).map_err(|error| failed(from, error))? {
        let entry = entry.map_err(|error| failed(from, error))?;
        let name = entry.file_name();
        if SKIPPED.iter().any(|skipped| name == *skipped) {
            continue;
        }
        let (source, target) = (entry.path(), to.join(&name));
        if source.is_dir() {
            copy(&source, &target)?;
        } else {
            let text = fs::read(&source).map_err(|error| failed(&source, error))?;
            if fs::read(&target).ok().as_ref() != Some(&text) {
                fs::write(&target, text).map_err(|error| failed(&target, error))?;
            }
        }
        kept.insert(name);
    }
    for entry in fs::read_dir(to).map_err(|error| failed(to, error))? {
        let entry = entry.map_err(|error| failed(to, error))?;
        if !kept.contains(&entry.file_name()) {
            let path = entry.path();
            let done =
                if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            done.map_err(|error| failed(&path, error))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_read_from_the_log_of_a_test_program() {
        let log = "running 3 tests\ntest a::tests::one ... ok\ntest a::tests::two ... FAILED\n\
                   test three - should panic ... FAILED\n\nfailures:\n";
        assert_eq!(failures(log).collect::<Vec<_>>(), ["two", "three"]);
    }

    #[test]
    fn parts_cover_the_list_of_mutants_once() {
        assert_eq!(parse_part("2/8"), Some((2, 8)));
        for wrong in ["0/8", "9/8", "1", "1/0", "a/b", ""] {
            assert_eq!(parse_part(wrong), None, "{wrong}");
        }
        for (count, n) in [(0, 3), (2, 3), (799, 10), (800, 7)] {
            let places: Vec<usize> = (1..=n).flat_map(|k| part_of(count, (k, n))).collect();
            assert_eq!(places, (0..count).collect::<Vec<_>>());
        }
    }
}
