//! The scenario as a tree of values, each with its place in the text.
//!
//! A series, a `--set` and a sweep point are trees too, overlaid on the base. A value keeps its place, so an error
//! always points at the text that caused it.

use std::sync::Arc;

use toml::de::{DeTable, DeValue};

use super::error::{Place, ScenarioError, Source, nearest};

/// A value and its place in the text.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) place: Place,
}

#[derive(Clone, Debug)]
pub(crate) enum Value {
    Text(String),
    Integer(i64),
    Boolean(bool),
    /// A float or a date: TOML values that no key takes.
    Other(&'static str),
    List(Vec<Node>),
    Table(Table),
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub(crate) entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_place: Place,
    pub(crate) node: Node,
}

impl Node {
    pub(crate) fn type_name(&self) -> &'static str {
        match &self.value {
            Value::Text(_) => "a string",
            Value::Integer(_) => "an integer",
            Value::Boolean(_) => "a boolean",
            Value::Other(name) => name,
            Value::List(_) => "an array",
            Value::Table(_) => "a table",
        }
    }

    pub(crate) fn table(&self) -> Option<&Table> {
        match &self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    pub(crate) fn list(&self) -> Option<&[Node]> {
        match &self.value {
            Value::List(nodes) => Some(nodes),
            _ => None,
        }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn integer(&self) -> Option<i64> {
        match self.value {
            Value::Integer(number) => Some(number),
            _ => None,
        }
    }

    pub(crate) fn boolean(&self) -> Option<bool> {
        match self.value {
            Value::Boolean(truth) => Some(truth),
            _ => None,
        }
    }

    pub(crate) fn child(&self, key: &str) -> Option<&Node> {
        self.table()?.find(key).map(|entry| &entry.node)
    }

    pub(crate) fn at(&self, path: &[&str]) -> Option<&Node> {
        path.iter().try_fold(self, |node, key| node.child(key))
    }

    pub(crate) fn take(&mut self, key: &str) -> Option<Entry> {
        let Value::Table(table) = &mut self.value else { return None };
        let index = table.entries.iter().position(|entry| entry.key == key)?;
        Some(table.entries.remove(index))
    }
}

impl Table {
    pub(crate) fn find(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }
}

/// Reads a TOML document.
pub(crate) fn parse(source: &Arc<Source>) -> Result<Node, ScenarioError> {
    let document = DeTable::parse(&source.text).map_err(|error| {
        let span = error.span().unwrap_or(0..0);
        let place = Place { source: source.clone(), start: span.start, end: span.end };
        let message = error.message().trim().replace('\n', ", ");
        ScenarioError::new(
            &place,
            format!("not TOML: {message}"),
            "TOML: `key = value` and `[table]`",
        )
    })?;
    let place = Place { source: source.clone(), start: 0, end: 0 };
    Ok(Node { value: Value::Table(table(source, document.get_ref())), place })
}

fn table(source: &Arc<Source>, table: &DeTable<'_>) -> Table {
    let mut entries: Vec<Entry> = table
        .iter()
        .map(|(key, value)| Entry {
            key: key.get_ref().to_string(),
            key_place: place(source, key.span()),
            node: Node {
                value: convert(source, value.get_ref()),
                place: place(source, value.span()),
            },
        })
        .collect();
    entries.sort_by_key(|entry| entry.key_place.start);
    Table { entries }
}

fn convert(source: &Arc<Source>, value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(integer) => i64::from_str_radix(integer.as_str(), integer.radix())
            .map_or(Value::Other("an integer beyond 64 bits"), Value::Integer),
        DeValue::Float(_) => Value::Other("a float"),
        DeValue::Boolean(truth) => Value::Boolean(*truth),
        DeValue::Datetime(_) => Value::Other("a date"),
        DeValue::Array(values) => Value::List(
            values
                .iter()
                .map(|value| Node {
                    value: convert(source, value.get_ref()),
                    place: place(source, value.span()),
                })
                .collect(),
        ),
        DeValue::Table(entries) => Value::Table(table(source, entries)),
    }
}

fn place(source: &Arc<Source>, span: std::ops::Range<usize>) -> Place {
    Place { source: source.clone(), start: span.start, end: span.end }
}

/// Rules about keys, by their dotted paths.
pub(crate) trait Rules {
    /// Returns whether the key is one of several alternatives.
    fn is_alternative(&self, path: &str) -> bool;
    /// Returns whether the key takes an array of tables that are named or stand for themselves. Other lists are values.
    fn takes_tables(&self, path: &str) -> bool;
    /// Returns the alternative without which the key has no meaning.
    fn of_alternative(&self, path: &str) -> Option<&'static str>;
}

/// Overlays `over` on `base`. Tables merge. Arrays of tables merge by name, and a table without a name is added; names
/// of such an array are keys too. A new alternative removes those that are not overlaid, with the keys that belong to
/// these. Other values are replaced.
pub(crate) fn overlay(
    base: &mut Node,
    over: &Node,
    rules: &dyn Rules,
) -> Result<(), ScenarioError> {
    overlay_at(base, over, "", rules)
}

fn overlay_at(
    base: &mut Node,
    over: &Node,
    path: &str,
    rules: &dyn Rules,
) -> Result<(), ScenarioError> {
    match (&mut base.value, &over.value) {
        (Value::Table(below), Value::Table(above)) => {
            for entry in &above.entries {
                let child = join(path, &entry.key);
                // An alternative that is already present is changed, and the keys beside it stay.
                if rules.is_alternative(&child) && below.find(&entry.key).is_none() {
                    let goes = |key: &str| {
                        let path = join(path, key);
                        let of_other =
                            rules.of_alternative(&path).is_some_and(|of| of != entry.key);
                        of_other || rules.is_alternative(&path)
                    };
                    below
                        .entries
                        .retain(|other| above.find(&other.key).is_some() || !goes(&other.key));
                }
                match below.entries.iter_mut().find(|other| other.key == entry.key) {
                    Some(other) => overlay_at(&mut other.node, &entry.node, &child, rules)?,
                    None => below.entries.push(entry.clone()),
                }
            }
        }
        (Value::List(below), Value::List(above))
            if rules.takes_tables(path) && above.iter().any(|node| node.table().is_some()) =>
        {
            for node in above {
                match below
                    .iter_mut()
                    .find(|other| name(node).is_some_and(|n| name(other) == Some(n)))
                {
                    Some(other) => overlay_at(other, node, path, rules)?,
                    None => below.push(node.clone()),
                }
            }
        }
        (Value::List(below), Value::Table(above)) => {
            for entry in &above.entries {
                match below.iter_mut().find(|other| name(other) == Some(&entry.key)) {
                    Some(other) => overlay_at(other, &entry.node, path, rules)?,
                    None => {
                        let names: Vec<&str> = below.iter().filter_map(name).collect();
                        return Err(ScenarioError::new(
                            &entry.key_place,
                            format!("no {path} is named `{}`", entry.key),
                            format!("one of {}", names.join(", ")),
                        )
                        .nearest(nearest(&entry.key, names)));
                    }
                }
            }
        }
        _ => *base = over.clone(),
    }
    Ok(())
}

pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

pub(crate) fn name(node: &Node) -> Option<&str> {
    node.child("name")?.text()
}

/// Creates a tree with one leaf. In a list of named tables, a name is a key.
pub(crate) fn branch(path: &[(String, Place)], leaf: Node) -> Node {
    path.iter().rev().fold(leaf, |node, (key, key_place)| Node {
        place: key_place.clone(),
        value: Value::Table(Table {
            entries: vec![Entry { key: key.clone(), key_place: key_place.clone(), node }],
        }),
    })
}
