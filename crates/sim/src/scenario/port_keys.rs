//! The keys of a port's model, as a scenario lays them over each other.

use trimline_switch::profiles::Profile;

use crate::keys::error::ScenarioError;
use crate::keys::quantity::{self, Quantity, QueueSize};
use crate::keys::read::read;
use crate::keys::tree::Node;

/// The keys of a model: those of a rule laid over those of `switch`.
#[derive(Clone, Copy)]
pub(super) struct Keys<'a> {
    pub(super) rule: Option<&'a Node>,
    pub(super) switch: Option<&'a Node>,
    pub(super) profile: &'static Profile,
}

impl<'a> Keys<'a> {
    /// The value of a key.
    pub(super) fn get(&self, name: &str) -> Option<&'a Node> {
        let own = self.rule.and_then(|rule| rule.child(name));
        own.or_else(|| self.switch.and_then(|switch| switch.child(name)))
    }

    /// The name of the profile.
    pub(super) fn profile(&self) -> &'static str {
        self.profile.name
    }

    /// The size of a queue that a key gives.
    pub(super) fn size(&self, name: &str) -> Result<Option<QueueSize>, ScenarioError> {
        self.get(name).map(|node| read(node, quantity::queue, Quantity::Queue)).transpose()
    }
}
