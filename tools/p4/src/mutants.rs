//! Mutants: changes of a compiled program, of its tables or of its settings, which at least one vector must find.

use serde_json::{Value, json};

use crate::bmv2::each_object;

/// A change. Fields are `HEADER.MEMBER`, or `MEMBER` of the program's own metadata.
pub(crate) enum Mutant<S: 'static> {
    /// Changes what a vector sets.
    Set(fn(&mut S)),
    /// Replaces a text in the commands of the control plane.
    Table(&'static str, &'static str),
    /// Adds a command of the control plane.
    Also(&'static str),
    /// Takes primitives out of an action: those of an operation, or assignments to a field.
    Without(&'static str, &'static [&'static str]),
    /// Replaces an operation of an action.
    Operation(&'static str, &'static str, &'static str),
    /// Replaces an operation of the conditions that read a field.
    Condition(&'static str, &'static str, &'static str),
    /// Replaces a field or a number that an action reads.
    Read(&'static str, &'static str, &'static str),
    /// Makes conditions that read a field always hold, or never.
    Always(&'static str, bool),
    /// Changes the document in another way.
    Program(fn(&mut Value)),
}

impl<S> Mutant<S> {
    /// Changes a compiled program.
    pub(crate) fn change(&self, program: &mut Value) {
        match *self {
            Mutant::Set(_) | Mutant::Table(..) | Mutant::Also(_) => {}
            Mutant::Without(action, gone) => {
                let is_gone = |primitive: &Value| {
                    let (op, to) = (&primitive["op"], &primitive["parameters"][0]["value"]);
                    gone.iter().any(|gone| *op == **gone || *op == "assign" && *to == named(gone))
                };
                for action in actions(program, action) {
                    primitives(action).retain(|primitive| !is_gone(primitive));
                }
            }
            Mutant::Operation(action, old, new) => actions(program, action)
                .for_each(|action| replace(action, "op", &json!(old), &json!(new))),
            Mutant::Condition(field, old, new) => conditions(program, field)
                .for_each(|condition| replace(condition, "op", &json!(old), &json!(new))),
            Mutant::Read(action, old, new) => {
                let (old, new) = (named(old), named(new));
                for primitive in actions(program, action).flat_map(primitives) {
                    let writes = primitive["op"] == "assign";
                    let parameters = primitive["parameters"].as_array_mut().into_iter().flatten();
                    parameters
                        .skip(writes.into())
                        .for_each(|read| replace(read, "value", &old, &new));
                }
            }
            Mutant::Always(field, holds) => {
                for condition in conditions(program, field) {
                    let (way, other) = if holds {
                        ("true_next", "false_next")
                    } else {
                        ("false_next", "true_next")
                    };
                    condition[other] = condition[way].clone();
                }
            }
            Mutant::Program(change) => change(program),
        }
    }
}

/// Returns a field as the compiler writes it, or a hexadecimal number.
fn named(name: &str) -> Value {
    match name.split_once('.') {
        _ if name.starts_with("0x") => json!(name),
        Some(("standard", member)) => json!(["standard_metadata", member]),
        Some((header, member)) => json!([header, member]),
        None => json!(["scalars", format!("metadata_t.{name}")]),
    }
}

/// Returns the actions of this name in ingress or egress: p4c makes one for every call.
pub(crate) fn actions<'v>(
    program: &'v mut Value,
    name: &'static str,
) -> impl Iterator<Item = &'v mut Value> {
    let actions = program["actions"].as_array_mut().into_iter().flatten();
    let is_named = move |action: &&mut Value| {
        action["name"]
            .as_str()
            .and_then(|full| full.split_once('.'))
            .is_some_and(|(_, end)| end == name)
    };
    actions.filter(is_named)
}

pub(crate) fn primitives(action: &mut Value) -> &mut Vec<Value> {
    action["primitives"].as_array_mut().expect("an action has primitives")
}

/// Replaces the value of a key wherever it occurs.
fn replace(value: &mut Value, key: &str, old: &Value, new: &Value) {
    each_object(value, &mut |object| {
        if object.get(key) == Some(old) {
            object.insert(key.to_owned(), new.clone());
        }
    });
}

/// Returns the conditions that read a field.
fn conditions<'v>(program: &'v mut Value, field: &str) -> impl Iterator<Item = &'v mut Value> {
    let field = named(field).to_string();
    let conditionals = program["pipelines"][0]["conditionals"].as_array_mut();
    conditionals
        .into_iter()
        .flatten()
        .filter(move |conditional| conditional["expression"].to_string().contains(&field))
}
