//! What a key of a scenario file is, and what may stand behind it. The keys themselves are elsewhere.

use super::quantity::Quantity;

/// A table of the file.
#[derive(Debug)]
pub(crate) struct Grammar {
    /// What the table describes, for the JSON Schema.
    pub(crate) about: &'static str,
    pub(crate) keys: &'static [Key],
    /// Keys of which exactly one is given.
    pub(crate) alternatives: &'static [&'static str],
}

/// A key of a table.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) form: Form,
    pub(crate) required: bool,
    pub(crate) about: &'static str,
}

/// What may stand behind a key.
#[derive(Debug)]
pub(crate) enum Form {
    /// Any text.
    Text,
    /// A text that can be part of a file name.
    Name,
    /// An integer within bounds, both included.
    Integer(i64, i64),
    Boolean,
    /// A number with its unit.
    Quantity(Quantity),
    /// One of these words.
    Word(&'static [&'static str]),
    Table(&'static Grammar),
    /// An array of tables: at least one.
    Tables(&'static Grammar),
    List(&'static Form),
    /// The first form that takes a value of the type that was written.
    Either(&'static [Form]),
    /// "1..5", both ends included.
    Range,
    /// Keys of the scenario, dotted or nested, each with its values.
    Sweep,
    /// The keys of the scenario again: what differs in this series.
    Overrides,
}

/// The largest host number, and number of hosts, of a scenario.
pub(crate) const MAX_HOSTS: i64 = 1 << 20;

pub(super) const fn required(name: &'static str, form: Form, about: &'static str) -> Key {
    Key { name, form, required: true, about }
}

pub(super) const fn optional(name: &'static str, form: Form, about: &'static str) -> Key {
    Key { name, form, required: false, about }
}

pub(super) const RATE: Form = Form::Quantity(Quantity::Rate);
pub(super) const DURATION: Form = Form::Quantity(Quantity::Duration);
pub(super) const BYTES: Form = Form::Quantity(Quantity::Bytes);
pub(super) const QUEUE: Form = Form::Quantity(Quantity::Queue);
pub(super) const SHARE: Form = Form::Quantity(Quantity::Share);
pub(super) const HOST: Form = Form::Integer(0, MAX_HOSTS - 1);
