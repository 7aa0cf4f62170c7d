//! Changes of a compiled program, from which mistakes are made.

use serde_json::{Value, json};

/// A mistake by its name, and the vectors that find it.
pub(crate) type Found = (&'static str, Vec<String>);

/// Returns each mistake with the vectors that find it, or a line per mistake without any.
pub(super) fn sorted_out<M>(
    mutants: &[(&'static str, M)],
    finders: impl Fn(&M) -> Result<Vec<String>, String>,
) -> Result<Vec<Found>, Vec<String>> {
    let (mut found, mut missed) = (Vec::new(), Vec::new());
    for (name, mutant) in mutants {
        match finders(mutant) {
            Ok(finders) if finders.is_empty() => {
                missed.push(format!("no vector finds this mistake: {name}"));
            }
            Ok(finders) => found.push((*name, finders)),
            Err(error) => missed.push(format!("{name}: {error}")),
        }
    }
    if missed.is_empty() { Ok(found) } else { Err(missed) }
}

pub(super) fn is(op: &'static str) -> impl Fn(&Value) -> bool {
    move |primitive| primitive["op"] == op
}

pub(super) fn assigns(header: &'static str, member: &'static str) -> impl Fn(&Value) -> bool {
    move |primitive| {
        primitive["op"] == "assign"
            && primitive["parameters"][0]["value"] == json!([header, member])
    }
}

/// Returns the actions of this name: p4c makes one for every call.
pub(super) fn actions<'v>(
    program: &'v mut Value,
    name: &'static str,
) -> impl Iterator<Item = &'v mut Value> {
    let actions = program["actions"].as_array_mut().into_iter().flatten();
    actions.filter(move |action| action["name"] == name)
}

pub(super) fn without(program: &mut Value, name: &'static str, which: impl Fn(&Value) -> bool) {
    for action in actions(program, name) {
        action["primitives"].as_array_mut().expect("a list").retain(|primitive| !which(primitive));
    }
}

/// Calls `change` with every object in a value.
pub(super) fn each_object(
    value: &mut Value,
    change: &mut impl FnMut(&mut serde_json::Map<String, Value>),
) {
    match value {
        Value::Object(object) => {
            change(object);
            object.values_mut().for_each(|value| each_object(value, change));
        }
        Value::Array(items) => items.iter_mut().for_each(|value| each_object(value, change)),
        _ => {}
    }
}

/// Replaces an operation in every use by an action.
pub(super) fn replace_operations(program: &mut Value, name: &'static str, old: &str, new: &str) {
    for action in actions(program, name) {
        replace_operation(action, old, new);
    }
}

/// Replaces an operation in every use by a value.
pub(super) fn replace_operation(value: &mut Value, old: &str, new: &str) {
    each_object(value, &mut |object| {
        if object.get("op").is_some_and(|op| op == old) {
            object.insert("op".to_owned(), json!(new));
        }
    });
}

/// Returns a field of the program's own metadata, as the compiler writes it.
pub(super) fn metadata(member: &str) -> Value {
    json!(["scalars", format!("metadata_t.{member}")])
}

/// Replaces a field in every use by a value.
pub(super) fn replace_field(value: &mut Value, old: &Value, new: &Value) {
    each_object(value, &mut |object| {
        if object.get("value") == Some(old) {
            object.insert("value".to_owned(), new.clone());
        }
    });
}

/// Replaces a field in every read by an action.
pub(super) fn replace_read(program: &mut Value, name: &'static str, old: &Value, new: &Value) {
    for action in actions(program, name) {
        for primitive in action["primitives"].as_array_mut().into_iter().flatten() {
            let writes = primitive["op"] == "assign";
            let parameters = primitive["parameters"].as_array_mut().into_iter().flatten();
            for parameter in parameters.skip(usize::from(writes)) {
                replace_field(parameter, old, new);
            }
        }
    }
}

/// Returns the conditions that read a field.
pub(super) fn conditions<'v>(
    program: &'v mut Value,
    field: &Value,
) -> impl Iterator<Item = &'v mut Value> {
    let field = field.to_string();
    let conditionals = program["pipelines"][0]["conditionals"].as_array_mut();
    let asks =
        move |conditional: &&mut Value| conditional["expression"].to_string().contains(&field);
    conditionals.into_iter().flatten().filter(asks)
}
