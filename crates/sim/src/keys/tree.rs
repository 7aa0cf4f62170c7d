//! The scenario as a tree of values, each with the place where it was written.
//!
//! A series, a `--set` and a sweep point are trees too, laid over the base; a value keeps its place
//! wherever it ends up, so that an error always points at the text that caused it.

use std::sync::Arc;

use toml::de::{DeTable, DeValue};

use super::error::{Place, ScenarioError, Source, nearest};

/// A value and where it was written.
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
    /// A TOML value that no key takes: a float or a date.
    Other(&'static str),
    List(Vec<Node>),
    Table(Table),
}

/// Entries in the order of the file.
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
    /// What a reader would call the value's type.
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

    /// The node under a key of a table.
    pub(crate) fn child(&self, key: &str) -> Option<&Node> {
        self.table()?.find(key).map(|entry| &entry.node)
    }

    /// The node under a path of keys.
    pub(crate) fn at(&self, path: &[&str]) -> Option<&Node> {
        path.iter().try_fold(self, |node, key| node.child(key))
    }

    /// Removes and gives the entry under a key of a table.
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

/// What a language says of its keys, by their dotted paths.
pub(crate) trait Rules {
    /// Whether the key is one of several alternatives.
    fn is_alternative(&self, path: &str) -> bool;
    /// Whether an array of tables stands at the key, which have names or stand for themselves. Other lists are values.
    fn takes_tables(&self, path: &str) -> bool;
    /// The alternative beside a key without which the key says nothing.
    fn of_alternative(&self, path: &str) -> Option<&'static str>;
}

/// Lays `over` on `base`. Tables merge. Arrays of tables merge by name, one without a name is added, and a name is a
/// key of such an array. Of several alternatives a laid one that is not there yet replaces those that are not laid
/// too, with what belongs to these. Anything else is replaced.
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
                // What is there already is changed, and keeps what stands beside it.
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

/// The name of a named table.
pub(crate) fn name(node: &Node) -> Option<&str> {
    node.child("name")?.text()
}

/// A tree with one leaf, to be laid over another. In a list of named tables, a name is a key.
pub(crate) fn branch(path: &[(String, Place)], leaf: Node) -> Node {
    path.iter().rev().fold(leaf, |node, (key, key_place)| Node {
        place: key_place.clone(),
        value: Value::Table(Table {
            entries: vec![Entry { key: key.clone(), key_place: key_place.clone(), node }],
        }),
    })
}
