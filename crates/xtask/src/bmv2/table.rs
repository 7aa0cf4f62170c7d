//! Match-action tables, and their contents at run time.

use std::collections::BTreeMap;

use super::names::FieldRef;
use super::packet::{Packet, mask};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Match {
    Exact,
    LongestPrefix,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Table(usize),
    Conditional(usize),
}

#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) name: String,
    pub(super) key: Vec<(FieldRef, Match)>,
    pub(super) actions: Vec<(String, usize)>,
    /// Next nodes after a hit and a miss, if the program distinguishes these.
    pub(super) hit: Option<Option<Next>>,
    pub(super) miss: Option<Option<Next>>,
    /// Next node after each action otherwise.
    pub(super) next: BTreeMap<usize, Option<Next>>,
    pub(super) default: Call,
    pub(super) default_is_const: bool,
    pub(super) capacity: usize,
}

pub(super) type Call = (usize, Vec<u128>);

/// A part of a key: value, and length of the prefix that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeyPart {
    pub(super) value: u128,
    pub(super) prefix: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: Vec<KeyPart>,
    pub(super) call: Call,
}

#[derive(Clone, Debug)]
pub(super) struct Contents {
    pub(super) entries: Vec<Entry>,
    pub(super) default: Call,
}

impl KeyPart {
    fn matches(&self, field: u128, bits: u32) -> bool {
        // No shift can express that a prefix of 0 bits matches everything.
        let counted = mask(bits) & !(mask(bits).checked_shr(self.prefix).unwrap_or(0));
        field & counted == self.value & counted
    }
}

impl Table {
    pub(super) fn empty(&self) -> Contents {
        Contents { entries: Vec::new(), default: self.default.clone() }
    }

    /// Returns the action for a packet, and the next node.
    pub(super) fn look_up<'c>(
        &self,
        contents: &'c Contents,
        packet: &Packet,
    ) -> (&'c Call, Option<Next>) {
        let matches = |entry: &&Entry| {
            let mut parts = entry.key.iter().zip(&self.key);
            parts.all(|(part, (field, _))| part.matches(packet.read(*field), field.bits))
        };
        // A key has at most one prefix: the sum is its length, and a constant.
        let prefix = |entry: &&Entry| entry.key.iter().map(|part| part.prefix).sum::<u32>();
        let hit = contents.entries.iter().filter(matches).max_by_key(prefix);
        let call = hit.map_or(&contents.default, |entry| &entry.call);
        let next = match (hit, self.hit, self.miss) {
            (_, None, None) => self.next.get(&call.0).copied().flatten(),
            (Some(_), next, _) | (None, _, next) => next.flatten(),
        };
        (call, next)
    }

    /// Adds an entry. Refuses a known key, and an entry beyond the capacity.
    pub(super) fn add(&self, contents: &mut Contents, entry: Entry) -> Result<(), String> {
        if contents.entries.iter().any(|known| known.key == entry.key) {
            return Err(format!("table {} has this key already", self.name));
        }
        if contents.entries.len() == self.capacity {
            return Err(format!("table {} is full: {} entries", self.name, self.capacity));
        }
        contents.entries.push(entry);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: u128, prefix: u32, field: u128, bits: u32, expected: bool) {
        assert_eq!(KeyPart { value, prefix }.matches(field, bits), expected);
    }

    #[test]
    fn prefixes_of_all_lengths() {
        check(0x0a00_0100, 24, 0x0a00_01ff, 32, true);
        check(0x0a00_0100, 24, 0x0a00_0200, 32, false);
        check(0, 0, 0xffff_ffff, 32, true);
        check(7, 32, 7, 32, true);
        check(7, 32, 6, 32, false);
        check(0, 0, u128::MAX, 128, true);
        check(u128::MAX, 128, u128::MAX, 128, true);
        check(u128::MAX, 128, u128::MAX - 1, 128, false);
        check(1 << 127, 1, u128::MAX, 128, true);
    }
}
