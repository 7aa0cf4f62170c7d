//! What a key of a scenario file is, and what may stand behind it. The keys themselves are elsewhere.

use super::quantity::Quantity;

/// A table of the file.
#[derive(Debug)]
pub struct Grammar {
    /// What the table describes, for the JSON Schema.
    pub about: &'static str,
    /// Its keys, in the order in which messages and the schema name them.
    pub keys: &'static [Key],
    /// Keys of which exactly one is given.
    pub alternatives: &'static [&'static str],
}

/// A key of a table.
#[derive(Debug)]
pub struct Key {
    /// The key, as the file writes it.
    pub name: &'static str,
    /// What may stand behind it.
    pub form: Form,
    /// Whether a table without it is refused.
    pub required: bool,
    /// A sentence for the JSON Schema: what it is, and what holds without it.
    pub about: &'static str,
}

/// The tables that may stand under `transport`: those of the transports that a program knows.
#[derive(Debug)]
pub(crate) struct Language {
    pub(crate) transports: Vec<Key>,
}

impl Language {
    /// Names of the transports.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.transports.iter().map(|key| key.name).collect()
    }
}

/// What may stand behind a key.
#[derive(Debug)]
pub enum Form {
    /// Any text.
    Text,
    /// A text that can be part of a file name.
    Name,
    /// An integer within bounds, both included.
    Integer(i64, i64),
    /// True or false.
    Boolean,
    /// A number with its unit.
    Quantity(Quantity),
    /// One of these words.
    Word(&'static [&'static str]),
    /// A table.
    Table(&'static Grammar),
    /// An array of tables: at least one.
    Tables(&'static Grammar),
    /// An array, each of this form.
    List(&'static Form),
    /// The first form that takes a value of the type that was written.
    Either(&'static [Form]),
    /// "1..5", both ends included.
    Range,
    /// Keys of the scenario, dotted or nested, each with its values.
    Sweep,
    /// The keys of the scenario again: what differs in this series.
    Overrides,
    /// A table of tables: one or more of the transports, each by its name.
    Transports,
    /// The name of a transport.
    Transport,
}

/// The largest host number, and number of hosts, of a scenario.
pub(crate) const MAX_HOSTS: i64 = 1 << 20;

/// A key that its table must have.
pub const fn required(name: &'static str, form: Form, about: &'static str) -> Key {
    Key { name, form, required: true, about }
}

/// A key that its table may have.
pub const fn optional(name: &'static str, form: Form, about: &'static str) -> Key {
    Key { name, form, required: false, about }
}

/// The switches that an entry is for.
pub(crate) const LAYER: Key = optional(
    "layer",
    Form::Word(&["tor", "aggregation", "spine", "core"]),
    "The switches. Default: all.",
);

/// The ports of these switches that it is for.
pub(crate) const DIRECTION: Key = optional(
    "direction",
    Form::Word(&["up", "down"]),
    "The ports that lead away from hosts, or towards them. Default: both.",
);

/// Bits per second.
pub const RATE: Form = Form::Quantity(Quantity::Rate);
/// A time.
pub const DURATION: Form = Form::Quantity(Quantity::Duration);
/// Bytes.
pub const BYTES: Form = Form::Quantity(Quantity::Bytes);
pub(crate) const QUEUE: Form = Form::Quantity(Quantity::Queue);
/// A part of all packets.
pub(crate) const SHARE: Form = Form::Quantity(Quantity::Share);
pub(crate) const HOST: Form = Form::Integer(0, MAX_HOSTS - 1);
