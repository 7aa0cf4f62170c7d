//! Checks a tree against the grammar: unknown keys, types, units, bounds, missing keys, contradictions.

use super::grammar::SCENARIO;
use crate::keys::error::{Place, ScenarioError, nearest};
use crate::keys::form::{Form, Grammar, Language};
use crate::keys::tree::{Node, Table, Value};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    Whole,
    /// An overlay: required keys may be missing, and names may be keys of a list.
    Part,
}

/// Earlier keys and words, with their replacements.
const RENAMED: [(&str, &str); 6] = [
    ("deflection", "detour"),
    ("deflections", "detours"),
    ("detour", "fixed_route"),
    ("kept", "persistent"),
    ("least_rate", "min_rate"),
    ("most", "max"),
];

/// Returns the name among `names` that replaced an earlier `name`.
fn renamed<'a>(name: &str, names: &[&'a str]) -> Option<&'a str> {
    names.iter().copied().find(|new| RENAMED.contains(&(name, new)))
}

impl Grammar {
    pub(crate) fn check_keys(&self, table: &Node) -> Result<(), ScenarioError> {
        self.check(table, Extent::Whole, &Language { transports: Vec::new() })
    }

    /// Refuses unknown keys, wrong types, units and bounds, missing keys and contradictions.
    pub(crate) fn check(
        &self,
        node: &Node,
        extent: Extent,
        language: &Language,
    ) -> Result<(), ScenarioError> {
        let Some(table) = node.table() else {
            return Err(ScenarioError::new(
                &node.place,
                format!("{} where a table belongs", node.type_name()),
                format!("a table with {}", self.names()),
            ));
        };
        let overrides = self.keys.iter().any(|key| matches!(key.form, Form::Overrides));
        for entry in &table.entries {
            let known = self.keys.iter().find(|key| key.name == entry.key);
            let inherited = || SCENARIO.keys.iter().find(|key| key.name == entry.key);
            match known {
                Some(key) => key.form.check(&entry.node, extent, language)?,
                None => match inherited().filter(|key| overrides && key.name != "series") {
                    Some(key) => key.form.check(&entry.node, Extent::Part, language)?,
                    None => {
                        let names = self.names_with_overrides(overrides);
                        let problem = format!("unknown key `{}`", entry.key);
                        if let Some(new) = renamed(&entry.key, &names) {
                            let expected = format!("`{new}`, its name now");
                            return Err(ScenarioError::new(&entry.key_place, problem, expected));
                        }
                        let expected = match &names[..] {
                            [] => "no key here".to_owned(),
                            names => format!("one of {}", names.join(", ")),
                        };
                        let nearest = nearest(&entry.key, names.iter().copied());
                        return Err(ScenarioError::new(&entry.key_place, problem, expected)
                            .nearest(nearest));
                    }
                },
            }
        }
        let given: Vec<_> =
            table.entries.iter().filter(|e| self.alternatives.contains(&e.key.as_str())).collect();
        if let [first, second, ..] = &given[..] {
            return Err(ScenarioError::new(
                &second.key_place,
                format!("`{}` beside `{}`", second.key, first.key),
                format!("exactly one of {}", self.alternatives.join(", ")),
            ));
        }
        if extent == Extent::Part {
            return Ok(());
        }
        if !self.alternatives.is_empty() && given.is_empty() {
            return Err(ScenarioError::new(
                &node.place,
                "none of the alternatives is given",
                format!("exactly one of {}", self.alternatives.join(", ")),
            ));
        }
        match self.keys.iter().find(|key| key.is_required() && table.find(key.name).is_none()) {
            None => Ok(()),
            Some(key) => Err(ScenarioError::new(
                &node.place,
                format!("missing key `{}`", key.name),
                format!("`{}`: {}", key.name, key.form.expected()),
            )),
        }
    }

    /// Returns the valid keys; in a series these include the keys of the scenario.
    fn names_with_overrides(&self, overrides: bool) -> Vec<&'static str> {
        if overrides {
            SCENARIO.keys.iter().map(|key| key.name).filter(|&name| name != "series").collect()
        } else {
            self.keys.iter().map(|key| key.name).collect()
        }
    }

    fn names(&self) -> String {
        match self.keys {
            [] => "no keys".to_owned(),
            keys => keys.iter().map(|key| key.name).collect::<Vec<_>>().join(", "),
        }
    }
}

impl Form {
    /// Returns the end of "expected ...".
    pub(crate) fn expected(&self) -> String {
        match self {
            Form::Text => "a string".to_owned(),
            Form::Name => "a name of letters, digits, `-`, `_` and `.`".to_owned(),
            Form::Integer(low, high) if *high == i64::MAX => format!("an integer from {low}"),
            Form::Integer(low, high) => format!("an integer from {low} to {high}"),
            Form::Boolean => "true or false".to_owned(),
            Form::Quantity(quantity) => quantity.expected().to_owned(),
            Form::Word(words) => match words {
                [word] => format!("\"{word}\""),
                words => format!("one of \"{}\"", words.join("\", \"")),
            },
            Form::Table(grammar) => format!("a table with {}", grammar.names()),
            Form::Tables(_) => "at least one table".to_owned(),
            Form::List(form) => format!("a list, each {}", form.expected()),
            Form::Either(forms) => {
                forms.iter().map(Form::expected).collect::<Vec<_>>().join(", or ")
            }
            Form::Range => "a range such as \"1..5\"".to_owned(),
            Form::Sweep => {
                "keys of the scenario, each with a list of values or { from, to, step }".to_owned()
            }
            Form::Overrides => "keys of the scenario".to_owned(),
            Form::Transports => "a table with transports".to_owned(),
            Form::Transport => "the name of a transport".to_owned(),
        }
    }

    fn takes(&self, value: &Value) -> bool {
        match (self, value) {
            (
                Form::Text
                | Form::Name
                | Form::Quantity(_)
                | Form::Word(_)
                | Form::Range
                | Form::Transport,
                Value::Text(_),
            )
            | (Form::Integer(..), Value::Integer(_))
            | (Form::Boolean, Value::Boolean(_))
            | (
                Form::Table(_) | Form::Sweep | Form::Overrides | Form::Transports,
                Value::Table(_),
            )
            | (Form::Tables(_) | Form::List(_), Value::List(_)) => true,
            (Form::Either(forms), _) => forms.iter().any(|form| form.takes(value)),
            _ => false,
        }
    }

    pub(crate) fn check(
        &self,
        node: &Node,
        extent: Extent,
        language: &Language,
    ) -> Result<(), ScenarioError> {
        // As an overlay of a list of named tables, a table names the elements that it changes.
        if let (Form::Tables(grammar), Value::Table(table), Extent::Part) =
            (self, &node.value, extent)
        {
            return table
                .entries
                .iter()
                .try_for_each(|entry| grammar.check(&entry.node, extent, language));
        }
        if !self.takes(&node.value) {
            let problem = match (self, &node.value) {
                (Form::Quantity(_), Value::Integer(_) | Value::Other("a float")) => {
                    "a number without a unit".to_owned()
                }
                _ => format!("{} does not belong here", node.type_name()),
            };
            return Err(ScenarioError::new(&node.place, problem, self.expected()));
        }
        match (self, &node.value) {
            (Form::Name, Value::Text(text)) => {
                let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
                if text.is_empty() || text.starts_with('.') || !text.chars().all(fits) {
                    return Err(self.refuse(node, "no name for a file"));
                }
            }
            (Form::Integer(low, high), Value::Integer(number)) if number < low || number > high => {
                return Err(self
                    .refuse(node, &format!("{number} is out of range"))
                    .nearest(Some(number.clamp(low, high).to_string())));
            }
            (Form::Quantity(quantity), Value::Text(text)) => {
                quantity.check(text).map_err(|fault| {
                    self.refuse(node, &format!("\"{text}\" {}", fault.problem))
                        .nearest(fault.nearest.map(|nearest| format!("\"{nearest}\"")))
                })?;
            }
            (Form::Word(words), Value::Text(text)) if !words.contains(&text.as_str()) => {
                // In the problem: an alternative form replaces what is expected.
                let now = renamed(text, words).map(|new| format!(": its name is now \"{new}\""));
                let problem = format!("unknown word \"{text}\"{}", now.unwrap_or_default());
                let nearest = nearest(text, words.iter().copied());
                return Err(self
                    .refuse(node, &problem)
                    .nearest(nearest.map(|word| format!("\"{word}\""))));
            }
            (Form::Table(grammar), _) => grammar.check(node, extent, language)?,
            (Form::Tables(grammar), Value::List(nodes)) => {
                if nodes.is_empty() {
                    return Err(self.refuse(node, "empty"));
                }
                for node in nodes {
                    grammar.check(node, extent, language)?;
                }
            }
            (Form::List(form), Value::List(nodes)) => {
                nodes.iter().try_for_each(|node| form.check(node, extent, language))?;
            }
            (Form::Either(forms), _) => return check_either(self, forms, node, extent, language),
            (Form::Transports, Value::Table(table)) => {
                check_transports(node, table, extent, language)?;
            }
            (Form::Transport, Value::Text(text)) => {
                let problem = format!("no transport is named \"{text}\"");
                known_transport(text, &node.place, &problem, language).map_err(|error| {
                    let nearest = error.nearest.as_ref().map(|name| format!("\"{name}\""));
                    error.nearest(nearest)
                })?;
            }
            (Form::Range, Value::Text(text)) if range(text).is_none() => {
                return Err(self.refuse(node, &format!("\"{text}\" is no range")));
            }
            _ => {}
        }
        Ok(())
    }

    fn refuse(&self, node: &Node, problem: &str) -> ScenarioError {
        ScenarioError::new(&node.place, problem, self.expected())
    }
}

/// Refuses tables of unknown transports.
fn check_transports(
    node: &Node,
    table: &Table,
    extent: Extent,
    language: &Language,
) -> Result<(), ScenarioError> {
    for entry in &table.entries {
        let problem = format!("unknown key `{}`", entry.key);
        known_transport(&entry.key, &entry.key_place, &problem, language)?;
        let known = language.transports.iter().filter(|key| key.name == entry.key);
        for key in known {
            key.form.check(&entry.node, extent, language)?;
        }
    }
    if extent == Extent::Whole && table.entries.is_empty() {
        return Err(ScenarioError::new(
            &node.place,
            "no transport is given",
            format!("one of {}", language.names().join(", ")),
        ));
    }
    Ok(())
}

fn known_transport(
    name: &str,
    place: &Place,
    problem: &str,
    language: &Language,
) -> Result<(), ScenarioError> {
    let names = language.names();
    if names.contains(&name) {
        return Ok(());
    }
    let nearest = nearest(name, names.iter().copied());
    let expected = format!("one of {}", names.join(", "));
    Err(ScenarioError::new(place, problem, expected).nearest(nearest))
}

/// Accepts a node that one of the forms accepts. Otherwise returns the last error among forms of its type, with all
/// valid forms as expected.
fn check_either(
    form: &Form,
    forms: &[Form],
    node: &Node,
    extent: Extent,
    language: &Language,
) -> Result<(), ScenarioError> {
    let mut complaint = None;
    for candidate in forms.iter().filter(|candidate| candidate.takes(&node.value)) {
        match candidate.check(node, extent, language) {
            Ok(()) => return Ok(()),
            Err(error) => complaint = Some(error),
        }
    }
    let mut error = complaint.unwrap_or_else(|| form.refuse(node, "does not belong here"));
    // A mistake inside a table or list has its own expectation.
    if error.place == node.place && node.table().is_none() {
        error.expected = form.expected();
    }
    Err(error)
}

/// Returns the ends of the inclusive range "1..5".
pub(crate) fn range(text: &str) -> Option<(u64, u64)> {
    let (first, last) = text.split_once("..")?;
    let first = first.trim().parse().ok()?;
    let last = last.trim().parse().ok()?;
    // i64: these numbers appear beside TOML integers.
    (first <= last && last <= i64::MAX as u64).then_some((first, last))
}
