//! Priorities of htsim's connection matrices. In htsim each receiver pulls flows with a lower number first. Trimline
//! has four classes and pulls the highest first, so the numbers at each receiver are ranked.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use crate::formats::connection_matrix::{Connection, PRIORITY};
use crate::keys::error::ScenarioError;
use crate::keys::tree::Node;

const CLASSES: usize = 4;

/// Returns the class of each flow; `None` if the file has no priorities, or the scenario ignores them.
pub(super) fn classes(
    node: &Node,
    file: &Node,
    name: &str,
    connections: &[Connection],
) -> Result<Vec<Option<u8>>, ScenarioError> {
    let are_used = node.child("priorities").and_then(Node::boolean).unwrap_or(true);
    if !are_used || connections.iter().all(|connection| connection.priority.is_none()) {
        return Ok(vec![None; connections.len()]);
    }
    if let Some(class) = node.child("class") {
        return Err(ScenarioError::new(
            &class.place,
            format!("a class beside the priorities of {name}"),
            "`file` without `class`, or `priorities = false`",
        ));
    }
    let mut at: BTreeMap<u32, BTreeSet<u64>> = BTreeMap::new();
    for connection in connections {
        let known = at.entry(connection.destination).or_default();
        known.insert(priority(connection));
        if known.len() > CLASSES {
            let Connection { destination, line, .. } = connection;
            let problem = format!(
                "{name}:{line}: host {destination} receives flows of more than {CLASSES} priorities"
            );
            let expected = format!(
                "{CLASSES} at most, as many as a receiver has classes; or `priorities = false`, which treats all alike"
            );
            return Err(ScenarioError::new(&file.place, problem, expected));
        }
    }
    let class = |connection: &Connection| {
        // The more numbers are higher than a flow's number, the earlier the flow is pulled.
        let above = (Bound::Excluded(priority(connection)), Bound::Unbounded);
        let later = at[&connection.destination].range(above);
        Some(later.count() as u8)
    };
    Ok(connections.iter().map(class).collect())
}

fn priority(connection: &Connection) -> u64 {
    connection.priority.unwrap_or(PRIORITY)
}
