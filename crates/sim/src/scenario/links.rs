//! Links that change, and lose, corrupt or reorder packets.

use trimline_packet::TimeDelta;

use crate::keys::error::ScenarioError;
use crate::keys::links::link;
use crate::keys::quantity::{self, Quantity};
use crate::keys::read::{duration_of, read};
use crate::keys::tree::Node;
use crate::plan::{FixedRoute, Impairment, LinkChange, LinkEvent, Share};
use crate::topology::{self, Clos, LinkId};

/// Time until hosts and switches know of a failure (chosen).
const CONVERGENCE: TimeDelta = TimeDelta::from_ms(10);

/// The longest reordering delay: longer ones make another network.
const MAX_REORDERING: TimeDelta = TimeDelta::from_ms(1_000);

pub(super) struct Links {
    pub(super) events: Vec<LinkEvent>,
    pub(super) convergence: TimeDelta,
    pub(super) impairment: Impairment,
    pub(super) fixed_routes: Vec<FixedRoute>,
}

pub(super) fn links(root: &Node, clos: &Clos) -> Result<Links, ScenarioError> {
    let events = root.child("link_event").and_then(Node::list).unwrap_or(&[]);
    let impairment = root.child("impairment");
    let fixed_routes = root.child("fixed_route").and_then(Node::list).unwrap_or(&[]);
    let names = match (events, impairment, fixed_routes) {
        ([], None, []) => Vec::new(),
        _ => topology::links(clos),
    };
    let convergence = root.child("routing_convergence").map(duration_of).transpose()?;
    Ok(Links {
        events: events.iter().map(|node| event(node, &names)).collect::<Result<_, _>>()?,
        convergence: convergence.unwrap_or(CONVERGENCE),
        impairment: match impairment {
            Some(node) => self::impairment(node, clos, &names)?,
            None => Impairment::default(),
        },
        fixed_routes: fixed_routes
            .iter()
            .map(|node| fixed_route(node, clos, &names))
            .collect::<Result<_, _>>()?,
    })
}

fn event(node: &Node, names: &[(String, LinkId)]) -> Result<LinkEvent, ScenarioError> {
    let given = |key| node.child(key).unwrap_or(node);
    let change = given("change");
    Ok(LinkEvent {
        at: duration_of(given("at"))?,
        link: link(given("link"), names)?,
        both_directions: node.child("directions").and_then(Node::text) != Some("one"),
        change: match (change.child("rate"), change.text()) {
            (Some(rate), _) => LinkChange::Rate(read(rate, quantity::rate, Quantity::Rate)?),
            (None, Some("fail")) => LinkChange::Fail,
            _ => LinkChange::Restore,
        },
    })
}

fn fixed_route(
    node: &Node,
    clos: &Clos,
    names: &[(String, LinkId)],
) -> Result<FixedRoute, ScenarioError> {
    let given = |key| node.child(key).unwrap_or(node);
    let (over, by) = (link(given("over"), names)?, link(given("by"), names)?);
    let refuse = |problem: String, expected: &str| {
        Err(ScenarioError::new(&given("by").place, problem, expected))
    };
    if !topology::leads_to(clos, over, by) {
        let of = given("over").text().unwrap_or_default();
        return refuse(
            format!("`{of}` does not lead to the switch of this port"),
            "a port of the switch at the far end of `over`",
        );
    }
    // The port would bring a host packets of other hosts.
    if topology::leads_to_host(clos, by) {
        return refuse(
            "a fixed route by a port that leads to a host".to_owned(),
            "a port that leads to another switch",
        );
    }
    Ok(FixedRoute { over, by })
}

fn impairment(
    node: &Node,
    clos: &Clos,
    names: &[(String, LinkId)],
) -> Result<Impairment, ScenarioError> {
    let share = |key| -> Result<Share, ScenarioError> {
        let Some(node) = node.child(key) else { return Ok(Share::default()) };
        let billionths = read(node, quantity::share, Quantity::Share)?;
        Share::from_billionths(billionths).ok_or_else(|| {
            ScenarioError::new(&node.place, "more than everything", "a share of at most \"100%\"")
        })
    };
    let reordering = node.child("reordering").map(duration_of).transpose()?;
    let reordering = reordering.unwrap_or(TimeDelta::ZERO);
    if let Some(node) = node.child("reordering").filter(|_| reordering > MAX_REORDERING) {
        return Err(ScenarioError::new(
            &node.place,
            "packets would be reordered over more than a second",
            format!("at most {MAX_REORDERING}"),
        ));
    }
    let mut links = Vec::new();
    for node in node.child("links").and_then(Node::list).unwrap_or(&[]) {
        let link = link(node, names)?;
        links.extend([link, topology::reverse(clos, link)]);
    }
    if let Some(node) = node.child("links").filter(|_| links.is_empty()) {
        return Err(ScenarioError::new(&node.place, "no links", "at least one link"));
    }
    Ok(Impairment { loss: share("loss")?, corruption: share("corruption")?, reordering, links })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Plan, Scenario};
    use trimline_packet::BitRate;

    fn parse(links: &str) -> Result<Plan, String> {
        let text = format!(
            "topology.fattree.k = 4\nworkload = [{{ name = \"w\", permutation = {{}}, size = \"9KB\" }}]\n{links}"
        );
        let scenario = Scenario::parse("s.toml", &text, &[]).map_err(|error| error.to_string())?;
        Ok(scenario.runs[0].plan.clone())
    }

    #[test]
    fn link_events_become_link_changes() {
        let plan = parse(
            r#"
            routing_convergence = "2ms"
            [[link_event]]
            at = "1ms"
            link = "aggregation 3 up 1"
            change = { rate = "1Gbps" }
            [[link_event]]
            at = "3ms"
            link = "host 7"
            directions = "one"
            change = "fail"
            [[link_event]]
            at = "4ms"
            link = "host 7"
            change = "restore"
            "#,
        )
        .unwrap();
        let links = topology::links(&plan.topology);
        let named = |name| link_of(&links, name);
        let at = TimeDelta::from_ms;
        let event =
            |at, link, both_directions, change| LinkEvent { at, link, both_directions, change };
        let slow = LinkChange::Rate(BitRate::from_gbps(1));
        assert_eq!(
            plan.link_events,
            [
                event(at(1), named("aggregation 3 up 1"), true, slow),
                event(at(3), named("host 7"), false, LinkChange::Fail),
                event(at(4), named("host 7"), true, LinkChange::Restore),
            ]
        );
        assert_eq!(plan.routing_convergence, at(2));
    }

    fn link_of(links: &[(String, LinkId)], name: &str) -> LinkId {
        links.iter().find(|(known, _)| known == name).unwrap().1
    }

    #[test]
    fn an_impairment_affects_both_directions_of_its_links() {
        let plan =
            parse("[impairment]\nloss = \"0.1%\"\nreordering = \"5us\"\nlinks = [\"tor 2 up 1\"]")
                .unwrap();
        let links = topology::links(&plan.topology);
        assert_eq!(
            plan.impairment,
            Impairment {
                loss: Share::from_billionths(1_000_000).unwrap(),
                corruption: Share::default(),
                reordering: TimeDelta::from_us(5),
                // The first ToR of pod 1; its second up-link leads to the second aggregation there.
                links: vec![link_of(&links, "tor 2 up 1"), link_of(&links, "aggregation 3 down 0")],
            }
        );
        assert_eq!(parse("").unwrap().impairment, Impairment::default());
    }

    #[test]
    fn a_detour_leads_from_a_link_to_a_port_of_its_switch() {
        let fixed_route =
            |by: &str| parse(&format!("[[fixed_route]]\nover = \"tor 0 up 1\"\nby = \"{by}\""));
        let plan = fixed_route("aggregation 1 down 1").unwrap();
        let links = topology::links(&plan.topology);
        let (over, by) = (link_of(&links, "tor 0 up 1"), link_of(&links, "aggregation 1 down 1"));
        assert_eq!(plan.fixed_routes, [FixedRoute { over, by }]);
        for elsewhere in ["aggregation 0 down 1", "tor 0 up 1", "host 3"] {
            let error = fixed_route(elsewhere).unwrap_err();
            assert!(error.starts_with("s.toml:5:6: `tor 0 up 1` does not lead to"), "{error}");
        }
    }

    #[test]
    fn a_detour_never_ends_at_a_host() {
        let refused = |over: &str, by: &str| {
            parse(&format!("[[fixed_route]]\nover = \"{over}\"\nby = \"{by}\"")).unwrap_err()
        };
        for over in ["host 0", "aggregation 0 down 0"] {
            assert_eq!(
                refused(over, "tor 0 down 1"),
                "s.toml:5:6: a fixed route by a port that leads to a host (at `\"tor 0 down 1\"`); expected \
                 a port that leads to another switch"
            );
        }
    }

    #[test]
    fn wrong_link_keys_are_refused() {
        let event = "[[link_event]]\nat = \"1ms\"\nchange = \"fail\"\nlink = ";
        assert_eq!(
            parse(&format!("{event}\"agregation 3 up 1\"")).unwrap_err(),
            "s.toml:6:8: no link is named `agregation 3 up 1` (at `\"agregation 3 up 1\"`); expected \
             a port or a host of the topology, such as \"tor 0 down 0\" or \"host 3\"; nearest: \
             aggregation 3 up 1"
        );
        let refused = |text: &str| parse(text).unwrap_err();
        assert!(refused("[impairment]\nloss = \"101%\"").contains("more than everything"));
        assert!(refused("[impairment]\nloss = \"1\"").contains("has no unit"));
        assert!(refused("[impairment]\nlinks = []").contains("no links"));
        assert!(refused("[impairment]\nreordering = \"2s\"").contains("more than a second"));
        let nothing = "[[link_event]]\nat = \"1ms\"\nlink = \"host 0\"\nchange = \"break\"";
        assert!(refused(nothing).contains("one of \"fail\", \"restore\""));
    }
}
