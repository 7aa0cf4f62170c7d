//! Readers of links that a scenario names one by one, or by layer and direction.

use super::error::{ScenarioError, nearest};
use super::tree::Node;
use crate::topology::{self, Clos, LinkId};

/// Keys that select links of switch ports.
const SELECTORS: [&str; 3] = ["layer", "direction", "link"];

/// Reads the name of a link; `names` has all of the network.
pub(crate) fn link(node: &Node, names: &[(String, LinkId)]) -> Result<LinkId, ScenarioError> {
    let name = node.text().unwrap_or_default();
    let known = names.iter().find(|(known, _)| known == name);
    known.map(|&(_, link)| link).ok_or_else(|| {
        ScenarioError::new(
            &node.place,
            format!("no link is named `{name}`"),
            "a port or a host of the topology, such as \"tor 0 down 0\" or \"host 3\"",
        )
        .nearest(nearest(name, names.iter().map(|(known, _)| known.as_str())))
    })
}

/// Returns the ports of switches that a table means: one by its name, or those of a layer and a direction.
pub(crate) fn selected(node: &Node, topology: &Clos) -> Result<Vec<LinkId>, ScenarioError> {
    let names = topology::links(topology);
    let [layer, direction, one] = SELECTORS.map(|key| node.child(key));
    let of_port = |name: &str| !name.starts_with("host ");
    if let Some(one) = one {
        if let Some(other) = layer.or(direction) {
            return Err(ScenarioError::new(
                &other.place,
                "a layer or direction beside a link",
                "either `link`, or `layer` and `direction`",
            ));
        }
        if one.text().is_some_and(|name| !of_port(name)) {
            return Err(ScenarioError::new(
                &one.place,
                "a host's link: a host has no queues of a switch",
                "a port of a switch, such as \"tor 0 down 1\"",
            ));
        }
        return Ok(vec![link(one, &names)?]);
    }
    let has = |words: &[&str], wanted: Option<&Node>| {
        wanted.and_then(Node::text).is_none_or(|word| words.contains(&word))
    };
    let is_selected = |name: &str| {
        let words: Vec<&str> = name.split(' ').collect();
        of_port(name) && has(&words, layer) && has(&words, direction)
    };
    let ports: Vec<LinkId> =
        names.iter().filter(|(name, _)| is_selected(name)).map(|&(_, link)| link).collect();
    if layer.or(direction).is_none() || ports.is_empty() {
        return Err(ScenarioError::new(
            &layer.or(direction).unwrap_or(node).place,
            "no port of this network is meant",
            "a `layer` (tor, aggregation, spine, core), a `direction` (up, down) or a `link`",
        ));
    }
    Ok(ports)
}
