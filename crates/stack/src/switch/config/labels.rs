//! The label tables of a network of switches.

use super::{Config, FarEnd, Layout};
use crate::switch::labels::{Hop, LabelTable};

impl Config {
    /// Returns the label table of each switch; none in a network without labels.
    pub(super) fn label_tables(&self, layout: &Layout) -> Result<Vec<LabelTable>, String> {
        if self.switch.iter().all(|switch| switch.labels.is_empty()) {
            return Ok(Vec::new());
        }
        if self.detour.is_some() {
            return Err(
                "labels: a detoured frame would have no label for its new way; expected labels or detour".to_owned()
            );
        }
        let mut tables = vec![LabelTable::default(); self.switch.len()];
        for (number, switch) in self.switch.iter().enumerate() {
            for label in &switch.labels {
                let place = format!("switch {:?}: labels", switch.name);
                label.check().map_err(|error| format!("{place}: {error}"))?;
                let name = |port: u32| match layout.ports[port as usize].2 {
                    FarEnd::Host(host) => &self.host[host as usize].interface,
                    FarEnd::Port(other) => {
                        &self.switch[layout.ports[other as usize].0 as usize].name
                    }
                };
                let local = (0u16..).zip(&layout.switches[number]);
                let mut found = local.filter(|&(_, &port)| *name(port) == label.to);
                let port = match (found.next(), found.next()) {
                    (Some((port, _)), None) => port,
                    (None, _) => {
                        return Err(format!(
                            "{place}: to = {:?}: expected a switch with a link to it, or the interface of its host",
                            label.to
                        ));
                    }
                    (Some(_), Some(_)) => {
                        return Err(format!(
                            "{place}: to = {:?}: several ports lead there; expected one",
                            label.to
                        ));
                    }
                };
                if !tables[number].add(label.label, Hop { port, swap: label.swap }) {
                    return Err(format!("{place}: {} is there twice", label.label));
                }
            }
        }
        Ok(tables)
    }

    /// Describes label-switched paths: one line, or none.
    pub fn describe_labels(&self) -> Vec<String> {
        let labels: usize = self.switch.iter().map(|switch| switch.labels.len()).sum();
        let line = || format!("labels: {labels} in the tables of the switches; others are dropped");
        (labels > 0).then(line).into_iter().collect()
    }
}
