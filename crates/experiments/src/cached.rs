//! Results of runs made elsewhere (`trimline reproduce --cached FILE`), so that an experiment of days runs on several
//! machines or evenings. scripts/cached_runs.py writes such files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use trimline_metrics::manifest::text_hash;
use trimline_sim::scenario::{Run, Scenario};

use crate::failure::Failure;
use crate::finding::Finding;
use crate::notice::notice;
use crate::outcome::{Measures, Outcome};

/// A line of the file, a JSON object: a run.
#[derive(Debug, Deserialize)]
struct Line {
    experiment: String,
    run: String,
    /// [`series_hash`] of its series.
    series_sha256: String,
    #[serde(flatten)]
    measures: Measures,
}

#[derive(Debug)]
pub(crate) struct Cached {
    file: PathBuf,
    runs: BTreeMap<(String, String), Line>,
}

impl Cached {
    /// Reads a file.
    ///
    /// # Errors
    /// Returns an error if the file is unreadable, a line is not a run, or a run occurs twice.
    pub(crate) fn read(file: &Path) -> Result<Cached, Failure> {
        let text = fs::read_to_string(file).map_err(|error| Failure::io(file, &error))?;
        Cached::parse(file, &text).map_err(Failure::message)
    }

    fn parse(file: &Path, text: &str) -> Result<Cached, String> {
        let mut runs = BTreeMap::new();
        for (number, line) in text.lines().enumerate() {
            let mistake = |what: &str| format!("{}:{}: {what}", file.display(), number + 1);
            let line: Line = serde_json::from_str(line).map_err(|error| {
                mistake(&format!("{error}; expected a line that scripts/cached_runs.py writes"))
            })?;
            let key = (line.experiment.clone(), line.run.clone());
            if runs.contains_key(&key) {
                return Err(mistake(&format!("a second line for {} of {}", key.1, key.0)));
            }
            runs.insert(key, line);
        }
        Ok(Cached { file: file.to_owned(), runs })
    }

    /// Fills in missing outcomes of an experiment. Returns how many.
    pub(crate) fn fill(
        &self,
        id: &str,
        scenario: &Scenario,
        findings: &[Finding],
        found: &mut [Option<Outcome>],
    ) -> usize {
        let (mut filled, mut others) = (0, 0);
        let mut hashes = BTreeMap::new();
        for (run, outcome) in scenario.runs.iter().zip(found) {
            let key = (id.to_owned(), run.name.clone());
            let (None, Some(line)) = (&outcome, self.runs.get(&key)) else { continue };
            let series = &run.plan.series;
            let hash =
                hashes.entry(series.clone()).or_insert_with(|| series_hash(&scenario.text, series));
            *outcome = line.outcome(hash.as_deref(), findings, run);
            if outcome.is_some() { filled += 1 } else { others += 1 }
        }
        let file = self.file.display();
        notice(&format!("cached: {filled} of {} runs are in {file}", scenario.runs.len()));
        if others > 0 {
            notice(&format!(
                "{others} lines of {file} are not used: their scenario differs or names files, or they lack a measure"
            ));
        }
        filled
    }
}

impl Line {
    fn outcome(&self, hash: Option<&str>, findings: &[Finding], run: &Run) -> Option<Outcome> {
        let is_same = hash.is_some_and(|hash| hash == self.series_sha256);
        if is_same { Outcome::of(findings, run, &self.measures) } else { None }
    }
}

/// SHA-256 of a scenario's text for one series, as sorted JSON, without comments, other series and other schemes.
/// `None` if the scenario names files, whose content is unknown.
fn series_hash(text: &str, series: &str) -> Option<String> {
    let mut table: toml::Table = text.parse().ok()?;
    if table.iter().any(|(key, value)| names_file(key, value)) {
        return None;
    }
    let has_schemes = has_schemes(&table);
    keep(&mut table, "series", |name| {
        name == series || (has_schemes && stands_before(name, series))
    });
    for key in SCHEMES {
        keep(&mut table, key, |name| name == series || stands_behind(name, series));
    }
    // A table is sorted by its keys.
    let value = serde_json::to_value(table).ok()?;
    Some(text_hash(&value.to_string()))
}

/// The keys of schemes: tables with a name, and names.
const SCHEMES: [&str; 2] = ["scheme", "schemes"];

fn has_schemes(table: &toml::Table) -> bool {
    let series = table.get("series").and_then(toml::Value::as_array).into_iter().flatten();
    let mut tables = series.filter_map(toml::Value::as_table).chain([table]);
    tables.any(|table| SCHEMES.iter().any(|key| table.contains_key(*key)))
}

/// Keeps list entries that may have made the series: names, or tables with a name.
fn keep(table: &mut toml::Table, key: &str, is_cached: impl Fn(&str) -> bool) {
    let Some(toml::Value::Array(all)) = table.get_mut(key) else { return };
    all.retain(|one| one.get("name").unwrap_or(one).as_str().is_some_and(&is_cached));
}

/// True if SERIES-SCHEME may belong to this series. In doubt it keeps too much.
fn stands_before(name: &str, series: &str) -> bool {
    series.strip_prefix(name).is_some_and(|rest| rest.starts_with('-'))
}

fn stands_behind(name: &str, series: &str) -> bool {
    series.strip_suffix(name).is_some_and(|rest| rest.ends_with('-'))
}

/// True if a file is named at a key or below, also in a sweep.
fn names_file(key: &str, value: &toml::Value) -> bool {
    key.split('.').next_back() == Some("file") || holds_file(value)
}

fn holds_file(value: &toml::Value) -> bool {
    match value {
        toml::Value::Table(table) => table.iter().any(|(key, value)| names_file(key, value)),
        toml::Value::Array(values) => values.iter().any(holds_file),
        toml::Value::String(_)
        | toml::Value::Integer(_)
        | toml::Value::Float(_)
        | toml::Value::Boolean(_)
        | toml::Value::Datetime(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::Expected;

    const SCENARIO: &str = "# Of two series.\ntopology.star.hosts = 3\nseeds = [1, 2]\n[[workload]]\nname = \"w\"\n\
        permutation = {}\nsize = \"9KB\"\n[[series]]\nname = \"a\"\nduration = \"1ms\"\n[[series]]\nname = \"b\"\n";

    fn expected() -> Expected {
        let text = "title = \"t\"\n[[finding]]\nname = \"f\"\nsource = \"s\"\nmeasure = { quantity = \"hops\" }\n";
        Expected::parse("expected.toml", text).unwrap_or_else(|error| panic!("{error:?}"))
    }

    fn line(run: &str, hash: &str) -> String {
        format!(
            "{{\"experiment\":\"x/y\",\"run\":\"{run}\",\"series_sha256\":\"{hash}\",\"commit\":\"c\",\"flows\":3,\
             \"measures\":[{{\"measure\":{{\"quantity\":\"hops\"}},\"value\":0.1}}]}}\n"
        )
    }

    fn cached(text: &str) -> Cached {
        Cached::parse(Path::new("cached.jsonl"), text).unwrap_or_else(|error| panic!("{error}"))
    }

    fn filled(text: &str, mut found: Vec<Option<Outcome>>) -> (usize, Vec<Option<f64>>) {
        let scenario = Scenario::parse("s", SCENARIO, &[]).expect("a scenario");
        let taken = cached(text).fill("x/y", &scenario, &expected().finding, &mut found);
        let values = found.iter().map(|one| one.as_ref().and_then(|one| one.values[0]));
        (taken, values.collect())
    }

    #[test]
    fn cached_results_replace_only_missing_runs() {
        let a = series_hash(SCENARIO, "a").expect("a scenario");
        let text = line("a/seed-1", &a) + &line("a/seed-2", &a);
        let own = Outcome { values: vec![Some(7.0)], ..Outcome::default() };
        let found = vec![None, Some(own), None, None];
        assert_eq!(filled(&text, found), (1, vec![Some(0.1), Some(7.0), None, None]));
        // Of another experiment.
        let text = text.replace("x/y", "x/z");
        assert_eq!(filled(&text, vec![None; 4]), (0, vec![None; 4]));
    }

    #[test]
    fn a_cached_run_of_another_scenario_is_ignored() {
        let a = series_hash(SCENARIO, "a").expect("a scenario");
        assert_eq!(filled(&line("b/seed-1", &a), vec![None; 4]), (0, vec![None; 4]));
        let b = series_hash(SCENARIO, "b").expect("a scenario");
        assert_eq!(filled(&line("b/seed-1", &b), vec![None; 4]).0, 1);
        // Nor is a run with other questions.
        let other = line("b/seed-1", &b).replace("hops", "path_removals");
        assert_eq!(filled(&other, vec![None; 4]).0, 0);
    }

    #[test]
    fn the_series_hash_ignores_comments_and_other_series() {
        let same =
            SCENARIO.replace("# Of two series.\n", "").replace("name = \"b\"", "name = \"c\"");
        assert_eq!(series_hash(&same, "a"), series_hash(SCENARIO, "a"));
        let other = SCENARIO.replace("1ms", "2ms");
        assert_ne!(series_hash(&other, "a"), series_hash(SCENARIO, "a"));
        assert_eq!(series_hash(&other, "b"), series_hash(SCENARIO, "b"));
        // python/tests/test_cached_runs.py has the same.
        assert_eq!(
            series_hash("b = [1, 2.5]\na = \"\u{b5}\"\n[[series]]\nname = \"s\"\n", "s").as_deref(),
            Some("34f81f151c9711a2ba43fb22d8cb36dcc07b3ba50a190c58630c59eafddab6c9")
        );
    }

    /// The run's series is then SERIES-SCHEME.
    #[test]
    fn the_series_hash_covers_its_scheme() {
        let text = "schemes = [\"ndp\", \"s-x\"]\n[[scheme]]\nname = \"s-x\"\nlike = \"tcp\"\n[[series]]\n\
            name = \"a\"\nduration = \"1ms\"\n[[series]]\nname = \"a-s\"\nduration = \"3ms\"\n\
            [[series]]\nname = \"b\"\n";
        let hash = |text: &str, series| series_hash(text, series).expect("a scenario");
        let differs = |before: &str, after: &str, series| {
            assert!(text.contains(before), "{before}");
            hash(&text.replace(before, after), series) != hash(text, series)
        };
        // Its own series, its own scheme.
        assert!(differs("1ms", "2ms", "a-ndp"));
        assert!(differs("like = \"tcp\"", "like = \"hull\"", "a-s-x"));
        assert!(differs("1ms", "2ms", "a-s-x"));
        // Others change nothing.
        assert!(!differs("1ms", "2ms", "b-ndp"));
        assert!(!differs("like = \"tcp\"", "like = \"hull\"", "a-ndp"));
        assert!(!differs("\"ndp\", ", "\"ndp\", \"hull\", ", "a-ndp"));
        // A series' own schemes count too.
        let own = "[[series]]\nname = \"a\"\nschemes = [\"ndp\"]\nduration = \"1ms\"\n";
        assert_ne!(hash(own, "a-ndp"), hash(&own.replace("1ms", "2ms"), "a-ndp"));
        // python/tests/test_cached_runs.py has the same.
        assert_eq!(
            hash(text, "a-s-x"),
            "634c8fb4ee70154ccc8db8f601f2fe3a4c6cdcff4aaf7e7832e7ae6a63678907"
        );
    }

    #[test]
    fn a_scenario_with_files_has_no_hash() {
        for named in [
            "topology.file = \"t.topo\"\n",
            "[[workload]]\nname = \"w\"\nsize = { file = \"s.txt\" }\n",
            "[sweep]\n\"topology.file\" = [\"a.topo\", \"b.topo\"]\n",
            "[[series]]\nname = \"s\"\n[[series]]\nname = \"t\"\ntopology.file = \"t.topo\"\n",
        ] {
            assert_eq!(series_hash(named, "s"), None, "{named}");
        }
        assert!(series_hash("name = \"file\"\n", "").is_some());
    }

    #[test]
    fn an_invalid_line_of_cached_runs_is_named() {
        let mistake = |text: &str| Cached::parse(Path::new("k"), text).err().unwrap_or_default();
        assert!(
            mistake("{}\n").starts_with("k:1: missing field `experiment`"),
            "{}",
            mistake("{}\n")
        );
        let twice = line("a/seed-1", "h").repeat(2);
        assert_eq!(mistake(&twice), "k:2: a second line for a/seed-1 of x/y");
    }
}
