//! What a transport reads: its own keys, which the grammar has accepted, and what stands around them.

use trimline_packet::{BitRate, ByteCount, TimeDelta};

use crate::keys::quantity::{self, Quantity};
use crate::keys::read;
use crate::keys::tree::Node;
use crate::scenario::{Place, ScenarioError};
use crate::topology::Clos;

/// The keys of one transport's table: `transport.NAME` of a scenario.
#[derive(Clone, Copy, Debug)]
pub struct Keys<'a> {
    /// For mistakes that are at no key.
    root: Option<&'a Node>,
    table: Option<&'a Node>,
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

impl<'a> Keys<'a> {
    pub(crate) fn new(root: &'a Node, table: Option<&'a Node>) -> Keys<'a> {
        Keys { root: Some(root), table }
    }

    /// Those of a scenario that says nothing.
    pub(crate) const fn none() -> Keys<'static> {
        Keys { root: None, table: None }
    }

    /// What stands behind a key.
    pub(crate) fn node(&self, key: &str) -> Option<&'a Node> {
        self.table?.child(key)
    }

    /// Whether the key is given.
    pub fn has(&self, key: &str) -> bool {
        self.node(key).is_some()
    }

    /// A Boolean.
    pub fn flag(&self, key: &str, default: bool) -> bool {
        self.node(key).and_then(Node::boolean).unwrap_or(default)
    }

    /// An integer, which the grammar keeps within bounds.
    pub fn integer(&self, key: &str, default: u32) -> u32 {
        let number = self.node(key).and_then(Node::integer);
        number.and_then(|number| u32::try_from(number).ok()).unwrap_or(default)
    }

    /// A word.
    pub fn word(&self, key: &str) -> Option<&'a str> {
        self.node(key).and_then(Node::text)
    }

    /// A time.
    ///
    /// # Errors
    /// One that no unsigned 64 bits of picoseconds hold.
    pub fn duration(&self, key: &str, default: TimeDelta) -> Result<TimeDelta, ScenarioError> {
        self.node(key).map_or(Ok(default), read::duration_of)
    }

    /// A time above zero, of a timer.
    ///
    /// # Errors
    /// As [`Keys::duration`], and no time at all.
    pub fn timer(&self, key: &str, default: TimeDelta) -> Result<TimeDelta, ScenarioError> {
        match self.duration(key, default)? {
            TimeDelta::ZERO => Err(self.refuse(
                key,
                "a timer of no length would expire for ever",
                "a time above zero",
            )),
            time => Ok(time),
        }
    }

    /// Bits per second.
    ///
    /// # Errors
    /// A rate that 64 bits do not hold.
    pub fn rate(&self, key: &str, default: BitRate) -> Result<BitRate, ScenarioError> {
        let rate = |node| read::read(node, quantity::rate, Quantity::Rate);
        self.node(key).map_or(Ok(default), rate)
    }

    /// Bytes.
    ///
    /// # Errors
    /// A number that 64 bits do not hold.
    pub fn bytes(&self, key: &str, default: ByteCount) -> Result<ByteCount, ScenarioError> {
        let bytes = |node| read::read(node, quantity::bytes, Quantity::Bytes);
        self.node(key).map_or(Ok(default), bytes)
    }

    /// The key `payload`: that of a full packet.
    ///
    /// # Errors
    /// None, or one that with its headers does not fit 16 bits.
    pub fn payload(&self, default: u16) -> Result<u16, ScenarioError> {
        let payload = self.table.map_or(Ok(None), read::payload)?;
        Ok(payload.unwrap_or(default))
    }

    /// The key `marked`: packets that bear the mark of unscheduled data, of so many that go unasked.
    ///
    /// # Errors
    /// More than go unasked.
    pub fn marked(&self, unasked: u32) -> Result<u32, ScenarioError> {
        let marked = self.integer("marked", unasked);
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
