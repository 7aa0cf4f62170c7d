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
    /// Its value where it is not given.
    pub default: DefaultValue,
    /// Its meaning, in a sentence or more.
    pub about: &'static str,
    /// The paper or standard that the rule or the default comes from; empty where it was chosen.
    pub source: &'static str,
    /// Values that suites draw for the key, written as in a file, a string without its quotation marks.
    pub samples: &'static [&'static str],
    /// Whether suites always give the key a sample, because its default does not suit them.
    pub is_always_drawn: bool,
}

/// The value of a key that is not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultValue {
    /// A table without it is refused.
    Required,
    /// None: the key adds something, or is one of several alternatives.
    Absent,
    /// This value, written as in a file, a string without its quotation marks.
    Fixed(&'static str),
    /// A value that follows from others; these words say how.
    Computed(&'static str),
}

impl Key {
    /// The paper or standard that the rule or the default comes from.
    pub const fn with_source(mut self, source: &'static str) -> Key {
        self.source = source;
        self
    }

    /// Sets the values that suites draw for the key.
    pub const fn with_samples(mut self, samples: &'static [&'static str]) -> Key {
        self.samples = samples;
        self
    }

    /// Sets the values that suites draw for the key, and lets them never leave it out.
    pub const fn with_samples_only(mut self, samples: &'static [&'static str]) -> Key {
        self.is_always_drawn = true;
        self.with_samples(samples)
    }

    /// The samples as a file has them, strings in quotation marks.
    pub(crate) fn written_samples(&self) -> impl Iterator<Item = String> + '_ {
        self.samples.iter().map(|&sample| {
            let is_bare = sample.starts_with(['{', '['])
                || sample.parse::<bool>().is_ok()
                || sample.parse::<i64>().is_ok();
            if is_bare { sample.to_owned() } else { format!("\"{sample}\"") }
        })
    }

    /// Whether a table without it is refused.
    pub(crate) fn is_required(&self) -> bool {
        self.default == DefaultValue::Required
    }

    /// The default, if it is a value that follows from nothing else.
    pub(crate) fn fixed(&self) -> Option<&'static str> {
        match self.default {
            DefaultValue::Fixed(value) => Some(value),
            DefaultValue::Required | DefaultValue::Absent | DefaultValue::Computed(_) => None,
        }
    }

    /// Its meaning and its default.
    pub(crate) fn description(&self) -> String {
        match self.default {
            DefaultValue::Required | DefaultValue::Absent => self.about.to_owned(),
            DefaultValue::Fixed(default) | DefaultValue::Computed(default) => {
                format!("{} Default: {default}.", self.about)
            }
        }
    }
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

const fn key(name: &'static str, form: Form, default: DefaultValue, about: &'static str) -> Key {
    Key { name, form, default, about, source: "", samples: &[], is_always_drawn: false }
}

/// A key that its table must have.
pub const fn required(name: &'static str, form: Form, about: &'static str) -> Key {
    key(name, form, DefaultValue::Required, about)
}

/// A key without a default: it adds something, or is one of several alternatives.
pub const fn optional(name: &'static str, form: Form, about: &'static str) -> Key {
    key(name, form, DefaultValue::Absent, about)
}

/// A key with a default, written as in a file, a string without its quotation marks.
pub const fn fixed(
    name: &'static str,
    form: Form,
    default: &'static str,
    about: &'static str,
) -> Key {
    key(name, form, DefaultValue::Fixed(default), about)
}

/// A key whose default follows from others; words say how.
pub const fn computed(
    name: &'static str,
    form: Form,
    default: &'static str,
    about: &'static str,
) -> Key {
    key(name, form, DefaultValue::Computed(default), about)
}

/// The switches that an entry is for.
pub(crate) const LAYER: Key =
    computed("layer", Form::Word(&["tor", "aggregation", "spine", "core"]), "all", "The switches.");

/// The ports of these switches that it is for.
pub(crate) const DIRECTION: Key = computed(
    "direction",
    Form::Word(&["up", "down"]),
    "both",
    "The ports that lead away from hosts, or towards them.",
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
