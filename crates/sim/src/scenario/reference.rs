//! The grammar as a document: every key with its value, default, meaning, source and example.

use std::fmt::Write;

use trimline_packet::BitRate;
use trimline_switch::profiles::{self, Sizes};

use super::grammar::{SCENARIO, SCHEME};
use super::switch::ECN_MARK;
use crate::keys::form::{DefaultValue, Form, Grammar, Key, Language};
use crate::keys::quantity::Quantity;
use crate::transports::Transports;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    /// Form of the value, with its units.
    pub(crate) value: String,
    /// Value without the key.
    pub(crate) default: String,
    pub(crate) meaning: String,
    /// Source of the rule or the default.
    pub(crate) source: String,
    /// An example as in a file; empty for tables.
    pub(crate) example: String,
}

/// Returns every key of a scenario, for a program that knows these transports, as Markdown with a section for each
/// table.
pub fn reference(transports: &Transports) -> String {
    let language = &transports.language();
    let mut text = String::new();
    let first = Section { path: String::new(), is_list: false, grammar: &SCENARIO };
    let mut sections = vec![first];
    while !sections.is_empty() {
        let next = sections.remove(0);
        next.write(&mut text, language);
        let of = |key: &Key| tables(&join(&next.path, key.name), &key.form, language);
        // Tables follow the table that they are in.
        let below: Vec<Section> = match std::ptr::eq(next.grammar, &SCHEME) {
            // The tables of a scheme are tables of the scenario.
            true => Vec::new(),
            false => next.grammar.keys.iter().flat_map(of).collect(),
        };
        sections.splice(0..0, below);
    }
    text
}

/// Payload and wire size for which constants of profiles are shown (NDP paper).
const SIZES: (u16, u16) = (9000, 9064);
/// A bandwidth-delay product in packets, for profiles that follow the network: uet-htsim has 43 in its plans at 100 Gb/s.
const PRODUCT: u32 = 43;

/// Returns every switch profile with its constants, as Markdown.
pub fn profiles() -> String {
    let (payload_bytes, packet_bytes) = SIZES;
    let mut text = format!(
        "\n## Switch profiles\n\n\
         The constants of each `switch.profile`, for packets of {payload_bytes} B of payload, {packet_bytes} B on the\n\
         wire. `spec/deviations.toml` says where each comes from.\n"
    );
    for profile in &profiles::ALL {
        let packets = profile.packets.unwrap_or(PRODUCT);
        let (mark, line) = (ECN_MARK, BitRate::from_gbps(10));
        let sizes = Sizes { packets, payload_bytes, packet_bytes, mark, line };
        let about = profile.about.trim_end_matches('.');
        let _ = write!(text, "\n### `{}`\n\n{about}.\n\n", profile.name);
        let model = (profile.build)(sizes).build();
        for words in model.map(|model| model.describe()).unwrap_or_default() {
            let _ = writeln!(text, "- {words}");
        }
    }
    text
}

struct Section {
    path: String,
    is_list: bool,
    grammar: &'static Grammar,
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

impl Section {
    fn write(&self, text: &mut String, language: &Language) {
        let Section { path, is_list, grammar } = self;
        let title = match (path.is_empty(), is_list) {
            (true, _) => "A scenario".to_owned(),
            (false, true) => format!("`[[{path}]]`"),
            (false, false) => format!("`[{path}]`"),
        };
        let one = match grammar.alternatives {
            [] => String::new(),
            names => format!(" Exactly one of `{}`.", names.join("`, `")),
        };
        let about = grammar.about.trim_end_matches('.');
        let _ = write!(text, "\n### {title}\n\n{about}.{one}\n");
        if !grammar.keys.is_empty() {
            text.push_str("\n| key | value | default | meaning | source | example |\n|---|---|---|---|---|---|\n");
        }
        for key in grammar.keys {
            let Entry { name, value, default, meaning, source, example } =
                entry(key, grammar, language);
            let name = if name.is_empty() { "..." } else { name };
            let example = if example.is_empty() { example } else { format!("`{example}`") };
            let _ = writeln!(
                text,
                "| `{name}` | {value} | {default} | {meaning} | {source} | {example} |"
            );
        }
    }
}

fn tables(path: &str, form: &Form, language: &Language) -> Vec<Section> {
    let section = |grammar, is_list| vec![Section { path: path.to_owned(), is_list, grammar }];
    match form {
        Form::Table(grammar) => section(grammar, false),
        Form::Tables(grammar) => section(grammar, true),
        Form::Either(forms) => forms.iter().flat_map(|form| tables(path, form, language)).collect(),
        Form::Transports => {
            let of = |key: &Key| tables(&join(path, key.name), &key.form, language);
            language.transports.iter().flat_map(of).collect()
        }
        _ => Vec::new(),
    }
}

pub(crate) fn entry(key: &Key, table: &Grammar, language: &Language) -> Entry {
    let is_table =
        matches!(key.form, Form::Table(_) | Form::Tables(_) | Form::Overrides | Form::Transports);
    let default = match key.default {
        DefaultValue::Required => "required",
        DefaultValue::Fixed(default) | DefaultValue::Computed(default) => default,
        DefaultValue::Absent if table.alternatives.contains(&key.name) => "one of these",
        DefaultValue::Absent => "",
    };
    let source = match key.source {
        "" if !is_table => "chosen",
        source => source,
    };
    let (default, source, meaning) = (default.to_owned(), source.to_owned(), key.about.to_owned());
    let of_name = match key.name {
        "file" => Some("\"flows.txt\"".to_owned()),
        "description" => Some("\"Thirty hosts answer one\"".to_owned()),
        _ => None,
    };
    let example = of_name
        .or_else(|| example(&key.form, language))
        .map_or(String::new(), |value| format!("{} = {value}", key.name));
    Entry { name: key.name, value: value(&key.form, language), default, meaning, source, example }
}

fn value(form: &Form, language: &Language) -> String {
    match form {
        Form::Text => "text".to_owned(),
        Form::Name => "name: letters, digits, `-`, `_`, `.`".to_owned(),
        Form::Integer(low, i64::MAX) => format!("integer from {low}"),
        Form::Integer(low, high) => format!("integer, {low} to {high}"),
        Form::Boolean => "true or false".to_owned(),
        Form::Quantity(quantity) => of_quantity(*quantity).0.to_owned(),
        Form::Word(words) => format!("\"{}\"", words.join("\", \"")),
        Form::Table(_) => "table".to_owned(),
        Form::Tables(_) => "tables".to_owned(),
        Form::List(inner) => format!("list, each: {}", value(inner, language)),
        Form::Either(forms) => {
            let all: Vec<String> = forms.iter().map(|form| value(form, language)).collect();
            all.join("; or ")
        }
        Form::Range => "range, both ends included".to_owned(),
        Form::Sweep => "keys with lists or ranges".to_owned(),
        Form::Overrides => "keys of the scenario".to_owned(),
        Form::Transports => "tables".to_owned(),
        Form::Transport => format!("\"{}\"", language.names().join("\", \"")),
    }
}

pub(crate) fn example(form: &Form, language: &Language) -> Option<String> {
    Some(match form {
        Form::Text => "\"tor 0 down 1\"".to_owned(),
        Form::Name => "\"a\"".to_owned(),
        Form::Integer(low, _) => low.max(&1).to_string(),
        Form::Boolean => "true".to_owned(),
        Form::Quantity(quantity) => format!("\"{}\"", of_quantity(*quantity).1),
        Form::Word(words) => format!("\"{}\"", words.first()?),
        Form::List(inner) => format!("[{}]", example(inner, language)?),
        Form::Either(forms) => forms.iter().find_map(|form| example(form, language))?,
        Form::Range => "\"1..5\"".to_owned(),
        Form::Transport => format!("\"{}\"", language.names().first()?),
        Form::Table(_) | Form::Tables(_) | Form::Sweep | Form::Overrides | Form::Transports => {
            return None;
        }
    })
}

fn of_quantity(quantity: Quantity) -> (&'static str, &'static str) {
    match quantity {
        Quantity::Rate => ("rate: bps, Kbps, Mbps, Gbps, Tbps, also as b/s", "10Gbps"),
        Quantity::Duration => ("time: ps, ns, us, ms, s", "20us"),
        Quantity::Bytes => ("bytes: B, KB, MB, GB of 1000; KiB, MiB, GiB of 1024", "90KB"),
        Quantity::Queue => ("packets: pkt; or bytes: B, KB, MB, GB, KiB, MiB, GiB", "8pkt"),
        Quantity::Ratio => ("ratio N:1", "10:1"),
        Quantity::Share => ("share: %, ppm, ppb", "0.1%"),
        Quantity::Factor => ("factor from 1/65536 to 65535", "1/4"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every(grammar: &'static Grammar, language: &Language, seen: &mut Vec<Entry>) {
        for key in grammar.keys {
            seen.push(entry(key, grammar, language));
            for inner in tables("", &key.form, language) {
                every(inner.grammar, language, seen);
            }
            if let Form::Quantity(quantity) = key.form {
                let text = of_quantity(quantity).1;
                assert!(quantity.check(text).is_ok(), "{}: {text}", key.name);
            }
        }
    }

    #[test]
    fn every_key_has_a_default_text_and_an_example() {
        let language = Transports::built_in().language();
        let mut seen = Vec::new();
        every(&SCENARIO, &language, &mut seen);
        assert!(seen.len() > 150, "{}", seen.len());
        let silent: Vec<&str> = (seen.iter())
            .filter(|entry| entry.default.is_empty() && !entry.example.is_empty())
            .map(|entry| entry.name)
            .collect();
        assert_eq!(silent, [""; 0], "keys that say neither `required` nor a default");
        for entry in &seen {
            assert!(
                !entry.meaning.contains('|') && !entry.meaning.contains("Default"),
                "{entry:?}"
            );
            assert!(
                entry.example.is_empty() || toml::de::DeTable::parse(&entry.example).is_ok(),
                "{entry:?}"
            );
        }
    }
}
