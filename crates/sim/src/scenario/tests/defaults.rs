//! Declared defaults hold: a shipped scenario with a default written out is an identical run.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::super::grammar::SCENARIO;
use super::super::{Scenario, Source, payload, reference, resolve, schema};
use crate::keys::form::{Form, Grammar, Key, Language};
use crate::keys::tree::{self, Entry, Node, Table, Value};
use crate::transports::Transports;
use trimline_transport::pfabric;

/// Scenarios for keys that every shipped scenario has, or that need another key beside them.
const FURTHER: [&str; 6] = [
    "topology.star.hosts = 4\n[transport.rccc]\npath_choice = \"reps\"\n[[workload]]\nname = \"w\"\npermutation = {}\nsize = \"9KB\"\n",
    "topology.star.hosts = 4\nimpairment.loss = \"1%\"\n[[workload]]\nname = \"w\"\nrandom.total = 3\nsize = \"9KB\"\n",
    "topology.star.hosts = 4\n[[phantom_queue]]\n[transport.dctcp]\n[[workload]]\nname = \"w\"\npermutation = {}\nsize = \"9KB\"\n",
    "topology.star.hosts = 4\nswitch = { profile = \"ecn\", shared_buffer = \"99pkt\" }\n[[workload]]\nname = \"w\"\npermutation = {}\nsize = \"9KB\"\n",
    "topology.star.hosts = 4\n[[switch.port]]\nlayer = \"tor\"\n[[workload]]\nname = \"w\"\npermutation = {}\nsize = \"9KB\"\n",
    "topology.star.hosts = 4\n[[workload]]\nname = \"w\"\nrandom.excluding = [1]\nsize = \"9KB\"\n",
];

fn plain(transport: &str) -> String {
    format!(
        "duration = \"1ms\"\ntopology.star.hosts = 4\n[transport.{transport}]\n[[workload]]\n\
         name = \"w\"\npermutation = {{}}\nsize = \"9KB\"\n"
    )
}

/// Finds all files in a folder and below whose names end with `end`.
pub(super) fn files(folder: &Path, end: &str, found: &mut Vec<PathBuf>) {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            files(&path, end, found);
        } else if path.to_string_lossy().ends_with(end) {
            found.push(path);
        }
    }
}

pub(super) fn parsed(name: &str, text: &str) -> Node {
    tree::parse(&Arc::new(Source::new(name, text))).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns every variant of a scenario, without sweep and schemes.
fn variants(name: &str, text: &str) -> Vec<Node> {
    let mut base = parsed(name, text);
    for key in ["sweep", "scheme", "schemes"] {
        base.take(key);
    }
    let Some(series) = base.take("series") else { return vec![base] };
    let over = |series: &Node| {
        let (mut variant, mut over) = (base.clone(), series.clone());
        over.take("name");
        over.take("sweep");
        payload::overlay(&mut variant, &over).unwrap();
        variant
    };
    series.node.list().unwrap().iter().map(over).collect()
}

/// Returns the tables of a tree with grammar and path.
pub(super) fn tables(
    node: &Node,
    form: &Form,
    language: &Language,
    way: Vec<usize>,
    found: &mut Vec<(Vec<usize>, &'static Grammar)>,
) {
    let below = |index: usize| [&way[..], &[index]].concat();
    match (form, &node.value) {
        (Form::Table(grammar), Value::Table(table)) => {
            found.push((way.clone(), grammar));
            for (index, entry) in table.entries.iter().enumerate() {
                if let Some(key) = grammar.keys.iter().find(|key| key.name == entry.key) {
                    tables(&entry.node, &key.form, language, below(index), found);
                }
            }
        }
        (Form::Tables(grammar), Value::List(nodes)) => {
            for (index, node) in nodes.iter().enumerate() {
                tables(node, &Form::Table(grammar), language, below(index), found);
            }
        }
        (Form::List(form), Value::List(nodes)) => {
            for (index, node) in nodes.iter().enumerate() {
                tables(node, form, language, below(index), found);
            }
        }
        (Form::Either(forms), _) => {
            forms.iter().for_each(|form| tables(node, form, language, way.clone(), found));
        }
        (Form::Transports, Value::Table(table)) => {
            for (index, entry) in table.entries.iter().enumerate() {
                let key = language.transports.iter().find(|key| key.name == entry.key).unwrap();
                tables(&entry.node, &key.form, language, below(index), found);
            }
        }
        _ => {}
    }
}

pub(super) fn at<'a>(node: &'a mut Node, way: &[usize]) -> &'a mut Table {
    match (&mut node.value, way) {
        (Value::Table(table), []) => table,
        (Value::Table(table), [first, rest @ ..]) => at(&mut table.entries[*first].node, rest),
        (Value::List(nodes), [first, rest @ ..]) => at(&mut nodes[*first], rest),
        _ => panic!("the way leads to a table"),
    }
}

/// Identifies a key in its table: tables may share a key.
pub(super) fn name_of(grammar: &Grammar, key: &Key) -> (usize, &'static str) {
    (std::ptr::from_ref(grammar).addr(), key.name)
}

/// Parses the text of a value, as in a file of this name.
pub(super) fn node(name: &str, text: &str) -> Node {
    parsed(name, &format!("value = {text}\n")).take("value").unwrap().node
}

#[test]
fn a_default_written_out_changes_nothing() {
    let known = Transports::built_in();
    let language = known.language();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut paths = Vec::new();
    files(&root.join("examples"), ".toml", &mut paths);
    files(&root.join("experiments"), "scenario.toml", &mut paths);
    // Every key with a fixed default, and whether it was written out.
    let mut keys: BTreeMap<(usize, &str), bool> = BTreeMap::new();
    let mut wrong = BTreeSet::new();
    let whole = Form::Table(&SCENARIO);
    let shipped = paths
        .iter()
        .map(|path| (path.to_string_lossy().into_owned(), fs::read_to_string(path).unwrap()));
    let further = FURTHER.map(str::to_owned).into_iter();
    let further = further.chain(language.names().into_iter().map(plain));
    let further = further.map(|text| ("scenario.toml".to_owned(), text));
    for (name, text) in shipped.chain(further) {
        for variant in variants(&name, &text) {
            let mut found = Vec::new();
            tables(&variant, &whole, &language, Vec::new(), &mut found);
            let mut before = None;
            for (way, grammar) in found {
                let is_new = |key: &&Key| {
                    let is_done = keys.get(&name_of(grammar, key)) == Some(&true);
                    key.fixed().is_some() && !is_done
                };
                for key in grammar.keys.iter().filter(is_new).collect::<Vec<_>>() {
                    let mut with = variant.clone();
                    let table = at(&mut with, &way);
                    let is_given = table.entries.iter().any(|entry| {
                        entry.key == key.name || grammar.alternatives.contains(&key.name)
                    });
                    let place = variant.place.clone();
                    let node = node("value.toml", &key.written(key.fixed().unwrap()));
                    let is_done = !is_given && {
                        table.entries.push(Entry {
                            key: key.name.to_owned(),
                            key_place: place,
                            node,
                        });
                        let plan = |tree: &Node| {
                            resolve::resolve(tree, &known).map(|resolved| format!("{resolved:?}"))
                        };
                        let before = before.get_or_insert_with(|| plan(&variant).unwrap());
                        match plan(&with) {
                            Ok(after) if after == *before => true,
                            Ok(_) => {
                                wrong.insert(format!("{} in {name}", key.name));
                                true
                            }
                            Err(_) => false,
                        }
                    };
                    *keys.entry(name_of(grammar, key)).or_default() |= is_done;
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let left: Vec<&str> =
        keys.iter().filter(|(_, done)| !**done).map(|((_, key), _)| *key).collect();
    assert!(keys.len() > 100, "{}", keys.len());
    assert_eq!(left, [""; 0], "keys whose default was never written out");
}

#[test]
fn a_declared_default_matches_configuration_schema_and_reference() {
    let known = Transports::built_in();
    let scenario = Scenario::parse("scenario.toml", &plain("pfabric"), &[]).unwrap();
    let config = scenario.runs[0].plan.transports[0].config::<pfabric::Config>();
    assert_eq!(config.expect("pFabric").probe_after, 5);
    let schema: serde_json::Value = serde_json::from_str(&schema(&known)).unwrap();
    let default = "/properties/transport/properties/pfabric/properties/probe_after/default";
    assert_eq!(schema.pointer(default), Some(&serde_json::json!(5)));
    let reference = reference(&known);
    let row = reference.lines().find(|line| line.starts_with("| `probe_after`")).unwrap();
    assert_eq!(row.split('|').nth(3).map(str::trim), Some("5"));
}
