//! The matrix `random` in a scenario: a number of flows per host, or in total.

use crate::keys::error::ScenarioError;
use crate::keys::form::{Form, Grammar, HOST, computed, fixed};
use crate::keys::read::{excluded, listed_hosts, number};
use crate::keys::tree::Node;
use crate::plan::Matrix;
use crate::workload::MAX_PAIRS;

pub(super) static RANDOM: Grammar = Grammar {
    about: "Destinations drawn from all other hosts: some receive several flows, some none. With `total` sources are drawn too.",
    alternatives: &[],
    keys: &[
        fixed("flows", Form::Integer(1, 65_535), "1", "Flows of each host."),
        computed("excluding", Form::List(&HOST), "none", "Hosts that neither send nor receive."),
        computed(
            "total",
            Form::Integer(1, MAX_PAIRS as i64),
            "so many of each host",
            "Flows in all: source and destination of each are drawn with replacement, as `setRandom` of htsim's connection_matrix.cpp does. In place of `flows` and `excluding`.",
        ),
        computed("not_source", Form::List(&HOST), "none", "With `total`: hosts that never send."),
        computed(
            "not_destination",
            Form::List(&HOST),
            "none",
            "With `total`: hosts that never receive.",
        ),
        fixed(
            "self_pairs",
            Form::Boolean,
            "false",
            "With `total`: whether a host may draw itself. Such a flow counts as drawn and is not made, for it would use no link; `trimline explain` says how many. Otherwise the pair is drawn again.",
        ),
    ],
};

pub(super) fn random(node: &Node, hosts: u32) -> Result<Matrix, ScenarioError> {
    match number(node, "total") {
        Some(total) => drawn(node, hosts, total),
        None => of_each(node, hosts),
    }
}

fn of_each(node: &Node, hosts: u32) -> Result<Matrix, ScenarioError> {
    let total = ["not_source", "not_destination", "self_pairs"];
    if let Some((name, stray)) = total.iter().find_map(|name| Some((name, node.child(name)?))) {
        return Err(ScenarioError::new(
            &stray.place,
            format!("`{name}` without `total`"),
            "`total`, the number of flows in all, or `excluding`",
        ));
    }
    let flows = number(node, "flows").unwrap_or(1);
    let excluding = excluded(node, hosts)?;
    let members = hosts as usize - excluding.len();
    if members < 2 {
        let place = &node.child("excluding").unwrap_or(node).place;
        return Err(ScenarioError::new(place, "fewer than two hosts are left", "two hosts"));
    }
    let matrix = Matrix::Random { flows, excluding };
    few(node, hosts, members as u64 * u64::from(flows), matrix)
}

fn drawn(node: &Node, hosts: u32, total: u32) -> Result<Matrix, ScenarioError> {
    let of_each = ["flows", "excluding"];
    if let Some((name, stray)) = of_each.iter().find_map(|name| Some((name, node.child(name)?))) {
        return Err(ScenarioError::new(
            &stray.place,
            format!("`{name}` beside `total`"),
            "`not_source` and `not_destination` with `total`, or `flows` and `excluding` without",
        ));
    }
    let not_source = listed_hosts(node, "not_source", hosts)?;
    let not_destination = listed_hosts(node, "not_destination", hosts)?;
    let self_pairs = node.child("self_pairs").and_then(Node::boolean).unwrap_or(false);
    let may_send = (0..hosts).filter(|host| !not_source.contains(host));
    let may_receive = |source: u32| {
        let is_other = move |host: &u32| *host != source || self_pairs;
        (0..hosts).filter(|host| !not_destination.contains(host)).any(|host| is_other(&host))
    };
    if !may_send.into_iter().any(may_receive) {
        return Err(ScenarioError::new(
            &node.place,
            "no pair of hosts that may be drawn",
            "a host that may send, and another that may receive",
        ));
    }
    Ok(Matrix::RandomPairs { total, not_source, not_destination, self_pairs })
}

/// Refuses a matrix with more pairs than a run can keep.
pub(super) fn few(
    node: &Node,
    hosts: u32,
    flows: u64,
    matrix: Matrix,
) -> Result<Matrix, ScenarioError> {
    if flows > MAX_PAIRS {
        return Err(ScenarioError::new(
            &node.place,
            format!("{flows} flows among {hosts} hosts"),
            format!("at most {MAX_PAIRS} flows"),
        ));
    }
    Ok(matrix)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    fn matrix(random: &str) -> Result<Matrix, String> {
        let text = format!(
            "topology.star.hosts = 3\nworkload = [{{ name = \"w\", random = {random}, size = \"9KB\" }}]\n"
        );
        let scenario = Scenario::parse("s.toml", &text, &[]).map_err(|error| error.to_string())?;
        Ok(scenario.runs[0].plan.workloads[0].matrix.clone())
    }

    #[test]
    fn a_random_matrix_reads_a_total_and_excluded_hosts() {
        let given = matrix("{ total = 7, not_source = [2, 0, 2], not_destination = [1] }");
        let expected = Matrix::RandomPairs {
            total: 7,
            not_source: vec![0, 2],
            not_destination: vec![1],
            self_pairs: false,
        };
        assert_eq!(given, Ok(expected));
        let given = matrix("{ total = 1, self_pairs = true }");
        let (not_source, not_destination) = (vec![], vec![]);
        let expected =
            Matrix::RandomPairs { total: 1, not_source, not_destination, self_pairs: true };
        assert_eq!(given, Ok(expected));
    }

    #[test]
    fn keys_that_contradict_each_other_are_refused() {
        let refused = |random: &str| matrix(random).unwrap_err();
        assert!(refused("{ total = 3, flows = 2 }").contains("`flows` beside `total`"));
        assert!(refused("{ total = 3, excluding = [1] }").contains("`excluding` beside `total`"));
        assert!(refused("{ not_source = [1] }").contains("`not_source` without `total`"));
        assert!(refused("{ self_pairs = true }").contains("`self_pairs` without `total`"));
        assert!(refused("{ total = 0 }").contains("from 1 to"));
        assert!(refused("{ total = 2, not_source = [3] }").contains("host 3"));
    }

    #[test]
    fn a_total_without_a_pair_is_refused() {
        let refused = |random: &str| matrix(random).unwrap_err();
        let nobody = "no pair of hosts that may be drawn";
        assert!(refused("{ total = 2, not_source = [0, 1, 2] }").contains(nobody));
        assert!(refused("{ total = 2, not_destination = [0, 1, 2] }").contains(nobody));
        let alone = "total = 2, not_source = [0, 1], not_destination = [0, 1]";
        assert!(refused(&format!("{{ {alone} }}")).contains(nobody), "host 2 has itself alone");
        assert!(matrix(&format!("{{ {alone}, self_pairs = true }}")).is_ok());
    }
}
