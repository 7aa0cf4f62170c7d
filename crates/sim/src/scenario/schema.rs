//! The grammar as a JSON Schema (draft 2020-12), for editors and other programs.

use serde_json::{Map, Value, json};

use super::grammar::{SCENARIO, SCHEME};
use crate::keys::form::{Form, Grammar, Key, Language};
use crate::keys::quantity::Quantity;
use crate::transports::Transports;

/// Returns the JSON Schema of scenario files, for a program that knows these transports, as text that ends with a
/// newline.
pub fn schema(transports: &Transports) -> String {
    let language = &transports.language();
    let mut root = Map::new();
    root.insert("$schema".into(), json!("https://json-schema.org/draft/2020-12/schema"));
    root.insert("title".into(), json!("Trimline scenario"));
    if let Value::Object(scenario) = grammar(&SCENARIO, true, language) {
        root.extend(scenario);
    }
    // Each series may have what the scenario lacks.
    if let Some(required) = root.shift_remove("required") {
        root.insert("if".into(), json!({ "not": { "required": ["series"] } }));
        root.insert("then".into(), json!({ "required": required }));
    }
    // A series holds the keys of the scenario, with `name` alone required.
    let mut overrides = Map::new();
    if let Value::Object(part) = grammar(&SCENARIO, false, language) {
        overrides.extend(part);
    }
    if let Some(Value::Object(properties)) = overrides.get_mut("properties") {
        properties.shift_remove("series");
    }
    overrides.insert("required".into(), json!(["name"]));
    overrides.insert(
        "description".into(),
        json!("A variant: its name, and what it overrides. Workloads merge by name."),
    );
    root.insert("$defs".into(), json!({ "series": overrides }));
    let mut text = serde_json::to_string_pretty(&Value::Object(root)).unwrap_or_default();
    text.push('\n');
    text
}

fn grammar(grammar: &Grammar, whole: bool, language: &Language) -> Value {
    let mut properties = Map::new();
    for key in grammar.keys {
        let is_same = std::ptr::eq(grammar, &SCHEME)
            && SCENARIO.keys.iter().any(|other| other.name == key.name && key.name != "name");
        let form = match is_same {
            true => {
                json!({ "$ref": format!("#/properties/{}", key.name), "description": key.description() })
            }
            false => described(key, whole, language),
        };
        properties.insert(key.name.into(), form);
    }
    let mut table = Map::new();
    table.insert("type".into(), json!("object"));
    table.insert("description".into(), json!(grammar.about));
    table.insert("additionalProperties".into(), json!(false));
    table.insert("properties".into(), Value::Object(properties));
    let required: Vec<&str> =
        grammar.keys.iter().filter(|key| key.is_required()).map(|key| key.name).collect();
    if whole && !required.is_empty() {
        table.insert("required".into(), json!(required));
    }
    if !grammar.alternatives.is_empty() {
        let one = |key: &&str| json!({ "required": [key] });
        if whole {
            let one_of: Vec<Value> = grammar.alternatives.iter().map(one).collect();
            table.insert("oneOf".into(), json!(one_of));
        }
    }
    Value::Object(table)
}

fn form(form_of: &Form, whole: bool, language: &Language) -> Value {
    match form_of {
        Form::Text => json!({ "type": "string" }),
        Form::Name => json!({ "type": "string", "pattern": "^[A-Za-z0-9_-][A-Za-z0-9._-]*$" }),
        Form::Integer(low, i64::MAX) => json!({ "type": "integer", "minimum": low }),
        Form::Integer(low, high) => json!({ "type": "integer", "minimum": low, "maximum": high }),
        Form::Boolean => json!({ "type": "boolean" }),
        Form::Quantity(quantity) => quantity_form(*quantity),
        Form::Word(words) => json!({ "enum": words }),
        Form::Table(inner) => grammar(inner, whole, language),
        Form::Tables(_) if is_series(form_of) => {
            json!({ "type": "array", "minItems": 1, "items": { "$ref": "#/$defs/series" } })
        }
        // As an overlay of a list of named tables, a table names the elements that it changes.
        Form::Tables(inner) if !whole => json!({ "anyOf": [
            { "type": "array", "minItems": 1, "items": grammar(inner, false, language) },
            { "type": "object", "additionalProperties": grammar(inner, false, language) },
        ]}),
        Form::Tables(inner) => {
            json!({ "type": "array", "minItems": 1, "items": grammar(inner, true, language) })
        }
        Form::List(inner) => json!({ "type": "array", "items": form(inner, whole, language) }),
        Form::Either(forms) => {
            json!({ "anyOf": forms.iter().map(|inner| form(inner, whole, language)).collect::<Vec<_>>() })
        }
        Form::Range => json!({ "type": "string", "pattern": r"^ *[0-9]+ *\.\. *[0-9]+ *$" }),
        Form::Sweep | Form::Overrides => json!({ "type": "object" }),
        Form::Transports => transports(whole, language),
        Form::Transport => json!({ "enum": language.names() }),
    }
}

fn described(key: &Key, whole: bool, language: &Language) -> Value {
    let mut form = form(&key.form, whole, language);
    if let Value::Object(form) = &mut form {
        form.insert("description".into(), json!(key.description()));
        if let Some(default) = key.fixed() {
            // Numbers, booleans and strings are written alike in TOML and in JSON.
            let default = serde_json::from_str(&key.written(default)).expect("no table");
            form.insert("default".into(), default);
        }
    }
    form
}

fn transports(whole: bool, language: &Language) -> Value {
    let known = language.transports.iter();
    let properties: Map<String, Value> =
        known.map(|key| (key.name.to_owned(), described(key, whole, language))).collect();
    let mut table = Map::new();
    table.insert("type".into(), json!("object"));
    table.insert("additionalProperties".into(), json!(false));
    table.insert("properties".into(), Value::Object(properties));
    if whole {
        table.insert("minProperties".into(), json!(1));
    }
    Value::Object(table)
}

fn is_series(form: &Form) -> bool {
    let Form::Tables(grammar) = form else { return false };
    grammar.keys.iter().any(|key| matches!(key.form, Form::Overrides))
}

fn quantity_form(quantity: Quantity) -> Value {
    json!({ "type": "string", "pattern": quantity.pattern() })
}
