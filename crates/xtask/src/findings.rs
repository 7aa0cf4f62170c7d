//! The lock of the findings, `experiments/findings.lock`: what each finding asks, and reasons for changes.
//!
//! A line is `FILE | NAME | RANGE | QUESTION`; QUESTION has the keys that decide the verdict. A line with a fifth part,
//! `CHANGE: REASON`, is a finding before a change. `cargo xtask findings` adds new findings. It refuses one that was
//! loosened, tightened, moved, redefined or removed without `--because REASON`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

use toml::Value;

const LOCK: &str = "experiments/findings.lock";

const HEAD: &str = "\
# What each finding asks: file | name | range | question. Written by `cargo xtask findings`, checked by `cargo xtask tidy`.
# A line with a fifth part is a finding as it was before a change, with the reason for the change.
";

const BAR: &str = " | ";

/// Keys that explain a finding and do not decide its verdict.
const EXPLANATIONS: [&str; 6] = ["source", "paper", "reference", "baseline", "cause", "companion"];

/// File and name of a finding. The file is `paper/figure`, or `paper/figure/testbed` for testbed.toml.
type Id = (String, String);

#[derive(Clone, Debug, PartialEq)]
struct Question {
    lo: Option<f64>,
    hi: Option<f64>,
    /// Other keys that decide the verdict, sorted.
    of: String,
}

/// A finding before a change, and the reason.
type Former = (Id, Question, String);

#[derive(Clone, Debug, Default, PartialEq)]
struct Lock {
    current: BTreeMap<Id, Question>,
    former: Vec<Former>,
}

/// A difference between the lock and the files.
#[derive(Clone, Debug, PartialEq)]
enum Difference {
    New(Id),
    /// A finding that asks something else, or is gone, with the word for the change.
    Changed(Id, &'static str),
}

/// Counts of judged findings, and of findings that ask only for a sign.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Signs {
    pub(crate) judged: usize,
    pub(crate) signs: usize,
}

impl Question {
    fn range(&self) -> String {
        let end = |bound: Option<f64>| bound.map(|bound| bound.to_string()).unwrap_or_default();
        match (self.lo, self.hi) {
            (None, None) => "-".to_owned(),
            (lo, hi) => format!("{}..{}", end(lo), end(hi)),
        }
    }

    fn parse(range: &str, of: &str) -> Option<Question> {
        let end = |text: &str| match text {
            "" => Some(None),
            text => text.parse().ok().map(Some),
        };
        let (lo, hi) = if range == "-" {
            (None, None)
        } else {
            let (lo, hi) = range.split_once("..")?;
            (end(lo)?, end(hi)?)
        };
        Some(Question { lo, hi, of: of.to_owned() })
    }

    /// Returns the word for the change from `self` to `new`.
    fn change(&self, new: &Question) -> &'static str {
        let ends = |question: &Question| {
            [question.lo.unwrap_or(f64::NEG_INFINITY), question.hi.unwrap_or(f64::INFINITY)]
        };
        let ([lo, hi], [new_lo, new_hi]) = (ends(self), ends(new));
        if self.of != new.of {
            "redefined"
        } else if new_lo <= lo && new_hi >= hi {
            "loosened"
        } else if new_lo >= lo && new_hi <= hi {
            "tightened"
        } else {
            "moved"
        }
    }

    /// Returns whether 0 is the only bound of a comparison, as in `trimline reproduce`.
    fn is_sign(&self) -> bool {
        let is_at_zero = match (self.lo, self.hi) {
            (Some(bound), None) | (None, Some(bound)) => bound == 0.0,
            _ => false,
        };
        is_at_zero && self.of.starts_with("against=")
    }
}

impl Lock {
    fn parse(text: &str) -> Result<Lock, String> {
        let mut lock = Lock::default();
        for (line, number) in text.lines().zip(1..).filter(|(line, _)| !line.starts_with('#')) {
            let mutant = |what: &str| format!("{LOCK}:{number}: {what}");
            let parts: Vec<&str> = line.splitn(5, BAR).collect();
            let &[file, name, range, of, ref reason @ ..] = &parts[..] else {
                return Err(mutant("expected FILE | NAME | RANGE | QUESTION [| CHANGE: REASON]"));
            };
            let question = Question::parse(range, of)
                .ok_or_else(|| mutant("expected a range such as 1..2, ..2, 1.. or -"))?;
            let id = (file.to_owned(), name.to_owned());
            match reason {
                [] => {
                    if lock.current.insert(id, question).is_some() {
                        return Err(mutant("the finding has another line without a reason"));
                    }
                }
                [reason, ..] => {
                    let has_reason = reason
                        .split_once(": ")
                        .is_some_and(|(change, why)| !change.is_empty() && !why.trim().is_empty());
                    if !has_reason {
                        return Err(mutant("expected CHANGE: REASON"));
                    }
                    lock.former.push((id, question, (*reason).to_owned()));
                }
            }
        }
        Ok(lock)
    }

    /// Returns the differences from the findings of the files, sorted by finding.
    fn differences(&self, files: &BTreeMap<Id, Question>) -> Vec<Difference> {
        let ids: BTreeSet<&Id> = self.current.keys().chain(files.keys()).collect();
        let difference = |id: &Id| match (self.current.get(id), files.get(id)) {
            (None, Some(_)) => Some(Difference::New(id.clone())),
            (Some(_), None) => Some(Difference::Changed(id.clone(), "removed")),
            (Some(old), Some(new)) if old != new => {
                Some(Difference::Changed(id.clone(), old.change(new)))
            }
            _ => None,
        };
        ids.into_iter().filter_map(difference).collect()
    }

    /// Takes over the findings of the files. A changed finding stays as a former one, with the reason; without one it
    /// is an error.
    fn updated(
        mut self,
        files: BTreeMap<Id, Question>,
        because: Option<&str>,
    ) -> Result<Lock, Vec<String>> {
        let changed =
            self.differences(&files).into_iter().filter_map(|difference| match difference {
                Difference::New(_) => None,
                Difference::Changed(id, change) => Some((id, change)),
            });
        let changed: Vec<(Id, &str)> = changed.collect();
        let Some(because) = because else {
            if changed.is_empty() {
                self.current = files;
                return Ok(self);
            }
            return Err(changed.iter().map(|(id, change)| refusal(id, change)).collect());
        };
        for (id, change) in changed {
            let old = self.current[&id].clone();
            self.former.push((id, old, format!("{change}: {because}")));
        }
        self.current = files;
        Ok(self)
    }

    fn text(&self) -> String {
        let line = |(file, name): &Id, question: &Question| {
            [file.as_str(), name, &question.range(), &question.of].join(BAR)
        };
        let mut lines: Vec<String> =
            self.current.iter().map(|(id, question)| line(id, question)).collect();
        lines.extend(
            self.former
                .iter()
                .map(|(id, question, reason)| format!("{}{BAR}{reason}", line(id, question))),
        );
        lines.sort();
        lines.iter().fold(HEAD.to_owned(), |text, line| text + line + "\n")
    }
}

fn refusal((file, name): &Id, change: &str) -> String {
    format!(
        "{LOCK}: {file}: \"{name}\" was {change}: undo it and add another finding beside it, or give the reason with \
         `cargo xtask findings --because REASON`"
    )
}

/// Returns the differences between the lock and the files, or a file that cannot be read or parsed.
pub(crate) fn check_all(root: &Path) -> Result<Vec<String>, String> {
    Ok(check(&read_lock(root)?, &read_files(root)?))
}

fn check(text: &str, files: &BTreeMap<Id, Question>) -> Vec<String> {
    let lock = match Lock::parse(text) {
        Ok(lock) => lock,
        Err(mutant) => return vec![mutant],
    };
    let differences: Vec<String> = lock
        .differences(files)
        .iter()
        .map(|difference| match difference {
            Difference::New((file, name)) => {
                format!("{LOCK}: {file}: \"{name}\" is new: `cargo xtask findings` adds it")
            }
            Difference::Changed(id, change) => refusal(id, change),
        })
        .collect();
    if differences.is_empty() && lock.text() != text {
        return vec![format!("{LOCK}: not as `cargo xtask findings` writes it")];
    }
    differences
}

/// Writes the lock, and returns its number of findings. Returns a line for each change without a reason, or a file that
/// cannot be read or written.
pub(crate) fn update(root: &Path, because: Option<&str>) -> Result<usize, Vec<String>> {
    if because.is_some_and(|reason| reason.trim().is_empty() || reason.contains('\n')) {
        return Err(vec!["--because: expected a reason, in one line".to_owned()]);
    }
    let one = |error: String| vec![error];
    let text = read_lock(root).map_err(one)?;
    let files = read_files(root).map_err(one)?;
    let lock = Lock::parse(&text).map_err(one)?.updated(files, because)?;
    fs::write(root.join(LOCK), lock.text()).map_err(|error| one(format!("{LOCK}: {error}")))?;
    Ok(lock.current.len())
}

/// Counts findings by paper, one a line, and in total.
pub(crate) fn signs(root: &Path) -> Result<String, String> {
    let mut text = String::new();
    let mut all = Signs::default();
    for (paper, Signs { judged, signs }) in counted(&read_files(root)?) {
        let _ = writeln!(
            text,
            "{paper}: {judged} findings are judged, {signs} of them by a sign alone"
        );
        all.judged += judged;
        all.signs += signs;
    }
    let Signs { judged, signs } = all;
    let _ = writeln!(text, "all: {judged} findings are judged, {signs} of them by a sign alone");
    Ok(text)
}

fn counted(files: &BTreeMap<Id, Question>) -> BTreeMap<&str, Signs> {
    let mut papers: BTreeMap<&str, Signs> = BTreeMap::new();
    for ((file, _), question) in files {
        let paper = file.split('/').next().unwrap_or_default();
        let count = papers.entry(paper).or_default();
        count.judged += usize::from(question.lo.or(question.hi).is_some());
        count.signs += usize::from(question.is_sign());
    }
    papers
}

/// Reads the lock. A missing lock is empty.
fn read_lock(root: &Path) -> Result<String, String> {
    match fs::read_to_string(root.join(LOCK)) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(HEAD.to_owned()),
        read => read.map_err(|error| format!("{LOCK}: {error}")),
    }
}

/// Reads the findings of every expected.toml and testbed.toml in `experiments/PAPER/FIGURE`.
fn read_files(root: &Path) -> Result<BTreeMap<Id, Question>, String> {
    let mut files = BTreeMap::new();
    let experiments = root.join("experiments");
    for paper in folders(&experiments)? {
        for figure in folders(&experiments.join(&paper))? {
            for (file, of) in [("expected.toml", ""), ("testbed.toml", "/testbed")] {
                let path = format!("experiments/{paper}/{figure}/{file}");
                if root.join(&path).is_file() {
                    let text = fs::read_to_string(root.join(&path))
                        .map_err(|error| format!("{path}: {error}"))?;
                    let findings = questions(&path, &text)?;
                    let id = format!("{paper}/{figure}{of}");
                    files.extend(
                        findings.into_iter().map(|(name, question)| ((id.clone(), name), question)),
                    );
                }
            }
        }
    }
    Ok(files)
}

fn folders(folder: &Path) -> Result<Vec<String>, String> {
    let unreadable = |error| format!("{}: {error}", folder.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        if entry.path().is_dir() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    Ok(names)
}

fn questions(path: &str, text: &str) -> Result<Vec<(String, Question)>, String> {
    let table: toml::Table = text.parse().map_err(|error| format!("{path}: {error}"))?;
    let findings = table.get("finding").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    findings
        .iter()
        .map(|finding| {
            let finding =
                finding.as_table().ok_or_else(|| format!("{path}: a finding is no table"))?;
            let name = finding.get("name").and_then(Value::as_str);
            let name = name.ok_or_else(|| format!("{path}: a finding has no name"))?;
            let bound = |key| match finding.get(key) {
                None => Ok(None),
                Some(Value::Integer(bound)) => Ok(Some(*bound as f64)),
                Some(Value::Float(bound)) => Ok(Some(*bound)),
                Some(_) => Err(format!("{path}: \"{name}\": `{key}` is no number")),
            };
            let decides =
                |key: &str| !["name", "lo", "hi"].contains(&key) && !EXPLANATIONS.contains(&key);
            let mut keys: Vec<(&String, &Value)> =
                finding.iter().filter(|(key, _)| decides(key)).collect();
            keys.sort_by_key(|(key, _)| *key);
            let of: Vec<String> =
                keys.into_iter().map(|(key, value)| format!("{key}={}", sorted(value))).collect();
            let question = Question { lo: bound("lo")?, hi: bound("hi")?, of: of.join(" ") };
            if [name, &question.of].iter().any(|part| part.contains(BAR) || part.contains('\n')) {
                return Err(format!("{path}: \"{name}\": `{BAR}` separates parts of {LOCK}"));
            }
            Ok((name.to_owned(), question))
        })
        .collect()
}

/// Formats a value in one line, with sorted keys.
fn sorted(value: &Value) -> String {
    match value {
        Value::Table(table) => {
            let mut keys: Vec<(&String, &Value)> = table.iter().collect();
            keys.sort_by_key(|(key, _)| *key);
            let inside: Vec<String> =
                keys.into_iter().map(|(key, value)| format!("{key}={}", sorted(value))).collect();
            format!("{{{}}}", inside.join(","))
        }
        Value::Array(values) => {
            format!("[{}]", values.iter().map(sorted).collect::<Vec<_>>().join(","))
        }
        Value::String(text) => text.clone(),
        Value::Float(number) => number.to_string(),
        Value::Integer(number) => number.to_string(),
        Value::Boolean(is_so) => is_so.to_string(),
        Value::Datetime(time) => time.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "[[finding]]\nname = \"a\"\nsource = \"s\"\nseries = \"x\"\nlo = 1\nhi = 2\n\
                          measure = { quantity = \"fct\", reduce = \"p99\" }\n";

    fn files(text: &str) -> BTreeMap<Id, Question> {
        let named = questions("p/f/expected.toml", text).unwrap();
        named.into_iter().map(|(name, question)| (("p/f".to_owned(), name), question)).collect()
    }

    fn locked(text: &str) -> Lock {
        Lock::default().updated(files(text), None).unwrap()
    }

    /// Tidy and the command refuse the change from [`BEFORE`] without a reason and accept it with one.
    #[track_caller]
    fn refused(after: &str, change: &str) {
        let (before, after) = (locked(BEFORE), files(after));
        let expected = format!("\"a\" was {change}: ");
        let found = check(&before.text(), &after);
        assert!(found.len() == 1 && found[0].contains(&expected), "{found:?}");
        let found = before.clone().updated(after.clone(), None).unwrap_err();
        assert!(found.len() == 1 && found[0].contains(&expected), "{found:?}");

        let with_reason = before.updated(after.clone(), Some("it was wrong")).unwrap();
        assert_eq!(check(&with_reason.text(), &after), [""; 0]);
        let line = format!(
            "p/f | a | 1..2 | measure={{quantity=fct,reduce=p99}} series=x | {change}: it was wrong"
        );
        assert!(with_reason.text().lines().any(|own| own == line), "{}", with_reason.text());
        // A later change keeps the line.
        let gone = with_reason.updated(BTreeMap::new(), Some("no more")).unwrap();
        assert!(gone.text().lines().any(|own| own == line), "{}", gone.text());
    }

    #[test]
    fn a_loosened_finding_is_refused_without_a_reason() {
        refused(&BEFORE.replace("hi = 2", "hi = 2.5"), "loosened");
        refused(&BEFORE.replace("lo = 1", "lo = 0"), "loosened");
        refused(&BEFORE.replace("hi = 2\n", ""), "loosened");
        refused(&BEFORE.replace("lo = 1\nhi = 2\n", ""), "loosened");
    }

    #[test]
    fn a_finding_with_another_range_is_refused_without_a_reason() {
        refused(&BEFORE.replace("hi = 2", "hi = 1.5"), "tightened");
        refused(&BEFORE.replace("lo = 1\nhi = 2", "lo = 1.5\nhi = 2.5"), "moved");
    }

    #[test]
    fn a_redefined_finding_is_refused_without_a_reason() {
        refused(&BEFORE.replace("p99", "p50"), "redefined");
        refused(&BEFORE.replace("lo = 1", "over_seeds = \"mean\"\nlo = 1"), "redefined");
        refused(&BEFORE.replace("series = \"x\"", "series = \"y\""), "redefined");
        refused(&BEFORE.replace("lo = 1", "at.window = 15\nlo = 1"), "redefined");
    }

    #[test]
    fn a_removed_finding_is_refused_without_a_reason() {
        refused("", "removed");
    }

    #[test]
    fn a_renamed_finding_is_removed_and_new() {
        let after = files(&BEFORE.replace("\"a\"", "\"b\""));
        let found = check(&locked(BEFORE).text(), &after);
        assert!(found[0].contains("\"a\" was removed") && found[1].contains("\"b\" is new"));
    }

    #[test]
    fn a_new_finding_is_added_by_the_command() {
        let both = format!("{BEFORE}{}", BEFORE.replace("\"a\"", "\"b\""));
        let lock = locked(BEFORE);
        let found = check(&lock.text(), &files(&both));
        assert!(found.len() == 1 && found[0].contains("`cargo xtask findings` adds it"));
        let lock = lock.updated(files(&both), None).unwrap();
        assert_eq!(check(&lock.text(), &files(&both)), [""; 0]);
        assert_eq!((lock.current.len(), lock.former.len()), (2, 0));
    }

    #[test]
    fn the_explanation_of_a_finding_may_change() {
        let after = BEFORE.replace("source = \"s\"", "source = \"t\"\ncause = \"c\"\npaper = 3");
        assert_eq!(check(&locked(BEFORE).text(), &files(&after)), [""; 0]);
        assert_eq!(check(&locked(BEFORE).text(), &files(&BEFORE.replace("= 2", "= 2.0"))), [""; 0]);
    }

    #[test]
    fn a_lock_that_the_command_did_not_write_is_refused() {
        let both = files(&format!("{BEFORE}{}", BEFORE.replace("\"a\"", "\"b\"")));
        let text = Lock::default().updated(both.clone(), None).unwrap().text();
        let lines: Vec<&str> = text.lines().collect();
        let swapped = [&lines[..2], &[lines[3], lines[2]]].concat().join("\n") + "\n";
        for (text, part) in [
            (swapped, "not as `cargo xtask findings` writes it"),
            (text.replace("1..2", "one"), ":3: expected a range"),
            (text.replace(" | 1..2", ""), ":3: expected FILE"),
            (text.clone() + lines[2] + "\n", ":5: the finding has another line"),
            (text.clone() + lines[2] + " | removed: \n", ":5: expected CHANGE: REASON"),
            (text.clone() + lines[2] + " | no reason\n", ":5: expected CHANGE: REASON"),
        ] {
            let found = check(&text, &both);
            assert!(found.len() == 1 && found[0].contains(part), "{part}: {found:?}");
        }
    }

    #[test]
    fn lines_parse_back() {
        let lock = locked(BEFORE).updated(BTreeMap::new(), Some("why: so")).unwrap();
        assert_eq!(Lock::parse(&lock.text()), Ok(lock));
    }

    #[test]
    fn a_sign_is_a_comparison_whose_only_bound_is_zero() {
        let of = |bounds: &str| {
            let text = BEFORE.replace("lo = 1\nhi = 2\n", bounds);
            counted(&files(&text))["p"]
        };
        assert_eq!(of("against = \"y\"\nhi = 0.0\n"), Signs { judged: 1, signs: 1 });
        assert_eq!(of("against = \"y\"\nlo = 0\n"), Signs { judged: 1, signs: 1 });
        assert_eq!(of("against = \"y\"\nlo = -1\n"), Signs { judged: 1, signs: 0 });
        assert_eq!(of("hi = 0\n"), Signs { judged: 1, signs: 0 });
        assert_eq!(of("against = \"y\"\n"), Signs { judged: 0, signs: 0 });
    }
}
