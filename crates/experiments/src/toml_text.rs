//! Removes keys from a scenario's text, and keeps the order of the others: the order of a sweep decides the names of
//! runs.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Removes top-level `keys` and their comments. Returns a text without these keys, or invalid TOML, unchanged.
pub(crate) fn without(text: &str, keys: &[&str]) -> String {
    let has = |read: &DeTable<'_>| keys.iter().any(|key| read.contains_key(*key));
    if !DeTable::parse(text).is_ok_and(|read| has(read.get_ref())) {
        return text.to_owned();
    }
    let (top, tables) = parts(text, keys);
    top + &tables
}

/// Removes top-level `keys`, and splits the text in two: keys, then the tables of lists.
pub(crate) fn parts(text: &str, keys: &[&str]) -> (String, String) {
    let (mut top, mut tables) = (String::new(), String::new());
    let Ok(read) = DeTable::parse(text) else { return (top, tables) };
    for (key, value) in in_order(read.get_ref()).into_iter().filter(|(key, _)| !keys.contains(key))
    {
        match tables_of(value.get_ref()) {
            Some(all) => all.for_each(|table| tables += &one_of(text, key, table)),
            None => top += &line(text, key, value),
        }
    }
    (top, tables)
}

/// Entries in the order of the file.
fn in_order<'a>(table: &'a DeTable<'_>) -> Vec<(&'a str, &'a Spanned<DeValue<'a>>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries.into_iter().map(|(key, value)| (&**key.get_ref(), value)).collect()
}

/// The tables of a list, if it has no other values.
fn tables_of<'a>(value: &'a DeValue<'_>) -> Option<impl Iterator<Item = &'a DeTable<'a>>> {
    let DeValue::Array(values) = value else { return None };
    let table = |value: &'a Spanned<DeValue<'_>>| match value.get_ref() {
        DeValue::Table(table) => Some(table),
        _ => None,
    };
    let are_tables = !values.is_empty() && values.iter().all(|value| table(value).is_some());
    are_tables.then(|| values.iter().filter_map(table))
}

/// One table of a list, under its head.
fn one_of(text: &str, key: &str, table: &DeTable<'_>) -> String {
    let lines = in_order(table).into_iter().map(|(key, value)| line(text, key, value));
    format!("\n[[{}]]\n{}", quoted(key), lines.collect::<String>())
}

fn line(text: &str, key: &str, value: &Spanned<DeValue<'_>>) -> String {
    format!("{} = {}\n", quoted(key), inline(text, value.get_ref(), value.span()))
}

/// A value in one line. Scalars stay as written.
fn inline(text: &str, value: &DeValue<'_>, span: Range<usize>) -> String {
    match value {
        DeValue::Array(values) => {
            let each = values.iter().map(|value| inline(text, value.get_ref(), value.span()));
            format!("[{}]", each.collect::<Vec<_>>().join(", "))
        }
        DeValue::Table(table) => {
            let entries = in_order(table).into_iter();
            let each = entries.map(|(key, value)| line(text, key, value).trim_end().to_owned());
            match each.collect::<Vec<_>>() {
                each if each.is_empty() => "{}".to_owned(),
                each => format!("{{ {} }}", each.join(", ")),
            }
        }
        DeValue::String(_)
        | DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_) => text.get(span).unwrap_or_default().to_owned(),
    }
}

/// A key, bare if possible.
fn quoted(key: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    if !key.is_empty() && key.chars().all(is_bare) {
        return key.to_owned();
    }
    // A JSON string is a TOML string, except for one character.
    serde_json::Value::from(key).to_string().replace('\u{7f}', "\\u007f")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removed_keys_leave_the_order_of_others() {
        let text = "# A comment.\nseries = [{ name = \"a\" }]\nsweep.\"z.y\" = [1, 2]\nsweep.b = [\"x\"]\n\
            z = '''two\nlines'''\n[[w]]\nname = \"one\"\n[w.deep]\nn = 0x1f\n[[w.all]]\nk = true\n[[w]]\n[t.\"a b\"]\nc = []\n";
        let left = "sweep = { \"z.y\" = [1, 2], b = [\"x\"] }\nz = '''two\nlines'''\nt = { \"a b\" = { c = [] } }\n\n\
            [[w]]\nname = \"one\"\ndeep = { n = 0x1f }\nall = [{ k = true }]\n\n[[w]]\n";
        assert_eq!(without(text, &["series", "other"]), left);
        assert_eq!(without(left, &["series"]), left, "as it is");
        let (mut before, after) = (text.parse::<toml::Table>().unwrap(), left.parse().unwrap());
        before.remove("series");
        assert_eq!(before, after);
        let list = "schemes = [\"a\"]\n".to_owned();
        let table = "\n[[scheme]]\nname = \"a\"\n".to_owned();
        let both = "schemes = [\"a\"]\nscheme = [{ name = \"a\" }]";
        assert_eq!(parts(both, &[]), (list, table));
        assert_eq!(without("= no TOML", &["series"]), "= no TOML");
        assert_eq!(without("series = []\n", &["series"]), "");
    }
}
