//! Every key has an effect: another value changes the result of some small run.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use trimline_metrics::RunRecord;

use super::super::check::Extent;
use super::super::grammar::SCENARIO;
use super::super::{Output, resolve};
use super::defaults::{at, files, name_of, node, parsed, tables};
use crate::keys::form::{Form, Language};
use crate::keys::quantity::Quantity;
use crate::keys::tree::{self, Entry, Node};
use crate::transports::Transports;

/// Small scenarios, which together have every table, and `values.txt`.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/scenario/tests/effects");

/// Keys without effect on the run of one series and one seed.
const ACT_ELSEWHERE: [&str; 15] = [
    // Names, and keys that select runs.
    "description",
    "link_event.name",
    "name",
    "phantom_queue.name",
    "scheme.like",
    "scheme.name",
    "schemes",
    "seeds",
    "series.name",
    // It replaces the payload of each transport before a run is resolved.
    "payload",
    // Both engines give the same record.
    "engine",
    // A file with a wrong format is refused.
    "topology.format",
    "transport.homa.cutoffs.format",
    "workload.format",
    "workload.size.format",
];

fn values(form: &Form, language: &Language) -> Vec<String> {
    let texts = |texts: &[&str]| texts.iter().map(|text| format!("\"{text}\"")).collect();
    match form {
        Form::Boolean => vec!["true".to_owned(), "false".to_owned()],
        Form::Word(words) => texts(words),
        Form::Integer(low, high) => {
            let tried = [*low, 1, 2, 3, 7, 20, 100, *high];
            tried.iter().filter(|n| (low..=high).contains(n)).map(i64::to_string).collect()
        }
        Form::Quantity(Quantity::Rate) => texts(&["1Gbps", "4Gbps", "100Mbps", "20Gbps"]),
        Form::Quantity(Quantity::Duration) => texts(&["1us", "30us", "300us", "5ms", "0s"]),
        Form::Quantity(Quantity::Bytes) => texts(&["1KB", "100B", "9KB", "30KB", "1MB", "0B"]),
        Form::Quantity(Quantity::Queue) => texts(&["2pkt", "1pkt", "20pkt", "300pkt"]),
        Form::Quantity(Quantity::Ratio) => texts(&["1:1", "30:1"]),
        Form::Quantity(Quantity::Share) => texts(&["20%", "1%", "90%", "100%"]),
        Form::Quantity(Quantity::Factor) => texts(&["1/8", "3"]),
        Form::List(inner) => {
            values(inner, language).into_iter().map(|value| format!("[{value}]")).collect()
        }
        Form::Either(forms) => forms.iter().flat_map(|form| values(form, language)).collect(),
        Form::Transport => texts(&language.names()),
        Form::Range => texts(&["1..2"]),
        Form::Text
        | Form::Name
        | Form::Table(_)
        | Form::Tables(_)
        | Form::Sweep
        | Form::Overrides
        | Form::Transports => Vec::new(),
    }
}

fn outcome(tree: &Node, known: &Transports) -> Result<(RunRecord, Output), String> {
    let whole = Form::Table(&SCENARIO);
    whole.check(tree, Extent::Whole, &known.language()).map_err(|error| error.to_string())?;
    let (mut plan, output) = resolve::resolve(tree, known).map_err(|error| error.to_string())?;
    plan.seed = 1;
    let mut epochs = 0;
    let record = crate::run(&plan, &mut |_| {
        epochs += 1;
        if epochs < 2000 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    record.map(|record| (record, output)).map_err(|error| error.to_string())
}

/// Returns the leaf keys of a grammar, each with its place.
fn leaves(
    path: &str,
    form: &Form,
    language: &Language,
    found: &mut BTreeMap<(usize, &'static str), String>,
) {
    match form {
        Form::Table(grammar) | Form::Tables(grammar) => {
            for key in grammar.keys {
                let place = tree::join(path, key.name);
                if is_leaf(&key.form) {
                    found.entry(name_of(grammar, key)).or_insert_with(|| place.clone());
                }
                if path != "scheme" {
                    leaves(&place, &key.form, language, found);
                }
            }
        }
        Form::List(inner) => leaves(path, inner, language, found),
        Form::Either(forms) => forms.iter().for_each(|form| leaves(path, form, language, found)),
        Form::Transports => {
            for key in &language.transports {
                leaves(&tree::join(path, key.name), &key.form, language, found);
            }
        }
        Form::Text
        | Form::Name
        | Form::Integer(..)
        | Form::Boolean
        | Form::Quantity(_)
        | Form::Word(_)
        | Form::Range
        | Form::Transport
        | Form::Sweep
        | Form::Overrides => {}
    }
}

fn is_leaf(form: &Form) -> bool {
    match form {
        Form::Table(_) | Form::Tables(_) | Form::Sweep | Form::Overrides | Form::Transports => {
            false
        }
        Form::Either(forms) => forms.iter().any(is_leaf),
        Form::Text
        | Form::Name
        | Form::Integer(..)
        | Form::Boolean
        | Form::Quantity(_)
        | Form::Word(_)
        | Form::Range
        | Form::Transport
        | Form::List(_) => true,
    }
}

#[test]
fn every_key_can_change_a_run() {
    let known = Transports::built_in();
    let language = known.language();
    let whole = Form::Table(&SCENARIO);
    let mut left = BTreeMap::new();
    leaves("", &whole, &language, &mut left);
    let all = left.len();
    let mut refused: BTreeMap<String, String> = BTreeMap::new();
    // Values besides the ones that all keys of a form try.
    let special = fs::read_to_string(format!("{FOLDER}/values.txt")).unwrap();
    let special: Vec<_> = special.lines().filter_map(|line| line.split_once(" = ")).collect();
    let (mut paths, mut broken) = (Vec::new(), Vec::new());
    files(Path::new(FOLDER), ".toml", &mut paths);
    for path in paths {
        let (path, text) = (path.display().to_string(), fs::read_to_string(&path).unwrap());
        let base = parsed(&path, &text);
        let mut found = Vec::new();
        tables(&base, &whole, &language, Vec::new(), &mut found);
        let before = match outcome(&base, &known) {
            Ok(before) => before,
            Err(error) => {
                broken.push(error);
                continue;
            }
        };
        for (way, grammar) in found {
            for key in grammar.keys {
                let Some(place) = left.get(&name_of(grammar, key)).cloned() else { continue };
                let special = special.iter().filter(|(of, _)| *of == place);
                let special = special.map(|(_, value)| (*value).to_owned());
                let values = key.written_samples().chain(values(&key.form, &language));
                let acts = special.chain(values).any(|value| {
                    let mut with = base.clone();
                    let table = at(&mut with, &way);
                    let alternatives = grammar.alternatives;
                    table.entries.retain(|entry| {
                        let goes = alternatives.contains(&key.name)
                            && alternatives.contains(&entry.key.as_str());
                        entry.key != key.name && !goes
                    });
                    table.entries.push(Entry {
                        key: key.name.to_owned(),
                        key_place: base.place.clone(),
                        node: node(&format!("{FOLDER}/value.toml"), &value),
                    });
                    match outcome(&with, &known) {
                        Ok(after) => after != before,
                        Err(error) => {
                            refused.insert(place.clone(), error);
                            false
                        }
                    }
                });
                if acts {
                    left.remove(&name_of(grammar, key));
                }
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
    let known = BTreeSet::from(ACT_ELSEWHERE);
    let left: BTreeSet<&str> = left.values().map(String::as_str).collect();
    let new: Vec<_> = left.difference(&known).map(|key| (key, refused.get(*key))).collect();
    assert!(new.is_empty(), "of {all} keys these change no run: {new:#?}");
    assert_eq!(left, known, "some change a run by now");
    println!("{all} keys");
}
