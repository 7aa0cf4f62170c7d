//! Checks docs/rows.md: each row of a paper has a state, a mark that fits it and commands that exist, and each count
//! equals the number of its rows.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::AddAssign;
use std::path::Path;

use crate::claims::{self, Tests};
use crate::{detours, vectors};

const DOCUMENT: &str = "docs/rows.md";

const HEAD: &str = "| source | row | state | mark | command | reason |";
const COUNTS_HEAD: &str = "| paper | rows | works | partly | missing |";
/// Row of the sums in the table of counts.
const SUM: &str = "all";

const STATES: [&str; 3] = ["works", "partly", "missing"];
const MARKS: [&str; 3] = ["hardware", "paper silent", "unknown"];

/// Rows of each paper: none may vanish.
const PAPERS: [(&str, usize); 5] =
    [("NDP", 71), ("HULL", 29), ("FastLane", 31), ("TR-933", 22), ("OPF", 21)];

const EXPERIMENTS: &str = "experiments";
const PACKAGES: &str = "trimline-";

/// Findings that the README of an experiment records as held and as missed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Verdicts {
    held: usize,
    missed: usize,
}

impl AddAssign for Verdicts {
    fn add_assign(&mut self, more: Verdicts) {
        self.held += more.held;
        self.missed += more.missed;
    }
}

impl Verdicts {
    /// Counts the rows of the measured table of a README.
    fn read(text: &str) -> Verdicts {
        let below = text.lines().skip_while(|line| !line.starts_with("<!-- measured: "));
        let rows = below.take_while(|line| *line != "<!-- end -->");
        let mut verdicts = Verdicts::default();
        for verdict in rows.filter_map(|line| cells(line).last().copied()) {
            verdicts.held += usize::from(verdict == "holds");
            verdicts.missed += usize::from(verdict.starts_with("**"));
        }
        verdicts
    }
}

/// Returns the findings of docs/rows.md, or a file that cannot be read.
pub(crate) fn check_all(root: &Path) -> Result<Vec<String>, String> {
    let text = read(root, DOCUMENT)?;
    let mut workspace = Workspace::read(root)?;
    Ok(check(&text, &PAPERS, |command| workspace.verdicts(command)))
}

fn read(root: &Path, file: &str) -> Result<String, String> {
    fs::read_to_string(root.join(file)).map_err(|error| format!("{file}: {error}"))
}

fn cells(line: &str) -> Vec<&str> {
    let inside = line.strip_prefix('|').and_then(|line| line.trim_end().strip_suffix('|'));
    inside.map(|inside| inside.split('|').map(str::trim).collect()).unwrap_or_default()
}

/// Returns the commands of a cell: its text between backticks.
fn commands(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// Number of rows in all, then the number in each state.
type Counts = [usize; 4];

/// Checks a document with the rows of these papers. `verdicts` returns the findings of a command's experiment, or the
/// fault of the command.
fn check(
    text: &str,
    papers: &[(&str, usize)],
    mut verdicts: impl FnMut(&str) -> Result<Verdicts, String>,
) -> Vec<String> {
    let mut findings = Vec::new();
    let (mut section, mut head) = ("", "");
    let mut found: BTreeMap<&str, Counts> = BTreeMap::new();
    let mut stated: BTreeMap<&str, (usize, Counts)> = BTreeMap::new();
    for (number, line) in (1..).zip(text.lines()) {
        if let Some(title) = line.strip_prefix("## ") {
            (section, head) = (title, "");
        }
        if !line.starts_with('|') {
            continue;
        }
        let mut finding = |what: String| findings.push(format!("{DOCUMENT}:{number}: {what}"));
        if line == HEAD || line == COUNTS_HEAD {
            head = line;
        } else if head == COUNTS_HEAD && !line.starts_with("|---") {
            match read_counts(&cells(line)) {
                Some((paper, counts)) => drop(stated.insert(paper, (number, counts))),
                None => finding("expected a paper and four numbers".to_owned()),
            }
        } else if head == HEAD && !line.starts_with("|---") {
            match <[&str; 6]>::try_from(cells(line)) {
                Ok(row) => match check_row(row, &mut verdicts) {
                    Ok(state) => {
                        for paper in [section, SUM] {
                            let counts = found.entry(paper).or_default();
                            counts[0] += 1;
                            counts[1 + state] += 1;
                        }
                    }
                    Err(wrong) => wrong.into_iter().for_each(finding),
                },
                Err(cells) => finding(format!("{} cells, expected six", cells.len())),
            }
        } else if head.is_empty() {
            finding(format!("expected the head {HEAD} or {COUNTS_HEAD}"));
        }
    }
    for (paper, counts) in &found {
        match stated.remove(paper) {
            Some((_, stated)) if stated == *counts => {}
            Some((line, stated)) => findings.push(format!(
                "{DOCUMENT}:{line}: {paper}: {stated:?} rows, works, partly, missing; counted {counts:?}"
            )),
            None => findings.push(format!("{DOCUMENT}: {paper}: no counts; counted {counts:?}")),
        }
    }
    findings.extend(
        stated.iter().map(|(paper, (line, _))| format!("{DOCUMENT}:{line}: {paper}: no rows")),
    );
    for &(paper, rows) in papers {
        let counted = found.get(paper).map_or(0, |counts| counts[0]);
        if counted != rows {
            findings.push(format!("{DOCUMENT}: {paper}: {counted} rows, expected {rows}"));
        }
    }
    findings
}

fn read_counts<'a>(cells: &[&'a str]) -> Option<(&'a str, Counts)> {
    let (paper, numbers) = cells.split_first()?;
    let numbers: Option<Vec<usize>> = numbers.iter().map(|number| number.parse().ok()).collect();
    Some((paper.trim_matches('*'), numbers?.try_into().ok()?))
}

/// Returns the state of a row, or what is wrong with it.
fn check_row(
    [source, row, state, mark, command, reason]: [&str; 6],
    verdicts: &mut impl FnMut(&str) -> Result<Verdicts, String>,
) -> Result<usize, Vec<String>> {
    let mut wrong = Vec::new();
    if source.is_empty() || row.is_empty() {
        wrong.push("a row has a source and a name".to_owned());
    }
    let Some(index) = STATES.iter().position(|known| *known == state) else {
        return Err(vec![format!("{row}: state {state:?}, expected {}", STATES.join(", "))]);
    };
    if state != "partly" && !mark.is_empty() {
        wrong.push(format!("{row}: mark {mark:?}, but only a row that is partly there has one"));
    } else if !mark.is_empty() && !MARKS.contains(&mark) {
        wrong.push(format!("{row}: mark {mark:?}, expected {} or none", MARKS.join(", ")));
    }
    if state != "works" && reason.is_empty() {
        wrong.push(format!("{row}: no reason why it is {state}"));
    }
    if state != "missing" && commands(command).next().is_none() {
        wrong.push(format!("{row}: no command"));
    }
    let mut recorded = Verdicts::default();
    for command in commands(command) {
        match verdicts(command) {
            Ok(more) => recorded += more,
            Err(what) => wrong.push(format!("{row}: {command}: {what}")),
        }
    }
    let Verdicts { held, missed } = recorded;
    if state == "works" && missed > 0 && reason.is_empty() {
        wrong
            .push(format!("{row}: works, but {missed} findings of its experiment miss: say which"));
    }
    let judged = held + missed;
    if let Some(claimed) = claimed(reason).filter(|claimed| *claimed != (held, judged)) {
        let (of, all) = claimed;
        wrong.push(format!("{row}: {of} of {all} findings hold; recorded {held} of {judged}"));
    }
    if wrong.is_empty() { Ok(index) } else { Err(wrong) }
}

/// Returns N and M of a reason with "N of M findings hold".
fn claimed(reason: &str) -> Option<(usize, usize)> {
    let (before, _) = reason.split_once(" findings hold")?;
    let mut words = before.rsplit(' ');
    let (all, of, held) = (words.next()?, words.next()?, words.next()?);
    (of == "of").then_some(())?;
    Some((held.parse().ok()?, all.parse().ok()?))
}

/// Names that commands of the document may have.
struct Workspace<'a> {
    root: &'a Path,
    /// Tests by folder of a crate, read when a command names it.
    tests: BTreeMap<String, Tests>,
    vectors: BTreeSet<String>,
    targets: BTreeSet<String>,
    /// Commands in READMEs beside a testbed.toml.
    testbed: BTreeSet<String>,
}

impl<'a> Workspace<'a> {
    fn read(root: &'a Path) -> Result<Workspace<'a>, String> {
        let mut vectors = BTreeSet::new();
        for folder in [vectors::FOLDER, detours::FOLDER] {
            let files = vectors::list(root, Path::new(folder))?;
            vectors.extend(
                files.iter().filter_map(|file| Some(file.file_stem()?.to_str()?.to_owned())),
            );
        }
        let makefile = read(root, "Makefile")?;
        let rules = makefile.lines().filter(|line| !line.starts_with(['\t', '#', ' ']));
        let heads = rules.filter_map(|line| line.split_once(':'));
        let heads = heads.filter(|(_, rest)| !rest.starts_with('='));
        let targets = heads.flat_map(|(names, _)| names.split_whitespace().map(str::to_owned));
        Ok(Workspace {
            root,
            tests: BTreeMap::new(),
            vectors,
            targets: targets.collect(),
            testbed: testbed_commands(root)?,
        })
    }

    /// Returns the recorded verdicts of a command's experiment, none for other commands, or what is wrong with it.
    fn verdicts(&mut self, command: &str) -> Result<Verdicts, String> {
        let absent = |what: String| Err(format!("there is no {what}"));
        match command.split_whitespace().collect::<Vec<_>>()[..] {
            ["trimline", "reproduce", name] => {
                let folder = format!("{EXPERIMENTS}/{name}");
                let is_file = |file: &str| self.root.join(&folder).join(file).is_file();
                if !is_file("scenario.toml") || !is_file("expected.toml") {
                    return absent(format!("{folder} with scenario.toml and expected.toml"));
                }
                read(self.root, &format!("{folder}/README.md")).map(|text| Verdicts::read(&text))
            }
            ["trimline", "testbed", ..] if self.testbed.contains(command) => Ok(Verdicts::default()),
            ["trimline", "testbed", ..] => absent("README beside a testbed.toml that has it".to_owned()),
            ["cargo", "test", "-p", package, name] => {
                let Some(short) = package.strip_prefix(PACKAGES) else {
                    return absent(format!("package {package}: expected {PACKAGES}NAME"));
                };
                let folder = format!("crates/{short}");
                if !self.tests.contains_key(&folder) {
                    self.tests.insert(folder.clone(), claims::tests_of(self.root, &folder)?);
                }
                match self.tests[&folder].contains_key(name) {
                    true => Ok(Verdicts::default()),
                    false => absent(format!("test {name} in {folder}")),
                }
            }
            ["cargo", "xtask", "vectors", ref names @ ..] if !names.is_empty() => {
                match names.iter().find(|name| !self.vectors.contains(**name)) {
                    None => Ok(Verdicts::default()),
                    Some(name) => absent(format!("vector {name}")),
                }
            }
            ["make", target] => match self.targets.contains(target) {
                true => Ok(Verdicts::default()),
                false => absent(format!("target {target} in the Makefile")),
            },
            _ => Err("expected trimline reproduce EXPERIMENT, trimline testbed ARGUMENTS, cargo test -p PACKAGE TEST, cargo xtask vectors NAME.. or make TARGET".to_owned()),
        }
    }
}

/// Returns the commands `trimline testbed ...` in READMEs beside a testbed.toml.
fn testbed_commands(root: &Path) -> Result<BTreeSet<String>, String> {
    let mut commands = BTreeSet::new();
    for paper in folders(&root.join(EXPERIMENTS))? {
        for experiment in folders(&paper)? {
            if !experiment.join("testbed.toml").is_file() {
                continue;
            }
            let text = read(&experiment, "README.md")?;
            let lines = text.lines().filter_map(|line| line.strip_prefix("    "));
            commands.extend(
                lines.filter(|line| line.starts_with("trimline testbed ")).map(str::to_owned),
            );
        }
    }
    Ok(commands)
}

fn folders(folder: &Path) -> Result<Vec<std::path::PathBuf>, String> {
    let unreadable = |error| format!("{}: {error}", folder.display());
    let mut folders = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.is_dir() {
            folders.push(path);
        }
    }
    Ok(folders)
}

#[cfg(test)]
mod tests;
