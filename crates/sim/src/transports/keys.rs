//! What a transport reads: its own keys, which the grammar has accepted, and what stands around them.

use std::sync::Arc;

use trimline_packet::{BitRate, ByteCount, TimeDelta};

use crate::keys::error::Source;
use crate::keys::form::{Grammar, Key};
use crate::keys::quantity::{self, Quantity};
use crate::keys::read;
use crate::keys::tree::{self, Node};
use crate::scenario::{Place, ScenarioError};
use crate::topology::Clos;

/// The keys of one transport's table: `transport.NAME` of a scenario.
#[derive(Clone, Copy, Debug)]
pub struct Keys<'a> {
    /// For mistakes that are at no key.
    root: Option<&'a Node>,
    table: Option<&'a Node>,
    grammar: &'static Grammar,
}

/// What else a scenario says that a transport may want to know.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// The switch profile.
    pub profile: &'a str,
    /// Shape, rates and delays.
    pub topology: &'a Clos,
    /// Rates come from `links.preset`.
    pub is_preset: bool,
    /// `output.latencies` is asked for.
    pub records_latencies: bool,
}

impl<'a> Setting<'a> {
    /// Returns that of a scenario which says nothing else.
    pub(super) fn plain(profile: &'a str, topology: &'a Clos) -> Setting<'a> {
        Setting { profile, topology, is_preset: false, records_latencies: false }
    }
}

/// Reads the lines of a transport's table, holds them to its grammar and resolves them.
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

    /// Those of a scenario that says nothing.
    pub(crate) const fn none(grammar: &'static Grammar) -> Keys<'static> {
        Keys { root: None, table: None, grammar }
    }

    /// The keys of the table that stands behind a key. They have their defaults where a boolean or nothing stands there.
    pub(crate) fn below(&self, key: &str, grammar: &'static Grammar) -> Keys<'a> {
        Keys { root: self.root, table: self.node(key), grammar }
    }

    /// What stands behind a key.
    pub(crate) fn node(&self, key: &str) -> Option<&'a Node> {
        self.table?.child(key)
    }

    /// Whether the key is given.
    pub fn has(&self, key: &str) -> bool {
        self.node(key).is_some()
    }

    /// The default that the grammar has for a key.
    fn default(&self, key: &str) -> &'static str {
        let declared = self.grammar.keys.iter().find(|declared| declared.name == key);
        declared.and_then(Key::fixed).unwrap_or_else(|| panic!("`{key}` has no fixed default"))
    }

    /// A Boolean, or its fixed default.
    ///
    /// # Panics
    /// The grammar has no fixed default for the key; so do the methods below that take none.
    pub fn flag(&self, key: &str) -> bool {
        self.node(key).and_then(Node::boolean).unwrap_or_else(|| self.default(key) == "true")
    }

    /// A Boolean, or a computed default.
    pub fn flag_or(&self, key: &str, default: bool) -> bool {
        self.node(key).and_then(Node::boolean).unwrap_or(default)
    }

    /// An integer, which the grammar keeps within bounds, or its fixed default.
    pub fn integer(&self, key: &str) -> u32 {
        let number = self.node(key).and_then(Node::integer);
        number
            .and_then(|number| u32::try_from(number).ok())
            .unwrap_or_else(|| self.default(key).parse().expect("an integer"))
    }

    /// An integer, which the grammar keeps within bounds, or a computed default.
    pub fn integer_or(&self, key: &str, default: u32) -> u32 {
        if self.has(key) { self.integer(key) } else { default }
    }

    /// A word, or its fixed default.
    pub fn word(&self, key: &str) -> &'a str {
        self.word_given(key).unwrap_or_else(|| self.default(key))
    }

    /// A word, if it is given.
    pub fn word_given(&self, key: &str) -> Option<&'a str> {
        self.node(key).and_then(Node::text)
    }

    /// A quantity, or its fixed default.
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

    /// A time, or its fixed default.
    ///
    /// # Errors
    /// One that no unsigned 64 bits of picoseconds hold.
    pub fn duration(&self, key: &str) -> Result<TimeDelta, ScenarioError> {
        self.quantity(key, quantity::duration, Quantity::Duration)
    }

    /// A time, or a computed default.
    ///
    /// # Errors
    /// As [`Keys::duration`].
    pub fn duration_or(&self, key: &str, default: TimeDelta) -> Result<TimeDelta, ScenarioError> {
        if self.has(key) { self.duration(key) } else { Ok(default) }
    }

    /// A time above zero, of a timer, or its fixed default.
    ///
    /// # Errors
    /// As [`Keys::duration`], and no time at all.
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

    /// A time above zero, of a timer, or a computed default.
    ///
    /// # Errors
    /// As [`Keys::timer`].
    pub fn timer_or(&self, key: &str, default: TimeDelta) -> Result<TimeDelta, ScenarioError> {
        if self.has(key) { self.timer(key) } else { Ok(default) }
    }

    /// Bits per second, or a computed default.
    ///
    /// # Errors
    /// A rate that 64 bits do not hold.
    pub fn rate_or(&self, key: &str, default: BitRate) -> Result<BitRate, ScenarioError> {
        if self.has(key) { self.quantity(key, quantity::rate, Quantity::Rate) } else { Ok(default) }
    }

    /// Bytes, or their fixed default.
    ///
    /// # Errors
    /// A number that 64 bits do not hold.
    pub fn bytes(&self, key: &str) -> Result<ByteCount, ScenarioError> {
        self.quantity(key, quantity::bytes, Quantity::Bytes)
    }

    /// Bytes, or a computed default.
    ///
    /// # Errors
    /// As [`Keys::bytes`].
    pub fn bytes_or(&self, key: &str, default: ByteCount) -> Result<ByteCount, ScenarioError> {
        if self.has(key) { self.bytes(key) } else { Ok(default) }
    }

    /// The key `payload`: that of a full packet.
    ///
    /// # Errors
    /// A payload of 0 B, or one that with its headers does not fit 16 bits.
    pub fn payload(&self) -> Result<u16, ScenarioError> {
        match self.table.map_or(Ok(None), read::payload)? {
            Some(payload) => Ok(payload),
            None => Ok(self.bytes("payload")?.get() as u16),
        }
    }

    /// The key `marked`: packets that bear the mark of unscheduled data, of so many that go unasked.
    ///
    /// # Errors
    /// More than go unasked.
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

    /// A mistake at a key: what is wrong, and the end of "expected ...".
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
