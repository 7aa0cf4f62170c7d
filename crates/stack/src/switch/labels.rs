//! Label-switched paths (NDP 3.1.1, RFC 3032): the static label table of a switch.
//!
//! A frame enters the process with its labels, and keeps them beside its bytes ([`super::frames`]). So ports trim, mark
//! and count what lies below the labels as without them. A switch looks up the top label, and swaps or pops it. Without
//! labels, which is also what is left after the last was popped, it forwards as its `forwarding` says. A header that
//! returns to its sender has no labels.

use std::collections::HashMap;

use serde::Deserialize;
use trimline_packet::wire::LabelStack;
use trimline_packet::wire::labels::{LABEL_BYTES, MAX_LABEL, MIN_LABEL};

use super::exit::Exit;
use super::ip_header::IpHeader;

/// A label of a switch.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabelConfig {
    /// The label: 16 to 1048575.
    pub label: u32,
    /// The next switch of its frames, or the interface of a host of this switch.
    pub to: String,
    /// The label that replaces it. Default: it is popped.
    pub swap: Option<u32>,
}

/// The exit of frames with a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hop {
    /// The port of the switch.
    pub(super) port: u16,
    /// The label that replaces it; `None` pops it.
    pub(super) swap: Option<u32>,
}

/// The label table of a switch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LabelTable(HashMap<u32, Hop>);

impl LabelConfig {
    pub(super) fn check(&self) -> Result<(), String> {
        for (key, label) in [("label", Some(self.label)), ("swap", self.swap)] {
            if let Some(label) = label.filter(|label| !(MIN_LABEL..=MAX_LABEL).contains(label)) {
                return Err(format!("{key} = {label}: expected {MIN_LABEL} to {MAX_LABEL}"));
            }
        }
        Ok(())
    }
}

impl LabelTable {
    /// Adds a label. Returns false if the table has it.
    pub(super) fn add(&mut self, label: u32, hop: Hop) -> bool {
        self.0.insert(label, hop).is_none()
    }

    /// Returns the exit of a frame, and what was popped of its size in bytes. `None` without labels.
    pub(super) fn exit(&self, labels: &mut LabelStack, bytes: &mut [u8]) -> Option<(Exit, u16)> {
        let (label, ttl) = labels.top()?;
        let Some(&Hop { port, swap }) = self.0.get(&label) else {
            return Some((Exit::UnknownLabel, 0));
        };
        // RFC 3032, 2.4.1: a frame whose TTL ends is not forwarded.
        if ttl <= 1 {
            return Some((Exit::Nowhere, 0));
        }
        let ttl = ttl - 1;
        if let Some(label) = swap {
            labels.swap(label, ttl);
            return Some((Exit::By(port), 0));
        }
        labels.pop(ttl);
        // RFC 3032, 2.4.3: the IP packet goes on with the TTL of its last label.
        if labels.is_empty()
            && let Some(network) = IpHeader::of(bytes)
        {
            network.set_time_to_live(bytes, ttl);
        }
        Some((Exit::By(port), LABEL_BYTES as u16))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> LabelTable {
        let mut table = LabelTable::default();
        assert!(table.add(16, Hop { port: 3, swap: None }));
        assert!(table.add(17, Hop { port: 4, swap: Some(20) }));
        assert!(!table.add(17, Hop { port: 5, swap: None }), "twice");
        table
    }

    #[test]
    fn a_label_is_swapped_or_popped_and_its_ttl_falls() {
        let mut table = table();
        table.add(17, Hop { port: 4, swap: Some(20) });
        let mut labels = LabelStack::of(&[17, 16], 9).unwrap();
        assert_eq!(table.exit(&mut labels, &mut []), Some((Exit::By(4), 0)));
        assert_eq!(labels.top(), Some((20, 8)));
        let mut labels = LabelStack::of(&[16, 17], 9).unwrap();
        assert_eq!(table.exit(&mut labels, &mut []), Some((Exit::By(3), 4)));
        assert_eq!(labels.top(), Some((17, 8)), "the next label has the TTL of the first");
        assert_eq!(table.exit(&mut LabelStack::default(), &mut []), None);
    }

    #[test]
    fn an_unknown_label_and_an_old_packet_have_no_exit() {
        let mut labels = LabelStack::of(&[18], 9).unwrap();
        assert_eq!(table().exit(&mut labels, &mut []), Some((Exit::UnknownLabel, 0)));
        for ttl in [0, 1] {
            let mut labels = LabelStack::of(&[16], ttl).unwrap();
            assert_eq!(table().exit(&mut labels, &mut []), Some((Exit::Nowhere, 0)), "{ttl}");
        }
    }

    #[test]
    fn reserved_labels_are_refused() {
        let config = |label, swap| LabelConfig { label, to: String::new(), swap };
        assert_eq!(config(16, Some(MAX_LABEL)).check(), Ok(()));
        let error = config(15, None).check().unwrap_err();
        assert_eq!(error, "label = 15: expected 16 to 1048575");
        let error = config(16, Some(3)).check().unwrap_err();
        assert_eq!(error, "swap = 3: expected 16 to 1048575");
    }
}
