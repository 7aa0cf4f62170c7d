//! Inputs of a transport: its own keys, checked against the grammar, and its setting.

use std::sync::Arc;

use trimline_packet::{BitRate, ByteCount, TimeDelta};
use trimline_transport::path_choice::PathChoice;

use crate::keys::error::Source;
use crate::keys::form::{Grammar, Key};
use crate::keys::quantity::{self, Quantity};
use crate::keys::read;
use crate::keys::tree::{self, Node};
use crate::scenario::{Place, ScenarioError};
use crate::topology::Clos;

/// The words of the key `path_choice`.
pub(super) const PATH_CHOICES: [&str; 6] =
    ["mixed", "bitmap", "reps", "oblivious", "random", "permutation"];

/// The keys of one transport's table, `transport.NAME`.
#[derive(Clone, Copy, Debug)]
pub struct Keys<'a> {
    /// Place of mistakes that are at no key.
    root: Option<&'a Node>,
    table: Option<&'a Node>,
    grammar: &'static Grammar,
}

/// Settings of a scenario outside the transport's table.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// The switch profile.
    pub profile: &'a str,
    /// Shape, rates and delays.
    pub topology: &'a Clos,
    /// True if rates come from `links.preset`.
    pub is_preset: bool,
    /// True if `output.latencies` is set.
    pub records_latencies: bool,
}

impl<'a> Setting<'a> {
    pub(super) fn plain(profile: &'a str, topology: &'a Clos) -> Setting<'a> {
        Setting { profile, topology, is_preset: false, records_latencies: false }
    }
}

/// Parses, checks and resolves the lines of a transport's table.
pub(super) fn resolved<T>(
    lines: &str,
    grammar: &'static Grammar,
    resolve: impl FnOnce(&Keys<'_>) -> Result<T, ScenarioError>,
) -> Result<T, ScenarioError> {
    let table = tree::parse(&Arc::new(Source::new("keys", lines)))?;
    grammar.check_keys(&table)?;
    resolve(&Keys::new(&table, Some(&table), grammar))
}

impl<'a> Keys<'a> {
    pub(crate) fn new(
        root: &'a Node,
        table: Option<&'a Node>,
        grammar: &'static Grammar,
    ) -> Keys<'a> {
        Keys { root: Some(root), table, grammar }
    }

    pub(crate) const fn none(grammar: &'static Grammar) -> Keys<'static> {
        Keys { root: None, table: None, grammar }
    }

    /// Returns the keys of the table under a key, or defaults if there is a boolean or no value.
    pub(crate) fn below(&self, key: &str, grammar: &'static Grammar) -> Keys<'a> {
        Keys { root: self.root, table: self.node(key), grammar }
    }

    pub(crate) fn node(&self, key: &str) -> Option<&'a Node> {
        self.table?.child(key)
    }

    /// Returns whether the key is given.
    pub fn has(&self, key: &str) -> bool {
        self.node(key).is_some()
    }

    fn default(&self, key: &str) -> &'static str {
        let declared = self.grammar.keys.iter().find(|declared| declared.name == key);
        declared.and_then(Key::fixed).unwrap_or_else(|| panic!("`{key}` has no fixed default"))
    }

    /// Returns a boolean, or its fixed default.
    ///
    /// # Panics
    /// Panics if the grammar has no fixed default for the key, as does every method here without a default argument.
    pub fn flag(&self, key: &str) -> bool {
        self.node(key).and_then(Node::boolean).unwrap_or_else(|| self.default(key) == "true")
    }

    /// Returns a boolean, or a computed default.
    pub fn flag_or(&self, key: &str, default: bool) -> bool {
        self.node(key).and_then(Node::boolean).unwrap_or(default)
    }

    /// Returns an integer, which the grammar keeps within bounds, or its fixed default.
    pub fn integer(&self, key: &str) -> u32 {
        let number = self.node(key).and_then(Node::integer);
        number
            .and_then(|number| u32::try_from(number).ok())
            .unwrap_or_else(|| self.default(key).parse().expect("an integer"))
    }

    /// Returns an integer, which the grammar keeps within bounds, or a computed default.
    pub fn integer_or(&self, key: &str, default: u32) -> u32 {
        if self.has(key) { self.integer(key) } else { default }
    }

    /// Returns a word, or its fixed default.
    pub fn word(&self, key: &str) -> &'a str {
        self.word_given(key).unwrap_or_else(|| self.default(key))
    }

    /// Returns the value of a key's word, or of its fixed default.
    ///
    /// # Panics
    /// Panics if a word of the key has no value.
    pub fn one_of<T>(&self, key: &str, values: impl IntoIterator<Item = (&'static str, T)>) -> T {
        let word = self.word(key);
        let found = values.into_iter().find(|(of, _)| *of == word);
        found.unwrap_or_else(|| panic!("`{key}`: no value of the word {word}")).1
    }

    /// Returns a word, if given.
    pub fn word_given(&self, key: &str) -> Option<&'a str> {
        self.node(key).and_then(Node::text)
    }

    fn quantity<T>(
        &self,
        key: &str,
        parse: fn(&str) -> Result<T, quantity::Fault>,
        quantity: Quantity,
    ) -> Result<T, ScenarioError> {
        match self.node(key) {
            Some(node) => read::read(node, parse, quantity),
            None => {
                let default = parse(self.default(key));
                Ok(default.unwrap_or_else(|fault| panic!("`{key}`: {}", fault.problem)))
            }
        }
    }

    /// Returns a time, or its fixed default.
    ///
    /// # Errors
    /// Refuses a time that does not fit in 64 bits of picoseconds.
    pub fn duration(&self, key: &str) -> Result<TimeDelta, ScenarioError> {
        self.quantity(key, quantity::duration, Quantity::Duration)
    }

    /// Returns a time, or a computed default.
    ///
    /// # Errors
    /// See [`Keys::duration`].
    pub fn duration_or(&self, key: &str, default: TimeDelta) -> Result<TimeDelta, ScenarioError> {
        if self.has(key) { self.duration(key) } else { Ok(default) }
    }

    /// Returns a timer's time, which is above zero, or its fixed default.
    ///
    /// # Errors
    /// Refuses zero; see also [`Keys::duration`].
    pub fn timer(&self, key: &str) -> Result<TimeDelta, ScenarioError> {
        match self.duration(key)? {
            TimeDelta::ZERO => Err(self.refuse(
                key,
                "a timer of no length would expire for ever",
                "a time above zero",
            )),
            time => Ok(time),
        }
    }

    /// Returns a timer's time, which is above zero, or a computed default.
    ///
    /// # Errors
    /// See [`Keys::timer`].
    pub fn timer_or(&self, key: &str, default: TimeDelta) -> Result<TimeDelta, ScenarioError> {
        if self.has(key) { self.timer(key) } else { Ok(default) }
    }

    /// Returns a rate in bits per second, or a computed default.
    ///
    /// # Errors
    /// Refuses a rate that does not fit in 64 bits.
    pub fn rate_or(&self, key: &str, default: BitRate) -> Result<BitRate, ScenarioError> {
        if self.has(key) { self.quantity(key, quantity::rate, Quantity::Rate) } else { Ok(default) }
    }

    /// Returns a size in bytes, or its fixed default.
    ///
    /// # Errors
    /// Refuses a size that does not fit in 64 bits.
    pub fn bytes(&self, key: &str) -> Result<ByteCount, ScenarioError> {
        self.quantity(key, quantity::bytes, Quantity::Bytes)
    }

    /// Returns a size in bytes, or a computed default.
    ///
    /// # Errors
    /// See [`Keys::bytes`].
    pub fn bytes_or(&self, key: &str, default: ByteCount) -> Result<ByteCount, ScenarioError> {
        if self.has(key) { self.bytes(key) } else { Ok(default) }
    }

    /// Returns a share in billionths, or its fixed default.
    ///
    /// # Errors
    /// Refuses a share above 100 %.
    pub fn share(&self, key: &str) -> Result<u64, ScenarioError> {
        self.quantity(key, quantity::share, Quantity::Share)
    }

    /// Returns the key `payload`, the payload of a full packet.
    ///
    /// # Errors
    /// Refuses a payload of 0 B, and one that with its headers does not fit in 16 bits.
    pub fn payload(&self) -> Result<u16, ScenarioError> {
        match self.table.map_or(Ok(None), read::payload)? {
            Some(payload) => Ok(payload),
            None => Ok(self.bytes("payload")?.get() as u16),
        }
    }

    /// Returns the key `path_choice`, one of [`PATH_CHOICES`]. REPS freezes for `freeze`.
    pub(super) fn path_choice(&self, freeze: TimeDelta) -> PathChoice {
        self.one_of(
            "path_choice",
            [
                ("mixed", PathChoice::Mixed),
                ("bitmap", PathChoice::Bitmap),
                ("reps", PathChoice::Reps { freeze }),
                ("oblivious", PathChoice::Oblivious),
                ("random", PathChoice::Random),
                ("permutation", PathChoice::Permutation),
            ],
        )
    }

    /// Returns the key `marked`, the number of `unasked` packets with the mark of unscheduled data.
    ///
    /// # Errors
    /// Refuses more than `unasked`.
    pub fn marked(&self, unasked: u32) -> Result<u32, ScenarioError> {
        let marked = self.integer_or("marked", unasked);
        if marked <= unasked {
            return Ok(marked);
        }
        Err(self.refuse(
            "marked",
            format!("{marked} marked packets where {unasked} go unasked"),
            format!("at most {unasked}, all that go unasked"),
        ))
    }

    /// Returns an error at a key. `expected` is the end of "expected ...".
    pub fn refuse(
        &self,
        key: &str,
        problem: impl Into<String>,
        expected: impl Into<String>,
    ) -> ScenarioError {
        let node = self.node(key).or(self.table).or(self.root);
        let place = node.map_or_else(Place::nowhere, |node| node.place.clone());
        ScenarioError::new(&place, problem, expected)
    }
}
