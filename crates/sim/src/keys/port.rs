//! The keys of a port's model, in layers.

use trimline_switch::profiles::Profile;

use crate::keys::error::ScenarioError;
use crate::keys::quantity::{self, Quantity, QueueSize};
use crate::keys::read::read;
use crate::keys::tree::Node;

/// The keys of a model: a rule over `switch`.
#[derive(Clone, Copy)]
pub(crate) struct Keys<'a> {
    pub(crate) rule: Option<&'a Node>,
    pub(crate) switch: Option<&'a Node>,
    pub(crate) profile: &'static Profile,
}

impl<'a> Keys<'a> {
    pub(crate) fn get(&self, name: &str) -> Option<&'a Node> {
        let own = self.rule.and_then(|rule| rule.child(name));
        own.or_else(|| self.switch.and_then(|switch| switch.child(name)))
    }

    pub(crate) fn profile(&self) -> &'static str {
        self.profile.name
    }

    pub(crate) fn size(&self, name: &str) -> Result<Option<QueueSize>, ScenarioError> {
        self.get(name).map(|node| read(node, quantity::queue, Quantity::Queue)).transpose()
    }
}
