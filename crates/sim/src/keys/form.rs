//! Keys of a scenario file and the forms of their values. The keys themselves are elsewhere.

use super::quantity::Quantity;

/// A table of a scenario file.
#[derive(Debug)]
pub struct Grammar {
    /// Description of the table, for the JSON Schema.
    pub about: &'static str,
    /// Keys of the table, in the order of messages and of the schema.
    pub keys: &'static [Key],
    /// Alternative keys: exactly one of these is given.
    pub alternatives: &'static [&'static str],
}

/// A key of a table, with its form and its default.
#[derive(Debug)]
pub struct Key {
    /// The key, as in the file.
    pub name: &'static str,
    /// Form of its value.
    pub form: Form,
    /// Value if the key is not given.
    pub default: DefaultValue,
    /// Meaning of the key, in one or more sentences.
    pub about: &'static str,
    /// Paper or standard of the rule or the default; empty if it was chosen.
    pub source: &'static str,
    /// Values that suites draw for the key, as in a file, without quotation marks.
    pub samples: &'static [&'static str],
    /// True if suites always give a sample, because the default does not suit them.
    pub is_always_drawn: bool,
}

/// The value of a key that is not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultValue {
    /// No default: a table without the key is refused.
    Required,
    /// No value: the key adds something, or is an alternative.
    Absent,
    /// A fixed value, as in a file, without quotation marks.
    Fixed(&'static str),
    /// A value that follows from other keys, described by the text.
    Computed(&'static str),
}

impl Key {
    /// Sets the paper or standard of the rule or the default.
    pub const fn with_source(mut self, source: &'static str) -> Key {
        self.source = source;
        self
    }

    /// Sets the values that suites draw for the key.
    pub const fn with_samples(mut self, samples: &'static [&'static str]) -> Key {
        self.samples = samples;
        self
    }

    /// Sets the values that suites draw for the key, and makes suites always give it.
    pub const fn with_samples_only(mut self, samples: &'static [&'static str]) -> Key {
        self.is_always_drawn = true;
        self.with_samples(samples)
    }

    /// Returns a declared default or sample as a file has it: with quotation marks if it is a string.
    pub(crate) fn written(&self, value: &str) -> String {
        let is_bare = match &self.form {
            Form::Integer(..)
            | Form::Boolean
            | Form::Table(_)
            | Form::Tables(_)
            | Form::List(_) => true,
            Form::Either(_) => {
                value.starts_with(['{', '['])
                    || value.parse::<bool>().is_ok()
                    || value.parse::<i64>().is_ok()
            }
            Form::Text
            | Form::Name
            | Form::Quantity(_)
            | Form::Word(_)
            | Form::Range
            | Form::Sweep
            | Form::Overrides
            | Form::Transports
            | Form::Transport => false,
        };
        if is_bare { value.to_owned() } else { format!("\"{value}\"") }
    }

    /// Returns the samples as a file has them.
    pub(crate) fn written_samples(&self) -> impl Iterator<Item = String> + '_ {
        self.samples.iter().map(|sample| self.written(sample))
    }

    pub(crate) fn is_required(&self) -> bool {
        self.default == DefaultValue::Required
    }

    /// Returns the default if it is fixed.
    pub(crate) fn fixed(&self) -> Option<&'static str> {
        match self.default {
            DefaultValue::Fixed(value) => Some(value),
            DefaultValue::Required | DefaultValue::Absent | DefaultValue::Computed(_) => None,
        }
    }

    pub(crate) fn description(&self) -> String {
        match self.default {
            DefaultValue::Required | DefaultValue::Absent => self.about.to_owned(),
            DefaultValue::Fixed(default) | DefaultValue::Computed(default) => {
                format!("{} Default: {default}.", self.about)
            }
        }
    }
}

/// The tables that may stand under `transport`.
#[derive(Debug)]
pub(crate) struct Language {
    pub(crate) transports: Vec<Key>,
}

impl Language {
    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.transports.iter().map(|key| key.name).collect()
    }
}

/// Form of a key's value.
#[derive(Debug)]
pub enum Form {
    /// Any string.
    Text,
    /// A string that can be part of a file name.
    Name,
    /// An integer within inclusive bounds.
    Integer(i64, i64),
    /// A boolean.
    Boolean,
    /// A number with its unit.
    Quantity(Quantity),
    /// A string from this list.
    Word(&'static [&'static str]),
    /// A table with the keys of a grammar.
    Table(&'static Grammar),
    /// An array of at least one table.
    Tables(&'static Grammar),
    /// An array of values of one form.
    List(&'static Form),
    /// One of several forms, by the type of the value.
    Either(&'static [Form]),
    /// A range "1..5" that includes both ends.
    Range,
    /// Keys of the scenario, dotted or nested, each with its values.
    Sweep,
    /// Keys of the scenario that a series overrides.
    Overrides,
    /// A table of tables: one or more transports, each under its name.
    Transports,
    /// The name of a transport.
    Transport,
}

/// Limit of host numbers and of the number of hosts in a scenario.
pub(crate) const MAX_HOSTS: i64 = 1 << 20;

const fn key(name: &'static str, form: Form, default: DefaultValue, about: &'static str) -> Key {
    Key { name, form, default, about, source: "", samples: &[], is_always_drawn: false }
}

/// A key that its table must have.
pub const fn required(name: &'static str, form: Form, about: &'static str) -> Key {
    key(name, form, DefaultValue::Required, about)
}

/// A key without a default: it adds something, or is an alternative.
pub const fn optional(name: &'static str, form: Form, about: &'static str) -> Key {
    key(name, form, DefaultValue::Absent, about)
}

/// A key with a fixed default, as in a file, without quotation marks.
pub const fn fixed(
    name: &'static str,
    form: Form,
    default: &'static str,
    about: &'static str,
) -> Key {
    key(name, form, DefaultValue::Fixed(default), about)
}

/// A key whose default follows from other keys, described by `default`.
pub const fn computed(
    name: &'static str,
    form: Form,
    default: &'static str,
    about: &'static str,
) -> Key {
    key(name, form, DefaultValue::Computed(default), about)
}

/// Selects the switches of an entry.
pub(crate) const LAYER: Key =
    computed("layer", Form::Word(&["tor", "aggregation", "spine", "core"]), "all", "The switches.");

/// Selects the ports of these switches.
pub(crate) const DIRECTION: Key = computed(
    "direction",
    Form::Word(&["up", "down"]),
    "both",
    "The ports that lead away from hosts, or towards them.",
);

/// A rate in bits per second.
pub const RATE: Form = Form::Quantity(Quantity::Rate);
/// A time.
pub const DURATION: Form = Form::Quantity(Quantity::Duration);
/// A size in bytes.
pub const BYTES: Form = Form::Quantity(Quantity::Bytes);
pub(crate) const QUEUE: Form = Form::Quantity(Quantity::Queue);
pub(crate) const SHARE: Form = Form::Quantity(Quantity::Share);
pub(crate) const HOST: Form = Form::Integer(0, MAX_HOSTS - 1);
